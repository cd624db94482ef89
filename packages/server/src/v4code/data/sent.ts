/** What a client can have said: a fault that may come of it ends that request, and no later one of the guard that ran into it. */
import querystring from 'node:querystring';
import { missed, refused } from '../strapi-utils/guards.js';
import { requestContext } from './scope.js';

/**
 * An error of what v4 has and is not here, to be thrown: as `missed`, unless the request that is running names any of the words, in its
 * URL, headers or body. Code copies what it has been sent, so that the words themselves have to tell.
 */
export const missedUnlessSent = (fault: Error, words: readonly string[]): Error => {
  const said = wordsSaid();
  return words.some((it) => said.has(it)) ? refused(fault) : missed(fault);
};

/** Names as they stand, and those that are made of several, such as `strapi::core-store`. */
const wordsSaid = (): ReadonlySet<string> => {
  const { originalUrl, req, request } = (requestContext() ?? {}) as Partial<RequestOfClient>;
  const texts = [originalUrl, ...Object.values(req?.headers ?? {}), ...textsIn(request?.body)];
  const decoded = texts.flat().flatMap((it) => (it === undefined ? [] : [it, querystring.unescape(it)]));
  return new Set(decoded.flatMap((it) => [...(it.match(/[\w$]+/g) ?? []), ...(it.match(/[\w:.-]+/g) ?? [])]));
};

interface RequestOfClient {
  readonly originalUrl: string;
  readonly req: { readonly headers: Readonly<Record<string, string | string[] | undefined>> };
  readonly request: { readonly body?: unknown };
}

/** Names and texts of lists and objects, at any depth. */
const textsIn = (given: unknown): readonly string[] => {
  const found: string[] = [];
  const seen = new Set<unknown>();
  const left = [given];
  while (left.length > 0) {
    const it = left.pop();
    if (typeof it === 'string') found.push(it);
    if (typeof it !== 'object' || it === null || seen.has(it)) continue;
    seen.add(it);
    for (const [name, value] of Object.entries(it)) {
      found.push(name);
      left.push(value);
    }
  }
  return found;
};
