/** What a client has sent, inside of what code asks. */
import isPlainObject from 'lodash/isPlainObject.js';
import { requestContext } from './scope.js';

/**
 * Whether the client has chosen an operator: all that code has given with its name are objects of the request's own query or body. A list
 * without a name is `$in`.
 */
export const isOperatorSent = (operator: string, given: unknown): boolean => {
  const { query, request } = (requestContext() ?? {}) as Partial<RequestOfClient>;
  const sent = objectsIn([query, request?.body]);
  const inside = [...objectsIn(given)];
  const named = inside.filter((it) => Object.hasOwn(it, operator));
  if (named.length > 0) return named.every((it) => sent.has(it));
  return operator === '$in' && inside.some((it) => Array.isArray(it) && sent.has(it));
};

interface RequestOfClient {
  readonly query: unknown;
  readonly request: { readonly body?: unknown };
}

/** Lists and plain objects, at any depth. */
const objectsIn = (given: unknown): ReadonlySet<object> => {
  const found = new Set<object>();
  const left = [given];
  while (left.length > 0) {
    const it = left.pop();
    if (!isListOrPlain(it) || found.has(it)) continue;
    found.add(it);
    left.push(...(Object.values(it) as readonly unknown[]));
  }
  return found;
};

const isListOrPlain = (given: unknown): given is object => Array.isArray(given) || isPlainObject(given);
