/** What a request passes on its route: authentication, policies, middlewares, action. */
import type Koa from 'koa';
import type { Middleware } from 'koa';
import compose from 'koa-compose';
import type { Caller } from '../../access/access.js';
import { nearest } from '../../errors.js';
import { kebabName } from '../../model/files.js';
import { isThenable, type Ready, whenReady } from '../../ready.js';
import { ADDED } from '../added-routes.js';
import { CodeFault, describeFault, newFaults } from '../loading/load.js';
import {
  type Callable,
  type CoreAction,
  coreActions,
  isCallable,
  isMembers,
  type Members,
  type PlacedRoute,
  type RouteAuth,
  type RouteConfig,
} from '../loading/parts.js';
import type { Native } from '../native.js';
import { ApplicationError, ForbiddenError, UnauthorizedError } from '../strapi-utils/errors.js';
import { guarding, makeApart, makeGuard, runGuard } from '../strapi-utils/guards.js';
import { absentInContext, missing } from '../strapi-utils/missing.js';
import type { ContentTypes, Registry } from './registry.js';

/** An action of the content API that the server may serve by itself, under its usual path. */
export interface PlainRoute {
  readonly uid: string;
  readonly action: CoreAction;
}

/** The server's own action behind authentication and policies. */
export interface GuardedAction extends PlainRoute {
  /** Throws, or rejects with, the refusal of whoever may not pass. */
  readonly pass: (ctx: Koa.Context) => Ready<void>;
  /** The action as any other is run, where a policy has said something of the response. */
  readonly act: Middleware;
  /** Whether the server may run the action by itself: no controller, service or hook of the project takes part. */
  readonly isPlain: () => boolean;
}

export interface ChainDeps {
  readonly registry: Registry;
  readonly types: ContentTypes;
  readonly native: () => Native;
  /** Whether no service and no hook of the project takes part in an action. */
  readonly isPlain: (uid: string, action: CoreAction) => boolean;
  /** What a middleware names by `resolve`, loaded while the server starts. */
  readonly loadMiddleware: (place: string, make: (loaded: unknown) => Middleware) => Middleware;
  readonly makeMiddleware: MakeMiddleware;
  readonly strapi: unknown;
  /** The folder of the project. */
  readonly dir: string;
  /** Files that the configuration leaves out. */
  readonly ignored: ReadonlySet<string>;
}

/** A route's chain, ready to run. */
export interface Chain {
  readonly chain: Middleware;
  /** Says in the context which route it is and who asks, where the server itself answers, which then says whether they may. */
  readonly introduce: (ctx: Koa.Context) => Promise<void>;
  /** Set if nothing but its guards stands before the server's own action. */
  readonly guarded: GuardedAction | null;
}

export const chainOf = (placed: PlacedRoute, deps: ChainDeps): Chain => {
  const { declared, namespace, info } = placed;
  const { native } = deps;
  const where = `${placed.place}: the route ${declared.method} ${declared.path}`;
  const { action, name, isCore, strategies, policies, middlewares } = partsOf(placed, deps, where);
  const scope = name === null ? null : scopeOf(name, namespace);
  const config = withScope(declared.config ?? {}, scope);
  const route = { ...declared, method: declared.method, config, info: { ...declared.info, ...info } };
  const named = name === null ? null : coreActionOf(name, deps);
  /** Whether the server runs the action by itself: no controller, service or hook of the project takes part. */
  const isPlain = (): boolean => named !== null && isCore() && deps.isPlain(named.uid, named.action);
  const isUnguarded = (config.policies ?? []).length === 0 && (config.middlewares ?? []).length === 0;
  const authenticated = authentication(
    config.auth,
    { scope, strategies, isPlain: () => isUnguarded && isPlain() },
    deps,
  );
  const steps = [...middlewares, ...action];
  const [first] = steps;
  const act = steps.length === 1 && first ? first : compose(steps);
  const enter = (ctx: Koa.Context): Ready<void> => {
    ctx.state['route'] = route;
    return authenticated(ctx);
  };
  const core = middlewares.length === 0 ? named : null;
  return {
    chain: (ctx, next) => {
      const koa = ctx as Koa.Context;
      const run = (): Ready<void> => whenReady(passAll(policies, koa), () => act(ctx, next) as Ready<void>);
      return whenReady(enter(koa), () => native().withForm(koa, run));
    },
    introduce: async (ctx) => {
      ctx.state['route'] = route;
      try {
        await (config.auth === false ? native().skipAuthentication(ctx) : native().authenticate(ctx, strategies));
      } catch (fault) {
        // bad credentials: the answer will say so
        if (!(fault instanceof ApplicationError)) throw fault;
      }
    },
    guarded: core && {
      ...core,
      pass: (ctx) => whenReady(enter(ctx), () => passAll(policies, ctx)),
      act,
      isPlain,
    },
  };
};

