/** The object `strapi`, with what projects use of it. What else v4 has throws an error that names it. */
import type http from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Middleware } from 'koa';
import cloneDeep from 'lodash/cloneDeep.js';
import isEqual from 'lodash/isEqual.js';
import once from 'lodash/once.js';
import type { Uid } from '../model/model.js';
import type { Site } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { Cron } from './cron.js';
import { newEntityManager, type QueryEngine } from './data/db.js';
import type { Entities } from './data/entities.js';
import type { EntityService } from './data/entity-service.js';
import type { Lifecycles } from './data/lifecycles.js';
import { currentSession, requestContext } from './data/scope.js';
import { missedUnlessSent } from './data/sent.js';
import { newStore } from './data/store.js';
import type { Transactions } from './data/transactions.js';
import type { Descriptions } from './descriptions.js';
import type { EventHub } from './event-hub.js';
import type { CodeConfig } from './loading/config.js';
import { type Api, isMembers, type Members, type ProjectCode } from './loading/parts.js';
import { newCodeLog } from './log.js';
import { dirsOf } from './places.js';
import { newPanel } from './plugins/panel.js';
import type { Plugins } from './plugins/plugins.js';
import { uploadProvider } from './plugins/upload-provider.js';
import type { Registry } from './requests/registry.js';
import { ineffective } from './strapi-utils/guards.js';
import { absentMembers, irreplaceable, withMissing } from './strapi-utils/missing.js';

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
  readonly query: (uid: Uid) => QueryEngine;
  readonly lifecycles: Lifecycles;
  readonly descriptions: Descriptions;
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

/** Settings that the server reads once, before code runs. */
const obeyed = [
  ...['api.rest', 'api.responses', 'database', 'middlewares'],
  ...['host', 'port', 'url', 'proxy', 'cron'].map((it) => `server.${it}`),
  ...['jwt', 'jwtSecret', 'ratelimit', 'register'].map((it) => `plugin.users-permissions.${it}`),
  ...['provider', 'providerOptions', 'sizeLimit'].map((it) => `plugin.upload.${it}`),
];

export const newStrapi = (deps: StrapiDeps): Strapi => {
  const { dir, db, code, config, entityService, lifecycles, plugins, cron, eventHub, registry } = deps;
  const { descriptions, transactions, use, log } = deps;
  const warnOfProxy = once(() =>
    log.warn('strapi.server.app.proxy has no effect: set server.trustProxy in dovetail.config instead'),
  );
  const panel = newPanel({ ...deps, warn: (text) => log.warn(text) });
  const query = (uid: Uid): QueryEngine => panel.withRoles(uid, deps.query(uid));
  Object.assign(plugins.byName['upload'] ?? {}, { provider: uploadProvider(() => deps.site().media.store) });
  const named = (group: 'controllers' | 'services' | 'policies' | 'middlewares'): readonly string[] => [
    ...[...code.apis.values()].flatMap(({ name, ...own }) => [...own[group].keys()].map((it) => `api::${name}.${it}`)),
    ...Object.entries(plugins.byName).flatMap(([name, own]) =>
      Object.keys((own[group] ?? {}) as object).map((it) => `plugin::${name}.${it}`),
    ),
  ];
  const refuseAbsent = (uid: string): undefined => {
    const fault = plugins.absent(uid);
    if (fault) throw missedUnlessSent(fault, [uid]);
  };
  const service = (name: string): unknown => panel.service(name) ?? registry().service(name);
  const controller = (name: string): unknown =>
    panel.controllers[name] ?? registry().controller(name) ?? refuseAbsent(name);
  const policy = (name: string): unknown => panel.policies[name] ?? registry().policy(name, '') ?? refuseAbsent(name);
  const middleware = (name: string): unknown => registry().middleware(name, '') ?? refuseAbsent(name);
  const contentType = (uid: Uid): Members | undefined => descriptions.of(uid) ?? refuseAbsent(uid);

  const api = newApis(deps);

  /** What the server itself obeys it has read by now. */
  const setConfig: CodeConfig['set'] = (at, value) => {
    const before = obeyed.map((it) => cloneDeep(config.get(it)));
    config.set(at, value);
    const changed = obeyed.filter((it, i) => !isEqual(config.get(it), before[i]));
    const name = [at].flat().join('.');
    if (changed.some((it) => it.startsWith('api.')))
      throw ineffective(
        new Error(`strapi.config.set('${name}') has no effect on what the server shows: write it into config/api`),
      );
    if (changed.length > 0)
      log.warn(`strapi.config.set('${name}') has no effect on the server itself: write it into the file below config/`);
  };
  const app: object = withMissing('strapi.server.app', {
    use,
    // errors of requests do not reach Koa's application in v4 either: `strapi::errors` answers them
    on: () => app,
    once: () => app,
    off: () => app,
    get keys() {
      return config.get('server.app.keys');
    },
    get proxy() {
      return config.get('server.proxy') === true;
    },
    set proxy(_given: unknown) {
      warnOfProxy();
    },
  });
  const instead = 'lifecycles, or the service of the content type';
  const members: Strapi = {
    api,
    apis: api,
    config: new Proxy(config.tree, {
      get: (tree, name, receiver) => {
        if (name === 'set') return setConfig;
        return name === 'get' || name === 'has' ? config[name] : (Reflect.get(tree, name, receiver) as unknown);
      },
    }),
    db: withMissing(
      'strapi.db',
      irreplaceable(
        'strapi.db',
        {
          query,
          lifecycles: withMissing('strapi.db.lifecycles', { subscribe: lifecycles.subscribe }),
          transaction: transactions.run,
          inTransaction: () => currentSession() !== null,
          entityManager: withMissing('strapi.db.entityManager', newEntityManager(query)),
        },
        { instead },
      ),
    ),
    query,
    entityService: withMissing(
      'strapi.entityService',
      irreplaceable('strapi.entityService', { ...entityService }, { instead }),
    ),
    service,
    get services() {
      return withAbsent(lazily(named('services'), service, panel.services), refuseAbsent);
    },
    controller,
    get controllers() {
      return withAbsent(lazily(named('controllers'), controller, Object.keys(panel.controllers)), refuseAbsent);
    },
    policy,
    get policies() {
      const own = [...code.policies].map(([name, it]) => [`global::${name}`, it] as const);
      const others = named('policies').map((name) => [name, policy(name)] as const);
      const all = Object.fromEntries([...own, ...others]);
      return withAbsent(Object.defineProperties(all, unlisted(Object.keys(panel.policies), policy)), refuseAbsent);
    },
    middleware,
    get middlewares() {
      const own = [...code.middlewares].map(([name, it]) => [`global::${name}`, it] as const);
      const others = named('middlewares').map((name) => [name, middleware(name)] as const);
      return withAbsent(Object.fromEntries([...own, ...others]), refuseAbsent);
    },
    plugin: (name: string) => (name === CONTENT_MANAGER ? panel.contentManager : plugins.byName[name]),
    get plugins() {
      const own = { value: panel.contentManager, enumerable: false };
      return Object.defineProperties(
        {},
        { ...Object.getOwnPropertyDescriptors(plugins.byName), [CONTENT_MANAGER]: own },
      );
    },
    contentType,
    get contentTypes() {
      return withAbsent(
        descriptions.all(({ kind }) => kind !== 'component'),
        refuseAbsent,
      );
    },
    get components() {
      return descriptions.all(({ kind }) => kind === 'component');
    },
    getModel: contentType,
    store: Object.assign((base?: Members) => newStore(db, isMembers(base) ? base : {}), newStore(db)),
    log: newCodeLog(log),
    requestContext: { get: requestContext },
    dirs: dirsOf(dir, config.get('server.dirs.public')),
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
      app,
      routes: plugins.added.add,
    }),
    // the type of an attribute says what is stored, also of a custom field
    customFields: withMissing('strapi.customFields', { register: () => undefined }),
    admin: panel.admin,
    EE: false,
  };
  // any other name is the project's own: it is undefined until code sets it
  const fixed = irreplaceable('strapi', members, { keys: ['db', 'query', 'entityService'], instead });
  return withMissing('strapi', fixed, (name) => absentMembers.strapi.has(name));
};

