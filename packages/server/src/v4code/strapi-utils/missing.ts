/** What v4 has and this server does not: whoever uses it gets an error that names it. */
import { ineffective, missed } from './guards.js';

export const missing = (what: string): Error => missed(new Error(`${what} is not available: ${adviceOn(what)}`));

const adviceOn = (what: string): string => alternatives.find(([form]) => form.test(what))?.[1] ?? seeDocs;

/** Where the code of a project may find what else it can do. */
const seeDocs =
  'this server runs the code of Strapi 4 projects, but not all of Strapi: see docs/project-code.md#what-does-not-run';

/** What code can do without what is not here, by how messages name that. */
const alternatives: readonly (readonly [RegExp, string])[] = [
  [
    /^strapi\.db\.(?:connection|createQueryBuilder|dialect|getConnection|getSchemaConnection|queryBuilder)\b/,
    'use strapi.db.query or strapi.entityService, or a program of your own for raw SQL',
  ],
  [
    /^strapi\.plugin\('users-permissions'\)\.service\('providers(?:-registry)?'\)/,
    'login providers are not supported. Users log in by e-mail and password, or send a JWT that is signed with JWT_SECRET',
  ],
];

/** How messages name `@strapi/utils`. */
export const UTILS = "require('@strapi/utils')";

/** Members that v4 has and that are not here, by the object that has them. */
export const absentMembers = {
  strapi: new Set([
    ...['app', 'auth', 'container', 'contentAPI', 'entityValidator', 'features', 'fs', 'hook', 'hooks'],
    ...['sanitizers', 'startupLogger', 'validators', 'webhookRegistry', 'webhookRunner', 'webhookStore'],
    ...['bootstrap', 'destroy', 'listen', 'load', 'openAdmin', 'postListen', 'register', 'reload', 'start'],
    ...['runLifecyclesFunctions', 'sendStartupTelemetry', 'startWebhooks', 'stop', 'stopWithError'],
  ]),
  'strapi.db': new Set([
    ...['config', 'connection', 'createQueryBuilder', 'dialect', 'getConnection', 'getSchemaConnection'],
    ...['getSchemaName', 'metadata', 'migrations', 'queryBuilder', 'schema'],
  ]),
  'strapi.entityService': new Set([
    ...['clone', 'decorate', 'emitEvent', 'findWithRelationCounts', 'findWithRelationCountsPage', 'loadPages'],
    ...['uploadFiles', 'wrapParams', 'wrapResult'],
  ]),
  'strapi.server': new Set([
    ...['api', 'destroy', 'initMiddlewares', 'initRouting', 'listRoutes', 'listen', 'mount', 'router'],
  ]),
  'strapi.server.app': new Set([
    ...['callback', 'context', 'createContext', 'emit', 'env', 'handleRequest', 'listen', 'middleware'],
    ...['onerror', 'request', 'response', 'silent', 'subdomainOffset'],
  ]),
  [UTILS]: new Set(['convertQueryParams', 'importDefault', 'providerFactory', 'templateConfiguration', 'traverse']),
  [`${UTILS}.policy`]: new Set(['get', 'globalPolicy', 'resolve']),
  [`${UTILS}.sanitize`]: new Set(['sanitizers', 'visitors']),
  [`${UTILS}.sanitize.contentAPI`]: new Set(['fields', 'filters', 'populate', 'sort']),
  [`${UTILS}.validate`]: new Set(['validators', 'visitors']),
  [`${UTILS}.validate.contentAPI`]: new Set(['fields', 'filters', 'input', 'populate', 'sort']),
  'strapi.admin.services': new Set([
    ...['action', 'condition', 'constants', 'content-type', 'encryption', 'metrics', 'passport'],
    ...['project-settings', 'token', 'transfer'],
  ]),
} as const satisfies Record<string, ReadonlySet<string>>;

