/** Reads what a database holds: its layout, and how many values a change would concern. */
import { sql } from 'kysely';
import { type ScalarTypeName, scalarTypes } from '../model/attributes.js';
import type { FixedValue } from '../model/model.js';
import { type Db, type Dialect, type Rows, readRows, type Sql, type Statement } from '../sql/dialect.js';
import { type Catalog, readCatalog } from '../sql/schema.js';
import type { Losses } from './changes.js';
import { type Conversion, convertValue } from './conversions.js';

/** Rows of a statement, however long it takes. */
export type Ask = (statement: Statement) => Promise<Rows>;

export interface ForeignKeyFound {
  readonly table: string;
  readonly name: string;
  readonly column: string;
  readonly target: string;
  /** Adds it to its table; null where keys cannot be added. */
  readonly statement: string | null;
}

export interface Survey {
  readonly dialect: Dialect;
  readonly catalog: Catalog;
  readonly keys: readonly ForeignKeyFound[];
  ask: Ask;
  /** Declared type of a column; undefined if there is none. */
  declared(table: string, column: string): string | undefined;
  hasTable(table: string): boolean;
}

/** Runs the work on the present state. It writes nothing. */
export const surveying = async <T>(db: Db, work: (survey: Survey) => Promise<T>): Promise<T> => {
  const catalog = await readCatalog(db);
  const run = async (ask: Ask): Promise<T> =>
    work(newSurvey(db.dialect, catalog, await readKeys(db.dialect, ask), ask));
  // where statements have timeouts, they have none alone
  if (db.dialect.isRemote) return db.writeAlone((tx) => run((it) => tx.run(it)));
  return run((it) => db.read(() => readRows(it)));
};

export const readKeys = async (dialect: Dialect, ask: Ask): Promise<readonly ForeignKeyFound[]> => {
  const rows = (await ask(dialect.schema.keys)) as readonly [string, string, string, string, string | null][];
  return rows.map(([table, name, column, target, statement]) => ({ table, name, column, target, statement }));
};

export const newSurvey = (dialect: Dialect, catalog: Catalog, keys: readonly ForeignKeyFound[], ask: Ask): Survey => {
  const { storedName } = dialect.schema;
  return {
    dialect,
    catalog,
    keys,
    ask,
    declared: (table, column) => catalog.tables.get(storedName(table))?.get(storedName(column)),
    hasTable: (table) => catalog.tables.has(storedName(table)),
  };
};

export const matches = (where: readonly FixedValue[]): Sql =>
  where.length === 0
    ? sql`true`
    : sql.join(
        where.map((it) => sql`${sql.ref(it.column)} = ${it.value}`),
        sql` and `,
      );

export const countRows = async (
  { dialect, ask }: Pick<Survey, 'dialect' | 'ask'>,
  table: string,
  where: Sql = sql`true`,
): Promise<number> => {
  const [row] = await ask(dialect.compile(sql`select count(*) from ${sql.table(table)} where ${where}`));
  return Number(row?.[0]);
};

export const countValues = (survey: Pick<Survey, 'dialect' | 'ask'>, table: string, column: string): Promise<number> =>
  countRows(survey, table, sql`${sql.ref(column)} is not null`);

/** Rows of a table that lead to a row of another. */
export interface Leading {
  readonly table: string;
  /** Rows with the same value of it belong together. */
  readonly by: string;
  readonly where: readonly FixedValue[];
  readonly to: string;
  readonly target: string;
}

export const isLeading = ({ by, where, to, target }: Leading): Sql =>
  sql`${matches(where)} and ${sql.ref(by)} is not null and ${sql.ref(to)} in (select id from ${sql.table(target)})`;

/** Rows beyond the first of each group. */
export const countSurplus = async ({ dialect, ask }: Survey, rows: Leading): Promise<number> => {
  const by = sql.ref(rows.by);
  const groups = sql`select count(*) - 1 as surplus from ${sql.table(rows.table)} where ${isLeading(rows)} group by ${by} having count(*) > 1`;
  const [row] = await ask(dialect.compile(sql`select coalesce(sum(surplus), 0) from (${groups}) as found`));
  return Number(row?.[0]);
};

/** Rows with a value that another row has too, beyond the first of each. */
export const countRepeated = async ({ dialect, ask }: Survey, table: string, column: string): Promise<number> => {
  const name = sql.ref(column);
  const groups = sql`select count(*) - 1 as surplus from ${sql.table(table)} where ${name} is not null group by ${name} having count(*) > 1`;
  const [row] = await ask(dialect.compile(sql`select coalesce(sum(surplus), 0) from (${groups}) as found`));
  return Number(row?.[0]);
};

// ---- values

export interface ColumnOf {
  readonly table: string;
  readonly column: string;
}
/** Null in `from`: the texts of a column that no type is stored as. */
export interface ColumnConversion extends ColumnOf, Omit<Conversion, 'from'> {
  readonly from: ScalarTypeName | null;
}

export interface StoredValue {
  readonly id: number;
  /** As responses show it. */
  readonly value: unknown;
}

/** The values of a column in batches, by id. @param which `odd`: members of an enumeration are left out. */
export async function* readValues(
  { dialect, ask }: Pick<Survey, 'dialect' | 'ask'>,
  conversion: ColumnConversion,
  which: 'all' | 'odd',
): AsyncGenerator<readonly StoredValue[]> {
  const { table, from } = conversion;
  const column = sql.ref(conversion.column);
  const shown = from === null ? sql`cast(${column} as text)` : column;
  const object = dialect.jsonObject([
    { name: 'value', form: from === null ? 'text' : scalarTypes[from].form, column: shown },
  ]);
  const isText = from === null || scalarTypes[from].family === 'text';
  const odd =
    which === 'odd' && isText && conversion.enum.length > 0
      ? sql`and ${shown} not in (${sql.join(conversion.enum)})`
      : sql``;
  for (let last = 0; ; ) {
    const rows = (await ask(
      dialect.compile(
        sql`select id, ${object} from ${sql.table(table)} where ${column} is not null ${odd} and id > ${dialect.bind('id', last)} order by id limit ${sql.lit(BATCH)}`,
      ),
    )) as readonly (readonly [number, string])[];
    if (rows.length > 0)
      yield rows.map(([id, text]) => ({ id: Number(id), value: (JSON.parse(text) as { value: unknown }).value }));
    if (rows.length < BATCH) return;
    last = Number(rows.at(-1)![0]);
  }
}
/** Rows that are read and written at once. */
export const BATCH = 1000;

/** What a conversion would lose. */
export const surveyValues = async (survey: Survey, conversion: ColumnConversion): Promise<Losses> => {
  const values = await countValues(survey, conversion.table, conversion.column);
  let [lost, altered] = [0, 0];
  const ids: number[] = [];
  for await (const batch of readValues(survey, conversion, 'odd'))
    for (const { id, value } of batch) {
      const converted = value === null ? null : convertFrom(value, conversion);
      if (converted?.exact) continue;
      if (converted) altered += 1;
      else lost += 1;
      if (ids.length < IDS_MAX) ids.push(id);
    }
  return { values, lost, altered, ids };
};
/** Ids that a plan names of rows that lose something. */
const IDS_MAX = 5;

export const convertFrom = (value: unknown, conversion: ColumnConversion) =>
  convertValue(value, { ...conversion, from: conversion.from ?? 'text' });
