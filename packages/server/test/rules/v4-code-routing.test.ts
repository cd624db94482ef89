/** Where routes of v4 projects are, what their parameters hold, what controllers list, and which permissions count. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashToken } from '../../src/access/tokens.js';
import { tablesOf } from '../../src/model/storage.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects, insertRows } from '../world/databases.js';
import { insertGrants, PUBLIC_ROLE } from '../world/grants.js';
import { codeRunner, runningController } from '../world/running.js';

const open = `config: { auth: false }`;

describe('routes and controllers of code', () => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode('sqlite', {
      ...typeFile('book', { title: { type: 'string' }, secret: { type: 'string', private: true } }),
      ...typeFile('film', { title: { type: 'string' } }),
      ...coreFile(
        'Controller',
        'book',
        `() => ({ async run() { return 'own'; }, async find() { return 'replaced'; } })`,
      ),
      ...coreFile('Controller', 'film'),
      'src/api/run/routes/run.js': `module.exports = { routes: [{ method: 'POST', path: '/run', handler: 'run.run', ${open} }] };`,
      'src/api/run/controllers/run.js': runningController,
      'src/api/own/routes/own.js': `module.exports = { prefix: '/file', routes: [
        { method: 'GET', path: '/rest/:path+', handler: (ctx) => ({ path: ctx.params.path }), ${open} },
        { method: 'GET', path: '/any/:path*', handler: (ctx) => ({ path: ctx.params.path ?? null }), ${open} },
        { method: 'GET', path: '/prefixed', handler: () => 'prefixed', config: { auth: false, prefix: '/own' } },
        { method: 'GET', path: '/bare', handler: () => 'bare', config: { auth: false, prefix: '' } },
      ] };`,
    });
  });
  afterAll(() => served.close());
  const { run, thrown } = codeRunner(() => served);

  it('a parameter of several segments is one text, as in v4', async () => {
    expect((await served.json('GET', '/api/file/rest/a/b%20c/d')).body).toEqual({ path: 'a/b c/d' });
    expect((await served.json('GET', '/api/file/rest/a')).body).toEqual({ path: 'a' });
    expect((await served.json('GET', '/api/file/any')).body).toEqual({ path: null });
  });

  it('a prefix of a route, whatever it says, leaves off that of its file, as in v4', async () => {
    for (const name of ['prefixed', 'bare']) {
      expect((await served.ask(`/api/${name}`)).text).toBe(name);
      expect((await served.ask(`/api/file/${name}`)).status).toBe(404);
    }
    expect((await served.ask('/api/own/prefixed')).status).toBe(404);
  });

  it('a controller lists its own actions and those of the core', async () => {
    const actions = ['create', 'delete', 'find', 'findOne', 'update'];
    for (const given of [`strapi.controllers['api::book.book']`, 'strapi.api.book.controllers.book'])
      expect(await run(`return Object.keys(${given}).sort()`)).toEqual([...actions, 'run'].sort());
    expect(await run(`return Object.keys(strapi.controller('api::film.film')).sort()`)).toEqual(actions);
    expect(await run(`return strapi.controller('api::book.book').find()`)).toBe('replaced');
  });

  it('validateInput refuses what sanitizeInput would take out', async () => {
    const validate = (data: string) =>
      `return (await strapi.controller('api::book.book').validateInput(${data})) ?? 'valid'`;
    expect(await run(validate(`{ title: 'a', secret: 'b' }`))).toBe('valid');
    expect(await thrown(validate(`{ id: 5, title: 'a' }`))).toBe('ValidationError: Invalid parameter id');
    expect(await thrown(validate(`{ createdBy: 1 }`))).toBe('ValidationError: Invalid parameter createdBy');
  });
});

/** Types to which an art is related, and what leads to their `find`. */
const related = { partly: false, closed: false, routerless: false, usual: true, elsewhere: true, added: true };
const names = Object.keys(related);
const without = names.filter((it) => !related[it as keyof typeof related]);
const reached = names.filter((it) => !without.includes(it));
const finds = names.map((it) => `api::${it}.${it}.find`);
const types = ['api', 'admin', 'other'];
const granted = ['find', 'create', 'update', ...types].map((it) => `api::art.art.${it}`);
const tokens = ['full-access', 'read-only', 'custom', 'bare'] as const;

