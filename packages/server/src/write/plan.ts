/**
 * Plans a change against a snapshot as row operations: plain data, in execution order. Pure: no database, no clock.
 * Does not rely on foreign keys: dependent rows are deleted explicitly (ST7, ST10).
 */
import crypto from 'node:crypto';
import { bug, issue, ok, type Result } from '../errors.js';
import { scalarTypes } from '../model/attributes.js';
import type { Attribute, EntryType, Model, PartAttribute, ScalarAttribute, Uid } from '../model/model.js';
import type { Cell } from '../sql/dialect.js';
import type { Change, PartItem } from './change.js';
import { type OwnerKey, ownerKey } from './keys.js';
import { type LinkPlanning, morphCells, planLinks, planMorph } from './links.js';
import type { OrderedList } from './lists.js';
import type { Operation, WritePlan } from './operations.js';
import type { PlacedPart, StoredPart } from './parts.js';
import { removalOfParts } from './removal.js';
import { changesOf, isExclusive, namedIds, type OwnedChange, type Snapshot } from './snapshot.js';

/** A plan, or the lists that must be renumbered first because they have no room. */
export type Planned =
  | ({ readonly kind: 'plan' } & WritePlan)
  | { readonly kind: 'crowded'; readonly lists: readonly OrderedList[] };

/** Values that the server sets in the entry's row: times and creators. */
export type SystemCells = readonly Cell[];

interface Planning extends LinkPlanning {
  readonly model: Model;
  readonly parts: Map<OwnerKey, readonly PlacedPart[]>;
  /** Of components. They come before all others, which may store unique values that were theirs. */
  readonly removals: Operation[];
  /** Next reserved id of each component type. */
  readonly used: Map<Uid, number>;
  /** The entry and the components that the change keeps. */
  readonly kept: ReadonlySet<OwnerKey>;
}

/** @param isNew whether the entry's row is still to be inserted. */
export const planWrite = (
  change: Change,
  id: number,
  isNew: boolean,
  system: SystemCells,
  snapshot: Snapshot,
  model: Model,
): Result<Planned> => {
  const planning = newPlanning(change, id, snapshot, model);
  planEntry(change, id, isNew, system, planning);
  return plannedIn(planning);
};

/**
 * Plans the rows of the components that a change names, all that depends on them, and not their places in the entry. Components
 * that it does not name stay.
 * @param id of the entry; null if it has no row yet. @param isMeant which components are planned.
 */
export const planPartsAhead = (
  { type, parts }: Change,
  id: number | null,
  snapshot: Snapshot,
  model: Model,
  isMeant: (item: PartItem) => boolean,
): Result<Planned & { readonly ids: ReadonlyMap<PartItem, number> }> => {
  const owner = id ?? NO_ID;
  const planning = newPlanning({ type, parts, values: [], links: [], morphs: [] }, owner, snapshot, model);
  const ids = new Map<PartItem, number>();
  for (const { attribute, items, path } of parts) {
    refuseForeign(items, storedIn(type, owner, planning), attribute, path, planning);
    for (const item of items.filter(isMeant)) {
      const partId = item.id ?? nextId(item.change.type.uid, planning);
      ids.set(item, partId);
      planEntry(item.change, partId, item.id === null, [], planning);
    }
  }
  const planned = plannedIn(planning);
  return planned.ok ? ok({ ...planned.value, ids }) : planned;
};

/** Of an entry without a row. */
const NO_ID = 0;

const newPlanning = (change: Change, id: number, snapshot: Snapshot, model: Model): Planning => {
  const kept = new Set(
    changesOf(change, id, { withAhead: true }).flatMap((it) =>
      it.id === null ? [] : [ownerKey(it.change.type.uid, it.id)],
    ),
  );
  const empty = { removals: [], operations: [], issues: [], used: new Map(), crowded: [], selfRanks: new Map() };
  return { model, snapshot, kept, parts: new Map([...(snapshot.ahead ?? []), ...snapshot.parts]), ...empty };
};

