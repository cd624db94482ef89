/** The operations that bring relations and media from their stored links to those wanted, with whole ranks (ST13). */
import { bug, type Issue, issue, ok, type Result } from '../errors.js';
import type { Cell } from '../sql/dialect.js';
import { type Change, type LinkChange, lastWins } from './change.js';
import { groupBy, listKey } from './keys.js';
import { type OrderedList, pathKey, type StoredLink } from './lists.js';
import { type MorphChange, type MorphTarget, type StoredMorph, targetKey } from './morphs.js';
import type { Operation } from './operations.js';
import { applyMoves, fitRanks, type Ranked, rankList } from './order.js';
import { isExclusive, type Snapshot } from './snapshot.js';

export interface LinkPlanning {
  readonly snapshot: Snapshot;
  readonly operations: Operation[];
  readonly issues: Issue[];
  /** Partially read lists that have no room for the change. */
  readonly crowded: OrderedList[];
  /** By link table: the rank of a link from the entry to itself that its other side is going to store. */
  readonly selfRanks: Map<string, number | null>;
}

/** @param change that of the owner, to which the link belongs. */
export const planLinks = (given: LinkChange, change: Change, ownerId: number, planning: LinkPlanning): void => {
  const { attribute } = given;
  const unseen = planning.snapshot.unseen?.get(attribute.target) ?? none;
  const link = withoutUnseen(given, unseen);
  const other = otherSide(link, change);
  const here = linksItself(link, ownerId);
  const there = other ? linksItself(other, ownerId) : null;
  if (other && here !== null && there !== null && here !== there) {
    const facts = { id: ownerId, inverse: other.attribute.name };
    // once for both sides
    if (attribute.side === 'owner') planning.issues.push(issue('relation.sides-differ', link.path, facts));
    return;
  }
  const list = listKey(pathKey(attribute.path), ownerId);
  const stored = planning.snapshot.lists.get(list) ?? [];
  const wanted = wantedIds(link, distinctIds(stored), unseen);
  if (!wanted.ok) {
    planning.issues.push(...wanted.issues);
    return;
  }
  // a list that is read partially has more entries than a change can remove
  if (link.isNeeded && wanted.value.length === 0 && !planning.snapshot.excerpts.has(list)) {
    planning.issues.push(issue('body.required', link.path));
    return;
  }
  const { path } = attribute;
  const isWanted = new Set(wanted.value);
  const partners = isExclusive(link) ? (planning.snapshot.partners.get(pathKey(path)) ?? []) : [];
  const taken = partners.filter((row) => isWanted.has(row.to) && row.from !== ownerId);
  const isTwofold = here === true && there === true;
  const links: WantedLinks = { link, ownerId, stored, wanted: wanted.value, isWanted, taken, isTwofold };
  if (path.from === 'id' || path.to === 'id') planColumnLink(links, planning);
  else planTableLinks(links, planning);
};

/** A relation as it should become. */
interface WantedLinks {
  readonly link: LinkChange;
  readonly ownerId: number;
  readonly stored: readonly StoredLink[];
  /** Ids of the entries after the change, in order. */
  readonly wanted: readonly number[];
  readonly isWanted: ReadonlySet<number>;
  /** Links of wanted entries that may have only one owner, and had another. */
  readonly taken: readonly StoredLink[];
  /** Whether both sides of the relation link the entry to itself, which is one link. */
  readonly isTwofold: boolean;
}

/** The other side of a relation between entries of one type, if the body has both. */
const otherSide = ({ attribute }: LinkChange, { type, links }: Change): LinkChange | undefined =>
  attribute.target === type.uid ? links.find((it) => it.attribute.name === attribute.inverse) : undefined;

/** Whether the relation is to lead to its own entry; null if the body leaves that as it is. */
const linksItself = ({ attribute, change }: LinkChange, ownerId: number): boolean | null => {
  const ids = change.kind === 'set' ? change.ids : change.connect.map((it) => it.id);
  if (lastWins(attribute) && ids.length > 0) return ids.at(-1) === ownerId;
  if (ids.includes(ownerId)) return true;
  return change.kind === 'set' || change.disconnect.includes(ownerId) ? false : null;
};

const distinctIds = (stored: readonly StoredLink[]): readonly number[] => [...new Set(stored.map((it) => it.to))];

const none: ReadonlySet<number> = new Set();

/** The same change, that disconnects nothing that the caller may not see. */
const withoutUnseen = (link: LinkChange, unseen: ReadonlySet<number>): LinkChange =>
  link.change.kind === 'set' || unseen.size === 0
    ? link
    : { ...link, change: { ...link.change, disconnect: link.change.disconnect.filter((id) => !unseen.has(id)) } };

