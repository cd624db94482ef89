/**
 * SU2: windows of a relation list, put together, are the list that populating it shows: for every kind of list, with random
 * ranks, ties, nulls and pairs that are stored twice, drafts, filters and windows of any size.
 */
import { expect, test } from 'vitest';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { openForTests } from '../world/opening.js';
import { newSmallWorld, relation, type SmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

const seed = seedOfRun();
const runs = Number(process.env['DOVETAIL_WINDOW_RUNS'] ?? 40);

const drafts = { options: { draftAndPublish: true } };
const project = {
  types: {
    shelf: {
      ...drafts,
      attributes: {
        books: relation('manyToMany', 'book', { inversedBy: 'shelves' }),
        own: relation('oneToMany', 'book'),
        stock: relation('oneToMany', 'book', { mappedBy: 'keeper' }),
        places: relation('oneToMany', 'book', { mappedBy: 'place' }),
        pictures: { type: 'media', multiple: true },
      },
    },
    book: {
      ...drafts,
      attributes: {
        name: { type: 'string' },
        shelves: relation('manyToMany', 'shelf', { mappedBy: 'books' }),
        keeper: relation('manyToOne', 'shelf', { inversedBy: 'stock' }),
        place: relation('manyToOne', 'shelf', { inversedBy: 'places', useJoinTable: false }),
        kin: relation('manyToMany', 'book', { inversedBy: 'kinOf' }),
        kinOf: relation('manyToMany', 'book', { mappedBy: 'kin' }),
      },
    },
  },
};

const COUNT = 60;
interface Body {
  readonly data: readonly { readonly id: number }[];
  readonly meta: { readonly pagination: { readonly total: number }; readonly positions: readonly number[] };
}

/** Lists by plural and attribute, with the table of their links and its columns: of the list's owner, its elements, and ranks. */
const lists = [
  ['shelfs', 'books', 'shelfs_books_links', 'shelf_id', 'book_id', ['book_order', 'shelf_order']],
  ['books', 'shelves', 'shelfs_books_links', 'book_id', 'shelf_id', ['shelf_order', 'book_order']],
  ['shelfs', 'own', 'shelfs_own_links', 'shelf_id', 'book_id', ['book_order']],
  ['shelfs', 'stock', 'books_keeper_links', 'shelf_id', 'book_id', ['book_order']],
  ['books', 'kin', 'books_kin_links', 'book_id', 'inv_book_id', ['book_order', 'inv_book_order']],
  ['books', 'kinOf', 'books_kin_links', 'inv_book_id', 'book_id', ['book_order', 'inv_book_order']],
] as const;

const fill = async (world: SmallWorld): Promise<void> => {
  const random = newRandom(seed);
  const ids = Array.from({ length: COUNT }, (_, i) => i + 1);
  const published = () => (random.chance(0.7) ? 1_600_000_000_000 : null);
  await world.insert(
    'shelfs',
    ids.map((id) => ({ id, published_at: published() })),
  );
  await world.insert(
    'books',
    ids.map((id) => ({ id, name: `book ${id % 7}`, published_at: published(), place_id: random.between(1, 6) })),
  );
  await world.insert(
    'files',
    ids.map((id) => ({ id, name: `file ${id % 7}`, mime: 'image/png', url: `/uploads/${id}`, hash: `${id}`, size: 1 })),
  );
  // few different ranks are ties, and null is before or behind all others
  const rank = () =>
    random.chance(0.1) ? null : random.chance(0.5) ? random.between(1, 5) : random.between(1, 500) / 4;
  let serial = 0;
  for (const [table, from, to, ranks] of new Map(
    lists.map(([, , table, from, to, ranks]) => [table, [table, from, to, ranks]] as const),
  ).values()) {
    const pairs = new Set(Array.from({ length: 900 }, () => `${random.between(1, COUNT)} ${random.between(1, COUNT)}`));
    await world.insert(
      table,
      [...pairs].map((pair) => {
        serial += 1;
        const [owner, element] = pair.split(' ').map(Number);
        return { id: serial, [from]: owner!, [to]: element!, ...Object.fromEntries(ranks.map((it) => [it, rank()])) };
      }),
    );
  }
  // pairs that are stored twice: nothing forbids them here
  await world.insert(
    'files_related_morphs',
    Array.from({ length: 1200 }, (_, id) => ({
      id: id + 1,
      file_id: random.between(1, COUNT),
      related_id: random.between(1, COUNT),
      related_type: 'api::shelf.shelf',
      field: random.chance(0.8) ? 'pictures' : 'others',
      order: rank(),
    })),
  );
};

for (const dialect of dialects) {
  const world = openForTests(async () => {
    const made = await newSmallWorld(dialect, project, { mode: 'open' });
    await fill(made);
    return made;
  });

  test(`SU2 windows put together are what populate shows on ${dialect}, seed ${seed}`, async () => {
    const { send } = world();
    const read = async (url: string): Promise<Body> => {
      const { status, body, text } = await send('GET', url);
      if (status !== 200) throw new Error(`${url}: ${text}`);
      return body as Body;
    };
    const all = [
      ...lists.map(([plural, attribute]) => [plural, attribute] as const),
      ['shelfs', 'places'] as const,
      ['shelfs', 'pictures'] as const,
    ];
    const random = newRandom(seed);
    let shown = 0;
    for (let run = 0; run < runs; run++) {
      const [plural, attribute] = random.pick(all);
      const id = random.between(1, COUNT);
      const state = random.chance(0.5) ? 'live' : 'preview';
      const filter = random.chance(0.4) ? `[name][$endsWith]=${random.between(0, 6)}` : null;
      const inPopulate = attribute === 'shelves' || filter === null ? '' : `&populate[${attribute}][filters]${filter}`;
      const inWindow = attribute === 'shelves' || filter === null ? '' : `&filters${filter}`;
      const populated = (options: string): Promise<readonly number[] | null> =>
        send(
          'GET',
          `/api/${plural}/${id}?fields=id&publicationState=${state}&populate[${attribute}][fields]=id${options}`,
        ).then(({ status, body }) => {
          if (status === 404) return null;
          const { attributes } = (body as { data: { attributes: Record<string, { data: Body['data'] | null }> } }).data;
          return (attributes[attribute]!.data ?? []).map((it) => it.id);
        });
      const at = `/api/${plural}/${id}/relations/${attribute}?fields=id&publicationState=${state}`;
      const [wanted, whole] = [await populated(inPopulate), await populated('')];
      if (wanted === null || whole === null) {
        expect((await send('GET', at)).status).toBe(404);
        continue;
      }
      const limit = random.between(1, 20);
      const found: number[] = [];
      const places: number[] = [];
      for (let start = 0; start <= wanted.length; start += limit) {
        const { data, meta } = await read(`${at}&pagination[start]=${start}&pagination[limit]=${limit}${inWindow}`);
        expect(meta.pagination).toEqual({ start, limit, total: wanted.length });
        found.push(...data.map((it) => it.id));
        places.push(...meta.positions);
      }
      expect([at, found]).toEqual([at, wanted]);
      expect(places.map((place) => whole[place])).toEqual(wanted);
      shown += found.length;
    }
    expect(shown).toBeGreaterThan(runs);
  });
}
