/** What goes wrong outside of actions: requests that are none, refusals of the framework, faults of ours. */
import crypto from 'node:crypto';
import http from 'node:http';
import type net from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Bug, errorEnvelope, issue } from '../errors.js';
import { JSON_TYPE, sendIssues } from './respond.js';

/** Faults that reached the framework: its own refusals are the client's, all else is ours and gets an id. */
export const sendFault = (fault: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
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

/** What is no HTTP request, or too long or too slow a one, never reaches the layers (contract 0, point 1). */
export const refuseConnection = (fault: { readonly code?: string }, socket: net.Socket): void => {
  if (!socket.writable || fault.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const isTooLong = fault.code === 'HPE_HEADER_OVERFLOW';
  const refusal = fault.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'http.too-slow' : 'http.malformed-request';
  const { status, body } = isTooLong ? { status: 431, body: '' } : errorEnvelope([issue(refusal, [])]);
  const head = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
};
