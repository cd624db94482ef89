/** `adopt` looks at v4 projects of several shapes, changes nothing, and says what serving them would mean. */
import fs from 'node:fs';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import Sqlite from 'better-sqlite3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type AdoptOptions, adopt, inspect } from '../../src/cli/adopt/adopt.js';
import type { AdoptReport } from '../../src/cli/adopt/report.js';
import { sync } from '../../src/cli/commands/check.js';
import { explain } from '../../src/cli/commands/explain.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { type Files, writeFiles } from '../world/schemas.js';
import {
  newV4World,
  starter,
  starterRows,
  typeScript,
  typeScriptRows,
  type V4World,
  withCode,
} from '../world/v4-projects.js';
import { dialects } from '../world/world.js';

const plain: AdoptOptions = { database: null, environment: 'development', urls: null, json: false };

const worlds: V4World[] = [];
const folders: string[] = [];
const open = async (...given: Parameters<typeof newV4World>): Promise<V4World> => {
  const world = await newV4World(...given);
  worlds.push(world);
  return world;
};
const folderWith = (files: Files): string => {
  const dir = newFolder();
  folders.push(dir);
  writeFiles(dir, files);
  return dir;
};
afterEach(async () => {
  process.exitCode = undefined;
  vi.unstubAllEnvs();
  for (const it of worlds.splice(0)) await it.drop();
  for (const it of folders.splice(0)) fs.rmSync(it, { recursive: true, force: true });
});

const codesOf = ({ obstacles }: AdoptReport): readonly string[] => obstacles.map((it) => it.code);

