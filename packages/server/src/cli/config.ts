/**
 * The configuration of a project: `dovetail.config.ts` (or `.mjs`, `.json` and the like) for what belongs to the project, the
 * environment and `.env` for what differs between machines. Checked by the schemas below, from which
 * docs/configuration.md is generated.
 */
import fs from 'node:fs';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { distance } from 'fastest-levenshtein';
import has from 'lodash/has.js';
import pick from 'lodash/pick.js';
import set from 'lodash/set.js';
import { z } from 'zod';
import { enumerated } from '../errors.js';
import { importModule } from '../handlers/modules.js';
import { corsMethods, corsSeconds } from '../http/headers.js';
import { limits } from '../limits.js';
import { scalarTypeNames } from '../model/attributes.js';
import { configNames, dependsOnStrapi } from '../model/project-folder.js';
import type { Tls } from '../sql/postgres/address.js';
import { describeConfigFaults } from './config-faults.js';
import { StartFault } from './start-fault.js';
import { configTargets, type V4Setting, variableTargets } from './v4project/settings.js';

// a schema is used once: compiling it would take longer than it saves
z.config({ jitless: true });

/** With another character Node could not send any response. */
const headerValue = z
  .string()
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/)
  .nullable()
  .describe('A header has no line breaks and no characters beyond Latin-1.');

