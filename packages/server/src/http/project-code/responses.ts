/** Responses of project code: what the context says in the end, errors, and the server's own answer after middlewares have seen it. */
import type { Readable } from 'node:stream';
import { inspect } from 'node:util';
import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import type Koa from 'koa';
import { issue, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Answer } from '../../read/answer.js';
import type { DeclaredRoute } from '../../v4code/loading/parts.js';
import {
  type ErrorResponse,
  errorOfResponse,
  nameOfStatus,
  phraseOf,
  responseOf,
  statusIn,
  untold,
  v4Refusal,
} from '../../v4code/strapi-utils/errors.js';
import { faultResponse, loggable } from '../faults.js';
import { VARYING } from '../headers.js';
import { JSON_TYPE, type JsonResponse, sendAnswer } from '../respond.js';
import { viewOfJson } from './answers.js';
import { answerAsBody, bareResponse, hasCommonHeaders, showJson } from './context.js';

/** A request, for the log. */
export interface Asked {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly id: string;
  readonly log: FastifyBaseLogger;
}

/** What code has answered. Its headers are on the response. */
export type CodeAnswer =
  /** The server's own answer, as it was made; `wasShown` if code has had it in its hands, and may look at it later. */
  | { readonly kind: 'answer'; readonly answer: Answer; readonly wasShown: boolean }
  | { readonly kind: 'other'; readonly status: number; readonly type: string | null; readonly body: CodeBody }
  /** The code writes the response itself. */
  | { readonly kind: 'taken' };

export type CodeBody = string | Buffer | Readable | null;

/** The response to an error: what the project's code means the client to see, or a fault that is logged. */
export const fail = (fault: unknown, ctx: Koa.Context, asked: Asked): void => {
  const { status, body, headers } = failureOf(placed(meantBy(fault, bodyOf(ctx)), ctx), asked);
  // what middlewares have set before stays, as in v4, but for what is said of another body
  dropBodyHeaders(bareResponse(ctx));
  ctx.status = status;
  ctx.body = body;
  for (const [name, value] of Object.entries(headers)) if (name !== 'content-type') ctx.set(name, value);
};

/** What goes down into a body that is nested too deep has no room on the stack: the client's fault. */
const meantBy = (fault: unknown, body: unknown): unknown =>
  fault instanceof RangeError && isTooDeep(body)
    ? new Refusal(issue('body.too-deep', ['data'], { max: limits.jsonDepthMax }))
    : fault;

/** What is no object says nothing of where it was thrown. */
const placed = (fault: unknown, ctx: Koa.Context): unknown =>
  fault !== null && (typeof fault === 'object' || typeof fault === 'function')
    ? fault
    : new Error(`${placeOf(ctx)} threw what is no error: ${inspect(fault)}`);

/** Whose code answers: the route, where there is one. */
const placeOf = ({ state }: Koa.Context): string => {
  const { route } = state as { readonly route?: DeclaredRoute };
  if (!route) return 'code of the project';
  const { method, path, handler, info } = route;
  const action = typeof handler === 'string' ? `handler ${handler}` : 'its handler is a function';
  const api = info?.['apiName'];
  return `the route ${method} ${path} (${action}${typeof api === 'string' ? `, of the API ${api}` : ''})`;
};

const isTooDeep = (body: unknown): boolean => {
  let level: readonly unknown[] = [body];
  for (let depth = 0; depth <= limits.jsonDepthMax; depth++) {
    level = level.flatMap((it) => (it !== null && typeof it === 'object' ? Object.values(it) : []));
    if (level.length === 0) return false;
  }
  return true;
};

const bodyOf = ({ request }: Koa.Context): unknown => (request as { readonly body?: unknown }).body;

/** Drops what was set for another body than the one that is sent. */
export const dropBodyHeaders = (res: Koa.Context['res']): void => {
  for (const name of res.getHeaderNames()) if (ofBody.test(name)) res.removeHeader(name);
  // Node's own for whatever status is sent
  res.statusMessage = '';
};

const ofBody =
  /^(?:content-(?:type|length|encoding|range|disposition)|transfer-encoding|etag|last-modified|accept-ranges|cache-control)$/;

/**
 * The response to what hooks throw where the server itself answers, which may be meant for the client; null for refusals of the server's own.
 * @param given the body of the request.
 */
export const responseOfFault = (fault: unknown, given: unknown, asked: Asked): JsonResponse | null => {
  if (fault instanceof Refusal) return null;
  const { status, body, headers } = failureOf(meantBy(fault, given), asked);
  return { status, headers: { 'content-type': JSON_TYPE, ...headers }, body: JSON.stringify(body) };
};

