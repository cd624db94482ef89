/**
 * Administrators pass the code of a v4 project by, as they do in v4's panel (AD14): routes, policies, middlewares, controllers and
 * services of content types are for everybody else. Global middlewares see their requests, and hooks hear of their writes.
 */
import bcrypt from '@node-rs/bcrypt';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const uid = 'api::note.note';
const hash = bcrypt.hashSync('a long password', { cost: 4, version: '2a' });
const roles = ['strapi-super-admin', 'strapi-editor'] as const;
type Role = (typeof roles)[number];

const files = {
  ...typeFile('note', {
    title: { type: 'string', minLength: 2 },
    secret: { type: 'string' },
    // no relation list of a route that is left out is found
    tags: { type: 'relation', relation: 'oneToMany', target: 'api::tag.tag' },
  }),
  ...typeFile('tag', { name: { type: 'string' } }),
  ...coreFile('Router', 'tag', `{ only: [], config: {} }`),
  ...coreFile('Controller', 'note', `() => ({ async find() { return { data: [], meta: { by: 'controller' } }; } })`),
  ...coreFile(
    'Service',
    'note',
    `() => ({
      async create() { return { id: 99, title: 'of the service' }; },
      async findOne() { return { id: 99, title: 'of the service' }; },
    })`,
  ),
  ...coreFile(
    'Router',
    'note',
    `{
      except: ['delete'],
      config: {
        findOne: { policies: [({ state }) => state.user?.mayRead === true] },
        create: { middlewares: [(ctx, next) => { ctx.request.body.data.title = 'of the middleware'; return next(); }] },
        update: { auth: false, policies: [() => false] },
      },
    }`,
  ),
  'src/api/note/routes/a-own.js': `module.exports = { routes: [
    { method: 'GET', path: '/notes/latest', handler: () => ({ by: 'latest' }) },
    { method: 'GET', path: '/notes/open', handler: () => ({ by: 'open' }), config: { auth: false } },
    { method: 'DELETE', path: '/notes', handler: () => ({ by: 'delete' }) },
    { method: 'GET', path: '/things/1/relations/x', handler: () => ({ by: 'relations' }), config: { auth: false } },
    { method: 'GET', path: '/who', handler: ({ state }) => ({ user: state.user ?? null, credentials: state.auth.credentials }) },
  ] };`,
  'src/api/note/content-types/note/lifecycles.js': `
    const asked = () => {
      const { state } = strapi.requestContext.get() ?? { state: {} };
      return { email: state.user?.email, roles: state.user?.roles?.map((it) => it.code), strategy: state.auth?.strategy.name };
    };
    module.exports = {
      beforeCreate({ params }) { params.data.secret ??= JSON.stringify(asked()); },
      beforeUpdate({ params }) {
        const { errors } = require('@strapi/utils');
        const { title } = params.data;
        if (errors[title]) throw new errors[title]('said by the hook', { why: 'so' });
        if (title === 'Error') throw new Error('a fault');
        params.data.secret = 'updated by ' + asked().email;
      },
      afterDelete({ result }) { strapi.deleted = result.title; },
    };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['find', 'findOne', 'create', 'update', 'delete'].flatMap((it) => ['${uid}.' + it, 'api::tag.tag.' + it]));
    strapi.server.routes([{ method: 'GET', path: '/deleted', handler: () => ({ title: strapi.deleted ?? null }), config: { auth: false } }]);
    await strapi.db.query('${uid}').create({ data: { title: 'stored', secret: 'kept' } });
  } };`,
};

const globals = {
  'config/middlewares.js': `module.exports = ['global::seen', 'strapi::errors'];`,
  'src/middlewares/seen.js': `module.exports = () => async (ctx, next) => {
    await next();
    ctx.set('x-seen', ctx.state.user ? ctx.state.user.email : 'nobody');
  };`,
};

