/**
 * Writes of JSON that skip the framework are answered as the framework answers them: several hundred requests, byte by byte
 * over a socket, to two servers of one site (RQ1, RQ3, RQ7, RQ14, RQ16, BO1, BO17, ER1).
 */
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { type Answer, type Ask, type Pair, send, startBoth, titleOf } from '../world/lanes.js';
import { dialects, useWorld } from '../world/world.js';

const film = JSON.stringify({ data: { title: 'Séance', year: 1990, genres: { connect: [1] } } });
const json = 'Content-Type: application/json';

interface Body {
  readonly text: string;
  /** In Latin-1; the text in UTF-8 by default. */
  readonly bytes?: string;
}

const bodies: readonly Body[] = [
  { text: film },
  { text: '{}' },
  { text: '{"data":{}}' },
  { text: '{"data":[]}' },
  { text: '{"data":null}' },
  { text: 'null' },
  { text: '"data"' },
  { text: '[]' },
  { text: '' },
  { text: '{"data":' },
  { text: '\ufeff{"data":{"title":"x"}}' },
  { text: 'invalid UTF-8', bytes: '{"data":{"title":"\xff"}}' },
  { text: '{"data":{"title":7,"year":"x","nope":1}}' },
  { text: '{"data":{"title":null}}' },
  { text: '{"data":{"title":"x","__proto__":{"a":1},"genres":[999999]}}' },
  { text: '{"data":{"title":"x","director":{"connect":[{"id":1,"position":{"before":2}}]}},"meta":1}' },
  { text: JSON.stringify({ data: { title: 'long', tagline: 'é'.repeat(3000) } }) },
];

const ask = (method: string, url: string, { text, bytes }: Body, headers: readonly string[], version?: string): Ask => {
  const body = bytes ?? Buffer.from(text).toString('latin1');
  return {
    method,
    url,
    body,
    headers: [...headers, `Content-Length: ${body.length}`],
    ...(version ? { version } : {}),
  };
};

const [valid] = bodies as readonly [Body];

/** As clients write them. */
const targets = [
  ['POST', '/api/films'],
  ['POST', '/api/films?populate=genres&fields=title'],
  ['POST', '/api/films?populate[nope]=1'],
  ['PUT', '/api/films/1'],
  ['PUT', '/api/films/1?populate=*'],
  ['PUT', '/api/films/999'],
] as const;

const others = [
  ['PUT', '/api/house-rules'],
  ['POST', '/api/house-rules'],
  ['POST', '/api/films/1'],
  ['PUT', '/api/films'],
  ['PATCH', '/api/films/1'],
  ['POST', '/api/films/'],
  ['POST', '/API/films'],
  ['PUT', '/api/films/%31'],
  ['PUT', '/api/films/01'],
  ['PUT', '/api/films/0'],
  ['PUT', '/api/films/2147483648'],
  ['PUT', '/api/films/1;x'],
  ['POST', '/api/nothing'],
  ['POST', '/api/%zz'],
  ['POST', `/api/films?${'x'.repeat(17_000)}`],
] as const;

const headerSets: readonly (readonly string[])[] = [
  [json],
  ...[
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset=latin1',
    'APPLICATION/JSON',
    'application/vnd.api+json',
    'application/jsonx',
    'text/plain',
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    '',
  ].map((it) => [`Content-Type: ${it}`]),
  [],
  [json, json],
  ...[
    'Accept-Encoding: br',
    'Accept-Encoding: gzip',
    'Origin: https://site.example',
    'Content-Encoding: gzip',
    'Content-Encoding: identity',
    'Authorization: Bearer nobody',
    'Authorization: Basic eDp5',
    'Expect: 100-continue',
    'Expect: the unexpected',
    'Connection: close',
    'If-Match: *',
    'If-Match: "x"',
    'If-None-Match: *',
    'If-Unmodified-Since: Sat, 01 Jan 2000 00:00:00 GMT',
  ].map((it) => [json, it]),
  [json, 'Host: a.example', 'Host: b.example'],
];

