/** Koa's context as v4 gives it to code: with a parsed query that can be assigned, and helpers named after statuses. */
import http from 'node:http';
import type Koa from 'koa';
import camelCase from 'lodash/camelCase.js';
import get from 'lodash/get.js';
import omit from 'lodash/omit.js';

import { refuse } from '../../errors.js';
import { limits } from '../../limits.js';
import { bracketsIn, otherParameters } from '../../query/brackets.js';
import { parameters } from '../../query/parameters.js';
import { plainQuery } from '../../query/plain.js';
import type { QuerySource, RawQuery } from '../../query/raw.js';
import type { ChangedQuery } from '../../query/searches.js';
import type { Answer } from '../../read/answer.js';
import { catchable, errorResponse, nameOfStatus, phraseOf } from '../../v4code/strapi-utils/errors.js';
import { missed, refusing } from '../../v4code/strapi-utils/guards.js';
import { absentInContext, missing } from '../../v4code/strapi-utils/missing.js';
import { JSON_TYPE } from '../respond.js';
import { searchOf } from '../target.js';
import { untouchedAnswer } from './answers.js';
import { asAssigned, isAsMade, isSameQuery, limitsPopulate, newChangedQuery, type Parts, partsOf } from './changed.js';

/** The parsed query of a request, once anyone has looked at it. */
const QUERY = Symbol('query');
/** What it was made of. */
const QUERY_PARTS = Symbol('parts of the query');
/** The query string that it was made of: code may replace that, too. */
const QUERY_TEXT = Symbol('query text');
/** Whether an answer of the server is the body, and its headers are not set yet. */
const UNSET = Symbol('unset headers');

export type ParseQuery = (text: string) => Record<string, unknown>;

export interface Contexts {
  /** A context for a request; what code has not said is a 404. */
  make(request: http.IncomingMessage, response: http.ServerResponse, given: ContextGiven): Koa.Context;
  /** Says which route answers, once that is another than it was made for. */
  route(ctx: object, params: Readonly<Record<string, string>>, path: string): void;
  /** The query as code has changed it; null if it is what the URL says. */
  changedQuery(ctx: Koa.Context): ChangedQuery | null;
  /** Whether the member of a list or object in the query is what the client has sent, and nothing that code has put in. */
  isClients(ctx: Koa.Context, holder: object, name: string): boolean;
  /** The query of the URL that was asked for, whatever code has made of it. */
  askedQuery(ctx: object): Record<string, unknown>;
  /** Whether what the query has at the path is what the URL says that was asked for. */
  isAsked(ctx: Koa.Context, path: readonly string[]): boolean;
  /** Whether code has put `limit` or `start` into `populate`, which the server itself refuses. */
  limitsPopulate(ctx: Koa.Context): boolean;
}

/** The parsed query of a request, as the server reads it. */
const SOURCE = Symbol('source');
/** The response, for whoever needs none of its headers. */
const BARE = Symbol('bare response');
/** The headers of every response, until somebody looks at those of this one. */
const COMMON = Symbol('common headers');

export interface ContextGiven {
  /** Null if nobody has made one yet. */
  readonly source: QuerySource | null;
  readonly params: Readonly<Record<string, string>>;
  /** With the prefix; null if no route of the project matches. */
  readonly path: string | null;
  readonly body: unknown;
  /** Gives the headers of every response once code looks at the response: names and values in turn. Null if they are on it. */
  readonly commonHeaders: (() => readonly string[]) | null;
}

