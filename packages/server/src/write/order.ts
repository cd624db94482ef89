/**
 * The list algebra of ordered relations (R3 to R9): pure functions on lists of ids, and the stored ranks
 * that keep them. Knows neither tables nor requests.
 */
import { type Issue, issue, ok, type Result } from '../errors.js';
import { limits } from '../limits.js';

export type Position =
  | { readonly kind: 'start' }
  | { readonly kind: 'end' }
  | { readonly kind: 'before' | 'after'; readonly anchor: number };

export interface Move {
  readonly id: number;
  readonly position: Position;
}

export interface Moves {
  readonly disconnect: readonly number[];
  /** Ids must not repeat (R6). */
  readonly connect: readonly Move[];
}

/**
 * New order of one relation. In: ids in stored order, no repeats. Out: the same without the disconnected and with the
 * connected ones, no repeats. Disconnects apply first, then connects one after the other, each against the list as the
 * earlier ones left it (R5); an element whose anchor comes later in the array is placed when its anchor has been.
 * Issues, at `path` and the element's place: relation.anchor-missing, relation.circular.
 * @param hidden ids that count as missing where they are anchors.
 */
export const applyMoves = (
  list: readonly number[],
  { disconnect, connect }: Moves,
  path: readonly string[],
  hidden: ReadonlySet<number> = new Set(),
): Result<readonly number[]> => {
  const removed = new Set(disconnect);
  const ring = newRing(list.filter((id) => !removed.has(id)));
  const upcoming = new Set(connect.map((move) => move.id));
  const waiting = new Map<number, { readonly move: Move; readonly place: number }[]>();
  const issues: Issue[] = [];
  const at = (place: number): readonly string[] => [...path, 'connect', String(place)];

  const placeWithFollowers = (first: Move): void => {
    // the last one is placed next
    const stack = [first];
    for (let move = stack.pop(); move; move = stack.pop()) {
      ring.put(move);
      for (const follower of waiting.get(move.id)?.reverse() ?? []) stack.push(follower.move);
      waiting.delete(move.id);
    }
  };

  connect.forEach((move, place) => {
    const { position, id } = move;
    if (position.kind === 'start' || position.kind === 'end') placeWithFollowers(move);
    else if (position.anchor === id) issues.push(issue('relation.circular', at(place), { id }));
    else if (ring.has(position.anchor) && !hidden.has(position.anchor)) placeWithFollowers(move);
    else if (upcoming.has(position.anchor)) {
      const known = waiting.get(position.anchor);
      if (known) known.push({ move, place });
      else waiting.set(position.anchor, [{ move, place }]);
    } else
      issues.push(
        issue('relation.anchor-missing', at(place), {
          id,
          anchor: position.anchor,
          position: { [position.kind]: position.anchor },
        }),
      );
  });
  // the remaining elements depend on each other (a cycle) or on a refused one
  if (issues.length === 0) {
    for (const { move, place } of [...waiting.values()].flat())
      issues.push(issue('relation.circular', at(place), { id: move.id }));
  }
  return issues.length > 0 ? { ok: false, issues } : ok(ring.ids());
};

/** A linked list of ids, in which any of thousands moves in constant time. It is closed: null is both of its ends. */
const newRing = (list: readonly number[]) => {
  const next = new Map<number | null, number | null>([[null, null]]);
  const previous = new Map<number | null, number | null>([[null, null]]);
  const join = (left: number | null, right: number | null): void => {
    next.set(left, right);
    previous.set(right, left);
  };
  const insertAfter = (left: number | null, id: number): void => {
    const right = next.get(left) ?? null;
    join(left, id);
    join(id, right);
  };
  const last = (): number | null => previous.get(null) ?? null;
  for (const id of list) insertAfter(last(), id);
  const has = (id: number): boolean => next.has(id);
  /** What a position is right after. */
  const beforePlace = (position: Position): number | null => {
    switch (position.kind) {
      case 'start':
        return null;
      case 'end':
        return last();
      case 'before':
        return previous.get(position.anchor) ?? null;
      case 'after':
        return position.anchor;
    }
  };
  return {
    has,
    put: ({ id, position }: Move): void => {
      if (has(id)) join(previous.get(id) ?? null, next.get(id) ?? null);
      insertAfter(beforePlace(position), id);
    },
    ids: (): readonly number[] => {
      const ids: number[] = [];
      for (let id = next.get(null) ?? null; id !== null; id = next.get(id) ?? null) ids.push(id);
      return ids;
    },
  };
};

