/** Controllers, services, policies and middlewares by v4's names: `api::tool.tool`, `global::is-member`, `plugin::upload.upload`. */
import type { Action } from '../../access/permissions.js';
import { orNearest } from '../../errors.js';
import { kebabName } from '../../model/files.js';
import type { EntryType, Uid } from '../../model/model.js';
import type { AddedRoutes } from '../added-routes.js';
import { CodeFault, type Faults } from '../loading/load.js';
import {
  type Api,
  type Callable,
  type CoreAction,
  coreActions,
  isCallable,
  type Members,
  type PlacedRoute,
  type ProjectCode,
} from '../loading/parts.js';
import type { Plugins } from '../plugins/plugins.js';
import { makeApart, noteAsked } from '../strapi-utils/guards.js';
import { CoreDefinition, definedBy, overCore } from './core.js';

export type ContentTypes = ReadonlyMap<Uid, EntryType>;

export interface Registry {
  controller(name: string): Members | undefined;
  service(name: string): Members | undefined;
  /**
   * A function, or an object that has it as `handler`, and perhaps a `validator` of configurations.
   * @param namespace what names without one belong to: `api::tool`.
   */
  policy(name: string, namespace: string): unknown;
  middleware(name: string, namespace: string): Callable | undefined;
  /** What the project has of either, by whole names. */
  namesOf(group: 'policies' | 'middlewares'): readonly string[];
  /** Those of the APIs, with what `register` has made of them. */
  readonly routers: readonly { readonly api: string; readonly place: string; readonly router: unknown }[];
  readonly pluginRoutes: readonly PlacedRoute[];
  /** What the server's own endpoints of plugins need permissions for, whether or not a route still leads there. */
  readonly pluginActions: readonly Action[];
  /** Those of `strapi.server.routes`. */
  readonly addedRoutes: AddedRoutes;
  /** Tells core routers of the types, those wrapped by the project's own objects too. */
  bindRouters(types: ContentTypes): void;
  /** Content types of the project's apis. */
  readonly apiTypes: readonly Uid[];
  /** Whether files of the project route to the type. */
  hasRouter(uid: Uid): boolean;
  /** Whether the project has a file of the type's controller. */
  hasController(uid: Uid): boolean;
  /** Whether the action is the core's own: no controller replaces or wraps it. */
  isCoreAction(uid: Uid, action: string): boolean;
  /** Whether the core's own service does all that its controller asks of it for the action. */
  isCoreService(uid: Uid, action: CoreAction): boolean;
}

export interface RegistryDeps {
  readonly code: ProjectCode;
  readonly types: ContentTypes;
  readonly plugins: Plugins;
  readonly strapi: unknown;
  readonly coreController: (type: EntryType) => Members;
  readonly coreService: (type: EntryType) => Members;
  /** Takes those of files that name a type which is not there. */
  readonly faults: Faults;
  readonly coreRouters: readonly { readonly uid: Uid; bind(types: ContentTypes): void }[];
}