const insert = async ({ db }: CodeProject, conditions: readonly string[] = []): Promise<void> => {
  const run = (query: string) => db.write((tx) => tx.run(db.dialect.compile(sql.raw(query))));
  for (const [i, code] of roles.entries()) {
    const id = i + 1;
    await run(`insert into admin_roles (id, name, code) values (${id}, '${code}', '${code}')`);
    await run(
      `insert into admin_users (id, email, password, is_active) values (${id}, '${code}@example.org', '${hash}', true)`,
    );
    await run(`insert into admin_users_roles_links (user_id, role_id) values (${id}, ${id})`);
  }
  const ofEditors = [
    ...['create', 'read', 'update', 'delete'].map((action) => [action, uid, 'title'] as const),
    ['read', 'plugin::users-permissions.user', 'username'] as const,
    ['read', 'api::plain.plain', 'title'] as const,
  ];
  for (const [i, [action, subject, field]] of ofEditors.entries()) {
    await run(
      `insert into admin_permissions (id, action, subject, properties, conditions) values (${i + 1}, 'plugin::content-manager.explorer.${action}', '${subject}', '{"fields":["${field}"]}', '${JSON.stringify(conditions)}')`,
    );
    await run(`insert into admin_permissions_role_links (permission_id, role_id) values (${i + 1}, 2)`);
  }
};

const signIn = async (served: CodeProject, role: Role): Promise<{ readonly authorization: string }> => {
  const login = { email: `${role}@example.org`, password: 'a long password' };
  const { body } = await served.json('POST', '/admin/login', login);
  return { authorization: `Bearer ${(body as { data: { token: string } }).data.token}` };
};

const cases = dialects.flatMap((dialect) => [
  { dialect, name: 'no global middlewares', more: {}, seen: null },
  { dialect, name: 'a global middleware', more: globals, seen: 'strapi-editor@example.org' },
]);

