/**
 * Requests that a v4 project's own code takes part in. Its middlewares, policies and controllers see Koa's context, whose
 * request and response are the framework's; what they answer is sent like any other response. A route without code is
 * answered by the server between the project's global middlewares.
 */
import type http from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Koa from 'koa';
import type compose from 'koa-compose';
import { issue, Refusal, unwrap } from '../../errors.js';
import type { IncomingForm } from '../../media/receive.js';
import { textQuery } from '../../query/brackets.js';
import type { QuerySource } from '../../query/raw.js';
import { type Search, searchQuery } from '../../query/searches.js';
import type { Answer } from '../../read/answer.js';
import { isThenable, type Ready, whenReady } from '../../ready.js';
import type { Site } from '../../site/site.js';
import type { BoundCode } from '../../v4code/code.js';
import { formAsLeft, shownForm } from '../../v4code/data/files.js';
import { inRequest, refuseInTransaction } from '../../v4code/data/scope.js';
import type { CodeContext } from '../../v4code/native.js';
import type { GuardedAction } from '../../v4code/requests/chains.js';
import type { FoundRoute, RoutesAt } from '../../v4code/requests/routes.js';
import {
  ApplicationError,
  absentOrThrown,
  isOfAuthorisation,
  UnauthorizedError,
} from '../../v4code/strapi-utils/errors.js';
import { answerRead, type ReadTarget } from '../actions.js';
import type { Attempts } from '../attempts.js';
import { claimsAdministrator, isReading } from '../credentials.js';
import { asksForV5 } from '../forms.js';
import type { Origins, OriginsOf } from '../headers.js';
import type { LogLeftOut } from '../left-out.js';
import { isAnsweredPastCode, isByAdministrator, isOfContent } from '../past-code.js';
import { sendIssues } from '../respond.js';
import { methods } from '../routes.js';
import { searchOf, targetOf } from '../target.js';
import { bodyOf, cloneStandIns } from './answers.js';
import { anyRouteOf, codeMethodsOf, codeRouteOf, firstRouteOf, pathOf, rewind } from './bodies.js';
import { type ContextGiven, hasCommonHeaders, newContexts } from './context.js';
import { newNative } from './native.js';
import {
  type Asked,
  answerOfContext,
  type CodeAnswer,
  type CodeRun,
  fail,
  finish,
  handOver,
  responseOfFault,
  send,
  sendFault,
  settle,
} from './responses.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while the project's code waits for the server's own answer. */
    codeRun: CodeRun | null;
  }
}

/** What a URL asks of code, whoever asks: it may be kept. */
export interface CodePlace {
  readonly url: string;
  readonly pathname: string;
  readonly routes: RoutesAt;
  readonly query: QuerySource;
}

export interface CodeServer {
  /** Null for a URL that only the framework reads. */
  placeOf(url: string): CodePlace | null;
  /**
   * Lets code answer a read outside the framework. `none`: no code takes part in the request; `framework`: only there. Whatever
   * fails, also at once, is a rejection.
   * @param place of its URL. @param given what the request is for, if it is a read of the content API, null otherwise; and the headers
   * of every response, which code is given once it looks at the response: from then on they are not the caller's to send.
   */
  begin(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    asked: Asked,
    place: CodePlace,
    given: {
      readonly target: ReadTarget | null;
      readonly commonHeaders: () => readonly string[];
    },
  ): Ready<CodeAnswer> | 'none' | 'framework';
  /** Asks the function that `config/middlewares` gives to `strapi::cors`. */
  readonly originsFor: OriginsOf;
}

export interface CodeDeps {
  readonly code: BoundCode;
  readonly site: Site;
  readonly settings: {
    readonly prefix: string;
    readonly trustProxy: boolean;
    readonly cookieKeys?: readonly string[];
  };
  readonly attempts: Attempts;
  readonly logLeftOut: LogLeftOut;
}

