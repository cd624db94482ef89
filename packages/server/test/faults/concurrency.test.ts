/**
 * Sixteen concurrent clients on one list, on children that move, and on pairs (BO8, R17). Every response is the state
 * after its own write, and `updatedAt` never repeats, so the responses ordered by it must form one serial history.
 */
import { describe, expect, it } from 'vitest';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects, type Entry, idsOf, newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';
import { newTestServer, type TestAnswer, type TestServer } from '../world/server.js';

const seed = seedOfRun();
/** 20,000 in a full run. */
const requests = Number(process.env['DOVETAIL_CONCURRENT_REQUESTS'] ?? 800);
const clients = 16;

/** The same database behind one server; on PostgreSQL behind two, like two processes. */
const withServers = async (
  dialect: (typeof dialects)[number],
  work: (world: RelationsWorld, servers: readonly TestServer[]) => Promise<void>,
): Promise<void> => {
  const world = await newRelationsWorld(dialect);
  const url = world.env['DATABASE_URL'];
  const second = url === undefined ? null : await openPostgres(url);
  const server = second ? await newTestServer(second, world.model) : null;
  try {
    await work(world, server ? [world.server, server] : [world.server]);
  } finally {
    await server?.close();
    await second?.close();
    await world.close();
  }
};

/** Every client sends its share sequentially. */
const atOnce = async (
  count: number,
  client: (index: number, random: Random, turn: number) => Promise<void>,
): Promise<void> => {
  await Promise.all(
    Array.from({ length: clients }, async (_it, index) => {
      const random = newRandom(`${seed}/client ${index}`);
      for (let turn = 0; turn < count / clients; turn++) await client(index, random, turn);
    }),
  );
};

const entryOf = ({ body, text, status }: TestAnswer): Entry => {
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return (body as { data: Entry }).data;
};

interface Done {
  readonly at: number;
  readonly change: {
    readonly connect: readonly { readonly id: number; readonly position: Readonly<Record<string, unknown>> }[];
    readonly disconnect: readonly number[];
  };
  readonly list: readonly number[];
}

const applied = (list: readonly number[], { connect, disconnect }: Done['change']): readonly number[] => {
  let order = list.filter((it) => !disconnect.includes(it));
  for (const { id, position } of connect) {
    const rest = order.filter((it) => it !== id);
    const anchor = (position['before'] ?? position['after']) as number | undefined;
    if (anchor !== undefined) expect(order, 'an accepted anchor').toContain(anchor);
    const at =
      position['start'] === true
        ? 0
        : anchor === undefined
          ? rest.length
          : rest.indexOf(anchor) + (position['after'] === undefined ? 0 : 1);
    order = [...rest.slice(0, at), id, ...rest.slice(at)];
  }
  return order;
};