describe.each(dialects)('the default starter, on %s', (dialect) => {
  it('can be served: what there is, and to whom', async () => {
    const { dir } = await open(dialect, starter, starterRows);
    const report = await inspect(dir, plain);
    expect(report.obstacles).toEqual([]);
    expect(report).toMatchObject({
      ok: true,
      project: { name: 'my-project', strapi: { version: '4.25.9', from: 'package.json' }, language: 'JavaScript' },
      database: { client: dialect, from: 'config/database.js', variables: expect.arrayContaining(['DATABASE_CLIENT']) },
      hazards: [],
      schemaWarnings: [],
    });
    expect(report.content).toMatchObject({
      users: 1,
      admins: 0,
      roles: [
        { type: 'authenticated', users: 1, actions: 0 },
        { type: 'public', users: 0, actions: 3 },
      ],
      tokens: [{ name: 'front end', type: 'read-only', expires: null }],
      locales: { default: 'en', codes: ['en'] },
      zones: [{ type: 'api::dish.dish', attribute: 'blocks', components: ['food.note', 'food.allergen'] }],
    });
    expect(report.content?.types).toEqual([
      {
        uid: 'api::dish.dish',
        kind: 'collection',
        table: 'dishes',
        draftAndPublish: true,
        localized: false,
        entries: 3,
        published: 2,
        drafts: 1,
        locales: null,
      },
      {
        uid: 'api::menu.menu',
        kind: 'collection',
        table: 'menus',
        draftAndPublish: false,
        localized: false,
        entries: 1,
        published: 1,
        drafts: 0,
        locales: null,
      },
    ]);
    expect(report.content?.components).toContainEqual({
      uid: 'food.allergen',
      table: 'components_food_allergens',
      rows: 1,
      usedBy: ['api::dish.dish.allergens', 'api::dish.dish.blocks'],
    });
    const open_ = report.served?.routes.flatMap(({ path: at, methods }) =>
      methods.filter((it) => it.isPublic).map((it) => `${it.method} ${at}`),
    );
    expect(open_).toEqual(['GET /api/dishes', 'GET /api/dishes/:id']);
    expect(report.code.filter((it) => it.verdict === 'not needed')).toHaveLength(7);
    expect(report.settings.filter((it) => it.state === 'set')).toEqual([]);
    expect(report.serve).toMatchObject({ variables: [], config: null });
    expect(report.differences.map((it) => it.code)).toEqual(
      dialect === 'sqlite'
        ? ['drafts', 'lenient', 'contains', 'attempts', 'writes']
        : ['drafts', 'lenient', 'contains', 'order', 'time-zone', 'attempts', 'writes'],
    );
  });

  it('types that v4 does not serve, because no router does', async () => {
    const { 'src/api/menu/routes/menu.js': _router, ...unrouted } = starter;
    const world = await open(dialect, unrouted, starterRows);
    const { differences } = await inspect(world.dir, plain);
    expect(differences.find((it) => it.code === 'unrouted')).toMatchObject({ because: 'api::menu.menu' });
  });

  it('nothing is written: no file, no time of one, no transaction', async () => {
    const world = await open(dialect, starter, starterRows);
    const before = await world.fingerprint();
    const first = await printed(() => adopt(world.dir, plain));
    await printed(() => adopt(world.dir, { ...plain, json: true }));
    expect(await world.fingerprint()).toEqual(before);
    expect(first.said).toBe('');
    expect(process.exitCode).toBeUndefined();
  });

  it('what the start adds is what it says, and its own statements take it back', async () => {
    const world = await open(dialect, starter, starterRows);
    const indexes =
      dialect === 'sqlite'
        ? `select name from sqlite_master where type = 'index' order by name`
        : `select indexname from pg_indexes where schemaname = 'public' order by indexname`;
    const before = await world.run(indexes);
    const settings = 'select * from strapi_core_store_settings order by id';
    const settingsBefore = await world.run(settings);
    const { start } = await inspect(world.dir, plain);
    expect(start).toMatchObject({
      tables: [],
      columns: [],
      rows: [{ table: 'strapi_core_store_settings', what: expect.stringContaining('dovetail_model') }],
      journalMode: dialect === 'sqlite' ? 'wal' : null,
    });
    await printed(() => sync(world.dir, { dryRun: false, publishDrafts: [] }));
    const added = (await world.run(indexes)).flat().filter((it) => !before.flat().includes(it));
    expect(added).toEqual(start?.indexes.map((it) => it.name).sort());
    const again = await inspect(world.dir, plain);
    expect(again.start).toMatchObject({ statements: [], rows: [], journalMode: null });
    expect(again.ok).toBe(true);
    await world.run(...start!.undo);
    expect(await world.run(indexes)).toEqual(before);
    expect(await world.run(settings)).toEqual(settingsBefore);
    expect((await inspect(world.dir, plain)).start?.statements).toEqual(start?.statements);
  });

  it('the code that runs at the start is named with what the start writes, and paths as the router has them', async () => {
    const own = {
      ...starter,
      'src/index.js': `module.exports = { async bootstrap({ strapi }) { await strapi.store({}).set({ key: 'a', value: 1 }); } };`,
      'config/server.js': `module.exports = { app: { keys: ['a'] }, cron: { enabled: true, tasks: { mails: { task() {}, options: { rule: '0 9 * * *' } } } } };`,
      'src/api/dish/routes/year.js': `module.exports = { routes: [{ method: 'GET', path: '/dishes/of/:year(\\\\d+)', handler: 'dish.find' }] };`,
    };
    const { dir } = await open(dialect, own, starterRows);
    const { start, served } = await inspect(dir, plain);
    expect(start?.code).toEqual([
      { file: 'src/index.js', what: 'its register and bootstrap run' },
      { file: 'config/server.js', what: 'its cron tasks run: mails' },
    ]);
    expect(served?.own.map((it) => it.path)).toEqual([String.raw`/api/dishes/of/:year(\d+)`]);
    const { out } = await printed(() => adopt(dir, plain));
    expect(out).toContain('on a copy and beside v4 too:\n    src/index.js: its register and bootstrap run\n');
    const without = await open(
      dialect,
      { ...own, 'dovetail.config.json': { project: { runCode: false } } },
      starterRows,
    );
    expect((await inspect(without.dir, plain)).start?.code).toEqual([]);
  });

  it('for people it is text in sections, without colours when piped; for programs JSON', async () => {
    const { dir } = await open(dialect, starter, starterRows);
    const { out } = await printed(() => adopt(dir, plain));
    expect(stripVTControlCharacters(out)).toBe(out);
    const titles = ['Where things are', 'Content', 'Served', 'Not served', 'Its code', 'Hazards in the data'];
    for (const it of [...titles, 'What the first start writes', 'Serving it'])
      expect(out).toContain(`\n${it}\n`.replace(/^\n(?=Where)/, ''));
    expect(out).toMatch(/\nIt can be served\.\n$/);
    expect(out).toMatch(/api::dish\.dish +3 +2 +1\n/);
    const json = await printed(() => adopt(dir, { ...plain, json: true }));
    expect(JSON.parse(json.out)).toEqual(JSON.parse(JSON.stringify(await inspect(dir, plain))));
  });
});