export const configSchema = z.strictObject({
  api: z
    .strictObject({
      rest: z
        .strictObject({
          prefix: z
            .string()
            .regex(/^\/[\w/-]*[\w-]$/, 'expected a path such as /api')
            .default('/api')
            .describe('Path prefix of the content API, not below /admin, /uploads, /_health or /_dovetail.'),
          defaultLimit: z.int().min(1).default(25).describe('Default number of entries per page.'),
          maxLimit: z
            .int()
            .min(1)
            .nullable()
            .default(100)
            .describe('Maximum number of entries per page; null for no limit.'),
          withCount: z.boolean().default(true).describe('Whether lists include the total by default.'),
        })
        .prefault({}),
      strict: z
        .boolean()
        .optional()
        .describe(
          "Whether a request is refused (400) if it contains something that v4 would ignore, such as an unknown name or operator. false answers as v4 does and reports what it ignored, see [lenient.md](lenient.md). true by default, but false if the project's package.json depends on `@strapi/strapi`.",
        ),
      responses: z
        .strictObject({
          privateAttributes: z
            .array(z.string())
            .default([])
            .describe('Names of attributes, of any type, that are left out of every response.'),
        })
        .prefault({}),
    })
    .prefault({}),
  cors: z
    .strictObject({
      origin: z
        .union([z.literal('*'), z.array(z.string())])
        .default('*')
        .describe(
          'Origins whose pages may read responses, as browsers send them: `["https://www.example.org"]`, without a slash at the end.',
        ),
      headers: z.array(z.string()).default([]).describe('Request headers allowed beside the usual ones.'),
      exposedHeaders: z
        .array(z.string())
        .default([])
        .describe('Response headers shown to pages beside the usual ones.'),
      credentials: z.boolean().default(true).describe('Whether pages may send cookies and the like.'),
      methods: z
        .array(z.string().regex(/^[A-Z]+$/, 'expected a method such as GET'))
        .default([...corsMethods])
        .describe('Methods that pages may use.'),
      maxAgeSeconds: z
        .int()
        .min(0)
        .default(corsSeconds)
        .describe('Time that browsers keep what they were told about CORS; they have bounds of their own.'),
    })
    .prefault({}),
  server: z
    .strictObject({
      trustProxy: z
        .boolean()
        .default(false)
        .describe('Whether the last address in X-Forwarded-For is trusted; set true behind one proxy of your own.'),
      url: z
        .url()
        .nullable()
        .default(null)
        .describe(
          'Public URL of the server, with the path below which a proxy serves it: for links in e-mails and the description of the API; null for http://HOST:PORT.',
        ),
      bodyBytesMax: z
        .int()
        .min(1024)
        .max(1024 * 1024 * 1024)
        .default(limits.bodyBytesMax)
        .describe('Maximum length of a body of JSON or a form without files, in bytes.'),
      securityHeaders: z
        .record(z.string().regex(/^[a-z-]+$/, 'expected a name in lower case'), headerValue)
        .default({})
        .describe('Headers of every response that take the place of the usual security headers; null leaves one out.'),
      stopDelaySeconds: z
        .number()
        .min(0)
        .max(600)
        .default(0)
        .describe(
          'Time that the server keeps serving after SIGTERM while /_health returns 503, so that a load balancer stops sending requests first.',
        ),
    })
    .prefault({}),
  studio: z
    .boolean()
    .optional()
    .describe(
      'Whether the Studio is served under `/studio`, see [studio.md](studio.md). true by default, but false if NODE_ENV is `production`.',
    ),
  permissions: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe('false opens all content to anyone; only changing users and roles still needs a permission.'),
    })
    .prefault({}),
  users: z
    .strictObject({
      jwtDays: z.number().min(0.0001).max(36_500).default(30).describe('Days until a JWT expires.'),
      registerFields: z
        .array(z.string())
        .nullable()
        .default(null)
        .describe(
          'Attributes that a registration may set besides username, email and password. Private attributes and relations may be listed, even to types that the sender may not read. Anything else is ignored. null: every attribute that is not private.',
        ),
      attemptsMax: z
        .int()
        .min(0)
        .default(limits.attemptsMax)
        .describe('Login attempts per address, account and endpoint in `users.attemptsMinutes`; 0 for no limit.'),
      attemptsMinutes: z
        .number()
        .min(1 / 60)
        .max(1440)
        .default(limits.attemptsMs / 60_000)
        .describe('Minutes over which login attempts are counted, from the first of them.'),
    })
    .prefault({}),
  mail: z
    .strictObject({
      from: z
        .string()
        .nullable()
        .default(null)
        .describe("Sender of all mails, unless code names another; null for the sender in v4's mail templates."),
      replyTo: z
        .string()
        .nullable()
        .default(null)
        .describe('Address for replies to mails that name none themselves; null: they go to the sender.'),
    })
    .prefault({}),
  webhooks: z
    .strictObject({
      defaultHeaders: z
        .record(z.string(), z.string())
        .default({})
        .describe(
          "Headers that every webhook is sent, as in v4's `config/server`; those of the webhook itself take precedence.",
        ),
    })
    .prefault({}),
  project: z
    .strictObject({
      runCode: z
        .boolean()
        .default(true)
        .describe(
          "Whether the code of a v4 project runs, if it has any: routes, policies, middlewares, controllers, services, lifecycles, src/index and extensions of users-permissions. See [A v4 project's code](project-code.md).",
        ),
      ignoreCode: z
        .array(z.string())
        .default([])
        .describe(
          'Files or folders of v4 code that are not to run, such as src/api/note/routes/note.js, and middlewares as config/middlewares names them, such as plugin::rest-cache.recv, and packages of plugins. The start is refused while code that may restrict access and does not run is not listed. A listed router with only or except serves every action.',
        ),
      acceptCode: z
        .array(z.string())
        .default([])
        .describe(
          'Files or folders of v4 code that may run although they use unsupported features and catch the resulting errors. List only code whose access decisions do not depend on those errors. A policy or middleware listed here still blocks every request once it has met one.',
        ),
    })
    .prefault({}),
  upload: z
    .strictObject({
      sizeLimit: z
        .int()
        .min(1)
        .default(limits.formFileBytesMax)
        .describe('Maximum size of the files of one request together, in bytes.'),
      s3: z
        .strictObject({
          bucket: z
            .string()
            .min(1)
            .nullable()
            .default(null)
            .describe(
              'Bucket for uploads, of their own or with a prefix; null keeps them in public/uploads. Needs `npm install @aws-sdk/client-s3 @aws-sdk/lib-storage @aws-sdk/s3-request-presigner`.',
            ),
          region: z.string().min(1).default('us-east-1').describe('Region of the bucket.'),
          endpoint: z.url().nullable().default(null).describe('URL of an S3-compatible service; null for AWS.'),
          forcePathStyle: z
            .boolean()
            .default(false)
            .describe(
              'Whether the bucket is the first segment of the path, as MinIO needs it, not a part of the host.',
            ),
          prefix: z
            .string()
            .regex(/^(?:[\w!.*'()-]+\/)*$/, 'expected a path such as uploads/')
            .default('')
            .describe('What the names of all objects begin with, such as uploads/.'),
          publicUrl: z
            .url()
            .nullable()
            .default(null)
            .describe(
              'URL at which anyone can read the bucket, such as that of a CDN. null for private buckets: files then have URLs below /uploads, which redirect to signed URLs of the bucket.',
            ),
        })
        .prefault({}),
    })
    .prefault({}),
  customFields: z
    .record(z.string(), z.enum(scalarTypeNames))
    .default({})
    .describe(
      'Types of custom fields that are not known, by name, as their plugin registers them: `{ "plugin::seo-score.score": "integer" }`.',
    ),
  indexes: z
    .record(z.string(), z.array(z.string()))
    .default({})
    .describe(
      'Indexes for lists sorted or filtered by attributes, by type, each written like the parameter `sort`: `{ "api::article.article": ["views", "kind,publishedOn:desc", "author.name"] }`. Each serves its order and the opposite one. Created by the next start or sync, and dropped when it is no longer named.',
    ),
  threads: z
    .int()
    .min(0)
    .max(64)
    .nullable()
    .default(null)
    .describe(
      `SQLite: threads that read, beside one that writes. Each takes some 20 MB under load, and up to ${limits.sqliteSpareThreads} more start while reads take long. 0 runs all statements in the thread that serves requests, so that each waits for the others. null: one per core, at most ${limits.sqliteThreads}.`,
    ),
  memory: z
    .strictObject({
      answersMb: z
        .number()
        .min(0)
        .max(1024)
        .default(16)
        .describe(
          'Memory for responses cached until the database changes, and for their compressed forms; 0 disables the cache.',
        ),
      entriesMb: z
        .number()
        .min(0)
        .max(1024)
        .default(limits.entriesBytesMax / 1024 / 1024)
        .describe(
          'Memory for entries kept as they were rendered, until a table changes that they are read from: other pages, filters and sorts that show them read only their ids. An eighth of it is for orders of lists that no index gives, so that later pages are not sorted again. 0 keeps none.',
        ),
    })
    .prefault({}),
});
type GivenConfig = z.infer<typeof configSchema>;
export interface Config extends GivenConfig {
  readonly api: GivenConfig['api'] & { readonly strict: boolean };
}

const port = z.coerce.number().int().min(0).max(65_535);
export const environmentSchema = z.object({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on; 0.0.0.0 for all.'),
  PORT: port.default(1337).describe('Port to listen on.'),
  METRICS_PORT: port
    .optional()
    .describe(
      'Port of `GET /metrics`, in the format of Prometheus; none without it. Not for the public: see METRICS_HOST.',
    ),
  METRICS_HOST: z.string().default('127.0.0.1').describe('Address to listen on for METRICS_PORT.'),
  NODE_ENV: z
    .string()
    .default('development')
    .describe(
      '`production` refuses to start without secrets. Any other value counts as `development`; the start warns of those but `test`.',
    ),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('`debug` logs every request.'),
  DATABASE_CLIENT: z
    .enum(['sqlite', 'postgres'])
    .default('sqlite')
    .describe(
      'The database; others are not supported. `postgres` by default if DATABASE_URL begins with postgres: or postgresql:.',
    ),
  DATABASE_FILENAME: z
    .string()
    .default('.tmp/data.db')
    .describe(
      'SQLite file, relative to the project folder. It and its folder are created if missing, so a typo starts an empty database.',
    ),
  DATABASE_URL: z
    .string()
    .optional()
    .describe('PostgreSQL URL, whose sslmode and search_path take precedence; or use the variables below.'),
  DATABASE_HOST: z.string().default('127.0.0.1').describe('PostgreSQL host.'),
  DATABASE_PORT: port.default(5432).describe('PostgreSQL port.'),
  DATABASE_NAME: z.string().default('strapi').describe('PostgreSQL database.'),
  DATABASE_USERNAME: z.string().default('strapi').describe('PostgreSQL user.'),
  DATABASE_PASSWORD: z.string().default('').describe('PostgreSQL password.'),
  DATABASE_SSL: z
    .enum(['true', 'false'])
    .default('false')
    .describe('Whether to connect to PostgreSQL over TLS; also applies to DATABASE_URL.'),
  DATABASE_SSL_REJECT_UNAUTHORIZED: z
    .enum(['true', 'false'])
    .optional()
    .describe('Whether the certificate of PostgreSQL is verified with DATABASE_SSL. Not by default.'),
  DATABASE_SSL_CA: z
    .string()
    .optional()
    .describe(
      'Certificate (PEM text) against which that of PostgreSQL is verified; in .env, put it in quotes and keep its line breaks.',
    ),
  DATABASE_SSL_CERT: z.string().optional().describe('Certificate of this server for PostgreSQL, as text.'),
  DATABASE_SSL_KEY: z.string().optional().describe('Its key, as text.'),
  DATABASE_POOL_MAX: z.coerce
    .number()
    .int()
    .min(2)
    .max(100)
    .default(limits.connectionsMax)
    .describe('Connections in the pool of each process; two more are used for notifications.'),
  DATABASE_SCHEMA: z.string().default('public').describe('PostgreSQL schema; also applies to DATABASE_URL.'),
  DATABASE_PREPARED: z
    .enum(['auto', 'always', 'never'])
    .default('auto')
    .describe(
      'Whether statements are prepared by name on PostgreSQL. `auto`: unless a pooler such as PgBouncer is detected; `always` suits PgBouncer from 1.21 with `max_prepared_statements`.',
    ),
  JWT_SECRET: z
    .string()
    .optional()
    .describe("Signs JWTs of users; v4's name and value. Generated into `.env` outside production."),
  API_TOKEN_SALT: z.string().optional().describe("Salt of API tokens; v4's name and value. Generated in the same way."),
  ADMIN_JWT_SECRET: z
    .string()
    .optional()
    .describe(
      "Signs the tokens of administrators, see [administrators.md](administrators.md); v4's name. Needed where the Studio is on, and generated in the same way.",
    ),
  WEBHOOK_SECRET: z
    .string()
    .optional()
    .describe(
      'Signs webhooks, see [webhooks.md](webhooks.md): `whsec_` and at least 24 bytes in base64. Without it they are not signed, as in v4.',
    ),
  AWS_ACCESS_KEY_ID: z
    .string()
    .optional()
    .describe(
      'Key for `upload.s3`, which may get, put, delete and list objects. Without one the AWS client looks for profiles and roles of the machine.',
    ),
  AWS_SECRET_ACCESS_KEY: z.string().optional().describe('Its secret.'),
  AWS_SESSION_TOKEN: z.string().optional().describe('Its token, if it is temporary.'),
  SMTP_HOST: z
    .string()
    .optional()
    .describe('Mail server. Without one no e-mail is sent: production discards e-mails, development logs them.'),
  SMTP_PORT: port.default(587).describe('Port of the mail server; 465 uses implicit TLS.'),
  SMTP_USERNAME: z.string().optional().describe('User name for the mail server.'),
  SMTP_PASSWORD: z.string().optional().describe('Password for the mail server.'),
});
export type Environment = z.infer<typeof environmentSchema>;

/** @param file what the value was read from. */
const check = <T>(schema: z.ZodType<T>, value: unknown, source: string, file = source): T => {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const faults = describeConfigFaults(schema, value, parsed.error.issues);
  throw new StartFault(faults.map((it) => `${source}: ${it.line}`).join('\n'), {
    notes: faults.map(({ place, line }) => ({ file, place, message: line })),
  });
};

interface VariableNote {
  /** `.env`, or `environment` for a variable of the process. */
  readonly file: string;
  readonly message: string;
}

/** Variables without effect: those that are probably misspelt, and the URL of a PostgreSQL that is not used. */
export const uselessVariables = (
  projectDir: string,
  outside: NodeJS.ProcessEnv,
  env: Environment,
): readonly VariableNote[] => {
  const names = Object.keys(variablesInFile(projectDir, outside));
  const file = path.relative(projectDir, environmentFile(projectDir, outside));
  const missing = Object.keys(environmentSchema.shape).filter((it) => !names.includes(it) && !(it in outside));
  const isSqlite = env.DATABASE_CLIENT === 'sqlite';
  const unused = isSqlite && (env.DATABASE_URL ?? '') !== '';
  const choosing = ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL'];
  return [
    ...misspelt(names, missing, file),
    // the environment holds variables of other programs, too
    ...misspelt(
      Object.keys(outside),
      missing.filter((it) => (isSqlite ? choosing.includes(it) : it.startsWith('DATABASE_'))),
      'environment',
    ),
    ...(unused
      ? [
          {
            file: names.includes('DATABASE_URL') ? file : 'environment',
            message: 'DATABASE_URL is set but not used, because DATABASE_CLIENT is sqlite; remove one of them',
          },
        ]
      : []),
  ];
};

/** Names that are unknown, and one or two letters from one that is missing. */
const misspelt = (given: readonly string[], missing: readonly string[], file: string): readonly VariableNote[] =>
  given.flatMap((name) => {
    if (Object.hasOwn(environmentSchema.shape, name)) return [];
    // other names belong to the project, and short ones are alike by chance
    const meant = missing.find((it) => distance(name.toUpperCase(), it) <= (it.length < 9 ? 0 : 2));
    return meant === undefined ? [] : [{ file, message: `${name} has no effect; did you mean ${meant}?` }];
  });

export interface Variables extends Readonly<Record<string, string | undefined>> {
  readonly NODE_ENV: string;
}

/** All variables; those of the process take precedence over the project's `.env`. NODE_ENV is `development` if it is not set, as in v4. */
export const readVariables = (projectDir: string, outside: NodeJS.ProcessEnv): Variables => {
  const given: NodeJS.Dict<string> = { ...variablesInFile(projectDir, outside), ...outside };
  return { ...given, NODE_ENV: given['NODE_ENV'] || 'development' };
};

/** `.env`, or the file that ENV_PATH names, as in v4. */
export const environmentFile = (projectDir: string, outside: NodeJS.ProcessEnv): string =>
  path.resolve(projectDir, outside['ENV_PATH'] ?? '.env');

export const variablesInFile = (
  projectDir: string,
  outside: NodeJS.ProcessEnv,
): Readonly<Record<string, string | undefined>> => {
  const file = environmentFile(projectDir, outside);
  return fs.existsSync(file) ? parseEnv(readText(file)) : {};
};

/** Variables beside those of the process that code of the project finds in `process.env`. */
const shared = new Map<string, string>();

/** The variables of this process as it was started. */
export const outsideVariables = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name, text]) => shared.get(name) !== text));

