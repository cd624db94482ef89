/** Lifecycles of users, which run on the server's own endpoints of users and of authentication as on any other. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, serveCode } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

/** Whoever is signed in sees users with the same first letter; bob cannot sign in, and e-mails are shown to nobody. */
const subscriber = `{
  models: ['plugin::users-permissions.user'],
  beforeFindOne: narrow, beforeFindMany: narrow, beforeCount: narrow,
  afterFindOne: mask, afterFindMany: mask,
  beforeUpdate() { strapi.updatedBy.push(strapi.requestContext.get()?.state.user?.username); },
}`;

const files = {
  'src/index.js': `
    const narrow = ({ params }) => {
      const ctx = strapi.requestContext.get();
      const user = ctx?.state.user;
      const also = ctx?.path.startsWith('/api/auth/') && !user ? { username: { $ne: 'bob' } } : user ? { username: { $startsWith: user.username[0] } } : {};
      params.where = { $and: [params.where ?? {}, also] };
    };
    const mask = ({ result }) => { for (const it of [result].flat()) if (it) it.email = 'hidden'; };
    module.exports = { async bootstrap({ strapi }) {
      ${allowing}
      strapi.updatedBy = [];
      const users = ['find', 'findOne', 'count', 'me', 'create', 'update', 'destroy'].map((it) => 'plugin::users-permissions.user.' + it);
      await allow('authenticated', [...users, 'plugin::users-permissions.auth.changePassword']);
      await allow('public', ['plugin::users-permissions.auth.callback', 'plugin::users-permissions.auth.register']);
      const role = await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } });
      for (const username of ['ann', 'abe', 'bob'])
        await strapi.plugin('users-permissions').service('user').add({ username, email: username + '@example.org', password: 'Passw0rd!', provider: 'local', confirmed: true, role: role.id });
      strapi.db.lifecycles.subscribe(${subscriber});
    } };`,
};

const callback = (served: CodeProject, identifier: string) =>
  served.json('POST', '/api/auth/local', { identifier, password: 'Passw0rd!' });

describe.each(dialects)('lifecycles of users on %s', (dialect) => {
  let served: CodeProject;
  let headers: Record<string, string>;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
    const { body } = await callback(served, 'ann');
    headers = { authorization: `Bearer ${(body as { jwt: string }).jwt}` };
  });
  afterAll(() => served.close());
  const get = (path: string) => served.json('GET', path, undefined, headers);
  const names = async (path: string) =>
    ((await get(path)).body as { username: string; email: string }[]).map((it) => [it.username, it.email]);

  it('narrow lists, counts and single users, and change what is shown', async () => {
    expect(await names('/api/users?sort=username')).toEqual([
      ['abe', 'hidden'],
      ['ann', 'hidden'],
    ]);
    expect(await names('/api/users?sort=username&start=1&limit=5')).toEqual([['ann', 'hidden']]);
    expect(await names('/api/users?filters[username]=bob')).toEqual([]);
    expect((await get('/api/users/count')).body).toBe('2');
    expect((await get('/api/users/count?username=bob')).body).toBe('0');
    expect((await get('/api/users/2')).body).toMatchObject({ username: 'abe', email: 'hidden' });
    expect((await get('/api/users/3')).status).toBe(404);
    expect((await get('/api/users/me')).body).toMatchObject({ username: 'ann', email: 'hidden' });
  });

  it('show nothing that is private, and refuse what the server refuses', async () => {
    const { body } = await get('/api/users/me');
    expect(Object.keys(body as object)).not.toEqual(expect.arrayContaining(['password']));
    expect((await get('/api/users?filters[password][$startsWith]=$2')).status).toBe(400);
    expect((await get('/api/users?filters[role][name]=Public')).status).toBe(400);
    expect((await served.json('GET', '/api/users')).status).toBe(403);
  });

  it('know whose request it is when users are written, and keep out of reach what they hide', async () => {
    const rename = (id: number) => served.json('PUT', `/api/users/${id}`, { username: `abe${id}` }, headers);
    expect([(await rename(2)).body, (await rename(3)).status]).toMatchObject([
      { username: 'abe2', email: 'hidden' },
      404,
    ]);
    expect((await served.json('DELETE', '/api/users/3', undefined, headers)).status).toBe(404);
    const { strapi } = globalThis as unknown as { strapi: { updatedBy: string[] } };
    expect(strapi.updatedBy).toEqual(['ann']);
  });

  it('see the responses of users that are made and removed', async () => {
    const made = (username: string) => ({ username, email: `${username}@example.org`, password: 'Passw0rd!' });
    const registered = await served.json('POST', '/api/auth/local/register', made('amy'));
    expect(registered.body).toMatchObject({ user: { username: 'amy', email: 'hidden' } });
    const added = await served.json('POST', '/api/users', { ...made('alf'), role: 1 }, headers);
    expect([added.status, added.body]).toMatchObject([201, { username: 'alf', email: 'hidden' }]);
    const removed = await served.json('DELETE', `/api/users/${(added.body as { id: number }).id}`, undefined, headers);
    expect([removed.status, removed.body]).toMatchObject([200, { username: 'alf', email: 'hidden' }]);
  });

  it('decide who signs in, and what of them is shown', async () => {
    expect((await callback(served, 'bob')).status).toBe(400);
    expect((await callback(served, 'ann@example.org')).body).toMatchObject({
      user: { username: 'ann', email: 'hidden' },
    });
    const passwords = { currentPassword: 'Passw0rd!', password: 'An0ther!!', passwordConfirmation: 'An0ther!!' };
    const changed = await served.json('POST', '/api/auth/change-password', passwords, headers);
    expect(changed.body).toMatchObject({ user: { username: 'ann', email: 'hidden' } });
  });
});

describe('hooks of reads', () => {
  it.each([
    ['plugin::upload.file', 'beforeFindMany'],
    ['plugin::users-permissions.role', 'afterFindOne'],
  ])('of %s would be missed by the server, so they stop the start', async (uid, hook) => {
    const index = `module.exports = { bootstrap({ strapi }) { strapi.db.lifecycles.subscribe({ models: ['${uid}'], ${hook}() {} }); } };`;
    await expect(serveCode('sqlite', { 'src/index.js': index })).rejects.toThrow(`${hook} of ${uid}`);
  });

  it('of every type are warned of', async () => {
    const index = `module.exports = { bootstrap({ strapi }) { strapi.db.lifecycles.subscribe({ beforeCount() {} }); } };`;
    const served = await serveCode('sqlite', { 'src/index.js': index });
    expect(served.logged.join('')).toContain('beforeCount of every content type');
    await served.close();
  });
});
