/** The pages of docs/rules as data: rules with their ids, and the steps of their examples. */
import fs from 'node:fs';
import path from 'node:path';
import type { DialectName } from '../../src/sql/dialect.js';

export const rulesDir = path.join(import.meta.dirname, '../../../../docs/rules');

export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null for a request without a body. */
  readonly body: string | null;
}

/** `http` shows status, headers and body, `json` only the body, `text` the rows of a statement. */
export interface Answer {
  readonly format: 'http' | 'json' | 'text';
  readonly text: string;
  /** The database that gives this answer; null for both. */
  readonly dialect: DialectName | null;
  /** Its lines on the page, fences included; the last one excluded. */
  readonly lines: readonly [from: number, to: number];
}

interface Asked {
  /** The database that is asked; null for both. */
  readonly dialect: DialectName | null;
  /** One for both databases, or one for each; none before they were written. */
  readonly answers: Answer[];
  /** The line behind it, where its first answer is written. */
  readonly end: number;
}

export type Step =
  /** A file of the project changes, and the server is started again. JSON is merged into the file. */
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  | { readonly kind: 'command'; readonly text: string }
  /** Several requests are sent at the same time and have the same answer. */
  | ({ readonly kind: 'requests'; readonly requests: readonly Request[] } & Asked)
  | ({ readonly kind: 'statement'; readonly text: string } & Asked);

export type Question = Extract<Step, Asked>;

export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly Step[];
}

export interface Page {
  readonly name: string;
  readonly file: string;
  readonly rules: readonly Rule[];
}

const heading = /^## ([A-Z]{1,2}[1-9]\d*)\. (.+)$/;

export const readPages = (): readonly Page[] =>
  fs
    .readdirSync(rulesDir)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => readPage(path.join(rulesDir, name)));

export const readPage = (file: string): Page => {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  const rules: { id: string; title: string; steps: Step[] }[] = [];
  let end = 0;
  for (const [i, line] of lines.entries()) {
    if (i < end) continue;
    const [, id, title] = heading.exec(line) ?? [];
    if (id !== undefined) rules.push({ id, title: title!, steps: [] });
    if (!line.startsWith('```')) continue;
    const block = readBlock(lines, i, end);
    end = block.end;
    addBlock(block, rules.at(-1)!.steps);
  }
  return { name: path.basename(file, '.md'), file, rules };
};

interface Block {
  readonly language: string;
  readonly text: string;
  /** The line of text above it. */
  readonly label: string;
  readonly start: number;
  readonly end: number;
}

const readBlock = (lines: readonly string[], start: number, from: number): Block => {
  const close = lines.indexOf('```', start + 1);
  return {
    language: lines[start]!.slice(3),
    text: lines.slice(start + 1, close).join('\n'),
    label: lines.slice(from, start).findLast((it) => it !== '') ?? '',
    start,
    end: close + 1,
  };
};

const databases: Readonly<Record<string, DialectName>> = { 'On SQLite:': 'sqlite', 'On PostgreSQL:': 'postgres' };

const addBlock = ({ language, text, label, start, end }: Block, steps: Step[]): void => {
  const [, file] = /^In `(.+)`:$/.exec(label) ?? [];
  const dialect = databases[label] ?? null;
  const asked = { dialect, answers: [], end };
  const last = steps.at(-1);
  if (file !== undefined) steps.push({ kind: 'file', path: file, text });
  else if (language === 'sql') steps.push({ kind: 'statement', text, ...asked });
  else if (language === 'sh') steps.push({ kind: 'command', text });
  else if (language === 'http' && !text.startsWith('HTTP/'))
    steps.push({ kind: 'requests', requests: text.split('\n\n###\n\n').map(readRequest), ...asked });
  else if (last !== undefined && 'answers' in last && isFormat(language))
    last.answers.push({ format: language, text, dialect, lines: [start, end] });
  else throw new Error(`a block of ${language} answers nothing: ${text}`);
};

const isFormat = (language: string): language is Answer['format'] => ['http', 'json', 'text'].includes(language);

/** A request line, headers, and after an empty line the body. */
const readRequest = (text: string): Request => {
  const [head = '', body = null] = text.split(/\n\n(.*)/s);
  const [line = '', ...headers] = head.split('\n');
  const [method = '', url = ''] = line.split(/ (.*)/);
  return { method, url, headers: Object.fromEntries(headers.map(readHeader)), body };
};

export const readHeader = (line: string): readonly [name: string, value: string] => {
  const [, name = '', value = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
  return [name, value];
};

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
