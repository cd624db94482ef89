/**
 * Requests that a v4 project's own code takes part in. Its middlewares, policies and controllers see Koa's context, whose
 * request and response are the framework's; what they answer is sent like any other response. A route without code is
 * answered by the server between the project's global middlewares.
 */

import type http from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Koa from 'koa';
import type compose from 'koa-compose';
import { sql } from 'kysely';

import type { KnownCaller } from '../access/caller.js';
import { type Issue, issue, Refusal, type Result, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import type { EntryType } from '../model/model.js';
import { textQuery } from '../query/brackets.js';
import { objectQuery, type QueryObject } from '../query/objects.js';
import { parameterName } from '../query/parameters.js';
import type { QuerySource } from '../query/raw.js';
import type { Answer } from '../read/find.js';
import type { Ready } from '../ready.js';
import type { Site } from '../site/site.js';
import { readRows } from '../sql/dialect.js';
import type { BoundCode, NativeRoutes } from '../v4code/code.js';
import { type ErrorResponse, errorResponse, nameOfStatus, phraseOf, responseOf, v4Refusal } from '../v4code/errors.js';
import type { CodeContext, Native } from '../v4code/native.js';
import type { CoreAction, Members } from '../v4code/parts.js';
import { inRequest } from '../v4code/scope.js';
import { contextFor, performAction } from './actions.js';
import { faultResponse } from './faults.js';
import { JSON_TYPE, sendAnswer } from './respond.js';
import { parseId } from './routes.js';
import { searchOf, targetOf } from './target.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while the project's code waits for the server's own answer. */
    codeRun: CodeRun | null;
  }
}

/** A request in the hands of the project's code. */
interface CodeRun {
  readonly ctx: Koa.Context;
  /** Resolves the middlewares' `next()`. */
  readonly answered: () => void;
  /** Settles when all middlewares have ended. */
  readonly ended: Promise<void>;
}

type ParseQuery = (text: string) => Record<string, unknown>;

/** A request, for the log. */
interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly id: string;
  readonly log: FastifyBaseLogger;
}

/** What code has answered. Its headers are on the response. */
export type CodeAnswer =
  /** The server's own answer, as it was made. */
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'other'; readonly status: number; readonly type: string | null; readonly body: CodeBody }
  /** The code writes the response itself. */
  | { readonly kind: 'taken' };

export type CodeBody = string | Buffer | Readable | null;

export interface CodeServer {
  /**
   * Lets code answer a read outside the framework. `none`: no code takes part in the request; `framework`: only there.
   * @param answerNatively the server's own answer, if the request is for one; `search` replaces the query string.
   */
  begin(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    asked: Asked,
    answerNatively: ((search: string | null) => Ready<Result<Answer>>) | null,
  ): Promise<CodeAnswer> | 'none' | 'framework';
}

export interface CodeDeps {
  readonly code: BoundCode;
  readonly site: Site;
  readonly settings: { readonly trustProxy: boolean; readonly cookieKeys?: readonly string[] };
}

