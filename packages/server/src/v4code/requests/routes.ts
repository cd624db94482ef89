/** The routes of a project in v4's order, and which of them a request is for. */
import mapValues from 'lodash/mapValues.js';
import { LRUCache } from 'lru-cache';
import { type MatchFunction, match } from 'path-to-regexp';
import { actionsOf } from '../../access/actions.js';
import type { Action, IsServed } from '../../access/permissions.js';
import { adminEndpoints } from '../../administration/endpoints.js';
import { limits } from '../../limits.js';
import { type AddedRoute, declaredRoutes } from '../added-routes.js';
import { CodeFault, type Faults } from '../loading/load.js';
import {
  type CoreAction,
  coreActions,
  type DeclaredRoute,
  isMembers,
  type PlacedRoute,
  prefixOf,
} from '../loading/parts.js';
import { type Chain, type ChainDeps, chainOf, type PlainRoute, scopeOf } from './chains.js';
import type { CoreRouterOptions } from './core.js';
import type { ContentTypes, Registry } from './registry.js';

export interface CodeRoute extends Chain {
  readonly method: string;
  /** With the prefix of the content API. */
  readonly path: string;
  /** The server answers by its own endpoint, without the project's code. */
  readonly isNative: boolean;
  /** Set if the server's own route for the path does the same, as long as no service or hook takes part. */
  readonly plain: PlainRoute | null;
  /** `api::tool` or `plugin::users-permissions`: whose it is. */
  readonly namespace: string;
  /** The file that declares it, or else who does. */
  readonly place: string;
  /** The action that it names; null for a function. */
  readonly handled: Handled | null;
  /** The parameters of a path; false if it is another one. */
  readonly match: MatchFunction;
}

interface Handled {
  readonly uid: string;
  readonly action: string;
}

export interface FoundRoute {
  readonly route: CodeRoute;
  readonly params: Record<string, string>;
}

/** The routes of one path, which may be kept: routes that code adds later are among them. */
export interface RoutesAt {
  /** The first one for the method; null if the server answers it by itself. */
  find(method: string): FoundRoute | null;
  /** The same for a request that code has given another method or path: also where the server would answer by itself. */
  findAny(method: string): FoundRoute | null;
  /** None if there is no such route. */
  methods(): readonly string[];
}

export interface RouteTable {
  at(path: string): RoutesAt;
  /** Actions of content types that no route serves under its usual path, by uid. */
  readonly unserved: ReadonlyMap<string, readonly string[]>;
  /** Whether a route of the content API names the action, or the server answers it by itself. */
  readonly isServed: IsServed;
  /** Those that routes of the content API name, as v4 offers them to roles. */
  readonly actions: () => readonly Action[];
}

export interface RouteDeps extends ChainDeps {
  /** Whether hooks of the project hear of a plugin's content types: they are told whose request it is. */
  readonly isHeard: (plugin: string) => boolean;
  /** Whether code decides which users there are: it is asked on every route, whatever else answers there. */
  readonly asksForUsers: () => boolean;
  /** `/api`. */
  readonly prefix: string;
  readonly warn: (text: string) => void;
  /** Of the routes that are declared before the start. */
  readonly faults: Faults;
}

