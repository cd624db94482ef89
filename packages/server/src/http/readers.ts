/** Bounds for clients that do not read their responses: bytes pending over all connections, and time without progress. */
import type http from 'node:http';
import type net from 'node:net';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply } from 'fastify';
import { issue } from '../errors.js';
import type { Connections } from './connections.js';
import { issuesResponse } from './respond.js';

export interface WaitingBounds {
  /** Bytes of response bodies pending over all connections. */
  readonly bytesMax: number;
  /** Milliseconds before a pending response may be evicted. */
  readonly keptMs: number;
  /** Milliseconds without progress after which a connection is closed, at the next look but one at the latest. */
  readonly stalledMs: number;
  /** Milliseconds between two looks. */
  readonly lookMs: number;
}

/** Response bodies that clients have still to read. */
export interface Pending {
  /** Whether there is room for a body; if not, the response is a 503. */
  hasRoom(request: http.IncomingMessage, bytes: number): boolean;
  /** Counts a body as pending until its response is closed. */
  hold(request: http.IncomingMessage, response: http.ServerResponse, bytes: number): void;
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
export const newPending = (
  server: http.Server,
  connections: Connections,
  bounds: WaitingBounds,
  log: FastifyBaseLogger,
): Pending => {
  const waiting = new Map<http.ServerResponse, Waiting>();
  let bytesWaiting = 0;

  const cut = (socket: net.Socket): void => {
    log.warn({ address: socket.remoteAddress }, 'closed a connection whose client does not read its responses');
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

  const isCounted = ({ method, socket }: http.IncomingMessage, bytes: number): boolean =>
    bytes >= COUNTED_BYTES_MIN && method !== 'HEAD' && connections.has(socket);

  // responses queued behind others get no close event when their connection closes
  server.on('connection', (socket) => {
    socket.once('close', () => {
      for (const [response, it] of waiting) if (it.socket === socket) release(response);
    });
    looking ??= setInterval(look, bounds.lookMs).unref();
  });

  const progress = new WeakMap<net.Socket, Progress>();
  const look = (): void => {
    const now = performance.now();
    for (const socket of connections.keys()) {
      const sentBytes = sentBytesOf(socket);
      const last = progress.get(socket);
      if (socket.writableLength === 0) progress.delete(socket);
      else if (last?.sentBytes !== sentBytes) progress.set(socket, { sentBytes, seenAt: now });
      else if (now - last.seenAt >= bounds.stalledMs) cut(socket);
    }
    if (connections.size > 0) return;
    clearInterval(looking ?? undefined);
    looking = null;
  };
  let looking: NodeJS.Timeout | null = null;

  return {
    hasRoom: (request, bytes) => !isCounted(request, bytes) || makeRoom(bytes, request.method === 'GET'),
    hold: (request, response, bytes) => {
      if (!isCounted(request, bytes)) return;
      waiting.set(response, { socket: request.socket, bytes, since: performance.now() });
      bytesWaiting += bytes;
      response.once('close', () => release(response));
    },
  };
};

export const addPending = (app: FastifyInstance, pending: Pending): void => {
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
    if (!pending.hasRoom(request.raw, bytes)) return done(null, busy(reply));
    pending.hold(request.raw, reply.raw, bytes);
    done(null, payload);
  });
};

interface Progress {
  readonly sentBytes: number;
  /** `performance.now()` of the look that first saw this number. */
  readonly seenAt: number;
}

/**
 * Bytes that the kernel has taken for a connection. Node has no public name for them: a response is one write, of which
 * `writableLength` shows no progress. Node's own socket timeouts use the same number.
 */
const sentBytesOf = (socket: net.Socket): number => {
  const { _handle: handle } = socket as net.Socket & { readonly _handle?: WriteHandle | null };
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0;
};

interface WriteHandle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
}

/** Smaller bodies fit into the kernel's buffers, and Node stops reading requests from a client that lets responses pile up. */
const COUNTED_BYTES_MIN = 16 * 1024;

const busy = (reply: FastifyReply): string => {
  const { status, headers, body } = issuesResponse([issue('http.busy', [])]);
  reply.code(status).removeHeader('etag').headers(headers);
  return body;
};