export const addProjectCode = async (app: FastifyInstance, { code, site, settings }: CodeDeps): Promise<CodeServer> => {
  const { default: KoaServer } = await import('koa');
  const { default: composed } = await import('koa-compose');
  const { default: qs } = await import('qs');
  const koa = new KoaServer({ proxy: settings.trustProxy, keys: [...(settings.cookieKeys ?? [])] });
  const parse: ParseQuery = (text) => qs.parse(text, { strictNullHandling: true, arrayLimit: 100, depth: 20 });
  prepareContext(koa, parse);
  const throughGlobals = (composed as typeof compose)([...code.globals]);
  /** The query string of a query that middlewares have changed; null if they have not. */
  const changedSearch = (ctx: Koa.Context): string | null => {
    const changed = changedQuery(ctx, parse);
    return changed && qs.stringify(changed, { strictNullHandling: true });
  };
  const waiting = new WeakMap<object, () => Promise<void>>();
  const native = newNative(site, code.findUser, parse, waiting);
  await code.start(site, native);

  const newContext = (
    request: http.IncomingMessage,
    response: http.ServerResponse,
    found: ReturnType<BoundCode['table']['find']>,
    body: unknown,
  ): Koa.Context => {
    const ctx = koa.createContext(request, response) as Koa.Context;
    // of streams as bodies: whoever sends them sees it too
    ctx.onerror = () => undefined;
    response.statusCode = 404;
    (ctx.request as { body?: unknown }).body = body ?? {};
    ctx['params'] = found?.params ?? {};
    if (found) ctx['_matchedRoute'] = found.route.path;
    return ctx;
  };

  /** Runs the global middlewares around the last one; a thrown error becomes the response. */
  const runThrough = async (ctx: Koa.Context, last: Koa.Middleware, asked: Asked): Promise<void> => {
    try {
      await inRequest(ctx, async () =>
        throughGlobals(ctx as Koa.ParameterizedContext, () => last(ctx as never, noNext)),
      );
    } catch (fault) {
      fail(fault, ctx, asked);
    }
  };

  app.decorateRequest('codeRun', null);
  app.addHook('preHandler', (request, reply, done) => {
    const { method } = request;
    const pathname = pathOf(request.raw.url!);
    const found = code.table.find(method, pathname) ?? code.table.find(method, usualPathOf(request));
    const isOurs = !pathname.startsWith('/_health');
    if (!isOurs || (!found && code.globals.length === 0 && !isOtherMethod(request, pathname, code))) return done();
    const { raw } = reply;
    const ctx = newContext(request.raw, raw, found, request.body);
    const holder = ctx.request as { readonly body?: unknown };
    const givenBody = holder.body;
    let hasAnswered = false;
    let isOver = false;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    /** Lets the framework answer; resolves with its answer in the context. */
    const answerNatively = (): Promise<void> =>
      new Promise((resolve, reject) => {
        if (hasAnswered || isOver) {
          reject(new Error('next() was called twice, or after the middleware had ended'));
          return;
        }
        hasAnswered = true;
        raw.statusCode = 200;
        if (holder.body !== givenBody) request.body = holder.body;
        const search = changedSearch(ctx);
        if (search !== null) request.raw.url = `${pathname}?${search}`;
        request.codeRun = { ctx, answered: resolve, ended };
        done();
      });
    waiting.set(ctx, answerNatively);
    const last: Koa.Middleware = found
      ? found.route.chain
      : async () => {
          if (isOtherMethod(request, pathname, code)) ctx.status = 405;
          else await answerNatively();
        };
    const asked = { method: request.method, url: request.raw.url, id: request.id, log: request.log };
    runThrough(ctx, last, asked)
      .then(() => {
        isOver = true;
        end();
        if (!hasAnswered) send(ctx, reply);
      })
      .catch((fault: unknown) => {
        end();
        if (raw.headersSent) {
          request.log.error({ err: fault }, 'a response could not be sent');
          raw.destroy();
          return;
        }
        const { status, body, headers } = faultResponse(fault, asked, request.log);
        reply.code(status).headers(headers).send(body);
      });
  });

  app.addHook('onSend', async (request, reply, payload) => {
    const run = request.codeRun;
    if (!run) return payload;
    request.codeRun = null;
    return finish(run, reply, payload);
  });

  return {
    begin: (request, response, asked, answerNatively) => {
      const { method = 'GET', url = '/' } = request;
      const pathname = pathOf(url);
      // the framework refuses what cannot be decoded
      if (targetOf(url) !== url) return 'framework';
      const found = code.table.find(method, pathname);
      if (!found && code.globals.length === 0) return 'none';
      if (found ? !isRead(method) || found.route.isOfPlugin : answerNatively === null || !isRead(method))
        return 'framework';
      const ctx = newContext(request, response, found, undefined);
      const last: Koa.Middleware = found
        ? found.route.chain
        : async () => {
            ctx.body = lazyBody(unwrap(await answerNatively!(changedSearch(ctx))));
          };
      return runThrough(ctx, last, asked).then(() => answerOfContext(ctx));
    },
  };
};

const noNext = (): Promise<void> => Promise.resolve();

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD';

const pathOf = (url: string): string => {
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
};

/** The path of the server's own route that a request is for: there are other spellings of it than project routes match. */
const usualPathOf = ({ routeOptions, params }: FastifyRequest): string =>
  (routeOptions.url ?? '').replace(/:(\w+)|\*/g, (given, name: string | undefined) =>
    encodeURIComponent((params as Readonly<Record<string, string>>)[name ?? given] ?? given),
  );

