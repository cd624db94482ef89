/** Fresh, real databases for tests, on both engines. */
import fs from 'node:fs';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import memoize from 'lodash/memoize.js';
import { Client, Pool } from 'pg';
import { expect, inject } from 'vitest';
import type { Model } from '../../src/model/model.js';
import { tablesOf } from '../../src/model/storage.js';
import { execute } from '../../src/read/execute.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { applyAdditions, diffTables, planAdditions, readCatalog, type Table } from '../../src/sql/schema.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import type { Begin } from '../../src/sql/sqlite/thread.js';
import type { ThreadOptions } from '../../src/sql/sqlite/threads.js';
import { newFolder } from './folders.js';

/** The databases that tests run on: both, unless DOVETAIL_DATABASES names one (`npm run test:quick`). */
export const dialects: readonly DialectName[] = (['sqlite', 'postgres'] as const).filter(
  (it) => process.env['DOVETAIL_DATABASES']?.split(',').includes(it) ?? true,
);

/** Cases that no database decides: each runs on one of them, in turn, so that all are played and none twice. */
export const turnOf = <T>(dialect: DialectName, cases: readonly T[]): readonly T[] =>
  cases.filter((_it, place) => dialects[place % dialects.length] === dialect);

/** The same with a number of threads: SQLite without and with some. */
export const dialectsAndThreads = dialects.flatMap((dialect): readonly (readonly [DialectName, number])[] =>
  dialect === 'sqlite'
    ? [
        [dialect, 0],
        [dialect, 2],
      ]
    : [[dialect, 0]],
);

export interface TestDatabase {
  readonly db: Db;
  /** Environment variables under which a server opens the same database. */
  readonly env: Readonly<Record<string, string>>;
  /** Closes and removes it. */
  drop(): Promise<void>;
}

let serial = 0;
const freshName = (): string => {
  serial += 1;
  return `test_${process.pid}_${serial}_${Math.random().toString(36).slice(2, 8)}`;
};

/** URL of the PostgreSQL server of this worker: no other test file commits there meanwhile. */
export const ownPostgres = (): string => inject('postgresUrls')[Number(process.env['VITEST_POOL_ID']) - 1]!;

/** An empty database. @param server a PostgreSQL; the worker's own when it is not given. */
export const newDatabase = async (dialect: DialectName, server = ownPostgres()): Promise<TestDatabase> =>
  dialect === 'sqlite' ? newSqlite() : newPostgres(server);

/** Paths of a database recorded elsewhere: a SQLite file, and an SQL script for PostgreSQL. */
export type GivenData = Readonly<Record<DialectName, string>>;

interface CopyOptions {
  /** A PostgreSQL; the worker's own when it is not given. */
  readonly server?: string | undefined;
  readonly given?: GivenData;
  /** Where a copy for SQLite is to lie; in a folder of its own when it is not given. */
  readonly file?: string;
}

/** @param env the variables under which a server opens the database. */
export type Fill = (db: Db, env: Readonly<Record<string, string>>) => Promise<void>;

/**
 * A database as `fill` leaves it, at the cost of an empty one: the first use of the name in a run fills a template, of
 * which every caller gets a copy. The template begins empty, or with the given data.
 */
export const copiedDatabase = async (
  dialect: DialectName,
  name: string,
  fill: Fill,
  { server = ownPostgres(), given, file }: CopyOptions = {},
): Promise<TestDatabase> => {
  if (dialect === 'sqlite') {
    const template = path.join(inject('templatesDir'), `${name}.db`);
    if (!fs.existsSync(template)) await fillSqlite(template, fill, given?.sqlite);
    return newSqlite(template, file);
  }
  const template = `template_${name}`;
  if (!(await isDatabase(server, template))) await fillPostgres(server, template, fill, given?.postgres);
  return newPostgres(server, template);
};

/** Tests whose SQLite databases run in threads, as those of a server do; the others run in the thread of the tests. */
const testsInThreads = [
  'conformance/core-reads',
  'conformance/museum-reads',
  'conformance/repeated-writes',
  'faults/concurrency',
  'faults/constraints',
  'faults/transactions',
  'properties/relations',
  'rules/handlers',
];

/** Threads that read, beside one that writes; DOVETAIL_THREADS says the same for all tests, 0 for none. */
const sqliteThreads = (): number => {
  const { testPath = '' } = expect.getState();
  const isListed = testsInThreads.some((it) => testPath.includes(`/test/${it}`));
  return Number(process.env['DOVETAIL_THREADS'] ?? (isListed ? 2 : 0));
};

export const threadOptions = (count: number): ThreadOptions => ({
  count,
  module: new URL('./thread.mjs', import.meta.url),
  begin: execute as Begin,
});

