/** What code of the project changes of users, roles, permissions and API tokens counts from its commit on (AC1, AC7, AC17). */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashToken } from '../../src/access/tokens.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const KEY = 'a-key-of-a-token';
const text = { type: 'string' };

const files = {
  // the server itself answers for books, code of the project for notes
  ...typeFile('book', { title: text }),
  ...coreFile('Router', 'book'),
  ...typeFile('note', { title: text }),
  ...coreFile('Router', 'note'),
  ...coreFile(
    'Controller',
    'note',
    `() => ({ async create(ctx) { ctx.state.user.username; return super.create(ctx); } })`,
  ),
  // a hook decides about a user, in the transaction of the write
  ...typeFile('verdict', { title: text, about: { type: 'integer' } }),
  'src/api/verdict/content-types/verdict/lifecycles.js': `module.exports = {
    async afterCreate({ result: { title, about } }) {
      const users = strapi.db.query('plugin::users-permissions.user');
      if (title === 'gone') await users.delete({ where: { id: about } });
      else await users.update({ where: { id: about }, data: { blocked: true } });
      if (title === 'recalled') throw new Error('not after all');
    },
  };`,
  'src/api/rule/routes/rule.js': `module.exports = { routes: [{ method: 'POST', path: '/rule', config: { auth: false }, handler: async (ctx) => {
    const [user, role, permission, token] = ['plugin::users-permissions.user', 'plugin::users-permissions.role', 'plugin::users-permissions.permission', 'admin::api-token'];
    const { query, transaction } = strapi.db;
    const { entityService } = strapi;
    const service = (name) => strapi.plugin('users-permissions').service(name);
    const roleOf = async (type) => (await query(role).findOne({ where: { type } })).id;
    ${allowing}
    return (await eval('(async () => { ' + ctx.request.body.code + ' })()')) ?? { done: true };
  } }] };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const all = (name) => ['find', 'create'].map((it) => 'api::' + name + '.' + name + '.' + it);
    await allow('authenticated', [...all('book'), ...all('note')]);
    await allow('guest', []);
    await allow('public', ['plugin::users-permissions.auth.callback']);
  } };`,
};

