/** The open connections of a server, each with the requests that are under way on it. */
import type http from 'node:http';
import type net from 'node:net';

export interface Connection {
  readonly socket: net.Socket;
  /** Responses that are not handed to the operating system yet, in the order of their requests. */
  readonly underWay: ReadonlySet<http.ServerResponse>;
  /** Milliseconds of `performance.now()` at which the last response was complete, or the connection opened. */
  readonly quietSince: number;
}

export type Connections = ReadonlyMap<net.Socket, Connection>;

export const trackConnections = (server: http.Server): Connections => {
  const open = new Map<net.Socket, { socket: net.Socket; underWay: Set<http.ServerResponse>; quietSince: number }>();
  server.on('connection', (socket) => {
    open.set(socket, { socket, underWay: new Set(), quietSince: performance.now() });
    socket.once('close', () => open.delete(socket));
  });
  server.prependListener('request', ({ socket }, response) => {
    const connection = open.get(socket);
    if (!connection) return;
    connection.underWay.add(response);
    response.once('close', () => {
      connection.underWay.delete(response);
      connection.quietSince = performance.now();
    });
  });
  return open;
};