export const addProjectCode = async (
  app: FastifyInstance,
  { code, site, settings, attempts, logLeftOut }: CodeDeps,
): Promise<CodeServer> => {
  cloneStandIns();
  const contexts = await newContexts({ ...settings, strict: site.settings.strict });
  const exchanges = new WeakMap<object, FastifyRequest>();
  /** Forms that have not been received yet. */
  const forms = new WeakMap<object, IncomingForm>();
  /** Runs the work with the fields and files of the form in the context. */
  const withForm = (ctx: Koa.Context, form: IncomingForm, work: () => Promise<void>): Promise<void> => {
    forms.delete(ctx);
    return site.media.withForm(form, (received) => {
      form.received = received;
      Object.assign(ctx.request, shownForm(received));
      return work();
    });
  };
  const native = newNative({
    site,
    findUser: code.findUser,
    contexts,
    attempts,
    prefix: settings.prefix,
    exchanges,
    logLeftOut: (leftOut, url) => logLeftOut(leftOut, url, app.log),
    withForm: (ctx, work) => {
      const form = forms.get(ctx);
      return form ? withForm(ctx as Koa.Context, form, async () => work()) : work();
    },
  });
  await code.start(site, native, app.server);
  const { default: composed } = await import('koa-compose');
  const { globals, globalsBeforeErrors } = code;
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
  const { changedQuery } = contexts;

  const newContext = (
    request: http.IncomingMessage,
    response: http.ServerResponse,
    found: FoundRoute | null,
    { body, source, commonHeaders }: Pick<ContextGiven, 'body' | 'source' | 'commonHeaders'>,
  ): Koa.Context =>
    contexts.make(request, response, {
      params: found?.params ?? {},
      path: found?.route.path ?? null,
      body,
      source,
      commonHeaders,
    });

  /**
   * Runs the work of a request, which itself runs code `inRequest`; a thrown error becomes the response. `end` is called once all has ended:
   * at once, if nothing had to be waited for, since every promise on the way makes a list with a controller of its own slower. What `end`
   * throws, because a body cannot be sent, is left to the caller.
   */
  const runIn = <T>(ctx: Koa.Context, work: () => unknown, asked: Asked, end: () => T): Ready<T> => {
    const failed = (fault: unknown): T => {
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

  /** A refusal of whoever may not is said by the context: what global middlewares do after `next()` is done. */
  const saying = async (ctx: Koa.Context, work: () => unknown, asked: Asked): Promise<void> => {
    try {
      await work();
    } catch (fault) {
      if (!isOfAuthorisation(fault)) throw fault;
      fail(fault, ctx, asked);
    }
  };

  /** Tells global middlewares of the route that the server itself answers. */
  const introduce = async (ctx: Koa.Context, found: FoundRoute | null): Promise<void> => {
    if (!found) return;
    contexts.route(ctx, found.params, found.route.path);
    await found.route.introduce(ctx);
  };

  /** The same where the server answers past the routes of the project; hooks may ask who it is. */
  const introduceCaller = async (ctx: Koa.Context, { params, routeOptions }: FastifyRequest): Promise<void> => {
    contexts.route(ctx, params as Record<string, string>, routeOptions.url!);
    try {
      const { rights } = await native.authenticate(ctx, null);
      if (rights) ctx.state['user'] = await code.findAdministrator(rights.adminId);
    } catch (fault) {
      // bad credentials: the answer will say so
      if (!(fault instanceof ApplicationError)) throw fault;
    }
  };

  /** Runs the global middlewares around the last one. */
  const runThrough = <T>(ctx: Koa.Context, last: Koa.Middleware, asked: Asked, end: () => T): Ready<T> => {
    if (globalsBeforeErrors > 0) askedOf.set(ctx, asked);
    return runIn(
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
  };

  /**
   * The server's own answer once the guards let it pass: nothing of it has to be an object for that. Policies know themselves which
   * request they are asked about, and nothing else is code.
   */
  const answerGuarded = (
    ctx: Koa.Context,
    { uid, action, pass, act }: GuardedAction,
    asked: Asked,
  ): Ready<CodeAnswer> => {
    const type = site.model.types.get(uid)!;
    let answer: Answer | null = null;
    const answered = (made: Answer): void => {
      answer = made;
    };
    const proceed = (): unknown =>
      hasSaid(ctx) || contexts.limitsPopulate(ctx)
        ? inRequest(ctx, () => act(ctx as Koa.ParameterizedContext, noNext))
        : whenReady(native.answer(ctx as unknown as CodeContext, type, action), answered);
    const work = (): unknown => {
      const passed = pass(ctx);
      return passed ? passed.then(proceed) : proceed();
    };
    return runIn(ctx, work, asked, () => (answer ? { kind: 'answer', answer, wasShown: false } : answerOfContext(ctx)));
  };

  /** Runs the action that a request is for once the global middlewares have seen it, which may have sent it elsewhere. */
  const routed =
    (given: Place, found: FoundRoute | null, otherwise: () => Promise<void> | void): Koa.Middleware =>
    (ctx, next) => {
      const isMoved = throughGlobals !== null && (ctx.method !== given.method || pathOf(ctx.url) !== given.pathname);
      if (!isMoved) return found ? found.route.chain(ctx, next) : otherwise();
      const pathname = pathOf(targetOf(ctx.url));
      const routes = code.table.at(pathname);
      const route = routes.findAny(ctx.method);
      if (route) {
        contexts.route(ctx, route.params, route.route.path);
        return route.route.chain(ctx, next);
      }
      if (routes.methods().length > 0) refuseMethod(ctx, routes);
      return undefined;
    };

  /** Null for an entry that does not exist; what else is refused is thrown as v4's error. */
  const readForCode = async (target: ReadTarget, headers: http.IncomingHttpHeaders): Promise<Answer | null> => {
    try {
      return unwrap(await answerRead(target, headers, site));
    } catch (fault) {
      return absentOrThrown(fault);
    }
  };

  /** A form that cannot be received is the response. */
  const receiveFirst = async (ctx: Koa.Context, asked: Asked, run: () => Promise<void>): Promise<void> => {
    let hasRun = false;
    try {
      await withForm(ctx, forms.get(ctx)!, () => {
        hasRun = true;
        return run();
      });
    } catch (fault) {
      if (hasRun) throw fault;
      fail(fault, ctx, asked);
    }
  };

  app.decorateRequest('codeRun', null);
  app.decorateRequest('responseOfFault', null);
  app.decorateRequest('codeRoute', undefined);
  app.decorateRequest('bytesForCode', null);
  app.decorateRequest('changedQuery', null);
  app.addHook('preHandler', (request, reply, done) => {
    const pathname = pathOf(request.raw.url!);
    const found = codeRouteOf(request, code.table);
    const isCode = found !== null || code.globals.length > 0 || isOtherMethod(request, pathname, code);
    if (pathname.startsWith('/_health')) done();
    else if (!isCode && isReading(request.method)) done();
    else if (!isCode && isOfContent(request)) letPass(request, reply, done);
    else if (!isCode) {
      explainFaults(request, askedBy(request));
      done();
    } else if (isOfApi(found) && asksForV5(request.headers)) sendIssues(reply, [issue('http.format-of-code', [])]);
    else {
      const { raw, bytesForCode } = request;
      request.bytesForCode = null;
      const handleNow = (whenRead: (() => Promise<void>) | null): void =>
        handle(request, reply, { pathname, found, whenRead, goOn: done });
      if (bytesForCode === null) handleNow(null);
      // the stream closes behind its end, which this may be part of
      else setImmediate(() => handleNow(rewind(raw, reply.raw, bytesForCode)));
    }
  });

  const askedBy = ({ method, raw: { url }, id, log }: FastifyRequest): Asked => ({ method, url, id, log });

  /** What hooks throw may be meant for the client, whoever answers. */
  const explainFaults = (request: FastifyRequest, asked: Asked): void => {
    request.responseOfFault = (fault) => responseOfFault(fault, request.body, asked);
  };

  /** No code stands in the way of the answer, but hooks may be set off by it. */
  const letPass = (request: FastifyRequest, reply: FastifyReply, goOn: () => void): void => {
    handOver(reply);
    const ctx = newContext(request.raw, reply.raw, null, { body: request.body, source: null, commonHeaders: null });
    // Koa's own is a 404
    reply.raw.statusCode = 200;
    const asked = askedBy(request);
    explainFaults(request, asked);
    introduceCaller(ctx, request).then(
      () => inRequest(ctx, goOn),
      (fault: unknown) => sendFault(fault, asked, reply),
    );
  };

  /** Lets code answer a request of the framework, which goes on with it where the server itself is to answer. */
  const handle = (
    request: FastifyRequest,
    reply: FastifyReply,
    {
      pathname,
      found,
      whenRead,
      goOn,
    }: {
      readonly pathname: string;
      readonly found: FoundRoute | null;
      /** Waits for those that read the body beside the server. */
      readonly whenRead: (() => Promise<void>) | null;
      readonly goOn: () => void;
    },
  ): void => {
    const { method, form } = request;
    const { raw } = reply;
    handOver(reply);
    const ctx = newContext(request.raw, raw, found, { body: request.body, source: null, commonHeaders: null });
    const holder = ctx.request as { readonly body?: unknown; readonly files?: unknown };
    const givenBody = request.body;
    let hasAnswered = false;
    let isOver = false;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    /** Lets the framework answer; resolves with its answer in the context, or rejects with what v4 would throw. */
    const answerNatively = async (): Promise<void> => {
      if (hasAnswered || isOver) throw new Error('next() was called twice, or after the middleware had ended');
      if (!isReading(method) && method !== 'OPTIONS' && !request.is404) refuseInTransaction(`${method} ${pathname}`);
      hasAnswered = true;
      const isPastCode = isAnsweredPastCode(request);
      const route = isPastCode ? null : anyRouteOf(request, code.table);
      try {
        const isUnrouted = isPastCode || (!route && isOfContent(request));
        await (isUnrouted ? introduceCaller(ctx, request) : introduce(ctx, route));
      } catch (fault) {
        hasAnswered = false;
        throw fault;
      }
      // a middleware that did not wait for next() may have changed whose request it is
      if (isPastCode && !isByAdministrator(request)) throw new UnauthorizedError();
      raw.statusCode = 200;
      if (form?.received) form.received = await formAsLeft(holder.body, holder.files, form.received);
      else if (givenBody !== undefined || hasContent(holder.body)) request.body = holder.body;
      const changed = changedQuery(ctx);
      if (changed) {
        request.changedQuery = changed;
        // for what is no part of a query; conditions may be lost in it
        request.raw.url = `${pathname}?${changed.text}`;
      }
      await new Promise<void>((answered, refused) => {
        const keepsCodes = isByAdministrator(request);
        if (keepsCodes || !route) explainFaults(request, asked);
        request.codeRun = { ctx, answered, refused: route && refused, keepsCodes, ended };
        goOn();
      });
    };
    const wasPastCode = isAnsweredPastCode(request);
    const act = routed({ method, pathname }, found, async () => {
      // a global middleware has changed whose request it is: their code is in force
      const theirs = wasPastCode && !isByAdministrator(request) ? firstRouteOf(request, code.table) : null;
      if (theirs && isOfApi(theirs) && asksForV5(request.headers))
        fail(new Refusal(issue('http.format-of-code', [])), ctx, asked);
      else if (theirs) {
        contexts.route(ctx, theirs.params, theirs.route.path);
        await theirs.route.chain(ctx as Koa.ParameterizedContext, noNext);
      } else if (isOtherMethod(request, pathname, code)) refuseMethod(ctx, code.table.at(pathname));
      else await answerNatively();
    });
    const last: Koa.Middleware = whenRead ? (it, next) => whenRead().then(() => act(it, next)) : act;
    exchanges.set(ctx, request);
    const asked = askedBy(request);
    const run = async (): Promise<void> =>
      runThrough(ctx, last, asked, () => {
        isOver = true;
        end();
      });
    const isForm = form !== null && method !== 'DELETE';
    if (isForm) forms.set(ctx, form);
    // global middlewares may look at any body; without them whoever sends one is asked for a permission first
    const running = isForm && throughGlobals ? receiveFirst(ctx, asked, run) : run();
    running
      .then(() => (hasAnswered ? undefined : send(ctx, reply)))
      .catch((fault: unknown) => {
        end();
        sendFault(fault, asked, reply);
      });
  };

  app.addHook('onSend', async (request, reply, payload) => {
    const allowed = reply.getHeader('allow');
    // what is on the response itself, code has said
    if (allowed !== undefined && !reply.raw.hasHeader('allow') && !isByAdministrator(request))
      reply.header('allow', allowOf([...String(allowed).split(', '), ...codeMethodsOf(request, code.table)]));
    const run = request.codeRun;
    if (!run) return payload;
    request.codeRun = null;
    return finish(run, reply, payload);
  });

  const begin: CodeServer['begin'] = (
    request,
    response,
    asked,
    { url, pathname, routes, query },
    { target, commonHeaders },
  ) => {
    const { method = 'GET' } = request;
    const found = routes.find(method);
    if (!found && code.globals.length === 0) return 'none';
    if (claimsAdministrator(request.headers)) return 'framework';
    if (
      found ? !isReading(method) || found.route.namespace.startsWith('plugin::') : target === null || !isReading(method)
    )
      return 'framework';
    if ((target || isOfApi(found)) && asksForV5(request.headers)) return 'framework';
    const ctx = newContext(request, response, found, { body: undefined, source: query, commonHeaders });
    const guarded = found?.route.guarded;
    if (guarded && !throughGlobals && guarded.isPlain()) return answerGuarded(ctx, guarded, asked);
    const last = routed({ method, pathname }, found, async () => {
      await introduce(ctx, routes.findAny(method));
      const search = changedQuery(ctx) ?? (request.url === url ? null : searchOf(request.url!));
      const asTold = search === null ? target! : withSearch(target!, search);
      const answer = await readForCode(asTold, request.headers);
      if (answer) ctx.body = bodyOf(answer);
    });
    return runThrough(ctx, last, asked, () => answerOfContext(ctx));
  };

  return {
    originsFor: async (request, response) => {
      const ctx = newContext(request, response, null, { body: undefined, source: null, commonHeaders: null });
      response.statusCode = 200;
      try {
        return originsIn(await inRequest(ctx, () => code.corsOrigin!(ctx)));
      } catch (fault) {
        // whatever status it names, it is the server's fault
        throw new Error('the function that strapi::cors has as origin failed', { cause: fault });
      }
    },
    placeOf: (url) => {
      // the framework refuses what cannot be decoded
      if (targetOf(url) !== url) return null;
      const pathname = pathOf(url);
      return { url, pathname, routes: code.table.at(pathname), query: textQuery(searchOf(url)) };
    },
    begin: (request, response, asked, place, given) => {
      try {
        return begin(request, response, asked, place, given);
      } catch (fault) {
        return Promise.reject(fault);
      }
    },
  };
};

/** Whether code of the project answers for entries. */
const isOfApi = (found: FoundRoute | null): boolean => found !== null && !found.route.namespace.startsWith('plugin::');

/** `https://a.example, https://b.example`, a list, or nothing for none. */
const originsIn = (given: unknown): Origins => {
  if (given === undefined || given === null || given === false) return [];
  const found: readonly unknown[] = typeof given === 'string' ? given.split(/\s*,\s*/) : [given].flat();
  if (!found.every((it) => typeof it === 'string'))
    throw new TypeError('it returned neither a text nor a list of texts');
  return found.includes('*') ? true : found;
};

const withSearch = (target: ReadTarget, search: Search): ReadTarget => ({
  ...target,
  request: { ...target.request, query: searchQuery(search) },
});

/** Whether a policy has said anything of the response, which then counts beside what the action says. */
const hasSaid = (ctx: Koa.Context): boolean => {
  const { _explicitStatus: status, _body: body } = ctx.response as {
    readonly _explicitStatus?: boolean;
    readonly _body?: unknown;
  };
  return status === true || body !== undefined || hasCommonHeaders(ctx);
};

const noNext = (): Promise<void> => Promise.resolve();

/** Where a request was sent. */
interface Place {
  readonly method: string;
  readonly pathname: string;
}

const refuseMethod = (ctx: Koa.Context, routes: RoutesAt): void => {
  ctx.status = 405;
  ctx.set('allow', allowOf(routes.methods()));
};

/** In the server's own order. */
const allowOf = (found: readonly string[]): string =>
  methods
    .filter((it) => found.includes(it) || found.includes('ALL'))
    .flatMap((it) => (it === 'GET' ? ['HEAD', it] : [it]))
    .join(', ');

/** Code finds an empty object where there is no body. */
const hasContent = (body: unknown): boolean =>
  body !== null && (typeof body !== 'object' || Reflect.ownKeys(body).length > 0);

/** A path of the project's routes with a method that none of them has, and that the server does not know either. */
const isOtherMethod = (request: FastifyRequest, pathname: string, code: BoundCode): boolean =>
  request.is404 && request.method !== 'OPTIONS' && code.table.at(pathname).methods().length > 0;