/** A path of the project's routes with a method that none of them has, and that the server does not know either. */
const isOtherMethod = (request: FastifyRequest, pathname: string, code: BoundCode): boolean =>
  request.is404 && request.method !== 'OPTIONS' && code.table.methodsOf(pathname).length > 0;

// ---- the context

/** Statuses of errors, as `ctx.badRequest(message, details)` names them. */
const helperNames = (): readonly (readonly [string, number])[] =>
  Object.keys(process.getBuiltinModule('node:http').STATUS_CODES)
    .map(Number)
    .filter((status) => status >= 400)
    .map((status) => {
      const name = nameOfStatus(status).replace(/Error$/, '');
      const full = phraseOf(status).endsWith('Error') ? `${name}Error` : name;
      return [full.charAt(0).toLowerCase() + full.slice(1), status];
    });

/** The parsed query of a request, once anyone has looked at it. */
const QUERY = Symbol('query');

interface QueriedRequest extends Koa.Request {
  [QUERY]?: Record<string, unknown>;
}

/** The query as code has changed it; null if it is what the URL says. */
const changedQuery = ({ req, request }: Koa.Context, parse: ParseQuery): Record<string, unknown> | null => {
  const current = (request as QueriedRequest)[QUERY];
  const isChanged = current !== undefined && JSON.stringify(current) !== JSON.stringify(parse(searchOf(req.url!)));
  return isChanged ? current : null;
};

const prepareContext = (koa: Koa, parse: ParseQuery): void => {
  // middlewares and policies change the query in place, or replace it
  Object.defineProperty(koa.request, 'query', {
    configurable: true,
    get(this: QueriedRequest) {
      this[QUERY] ??= parse(this.querystring);
      return this[QUERY];
    },
    set(this: QueriedRequest, value: Record<string, unknown>) {
      this[QUERY] = value;
    },
  });
  const response = koa.response as unknown as Record<string, unknown>;
  const context = koa.context as unknown as Record<string, unknown>;
  const both = (name: string, act: (this: Koa.Response, ...given: readonly unknown[]) => void): void => {
    response[name] = act;
    context[name] = function (this: Koa.Context, ...given: readonly unknown[]) {
      return act.apply(this.response, [...given]);
    };
  };
  for (const [name, status] of helperNames())
    both(name, function (message, details = {}) {
      const { body } = errorResponse(
        status,
        nameOfStatus(status),
        message === undefined ? phraseOf(status) : String(message),
        details,
      );
      this.status = status;
      this.body = body;
    });
  both('send', function (data, status = 200) {
    this.status = Number(status);
    this.body = data;
  });
  both('created', function (data) {
    this.status = 201;
    this.body = data;
  });
  both('deleted', function (data) {
    this.status = data === undefined || data === null ? 204 : 200;
    if (data !== undefined && data !== null) this.body = data;
  });
};

// ---- the server's own answers, as bodies of the context

/** Answers whose bytes nobody has looked into, by the object that stands for them. */
const untouched = new WeakMap<object, Answer>();

/** `{ data, meta }` of an answer. It is parsed when a member is read, and no longer the same bytes then. */
const lazyBody = (answer: Answer): object => {
  const body = {};
  const open = (): Record<string, unknown> => {
    untouched.delete(body);
    const value = JSON.parse(answer.body.toString()) as Record<string, unknown>;
    for (const name of ['data', 'meta'])
      Object.defineProperty(body, name, { value: value[name], enumerable: true, configurable: true, writable: true });
    return value;
  };
  for (const name of ['data', 'meta'])
    Object.defineProperty(body, name, {
      enumerable: true,
      configurable: true,
      get: () => open()[name],
      set: (value: unknown) => {
        open();
        (body as Record<string, unknown>)[name] = value;
      },
    });
  untouched.set(body, answer);
  return body;
};

/** Whether nothing was read, added or removed. */
const isUnopened = (body: object): boolean => {
  const members = Object.getOwnPropertyDescriptors(body) as Readonly<Record<string, PropertyDescriptor>>;
  return Object.keys(members).length === 2 && members['data']?.get !== undefined && members['meta']?.get !== undefined;
};

/** To whom only private attributes are closed. */
const anyCaller = { version: 'anybody', may: () => true };

const noCaller: KnownCaller = { version: 'nobody', who: { kind: 'public' }, may: () => false };

