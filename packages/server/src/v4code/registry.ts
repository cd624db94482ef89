/** Controllers, services, policies and middlewares by v4's names: `api::tool.tool`, `global::is-member`, `plugin::upload.upload`. */
import type { EntryType, Uid } from '../model/model.js';
import type { AddedRoutes } from './added-routes.js';
import { CoreDefinition, definedBy, overCore } from './core.js';
import { CodeFault } from './load.js';
import { type Callable, coreActions, isCallable, type Members, type PlacedRoute, type ProjectCode } from './parts.js';
import type { Plugins } from './plugins.js';

export type ContentTypes = ReadonlyMap<Uid, EntryType>;

export interface Registry {
  controller(name: string): Members | undefined;
  service(name: string): Members | undefined;
  /** @param namespace what names without one belong to: `api::tool`. */
  policy(name: string, namespace: string): Callable | undefined;
  middleware(name: string, namespace: string): Callable | undefined;
  readonly routers: readonly { readonly api: string; readonly router: unknown }[];
  readonly pluginRoutes: readonly PlacedRoute[];
  /** Those of `strapi.server.routes`. */
  readonly addedRoutes: AddedRoutes;
  /** Tells core routers of the types, those wrapped by the project's own objects too. */
  bindRouters(types: ContentTypes): void;
  /** Content types of the project's apis. */
  readonly apiTypes: readonly Uid[];
  /** Whether files of the project route to the type. */
  hasRouter(uid: Uid): boolean;
  /** Whether the action is the core's own: no controller replaces or wraps it. */
  isCoreAction(uid: Uid, action: string): boolean;
  /** Whether the service is the core's own. */
  isCoreService(uid: Uid): boolean;
}

export interface RegistryDeps {
  readonly code: ProjectCode;
  readonly types: ContentTypes;
  readonly plugins: Plugins;
  readonly strapi: unknown;
  readonly coreController: (type: EntryType) => Members;
  readonly coreService: (type: EntryType) => Members;
  readonly coreRouters: readonly { bind(types: ContentTypes): void }[];
}

export const newRegistry = (deps: RegistryDeps): Registry => {
  const { code, types, plugins, strapi } = deps;
  type Made = { readonly members: Members; readonly own: Members | null };
  const made = { controllers: new Map<string, Made>(), services: new Map<string, Made>() };

  const make = (kind: 'controllers' | 'services', name: string) => {
    const known = made[kind].get(name);
    if (known !== undefined) return known;
    const [, api = '', local = ''] = /^api::([^.]+)\.(.+)$/.exec(name) ?? [];
    const definition = code.apis.get(api)?.[kind].get(local) ?? coreDefinition(kind, name);
    // not kept: code may ask for any name
    if (definition === undefined) return null;
    const result = build(definition, kind, name);
    made[kind].set(name, result);
    return result;
  };

  /** That of a type without a file of its own: its routes name it. */
  const coreDefinition = (kind: 'controllers' | 'services', uid: string): CoreDefinition | undefined =>
    uid.startsWith('api::') && types.has(uid)
      ? new CoreDefinition(kind === 'controllers' ? 'controller' : 'service', uid, undefined)
      : undefined;

  const build = (definition: unknown, kind: 'controllers' | 'services', name: string) => {
    if (!(definition instanceof CoreDefinition)) return bound(definedBy(definition, strapi), kind);
    const type = types.get(definition.uid);
    if (!type) throw new CodeFault(`${name}: there is no content type "${definition.uid}"`);
    const core = kind === 'controllers' ? deps.coreController(type) : deps.coreService(type);
    if (definition.own === undefined) return { members: core, own: null };
    return bound(overCore(core, definedBy(definition.own, strapi)), kind);
  };

  /** Actions are called without their object, so they are bound to it. */
  const bound = (members: Members, kind: 'controllers' | 'services') => {
    if (kind === 'controllers')
      for (const [name, it] of Object.entries(members))
        if (isCallable(it)) (members as Record<string, unknown>)[name] = it.bind(members);
    return { members, own: members };
  };

  const named = (group: 'policies' | 'middlewares', name: string, namespace: string): Callable | undefined => {
    const full = name.includes('::') ? name : `${namespace}.${name}`;
    const [, scope = '', of = '', local = ''] = /^(global|api|plugin)::(?:([^.]+)\.)?(.+)$/.exec(full) ?? [];
    const found =
      scope === 'global'
        ? code[group].get(of === '' ? local : `${of}.${local}`)
        : scope === 'api'
          ? code.apis.get(of)?.[group].get(local)
          : plugins[group](of, local);
    return isCallable(found) ? found : undefined;
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
    // a policy may be named without its api, a middleware not
    policy: (name, namespace) => named('policies', name, namespace),
    middleware: (name, namespace) => named('middlewares', name, namespace),
    routers: [...code.apis.values()].flatMap(({ name, routers }) => routers.map((router) => ({ api: name, router }))),
    // those that `register` adds too
    get pluginRoutes() {
      return plugins.routes;
    },
    addedRoutes: plugins.added,
    bindRouters: (all) => {
      for (const it of deps.coreRouters) it.bind(all);
    },
    apiTypes: [...types.keys()].filter((uid) => uid.startsWith('api::')),
    hasRouter: (uid) => {
      const [, api = ''] = /^api::([^.]+)\./.exec(uid) ?? [];
      return (code.apis.get(api)?.routers.length ?? 0) > 0;
    },
    isCoreAction: (uid, action) => {
      const controller = make('controllers', uid);
      return (
        (coreActions as readonly string[]).includes(action) &&
        controller !== null &&
        (controller.own === null || !Object.hasOwn(controller.own, action))
      );
    },
    isCoreService: (uid) => {
      const service = make('services', uid);
      return service === null || service.own === null;
    },
  };
};
