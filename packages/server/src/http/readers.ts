/** Bounds for clients that ask and do not read: how much may wait for all of them together, and how long for one. */
import type http from 'node:http';
import type net from 'node:net';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { errorEnvelope, issue } from '../errors.js';
import { limits } from '../limits.js';
import type { Connections } from './connections.js';
import { JSON_TYPE } from './respond.js';

export interface WaitingBounds {
  /** Bytes of response bodies that wait for their readers, over all connections. */
  readonly bytesMax: number;
  /** Milliseconds for which a response keeps its place when those bytes run out. */
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
 * A response that would exceed the bytes takes the place of the one that has waited longest, if that had its time, and
 * is a 503 otherwise; what a write has to say always goes out.
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

  // responses that wait behind others on their connection are not closed with it
  app.server.on('connection', (socket) => {
    socket.once('close', () => {
      for (const [response, it] of waiting) if (it.socket === socket) release(response);
    });
  });

  // armed for those alone who have not taken all: a timeout on every connection costs 4 µs a request
  const look = setInterval(() => {
    for (const socket of connections.keys())
      if (socket.writableLength > 0 && socket.timeout !== bounds.stalledMs) socket.setTimeout(bounds.stalledMs);
  }, bounds.stalledMs / 2).unref();
  app.addHook('onClose', () => clearInterval(look));
  // with large writes under way, Node asks the kernel whether anything has moved before it says so
  app.server.on('timeout', (socket: net.Socket) => {
    if (socket.writableLength > 0) cut(socket);
    // a request behind the one that was slow to read may take its time
    else if (!connections.get(socket)?.underWay.size) socket.destroy();
  });
};

/** Smaller bodies fit into the kernel's buffers, and requests are not read on from a client that lets them pile up. */
const COUNTED_BYTES_MIN = 16 * 1024;

const busy = (reply: FastifyReply): string => {
  const { status, body } = errorEnvelope([issue('http.busy', [])]);
  reply.code(status).removeHeader('etag').header('retry-after', limits.retryAfterS).header('content-type', JSON_TYPE);
  return body;
};
