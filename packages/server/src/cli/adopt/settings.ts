/** v4's configuration in terms of Dovetail's: the database, the secrets, and each setting that has a counterpart. */
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Config, type Environment, environmentSchema } from '../config.js';
import type { Obstacle, Setting, Variable } from './report.js';
import type { ConfigPart, V4Config } from './v4-config.js';

// ---- the database

type DatabaseVariable =
  | 'DATABASE_CLIENT'
  | 'DATABASE_FILENAME'
  | 'DATABASE_URL'
  | 'DATABASE_HOST'
  | 'DATABASE_PORT'
  | 'DATABASE_NAME'
  | 'DATABASE_USERNAME'
  | 'DATABASE_PASSWORD'
  | 'DATABASE_SSL'
  | 'DATABASE_SCHEMA';

/** Where the database is, as the variables under which Dovetail opens it. */
export interface DatabaseAddress {
  readonly client: 'sqlite' | 'postgres';
  readonly given: Readonly<Partial<Record<DatabaseVariable, string>>>;
  readonly from: string;
  /** Variables that v4's configuration reads it from. */
  readonly variables: readonly string[];
}

export type FoundAddress =
  | { readonly ok: true; readonly address: DatabaseAddress }
  | { readonly ok: false; readonly obstacle: Obstacle };

/** The database by the option, by v4's configuration, or by variables with v4's usual names, in this order. */
export const findAddress = (
  dir: string,
  config: V4Config,
  { database }: { readonly database: string | null },
): FoundAddress => {
  if (database !== null) return addressOfFlag(database);
  const part = config.part('database');
  const connection = objectAt(part.value, 'connection');
  const client = textAt(connection, 'client');
  if (part.errors.length === 0 && client !== null) {
    const variables = part.variables.filter((it) => it.value !== null).map((it) => it.name);
    return addressOf(dir, client, connection, { from: part.files.join(' and '), variables });
  }
  const named = Object.keys(config.variables).filter((it) => /^DATABASE_(CLIENT|URL|FILENAME|HOST|NAME)$/.test(it));
  const usual = path.join(dir, '.tmp/data.db');
  if (named.length > 0) {
    const own = config.variables;
    const url = own['DATABASE_URL'];
    const usualClient = own['DATABASE_CLIENT'] ?? (url === undefined ? 'sqlite' : url.replace(/:.*/s, ''));
    const usualConnection = {
      connection: {
        filename: own['DATABASE_FILENAME'] ?? '.tmp/data.db',
        ...(url === undefined ? {} : { connectionString: url }),
        host: own['DATABASE_HOST'],
        port: own['DATABASE_PORT'],
        database: own['DATABASE_NAME'],
        user: own['DATABASE_USERNAME'],
        password: own['DATABASE_PASSWORD'],
        ssl: own['DATABASE_SSL'] === 'true',
        schema: own['DATABASE_SCHEMA'],
      },
    };
    return addressOf(dir, usualClient, usualConnection, { from: 'the environment', variables: named });
  }
  if (fs.existsSync(usual))
    return addressOf(dir, 'sqlite', { connection: { filename: usual } }, { from: "v4's default", variables: [] });
  const why =
    part.files.length === 0
      ? 'There is no config/database.js or .ts'
      : `The database cannot be read from ${part.files.join(' and ')} (${part.errors.join('; ') || 'it names no client'})`;
  return {
    ok: false,
    obstacle: {
      code: 'database.unknown',
      message: `${why}, and no variable such as DATABASE_FILENAME or DATABASE_URL is set.`,
      cure: 'Name it: --database FILE, or --database postgres://USER:PASSWORD@HOST:PORT/NAME. If the settings are those of production, add --env production.',
    },
  };
};

const addressOfFlag = (database: string): FoundAddress => {
  const source = { from: '--database', variables: [] };
  if (/^postgres(ql)?:/.test(database))
    return {
      ok: true,
      address: { client: 'postgres', given: { DATABASE_CLIENT: 'postgres', DATABASE_URL: database }, ...source },
    };
  const scheme = /^(\w+):\/\//.exec(database)?.[1];
  if (scheme !== undefined) return unsupported(scheme);
  const file = path.resolve(database);
  return {
    ok: true,
    address: { client: 'sqlite', given: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file }, ...source },
  };
};

