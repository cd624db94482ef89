/** The HTTP layers: routes, methods, headers, entity tags, compression (RQ4, ER1, RQ8, RQ3, RQ7). */
import http from 'node:http';
import zlib from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newServer } from '../../src/http/server.js';
import { newTestDeps, refusal } from '../world/server.js';
import { dialects, type Entry, useWorld } from '../world/world.js';

const notFound = refusal(404, 'NotFoundError', 'Not Found', { code: 'http.not-found' });
const origin = 'https://site.example';

/** Security headers of RQ8, on every response. */
const security = {
  'content-security-policy':
    "connect-src 'self' https:;img-src 'self' data: blob:;media-src 'self' data: blob:;default-src 'self';base-uri 'self';font-src 'self' https: data:;form-action 'self';frame-ancestors 'self';object-src 'none';script-src 'self';script-src-attr 'none';style-src 'self' https: 'unsafe-inline'",
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
};

interface Heard {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

/** Over a real socket: the injector shows bodies that are never transmitted. */
const hear = (base: string, method: string, path: string, headers: Record<string, string> = {}): Promise<Heard> =>
  new Promise((resolve, reject) => {
    http
      .request(base + path, { method, headers: { connection: 'close', ...headers } }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () =>
          resolve({ status: answer.statusCode, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
        );
      })
      .on('error', reject)
      .end();
  });

describe.each(dialects)('http on %s', (dialect) => {
  const world = useWorld(dialect);
  let app: FastifyInstance;
  let base: string;
  beforeAll(async () => {
    app = await newServer(newTestDeps(world.db, world.model));
    base = await app.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => app.close());

  describe('paths (RQ1)', () => {
    it.each([
      '/api/films',
      '/API/FILMS',
      '/Api/Films',
      '/api/films/',
      '/api/films?',
      '/api/films/?fields=id',
      '/api/%66ilms',
    ])('%s is the list', async (url) => {
      const { status, body } = await world.get(url);
      expect(status).toBe(200);
      expect((body as { data: readonly Entry[] }).data.map((it) => it.id)).toEqual([1, 2, 3, 4, 5, 7, 8]);
    });

    it.each(['/api/films/1', '/api/films/1/', '/API/Films/1'])('%s is the entry', async (url) => {
      expect((await world.read<Entry>(url)).data.id).toBe(1);
    });

    it.each(['/api/house-rules', '/api/House-Rules/'])('%s is the single type', async (url) => {
      expect((await world.read<Entry>(url)).data.id).toBe(1);
    });

    it.each([
      '/api',
      '/api/',
      '/',
      '/api/nothing',
      '/api/film',
      '/api/house-rules-pages',
      '/api/house-rules/1',
      '/api/lobbies',
      '/api//films',
      '/api/films//',
      '/api/films//1',
      '/api/films/1/2',
      '/api/parts.fact',
      '/api/files',
      '/films',
      '/__proto__',
      '/api/__proto__',
      '/api/constructor',
    ])('%s is 404 as JSON', async (url) => {
      // the injector would read a leading // as a host
      const answer = await world.get(url);
      expect(answer.body).toEqual(notFound);
      expect(answer.status).toBe(404);
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    });

    it.each([
      'abc',
      '0',
      '-1',
      '01',
      '+1',
      '%2B1',
      '1%20',
      '%201',
      '1.5',
      '1.0',
      '1e0',
      '0x1',
      '1;',
      '1;drop',
      '1,2',
      '%C2%B2',
      '999',
      '2147483647',
      '2147483648',
      '99999999999999999999',
      '__proto__',
      'null',
      '1%2F2',
    ])('RQ3: the id %s is 404', async (id) => {
      const answer = await world.get(`/api/films/${id}`);
      expect(answer.status).toBe(404);
      expect(answer.body).toEqual(notFound);
    });

    it.each([101, 5000])('RQ3: an id of %i digits is 404', async (length) => {
      expect((await world.get(`/api/films/${'9'.repeat(length)}`)).body).toEqual(notFound);
    });

    it.each(['/api/films/%', '/api/films/%zz', '/api/%E0%A4%A', '/%', '/api/films/%00', '/%00'])(
      'RQ2: %s cannot be decoded and is 400',
      async (url) => {
        expect((await world.get(url)).body).toEqual(
          refusal(400, 'BadRequestError', expect.any(String), { code: 'http.malformed-path' }),
        );
      },
    );
  });

  describe('methods (RQ4)', () => {
    it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('%s on an unknown path is 404 as JSON', async (method) => {
      for (const url of ['/api/nothing', '/nothing', '/api'])
        expect((await world.server.send(method, url, { body: {} })).body).toEqual(notFound);
    });

    it.each([
      ['PATCH', '/api/films'],
      ['PUT', '/api/films'],
      ['DELETE', '/api/films'],
      ['PATCH', '/api/films/1'],
      ['POST', '/api/films/1'],
      ['PATCH', '/api/house-rules'],
      ['POST', '/api/house-rules'],
    ])('%s %s is 405 with Allow', async (method, url) => {
      const answer = await world.server.send(method, url, { body: { data: {} } });
      expect(answer.body).toEqual(refusal(405, 'MethodNotAllowedError', 'Method Not Allowed', { code: 'http.method' }));
      expect(answer.status).toBe(405);
      const allowed = String(answer.headers['allow']).split(', ');
      expect(allowed).toEqual(expect.arrayContaining(['HEAD', 'GET']));
      expect(allowed).not.toContain(method);
    });

    it.each([
      '/api/films',
      '/api/films/1?populate=*',
      '/api/films/999',
      '/api/donors',
      '/api/nothing',
      '/api/films?fields=nope',
    ])('RQ5: HEAD %s has the status and headers of GET, and no body', async (url) => {
      for (const extra of [{}, { 'accept-encoding': 'gzip' }, { 'accept-encoding': 'br', 'if-none-match': '*' }]) {
        const get = await hear(base, 'GET', url, { origin, ...extra });
        const head = await hear(base, 'HEAD', url, { origin, ...extra });
        expect(head.status).toBe(get.status);
        expect(get.text === '').toBe(get.status === 304);
        expect(head.text).toBe('');
        const { date: _get, 'x-request-id': _getId, ...expected } = get.headers;
        const { date: _head, 'x-request-id': _headId, ...found } = head.headers;
        expect(found).toEqual(expected);
        const varies = String(get.headers.vary).toLowerCase().split(', ').sort();
        expect(varies).toEqual(['accept-encoding', 'origin', 'strapi-response-format']);
        if (get.status === 304) expect(head.headers).not.toHaveProperty('content-length');
      }
    });

    it.each([
      ['/api/films', 'HEAD, GET'],
      ['/api/films/1', 'HEAD, GET'],
      ['/api/house-rules', 'HEAD, GET'],
      ['/api/donors', 'HEAD, GET'],
      ['/api/nothing', 'HEAD, GET'],
    ])('OPTIONS %s without preflight headers is 200, empty, with Allow', async (url, begins) => {
      const answer = await world.server.send('OPTIONS', url);
      expect(answer.status).toBe(200);
      expect(answer.text).toBe('');
      expect(String(answer.headers['allow']).startsWith(begins)).toBe(true);
    });

    it.each(['/api/films', '/api/films/1', '/api/donors', '/api/nothing'])(
      'RQ7: a preflight for %s is 204 with the allowed methods and headers',
      async (url) => {
        const answer = await world.server.send('OPTIONS', url, {
          headers: {
            origin,
            'access-control-request-method': 'PUT',
            'access-control-request-headers': 'authorization',
          },
        });
        expect(answer.status).toBe(204);
        expect(answer.text).toBe('');
        const words = (name: string): readonly string[] => String(answer.headers[name]).split(/, ?/);
        expect(words('access-control-allow-methods')).toEqual([
          'GET',
          'POST',
          'PUT',
          'PATCH',
          'DELETE',
          'HEAD',
          'OPTIONS',
        ]);
        expect(words('access-control-allow-headers')).toEqual([
          'Content-Type',
          'Authorization',
          'Origin',
          'Accept',
          'Accept-Language',
          'If-Match',
          'If-None-Match',
          'If-Unmodified-Since',
          'X-Requested-With',
          'Strapi-Response-Format',
          'X-Request-Id',
        ]);
        expect(answer.headers).toMatchObject({
          'access-control-allow-origin': origin,
          'access-control-allow-credentials': 'true',
          'access-control-max-age': '31536000',
        });
      },
    );

    it('RQ7: without Origin it is not a preflight', async () => {
      const headers = { 'access-control-request-method': 'PUT' };
      for (const url of ['/api/films', '/api/nothing']) {
        const answer = await world.server.send('OPTIONS', url, { headers });
        expect(answer).toMatchObject({ status: 200, text: '' });
        expect(answer.headers['allow']).toMatch(/^HEAD, GET/);
      }
    });

    it.each(['POST', 'PUT', 'PATCH'])('RQ14: %s with broken JSON is 400 on any path', async (method) => {
      for (const url of ['/api/nothing', '/nothing', '/api/donors', '/api/films', '/api/films/1']) {
        const answer = await world.server.send(method, url, { body: '{"data":' });
        expect([url, answer.status]).toEqual([url, 400]);
        expect(answer.body).toMatchObject({ error: { message: 'The body is not valid JSON' } });
      }
    });

    it('X-HTTP-Method-Override is ignored', async () => {
      expect((await world.get('/api/films/1', { 'x-http-method-override': 'DELETE' })).status).toBe(200);
    });

    it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
      'RQ6: %s /_health is 204 without a body',
      async (method) => {
        const answer = await world.server.send(method, '/_health');
        expect(answer.status).toBe(204);
        expect(answer.text).toBe('');
        expect(answer.headers['strapi']).toBe('You are so French!');
      },
    );
  });

  describe('headers (RQ8)', () => {
    const everywhere = [
      '/api/films',
      '/api/films/999',
      '/api/nothing',
      '/api/donors',
      '/api/films?fields=nope',
      '/_health',
    ];

    it.each(everywhere)('security headers on %s', async (url) => {
      expect((await world.get(url)).headers).toMatchObject({
        ...security,
        'content-security-policy': expect.stringContaining("default-src 'self'"),
      });
    });

    it('the content security policy has the directives of RQ8', async () => {
      const parse = (policy: string): readonly string[] => policy.split(';').sort();
      const { headers } = await world.get('/api/films');
      expect(parse(String(headers['content-security-policy']))).toEqual(parse(security['content-security-policy']));
    });

    it.each(everywhere)('CORS headers on %s', async (url) => {
      const { headers } = await world.get(url, { origin });
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
      });
      expect(String(headers['vary']).toLowerCase()).toContain('origin');
    });

    it('CORS headers on 401 and 405 too', async () => {
      const refused = await world.get('/api/films', { origin, authorization: 'Bearer nonsense' });
      expect(refused.status).toBe(401);
      expect(refused.headers['access-control-allow-origin']).toBe(origin);
      const wrong = await world.server.send('PATCH', '/api/films', { headers: { origin } });
      expect(wrong.status).toBe(405);
      expect(wrong.headers['access-control-allow-origin']).toBe(origin);
    });

    it.each([
      ['414', `/api/films?x=${'x'.repeat(20_000)}`],
      ['400 of the path', '/api/films/%'],
    ])('CORS and security headers on a %s', async (_what, url) => {
      const { headers } = await world.get(url, { origin });
      expect(headers).toMatchObject({ 'access-control-allow-origin': origin, 'x-content-type-options': 'nosniff' });
    });

    it('CORS and security headers on the response to OPTIONS', async () => {
      const { headers } = await world.server.send('OPTIONS', '/api/films', { headers: { origin } });
      expect(headers).toMatchObject({ 'access-control-allow-origin': origin, 'x-content-type-options': 'nosniff' });
    });

    it('RQ7: without Origin there is no allow-origin header', async () => {
      for (const url of everywhere)
        expect((await world.get(url)).headers).not.toHaveProperty('access-control-allow-origin');
    });

    it('no response sets a cookie or names the software', async () => {
      const { headers } = await world.get('/api/films');
      expect(headers).not.toHaveProperty('set-cookie');
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('server');
    });

    it('RQ17: responses are JSON in UTF-8, whatever Accept says', async () => {
      for (const accept of ['text/html', 'application/xml', '*/*', 'nonsense']) {
        const { status, headers } = await world.get('/api/films', { accept });
        expect(status).toBe(200);
        expect(headers['content-type']).toBe('application/json; charset=utf-8');
      }
    });
  });