describe.each(dialects)('rights that code changes on %s', (dialect) => {
  let served: CodeProject;
  let user: { readonly id: number; readonly headers: Readonly<Record<string, string>> };
  let count = 0;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  /** Runs code of the project, in a request of its own. */
  const run = async (code: string): Promise<unknown> => {
    const { status, body } = await served.json('POST', '/api/rule', { code });
    expect([status, body]).toMatchObject([200, {}]);
    return body;
  };
  const read = async (name: string, headers = user.headers): Promise<number> =>
    (await served.json('GET', `/api/${name}`, undefined, headers)).status;
  const write = async (name: string, headers = user.headers): Promise<number> =>
    (await served.json('POST', `/api/${name}`, { data: { title: 'by them' } }, headers)).status;
  const stored = async (): Promise<unknown> =>
    run(`return [await query('api::book.book').count(), await query('api::note.note').count()]`);
  /** Requests to both kinds of types: their statuses. */
  const statuses = async (headers = user.headers): Promise<readonly number[]> => [
    await read('books', headers),
    await read('notes', headers),
    await write('books', headers),
    await write('notes', headers),
  ];
  const allowed = [200, 200, 200, 200];
  const [unknown, forbidden] = [401, 403].map((it) => [it, it, it, it]);

  beforeEach(async () => {
    count += 1;
    const name = `user${count}`;
    const made = await run(
      `return service('user').add({ username: '${name}', email: '${name}@example.org', password: 'Passw0rd!', provider: 'local', confirmed: true, role: await roleOf('authenticated') })`,
    );
    const { body } = await served.json('POST', '/api/auth/local', { identifier: name, password: 'Passw0rd!' });
    user = {
      id: (made as { id: number }).id,
      headers: { authorization: `Bearer ${(body as { jwt: string }).jwt}` },
    };
    // from here on it is known who they are
    expect(await statuses()).toEqual(allowed);
  });

  it.each([
    ['deleted by entityService', (id: number) => `await entityService.delete(user, ${id})`],
    ['deleted by db.query', (id: number) => `await query(user).delete({ where: { id: ${id} } })`],
    ['deleted among others', (id: number) => `await query(user).deleteMany({ where: { id: { $in: [${id}] } } })`],
    ['removed by their service', (id: number) => `await service('user').remove({ id: ${id} })`],
    [
      'blocked by entityService',
      (id: number) => `await entityService.update(user, ${id}, { data: { blocked: true } })`,
    ],
    [
      'blocked by db.query',
      (id: number) => `await query(user).update({ where: { id: ${id} }, data: { blocked: true } })`,
    ],
    [
      'blocked among others',
      (id: number) => `await query(user).updateMany({ where: { id: ${id} }, data: { blocked: true } })`,
    ],
    ['blocked by their service', (id: number) => `await service('user').edit(${id}, { blocked: true })`],
    [
      'blocked in a transaction',
      (id: number) => `await transaction(() => service('user').edit(${id}, { blocked: true }))`,
    ],
    [
      'blocked by a hook',
      (id: number) =>
        `await entityService.create('api::verdict.verdict', { data: { title: 'blocked', about: ${id} } })`,
    ],
    [
      'deleted by a hook',
      (id: number) => `await entityService.create('api::verdict.verdict', { data: { title: 'gone', about: ${id} } })`,
    ],
    ['given another password', (id: number) => `await service('user').edit(${id}, { password: 'An0ther!!' })`],
    ['left without a role', (id: number) => `await query(user).update({ where: { id: ${id} }, data: { role: null } })`],
  ])('AC7: a user who was %s is a 401 from then on, and writes nothing', async (_how, code) => {
    const before = await stored();
    await run(code(user.id));
    expect(await statuses()).toEqual(unknown);
    expect(await stored()).toEqual(before);
  });

  it('AC7: what was undone changes nothing', async () => {
    await run(
      `await transaction(async () => { await service('user').edit(${user.id}, { blocked: true }); throw new Error('no'); }).catch(() => undefined)`,
    );
    await run(
      `await entityService.create('api::verdict.verdict', { data: { title: 'recalled', about: ${user.id} } }).catch(() => undefined)`,
    );
    expect(await statuses()).toEqual(allowed);
  });

  it.each([
    ['the user', (id: number, type: string) => `await service('user').edit(${id}, { role: await roleOf('${type}') })`],
    [
      'the role',
      (id: number, type: string) =>
        `await query(role).update({ where: { type: '${type}' }, data: { users: { connect: [${id}] } } })`,
    ],
  ])('AC1: another role, which %s is given, counts from then on', async (_whom, code) => {
    await run(code(user.id, 'guest'));
    expect(await statuses()).toEqual(forbidden);
    await run(code(user.id, 'authenticated'));
    expect(await statuses()).toEqual(allowed);
  });

  it('AC1: a permission that is made or removed counts from then on', async () => {
    const nobody = {};
    expect(await read('books', nobody)).toBe(403);
    await run(`await allow('public', ['api::book.book.find', 'api::note.note.find'])`);
    expect([await read('books', nobody), await read('notes', nobody)]).toEqual([200, 200]);
    await run(
      `await query(permission).deleteMany({ where: { action: 'api::book.book.find', role: await roleOf('public') } })`,
    );
    expect([await read('books', nobody), await read('notes', nobody)]).toEqual([403, 200]);
    const grants = (enabled: boolean) =>
      `{ 'api::note': { controllers: { note: { find: { enabled: ${enabled} } } } }, 'plugin::users-permissions': { controllers: { auth: { callback: { enabled: true } } } } }`;
    await run(
      `await service('role').updateRole(await roleOf('public'), { name: 'Public', permissions: ${grants(false)} })`,
    );
    expect([await read('books', nobody), await read('notes', nobody)]).toEqual([403, 403]);
    await run(
      `await service('role').updateRole(await roleOf('public'), { name: 'Public', permissions: ${grants(true)} })`,
    );
    expect([await read('books', nobody), await read('notes', nobody)]).toEqual([403, 200]);
    await run(
      `await query(role).update({ where: { type: 'public' }, data: { permissions: { set: [] } } }); await allow('public', ['plugin::users-permissions.auth.callback'])`,
    );
    expect(await read('notes', nobody)).toBe(403);
  });

  it('AC17: an API token counts as code has left it', async () => {
    const headers = { authorization: `Bearer ${KEY}` };
    const may = async () => [await read('books', headers), await write('books', headers)];
    expect(await may()).toEqual([401, 401]);
    const data = `{ name: 'by code', type: 'full-access', accessKey: '${hashToken(KEY, 'salt')}' }`;
    const { id } = (await run(`return query(token).create({ data: ${data} })`)) as { id: number };
    expect(await may()).toEqual([200, 200]);
    await run(`await query(token).update({ where: { id: ${id} }, data: { type: 'read-only' } })`);
    expect(await may()).toEqual([200, 403]);
    await run(`await query(token).delete({ where: { id: ${id} } })`);
    expect(await may()).toEqual([401, 401]);
  });

  it.each([
    ['gone', sql`delete from up_users where id = `],
    ['blocked', sql`update up_users set blocked = true where id = `],
  ])('AC7: a user who is %s by the hand of another process is a 401 to code at once', async (_how, change) => {
    const before = await stored();
    await served.db.write((tx) => tx.run(served.db.dialect.compile(sql`${change}${sql.lit(user.id)}`)));
    expect(await write('notes')).toBe(401);
    expect(await stored()).toEqual(before);
  });
});