/** A core router: its options are known at once, its routes once the types are. */
export class CoreRouterDefinition {
  readonly uid: string;
  readonly options: CoreRouterOptions;
  readonly type = 'content-api';
  #types: ContentTypes | null = null;
  /** Kept, so that code may change them before they are served. */
  #routes: readonly DeclaredRoute[] | null = null;
  constructor(uid: string, options: CoreRouterOptions) {
    this.uid = uid;
    this.options = options;
  }
  get prefix(): string | undefined {
    return this.options.prefix;
  }
  /** Called before any `routes` is read. */
  bind(types: ContentTypes): void {
    if (this.#types !== types) this.#routes = null;
    this.#types = types;
  }
  get routes(): readonly DeclaredRoute[] {
    if (!this.#types) return [];
    this.#routes ??= coreRoutes(this.uid, this.options, this.#types);
    return this.#routes;
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
    .map(([action, method, path]) => ({ method, path, handler: `${uid}.${action}`, config: { ...config[action] } }));
};

export const newRouteTable = (deps: RouteDeps): RouteTable => {
  const { registry, prefix } = deps;
  const served = new Map<string, Set<string>>();
  /** Those that routes of the content API name. */
  const named = new Set<Action>();
  const routeOf = (placed: PlacedRoute, below = prefix): readonly CodeRoute[] => {
    const { declared, prefix: own } = placed;
    const at = `${below}${prefixOf(declared, own)}${declared.path}`.replace(/(?<=.)\/$/, '');
    // in v4 only administrators pass, below another path: served here, everybody who is signed in would
    if (isOfAdmin(placed)) {
      deps.warn(
        `the route ${declared.method} ${declared.path} has the type admin: it is for v4's admin panel, and not served`,
      );
      return [];
    }
    const plain = plainRoute(placed, at, deps);
    const handler = placed.info['type'] === 'content-api' ? handlerOf(placed) : null;
    if (handler) named.add(`${handler.uid}.${handler.action}`);
    if (plain) served.set(plain.uid, (served.get(plain.uid) ?? new Set()).add(plain.action));
    return [
      {
        method: declared.method.toUpperCase(),
        path: at,
        isNative: placed.isNative,
        plain,
        namespace: placed.namespace,
        place: placed.place,
        handled: handlerOf(placed),
        match: matcher(at),
        ...chainOf(placed, deps),
      },
    ];
  };
  const placed = placedRoutes(deps);
  const declared = placed.flatMap((it) => deps.faults.keep(() => routeOf(it)) ?? []);
  /** Those of `strapi.server.routes`, which come first. */
  const added: CodeRoute[] = [];
  const handled = new Set(placed.map((it) => handlerOf(it)?.uid));
  const unserved = new Map(
    registry.apiTypes
      .filter((uid) => registry.hasRouter(uid) || registry.hasController(uid) || handled.has(uid))
      .map((uid) => [uid, coreActions.filter((action) => served.get(uid)?.has(action) !== true)] as const),
  );
  const unrouted = [...unserved.keys()].filter((uid) => !registry.hasRouter(uid));
  if (unrouted.length > 0)
    deps.warn(
      `${unrouted.join(', ')}: no router of theirs leads to the core endpoints, and code of the project handles these types: as in v4, the core endpoints are not served`,
    );
  const actions = new Set(actionsOf(deps));
  /** Those to which nothing leads but the routes of the project. */
  const routed = new Set([
    ...registry.pluginActions,
    ...[...unserved].flatMap(([uid, actions]) => actions.map((it) => `${uid}.${it}`)),
  ]);
  let candidatesFor = newCandidates(declared);
  registry.addedRoutes.forEach((routes) => {
    added.push(...routes.flatMap((it) => addedRoute(it, routeOf, deps)));
    candidatesFor = newCandidates([...added, ...declared]);
  });
  const routesAt = (path: string): RoutesAt => {
    let searched: typeof candidatesFor | null = null;
    let found: readonly MatchedRoute[] = [];
    /** The first route by method: most paths are asked for by one, again and again. */
    const firsts = new Map<string, MatchedRoute | undefined>();
    const matching = (): readonly MatchedRoute[] => {
      if (searched !== candidatesFor) {
        searched = candidatesFor;
        firsts.clear();
        found = candidatesFor(path).flatMap((route) => {
          const matched = route.match(path);
          return matched ? [{ route, params: matched.params as Readonly<Record<string, string>> }] : [];
        });
      }
      return found;
    };
    const firstFor = (method: string): MatchedRoute | undefined => {
      const all = matching();
      if (all.length === 0 || firsts.has(method)) return firsts.get(method);
      const methods = method === 'HEAD' ? ['HEAD', 'GET', 'ALL'] : [method, 'ALL'];
      const first = all.find(({ route }) => methods.includes(route.method));
      firsts.set(method, first);
      return first;
    };
    const findAny = (method: string): FoundRoute | null => {
      const first = firstFor(method);
      return first ? { route: first.route, params: { ...first.params } } : null;
    };
    return {
      find: (method) => {
        const first = findAny(method);
        if (!first || deps.asksForUsers()) return first;
        if (first.route.isNative && !deps.isHeard(first.route.namespace)) return null;
        const { plain } = first.route;
        // code may wrap an action of the core at any time
        return plain && registry.isCoreAction(plain.uid, plain.action) && deps.isPlain(plain.uid, plain.action)
          ? null
          : first;
      },
      findAny,
      methods: () => matching().map(({ route }) => route.method),
    };
  };
  /** Of the paths that were asked for lately: most are asked for again. */
  const known = new LRUCache<string, RoutesAt>({ max: limits.pathsKept });
  return {
    at: (path) => {
      const kept = known.get(path);
      if (kept) return kept;
      const made = routesAt(path);
      if (path.length <= limits.pathKeptCharacters) known.set(path, made);
      return made;
    },
    unserved,
    isServed: (action) => named.has(action) || (actions.has(action) && !routed.has(action)),
    actions: () => [...named],
  };
};

const addedRoute = (
  placed: AddedRoute,
  routeOf: (placed: PlacedRoute, below?: string) => readonly CodeRoute[],
  { warn }: RouteDeps,
): readonly CodeRoute[] => {
  const { declared, isAtRoot } = placed;
  return (isAtRoot ? routeOf(placed, '') : routeOf(placed)).flatMap((route) => {
    if (!isOfServer(route.path)) return [{ ...route, match: (path: string) => !isOfServer(path) && route.match(path) }];
    warn(`strapi.server.routes: ${declared.method} ${route.path} is not served: the path is the server's`);
    return [];
  });
};

/** What the endpoints of administrators begin with: `users` of `/admin/users/:id`. */
const ofAdministrators = [...new Set(adminEndpoints.map(({ path }) => path.split('/')[2]))].join('|');
const ownPaths = new RegExp(`^/+(?:_health|_dovetail|studio|admin/+(?:${ofAdministrators}))(?:/|$)`, 'i');

/** Whoever watches and administers the server asks for these: no pattern of the project may answer, in whatever spelling. */
const isOfServer = (path: string): boolean => {
  try {
    return ownPaths.test(decodeURIComponent(path));
  } catch {
    return false;
  }
};

interface MatchedRoute {
  readonly route: CodeRoute;
  readonly params: Readonly<Record<string, string>>;
}

/** The routes whose first segments may be those of a path, in their order: projects have hundreds, and each is an expression. */
const newCandidates = (routes: readonly CodeRoute[]): ((path: string) => readonly CodeRoute[]) => {
  const headOf = (path: string): string =>
    path
      .split('/', 3)
      .join('/')
      .replace(/(?<=.)\/$/, '')
      .toLowerCase();
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
    const matched = match<Readonly<Record<string, string | readonly string[]>>>(path, { decode: decodeURIComponent });
    return (given) => {
      const found = matched(given);
      // `/:path+` is one text
      return (
        found && { ...found, params: mapValues(found.params, (it) => (typeof it === 'object' ? it.join('/') : it)) }
      );
    };
  } catch (fault) {
    throw new CodeFault(`the route "${path}" cannot be read: ${(fault as Error).message}`);
  }
};

const placedRoutes = ({ registry, types, faults }: RouteDeps): readonly PlacedRoute[] => {
  const placedOf = ({ api, place, router }: Registry['routers'][number]): readonly PlacedRoute[] => {
    if (router instanceof CoreRouterDefinition) router.bind(types);
    else registry.bindRouters(types);
    if (!isMembers(router)) throw new CodeFault(`${place}: export an object with routes`);
    const prefix = typeof router['prefix'] === 'string' ? router['prefix'] : '';
    return declaredRoutes(router, place).map((declared) => ({
      declared,
      place,
      prefix,
      namespace: `api::${api}`,
      isNative: false,
      // whatever the router and the route say, as in v4
      info: { apiName: api, type: 'content-api' },
    }));
  };
  return [
    ...registry.routers.flatMap((it) => faults.keep(() => placedOf(it)) ?? []),
    ...(faults.keep(() => registry.pluginRoutes) ?? []),
  ];
};

/** Of plugins and of `strapi.server.routes`: routers in `src/api` are of the content API. */
const isOfAdmin = ({ info }: PlacedRoute): boolean => info['type'] === 'admin';

/** The action that a route names; null if it is a function. */
const handlerOf = ({ declared: { handler }, namespace }: PlacedRoute): Handled | null => {
  if (typeof handler !== 'string') return null;
  const full = handler.includes('::') ? handler : `${namespace}.${handler}`;
  const [, uid = '', action = ''] = /^(.*)\.([^.]+)$/.exec(full) ?? [];
  return { uid, action };
};

/** A core action as it is, under the path that the server itself gives it. */
const plainRoute = (placed: PlacedRoute, at: string, { registry, types, prefix }: RouteDeps): PlainRoute | null => {
  const { config = {}, method } = placed.declared;
  const handler = handlerOf(placed);
  if (handler === null) return null;
  if (config.auth !== undefined || (config.policies ?? []).length > 0 || (config.middlewares ?? []).length > 0)
    return null;
  const { uid, action } = handler;
  // it asks for another permission than the server would
  if (scopeOf(uid, placed.namespace) !== uid) return null;
  const type = types.get(uid);
  if (!type || !registry.isCoreAction(uid, action)) return null;
  const usual = coreRoutes(uid, {}, types).find((it) => it.handler === `${uid}.${action}`);
  return usual && usual.method === method.toUpperCase() && prefix + usual.path === at
    ? { uid, action: action as CoreAction }
    : null;
};
