/** Administrators sign in, and what their tokens and sessions are worth (AD1 to AD6). */
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import {
  type AdminName,
  type AdminWorld,
  adminPassword,
  admins,
  cookieOf,
  emailOf,
  newAdminWorld,
  studio,
  useAdmins,
} from '../world/administrators.js';
import { bearer, jwtFor, jwtOf } from '../world/people.js';
import { refusal, secrets, type TestAnswer } from '../world/server.js';
import { dialects } from '../world/world.js';

const wrong = refusal(400, 'ValidationError', 'Invalid credentials', { path: [] });
const unknown = refusal(401, 'UnauthorizedError', 'Missing or invalid credentials');
const login = ({ server }: AdminWorld, body: unknown, headers: Record<string, string> = {}) =>
  server.send('POST', '/admin/login', { body, headers });
const tokenIn = ({ body }: TestAnswer): string => (body as { data: { token: string } }).data.token;
const rows = async ({ world: { db } }: AdminWorld, query: string): Promise<readonly (readonly unknown[])[]> =>
  db.write((tx) => tx.run(db.dialect.compile(sql.raw(query))));

describe.each(dialects)('signing in on %s', (dialect) => {
  const it_ = useAdmins(dialect);

  it.each(['ada@example.org', ' ADA@Example.org '])(
    'AD1: %s is signed in with the hash that v4 stored',
    async (email) => {
      const { status, body, headers } = await login(it_(), { email, password: adminPassword });
      expect(status).toBe(200);
      expect(body).toEqual({
        data: {
          token: expect.any(String),
          expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
          user: {
            id: 1,
            firstname: 'Ada',
            lastname: 'Quill',
            email: 'ada@example.org',
            roles: [{ id: 1, name: 'Super Admin', code: 'strapi-super-admin' }],
          },
        },
      });
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['set-cookie']).toBeUndefined();
    },
  );

  it.each<readonly [string, unknown]>([
    ['a wrong password', { email: emailOf('ada'), password: 'wrong' }],
    ['nobody', { email: 'nobody@example.org', password: adminPassword }],
    ['a blocked administrator', { email: emailOf('dot'), password: adminPassword }],
    ['one who is not active', { email: emailOf('eve'), password: adminPassword }],
    ['one without a password', { email: emailOf('gus'), password: adminPassword }],
    ['a user of the API', { email: 'reader@example.com', password: 'Passw0rd!' }],
    ['SQL', { email: "' or 1=1 --", password: adminPassword }],
    ['the hash', { email: emailOf('ada'), password: '$2a$04$' }],
  ])('AD1: %s gets the same answer', async (_name, body) => {
    const answer = await login(it_(), body, studio);
    expect(answer.body).toEqual(wrong);
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  it('AD1: what is missing is named, and values are not repeated', async () => {
    const { body, text } = await login(it_(), { email: { $ne: '' }, password: ['secret word'] });
    expect(body).toMatchObject({ error: { status: 400 } });
    expect(text).not.toContain('secret word');
    expect((await login(it_(), undefined)).status).toBe(400);
  });

  it('AD3: the token opens the API with everything that a super admin may, and tells who it is', async () => {
    const { askAs } = it_();
    expect((await askAs('ada', 'GET', '/api/donors')).status).toBe(200);
    expect((await askAs('ada', 'GET', '/admin/me')).body).toEqual({
      data: {
        id: 1,
        firstname: 'Ada',
        lastname: 'Quill',
        email: 'ada@example.org',
        roles: [{ id: 1, name: 'Super Admin', code: 'strapi-super-admin' }],
        isSuperAdmin: true,
        permissions: [],
      },
    });
  });

  it('AD3: without a token, or with that of a user or of the API, there is no administrator', async () => {
    const { server, ask, login: loginUser } = it_();
    expect((await server.get('/admin/me')).body).toEqual(unknown);
    expect((await server.get('/admin/me', bearer(await loginUser('reader')))).body).toEqual(unknown);
    expect((await ask('GET', '/admin/me', { as: 'full' })).body).toEqual(unknown);
    expect((await server.get('/admin/me', bearer('nonsense'))).body).toEqual(unknown);
  });

  it.each([
    [
      'one of v4’s panel',
      jwtOf({ id: 1, iat: 1_700_000_000, exp: 4_102_444_800 }, { secret: secrets.adminJwtSecret! }),
    ],
    [
      'one with our claims, under the secret itself',
      jwtOf(
        { sub: '1', sid: 'x'.repeat(22), aud: 'dovetail administrators', exp: 4_102_444_800 },
        { secret: secrets.adminJwtSecret! },
      ),
    ],
    [
      'the same under the secret of users',
      jwtOf({ sub: '1', sid: 'x'.repeat(22), aud: 'dovetail administrators', exp: 4_102_444_800 }),
    ],
    [
      'one without a signature',
      jwtOf({ sub: '1', aud: 'dovetail administrators', exp: 4_102_444_800 }, { alg: 'none' }),
    ],
    ['that of a user', jwtFor(1)],
  ])('AD3: %s is no token of an administrator', async (_name, token) => {
    const { server } = it_();
    expect((await server.get('/admin/me', bearer(token))).body).toEqual(unknown);
  });

  it('AD3: the token of an administrator is no token of the user with the same id', async () => {
    const { askAs } = it_();
    expect((await askAs('ada', 'GET', '/api/users/me')).body).toEqual(refusal(403, 'ForbiddenError', 'Forbidden'));
    const password = { currentPassword: 'Passw0rd!', password: 'other word', passwordConfirmation: 'other word' };
    expect((await askAs('ada', 'POST', '/api/auth/change-password', { body: password })).status).toBe(403);
  });

  it('AD2: pages of other origins cannot sign anybody in', async () => {
    const body = { email: emailOf('ada'), password: adminPassword };
    const foreign = refusal(403, 'ForbiddenError', 'Requests from pages of other sites are not allowed');
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ])
      expect((await login(it_(), body, headers)).body).toEqual(foreign);
    for (const headers of [
      { 'sec-fetch-site': 'same-origin', origin: 'http://x.example' },
      { origin: 'http://localhost:80', host: 'localhost:80' },
    ])
      expect((await login(it_(), body, headers)).body).not.toEqual(foreign);
  });

  it('AD2: other methods are a 405, other paths a 404', async () => {
    const { server } = it_();
    expect((await server.send('PUT', '/admin/login', { body: {} })).status).toBe(405);
    expect((await server.get('/admin/login')).status).toBe(404);
    expect((await server.get('/admin/plugins')).status).toBe(404);
  });
});

