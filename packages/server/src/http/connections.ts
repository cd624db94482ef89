/** The open connections of a server, each with its requests in flight. */
import type http from 'node:http';
import type net from 'node:net';

export interface Connection {
  readonly socket: net.Socket;
  /** Responses not yet handed to the operating system, in request order. */
  readonly inFlight: ReadonlySet<http.ServerResponse>;
  /** `performance.now()` when the last response completed, or when the connection opened. */
  readonly idleSince: number;
}

export type Connections = ReadonlyMap<net.Socket, Connection>;

export const trackConnections = (server: http.Server): Connections => {
  const open = new Map<net.Socket, { socket: net.Socket; inFlight: Set<http.ServerResponse>; idleSince: number }>();
  server.on('connection', (socket) => {
    open.set(socket, { socket, inFlight: new Set(), idleSince: performance.now() });
    socket.once('close', () => open.delete(socket));
  });
  // one function for all responses
  const ended = function (this: http.ServerResponse): void {
    const connection = open.get(this.req.socket);
    if (!connection) return;
    connection.inFlight.delete(this);
    connection.idleSince = performance.now();
  };
  server.prependListener('request', ({ socket }, response) => {
    const connection = open.get(socket);
    if (!connection) return;
    connection.inFlight.add(response);
    response.on('close', ended);
  });
  return open;
};

/** Resolves once the requests that are in flight now have ended. */
export const whenEnded = async (connections: Connections): Promise<void> => {
  await Promise.all([...connections.values()].map(whenIdle));
};

const whenIdle = ({ socket, inFlight }: Connection): Promise<void> =>
  new Promise((resolve) => {
    let left = inFlight.size;
    if (left === 0) return resolve();
    // responses queued behind others get no close event when their connection closes
    const closed = (): void => resolve();
    socket.once('close', closed);
    for (const response of inFlight)
      response.once('close', () => {
        left -= 1;
        if (left > 0) return;
        socket.off('close', closed);
        resolve();
      });
  });