describe.each(dialects)('a TypeScript project with settings for production, on %s', (dialect) => {
  it('is read as v4 would run it in that environment, and variables with names of its own are named', async () => {
    const { dir } = await open(dialect, typeScript, typeScriptRows);
    const given = fs.readFileSync(path.join(dir, '.env'), 'utf8');
    // as on a server: other names than v4's usual ones
    const renamed = given
      .replace(/DATABASE_(HOST|PORT|NAME|PASSWORD)/g, 'PG_$1')
      .replace('DATABASE_USERNAME', 'PG_USER');
    fs.writeFileSync(path.join(dir, '.env'), renamed);
    const obeyed = await inspect(dir, { ...plain, environment: 'production' });
    expect(codesOf(obeyed)).toEqual([]);
    expect(obeyed.serve).toMatchObject({ variables: [], config: null });
    expect(obeyed.serve?.beside[0]).toMatch(/^PORT=1338 NODE_ENV=production npx dovetail start/);
    writeFiles(dir, withoutCode);
    const report = await inspect(dir, { ...plain, environment: 'production' });
    expect(codesOf(report)).toEqual([]);
    expect(report).toMatchObject({
      ok: true,
      project: { language: 'TypeScript', environment: 'production', environments: ['production'] },
      database: { client: dialect, from: 'config/database.ts and config/env/production/database.ts' },
    });
    const variables = report.serve?.variables.map(({ name, value, variable }) => [name, value, variable]);
    const salt = ['API_TOKEN_SALT', null, 'TOKEN_SALT'];
    expect(variables).toEqual(
      dialect === 'sqlite'
        ? [salt]
        : [
            ['DATABASE_PORT', expect.stringMatching(/^\d+$/), 'PG_PORT'],
            ['DATABASE_NAME', expect.stringMatching(/^test_/), 'PG_NAME'],
            ['DATABASE_USERNAME', 'postgres', 'PG_USER'],
            ['DATABASE_PASSWORD', null, 'PG_PASSWORD'],
            salt,
          ],
    );
    expect(report.serve?.beside[0]).toMatch(
      /^PORT=1338 NODE_ENV=production .*API_TOKEN_SALT="\$TOKEN_SALT" npx dovetail start/,
    );
    expect(JSON.stringify(report)).not.toContain('c2FsdCBvZiB0aGUgdGVzdHM');
    expect(report.content?.types[0]?.locales).toEqual({ de: 1, en: 1 });
    expect(report.serve?.config).toEqual({
      api: { rest: { maxLimit: null } },
      cors: { origin: ['https://example.org'] },
      server: { trustProxy: true, url: 'https://cms.example.org' },
    });
    expect(report.code.find((it) => it.file === 'src/api/page/routes/page.ts')?.verdict).toBe('obeyed');
    expect(report.served?.routes.flatMap((it) => it.methods.map(({ method }) => `${method} ${it.path}`))).toEqual([
      'GET /api/pages',
      'GET /api/pages/:id',
      'POST /api/pages/:id/localizations',
    ]);
  });

  it('`__dirname` is where tsc writes the configuration, whether it has or not', async () => {
    const { dir } = await open('sqlite', typeScript, typeScriptRows);
    expect((await inspect(dir, plain)).database?.place).toBe(path.join(dir, '.tmp/data.db'));
    expect(fs.existsSync(path.join(dir, 'dist'))).toBe(false);
  });
});

/** Neither code nor configuration of v4 is run. */
const withoutCode: Files = { 'dovetail.config.json': { project: { runCode: false } } };