interface Parts extends RouteAction {
  readonly strategies: readonly string[] | null;
  readonly policies: readonly Policy[];
  readonly middlewares: readonly Middleware[];
}

/** What the route names. Throws one `CodeFault` with all that is not there. */
const partsOf = (placed: PlacedRoute, deps: ChainDeps, where: string): Parts => {
  const { declared, namespace } = placed;
  const { auth, policies = [], middlewares = [] } = declared.config ?? {};
  const faults = newFaults();
  const action = faults.keep(() => actionOf(placed, deps, where));
  const parts = {
    strategies: faults.keep(() => strategiesOf(auth, where)) ?? null,
    policies: policies.flatMap((it) => faults.keep(() => policyStep(it, namespace, deps, where)) ?? []),
    middlewares: middlewares.flatMap((it) => faults.keep(() => middlewareStep(it, namespace, deps, where)) ?? []),
  };
  faults.throwAll();
  return { ...action!, ...parts };
};

/** As v4 fills it in: a route whose handler is a name asks for the permission of that action, unless it names others. */
const withScope = (config: RouteConfig, scope: string | null): RouteConfig => {
  const { auth = {} } = config;
  if (scope === null || !isMembers(auth) || (auth.scope ?? []).length > 0) return config;
  return { ...config, auth: { ...auth, scope: [scope] } };
};

/**
 * The permission that a route asks for. As in v4, that of a handler which lies elsewhere is none that a role can have:
 * `api::foo.api::bar.bar.find`.
 */
export const scopeOf = (handler: string, namespace: string): string =>
  namespace === ADDED || handler.startsWith(`${namespace}.`) ? handler : `${namespace}.${handler}`;

/** The action of a content type that a handler names. */
const coreActionOf = (handler: string, { types }: ChainDeps): PlainRoute | null => {
  const [, uid = '', action = ''] = /^(.*)\.([^.]+)$/.exec(handler) ?? [];
  const known = coreActions.find((it) => it === action);
  return types.has(uid) && known ? { uid, action: known } : null;
};

/** Asks policies one after the other; those that answer at once take no turn of the event loop. */
const passAll = (policies: readonly Policy[], ctx: Koa.Context, from = 0): Ready<void> => {
  for (let i = from; i < policies.length; i++) {
    const passed = policies[i]!(ctx);
    if (passed) return passed.then(() => passAll(policies, ctx, i + 1));
  }
  return undefined;
};

/** Throws, or rejects with, its refusal. */
type Policy = (ctx: Koa.Context) => Ready<void>;

/** The names of the ways to be known that alone count on a route; null for all of them. A name that is unknown lets nobody in, as in v4. */
const strategiesOf = (auth: RouteAuth | undefined, where: string): readonly string[] | null => {
  const given = auth === false ? undefined : auth?.strategies;
  if (given === undefined || given === null) return null;
  if (!Array.isArray(given) || !given.every((it) => typeof it === 'string'))
    throw new CodeFault(
      `${where}: config.auth.strategies is not a list of names such as "users-permissions" and "api-token"; strategies of the project's own are not supported`,
    );
  return given;
};

/** Throws, or rejects with, the refusal of a caller who lacks a permission. @param isPlain whether no code takes part. */
const authentication = (
  auth: RouteAuth | undefined,
  {
    scope,
    strategies,
    isPlain,
  }: {
    readonly scope: string | null;
    readonly strategies: readonly string[] | null;
    readonly isPlain: () => boolean;
  },
  { native }: ChainDeps,
): ((ctx: Koa.Context) => Ready<void>) => {
  if (auth === false) return (ctx) => native().skipAuthentication(ctx);
  const given = auth?.scope ?? scope;
  const scopes = given === null ? null : [given].flat();
  return (ctx) =>
    whenReady(native().authenticate(ctx, strategies), (caller) => {
      // code, its policies, hooks and services too, knows nothing of the fields, locales and conditions of an administrator's permissions (AD14)
      if (caller.rights && !caller.rights.isSuperAdmin && !isPlain()) throw new ForbiddenError();
      if (scopes === null) refuseWithoutScope(ctx, caller);
      else if (!scopes.every((it) => caller.may(it))) throw new ForbiddenError();
    });
};