/** Code of v4 projects reads `process.env` too, where v4 puts the variables of `.env` that are not set, and NODE_ENV. */
export const shareVariables = (projectDir: string): void => {
  const outside = outsideVariables();
  for (const name of shared.keys()) if (outside[name] === undefined) delete process.env[name];
  shared.clear();
  for (const [name, text] of Object.entries(readVariables(projectDir, outside)))
    if (text !== undefined && outside[name] !== text) {
      shared.set(name, text);
      process.env[name] = text;
    }
};

/** The same for as long as the work takes. */
export const withVariables = async <T>(projectDir: string, work: () => Promise<T>): Promise<T> => {
  shareVariables(projectDir);
  try {
    return await work();
  } finally {
    for (const [name, text] of shared) if (process.env[name] === text) delete process.env[name];
    shared.clear();
  }
};

/** The secrets of v4's environment that the server needs. */
export const secretNames = ['JWT_SECRET', 'API_TOKEN_SALT', 'ADMIN_JWT_SECRET'] as const;

/** The environment. @param settings of v4's `config/`, for variables that are not set. */
export const readEnvironment = (
  projectDir: string,
  outside: NodeJS.ProcessEnv,
  settings: readonly V4Setting[] = [],
): Environment => {
  const variables = readVariables(projectDir, outside);
  const given: Record<string, unknown> = Object.fromEntries(
    Object.entries({
      // other variables are set empty on purpose, to override the file; without these there is no server
      ...definedIn(pick(variablesInFile(projectDir, outside), secretNames)),
      ...variableTargets(settings, variables),
      ...definedIn(variables),
    }),
  );
  const { DATABASE_CLIENT: client, DATABASE_URL: url } = given as Readonly<Record<string, string | undefined>>;
  // a URL without a client: the default would silently open an empty SQLite file
  if (client === undefined && url !== undefined) {
    if (!/^postgres(ql)?:/.test(url))
      throw new StartFault(
        `environment: DATABASE_URL begins with "${url.split(':')[0]}:", expected "postgres:" or "postgresql:". For SQLite set DATABASE_CLIENT=sqlite and DATABASE_FILENAME.`,
      );
    given['DATABASE_CLIENT'] = 'postgres';
  }
  return check(environmentSchema, given, 'environment', '.env');
};

