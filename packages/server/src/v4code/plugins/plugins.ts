/** The plugins of v4 that the server stands for, as project code and extensions see them. */
import type { Action } from '../../access/permissions.js';
import type { CodeKind, RawCodes } from '../../accounts/codes.js';
import { accountEndpoints } from '../../accounts/endpoints.js';
import type { Uid } from '../../model/model.js';
import { type AddedRoutes, declaredRoutes, newAddedRoutes } from '../added-routes.js';
import type { CodeConfig } from '../loading/config.js';
import { CodeFault, type Faults } from '../loading/load.js';
import {
  type Callable,
  type DeclaredRoute,
  type Extension,
  type Extensions,
  isCallable,
  isMembers,
  type Members,
  type PlacedRoute,
  prefixOf,
  type RouteConfig,
} from '../loading/parts.js';
import type { CodeContext, NativeEndpoints } from '../native.js';
import { makeApart, noteAsked } from '../strapi-utils/guards.js';
import { type AbsentPlugin, absentControllers, absentPlugins, absentServices, standIn } from './absent.js';
import {
  extendPlugin,
  type OwnService,
  type PluginObject,
  type PluginRouter,
  replacedMembers,
  unreadOf,
} from './extensions.js';
import { type RoleServiceDeps, roleService } from './role-service.js';
import {
  emailService,
  jwtService,
  localesService,
  type ServiceDeps,
  templateService,
  userService,
} from './services.js';
import { uploadService } from './upload-service.js';

export interface Plugins {
  /** As `strapi.plugins` and `strapi.plugin(name)` show them. */
  readonly byName: Readonly<Record<string, Members>>;
  controller(plugin: string, name: string): Members | undefined;
  service(plugin: string, name: string): Members | undefined;
  /** The error of what has such a uid, if that is of a plugin that v4 would have and that does not run here; null for others. */
  absent(uid: string): Error | null;
  policies(plugin: string, name: string): unknown;
  middlewares(plugin: string, name: string): unknown;
  /** In their order, with those that extensions and `register` have added. One that they have removed answers a 404. */
  readonly routes: readonly PlacedRoute[];
  /** What the server's own endpoints need permissions for: `plugin::upload.content-api.find`. An extension may have removed the routes. */
  readonly actions: readonly Action[];
  /** Those of `strapi.server.routes`, which v4's plugins use too. */
  readonly added: AddedRoutes;
  /** Lets the project's extensions change the plugins. @param faults takes theirs. @returns the hooks that they give to content types, by uid. */
  extend(extensions: Extensions, faults: Faults): Promise<ReadonlyMap<Uid, Members>>;
  /** Refuses extensions of services that the server would have to ask, and warns of others that it does not ask. */
  check(): void;
  /** The codes of mails that code looks for by itself, since it has replaced the action that takes them; the log tells. */
  rawCodes(): RawCodes;
  /** `register`, `bootstrap` or `destroy` that extensions have given to plugins. */
  run(hook: 'register' | 'bootstrap' | 'destroy'): Promise<void>;
}

export interface PluginDeps extends ServiceDeps, Pick<RoleServiceDeps, 'offered'> {
  readonly config: CodeConfig;
  /** The server's own endpoints. */
  readonly native: () => NativeEndpoints;
  /** Its types as the model has them, by the name after the dot of their uid. */
  readonly contentTypesOf: (plugin: string) => PluginObject['contentTypes'];
  /** The same as code finds them, which cannot be changed. */
  readonly shownTypesOf: (plugin: string) => Members;
  /** Takes what an extension says of a type, for whoever describes it. */
  readonly say: (uid: Uid, said: Members) => void;
  /** What code reports to a plugin that would. */
  readonly onFault: (fault: unknown) => void;
  /** What services that are functions are given. */
  readonly strapi: () => unknown;
}

/** An endpoint of the server as a plugin's: a route, and the action that answers. */
interface Endpoint {
  readonly method: string;
  /** Below the prefix. */
  readonly path: string;
  /** `auth.callback`. */
  readonly handler: string;
  readonly config?: RouteConfig;
  readonly answer: (ctx: CodeContext) => Promise<void>;
}

