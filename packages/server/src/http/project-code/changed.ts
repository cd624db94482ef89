/** Queries that code has changed, as the server reads them: no condition of theirs is lost on the way. */
import { issue, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Grammar } from '../../query/brackets.js';
import { namedMemberOf, objectQuery, type QueryObject } from '../../query/objects.js';
import { parameterName } from '../../query/parameters.js';
import type { QuerySource } from '../../query/raw.js';
import type { ChangedQuery } from '../../query/searches.js';
import { withDefiniteConditions, withPlainParameters } from '../../v4code/data/queries.js';
import { isCreatorName } from '../../v4code/data/query-changes.js';
import { isMembers, type Members } from '../../v4code/loading/parts.js';
import { isPlainCondition } from '../../v4code/strapi-utils/dates.js';
import { forCode } from '../../v4code/strapi-utils/errors.js';

/** @param before the query of the request. @param textOf a query string, which few ask for. */
export const newChangedQuery = (query: Members, before: Members, textOf: (query: Members) => string): ChangedQuery =>
  new QueryOfCode(query, before, textOf);

/** A class, because literals with getters keep what these close over for long. */
class QueryOfCode implements ChangedQuery {
  readonly #query: Members;
  readonly #before: Members;
  readonly #textOf: (query: Members) => string;
  constructor(query: Members, before: Members, textOf: (query: Members) => string) {
    this.#query = query;
    this.#before = before;
    this.#textOf = textOf;
  }
  get text(): string {
    return this.#textOf(this.#query);
  }
  get addsCreators(): boolean {
    return addsCreators(this.#query['populate'], this.#before['populate']);
  }
  source(grammar?: Grammar, change: (query: Members) => Members = (it) => it): QuerySource {
    const query = withPlainParameters(this.#query);
    const placed = change(grammar ? placedBy(grammar, query, this.#before) : query);
    return objectQuery(withDefiniteConditions(withoutOthers(placed)) as unknown as QueryObject);
  }
}

/** Whether it populates creators of the entries themselves by name, beside those that the request names. */
const addsCreators = (populate: unknown, before: unknown): boolean => {
  if (!isMembers(populate)) return creatorNamesIn(populate).length > creatorNamesIn(before).length;
  return Object.entries(populate).some(
    ([name, it]) => isCreatorName(name) && it !== undefined && !isSameQuery(it, inside(before, name)),
  );
};

const creatorNamesIn = (populate: unknown): readonly string[] => {
  if (isMembers(populate)) return Object.keys(populate).filter(isCreatorName);
  const paths = [populate].flat().flatMap((it) => (typeof it === 'string' ? it.split(',') : []));
  return paths.filter((it) => isCreatorName(it.trim().split('.')[0]!));
};

/** Without parameters that only the project knows. */
const withoutOthers = (query: Members): Members =>
  Object.fromEntries(
    Object.entries(query).filter(([name, value]) => value !== undefined && parameterName(name).kind !== 'other'),
  );

/**
 * The parameters where an endpoint reads them: `start` inside `pagination`, `username` inside `filters`.
 * @param before the query of the request, which may say the same twice itself.
 */
const placedBy = (grammar: Grammar, query: Members, before: Members): Members => {
  const roots = new Map<string, unknown>();
  const moved: (readonly [root: string, name: string, value: unknown, isOfRequest: boolean])[] = [];
  for (const [given, value] of Object.entries(query)) {
    const isNested = value !== null && typeof value === 'object' && !(value instanceof Date);
    // grammars tell `start=1` from `start[x]=1`
    const [root, name] = grammar.place(isNested ? [given, ''] : [given]) ?? [];
    if (root === undefined) continue;
    if (name === undefined || name === '') roots.set(root, value);
    else {
      const isOfRequest =
        Object.hasOwn(before, given) &&
        isSameQuery(value, before[given]) &&
        isSameQuery(inside(query[root], name), inside(before[root], name));
      moved.push([root, name, value, isOfRequest]);
    }
  }
  for (const [root, name, value, isOfRequest] of moved) {
    const held = roots.get(root) ?? {};
    const own = { [name]: value };
    if (isMembers(held) && !Object.hasOwn(held, name)) roots.set(root, { ...held, ...own });
    // a condition of code holds beside that of the client; what one of them says twice is refused, as in a URL
    else if (root === 'filters' && !isOfRequest) roots.set(root, { $and: [held, own] });
    else throw new Refusal(issue('query.two-places', [root, name]));
  }
  return Object.fromEntries(roots);
};

/**
 * Whether `populate` has a `limit` or `start` that the request has not: the entity service obeys them, and the server itself refuses them
 * (Q15). @param before `populate` of the request.
 */
export const limitsPopulate = (populate: unknown, before: unknown, depth = 0): boolean => {
  if (!isMembers(populate) || depth > limits.codeQueryDepthMax) return false;
  const isLimit = (options: Members, of: unknown): boolean =>
    ['limit', 'start'].some((it) => options[it] !== undefined && !isSameQuery(options[it], memberIn(of, it))) ||
    limitsPopulate(options['populate'], memberIn(of, 'populate'), depth + 1) ||
    Object.entries(isMembers(options['on']) ? options['on'] : {}).some(
      ([uid, it]) => isMembers(it) && isLimit(it, memberIn(memberIn(of, 'on'), uid)),
    );
  return Object.entries(populate).some(([name, it]) => isMembers(it) && isLimit(it, memberIn(before, name)));
};

const memberIn = (held: unknown, name: string): unknown => (isMembers(held) ? held[name] : undefined);

/** What an object has under a name; anything else is what it is. */
const inside = (held: unknown, name: string): unknown => (isMembers(held) ? held[name] : held);

/**
 * What code assigns to `ctx.query` as v4 has it then, which writes a query string of it and reads that: null is an empty text, a list
 * with members that have names (of a list and an object lodash makes one) is an object with all of them, and `fields` of none are all. An
 * empty list elsewhere, which is lost there, may be a condition. The very same where nothing differs.
 */
export const asAssigned = (query: Members): Members => {
  const written = isMembers(query) ? asWritten(query, []) : query;
  if (!isMembers(written)) return query;
  const { fields, ...rest } = written;
  return Array.isArray(fields) && fields.length === 0 ? rest : written;
};

/** @param path where the value is; it may be of a body, which nests deeper than a query may. */
const asWritten = (value: unknown, path: readonly string[]): unknown => {
  if (value === null) return '';
  if (!Array.isArray(value) && !isPlainCondition(value)) return value;
  if (path.length > limits.codeQueryDepthMax)
    throw forCode(new Refusal(issue('query.too-deep', path.slice(0, 1), { max: limits.codeQueryDepthMax })));
  const members = Object.entries(value);
  const written = members.map(([name, it]) => [name, asWritten(it, [...path, name])] as const);
  const isNamed = Array.isArray(value) && namedMemberOf(value) !== null;
  if (!isNamed && written.every(([, it], i) => it === members[i]![1])) return value;
  return Array.isArray(value) && !isNamed ? written.map(([, it]) => it) : Object.fromEntries(written);
};

/** Whether two values say the same. The order of members counts, and `{ a: undefined }` is not `{}`. */
export const isSameQuery = (one: unknown, other: unknown): boolean => {
  if (one === null || typeof one !== 'object' || other === null || typeof other !== 'object')
    return Object.is(one, other);
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
  const names = Reflect.ownKeys(one);
  const others = Reflect.ownKeys(other);
  return (
    names.length === others.length &&
    names.every((name, i) => name === others[i] && isSameQuery(memberOf(one, name), memberOf(other, name)))
  );
};

const memberOf = (holder: object, name: string | symbol): unknown =>
  (holder as Readonly<Record<string | symbol, unknown>>)[name];

/** The lists and objects that a query was made of, each with the members that it had. */
export type Parts = ReadonlyMap<object, Members>;

/** @param query one that was just made. */
export const partsOf = (query: unknown): Parts => {
  const parts = new Map<object, Members>();
  const left = [query];
  while (left.length > 0) {
    const it = left.pop();
    if (typeof it !== 'object' || it === null || parts.has(it)) continue;
    parts.set(it, { ...it });
    left.push(...(Object.values(it) as readonly unknown[]));
  }
  return parts;
};

/** Whether what a part has by a name is what it was made of: what code has put in may be equal to it, for a client guesses. */
export const isAsMade = (parts: Parts, holder: object, name: string): boolean => {
  const made = parts.get(holder);
  const value = memberOf(holder, name);
  if (!made || !Object.hasOwn(made, name) || !Object.is(made[name], value)) return false;
  if (typeof value !== 'object' || value === null) return true;
  const names = Object.keys(value);
  return names.length === Object.keys(parts.get(value) ?? {}).length && names.every((it) => isAsMade(parts, value, it));
};