const newNative = (
  site: Site,
  findUser: BoundCode['findUser'],
  parse: ParseQuery,
  waiting: WeakMap<object, () => Promise<void>>,
): Native & NativeRoutes => {
  const { callers, accountDeps } = site;
  const known = new WeakMap<object, KnownCaller>();
  const byAuth = new WeakMap<object, KnownCaller>();
  const { db } = accountDeps;

  const callerOf = (ctx: object): KnownCaller => known.get(ctx) ?? noCaller;
  const requestOf = (ctx: CodeContext): Koa.Context => ctx as unknown as Koa.Context;

  /** The text of the request as long as nobody has changed what was made of it. */
  const sourceOf = (ctx: CodeContext): QuerySource => {
    const koa = requestOf(ctx);
    return changedQuery(koa, parse)
      ? objectQuery(queryOf(ctx) as unknown as QueryObject)
      : textQuery(searchOf(koa.req.url!));
  };

  const queryOf = (ctx: CodeContext): Members =>
    Object.fromEntries(
      Object.entries(ctx.query).filter(([name, value]) => value !== undefined && parameterName(name).kind !== 'other'),
    );

  const credentialsOf = async ({ who }: KnownCaller): Promise<unknown> => {
    switch (who.kind) {
      case 'public':
        return undefined;
      case 'user':
        return findUser(who.id);
      case 'token': {
        const { dialect } = db;
        const [row] = await db.read(() =>
          readRows(
            dialect.compile(
              sql`select name, description, type from strapi_api_tokens where id = ${dialect.bind('id', who.id)}`,
            ),
          ),
        );
        const [name = null, description = null, type = null] = row ?? [];
        return { id: who.id, name, description, type };
      }
    }
  };

  return {
    perform: async (ctx, type, action) => {
      const caller = callerOf(ctx);
      const { id: given } = ctx.params;
      const id = given === undefined ? null : parseId(given, limits.integerMax);
      if (given !== undefined && id === null) throw new Refusal(issue('http.not-found', []));
      const answer = await performAction(
        {
          type,
          action: coreActionOf(type, action),
          id,
          query: sourceOf(ctx),
          body: ctx.request.body,
          caller,
          headers: requestOf(ctx).req.headers,
        },
        site,
      );
      return lazyBody(answer);
    },
    validateQuery: (ctx, type) => {
      const context = contextFor(type, { caller: callerOf(ctx), defaultLocale: null, format: 'v4' }, {}, site);
      const action = type.kind === 'single' ? 'single' : ctx.params['id'] === undefined ? 'find' : 'findOne';
      unwrap(site.reader.check({ action, type, id: null, query: sourceOf(ctx) }, context));
    },
    queryOf,
    allowedQuery: (given, type, whose) => {
      const caller: KnownCaller = { ...(whose ?? anyCaller), who: { kind: 'public' } };
      const context = contextFor(type, { caller, defaultLocale: null, format: 'v4' }, {}, site);
      const action = type.kind === 'single' ? 'single' : 'find';
      return allowedPart(given, (query) => {
        const checked = site.reader.check({ action, type, id: null, query: objectQuery(query) }, context);
        return checked.ok ? [] : checked.issues;
      });
    },
    callerOf,
    refuse: () => {
      throw new Refusal(issue('body.missing', []));
    },
    authenticate: async (ctx) => {
      const koa = ctx as Koa.Context;
      const caller = unwrap(await callers.identify(koa.headers.authorization));
      const credentials = await credentialsOf(caller);
      const isToken = caller.who.kind === 'token';
      const auth = {
        strategy: { name: isToken ? 'api-token' : 'users-permissions' },
        ...(credentials === undefined ? {} : { credentials }),
        ability: caller.version.startsWith('full-access') ? null : { can: (name: string) => caller.may(name) },
      };
      known.set(ctx, caller);
      byAuth.set(auth, caller);
      koa.state['isAuthenticated'] = true;
      koa.state['auth'] = auth;
      if (caller.who.kind === 'user') koa.state['user'] = credentials;
      return caller;
    },
    skipAuthentication: (ctx) => {
      known.set(ctx, noCaller);
    },
    callerOfAuth: (auth) => (auth !== null && typeof auth === 'object' ? (byAuth.get(auth) ?? noCaller) : null),
    answerNatively: (ctx) => waiting.get(ctx)!(),
  };
};

