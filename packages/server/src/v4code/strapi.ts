/** The object `strapi`, with what projects use of it. Anything else throws an error that names what is missing. */
import type http from 'node:http';
import path from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import type { Middleware } from 'koa';
import type { Uid } from '../model/model.js';
import type { Db } from '../sql/dialect.js';
import type { CodeConfig } from './config.js';
import type { Cron } from './cron.js';
import { newQueryEngine, type QueryEngine } from './db.js';
import type { Entities } from './entities.js';
import type { EntityService } from './entity-service.js';
import type { EventHub } from './event-hub.js';
import { describeModel, type Lifecycles } from './lifecycles.js';
import { isMembers, type Members, type ProjectCode } from './parts.js';
import type { Plugins } from './plugins.js';
import type { Registry } from './registry.js';
import { currentSession, requestContext } from './scope.js';
import { newStore } from './store.js';

export interface StrapiDeps {
  readonly dir: string;
  readonly db: Db;
  readonly code: ProjectCode;
  readonly config: CodeConfig;
  readonly entities: Entities;
  readonly entityService: EntityService;
  readonly lifecycles: Lifecycles;
  readonly plugins: Plugins;
  readonly cron: Cron;
  readonly eventHub: EventHub;
  readonly registry: () => Registry;
  /** The one that listens: code may listen to it too, as socket.io does. */
  readonly httpServer: () => http.Server;
  /** Adds a middleware to those that see every request. */
  readonly use: (middleware: Middleware) => void;
  readonly log: FastifyBaseLogger;
}

/** Members that a project may set: its own, such as `strapi.boot`. */
export type Strapi = Record<string, unknown>;

export const newStrapi = (deps: StrapiDeps): Strapi => {
  const { dir, db, code, config, entities, entityService, lifecycles, plugins, cron, eventHub, registry } = deps;
  const { use, log } = deps;
  const engines = new Map<Uid, QueryEngine>();
  const query = (uid: Uid): QueryEngine => {
    const engine = engines.get(uid) ?? newQueryEngine(uid, { entities, lifecycles });
    engines.set(uid, engine);
    return engine;
  };
  /** For calls that code makes in passing: it goes on, and the log says what does not happen. */
  const notDone = <T>(what: string, result: T): T => {
    log.warn(what);
    return result;
  };
  const described = (uid: Uid): Members | undefined =>
    entities.model.types.has(uid) ? describeModel(entities.model, uid) : undefined;
  const all = (wanted: (uid: Uid) => boolean): Members =>
    Object.fromEntries(
      [...entities.model.types.keys()].filter(wanted).map((uid) => [uid, describeModel(entities.model, uid)]),
    );
  const isComponent = (uid: Uid): boolean => entities.model.types.get(uid)?.kind === 'component';

  const named = (group: 'controllers' | 'services' | 'policies' | 'middlewares'): readonly string[] =>
    [...code.apis.values()].flatMap(({ name, ...api }) => [...api[group].keys()].map((it) => `api::${name}.${it}`));

  const api = Object.fromEntries(
    [...code.apis.values()].map(({ name, controllers, services }) => [
      name,
      {
        controllers: lazily(controllers.keys(), (it) => registry().controller(`api::${name}.${it}`)),
        services: lazily(services.keys(), (it) => registry().service(`api::${name}.${it}`)),
      },
    ]),
  );

  const members: Strapi = {
    api,
    apis: api,
    config: new Proxy(config.tree, {
      get: (tree, name, receiver) =>
        name === 'get' || name === 'has' || name === 'set'
          ? config[name]
          : (Reflect.get(tree, name, receiver) as unknown),
    }),
    db: withMissing('strapi.db', {
      query,
      lifecycles: withMissing('strapi.db.lifecycles', { subscribe: lifecycles.subscribe }),
      transaction: (work?: (given: object) => unknown) => {
        if (!work) throw missing('strapi.db.transaction without a function');
        return entities.transaction(async () =>
          work({
            trx: null,
            onCommit: () => undefined,
            onRollback: () => undefined,
            commit: () => undefined,
            rollback: () => undefined,
          }),
        );
      },
      inTransaction: () => currentSession() !== null,
    }),
    query,
    entityService: withMissing('strapi.entityService', entityService as unknown as Strapi),
    service: (name: string) => registry().service(name),
    get services() {
      return Object.fromEntries(named('services').map((name) => [name, registry().service(name)]));
    },
    controller: (name: string) => registry().controller(name),
    get controllers() {
      return Object.fromEntries(named('controllers').map((name) => [name, registry().controller(name)]));
    },
    policy: (name: string) => registry().policy(name, ''),
    get policies() {
      const own = Object.fromEntries([...code.policies].map(([name, it]) => [`global::${name}`, it]));
      return { ...own, ...Object.fromEntries(named('policies').map((name) => [name, registry().policy(name, '')])) };
    },
    middleware: (name: string) => registry().middleware(name, ''),
    get middlewares() {
      const own = Object.fromEntries([...code.middlewares].map(([name, it]) => [`global::${name}`, it]));
      return {
        ...own,
        ...Object.fromEntries(named('middlewares').map((name) => [name, registry().middleware(name, '')])),
      };
    },
    plugin: (name: string) => plugins.byName[name],
    plugins: plugins.byName,
    contentType: described,
    get contentTypes() {
      return all((uid) => !isComponent(uid));
    },
    get components() {
      return all(isComponent);
    },
    getModel: described,
    store: (base?: Members) => newStore(db, isMembers(base) ? base : {}),
    log,
    requestContext: { get: requestContext },
    dirs: {
      app: { root: dir, src: path.join(dir, 'src'), api: path.join(dir, 'src/api'), config: path.join(dir, 'config') },
      static: { public: path.join(dir, 'public') },
    },
    eventHub,
    telemetry: { send: () => Promise.resolve(true), isDisabled: true },
    cron,
    fetch: (url: string, options?: RequestInit) => fetch(url, options),
    isLoaded: false,
    server: withMissing('strapi.server', {
      get httpServer() {
        return deps.httpServer();
      },
      use,
      app: withMissing('strapi.server.app', { use }),
      routes: () => notDone('strapi.server.routes: these routes are a 404 here; declare them in src/api', undefined),
    }),
    sanitizers: undefined,
    admin: undefined,
    EE: false,
  };
  return withMissing('strapi', members);
};

const lazily = (names: Iterable<string>, get: (name: string) => unknown): object =>
  Object.defineProperties(
    {},
    Object.fromEntries([...names].map((name) => [name, { enumerable: true, get: () => get(name) }])),
  ) as object;

const missing = (what: string): Error =>
  new Error(`${what} is not available: this server runs the code of Strapi 4 projects, but not all of Strapi`);

/** Members that are not there throw instead of being undefined, so that a fault names its cause. Members can be added. */
const withMissing = (name: string, members: Strapi): Strapi =>
  new Proxy(members, {
    get: (target, key, receiver) => {
      // promises, inspection and serialisation ask for members of any object
      if (typeof key === 'symbol' || key in target || key === 'then' || key === 'toJSON' || key === 'constructor')
        return Reflect.get(target, key, receiver) as unknown;
      throw missing(`${name}.${key}`);
    },
  });
