/** R1, R2, R7 to R10 and R13: values of relations, on every kind of relation and from both sides. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { openedForTests } from '../world/opening.js';
import {
  dialects,
  files,
  idsOf,
  type RelationSide,
  relationSides,
  relationsModel,
  said,
  useRelationsWorld,
} from '../world/relations/world.js';
import { newSmallWorld, relation } from '../world/small.js';

const sides = relationSides(relationsModel());
const titled = (chosen: readonly RelationSide[]): readonly (readonly [string, RelationSide])[] =>
  chosen.map((side) => [`${side.plural}.${side.attribute.name} (${side.attribute.relation})`, side]);
const toMany = sides.filter((it) => it.attribute.shape === 'many');
const toOne = sides.filter((it) => it.attribute.shape === 'one');
/** A list without stored order is shown by id. */
const isOrdered = (side: RelationSide): boolean => side.attribute.path.rank !== null;

const ABSENT = 2_000_000;

/** Invalid relation values, and the path of the fault below the attribute. */
const refusedValues: readonly (readonly [rule: string, value: unknown, place: string])[] = [
  ['R12: an absent id', ABSENT, ''],
  ['R12: an absent id in a list', [ABSENT], ''],
  ['R12: an absent id in set', { set: [ABSENT] }, ''],
  ['R12: an absent id in connect', { connect: [{ id: ABSENT }] }, ''],
  ['R16: set beside connect', { set: [1], connect: [1] }, ''],
  ['R16: set beside disconnect', { set: [1], disconnect: [1] }, ''],
  ['R16: set null beside connect', { set: null, connect: [1] }, ''],
  ['R11: an unknown key', { foo: [1] }, ''],
  ['R11: an unknown key beside connect', { connect: [1], conect: [1] }, ''],
  ['R11: an empty object', {}, ''],
  ['R11: set with a bare id', { set: 3 }, '.set'],
  ['R11: connect with a bare id', { connect: 3 }, '.connect'],
  ['R11: connect with an object', { connect: { id: 3 } }, '.connect'],
  ['R11: connect with a text', { connect: '3' }, '.connect'],
  ['R11: disconnect with an object', { disconnect: {} }, '.disconnect'],
  ['R11: nested lists', [[1]], '.0'],
  ['R11: nested lists in connect', { connect: [[1]] }, '.connect.0'],
  ['R11: null in a list', [null], '.0'],
  ['R11: an empty object in a list', [{}], '.0'],
  ['R11: an object without id', { set: [{ foo: 1 }] }, '.set.0'],
  ['R11: disconnect of a text', { disconnect: ['x'] }, '.disconnect.0'],
  ['R11: connect of true', { connect: [true] }, '.connect.0'],
  ['R11: an id that is a list', { connect: [{ id: [3] }] }, '.connect.0'],
  ['R11: an id that is null', { id: null }, '.0'],
  ['R11: an id that is null in a list', [{ id: null }], '.0'],
  ['R11: true', true, ''],
  ['R11: false', false, ''],
  ['R11: an empty text', '', ''],
  ['R11: zero', 0, ''],
  ['R11: a fraction', 1.5, ''],
  ['R11: a negative number', -1, ''],
  ['R11: a number beyond 32 bits', 99_999_999_999, ''],
  ['R11: a text that is no number', 'abc', ''],
  ['R11: a number text with a fraction', '1.5', ''],
];

