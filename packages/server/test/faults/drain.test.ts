/** Graceful shutdown: no client that has sent a request, or is about to, is cut off (RQ20). */
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import { newServer } from '../../src/http/server.js';
import { newTestDeps } from '../world/server.js';
import { dialects, useWorld } from '../world/world.js';

const request = 'GET /api/films/1 HTTP/1.1\r\nHost: x\r\n\r\n';
const health = 'GET /_health HTTP/1.1\r\nHost: x\r\n\r\n';
const codes = (text: string): readonly number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((it) => Number(it[1]));

/** A connection that records what it receives. */
interface Client {
  /** Sends a request, and waits until one more response has begun to arrive. */
  ask(sent: string): Promise<void>;
  send(sent: string): void;
  heard(): string;
  /** How the server closed the connection. */
  readonly closed: Promise<'ended' | 'reset'>;
}

const connect = async (port: number): Promise<Client> => {
  const socket = net.connect(port, '127.0.0.1');
  let text = '';
  let fault: Error | undefined;
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  socket.on('error', (it) => {
    fault = it;
  });
  const closed = once(socket, 'close').then(() => (fault ? ('reset' as const) : ('ended' as const)));
  await once(socket, 'connect');
  return {
    ask: async (sent) => {
      const before = codes(text).length;
      socket.write(sent);
      while (codes(text).length === before) await Promise.race([once(socket, 'data'), closed]);
    },
    send: (sent) => socket.write(sent),
    heard: () => text,
    closed,
  };
};

describe.each(dialects)('stopping on %s', (dialect) => {
  const world = useWorld(dialect);
  let app: FastifyInstance;
  const serve = async (): Promise<number> => {
    app = await newServer(newTestDeps(world.db, world.model));
    await app.listen({ host: '127.0.0.1', port: 0 });
    return (app.server.address() as AddressInfo).port;
  };
  afterEach(() => app.close());

  it('RQ20: connections waiting in the kernel are served, and so are requests in transit', async () => {
    const port = await serve();
    // the first request stops the server, the others wait in the kernel
    let stopped: Promise<number> | undefined;
    app.server.once('request', () => {
      stopped = app.drain();
    });
    const statuses = await Promise.all(
      Array.from(
        { length: 40 },
        () =>
          new Promise((resolve, reject) => {
            const path = '/api/films?populate=*&sort=genres.name';
            http
              .get({ host: '127.0.0.1', port, path, agent: false }, (answer) => {
                answer.resume().on('end', () => resolve(answer.statusCode));
              })
              .on('error', reject);
          }),
      ),
    );
    expect(statuses).toEqual(statuses.map(() => 200));
    expect(await stopped).toBe(0);
  });

  it('RQ20: at first /_health is 503, and everything else works as before', async () => {
    const port = await serve();
    const kept = await connect(port);
    await kept.ask(health);
    let goOn = (): void => undefined;
    // the delay lasts until the test is done with it
    const delay = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const stopped = app.drain({ delay, idleMs: 0 });
    await kept.ask(health);
    await kept.ask(request);
    const other = await connect(port);
    await other.ask(request);
    expect(codes(kept.heard())).toEqual([204, 503, 200]);
    expect(codes(other.heard())).toEqual([200]);
    expect(kept.heard() + other.heard()).not.toMatch(/connection: close/i);
    goOn();
    expect(await stopped).toBe(0);
    expect(await Promise.all([kept.closed, other.closed])).toEqual(['ended', 'ended']);
  });

  it('RQ20: a keep-alive connection may send one more request; its response says Connection: close', async () => {
    const port = await serve();
    const kept = await connect(port);
    await kept.ask(request);
    const stopped = app.drain({ idleMs: 60_000 });
    while (app.server.listening) await new Promise(setImmediate);
    await kept.ask(request);
    expect(await kept.closed).toBe('ended');
    expect(codes(kept.heard())).toEqual([200, 200]);
    expect(kept.heard().match(/connection: close/gi)).toHaveLength(1);
    expect(await stopped).toBe(0);
  });

  it('RQ20: an idle connection is closed, not reset', async () => {
    const port = await serve();
    const [used, unused] = [await connect(port), await connect(port)];
    await used.ask(request);
    expect(await app.drain({ idleMs: 0 })).toBe(0);
    expect(await Promise.all([used.closed, unused.closed])).toEqual(['ended', 'ended']);
  });

  it('RQ20: no more connections are accepted', async () => {
    const port = await serve();
    await app.drain();
    const socket = net.connect(port, '127.0.0.1');
    const [fault] = (await once(socket, 'error')) as [NodeJS.ErrnoException];
    expect(fault.code).toBe('ECONNREFUSED');
  });

  it('RQ20: requests that do not finish in time are cut off and counted', async () => {
    const port = await serve();
    const [slow, quick] = [await connect(port), await connect(port)];
    await quick.ask(request);
    // its body never arrives
    slow.send('POST /api/films HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{');
    await once(app.server, 'request');
    expect(await app.drain({ idleMs: 0, msMax: 100 })).toBe(1);
    expect(await quick.closed).toBe('ended');
    await slow.closed;
    expect(slow.heard()).toBe('');
  });
});