/** Services that the server itself asks, so that replacing them has its effect. */
const asked: readonly string[] = ['services.jwt.issue', 'services.user.fetchAuthenticatedUser'];

/** The actions that take codes of mails. */
const takers: Readonly<Record<CodeKind, string>> = {
  reset: 'auth.resetPassword',
  confirmation: 'auth.emailConfirmation',
};

const RATE_LIMIT = 'plugin::users-permissions.rateLimit';

const accountEndpointsOf = ({ native }: PluginDeps, issueOf: () => Callable | null): readonly Endpoint[] =>
  accountEndpoints.map((endpoint) => {
    const { method, path, permission, counted } = endpoint;
    const isBelow = path.startsWith('/users-permissions/');
    return {
      method,
      path: (isBelow ? path.slice('/users-permissions'.length) : path).replace(/\*$/, '(.*)'),
      handler: permission,
      config: { ...(isBelow ? {} : { prefix: '' }), ...(counted ? { middlewares: [RATE_LIMIT] } : {}) },
      answer: async (ctx) => {
        await native().answerAccount(ctx, endpoint);
        const { body } = ctx;
        const issue = issueOf();
        if (!issue || !isMembers(body) || !isMembers(body['user']) || typeof body['jwt'] !== 'string') return;
        ctx.body = { ...body, jwt: await issue({ id: body['user']['id'] }) };
      },
    };
  });

const fileEndpointsOf = ({ native }: PluginDeps): readonly Endpoint[] =>
  (
    [
      ['POST', '/', 'upload', 'upload'],
      ['GET', '/files', 'find', 'find'],
      ['GET', '/files/count', 'find', 'count'],
      ['GET', '/files/:id', 'findOne', 'findOne'],
      ['DELETE', '/files/:id', 'destroy', 'destroy'],
    ] as const
  ).map(([method, path, handler, action]) => ({
    method,
    path,
    handler: `content-api.${handler}`,
    answer: (ctx) => native().answerFiles(ctx, action),
  }));

const localeEndpointsOf = ({ locales }: PluginDeps): readonly Endpoint[] => [
  {
    method: 'GET',
    path: '/locales',
    handler: 'locales.listLocales',
    answer: async (ctx) => {
      ctx.body = await locales();
    },
  },
];

/** The action of a controller: endpoints may share it, and the route of the request tells which is meant. */
const actionFor =
  (endpoints: readonly Endpoint[]) =>
  (ctx: CodeContext): Promise<void> => {
    const route = ctx.state['route'] as Partial<DeclaredRoute> | undefined;
    const meant = endpoints.find(({ method, path }) => method === route?.method && path === route.path);
    return (meant ?? endpoints[0]!).answer(ctx);
  };

const nothing = async (): Promise<void> => undefined;

