/**
 * What goes wrong, always in our words: what is thrown while a request is answered, what the framework refuses, what
 * Node refuses before there is a request.
 */
import crypto from 'node:crypto';
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { inspect } from 'node:util';
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { stdSerializers } from 'pino';
import { Bug, errorEnvelope, type Issue, issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { securityHeaders } from './headers.js';
import { JSON_TYPE, sendIssues } from './respond.js';

/** What the handler throws becomes the response: a refusal as it says, all else a 500 with an id. */
export const withFaults = (handler: RouteHandlerMethod): RouteHandlerMethod =>
  async function (request, reply) {
    try {
      return await handler.call(this, request, reply);
    } catch (fault) {
      return isA(Refusal, fault) ? sendIssues(reply, fault.issues) : sendFault(fault, request, reply);
    }
  };

/** A fault of ours, or of a project's code: logged with an id, which is all that the client is told. */
const sendFault = (fault: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const faultId = crypto.randomUUID();
  request.log.error(
    {
      err: loggable(fault),
      faultId,
      bug: isA(Bug, fault) ? fault.id : undefined,
      method: request.method,
      path: request.url.split('?')[0],
    },
    'request failed',
  );
  removeUnsendable(reply);
  const error = {
    status: 500,
    name: 'InternalServerError',
    message: 'Internal Server Error',
    details: { id: faultId },
  };
  return reply
    .code(500)
    .header('content-type', JSON_TYPE)
    .send(JSON.stringify({ data: null, error }));
};

/** Refusals of the framework, which come before any handler or out of sending, by their codes and statuses. */
export const sendFrameworkFault = (
  fault: { readonly code?: string; readonly statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply => {
  const { code, statusCode = 500 } = fault;
  if (statusCode < 400 || statusCode >= 500) return sendFault(fault, request, reply);
  return sendIssues(reply, [refusalFor(code, statusCode)]);
};

const refusalFor = (code: string | undefined, status: number): Issue => {
  if (status === 413) return issue('http.body-too-large', []);
  if (code === 'FST_CP_ERR_INVALID_CONTENT_ENCODING') return issue('http.content-encoding', []);
  return issue('http.malformed-body', []);
};

/** A header that no response can carry, such as one with a line break, must not hide the fault that it caused. */
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
 * A fault in a form that the logger can write. Anything may be thrown, a Proxy or an object with getters that throw
 * included: looking at it must not throw again.
 */
export const loggable = (fault: unknown): unknown => {
  try {
    // all getters run here
    return JSON.parse(JSON.stringify(stdSerializers.err(fault as Error)));
  } catch {
    return { message: inspected(fault) };
  }
};

const inspected = (fault: unknown): string => {
  try {
    return inspect(fault, { customInspect: false });
  } catch {
    return 'a value that cannot be shown';
  }
};

/** `instanceof` runs code of the value where that is a Proxy. */
const isA = <T>(kind: abstract new (...given: never[]) => T, fault: unknown): fault is T => {
  try {
    return fault instanceof kind;
  } catch {
    return false;
  }
};

/** A fault of Node's parser. */
interface ParserFault extends NodeJS.ErrnoException {
  /** What it read last. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
}

/**
 * What is no HTTP request, or too long or too slow a one, never reaches the layers (RQ16). Nothing can be
 * said any more where a response is on its way already.
 */
export const refuseConnection = (fault: ParserFault, socket: Duplex, underWay: Iterable<http.ServerResponse>): void => {
  if (!socket.writable || fault.code === 'ECONNRESET' || [...underWay].some((it) => it.headersSent)) {
    socket.destroy();
    return;
  }
  const { status, body } = connectionRefusal(fault);
  endWith(socket, status, JSON_TYPE, body);
};

const connectionRefusal = (fault: ParserFault): { readonly status: number; readonly body: string } => {
  switch (fault.code) {
    case 'HPE_HEADER_OVERFLOW':
      return endedInUrl(fault)
        ? errorEnvelope([issue('http.url-too-long', [], { max: limits.urlBytesMax })])
        : { status: 431, body: '' };
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return errorEnvelope([issue('http.too-slow', [])]);
    default:
      return errorEnvelope([issue('http.malformed-request', [])]);
  }
};

/** Whether the parser gave up before the end of the request line: in a piece of text without blanks or line breaks. */
const endedInUrl = ({ rawPacket, bytesParsed }: ParserFault): boolean =>
  Buffer.isBuffer(rawPacket) && /^(?:[A-Z]+ )?\S*$/.test(rawPacket.toString('latin1', 0, bytesParsed));

/** What Node would answer itself, without the layers: an unknown expectation, which may be ignored, and `CONNECT`. */
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
