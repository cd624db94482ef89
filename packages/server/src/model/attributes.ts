/**
 * THE scalar table: one record for each scalar type. It says how values are stored, shown and read from a query
 * (F8, FL2, BO5). Adding a scalar type is adding a record here; no other code compares type names.
 */
import { type Issue, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import type { ColumnKind, DbValue, JsonForm } from '../sql/dialect.js';

/** Rules of a schema file that writing enforces (BO6). */
export interface ScalarRules {
  /** Never of what requests cannot write: nobody could give it a value. */
  readonly required: boolean;
  readonly unique: boolean;
  /** Whether requests may write it. */
  readonly writable: boolean;
  /** No data writes it: it is the server's own, or its column cannot hold what the attribute would store. */
  readonly frozen: boolean;
  readonly min: number | string | null;
  readonly max: number | string | null;
  readonly minLength: number | null;
  readonly maxLength: number | null;
  readonly regex: string | null;
  readonly values: readonly string[];
  readonly defaultValue: unknown;
  readonly targetField: string | null;
  readonly hashRounds: number;
}

/** What filters may do: `text` compares, searches and orders; `ordered` compares and orders; `json` only equality. */
export type Family = 'text' | 'ordered' | 'boolean' | 'json';

export interface ScalarType {
  readonly column: ColumnKind;
  readonly form: JsonForm;
  readonly family: Family;
  /** Whether `_q` searches its digits when it is a number. */
  readonly numeric: boolean;
  /** The JSON type that messages name; null where v4 names none (ER4). */
  readonly bodyType: 'string' | 'number' | 'boolean' | 'array' | null;
  /** A text of the query string as a database value. Issues name the path. */
  readonly parseText: (text: string, path: readonly string[]) => Result<DbValue>;
  /** A value of a body, never null, as a database value; checks the rules of its schema file (BO5, BO6). */
  readonly parseJson: (value: unknown, check: ValueCheck) => Result<DbValue>;
}

export interface ValueCheck {
  readonly rules: ScalarRules;
  readonly path: readonly string[];
  /** Drafts may be shorter than `minLength` (DR7). */
  readonly draft: boolean;
  /** Whether the text, which is at the path, matches the pattern; by default they are compared at once, however long that takes. */
  readonly matches?: (regex: string, text: string, path: readonly string[]) => boolean;
}

const anyText = (text: string): Result<DbValue> => ok(text);

const parseNumber = (text: string, path: readonly string[]): Result<DbValue> => {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? ok(number) : refused(issue('query.number', path, { text }));
};

const parseDigits = (text: string, path: readonly string[]): Result<DbValue> => {
  const [, sign, given = ''] = /^\s*([+-]?)(\d+)\s*$/.exec(text) ?? [];
  // not in one expression: a long run of zeros could be divided in as many ways as it has digits
  const digits = given.replace(/^0+(?=\d)/, '');
  if (digits === '' || digits.length > 38) return refused(issue('query.biginteger', path, { text }));
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

/** The flag words of Q3, case-insensitive; undefined for any other text. */
export const parseFlag = (text: string): boolean | undefined => booleans.get(text.toLowerCase());

const parseBoolean = (text: string, path: readonly string[]): Result<DbValue> => {
  const value = parseFlag(text);
  return value === undefined ? refused(issue('query.boolean', path, { text })) : ok(value);
};

/** Days of the years from `-271821` on; dates begin with the year 1. */
const dayExists = (year: number, month: number, day: number): boolean => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
};

/** `YYYY-MM-DD`, optionally followed by a time, which is dropped. */
export const parseDate = (text: string, path: readonly string[]): Result<string> => {
  const [, date = '', year, month, day] = /^((\d{4})-(\d\d)-(\d\d))(?:[T ]\d\d:\d\d\S*)?$/.exec(text) ?? [];
  if (date === '') return refused(issue('value.date', path));
  return year !== '0000' && dayExists(Number(year), Number(month), Number(day))
    ? ok(date)
    : refused(issue('value.no-such-day', path));
};

/** `HH:mm:ss` with up to three decimals, padded to three. */
export const parseTime = (text: string, path: readonly string[]): Result<string> => {
  const [, clock, decimals = ''] = /^((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,3}))?$/.exec(text) ?? [];
  return clock === undefined ? refused(issue('value.time', path)) : ok(`${clock}.${decimals.padEnd(3, '0')}`);
};

