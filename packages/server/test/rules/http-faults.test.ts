/**
 * Every error reaches the client in the envelope of ER1, never in the words of the framework or of Node: errors thrown
 * by handlers, malformed requests, headers and bodies that the framework refuses (RQ16, ER1).
 */
import crypto from 'node:crypto';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import zlib from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loggable } from '../../src/http/faults.js';
import { newServer } from '../../src/http/server.js';
import { limits } from '../../src/limits.js';
import { injectInto } from '../world/inject.js';
import { newTestDeps } from '../world/server.js';
import { useWorld } from '../world/world.js';

const boom = (): never => {
  throw new Error('looked at');
};
const traps = { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom, getOwnPropertyDescriptor: boom };
const circular = Object.assign(new Error('a circle'), { code: 'ERR_CIRCLE', self: null as unknown });
circular.self = circular;

/** What a project's code may throw. */
const thrown: Readonly<Record<string, () => unknown>> = {
  'an error with a cause': () => new Error('secret words', { cause: new TypeError('the cause') }),
  'an error': () => new Error('secret words'),
  'an error with a status': () => Object.assign(new Error('secret words'), { statusCode: 404, status: 404 }),
  'an error that looks like a refusal of the framework': () =>
    Object.assign(new Error('secret words'), { statusCode: 413, code: 'FST_ERR_CTP_BODY_TOO_LARGE' }),
  'an error with headers': () => Object.assign(new Error('secret words'), { headers: { 'x-bad': 'a\r\nb' } }),
  'a text': () => 'secret words',
  null: () => null,
  undefined: () => undefined,
  'a symbol': () => Symbol('secret words'),
  'a number that is a status': () => 404,
  'an object': () => ({ message: 'secret words', statusCode: 400 }),
  'an object without a prototype': () => Object.create(null),
  'a function': () => () => 'secret words',
  'a proxy whose traps throw': () => new Proxy({}, traps),
  'a proxy of an error whose traps throw': () => new Proxy(new Error('secret words'), traps),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'an object whose getters throw': () => Object.defineProperties({}, { statusCode: { get: boom, enumerable: true } }),
  'an error whose message throws': () => Object.defineProperty(new Error(), 'message', { get: boom, enumerable: true }),
  'an error whose stack throws': () => Object.defineProperty(new Error(), 'stack', { get: boom }),
  'an error whose cause throws': () => Object.defineProperty(new Error(), 'cause', { get: boom }),
  'an object that cannot be JSON': () => ({ toJSON: boom, n: 1n }),
  'an error with itself in it': () => circular,
  'a promise': () => Promise.reject(new Error('secret words')).catch((fault: unknown) => fault),
  'an error that may not be changed': () => Object.freeze(new Error('secret words')),
};

/** Invalid return values of a handler. */
const given: Readonly<Record<string, () => unknown>> = {
  'a text': () => 'secret words',
  nothing: () => undefined,
  'an object that cannot be JSON': () => ({ data: 1n }),
  'an object whose JSON throws': () => ({ toJSON: boom }),
  'an object that is no JSON at all': () => ({ toJSON: () => undefined }),
  'a proxy whose traps throw': () => new Proxy({}, traps),
  'a circle': () => circular,
};

const large = crypto.randomBytes(9_000_000).toString('base64');

