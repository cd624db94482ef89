/** SU2: windows of relation lists, over HTTP. That they are the lists of populate is checked in test/properties/windows.test.ts. */
import { describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/handlers/handlers.js';
import type { HandlersByType } from '../../src/handlers/load.js';
import { openedForTests } from '../world/opening.js';
import { errorOf, newTestServer, refusal } from '../world/server.js';
import { newSmallWorld } from '../world/small.js';
import { dialects, type Entry, useWorld } from '../world/world.js';

interface Window {
  readonly data: readonly Entry[];
  readonly meta: {
    readonly pagination: Readonly<Record<string, number>>;
    readonly positions: readonly number[];
    readonly etag?: string;
  };
}

const passing: Handlers = { findOne: ({ next }) => next() };
const LINEUP = '/api/programmes/1/relations/lineup';
const notFound = refusal(404, 'NotFoundError', 'Not Found');
const forbidden = refusal(403, 'ForbiddenError', 'Forbidden');

describe.each(dialects)('SU2 on %s', (dialect) => {
  const world = useWorld(dialect);
  const lenient = useWorld(dialect, { settings: { strict: false } });
  const read = async (url: string): Promise<Window> => (await world.read(url)) as unknown as Window;
  const ids = async (url: string): Promise<readonly number[]> => (await read(url)).data.map((it) => it.id);

  it('SU2 a window is a part of the list, in its order, with the places in the whole list', async () => {
    expect(await ids(`${LINEUP}?publicationState=preview`)).toEqual([1, 6, 3]);
    const { data, meta } = await read(
      `${LINEUP}?fields=title&publicationState=preview&pagination[start]=1&pagination[limit]=2`,
    );
    expect(data).toEqual([
      { id: 6, attributes: { title: expect.any(String) as unknown } },
      { id: 3, attributes: { title: expect.any(String) as unknown } },
    ]);
    expect(meta.pagination).toEqual({ start: 1, limit: 2, total: 3 });
    expect(meta.positions).toEqual([1, 2]);
  });

  it.each([
    ['', { start: 0, limit: 25 }],
    ['?pagination[limit]=1', { start: 0, limit: 1 }],
    ['?pagination[limit]=1000', { start: 0, limit: 100 }],
    ['?pagination[start]=50', { start: 50, limit: 25 }],
    ['?pagination[page]=2&pagination[pageSize]=1', { start: 1, limit: 1 }],
  ])('SU2 %s is %j', async (search, pagination) => {
    const { data, meta } = await read(`${LINEUP}${search}`);
    const total = (await read(LINEUP)).data.length;
    expect(meta.pagination).toEqual({ ...pagination, total });
    expect(data).toHaveLength(Math.max(0, Math.min(pagination.limit, total - pagination.start)));
    expect(meta.positions).toHaveLength(data.length);
  });

  it('SU2 drafts are in it only if they are asked for, and so is the list of a draft', async () => {
    const drafts = (await world.read('/api/films?publicationState=preview&filters[publishedAt][$null]=true')).data;
    const live = await ids(LINEUP);
    expect(live).toEqual([1, 6, 3].filter((id) => !drafts.some((it) => it.id === id)));
    const [draft] = drafts;
    expect((await world.get(`/api/films/${draft!.id}/relations/genres`)).body).toEqual(notFound);
    expect((await world.get(`/api/films/${draft!.id}/relations/genres?publicationState=preview`)).status).toBe(200);
  });

  it('SU2 filters and _q leave the places as they are', async () => {
    const { data, meta } = await read(`${LINEUP}?publicationState=preview&filters[id][$gt]=1`);
    expect([data.map((it) => it.id), meta.positions, meta.pagination['total']]).toEqual([[6, 3], [1, 2], 2]);
    const searched = await read(`${LINEUP}?publicationState=preview&_q=${encodeURIComponent('no such film')}`);
    expect(searched).toMatchObject({ data: [], meta: { positions: [], pagination: { total: 0 } } });
  });

  it('SU2 entries are shown as a list shows them, in both formats', async () => {
    const shown = '?fields=title&populate[director][fields]=name&populate[body]=true';
    for (const headers of [{}, { 'Strapi-Response-Format': 'v5' }]) {
      const dataOf = async (url: string) => (await world.get(url, headers)).body as { data: readonly { id: number }[] };
      const window = await dataOf(`${LINEUP}${shown}`);
      const list = await dataOf(`/api/films${shown}`);
      expect(window.data.length).toBeGreaterThan(0);
      expect(window.data).toEqual(window.data.map(({ id }) => list.data.find((it) => it.id === id)));
    }
  });

  it('SU2 inverse sides, sides without an order, media and lists of files are lists too', async () => {
    const populated = async (plural: string, id: number, name: string): Promise<readonly number[]> => {
      const { data } = await world.read<Entry>(`/api/${plural}/${id}?publicationState=preview&populate=${name}`);
      return ((data.attributes[name] as { data: readonly Entry[] | null }).data ?? []).map((it) => it.id);
    };
    for (const [plural, id, name] of [
      ['films', 1, 'programmes'],
      ['films', 1, 'reels'],
      ['films', 1, 'stills'],
      ['films', 2, 'influenced'],
      ['programmes', 1, 'cycleFilms'],
      ['genres', 1, 'films'],
    ] as const) {
      const shown = await ids(`/api/${plural}/${id}/relations/${name}?publicationState=preview`);
      expect([name, shown]).toEqual([name, await populated(plural, id, name)]);
    }
  });

  it.each([
    ['sort=title', ['sort'], 'a relation list has its own order'],
    ['fields=titel', ['fields'], 'Did you mean \\"title\\"?'],
    ['populate=directer', ['populate'], 'Did you mean \\"director\\"?'],
    ['filters[titel]=a', ['filters', 'titel'], 'Did you mean'],
    ['pagination[limit]=many', ['pagination', 'limit'], 'is not an integer'],
    ['publicationState=all', ['publicationState'], 'expected live or preview'],
    ['field=title', ['field'], 'Did you mean \\"fields\\"?'],
  ])('SU2 %s is refused, with its place', async (search, path, message) => {
    const answer = await world.get(`${LINEUP}?${search}`);
    expect(errorOf(answer)).toMatchObject({ status: 400, errors: [{ path }] });
    expect(answer.text).toContain(message);
  });

  it('SU2 lenient projects ignore what they ignore in lists, and say so; the order is refused there, too', async () => {
    const { status, headers } = await lenient.get(`${LINEUP}?populate=directer`);
    expect([status, headers['dovetail-ignored']]).toEqual([200, 'populate.directer']);
    expect((await lenient.get(`${LINEUP}?sort=title`)).status).toBe(400);
  });

  it('SU2 locale has no effect on the list of one entry', async () => {
    const { status, headers } = await world.get(`${LINEUP}?locale=de`);
    expect([status, headers['dovetail-ignored']]).toEqual([200, 'locale']);
  });

  it.each([
    ['/api/programmes/1/relations/lineups', 'programme has no relation list "lineups". Did you mean "lineup"?'],
    ['/api/films/1/relations/title', 'film has no relation list "title"'],
    ['/api/films/1/relations/director', 'film has no relation list "director"'],
    ['/api/films/1/relations/facts', 'film has no relation list "facts"'],
    ['/api/films/1/relations/body', 'film has no relation list "body"'],
    ['/api/films/1/relations/createdBy', 'film has no relation list "createdBy"'],
    ['/api/films/1/relations/constructor', 'film has no relation list "constructor"'],
    ['/api/lobby/relations/headline', 'lobby has no relation list "headline"'],
  ])('SU2 %s is no list', async (url, message) => {
    const { status, name, message: said } = errorOf(await world.get(url));
    expect([status, name]).toEqual([404, 'NotFoundError']);
    expect(said).toContain(message);
  });

  it.each([
    '/api/programmes/01/relations/lineup',
    '/api/programmes/999/relations/lineup',
    '/api/nothing/1/relations/lineup',
    '/api/programmes/relations/lineup',
    '/api/lobby/1/relations/featured',
    '/api/users/1/relations/role',
    '/api/programmes/1/relations',
  ])('SU2 %s is not there', async (url) => {
    expect((await world.get(url)).body).toEqual(notFound);
  });

  it('SU2 a single type has lists too', async () => {
    const preview = '?publicationState=preview';
    expect(await ids(`/api/lobby/relations/featured${preview}`)).toEqual([1, 6]);
  });

  it('SU2 other methods are a 405, HEAD and OPTIONS answer', async () => {
    const { status, headers } = await world.server.send('POST', LINEUP, { body: {} });
    expect([status, headers['allow']]).toEqual([405, 'HEAD, GET']);
    expect((await world.server.send('HEAD', LINEUP)).status).toBe(200);
    const first = await world.get(LINEUP);
    const again = await world.get(LINEUP, { 'if-none-match': String(first.headers['etag']) });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('SU2 it takes two statements and those of what it populates, whatever the list', async () => {
    const shown = `${LINEUP}?publicationState=preview`;
    expect(await world.statements(shown)).toHaveLength(2);
    expect(await world.statements(`${shown}&filters[id][$gt]=1`)).toHaveLength(2);
    // of nothing no entries are read
    expect(await world.statements(`${shown}&pagination[start]=10`)).toHaveLength(1);
    const populated = await world.statements(`${shown}&populate[genres]=true&populate[reels]=true&populate[body]=true`);
    expect(populated.length).toBeLessThan(12);
  });
});

describe.each(dialects)('SU2 who may, on %s', (dialect) => {
  const relation = (kind: string, target: string, rest = {}) => ({
    type: 'relation',
    relation: kind,
    target: `api::${target}.${target}`,
    ...rest,
  });
  const i18n = { pluginOptions: { i18n: { localized: true } } };
  const world = openedForTests(async () => {
    const made = await newSmallWorld(dialect, {
      types: {
        shelf: {
          attributes: {
            name: { type: 'string' },
            books: relation('manyToMany', 'book'),
            hidden: relation('manyToMany', 'book', { private: true }),
            secrets: relation('manyToMany', 'secret'),
            anything: { type: 'relation', relation: 'morphToMany' },
          },
        },
        book: { attributes: { name: { type: 'string' } } },
        secret: { attributes: { name: { type: 'string' } } },
        board: {
          kind: 'singleType',
          ...i18n,
          attributes: { name: { type: 'string', ...i18n }, books: relation('manyToMany', 'book') },
        },
      },
    });
    const send = async (method: string, path: string, data: unknown): Promise<void> => {
      const { status, text } = await made.send(method, `/api/${path}`, { data });
      if (status !== 200) throw new Error(text);
    };
    for (const name of ['a', 'b', 'c']) await send('POST', 'books', { name });
    await send('POST', 'shelfs', { name: 'first', books: [3, 1, 2], hidden: [1] });
    await send('PUT', 'board', { name: 'one', books: [2, 1] });
    return made;
  });
  const serverFor = async (actions: readonly string[], handlers: HandlersByType = new Map()) => {
    const server = await newTestServer(world.db, world.model, {}, undefined, { handlers });
    await world.db.write(async (tx) => {
      for (const table of ['up_permissions_role_links', 'up_permissions'])
        await tx.run({ sql: `delete from ${table}`, params: [], ids: [] });
    });
    await world.insert(
      'up_permissions',
      actions.map((action, i) => ({ id: i + 1, action })),
    );
    await world.insert(
      'up_permissions_role_links',
      actions.map((_action, i) => ({ id: i + 1, permission_id: i + 1, role_id: 1, permission_order: 1 })),
    );
    return server;
  };
  const BOOKS = '/api/shelfs/1/relations/books';
  const all = ['shelf.shelf.findOne', 'book.book.find', 'board.board.find'].map((it) => `api::${it}`);

  it('SU2 it needs findOne of the type and find of what the list leads to', async () => {
    const statusFor = async (actions: readonly string[], url: string): Promise<number> => {
      const server = await serverFor(actions);
      const { status } = await server.get(url);
      await server.close();
      return status;
    };
    expect(await statusFor(all, BOOKS)).toBe(200);
    for (const missing of all.slice(0, 2))
      expect(
        await statusFor(
          all.filter((it) => it !== missing),
          BOOKS,
        ),
      ).toBe(403);
    expect(await statusFor(all, '/api/shelfs/1/relations/secrets')).toBe(403);
    expect(await statusFor(all, '/api/shelfs/1/relations/hidden')).toBe(404);
    expect(await statusFor(all, '/api/shelfs/1/relations/anything')).toBe(404);
    expect(await statusFor(all, '/api/board/relations/books')).toBe(200);
    expect(await statusFor(all.slice(0, 2), '/api/board/relations/books')).toBe(403);
    const server = await serverFor(all.slice(0, 1));
    expect((await server.get(BOOKS)).body).toEqual(forbidden);
    await server.close();
  });

  it('SU2 where code of the project answers for an entry, there are none', async () => {
    const handlers: HandlersByType = new Map([['api::shelf.shelf', passing]]);
    const server = await serverFor(all, handlers);
    expect((await server.get('/api/shelfs/1')).status).toBe(200);
    expect((await server.get(BOOKS)).body).toEqual(notFound);
    await server.close();
  });

  it('SU2 a localized single type has a list in each locale', async () => {
    const url = '/api/board/relations/books';
    expect((await world.send('GET', `${url}?locale=en`)).body).toMatchObject({ data: [{ id: 2 }, { id: 1 }] });
    expect((await world.send('GET', `${url}?locale=de`)).status).toBe(404);
    expect(errorOf(await world.send('GET', `${url}?locale=all`))).toMatchObject({
      status: 400,
      errors: [{ path: ['locale'] }],
    });
  });

  it('SU2 its etag is that of the entry: a change of what was seen, and of nothing else', async () => {
    const { body } = await world.send('GET', BOOKS);
    const { data, meta } = body as Window;
    expect(data.map((it) => it.id)).toEqual([3, 1, 2]);
    const change = { data: { books: { connect: [{ id: 2, position: { before: 3 } }] } } };
    const headers = { 'if-match': meta.etag! };
    expect((await world.send('PUT', '/api/shelfs/1', change, headers)).status).toBe(200);
    const moved = (await world.send('GET', BOOKS)).body as Window;
    expect(moved.data.map((it) => it.id)).toEqual([2, 3, 1]);
    expect((await world.send('PUT', '/api/shelfs/1', change, headers)).status).toBe(412);
  });
});
