/** The SQLite dialect: JSON, dates, lists and inserts. */
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { limits } from '../../limits.js';
import { compileWith, idsParameter, slotParameter, sqliteBuilder } from '../compile.js';
import type { Cell, ColumnKind, DbValue, Dialect, JsonForm, NewRow, Sql, Statement } from '../dialect.js';
import { sqliteBinding } from './binding.js';
import { sqliteColumnTypes, sqliteSchema } from './catalog.js';
import { explainOnSqlite } from './explain.js';

/** Epoch milliseconds of the years 0 to 9999, the range of strftime. */
const [instantMin, instantMax] = [-62_167_219_200_000, 253_402_300_799_999];

const jsonValue = (form: JsonForm, column: Sql): Sql => {
  switch (form) {
    case 'text':
    case 'number':
    case 'date':
      return column;
    case 'digits':
      return sql`cast(${column} as text)`;
    case 'epoch':
      return sql`cast(iif(typeof(${column}) = 'text', dovetail_epoch(${column}), ${column}) as text)`;
    case 'boolean':
      return sql`json(case ${column} when 1 then 'true' when 0 then 'false' else 'null' end)`;
    case 'time':
      return sql`iif(length(${column}) = 12, ${column}, coalesce(strftime('%H:%M:%f', ${column}), ${column}))`;
    case 'instant':
      // usually an integer, but rows edited by hand may hold text, and strftime ends with the year 9999
      return sql`case when ${column} is null then null when typeof(${column}) = 'integer' and ${column} between ${sql.lit(instantMin)} and ${sql.lit(instantMax)} then strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch') else dovetail_instant(${column}) end`;
    case 'json':
      // a value that is not valid JSON is returned as it is, so that no stored value breaks a response
      return sql`iif(json_valid(${column}), json(${column}), ${column})`;
  }
};

const comparable = (kind: ColumnKind, column: Sql): Sql => {
  if (kind === 'datetime')
    return sql`iif(typeof(${column}) = 'text', cast(dovetail_epoch(${column}) as integer), ${column})`;
  return kind === 'time' ? jsonValue('time', column) : column;
};

const bind = (kind: string, value: DbValue): Sql => {
  if (typeof value === 'boolean') return sql`${value ? 1 : 0}`;
  if (kind === 'bigint' && value !== null) {
    const number = BigInt(value);
    // a number out of the column's range is larger or smaller than every stored one
    if (BigInt.asIntN(64, number) !== number) return number > 0n ? sql`9e999` : sql`-9e999`;
    return sql`cast(${value} as integer)`;
  }
  return sql`${value}`;
};

/** One statement per row: there is no round trip to save. */
const insertRow = ({ table, cells }: NewRow): Statement => {
  const key = JSON.stringify([table, ...cells.map((it) => [it.column, it.kind])]);
  const text = insertTexts.get(key) ?? insertText(table, cells);
  insertTexts.set(key, text);
  const params = cells.map(({ value }) => (typeof value === 'boolean' ? Number(value) : value));
  return { sql: text, params, ids: [] };
};

const insertTexts = new LRUCache<string, string>({ max: limits.statementsMax });

const insertText = (table: string, cells: readonly Cell[]): string => {
  const columns = sql.join(cells.map((it) => sql.ref(it.column)));
  const values = sql.join(cells.map(({ kind }) => bind(kind, '0')));
  return compile(sql`insert into ${sql.table(table)} (${columns}) values (${values})`).sql;
};

/** The sequence table does not know of rows that were inserted with explicit ids. */
const lastId = (table: string): Sql =>
  sql`max(coalesce((select seq from sqlite_sequence where name = ${table}), 0), coalesce((select max(id) from ${sql.table(table)}), 0))`;

const compile: Dialect['compile'] = (query) => compileWith(sqliteBuilder, query);

const stillRunning = (id: Sql): Sql => sql`dovetail_still_running(${id})`;

export const sqliteDialect: Dialect = {
  name: 'sqlite',
  columnTypes: sqliteColumnTypes,
  schema: sqliteSchema,
  jsonPairsMax: 400,
  compile,
  inIds: (column) => sql`${column} in (select value from json_each(${idsParameter()}))`,
  idsTable: sql`(select value as id from json_each(${idsParameter()}))`,
  pairsTable: (pairs) => sql`(select value ->> 0 as id, value ->> 1 as value from json_each(${JSON.stringify(pairs)}))`,
  jsonObject: (pairs) => sql`json_object(${sql.join(pairs.flatMap(([key, value]) => [sql.lit(key), value]))})`,
  jsonValue,
  bind,
  bindSlot: slotParameter,
  insertRows: (rows) => rows.map(insertRow),
  comparable,
  // SQLite writes a float as 10.0 where responses show 10
  numberText: (column, kind) =>
    kind === 'float' || kind === 'decimal' ? sql`dovetail_number(${column})` : sql`cast(${column} as text)`,
  fold: (text) => sql`dovetail_fold(${text})`,
  position: (text, part) => sql`instr(${text}, ${part})`,
  unindexed: (column) => sql`+${column}`,
  rowsBelow: () => sql``,
  stillRunning: {
    everyRow: stillRunning,
    // a prime, because ids may be assigned in steps of 2 or 10
    someRows: (id) => sql`(${id} % 61 or ${stillRunning(id)})`,
  },
  reserveIds: (wanted) => {
    const selects = wanted.map(
      ({ table, count }, place) =>
        sql`select ${sql.lit(place)}, ${lastId(table)} + value from json_each(${`[${Array.from({ length: count }, (_, i) => i + 1).join(',')}]`})`,
    );
    return compile(sql.join(selects, sql` union all `));
  },
  lock: () => null,
  forUpdate: sql``,
  explain: explainOnSqlite,
  ...sqliteBinding,
};
