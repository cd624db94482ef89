/** Administrators of administrators (AD17), the links by which they choose a password (AD18), and their own accounts (AD19). */
import { Validator } from '@seriousme/openapi-schema-validator';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { adminEndpoints } from '../../src/administration/endpoints.js';
import { limits } from '../../src/limits.js';
import {
  type AdminName,
  type AdminOptions,
  type AdminWorld,
  adminPassword,
  adminRoles,
  admins,
  cookieOf,
  emailOf,
  newAdminWorld,
  studio,
  useAdmins,
} from '../world/administrators.js';
import { bearer } from '../world/people.js';
import { refusal, type TestAnswer } from '../world/server.js';
import { dialects, type Entry } from '../world/world.js';

const forbidden = refusal(403, 'ForbiddenError', 'Forbidden');
const dataOf = <T>({ body, status, text }: TestAnswer): T => {
  if (status >= 300) throw new Error(text);
  return (body as { data: T }).data;
};

const options: AdminOptions = {
  permissions: {
    editor: [
      { action: 'admin::users.read' },
      { action: 'admin::users.create' },
      { action: 'admin::users.update' },
      { action: 'admin::users.delete' },
    ],
  },
};

interface Invited {
  readonly id: number;
  readonly registrationToken: string;
}

describe.each(dialects)('administrators of administrators on %s', (dialect) => {
  const it_ = useAdmins(dialect, options);
  const ask = (name: AdminName, method: string, path = '', body?: unknown) =>
    it_().askAs(name, method, `/admin/users${path}`, body === undefined ? {} : { body });
  const person = { email: 'Nia@example.org', password: 'a long password', firstname: 'Nia' };

  it('AD17: they are listed, without hashes', async () => {
    const { text, ...answer } = await ask('ada', 'GET');
    expect(dataOf<readonly object[]>({ text, ...answer })).toEqual(
      expect.arrayContaining([
        {
          id: 1,
          firstname: 'Ada',
          lastname: 'Quill',
          email: 'ada@example.org',
          isActive: true,
          blocked: false,
          roles: [{ id: 1, name: 'Super Admin', code: 'strapi-super-admin' }],
        },
        expect.objectContaining({ email: 'dot@example.org', isActive: true, blocked: true }),
        expect.objectContaining({ email: 'eve@example.org', isActive: false, blocked: false }),
      ]),
    );
    expect(text).not.toMatch(/\$2|password/);
    expect((await ask('cyd', 'GET')).body).toEqual(forbidden);
    expect(dataOf<readonly object[]>(await it_().askAs('ada', 'GET', '/admin/roles'))).toHaveLength(3);
  });

  it('AD17: one is made, changed, and signs in; another password and blocking end sessions', async () => {
    const made = dataOf<{ id: number }>(await ask('ada', 'POST', '', { ...person, roles: [adminRoles.author] }));
    expect(made).toMatchObject({ email: 'nia@example.org', roles: [{ code: 'strapi-author' }] });
    const signIn = (password: string) =>
      it_().server.send('POST', '/admin/login', { body: { email: 'nia@example.org', password }, headers: studio });
    const cookie = cookieOf(await signIn(person.password))!;
    const refresh = () => it_().server.send('POST', '/admin/refresh', { headers: { ...studio, cookie } });
    const changed = await ask('ada', 'PUT', `/${made.id}`, {
      lastname: 'Low',
      password: 'another long one',
      roles: [adminRoles.editor],
    });
    expect(dataOf<object>(changed)).toMatchObject({
      firstname: 'Nia',
      lastname: 'Low',
      roles: [{ code: 'strapi-editor' }],
    });
    expect((await refresh()).status).toBe(401);
    expect((await signIn(person.password)).status).toBe(400);
    expect((await signIn('another long one')).status).toBe(200);
    expect((await ask('ada', 'PUT', `/${made.id}`, { blocked: true })).status).toBe(200);
    expect((await signIn('another long one')).status).toBe(400);
  });

  it.each<readonly [string, object]>([
    ['an address that is taken', { ...person, email: 'BEA@example.org', roles: [3] }],
    ['no address', { ...person, email: 'nowhere', roles: [3] }],
    ['a short password', { ...person, password: 'short', roles: [3] }],
    ['no role', person],
    ['an unknown role', { ...person, roles: [99] }],
  ])('AD17: %s is a 400', async (_name, body) => {
    expect((await ask('ada', 'POST', '', body)).status).toBe(400);
  });

  it('AD17: who is no super admin makes none, and changes none', async () => {
    const only = refusal(
      403,
      'ForbiddenError',
      'Only super admins may change super admins, or make others super admins',
    );
    const made = dataOf<{ id: number }>(
      await ask('bea', 'POST', '', { ...person, email: 'oli@example.org', roles: [adminRoles.author] }),
    );
    for (const answer of [
      await ask('bea', 'POST', '', { ...person, email: 'pia@example.org', roles: [adminRoles.super] }),
      await ask('bea', 'PUT', `/${made.id}`, { roles: [adminRoles.super] }),
      await ask('bea', 'PUT', `/${admins.bea}`, { roles: [adminRoles.super, adminRoles.editor] }),
    ])
      expect(answer.body).toMatchObject({
        error: { status: 403, message: (only as { error: { message: string } }).error.message },
      });
    for (const body of [{ password: 'a new password' }, { email: 'x@example.org' }, { blocked: true }])
      expect((await ask('bea', 'PUT', `/${admins.ada}`, body)).status).toBe(403);
    expect((await it_().signIn('ada')).status).toBe(200);
  });

  it('AD17: the last super admin who can sign in is not blocked, made inactive, given other roles or deleted', async () => {
    // dot is blocked, eve is not active, gus has no password
    for (const body of [{ blocked: true }, { isActive: false }, { roles: [adminRoles.editor] }])
      expect((await ask('ada', 'PUT', `/${admins.ada}`, body)).body).toEqual(
        refusal(400, 'ApplicationError', 'At least one super admin must be able to sign in'),
      );
    expect((await ask('ada', 'DELETE', `/${admins.ada}`)).body).toEqual(
      refusal(400, 'ApplicationError', 'At least one super admin must be able to sign in'),
    );
    expect((await it_().signIn('ada')).status).toBe(200);
    expect((await ask('ada', 'PUT', `/${admins.eve}`, { isActive: true })).status).toBe(200);
    expect((await ask('ada', 'PUT', `/${admins.ada}`, { roles: [adminRoles.editor] })).status).toBe(200);
  });
});

