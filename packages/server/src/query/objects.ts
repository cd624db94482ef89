/**
 * Queries as objects, for code: `{ filters: { author: { id: 5 } }, populate: { author: true } }` is the query string
 * `filters[author][id]=5&populate[author]=true`. Values need no escaping, so none can be mistaken for syntax.
 */
import { hintAt, type Issue, issue, ok, type Result, refused } from '../errors.js';
import { limits } from '../limits.js';
import { parameterName, parameters } from './parameters.js';
import {
  inIndexOrder,
  newKeyAfter,
  type QuerySource,
  type RawNode,
  type RawQuery,
  scalarShape,
  shapeOf,
} from './raw.js';

/** Numbers, booleans and dates stand for their texts in a query string; null is a key without a value. */
export type QueryValue = string | number | bigint | boolean | Date | null;

/** Conditions by attribute or operator: `{ title: { $contains: 'x' }, $or: [{ kind: 'news' }, { author: { id: 5 } }] }`. */
export interface FilterObject {
  readonly [name: string]: QueryValue | readonly QueryValue[] | FilterObject | readonly FilterObject[] | undefined;
}

/** `'title:desc'`, `['kind', 'author.name']`, `{ author: { name: 'desc' } }`. */
export type SortObject = string | readonly string[] | SortTree | readonly SortTree[];
export interface SortTree {
  readonly [name: string]: 'asc' | 'desc' | SortTree | undefined;
}

/** `'*'`, `'author,seo'`, `['author', 'seo']`, `{ author: true, seo: { fields: ['title'] } }`. */
export type PopulateObject = string | readonly string[] | PopulateTree;
export interface PopulateTree {
  readonly [name: string]: boolean | '*' | PopulateOptions | undefined;
}

export interface PopulateOptions {
  readonly fields?: string | readonly string[];
  readonly populate?: PopulateObject;
  readonly filters?: FilterObject;
  readonly sort?: SortObject;
  /** Components of a dynamic zone, by uid. */
  readonly on?: PopulateTree;
  readonly publicationState?: 'live' | 'preview';
}

export interface QueryObject {
  readonly fields?: string | readonly string[];
  readonly populate?: PopulateObject;
  readonly filters?: FilterObject;
  readonly sort?: SortObject;
  readonly pagination?: {
    readonly page?: number | string;
    readonly pageSize?: number | string;
    readonly start?: number | string;
    readonly limit?: number | string;
    readonly withCount?: boolean | string;
  };
  readonly publicationState?: 'live' | 'preview';
  readonly locale?: string | readonly string[];
  readonly _q?: string | number;
}

/** A snapshot of the query; later changes of the object have no effect. Throws `TypeError` for anything but a plain data object. */
export const objectQuery = (query: QueryObject): QuerySource => {
  if (query === null || typeof query !== 'object' || Array.isArray(query))
    throw new TypeError(`a query is an object such as { filters: { title: 'x' } }, not ${JSON.stringify(query)}`);
  const text = textOf(query);
  const key = text ?? '{';
  return {
    key,
    keyAfter: newKeyAfter(key),
    read: () => (text === null ? tooDeep() : readObject(JSON.parse(text) as Readonly<Record<string, unknown>>)),
  };
};

const tooDeep = (path: readonly string[] = []): Result<never> =>
  refused(issue('query.too-deep', path, { max: limits.queryDepthMax }));

/** The query as JSON; null if it is nested too deep for the stack. */
const textOf = (query: QueryObject): string | null => {
  try {
    return JSON.stringify(query, (name, value: unknown) => {
      if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value))) return String(value);
      if (typeof value === 'function' || typeof value === 'symbol')
        throw new TypeError(`a query holds data only, and "${name}" is a ${typeof value}`);
      const named = Array.isArray(value) ? namedMemberOf(value) : null;
      if (named !== null)
        throw new TypeError(`a query holds data only, and the list "${name}" has a member "${named}"`);
      return value;
    });
  } catch (fault) {
    if (fault instanceof RangeError) return null;
    throw fault;
  }
};

