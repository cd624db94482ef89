/** The route that lists the locales (LO10). */
import type { FastifyInstance } from 'fastify';
import type { Callers } from '../access/caller.js';
import { issue } from '../errors.js';
import type { LocaleStore } from '../read/locales.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';

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
  const path = `${prefix}/i18n/locales`;
  if (taken.has(path)) return;
  addPath(app, path, {
    GET: async (request, reply) => {
      const caller = await callers.identify(request.headers.authorization);
      if (!caller.ok) return sendIssues(reply, caller.issues);
      if (!caller.value.may('plugin::i18n.locales.listLocales'))
        return sendIssues(reply, [issue('http.forbidden', [])]);
      return reply.header('content-type', JSON_TYPE).send(JSON.stringify(await locales.list()));
    },
  });
};
