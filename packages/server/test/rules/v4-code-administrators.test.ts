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
  ] };`,
  'src/api/note/content-types/note/lifecycles.js': `
    const asked = () => {
      const { state } = strapi.requestContext.get() ?? { state: {} };
      return { email: state.user?.email, roles: state.user?.roles?.map((it) => it.code), strategy: state.auth?.strategy.name };
    };
    module.exports = {
      beforeCreate({ params }) { params.data.secret ??= JSON.stringify(asked()); },
      beforeUpdate({ params }) { params.data.secret = 'updated by ' + asked().email; },
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

const insert = async ({ db }: CodeProject): Promise<void> => {
  const run = (query: string) => db.write((tx) => tx.run(db.dialect.compile(sql.raw(query))));
  for (const [i, code] of roles.entries()) {
    const id = i + 1;
    await run(`insert into admin_roles (id, name, code) values (${id}, '${code}', '${code}')`);
    await run(
      `insert into admin_users (id, email, password, is_active) values (${id}, '${code}@example.org', '${hash}', true)`,
    );
    await run(`insert into admin_users_roles_links (user_id, role_id) values (${id}, ${id})`);
  }
  for (const [i, action] of ['create', 'read', 'update', 'delete'].entries()) {
    await run(
      `insert into admin_permissions (id, action, subject, properties, conditions) values (${i + 1}, 'plugin::content-manager.explorer.${action}', '${uid}', '{"fields":["title"]}', '[]')`,
    );
    await run(`insert into admin_permissions_role_links (permission_id, role_id) values (${i + 1}, 2)`);
  }
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

  const as = async (role: Role) => {
    const { body } = await served.json('POST', '/admin/login', {
      email: `${role}@example.org`,
      password: 'a long password',
    });
    return { authorization: `Bearer ${(body as { data: { token: string } }).data.token}` };
  };
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

  it('AD14: other routes of the project answer super admins only', async () => {
    for (const [role, status] of [
      ['strapi-editor', 403],
      ['strapi-super-admin', 200],
    ] as const) {
      const headers = await as(role);
      expect((await served.json('GET', '/api/notes/latest', undefined, headers)).status).toBe(status);
      expect((await served.json('DELETE', '/api/notes', undefined, headers)).status).toBe(status);
      expect((await served.json('GET', '/api/notes/open', undefined, headers)).body).toEqual({ by: 'open' });
    }
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

  it.each(['GET', 'POST', 'PUT', 'DELETE'])(
    'AD14: %s with a token that only looks like an administrator’s is a 401',
    async (method) => {
      const at = method === 'POST' ? '/api/notes' : '/api/notes/1';
      const body = method === 'GET' || method === 'DELETE' ? undefined : { data: { title: 'mine' } };
      expect((await served.json(method, at, body, { authorization: `Bearer ${forged}` })).status).toBe(401);
      expect((await served.json('GET', '/api/notes/1')).status).toBe(403);
    },
  );

  it('AD15: with the rights of others they meet the code that others meet', async () => {
    const headers = { ...(await as('strapi-super-admin')), 'dovetail-as': 'role:public' };
    expect((await served.json('GET', '/api/notes/1', undefined, headers)).status).toBe(403);
    expect((await served.json('GET', '/api/tags', undefined, headers)).status).toBe(404);
  });
});

/** A token of the same form that somebody else has signed. */
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claims = { sid: 'x', sub: '1', aud: 'dovetail administrators', exp: 4_000_000_000 };
const forged = `${part({ alg: 'HS256', typ: 'administrator+jwt' })}.${part(claims)}.${'x'.repeat(43)}`;
