/** `/users` (AC15, BO14): bare objects, the usual rules, and no access to hidden attributes. */
import { describe, expect, it } from 'vitest';
import { allOfAccounts, newPeopleWorld, usePeople, users } from '../world/people.js';
import { refusal } from '../world/server.js';
import { dialects } from '../world/world.js';

const without = (...names: readonly string[]): readonly string[] =>
  allOfAccounts.filter((it) => !names.some((name) => it.endsWith(name)));
const options = { grants: { authenticated: without('role.find'), editor: allOfAccounts } } as const;

const reader = {
  id: 1,
  username: 'reader',
  email: 'reader@example.com',
  provider: 'local',
  confirmed: true,
  blocked: false,
  createdAt: '2023-11-14T22:13:20.000Z',
  updatedAt: '2023-11-14T22:14:20.000Z',
};
const notFound = refusal(404, 'NotFoundError', 'User not found');

describe.each(dialects)('reading users on %s', (dialect) => {
  const it_ = usePeople(dialect, options);
  const get = (query: string, as: 'reader' | 'editor' = 'reader') => it_().ask('GET', `/api/users${query}`, { as });

  it('AC15: a bare list, and a bare object', async () => {
    const { body } = await get('');
    expect((body as unknown[]).length).toBe(6);
    expect((body as unknown[])[0]).toEqual(reader);
    expect((await get('/1')).body).toEqual(reader);
    expect((await get('/me')).body).toEqual(reader);
  });

  it('AC15: fields, sort, filters, _q and pagination as elsewhere (AC15)', async () => {
    const ids = async (query: string) => ((await get(query)).body as { id: number }[]).map((it) => it.id);
    expect((await get('?fields=username&sort=username:desc&pagination[pageSize]=2')).body).toEqual([
      { id: users.unconfirmed, username: 'unconfirmed' },
      { id: users.roleless, username: 'roleless' },
    ]);
    expect(await ids('?filters[blocked]=true')).toEqual([users.blocked]);
    expect(await ids('?filters[email][$startsWith]=r')).toEqual([users.reader, users.roleless]);
    expect(await ids('?_q=foreign')).toEqual([users.foreign]);
    expect(await ids('?start=1&limit=2')).toEqual([2, 3]);
    expect(await ids('?pagination[page]=3&pagination[pageSize]=2')).toEqual([5, 6]);
    expect((await get('/me?fields=email')).body).toEqual({ id: 1, email: 'reader@example.com' });
    for (const query of ['?page=1', '?limit=x', '?filters[nope]=1', '?fields=nope', '?populate=nope', '?sort=nope'])
      expect([query, (await get(query)).status]).toEqual([query, 400]);
    for (const query of ['?fields=nope', '?populate[role][fields]=nope'])
      expect([query, (await get(`/1${query}`)).status, (await get(`/me${query}`)).status]).toEqual([query, 400, 400]);
  });

  it('AC15: no more than the maximum page size', async () => {
    const people = await newPeopleWorld(dialect, options);
    try {
      await people.world.insert(
        'up_users',
        Array.from({ length: 120 }, (_, i) => ({ id: 100 + i, username: `u${i}`, email: `u${i}@example.com` })),
      );
      const count = async (query: string) =>
        ((await people.ask('GET', `/api/users?fields=id&${query}`, { as: 'reader' })).body as unknown[]).length;
      expect(await count('')).toBe(25);
      expect(await count('limit=5000')).toBe(100);
      expect(await count('pagination[pageSize]=5000')).toBe(100);
      expect(await count('limit=-1')).toBe(100);
    } finally {
      await people.close();
    }
  });

  it('AC16: the role is a flat object, shown to callers who may find roles', async () => {
    const role = {
      id: 1,
      name: 'Authenticated',
      description: 'Logged in',
      type: 'authenticated',
      createdAt: reader.createdAt,
      updatedAt: reader.updatedAt,
    };
    for (const path of ['/1', '/1?fields=*'])
      expect((await get(`${path}${path.includes('?') ? '&' : '?'}populate=role`, 'editor')).body).toEqual({
        ...reader,
        role,
      });
    expect((await get('/1?populate=role')).body).toEqual(reader);
    expect((await get('/1?populate=*')).body).toEqual(reader);
    expect((await get('/4?populate=role&fields=id', 'editor')).body).toEqual({ id: 4, role: null });
    // no role may find the permissions of roles
    expect((await get('/1?populate[role][populate]=permissions', 'editor')).body).toEqual({ ...reader, role });
    expect((await get('?filters[role][type]=editor')).status).toBe(400);
    expect((await get('?filters[role][type]=editor&fields=id', 'editor')).body).toEqual([{ id: 2 }]);
    expect((await get('?sort=role.name')).status).toBe(400);
  });

  it.each(['=role.users', '[role][populate]=users', '[role][populate]=*', '[role][populate][users][fields]=email'])(
    'AC16: populate%s never lists the users of a role, for any caller',
    async (populate) => {
      for (const as of ['editor', 'full'] as const) {
        const { status, body } = await it_().ask('GET', `/api/users/2?fields=id&populate${populate}`, { as });
        expect(status).toBe(200);
        expect(body).toMatchObject({ id: 2, role: { id: 3 } });
        expect((body as { role: object }).role).not.toHaveProperty('users');
      }
    },
  );

  it.each(['password', 'resetPasswordToken', 'confirmationToken'])('AC15: no query reaches %s', async (name) => {
    for (const query of [
      `?fields=${name}`,
      `?fields[0]=id&fields[1]=${name}`,
      `?sort=${name}`,
      `?sort=${name}:desc`,
      `?filters[${name}][$startsWith]=$2a`,
      `?filters[${name}]=x`,
      `?filters[${name}][$null]=true`,
      `?filters[$or][0][${name}][$gt]=a`,
      `?filters[$not][${name}][$eq]=a`,
      `?filters[role][users][${name}][$startsWith]=$2a`,
      `?populate[role][populate][users][filters][${name}][$startsWith]=$2a`,
      `?populate[role][populate][users][fields]=${name}`,
      `?populate[role][populate][users][sort]=${name}`,
    ]) {
      expect([query, (await get(query, 'editor')).status]).toEqual([query, 400]);
      expect([query, (await it_().ask('GET', `/api/users${query}`, { as: 'full' })).status]).toEqual([query, 400]);
    }
    for (const query of [
      `/count?${name}=x`,
      `/count?filters[${name}][$startsWith]=$2a`,
      `/count?filters[${name}][$null]=true`,
    ])
      expect([query, (await get(query, 'editor')).status]).toEqual([query, 400]);
    for (const query of ['', '/1', '/me', '?populate=*', '/1?populate=*', '?_q=$2a', '?populate[role][populate]=*'])
      expect((await get(query, 'editor')).text).not.toMatch(/\$2[ab]\$|resetPassword|confirmationToken|"password"/);
    expect((await get('?_q=$2a', 'editor')).body).toEqual([]);
  });

  it('AC15: count is the number of users that match filters (AC15) or plain attributes', async () => {
    for (const [query, count] of [
      ['', 6],
      ['?filters[username]=reader', 1],
      ['?filters[blocked]=true', 1],
      ['?blocked=true', 1],
      ['?username=reader&blocked=false', 1],
      ['?username=reader&filters[blocked]=true', 0],
      ['?_q=example', 6],
      ['?pagination[pageSize]=2&fields=username&populate=role&sort=id', 6],
      ['?id=2', 1],
    ] as const)
      expect([query, (await get(`/count${query}`)).body]).toEqual([query, count]);
    for (const query of ['?filters[nope]=1', '?filters=x', '?blocked=maybe'])
      expect([query, (await get(`/count${query}`)).status]).toEqual([query, 400]);
  });

  it('count ignores no condition silently', async () => {
    for (const [query, count] of [
      ['?username[$contains]=zzz', 0],
      ['?username[$contains]=read', 1],
      ['?username%5B%24contains%5D=read', 1],
      ['?id[$in][0]=1&id[$in][1]=2', 2],
      ['?role[type]=editor', 1],
    ] as const)
      expect([query, (await get(`/count${query}`, 'editor')).body]).toEqual([query, count]);
    for (const query of ['?role[type]=editor', '?username[$nope]=x', '?username[=x', '?username]=x'])
      expect([query, (await get(`/count${query}`)).status]).toEqual([query, 400]);
    for (const query of ['?username.x=1', '?constructor=1', '?__proto__=1', '?usernme=reader', '?=1', '?[id]=1'])
      expect([query, (await get(`/count${query}`, 'editor')).status]).toEqual([query, 400]);
  });

  it.each(['/999', '/abc', '/0', '/-1', '/1e0', '/01', '/2147483648'])(
    'AC15: GET, PUT and DELETE %s are 404',
    async (path) => {
      expect((await get(path)).body).toEqual(notFound);
      expect((await it_().ask('PUT', `/api/users${path}`, { as: 'reader', body: { username: 'x-x-x' } })).body).toEqual(
        notFound,
      );
      expect((await it_().ask('DELETE', `/api/users${path}`, { as: 'reader' })).body).toEqual(notFound);
    },
  );

  it('entity tags and HEAD work', async () => {
    const { headers } = await get('/1');
    const again = await it_().ask('GET', '/api/users/1', {
      as: 'reader',
      headers: { 'if-none-match': String(headers['etag']) },
    });
    expect(again.status).toBe(304);
    expect((await it_().ask('HEAD', '/api/users', { as: 'reader' })).status).toBe(200);
  });

  it('what is cached for one user is not shown to another', async () => {
    for (const as of ['reader', 'editor', 'reader'] as const)
      expect((await get('/me?fields=username', as)).body).toEqual({ id: users[as], username: as });
  });
});

