/** Order of to-many relations (R3 to R6), from both sides and inside components. */
import { describe, expect, it } from 'vitest';
import { dialects, useRelationsWorld } from '../world/relations/world.js';

/** Letters stand for entries: `connect` of one test row, in the form of the body but with letters instead of ids. */
type Element = string | { readonly id: string; readonly position?: Readonly<Record<string, string | true>> };
interface OrderCase {
  readonly rule: string;
  readonly start: string;
  readonly connect?: readonly Element[];
  readonly disconnect?: string;
  readonly result: string;
}

const after = (id: string, anchor: string): Element => ({ id, position: { after: anchor } });
const before = (id: string, anchor: string): Element => ({ id, position: { before: anchor } });
const start = (id: string): Element => ({ id, position: { start: true } });
const end = (id: string): Element => ({ id, position: { end: true } });

const cases: readonly OrderCase[] = [
  {
    rule: 'R5: the worked example',
    start: 'ab',
    connect: [after('f', 'a'), before('g', 'b'), end('h'), 'i', start('j')],
    result: 'jafgbhi',
  },
  { rule: 'R3: before', start: 'abc', connect: [before('d', 'b')], result: 'adbc' },
  { rule: 'R3: before the first', start: 'abc', connect: [before('d', 'a')], result: 'dabc' },
  { rule: 'R3: after', start: 'abc', connect: [after('d', 'b')], result: 'abdc' },
  { rule: 'R3: after the last', start: 'abc', connect: [after('d', 'c')], result: 'abcd' },
  { rule: 'R3: start', start: 'abc', connect: [start('d')], result: 'dabc' },
  { rule: 'R3: end', start: 'abc', connect: [end('d')], result: 'abcd' },
  { rule: 'R3: start of an empty list', start: '', connect: [start('d')], result: 'd' },
  { rule: 'R4: no position is the end', start: 'abc', connect: ['d', { id: 'e' }], result: 'abcde' },
  {
    rule: 'R5: three after one',
    start: 'abc',
    connect: [after('d', 'a'), after('e', 'a'), after('f', 'a')],
    result: 'afedbc',
  },
  {
    rule: 'R5: three before one',
    start: 'abc',
    connect: [before('d', 'b'), before('e', 'b'), before('f', 'b')],
    result: 'adefbc',
  },
  { rule: 'R5: three at the start', start: 'abc', connect: [start('d'), start('e'), start('f')], result: 'fedabc' },
  {
    rule: 'R5: on what came before (1)',
    start: 'abc',
    connect: [after('d', 'a'), before('e', 'd'), before('f', 'e')],
    result: 'afedbc',
  },
  {
    rule: 'R5: on what came before (2)',
    start: 'abc',
    connect: [end('d'), before('e', 'd'), after('f', 'd')],
    result: 'abcedf',
  },
  { rule: 'R5: connecting a linked one moves it', start: 'abc', connect: ['b', 'a'], result: 'cba' },
  { rule: 'R5: moving to the start', start: 'abc', connect: [start('c')], result: 'cab' },
  { rule: 'R5: moving behind another', start: 'abc', connect: [after('a', 'b')], result: 'bac' },
  { rule: 'R5: moving the last to the end', start: 'abc', connect: ['c'], result: 'abc' },
  { rule: 'R5: a new one behind one that moves', start: 'abc', connect: [after('d', 'b'), start('b')], result: 'badc' },
  { rule: 'R5: a new one before one that moved', start: 'abc', connect: [end('b'), before('d', 'b')], result: 'acdb' },
  { rule: 'R5: two moves on each other', start: 'abcd', connect: [after('a', 'c'), after('c', 'd')], result: 'badc' },
  { rule: 'R15: an anchor later in the array', start: 'abc', connect: [after('d', 'e'), 'e'], result: 'abced' },
  {
    rule: 'R15: a chain of later anchors',
    start: 'abc',
    connect: [before('d', 'e'), before('e', 'f'), start('f')],
    result: 'defabc',
  },
  { rule: 'R5: disconnect comes first', start: 'abc', disconnect: 'b', connect: ['b'], result: 'acb' },
  {
    rule: 'R5: disconnected and connected at a place',
    start: 'abc',
    disconnect: 'c',
    connect: [start('c')],
    result: 'cab',
  },
  { rule: 'R8: disconnect leaves the others', start: 'abcd', disconnect: 'bd', result: 'ac' },
  { rule: 'R8: disconnecting what is not linked', start: 'abc', disconnect: 'zb', result: 'ac' },
];

/** Test rows titled by their rule, which comes first in the test's name. */
const titled = <T extends { readonly rule: string }>(rows: readonly T[]): readonly (readonly [string, T])[] =>
  rows.map((row) => [row.rule, row]);