/** One element of a list with its stored rank; null where an upgraded database has none. */
export interface Ranked {
  readonly id: number;
  readonly rank: number | null;
}

/**
 * Stored ranks are sound if they are distinct whole numbers from 1 to `limits.rankMax`: v4 positions entries between `rank`
 * and `rank + 1`, and would misplace them beside a fraction (ST13). v4 numbers every list 1 to N, and we do the same up to
 * `limits.wholeListMax`. Ranks of a longer list are spread over the middle half of the range, so that there is room before,
 * between and after them, and most changes write only the rank of what they move.
 */
export const spread = {
  from: 2 ** 29,
  width: 2 ** 30,
  /** No other numbering starts this high, so a list that does was spread, and all its changes since have kept it sound. */
  min: 2 ** 20,
} as const;
/** Distance of new first and last entries of a spread list from the others. */
const endStep = 2 ** 12;

const isSpread = (firstRank: number | null | undefined): boolean => firstRank != null && firstRank >= spread.min;

export const isSoundRank = (rank: number | null): rank is number =>
  rank !== null && Number.isInteger(rank) && rank >= 1 && rank <= limits.rankMax;

/**
 * Ranks for the wanted order, changing as few as possible: unmoved elements keep theirs, the others are spaced evenly
 * between their neighbours. In: the wanted order with the stored rank of each, null for a new element.
 * Out: a sound rank for each, strictly increasing; null if there is no room.
 */
export const fitRanks = (wanted: readonly Ranked[]): readonly number[] | null => {
  const kept = keptRanks(wanted);
  const isSparse = isSpread(kept.find((rank) => rank !== null));
  const ranks: number[] = [];
  for (let i = 0; i < wanted.length; ) {
    const rank = kept[i];
    if (rank !== null && rank !== undefined) {
      ranks.push(rank);
      i += 1;
      continue;
    }
    let end = i;
    while (end < wanted.length && kept[end] === null) end += 1;
    const added = ranksBetween(ranks.at(-1) ?? null, kept[end] ?? null, end - i, isSparse);
    if (added === null) return null;
    ranks.push(...added);
    i = end;
  }
  return ranks;
};

/** @param low the rank before them, null at the start of the list. @param high the one after them, null at its end. */
const ranksBetween = (
  low: number | null,
  high: number | null,
  count: number,
  isSparse: boolean,
): readonly number[] | null => {
  const below = low ?? (isSparse ? spread.min - 1 : 0);
  const room = Math.floor(((high ?? limits.rankMax) - below) / (count + 1));
  const isBetween = low !== null && high !== null;
  const step = isBetween ? room : Math.min(room, isSparse ? endStep : high === null ? 1 : room);
  if (step < 1) return null;
  // new first entries keep their distance from the one after them
  const from = low === null && high !== null ? high - step * (count + 1) : below;
  return Array.from({ length: count }, (_none, k) => from + step * (k + 1));
};

/**
 * The same for a whole list. If there is no room, a short list moves the following ranks up to the next gap, and a long one
 * is spread.
 */
export const rankList = (wanted: readonly Ranked[]): readonly number[] =>
  fitRanks(wanted) ?? (wanted.length <= limits.wholeListMax ? moveUp(wanted) : spreadRanks(wanted.length));

const moveUp = (wanted: readonly Ranked[]): readonly number[] => {
  let last = 0;
  const ranks = keptRanks(wanted).map((rank) => {
    last = rank !== null && rank > last ? rank : last + 1;
    return last;
  });
  return last <= limits.rankMax ? ranks : ranks.map((_rank, place) => place + 1);
};

const spreadRanks = (count: number): readonly number[] =>
  Array.from({ length: count }, (_none, place) => spread.from + Math.floor(spread.width / count) * (place + 1));

/** The stored ranks to keep: a longest increasing subsequence, so that moving one element changes one rank. */
const keptRanks = (wanted: readonly Ranked[]): readonly (number | null)[] => {
  const tails: number[] = [];
  const before: number[] = [];
  wanted.forEach(({ rank }, i) => {
    before.push(-1);
    if (!isSoundRank(rank)) return;
    let low = 0;
    let high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (wanted[tails[middle]!]!.rank! < rank) low = middle + 1;
      else high = middle;
    }
    before[i] = low > 0 ? tails[low - 1]! : -1;
    tails[low] = i;
  });
  const kept: (number | null)[] = wanted.map(() => null);
  for (let i = tails.at(-1) ?? -1; i >= 0; i = before[i]!) kept[i] = wanted[i]!.rank;
  return kept;
};
