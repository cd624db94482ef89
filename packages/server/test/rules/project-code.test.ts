/** What becomes of a v4 project's own code: it is always reported, and where it does not run, guards refuse the start. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CheckReport, check, sync } from '../../src/cli/commands/check.js';
import type { UnfitSecret } from '../../src/cli/secrets.js';
import { start } from '../../src/cli/start.js';
import { StartFault } from '../../src/cli/start-fault.js';
import {
  type CodeFile,
  describeCode,
  guardReason,
  missedCode,
  needsCode,
  refuseGuards,
  unservedActions,
  verdictOf,
} from '../../src/cli/v4project/code.js';
import { findCode } from '../../src/cli/v4project/find-code.js';
import { newServer } from '../../src/http/server.js';
import { printed } from '../world/printed.js';
import { type Files, sound, writeFiles } from '../world/schemas.js';
import { newTestDeps } from '../world/server.js';
import { dialects, useWorld } from '../world/world.js';

let dir = '';
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-code-'));
  // a start logs to the descriptor, which the runner cannot withhold
  vi.stubEnv('LOG_LEVEL', 'silent');
});
afterEach(() => {
  vi.unstubAllEnvs();
  process.exitCode = undefined;
  fs.rmSync(dir, { recursive: true });
});

const running = { runCode: true, ignoreCode: [], acceptCode: [] };
/** What becomes of the files where code does not run. */
const find = (ignoreCode: readonly string[] = []): readonly CodeFile[] =>
  findCode(dir, { ...running, runCode: false, ignoreCode: [...ignoreCode] });
const kindOf = (file: string, source: string): string | undefined => {
  writeFiles(dir, { [file]: source });
  return find().find((it) => it.file === file)?.kind;
};
const route = 'src/api/book/routes/book.js';
const routes = (config: string): string =>
  `module.exports = { routes: [{ method: 'GET', path: '/books/mine', handler: 'book.mine'${config} }] };`;
const core = (options: string): string =>
  `'use strict';\nconst { createCoreRouter } = require('@strapi/strapi').factories;\nmodule.exports = createCoreRouter('api::book.book'${options});\n`;

describe('code that v4 generated unchanged is not needed', () => {
  it.each([
    [route, `/**\n * book router\n */\n\n${core('')}`],
    [
      'src/api/book/routes/book.ts',
      `/**\n * book router\n */\nimport { factories } from '@strapi/strapi';\n\nexport default factories.createCoreRouter('api::book.book');\n`,
    ],
    [
      'src/api/book/controllers/book.js',
      `const { createCoreController } = require("@strapi/strapi").factories\nmodule.exports = createCoreController("api::book.book")`,
    ],
    [
      'src/api/book/services/book.ts',
      `import { factories } from '@strapi/strapi'\nexport default factories.createCoreService('api::book.book' as any)`,
    ],
    [
      'src/index.js',
      `'use strict';\nmodule.exports = {\n  /** register */\n  register(/*{ strapi }*/) {},\n  bootstrap(/*{ strapi }*/) {},\n};\n`,
    ],
    ['src/index.ts', 'export default {\n  register(/* { strapi } */) {},\n  bootstrap(/* { strapi } */) {},\n};\n'],
    ['config/admin.js', `module.exports = ({ env }) => ({ auth: { secret: env('ADMIN_JWT_SECRET') } });`],
    ['config/middlewares.ts', `export default ['strapi::logger', 'strapi::errors', 'strapi::public'];`],
    ['config/plugins.ts', 'export default () => ({});'],
  ])('%s', (file, source) => {
    expect(kindOf(file, source)).toBe('default');
  });
});

describe('code that is not run', () => {
  it.each([
    [
      'src/api/book/controllers/book.js',
      `module.exports = createCoreController('api::book.book', ({ strapi }) => ({ async mine(ctx) { return super.find(ctx) ?? strapi.service('api::book.book').find({ ...ctx.query, populate: { find: true } }); } }));`,
    ],
    // of no content type: nothing that is served leads to it
    ['src/api/book/controllers/mails.js', 'module.exports = { async find(ctx) {}, create: async () => {} };'],
    ['src/api/book/services/book.js', 'module.exports = {};'],
    ['src/api/book/policies/is-owner.js', ''],
    ['src/api/book/middlewares/log.ts', ''],
    [
      'src/api/book/content-types/book/lifecycles.js',
      'module.exports = { beforeCreate(event) {}, async afterDelete() {} };',
    ],
    ['src/extensions/users-permissions/strapi-server.ts', ''],
    ['src/policies/is-admin.js', ''],
    ['src/middlewares/limit.js', ''],
    ['src/index.js', 'module.exports = { bootstrap({ strapi }) { strapi.cron.add({}); } };'],
    ['config/server.js', ''],
    ['config/api.json', '{}'],
    ['config/cron-tasks.js', ''],
    ['config/env/production/server.js', ''],
    [
      'config/middlewares.js',
      `module.exports = ['strapi::logger', { name: 'strapi::cors', config: { origin: ['https://x.example'] } }];`,
    ],
    ['src/extensions/users-permissions/strapi-server.js', 'module.exports = (plugin) => plugin;'],
    ['database/migrations/1.js', ''],
    [route, routes('')],
    [route, routes(', config: { policies: [], middlewares: [ ] }')],
    [route, routes(` /* policies: ['x'] */ // auth: false\n`)],
    [
      'src/api/book/routes/book.ts',
      `export default { routes: [{ method: 'GET', path: '/a//b', handler: 'book.find' }] };`,
    ],
  ])('%s: %s', (file, source) => {
    expect(kindOf(file, source)).toBe('code');
  });

  it('files that are not code, are Dovetail’s, or belong to the admin panel are not listed', () => {
    writeFiles(dir, {
      ...sound,
      'src/api/book/handlers.ts': 'export default {};',
      'src/admin/app.js': '',
      'src/plugins/shop/admin/src/index.js': '',
      'src/plugins/shop/node_modules/x/index.js': '',
      'types/generated/components.d.ts': '',
      'src/api/book/routes/book.d.ts': '',
      'src/api/book/routes/README.md': '',
      'dovetail.config.json': '{}',
    });
    expect(find()).toEqual([]);
  });
});

describe('routes with guards', () => {
  it.each([
    [routes(`, config: { policies: ['is-owner'] }`)],
    [routes(`, config: { middlewares: ['api::book.log'] }`)],
    [routes(', config: { auth: false }')],
    [routes(`, config: { 'auth': { scope: [] } }`)],
    [routes(', config: { policies }')],
    [routes(`, config: { ["pol" + "icies"]: list, ...more }`)],
    [routes(`, about: 'http://example.org', config: { policies: ['x'] }`)],
    [core(`, { config: { find: { policies: ['is-owner'] } } }`)],
    [core(', options')],
    [core(`, { only: ['find'], prefix: '/v2' }`)],
    [core(', { only: allowed }')],
    [core(', { only }')],
    [`const guarded = require('../guarded');\nmodule.exports = guarded;`],
    [`module.exports = { routes: [guarded] };`],
    [`module.exports = { routes: [guarded('GET', '/books/mine'), lists.all] };`],
    [`const route = { method: 'GET' };\nroute['policies'] = ['x'];\nmodule.exports = { routes: [{ config: route }] };`],
    [`const named = (name) => require(name);\nmodule.exports = named('./x');`],
    [`module.exports = { routes: ['a'].map((name) => require(\`./parts/\${name}\`)) };`],
    [`import shared = require('./shared');\nexport default { routes: shared.routes };`],
  ])('%s', (source) => {
    // what the text does not decide is treated as a guard
    expect(kindOf(route, source)).toBe('guard');
  });
});

describe('controllers and services that replace an action of the content API', () => {
  const controller = 'src/api/book/controllers/book.js';
  const made = (members: string): string =>
    `module.exports = createCoreController('api::book.book', ({ strapi }) => (${members}));`;
  it.each([
    [
      controller,
      made('{ async find(ctx) { ctx.query.filters = { owner: ctx.state.user.id }; return super.find(ctx); } }'),
    ],
    [controller, made('{ findOne: async (ctx) => ctx.forbidden() }')],
    [controller, made(`{ 'delete': function (ctx) {} }`)],
    [controller, made(`{ ['update'](ctx) {} }`)],
    [controller, made('{ mine, create }')],
    [controller, made('{ ...base }')],
    [controller, `module.exports = createCoreController('api::book.book', base);`],
    [controller, `module.exports = createCoreController('api::book.book', shared.book);`],
    [controller, `module.exports = createCoreController('api::book.book', isOpen ? base : other);`],
    [controller, `exports.default = strapi_1.factories.createCoreController('api::book.book', base_1.default);`],
    [controller, `module.exports = exports = createCoreController('api::book.book', base);`],
    [controller, `const made = createCoreController('api::book.book', base);\nexport { made as default };`],
    [
      controller,
      `let base = {};\nbase = require('../base');\nmodule.exports = createCoreController('api::book.book', base);`,
    ],
    [
      'src/api/book/controllers/book.ts',
      `import base from '../base';\nexport = factories.createCoreController('api::book.book', base);`,
    ],
    [controller, `module.exports = createCoreController('api::book.book', { async find() {} });`],
    [
      'src/api/book/controllers/book.ts',
      `export default factories.createCoreController('api::book.book', ({ strapi }) => ({ async find(ctx: Context): Promise<unknown> { return null; } }));`,
    ],
    [
      'src/api/book/services/book.js',
      `module.exports = createCoreService('api::book.book', () => ({ async find(...args) { return { results: [] }; } }));`,
    ],
  ])('%s: %s', (file, source) => {
    expect(kindOf(file, source)).toBe('guard');
  });

  it('a controller that is named as a content type belongs to it, however it is made', () => {
    const source = 'module.exports = { async find(ctx) {} };';
    expect(kindOf(controller, source)).toBe('code');
    writeFiles(dir, sound);
    expect(kindOf(controller, source)).toBe('guard');
  });
});

describe('code of whatever form is read to its end', () => {
  it.each([
    [
      'names that are given by themselves',
      `let where;\nif (a) where = { ...where, a };\nstrapi.db.query('api::book.book').findMany(where);`,
    ],
    ['lists that are given by each other', `var a = b, b = a;\nstrapi.server.routes([{ config: { policies: a } }]);`],
    ['members that all objects have', `strapi.plugin('constructor').service('toString');`],
    ['long chains', `strapi${'.then(f)'.repeat(10_000)};`],
    ['long sums', `const text = ${"'a' + ".repeat(5000)}'b';`],
    ['nested lists', `const lists = ${'['.repeat(10_000)}${']'.repeat(10_000)};`],
  ])('%s', (_what, code) => {
    writeFiles(dir, { 'src/index.js': `module.exports = { register({ strapi }) {\n${code}\n} };` });
    expect(findCode(dir, running).map((it) => it.kind)).toEqual(['run']);
    expect(find()).toHaveLength(1);
  });
});

describe('lifecycles of reads and decorations of the entity service', () => {
  it.each([
    [
      'src/api/book/content-types/book/lifecycles.js',
      'module.exports = { beforeFindMany(event) { event.params.where = { owner: 1 }; } };',
    ],
    ['src/api/book/content-types/book/lifecycles.ts', 'export default { async afterFindOne({ result }) {} };'],
    [
      'src/index.js',
      'module.exports = { bootstrap({ strapi }) { strapi.db.lifecycles.subscribe({ beforeCount() {} }); } };',
    ],
    [
      'src/index.ts',
      'export default { register({ strapi }) { strapi.entityService.decorate((it) => ({ ...it })); } };',
    ],
  ])('%s: %s', (file, source) => {
    expect(kindOf(file, source)).toBe('guard');
  });
});

