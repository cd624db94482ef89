/**
 * A relation list as it will be, of which only windows are known. The stored list (the base) is named by places, `home`, from 0
 * on. What was changed is kept as a piece table: runs of the base that stayed together, and between them the entries that were
 * moved or added. Its size grows with the changes and never with the list, so ten thousand entries cost as much as ten.
 */

/** Entries of the base, from `home` on, in their stored order. */
interface Run {
  readonly kind: 'run';
  readonly home: number;
  readonly count: number;
}

/** One entry at a new place. */
export interface Placed {
  readonly kind: 'placed';
  readonly id: number;
  /** Its place in the base; null if it was not in the list. */
  readonly home: number | null;
}

export type Piece = Run | Placed;

/** An entry that a change names. */
export interface Named {
  readonly id: number;
  readonly home: number | null;
}

export interface Arrangement {
  /** Length of the base. */
  readonly total: number;
  /** In the new order. Runs are never empty, and their homes increase. */
  readonly pieces: readonly Piece[];
  /** Entries of the base that are taken out, by their home. */
  readonly removed: readonly (Named & { readonly home: number })[];
}

/** One row of the new list. Either `id` or `home` is known, or both. */
export interface Slot {
  /** Null where it must be looked up by `home`. */
  readonly id: number | null;
  readonly home: number | null;
  readonly isAdded: boolean;
  /** Whether a body names it; an entry that was moved and came back in order is not. */
  readonly isMoved: boolean;
}

export const untouched = (total: number): Arrangement => ({
  total,
  pieces: total === 0 ? [] : [{ kind: 'run', home: 0, count: total }],
  removed: [],
});

export const isUntouched = ({ total, pieces, removed }: Arrangement): boolean =>
  removed.length === 0 && (total === 0 ? pieces.length === 0 : pieces.length === 1 && pieces[0]?.kind === 'run');

const countOf = (piece: Piece): number => (piece.kind === 'run' ? piece.count : 1);

/** Length of the new list. O(pieces). */
export const lengthOf = ({ pieces }: Arrangement): number =>
  pieces.reduce((length, piece) => length + countOf(piece), 0);

/** The rows from `start` up to, but not including, `end`, in the new order. O(pieces + rows). */
export const slotsOf = (arrangement: Arrangement, start: number, end: number): readonly Slot[] => {
  const sent = sentOf(arrangement);
  const slots: Slot[] = [];
  let at = 0;
  for (const piece of arrangement.pieces) {
    const count = countOf(piece);
    if (at >= end) break;
    if (at + count > start) {
      if (piece.kind === 'placed')
        slots.push({ id: piece.id, home: piece.home, isAdded: piece.home === null, isMoved: sent.has(piece) });
      else
        for (let i = Math.max(start, at); i < Math.min(end, at + count); i++)
          slots.push({ id: null, home: piece.home + i - at, isAdded: false, isMoved: false });
    }
    at += count;
  }
  return slots;
};

/** Where the new list has an entry; null if it does not. O(pieces). */
export const indexOf = ({ pieces }: Arrangement, { id, home }: Named): number | null => {
  let at = 0;
  for (const piece of pieces) {
    if (piece.kind === 'placed') {
      if (piece.id === id) return at;
    } else if (home !== null && home >= piece.home && home < piece.home + piece.count) return at + home - piece.home;
    at += countOf(piece);
  }
  return null;
};

/** Where an entry of the base belongs that was taken out: behind what stayed of those before it. O(pieces). */
export const indexOfHome = ({ pieces }: Arrangement, home: number): number => {
  let [at, index] = [0, 0];
  for (const piece of pieces) {
    if (piece.kind === 'run' && piece.home < home) index = at + Math.min(piece.count, home - piece.home);
    at += countOf(piece);
  }
  return index;
};

/** The list without an entry; one of the base is remembered as removed. */
export const remove = (arrangement: Arrangement, { id, home }: Named): Arrangement => {
  const taken = take(arrangement, { id, home });
  if (home === null || arrangement.removed.some((it) => it.id === id)) return taken;
  const removed = [...arrangement.removed, { id, home }].sort((a, b) => a.home - b.home);
  return { ...taken, removed };
};

/** The entry at `index` of the list without it: added, moved, or brought back after it was removed. */
export const place = (arrangement: Arrangement, entry: Named, index: number): Arrangement => {
  const home = arrangement.removed.find((it) => it.id === entry.id)?.home ?? entry.home;
  const { total, removed, pieces } = take(arrangement, { ...entry, home });
  const placed: Placed = { kind: 'placed', id: entry.id, home };
  return {
    total,
    removed: removed.filter((it) => it.id !== entry.id),
    pieces: joined(insertedAt(pieces, placed, index), total),
  };
};