describe.each(dialects)('deleting administrators on %s', (dialect) => {
  const it_ = useAdmins(dialect, options);
  const remove = (name: AdminName, id: number) => it_().askAs(name, 'DELETE', `/admin/users/${id}`);

  it('AD17: one who is deleted is signed out, and what they have written stays', async () => {
    const { askAs, server, signIn, world } = it_();
    const cookie = cookieOf(await signIn('bea', studio))!;
    const token = await it_().tokenOf('bea');
    const { id } = dataOf<Entry>(await askAs('ada', 'POST', '/api/reels', { body: { data: { label: 'by bea' } } }));
    await world.update('reels', id, 'created_by_id', admins.bea);
    expect(dataOf<object>(await remove('ada', admins.bea))).toMatchObject({ id: admins.bea, email: 'bea@example.org' });
    expect((await server.get('/admin/me', bearer(token))).status).toBe(401);
    expect((await server.send('POST', '/admin/refresh', { headers: { ...studio, cookie } })).status).toBe(401);
    expect((await signIn('bea')).status).toBe(400);
    expect((await askAs('ada', 'GET', `/api/reels/${id}`)).status).toBe(200);
    const query = sql`select created_by_id from reels where id = ${sql.lit(id)}`;
    expect(await world.db.write((tx) => tx.run(world.db.dialect.compile(query)))).toEqual([[null]]);
    expect((await remove('ada', admins.bea)).status).toBe(404);
  });

  it('AD17: it needs admin::users.delete, and super admins are deleted by super admins', async () => {
    expect((await remove('cyd', admins.flo)).body).toEqual(forbidden);
    expect((await remove('ada', admins.eve)).status).toBe(200);
  });
});

describe.each(dialects)('super admins and others on %s', (dialect) => {
  const it_ = useAdmins(dialect, options);

  it('AD17, AD18: who is no super admin neither deletes one nor makes a link for one', async () => {
    for (const [method, path] of [
      ['DELETE', ''],
      ['POST', '/registration-token'],
    ] as const)
      expect((await it_().askAs('bea', method, `/admin/users/${admins.eve}${path}`)).status).toBe(403);
  });
});

