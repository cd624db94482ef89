/**
 * What each option of a query says, in any of the forms that it can be written in, and the form in which the tree writes it.
 * Null for a value that the tree has no control for: it is kept and shown as text.
 */
import type { Leniency } from './brackets.js';
import { isList, isMembers, type Members, type Node, noMembers } from './node.js';

const truthy: ReadonlySet<string> = new Set(['true', 't', '1']);
const falsy: ReadonlySet<string> = new Set(['false', 'f', '0']);

/** The value of a flag; undefined for any other text. Lenient, as v4 is, everything but a few words is true. */
export const readFlag = (text: string, { strict }: Leniency): boolean | undefined => {
  if (!strict) return text !== '' && !falsy.has(text);
  const lower = text.toLowerCase();
  return truthy.has(lower) ? true : falsy.has(lower) ? false : undefined;
};

/** One text, or a list of texts; null for anything else. Elements without a value name nothing. */
const textsOf = (
  node: Node | undefined,
  { nulls }: { readonly nulls: 'skip' | 'refuse' },
): readonly string[] | null => {
  if (typeof node === 'string') return [node];
  if (!isList(node)) return null;
  const texts = node.filter((it) => typeof it === 'string');
  const others = node.filter((it) => typeof it !== 'string');
  return others.every((it) => it === null && nulls === 'skip') ? texts : null;
};

// ---- fields

/** `default`: every field, because none is named or `*` is among the names. */
export type Fields = { readonly kind: 'default' } | { readonly kind: 'chosen'; readonly names: readonly string[] };

export const readFields = (node: Node | undefined): Fields | null => {
  if (node === undefined || node === null) return { kind: 'default' };
  const texts = textsOf(node, { nulls: 'skip' });
  if (!texts) return null;
  const names = [...new Set(texts.map((it) => it.trim()))];
  return names.includes('*') ? { kind: 'default' } : { kind: 'chosen', names };
};

// ---- populate

interface Populated {
  /** Everything else too, each with its defaults. */
  readonly all: boolean;
  readonly members: readonly PopulatedMember[];
}
interface PopulatedMember {
  readonly name: string;
  readonly is: 'on' | 'off' | 'unreadable';
  readonly options: Members;
  /** As it was written. */
  readonly node: Node;
}

const nothing: Populated = { all: false, members: [] };

export const readPopulate = (node: Node | undefined, leniency: Leniency): Populated | null => {
  if (node === undefined || node === null) return nothing;
  if (isMembers(node))
    return { all: false, members: Object.entries(node).map(([name, it]) => readMember(name, it, leniency)) };
  const texts = textsOf(node, { nulls: 'refuse' });
  if (!texts) return null;
  if (typeof node === 'string') {
    const flag = readFlag(node, { strict: true });
    if (node === '' || flag === false) return nothing;
    // v4 reads `true` as the name of an attribute here
    if (flag === true && leniency.strict) return { all: true, members: [] };
  }
  return readNames(texts);
};

const readMember = (name: string, node: Node, leniency: Leniency): PopulatedMember => {
  if (isMembers(node)) return { name, is: 'on', options: node, node };
  const flag = typeof node !== 'string' ? undefined : node === '*' ? true : readFlag(node, leniency);
  return { name, is: flag === undefined ? 'unreadable' : flag ? 'on' : 'off', options: noMembers, node };
};

interface Names extends Map<string, Names> {}

/** `author,seo.socials`: dotted names, several in one text. */
const readNames = (texts: readonly string[]): Populated => {
  const tree: Names = new Map();
  let all = false;
  for (const piece of texts.flatMap((it) => it.split(','))) {
    const dotted = piece.trim();
    if (dotted === '*') all = true;
    else {
      let level = tree;
      for (const name of dotted.split('.')) {
        // `author.*` populates the author and nothing inside
        if (name === '*' && level !== tree) break;
        const next: Names = level.get(name) ?? new Map();
        level.set(name, next);
        level = next;
      }
    }
  }
  const members = Object.entries(membersOfNames(tree)).map(
    ([name, node]): PopulatedMember => ({ name, is: 'on', options: isMembers(node) ? node : noMembers, node }),
  );
  return { all, members };
};

const membersOfNames = (tree: Names): Members =>
  Object.fromEntries(
    [...tree].map(([name, inner]) => [name, inner.size === 0 ? 'true' : { populate: membersOfNames(inner) }]),
  );