const plannedIn = ({ snapshot, issues, removals, operations, parts, crowded }: Planning): Result<Planned> => {
  if (issues.length > 0) return { ok: false, issues };
  return ok(
    crowded.length > 0
      ? { kind: 'crowded', lists: crowded }
      : { kind: 'plan', operations: [...removals, ...operations], parts, newIds: snapshot.newIds },
  );
};

/** One entry or component: its row, then dependent rows. */
const planEntry = (change: Change, id: number, isNew: boolean, system: SystemCells, planning: Planning): void => {
  const { table } = change.type;
  const cells = [
    ...change.values.map(
      (it): Cell => ({ column: it.attribute.column, kind: scalarTypes[it.attribute.type].column, value: it.value }),
    ),
    ...change.morphs.flatMap((it) => morphCells(it, id, planning)),
    ...system,
  ];
  if (isNew)
    planning.operations.push({ kind: 'insert', table, cells: [{ column: 'id', kind: 'id', value: id }, ...cells] });
  else if (cells.length > 0) planning.operations.push({ kind: 'update', table, column: 'id', ids: [id], cells });
  for (const part of change.parts) planParts(change.type, id, part.attribute, part.items, part.path, planning);
  for (const link of change.links) planLinks(link, change, id, planning);
  for (const morph of change.morphs) planMorph(morph, id, planning);
};

// ---- parts

const planParts = (
  owner: EntryType,
  ownerId: number,
  attribute: PartAttribute,
  items: readonly PartItem[],
  path: readonly string[],
  planning: Planning,
): void => {
  const { snapshot, operations, model } = planning;
  const all = storedIn(owner, ownerId, planning);
  const kept = refuseForeign(items, all, attribute, path, planning);
  const stored = all.filter((it) => it.attribute === attribute.name);
  const gone = stored.filter((it) => !kept.has(it));
  planning.removals.push(...removalOfParts(attribute, gone, snapshot.parts, model, planning.kept));
  const ranks: (readonly [number, number])[] = [];
  const placed: PlacedPart[] = [];
  items.forEach((item, place) => {
    const { type } = item.change;
    const rank = attribute.shape === 'one' ? null : place + 1;
    const part = findIn(stored, item);
    // refused above: a component of another entry
    if (item.id !== null && !part && item.ahead === null) return;
    const id = item.id ?? nextId(type.uid, planning);
    placed.push({ uid: type.uid, id, attribute: attribute.name, rank });
    if (item.ahead === null) planEntry(item.change, id, item.id === null, [], planning);
    if (part) {
      if (rank !== null && part.rank !== rank) ranks.push([part.row, rank]);
      return;
    }
    // hooks have moved it here
    const former = item.ahead === 'own' ? findIn(all, item) : undefined;
    if (former)
      operations.push({ kind: 'delete', table: attribute.path.table, column: 'id', ids: [former.row], fixed: [] });
    const cells: readonly Cell[] = [
      { column: 'entity_id', kind: 'reference', value: ownerId },
      { column: 'component_id', kind: 'reference', value: id },
      { column: 'component_type', kind: 'string', value: type.uid },
      { column: 'field', kind: 'string', value: attribute.name },
      { column: 'order', kind: 'rank', value: rank },
    ];
    operations.push({ kind: 'insert', table: attribute.path.table, cells });
  });
  if (ranks.length > 0) operations.push({ kind: 'rank', table: attribute.path.table, column: 'order', ranks });
  const key = ownerKey(owner.uid, ownerId);
  const others = (planning.parts.get(key) ?? []).filter((it) => it.attribute !== attribute.name);
  planning.parts.set(key, [...others, ...placed]);
};

const storedIn = ({ uid }: EntryType, id: number, { snapshot }: Planning): readonly StoredPart[] =>
  snapshot.parts.get(ownerKey(uid, id)) ?? [];

const findIn = (stored: readonly StoredPart[], { id, change }: PartItem): StoredPart | undefined =>
  id === null ? undefined : stored.find((it) => it.id === id && it.uid === change.type.uid);

