/**
 * Error responses in our envelope for whatever goes wrong: errors thrown by handlers, refusals of the framework, and
 * refusals of Node before there is a request.
 */
import crypto from 'node:crypto';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import type { FastifyBaseLogger, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { stdSerializers } from 'pino';
import { Bug, errorEnvelope, type Issue, issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { securityHeaders } from './headers.js';
import { issuesResponse, JSON_TYPE, type JsonResponse, sendIssues, sendJson } from './respond.js';
import { withSources } from './stack.js';

/** Turns an error thrown by the handler into the response. */
export const withFaults = (handler: RouteHandlerMethod): RouteHandlerMethod =>
  async function (request, reply) {
    try {
      return await handler.call(this, request, reply);
    } catch (fault) {
      return sendFault(fault, request, reply);
    }
  };

declare module 'fastify' {
  interface FastifyRequest {
    /** What code of the project has thrown may be meant for the client; null for anything else. */
    responseOfFault: ((fault: unknown) => JsonResponse | null) | null;
  }
}

const sendFault = (fault: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const response = request.responseOfFault?.(fault) ?? faultResponse(fault, request, request.log);
  if (response.status === 500) removeUnsendable(reply);
  return sendJson(reply, response);
};

/** A refusal as its issues. Anything else is an error in our code or the project's: logged with an id; the client gets only the id. */
export const faultResponse = (
  fault: unknown,
  { method, url, id }: { readonly method?: string | undefined; readonly url?: string | undefined; readonly id: string },
  log: FastifyBaseLogger,
): JsonResponse => {
  if (isA(Refusal, fault)) return issuesResponse(fault.issues);
  const faultId = crypto.randomUUID();
  log.error(
    { err: loggable(fault), faultId, bug: isA(Bug, fault) ? fault.id : undefined, method, path: url?.split('?')[0] },
    'request failed',
  );
  const error = {
    status: 500,
    name: 'InternalServerError',
    message: 'Internal Server Error',
    details: { id: faultId, requestId: id },
  };
  return { status: 500, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify({ data: null, error }) };
};

/** Refusals of the framework, before any handler or while sending, by code and status. */
export const sendFrameworkFault = (
  fault: { readonly code?: string; readonly statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const { code, statusCode = 500 } = fault;
  // the client left before the first byte of a response that is a stream
  if (code === 'ERR_STREAM_PREMATURE_CLOSE' && reply.raw.destroyed) return reply.hijack();
  if (statusCode < 400 || statusCode >= 500) return sendFault(fault, request, reply);
  return sendIssues(reply, [refusalFor(code, statusCode)]);
};

const refusalFor = (code: string | undefined, status: number): Issue => {
  if (status === 413) return issue('http.body-too-large', []);
  if (code === 'FST_CP_ERR_INVALID_CONTENT_ENCODING') return issue('http.content-encoding', []);
  return issue('http.malformed-body', []);
};

/** Drops invalid headers, such as one with a line break, which would hide the error that they caused. */
const removeUnsendable = (reply: FastifyReply): void => {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    try {
      http.validateHeaderValue(name, String(value));
    } catch {
      reply.removeHeader(name);
    }
  }
};

/**
 * An error in a form that the logger can serialise. Anything may be thrown, including a Proxy or an object whose getters
 * throw; inspecting it must not throw again.
 */
export const loggable = (fault: unknown): unknown => {
  try {
    // runs all getters
    const plain = JSON.parse(asJson(stdSerializers.err(fault as Error)));
    return typeof plain?.stack === 'string'
      ? { ...plain, message: messageOf(fault as Partial<Error>, plain.message), stack: withSources(plain.stack) }
      : plain;
  } catch {
    return { message: inspectSafely(fault) };
  }
};

/** @param joined by pino with the messages of its causes; not used where the message quotes its cause, which would be there twice. */
const messageOf = ({ message, cause }: Partial<Error>, joined: unknown): unknown =>
  isA(Error, cause) && cause.message !== '' && message?.includes(cause.message) ? message : joined;

/** Without what JSON cannot hold, such as the requests in errors of HTTP clients, which lead back to themselves. */
const asJson = (described: object): string => {
  try {
    return JSON.stringify(described);
  } catch (fault) {
    const { type, message, stack, code } = described as Readonly<Record<string, unknown>>;
    if (typeof stack !== 'string') throw fault;
    return JSON.stringify({ type, message, stack, code });
  }
};

const inspectSafely = (fault: unknown): string => {
  try {
    return inspect(fault, { customInspect: false });
  } catch {
    return 'a value that cannot be inspected';
  }
};

/** On a Proxy, `instanceof` runs code of the thrown value. */
const isA = <T>(kind: abstract new (...given: never[]) => T, fault: unknown): fault is T => {
  try {
    return fault instanceof kind;
  } catch {
    return false;
  }
};

/** An error of Node's parser. */
interface ParserFault extends NodeJS.ErrnoException {
  /** The last bytes read. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
}

/**
 * Requests that are malformed, too long or too slow never reach the framework (RQ16). Whole requests before one that the parser
 * refuses get their responses first. If the response to the refused one is already being sent, the connection is just closed.
 */
export const refuseConnection = (fault: ParserFault, socket: Duplex, inFlight: Iterable<http.ServerResponse>): void => {
  if (!socket.writable || fault.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  // the parser repeats its error for whatever else arrives
  if (refused.has(socket)) return;
  refused.add(socket);
  // a slow request may still arrive, and be answered, as long as its connection is open
  const earlier = fault.code === TOO_SLOW ? [] : [...inFlight].filter((it) => it.req.complete);
  const others = [...inFlight].filter((it) => !earlier.includes(it));
  const refuse = (): void => {
    const { status, body } = connectionRefusal(fault);
    if (!socket.writable || others.some((it) => it.headersSent)) socket.destroy();
    else endWith(socket, status, JSON_TYPE, body);
  };
  let left = earlier.length;
  if (left === 0) refuse();
  for (const response of earlier)
    response.once('close', () => {
      left -= 1;
      if (left === 0) refuse();
    });
};

const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';
const refused = new WeakSet<Duplex>();

const connectionRefusal = (fault: ParserFault): { readonly status: number; readonly body: string } => {
  switch (fault.code) {
    case 'HPE_HEADER_OVERFLOW':
      return endedInUrl(fault)
        ? errorEnvelope([issue('http.url-too-long', [], { max: limits.urlBytesMax })])
        : { status: 431, body: '' };
    case TOO_SLOW:
      return errorEnvelope([issue('http.too-slow', [])]);
    default:
      return errorEnvelope([issue('http.malformed-request', [])]);
  }
};

/** Whether the parser gave up within the request line: what it read of the request has no blanks or line breaks. */
const endedInUrl = ({ rawPacket, bytesParsed }: ParserFault): boolean =>
  Buffer.isBuffer(rawPacket) && /(?:^|\r\n\r\n)(?:[A-Z]+ )?\S*$/.test(rawPacket.toString('latin1', 0, bytesParsed));

/** Requests that Node would answer itself: an unknown expectation, which may be ignored, and `CONNECT`. */
export const answerForNode = (server: http.Server): void => {
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy());
    endWith(socket, 501, 'text/plain', 'Not Implemented');
  });
};

const endWith = (socket: Duplex, status: number, type: string, body: string): void => {
  const head = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`,
    ...Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`),
    `content-type: ${type}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
};
