/** Runs code of a project around a request: its global middlewares, and inside of them what the request is for. */
import type http from 'node:http';
import type Koa from 'koa';
import type compose from 'koa-compose';
import { isThenable, type Ready } from '../../ready.js';
import type { BoundCode } from '../../v4code/code.js';
import { inRequest } from '../../v4code/data/scope.js';
import type { FoundRoute, RoutesAt } from '../../v4code/requests/routes.js';
import { isOfAuthorisation } from '../../v4code/strapi-utils/errors.js';
import { methods } from '../routes.js';
import { targetOf } from '../target.js';
import { pathOf } from './bodies.js';
import type { ContextGiven, Contexts } from './context.js';
import { type Asked, fail, settle } from './responses.js';

export interface Running {
  /** Whether there are global middlewares: they may send a request elsewhere. */
  readonly hasGlobals: boolean;
  /** @param found the route that answers; null for none of the project. */
  newContext(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    found: FoundRoute | null,
    given: Pick<ContextGiven, 'body' | 'source' | 'commonHeaders'>,
  ): Koa.Context;
  /**
   * Runs the work of a request, which itself runs code `inRequest`; a thrown error becomes the response. `end` is called once all has ended:
   * at once, if nothing had to be waited for, since every promise on the way makes a list with a controller of its own slower. What `end`
   * throws, because a body cannot be sent, is left to the caller.
   */
  alone<T>(ctx: Koa.Context, work: () => unknown, asked: Asked, end: () => T): Ready<T>;
  /** The same with the global middlewares around the last one. */
  inside<T>(ctx: Koa.Context, last: Koa.Middleware, asked: Asked, end: () => T): Ready<T>;
  /** Runs the action that a request is for once the global middlewares have seen it, which may have sent it elsewhere. */
  routed(given: Place, found: FoundRoute | null, otherwise: () => Promise<void> | void): Koa.Middleware;
  /** Tells global middlewares of the route that the server itself answers. */
  introduce(ctx: Koa.Context, found: FoundRoute | null): Promise<void>;
}

/** Where a request was sent. */
interface Place {
  readonly method: string;
  readonly pathname: string;
}

/** @param code once it has started. */
export const newRunning = async (
  { globals, globalsBeforeErrors, table }: BoundCode,
  contexts: Contexts,
): Promise<Running> => {
  const { default: composed } = await import('koa-compose');
  /** By context; empty without middlewares before `strapi::errors`. */
  const askedOf = new WeakMap<object, Asked>();
  /** In place of `strapi::errors`: those before it find responses, where those behind it have thrown. */
  const respondToFaults: Koa.Middleware = async (ctx, next) => {
    try {
      await next();
    } catch (fault) {
      fail(fault, ctx as Koa.Context, askedOf.get(ctx)!);
    }
    if (ctx.respond !== false && !ctx.res.headersSent) settle(ctx as Koa.Context);
  };
  const around = globalsBeforeErrors === 0 ? [] : [respondToFaults];
  const throughGlobals =
    globals.length === 0 ? null : (composed as typeof compose)(globals.toSpliced(globalsBeforeErrors, 0, ...around));

  const alone: Running['alone'] = (ctx, work, asked, end) => {
    const failed = (fault: unknown): ReturnType<typeof end> => {
      fail(fault, ctx, asked);
      return end();
    };
    let running: unknown;
    try {
      running = work();
    } catch (fault) {
      return failed(fault);
    }
    return isThenable(running) ? Promise.resolve(running).then(end, failed) : end();
  };

  return {
    hasGlobals: throughGlobals !== null,
    newContext: (request, response, found, given) =>
      contexts.make(request, response, {
        params: found?.params ?? {},
        path: found?.route.path ?? null,
        ...given,
      }),
    alone,
    inside: (ctx, last, asked, end) => {
      if (globalsBeforeErrors > 0) askedOf.set(ctx, asked);
      return alone(
        ctx,
        () =>
          inRequest(ctx, () =>
            throughGlobals
              ? throughGlobals(ctx as Koa.ParameterizedContext, () =>
                  saying(ctx, () => last(ctx as never, noNext), asked),
                )
              : last(ctx as never, noNext),
          ),
        asked,
        end,
      );
    },
    routed: (given, found, otherwise) => (ctx, next) => {
      const isMoved = throughGlobals !== null && (ctx.method !== given.method || pathOf(ctx.url) !== given.pathname);
      if (!isMoved) return found ? found.route.chain(ctx, next) : otherwise();
      const pathname = pathOf(targetOf(ctx.url));
      const routes = table.at(pathname);
      const route = routes.findAny(ctx.method);
      if (route) {
        contexts.route(ctx, route.params, route.route.path);
        return route.route.chain(ctx, next);
      }
      if (routes.methods().length > 0) refuseMethod(ctx, routes);
      return undefined;
    },
    introduce: async (ctx, found) => {
      if (!found) return;
      contexts.route(ctx, found.params, found.route.path);
      await found.route.introduce(ctx);
    },
  };
};

/** A refusal of whoever may not is said by the context: what global middlewares do after `next()` is done. */
const saying = async (ctx: Koa.Context, work: () => unknown, asked: Asked): Promise<void> => {
  try {
    await work();
  } catch (fault) {
    if (!isOfAuthorisation(fault)) throw fault;
    fail(fault, ctx, asked);
  }
};

export const noNext = (): Promise<void> => Promise.resolve();

/** Whether code of the project answers for entries. */
export const isOfApi = (found: FoundRoute | null): boolean =>
  found !== null && !found.route.namespace.startsWith('plugin::');

export const refuseMethod = (ctx: Koa.Context, routes: RoutesAt): void => {
  ctx.status = 405;
  ctx.set('allow', allowOf(routes.methods()));
};

/** In the server's own order. */
export const allowOf = (found: readonly string[]): string =>
  methods
    .filter((it) => found.includes(it) || found.includes('ALL'))
    .flatMap((it) => (it === 'GET' ? ['HEAD', it] : [it]))
    .join(', ');
