/** The files of `config/` and dovetail.config: which are read, from where, and where a fault in them is. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { inspect } from '../../src/cli/adopt/adopt.js';
import { backup } from '../../src/cli/backup/backup.js';
import { check } from '../../src/cli/commands/check.js';
import { openProject, type Project } from '../../src/cli/project.js';
import { start } from '../../src/cli/start.js';
import { withSite } from '../../src/cli/with-site.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { type Files, sound, writeFiles } from '../world/schemas.js';

let dir: string;
beforeEach(() => {
  dir = newFolder();
  // a start logs to the descriptor, which the runner cannot withhold
  vi.stubEnv('LOG_LEVEL', 'silent');
  for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL', 'HOST', 'PORT', 'NODE_ENV', 'ENV_PATH'])
    vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  fs.rmSync(dir, { recursive: true, force: true });
});

const open = (files: Files): Promise<Project> => {
  writeFiles(dir, { 'package.json': { dependencies: { '@strapi/strapi': '4.25.9' } }, ...sound, ...files });
  return openProject(dir);
};
const fault = async (files: Files): Promise<string> => {
  const failed = await open(files).catch((it: unknown) => it);
  return (failed as Error).message;
};
const adopted = async () => inspect(dir, { database: null, environment: null, urls: null, json: true });

const typeScript: Files = {
  'tsconfig.json': `{
  // as v4 generates it
  "extends": "@strapi/typescript-utils/tsconfigs/server",
  "compilerOptions": { "outDir": "dist", "rootDir": ".", "paths": { "@lib/*": ["./src/lib/*"], }, },
}`,
  'src/lib/hosts.ts': `export enum Where { Here = 'source.example' }
export const host: string = Where.Here;`,
  'dist/src/lib/hosts.js': `exports.host = 'stale.example';`,
  'dist/config/server.js': `exports.default = () => ({ url: 'https://stale.example' });`,
  'config/server.ts': `import { host } from '../src/lib/hosts';
import { host as again } from '@lib/hosts';
import { env as reader } from '@strapi/utils';
export default async ({ env }) => ({
  host: reader('NOWHERE', again),
  port: env.int('MY_PORT', 1337),
  url: \`https://\${host}\`,
  webhooks: { defaultHeaders: { 'x-own': process.env.OWN_HEADER } },
});`,
  'config/database.ts': `import path from 'path';
export default () => ({ connection: { client: 'sqlite', connection: { filename: path.join(__dirname, '..', '..', 'shop.db') } } });`,
};

describe('the files of config/', () => {
  const byMode: Files = {
    'config/database.js': `module.exports = ({ env }) => ({ connection: { client: 'sqlite', connection: {
      filename: process.env.NODE_ENV + '-' + env('NODE_ENV', 'unset') + '.db' } } });`,
  };
  it.each<readonly [string, string | undefined, Files, string]>([
    ['it is not set', undefined, {}, 'development'],
    ['it is empty', '', {}, 'development'],
    ['.env says it', undefined, { '.env': 'NODE_ENV=staging' }, 'staging'],
    ['.env leaves it empty', undefined, { '.env': 'NODE_ENV=' }, 'development'],
    ['both say it', 'production', { '.env': 'NODE_ENV=staging' }, 'production'],
  ])('find NODE_ENV as v4 sets it: %s', async (_what, outside, given, mode) => {
    vi.stubEnv('NODE_ENV', outside);
    const { env } = await open({ ...byMode, ...given });
    expect([env.DATABASE_FILENAME, env.NODE_ENV]).toEqual([path.join(dir, `${mode}-${mode}.db`), mode]);
    expect((await adopted()).project.environment).toBe(mode);
  });

  it('in TypeScript run from source, with aliases, enums and v4’s __dirname, whatever tsc has left in dist', async () => {
    const { env, config } = await open({ ...typeScript, '.env': 'OWN_HEADER=of mine\nMY_PORT=4000\n' });
    expect([env.HOST, env.PORT, env.DATABASE_FILENAME]).toEqual(['source.example', 4000, path.join(dir, 'shop.db')]);
    expect(config.server.url).toBe('https://source.example');
    expect(config.webhooks.defaultHeaders).toEqual({ 'x-own': 'of mine' });
    expect(process.env['OWN_HEADER']).toBeUndefined();
    const { settings, configFaults } = await adopted();
    expect(configFaults).toEqual([]);
    expect(settings.find((it) => it.name === 'server.url')).toMatchObject({
      v4: 'https://source.example',
      state: 'same',
    });
  });

  describe('in TypeScript follow `paths`', () => {
    const configOf = (imports: string): Files => ({
      'config/database.ts': `export default () => ({ connection: { client: 'sqlite', connection: { filename: 'x.db' } } });`,
      'config/server.ts': `${imports}\nexport default () => ({ host });`,
    });
    const hostOf = async (paths: object, imports: string, files: Files = {}): Promise<unknown> => {
      const given = { 'tsconfig.json': { compilerOptions: { paths } }, ...configOf(imports), ...files };
      const { env } = await open(given);
      expect((await adopted()).configFaults).toEqual([]);
      return env.HOST;
    };
    const utils: Files = {
      'src/utils/index.ts': `export const host: string = 'utils.example';`,
      'src/utils/deep.ts': `export const host: string = 'deep.example';`,
      'src/deep/more.ts': `export const host: string = 'more.example';`,
      'node_modules/~utils/deep.js': `exports.host = 'package.example';`,
      'node_modules/~utilsmore/index.js': `exports.host = 'longer.example';`,
      'node_modules/typed/index.js': `exports.host = 'typed.example';`,
      'types/typed.d.ts': 'export const host: string;',
    };
    const exact = { '~utils': ['src/utils/index.ts'] };

    it.each<readonly [string, object, string, string]>([
      ['an exact name', exact, '~utils', 'utils.example'],
      ['an exact name of a folder', { '~utils': ['./src/utils'] }, '~utils', 'utils.example'],
      ['what is below an exact name is not meant', exact, '~utils/deep', 'package.example'],
      ['what begins with an exact name is not meant', exact, '~utilsmore', 'longer.example'],
      ['an exact name beside its folder', { ...exact, '~utils/*': ['src/deep/*'] }, '~utils/more', 'more.example'],
      [
        'an exact name in a folder',
        { '@/*': ['src/*'], '@/utils': ['src/deep/more.ts'] },
        '@/utils/deep',
        'deep.example',
      ],
      ['a name in that folder', { '@/*': ['src/*'], '@/utils': ['src/deep/more.ts'] }, '@/utils', 'more.example'],
      ['types of a package are not the package', { typed: ['./types/typed.d.ts'] }, 'typed', 'typed.example'],
      [
        'a place that is not there is left to packages',
        { typed: ['../gone/src', 'gone.ts'] },
        'typed',
        'typed.example',
      ],
      ['the first place that is there', { typed: ['gone', 'src/utils'] }, 'typed', 'utils.example'],
      ['types without their extension neither', { typed: ['./types/typed'] }, 'typed', 'typed.example'],
    ])('%s', async (_what, paths, name, host) => {
      expect(await hostOf(paths, `import { host } from '${name}';`, utils)).toBe(host);
    });

    it('of what tsconfig.json extends by relative paths, as seen from there', async () => {
      const files: Files = {
        'tsconfig.json': { extends: ['@strapi/typescript-utils/tsconfigs/server', './ts/first', './ts/second.json'] },
        'ts/first.json': { compilerOptions: { baseUrl: '.', outDir: '../built', paths: { '~gone': ['gone'] } } },
        // a file that extends itself ends there
        'ts/second.json': { extends: '../ts/base', compilerOptions: { baseUrl: '..' } },
        'ts/base.json': {
          extends: './second.json',
          compilerOptions: { outDir: '../built/server', paths: { '~utils': ['src/utils'] } },
        },
        ...utils,
      };
      expect(await hostOf({}, `import { host } from '~utils';`, files)).toBe('utils.example');
      const place = `const host = __dirname;`;
      expect(await hostOf({}, place, files)).toBe(path.join(dir, 'built/server/config'));
      const below = { ...files, 'tsconfig.json': { extends: './ts/own.json' } };
      const own = { 'ts/own.json': { compilerOptions: { paths: { '~utils': ['../src/utils/deep'] } } } };
      expect(await hostOf({}, `import { host } from '~utils';`, { ...below, ...own })).toBe('deep.example');
    });

    it('of packages that it extends', async () => {
      const files: Files = {
        'tsconfig.json': { extends: ['@acme/tsconfig', '@acme/tsconfig/paths'] },
        'node_modules/@acme/tsconfig/package.json': { main: 'index.js' },
        'node_modules/@acme/tsconfig/index.js': '',
        'node_modules/@acme/tsconfig/tsconfig.json': `{ "compilerOptions": { "outDir": /* "x" // */ "../../../built" } }`,
        'node_modules/@acme/tsconfig/paths.json': { compilerOptions: { paths: { '~utils': ['../../../src/utils'] } } },
        ...utils,
      };
      expect(await hostOf({}, `import { host } from '~utils';`, files)).toBe('utils.example');
      expect(await hostOf({}, `const host = __dirname;`, files)).toBe(path.join(dir, 'built/config'));
    });

    it.each<readonly [string, string, string]>([
      ['@*', '@utils', '"@*" in compilerOptions.paths of tsconfig.json is not followed here'],
      ['*', 'utils', 'is not followed here; exact names and folders are, such as "@lib/*". Or install the packages'],
      ['@*', 'utils', "Cannot find module 'utils': install the packages of the project (npm install)"],
    ])('and name a pattern that is not followed: %s for %s', async (pattern, name, expected) => {
      const said = await fault({
        'tsconfig.json': { compilerOptions: { paths: { [pattern]: ['src/*'] } } },
        ...configOf(`import { host } from '${name}';`),
      });
      expect(said).toContain(expected);
    });
  });

  it('read .env, or what ENV_PATH names', async () => {
    vi.stubEnv('ENV_PATH', '.env.staging');
    const server = `module.exports = ({ env }) => ({ port: env.int('MY_PORT', 1), host: process.env.MY_HOST });`;
    const files = {
      '.env': 'MY_PORT=2',
      '.env.staging': 'MY_PORT=3\nMY_HOST=staging.example',
      'config/server.js': server,
    };
    const { env } = await open(files);
    expect([env.PORT, env.HOST]).toEqual([3, 'staging.example']);
  });

  it.each<readonly [string, Files, RegExp]>([
    [
      'a function that throws',
      { 'config/server.js': `\nmodule.exports = ({ env }) => ({\n  host: nothing.there,\n});` },
      /^config\/server\.js:3: cannot be evaluated: nothing is not defined$/,
    ],
    [
      'TypeScript that throws',
      { ...typeScript, 'config/server.ts': `type A = string;\n\nconst a: A = missing.name;\nexport default {};` },
      /^config\/server\.ts:3: cannot be loaded: missing is not defined$/,
    ],
    [
      'TypeScript that cannot be read',
      { ...typeScript, 'config/server.ts': `export default ({ env }) => ({\n  host: env('HOST',,),\n});` },
      /^config\/server\.ts:2: cannot be loaded: /,
    ],
    [
      'JavaScript that cannot be read',
      { 'config/server.js': `module.exports = ({ env }) => ({\n  host: env('HOST',,),\n});` },
      /^config\/server\.js:2: cannot be loaded: /,
    ],
    [
      'a module that they import',
      {
        'config/server.js': `module.exports = require('../src/own');`,
        'src/own.js': `\n\nthrow new Error('no host');`,
      },
      /^config\/server\.js: cannot be loaded: no host \(src\/own\.js:3\)$/,
    ],
    [
      'a package that is not installed',
      { 'config/server.js': `const { parse } = require('no-such-package');\nmodule.exports = {};` },
      /^config\/server\.js:1: cannot be loaded: Cannot find module 'no-such-package': install the packages of the project \(npm install\)$/,
    ],
    [
      'the end of the process',
      { 'config/server.js': `module.exports = ({ env }) => {\n  if (!env('KEY')) process.exit(1);\n};` },
      /^config\/server\.js:2: cannot be evaluated: calls process\.exit\(1\)$/,
    ],
  ])('a fault in them is named with its file and line: %s', async (_what, files, expected) => {
    const { stackTraceLimit } = Error;
    // as where commands load them, whose own frames leave less room
    Error.stackTraceLimit = 5;
    try {
      expect(await fault(files)).toMatch(expected);
      expect(Error.stackTraceLimit).toBe(5);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  });

  it('that end or kill the process do not hide the others from adopt', async () => {
    writeFiles(dir, {
      'package.json': { dependencies: { '@strapi/strapi': '4.25.9' } },
      ...sound,
      'config/api.js': `module.exports = { rest: { maxLimit: 7 } };`,
      'config/database.js': `process.kill(process.pid, 'SIGKILL');`,
      'config/plugins.js': `module.exports = () => {\n  process.exit(3);\n};`,
      'config/server.js': `module.exports = { url: 'https://shop.example' };`,
    });
    const { configFaults, settings } = await adopted();
    expect(configFaults).toEqual([
      expect.stringMatching(/^config\/database\.js: its evaluation ended with /),
      'config/plugins.js: calls process.exit(3), on line 2',
    ]);
    expect(settings.map((it) => [it.name, it.v4])).toEqual([
      ['api.rest.maxLimit', 7],
      ['server.url', 'https://shop.example'],
    ]);
  });
});

describe('settings that refuse the start', () => {
  const middlewares = `module.exports = [
    { name: 'strapi::cors', config: { origin: { shop: true } } },
    { name: 'strapi::ip', config: { whitelist: ['10.0.0.1'] } },
  ];`;
  it('stand in the way for adopt too, unless dovetail.config says otherwise', async () => {
    writeFiles(dir, { 'package.json': { dependencies: { '@strapi/strapi': '4.25.9' } }, ...sound });
    writeFiles(dir, { 'config/middlewares.js': middlewares });
    const guards = async () => (await adopted()).obstacles.filter((it) => it.code === 'settings.guards');
    expect(await guards()).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/^2 settings .*strapi::cors\.origin: .*; .*strapi::ip/),
      }),
    ]);
    writeFiles(dir, { 'dovetail.config.json': { project: { ignoreCode: ['config'] } } });
    expect(await guards()).toEqual([]);
  });

  it('plugins and packages are not called settings, by adopt, the start and check', async () => {
    const manifest = { dependencies: { '@strapi/strapi': '4.25.9', acl: '1', axios: '1' } };
    writeFiles(dir, {
      ...sound,
      'package.json': manifest,
      'config/server.js': 'module.exports = {};',
      'node_modules/acl/package.json': { strapi: { kind: 'plugin', name: 'acl' } },
      'node_modules/acl/strapi-server.js': 'module.exports = { register: ({ strapi }) => strapi.server.use(() => 1) };',
    });
    const guards = async () => (await adopted()).obstacles.filter((it) => it.code === 'settings.guards');
    const why = 'may restrict access and is not supported';
    expect(await guards()).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(`^1 plugin ${why}, so the start is refused: plugins.acl: the package acl`),
        cure: 'Do what they guard with permissions or handlers first.',
      }),
    ]);
    await expect(start(dir)).rejects.toThrow(`1 plugin ${why}:\n  plugins.acl: the package acl does not run`);
    const { out } = await printed(() => check(dir, { json: false }));
    expect(out).toContain("\nOf v4's config/ and package.json, not supported:\n  plugins.acl: ");
    writeFiles(dir, { 'config/middlewares.js': middlewares });
    expect((await guards())[0]!.message).toMatch(
      /^2 settings of config\/ and 1 plugin may restrict access and are not/,
    );
    // of config/, nothing is read
    writeFiles(dir, { 'dovetail.config.json': { project: { runCode: false, ignoreCode: ['config'] } } });
    expect((await guards())[0]?.message).toContain(`1 plugin ${why}, so the start is refused: plugins.acl: `);
    await expect(start(dir)).rejects.toThrow(`1 plugin ${why}:\n  plugins.acl: the package acl does not run`);
    expect((await printed(() => check(dir, { json: false }))).out).toContain('not supported:\n  plugins.acl: ');
  });

  it('a database of MySQL is named by commands that would look for a file', async () => {
    writeFiles(dir, {
      ...sound,
      'config/database.js': `module.exports = { connection: { client: 'mysql2', connection: {} } };`,
    });
    for (const command of [
      withSite(dir, async () => undefined),
      backup(dir, { out: null, uploads: false }),
      start(dir),
    ])
      await expect(command).rejects.toThrow(/The database is MySQL or MariaDB.*strapi export/s);
  });
});

describe('dovetail.config', () => {
  it.each([
    ['mjs', 'export default { api: { strict: true } };'],
    ['cjs', 'module.exports = { api: { strict: true } };'],
    ['mts', 'const strict: boolean = true;\nexport default { api: { strict } };'],
    ['cts', 'const strict: boolean = true;\nmodule.exports = { api: { strict } };'],
    ['js', 'exports.api = { strict: true };'],
    [
      'cjs',
      "Object.defineProperty(exports, '__esModule', { value: true });\nexports.default = { api: { strict: true } };",
    ],
  ])('may be .%s', async (extension, text) => {
    const { config } = await open({ [`dovetail.config.${extension}`]: text });
    expect(config.api.strict).toBe(true);
  });

  it.each(['ts', 'mjs', 'js'])('is the default export of its module, not one with a name: .%s', async (extension) => {
    const name = `dovetail.config.${extension}`;
    expect(await fault({ [name]: 'export const config = { api: { strict: true } };\nexport const other = {};' })).toBe(
      `${name}: exports config and other by name, but the configuration is the default export: write "export default { … };".`,
    );
  });

  it.each(['ts', 'mjs'])('may be the exports of another module: .%s', async (extension) => {
    const { config } = await open({
      'settings.mjs': 'export const api = { strict: true };',
      [`dovetail.config.${extension}`]: "import * as settings from './settings.mjs';\nexport default settings;",
    });
    expect(config.api.strict).toBe(true);
  });

  it('may export something by name beside it', async () => {
    const both = 'export const strict = true;\nexport default { api: { strict } };';
    expect((await open({ 'dovetail.config.ts': both })).config.api.strict).toBe(true);
  });

  it('cannot be a function', async () => {
    expect(await fault({ 'dovetail.config.mjs': 'export default () => ({});' })).toMatch(
      /must be an object, not a function/,
    );
  });

  it('is one file: a second one is not ignored silently', async () => {
    expect(await fault({ 'dovetail.config.json': {}, 'dovetail.config.mjs': 'export default {};' })).toBe(
      'dovetail.config.mjs and dovetail.config.json exist: keep one of them.',
    );
  });

  it.each([
    ['dovetail.conf.ts', '.ts'],
    ['dovetail-config.mjs', '.mjs'],
    ['dovetail.config.yaml', '.json'],
    ['.dovetailrc', '.json'],
  ])('is not ignored silently under another name: %s', async (name, extension) => {
    expect(await fault({ [name]: '' })).toBe(
      `${name} is not read: the configuration of a project is in dovetail.config${extension}.`,
    );
    const { config } = await open({ [name]: '', 'dovetail.config.json': { api: { strict: true } } });
    expect(config.api.strict).toBe(true);
  });

  it('may lie beside files of other programs', async () => {
    const { config } = await open({ 'dovetail.conf': 'server {}', 'dovetail.service': '', 'dovetail.log': '' });
    expect(config.api.strict).toBe(false);
  });
});
