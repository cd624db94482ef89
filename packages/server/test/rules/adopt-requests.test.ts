/** `adopt --urls`: the requests of an access log, judged by the strict and the lenient parser. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdoptOptions, adopt, inspect } from '../../src/cli/adopt/adopt.js';
import { type JudgedRequests, requestIn } from '../../src/cli/adopt/requests.js';
import { UsageFault } from '../../src/cli/start-fault.js';
import { printed } from '../world/printed.js';
import { writeFiles } from '../world/schemas.js';
import { newV4World, starter, starterRows, type V4World } from '../world/v4-projects.js';

const plain: AdoptOptions = { database: null, environment: 'development', urls: null, json: false };

describe('a request is found in a line', () => {
  it.each([
    ['/api/dishes?sort=title', 'GET', '/api/dishes?sort=title', null],
    ['https://cms.example.org/api/dishes', 'GET', '/api/dishes', null],
    ['POST /api/dishes', 'POST', '/api/dishes', null],
    ['GET /api/dishes HTTP/1.1', 'GET', '/api/dishes', null],
    [
      '203.0.113.9 - - [22/Nov/2026:08:00:01 +0000] "GET /api/dishes?populate=* HTTP/1.1" 200 512 "-" "Mozilla/5.0 (X11) GET /no"',
      'GET',
      '/api/dishes?populate=*',
      200,
    ],
    ['[2026-11-22 08:00:01.123] http: GET /api/dishes?page=1 (12 ms) 400', 'GET', '/api/dishes?page=1', 400],
    ['{"request":{"method":"GET","uri":"/api/dishes"},"status":200}', 'GET', '/api/dishes', 200],
    ['{"req":{"method":"PUT","url":"/api/dishes/1"},"res":{"statusCode":404}}', 'PUT', '/api/dishes/1', 404],
    ['{"request":"GET /api/dishes HTTP/2.0","status":304}', 'GET', '/api/dishes', null],
  ])('%s', (line, method, url, status) => {
    expect(requestIn(line)).toEqual({ method, url, status });
  });

  it.each(['', 'started on port 1337', '{"level":30,"msg":"GET nothing"}', '{broken', 'GET'])(
    'none in "%s"',
    (line) => {
      expect(requestIn(line)).toBeNull();
    },
  );
});

describe('requests are judged', () => {
  let world: V4World;
  beforeAll(async () => {
    world = await newV4World('sqlite', starter, starterRows);
    writeFiles(world.dir, {
      'src/api/dish/routes/01-today.js': `module.exports = { routes: [{ method: 'GET', path: '/dishes/today', handler: 'dish.today' }, { method: 'GET', path: '/specials/:day?', handler: 'dish.today' }, { method: 'GET', path: '/guides/:path(.*)', handler: 'dish.today' }] };`,
    });
  });
  afterAll(() => world.drop());

  const judged = async (...lines: readonly string[]): Promise<JudgedRequests> => {
    const file = path.join(world.dir, 'access.log');
    fs.writeFileSync(file, lines.join('\n'));
    return (await inspect(world.dir, { ...plain, urls: file })).requests!;
  };

  it('those that are understood whole are counted', async () => {
    expect(
      await judged(
        'GET /api/dishes?populate=*',
        'GET /api/dishes?filters[title][$contains]=o&sort=price:desc&pagination[page]=2',
        'GET /api/dishes/1?populate[menus][fields]=name',
        'GET /api/dishes/1?populate[menus][fields]=name',
        'PUT /api/dishes/1',
        'nothing here',
      ),
    ).toEqual({ lines: 6, requests: 5, distinct: 4, understood: 5, refused: [], elsewhere: [] });
  });

  it('what the strict parser refuses is grouped by reason, with what lenient mode makes of it', async () => {
    const { refused, understood } = await judged(
      '"GET /api/dishes?populate=menu HTTP/1.1" 200 1',
      '"GET /api/dishes?populate=menu&sort=title HTTP/1.1" 200 1',
      '"GET /api/dishes?populate=menu&sort=title HTTP/1.1" 200 1',
      '"GET /api/dishes?fields=created_at HTTP/1.1" 200 1',
      '"GET /api/dishes?fields=nope HTTP/1.1" 400 1',
      '"GET /api/dishes?_limit=5 HTTP/1.1" 200 1',
    );
    expect(understood).toBe(0);
    expect(refused).toEqual([
      {
        code: 'query.unknown-name',
        message: expect.stringContaining('Did you mean "menus"?'),
        path: '/api/dishes',
        count: 3,
        urls: 2,
        example: 'GET /api/dishes?populate=menu',
        lenient: 'ignored',
        statuses: [200],
      },
      expect.objectContaining({ example: 'GET /api/dishes?fields=created_at', lenient: 'as v4' }),
      expect.objectContaining({ example: 'GET /api/dishes?fields=nope', lenient: 'refused', statuses: [400] }),
      expect.objectContaining({ code: 'query.unknown-parameter', lenient: 'ignored' }),
    ]);
  });

  it('examples have no tokens', async () => {
    const { refused, elsewhere } = await judged(
      'GET /api/dishes?access_token=hunter2&sort=nothing',
      'GET /api/auth/email-confirmation?confirmation=hunter2',
    );
    expect(refused[0]!.example).toBe('GET /api/dishes?access_token=…&sort=nothing');
    expect(elsewhere[0]!.example).toBe('/api/auth/email-confirmation');
    expect(JSON.stringify(refused)).not.toContain('hunter2');
  });

  it('what is not content is said by what it is', async () => {
    const { elsewhere } = await judged(
      'GET /api/dishes/today',
      'HEAD /api/dishes/today',
      'GET /api/specials',
      'GET /api/guides/a/b',
      'GET /uploads/a.png',
      'GET /admin/init',
      'POST /graphql',
      'POST /api/auth/local',
      'GET /api/connect/google',
      'GET /api/nothing',
      'DELETE /api/dishes',
      'GET /',
      'GET /api/dishes/soup',
    );
    expect(elsewhere.map((it) => it.what)).toEqual([
      'GET /api/dishes/today, a route of the project: runs',
      'GET /api/specials/:day?, a route of the project: runs',
      'GET /api/guides/:path(.*), a route of the project: runs',
      'files below /uploads: served',
      "v4's admin panel: not served, the Studio at /studio stands in its place",
      'GraphQL: not served',
      'accounts, files and locales: served',
      '/api/connect: not served',
      'paths below /api that no type has: 404, but where code of the project adds a route',
      'DELETE /api/dishes: not served',
      'other paths: 404',
      'GET /api/dishes/:id with an id that is no number: 404, as in v4, but where a controller of the project finds it',
    ]);
  });

  it('they are part of the text, and a file that does not exist is a usage error', async () => {
    const file = path.join(world.dir, 'access.log');
    fs.writeFileSync(file, 'GET /api/dishes?populate=menu\n');
    const { out } = await printed(() => adopt(world.dir, { ...plain, urls: file }));
    expect(out).toContain('Refused by the strict parser\n  1 request /api/dishes, 1 URL\n');
    await expect(adopt(world.dir, { ...plain, urls: '/nowhere.log' })).rejects.toThrow(UsageFault);
  });
});