describe.each(dialects)('links for administrators on %s', (dialect) => {
  let now = Date.now();
  const it_ = useAdmins(dialect, { ...options, people: { now: () => now } });
  const invite = (id: number, name: AdminName = 'ada') =>
    it_().askAs(name, 'POST', `/admin/users/${id}/registration-token`);
  const register = (registrationToken: string, userInfo: object = { password: 'chosen by myself' }) =>
    it_().server.send('POST', '/admin/register', { body: { registrationToken, userInfo }, headers: studio });
  const signIn = (email: string, password: string) =>
    it_().server.send('POST', '/admin/login', { body: { email, password }, headers: studio });
  const bad = refusal(
    400,
    'ValidationError',
    'The link is not valid or has expired; ask an administrator for a new one',
    {
      path: ['registrationToken'],
    },
  );

  it('AD18: it needs admin::users.update', async () => {
    expect((await invite(admins.bea, 'flo')).body).toEqual(forbidden);
    expect((await invite(999)).status).toBe(404);
  });

  it('AD18: one who is made without a password is inactive, registers by the link, and is signed in', async () => {
    const made = await it_().askAs('ada', 'POST', '/admin/users', {
      body: { email: 'Ola@example.org', firstname: 'Ola', roles: [adminRoles.author] },
    });
    expect(made.status).toBe(201);
    const { id, registrationToken } = dataOf<Invited>(made);
    expect(made.body).toMatchObject({ data: { isActive: false, blocked: false } });
    const stored = sql`select registration_token from admin_users where id = ${sql.lit(id)}`;
    const { db } = it_().world;
    expect(await db.write((tx) => tx.run(db.dialect.compile(stored)))).not.toEqual([[registrationToken]]);
    const registered = await register(registrationToken, { password: 'chosen by myself', lastname: 'Vik' });
    expect(registered.body).toMatchObject({ data: { user: { id, firstname: 'Ola', lastname: 'Vik' } } });
    expect(cookieOf(registered)).not.toBeNull();
    expect((await signIn('ola@example.org', 'chosen by myself')).status).toBe(200);
    // it was valid once
    expect((await register(registrationToken)).body).toEqual(bad);
  });

  it('AD18: for one who has forgotten their password it sets another, and ends their sessions', async () => {
    const cookie = cookieOf(await it_().signIn('cyd', studio))!;
    const { registrationToken } = dataOf<Invited>(await invite(admins.cyd));
    expect((await signIn(emailOf('cyd'), adminPassword)).status).toBe(200);
    expect((await register(registrationToken)).status).toBe(200);
    expect((await signIn(emailOf('cyd'), adminPassword)).status).toBe(400);
    expect((await it_().server.send('POST', '/admin/refresh', { headers: { ...studio, cookie } })).status).toBe(401);
  });

  it('AD18: a later link, another password, blocking, deactivating and three days end it; a blocked administrator gets none', async () => {
    for (const closed of [{ isActive: false }, { blocked: true }]) {
      const link = dataOf<Invited>(await invite(admins.flo)).registrationToken;
      for (const change of [closed, { blocked: false }])
        expect((await it_().askAs('ada', 'PUT', `/admin/users/${admins.flo}`, { body: change })).status).toBe(200);
      expect((await register(link)).body).toEqual(bad);
      await it_().askAs('ada', 'PUT', `/admin/users/${admins.flo}`, { body: { isActive: true } });
    }
    const first = dataOf<Invited>(await invite(admins.flo)).registrationToken;
    const second = dataOf<Invited>(await invite(admins.flo)).registrationToken;
    expect((await register(first)).body).toEqual(bad);
    await it_().askAs('ada', 'PUT', `/admin/users/${admins.flo}`, { body: { password: 'set by another' } });
    expect((await register(second)).body).toEqual(bad);
    const third = dataOf<Invited>(await invite(admins.flo)).registrationToken;
    const later = third.replace(/^[^.]+/, (now + 10 ** 10).toString(36));
    for (const guess of [later, `${third}x`, '', 'x', '%', `${third.slice(0, -1)}`])
      expect([guess, (await register(guess)).status]).toEqual([guess, 400]);
    expect((await register(third, { password: 'short' })).status).toBe(400);
    now += limits.registrationTokenMsMax + 1;
    expect((await register(third)).body).toEqual(bad);
    now -= limits.registrationTokenMsMax + 1;
    expect((await invite(admins.dot)).status).toBe(400);
    const fourth = dataOf<Invited>(await invite(admins.flo)).registrationToken;
    await it_().askAs('ada', 'PUT', `/admin/users/${admins.flo}`, { body: { blocked: true } });
    expect((await register(fourth)).body).toEqual(bad);
  });
});