describe.each(dialects)('concurrent writers on %s', (dialect) => {
  it(`R17: one list from one side has a serial history (seed ${seed})`, { timeout: 3_600_000 }, () =>
    withServers(dialect, async (world, servers) => {
      const books = await world.createMany('books', 24);
      const shelf = await world.create('shelves', { manyMany: books.slice(0, 12) });
      const done: Done[] = [];
      let refused = 0;
      await atOnce(requests / 2, async (index, random) => {
        const server = servers[index % servers.length]!;
        const chosen = random.sample(books, random.between(1, 3));
        const connect = chosen.map((id) => ({
          id,
          position: random.pick([
            { start: true },
            { end: true },
            { before: random.pick(books) },
            { after: random.pick(books) },
          ]) as Readonly<Record<string, unknown>>,
        }));
        const isSet = random.chance(0.05);
        const change = isSet
          ? { connect: [], disconnect: [...books] }
          : { connect: random.chance(0.8) ? connect : [], disconnect: random.sample(books, random.below(3)) };
        const value = isSet ? { set: chosen } : change;
        const answer = await server.send(
          'PUT',
          `/api/shelves/${shelf}?fields=updatedAt&populate[manyMany][fields]=id`,
          { body: { data: { manyMany: value } } },
        );
        if (answer.status === 400) {
          refused += 1;
          return;
        }
        const entry = entryOf(answer);
        done.push({
          at: Date.parse(String(entry.attributes['updatedAt'])),
          change: isSet
            ? { disconnect: [...books], connect: chosen.map((id) => ({ id, position: { end: true } })) }
            : change,
          list: idsOf(entry, 'manyMany'),
        });
      });
      done.sort((x, y) => x.at - y.at);
      expect(new Set(done.map((it) => it.at)).size, 'no version twice').toBe(done.length);
      let list: readonly number[] = books.slice(0, 12);
      done.forEach((it, i) => {
        // no anchors further back in the array, which the model does not cover
        const ids = it.change.connect.map((element) => element.id);
        const waits = it.change.connect.some(({ position }, place) => {
          const anchor = (position['before'] ?? position['after']) as number | undefined;
          return (
            anchor !== undefined &&
            ids.indexOf(anchor) > place &&
            (!list.includes(anchor) || it.change.disconnect.includes(anchor))
          );
        });
        if (!waits)
          expect(
            it.list,
            `write ${i} of ${done.length}: ${JSON.stringify(it.change)} on ${JSON.stringify(list)}`,
          ).toEqual(applied(list, it.change));
        list = it.list;
      });
      expect(await world.ids('shelves', shelf, 'manyMany')).toEqual(list);
      expect(done.length).toBeGreaterThan(refused / 4);
      await world.expectNoOrphans();
    }),
  );

  it(`R17: concurrent changes of a list from both sides lose nothing (seed ${seed})`, { timeout: 3_600_000 }, () =>
    withServers(dialect, async (world, servers) => {
      // each client changes only its own book, from either side; all move theirs around the others
      const books = await world.createMany('books', clients);
      const [shelf, other] = (await world.createMany('shelves', 2)) as [number, number];
      const linked = new Map<number, boolean>(books.map((id) => [id, false]));
      await atOnce(requests / 2, async (index, random) => {
        const server = servers[random.below(servers.length)]!;
        const book = books[index]!;
        const connects = random.chance(0.6);
        const fromBook = random.chance(0.5);
        const change = (id: number): unknown =>
          connects
            ? { connect: [fromBook || random.chance(0.5) ? id : { id, position: { start: true } }] }
            : { disconnect: [id] };
        const [url, data] = fromBook
          ? [`/api/books/${book}`, { manyManyOf: change(shelf) }]
          : [`/api/shelves/${shelf}`, { manyMany: change(book) }];
        const answer = await server.send('PUT', `${url}?populate=${fromBook ? 'manyManyOf' : 'manyMany'}`, {
          body: { data },
        });
        const shown = idsOf(entryOf(answer), fromBook ? 'manyManyOf' : 'manyMany');
        expect(shown.includes(fromBook ? shelf : book), `${url} ${JSON.stringify(data)}`).toBe(connects);
        expect(new Set(shown).size).toBe(shown.length);
        linked.set(book, connects);
        if (random.chance(0.2))
          entryOf(
            await server.send('PUT', `/api/books/${book}`, { body: { data: { manyManyOf: { connect: [other] } } } }),
          );
      });
      const list = await world.ids('shelves', shelf, 'manyMany');
      expect([...list].sort((a, b) => a - b)).toEqual(books.filter((id) => linked.get(id)));
      for (const book of books)
        expect((await world.ids('books', book, 'manyManyOf')).includes(shelf)).toBe(linked.get(book));
      const rows = (await world.rows('shelves_many_many_links')).filter((it) => it['shelf_id'] === shelf);
      expect(new Set(rows.map((it) => Number(it['book_order']))).size, 'ranks').toBe(rows.length);
      await world.expectNoOrphans();
    }),
  );

  it(`R17: children have one parent, pairs have one partner (seed ${seed})`, { timeout: 3_600_000 }, () =>
    withServers(dialect, async (world, servers) => {
      const books = await world.createMany('books', 8);
      const shelves = await world.createMany('shelves', 8);
      await atOnce(requests / 2, async (_index, random) => {
        const server = servers[random.below(servers.length)]!;
        const [shelf, book] = [random.pick(shelves), random.pick(books)];
        const some = random.sample(books, 3);
        const [url, data] = random.pick<readonly [string, unknown]>([
          [`/api/shelves/${shelf}`, { oneMany: { connect: some } }],
          [`/api/shelves/${shelf}`, { oneMany: some }],
          [`/api/books/${book}`, { oneManyOf: shelf }],
          [`/api/shelves/${shelf}`, { oneOne: book }],
          [`/api/books/${book}`, { oneOneOf: shelf }],
          [`/api/shelves/${shelf}`, { columnOne: book }],
          [`/api/books/${book}`, { columnOneOf: shelf }],
          [`/api/shelves/${shelf}`, { columnMany: book }],
          [`/api/books/${book}`, { columnManyOf: random.sample(shelves, 3) }],
          [
            `/api/shelves/${shelf}`,
            { peers: random.sample(shelves, 3), children: random.sample(shelves, 2), selfOne: random.pick(shelves) },
          ],
          [`/api/shelves/${shelf}`, { oneOne: book, columnOne: book, oneMany: some, manyMany: some }],
        ]);
        entryOf(await server.send('PUT', url, { body: { data } }));
      });
      const onceEach = async (table: string, ...columns: readonly string[]): Promise<void> => {
        const rows = await world.rows(table);
        for (const column of columns) {
          const ids = rows.map((it) => it[column]).filter((it) => it !== null);
          expect(new Set(ids).size, `${table}.${column}`).toBe(ids.length);
        }
      };
      await onceEach('books_one_many_of_links', 'book_id');
      await onceEach('shelves_one_one_links', 'shelf_id', 'book_id');
      await onceEach('shelves_self_one_links', 'shelf_id', 'inv_shelf_id');
      await onceEach('shelves_parent_links', 'shelf_id');
      await onceEach('shelves', 'column_one_id');
      for (const [side, inverse] of [
        ['oneMany', 'oneManyOf'],
        ['oneOne', 'oneOneOf'],
        ['columnOne', 'columnOneOf'],
        ['columnMany', 'columnManyOf'],
      ] as const) {
        const pairs: string[] = [];
        for (const shelf of shelves)
          for (const book of await world.ids('shelves', shelf, side)) pairs.push(`${shelf} ${book}`);
        const back: string[] = [];
        for (const book of books)
          for (const shelf of await world.ids('books', book, inverse)) back.push(`${shelf} ${book}`);
        expect(back.sort(), side).toEqual(pairs.sort());
      }
      await world.expectNoOrphans();
    }),
  );
});