export const newRegistry = (deps: RegistryDeps): Registry => {
  const { code, types, plugins, strapi } = deps;
  for (const it of unknownTypes(code, types)) deps.faults.add(it);
  // `register` may look at their routes
  for (const it of deps.coreRouters) it.bind(types);
  const made = { controllers: new Map<string, Made>(), services: new Map<string, Made>() };

  const make = (kind: 'controllers' | 'services', name: string): Made | null => {
    const known = made[kind].get(name);
    if (known !== undefined) return asked(known);
    const { api, local } = placeOf(name);
    // one object for both spellings of its name, so that what code changes of it counts
    const kebab = `api::${kebabName(api)}.${kebabName(local)}`;
    if (kebab !== name && made[kind].has(kebab)) return asked(made[kind].get(kebab)!);
    const definition = apiOf(name)?.[kind].get(kebabName(local)) ?? coreDefinition(kind, [name, kebab]);
    // not kept: code may ask for any name
    if (definition === undefined) return null;
    noteAsked(definition);
    const result = { ...makeApart(definition, () => build(definition, kind, name)), definition };
    for (const it of [name, kebab]) made[kind].set(it, result);
    return result;
  };

  /** For the server itself, which keeps nothing of it. */
  const lookAt = (kind: 'controllers' | 'services', uid: Uid): Made | null => made[kind].get(uid) ?? make(kind, uid);

  const asked = (known: Made): Made => {
    noteAsked(known.definition);
    return known;
  };

  const apiOf = (name: string): Api | undefined => code.apis.get(kebabName(placeOf(name).api));

  /** That of a type without a file of its own: its routes name it. */
  const coreDefinition = (kind: 'controllers' | 'services', names: readonly string[]): CoreDefinition | undefined => {
    const uid = names.find((it) => it.startsWith('api::') && types.has(it));
    return uid === undefined
      ? undefined
      : new CoreDefinition(kind === 'controllers' ? 'controller' : 'service', uid, undefined);
  };

  const build = (definition: unknown, kind: 'controllers' | 'services', name: string): Built => {
    if (!(definition instanceof CoreDefinition)) return bound(definedBy(definition, strapi), kind);
    const type = types.get(definition.uid);
    if (!type) throw new CodeFault(`${name}: there is no content type "${definition.uid}"`);
    const core = kind === 'controllers' ? deps.coreController(type) : deps.coreService(type);
    const original = { ...core };
    if (definition.own === undefined) return { members: core, original };
    const own = overCore(core, definedBy(definition.own, strapi));
    if (kind === 'services') return { members: own, original };
    // the actions of the core are listed beside the project's own, whose object stays as it is: other servers may load it too
    const members: Record<string, unknown> = Object.assign(Object.create(own) as Members, original);
    for (const [action, it] of Object.entries(own)) members[action] = isCallable(it) ? it.bind(members) : it;
    return { members, original };
  };

  /** Actions are called without their object, so they are bound to it. */
  const bound = (members: Members, kind: 'controllers' | 'services'): Built => {
    if (kind === 'controllers')
      for (const [name, it] of Object.entries(members))
        if (isCallable(it)) (members as Record<string, unknown>)[name] = it.bind(members);
    return { members, original: null };
  };

  const named = (group: 'policies' | 'middlewares', name: string, namespace: string): unknown => {
    const full = name.includes('::') ? name : `${namespace}.${name}`;
    const [, scope = '', of = '', local = ''] = /^(global|api|plugin)::(?:([^.]+)\.)?(.+)$/.exec(full) ?? [];
    const found =
      scope === 'global'
        ? code[group].get(of === '' ? local : `${of}.${local}`)
        : scope === 'api'
          ? code.apis.get(kebabName(of))?.[group].get(local)
          : plugins[group](of, local);
    noteAsked(found);
    return found;
  };

  return {
    controller: (name) => {
      const [, plugin = '', local = ''] = /^plugin::([^.]+)\.(.+)$/.exec(name) ?? [];
      return plugin === '' ? make('controllers', name)?.members : plugins.controller(plugin, local);
    },
    service: (name) => {
      const [, plugin = '', local = ''] = /^plugin::([^.]+)\.(.+)$/.exec(name) ?? [];
      return plugin === '' ? make('services', name)?.members : plugins.service(plugin, local);
    },
    // v4 lets only policies be named without their api
    policy: (name, namespace) => named('policies', name, namespace),
    middleware: (name, namespace) => {
      const found = named('middlewares', name, namespace);
      return isCallable(found) ? found : undefined;
    },
    namesOf: (group) => [
      ...[...code[group].keys()].map((it) => `global::${it}`),
      ...[...code.apis.values()].flatMap((api) => [...api[group].keys()].map((it) => `api::${api.name}.${it}`)),
    ],
    get routers() {
      return [...code.apis.values()].flatMap(({ name, folder, routes, routeFiles }) =>
        Object.entries(routes).map(([key, router]) => ({
          api: name,
          // `register` may add some
          place: routeFiles.get(key) ?? `src/api/${folder}/routes`,
          router,
        })),
      );
    },
    // those that `register` adds too
    get pluginRoutes() {
      return plugins.routes;
    },
    pluginActions: plugins.actions,
    addedRoutes: plugins.added,
    bindRouters: (all) => {
      for (const it of deps.coreRouters) it.bind(all);
    },
    apiTypes: [...types.keys()].filter((uid) => uid.startsWith('api::')),
    // its router may lie in the folder of another API
    hasRouter: (uid) =>
      Object.keys(apiOf(uid)?.routes ?? {}).length > 0 || deps.coreRouters.some((it) => it.uid === uid),
    hasController: (uid) => apiOf(uid)?.controllers.has(kebabName(placeOf(uid).local)) === true,
    isCoreAction: (uid, action) => {
      const controller = lookAt('controllers', uid);
      return (
        (coreActions as readonly string[]).includes(action) && controller !== null && isOwnOfCore(controller, action)
      );
    },
    isCoreService: (uid, action) => {
      const service = lookAt('services', uid);
      return service === null || isOriginalFor(service, action);
    },
  };
};

