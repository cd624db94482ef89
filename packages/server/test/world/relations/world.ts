/**
 * The world of the writing rules: a project (`project/`) with every kind of relation, an empty database but for files,
 * roles and permissions, and a server over it. Tests create what they need. Its types:
 *
 * | type | what it is for |
 * |---|---|
 * | shelf, book | every kind of relation from shelf to book and from shelf to itself, with and without an inverse side, in link tables and in columns |
 * | closed-room | the role public has no permission on it |
 * | sheet | every scalar type, without constraints; defaults; an attribute that cannot be written, a private one |
 * | form (drafts) | every constraint of a schema file |
 * | holder | components three levels deep, one that contains itself, repeatable ones, a zone, media; components with relations of their own |
 * | setting, motto (drafts) | single types |
 * | leaf (drafts), placard | localized, with values that all locales share: a collection and a single type; the locales are en, de and fr |
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { LinkAttribute, Model } from '../../../src/model/model.js';
import { tablesOf } from '../../../src/model/storage.js';
import {
  type Db,
  type DialectName,
  type ReadProgram,
  type Rows,
  readRows,
  type Statement,
} from '../../../src/sql/dialect.js';
import type { Table } from '../../../src/sql/schema.js';
import { copiedDatabase, createTables, insertRows } from '../databases.js';
import { insertGrants, PUBLIC_ROLE } from '../grants.js';
import { openedForTests } from '../opening.js';
import { modelIn } from '../schemas.js';
import {
  errorOf,
  newTestServer,
  type TestAnswer,
  type TestPeople,
  type TestServer,
  type TestSettings,
} from '../server.js';

export { dialects } from '../databases.js';

export const relationsProjectDir = path.join(path.dirname(fileURLToPath(import.meta.url)), 'project');

export const relationsModel = (): Model => modelIn(relationsProjectDir);

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type Data = Readonly<Record<string, unknown>>;
export interface Entry {
  readonly id: number;
  readonly attributes: Readonly<Record<string, Json>>;
}
export type Row = Readonly<Record<string, unknown>>;

/** The parsed content of an error response. */
export interface Said {
  readonly status: number;
  readonly name: string;
  readonly message: string;
  /** Dotted path of each error, in the order of the response. */
  readonly paths: readonly string[];
  readonly messages: readonly string[];
  readonly codes: readonly string[];
}

/** The relations of one type, as the tests use them: shelf's own, book's inverse sides. */
export interface RelationSide {
  readonly plural: string;
  readonly attribute: LinkAttribute;
  /** Plural of the type on the other side. */
  readonly targets: string;
}