const failureOf = (
  thrown: unknown,
  asked: Asked,
): ErrorResponse & { readonly headers: Readonly<Record<string, string>> } => {
  const fault = untold(thrown);
  const meant = fault instanceof Refusal ? v4Refusal(fault) : responseOf(fault);
  // that the server is busy has headers of its own
  const isBusy = fault instanceof Refusal && meant?.status === 503;
  if (meant && !isBusy) {
    // `ctx.throw(500)`: the client sees what it says, and the log says where
    if (meant.status >= 500) asked.log.error({ err: loggable(fault) }, `project code answers ${meant.status}`);
    return { ...meant, headers: {} };
  }
  const { status, body: text, headers } = faultResponse(fault, asked, asked.log);
  const body = JSON.parse(text) as ErrorResponse['body'];
  const own = status === 500 ? ownStatusOf(fault) : null;
  if (own === null) return { status, body, headers };
  const error = { ...body.error, status: own, name: nameOfStatus(own), message: phraseOf(own) };
  return { status: own, body: { data: null, error }, headers };
};

/** An error may name a status of the server's fault, which clients are told, but not its message. */
const ownStatusOf = (fault: unknown): number | null => {
  const status = statusIn(fault);
  return status !== null && status > 500 ? status : null;
};

/** Whether code has set the body or the status. */
const isAnswered = ({ response }: Koa.Context): boolean =>
  (response as unknown as { readonly _explicitStatus?: boolean })._explicitStatus === true;

/** Nothing said is a 404. */
export const settle = (ctx: Koa.Context): void => {
  if (!isAnswered(ctx)) (ctx as unknown as { notFound(): void }).notFound();
};

/** What the code has answered. */
export const answerOfContext = (ctx: Koa.Context): CodeAnswer => {
  const res = bareResponse(ctx);
  if (ctx.respond === false || res.headersSent) return { kind: 'taken' };
  settle(ctx);
  const kept = answerAsBody(ctx);
  if (kept && res.statusCode === 200) {
    keepVarying(ctx);
    dropLengths(res);
    return { kind: 'answer', answer: kept, wasShown: true };
  }
  const { type, body } = written(ctx);
  keepVarying(ctx);
  dropFramingHeaders(res, body);
  return { kind: 'other', status: ctx.status, type, body };
};

/** Code may say what else its response depends on; what every response depends on stays true. */
const keepVarying = (ctx: Koa.Context): void => {
  if (hasCommonHeaders(ctx)) ctx.vary(VARYING);
};

/** Puts what the framework would send with its response on the response itself, where code sees it and has the last word. */
export const handOver = (reply: FastifyReply): void => {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value === undefined) continue;
    // that removes it from both
    reply.removeHeader(name);
    reply.raw.setHeader(name, value);
  }
};

export const send = async (ctx: Koa.Context, reply: FastifyReply): Promise<void> => {
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
  if (isStream(body) && reply.request.method === 'HEAD') {
    body.destroy();
    reply.hijack();
    reply.raw.writeHead(status, type === null ? {} : { 'content-type': type }).end();
    return;
  }
  if (isStream(body)) await opened(body);
  reply.code(status);
  if (type !== null) reply.header('content-type', type);
  reply.send(body ?? undefined);
};

/** A fault of the response itself: its body cannot be written, or a middleware has failed after it was sent. */
export const sendFault = (fault: unknown, asked: Asked, reply: FastifyReply): void => {
  if (reply.raw.headersSent) {
    asked.log.error({ err: fault }, 'a response could not be sent');
    reply.raw.destroy();
    return;
  }
  const { status, body, headers } = faultResponse(fault, asked, asked.log);
  dropBodyHeaders(reply.raw);
  reply.code(status).headers(headers).send(body);
};

/** The framework sets those of the body that it sends; only code knows how long a stream is. */
const dropFramingHeaders = (res: Koa.Context['res'], body?: CodeBody): void => {
  // there are mostly none, and after a removal Node sends no chunks: a stream that fails would look whole
  for (const name of res.getHeaderNames())
    if (framing.has(name) && !(name === 'content-length' && isStream(body))) res.removeHeader(name);
};
const lengths = ['content-length', 'transfer-encoding'];
const framing: ReadonlySet<string> = new Set(['content-type', ...lengths]);

/** The same where the body is the server's own answer, which may have a type of the code's. */
const dropLengths = (res: Koa.Context['res']): void => {
  for (const name of lengths) if (res.hasHeader(name)) res.removeHeader(name);
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
  return { type: JSON_TYPE, body: jsonOf(body, ctx) };
};

const jsonOf = (body: unknown, ctx: Koa.Context): string => {
  const unsendable = (why: string, options?: ErrorOptions): Error =>
    new TypeError(`the body that ${placeOf(ctx)} has set cannot be sent as JSON: ${why}`, options);
  let text: string | undefined;
  try {
    text = JSON.stringify(body) as string | undefined;
  } catch (fault) {
    throw unsendable(fault instanceof Error ? fault.message : inspect(fault), { cause: fault });
  }
  if (text === undefined) throw unsendable(`it is a ${typeof body}`);
  return text;
};

/**
 * Resolves once a stream has something to read or has ended: until then its failure can be a response. Rejects with its error, which is a 404 for
 * a file that does not exist, as in v4.
 */
