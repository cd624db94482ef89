/** Extensions of v4's plugins: actions that are wrapped, replaced and added, routes that change, and hooks of users. */
import fs from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, serveCode } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const extension = 'src/extensions/users-permissions/strapi-server.js';

const files = {
  [extension]: `module.exports = (plugin) => {
    const { auth, user } = plugin.controllers;
    const routes = plugin.routes['content-api'].routes;

    const register = auth.register;
    auth.register = async (ctx) => {
      const { invitation, ...fields } = ctx.request.body;
      if (invitation !== 'please') throw new (require('@strapi/utils').errors.ValidationError)('Not invited');
      ctx.request.body = fields;
      await register(ctx);
      await strapi.entityService.update('plugin::users-permissions.user', ctx.body.user.id, { data: { username: fields.username + '1' } });
      ctx.body.welcome = true;
    };

    const callback = auth.callback;
    auth.callback = async (ctx) => {
      try { await callback(ctx); } catch (error) {
        ctx.set('x-caught', error.name + ': ' + error.message);
        throw error;
      }
    };

    user.updateMe = async (ctx) => {
      ctx.params.id = ctx.state.user.id;
      const { email } = ctx.request.body;
      ctx.request.body = { email };
      await user.update(ctx);
    };
    routes.unshift({ method: 'PUT', path: '/users/me', handler: 'user.updateMe', config: { prefix: '' } });
    routes.push({ method: 'GET', path: '/ours', handler: 'user.ours', config: { auth: false, middlewares: ['plugin::users-permissions.rateLimit'] } });
    user.ours = (ctx) => ({ path: ctx.path });

    const find = user.find;
    user.find = async (ctx) => {
      ctx.query = { ...ctx.query, sort: 'id:desc', fields: ['username'] };
      await find(ctx);
      ctx.body = ctx.body.map((it) => ({ ...it, found: true }));
    };

    plugin.routes.admin.routes.push({ method: 'GET', path: '/panel', handler: (ctx) => { ctx.body = 'for administrators'; }, config: { policies: [] } });

    const me = routes.find((it) => it.handler === 'user.me');
    me.path = '/profile';
    const count = routes.find((it) => it.handler === 'user.count');
    count.config.policies = [(ctx) => Boolean(ctx.request.header['x-count'])];
    const callbackRoute = routes.find((it) => it.handler === 'auth.callback' && it.method === 'POST');
    callbackRoute.config.middlewares.push((ctx, next) => { ctx.set('x-login', 'seen'); return next(); });

    const makeJwt = plugin.services.jwt;
    plugin.services.jwt = ({ strapi }) => {
      const jwt = makeJwt({ strapi });
      return { ...jwt, issue: (payload, options) => jwt.issue({ ...payload, plan: 'basic' }, options) };
    };
    plugin.policies.isMia = (ctx) => ctx.state.user?.username === 'mia';
    plugin.contentTypes.user.lifecycles = { afterUpdate({ result }) { strapi.updated.push(result.username); } };
    const bootstrap = plugin.bootstrap;
    plugin.bootstrap = async ({ strapi }) => { await bootstrap({ strapi }); strapi.extended = true; strapi.updated = []; };
    return plugin;
  };`,
  'src/extensions/upload/strapi-server.js': `module.exports = (plugin) => {
    const { upload } = plugin.controllers['content-api'];
    plugin.controllers['content-api'].upload = async (ctx) => {
      const file = ctx.request.files.files;
      if (file.type !== 'text/plain') return ctx.badRequest('only texts');
      await upload(ctx);
      ctx.body = { stored: ctx.body.map((it) => it.name) };
    };
    return plugin;
  };`,
  'src/extensions/i18n/strapi-server.js': `module.exports = (plugin) => {
    const { listLocales } = plugin.controllers.locales;
    plugin.controllers.locales.listLocales = async (ctx) => { await listLocales(ctx); ctx.body = ctx.body.map((it) => it.code); };
    return plugin;
  };`,
  'src/api/look/routes/look.js': `module.exports = { routes: [
    { method: 'GET', path: '/look', handler: 'look.look', config: { auth: false } },
    { method: 'GET', path: '/look/mia', handler: 'look.look', config: { policies: ['plugin::users-permissions.isMia'] } },
    { method: 'GET', path: '/look/as/:id', handler: 'look.as', config: { auth: false } },
  ] };`,
  'src/api/look/controllers/look.js': `module.exports = {
    async look() {
      const { services } = strapi.plugins['users-permissions'];
      const mia = await services.user.fetch(1, { populate: ['role'] });
      return {
        extended: strapi.extended, updated: strapi.updated, role: mia.role.type,
        locale: await strapi.plugin('i18n').service('locales').getDefaultLocale(),
        plan: (await services.jwt.verify(services.jwt.issue({ id: 1 }))).plan,
      };
    },
    async as(ctx) {
      await strapi.controller('plugin::users-permissions.user').findOne(ctx);
      ctx.body = { name: ctx.body.username };
    },
  };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const users = ['auth.callback', 'auth.register', 'auth.forgotPassword', 'user.me', 'user.find', 'user.findOne', 'user.count', 'user.updateMe', 'role.find'];
    const actions = [...users.map((it) => 'plugin::users-permissions.' + it), 'plugin::upload.content-api.upload', 'plugin::i18n.locales.listLocales'];
    await allow('public', actions);
    await allow('authenticated', [...actions, 'api::look.look.look']);
    const role = await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } });
    await strapi.plugin('users-permissions').service('user').add({ username: 'mia', email: 'mia@example.org', password: 'Passw0rd!', provider: 'local', confirmed: true, role: role.id });
  } };`,
};