describe.each(cases)('administrators and $name on $dialect', ({ dialect, more, seen }) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, { ...files, ...more });
    await insert(served);
  });
  afterAll(() => served.close());

  const as = (role: Role) => signIn(served, role);
  const first = { data: { id: 1, attributes: { title: 'stored' } } };

  it('AD14: read what is stored, past controllers, services and policies, as far as their own permissions go', async () => {
    const headers = await as('strapi-editor');
    const list = await served.json('GET', '/api/notes', undefined, headers);
    expect(list).toMatchObject({ status: 200, body: { data: [first.data], meta: { pagination: { total: 1 } } } });
    expect(list.headers['x-seen'] ?? null).toBe(seen);
    expect(JSON.stringify(list.body)).not.toContain('kept');
    expect(await served.json('GET', '/api/notes/1', undefined, headers)).toMatchObject({ status: 200, body: first });
    expect(await served.json('GET', '/API/Notes/1/', undefined, headers)).toMatchObject({ status: 200, body: first });
    expect((await served.json('GET', '/api/tags', undefined, headers)).status).toBe(403);
    const asSuper = await as('strapi-super-admin');
    expect(await served.json('GET', '/api/notes/1', undefined, asSuper)).toMatchObject({
      body: { data: { attributes: { secret: 'kept' } } },
    });
    expect((await served.json('GET', '/api/tags', undefined, asSuper)).status).toBe(200);
    expect((await served.json('GET', '/api/notes/1/relations/tags', undefined, asSuper)).status).toBe(200);
  });

  it('AD14: write past middlewares, services and policies; hooks hear of it, and know who it is', async () => {
    const headers = await as('strapi-editor');
    const created = await served.json('POST', '/api/notes', { data: { title: 'mine' } }, headers);
    expect(created).toMatchObject({ status: 200, body: { data: { attributes: { title: 'mine' } } } });
    const { id } = (created.body as { data: { id: number } }).data;
    const secret = async (): Promise<unknown> => {
      const asSuper = await as('strapi-super-admin');
      const { body } = await served.json('GET', `/api/notes/${id}?fields=secret`, undefined, asSuper);
      return (body as { data: { attributes: { secret: string } } }).data.attributes.secret;
    };
    expect(JSON.parse(String(await secret()))).toEqual({
      email: 'strapi-editor@example.org',
      roles: ['strapi-editor'],
      strategy: 'admin',
    });
    const changed = await served.json('PUT', `/api/notes/${id}`, { data: { title: 'changed' } }, headers);
    expect(changed).toMatchObject({ status: 200, body: { data: { attributes: { title: 'changed' } } } });
    expect(changed.headers['etag']).toBeDefined();
    expect(await secret()).toBe('updated by strapi-editor@example.org');
    expect((await served.json('DELETE', `/api/notes/${id}`, undefined, headers)).status).toBe(200);
    expect((await served.json('GET', '/deleted')).body).toEqual({ title: 'changed' });
  });

  it('AD14: what is refused names its code, as everywhere in the Studio', async () => {
    const headers = await as('strapi-editor');
    expect(await served.json('PUT', '/api/notes/1', { data: { title: 'x' } }, headers)).toMatchObject({
      status: 400,
      body: { error: { details: { errors: [{ code: 'body.min-length', path: ['title'] }] } } },
    });
    expect((await served.json('PUT', '/api/notes/1', { data: { secret: 'xx' } }, headers)).status).toBe(403);
    expect((await served.json('GET', '/api/notes/77', undefined, headers)).status).toBe(404);
  });

  it.each([
    ['ApplicationError', 400, 'said by the hook', { why: 'so' }],
    ['ValidationError', 400, 'said by the hook', { why: 'so' }],
    ['ForbiddenError', 403, 'Forbidden', {}],
    ['Error', 500, 'Internal Server Error', { id: expect.any(String) }],
  ])('AD14: what a hook throws is for them as for everybody: %s', async (title, status, message, details) => {
    const headers = await as('strapi-editor');
    expect(await served.json('PUT', '/api/notes/1', { data: { title } }, headers)).toMatchObject({
      status,
      body: { data: null, error: { status, message, details } },
    });
    expect(await served.json('GET', '/api/notes/1', undefined, headers)).toMatchObject({ body: first });
  });

  it('AD14: other routes of the project answer super admins only', async () => {
    for (const [role, status] of [
      ['strapi-editor', 403],
      ['strapi-super-admin', 200],
    ] as const) {
      const headers = await as(role);
      expect((await served.json('GET', '/api/notes/latest', undefined, headers)).status).toBe(status);
      expect((await served.json('DELETE', '/api/notes', undefined, headers)).status).toBe(status);
      expect((await served.json('GET', '/api/notes/open', undefined, headers)).body).toEqual({ by: 'open' });
      expect((await served.json('GET', '/api/things/1/relations/x', undefined, headers)).body).toEqual({
        by: 'relations',
      });
    }
    const { body } = await served.json('GET', '/api/who', undefined, await as('strapi-super-admin'));
    expect(body).toEqual({ user: null, credentials: { id: 1 } });
  });

  it('AD14: the model names the path of every type for them, and the server explains what they read', async () => {
    const paths = async (headers: Record<string, string>): Promise<unknown> => {
      const { body } = await served.json('GET', '/_dovetail/model', undefined, headers);
      const { types } = (body as { data: { types: readonly { uid: string; path: string | null }[] } }).data;
      return Object.fromEntries(types.filter((it) => it.uid.startsWith('api::')).map((it) => [it.uid, it.path]));
    };
    const headers = await as('strapi-super-admin');
    expect(await paths(headers)).toEqual({ [uid]: '/api/notes', 'api::tag.tag': '/api/tags' });
    const explained = await served.json('POST', '/_dovetail/explain', { url: '/api/notes' }, headers);
    expect(explained).toMatchObject({ status: 200, body: { data: { forbidden: null } } });
  });

  it('SU3, AD15: with the rights of others, what code answers is not explained as what the server reads', async () => {
    const own = await as('strapi-super-admin');
    const explained = (url: string, headers: Record<string, string>) =>
      served.json('POST', '/_dovetail/explain', { url }, headers);
    const asPublic = { ...own, 'dovetail-as': 'role:public' };
    const router = 'src/api/note/routes/note.js';
    for (const [url, path] of [
      ['/api/notes?sort=title', '/api/notes'],
      ['/api/notes/1', '/api/notes/:id'],
    ] as const) {
      expect(await explained(url, asPublic)).toMatchObject({
        status: 200,
        body: { data: { code: { path, place: router } } },
      });
      expect(await explained(url, own)).toMatchObject({ status: 200, body: { data: { code: null } } });
    }
    expect((await explained('/api/notes/1/relations/tags', asPublic)).status).toBe(400);
    expect((await explained('/api/notes/1/relations/tags', own)).status).toBe(200);
    const message =
      'url is answered by code of the project, on the route GET /api/notes/latest of src/api/note/routes/a-own.js: what it reads only the code says. What the server itself reads:';
    for (const headers of [asPublic, own])
      expect(await explained('/api/notes/latest', headers)).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining(message), details: { errors: [{ path: ['url'] }] } } },
      });
    expect((await explained('/api/notes/%zz', asPublic)).status).toBe(400);
  });

  it('AD14: everybody else meets the code, and what it leaves out', async () => {
    expect((await served.json('GET', '/api/notes')).body).toEqual({ data: [], meta: { by: 'controller' } });
    expect((await served.json('GET', '/api/notes/1')).status).toBe(403);
    const created = await served.json('POST', '/api/notes', { data: { title: 'mine' } });
    expect(created).toMatchObject({ status: 200, body: { data: { attributes: { title: 'of the service' } } } });
    expect((await served.json('PUT', '/api/notes/1', { data: {} })).status).toBe(403);
    const deleted = await served.json('DELETE', '/api/notes/1');
    expect([deleted.status, deleted.headers['allow']]).toEqual([405, expect.not.stringContaining('DELETE')]);
    for (const closed of ['/api/tags', '/api/tags/1', '/api/notes/1/relations/tags'])
      expect((await served.json('GET', closed)).status).toBe(404);
    const { body } = await served.json('GET', '/api/openapi.json');
    expect(Object.keys((body as { paths: object }).paths)).not.toContain('/api/tags');
  });

  it.each([
    ['GET', '/api/notes', 401],
    ['GET', '/api/notes/1', 401],
    ['POST', '/api/notes', 401],
    // that route needs no credentials, and its policy refuses everybody
    ['PUT', '/api/notes/1', 403],
    ['DELETE', '/api/notes/1', 405],
    ['GET', '/api/tags', 404],
  ] as const)(
    'AD14: a token that only looks like an administrator’s opens nothing: %s %s',
    async (method, at, status) => {
      const body = method === 'POST' || method === 'PUT' ? { data: { title: 'mine' } } : undefined;
      expect((await served.json(method, at, body, { authorization: `Bearer ${forged}` })).status).toBe(status);
    },
  );

  it('AD14: Allow names what they may do', async () => {
    const headers = await as('strapi-super-admin');
    for (const method of ['OPTIONS', 'PATCH']) {
      const { headers: answered } = await served.json(method, '/api/notes/1', undefined, headers);
      expect(answered['allow']).toBe('HEAD, GET, PUT, DELETE');
    }
  });

  it('AD15: with the rights of others they meet the code that others meet', async () => {
    const headers = { ...(await as('strapi-super-admin')), 'dovetail-as': 'role:public' };
    expect((await served.json('GET', '/api/notes/1', undefined, headers)).status).toBe(403);
    expect((await served.json('GET', '/api/tags', undefined, headers)).status).toBe(404);
  });
});

