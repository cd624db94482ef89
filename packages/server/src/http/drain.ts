/** How a server stops: what was sent to it is answered. */
import { setImmediate } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/**
 * A server that stops answers what had been sent to it: the kernel keeps connections and requests that the process has
 * not seen yet, and closing would reset them. One connection is taken at each turn of the event loop.
 */
export const answerWhatWasSent = (app: FastifyInstance): void => {
  let isClosing = false;
  let heard = 0;
  const hear = (): void => {
    heard += 1;
  };
  app.server.on('connection', hear).on('request', hear);
  app.addHook('preClose', async () => {
    isClosing = true;
    let quiet = 0;
    for (let turn = 0; turn < TURNS_MAX && quiet < QUIET_TURNS; turn++) {
      const before = heard;
      await setImmediate();
      quiet = heard === before ? quiet + 1 : 0;
    }
  });
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
};

/** As many connections as wait at most to be taken (the `backlog` of Node). */
const TURNS_MAX = 511;
/** A connection that was taken is read at the next turn. */
const QUIET_TURNS = 3;