describe.each(dialects)('relation values on %s', (dialect) => {
  const world = useRelationsWorld(dialect);
  const three = async (plural: string): Promise<readonly [number, number, number]> =>
    (await world.createMany(plural, 3)) as [number, number, number];

  describe.each(titled(toMany))('%s', (_title, side) => {
    const { plural, targets } = side;
    const { name } = side.attribute;
    const inOrder = (ids: readonly number[]): readonly number[] =>
      isOrdered(side) ? ids : [...ids].sort((a, b) => a - b);

    it.each<
      readonly [
        string,
        (a: number, b: number, c: number) => unknown,
        (a: number, b: number, c: number) => readonly number[],
      ]
    >([
      ['R1: connect, shorthand', (_a, b, c) => ({ connect: [c, b] }), (a, b, c) => [a, c, b]],
      ['R1: connect, longhand', (_a, b, c) => ({ connect: [{ id: c }, { id: b }] }), (a, b, c) => [a, c, b]],
      ['R1: connect, both forms mixed', (_a, b, c) => ({ connect: [{ id: c }, b] }), (a, b, c) => [a, c, b]],
      ['R1: set, shorthand', (_a, b, c) => ({ set: [c, b] }), (_a, b, c) => [c, b]],
      ['R1: set, longhand', (_a, b, c) => ({ set: [{ id: c }, { id: b }] }), (_a, b, c) => [c, b]],
      ['R1: disconnect, shorthand', (a) => ({ disconnect: [a] }), () => []],
      ['R1: disconnect, longhand', (a) => ({ disconnect: [{ id: a }] }), () => []],
      ['R1: connect beside disconnect', (a, b) => ({ connect: [b], disconnect: [a] }), (_a, b) => [b]],
      ['R8: disconnect leaves the others', (_a, b) => ({ disconnect: [b] }), (a) => [a]],
      ['R9: set replaces all, in the order given', (a, b, c) => ({ set: [c, a, b] }), (a, b, c) => [c, a, b]],
      ['R9: set of nothing empties', () => ({ set: [] }), () => []],
      ['R10: a list is set', (_a, b, c) => [c, b], (_a, b, c) => [c, b]],
      ['R10: a list of objects is set', (_a, b, c) => [{ id: c }, { id: b }], (_a, b, c) => [c, b]],
      ['R11: an id is set to that one', (_a, b) => b, (_a, b) => [b]],
      ['R11: an id as text', (_a, b) => String(b), (_a, b) => [b]],
      ['R11: an object with an id', (_a, b) => ({ id: b }), (_a, b) => [b]],
      ['R11: null empties', () => null, () => []],
      ['R11: an empty list empties', () => [], () => []],
      ['R11: set null empties', () => ({ set: null }), () => []],
      ['R11: connecting nothing changes nothing', () => ({ connect: [] }), (a) => [a]],
      ['R11: connect null changes nothing', () => ({ connect: null }), (a) => [a]],
      ['R8: absent ids in disconnect are ignored', () => ({ disconnect: [ABSENT] }), (a) => [a]],
      ['R1: ids as text are coerced', (a, b, c) => [c, String(b), { id: String(a) }], (a, b, c) => [c, b, a]],
      [
        'R11: __pivot and other keys beside id are ignored',
        (_a, b) => ({ connect: [{ id: b, __pivot: { shelf_id: ABSENT, id: 1 }, title: 'x' }] }),
        (a, b) => [a, b],
      ],
    ])('%s', async (_rule, value, expected) => {
      const [a, b, c] = await three(targets);
      const owner = await world.create(plural, { [name]: [a] });
      const entry = await world.update(plural, owner, { [name]: value(a, b, c) }, `?populate[${name}][fields]=id`);
      expect(idsOf(entry, name)).toEqual(inOrder(expected(a, b, c)));
    });

    it('R11: POST accepts every form too', async () => {
      const [a, b, c] = await three(targets);
      const shown = async (value: unknown): Promise<readonly number[]> =>
        world.ids(plural, await world.create(plural, { [name]: value }), name);
      expect(await shown({ connect: [b, a] })).toEqual(inOrder([b, a]));
      expect(await shown({ set: [{ id: c }, a] })).toEqual(inOrder([c, a]));
      expect(await shown([c, b])).toEqual(inOrder([c, b]));
      expect(await shown(a)).toEqual([a]);
      for (const nothing of [null, [], { set: null }, { disconnect: [a] }, { connect: [] }, undefined])
        expect(await shown(nothing), JSON.stringify(nothing)).toEqual([]);
    });
  });

  describe.each(titled(toOne))('%s', (_title, { plural, targets, attribute: { name } }) => {
    it.each<
      readonly [
        string,
        (a: number, b: number, c: number) => unknown,
        (a: number, b: number, c: number) => number | null,
      ]
    >([
      ['R7: an id', (_a, b) => b, (_a, b) => b],
      ['R7: of a list the last', (_a, b, c) => [b, c], (_a, _b, c) => c],
      ['R7: of a list that repeats an id the last', (_a, b, c) => [c, b, c], (_a, _b, c) => c],
      ['R7: of set the last', (_a, b, c) => ({ set: [b, { id: c }] }), (_a, _b, c) => c],
      ['R7: of connect the last', (_a, b, c) => ({ connect: [b, c] }), (_a, _b, c) => c],
      [
        'R7: positions are accepted and say nothing',
        (a, b, c) => ({
          connect: [
            { id: c, position: { start: true } },
            { id: b, position: { before: a } },
          ],
        }),
        (_a, b) => b,
      ],
      [
        'R7: an anchor that is not there says nothing',
        (_a, b, c) => ({ connect: [{ id: c, position: { after: b } }] }),
        (_a, _b, c) => c,
      ],
      ['R8: disconnecting the current one', (a) => ({ disconnect: [a] }), () => null],
      ['R8: disconnecting another', (_a, b) => ({ disconnect: [b] }), (a) => a],
      ['R8: disconnecting one, connecting another', (a, b) => ({ disconnect: [a], connect: [b] }), (_a, b) => b],
      ['R10: a list of one is set', (_a, b) => [{ id: b }], (_a, b) => b],
      ['R11: text', (_a, b) => String(b), (_a, b) => b],
      ['R11: an object', (_a, b) => ({ id: b }), (_a, b) => b],
      ['R11: null empties', () => null, () => null],
      ['R11: an empty list empties', () => [], () => null],
      ['R11: an empty set empties', () => ({ set: [] }), () => null],
      ['R11: set null empties', () => ({ set: null }), () => null],
      ['R11: connecting nothing changes nothing', () => ({ connect: [] }), (a) => a],
      ['R11: the same one again', (a) => ({ connect: [a] }), (a) => a],
    ])('%s', async (_rule, value, expected) => {
      const [a, b, c] = await three(targets);
      const owner = await world.create(plural, { [name]: a });
      const entry = await world.update(plural, owner, { [name]: value(a, b, c) }, `?populate[${name}][fields]=id`);
      expect(entry.attributes[name]).toEqual({
        data: expected(a, b, c) === null ? null : { id: expected(a, b, c), attributes: {} },
      });
    });

    it('R12: missing ids are refused even if another id takes precedence', async () => {
      const [a, b] = await three(targets);
      const owner = await world.create(plural, { [name]: a });
      await world.unchanged(async () => {
        for (const value of [[ABSENT, b], { set: [ABSENT, b] }, { connect: [ABSENT, b] }]) {
          const answer = await world.send('PUT', `/api/${plural}/${owner}`, { data: { [name]: value } });
          expect.soft(answer.status, JSON.stringify(value)).toBe(400);
        }
      });
    });

    it('R7: POST keeps only the last id, and stores no second link', async () => {
      const [a, b] = await three(targets);
      for (const value of [[a, b], { connect: [a, b] }, { set: [a, b] }]) {
        const owner = await world.create(plural, { [name]: value });
        expect(await world.ids(plural, owner, name)).toEqual([b]);
        const through = async (id: number): Promise<number> => {
          const { body } = await world.server.get(`/api/${plural}?filters[id]=${owner}&filters[${name}]=${id}`);
          return (body as { data: unknown[] }).data.length;
        };
        expect([await through(a), await through(b)]).toEqual([0, 1]);
      }
    });
  });

  describe.each(titled(sides))('%s', (_title, { plural, targets, attribute }) => {
    const { name, shape } = attribute;

    it('R11, R16: refused values change nothing', async () => {
      const [a] = await three(targets);
      const owner = await world.create(plural, { [name]: a });
      await world.unchanged(async () => {
        for (const [rule, value, place] of refusedValues) {
          const put = said(await world.send('PUT', `/api/${plural}/${owner}`, { data: { [name]: value } }));
          expect.soft([put.status, put.name], rule).toEqual([400, 'ValidationError']);
          // an object with an id is a list of one; its fault may be named at either level
          const expected = place === '.0' && !Array.isArray(value) ? [[name], [`${name}.0`]] : [[`${name}${place}`]];
          expect.soft(expected, rule).toContainEqual(put.paths);
          expect.soft(put.message, rule).toContain(name);
          if (JSON.stringify(value).includes(String(ABSENT))) expect.soft(put.message, rule).toContain(String(ABSENT));
        }
      });
    });

    it('R11: POST refuses the same values and creates nothing', async () => {
      await world.unchanged(async () => {
        for (const [rule, value] of refusedValues.filter((_it, i) => i % 5 === 0)) {
          const { status, name: error } = said(await world.send('POST', `/api/${plural}`, { data: { [name]: value } }));
          expect.soft([status, error], rule).toEqual([400, 'ValidationError']);
        }
      });
    });

    it('R6: a repeated id is refused on POST as well', async () => {
      const [a] = await three(targets);
      const { status, paths } = await world.refused('POST', `/api/${plural}`, {
        data: { [name]: { connect: [a, { id: a }] } },
      });
      expect([status, paths]).toEqual([400, [`${name}.connect.1`]]);
    });

    it('R13: the other side shows the same links, if there is one', async () => {
      const [a, b] = await three(targets);
      const owner = await world.create(plural, { [name]: shape === 'many' ? [b, a] : b });
      const other = await world.create(plural);
      if (attribute.inverse === null) {
        // without an inverse side no link is taken from another owner
        await world.update(plural, other, { [name]: [b] });
        expect(await world.ids(plural, owner, name)).toEqual(shape === 'many' ? [b, a] : [b]);
        expect(await world.ids(plural, other, name)).toEqual([b]);
        return;
      }
      const { inverse } = attribute;
      expect(await world.ids(targets, b, inverse)).toEqual([owner]);
      await world.update(plural, other, { [name]: { connect: [b] } });
      const isExclusive = attribute.relation === 'oneToOne' || attribute.relation === 'oneToMany';
      expect(await world.ids(targets, b, inverse)).toEqual(isExclusive ? [other] : [owner, other]);
      expect(await world.ids(plural, other, name)).toEqual([b]);
      const left =
        shape === 'many'
          ? isExclusive
            ? [a]
            : isOrdered({ plural, targets, attribute })
              ? [b, a]
              : [a, b]
          : isExclusive
            ? []
            : [b];
      expect(await world.ids(plural, owner, name)).toEqual(left);
      await world.update(plural, other, { [name]: { disconnect: [b] } });
      expect(await world.ids(targets, b, inverse)).toEqual(isExclusive ? [] : [owner]);
    });

    it('R18: deleting an entry deletes its links on both sides', async () => {
      const [a, b] = await three(targets);
      const owner = await world.create(plural, { [name]: shape === 'many' ? [a, b] : a });
      const { status } = await world.send('DELETE', `/api/${plural}/${owner}`);
      expect(status).toBe(200);
      if (attribute.inverse !== null) expect(await world.ids(targets, a, attribute.inverse)).toEqual([]);
      const second = await world.create(plural, { [name]: shape === 'many' ? [a, b] : a });
      expect((await world.send('DELETE', `/api/${targets}/${a}`)).status).toBe(200);
      expect(await world.ids(plural, second, name)).toEqual(shape === 'many' ? [b] : []);
      expect((await world.server.get(`/api/${targets}/${b}`)).status).toBe(200);
    });
  });

  it('R13: connecting one-to-one removes the former links of both sides', async () => {
    for (const [attribute, inverse] of [
      ['oneOne', 'oneOneOf'],
      ['columnOne', 'columnOneOf'],
    ] as const) {
      const [a1, a2] = (await world.createMany('shelves', 2)) as [number, number];
      const [b1, b2] = (await world.createMany('books', 2)) as [number, number];
      await world.update('shelves', a1, { [attribute]: b1 });
      await world.update('shelves', a2, { [attribute]: b2 });
      await world.update('shelves', a1, { [attribute]: b2 });
      expect(await world.ids('shelves', a1, attribute)).toEqual([b2]);
      expect(await world.ids('shelves', a2, attribute)).toEqual([]);
      expect(await world.ids('books', b1, inverse)).toEqual([]);
      expect(await world.ids('books', b2, inverse)).toEqual([a1]);
      await world.update('books', b1, { [inverse]: a1 });
      expect(await world.ids('shelves', a1, attribute)).toEqual([b1]);
      expect(await world.ids('books', b2, inverse)).toEqual([]);
    }
  });

  it('R11: __pivot cannot write a link of another entry', async () => {
    const [a, b] = await three('books');
    const [owner, other] = (await world.createMany('shelves', 2)) as [number, number];
    await world.update('shelves', owner, {
      manyMany: { connect: [{ id: a, __pivot: { shelf_id: other, book_id: b } }] },
    });
    expect(await world.ids('shelves', owner, 'manyMany')).toEqual([a]);
    expect(await world.ids('shelves', other, 'manyMany')).toEqual([]);
  });

  it('R11: faults of several relations are reported in one response', async () => {
    const [a] = await three('books');
    const owner = await world.create('shelves', {});
    const { status, message, paths } = await world.refused('PUT', `/api/shelves/${owner}`, {
      data: { oneOne: true, manyMany: { connect: [a, a, 'x'] }, peers: { foo: 1 } },
    });
    expect(status).toBe(400);
    expect(paths).toEqual(expect.arrayContaining(['oneOne', 'peers']));
    expect(paths.filter((it) => it.startsWith('manyMany.connect'))).not.toEqual([]);
    expect(message).toBe(`${paths.length} errors occurred`);
  });

  it('R12: missing ids of several relations are reported in one response, each with its path and ids', async () => {
    const { paths, messages } = await world.refused('POST', '/api/shelves', {
      data: { oneOne: ABSENT, manyMany: [ABSENT + 1, ABSENT + 2], peers: { connect: [ABSENT + 3] } },
    });
    expect(paths).toEqual(['oneOne', 'manyMany', 'peers']);
    expect(messages.map((it) => /\d{7}.*/.exec(it)?.[0])).toEqual([
      `${ABSENT}`,
      `${ABSENT + 1}, ${ABSENT + 2}`,
      `${ABSENT + 3}`,
    ]);
  });

  it('R14: a relation to a type without find permission is dropped, at the root and in components', async () => {
    const shelf = await world.create('shelves', { name: 'x', rooms: [ABSENT] });
    expect((await world.read(`/api/shelves/${shelf}`)).attributes['name']).toBe('x');
    const holder = await world.create('holders', { card: { label: 'x', rooms: { connect: [1] } } });
    await world.update('holders', holder, { cards: [{ label: 'y', rooms: [1] }] });
    expect(await world.rows('shelves_rooms_links')).toEqual([]);
    expect(await world.rows('components_parts_cards_rooms_links')).toEqual([]);
  });

  it('R14: such a relation is named as ignored, and unknown keys beside it are refused', async () => {
    const made = await world.send('POST', '/api/shelves', { data: { name: 'x', rooms: [1] } });
    expect([made.status, made.headers['dovetail-ignored']]).toEqual([200, 'data.rooms']);
    const cards = Array.from({ length: 30 }, () => ({ label: 'y', rooms: [1] }));
    const { status, headers, body } = await world.send('POST', '/api/holders', { data: { cards } });
    expect(status).toBe(200);
    expect(String(headers['dovetail-ignored'])).toMatch(/^data\.cards\.0\.rooms, data\.cards\.1\.rooms, .*, \.\.\.$/);
    const { id } = (body as { data: { id: number } }).data;
    const refused = await world.refused('PUT', `/api/holders/${id}`, {
      data: { cards: [...cards, { label: 'z', nope: 1 }] },
    });
    expect([refused.status, refused.paths]).toEqual([400, ['cards.30.nope']]);
  });

  it('R2: connect and disconnect are refused on media, at the root and in components', async () => {
    const holder = await world.create('holders', {
      cover: files.picture,
      gallery: [1, 2],
      card: { label: 'x', cover: 1 },
    });
    const card = (await world.read(`/api/holders/${holder}?populate=card`)).attributes['card'] as { id: number };
    for (const key of ['connect', 'disconnect']) {
      for (const [data, path] of [
        [{ cover: { [key]: [2] } }, `cover.${key}`],
        [{ gallery: { [key]: [3] } }, `gallery.${key}`],
        [{ gallery: { [key]: [] } }, `gallery.${key}`],
        [{ gallery: { [key]: null } }, `gallery.${key}`],
        [{ gallery: { set: [1], [key]: [3] } }, `gallery.${key}`],
        [{ card: { id: card.id, gallery: { [key]: [3] } } }, `card.gallery.${key}`],
        [{ cards: [{ label: 'a', cover: { [key]: [3] } }] }, `cards.0.cover.${key}`],
        [{ zone: [{ __component: 'parts.card', label: 'a', cover: { [key]: [3] } }] }, `zone.0.cover.${key}`],
      ] as const) {
        const { status, name, paths, message } = await world.refused('PUT', `/api/holders/${holder}`, { data });
        expect([status, name, paths], JSON.stringify(data)).toEqual([400, 'ValidationError', [path]]);
        expect(message).toContain(key);
      }
    }
    const { status } = await world.refused('POST', '/api/holders', { data: { cover: { connect: [1] } } });
    expect(status).toBe(400);
  });

  it('R11: as many ids as the limit allows are accepted, one more is refused', async () => {
    const books = await world.createMany('books', limits.relationIdsMax);
    const shelf = await world.create('shelves');
    const { status, text } = await world.send('PUT', `/api/shelves/${shelf}?fields=id`, { data: { manyMany: books } });
    expect(status, text).toBe(200);
    const more = await world.refused('PUT', `/api/shelves/${shelf}`, { data: { manyMany: [...books, 1] } });
    expect([more.status, more.paths]).toEqual([400, ['manyMany']]);
    expect((await world.send('PUT', `/api/shelves/${shelf}?fields=id`, { data: { manyMany: [] } })).status).toBe(200);
  });

  it('R6: 3000 repetitions of one id are refused, naming the first', async () => {
    const [a] = await three('books');
    const shelf = await world.create('shelves');
    const { status, paths } = await world.refused('PUT', `/api/shelves/${shelf}`, {
      data: { manyMany: { connect: Array.from({ length: 3000 }, () => a) } },
    });
    expect(status).toBe(400);
    expect(paths[0]).toBe('manyMany.connect.1');
  });

  it('ST10: these tests leave no orphaned rows behind', () => world.expectNoOrphans());
});