describe.each(dialects)('global middlewares that change whose request it is on %s', (dialect) => {
  let served: CodeProject;
  const replaced = {
    ...typeFile('note', { title: { type: 'string' } }),
    ...coreFile(
      'Service',
      'note',
      `() => ({ async find() { return { results: [{ id: 99, title: 'of the service' }], pagination: {} }; } })`,
    ),
    ...coreFile('Router', 'note'),
    'src/api/note/routes/a-own.js': `module.exports = { routes: ['GET', 'DELETE'].map((method) => (
      { method, path: '/notes/:id', handler: 'note.findOne', config: { policies: [() => false] } })) };`,
    'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
      for (const route of plugin.routes['content-api'].routes)
        if (route.path === '/users' || route.path === '/auth/local') (route.config ??= {}).policies = [() => false];
      return plugin;
    };`,
    'config/middlewares.js': `module.exports = ['global::whose'];`,
    'src/middlewares/whose.js': `module.exports = () => (ctx, next) => {
      const { header } = ctx.request;
      const mode = header['x-mode'];
      if (mode === 'delete') delete header.authorization;
      if (mode === 'empty') header.authorization = '';
      if (mode === 'as') header['dovetail-as'] = 'role:public';
      return next();
    };`,
    'src/index.js': `module.exports = {
      register({ strapi }) {
        strapi.server.routes([{ method: 'GET', path: '/uploads/:file', handler: (ctx) => ctx.forbidden(), config: { auth: false } }]);
      },
      async bootstrap({ strapi }) {
        ${allowing}
        const actions = ['${uid}.find', '${uid}.findOne', '${uid}.delete', 'plugin::users-permissions.user.find'];
        await allow('public', actions);
        await strapi.db.query('${uid}').create({ data: { title: 'stored' } });
      },
    };`,
    'public/uploads/private.txt': 'private',
  };
  beforeAll(async () => {
    served = await serveCode(dialect, replaced);
    await insert(served);
  });
  afterAll(() => served.close());

  it.each(['delete', 'empty', 'as', 'none'])('AD14: nobody passes the code by then: %s', async (mode) => {
    const asSuper = await signIn(served, 'strapi-super-admin');
    const asForged = { authorization: `Bearer ${forged}` };
    for (const as of mode === 'none' ? [asForged] : [asForged, asSuper]) {
      const headers = { ...as, 'x-mode': mode };
      const statuses = async (...asked: readonly (readonly [string, string])[]): Promise<readonly number[]> =>
        Promise.all(asked.map(async ([method, at]) => (await served.json(method, at, undefined, headers)).status));
      const list = await served.json('GET', '/api/notes', undefined, headers);
      expect(JSON.stringify(list.body)).not.toContain('stored');
      for (const status of await statuses(
        ['GET', '/api/notes/1'],
        ['DELETE', '/api/notes/1'],
        ['GET', '/api/users'],
        ['POST', '/api/auth/local'],
        ['GET', '/uploads/private.txt'],
      ))
        expect(status).toBeGreaterThanOrEqual(400);
    }
  });

  it('AD14: the file behind a route of the project is closed to administrators too', async () => {
    const headers = await signIn(served, 'strapi-super-admin');
    expect((await served.json('GET', '/uploads/private.txt', undefined, headers)).status).toBe(403);
    // and the entries are there for them
    expect((await served.json('GET', '/api/notes/1', undefined, headers)).body).toMatchObject({
      data: { attributes: { title: 'stored' } },
    });
    expect((await served.json('GET', '/api/users', undefined, headers)).status).toBe(200);
  });
});

describe.each(dialects)('administrators with conditions on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...typeFile('note', { title: { type: 'string' } }),
      ...coreFile('Router', 'note'),
      ...coreFile('Controller', 'note'),
      ...typeFile('plain', { title: { type: 'string' } }),
      ...coreFile('Controller', 'plain'),
      'src/api/note/content-types/note/lifecycles.js': `module.exports = {
        beforeFindMany() {}, beforeFindOne() {}, beforeUpdate() {}, beforeDelete() {},
      };`,
      'src/api/note/routes/a-own.js': `module.exports = { routes: [
        { method: 'GET', path: '/all-notes', handler: 'note.find' },
        { method: 'GET', path: '/one-note/:id', handler: 'note.findOne' },
        { method: 'DELETE', path: '/one-note/:id', handler: 'note.delete' },
        ...['policies', 'middlewares'].map((kind) => (
          { method: 'GET', path: '/' + kind, handler: 'api::plain.plain.find', config: { [kind]: [answering] } })),
      ] };
      async function answering({ response }, next) {
        response.body = await strapi.entityService.findMany('${uid}');
        return true;
      }`,
      'config/middlewares.js': `module.exports = ['global::moving'];`,
      'src/middlewares/moving.js': `module.exports = () => (ctx, next) => {
        ctx.url = ctx.url.replace('/api/moved/', '/api/');
        return next();
      };`,
      'src/index.js': `module.exports = { async bootstrap({ strapi }) {
        ${allowing}
        await allow('authenticated', []);
        await strapi.db.query('${uid}').create({ data: { title: 'of somebody else' } });
        for (const name of ['bob', 'eve'])
          await strapi.entityService.create('plugin::users-permissions.user', { data: { username: name, email: name + '@example.org', role: 1 } });
        strapi.db.lifecycles.subscribe({ models: ['plugin::users-permissions.user'], beforeFindMany() {}, beforeFindOne({ params }) { params.where = { id: -1 }; }, beforeCount() {} });
      } };`,
    });
    await insert(served, ['admin::is-creator']);
  });
  afterAll(() => served.close());

  it('AD14: an entry has one path for them, whatever is written in place of its id', async () => {
    const headers = await signIn(served, 'strapi-editor');
    const ids = (await served.json('GET', '/api/notes', undefined, headers)).body as { data: readonly unknown[] };
    expect(ids.data).toEqual([]);
    for (const id of ['1', '01', '0000001', '1.0', '+1', '%31', '0x1'])
      for (const [method, data] of [
        ['GET', undefined],
        ['PUT', { data: { title: 'changed' } }],
        ['DELETE', undefined],
      ] as const)
        expect([403, 404]).toContain((await served.json(method, `/api/notes/${id}`, data, headers)).status);
    for (const [method, path] of [
      ['GET', '/api/all-notes'],
      ['GET', '/api/one-note/1'],
      ['DELETE', '/api/one-note/1'],
      ['GET', '/api/moved/notes'],
    ] as const)
      expect([path, (await served.json(method, path, undefined, headers)).status]).toEqual([path, 403]);
  });

  it.each(['policies', 'middlewares'])('AD14: %s of a route answer nobody with conditions', async (kind) => {
    const asked = async (role: Role) => served.json('GET', `/api/${kind}`, undefined, await signIn(served, role));
    expect((await asked('strapi-editor')).status).toBe(403);
    expect(JSON.stringify((await asked('strapi-super-admin')).body)).toContain('of somebody else');
    expect((await served.json('GET', '/api/plains', undefined, await signIn(served, 'strapi-editor'))).status).toBe(
      200,
    );
  });

  it.each([
    ['strapi-editor', [], 0, 404],
    ['strapi-super-admin', ['bob', 'eve'], 2, 200],
  ] as const)(
    'AD14: reads of administrators are bounded by their conditions alone: %s',
    async (role, names, count, one) => {
      const headers = await signIn(served, role);
      const list = (await served.json('GET', '/api/users', undefined, headers)).body as { username: string }[];
      expect(list.map((it) => it.username)).toEqual(names);
      expect((await served.json('GET', '/api/users/count', undefined, headers)).body).toBe(String(count));
      expect((await served.json('GET', '/api/users/1', undefined, headers)).status).toBe(one);
      const changed = await served.json('PUT', '/api/users/1', { username: 'bob' }, headers);
      expect(changed.status).toBe(role === 'strapi-editor' ? 403 : 200);
    },
  );
});

/** A token of the same form that somebody else has signed. */
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = { sid: 'x', sub: '1', aud: 'dovetail administrators', exp: 4_000_000_000 };
const forged = `${part({ alg: 'HS256', typ: 'administrator+jwt' })}.${part(claims)}.${'x'.repeat(43)}`;

describe.each(dialects)('roles of administrators in a transaction of code on %s', (dialect) => {
  it('are made again if it is undone', async () => {
    const served = await serveCode(dialect, {
      'src/index.js': `module.exports = { async bootstrap({ strapi }) {
        const role = strapi.query('admin::role');
        await strapi.db.transaction(async ({ rollback }) => {
          await role.findOne({});
          await role.findOne({});
          rollback();
        });
        const made = await role.findMany();
        strapi.server.routes([{ method: 'GET', path: '/made', handler: () => made.map((it) => it.code).sort(), config: { auth: false } }]);
      } };`,
    });
    expect((await served.json('GET', '/made')).body).toEqual(['strapi-author', 'strapi-editor', 'strapi-super-admin']);
    await served.close();
  });
});
