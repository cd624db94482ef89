/**
 * THE operator table (FL2): one record for each filter operator. Adding an operator is adding a record.
 * Comparison with NULL follows SQL everywhere: rows without a value match no operator but `$null`.
 */
import { sql } from 'kysely';
import type { Family } from '../model/attributes.js';
import type { ColumnKind, DbValue, Dialect, Sql } from '../sql/dialect.js';

export interface Operator {
  /** `one` value, `two` bounds, a `list`, or a `flag` that may invert the operator. */
  readonly takes: 'one' | 'two' | 'list' | 'flag';
  readonly families: readonly Family[];
  /** Several values of a `one` operator are joined by OR, of a negative one by AND (FL8). */
  readonly negative: boolean;
  readonly condition: (column: Sql, kind: ColumnKind, values: readonly DbValue[], dialect: Dialect) => Sql;
}

const everything: readonly Family[] = ['text', 'ordered', 'boolean', 'json'];
const comparable: readonly Family[] = ['text', 'ordered', 'boolean'];
const textual: readonly Family[] = ['text'];

type Compare = (column: Sql, value: Sql, dialect: Dialect) => Sql;

const numbers: ReadonlySet<ColumnKind> = new Set(['integer', 'bigint', 'float', 'decimal']);

const one = (families: readonly Family[], compare: Compare, negative = false): Operator => ({
  takes: 'one',
  families,
  negative,
  condition: (column, kind, [value = null], dialect) =>
    // reached by `_q` only, which searches the digits of numbers (FL14)
    families === textual && numbers.has(kind)
      ? compare(dialect.numberText(column, kind), dialect.bind('text', value), dialect)
      : compare(column, dialect.bind(kind, value), dialect),
});

/** Compares without regard to upper and lower case. */
const foldCase =
  (compare: Compare): Compare =>
  (column, value, dialect) =>
    compare(dialect.fold(column), dialect.fold(value), dialect);

const contains: Compare = (column, part, dialect) => sql`${dialect.position(column, part)} > 0`;
const lacks: Compare = (column, part, dialect) => sql`${dialect.position(column, part)} = 0`;
const startsWith: Compare = (column, part) => sql`substr(${column}, 1, length(${part})) = ${part}`;
// an empty part is a suffix of every text
const endsWith: Compare = (column, part) =>
  sql`(length(${column}) >= length(${part}) and substr(${column}, length(${column}) - length(${part}) + 1) = ${part})`;
const equals: Compare = (column, value) => sql`${column} = ${value}`;
const differs: Compare = (column, value) => sql`${column} <> ${value}`;

const inList = (negative: boolean): Operator => ({
  takes: 'list',
  families: comparable,
  negative,
  condition: (column, kind, values, dialect) => {
    // possible only in a query object
    if (values.length === 0) return negative ? sql`1 = 1` : sql`1 = 0`;
    const list = sql.join(padded(values).map((value) => dialect.bind(kind, value)));
    return negative ? sql`${column} not in (${list})` : sql`${column} in (${list})`;
  },
});

/** Padded with its last value to a power of two, so that few distinct SQL texts result. */
const padded = (values: readonly DbValue[]): readonly DbValue[] => {
  const last = values.at(-1);
  if (last === undefined) return values;
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...Array.from({ length: length - values.length }, () => last)];
};

const isNull = (whenTrue: boolean): Operator => ({
  takes: 'flag',
  families: everything,
  negative: false,
  condition: (column, _kind, [flag]) =>
    (flag === true) === whenTrue ? sql`${column} is null` : sql`${column} is not null`,
});

const table = {
  $eq: one(everything, equals),
  $eqi: one(textual, foldCase(equals)),
  $ne: one(everything, differs, true),
  $nei: one(textual, foldCase(differs), true),
  $in: inList(false),
  $notIn: inList(true),
  $lt: one(comparable, (column, value) => sql`${column} < ${value}`),
  $lte: one(comparable, (column, value) => sql`${column} <= ${value}`),
  $gt: one(comparable, (column, value) => sql`${column} > ${value}`),
  $gte: one(comparable, (column, value) => sql`${column} >= ${value}`),
  $between: {
    takes: 'two',
    families: comparable,
    negative: false,
    condition: (column, kind, [low = null, high = null], dialect) =>
      sql`${column} between ${dialect.bind(kind, low)} and ${dialect.bind(kind, high)}`,
  },
  $contains: one(textual, contains),
  $notContains: one(textual, lacks, true),
  $containsi: one(textual, foldCase(contains)),
  $notContainsi: one(textual, foldCase(lacks), true),
  $startsWith: one(textual, startsWith),
  $startsWithi: one(textual, foldCase(startsWith)),
  $endsWith: one(textual, endsWith),
  $endsWithi: one(textual, foldCase(endsWith)),
  $null: isNull(true),
  $notNull: isNull(false),
} as const satisfies Record<string, Operator>;

export type OperatorName = keyof typeof table;
export const operators: Readonly<Record<OperatorName, Operator>> = table;
export const isOperatorName = (name: string): name is OperatorName => Object.hasOwn(table, name);
/** For suggestions: the table's operators and the three that join conditions. */
export const operatorNames: readonly string[] = [...Object.keys(table), '$and', '$or', '$not'];
