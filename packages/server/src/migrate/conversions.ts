/**
 * What becomes of a value when its attribute gets another type: the value that means the same, or the nearest one, or
 * nothing. Pure, and the same for every database.
 */

import { limits } from '../limits.js';
import {
  isBlocks,
  isEnumerated,
  isSecretType,
  parseDate,
  parseFlag,
  parseInstant,
  parseTime,
  type ScalarTypeName,
  scalarTypes,
} from '../model/attributes.js';
import { rulesOf } from '../model/model.js';
import type { ColumnKind, DbValue } from '../sql/dialect.js';

export interface Converted {
  readonly value: DbValue;
  /** Whether nothing was rounded or cut. */
  readonly exact: boolean;
}

export interface Conversion {
  /** The type that the value was served as. */
  readonly from: ScalarTypeName;
  readonly to: ScalarTypeName;
  /** Members of an enumeration. */
  readonly enum: readonly string[];
}

/** @param value as responses show it, not null. Null if the new type has nothing like it. */
export const convertValue = (value: unknown, { from, to, enum: members }: Conversion): Converted | null => {
  // a text is no hash, and a hash no text; what was never hashed is one
  if (isSecretType(to) && !isSecretType(from)) return null;
  if (isSecretType(from) && !isSecretType(to) && (typeof value !== 'string' || isBcrypt(value))) return null;
  switch (scalarTypes[to].column) {
    case 'string':
    case 'text':
      return toText(textOf(value), to, members);
    case 'integer':
      return toWhole(value, from);
    case 'bigint':
      return toBigint(value, from);
    case 'float':
      return toNumber(value, from);
    case 'decimal':
      return toDecimal(value, from);
    case 'boolean':
      return toBoolean(value);
    case 'date':
      return toDate(value);
    case 'time':
      return toTime(value, from);
    case 'datetime':
      return toInstant(value, from);
    case 'json':
    case 'jsonText':
      return toJson(value, from, to);
    case 'id':
    case 'reference':
    case 'rank':
      return null;
  }
};

/** The form of bcrypt's hashes, which `like '$2_$%'` finds too. */
const isBcrypt = (value: string): boolean => /^\$2.\$/.test(value);

const exactly = (value: DbValue): Converted => ({ value, exact: true });

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const toText = (text: string, to: ScalarTypeName, members: readonly string[]): Converted | null => {
  if (isEnumerated(to)) return members.includes(text) ? exactly(text) : null;
  if (scalarTypes[to].column === 'text' || text.length <= limits.stringCharactersMax) return exactly(text);
  // not in the middle of a character
  const cut = [...text.slice(0, limits.stringCharactersMax + 1)].slice(0, limits.stringCharactersMax).join('');
  return { value: cut.slice(0, limits.stringCharactersMax).toWellFormed(), exact: false };
};

/** A number, or a text that is one; NaN for anything else. */
const numberOf = (value: unknown, from: ScalarTypeName): number => {
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'number') return value;
  const isNumeric = numericTypes.has(scalarTypes[from].column) || scalarTypes[from].family === 'text';
  if (typeof value !== 'string' || !isNumeric || value.trim() === '') return Number.NaN;
  return /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(value) ? Number(value) : Number.NaN;
};
const numericTypes: ReadonlySet<ColumnKind> = new Set(['integer', 'bigint', 'float', 'decimal']);

const toNumber = (value: unknown, from: ScalarTypeName): Converted | null => {
  const number = numberOf(value, from);
  return Number.isFinite(number) ? { value: number, exact: isSameNumber(value, number) } : null;
};
/** Digits beyond what a number of JavaScript holds are lost. */
const isSameNumber = (value: unknown, number: number): boolean =>
  typeof value !== 'string' ||
  !/^\s*[-+]?\d+\s*$/.test(value) ||
  BigInt(value.trim().replace(/^\+/, '')) === BigInt(number);

const toWhole = (value: unknown, from: ScalarTypeName): Converted | null => {
  const number = numberOf(value, from);
  const whole = Math.round(number);
  if (!(whole >= limits.integerMin && whole <= limits.integerMax)) return null;
  return { value: whole, exact: whole === number };
};

const toBigint = (value: unknown, from: ScalarTypeName): Converted | null => {
  const isDigits = typeof value === 'string' && /^\s*[-+]?\d+\s*$/.test(value);
  const number = isDigits ? Number.NaN : numberOf(value, from);
  if (!isDigits && !Number.isFinite(number)) return null;
  const whole = isDigits ? BigInt((value as string).trim().replace(/^\+/, '')) : BigInt(Math.round(number));
  if (BigInt.asIntN(64, whole) !== whole) return null;
  return { value: String(whole), exact: isDigits || Number.isInteger(number) };
};

const toDecimal = (value: unknown, from: ScalarTypeName): Converted | null => {
  const number = numberOf(value, from);
  if (!(Math.abs(number) <= limits.decimalMax)) return null;
  const rounded = Number(number.toFixed(2));
  return { value: rounded, exact: rounded === number };
};

const toBoolean = (value: unknown): Converted | null => {
  if (typeof value === 'boolean') return exactly(value);
  const flag = typeof value === 'string' || typeof value === 'number' ? parseFlag(String(value).trim()) : undefined;
  return flag === undefined ? null : exactly(flag);
};

const toDate = (value: unknown): Converted | null => {
  if (typeof value !== 'string') return null;
  const parsed = parseDate(value.trim(), []);
  if (!parsed.ok) return null;
  return { value: parsed.value, exact: /^\d{4}-\d\d-\d\d([T ]00:00(:00(\.0+)?)?Z?)?$/.test(value.trim()) };
};

const toTime = (value: unknown, from: ScalarTypeName): Converted | null => {
  if (typeof value !== 'string') return null;
  const [, day, clock = value.trim()] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,3})?)Z?$/.exec(value.trim()) ?? [];
  const parsed = scalarTypes[from].family === 'json' ? null : parseTime(clock, []);
  return parsed?.ok ? { value: parsed.value, exact: day === undefined } : null;
};

const toInstant = (value: unknown, from: ScalarTypeName): Converted | null => {
  // a number is no date, unless it was one
  if (typeof value !== 'string' || numericTypes.has(scalarTypes[from].column)) return null;
  const isDay = /^\d{4}-\d\d-\d\d$/.test(value.trim());
  const isNumber = /^[-+]?\d+$/.test(value.trim()) && scalarTypes[from].column !== 'datetime';
  const parsed = isNumber ? null : parseInstant(isDay ? `${value.trim()}T00:00:00Z` : value, []);
  return parsed?.ok ? exactly(parsed.value) : null;
};

const toJson = (value: unknown, from: ScalarTypeName, to: ScalarTypeName): Converted | null => {
  const isText = typeof value === 'string' && scalarTypes[from].family === 'text';
  const json = isText ? jsonOf(value, to) : value;
  const parsed = scalarTypes[to].parseJson(json, { rules: rulesOf({}), path: [], draft: true });
  return parsed.ok ? exactly(parsed.value) : null;
};

/** A text as JSON, if it is some; else as the text that it is, for blocks as one paragraph after each empty line. */
const jsonOf = (text: string, to: ScalarTypeName): unknown => {
  try {
    const json: unknown = JSON.parse(text);
    if (!isBlocks(to) || Array.isArray(json)) return json;
  } catch {
    // a text
  }
  if (!isBlocks(to)) return text;
  return text.split(/\n[ \t]*\n/).map((it) => ({ type: 'paragraph', children: [{ type: 'text', text: it }] }));
};
