/** The database that v4's `config/database` names, as the variables under which Dovetail opens it. */
import path from 'node:path';
import { objectAt, textAt, valueAt } from './values.js';

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
  | 'DATABASE_SSL_REJECT_UNAUTHORIZED'
  | 'DATABASE_SSL_CA'
  | 'DATABASE_SSL_CERT'
  | 'DATABASE_SSL_KEY'
  | 'DATABASE_SCHEMA'
  | 'DATABASE_POOL_MAX';

export type DatabaseVariables = Readonly<Partial<Record<DatabaseVariable, string>>>;

export interface V4Database {
  readonly client: 'sqlite' | 'postgres';
  readonly given: DatabaseVariables;
}

/** A client that is neither SQLite nor PostgreSQL, by a name for people. */
export interface OtherClient {
  readonly client: null;
  readonly name: string;
}

/** @param settings `connection` of `config/database`: `{ client, connection, pool }`. */
export const databaseOf = (dir: string, client: string, settings: unknown): V4Database | OtherClient => {
  const given = valueAt(settings, 'connection');
  const connection = typeof given === 'string' ? { connectionString: given } : given;
  const text = (key: string): string | undefined => textAt(connection, key) ?? undefined;
  if (/sqlite/.test(client)) {
    const file = path.resolve(dir, text('filename') ?? '.tmp/data.db');
    return { client: 'sqlite', given: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file } };
  }
  if (!/^(pg|postgres)/.test(client))
    return { client: null, name: /mysql|maria/i.test(client) ? 'MySQL or MariaDB' : client };
  const ssl = valueAt(connection, 'ssl');
  const isEncrypted = ssl === true || (typeof ssl === 'object' && ssl !== null);
  const url = text('connectionString');
  const all: Partial<Record<DatabaseVariable, string | undefined>> = {
    DATABASE_CLIENT: 'postgres',
    DATABASE_URL: url,
    ...(url === undefined
      ? {
          DATABASE_HOST: text('host'),
          DATABASE_PORT: text('port'),
          DATABASE_NAME: text('database'),
          DATABASE_USERNAME: text('user'),
          DATABASE_PASSWORD: text('password'),
        }
      : {}),
    DATABASE_SSL: isEncrypted ? 'true' : 'false',
    ...(isEncrypted
      ? {
          DATABASE_SSL_REJECT_UNAUTHORIZED: String(valueAt(ssl, 'rejectUnauthorized') !== false),
          DATABASE_SSL_CA: pemAt(ssl, 'ca'),
          DATABASE_SSL_CERT: pemAt(ssl, 'cert'),
          DATABASE_SSL_KEY: pemAt(ssl, 'key'),
        }
      : {}),
    DATABASE_SCHEMA: text('schema'),
    DATABASE_POOL_MAX: textAt(objectAt(settings, 'pool'), 'max') ?? undefined,
  };
  const known = Object.fromEntries(Object.entries(all).filter(([, it]) => it !== undefined && it !== ''));
  return { client: 'postgres', given: known };
};

/** A certificate or key, as a text or as what `fs.readFileSync` gives. */
const pemAt = (ssl: unknown, key: string): string | undefined => {
  const found = valueAt(ssl, key);
  return Buffer.isBuffer(found) ? found.toString('utf8') : (textAt(ssl, key) ?? undefined);
};

/** What is wrong with a database that Dovetail does not serve. */
export const unsupportedDatabase = ({ name }: OtherClient): string =>
  `The database is ${name}. Dovetail serves SQLite and PostgreSQL.`;

export const MOVE_DATABASE =
  'Move the content with v4 itself: `strapi export` here, and `strapi import` into the same project configured for an empty PostgreSQL. Then adopt that.';
