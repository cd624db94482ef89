/**
 * Files below `/uploads` (RQ15): which are served, with which headers, and that none can run code in the API's origin.
 */
import fs from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newServer } from '../../src/http/server.js';
import { newTestDeps } from '../world/server.js';
import { useWorld } from '../world/world.js';

const notFound = { data: null, error: expect.objectContaining({ status: 404, name: 'NotFoundError' }) };

describe('uploads', () => {
  const world = useWorld('sqlite');
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-uploads-'));
  const folder = path.join(dir, 'public/uploads');
  let app: FastifyInstance;
  const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

  beforeAll(async () => {
    // the folder does not exist yet
    app = await newServer(newTestDeps(world.db, world.model, { uploadsDir: folder }));
    await app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await app.close();
    fs.rmSync(dir, { recursive: true });
  });

  const put = (name: string, text = `text of ${name}`): void => {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  };

  it('RQ15: the folder is served by its own name only, which middlewares and proxies may look at', async () => {
    put('named.txt');
    expect((await get('/uploads/named.txt')).statusCode).toBe(200);
    for (const url of ['/Uploads/named.txt', '/UPLOADS/named.txt'])
      expect((await get(url)).json(), url).toEqual(notFound);
  });

  it('RQ15: a folder created after the start is served', async () => {
    expect((await get('/uploads/late.txt')).json()).toEqual(notFound);
    put('late.txt');
    const answer = await get('/uploads/late.txt');
    expect([answer.statusCode, answer.payload]).toEqual([200, 'text of late.txt']);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'public, max-age=0',
      'accept-ranges': 'bytes',
      'last-modified': expect.any(String),
      'x-content-type-options': 'nosniff',
    });
  });

  it.each([
    ...['png', 'jpg', 'JPEG', 'gif', 'webp', 'avif', 'heic', 'bmp', 'tiff', 'ico', 'apng'],
    ...['mp4', 'webm', 'mov', 'mp3', 'ogg', 'wav', 'flac', 'woff', 'woff2', 'ttf', 'otf', 'pdf', 'txt', 'log'],
  ])('RQ15: .%s is displayed', async (ext) => {
    put(`a.${ext}`);
    const { statusCode, headers } = await get(`/uploads/a.${ext}`);
    expect([statusCode, headers['content-disposition']]).toEqual([200, undefined]);
  });

  it.each([
    ...[
      'html',
      'HTM',
      'shtml',
      'xhtml',
      'xht',
      'svg',
      'SVGZ',
      'xml',
      'xsl',
      'xslt',
      'rdf',
      'rss',
      'atom',
      'mml',
      'mathml',
    ],
    ...[
      'xul',
      'dtd',
      'js',
      'mjs',
      'css',
      'json',
      'map',
      'swf',
      'jar',
      'wasm',
      'hta',
      'htc',
      'mht',
      'mhtml',
      'eml',
      'ics',
    ],
    ...[
      'vtt',
      'manifest',
      'appcache',
      'webmanifest',
      'md',
      'csv',
      'zip',
      'exe',
      'unknown',
      'html.',
      'png.html',
      'html%20',
    ],
  ])('RQ15: .%s is downloaded', async (ext) => {
    put(decodeURIComponent(`b.${ext}`));
    const { statusCode, headers } = await get(`/uploads/b.${ext}`);
    expect([statusCode, headers['content-disposition']]).toEqual([200, 'attachment']);
    expect(headers['content-type']).not.toBe(undefined);
  });

  it('RQ15: every file has headers that forbid running code, whatever its type; 304 and 206 too', async () => {
    put('c.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>');
    put('c.png');
    const policies = [];
    for (const url of ['/uploads/c.svg', '/uploads/c.png']) {
      const answer = await get(url);
      const again = await get(url, { 'if-none-match': String(answer.headers['etag']) });
      const part = await get(url, { range: 'bytes=1-3' });
      expect([answer.statusCode, again.statusCode, part.statusCode]).toEqual([200, 304, 206]);
      expect([again.payload, part.payload]).toEqual(['', answer.payload.slice(1, 4)]);
      policies.push(...[answer, again, part].map(({ headers }) => headers['content-security-policy']));
    }
    expect(new Set(policies).size).toBe(1);
    expect(String(policies[0]).split(';')).toEqual(expect.arrayContaining(["default-src 'none'", 'sandbox']));
    expect(policies[0]).not.toMatch(/script|allow-/);
  });

  it('RQ15: ranges and conditions', async () => {
    put('d.bin', '0123456789');
    expect((await get('/uploads/d.bin', { range: 'bytes=-3' })).payload).toBe('789');
    const all = await get('/uploads/d.bin', { range: 'bytes=-11' });
    expect([all.statusCode, all.payload, all.headers['content-range']]).toEqual([206, '0123456789', 'bytes 0-9/10']);
    const beyond = await get('/uploads/d.bin', { range: 'bytes=20-' });
    expect(beyond.json()).toMatchObject({ data: null, error: { status: 416, name: 'RangeNotSatisfiableError' } });
    expect(beyond.headers['content-range']).toBe('bytes */10');
    const other = await get('/uploads/d.bin', { 'if-match': '"other"' });
    expect(other.json()).toMatchObject({ data: null, error: { status: 412, name: 'PreconditionFailedError' } });
  });

  it('RQ15: HEAD has the headers of GET and no body; text is compressed', async () => {
    put('e.txt', 'x'.repeat(10_000));
    put('e.png', 'x'.repeat(10_000));
    const unasked = await get('/uploads/e.txt', { 'accept-encoding': 'gzip;q=0, *' });
    expect(unasked.headers['content-encoding']).toBeUndefined();
    for (const name of ['e.txt', 'e.png']) {
      const headers = { 'accept-encoding': 'gzip' };
      const found = await app.inject({ url: `/uploads/${name}`, headers });
      const head = await app.inject({ method: 'HEAD', url: `/uploads/${name}`, headers });
      expect([found.statusCode, head.statusCode, head.payload]).toEqual([200, 200, '']);
      expect(found.headers['content-encoding']).toBe(name === 'e.txt' ? 'gzip' : undefined);
      // it describes the encoding of a body, and HEAD has none
      const { date: _found, 'x-request-id': _id, 'transfer-encoding': _chunked, ...expected } = found.headers;
      const { date: _head, 'x-request-id': _other, ...heard } = head.headers;
      expect(heard).toEqual(expected);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'] as const)
      expect((await app.inject({ method, url: '/uploads/e.txt' })).statusCode).toBe(405);
  });

  it.each(['f g.txt', 'ümläut-日本.txt', 'a+b&c=d.txt', '100%.txt', 'a?b#c.txt', 'sub/folder/file.txt', 'a;b.txt'])(
    'RQ15: %s is found by its encoded name',
    async (name) => {
      put(name);
      const answer = await get(`/uploads/${name.split('/').map(encodeURIComponent).join('/')}?v=1`);
      expect([answer.statusCode, answer.payload]).toEqual([200, `text of ${name}`]);
    },
  );

  // ---- over a socket: the injector would normalise the paths

  const raw = (target: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = net.connect((app.server.address() as AddressInfo).port, '127.0.0.1');
      let text = '';
      socket.on('data', (bytes: Buffer) => {
        text += bytes.toString('latin1');
      });
      socket.on('error', reject).on('close', () => resolve(text));
      socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    });

  it('RQ15: only visible files inside the folder are served, and no folders', async () => {
    put('g/h.txt', 'inside');
    put('.env', 'secret');
    put('.git/config', 'secret');
    put('../beside.txt', 'secret');
    put('../uploads-too/a.txt', 'secret');
    fs.writeFileSync(path.join(dir, 'outside.txt'), 'secret');
    fs.symlinkSync(path.join(dir, 'outside.txt'), path.join(folder, 'link.txt'));
    fs.symlinkSync(dir, path.join(folder, 'link'));
    fs.symlinkSync('../uploads-too', path.join(folder, 'near'));
    fs.symlinkSync('.env', path.join(folder, 'hidden.txt'));
    fs.symlinkSync('circle', path.join(folder, 'circle'));
    fs.symlinkSync('g/h.txt', path.join(folder, 'inside.txt'));
    expect(await raw('/uploads/inside.txt')).toMatch(/^HTTP\/1\.1 200 .*inside$/s);
    for (const target of [
      ...['', 'g', 'g/', 'g/h.txt/', 'g//h.txt', './g/h.txt', 'g/./h.txt', 'nothing.txt', 'g/h.txt/x'],
      ...['../beside.txt', '..%2fbeside.txt', '%2e%2e/beside.txt', 'g/../h.txt', 'g/../../beside.txt', '..'],
      ...['g%2Fh.txt', 'g%5Ch.txt', 'g\\h.txt', '..\\beside.txt', '%252e%252e/beside.txt', '....//beside.txt'],
      ...['.env', '%2eenv', '.git/config', '../uploads-too/a.txt', '/etc/passwd', '%2Fetc%2Fpasswd'],
      ...['link.txt', 'link/outside.txt', 'link', 'near/a.txt', 'hidden.txt', 'circle', 'x'.repeat(300)],
    ]) {
      const text = await raw(`/uploads/${target}`);
      expect([target, text.slice(0, 12)]).toEqual([target, 'HTTP/1.1 404']);
      expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))).toEqual(notFound);
    }
    // RQ2: paths that cannot be decoded
    for (const target of ['a%00.txt', '%', 'a%zz'])
      expect((await raw(`/uploads/${target}`)).slice(0, 12)).toBe('HTTP/1.1 400');
  });

  it('RQ15: a folder that is itself a symbolic link is served', async () => {
    const linked = path.join(dir, 'linked');
    fs.symlinkSync(folder, linked);
    put('i.txt');
    const other = await newServer(newTestDeps(world.db, world.model, { uploadsDir: linked }));
    expect((await other.inject('/uploads/i.txt')).payload).toBe('text of i.txt');
    await other.close();
  });
});
