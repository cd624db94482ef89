/** Random arrangements of a relation list of which parts are unknown, against plain arrays of ids. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Arrangement,
  indexOf,
  indexOfHome,
  isUntouched,
  lengthOf,
  place,
  remove,
  sentOf,
  slotsOf,
  untouched,
} from '../src/rooms/content/relations/arrangement.js';
import { bodyOf, type Connect, intentOf, type RelationBody, replay } from '../src/rooms/content/relations/changes.js';

/** Ids of the base are far from their places, so that one cannot pass for the other. */
const idOf = (home: number): number => 1000 + home * 7;
const baseOf = (total: number): readonly number[] => Array.from({ length: total }, (_none, home) => idOf(home));

const listOf = (arrangement: Arrangement): readonly number[] =>
  slotsOf(arrangement, 0, lengthOf(arrangement)).map(({ id, home }) => id ?? idOf(home!));

/** What the specification says of a body (R5, R8): disconnects, then each connect on what the earlier ones left. */
const applied = (list: readonly number[], { connect = [], disconnect = [] }: RelationBody): readonly number[] => {
  const gone = new Set(disconnect.map((it) => it.id));
  return connect.reduce<readonly number[]>(
    (order, { id, position }) => {
      const rest = order.filter((it) => it !== id);
      const anchor = 'after' in position ? position.after : 'before' in position ? position.before : null;
      if (anchor !== null && !rest.includes(anchor)) throw new Error(`${anchor} is not in the list`);
      const at =
        'start' in position
          ? 0
          : 'end' in position
            ? rest.length
            : rest.indexOf(anchor!) + ('after' in position ? 1 : 0);
      return rest.toSpliced(at, 0, id);
    },
    list.filter((id) => !gone.has(id)),
  );
};

type Step = { readonly kind: 'move' | 'remove' | 'add'; readonly from: number; readonly to: number };

const steps = (max: number): fc.Arbitrary<readonly Step[]> =>
  fc.array(
    fc.record({
      kind: fc.constantFrom('move', 'move', 'move', 'remove', 'add'),
      from: fc.nat(),
      to: fc.nat(),
    }) as fc.Arbitrary<Step>,
    { maxLength: max },
  );

interface Played {
  readonly arrangement: Arrangement;
  readonly list: readonly number[];
  /** Ids that a step named. */
  readonly named: ReadonlySet<number>;
}

/** The steps on both; an added id is a new one, or one that was removed before. */
const play = (total: number, made: readonly Step[]): Played => {
  let arrangement = untouched(total);
  let list = baseOf(total);
  const named = new Set<number>();
  const homeOf = (id: number): number | null => (id >= 1000 ? (id - 1000) / 7 : null);
  for (const { kind, from, to } of made) {
    if (kind === 'add') {
      const absent = [...baseOf(total).filter((id) => !list.includes(id)), 1, 2, 3, 4].filter(
        (id) => !list.includes(id),
      );
      const id = absent[from % Math.max(1, absent.length)];
      if (id === undefined) continue;
      const index = to % (list.length + 1);
      named.add(id);
      list = list.toSpliced(index, 0, id);
      arrangement = place(arrangement, { id, home: homeOf(id) }, index);
    } else if (list.length > 0) {
      const at = from % list.length;
      const id = list[at]!;
      const rest = list.toSpliced(at, 1);
      named.add(id);
      if (kind === 'remove') {
        list = rest;
        arrangement = remove(arrangement, { id, home: homeOf(id) });
      } else {
        const index = to % (rest.length + 1);
        list = rest.toSpliced(index, 0, id);
        arrangement = place(arrangement, { id, home: homeOf(id) }, index);
      }
    }
  }
  return { arrangement, list, named };
};

const bodyWith = (arrangement: Arrangement): RelationBody => {
  const bodied = bodyOf(arrangement, idOf);
  if (bodied.kind === 'unknown') throw new Error(`unknown: ${bodied.homes}`);
  return bodied.body;
};

