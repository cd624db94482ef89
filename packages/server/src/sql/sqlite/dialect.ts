/** The SQLite dialect: JSON, dates, lists and inserts. */
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { limits } from '../../limits.js';
import { compileWith, fixedStatement, idsParameter, slotParameter, sqliteBuilder } from '../compile.js';
import type { ColumnKind, DbValue, Dialect, JsonForm, JsonTexts, NewRow, Sql, Statement } from '../dialect.js';
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
      // texts and blobs are greater than numbers
      return sql`cast(iif(+${column} >= '', dovetail_epoch(${column}), ${column}) as text)`;
    case 'boolean':
      return sql`case ${column} when 1 then 'true' when 0 then 'false' end`;
    case 'time':
      return sql`iif(length(${column}) = 12, ${column}, coalesce(strftime('%H:%M:%f', ${column}), ${column}))`;
    case 'instant':
      return sql`case when ${isPlainInstant(column)} then ${isoOf(column)} || 'Z' when ${column} is not null then dovetail_instant(${column}) end`;
    case 'json':
      return column;
  }
};

/**
 * Almost always true: rows edited by hand may hold text, and SQLite's functions end with the year 9999. The plus keeps the
 * column's type out of the comparison, so that no text is between two numbers.
 */
const isPlainInstant = (column: Sql): Sql => sql`+${column} between ${sql.lit(instantMin)} and ${sql.lit(instantMax)}`;

/** An ISO instant without its `Z`, in whole milliseconds; a third of the time of strftime, which reads a format. */
const isoOf = (column: Sql): Sql =>
  sql`replace(datetime(cast(${column} as integer) / 1000.0, 'unixepoch', 'subsec'), ' ', 'T')`;

/** A column as JSON text, never null. Concatenated, such texts take less time than calls of JSON functions inside each other. */
const jsonText = (form: JsonForm, column: Sql): Sql => {
  switch (form) {
    case 'boolean':
      return sql`case ${column} when 1 then 'true' when 0 then 'false' else 'null' end`;
    case 'instant':
      return sql`case when ${isPlainInstant(column)} then concat('"', ${isoOf(column)}, 'Z"') when ${column} is null then 'null' else json_quote(dovetail_instant(${column})) end`;
    case 'json':
      // a value that is not valid JSON is returned as it is, so that no stored value breaks a response; it is taken for valid
      // if it is up to the first NUL, and format ends there
      return sql`iif(json_valid(${column}), format('%s', ${column}), ${quoted(column)})`;
    case 'text':
      return sql`json_quote(cast(${column} as text))`;
    case 'number':
    case 'date':
    case 'time':
      return quoted(jsonValue(form, column));
    case 'digits':
    case 'epoch':
      return sql`json_quote(${jsonValue(form, column)})`;
  }
};

/**
 * A blob, which only other programs write, is shown as the text of its bytes: JSON cannot hold it. Blobs are greater than all
 * other values; comparing takes less time than calling `typeof`.
 */
const quoted = (value: Sql): Sql => sql`json_quote(iif(+${value} >= x'', cast(${value} as text), ${value}))`;

const concat: JsonTexts['concat'] = (parts) => {
  const merged: (string | Sql)[] = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === 'string' && typeof last === 'string') merged[merged.length - 1] = last + part;
    else merged.push(part);
  }
  const texts = merged.map((it) => (typeof it === 'string' ? sql.lit(it) : it));
  if (texts.length <= ARGUMENTS_MAX) return sql`concat(${sql.join(texts)})`;
  const calls: Sql[] = [];
  for (let i = 0; i < texts.length; i += ARGUMENTS_MAX)
    calls.push(sql`concat(${sql.join(texts.slice(i, i + ARGUMENTS_MAX))})`);
  return concat(calls);
};

/** SQLite takes 1,000. */
const ARGUMENTS_MAX = 900;

