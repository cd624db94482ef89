/** What administrators look at and look after: the rights of others (AD15), API tokens (AD16), users, roles, files (AD8). */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { type AdminName, type AdminOptions, admins, useAdmins } from '../world/administrators.js';
import { bearer, tokens } from '../world/people.js';
import { refusal, type TestAnswer } from '../world/server.js';
import { dialects, type Entry } from '../world/world.js';

const forbidden = refusal(403, 'ForbiddenError', 'Forbidden');
const dataOf = <T>({ body, status, text }: TestAnswer): T => {
  if (status >= 300) throw new Error(text);
  return (body as { data: T }).data;
};

const genre = 'api::genre.genre';
const options: AdminOptions = {
  grants: { editor: ['api::donor.donor.find', 'plugin::users-permissions.user.find'] },
  custom: ['api::genre.genre.find'],
  permissions: {
    editor: [
      { action: 'read', subject: genre, fields: ['name'] },
      { action: 'read', subject: 'plugin::users-permissions.user', fields: ['username', 'role'] },
      { action: 'update', subject: 'plugin::users-permissions.user', fields: ['username'] },
      { action: 'plugin::users-permissions.roles.read' },
      { action: 'admin::api-tokens.read' },
      { action: 'admin::api-tokens.create' },
      { action: 'admin::users.read' },
      { action: 'admin::users.create' },
      { action: 'admin::users.update' },
      { action: 'read', subject: 'api::film.film', fields: ['title'], conditions: ['admin::is-creator'] },
      { action: 'plugin::upload.read' },
    ],
    author: [
      { action: 'read', subject: 'plugin::users-permissions.user', fields: ['username'] },
      {
        action: 'create',
        subject: 'plugin::users-permissions.user',
        fields: ['username', 'email', 'password', 'role'],
      },
      { action: 'update', subject: 'plugin::users-permissions.user', fields: ['password'] },
      { action: 'read', subject: 'api::film.film', fields: ['title', 'poster'] },
      { action: 'plugin::upload.read', conditions: ['admin::is-creator'] },
      { action: 'plugin::upload.assets.create' },
      { action: 'plugin::upload.assets.update', conditions: ['admin::is-creator'] },
    ],
  },
};