/** The ids of the relation after the change, in order. @param unseen what the caller may not see: it stays, before what is set (R14). */
const wantedIds = (
  { attribute, change, path }: LinkChange,
  current: readonly number[],
  unseen: ReadonlySet<number>,
): Result<readonly number[]> => {
  if (change.kind === 'set') {
    const kept = current.filter((id) => unseen.has(id));
    if (attribute.shape === 'many') return ok([...kept, ...change.ids]);
    const ids = change.ids.length > 0 ? change.ids : kept;
    return ok(lastWins(attribute) ? ids.slice(-1) : ids.slice(0, 1));
  }
  if (attribute.shape === 'many') return applyMoves(current, change, path, unseen);
  // to-one: positions have no effect, the last one wins (R7)
  const last = change.connect.at(-1);
  if (last) return ok([last.id]);
  return ok(current.slice(0, 1).filter((id) => !change.disconnect.includes(id)));
};

const planTableLinks = (links: WantedLinks, planning: LinkPlanning): void => {
  const { link, ownerId, stored, wanted, isWanted, taken, isTwofold } = links;
  const { operations, snapshot, selfRanks } = planning;
  const { path, inverseRank } = link.attribute;
  const byTarget = new Map<number, StoredLink>();
  const surplus: number[] = [];
  // an entry that is disconnected and connected at once gets a new link, last on the other side (R13)
  const isRemoved = new Set(link.change.kind === 'moves' ? link.change.disconnect : []);
  for (const row of stored) {
    // a duplicate pair keeps its first row (ST10)
    const isNew = isRemoved.has(row.to) && !(isTwofold && row.to === ownerId);
    if (isWanted.has(row.to) && !isNew && !byTarget.has(row.to)) byTarget.set(row.to, row);
    else surplus.push(row.row);
  }
  const ranks = path.rank === null ? null : ranksFor(link, ownerId, wanted, byTarget, planning);
  for (const ids of [surplus, taken.map((row) => row.row)])
    if (ids.length > 0) operations.push({ kind: 'delete', table: path.table, column: 'id', ids, fixed: [] });
  const moved: (readonly [number, number])[] = [];
  const lastRanks = snapshot.lastRanks.get(pathKey(path));
  // in the list of the other side a new link goes last
  const isDecidedLater = snapshot.isEarly === true && inverseRank !== null;
  const last = isDecidedLater ? { last: { column: inverseRank, of: path.to, fixed: path.fixed } } : {};
  wanted.forEach((to, place) => {
    const rank = ranks?.[place] ?? null;
    const row = byTarget.get(to);
    if (row) {
      if (rank !== null && row.rank !== rank) moved.push([row.row, rank]);
      return;
    }
    const selfRank = isTwofold && to === ownerId ? selfRanks.get(path.table) : null;
    if (selfRank === undefined) {
      selfRanks.set(path.table, rank);
      return;
    }
    const inverse: readonly Cell[] =
      inverseRank === null || isDecidedLater
        ? []
        : [{ column: inverseRank, kind: 'rank', value: selfRank ?? Math.floor(lastRanks?.get(to) ?? 0) + 1 }];
    operations.push({
      kind: 'insert',
      table: path.table,
      cells: [
        { column: path.from, kind: 'reference', value: ownerId },
        { column: path.to, kind: 'reference', value: to },
        ...(path.rank === null ? [] : [{ column: path.rank, kind: 'rank', value: rank } as const]),
        ...inverse,
        ...path.fixed.map((it): Cell => ({ column: it.column, kind: 'string', value: it.value })),
      ],
      ...last,
    });
  });
  if (path.rank !== null && moved.length > 0)
    operations.push({ kind: 'rank', table: path.table, column: path.rank, ranks: moved });
};

/** A rank for each wanted entry; none if the list has no room, which is added to `crowded` then. */
const ranksFor = (
  { attribute: { path }, change }: LinkChange,
  owner: number,
  wanted: readonly number[],
  stored: ReadonlyMap<number, StoredLink>,
  { snapshot, crowded }: LinkPlanning,
): readonly number[] => {
  if (path.rank === null) throw bug('plan.list-without-ranks', { table: path.table });
  // as v4 does
  if (change.kind === 'set') return wanted.map((_id, place) => place + 1);
  const ranked = wanted.map((id): Ranked => ({ id, rank: stored.get(id)?.rank ?? null }));
  if (!snapshot.excerpts.has(listKey(pathKey(path), owner))) return rankList(ranked);
  const ranks = fitRanks(ranked);
  if (ranks === null) crowded.push({ path: { ...path, rank: path.rank }, owner });
  return ranks ?? [];
};