const CONTENT_MANAGER = 'content-manager';

/** `strapi.api`, by the names of the APIs; where a folder has another spelling, by that too. */
const newApis = (deps: StrapiDeps): Members => {
  const all: Record<string, object> = {};
  for (const it of deps.code.apis.values()) {
    const api = newApi(it, deps);
    all[it.name] = api;
    if (it.folder !== it.name) Object.defineProperty(all, it.folder, { value: api, enumerable: false });
  }
  return all;
};

const newApi = (api: Api, { descriptions, registry }: StrapiDeps): object => {
  const uidOf = (name: string): string => `api::${api.name}.${name}`;
  const controller = (name: string): unknown => registry().controller(uidOf(name));
  const service = (name: string): unknown => registry().service(uidOf(name));
  const policy = (name: string): unknown => registry().policy(uidOf(name), '');
  const middleware = (name: string): unknown => registry().middleware(uidOf(name), '');
  return withMissing(`strapi.api['${api.name}']`, {
    /** What `register` makes of them is served. */
    get routes() {
      return api.routes;
    },
    set routes(routes) {
      api.routes = routes;
    },
    controller,
    controllers: lazily(api.controllers.keys(), controller),
    service,
    services: lazily(api.services.keys(), service),
    policy,
    policies: lazily(api.policies.keys(), policy),
    middleware,
    middlewares: lazily(api.middlewares.keys(), middleware),
    contentType: (name: string) => descriptions.of(uidOf(name)),
    get contentTypes() {
      const own = descriptions.all(({ uid, kind }) => kind !== 'component' && uid.startsWith(uidOf('')));
      return Object.fromEntries(Object.entries(own).map(([uid, it]) => [uid.slice(uidOf('').length), it]));
    },
  });
};

/** @param others names that code finds, but does not meet when it goes through all. */
const lazily = (names: Iterable<string>, get: (name: string) => unknown, others: readonly string[] = []): object =>
  Object.defineProperties({}, { ...unlisted(others, get), ...described(names, get, true) }) as object;

const described = (
  names: Iterable<string>,
  get: (name: string) => unknown,
  enumerable: boolean,
): PropertyDescriptorMap => Object.fromEntries([...names].map((name) => [name, { enumerable, get: () => get(name) }]));

const unlisted = (names: Iterable<string>, get: (name: string) => unknown): PropertyDescriptorMap =>
  described(names, get, false);

/** @param refuse throws for uids that v4 would have, also where code only asks whether they are there. */
const withAbsent = <T extends object>(all: T, refuse: (uid: string) => void): T => {
  const ask = (target: T, key: string | symbol): void => {
    if (typeof key === 'string' && !Reflect.has(target, key)) refuse(key);
  };
  return new Proxy(all, {
    get: (target, key, receiver) => {
      ask(target, key);
      return Reflect.get(target, key, receiver) as unknown;
    },
    has: (target, key) => {
      ask(target, key);
      return Reflect.has(target, key);
    },
    getOwnPropertyDescriptor: (target, key) => {
      ask(target, key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
};