/** A member of a list that is none of its items, such as the condition that lodash merges into a list; null if there is none. */
export const namedMemberOf = (list: readonly unknown[]): string | null => {
  // indexes come first
  const last = Object.keys(list).at(-1);
  return last === undefined || (/^(?:0|[1-9]\d*)$/.test(last) && Number(last) < list.length) ? null : last;
};

/** A node that is being filled. */
type Growing = { readonly given: unknown; readonly path: readonly string[]; place(node: RawNode): void };

/** Without recursion: a handler may pass on client input. */
const readObject = (query: Readonly<Record<string, unknown>>): Result<RawQuery> => {
  const roots = new Map<string, RawNode>();
  const issues: Issue[] = [];
  const work: Growing[] = [];
  for (const [name, given] of Object.entries(query)) {
    // unlike a URL, a query object has no parameters for others: an unknown one is a mistake
    if (parameterName(name).kind === 'other')
      issues.push(issue('query.unknown-parameter', [name], { name, ...hintAt(name, parameters) }));
    else work.push({ given, path: [name], place: (node) => void roots.set(name, node) });
  }
  let values = 0;
  for (let it = work.pop(); it; it = work.pop()) {
    const { given, path, place } = it;
    values += 1;
    if (values > limits.queryValuesMax)
      return refused(issue('query.too-many-values', path.slice(0, 1), { max: limits.queryValuesMax }));
    if (path.length > limits.queryDepthMax) return tooDeep(path.slice(0, 1));
    if (path.at(-1)?.includes('\0') || (typeof given === 'string' && given.includes('\0')))
      issues.push(issue('query.nul-character', path));
    if (given === null || typeof given !== 'object') {
      place(scalarShape(given === null ? null : String(given)));
      continue;
    }
    const members = new Map<string, unknown>(Object.entries(given));
    const listed: readonly unknown[] | null = Array.isArray(given)
      ? (given as unknown[])
      : members.size > 0
        ? inIndexOrder(members)
        : null;
    if (listed) {
      const items: RawNode[] = [];
      place({ kind: 'list', items });
      for (const [i, item] of listed.entries())
        work.push({
          given: item,
          path: [...path, String(i)],
          place: (node) => {
            items[i] = node;
          },
        });
    } else {
      const tree = new Map<string, RawNode>();
      place({ kind: 'tree', members: tree });
      // reversed, because the last task runs first
      for (const [name, member] of [...members].reverse())
        work.push({ given: member, path: [...path, name], place: (node) => void tree.set(name, node) });
    }
  }
  return issues.length > 0 ? { ok: false, issues } : ok(roots);
};

/** A query string as a query object, which can be modified and run again. */
export const toObject = (query: RawQuery): Result<QueryObject> => {
  const root: Record<string, unknown> = {};
  const work = [...query].map(([name, node]) => ({
    node,
    path: [name],
    into: root as Target,
    name: name as string | number,
  }));
  for (let it = work.pop(); it; it = work.pop()) {
    const { node, path, into, name } = it;
    const shape = shapeOf(node);
    switch (shape.kind) {
      case 'mixed':
        return refused(issue('query.mixed-forms', path));
      case 'null':
      case 'text':
        into[name] = shape.kind === 'null' ? null : shape.text;
        break;
      case 'list': {
        const items: unknown[] = new Array(shape.items.length).fill(null);
        into[name] = items;
        for (const [i, item] of shape.items.entries())
          work.push({ node: item, path: [...path, String(i)], into: items as unknown as Target, name: i });
        break;
      }
      case 'tree': {
        const members = Object.create(null) as Record<string, unknown>;
        into[name] = members;
        for (const [key, member] of [...shape.members].reverse())
          work.push({ node: member, path: [...path, key], into: members, name: key });
      }
    }
  }
  return ok(root as QueryObject);
};

type Target = Record<string | number, unknown>;

/** Everything by default. */
export const noQuery: QuerySource = objectQuery({});
