/**
 * The listening server and its connections. Which app answers a request is asked when the request comes, so that another one
 * can take over while the port stays open.
 */
import http from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { limits } from '../limits.js';
import { trackConnections, whenEnded } from './connections.js';
import { type Drain, newDrain } from './drain.js';
import { answerForNode, refuseConnection } from './faults.js';
import { newPending, type Pending, type WaitingBounds } from './readers.js';

export type AnswerRequest = (request: http.IncomingMessage, response: http.ServerResponse) => void;

export interface Listener extends Drain {
  readonly server: http.Server;
  readonly pending: Pending;
  /** From now on requests are answered by this. Resolves once those have ended that were in flight before. */
  answerWith(answer: AnswerRequest): Promise<void>;
  /** Takes away what code of a project has put before or beside the answers (`strapi.server.httpServer`). */
  withoutGuests(): void;
}

export const newListener = (logger: FastifyBaseLogger, waiting: WaitingBounds = waitingBounds): Listener => {
  let answer: AnswerRequest = (_request, response) => response.destroy();
  const server = http.createServer(connectionOptions, (request, response) => answer(request, response));
  const connections = trackConnections(server);
  answerForNode(server);
  server.on('clientError', (fault, socket) =>
    refuseConnection(fault, socket, connections.get(socket as Socket)?.inFlight ?? []),
  );
  const own = guestEvents.map((event) => [event, server.listeners(event) as Listening[]] as const);
  return {
    server,
    pending: newPending(server, connections, waiting, logger),
    ...newDrain(server, connections),
    answerWith: (next) => {
      answer = next;
      return whenEnded(connections);
    },
    withoutGuests: () => {
      for (const [event, listening] of own) {
        server.removeAllListeners(event);
        for (const it of listening) server.on(event, it);
      }
    },
  };
};

/** As libraries take them over that serve paths of their own. */
const guestEvents = ['request', 'upgrade'] as const;
type Listening = (...given: unknown[]) => void;

const connectionOptions: http.ServerOptions = {
  maxHeaderSize: limits.headerBytesMax,
  headersTimeout: limits.requestMsMax,
  // other bodies than forms have less time; this is for what nobody reads
  requestTimeout: limits.formMsMax + limits.requestMsMax,
  keepAliveTimeout: limits.keepAliveMs,
  // a request without Host is refused later, in the envelope; Node would accept several
  requireHostHeader: false,
};

const waitingBounds: WaitingBounds = {
  bytesMax: limits.waitingBytesMax,
  keptMs: limits.waitingKeptMs,
  stalledMs: limits.stalledMsMax,
  lookMs: limits.stalledLookMs,
};
