/**
 * THE operator table (FL2): one record for each filter operator. Adding an operator is adding a record.
 * Comparison with NULL follows SQL everywhere: rows without a value match no operator but `$null`.
 */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import type { Family } from '../model/attributes.js';
import type { ColumnKind, DbValue, Dialect, Sql } from '../sql/dialect.js';

export interface Operator {
  /** `one` value, `two` bounds, a `list`, or a `flag` that may invert the operator. */
  readonly takes: 'one' | 'two' | 'list' | 'flag';
  readonly families: readonly Family[];
  /** Several values of a `one` operator are joined by OR, of a negative one by AND (FL8). */
  readonly negative: boolean;
  /** @param operands the values, bound as `operandKind` says; none for a flag, which has become the operator. */
  readonly condition: (column: Sql, kind: ColumnKind, operands: readonly Sql[], dialect: Dialect) => Sql;
}

const everything: readonly Family[] = ['text', 'ordered', 'boolean', 'json'];
const comparable: readonly Family[] = ['text', 'ordered', 'boolean'];
const textual: readonly Family[] = ['text'];

type Compare = (column: Sql, value: Sql, dialect: Dialect) => Sql;

const numbers: ReadonlySet<ColumnKind> = new Set(['integer', 'bigint', 'float', 'decimal']);
const integers: ReadonlySet<ColumnKind> = new Set(['id', 'reference', 'integer']);

/** `_q` alone compares numbers as text: it searches their digits (FL14). */
const comparesDigits = (families: readonly Family[], kind: ColumnKind): boolean =>
  families === textual && numbers.has(kind);

const one = (families: readonly Family[], compare: Compare, negative = false): Operator => ({
  takes: 'one',
  families,
  negative,
  condition: (column, kind, [value = sql`null`], dialect) =>
    compare(comparesDigits(families, kind) ? dialect.numberText(column, kind) : column, value, dialect),
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
  condition: (column, _kind, operands) => {
    // possible only in a query object
    if (operands.length === 0) return negative ? sql`1 = 1` : sql`1 = 0`;
    return negative ? sql`${column} not in (${sql.join(operands)})` : sql`${column} in (${sql.join(operands)})`;
  },
});

const isNull = (whenTrue: boolean): Operator => ({
  takes: 'flag',
  families: everything,
  negative: false,
  condition: (column) => (whenTrue ? sql`${column} is null` : sql`${column} is not null`),
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
    condition: (column, _kind, [low, high]) => sql`${column} between ${low} and ${high}`,
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

/** What the values of a condition are bound as. */
export const operandKind = (operator: OperatorName, kind: ColumnKind, values: readonly DbValue[]): ColumnKind => {
  if (comparesDigits(operators[operator].families, kind)) return 'text';
  // a number out of the column's range is compared as a float
  return integers.has(kind) && !values.every(isInteger) ? 'float' : kind;
};

const isInteger = (value: DbValue): boolean =>
  value === null || (Number.isInteger(value) && Math.abs(Number(value)) <= limits.integerMax);

export const isOperatorName = (name: string): name is OperatorName => Object.hasOwn(table, name);
/** For suggestions: the table's operators and the three that join conditions. */
export const operatorNames: readonly string[] = [...Object.keys(table), '$and', '$or', '$not'];