/** The list without an entry, wherever it is. */
const take = (arrangement: Arrangement, { id, home }: Named): Arrangement => {
  const pieces = arrangement.pieces.flatMap((piece): readonly Piece[] => {
    if (piece.kind === 'placed') return piece.id === id ? [] : [piece];
    return home !== null && home >= piece.home && home < piece.home + piece.count
      ? [runOf(piece.home, home), runOf(home + 1, piece.home + piece.count)].filter((it) => it.count > 0)
      : [piece];
  });
  return { ...arrangement, pieces: joined(pieces, arrangement.total) };
};

const runOf = (from: number, to: number): Run => ({ kind: 'run', home: from, count: to - from });

const insertedAt = (pieces: readonly Piece[], placed: Placed, index: number): readonly Piece[] => {
  const out: Piece[] = [];
  let at = 0;
  let isIn = false;
  for (const piece of pieces) {
    const count = countOf(piece);
    if (!isIn && index < at + count) {
      isIn = true;
      if (piece.kind === 'run' && index > at) {
        const cut = piece.home + index - at;
        out.push(runOf(piece.home, cut), placed, runOf(cut, piece.home + count));
      } else out.push(placed, piece);
    } else out.push(piece);
    at += count;
  }
  return isIn ? out : [...out, placed];
};

/**
 * Pieces in their shortest form: an entry that stands beside its stored neighbour again belongs to the run. It may always be
 * kept there: it is the first (or last) between two runs, so whatever else stays in order between them comes after (or before).
 */
const joined = (pieces: readonly Piece[], total: number): readonly Piece[] => {
  let now = pieces;
  for (;;) {
    const next = joinedOnce(now, total);
    if (next.length === now.length && next.every((piece, i) => piece === now[i])) return next;
    now = next;
  }
};

const joinedOnce = (pieces: readonly Piece[], total: number): readonly Piece[] => {
  const out: Piece[] = [];
  pieces.forEach((piece, i) => {
    const last = out.at(-1);
    const home = piece.home;
    if (last?.kind === 'run' && home === last.home + last.count)
      out[out.length - 1] = runOf(last.home, home + countOf(piece));
    else if (piece.kind === 'placed' && home !== null && isBackHome(pieces, i, total)) out.push(runOf(home, home + 1));
    else out.push(piece);
  });
  return out;
};

const isBackHome = (pieces: readonly Piece[], i: number, total: number): boolean => {
  const home = pieces[i]!.home!;
  const next = pieces[i + 1];
  if (home === 0 && i === 0) return true;
  if (home === total - 1 && next === undefined) return true;
  return next?.kind === 'run' && next.home === home + 1;
};

/**
 * The placed entries that a body must name: all that are new, and the fewest of the others, so that the rest is in stored order
 * again. Runs stay, and between two of them the longest increasing sequence of homes. O(pieces log pieces), once for each list.
 */
export const sentOf = (arrangement: Arrangement): ReadonlySet<Placed> => {
  const known = sentCache.get(arrangement);
  if (known) return known;
  const sent = new Set<Placed>();
  let low = -1;
  let between: Placed[] = [];
  const close = (high: number): void => {
    const kept = longestIncreasing(
      between.filter(({ home }) => home !== null && home > low && home < high).map((it) => ({ it, home: it.home! })),
    );
    for (const it of between) if (!kept.has(it)) sent.add(it);
    between = [];
  };
  for (const piece of arrangement.pieces) {
    if (piece.kind === 'placed') between.push(piece);
    else {
      close(piece.home);
      low = piece.home + piece.count - 1;
    }
  }
  close(Number.POSITIVE_INFINITY);
  sentCache.set(arrangement, sent);
  return sent;
};

const sentCache = new WeakMap<Arrangement, ReadonlySet<Placed>>();

const longestIncreasing = (items: readonly { readonly it: Placed; readonly home: number }[]): ReadonlySet<Placed> => {
  /** By length less one: the sequence of that length whose last home is the smallest. */
  const ends: number[] = [];
  const before: number[] = [];
  items.forEach(({ home }, i) => {
    let from = 0;
    let to = ends.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (items[ends[middle]!]!.home < home) from = middle + 1;
      else to = middle;
    }
    before.push(from === 0 ? -1 : ends[from - 1]!);
    ends[from] = i;
  });
  const kept = new Set<Placed>();
  for (let i = ends.at(-1) ?? -1; i >= 0; i = before[i]!) kept.add(items[i]!.it);
  return kept;
};
