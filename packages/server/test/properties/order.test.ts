/** `applyMoves` against a model written from the text of R5, and the guarantees for ranks (ST13). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { limits } from '../../src/limits.js';
import { applyMoves, type Move, type Moves, type Ranked, rankList } from '../../src/write/order.js';
import { seedOfRun } from '../oracle/random.js';

const seed = seedOfRun();
const runs = Number(process.env['DOVETAIL_ORDER_RUNS'] ?? 3000);

/**
 * R5 as code: disconnect first; then element by element, each against the list as changed so far; an element whose
 * anchor comes later in the array waits and is placed right after its anchor; a missing anchor or a cycle changes
 * nothing.
 */
const modelMoves = (list: readonly number[], { disconnect, connect }: Moves): readonly number[] | null => {
  let order = list.filter((id) => !disconnect.includes(id));
  const place = ({ id, position }: Move): void => {
    const others = order.filter((it) => it !== id);
    const at =
      position.kind === 'start'
        ? 0
        : position.kind === 'end'
          ? others.length
          : others.indexOf(position.anchor) + (position.kind === 'after' ? 1 : 0);
    order = [...others.slice(0, at), id, ...others.slice(at)];
    // elements that waited for this one follow at once, in the order of the array
    for (const follower of waiting.filter((it) => 'anchor' in it.position && it.position.anchor === id)) {
      waiting = waiting.filter((it) => it !== follower);
      place(follower);
    }
  };
  let waiting: readonly Move[] = [];
  for (const move of connect) {
    const anchor = 'anchor' in move.position ? move.position.anchor : null;
    if (anchor === null || (anchor !== move.id && order.includes(anchor))) place(move);
    else if (anchor === move.id || !connect.some((it) => it.id === anchor)) return null;
    else waiting = [...waiting, move];
  }
  return waiting.length > 0 ? null : order;
};

const id = fc.integer({ min: 1, max: 12 });
const position = fc.oneof(
  fc.constant({ kind: 'start' } as const),
  fc.constant({ kind: 'end' } as const),
  fc.record({ kind: fc.constantFrom('before' as const, 'after' as const), anchor: id }),
);
const moves: fc.Arbitrary<Moves> = fc.record({
  disconnect: fc.array(id, { maxLength: 3 }),
  connect: fc.uniqueArray(fc.record({ id, position }), { selector: (it) => it.id, maxLength: 8 }),
});
const list = fc.uniqueArray(id, { maxLength: 8 });

describe('applyMoves', () => {
  test(`R5: applyMoves gives what the model gives (seed ${seed})`, () => {
    let [accepted, refused] = [0, 0];
    fc.assert(
      fc.property(list, moves, (from, change) => {
        const wanted = modelMoves(from, change);
        const got = applyMoves(from, change, ['list']);
        if (wanted === null) {
          refused += 1;
          expect(got.ok).toBe(false);
          return;
        }
        accepted += 1;
        expect(got).toEqual({ ok: true, value: wanted });
      }),
      { seed, numRuns: runs },
    );
    // the run must contain both accepted and refused moves
    expect(Math.min(accepted, refused)).toBeGreaterThan(runs / 20);
  });

  test(`R5: no id is repeated or lost, and unmoved ones keep their order (seed ${seed})`, () => {
    fc.assert(
      fc.property(list, moves, (from, change) => {
        const got = applyMoves(from, change, ['list']);
        if (!got.ok) return;
        const connected = change.connect.map((it) => it.id);
        const kept = from.filter((it) => !change.disconnect.includes(it));
        expect([...got.value].sort((a, b) => a - b)).toEqual(
          [...new Set([...kept, ...connected])].sort((a, b) => a - b),
        );
        const unmoved = kept.filter((it) => !connected.includes(it));
        expect(got.value.filter((it) => unmoved.includes(it))).toEqual(unmoved);
      }),
      { seed, numRuns: runs },
    );
  });

  test(`R5: repeating a move changes nothing (seed ${seed})`, () => {
    fc.assert(
      fc.property(list, id, position, (from, moved, to) => {
        const change = { disconnect: [], connect: [{ id: moved, position: to }] };
        const once = applyMoves(from, change, []);
        if (once.ok) expect(applyMoves(once.value, change, [])).toEqual(once);
      }),
      { seed, numRuns: runs },
    );
  });

  test('R5: 3,000 elements that each wait for a later one are placed', () => {
    const count = 3000;
    const connect: Move[] = Array.from({ length: count }, (_it, i) => ({
      id: i + 1,
      position: { kind: 'after', anchor: i + 2 },
    }));
    connect.push({ id: count + 1, position: { kind: 'start' } });
    const got = applyMoves([], { disconnect: [], connect }, []);
    expect(got).toEqual({ ok: true, value: Array.from({ length: count + 1 }, (_it, i) => count + 1 - i) });
  });

  test('R15: 20,000 elements that wait for one anchor are placed', () => {
    const count = 20_000;
    const connect: Move[] = Array.from({ length: count }, (_it, i) => ({
      id: i + 1,
      position: { kind: 'after', anchor: count + 1 },
    }));
    connect.push({ id: count + 1, position: { kind: 'start' } });
    const got = applyMoves([], { disconnect: [], connect }, []);
    expect(got.ok && got.value[0]).toBe(count + 1);
    expect(got.ok && got.value.length).toBe(count + 1);
  });
});