describe('a project with plugins, extensions and policies', () => {
  it('can be served as it stands, and nothing has to be set', async () => {
    const { dir } = await open('sqlite', withCode, starterRows);
    const report = await inspect(dir, plain);
    expect(codesOf(report)).toEqual([]);
    const verdicts = Object.fromEntries(report.code.map((it) => [it.file, it.verdict]));
    expect(verdicts).toMatchObject({
      'src/api/dish/routes/dish.js': 'runs',
      'src/api/dish/policies/is-open.js': 'runs',
      'src/api/dish/content-types/dish/lifecycles.js': 'runs',
      'src/extensions/users-permissions/strapi-server.js': 'runs',
      'src/api/dish/controllers/dish.js': 'not needed',
      'src/api/menu/handlers.ts': 'runs',
      'config/server.js': 'obeyed',
    });
    const { out } = await printed(() => adopt(dir, plain));
    expect(out).toMatch(
      /\nIt can be served\.\nThe files of its code were not run: dovetail check loads them, and names what the start refuses\.\n$/,
    );
    expect(report.settings.filter((it) => it.state === 'set')).toEqual([]);
    expect(report.served?.prefix).toBe('/v1');
    expect(report.serve).toMatchObject({ variables: [], config: null });
  });

  it('of several bounds of bodies the greatest counts, so nothing has to be set', async () => {
    const limits = { jsonLimit: '3mb', formLimit: '10mb', textLimit: '2mb' };
    const { dir } = await open(
      'sqlite',
      {
        ...withCode,
        'config/middlewares.js': `module.exports = [{ name: 'strapi::body', config: ${JSON.stringify(limits)} }];`,
      },
      starterRows,
    );
    expect((await inspect(dir, plain)).serve?.config).toBe(null);
  });

  it('routes and actions with `auth: false` are open to anyone, in whatever order their keys are', async () => {
    const { dir } = await open(
      'sqlite',
      {
        ...withCode,
        'src/api/dish/routes/02-more.js': `module.exports = { routes: [
          { handler: 'dish.list', method: 'GET', path: '/dishes/list', config: { policies: [] } },
          { config: { description: '}', auth: false }, method: 'GET', path: '/dishes/:id(\\\\d{2})/menu', handler: 'dish.menu' },
          { method: 'GET', path: '/dishes/scoped', handler: 'dish.scoped', config: { auth: { scope: ['api::dish.dish.find'] } } },
        ] };`,
        'src/api/menu/routes/menu.js': `const { factories } = require('@strapi/strapi');
module.exports = factories.createCoreRouter('api::menu.menu', { config: { find: { policies: [{ name: 'global::x', config: {} }], auth: false }, findOne: { auth: { scope: [] } } } });`,
      },
      starterRows,
    );
    const { served, code } = await inspect(dir, plain);
    expect(served?.own.map((it) => [it.path, it.isPublic])).toEqual([
      ['/v1/dishes/today', true],
      ['/v1/dishes/:id/cook', false],
      ['/v1/dishes/list', false],
      ['/v1/dishes/:id(\\d{2})/menu', true],
      ['/v1/dishes/scoped', false],
    ]);
    const routes = code.find((it) => it.file === 'src/api/dish/routes/02-more.js')?.routes;
    expect(routes?.map((it) => it.guards)).toEqual([[], [], ['auth']]);
    const menus = served?.routes.filter((it) => it.type === 'api::menu.menu').flatMap((it) => it.methods);
    expect(menus?.filter((it) => it.isPublic).map((it) => it.action)).toEqual(['api::menu.menu.find']);
    const { out } = await printed(() => adopt(dir, plain));
    expect(out).toMatch(/\/v1\/dishes\/today +GET +anyone: GET\n/);
  });

  it('what a router leaves out is not among what is served, whatever else the router says', async () => {
    const { dir } = await open(
      'sqlite',
      {
        ...withCode,
        'src/api/menu/routes/menu.js': `const { factories } = require('@strapi/strapi');
module.exports = factories.createCoreRouter('api::menu.menu', { except: ['findOne', 'delete'], config: { find: { middlewares: [(ctx, next) => next()] } } });`,
      },
      starterRows,
    );
    const { served } = await inspect(dir, plain);
    const menus = served?.routes.filter((it) => it.type === 'api::menu.menu');
    expect(menus?.map((it) => [it.path, it.methods.map(({ method }) => method)])).toEqual([
      ['/v1/menus', ['GET', 'POST']],
      ['/v1/menus/:id', ['PUT']],
    ]);
    expect(served?.notServed.map((it) => it.what)).toEqual(
      expect.arrayContaining(['api::menu.menu.findOne', 'api::menu.menu.delete']),
    );
    await expect(printed(() => explain(dir, '/v1/menus/1', { json: false }))).rejects.toThrow(
      '/v1/menus/1 is not a route that reads content',
    );
  });

  it('routes are where the prefix of their router puts them', async () => {
    const { dir } = await open(
      'sqlite',
      {
        ...withCode,
        'src/api/menu/routes/menu.js': `const { factories } = require('@strapi/strapi');
module.exports = factories.createCoreRouter('api::menu.menu', { prefix: '/kitchen' });`,
        'src/api/menu/routes/more.js': `module.exports = { prefix: '/bar', routes: [
          { method: 'GET', path: '/menus/late', handler: 'menu.late' },
        ] };`,
        'access.log': '/v1/kitchen/menus?populate=nothing\n/v1/menus\n',
      },
      starterRows,
    );
    const { served, requests } = await inspect(dir, { ...plain, urls: path.join(dir, 'access.log') });
    const menus = served?.routes.filter((it) => it.type === 'api::menu.menu');
    expect(menus?.map((it) => it.path)).toEqual(['/v1/kitchen/menus', '/v1/kitchen/menus/:id']);
    expect(served?.own.map((it) => it.path)).toContain('/v1/bar/menus/late');
    expect(requests?.refused.map((it) => it.path)).toEqual(['/v1/kitchen/menus']);
    expect(requests?.elsewhere).toHaveLength(1);
    const { out } = await printed(() => explain(dir, '/v1/kitchen/menus', { json: false }));
    expect(out).toContain('type: api::menu.menu');
  });

  it('files that may guard access stand in the way and are named; settings that would show more are too', async () => {
    const { dir } = await open('sqlite', { ...withCode, ...withoutCode }, starterRows);
    const report = await inspect(dir, plain);
    expect(codesOf(report)).toEqual(['code.guards', 'settings.exposed']);
    expect(report.obstacles[0]?.message).toContain('src/api/dish/routes/dish.js');
    const verdicts = Object.fromEntries(
      report.code.map((it) => [it.file, `${it.verdict}${it.isGuard ? ', a guard' : ''}`]),
    );
    expect(verdicts).toMatchObject({
      'src/api/dish/routes/dish.js': 'not run, a guard',
      'src/api/dish/routes/01-today.js': 'not run, a guard',
      'src/api/dish/policies/is-open.js': 'not run',
      'src/api/dish/content-types/dish/lifecycles.js': 'not run',
      'src/extensions/users-permissions/strapi-server.js': 'not run',
      'src/api/dish/controllers/dish.js': 'not needed',
      'src/api/menu/handlers.ts': 'runs',
    });
    expect(report.code.find((it) => it.file === 'src/api/dish/routes/01-today.js')?.routes).toEqual([
      { method: 'GET', path: '/dishes/today', handler: 'dish.today', guards: [], isOpen: true },
      { method: 'POST', path: '/dishes/:id/cook', handler: 'dish.cook', guards: [], isOpen: false },
    ]);
    expect(report.served?.notServed.map((it) => it.what)).toEqual(
      expect.arrayContaining(['GET /api/dishes/today', 'POST /api/dishes/:id/cook', '/graphql']),
    );
    expect(report.plugins.map((it) => [it.name, it.verdict])).toEqual([
      ['@strapi/plugin-graphql', 'not run'],
      ['@strapi/plugin-i18n', 'built in'],
      ['@strapi/plugin-users-permissions', 'built in'],
      ['@strapi/provider-upload-aws-s3', 'replaced'],
      ['@strapi/strapi', 'built in'],
      ['strapi-plugin-populate-deep', 'not run'],
    ]);
    expect(report.serve?.config).toEqual({
      api: { rest: { prefix: '/v1', maxLimit: null }, responses: { privateAttributes: ['price'] } },
      users: { jwtDays: 7, registerFields: ['nickname'] },
      upload: {
        sizeLimit: 1_000_000,
        s3: { bucket: 'dishes', region: 'eu-central-1', publicUrl: 'https://cdn.example.org', prefix: 'cms/' },
      },
      project: { ignoreCode: ['src/api/dish/routes/01-today.js', 'src/api/dish/routes/dish.js'] },
    });
    expect(report.differences.map((it) => it.code)).toContain('registration');
    expect(report.serve?.variables).toEqual([
      { name: 'JWT_SECRET', value: null, from: 'the variable AUTH_SECRET', variable: 'AUTH_SECRET' },
    ]);
  });

  it('with the configuration that it prints, it can be served, and nothing differs any more', async () => {
    const { dir } = await open('sqlite', { ...withCode, ...withoutCode }, starterRows);
    const { serve } = await inspect(dir, plain);
    writeFiles(dir, {
      'dovetail.config.json': {
        ...serve!.config,
        project: { ...(serve!.config as { project?: object }).project, runCode: false },
      },
    });
    const report = await inspect(dir, plain);
    expect(codesOf(report)).toEqual([]);
    expect(report.settings.filter((it) => it.state === 'set')).toEqual([]);
    expect(report.served?.prefix).toBe('/v1');
  });
});

