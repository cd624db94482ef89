/** Values of every scalar type: stored, in a query, and in a response. */
import type { Random } from './random.js';

export type ScalarName =
  | 'string'
  | 'text'
  | 'richtext'
  | 'enumeration'
  | 'email'
  | 'password'
  | 'uid'
  | 'date'
  | 'time'
  | 'datetime'
  | 'timestamp'
  | 'integer'
  | 'biginteger'
  | 'float'
  | 'decimal'
  | 'boolean'
  | 'json'
  | 'array'
  | 'blocks';

export type Family = 'text' | 'ordered' | 'boolean' | 'json';

/** Text, dates and times as strings, instants as milliseconds, JSON wrapped to distinguish it from text. */
export type Value = string | number | bigint | boolean | { readonly json: unknown } | null;

/** A value in a query: how it is written and what it means. */
export interface Term {
  readonly text: string;
  readonly value: Exclude<Value, null>;
}

const texts = [
  'alpha',
  'Alpha',
  'ALPHA',
  'alphabet',
  'beta',
  'Beta gamma',
  'éclair',
  'Éclair',
  'ÉCLAIR',
  'straße',
  'Ω mega',
  'ωmega',
  '50%',
  '5_0',
  '500',
  'a\\b',
  'back\\',
  'x y',
  '',
  ' lead',
  'trail ',
  '日本',
  '\u{1F600} smile',
  '\uFFFDlast',
  'zulu',
  'a=b&c',
  '[br]',
  "o'clock",
  '"quoted"',
  'tab\there',
  'line\nbreak',
  'true',
  '%41',
  'null',
];

const instants = [
  1_709_251_200_123, 1_709_251_200_124, 1_709_251_200_000, 0, -1, -86_400_000, 946_684_799_999, 1_600_000_000_500,
  -61_000_000_000_000,
];
/** Around the years 1 and 9999, where the text form of years changes. Few, so that they do not hide other faults. */
const farInstants = [
  253_402_300_799_999, 253_402_300_800_000, -62_135_596_800_000, -62_135_596_800_001, -62_170_000_000_000,
];

const stored: Readonly<Record<ScalarName, readonly Exclude<Value, null>[]>> = {
  string: texts,
  text: [...texts, 'long '.repeat(100)],
  richtext: ['# Title\n\n*text* & <i>html</i>', ...texts],
  enumeration: ['red', 'green', 'blue', 'Über'],
  email: ['a@example.org', 'B@example.org', 'c+d@example.org', "e'f@example.org"],
  password: ['$2a$10$abcdefghijklmnopqrstuv', 'secret'],
  uid: [],
  date: ['2024-02-29', '2024-03-01', '1999-12-31', '2000-01-01', '0999-06-30', '9999-12-31'],
  time: ['00:00:00.000', '23:59:59.999', '10:20:30.100', '10:20:30.123', '01:30:00.000'],
  datetime: instants,
  timestamp: instants,
  integer: [-5, 0, 1, 2, 3, 7, 10, 42, 100, 2_147_483_647, -2_147_483_648],
  biginteger: [
    0n,
    1n,
    -7n,
    42n,
    9_007_199_254_740_992n,
    9_007_199_254_740_993n,
    9_223_372_036_854_775_806n,
    9_223_372_036_854_775_807n,
    -9_223_372_036_854_775_808n,
  ],
  float: [0, 1.5, -2.25, 0.1, 0.30000000000000004, 3.3333333333333335, 1e21, 1e-7, 123_456_789.125, 5, 1e300],
  decimal: [0, 1.5, 1.25, -3.75, 19.99, 20, 12_345_678.91, 0.01],
  boolean: [true, false],
  json: [
    { json: {} },
    { json: [] },
    { json: 'alpha' },
    { json: '5' },
    { json: '' },
    { json: 'é "quoted" \\ \u{1F600}' },
    { json: 5 },
    { json: -0.5 },
    { json: 0.30000000000000004 },
    { json: true },
    { json: false },
    { json: { a: [1, { b: null }], 'c d': 'x' } },
    { json: [null, 'alpha', 1.5, { z: 1, a: 2 }] },
  ],
  array: [{ json: [] }, { json: ['a', 'b'] }, { json: [1, [2, [3]]] }],
  blocks: [{ json: [{ type: 'paragraph', children: [{ type: 'text', text: 'Hello é' }] }] }, { json: [] }],
};

/** The types that the oracle knows, listed independently. */
export const scalarNames: readonly string[] = Object.keys(stored);

export const familyOf = (type: ScalarName): Family => {
  switch (type) {
    case 'string':
    case 'text':
    case 'richtext':
    case 'enumeration':
    case 'email':
    case 'password':
    case 'uid':
      return 'text';
    case 'boolean':
      return 'boolean';
    case 'json':
    case 'array':
    case 'blocks':
      return 'json';
    default:
      return 'ordered';
  }
};

