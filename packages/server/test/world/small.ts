/**
 * A project for a single test: a few schemas in a temporary folder, a fresh database, and a server on which the public
 * may do everything.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { newServer } from '../../src/http/server.js';
import { type GivenIndexes, withIndexes } from '../../src/model/indexes.js';
import { loadModel } from '../../src/model/load.js';
import type { Model } from '../../src/model/model.js';
import { formatNote } from '../../src/model/notes.js';
import type { Site } from '../../src/site/site.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { createTables, insertRows, newDatabase } from './databases.js';
import { injectInto } from './inject.js';
import { newTestDeps, type TestAnswer, type TestPeople } from './server.js';

type Attributes = Readonly<Record<string, unknown>>;

/** An attribute that relates to a type by its name. @param rest such as `mappedBy`. */
export const relation = (kind: string, target: string, rest: Readonly<Record<string, unknown>> = {}) => ({
  type: 'relation',
  relation: kind,
  target: `api::${target}.${target}`,
  ...rest,
});

export interface SmallProject {
  /** By singular name; the plural adds an s, the uid is `api::note.note`. A whole schema has `attributes` inside. */
  readonly types: Readonly<Record<string, { readonly attributes: Attributes; readonly [key: string]: unknown }>>;
  /** Attributes by uid: `parts.card`. */
  readonly components?: Readonly<Record<string, Attributes>>;
  /** As the configuration names them. */
  readonly indexes?: GivenIndexes;
}

export interface SmallWorld {
  readonly db: Db;
  readonly model: Model;
  readonly site: Site;
  /** Variables under which another process opens the database. */
  readonly env: Readonly<Record<string, string>>;
  /** Log lines of level `error` and above. */
  readonly logged: readonly string[];
  send(method: string, url: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>;
  /** All rows of a table by id. */
  rows(table: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  insert(table: string, rows: Parameters<typeof insertRows>[2]): Promise<void>;
  close(): Promise<void>;
}

export interface SmallOptions extends TestPeople {
  /** The database that the server gets instead of the real one. */
  readonly watch?: (db: Db) => Db;
}

/** Writes the schema files into a folder. */
export const writeSmall = (dir: string, { types, components = {} }: SmallProject): void => {
  const write = (file: string, json: unknown): void => {
    fs.mkdirSync(path.dirname(path.join(dir, file)), { recursive: true });
    fs.writeFileSync(path.join(dir, file), JSON.stringify(json));
  };
  for (const [name, schema] of Object.entries(types))
    write(`src/api/${name}/content-types/${name}/schema.json`, {
      kind: 'collectionType',
      collectionName: `${name}s`,
      info: { singularName: name, pluralName: `${name}s`, displayName: name },
      ...schema,
    });
  for (const [uid, attributes] of Object.entries(components)) {
    const [category = '', name = ''] = uid.split('.');
    const collectionName = `components_${category}_${name}s`;
    write(`src/components/${category}/${name}.json`, { collectionName, info: { displayName: name }, attributes });
  }
};

export const loadSmall = (project: SmallProject): Model => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-small-'));
  writeSmall(dir, project);
  try {
    const loaded = loadModel(dir);
    if (!loaded.ok) throw new Error(loaded.faults.map(formatNote).join('\n'));
    const indexed = withIndexes(loaded.model, project.indexes ?? {});
    if (!indexed.ok) throw new Error(indexed.faults.join('\n'));
    return indexed.model;
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
};

export const newSmallWorld = async (
  dialect: DialectName,
  project: SmallProject,
  { watch = (db) => db, ...people }: SmallOptions = {},
): Promise<SmallWorld> => {
  const model = loadSmall(project);
  const database = await newDatabase(dialect);
  const { db } = database;
  const tables = new Map((await createTables(db, model)).map((table) => [table.name, table]));
  const insert: SmallWorld['insert'] = (table, rows) => insertRows(db, tables.get(table)!, rows);
  await insert('up_roles', [{ id: 1, name: 'Public', type: 'public' }]);
  const logged: string[] = [];
  const deps = newTestDeps(watch(db), model, {}, undefined, { mode: 'open', ...people });
  const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });
  const app = await newServer({ ...deps, logger });
  return {
    db,
    model,
    site: deps.site,
    env: database.env,
    logged,
    insert,
    send: async (method, url, body, headers = {}) => {
      const answer = await injectInto(app, {
        method: method as 'GET',
        url,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
      });
      const text = answer.payload;
      return { status: answer.statusCode, headers: answer.headers, body: text === '' ? null : JSON.parse(text), text };
    },
    rows: async (table) => {
      const names = tables.get(table)!.columns.map((it) => it.name);
      const columns = sql.join(names.map((it) => sql.ref(it)));
      const statement = db.dialect.compile(sql`select ${columns} from ${sql.table(table)} order by id`);
      const rows = await db.write((tx) => tx.run(statement));
      return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
    },
    close: async () => {
      await deps.site.notifier.stop();
      await app.close();
      await database.drop();
    },
  };
};
