/** A v4 project's code, loaded and bound to a site: its routes, its hooks, and its start. */
import type http from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Middleware } from 'koa';
import type { Action } from '../access/permissions.js';
import type { UserReads } from '../accounts/account.js';
import type { RawCodes } from '../accounts/codes.js';
import type { MailSender } from '../accounts/mail.js';
import { offeredActions } from '../accounts/roles.js';
import type { EventListeners } from '../events/events.js';
import { ADMIN_UID, type Uid, USER_UID } from '../model/model.js';
import type { Site } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { HooksOf } from '../write/request.js';
import { type CronDeps, newCron } from './cron.js';
import { newQueryEngine, type QueryEngine } from './data/db.js';
import { type Entity, newEntities } from './data/entities.js';
import { newEntityService } from './data/entity-service.js';
import { newLifecycles, type Operated } from './data/lifecycles.js';
import { hooksWithResults } from './data/results.js';
import { inTurn, leftWorkEnds, noteHook } from './data/scope.js';
import { newTransactions } from './data/transactions.js';
import { newViews } from './data/views.js';
import { newDescriptions } from './descriptions.js';
import { newEventHub } from './event-hub.js';
import { newIndexHooks } from './index-hooks.js';
import { type CodeConfig, readCodeConfig } from './loading/config.js';
import { addDefaults, type SettingsInForce } from './loading/defaults.js';
import { newEnv, placeOf } from './loading/env.js';
import { CodeFault, type LoadModule, nameIn, newFaults, newLoader } from './loading/load.js';
import { type Callable, type CoreAction, isCallable, isMembers, type Members } from './loading/parts.js';
import type { Native } from './native.js';
import { newPackages, type PackageSite, type Packages } from './packages.js';
import { newPlugins } from './plugins/plugins.js';
import { readProjectCode } from './read.js';
import { type MakeMiddleware, middlewareOf } from './requests/chains.js';
import { newCoreController, newCoreService, type RestLimits } from './requests/core.js';
import { globalsOf, loadMiddleware } from './requests/globals.js';
import { newRegistry, type Registry } from './requests/registry.js';
import { type CodeRoute, newRouteTable, type RouteTable } from './requests/routes.js';
import { newUserReads } from './requests/user-reads.js';
import { newStrapi, type Strapi } from './strapi.js';
import { guarding, onMissed } from './strapi-utils/guards.js';
import { withMissing } from './strapi-utils/missing.js';

export interface CodeOptions {
  readonly dir: string;
  /** Environment variables, those of `.env` included. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** `NODE_ENV`. */
  readonly environment: string;
  /** Files that are not loaded, relative to the folder, and middlewares that do not run, as `config/middlewares` names them. */
  readonly ignored: ReadonlySet<string>;
}

/** The code of a v4 project as it was loaded. Nothing has run but the modules themselves. */
export interface LoadedCode {
  bind(binding: Binding): Promise<BoundCode>;
  /** As far as it shows without `register`: extensions run, the rest is made, but no middleware, as these may use what `register` prepares. */
  tryOut(binding: Binding): Promise<TriedCode>;
}

export interface TriedCode {
  /** What `bind` would refuse, a line each. */
  readonly refused: readonly string[];
  /** Those that its routes name. */
  readonly actions: readonly Action[];
  /** The route on which code answers a GET; null where the server does by itself. */
  readonly routeAt: (path: string) => CodeRoute | null;
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
  readonly apiTokenSalt: string;
  readonly settings: SettingsInForce;
  /** Whether cron tasks run in this process. */
  readonly runsCron: boolean;
}

export interface BoundCode {
  /** For the site's writer. */
  readonly hooks: HooksOf;
  /** Those of `strapi.eventHub`. */
  readonly listeners: EventListeners;
  readonly userReads: UserReads;
  readonly rawCodes: RawCodes;
  /** The whole row with its role, as `ctx.state.user` has it. */
  readonly findUser: (id: number) => Promise<Entity | null>;
  /** An administrator with their roles, and without what nobody must know. */
  readonly findAdministrator: (id: number) => Promise<Entity | null>;
  /**
   * Middlewares that see every request, in order: those of `register`, the project's own of `config/middlewares` and, once
   * it has started, those of `bootstrap`.
   */
  readonly globals: readonly Middleware[];
  /** How many of them stand before `strapi::errors`, which makes responses of what is thrown behind them. */
  readonly globalsBeforeErrors: number;
  /** Whether some stand before `strapi::body`, or in its place: they may read bodies themselves. */
  readonly mayReadBodies: boolean;
  readonly table: RouteTable;
  /** `includeUnparsed` of `strapi::body`: bodies have their text beside what it says. */
  readonly includesUnparsed: boolean;
  /** The function that `strapi::cors` has as `origin`: which origins may read the response to the request of a context. */
  readonly corsOrigin: Callable | null;
  /** `app.keys` of `config/server`, which sign cookies. */
  readonly cookieKeys: readonly string[];
  /** To be called once the site exists, before anything else: `register`, `bootstrap`. */
  start(site: Site, native: Native, httpServer: http.Server): Promise<void>;
  /** Runs cron tasks from now on, if this is the process that runs them. */
  runTasks(): void;
  /** To be called once another process or generation runs them. */
  stopTasks(): void;
  /** `destroy`. */
  stop(): Promise<void>;
}

