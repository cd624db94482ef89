/**
 * What a page shows of an answer. Each function takes what the page says and what was answered, and returns the form of the
 * answer on the page: it is what the page says if the page is right. What differs in each run is compared to
 * `<a name>`, which is remembered; `…` stands for the rest of a text, a line, a list, an object or for some lines.
 */
import http from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { TestAnswer } from '../world/server.js';
import { readHeader } from './pages.js';

/** Maximum characters of a text on a page that was written by a test. */
const textMax = 70;

/** Values that later steps may use by the names that the page gave them. */
export type Named = Map<string, string>;

/** JSON in lines of at most 110 characters, where its values allow that. */
export const printJson = (value: unknown, indent = ''): string => {
  const short = JSON.stringify(value, null, 1)
    .replace(/\n\s*/g, ' ')
    .replace(/([[{]) /g, '$1')
    .replace(/ ([\]}])/g, '$1');
  if (indent.length + short.length <= 110 || value === null || typeof value !== 'object') return short;
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const parts = Array.isArray(value)
    ? value.map((it) => printJson(it, inner))
    : Object.entries(value).map(([key, it]) => `${JSON.stringify(key)}: ${printJson(it, inner)}`);
  return `${open}\n${parts.map((it) => inner + it).join(',\n')}\n${indent}${close}`;
};

/** Rows as a table whose columns are aligned. */
export const printRows = (rows: readonly Readonly<Record<string, unknown>>[]): string => {
  if (rows.length === 0) return '(no rows)';
  const names = Object.keys(rows[0]!);
  const table = [names, ...rows.map((row) => names.map((name) => String(row[name])))];
  const widths = names.map((_, i) => Math.max(...table.map((cells) => cells[i]!.length)));
  const [head, ...body] = table.map((cells) =>
    cells
      .map((it, i) => it.padEnd(widths[i]!))
      .join(' | ')
      .trimEnd(),
  );
  return [head, widths.map((it) => '-'.repeat(it)).join('-+-'), ...body].join('\n');
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// ---- texts

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Names of values that differ; `<9 characters>` in a request is none. */
const place = /^<([a-z][a-z -]*)>$/;

/** Whether a text is what the page says; remembers the values of names. */
const isText = (expected: string, actual: string, named: Named): boolean => {
  const names: string[] = [];
  const part = (text: string): string => {
    const [, name] = place.exec(text) ?? [];
    if (name === undefined) return text === '…' ? '.*' : escaped(text);
    names.push(name);
    return '(.+?)';
  };
  const lines = expected.split('\n').map((line) =>
    line.trim() === '…'
      ? '(?:.*\n)*?'
      : `${line
          .split(/(<[a-z][a-z -]*>|…)/)
          .map(part)
          .join('')}\n`,
  );
  const found = new RegExp(`^${lines.join('')}$`).exec(`${actual}\n`);
  for (const [i, name] of found ? names.entries() : []) named.set(name, found![i + 1]!);
  return found !== null;
};

/** Lines that a command has printed, or rows. */
export const shownText = (expected: string | undefined, actual: string, named: Named): string => {
  if (expected !== undefined && isText(expected, actual, named)) return expected;
  return actual
    .replace(/\b[0-9a-f]{64,}\b/g, '<token>')
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/_[0-9a-f]{10}(?=\.)/g, '_<hash>');
};

// ---- JSON

const shortened = (text: string): string => (text.length > textMax ? `${text.slice(0, textMax)}…` : text);

/** A value without what differs in each run; long texts are cut. */
const settled = (key: string, value: unknown, within: unknown): unknown => {
  // encoders differ between platforms
  if (/^size(InBytes)?$/.test(key) && isObject(within) && typeof within['width'] === 'number') return '<size>';
  if (Array.isArray(value)) return value.map((it) => settled('', it, null));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, it]) => [name, settled(name, it, value)]));
  if (typeof value !== 'string') return value;
  if (key === 'hash' || key === 'url') return value.replace(/_[0-9a-f]{10}(?=\.|$)/, '_<hash>');
  if (key === 'jwt') return '<jwt>';
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return '<time>';
  return key === 'message' ? value : shortened(value);
};

const rest = '…';

/** @param settle what is shown of a value of which the page says something else, or nothing. */
const like = (
  expected: unknown,
  actual: unknown,
  named: Named,
  settle: typeof settled,
  key = '',
  within: unknown = null,
): unknown => {
  const inside = (given: unknown, it: unknown, name = ''): unknown => like(given, it, named, settle, name, actual);
  if (expected === actual) return expected;
  if (typeof expected === 'string' && /<[a-z]|…/.test(expected))
    if (isText(expected, typeof actual === 'string' ? actual : JSON.stringify(actual), named)) return expected;
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const isPart = expected.at(-1) === rest && actual.length >= expected.length - 1;
    const shown = isPart ? actual.slice(0, expected.length - 1) : actual;
    return [...shown.map((it, i) => inside(expected[i], it)), ...(isPart ? [rest] : [])];
  }
  if (isObject(expected) && isObject(actual)) {
    const isPart = rest in expected;
    const names = isPart ? Object.keys(expected).filter((it) => it in actual) : Object.keys(actual);
    const shown = names.map((name) => [name, inside(expected[name], actual[name], name)] as const);
    return Object.fromEntries([...shown, ...(isPart ? [[rest, rest] as const] : [])]);
  }
  return settle(key, actual, within);
};