describe.each(dialects)('sessions on %s', (dialect) => {
  let now = Date.now();
  const opened: AdminWorld[] = [];
  const open = async (): Promise<AdminWorld> => {
    now = Date.now();
    const world = await newAdminWorld(dialect, { people: { now: () => now } });
    opened.push(world);
    return world;
  };
  afterEach(async () => {
    for (const it of opened.splice(0)) await it.close();
  });

  const start = async (world: AdminWorld, name: AdminName = 'ada') => {
    const answer = await world.signIn(name, studio);
    expect(answer.status).toBe(200);
    return { cookie: cookieOf(answer)!, token: tokenIn(answer) };
  };
  const refresh = ({ server }: AdminWorld, cookie: string | null, headers: Record<string, string> = studio) =>
    server.send('POST', '/admin/refresh', { headers: { ...headers, ...(cookie === null ? {} : { cookie }) } });
  const me = ({ server }: AdminWorld, token: string) => server.get('/admin/me', bearer(token));
  const ended = refusal(401, 'UnauthorizedError', 'There is no session, or it has ended. Sign in again');

  it('AD4: the cookie is for /admin only, and no script, other site or database has it', async () => {
    const world = await open();
    const answer = await world.signIn('ada', studio);
    expect(answer.headers['set-cookie']).toMatch(
      /^dovetail_session=[\w-]{22}\.[\w-]{43}; Path=\/admin; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    const stored = JSON.stringify(await rows(world, 'select * from dovetail_sessions'));
    const [, secret = ''] = cookieOf(answer)!.split('.');
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(tokenIn(answer));
    // it authenticates nothing by itself
    for (const url of ['/admin/me', '/api/donors'])
      expect((await world.server.get(url, { ...studio, cookie: cookieOf(answer)! })).status).not.toBe(200);
  });

  it('AD4: a refresh gives another token and another cookie, and needs the header', async () => {
    const world = await open();
    const { cookie } = await start(world);
    expect((await refresh(world, cookie, {})).body).toEqual(
      refusal(403, 'ForbiddenError', 'The request needs the header Dovetail-Studio: 1'),
    );
    expect((await refresh(world, cookie, { ...studio, 'sec-fetch-site': 'same-site' })).status).toBe(403);
    const answer = await refresh(world, cookie);
    expect(answer.status).toBe(200);
    expect(cookieOf(answer)).not.toBe(cookie);
    expect((await me(world, tokenIn(answer))).status).toBe(200);
    expect((await refresh(world, cookieOf(answer))).status).toBe(200);
    expect((await refresh(world, null)).body).toEqual(ended);
    expect((await refresh(world, 'dovetail_session=nonsense')).body).toEqual(ended);
  });

  it('AD4: whoever uses an old refresh token ends the session', async () => {
    const world = await open();
    const { cookie } = await start(world);
    const next = await refresh(world, cookie);
    now += limits.refreshOverlapMsMax + 1;
    expect((await refresh(world, cookie)).body).toEqual(ended);
    expect((await refresh(world, cookieOf(next))).body).toEqual(ended);
    now += limits.permissionsMsMax + 1;
    expect((await me(world, tokenIn(next))).status).toBe(401);
  });

  it('AD4: two pages that refresh at the same time stay signed in, and one cookie is valid', async () => {
    const world = await open();
    const { cookie } = await start(world);
    const answers = await Promise.all([refresh(world, cookie), refresh(world, cookie)]);
    expect(answers.map((it) => it.status)).toEqual([200, 200]);
    const cookies = answers.map(cookieOf).filter((it) => it !== null);
    expect(cookies).toHaveLength(1);
    for (const it of answers) expect((await me(world, tokenIn(it))).status).toBe(200);
    now += limits.refreshOverlapMsMax + 1;
    expect((await refresh(world, cookies[0]!)).status).toBe(200);
  });

  it('AD4: logging out ends the session on the server, also for its access token', async () => {
    const world = await open();
    const { cookie, token } = await start(world);
    const other = await start(world);
    const logout = (headers: Record<string, string>) => world.server.send('POST', '/admin/logout', { headers });
    expect((await logout({ cookie })).status).toBe(403);
    expect((await me(world, token)).status).toBe(200);
    const answer = await logout({ ...studio, cookie });
    expect(answer.body).toEqual({ data: {} });
    expect(answer.headers['set-cookie']).toMatch(/^dovetail_session=; Path=\/admin; Max-Age=0;/);
    expect((await me(world, token)).status).toBe(401);
    expect((await refresh(world, cookie)).body).toEqual(ended);
    expect((await me(world, other.token)).status).toBe(200);
    // without a session there is nothing to end
    expect((await logout(studio)).status).toBe(200);
  });

  it.each<readonly [string, readonly [column: string, value: string | boolean]]>([
    ['is blocked', ['blocked', true]],
    ['is deactivated', ['is_active', false]],
    ['gets another password', ['password', '$2a$04$Z4rGcdauR9mN4wHmMnkGCuliv8C1376Pso.OBxjr9Crp1uKOEfkue']],
  ])('AD5: sessions end when the administrator %s, by v4 too', async (_name, [column, value]) => {
    const world = await open();
    const { cookie, token } = await start(world);
    await world.world.update('admin_users', admins.ada, column, value);
    now += limits.permissionsMsMax + 1;
    expect((await me(world, token)).status).toBe(401);
    expect((await refresh(world, cookie)).body).toEqual(ended);
  });

  it('AD5: sessions end when the administrator is deleted', async () => {
    const world = await open();
    const { cookie, token } = await start(world, 'flo');
    await rows(world, `delete from admin_users where id = ${admins.flo}`);
    now += limits.permissionsMsMax + 1;
    expect((await me(world, token)).status).toBe(401);
    expect((await refresh(world, cookie)).body).toEqual(ended);
  });

  it('AD3: an access token ends after 15 minutes, AD4: a session that nobody refreshes after 7 days, any after 30', async () => {
    const world = await open();
    const { cookie, token } = await start(world);
    now += limits.adminTokenMsMax + 1000;
    expect((await me(world, token)).status).toBe(401);
    let last = await refresh(world, cookie);
    expect(last.status).toBe(200);
    const idle = await start(world);
    now += limits.adminSessionIdleMsMax + 1;
    expect((await refresh(world, idle.cookie)).body).toEqual(ended);
    const again = await start(world);
    let current = again.cookie;
    const days = 24 * 60 * 60 * 1000;
    for (let day = 0; day < 30; day += 6) {
      last = await refresh(world, current);
      expect(last.status).toBe(200);
      current = cookieOf(last)!;
      now += 6 * days;
    }
    expect((await refresh(world, current)).body).toEqual(ended);
  });

  it('AD4: an administrator has at most 20 sessions, and those that have ended leave the table', async () => {
    const world = await open();
    const first = await start(world);
    const bea = await start(world, 'bea');
    for (let i = 0; i < limits.adminSessionsMax; i++) await start(world);
    expect((await refresh(world, first.cookie)).body).toEqual(ended);
    expect((await refresh(world, bea.cookie)).status).toBe(200);
    expect(await rows(world, 'select count(*) from dovetail_sessions')).toEqual([[expect.anything()]]);
    now += limits.adminSessionIdleMsMax + 1;
    await start(world);
    const [[left] = []] = await rows(world, 'select count(*) from dovetail_sessions');
    expect(Number(left)).toBe(1);
  });

  it('AD4: behind https and below a path the cookie is bound to them', async () => {
    const world = await newAdminWorld(dialect, { settings: { publicUrl: 'https://cms.example/here' } });
    opened.push(world);
    const { headers } = await world.signIn('ada', { ...studio, origin: 'https://cms.example' });
    expect(headers['set-cookie']).toMatch(/; Path=\/here\/admin; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/);
  });
});

describe('attempts to sign in', () => {
  it('AD6: are counted by address and account, apart from those of users', async () => {
    const world = await newAdminWorld('sqlite', { settings: { attemptsMax: 3 } });
    try {
      const guess = (email: string) => login(world, { email, password: 'wrong' });
      const statuses: number[] = [];
      for (const email of ['ada@example.org', 'ADA@example.org', ' ada@example.org', 'ada@example.org'])
        statuses.push((await guess(email)).status);
      expect(statuses).toEqual([400, 400, 400, 429]);
      // the right password does not help, another account is not concerned
      expect((await world.signIn('ada')).status).toBe(429);
      expect((await guess('bea@example.org')).status).toBe(400);
      const user = { identifier: 'ada@example.org', password: 'wrong' };
      expect((await world.ask('POST', '/api/auth/local', { body: user })).status).toBe(400);
    } finally {
      await world.close();
    }
  });
});
