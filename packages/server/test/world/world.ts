/**
 * The shared world of the rules: one project (`project/`, a film archive), its rows (`project/rows.ts`) in a fresh
 * database, and a server over it. Its types:
 *
 * | type | what it is for |
 * |---|---|
 * | film (drafts) | media, components three levels deep, two zones, relations to itself of every kind, a private one |
 * | programme (drafts) | one attribute for each kind of relation to film, whose inverse sides are attributes of film |
 * | reel | every scalar type; its `film` is the owner side of film's `reels`; has `populateCreatorFields` |
 * | person | a password, a private attribute, `options.privateAttributes`, an attribute that `_q` leaves out |
 * | genre (drafts) | a tree, and a column whose name is a SQL keyword (`order`) |
 * | donor | the role public may neither list nor read it |
 * | notice | localized |
 * | lobby (drafts), house-rules, closure (drafts) | single types: a draft, one without drafts, one without an entry |
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { readStored } from '../../src/cli/layout.js';
import { compareDatabase } from '../../src/cli/project.js';
import type { Model } from '../../src/model/model.js';
import { tablesOf } from '../../src/model/storage.js';
import { asStored } from '../../src/model/stored.js';
import type { Db, DbValue, DialectName, ReadProgram, Statement } from '../../src/sql/dialect.js';
import type { Table } from '../../src/sql/schema.js';
import { copiedDatabase, createTables, insertRows } from './databases.js';
import { insertGrants, PUBLIC_ROLE } from './grants.js';
import { openedForTests } from './opening.js';
import { worldRows } from './project/rows.js';
import { modelIn } from './schemas.js';
import { errorOf, newTestServer, type TestAnswer, type TestServer, type TestSettings } from './server.js';

export { dialects } from './databases.js';
export { files, times, transcript } from './project/rows.js';

export const projectDir = path.join(path.dirname(fileURLToPath(import.meta.url)), 'project');

/** The content of a successful response. */
export interface Entry {
  readonly id: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}
export interface Envelope<Data> {
  readonly data: Data;
  readonly meta: { readonly pagination?: Readonly<Record<string, number>> };
}

/** `meta` of the first page of a list of this many entries. */
export const meta = (total: number, pageSize = 25): Envelope<unknown>['meta'] => ({
  pagination: { page: 1, pageSize, pageCount: Math.ceil(total / pageSize), total },
});

/** The content of an error response, without its envelope. */
export interface Said {
  readonly status: number;
  readonly name: string;
  readonly message: string;
  /** Bracket path of the first error: `filters[title][$nope]`; null if the error has no path. */
  readonly at: string | null;
  /** Bracket paths of all errors in order. */
  readonly all: readonly string[];
}

export interface WorldOptions {
  readonly settings?: Partial<TestSettings>;
  /** Memory for cached responses; 0 disables the cache, and keeps no entries either. */
  readonly responseCacheBytesMax?: number;
}