/** Without those that are empty. */
export const definedIn = (variables: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(variables).filter((it): it is [string, string] => it[1] !== undefined && it[1] !== ''),
  );

/** Without the byte order mark of some editors, which would be a part of the first name. */
const readText = (file: string): string => {
  try {
    return fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (fault) {
    throw new StartFault(`${file}: cannot be read: ${(fault as Error).message}`);
  }
};

export interface FoundConfig {
  readonly config: Config;
  /** What the file itself says; an empty object if there is none. */
  readonly given: unknown;
}

/** The configuration file, or the defaults. TypeScript needs no build step. */
export const readConfig = async (projectDir: string): Promise<FoundConfig> => {
  const found = configNames.filter((it) => fs.existsSync(path.join(projectDir, it)));
  const [name, ...others] = found;
  if (name === undefined) {
    refuseMisnamed(projectDir);
    return { config: defaultConfig(projectDir), given: {} };
  }
  if (others.length > 0) throw new StartFault(`${enumerated(found)} exist: keep one of them.`);
  const given = underNewNames(await readFile(path.join(projectDir, name)));
  return { config: completeConfig(check(configSchema, given, name), projectDir), given };
};

/** `users.attemptsPerMinute` was the name of `attemptsMax` when its time was a minute. */
const underNewNames = (given: unknown): unknown => {
  const { users, ...others } = (given ?? {}) as { readonly users?: unknown };
  if (typeof users !== 'object' || users === null || !('attemptsPerMinute' in users)) return given;
  const { attemptsPerMinute: attemptsMax, ...rest } = users;
  return { ...others, users: { attemptsMax, attemptsMinutes: 1, ...rest } };
};

/** Refuses a file that was meant to be it: the defaults may be less safe than what it says. */
const refuseMisnamed = (projectDir: string): void => {
  // `dovetail.conf` may be that of a proxy
  const misnamed = /^(?:\.dovetailrc|\.?dovetail[._-]?conf(?:ig)?\.(?:[cm]?[jt]s|jsonc?|ya?ml|toml))$/i;
  const name = fs.existsSync(projectDir) ? fs.readdirSync(projectDir).find((it) => misnamed.test(it)) : undefined;
  if (name === undefined) return;
  const own = `dovetail.config${path.extname(name)}`;
  const meant = configNames.includes(own) ? own : 'dovetail.config.json';
  throw new StartFault(`${name} is not read: the configuration of a project is in ${meant}.`);
};

/** The configuration with settings of v4's `config/` where the file says nothing. */
export const withV4Settings = ({ config, given }: FoundConfig, settings: readonly V4Setting[]): Config => {
  const all = structuredClone(config);
  for (const { name, value } of configTargets(settings, (it) => has(given, it))) set(all, name, value);
  return all;
};

/** The configuration of a project without a file. */
export const defaultConfig = (projectDir: string): Config => completeConfig(configSchema.parse({}), projectDir);

const completeConfig = (given: GivenConfig, projectDir: string): Config => ({
  ...given,
  api: { ...given.api, strict: given.api.strict ?? !dependsOnStrapi(projectDir) },
});

const readFile = async (file: string): Promise<unknown> => {
  const name = path.basename(file);
  const refused = (message: string, cause?: unknown): StartFault =>
    new StartFault(`${name}: ${message}`, { cause, notes: [{ file: name, place: '', message }] });
  const isModule = !file.endsWith('.json');
  let given: unknown;
  try {
    given = isModule ? await importModule(file) : JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (fault) {
    throw refused(`cannot be read: ${(fault as Error).message}`, fault);
  }
  const names = isModule ? strayNames(given) : [];
  if (names.length > 0)
    throw refused(
      `exports ${enumerated(names)} by name, but the configuration is the default export: write "export default { … };".`,
    );
  return given;
};

/** What an ES module without a default export exports beside settings; the importer gives all that such a module exports. */
const strayNames = (given: unknown): readonly string[] => {
  const all = (given ?? {}) as { readonly __esModule?: unknown; readonly [Symbol.toStringTag]?: unknown };
  const isWhole = all.__esModule === true || all[Symbol.toStringTag] === 'Module';
  return isWhole && !('default' in all) ? Object.keys(all).filter((name) => !(name in configSchema.shape)) : [];
};

/** How PostgreSQL is known to be the right one; null if it is not looked at, or the URL says how. */
export const tlsOf = (env: Environment): Tls | null => {
  const { DATABASE_SSL_CA: ca, DATABASE_SSL_CERT: cert, DATABASE_SSL_KEY: key } = env;
  const rejectUnauthorized = env.DATABASE_SSL_REJECT_UNAUTHORIZED === 'true';
  if (env.DATABASE_SSL !== 'true' || (!rejectUnauthorized && cert === undefined && key === undefined)) return null;
  if (/[?&]ssl(?:mode)?=/.test(env.DATABASE_URL ?? '')) return null;
  return { rejectUnauthorized, ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
};

/** The URL to connect to. Parameters in DATABASE_URL take precedence over DATABASE_SSL and DATABASE_SCHEMA. */
export const postgresUrl = (env: Environment): string => {
  // kept as a string: the driver accepts forms that URL does not, such as several hosts
  const url = env.DATABASE_URL ?? urlOfParts(env);
  const [, search = ''] = url.split(/\?(.*)/s);
  const named = new URLSearchParams(search);
  const added = new URLSearchParams();
  if (env.DATABASE_SSL === 'true' && !named.has('sslmode') && !named.has('ssl')) added.set('sslmode', 'require');
  if (env.DATABASE_SCHEMA !== 'public' && !named.has('search_path'))
    added.set('search_path', searchPathOf(env.DATABASE_SCHEMA));
  return added.size === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${added}`;
};

/** As in v4 the name has the case in which it is written; a list, or what is quoted already, stays as it is. */
const searchPathOf = (schema: string): string => (/^[a-z_][a-z0-9_]*$|[",]/.test(schema) ? schema : `"${schema}"`);

const urlOfParts = (env: Environment): string => {
  const url = new URL('postgres://localhost');
  const host = env.DATABASE_HOST;
  // a folder of sockets has no place in a URL but this one, and what is no host name would be ignored
  if (host.startsWith('/')) url.searchParams.set('host', host);
  else url.hostname = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  url.port = String(env.DATABASE_PORT);
  url.username = encodeURIComponent(env.DATABASE_USERNAME);
  url.password = encodeURIComponent(env.DATABASE_PASSWORD);
  url.pathname = `/${encodeURIComponent(env.DATABASE_NAME)}`;
  return url.href;
};
