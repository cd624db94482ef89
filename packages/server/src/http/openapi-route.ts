/** `GET /openapi.json` below the prefix: the API as its caller may use it. */
import type { FastifyInstance } from 'fastify';
import { newGate } from '../access/access.js';
import type { KnownCaller } from '../access/caller.js';
import { type Operation, openapiOf } from '../describe/openapi.js';
import { handlerFor } from '../handlers/run.js';
import type { Site } from '../site/site.js';
import { accountRoutes } from './account-routes.js';
import { fileRoutes } from './file-routes.js';
import { localeRoute } from './locale-routes.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';
import { permissionFor, type Route } from './routes.js';

export const OPENAPI_PATH = '/openapi.json';

export interface OpenapiDeps {
  readonly site: Site;
  readonly routes: readonly Route[];
  readonly prefix: string;
}

/** @param taken paths of the project's content types, which take precedence. */
export const addOpenapiPath = (app: FastifyInstance, taken: ReadonlySet<string>, deps: OpenapiDeps): void => {
  const path = deps.prefix + OPENAPI_PATH;
  if (taken.has(path)) return;
  addPath(app, path, {
    GET: async (request, reply) => {
      const caller = await deps.site.callers.identify(request.headers.authorization);
      if (!caller.ok) return sendIssues(reply, caller.issues);
      const document = describedFor(caller.value, deps, taken);
      return reply.header('content-type', JSON_TYPE).send(JSON.stringify(document));
    },
  });
};

const describedFor = (caller: KnownCaller, { site, routes, prefix }: OpenapiDeps, taken: ReadonlySet<string>) => {
  const { model, handlers, accounts } = site;
  const content = routes.flatMap(({ path, type, actions }) =>
    Object.entries(actions).flatMap(([method, action]): readonly Operation[] => {
      if (!caller.may(permissionFor(type, action))) return [];
      const isCustom = action !== 'createLocalization' && handlerFor(handlers.get(type.uid), action) !== undefined;
      return [{ kind: 'content', method, path, type, action, isCustom }];
    }),
  );
  const others = [
    ...accountRoutes(accounts).map((it) => ({ ...it, permission: `plugin::users-permissions.${it.permission}` })),
    ...fileRoutes.map((it) => ({ ...it, permission: `plugin::upload.content-api.${it.permission}` })),
    localeRoute,
  ];
  const fixed = others
    .filter(({ path, permission }) => !taken.has(prefix + path) && caller.may(permission))
    .map(({ method, path }): Operation => ({ kind: 'fixed', method, path: prefix + path, name: path }));
  return openapiOf({
    title: 'Content API',
    version: '1',
    server: '/',
    model,
    gate: newGate(caller, model),
    operations: [...content, ...fixed],
  });
};
