/** The routes of a project in v4's order, each with its chain: authentication, policies, middlewares, action. */
import type Koa from 'koa';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import { type MatchFunction, match } from 'path-to-regexp';
import type { Caller } from '../access/access.js';
import type { CoreRouterOptions } from './core.js';
import { ForbiddenError, UnauthorizedError } from './errors.js';
import { CodeFault } from './load.js';
import {
  type Callable,
  type CoreAction,
  coreActions,
  type DeclaredRoute,
  isCallable,
  isMembers,
  type PlacedRoute,
} from './parts.js';
import type { ContentTypes, Registry } from './registry.js';

export interface CodeRoute {
  readonly method: string;
  /** With the prefix of the content API. */
  readonly path: string;
  /** The server answers by its own endpoint, without the project's code. */
  readonly isNative: boolean;
  /** Set if the server's own route for the path does the same, as long as no service or hook takes part. */
  readonly plain: PlainRoute | null;
  /** Whether its action may be the server's own endpoint of a plugin. */
  readonly isOfPlugin: boolean;
  /** The parameters of a path; false if it is another one. */
  readonly match: MatchFunction;
  readonly chain: Middleware;
}

/** An action of the content API that the server may serve by itself, under its usual path. */
export interface PlainRoute {
  readonly uid: string;
  readonly action: CoreAction;
}

export interface RouteTable {
  /** The first route for the method and path; null if the server answers it by itself. */
  find(method: string, path: string): { readonly route: CodeRoute; readonly params: Record<string, string> } | null;
  /** Methods of routes with the path; none if there is no such route. */
  methodsOf(path: string): readonly string[];
  /** Actions of content types that no route serves under its usual path, by uid. */
  readonly unserved: ReadonlyMap<string, readonly string[]>;
}

export interface RouteDeps {
  readonly registry: Registry;
  readonly types: ContentTypes;
  /** `/api`. */
  readonly prefix: string;
  /** Sets `ctx.state.user` and `ctx.state.auth`; throws the refusal of bad credentials. Returns whose rights the request has. */
  readonly authenticate: (ctx: object) => Promise<Caller>;
  /** A request to a route with `auth: false`. */
  readonly skipAuthentication: (ctx: object) => void;
  /** Whether no service and no hook of the project takes part in an action. */
  readonly isPlain: (uid: string, action: CoreAction) => boolean;
  readonly strapi: unknown;
}

/** A core router: its options are known at once, its routes once the types are. */
export class CoreRouterDefinition {
  readonly uid: string;
  readonly options: CoreRouterOptions;
  readonly type = 'content-api';
  #types: ContentTypes | null = null;
  constructor(uid: string, options: CoreRouterOptions) {
    this.uid = uid;
    this.options = options;
  }
  get prefix(): string | undefined {
    return this.options.prefix;
  }
  /** Called before any `routes` is read. */
  bind(types: ContentTypes): void {
    this.#types = types;
  }
  get routes(): readonly DeclaredRoute[] {
    return this.#types ? coreRoutes(this.uid, this.options, this.#types) : [];
  }
}

const coreRoutes = (
  uid: string,
  { only, except, config = {} }: CoreRouterOptions,
  types: ContentTypes,
): readonly DeclaredRoute[] => {
  const type = types.get(uid);
  if (!type) throw new CodeFault(`createCoreRouter("${uid}"): there is no such content type`);
  const at = type.kind === 'single' ? `/${type.singular}` : `/${type.plural}`;
  const all: readonly (readonly [string, string, string])[] =
    type.kind === 'single'
      ? [
          ['find', 'GET', at],
          ['update', 'PUT', at],
          ['delete', 'DELETE', at],
        ]
      : [
          ['find', 'GET', at],
          ['findOne', 'GET', `${at}/:id`],
          ['create', 'POST', at],
          ['update', 'PUT', `${at}/:id`],
          ['delete', 'DELETE', `${at}/:id`],
        ];
  return all
    .filter(([action]) => (!only || only.includes(action)) && !except?.includes(action))
    .map(([action, method, path]) => ({ method, path, handler: `${uid}.${action}`, config: config[action] ?? {} }));
};