const isoInstant =
  /^(\d{4}|[+-]\d{6})(?:-(\d\d)(?:-(\d\d)(?:[T ]([01]\d|2[0-3])(?::([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|[+-]\d\d(?::?\d\d)?)?)?)?)?$/i;

/** An ISO date or date-time (without zone: local time of the server) or epoch milliseconds, as epoch milliseconds. */
export const parseInstant = (text: string, path: readonly string[]): Result<number> => {
  const parsed = readInstant(text, path);
  return parsed.ok && parsed.value < limits.instantMin ? refused(issue('value.datetime', path)) : parsed;
};

const readInstant = (text: string, path: readonly string[]): Result<number> => {
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

// ---- values of bodies

const all = (value: DbValue, issues: readonly (Issue | false)[]): Result<DbValue> => {
  const found = issues.filter((it) => it !== false);
  return found.length > 0 ? { ok: false, issues: found } : ok(value);
};

type TextRule = (text: string, check: ValueCheck) => Issue | false;

const noRule: TextRule = () => false;
const uidAlphabet = '^[A-Za-z0-9-_.~]*$';
const isUid: TextRule = (text, { path }) =>
  !new RegExp(uidAlphabet).test(text) && issue('body.regex', path, { regex: uidAlphabet });
const isMember: TextRule = (text, { path, rules }) =>
  !rules.values.includes(text) && issue('body.enumeration', path, { values: rules.values });
const isEmail: TextRule = (text, { path }) => {
  if (text === '') return issue('body.empty', path);
  return !emailForm.test(text) && issue('body.email', path);
};

/**
 * What v4 takes for an e-mail address: atoms separated by single dots, or a quoted text; then a domain, in which somewhere a letter follows a dot
 * that follows a letter or digit, and which ends with a letter.
 */
const emailForm = (() => {
  const letter = 'a-z\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef';
  const atom = `[${letter}\\d!#$%&'*+\\-/=?^_\`{|}~]+`;
  // v4 lets a carriage return be escaped, too: with it, mail programs may begin another header
  const quoted = `"(?:[${letter}\\t !#-\\[\\]-~]|\\\\[${letter}\\x01-\\x09\\x0b\\x0c\\x0e-\\x7f])*"`;
  const dot = `(?=.*[${letter}\\d]\\.[${letter}])`;
  const ends = `(?=[${letter}\\d].*[${letter}]$)`;
  return new RegExp(`^(?:${atom}(?:\\.${atom})*|${quoted})@${dot}${ends}[${letter}\\d\\-._~]+$`, 'i');
})();

/** bcrypt ignores everything beyond its last byte (BO16). */
const fitsHash: TextRule = (text, { path }) =>
  Buffer.byteLength(text) > limits.passwordBytesMax &&
  issue('body.password-too-long', path, { bytesMax: limits.passwordBytesMax });

const doesMatch = (regex: string, text: string): boolean => new RegExp(regex).test(text);

/** Text is kept as it is. Lengths count UTF-16 units, as v4 does. */
const parseTextValue =
  (charactersMax: number, rule: TextRule) =>
  (value: unknown, check: ValueCheck): Result<DbValue> => {
    const { rules, path, draft, matches = doesMatch } = check;
    if (typeof value !== 'string') return refused(issue('body.type', path, { expected: 'string', value }));
    if (value.includes('\0') || !value.isWellFormed()) return refused(issue('body.text', path));
    const max = Math.min(rules.maxLength ?? Number.POSITIVE_INFINITY, charactersMax);
    const { minLength, regex, required } = rules;
    return all(value, [
      !draft && minLength !== null && value.length < minLength && issue('body.min-length', path, { min: minLength }),
      value.length > max && issue('body.max-length', path, { max }),
      regex !== null &&
        (value !== '' || required) &&
        !matches(regex, value, path) &&
        issue('body.regex', path, { regex }),
      rule(value, check),
    ]);
  };

/** Least and greatest value that both databases hold. */
interface NumberRange {
  readonly min: number;
  readonly max: number;
}

/** Numbers and number texts, and a list of one of them (BO5). */
const parseNumberValue =
  (range: NumberRange, whole: boolean) =>
  (given: unknown, { rules, path }: ValueCheck): Result<DbValue> => {
    const value = Array.isArray(given) && given.length === 1 ? (given[0] as unknown) : given;
    const number =
      typeof value === 'number' ? value : typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
    if (!Number.isFinite(number)) return refused(issue('body.number', path, { value: given }));
    const bound = (rule: number | string | null, fallback: number): number =>
      rule === null ? fallback : whole ? Math.trunc(Number(rule)) : Number(rule);
    const min = Math.max(bound(rules.min, range.min), range.min);
    const max = Math.min(bound(rules.max, range.max), range.max);
    return all(number, [
      whole && !Number.isInteger(number) && issue('body.integer', path),
      number < min && issue('body.min', path, { min }),
      number > max && issue('body.max', path, { max }),
    ]);
  };

const bigintMax = 2n ** 63n - 1n;
const bigintMin = -(2n ** 63n);

const parseBigintValue = (value: unknown, { rules, path }: ValueCheck): Result<DbValue> => {
  const digits = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof digits !== 'string' || !/^\s*[+-]?\d{1,19}\s*$/.test(digits))
    return refused(issue('body.number', path, { value }));
  const number = BigInt(digits.trim().replace(/^\+/, ''));
  const bound = (it: number | string | null): bigint | null =>
    it === null || !/^-?\d+$/.test(String(it)) ? null : BigInt(it);
  const [min, max] = [bound(rules.min), bound(rules.max)];
  return all(String(number), [
    min !== null && number < min && issue('body.min', path, { min: String(min) }),
    max !== null && number > max && issue('body.max', path, { max: String(max) }),
    number < bigintMin && issue('body.min', path, { min: String(bigintMin) }),
    number > bigintMax && issue('body.max', path, { max: String(bigintMax) }),
  ]);
};

const parseBooleanValue = (value: unknown, { path }: ValueCheck): Result<DbValue> => {
  if (typeof value === 'boolean') return ok(value);
  if (value === 1 || value === '1' || (typeof value === 'string' && value.toLowerCase() === 'true')) return ok(true);
  if (value === 0 || value === '0' || (typeof value === 'string' && value.toLowerCase() === 'false')) return ok(false);
  return refused(issue('body.type', path, { expected: 'boolean', value }));
};

const textOnly =
  (parse: (text: string, path: readonly string[]) => Result<DbValue>, fault: 'value.date' | 'value.time') =>
  (value: unknown, { path }: ValueCheck): Result<DbValue> =>
    typeof value === 'string' ? parse(value, path) : refused(issue(fault, path));

const parseInstantValue = (value: unknown, { path }: ValueCheck): Result<DbValue> =>
  typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))
    ? parseInstant(String(value), path)
    : refused(issue('value.datetime', path));

