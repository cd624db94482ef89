/** `config/` of a v4 project: what is obeyed, what wins over it, and what is said of the rest. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CheckReport, check } from '../../src/cli/commands/check.js';
import { openProject, type Project } from '../../src/cli/project.js';
import { start } from '../../src/cli/start.js';
import { readV4Settings } from '../../src/cli/v4project/settings.js';
import { type CodeServer, serveProject } from '../world/code-server.js';
import { dialects, newDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { type Files, sound, writeFiles } from '../world/schemas.js';

let dir: string;
beforeEach(() => {
  dir = newFolder();
  // a start logs to the descriptor, which the runner cannot withhold
  vi.stubEnv('LOG_LEVEL', 'silent');
  for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL', 'HOST', 'PORT', 'NODE_ENV'])
    vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  process.exitCode = undefined;
  fs.rmSync(dir, { recursive: true, force: true });
});

const open = (files: Files): Promise<Project> => {
  writeFiles(dir, { 'package.json': { dependencies: { '@strapi/strapi': '4.25.9' } }, ...sound, ...files });
  return openProject(dir);
};

/** A module that exports the value. */
const file = (value: unknown): string => `module.exports = ${JSON.stringify(value)};`;

describe('what config/ says is obeyed', () => {
  it.each<readonly [string, Files, (project: Project) => unknown, unknown]>([
    [
      'host and port',
      {
        'config/server.js': `module.exports = ({ env }) => ({ host: env('MY_HOST', '0.0.0.0'), port: env.int('MY_PORT', 4000) });`,
      },
      ({ env }) => [env.HOST, env.PORT],
      ['0.0.0.0', 4000],
    ],
    [
      'the proxy and the URL',
      { 'config/server.json': { proxy: { koa: true }, url: 'https://cms.example' } },
      ({ config }) => config.server,
      expect.objectContaining({ trustProxy: true, url: 'https://cms.example' }),
    ],
    [
      'limits of lists',
      { 'config/api.js': file({ rest: { defaultLimit: 5, maxLimit: 12, withCount: false, prefix: '/v1' } }) },
      ({ config }) => config.api.rest,
      { defaultLimit: 5, maxLimit: 12, withCount: false, prefix: '/v1' },
    ],
    [
      'limits as text, which env gives without a cast',
      {
        'config/api.js': `module.exports = ({ env }) => ({ rest: { defaultLimit: env('NONE', '5'), maxLimit: '12' } });`,
      },
      ({ config }) => [config.api.rest.defaultLimit, config.api.rest.maxLimit],
      [5, 12],
    ],
    [
      'odd forms as v4 reads them',
      { 'config/api.js': file({ rest: { prefix: 'v1/', defaultLimit: 50, maxLimit: 12, withCount: 'false' } }) },
      ({ config }) => config.api.rest,
      { prefix: '/v1', defaultLimit: 12, maxLimit: 12, withCount: true },
    ],
    [
      'methods and age of CORS',
      {
        'config/middlewares.js': file([
          {
            name: 'strapi::cors',
            config: { origin: 'https://a.example, https://b.example', methods: ['get', 'HEAD'], maxAge: 60 },
          },
        ]),
      },
      ({ config }) => config.cors,
      expect.objectContaining({
        origin: ['https://a.example', 'https://b.example'],
        methods: ['GET', 'HEAD'],
        maxAgeSeconds: 60,
      }),
    ],
    [
      'a maximum that cannot be read as Dovetail’s own, not as none',
      { 'config/api.js': file({ rest: { maxLimit: 'many' } }) },
      ({ config }) => config.api.rest.maxLimit,
      100,
    ],
    ['no maximum, as in v4', { 'config/api.js': file({}) }, ({ config }) => config.api.rest.maxLimit, null],
    [
      'private attributes',
      { 'config/api.js': file({ responses: { privateAttributes: ['_v'] } }) },
      ({ config }) => config.api.responses.privateAttributes,
      ['_v'],
    ],
    [
      'the file of SQLite',
      {
        'config/database.js': `module.exports = () => ({ connection: { client: 'better-sqlite3', connection: { filename: require('path').join(__dirname, '..', 'shop.db') } } });`,
      },
      ({ env }) => [env.DATABASE_CLIENT, path.basename(env.DATABASE_FILENAME)],
      ['sqlite', 'shop.db'],
    ],
    [
      'PostgreSQL with TLS, schema and pool',
      {
        'config/database.js': file({
          connection: {
            client: 'postgres',
            connection: {
              host: 'db.example',
              port: 5433,
              database: 'shop',
              user: 'me',
              password: 'p',
              schema: 'cms',
              ssl: { rejectUnauthorized: true, ca: 'PEM' },
            },
            pool: { min: 2, max: 7 },
          },
        }),
      },
      ({ env }) => [
        env.DATABASE_CLIENT,
        env.DATABASE_HOST,
        env.DATABASE_PORT,
        env.DATABASE_SCHEMA,
        env.DATABASE_SSL,
        env.DATABASE_SSL_REJECT_UNAUTHORIZED,
        env.DATABASE_SSL_CA,
        env.DATABASE_POOL_MAX,
      ],
      ['postgres', 'db.example', 5433, 'cms', 'true', 'true', 'PEM', 7],
    ],
    [
      'a URL of PostgreSQL',
      {
        'config/database.js': file({
          connection: { client: 'pg', connection: { connectionString: 'postgres://a/b' } },
        }),
      },
      ({ env }) => env.DATABASE_URL,
      'postgres://a/b',
    ],
    [
      'secrets',
      {
        'config/admin.js': file({ apiToken: { salt: 'salt of mine' }, auth: { secret: 'for administrators' } }),
        'config/plugins.js': file({ 'users-permissions': { config: { jwtSecret: 'for users' } } }),
      },
      ({ env }) => [env.JWT_SECRET, env.API_TOKEN_SALT, env.ADMIN_JWT_SECRET],
      ['for users', 'salt of mine', 'for administrators'],
    ],
    [
      'users',
      {
        'config/plugins.js': file({
          'users-permissions': {
            config: {
              jwt: { expiresIn: '12h' },
              ratelimit: { interval: { hour: 1, min: 30 }, max: 3 },
              register: { allowedFields: ['nickname'] },
            },
          },
        }),
      },
      ({ config }) => config.users,
      { jwtDays: 0.5, attemptsMax: 3, attemptsMinutes: 90, registerFields: ['nickname'] },
    ],
    [
      'nothing of attempts where dovetail.config says it under the former name',
      {
        'config/plugins.js': file({
          'users-permissions': { config: { ratelimit: { interval: { hour: 1 }, max: 5 } } },
        }),
        'dovetail.config.json': { users: { attemptsPerMinute: 4, jwtDays: 3 } },
      },
      ({ config: { users } }) => [users.attemptsMax, users.attemptsMinutes, users.jwtDays],
      [4, 1, 3],
    ],
    [
      'attempts in milliseconds',
      { 'config/plugins.js': file({ 'users-permissions': { config: { ratelimit: { interval: 300_000, max: 5 } } } }) },
      ({ config: { users } }) => [users.attemptsMax, users.attemptsMinutes],
      [5, 5],
    ],
    [
      'attempts without an interval, which is a minute then',
      { 'config/plugins.js': file({ 'users-permissions': { config: { ratelimit: { max: '7' } } } }) },
      ({ config: { users } }) => [users.attemptsMax, users.attemptsMinutes],
      [7, 1],
    ],
    [
      'attempts without a number, which are ten then',
      { 'config/plugins.js': file({ 'users-permissions': { config: { ratelimit: { interval: { min: 5 } } } } }) },
      ({ config: { users } }) => [users.attemptsMax, users.attemptsMinutes],
      [10, 5],
    ],
    [
      'attempts without a limit',
      { 'config/plugins.js': file({ 'users-permissions': { config: { ratelimit: { enabled: false } } } }) },
      ({ config }) => config.users.attemptsMax,
      0,
    ],
    [
      'the least bound of uploads',
      {
        'config/plugins.js': file({ upload: { config: { sizeLimit: 5000 } } }),
        'config/middlewares.js': file([
          { name: 'strapi::cors' },
          { name: 'strapi::body', config: { jsonLimit: '2mb', formidable: { maxFileSize: 3000 } } },
        ]),
      },
      ({ config }) => [config.upload.sizeLimit, config.server.bodyBytesMax],
      [3000, 2 * 1024 * 1024],
    ],
    [
      'the greatest bound of bodies',
      {
        'config/middlewares.js': file([
          { name: 'strapi::body', config: { jsonLimit: '2mb', formLimit: '10mb', textLimit: '5mb' } },
        ]),
      },
      ({ config }) => config.server.bodyBytesMax,
      10 * 1024 * 1024,
    ],
    [
      'no bound of forms below that of other bodies',
      { 'config/middlewares.js': file([{ name: 'strapi::body', config: { formLimit: '5kb' } }]) },
      ({ config }) => config.server.bodyBytesMax,
      1024 * 1024,
    ],
    [
      'a bucket',
      {
        'config/plugins.js': file({
          upload: {
            config: {
              provider: 'aws-s3',
              providerOptions: {
                rootPath: 'cms',
                s3Options: {
                  credentials: { accessKeyId: 'key', secretAccessKey: 'hidden' },
                  region: 'eu-west-1',
                  params: { Bucket: 'pictures', ACL: 'public-read' },
                },
              },
            },
          },
        }),
      },
      ({ config, env }) => [config.upload.s3, env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY],
      [
        expect.objectContaining({
          bucket: 'pictures',
          region: 'eu-west-1',
          prefix: 'cms/',
          publicUrl: 'https://pictures.s3.eu-west-1.amazonaws.com',
        }),
        'key',
        'hidden',
      ],
    ],
    [
      'a mail server',
      {
        'config/plugins.js': file({
          email: {
            config: {
              provider: 'nodemailer',
              providerOptions: { host: 'smtp.example', port: 465, auth: { user: 'me', pass: 'p' } },
              settings: { defaultFrom: 'cms@example.com', defaultReplyTo: 'help@example.com' },
            },
          },
        }),
      },
      ({ config, env, v4 }) => [
        [env.SMTP_HOST, env.SMTP_PORT, env.SMTP_USERNAME, config.mail.from, config.mail.replyTo],
        v4.settings.filter((it) => it.verdict === 'not supported'),
      ],
      [['smtp.example', 465, 'me', 'cms@example.com', 'help@example.com'], []],
    ],
    [
      'no other origin without strapi::cors',
      { 'config/middlewares.js': file(['strapi::errors']) },
      ({ config }) => config.cors.origin,
      [],
    ],
    [
      'true for a header, which is the usual one',
      {
        'config/middlewares.js': file([
          {
            name: 'strapi::security',
            config: { hsts: true, strictTransportSecurity: true, contentSecurityPolicy: true, frameguard: true },
          },
        ]),
      },
      ({ config, v4 }) => [
        config.server.securityHeaders,
        v4.settings.filter((it) => it.v4Name.startsWith('middlewares.strapi::security')),
      ],
      [{}, []],
    ],
    [
      'files of the environment',
      {
        'config/api.js': file({ rest: { defaultLimit: 5 } }),
        'config/env/development/api.js': file({ rest: { defaultLimit: 6 } }),
        'config/env/production/api.js': file({ rest: { defaultLimit: 7 } }),
      },
      ({ config }) => config.api.rest.defaultLimit,
      6,
    ],
    [
      'TypeScript, where tsc would write it',
      {
        'tsconfig.json': '{}',
        'config/database.ts': `import path from 'path';\nenum Client { sqlite = 'sqlite' }\nexport default ({ env }: { env: (name: string, other: string) => string }) => ({ connection: { client: Client.sqlite, connection: { filename: path.join(__dirname, '..', '..', env('FILE', '.tmp/ts.db')) } } });`,
      },
      ({ env, dir: at }) => path.relative(at, env.DATABASE_FILENAME),
      '.tmp/ts.db',
    ],
  ])('%s', async (_what, files, read, expected) => {
    expect(read(await open(files))).toEqual(expected);
  });

  it('dovetail.config wins, setting by setting', async () => {
    const { config } = await open({
      'config/api.js': file({ rest: { defaultLimit: 5, maxLimit: 12 } }),
      'dovetail.config.json': { api: { rest: { maxLimit: 20 } } },
    });
    expect(config.api.rest).toMatchObject({ defaultLimit: 5, maxLimit: 20 });
  });

  it('the environment wins, and another database of it has none of these settings', async () => {
    const files = {
      'config/server.js': file({ host: '0.0.0.0', port: 4000 }),
      'config/database.js': file({
        connection: { client: 'postgres', connection: { host: 'db.example', schema: 'cms' } },
      }),
    };
    vi.stubEnv('PORT', '5000');
    vi.stubEnv('DATABASE_FILENAME', 'mine.db');
    const { env } = await open(files);
    expect([env.HOST, env.PORT, env.DATABASE_CLIENT, env.DATABASE_FILENAME, env.DATABASE_SCHEMA]).toEqual([
      '0.0.0.0',
      5000,
      'sqlite',
      'mine.db',
      'public',
    ]);
  });

  it('nothing of it where code is switched off, and nothing is evaluated', async () => {
    const { config, v4 } = await open({
      'config/api.js': `throw new Error('evaluated');`,
      'dovetail.config.json': { project: { runCode: false } },
    });
    expect([config.api.rest.defaultLimit, v4.settings]).toEqual([25, []]);
  });
});