  describe('entity tags (RQ9)', () => {
    it('F8: the entity tag of an entry contains its version, unless the time of the last change is private', async () => {
      const tagOf = async (url: string): Promise<string> => String((await world.get(url)).headers['etag']);
      expect(await tagOf('/api/films/1')).toMatch(/^W\/"[0-9a-z]+\.[0-9a-v]{13}"$/);
      expect(await tagOf('/api/people/1')).toMatch(/^W\/"[0-9a-v]{13}"$/);
    });

    it('equal responses have equal tags, different responses different ones', async () => {
      const one = await world.get('/api/films/1');
      const again = await world.get('/api/films/1?');
      const two = await world.get('/api/films/2');
      expect(one.headers['etag']).toMatch(/^(W\/)?"[^"]+"$/);
      expect(again.headers['etag']).toBe(one.headers['etag']);
      expect(two.headers['etag']).not.toBe(one.headers['etag']);
    });

    it('If-None-Match with the tag is 304 without a body; with another tag it is the full response', async () => {
      const { headers, text } = await world.get('/api/films?populate=director');
      const tag = String(headers['etag']);
      const lists = [tag, `"other", ${tag}`, `"a,b",${tag},`, tag.replace('W/', ''), '*', ' * '];
      for (const given of lists) {
        const answer = await world.get('/api/films?populate=director', { 'if-none-match': given });
        expect(answer.status).toBe(304);
        expect(answer.text).toBe('');
        expect(answer.headers['etag']).toBe(tag);
      }
      const inside = tag.replace('W/"', '"x,');
      for (const given of ['"other"', '', ',', '"*"', tag.slice(0, -1), tag.replaceAll('"', ''), inside]) {
        const other = await world.get('/api/films?populate=director', { 'if-none-match': given });
        expect([given, other.status]).toEqual([given, 200]);
        expect(other.text).toBe(text);
      }
    });

    it('errors have no tag', async () => {
      expect((await world.get('/api/films/999')).headers).not.toHaveProperty('etag');
      expect((await world.get('/api/films?fields=nope')).headers).not.toHaveProperty('etag');
    });
  });