/** To-many sides of every kind, except `columnManyOf`, which has no stored order. */
const sides: readonly (readonly [owners: string, attribute: string, targets: string])[] = [
  ['shelves', 'manyMany', 'books'],
  ['shelves', 'manyWay', 'books'],
  ['shelves', 'oneMany', 'books'],
  ['shelves', 'oneManyWay', 'books'],
  ['shelves', 'peers', 'shelves'],
  ['shelves', 'peersOf', 'shelves'],
  ['shelves', 'selfManyWay', 'shelves'],
  ['shelves', 'selfOneManyWay', 'shelves'],
  ['shelves', 'children', 'shelves'],
  ['books', 'manyManyOf', 'shelves'],
  ['books', 'manyOneOf', 'shelves'],
];

/** Connects that are refused: the list is `[a]`; b and c exist. Errors name these indexes of the array. */
interface RefusalCase {
  readonly rule: string;
  readonly connect: (a: number, b: number, c: number) => readonly unknown[];
  readonly places: readonly number[];
}
const ABSENT = 2_000_000;
const refusals: readonly RefusalCase[] = [
  { rule: 'R3: an anchor that is not linked', connect: (_a, b, c) => [{ id: c, position: { after: b } }], places: [0] },
  {
    rule: 'R3: an anchor that does not exist',
    connect: (_a, _b, c) => [{ id: c, position: { before: ABSENT } }],
    places: [0],
  },
  {
    rule: 'R15: an anchor that is the element itself',
    connect: (_a, _b, c) => [{ id: c, position: { after: c } }],
    places: [0],
  },
  { rule: 'R5: a linked element before itself', connect: (a) => [{ id: a, position: { before: a } }], places: [0] },
  {
    rule: 'R15: anchors in a circle',
    connect: (_a, b, c) => [
      { id: b, position: { after: c } },
      { id: c, position: { before: b } },
    ],
    places: [0, 1],
  },
  { rule: 'R6: an id twice', connect: (_a, b) => [b, b], places: [1] },
  { rule: 'R6: an object twice', connect: (_a, b) => [{ id: b }, { id: b }], places: [1] },
  { rule: 'R6: an id twice, as number and as object', connect: (_a, b) => [b, { id: b }], places: [1] },
  { rule: 'R6: an id twice, as number and as text', connect: (_a, b) => [b, String(b)], places: [1] },
  { rule: 'R6: a linked id twice', connect: (a) => [a, a], places: [1] },
  { rule: 'R6: an id twice beside others', connect: (_a, b, c) => [b, c, b], places: [2] },
  {
    rule: 'R6: an id twice at different places',
    connect: (_a, b) => [
      { id: b, position: { start: true } },
      { id: b, position: { end: true } },
    ],
    places: [1],
  },
];

