/** Values of columns as an export writes them: the same text for the same value, whichever database holds it. */
import { limits } from '../../limits.js';
import type { ColumnKind, DbValue, JsonForm } from '../../sql/dialect.js';

export const formOf: Readonly<Record<ColumnKind, JsonForm>> = {
  id: 'number',
  reference: 'number',
  rank: 'number',
  string: 'text',
  text: 'text',
  integer: 'number',
  bigint: 'digits',
  float: 'number',
  decimal: 'number',
  boolean: 'boolean',
  date: 'date',
  time: 'time',
  datetime: 'instant',
  json: 'json',
  jsonText: 'json',
};

/** A number as it was written, where JavaScript has none that is equal. */
class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Json = null | boolean | number | string | Digits | readonly Json[] | ReadonlyMap<string, Json>;

type ReviveWithSource = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** Keeps long numbers. Throws a `SyntaxError`. */
export const parseJson = (text: string): Json =>
  JSON.parse(text, ((_key, value, { source }) => {
    if (typeof value === 'number') return numberOf(value, source ?? String(value));
    // an object would put keys that are numbers first
    return value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Digits)
      ? new Map(Object.entries(value as Record<string, Json>))
      : value;
  }) as ReviveWithSource as (key: string, value: unknown) => unknown) as Json;

const numberOf = (value: number, source: string): number | Digits => {
  if (Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value)))
    return value === 0 ? 0 : value;
  if (/^-?\d+$/.test(source)) return new Digits(source);
  return new Digits(Number.isFinite(value) ? BigInt(value).toString() : source);
};

/** Keys in the order in which PostgreSQL stores them (jsonb): shorter ones first. */
export const jsonText = (value: Json): string => {
  if (value instanceof Digits) return value.text;
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(jsonText).join(',')}]`;
  if (value instanceof Map) {
    const members = [...(value as ReadonlyMap<string, Json>)].map(([key, it]) => [key, Buffer.from(key), it] as const);
    members.sort(([, a], [, b]) => a.length - b.length || Buffer.compare(a, b));
    return `{${members.map(([key, , it]) => `${JSON.stringify(key)}:${jsonText(it)}`).join(',')}}`;
  }
  return JSON.stringify(value);
};

/** What the column of a row is written as; SQLite may hold a number in a column for texts. */
export const exported = (kind: ColumnKind, value: Json): Json => {
  const isText = kind === 'string' || kind === 'text';
  return isText && (typeof value === 'number' || typeof value === 'boolean' || value instanceof Digits)
    ? jsonText(value)
    : value;
};

/** The value for a column; undefined if the column cannot hold it. */
export const imported = (kind: ColumnKind, value: Json): DbValue | undefined => {
  if (value === null) return kind === 'id' ? undefined : null;
  switch (kind) {
    case 'id':
    case 'reference':
    case 'integer':
      return isInteger(value) ? value : undefined;
    case 'rank':
    case 'float':
    case 'decimal':
      return typeof value === 'number' ? value : value instanceof Digits ? Number(value.text) : undefined;
    case 'bigint':
      return typeof value === 'string' && /^-?\d+$/.test(value) ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'string':
    case 'text':
      return typeof value === 'string' && !value.includes('\0') && value.isWellFormed() ? value : undefined;
    case 'date':
      return typeof value === 'string' && /^-?\d{4,6}-\d\d-\d\d$/.test(value) ? value : undefined;
    case 'time':
      return typeof value === 'string' && /^\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(value) ? value : undefined;
    case 'datetime': {
      const epoch = typeof value === 'string' ? Date.parse(value) : Number.NaN;
      return Number.isFinite(epoch) ? epoch : undefined;
    }
    case 'json':
    case 'jsonText':
      return jsonText(value);
  }
};

const isInteger = (value: Json): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= limits.integerMin && value <= limits.integerMax;
