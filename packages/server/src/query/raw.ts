/** A query before any name is resolved: a tree of texts, made from a query string or an object. */
import { ok, type Result } from '../errors.js';

/**
 * Top-level parameters by name. Includes near misses and malformed keys, unsplit, so that they can be rejected; unrelated
 * names are left out.
 */
export type RawQuery = ReadonlyMap<string, RawNode>;

/** One place in the tree, in the form in which it was given; `shapeOf` interprets it. */
export type RawNode = BracketNode | Shape;

/** One place in a bracket tree, as written. */
export interface BracketNode {
  /** Values given for this very key; null for a key without `=`. */
  readonly values: readonly (string | null)[];
  /** Which blanks of the template the values are (`Template`), by their index; null for none. */
  readonly blanks: readonly (number | undefined)[] | null;
  readonly members: ReadonlyMap<string, BracketNode>;
  /** Members given with empty brackets, in order. */
  readonly appended: readonly BracketNode[];
}

export type Shape =
  | { readonly kind: 'null' }
  /** `blank`: which one of the template the text is; null for none. */
  | { readonly kind: 'text'; readonly text: string; readonly blank: number | null }
  | { readonly kind: 'list'; readonly items: readonly RawNode[] }
  | { readonly kind: 'tree'; readonly members: ReadonlyMap<string, RawNode> }
  /** A value and members, or members with and without names. */
  | { readonly kind: 'mixed'; readonly written: BracketNode };

/** Interprets a node: repeated keys and all-digit keys are lists, in index order, without gaps. */
export const shapeOf = (node: RawNode): Shape => {
  if ('kind' in node) return node;
  const { values, members, appended } = node;
  const hasMembers = members.size > 0 || appended.length > 0;
  if (values.length > 0) {
    if (hasMembers) return { kind: 'mixed', written: node };
    if (values.length > 1) return { kind: 'list', items: valueShapes(node) };
    return scalarShape(values[0] ?? null, node.blanks?.[0]);
  }
  const ordered = inIndexOrder(members);
  if (ordered) return { kind: 'list', items: [...ordered, ...appended] };
  return appended.length > 0 ? { kind: 'mixed', written: node } : { kind: 'tree', members };
};

export const scalarShape = (text: string | null, blank: number | null = null): Shape =>
  text === null ? { kind: 'null' } : { kind: 'text', text, blank };

/** Each value of a key that was given several times. */
export const valueShapes = ({ values, blanks }: BracketNode): readonly Shape[] =>
  values.map((text, i) => scalarShape(text, blanks?.[i]));

/** The members of a list that was written with indexes; null for names. */
export const inIndexOrder = <Member>(members: ReadonlyMap<string, Member>): readonly Member[] | null => {
  const names = [...members.keys()];
  if (!names.every((name) => /^\d+$/.test(name))) return null;
  return names.sort((a, b) => Number(a) - Number(b)).map((name) => members.get(name)!);
};

/** A query that is parsed only if no plan is cached for it. */
export interface QuerySource {
  /** Equal for equal queries and no others; part of the cache key of plans. */
  readonly key: string;
  /** The key after a prefix. The same string each time if the same is asked again: that of a long URL takes time to hash. */
  keyAfter(prefix: string): string;
  read(): Result<RawQuery>;
  /** What it has in common with queries that differ in values only; null if it has no such values. */
  template?(): Template | null;
}

/**
 * A query without the values that most requests differ in: operands of filters and page numbers. Queries with equal
 * templates have equal trees but for the texts in their blanks.
 */
export interface Template {
  readonly key: string;
  /** The text of each blank. */
  readonly texts: readonly string[];
}

export const newKeyAfter = (key: string): QuerySource['keyAfter'] => {
  let prefix: string | null = null;
  let last = '';
  return (given) => {
    if (given !== prefix) {
      prefix = given;
      last = given + key;
    }
    return last;
  };
};

/** The query, with the parameters of `defaults` that it does not set. */
export const withDefaults = (query: QuerySource, defaults: QuerySource): QuerySource => {
  // keys of objects end where their outermost brace closes
  const key = defaults.key + query.key;
  return {
    key,
    keyAfter: newKeyAfter(key),
    read: () => {
      const [given, own] = [query.read(), defaults.read()];
      if (!given.ok) return given;
      return own.ok ? ok(new Map([...own.value, ...given.value])) : own;
    },
  };
};
