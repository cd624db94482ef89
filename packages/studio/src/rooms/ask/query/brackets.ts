/**
 * The query string, `fields[0]=title&populate[author]=true`, to members and back. The grammar is the server's; a test compares
 * the two on random requests.
 */
import { isList, isMembers, type Members, type Node, type Path, withMember } from './node.js';

/** Where a text cannot be read, as offsets in it. */
export interface TextFault {
  readonly from: number;
  readonly to: number;
  readonly code:
    | 'malformed-key'
    | 'mixed-forms'
    | 'no-address'
    | 'unknown-path'
    | 'not-an-id'
    | 'singular'
    | 'relation-list'
    | 'no-query'
    | 'not-data'
    | 'syntax';
  /** What the words name: a key, a path. */
  readonly name: string;
}

export type Read<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly faults: readonly TextFault[] };

/** One `key=value` of a query string, with its place in the text. */
interface Pair {
  /** The key's parts; a malformed key is one of them. */
  readonly segments: Path;
  /** Null for a key without `=`. */
  readonly value: string | null;
  readonly from: number;
  readonly to: number;
  readonly isMalformed: boolean;
}

export interface Leniency {
  /** Whether the server refuses what v4 ignores or reads in several ways. */
  readonly strict: boolean;
}

const readableKey = /^[^[\]]*(?:\[[^[\]]*\])*$/;
const parameterWithRest = /^\[?(fields|populate|filters|sort|pagination|publicationState|locale|_q)(?![A-Za-z0-9_$-])/;

/** @param search without `?`. */
export const pairsOf = (search: string): readonly Pair[] => {
  const pairs: Pair[] = [];
  let from = 0;
  for (const text of search.split('&')) {
    const to = from + text.length;
    if (text !== '') pairs.push({ ...readPair(text), from, to });
    from = to + 1;
  }
  return pairs;
};

const readPair = (text: string): Pick<Pair, 'segments' | 'value' | 'isMalformed'> => {
  const readable = text.replace(/%5B/gi, '[').replace(/%5D/gi, ']');
  const afterBracket = readable.indexOf(']=');
  const equals = afterBracket === -1 ? readable.indexOf('=') : afterBracket + 1;
  const key = decode(equals === -1 ? readable : readable.slice(0, equals));
  const value = equals === -1 ? null : decode(readable.slice(equals + 1));
  const open = key.indexOf('[');
  const isWhole = open < 1 || !readableKey.test(key);
  const segments = isWhole ? [key] : [key.slice(0, open), ...key.slice(open + 1, -1).split('][')];
  return { segments, value, isMalformed: isWhole && parameterWithRest.test(key) && key !== key.match(/^\w+/)?.[0] };
};

/** Broken percent escapes stay as they are. */
const decode = (text: string): string => {
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
};

interface Growing {
  readonly values: (string | null)[];
  readonly members: Map<string, Growing>;
  readonly appended: Growing[];
  /** The pairs that lead here. */
  readonly pairs: Pair[];
}
const newGrowing = (): Growing => ({ values: [], members: new Map(), appended: [], pairs: [] });

/** The parameters of a query string. Faults are places that the server would refuse to read. */
export const readSearch = (search: string, leniency: Leniency): Read<Members> => {
  const root = newGrowing();
  const faults: TextFault[] = [];
  for (const pair of pairsOf(search)) {
    if (pair.isMalformed && leniency.strict)
      faults.push({ from: pair.from, to: pair.to, code: 'malformed-key', name: pair.segments[0] ?? '' });
    let here = root;
    for (const [i, segment] of pair.segments.entries()) {
      here = segment === '' && i > 0 ? appendedTo(here) : memberAt(here, segment);
      here.pairs.push(pair);
    }
    here.values.push(pair.value);
  }
  const members = membersOf(root.members, [], leniency, faults);
  return faults.length > 0 ? { ok: false, faults } : { ok: true, value: members };
};

const appendedTo = (node: Growing): Growing => {
  const next = newGrowing();
  node.appended.push(next);
  return next;
};

const memberAt = ({ members }: Growing, name: string): Growing => {
  const child = members.get(name) ?? newGrowing();
  members.set(name, child);
  return child;
};

const membersOf = (
  members: ReadonlyMap<string, Growing>,
  path: Path,
  leniency: Leniency,
  faults: TextFault[],
): Members =>
  Object.fromEntries([...members].map(([name, child]) => [name, nodeOf(child, [...path, name], leniency, faults)]));

/** Repeated keys and keys of digits are lists, in the order of their indexes. */
const nodeOf = (growing: Growing, path: Path, leniency: Leniency, faults: TextFault[]): Node => {
  const { values, members, appended, pairs } = growing;
  const names = [...members.keys()];
  const areIndexes = names.every((it) => /^\d+$/.test(it));
  const listed = (): Node[] =>
    [...names.sort((a, b) => Number(a) - Number(b)).map((it) => members.get(it) as Growing), ...appended].map((it, i) =>
      nodeOf(it, [...path, `${i}`], leniency, faults),
    );
  const hasMembers = names.length > 0 || appended.length > 0;
  if (values.length > 0 && !hasMembers) return values.length > 1 ? values : (values[0] ?? null);
  if (values.length === 0 && areIndexes) return listed();
  if (values.length === 0 && appended.length === 0) return membersOf(members, path, leniency, faults);
  if (!leniency.strict) {
    const read = readMixed(growing, path, areIndexes, listed, leniency, faults);
    if (read !== undefined) return read;
  }
  const last = pairs.at(-1);
  faults.push({ from: last?.from ?? 0, to: last?.to ?? 0, code: 'mixed-forms', name: path.join('.') });
  return null;
};

/** What the lenient server makes of a value beside members: one list, or another populated name. */
const readMixed = (
  { values, members, appended }: Growing,
  path: Path,
  areIndexes: boolean,
  listed: () => readonly Node[],
  leniency: Leniency,
  faults: TextFault[],
): Node | undefined => {
  if (areIndexes) return [...values, ...listed()];
  const given = values.filter((it) => it !== null && it !== '');
  const named = membersOf(members, path, leniency, faults);
  if (path.at(-1) === 'populate') {
    const names = given.length === 1 ? given : given.map((_, i) => `${i}`);
    const merged = names.reduce<Members>((all, name) => withMember(all, name ?? '', 'true'), named);
    return appended.reduce<Members>(
      (all, it, i) => withMember(all, `${names.length + i}`, nodeOf(it, [...path, `${i}`], leniency, faults)),
      merged,
    );
  }
  // a true flag adds nothing to the options beside it
  const isFlag =
    appended.length === 0 &&
    given.length === values.length &&
    given.every((it) => it !== null && !/^(false|f|0)$/.test(it));
  return path.at(-2) === 'populate' && isFlag ? named : undefined;
};

/** The query string, without `?`, readable where a URL allows it. */
export const writeSearch = (query: Members): string =>
  Object.entries(query)
    .flatMap(([name, node]) => writePairs(encode(name), node))
    .join('&');

const writePairs = (key: string, node: Node): readonly string[] => {
  if (node === null) return [key];
  if (typeof node === 'string') return [`${key}=${encode(node)}`];
  if (isList(node)) return node.flatMap((it, i) => writePairs(`${key}[${i}]`, it));
  return isMembers(node) ? Object.entries(node).flatMap(([name, it]) => writePairs(`${key}[${encode(name)}]`, it)) : [];
};

const kept: Readonly<Record<string, string>> = { '%24': '$', '%2C': ',', '%3A': ':', '%2F': '/', '%40': '@' };
const encode = (text: string): string =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
    .replaceAll("'", '%27')
    .replace(/%(?:24|2C|3A|2F|40)/g, (it) => kept[it] ?? it);
