/** What is left of a query when its caller may not ask for all of it. */
import cloneDeep from 'lodash/cloneDeep.js';
import isEqual from 'lodash/isEqual.js';
import mapValues from 'lodash/mapValues.js';
import once from 'lodash/once.js';
import { type Caller, newGate, serverGate } from '../../access/access.js';
import { type Issue, type IssueCode, Refusal } from '../../errors.js';
import type { EntryType, Model } from '../../model/model.js';
import type { LeftOut } from '../../query/lenient.js';
import { objectQuery, type QueryObject } from '../../query/objects.js';
import type { ResolveContext } from '../../query/resolve.js';
import type { Gate, ReadAction } from '../../query/selection.js';
import type { Reader } from '../../read/find.js';
import { isEverything, withPlainParameters } from '../data/queries.js';
import { type Populating, withPermittedPopulate } from '../data/query-changes.js';
import { isMembers, type Members } from '../loading/parts.js';
import type { Native } from '../native.js';
import { isPlainCondition } from '../strapi-utils/dates.js';

/** Null stands for a query of which nobody's rights are asked: everything but private attributes is allowed. */
export const gateOf = (caller: Caller | null, model: Model): Gate => (caller ? newGate(caller, model) : serverGate);

/** What `sanitizeQuery` of a controller and `sanitize.contentAPI.query` leave of a query. */
export const sanitizeQuery = (
  query: Members,
  type: EntryType,
  {
    native,
    caller,
    ...populating
  }: Populating & { readonly native: Pick<Native, 'allowedQuery'>; readonly caller: Caller | null },
): Members => withPermittedPopulate(native.allowedQuery(query, type, caller), type, populating);

/** What v4 looks into; any other parameter stays as it is, be it the project's own. */
const looked: readonly string[] = ['filters', 'sort', 'fields', 'populate'];

/** The parameters of a query that v4 looks into. */
export const lookedAt = (query: Members): Members =>
  Object.fromEntries(Object.entries(query).filter(([name, it]) => looked.includes(name) && it !== undefined));

/**
 * A query without what v4 takes out of it: names that the caller may not use or that do not exist, and what is ignored. All else that is
 * refused is a refusal, because a bound or a value may concern what code has put in as well as what a client has. So is a condition of
 * code, or an option of `populate` that means something to code: without it more is found, and a client can send the same.
 * @param isClients whether a member of a list or object in the query is what the client has sent, and not put in by code.
 * @param before the query of the request, which code may have changed; the query itself by default.
 */
export const allowedQuery = (
  query: Members,
  type: EntryType,
  {
    reader,
    context,
    action = type.kind === 'single' ? 'single' : 'find',
    isClients,
    before = () => query,
    noteLeftOut = () => undefined,
  }: {
    readonly reader: Reader;
    readonly context: ResolveContext;
    readonly action?: ReadAction;
    readonly isClients: (holder: object, name: string) => boolean;
    readonly before?: () => Members;
    /** Called with all that has no effect, if anything has none. */
    readonly noteLeftOut?: (leftOut: readonly LeftOut[]) => void;
  },
): Members => {
  const parameters = (areLooked: boolean): Members =>
    Object.fromEntries(Object.entries(query).filter(([name]) => looked.includes(name) === areLooked));
  const allowed = cloneDeep(readable(withPlainParameters(parameters(true))));
  const origins = originsOf(allowed, query);
  /** Of a list all counts: what is removed from it changes the places of the rest. */
  const isOfClient = (path: readonly string[]): boolean => {
    const at = path.findLastIndex((it) => !isIndex(it));
    const holder = memberAt(allowed, path.slice(0, at));
    const origin = isHolder(holder) ? origins.get(holder) : undefined;
    return origin !== undefined && isClients(origin, path[at]!);
  };
  const goes = (it: Issue, isIgnored: boolean): boolean => {
    // only where nothing is refused that v4 ignores, the conditions of a client are dropped
    const dropsConditions = isIgnored || !context.strict;
    const part = memberAt(allowed, it.path);
    const fate = fateOf(it, part, { dropsConditions, isIgnored, isOfClient: isOfClient(it.path), before });
    if (fate === 'refused') throw new Refusal(it);
    return fate === 'removed';
  };
  const leftOut = new Map<string, LeftOut>();
  for (;;) {
    const request = { action, type, id: null, query: objectQuery(allowed as QueryObject) };
    const checked = reader.check(request, { ...context, notesAll: true });
    const issues = checked.ok ? checked.value.map((it) => it.issue) : checked.issues;
    const others = checked.ok ? [] : issues.filter((it) => !names.has(it.code));
    if (others.length > 0) throw new Refusal(...others);
    if (checked.ok) for (const it of checked.value) leftOut.set(it.name, it);
    const removed = lastFirst(issues).filter((it) =>
      checked.ok
        ? isUnderstood(allowed, it, type) && goes(it, true) && removeIgnored(allowed, it)
        : goes(it, false) && removePart(allowed, it.path),
    );
    if (!checked.ok)
      for (const it of removed.toReversed()) leftOut.set(it.path.join('.'), { name: it.path.join('.'), issue: it });
    if (removed.length > 0) continue;
    // a number of entries that code alone has set stays: the entity service knows it
    if (checked.ok || issues.every((it) => it.code === 'query.populate-with-pagination')) {
      if (leftOut.size > 0) noteLeftOut([...leftOut.values()]);
      return { ...parameters(false), ...allowed };
    }
    throw new Refusal(...issues);
  }
};

