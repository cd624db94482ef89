/** The route that lists the locales (LO10). */
import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import type { Callers } from '../access/caller.js';
import { issue } from '../errors.js';
import type { LocaleStore } from '../read/locales.js';
import { identifyCaller } from './credentials.js';
import { mayBeEntry } from './past-code.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';

/** The permission is that of v4; the path is without the prefix. */
export const localeRoute = {
  method: 'GET',
  path: '/i18n/locales',
  permission: 'plugin::i18n.locales.listLocales',
} as const;

export interface LocaleRouteDeps {
  readonly locales: LocaleStore;
  readonly callers: Callers;
  readonly prefix: string;
}

/** @param taken paths of the project's content types, which take precedence. */
export const addLocalePaths = (
  app: FastifyInstance,
  taken: ReadonlySet<string>,
  { locales, callers, prefix }: LocaleRouteDeps,
): void => {
  const path = prefix + localeRoute.path;
  if (taken.has(path)) return;
  const list: RouteHandlerMethod = async (request, reply) => {
    const caller = await identifyCaller(request.headers, true, callers);
    if (!caller.ok) return sendIssues(reply, caller.issues);
    if (!caller.value.may(localeRoute.permission)) return sendIssues(reply, [issue('http.forbidden', [])]);
    return reply.header('content-type', JSON_TYPE).send(JSON.stringify(await locales.list()));
  };
  addPath(app, path, { [localeRoute.method]: list }, { pastCode: mayBeEntry });
};