/** The configuration of a v4 project, and its code before any of it was loaded. */
export interface OpenedCode {
  readonly config: CodeConfig;
  load(): Promise<LoadedCode>;
}

/** Evaluates `config/`. */
export const openCode = async ({ dir, variables, environment, ignored }: CodeOptions): Promise<OpenedCode> => {
  let site: PackageSite | null = null;
  const bound = (): PackageSite => {
    if (!site) throw new CodeFault('the server has not started yet: use this inside a function');
    return site;
  };
  const packages = newPackages(variables, bound);
  const load = await newLoader(dir, packages.modules);
  const config = await readCodeConfig({ dir, env: newEnv((name) => variables[name]), environment, load, ignored });
  return {
    config,
    load: async () => {
      packages.useYup(await import('yup'));
      const { Cron: Scheduler } = await import('croner');
      return loadCode({
        Scheduler,
        dir,
        config,
        load,
        packages,
        ignored,
        bindSite: (it) => {
          site = it;
        },
      });
    },
  };
};

interface LoadOptions extends Pick<CodeOptions, 'dir' | 'ignored'>, Pick<CronDeps, 'Scheduler'> {
  readonly config: CodeConfig;
  readonly load: LoadModule;
  readonly packages: Packages;
  readonly bindSite: (site: PackageSite) => void;
}