describe.each(dialects)('the rights of others on %s', (dialect) => {
  const it_ = useAdmins(dialect, options);
  const get = (name: AdminName, url: string, as?: string) =>
    it_().askAs(name, 'GET', url, as === undefined ? {} : { headers: { 'dovetail-as': as } });

  it('AD15: a role sees what its users see, and its answers are theirs byte by byte', async () => {
    expect((await get('ada', '/api/donors', 'role:public')).body).toEqual(forbidden);
    const borrowed = await get('ada', '/api/donors?populate=*', 'role:editor');
    const user = await it_().ask('GET', '/api/donors?populate=*', { as: 'editor' });
    expect(borrowed.text).toBe(user.text);
    expect(borrowed.headers['etag']).toBe(user.headers['etag']);
    const open = await get('ada', '/api/people/1?populate=*', 'role:public');
    expect(open.text).toBe((await it_().server.get('/api/people/1?populate=*')).text);
    expect(open.text).not.toContain('a secret wish');
    expect((await get('ada', '/api/people/1?populate=*')).text).toContain('a secret wish');
  });

  it('AD13: what the server itself sets in users needs no permission, what their bodies say does', async () => {
    const user = { username: 'made by cyd', email: 'made@example.org', password: 'secret1', role: 1 };
    const send = (method: string, url: string, body: object) => it_().askAs('cyd', method, url, { body });
    const made = await send('POST', '/api/users', user);
    expect(made.status).toBe(201);
    const { id } = made.body as { id: number };
    expect((await send('PUT', `/api/users/${id}`, { password: 'secret2' })).status).toBe(200);
    for (const more of [{ provider: 'local' }, { resetPasswordToken: null }, { blocked: true }])
      for (const [method, url, body] of [
        ['POST', '/api/users', { ...user, username: 'other', email: 'other@example.org', ...more }],
        ['PUT', `/api/users/${id}`, { password: 'secret3', ...more }],
      ] as const)
        expect([method, more, (await send(method, url, body)).status]).toEqual([method, more, 403]);
  });

  it('AD15: so does a token, and /users, files, locales and the description answer alike', async () => {
    expect((await get('ada', '/api/genres', `token:${tokens.custom.id}`)).status).toBe(200);
    expect((await get('ada', '/api/films', `token:${tokens.custom.id}`)).body).toEqual(forbidden);
    for (const [url, as, status] of [
      ['/api/users', 'role:editor', 200],
      ['/api/users', 'role:public', 403],
      ['/api/upload/files', 'role:public', 403],
      ['/api/i18n/locales', 'role:public', 403],
      ['/api/users/me', 'role:authenticated', 401],
    ] as const)
      expect([url, as, (await get('ada', url, as)).status]).toEqual([url, as, status]);
    const paths = async (as?: string) =>
      Object.keys(((await get('ada', '/api/openapi.json', as)).body as { paths: object }).paths);
    expect(await paths('role:public')).not.toContain('/api/donors');
    expect(await paths()).toContain('/api/donors');
  });

  it('AD15: an unknown role, token or form of the header is a 400', async () => {
    for (const as of ['role:nobody', 'token:999', 'token:99999999999', 'token:x', 'user:1', 'public', ''])
      expect([as, (await get('ada', '/api/genres', as)).status]).toEqual([as, 400]);
  });

  it('AD15: nobody else has a say in it', async () => {
    const headers = { 'dovetail-as': 'role:public' };
    for (const as of ['reader', 'full', 'reading'] as const)
      expect((await it_().ask('GET', '/api/genres', { as, headers })).body).toEqual(forbidden);
    expect((await it_().server.get('/api/genres', headers)).body).toEqual(forbidden);
  });

  it('AD15: nobody gets rights that they could not give: only the public’s are open to every administrator', async () => {
    expect((await get('flo', '/api/genres', 'role:public')).status).toBe(200);
    for (const as of ['role:editor', 'role:nobody', `token:${tokens.full.id}`, 'token:999'])
      expect([as, (await get('bea', '/api/donors', as)).body]).toEqual([as, forbidden]);
  });

  it('AD15: with the rights of others nothing is written', async () => {
    const as = { 'dovetail-as': `token:${tokens.full.id}` };
    const refused = refusal(403, 'ForbiddenError', 'Requests with the header Dovetail-As can only read');
    for (const [method, url] of [
      ['POST', '/api/genres'],
      ['PUT', '/api/genres/1'],
      ['DELETE', '/api/genres/1'],
      ['POST', '/api/notices/1/localizations'],
      ['POST', '/api/users'],
      ['PUT', '/api/users-permissions/roles/1'],
      ['DELETE', '/api/upload/files/1'],
    ] as const) {
      const answer = await it_().askAs('ada', method, url, { body: { data: { name: 'x' } }, headers: as });
      expect([method, url, answer.body]).toEqual([method, url, refused]);
    }
    expect((await get('ada', '/api/genres/1')).status).toBe(200);
  });
});

