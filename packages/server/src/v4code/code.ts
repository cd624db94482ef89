/** A v4 project's code, loaded and bound to a site: its routes, its hooks, and its start. */
import type { FastifyBaseLogger } from 'fastify';
import type { Middleware } from 'koa';
import type { Caller } from '../access/access.js';
import type { MailSender } from '../accounts/mail.js';
import { USER_UID } from '../model/model.js';
import type { Site } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { HooksOf } from '../write/request.js';
import { type CodeConfig, newEnv, readCodeConfig } from './config.js';
import { newCoreController, newCoreService, type RestLimits } from './core.js';
import { type Entity, newEntities } from './entities.js';
import { newEntityService } from './entity-service.js';
import { hooksOf } from './hooks.js';
import { newLifecycles, type Operated } from './lifecycles.js';
import { CodeFault, newLoader } from './load.js';
import type { CodeContext, Native } from './native.js';
import { newPackages, type PackageSite } from './packages.js';
import { type CoreAction, isCallable, isMembers, type Members } from './parts.js';
import { newPlugins } from './plugins.js';
import { readProjectCode } from './read.js';
import { newRegistry, type Registry } from './registry.js';
import { newRouteTable, type RouteTable } from './routes.js';
import { newStrapi, type Strapi } from './strapi.js';
import { newViews } from './views.js';

export interface CodeOptions {
  readonly dir: string;
  /** Environment variables, those of `.env` included. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** `NODE_ENV`. */
  readonly environment: string;
}

/** The configuration of a v4 project and its code, as they were loaded. Nothing has run but the modules themselves. */
export interface LoadedCode {
  readonly config: CodeConfig;
  bind(binding: Binding): Promise<BoundCode>;
}

export interface Binding {
  readonly db: Db;
  readonly model: Site['model'];
  readonly mail: MailSender;
  readonly log: FastifyBaseLogger;
  readonly rest: RestLimits;
  /** Of the content API: `/api`. */
  readonly prefix: string;
  readonly jwtSecret: string;
  readonly jwtSeconds: number;
}

export interface BoundCode {
  /** For the site's writer. */
  readonly hooks: HooksOf;
  /** The whole row with its role, as `ctx.state.user` has it. */
  readonly findUser: (id: number) => Promise<Entity | null>;
  /** Middlewares of `config/middlewares` that are the project's own, in order; they see every request. */
  readonly globals: readonly Middleware[];
  readonly table: RouteTable;
  /** `app.keys` of `config/server`, which sign cookies. */
  readonly cookieKeys: readonly string[];
  /** To be called once the site exists, before anything else: `register`, `bootstrap`. */
  start(site: Site, native: Native & NativeRoutes): Promise<void>;
  /** `destroy`. */
  stop(): Promise<void>;
}

export interface NativeRoutes {
  /** Sets `ctx.state.auth` and `ctx.state.user`. */
  authenticate(ctx: object): Promise<Caller>;
  skipAuthentication(ctx: object): void;
  callerOfAuth(auth: unknown): Caller | null;
  answerNatively(ctx: CodeContext): Promise<void>;
}