/** A route that names no permission, because its handler is a function, is open to users and to full-access tokens only. */
const refuseWithoutScope = ({ state }: Koa.Context, caller: Caller): void => {
  const { credentials, strategy } = state['auth'] as {
    readonly credentials: object | null;
    readonly strategy: { readonly name: string };
  };
  if (credentials === null) throw new UnauthorizedError();
  // only full access includes a permission that does not exist
  if (strategy.name === 'api-token' && !caller.may('')) throw new ForbiddenError();
};

interface RouteAction {
  /** Called with koa's context and next. */
  readonly action: readonly Middleware[];
  /** The whole one of the action; null for functions. */
  readonly name: string | null;
  /** Whether the server's own action answers, as it is. */
  readonly isCore: () => boolean;
}

const actionOf = (
  { declared, namespace }: PlacedRoute,
  { registry, ignored }: ChainDeps,
  where: string,
): RouteAction => {
  const { handler } = declared;
  const functions = Array.isArray(handler) ? handler : [handler];
  if (functions.every(isCallable))
    return { action: functions.map((it) => answering(it)), name: null, isCore: () => false };
  if (typeof handler !== 'string') throw new CodeFault(`${where}: the handler is neither a name nor a function`);
  const full = handler.includes('::') ? handler : `${namespace}.${handler}`;
  const [, name = '', action = ''] = /^(.*)\.([^.]+)$/.exec(full) ?? [];
  const controller = registry.controller(name);
  if (!controller || !isCallable(controller[action]))
    throw new CodeFault(
      `${where}: there is no action "${full}"${ifLeftOut('controllers', name, ignored) || orNearName(action, actionsOf(name, controller))}`,
    );
  // an extension may replace that of a plugin later, and any code an action of either
  const lookUp = name.startsWith('plugin::') ? () => registry.controller(name)! : () => controller;
  return {
    action: [
      answering((ctx, next) => {
        const members = lookUp();
        // code may have put one there that is not bound to them
        return (members[action] as Callable).call(members, ctx, next);
      }),
    ],
    name: full,
    isCore: () => registry.isCoreAction(name, action),
  };
};

/** Those of a controller, the core's among them. */
const actionsOf = (name: string, controller: Members | undefined): readonly string[] =>
  Object.entries(controller ?? {}).flatMap(([action, it]) => (isCallable(it) ? [`${name}.${action}`] : []));

/** What an action returns is the body, unless it has set one. */
const answering =
  (action: Callable): Middleware =>
  (ctx, next) => {
    const answer = (returned: unknown): void => {
      if (returned !== undefined && returned !== null) ctx.body ??= returned;
    };
    const returned = action(ctx, next);
    return isThenable(returned) ? Promise.resolve(returned).then(answer) : answer(returned);
  };

/** Throws the refusal of a policy that does not pass. */
const policyStep = (given: unknown, namespace: string, deps: ChainDeps, where: string): Policy => {
  const { registry, strapi } = deps;
  const { name, config = {} } = isMembers(given) ? given : { name: given };
  const found = isCallable(given) ? given : typeof name === 'string' ? registry.policy(name, namespace) : undefined;
  // as `createPolicy` of v4 makes it, or written like that
  const { handler: policy, validator } = isMembers(found) ? found : { handler: found };
  if (!isCallable(policy)) throw noPolicy(name ?? given, where, deps);
  // what its file gives, whichever of its functions runs
  const guard = isMembers(found) ? found : policy;
  if (isCallable(validator)) makeApart(guard, () => validate(validator, config, { ...deps, where, name }));
  const check = (passed: unknown): void => {
    if (passed !== true && passed !== undefined) throw new ForbiddenError();
  };
  return (ctx) => runGuard(guard, ctx, () => policy(new PolicyContext(ctx), config, { strapi }), check);
};

/** A configuration that is wrong stops the start; what the function returns has no meaning. */
const validate = (
  validator: Callable,
  config: unknown,
  { dir, where, name }: Pick<ChainDeps, 'dir'> & { readonly where: string; readonly name: unknown },
): void => {
  try {
    validator(config);
  } catch (fault) {
    const what = `the policy ${JSON.stringify(name)} refuses its configuration`;
    throw new CodeFault(describeFault(fault, dir, { file: where, what }), { cause: fault });
  }
};

