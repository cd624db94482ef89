/**
 * The rules that code and tests cite exist in docs/rules, and each rule has an example and is named in the title of a test;
 * the files that ARCHITECTURE.md and DECISIONS.md name exist.
 */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRules } from '../docs/pages.js';

const root = path.join(import.meta.dirname, '../../../..');
const isText = /\.(ts|mjs|js|md|txt)$/;
const skipped = new Set(['node_modules', 'dist', '.git', 'project', 'corpus', 'uploads']);

const filesBelow = (dir: string): readonly string[] =>
  fs.readdirSync(path.join(root, dir), { withFileTypes: true }).flatMap((it) => {
    if (skipped.has(it.name)) return [];
    const file = path.posix.join(dir, it.name);
    return it.isDirectory() ? filesBelow(file) : isText.test(it.name) ? [file] : [];
  });

const self = 'packages/server/test/structure/citations.test.ts';
const files = ['packages', 'docs', 'examples'].flatMap(filesBelow).filter((it) => it !== self);
const textOf = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');

const rules = readRules();
const ids = rules.map((it) => it.id);
const prefixes = [...new Set(ids.map((id) => id.replace(/\d+$/, '')))].sort((a, b) => b.length - a.length);
/** `R6`, and the ends of `R3 to R6`; not a part of a longer word. */
const citation = new RegExp(`(?<![\\w$%#.&-])(${prefixes.join('|')})([1-9]\\d?)(?![\\w-])`, 'g');

/** Comments, and titles of tests: places where a word of that form is a citation. */
const citing = (file: string): string => {
  const text = textOf(file);
  if (file.endsWith('.md')) return text;
  const lines = text.split('\n');
  const comments = lines.filter((line) => /^\s*(\/?\*|\/\/)|\/\*\*|\/\/ /.test(line));
  return [...comments, ...titlesOf(lines)].join('\n');
};

/** Lines of a test that hold a title: calls of describe and test, and texts that begin with an id. */
const titlesOf = (lines: readonly string[]): readonly string[] =>
  lines.filter((line) => /\b(it|test|describe|rows)\b[.(]|['"`](?:[A-Z]{1,2}[1-9]\d?)\b/.test(line));

const citedIn = (text: string): readonly string[] => {
  const found = [...text.matchAll(citation)].map(([id]) => id);
  const ranges = [...text.matchAll(/\b([A-Z]{1,2})(\d+) to \1(\d+)\b/g)].flatMap(([, prefix, from, to]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => `${prefix}${Number(from) + i}`),
  );
  return [...found, ...ranges];
};

/** Rules that no test's title names yet, openly. */
const unnamed: readonly string[] = [];

describe('citations', () => {
  it('rules are found at all, each id once', () => {
    expect(ids.length).toBeGreaterThan(100);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  });

  it('every id that code, tests and pages cite is a rule', () => {
    const unknown = files.flatMap((file) =>
      [...new Set(citedIn(citing(file)))].filter((id) => !ids.includes(id)).map((id) => `${file}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });

  it('nothing outside the repository is cited', () => {
    const outside =
      /['"`]\d{1,2}\.\d{1,2}(?:, [^:'"`]{0,30})?: \D|\b[Cc]ontract,? (?:\d|decision)|storage-layout \d|\bdecisions? [a-k]\b|\b12,? rows? \d|\(specification, [A-Z]/;
    const found = files.flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, i) => (outside.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : [])),
    );
    expect(found).toEqual([]);
  });

  it('every rule is named in the title of a test', () => {
    const titles = files
      .filter((file) => file.startsWith('packages/server/test/') && file.endsWith('.test.ts'))
      .flatMap((file) => citedIn(titlesOf(textOf(file).split('\n')).join('\n')));
    expect(ids.filter((id) => !titles.includes(id))).toEqual(unnamed);
  });

  it('every rule has an example, which test/docs runs', () => {
    const without = rules.filter((it) => !it.steps.some((step) => 'answers' in step && step.answers.length > 0));
    expect(without.map((it) => it.id)).toEqual([]);
  });

  it.each(['ARCHITECTURE.md', 'DECISIONS.md'])('every file that %s names exists', (page) => {
    const text = fs.readFileSync(path.join(root, page), 'utf8');
    const named = [...text.matchAll(/`((?:src|test|bench)\/[\w/.-]+)`/g)].map((it) => it[1]!);
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((it) => !fs.existsSync(path.join(root, 'packages/server', it)))).toEqual([]);
  });
});