describe('an arrangement', () => {
  test('shows after any moves, additions and removals what a plain array shows, and finds each entry', () => {
    fc.assert(
      fc.property(fc.nat({ max: 30 }), steps(25), (total, made) => {
        const { arrangement, list } = play(total, made);
        expect(listOf(arrangement)).toEqual(list);
        list.forEach((id, index) => {
          expect(indexOf(arrangement, { id, home: id >= 1000 ? (id - 1000) / 7 : null })).toBe(index);
        });
      }),
      { numRuns: 2000 },
    );
  });

  test('shows the same in any window', () => {
    fc.assert(
      fc.property(
        fc.nat({ max: 30 }),
        steps(25),
        fc.nat({ max: 40 }),
        fc.nat({ max: 10 }),
        (total, made, start, count) => {
          const { arrangement, list } = play(total, made);
          const shown = slotsOf(arrangement, start, start + count).map(({ id, home }) => id ?? idOf(home!));
          expect(shown).toEqual(list.slice(start, start + count));
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('stays small in a list of a million', () => {
    let arrangement = untouched(1_000_000);
    for (let i = 0; i < 100; i++) arrangement = place(arrangement, { id: i, home: i * 5000 }, 999_999 - i * 3000);
    expect(lengthOf(arrangement)).toBe(1_000_000);
    expect(arrangement.pieces.length).toBeLessThan(400);
    expect(slotsOf(arrangement, 500_000, 500_020)).toHaveLength(20);
  });
});

describe('the body of an arrangement', () => {
  test('R5, R8: makes the list that is shown, with every id once and no anchor that is not there', () => {
    fc.assert(
      fc.property(fc.nat({ max: 30 }), steps(25), (total, made) => {
        const { arrangement, list } = play(total, made);
        const body = bodyWith(arrangement);
        expect(applied(baseOf(total), body)).toEqual(list);
        const ids = (body.connect ?? []).map((it) => it.id);
        expect(new Set(ids).size).toBe(ids.length);
      }),
      { numRuns: 3000 },
    );
  });

  test('names only what was moved, added or removed', () => {
    fc.assert(
      fc.property(fc.nat({ max: 30 }), steps(8), (total, made) => {
        const { arrangement, named } = play(total, made);
        const { connect = [], disconnect = [] } = bodyWith(arrangement);
        for (const { id } of [...connect, ...disconnect]) expect(named).toContain(id);
      }),
      { numRuns: 2000 },
    );
  });

  test('is empty where everything is back in its order', () => {
    fc.assert(
      fc.property(fc.nat({ max: 20 }), steps(12), (total, made) => {
        const { arrangement, list } = play(total, made);
        const isSame = list.join() === baseOf(total).join();
        expect(Object.keys(bodyWith(arrangement)).length === 0).toBe(isSame);
      }),
      { numRuns: 3000 },
    );
  });

  const connects = (arrangement: Arrangement): readonly Connect[] => bodyWith(arrangement).connect ?? [];

  test('moving one entry many times is one element', () => {
    let arrangement = untouched(10);
    for (const index of [3, 4, 5, 6, 7]) arrangement = place(arrangement, { id: idOf(2), home: 2 }, index);
    expect(connects(arrangement)).toEqual([{ id: idOf(2), position: { after: idOf(7) } }]);
    arrangement = place(arrangement, { id: idOf(2), home: 2 }, 2);
    expect(isUntouched(arrangement)).toBe(true);
  });

  test('R3: the first place is `start`, the last one `end`', () => {
    expect(connects(place(untouched(5), { id: 1, home: null }, 0))).toEqual([{ id: 1, position: { start: true } }]);
    expect(connects(place(untouched(5), { id: 1, home: null }, 5))).toEqual([{ id: 1, position: { end: true } }]);
    expect(connects(place(untouched(0), { id: 1, home: null }, 0))).toEqual([{ id: 1, position: { end: true } }]);
  });

  test('an entry that was removed and added again is moved, not disconnected', () => {
    const gone = remove(untouched(5), { id: idOf(1), home: 1 });
    expect(bodyWith(gone)).toEqual({ disconnect: [{ id: idOf(1) }] });
    expect(bodyWith(place(gone, { id: idOf(1), home: null }, 3))).toEqual({
      connect: [{ id: idOf(1), position: { after: idOf(3) } }],
    });
  });

  test('an entry that was removed comes back where it was', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.nat(), (total, at) => {
        const entry = { id: idOf(at % total), home: at % total };
        const gone = remove(untouched(total), entry);
        expect(isUntouched(place(gone, entry, indexOfHome(gone, entry.home)))).toBe(true);
      }),
    );
  });

  test('an added entry that is removed again leaves nothing', () => {
    expect(isUntouched(remove(place(untouched(5), { id: 1, home: null }, 2), { id: 1, home: null }))).toBe(true);
  });

  test('to position 6,000 of 10,000 is one element, whose anchor is looked up if neither neighbour is known', () => {
    const arrangement = place(untouched(10_000), { id: idOf(1), home: 1 }, 5999);
    const near = (home: number): number | undefined => (home < 100 ? idOf(home) : undefined);
    expect(bodyOf(arrangement, near)).toEqual({ kind: 'unknown', homes: [5999] });
    expect(bodyOf(arrangement, (home) => (home === 5999 ? 4242 : near(home)))).toEqual({
      kind: 'body',
      body: { connect: [{ id: idOf(1), position: { after: 4242 } }] },
    });
    expect(bodyOf(arrangement, (home) => (home === 6000 ? 4343 : near(home)))).toEqual({
      kind: 'body',
      body: { connect: [{ id: idOf(1), position: { before: 4343 } }] },
    });
    expect(slotsOf(arrangement, 5999, 6000)[0]).toMatchObject({ id: idOf(1), isMoved: true });
  });

  test('the fewest entries are sent: swapping two is one move, whichever was taken', () => {
    const down = place(untouched(4), { id: idOf(1), home: 1 }, 2);
    expect(sentOf(down).size).toBe(1);
    // the other one is moved down as well: the first comes back into order by itself
    const both = place(down, { id: idOf(2), home: 2 }, 2);
    expect(isUntouched(both) || sentOf(both).size === 0).toBe(true);
  });
});

describe('an arrangement laid over another list', () => {
  test('is itself on the list that it was made on', () => {
    fc.assert(
      fc.property(fc.nat({ max: 30 }), steps(20), (total, made) => {
        const { arrangement, list } = play(total, made);
        const homeOf = (id: number): number | null => (id >= 1000 ? (id - 1000) / 7 : null);
        const again = replay(total, homeOf, intentOf(arrangement, bodyWith(arrangement)));
        expect(again.losses).toEqual([]);
        expect(listOf(again.arrangement)).toEqual(list);
        expect(bodyWith(again.arrangement)).toEqual(bodyWith(arrangement));
      }),
      { numRuns: 2000 },
    );
  });

  test('never fails, keeps the order of the others, and places each entry beside its anchor or says why not', () => {
    fc.assert(
      fc.property(fc.nat({ max: 15 }), steps(8), steps(8), (total, mine, theirs) => {
        const { arrangement } = play(total, mine);
        const there = play(total, theirs).list;
        const homeOf = (id: number): number | null => (there.includes(id) ? there.indexOf(id) : null);
        const intent = intentOf(arrangement, bodyWith(arrangement));
        const { arrangement: now, losses } = replay(there.length, homeOf, intent);
        const shown = slotsOf(now, 0, lengthOf(now)).map(({ id, home }) => id ?? there[home!]!);
        expect(new Set(shown).size).toBe(shown.length);
        const touched = new Set([...(intent.body.connect ?? []), ...(intent.body.disconnect ?? [])].map((it) => it.id));
        expect(shown.filter((id) => !touched.has(id))).toEqual(there.filter((id) => !touched.has(id)));
        const lost = new Set(losses.filter((it) => it.kind === 'removed-there').map((it) => it.id));
        for (const { id } of intent.body.connect ?? []) expect(shown.includes(id)).toBe(!lost.has(id));
        for (const { id } of intent.body.disconnect ?? []) expect(shown).not.toContain(id);
        // the server would accept it, and make of their list what is shown
        const bodied = bodyOf(now, (home) => there[home]);
        if (bodied.kind === 'unknown') throw new Error('everything is known');
        expect(applied(there, bodied.body)).toEqual(shown);
      }),
      { numRuns: 3000 },
    );
  });

  test('says when the entry beside which another belongs is gone', () => {
    const arrangement = place(untouched(6), { id: idOf(0), home: 0 }, 3);
    const intent = intentOf(arrangement, bodyWith(arrangement));
    const there = baseOf(6).filter((id) => id !== idOf(3));
    const { losses } = replay(5, (id) => (there.includes(id) ? there.indexOf(id) : null), intent);
    expect(losses).toEqual([{ kind: 'anchor-gone', id: idOf(0), anchor: idOf(3), index: 3 }]);
  });
});
