/** Stack traces that name the sources: what runs is a bundle of them (build.mjs). */
import fs from 'node:fs';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Replaces each place in a bundled file by its place in the sources. Other places, and without source maps all, stay. */
export const withSources = (stack: string): string =>
  stack.replace(/(file:\/\/[^\s:]+\.c?js):(\d+):(\d+)/g, (place, url: string, line: string, column: string) => {
    const entry = mapOf(url)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !('originalSource' in entry)) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    return `${fileURLToPath(new URL(originalSource, url))}:${originalLine + 1}:${originalColumn + 1}`;
  });

/** Read when the first error is logged, and not kept from the garbage collector. */
const maps = new Map<string, WeakRef<SourceMap>>();

const mapOf = (url: string): SourceMap | null => {
  const known = maps.get(url)?.deref();
  if (known) return known;
  try {
    const map = new SourceMap(JSON.parse(fs.readFileSync(new URL(`${url}.map`), 'utf8')));
    maps.set(url, new WeakRef(map));
    return map;
  } catch {
    return null;
  }
};