describe('what cannot be served is named, with what to do', () => {
  const dependsOn = (version: string): Files => ({ 'package.json': { dependencies: { '@strapi/strapi': version } } });
  it.each([
    ['a Strapi 5 project', dependsOn('^5.1.0'), 'project.v5', /backup from before/],
    [
      'a Strapi 3 project',
      { 'package.json': { dependencies: { strapi: '3.6.8' } } },
      'project.v3',
      /Upgrade it to version 4/,
    ],
    ['another folder', { 'package.json': {}, 'notes.txt': '' }, 'project.not-v4', /package\.json, src and config/],
    [
      'a repository with the project inside',
      { 'package.json': {}, 'apps/cms/package.json': { dependencies: { '@strapi/strapi': '4.1.0' } } },
      'project.not-v4',
      /Did you mean .*apps\/cms\?/,
    ],
    [
      'MySQL',
      {
        ...starter,
        'config/database.js': `module.exports = () => ({ connection: { client: 'mysql', connection: {} } });`,
      },
      'database.unsupported',
      /strapi export/,
    ],
    [
      'a configuration that cannot be evaluated',
      { ...dependsOn('4.1.0'), 'config/database.js': `require('not-installed');` },
      'database.unknown',
      /--database/,
    ],
    ['a file that does not exist', starter, 'database.missing', /--env production/],
    [
      'a server that is not there',
      { ...starter, '.env': 'DATABASE_CLIENT=postgres\nDATABASE_HOST=127.0.0.1\nDATABASE_PORT=1\n' },
      'database.unreachable',
      /Is the server up/,
    ],
    [
      'a file that is no database',
      { ...starter, '.tmp/data.db': 'no database at all' },
      'database.unreachable',
      /--database/,
    ],
    ['an empty database', { ...starter, '.tmp/data.db': '' }, 'database.not-v4', /--database/],
    ['faulty schema files', { ...starter, 'src/components/food/note.json': '{' }, 'schema.invalid', /Mend/],
  ] as const)('%s', async (_what, files, code, cure) => {
    const dir = folderWith(files);
    const { out } = await printed(() => adopt(dir, plain));
    expect(process.exitCode).toBe(1);
    const report = await inspect(dir, plain);
    expect(report.ok).toBe(false);
    expect(codesOf(report)).toContain(code);
    expect(report.obstacles.find((it) => it.code === code)?.cure).toMatch(cure);
    expect(out).toContain(code);
  });

  it('a folder that does not exist', async () => {
    expect(codesOf(await inspect('/nowhere/at/all', plain))).toEqual(['project.missing']);
  });

  it('a database that was upgraded to Strapi 5', async () => {
    const world = await open('sqlite', starter, starterRows);
    // one column alone may be the project's own
    await world.run('alter table files add column document_id varchar(255)');
    expect(codesOf(await inspect(world.dir, plain))).toEqual([]);
    await world.run('alter table up_users add column document_id varchar(255)');
    expect(codesOf(await inspect(world.dir, plain))).toEqual(['project.v5']);
  });

  it('a damaged file, and a version that has no number', async () => {
    const world = await open('sqlite', {
      ...starter,
      'package.json': { dependencies: { '@strapi/strapi': 'workspace:*' } },
    });
    const file = path.join(world.dir, '.tmp/data.db');
    const bytes = fs.readFileSync(file);
    bytes.fill(7, 8192, bytes.length - 4096);
    fs.writeFileSync(file, bytes);
    const report = await inspect(world.dir, plain);
    expect(codesOf(report)).toEqual(['database.unreachable']);
    expect(report.obstacles[0]?.message).toMatch(/malformed/);
  });

  it('versions are read from what is installed, then from lock files', async () => {
    const lock = '"@strapi/strapi@^4.1.0":\n  version "4.15.5"\n  resolved "x"\n';
    const dir = folderWith({ ...dependsOn('^4.1.0'), 'yarn.lock': lock });
    expect((await inspect(dir, plain)).project.strapi).toEqual({ version: '4.15.5', from: 'lock file' });
    writeFiles(dir, { 'node_modules/@strapi/strapi/package.json': { version: '5.0.0' } });
    expect(codesOf(await inspect(dir, plain))).toEqual(['project.v5']);
  });
});