const login = { identifier: 'mia@example.org', password: 'Passw0rd!' };

describe.each(dialects)('extensions on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());
  const signedIn = async (): Promise<Record<string, string>> => {
    const { body } = await served.json('POST', '/api/auth/local', login);
    return { authorization: `Bearer ${(body as { jwt: string }).jwt}` };
  };

  it('leave routes of the type admin to v4: nobody reaches them here', async () => {
    const { status } = await served.json('GET', '/api/users-permissions/panel', undefined, await signedIn());
    expect(status).toBe(404);
    expect(served.logged.join('')).toContain('the route GET /panel has the type admin');
  });

  it('wrap a registration: what they change of its body, refuse and add', async () => {
    const eve = { username: 'eve', email: 'eve@example.org', password: 'Passw0rd!' };
    const refused = await served.json('POST', '/api/auth/local/register', eve);
    expect([refused.status, refused.body]).toMatchObject([400, { error: { message: 'Not invited' } }]);
    const { status, body } = await served.json('POST', '/api/auth/local/register', { ...eve, invitation: 'please' });
    expect([status, body]).toMatchObject([200, { welcome: true, user: { username: 'eve' } }]);
    const { body: found } = await served.json('GET', '/api/users');
    expect(found).toMatchObject([
      { username: 'eve1', found: true },
      { username: 'mia', found: true },
    ]);
  });

  it('catch what a login is refused with, and see those that succeed', async () => {
    const wrong = await served.json('POST', '/api/auth/local', { ...login, password: 'wrong' });
    expect([wrong.status, wrong.headers['x-login'], wrong.body]).toMatchObject([
      400,
      'seen',
      { data: null, error: { status: 400, name: 'ValidationError', message: 'Invalid identifier or password' } },
    ]);
    const right = await served.json('POST', '/api/auth/local', login);
    expect([right.status, right.headers['x-login']]).toEqual([200, 'seen']);
  });

  it('issue tokens of their own, with which users are known', async () => {
    const { body } = await served.json('POST', '/api/auth/local', login);
    const [, payload = ''] = (body as { jwt: string }).jwt.split('.');
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ id: 1, plan: 'basic' });
    expect((await served.json('GET', '/api/profile', undefined, await signedIn())).body).toMatchObject({
      username: 'mia',
    });
  });

  it('call an action of the server for another id, without its permission', async () => {
    const headers = await signedIn();
    expect((await served.json('PUT', '/api/users/1', { email: 'x@example.org' }, headers)).status).toBe(403);
    const { status, body } = await served.json(
      'PUT',
      '/api/users/me',
      { email: 'mia@example.org', blocked: true },
      headers,
    );
    expect([status, body]).toMatchObject([200, { username: 'mia', email: 'mia@example.org', blocked: false }]);
    expect((await served.json('GET', '/api/look/as/1')).body).toEqual({ name: 'mia' });
  });

  it('change paths and guards of routes, and add some', async () => {
    const headers = await signedIn();
    expect((await served.json('GET', '/api/profile', undefined, headers)).status).toBe(200);
    // `/users/:id` has it now
    expect((await served.json('GET', '/api/users/me', undefined, headers)).status).toBe(404);
    expect((await served.json('GET', '/api/users/count')).status).toBe(403);
    expect((await served.json('GET', '/api/users/count', undefined, { 'x-count': '1' })).status).toBe(200);
    expect((await served.json('GET', '/api/users-permissions/ours')).body).toEqual({
      path: '/api/users-permissions/ours',
    });
    expect((await served.json('GET', '/api/ours')).status).toBe(404);
    expect((await served.json('GET', '/api/users-permissions/roles')).status).toBe(200);
  });

  it('give plugins policies, hooks of types, and a bootstrap', async () => {
    expect((await served.json('GET', '/api/look/mia')).status).toBe(403);
    expect((await served.json('GET', '/api/look/mia', undefined, await signedIn())).status).toBe(200);
    expect((await served.json('GET', '/api/look')).body).toEqual({
      extended: true,
      updated: expect.arrayContaining(['mia']),
      role: 'authenticated',
      locale: 'en',
      plan: 'basic',
    });
  });

  it('wrap uploads and the list of locales', async () => {
    const stored = await served.form('POST', '/api/upload', { files: ['a.txt', 'text/plain', 'x'] });
    expect(stored.body).toEqual({ stored: ['a.txt'] });
    expect((await served.form('POST', '/api/upload', { files: ['a.svg', 'image/svg+xml', '<svg/>'] })).status).toBe(
      400,
    );
    expect(served.leftovers()).toEqual([]);
    expect((await served.json('GET', '/api/i18n/locales')).body).toEqual(expect.arrayContaining([]));
    expect(fs.readdirSync(`${served.dir}/public/uploads`)).toHaveLength(1);
  });
});

