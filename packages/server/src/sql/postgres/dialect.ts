/** The PostgreSQL dialect: JSON, dates, lists, inserts and locks. */
import { sql } from 'kysely';
import once from 'lodash/once.js';
import { LRUCache } from 'lru-cache';
import { limits } from '../../limits.js';
import { compileWith, fixedStatement, idsParameter, postgresBuilder, slotParameter } from '../compile.js';
import type { Binding, ColumnKind, DbValue, Dialect, JsonForm, LastRank, NewRow, Sql, Statement } from '../dialect.js';
import { postgresColumnTypes, postgresSchema } from './catalog.js';
import { explainOnPostgres } from './explain.js';
import { unchanged } from './guard.js';
import { newJoinedTexts, numberOf, renumbered } from './parameters.js';

/** The zone of this process: v4 stores wall clocks in it (ST2). */
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const isUtc = /^(Etc\/)?(UTC|UCT|GMT|Zulu|Universal)$/.test(zone);
const toUtc = (column: Sql): Sql =>
  isUtc ? column : sql`((${column} at time zone ${sql.lit(zone)}) at time zone 'UTC')`;

const jsonValue = (form: JsonForm, column: Sql): Sql => {
  switch (form) {
    case 'text':
    case 'number':
    case 'boolean':
    case 'json':
      return column;
    case 'digits':
      return sql`${column}::text`;
    case 'epoch':
      return sql`case when isfinite(${column}) then (extract(epoch from ${toUtc(column)}) * 1000)::bigint::text end`;
    case 'date':
      return sql`to_char(${column}, 'YYYY-MM-DD')`;
    case 'time':
      return sql`to_char(${column}, 'HH24:MI:SS.MS')`;
    case 'instant': {
      const utc = toUtc(column);
      const rest = sql`to_char(${utc}, '-MM-DD"T"HH24:MI:SS.MS"Z"')`;
      const year = sql`extract(year from ${utc})::int`;
      // ISO counts years without an era, and writes those of more than four digits with a sign and six
      const odd = sql`case when ${utc} > '0001-01-01' then '+' || lpad(${year}::text, 6, '0') when ${year} = -1 then '0000' else '-' || lpad((-1 - ${year})::text, 6, '0') end || ${rest}`;
      return sql`case when ${utc} between '0001-01-01' and '9999-12-31 23:59:59.9999' then to_char(${utc}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') when isfinite(${utc}) then ${odd} end`;
    }
  }
};

/** PostgreSQL's spelling of an instant: no sign before the year, and an era after it instead of a negative one. */
const instantLiteral = (epochMs: number): string => {
  const text = new Date(epochMs).toISOString();
  if (text.startsWith('+')) return text.replace(/^\+0*/, '');
  if (!text.startsWith('-') && !text.startsWith('0000')) return text;
  const [, year = '', rest = ''] = /^-?(\d+)(.*)$/.exec(text) ?? [];
  return `${String(Number(year) + 1).padStart(4, '0')}${rest} BC`;
};

/** A value's text, as `fromText` reads it. */
const textOf = (kind: ColumnKind, value: DbValue): string | null => {
  if (value === null) return null;
  if (kind === 'datetime') return instantLiteral(Number(value));
  return typeof value === 'string' ? value : String(value);
};

/** A column's value from an expression of type text. */
const fromText = (kind: ColumnKind, text: Sql): Sql => {
  switch (kind) {
    case 'id':
    case 'reference':
    case 'integer':
      return sql`${text}::int4`;
    case 'bigint':
    case 'decimal':
      return sql`${text}::numeric`;
    case 'float':
    case 'rank':
      return sql`${text}::float8`;
    case 'boolean':
      return sql`${text}::boolean`;
    case 'date':
      return sql`${text}::date`;
    case 'time':
      return sql`${text}::time`;
    case 'datetime':
      return sql`(${text}::timestamptz at time zone ${sql.lit(zone)})`;
    case 'json':
      return sql`${text}::jsonb`;
    case 'jsonText':
      return sql`${text}::json`;
    case 'string':
    case 'text':
      return text;
  }
};