export const newPlugins = (deps: PluginDeps): Plugins => {
  const { config } = deps;
  /** Actions of the server as they are. */
  const own = new Set<unknown>();
  /** The server's own endpoints, as method and path. */
  const served = new Map<string, { readonly plugin: string; readonly handler: string }>();
  /** Services as they are without extensions, by plugin and name. */
  const original = new Map<string, ReadonlyMap<string, OwnService>>();
  const extended = new Map<string, Extension>();
  const absent = new Map<string, AbsentPlugin>();
  const made = new Map<unknown, unknown>();
  const instanceOf = (definition: unknown): unknown => {
    if (!isCallable(definition)) return definition;
    noteAsked(definition);
    if (!made.has(definition))
      made.set(
        definition,
        makeApart(definition, () => definition({ strapi: deps.strapi() })),
      );
    return made.get(definition);
  };
  const placeOf = (plugin: string, declared: DeclaredRoute, prefix = `/${plugin}`): string =>
    `${declared.method} ${prefixOf(declared, prefix)}${declared.path}`;

  const plugin = (
    name: string,
    services: Record<string, unknown>,
    endpoints: readonly Endpoint[] = [],
  ): PluginObject => {
    const controllers: PluginObject['controllers'] = Object.fromEntries(
      (absentControllers[name] ?? []).map((key) => [key, standIn(`strapi.plugin('${name}').controller('${key}')`)]),
    );
    for (const handler of new Set(endpoints.map((it) => it.handler))) {
      const [controller = '', action = ''] = handler.split('.');
      const answer = actionFor(endpoints.filter((it) => it.handler === handler));
      own.add(answer);
      controllers[controller] = { ...controllers[controller], [action]: answer };
    }
    const routes = endpoints.map(({ answer: _answer, ...route }): DeclaredRoute => route);
    for (const it of endpoints) served.set(placeOf(name, it), { plugin: name, handler: it.handler });
    const ownServices = new Map<string, OwnService>([
      // extensions may change what a definition makes
      ...Object.entries(services).map(
        ([key, it]) => [key, { definition: () => ({ ...(it as Members) }), members: it as Members }] as const,
      ),
      ...(absentServices[name] ?? []).map(
        (key) =>
          [key, { definition: () => standIn(`strapi.plugin('${name}').service('${key}')`), members: null }] as const,
      ),
    ]);
    original.set(name, ownServices);
    const it: PluginObject = {
      controllers,
      services: Object.fromEntries([...ownServices].map(([key, { definition }]) => [key, definition])),
      routes: { 'content-api': { type: 'content-api', routes }, admin: { type: 'admin', routes: [] } },
      policies: {},
      middlewares: {},
      contentTypes: deps.contentTypesOf(name),
      register: nothing,
      bootstrap: nothing,
      destroy: nothing,
      config: (path, otherwise) => config.get(`plugin.${name}.${path}`, otherwise),
      service: (key) => instanceOf(it.services[key]),
      controller: (key) => instanceOf(it.controllers[key]),
    };
    return it;
  };
  const jwt = jwtService(deps);
  const user = userService(deps);
  const email = emailService(deps);
  const issueOf = (): Callable | null => {
    const service = instanceOf(plugins['users-permissions']!.services['jwt']);
    const { issue } = isMembers(service) ? service : {};
    return isCallable(issue) && issue !== jwt['issue'] ? issue : null;
  };
  const plugins: Record<string, PluginObject> = {
    'users-permissions': plugin(
      'users-permissions',
      { user, jwt, role: roleService(deps), 'users-permissions': templateService() },
      accountEndpointsOf(deps, issueOf),
    ),
    email: plugin('email', { email }),
    upload: plugin('upload', { upload: uploadService(deps) }, fileEndpointsOf(deps)),
    i18n: plugin('i18n', { locales: localesService(deps) }, localeEndpointsOf(deps)),
  };
  const users = plugins['users-permissions']!;
  const rateLimit =
    () =>
    async (ctx: object, next: () => Promise<void>): Promise<void> => {
      await deps.native().countAttempt(ctx);
      return next();
    };
  users.middlewares['rateLimit'] = rateLimit;

  /** What code finds after the start: services and controllers themselves, and not what makes them. */
  const shown = (name: string, it: PluginObject): Members => ({
    ...it,
    get contentTypes() {
      return deps.shownTypesOf(name);
    },
    get services() {
      return lazily(it.services, instanceOf);
    },
    get controllers() {
      return lazily(it.controllers, instanceOf);
    },
    contentType: (of: string) => (deps.shownTypesOf(name)[of] as Members | undefined)?.['schema'],
    policy: (name: string) => it.policies[name],
  });

  const byName: Record<string, Members> = {
    ...Object.fromEntries(Object.entries(plugins).map(([name, it]) => [name, shown(name, it)])),
    // below the service, as code calls it that has its own
    email: Object.assign(shown('email', plugins['email']!), { provider: { send: email.send } }),
  };

  /** Whoever may have replaced a part of a plugin: an extension, if there is one. */
  const placeOfChange = (name: string): string => extended.get(name)?.file ?? 'the code of the project';

  /** Members that the log has told of: `check` runs again once more code has run. */
  const told = new Set<string>();
  const untold = (plugin: string, members: readonly string[]): readonly string[] => {
    const fresh = members.filter((it) => !told.has(`${plugin} ${it}`));
    for (const it of fresh) told.add(`${plugin} ${it}`);
    return fresh;
  };
  /** What an extension, `register` or `bootstrap` has replaced of the services of a plugin. */
  const replacedOf = (name: string): readonly string[] =>
    [...original.get(name)!].flatMap(([service, own]) => {
      const now = plugins[name]!.services[service];
      try {
        return replacedMembers(service, own, { now, made: instanceOf(now) });
      } catch (fault) {
        throw extended.get(name)?.failed(fault, `services.${service} cannot be made`) ?? fault;
      }
    });
  /** The server reads tokens by itself: another way to read them would be missed. */
  const refuseReaders = (): void => {
    const reading = replacedOf('users-permissions').filter(
      (it) => it.startsWith('services.jwt.') && !asked.includes(it),
    );
    if (reading.length === 0) return;
    throw new CodeFault(
      `${placeOfChange('users-permissions')}: it replaces ${reading.join(' and ')}, which decide who a request is from, and the server reads tokens by itself: set the header Authorization in a middleware instead`,
    );
  };

  const placeOfRoutes = (name: string): string => extended.get(name)?.file ?? `the plugin ${name}`;

  /** With the routes that extensions have added and changed. */
  const declaredNow = () =>
    Object.entries(plugins).flatMap(([name, { routes }]) => {
      const place = placeOfRoutes(name);
      return routersIn(routes).flatMap((router) => {
        // as in v4
        const { type = 'admin', prefix } = isMembers(router) ? (router as Partial<PluginRouter>) : {};
        return declaredRoutes(router, `${place}: routes`).map((declared) => ({ name, declared, type, prefix }));
      });
    });
  /** Whether another action answers than the server's: under its name, or at its path. */
  const isReplaced = (handler: string): boolean => {
    const [controller = '', action = ''] = handler.split('.');
    const members = users.controller(controller) as Members | undefined;
    if (!own.has(members?.[action])) return true;
    return declaredNow().some(({ name, declared, prefix }) => {
      const usual = served.get(placeOf(name, declared, prefix));
      const isUsual = declared.handler === handler || declared.handler === `plugin::${name}.${handler}`;
      return usual?.handler === handler && !isUsual;
    });
  };

  const added = newAddedRoutes(deps.warn);
  return {
    byName,
    actions: [...served.values()].map(({ plugin: name, handler }) => `plugin::${name}.${handler}`),
    added,
    controller: (name, of) => plugins[name]?.controller(of) as Members | undefined,
    service: (name, of) =>
      (plugins[name] ?? (absent.get(name)?.shown as PluginObject | undefined))?.service(of) as Members | undefined,
    absent: (uid) => {
      const [, name = ''] = /^plugin::([^.]+)\./.exec(uid) ?? [];
      const why = absent.get(name)?.why ?? null;
      return why === null ? null : new Error(`${uid}: ${why}`);
    },
    policies: (name, of) => plugins[name]?.policies[of],
    middlewares: (name, of) => plugins[name]?.middlewares[of],
    get routes() {
      refuseReaders();
      const issuesOwnTokens = issueOf() !== null;
      const isUntouched = (name: string, route: DeclaredRoute, prefix: string | undefined): boolean => {
        const { handler, config: given = {} } = route;
        if (typeof handler !== 'string' || served.get(placeOf(name, route, prefix))?.handler !== handler) return false;
        if (issuesOwnTokens && handler.startsWith('auth.')) return false;
        const [controller = '', action = ''] = handler.split('.');
        // the server limits attempts by itself, unless the middleware is another one now
        const isLimit = (it: unknown): boolean => it === RATE_LIMIT && users.middlewares['rateLimit'] === rateLimit;
        const guards = [...(given.policies ?? []), ...(given.middlewares ?? [])].filter((it) => !isLimit(it));
        const members = plugins[name]!.controller(controller) as Members | undefined;
        return own.has(members?.[action]) && guards.length === 0 && given.auth === undefined;
      };
      const all = declaredNow();
      const still = new Set(
        all.filter(({ type }) => type !== 'admin').map(({ name, declared, prefix }) => placeOf(name, declared, prefix)),
      );
      const gone = [...served].filter(([place]) => !still.has(place));
      // the server's own router would choose one that is gone before another that matches too
      const isChosenHere = (name: string, { method }: DeclaredRoute): boolean =>
        !gone.some(([place, { plugin: of }]) => of === name && place.startsWith(`${method} `));
      const placed = all.map(({ name, declared, type, prefix }) => ({
        declared,
        place: placeOfRoutes(name),
        prefix: prefix ?? `/${name}`,
        namespace: `plugin::${name}`,
        info: { pluginName: name, type },
        isNative: isUntouched(name, declared, prefix) && isChosenHere(name, declared),
      }));
      const removed = gone.map(([place, { plugin: name }]) => {
        const [method = '', path = ''] = place.split(' ');
        return {
          declared: { method, path, handler: notFound, config: { auth: false as const } },
          place: placeOfRoutes(name),
          prefix: '',
          namespace: `plugin::${name}`,
          info: {},
          isNative: false,
        };
      });
      return [...placed, ...removed];
    },
    extend: async ({ byPlugin, skipped, installed }, faults) => {
      for (const [name, plugin] of absentPlugins({
        config,
        installed,
        served: Object.keys(plugins),
        warn: deps.warn,
        onFault: deps.onFault,
      })) {
        absent.set(name, plugin);
        // code that goes through all plugins does not meet them
        Object.defineProperty(byName, name, { value: plugin.shown, enumerable: false });
      }
      for (const file of skipped) deps.warn(`${file} is not run: the server does not stand for this plugin of v4`);
      const hooks = new Map<Uid, Members>();
      for (const [name, extension] of byPlugin) {
        extended.set(name, extension);
        const given = await faults.keepAsync(() => extendPlugin({ name, plugin: plugins[name]!, extension }));
        if (!given) continue;
        for (const [uid, it] of given) hooks.set(uid, it);
        for (const [type, { schema }] of Object.entries(plugins[name]!.contentTypes))
          deps.say(`plugin::${name}.${type}`, unreadOf(schema));
      }
      return hooks;
    },
    check: () => {
      refuseReaders();
      for (const name of Object.keys(plugins)) {
        const unasked = untold(
          name,
          replacedOf(name).filter((it) => !asked.includes(it)),
        );
        if (unasked.length > 0)
          deps.warn(
            `${placeOfChange(name)}: the server itself does not call ${unasked.join(', ')} of ${name}; lifecycles, and wrapped actions, see what it does`,
          );
      }
      for (const [name, { file }] of extended) {
        const changed = (absentControllers[name] ?? []).filter(
          (it) => Object.keys(plugins[name]!.controllers[it] ?? {}).length > 0,
        );
        const ofPanel = untold(
          name,
          changed.map((it) => `controllers.${it}`),
        );
        if (ofPanel.length > 0)
          deps.warn(
            `${file}: ${ofPanel.join(', ')}: v4's admin panel calls these, and nothing here but routes that name them`,
          );
      }
    },
    rawCodes: () => {
      const raw = { reset: isReplaced(takers.reset), confirmation: isReplaced(takers.confirmation) };
      const replaced = (['reset', 'confirmation'] as const).filter((kind) => raw[kind]).map((kind) => takers[kind]);
      if (replaced.length > 0)
        deps.warn(
          `${placeOfChange('users-permissions')}: it replaces ${replaced.join(' and ')}, so the codes that it takes are stored as they are mailed, as in v4, and not as digests: whoever can read the database can use them`,
        );
      return raw;
    },
    run: async (hook) => {
      for (const { [hook]: work } of Object.values(plugins))
        if (isCallable(work)) await work({ strapi: deps.strapi() });
    },
  };
};

/** v4 takes a list for routes of the admin panel. */
const routersIn = (routes: unknown): readonly unknown[] => {
  if (Array.isArray(routes)) return [{ type: 'admin', routes: routes as unknown }];
  return isMembers(routes) ? Object.values(routes) : [];
};

const lazily = (definitions: Members, make: (definition: unknown) => unknown): object =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(definitions).map(([name, it]) => [name, { enumerable: true, get: () => make(it) }]),
    ),
  ) as object;

const notFound = (ctx: unknown): void => (ctx as { notFound(): void }).notFound();