const asks: readonly Ask[] = [
  ...targets.flatMap(([method, url]) => bodies.map((body) => ask(method, url, body, [json]))),
  ...targets.flatMap(([method, url]) => headerSets.map((headers) => ask(method, url, valid, headers))),
  ...others.flatMap(([method, url]) => [valid, { text: '{"data":' }].map((body) => ask(method, url, body, [json]))),
  ...targets
    .slice(0, 4)
    .flatMap(([method, url]): readonly Ask[] => [
      ask(method, url, valid, [json], '1.0'),
      { method, url, headers: [json, 'Transfer-Encoding: chunked'], body: `${'b\r\n{"data":{}}'}\r\n0\r\n\r\n` },
      { method, url, headers: [json] },
    ]),
];

/** Without what differs between two writes of the same: ids, times, and the tags and lengths that follow from them. */
const normal = ({ head, body }: Answer): Answer => ({
  head: head
    .filter((it) => !/^content-length: /i.test(it))
    .map((it) => it.replace(/^etag: W\/"[^"]+"$/, 'etag: W/"a tag"')),
  body: body.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'a time').replace(/^\{"data":\{"id":\d+/, '{"data":{"id":"an id"'),
});

describe.each(dialects)('writes without the framework on %s', (dialect) => {
  const world = useWorld(dialect);

  describe.each([
    ['open', { mode: 'open' }, {}],
    ['open, lenient, for few origins', { mode: 'open' }, { strict: false, corsOrigin: ['https://site.example'] }],
    ['without permission', {}, {}],
  ] as const)('%s', (title, people, settings) => {
    let pair: Pair;
    beforeAll(async () => {
      pair = await startBoth(world, settings, undefined, undefined, people);
    });
    afterAll(() => pair.close());

    it(`${asks.length} requests have the same status, headers in order, and body`, async () => {
      const statuses = new Set<string>();
      for (const it of asks) {
        const mine = (await send(pair.short, it)).map(normal);
        const other = (await send(pair.whole, it)).map(normal);
        expect(mine, `${titleOf(it)}\n${it.body?.slice(0, 200)}`).toEqual(other);
        statuses.add(mine[0]!.head[0]!);
      }
      expect(statuses.size).toBeGreaterThan(title === 'without permission' ? 3 : 5);
    });
  });

  it('a body that arrives in pieces is written once it is whole; one that never does writes nothing', async () => {
    const pair = await startBoth(world, {}, undefined, undefined, { mode: 'open' });
    const count = async () =>
      Number(
        JSON.parse((await send(pair.short, { method: 'GET', url: '/api/films', headers: [] }))[0]!.body).meta.pagination
          .total,
      );
    const before = await count();
    const text = JSON.stringify({ data: { title: 'pieces' } });
    const open = (): net.Socket => {
      const socket = net.connect(pair.short, '127.0.0.1');
      socket.write(`POST /api/films HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: ${text.length}\r\n\r\n`);
      socket.write(text.slice(0, 7));
      return socket;
    };
    const broken = open();
    const whole = open();
    const answered = new Promise<string>((resolve) => whole.once('data', (bytes) => resolve(bytes.toString())));
    await new Promise<void>((resolve) => broken.write(text.slice(7, 9), () => resolve()));
    broken.destroy();
    whole.write(text.slice(7));
    expect(await answered).toMatch(/"title" ?: ?"pieces"/);
    expect(await count()).toBe(before + 1);
    whole.destroy();
    await pair.close();
  });

  it('a body above the bound is a 413 without being read', async () => {
    const pair = await startBoth(world, {}, undefined, undefined, { mode: 'open' });
    for (const port of [pair.short, pair.whole]) {
      const socket = net.connect(port, '127.0.0.1');
      const answered = new Promise<string>((resolve) => socket.once('data', (bytes) => resolve(bytes.toString())));
      socket.write(
        `POST /api/films HTTP/1.1\r\nHost: x\r\n${json}\r\nContent-Length: ${limits.bodyBytesMax + 1}\r\n\r\n{"data"`,
      );
      expect(await answered).toContain('413 ');
      socket.destroy();
    }
    await pair.close();
  });
});
