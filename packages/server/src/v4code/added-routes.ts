/** Routes that code adds by `strapi.server.routes`: below the root of the server, or of the content API. */
import { inspect } from 'node:util';
import { CodeFault } from './loading/load.js';
import { type DeclaredRoute, isMembers, type Members, type PlacedRoute } from './loading/parts.js';

export interface AddedRoute extends PlacedRoute {
  /** Its path is the whole one, without the prefix of the content API. */
  readonly isAtRoot: boolean;
}

export interface AddedRoutes {
  /** `strapi.server.routes`: a list of routes, or `{ type, prefix, routes }`. */
  add(given: unknown): void;
  /** Tells of the routes so far, and of all later ones. */
  forEach(take: (routes: readonly AddedRoute[]) => void): void;
}

export const newAddedRoutes = (warn: (text: string) => void): AddedRoutes => {
  const all: AddedRoute[] = [];
  const takers: ((routes: readonly AddedRoute[]) => void)[] = [];
  return {
    add: (given) => {
      const placed = addedRoutes(given, warn);
      all.push(...placed);
      for (const take of takers) take(placed);
    },
    forEach: (take) => {
      takers.push(take);
      if (all.length > 0) take([...all]);
    },
  };
};

const where = 'strapi.server.routes';

/** Whose these routes are: no API's and no plugin's, so names in them are whole. */
export const ADDED = 'strapi::server';

const addedRoutes = (given: unknown, warn: (text: string) => void): readonly AddedRoute[] => {
  const router: Members = Array.isArray(given) ? { routes: given } : isMembers(given) ? given : {};
  const { type, prefix } = router;
  if (type !== undefined && type !== 'content-api' && type !== 'admin')
    throw new CodeFault(`${where}: the type of routes is content-api or admin, not ${JSON.stringify(type)}`);
  const isAtRoot = type === undefined;
  return declaredRoutes(router, where).map((declared) => ({
    declared: isAtRoot && declared.config?.auth !== false ? closed(declared, warn) : declared,
    place: where,
    prefix: typeof prefix === 'string' ? prefix : '',
    namespace: ADDED,
    info: { type: type ?? 'api' },
    isNative: false,
    isAtRoot,
  }));
};

/** In v4 users, tokens and administrators are known below the paths of an API only, so nobody passes elsewhere. */
const closed = (declared: DeclaredRoute, warn: (text: string) => void): DeclaredRoute => {
  warn(
    `${where}: ${declared.method} ${declared.path} refuses everybody, as in v4, where nobody is known outside of the APIs: say config: { auth: false }, or type: 'content-api'`,
  );
  return { ...declared, handler: unauthorized, config: { auth: false } };
};

const unauthorized = (ctx: unknown): void => (ctx as { unauthorized(): void }).unauthorized();

/** The routes of a router that code gives; throws for those that are none. @param place for the message. */
export const declaredRoutes = (router: unknown, place: string): readonly DeclaredRoute[] => {
  const { routes = [] } = isMembers(router) ? router : {};
  if (!isMembers(router) || !Array.isArray(routes))
    throw new CodeFault(`${place}: give an object with a list of routes`);
  const given: readonly unknown[] = routes;
  const wrong = given.filter((it) => !isRoute(it)).map((it) => inspect(it, { breakLength: Number.POSITIVE_INFINITY }));
  if (wrong.length > 0)
    throw new CodeFault(
      wrong.map((it) => `${place}: a route needs a method, a path and a handler, unlike ${it}`).join('\n'),
    );
  return given.filter(isRoute);
};

const isRoute = (it: unknown): it is DeclaredRoute =>
  isMembers(it) && typeof it['method'] === 'string' && typeof it['path'] === 'string';
