/** The plugins of v4 that the server stands for, as project code and extensions see them. */
import { accountEndpoints } from '../accounts/endpoints.js';
import type { Uid } from '../model/model.js';
import type { CodeConfig } from './config.js';
import { CodeFault } from './load.js';
import type { CodeContext, NativeEndpoints } from './native.js';
import {
  type Callable,
  type DeclaredRoute,
  isCallable,
  isMembers,
  type Members,
  type PlacedRoute,
  type RouteConfig,
} from './parts.js';
import {
  emailService,
  jwtService,
  localesService,
  type ServiceDeps,
  uploadService,
  userService,
} from './plugin-services.js';

/** A plugin as extensions get it, and change it. */
export interface PluginObject {
  controllers: Record<string, Record<string, unknown>>;
  /** Services, or functions of `{ strapi }` that make them. */
  services: Record<string, unknown>;
  routes: Record<string, { type?: string; prefix?: string; routes: DeclaredRoute[] }>;
  policies: Record<string, unknown>;
  middlewares: Record<string, unknown>;
  contentTypes: Record<string, { schema: Members; lifecycles?: unknown }>;
  register: unknown;
  bootstrap: unknown;
  destroy: unknown;
  config: (path: string, otherwise?: unknown) => unknown;
  service: (name: string) => unknown;
  controller: (name: string) => unknown;
}

export interface Plugins {
  /** As `strapi.plugins` and `strapi.plugin(name)` show them. */
  readonly byName: Readonly<Record<string, Members>>;
  controller(plugin: string, name: string): Members | undefined;
  service(plugin: string, name: string): Members | undefined;
  policies(plugin: string, name: string): unknown;
  middlewares(plugin: string, name: string): unknown;
  /** In their order, with those that extensions have added. One that they have removed answers a 404. */
  readonly routes: readonly PlacedRoute[];
  /** Lets the project's extensions change the plugins. @returns the hooks that they give to content types, by uid. */
  extend(extensions: ReadonlyMap<string, unknown>): Promise<ReadonlyMap<Uid, Members>>;
  /** Refuses extensions of services that the server would have to ask, and warns of others that it does not. */
  check(): void;
  /** `register`, `bootstrap` or `destroy` that extensions have given to plugins. */
  run(hook: 'register' | 'bootstrap' | 'destroy'): Promise<void>;
}

export interface PluginDeps extends ServiceDeps {
  readonly config: CodeConfig;
  /** The server's own endpoints. */
  readonly native: () => NativeEndpoints;
  /** Its types as the model has them, by the name after the dot of their uid. */
  readonly contentTypesOf: (plugin: string) => PluginObject['contentTypes'];
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
  const made = new Map<unknown, unknown>();
  const instanceOf = (definition: unknown): unknown => {
    if (!isCallable(definition)) return definition;
    if (!made.has(definition)) made.set(definition, definition({ strapi: deps.strapi() }));
    return made.get(definition);
  };
  const placeOf = (plugin: string, { method, path, config: given }: DeclaredRoute, prefix = `/${plugin}`): string =>
    `${method} ${given?.prefix ?? prefix}${path}`;

