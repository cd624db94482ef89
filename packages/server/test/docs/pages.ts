/** The pages of the documentation as data: their sections, and the steps of their examples. docs/README.md says how they are written. */
import fs from 'node:fs';
import path from 'node:path';
import type { DialectName } from '../../src/sql/dialect.js';

export const root = path.join(import.meta.dirname, '../../../..');
export const rulesDir = path.join(root, 'docs/rules');

export interface Request {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null for a request without a body. */
  readonly body: string | null;
}

export interface Answer {
  /** `http` shows status, headers and body, `json` only the body, `tree` what it holds; else what a command or statement prints. */
  readonly format: 'http' | 'json' | 'tree' | 'text';
  /** The first line of its block, without the backticks. */
  readonly head: string;
  readonly text: string;
  /** The database that gives this answer; null for both. */
  readonly dialect: DialectName | null;
  /** Of a command; 0 unless the block says otherwise. */
  readonly exitCode: number;
  /** Its lines on the page, fences included; the last one excluded. */
  readonly lines: readonly [from: number, to: number];
}

interface Asked {
  /** The database that is asked; null for both. */
  readonly dialect: DialectName | null;
  /** None before they were written. */
  readonly answers: Answer[];
  /** The line behind it, where its first answer is written. */
  readonly end: number;
}

export type Step = { readonly line: number } & (
  | /** A file of the project changes, and the server is started again. JSON is merged into the file. */
  { readonly kind: 'file'; readonly path: string; readonly text: string }
  /** Several requests are sent at the same time and have the same answer. */
  | ({ readonly kind: 'requests'; readonly requests: readonly Request[] } & Asked)
  | ({ readonly kind: 'statement'; readonly text: string } & Asked)
  /** Lines of a shell, which keeps its variables until the end of the page; with `isServer` they run until then. */
  | ({ readonly kind: 'command'; readonly text: string; readonly isServer: boolean } & Asked)
  /** Blocks that follow each other are one module. */
  | ({ readonly kind: 'script'; readonly language: 'ts' | 'js'; readonly text: string } & Asked)
);

export type Question = Extract<Step, Asked>;

export interface Section {
  /** The id of a rule. */
  readonly id: string | null;
  readonly title: string;
  readonly steps: readonly Step[];
}

export interface Rule extends Section {
  readonly id: string;
}

/** A block that no test can run here. */
export interface NotRun {
  readonly page: string;
  readonly reason: string;
  readonly text: string;
}

export interface Page {
  /** Path in the repository. */
  readonly name: string;
  readonly file: string;
  readonly sections: readonly Section[];
  readonly notRun: readonly NotRun[];
}

const heading = /^#{1,4} (?:([A-Z]{1,2}[1-9]\d*)\. )?(.+)$/;

const markdownBelow = (dir: string): readonly string[] =>
  fs
    .readdirSync(path.join(root, dir))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => path.posix.join(dir, name));

/** Written by docs/generate.mjs. */
const generated = ['docs/configuration.md', 'docs/errors.md'];

/** Every page with examples, except the rules. */
export const guideNames: readonly string[] = [
  'README.md',
  ...markdownBelow('docs').filter((name) => !generated.includes(name)),
  'examples/magazine/README.md',
];

export const ruleNames: readonly string[] = markdownBelow('docs/rules').filter((name) => !name.endsWith('/README.md'));

export const readPage = (name: string): Page => {
  const file = path.join(root, name);
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  const sections: { id: string | null; title: string; steps: Step[] }[] = [];
  const notRun: NotRun[] = [];
  let end = 0;
  for (const [i, line] of lines.entries()) {
    if (i < end) continue;
    const [, id = null, title] = heading.exec(line) ?? [];
    if (title !== undefined) sections.push({ id, title, steps: [] });
    if (!/^ *```/.test(line)) continue;
    if (!line.startsWith('```')) throw new Error(`${name}:${i + 1}: a block inside of a list is not run; move it out`);
    const block = readBlock(lines, i, end);
    end = block.end;
    const [, reason] = /^\w* ?not run: (.+)$/.exec(block.head) ?? [];
    if (reason !== undefined) notRun.push({ page: name, reason, text: block.text });
    else {
      const last = sections.flatMap((it) => it.steps).at(-1);
      const step = stepOf(block, last, `${name}:${i + 1}`);
      if (step) sections.at(-1)!.steps.push(step);
    }
  }
  return { name, file, sections, notRun };
};

export const readRules = (): readonly Rule[] =>
  ruleNames.flatMap((name) => readPage(name).sections.flatMap((it) => (it.id === null ? [] : [{ ...it, id: it.id }])));

interface Block {
  /** The language and what follows it. */
  readonly head: string;
  readonly text: string;
  /** The paragraph above it, in one line. */
  readonly label: string;
  readonly start: number;
  readonly end: number;
}

const readBlock = (lines: readonly string[], start: number, from: number): Block => {
  const close = lines.indexOf('```', start + 1);
  return {
    head: lines[start]!.slice(3),
    text: lines.slice(start + 1, close).join('\n'),
    label: lines.slice(from, start).join('\n').trim().split(/\n\n+/).at(-1)!.replaceAll('\n', ' '),
    start,
    end: close + 1,
  };
};

const databases: Readonly<Record<string, DialectName>> = { 'On SQLite:': 'sqlite', 'On PostgreSQL:': 'postgres' };

/** The step that a block begins; null if it is the answer to the last one, to which it is added. */
const stepOf = ({ head, text, label, start, end }: Block, last: Step | undefined, at: string): Step | null => {
  const [language = '', ...rest] = head.split(' ');
  const info = rest.join(' ');
  const [, file] = /^(?:.* )?[Ii]n `([^`]+)`:$/.exec(label) ?? [];
  const dialect = databases[label] ?? null;
  const asked = { line: start + 1, dialect, answers: [], end };
  const isOutput = info === 'output';
  if (file !== undefined && !isOutput) return { kind: 'file', line: start + 1, path: file, text };
  if (language === 'sql' && !isOutput) return { kind: 'statement', text, ...asked };
  if (language === 'sh' && (info === '' || info === 'server'))
    return { kind: 'command', text, isServer: info === 'server', ...asked };
  if (language === 'http' && !text.startsWith('HTTP/'))
    return { kind: 'requests', requests: text.split('\n\n###\n\n').map(readRequest), ...asked };
  if ((language === 'ts' || language === 'js') && info === '') return { kind: 'script', language, text, ...asked };
  if (last === undefined || !('answers' in last)) throw new Error(`${at}: a block of ${head} answers nothing`);
  const [, code] = /^exit (\d+)$/.exec(info) ?? [];
  const format = info === 'tree' ? 'tree' : language === 'json' || language === 'http' ? language : 'text';
  last.answers.push({ format, head, text, dialect, exitCode: Number(code ?? 0), lines: [start, end] });
  return null;
};

/** A request line, which may go on in indented lines, headers, and after an empty line the body. */
const readRequest = (text: string): Request => {
  const [head = '', body = null] = text.split(/\n\n(.*)/s);
  const [line = '', ...headers] = head.replace(/\n[ \t]+/g, '').split('\n');
  const [method = '', url = ''] = line.split(/ (.*)/);
  return { method, url, headers: Object.fromEntries(headers.map(readHeader)), body };
};

export const readHeader = (line: string): readonly [name: string, value: string] => {
  const [, name = '', value = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
  return [name, value];
};
