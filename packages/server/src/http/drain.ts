/**
 * Graceful shutdown: `/_health` returns 503 first; then no more connections are accepted; requests already sent are
 * answered with `Connection: close`; idle connections are closed last.
 */
import type http from 'node:http';
import net from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { limits } from '../limits.js';
import type { Connection, Connections } from './connections.js';

export interface DrainOptions {
  /** Until it resolves the server continues as before, except that `/_health` returns 503. */
  readonly delay?: Promise<unknown>;
  /** Another process serves the same port from now on, so `/_health` does not become 503; false by default. */
  readonly isReplaced?: boolean;
  /** Milliseconds that an idle connection stays open for one more request. */
  readonly idleMs?: number;
  /** Milliseconds after which requests still in flight are cut off. */
  readonly msMax?: number;
}

export interface Drain {
  /** Whether `drain` was called and nothing else serves the port. */
  isGoingDown(): boolean;
  /** Whether responses end their connections. */
  isClosing(): boolean;
  /** Stops the server; resolves with the number of requests that were cut off. Call once, before `close`. */
  drain(options?: DrainOptions): Promise<number>;
  /** Responses end their connections from now on. */
  endConnections(): void;
}

declare module 'fastify' {
  interface FastifyInstance extends Pick<Drain, 'isGoingDown' | 'isClosing' | 'drain'> {}
}

export const newDrain = (server: http.Server, connections: Connections): Drain => {
  let isClosing = false;
  let isGoingDown = false;
  return {
    isGoingDown: () => isGoingDown,
    isClosing: () => isClosing,
    endConnections: () => {
      isClosing = true;
    },
    drain: async ({ delay, isReplaced = false, ...bounds } = {}) => {
      const { idleMs = limits.idleMsOnStop, msMax = limits.drainMsMax } = bounds;
      isGoingDown = !isReplaced;
      await delay;
      const deadline = performance.now() + msMax;
      await acceptWaiting(server, deadline);
      const closed = stopListening(server);
      // not earlier: clients whose connection is closed open another one
      isClosing = true;
      while (connections.size > 0 && performance.now() < deadline) {
        await Promise.race([closed, setTimeout(LOOK_MS)]);
        // one turn of the event loop reads everything that has arrived
        await setImmediate();
        for (const { socket } of idleFor(connections, idleMs)) socket.destroy();
      }
      const cut = [...connections.values()];
      for (const { socket } of cut) socket.destroy();
      return cut.reduce((sum, { inFlight }) => sum + inFlight.size, 0);
    },
  };
};

export const addDrain = (app: FastifyInstance, { isClosing, isGoingDown, drain }: Drain): void => {
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing()) reply.header('connection', 'close');
    done(null, payload);
  });
  app.decorate('isClosing', isClosing);
  app.decorate('isGoingDown', isGoingDown);
  app.decorate('drain', drain);
};

/** Milliseconds between checks of the remaining connections. */
const LOOK_MS = 20;

/**
 * Closing the listening socket resets connections that the kernel has completed but the process has not yet accepted.
 * Each turn of the event loop accepts one, so the queue is empty once a turn accepts none.
 */
const acceptWaiting = async (server: http.Server, deadline: number): Promise<void> => {
  let accepted = 0;
  const count = (): void => {
    accepted += 1;
  };
  server.on('connection', count);
  // from here on each wait is one full turn
  await setImmediate();
  let before: number;
  do {
    before = accepted;
    await setImmediate();
  } while (accepted !== before && performance.now() < deadline);
  server.off('connection', count);
};

/** Resolves when the last connection is closed. */
const stopListening = (server: http.Server): Promise<void> =>
  // not http.Server's close, which would also close idle connections to which a request may be in transit
  new Promise((resolve) => net.Server.prototype.close.call(server, () => resolve()));

const idleFor = (connections: Connections, idleMs: number): readonly Connection[] =>
  [...connections.values()].filter((it) => it.inFlight.size === 0 && performance.now() - it.idleSince >= idleMs);