/** As JavaScript writes it: a float has no trailing zeros, a numeric no exponent, and JavaScript's exponents no leading ones. */
const floatText = (column: Sql): Sql => {
  const float = sql`${column}::float8`;
  return sql`case when abs(${float}) >= 1e21 or abs(${float}) < 1e-6 and ${float} <> 0 then regexp_replace(${float}::text, 'e([+-])0', 'e\\1') else ${float}::text::numeric::text end`;
};

/** Rounds as `numeric(10,2)` does: the digits of the number, half away from zero. */
const twoPlaces = once(
  () => new Intl.NumberFormat('en', { maximumFractionDigits: 2, useGrouping: false, signDisplay: 'negative' }),
);

const isInteger = (kind: ColumnKind): boolean => kind === 'id' || kind === 'reference' || kind === 'integer';

const bind = (kind: ColumnKind, value: DbValue): Sql => {
  const text = textOf(kind, value);
  // a number out of the column's range is compared as a float, where a cast would fail
  const isHeld =
    text === null || !isInteger(kind) || (Number.isInteger(value) && Math.abs(Number(value)) <= limits.integerMax);
  return fromText(isHeld ? kind : 'float', sql`${text}::text`);
};

/**
 * One statement for all rows, because a statement costs more than a row: a parameter for each value of a row whose columns no
 * other row of the table has, and for several with the same columns an array for each column, or JSON where these would be too many
 * parameters. Foreign keys between the rows are checked at the end of the statement.
 */
const insertAll = (rows: readonly NewRow[]): readonly Statement[] => {
  if (rows.length === 0) return [];
  const groups = new Map<string, NewRow[]>();
  for (const row of rows) {
    const key = columnsKey(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  let key = '';
  const params: (string | null)[] = [];
  const inserts: Insert[] = [];
  for (const [columns, group] of groups) {
    const form = params.length >= valuesMax ? 'json' : group.length === 1 ? 'values' : 'arrays';
    key += `${form} ${columns}\n`;
    const [row] = group as [NewRow];
    inserts.push({ row, form });
    if (form === 'json') params.push(JSON.stringify(group.map(textsOf)));
    else if (form === 'values') for (const { kind, value } of row.cells) params.push(textOf(kind, value));
    else
      for (const [i, { kind }] of row.cells.entries())
        params.push(arrayText(group.map(({ cells }) => textOf(kind, cells[i]!.value))));
  }
  const text = insertTexts.get(key) ?? insertText(inserts);
  insertTexts.set(key, text);
  return [{ sql: text, params, ids: [] }];
};

/** Parameters of a statement from which on rows become JSON: PostgreSQL takes 65,535 in all. */
const valuesMax = 1_000;

interface Insert {
  /** One of its rows. */
  readonly row: NewRow;
  readonly form: 'values' | 'arrays' | 'json';
}

const columnsKey = ({ table, cells, last }: NewRow): string => {
  let key = table;
  for (const { column, kind } of cells) key += ` ${column} ${kind}`;
  return last ? `${key} ${last.column} behind ${last.of} ${JSON.stringify(last.fixed)}` : key;
};

const textsOf = ({ cells }: NewRow): Readonly<Record<string, string | null>> => {
  const texts: Record<string, string | null> = {};
  for (const { column, kind, value } of cells) texts[column] = textOf(kind, value);
  return texts;
};

const arrayText = (texts: readonly (string | null)[]): string =>
  `{${texts.map((it) => (it === null ? 'NULL' : `"${it.replace(/["\\]/g, '\\$&')}"`)).join()}}`;

const insertTexts = new LRUCache<string, string>({ max: limits.statementsMax });

const insertText = (inserts: readonly Insert[]): string => {
  const parts = inserts.map(({ row: { table, cells, last }, form }, i) => {
    const names = cells.map((it) => sql.ref(it.column));
    const values =
      form === 'values'
        ? sql`values (${sql.join(cells.map(({ kind }) => fromText(kind, sql`${''}::text`)))})`
        : sql`select ${sql.join(cells.map(({ kind, column }) => fromText(kind, sql.ref(`r.${column}`))))} from ${recordsOf(names, form)}`;
    const columns = last ? [...names, sql.ref(last.column)] : names;
    const rows = last ? sql`select r.*, ${behindLast(table, last)} from (${values}) as r(${sql.join(names)})` : values;
    return sql`${sql.id(`i${i}`)} as (insert into ${sql.table(table)} (${sql.join(columns)}) ${rows})`;
  });
  return compile(sql`with ${sql.join(parts)} select 1`).sql;
};