export interface RelationsWorld {
  readonly dialect: DialectName;
  readonly db: Db;
  readonly model: Model;
  readonly env: Readonly<Record<string, string>>;
  readonly server: TestServer;
  send(method: string, url: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>;
  /** Creates an entry; fails if the server refuses. */
  create(plural: string, data?: Data): Promise<number>;
  /** Creates empty entries of one type directly in the database. */
  createMany(plural: string, count: number): Promise<readonly number[]>;
  /** Updates an entry and returns it, read with `query`; fails if the server refuses. */
  update(plural: string, id: number, data: Data, query?: string): Promise<Entry>;
  read(url: string): Promise<Entry>;
  /** Ids that an attribute of an entry shows over HTTP, in order, for one or many. */
  ids(plural: string, id: number, attribute: string): Promise<readonly number[]>;
  /** A write that must be refused and change nothing. */
  refused(method: string, url: string, body?: unknown, headers?: Record<string, string>): Promise<Said>;
  /** Runs work that must leave every row of every table unchanged. */
  unchanged(work: () => Promise<void>): Promise<void>;
  /** Rows of a table by id. */
  rows(table: string): Promise<readonly Row[]>;
  /** All rows of all tables as one text. */
  dump(): Promise<string>;
  /** Fails unless every component row has exactly one owner and every link row has both ends. */
  expectNoOrphans(): Promise<void>;
  close(): Promise<void>;
}

/** Ids of the files in the library, by kind. */
export const files = { picture: 1, photo: 2, drawing: 3, paper: 4, film: 5, song: 6 } as const;
const mimes: Readonly<Record<keyof typeof files, string>> = {
  picture: 'image/png',
  photo: 'image/jpeg',
  drawing: 'image/svg+xml',
  paper: 'application/pdf',
  film: 'video/mp4',
  song: 'audio/mpeg',
};

const actionsOf = (model: Model): readonly string[] =>
  [...model.types.values()]
    .filter((type) => type.origin === 'project' && type.kind !== 'component' && type.singular !== 'closed-room')
    .flatMap((type) =>
      ['find', 'findOne', 'create', 'update', 'delete', 'createLocalization'].map((action) => `${type.uid}.${action}`),
    );

/** Roles, permissions and files. */
const fill = async (db: Db, tables: ReadonlyMap<string, Table>, model: Model): Promise<void> => {
  const insert = (name: string, rows: Parameters<typeof insertRows>[2]): Promise<void> =>
    insertRows(db, tables.get(name)!, rows);
  await insert('up_roles', [
    { id: 1, name: 'Authenticated', type: 'authenticated' },
    { id: PUBLIC_ROLE, name: 'Public', type: 'public' },
  ]);
  await insertGrants(
    actionsOf(model).map((action) => ({ role: PUBLIC_ROLE, action })),
    insert,
  );
  await insert(
    'i18n_locale',
    ['en', 'de', 'fr'].map((code, i) => ({ id: i + 1, code })),
  );
  await insert(
    'files',
    Object.entries(files).map(([name, id]) => {
      const mime = mimes[name as keyof typeof files];
      return { id, name, mime, ext: `.${mime.split('/')[1]}`, hash: name, size: 1, url: `/uploads/${name}` };
    }),
  );
};

/** All sides of all visible relations between shelves and books. */
export const relationSides = (model: Model): readonly RelationSide[] =>
  ['shelf', 'book'].flatMap((singular) => {
    const type = model.types.get(`api::${singular}.${singular}`)!;
    return [...type.attributes.values()].flatMap((attribute): RelationSide[] => {
      if (attribute.kind !== 'link' || attribute.source !== 'relation') return [];
      const target = model.types.get(attribute.target)!;
      return target.singular === 'closed-room' ? [] : [{ plural: type.plural, attribute, targets: target.plural }];
    });
  });

type Dump = () => Promise<string>;

const sqliteDump = (db: Db, names: readonly string[], statementOf: (name: string) => Statement): Dump => {
  const statements = names.map(statementOf);
  function* allRows(): ReadProgram<readonly Rows[]> {
    return yield statements;
  }
  return async () => {
    const all = await db.read(allRows);
    return names.flatMap((name, i) => all[i]!.map((row) => `${name} ${printed(row)}`)).join('\n');
  };
};

/** In one statement, which is faster than a hundred; not again as long as the server has the same snapshot, and so the same rows. */
const postgresDump = (db: Db, names: readonly string[]): Dump => {
  const snapshot = db.dialect.compile(sql`select pg_current_snapshot()::text`);
  const contents = db.dialect.compile(
    sql`select ${sql.join(names.map((name) => sql`(select string_agg(${name}::text || ' ' || t::text, chr(10) order by t.id) from ${sql.table(name)} t)`))}`,
  );
  let known = { snapshot: '', text: '' };
  return async () => {
    const [[now] = []] = await db.read(() => readRows(snapshot));
    if (now !== known.snapshot) {
      const [row = []] = await db.read(() => readRows(contents));
      known = { snapshot: String(now), text: row.filter((it) => it !== null).join('\n') };
    }
    return known.text;
  };
};

export const newRelationsWorld = async (
  dialect: DialectName,
  settings: Partial<TestSettings> = {},
  wrap: (db: Db) => Db = (db) => db,
  postgresUrl?: string,
  people: TestPeople = {},
): Promise<RelationsWorld> => {
  const model = relationsModel();
  const tables = new Map(tablesOf(model).map((table) => [table.name, table]));
  const make = async (empty: Db): Promise<void> => {
    await createTables(empty, model);
    await fill(empty, tables, model);
  };
  const database = await copiedDatabase(dialect, 'relations', make, { server: postgresUrl });
  const { db } = database;
  const server = await newTestServer(wrap(db), model, settings, undefined, people);

  const columnsOf = (name: string): readonly string[] => tables.get(name)!.columns.map((it) => it.name);
  const statementOf = (name: string) =>
    db.dialect.compile(
      sql`select ${sql.join(columnsOf(name).map((it) => sql.id(it)))} from ${sql.table(name)} order by id`,
    );
  const names = [...tables.keys()].sort();
  const dump = dialect === 'sqlite' ? sqliteDump(db, names, statementOf) : postgresDump(db, names);
  const rows: RelationsWorld['rows'] = async (name) => {
    function* one(): ReadProgram<Rows> {
      const [found] = yield [statementOf(name)];
      return found ?? [];
    }
    const columns = columnsOf(name);
    return (await db.read(one)).map((row) => Object.fromEntries(row.map((value, i) => [columns[i]!, value])));
  };

  const send: RelationsWorld['send'] = (method, url, body, headers) =>
    server.send(method, url, { ...(body === undefined ? {} : { body }), ...(headers ? { headers } : {}) });
  const entryOf = ({ status, body, text }: TestAnswer, what: string): Entry => {
    if (status !== 200) throw new Error(`${what} answers ${status}: ${text}`);
    return (body as { data: Entry }).data;
  };
  const create: RelationsWorld['create'] = async (plural, data = {}) =>
    entryOf(await send('POST', `/api/${plural}`, { data }), `POST ${plural} ${JSON.stringify(data)}`).id;
  const read: RelationsWorld['read'] = async (url) => entryOf(await server.get(url), url);

  return {
    dialect,
    db,
    model,
    env: database.env,
    server,
    send,
    create,
    read,
    rows,
    dump,
    createMany: async (plural, count) => {
      if (count === 0) return [];
      const { table } = [...model.types.values()].find((it) => it.plural === plural && it.origin === 'project')!;
      const values = sql.join(Array.from({ length: count }, () => sql`(null)`));
      const statement = db.dialect.compile(
        sql`insert into ${sql.table(table)} (created_at) values ${values} returning id`,
      );
      const made = await db.write((tx) => tx.run(statement));
      return made.map(([id]) => id as number).sort((a, b) => a - b);
    },
    update: async (plural, id, data, query = '') =>
      entryOf(await send('PUT', `/api/${plural}/${id}${query}`, { data }), `PUT ${plural} ${JSON.stringify(data)}`),
    ids: async (plural, id, attribute) =>
      idsOf(await read(`/api/${plural}/${id}?fields=id&populate[${attribute}][fields]=id`), attribute),
    refused: async (method, url, body, headers) => {
      const before = await dump();
      const answer = await send(method, url, body, headers);
      expect
        .soft(await dump(), `${method} ${url} ${String(JSON.stringify(body)).slice(0, 300)} changes rows`)
        .toBe(before);
      return said(answer);
    },
    unchanged: async (work) => {
      const before = await dump();
      await work();
      expect(await dump()).toBe(before);
    },
    expectNoOrphans: () => expectNoOrphans(model, tables, rows),
    close: async () => {
      await server.close();
      await database.drop();
    },
  };
};

/** Ids in an attribute of a response. */
export const idsOf = (entry: Entry, attribute: string): readonly number[] => {
  const shown = entry.attributes[attribute] as { data: Entry | readonly Entry[] | null } | undefined;
  if (shown === undefined) throw new Error(`${attribute} is not in the answer`);
  if (shown.data === null) return [];
  return Array.isArray(shown.data) ? (shown.data as readonly Entry[]).map((it) => it.id) : [(shown.data as Entry).id];
};

/** Without a replacer, which would take several times as long. */
const printed = (row: readonly unknown[]): string =>
  JSON.stringify(row.map((it) => (typeof it === 'bigint' ? String(it) : it)));

/** The message of an error response. */
export const said = (answer: TestAnswer): Said => {
  const { errors, ...rest } = errorOf(answer);
  return {
    ...rest,
    paths: errors.map((it) => it.path.join('.')),
    messages: errors.map((it) => it.message),
    codes: errors.map((it) => it.code),
  };
};

const expectNoOrphans = async (
  model: Model,
  tables: ReadonlyMap<string, Table>,
  rows: RelationsWorld['rows'],
): Promise<void> => {
  const idsIn = async (table: string): Promise<ReadonlySet<unknown>> =>
    new Set((await rows(table)).map((it) => it['id']));
  const owners = new Map<string, number>();
  const types = [...model.types.values()].filter((it) => it.origin === 'project');
  for (const type of types) {
    const table = `${type.table}_components`;
    if (!tables.has(table)) continue;
    const present = await idsIn(type.table);
    for (const row of await rows(table)) {
      expect(present.has(row['entity_id']), `${table} ${JSON.stringify(row)} has no owner`).toBe(true);
      const key = `${String(row['component_type'])} ${String(row['component_id'])}`;
      owners.set(key, (owners.get(key) ?? 0) + 1);
    }
  }
  for (const type of types.filter((it) => it.kind === 'component')) {
    for (const id of await idsIn(type.table)) {
      const key = `${type.uid} ${String(id)}`;
      expect(owners.get(key), `owners of ${key}`).toBe(1);
      owners.delete(key);
    }
  }
  expect([...owners.keys()], 'links to components that are gone').toEqual([]);
  for (const table of tables.values()) {
    if (!table.name.endsWith('_links')) continue;
    for (const key of table.foreignKeys) {
      const present = await idsIn(key.target);
      for (const row of await rows(table.name))
        expect(present.has(row[key.column]), `${table.name} ${JSON.stringify(row)} points nowhere`).toBe(true);
    }
  }
  const mediaOwners = new Map<unknown, ReadonlySet<unknown>>();
  for (const type of types) mediaOwners.set(type.uid, await idsIn(type.table));
  const filesPresent = await idsIn('files');
  for (const row of await rows('files_related_morphs')) {
    expect(mediaOwners.get(row['related_type'])?.has(row['related_id']), `morph ${JSON.stringify(row)}`).toBe(true);
    expect(filesPresent.has(row['file_id']), `morph ${JSON.stringify(row)}`).toBe(true);
  }
};

/** A world for the tests of a block. */
export const useRelationsWorld = (
  dialect: DialectName,
  settings: Partial<TestSettings> = {},
  people: TestPeople = {},
): RelationsWorld => openedForTests(() => newRelationsWorld(dialect, settings, undefined, undefined, people));