export const newRouteTable = (deps: RouteDeps): RouteTable => {
  const { registry, prefix } = deps;
  const routes: CodeRoute[] = [];
  const served = new Map<string, Set<string>>();
  const all = placedRoutes(deps);
  for (const placed of all) {
    const { declared, prefix: own } = placed;
    const at = `${prefix}${declared.config?.prefix ?? own}${declared.path}`;
    const plain = plainRoute(placed, at, deps);
    if (plain) served.set(plain.uid, (served.get(plain.uid) ?? new Set()).add(plain.action));
    routes.push({
      method: declared.method.toUpperCase(),
      path: at,
      isNative: placed.isNative,
      plain,
      isOfPlugin: placed.namespace.startsWith('plugin::'),
      match: matcher(at),
      chain: chainOf(placed, deps),
    });
  }
  const unserved = new Map(
    registry.apiTypes
      .filter((uid) => registry.hasRouter(uid))
      .map((uid) => [uid, coreActions.filter((action) => served.get(uid)?.has(action) !== true)] as const),
  );
  const candidatesFor = newCandidates(routes);
  const matching = function* (path: string) {
    for (const route of candidatesFor(path)) {
      const found = route.match(path);
      if (found) yield { route, params: { ...(found.params as Record<string, string>) } };
    }
  };
  return {
    find: (method, path) => {
      const wanted = method === 'HEAD' ? 'GET' : method;
      for (const found of matching(path))
        if (found.route.method === wanted || found.route.method === 'ALL') {
          const { plain, isNative } = found.route;
          if (isNative) return null;
          return plain && deps.isPlain(plain.uid, plain.action) ? null : found;
        }
      return null;
    },
    methodsOf: (path) => [...matching(path)].map(({ route }) => route.method),
    unserved,
  };
};

/** The routes whose first segments may be those of a path, in their order: projects have hundreds, and each is an expression. */
const newCandidates = (routes: readonly CodeRoute[]): ((path: string) => readonly CodeRoute[]) => {
  const headOf = (path: string): string => path.split('/', 3).join('/').toLowerCase();
  const isFixed = (head: string): boolean => /^[\w/-]*$/.test(head);
  const open = routes.filter(({ path }) => !isFixed(headOf(path)));
  const byHead = new Map<string, readonly CodeRoute[]>();
  for (const head of new Set(routes.map(({ path }) => headOf(path)).filter(isFixed)))
    byHead.set(
      head,
      routes.filter((it) => open.includes(it) || headOf(it.path) === head),
    );
  return (path) => byHead.get(headOf(path)) ?? open;
};

const matcher = (path: string): MatchFunction => {
  try {
    return match(path, { decode: decodeURIComponent });
  } catch (fault) {
    throw new CodeFault(`the route "${path}" cannot be read: ${(fault as Error).message}`);
  }
};

const placedRoutes = ({ registry, types }: RouteDeps): readonly PlacedRoute[] => [
  ...registry.routers.flatMap(({ api, router }) => {
    if (router instanceof CoreRouterDefinition) router.bind(types);
    else registry.bindRouters(types);
    if (!isMembers(router)) throw new CodeFault(`src/api/${api}/routes: export an object with routes`);
    const routes = (router['routes'] ?? []) as readonly DeclaredRoute[];
    const prefix = typeof router['prefix'] === 'string' ? router['prefix'] : '';
    return routes.map((declared) => ({
      declared,
      prefix,
      namespace: `api::${api}`,
      isNative: false,
      info: { apiName: api, type: typeof router['type'] === 'string' ? router['type'] : 'content-api' },
    }));
  }),
  ...registry.pluginRoutes,
];

/** A core action as it is, under the path that the server itself gives it. */
const plainRoute = (
  { declared, namespace }: PlacedRoute,
  at: string,
  { registry, types, prefix }: RouteDeps,
): PlainRoute | null => {
  const { handler, config = {}, method } = declared;
  if (typeof handler !== 'string') return null;
  if (config.auth !== undefined || (config.policies ?? []).length > 0 || (config.middlewares ?? []).length > 0)
    return null;
  const full = handler.includes('::') ? handler : `${namespace}.${handler}`;
  const [, uid = '', action = ''] = /^(.*)\.([^.]+)$/.exec(full) ?? [];
  const type = types.get(uid);
  if (!type || !registry.isCoreAction(uid, action)) return null;
  const usual = coreRoutes(uid, {}, types).find((it) => it.handler === `${uid}.${action}`);
  return usual && usual.method === method.toUpperCase() && prefix + usual.path === at
    ? { uid, action: action as CoreAction }
    : null;
};

// ---- chains