const deeper: Readonly<Record<string, object>> = {
  body: { formidable: { MORE: 1 } },
  security: {
    contentSecurityPolicy: { useDefaults: true, MORE: 1, directives: { 'img-src': ['*'] } },
    hsts: { maxAge: 1, MORE: 1 },
    frameguard: { action: 'deny', MORE: 1 },
  },
};

describe('what is not obeyed', () => {
  it('is said, without values: unknown names, other providers, plugins, forms that cannot be read', async () => {
    const verdicts = (part: string, value: unknown): Readonly<Record<string, string>> =>
      Object.fromEntries(
        readV4Settings({ dir, ignored: new Set(), part: (name) => (name === part ? value : undefined) })
          .filter((one) => one.v4Name !== 'api.rest.maxLimit')
          .map((one) => [one.v4Name, one.verdict]),
      );
    expect(
      verdicts('server', { hots: 'x', port: {}, app: { keys: ['a'] }, emitErrors: true, dirs: { public: './web' } }),
    ).toEqual({
      'server.hots': 'not supported',
      'server.port': 'not supported',
      'server.app.keys': 'obeyed',
      'server.emitErrors': 'not needed',
      'server.dirs.public': 'not supported',
    });
    expect(verdicts('api', { rest: { strictParams: true } })).toEqual({ 'api.rest.strictParams': 'not supported' });
    expect(
      verdicts('plugins', {
        shop: { enabled: true, resolve: './src/plugins/shop' },
        sentry: false,
        upload: { config: { provider: 'cloudinary' } },
      }),
    ).toEqual({
      'plugins.shop': 'not supported',
      'plugins.sentry': 'not needed',
      'plugins.upload.config.provider': 'not supported',
    });
    // these two are on, whatever it says
    expect(verdicts('plugins', { i18n: { enabled: false }, upload: false, email: false })).toEqual({
      'plugins.i18n': 'not supported',
      'plugins.upload': 'not supported',
      'plugins.email': 'not needed',
    });
    expect(verdicts('server', { cron: { tasks: {} } })).toEqual({ 'server.cron': 'not needed' });
    expect(
      verdicts('database', {
        connection: { client: 'postgres', connection: { host: 'x', ssl: { ciphers: 'x' } } },
        settings: { forceMigration: false },
      }),
    ).toMatchObject({
      'database.connection.connection.ssl.ciphers': 'not supported',
      'database.settings.forceMigration': 'not needed',
    });
  });

  it('is said wherever the name is: no key of config/ that is not known goes without a word', async () => {
    vi.stubEnv('DATABASE_CLIENT', 'sqlite');
    /** Every place that may hold names, and is said to be one that is not known with a name more. */
    const given: Readonly<Record<string, unknown>> = {
      'config/server.js': { MORE: 1, app: { keys: ['a'], MORE: 1 }, webhooks: { MORE: 1 }, dirs: { MORE: 1 } },
      'config/api.js': { MORE: 1, rest: { MORE: 1 }, responses: { MORE: 1 } },
      'config/admin.js': { MORE: 1, apiToken: { salt: 's', MORE: 1 }, auth: { secret: 's', MORE: 1 } },
      'config/database.js': {
        MORE: 1,
        settings: { MORE: 1 },
        connection: {
          MORE: 1,
          client: 'postgres',
          connection: { MORE: 1, host: 'x', ssl: { MORE: 1 } },
          pool: { MORE: 1, min: 0, max: 5 },
        },
      },
      'config/middlewares.js': [
        'query',
        'logger',
        'errors',
        'public',
        'compression',
        'cors',
        'body',
        'security',
        'poweredBy',
        'responseTime',
      ].map((it) => ({ name: `strapi::${it}`, config: { MORE: 1, ...deeper[it] } })),
      'config/plugins.js': {
        'users-permissions': {
          MORE: 1,
          config: { MORE: 1, jwt: { MORE: 1 }, register: { MORE: 1 }, ratelimit: { max: 3, MORE: 1 } },
        },
        upload: {
          MORE: 1,
          config: {
            MORE: 1,
            provider: 'aws-s3',
            providerOptions: { MORE: 1, s3Options: { credentials: { MORE: 1 }, params: { Bucket: 'b', MORE: 1 } } },
          },
        },
        email: {
          MORE: 1,
          config: {
            MORE: 1,
            provider: 'nodemailer',
            providerOptions: { MORE: 1, auth: { MORE: 1 } },
            settings: { MORE: 1 },
          },
        },
      },
    };
    /** How often it is there, each under a name of its own. */
    let places = 0;
    const named = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(named);
      if (value === null || typeof value !== 'object') return value;
      return Object.fromEntries(
        Object.entries(value).map(([name, it]) => [name === 'MORE' ? `unheardOf${places++}` : name, named(it)]),
      );
    };
    writeFiles(dir, {
      ...sound,
      ...Object.fromEntries(Object.entries(given).map(([name, it]) => [name, file(named(it))])),
    });
    const { settings } = JSON.parse((await printed(() => check(dir, { json: true }))).out) as CheckReport;
    const said = settings
      .filter((it) => it.verdict === 'not supported')
      .flatMap((it) => /unheardOf\d+$/.exec(it.v4Name) ?? []);
    expect(places).toBeGreaterThan(40);
    expect([...said].sort()).toEqual(Array.from({ length: places }, (_, i) => `unheardOf${i}`).sort());
  });

  it('what v4 knows and is nothing here is not reported as unknown', async () => {
    const sections: Files = {
      'config/database.js': file({
        connection: {
          client: 'sqlite',
          connection: { filename: 'x.db' },
          useNullAsDefault: true,
          debug: false,
          acquireConnectionTimeout: 60_000,
          pool: { min: 0, max: 10, acquireTimeoutMillis: 1, idleTimeoutMillis: 1 },
        },
        settings: { forceMigration: true, runMigrations: true },
      }),
      'config/middlewares.js': file([
        { name: 'strapi::query', config: { arrayLimit: 100, depth: 20, strictNullHandling: true } },
        { name: 'strapi::logger', config: { level: 'http', requests: true } },
        { name: 'strapi::public', config: { maxAge: 60_000, defaultIndex: false, hidden: true } },
        { name: 'strapi::compression', config: { threshold: 1024, br: false, gzip: { flush: 2 } } },
        { name: 'strapi::poweredBy', config: { poweredBy: 'Me' } },
        { name: 'strapi::errors', config: {} },
        { name: 'strapi::cors' },
      ]),
      'config/plugins.js': file({
        email: {
          config: {
            provider: 'nodemailer',
            providerOptions: { host: 'h', port: 465, secure: true, auth: { user: 'u', pass: 'p' } },
          },
        },
      }),
    };
    writeFiles(dir, { ...sound, ...sections });
    const { settings } = JSON.parse((await printed(() => check(dir, { json: true }))).out) as CheckReport;
    expect(settings.filter((it) => it.verdict === 'not supported')).toEqual([]);
  });

  it('mail over TLS at a port that has STARTTLS here is said', async () => {
    const providerOptions = { host: 'h', port: 587, secure: true };
    writeFiles(dir, {
      ...sound,
      'config/plugins.js': file({ email: { config: { provider: 'nodemailer', providerOptions } } }),
    });
    const { settings } = JSON.parse((await printed(() => check(dir, { json: true }))).out) as CheckReport;
    expect(settings.filter((it) => it.verdict === 'not supported').map((it) => it.v4Name)).toEqual([
      'plugins.email.config.providerOptions.secure',
    ]);
  });

  it('check lists it, and no secret', async () => {
    writeFiles(dir, {
      ...sound,
      'config/server.js': file({ hots: 'unknown' }),
      'config/plugins.js': file({ 'users-permissions': { config: { jwtSecret: 'hunter2', unheardOf: 'hunter2' } } }),
    });
    const { out } = await printed(() => check(dir, { json: true }));
    const report = JSON.parse(out) as CheckReport;
    expect(report.settings).toContainEqual({
      v4Name: 'server.hots',
      verdict: 'not supported',
      note: 'it is not known here, and code finds it in strapi.config',
      isGuard: false,
      name: null,
    });
    expect(report.settings).toContainEqual(
      expect.objectContaining({
        v4Name: 'plugins.users-permissions.config.jwtSecret',
        verdict: 'obeyed',
        name: 'JWT_SECRET',
      }),
    );
    const words = await printed(() => check(dir, { json: false }));
    expect(words.out).toContain('  server.hots: it is not known here, and code finds it in strapi.config\n');
    expect(out + words.out).not.toContain('hunter2');
  });

  const installed: Files = {
    'package.json': { dependencies: { '@strapi/strapi': '4.25.9', calendar: '1', 'my-auth': '1', left: '1' } },
    'node_modules/calendar/package.json': { strapi: { kind: 'plugin', name: 'dates' } },
    'node_modules/calendar/strapi-server.js': 'module.exports = { register() {} };',
    'node_modules/my-auth/package.json': { strapi: { kind: 'plugin', name: 'my-auth' } },
    'node_modules/my-auth/dist/server/index.js': 'exports.register = ({ strapi: s }) => s.server.use(() => {});',
    'node_modules/left/package.json': { name: 'left' },
    'config/server.js': file({}),
  };

  it('plugins of others that v4 runs because they are installed are named, unless config/plugins switches them off', async () => {
    const project = await open(installed);
    expect(project.v4.settings.filter((it) => it.v4Name.startsWith('plugins.'))).toEqual([
      expect.objectContaining({ v4Name: 'plugins.dates', verdict: 'not supported', isGuard: false }),
      expect.objectContaining({ v4Name: 'plugins.my-auth', verdict: 'not supported', isGuard: true }),
    ]);
    const switched = file({ dates: { enabled: true }, 'my-auth': { enabled: false } });
    const off = await open({ ...installed, 'config/plugins.js': switched });
    expect(off.v4.guards).toEqual([]);
    expect(off.v4.settings.filter((it) => it.v4Name.startsWith('plugins.')).map((it) => it.v4Name)).toEqual([
      'plugins.my-auth',
      'plugins.dates',
    ]);
  });

  it.each<readonly [string, Files, RegExp]>([
    [
      'an installed plugin that adds middlewares',
      installed,
      /plugins\.my-auth: the package my-auth does not run: once nothing depends on it, list it in dovetail\.config, project: \{ ignoreCode: \['my-auth'\] \}; it may restrict/,
    ],
    [
      'a plugin of another folder that adds middlewares',
      {
        'config/plugins.js': `module.exports = { acl: { enabled: true, resolve: require('path').join(__dirname, '../local/acl') } };`,
        'local/acl/strapi-server.js': `module.exports = { register: ({ strapi }) => strapi.server.use(async (ctx) => ctx.forbidden()) };`,
      },
      /plugins\.acl: the package local\/acl does not run: once nothing depends on it, list it in dovetail\.config, project: \{ ignoreCode: \['local\/acl'\] \}; it may restrict/,
    ],
    [
      'an origin that cannot be read',
      { 'config/middlewares.js': file([{ name: 'strapi::cors', config: { origin: { shop: true } } }]) },
      /middlewares\.strapi::cors\.origin: the value has another form than is read/,
    ],
    [
      'a list of addresses',
      { 'config/middlewares.js': file([{ name: 'strapi::ip', config: { whitelist: ['10.0.0.1'] } }]) },
      /middlewares\.strapi::ip: every address is answered; it may restrict access/,
    ],
  ])('%s refuses the start', async (_what, files, message) => {
    writeFiles(dir, { ...sound, ...files });
    await expect(start(dir)).rejects.toThrow(message);
    expect(fs.existsSync(path.join(dir, '.env'))).toBe(false);
  });

  it('a package that config/plugins names by its folder, too, is listed once', async () => {
    const resolve = `require('path').join(__dirname, '../node_modules/my-auth')`;
    writeFiles(dir, {
      ...sound,
      ...installed,
      'config/plugins.js': `module.exports = { 'my-auth': { enabled: true, resolve: ${resolve} } };`,
      'dovetail.config.json': { project: { ignoreCode: ['my-auth'] } },
    });
    expect((await openProject(dir)).v4.guards).toEqual([]);
  });

  describe('a global middleware', () => {
    const named =
      "'strapi::errors', 'plugin::rest-cache.recv', 'global::stamp', { resolve: './own/stamp' }, { resolve: 'not-installed' }";
    const files: Files = {
      ...sound,
      'config/middlewares.js': `module.exports = [${named}];`,
      'src/middlewares/stamp.js': `module.exports = () => { throw new Error('made by its name'); };`,
      'own/stamp.js': `module.exports = () => { throw new Error('made by its file'); };`,
      '.env': 'JWT_SECRET=a-long-secret-for-tests\nAPI_TOKEN_SALT=salt\nADMIN_JWT_SECRET=another-long-secret\n',
    };
    const ignoring = (...ignoreCode: readonly string[]): Files => ({
      'dovetail.config.json': { project: { ignoreCode } },
    });

    it('of a plugin refuses the start, also where no other code runs', async () => {
      writeFiles(dir, { ...sound, '.env': files['.env']!, 'config/middlewares.js': file(['plugin::rest-cache.recv']) });
      await expect(start(dir)).rejects.toThrow(
        `config/middlewares: there is no middleware "plugin::rest-cache.recv", as plugins of others do not run here; once all is well without it, list it in dovetail.config: project: { ignoreCode: ['plugin::rest-cache.recv'] }`,
      );
    });

    it.each<readonly [string, readonly string[]]>([
      [
        'its name, or what it resolves to',
        ['plugin::rest-cache.recv', 'global::stamp', './own/stamp', 'not-installed'],
      ],
      ['its file', ['plugin::rest-cache.recv', 'src/middlewares/stamp.js', 'own/stamp.js', 'not-installed']],
    ])('is left out if project.ignoreCode lists %s', async (_how, names) => {
      const { v4 } = await open({ ...files, ...ignoring(...names) });
      const said = v4.settings.filter((it) => it.verdict === 'not supported');
      expect(said.map(({ v4Name, note }) => [v4Name, note])).toEqual(
        ['plugin::rest-cache.recv', 'global::stamp', './own/stamp', 'not-installed'].map((it) => [
          `middlewares.${it}`,
          'it does not run: project.ignoreCode lists it',
        ]),
      );
      vi.stubEnv('DATABASE_FILENAME', ':memory:');
      const served = await serveProject(dir);
      expect((await served.ask('/_health')).status).toBe(204);
      await served.close();
    });

    it('may be that of another environment', async () => {
      const elsewhere = { 'config/env/production/middlewares.js': `module.exports = ['plugin::other.recv'];` };
      await expect(open({ ...files, ...elsewhere, ...ignoring('plugin::other.recv') })).resolves.toBeDefined();
    });

    it('that is listed and not there is refused, with the nearest one', async () => {
      await expect(open({ ...files, ...ignoring('plugin::rest-cache.rcv') })).rejects.toThrow(
        'project.ignoreCode: no middleware of config/middlewares matches "plugin::rest-cache.rcv"; did you mean "plugin::rest-cache.recv"?',
      );
    });
  });

  it('a function as origin does not count where dovetail.config names the origins', async () => {
    const { v4, config } = await open({
      'config/middlewares.js': `module.exports = [{ name: 'strapi::cors', config: { origin: () => '*' } }];`,
      'dovetail.config.json': { cors: { origin: ['https://a.example'] } },
    });
    expect([v4.asksOrigin, config.cors.origin]).toEqual([false, ['https://a.example']]);
  });

  it.each<readonly [string, Files, RegExp]>([
    [
      'a file that throws',
      { 'config/server.js': `throw new Error('no');` },
      /config\/server\.js:1: cannot be loaded: no/,
    ],
    [
      'a file that is no JSON, without its text',
      { 'config/api.json': '{"secret": hunter2}' },
      /config\/api\.json: is not JSON$/,
    ],
    [
      'a prefix below which the server has paths of its own',
      { 'config/api.js': file({ rest: { prefix: '/Admin/v1' } }) },
      /^api\.rest\.prefix \(rest\.prefix in config\/api\): "\/Admin\/v1" is a path of the server itself/,
    ],
  ])('%s is named', async (_what, files, message) => {
    await expect(open(files)).rejects.toThrow(message);
  });
});

