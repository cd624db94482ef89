/** Forms that write entries with their files (BO18): where files go, and that nothing is stored when anything is refused. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Event, Handlers } from '../../src/handlers/handlers.js';
import { dialects } from '../world/databases.js';
import { form, type MediaWorld, newMediaWorld } from '../world/media.js';

const ALBUM = 'api::album.album';
const svg = new Blob(['<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30"/>'], { type: 'image/svg+xml' });

type Files = Parameters<typeof form>[0];

describe.each(dialects)('entries with files on %s', (dialect) => {
  let world: MediaWorld;
  let hooks: { readonly [name: string]: ((event: Event) => unknown) | undefined } = {};
  let create: Handlers['create'];
  beforeAll(async () => {
    const handlers: Handlers = {
      create: (step) => (create ? create(step) : step.next()),
      beforeCreate: async (event) => void (await hooks['beforeCreate']?.(event)),
      afterCreate: async (event) => void (await hooks['afterCreate']?.(event)),
      beforeUpdate: async (event) => void (await hooks['beforeUpdate']?.(event)),
    };
    world = await newMediaWorld(dialect, { handlers: new Map([[ALBUM, handlers]]) });
  });
  afterAll(() => world.close());
  afterEach(async () => {
    hooks = {};
    create = undefined;
    for (const [list, one] of [
      ['/api/albums?fields=id', '/api/albums'],
      ['/api/upload/files?fields=id', '/api/upload/files'],
    ] as const) {
      const { body } = await world.send('GET', list);
      const entries = (Array.isArray(body) ? body : (body as { data: unknown }).data) as { id: number }[];
      for (const { id } of entries) expect((await world.send('DELETE', `${one}/${id}`)).status).toBe(200);
    }
    expect([world.files(), world.leftovers(), world.faults]).toEqual([[], [], []]);
  });

  const send = (method: string, path: string, data: unknown, files: Files) =>
    world.send(method, `/api${path}`, form(files, data === undefined ? {} : { data: JSON.stringify(data) }));
  const post = (data: unknown, files: Files) => send('POST', '/albums', data, files);
  const created = async (data: unknown, files: Files): Promise<number> => {
    const { status, body } = await post(data, files);
    expect([status, body]).toEqual([200, expect.anything()]);
    return (body as { data: { id: number } }).data.id;
  };
  /** The entry with names in place of files. */
  const shown = async (id: number): Promise<unknown> => {
    const populate =
      'populate[cover]=true&populate[paper]=true&populate[pictures]=true&populate[any]=true&populate[card][populate]=*&populate[cards][populate]=*&populate[zone][populate][picture]=true&populate[zone][populate][pages]=true&populate[zone][populate][inner][populate]=*';
    const { body } = await world.send('GET', `/api/albums/${id}?fields=title&${populate}`);
    return JSON.parse(JSON.stringify((body as { data: { attributes: unknown } }).data.attributes), (key, value) => {
      if (key === 'id') return undefined;
      if (value === null || typeof value !== 'object' || !('data' in value)) return value;
      const { data } = value as { data: unknown };
      const nameOf = (it: unknown) => (it as { attributes: { name: string } }).attributes.name;
      return Array.isArray(data) ? data.map(nameOf) : data && nameOf(data);
    });
  };
  const nothing = async (): Promise<void> => {
    const { body } = await world.send('GET', '/api/albums?fields=title');
    expect([(body as { data: unknown }).data, await world.rows(), world.files(), world.leftovers()]).toEqual([
      [],
      [],
      [],
      [],
    ]);
  };

  it('BO18: files go to attributes, components, lists of components and zones, in the order of the form', async () => {
    const data = {
      title: 'All',
      card: { heading: 'A' },
      cards: [{ heading: 'B' }, { heading: 'C' }],
      zone: [
        { __component: 'parts.sheet', inner: { heading: 'D' } },
        { __component: 'parts.card', heading: 'E' },
      ],
    };
    const id = await created(data, [
      ['files.pictures', svg, 'p1.svg'],
      ['files.zone[0].pages', 'text', 'q1.txt'],
      ['files.cover', svg, 'cover.svg'],
      ['files.card.picture', svg, 'card.svg'],
      ['files.cards.1.picture', svg, 'second.svg'],
      ['files.zone.0.inner.picture', svg, 'inner.svg'],
      ['files.zone[1].picture', svg, 'zone.svg'],
      ['files.zone.0.pages', 'text', 'q2.txt'],
      ['files.pictures', svg, 'p2.svg'],
    ]);
    expect(await shown(id)).toEqual({
      title: 'All',
      cover: 'cover.svg',
      paper: null,
      any: null,
      pictures: ['p1.svg', 'p2.svg'],
      card: { heading: 'A', picture: 'card.svg' },
      cards: [
        { heading: 'B', picture: null },
        { heading: 'C', picture: 'second.svg' },
      ],
      zone: [
        { __component: 'parts.sheet', pages: ['q1.txt', 'q2.txt'], inner: { heading: 'D', picture: 'inner.svg' } },
        { __component: 'parts.card', heading: 'E', picture: 'zone.svg' },
      ],
    });
    expect(await world.rows()).toEqual([
      ...['p1.svg', 'q1.txt', 'cover.svg', 'card.svg', 'second.svg', 'inner.svg', 'zone.svg', 'q2.txt', 'p2.svg'],
    ]);
  });

  it('BO18: files follow those of data in any of its forms, or else those of the entry', async () => {
    const [one, two] = [await world.stored(svg, '1.svg'), await world.stored(svg, '2.svg')];
    const picture = (name: string): Files => [['files.pictures', svg, name]];
    const id = await created({ title: 'x', pictures: one.id }, picture('a.svg'));
    const change = async (data: unknown, name: string) => {
      expect(await send('PUT', `/albums/${id}`, data, picture(name))).toMatchObject({ status: 200 });
      return ((await shown(id)) as { pictures: unknown }).pictures;
    };
    expect(((await shown(id)) as { pictures: unknown }).pictures).toEqual(['1.svg', 'a.svg']);
    expect(await change({}, 'b.svg')).toEqual(['1.svg', 'a.svg', 'b.svg']);
    expect(await change({ pictures: [two.id, one.id] }, 'c.svg')).toEqual(['2.svg', '1.svg', 'c.svg']);
    expect(await change({ pictures: { set: [{ id: one.id }] } }, 'd.svg')).toEqual(['1.svg', 'd.svg']);
    expect(await change({ pictures: { id: two.id } }, 'e.svg')).toEqual(['2.svg', 'e.svg']);
    expect(await change({ pictures: { set: null } }, 'f.svg')).toEqual(['f.svg']);
    expect(await change({ pictures: null }, 'g.svg')).toEqual(['g.svg']);
    expect(await change({ pictures: [] }, 'h.svg')).toEqual(['h.svg']);
    expect(await send('PUT', `/albums/${id}`, { pictures: { connect: [1] } }, picture('i.svg'))).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('connect') } },
    });
    expect(await change({}, 'j.svg')).toEqual(['h.svg', 'j.svg']);
  });

  it('BO18: a list inside a component that is kept grows, too', async () => {
    const first = { zone: [{ __component: 'parts.sheet' }] };
    const id = await created(first, [['files.zone.0.pages', 'text', '1.txt']]);
    const { body } = await world.send('GET', `/api/albums/${id}?populate=zone`);
    const { zone } = (body as { data: { attributes: { zone: { id: number; __component: string }[] } } }).data
      .attributes;
    const kept = { zone: [{ __component: 'parts.card', heading: 'new' }, ...zone] };
    await send('PUT', `/albums/${id}`, kept, [['files.zone.1.pages', 'text', '2.txt']]);
    expect(await shown(id)).toMatchObject({ zone: [{ heading: 'new' }, { pages: ['1.txt', '2.txt'] }] });
  });

  it('BO18: a single file replaces the value of data and of the entry; of several the last is used, and all are stored', async () => {
    const other = await world.stored(svg, 'other.svg');
    const id = await created({ cover: other.id }, [['files.cover', svg, 'a.svg']]);
    expect(await shown(id)).toMatchObject({ cover: 'a.svg' });
    await send('PUT', `/albums/${id}`, {}, [
      ['files.cover', svg, 'b.svg'],
      ['files.cover', svg, 'c.svg'],
    ]);
    expect(await shown(id)).toMatchObject({ cover: 'c.svg' });
    expect(await world.rows()).toEqual(['other.svg', 'a.svg', 'b.svg', 'c.svg']);
  });

  it('BO18: the first PUT of a single type creates its entry with its file', async () => {
    const put = (data: unknown, files: Files) =>
      send('PUT', '/lobby?fields=title&populate[cover][fields]=name', data, files);
    const entry = (title: string, name: string) => ({
      status: 200,
      body: { data: { attributes: { title, cover: { data: { attributes: { name } } } } } },
    });
    expect(await put({ title: 'first' }, [['files.cover', svg, 'a.svg']])).toMatchObject(entry('first', 'a.svg'));
    expect(await put({}, [['files.cover', svg, 'b.svg']])).toMatchObject(entry('first', 'b.svg'));
    await world.send('DELETE', '/api/lobby');
  });

  it('BO18: a form without files is a body', async () => {
    expect(await post({ title: 'x' }, [])).toMatchObject({
      status: 200,
      body: { data: { attributes: { title: 'x' } } },
    });
  });

  const misplaced: readonly (readonly [name: string, data: unknown, message: RegExp])[] = [
    ['cover', {}, /"cover" .*begins with "files\."/],
    ['data', {}, /"data" .*begins with "files\."/],
    ['files', {}, /"files" .*begins with "files\."/],
    ['files[cover]', {}, /"files\[cover\]" .*begins with "files\."/],
    ['files.', {}, /"files\." .*no media attribute ""/],
    ['files.covr', {}, /"files\.covr" .*no media attribute "covr".*"cover"/],
    ['files.title', {}, /"files\.title" .*no media attribute "title"/],
    ['files.constructor', {}, /no media attribute "constructor"/],
    ['files.__proto__.cover', {}, /no media attribute "__proto__"/],
    ['files.cover.name', {}, /"files\.cover\.name" .*the name ends with "cover"/],
    ['files.pictures[0]', {}, /the name ends with "pictures"/],
    ['files.card', { card: { heading: 'x' } }, /no media attribute "card"/],
    ['files.card.picture', {}, /"files\.card\.picture" .*data has no component there/],
    ['files.card.picture', { card: null }, /data has no component there/],
    ['files.card.nope', { card: { heading: 'x' } }, /parts\.card has no media attribute "nope".*picture/],
    ['files.cards.picture', { cards: [{ heading: 'x' }] }, /data has no component there/],
    ['files.cards.0', { cards: [{ heading: 'x' }] }, /data has no component there/],
    ['files.cards.1.picture', { cards: [{ heading: 'x' }] }, /data has no component there/],
    ['files.cards.-1.picture', { cards: [{ heading: 'x' }] }, /data has no component there/],
    ['files.cards.00.picture', { cards: [{ heading: 'x' }] }, /data has no component there/],
    ['files.cards.length.picture', { cards: [{ heading: 'x' }] }, /data has no component there/],
    [
      'files.zone.0.picture',
      { zone: [{ __component: 'parts.sheet' }] },
      /parts\.sheet has no media attribute "picture"/,
    ],
    ['files.zone.0.picture', { zone: [{ heading: 'x' }] }, /data names no component there/],
    ['files.zone.0.picture', { zone: [{ __component: 'parts.nope' }] }, /data names no component there/],
  ];
  it.each(misplaced)('BO18: a file in %s beside %j is a 400 that names it', async (name, data, message) => {
    const answer = await post({ title: 'x', ...(data as object) }, [
      ['files.paper', 'text', 'fine.txt'],
      [name, svg, 'a.svg'],
    ]);
    expect(answer).toMatchObject({
      status: 400,
      body: { data: null, error: { name: 'ValidationError', message: expect.stringMatching(message) } },
    });
    await nothing();
  });

  const refused: readonly (readonly [
    what: string,
    data: string | undefined,
    files: Files,
    status: number,
    message: RegExp,
  ])[] = [
    ['no data', undefined, [['files.cover', svg, 'a.svg']], 400, /provide your data in a JSON 'data' field/],
    ['data that is no JSON', '{title', [['files.cover', svg, 'a.svg']], 400, /'data' should be a valid JSON/],
    ['data that is null', 'null', [['files.cover', svg, 'a.svg']], 400, /Missing "data"/],
    ['data that is a list', '[]', [['files.cover', svg, 'a.svg']], 400, /must be a `object` type/],
    ['an unknown key', '{"titel":"x"}', [['files.cover', svg, 'a.svg']], 400, /no attribute "titel"/],
    ['a fault in a component', '{"card":{}}', [['files.card.picture', svg, 'a.svg']], 400, /card\.heading/],
    ['a file of another type', '{}', [['files.cover', 'text', 'a.txt']], 400, /cover accepts only images/],
    [
      'one in a component',
      '{"card":{"heading":"x"}}',
      [['files.card.picture', 'text', 'a.txt']],
      400,
      /accepts only images/,
    ],
    ['an absent file', '{"pictures":[77]}', [['files.pictures', svg, 'a.svg']], 400, /do not exist: .*77/],
    ['a bad name', '{}', [['files.any', 'text', 'a/b.txt']], 400, /invalid characters/],
    ['an empty file', '{}', [['files.any', '', 'a.txt']], 400, /Files are empty/],
    ['a damaged image', '{}', [['files.cover', new Blob(['\x89PNG\r\n\x1a\n']), 'a.png']], 400, /./],
  ];
  it.each(refused)('BO18: %s: neither the entry nor a file is stored', async (_what, data, files, status, message) => {
    const body = form([['files.paper', 'text', 'fine.txt'], ...files], data === undefined ? {} : { data });
    const answer = await world.send('POST', '/api/albums', body);
    expect(answer).toMatchObject({ status, body: { error: { message: expect.stringMatching(message) } } });
    await nothing();
  });

  it('BO18: two fields "data" and a text in place of a file are a 400', async () => {
    const twice = form([], { data: '{}' });
    twice.append('data', '{}');
    const text = form([], { data: '{}', 'files.cover': '[object File]' });
    for (const [body, message] of [
      [twice, /'data' should be/],
      [text, /"files\.cover" must hold a file/],
    ] as const)
      expect(await world.send('POST', '/api/albums', body)).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringMatching(message) } },
      });
    await nothing();
  });

  it('BO18: an absent entry is a 404, and a failed precondition a 412', async () => {
    expect((await send('PUT', '/albums/99999', {}, [['files.cover', svg, 'a.svg']])).status).toBe(404);
    const id = await created({}, [['files.cover', svg, 'kept.svg']]);
    const answer = await fetch(`${world.base}/api/albums/${id}`, {
      method: 'PUT',
      headers: { 'if-match': '"other"' },
      body: form([['files.cover', svg, 'a.svg']], { data: '{}' }),
    });
    expect(answer.status).toBe(412);
    expect([await world.rows(), world.files().length]).toEqual([['kept.svg'], 1]);
  });

  it('BO18: hooks see the ids of the files in data; a hook that refuses leaves nothing', async () => {
    let seen: unknown;
    hooks = {
      beforeCreate: ({ data }) => {
        seen = JSON.parse(JSON.stringify(data));
      },
    };
    await created({ cards: [{ heading: 'x' }] }, [
      ['files.cover', svg, 'a.svg'],
      ['files.cards.0.picture', svg, 'b.svg'],
      ['files.pictures', svg, 'c.svg'],
    ]);
    const id = expect.any(Number);
    expect(seen).toEqual({ cover: id, cards: [{ heading: 'x', picture: id }], pictures: { connect: [id] } });
    hooks = { afterCreate: ({ refuse }) => refuse('not today', 409) };
    expect((await post({}, [['files.cover', svg, 'd.svg']])).status).toBe(409);
    expect(await world.rows()).toEqual(['a.svg', 'b.svg', 'c.svg']);
  });

  it('BO18: a handler gets the data as a body, may change it, and what it calls next for stores the files', async () => {
    create = async ({ request, next }) => {
      const { data } = request.body as { data: { title: string } };
      return next({ body: { data: { ...data, title: `${data.title}!` } } });
    };
    const id = await created({ title: 'x' }, [['files.cover', svg, 'a.svg']]);
    expect(await shown(id)).toMatchObject({ title: 'x!', cover: 'a.svg' });
    create = async () => ({ data: null, meta: {} });
    expect((await post({ title: 'y' }, [['files.cover', svg, 'b.svg']])).status).toBe(200);
    expect(await world.rows()).toEqual(['a.svg']);
  });

  it('BO18: forms that are sent at the same time to one entry each add their file', async () => {
    const id = await created({ title: 'x' }, []);
    const names = Array.from({ length: 5 }, (_, i) => `${i}.svg`);
    const answers = await Promise.all(
      names.map((name) => send('PUT', `/albums/${id}`, {}, [['files.pictures', svg, name]])),
    );
    expect(answers.map((it) => it.status)).toEqual(names.map(() => 200));
    const { pictures } = (await shown(id)) as { pictures: string[] };
    expect([...pictures].sort()).toEqual(names);
  });
});
