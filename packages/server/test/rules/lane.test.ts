/**
 * Reads of content that skip the framework are answered as the framework answers them: several hundred requests, byte by
 * byte over a socket, to two servers of one site (RQ1, RQ3, RQ4, RQ7, RQ8, RQ16, ER1).
 */
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { busy } from '../../src/errors.js';
import { newServer } from '../../src/http/server.js';
import type { Db } from '../../src/sql/dialect.js';
import { allowing, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { type Ask, bytesOf, exchange, expectEqual, last, madeId, type Pair, send, startBoth } from '../world/lanes.js';
import { newTestDeps, type TestSettings } from '../world/server.js';
import { dialects, useWorld } from '../world/world.js';

// ---- requests

/** As clients write them. */
const plainUrls = [
  '/api/films',
  '/api/films?',
  '/api/films?fields=title&pagination[pageSize]=1',
  '/api/films?populate=*',
  '/api/films?populate[0]=director&populate[1]=genres&sort=title:desc',
  '/api/films?filters[title][$contains]=%C3%A9',
  '/api/films?pagination[pageSize]=100&publicationState=preview&populate=*',
  '/api/films?fields=id',
  '/api/films/1',
  '/api/films/1?populate=*',
  '/api/films/6',
  '/api/films/999',
  '/api/house-rules',
  '/api/house-rules?populate=*',
  '/api/closure',
  '/api/notices',
  '/api/notices?locale=all',
  '/api/reels?populate=*',
  // refused
  '/api/films?filters[nope]=1',
  '/api/films?populate[nope]=*',
  '/api/films?pagination[page]=0',
  `/api/films?${Array.from({ length: 12 }, (_, i) => `filters[nope${i}]=1`).join('&')}`,
  '/api/films?sort=%00',
  '/api/donors',
  '/api/donors/1',
];

/** Spelled in another way, or of no content type. */
const otherUrls = [
  '/api/films/',
  '/API/FILMS',
  '/api/%66ilms',
  '/api/films/%31',
  '/api/films/1/',
  '/api/films/01',
  '/api/films/0',
  '/api/films/abc',
  '/api/films/2147483648',
  '/api/films?fields=id#fragment',
  '/api/films/1#x?y',
  '/api/films/1;x',
  '/api//films',
  '/api/house-rules/1',
  '/api/nothing',
  '/api/%zz',
  '/',
  'http://elsewhere.example/api/films?fields=title',
  '*',
  `/api/films?${'x'.repeat(17_000)}`,
];

const urls = [...plainUrls, ...otherUrls];

const headerSets: readonly (readonly string[])[] = [
  [],
  ...[
    'br',
    'gzip',
    'gzip, deflate, br',
    'deflate',
    'identity',
    '*',
    'x-gzip',
    'GZIP',
    'br;q=0.5, gzip',
    'gzip;q=0, *',
    'zstd',
    '',
  ].map((it) => [`Accept-Encoding: ${it}`]),
  ['Accept-Encoding: br;q=0, *', 'X-No-Compression: 1'],
  ['Accept-Encoding: br', 'Accept-Encoding: gzip'],
  ['Origin: https://site.example'],
  ['Origin: https://other.example', 'Accept-Encoding: br'],
  ['Origin: '],
  ['Origin: https://site.example', 'Access-Control-Request-Method: GET'],
  ['If-None-Match: *'],
  ['If-None-Match: "x", W/"y"'],
  ['Authorization: Bearer nobody'],
  ['Authorization: Basic eDp5'],
  ['Content-Length: 0'],
  ['Connection: keep-alive'],
  ['Connection: close'],
  ['Connection: Upgrade, close', 'Upgrade: websocket'],
  ['Expect: 100-continue'],
  ['Expect: the unexpected'],
  ['Range: bytes=0-9', 'If-Match: "x"', 'If-Modified-Since: Sat, 01 Jan 2050 00:00:00 GMT'],
  ['Host: a.example', 'Host: b.example'],
];

const fewHeaderSets = [[], ['Accept-Encoding: br'], ['If-None-Match: *'], ['Origin: https://site.example']];

const asks: readonly Ask[] = [
  ...plainUrls.flatMap((url) => headerSets.map((headers): Ask => ({ method: 'GET', url, headers }))),
  ...otherUrls.flatMap((url) => fewHeaderSets.map((headers): Ask => ({ method: 'GET', url, headers }))),
  ...urls.flatMap((url) => fewHeaderSets.map((headers): Ask => ({ method: 'HEAD', url, headers }))),
  ...urls.flatMap((url) => ['OPTIONS', 'PATCH', 'PROPFIND'].map((method): Ask => ({ method, url, headers: [] }))),
  ...['/api/films', '/api/films/1'].flatMap((url): readonly Ask[] => [
    { method: 'POST', url, headers: ['Content-Length: 2'], body: '{}' },
    { method: 'GET', url, headers: ['Content-Length: 2', 'Content-Type: application/json'], body: '{}' },
    { method: 'GET', url, headers: ['Transfer-Encoding: chunked'], body: '2\r\n{}\r\n0\r\n\r\n' },
    { method: 'GET', url, headers: ['Content-Length: 2', 'Content-Encoding: gzip'], body: '{}' },
    { method: 'GET', url, headers: [], version: '1.0' },
    { method: 'GET', url, headers: ['Connection: keep-alive'], version: '1.0' },
    {
      method: 'OPTIONS',
      url,
      headers: ['Origin: https://site.example', 'Access-Control-Request-Method: GET'],
    },
  ]),
];

// ---- the two servers

/** Fails reads as long as it has a fault. */
const faulty = (db: Db): { db: Db; fault: Error | null } => {
  const state: { db: Db; fault: Error | null } = { db, fault: null };
  state.db = {
    ...db,
    read: (program) => (state.fault ? Promise.reject(state.fault) : db.read(program)),
  };
  return state;
};

/** Requests that go over one connection; each that ends its connection is the last of its group. */
const groupsOf = (all: readonly Ask[], size: number): readonly (readonly Ask[])[] => {
  const groups: Ask[][] = [[]];
  for (const ask of all) {
    const group = groups.at(-1)!;
    group.push(ask);
    if (group.length === size || ask.version || ask.headers.some((it) => /^(connection|expect)/i.test(it)))
      groups.push([]);
  }
  return groups.filter((it) => it.length > 0);
};

describe.each(dialects)('reads without the framework on %s', (dialect) => {
  const world = useWorld(dialect);

  describe.each([
    ['with kept answers', {}, undefined],
    ['without kept answers', {}, 0],
    ['for few origins, lenient', { corsOrigin: ['https://site.example'], strict: false }, undefined],
  ] as const)('%s', (title, settings, cacheBytes) => {
    let pair: Pair;
    beforeAll(async () => {
      pair = await startBoth(world, settings, cacheBytes);
    });
    afterAll(() => pair.close());

    it(`${asks.length} requests have the same status, headers in order, and body`, async () => {
      for (const group of groupsOf(asks, title === 'with kept answers' ? 1 : 8)) await expectEqual(pair, ...group);
    });

    it('a client that has the answer gets 304, and one that has another gets the answer (RQ8)', async () => {
      for (const url of plainUrls) {
        const [first] = await send(pair.short, { method: 'GET', url, headers: [] });
        const tag = first?.head.find((it) => it.startsWith('etag: '))?.slice('etag: '.length) ?? '"none"';
        const conditional = ['GET', 'HEAD'].flatMap((method) =>
          [tag, tag.replace('W/', ''), `"a", ${tag}`, `${tag}x`].map(
            (known): Ask => ({ method, url, headers: [`If-None-Match: ${known}`, 'Accept-Encoding: gzip'] }),
          ),
        );
        await expectEqual(pair, ...conditional);
      }
    });
  });

  it('errors of the database and of ours become the same envelopes, and are logged alike', async () => {
    const state = faulty(world.db);
    const logged: { short: string[]; whole: string[] } = { short: [], whole: [] };
    const pair = await startBoth({ db: state.db, model: world.model }, { strict: false }, 0, logged);
    const sent = ['/api/films', '/api/films/1?populate=*', '/api/films?nonsense=1&populate[nonsense]=*'].flatMap(
      (url) => ['GET', 'HEAD'].map((method): Ask => ({ method, url, headers: ['Accept-Encoding: br'] })),
    );
    try {
      for (const fault of [null, new Error('out of order'), busy(new Error('locked'))]) {
        state.fault = null;
        await expectEqual(pair, sent[0]!);
        state.fault = fault;
        for (const ask of sent) await expectEqual(pair, ask);
      }
    } finally {
      await pair.close();
    }
    const linesOf = (lines: readonly string[]) =>
      lines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter((it) => it['reqId'] !== undefined)
        .map(({ time: _time, ms: _ms, faultId: _faultId, ...rest }) => ({
          ...rest,
          reqId: String(rest['reqId']).replace(madeId, ''),
        }))
        .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
    expect(linesOf(logged.short)).toEqual(linesOf(logged.whole));
    expect(logged.short.length).toBeGreaterThan(sent.length);
  });
});

describe('the lane', () => {
  const world = useWorld('sqlite');
  const plain = (url: string, ...headers: readonly string[]): Ask => ({ method: 'GET', url, headers });

  /** A server with the lane, and the requests that its framework saw. */
  const start = async (settings: Partial<TestSettings> = {}) => {
    const app = await newServer(newTestDeps(world.db, world.model, settings));
    const seen: string[] = [];
    app.addHook('onRequest', async ({ raw }) => {
      seen.push(raw.url!);
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    return { app, port: (app.server.address() as AddressInfo).port, seen };
  };

  it('reads of content in their usual spelling never reach the framework', async () => {
    const { app, port, seen } = await start();
    for (const url of plainUrls.filter((it) => !it.includes('/999')))
      await send(port, plain(url), plain(url, 'Origin: x'));
    expect(new Set(seen)).toEqual(new Set([last.url]));
    await app.close();
  });

  it('compressed bodies of any size have a length', async () => {
    const { app, port } = await start();
    for (const encoding of ['br', 'gzip'])
      for (const url of ['/api/films', '/api/films?pagination[pageSize]=100&publicationState=preview&populate=*']) {
        const bytes = await exchange(port, bytesOf(plain(url, `Accept-Encoding: ${encoding}`)) + bytesOf(last));
        expect(bytes.toString('latin1')).toMatch(
          new RegExp(`\\r\\ncontent-encoding: ${encoding}\\r\\ncontent-length: \\d+\\r\\n`),
        );
      }
    await app.close();
  });

  it('a response whose headers cannot be sent ends the connection, and nothing else', async () => {
    const { app, port } = await start({ securityHeaders: { 'x-broken': 'a\nb' } });
    const write = 'PUT /api/films/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n';
    for (const sent of [bytesOf(plain('/api/films')), `${write}null`, `${write}{bad`])
      expect(String(await exchange(port, sent))).toBe('');
    await app.close();
  });

  it('an answer with nothing left to show is a 204 without a body, as from the framework', async () => {
    const served = await serveCode('sqlite', {
      ...typeFile('note', { text: { type: 'string' } }),
      ...coreFile('Controller', 'note'),
      ...coreFile('Router', 'note'),
      'src/api/note/routes/removed.js':
        "module.exports = { routes: [{ method: 'GET', path: '/removed/:id', handler: 'note.delete', config: { auth: false } }] };",
      'src/api/note/handlers.js': `const inside = new Set();
        exports.beforeDelete = async ({ content, id }) => {
          if (inside.has(id)) return;
          inside.add(id);
          await content.delete('api::note.note', id);
        };`,
      'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing}
        await allow('public', ['api::note.note.delete']);
        for (const text of ['one', 'two']) await strapi.entityService.create('api::note.note', { data: { text } }); } };`,
    });
    const [byFramework, byLane] = [
      await served.ask('/api/notes/1', { method: 'DELETE' }),
      await served.ask('/api/removed/2'),
    ];
    for (const { status, text, headers } of [byFramework, byLane]) {
      expect([status, text, headers['content-type'], headers['content-length']]).toEqual([
        204,
        '',
        undefined,
        undefined,
      ]);
    }
    expect(byLane.headers.etag).toBe(byFramework.headers.etag);
    expect((await served.ask('/api/removed/2')).status).toBe(404);
    await served.close();
  });

  it('bodies that nobody reads are bounded: beyond the limit a request gets 503', async () => {
    const waiting = { bytesMax: 20_000, keptMs: 3_600_000, stalledMs: 3_600_000, lookMs: 20 };
    const { app, port } = await start({ waiting });
    await world.update('films', 1, 'tagline', 'x'.repeat(12 * 1024 * 1024));
    const asked = plain('/api/films', 'Origin: https://site.example');
    // cached from now on, so that responses are sent in the order of the requests
    await send(port, asked);
    const lazy = net.connect({ port, host: '127.0.0.1' });
    lazy.pause();
    lazy.write(bytesOf(plain('/api/films')));
    let [answer] = await send(port, asked);
    while (!answer?.head[0]?.includes('503')) [answer] = await send(port, asked);
    expect(answer.head).toContain('retry-after: 1');
    expect(answer.head.join('\n')).not.toContain('etag');
    expect(JSON.parse(answer.body)).toMatchObject({ data: null, error: { name: 'ServiceUnavailableError' } });
    lazy.destroy();
    await app.close();
  });
});