describe.each(dialects)('a server with such a configuration on %s', (dialect) => {
  const files: Files = {
    'config/api.js': file({ rest: { prefix: '/v1', defaultLimit: 2 } }),
    'config/middlewares.js': `module.exports = [
      'strapi::errors',
      { name: 'strapi::cors', config: { origin: ['https://a.example', 'https://b.example'], headers: ['X-Shop'], expose: ['X-Total'] } },
      { name: 'strapi::body', config: { jsonLimit: '2kb' } },
      { name: 'strapi::security', config: { contentSecurityPolicy: { directives: { 'script-src': ["'self'", 'cdn.example'], frameSrc: 'x.example' } }, frameguard: { action: 'deny' }, hsts: false } },
      { resolve: './own/stamp', config: { name: 'x-stamp' } },
    ];`,
    'own/stamp.js': `module.exports = ({ name }) => async (ctx, next) => { await next(); ctx.set(name, 'stamped'); };`,
    'config/plugins.js': file({ 'users-permissions': { config: { register: { allowedFields: [] } } } }),
    'src/index.js': `module.exports = { async bootstrap({ strapi }) {
      const role = await strapi.query('plugin::users-permissions.role').create({ data: { name: 'Public', type: 'public' } });
      await strapi.query('plugin::users-permissions.role').create({ data: { name: 'Authenticated', type: 'authenticated' } });
      for (const action of ['api::book.book.find', 'api::book.book.create', 'plugin::users-permissions.auth.register'])
        await strapi.query('plugin::users-permissions.permission').create({ data: { action, role: role.id } });
    } };`,
    'src/extensions/users-permissions/content-types/user/schema.json': fs.readFileSync(
      path.join(
        import.meta.dirname,
        '../conformance/toolshed/project/src/extensions/users-permissions/content-types/user/schema.json',
      ),
      'utf8',
    ),
  };
  const served = async (use: (server: CodeServer) => Promise<void>, given: Files = files): Promise<void> => {
    const database = await newDatabase(dialect);
    for (const [name, value] of Object.entries(database.env)) vi.stubEnv(name, value);
    writeFiles(dir, { ...sound, ...given });
    const server = await serveProject(dir);
    try {
      await use(server);
    } finally {
      await server.close();
      await database.drop();
    }
  };

  it('answers under its prefix, to its origins, with its headers, up to its bounds, through its middlewares', async () => {
    await served(async ({ ask }) => {
      const answer = await ask('/v1/books', { headers: { origin: 'https://b.example' } });
      expect(answer.status).toBe(200);
      expect(JSON.parse(answer.text)).toMatchObject({ meta: { pagination: { pageSize: 2 } } });
      expect(answer.headers).toMatchObject({
        'access-control-allow-origin': 'https://b.example',
        'access-control-expose-headers': expect.stringContaining('X-Total') as string,
        'x-frame-options': 'DENY',
        'x-stamp': 'stamped',
        'content-security-policy': expect.stringMatching(
          /script-src 'self' cdn\.example;.*frame-src x\.example/,
        ) as string,
      });
      expect(answer.headers).not.toHaveProperty('strict-transport-security');
      const other = await ask('/v1/books', { headers: { origin: 'https://c.example' } });
      expect(other.headers).not.toHaveProperty('access-control-allow-origin');
      const preflight = await ask('/v1/books', {
        method: 'OPTIONS',
        headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
      });
      expect(preflight.headers['access-control-allow-headers']).toContain('X-Shop');
      for (const type of ['application/json', 'application/json; charset=ascii']) {
        const long = await ask('/v1/books', {
          method: 'POST',
          headers: { 'content-type': type },
          body: JSON.stringify({ data: { title: 'x'.repeat(3000) } }),
        });
        expect(long.status).toBe(413);
      }
    });
  });

  it('a registration gives what is allowed, and nothing else', async () => {
    await served(async ({ ask }) => {
      const body = JSON.stringify({
        username: 'eve',
        email: 'eve@example.com',
        password: 'Passw0rd!',
        nickname: 'queen',
      });
      const { status, text } = await ask('/v1/auth/local/register', { method: 'POST', body });
      expect([status, (JSON.parse(text) as { user: { nickname?: unknown } }).user.nickname ?? null]).toEqual([
        200,
        null,
      ]);
    });
  });

  describe('an origin that is a function is asked for every request with an Origin', () => {
    const byFunction = `module.exports = [
      'strapi::errors',
      { name: 'strapi::cors', config: { origin: async (ctx) => {
        const { origin } = ctx.request.header;
        globalThis.originsAsked = [...(globalThis.originsAsked ?? []), ctx.method + ' ' + ctx.path + ' ' + ctx.query.shop];
        if (origin === 'https://broken.example') throw Object.assign(new Error('the list is gone'), { status: 403, statusCode: 403 });
        if (origin === 'https://odd.example') return 7;
        if (origin === 'https://none.example') return undefined;
        if (origin === 'https://listed.example') return ['https://a.example', 'https://listed.example'];
        if (ctx.query.shop === 'open') return '*';
        return 'https://a.example, https://b.example';
      } } },
    ];`;
    const books = '/api/books';
    const other: Files = {
      'config/middlewares.js': byFunction,
      'src/index.js': `module.exports = { async bootstrap({ strapi }) {
        const role = await strapi.query('plugin::users-permissions.role').create({ data: { name: 'Public', type: 'public' } });
        for (const action of ['api::book.book.find', 'api::book.book.create'])
          await strapi.query('plugin::users-permissions.permission').create({ data: { action, role: role.id } });
      } };`,
      'src/api/own/routes/own.js': `module.exports = { routes: [{ method: 'GET', path: '/own', handler: (ctx) => { ctx.body = 'own'; }, config: { auth: false } }] };`,
    };
    const allowedIn = (
      { ask }: CodeServer,
      at: string,
      origin: string,
      given: Parameters<CodeServer['ask']>[1] = {},
    ): Promise<readonly unknown[]> =>
      ask(at, { ...given, headers: { ...given.headers, origin } }).then(({ status, headers }) => [
        status,
        headers['access-control-allow-origin'] ?? null,
        headers.vary?.includes('Origin'),
      ]);
    const asked = (): readonly string[] => {
      const holder = globalThis as { originsAsked?: readonly string[] };
      const found = holder.originsAsked ?? [];
      holder.originsAsked = [];
      return found;
    };

    it('it answers with a text, a list or nothing, for content, routes of code and preflights', async () => {
      await served(async (server) => {
        asked();
        const { ask } = server;
        const body = JSON.stringify({ data: { title: 'x' } });
        const write = { method: 'POST', body };
        const preflight = { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } };
        for (const [at, status, given] of [
          [books, 200, {}],
          [books, 200, write],
          ['/api/own', 200, {}],
          ['/api/none', 404, {}],
          [books, 204, preflight],
        ] as const) {
          expect(await allowedIn(server, at, 'https://b.example', given)).toEqual([status, 'https://b.example', true]);
          expect(await allowedIn(server, at, 'https://c.example', given)).toEqual([status, null, true]);
        }
        expect(await allowedIn(server, books, 'https://listed.example')).toEqual([200, 'https://listed.example', true]);
        expect(await allowedIn(server, books, 'https://none.example')).toEqual([200, null, true]);
        expect(await allowedIn(server, '/api/own?shop=open', 'https://c.example')).toEqual([
          200,
          'https://c.example',
          true,
        ]);
        expect(asked()).toHaveLength(13);
        const plain = await ask(books);
        expect([plain.status, plain.headers.vary?.includes('Origin')]).toEqual([200, true]);
        expect(plain.headers).not.toHaveProperty('access-control-allow-origin');
        expect(asked()).toEqual([]);
        await ask(`${books}?shop=x`, { headers: { origin: 'https://a.example' } });
        expect(asked()).toEqual([`GET ${books} x`]);
      }, other);
    });

    it('what it throws is a 500 with an id, and the next request is answered', async () => {
      await served(async (server) => {
        for (const origin of ['https://broken.example', 'https://odd.example'])
          for (const at of [books, '/api/own', '/studio']) {
            const { status, text, headers } = await server.ask(at, { headers: { origin } });
            const { error } = JSON.parse(text) as { error: object };
            expect([status, error]).toMatchObject([
              500,
              { message: 'Internal Server Error', details: { id: expect.stringMatching(/^[\w-]{36}$/) as string } },
            ]);
            expect(headers).not.toHaveProperty('access-control-allow-origin');
          }
        expect(await allowedIn(server, books, 'https://a.example')).toEqual([200, 'https://a.example', true]);
      }, other);
    });

    it('also where there is no other code; dovetail.config wins', async () => {
      const alone: Files = { 'config/middlewares.js': byFunction };
      await served(async (server) => {
        expect(await allowedIn(server, books, 'https://b.example')).toEqual([401, 'https://b.example', true]);
        expect(await allowedIn(server, books, 'https://c.example')).toEqual([401, null, true]);
      }, alone);
      fs.rmSync(dir, { recursive: true, force: true });
      await served(
        async (server) => {
          asked();
          expect(await allowedIn(server, books, 'https://c.example')).toEqual([401, 'https://c.example', true]);
          expect(asked()).toEqual([]);
        },
        { ...alone, 'dovetail.config.json': { cors: { origin: ['https://c.example'] } } },
      );
    });
  });
});