describe('the configuration of v4 is evaluated without the right to change anything', () => {
  it('code in it that writes fails, and what it prints or throws does no harm', async () => {
    const world = await open('sqlite', {
      ...starter,
      'config/server.js': `require('fs').writeFileSync(__dirname + '/written', 'x'); module.exports = {};`,
      'config/plugins.js': `console.log('noise'); process.stdout.write('more'); module.exports = ({ env }) => ({ upload: { config: { sizeLimit: 5 } }, own: { resolve: () => 1 } });`,
    });
    const before = await world.fingerprint();
    const report = await inspect(world.dir, plain);
    expect(await world.fingerprint()).toEqual(before);
    expect(report.settings).toContainEqual(expect.objectContaining({ name: 'upload.sizeLimit', v4: 5, state: 'same' }));
    expect(report.ok).toBe(true);
  });

  it('a file that cannot be evaluated is named, and the variables with the usual names tell the database', async () => {
    const world = await open('sqlite', {
      ...starter,
      'config/database.js': `const parse = require('pg-connection-string').parse; require('./nowhere'); module.exports = () => ({});`,
      'config/plugins.js': 'module.exports = () => { process.exit(3); };',
    });
    const report = await inspect(world.dir, plain);
    expect(report).toMatchObject({ ok: false, database: { client: 'sqlite', from: 'the environment' } });
    expect(codesOf(report)).toEqual(['config.invalid']);
    expect(report.configFaults).toEqual([
      expect.stringMatching(/^config\/database\.js: Cannot find module/),
      'config/plugins.js: calls process.exit(3), on line 1',
    ]);
    const { out } = await printed(() => adopt(world.dir, plain));
    expect(out).toContain('Configuration that cannot be evaluated');
  });

  it('secrets with which a start in production is refused are told, and stand in the way there', async () => {
    const world = await open('sqlite', {
      ...starter,
      '.env': 'JWT_SECRET=short\nAPI_TOKEN_SALT=tobemodified\n',
    });
    const reasons = 'API_TOKEN_SALT is a placeholder that everybody knows';
    const elsewhere = await inspect(world.dir, plain);
    expect(codesOf(elsewhere)).toEqual([]);
    expect(elsewhere.differences).toContainEqual(
      expect.objectContaining({ code: 'unfit-secrets', because: expect.stringContaining(reasons) as string }),
    );
    const there = await inspect(world.dir, { ...plain, environment: 'production' });
    expect(there.obstacles).toEqual([
      expect.objectContaining({ code: 'secrets.unfit', message: expect.stringContaining(reasons) as string }),
    ]);
  });

  it('no secret of it is printed: in settings, in URLs, in what code throws or prints, in what is no JSON', async () => {
    const world = await open('sqlite', {
      ...starter,
      '.env':
        'PUBLIC_URL=https://me:url-hunter2@example.com\nMAIL={"pass": json-hunter2}\nSMTP_PASSWORD=thrown-hunter2\n',
      'config/api.js': `module.exports = ({ env }) => ({ rest: { mail: env.json('MAIL') } });`,
      'config/admin.json': '{"auth": {"secret": "file-hunter2" oops}}',
      'config/server.js': `module.exports = ({ env }) => ({ url: env('PUBLIC_URL') });`,
      'config/plugins.js': `module.exports = () => ({
        'users-permissions': { config: { ratelimit: { driver: 'redis', password: 'limit-hunter2' } } },
        email: { config: { provider: 'smtp://me:mail-hunter2@localhost' } } });`,
      'config/env/development/plugins.js': `module.exports = ({ env }) => { throw new Error('cannot log in with ' + env('SMTP_PASSWORD')); };`,
    });
    fs.rmSync(path.join(world.dir, 'config/admin.js'), { force: true });
    for (const json of [true, false]) {
      const { out } = await printed(() => adopt(world.dir, { ...plain, json }));
      expect(out).not.toContain('hunter2');
      if (json) expect(out).toContain('https://…@example.com');
      expect(out).toContain('config/api.js: the variable MAIL is not JSON');
      expect(out).toContain('config/admin.json: it is not JSON');
      expect(out).toContain('cannot log in with …');
    }
  });

  it('--database takes the place of what it says', async () => {
    const world = await open('sqlite', starter, starterRows);
    const copy = path.join(newFolder(), 'copy.db');
    folders.push(path.dirname(copy));
    fs.copyFileSync(path.join(world.dir, '.tmp/data.db'), copy);
    const report = await inspect(world.dir, { ...plain, database: copy });
    expect(report).toMatchObject({ ok: true, database: { place: copy, from: '--database' } });
    expect(report.serve?.beside[0]).toContain(`DATABASE_FILENAME=${copy}`);
  });
});