describe.each(dialects)('API tokens of administrators on %s', (dialect) => {
  const it_ = useAdmins(dialect, options);
  const ask = (name: AdminName, method: string, path = '', body?: unknown) =>
    it_().askAs(name, method, `/admin/api-tokens${path}`, body === undefined ? {} : { body });
  interface Token {
    readonly id: number;
    readonly accessKey?: string;
    readonly [name: string]: unknown;
  }

  it('AD16: a token is made, shown once with its key, and works; what it writes names its maker', async () => {
    const made = dataOf<Token>(
      await ask('ada', 'POST', '', {
        name: 'site',
        description: 'for the site',
        type: 'full-access',
        lifespan: 604_800_000,
      }),
    );
    expect(made).toEqual({
      id: expect.any(Number),
      name: 'site',
      description: 'for the site',
      type: 'full-access',
      permissions: [],
      lastUsedAt: null,
      expiresAt: expect.any(String),
      lifespan: 604_800_000,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      accessKey: expect.stringMatching(/^[0-9a-f]{256}$/),
    });
    const listed = await ask('ada', 'GET');
    expect(listed.text).not.toMatch(/accessKey|access_key/);
    expect(listed.text).not.toContain(made.accessKey!);
    expect(dataOf<Token>(await ask('ada', 'GET', `/${made.id}`))).toEqual({ ...made, accessKey: undefined });
    const { server, world } = it_();
    const created = await server.send('POST', '/api/reels', {
      body: { data: { label: 'x' } },
      headers: bearer(made.accessKey!),
    });
    const { id } = dataOf<Entry>(created);
    const query = sql`select created_by_id from reels where id = ${sql.lit(id)}`;
    expect(await world.db.write((tx) => tx.run(world.db.dialect.compile(query)))).toEqual([[admins.ada]]);
  });

  it('AD16: a custom token has its actions, which can be changed; another key ends the old one', async () => {
    const { server } = it_();
    const made = dataOf<Token>(
      await ask('ada', 'POST', '', { name: 'custom', type: 'custom', permissions: ['api::genre.genre.find'] }),
    );
    const status = async (key: string, url: string) => (await server.get(url, bearer(key))).status;
    expect([await status(made.accessKey!, '/api/genres'), await status(made.accessKey!, '/api/films')]).toEqual([
      200, 403,
    ]);
    const changed = dataOf<Token>(
      await ask('ada', 'PUT', `/${made.id}`, { name: 'renamed', type: 'custom', permissions: ['api::film.film.find'] }),
    );
    expect(changed).toMatchObject({ name: 'renamed', permissions: ['api::film.film.find'] });
    expect([await status(made.accessKey!, '/api/genres'), await status(made.accessKey!, '/api/films')]).toEqual([
      403, 200,
    ]);
    const again = dataOf<Token>(await ask('ada', 'POST', `/${made.id}/regenerate`, {}));
    expect(await status(made.accessKey!, '/api/films')).toBe(401);
    expect(await status(again.accessKey!, '/api/films')).toBe(200);
    expect((await ask('ada', 'DELETE', `/${made.id}`)).status).toBe(200);
    expect(await status(again.accessKey!, '/api/films')).toBe(401);
    expect((await ask('ada', 'GET', `/${made.id}`)).status).toBe(404);
  });

  it.each<readonly [string, object]>([
    ['without a name', { type: 'read-only' }],
    ['with a name that another has', { name: 'full-token', type: 'read-only' }],
    ['of another type', { name: 'a', type: 'root' }],
    ['with another lifespan', { name: 'a', type: 'read-only', lifespan: 1 }],
    ['custom without actions', { name: 'a', type: 'custom' }],
    ['with an unknown action', { name: 'a', type: 'custom', permissions: ['api::genre.genre.fnd'] }],
    ['with a name that is no text', { name: { a: 1 }, type: 'read-only' }],
    ['with a long name', { name: 'x'.repeat(limits.tokenTextMax + 1), type: 'read-only' }],
  ])('AD16: one %s is a 400, and not made', async (_name, body) => {
    const before = dataOf<readonly Token[]>(await ask('ada', 'GET')).length;
    expect((await ask('ada', 'POST', '', body)).status).toBe(400);
    expect(dataOf<readonly Token[]>(await ask('ada', 'GET')).length).toBe(before);
  });

  it('AD16: each action needs its permission of v4', async () => {
    expect((await ask('bea', 'GET')).status).toBe(200);
    expect((await ask('bea', 'POST', '', { name: 'by bea', type: 'read-only' })).status).toBe(201);
    for (const [method, path] of [
      ['PUT', '/1'],
      ['DELETE', '/1'],
      ['POST', '/1/regenerate'],
    ] as const)
      expect((await ask('bea', method, path, {})).body).toEqual(forbidden);
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['GET', '/1'],
    ] as const)
      expect((await ask('cyd', method, path, {})).body).toEqual(forbidden);
    expect((await it_().ask('GET', '/admin/api-tokens', { as: 'full' })).status).toBe(401);
  });
});

