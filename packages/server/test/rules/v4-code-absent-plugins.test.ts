/** Guards of v4 projects that ask parts of plugins which do not run here: none of them lets a request pass. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { absentMethods, absentServices } from '../../src/v4code/plugins/absent.js';
import { type CodeProject, serveCode } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

/** Each passes if it finds nothing, or if an error is thrown. */
const asking = (plugin: string): readonly string[] => [
  `return !strapi.services['plugin::${plugin}.acl']`,
  `return !strapi.service('plugin::${plugin}.acl')`,
  `return !strapi.policy('plugin::${plugin}.check')`,
  `return !strapi.policies['plugin::${plugin}.check']`,
  `return !strapi.middleware('plugin::${plugin}.check')`,
  `return !strapi.middlewares['plugin::${plugin}.check']`,
  `return !strapi.controller('plugin::${plugin}.acl')`,
  `return !strapi.controllers['plugin::${plugin}.acl']`,
  `return !('plugin::${plugin}.acl' in strapi.controllers)`,
  `return !Object.hasOwn(strapi.controllers, 'plugin::${plugin}.acl')`,
  `return !strapi.contentTypes['plugin::${plugin}.rule']`,
  `return !strapi.contentType('plugin::${plugin}.rule')`,
  `return !strapi.getModel('plugin::${plugin}.rule')`,
];
const reading = (plugin: string): readonly string[] => [
  `await strapi.query('plugin::${plugin}.rule').findOne({ where: {} }); return false`,
  `await strapi.db.query('plugin::${plugin}.rule').count(); return false`,
  `await strapi.entityService.findMany('plugin::${plugin}.rule'); return false`,
  `await strapi.entityService.findOne('plugin::${plugin}.rule', 1); return false`,
];
const ofPanel = [
  `return strapi.policy('admin::isAuthenticatedAdmin')(ctx) ?? true`,
  `return strapi.policies['admin::hasPermissions']?.(ctx) ?? true`,
  `return strapi.policies['plugin::content-manager.hasPermissions']?.(ctx) ?? true`,
  `return strapi.controller('admin::user')?.find(ctx) ?? true`,
  `return strapi.controllers['admin::authenticated-user']?.getMe(ctx) ?? true`,
  `return strapi.controllers['plugin::content-manager.collection-types']?.find(ctx) ?? true`,
  `return strapi.controller('plugin::email.email')?.send(ctx) ?? true`,
  `return strapi.plugin('email').controllers.email?.getSettings(ctx) ?? true`,
];
const closed = [...asking('acl'), ...reading('acl'), ...asking('sitemap'), ...reading('sitemap'), ...ofPanel];
const open = ['nope', 'off'].flatMap((it) =>
  [...asking(it), ...reading(it)].filter((ask) => !ask.includes('strapi.service(')),
);
const all = [...closed, ...open];
const uidInRequest = `strapi.contentType(ctx.request.header['x-uid']); return true`;

const guarded = (path: string, policy: string): string =>
  `{ method: 'GET', path: '/${path}', handler: () => ({ passed: true }), config: { auth: false, policies: ['global::${policy}'] } },`;