describe('a SQLite file that others use', () => {
  const fileIn = ({ dir }: V4World): string => path.join(dir, '.tmp/data.db');
  const dishes = async ({ dir }: V4World): Promise<number | null | undefined> =>
    (await inspect(dir, plain)).content?.types[0]?.entries;

  it('in WAL mode, while another program writes: commits that are in the journal only are seen, and nothing is touched', async () => {
    const world = await open('sqlite', starter, starterRows);
    const other = new Sqlite(fileIn(world));
    other.pragma('journal_mode = wal');
    other.pragma('wal_autocheckpoint = 0');
    other.exec(`insert into dishes (title) values ('in the journal')`);
    other.exec(`begin; insert into dishes (title) values ('not committed')`);
    const before = await world.fingerprint();
    expect(await dishes(world)).toBe(4);
    expect(await world.fingerprint()).toEqual(before);
    other.exec('commit');
    expect(await dishes(world)).toBe(5);
    other.close();
    const closed = await world.fingerprint();
    expect(await dishes(world)).toBe(5);
    expect(await world.fingerprint()).toEqual(closed);
  });

  it('with a rollback journal, while another program is in a transaction', async () => {
    const world = await open('sqlite', starter, starterRows);
    const other = new Sqlite(fileIn(world));
    other.exec(`begin immediate; insert into dishes (title) values ('not committed')`);
    const before = await world.fingerprint();
    expect(await dishes(world)).toBe(3);
    expect(await world.fingerprint()).toEqual(before);
    // adopt holds no lock, so the commit does not wait
    other.pragma('busy_timeout = 0');
    other.exec('commit');
    other.close();
    expect(await dishes(world)).toBe(4);
  });

  it('with the journal of a program that was killed: what it had not finished is not seen, and the journal stays', async () => {
    const world = await open('sqlite', starter, starterRows);
    const file = fileIn(world);
    const other = new Sqlite(file);
    other.pragma('cache_size = 1');
    other.exec('begin');
    for (let i = 0; i < 200; i++) other.prepare('insert into dishes (title) values (?)').run('x'.repeat(250));
    // a copy of both files at this moment is what a crash leaves
    for (const ending of ['', '-journal']) fs.copyFileSync(file + ending, `${file}.crashed${ending}`);
    other.exec('rollback');
    other.close();
    for (const ending of ['', '-journal']) fs.renameSync(`${file}.crashed${ending}`, file + ending);
    expect(fs.statSync(`${file}-journal`).size).toBeGreaterThan(0);
    const before = await world.fingerprint();
    expect(await dishes(world)).toBe(3);
    expect(await world.fingerprint()).toEqual(before);
  });

  it('copies are removed from the temporary folder', async () => {
    const world = await open('sqlite', starter, starterRows);
    const temporary = newFolder();
    folders.push(temporary);
    vi.stubEnv('TMPDIR', temporary);
    new Sqlite(fileIn(world)).pragma('journal_mode = wal');
    expect(await dishes(world)).toBe(3);
    expect(fs.readdirSync(temporary)).toEqual([]);
  });
});