/** @param cookieKeys sign cookies; without any, cookies are not signed. */
export const newContexts = async (settings: {
  readonly trustProxy: boolean;
  /** See `ResolveContext`. */
  readonly strict: boolean;
  readonly cookieKeys?: readonly string[];
}): Promise<Contexts> => {
  const { default: KoaServer } = await import('koa');
  const { default: qs } = await import('qs');
  // of the addresses that proxies give, only the last is not the client's own word
  const { cookieKeys: keys = [] } = settings;
  const koa = new KoaServer({
    proxy: settings.trustProxy,
    maxIpsCount: 1,
    ...(keys.length > 0 ? { keys: [...keys] } : {}),
  });
  /** Beyond `arrayLimit` it makes objects of lists: indexes that are ids stay names, and lists without indexes are lists. */
  const parseAsV4 = (text: string): Record<string, unknown> =>
    qs.parse(text, {
      strictNullHandling: true,
      parameterLimit: Number.POSITIVE_INFINITY,
      depth: 20,
      arrayLimit: isOfHighIndex.test(text) ? 100 : limits.parametersMax,
    });
  // policies must see what the server reads; the project's own parameters are as v4's parser has them
  const parse: ParseQuery = (text) => {
    const known = refusing(() => catchable(() => plainQuery(allOf(text), settings)));
    const others = otherParameters(text);
    return others === '' ? known : { ...omit(parseAsV4(others), parameters), ...known };
  };
  extendQuery(koa, parse);
  extendBody(koa);
  extendHelpers(koa);
  refuseAbsent(koa);
  // of streams as bodies: whoever sends them sees it too
  koa.context.onerror = ignored;
  const Context = contextClass(koa);
  const textOf = (query: object): string => qs.stringify(query, { strictNullHandling: true });
  /** Null if it is what the URL says. */
  const givenQuery = (ctx: Koa.Context): Record<string, unknown> | null => {
    if (isStandIn(ctx)) return (ctx as { readonly query?: Record<string, unknown> }).query ?? {};
    const { request } = ctx;
    const { [QUERY]: current, [QUERY_TEXT]: text } = request as QueriedRequest;
    // mostly nobody has looked at it
    if (current === undefined) return null;
    const { querystring } = request;
    return text === querystring && !isSameQuery(current, parse(querystring)) ? (current ?? {}) : null;
  };
  return {
    make: (request, response, given) => {
      response.statusCode = 404;
      return new Context(request, response, given) as unknown as Koa.Context;
    },
    route: (ctx, params, path) => {
      Object.assign(ctx, { params, _matchedRoute: path });
      Object.assign((ctx as Koa.Context).request, { params });
    },
    changedQuery: (ctx) => {
      const given = givenQuery(ctx);
      return given && newChangedQuery(given, isStandIn(ctx) ? {} : parse(ctx.request.querystring), textOf);
    },
    isClients: (ctx, holder, name) => {
      if (isStandIn(ctx)) return false;
      const { querystring, [QUERY_PARTS]: parts } = ctx.request as QueriedRequest;
      return parts !== undefined && querystring === searchOf(ctx.originalUrl) && isAsMade(parts, holder, name);
    },
    askedQuery: (ctx) => parse(searchOf((ctx as Koa.Context).originalUrl)),
    isAsked: (ctx, path) =>
      !isStandIn(ctx) && isSameQuery(get(ctx.query, path), get(parse(searchOf(ctx.originalUrl)), path)),
    limitsPopulate: (ctx) => {
      const isAlone = isStandIn(ctx);
      const given = isAlone
        ? (ctx as { readonly query?: Record<string, unknown> }).query
        : (ctx.request as QueriedRequest)[QUERY];
      const populate = given?.['populate'];
      // mostly there is none, and the query need not be parsed again
      return (
        limitsPopulate(populate, undefined) &&
        (isAlone || limitsPopulate(populate, parse(ctx.request.querystring)['populate']))
      );
    },
  };
};

/** A query is never cut: what is wrong with it otherwise is said by whoever reads it. */
const allOf = (text: string): RawQuery => {
  const { roots, issues } = bracketsIn(text);
  const tooMany = issues.find((it) => it.code === 'query.too-many-parameters');
  if (tooMany) refuse(tooMany);
  return roots;
};

/** Above the limit of v4's parser. */
const isOfHighIndex = /(?:\[|%5b)(?:\d{4,}|[1-9]\d\d)(?:\]|%5d)/i;

const ignored = (): undefined => undefined;

/** Code may call a controller with `{ query, state }`, or with a copy of a context that has a query of its own. */
const isStandIn = (ctx: Koa.Context): boolean =>
  Object.hasOwn(ctx, 'query') || (ctx as { readonly req?: unknown }).req === undefined;

/**
 * What Koa's `createContext` makes, as classes: objects that are made with all their members take a fraction of the memory
 * and time of those that get one after the other.
 */