describe.each(dialects)('users, roles and files for administrators on %s', (dialect) => {
  const it_ = useAdmins(dialect, options);

  it('AD8: users of the API are read and changed by the permissions on their type', async () => {
    const { askAs } = it_();
    const found = await askAs('bea', 'GET', '/api/users/1?populate=role');
    expect(found.body).toMatchObject({ id: 1, username: 'reader', role: { type: 'authenticated' } });
    expect(Object.keys(found.body as object)).not.toContain('email');
    expect((await askAs('bea', 'GET', '/api/users?filters[email][$contains]=a')).status).toBe(400);
    expect((await askAs('bea', 'GET', '/api/users/count?filters[email][$contains]=a')).status).toBe(400);
    expect((await askAs('bea', 'PUT', '/api/users/1', { body: { username: 'reader two' } })).status).toBe(200);
    for (const body of [{ password: 'Passw0rd!' }, { role: 3 }, { blocked: true }, { email: 'x@example.com' }])
      expect([body, (await askAs('bea', 'PUT', '/api/users/1', { body })).status]).toEqual([body, 403]);
    expect((await askAs('bea', 'DELETE', '/api/users/1')).body).toEqual(forbidden);
    expect((await askAs('bea', 'POST', '/api/users', { body: {} })).body).toEqual(forbidden);
    expect((await askAs('ada', 'PUT', '/api/users/1', { body: { role: 3 } })).status).toBe(200);
  });

  it('AD11: where a file is used tells nothing of entries and files that may not be seen; folders are nobody’s own', async () => {
    const { askAs } = it_();
    const uses = async (name: AdminName, id: number) => {
      const { status, body } = await askAs(name, 'GET', `/_dovetail/files/${id}/uses`);
      return [status, (body as { meta?: { total: number } }).meta?.total];
    };
    const [, all = 0] = await uses('ada', 1);
    expect(all).toBeGreaterThan(0);
    expect(await uses('bea', 1)).toEqual([200, 0]);
    expect(await uses('cyd', 1)).toEqual([404, undefined]);
    const made = await askAs('ada', 'POST', '/_dovetail/folders', { body: { name: 'shared' } });
    const { id } = dataOf<{ id: number }>(made);
    expect((await askAs('cyd', 'PUT', `/_dovetail/folders/${id}`, { body: { name: 'mine' } })).body).toEqual(forbidden);
    expect((await askAs('cyd', 'DELETE', `/_dovetail/folders/${id}`)).body).toEqual(forbidden);
  });

  it('AD8: roles of the API by v4’s actions for them', async () => {
    const { askAs } = it_();
    expect((await askAs('bea', 'GET', '/api/users-permissions/roles')).status).toBe(200);
    expect((await askAs('bea', 'GET', '/api/users-permissions/permissions')).status).toBe(200);
    expect((await askAs('bea', 'PUT', '/api/users-permissions/roles/2', { body: { permissions: {} } })).body).toEqual(
      forbidden,
    );
    expect((await askAs('ada', 'PUT', '/api/users-permissions/roles/3', { body: { name: 'Editors' } })).status).toBe(
      200,
    );
  });

  it('AD8, AD11: files are uploaded, listed and deleted by their permissions, own ones only where they say so', async () => {
    const { askAs, world } = it_();
    const boundary = 'b';
    const body = Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="files"; filename="note.txt"\r\ncontent-type: text/plain\r\n\r\nhello\r\n--${boundary}--\r\n`,
    );
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
    expect((await askAs('bea', 'POST', '/api/upload', { body, headers })).body).toEqual(forbidden);
    const made = await askAs('cyd', 'POST', '/api/upload', { body, headers });
    expect(made.status).toBe(200);
    const [{ id }] = made.body as [{ id: number }];
    const query = sql`select created_by_id from files where id = ${sql.lit(id)}`;
    expect(await world.db.write((tx) => tx.run(world.db.dialect.compile(query)))).toEqual([[admins.cyd]]);
    const ids = ((await askAs('cyd', 'GET', '/api/upload/files')).body as readonly { id: number }[]).map((it) => it.id);
    expect(ids).toEqual([id]);
    expect((await askAs('cyd', 'GET', '/api/upload/files/1')).status).toBe(404);
    expect((await askAs('cyd', 'DELETE', '/api/upload/files/1')).status).toBe(404);
    expect((await askAs('cyd', 'POST', '/api/upload?id=1', { body: { fileInfo: { name: 'mine now' } } })).status).toBe(
      404,
    );
    expect(
      (await askAs('cyd', 'POST', `/api/upload?id=${id}`, { body: { fileInfo: { name: 'renamed' } } })).status,
    ).toBe(200);
    expect((await askAs('cyd', 'DELETE', `/api/upload/files/${id}`)).status).toBe(200);
    expect(((await askAs('ada', 'GET', '/api/upload/files')).body as readonly object[]).length).toBeGreaterThan(1);
  });
});