/** Rows of texts, as `r`. */
const recordsOf = (names: readonly Sql[], form: 'arrays' | 'json'): Sql =>
  form === 'arrays'
    ? sql`(select ${sql.join(names.map((name) => sql`unnest((${''}::text)::text[]) as ${name}`))}) as r`
    : sql`json_to_recordset((${''}::text)::json) as r(${sql.join(names.map((name) => sql`${name} text`))})`;

const behindLast = (table: string, { column, of, fixed }: LastRank): Sql => {
  const rank = sql.ref(`l.${column}`);
  const others = fixed.map((it) => sql` and ${sql.ref(`l.${it.column}`)} = ${sql.lit(it.value)}`);
  return sql`(select coalesce(floor(max(${rank})), 0) + 1 from ${sql.table(table)} l where ${sql.ref(`l.${of}`)} = ${sql.ref(`r.${of}`)}${sql.join(others, sql``)})`;
};

/** Each query keeps the order of its rows: no part of it runs in parallel with another part. */
const unite = (queries: readonly Statement[]): Statement => {
  const key = queries.map((it) => numberOf(it.sql)).join();
  const text = unitedTexts.get(key) ?? unitedText(queries);
  unitedTexts.set(key, text);
  return {
    sql: text,
    params: queries.flatMap((it) => it.params),
    ids: [],
    isLong: queries.some((it) => it.isLong === true),
  };
};

const unitedTexts = newJoinedTexts();

const unitedText = (queries: readonly Statement[]): string => {
  let before = 0;
  const selects = queries.map(({ sql: text, params }, place) => {
    const query = renumbered(text, before);
    before += params.length;
    return `select ${place} as place, q.* from (${query}) q`;
  });
  return selects.join(' union all ');
};

const lockTexts = new Map<number, string>();

/** Of a few names. */
const lockText = (count: number): string => {
  const known = lockTexts.get(count);
  if (known !== undefined) return known;
  const all = Array.from({ length: count }, () => sql`pg_advisory_xact_lock(hashtext(${''}::text))`);
  const { sql: text } = compile(sql`select ${sql.join(all)}`);
  lockTexts.set(count, text);
  return text;
};

/** Names in one statement of a text of its own. */
const LOCKS_MAX = 24;
const manyLocks = 'select pg_advisory_xact_lock(hashtext(name)) from json_array_elements_text($1::json) as names(name)';
const mixedLocks = `select case when (lock ->> 1)::boolean then pg_advisory_xact_lock_shared(hashtext(lock ->> 0))
  else pg_advisory_xact_lock(hashtext(lock ->> 0)) end from json_array_elements($1::json) as locks(lock)`;

const compile: Dialect['compile'] = (query) => compileWith(postgresBuilder, query);

export const postgresBinding: Binding = { idsText: (ids) => `{${ids.join(',')}}`, param: textOf };

/** The server finds it anew for each id, which takes 30 µs. */
const serialSequence = (table: string): Sql => sql`pg_get_serial_sequence(${sql.lit(`"${table}"`)}, 'id')`;

/**
 * @param collation a Unicode-aware one for `lower`, because the database's own may be C; null: the database's own.
 * @param idSequences by table (`idSequencesStatement`); for a table that is not among them the server looks it up for each id.
 */