/** @param stored those of all attributes of the owner. @returns those of this one that stay. */
const refuseForeign = (
  items: readonly PartItem[],
  stored: readonly StoredPart[],
  { name }: PartAttribute,
  path: readonly string[],
  { issues }: Planning,
): ReadonlySet<StoredPart> => {
  const kept = new Set<StoredPart>();
  for (const item of items) {
    if (item.id === null) continue;
    const part = findIn(stored, item);
    if (part?.attribute === name) kept.add(part);
    else if (item.ahead === null || (item.ahead === 'own' && !part))
      issues.push(issue('body.component-foreign', path, { id: item.id }));
  }
  return kept;
};

const nextId = (uid: Uid, { snapshot, used }: Planning): number => {
  const place = used.get(uid) ?? 0;
  used.set(uid, place + 1);
  const id = snapshot.newIds.get(uid)?.[place];
  if (id === undefined) throw bug('plan.component-id-not-reserved', { uid, place });
  return id;
};

/**
 * The locks of entries whose links other writers could change at the same time, from either side: of the owner, unless it is new, and of
 * those that the change names.
 * @param isHeldByCode whether code of the project runs until they are released. Then the locks of those that are named are shared: others
 * may add to their lists too, at the same rank, which are in order all the same. So nobody waits for code to link to the same entry,
 * and whoever changes its list does.
 */
export const linkLocks = (
  changes: readonly OwnedChange[],
  { isHeldByCode }: { readonly isHeldByCode: boolean },
): Locks => {
  const [own, shared]: [string[], string[]] = [[], []];
  for (const { change, id } of changes)
    for (const link of change.links) {
      const { path, inverse } = link.attribute;
      if (inverse === null) continue;
      if (id !== null) own.push(linkLock(path.table, path.from, id));
      const others = isHeldByCode && !isExclusive(link) ? shared : own;
      for (const it of namedIds(link)) others.push(linkLock(path.table, path.to, it));
    }
  return { own, shared };
};

/** Names of locks: of those that nobody else may hold, and of those that others may share. */
export interface Locks {
  readonly own: readonly string[];
  readonly shared: readonly string[];
}

/** The lock of the links of an entry, and of some other entries: a list may name thousands. @param side the column of its id. */
export const linkLock = (table: string, side: string, id: number): string => `${table} ${side} ${id % ENTRY_LOCKS}`;

const ENTRY_LOCKS = 128;

/** These, and those of unique values, and of components that are to get a place: the locks that each write takes. */
export const changeLocks = (changes: readonly OwnedChange[], how: { readonly isHeldByCode: boolean }): Locks => {
  const { own, shared } = linkLocks(changes, how);
  const others = changes.flatMap(({ change: { type, values, parts } }) => [
    ...values.flatMap(({ attribute, value }) =>
      isUnique(attribute) && value !== null ? [uniqueLock(type, attribute, String(value))] : [],
    ),
    ...parts.flatMap(({ items }) =>
      items.flatMap((it) => (it.ahead === 'loose' ? [`loose ${it.change.type.table}`] : [])),
    ),
  ]);
  return { own: [...own, ...others], shared };
};

/** The lock of a unique value, and of some other texts of its attribute; of all values of one that is no text. */
export const uniqueLock = (
  { table }: Pick<EntryType, 'table'>,
  { column, type }: Pick<ScalarAttribute, 'column' | 'type'>,
  value: string,
): string => {
  const kind = scalarTypes[type].column;
  const isText = kind === 'string' || kind === 'text';
  return `unique ${table} ${column}${isText ? ` ${Number.parseInt(crypto.hash('sha1', value).slice(0, 8), 16) % VALUE_LOCKS}` : ''}`;
};

/** For each column: a transaction of code may store thousands of values, and the server has room for some thousand locks. */
const VALUE_LOCKS = 1024;

export const isUnique = (attribute: Attribute): boolean =>
  attribute.kind === 'scalar' && (attribute.rules.unique || attribute.type === 'uid');