interface Built {
  readonly members: Members;
  /** The members of the core below, as they were made: any code may replace them in `register` and later. Null without a core. */
  readonly original: Members | null;
}

interface Made extends Built {
  /** What a file of the project gives, or stands for one. */
  readonly definition: unknown;
}

/** Whether an action is the core's own: the project's files have none, and no code has put one in its place. */
const isOwnOfCore = ({ members, original }: Made, name: string): boolean =>
  original !== null && members[name] === original[name];

/**
 * Whether what an action asks of a service is the core's own still. Asked for every request, hence by name: in a loop over names each
 * member takes as long to find as all of them do here.
 */
const isOriginalFor = ({ members: now, original }: Made, action: CoreAction): boolean => {
  if (original === null) return false;
  switch (action) {
    case 'find':
      return isOriginalFind(now, original);
    case 'findOne':
      return now['findOne'] === original['findOne'] && now['getFetchParams'] === original['getFetchParams'];
    case 'create':
      return now['create'] === original['create'];
    case 'update':
      return (
        now['update'] === original['update'] &&
        now['createOrUpdate'] === original['createOrUpdate'] &&
        findsAsOriginal(now, original)
      );
    case 'delete':
      return now['delete'] === original['delete'] && findsAsOriginal(now, original);
  }
};

const isOriginalFind = (now: Members, original: Members): boolean =>
  now['find'] === original['find'] && now['getFetchParams'] === original['getFetchParams'];

/** Writes of a single type, which alone has `createOrUpdate`, find its entry first. */
const findsAsOriginal = (now: Members, original: Members): boolean =>
  original['createOrUpdate'] === undefined || isOriginalFind(now, original);

/** `api::tool.tool` by its parts; empty ones for any other name. */
const placeOf = (name: string): { readonly api: string; readonly local: string } => {
  const [, api = '', local = ''] = /^api::([^.]+)\.(.+)$/.exec(name) ?? [];
  return { api, local };
};

/**
 * What such a file says would be for no type, and the type would be served without it. A controller or service of a type that is
 * gone is neither: it may stay, as in v4.
 */
const unknownTypes = ({ namedTypes }: ProjectCode, types: ContentTypes): readonly CodeFault[] => {
  const known = [...types.keys()].filter((it) => it.startsWith('api::'));
  return namedTypes
    .filter((it) => !types.has(it.uid))
    .flatMap(({ file, what, uid }) => {
      const near = orNearest(uid, known);
      const [, api = '', local = ''] = /^src\/api\/([^/]+)\/(?:controllers|services)\/([^/]+)\.\w+$/.exec(file) ?? [];
      if (api !== '' && near === '' && !types.has(`api::${kebabName(api)}.${kebabName(local)}`)) return [];
      return new CodeFault(
        `${file}: ${what === 'lifecycles' ? 'these are lifecycles of' : what} "${uid}", and there is no such content type${near}; remove the file if it is of a type that is gone`,
      );
    });
};