const loadCode = async (options: LoadOptions): Promise<LoadedCode> => {
  const { dir, config, load, packages, ignored, bindSite, Scheduler } = options;
  const hold: {
    strapi: Strapi | null;
    site: Site | null;
    native: Native | null;
    httpServer: http.Server | null;
    registry: Registry | null;
  } = { strapi: null, site: null, native: null, httpServer: null, registry: null };
  const started = <T>(value: T | null, what: string): T => {
    if (value === null) throw new CodeFault(`${what} is not available before bootstrap`);
    return value;
  };
  // modules may name the global `strapi` while they are loaded
  (globalThis as { strapi?: unknown }).strapi = later(() => started(hold.strapi, 'strapi'));
  const code = await readProjectCode({ dir, load, ignored });

  const bind = async (binding: Binding, { isTrial = false } = {}): Promise<BoundCode> => {
    const { model, db, log, rest } = binding;
    const api = (config.tree['api'] ?? {}) as Record<string, unknown>;
    config.tree['api'] = {
      ...api,
      rest: { ...(isMembers(api['rest']) ? api['rest'] : {}), prefix: binding.prefix, ...rest },
    };
    addDefaults(config, { ...binding, dir });
    const indexHooks = newIndexHooks({
      dir,
      indexes: code.indexes,
      ofPlugins: (hook) => plugins.run(hook),
      strapi: () => strapi,
      log,
    });
    onMissed({
      unguarded: tellingOnce(dir, log),
      changed: indexHooks.noteWithoutEffect,
      ended: (file, fault) =>
        log.error(`${nameIn(dir, file)} lets no request pass until the server is started again: ${fault.message}`),
    });
    const native = (): Native => started(hold.native, 'the content API');
    const views = newViews(model);
    const descriptions = newDescriptions(model, code.schemas);
    const lateSite = (): Site => started(hold.site, 'the database');
    const defaultLocale = () => inTurn(async (session) => lateSite().locales.defaultCode(session?.tx));
    /** Looked for only when it is said. */
    const callPlace = (): (() => string | null) => {
      const here = new Error();
      return () => {
        const place = placeOf(here, dir);
        return place && `${place.file}:${place.line}`;
      };
    };
    const lifecycles = newLifecycles({
      describe: (uid) => descriptions.of(uid) ?? { uid },
      own: code.lifecycles,
      noteHook,
      callPlace,
      localeOfNew: async (uid) => (model.types.get(uid)?.localized ? defaultLocale() : null),
      warn: (text) => log.warn(text),
    });
    const entities = newEntities({
      db,
      views,
      reader: () => lateSite().reader,
      writer: () => lateSite().writer,
      locales: () => lateSite().locales,
      media: () => lateSite().media,
      absentOf: (uid) => plugins.absent(uid),
    });
    const entityService = newEntityService({ entities, lifecycles });
    const engines = new Map<Uid, QueryEngine>();
    const query = (uid: Uid): QueryEngine => {
      const engine =
        engines.get(uid) ?? withMissing(`strapi.db.query('${uid}')`, newQueryEngine(uid, { entities, lifecycles }));
      engines.set(uid, engine);
      return engine;
    };
    const findUser = (id: number): Promise<Entity | null> =>
      entityService.findOne(USER_UID, id, { populate: ['role'] });
    const plugins = newPlugins({
      config,
      entities,
      entityService,
      query,
      findUser,
      jwtSecret: binding.jwtSecret,
      jwtSeconds: binding.jwtSeconds,
      mail: binding.mail,
      native,
      // another connection might never be free: those of a pool may all be held by hooks that wait for one
      locales: () => inTurn((session) => lateSite().locales.list(session?.tx)),
      defaultLocale,
      media: () => lateSite().media,
      db,
      login: () => lateSite().accounts.login,
      offered: () => offeredActions(lateSite().accountDeps),
      contentTypesOf: (plugin) =>
        Object.fromEntries(
          [...model.types.keys()]
            .filter((uid) => uid.startsWith(`plugin::${plugin}.`))
            .map((uid) => [uid.slice(`plugin::${plugin}.`.length), { schema: descriptions.copyOf(uid) ?? {} }]),
        ),
      shownTypesOf: descriptions.ofPlugin,
      say: descriptions.say,
      warn: (text) => log.warn(text),
      onFault: (err) => log.error({ err }, 'code of the project reports an error to Sentry, which is not here'),
      strapi: () => started(hold.strapi, 'strapi'),
    });
    const globals: Middleware[] = [];
    const cron = newCron({ Scheduler, strapi: () => strapi, log, isRunner: binding.runsCron });
    const { hub, listeners, settle } = newEventHub({
      warn: (text) => log.warn(text),
      onFault: (err, name) => log.error({ err }, `a listener of strapi.eventHub for ${name} failed`),
    });
    const transactions = newTransactions({
      entities: () => entities,
      callPlace,
      onFault: (err, name) => log.error({ err }, `a callback of strapi.db.transaction (${name}) failed`),
    });
    const strapi: Strapi = newStrapi({
      dir,
      db,
      site: lateSite,
      apiTokenSalt: binding.apiTokenSalt,
      transactions,
      code,
      config,
      entities,
      entityService,
      query,
      lifecycles,
      descriptions,
      plugins,
      cron,
      eventHub: hub,
      registry: () => started(hold.registry, 'strapi'),
      httpServer: () => started(hold.httpServer, 'strapi.server.httpServer'),
      use: (middleware) => {
        if (strapi['isLoaded'] === true) throw new Error('strapi.server.use: call it in register or bootstrap');
        globals.push(guarding(middleware));
      },
      log,
    });
    hold.strapi = strapi;
    bindSite({ model, native, describe: descriptions.of });

    const operatedOf: Readonly<Record<CoreAction, readonly Operated[]>> = {
      find: ['FindMany', 'FindOne', 'Count'],
      findOne: ['FindOne'],
      create: ['Create', 'FindOne'],
      update: ['Update', 'FindOne'],
      delete: ['Delete', 'FindOne'],
    };
    const core = {
      model,
      entityService,
      rest,
      native,
      serviceOf: (uid: string) => started(hold.registry, 'strapi').service(uid),
      isCoreService: (uid: string, action: CoreAction) => started(hold.registry, 'strapi').isCoreService(uid, action),
      count: entities.count,
      isPlain: (uid: string, action: CoreAction): boolean =>
        core.isCoreService(uid, action) && operatedOf[action].every((it) => !lifecycles.hears(uid, it)),
    };
    // of others than faults of the project only a start can tell
    const faults = isTrial ? newFaults(() => undefined) : newFaults();
    for (const [uid, hooks] of await plugins.extend(code.extensions, faults))
      faults.keep(() => lifecycles.subscribe({ models: [uid], ...hooks }));
    const registry = newRegistry({
      code,
      types: model.types,
      plugins,
      strapi,
      coreController: (type) => newCoreController(type, core),
      coreService: (type) => newCoreService(type, core),
      coreRouters: packages.coreRouters,
      faults,
    });
    hold.registry = registry;
    faults.keep(plugins.check);
    const { enabled, tasks } = (config.get('server.cron') ?? {}) as Members;
    if (enabled && isMembers(tasks))
      for (const [name, task] of Object.entries(tasks)) faults.keep(() => cron.add({ [name]: task }));
    if (!isTrial) {
      // what it does may not be undone
      faults.throwAll();
      await indexHooks.start('register');
      plugins.check();
    }
    const makeMiddleware: MakeMiddleware = isTrial ? () => (_ctx, next) => next() : middlewareOf;
    const own = { dir, load, registry, strapi, ignored, faults, makeMiddleware };
    const listed = await globalsOf(config.tree['middlewares'], own);
    /** The service may have been replaced, by an extension or later. */
    const fetchUserNow = (): typeof findUser => {
      const { fetchAuthenticatedUser = findUser } = plugins.service('users-permissions', 'user') ?? {};
      return fetchAuthenticatedUser as typeof findUser;
    };
    const globalsBeforeErrors = listed.beforeErrors === null ? 0 : globals.length + listed.beforeErrors;
    const mayReadBodies = globals.length + listed.beforeBody > 0;
    globals.push(...listed.globals);
    /** Those that routes name by `resolve`. */
    const loading: Promise<Middleware>[] = [];
    const table = newRouteTable({
      registry,
      loadMiddleware: (place, make) => {
        const loaded = loadMiddleware(place, { dir, load }).then(make);
        // told below, where the start waits for all
        loaded.catch(() => undefined);
        loading.push(loaded);
        return async (ctx, next) => (await loaded)(ctx, next);
      },
      makeMiddleware,
      faults,
      types: model.types,
      dir,
      prefix: binding.prefix,
      native,
      isPlain: core.isPlain,
      asksForUsers: () => fetchUserNow() !== findUser,
      isHeard: (plugin) => lifecycles.hearsAny((uid) => uid.startsWith(`${plugin}.`)),
      strapi,
      ignored,
      warn: (text) => log.warn(text),
    });
    for (const it of loading) await it.catch(faults.add);
    faults.throwAll();
    const { origin: corsOrigin } = configOf('strapi::cors', config.tree['middlewares']);
    return {
      hooks: hooksWithResults(lifecycles, () => entities, model),
      listeners,
      userReads: newUserReads({ model, entities, entityService, lifecycles, rest, reader: () => lateSite().reader }),
      rawCodes: plugins.rawCodes(),
      findUser: (id) => fetchUserNow()(id),
      findAdministrator: (id) =>
        query(ADMIN_UID).findOne({ where: { id }, select: administratorFields, populate: ['roles'] }),
      globals,
      globalsBeforeErrors,
      mayReadBodies,
      table,
      includesUnparsed: configOf('strapi::body', config.tree['middlewares'])['includeUnparsed'] === true,
      corsOrigin: isCallable(corsOrigin) ? corsOrigin : null,
      cookieKeys: keysOf(config.get('server.app.keys')),
      start: async (own, native, httpServer) => {
        hold.site = own;
        hold.native = native;
        hold.httpServer = httpServer;
        await indexHooks.start('bootstrap');
        plugins.check();
        await Promise.all(loading);
        strapi['isLoaded'] = true;
      },
      runTasks: () => void cron.start(),
      stopTasks: () => void cron.stop(),
      stop: async () => {
        cron.destroy();
        await settle();
        await leftWorkEnds();
        await indexHooks.destroy();
      },
    };
  };
  return {
    bind: (binding) => bind(binding),
    tryOut: async (binding) => {
      try {
        const { table } = await bind(binding, { isTrial: true });
        return { refused: [], actions: table.actions(), routeAt: (path) => table.at(path).find('GET')?.route ?? null };
      } catch (fault) {
        const refused = fault instanceof CodeFault ? fault.message.split('\n') : [];
        return { refused, actions: [], routeAt: () => null };
      }
    },
  };
};