  const plugin = (
    name: string,
    services: Record<string, unknown>,
    endpoints: readonly Endpoint[] = [],
  ): PluginObject => {
    const controllers: PluginObject['controllers'] = {};
    for (const handler of new Set(endpoints.map((it) => it.handler))) {
      const [controller = '', action = ''] = handler.split('.');
      const answer = actionFor(endpoints.filter((it) => it.handler === handler));
      own.add(answer);
      controllers[controller] = { ...controllers[controller], [action]: answer };
    }
    const routes = endpoints.map(({ answer: _answer, ...route }): DeclaredRoute => route);
    for (const it of endpoints) served.set(placeOf(name, it), { plugin: name, handler: it.handler });
    const it: PluginObject = {
      controllers,
      services: Object.fromEntries(Object.entries(services).map(([key, service]) => [key, () => service])),
      routes: { 'content-api': { type: 'content-api', routes } },
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
    const { issue } = instanceOf(plugins['users-permissions']!.services['jwt']) as Members;
    return isCallable(issue) && issue !== jwt['issue'] ? issue : null;
  };
  const plugins: Record<string, PluginObject> = {
    'users-permissions': plugin('users-permissions', { user, jwt }, accountEndpointsOf(deps, issueOf)),
    email: plugin('email', { email }),
    upload: plugin('upload', { upload: uploadService(deps) }, fileEndpointsOf(deps)),
    i18n: plugin('i18n', { locales: localesService(deps) }, localeEndpointsOf(deps)),
  };
  plugins['users-permissions']!.middlewares['rateLimit'] =
    () =>
    async (ctx: object, next: () => Promise<void>): Promise<void> => {
      await deps.native().countAttempt(ctx);
      return next();
    };

  /** What code finds after the start: services and controllers themselves, and not what makes them. */
  const shown = (it: PluginObject): Members => ({
    ...it,
    get services() {
      return lazily(it.services, instanceOf);
    },
    get controllers() {
      return lazily(it.controllers, instanceOf);
    },
    contentType: (name: string) => it.contentTypes[name]?.schema,
    policy: (name: string) => it.policies[name],
  });

  return {
    byName: {
      ...Object.fromEntries(Object.entries(plugins).map(([name, it]) => [name, shown(it)])),
      // below the service, as code calls it that has its own
      email: Object.assign(shown(plugins['email']!), { provider: { send: email.send } }),
    },
    controller: (name, of) => plugins[name]?.controller(of) as Members | undefined,
    service: (name, of) => plugins[name]?.service(of) as Members | undefined,
    policies: (name, of) => plugins[name]?.policies[of],
    middlewares: (name, of) => plugins[name]?.middlewares[of],
    get routes() {
      const issuesOwnTokens = issueOf() !== null;
      const isUntouched = (name: string, route: DeclaredRoute, prefix: string | undefined): boolean => {
        const { handler, config: given = {} } = route;
        if (typeof handler !== 'string' || served.get(placeOf(name, route, prefix))?.handler !== handler) return false;
        if (issuesOwnTokens && handler.startsWith('auth.')) return false;
        const [controller = '', action = ''] = handler.split('.');
        const guards = [...(given.policies ?? []), ...(given.middlewares ?? [])].filter((it) => it !== RATE_LIMIT);
        const members = plugins[name]!.controller(controller) as Members | undefined;
        return own.has(members?.[action]) && guards.length === 0 && given.auth === undefined;
      };
      const all = Object.entries(plugins).flatMap(([name, { routes }]) =>
        Object.values(routes).flatMap(({ routes: listed, type, prefix }) =>
          listed.map((declared) => ({ name, declared, type, prefix })),
        ),
      );
      const still = new Set(all.map(({ name, declared, prefix }) => placeOf(name, declared, prefix)));
      const gone = [...served].filter(([place]) => !still.has(place));
      // the server's own router would choose one that is gone before another that matches too
      const isChosenHere = (name: string, { method }: DeclaredRoute): boolean =>
        !gone.some(([place, { plugin: of }]) => of === name && place.startsWith(`${method} `));
      const placed = all.map(({ name, declared, type, prefix }) => ({
        declared,
        prefix: prefix ?? `/${name}`,
        namespace: `plugin::${name}`,
        info: { pluginName: name, type: type ?? 'content-api' },
        isNative: isUntouched(name, declared, prefix) && isChosenHere(name, declared),
      }));
      const removed = gone.map(([place, { plugin: name }]) => {
        const [method = '', path = ''] = place.split(' ');
        return {
          declared: { method, path, handler: notFound, config: { auth: false as const } },
          prefix: '',
          namespace: `plugin::${name}`,
          info: {},
          isNative: false,
        };
      });
      return [...placed, ...removed];
    },
    extend: async (extensions) => {
      const hooks = new Map<Uid, Members>();
      for (const [name, extension] of extensions) {
        const known = plugins[name];
        if (!known)
          throw new CodeFault(`src/extensions/${name}: the plugin ${name} is not one that this server stands for`);
        const before = schemasOf(known);
        const changed = isCallable(extension) ? await extension(known) : extension;
        if (isMembers(changed) && changed !== (known as unknown)) Object.assign(known, changed);
        if (schemasOf(known) !== before)
          throw new CodeFault(
            `src/extensions/${name}/strapi-server: content types are not changed by code here; put the whole schema into src/extensions/${name}/content-types/NAME/schema.json`,
          );
        for (const [type, { lifecycles }] of Object.entries(known.contentTypes))
          if (isMembers(lifecycles)) hooks.set(`plugin::${name}.${type}`, lifecycles);
      }
      return hooks;
    },
    check: () => {
      const at = 'src/extensions/users-permissions/strapi-server';
      const replaced = (service: string, given: Members): readonly string[] => {
        const now = instanceOf(plugins['users-permissions']!.services[service]) as Members;
        return Object.keys(given).filter((name) => now[name] !== given[name]);
      };
      const reading = replaced('jwt', jwt).filter((it) => it !== 'issue');
      if (reading.length > 0)
        throw new CodeFault(
          `${at}: it replaces ${reading.map((it) => `services.jwt.${it}`).join(' and ')}, which decide who a request is from, and the server reads tokens by itself: set the header Authorization in a middleware instead`,
        );
      const unasked = replaced('user', user).filter((it) => it !== 'fetchAuthenticatedUser');
      if (unasked.length > 0)
        deps.warn(
          `${at}: the server's own endpoints of users do not call ${unasked.map((it) => `services.user.${it}`).join(', ')}; lifecycles of the user, and wrapped actions, see what they do`,
        );
    },
    run: async (hook) => {
      for (const { [hook]: work } of Object.values(plugins))
        if (isCallable(work)) await work({ strapi: deps.strapi() });
    },
  };
};

const schemasOf = ({ contentTypes }: PluginObject): string =>
  JSON.stringify(Object.entries(contentTypes).map(([name, { schema }]) => [name, schema]));

const lazily = (definitions: Members, make: (definition: unknown) => unknown): object =>
  Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(definitions).map(([name, it]) => [name, { enumerable: true, get: () => make(it) }]),
    ),
  ) as object;

const notFound = (ctx: unknown): void => (ctx as { notFound(): void }).notFound();