const noPolicy = (name: unknown, where: string, { registry, ignored }: ChainDeps): CodeFault =>
  new CodeFault(
    typeof name === 'string' && name.startsWith('admin::')
      ? `${where}: the policy "${name}" is one of v4's admin panel, which is not here; remove it from the route, or name a policy of the project instead`
      : `${where}: there is no policy ${JSON.stringify(name)}${ifLeftOut('policies', name, ignored) || orNearName(name, registry.namesOf('policies'))}`,
  );

/** What else is to be done where the configuration leaves out the file of what a route names. @param folder of such files. */
const ifLeftOut = (folder: string, name: unknown, ignored: ReadonlySet<string>): string => {
  const local = localOf(String(name));
  const file = [...ignored].find((it) => {
    const [, own = ''] = new RegExp(`/${folder}/([^/]+)\\.\\w+$`).exec(it) ?? [];
    return own !== '' && kebabName(own) === local;
  });
  return file === undefined ? '' : `: project.ignoreCode leaves out ${file}, so take it out of the route too`;
};

/** Which of the whole names may be meant: their scopes are alike, and one may be left out or wrong, so what is behind it counts. */
export const orNearName = (given: unknown, names: readonly string[]): string => {
  const near = nearest(localOf(String(given)), names.map(localOf));
  return near === undefined ? '' : `; did you mean "${names.find((it) => localOf(it) === near)}"?`;
};

const localOf = (name: string): string => kebabName(/[^.:]*$/.exec(name)![0]);

const isKoa = (name: string): boolean => name === 'koa';

/**
 * A policy sees what `ctx` itself has, the request and its state, but none of its shorthands. A class: a literal with a prototype takes
 * as long to make as all else that a policy costs.
 */
class PolicyContext {
  readonly type = 'koa';
  readonly is = isKoa;
  readonly state: unknown;
  readonly params: unknown;
  readonly request: Koa.Request;
  readonly response: Koa.Response;
  readonly app: Koa;
  readonly req: Koa.Context['req'];
  readonly originalUrl: string;
  readonly _matchedRoute: unknown;
  constructor(ctx: Koa.Context) {
    this.state = ctx.state;
    this.params = ctx['params'];
    this.request = ctx.request;
    this.response = ctx.response;
    this.app = ctx.app;
    this.req = ctx.req;
    this.originalUrl = ctx.originalUrl;
    this._matchedRoute = ctx['_matchedRoute'];
  }
  get res(): Koa.Context['res'] {
    return this.response.res;
  }
}
for (const name of absentInContext)
  Object.defineProperty(PolicyContext.prototype, name, {
    get: () => {
      throw missing(`ctx.${name}`);
    },
  });

const middlewareStep = (given: unknown, namespace: string, deps: ChainDeps, where: string): Middleware => {
  if (isCallable(given)) return guarding(given as unknown as Middleware);
  const { name, resolve, config = {} } = isMembers(given) ? given : { name: given };
  const made = (factory: unknown): Middleware => {
    if (!isCallable(factory))
      throw new CodeFault(
        `${where}: there is no middleware ${JSON.stringify(name ?? resolve ?? given)}${ifLeftOut('middlewares', name, deps.ignored) || orNearName(name, deps.registry.namesOf('middlewares'))}`,
      );
    return deps.makeMiddleware(factory, config, { ...deps, where, name: name ?? resolve });
  };
  if (typeof resolve === 'string') return deps.loadMiddleware(resolve, made);
  return made(typeof name === 'string' ? deps.registry.middleware(name, namespace) : undefined);
};

/** What a file of the project makes of a configuration. Throws a `CodeFault` that names the place. */
export type MakeMiddleware = (
  factory: Callable,
  config: unknown,
  about: Pick<ChainDeps, 'strapi' | 'dir'> & { readonly where: string; readonly name: unknown },
) => Middleware;

/** Passes every request. */
const goOn: Middleware = (_ctx, next) => next();

export const middlewareOf: MakeMiddleware = (factory, config, { strapi, dir, where, name }) => {
  try {
    return makeGuard(factory, () => {
      // as in v4: one that only adds routes, for example, returns none
      const made = factory(config, { strapi }) ?? goOn;
      if (!isCallable(made)) throw new TypeError('it gives no function of ctx and next');
      return made as Middleware;
    });
  } catch (fault) {
    const what = `the middleware ${JSON.stringify(name)} cannot be made`;
    throw new CodeFault(describeFault(fault, dir, { file: where, what }), { cause: fault });
  }
};