const contextClass = (koa: Koa) => {
  class Request {
    readonly app = koa;
    ctx: unknown = null;
    response: unknown = null;
    [QUERY]: Record<string, unknown> | undefined = undefined;
    [QUERY_TEXT]: string | undefined = undefined;
    readonly req: http.IncomingMessage;
    readonly originalUrl: string | undefined;
    params: ContextGiven['params'];
    body: unknown;
    constructor(req: http.IncomingMessage, { body, params }: ContextGiven) {
      this.req = req;
      this.originalUrl = req.url;
      this.params = params;
      this.body = body ?? {};
    }
  }
  class Response {
    readonly app = koa;
    _body: unknown = undefined;
    _explicitStatus: boolean | undefined = undefined;
    [UNSET] = false;
    ctx: unknown = null;
    readonly req: http.IncomingMessage;
    readonly [BARE]: http.ServerResponse;
    [COMMON]: ContextGiven['commonHeaders'];
    readonly request: Request;
    constructor(request: Request, res: http.ServerResponse, { commonHeaders }: ContextGiven) {
      this.req = request.req;
      this[BARE] = res;
      this[COMMON] = commonHeaders;
      this.request = request;
    }
    get res(): http.ServerResponse {
      const { [BARE]: res, [COMMON]: common } = this;
      // code that nobody waits for may look at it once it is sent
      if (common && !res.headersSent) {
        this[COMMON] = null;
        setHeaders(res, common());
      }
      return res;
    }
  }
  class Context {
    readonly app = koa;
    readonly state = {};
    readonly req: http.IncomingMessage;
    readonly request: Request;
    readonly response: Response;
    readonly originalUrl: string | undefined;
    readonly [SOURCE]: QuerySource | null;
    params: Readonly<Record<string, string>>;
    _matchedRoute: string | undefined;
    constructor(req: http.IncomingMessage, res: http.ServerResponse, given: ContextGiven) {
      const { params, path, source } = given;
      this.req = req;
      const request = new Request(req, given);
      const response = new Response(request, res, given);
      request.ctx = this;
      response.ctx = this;
      request.response = response;
      this.request = request;
      this.response = response;
      this.originalUrl = req.url;
      this[SOURCE] = source;
      this.params = params;
      this._matchedRoute = path ?? undefined;
    }
  }
  for (const [own, of] of [
    [Request, koa.request],
    [Response, koa.response],
    [Context, koa.context],
  ] as const)
    Object.setPrototypeOf(own.prototype, of);
  for (const { prototype } of [Request, Context])
    Object.defineProperty(prototype, 'res', {
      get(this: { readonly response: Response }) {
        return this.response.res;
      },
    });
  return Context;
};

/** @param headers names and values in turn. */
const setHeaders = (res: http.ServerResponse, headers: readonly string[]): void => {
  for (let at = 0; at < headers.length; at += 2) res.setHeader(headers[at]!, headers[at + 1]!);
};

/** The response of a context, without the headers of every response if code has not looked at it. */
export const bareResponse = ({ response }: Koa.Context): http.ServerResponse => (response as KeptResponse)[BARE];

/** Whether the headers of every response are on it, so that code can have changed them. */
export const hasCommonHeaders = ({ response }: Koa.Context): boolean => (response as KeptResponse)[COMMON] === null;

/** What the server has made of the query; null if it has not, or the URL is another one by now. */
export const sourceOfContext = (ctx: Koa.Context): QuerySource | null =>
  ctx.req.url === ctx.originalUrl ? (ctx as unknown as { readonly [SOURCE]: QuerySource | null })[SOURCE] : null;

/** Statuses of errors, as `ctx.badRequest(message, details)` names them. */
const helperNames = (): readonly (readonly [string, number])[] =>
  Object.keys(http.STATUS_CODES)
    .map(Number)
    .filter((status) => status >= 400)
    .map((status) => [camelCase(phraseOf(status)), status]);

interface QueriedRequest extends Koa.Request {
  /** Code may assign anything. */
  [QUERY]?: Record<string, unknown> | null;
  [QUERY_PARTS]?: Parts;
  [QUERY_TEXT]?: string;
}