/** What the lists and objects of a copy stand for. Where a copy has left something out of a list, nobody can say by the place. */
const originsOf = (copy: unknown, given: unknown): ReadonlyMap<object, object> => {
  const origins = new Map<object, object>();
  const note = (one: unknown, other: unknown): void => {
    if (!isHolder(one) || !isHolder(other) || Array.isArray(one) !== Array.isArray(other)) return;
    if (Array.isArray(one) && one.length !== (other as unknown as readonly unknown[]).length) return;
    origins.set(one, other);
    for (const name of Object.keys(one)) note(one[name], other[name]);
  };
  note(copy, given);
  return origins;
};

/**
 * Options in forms that v4 knows and the read line does not: none in place of empty ones, texts for the objects among other texts in
 * `sort`, and no indexes among the names of `populate`, which are of a list or a text that code has spread.
 */
const readable = (options: Members): Members =>
  mapValues(
    without(options, (it, name) => name === 'filters' && isBlank(it)),
    (it, name) => {
      if (name === 'filters' && isPlainCondition(it)) return readableFilters(it);
      if (name === 'sort' && Array.isArray(it) && it.some((one) => typeof one === 'string'))
        return it.flatMap(sortTexts);
      return name === 'populate' && isMembers(it) ? readablePopulate(it) : it;
    },
  );

/** Code that adds conditions to `filters=` or `filters[]=` puts what is empty into a group, or spreads it. */
const readableFilters = (filters: Members): Members =>
  mapValues(
    without(filters, (it, name) => isIndex(name) && isBlank(it)),
    (it, name) => (name === '$and' && Array.isArray(it) ? it.filter((one) => !isBlank(one)).map(inGroup) : it),
  );

const inGroup = (it: unknown): unknown => (isPlainCondition(it) ? readableFilters(it) : it);

const readablePopulate = (populate: Members): Members =>
  mapValues(
    without(populate, (it, name) => it === '' || isIndex(name)),
    (it) => {
      if (!isMembers(it)) return it;
      const options = readable(it);
      const { on } = options;
      if (!isMembers(on)) return options;
      return { ...options, on: mapValues(on, (inner) => (isMembers(inner) ? readable(inner) : inner)) };
    },
  );

const without = (members: Members, isLeftOut: (it: unknown, name: string) => boolean): Members =>
  Object.fromEntries(Object.entries(members).filter(([name, it]) => !isLeftOut(it, name)));