describe.each(dialects)('plugins that do not run here, on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      'package.json': JSON.stringify({ dependencies: { 'strapi-plugin-sitemap': '1.0.0' } }),
      // each catches what is thrown
      'dovetail.config.json': JSON.stringify({ project: { acceptCode: ['src/policies'] } }),
      'config/plugins.js': `module.exports = { acl: { enabled: true, resolve: './src/plugins/acl' }, off: { enabled: false, resolve: './src/plugins/off' } };`,
      'src/plugins/acl/package.json': '{ "name": "acl", "strapi": { "kind": "plugin", "name": "acl" } }',
      ...Object.fromEntries(
        all.map((ask, i) => [
          `src/policies/ask-${i}.js`,
          `module.exports = async (ctx, config, { strapi }) => { try { ${ask}; } catch { return true; } };`,
        ]),
      ),
      'src/policies/sent.js': `module.exports = (ctx, config, { strapi }) => { ${uidInRequest}; };`,
      'src/api/look/routes/look.js': `module.exports = { routes: [
        ${all.map((_ask, i) => guarded(`ask-${i}`, `ask-${i}`)).join('\n')}
        ${guarded('sent', 'sent')}
      ] };`,
    });
  });
  afterAll(() => served.close());
  const statusOf = async (path: string, headers = {}): Promise<number> =>
    (await served.json('GET', `/api/${path}`, undefined, headers)).status;

  it.each(closed)('let nobody pass who asks: %s', async (ask) => {
    expect(await statusOf(`ask-${all.indexOf(ask)}`)).toBe(500);
  });

  it.each(open)('are none that v4 would not have either: %s', async (ask) => {
    expect(await statusOf(`ask-${all.indexOf(ask)}`)).toBe(200);
  });

  it('end one request alone, where it names them itself', async () => {
    expect(await statusOf('sent', { 'x-uid': 'plugin::acl.rule' })).toBe(500);
    expect(await statusOf('sent', { 'x-uid': 'plugin::users-permissions.user' })).toBe(200);
  });

  it('say why', () => {
    expect(served.logged.join('')).toContain(
      'plugin::acl.rule: plugins of the project do not run here; code that is needed of them may move to src/api',
    );
    expect(served.logged.join('')).toContain('plugin::sitemap.rule: plugins from npm do not run here');
  });
});

describe('Sentry, which is not here', () => {
  it('takes what code sends to it into the log, and does not disturb the response', async () => {
    const served = await serveCode('sqlite', {
      'package.json': JSON.stringify({ dependencies: { '@strapi/plugin-sentry': '4.25.9' } }),
      'config/plugins.js': `module.exports = { sentry: { enabled: true, config: { dsn: 'https://x@sentry.example/1' } } };`,
      'src/api/own/routes/own.js': `module.exports = { routes: [{ method: 'GET', path: '/own', handler: 'own.fails', config: { auth: false } }] };`,
      'src/api/own/controllers/own.js': `module.exports = { fails(ctx) {
        const sentry = strapi.plugin('sentry').service('sentry');
        try { throw new Error('the shop is closed'); } catch (fault) {
          sentry.sendError(fault, (scope) => scope.setTag('shop', 'closed'));
          ctx.set('x-found', [sentry.getInstance(), strapi.service('plugin::sentry.sentry') === sentry, strapi.plugin('sentry').config('dsn')].join());
          return ctx.badRequest('closed');
        }
      } };`,
    });
    const { status, headers } = await served.json('GET', '/api/own');
    expect([status, headers['x-found']]).toEqual([400, ',true,https://x@sentry.example/1']);
    expect(served.logged.join('')).toMatch(/the shop is closed.*reports an error to Sentry/);
    await served.close();
  });
});

describe('what check names of the services of plugins and of the panel', () => {
  it('throws an error when it is called', async () => {
    const named = Object.entries({
      ...absentMethods,
      ...Object.fromEntries(
        Object.entries(absentServices).flatMap(([plugin, names]) => names.map((it) => [`${plugin}.${it}`, ['any']])),
      ),
    }).flatMap(([service, methods]) => methods.map((it) => [service, it]));
    const served = await serveCode('sqlite', {
      'src/api/probe/routes/probe.js': `const named = ${JSON.stringify(named)};
        const serviceOf = (name) => name.startsWith('admin.') ? strapi.service('admin::' + name.slice(6)) : strapi.service('plugin::' + name);
        module.exports = { routes: [{ method: 'GET', path: '/probe', config: { auth: false }, handler: () => named.filter(([service, method]) => {
          try { serviceOf(service)[method]({}); return true; } catch (fault) { return !/ is not available: /.test(fault.message); }
        }) }] };`,
    });
    const { status, body } = await served.json('GET', '/api/probe');
    expect([status, body]).toEqual([200, []]);
    await served.close();
  });
});

describe('controllers of v4 that nobody calls here', () => {
  it('can be wrapped, and are the same ones each time', async () => {
    const served = await serveCode('sqlite', {
      'src/index.js': `module.exports = { register({ strapi }) {
        strapi.controllers['admin::user'].find = () => 'mine';
        if (strapi.controller('admin::user').find() !== 'mine') throw new Error('not kept');
      } };`,
    });
    await served.close();
  });
});