export const postgresDialect = (collation: string | null, idSequences: ReadonlyMap<string, string>): Dialect => ({
  name: 'postgres',
  columnTypes: postgresColumnTypes,
  schema: postgresSchema,
  isRemote: true,
  // a function call takes at most 100 arguments
  jsonPairsMax: 50,
  compile,
  inIds: (column) => sql`${column} = any(${idsParameter()}::int4[])`,
  isId: (column) => sql`${column} = any(${idsParameter()}::int4[])`,
  joinedIds: (query) => sql`array_to_string(array(${query}), ',')`,
  inQuery: (column, query) => sql`${column} = any(array(${query}))`,
  idsTable: sql`(select unnest(${idsParameter()}::int4[]) as id)`,
  pairsTable: (slot) =>
    sql`(select p.* from (select ${slotParameter('text', slot)}::text as text) given, unnest(split_part(given.text, ' ', 1)::int4[], split_part(given.text, ' ', 2)::float8[]) as p(id, value))`,
  pairsText: (pairs) => `{${pairs.map(([id]) => id).join(',')}} {${pairs.map(([, value]) => value).join(',')}}`,
  jsonObject: (fields) =>
    sql`json_build_object(${sql.join(fields.flatMap((it) => [sql.lit(it.name), jsonValue(it.form, it.column)]))})::text`,
  jsonValue,
  jsonTexts: null,
  bind,
  bindSlot: (kind, slot) => fromText(kind, sql`${slotParameter(kind, slot)}::text`),
  ...postgresBinding,
  held: (kind, value) =>
    kind === 'decimal' && value !== null ? Number(twoPlaces().format(`${Number(value)}`)) : value,
  insertRows: insertAll,
  comparable: (_kind, column) => column,
  isOdd: () => null,
  nullsAreLow: false,
  numberText: (column, kind) => (kind === 'float' || kind === 'decimal' ? floatText(column) : sql`${column}::text`),
  // final sigma (ς) is the same letter as sigma (σ); escaped, because the bundle is ASCII and its bundler leaves tagged templates as they are
  fold: (text) =>
    sql`translate(lower(${text}${collation === null ? sql`` : sql` collate ${sql.id(collation)}`}), '\u03c2', '\u03c3')`,
  position: (text, part) => sql`strpos(${text}, ${part})`,
  // in the order of the values, so that they are not sorted
  maxOfDistinct: (values, isExcluded) =>
    sql`(select case when count(distinct v.value order by v.value desc) < count(*) or bool_or(${isExcluded(sql`v.value`)}) then null else coalesce(max(v.value), 0) end from (${values}) v)`,
  unindexed: (column) => column,
  likely: (condition) => condition,
  rowsBelow: (max) => sql` limit ${sql.lit(max)}`,
  stillRunning: null,
  newIds: (table) => {
    const known = idSequences.get(postgresSchema.storedName(table));
    // a constant, which the server resolves as it prepares the statement, and anew when the sequence is replaced
    const sequence = known === undefined ? serialSequence(table) : sql`${sql.lit(known)}::regclass`;
    return sql`(select nextval(${sequence})::int4 as id from unnest(${idsParameter()}::int4[]))`;
  },
  continueIds: (table) =>
    compile(
      sql`select setval(${serialSequence(table)}, greatest((select coalesce(max(id), 1) from ${sql.table(table)}), nextval(${serialSequence(table)}))) where exists (select 1 from ${sql.table(table)})`,
    ),
  lock: (names, shared = []) => {
    const own = new Set(names);
    const others = new Set(shared.filter((it) => !own.has(it)));
    // always in the same order, to avoid deadlocks
    const all = [...own, ...others].sort();
    if (all.length === 0) return null;
    if (others.size > 0)
      return { sql: mixedLocks, params: [JSON.stringify(all.map((name) => [name, others.has(name)]))], ids: [] };
    if (all.length > LOCKS_MAX) return { sql: manyLocks, params: [JSON.stringify(all)], ids: [] };
    return { sql: lockText(all.length), params: all, ids: [] };
  },
  unchanged,
  forUpdate: sql` for no key update`,
  forDeletion: sql` for update`,
  forReference: (table) => sql` for key share of ${sql.ref(table)}`,
  skipLocked: sql` for update skip locked`,
  engine: fixedStatement(
    `select 'PostgreSQL ' || current_setting('server_version'), pg_database_size(current_database())`,
  ),
  preferIndexes: fixedStatement(`select set_config('enable_seqscan', 'off', true)`),
  explain: explainOnPostgres,
  unite,
});