const addressOf = (
  dir: string,
  client: string,
  settings: unknown,
  source: Pick<DatabaseAddress, 'from' | 'variables'>,
): FoundAddress => {
  const text = (key: string): string | undefined => textAt(connection, key) ?? undefined;
  const given = valueAt(settings, 'connection');
  const connection = typeof given === 'string' ? { connectionString: given } : given;
  if (/sqlite/.test(client)) {
    const file = path.resolve(dir, text('filename') ?? '.tmp/data.db');
    return {
      ok: true,
      address: { client: 'sqlite', given: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file }, ...source },
    };
  }
  if (!/^(pg|postgres)/.test(client)) return unsupported(client);
  const ssl = valueAt(connection, 'ssl');
  const all: Partial<Record<DatabaseVariable, string | undefined>> = {
    DATABASE_CLIENT: 'postgres',
    DATABASE_URL: text('connectionString'),
    ...(text('connectionString') === undefined
      ? {
          DATABASE_HOST: text('host'),
          DATABASE_PORT: text('port'),
          DATABASE_NAME: text('database'),
          DATABASE_USERNAME: text('user'),
          DATABASE_PASSWORD: text('password'),
        }
      : {}),
    DATABASE_SSL: ssl === true || (typeof ssl === 'object' && ssl !== null) ? 'true' : 'false',
    DATABASE_SCHEMA: text('schema'),
  };
  const known = Object.fromEntries(Object.entries(all).filter(([, it]) => it !== undefined && it !== ''));
  return { ok: true, address: { client: 'postgres', given: known, ...source } };
};

const unsupported = (client: string): FoundAddress => ({
  ok: false,
  obstacle: {
    code: 'database.unsupported',
    message: `The database is ${/mysql|maria/i.test(client) ? 'MySQL or MariaDB' : client}. Dovetail serves SQLite and PostgreSQL.`,
    cure: 'Move the content with v4 itself: `strapi export` here, and `strapi import` into the same project configured for an empty PostgreSQL. Then adopt that.',
  },
});

/** The environment under which Dovetail opens the database; names that are not given have their defaults. */
export const environmentOf = ({ given }: DatabaseAddress): Environment => environmentSchema.parse(given);

// ---- variables

const secretNames: readonly string[] = ['DATABASE_URL', 'DATABASE_PASSWORD', 'JWT_SECRET', 'API_TOKEN_SALT'];

/** Variables that must be set for Dovetail to find what v4 finds, because v4 reads them elsewhere. */
export const missingVariables = (dir: string, config: V4Config, address: DatabaseAddress): readonly Variable[] => {
  const wanted: readonly (readonly [string, string, ConfigPart | null])[] = [
    ...Object.entries(address.given).map(
      ([name, value]) => [name, value, address.from === '--database' ? null : config.part('database')] as const,
    ),
    ...(address.given.DATABASE_URL === undefined && address.client === 'postgres'
      ? [['DATABASE_URL', '', config.part('database')] as const]
      : []),
    ...secretsOf(config).flatMap((it) => (it.value === null ? [] : [[it.name, it.value, it.part] as const])),
  ];
  const defaults: Readonly<Record<string, unknown>> = environmentSchema.parse({});
  return wanted.flatMap(([name, value, part]): readonly Variable[] => {
    const own = config.variables[name] ?? String(defaults[name] ?? '');
    const isSame =
      name === 'DATABASE_FILENAME' ? path.resolve(dir, own || '.') === path.resolve(dir, value) : own === value;
    // a URL alone selects PostgreSQL
    if (isSame || (name === 'DATABASE_CLIENT' && address.given.DATABASE_URL !== undefined)) return [];
    const equal = part?.variables.filter((it) => it.value === value && value !== '' && it.name !== name) ?? [];
    // several may have the same value, as a user `postgres` and a client
    const [, word = name] = /_([A-Z]{4})[A-Z]*$/.exec(name) ?? [];
    const variable = (equal.find((it) => it.name.toUpperCase().includes(word)) ?? equal[0])?.name ?? null;
    const shown = secretNames.includes(name) && value !== '' ? null : relativeIf(name, dir, value);
    const from = variable === null ? (part?.files.join(' and ') ?? '--database') : `the variable ${variable}`;
    return [{ name, value: shown, from, variable }];
  });
};

const relativeIf = (name: string, dir: string, value: string): string => {
  if (name !== 'DATABASE_FILENAME') return value;
  const relative = path.relative(dir, value);
  return relative.startsWith('..') ? value : relative;
};

interface Secret {
  readonly name: 'JWT_SECRET' | 'API_TOKEN_SALT';
  /** Null if v4 has none. */
  readonly value: string | null;
  readonly part: ConfigPart;
}