describe.each(dialects)('both sides of a relation of a type to itself in one body on %s', (dialect) => {
  const column = { useJoinTable: false };
  const attributes = {
    parent: relation('manyToOne', 'node', { inversedBy: 'children' }),
    children: relation('oneToMany', 'node', { mappedBy: 'parent' }),
    columnParent: relation('manyToOne', 'node', { inversedBy: 'columnChildren', ...column }),
    columnChildren: relation('oneToMany', 'node', { mappedBy: 'columnParent', ...column }),
    next: relation('oneToOne', 'node', { inversedBy: 'previous' }),
    previous: relation('oneToOne', 'node', { mappedBy: 'next' }),
    follows: relation('manyToMany', 'node', { inversedBy: 'followers' }),
    followers: relation('manyToMany', 'node', { mappedBy: 'follows' }),
  };
  const world = openedForTests(() => newSmallWorld(dialect, { types: { node: { attributes } } }));
  const create = async (): Promise<number> => {
    const { body } = await world.send('POST', '/api/nodes', { data: {} });
    return (body as { data: { id: number } }).data.id;
  };
  const put = (id: number, data: unknown) => world.send('PUT', `/api/nodes/${id}`, { data });
  const linked = async (id: number, names: readonly string[]): Promise<unknown> => {
    const { body } = await world.send('GET', `/api/nodes/${id}?populate=*`);
    const entry = (body as { data: Parameters<typeof idsOf>[0] }).data;
    return Object.fromEntries(names.map((name) => [name, idsOf(entry, name)]));
  };

  it.each([
    ['parent', 'children'],
    ['columnParent', 'columnChildren'],
    ['next', 'previous'],
    ['follows', 'followers'],
  ])('R13: %s and %s may both link the entry to itself, whether it was before or not', async (one, other) => {
    const id = await create();
    for (let round = 0; round < 2; round++) {
      expect((await put(id, { [one]: [id], [other]: [id] })).status).toBe(200);
      expect(await linked(id, [one, other])).toEqual({ [one]: [id], [other]: [id] });
    }
    const moves = { disconnect: [id], connect: [id] };
    expect((await put(id, { [one]: moves, [other]: [id] })).status).toBe(200);
    expect(await linked(id, [one, other])).toEqual({ [one]: [id], [other]: [id] });
  });

  it('R13, R9: each side keeps the order that it is given', async () => {
    const [id, a, b] = [await create(), await create(), await create()];
    expect((await put(id, { follows: [a, id, b], followers: [b, a, id] })).status).toBe(200);
    expect(await linked(id, ['follows', 'followers'])).toEqual({ follows: [a, id, b], followers: [b, a, id] });
  });

  it.each<readonly [one: string, other: string, bodyOf: (id: number, a: number) => readonly [unknown, unknown]]>([
    ['parent', 'children', (id, a) => [id, [a]]],
    ['parent', 'children', (id, a) => [a, [id]]],
    ['parent', 'children', (id) => [id, { disconnect: [id] }]],
    ['columnParent', 'columnChildren', (id) => [null, [id]]],
    ['next', 'previous', (id, a) => [a, id]],
    ['follows', 'followers', (id) => [{ connect: [id] }, []]],
  ])('R13: %s and %s are refused where one has the entry itself and the other has not', async (one, other, bodyOf) => {
    const [id, a] = [await create(), await create()];
    const [here, there] = bodyOf(id, a);
    const { status, body } = await put(id, { [one]: here, [other]: there });
    expect([status, (body as { error: { message: string } }).error.message]).toEqual([
      400,
      `Invalid relations: of ${one} and ${other}, which show the same links, only one links the entry ${id} to itself`,
    ]);
    expect(await linked(id, [one, other])).toEqual({ [one]: [], [other]: [] });
  });

  it('R13: a side that says nothing of the entry itself may be beside one that does', async () => {
    const [id, a] = [await create(), await create()];
    expect((await put(id, { parent: id, children: { connect: [a] } })).status).toBe(200);
    expect(await linked(id, ['parent', 'children'])).toEqual({ parent: [id], children: [id, a] });
  });
});
