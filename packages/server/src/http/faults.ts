/** What goes wrong outside of actions: requests that are none, refusals of the framework, faults of ours. */
import crypto from 'node:crypto';
import http from 'node:http';
import type net from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Bug, errorEnvelope, issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';
import { JSON_TYPE, sendIssues } from './respond.js';

/** Faults that reached the framework: its own refusals are the client's, all else is ours and gets an id. */
export const sendFault = (fault: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  // what a database cannot serve now, it refuses wherever it is asked
  if (fault instanceof Refusal) return sendIssues(reply, fault.issues);
  const status = (fault as { statusCode?: number }).statusCode ?? 500;
  if (status === 413) return sendIssues(reply, [issue('http.body-too-large', [])]);
  if (status === 503) return sendIssues(reply, [issue('http.busy', [])]);
  if (status >= 400 && status < 500) return sendIssues(reply, [issue('http.malformed-body', [])]);
  const id = crypto.randomUUID();
  request.log.error(
    {
      err: fault,
      faultId: id,
      bug: fault instanceof Bug ? fault.id : undefined,
      method: request.method,
      path: request.url.split('?')[0],
    },
    'request failed',
  );
  return reply
    .code(500)
    .header('content-type', JSON_TYPE)
    .send(
      JSON.stringify({
        data: null,
        error: { status: 500, name: 'InternalServerError', message: 'Internal Server Error', details: { id } },
      }),
    );
};

/** A fault of Node's parser. */
interface ParserFault {
  readonly code?: string;
  /** What it read last: a Buffer, whatever the framework's types say. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
}

/** What is no HTTP request, or too long or too slow a one, never reaches the layers (contract 0, point 1). */
export const refuseConnection = (fault: ParserFault, socket: net.Socket): void => {
  if (!socket.writable || fault.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, body } = refusalOf(fault);
  const head = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
};

const refusalOf = (fault: ParserFault): { readonly status: number; readonly body: string } => {
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
