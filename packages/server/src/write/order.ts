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
 */
export const applyMoves = (
  list: readonly number[],
  { disconnect, connect }: Moves,
  path: readonly string[],
): Result<readonly number[]> => {
  const removed = new Set(disconnect);
  const order = list.filter((id) => !removed.has(id));
  const present = new Set(order);
  const upcoming = new Set(connect.map((move) => move.id));
  const waiting = new Map<number, { readonly move: Move; readonly place: number }[]>();
  const issues: Issue[] = [];
  const at = (place: number): readonly string[] => [...path, 'connect', String(place)];

  const placeWithFollowers = (first: Move): void => {
    const queue = [first];
    for (let move = queue.shift(); move; move = queue.shift()) {
      put(order, move, present.has(move.id));
      present.add(move.id);
      const followers = waiting.get(move.id) ?? [];
      waiting.delete(move.id);
      queue.unshift(...followers.map((it) => it.move));
    }
  };

  connect.forEach((move, place) => {
    const { position, id } = move;
    if (position.kind === 'start' || position.kind === 'end') placeWithFollowers(move);
    else if (position.anchor === id) issues.push(issue('relation.circular', at(place), { id }));
    else if (present.has(position.anchor)) placeWithFollowers(move);
    else if (upcoming.has(position.anchor))
      waiting.set(position.anchor, [...(waiting.get(position.anchor) ?? []), { move, place }]);
    else
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
  return issues.length > 0 ? { ok: false, issues } : ok(order);
};

const put = (order: number[], { id, position }: Move, isPresent: boolean): void => {
  if (isPresent) order.splice(order.indexOf(id), 1);
  switch (position.kind) {
    case 'start':
      order.unshift(id);
      break;
    case 'end':
      order.push(id);
      break;
    case 'before':
      order.splice(order.indexOf(position.anchor), 0, id);
      break;
    case 'after':
      order.splice(order.indexOf(position.anchor) + 1, 0, id);
  }
};

/** One element of a list with its stored rank; null where an upgraded database has none. */
export interface Ranked {
  readonly id: number;
  readonly rank: number | null;
}

/**
 * Ranks for the wanted order, changing as few as possible: unmoved elements keep theirs, the others are spaced evenly
 * between their neighbours. In: the wanted order with the stored rank of each, null for a new element.
 * Out: a rank for each, strictly increasing; null where there is no room, or where ranks are missing or tied.
 */
export const fitRanks = (wanted: readonly Ranked[]): readonly number[] | null => {
  const kept = keptRanks(wanted);
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
    const low = ranks.at(-1) ?? 0;
    const high = kept[end] ?? null;
    const count = end - i;
    // at the end there is room without bound, and whole numbers
    const step = high === null ? 1 : (high - low) / (count + 1);
    if (step < limits.rankGapMin || (high === null && low + count > Number.MAX_SAFE_INTEGER)) return null;
    const base = high === null ? Math.floor(low) : low;
    for (let k = 1; k <= count; k++) ranks.push(base + step * k);
    i = end;
  }
  return ranks;
};

/** The same for a whole list; if there is no room it is renumbered 1 to N, as in v4. */
export const rankList = (wanted: readonly Ranked[]): readonly number[] =>
  fitRanks(wanted) ?? wanted.map((_it, place) => place + 1);

/** The stored ranks to keep: a longest increasing subsequence, so that moving one element changes one rank. */
const keptRanks = (wanted: readonly Ranked[]): readonly (number | null)[] => {
  const tails: number[] = [];
  const before: number[] = [];
  wanted.forEach(({ rank }, i) => {
    before.push(-1);
    if (rank === null || rank <= 0) return;
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
