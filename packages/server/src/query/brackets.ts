/**
 * The syntax of the query string (RQ10): bracket keys to a tree. Knows no model; rejects malformed keys.
 * The grammar is that of `qs`, the dialect's reference parser. It is written out here because `qs` silently drops what
 * this server rejects: unbalanced brackets, surplus parameters, keys like `__proto__` (RQ12, RQ11).
 * A property test compares the two on all input that both accept.
 */
import { type Issue, issue, ok, type Result } from '../errors.js';
import { limits } from '../limits.js';
import { parameterName } from './parameters.js';
import { type BracketNode, newKeyAfter, type QuerySource, type RawQuery, type Template } from './raw.js';

const readableKey = /^[^[\]]*(?:\[[^[\]]*\])*$/;

interface GrowingNode extends BracketNode {
  readonly values: (string | null)[];
  blanks: (number | undefined)[] | null;
  readonly members: Map<string, GrowingNode>;
  readonly appended: GrowingNode[];
}
const newNode = (): GrowingNode => ({ values: [], blanks: null, members: new Map(), appended: [] });

/** How an endpoint maps the keys of its query string. */
export interface Grammar {
  /** Distinguishes cache keys. No `?` and no braces. */
  readonly name: string;
  /** Maps a key to its path in the tree, to the very same segments if it stays where it is; null ignores it. A malformed key is one segment. */
  place(segments: readonly string[]): readonly string[] | null;
}

const usual: Grammar = { name: '', place: (segments) => segments };

/** @param search the part of the URL after `?`, still encoded. */
export const textQuery = (search: string, grammar: Grammar = usual): QuerySource => {
  const key = `${grammar.name}?${search}`;
  return {
    key,
    keyAfter: newKeyAfter(key),
    read: () => readBrackets(search, grammar),
    template: () => templateOf(search, grammar),
  };
};

/** The query string without the parameters that the server knows. */
export const otherParameters = (search: string): string =>
  search
    .split('&')
    .filter((it) => parameterName(splitKey(splitPair(readable(it)).key)[0] ?? '').kind !== 'known')
    .join('&');

/** Looks only at pairs that may be blanks; those are the blanks of `readBrackets`, in the same order. */
const templateOf = (search: string, grammar: Grammar): Template | null => {
  const texts: string[] = [];
  let key = `${grammar.name}?`;
  let copied = 0;
  blankable.lastIndex = 0;
  for (let found = blankable.exec(search); found; found = blankable.exec(search)) {
    const begin = search.lastIndexOf('&', found.index) + 1;
    const next = search.indexOf('&', found.index);
    const end = next === -1 ? search.length : next;
    blankable.lastIndex = end;
    const pair = readable(search.slice(begin, end));
    const at = blankAt(pair);
    if (at === null) continue;
    texts.push(decode(pair.slice(at)));
    key += search.slice(copied, begin) + pair.slice(0, at) + (pair.startsWith(PAGINATION) ? anyPage : '');
    copied = end;
  }
  return texts.length === 0 ? null : { key: key + search.slice(copied), texts };
};

const blankable = /filters|pagination/g;

/**
 * Where the value of a pair begins if it is a blank: an operand of a filter, or the number of a page that is not the first
 * (first pages are read by other statements). Null for all else, and for flags, which decide what is compared.
 */
const blankAt = (pair: string): number | null => {
  if (pair.startsWith(PAGINATION)) return laterPage.test(pair) ? pair.indexOf('=') + 1 : null;
  const filters = pair.indexOf('filters');
  if (filters === -1) return null;
  const equals = equalsOf(pair);
  return equals < filters || pair.endsWith('ull]', equals) ? null : equals + 1;
};

const PAGINATION = 'pagination[';
const laterPage = /^pagination\[(?:page\]=(?!1$)|start\]=)[1-9]\d{0,8}$/;
/** Stands for all that `laterPage` matches. */
const anyPage = '2';

/** @param search the part of the URL after `?`, still encoded. Linear in its length, without recursion. */
export const readBrackets = (search: string, grammar: Grammar = usual): Result<RawQuery> => {
  const { roots, issues } = bracketsIn(search, grammar);
  return issues.length > 0 ? { ok: false, issues } : ok(roots);
};