describe.each(dialects)('writing users on %s', (dialect) => {
  const it_ = usePeople(dialect, options);
  let serial = 0;
  const form = (given: Readonly<Record<string, unknown>> = {}) => {
    serial += 1;
    return { username: `made-${serial}`, email: `Made-${serial}@example.com`, password: 'secret-1', role: 1, ...given };
  };
  const create = (body: unknown, as: 'reader' | 'editor' = 'editor', query = '') =>
    it_().ask('POST', `/api/users${query}`, { as, body });
  const update = (id: number, body: unknown) => it_().ask('PUT', `/api/users/${id}`, { as: 'editor', body });
  const made = async (given: Readonly<Record<string, unknown>> = {}) => {
    const { body, status, text } = await create(form(given));
    if (status !== 201) throw new Error(text);
    return body as { id: number; username: string; email: string };
  };

  it('AC16: 201, the user with its role, unwrapped', async () => {
    const { status, body } = await create(form({ username: 'fresh', email: 'Fresh@Example.com' }));
    expect(status).toBe(201);
    expect(body).toEqual({
      ...reader,
      id: expect.any(Number),
      username: 'fresh',
      email: 'fresh@example.com',
      confirmed: false,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
      role: expect.objectContaining({ id: 1, type: 'authenticated' }),
    });
    await it_().login('fresh', 'secret-1');
  });

  it('AC16: callers who may not find roles can still create users with roles', async () => {
    const { status, body } = await create(form({ role: { connect: [{ id: 3 }] }, confirmed: true }), 'reader');
    expect(status).toBe(201);
    expect(body).not.toHaveProperty('role');
    const { id } = body as { id: number };
    expect((await it_().ask('GET', `/api/users/${id}?populate=role&fields=id`, { as: 'full' })).body).toMatchObject({
      id,
      role: { id: 3 },
    });
  });

  it('AC15: fields and populate apply to the response', async () => {
    expect((await create(form(), 'editor', '?fields=username')).body).toMatchObject({ role: { id: 1 } });
    const { body } = await create(form(), 'editor', '?fields=username&populate=false');
    expect(Object.keys(body as object)).not.toContain('email');
  });

  it('AC15: missing attributes are named', async () => {
    expect((await create({})).body).toMatchObject({ error: { status: 400, message: '4 errors occurred' } });
    for (const name of ['username', 'email', 'password', 'role'])
      expect((await create(form({ [name]: undefined }))).body).toMatchObject({
        error: { message: `${name} is a required field`, details: { errors: [{ path: [name] }] } },
      });
    for (const body of [undefined, [], null, '"x"']) expect((await create(body)).status).toBe(400);
  });

  it.each([
    [{ email: 'reader@example.com' }, 'ApplicationError', 'Email already taken'],
    [{ email: 'READER@example.com' }, 'ApplicationError', 'Email already taken'],
    [{ username: 'reader' }, 'ValidationError', 'This attribute must be unique'],
    [{ username: 'reader@example.com' }, 'ApplicationError', 'Username already taken'],
    [{ role: 99 }, 'ValidationError', /relation\(s\) of type plugin::users-permissions.role/],
    [{ password: '12345' }, 'ValidationError', 'password must be at least 6 characters'],
    [{ password: 'x'.repeat(73) }, 'ValidationError', 'Password must be less than 73 bytes'],
    [{ email: 'no-email-at-all' }, 'ValidationError', 'email must be a valid email'],
    [{ nope: 1 }, 'ValidationError', /nope/],
  ])('AC15: %j is refused', async (extra, name, message) => {
    const { body } = await create(form(extra));
    expect(body).toMatchObject({
      error: { status: 400, name, message: typeof message === 'string' ? message : expect.stringMatching(message) },
    });
  });

  it('AC16: a value that only looks like a role is refused', async () => {
    const forms = [
      [],
      {},
      { connect: [] },
      { set: [] },
      { set: null },
      { disconnect: [1] },
      { connect: [], disconnect: [3] },
    ];
    for (const role of forms) {
      const given = form({ role });
      expect([role, (await create(given)).status]).toEqual([role, 400]);
      const left = await it_().ask('GET', `/api/users/count?username=${given.username}`, { as: 'full' });
      expect([role, left.body]).toEqual([role, 0]);
    }
    expect((await create(form({ role: { disconnect: [1] } }))).body).toMatchObject({
      error: { message: 'role is a required field', details: { errors: [{ path: ['role'] }] } },
    });
  });

  it('no error repeats a password', async () => {
    const { id } = await made();
    for (const given of [['my secret pw'], { is: 'my secret pw' }]) {
      for (const { status, text, body } of [
        await create(form({ password: given })),
        await update(id, { password: given }),
      ]) {
        expect([status, text]).toEqual([400, expect.not.stringContaining('my secret pw')]);
        expect(body).toMatchObject({ error: { message: 'password must be a `string` type.' } });
      }
    }
  });

  it('AC15: an update is partial and returns the user', async () => {
    const { id, email } = await made();
    const { status, body } = await update(id, { username: 'renamed', blocked: true });
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, username: 'renamed', blocked: true, email });
    expect((await update(id, { username: 'renamed' })).status).toBe(200);
    expect((await update(id, { email: 'Other@Example.com' })).body).toMatchObject({ email: 'other@example.com' });
    expect((await update(id, { role: 3 })).status).toBe(200);
    expect((await it_().ask('GET', `/api/users/${id}?populate=role`, { as: 'full' })).body).toMatchObject({
      role: { id: 3 },
    });
  });

  it('AC16: an update returns the role to callers who may find roles', async () => {
    const { id } = await made();
    const { body } = await update(id, { role: 3 });
    expect(body).toMatchObject({ id, role: { id: 3, name: 'Editor' } });
    expect((await it_().ask('PUT', `/api/users/${id}`, { as: 'reader', body: {} })).body).not.toHaveProperty('role');
    const shaped = await it_().ask('PUT', `/api/users/${id}?fields=id&populate[role][fields]=type`, {
      as: 'full',
      body: {},
    });
    expect(shaped.body).toEqual({ id, role: { id: 3, type: 'editor' } });
  });

  it('AC15: a missing user is 404 whatever the body; for an existing one the body must be an object', async () => {
    const { id } = await made();
    for (const body of [undefined, [], '"x"', { nope: 1 }, {}]) {
      const absent = await it_().ask('PUT', '/api/users/999', { as: 'full', body });
      expect([body, absent.status, absent.body]).toEqual([body, 404, notFound]);
    }
    expect((await it_().ask('PUT', `/api/users/${id}`, { as: 'full' })).status).toBe(400);
  });

  it('AC15: a name or e-mail of another user is refused on update', async () => {
    const { id } = await made();
    const application = (message: string) => refusal(400, 'ApplicationError', message);
    expect((await update(id, { username: 'reader' })).body).toEqual(application('Username already taken'));
    expect((await update(id, { email: 'Reader@example.com' })).body).toEqual(application('Email already taken'));
    expect((await update(id, { username: 'READER@example.com' })).body).toEqual(application('Username already taken'));
    expect((await update(id, { id: 1, email: 'mine@example.com' })).body).toMatchObject({ id });
  });

  it('AC7: changing the password revokes earlier JWTs', async () => {
    const { id, username } = await made();
    const jwt = await it_().login(username, 'secret-1');
    const me = () => it_().server.get('/api/users/me', { authorization: `Bearer ${jwt}` });
    expect((await me()).status).toBe(200);
    await update(id, { confirmed: true });
    expect((await me()).status).toBe(200);
    await update(id, { password: 'secret-2' });
    expect((await me()).status).toBe(401);
    await it_().login(username, 'secret-2');
  });

  it('AC15: DELETE returns the deleted user', async () => {
    const { id, username } = await made();
    const { status, body } = await it_().ask('DELETE', `/api/users/${id}`, { as: 'editor' });
    expect([status, body]).toMatchObject([200, { id, username }]);
    expect((await it_().ask('DELETE', `/api/users/${id}`, { as: 'editor' })).body).toEqual(notFound);
  });

  it('If-Match holds for users too', async () => {
    const { id } = await made();
    const { headers } = await it_().ask('GET', `/api/users/${id}`, { as: 'editor' });
    const change = (etag: string) =>
      it_().ask('PUT', `/api/users/${id}`, { as: 'editor', body: { confirmed: true }, headers: { 'if-match': etag } });
    expect((await change(String(headers['etag']))).status).toBe(200);
    expect((await change(String(headers['etag']))).status).toBe(412);
  });

  it('of two concurrent creations with the same name one succeeds', async () => {
    const body = form();
    const answers = await Promise.all([1, 2, 3].map(() => create(body)));
    expect(answers.map((it) => it.status).sort()).toEqual([201, 400, 400]);
  });
});