/** Members of `ctx` that v4's router sets for the route of a request. */
export const absentInContext = ['captures', 'matched', 'router', 'routerPath'] as const;

const webhooks = 'the command "dovetail webhook" lists, adds and removes them';

/** What v4 keeps beside content types, and what to use instead. */
const absentModels: ReadonlyMap<string, string> = new Map([
  ['strapi::core-store', 'use strapi.store({ type, name, key }), which reads and writes what is kept there'],
  ['strapi::webhook', webhooks],
  ['webhook', webhooks],
]);

/** Of a model that is not there because v4 alone has it; null if v4 has none either. */
export const absentModel = (uid: string): Error | null => {
  const instead = absentModels.get(uid);
  return instead === undefined ? null : new Error(`the model ${uid} is not available to code: ${instead}`);
};

/**
 * Members that are not there throw instead of being undefined, so that a fault names its cause. Members can be added.
 * @param isMissing which of the names that are not there throw; the others are undefined.
 */
export const withMissing = <T extends object>(name: string, members: T, isMissing = (_key: string) => true): T => {
  // promises, inspection and serialisation ask for members of any object
  const throws = (target: T, key: string | symbol): key is string =>
    typeof key === 'string' && !(key in target) && !['then', 'toJSON', 'constructor'].includes(key) && isMissing(key);
  return new Proxy(members, {
    get: (target, key, receiver) => {
      if (!throws(target, key)) return Reflect.get(target, key, receiver) as unknown;
      throw missing(`${name}.${key}`);
    },
    // as in v4, for code that asks first
    has: (target, key) => Reflect.has(target, key) || throws(target, key),
  });
};

/**
 * Members that throw when code assigns another: in v4 the server itself would call it, and here it does not.
 * @param instead what to use.
 */
export const irreplaceable = <T extends object>(
  name: string,
  members: T,
  { keys = Object.keys(members), instead }: { readonly keys?: readonly string[]; readonly instead: string },
): T => {
  for (const key of keys) {
    const value = (members as Readonly<Record<string, unknown>>)[key];
    Object.defineProperty(members, key, {
      enumerable: true,
      configurable: false,
      get: () => value,
      set(this: unknown, given: unknown) {
        if (given === value) return;
        // code may make an object of its own after it, and change that
        if (this !== members && Object.getPrototypeOf(this) !== Object.prototype) {
          Object.defineProperty(this, key, { value: given, configurable: true, enumerable: true, writable: true });
          return;
        }
        throw ineffective(
          new Error(`${name}.${key} cannot be replaced, because the server itself does not call it: use ${instead}`),
        );
      },
    });
  }
  return members;
};

/** An object of v4 of which nothing is here. */
export const unavailable = (name: string): object => withMissing(name, {});

/** Objects of v4 by names that nobody lists, each of which is made by its name. */
export const anyOf = (members: Record<string, unknown>, make: (name: string) => unknown): Record<string, unknown> =>
  new Proxy(members, {
    get: (target, key, receiver) =>
      typeof key === 'symbol' || key in target || key === 'then' || key === 'toJSON'
        ? (Reflect.get(target, key, receiver) as unknown)
        : make(key),
  });

/** Functions of v4 that throw when they are called. */
export const absent = (of: string, names: readonly string[]): Record<string, () => never> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      () => {
        throw missing(`${of}.${name}`);
      },
    ]),
  );

/** A function or class of v4 that can be passed on, and taken apart, and throws when it or a member of it is called. */
export const absentFunction = (name: string): unknown =>
  new Proxy(() => undefined, {
    get: (target, key, receiver) => {
      if (typeof key === 'symbol' || key in target || key === 'then' || key === 'toJSON' || key === '__esModule')
        return Reflect.get(target, key, receiver) as unknown;
      return absentFunction(`${name}.${key}`);
    },
    apply: () => {
      throw missing(name);
    },
    construct: () => {
      throw missing(name);
    },
  });