const administratorFields = [
  'id',
  'firstname',
  'lastname',
  'username',
  'email',
  'isActive',
  'blocked',
  'preferedLanguage',
];

/** Tells of what code has missed outside the files of guards: it may catch the error. Once for each place of the project. */
const tellingOnce = (dir: string, log: Pick<FastifyBaseLogger, 'error'>): ((fault: Error) => void) => {
  const told = new Set<string>();
  return (fault) => {
    const place = placeOf(fault, dir);
    if (place === null) return;
    const at = `${place.file}:${place.line}`;
    if (told.has(at)) return;
    told.add(at);
    log.error(`${at}: ${fault.message}. Where code catches this error, access must not depend on it`);
  };
};

/** Stands for an object that is made later. */
const later = <T extends object>(get: () => T): T =>
  new Proxy({} as T, {
    get: (_target, name) => Reflect.get(get(), name) as unknown,
    set: (_target, name, value) => Reflect.set(get(), name, value),
    has: (_target, name) => Reflect.has(get(), name),
  });

const keysOf = (given: unknown): readonly string[] =>
  Array.isArray(given) ? given.filter((it): it is string => typeof it === 'string') : [];

/** Of a middleware that `config/middlewares` lists. */
const configOf = (name: string, listed: unknown): Members => {
  const all: readonly unknown[] = Array.isArray(listed) ? listed : [];
  const found = all.find((it) => isMembers(it) && it['name'] === name);
  const config = isMembers(found) ? found['config'] : undefined;
  return isMembers(config) ? config : {};
};