describe('rankList', () => {
  const rank = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 3, arbitrary: fc.double({ min: -2, max: 20, noNaN: true }) },
    { weight: 1, arbitrary: fc.constantFrom(0, -1, 1e-9, 5e-324, 2 ** 29, limits.rankMax, 2 ** 53, 1e300) },
    { weight: 2, arbitrary: fc.constant(null) },
  );
  /** v4 positions an entry at `floor(neighbour) + i / (n + 1)`, or below 1 at the start (ST13). */
  const isSound = (ranks: readonly number[]): boolean =>
    ranks.every((it, i) => Number.isInteger(it) && it > (ranks[i - 1] ?? 0) && it <= limits.rankMax);
  const dense = (length: number): Ranked[] => Array.from({ length }, (_it, i) => ({ id: i + 1, rank: i + 1 }));
  const ranked = (list: readonly Ranked[]): { list: Ranked[]; changed: number } => {
    const ranks = rankList(list);
    expect(isSound(ranks)).toBe(true);
    return {
      list: list.map(({ id }, i) => ({ id, rank: ranks[i]! })),
      changed: list.filter((it, i) => it.rank !== ranks[i]).length,
    };
  };

  test(`ST13: ranks are strictly increasing integers, whatever was stored (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.array(rank, { maxLength: 30 }), (stored) => {
        const ranks = rankList(stored.map((it, i) => ({ id: i + 1, rank: it })));
        expect(ranks).toHaveLength(stored.length);
        expect(isSound(ranks), JSON.stringify(ranks)).toBe(true);
      }),
      { seed, numRuns: runs },
    );
  });

  test(`ST13: a sorted list keeps every rank; a removal changes none (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 100_000 }), { maxLength: 30 }), fc.nat(), (given, at) => {
        const stored = [...given].sort((a, b) => a - b).filter((_it, i) => i !== at % (given.length + 1));
        expect(rankList(stored.map((it, i) => ({ id: i + 1, rank: it })))).toEqual(stored);
      }),
      { seed, numRuns: runs },
    );
  });

  test(`ST13: in a short dense list a move changes the ranks up to the next gap (seed ${seed})`, () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 60 }), fc.nat(), fc.nat(), (length, from, to) => {
        const stored = dense(length);
        const [moved] = stored.splice(from % length, 1);
        stored.splice(to % length, 0, moved!);
        const { list, changed } = ranked(stored);
        const [low, high] = [Math.min(from % length, to % length), Math.max(from % length, to % length)];
        list.forEach((it, i) => {
          if (i < low) expect(it.rank).toBe(i + 1);
        });
        if (from % length >= to % length) expect(changed).toBeLessThanOrEqual(high - low + 1);
      }),
      { seed, numRuns: runs },
    );
  });

  test('ST13: 1,000 moves in a list of 10,000 renumber it once, and change one rank each', () => {
    const count = 10_000;
    let list = dense(count);
    const changes: number[] = [];
    for (let i = 0; i < 1000; i++) {
      const next = [...list];
      const [moved] = next.splice((i * 7919) % count, 1);
      next.splice((i * 104_729) % count, 0, moved!);
      const result = ranked(next);
      changes.push(result.changed);
      list = result.list;
    }
    expect(changes.filter((it) => it > 1)).toEqual([count]);
  });

  test.each([
    ['one place', (list: readonly Ranked[], added: Ranked) => [list[0]!, added, ...list.slice(1)], 110],
    ['the place after the last one', (list: readonly Ranked[], added: Ranked) => withAdded(list, added), 110],
    ['the start', (list: readonly Ranked[], added: Ranked) => [added, ...list], 2],
    ['the end', (list: readonly Ranked[], added: Ranked) => [...list, added], 0],
  ] as const)('ST13: 2,000 new entries at %s of a long list rarely renumber it', (_where, put, max) => {
    let list = dense(1000);
    let renumbered = 0;
    for (let i = 0; i < 2000; i++) {
      const result = ranked(put(list, { id: 10_000 + i, rank: null }));
      if (result.changed > 1) renumbered += 1;
      list = result.list;
    }
    expect(renumbered).toBeLessThanOrEqual(max);
  });
});

const withAdded = (list: readonly Ranked[], added: Ranked): readonly Ranked[] => {
  const last = list.reduce((place, it, i) => (it.id >= 10_000 ? i : place), 500);
  return [...list.slice(0, last + 1), added, ...list.slice(last + 1)];
};
