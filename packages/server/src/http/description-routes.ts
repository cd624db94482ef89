/** The API as its caller may use it: `GET /openapi.json` below the prefix, and `GET /reference`, the same for people. */
import type { FastifyInstance } from 'fastify';
import { LRUCache } from 'lru-cache';
import { newGate } from '../access/access.js';
import type { KnownCaller } from '../access/caller.js';
import { accountEndpoints } from '../accounts/endpoints.js';
import { type AdminEndpoint, adminEndpoints } from '../administration/endpoints.js';
import type { Operation } from '../describe/openapi.js';
import { unwrap } from '../errors.js';
import { handlerFor } from '../handlers/run.js';
import { limits } from '../limits.js';
import type { EntryFormat } from '../query/selection.js';
import { newSingleFlight } from '../single-flight.js';
import type { Site } from '../site/site.js';
import type { BoundCode } from '../v4code/code.js';
import { identifyCaller } from './credentials.js';
import { EXPLAIN_PATH } from './explain-routes.js';
import { fileRoutes } from './file-routes.js';
import { readFormat } from './forms.js';
import { HEALTH_PATH } from './health-routes.js';
import { libraryRoutes } from './library-routes.js';
import { localeRoute } from './locale-routes.js';
import { MODEL_PATH } from './model-routes.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';
import { permissionFor, type Routes, routesFor } from './routes.js';
import { UNSEEN_PATH } from './unseen-routes.js';
import { isAnsweredByCode, listsOf, partListsOf, windowAction } from './window-routes.js';

export interface DescriptionDeps {
  readonly site: Site;
  readonly routes: Routes;
  readonly prefix: string;
  /** What precedes all paths: a URL, or `/`. */
  readonly publicUrl: string;
  readonly code: BoundCode | undefined;
  /** Whether anybody may look into the server. */
  readonly isOpen: boolean;
}

/** @param taken paths of the project's content types, which take precedence. */
export const addDescriptionPaths = (app: FastifyInstance, taken: ReadonlySet<string>, deps: DescriptionDeps): void => {
  const add = (path: string, type: string, render: (document: Document) => string | Promise<string>): void => {
    if (taken.has(deps.prefix + path)) return;
    /** By rights, because that of a large model takes long to make. */
    const texts = new LRUCache<string, string>({
      maxSize: limits.descriptionBytesMax,
      sizeCalculation: (text, version) => text.length + version.length,
    });
    const making = newSingleFlight<string>();
    addPath(app, deps.prefix + path, {
      GET: async (request, reply) => {
        const caller = await identifyCaller(request.headers, true, deps.site.callers);
        if (!caller.ok) return sendIssues(reply, caller.issues);
        const format = unwrap(readFormat(request.headers));
        const key = `${format} ${caller.value.version}`;
        const make = async (): Promise<string> => {
          const made = await render(await describedFor(caller.value, format, deps, taken));
          texts.set(key, made);
          return made;
        };
        const text = texts.get(key) ?? (await making.join(key, make));
        return reply
          .header('content-type', type)
          .header('content-security-policy', contentSecurityPolicy)
          .header('cache-control', 'no-cache')
          .header('vary', `${String(reply.getHeader('vary'))}, authorization`)
          .send(text);
      },
    });
  };
  add('/openapi.json', JSON_TYPE, (document) => JSON.stringify(document));
  add('/reference', 'text/html; charset=utf-8', async (document) => {
    const { referenceOf } = await import('../describe/reference.js');
    return referenceOf(document, 'openapi.json');
  });
};

/** Whether the caller may use the endpoint; those that need no administrator are open to everybody. */
const isOpenTo = ({ needs, permission }: AdminEndpoint, { rights }: KnownCaller): boolean =>
  needs !== 'admin' ||
  (rights !== undefined && (permission === undefined || rights.rulesOfAction(permission).length > 0));

/** Neither runs or loads anything. */
const contentSecurityPolicy =
  "default-src 'none';style-src 'unsafe-inline';base-uri 'none';form-action 'none';frame-ancestors 'self'";

type Document = Awaited<ReturnType<typeof describedFor>>;

const describedFor = async (
  caller: KnownCaller,
  format: EntryFormat,
  { site, routes, prefix, publicUrl, code, isOpen }: DescriptionDeps,
  taken: ReadonlySet<string>,
) => {
  const { model, handlers } = site;
  const own = routesFor(caller, routes);
  const content = own.flatMap(({ path, type, actions }) =>
    Object.entries(actions).flatMap(([method, action]): readonly Operation[] => {
      if (!caller.may(permissionFor(type, action))) return [];
      const isCustom = action !== 'createLocalization' && handlerFor(handlers.get(type.uid), action) !== undefined;
      return [{ kind: 'content', method, path, type, action, isCustom }];
    }),
  );
  const gate = newGate(caller, model);
  const windows = own.flatMap((route): readonly Operation[] => {
    const { type, path } = route;
    const action = windowAction(route);
    if (action === null || !caller.may(permissionFor(type, action))) return [];
    if (!caller.rights && isAnsweredByCode(route, site, code)) return [];
    const lists = listsOf(type, gate).map((attribute): Operation => {
      return { kind: 'window', method: 'GET', path: `${path}/relations/${attribute.name}`, type, attribute };
    });
    const inParts = partListsOf(type, model, gate);
    if (inParts.length === 0) return lists;
    return [...lists, { kind: 'part-window', method: 'GET', path: `${path}/relations/:path`, type, lists: inParts }];
  });
  const others = [
    ...accountEndpoints.map((it) => ({ ...it, permission: `plugin::users-permissions.${it.permission}` })),
    ...fileRoutes.map((it) => ({ ...it, permission: `plugin::upload.content-api.${it.permission}` })),
    localeRoute,
  ];
  const fixed = others
    .filter(({ path, permission }) => !taken.has(prefix + path) && caller.may(permission))
    .map(({ method, path }): Operation => ({ kind: 'fixed', method, path: prefix + path, name: path }));
  const besideApi = [
    { method: 'GET', path: MODEL_PATH },
    ...(isOpen || caller.who.kind === 'admin'
      ? [
          { method: 'POST', path: EXPLAIN_PATH },
          { method: 'GET', path: HEALTH_PATH },
        ]
      : []),
    ...(caller.rights ? [{ method: 'GET', path: UNSEEN_PATH }] : []),
    ...libraryRoutes.filter(({ permission }) => (caller.rights?.rulesOfAction(permission).length ?? 0) > 0),
    ...(site.administration ? adminEndpoints.filter((it) => isOpenTo(it, caller)) : []),
  ].map(({ method, path }): Operation => ({ kind: 'fixed', method, path, name: path }));
  // few servers are asked for it
  const { openapiOf } = await import('../describe/openapi.js');
  return openapiOf({
    title: 'Content API',
    version: '1',
    server: publicUrl,
    model,
    gate,
    format,
    operations: [...content, ...windows, ...fixed, ...besideApi],
  });
};
