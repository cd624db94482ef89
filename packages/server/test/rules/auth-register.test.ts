/** What a registration stores beside name, e-mail and password: what `register.allowedFields` of a v4 project says (AC9). */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import { allowing, type CodeProject, serveCode, typeFile, userSchema, userSchemaFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const relation = (kind: string, target: string) => ({ type: 'relation', relation: kind, target });

const filesWith = (register: string): Readonly<Record<string, string>> => ({
  ...typeFile('company', { name: { type: 'string' } }),
  ...typeFile('city', { name: { type: 'string' } }),
  'src/components/user/address.json': JSON.stringify({
    collectionName: 'components_user_addresses',
    info: { displayName: 'address' },
    attributes: { street: { type: 'string' }, city: relation('oneToOne', 'api::city.city') },
  }),
  [userSchemaFile]: JSON.stringify(
    userSchema({
      nickname: { type: 'string' },
      phone: { type: 'string', private: true },
      company: relation('manyToOne', 'api::company.company'),
      cities: relation('manyToMany', 'api::city.city'),
      employer: { ...relation('manyToOne', 'api::company.company'), private: true },
      address: { type: 'component', component: 'user.address' },
    }),
  ),
  'config/plugins.js': `module.exports = { 'users-permissions': { config: { register: ${register} } } };`,
  // nobody may find companies, cities or roles
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['plugin::users-permissions.auth.register']);
    await allow('authenticated', ['plugin::users-permissions.user.me']);
    await allow('owner', []);
    for (const name of ['one', 'two']) for (const uid of ['api::company.company', 'api::city.city']) await strapi.entityService.create(uid, { data: { name } });
  } };`,
});

const extras = {
  nickname: 'Annie',
  phone: '0123',
  company: 1,
  cities: { connect: [{ id: 2 }, { id: 1 }] },
  employer: { id: 2 },
  address: { street: 'Main', city: 1 },
};
/** As entityService shows it. */
const shown = {
  nickname: 'Annie',
  phone: '0123',
  company: { name: 'one' },
  cities: [{ name: 'two' }, { name: 'one' }],
  employer: { name: 'two' },
  address: { street: 'Main', city: { name: 'one' } },
};
const nothing = { nickname: null, phone: null, company: null, cities: [], employer: null, address: null };

const users = 'plugin::users-permissions.user';
const named = [...Object.keys(extras), 'role', 'confirmed', 'provider', 'blocked', 'createdBy', 'resetPasswordToken'];

describe.each(dialects)('a registration on %s', (dialect) => {
  const serving = (register: string) => {
    let served: CodeProject;
    let count = 0;
    beforeAll(async () => {
      served = await serveCode(dialect, filesWith(register));
    });
    afterAll(() => served.close());
    const post = async (body: object) => {
      count += 1;
      const own = { username: `user${count}`, email: `user${count}@example.org`, password: 'Passw0rd!' };
      return served.json('POST', '/api/auth/local/register', { ...own, ...body });
    };
    return {
      register: post,
      /** The user that a registration has made, as code sees it. */
      registered: async (body: object): Promise<unknown> => {
        const { status, headers, body: answer } = await post(body);
        expect([status, headers['dovetail-ignored']]).toEqual([200, undefined]);
        const { id } = (answer as { user: { id: number } }).user;
        const links = ['role', 'company', 'cities', 'employer', 'createdBy'];
        const populate = { ...Object.fromEntries(links.map((it) => [it, true])), address: { populate: ['city'] } };
        return code().entityService.findOne(users, id, { populate });
      },
    };
  };

  describe('where allowedFields names attributes', () => {
    const { register, registered } = serving(`{ allowedFields: ${JSON.stringify(named)} }`);

    it('AC9: stores them, relations and private ones too, whatever the public may find', async () => {
      expect(await registered(extras)).toMatchObject(shown);
    });

    it('AC9: refuses relations to what does not exist', async () => {
      for (const body of [{ company: 99 }, { cities: [1, 99] }, { address: { city: 99 } }])
        expect(await register(body)).toMatchObject({ status: 400, body: { error: { name: 'ValidationError' } } });
    });

    it('AC9: leaves the role, creators and codes to the server', async () => {
      const { id } = await code().entityService.create('admin::user', {
        data: { firstname: 'Ada', email: 'ada@example.org' },
      });
      const given = { role: 3, createdBy: id, resetPasswordToken: 'x', confirmed: false, provider: 'other' };
      expect(await registered(given)).toMatchObject({
        role: { type: 'authenticated' },
        createdBy: null,
        resetPasswordToken: null,
        confirmed: true,
        provider: 'local',
        blocked: false,
      });
    });

    it('AC9: stores even whether the user is blocked, where that is named', async () => {
      expect(await registered({ blocked: true })).toMatchObject({ blocked: true });
    });
  });

  describe('where allowedFields is not set', () => {
    const { registered } = serving('{}');

    it('AC9: stores all that is not private', async () => {
      const given = { ...extras, blocked: true };
      expect(await registered(given)).toMatchObject({ ...shown, phone: null, employer: null, blocked: false });
    });
  });

  describe('where allowedFields is empty', () => {
    const { registered } = serving('{ allowedFields: [] }');

    it('AC9: stores nothing else', async () => {
      expect(await registered(extras)).toMatchObject(nothing);
    });
  });
});

interface Code {
  readonly entityService: {
    findOne(uid: string, id: number, query: object): Promise<unknown>;
    create(uid: string, given: object): Promise<{ readonly id: number }>;
  };
}

/** Of the project that is served. */
const code = (): Code => (globalThis as unknown as { readonly strapi: Code }).strapi;

it.each(dialects)('AC9, BO4: a user has the role even where requests cannot write it, on %s', async (dialect) => {
  const role = { ...relation('manyToOne', 'plugin::users-permissions.role'), inversedBy: 'users', writable: false };
  const closed = { type: 'string', writable: false };
  const served = await serveCode(dialect, {
    ...filesWith('{}'),
    [userSchemaFile]: JSON.stringify(
      userSchema({ role, provider: closed, rank: closed, address: { type: 'component', component: 'user.address' } }),
    ),
    'src/components/user/address.json': JSON.stringify({
      collectionName: 'components_user_addresses',
      info: { displayName: 'address' },
      attributes: { street: { type: 'string' }, checked: closed },
    }),
  });
  try {
    const given = { rank: 'first', role: 1, address: { street: 'Main', checked: 'yes' } };
    const body = { username: 'annie', email: 'annie@example.org', password: 'Passw0rd', ...given };
    expect(
      await served.json('POST', '/api/auth/local/register', body, { 'content-type': 'application/json' }),
    ).toMatchObject({ status: 200, body: { user: { username: 'annie', provider: 'local' } } });
    const { dialect, read } = served.db;
    const roles = sql`select r.type from up_users_role_links l join up_roles r on r.id = l.role_id`;
    expect(await read(() => readRows(dialect.compile(roles)))).toEqual([['authenticated']]);
    const values = sql`select rank, street, checked from up_users, components_user_addresses`;
    expect(await read(() => readRows(dialect.compile(values)))).toEqual([[null, 'Main', null]]);
  } finally {
    await served.close();
  }
});