/** @param id keeps the values of `uid` attributes apart: their columns are unique. */
export const anyValue = (type: ScalarName, id: number, random: Random): Value => {
  if (random.chance(0.22)) return null;
  if ((type === 'datetime' || type === 'timestamp') && random.chance(0.003)) return random.pick(farInstants);
  return type === 'uid' ? `${random.pick(['slug', 'Slug', 'x-é'])}-${id}` : random.pick(stored[type]);
};

/** A value as a query may write it, often one that is stored somewhere. */
export const anyTerm = (type: ScalarName, random: Random): Term => {
  switch (type) {
    case 'uid': {
      const text = `${random.pick(['slug', 'Slug', 'x-é'])}-${random.between(1, 30)}`;
      return { text, value: text };
    }
    case 'date': {
      const value = random.pick([...stored.date, '2024-12-24']) as string;
      return { value, text: random.chance(0.1) ? `${value}T10:20:30.000Z` : value };
    }
    case 'time': {
      const value = random.pick([...stored.time, '12:00:00.000']) as string;
      return { value, text: random.chance(0.3) ? value.replace(/\.?0+$/, '') : value };
    }
    case 'datetime':
    case 'timestamp':
      return instantTerm(random);
    case 'integer':
      return numberTerm(random.pick([...(stored.integer as number[]), 2.5, 99_999_999_999, -1, 4]), random);
    case 'float':
    case 'decimal':
      return numberTerm(random.pick([...(stored[type] as number[]), 1.505, -1e9, 20.000_001]), random);
    case 'biginteger': {
      const beyond = [9_223_372_036_854_775_808n, -9_223_372_036_854_775_809n, 10n ** 25n];
      const value = random.pick([...(stored.biginteger as bigint[]), ...beyond]);
      const forms =
        value < 0n ? [String(value)] : [String(value), String(value), `+${value}`, `00${value}`, ` ${value} `];
      return { value, text: random.pick(forms) };
    }
    case 'boolean': {
      const value = random.chance(0.5);
      return { value, text: random.pick(value ? ['true', 't', '1'] : ['false', 'f', '0']) };
    }
    case 'json':
    case 'array':
    case 'blocks': {
      const text = random.pick(['alpha', '5', '', 'é "quoted" \\ \u{1F600}', '{}', 'nope']);
      return { text, value: { json: text } };
    }
    default: {
      const text = random.pick([...(stored[type] as string[]), 'nowhere']);
      return { text, value: text };
    }
  }
};

/** A part of some stored text, for substring operators. */
export const anyPiece = (type: ScalarName, random: Random): Term => {
  const { text } = anyTerm(type, random);
  const points = [...text];
  const start = random.below(points.length + 1);
  let piece = points.slice(start, start + random.between(1, 4)).join('');
  if (random.chance(0.3)) piece = random.chance(0.5) ? piece.toUpperCase() : piece.toLowerCase();
  if (random.chance(0.1)) piece = random.pick(['%', '_', '\\', '%%', 'a%']);
  return { text: piece, value: piece };
};

const numberTerm = (value: number, random: Random): Term => {
  const forms = [String(value), String(value), ` ${value} `, value.toExponential()];
  if (Number.isInteger(value) && value >= 0 && value < 1e9) forms.push(`0x${value.toString(16)}`, `${value}.0`);
  return { value, text: random.pick(forms) };
};

const instantTerm = (random: Random): Term => {
  const value = random.pick([...instants, 1_700_000_000_000, ...farInstants]);
  const iso = new Date(value).toISOString();
  const shifted = new Date(value + 90 * 60_000).toISOString();
  const forms = [iso, iso, `${shifted.slice(0, -1)}+01:30`];
  // four digits alone would be a year
  if (!/^\d{4}$/.test(String(value))) forms.push(String(value));
  return { value, text: random.pick(forms) };
};

/** The JSON form of a value in a response (F8). */
export const jsonOf = (type: ScalarName, value: Value): unknown => {
  if (value === null) return null;
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'object') return value.json;
  if (type === 'datetime') return new Date(value as number).toISOString();
  if (type === 'timestamp') return String(value);
  return value;
};

/** The form of a value for `insertRows`. */
export const rowValueOf = (value: Value): string | number | boolean | null => {
  if (typeof value === 'bigint') return String(value);
  return value !== null && typeof value === 'object' ? JSON.stringify(value.json) : value;
};

/** Order of two values of one type: text by code points, which is the order of its UTF-8 bytes. */
export const compareValues = (a: Exclude<Value, null>, b: Exclude<Value, null>): number => {
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  if (typeof a === 'object' || typeof b === 'object') throw new Error('JSON has no order here');
  return a < b ? -1 : a > b ? 1 : 0;
};