/** `names`: what `*` stands for at this place. */
export const writePopulate = ({ all, members }: Populated, names: readonly string[]): Node | undefined => {
  if (members.length === 0) return all ? '*' : undefined;
  const isPlain = (it: PopulatedMember): boolean => it.is === 'on' && Object.keys(it.options).length === 0;
  if (all && members.every(isPlain)) return '*';
  const others = all ? names.filter((name) => !members.some((it) => it.name === name)) : [];
  return Object.fromEntries([
    ...members.map((it): [string, Node] => [it.name, nodeOfMember(it)]),
    ...others.map((name): [string, Node] => [name, 'true']),
  ]);
};

const nodeOfMember = ({ is, options, node }: PopulatedMember): Node => {
  if (is === 'unreadable') return node;
  if (is === 'off') return 'false';
  return Object.keys(options).length > 0 ? options : 'true';
};

// ---- sort

export interface SortKey {
  readonly path: readonly string[];
  readonly direction: 'asc' | 'desc';
}

export const readSort = (node: Node | undefined): readonly SortKey[] | null => {
  if (node === undefined || node === null) return [];
  const keys = writtenKeys(node);
  if (!keys || keys.some((it) => it === null)) return null;
  const distinct = new Map<string, SortKey>();
  for (const key of keys) if (key && !distinct.has(key.path.join('.'))) distinct.set(key.path.join('.'), key);
  return [...distinct.values()];
};

const writtenKeys = (node: Node): readonly (SortKey | null)[] | null => {
  if (typeof node === 'string') return keysOfText(node);
  if (isMembers(node)) return keysOfTree(node, []);
  if (!isList(node)) return null;
  const areTexts = node.every((it) => typeof it === 'string');
  if (!areTexts && !node.every(isMembers)) return null;
  return node.flatMap((it) => writtenKeys(it) ?? [null]);
};

const keysOfText = (text: string): readonly (SortKey | null)[] =>
  text
    .split(',')
    .filter((it) => it.trim() !== '')
    .map((piece) => {
      const [dotted = '', direction = 'asc'] = piece.trim().split(':');
      return sortKey(dotted.split('.'), direction);
    });

const keysOfTree = (members: Members, path: readonly string[]): readonly (SortKey | null)[] =>
  Object.entries(members).flatMap(([name, it]) => {
    if (typeof it === 'string') return [sortKey([...path, name], it)];
    return isMembers(it) ? keysOfTree(it, [...path, name]) : [null];
  });

const sortKey = (path: readonly string[], given: string): SortKey | null => {
  const direction = given.trim().toLowerCase();
  return direction === 'asc' || direction === 'desc' ? { path: path.map((it) => it.trim()), direction } : null;
};

export const writeSort = (keys: readonly SortKey[]): Node | undefined => {
  const texts = keys.map(({ path, direction }) => `${path.join('.')}${direction === 'desc' ? ':desc' : ''}`);
  return texts.length > 0 ? texts : undefined;
};

// ---- pagination, state, locale

const pageNames = ['page', 'pageSize', 'start', 'limit', 'withCount'] as const;
export type PageName = (typeof pageNames)[number];
export type Paging = Partial<Record<PageName, string>>;

/** The texts of its members; null if there is something else in it. */
export const readPaging = (node: Node | undefined): Paging | null => {
  if (node === undefined || node === null) return {};
  if (!isMembers(node)) return null;
  const paging: Partial<Record<PageName, string>> = {};
  for (const [name, value] of Object.entries(node)) {
    const known = pageNames.find((it) => it === name);
    if (!known || (value !== null && typeof value !== 'string')) return null;
    paging[known] = value ?? '';
  }
  return paging;
};

export const writePaging = (paging: Paging): Node | undefined => {
  const given = pageNames.flatMap((name): [string, Node][] => {
    const text = paging[name];
    return text === undefined ? [] : [[name, text]];
  });
  return given.length > 0 ? Object.fromEntries(given) : undefined;
};

export type State = 'live' | 'preview';
/** Undefined if it is not given. */
export const readState = (node: Node | undefined): State | undefined | null =>
  node === undefined || node === 'live' || node === 'preview' ? node : null;

/** The codes that are asked for; undefined for the default locale, null for forms without a control. */
export const readLocale = (node: Node | undefined): readonly string[] | undefined | null =>
  node === undefined ? undefined : textsOf(node, { nulls: 'refuse' });

// ---- options

/** Options of a populated attribute, in the order in which the tree shows them. */
export const nestedOptions = ['fields', 'populate', 'filters', 'sort', 'publicationState', 'on'] as const;
export const rootOptions = [
  'fields',
  'populate',
  'filters',
  'sort',
  'pagination',
  'publicationState',
  'locale',
  '_q',
] as const;