describe.runIf(dialects.includes('postgres'))('a PostgreSQL whose role may only read', () => {
  it('is enough', async () => {
    const world = await open('postgres', starter, starterRows);
    const role = `reader_${process.pid}_${Date.now()}`;
    await world.run(
      `create role ${role} login password 'reader'`,
      `grant select on all tables in schema public to ${role}`,
    );
    const own = fs.readFileSync(path.join(world.dir, '.env'), 'utf8');
    fs.writeFileSync(
      path.join(world.dir, '.env'),
      own
        .replace(/DATABASE_USERNAME=.*/, `DATABASE_USERNAME=${role}`)
        .replace(/DATABASE_PASSWORD=.*/, 'DATABASE_PASSWORD=reader'),
    );
    try {
      const report = await inspect(world.dir, plain);
      expect(report.obstacles).toEqual([]);
      expect(report.content?.types.map((it) => it.entries)).toEqual([3, 1]);
      await world.run(`revoke select on menus from ${role}`);
      const partial = await inspect(world.dir, plain);
      expect(codesOf(partial)).toEqual(['database.unreachable']);
      expect(partial.obstacles[0]?.message).toContain('permission denied for table menus');
      await world.run(`grant select on menus to ${role}`, 'alter table dishes drop column price');
      const lacking = await inspect(world.dir, plain);
      expect(codesOf(lacking)).toEqual(['database.not-writable']);
      expect(lacking.start?.columns).toEqual([{ table: 'dishes', column: 'price' }]);
    } finally {
      await world.run(`drop owned by ${role}`, `drop role ${role}`);
    }
  });
});