/** Any JSON value whose texts and numbers every database can keep, without recursion. */
const parseJsonValue = (value: unknown, { path }: ValueCheck): Result<DbValue> => {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limits.jsonDepthMax) return refused(issue('body.too-deep', path, { max: limits.jsonDepthMax }));
    const texts = level.flatMap((it) =>
      typeof it === 'string'
        ? [it]
        : it !== null && typeof it === 'object' && !Array.isArray(it)
          ? Object.keys(it)
          : [],
    );
    if (texts.some((it) => it.includes('\0') || !it.isWellFormed())) return refused(issue('body.text', path));
    // of a body this is a number like 1e400, which JSON would write as null
    if (level.some((it) => typeof it === 'number' && !Number.isFinite(it)))
      return refused(issue('body.unstorable', path, { what: 'JSON with a number that is not finite' }));
    level = level.flatMap((it) => (it !== null && typeof it === 'object' ? Object.values(it) : []));
  }
  return ok(JSON.stringify(value));
};

const parseArrayValue = (value: unknown, check: ValueCheck): Result<DbValue> =>
  Array.isArray(value)
    ? parseJsonValue(value, check)
    : refused(issue('body.type', check.path, { expected: 'array', value }));

/** The nodes of the blocks editor and what each may hold; `text` holds text instead. */
const blockNodes: Readonly<Record<string, readonly string[]>> = {
  root: ['paragraph', 'heading', 'quote', 'code', 'list', 'image'],
  paragraph: ['text', 'link'],
  heading: ['text', 'link'],
  quote: ['text', 'link'],
  code: ['text', 'link'],
  list: ['list-item', 'list'],
  'list-item': ['text', 'link'],
  link: ['text'],
  image: ['text'],
};

const blockFault = (node: unknown, allowed: readonly string[]): string | null => {
  if (node === null || typeof node !== 'object' || Array.isArray(node)) return 'Block node is of invalid type';
  const { type, text, children, level, format, url, image } = node as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string' || !allowed.includes(type))
    return `Block node is of invalid type; expected ${allowed.join(', ')}`;
  if (type === 'text') return typeof text === 'string' ? null : 'Text node needs a text';
  if (type === 'heading' && !(Number.isInteger(level) && Number(level) >= 1 && Number(level) <= 6))
    return 'Heading node needs a level from 1 to 6';
  if (type === 'list' && format !== 'ordered' && format !== 'unordered')
    return 'List node needs the format ordered or unordered';
  if (type === 'link' && typeof url !== 'string') return 'Link node needs a url';
  if (type === 'image' && (image === null || typeof image !== 'object')) return 'Image node needs an image';
  if (!Array.isArray(children)) return 'children is a required field';
  for (const child of children) {
    const fault = blockFault(child, blockNodes[type] ?? []);
    if (fault !== null) return fault;
  }
  return null;
};