/** Middlewares and policies change the query in place, or replace it. */
const extendQuery = (koa: Koa, parse: ParseQuery): void => {
  Object.defineProperty(koa.request, 'query', {
    configurable: true,
    get(this: QueriedRequest) {
      const { querystring } = this;
      if (this[QUERY] === undefined || this[QUERY_TEXT] !== querystring) {
        this[QUERY] = parse(querystring);
        this[QUERY_PARTS] = partsOf(this[QUERY]);
        this[QUERY_TEXT] = querystring;
      }
      return this[QUERY];
    },
    set(this: QueriedRequest, value: Record<string, unknown>) {
      this[QUERY] = asAssigned(value);
      this[QUERY_TEXT] = this.querystring;
    },
  });
};

/** What Koa keeps of a response, as far as it is set here. */
interface KeptResponse extends Koa.Response {
  _body?: unknown;
  _explicitStatus?: boolean;
  [UNSET]?: boolean;
  readonly [BARE]: http.ServerResponse;
  readonly [COMMON]: ContextGiven['commonHeaders'];
}
/**
 * An answer of the server needs none of the headers that Koa sets with a body, unless somebody asks for them: Node sends
 * headers that were never set one by one faster.
 */
const extendBody = (koa: Koa): void => {
  const { response } = koa;
  const inherited = Object.getPrototypeOf(response) as object;
  const usual = Object.getOwnPropertyDescriptor(inherited, 'body')!;
  Object.defineProperty(response, 'body', {
    configurable: true,
    get: usual.get!,
    set(this: KeptResponse, value: unknown) {
      this[UNSET] = false;
      if (this._body === undefined && isUntouched(value) && this._explicitStatus !== true) {
        this._body = value;
        this._explicitStatus = true;
        const { [BARE]: res } = this;
        res.statusCode = 200;
        const type = res.getHeader('content-type');
        // as in Koa, a type that is one of JSON stays
        if (type !== undefined && !/\bjson\b/i.test(String(type))) res.removeHeader('content-type');
        this[UNSET] = true;
      } else usual.set!.call(this, value);
    },
  });
  const settled = (it: KeptResponse): KeptResponse => {
    if (it[UNSET]) {
      it[UNSET] = false;
      if (!it.res.headersSent && !it.res.hasHeader('content-type')) it.res.setHeader('content-type', JSON_TYPE);
    }
    return it;
  };
  for (const name of ['header', 'get', 'has'] as const) {
    const found = Object.getOwnPropertyDescriptor(inherited, name)!;
    const { get, value } = found;
    Object.defineProperty(response, name, {
      ...found,
      ...(get
        ? {
            get(this: KeptResponse): unknown {
              return get.call(settled(this));
            },
          }
        : {
            value(this: KeptResponse, ...given: readonly unknown[]): unknown {
              return (value as (...all: readonly unknown[]) => unknown).apply(settled(this), [...given]);
            },
          }),
    });
  }
};

const isUntouched = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && untouchedAnswer(value) !== null;

/** Makes a stand-in for JSON the body. Koa itself would look into it, to see whether it is a stream. */
export const showJson = ({ response }: Koa.Context, body: object): void => {
  (response as KeptResponse)._body = body;
  response.type = JSON_TYPE;
};

/** The answer of the server that is the body, if nobody has looked into it. */
export const answerAsBody = ({ body }: Koa.Context): Answer | null =>
  typeof body === 'object' && body !== null ? untouchedAnswer(body) : null;

/** What an error says, or the text itself; older projects give none, and put what they say into the details. */
const textOf = (message: unknown): string => {
  if (message instanceof Error) return message.message;
  return typeof message === 'string' ? message : '';
};

/** There are no sessions, and nothing of v4's router, which code is told; it may make its own. */
const refuseAbsent = (koa: Koa): void => {
  const refuse = (name: string, get: (this: Koa.Context) => undefined): void => {
    if (name in koa.context) return;
    Object.defineProperty(koa.context, name, {
      configurable: true,
      get,
      set(this: object, value: unknown) {
        Object.defineProperty(this, name, { value, configurable: true, enumerable: true, writable: true });
      },
    });
  };
  refuse('session', () => {
    throw missed(new Error('ctx.session is not available: this server keeps no sessions'));
  });
  for (const name of absentInContext)
    refuse(name, function () {
      // before a route is found v4 has none of it either
      if (this.state['route'] !== undefined) throw missing(`ctx.${name}`);
      return undefined;
    });
};

const extendHelpers = (koa: Koa): void => {
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
      const { body } = errorResponse(status, nameOfStatus(status), textOf(message) || phraseOf(status), details);
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
