/** Maps URL paths to actions on content types (RQ1). */
import type { Caller } from '../access/access.js';
import { limits } from '../limits.js';
import type { EntryType, Model, Uid } from '../model/model.js';
import type { ReadAction } from '../query/selection.js';
import type { CodeRoute } from '../v4code/requests/routes.js';
import type { WriteAction } from '../write/session.js';
import { targetOf } from './target.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** `createLocalization` creates an entry in another locale of an existing one. */
export type Action = ReadAction | WriteAction | 'createLocalization';

/** One path with the action of each method; other methods are a 405. */
export interface Route {
  readonly path: string;
  readonly type: EntryType;
  readonly actions: Readonly<Partial<Record<Method, Action>>>;
}

/** The permission that an action needs; reading a single type needs `find`. */
export const permissionFor = (type: EntryType, action: Action): string =>
  `${type.uid}.${action === 'single' ? 'find' : action}`;

/** The same paths twice, in the same order. */
export interface Routes {
  /** With the actions that everybody may ask for. */
  readonly served: readonly Route[];
  /** With those of administrators: what code of a v4 project answers, or leaves out, the server itself answers them (AD14). */
  readonly all: readonly Route[];
}

export const routesFor = ({ rights }: Caller, { served, all }: Routes): readonly Route[] => (rights ? all : served);

/**
 * @param prefix with a leading slash: `/api`.
 * @param unserved actions without a route, by the uid of their type; `find` stands for reading a single type too.
 */
export const routesOf = (
  model: Model,
  prefix: string,
  unserved: ReadonlyMap<Uid, readonly string[]> = new Map(),
): readonly Route[] =>
  allRoutes(model, prefix).map((it) => ({ ...it, actions: keepServed(it, unserved.get(it.type.uid)) }));

const keepServed = ({ actions }: Route, unserved: readonly string[] = []): Route['actions'] =>
  Object.fromEntries(
    Object.entries(actions).filter(([, action]) => !unserved.includes(action === 'single' ? 'find' : action)),
  );

const allRoutes = (model: Model, prefix: string): readonly Route[] =>
  [...model.types.values()]
    .filter((type) => type.origin === 'project' && type.kind !== 'component')
    .flatMap((type): readonly Route[] =>
      type.kind === 'single'
        ? [
            { path: `${prefix}/${type.singular}`, type, actions: { GET: 'single', PUT: 'update', DELETE: 'delete' } },
            // registered so that writing to it is a 405, not a 404
            { path: `${prefix}/${type.singular}/:id`, type, actions: {} },
            ...localizationRoutes(`${prefix}/${type.singular}`, type),
          ]
        : [
            { path: `${prefix}/${type.plural}`, type, actions: { GET: 'find', POST: 'create' } },
            {
              path: `${prefix}/${type.plural}/:id`,
              type,
              actions: { GET: 'findOne', PUT: 'update', DELETE: 'delete' },
            },
            ...localizationRoutes(`${prefix}/${type.plural}/:id`, type),
          ],
    );

const localizationRoutes = (entryPath: string, type: EntryType): readonly Route[] =>
  type.localized ? [{ path: `${entryPath}/localizations`, type, actions: { POST: 'createLocalization' } }] : [];

/** A route that reads content, and what a URL asks of it. */
export interface ReadRoute {
  readonly route: Route;
  readonly action: ReadAction;
  /** The entry of `findOne`. */
  readonly id: number | null;
  /** The path of the relation list of which a window is read: `articles`; null for entries themselves. */
  readonly list: string | null;
  /** The query string, without `?`. */
  readonly search: string;
}

/** The routes that read content. */
export const readRoutes = (routes: readonly Route[]): readonly Pick<ReadRoute, 'route' | 'action'>[] =>
  routes.flatMap((route) => {
    const action = route.actions.GET;
    return action === 'find' || action === 'findOne' || action === 'single' ? [{ route, action }] : [];
  });

/** A full URL, or a path with or without a leading slash. */
export const targetOfUrl = (url: string): { readonly pathname: string; readonly search: string } => {
  const [pathname = '', search = ''] = targetOf(url).split(/\?(.*)/s);
  return { pathname, search };
};

/** What a URL reads; null for one that reads no content. */
export const readRouteOf = (url: string, routes: readonly Route[]): ReadRoute | null => {
  const { pathname, search } = targetOfUrl(url);
  for (const { route, action } of readRoutes(routes)) {
    const window = action === 'find' ? '' : '(?:/relations/(?<list>.+?))?';
    const pattern = new RegExp(`^${route.path.replace(':id', '(?<id>\\d+)')}${window}/?$`, 'i');
    const match = pattern.exec(pathname);
    const { id: digits, list = null } = match?.groups ?? {};
    const id = digits === undefined ? null : parseId(digits);
    if (match && (digits === undefined || id !== null)) return { route, action, search, id, list };
  }
  return null;
};

/** Whether a route of code leads to the read that the server has for the URL, so that code takes part in it; else the code is the answer. */
export const isReadBy = ({ handled }: CodeRoute, found: ReadRoute | null): boolean =>
  found !== null && handled?.uid === found.route.type.uid && ['find', 'findOne'].includes(handled.action);

/** The id in a path: digits without sign or leading zero, at most 32 bits; null otherwise (RQ3). */
export const parseId = (text: string): number | null => {
  const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : Number.NaN;
  return id <= limits.integerMax ? id : null;
};
