/** SQLite: reads the catalog of a file, creates tables and changes column types. */
import { sql } from 'kysely';
import { fixedStatement, sqliteBuilder } from '../compile.js';
import type { ColumnKind, Dialect, SchemaDialect, Sql, StoredKind } from '../dialect.js';

export const sqliteColumnTypes: Dialect['columnTypes'] = {
  id: 'integer primary key autoincrement not null',
  reference: 'integer',
  rank: 'float',
  string: 'varchar(255)',
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  float: 'float',
  decimal: 'float',
  boolean: 'boolean',
  date: 'date',
  time: 'time',
  datetime: 'datetime',
  json: 'json',
  jsonText: 'json',
};

/** Matched against the start of the declared type, longer names first. */
const kinds: readonly (readonly [RegExp, ColumnKind])[] = [
  [/^(varchar|char|nvarchar|character)/, 'string'],
  [/^(text|longtext|clob)/, 'text'],
  [/^bigint/, 'bigint'],
  [/^(int|smallint|tinyint|mediumint)/, 'integer'],
  [/^(float|real|double)/, 'float'],
  [/^(decimal|numeric)/, 'decimal'],
  [/^bool/, 'boolean'],
  [/^(datetime|timestamp)/, 'datetime'],
  [/^date/, 'date'],
  [/^time/, 'time'],
  [/^json/, 'json'],
];

// lengths are not enforced
const kindOf = (declared: string): StoredKind | null => {
  const found = kinds.find(([pattern]) => pattern.test(declared));
  return found ? { kind: found[1], lengthMax: null } : null;
};

const texts: ReadonlySet<ColumnKind> = new Set(['string', 'text']);
const numbers: ReadonlySet<ColumnKind> = new Set(['id', 'reference', 'rank', 'integer', 'bigint', 'float', 'decimal']);

/** In SQLite every value has its own type; the declared type of a column only determines how values are converted. */
const holds = (declared: string, kind: ColumnKind): boolean => {
  const stored = kindOf(declared)?.kind;
  if (declared === sqliteColumnTypes[kind] || stored === kind) return true;
  if (stored === undefined) return false;
  // a REAL column loses digits of large integers
  return (texts.has(stored) && texts.has(kind)) || (numbers.has(stored) && numbers.has(kind) && kind !== 'bigint');
};

/** Text that is not a number becomes null; a cast alone would make it 0. */
const number = (column: Sql, from: ColumnKind | undefined, cast: Sql): Sql =>
  from !== undefined && texts.has(from)
    ? sql`case when ${column} glob '*[0-9]*' and ${column} not glob '*[^-+.eE0-9]*' then ${cast} end`
    : cast;

/** An expression that converts a stored value to another kind. */
const convertColumn = (column: Sql, from: ColumnKind | undefined, to: ColumnKind): Sql => {
  switch (to) {
    case 'string':
    case 'text':
      return sql`cast(${column} as text)`;
    case 'id':
    case 'reference':
    case 'integer':
    case 'bigint':
      return number(column, from, sql`cast(${column} as integer)`);
    case 'rank':
    case 'float':
    case 'decimal':
      return number(column, from, sql`cast(${column} as real)`);
    case 'date':
      return from === 'datetime' ? sql`date(${column} / 1000, 'unixepoch')` : column;
    case 'datetime':
      return from === 'date' ? sql`cast(strftime('%s', ${column}) as integer) * 1000` : column;
    case 'boolean':
    case 'time':
    case 'json':
    case 'jsonText':
      return column;
  }
};

/** SQLite cannot change a column's type, so a new column takes over its name and its values. */
const changeType: SchemaDialect['changeType'] = ({ table, column, kind, found }) => {
  const before = sql.id(`${column}_before`);
  const [on, name] = [sql.table(table), sql.id(column)];
  return [
    sql`alter table ${on} rename column ${name} to ${before}`,
    sql`alter table ${on} add column ${name} ${sql.raw(sqliteColumnTypes[kind])}`,
    sql`update ${on} set ${name} = ${convertColumn(before, kindOf(found)?.kind, kind)}`,
  ].map((it) => it.compile(sqliteBuilder).sql);
};

export const sqliteSchema: SchemaDialect = {
  builder: sqliteBuilder.schema,
  columns: fixedStatement(
    `select m.name, c.name, lower(c.type) from sqlite_master m join pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite\\_%' escape '\\' order by m.name, c.cid`,
  ),
  indexes: fixedStatement(`select name, 1 from sqlite_master where type = 'index'`),
  unlocked: sql``,
  storedName: (name) => name,
  foreignKeys: 'with the table',
  hasRowsById: true,
  uniqueAs: 'index',
  kindOf,
  holds,
  changeType,
  renameTable: (from, to) => [sqliteBuilder.schema.alterTable(from).renameTo(to).compile().sql],
  renameForeignKey: () => [],
  renamesIndexes: false,
  dropsWithColumn: false,
  indexedColumns: fixedStatement(
    `select m.tbl_name, c.name, m.name, m.sql from sqlite_master m join pragma_index_info(m.name) c where m.type = 'index' and m.sql is not null and c.name is not null order by m.tbl_name, m.name, c.seqno`,
  ),
  keys: fixedStatement(
    `select m.name, '', k."from", k."table", null from sqlite_master m join pragma_foreign_key_list(m.name) k where m.type = 'table' order by m.name, k.id`,
  ),
  otherSessions: () => null,
};