  describe('compression (RQ9)', () => {
    const ask = (url: string, encoding: string) => app.inject({ url, headers: { 'accept-encoding': encoding } });

    it.each([
      ['gzip', 'gzip', zlib.gunzipSync],
      ['br', 'br', zlib.brotliDecompressSync],
      ['gzip, br', 'br', zlib.brotliDecompressSync],
      ['gzip;q=1, deflate', 'gzip', zlib.gunzipSync],
    ] as const)('Accept-Encoding: %s is answered with %s', async (accept, encoding, unpack) => {
      const plain = await ask('/api/films?populate=*', 'identity');
      expect(plain.headers['content-encoding']).toBeUndefined();
      const packed = await ask('/api/films?populate=*', accept);
      expect(packed.headers['content-encoding']).toBe(encoding);
      expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2);
      expect(unpack(packed.rawPayload).toString()).toBe(plain.payload);
      expect(String(packed.headers['vary']).toLowerCase()).toContain('accept-encoding');
    });

    it('short responses are not compressed', async () => {
      const answer = await ask('/api/films/1?fields=title', 'gzip, br');
      expect(answer.headers['content-encoding']).toBeUndefined();
      expect(answer.json()).toEqual({ data: { id: 1, attributes: { title: 'Éclair' } }, meta: {} });
    });

    it.each(['zstd-of-the-future', 'gzip;q=0, *', '*, x-gzip;q=0'])(
      'Accept-Encoding: %s is answered uncompressed',
      async (accept) => {
        const answer = await ask('/api/films?populate=*', accept);
        expect(answer.statusCode).toBe(200);
        expect(answer.headers['content-encoding']).toBeUndefined();
      },
    );

    it('a compressed response is revalidated by its tag', async () => {
      const { headers } = await ask('/api/films?populate=*', 'gzip');
      const answer = await app.inject({
        url: '/api/films?populate=*',
        headers: { 'accept-encoding': 'gzip', 'if-none-match': String(headers['etag']) },
      });
      expect(answer.statusCode).toBe(304);
      expect(answer.payload).toBe('');
    });
  });
});

describe.each(dialects)('http settings on %s', (dialect) => {
  const world = useWorld(dialect, { settings: { prefix: '/content/v1', corsOrigin: ['https://one.example'] } });

  it('RQ1: the configured prefix is used', async () => {
    expect((await world.read<Entry>('/content/v1/films/1')).data.id).toBe(1);
    expect((await world.get('/api/films')).status).toBe(404);
  });

  it('RQ7: an origin that is not listed gets the response without an allow-origin header', async () => {
    const listed = await world.get('/content/v1/films', { origin: 'https://one.example' });
    expect(listed.headers['access-control-allow-origin']).toBe('https://one.example');
    const other = await world.get('/content/v1/films', { origin: 'https://two.example' });
    expect(other.status).toBe(200);
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });
});