/** The same whatever is wrong with it: some endpoints look at a part of it only, in which nothing may be. */
export const bracketsIn = (
  search: string,
  grammar: Grammar = usual,
): { readonly roots: RawQuery; readonly issues: readonly Issue[] } => {
  const roots = new Map<string, GrowingNode>();
  const issues: Issue[] = [];
  /** By place: whether the grammar has moved it there. */
  const moved = new Map<string, boolean>();
  let count = 0;
  let blanks = 0;
  for (const pair of pairsOf(search)) {
    const { key, value } = splitPair(pair);
    const blank = blankAt(pair) === null ? null : blanks++;
    count += 1;
    if (count > limits.parametersMax) {
      issues.push(issue('query.too-many-parameters', [], { max: limits.parametersMax }));
      break;
    }
    const written = splitKey(key);
    const place = grammar.place(written);
    if (!place) continue;
    const { kind } = parameterName(place[0] ?? '');
    if (kind === 'other') continue;
    const segments = kind === 'malformed' ? [key] : place;
    if (grammar !== usual) {
      const at = place.slice(0, 2);
      const name = at.join('[');
      const isMoved = place !== written;
      // values of one node are alternatives, and these may be of a client and of code
      if ((moved.get(name) ?? isMoved) !== isMoved) issues.push(issue('query.two-places', at));
      moved.set(name, isMoved);
    }
    if (key.includes('\0') || value?.includes('\0')) issues.push(issue('query.nul-character', segments));
    const node = nodeAt(roots, segments);
    if (blank !== null) {
      node.blanks ??= [];
      node.blanks[node.values.length] = blank;
    }
    node.values.push(value);
  }
  return { roots, issues };
};

/**
 * The fields of an `application/x-www-form-urlencoded` body: `data[title]=x&data[author]=3`, or with dots, as v4's body
 * parser takes them, `data.title=x`. Values are texts.
 */
export const readFields = (text: string): Result<RawQuery> => {
  const roots = new Map<string, GrowingNode>();
  const issues: Issue[] = [];
  let count = 0;
  for (const pair of pairsOf(text)) {
    const { key, value } = splitPair(pair);
    count += 1;
    if (count > limits.parametersMax) {
      issues.push(issue('form.too-many-fields', [], { max: limits.parametersMax }));
      break;
    }
    const segments = splitKey(bracketed(key));
    if (segments.length === 1 && /[[\]]|\../.test(key)) issues.push(issue('form.field-name', [], { name: key }));
    else if (segments.length > limits.jsonDepthMax)
      issues.push(issue('body.too-deep', segments.slice(0, 2), { max: limits.jsonDepthMax }));
    // as in JSON (BO3)
    else if (!segments.includes('__proto__')) nodeAt(roots, segments).values.push(value ?? '');
  }
  return issues.length > 0 ? { ok: false, issues } : ok(roots);
};

/** `a.b[c.d]` as `a[b][c.d]`. */
const bracketed = (key: string): string =>
  key.replaceAll(/\[[^[\]]*\]|\.([^.[\]]+)/g, (it, name: string | undefined) =>
    name === undefined ? it : `[${name}]`,
  );

const pairsOf = (text: string): readonly string[] =>
  readable(text)
    .split('&')
    .filter((it) => it !== '');

const readable = (text: string): string => text.replace(/%5B/gi, '[').replace(/%5D/gi, ']');

const nodeAt = (roots: Map<string, GrowingNode>, [name = '', ...path]: readonly string[]): GrowingNode => {
  let node = childOf(roots, name);
  for (const segment of path) {
    if (segment === '') {
      const next = newNode();
      node.appended.push(next);
      node = next;
    } else node = childOf(node.members, segment);
  }
  return node;
};

const childOf = (members: Map<string, GrowingNode>, name: string): GrowingNode => {
  const child = members.get(name) ?? newNode();
  members.set(name, child);
  return child;
};

/** An equals sign inside brackets belongs to the key. -1 for none. */
const equalsOf = (pair: string): number => {
  const afterBracket = pair.indexOf(']=');
  return afterBracket === -1 ? pair.indexOf('=') : afterBracket + 1;
};

const splitPair = (pair: string): { readonly key: string; readonly value: string | null } => {
  const equals = equalsOf(pair);
  if (equals === -1) return { key: decode(pair), value: null };
  return { key: decode(pair.slice(0, equals)), value: decode(pair.slice(equals + 1)) };
};

/** Broken percent escapes stay as they are (RQ10). */
const decode = (text: string): string => {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
};

/** `a[b][]` to `['a','b','']`; the whole key if its brackets do not balance or it starts with one. */
const splitKey = (key: string): readonly string[] => {
  const open = key.indexOf('[');
  return open < 1 || !readableKey.test(key) ? [key] : [key.slice(0, open), ...key.slice(open + 1, -1).split('][')];
};
