/** What has to be loaded before the first page is shown: the entry of the build, what it imports, and the first room. */
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';

const dist = path.join(import.meta.dirname, '../dist');

interface Chunk {
  readonly file: string;
  readonly css?: readonly string[];
  /** Keys of chunks that are loaded with it. */
  readonly imports?: readonly string[];
  readonly isEntry?: boolean;
}

const manifest = JSON.parse(fs.readFileSync(path.join(dist, '.vite/manifest.json'), 'utf8')) as Record<string, Chunk>;

/** Files of chunks with all that they import statically. */
const filesOf = (...keys: readonly string[]): ReadonlySet<string> => {
  const seen = new Set<string>();
  const visit = (key: string): void => {
    if (seen.has(key)) return;
    seen.add(key);
    for (const it of manifest[key]?.imports ?? []) visit(it);
  };
  keys.forEach(visit);
  return new Set([...seen].flatMap((key) => [manifest[key]!.file, ...(manifest[key]!.css ?? [])]));
};

const gzipped = (files: Iterable<string>): number =>
  [...files].reduce((sum, it) => sum + zlib.gzipSync(fs.readFileSync(path.join(dist, it))).length, 0);

const entry = Object.keys(manifest).find((key) => manifest[key]?.isEntry) ?? '';
const KB = 1000;

describe('the size of the Studio, gzipped', () => {
  it.each([
    ['the first page', 'src/rooms/start/Start.tsx'],
    ['signing in', 'src/session/SignIn.tsx'],
  ])('%s loads less than 300 KB', (_name, room) => {
    expect(manifest).toHaveProperty([room]);
    const size = gzipped(filesOf(entry, room)) + gzipped(['index.html']);
    expect(size).toBeLessThan(300 * KB);
  });

  it('what the rooms alone need is not in the first page: the map, its layout, the editor of texts', () => {
    const files = [...filesOf(entry, 'src/rooms/start/Start.tsx')].filter((it) => it.endsWith('.js'));
    const text = files.map((it) => fs.readFileSync(path.join(dist, it), 'utf8')).join('\n');
    expect(text).not.toMatch(/react-flow__|elk\.layered|cm-content|DndDescribedBy/);
  });
});
