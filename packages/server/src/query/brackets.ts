/**
 * The syntax of the query string (contract 3): bracket keys to a tree. Knows no model; rejects what cannot be read.
 * The grammar is that of `qs`, the dialect's reference parser. It is written out here because `qs` drops in silence what
 * this server refuses: unbalanced brackets, surplus parameters, keys like `__proto__` (contract 12, rows 12, 14, 15).
 * A property test holds it against `qs` on all that both accept.
 */
import { type Issue, issue, ok, type Result } from '../errors.js';
import { limits } from '../limits.js';
import { parameterName } from './parameters.js';

/** One place in the bracket tree, as written; `shapeOf` says what it amounts to. */
export interface RawNode {
  /** Values given for this very key; null for a key without `=`. */
  readonly values: readonly (string | null)[];
  readonly members: ReadonlyMap<string, RawNode>;
  /** Members given with empty brackets, in order. */
  readonly appended: readonly RawNode[];
}

/**
 * Top-level parameters of one query string. Near misses and keys that cannot be read are among them, whole, so that they
 * can be refused; names that mean nothing here are not.
 */
export type RawQuery = ReadonlyMap<string, RawNode>;

export type Shape =
  | { readonly kind: 'null' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly RawNode[] }
  | { readonly kind: 'tree'; readonly members: ReadonlyMap<string, RawNode> }
  | { readonly kind: 'mixed' };

const readableKey = /^[^[\]]*(?:\[[^[\]]*\])*$/;

interface GrowingNode extends RawNode {
  readonly values: (string | null)[];
  readonly members: Map<string, GrowingNode>;
  readonly appended: GrowingNode[];
}
const newNode = (): GrowingNode => ({ values: [], members: new Map(), appended: [] });

/** @param search the part of the URL after `?`, still encoded. Linear in its length, without recursion. */
export const readBrackets = (search: string): Result<RawQuery> => {
  const roots = new Map<string, GrowingNode>();
  const issues: Issue[] = [];
  let count = 0;
  for (const pair of search.split('&')) {
    if (pair === '') continue;
    count += 1;
    if (count > limits.parametersMax) {
      issues.push(issue('query.too-many-parameters', [], { max: limits.parametersMax }));
      break;
    }
    const { key, value } = splitPair(pair);
    const split = splitKey(key);
    const { kind } = parameterName(split[0] ?? '');
    if (kind === 'other') continue;
    const segments = kind === 'malformed' ? [key] : split;
    const [name = '', ...path] = segments;
    if (key.includes('\0') || value?.includes('\0')) issues.push(issue('query.nul-character', segments));
    let node = childOf(roots, name);
    for (const segment of path) {
      if (segment === '') {
        const next = newNode();
        node.appended.push(next);
        node = next;
      } else node = childOf(node.members, segment);
    }
    node.values.push(value);
  }
  return issues.length > 0 ? { ok: false, issues } : ok(roots);
};

const childOf = (members: Map<string, GrowingNode>, name: string): GrowingNode => {
  const child = members.get(name) ?? newNode();
  members.set(name, child);
  return child;
};

const splitPair = (pair: string): { key: string; value: string | null } => {
  const bracketed = pair.replace(/%5B/gi, '[').replace(/%5D/gi, ']');
  // an equals sign inside brackets belongs to the key
  const afterBracket = bracketed.indexOf(']=');
  const equals = afterBracket === -1 ? bracketed.indexOf('=') : afterBracket + 1;
  if (equals === -1) return { key: decode(bracketed), value: null };
  return { key: decode(bracketed.slice(0, equals)), value: decode(bracketed.slice(equals + 1)) };
};

/** Broken percent escapes stay as they are (contract 3). */
const decode = (text: string): string => {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
};

/** `a[b][]` to `['a','b','']`; the whole key when its brackets do not balance, or nothing stands before them. */
const splitKey = (key: string): readonly string[] => {
  const open = key.indexOf('[');
  return open < 1 || !readableKey.test(key) ? [key] : [key.slice(0, open), ...key.slice(open + 1, -1).split('][')];
};

/** What a node amounts to: repeated keys and all-digit keys are lists, in index order, holes closed. */
export const shapeOf = (node: RawNode): Shape => {
  const { values, members, appended } = node;
  const hasMembers = members.size > 0 || appended.length > 0;
  if (values.length > 0) {
    if (hasMembers) return { kind: 'mixed' };
    if (values.length > 1)
      return { kind: 'list', items: values.map((value) => ({ values: [value], members: new Map(), appended: [] })) };
    const [text] = values;
    return text === null || text === undefined ? { kind: 'null' } : { kind: 'text', text };
  }
  const names = [...members.keys()];
  if (names.every((name) => /^\d+$/.test(name))) {
    const ordered = names.sort((a, b) => Number(a) - Number(b)).map((name) => members.get(name)!);
    return { kind: 'list', items: [...ordered, ...appended] };
  }
  return appended.length > 0 ? { kind: 'mixed' } : { kind: 'tree', members };
};
