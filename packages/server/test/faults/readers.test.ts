/** Clients that request large responses and never read them: pending bytes are bounded, and others are served. */
import crypto from 'node:crypto';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it } from 'vitest';
import type { WaitingBounds } from '../../src/http/readers.js';
import { newServer } from '../../src/http/server.js';
import { createTables, newDatabase, type TestDatabase } from '../world/databases.js';
import { newTestDeps } from '../world/server.js';
import { worldModel } from '../world/world.js';

const MB = 1024 * 1024;
/** More than the kernel buffers for a connection (4 MB to send, plus the client's receive buffer). */
const LARGE_BYTES = 12 * MB;
/** Incompressible. */
const text = crypto.randomBytes((LARGE_BYTES * 3) / 4).toString('base64');
const LARGE = '/api/films?large';
/** None of them takes effect unless a test lowers it. */
const unbounded: WaitingBounds = { bytesMax: 4096 * MB, keptMs: 3_600_000, stalledMs: 3_600_000, lookMs: 20 };

let database: TestDatabase;
let app: FastifyInstance;
let port: number;
/** Responses that the server has produced, in order. */
let made = 0;
/** What the response to `?slow` waits for. */
let slow: Promise<unknown>;

/** Returns the bounds, which the server reads again at each look. */
const serve = async (given: Partial<WaitingBounds>): Promise<{ stalledMs: number }> => {
  database = await newDatabase('sqlite');
  const model = worldModel();
  await createTables(database.db, model);
  made = 0;
  const find = async ({ request }: { request: { search: string } }) => {
    if (request.search === 'slow') {
      await slow;
      return { data: 'slow' };
    }
    if (request.search !== 'large') return { data: 'small' };
    made += 1;
    return { data: text };
  };
  const handlers = new Map([['api::film.film', { find, update: () => ({ data: text }) }]]);
  const waiting = { ...unbounded, ...given };
  const settings = { waiting };
  app = await newServer(newTestDeps(database.db, model, settings, undefined, { handlers, mode: 'open' }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  port = (app.server.address() as AddressInfo).port;
  return waiting;
};

const sockets: net.Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
  await database.drop();
});

const head = (method: string, url: string, accept = 'identity'): string =>
  `${method} ${url} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nAccept-Encoding: ${accept}\r\n\r\n`;

/** Sends a request and reads nothing. */
const ask = async (sent = head('GET', LARGE)): Promise<net.Socket> => {
  const socket = net.connect({ port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.pause();
  socket.write(sent);
  return socket;
};

/** The code in the status line, once the client begins to read. */
const statusOf = async (socket: net.Socket): Promise<number> => {
  socket.resume();
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString('latin1'))?.[1]);
};

/** Connections that the server has now. */
const connections = (): Promise<number> =>
  new Promise((resolve, reject) =>
    app.server.getConnections((fault, count) => (fault ? reject(fault) : resolve(count))),
  );

/** Checks again after each turn of the server. */
const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await holds())) await new Promise(setImmediate);
};

