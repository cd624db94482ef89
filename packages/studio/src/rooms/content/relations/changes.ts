/** What a save sends for a relation list (docs/rules/relations.md, R3 to R8), and the way back: a body laid over a list. */
import {
  type Arrangement,
  indexOf,
  lengthOf,
  type Named,
  type Placed,
  place,
  remove,
  sentOf,
  untouched,
} from './arrangement.js';

type Position =
  | { readonly after: number }
  | { readonly before: number }
  | { readonly start: true }
  | { readonly end: true };

export interface Connect {
  readonly id: number;
  readonly position: Position;
}

/** The value of the relation in the body; a key is absent if it would be empty. */
export interface RelationBody {
  readonly connect?: readonly Connect[];
  readonly disconnect?: readonly { readonly id: number }[];
}

/** A body; or the places of the base whose ids it needs and that are not known. */
export type Bodied =
  | { readonly kind: 'body'; readonly body: RelationBody }
  | { readonly kind: 'unknown'; readonly homes: readonly number[] };

/**
 * The body that turns the base into the list. It names what was moved, added or removed, and nothing else. `connect` is in the
 * order of the new list, so each anchor is an entry that stays or one that stands already where it belongs (R5).
 * @param idAt the id at a place of the base, where it is known.
 */
export const bodyOf = (arrangement: Arrangement, idAt: (home: number) => number | undefined): Bodied => {
  const { pieces, removed } = arrangement;
  const sent = sentOf(arrangement);
  const homes: number[] = [];
  const connect: Connect[] = [];
  pieces.forEach((piece, i) => {
    if (piece.kind === 'run' || !sent.has(piece)) return;
    const position = positionAt(arrangement, i, idAt);
    if (typeof position === 'number') homes.push(position);
    else connect.push({ id: piece.id, position });
  });
  if (homes.length > 0) return { kind: 'unknown', homes };
  return {
    kind: 'body',
    body: {
      ...(connect.length > 0 ? { connect } : {}),
      ...(removed.length > 0 ? { disconnect: removed.map(({ id }) => ({ id })) } : {}),
    },
  };
};

/** Where the piece goes; or the place of the base whose id must be looked up for that. */
const positionAt = (
  arrangement: Arrangement,
  i: number,
  idAt: (home: number) => number | undefined,
): Position | number => {
  const { pieces } = arrangement;
  const [previous, next] = [pieces[i - 1], pieces[i + 1]];
  if (next === undefined) return { end: true };
  if (previous === undefined) return { start: true };
  if (previous.kind === 'placed') return { after: previous.id };
  const lastHome = previous.home + previous.count - 1;
  const after = idAt(lastHome);
  if (after !== undefined) return { after };
  // the entry after it is an anchor only if it stays, since a later element of the body would move it
  const before = next.kind === 'run' ? idAt(next.home) : sentOf(arrangement).has(next) ? undefined : next.id;
  return before === undefined ? lastHome : { before };
};

/** What could not be done as it was meant, on a list that somebody else has changed. */
export type Loss =
  /** The entry was moved here, and removed there. */
  | { readonly kind: 'removed-there'; readonly id: number }
  /** The entry was added here and there; it is moved. */
  | { readonly kind: 'added-there'; readonly id: number }
  /** The entry was removed here and there. */
  | { readonly kind: 'removed-both'; readonly id: number }
  /** The entry beside which it belongs is gone; it goes to the place that it had by number. */
  | { readonly kind: 'anchor-gone'; readonly id: number; readonly anchor: number; readonly index: number };

interface Replayed {
  readonly arrangement: Arrangement;
  readonly losses: readonly Loss[];
}

/** What was arranged before, so that it can be laid over another list. */
export interface Intent {
  readonly body: RelationBody;
  /** Entries of the body that were in the list when it was made. */
  readonly listed: ReadonlySet<number>;
  /** The place that each connected entry had in the list as it was to be. */
  readonly wished: ReadonlyMap<number, number>;
}

/**
 * The body laid over a list, as the server would (R5), but never refused: what has lost its sense is said.
 * @param homeOf where the list has an entry that the body names; null if it has not.
 */
export const replay = (total: number, homeOf: (id: number) => number | null, intent: Intent): Replayed => {
  const losses: Loss[] = [];
  let now = untouched(total);
  for (const { id } of intent.body.disconnect ?? []) {
    const home = homeOf(id);
    if (home === null) losses.push({ kind: 'removed-both', id });
    else now = remove(now, { id, home });
  }
  for (const { id, position } of intent.body.connect ?? []) {
    const entry: Named = { id, home: homeOf(id) };
    const wasListed = intent.listed.has(id);
    if (wasListed && entry.home === null) {
      losses.push({ kind: 'removed-there', id });
      continue;
    }
    if (!wasListed && entry.home !== null) losses.push({ kind: 'added-there', id });
    const rest = without(now, entry);
    const index = indexFor(rest, position, homeOf);
    if (index !== null) now = place(now, entry, index);
    else {
      const wish = Math.min(intent.wished.get(id) ?? Number.POSITIVE_INFINITY, lengthOf(rest));
      losses.push({ kind: 'anchor-gone', id, anchor: anchorOf(position)!, index: wish });
      now = place(now, entry, wish);
    }
  }
  return { arrangement: now, losses };
};

/** The list without an entry, which is not a removal. */
const without = (arrangement: Arrangement, entry: Named): Arrangement => ({
  ...remove(arrangement, entry),
  removed: arrangement.removed,
});

const anchorOf = (position: Position): number | null =>
  'after' in position ? position.after : 'before' in position ? position.before : null;

const indexFor = (list: Arrangement, position: Position, homeOf: (id: number) => number | null): number | null => {
  if ('start' in position) return 0;
  if ('end' in position) return lengthOf(list);
  const id = anchorOf(position)!;
  const index = indexOf(list, { id, home: homeOf(id) });
  return index === null ? null : 'after' in position ? index + 1 : index;
};

/** All ids that a body names, anchors included. */
export const idsIn = ({ connect = [], disconnect = [] }: RelationBody): readonly number[] => [
  ...new Set([
    ...connect.flatMap(({ id, position }) => [id, anchorOf(position) ?? id]),
    ...disconnect.map(({ id }) => id),
  ]),
];

/** What `replay` needs of a list as it was arranged. */
export const intentOf = (arrangement: Arrangement, body: RelationBody): Intent => {
  const placed = arrangement.pieces.filter((it): it is Placed => it.kind === 'placed');
  return {
    body,
    listed: new Set([...placed.filter((it) => it.home !== null), ...arrangement.removed].map((it) => it.id)),
    wished: new Map(placed.map((it) => [it.id, indexOf(arrangement, it)!])),
  };
};
