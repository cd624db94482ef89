/** The import rule of ARCHITECTURE.md: imports between folders point one way, and there are no cycles, nor in the other packages. */
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const src = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../src');

/** From the lowest folder to the highest; a folder imports from itself and from folders before it. */
const order = [
  'base',
  'sql',
  'model',
  'query',
  'access',
  'read',
  'write',
  'events',
  'media',
  'accounts',
  'administration',
  'handlers',
  'describe',
  'migrate',
  'site',
  'v4code',
  'http',
  'cli',
];
/** The folders of `v4code`, likewise; the files beside them belong to none. */
const codeOrder = ['loading', 'strapi-utils', 'data', 'plugins', 'requests'];
/** Files outside of the folders. */
const base = ['errors.ts', 'ready.ts', 'single-flight.ts', 'concurrency.ts', 'memory.ts', 'limits.ts', 'folders.ts'];

interface Arrow {
  readonly from: string;
  readonly to: string;
}

const filesOf = (folder: string): readonly string[] =>
  fs
    .readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((it) => /\.tsx?$/.test(it))
    .map((it) => it.split(path.sep).join('/'))
    .sort();
const files = filesOf(src);

const comments = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;
/** `import … from 'x'`, `export … from 'x'`, `import 'x'` and `import('x')`; imports of types are arrows too. */
const imported = /(?:\bfrom\s*|\bimport\s*\(?\s*)'(\.[^']*)'/g;
/** Without `import('x')`, which the Studio's pages load when they are opened. */
const importedAtOnce = /(?:\bfrom\s*|\bimport\s*)'(\.[^']*)'/g;

const arrowsOf = (folder: string, file: string, pattern: RegExp): readonly Arrow[] => {
  const text = fs.readFileSync(path.join(folder, file), 'utf8').replace(comments, '');
  return [...text.matchAll(pattern)].map(([, specifier = '']) => {
    const to = path.posix.join(path.posix.dirname(file), specifier).replace(/\.js$/, '.ts');
    return { from: file, to: fs.existsSync(path.join(folder, to)) ? to : to.replace(/\.ts$/, '.tsx') };
  });
};
const arrows = files.flatMap((file) => arrowsOf(src, file, imported));

/** Index of a file's folder in the order; -1 for an unknown folder. */
const level = (file: string): number => order.indexOf(base.includes(file) ? 'base' : (file.split('/')[0] ?? ''));

/** Import cycles, each as a path that ends where it began. Depth first; every edge is visited once. */
const circlesOf = (edges: readonly Arrow[]): readonly string[] => {
  const targets = new Map<string, string[]>();
  for (const { from, to } of edges) targets.set(from, [...(targets.get(from) ?? []), to]);
  const circles: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): void => {
    const seen = trail.indexOf(file);
    if (seen !== -1) {
      circles.push([...trail.slice(seen), file].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const next of targets.get(file) ?? []) walk(next, [...trail, file]);
    done.add(file);
  };
  for (const file of targets.keys()) walk(file, []);
  return circles;
};

describe('imports', () => {
  it('are found at all', () => {
    expect(files.length).toBeGreaterThan(20);
    expect(arrows).toContainEqual({ from: 'read/find.ts', to: 'sql/dialect.ts' });
    expect(arrows).toContainEqual({ from: 'sql/sqlite/open.ts', to: 'errors.ts' });
  });

  it('name existing files', () => {
    expect(arrows.filter(({ to }) => !files.includes(to))).toEqual([]);
  });

  it('every file is in a known folder', () => {
    expect(files.filter((file) => level(file) === -1)).toEqual([]);
  });

  it('point from a folder to itself or to one before it', () => {
    expect(arrows.filter(({ from, to }) => level(to) > level(from)).map(({ from, to }) => `${from} -> ${to}`)).toEqual(
      [],
    );
  });

  it('point from a folder of v4code to itself or to one before it', () => {
    const codeLevel = (file: string): number => codeOrder.indexOf(file.split('/')[1] ?? '');
    const inside = arrows.filter(({ from, to }) => [from, to].every((it) => /^v4code\/.+\//.test(it)));
    expect(inside.filter(({ from, to }) => codeLevel(from) === -1 || codeLevel(to) > codeLevel(from))).toEqual([]);
    expect(inside.length).toBeGreaterThan(100);
  });

  it('form no cycles', () => {
    expect(circlesOf(arrows)).toEqual([]);
  });

  it.each([
    ['client', []],
    // a component has fields, which may be components
    [
      'studio',
      [
        'rooms/content/fields/FieldsView.tsx -> rooms/content/fields/FieldView.tsx -> rooms/content/fields/PartsControl.tsx -> rooms/content/fields/FieldsView.tsx',
      ],
    ],
  ])('form no cycles in packages/%s either, except known ones', (name, known) => {
    const folder = path.join(src, '../../', name, 'src');
    const edges = filesOf(folder).flatMap((file) => arrowsOf(folder, file, importedAtOnce));
    expect(edges.length).toBeGreaterThan(10);
    expect(circlesOf(edges)).toEqual(known);
  });

  it('leave out of a database thread what it does not need: each one pays for all of them', () => {
    const dist = path.join(src, '../dist');
    const packages = new Set<string>();
    const loaded = new Set<string>();
    const load = (file: string): void => {
      if (loaded.has(file)) return;
      loaded.add(file);
      for (const [, from, name = from ?? ''] of fs
        .readFileSync(file, 'utf8')
        .matchAll(/^(?:import .*|\} )from '([^']+)';$|^import '([^']+)';$/gm))
        if (name.startsWith('.')) load(path.join(path.dirname(file), name));
        else packages.add(name);
    };
    load(path.join(dist, 'read/thread.js'));
    expect([...packages].filter((it) => !it.startsWith('node:')).sort()).toEqual([
      'better-sqlite3',
      'fastest-levenshtein',
      'lru-cache',
      'xxhash-wasm',
    ]);
  });

  it('a cycle would be detected', () => {
    const edge = (from: string, to: string): Arrow => ({ from, to });
    expect(circlesOf([edge('a', 'b'), edge('b', 'c'), edge('c', 'b'), edge('a', 'c')])).toEqual(['b -> c -> b']);
    expect(circlesOf([edge('a', 'b'), edge('a', 'c'), edge('b', 'c')])).toEqual([]);
  });
});
