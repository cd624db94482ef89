/** The first administrator (AD7): the link, and the commands. */
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  blockAdminCommand,
  createAdminCommand,
  linkAdminCommand,
  listAdminsCommand,
  setAdminPasswordCommand,
} from '../../src/cli/commands/admin.js';
import { defaultConfig } from '../../src/cli/config.js';
import { tellFirstAdministrator } from '../../src/cli/notices.js';
import { studioAddressesOf } from '../../src/cli/site.js';
import { newServer } from '../../src/http/server.js';
import { limits } from '../../src/limits.js';
import { type AdminWorld, adminPassword, cookieOf, newAdminWorld, studio } from '../world/administrators.js';
import { bearer } from '../world/people.js';
import { printed } from '../world/printed.js';
import { newTestDeps, refusal, secrets, type TestPeople, testServerOf } from '../world/server.js';
import { dialects, newWorld, projectDir, type World } from '../world/world.js';

const person = { email: 'Zoe@Example.org', password: 'a long password', firstname: 'Zoe', lastname: 'Frost' };

describe.each(dialects)('the first administrator on %s', (dialect) => {
  const open = async (people: TestPeople = {}) => {
    const world = await newWorld(dialect);
    await run(world, 'delete from admin_users');
    const deps = newTestDeps(world.db, world.model, {}, undefined, { environment: 'development', ...people });
    const server = await testServerOf(await newServer(deps), deps.site);
    const key = (): Promise<string | null> => deps.site.administration!.signIn.registerKey();
    const register = (given: object) => server.send('POST', '/admin/register', { body: given, headers: studio });
    const close = async (): Promise<void> => {
      await server.close();
      await world.close();
    };
    return { world, server, site: deps.site, key, register, close };
  };
  const run = async ({ db }: World, query: string): Promise<readonly (readonly unknown[])[]> =>
    db.write((tx) => tx.run(db.dialect.compile(sql.raw(query))));

  it('AD7: registers with the key, is signed in as super admin, and is the only one', async () => {
    const it_ = await open();
    try {
      const init = () => it_.server.get('/admin/init');
      expect((await init()).body).toEqual({ data: { hasAdmin: false, mode: 'development', mayRegister: true } });
      const key = await it_.key();
      const answers = await Promise.all([it_.register({ ...person, key }), it_.register({ ...person, key })]);
      // the other one finds an administrator, or does not wait for so long
      expect(answers.filter((it) => it.status === 200)).toHaveLength(1);
      expect((await it_.register({ ...person, key })).status).toBe(400);
      const made = answers.find((it) => it.status === 200)!;
      expect(made.body).toMatchObject({
        data: {
          user: {
            firstname: 'Zoe',
            lastname: 'Frost',
            email: 'zoe@example.org',
            roles: [{ code: 'strapi-super-admin' }],
          },
        },
      });
      expect(cookieOf(made)).not.toBeNull();
      expect(made.text).not.toContain('$2');
      const { token } = (made.body as { data: { token: string } }).data;
      expect((await it_.server.get('/api/donors', bearer(token))).status).toBe(200);
      expect((await init()).body).toEqual({ data: { hasAdmin: true, mode: 'development', mayRegister: false } });
      expect(await it_.key()).toBeNull();
      const [[password] = []] = await run(it_.world, 'select password from admin_users');
      expect(password).toMatch(/^\$2a\$10\$/);
    } finally {
      await it_.close();
    }
  });

  it('AD7: the link is printed in development, until there is an administrator', async () => {
    const it_ = await open();
    try {
      const said: string[] = [];
      const logger = { info: (...given: unknown[]) => void said.push(given.join(' ')) };
      const tell = () => tellFirstAdministrator(it_.site, ['http://127.0.0.1:1337'], logger);
      await tell();
      const [, key = ''] = /http:\/\/127\.0\.0\.1:1337\/studio\/welcome#(\S+?),/.exec(said.join()) ?? [];
      expect((await it_.register({ ...person, key })).status).toBe(200);
      await tell();
      expect(said).toHaveLength(1);
    } finally {
      await it_.close();
    }
  });

  it.each([
    [null, '0.0.0.0', ['http://localhost:1337']],
    ['https://cms.example/', '127.0.0.1', ['http://127.0.0.1:1337', 'https://cms.example']],
    ['https://example.org/cms', '::', ['https://example.org/cms']],
    ['http://localhost:1337/', '0.0.0.0', ['http://localhost:1337']],
  ])(
    'AD7: with server.url %s it leads to what can be opened at this machine too, unless the address has a path or is the same',
    async (url, host, addresses) => {
      const server = { ...defaultConfig('.').server, url };
      expect(studioAddressesOf({ config: { server }, env: { HOST: host } }, 1337)).toEqual(addresses);
      const it_ = await open();
      try {
        const said: string[] = [];
        await tellFirstAdministrator(it_.site, addresses, {
          info: (...given: unknown[]) => void said.push(given.join(' ')),
        });
        const link = (address: string): string => `${address}/studio/welcome#\\S+?`;
        expect(said.join()).toMatch(
          new RegExp(`create one at ${addresses.map(link).join(', from elsewhere at ')}, or with`),
        );
      } finally {
        await it_.close();
      }
    },
  );

  it('AD7: v4’s three roles are made, with v4’s permissions', async () => {
    const it_ = await open();
    try {
      expect((await it_.register({ ...person, key: await it_.key() })).status).toBe(200);
      expect(await run(it_.world, 'select code from admin_roles order by id')).toEqual([
        ['strapi-super-admin'],
        ['strapi-editor'],
        ['strapi-author'],
      ]);
      const found = await run(
        it_.world,
        `select r.code, p.action, p.subject, cast(p.properties as text), cast(p.conditions as text) from admin_permissions p
         join admin_permissions_role_links l on l.permission_id = p.id join admin_roles r on r.id = l.role_id order by p.id`,
      );
      const of = (role: string, action: string, subject: string | null) =>
        found
          .filter((it) => it[0] === role && it[1] === action && it[2] === subject)
          .map(([, , , properties, conditions]) => [JSON.parse(String(properties)), JSON.parse(String(conditions))]);
      const read = 'plugin::content-manager.explorer.read';
      expect(of('strapi-editor', read, 'api::genre.genre')).toEqual([
        [{ fields: expect.arrayContaining(['name']) }, []],
      ]);
      expect(of('strapi-author', read, 'api::genre.genre')).toEqual([[expect.anything(), ['admin::is-creator']]]);
      expect(of('strapi-author', 'plugin::content-manager.explorer.publish', 'api::film.film')).toEqual([]);
      expect(of('strapi-editor', 'plugin::content-manager.explorer.publish', 'api::film.film')).toHaveLength(1);
      expect(of('strapi-editor', 'plugin::content-manager.explorer.publish', 'api::reel.reel')).toEqual([]);
      expect(of('strapi-author', 'plugin::upload.read', null)).toEqual([[{}, ['admin::is-creator']]]);
      // v4 reads a missing word of locales as none
      expect(of('strapi-editor', read, 'api::notice.notice')).toEqual([
        [expect.objectContaining({ locales: null }), []],
      ]);
      expect(JSON.stringify(found)).not.toMatch(/createdAt|updatedBy|localizations|strapi-super-admin/);
    } finally {
      await it_.close();
    }
  });

  it('AD7: no other key is one: none, one of another server, one of yesterday', async () => {
    let now = Date.now();
    const it_ = await open({ now: () => now });
    const other = await open({
      secrets: { jwtSecret: 'a', apiTokenSalt: 'b', adminJwtSecret: 'c' },
    });
    try {
      const bad = refusal(
        400,
        'ValidationError',
        'The key is not valid or has expired. In development, the server prints a new one when it starts',
        { path: ['key'] },
      );
      expect((await it_.register(person)).status).toBe(400);
      const key = (await it_.key())!;
      const later = `${(Date.now() + 10 ** 12).toString(36)}${key.slice(key.indexOf('-'))}`;
      for (const guess of [
        'x',
        `${key}0`,
        key.replace(/.$/, (it) => (it === '0' ? '1' : '0')),
        later,
        await other.key(),
      ])
        expect((await it_.register({ ...person, key: guess })).body).toEqual(bad);
      now += limits.registerKeyMsMax + 1;
      expect((await it_.register({ ...person, key })).body).toEqual(bad);
    } finally {
      await it_.close();
      await other.close();
    }
  });

  it('AD7: a password of fewer than 8 characters or more than 72 bytes is refused, and nobody is made', async () => {
    const it_ = await open();
    try {
      const key = await it_.key();
      for (const password of ['1234567', 'x'.repeat(73)])
        expect((await it_.register({ ...person, password, key })).status).toBe(400);
      expect((await it_.register({ ...person, email: 'nowhere', key })).status).toBe(400);
      expect(await run(it_.world, 'select 1 from admin_users')).toEqual([]);
    } finally {
      await it_.close();
    }
  });

  it('AD7: in production nobody registers, and there is no key', async () => {
    const it_ = await open({ environment: 'production' });
    try {
      expect(await it_.key()).toBeNull();
      expect((await it_.server.get('/admin/init')).body).toEqual({
        data: { hasAdmin: false, mode: 'production', mayRegister: false },
      });
      expect((await it_.register({ ...person, key: 'x' })).status).toBe(404);
    } finally {
      await it_.close();
    }
  });

  it('AD3: where administrators do not sign in there is nothing below /admin, and their tokens are unknown', async () => {
    const it_ = await open();
    const off = await testServerOf(
      ...(await (async () => {
        const deps = newTestDeps(it_.world.db, it_.world.model, {}, undefined, {
          secrets: { jwtSecret: 'a', apiTokenSalt: 'b', adminJwtSecret: null },
        });
        return [await newServer(deps), deps.site] as const;
      })()),
    );
    try {
      const made = await it_.register({ ...person, key: await it_.key() });
      const { token } = (made.body as { data: { token: string } }).data;
      for (const path of ['init', 'me']) expect((await off.get(`/admin/${path}`)).status).toBe(404);
      expect((await off.send('POST', '/admin/login', { body: person })).status).toBe(404);
      expect((await off.get('/api/films', bearer(token))).status).toBe(401);
    } finally {
      await off.close();
      await it_.close();
    }
  });
});

