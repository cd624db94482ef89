/** A v4 project's own code is not run, and never without a word; routes that guard something stop the start. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findCode, missedCode } from '../../src/cli/code.js';
import { StartFault } from '../../src/cli/config.js';
import { type CheckReport, check } from '../../src/cli/database.js';
import { start } from '../../src/cli/start.js';
import { printed } from '../world/printed.js';
import { type Files, sound, writeFiles } from '../world/schemas.js';

let dir = '';
beforeEach(() => {
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-code-'));
});
afterEach(() => {
  process.exitCode = undefined;
  fs.rmSync(dir, { recursive: true });
});

const kindOf = (file: string, source: string): string | undefined => {
  writeFiles(dir, { [file]: source });
  return findCode(dir, []).find((it) => it.file === file)?.kind;
};
const route = 'src/api/book/routes/book.js';
const routes = (config: string): string =>
  `module.exports = { routes: [{ method: 'GET', path: '/books/mine', handler: 'book.mine'${config} }] };`;
const core = (options: string): string =>
  `'use strict';\nconst { createCoreRouter } = require('@strapi/strapi').factories;\nmodule.exports = createCoreRouter('api::book.book'${options});\n`;

describe('code that v4 generates is not needed', () => {
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
      `module.exports = createCoreController('api::book.book', { async find() {} });`,
    ],
    ['src/api/book/services/book.js', 'module.exports = {};'],
    ['src/api/book/policies/is-owner.js', ''],
    ['src/api/book/middlewares/log.ts', ''],
    ['src/api/book/content-types/book/lifecycles.js', ''],
    ['src/extensions/users-permissions/strapi-server.ts', ''],
    ['src/policies/is-admin.js', ''],
    ['src/middlewares/limit.js', ''],
    ['src/plugins/shop/server/services/pay.js', ''],
    ['src/index.js', 'module.exports = { bootstrap({ strapi }) { strapi.cron.add({}); } };'],
    ['config/server.js', ''],
    ['config/api.json', '{}'],
    ['config/cron-tasks.js', ''],
    ['config/env/production/server.js', ''],
    ['config/middlewares.js', `module.exports = ['strapi::logger', 'global::limit'];`],
    ['database/migrations/1.js', ''],
    [route, routes('')],
    [route, routes(', config: { policies: [], middlewares: [ ] }')],
    [route, core(`, { only: ['find'], prefix: '/v2' }`)],
    [route, routes(` /* policies: ['x'] */ // auth: false\n`)],
    [
      'src/api/book/routes/book.ts',
      `export default { routes: [{ method: 'GET', path: '/a//b', handler: 'book.find' }] };`,
    ],
  ])('%s: %s', (file, source) => {
    expect(kindOf(file, source)).toBe('code');
  });

  it('what is not code, is ours, or belongs to the administration is not listed', () => {
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
    expect(findCode(dir, [])).toEqual([]);
  });
});

describe('routes that guard something', () => {
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
    [`const guarded = require('../guarded');\nmodule.exports = guarded;`],
    [`module.exports = { routes: [guarded] };`],
  ])('%s', (source) => {
    // what cannot be told by the text counts as a guard
    expect(kindOf(route, source)).toBe('guard');
  });
});

describe('start', () => {
  const guarded: Files = { ...sound, [route]: routes(`, config: { policies: ['is-owner'] }`) };

  it('is refused, with file and cure, and before a database is made', async () => {
    writeFiles(dir, guarded);
    const fault = await start(dir).catch((it: unknown) => it);
    expect(fault).toBeInstanceOf(StartFault);
    expect((fault as Error).message).toContain(`  ${route}\n`);
    expect((fault as Error).message).toContain(`project: { ignoreCode: ['${route}'] }`);
    expect(fs.existsSync(path.join(dir, '.tmp'))).toBe(false);
    expect(fs.existsSync(path.join(dir, '.env'))).toBe(false);
  });

  it.each([route, 'src/api/book', './src/api/'])('a configuration that names it lets it be: %s', (name) => {
    writeFiles(dir, guarded);
    expect(missedCode(findCode(dir, [name]))).toEqual([]);
    expect(findCode(dir, [name])).toEqual([{ file: route, kind: 'guard', ignored: true }]);
  });

  it.each([
    ['src/api/book/routes/book.json', '{"routes":[{"path":"/b","config":{"policies":["is-owner"]}}]}'],
    [
      'src/extensions/users-permissions/strapi-server.js',
      "plugin.routes['content-api'].routes.push({ policies: ['own'] });",
    ],
    ['src/plugins/p/server/routes/index.js', "module.exports = [{ path: '/p', config: { policies: ['own'] } }];"],
    ['src/index.js', "strapi.server.routes([{ path: '/i', config: { middlewares: ['own'] } }]);"],
  ])('a guard in %s counts as one of a route', (file, source) => {
    expect(kindOf(file, source)).toBe('guard');
  });

  it('a route file in JSON without guards is code', () => {
    expect(kindOf('src/api/book/routes/book.json', '{"routes":[{"path":"/b","config":{"policies":[]}}]}')).toBe('code');
  });

  it('a name that fits no file is refused, with the nearest one', () => {
    writeFiles(dir, guarded);
    expect(() => findCode(dir, ['src/api/book/routes/bok.js'])).toThrow(
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
    'dovetail.config.json': JSON.stringify({ project: { ignoreCode: ['src/api/book/content-types'] } }),
  });
  const report = JSON.parse((await printed(() => check(dir, { json: true }))).out) as CheckReport;
  expect(report.code).toEqual(findCode(dir, ['src/api/book/content-types']));
  expect(report.code.length).toBeGreaterThan(2);
  const { out } = await printed(() => check(dir, { json: false }));
  const [, section = ''] = out.split(/Code of the project that is not run[^\n]*\n/);
  expect(section.split('\n').slice(0, 3)).toEqual([
    '  src/api/author/routes/author.js: not needed',
    '  src/api/book/content-types/book/lifecycles.js: not run (ignored by the configuration)',
    `  ${route}: not run, and it declares policies, middlewares or auth`,
  ]);
});
