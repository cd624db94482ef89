/** Plugins of v4 as projects meet them: schemas and services that extensions repeat, plugins that are not here, routes of the root. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, serveCode, userSchema, userSchemaFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const users = 'src/extensions/users-permissions/strapi-server.js';
const uploads = 'src/extensions/upload/strapi-server.js';

const text = { type: 'string' };
const schema = userSchema({ phone: text });

const files = {
  'package.json': JSON.stringify({
    dependencies: {
      '@strapi/plugin-documentation': '4.26.0',
      '@strapi/plugin-graphql': '4.26.0',
      'strapi-plugin-sitemap': '3.0.0',
    },
  }),
  // an own copy, as `npm install` leaves it beside other packages
  'lib/utils-copy.js': `
    class ApplicationError extends Error { constructor(message, details = {}) { super(); this.name = 'ApplicationError'; this.message = message; this.details = details; } }
    class ValidationError extends ApplicationError { constructor(message, details) { super(message, details); this.name = 'ValidationError'; } }
    class NotFoundError extends ApplicationError { constructor(message, details) { super(message, details); this.name = 'NotFoundError'; } }
    class ForbiddenError extends ApplicationError { constructor(message, details) { super(message, details); this.name = 'ForbiddenError'; } }
    class YupError extends Error { constructor(message) { super(message); this.name = 'ValidationError'; } }
    module.exports = { ApplicationError, ValidationError, NotFoundError, ForbiddenError, YupError };`,
  // an extension puts there what the controller calls, and nothing tells
  'dovetail.config.json': JSON.stringify({ project: { acceptCode: ['src/api/look'] } }),
  [userSchemaFile]: JSON.stringify(schema),
  'src/extensions/users-permissions/content-types/user/index.js': `module.exports = { schema: require('./schema.json'), lifecycles: require('./lifecycles') };`,
  'src/extensions/users-permissions/content-types/user/lifecycles.js': `module.exports = { beforeCreate({ params }) { params.data.phone = params.data.phone ?? '0'; } };`,
  [users]: `
    const { getService } = require('@strapi/plugin-users-permissions/server/utils');
    const auth = require('@strapi/plugin-users-permissions/server/controllers/validation/auth');
    module.exports = (plugin) => {
      plugin.contentTypes.user = require('./content-types/user');
      plugin.contentTypes.role.schema.pluginOptions = { 'content-manager': { visible: true } };
      plugin.controllers.auth.check = async (ctx) => { ctx.body = { passed: await auth['validate' + ctx.params.name + 'Body'](ctx.request.body) }; };
      plugin.controllers.auth.mine = async () => ({ user: (await getService('user').fetch(1)).username, uploads: typeof require('@strapi/plugin-upload/server/utils').getService('upload').upload });
      plugin.routes['content-api'].routes.push({ method: 'POST', path: '/check/:name', handler: 'auth.check', config: { auth: false } });
      plugin.routes['content-api'].routes.push({ method: 'GET', path: '/mine', handler: 'auth.mine', config: { auth: false } });
      plugin.routes.admin.routes.push({ method: 'GET', path: '/panel', handler: 'auth.mine', config: { policies: [] } });
      plugin.routes.other = { routes: [{ method: 'GET', path: '/untyped', handler: 'auth.mine' }] };
      const providers = plugin.services.providers;
      plugin.services.providers = (given) => { const service = providers(given); service.connect = async () => 'mine'; return service; };
      plugin.controllers.contentmanageruser.create = async () => 'mine';
      return plugin;
    };`,
  [uploads]: `module.exports = (plugin) => {
    const images = plugin.services['image-manipulation'];
    const { optimize } = images();
    plugin.services['image-manipulation'] = (given) => ({ ...images(given), optimize: async (file) => optimize(file) });
    const make = plugin.services.upload;
    plugin.services.upload = (given) => { const service = make(given); service.findOne = async () => 'mine'; return service; };
    return plugin;
  };`,
  'src/extensions/content-manager/strapi-server.js': `require('@strapi/plugin-content-manager/server/utils'); module.exports = (plugin) => { plugin.services.x = 1; return plugin; };`,
  'src/api/look/routes/look.js': `module.exports = { routes: [
    { method: 'GET', path: '/look', handler: 'look.look', config: { auth: false } },
    { method: 'GET', path: '/look/fail/:kind', handler: 'look.fail', config: { auth: false } },
    { method: 'GET', path: '/look/plugin/:name', handler: 'look.plugin', config: { auth: false } },
    { method: 'GET', path: '/look/first', handler: (ctx) => { ctx.body = 'of the api'; }, config: { auth: false } },
  ] };`,
  'src/api/look/controllers/look.js': `module.exports = {
    async look() {
      const user = strapi.plugin('users-permissions');
      return {
        absent: [strapi.plugin('sentry')?.service('sentry') === undefined, strapi.plugins['sentry'] === undefined],
        listed: Object.keys(strapi.plugins).sort(),
        options: user.contentType('role').pluginOptions,
        uid: user.contentType('user').uid,
        upload: await strapi.plugin('upload').service('upload').findOne(1),
        connect: await user.service('providers').connect(),
        graphql: strapi.plugin('graphql').config('endpoint', '/graphql'),
      };
    },
    fail(ctx) {
      const errors = require('../../../../lib/utils-copy');
      throw new errors[ctx.params.kind]('said', { why: 'this' });
    },
    async plugin(ctx) {
      const { name } = ctx.params;
      try { ctx.body = { found: String(strapi.plugins[name].service('x')) }; } catch (error) { ctx.body = { message: error.message }; }
    },
  };`,
  'src/policies/is-asked.js': `module.exports = (ctx) => Boolean(ctx.request.header['x-asked']);`,
  'src/index.js': `module.exports = {
    register({ strapi }) {
      const extension = strapi.plugin('graphql').service('extension');
      extension.use(({ nexus }) => ({ types: [nexus.objectType({ name: 'X' })] }));
      extension.shadowCRUD('api::look.look').disable();
      extension.shadowCRUD('api::look.look').field('name').disableOutput();
      strapi.service('plugin::graphql.extension').use({});
      strapi.server.routes([
        { method: 'GET', path: '/ping', handler: (ctx) => { ctx.body = { pong: true, path: ctx.path }; }, config: { auth: false } },
        { method: 'POST', path: '/echo/:id', handler: async (ctx) => ({ id: ctx.params.id, body: ctx.request.body }), config: { auth: false } },
        { method: 'GET', path: '/asked', handler: (ctx) => 'asked', config: { auth: false, policies: ['global::is-asked'], middlewares: [(ctx, next) => { ctx.set('x-through', '1'); return next(); }] } },
        { method: 'GET', path: '/closed', handler: () => 'never' },
        { method: 'GET', path: '/_health', handler: () => 'mine', config: { auth: false } },
        { method: 'GET', path: '/api/look/first', handler: () => 'of the root', config: { auth: false } },
      ]);
      strapi.server.routes({ type: 'admin', prefix: '/tools', routes: [{ method: 'GET', path: '/x', handler: () => 'x', config: { auth: false } }] });
    },
    async bootstrap({ strapi }) {
      ${allowing}
      await allow('public', ['plugin::users-permissions.auth.callback']);
      await allow('authenticated', ['plugin::users-permissions.user.me']);
      strapi.server.routes({ type: 'content-api', prefix: '/late', routes: [{ method: 'GET', path: '/x', handler: () => ({ late: true }), config: { auth: false } }] });
      strapi.server.routes([{ method: 'GET', path: '/:page', handler: (ctx) => ({ page: ctx.params.page }), config: { auth: false } }]);
      const role = await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } });
      await strapi.plugin('users-permissions').service('user').add({ username: 'mia', email: 'mia@example.org', password: 'Passw0rd!', provider: 'local', confirmed: true, role: role.id });
    },
  };`,
};

describe.each(dialects)('plugins of v4 on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());
  const bodyOf = async (path: string): Promise<unknown> => (await served.json('GET', path)).body;

  it('take a schema again that its file says, with lifecycles', async () => {
    const { body } = await served.json('POST', '/api/auth/local', { identifier: 'mia', password: 'Passw0rd!' });
    expect(body).toMatchObject({ user: { username: 'mia', phone: '0' } });
    expect(await bodyOf('/api/look')).toMatchObject({
      options: { 'content-manager': { visible: true } },
      uid: 'plugin::users-permissions.user',
    });
  });

  it('are imported by the files that controllers of v4 import', async () => {
    expect(await bodyOf('/api/users-permissions/mine')).toEqual({ user: 'mia', uploads: 'function' });
  });

  it.each([
    ['Callback', { identifier: 'mia', password: 'x' }, { identifier: 'mia' }, ['password']],
    [
      'Register',
      { email: 'a@b.org', username: 'a', password: 'x' },
      { email: 'a', password: 1 },
      ['email', 'username', 'password'],
    ],
    ['SendEmailConfirmation', { email: 'a@b.org' }, { email: '' }, ['email']],
    ['EmailConfirmation', { confirmation: 'x' }, {}, ['confirmation']],
    ['ForgotPassword', { email: 'a@b.org' }, { email: {} }, ['email']],
    [
      'ResetPassword',
      { password: 'x', passwordConfirmation: 'x', code: 'c' },
      { password: 'x' },
      ['passwordConfirmation', 'code'],
    ],
    [
      'ChangePassword',
      { currentPassword: 'x', password: 'y', passwordConfirmation: 'y' },
      { currentPassword: 'x', password: 'x', passwordConfirmation: 'z' },
      ['password', 'passwordConfirmation'],
    ],
  ])('check the body of %s', async (name, right, wrong, names) => {
    const at = `/api/users-permissions/check/${name}`;
    expect((await served.json('POST', at, right)).body).toEqual({ passed: right });
    const { status, body } = await served.json('POST', at, wrong);
    const { error } = body as { error: { name: string; message: string; details: { errors: { path: string[] }[] } } };
    expect([status, error.name]).toEqual([400, 'ValidationError']);
    expect(error.details.errors.map((it) => it.path[0])).toEqual(names);
    if (names.length > 1) expect(error.message).toBe(`${names.length} errors occurred`);
  });

  it('throw errors of another copy of @strapi/utils', async () => {
    const answers = await Promise.all(
      ['ValidationError', 'ApplicationError', 'NotFoundError', 'ForbiddenError', 'YupError'].map(async (kind) => {
        const { status, body } = await served.json('GET', `/api/look/fail/${kind}`);
        const { name, message, details } = (body as { error: Record<string, unknown> }).error;
        return [status, name, message, details];
      }),
    );
    expect(answers).toEqual([
      [400, 'ValidationError', 'said', { why: 'this' }],
      [400, 'ApplicationError', 'said', { why: 'this' }],
      [404, 'NotFoundError', 'said', { why: 'this' }],
      [403, 'ForbiddenError', 'Forbidden', {}],
      [500, 'InternalServerError', expect.any(String), expect.anything()],
    ]);
  });

  it('have services that extensions wrap, and the log says that nothing asks them', async () => {
    expect(await bodyOf('/api/look')).toMatchObject({ upload: 'mine', connect: 'mine' });
    const log = served.logged.join('');
    expect(log).toContain(
      `${uploads}: the server itself does not call services.upload.findOne, services.image-manipulation.optimize of upload;`,
    );
    expect(log).toContain(`${users}: the server itself does not call services.providers.connect of users-permissions;`);
    expect(log).toContain('controllers.contentmanageruser');
  });

  it('are left out where the server does not stand for them', async () => {
    const lines = served.logged.filter((it) => it.includes('GraphQL is not served; extensions of it have no effect'));
    expect(lines).toHaveLength(1);
    expect(served.logged.join('')).toContain('src/extensions/content-manager/strapi-server.js is not run');
    expect(await bodyOf('/api/look')).toMatchObject({
      absent: [true, true],
      listed: ['email', 'i18n', 'upload', 'users-permissions'],
      graphql: '/graphql',
    });
    const why = 'plugins from npm do not run here; code that is needed of them may move to src/api or src/extensions';
    expect(await bodyOf('/api/look/plugin/documentation')).toEqual({
      message: `strapi.plugin('documentation').service: ${why}`,
    });
    expect(await bodyOf('/api/look/plugin/sitemap')).toEqual({ message: `strapi.plugin('sitemap').service: ${why}` });
    expect(await bodyOf('/api/look/plugin/content-type-builder')).toMatchObject({
      message: expect.stringContaining('this plugin of v4 is not here: see docs/project-code.md#what-does-not-run'),
    });
  });

  it('add routes for the admin panel, which are not served', async () => {
    expect((await served.json('GET', '/api/users-permissions/panel')).status).toBe(404);
    expect((await served.json('GET', '/api/users-permissions/untyped')).status).toBe(404);
    const log = served.logged.join('');
    for (const path of ['/panel', '/untyped', '/x']) expect(log).toContain(`the route GET ${path} has the type admin`);
  });

  it('serve routes of strapi.server.routes', async () => {
    expect(await bodyOf('/ping')).toEqual({ pong: true, path: '/ping' });
    expect(await bodyOf('/PING/')).toEqual({ pong: true, path: '/PING/' });
    expect((await served.json('GET', '/api/ping')).status).toBe(404);
    expect((await served.json('POST', '/echo/7', { a: 1 })).body).toEqual({ id: '7', body: { a: 1 } });
    expect((await served.json('GET', '/asked')).status).toBe(403);
    const asked = await served.json('GET', '/asked', undefined, { 'x-asked': '1' });
    expect([asked.status, asked.body, asked.headers['x-through']]).toEqual([200, 'asked', '1']);
    expect(await bodyOf('/api/look/first')).toBe('of the root');
    expect(await bodyOf('/api/late/x')).toEqual({ late: true });
    expect(await bodyOf('/anything')).toEqual({ page: 'anything' });
    expect((await served.json('GET', '/tools/x')).status).toBe(404);
  });

  it('refuse everybody on those that need authentication, as v4 does', async () => {
    expect((await served.json('GET', '/closed')).status).toBe(401);
    const { body } = await served.json('POST', '/api/auth/local', { identifier: 'mia', password: 'Passw0rd!' });
    const authorization = `Bearer ${(body as { jwt: string }).jwt}`;
    expect((await served.json('GET', '/closed', undefined, { authorization })).status).toBe(401);
    expect(served.logged.join('')).toContain('GET /closed refuses everybody');
  });

  it('never answer for the health of the server', async () => {
    for (const path of ['/_health', '/%5Fhealth', '/_health?x=1', '/_HEALTH']) {
      const { body } = await served.json('GET', path);
      expect([path, JSON.stringify(body)]).not.toEqual([path, expect.stringMatching(/mine|page/)]);
    }
    expect((await served.json('GET', '/_health')).status).toBe(204);
    expect(served.logged.join('')).toContain('GET /_health is not served');
  });
});

describe.each(dialects)('extensions that stop the start on %s', (dialect) => {
  const starting = (own: Readonly<Record<string, string>>) => serveCode(dialect, own);
  const changing = (source: string, own: Readonly<Record<string, string>> = {}) =>
    starting({ [users]: `module.exports = (plugin) => {\n${source}\nreturn plugin; };`, ...own });

  it('add, change or leave out attributes: the fault says where to do that', async () => {
    const added = `plugin.contentTypes.user.schema.attributes.phone = { type: 'string' };`;
    await expect(changing(added)).rejects.toThrow(
      `${users}: plugin.contentTypes.user adds the attribute phone, and content types are not changed by code here: write the whole schema, with that, into ${userSchemaFile}`,
    );
    const given = { [userSchemaFile]: JSON.stringify(schema) };
    const more = `plugin.contentTypes.user = { schema: { ...require('./content-types/user/schema.json'), attributes: { ...require('./content-types/user/schema.json').attributes, age: { type: 'integer' }, town: { type: 'string' } } } };`;
    await expect(changing(more, given)).rejects.toThrow(
      `adds the attributes age, town, and content types are not changed by code here: do that in ${userSchemaFile}`,
    );
    const changed = `plugin.contentTypes.user.schema.attributes.phone = { type: 'string', private: true };`;
    await expect(changing(changed, given)).rejects.toThrow('changes the attribute phone');
    const less = `const { phone, ...attributes } = plugin.contentTypes.user.schema.attributes; plugin.contentTypes.user.schema = { attributes };`;
    await expect(changing(less, given)).rejects.toThrow('leaves out the attribute phone');
    const type = `plugin.contentTypes.visit = { schema: { attributes: {} } };`;
    await expect(changing(type)).rejects.toThrow('src/extensions/users-permissions/content-types/visit/schema.json');
  });

  it('fail: the fault names file and line', async () => {
    await expect(changing(`plugin.services.nothing.create = 1;`)).rejects.toThrow(
      `${users}:2: the extension failed, which may be because users-permissions has no services.nothing: Cannot set properties of undefined`,
    );
    await expect(changing(`plugin.services.jwt = () => { throw new Error('no'); };`)).rejects.toThrow(
      `${users}:2: services.jwt cannot be made: no`,
    );
    await expect(changing(`plugin.routes['content-api'].routes.push({ method: 'GET' });`)).rejects.toThrow(
      `${users}: routes: a route needs a method, a path and a handler`,
    );
    await expect(changing(`\nthrow new Error('oops');`)).rejects.toThrow(`${users}:3: the extension failed: oops`);
  });

  it('read tokens in another way, also where they change what the definition has made', async () => {
    const wrapping = `const make = plugin.services.jwt; plugin.services.jwt = (it) => Object.assign(make(it), { getToken: async () => ({ id: 1 }) });`;
    await expect(changing(wrapping)).rejects.toThrow('services.jwt.getToken');
    const late = `module.exports = { register({ strapi }) { strapi.plugin('users-permissions').service('jwt').verify = () => ({ id: 1 }); } };`;
    await expect(starting({ 'src/index.js': late })).rejects.toThrow('services.jwt.verify');
  });

  it('ask for plugins that do not run here', async () => {
    await expect(
      starting({
        'package.json': JSON.stringify({ dependencies: { '@strapi/plugin-documentation': '4.26.0' } }),
        'src/index.js': `module.exports = { register({ strapi }) {\nstrapi.plugin('documentation').service('override').registerOverride({}); } };`,
      }),
    ).rejects.toThrow(
      "src/index.js:2: register failed: strapi.plugin('documentation').service: plugins from npm do not run here",
    );
  });
});

describe.each(dialects)('extensions on %s that repeat the schemas of v4 itself', (dialect) => {
  it('start', async () => {
    const own = { name: { ...text, minLength: 3, required: true, configurable: false } };
    const served = await serveCode(dialect, {
      [users]: `module.exports = (plugin) => {
        plugin.contentTypes = {
          user: { schema: ${JSON.stringify(userSchema())} },
          role: plugin.contentTypes.role,
          permission: { schema: { collectionName: 'up_permissions', attributes: {
            action: { type: 'string', required: true, configurable: false },
            role: { type: 'relation', relation: 'manyToOne', target: 'plugin::users-permissions.role', inversedBy: 'permissions', configurable: false },
          } } },
        };
        plugin.contentTypes.role.schema.attributes.name = ${JSON.stringify(own.name)};
        return plugin;
      };`,
    });
    expect(served.logged.join('')).not.toContain('contentTypes');
    expect((await served.json('GET', '/api/users')).status).toBe(401);
    await served.close();
  });
});

describe.each(dialects)('extensions in TypeScript on %s', (dialect) => {
  it('import the same, and name their own lines', async () => {
    const source = (line: string) => ({
      'tsconfig.json': '{}',
      'src/extensions/users-permissions/strapi-server.ts': `import { getService } from '@strapi/plugin-users-permissions/server/utils';
import { validateCallbackBody } from '@strapi/plugin-users-permissions/server/controllers/validation/auth';
interface Plugin { controllers: any; routes: any; services: any }
export default (plugin: Plugin) => {
  plugin.controllers.auth.kinds = async () => [typeof getService('jwt').issue, typeof validateCallbackBody];
  plugin.routes['content-api'].routes.push({ method: 'GET', path: '/kinds', handler: 'auth.kinds', config: { auth: false } });
  ${line}
  return plugin;
};`,
    });
    const served = await serveCode(dialect, source(''));
    expect((await served.json('GET', '/api/users-permissions/kinds')).body).toEqual(['function', 'function']);
    await served.close();
    await expect(serveCode(dialect, source('plugin.services.unknown.create = 1;'))).rejects.toThrow(
      'src/extensions/users-permissions/strapi-server.ts:7: the extension failed',
    );
  });
});