/** `filters=`, `filters[]=`. */
const isBlank = (value: unknown): boolean =>
  value === '' || (Array.isArray(value) && value.length > 0 && value.every((it) => it === '' || it === null));

/** `{ author: { name: 'desc' } }` is `author.name:desc`. What is no sort stays, and is refused. */
const sortTexts = (sort: unknown): readonly unknown[] => {
  const inside = (given: unknown, names: readonly string[]): readonly unknown[] => {
    if (isMembers(given)) return Object.entries(given).flatMap(([name, it]) => inside(it, [...names, name]));
    return [typeof given === 'string' ? `${names.join('.')}:${given}` : sort];
  };
  return isMembers(sort) ? inside(sort, []) : [sort];
};

/** Faults of a name, which v4 takes out with all that is below it. */
const names: ReadonlySet<IssueCode> = new Set<IssueCode>([
  'query.unknown-name',
  'query.hidden',
  'query.not-filterable',
  'query.not-selectable',
  'query.not-populatable',
  'query.not-sortable',
  'query.sort-needs-attribute',
  'query.unknown-operator',
  'query.unknown-component',
  'query.unknown-target',
  'query.unknown-option',
  'query.option-without-type',
  'query.populate-with-pagination',
  'query.fragments-outside-zone',
]);

/** Options of what is populated that v4's database layer and entity service know, and the read line does not. */
const optionsOfCode: ReadonlySet<string> = new Set([
  'where',
  'select',
  'orderBy',
  'offset',
  'limit',
  'start',
  'count',
  'ordering',
  '_q',
  'publicationState',
  'locale',
]);

interface Fate {
  /** Those of a client. */
  readonly dropsConditions: boolean;
  /** By the server, which answers all the same. */
  readonly isIgnored: boolean;
  /** And nothing that code has put in. */
  readonly isOfClient: boolean;
  readonly before: () => Members;
}

/**
 * What becomes of a part of which a name is refused or ignored. Elsewhere than in a condition a name goes by itself, whoever has given it,
 * because less is shown without it; several names in one text and whole options go if the client has sent the same.
 */
const fateOf = (
  { code, path }: Issue,
  part: unknown,
  { dropsConditions, isIgnored, isOfClient, before }: Fate,
): 'removed' | 'kept' | 'refused' => {
  const isCondition = conditionsAt(path) !== -1;
  if (part === undefined) return isCondition && !dropsConditions && !isIgnored ? 'refused' : 'kept';
  if (isCondition) return dropsConditions && isOfClient ? 'removed' : 'refused';
  if (!isOfClient && code === 'query.populate-with-pagination') return 'kept';
  if (!isOfClient && code === 'query.unknown-option' && optionsOfCode.has(path.at(-1)!)) return 'refused';
  if (isOfClient || valuesAsked(before(), path).some((it) => isEqual(it, part))) return 'removed';
  const isOption = understood.has(code) || (path.length === optionAt(path) + 1 && path.at(-1) !== 'populate');
  const isSeveral = typeof part === 'string' && part.includes(',');
  return isOption || isSeveral ? 'refused' : 'removed';
};

/** What the request has where the part is. Code may have made a list of it, or have put items of its own in front. */
const valuesAsked = (before: Members, path: readonly string[]): readonly unknown[] => {
  const value = memberAt(before, isIndex(path.at(-1)!) ? path.slice(0, -1) : path);
  return value === undefined ? [] : [value].flat();
};

const isIndex = (name: string): boolean => /^\d+$/.test(name);

// a start does without: to make the first one takes several milliseconds
const inOrder = once(() => new Intl.Collator('en', { numeric: true }));

/** What is removed from a list changes the places of those behind it. */
const lastFirst = (issues: readonly Issue[]): readonly Issue[] =>
  issues.toSorted((a, b) => inOrder().compare(b.path.join(' '), a.path.join(' ')));

/**
 * Whether code would understand what is ignored: `where` in `populate` is a condition of its own to it, and below a polymorphic
 * relation it would find the attributes of types that the caller may not. Names that the type itself has not are ignored there, too.
 * What populates nothing of the entries themselves stays: it may be a word of the project's own (`populate=deep`).
 */