const parseBlocksValue = (value: unknown, check: ValueCheck): Result<DbValue> => {
  // check the depth first, because the check of nodes recurses
  const parsed = parseArrayValue(value, check);
  if (!parsed.ok) return parsed;
  for (const [i, node] of (value as unknown[]).entries()) {
    const what = blockFault(node, blockNodes['root'] ?? []);
    if (what !== null) return refused(issue('body.block', [...check.path, String(i)], { what }));
  }
  return parsed;
};

// ---- the table

const text = (column: 'string' | 'text', rule: TextRule = noRule): ScalarType => ({
  column,
  form: 'text',
  family: 'text',
  numeric: false,
  bodyType: 'string',
  parseText: anyText,
  parseJson: parseTextValue(column === 'string' ? limits.stringCharactersMax : Number.POSITIVE_INFINITY, rule),
});
const number = (column: ColumnKind, range: NumberRange, whole: boolean): ScalarType => ({
  column,
  form: 'number',
  family: 'ordered',
  numeric: true,
  bodyType: 'number',
  parseText: parseNumber,
  parseJson: parseNumberValue(range, whole),
});
const instant = (form: JsonForm): ScalarType => ({
  column: 'datetime',
  form,
  family: 'ordered',
  numeric: false,
  bodyType: null,
  parseText: parseInstant,
  parseJson: parseInstantValue,
});
const json = (parseJson: ScalarType['parseJson'], bodyType: 'array' | null): ScalarType => ({
  column: 'json',
  form: 'json',
  family: 'json',
  numeric: false,
  bodyType,
  parseText: (it) => ok(JSON.stringify(it)),
  parseJson,
});

const table = {
  string: text('string'),
  text: text('text'),
  richtext: text('text'),
  enumeration: text('string', isMember),
  email: text('string', isEmail),
  password: text('string', fitsHash),
  uid: text('string', isUid),
  date: {
    column: 'date',
    form: 'date',
    family: 'ordered',
    numeric: false,
    bodyType: null,
    parseText: parseDate,
    parseJson: textOnly(parseDate, 'value.date'),
  },
  time: {
    column: 'time',
    form: 'time',
    family: 'ordered',
    numeric: false,
    bodyType: null,
    parseText: parseTime,
    parseJson: textOnly(parseTime, 'value.time'),
  },
  datetime: instant('instant'),
  timestamp: instant('epoch'),
  integer: number('integer', { min: limits.integerMin, max: limits.integerMax }, true),
  biginteger: {
    column: 'bigint',
    form: 'digits',
    family: 'ordered',
    numeric: true,
    bodyType: null,
    parseText: parseDigits,
    parseJson: parseBigintValue,
  },
  float: number('float', { min: -Number.MAX_VALUE, max: Number.MAX_VALUE }, false),
  decimal: number('decimal', { min: -limits.decimalMax, max: limits.decimalMax }, false),
  boolean: {
    column: 'boolean',
    form: 'boolean',
    family: 'boolean',
    numeric: false,
    bodyType: 'boolean',
    parseText: parseBoolean,
    parseJson: parseBooleanValue,
  },
  array: json(parseArrayValue, 'array'),
  json: json(parseJsonValue, null),
  blocks: json(parseBlocksValue, 'array'),
} as const satisfies Record<string, ScalarType>;

export type ScalarTypeName = keyof typeof table;
export const scalarTypes: Readonly<Record<ScalarTypeName, ScalarType>> = table;
export const scalarTypeNames = Object.keys(table) as readonly ScalarTypeName[];
export const isScalarTypeName = (name: string): name is ScalarTypeName => Object.hasOwn(table, name);

/** The types whose values stay hidden unless the schema file says `"private": false` (F2). */
export const isSecretType = (name: ScalarTypeName): boolean => name === 'password';
/** The type that has a unique index in the database (ST7). */
export const isUniqueInDatabase = (name: ScalarTypeName): boolean => name === 'uid';
/**
 * Types that an index orders as requests do: not long texts, which PostgreSQL refuses to index, and not JSON; times are
 * compared in a normalised form (ST2).
 */
export const isIndexable = (name: ScalarTypeName): boolean =>
  !isSecretType(name) && indexedKinds.has(scalarTypes[name].column);
const indexedKinds: ReadonlySet<ColumnKind> = new Set([
  'string',
  'integer',
  'bigint',
  'float',
  'decimal',
  'boolean',
  'date',
  'datetime',
]);
/** The type whose values are listed in `enum`. */
export const isEnumerated = (name: ScalarTypeName): boolean => name === 'enumeration';
/** The type whose values are the nodes of the blocks editor. */
export const isBlocks = (name: ScalarTypeName): boolean => name === 'blocks';