const chainOf = (placed: PlacedRoute, deps: RouteDeps): Middleware => {
  const { declared, namespace, info } = placed;
  const { config = {} } = declared;
  const where = `the route ${declared.method} ${declared.path}`;
  const { action, scope } = actionOf(placed, deps, where);
  const route = { ...declared, method: declared.method, config, info: { ...info, ...declared.info } };
  const steps: Middleware[] = [
    (ctx, next) => {
      ctx.state['route'] = route;
      return next();
    },
    authentication(config.auth, scope, deps),
    ...(config.policies ?? []).map((it) => policyStep(it, namespace, deps, where)),
    ...(config.middlewares ?? []).map((it) => middlewareStep(it, namespace, deps, where)),
    ...action,
  ];
  return compose(steps);
};

const authentication = (
  auth: false | { readonly scope?: string | readonly string[] } | undefined,
  scope: string | null,
  { authenticate, skipAuthentication }: RouteDeps,
): Middleware => {
  if (auth === false)
    return (ctx, next) => {
      skipAuthentication(ctx);
      return next();
    };
  const given = auth?.scope ?? scope;
  const scopes = given === null ? null : [given].flat();
  return async (ctx, next) => {
    const caller = await authenticate(ctx);
    if (scopes === null) refuseWithoutScope(ctx as Koa.Context, caller);
    else if (!scopes.every((it) => caller.may(it))) throw new ForbiddenError();
    return next();
  };
};

/** A route that names no permission, because its handler is a function, is open to users and to full-access tokens only. */
const refuseWithoutScope = ({ state }: Koa.Context, caller: Caller): void => {
  const { credentials, strategy } = state['auth'] as {
    readonly credentials?: unknown;
    readonly strategy: { readonly name: string };
  };
  if (credentials === undefined) throw new UnauthorizedError();
  // only full access includes a permission that does not exist
  if (strategy.name === 'api-token' && !caller.may('')) throw new ForbiddenError();
};

/** What the action is called with: koa's context and next. */
const actionOf = (
  { declared, namespace }: PlacedRoute,
  { registry }: RouteDeps,
  where: string,
): { readonly action: readonly Middleware[]; readonly scope: string | null } => {
  const { handler } = declared;
  const functions = Array.isArray(handler) ? handler : [handler];
  if (functions.every(isCallable)) return { action: functions.map((it) => answering(it)), scope: null };
  if (typeof handler !== 'string') throw new CodeFault(`${where}: the handler is neither a name nor a function`);
  const full = handler.includes('::') ? handler : `${namespace}.${handler}`;
  const [, name = '', action = ''] = /^(.*)\.([^.]+)$/.exec(full) ?? [];
  const controller = registry.controller(name);
  if (!controller || !isCallable(controller[action])) throw new CodeFault(`${where}: there is no action "${full}"`);
  // looked up again for each request: extensions may replace it later
  return { action: [answering((...given) => (registry.controller(name)![action] as Callable)(...given))], scope: full };
};

/** What an action returns is the body, unless it has set one. */
const answering =
  (action: Callable): Middleware =>
  async (ctx, next) => {
    const returned = await action(ctx, next);
    if (ctx.body === undefined || ctx.body === null)
      if (returned !== undefined && returned !== null) ctx.body = returned;
  };

const policyStep = (given: unknown, namespace: string, { registry, strapi }: RouteDeps, where: string): Middleware => {
  const { name, config = {} } = isMembers(given) ? given : { name: given };
  const policy = isCallable(given) ? given : typeof name === 'string' ? registry.policy(name, namespace) : undefined;
  if (!policy) throw new CodeFault(`${where}: there is no policy ${JSON.stringify(name ?? given)}`);
  return async (ctx, next) => {
    const passed = await policy(policyContextOf(ctx as Koa.Context), config, { strapi });
    if (passed !== true && passed !== undefined) throw new ForbiddenError();
    return next();
  };
};

/** A policy sees the request and its state, but has none of the shorthands of `ctx`. */
const policyContextOf = (ctx: Koa.Context): object => ({
  type: 'koa',
  is: (name: string) => name === 'koa',
  state: ctx.state,
  params: ctx['params'],
  request: ctx.request,
  response: ctx.response,
});

const middlewareStep = (
  given: unknown,
  namespace: string,
  { registry, strapi }: RouteDeps,
  where: string,
): Middleware => {
  if (isCallable(given)) return given as unknown as Middleware;
  const { name, config = {} } = isMembers(given) ? given : { name: given };
  const factory = typeof name === 'string' ? registry.middleware(name, namespace) : undefined;
  if (!factory) throw new CodeFault(`${where}: there is no middleware ${JSON.stringify(name ?? given)}`);
  return factory(config, { strapi }) as Middleware;
};
