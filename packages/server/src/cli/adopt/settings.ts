/** v4's configuration in terms of Dovetail's: the database, the secrets, and each setting that has a counterpart. */
import fs from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Config, type Environment, environmentSchema } from '../config.js';
import { type UnfitSecret, unfitSecrets } from '../secrets.js';
import {
  type DatabaseVariables,
  databaseOf,
  MOVE_DATABASE,
  type OtherClient,
  unsupportedDatabase,
} from '../v4project/database.js';
import { readV4Settings, type V4Setting, valueIn } from '../v4project/settings.js';
import { objectAt, textAt, valueAt } from '../v4project/values.js';
import type { Obstacle, Setting, Variable } from './report.js';
import type { ConfigPart, V4Config } from './v4-config.js';

// ---- the database

/** Where the database is, as the variables under which Dovetail opens it. */
export interface DatabaseAddress {
  readonly client: 'sqlite' | 'postgres';
  readonly given: DatabaseVariables;
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
  if (scheme !== undefined)
    return unsupported({ client: null, name: /mysql|maria/i.test(scheme) ? 'MySQL or MariaDB' : scheme });
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
  const found = databaseOf(dir, client, settings);
  return found.client === null ? unsupported(found) : { ok: true, address: { ...found, ...source } };
};

const unsupported = (found: OtherClient): FoundAddress => ({
  ok: false,
  obstacle: { code: 'database.unsupported', message: unsupportedDatabase(found), cure: MOVE_DATABASE },
});

/** The environment under which Dovetail opens the database; names that are not given have their defaults. */
export const environmentOf = ({ given }: DatabaseAddress): Environment => environmentSchema.parse(given);

// ---- variables

const secretNames: readonly string[] = [
  'DATABASE_URL',
  'DATABASE_PASSWORD',
  'DATABASE_SSL_KEY',
  'JWT_SECRET',
  'API_TOKEN_SALT',
];

/**
 * Variables that must be set for Dovetail to find what v4 finds, because v4 reads them elsewhere.
 * @param isRead whether Dovetail reads `config/` too.
 */
export const missingVariables = (
  dir: string,
  config: V4Config,
  address: DatabaseAddress,
  isRead: boolean,
): readonly Variable[] => {
  const wanted: readonly (readonly [string, string, ConfigPart | null])[] = [
    ...Object.entries(address.given).map(
      ([name, value]) => [name, value, address.from === '--database' ? null : config.part('database')] as const,
    ),
    ...(!isRead && address.given.DATABASE_URL === undefined && address.client === 'postgres'
      ? [['DATABASE_URL', '', config.part('database')] as const]
      : []),
    ...secretsOf(config).flatMap((it) => (it.value === null ? [] : [[it.name, it.value, it.part] as const])),
  ];
  const defaults: Readonly<Record<string, unknown>> = environmentSchema.parse({});
  return wanted.flatMap(([name, value, part]): readonly Variable[] => {
    const read = isRead && part !== null ? value : String(defaults[name] ?? '');
    const own = config.variables[name] ?? read;
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

/** Those that v4 has, and a start in production refuses. */
export const unfitSecretsOf = (config: V4Config): readonly UnfitSecret[] => {
  const given = Object.fromEntries(secretsOf(config).map(({ name, value }) => [name, value ?? undefined]));
  return unfitSecrets(given, {}).filter(({ why }) => why !== 'missing');
};

// ---- settings

/** v4's settings as far as they decide what clients see, and what they are here. @param own as it is obeyed. */
export const compareSettings = (settings: readonly V4Setting[], own: Config): readonly Setting[] => {
  const targets = settings.flatMap(({ target }) => (target?.kind === 'config' ? [target] : []));
  return settings.flatMap(({ v4Name, v4, verdict, target, note }): readonly Setting[] => {
    if (verdict === 'not needed') return [];
    if (verdict === 'not supported')
      return [{ name: null, v4Name, v4, dovetail: null, state: 'without', note: note ?? 'it is not known here' }];
    if (target?.kind !== 'config') return [];
    const { name, value } = target;
    const dovetail = valueAtPath(own, name) ?? null;
    const isSame = isDeepStrictEqual(valueIn(targets, target), dovetail);
    const isExposing = name === 'api.responses.privateAttributes' && Array.isArray(value) && value.length > 0;
    const why = isExposing ? 'without it these attributes are shown to everyone' : note;
    return [{ name, v4Name, v4: value, dovetail, state: isSame ? 'same' : 'set', note: why }];
  });
};

/** What the files of `config/` say, as far as they can be evaluated. @param ignoreCode files and folders that the start leaves out. */
export const settingsOf = (dir: string, config: V4Config, ignoreCode: readonly string[]): readonly V4Setting[] =>
  readV4Settings({
    dir,
    ignored: new Set(ignoreCode),
    part: (name) => {
      const { files, value, errors } = config.part(name);
      const isIgnored = files.every((file) => ignoreCode.some((it) => file === it || file.startsWith(`${it}/`)));
      return isIgnored || errors.length === files.length ? undefined : value;
    },
  });

/** The object for dovetail.config.json that makes all of them the same; null if they are. */
export const configFor = (settings: readonly Setting[]): object | null => {
  const root: Record<string, unknown> = {};
  const all = settings.flatMap(({ name, v4 }) => (name === null ? [] : [{ name, value: v4 }]));
  for (const { name, v4, state } of settings) {
    if (state !== 'set' || name === null) continue;
    const keys = name.split('.');
    let at = root;
    for (const key of keys.slice(0, -1)) {
      at[key] ??= {};
      at = at[key] as Record<string, unknown>;
    }
    at[keys.at(-1)!] = valueIn(all, { name, value: v4 });
  }
  return Object.keys(root).length === 0 ? null : root;
};

const valueAtPath = (value: unknown, name: string): unknown => name.split('.').reduce(valueAt, value);