export interface World {
  readonly dialect: DialectName;
  readonly db: Db;
  readonly model: Model;
  /** Environment variables under which a server opens the same database. */
  readonly env: Readonly<Record<string, string>>;
  readonly server: TestServer;
  get(url: string, headers?: Record<string, string>): Promise<TestAnswer>;
  /** The body of a response that must be 200; `Data` is the type that the caller expects. */
  read<Data = readonly Entry[]>(url: string): Promise<Envelope<Data>>;
  /** Ids of a list, in order. */
  ids(url: string): Promise<readonly number[]>;
  /** The content of a response that must be an error. */
  refusal(url: string): Promise<Said>;
  insert(table: string, rows: Parameters<typeof insertRows>[2]): Promise<void>;
  /** Sets one column of one row directly in the database. */
  update(table: string, id: number, column: string, value: DbValue): Promise<void>;
  remove(table: string, id: number): Promise<void>;
  /**
   * SQL texts that reading a URL runs (repeated if asked to), without the query for permissions that any request may
   * start.
   */
  statements(url: string, times?: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

export const worldModel = (): Model => modelIn(projectDir);

/** Actions of the public role: find and findOne of every type but `donor`. */
export const publicActions = (model: Model): readonly string[] =>
  [...model.types.values()]
    .filter((type) => type.origin === 'project' && type.kind !== 'component' && type.singular !== 'donor')
    .flatMap((type) => (type.kind === 'single' ? [`${type.uid}.find`] : [`${type.uid}.find`, `${type.uid}.findOne`]));

/** A database with the world in it and a server over it. */
export const newWorld = async (dialect: DialectName, options: WorldOptions = {}): Promise<World> => {
  const declared = worldModel();
  const tables = new Map(tablesOf(declared).map((table) => [table.name, table]));
  const tableOf = (name: string): Table => {
    const table = tables.get(name);
    if (!table) throw new Error(`the world has no table ${name}`);
    return table;
  };
  const database = await copiedDatabase(dialect, 'world', async (db) => {
    await createTables(db, declared);
    for (const [table, rows] of worldRows) await insertRows(db, tableOf(table), rows);
    const grants = publicActions(declared).map((action) => ({ role: PUBLIC_ROLE, action }));
    await insertGrants(grants, (table, rows) => insertRows(db, tableOf(table), rows));
  });
  const { db } = database;
  // as at every start
  const diff = await compareDatabase({ model: declared }, db);
  const model = asStored(declared, await readStored(declared, diff, db));
  const log: StatementLog = { isOn: false, texts: [] };
  const server = await newTestServer(
    logged(db, log),
    model,
    options.settings,
    options.responseCacheBytesMax,
    options.responseCacheBytesMax === 0 ? { entriesBytesMax: 0 } : {},
  );

  const get: World['get'] = (url, headers) => server.get(url, headers);
  const read = async <Data>(url: string): Promise<Envelope<Data>> => {
    const { status, body, text } = await get(url);
    if (status !== 200) throw new Error(`${url} answers ${status}: ${text}`);
    return body as Envelope<Data>;
  };
  const kindOf = (table: string, column: string) => {
    const kind = tableOf(table).columns.find((it) => it.name === column)?.kind;
    if (!kind) throw new Error(`${table} has no column ${column}`);
    return kind;
  };
  const write = (query: Parameters<typeof db.dialect.compile>[0]): Promise<void> =>
    db.write(async (tx) => {
      await tx.run(db.dialect.compile(query));
    });
  return {
    dialect,
    db,
    model,
    env: database.env,
    server,
    get,
    read,
    ids: async (url) => (await read<readonly Entry[]>(url)).data.map((it) => it.id),
    refusal: async (url) => said(await get(url)),
    insert: (table, rows) => insertRows(db, tableOf(table), rows),
    update: (table, id, column, value) =>
      write(
        sql`update ${sql.table(table)} set ${sql.id(column)} = ${db.dialect.bind(kindOf(table, column), value)} where id = ${sql.lit(id)}`,
      ),
    remove: (table, id) => write(sql`delete from ${sql.table(table)} where id = ${sql.lit(id)}`),
    statements: async (url, times = 1) => {
      log.texts.length = 0;
      log.isOn = true;
      await Promise.all(Array.from({ length: times }, () => get(url)));
      log.isOn = false;
      return log.texts.filter((it) => !it.includes('up_roles'));
    },
    close: async () => {
      await server.close();
      await database.drop();
    },
  };
};

/** A world for the tests of a file or block. Tests that change rows need one of their own. */
export const useWorld = (dialect: DialectName, options: WorldOptions = {}): World =>
  openedForTests(() => newWorld(dialect, options));

/** Stands for a version query in the log of statements. */
export const versionLook = 'version';

interface StatementLog {
  isOn: boolean;
  readonly texts: string[];
}

/** The same database, recording the SQL text of every statement; what runs in threads comes back here for it. */
const logged = (db: Db, log: StatementLog): Db => {
  function* watched<T>(program: ReadProgram<T>): ReadProgram<T> {
    let step = program.next();
    while (!step.done) {
      const batch: readonly Statement[] = step.value;
      log.texts.push(...batch.map((it) => it.sql));
      step = program.next(yield batch);
    }
    return step.value;
  }
  return {
    ...db,
    changes: {
      ...db.changes,
      catchUp: () => {
        log.texts.push(versionLook);
        return db.changes.catchUp();
      },
    },
    read: (begin) => db.read(() => watched(begin())),
    readSmall: (begin) => db.readSmall(() => watched(begin())),
    readPlanned: (planned) => {
      if (!log.isOn) return db.readPlanned(planned);
      const { plan, values, begin } = planned;
      return db.read(() => watched(begin(plan, values, db.dialect)));
    },
    readThenCatchUp: async (planned) => {
      if (!log.isOn) return db.readThenCatchUp(planned);
      const { plan, values, begin } = planned;
      const result = await db.read(() => watched(begin(plan, values, db.dialect)));
      await db.changes.catchUp();
      return result;
    },
  };
};

const said = (answer: TestAnswer): Said => {
  const { status, name, message, errors } = errorOf(answer);
  const all = errors.map(({ path: [first = '', ...rest] }) => `${first}${rest.map((it) => `[${it}]`).join('')}`);
  // with several errors the message only counts them; each has a message of its own
  return { status, name, message: errors[0]?.message ?? message, at: all[0] ?? null, all };
};

/** Ids that a populated attribute shows, of one entry or of many; null for none. */
export const idsIn = (attribute: unknown): number | null | readonly number[] => {
  const { data } = attribute as { data: Entry | readonly Entry[] | null };
  if (data === null) return null;
  return 'id' in data ? data.id : data.map((it) => it.id);
};