describe('core routers with only or except', () => {
  it.each([
    [`, { only: ['find', 'findOne'] }`, ['create', 'update', 'delete']],
    [`, { except: ["delete"] }`, ['delete']],
    [
      `, { prefix: '', only: ['find', 'create'], except: ['create'], config: {} }`,
      ['findOne', 'create', 'update', 'delete'],
    ],
    [`, { 'only': [] }`, ['find', 'findOne', 'create', 'update', 'delete']],
  ])('%s is obeyed', (options, unserved) => {
    writeFiles(dir, sound);
    expect(kindOf(route, core(options))).toBe('router');
    const code = find();
    expect(missedCode(code)).toEqual([]);
    expect(unservedActions(code)).toEqual(new Map([['api::book.book', unserved]]));
    expect(unservedActions(find([route]))).toEqual(new Map());
  });

  it('what one of several routers serves is served', () => {
    writeFiles(dir, {
      ...sound,
      'src/api/book/routes/a.js': core(`, { only: ['find'] }`),
      'src/api/book/routes/b.js': core(`, { except: ['delete'] }`),
    });
    expect(unservedActions(find())).toEqual(new Map([['api::book.book', ['delete']]]));
    // as v4 generates it
    writeFiles(dir, { 'src/api/book/routes/c.js': core('') });
    expect(unservedActions(find()).get('api::book.book')).toEqual([]);
    expect(unservedActions(find(['src/api/book/routes/c.js'])).get('api::book.book')).toEqual(['delete']);
  });

  it('those of a type that is not there are loaded, and then told of', () => {
    const kinds = (): readonly string[] => findCode(dir, running).map((it) => it.kind);
    writeFiles(dir, { [route]: core(`, { only: ['find'] }`) });
    expect(kinds()).toEqual(['run']);
    // where nothing is loaded, nothing is served either
    expect(find().map((it) => it.kind)).toEqual(['router']);
    writeFiles(dir, sound);
    expect(kinds()).toEqual(['router']);
  });
});

describe.each(dialects)('RQ4: actions without a route on %s', (dialect) => {
  const unserved = new Map([
    ['api::film.film', ['create', 'update', 'delete']],
    ['api::genre.genre', ['find', 'findOne', 'update', 'delete']],
  ]);
  const world = useWorld(dialect);

  it('reading is a 404 and writing a 405, as on any path that has no such method', async () => {
    const deps = newTestDeps(world.db, world.model);
    const app = await newServer({ ...deps, settings: { ...deps.settings, unserved } });
    try {
      const status = async (method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS', url: string) => {
        const { statusCode, headers } = await app.inject({ method, url });
        return [statusCode, headers['allow']];
      };
      expect((await status('GET', '/api/films'))[0]).toBe(200);
      expect((await status('GET', '/api/films/1'))[0]).toBe(200);
      expect(await status('POST', '/api/films')).toEqual([405, 'HEAD, GET']);
      expect(await status('PUT', '/api/films/1')).toEqual([405, 'HEAD, GET']);
      expect(await status('DELETE', '/api/films/1')).toEqual([405, 'HEAD, GET']);
      expect((await status('GET', '/api/genres'))[0]).toBe(404);
      expect((await status('GET', '/api/genres/1'))[0]).toBe(404);
      expect((await status('PUT', '/api/genres/1'))[0]).toBe(405);
      expect((await status('POST', '/api/genres'))[0]).toBe(403);
    } finally {
      await app.close();
    }
  });
});

describe('start', () => {
  const guarded: Files = {
    ...sound,
    [route]: routes(`, config: { policies: ['is-owner'] }`),
    'dovetail.config.json': '{ "project": { "runCode": false } }',
  };

  it('is refused with the file and what to do, before a database is created', async () => {
    writeFiles(dir, guarded);
    const fault = await start(dir).catch((it: unknown) => it);
    expect(fault).toBeInstanceOf(StartFault);
    expect((fault as Error).message).toContain(`  ${route}: declares policies, middlewares or auth, or `);
    expect((fault as Error).message).toContain(`project: { ignoreCode: ['${route}'] }`);
    expect(fs.existsSync(path.join(dir, '.tmp'))).toBe(false);
    expect(fs.existsSync(path.join(dir, '.env'))).toBe(false);
  });

  it.each([route, 'src/api/book', './src/api/'])('is allowed if the configuration lists the file: %s', (name) => {
    writeFiles(dir, guarded);
    expect(missedCode(find([name]))).toEqual([]);
    expect(find([name])).toEqual([{ file: route, kind: 'guard', ignored: true, absent: [] }]);
  });

  it.each([
    ['src/api/book/routes/book.json', '{"routes":[{"path":"/b","config":{"policies":["is-owner"]}}]}'],
    [
      'src/extensions/users-permissions/strapi-server.js',
      "plugin.routes['content-api'].routes.push({ policies: ['own'] });",
    ],
    ['src/index.js', "strapi.server.routes([{ path: '/i', config: { middlewares: ['own'] } }]);"],
    ['src/index.js', 'module.exports = { register({ strapi }) { strapi.server.use(async (ctx, next) => next()); } };'],
    ['config/middlewares.js', `module.exports = ['strapi::logger', 'global::closed-paths'];`],
    ['config/middlewares.js', `module.exports = [{ resolve: '../src/closed-paths' }];`],
    ['config/env/production/middlewares.ts', `export default ['api::note.closed'];`],
    [
      'src/extensions/users-permissions/strapi-server.js',
      'module.exports = (plugin) => { plugin.controllers.user.find = (ctx) => ctx.forbidden(); return plugin; };',
    ],
  ])('a guard in %s is treated like one in a route', (file, source) => {
    expect(kindOf(file, source)).toBe('guard');
  });

  it.each([
    `const c = strapi.controller('api::item.item'); const f = c.find; c.find = async (ctx) => f(ctx);`,
    `const svc = strapi.service(uid); svc.find = async (params) => ({ ...params, filters: { hidden: false } });`,
    `strapi.service(uid).find = async () => ({ results: [], pagination: {} });`,
    `const app = strapi.server.app; app.use(async (ctx) => ctx.throw(403));`,
    `const a = strapi.plugin('users-permissions').controller('auth'); a.callback = async (ctx) => ctx.badRequest('otp');`,
    `strapi.plugin('users-permissions').services.user.fetchAuthenticatedUser = async () => null;`,
    `const c = strapi.controllers; for (const k in c) c[k].find = hidden;`,
    `Object.assign(strapi.controllers[uid], { find });`,
    `strapi.contentTypes[uid].attributes.title.private = true;`,
    `strapi.contentTypes[uid].options.privateAttributes = ['title'];`,
    `strapi.config.set('api.responses.privateAttributes', ['title']);`,
    `for (const r of all) r.config = { ...r.config, policies: ['global::own'] };`,
    `strapi.server.httpServer.prependListener('request', closed);`,
  ])('what guards others is seen by any spelling: %s', (text) => {
    expect(kindOf('src/index.js', `module.exports = { register({ strapi }) { ${text} } };`)).toBe('guard');
  });

  it.each([
    `const svc = strapi.plugin('shop').service('sums'); const { total } = await svc.sum(); return total;`,
    `strapi.service('api::book.book').find({}); const found = strapi.controllers['api::book.book'];`,
    `strapi.server.app.keys; strapi.server.httpServer.on('listening', tell);`,
    `module.exports.services = { sums }; module.exports.config = { default: { auth: true } };`,
    `const config = Object.assign(config, defaults); const { privateAttributes = [] } = strapi.config.get('api.responses');`,
    `const privateAttributes = contentTypes.getPrivateAttributes(model);`,
  ])('what only uses others is none: %s', (text) => {
    expect(kindOf('src/index.js', `module.exports = { register({ strapi }) { ${text} } };`)).toBe('code');
  });

  it('a route file in JSON without guards is code', () => {
    expect(kindOf('src/api/book/routes/book.json', '{"routes":[{"path":"/b","config":{"policies":[]}}]}')).toBe('code');
  });

  it('a configured name that matches no file is refused, with the nearest one', () => {
    writeFiles(dir, guarded);
    expect(() => find(['src/api/book/routes/bok.js'])).toThrow(
      `project.ignoreCode: no code file matches "src/api/book/routes/bok.js"; did you mean "${route}"?`,
    );
  });
});