/** Errors without data and details, unless the page has them. */
const shownError = (expected: unknown, body: unknown): unknown => {
  const { error } = (isObject(body) ? body : {}) as { error?: { status: number; name: string; message: string } };
  if (!error || (isObject(expected) && 'data' in expected)) return body;
  return { error: { status: error.status, name: error.name, message: error.message } };
};

const parsed = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
};

/** @param text the body of a response. */
export const shownJson = (expected: string | undefined, text: string, named: Named): string => {
  const value = parsed(expected);
  const shown = like(value, shownError(value, JSON.parse(text)), named, settled);
  return isDeepStrictEqual(shown, value) ? expected! : printJson(shown);
};

/** Lines of JSON that a command has printed: one value in each, or one in all. */
export const shownLines = (expected: string | undefined, text: string, named: Named): string => {
  const values = (it: string): readonly unknown[] => [parsed(it) ?? it.split('\n').map(parsed)].flat(0);
  const given = expected === undefined ? [] : values(expected);
  const actual = values(text);
  const asIs = (_key: string, it: unknown): unknown => it;
  const shown = actual.map((it, i) => like(given[i], it, named, asIs));
  return isDeepStrictEqual(shown, given) ? expected! : text;
};

/** The status, and the headers and the part of the body that the page shows. */
export const shownResponse = (answer: TestAnswer, expected: string, named: Named): string => {
  const [head = '', body] = expected.split(/\n\n(.*)/s);
  const headers = head
    .split('\n')
    .slice(1)
    .map((line) => {
      const [name, given] = readHeader(line);
      const value = String(answer.headers[name.toLowerCase()]);
      if (isText(given, value, named)) return line;
      return `${name}: ${/^etag$/i.test(name) && value !== 'undefined' ? '<tag>' : value}`;
    });
  const lines = [`HTTP/1.1 ${answer.status} ${http.STATUS_CODES[answer.status]}`, ...headers];
  return [...lines, ...(body === undefined ? [] : ['', shownJson(body, answer.text, named)])].join('\n');
};

// ---- trees

interface Twig {
  readonly label: string;
  readonly twigs: readonly Twig[];
}

/**
 * The entries of a response as a tree: each with its id and its values, below it what was populated.
 * @param name of the root, such as `articles`.
 */
export const shownTree = (name: string, text: string): string => {
  const { data } = JSON.parse(text) as { readonly data?: unknown };
  const { label, twigs } = twigOf(name, { data });
  return [label, ...linesOf(twigs)].join('\n');
};

const linesOf = (twigs: readonly Twig[], indent = ''): readonly string[] =>
  twigs.flatMap(({ label, twigs: below }, i) => {
    const isLast = i === twigs.length - 1;
    return [`${indent}${isLast ? '└─' : '├─'} ${label}`, ...linesOf(below, `${indent}${isLast ? '   ' : '│  '}`)];
  });

const wordsMax = 44;
const labelMax = 90;

/** Values that tell a reader something, and are the same in each run. */
const isWorth = (value: unknown): boolean =>
  typeof value === 'string'
    ? !/^\d{4}-\d\d-\d\dT/.test(value)
    : typeof value === 'number' || typeof value === 'boolean';

const words = (value: unknown, name = ''): string => {
  const text = (typeof value === 'string' ? value : `${name} ${JSON.stringify(value)}`.trim()).replace(/\s+/g, ' ');
  return text.length > wordsMax ? `${text.slice(0, wordsMax)}…` : text;
};

/** What was populated: relations and media, components, zones. */
const isPopulated = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some((it) => isObject(it) && 'id' in it);
  return isObject(value) && ('data' in value || 'id' in value);
};

const twigOf = (name: string, value: unknown): Twig => {
  const content = isObject(value) && 'data' in value ? value['data'] : value;
  if (content === null) return { label: `${name} · none`, twigs: [] };
  if (!Array.isArray(content)) {
    const { label, twigs } = entryOf(content, name);
    return { label: `${name} · ${label}`, twigs };
  }
  return content.length === 0
    ? { label: `${name} · none`, twigs: [] }
    : { label: name, twigs: content.map((it) => entryOf(it)) };
};

/** @param path of an entry that was asked for by its id. */
const entryOf = (entry: unknown, path = ''): Twig => {
  const { id, __component, attributes, ...own } = entry as Readonly<Record<string, unknown>>;
  const values = Object.entries((attributes as Record<string, unknown> | undefined) ?? own);
  const scalars = values.filter(([, value]) => isWorth(value));
  const parts = [__component, path.endsWith(`/${id}`) ? undefined : id].filter((it) => it !== undefined);
  const label = [...parts.map((it) => words(it)), ...scalars.map(([name, value]) => words(value, name))].join(' · ');
  return {
    label: label.length > labelMax ? `${label.slice(0, labelMax)}…` : label,
    twigs: values
      .filter(([, value]) => isPopulated(value) || (Array.isArray(value) && value.length === 0))
      .map(([name, value]) => twigOf(name, value)),
  };
};