describe('extensions that the server cannot follow', () => {
  const starting = (source: string) =>
    serveCode('sqlite', { [extension]: `module.exports = (plugin) => { ${source} return plugin; };` });

  it('refuse the start if they decide who asks, or change a type', async () => {
    const reading = `const make = plugin.services.jwt; plugin.services.jwt = (it) => ({ ...make(it), getToken: async () => ({ id: 1 }) });`;
    await expect(starting(reading)).rejects.toThrow('services.jwt.getToken');
    const changing = `plugin.contentTypes.user.schema.attributes.phone = { type: 'string' };`;
    await expect(starting(changing)).rejects.toThrow('content-types/user/schema.json');
  });

  it('are told if nobody asks what they replace', async () => {
    const served = await starting(
      `const make = plugin.services.user; plugin.services.user = (it) => ({ ...make(it), add: async () => null });`,
    );
    expect(served.logged.join('')).toContain('services.user.add');
    await served.close();
  });
});

describe('attempts', () => {
  it('are counted where an extension answers, and by the plugin’s middleware', async () => {
    const served = await serveCode('sqlite', {
      ...files,
      'dovetail.config.json': JSON.stringify({ users: { attemptsMax: 3 } }),
    });
    const statuses = async (method: string, at: string, body?: unknown): Promise<readonly number[]> => {
      const found: number[] = [];
      for (let i = 0; i < 5; i++) found.push((await served.json(method, at, body)).status);
      return found;
    };
    const wrong = { ...login, password: 'wrong' };
    expect(await statuses('POST', '/api/auth/local', wrong)).toEqual([400, 400, 400, 429, 429]);
    expect(await statuses('GET', '/api/users-permissions/ours')).toEqual([200, 200, 200, 429, 429]);
    // no other name in the body hides whose password is guessed
    const guesses = ['a', 'b', 'c', 'd'].map((email) => ({ ...wrong, identifier: 'zoe', email }));
    const guessed: number[] = [];
    for (const guess of guesses) guessed.push((await served.json('POST', '/api/auth/local', guess)).status);
    expect(guessed).toEqual([400, 400, 400, 429]);
    await served.close();
  });
});

describe('the rate limit counts attempts by the address that `ctx.ip` gives', () => {
  const statuses = async (
    own: Readonly<Record<string, string>>,
    method: string,
    path: string,
    headers: (i: number) => Record<string, string>,
  ): Promise<readonly number[]> => {
    const config = { users: { attemptsMax: 3 }, server: { trustProxy: true } };
    const served = await serveCode('sqlite', { ...files, ...own, 'dovetail.config.json': JSON.stringify(config) });
    const found: number[] = [];
    const body = method === 'POST' ? { ...login, password: 'wrong' } : undefined;
    for (let i = 0; i < 4; i++) found.push((await served.json(method, `/api/${path}`, body, headers(i))).status);
    await served.close();
    return found;
  };
  const GET = ['GET', 'users-permissions/ours'] as const;

  it('behind a proxy that is the one that the proxy saw, not what clients send', async () => {
    const claimed = await statuses({}, ...GET, (i) => ({ 'x-forwarded-for': `192.0.2.${i}, 198.51.100.7` }));
    expect(claimed).toEqual([200, 200, 200, 429]);
    const others = await statuses({}, ...GET, (i) => ({ 'x-forwarded-for': `192.0.2.1, 198.51.100.${i}` }));
    expect(others).toEqual([200, 200, 200, 200]);
  });

  it('a middleware of the project may say it, as in v4', async () => {
    const own = {
      'config/middlewares.js': `module.exports = ['strapi::errors', 'global::address'];`,
      'src/middlewares/address.js': `module.exports = () => (ctx, next) => { ctx.request.ip = ctx.get('cf-connecting-ip'); return next(); };`,
    };
    const address = (i: number) => ({ 'cf-connecting-ip': `198.51.100.${i}` });
    expect(await statuses(own, ...GET, address)).toEqual([200, 200, 200, 200]);
    expect(await statuses(own, 'POST', 'auth/local', address)).toEqual([400, 400, 400, 400]);
  });
});

it('the rate limit counts attempts by route, however its path is written', async () => {
  const config = JSON.stringify({ users: { attemptsMax: 3 } });
  const bounded = await serveCode('sqlite', { ...files, 'dovetail.config.json': config });
  const statuses: number[] = [];
  for (const path of ['ours', 'OURS', '%6furs', 'our%73', 'ours/'])
    statuses.push((await bounded.json('GET', `/api/users-permissions/${path}`)).status);
  expect(statuses.slice(3)).toEqual([429, 429]);
  await bounded.close();
});