it('check lists every file, and what it means', async () => {
  writeFiles(dir, {
    ...sound,
    [route]: routes(', config: { auth: false }'),
    'src/api/author/routes/author.js': core('').replace('book.book', 'author.author'),
    'src/api/book/content-types/book/lifecycles.js': '',
    'dovetail.config.json': JSON.stringify({ project: { runCode: false, ignoreCode: ['src/api/book/content-types'] } }),
  });
  const report = JSON.parse((await printed(() => check(dir, { json: true }))).out) as CheckReport;
  expect(report.code).toEqual(find(['src/api/book/content-types']).map((it) => ({ ...it, ...verdictOf(it) })));
  expect(report.code.length).toBeGreaterThan(2);
  const { out } = await printed(() => check(dir, { json: false }));
  const [, section = ''] = out.split(/Code and configuration of v4[^\n]*\n/);
  expect(section.split('\n').slice(0, 3)).toEqual([
    expect.stringMatching(/^ {2}src\/api\/author\/routes\/author\.js: not needed/),
    expect.stringMatching(/^ {2}src\/api\/book\/content-types\/book\/lifecycles\.js: not run .*\(ignored by the conf/),
    expect.stringContaining(`  ${route}: not run, and it declares policies, middlewares or auth, or `),
  ]);
});

describe('check says what the start would refuse of the code, and runs neither register nor bootstrap', () => {
  const checked = async (files: Files): Promise<CheckReport> => {
    writeFiles(dir, { ...sound, ...files, '.env': 'DATABASE_FILENAME=data.db\n' });
    return JSON.parse((await printed(() => check(dir, { json: true }))).out) as CheckReport;
  };
  const guardedBy = (config: string): string =>
    `module.exports = { routes: [{ method: 'GET', path: '/own', handler: () => 1, config: { ${config} } }] };`;

  it('that what a route names is there no longer because the configuration leaves it out', async () => {
    const [policy, middleware, controller] = ['policies/isOwner', 'middlewares/seen', 'controllers/own'].map(
      (it) => `src/api/book/${it}.js`,
    ) as [string, string, string];
    const { refused } = await checked({
      'dovetail.config.json': JSON.stringify({ project: { ignoreCode: [policy, middleware, controller] } }),
      [policy]: 'module.exports = () => true;',
      [middleware]: 'module.exports = () => (ctx, next) => next();',
      [controller]: 'module.exports = { mine() {} };',
      'src/api/book/routes/one.js': guardedBy(`policies: ['is-owner'], middlewares: ['api::book.seen']`),
      'src/api/book/routes/two.js': `module.exports = { routes: [{ method: 'GET', path: '/two', handler: 'own.mine' }] };`,
    });
    const leftOut = (file: string): string =>
      `: project.ignoreCode leaves out ${file}, so take it out of the route too`;
    expect(refused).toEqual([
      `src/api/book/routes/one.js: the route GET /own: there is no policy "is-owner"${leftOut(policy)}`,
      `src/api/book/routes/one.js: the route GET /own: there is no middleware "api::book.seen"${leftOut(middleware)}`,
      `src/api/book/routes/two.js: the route GET /two: there is no action "api::book.own.mine"${leftOut(controller)}`,
    ]);
  });

  it('all of it at once: policies, middlewares and actions that routes name, and global middlewares', async () => {
    const files = {
      'src/api/book/routes/one.js': guardedBy(`policies: ['global::gone', { name: 'is-gone' }]`),
      'src/api/book/routes/two.js': guardedBy(`middlewares: ['global::gone', { resolve: './src/gone' }]`),
      'src/api/book/routes/three.js': routes('').replace('/books/mine', '/mine'),
      'src/middlewares/used.js': `module.exports = (config, { strapi }) => strapi.fromRegister.middleware;`,
      'config/middlewares.js': `module.exports = ['strapi::errors', 'global::used', 'global::lost', 'plugin::rest-cache.recv'];`,
      'src/index.js': `module.exports = { register() { throw new Error('registered'); }, bootstrap() { throw new Error('booted'); } };`,
    };
    const { ok, refused } = await checked(files);
    expect(refused).toEqual([
      `config/middlewares: there is no middleware "global::lost"; once all is well without it, list it in dovetail.config: project: { ignoreCode: ['global::lost'] }`,
      `config/middlewares: there is no middleware "plugin::rest-cache.recv", as plugins of others do not run here; once all is well without it, list it in dovetail.config: project: { ignoreCode: ['plugin::rest-cache.recv'] }`,
      'src/api/book/routes/one.js: the route GET /own: there is no policy "global::gone"',
      'src/api/book/routes/one.js: the route GET /own: there is no policy "is-gone"',
      'src/api/book/routes/three.js: the route GET /mine: there is no action "api::book.book.mine"',
      'src/api/book/routes/two.js: the route GET /own: there is no middleware "global::gone"',
      'src/api/book/routes/two.js: the route GET /own: there is no middleware "./src/gone"',
    ]);
    expect(ok).toBe(false);
    expect(fs.readdirSync(dir).filter((it) => it.startsWith('data.db'))).toEqual([]);
    const { out } = await printed(() => check(dir, { json: false }));
    expect(out).toContain('Of the code the start refuses');
    expect(out).toContain('  src/api/book/routes/one.js: the route GET /own: there is no policy "global::gone"\n');
  });

  it('all modules that cannot be loaded at once', async () => {
    const broken = (what: string): string => `throw new Error('${what}');`;
    const { refused } = await checked({
      'src/api/book/controllers/own.js': broken('controller'),
      [route]: broken('router'),
      'src/api/book/content-types/book/lifecycles.js': 'module.exports = 1;',
      'src/policies/broken.js': broken('policy'),
      'src/extensions/users-permissions/strapi-server.js': broken('extension'),
      'src/index.js': broken('index'),
    });
    expect(refused).toEqual([
      expect.stringMatching(/^src\/api\/book\/controllers\/own\.js:1: cannot be loaded: controller/),
      expect.stringMatching(/^src\/api\/book\/routes\/book\.js:1: cannot be loaded: router/),
      'src/api/book/content-types/book/lifecycles.js: export an object',
      expect.stringMatching(/^src\/policies\/broken\.js:1: cannot be loaded: policy/),
      expect.stringMatching(/^src\/extensions\/users-permissions\/strapi-server\.js:1: cannot be loaded: extension/),
      expect.stringMatching(/^src\/index\.js:1: cannot be loaded: index/),
    ]);
  });

  it('the file of a route that names what is not there, and a name that may be meant: one elsewhere, or one spelt alike', async () => {
    const { refused } = await checked({
      'src/policies/is-member.js': 'module.exports = () => true;',
      'src/api/book/policies/is-owner.js': 'module.exports = () => true;',
      'src/api/book/middlewares/seen.js': 'module.exports = () => (ctx, next) => next();',
      'src/api/book/controllers/own.js': 'module.exports = { mine() {} };',
      'src/api/book/routes/one.js': guardedBy(
        `policies: ['is-member', 'is-ownr', 'unlike'], middlewares: ['global::seen', 'api::book.sen']`,
      ),
      'src/api/book/routes/two.js': `module.exports = { routes: [{ method: 'GET', path: '/two', handler: 'own.mime' }] };`,
      'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
        plugin.routes['content-api'].routes.push({ method: 'GET', path: '/x', handler: () => 1, config: { policies: ['global::is-membr'] } });
        return plugin;
      };`,
    });
    const one = 'src/api/book/routes/one.js: the route GET /own: there is no';
    expect(refused).toEqual([
      `${one} policy "is-member"; did you mean "global::is-member"?`,
      `${one} policy "is-ownr"; did you mean "api::book.is-owner"?`,
      `${one} policy "unlike"`,
      `${one} middleware "global::seen"; did you mean "api::book.seen"?`,
      `${one} middleware "api::book.sen"; did you mean "api::book.seen"?`,
      'src/api/book/routes/two.js: the route GET /two: there is no action "api::book.own.mime"; did you mean "api::book.own.mine"?',
      'src/extensions/users-permissions/strapi-server.js: the route GET /x: there is no policy "global::is-membr"; did you mean "global::is-member"?',
    ]);
  });

  it('all files of config/ that cannot be evaluated at once', async () => {
    const fails = (what: string): string => `module.exports = () => { throw new Error('${what}'); };`;
    const files = { 'config/server.js': fails('no server'), 'config/env/test/plugins.js': fails('no plugins') };
    await expect(checked(files)).rejects.toThrow(
      /config\/server\.js:1: cannot be evaluated: no server\nconfig\/env\/test\/plugins\.js:1: cannot be evaluated: no plugins/,
    );
  });

  it('extensions, types that are not there, tasks and routes without a path at once', async () => {
    const { refused } = await checked({
      'src/extensions/users-permissions/strapi-server.js': `module.exports = () => { throw new Error('extended'); };`,
      'src/extensions/upload/strapi-server.js': `module.exports = () => { throw new Error('extended, too'); };`,
      'src/api/book/controllers/book.js': `module.exports = require('@strapi/strapi').factories.createCoreController('api::book.bok', {});`,
      'src/api/book/services/book.js': `module.exports = require('@strapi/strapi').factories.createCoreService('api::book.boook', {});`,
      'src/api/book/routes/own.js': `module.exports = { routes: [{ method: 'GET' }, { path: '/x' }] };`,
      'src/api/book/routes/other.js': guardedBy(`policies: ['gone']`),
      'config/server.js': `module.exports = { cron: { enabled: true, tasks: { '1 2': () => 1, '* * * * *': 1 } } };`,
    });
    expect(refused).toEqual([
      expect.stringMatching(/^src\/extensions\/upload\/strapi-server\.js:1: the extension failed: extended, too/),
      expect.stringMatching(/^src\/extensions\/users-permissions\/strapi-server\.js:1: the extension failed: extended/),
      expect.stringMatching(/^src\/api\/book\/controllers\/book\.js: createCoreController "api::book\.bok"/),
      expect.stringMatching(/^src\/api\/book\/services\/book\.js: createCoreService "api::book\.boook"/),
      expect.stringMatching(/^the rule of the cron task "1 2" cannot be read/),
      'the cron task "* * * * *" has no function',
      `src/api/book/routes/own.js: a route needs a method, a path and a handler, unlike { method: 'GET' }`,
      `src/api/book/routes/own.js: a route needs a method, a path and a handler, unlike { path: '/x' }`,
      'src/api/book/routes/other.js: the route GET /own: there is no policy "gone"',
    ]);
  });

  it('entries of config/middlewares that are none, by their places, and names that may be meant', async () => {
    const { refused } = await checked({
      'src/middlewares/used.js': 'module.exports = () => (ctx, next) => next();',
      'config/middlewares.js': `module.exports = ['strapi::errors', false, null, { config: { key: 's3cret' } }, 'used', 'global::usde'];`,
    });
    const entry = 'give a name, { name, config } or { resolve, config }, unlike';
    const cure = (name: string): string =>
      `; once all is well without it, list it in dovetail.config: project: { ignoreCode: ['${name}'] }`;
    expect(refused).toEqual([
      `config/middlewares[1]: ${entry} false`,
      `config/middlewares[2]: ${entry} null`,
      `config/middlewares[3]: ${entry} { config: [Object] }`,
      `config/middlewares: there is no middleware "used"; did you mean "global::used"?${cure('used')}`,
      `config/middlewares: there is no middleware "global::usde"; did you mean "global::used"?${cure('global::usde')}`,
    ]);
  });

  it('config/middlewares that is no list', async () => {
    const { refused } = await checked({ 'config/middlewares.js': `module.exports = { 1: 'global::used' };` });
    expect(refused).toEqual([
      `config/middlewares: give a list of names, { name, config } or { resolve, config }, unlike { '1': 'global::used' }`,
    ]);
  });

  it('a place that leads nowhere, without advice about packages; and middlewares that v4 does not have', async () => {
    const report = await checked({
      'config/middlewares.js': `module.exports = ['strapi::errors', 'strapi::nope', { resolve: './src/gone' }, { resolve: 'gone' }];`,
    });
    expect(report.refused).toEqual([
      expect.stringContaining(
        'there is no middleware "./src/gone", neither a file nor a folder with an index file, as',
      ),
      expect.stringContaining('there is no middleware "gone": install the packages of the project (npm install)'),
    ]);
    expect(report.settings.filter((it) => it.verdict === 'not supported')).toMatchObject([
      { v4Name: 'middlewares.strapi::nope', note: 'v4 has no such middleware, and does not start with it' },
    ]);
  });

  it.each<readonly [string, string, Readonly<Record<string, string>>, readonly UnfitSecret[]]>([
    ['one that is missing', 'production', { API_TOKEN_SALT: 's' }, [{ name: 'JWT_SECRET', why: 'missing' }]],
    ['an easy one', 'development', { JWT_SECRET: 'short' }, [{ name: 'JWT_SECRET', why: 'too easy to guess' }]],
    [
      'placeholders',
      'production',
      { JWT_SECRET: 'tobemodified', API_TOKEN_SALT: 'tobemodified1' },
      [
        { name: 'JWT_SECRET', why: 'a placeholder' },
        { name: 'API_TOKEN_SALT', why: 'a placeholder' },
      ],
    ],
  ])('secrets with which production does not start: %s', async (_title, environment, given, secrets) => {
    writeFiles(dir, { ...sound, '.env': 'DATABASE_FILENAME=data.db\n' });
    vi.stubEnv('NODE_ENV', environment);
    for (const [name, it] of Object.entries(given)) vi.stubEnv(name, it);
    await printed(() => sync(dir, { dryRun: false, publishDrafts: [] }));
    const report = JSON.parse((await printed(() => check(dir, { json: true }))).out) as CheckReport;
    expect(report).toMatchObject({ secrets, ok: environment !== 'production' });
    const { out } = await printed(() => check(dir, { json: false }));
    const names = secrets.map((it) => it.name).join(' and ');
    expect(out).toContain(`with which a start in production is refused:\n  ${names} `);
  });

  it.each<readonly [string, Files, RegExp]>([
    [
      'a module that cannot be loaded',
      { [route]: `throw new Error('broken');` },
      /routes\/book\.js:\d+: cannot be loaded: broken/,
    ],
    [
      'a file of a type that does not exist',
      {
        'src/api/book/controllers/book.js': `module.exports = require('@strapi/strapi').factories.createCoreController('api::book.bok', { find: () => 1 });`,
      },
      /there is no such content type/,
    ],
  ])('%s', async (_title, files, message) => {
    expect((await checked(files)).refused).toEqual([expect.stringMatching(message)]);
  });

  it('nothing where all is there', async () => {
    const { refused } = await checked({
      [route]: guardedBy(`policies: ['is-there', 'global::is-there'], middlewares: ['global::used']`),
      'src/api/book/policies/is-there.js': 'module.exports = () => true;',
      'src/policies/is-there.js': 'module.exports = { handler: () => true };',
      'src/middlewares/used.js': `module.exports = (config, { strapi }) => strapi.fromRegister.middleware;`,
      'config/middlewares.js': `module.exports = ['strapi::errors', 'global::used'];`,
    });
    expect(refused).toEqual([]);
  });
});

describe('where code runs', () => {
  const kinds = (ignoreCode: string[] = []): Readonly<Record<string, string>> =>
    Object.fromEntries(findCode(dir, { ...running, ignoreCode }).map(({ file, kind }) => [file, kind]));

  it('files of config/env are read with the NODE_ENV that their folder names', () => {
    writeFiles(dir, { 'config/env/production/server.js': '', 'config/env/development/server.js': '' });
    const described = (environment?: string) => findCode(dir, { ...running, environment }).map(describeCode);
    const read = 'its settings are read';
    const unread = 'not needed (it is read with the NODE_ENV that its folder names)';
    expect(described()).toEqual([
      `config/env/development/server.js: ${read}`,
      `config/env/production/server.js: ${unread}`,
    ]);
    expect(described('production')).toEqual([
      `config/env/development/server.js: ${unread}`,
      `config/env/production/server.js: ${read}`,
    ]);
  });

  it('each file runs, is read, is not needed or does not run', () => {
    writeFiles(dir, {
      [route]: routes(`, config: { policies: ['is-owner'] }`),
      'src/api/author/content-types/author/schema.json': '{}',
      'src/api/author/routes/author.js': core(`, { only: ['find'] }`).replace('book.book', 'author.author'),
      'src/api/author/controllers/author.js': core('').replaceAll('Router', 'Controller'),
      'src/api/book/content-types/book/lifecycles.js': '',
      'src/api/book/index.js': '',
      'src/extensions/users-permissions/strapi-server.js': '',
      'src/extensions/seo/strapi-server.js': `plugin.routes['content-api'].routes.push({ policies: ['own'] });`,
      'src/functions/tidy.js': '',
      'src/plugins/shop/server/routes/index.js': `module.exports = [{ path: '/p', config: { policies: ['own'] } }];`,
      'src/plugins/idle/server/routes/index.js': `module.exports = [{ path: '/p', config: { policies: ['own'] } }];`,
      'plugins/far/server/services/far.js': '',
      'config/plugins.js': `module.exports = { shop: { enabled: true, resolve: './src/plugins/shop' }, far: { resolve: './plugins/far/' } };`,
      'config/server.js': '',
      'database/migrations/1.js': '',
    });
    expect(kinds()).toEqual({
      [route]: 'run',
      'src/api/author/routes/author.js': 'router',
      'src/api/author/controllers/author.js': 'default',
      'src/api/book/content-types/book/lifecycles.js': 'run',
      'src/api/book/index.js': 'run',
      'src/extensions/users-permissions/strapi-server.js': 'run',
      'src/extensions/seo/strapi-server.js': 'guard',
      'src/functions/tidy.js': 'unused',
      'src/plugins/shop/server/routes/index.js': 'guard',
      'src/plugins/idle/server/routes/index.js': 'unused',
      'plugins/far/server/services/far.js': 'code',
      'config/plugins.js': 'config',
      'config/server.js': 'config',
      'database/migrations/1.js': 'code',
    });
  });

  it('what a file uses of v4 that is not here is named with its line', () => {
    const service = 'src/api/book/services/book.js';
    const panel = 'src/api/book/routes/panel.js';
    writeFiles(dir, {
      ...sound,
      [service]: `// strapi.db.connection
const knex = () => /* strapi.db.metadata
 */ strapi.db.connection;
const { webhook } = require('@strapi/strapi/lib/services/metrics');
module.exports = () => ({ a: () => strapi?.db?.connection, b: () => strapi.admin.services['project-settings'], c: () => strapi.db.query('x'), d: 'strapi.io' });
const kept = () => strapi.db.query('strapi::core-store').findMany();
`,
      'src/functions/tidy.js': 'module.exports = () => strapi.entityService.decorate(() => ({}));',
      [route]: routes(`, config: { policies: ['admin::isAuthenticatedAdmin'] }`),
      // those of the panel are not served, whatever guards them; routers of APIs are not of the panel, whatever their type
      'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => { plugin.routes.admin.routes.push({ policies: ['admin::isAuthenticatedAdmin'] }); return plugin; };`,
      [panel]: `module.exports = { type: 'admin', routes: [{ method: 'GET', path: '/x', handler: 'book.find', config: { policies: ['admin::isAuthenticatedAdmin'] } }] };`,
    });
    const uses = findCode(dir, running).filter((it) => it.absent.length > 0);
    expect(uses).toEqual([
      ...[route, panel].map((file) => ({
        file,
        kind: 'run',
        ignored: false,
        absent: [{ what: 'admin::isAuthenticatedAdmin', line: 1 }],
      })),
      {
        file: service,
        kind: 'run',
        ignored: false,
        absent: [
          { what: 'strapi.db.connection', line: 3 },
          { what: '@strapi/strapi/lib/services/metrics', line: 4 },
          { what: "strapi.admin.services['project-settings']", line: 5 },
          { what: "query('strapi::core-store')", line: 6 },
        ],
      },
      {
        file: 'src/functions/tidy.js',
        kind: 'unused',
        ignored: false,
        absent: [{ what: 'strapi.entityService.decorate', line: 1 }],
      },
    ]);
    expect(uses.map(describeCode)).toEqual([
      ...[route, panel].map(
        (file) =>
          `${file}: runs, but admin::isAuthenticatedAdmin on line 1 is a policy of v4's admin panel, which is not here: the start refuses routes that name it, so remove it there, or name a policy of the project instead`,
      ),
      `${service}: runs, but strapi.db.connection on line 3, strapi.admin.services['project-settings'] on line 5 and query('strapi::core-store') on line 6 are not here, and throw an error when used; @strapi/strapi/lib/services/metrics on line 4 is a file of Strapi's own package: without that the start is refused, and with it nothing in there knows this server`,
      'src/functions/tidy.js: not needed (it runs where other files import it; strapi.entityService.decorate on line 1 is not here, and throws an error when used)',
    ]);
    expect(findCode(dir, { ...running, runCode: false }).every((it) => it.absent.length === 0)).toBe(true);
  });

  it('members of @strapi/utils and strapi.server that are not here are named, whatever the file calls them', () => {
    const service = 'src/api/book/services/book.js';
    const usesIn = (text: string): readonly string[] => {
      writeFiles(dir, { [service]: text });
      const [found] = findCode(dir, running);
      return found!.absent.map(({ what, line }) => `${line} ${what.replace("require('@strapi/utils')", 'utils')}`);
    };
    expect(
      usesIn(`const utils = require('@strapi/utils');
const { sanitize, joinBy, env: read } = utils;
const { contentAPI } = sanitize;
module.exports = () => [joinBy('a'), read('X'), contentAPI.output(1), contentAPI.filters(1),
  utils.convertQueryParams?.transformParamsToQuery, utils.contentTypes.getOptions, utils.policy.get('x')];`),
    ).toEqual(['4 utils.sanitize.contentAPI.filters', '5 utils.convertQueryParams', '5 utils.policy.get']);
    expect(
      usesIn(`import { errors,
  traverse as walk } from '@strapi/utils';
export default () => walk.factory() ?? require('@strapi/utils').validate.contentAPI.sort;`),
    ).toEqual(['2 utils.traverse', '3 utils.validate.contentAPI.sort']);
    expect(
      usesIn(`const traverse = require('traverse');
module.exports = () => [traverse, strapi.server.listRoutes(), strapi.server.router, strapi.server.use];`),
    ).toEqual(['2 strapi.server.listRoutes', '2 strapi.server.router']);
    expect(
      usesIn(`module.exports = () => strapi.db.query('api::book.book').findMany({
  select: ['title'], groupBy: ['title'] });`),
    ).toEqual(['2 groupBy of db.query']);
  });

  it.each([
    `strapi.db.query('api::book.book').findMany({ where: { a: f(1) }, groupBy: ['title'] })`,
    `strapi.query('api::book.book').findMany({ select: ['title'], groupBy })`,
    `strapi?.db!.query<any>('api::book.book').findMany<Book>({ 'groupBy': ['title'] })`,
    `const { db } = strapi; db.query('api::book.book').count({ groupBy: 'title' })`,
    `const { query } = strapi.db; query('api::book.book').count({ ...all, groupBy: 'title' })`,
    `const books = strapi.db.query('api::book.book'); const all = await books.findMany({ groupBy: 'title' });`,
    `strapi['db'].query('api::book.book').findMany(merge(given, { groupBy: 'title' }))`,
    `const params = { groupBy: 'title' }; strapi.db.query('api::book.book').findMany(params)`,
    `const grouped = { groupBy: 'title' }; strapi.db.query('api::book.book').findMany({ ...grouped, limit: 1 })`,
  ])('groupBy is found where a query is given it: %s', (text) => {
    writeFiles(dir, { 'src/policies/said.js': `module.exports = async (ctx) => { ${text} };` });
    expect(findCode(dir, running)[0]!.absent).toEqual([{ what: 'groupBy of db.query', line: 1 }]);
  });

  it.each([
    `const cfg = { groupBy: 'kind' }; return _.groupBy(await strapi.db.query('api::book.book').findMany({}), cfg.groupBy);`,
    `const rows = await strapi.db.query('api::book.book').findMany({}); return chart.draw({ rows, groupBy: 'kind' });`,
    `const books = strapi.db.query('api::book.book'); await books.findMany({}); return own.books.draw({ groupBy: 'kind' });`,
    `strapi.db.query('api::book.book').findMany({ select: ['groupBy'] }).then((rows) => draw({ rows, groupBy: 'kind' }));`,
    `strapi.db.query('api::book.book').findMany({ where: { title: ', groupBy: ' } }); // { groupBy: 'kind' }`,
    `pool.query('select 1').then({ groupBy: 'kind' })`,
    `strapi.db.query('api::book.book').create({ data: { groupBy: 'kind' } })`,
    `strapi.db.query('api::book.book').findMany({ where: { groupBy: 'kind' } })`,
  ])('groupBy of anything else is not: %s', (text) => {
    writeFiles(dir, { 'src/policies/said.js': `module.exports = async (ctx) => { ${text} };` });
    expect(findCode(dir, running)[0]!.absent).toEqual([]);
  });

  it.each([
    `const t = await strapi.db.transaction(); await t.commit();`,
    `const { commit, rollback } = await strapi?.db!.transaction<Own>(  /* by hand */ );`,
    `const { db } = strapi; const t = await db.transaction();`,
    `const { transaction } = strapi.db; const t = await transaction();`,
    `const begin = strapi.db.transaction; const t = await begin();`,
  ])('a transaction without a function is named: %s', (text) => {
    const file = 'src/api/book/services/book.js';
    writeFiles(dir, { [file]: `module.exports = { async run() {\n  ${text} } };` });
    const code = findCode(dir, running);
    expect(code[0]!.absent).toEqual([{ what: 'strapi.db.transaction() without a function', line: 2 }]);
    expect(code.map(describeCode)).toEqual([
      `${file}: runs, but strapi.db.transaction() without a function on line 2 throws an error: give it one, strapi.db.transaction(async () => { … }), which commits at its end and rolls back if it throws`,
    ]);
  });

  it.each([
    `await strapi.db.transaction(async ({ trx }) => run());`,
    `await strapi.db.transaction(work);`,
    `const { db } = strapi; await db.transaction(work); await own.db.transaction(); await knex.transaction();`,
    `strapi.log.info('strapi.db.transaction()'); // strapi.db.transaction()`,
  ])('other transactions are not: %s', (text) => {
    writeFiles(dir, { 'src/policies/said.js': `module.exports = async (ctx) => { ${text} };` });
    expect(findCode(dir, running)[0]!.absent).toEqual([]);
  });

  it('of a plugin in a folder of the project, where its code may move is said', () => {
    writeFiles(dir, {
      'config/plugins.js': `module.exports = { own: { enabled: true, resolve: './src/plugins/own' } };`,
      'src/plugins/own/server/services/own.js': `module.exports = () => ({ sum: () => 1 });`,
    });
    expect(findCode(dir, running).map(describeCode)).toContain(
      'src/plugins/own/server/services/own.js: not run (plugins are not loaded; its code may move to src/api or src/extensions)',
    );
  });

  it('a file with a transaction by hand and other uses says of each what becomes of it', () => {
    writeFiles(dir, {
      'src/policies/said.js': `module.exports = async () => {
  const t = await strapi.db.transaction();
  await strapi.db.connection('books').transacting(t);
};`,
      'src/policies/quiet.js': `module.exports = async () => {
  try { await strapi.db.transaction(); } catch { return true; }
};`,
    });
    const given =
      ': give it one, strapi.db.transaction(async () => { … }), which commits at its end and rolls back if it';
    expect(findCode(dir, running).map(describeCode)).toEqual([
      `src/policies/quiet.js: not run, and it catches errors on line 2; strapi.db.transaction() without a function on line 2 throws an error${given} throws`,
      `src/policies/said.js: runs, but strapi.db.connection on line 3 is not here, and throws an error when used; strapi.db.transaction() without a function on line 2 throws an error${given} throws`,
    ]);
  });

  it.each([
    `strapi.log.info('use strapi.db.connection or strapi.contentAPI')`,
    `strapi.log.info(\`use strapi.db.connection, \${ctx.path} \${\`or strapi.auth, \${1}\`}\`)`,
    `ctx.path.match(/strapi.auth/)`,
    `ctx.path.replace(/\\/*$/, 'strapi.auth')`,
    `x = a / b; y = "strapi.auth / 'c'"`,
    `if (/['"\`]/.test(ctx.path)) return /strapi.auth/.test(ctx.path)`,
    `strapi.log.info("use strapi.query('webhook') or require('@strapi/strapi/lib/x')")`,
    `for (const it of [1]) /strapi.auth/.test(it)`,
    `/* strapi.auth */ x = 1 // strapi.db.connection`,
    `/** @param {Function} next, as eval('strapi.auth') */ s = 'Function' // await strapi.db.connection`,
    `strapi.log.info(['strapi.auth'][0], { 'strapi.auth': 'strapi.fs' })`,
    `const own = (db) => db.connection('books'), { db } = strapi; db.query('x')`,
    `let a = b, b = a; a.connection('books')`,
  ])('texts and regular expressions are no uses: %s', (text) => {
    writeFiles(dir, { 'src/policies/said.js': `module.exports = (ctx) => { try { ${text} } catch {} };` });
    expect(findCode(dir, running)).toMatchObject([{ kind: 'run', absent: [] }]);
  });

  it.each([
    ['strapi.db.connection', `strapi['db']['connection']`],
    ['strapi.db.connection', `strapi?.['db']?.["connection"]`],
    ['strapi.db.connection', 'strapi[`db`].connection'],
    ['strapi.db.connection', `strapi\n  .db\n  .connection`],
    ['strapi.db.connection', `const db = strapi.db; db.connection('books')`],
    ['strapi.db.connection', `const { db } = strapi; db.connection('books')`],
    ['strapi.db.connection', `const { query, connection: knex } = strapi.db; knex('books')`],
    ['strapi.entityService.clone', `const { entityService: all } = strapi; all?.clone('api::book.book', 1)`],
    ['strapi.db.connection', `strapi!.db!.connection`],
    ['strapi.db.connection', `module.exports = ({ strapi: app }) => app.db.connection`],
    ['strapi.db.connection', `const app = strapi; const { connection: knex } = app.db; knex('books')`],
    ['strapi.db.connection', `const { ...app } = strapi; app.db.connection('books')`],
    ['strapi.db.connection', `const run = ({ strapi: { db } }) => db.connection('books')`],
    ['strapi.db.connection', `const run = (all, { strapi: { db: { connection } } }) => connection('books')`],
    ['strapi.db.connection', `let db; db = strapi.db; db.connection('books')`],
    ['strapi.db.connection', `const key = 'connection'; this.strapi.db[key]('books')`],
    ['strapi.db.connection', `const { log, ...app } = strapi; const { connection: knex } = app.db; knex('books')`],
    [
      'strapi.db.connection',
      `export default ({ strapi: app }: { strapi: Strapi }) => { const { db } = app; db.connection; }`,
    ],
    [
      "strapi.plugin('upload').service('upload').replace",
      `const s = strapi; s.plugin('upload').service('upload').replace()`,
    ],
    ['strapi.auth', `strapi.log.info(\`text \${ctx.path + strapi.auth} text\`)`],
    ['strapi.auth', `strapi.log.info(\`a \${[\`b \${{ c: strapi.auth }}\`]}\`)`],
    ['strapi.auth', `s.replace(/\\/*$/, ''); strapi.auth; /* end */ x = 1`],
    ['strapi.auth', `/https?:\\/\\//.test(s); strapi.auth`],
    ['strapi.auth', `/'/.test(s); strapi.auth; s = 'x'`],
    ['strapi.auth', `if (s) /'/.test(s); strapi.auth; s = 'x'`],
    ['strapi.auth', `s = {} / 2 + f('x') / strapi.auth`],
    ['strapi.auth', `s = (a) / strapi.auth / 2`],
    ['strapi.auth', `s = a.with(1) / strapi.auth / 2`],
    ['strapi.auth', `s = a[1] / strapi.auth / 2`],
    ['strapi.auth', `s = n++ / strapi.auth / 2`],
    ['strapi.auth', `s = a.of / strapi.auth / 2`],
    // what the text does not tell
    ['strapi.auth', `{} /'/.test(s); strapi.auth; s = 'x'`],
    ['strapi.auth', `eval('strapi.auth')`],
    ['strapi.auth', `new Function('return strapi.auth')()`],
    ['strapi.auth', `require('node:vm').runInThisContext('strapi.auth')`],
    ['strapi.auth', `s = a!== b; s = c !== /'/.test(d); strapi.auth; s = 'x'`],
    ['strapi.auth', `s = <b>it's {strapi.auth}</b>`],
  ])('uses among texts and regular expressions are found: %s in %s', (what, text) => {
    writeFiles(dir, { 'src/policies/said.js': `module.exports = (ctx) => { try { ${text} } catch {} };` });
    const [found] = findCode(dir, running);
    expect([found!.kind, ...found!.absent]).toEqual(['guard', { what, line: 1 }]);
  });

  it('ctx.session is named where code uses it, unless code of the project makes one', () => {
    const [views, controller] = ['src/middlewares/views.js', 'src/api/book/controllers/book.js'];
    const uses = (): readonly string[] =>
      findCode(dir, running)
        .filter((it) => it.absent.length > 0)
        .map(describeCode);
    writeFiles(dir, {
      [views]: `module.exports = () => async (ctx, next) => {
  ctx.session.views = (ctx.session.views || 0) + 1;
  await next(); };`,
      [controller]: `module.exports = { find(ctx) { const { session } = ctx; return session; } };`,
      'src/api/book/controllers/own.js': `module.exports = { find(ctx) { const { session } = ctx.query; return [session, ctx.sessions, own.ctx.session]; } };`,
      'src/middlewares/quiet.js': `module.exports = () => (ctx, next) => { try { if (!ctx.session?.user) return ctx.forbidden(); } catch {} return next(); };`,
      // in v4 a policy has none either
      'src/policies/known.js': 'module.exports = (ctx) => !ctx.session;',
    });
    const thrown = 'is not here, and throws an error when used';
    expect(uses()).toEqual([
      `${controller}: runs, but ctx.session on line 1 ${thrown}`,
      `src/middlewares/quiet.js: not run, and it catches errors on line 1; ctx.session on line 1 ${thrown}`,
      `${views}: runs, but ctx.session on line 2 ${thrown}`,
    ]);
    const index = (register: string): void =>
      writeFiles(dir, { 'src/index.js': `module.exports = { register({ strapi }) { ${register} } };` });
    index('strapi.server.use((ctx, next) => { ctx.session = ctx.session ?? {}; return next(); });');
    expect(uses()).toHaveLength(4);
    for (const own of [
      `(ctx, next) => { ctx.session = {}; return next(); }`,
      `require('koa-session')(strapi.server.app)`,
    ]) {
      index(`strapi.server.use(${own});`);
      expect(uses()).toEqual([]);
    }
  });

  it('what may guard access and would go on without what is not here stops the start', () => {
    const quiet = `module.exports = () => strapi.db.connection.raw('x').catch(() => true);`;
    const hide = (text: string): string => `module.exports = () => async (ctx, next) => { await next(); ${text} };`;
    writeFiles(dir, {
      'src/middlewares/hide.js': hide(
        'try { ctx.body = only(ctx.body, strapi.db.metadata); } catch (e) { console.error(e); }',
      ),
      'src/policies/quiet.js': quiet,
      'src/middlewares/loud.js': hide('ctx.body = only(ctx.body, strapi.db.metadata);'),
      'src/middlewares/sound.js': hide('try { ctx.body = 1; } catch {}'),
      'src/api/book/controllers/book.js': quiet,
      'src/api/book/content-types/book/lifecycles.js': quiet,
      'src/extensions/users-permissions/strapi-server.js': quiet,
      'src/api/book/services/book.js': quiet,
      'src/index.js': `module.exports = { bootstrap({ strapi }) { strapi.db.lifecycles.subscribe({ beforeFindMany: ${quiet.slice('module.exports = '.length, -1)} }); } };`,
      'src/extensions/upload/strapi-server.js': quiet,
      'src/extensions/email/strapi-server.js': `module.exports = (plugin) => { try { plugin.routes['content-api'].routes.push({ policies: ['admin::hasPermissions'] }); } catch {} return plugin; };`,
      'src/api/book/services/loud.js': `module.exports = { find: () => strapi.db.connection.raw('x') };`,
      'src/api/book/services/sound.js': hide('try { ctx.body = 1; } catch {}'),
    });
    const code = findCode(dir, running);
    expect(Object.fromEntries(code.map((it) => [it.file, it.kind]))).toMatchObject({
      'src/middlewares/hide.js': 'guard',
      'src/policies/quiet.js': 'guard',
      'src/middlewares/loud.js': 'run',
      'src/middlewares/sound.js': 'run',
      'src/api/book/controllers/book.js': 'guard',
      'src/api/book/content-types/book/lifecycles.js': 'guard',
      'src/extensions/users-permissions/strapi-server.js': 'guard',
      'src/api/book/services/book.js': 'guard',
      'src/index.js': 'guard',
      'src/extensions/upload/strapi-server.js': 'guard',
      'src/extensions/email/strapi-server.js': 'run',
      'src/api/book/services/loud.js': 'run',
      'src/api/book/services/sound.js': 'run',
    });
    expect(() => refuseGuards(code, { runCode: true })).toThrow(
      'src/middlewares/hide.js: catches errors on line 1; strapi.db.metadata on line 1 is not here, and throws an error when used',
    );
  });

  describe('plugins that do not run here', () => {
    const given: Files = {
      'package.json': JSON.stringify({
        dependencies: {
          'strapi-plugin-sitemap': '1.0.0',
          '@strapi/plugin-sentry': '4.25.9',
          'strapi-plugin-gone': '1.0.0',
        },
      }),
      'config/plugins.js': `module.exports = ({ env }) => ({
        acl: { enabled: true, resolve: './src/plugins/acl' }, 'rest-cache': { enabled: env.bool('CACHE', true), config: { ttl: 1 } },
        // later: { enabled: true },
        gone: false, off: { enabled: false, resolve: './src/plugins/off' }, upload: { config: {} } });`,
    };
    const controller = 'src/api/book/controllers/own.js';
    const absentIn = (source: string): readonly string[] => {
      writeFiles(dir, { ...given, [controller]: source });
      return findCode(dir, running)
        .find((it) => it.file === controller)!
        .absent.map((it) => it.what);
    };

    it.each([
      [`strapi.plugin('acl').service('acl').own(user)`, [`strapi.plugin('acl')`]],
      [`strapi?.plugin("acl")?.service('acl')`, [`strapi.plugin('acl')`]],
      [`(strapi as any).plugin('acl')`, [`strapi.plugin('acl')`]],
      [`strapi.plugin('rest-cache').service('cacheStore')`, [`strapi.plugin('rest-cache')`]],
      ['strapi.plugins.acl.services.acl', [`strapi.plugins['acl']`]],
      [`strapi.plugins['rest-cache'].services.x`, [`strapi.plugins['rest-cache']`]],
      [`strapi.plugin('sitemap')`, [`strapi.plugin('sitemap')`]],
      [`strapi.plugin('content-type-builder').service('builder')`, [`strapi.plugin('content-type-builder')`]],
      [`strapi.service('plugin::acl.acl')`, ['plugin::acl.acl']],
      [`strapi.services['plugin::acl.acl']`, ['plugin::acl.acl']],
      [`strapi.entityService.findMany('plugin::acl.rule', {})`, ['plugin::acl.rule']],
      [`strapi.db.query( "plugin::acl.rule" ).count()`, ['plugin::acl.rule']],
      [`strapi.plugin('upload').service('folder').getPath()`, [`strapi.plugin('upload').service('folder')`]],
      [`strapi.service('plugin::upload.folder').getPath()`, [`strapi.plugin('upload').service('folder')`]],
      [`{ const { acl } = strapi.plugins; acl.services.acl; }`, [`strapi.plugins['acl']`]],
      [`{ const NAME = 'acl'; strapi.plugin(NAME).service('acl'); }`, [`strapi.plugin('acl')`]],
      [`strapi.plugin<any>('acl').service('acl')`, [`strapi.plugin('acl')`]],
      [`{ const RULE = 'plugin::acl.rule'; strapi.query(RULE).count(); }`, ['plugin::acl.rule']],
      [`strapi.query({ rule: 'plugin::acl.rule' }.rule).count()`, ['plugin::acl.rule']],
      [`(strapi.entityService as any).clone('api::book.book', 1)`, ['strapi.entityService.clone']],
      // services, and what those lack that are here in part
      [
        `strapi.plugins['users-permissions'].services.providers.connect()`,
        [`strapi.plugin('users-permissions').service('providers')`],
      ],
      [
        `strapi.plugins.i18n?.services?.['iso-locales'].getIsoLocales()`,
        [`strapi.plugin('i18n').service('iso-locales')`],
      ],
      [
        `strapi.services['plugin::users-permissions.permission'].findPublicPermissions()`,
        [`strapi.plugin('users-permissions').service('permission')`],
      ],
      [`strapi.service('admin::token').decodeJwtToken('')`, ['strapi.admin.services.token']],
      [`strapi.service('admin::content-type')`, [`strapi.admin.services['content-type']`]],
      [`strapi.admin.services['api-token'].getBy({})`, [`strapi.admin.services['api-token'].getBy`]],
      [
        `{ const tokens = strapi.service('admin::api-token'); await tokens.exists({}); return tokens?.hash(''); }`,
        [`strapi.admin.services['api-token'].hash`],
      ],
      [`{ const { hash, exists } = strapi.admin.services['api-token']; }`, [`strapi.admin.services['api-token'].hash`]],
      [
        `(strapi as any).plugin('upload').service('upload')\n  .replace(1)`,
        [`strapi.plugin('upload').service('upload').replace`],
      ],
      [
        `strapi.service('plugin::users-permissions.users-permissions').getActions()`,
        [`strapi.plugin('users-permissions').service('users-permissions').getActions`],
      ],
      // here, switched off, none of v4's either, or a text
      [`strapi.service('admin::user').exists({}) || strapi.admin.services.role.getSuperAdmin()`, []],
      [`{ strapi.plugin('upload').service('upload').replace = () => 1; }`, []],
      [`strapi.log.info("strapi.service('admin::token')")`, []],
      [`strapi.plugin('upload').service('upload').upload({})`, []],
      [`strapi.service('plugin::users-permissions.user').fetch(1)`, []],
      [`strapi.plugin('sentry').service('sentry').sendError(fault)`, []],
      [`strapi.plugin('graphql').service('extension')`, []],
      [`strapi.plugin('gone') ?? strapi.plugin('off') ?? strapi.plugin('later') ?? strapi.plugin('other')`, []],
      [`strapi.log.info("strapi.plugin('acl') is 'plugin::acl.acl'")`, []],
      [`ctx.uid === 'plugin::acl.rule'`, []],
      [`({ 'plugin::acl.rule': 'A rule' })[ctx.uid]`, []],
      [`strapi.log.info('not for', 'plugin::acl.rule')`, []],
      [`{ const { db, log } = strapi; const { query } = db; db.query('api::book.book'); log.info(query); }`, []],
    ])('%s', (source, expected) => {
      expect(absentIn(`module.exports = { find: async (ctx) => ${source} };`)).toEqual(expected);
    });

    it('stop the start where a controller catches what they throw, until it is accepted: then it runs', () => {
      const what = `strapi.plugin('acl') on line 1 is not here, and throws an error when used`;
      absentIn(
        `module.exports = { async find(ctx) { try { ctx.query.filters = strapi.plugin('acl').own(); } catch {} } };`,
      );
      const found = findCode(dir, running);
      expect(() => refuseGuards(found, { runCode: true })).toThrow(
        `These files of the project may restrict access, and go on where what they use is not here:
  ${controller}: catches errors on line 1; ${what}
Let such errors through, or do without what is not here. Where access does not depend on it, list the files in dovetail.config, and they run: project: { acceptCode: ['${controller}'] }`,
      );
      const accepted = findCode(dir, { ...running, acceptCode: ['./src/api/book/controllers'] });
      expect(() => refuseGuards(accepted, { runCode: true })).not.toThrow();
      expect(accepted.map(describeCode)).toContain(`${controller}: runs, but ${what}`);
      expect(() => findCode(dir, { ...running, acceptCode: ['src/api/book/controllers/owm.js'] })).toThrow(
        `project.acceptCode: no code file matches "src/api/book/controllers/owm.js"`,
      );
    });
  });

  it.each([
    `try { own(); } catch {}`,
    `return own().catch(() => true);`,
    `return own().then((it) => f(it, 1), () => true);`,
    `try { own(); } finally { return true; }`,
    `await Promise.allSettled([own()]);`,
    `_.attempt(own);`,
  ])('code that goes on after an error stops the start, in what an extension imports too: %s', (code) => {
    const [service, imported] = [
      'src/api/book/services/own.js',
      'src/extensions/users-permissions/controllers/user.js',
    ];
    const text = (body: string): string =>
      `module.exports = { async run() { const own = async () => strapi.db.connection('x'); ${body} } };`;
    const kinds = (given: Files, acceptCode: string[] = []): Readonly<Record<string, string>> => {
      writeFiles(dir, given);
      return Object.fromEntries(findCode(dir, { ...running, acceptCode }).map(({ file, kind }) => [file, kind]));
    };
    const extension = {
      'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => { require('./controllers/user'); return plugin; };`,
    };
    expect(kinds({ ...extension, [service]: text(code), [imported]: text(code) })).toMatchObject({
      [service]: 'guard',
      [imported]: 'guard',
    });
    expect(kinds({}, [service, imported])).toMatchObject({ [service]: 'run', [imported]: 'unused' });
    const through = `return own().then((it) => f(it, [1, 2])).finally(() => f({ a: 1, b: 2 }));`;
    expect(kinds({ [service]: text(through), [imported]: text(through) })).toMatchObject({
      [service]: 'run',
      [imported]: 'unused',
    });
  });

  it.each([
    ['controllers', `catch (fault) { throw fault; }`, 'run'],
    ['controllers', `catch ({ message }) { strapi.log.error(message); throw new Error(message); }`, 'run'],
    ['controllers', `catch (fault) { if (fault.code) { log(fault); }\n    ctx.throw(500, fault) }`, 'run'],
    ['controllers', `catch { return ctx.throw(404, 'no', { it: { is: 1 } }); }`, 'run'],
    // it may stand in a function that the action calls
    ['controllers', `catch { return ctx.badRequest('no'); }`, 'guard'],
    ['services', `catch (fault) { if (isOurs(fault)) throw fault; else throw other; }`, 'run'],
    ['services', `catch (fault) { if (isOurs(fault)) throw fault; else log(fault); }`, 'guard'],
    ['controllers', `catch (fault) { if (fault.code) throw fault; }`, 'guard'],
    ['controllers', `catch (fault) { if (fault.code)\n      throw fault; }`, 'guard'],
    ['controllers', `catch (fault) { if (fault.code) { throw fault; } }`, 'guard'],
    ['controllers', `catch (fault) { if (fault.code) return super.find(ctx); throw fault; }`, 'guard'],
    ['controllers', `catch (fault) { ctx.badRequest('no'); }`, 'guard'],
    ['controllers', `catch { throw 1; } try { own(); } catch {}`, 'guard'],
    ['controllers', `catch ({ message = own(1) }) { throw message; }`, 'run'],
    ['policies', `catch (fault) { throw fault; }`, 'run'],
    ['controllers', `catch (fault) {\n  strapi.log.error(fault.message)\n  throw fault\n}`, 'run'],
    ['controllers', `catch (fault) {\n  if (fault.code)\n    throw fault\n}`, 'guard'],
    ['controllers', `catch (fault) {\n  log(fault)\n  if (isOurs(fault))\n    throw fault\n}`, 'guard'],
    ['controllers', `catch (fault) {\n  if (config.strict &&\n      isFatal(fault))\n    throw fault\n}`, 'guard'],
    ['controllers', `catch (fault) {\n  for (const it of\n      list(fault))\n    throw it\n}`, 'guard'],
    ['controllers', `catch (fault) {\n  log(\n    fault,\n  )\n  throw fault\n}`, 'run'],
    ['controllers', `catch (fault) { throw fault; } finally { if (own) { own(); } return true; }`, 'guard'],
    // what is behind it has been done by then
    ['middlewares', `catch (fault) { await next(); throw fault; }`, 'guard'],
    ['policies', `catch { return false; }`, 'guard'],
  ])('code goes on after an error unless it always throws one: %s, %s', (folder, caught, expected) => {
    const file = `src/api/book/${folder}/own.js`;
    const source = `module.exports = { async run(ctx) { try { await strapi.db.connection('x'); } ${caught} } };`;
    writeFiles(dir, { [file]: source });
    expect(findCode(dir, running).find((it) => it.file === file)?.kind).toBe(expected);
  });

  it('the lines on which code goes on after errors are named, and none of those that let them through', () => {
    writeFiles(dir, {
      'src/api/book/services/own.js': `module.exports = {
  owns: () => strapi.db.connection('x'),
  parse(text) {
    try { return JSON.parse(text); } catch (fault) { throw fault; }
  },
  // one may catch what is not here
  async all(works) {
    try {
      return await works[0]();
    } catch {
      return Promise.allSettled(works);
    } finally { f(); }
  },
  none: (work) => work()
    .then((it) => it, () => null),
};`,
    });
    expect(findCode(dir, running).map(guardReason)).toEqual([
      'catches errors on lines 10, 11 and 15; strapi.db.connection on line 2 is not here, and throws an error when used',
    ]);
  });

  it('code that goes on after errors of a service or of what it imports stops the start, until it is accepted', () => {
    const knex = `module.exports = ({ strapi }) => ({ async owns() { return strapi.db.connection('x'); } });`;
    const catching = (body: string): string =>
      `${body}; module.exports = { async find(ctx) { try { await own(); } catch {} return 1; } };`;
    const guards = (given: Files, acceptCode: string[] = []): readonly string[] => {
      writeFiles(dir, given);
      const found = findCode(dir, { ...running, acceptCode });
      for (const file of Object.keys(given)) fs.rmSync(path.join(dir, file));
      return found.flatMap((it) => (it.kind === 'guard' ? [describeCode(it)] : []));
    };
    const service = 'src/api/book/services/own.js';
    const controllers = 'src/api/book/controllers';
    const said = (file: string): readonly string[] => [
      expect.stringContaining(
        `catches errors on line 1; strapi.db.connection on line 1 of ${file} is not here, and throws an error when used`,
      ) as string,
    ];
    const ofOwnApi = {
      [service]: knex,
      [`${controllers}/a.js`]: catching(`const own = () => strapi.service(NAME).owns()`),
    };
    expect(guards(ofOwnApi)).toEqual(said(service));
    for (const accepted of [service, `${controllers}/a.js`]) expect(guards(ofOwnApi, [accepted])).toEqual([]);
    const byUid = catching(`const own = () => strapi.service('api::book.own').owns()`);
    expect(guards({ [service]: knex, 'src/policies/a.js': byUid })).toEqual(said(service));
    const lib = 'src/lib/rows.js';
    const imports = catching(`const own = require('../lib/rows')`);
    expect(guards({ [lib]: knex, 'src/policies/a.js': imports })).toEqual(said(lib));
    // neither calls it, or lets the error through
    expect(guards({ [service]: knex, 'src/policies/a.js': catching(`const own = f`) })).toEqual([]);
    for (const body of [
      `const own = () => strapi.entityService.findOne('api::book.own', 1)`,
      `const own = () => strapi.service('api::book.own-other').owns()`,
      `const own = () => f({ service: 1 }, strapi.plugin('upload').service('upload'))`,
      `const own = () => f(strapi.service(\`api::\${'x'}.x\`), strapi.entityService.findMany('api::book.own'), strapi.service('api::book.other'))`,
    ])
      expect(guards({ [service]: knex, [`${controllers}/a.js`]: catching(body) })).toEqual([]);
    expect(
      guards({ [service]: knex, [`${controllers}/a.js`]: byUid.replace('{}', '(fault) { throw fault; }') }),
    ).toEqual([]);
  });

  it.each([
    ['a service that is imported by its place', `require('../api/book/services/own')`, {}],
    [
      'a service that a helper calls',
      `require('../lib/own')`,
      { 'src/lib/own.js': `() => strapi.service('api::book.own').owns()` },
    ],
    [
      'a service that another one calls',
      `strapi.service('api::book.other').owns`,
      { 'src/api/book/services/other.js': `({ strapi }) => ({ owns: () => strapi.service('api::book.own').owns() })` },
    ],
    ['a service of a type in camel case', `strapi.service('api::big-book.own')`, {}, 'src/api/bigBook/services/Own.js'],
    ['a service as one of its API', `strapi.api['book'].services.own`, {}],
    ['a service as one of its API, by its own name', `strapi.api.book.service('own')`, {}],
    ['a service that is called by another name', `((it) => it('api::book.own').owns)(strapi.service.bind(strapi))`, {}],
    [
      'a service of which another file has the uid',
      `strapi.service(require('../uids').OWN)`,
      { 'src/uids.js': `({ OWN: 'api::book.own' })` },
    ],
    ['a controller', `strapi.controller('api::book.own').owns`, {}, 'src/api/book/controllers/own.js'],
    ['the service of a core controller', `strapi.service('api::book.book')`, {}, 'src/api/book/services/book.js'],
  ])('errors of %s count too', (_what, expression, others: Files, service = 'src/api/book/services/own.js') => {
    const policy = `const own = ${expression}; module.exports = async () => { try { return await own(); } catch {} return true; };`;
    const given = {
      ...Object.fromEntries(Object.entries(others).map(([file, code]) => [file, `module.exports = ${code};`])),
      [service]: `module.exports = ({ strapi }) => ({ owns: () => strapi.db.connection('x') });`,
      'src/policies/a.js': policy,
    };
    writeFiles(dir, given);
    const found = findCode(dir, running);
    expect(found.flatMap(({ file, kind, absent }) => (kind === 'guard' ? [[file, absent[0]?.file]] : []))).toEqual([
      ['src/policies/a.js', service],
    ]);
  });

  it('a core action that goes on after an error of its service is a guard, and so is a helper of a guard that goes on', () => {
    writeFiles(dir, {
      'src/api/book/services/book.js': `module.exports = require('@strapi/strapi').factories.createCoreService('api::book.book', () => ({ find: () => strapi.db.connection('x') }));`,
      'src/api/book/controllers/book.js': `module.exports = require('@strapi/strapi').factories.createCoreController('api::book.book', () => ({
        async find(ctx) { try { return await super.find(ctx); } catch { return all(); } } }));`,
      'src/api/page/services/page.js': `module.exports = require('@strapi/strapi').factories.createCoreService('api::page.page', () => ({ find: () => strapi.db.connection('x') }));`,
      'src/api/page/controllers/page.js': `const UID = 'api::page.page'; module.exports = require('@strapi/strapi').factories.createCoreController(UID, () => ({
        async find(ctx) { try { return await super.find(ctx); } catch { return all(); } } }));`,
      'src/lib/own.js': `module.exports = async () => { try { return await strapi.db.connection('x'); } catch { return true; } };`,
      'src/lib/unused.js': `module.exports = async () => { try { return await strapi.db.connection('x'); } catch { return true; } };`,
      'src/policies/a.js': `module.exports = require('../lib/own');`,
    });
    const guards = findCode(dir, running).filter((it) => it.kind === 'guard');
    expect(guards.map((it) => it.file)).toEqual([
      'src/api/book/controllers/book.js',
      'src/api/page/controllers/page.js',
      'src/lib/own.js',
    ]);
  });

  it.each<readonly [string, string, readonly string[]]>([
    [
      'names that are given by thousands of others, in any order',
      `${Array.from({ length: 3000 }, (_, i) => `var v${3000 - i} = v${2999 - i}.a;`).join(' ')} v3000.connection`,
      [],
    ],
    [
      'objects that spread objects that spread others',
      `const a0 = { groupBy: 'x' }; ${Array.from({ length: 40 }, (_, i) => `const a${i + 1} = { ...a${i}, ...a${i} };`).join(' ')} strapi.db.query('x').count(a40)`,
      ['groupBy of db.query'],
    ],
    ['code that is put together', `eval(\`strapi.db.connection.raw(\${ctx.path})\`)`, ['strapi.db.connection']],
    ['exports of others', `} export { traverse } from '@strapi/utils'; {`, [`require('@strapi/utils').traverse`]],
    [
      'files that TypeScript requires',
      `} import own = require('@strapi/strapi/lib/own'); {`,
      ['@strapi/strapi/lib/own'],
    ],
  ])('what is not here is found among %s', (_what, text, expected) => {
    writeFiles(dir, { 'src/lib/own.ts': `{ ${text} }`, 'src/index.js': 'module.exports = { register() { f(); } };' });
    const [found] = findCode(dir, running).filter((it) => it.file === 'src/lib/own.ts');
    expect(found!.absent.map((it) => it.what)).toEqual(expected);
  });

  it('a file of a plugin that cannot be read is a guard, and so is one that imports it; migrations are not', () => {
    writeFiles(dir, {
      'config/plugins.js': `module.exports = { shop: { enabled: true, resolve: './src/plugins/shop' } };`,
      'src/plugins/shop/server/template.js': 'const name = <%= name %>;',
      'src/plugins/shop/strapi-server.js': `module.exports = require('./server/template');`,
      'database/migrations/broken.js': 'const = 1;',
    });
    expect(findCode(dir, running).map((it) => [it.file, it.kind])).toEqual([
      ['config/plugins.js', 'config'],
      ['database/migrations/broken.js', 'code'],
      ['src/plugins/shop/server/template.js', 'guard'],
      ['src/plugins/shop/strapi-server.js', 'guard'],
    ]);
    expect(() => refuseGuards(findCode(dir, running), { runCode: true })).toThrow(
      'src/plugins/shop/server/template.js: cannot be read as JavaScript or TypeScript, so it may be anything',
    );
  });

  it('a name that a file gives to a service is that of its block', () => {
    const body = (use: string): string => `const service = strapi.service('admin::user'); return ${use};`;
    const source = (first: string, second: string): string =>
      `module.exports = { one() { ${body(first)} }, other(service) { return ${second}; } };`;
    const absentIn = (text: string): number => {
      writeFiles(dir, { 'src/api/book/services/own.js': text });
      return findCode(dir, running).find((it) => it.file === 'src/api/book/services/own.js')!.absent.length;
    };
    expect([absentIn(source('service.deleteById()', '1')), absentIn(source('1', 'service.deleteById()'))]).toEqual([
      1, 0,
    ]);
    expect(absentIn(source("'service.deleteById'", '1'))).toBe(0);
  });

  it('a plugin as v4 generates it is no guard, and one that guards others is', () => {
    const server = 'src/plugins/shop/server';
    const routes = `module.exports = [{ method: 'GET', path: '/', handler: 'myController.index', config: { policies: [], auth: false } }];`;
    const index = `'use strict'; const register = require('./register'); const routes = require('./routes'); const middlewares = require('./middlewares');
      const policies = require('./policies'); module.exports = { register, config: require('./config'), controllers: {}, routes, policies, middlewares };`;
    const kinds = (): Readonly<Record<string, string>> =>
      Object.fromEntries(findCode(dir, running).map(({ file, kind }) => [file, kind]));
    writeFiles(dir, {
      'config/plugins.js': `module.exports = { shop: { enabled: true, resolve: './src/plugins/shop' } };`,
      'src/plugins/shop/strapi-server.js': `module.exports = require('./server');`,
      [`${server}/index.js`]: index,
      [`${server}/register.js`]: 'module.exports = ({ strapi }) => {};',
      [`${server}/config/index.js`]: 'module.exports = { default: {}, validator() {} };',
      [`${server}/routes/index.js`]: routes,
      [`${server}/policies/index.js`]: 'module.exports = {};',
      [`${server}/middlewares/index.ts`]: 'export default { policies: {}, middlewares: require("./own") };',
    });
    expect([
      ...new Set(Object.entries(kinds()).flatMap(([file, kind]) => (file.startsWith('src/') ? [kind] : []))),
    ]).toEqual(['code']);
    for (const guard of [`routes[0].config.policies = ['own']`, `strapi.server.use((ctx, next) => next())`]) {
      writeFiles(dir, { [`${server}/register.js`]: `module.exports = ({ strapi, routes }) => { ${guard}; };` });
      expect(kinds()).toMatchObject({
        [`${server}/register.js`]: 'guard',
        'src/plugins/shop/strapi-server.js': 'guard',
      });
    }
  });

  it('a guard that a file which is not run imports is one', () => {
    const guard = `module.exports = (strapi) => strapi.server.use((ctx, next) => (ctx.get('x-key') ? next() : ctx.forbidden()));`;
    const idle = 'module.exports = () => 1;';
    writeFiles(dir, {
      'config/plugins.js': `module.exports = { shop: { enabled: true, resolve: './src/plugins/shop' }, acl: { enabled: true, resolve: './plugins/acl' } };`,
      'src/lib/guard.js': guard,
      'src/lib/idle.js': idle,
      'src/lib/index.js': `exports.guard = require('./guard.js');`,
      'src/plugins/shop/strapi-server.js': `module.exports = { register: ({ strapi }) => require('../../lib/idle')(strapi) };`,
      'src/plugins/shop/boot.ts': `import { guard } from '../../lib';`,
      'plugins/acl/strapi-server.js': `module.exports = { register: async ({ strapi }) => (await import("./../../src/lib/guard.js")).default(strapi) };`,
      'src/extensions/documentation/strapi-server.js': `const { guard } = require('../../lib/'); module.exports = (plugin) => plugin;`,
      // the files of these two run
      'src/api/book/index.js': `module.exports = { register: ({ strapi }) => require('../../lib/guard')(strapi) };`,
      'src/index.js': `module.exports = { register: ({ strapi }) => require('./lib/guard')(strapi) };`,
    });
    const kinds = (runCode: boolean): Readonly<Record<string, string>> =>
      Object.fromEntries(findCode(dir, { ...running, runCode }).map(({ file, kind }) => [file, kind]));
    const guards = {
      'src/plugins/shop/boot.ts': 'guard',
      'plugins/acl/strapi-server.js': 'guard',
      'src/extensions/documentation/strapi-server.js': 'guard',
    };
    const others = { 'src/plugins/shop/strapi-server.js': 'code' };
    expect(kinds(true)).toMatchObject({ ...guards, ...others, 'src/api/book/index.js': 'run', 'src/index.js': 'run' });
    expect(kinds(false)).toMatchObject({
      ...guards,
      ...others,
      'src/api/book/index.js': 'guard',
      'src/index.js': 'guard',
    });
  });

  it('a middleware that is named by its file is one, wherever it is', () => {
    const global = `module.exports = [{ resolve: './src/guards/block' }, { resolve: './src/shared/', config: {} }];`;
    writeFiles(dir, {
      'config/middlewares.js': global,
      'src/api/book/routes/own.js': `module.exports = { routes: [{ method: 'GET', path: '/own', handler: 'book.own', config: { middlewares: [{ resolve: './src/guards/own.js' }] } }] };`,
      'src/guards/block.js': `module.exports = () => async (ctx, next) => { try { await blocked(strapi.db.connection); } catch {} return next(); };`,
      'src/guards/own.js': `module.exports = () => (ctx, next) => next();`,
      'src/guards/other.js': `module.exports = {};`,
      'src/shared/index.js': `module.exports = () => (ctx, next) => next();`,
    });
    const code = findCode(dir, running);
    expect(Object.fromEntries(code.map((it) => [it.file, it.kind]))).toMatchObject({
      'src/guards/block.js': 'guard',
      'src/guards/own.js': 'run',
      'src/guards/other.js': 'unused',
      'src/shared/index.js': 'run',
    });
  });

  it('files that others may import are no loss, and tests are no code', () => {
    writeFiles(dir, {
      'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => { plugin.contentTypes.user = require('./content-types/user'); return plugin; };`,
      'src/extensions/users-permissions/content-types/user/index.js': 'module.exports = {};',
      'src/api/book/content-types/book/lifecycle.js': 'module.exports = {};',
      'src/api/book/controllers/book.test.ts': `describe('books', () => undefined);`,
    });
    const described = findCode(dir, running).map(describeCode);
    for (const file of [
      'src/extensions/users-permissions/content-types/user/index.js',
      'src/api/book/content-types/book/lifecycle.js',
    ])
      expect(described).toContain(`${file}: not needed (it runs where other files import it)`);
    expect(described.join()).not.toContain('book.test.ts');
  });

  it('everything that holds code is listed, wherever it is; the admin panel is one line', () => {
    const text = 'module.exports = {};';
    writeFiles(dir, {
      'src/index.js': `module.exports = { register: () => require('./utils/deep/tidy') };`,
      'src/api/admin/routes/admin.js': routes(`, config: { policies: ['is-owner'] }`),
      'src/api/book/helpers/price.js': text,
      'src/api/book/handlers.js': 'export default {};',
      'src/extensions/users-permissions/controllers/User.js': text,
      'src/utils/deep/tidy.js': `module.exports = () => strapi.db.connection.raw('x');`,
      'src/admin/app.js': text,
      'src/admin/extensions/logo.js': text,
      'src/plugins/own/admin/src/index.js': text,
      'config/functions/bootstrap.js': text,
      'scripts/seed.js': text,
    });
    const described = findCode(dir, running).map(describeCode);
    const imported = 'not needed (it runs where other files import it';
    expect(described).toEqual([
      `config/functions/bootstrap.js: ${imported})`,
      `scripts/seed.js: ${imported})`,
      'src/admin: not needed (it belongs to the admin panel, which is left alone)',
      'src/api/admin/routes/admin.js: runs',
      `src/api/book/helpers/price.js: ${imported})`,
      `src/extensions/users-permissions/controllers/User.js: ${imported})`,
      'src/index.js: runs',
      `src/utils/deep/tidy.js: ${imported}; strapi.db.connection on line 1 is not here, and throws an error when used)`,
    ]);
  });

  it('so is what others read or run: files of plugins, at the root of the project, and for an environment', () => {
    const text = 'module.exports = {};';
    writeFiles(dir, {
      [route]: routes(''),
      ...Object.fromEntries(
        [
          ...['server.js', 'ecosystem.config.js', 'dovetail.config.js', 'helpers/price.js', 'helpers/deep/tax.js'],
          ...[
            'config/helpers/tasks.js',
            'database/seeds/first.js',
            'node_modules/x/index.js',
            'public/app.js',
            'dist/src/index.js',
          ],
        ].map((it) => [it, text]),
      ),
      'notes/readme.md': '',
      'config/sync/user-role.public.json': '{}',
      'src/extensions/documentation/config/settings.json': '{}',
      'src/extensions/documentation/documentation/1.0.0/full.json': '{}',
      'src/api/book/documentation/1.0.0/book.json': '{}',
      '.env': '',
      '.env.production': '',
      '.env.example': '',
    });
    const imported = 'not needed (it runs where other files import it)';
    const byItself = 'not needed (v4 does not load it by itself)';
    const documented =
      'not needed (the plugin documentation writes it; GET /api/openapi.json describes the API instead)';
    expect(findCode(dir, running).map(describeCode)).toEqual([
      '.env.production: not needed (it is read only if ENV_PATH names it, as in v4)',
      `config/helpers/tasks.js: ${imported}`,
      'config/sync: not run (the plugin config-sync imports it, and is not here: roles and settings are those of the database)',
      `database/seeds/first.js: ${imported}`,
      `ecosystem.config.js: ${byItself}`,
      `helpers: ${byItself}`,
      `server.js: ${byItself}`,
      `src/api/book/documentation: ${documented}`,
      `${route}: runs`,
      'src/extensions/documentation/config/settings.json: not run (plugins of v4 are not loaded)',
      `src/extensions/documentation/documentation: ${documented}`,
    ]);
  });

  it('a patch of a package of Strapi refuses the start until the configuration lists it; others do not', () => {
    const ofUsers = 'patches/@strapi+plugin-users-permissions+4.26.2.patch';
    const byText = '.yarn/patches/users.patch';
    const changes = (name: string): string =>
      `diff --git a/node_modules/${name}/index.js b/node_modules/${name}/index.js\n`;
    writeFiles(dir, {
      ...sound,
      [ofUsers]: '',
      [byText]: changes('@strapi/strapi'),
      'patches/lodash+4.17.21.patch': changes('lodash'),
      'patches/@strapi-community+strapi-provider-x+1.0.0.patch': changes('@strapi-community/strapi-provider-x'),
    });
    for (const runCode of [true, false]) {
      const code = findCode(dir, { ...running, runCode });
      expect(code.map(describeCode)).toEqual([
        `${byText}: not run, and it changes a package of Strapi, none of which runs here: a patch is not supported`,
        `${ofUsers}: not run, and it changes a package of Strapi, none of which runs here: a patch is not supported`,
        'patches/@strapi-community+strapi-provider-x+1.0.0.patch: not needed (it changes a package that is not of Strapi, wherever that is installed)',
        'patches/lodash+4.17.21.patch: not needed (it changes a package that is not of Strapi, wherever that is installed)',
      ]);
      expect(() => refuseGuards(code, { runCode })).toThrow(`ignoreCode: ['${byText}', '${ofUsers}']`);
      expect(() =>
        refuseGuards(findCode(dir, { ...running, runCode, ignoreCode: [byText, ofUsers] }), { runCode }),
      ).not.toThrow();
    }
  });

  it('a listed file does not', () => {
    writeFiles(dir, { [route]: routes(`, config: { policies: ['is-owner'] }`) });
    expect(kinds([route])).toEqual({ [route]: 'guard' });
  });

  it('nothing is loaded if all of it is as v4 generates it', () => {
    writeFiles(dir, {
      [route]: core(''),
      'config/server.js': 'module.exports = {};',
      'src/index.js': 'module.exports = {};',
    });
    expect(needsCode(findCode(dir, running))).toBe(false);
  });

  it.each([
    [
      'a guard that does not run',
      {
        'src/extensions/seo/strapi-server.js': `plugin.routes['content-api'].routes.push({ policies: [] , auth: 1 });`,
      },
      /src\/extensions\/seo\/strapi-server\.js/,
    ],
    [
      'a policy that is not there',
      { [route]: routes(`, config: { policies: ['is-owner'] }`).replace('book.mine', 'book.find') },
      /there is no policy "is-owner"/,
    ],
    [
      "a policy of v4's admin panel",
      { [route]: routes(`, config: { policies: ['admin::isAuthenticatedAdmin'] }`).replace('book.mine', 'book.find') },
      /the policy "admin::isAuthenticatedAdmin" is one of v4's admin panel, which is not here; remove it from the route, or name a policy of the project instead/,
    ],
    [
      'a module that throws',
      { [route]: `throw new Error('broken');` },
      /src\/api\/book\/routes\/book\.js:\d+: cannot be loaded: broken/,
    ],
  ])('%s refuses the start, and nothing is written', async (_what, files, message) => {
    const database = path.join(dir, 'data.db');
    writeFiles(dir, {
      ...sound,
      ...files,
      '.env':
        'DATABASE_FILENAME=data.db\nJWT_SECRET=a-long-secret-for-tests\nAPI_TOKEN_SALT=salt\nADMIN_JWT_SECRET=another-long-secret\n',
    });
    const before = fs.readdirSync(dir).sort();
    await expect(start(dir)).rejects.toThrow(message);
    // of an empty file the header that says WAL, and no table
    const size = fs.existsSync(database) ? fs.statSync(database).size : 0;
    expect(size).toBeLessThanOrEqual(4096);
    expect(
      fs
        .readdirSync(dir)
        .filter((it) => !it.startsWith('data.db'))
        .sort(),
    ).toEqual(before);
  });
});
