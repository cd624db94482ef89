/** The object `strapi`, with what projects use of it. What else v4 has throws an error that names it. */
import type http from 'node:http';
import path from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import type { Middleware } from 'koa';
import type { Uid } from '../model/model.js';
import type { Site } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { CodeConfig } from './config.js';
import type { Cron } from './cron.js';
import { newEntityManager, newQueryEngine, type QueryEngine } from './db.js';
import type { Entities } from './entities.js';
import type { EntityService } from './entity-service.js';
import type { EventHub } from './event-hub.js';
import { describeModel, type Lifecycles } from './lifecycles.js';
import { newCodeLog } from './log.js';
import { absentMembers, unavailable, withMissing } from './missing.js';
import { newPanel } from './panel.js';
import { isMembers, type Members, type ProjectCode } from './parts.js';
import type { Plugins } from './plugins.js';
import type { Registry } from './registry.js';
import { currentSession, requestContext } from './scope.js';
import { newStore } from './store.js';
import type { Transactions } from './transactions.js';

export interface StrapiDeps {
  readonly dir: string;
  readonly db: Db;
  readonly code: ProjectCode;
  readonly config: CodeConfig;
  readonly site: () => Site;
  readonly apiTokenSalt: string;
  readonly transactions: Transactions;
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
  const { transactions, use, log } = deps;
  const engines = new Map<Uid, QueryEngine>();
  const query = (uid: Uid): QueryEngine => {
    const engine = engines.get(uid) ?? newQueryEngine(uid, { entities, lifecycles });
    engines.set(uid, engine);
    return engine;
  };
  const panel = newPanel({ ...deps, query, warn: (text) => log.warn(text) });
  Object.assign(plugins.byName['upload'] ?? {}, { provider: unavailable("strapi.plugin('upload').provider") });
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
      transaction: transactions.run,
      inTransaction: () => currentSession() !== null,
      entityManager: withMissing('strapi.db.entityManager', newEntityManager(query)),
    }),
    query,
    entityService: withMissing('strapi.entityService', entityService as unknown as Strapi),
    service: (name: string) => panel.service(name) ?? registry().service(name),
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
    plugin: (name: string) => (name === CONTENT_MANAGER ? panel.contentManager : plugins.byName[name]),
    get plugins() {
      const own = { value: panel.contentManager, enumerable: false };
      return Object.defineProperties(
        {},
        { ...Object.getOwnPropertyDescriptors(plugins.byName), [CONTENT_MANAGER]: own },
      );
    },
    contentType: described,
    get contentTypes() {
      return all((uid) => !isComponent(uid));
    },
    get components() {
      return all(isComponent);
    },
    getModel: described,
    store: Object.assign((base?: Members) => newStore(db, isMembers(base) ? base : {}), newStore(db)),
    log: newCodeLog(log),
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
      routes: plugins.added.add,
    }),
    // the type of an attribute says what is stored, also of a custom field
    customFields: withMissing('strapi.customFields', { register: () => undefined }),
    admin: panel.admin,
    EE: false,
  };
  // any other name is the project's own: it is undefined until code sets it
  return withMissing('strapi', members, (name) => absentMembers.strapi.has(name));
};

const CONTENT_MANAGER = 'content-manager';

const lazily = (names: Iterable<string>, get: (name: string) => unknown): object =>
  Object.defineProperties(
    {},
    Object.fromEntries([...names].map((name) => [name, { enumerable: true, get: () => get(name) }])),
  ) as object;
