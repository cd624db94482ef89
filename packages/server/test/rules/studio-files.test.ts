/** SU6: the Studio's pages, over HTTP. */
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { defaultConfig } from '../../src/cli/config.js';
import { serverSettingsOf } from '../../src/cli/site.js';
import type { ServerSettings } from '../../src/http/server.js';
import { newFolder } from '../world/folders.js';
import { openedForTests } from '../world/opening.js';
import { newTestServer, refusal, type TestAnswer, type TestServer } from '../world/server.js';
import { newSmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

const dir = newFolder();
afterAll(() => fs.rmSync(dir, { recursive: true }));
const script = `console.log(${JSON.stringify('a'.repeat(4000))});`;
const page = `<!doctype html><html><head><base href="/studio/"><meta property="csp-nonce" nonce="__CSP_NONCE__">
<script type="module" src="./assets/index-1.js" nonce="__CSP_NONCE__"></script></head><body></body></html>`;
for (const [name, text] of Object.entries({
  'index.html': page,
  'assets/index-1.js': script,
  'assets/index-1.js.map': '{}',
  'favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  '.hidden.js': 'secret',
  'assets/index-2.js.br': zlib.brotliCompressSync(`${script}${script}`),
  'assets/cut.js.br': zlib.brotliCompressSync(script).subarray(0, -4),
  'assets/beside.js.br': 'no brotli',
  'assets/beside.js': script,
})) {
  fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
  fs.writeFileSync(path.join(dir, name), text);
}
fs.writeFileSync(path.join(dir, '../outside.js'), 'secret');
afterAll(() => fs.rmSync(path.join(dir, '../outside.js')));

const studio = { dir, basePath: '', mediaOrigins: [] };
const notFound = refusal(404, 'NotFoundError', 'Not Found');
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

/** By directive. */
const policyOf = ({ headers }: TestAnswer): Readonly<Record<string, string>> =>
  Object.fromEntries(
    String(headers['content-security-policy'])
      .split(';')
      .map((it) => [it.split(' ')[0]!, it.split(' ').slice(1).join(' ')]),
  );

describe.each(dialects)('SU6 on %s', (dialect) => {
  const world = openedForTests(() =>
    newSmallWorld(dialect, {
      types: {
        note: { attributes: { text: { type: 'string' } } },
        studio: { attributes: { text: { type: 'string' } } },
      },
    }),
  );
  const servers: TestServer[] = [];
  afterAll(() => Promise.all(servers.map((it) => it.close())));
  const serverWith = async (settings: Partial<ServerSettings>): Promise<TestServer> => {
    const server = await newTestServer(world.db, world.model, settings, undefined, { mode: 'open' });
    servers.push(server);
    return server;
  };

  it('SU6 every address of the Studio is the page, with a nonce of its own', async () => {
    const server = await serverWith({ studio });
    const first = await server.get('/studio');
    expect([first.status, first.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const [, nonce = ''] = /csp-nonce" nonce="([^"]+)"/.exec(first.text) ?? [];
    expect(nonce).toMatch(/^[\w+/]{22}==$/);
    expect(first.text).toBe(page.replaceAll('__CSP_NONCE__', nonce));
    for (const url of ['/studio/', '/studio/ask?type=articles&q=a.b', '/studio/content/articles/5', '/STUDIO/map']) {
      const { status, text } = await server.get(url);
      expect([url, status, text.includes('<base href="/studio/">')]).toEqual([url, 200, true]);
      expect(text).not.toContain(nonce);
    }
  });

  it('SU6 its policy has no inline script, no frame and no other origin but that of uploads', async () => {
    const server = await serverWith({ studio: { ...studio, mediaOrigins: ['http://127.0.0.1:9000'] } });
    const answer = await server.get('/studio/map');
    const [, nonce = ''] = /csp-nonce" nonce="([^"]+)"/.exec(answer.text) ?? [];
    const media = "'self' data: blob: https: http://127.0.0.1:9000";
    expect(policyOf(answer)).toEqual({
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': `'self' 'nonce-${nonce}'`,
      'img-src': media,
      'media-src': media,
      'font-src': "'self'",
      'connect-src': "'self'",
      'worker-src': "'self'",
      'manifest-src': "'self'",
      'base-uri': "'self'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    });
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
    });
  });

  it('SU6 files named by their content are kept for ever, others are asked for again', async () => {
    const server = await serverWith({ studio });
    const asset = await server.get('/studio/assets/index-1.js');
    expect([asset.status, asset.text]).toEqual([200, script]);
    expect(asset.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    const icon = await server.get('/studio/favicon.svg');
    expect(icon.headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' });
    const again = await server.get('/studio/favicon.svg', { 'if-none-match': String(icon.headers['etag']) });
    expect([again.status, again.text]).toEqual([304, '']);
    const head = await server.send('HEAD', '/studio/assets/index-1.js');
    expect([head.status, head.text, head.headers['etag']]).toEqual([200, '', asset.headers['etag']]);
  });

  it('SU6 files are sent compressed', async () => {
    const app = await serverWith({ studio });
    const { headers } = await app.get('/studio/assets/index-1.js', { 'accept-encoding': 'br, gzip' });
    expect(headers['content-encoding']).toBe('br');
    expect(Number(headers['content-length'])).toBeLessThan(zlib.gzipSync(script).length + 1);
    expect(headers['vary']).toContain('accept-encoding');
  });

  it('SU6 a file that the build has compressed is sent as it is, and to others as they ask for it', async () => {
    const app = await serverWith({ studio });
    const compressed = fs.statSync(path.join(dir, 'assets/index-2.js.br')).size;
    const sent = new Map<string, string>();
    for (const encoding of ['br', 'gzip', 'identity']) {
      const answer = await app.get('/studio/assets/index-2.js', { 'accept-encoding': encoding });
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        vary: expect.stringContaining('accept-encoding'),
      });
      expect(answer.headers['content-encoding'] ?? 'identity').toBe(encoding);
      if (encoding === 'br') expect(Number(answer.headers['content-length'])).toBe(compressed);
      if (encoding === 'identity') expect(answer.text).toBe(script + script);
      sent.set(encoding, String(answer.headers['etag']));
    }
    expect(new Set(sent.values()).size).toBe(1);
  });

  it.each(['br', 'gzip', 'identity'])('SU6 a damaged compressed file is not there, for %s', async (encoding) => {
    const app = await serverWith({ studio });
    const ask = (name: string) => app.get(`/studio/assets/${name}`, { 'accept-encoding': encoding });
    expect((await ask('cut.js')).status).toBe(404);
    const beside = await ask('beside.js');
    expect(beside.status).toBe(200);
    if (encoding === 'identity') expect(beside.text).toBe(script);
  });

  it.each([
    '/studio/assets/index-3.js',
    '/studio/assets/index-2.js.br',
    '/studio/assets/index-1.js.map',
    '/studio/.hidden.js',
    '/studio/../outside.js',
    '/studio/%2e%2e/outside.js',
    '/studio/..%2foutside.js',
    '/studio/assets%2findex-1.js',
    '/studio/index.html',
    '/studio/assets/../../outside.js',
  ])('SU6 %s is not there', async (url) => {
    const server = await serverWith({ studio });
    const { status, text } = await server.get(url);
    expect([status, text.includes('secret')]).toEqual([404, false]);
  });

  it('SU6 browsers that ask for / are sent there, other programs are not', async () => {
    const server = await serverWith({ studio });
    const { status, headers } = await server.get('/', browser);
    expect([status, headers['location']]).toEqual([302, '/studio']);
    expect(headers['vary']).toContain('accept');
    for (const accept of ['application/json', '*/*'])
      expect((await server.get('/', { accept })).body).toEqual(notFound);
    expect((await server.send('POST', '/studio')).status).toBe(405);
  });

  it('SU6 below the path of server.url links begin with that path', async () => {
    const server = await serverWith({ studio: { ...studio, basePath: '/cms' } });
    expect((await server.get('/', browser)).headers['location']).toBe('/cms/studio');
    expect((await server.get('/studio/map')).text).toContain('<base href="/cms/studio/">');
  });

  it('SU6 content types of that name keep their paths', async () => {
    const server = await serverWith({ studio });
    for (const url of ['/api/studios', '/api/notes']) {
      const { status, body } = await server.get(url);
      expect([status, body]).toMatchObject([200, { data: [] }]);
    }
    const own = await serverWith({ studio, prefix: '/studio' });
    expect((await own.get('/studio/notes')).body).toMatchObject({ data: [] });
  });

  it('SU6 without its files, and without the setting, nothing is there', async () => {
    for (const given of [null, { ...studio, dir: path.join(dir, 'none') }]) {
      const server = await serverWith({ studio: given });
      for (const url of ['/studio', '/studio/map', '/studio/assets/index-1.js', '/'])
        expect([url, (await server.get(url, browser)).body]).toEqual([url, notFound]);
    }
  });
});

describe('SU6 the configuration', () => {
  const settingsOf = (
    config: { readonly studio?: boolean; readonly url?: string; readonly prefix?: string },
    NODE_ENV?: string,
  ): Pick<ServerSettings, 'studio' | 'isModelOpen'> => {
    const given = defaultConfig(dir);
    const { studio: isOn, url = null, prefix = '/api' } = config;
    return serverSettingsOf({
      dir,
      config: {
        ...given,
        studio: isOn,
        server: { ...given.server, url },
        api: { ...given.api, rest: { ...given.api.rest, prefix } },
      },
      env: { NODE_ENV },
      code: [],
      warnings: [],
      v4: { settings: [] },
    } as never);
  };
  const there = expect.objectContaining({ basePath: '' });

  it.each([
    [{}, undefined, there, true],
    [{}, 'development', there, true],
    [{}, 'production', null, false],
    [{ studio: true }, 'production', there, false],
    [{ studio: false }, 'development', null, false],
    [{ url: 'https://example.org/cms/' }, undefined, expect.objectContaining({ basePath: '/cms' }), true],
    [{ prefix: '/studio' }, undefined, null, true],
    [{ prefix: '/Studio/v1' }, undefined, null, true],
    [{ prefix: '/studios' }, undefined, there, true],
  ])('SU6 %j with NODE_ENV %s', (config, env, expected, isModelOpen) => {
    expect(settingsOf(config, env)).toMatchObject({ studio: expected, isModelOpen });
  });
});