describe.each(dialects)('the command admin on %s', (dialect) => {
  let world: AdminWorld;
  beforeEach(async () => {
    world = await newAdminWorld(dialect);
    for (const [name, value] of Object.entries(world.world.env)) vi.stubEnv(name, value);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await world.close();
  });
  const signIn = (email: string, password: string) =>
    world.server.send('POST', '/admin/login', { body: { email, password }, headers: studio });
  const create = (given: object) =>
    printed(() => createAdminCommand({ project: projectDir, email: 'NEW@example.org', role: 'editor', ...given }));

  it('AD7: create makes one with a given password, or with a generated one that it prints', async () => {
    expect(await create({ password: 'a long password' })).toEqual({
      out: '',
      said: expect.stringMatching(/^administrator \d+ created with the role editor\n$/),
    });
    expect((await signIn('new@example.org', 'a long password')).body).toMatchObject({
      data: { user: { roles: [{ code: 'strapi-editor' }] } },
    });
    const { out } = await create({ email: 'other@example.org', role: 'Super Admin', firstname: 'Ola' });
    expect((await signIn('other@example.org', out.trim())).body).toMatchObject({
      data: { user: { firstname: 'Ola', roles: [{ code: 'strapi-super-admin' }] } },
    });
    await expect(create({})).rejects.toThrow(/already exists/);
    await expect(create({ email: 'third@example.org', role: 'nope' })).rejects.toThrow(/no administrator role "nope"/);
    await expect(create({ email: 'third@example.org', password: 'short' })).rejects.toThrow(/at least 8/);
    await expect(create({ email: 'nowhere' })).rejects.toThrow(/valid email/);
  });

  it('AD5: block signs out at once and unblock lets in again; list shows both', async () => {
    const { body } = await world.signIn('ada', studio);
    const { token } = (body as { data: { token: string } }).data;
    const line = async () =>
      (await printed(() => listAdminsCommand(projectDir))).out.split('\n').find((it) => it.includes('ada@'));
    expect(await line()).toBe('1  Super Admin  active  ada@example.org  Ada Quill');
    await printed(() => blockAdminCommand(projectDir, 'ADA@example.org', true));
    expect(await line()).toContain('  blocked  ');
    expect((await world.signIn('ada')).status).toBe(400);
    await expect.poll(async () => (await world.server.get('/admin/me', bearer(token))).status).toBe(401);
    await printed(() => blockAdminCommand(projectDir, '1', false));
    expect((await world.signIn('ada')).status).toBe(200);
    // the session has ended for good
    expect((await world.server.get('/admin/me', bearer(token))).status).toBe(401);
    await expect(printed(() => blockAdminCommand(projectDir, 'nobody', true))).rejects.toThrow(/no administrator/);
  });

  it('AD5: password sets another one, and ends sessions', async () => {
    const cookie = cookieOf(await world.signIn('ada', studio))!;
    const { out, said } = await printed(() => setAdminPasswordCommand(projectDir, 'ada@example.org', undefined));
    expect(said).toContain('all sessions have ended');
    expect((await signIn('ada@example.org', adminPassword)).status).toBe(400);
    expect((await signIn('ada@example.org', out.trim())).status).toBe(200);
    expect((await world.server.send('POST', '/admin/refresh', { headers: { ...studio, cookie } })).status).toBe(401);
    const given = await printed(() => setAdminPasswordCommand(projectDir, '1', 'another long one'));
    expect(given.out).toBe('');
    expect((await signIn('ada@example.org', 'another long one')).status).toBe(200);
  });

  it('AD18: link prints a link with which an administrator chooses a password, once', async () => {
    vi.stubEnv('JWT_SECRET', secrets.jwtSecret);
    vi.stubEnv('API_TOKEN_SALT', secrets.apiTokenSalt);
    vi.stubEnv('ADMIN_JWT_SECRET', secrets.adminJwtSecret ?? '');
    const link = () => printed(() => linkAdminCommand(projectDir, 'ADA@example.org'));
    const { out, said } = await link();
    expect(said).toMatch(
      /^administrator 1 \(ada@example\.org\) can choose a password with this link, once, until \S+Z\n$/,
    );
    expect(out).toMatch(/^http:\/\/[^/]+\/studio\/join#\S+\n$/);
    // until it is used, the old password stays
    expect((await signIn('ada@example.org', adminPassword)).status).toBe(200);
    const join = async (url: string) => {
      const registrationToken = url.trim().split('#')[1];
      const body = { registrationToken, userInfo: { password: 'chosen by myself' } };
      return (await world.server.send('POST', '/admin/register', { body, headers: studio })).status;
    };
    const later = await link();
    expect([await join(out), await join(later.out), await join(later.out)]).toEqual([400, 200, 400]);
    expect((await signIn('ada@example.org', 'chosen by myself')).status).toBe(200);
    vi.stubEnv('ADMIN_JWT_SECRET', '');
    await expect(link()).rejects.toThrow(/^ADMIN_JWT_SECRET is missing/);
    vi.stubEnv('ADMIN_JWT_SECRET', secrets.adminJwtSecret ?? '');
    await printed(() => blockAdminCommand(projectDir, '1', true));
    await expect(link()).rejects.toThrow(/blocked; unblock/);
    await expect(printed(() => linkAdminCommand(projectDir, 'nobody'))).rejects.toThrow(/no administrator "nobody"/);
    vi.stubEnv('NODE_ENV', 'production');
    await expect(link()).rejects.toThrow(/Studio is not served/);
  });
});