describe.each(dialects)('their own accounts on %s', (dialect) => {
  const it_ = useAdmins(dialect, { permissions: {} });
  const change = (headers: Record<string, string>, body: object, world: AdminWorld = it_()) =>
    world.server.send('PUT', '/admin/users/me', { body, headers });

  it('AD19: everybody changes their own names without any permission, and nothing else of themselves', async () => {
    const flo = bearer(await it_().tokenOf('flo'));
    const changed = await change(flo, { firstname: 'Flora', lastname: null });
    expect(dataOf<object>(changed)).toMatchObject({ id: admins.flo, firstname: 'Flora', lastname: null, roles: [] });
    for (const body of [{ roles: [adminRoles.super] }, { isActive: true }, { blocked: false }, { id: 1 }])
      expect([body, (await change(flo, body)).status]).toEqual([body, 400]);
    expect((await it_().server.send('PUT', '/admin/users/me', { body: { firstname: 'x' } })).status).toBe(401);
  });

  it('AD19: another password or e-mail address needs the current password', async () => {
    const cyd = bearer(await it_().tokenOf('cyd'));
    for (const body of [{ password: 'another long one' }, { email: 'cydney@example.org' }]) {
      expect((await change(cyd, body)).status).toBe(400);
      expect((await change(cyd, { ...body, currentPassword: 'guessed' })).body).toEqual(
        refusal(400, 'ValidationError', 'The provided current password is invalid', { path: ['currentPassword'] }),
      );
    }
    expect((await change(cyd, { password: 'short', currentPassword: adminPassword })).status).toBe(400);
    expect((await change(cyd, { email: emailOf('bea'), currentPassword: adminPassword })).status).toBe(400);
    // the whole form, with the address that they have
    expect((await change(cyd, { email: emailOf('cyd'), firstname: 'Cyd' })).status).toBe(200);
  });

  it('AD19: another password ends their other sessions, and keeps the one that asks', async () => {
    const { server, signIn } = it_();
    const start = async () => {
      const answer = await signIn('bea', studio);
      return { headers: bearer(dataOf<{ token: string }>(answer).token), cookie: cookieOf(answer)! };
    };
    const [own, other] = [await start(), await start()];
    const refresh = ({ cookie }: { readonly cookie: string }) =>
      server.send('POST', '/admin/refresh', { headers: { ...studio, cookie } });
    const body = { password: 'another long one', currentPassword: adminPassword };
    expect((await change(own.headers, body)).status).toBe(200);
    expect((await server.get('/admin/me', own.headers)).status).toBe(200);
    expect((await server.get('/admin/me', other.headers)).status).toBe(401);
    expect((await refresh(other)).status).toBe(401);
    expect((await refresh(own)).status).toBe(200);
    expect((await signIn('bea')).status).toBe(400);
  });
});

describe('guesses of the current password', () => {
  it('AD19: are counted as attempts to sign in are', async () => {
    const world = await newAdminWorld('sqlite', { settings: { attemptsMax: 3 } });
    try {
      const headers = bearer(await world.tokenOf('cyd'));
      const statuses: number[] = [];
      const send = async (body: object) =>
        (await world.server.send('PUT', '/admin/users/me', { body, headers })).status;
      for (let i = 0; i < 4; i++) statuses.push(await send({ password: 'a long password', currentPassword: `${i}` }));
      expect(statuses).toEqual([400, 400, 400, 429]);
      expect(await send({ firstname: 'Cyd' })).toBe(200);
    } finally {
      await world.close();
    }
  });
});

describe('the description of endpoints', () => {
  it('RQ21: has every endpoint of administrators for super admins, as valid OpenAPI', async () => {
    const world = await newAdminWorld('sqlite');
    try {
      const { body } = await world.askAs('ada', 'GET', '/api/openapi.json');
      const { paths } = body as { readonly paths: Readonly<Record<string, object>> };
      for (const { method, path } of adminEndpoints)
        expect(paths[path.replace(':id', '{id}')], path).toHaveProperty(method.toLowerCase());
      expect(await new Validator().validate(body as never)).toMatchObject({ valid: true });
    } finally {
      await world.close();
    }
  });
});