/** A query without the parts that are refused: each is taken out where its issue says, or else its whole parameter. */
const allowedPart = (query: Members, issuesOf: (query: QueryObject) => readonly Issue[]): Members => {
  const allowed = structuredClone(query);
  for (;;) {
    const [first] = issuesOf(allowed as QueryObject);
    if (!first) return allowed;
    const { path } = first;
    if (!removeAt(allowed, path) && !removeAt(allowed, path.slice(0, 1))) throw new Refusal(first);
  }
};

/** Removes the member at the path, and what is empty without it. @returns whether there was one. */
const removeAt = (from: unknown, [name, ...rest]: readonly string[]): boolean => {
  if (from === null || typeof from !== 'object' || name === undefined || !Object.hasOwn(from, name)) return false;
  const members = from as Record<string, unknown>;
  const inner = members[name];
  if (rest.length > 0) {
    if (!removeAt(inner, rest)) return false;
    if (Object.keys(inner as object).length > 0) return true;
  }
  if (Array.isArray(from)) from.splice(Number(name), 1);
  else delete members[name];
  return true;
};

const coreActionOf = (type: EntryType, action: CoreAction): CoreAction | 'single' =>
  type.kind === 'single' && action === 'find' ? 'single' : action;

// ---- responses

/** The response to an error: what the project's code means the client to see, or a fault that is logged. */
const fail = (fault: unknown, ctx: Koa.Context, asked: Asked): void => {
  const { status, body, headers } = failureOf(fault, asked);
  for (const name of Object.keys(ctx.response.headers)) ctx.remove(name);
  ctx.status = status;
  ctx.body = body;
  for (const [name, value] of Object.entries(headers)) if (name !== 'content-type') ctx.set(name, value);
};

const failureOf = (
  fault: unknown,
  asked: Asked,
): ErrorResponse & { readonly headers: Readonly<Record<string, string>> } => {
  const meant = fault instanceof Refusal ? v4Refusal(fault) : responseOf(fault);
  if (meant && meant.status !== 503) return { ...meant, headers: {} };
  const { status, body, headers } = faultResponse(fault, asked, asked.log);
  return {
    status: statusOfFault(fault, status),
    body: bodyOfFault(fault, JSON.parse(body) as ErrorResponse['body']),
    headers,
  };
};

/** An error may name a status of the server's fault, which clients are told, but not its message. */
const statusOfFault = (fault: unknown, status: number): number =>
  status === 500 &&
  fault instanceof Error &&
  'status' in fault &&
  typeof fault.status === 'number' &&
  fault.status > 500 &&
  fault.status < 600
    ? fault.status
    : status;

const bodyOfFault = (fault: unknown, body: ErrorResponse['body']): ErrorResponse['body'] => {
  const status = statusOfFault(fault, body.error.status);
  return status === body.error.status
    ? body
    : { data: null, error: { ...body.error, status, name: nameOfStatus(status), message: phraseOf(status) } };
};

/** What the code has answered: nothing said is a 404. */
const answerOfContext = (ctx: Koa.Context): CodeAnswer => {
  if (ctx.respond === false || ctx.res.headersSent) return { kind: 'taken' };
  const { response, body: given } = ctx;
  const hasStatus = (response as unknown as { readonly _explicitStatus?: boolean })._explicitStatus === true;
  if (!hasStatus) (ctx as unknown as { notFound(): void }).notFound();
  const kept = typeof given === 'object' && given !== null && isUnopened(given) ? untouched.get(given) : undefined;
  const { status } = ctx;
  if (kept && status === 200) {
    dropBodyHeaders(ctx.res);
    return { kind: 'answer', answer: kept };
  }
  const { type, body } = written(ctx);
  dropBodyHeaders(ctx.res);
  return { kind: 'other', status, type, body };
};

const send = (ctx: Koa.Context, reply: FastifyReply): void => {
  const answer = answerOfContext(ctx);
  if (answer.kind === 'answer') {
    sendAnswer(reply.code(200), answer.answer);
    return;
  }
  if (answer.kind === 'taken') {
    reply.hijack();
    return;
  }
  const { status, type, body } = answer;
  reply.code(status);
  if (type !== null) reply.header('content-type', type);
  reply.send(body ?? undefined);
};