export const loadCode = async ({ dir, variables, environment }: CodeOptions): Promise<LoadedCode> => {
  let site: PackageSite | null = null;
  const bound = (): PackageSite => {
    if (!site) throw new CodeFault('the server has not started yet: use this inside a function');
    return site;
  };
  const yup = await import('yup');
  const packages = newPackages(variables, bound, yup);
  const load = await newLoader(dir, packages.modules);
  const config = await readCodeConfig({ dir, env: newEnv(variables), environment, load });

  const bind = async (binding: Binding): Promise<BoundCode> => {
    const { model, db, log, rest } = binding;
    const api = (config.tree['api'] ?? {}) as Record<string, unknown>;
    config.tree['api'] = {
      ...api,
      rest: { prefix: binding.prefix, ...rest, ...(isMembers(api['rest']) ? api['rest'] : {}) },
    };
    // modules may use the global `strapi` while they are loaded
    const hold: {
      strapi: Strapi | null;
      site: Site | null;
      native: (Native & NativeRoutes) | null;
      registry: Registry | null;
    } = {
      strapi: null,
      site: null,
      native: null,
      registry: null,
    };
    const started = <T>(value: T | null, what: string): T => {
      if (value === null) throw new CodeFault(`${what} is not available before bootstrap`);
      return value;
    };
    const nativeLater: Native & NativeRoutes = {
      perform: (...given) => started(hold.native, 'the content API').perform(...given),
      validateQuery: (...given) => started(hold.native, 'the content API').validateQuery(...given),
      queryOf: (ctx) => started(hold.native, 'the content API').queryOf(ctx),
      allowedQuery: (...given) => started(hold.native, 'the content API').allowedQuery(...given),
      callerOf: (ctx) => started(hold.native, 'the content API').callerOf(ctx),
      refuse: (code) => started(hold.native, 'the content API').refuse(code),
      authenticate: (ctx) => started(hold.native, 'the content API').authenticate(ctx),
      skipAuthentication: (ctx) => started(hold.native, 'the content API').skipAuthentication(ctx),
      callerOfAuth: (auth) => started(hold.native, 'the content API').callerOfAuth(auth),
      answerNatively: (ctx) => started(hold.native, 'the content API').answerNatively(ctx),
    };
    (globalThis as { strapi?: unknown }).strapi = new Proxy(
      {},
      {
        get: (_target, name) => Reflect.get(started(hold.strapi, `strapi.${String(name)}`), name) as unknown,
        set: (_target, name, value) => Reflect.set(started(hold.strapi, 'strapi'), name, value),
        has: (_target, name) => Reflect.has(started(hold.strapi, 'strapi'), name),
      },
    );
    const code = await readProjectCode(dir, load);
    const views = newViews(model);
    const lifecycles = newLifecycles(views.open, code.lifecycles);
    const lateSite = (): Site => started(hold.site, 'the database');
    const entities = newEntities({
      views,
      reader: () => lateSite().reader,
      writer: () => lateSite().writer,
      locales: () => lateSite().locales,
    });
    const entityService = newEntityService({ entities, lifecycles });
    const findUser = (id: number): Promise<Entity | null> =>
      entityService.findOne(USER_UID, id, { populate: ['role'] });
    const plugins = newPlugins({
      config,
      entityService,
      findUser,
      jwtSecret: binding.jwtSecret,
      jwtSeconds: binding.jwtSeconds,
      mail: binding.mail,
      answerNatively: (ctx) => nativeLater.answerNatively(ctx),
      strapi: () => started(hold.strapi, 'strapi'),
    });
    const strapi = newStrapi({
      dir,
      db,
      code,
      config,
      entities,
      entityService,
      lifecycles,
      plugins,
      registry: () => started(hold.registry, 'strapi'),
      log,
    });
    hold.strapi = strapi;
    site = { model, callerOf: (auth) => nativeLater.callerOfAuth(auth), allowedQuery: nativeLater.allowedQuery };

    const operatedOf: Readonly<Record<CoreAction, readonly Operated[]>> = {
      find: ['FindMany', 'FindOne', 'Count'],
      findOne: ['FindOne'],
      create: ['Create'],
      update: ['Update', 'FindOne'],
      delete: ['Delete', 'FindOne'],
    };
    const core = {
      model,
      entityService,
      rest,
      native: nativeLater,
      serviceOf: (uid: string) => started(hold.registry, 'strapi').service(uid),
      isPlain: (uid: string, action: CoreAction) =>
        started(hold.registry, 'strapi').isCoreService(uid) &&
        operatedOf[action].every((it) => !lifecycles.hears(uid, it)),
    };
    await plugins.extend(code.extensions);
    const registry = newRegistry({
      code,
      types: model.types,
      plugins,
      strapi,
      coreController: (type) => newCoreController(type, core),
      coreService: (type) => newCoreService(type, core),
      coreRouters: packages.coreRouters,
    });
    hold.registry = registry;
    await call(code.index, 'register', strapi);
    const table = newRouteTable({
      registry,
      types: model.types,
      prefix: binding.prefix,
      authenticate: nativeLater.authenticate,
      skipAuthentication: nativeLater.skipAuthentication,
      isPlain: core.isPlain,
      strapi,
    });
    return {
      hooks: hooksOf(lifecycles, () => entities),
      // an extension may have replaced it
      findUser: (id) => {
        const { fetchAuthenticatedUser = findUser } = plugins.service('users-permissions', 'user') ?? {};
        return (fetchAuthenticatedUser as typeof findUser)(id);
      },
      globals: globalsOf(config.tree['middlewares'], registry, strapi),
      table,
      cookieKeys: keysOf(config.get('server.app.keys')),
      start: async (own, native) => {
        hold.site = own;
        hold.native = native;
        await call(code.index, 'bootstrap', strapi);
        strapi['isLoaded'] = true;
      },
      stop: () => call(code.index, 'destroy', strapi),
    };
  };
  return { config, bind };
};

const keysOf = (given: unknown): readonly string[] =>
  Array.isArray(given) ? given.filter((it): it is string => typeof it === 'string') : [];

const call = async (index: Members, name: string, strapi: Strapi): Promise<void> => {
  const hook = index[name];
  if (isCallable(hook)) await hook.call(index, { strapi });
};

/** The project's own among `config/middlewares`; Strapi's are the server's work. */
const globalsOf = (listed: unknown, registry: Registry, strapi: Strapi): readonly Middleware[] => {
  if (!Array.isArray(listed)) return [];
  return listed.flatMap((given: unknown): readonly Middleware[] => {
    const { name, config = {} } = isMembers(given) ? given : { name: given };
    if (typeof name !== 'string' || name.startsWith('strapi::')) return [];
    const factory = registry.middleware(name, '');
    if (!factory) throw new CodeFault(`config/middlewares: there is no middleware "${name}"`);
    return [factory(config, { strapi }) as Middleware];
  });
};
