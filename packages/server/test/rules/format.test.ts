/** VF1 to VF7 beyond docs/rules/format.md: v5's format in every place where entries are written or named. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newDocuments } from '../conformance/described.js';
import { expectEqual, type Pair, startBoth } from '../world/lanes.js';
import { newMagazine, token } from '../world/magazine.js';
import { openedForTests } from '../world/opening.js';
import { newSmallWorld, type SmallProject } from '../world/small.js';
import { dialects, useWorld } from '../world/world.js';

const v5 = { 'strapi-response-format': 'v5' };

const project: SmallProject = {
  types: {
    note: {
      options: { draftAndPublish: true },
      attributes: {
        text: { type: 'string' },
        topics: { type: 'relation', relation: 'manyToMany', target: 'api::topic.topic' },
        card: { type: 'component', component: 'parts.card' },
        about: { type: 'relation', relation: 'morphToMany' },
      },
    },
    topic: { options: { draftAndPublish: true }, attributes: { name: { type: 'string' } } },
    paper: { attributes: { documentId: { type: 'string' }, title: { type: 'string' } } },
  },
  components: {
    'parts.card': {
      label: { type: 'string' },
      topic: { type: 'relation', relation: 'oneToOne', target: 'api::topic.topic' },
    },
  },
};

describe.each(dialects)('VF on %s', (dialect) => {
  const world = openedForTests(() => newSmallWorld(dialect, project));
  const send = async (method: string, url: string, body?: unknown, headers: Record<string, string> = v5) =>
    world.send(method, url, body, headers);
  const dataOf = async (...given: Parameters<typeof send>): Promise<unknown> => {
    const { status, body, text } = await send(...given);
    expect(status, text).toBe(200);
    return (body as { data: unknown }).data;
  };

  beforeAll(async () => {
    for (const name of ['air', 'sea', 'land']) await send('POST', '/api/topics', { data: { name } });
    await send('POST', '/api/topics?status=draft', { data: { name: 'fire' } });
    await send('POST', '/api/papers', { data: { documentId: 'own', title: 'A' } });
  });

  it('VF1 responses of POST, PUT and DELETE are flat, with components and polymorphic relations', async () => {
    const data = {
      text: 'one',
      topics: [{ documentId: '1' }, { id: 2, documentId: '2' }, '3'],
      card: { label: 'x', topic: { documentId: '2' } },
      about: { connect: [{ documentId: '1', __type: 'api::paper.paper' }] },
    };
    const query =
      'fields=text&populate[topics][fields]=name&populate[card][populate][topic][fields]=name&populate=about';
    const populated = query.replace('&populate=about', '&populate[about][fields]=title');
    const wanted = {
      id: 1,
      documentId: '1',
      text: 'one',
      topics: ['air', 'sea', 'land'].map((name, i) => ({ id: i + 1, documentId: `${i + 1}`, name })),
      card: { id: 1, label: 'x', topic: { id: 2, documentId: '2', name: 'sea' } },
      about: [{ __type: 'api::paper.paper', id: 1, title: 'A' }],
    };
    expect(await dataOf('POST', `/api/notes?${populated}`, { data })).toEqual(wanted);
    expect(await dataOf('PUT', `/api/notes/1?${populated}`, { data: { text: 'two' } })).toEqual({
      ...wanted,
      text: 'two',
    });
    expect(await dataOf('DELETE', `/api/notes/1?${populated}`)).toEqual({ ...wanted, text: 'two' });
  });

  it('VF1 each format has its own tag, and a change may be tied to either', async () => {
    const plain = await send('GET', '/api/topics/1', undefined, {});
    const flat = await send('GET', '/api/topics/1');
    expect(flat.headers['etag']).not.toBe(plain.headers['etag']);
    const known = { 'if-none-match': String(flat.headers['etag']) };
    expect((await send('GET', '/api/topics/1', undefined, { ...v5, ...known })).status).toBe(304);
    expect((await send('GET', '/api/topics/1', undefined, known)).status).toBe(200);
    for (const { headers } of [plain, flat]) {
      const match = { 'if-match': String(headers['etag']) };
      expect((await send('PUT', '/api/topics/1', { data: {} }, { ...v5, ...match })).status).toBe(
        headers === plain.headers ? 200 : 412,
      );
    }
  });

  it('VF2 an attribute named documentId is shown and filtered as what it is', async () => {
    expect(await dataOf('GET', '/api/papers?filters[documentId]=own&fields[0]=documentId')).toEqual([
      { id: 1, documentId: 'own' },
    ]);
    expect(await dataOf('PUT', '/api/papers/1', { data: { documentId: 'mine' } })).toMatchObject({
      documentId: 'mine',
    });
  });

  it('VF2 documentId in $in, $or and through relations; a text that is no id is refused', async () => {
    const found = await dataOf(
      'GET',
      '/api/topics?fields=name&filters[$or][0][documentId][$in][0]=1&filters[$or][1][documentId]=3&sort=documentId:desc',
    );
    expect(found).toMatchObject([{ documentId: '3' }, { documentId: '1' }]);
    const { status, body } = await send('GET', '/api/topics?filters[documentId]=h9x2');
    expect([status, body]).toMatchObject([400, { error: { message: expect.stringContaining('filters[documentId]') } }]);
    expect((await send('GET', '/api/topics/h9x2')).status).toBe(404);
  });

  it('VF3 an id and a documentId of different entries are refused', async () => {
    const { status } = await send('POST', '/api/notes', { data: { text: 'x', topics: [{ id: 1, documentId: '2' }] } });
    expect(status).toBe(400);
  });

  it('VF4 status of a populated relation', async () => {
    const note = (await dataOf('POST', '/api/notes', { data: { text: 'x', topics: ['3', '4'] } })) as { id: number };
    const names = async (options: string) =>
      ((await dataOf('GET', `/api/notes/${note.id}?populate[topics]${options}`)) as { topics: { name: string }[] })
        .topics;
    expect(await names('[fields]=name')).toHaveLength(1);
    expect(await names('[status]=draft')).toHaveLength(2);
  });

  it('VF4 status is published or draft; of a new entry publishedAt in the body goes before', async () => {
    const { status, body } = await send('GET', '/api/topics?status=modified');
    expect([status, body]).toMatchObject([400, { error: { message: expect.stringContaining('published or draft') } }]);
    expect((await send('POST', '/api/topics?status=modified', { data: { name: 'x' } })).status).toBe(400);
    const publishedAt = '2020-01-01T00:00:00.000Z';
    expect(await dataOf('POST', '/api/topics?status=draft', { data: { publishedAt } })).toMatchObject({ publishedAt });
    expect((await send('PUT', '/api/papers/1?status=draft', { data: { title: 'B' } })).status).toBe(200);
  });

  it('VF5 without the header documentId and status are unknown', async () => {
    for (const url of [
      '/api/topics?filters[documentId]=1',
      '/api/topics?fields=documentId',
      '/api/topics?status=draft',
    ])
      expect((await send('GET', url, undefined, {})).status, url).toBe(400);
    const data = { text: 'x', topics: [{ documentId: '1' }] };
    expect((await send('POST', '/api/notes', { data }, {})).status).toBe(400);
  });

  it('VF6 errors are the same in both formats', async () => {
    for (const url of ['/api/topics/99', '/api/topics?filters[nope]=1', '/api/nothing'])
      expect((await send('GET', url)).body, url).toEqual((await send('GET', url, undefined, {})).body);
  });

  it('VF1 every endpoint refuses other values', async () => {
    for (const url of ['/api/topics', '/api/users/me', '/api/upload/files', '/api/openapi.json'])
      expect((await send('GET', url, undefined, { 'strapi-response-format': 'v3' })).status, url).toBe(400);
  });
});

describe.each(dialects)('VF1 with and without the framework on %s', (dialect) => {
  const world = useWorld(dialect);
  let pair: Pair;
  beforeAll(async () => {
    pair = await startBoth(world);
  });
  afterAll(() => pair.close());

  it.each(['v5', 'V5', 'v4', 'v6', '', 'v5, v5'])('the header "%s"', async (value) => {
    const headers = [`Strapi-Response-Format: ${value}`];
    for (const url of ['/api/films?populate=*', '/api/films/1', '/api/donors', '/api/films?status=draft'])
      for (let times = 0; times < 3; times++) await expectEqual(pair, { method: 'GET', url, headers });
  });
});

describe.each(dialects)('VF7 on %s', (dialect) => {
  const magazine = openedForTests(() => newMagazine(dialect));

  it('VF8 locale of a new entry takes effect, and is not said to be ignored; of a change or deletion it is refused', async () => {
    const headers = { authorization: `Bearer ${token}`, ...v5 };
    const send = (method: string, url: string, data?: object) =>
      magazine.send(method, url, { headers, ...(data ? { body: { data } } : {}) });
    const made = await send('POST', '/api/articles?locale=de', { title: 'Neu' });
    expect([made.status, made.body, made.headers['dovetail-ignored']]).toMatchObject([
      200,
      { data: { locale: 'de' } },
      undefined,
    ]);
    expect((await send('POST', '/api/articles?locale=xx', { title: 'Neu' })).status).toBe(400);
    for (const locale of ['en', 1, ['de'], { toString: 1 }]) {
      const refused = await send('POST', '/api/articles?locale=de', { title: 'Neu', locale });
      expect([refused.status, JSON.stringify(locale)]).toEqual([400, JSON.stringify(locale)]);
    }
    for (const method of ['PUT', 'DELETE'])
      expect((await send(method, '/api/articles/1?locale=de', { title: 'Neu' })).status, method).toBe(400);
    const { body } = await send('GET', '/api/articles/1');
    expect(body).toMatchObject({ data: { title: 'Slack Water', locale: 'en' } });
    const page = await send('PUT', '/api/categories/1?locale=de', { name: 'Made' });
    expect([page.status, page.headers['dovetail-ignored']]).toEqual([200, 'locale']);
  });

  it('VF7 responses are as the description in v5’s format says', async () => {
    const documents = newDocuments();
    const authorization = `Bearer ${token}`;
    const paths = ['articles', 'authors', 'categories', 'editions'].flatMap((it) => [
      `/api/${it}?populate=*`,
      `/api/${it}/1?populate=*`,
    ]);
    for (const path of [...paths, '/api/homepage?populate=*', '/api/articles?populate[sections][populate]=*']) {
      const headers = { authorization, ...v5 };
      const request = { method: 'GET', path, headers };
      const { status, body } = await magazine.send('GET', path, { headers });
      const target = {
        send: ({ method, path: url, headers: own }: { method: string; path: string; headers?: object }) =>
          magazine.send(method, url, { headers: { ...own, ...v5 } }),
      };
      expect(await documents.fault(target as never, request as never, { status, body } as never), path).toBeNull();
    }
    expect(documents.compared()).toBe(paths.length + 2);
  });
});