/** The secrets that the content API needs, as v4 knows them. */
export const secretsOf = (config: V4Config): readonly Secret[] => {
  const plugins = config.part('plugins');
  const admin = config.part('admin');
  const own = (name: Secret['name']): string | null => config.variables[name] ?? null;
  return [
    {
      name: 'JWT_SECRET',
      value: textAt(objectAt(plugins.value, 'users-permissions', 'config'), 'jwtSecret') ?? own('JWT_SECRET'),
      part: plugins,
    },
    {
      name: 'API_TOKEN_SALT',
      value: textAt(objectAt(admin.value, 'apiToken'), 'salt') ?? own('API_TOKEN_SALT'),
      part: admin,
    },
  ];
};

// ---- settings

/** v4's settings that decide what clients see, and what the same are here. */
export const compareSettings = (config: V4Config, own: Config): readonly Setting[] => {
  const api = config.part('api').value;
  const rest = objectAt(api, 'rest');
  const server = config.part('server').value;
  const compare = (name: string, v4Name: string, v4: unknown, note: string | null = null): Setting => {
    const isObeyed = own.project.runCode && obeyedWithCode.has(name);
    const dovetail = isObeyed ? v4 : (pathAt(own, name) ?? null);
    return { name, v4Name, v4, dovetail, state: isDeepStrictEqual(v4, dovetail) ? 'same' : 'set', note };
  };
  const numberOr = (value: unknown, fallback: number | null): number | null =>
    typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : fallback;
  const prefix = textAt(rest, 'prefix') ?? '/api';
  const privateAttributes = listAt(objectAt(api, 'responses'), 'privateAttributes');
  const url = textAt(server, 'url');
  return [
    compare('api.rest.prefix', 'api.rest.prefix', prefix),
    compare('api.rest.defaultLimit', 'api.rest.defaultLimit', numberOr(rest['defaultLimit'], 25)),
    compare(
      'api.rest.maxLimit',
      'api.rest.maxLimit',
      numberOr(rest['maxLimit'], null),
      rest['maxLimit'] === undefined ? 'v4 has no maximum unless config/api sets one' : null,
    ),
    compare('api.rest.withCount', 'api.rest.withCount', rest['withCount'] !== false),
    compare(
      'api.responses.privateAttributes',
      'api.responses.privateAttributes',
      privateAttributes,
      privateAttributes.length > 0 ? 'without it these attributes are shown to everyone' : null,
    ),
    compare('cors.origin', 'middlewares strapi::cors origin', corsOf(config.part('middlewares').value)),
    compare('server.trustProxy', 'server.proxy', isTruthy(valueAt(server, 'proxy'))),
    ...(url !== null && /^https?:/.test(url) ? [compare('server.url', 'server.url', url)] : []),
    ...pluginSettings(config.part('plugins').value, compare),
    ...withoutCounterpart(config),
  ];
};

/** Settings that the server takes from `config/` if it runs the code of the project (`cli/v4code.ts`). */
const obeyedWithCode: ReadonlySet<string> = new Set([
  'api.rest.prefix',
  'api.rest.defaultLimit',
  'api.rest.maxLimit',
  'api.rest.withCount',
  'users.jwtDays',
]);

const corsOf = (middlewares: unknown): unknown => {
  const cors = Array.isArray(middlewares) ? middlewares.find((it) => textAt(it, 'name') === 'strapi::cors') : undefined;
  const origin = valueAt(objectAt(cors, 'config'), 'origin');
  if (Array.isArray(origin)) return origin.includes('*') ? '*' : origin;
  return typeof origin === 'string' && origin !== '*' ? origin.split(',').map((it) => it.trim()) : '*';
};

type Compare = (name: string, v4Name: string, v4: unknown, note?: string | null) => Setting;

const pluginSettings = (plugins: unknown, compare: Compare): readonly Setting[] => {
  const users = objectAt(plugins, 'users-permissions', 'config');
  const upload = objectAt(plugins, 'upload', 'config');
  const expires = daysOf(valueAt(objectAt(users, 'jwt'), 'expiresIn'));
  const sizeLimit = valueAt(upload, 'sizeLimit') ?? valueAt(objectAt(upload, 'providerOptions'), 'sizeLimit');
  return [
    ...(expires === null ? [] : [compare('users.jwtDays', 'users-permissions.jwt.expiresIn', expires)]),
    ...(typeof sizeLimit === 'number' ? [compare('upload.sizeLimit', 'upload.sizeLimit', sizeLimit)] : []),
    ...s3Settings(upload, compare),
  ];
};