const jsonTexts: JsonTexts = {
  value: jsonText,
  concat,
  joined: (text) => sql`group_concat(${text}, ',')`,
  size: (text) => sql`octet_length(${text})`,
  bytes: (text) => sql`cast(${text} as blob)`,
  nul: sql`char(0)`,
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

/**
 * Rows with ids first, then the others; those with the same columns together, in statements of one to `insertedRowsMax`
 * rows.
 */
const insertAll = (rows: readonly NewRow[]): readonly Statement[] => {
  const groups = new Map<string, NewRow[]>();
  for (const hasId of [true, false])
    for (const row of rows) {
      if (row.cells.some((it) => it.kind === 'id') !== hasId) continue;
      const key = columnsKey(row);
      const group = groups.get(key);
      if (group) group.push(row);
      else groups.set(key, [row]);
    }
  return [...groups].flatMap(([key, group]) => {
    const statements: Statement[] = [];
    for (let i = 0; i < group.length; i += insertedRowsMax) {
      const some = group.slice(i, i + insertedRowsMax);
      const textKey = `${some.length} ${key}`;
      const text = insertTexts.get(textKey) ?? insertText(some);
      insertTexts.set(textKey, text);
      const params = some.flatMap(({ cells }) =>
        cells.map(({ value }) => (typeof value === 'boolean' ? Number(value) : value)),
      );
      statements.push({ sql: text, params, ids: [] });
    }
    return statements;
  });
};

/** Few, so that there are few texts. */
const insertedRowsMax = 8;

const columnsKey = ({ table, cells }: NewRow): string => {
  let key = table;
  for (const { column, kind } of cells) key += ` ${column} ${kind}`;
  return key;
};

const insertTexts = new LRUCache<string, string>({ max: limits.statementsMax });

const insertText = (rows: readonly NewRow[]): string => {
  const [{ table, cells }] = rows as readonly [NewRow];
  const columns = sql.join(cells.map((it) => sql.ref(it.column)));
  const values = rows.map(() => sql`(${sql.join(cells.map(({ kind }) => bind(kind, '0')))})`);
  return compile(sql`insert into ${sql.table(table)} (${columns}) values ${sql.join(values)}`).sql;
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
  isRemote: false,
  jsonPairsMax: 400,
  compile,
  inIds: (column) => sql`${column} in (select value from json_each(${idsParameter()}))`,
  // a table-valued function costs ten times as much as an operator
  isId: (column) => sql`${column} = (${idsParameter()} ->> 0)`,
  joinedIds: (query) => sql`(select ${jsonTexts.joined(sql`id`)} from (${query}))`,
  inQuery: (column, query) => sql`${column} in (${query})`,
  idsTable: sql`(select value as id from json_each(${idsParameter()}))`,
  pairsTable: (slot) =>
    sql`(select value ->> 0 as id, value ->> 1 as value from json_each(${slotParameter('text', slot)}))`,
  pairsText: (pairs) => JSON.stringify(pairs),
  jsonObject: (fields) =>
    concat([
      '{',
      ...fields.flatMap(({ name, form, column }, i) => [
        `${i > 0 ? ',' : ''}${JSON.stringify(name)}:`,
        jsonText(form, column),
      ]),
      '}',
    ]),
  jsonValue,
  jsonTexts,
  bind,
  // the planner looks at bare parameters (of a limit, or beside an indexed column after `analyze`), and therefore prepares the
  // statement anew each time that one is bound
  bindSlot: (kind, slot) => sql`+${slotParameter(kind, slot)}`,
  held: (_kind, value) => value,
  insertRows: insertAll,
  comparable,
  // an index has all texts behind all numbers
  isOdd: (kind, column) => (kind === 'datetime' ? sql`${column} >= ''` : null),
  nullsAreLow: true,
  // SQLite writes a float as 10.0 where responses show 10
  numberText: (column, kind) =>
    kind === 'float' || kind === 'decimal' ? sql`dovetail_number(${column})` : sql`cast(${column} as text)`,
  fold: (text) => sql`dovetail_fold(${text})`,
  position: (text, part) => sql`instr(${text}, ${part})`,
  maxOfDistinct: (values, isExcluded) =>
    sql`(select case when exists (select 1 from (${values}) v group by v.value having count(*) > 1 or v.value is null or ${isExcluded(sql`v.value`)}) then null else coalesce((select v.value from (${values}) v limit 1), 0) end)`,
  unindexed: (column) => sql`+${column}`,
  likely: (condition) => sql`likely(${condition})`,
  rowsBelow: () => sql``,
  stillRunning: {
    everyRow: stillRunning,
    // a prime, because ids may be assigned in steps of 2 or 10
    someRows: (id) => sql`(${id} % 61 or ${stillRunning(id)})`,
    changedRows: (id) => sql`dovetail_may_change(${id})`,
  },
  newIds: (table) => sql`(select ${lastId(table)} + value as id from json_each(${idsParameter()}))`,
  continueIds: () => null,
  lock: () => null,
  unchanged: () => null,
  forUpdate: sql``,
  forDeletion: sql``,
  forReference: () => sql``,
  skipLocked: sql``,
  engine: fixedStatement(
    `select 'SQLite ' || sqlite_version(), (select page_count from pragma_page_count) * (select page_size from pragma_page_size)`,
  ),
  preferIndexes: null,
  explain: explainOnSqlite,
  ...sqliteBinding,
  // there is no round trip to save
  unite: () => null,
};
