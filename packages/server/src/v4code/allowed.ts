/** What is left of a query when its caller may not ask for all of it. */
import { Refusal } from '../errors.js';
import type { EntryType } from '../model/model.js';
import { objectQuery, type QueryObject } from '../query/objects.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Reader } from '../read/find.js';
import type { Members } from './parts.js';

/** What v4 looks into; any other parameter stays as it is, be it the project's own. */
const looked: readonly string[] = ['filters', 'sort', 'fields', 'populate'];

/** The parameters of a query that v4 looks into. */
export const lookedAt = (query: Members): Members =>
  Object.fromEntries(Object.entries(query).filter(([name, it]) => looked.includes(name) && it !== undefined));

/** A query without the parts that are refused: each is taken out where its issue says, or else its whole parameter. */
export const allowedQuery = (
  query: Members,
  type: EntryType,
  { reader, context }: { readonly reader: Reader; readonly context: ResolveContext },
): Members => {
  const action = type.kind === 'single' ? 'single' : 'find';
  const parameters = (areLooked: boolean): Members =>
    Object.fromEntries(Object.entries(query).filter(([name]) => looked.includes(name) === areLooked));
  const allowed = structuredClone(parameters(true));
  for (;;) {
    const checked = reader.check({ action, type, id: null, query: objectQuery(allowed as QueryObject) }, context);
    const [first] = checked.ok ? [] : checked.issues;
    if (!first) return { ...parameters(false), ...allowed };
    const { path } = first;
    if (!removeAt(allowed, path) && !removeAt(allowed, path.slice(0, 1))) throw new Refusal(first);
  }
};

/** Removes the member at the path, and what is empty without it. @returns whether there was one. */
const removeAt = (from: unknown, [name, ...rest]: readonly string[]): boolean => {
  if (from === null || typeof from !== 'object' || name === undefined || !Object.hasOwn(from, name)) return false;
  const members = from as Record<string, unknown>;
  const inner = members[name];
  if (rest.length > 0) {
    if (!removeAt(inner, rest)) return false;
    if (Object.keys(inner as object).length > 0) return true;
  }
  if (Array.isArray(from)) from.splice(Number(name), 1);
  else delete members[name];
  return true;
};
