/** Q19, R19: polymorphic relations, whose entries may be of any type. */
import { beforeAll, describe, expect, it } from 'vitest';
import { tablesOf } from '../../src/model/storage.js';
import type { Db, ReadProgram } from '../../src/sql/dialect.js';
import { insertGrants } from '../world/grants.js';
import { openedForTests } from '../world/opening.js';
import { newSmallWorld, type SmallOptions, type SmallProject, type SmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

const toAny = (relation: 'morphToOne' | 'morphToMany') => ({ type: 'relation', relation });
const back = (relation: 'morphOne' | 'morphMany', target: string, morphBy: string) => ({
  type: 'relation',
  relation,
  target,
  morphBy,
});

const project: SmallProject = {
  types: {
    book: {
      options: { draftAndPublish: true },
      attributes: {
        title: { type: 'string' },
        secret: { type: 'string', private: true },
        password: { type: 'password' },
        author: { type: 'relation', relation: 'manyToOne', target: 'api::person.person' },
        cover: { type: 'media' },
        gallery: { type: 'media', multiple: true },
        card: { type: 'component', component: 'parts.card' },
        shelves: back('morphMany', 'api::shelf.shelf', 'things'),
      },
    },
    person: {
      attributes: {
        name: { type: 'string' },
        tags: back('morphMany', 'api::tag.tag', 'subject'),
        seat: back('morphOne', 'api::shelf.shelf', 'things'),
      },
    },
    tag: { attributes: { text: { type: 'string' }, subject: toAny('morphToOne') } },
    shelf: { attributes: { name: { type: 'string' }, things: toAny('morphToMany') } },
    plaque: { attributes: { name: { type: 'string' }, subject: { ...toAny('morphToOne'), required: true } } },
  },
  components: {
    'parts.card': { text: { type: 'string' }, picture: { type: 'media' }, links: toAny('morphToMany') },
  },
};

const book = (id: number) => ({ __type: 'api::book.book', id });
const person = (id: number) => ({ __type: 'api::person.person', id });

interface Element {
  readonly __type: string;
  readonly id: number;
}

const openWorld = async (dialect: (typeof dialects)[number], options: SmallOptions = {}): Promise<SmallWorld> => {
  const world = await newSmallWorld(dialect, project, options);
  const published = 1_700_000_000_000;
  await world.insert('books', [
    { id: 1, title: 'Tides', secret: 'hush', password: '$2b$10$hash', published_at: published },
    { id: 2, title: 'Draft' },
    { id: 3, title: 'Salt', published_at: published },
  ]);
  await world.insert('persons', [
    { id: 1, name: 'Ada' },
    { id: 2, name: 'Bo' },
  ]);
  await world.insert('books_author_links', [{ id: 1, book_id: 1, person_id: 2 }]);
  await world.insert('files', [
    { id: 1, name: 'a.png', mime: 'image/png', url: '/uploads/a.png' },
    { id: 2, name: 'b.png', mime: 'image/png', url: '/uploads/b.png' },
  ]);
  return world;
};

/** A world whose shelf 1 holds, in this order: person 2, book 1, a draft, a type and an entry that do not exist, person 1. */
const openShelf = async (dialect: (typeof dialects)[number], options: SmallOptions = {}): Promise<SmallWorld> => {
  const world = await openWorld(dialect, options);
  await world.insert('shelfs', [
    { id: 1, name: 'Left' },
    { id: 2, name: 'Empty' },
  ]);
  const rows = [
    [book(1), 2],
    [book(2), 3],
    [person(2), 1],
    [{ __type: 'api::gone.gone', id: 1 }, 4],
    [book(99), 5],
    [person(1), 5],
  ] as const;
  await world.insert(
    'shelfs_things_morphs',
    rows.map(([{ __type, id }, order], i) => ({ id: i + 1, shelf_id: 1, things_id: id, things_type: __type, order })),
  );
  await world.insert('tags', [
    { id: 1, text: 'blue', target_id: 1, target_type: 'api::book.book' },
    { id: 2, text: 'red', target_id: 2, target_type: 'api::book.book' },
    { id: 3, text: 'none' },
    { id: 4, text: 'lost', target_id: 77, target_type: 'api::book.book' },
  ]);
  return world;
};

const dataOf = async (
  world: SmallWorld,
  method: string,
  url: string,
  data?: unknown,
): Promise<Record<string, unknown>> => {
  const { status, body, text } = await world.send(method, `/api/${url}`, data === undefined ? undefined : { data });
  expect([status, text]).toEqual([200, text]);
  return (body as { data: { attributes: Record<string, unknown> } }).data.attributes;
};
const thingsOf = async (world: SmallWorld, query: string, id = 1): Promise<unknown> =>
  (await dataOf(world, 'GET', `shelfs/${id}?fields=id&${query}`))['things'];
const pairs = (things: unknown): unknown =>
  (things as readonly Element[] | undefined)?.map(({ __type, id }) => `${__type.split('.')[1]} ${id}`);

const messageOf = async (world: SmallWorld, method: string, url: string, data?: unknown): Promise<unknown> => {
  const { status, body } = await world.send(method, `/api/${url}`, data === undefined ? undefined : { data });
  expect(status).toBe(400);
  return (body as { error: { message: string } }).error.message;
};

describe.each(dialects)('polymorphic relations read on %s', (dialect) => {
  const sent: string[] = [];
  function* watched<T>(program: ReadProgram<T>): ReadProgram<T> {
    let step = program.next();
    while (step.done !== true) {
      sent.push(...step.value.map((it) => it.sql));
      step = program.next(yield step.value);
    }
    return step.value;
  }
  const watch = (db: Db): Db => ({
    ...db,
    read: (program) => db.read(() => watched(program())),
    readPlanned: ({ plan, values, begin }) => db.read(() => watched(begin(plan, values, db.dialect))),
  });
  const world = openedForTests(() => openShelf(dialect, { watch }));

  it.each([
    'populate=things',
    'populate=*',
    'populate[things]=true',
    'populate[0]=things',
    'populate[things][populate]=',
  ])('Q19: %s shows bare entries with their type, by order, then link', async (query) => {
    expect(await thingsOf(world, query)).toEqual([
      { ...person(2), name: 'Bo', createdAt: null, updatedAt: null },
      { ...book(1), title: 'Tides', createdAt: null, updatedAt: null, publishedAt: '2023-11-14T22:13:20.000Z' },
      { ...person(1), name: 'Ada', createdAt: null, updatedAt: null },
    ]);
  });

  it('Q19: the key is absent without populate, and when no entry is shown', async () => {
    expect(await dataOf(world, 'GET', 'shelfs/2?fields=name&populate=things')).toEqual({ name: 'Empty' });
    expect(Object.keys(await dataOf(world, 'GET', 'shelfs/1'))).not.toContain('things');
    expect(await thingsOf(world, 'populate[things][on][api::tag.tag]=true')).toBe(undefined);
  });

  it('Q19: a morphToOne is one bare entry with its type, or null', async () => {
    const shown = async (id: number) =>
      (await dataOf(world, 'GET', `tags/${id}?populate[subject][fields]=title`))['subject'];
    expect([await shown(1), await shown(3), await shown(4)]).toEqual([{ ...book(1), title: 'Tides' }, null, null]);
  });

  it('Q19: private and password attributes are never shown, and cannot be named', async () => {
    const { text } = await world.send('GET', '/api/shelfs?populate[things][populate]=*&publicationState=preview');
    expect(text).not.toMatch(/hush|\$2b\$|secret|password/);
    expect(await messageOf(world, 'GET', 'tags?populate[subject][fields][0]=password')).toContain(
      'Invalid parameter populate[subject][fields][0]',
    );
    expect(await messageOf(world, 'GET', 'tags?populate[subject][on][api::book.book][fields]=secret')).toContain(
      'Invalid parameter populate[subject][on][api::book.book][fields]',
    );
  });

  it('DR4: drafts are shown with publicationState=preview only, of the list or of the relation', async () => {
    expect(pairs(await thingsOf(world, 'populate=things&publicationState=preview'))).toEqual([
      ...['person 2', 'book 1', 'book 2', 'person 1'],
    ]);
    expect(pairs(await thingsOf(world, 'populate[things][publicationState]=preview'))).toContain('book 2');
    const subject = async (query: string) => (await dataOf(world, 'GET', `tags/2?populate=subject${query}`))['subject'];
    expect(await subject('')).toBe(null);
    expect(await subject('&publicationState=preview')).toMatchObject(book(2));
  });

  it('Q19: on restricts types and gives each its own options', async () => {
    const on = 'populate[things][on][api::book.book]';
    expect(await thingsOf(world, `${on}[fields]=title`)).toEqual([{ ...book(1), title: 'Tides' }]);
    expect(
      await thingsOf(
        world,
        `${on}[fields]=id&${on}[populate][author][fields]=name&populate[things][on][api::person.person]=true`,
      ),
    ).toEqual([
      { ...person(2), name: 'Bo', createdAt: null, updatedAt: null },
      { ...book(1), author: { id: 2, name: 'Bo' } },
      { ...person(1), name: 'Ada', createdAt: null, updatedAt: null },
    ]);
    expect(await thingsOf(world, 'populate[things][on][api::person.person][filters][name]=Ada')).toMatchObject([
      person(1),
    ]);
  });

  it('Q19: fields without on apply to the types that have them, and one of them must', async () => {
    expect(await thingsOf(world, 'populate[things][fields]=title')).toEqual([
      person(2),
      { ...book(1), title: 'Tides' },
      person(1),
    ]);
    expect(await messageOf(world, 'GET', 'shelfs?populate[things][fields]=titel')).toContain('Did you mean "title"?');
  });

  it('Q19: nothing inside is wrapped, however deep', async () => {
    expect(
      await thingsOf(
        world,
        'populate[things][on][api::book.book][fields]=id&populate[things][on][api::book.book][populate]=*',
      ),
    ).toMatchObject([
      { ...book(1), author: { id: 2, name: 'Bo' }, cover: null, gallery: null, card: null, shelves: null },
    ]);
    expect(await thingsOf(world, 'populate=things.author')).toMatchObject([{}, { author: { name: 'Bo' } }, {}]);
  });

  it.each([
    ['populate[things][on][api::bok.book]=true', 'Did you mean "api::book.book"?'],
    ['populate[things][on][parts.card]=true', '"things" cannot lead to "parts.card"'],
    ['populate[things][on][admin::user]=true', '"things" cannot lead to "admin::user"'],
    ['populate[things][filters][name]=Ada', 'write it as [on][<type>][filters]'],
    ['populate[things][sort]=name', 'write it as [on][<type>][sort]'],
    ['filters[things]=1', 'cannot filter by "things" of shelf'],
    ['filters[things][id]=1', 'cannot filter by "things" of shelf'],
    ['sort=things.id', 'cannot sort by "things" of shelf'],
    ['fields=things', 'Invalid parameter fields'],
  ])('Q19: %s is refused', async (query, message) => {
    expect(await messageOf(world, 'GET', `shelfs?${query}`)).toContain(message);
  });

  it('Q13: a name that none of the types has gets a list of theirs, each once', async () => {
    const message = String(await messageOf(world, 'GET', 'shelfs?populate[things][populate]=xyzxyz'));
    const [, listed = ''] = message.split('Expected one of ');
    const names = listed.replace(/ and \d+ more$/, '').split(', ');
    expect(names).toContain('author');
    expect(names).toEqual([...new Set(names)]);
  });

  it('RQ18: the statements depend on the types that are linked, not on the entries', async () => {
    const count = async (url: string): Promise<number> => {
      sent.length = 0;
      await dataOf(world, 'GET', url);
      return sent.length;
    };
    // the entry, its links, books and persons; PostgreSQL reads them by one
    const statements = dialect === 'postgres' ? 1 : 4;
    expect(await count('shelfs/1?populate=things')).toBe(statements);
    const many = Array.from({ length: 200 }, (_none, i) => 1000 + i);
    await world.insert(
      'persons',
      many.map((id) => ({ id, name: `P${id}` })),
    );
    await world.insert('shelfs', [{ id: 9, name: 'Long' }]);
    await world.insert(
      'shelfs_things_morphs',
      [...many.map(person), book(1)].map(({ __type, id }, i) => ({
        id: 1000 + i,
        shelf_id: 9,
        things_id: id,
        things_type: __type,
        order: i + 1,
      })),
    );
    expect(await thingsOf(world, 'populate=things', 9)).toHaveLength(201);
    expect(await count('shelfs/9?populate=things')).toBe(statements);
  });
});

describe.each(dialects)('rights to the entries of polymorphic relations on %s', (dialect) => {
  const world = openedForTests(async () => {
    const opened = await openShelf(dialect, { mode: 'roles' });
    const actions = [
      ...['shelf.find', 'shelf.findOne', 'shelf.create', 'shelf.update', 'person.find'],
      ...['tag.findOne', 'tag.create', 'tag.update', 'plaque.update', 'plaque.create'],
    ];
    await insertGrants(
      actions.map((it) => ({ role: 1, action: `api::${it.split('.')[0]}.${it}` })),
      opened.insert,
    );
    return opened;
  });

  it('AC5: entries of types that the caller may not find are left out, and their options still checked', async () => {
    expect(pairs(await thingsOf(world, 'populate=things'))).toEqual(['person 2', 'person 1']);
    expect(await thingsOf(world, 'populate[things][on][api::book.book]=true')).toBe(undefined);
    expect((await dataOf(world, 'GET', 'tags/1?populate=subject'))['subject']).toBe(null);
    expect(await messageOf(world, 'GET', 'shelfs?populate[things][on][api::book.book][fields]=nope')).not.toContain(
      'secret',
    );
  });

  it('AC5: no message lists a type that the caller may not find', async () => {
    for (const message of [
      await messageOf(world, 'GET', 'shelfs?populate[things][on][api::boo.book]=true'),
      await messageOf(world, 'PUT', 'shelfs/2', { things: [{ __type: 'api::boo.book', id: 1 }] }),
    ])
      expect(message).not.toContain('api::book.book');
  });

  it('R19: an entry of such a type cannot be linked', async () => {
    const message = await messageOf(world, 'PUT', 'shelfs/2', { things: [book(1)] });
    expect(message).toContain('things[0].__type must be a content type, but was "api::book.book"');
    expect(await messageOf(world, 'POST', 'tags', { subject: book(1) })).toContain('subject.__type');
  });

  const shelved = async (id: number, things: unknown): Promise<unknown> => {
    await dataOf(world, 'PUT', `shelfs/${id}`, { things });
    const rows = (await world.rows('shelfs_things_morphs')).filter((it) => it['shelf_id'] === id);
    const places = rows.map((it) => [
      Number(it['order']),
      `${String(it['things_type']).split('.')[1]} ${it['things_id']}`,
    ]);
    return places.sort(([a], [b]) => Number(a) - Number(b)).map(([, it]) => it);
  };

  it('R14, R19: links to entries of such a type stay, before those that are set', async () => {
    const rows = [person(1), book(3), person(2), book(1)];
    await world.insert('shelfs', [{ id: 5, name: 'Mixed' }]);
    await world.insert(
      'shelfs_things_morphs',
      rows.map(({ __type, id }, i) => ({ id: 50 + i, shelf_id: 5, things_id: id, things_type: __type, order: i + 1 })),
    );
    expect(await shelved(5, { connect: [person(1)] })).toEqual(['book 3', 'person 2', 'book 1', 'person 1']);
    expect(await shelved(5, { disconnect: [person(1)] })).toEqual(['book 3', 'person 2', 'book 1']);
    expect(await shelved(5, { set: [person(2), person(1)] })).toEqual(['book 3', 'book 1', 'person 2', 'person 1']);
    expect(await shelved(5, [person(1)])).toEqual(['book 3', 'book 1', 'person 1']);
    expect(await shelved(5, person(2))).toEqual(['book 3', 'book 1', 'person 2']);
    expect(await shelved(5, [])).toEqual(['book 3', 'book 1']);
    expect(await shelved(5, null)).toEqual(['book 3', 'book 1']);
  });

  it('R14, R19: null leaves such an entry in a morphToOne, and an entry that may be found replaces it', async () => {
    const subject = async (value: unknown): Promise<unknown> => {
      await dataOf(world, 'PUT', 'tags/1', { subject: value });
      const { target_id: id, target_type: type } = (await world.rows('tags'))[0]!;
      return id === null ? null : { __type: type, id };
    };
    expect(await subject(null)).toEqual(book(1));
    expect(await subject(person(2))).toEqual(person(2));
    expect(await subject(null)).toBe(null);
  });

  it('R14, BO6: such an entry is there where one is required', async () => {
    await world.insert('plaques', [
      { id: 1, name: 'of a book', target_id: 1, target_type: 'api::book.book' },
      { id: 2, name: 'of a person', target_id: 1, target_type: 'api::person.person' },
    ]);
    await dataOf(world, 'PUT', 'plaques/1', { subject: null });
    expect(await messageOf(world, 'PUT', 'plaques/2', { subject: null })).toContain('subject must be defined');
    expect(await messageOf(world, 'POST', 'plaques', { subject: null })).toContain('subject must be defined');
    expect((await world.rows('plaques')).map((it) => it['target_id'])).toEqual([1, 1]);
  });
});

describe.each(dialects)('polymorphic relations written on %s', (dialect) => {
  const world = openedForTests(() => openWorld(dialect));
  let serial = 0;
  const newShelf = async (things: unknown): Promise<{ readonly id: number; readonly things: unknown }> => {
    serial += 1;
    const { status, body, text } = await world.send('POST', '/api/shelfs?populate=things', {
      data: { name: `s${serial}`, things },
    });
    expect([status, text]).toEqual([200, text]);
    const { data } = body as { data: { id: number; attributes: { things: unknown } } };
    return { id: data.id, things: pairs(data.attributes.things) };
  };
  const put = async (id: number, things: unknown): Promise<unknown> =>
    pairs((await dataOf(world, 'PUT', `shelfs/${id}?populate=things`, { things }))['things']);
  const rowsOf = async (id: number) => (await world.rows('shelfs_things_morphs')).filter((it) => it['shelf_id'] === id);

  it('R19, ST14: a list of { id, __type } keeps its order; the rows are those of v4', async () => {
    const { id, things } = await newShelf([person(1), { id: '3', __type: 'api::book.book' }, book(1), person(1)]);
    expect(things).toEqual(['person 1', 'book 3', 'book 1']);
    expect((await rowsOf(id)).map(({ id: _row, ...it }) => it)).toEqual([
      { shelf_id: id, things_id: 1, things_type: 'api::person.person', field: null, order: 1 },
      { shelf_id: id, things_id: 3, things_type: 'api::book.book', field: null, order: 2 },
      { shelf_id: id, things_id: 1, things_type: 'api::book.book', field: null, order: 3 },
    ]);
  });

  it('R19: a list, one entry, set, null and an absent key', async () => {
    const { id } = await newShelf([person(1), book(1)]);
    expect(await put(id, [book(3), person(1)])).toEqual(['book 3', 'person 1']);
    expect(await put(id, undefined)).toEqual(['book 3', 'person 1']);
    expect(await put(id, { set: [person(2), book(3)] })).toEqual(['person 2', 'book 3']);
    expect(await put(id, book(1))).toEqual(['book 1']);
    expect(await put(id, null)).toBe(undefined);
    expect(await rowsOf(id)).toEqual([]);
  });

  it('R19: a list that names a type that is gone can be changed, and loses that entry when it is set', async () => {
    const { id } = await newShelf([person(1)]);
    const gone = { things_type: 'api::gone.gone', things_id: 1, order: 2 };
    await world.insert('shelfs_things_morphs', [{ id: 9000, shelf_id: id, ...gone }]);
    expect(await put(id, { connect: [book(1)] })).toEqual(['person 1', 'book 1']);
    expect((await rowsOf(id)).map((it) => it['things_type'])).toContain('api::gone.gone');
    expect(await put(id, [book(3)])).toEqual(['book 3']);
    expect(await rowsOf(id)).toHaveLength(1);
  });

  it('R19: connect adds at the end and moves there, disconnect removes; the same id of two types is two entries', async () => {
    const { id } = await newShelf({ connect: [person(1), book(1)] });
    expect(await put(id, { connect: [book(3), person(1)] })).toEqual(['book 1', 'book 3', 'person 1']);
    expect(await put(id, { disconnect: [book(1), person(99)], connect: [person(2)] })).toEqual([
      ...['book 3', 'person 1', 'person 2'],
    ]);
    expect(await put(id, { disconnect: [book(1)] })).toEqual(['book 3', 'person 1', 'person 2']);
  });

  it('R19: a morphToOne takes one { id, __type }, or null', async () => {
    const subject = async (method: string, url: string, value: unknown) =>
      (await dataOf(world, method, `${url}?populate[subject][fields]=id`, { subject: value }))['subject'];
    expect(await subject('POST', 'tags', book(1))).toEqual(book(1));
    expect(await subject('PUT', 'tags/1', person(1))).toEqual(person(1));
    expect((await world.rows('tags'))[0]).toMatchObject({ target_id: 1, target_type: 'api::person.person' });
    expect(await subject('PUT', 'tags/1', null)).toBe(null);
    expect((await world.rows('tags'))[0]).toMatchObject({ target_id: null, target_type: null });
  });

  it.each([
    ['shelfs', 'things', 5, 'things must be { id, __type }, but the final value was: `5`'],
    ['shelfs', 'things', [5], 'things[0] must be { id, __type }'],
    ['shelfs', 'things', [{ __type: 'api::book.book' }], 'things[0] must be { id, __type }'],
    ['shelfs', 'things', [{ id: 1 }], 'things[0].__type must be a content type'],
    ['shelfs', 'things', [{ id: 1, __type: 'api::bok.book' }], 'Did you mean "api::book.book"?'],
    ['shelfs', 'things', [{ id: 1, __type: 'parts.card' }], 'things[0].__type must be a content type'],
    ['shelfs', 'things', [{ id: 1, __type: 'admin::user' }], 'things[0].__type must be a content type'],
    ['shelfs', 'things', [{ id: 1, __type: 'constructor' }], 'things[0].__type must be a content type'],
    ['shelfs', 'things', [book(1), book(99)], 'api::book.book associated with this entity do not exist: things 99'],
    ['shelfs', 'things', { set: [book(1)], connect: [] }, 'things combines set with connect or disconnect'],
    ['shelfs', 'things', { connect: [book(1), book(1)] }, 'things.connect[1]'],
    ['shelfs', 'things', { connect: [{ ...book(1), position: { start: true } }] }, 'things.connect[0].position'],
    ['shelfs', 'things', { connct: [book(1)] }, '"connct"'],
    ['shelfs', 'things', {}, 'things'],
    ['tags', 'subject', 5, 'subject must be { id, __type }'],
    ['tags', 'subject', { id: 5 }, 'subject.__type must be a content type'],
    ['tags', 'subject', [book(1)], 'subject must be { id, __type }'],
    ['tags', 'subject', book(99), 'do not exist: subject 99'],
    ['plaques', 'subject', null, 'subject must be defined'],
    ['plaques', 'name', 'no subject', 'subject must be defined'],
  ])('R19: %s with %s %j is refused and nothing is stored', async (plural, name, value, message) => {
    const before = await world.rows(plural);
    expect(await messageOf(world, 'POST', plural, { [name]: value })).toContain(message);
    expect(await world.rows(plural)).toEqual(before);
  });

  it('R19: also in components, whose rows go with them', async () => {
    const card = async (method: string, url: string, value: unknown) =>
      (await dataOf(world, method, `${url}?populate[card][populate][links][fields]=id`, { card: value }))['card'];
    expect(await card('PUT', 'books/3', { text: 'a', links: [person(2), book(1)] })).toMatchObject({
      links: [person(2), book(1)],
    });
    expect(await world.rows('components_parts_cards_links_morphs')).toHaveLength(2);
    expect(await card('PUT', 'books/3', { text: 'b' })).not.toHaveProperty('links');
    expect(await world.rows('components_parts_cards_links_morphs')).toEqual([]);
  });
});

describe.each(dialects)('links back from polymorphic relations on %s', (dialect) => {
  const world = openedForTests(() => openWorld(dialect));
  beforeAll(async () => {
    await world.insert('shelfs', [
      { id: 1, name: 'Left' },
      { id: 2, name: 'Right' },
    ]);
    await world.insert('tags', [
      { id: 1, text: 'blue' },
      { id: 2, text: 'red' },
    ]);
  });
  const ids = (it: unknown): unknown => {
    const { data } = it as { data: { id: number } | readonly { id: number }[] | null };
    return data === null ? null : Array.isArray(data) ? data.map(({ id }) => id) : (data as { id: number }).id;
  };
  const put = async (url: string, name: string, value: unknown): Promise<unknown> =>
    ids((await dataOf(world, 'PUT', `${url}?populate[${name}][fields]=id`, { [name]: value }))[name]);

  it('Q19: morphMany over a morphToMany: { data: [] } of entries, null for none; its links are its own', async () => {
    expect(await put('books/1', 'shelves', null)).toBe(null);
    expect(await put('books/1', 'shelves', [2, 1])).toEqual([2, 1]);
    expect(await put('books/1', 'shelves', { disconnect: [2] })).toEqual([1]);
    expect(await put('books/1', 'shelves', { connect: [{ id: 2, position: { before: 1 } }] })).toEqual([2, 1]);
    expect(pairs(await thingsOf(world, 'populate=things', 2))).toEqual(['book 1']);
    // a link that the other side writes has no field, so it does not show here
    await dataOf(world, 'PUT', 'shelfs/1', { things: [book(3)] });
    expect(ids((await dataOf(world, 'GET', 'books/3?populate=shelves'))['shelves'])).toBe(null);
    expect(await world.rows('shelfs_things_morphs')).toMatchObject([
      { shelf_id: 2, field: 'shelves', order: 1 },
      { shelf_id: 1, things_id: 3, field: null, order: 1 },
    ]);
  });

  it('Q19: morphOne over a morphToMany holds one', async () => {
    expect(await put('persons/1', 'seat', 2)).toBe(2);
    expect(await put('persons/1', 'seat', { id: 1 })).toBe(1);
    expect(await put('persons/1', 'seat', null)).toBe(null);
  });

  it('Q19: morphMany over a morphToOne are the entries whose columns name this one', async () => {
    expect(await put('persons/1', 'tags', [2, 1])).toEqual([1, 2]);
    expect((await dataOf(world, 'GET', 'tags/2?populate[subject][fields]=name'))['subject']).toEqual({
      ...person(1),
      name: 'Ada',
    });
    expect(await put('persons/2', 'tags', [1])).toEqual([1]);
    expect(ids((await dataOf(world, 'GET', 'persons/1?populate=tags'))['tags'])).toEqual([2]);
    expect(await put('persons/2', 'tags', [])).toBe(null);
    expect((await world.rows('tags'))[0]).toMatchObject({ target_id: null, target_type: null });
  });

  it('ST7: the columns of a morphToOne have an index of ours', () => {
    const table = tablesOf(world.model).find((it) => it.name === 'tags');
    expect(table?.indexes).toContainEqual(
      expect.objectContaining({ name: 'tags_target_id_index', columns: ['target_id'], own: true }),
    );
  });

  it('FL5: they can be filtered and sorted by', async () => {
    const found = async (query: string): Promise<unknown> => {
      const { body } = await world.send('GET', `/api/persons?${query}`);
      return (body as { data: readonly { id: number }[] }).data.map((it) => it.id);
    };
    await put('persons/1', 'tags', [2]);
    await put('persons/2', 'seat', 1);
    expect(await found('filters[tags][text]=red')).toEqual([1]);
    expect(await found('filters[tags][text]=blue')).toEqual([]);
    expect(await found('filters[seat][name]=Left')).toEqual([2]);
    expect(await found('filters[seat][id][$null]=true')).toEqual([1]);
  });
});

describe.each(dialects)('entries that polymorphic relations lead to are deleted on %s', (dialect) => {
  it('R19: with them go the rows and columns that name them, and no others', async () => {
    const world = await openShelf(dialect);
    try {
      await dataOf(world, 'PUT', 'books/3', { cover: 1, gallery: [2], card: { text: 'x', picture: 2 } });
      await dataOf(world, 'PUT', 'books/1', { cover: 1 });
      await dataOf(world, 'DELETE', 'books/1');
      expect((await world.rows('shelfs_things_morphs')).map((it) => it['id'])).toEqual([2, 3, 4, 5, 6]);
      expect((await world.rows('tags')).map((it) => [it['target_id'], it['target_type']])).toEqual([
        [null, null],
        [2, 'api::book.book'],
        [null, null],
        [77, 'api::book.book'],
      ]);
      await dataOf(world, 'DELETE', 'books/3');
      expect(await world.rows('files_related_morphs')).toEqual([]);
      await dataOf(world, 'DELETE', 'shelfs/1');
      expect(await world.rows('shelfs_things_morphs')).toEqual([]);
      expect(await world.rows('persons')).toHaveLength(2);
    } finally {
      await world.close();
    }
  });
});

describe.each(dialects)('the entries that use a file, on %s', (dialect) => {
  const world = openedForTests(() => openWorld(dialect));
  beforeAll(async () => {
    await dataOf(world, 'PUT', 'books/1', { cover: 1, gallery: [2, 1] });
    await dataOf(world, 'PUT', 'books/2', { cover: 1 });
    await dataOf(world, 'PUT', 'books/3', { gallery: [1], card: { text: 'x', picture: 1 } });
  });

  it('Q19: related of populated media: an element for each link of a content type, by order', async () => {
    const { cover } = await dataOf(world, 'GET', 'books/1?populate[cover][populate][related][fields]=title');
    expect((cover as { data: { attributes: Record<string, unknown> } }).data.attributes['related']).toEqual([
      { ...book(1), title: 'Tides' },
      { ...book(3), title: 'Salt' },
      { ...book(1), title: 'Tides' },
    ]);
  });

  it('Q19: related of the file library is bare, as all of a file is', async () => {
    const { body } = await world.send('GET', '/api/upload/files/2?populate[related][fields]=title');
    expect((body as Record<string, unknown>)['related']).toEqual([{ ...book(1), title: 'Tides' }]);
  });
});
