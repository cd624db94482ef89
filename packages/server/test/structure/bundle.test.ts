/** The bundle (`build.mjs`): what each command and thread loads at once, by what the built files import or require outside of functions. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const bundle = path.join(import.meta.dirname, '../../dist/bundle');

interface Loaded {
  /** Below `dist/bundle`. */
  readonly files: ReadonlySet<string>;
  /** What is imported from outside of the bundle, without Node's own modules. */
  readonly packages: ReadonlySet<string>;
  /** Of all files. */
  readonly characters: number;
}

const loadedBy = (...roots: readonly string[]): Loaded => {
  const files = new Set<string>();
  const packages = new Set<string>();
  let characters = 0;
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    characters += textOf(file).length;
    for (const it of importsOf(file))
      if (it.startsWith('.')) visit(fileAt(it, file));
      else packages.add(it);
  };
  roots.forEach(visit);
  return { files, packages, characters };
};

const textOf = (file: string): string => fs.readFileSync(path.join(bundle, file), 'utf8');

const importsOf = (file: string): readonly string[] =>
  [...textOf(file).matchAll(/^(?:(?:import|export) (?:.* from )?|(?:\w+ [\w$]+ = )?require\()"([^"]+)"\)?;$/gm)]
    .map(([, name = '']) => name)
    .filter((it) => !it.startsWith('node:'));

const fileAt = (name: string, from: string): string => path.join(path.dirname(from), decodeURIComponent(name));

const filesWith = (text: string): readonly string[] => {
  const all = fs.readdirSync(path.join(bundle, 'cli')).map((it) => `cli/${it}`);
  return all.filter((it) => it.endsWith('.cjs') && textOf(it).includes(text));
};

const SERVER = 'cli/server.cjs';

describe('the bundle', () => {
  it('has the server in one file, which start and dev load', () => {
    for (const command of ['cli/start.cjs', 'cli/dev.cjs']) expect(loadedBy(command).files).toContain(SERVER);
    expect(loadedBy('cli/start.cjs').files.size).toBeLessThan(45);
  });

  it('has no database and no schema in what is loaded before a command is known', () => {
    const { files, packages, characters } = loadedBy('cli/program.cjs');
    expect([...packages]).toEqual([]);
    expect(files).not.toContain('cli/project.cjs');
    expect(characters).toBeLessThan(150_000);
  });

  it.each(['supervisor', 'init', 'check', 'migrate', 'types', 'export', 'adopt'])('has no server in %s', (command) => {
    expect(loadedBy(`cli/${command}.cjs`).files).not.toContain(SERVER);
  });

  it.each([
    ['openSqlite', 'openPostgres', ['better-sqlite3']],
    ['openPostgres', 'openSqlite', []],
  ])('has no server in %s, nor %s', (open, other, packages) => {
    const [files, others] = [filesWith(`const ${open} = `), filesWith(`const ${other} = `)];
    expect([files.length, others.length]).toEqual([1, 1]);
    const loaded = loadedBy(...files);
    expect(loaded.files).not.toContain(SERVER);
    expect(loaded.files).not.toContain(others[0]);
    expect([...loaded.packages]).toEqual(packages);
  });

  it('is strict, and of ASCII: V8 keeps other texts with two bytes per character', () => {
    const files = fs.readdirSync(bundle, { recursive: true, encoding: 'utf8' }).filter((it) => /\.c?js$/.test(it));
    expect(files.length).toBeGreaterThan(50);
    expect(files.filter((it) => it.endsWith('.cjs') && !textOf(it).startsWith('"use strict";'))).toEqual([]);
    expect(files.filter((it) => /[^\0-\x7f]/.test(textOf(it)))).toEqual([]);
  });

  it('makes tables of media types on their first use, and compares no versions', () => {
    const texts = [...loadedBy('cli/start.cjs').files].map(textOf).join('');
    expect(texts.match(/module\.exports = new Proxy\(\{\}, \{ get:/g)).toHaveLength(3);
    expect(texts).not.toContain('SEMVER_SPEC_VERSION');
  });

  it('has little in a thread', () => {
    const { packages, characters } = loadedBy('read/thread.js');
    expect([...packages]).toEqual(['better-sqlite3']);
    expect(characters).toBeLessThan(150_000);
  });

  it('has no files that import each other in a circle', () => {
    const circular = [...loadedBy('cli/dev.cjs', 'cli/program.cjs').files].filter((file) =>
      importsOf(file).some((it) => it.startsWith('.') && loadedBy(fileAt(it, file)).files.has(file)),
    );
    expect(circular).toEqual([]);
  });
});