describe('http faults', () => {
  const world = useWorld('sqlite');
  let app: FastifyInstance;
  let port: number;
  const lines: string[] = [];
  beforeAll(async () => {
    const find = ({ request }: { request: { search: string } }) => {
      if (request.search === 'large') return { data: large };
      const name = decodeURIComponent(request.search.slice(2));
      if (request.search.startsWith('g=')) return given[name]?.() as never;
      throw thrown[name]?.();
    };
    const handlers = new Map([['api::film.film', { find }]]);
    const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) });
    app = await newServer({ ...newTestDeps(world.db, world.model, {}, undefined, { handlers }), logger });
    app.addHook('onRequest', (request, reply, done) => {
      if (request.url === '/api/genres/1?bad-header') reply.header('x-bad', 'a\r\nset-cookie: b');
      done();
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    port = (app.server.address() as AddressInfo).port;
  });
  afterAll(() => app.close());

  /** A 500 whose id is in the log, and whose body contains nothing of what was thrown. */
  const isFault = async (url: string): Promise<void> => {
    lines.length = 0;
    const answer = await app.inject(url);
    const { id } = (answer.json() as { error: { details: { id: string } } }).error.details;
    const requestId = answer.headers['x-request-id'];
    expect(answer.json()).toEqual({
      data: null,
      error: { status: 500, name: 'InternalServerError', message: 'Internal Server Error', details: { id, requestId } },
    });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.payload + JSON.stringify(answer.headers)).not.toMatch(/secret words|looked at|set-cookie/);
    expect(lines.map((it) => JSON.parse(it))).toMatchObject([{ faultId: id, reqId: requestId }]);
  };

  it.each(Object.keys(thrown))('ER1: a handler that throws %s: 500 with an id', (name) =>
    isFault(`/api/films?t=${encodeURIComponent(name)}`),
  );
  it.each(Object.keys(given))('ER1: a handler that returns %s: 500 with an id', (name) =>
    isFault(`/api/films?g=${encodeURIComponent(name)}`),
  );
  it('ER1: an invalid header: 500 with an id, without that header', () => isFault('/api/genres/1?bad-header'));

  it('ER1: the log contains what was thrown, with stack and cause', async () => {
    lines.length = 0;
    await app.inject('/api/films?t=an%20error%20with%20a%20cause');
    expect(lines[0]).toMatch(/secret words.*http-faults\.test\.ts.*the cause/s);
  });

  it('ER1: a message that quotes its cause is logged once', () => {
    const cause = new Error('the disk is full');
    const messageOf = (message: string): unknown =>
      (loggable(new Error(message, { cause })) as { readonly message: unknown }).message;
    expect(messageOf('Cannot write: the disk is full')).toBe('Cannot write: the disk is full');
    expect(messageOf('Cannot write')).toBe('Cannot write: the disk is full');
  });

  it('ER1: of an error with itself in it the log has what it has of others', async () => {
    lines.length = 0;
    await app.inject('/api/films?t=an%20error%20with%20itself%20in%20it');
    const stack = expect.stringContaining('http-faults.test.ts');
    expect(JSON.parse(lines[0]!).err).toMatchObject({ message: 'a circle', code: 'ERR_CIRCLE', stack });
  });

  // ---- tests below use a socket, for what the injector cannot send

  /** Everything received until the server closes the connection. */
  const raw = (...sent: readonly (string | Buffer)[]): Promise<string> => {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
    });
    // the server may close it before everything is sent
    socket.on('error', () => undefined);
    for (const it of sent) socket.write(it);
    return once(socket, 'close').then(() => text);
  };
  const close = 'Host: x\r\nConnection: close\r\n';
  const statuses = (text: string): readonly number[] =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((it) => Number(it[1]));
  const bodyOf = (text: string): unknown => JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
  const errorOf = (status: number): unknown => ({ data: null, error: expect.objectContaining({ status }) });

  it.each([
    ['HTTP/1.0', 'GET /api/genres/1 HTTP/1.0\r\n\r\n'],
    ['an absolute target', `GET http://host.example/api/genres/1 HTTP/1.1\r\n${close}\r\n`],
    ['an absolute target of another port', `GET HTTPS://u:p@host.example:99/api/genres/1?x HTTP/1.1\r\n${close}\r\n`],
    [
      'an upgrade to what is not spoken',
      `GET /api/genres/1 HTTP/1.1\r\n${close.replace('close', 'upgrade, close')}Upgrade: websocket\r\n\r\n`,
    ],
    [
      'an upgrade to HTTP/2',
      `GET /api/genres/1 HTTP/1.1\r\n${close}Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
    ],
    ['an unknown expectation', `GET /api/genres/1 HTTP/1.1\r\n${close}Expect: the-best\r\n\r\n`],
    ['a version of a route', `GET /api/genres/1 HTTP/1.1\r\n${close}Accept-Version: 2.x\r\n\r\n`],
    [
      'a tag in the second of two headers',
      `GET /api/genres/1 HTTP/1.1\r\n${close}If-None-Match: "a"\r\nIf-None-Match: "b"\r\n\r\n`,
    ],
  ])('RQ16: %s is an ordinary request', async (_what, sent) => {
    const text = await raw(sent);
    expect(statuses(text)).toEqual([200]);
    expect(bodyOf(text)).toMatchObject({ data: { id: 1 } });
  });

  it('RQ16: an absolute target without a path, and one that cannot be decoded, are handled as their paths', async () => {
    expect(bodyOf(await raw(`GET http://host.example HTTP/1.1\r\n${close}\r\n`))).toEqual(errorOf(404));
    expect(bodyOf(await raw(`GET http://host.example?a=b HTTP/1.1\r\n${close}\r\n`))).toEqual(errorOf(404));
    expect(bodyOf(await raw(`GET http://host.example/%zz HTTP/1.1\r\n${close}\r\n`))).toEqual(errorOf(400));
    expect(statuses(await raw(`OPTIONS * HTTP/1.1\r\n${close}\r\n`))).toEqual([200]);
  });

  it('RQ16: Expect: 100-continue is answered before the body, which may be too large', async () => {
    const head = `POST /api/genres HTTP/1.1\r\n${close}Content-Type: application/json\r\nExpect: 100-continue\r\n`;
    expect(statuses(await raw(`${head}Content-Length: 2\r\n\r\n`, '{}'))).toEqual([100, 403]);
    const large = await raw(`${head}Content-Length: ${limits.bodyBytesMax + 1}\r\n\r\n`);
    expect(statuses(large)).toEqual([100, 413]);
    expect(bodyOf(large.slice(large.indexOf('\r\n\r\n') + 4))).toEqual(errorOf(413));
  });

  it.each([
    ['no Host', 400, 'GET /api/genres/1 HTTP/1.1\r\nConnection: close\r\nOrigin: http://a.example\r\n\r\n'],
    ['two Host headers', 400, `GET /api/genres/1 HTTP/1.1\r\n${close}host: y\r\nOrigin: http://a.example\r\n\r\n`],
    ['two equal ones', 400, `GET /api/genres/1 HTTP/1.1\r\n${close}HOST: x\r\nOrigin: http://a.example\r\n\r\n`],
    ['two in HTTP/1.0', 400, `GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\nOrigin: http://a.example\r\n\r\n`],
    [
      'a URL too long',
      414,
      `GET /api/genres?a=${'b'.repeat(20_000)} HTTP/1.1\r\n${close}Origin: http://a.example\r\n\r\n`,
    ],
    [
      'an id too long',
      414,
      `GET /api/genres/${'9'.repeat(20_000)} HTTP/1.1\r\n${close}Origin: http://a.example\r\n\r\n`,
    ],
  ])('RQ16: %s is %i, with the headers of every response', async (_what, status, sent) => {
    const text = await raw(sent);
    expect(bodyOf(text)).toEqual(errorOf(status));
    expect(text).toMatch(/access-control-allow-origin: http:\/\/a\.example/i);
    expect(text).toMatch(/x-content-type-options: nosniff/i);
  });

  it.each(['QUERY', 'TRACE', 'PROPFIND', 'LOCK', 'SEARCH', 'M-SEARCH'])('RQ16: %s is 501', async (method) => {
    for (const path of ['/api/genres', '/api/nothing']) {
      const text = await raw(`${method} ${path} HTTP/1.1\r\n${close}\r\n`);
      expect(statuses(text)).toEqual([501]);
      expect(text).toMatch(/\r\n\r\nNot Implemented$/);
    }
  });

  it('RQ16: CONNECT is 501, with the headers of every response', async () => {
    const text = await raw(`CONNECT host.example:443 HTTP/1.1\r\n${close}\r\n`);
    expect(statuses(text)).toEqual([501]);
    expect(text).toMatch(/x-content-type-options: nosniff/i);
    expect(text).toMatch(/\r\n\r\nNot Implemented$/);
  });

  it('RQ16: malformed requests are refused with the security headers', async () => {
    for (const sent of ['GARBAGE\r\n\r\n', `GET / HTTP/1.1\r\nX: ${'a'.repeat(limits.headerBytesMax)}\r\n\r\n`])
      expect(await raw(sent)).toMatch(/x-content-type-options: nosniff/i);
  });

  it('RQ16: requests before a malformed one on the same connection get their whole responses', async () => {
    const large = await raw(`GET /api/films?large HTTP/1.1\r\n${close}\r\n`);
    const socket = net.connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    socket.on('data', (bytes: Buffer) => chunks.push(bytes));
    socket.write('GET /api/films?large HTTP/1.1\r\nHost: x\r\n\r\nGET /api/genres/1 HTTP/1.1\r\nHost: x\r\n\r\nGARB');
    await once(socket, 'data');
    // a second error of the parser is not a second refusal
    socket.write('AGE\r\n\r\n');
    socket.write('GARBAGE\r\n\r\n');
    await once(socket, 'close');
    const text = Buffer.concat(chunks).toString('latin1');
    expect(statuses(text)).toEqual([200, 200, 400]);
    expect(text).toContain(large.slice(large.indexOf('\r\n\r\n')));
    expect(bodyOf(text.slice(text.lastIndexOf('HTTP/1.1 ')))).toEqual(errorOf(400));
  });

  it('RQ16: a URL that is too long is a 414 behind another request, too', async () => {
    const text = await raw(`GET /api/genres/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /api/genres?a=${'b'.repeat(40_000)}`);
    expect(statuses(text)).toEqual([200, 414]);
  });

  it('RQ16: the refusal of a request is not written into the response to it', async () => {
    const socket = net.connect(port, '127.0.0.1');
    socket.write('GET /api/films?large HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{');
    const chunks = (await once(socket, 'data')) as Buffer[];
    socket.on('data', (bytes: Buffer) => chunks.push(bytes)).on('error', () => undefined);
    socket.write('no chunk\r\n');
    await once(socket, 'close');
    expect(statuses(Buffer.concat(chunks).toString('latin1'))).toEqual([200]);
  });

  const post = (lines: readonly string[], body: string | Buffer): Promise<string> =>
    raw(
      `POST /api/auth/local HTTP/1.1\r\n${close}${lines.map((it) => `${it}\r\n`).join('')}Content-Length: ${body.length}\r\n\r\n`,
      body,
    );
  const json = 'Content-Type: application/json';
  it.each([
    ['an encoding that is not supported', [json, 'Content-Encoding: zstd'], '{}', 415],
    ['an encoding that it does not have', [json, 'Content-Encoding: gzip'], '{}', 400],
    ['an encoding that ends too early', [json, 'Content-Encoding: gzip'], zlib.gzipSync('{}').subarray(0, -4), 400],
    ['a media type that is none', ['Content-Type: nonsense'], '{}', 400],
    ['a media type of blanks', ['Content-Type: ;;;'], '{}', 400],
    ['two media types', [json, 'Content-Type: text/plain'], 'x', 400],
    ['bytes that are no UTF-8', [json], Buffer.from('{"identifier":"\xe9"}', 'latin1'), 400],
    ['bytes of another character set', [`${json}; charset=iso-8859-1`], Buffer.from('{"a":"\xe9"}', 'latin1'), 400],
    ['half of a pair of surrogates', [json], Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 400],
  ] as const)('RQ14: a body with %s is refused in the envelope', async (_what, lines, body, status) => {
    const text = await post(lines, body as string);
    expect(bodyOf(text)).toEqual(errorOf(status));
  });

  it('RQ16: a body that is transferred with a coding of its own is a 501', async () => {
    const sent = (coding: string) =>
      raw(
        `POST /api/auth/local HTTP/1.1\r\n${close}${json}\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      );
    expect(statuses(await sent('gzip, chunked'))).toEqual([501]);
    expect(statuses(await sent('Chunked'))).toEqual([403]);
  });

  it('RQ1: the body of a DELETE is ignored, whatever it contains', async () => {
    const said = async (body: string): Promise<unknown> =>
      (
        await injectInto(app, {
          method: 'DELETE',
          url: '/api/genres/1',
          payload: body,
          headers: { 'content-type': 'application/json' },
        })
      ).json();
    expect(await said('{')).toEqual(await said('{}'));
    expect(await said('{')).toEqual(errorOf(403));
  });

  it('RQ14: a UTF-8 body is read whatever charset is declared', async () => {
    const text = await post([`${json}; charset=iso-8859-1`], '{"identifier":"x","password":"y"}');
    // the public role may not log in here
    expect(bodyOf(text)).toEqual(errorOf(403));
  });

  it('RQ14: a body shorter than its Content-Length is a client error', async () => {
    lines.length = 0;
    const socket = net.connect(port, '127.0.0.1');
    socket.end(`POST /api/auth/local HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: 9\r\n\r\n{`);
    socket.resume();
    await once(socket, 'close');
    const chunked = net.connect(port, '127.0.0.1');
    chunked.write(`POST /api/auth/local HTTP/1.1\r\nHost: x\r\n${json}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{`);
    await once(app.server, 'request');
    chunked.destroy();
    await once(chunked, 'close');
    expect((await app.inject('/api/genres/1')).statusCode).toBe(200);
    expect(lines).toEqual([]);
  });

  it('ER1: a client that leaves while its response is compressed is no fault', async () => {
    const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) });
    const open = await newServer({ ...newTestDeps(world.db, world.model, { isModelOpen: true }), logger });
    const closed = new Promise((resolve) => {
      open.addHook('onSend', ({ raw }, reply, payload, done) => {
        reply.raw.once('close', () => setImmediate(resolve, null));
        raw.socket.destroy();
        done(null, payload);
      });
    });
    await open.listen({ host: '127.0.0.1', port: 0 });
    lines.length = 0;
    const socket = net.connect((open.server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
    const body = '{"url":"/api/films?populate=*"}';
    const head = `POST /_dovetail/explain HTTP/1.1\r\nHost: x\r\n${json}\r\nAccept-Encoding: gzip\r\nContent-Length: ${body.length}`;
    socket.write(`${head}\r\n\r\n${body}`);
    await closed;
    await open.close();
    expect(lines).toEqual([]);
  });

  it('AC14: an attempt whose client has left before it is counted is no fault', async () => {
    const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) });
    const counting = await newServer({ ...newTestDeps(world.db, world.model, { attemptsMax: 3 }), logger });
    const answered = new Promise((resolve) => {
      counting.addHook('onSend', async () => resolve(null));
    });
    counting.server.prependListener('request', ({ socket }) => socket.destroy());
    await counting.listen({ host: '127.0.0.1', port: 0 });
    lines.length = 0;
    const socket = net.connect((counting.server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET /api/connect/github HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.on('error', () => undefined);
    await answered;
    await counting.close();
    expect(lines).toEqual([]);
  });
});
