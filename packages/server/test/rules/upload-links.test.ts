/** `ref`, `refId` and `field` of an upload (UP11), `allowedTypes` in every write (UP12), and reading files (UP14). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Db } from '../../src/sql/dialect.js';
import { dialects, queryOf } from '../world/databases.js';
import { albumProject, form, type MediaWorld, newMediaWorld, type StoredFile } from '../world/media.js';

type Entry = { readonly data: { readonly id: number; readonly attributes: Record<string, unknown> } };

describe.each(dialects)('files of entries on %s', (dialect) => {
  let world: MediaWorld;
  beforeAll(async () => {
    world = await newMediaWorld(dialect);
  });
  afterAll(() => world.close());

  const image = (name = 'a.png') => ['files', 'x', name, 'image/png'] as const;
  const text = (name = 'a.txt') => ['files', 'x', name] as const;
  const create = async (data: object): Promise<number> => {
    const { status, body } = await world.send('POST', '/api/albums', { data });
    expect(status).toBe(200);
    return (body as Entry).data.id;
  };
  const add = (
    files: readonly (readonly [string, string, string, string?])[],
    [ref, refId, field]: readonly [string, number | string, string],
  ) => world.send('POST', '/api/upload', form(files, { ref, refId: String(refId), field }));
  const shown = async (id: number, populate: string): Promise<Record<string, unknown>> =>
    ((await world.send('GET', `/api/albums/${id}?${populate}`)).body as Entry).data.attributes;
  const names = (value: unknown): readonly string[] =>
    [(value as { data: unknown }).data]
      .flat()
      .flatMap((it) => (it ? [(it as { attributes: StoredFile }).attributes.name] : []));

  it('UP11: a single file is replaced by the last, a list grows at its end, in the order of the request', async () => {
    const id = await create({ title: 'album' });
    expect((await add([image('1.png'), image('2.png')], ['api::album.album', id, 'pictures'])).status).toBe(200);
    expect((await add([image('3.png')], ['api::album.album', id, 'pictures'])).status).toBe(200);
    expect((await add([image('4.png'), image('5.png')], ['api::album.album', id, 'cover'])).status).toBe(200);
    const { cover, pictures } = await shown(id, 'populate=cover,pictures');
    expect([names(cover), names(pictures)]).toEqual([['5.png'], ['1.png', '2.png', '3.png']]);
  });

  it('UP11: it is an update of the entry, except that updatedAt stays', async () => {
    const events: string[] = [];
    const hook = (name: string) => (event: { readonly id?: number; readonly data?: unknown }) => {
      events.push(`${name} ${event.id} ${JSON.stringify(event.data)}`);
    };
    const handlers = { beforeUpdate: hook('before'), afterUpdate: hook('after') } as never;
    const hooked = await newMediaWorld(dialect, { handlers: new Map([['api::album.album', handlers]]) });
    const made = (await hooked.send('POST', '/api/albums', { data: { title: 'album' } })).body as Entry;
    const { id, attributes } = made.data;
    const fields = { ref: 'api::album.album', refId: String(id), field: 'cover' };
    const [file] = (await hooked.send('POST', '/api/upload', form([image()], fields))).body as [StoredFile];
    const after = (await hooked.send('GET', `/api/albums/${id}`)).body as Entry;
    expect(after.data.attributes['updatedAt']).toBe(attributes['updatedAt']);
    expect(events).toEqual([`before ${id} {"cover":${file.id}}`, `after ${id} {"cover":${file.id}}`]);
    await hooked.close();
  });

  it('UP11: a type whose updates the project handles cannot be changed past its handler', async () => {
    const handlers = new Map([['api::album.album', { update: () => ({ data: 'mine' }) } as never]]);
    const handled = await newMediaWorld(dialect, { handlers });
    const made = (await handled.send('POST', '/api/albums', { data: { card: { heading: 'x' } } })).body as Entry;
    const { id } = made.data;
    const shownCard = (await handled.send('GET', `/api/albums/${id}?populate=card`)).body as Entry;
    const card = shownCard.data.attributes['card'] as { id: number };
    for (const [ref, refId, field] of [
      ['api::album.album', id, 'cover'],
      ['parts.card', card.id, 'picture'],
    ] as const)
      expect(
        await handled.send('POST', '/api/upload', form([image()], { ref, refId: String(refId), field })),
      ).toMatchObject({
        status: 403,
        body: { error: { message: expect.stringContaining('handles updates of album itself') } },
      });
    expect([await handled.rows(), handled.files()]).toEqual([[], []]);
    await handled.close();
  });

  it('UP11: components of any depth are found; the others stay as they are', async () => {
    const card = (heading: string) => ({ heading });
    const id = await create({
      title: 'album',
      card: card('one'),
      cards: [card('a'), card('b'), card('c')],
      zone: [
        { __component: 'parts.card', heading: 'z' },
        { __component: 'parts.sheet', inner: card('inner') },
      ],
    });
    const populate =
      'populate[card][populate]=*&populate[cards][populate]=*&populate[zone][populate][inner][populate]=*&populate[zone][populate][picture]=true';
    type Card = { id: number; heading: string; picture?: unknown; inner?: Card };
    const before = (await shown(id, populate)) as unknown as { card: Card; cards: Card[]; zone: Card[] };
    const targets = [before.card, before.cards[1]!, before.zone[0]!, before.zone[1]!.inner!];
    for (const [i, { id: card }] of targets.entries())
      expect((await add([image(`${i}.png`)], ['parts.card', card, 'picture'])).status).toBe(200);
    const after = (await shown(id, populate)) as unknown as typeof before;
    const now = [after.card, after.cards[1]!, after.zone[0]!, after.zone[1]!.inner!];
    expect(now.map((it) => [it.id, it.heading, ...names(it.picture)])).toEqual(
      targets.map((it, i) => [it.id, it.heading, `${i}.png`]),
    );
    expect(after.cards.map((it) => [it.id, it.heading])).toEqual(before.cards.map((it) => [it.id, it.heading]));
    expect(names(after.cards[0]!.picture)).toEqual([]);
  });

  it('UP11: uploads for components of one list at once lose none of them', async () => {
    const id = await create({ cards: Array.from({ length: 6 }, (_, i) => ({ heading: `${i}` })) });
    const populate = 'populate[cards][populate]=*';
    type Card = { id: number; heading: string; picture: unknown };
    const before = (await shown(id, populate))['cards'] as Card[];
    const answers = await Promise.all(
      before.map(({ id: card, heading }) => add([image(`${heading}.png`)], ['parts.card', card, 'picture'])),
    );
    expect(answers.map((it) => it.status)).toEqual(before.map(() => 200));
    const after = (await shown(id, populate))['cards'] as Card[];
    expect(after.map((it) => [it.id, it.heading, ...names(it.picture)])).toEqual(
      before.map((it) => [it.id, it.heading, `${it.heading}.png`]),
    );
  });

  it('UP11: uploads for a component and writes of its siblings never wait for each other in a circle', async () => {
    const i18n = { pluginOptions: { i18n: { localized: true } } };
    const card = { type: 'component', component: 'parts.card', repeatable: true };
    const project = {
      ...albumProject,
      types: {
        note: { ...i18n, attributes: { title: { type: 'string', ...i18n }, code: { type: 'string' }, cards: card } },
      },
    };
    /** Transactions that were asked for, and how often one was begun: again after a deadlock. */
    const runs = { asked: 0, begun: 0 };
    const watch = (db: Db): Db => ({
      ...db,
      write: (work) => {
        runs.asked += 1;
        return db.write((tx) => {
          runs.begun += 1;
          return work(tx);
        });
      },
    });
    const localized = await newMediaWorld(dialect, { project, watch });
    await queryOf(localized.database, `insert into i18n_locale (name, code) values ('en', 'en'), ('de', 'de')`);
    const cards = [{ heading: 'x' }, { heading: 'y' }];
    const made = await localized.send('POST', '/api/notes?populate=cards', { data: { title: 'en', cards } });
    const { id, attributes } = (made.body as Entry).data;
    const [{ id: cardId }] = attributes['cards'] as [{ id: number }];
    await localized.send('POST', `/api/notes/${id}/localizations`, { locale: 'de', title: 'de' });
    const reference = { ref: 'parts.card', refId: String(cardId), field: 'picture' };
    // in groups: a slow machine, too, is through with one before a lock has been waited for too long
    for (let group = 0; group < 6; group++) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_it, i) =>
          i % 2 === 0
            ? localized.send('PUT', `/api/notes/${id}`, { data: { code: `${group} ${i}` } })
            : localized.send('POST', '/api/upload', form([image()], reference)),
        ),
      );
      expect(new Set(answers.map((it) => it.status))).toEqual(new Set([200]));
    }
    expect(runs.begun).toBe(runs.asked);
    await localized.close();
  });

  it('UP11: a single type is named by the id of its entry', async () => {
    const made = await world.send('PUT', '/api/lobby', { data: { title: 'here' } });
    const { id } = (made.body as Entry).data;
    expect((await add([image()], ['api::lobby.lobby', id + 1, 'cover'])).status).toBe(400);
    expect((await add([image()], ['api::lobby.lobby', id, 'cover'])).status).toBe(200);
    const { body } = await world.send('GET', '/api/lobby?populate=cover');
    expect(names((body as Entry).data.attributes['cover'])).toEqual(['a.png']);
  });

  it('UP11: what cannot be linked is refused, and nothing is stored', async () => {
    const id = await create({ title: 'album' });
    const before = [await world.rows(), world.files()];
    for (const target of [
      ...[
        ['api::nope.nope', id, 'cover'],
        ['constructor', id, 'cover'],
        ['__proto__', id, 'cover'],
      ],
      ...[
        ['api::album.album', id, 'title'],
        ['api::album.album', id, 'nope'],
        ['api::album.album', id, 'card'],
      ],
      ...[
        ['api::album.album', 99_999, 'cover'],
        ['api::album.album', 'abc', 'cover'],
        ['api::album.album', '1e0', 'cover'],
      ],
      ...[
        ['api::album.album', '99999999999', 'cover'],
        ['parts.card', 99_999, 'picture'],
      ],
      ['plugin::upload.file', 1, 'related'],
    ] as const) {
      const answer = await add([image()], target as [string, number, string]);
      expect([target, answer.status]).toEqual([target, expect.toSatisfy((it: number) => it === 400 || it === 404)]);
      // 404 is for files and routes
      if (target[1] === 99_999)
        expect(answer).toMatchObject({ status: 400, body: { error: { message: 'refId: there is no such entry' } } });
    }
    expect([await world.rows(), world.files()]).toEqual(before);
    // an incomplete reference links nothing, as in v4
    for (const given of [
      { ref: 'api::album.album', refId: String(id) },
      { ref: '', refId: '1', field: 'cover' },
    ])
      expect(
        (await world.send('POST', '/api/upload', form([image()], given as unknown as Record<string, string>))).status,
      ).toBe(200);
  });

  it('UP12: allowedTypes holds for uploads, creates and updates, at every depth', async () => {
    const id = await create({ title: 'album' });
    const picture = (await world.stored(new Blob(['x'], { type: 'image/png' }), 'a.png')).id;
    const note = (await world.stored('x', 'a.txt')).id;
    for (const [file, field] of [
      [text(), 'cover'],
      [text(), 'pictures'],
      [image(), 'paper'],
    ] as const)
      expect(await add([file], ['api::album.album', id, field])).toMatchObject({
        status: 400,
        // its id is undone with its row
        body: {
          error: { message: expect.stringMatching(`^${field} accepts only .*files of other types: ${file[2]}$`) },
        },
      });
    expect(
      await world.send(
        'POST',
        '/api/albums',
        form([['files.cover', 'x', 'a.txt']], { data: JSON.stringify({ title: 'x', pictures: [note] }) }),
      ),
    ).toMatchObject({
      status: 400,
      body: {
        error: {
          details: {
            errors: [
              { message: 'cover accepts only images; files of other types: a.txt' },
              { message: `pictures accepts only images; files of other types: ${note}` },
            ],
          },
        },
      },
    });
    for (const [data, at] of [
      [{ cover: note }, 'cover'],
      [{ pictures: [picture, note] }, 'pictures'],
      [{ paper: picture }, 'paper'],
      [{ card: { heading: 'x', picture: note } }, 'card.picture'],
      [{ zone: [{ __component: 'parts.sheet', inner: { heading: 'x', picture: note } }] }, 'zone[0].inner.picture'],
    ] as const)
      for (const [method, url] of [
        ['POST', '/api/albums'],
        ['PUT', `/api/albums/${id}`],
      ] as const)
        expect(await world.send(method, url, { data })).toMatchObject({
          status: 400,
          body: {
            error: {
              message: expect.stringMatching(
                `^${at.replace(/[[\]]/g, '\\$&')} accepts only .*files of other types: ${at === 'paper' ? picture : note}$`,
              ),
            },
          },
        });
    expect(
      (await world.send('PUT', `/api/albums/${id}`, { data: { cover: picture, paper: note, any: note } })).status,
    ).toBe(200);
  });

  it('UP12: files that an entry holds already may stay', async () => {
    const picture = (await world.stored(new Blob(['x'], { type: 'image/png' }), 'a.png')).id;
    const id = await create({ title: 'album', pictures: [picture], cover: picture });
    await queryOf(world.database, `update files set mime = 'text/plain' where id = ${picture}`);
    const data = { title: 'again', pictures: [picture], cover: picture };
    expect((await world.send('PUT', `/api/albums/${id}`, { data })).status).toBe(200);
    expect((await add([image('more.png')], ['api::album.album', id, 'pictures'])).status).toBe(200);
    expect((await world.send('POST', '/api/albums', { data })).status).toBe(400);
  });

  it('UP14: lists are paged and filtered like others, with start and limit at the top level', async () => {
    const list = async (query: string) => (await world.send('GET', `/api/upload/files?${query}`)).body as StoredFile[];
    const all = await list('fields=name&pagination[pageSize]=100');
    expect(all.map((it) => Object.keys(it))).toEqual(all.map(() => ['id', 'name']));
    expect(await list('fields=name&start=1&limit=2')).toEqual(all.slice(1, 3));
    expect(await list('fields=name&pagination[page]=2&pagination[pageSize]=2')).toEqual(all.slice(2, 4));
    for (const query of [
      'start=x',
      'limit=1.5',
      'filters[folder][id]=1',
      'filters[folderPath]=/1',
      'fields=folderPath',
      'populate=nope',
      'filters[nope]=1',
    ])
      expect([query, (await world.send('GET', `/api/upload/files?${query}`)).status]).toEqual([query, 400]);
    // the same query counts, without its page
    const count = async (query: string) => (await world.send('GET', `/api/upload/files/count?${query}`)).body;
    const images = all.filter((it) => it.name.endsWith('.png')).length;
    expect([await count(''), await count('sort=name&start=1&limit=2')]).toEqual([all.length, all.length]);
    expect(await count('filters[name][$endsWith]=.png')).toBe(images);
    expect((await world.send('GET', '/api/upload/files/count?filters[nope]=1')).status).toBe(400);
    for (const id of ['abc', '0', '01', '1e0', '-1', '1.0', '99999999999', '%201'])
      for (const method of ['GET', 'DELETE'])
        expect(await world.send(method, `/api/upload/files/${id}`)).toMatchObject({
          status: 404,
          body: { error: { message: 'file.notFound' } },
        });
    for (const id of ['abc', '', '0', '99999'])
      expect(await world.send('POST', `/api/upload?id=${id}`, form([text()]))).toMatchObject({
        status: 404,
        body: { error: { message: 'Entity not found' } },
      });
    expect((await world.send('PUT', '/api/upload', {})).status).toBe(405);
  });
});