/** Relations without a link table (`useJoinTable: false`): a column of the owner side's row. */
const planColumnLink = (links: WantedLinks, { operations }: LinkPlanning): void => {
  const { link, ownerId, stored, wanted, isWanted, taken } = links;
  const { path } = link.attribute;
  const isOwn = path.from === 'id';
  const column = isOwn ? path.to : path.from;
  /** @param was what rows of entries that are not locked must still have. */
  const set = (ids: readonly number[], value: number | null, was?: number): void => {
    if (ids.length > 0)
      operations.push({
        kind: 'update',
        table: path.table,
        column: 'id',
        ids,
        ...(was === undefined ? {} : { still: { column, kind: 'reference', value: was } }),
        cells: [
          { column, kind: 'reference', value },
          ...path.fixed.map(
            (it): Cell => ({ column: it.column, kind: 'string', value: value === null ? null : it.value }),
          ),
        ],
      });
  };
  if (isOwn) {
    for (const row of taken) set([row.from], null, row.to);
    set([ownerId], wanted[0] ?? null);
    return;
  }
  // the column is in the row of the target, so what was taken is overwritten
  set(
    stored.filter((row) => !isWanted.has(row.to)).map((row) => row.to),
    null,
    ownerId,
  );
  set(wanted, ownerId);
};

// ---- polymorphic relations

/** The cells of a `morphToOne`, which are in the row of the entry itself. */
export const morphCells = (morph: MorphChange, ownerId: number, planning: LinkPlanning): readonly Cell[] => {
  const { shape, path } = morph.attribute;
  if (shape === 'many') return [];
  const target = wantedTargets(morph, storedMorphs(morph, ownerId, planning), planning).at(-1);
  return [
    { column: path.to, kind: 'reference', value: target?.id ?? null },
    { column: path.typeColumn, kind: 'string', value: target?.uid ?? null },
  ];
};

/** The rows of a `morphToMany`. */
export const planMorph = (morph: MorphChange, ownerId: number, planning: LinkPlanning): void => {
  const { attribute, change } = morph;
  const { operations } = planning;
  const { table, from, to, typeColumn, rank: rankColumn } = attribute.path;
  if (attribute.shape === 'one' || rankColumn === null) return;
  const stored = storedMorphs(morph, ownerId, planning);
  const wanted = wantedTargets(morph, stored, planning);
  // several attributes of one entry may link to the same owner
  const rowsOf = new Map(groupBy(stored, targetKey).map((rows) => [targetKey(rows[0]!), rows]));
  const isWanted = new Set(wanted.map(targetKey));
  const surplus = stored.filter((it) => !isWanted.has(targetKey(it))).map((it) => it.row);
  const links = wanted.flatMap(
    (it): readonly (MorphTarget & Partial<StoredMorph>)[] => rowsOf.get(targetKey(it)) ?? [it],
  );
  const ranks =
    change.kind === 'set'
      ? links.map((_link, place) => place + 1)
      : rankList(links.map(({ id, rank = null }) => ({ id, rank })));
  const moved = links.flatMap(({ row, rank }, i): readonly (readonly [number, number])[] =>
    row === undefined || rank === ranks[i] ? [] : [[row, ranks[i]!]],
  );
  if (surplus.length > 0) operations.push({ kind: 'delete', table, column: 'id', ids: surplus, fixed: [] });
  links.forEach(({ row, id, uid }, i) => {
    if (row !== undefined) return;
    const cells: readonly Cell[] = [
      { column: from, kind: 'reference', value: ownerId },
      { column: to, kind: 'reference', value: id },
      { column: typeColumn, kind: 'string', value: uid },
      { column: rankColumn, kind: 'rank', value: ranks[i]! },
    ];
    operations.push({ kind: 'insert', table, cells });
  });
  if (moved.length > 0) operations.push({ kind: 'rank', table, column: rankColumn, ranks: moved });
};

const storedMorphs = (
  { attribute: { path } }: MorphChange,
  ownerId: number,
  { snapshot }: LinkPlanning,
): readonly StoredMorph[] => snapshot.morphs.get(listKey(pathKey(path), ownerId)) ?? [];

/** The entries of the relation after the change, in order. What is set comes behind what the caller may not see, which stays (R14). */
const wantedTargets = (
  { change, hidden, isNeeded, path }: MorphChange,
  stored: readonly StoredMorph[],
  { issues, snapshot: { unseen } }: LinkPlanning,
): readonly MorphTarget[] => {
  const named =
    change.kind === 'set' ? null : new Set([...change.connect, ...change.disconnect].map((it) => targetKey(it)));
  const isUnseen = ({ uid, id }: MorphTarget): boolean => hidden.has(uid) || unseen?.get(uid)?.has(id) === true;
  const kept = stored.filter((it) => isUnseen(it) || named?.has(targetKey(it)) === false);
  const distinct = new Map(kept.map(({ uid, id }) => [targetKey({ uid, id }), { uid, id }]));
  const wanted = [...distinct.values(), ...(change.kind === 'set' ? change.targets : change.connect)];
  if (isNeeded && wanted.length === 0) issues.push(issue('body.required', path));
  return wanted;
};