const s3Settings = (upload: unknown, compare: Compare): readonly Setting[] => {
  if (!/aws-s3$/.test(textAt(upload, 'provider') ?? '')) return [];
  const options = objectAt(upload, 'providerOptions');
  const nested = objectAt(options, 's3Options');
  const find = (key: string): string | null =>
    textAt(options, key) ??
    textAt(nested, key) ??
    textAt(objectAt(options, 'params'), key) ??
    textAt(objectAt(nested, 'params'), key);
  const all: readonly (readonly [string, string | null])[] = [
    ['bucket', find('Bucket')],
    ['region', find('region')],
    ['endpoint', find('endpoint')],
    ['publicUrl', textAt(options, 'baseUrl')],
    ['prefix', textAt(options, 'rootPath')?.replace(/^\/|\/?$/g, '') ?? null],
  ];
  return all.flatMap(([key, value]) =>
    value === null || value === ''
      ? []
      : [compare(`upload.s3.${key}`, `upload.providerOptions ${key}`, key === 'prefix' ? `${value}/` : value)],
  );
};

/** `30d`, `12h`, or seconds, as whole days. */
const daysOf = (value: unknown): number | null => {
  if (typeof value === 'number') return Math.max(1, Math.round(value / 86_400));
  const [, count, unit = ''] = /^(\d+)\s*(d|days?|h|hours?|w|weeks?|y|years?)$/.exec(String(value)) ?? [];
  if (count === undefined) return null;
  const days = { d: 1, h: 1 / 24, w: 7, y: 365 }[unit[0] as 'd' | 'h' | 'w' | 'y'];
  return Math.max(1, Math.round(Number(count) * days));
};

/** What v4's configuration sets, clients may notice, and Dovetail does not have. */
const withoutCounterpart = (config: V4Config): readonly Setting[] => {
  const plugins = config.part('plugins').value;
  const server = config.part('server').value;
  const rows: readonly (readonly [string, unknown, string])[] = [
    [
      'users-permissions.register.allowedFields',
      valueAt(objectAt(plugins, 'users-permissions', 'config', 'register'), 'allowedFields'),
      'see below: a registration here may give any other attribute, too',
    ],
    [
      'users-permissions.ratelimit',
      valueAt(objectAt(plugins, 'users-permissions', 'config'), 'ratelimit'),
      'see users.attemptsPerMinute',
    ],
    [
      'upload.breakpoints',
      valueAt(objectAt(plugins, 'upload', 'config'), 'breakpoints'),
      "formats are v4's default ones: large, medium, small",
    ],
    [
      'email.provider',
      valueAt(objectAt(plugins, 'email', 'config'), 'provider'),
      'mail goes out over SMTP: set SMTP_HOST',
    ],
    [
      'server.cron',
      valueAt(objectAt(server, 'cron'), 'enabled') === true ? true : undefined,
      'nothing runs at given times',
    ],
  ];
  return rows.flatMap(([v4Name, v4, note]) =>
    v4 === undefined || v4 === null
      ? []
      : [{ name: null, v4Name, v4, dovetail: null, state: 'without' as const, note }],
  );
};

/** The object for dovetail.config.json that makes all of them the same; null if they are. */
export const configFor = (settings: readonly Setting[]): object | null => {
  const root: Record<string, unknown> = {};
  for (const { name, v4, state } of settings) {
    if (state !== 'set' || name === null) continue;
    const keys = name.split('.');
    let at = root;
    for (const key of keys.slice(0, -1)) {
      at[key] ??= {};
      at = at[key] as Record<string, unknown>;
    }
    at[keys.at(-1)!] = v4;
  }
  return Object.keys(root).length === 0 ? null : root;
};

// ---- reading what anybody may have written

type Plain = Readonly<Record<string, unknown>>;

export const valueAt = (value: unknown, key: string): unknown =>
  value !== null && typeof value === 'object' ? (value as Plain)[key] : undefined;

/** An empty object where there is none. */
export const objectAt = (value: unknown, ...keys: readonly string[]): Plain => {
  const found = keys.reduce(valueAt, value);
  return found !== null && typeof found === 'object' && !Array.isArray(found) ? (found as Plain) : {};
};

const pathAt = (value: unknown, name: string): unknown => name.split('.').reduce(valueAt, value);

/** Numbers as text. */
const textAt = (value: unknown, key: string): string | null => {
  const found = valueAt(value, key);
  if (typeof found === 'number') return String(found);
  return typeof found === 'string' && found !== '' ? found : null;
};

const listAt = (value: unknown, key: string): readonly string[] => {
  const found = valueAt(value, key);
  return Array.isArray(found) ? found.filter((it): it is string => typeof it === 'string') : [];
};

const isTruthy = (value: unknown): boolean =>
  value === true ||
  (typeof value === 'object' && value !== null && Object.keys(value).length > 0 && valueAt(value, 'koa') !== false);
