/**
 * How a server stops without cutting anybody off: `/_health` turns to 503 first; then no connection is accepted any more;
 * what was sent is answered, with `Connection: close`; connections on which nothing comes are closed last.
 */
import type http from 'node:http';
import net from 'node:net';
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { limits } from '../limits.js';
import type { Connection, Connections } from './connections.js';

export interface DrainOptions {
  /** Until it resolves the server goes on as before, except that `/_health` says 503. */
  readonly delay?: Promise<unknown>;
  /** Milliseconds that a quiet connection stays open for one more request. */
  readonly quietMs?: number;
  /** Milliseconds after which what is still under way is cut off. */
  readonly msMax?: number;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether `drain` was called. */
    isDraining(): boolean;
    /** Stops the server; resolves with the number of requests that were cut off. To be called once, before `close`. */
    drain(options?: DrainOptions): Promise<number>;
  }
}

export const addDrain = (app: FastifyInstance, connections: Connections): void => {
  let state: 'serving' | 'draining' | 'closing' = 'serving';
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (state === 'closing') reply.header('connection', 'close');
    done(null, payload);
  });
  app.decorate('isDraining', () => state !== 'serving');
  app.decorate('drain', async ({ delay, quietMs = limits.quietMsOnStop, msMax = limits.drainMsMax } = {}) => {
    state = 'draining';
    await delay;
    const deadline = performance.now() + msMax;
    await acceptWaiting(app.server, deadline);
    const closed = stopListening(app.server);
    // not before: clients whose connection ends open another one
    state = 'closing';
    while (connections.size > 0 && performance.now() < deadline) {
      await Promise.race([closed, setTimeout(LOOK_MS)]);
      // a turn of the event loop reads all that has come
      await setImmediate();
      for (const { socket } of quietFor(connections, quietMs)) socket.destroy();
    }
    const cut = [...connections.values()];
    for (const { socket } of cut) socket.destroy();
    return cut.reduce((sum, { underWay }) => sum + underWay.size, 0);
  });
};

/** Milliseconds between two looks at the connections that are left. */
const LOOK_MS = 20;

/**
 * Connections that the kernel has completed wait for the process, and closing would reset them. Each turn of the event
 * loop accepts one, so none is left when a turn accepts none.
 */
const acceptWaiting = async (server: http.Server, deadline: number): Promise<void> => {
  let accepted = 0;
  const count = (): void => {
    accepted += 1;
  };
  server.on('connection', count);
  // from here on each wait is a whole turn
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
  // not the method of http.Server: that would close quiet connections too, with whatever is on its way to them
  new Promise((resolve) => net.Server.prototype.close.call(server, () => resolve()));

const quietFor = (connections: Connections, quietMs: number): readonly Connection[] =>
  [...connections.values()].filter((it) => it.underWay.size === 0 && performance.now() - it.quietSince >= quietMs);
