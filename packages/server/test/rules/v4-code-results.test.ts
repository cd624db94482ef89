/** What hooks of code leave of `event.result` is what the server's own endpoints respond with: users, files, new locales. */
import bcrypt from '@node-rs/bcrypt';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const user = 'plugin::users-permissions.user';
const localized = { i18n: { localized: true } };
const heard = `{ ${['afterCreate', 'afterUpdate', 'afterDelete'].map((it) => `${it}: (event) => strapi.change?.(event)`).join(', ')} }`;
const reads = (names: readonly string[]) =>
  `{ ${names.map((it) => `${it}: (event) => strapi.read?.(event)`).join(', ')} }`;

const files = {
  ...typeFile(
    'page',
    {
      title: { type: 'string', pluginOptions: localized },
      code: { type: 'string' },
      note: { type: 'string', private: true },
    },
    {},
    localized,
  ),
  ...coreFile('Router', 'page'),
  'src/api/page/content-types/page/lifecycles.js': `module.exports = ${heard};`,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    plugin.contentTypes.user.lifecycles = ${heard};
    return plugin;
  };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    strapi.db.lifecycles.subscribe({ models: ['plugin::upload.file'], ...${heard} });
    if (process.env.HEARS_READS) strapi.db.lifecycles.subscribe({ models: ['${user}'], ...${reads(['afterFindOne'])} });
    await allow('public', [
      ...['find', 'create', 'createLocalization'].map((it) => 'api::page.page.' + it),
      ...['findOne', 'create', 'update', 'destroy'].map((it) => '${user}.' + it),
      ...['upload', 'destroy'].map((it) => 'plugin::upload.content-api.' + it),
      'plugin::users-permissions.role.find', 'plugin::users-permissions.auth.register',
    ]);
    await allow('authenticated', []);
    for (const code of ['en', 'de', 'fr']) await strapi.plugin('i18n').service('locales').create({ code, name: code });
  } };`,
};

type Row = Readonly<Record<string, unknown>>;

interface Event {
  readonly action: string;
  readonly result: Record<string, unknown>;
}

interface Code {
  change: ((event: Event) => unknown) | undefined;
  read: ((event: Event) => unknown) | undefined;
  query(uid: string): {
    findOne(params: object): Promise<Row>;
    update(params: object): Promise<unknown>;
  };
}

let served: CodeProject;
let strapi: Code;
const serving = async (...given: Parameters<typeof serveCode>): Promise<void> => {
  served = await serveCode(...given);
  ({ strapi } = globalThis as unknown as { strapi: Code });
};
afterEach(() => {
  strapi.change = undefined;
  strapi.read = undefined;
});

let last = 0;
const newUser = () => {
  const username = `user-${++last}`;
  return { username, email: `${username}@example.org`, password: 'secret-12' };
};
const send = async (method: string, path: string, body?: object, headers = {}) => {
  const answer = await served.json(method, `/api/${path}`, body, headers);
  expect([answer.status, answer.body]).toEqual([expect.toSatisfy((it) => it === 200 || it === 201), expect.anything()]);
  return answer;
};
const bodyOf = async (...given: Parameters<typeof send>): Promise<Row> => (await send(...given)).body as Row;
const roleId = async () =>
  (await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } }))['id'];
const createUser = async (search = '', given = newUser()) =>
  bodyOf('POST', `users${search}`, { ...given, role: await roleId() });

describe.each(dialects)('results that hooks change, of the server’s own writes on %s', (dialect) => {
  beforeAll(() => serving(dialect, files));
  afterAll(() => served.close());

  it('AC15: users are shown without what a hook hides, and with what it adds', async () => {
    strapi.change = ({ action, result }) => {
      delete result['email'];
      delete (result['role'] as Record<string, unknown> | undefined)?.['description'];
      Object.assign(result, { extra: action, password: 'shown?', confirmationToken: 'shown?' });
    };
    const made = await createUser();
    const { id, username } = made;
    const shown = { id, username, provider: 'local', confirmed: false, blocked: false };
    const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    const role = { id: await roleId(), name: 'authenticated', type: 'authenticated', ...times };
    expect(made).toEqual({ ...shown, ...times, role, extra: 'afterCreate' });
    const updated = await bodyOf('PUT', `users/${id}`, { blocked: false });
    expect(updated).toEqual({ ...shown, ...times, role, extra: 'afterUpdate' });
    expect(await bodyOf('GET', `users/${id}`)).toMatchObject({ email: `${String(username)}@example.org` });
    expect(await bodyOf('DELETE', `users/${id}`)).toEqual({ ...shown, ...times, extra: 'afterDelete' });
  });

  it('AC15: what a hook hides no query brings back; what it adds is beside what is selected', async () => {
    strapi.change = ({ result }) => {
      delete result['email'];
      Object.assign(result, { extra: 'E', provider: 'P' });
    };
    const made = await createUser('?fields[0]=username&fields[1]=email&populate=false');
    expect(made).toEqual({ id: made['id'], username: made['username'], extra: 'E' });
    const at = `users/${String(made['id'])}?fields[0]=email&fields[1]=provider&populate[role][fields]=type`;
    const role = { id: await roleId(), type: 'authenticated' };
    expect(await bodyOf('PUT', at, {})).toEqual({ id: made['id'], provider: 'P', role, extra: 'E' });
    expect(await bodyOf('DELETE', at)).toEqual({ id: made['id'], provider: 'P', role, extra: 'E' });
  });

  it('AC15: a populated role that a hook has changed, or hides, is as the hook has left it', async () => {
    strapi.change = ({ result }) => void Object.assign(result, { role: { id: 9, name: 'hidden' } });
    const { id, role } = await createUser('?populate=role');
    expect(role).toEqual({ id: 9, name: 'hidden' });
    strapi.change = ({ result }) => void delete result['role'];
    expect(await bodyOf('PUT', `users/${String(id)}?populate=role`, {})).not.toHaveProperty('role');
  });

  it('AC15: a hook that updates the user that it was told of shows the one that it was told of', async () => {
    strapi.change = async ({ action, result: { id } }) => {
      if (action === 'afterCreate')
        await strapi.query(user).update({ where: { id }, data: { username: `later-${String(id)}` } });
    };
    const given = newUser();
    const { id, username } = await createUser('', given);
    expect(username).toBe(given.username);
    expect(await bodyOf('GET', `users/${String(id)}`)).toMatchObject({ username: `later-${String(id)}` });
  });

  it('AC15: where hooks leave the result as it is, the response has the entity tag of what is stored', async () => {
    const { id } = await createUser();
    const { headers } = await send('PUT', `users/${String(id)}`, { blocked: false });
    expect(headers['etag']).toBe((await send('GET', `users/${String(id)}?populate=role`)).headers['etag']);
  });

  it('AC9: the user of a registration is as hooks have left it, and its token is that of the user', async () => {
    strapi.change = ({ result }) =>
      void Object.assign(result, { extra: 'E', email: 'shown@example.org', password: 'x' });
    const given = newUser();
    const { jwt, user: shown } = await bodyOf('POST', 'auth/local/register', given);
    expect(jwt).toEqual(expect.any(String));
    expect(shown).toMatchObject({ username: given.username, extra: 'E', email: 'shown@example.org' });
    expect(shown).not.toHaveProperty('password');
    expect(await bodyOf('GET', `users/${String((shown as Row)['id'])}`)).toMatchObject({ email: given.email });
  });

  it('UP1: uploads, new information and new contents are as hooks have left the file; a deletion shows what was stored', async () => {
    strapi.change = ({ action, result }) => {
      Object.assign(result, { url: `cdn:${String(result['name'])}`, extra: action });
      delete result['hash'];
    };
    const upload = async (search: string, parts: Parameters<CodeProject['form']>[2]) => {
      const { status, body } = await served.form('POST', `/api/upload${search}`, parts);
      expect([status, body]).toEqual([200, expect.anything()]);
      return body;
    };
    const text = (name: string, content: string) => [name, 'text/plain', content] as const;
    const stored = await upload('', { 'files#1': text('a.txt', 'a'), 'files#2': text('b.txt', 'b') });
    expect(stored).toMatchObject([
      { name: 'a.txt', url: 'cdn:a.txt', extra: 'afterCreate' },
      { name: 'b.txt', url: 'cdn:b.txt', extra: 'afterCreate' },
    ]);
    expect((stored as readonly Row[])[0]).not.toHaveProperty('hash');
    const { id } = (stored as readonly [Row])[0];
    const named = { fileInfo: JSON.stringify({ name: 'c.txt' }) };
    const changed = { id, name: 'c.txt', url: 'cdn:c.txt', extra: 'afterUpdate' };
    for (const parts of [named, { ...named, files: text('d.txt', 'd') }]) {
      const body = await upload(`?id=${String(id)}`, parts);
      expect(body).toMatchObject(changed);
      expect(body).not.toHaveProperty('hash');
    }
    const removed = await bodyOf('DELETE', `upload/files/${String(id)}`);
    expect(removed).toMatchObject({ id, url: expect.stringMatching(/^\/uploads\//) });
    expect(removed).not.toHaveProperty('extra');
  });

  it('LO7: a new locale is as hooks have left it', async () => {
    const made = await bodyOf('POST', 'pages', { data: { title: 'one', code: 'A', note: 'secret' } });
    const { id } = made['data'] as Row;
    strapi.change = ({ result }) => {
      delete result['code'];
      Object.assign(result, { title: 'left', extra: 'E', note: 'shown?' });
    };
    const sibling = await bodyOf('POST', `pages/${String(id)}/localizations`, { locale: 'de', title: 'eins' });
    expect(sibling).toMatchObject({ title: 'left', extra: 'E', locale: 'de', localizations: [{ id, title: 'one' }] });
    for (const name of ['code', 'note']) expect(sibling).not.toHaveProperty(name);
    const asV5 = { 'strapi-response-format': 'v5' };
    const french = await bodyOf('POST', `pages/${String(id)}/localizations`, { locale: 'fr', title: 'un' }, asV5);
    expect(french).toMatchObject({ documentId: expect.any(String), title: 'left', extra: 'E', locale: 'fr' });
    for (const name of ['code', 'note']) expect(french).not.toHaveProperty(name);
  });

  it('LO7: the siblings beside it show nothing private either', async () => {
    const made = await bodyOf('POST', 'pages', { data: { title: 'one', note: 'secret' } });
    const { id } = made['data'] as Row;
    const sibling = await bodyOf('POST', `pages/${String(id)}/localizations`, { locale: 'de', title: 'eins' });
    const [shown] = sibling['localizations'] as readonly Row[];
    expect(shown).toMatchObject({ id, title: 'one' });
    expect(shown).not.toHaveProperty('note');
  });

  it('AD14: administrators see what is stored', async () => {
    const hash = bcrypt.hashSync('a long password', { cost: 4, version: '2a' });
    for (const query of [
      `insert into admin_roles (id, name, code) values (1, 'Super Admin', 'strapi-super-admin')`,
      `insert into admin_users (id, email, password, is_active) values (1, 'ada@example.org', '${hash}', true)`,
      `insert into admin_users_roles_links (user_id, role_id) values (1, 1)`,
    ])
      await served.db.write((tx) => tx.run(served.db.dialect.compile(sql.raw(query))));
    const login = { email: 'ada@example.org', password: 'a long password' };
    const { body } = await served.json('POST', '/admin/login', login);
    const asAdmin = { authorization: `Bearer ${(body as { data: { token: string } }).data.token}` };
    strapi.change = ({ result }) => void Object.assign(result, { extra: 'E', username: 'left' });
    const given = newUser();
    const made = await bodyOf('POST', 'users', { ...given, role: await roleId() }, asAdmin);
    expect(made).toMatchObject({ username: given.username });
    expect(made).not.toHaveProperty('extra');
  });
});

describe.each(dialects)('results that hooks of reads have changed before on %s', (dialect) => {
  beforeAll(() => serving(dialect, files, { HEARS_READS: 'true' }));
  afterAll(() => served.close());

  it('AC15: both have their effect, with and without a query; the write alone is heard of where none is given', async () => {
    let isHeard = 0;
    strapi.read = ({ result }) => {
      isHeard += 1;
      delete result['email'];
    };
    strapi.change = ({ result }) => void Object.assign(result, { extra: 'E' });
    const made = await createUser();
    expect(made).toMatchObject({ extra: 'E', role: { type: 'authenticated' } });
    expect(made).not.toHaveProperty('email');
    expect(isHeard).toBe(1);
    const selected = await createUser('?fields[0]=username&fields[1]=email&populate=role');
    expect(selected).toMatchObject({ extra: 'E', role: { type: 'authenticated' } });
    expect(selected).not.toHaveProperty('email');
  });
});
