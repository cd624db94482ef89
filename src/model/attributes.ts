/**
 * THE scalar table: one record for each scalar type. It says how values are stored, shown and read from a query
 * (contract 2.2, 4.4, 6.2). Adding a scalar type is adding a record here; nothing else asks for a type by its name.
 */
import { issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import type { ColumnKind, DbValue, JsonForm } from '../sql/dialect.js';

/** What filters may do: `text` compares, searches and orders; `ordered` compares and orders; `json` only equality. */
export type Family = 'text' | 'ordered' | 'boolean' | 'json';

export interface ScalarType {
  readonly column: ColumnKind;
  readonly form: JsonForm;
  readonly family: Family;
  /** Whether `_q` looks for numbers in it. */
  readonly numeric: boolean;
  /** A text of the query string as a database value. Issues name the path. */
  readonly parseText: (text: string, path: readonly string[]) => Result<DbValue>;
}

const anyText = (text: string): Result<DbValue> => ok(text);

const parseNumber = (text: string, path: readonly string[]): Result<DbValue> => {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? ok(number) : refused(issue('query.number', path, { text }));
};

const parseDigits = (text: string, path: readonly string[]): Result<DbValue> => {
  const [, sign, digits] = /^\s*([+-]?)0*(\d+)\s*$/.exec(text) ?? [];
  if (digits === undefined || digits.length > 38) return refused(issue('query.biginteger', path, { text }));
  return ok(sign === '-' && digits !== '0' ? `-${digits}` : digits);
};

const booleans: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['t', true],
  ['1', true],
  ['false', false],
  ['f', false],
  ['0', false],
]);

/** The flag words of Q3, in any case; undefined for any other text. */
export const parseFlag = (text: string): boolean | undefined => booleans.get(text.toLowerCase());

const parseBoolean = (text: string, path: readonly string[]): Result<DbValue> => {
  const value = parseFlag(text);
  return value === undefined ? refused(issue('query.boolean', path, { text })) : ok(value);
};

const dayExists = (year: number, month: number, day: number): boolean => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
};

/** `YYYY-MM-DD`, optionally followed by a time, which is dropped. */
export const parseDate = (text: string, path: readonly string[]): Result<string> => {
  const [, date = '', year, month, day] = /^((\d{4})-(\d\d)-(\d\d))(?:[T ]\d\d:\d\d\S*)?$/.exec(text) ?? [];
  if (date === '') return refused(issue('value.date', path));
  return dayExists(Number(year), Number(month), Number(day)) ? ok(date) : refused(issue('value.no-such-day', path));
};

/** `HH:mm:ss` with up to three decimals, given back with three. */
export const parseTime = (text: string, path: readonly string[]): Result<string> => {
  const [, clock, decimals = ''] = /^((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,3}))?$/.exec(text) ?? [];
  return clock === undefined ? refused(issue('value.time', path)) : ok(`${clock}.${decimals.padEnd(3, '0')}`);
};

const isoInstant =
  /^(\d{4}|[+-]\d{6})(?:-(\d\d)(?:-(\d\d)(?:[T ]([01]\d|2[0-3])(?::([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?)?)?)?$/i;

/** An ISO date or date-time (without zone: local time of the server) or epoch milliseconds, as epoch milliseconds. */
export const parseInstant = (text: string, path: readonly string[]): Result<number> => {
  const fault = (): Result<never> => refused(issue('value.datetime', path));
  const trimmed = text.trim();
  if (/^-?\d+$/.test(trimmed) && !/^\d{4}$/.test(trimmed)) {
    const epoch = Number(trimmed);
    return Number.isFinite(new Date(epoch).getTime()) ? ok(epoch) : fault();
  }
  const parts = isoInstant.exec(trimmed);
  if (!parts) return fault();
  const [, year, month = '1', day = '1', hour = '0', minute = '0', second = '0', fraction = '0', zone] = parts;
  if (!dayExists(Number(year), Number(month), Number(day))) return fault();
  const clock = [hour, minute, second, fraction.padEnd(3, '0').slice(0, 3)].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  if (zone === undefined) {
    date.setFullYear(Number(year), Number(month) - 1, Number(day));
    date.setHours(...clock);
    return ok(date.getTime());
  }
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(...clock);
  const [, sign = '+', hours = '0', minutes = '0'] = /([+-])(\d\d):?(\d\d)?/.exec(zone) ?? [];
  return ok(date.getTime() - Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000);
};

const text = (column: ColumnKind): ScalarType => ({
  column,
  form: 'text',
  family: 'text',
  numeric: false,
  parseText: anyText,
});
const number = (column: ColumnKind): ScalarType => ({
  column,
  form: 'number',
  family: 'ordered',
  numeric: true,
  parseText: parseNumber,
});
const json: ScalarType = {
  column: 'json',
  form: 'json',
  family: 'json',
  numeric: false,
  parseText: (it) => ok(JSON.stringify(it)),
};

const table = {
  string: text('string'),
  text: text('text'),
  richtext: text('text'),
  enumeration: text('string'),
  email: text('string'),
  password: text('string'),
  uid: text('string'),
  date: { column: 'date', form: 'date', family: 'ordered', numeric: false, parseText: parseDate },
  time: { column: 'time', form: 'time', family: 'ordered', numeric: false, parseText: parseTime },
  datetime: { column: 'datetime', form: 'instant', family: 'ordered', numeric: false, parseText: parseInstant },
  timestamp: { column: 'datetime', form: 'epoch', family: 'ordered', numeric: false, parseText: parseInstant },
  integer: number('integer'),
  biginteger: { column: 'bigint', form: 'digits', family: 'ordered', numeric: true, parseText: parseDigits },
  float: number('float'),
  decimal: number('decimal'),
  boolean: { column: 'boolean', form: 'boolean', family: 'boolean', numeric: false, parseText: parseBoolean },
  array: json,
  json,
  blocks: json,
} as const satisfies Record<string, ScalarType>;

export type ScalarTypeName = keyof typeof table;
export const scalarTypes: Readonly<Record<ScalarTypeName, ScalarType>> = table;
export const isScalarTypeName = (name: string): name is ScalarTypeName => Object.hasOwn(table, name);

/** The types whose values stay hidden unless the schema file says `"private": false` (issue point 1 of reading). */
export const isSecretType = (name: ScalarTypeName): boolean => name === 'password';
/** The type that has a unique index in the database (storage-layout 1.5). */
export const isUniqueInDatabase = (name: ScalarTypeName): boolean => name === 'uid';

/** A finite number that an integer column holds. */
export const fitsInteger = (value: number): boolean => Number.isInteger(value) && Math.abs(value) <= limits.integerMax;