const newSqlite = async (template?: string, file = path.join(newFolder(), 'test.db')): Promise<TestDatabase> => {
  const dir = path.dirname(file);
  fs.mkdirSync(dir, { recursive: true });
  if (template !== undefined) fs.copyFileSync(template, file);
  const db = await openSqlite(file);
  const threads = sqliteThreads();
  if (threads > 0) await db.startThreads(threadOptions(threads));
  return {
    db,
    env: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file },
    drop: async () => {
      await db.close();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
};

const newPostgres = async (server: string, template?: string): Promise<TestDatabase> => {
  const name = freshName();
  await administer(
    server,
    template === undefined
      ? `create database ${name} template template0 locale 'C' encoding 'UTF8' strategy file_copy`
      : `create database ${name} template ${template} strategy file_copy`,
  );
  const url = urlOf(server, name);
  const db = await openPostgres(url);
  return {
    db,
    env: { DATABASE_CLIENT: 'postgres', DATABASE_URL: url },
    drop: async () => {
      await db.close();
      await administer(server, `drop database ${name} with (force)`);
    },
  };
};

/** Two workers may fill the same template at once: each fills a file of its own and renames it. */
const fillSqlite = async (template: string, fill: Fill, given?: string): Promise<void> => {
  const building = `${template}.${freshName()}`;
  if (given !== undefined) fs.copyFileSync(given, building);
  const db = await openSqlite(building);
  await fill(db, { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: building });
  await db.close();
  fs.renameSync(building, template);
};

const fillPostgres = async (server: string, template: string, fill: Fill, given?: string): Promise<void> => {
  const building = await newPostgres(server);
  const name = new URL(building.env['DATABASE_URL']!).pathname.slice(1);
  if (given !== undefined) await runScript(building.env['DATABASE_URL']!, fs.readFileSync(given, 'utf8'));
  await fill(building.db, building.env);
  await building.db.close();
  try {
    await administer(server, `alter database ${name} rename to ${template}`);
  } catch (fault) {
    // the other worker was faster
    if (!(await isDatabase(server, template))) throw fault;
    await administer(server, `drop database ${name} with (force)`);
  }
};

const runScript = async (url: string, text: string): Promise<void> => {
  const connection = new Client(url);
  await connection.connect();
  try {
    await connection.query(text);
  } finally {
    await connection.end();
  }
};

/** One connection to each server, which stays open: a new one takes nearly as long as copying a database. */
const connectionTo = memoize((server: string): Pool => {
  const pool = new Pool({ connectionString: server, max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true });
  // a test has stopped its server; the next statement connects again
  return pool.on('error', () => undefined);
});

const administer = async (server: string, statement: string): Promise<readonly unknown[]> =>
  (await connectionTo(server).query(statement)).rows;

const isDatabase = async (server: string, name: string): Promise<boolean> =>
  (await administer(server, `select 1 from pg_database where datname = '${name}'`)).length > 0;

const urlOf = (server: string, name: string): string => {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
};

export type NamedRow = Readonly<Record<string, unknown>>;

/** Runs a statement as another program would; PostgreSQL returns all values as text. */
export const queryOf = async (
  { db, env }: { readonly db: { readonly dialect: { readonly name: DialectName } }; readonly env: TestDatabase['env'] },
  statement: string,
): Promise<readonly NamedRow[]> => {
  if (db.dialect.name === 'sqlite') {
    const connection = new Sqlite(env['DATABASE_FILENAME']!);
    try {
      const prepared = connection.prepare<[], NamedRow>(statement);
      if (prepared.reader) return prepared.all();
      prepared.run();
      return [];
    } finally {
      connection.close();
    }
  }
  const connection = new Client({
    connectionString: env['DATABASE_URL']!,
    types: { getTypeParser: () => (value: unknown) => value },
  });
  await connection.connect();
  try {
    return (await connection.query(statement)).rows;
  } finally {
    await connection.end();
  }
};

/** Creates every table of a model. */
export const createTables = async (db: Db, model: Model): Promise<readonly Table[]> => {
  const tables = tablesOf(model);
  await applyAdditions(planAdditions(diffTables(tables, await readCatalog(db), db), db), db);
  return tables;
};

/**
 * Inserts rows; values in the neutral form of `DbValue` (instants as milliseconds, JSON as text, bigints as digits).
 * With explicit ids, the sequence afterwards continues after the greatest.
 */
export const insertRows = async (
  db: Db,
  table: Pick<Table, 'name' | 'columns'>,
  rows: readonly Readonly<Record<string, string | number | boolean | null>>[],
): Promise<void> => {
  if (rows.length === 0) return;
  const kinds = new Map(table.columns.map((it) => [it.name, it.kind]));
  await db.write(async (tx) => {
    for (const [names, alike] of byColumns(rows)) {
      const columns = sql.join(names.map((name) => sql.id(name)));
      for (let i = 0; i < alike.length; i += rowsPerStatement) {
        const values = alike.slice(i, i + rowsPerStatement).map((row) => {
          const cells = names.map((name) => db.dialect.bind(kinds.get(name)!, row[name]!));
          return sql`(${sql.join(cells)})`;
        });
        await tx.run(
          db.dialect.compile(sql`insert into ${sql.table(table.name)} (${columns}) values ${sql.join(values)}`),
        );
      }
    }
    if (db.dialect.name === 'postgres') {
      await tx.run(
        db.dialect.compile(
          sql`select setval(pg_get_serial_sequence(${`"${table.name}"`}, 'id'), (select max(id) from ${sql.table(table.name)}))`,
        ),
      );
    }
  });
};

/** SQLite takes 32,766 values in a statement, and no table of the tests has a hundred columns. */
const rowsPerStatement = 300;

type Row = Parameters<typeof insertRows>[2][number];

/**
 * Groups of consecutive rows with the same columns, in order: rows without an id get theirs in the order of the list.
 */
const byColumns = (rows: readonly Row[]): readonly (readonly [names: readonly string[], rows: readonly Row[]])[] => {
  const runs: [string[], Row[]][] = [];
  for (const row of rows) {
    const names = Object.keys(row);
    const last = runs.at(-1);
    if (last && last[0].length === names.length && last[0].every((name, i) => name === names[i])) last[1].push(row);
    else runs.push([names, [row]]);
  }
  return runs;
};
