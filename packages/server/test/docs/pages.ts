/** The pages of docs/rules as data: rules with their ids, and the requests and answers that stand below them. */
import fs from 'node:fs';
import path from 'node:path';

export const rulesDir = path.join(import.meta.dirname, '../../../../docs/rules');

export interface Example {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; null for a request without a body. */
  readonly body: string | null;
  /** JSON text of what is shown of the answer; null before it was written. */
  readonly answer: string | null;
  /** The lines of the page from the request to the end of the answer, the last one excluded. */
  readonly lines: readonly [from: number, to: number];
}

export interface Rule {
  readonly id: string;
  readonly title: string;
  readonly examples: readonly Example[];
}

export interface Page {
  readonly name: string;
  readonly file: string;
  readonly lines: readonly string[];
  readonly rules: readonly Rule[];
}

const heading = /^## ([A-Z]{1,2}[1-9]\d*)\. (.+)$/;

export const readPages = (): readonly Page[] =>
  fs
    .readdirSync(rulesDir)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()
    .map((name) => readPage(path.join(rulesDir, name)));

const readPage = (file: string): Page => {
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  const rules: { id: string; title: string; examples: Example[] }[] = [];
  for (const [i, line] of lines.entries()) {
    const [, id, title] = heading.exec(line) ?? [];
    if (id !== undefined) rules.push({ id, title: title!, examples: [] });
    if (line === '```http') rules.at(-1)!.examples.push(readExample(lines, i));
  }
  return { name: path.basename(file, '.md'), file, lines, rules };
};

/** A request line, headers, and after an empty line the body; then, in a block of its own, the answer. */
const readExample = (lines: readonly string[], from: number): Example => {
  const end = lines.indexOf('```', from);
  const text = lines.slice(from + 1, end);
  const blank = text.indexOf('');
  const head = blank === -1 ? text : text.slice(0, blank);
  const [method = '', url = ''] = head[0]!.split(' ');
  const headers = Object.fromEntries(head.slice(1).map((it) => it.split(': ') as [string, string]));
  const hasAnswer = lines[end + 1] === '```json';
  const answerEnd = hasAnswer ? lines.indexOf('```', end + 2) : end;
  return {
    method,
    url,
    headers,
    body: blank === -1 ? null : text.slice(blank + 1).join('\n'),
    answer: hasAnswer ? lines.slice(end + 2, answerEnd).join('\n') : null,
    lines: [from, answerEnd + 1],
  };
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