const small = async (): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}/api/films`)).json();

describe('clients that do not read', () => {
  it('pending bytes are bounded: beyond the limit a request gets 503, and small responses are still served', async () => {
    await serve({ bytesMax: 40 * MB });
    const before = process.memoryUsage().arrayBuffers;
    const asked = await Promise.all(Array.from({ length: 60 }, () => ask()));
    await until(() => made === 60);
    // all of them would be 720: what was made and refused may wait for the garbage collector
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(240 * MB);
    const statuses = await Promise.all(asked.map(statusOf));
    // each is twelve megabytes and an envelope
    expect(statuses.filter((it) => it === 200)).toHaveLength(3);
    expect(statuses.filter((it) => it === 503)).toHaveLength(57);
    expect(await small()).toEqual({ data: 'small' });
  });

  it('a 503 for lack of room has Retry-After, and keeps nothing of the response', async () => {
    await serve({ bytesMax: LARGE_BYTES + 1024 });
    await ask();
    await until(() => made === 1);
    const answer = await fetch(`http://127.0.0.1:${port}${LARGE}`);
    expect([answer.status, answer.headers.get('retry-after'), answer.headers.get('etag')]).toEqual([503, '1', null]);
    expect(await answer.json()).toMatchObject({ data: null, error: { status: 503, name: 'ServiceUnavailableError' } });
  });

  it('after a minimum time the response pending longest is evicted, and the next request is served', async () => {
    await serve({ bytesMax: 40 * MB, keptMs: 0 });
    for (let asked = 1; asked <= 20; asked++) {
      await ask();
      await until(() => made === asked);
    }
    await until(async () => (await connections()) === 3);
    const answer = await fetch(`http://127.0.0.1:${port}${LARGE}`);
    expect(answer.status).toBe(200);
    expect((await answer.text()).length).toBeGreaterThan(LARGE_BYTES);
  });

  it('a client that reads gets the whole of a response larger than the limit', async () => {
    await serve({ bytesMax: MB });
    for (let asked = 1; asked <= 2; asked++) {
      const answer = await fetch(`http://127.0.0.1:${port}${LARGE}`);
      expect(answer.status).toBe(200);
      expect((await answer.text()).length).toBeGreaterThan(LARGE_BYTES);
    }
  });

  it('responses to writes are never refused', async () => {
    await serve({ bytesMax: LARGE_BYTES + 1024 });
    const reader = await ask();
    await until(() => made === 1);
    const writer = await ask(head('PUT', '/api/films/1'));
    expect(await statusOf(writer)).toBe(200);
    reader.resume();
    await once(reader, 'close');
  });

  it('a connection without progress is closed, whatever is requested on it', async () => {
    await serve({ stalledMs: 300 });
    for (const sent of [head('GET', LARGE), head('GET', LARGE).repeat(20), head('GET', LARGE, 'gzip')]) {
      const before = made;
      await ask(sent);
      await until(() => made > before);
      await until(async () => (await connections()) === 0);
    }
    expect(await small()).toEqual({ data: 'small' });
  });

  it('closing a connection frees the room of all its pending responses', async () => {
    await serve({ bytesMax: 3 * LARGE_BYTES + 4096 });
    for (let asked = 1; asked <= 10; asked++) {
      const socket = await ask(head('GET', LARGE).repeat(3));
      await until(() => made === 3 * asked);
      expect(await statusOf(socket)).toBe(200);
      socket.destroy();
      await until(async () => (await connections()) === 0);
    }
  });

  it('a connection without progress is closed on time, not after a multiple of the timeout', async () => {
    await serve({ stalledMs: 1000 });
    await ask();
    await until(() => made === 1);
    const late = AbortSignal.timeout(1500);
    await until(async () => late.aborted || (await connections()) === 0);
    expect(late.aborted).toBe(false);
  });

  /** Resolves when a connection that does not read has been closed. */
  const stall = async (): Promise<void> => {
    const before = await connections();
    await ask();
    await until(async () => (await connections()) > before);
    await until(async () => (await connections()) <= before);
  };

  it('a slow reader is kept as long as it makes progress', async () => {
    await serve({ stalledMs: 400 });
    const client = await ask(head('GET', LARGE).repeat(5));
    let received = 0;
    client.on('data', (bytes: Buffer) => {
      received += bytes.length;
      client.pause();
    });
    const reading = setInterval(() => client.resume(), 5);
    await stall();
    await stall();
    expect(await connections()).toBe(1);
    // most of it is still pending
    expect(received).toBeLessThan(3 * LARGE_BYTES);
    clearInterval(reading);
  });

  it('a reader may wait longer for the next response on its connection', async () => {
    const bounds = await serve({});
    let answer: () => void = () => undefined;
    slow = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const client = await ask(head('GET', LARGE) + head('GET', '/api/films?slow'));
    let heard = '';
    client.on('data', (bytes: Buffer) => {
      heard = (heard + bytes.toString('latin1')).slice(-2000);
    });
    client.resume();
    // from here on it waits, whereas before it is as fast as the machine lets it be
    await until(() => heard.endsWith('"}'));
    bounds.stalledMs = 300;
    await stall();
    answer();
    await until(() => heard.endsWith('{"data":"slow"}'));
  });
});
