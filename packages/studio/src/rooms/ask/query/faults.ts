/** Where the faults that the server names belong: a row of the tree, a part of the URL. */
import { pairsOf } from './brackets.js';
import type { Item } from './items.js';
import { isList, type Members, nodeAt, type Path } from './node.js';

/** A fault as the server answers it. */
export interface Fault {
  /** The names inside of the query. */
  readonly path: Path;
  readonly message: string;
}

const startsWith = (path: Path, prefix: Path): boolean => prefix.every((it, i) => path[i] === it);

/** The faults of each row, by its id: each fault at the visible row that is nearest to its place. */
export const faultsByRow = (
  faults: readonly Fault[],
  items: readonly Item[],
  query: Members,
): ReadonlyMap<string, readonly Fault[]> => {
  const found = new Map<string, Fault[]>();
  for (const fault of faults) {
    const path = pathInTree(fault.path, query);
    const around = items.filter((it) => startsWith(path, it.path));
    const depth = Math.max(...around.map((it) => it.path.length));
    const nearest = around.findLast((it) => it.path.length === depth);
    if (nearest) found.set(nearest.id, [...(found.get(nearest.id) ?? []), fault]);
  }
  return found;
};

/** `populate[1]` is a name in a list: the place that it populates. */
const pathInTree = (path: Path, query: Members): Path => {
  for (let i = 0; i < path.length - 1; i++) {
    if (path[i] !== 'populate') continue;
    const node = nodeAt(query, path.slice(0, i + 1));
    const name = isList(node) ? node[Number(path[i + 1])] : undefined;
    if (typeof name !== 'string') continue;
    const steps = name.split('.').flatMap((it) => ['populate', it.trim()]);
    return [...path.slice(0, i), ...steps];
  }
  return path;
};

/** A part of a text, as offsets. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The part of a URL that a fault is about; the whole query if nothing in it fits. */
export const spanInUrl = (url: string, { path }: Fault): Span => {
  const question = url.indexOf('?');
  if (question === -1 || path.length === 0) return { from: 0, to: url.length };
  const offset = question + 1;
  const hash = url.indexOf('#');
  const pairs = pairsOf(url.slice(offset, hash === -1 ? undefined : hash));
  const inside = pairs.filter((it) => startsWith(it.segments, path));
  const first = inside[0];
  const last = inside.at(-1);
  // the parts of a place need not stand together
  if (first && last && pairs.indexOf(last) - pairs.indexOf(first) === inside.length - 1)
    return { from: first.from + offset, to: last.to + offset };
  if (first) return { from: first.from + offset, to: first.to + offset };
  // an element of a repeated key, or of one with empty brackets
  const parent = path.slice(0, -1);
  const elements = pairs.filter(
    ({ segments }) =>
      startsWith(segments, parent) &&
      (segments.length === parent.length || segments[parent.length] === '') &&
      parent.length > 0,
  );
  const element = elements[Number(path.at(-1))] ?? elements[0] ?? longestPrefix(path, pairs);
  return element ? { from: element.from + offset, to: element.to + offset } : { from: offset, to: url.length };
};

const longestPrefix = (
  path: Path,
  pairs: ReturnType<typeof pairsOf>,
): ReturnType<typeof pairsOf>[number] | undefined => {
  const sharedWith = (segments: Path): number => {
    const different = segments.findIndex((it, i) => it !== path[i]);
    return different === -1 ? segments.length : different;
  };
  const [best] = [...pairs].sort((a, b) => sharedWith(b.segments) - sharedWith(a.segments));
  return best && sharedWith(best.segments) > 0 ? best : undefined;
};