describe.each(dialects)('order on %s', (dialect) => {
  const world = useRelationsWorld(dialect);

  /** Creates an entry for each letter of a test row. */
  const lettersOf = async (targets: string, ...texts: readonly string[]): Promise<ReadonlyMap<string, number>> => {
    const letters = [...new Set(texts.join(''))].filter((it) => /[a-z]/.test(it));
    const ids = await world.createMany(targets, letters.length);
    return new Map(letters.map((letter, i) => [letter, ids[i]!]));
  };
  const bodyOf = (connect: readonly Element[], id: (letter: string) => number): unknown[] =>
    connect.map((it) => {
      if (typeof it === 'string') return id(it);
      const position = Object.fromEntries(
        Object.entries(it.position ?? {}).map(([key, value]) => [key, value === true ? true : id(value)]),
      );
      return it.position ? { id: id(it.id), position } : { id: id(it.id) };
    });
  const lettersIn = (connect: readonly Element[]): string =>
    connect
      .map((it) =>
        typeof it === 'string'
          ? it
          : it.id +
            Object.values(it.position ?? {})
              .filter((value) => value !== true)
              .join(''),
      )
      .join('');

  /** Strictly increasing positive ranks in every list of a link table's column. */
  const expectRanks = async (table: string, by: string, rank: string): Promise<void> => {
    const lists = new Map<unknown, number[]>();
    for (const row of await world.rows(table)) {
      expect(row[rank], `${table}.${rank}`).not.toBeNull();
      lists.set(row[by], [...(lists.get(row[by]) ?? []), Number(row[rank])]);
    }
    for (const ranks of lists.values()) {
      expect(Math.min(...ranks), `${table}.${rank}`).toBeGreaterThan(0);
      expect(new Set(ranks).size, `${table}.${rank} ${ranks.join()}`).toBe(ranks.length);
    }
  };

  describe.each(sides)('%s.%s', (owners, attribute, targets) => {
    it.each(titled(cases))('%s', async (_title, { start: from, connect = [], disconnect = '', result }) => {
      const ids = await lettersOf(targets, from, result, disconnect, lettersIn(connect));
      const id = (letter: string): number => ids.get(letter)!;
      const owner = await world.create(owners, { [attribute]: [...from].map(id) });
      const change = {
        ...(connect.length > 0 ? { connect: bodyOf(connect, id) } : {}),
        ...(disconnect === '' ? {} : { disconnect: [...disconnect].map(id) }),
      };
      await world.update(owners, owner, { [attribute]: change });
      const names = new Map([...ids].map(([letter, it]) => [it, letter]));
      const shown = (await world.ids(owners, owner, attribute)).map((it) => names.get(it));
      expect(shown.join('')).toBe(result);
    });

    it('R5: an entry that the same connect adds can be positioned like any other', async () => {
      const [a, b, c, d, e] = (await world.createMany(targets, 5)) as [number, number, number, number, number];
      const owner = await world.create(owners, {
        [attribute]: { connect: [a, { id: b, position: { start: true } }, c] },
      });
      expect(await world.ids(owners, owner, attribute)).toEqual([b, a, c]);
      await world.update(owners, owner, { [attribute]: { connect: [{ id: d, position: { start: true } }] } });
      expect(await world.ids(owners, owner, attribute)).toEqual([d, b, a, c]);
      await world.update(owners, owner, { [attribute]: { connect: [{ id: e, position: { before: a } }] } });
      await world.update(owners, owner, { [attribute]: { connect: [{ id: c, position: { after: d } }] } });
      expect(await world.ids(owners, owner, attribute)).toEqual([d, c, b, e, a]);
    });

    it.each(titled(refusals))('%s is refused', async (_title, { connect, places }) => {
      const [a, b, c] = (await world.createMany(targets, 3)) as [number, number, number];
      const owner = await world.create(owners, { [attribute]: [a] });
      const body = connect(a, b, c);
      const { status, name, paths, messages } = await world.refused('PUT', `/api/${owners}/${owner}`, {
        data: { [attribute]: { connect: body } },
      });
      expect([status, name]).toEqual([400, 'ValidationError']);
      expect(paths).toEqual(places.map((place) => `${attribute}.connect.${place}`));
      places.forEach((place, i) => {
        const element = body[place] as { id?: number } | number;
        expect(messages[i]).toContain(String(typeof element === 'object' ? element.id : element));
      });
      expect(await world.ids(owners, owner, attribute)).toEqual([a]);
    });

    it('R15: an anchor that the same request disconnects is refused', async () => {
      const [a, b] = (await world.createMany(targets, 2)) as [number, number];
      const owner = await world.create(owners, { [attribute]: [a] });
      const { status, paths } = await world.refused('PUT', `/api/${owners}/${owner}`, {
        data: { [attribute]: { disconnect: [a], connect: [{ id: b, position: { after: a } }] } },
      });
      expect([status, paths]).toEqual([400, [`${attribute}.connect.0`]]);
    });

    it('R3: an anchor as text is coerced', async () => {
      const [a, b, c] = (await world.createMany(targets, 3)) as [number, number, number];
      const owner = await world.create(owners, { [attribute]: [a, b] });
      await world.update(owners, owner, { [attribute]: { connect: [{ id: c, position: { before: String(b) } }] } });
      expect(await world.ids(owners, owner, attribute)).toEqual([a, c, b]);
    });

    it('R5: duplicates in a plain list count once, at their first position; position inside set is ignored', async () => {
      const [a, b] = (await world.createMany(targets, 2)) as [number, number];
      const owner = await world.create(owners, { [attribute]: [b, a, b] });
      expect(await world.ids(owners, owner, attribute)).toEqual([b, a]);
      await world.update(owners, owner, { [attribute]: { set: [{ id: a }, { id: b, position: { start: true } }, a] } });
      expect(await world.ids(owners, owner, attribute)).toEqual([a, b]);
    });
  });

  describe.each([
    ['shelves', 'manyMany', 'books'],
    ['books', 'manyOneOf', 'shelves'],
  ])('%s.%s', (owners, attribute, targets) => {
    it.each([
      {},
      { before: 1, after: 1 },
      { start: true, end: true },
      { start: false },
      { end: false },
      { start: 1 },
      { start: 'true' },
      { start: null },
      { middle: true },
      { start: true, middle: 1 },
      { before: null },
      { after: 0 },
      { after: -1 },
      { after: 'x' },
      { after: [1] },
      { after: { id: 1 } },
      { before: true },
      { before: 1.5 },
      'start',
      5,
      true,
      null,
      [],
      [{ start: true }],
    ])('R3: position %j is refused', async (position) => {
      const [a, b] = (await world.createMany(targets, 2)) as [number, number];
      const owner = await world.create(owners, { [attribute]: [a] });
      const { status, name, paths, messages } = await world.refused('PUT', `/api/${owners}/${owner}`, {
        data: { [attribute]: { connect: [{ id: b, position }] } },
      });
      expect([status, name, paths]).toEqual([400, 'ValidationError', [`${attribute}.connect.0.position`]]);
      expect(messages[0]).toContain('position');
    });
  });

  it('ST13: ranks are positive and distinct within each list, on both sides', async () => {
    await expectRanks('shelves_many_many_links', 'shelf_id', 'book_order');
    await expectRanks('shelves_many_many_links', 'book_id', 'shelf_order');
    await expectRanks('shelves_many_way_links', 'shelf_id', 'book_order');
    await expectRanks('books_one_many_of_links', 'shelf_id', 'book_order');
    await expectRanks('shelves_one_many_way_links', 'shelf_id', 'book_order');
    await expectRanks('shelves_many_one_links', 'book_id', 'shelf_order');
    await expectRanks('shelves_peers_links', 'shelf_id', 'shelf_order');
    await expectRanks('shelves_peers_links', 'inv_shelf_id', 'inv_shelf_order');
    await expectRanks('shelves_parent_links', 'inv_shelf_id', 'shelf_order');
  });

  it('ST13: a list written by set is numbered from 1', async () => {
    const books = await world.createMany('books', 3);
    const shelf = await world.create('shelves', { manyMany: [...books].reverse() });
    const rows = (await world.rows('shelves_many_many_links')).filter((it) => it['shelf_id'] === shelf);
    expect(
      rows.map((it) => [it['book_id'], Number(it['book_order'])]).sort((x, y) => Number(x[1]) - Number(y[1])),
    ).toEqual([
      [books[2], 1],
      [books[1], 2],
      [books[0], 3],
    ]);
  });

  it('R13: on the inverse side new links come last, unchanged links keep their place, reconnected ones come last', async () => {
    const book = await world.create('books');
    const [a, b, c] = (await world.createMany('shelves', 3)) as [number, number, number];
    for (const shelf of [a, b, c]) await world.update('shelves', shelf, { manyMany: [book] });
    expect(await world.ids('books', book, 'manyManyOf')).toEqual([a, b, c]);
    await world.update('shelves', a, { manyMany: [book] });
    await world.update('shelves', b, { manyMany: { connect: [{ id: book, position: { start: true } }] } });
    expect(await world.ids('books', book, 'manyManyOf')).toEqual([a, b, c]);
    await world.update('shelves', a, { manyMany: [] });
    await world.update('shelves', a, { manyMany: { connect: [book] } });
    expect(await world.ids('books', book, 'manyManyOf')).toEqual([b, c, a]);
  });

  it('R3 to R6 apply inside new and existing components', async () => {
    const [a, b, c, d] = (await world.createMany('books', 4)) as [number, number, number, number];
    for (const attribute of ['many', 'list']) {
      const shown = async (holder: number): Promise<readonly [number, readonly number[]]> => {
        const { attributes } = await world.read(
          `/api/holders/${holder}?populate[card][populate][${attribute}][fields]=id`,
        );
        const card = attributes['card'] as unknown as { id: number } & Record<string, { data: { id: number }[] }>;
        return [card.id, card[attribute]!.data.map((it) => it.id)];
      };
      const holder = await world.create('holders', {
        card: { label: 'x', [attribute]: { connect: [a, { id: b, position: { start: true } }] } },
      });
      const [card, first] = await shown(holder);
      expect(first).toEqual([b, a]);
      await world.update('holders', holder, {
        card: {
          id: card,
          [attribute]: { connect: [{ id: c, position: { before: a } }, d, { id: a, position: { start: true } }] },
        },
      });
      expect(await shown(holder)).toEqual([card, [a, b, c, d]]);
      await world.update('holders', holder, { card: { id: card, [attribute]: { disconnect: [b, d] } } });
      expect(await shown(holder)).toEqual([card, [a, c]]);
      const { status, paths } = await world.refused('PUT', `/api/holders/${holder}`, {
        data: { card: { id: card, [attribute]: { connect: [b, b, { id: d, position: { after: 2_000_000 } }] } } },
      });
      expect([status, paths]).toEqual([400, [`card.${attribute}.connect.1`]]);
    }
  });
});