describe.each(dialects)('permissions of actions that no route serves, on %s', (dialect) => {
  let served: CodeProject;
  let jwt = '';
  beforeAll(async () => {
    const one = (target: string) => ({ type: 'relation', relation: 'manyToOne', target });
    served = await serveCode(dialect, {
      ...typeFile('art', {
        title: { type: 'string' },
        owner: one('plugin::users-permissions.user'),
        ...Object.fromEntries(names.map((it) => [it, one(`api::${it}.${it}`)])),
      }),
      ...Object.assign({}, ...names.map((it) => typeFile(it, { name: { type: 'string' } }))),
      ...coreFile('Router', 'art'),
      ...coreFile('Router', 'partly', `{ only: ['create'] }`),
      'src/api/closed/routes/closed.js': 'module.exports = { routes: [] };',
      ...coreFile('Controller', 'routerless', '() => ({ async own() {} })'),
      ...coreFile('Router', 'usual'),
      'src/api/elsewhere/routes/elsewhere.js': 'module.exports = { routes: [] };',
      'src/api/added/routes/added.js': 'module.exports = { routes: [] };',
      'src/api/art/routes/own.js': `module.exports = { routes: [
        { method: 'GET', path: '/others', handler: 'api::elsewhere.elsewhere.find' },
        { method: 'GET', path: '/people', handler: 'plugin::users-permissions.role.find' },
        { method: 'GET', path: '/scoped', handler: () => 'scoped', config: { auth: { scope: ['api::closed.closed.find'] } } },
        { method: 'GET', path: '/invented', handler: () => 'invented', config: { auth: { scope: ['api::art.art.invent'] } } },
      ] };`,
      ...coreFile('Controller', 'art', `() => ({ ${types.map((it) => `${it}: () => 'typed'`).join(', ')} })`),
      ...Object.fromEntries(
        types.map((it) => [
          `src/api/art/routes/${it}.js`,
          `module.exports = { type: '${it}', routes: [
            { method: 'GET', path: '/typed/${it}', handler: 'art.${it}' },
            { method: 'GET', path: '/typed/${it}/function', handler: () => 'typed', info: { type: 'admin' } },
          ] };`,
        ]),
      ),
      'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
        const router = plugin.routes['content-api'];
        router.routes = router.routes.filter((it) => !['user.find', 'user.findOne'].includes(it.handler));
        return plugin;
      };`,
      'src/index.js': `module.exports = {
        register({ strapi }) {
          strapi.server.routes({ type: 'content-api', routes: [{ method: 'GET', path: '/added', handler: 'api::added.added.find' }] });
        },
        async bootstrap({ strapi }) { ${allowing}
          const users = ['user.find', 'user.me', 'role.find', 'permissions.getPermissions'].map((it) => 'plugin::users-permissions.' + it);
          const actions = [...${JSON.stringify([...granted, ...finds])}, 'api::art.art.invent', ...users];
          await allow('public', [...actions, 'plugin::users-permissions.auth.callback']);
          await allow('authenticated', actions);
          for (const [type, accessKey] of ${JSON.stringify(tokens.map((it) => [it, hashToken(it, 'salt')]))}) {
            const token = await strapi.query('admin::api-token').create({ data: { name: type, type: type === 'bare' ? 'custom' : type, accessKey } });
            const own = type === 'bare' ? ${JSON.stringify(granted)} : type === 'custom' ? actions : [];
            for (const action of own) await strapi.query('admin::api-token-permission').create({ data: { action, token: token.id } });
          }
          const role = await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } });
          for (const username of ['ann', 'bob'])
            await strapi.plugin('users-permissions').service('user').add({
              username, email: username + '@example.org', password: 'Passw0rd!', provider: 'local', confirmed: true, role: role.id,
            });
          const links = { owner: 2 };
          for (const name of ${JSON.stringify(names)}) {
            const { id } = await strapi.entityService.create('api::' + name + '.' + name, { data: { name } });
            links[name] = id;
          }
          await strapi.entityService.create('api::art.art', { data: { title: 'first', ...links } });
        },
      };`,
    });
    const { body } = await served.json('POST', '/api/auth/local', { identifier: 'ann', password: 'Passw0rd!' });
    jwt = (body as { jwt: string }).jwt;
  });
  afterAll(() => served.close());

  type Caller = 'public' | 'ann' | (typeof tokens)[number];
  const ask = (caller: Caller, path: string, method = 'GET', body?: unknown) =>
    served.json(
      method,
      `/api${path}`,
      body,
      caller === 'public' ? {} : { authorization: `Bearer ${caller === 'ann' ? jwt : caller}` },
    );
  const limited = ['public', 'ann', 'custom'] as const;
  const unlimited = ['full-access', 'read-only'] as const;
  const shownTo = async (caller: Caller, search: string): Promise<readonly string[]> => {
    const { body } = await ask(caller, `/arts?${search}`);
    const [art] = (body as { data: { attributes: Record<string, unknown> }[] }).data;
    return [...names, 'owner'].filter((it) => art?.attributes[it] !== undefined);
  };

  const asBare = async (path: string) => {
    const { status, body } = await ask('bare', path);
    return { status, body };
  };

  it.each(limited)('%s does not see the entries that such a permission would show', async (caller) => {
    expect(await shownTo(caller, 'filters[title]=first&populate=*')).toEqual(reached);
    for (const name of [...without, 'owner'])
      expect(await ask(caller, `/arts?populate=${name}`), name).toMatchObject(await asBare(`/arts?populate=${name}`));
  });

  it.each(limited)('%s neither filters nor sorts by what they are', async (caller) => {
    const paths = [
      ...without.flatMap((it) => [`filters[${it}][name]=${it}`, `filters[${it}]=1`, `sort=${it}.name`]),
      'filters[owner][email][$startsWith]=b',
      'sort=owner.email',
    ].map((it) => `/arts?${it}`);
    for (const path of paths) {
      const { status, body } = await ask(caller, path);
      expect.soft(status, path).toBe(400);
      expect.soft(body, path).toEqual((await asBare(path)).body);
    }
    expect((await ask(caller, '/arts?filters[elsewhere][name]=elsewhere&sort=added.name')).status).toBe(200);
  });

  it.each(limited)('%s does not link them, and leaves what is linked', async (caller) => {
    const links = Object.fromEntries([...names, 'owner'].map((it) => [it, 1]));
    const { body } = await ask(caller, '/arts', 'POST', { data: { title: caller, ...links } });
    const { id } = (body as { data: { id: number } }).data;
    const linkedTo = async (art: number) => {
      const { body: found } = await ask('full-access', `/arts/${art}?populate=*`);
      const { attributes } = (found as { data: { attributes: Record<string, { data: { id: number } | null }> } }).data;
      return [...names, 'owner'].map((it) => [it, attributes[it]?.data?.id ?? null]);
    };
    expect(await linkedTo(id)).toEqual([...names, 'owner'].map((it) => [it, reached.includes(it) ? 1 : null]));
    const before = await linkedTo(1);
    const unreached = Object.fromEntries([...without, 'owner'].map((it) => [it, null]));
    expect((await ask(caller, '/arts/1', 'PUT', { data: { ...unreached } })).status).toBe(200);
    expect((await ask(caller, '/arts/1', 'PUT', { data: { owner: 1 } })).status).toBe(200);
    expect(await linkedTo(1)).toEqual(before);
  });

  it('a scope that is no action of a route lets nobody through but full access', async () => {
    const statuses = async (path: string) =>
      Promise.all([...limited, ...unlimited].map(async (it) => (await ask(it, path)).status));
    expect(await statuses('/invented')).toEqual([403, 403, 403, 200, 403]);
    // reading is a permission for every name that ends with find
    expect(await statuses('/scoped')).toEqual([403, 403, 403, 200, 200]);
    // the action of another API: the permission is called api::art.api::elsewhere.elsewhere.find
    expect(await statuses('/others')).toEqual([403, 403, 403, 200, 200]);
    expect(await statuses('/people')).toEqual([403, 403, 403, 200, 200]);
  });

  it.each(types)('routers in src/api are of the content API, whatever their type: %s', async (type) => {
    const statuses = async (path: string) =>
      Promise.all([...limited, ...unlimited].map(async (it) => (await ask(it, path)).status));
    expect(await statuses(`/typed/${type}`)).toEqual([200, 200, 200, 200, 403]);
    expect(await statuses(`/typed/${type}/function`)).toEqual([401, 200, 403, 200, 403]);
  });

  it.each(unlimited)('a token that needs no permissions, %s, reaches all of them', async (caller) => {
    expect(await shownTo(caller, 'filters[title]=first&populate=*')).toEqual([...names, 'owner']);
    expect((await ask(caller, '/arts?filters[closed][name]=closed&sort=owner.email')).status).toBe(200);
  });

  it('roles are not offered them', async () => {
    const { body } = await ask('public', '/users-permissions/permissions');
    const { permissions } = body as {
      permissions: Record<string, { controllers: Record<string, Record<string, unknown>> }>;
    };
    const offered = (owner: string, controller: string) =>
      Object.keys(permissions[owner]?.controllers[controller] ?? {});
    expect(offered('api::partly', 'partly')).toEqual(['create']);
    expect(offered('api::closed', 'closed')).toEqual([]);
    expect(offered('api::elsewhere', 'elsewhere')).toEqual(['find']);
    expect(offered('plugin::users-permissions', 'user')).toEqual(['create', 'update', 'count', 'destroy', 'me']);
  });
});

it.each(dialects)('core routers count where no code of the project runs, too, on %s', async (dialect) => {
  const served = await serveCode(dialect, {
    ...typeFile('art', {
      title: { type: 'string' },
      partly: { type: 'relation', relation: 'manyToOne', target: 'api::partly.partly' },
      usual: { type: 'relation', relation: 'manyToOne', target: 'api::usual.usual' },
    }),
    ...typeFile('partly', { name: { type: 'string' } }),
    ...typeFile('usual', { name: { type: 'string' } }),
    'src/api/partly/routes/partly.js': `const { createCoreRouter } = require('@strapi/strapi').factories;\nmodule.exports = createCoreRouter('api::partly.partly', { except: ['find'] });`,
    'dovetail.config.json': JSON.stringify({ project: { runCode: false } }),
  });
  try {
    const tables = new Map(tablesOf(served.site.model).map((it) => [it.name, it]));
    const insert = (table: string, rows: Parameters<typeof insertRows>[2]) =>
      insertRows(served.db, tables.get(table)!, rows);
    await insert('up_roles', [{ id: PUBLIC_ROLE, name: 'Public', type: 'public' }]);
    await insertGrants(
      ['art', 'partly', 'usual'].map((it) => ({ role: PUBLIC_ROLE, action: `api::${it}.${it}.find` })),
      insert,
    );
    served.site.callers.forget();
    const statusOf = async (search: string) => (await served.ask(`/api/arts?${search}`)).status;
    expect(await statusOf('filters[usual][name]=x&sort=usual.name')).toBe(200);
    expect(await statusOf('filters[partly][name]=x')).toBe(400);
    expect(await statusOf('sort=partly.name')).toBe(400);
  } finally {
    await served.close();
  }
});
