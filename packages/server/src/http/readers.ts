/** Bounds for clients that do not read their responses: bytes pending over all connections, and time without progress. */
import type http from 'node:http';
import type net from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { errorEnvelope, issue } from '../errors.js';
import { limits } from '../limits.js';
import type { Connections } from './connections.js';
import { JSON_TYPE } from './respond.js';

export interface WaitingBounds {
  /** Bytes of response bodies pending over all connections. */
  readonly bytesMax: number;
  /** Milliseconds before a pending response may be evicted. */
  readonly keptMs: number;
  /** Milliseconds without progress after which a connection is closed. */
  readonly stalledMs: number;
}

interface Waiting {
  readonly socket: net.Socket;
  readonly bytes: number;
  readonly since: number;
}

/**
 * A response that would exceed the byte limit evicts the oldest pending ones if they have been pending for `keptMs`;
 * otherwise it becomes a 503. Responses to writes are always sent.
 */
export const boundReaders = (app: FastifyInstance, connections: Connections, bounds: WaitingBounds): void => {
  const waiting = new Map<http.ServerResponse, Waiting>();
  let bytesWaiting = 0;

  const cut = (socket: net.Socket): void => {
    app.log.warn({ address: socket.remoteAddress }, 'closed a connection whose client does not read its responses');
    socket.destroy();
  };

  const makeRoom = (bytes: number, isRead: boolean): boolean => {
    for (const [response, oldest] of waiting) {
      if (bytesWaiting + bytes <= bounds.bytesMax) break;
      if (isRead && performance.now() - oldest.since < bounds.keptMs) return false;
      release(response);
      cut(oldest.socket);
    }
    return true;
  };

  const release = (response: http.ServerResponse): void => {
    bytesWaiting -= waiting.get(response)?.bytes ?? 0;
    waiting.delete(response);
  };

  const hold = (response: http.ServerResponse, socket: net.Socket, bytes: number): void => {
    waiting.set(response, { socket, bytes, since: performance.now() });
    bytesWaiting += bytes;
    response.once('close', () => release(response));
  };

  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const { method, raw } = request;
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
    if (bytes < COUNTED_BYTES_MIN || method === 'HEAD' || !connections.has(raw.socket)) return done(null, payload);
    if (!makeRoom(bytes, method === 'GET')) return done(null, busy(reply));
    hold(reply.raw, raw.socket, bytes);
    done(null, payload);
  });

  // responses queued behind others get no close event when their connection closes
  app.server.on('connection', (socket) => {
    socket.once('close', () => {
      for (const [response, it] of waiting) if (it.socket === socket) release(response);
    });
  });

  // only for connections with pending output: a timeout on every connection costs 4 µs per request
  const look = setInterval(() => {
    for (const socket of connections.keys())
      if (socket.writableLength > 0 && socket.timeout !== bounds.stalledMs) socket.setTimeout(bounds.stalledMs);
  }, bounds.stalledMs / 2).unref();
  app.addHook('onClose', () => clearInterval(look));
  // during a large write Node checks for progress before it emits the event
  app.server.on('timeout', (socket: net.Socket) => {
    if (socket.writableLength > 0) cut(socket);
    // a later request on the same connection may still be in progress
    else if (!connections.get(socket)?.inFlight.size) socket.destroy();
  });
};

/** Smaller bodies fit into the kernel's buffers, and Node stops reading requests from a client that lets responses pile up. */
const COUNTED_BYTES_MIN = 16 * 1024;

const busy = (reply: FastifyReply): string => {
  const { status, body } = errorEnvelope([issue('http.busy', [])]);
  reply.code(status).removeHeader('etag').header('retry-after', limits.retryAfterS).header('content-type', JSON_TYPE);
  return body;
};
