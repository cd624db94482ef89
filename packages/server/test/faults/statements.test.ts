/**
 * If the k-th statement of a write fails, for every k, every table is unchanged and the next write works (BO10). The
 * last k is a failure after all statements and before the commit.
 */
import { describe, expect, it } from 'vitest';
import { type Fuse, faulty } from '../world/fuse.js';
import { dialects, files, newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';

interface Prepared {
  readonly method: string;
  readonly url: string;
  readonly body?: unknown;
}
interface Form {
  readonly title: string;
  /** Creates what the write works on; each attempt starts with the same rows. */
  readonly prepare: (world: RelationsWorld) => Promise<Prepared>;
}

const card = (label: string, books: readonly number[]) => ({
  label,
  many: books,
  list: [...books].reverse(),
  single: books[0],
  cover: files.picture,
  gallery: [files.photo, files.drawing],
  inner: { word: 'in', books, picture: files.paper, tiny: { sign: 'x' } },
  inners: [
    { word: 'a', tiny: { sign: 'y' } },
    { word: 'b', books },
  ],
});

const forms: readonly Form[] = [
  {
    title: 'POST with every kind of relation',
    prepare: async (world) => {
      const [a, b] = (await world.createMany('books', 2)) as [number, number];
      const [s, t] = (await world.createMany('shelves', 2)) as [number, number];
      const data = {
        name: 'x',
        oneWay: a,
        oneOne: a,
        manyOneWay: b,
        manyOne: b,
        oneManyWay: [a, b],
        oneMany: [b, a],
        manyWay: [a],
        manyMany: { connect: [a, { id: b, position: { start: true } }] },
        columnWay: a,
        columnOne: b,
        columnMany: a,
        selfOne: s,
        parent: t,
        children: [s],
        peers: [s, t],
        peersOf: [t],
      };
      return { method: 'POST', url: '/api/shelves', body: { data } };
    },
  },
  {
    title: 'PUT that steals, moves and reorders',
    prepare: async (world) => {
      const [a, b, c] = (await world.createMany('books', 3)) as [number, number, number];
      await world.create('shelves', { oneOne: a, columnOne: a, oneMany: [a, b], manyMany: [a, b] });
      const id = await world.create('shelves', {
        oneOne: b,
        columnOne: b,
        oneMany: [c],
        manyMany: [a, b, c],
        columnMany: a,
      });
      const data = {
        oneOne: a,
        columnOne: a,
        oneMany: { connect: [{ id: b, position: { start: true } }], disconnect: [c] },
        manyMany: { connect: [{ id: c, position: { before: a } }], disconnect: [b] },
        columnMany: b,
      };
      return { method: 'PUT', url: `/api/shelves/${id}`, body: { data } };
    },
  },
  {
    title: 'PUT from the inverse sides',
    prepare: async (world) => {
      const [s, t, u] = (await world.createMany('shelves', 3)) as [number, number, number];
      const other = await world.create('books', { oneOneOf: s, columnOneOf: s, manyOneOf: [s, t], columnManyOf: [t] });
      const id = await world.create('books', { manyManyOf: [s, t], oneManyOf: t });
      expect(other).not.toBe(id);
      const data = {
        oneOneOf: s,
        columnOneOf: s,
        manyOneOf: [t, u],
        columnManyOf: [u, t],
        manyManyOf: { set: [u, s] },
        oneManyOf: null,
      };
      return { method: 'PUT', url: `/api/books/${id}`, body: { data } };
    },
  },
  {
    title: 'POST with components, zone and media',
    prepare: async (world) => {
      const books = await world.createMany('books', 2);
      const data = {
        name: 'x',
        card: card('a', books),
        cards: [card('b', books), { label: 'c' }],
        zone: [
          { __component: 'parts.card', ...card('d', books) },
          { __component: 'parts.note', text: 'n', serial: 'unique', books },
        ],
        cover: files.picture,
        gallery: [files.photo, files.picture],
      };
      return { method: 'POST', url: '/api/holders', body: { data } };
    },
  },
  {
    title: 'PUT that keeps, adds and drops components',
    prepare: async (world) => {
      const books = await world.createMany('books', 2);
      const id = await world.create('holders', {
        card: card('a', books),
        cards: [card('b', books), card('c', books)],
        zone: [
          { __component: 'parts.card', ...card('d', books) },
          { __component: 'parts.note', text: 'n' },
        ],
        cover: files.picture,
        gallery: [files.photo, files.drawing],
      });
      const { attributes } = await world.read(`/api/holders/${id}?populate=*`);
      const cards = attributes['cards'] as unknown as { id: number }[];
      const single = attributes['card'] as unknown as { id: number };
      const data = {
        card: { id: single.id, label: 'A', inner: { word: 'new' }, many: { disconnect: [books[0]] } },
        cards: [
          { id: cards[1]!.id, gallery: [] },
          { label: 'new', inners: [{ word: 'x' }] },
        ],
        zone: [{ __component: 'parts.note', text: 'm' }],
        cover: null,
        gallery: [files.drawing],
      };
      return { method: 'PUT', url: `/api/holders/${id}`, body: { data } };
    },
  },
  {
    title: 'PUT that publishes a draft with unique values',
    prepare: async (world) => {
      const [book] = await world.createMany('books', 1);
      const complete = {
        title: 'Title',
        mark: 'abc',
        card: { label: 'c' },
        cards: [{ label: 'd' }],
        zone: [{ __component: 'parts.note', text: 'x' }],
        books: [book],
        cover: files.picture,
      };
      const id = await world.create('forms', { ...complete, publishedAt: null });
      return {
        method: 'PUT',
        url: `/api/forms/${id}`,
        body: { data: { publishedAt: 0, book, tag: `tag ${id}`, slug: `slug-${id}` } },
      };
    },
  },
  {
    title: 'DELETE of an entry with everything',
    prepare: async (world) => {
      const books = await world.createMany('books', 2);
      const id = await world.create('holders', {
        card: card('a', books),
        cards: [card('b', books)],
        zone: [{ __component: 'parts.note', text: 'n', books }],
        gallery: [files.photo, files.drawing],
      });
      return { method: 'DELETE', url: `/api/holders/${id}` };
    },
  },
  {
    title: 'DELETE of an entry that others point to',
    prepare: async (world) => {
      const [a, b] = (await world.createMany('books', 2)) as [number, number];
      await world.create('shelves', {
        oneOne: a,
        columnOne: a,
        oneMany: [a, b],
        manyMany: [a, b],
        columnMany: a,
        manyWay: [a],
      });
      await world.create('holders', { card: card('a', [a, b]) });
      return { method: 'DELETE', url: `/api/books/${a}` };
    },
  },
  {
    title: 'PUT that creates a single type',
    prepare: async (world) => ({
      method: 'PUT',
      url: '/api/setting',
      body: { data: { title: 'x!', books: await world.createMany('books', 2), notes: [{ text: 'n' }] } },
    }),
  },
  {
    title: 'PUT that updates a single type',
    prepare: async (world) => ({
      method: 'PUT',
      url: '/api/setting',
      body: { data: { title: 'y!', books: { connect: await world.createMany('books', 1) }, notes: [] } },
    }),
  },
  { title: 'DELETE of a single type', prepare: async () => ({ method: 'DELETE', url: '/api/setting' }) },
];

describe.each(dialects)('failing statements on %s', (dialect) => {
  it('BO10: no kind of write is stored partially, whichever statement fails', async () => {
    const fuse: Fuse = { failAt: 0, ran: 0 };
    const world = await newRelationsWorld(dialect, {}, (db) => faulty(db, fuse));
    let faults = 0;
    try {
      for (const { title, prepare } of forms) {
        const { method, url, body } = await prepare(world);
        const before = await world.dump();
        for (let k = 1; ; k++) {
          fuse.failAt = k;
          const answer = await world.send(method, url, body);
          fuse.failAt = 0;
          if (answer.status === 200) {
            // it succeeded: every statement, and the commit, has failed once
            expect(k, title).toBe(fuse.ran + 2);
            break;
          }
          faults += 1;
          expect(answer.status, `${title}, statement ${k}: ${answer.text}`).toBe(500);
          expect(await world.dump(), `${title}, statement ${k}`).toBe(before);
        }
        expect(await world.dump(), title).not.toBe(before);
        await world.expectNoOrphans();
      }
      // the writes above need many statements; a watch that sees none must not pass
      expect(faults).toBeGreaterThan(100);
      process.stdout.write(`${dialect}: ${faults} injected faults, ${forms.length} forms of write\n`);
    } finally {
      await world.close();
    }
  });
});
