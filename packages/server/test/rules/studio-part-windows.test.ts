/** SU2: windows of the lists in components and zones, over HTTP: they are what populate shows, for those who may. */
import { describe, expect, it } from 'vitest';
import { openedForTests } from '../world/opening.js';
import { errorOf, newTestServer, refusal } from '../world/server.js';
import { newSmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

const books = (kind = 'manyToMany', rest = {}) => ({
  type: 'relation',
  relation: kind,
  target: 'api::book.book',
  ...rest,
});
const component = (uid: string, repeatable: boolean, rest = {}) => ({
  type: 'component',
  component: uid,
  repeatable,
  ...rest,
});
const project = {
  types: {
    book: { attributes: { name: { type: 'string' } }, options: { draftAndPublish: true } },
    secret: { attributes: { name: { type: 'string' } } },
    page: {
      options: { draftAndPublish: true },
      attributes: {
        one: component('parts.list', false),
        many: component('parts.list', true),
        zone: { type: 'dynamiczone', components: ['parts.list', 'parts.group', 'parts.other'] },
        hidden: component('parts.list', false, { private: true }),
      },
    },
    front: { kind: 'singleType', attributes: { one: component('parts.list', false) } },
  },
  components: {
    'parts.list': {
      title: { type: 'string' },
      books: books(),
      own: books('oneToMany'),
      closed: books('manyToMany', { private: true }),
      secrets: { type: 'relation', relation: 'manyToMany', target: 'api::secret.secret' },
      single: books('manyToOne'),
      pictures: { type: 'media', multiple: true },
    },
    'parts.group': { lists: component('parts.list', true) },
    'parts.other': { books: books() },
  },
};

interface Row {
  readonly id: number;
}
interface Window {
  readonly data: readonly Row[];
  readonly meta: {
    readonly pagination: Readonly<Record<string, number>>;
    readonly positions: readonly number[];
    readonly etag?: string;
  };
}
interface Page {
  readonly one: Row;
  readonly many: readonly Row[];
  readonly zone: readonly (Row & { readonly lists?: readonly Row[] })[];
  readonly hidden: Row;
}

const notFound = refusal(404, 'NotFoundError', 'Not Found');
const forbidden = refusal(403, 'ForbiddenError', 'Forbidden');

describe.each(dialects)('SU2 lists in components on %s', (dialect) => {
  const world = openedForTests(async () => {
    const made = await newSmallWorld(dialect, project, { mode: 'open' });
    const write = async (method: string, path: string, data: unknown): Promise<void> => {
      const { status, text } = await made.send(method, `/api/${path}`, { data });
      if (status !== 200) throw new Error(text);
    };
    for (const name of ['a', 'b', 'c', 'd', 'e']) await write('POST', 'books', { name });
    await write('PUT', 'books/4', { publishedAt: null });
    await write('POST', 'pages', {
      one: { books: [3, 1, 2], own: [5, 2], secrets: [] },
      many: [{ books: [1] }, { books: [5, 4, 3, 2, 1] }],
      zone: [
        { __component: 'parts.other', books: [2, 1] },
        { __component: 'parts.list', books: [1, 2] },
        { __component: 'parts.group', lists: [{ books: [4] }, { books: [5, 1] }] },
      ],
      hidden: { books: [1] },
    });
    await write('POST', 'pages', { one: { books: [5] } });
    await write('PUT', 'front', { one: { books: [2, 1] } });
    return made;
  });
  const page = async (id = 1): Promise<Page> => {
    const populate = 'populate[one]=true&populate[many]=true&populate[zone][on][parts.group][populate]=lists';
    const on = 'populate[zone][on][parts.list]=true&populate[zone][on][parts.other]=true';
    const { body } = await world.send('GET', `/api/pages/${id}?${populate}&${on}`);
    return (body as { data: { attributes: Page } }).data.attributes;
  };
  const read = async (path: string): Promise<Window> => {
    const { status, body, text } = await world.send('GET', `/api/${path}`);
    expect(status, text).toBe(200);
    return body as Window;
  };
  const ids = async (path: string): Promise<readonly number[]> => (await read(path)).data.map((it) => it.id);

  it('SU2 a component is named by its attribute and id, one of a zone by its uid, too; components inside go on', async () => {
    const { one, many, zone } = await page();
    expect(await ids(`pages/1/relations/one/${one.id}/books`)).toEqual([3, 1, 2]);
    expect(await ids(`pages/1/relations/one/${one.id}/own`)).toEqual([5, 2]);
    expect(await ids(`pages/1/relations/many/${many[1]!.id}/books`)).toEqual([5, 3, 2, 1]);
    expect(await ids(`pages/1/relations/zone/parts.other/${zone[0]!.id}/books`)).toEqual([2, 1]);
    expect(await ids(`pages/1/relations/zone/parts.list/${zone[1]!.id}/books`)).toEqual([1, 2]);
    const group = `pages/1/relations/zone/parts.group/${zone[2]!.id}`;
    expect(await ids(`${group}/lists/${zone[2]!.lists![1]!.id}/books`)).toEqual([5, 1]);
    const { body } = await world.send('GET', '/api/front?populate=one');
    const front = (body as { data: { attributes: Page } }).data.attributes;
    expect(await ids(`front/relations/one/${front.one.id}/books`)).toEqual([2, 1]);
    expect(await ids(`pages/1/relations/one/${one.id}/pictures`)).toEqual([]);
  });

  it('SU2 windows, filters, searches and drafts are those of a list of the entry; two statements read one', async () => {
    const { many } = await page();
    const list = `pages/1/relations/many/${many[1]!.id}/books`;
    const { data, meta } = await read(`${list}?publicationState=preview&pagination[start]=1&pagination[limit]=2`);
    expect(data.map((it) => it.id)).toEqual([4, 3]);
    expect(meta).toMatchObject({ pagination: { start: 1, limit: 2, total: 5 }, positions: [1, 2] });
    const either = await read(`${list}?filters[$or][0][name]=e&filters[$or][1][name]=a`);
    expect([either.data.map((it) => it.id), either.meta.positions]).toEqual([
      [5, 1],
      [0, 3],
    ]);
    const searched = await read(`${list}?_q=b&pagination[start]=0&pagination[limit]=1`);
    expect([searched.data.map((it) => it.id), searched.meta.positions]).toEqual([[2], [2]]);
    expect(await ids(`${list}?pagination[start]=4`)).toEqual([]);
    expect(errorOf(await world.send('GET', `/api/${list}?sort=name`))).toMatchObject({
      status: 400,
      errors: [{ path: ['sort'] }],
    });
  });

  it("SU2 its etag is the entry's: a change elsewhere in the entry is a change", async () => {
    const { one } = await page(2);
    const { meta } = await read(`pages/2/relations/one/${one.id}/books`);
    const change = { data: { one: { id: one.id, books: { connect: [{ id: 1, position: { start: true } }] } } } };
    const headers = { 'if-match': meta.etag! };
    expect((await world.send('PUT', '/api/pages/2', change, headers)).status).toBe(200);
    expect(await ids(`pages/2/relations/one/${one.id}/books`)).toEqual([1, 5]);
    expect((await world.send('PUT', '/api/pages/2', change, headers)).status).toBe(412);
  });

  it('SU2 a component is found only where it is: in its entry, attribute and zone', async () => {
    const [first, second] = [await page(1), await page(2)];
    const there = (path: string) => world.send('GET', `/api/${path}`);
    for (const path of [
      // of another entry
      `pages/1/relations/one/${second.one.id}/books`,
      `pages/2/relations/one/${first.one.id}/books`,
      // of another attribute
      `pages/1/relations/many/${first.one.id}/books`,
      `pages/1/relations/zone/parts.list/${first.many[0]!.id}/books`,
      // not what the zone takes, no id, no list
      `pages/1/relations/zone/parts.none/${first.zone[0]!.id}/books`,
      `pages/1/relations/zone/constructor/${first.zone[0]!.id}/books`,
      `pages/1/relations/one/0${first.one.id}/books`,
      'pages/1/relations/one/999999/books',
      `pages/1/relations/one/${first.one.id}`,
      `pages/1/relations/one/${first.one.id}/`.slice(0, -1),
      `pages/9/relations/one/${first.one.id}/books`,
    ])
      expect([path, (await there(path)).body]).toEqual([path, notFound]);
    for (const [path, message] of [
      [`pages/1/relations/one/${first.one.id}/boks`, 'parts.list has no relation list "boks". Did you mean "books"?'],
      [`pages/1/relations/one/${first.one.id}/title`, 'parts.list has no relation list "title"'],
      [`pages/1/relations/one/${first.one.id}/single`, 'parts.list has no relation list "single"'],
      [`pages/1/relations/one/${first.one.id}/closed`, 'parts.list has no relation list "closed"'],
      [`pages/1/relations/hidden/1/books`, 'page has no relation list "hidden"'],
      [`pages/1/relations/ones/1/books`, 'page has no relation list "ones". Did you mean "one"?'],
      [`pages/1/relations/one/${first.one.id}/books/1/books`, 'parts.list has no relation list "books"'],
    ] as const) {
      const { status, name, message: said } = errorOf(await there(path));
      expect([path, status, name]).toEqual([path, 404, 'NotFoundError']);
      expect(said).toContain(message);
    }
  });

  it('SU2 the list of a draft is seen with drafts only', async () => {
    const { one } = await page(1);
    await world.send('PUT', '/api/pages/1', { data: { publishedAt: null } });
    const list = `pages/1/relations/one/${one.id}/books`;
    expect((await world.send('GET', `/api/${list}`)).body).toEqual(notFound);
    expect(await ids(`${list}?publicationState=preview`)).toEqual([3, 1, 2]);
    await world.send('PUT', '/api/pages/1', { data: { publishedAt: new Date(0).toISOString() } });
  });

  it('SU2 it needs findOne of the type and find of what the list leads to; OpenAPI names the lists that may be read', async () => {
    const { one } = await page(1);
    const server = await newTestServer(world.db, world.model, {});
    await world.insert('up_permissions', [
      { id: 1, action: 'api::page.page.findOne' },
      { id: 2, action: 'api::book.book.find' },
    ]);
    await world.insert('up_permissions_role_links', [
      { id: 1, permission_id: 1, role_id: 1, permission_order: 1 },
      { id: 2, permission_id: 2, role_id: 1, permission_order: 2 },
    ]);
    const list = `/api/pages/1/relations/one/${one.id}`;
    expect((await server.get(`${list}/books`)).status).toBe(200);
    expect((await server.get(`${list}/secrets`)).body).toEqual(forbidden);
    expect((await server.get(`/api/front/relations/one/1/books`)).body).toEqual(forbidden);
    interface Described {
      readonly get: { readonly parameters: readonly { readonly name?: string; readonly description?: string }[] };
    }
    const { paths } = (await server.get('/api/openapi.json')).body as {
      readonly paths: Readonly<Record<string, Described>>;
    };
    const described = paths['/api/pages/{id}/relations/{path}']?.get.parameters.find((it) => it.name === 'path');
    expect(described?.description).toContain('`zone/parts.group/:id/lists/:id/books`');
    expect(described?.description).not.toMatch(/secrets|closed|hidden/);
    await server.close();
  });
});
