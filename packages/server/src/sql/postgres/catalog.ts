/** PostgreSQL: reads the catalog of a schema and changes column types. */
import { sql } from 'kysely';
import { compileWith, fixedStatement, postgresBuilder } from '../compile.js';
import type { ColumnKind, Dialect, SchemaDialect, StoredKind } from '../dialect.js';

export const postgresColumnTypes: Dialect['columnTypes'] = {
  id: 'serial primary key',
  reference: 'integer',
  rank: 'double precision',
  string: 'character varying(255)',
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  float: 'double precision',
  decimal: 'numeric(10,2)',
  boolean: 'boolean',
  date: 'date',
  time: 'time without time zone',
  datetime: 'timestamp(6) without time zone',
  json: 'jsonb',
  jsonText: 'json',
};

const kinds: readonly (readonly [RegExp, ColumnKind])[] = [
  [/^character/, 'string'],
  [/^text$/, 'text'],
  [/^(integer|smallint)$/, 'integer'],
  [/^bigint$/, 'bigint'],
  [/^(double precision|real)$/, 'float'],
  [/^numeric/, 'decimal'],
  [/^boolean$/, 'boolean'],
  [/^date$/, 'date'],
  [/^timestamp/, 'datetime'],
  [/^time/, 'time'],
  [/^jsonb?$/, 'json'],
];

const kindOf = (declared: string): StoredKind | null => {
  const found = kinds.find(([pattern]) => pattern.test(declared));
  if (!found) return null;
  const [, length] = /\((\d+)\)/.exec(declared) ?? [];
  return { kind: found[1], lengthMax: found[1] === 'string' && length !== undefined ? Number(length) : null };
};

/** The type as the catalog reports it: `serial` and `primary key` exist in DDL only. */
const declaredType = (kind: ColumnKind): string =>
  postgresColumnTypes[kind].replace(' primary key', '').replace('serial', 'integer');

/** Kinds that PostgreSQL casts directly; all others are cast through text. */
const families: readonly ReadonlySet<ColumnKind>[] = [
  new Set(['id', 'reference', 'rank', 'integer', 'bigint', 'float', 'decimal']),
  new Set(['date', 'datetime']),
  new Set(['string', 'text']),
  new Set(['boolean', 'integer']),
  new Set(['json', 'jsonText']),
];

const changeType: SchemaDialect['changeType'] = ({ table, column, kind, found }) => {
  const from = kindOf(found)?.kind;
  const name = sql.id(column);
  const type = sql.raw(declaredType(kind));
  const isNear = from !== undefined && families.some((it) => it.has(from) && it.has(kind));
  // a cast would truncate texts that are too long; without one the statement fails
  const value =
    kind === 'string' || kind === 'text'
      ? sql`${name}::text`
      : isNear
        ? sql`${name}::${type}`
        : sql`${name}::text::${type}`;
  return [
    sql`alter table ${sql.table(table)} alter column ${name} type ${type} using ${value}`.compile(postgresBuilder).sql,
  ];
};

/** Primary key and sequence have names of the engine's own, which differ only where they are shortened. */
const renameTable: SchemaDialect['renameTable'] = (from, to) => {
  const renamed = [sql`alter table ${sql.table(from)} rename to ${sql.id(to)}`];
  if (Math.max(Buffer.byteLength(from), Buffer.byteLength(to)) <= LONGEST_NAMED)
    renamed.push(
      sql`alter index if exists ${sql.id(`${from}_pkey`)} rename to ${sql.id(`${to}_pkey`)}`,
      sql`alter sequence if exists ${sql.id(`${from}_id_seq`)} rename to ${sql.id(`${to}_id_seq`)}`,
    );
  return renamed.map((it) => it.compile(postgresBuilder).sql);
};
/** Bytes of a table's name that leave room for the suffix of its sequence. */
const LONGEST_NAMED = 56;

/** The table and the sequence of its ids, by a name that needs no search path; that of an identity column comes last, and wins. */
export const idSequencesStatement = fixedStatement(
  `select t.relname, format('%I.%I', n.nspname, s.relname) from pg_class t join pg_attribute a on a.attrelid = t.oid and a.attname = 'id' and not a.attisdropped join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = t.oid and d.refobjsubid = a.attnum and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i') join pg_class s on s.oid = d.objid and s.relkind = 'S' join pg_namespace n on n.oid = s.relnamespace where t.relkind in ('r', 'p') and t.relnamespace = quote_ident(current_schema())::regnamespace order by d.deptype`,
);

export const postgresSchema: SchemaDialect = {
  builder: postgresBuilder.schema,
  columns: fixedStatement(
    `select c.relname, a.attname, format_type(a.atttypid, a.atttypmod) from pg_class c join pg_attribute a on a.attrelid = c.oid where c.relkind in ('r', 'p') and c.relnamespace = quote_ident(current_schema())::regnamespace and a.attnum > 0 and not a.attisdropped order by c.relname, a.attnum`,
  ),
  indexes: fixedStatement(
    `select c.relname, i.indisvalid::int4 from pg_class c join pg_index i on i.indexrelid = c.oid where c.relkind = 'i' and c.relnamespace = quote_ident(current_schema())::regnamespace`,
  ),
  unlocked: sql`concurrently `,
  // identifiers are truncated to 63 bytes (ST1)
  storedName: (name) => Buffer.from(name).subarray(0, 63).toString(),
  foreignKeys: 'afterwards',
  hasRowsById: false,
  uniqueAs: 'constraint',
  kindOf,
  holds: (declared, kind) => declared === declaredType(kind),
  changeType,
  renameTable,
  renameForeignKey: (table, from, to) => [
    sql`alter table ${sql.table(table)} rename constraint ${sql.id(from)} to ${sql.id(to)}`.compile(postgresBuilder)
      .sql,
  ],
  renamesIndexes: true,
  dropsWithColumn: true,
  indexedColumns: fixedStatement(
    `select t.relname, a.attname, i.indexrelid::regclass::text, coalesce('alter table ' || i.indrelid::regclass || ' add constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid), pg_get_indexdef(i.indexrelid)) from pg_index i join pg_class t on t.oid = i.indrelid join pg_attribute a on a.attrelid = t.oid and a.attnum = any(i.indkey::int2[]) left join pg_constraint k on k.conindid = i.indexrelid and k.contype = 'u' where t.relnamespace = quote_ident(current_schema())::regnamespace and not i.indisprimary order by t.relname, i.indexrelid`,
  ),
  keys: fixedStatement(
    `select t.relname, k.conname, a.attname, f.relname, 'alter table ' || k.conrelid::regclass || ' add constraint ' || quote_ident(k.conname) || ' ' || pg_get_constraintdef(k.oid) from pg_constraint k join pg_class t on t.oid = k.conrelid join pg_class f on f.oid = k.confrelid join pg_attribute a on a.attrelid = t.oid and a.attnum = k.conkey[1] where k.contype = 'f' and t.relnamespace = quote_ident(current_schema())::regnamespace order by t.relname, k.conname`,
  ),
  otherSessions: (seconds) =>
    compileWith(
      postgresBuilder,
      sql`select count(*)::int4 from pg_stat_activity where application_name = 'dovetail' and datname = current_database() and backend_start < now() - make_interval(secs => ${seconds}::float8)`,
    ),
};