/** The framework sets those of the body that it sends. */
const dropBodyHeaders = (res: Koa.Context['res']): void => {
  for (const name of ['content-type', 'content-length', 'transfer-encoding']) res.removeHeader(name);
};

/** The body as the framework sends it. */
const written = (ctx: Koa.Context): { readonly type: string | null; readonly body: CodeBody } => {
  const { body, response } = ctx;
  const type = (ctx.res.getHeader('content-type') as string | undefined) ?? null;
  if (body === undefined || body === null) {
    const isNull = (response as unknown as { readonly _explicitNullBody?: boolean })._explicitNullBody === true;
    if (isNull || ctx.status === 204 || ctx.status === 304) return { type: null, body: null };
    return { type: 'text/plain; charset=utf-8', body: ctx.message || String(ctx.status) };
  }
  if (typeof body === 'string' || Buffer.isBuffer(body) || isStream(body)) return { type, body };
  return { type: JSON_TYPE, body: JSON.stringify(body) };
};

const isStream = (value: unknown): value is Readable =>
  typeof value === 'object' && value !== null && 'pipe' in value && typeof value.pipe === 'function';

/** The server has answered: its response goes through the rest of the middlewares, which may change it. */
const finish = async ({ ctx, answered, ended }: CodeRun, reply: FastifyReply, payload: unknown): Promise<unknown> => {
  const { res } = ctx;
  const isJson = String(reply.getHeader('content-type') ?? '').startsWith('application/json');
  const given = reply.statusCode >= 400 && typeof payload === 'string' && isJson ? inV4Words(payload) : payload;
  const text = typeof given === 'string' || Buffer.isBuffer(given) ? given : null;
  const shown = isJson && text !== null ? newJsonView(text) : { body: given, isOpened: () => false };
  ctx.status = reply.statusCode;
  const type = reply.getHeader('content-type');
  if (shown.body !== null && shown.body !== undefined) ctx.body = shown.body;
  const shownFirst = ctx.body;
  answered();
  await ended;
  reply.code(ctx.status);
  if (ctx.body === shownFirst && !shown.isOpened()) {
    dropBodyHeaders(res);
    if (type !== undefined) reply.header('content-type', type);
    if (given !== payload) reply.removeHeader('content-length');
    return given;
  }
  const { type: changedType, body: changed } = written(ctx);
  dropBodyHeaders(res);
  for (const name of ['etag', 'content-length']) reply.removeHeader(name);
  if (changedType !== null) reply.header('content-type', changedType);
  return changed;
};

/** A refusal of the server without its codes, which front ends of v4 projects do not know. */
const inV4Words = (text: string): string => {
  const { data, error } = JSON.parse(text) as { data: null; error: { details: { errors?: readonly PlacedError[] } } };
  const errors = error.details.errors ?? [];
  const placed = errors.filter((it) => it.path.length > 0).map(({ path, message, name }) => ({ path, message, name }));
  return JSON.stringify({ data, error: { ...error, details: placed.length > 0 ? { errors: placed } : {} } });
};

interface PlacedError {
  readonly path: readonly string[];
  readonly message: string;
  readonly name: string;
}

/** A body of JSON that is parsed when it is looked into. */
const newJsonView = (text: string | Buffer): { readonly body: unknown; readonly isOpened: () => boolean } => {
  let parsed: object | null = null;
  const open = (): object => {
    parsed ??= JSON.parse(text.toString()) as object;
    return parsed;
  };
  const first = text.length === 0 ? '' : text.toString().trimStart()[0];
  if (first !== '{' && first !== '[') return { body: text, isOpened: () => false };
  const target = first === '[' ? [] : {};
  const body = new Proxy(target, {
    get: (_target, name) => {
      const value: unknown = Reflect.get(open(), name);
      return typeof value === 'function' ? (value as { bind(to: object): unknown }).bind(open()) : value;
    },
    set: (_target, name, value) => Reflect.set(open(), name, value),
    has: (_target, name) => Reflect.has(open(), name),
    deleteProperty: (_target, name) => Reflect.deleteProperty(open(), name),
    ownKeys: () => Reflect.ownKeys(open()),
    getOwnPropertyDescriptor: (_target, name) => {
      const found = Reflect.getOwnPropertyDescriptor(open(), name);
      return found && { ...found, configurable: found.configurable || !Array.isArray(target) || name !== 'length' };
    },
  });
  return { body, isOpened: () => parsed !== null };
};