const isUnderstood = (query: Members, { code, path, facts }: Issue, type: EntryType): boolean => {
  const start = conditionsAt(path);
  if (start !== -1 && start < path.length - 1) return true;
  if (understood.has(code)) return true;
  if (code !== 'query.unknown-name') return false;
  const text = memberAt(query, path);
  const isText = 'name' in facts && text === facts.name && !isOwnWord(text, path, type);
  return isText || path.indexOf('populate') !== path.lastIndexOf('populate');
};

/** @returns whether there was anything. */
const removeIgnored = (query: Members, { code, path }: Issue): boolean => {
  const start = conditionsAt(path);
  // with what is empty without it: a group of nothing is a condition to code
  if (start !== -1 && start < path.length - 1)
    return removeAt(memberAt(query, path.slice(0, start)), path.slice(start));
  const holder = memberAt(query, path.slice(0, -1));
  // `on` with a text chooses no type
  return code === 'query.expected-object' ? replace(holder, path.at(-1)!, {}) : remove(holder, path.at(-1)!);
};

/** Where a path has `filters`, which what is populated may be called, too; -1 if it leads to no condition. */
const conditionsAt = (path: readonly string[]): number =>
  path.findLastIndex((it, i) => it === 'filters' && path[i - 1] !== 'populate');

/** Of the project, which populates nothing by itself. */
const isOwnWord = (text: unknown, path: readonly string[], { attributes }: EntryType): boolean =>
  path[0] === 'populate' && path.length <= 2 && !attributes.has(String(text)) && !isEverything(text);

const understood: ReadonlySet<IssueCode> = new Set<IssueCode>([
  'query.unknown-option',
  'query.populate-with-pagination',
  'query.fragments-outside-zone',
  'query.expected-text',
  'query.expected-object',
]);

/** @returns whether anything else was there. */
const replace = (holder: unknown, name: string, value: object): boolean => {
  if (!isHolder(holder) || !Object.hasOwn(holder, name) || isEqual(holder[name], value)) return false;
  return Reflect.set(holder, name, value);
};

/** An object or a list. */
const isHolder = (value: unknown): value is Members => typeof value === 'object' && value !== null;

const memberAt = (from: unknown, path: readonly string[]): unknown =>
  path.reduce((it, name) => (isHolder(it) && Object.hasOwn(it, name) ? it[name] : undefined), from);

/**
 * Removes what stands at the path, and what is empty without it. The option that it belongs to stays, as in v4: `fields` of
 * nothing is the id alone, and a relation is populated without the rest of its conditions. @returns whether there was anything.
 */
const removePart = (query: Members, path: readonly string[]): boolean => {
  const at = optionAt(path);
  const kept = path[at] === 'populate' || path.length === at + 1 ? at : at + 1;
  return removeAt(memberAt(query, path.slice(0, kept)), path.slice(kept));
};

/** Where a path has the name of its last option: `fields` of `populate[author][fields][0]`, not the names of what is populated. */
const optionAt = (path: readonly string[], from = 0): number => {
  if (path[from] !== 'populate' || path.length <= from + 2) return from;
  const next = from + 2;
  return optionAt(path, path[next] === 'on' && path.length > next + 2 ? next + 2 : next);
};

/** Removes the member at the path, and what is empty without it. @returns whether there was one. */
const removeAt = (from: unknown, [name, ...rest]: readonly string[]): boolean => {
  if (!isHolder(from) || name === undefined || !Object.hasOwn(from, name)) return false;
  const inner = from[name];
  if (rest.length > 0) {
    if (!removeAt(inner, rest)) return false;
    if (Object.keys(inner as object).length > 0) return true;
  }
  return remove(from, name);
};

const remove = (from: unknown, name: string): boolean => {
  if (!isHolder(from) || !Object.hasOwn(from, name)) return false;
  if (Array.isArray(from)) from.splice(Number(name), 1);
  else Reflect.deleteProperty(from, name);
  return true;
};