export const opened = (stream: Readable): Promise<void> =>
  new Promise((resolve, reject) => {
    const fail = (fault: NodeJS.ErrnoException): void =>
      reject(fault.code === 'ENOENT' ? new Refusal(issue('http.not-found', [])) : fault);
    if (stream.errored) fail(stream.errored);
    stream
      .once('readable', () => resolve())
      .once('end', () => resolve())
      .once('error', fail);
  });

const isStream = (value: unknown): value is Readable =>
  typeof value === 'object' && value !== null && 'pipe' in value && typeof value.pipe === 'function';

/** A request in the hands of the project's code. */
export interface CodeRun {
  readonly ctx: Koa.Context;
  /** Resolves the middlewares' `next()`. */
  readonly answered: () => void;
  /** Rejects it with a refusal that v4's actions throw; null for what is no route of v4's. */
  readonly refused: ((fault: Error) => void) | null;
  /** Whether refusals stay as they are, with codes: they are an administrator's, whose client is the Studio. */
  readonly keepsCodes: boolean;
  /** Settles when all middlewares have ended. */
  readonly ended: Promise<void>;
}

/** The server has answered: its response goes through the rest of the middlewares, which may change it. */
export const finish = async (
  { ctx, answered, refused, keepsCodes, ended }: CodeRun,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> => {
  const { res } = ctx;
  const isJson = String(reply.getHeader('content-type') ?? '').startsWith('application/json');
  const isRefusal = reply.statusCode >= 400 && typeof payload === 'string' && isJson && !keepsCodes;
  const refusal = isRefusal ? inV4Words(payload) : null;
  if (refusal && refused && !isSaid(reply.statusCode)) {
    res.statusCode = 404;
    refused(errorOfResponse(refusal));
    await ended;
    settle(ctx);
    return sendInstead(ctx, reply);
  }
  const given = refusal ? JSON.stringify(refusal.body) : payload;
  if (reply.request.is404 && reply.statusCode === 404) {
    // of a path that nobody serves nothing is said yet: a middleware may answer it (`index.html` of a front end)
    res.statusCode = 404;
    answered();
    await ended;
    if (isAnswered(ctx)) return sendInstead(ctx, reply);
    keepVarying(ctx);
    dropFramingHeaders(res);
    return given;
  }
  const text = typeof given === 'string' || Buffer.isBuffer(given) ? given.toString() : '';
  const view = isJson ? viewOfJson(text) : null;
  ctx.status = reply.statusCode;
  // of the body as it is now: code finds neither in v4
  const [etag, length] = [reply.getHeader('etag'), reply.getHeader('content-length')];
  const said = { etag: res.getHeader('etag'), 'content-type': res.getHeader('content-type') };
  reply.removeHeader('etag').removeHeader('content-length');
  handOver(reply);
  // code that has said something else before it went on has the last word
  for (const [name, value] of Object.entries(said)) if (value !== undefined) res.setHeader(name, value);
  if (view) showJson(ctx, view.body);
  else if (given !== null && given !== undefined) ctx.body = given;
  const shownFirst = ctx.body;
  answered();
  await ended;
  if (ctx.body !== shownFirst || view?.isOpened()) return sendInstead(ctx, reply);
  const type = res.getHeader('content-type');
  keepVarying(ctx);
  dropFramingHeaders(res);
  reply.code(ctx.status);
  if (type !== undefined) reply.header('content-type', type);
  if (etag !== undefined && !res.hasHeader('etag')) reply.header('etag', etag);
  if (length !== undefined && given === payload) reply.header('content-length', length);
  return given;
};

/** What v4's actions say by the context is said, anything else that they refuse is thrown; faults of the server are none of the code's. */
const isSaid = (status: number): boolean => status >= 500 || [401, 403, 404, 405].includes(status);

/** Sends what the context says in place of the server's answer. */
const sendInstead = async (ctx: Koa.Context, reply: FastifyReply): Promise<CodeBody> => {
  const { type, body } = written(ctx);
  if (isStream(body)) await opened(body);
  keepVarying(ctx);
  dropFramingHeaders(ctx.res, body);
  reply.code(ctx.status);
  for (const name of ['etag', 'content-length']) reply.removeHeader(name);
  if (type !== null) reply.header('content-type', type);
  return body;
};

/** A refusal of the server without its codes, which front ends of v4 projects do not know. */
const inV4Words = (text: string): ErrorResponse => {
  const { data, error } = JSON.parse(text) as Envelope;
  const errors = error.details.errors ?? [];
  const placed = errors.filter((it) => it.path.length > 0).map(({ path, message, name }) => ({ path, message, name }));
  const details = placed.length > 0 ? { errors: placed } : {};
  return { status: error.status, body: { data, error: { ...error, details } } };
};

interface Envelope {
  readonly data: null;
  readonly error: ErrorResponse['body']['error'] & { readonly details: { readonly errors?: readonly PlacedError[] } };
}

interface PlacedError {
  readonly path: readonly string[];
  readonly message: string;
  readonly name: string;
}
