/**
 * Plans a change against a snapshot as row operations: plain data, in execution order. Pure: no database, no clock.
 * Does not rely on foreign keys: dependent rows are deleted explicitly (ST7, ST10).
 */
import { bug, type Issue, issue, ok, type Result } from '../errors.js';
import { scalarTypes } from '../model/attributes.js';
import type {
  Attribute,
  EntryType,
  FixedValue,
  LinkAttribute,
  LinkPath,
  Model,
  MorphAttribute,
  PartAttribute,
  Uid,
} from '../model/model.js';
import type { Cell, NewRow } from '../sql/dialect.js';
import type { Change, LinkChange, PartItem } from './change.js';
import { groupBy, listKey, type OwnerKey, ownerKey } from './keys.js';
import { type OrderedList, pathKey, type StoredLink } from './lists.js';
import { type MorphChange, type MorphTarget, type StoredMorph, targetKey } from './morphs.js';
import { applyMoves, fitRanks, type Ranked, rankList } from './order.js';
import type { StoredPart } from './parts.js';
import { changesOf, isExclusive, type Snapshot } from './snapshot.js';

export type Operation =
  /** Ranks of rows by their ids. */
  | {
      readonly kind: 'rank';
      readonly table: string;
      readonly column: string;
      readonly ranks: readonly (readonly [row: number, rank: number])[];
    }
  | ({ readonly kind: 'insert' } & NewRow)
  /** Rows whose column holds one of the ids, and that have the fixed values. */
  | {
      readonly kind: 'update';
      readonly table: string;
      readonly column: string;
      readonly ids: readonly number[];
      readonly cells: readonly Cell[];
      readonly fixed?: readonly FixedValue[];
    }
  /** The same. */
  | {
      readonly kind: 'delete';
      readonly table: string;
      readonly column: string;
      readonly ids: readonly number[];
      readonly fixed: readonly FixedValue[];
    }
  /** Inserts copies of rows: those whose column holds the first id of a pair, with the second id in its place. */
  | {
      readonly kind: 'clone';
      readonly table: string;
      readonly column: string;
      readonly pairs: readonly IdPair[];
      /** The other columns. */
      readonly columns: readonly string[];
      readonly fixed: readonly FixedValue[];
    }
  /** Copies columns of the row with the first id of a pair to the row with the second. */
  | {
      readonly kind: 'assign';
      readonly table: string;
      readonly columns: readonly string[];
      readonly pairs: readonly IdPair[];
    };

export type IdPair = readonly [from: number, to: number];

/** A component of an entry or component, in its place. */
export type PlacedPart = Omit<StoredPart, 'row'>;

export interface WritePlan {
  readonly operations: readonly Operation[];
  /** The components of the snapshot as they will be. */
  readonly parts: ReadonlyMap<OwnerKey, readonly PlacedPart[]>;
  /** Ids that the operations use: a database may know an id as taken only once its row is there. */
  readonly newIds: Snapshot['newIds'];
}

/** A plan, or the lists that must be renumbered first because they have no room. */
export type Planned =
  | ({ readonly kind: 'plan' } & WritePlan)
  | { readonly kind: 'crowded'; readonly lists: readonly OrderedList[] };

/** Values that the server sets in the entry's row: times and creators. */
export type SystemCells = readonly Cell[];

interface Planning {
  readonly model: Model;
  readonly snapshot: Snapshot;
  readonly operations: Operation[];
  readonly parts: Map<OwnerKey, readonly PlacedPart[]>;
  readonly issues: Issue[];
  /** Next reserved id of each component type. */
  readonly used: Map<Uid, number>;
  /** The entry and the components that the change keeps. */
  readonly kept: ReadonlySet<OwnerKey>;
  /** Partially read lists that have no room for the change. */
  readonly crowded: OrderedList[];
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
  const kept = new Set(
    changesOf(change, id).flatMap((it) => (it.id === null ? [] : [ownerKey(it.change.type.uid, it.id)])),
  );
  const empty = { operations: [], issues: [], used: new Map(), crowded: [] };
  const planning: Planning = { model, snapshot, kept, parts: new Map(snapshot.parts), ...empty };
  planEntry(change, id, isNew, system, planning);
  const { issues, operations, parts, crowded } = planning;
  if (issues.length > 0) return { ok: false, issues };
  return ok(
    crowded.length > 0
      ? { kind: 'crowded', lists: crowded }
      : { kind: 'plan', operations, parts, newIds: snapshot.newIds },
  );
};

/** One entry or component: its row, then dependent rows. */
const planEntry = (change: Change, id: number, isNew: boolean, system: SystemCells, planning: Planning): void => {
  const { table } = change.type;
  const cells = [
    ...change.values.map(
      (it): Cell => ({ column: it.attribute.column, kind: scalarTypes[it.attribute.type].column, value: it.value }),
    ),
    ...change.morphs.flatMap(morphCells),
    ...system,
  ];
  if (isNew)
    planning.operations.push({ kind: 'insert', table, cells: [{ column: 'id', kind: 'id', value: id }, ...cells] });
  else if (cells.length > 0) planning.operations.push({ kind: 'update', table, column: 'id', ids: [id], cells });
  for (const part of change.parts) planParts(change.type, id, part.attribute, part.items, part.path, planning);
  for (const link of change.links) planLinks(link, id, planning);
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
  const stored = (snapshot.parts.get(ownerKey(owner.uid, ownerId)) ?? []).filter(
    (it) => it.attribute === attribute.name,
  );
  const find = (item: PartItem): StoredPart | undefined =>
    stored.find((it) => it.id === item.id && it.uid === item.change.type.uid);
  const kept = new Set<StoredPart>();
  for (const item of items) {
    if (item.id === null) continue;
    const part = find(item);
    if (part) kept.add(part);
    else planning.issues.push(issue('body.component-foreign', path, { id: item.id }));
  }
  const gone = stored.filter((it) => !kept.has(it));
  operations.push(...removalOfParts(attribute, gone, snapshot.parts, model, planning.kept));
  const ranks: (readonly [number, number])[] = [];
  const placed: PlacedPart[] = [];
  items.forEach((item, place) => {
    const { type } = item.change;
    const rank = attribute.shape === 'one' ? null : place + 1;
    const part = item.id === null ? undefined : find(item);
    // refused above: a component of another entry
    if (item.id !== null && !part) return;
    const id = part?.id ?? nextId(type.uid, planning);
    placed.push({ uid: type.uid, id, attribute: attribute.name, rank });
    planEntry(item.change, id, part === undefined, [], planning);
    if (part) {
      if (rank !== null && part.rank !== rank) ranks.push([part.row, rank]);
      return;
    }
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

const nextId = (uid: Uid, { snapshot, used }: Planning): number => {
  const place = used.get(uid) ?? 0;
  used.set(uid, place + 1);
  const id = snapshot.newIds.get(uid)?.[place];
  if (id === undefined) throw bug('plan.component-id-not-reserved', { uid, place });
  return id;
};

/** Deletes components of one attribute. @param kept entries and components that stay. */
export const removalOfParts = (
  { path }: PartAttribute,
  gone: readonly StoredPart[],
  parts: Snapshot['parts'],
  model: Model,
  kept: ReadonlySet<OwnerKey>,
): readonly Operation[] => {
  if (gone.length === 0) return [];
  const roots = gone.flatMap(({ uid, id }): readonly Owned[] => {
    const type = model.types.get(uid);
    // damaged rows may make a component contain one of its owners
    return type && !kept.has(ownerKey(uid, id)) ? [{ type, id }] : [];
  });
  return [
    { kind: 'delete', table: path.table, column: 'id', ids: gone.map((it) => it.row), fixed: [] },
    ...removalOf(roots, parts, model, kept),
  ];
};

interface Owned {
  readonly type: EntryType;
  readonly id: number;
}

/**
 * Deletes entries or components with their nested components and all dependent rows, those of a type together, and the
 * given ones last.
 */
export const removalOf = (
  roots: readonly Owned[],
  parts: Snapshot['parts'],
  model: Model,
  kept: ReadonlySet<OwnerKey> = new Set(),
): readonly Operation[] => {
  const found = [...roots];
  // damaged rows may make a component contain itself or one that is kept; those are skipped
  const seen = new Set([...kept, ...roots.map((it) => ownerKey(it.type.uid, it.id))]);
  for (let i = 0; i < found.length; i++) {
    const owner = found[i]!;
    for (const part of parts.get(ownerKey(owner.type.uid, owner.id)) ?? []) {
      const key = ownerKey(part.uid, part.id);
      const component = model.types.get(part.uid);
      // a component whose schema file was deleted: its rows stay, as in v4 (ST4)
      if (!component || seen.has(key)) continue;
      seen.add(key);
      found.push({ type: component, id: part.id });
    }
  }
  return groupBy(found.reverse(), (it) => it.type.uid).flatMap((them) =>
    removalOfRows(
      them[0]!.type,
      them.map((it) => it.id),
      model,
    ),
  );
};

const removalOfRows = (type: EntryType, ids: readonly number[], model: Model): readonly Operation[] => [
  ...partPathsOf(type).map(({ table, from }): Operation => ({ kind: 'delete', table, column: from, ids, fixed: [] })),
  ...morphRemovals(type, ids, model),
  ...linkPathsOf(type, model).flatMap((path) => unlink(path, ids)),
  { kind: 'delete', table: type.table, column: 'id', ids, fixed: [] },
];

/** The table of the entry's components, which holds those of all its attributes. */
const partPathsOf = (type: EntryType): readonly LinkPath[] =>
  [...type.attributes.values()].flatMap((it) => (it.kind === 'part' ? [it.path] : [])).slice(0, 1);

/**
 * The rows of the entry's own polymorphic relations, and of all that lead to it, including those of attributes that are no
 * longer in its schema file. Only media and `morphOne` or `morphMany` lead to components.
 */
const morphRemovals = (type: EntryType, ids: readonly number[], model: Model): readonly Operation[] => {
  const shown = new Set([...type.attributes.values()].flatMap((it) => (it.kind === 'link' ? [it.path.table] : [])));
  return [...model.types.values()].flatMap((holder) =>
    [...holder.attributes.values()].flatMap((attribute): readonly Operation[] => {
      if (attribute.kind !== 'morph') return [];
      const { table, from, to, typeColumn } = attribute.path;
      const fixed = [{ column: typeColumn, value: type.uid }];
      const isLed = type.kind !== 'component' || shown.has(table);
      // the columns of a `morphToOne` go with the entry's own row
      if (attribute.shape === 'one') return isLed ? [emptied(attribute, ids, fixed)] : [];
      return [
        ...(holder === type ? [{ kind: 'delete', table, column: from, ids, fixed: [] } as const] : []),
        ...(isLed ? [{ kind: 'delete', table, column: to, ids, fixed } as const] : []),
      ];
    }),
  );
};

const emptied = ({ path }: MorphAttribute, ids: readonly number[], fixed: readonly FixedValue[]): Operation => ({
  kind: 'update',
  table: path.table,
  column: path.to,
  ids,
  fixed,
  cells: [
    { column: path.to, kind: 'reference', value: null },
    { column: path.typeColumn, kind: 'string', value: null },
  ],
});

/** How links to and from an entry are found: its own relations, and those of others that point to it. */
const linkPathsOf = (type: EntryType, model: Model): readonly LinkPath[] => {
  const own = [...type.attributes.values()]
    .filter((it): it is LinkAttribute => it.kind === 'link' && it.source === 'relation')
    .map((it) => it.path);
  const others = [...model.types.values()].flatMap((other) =>
    [...other.attributes.values()]
      .filter((it): it is LinkAttribute => it.kind === 'link' && it.target === type.uid && it.side === 'owner')
      .map(({ path }): LinkPath => ({ ...path, from: path.to, to: path.from })),
  );
  return [...new Map([...own, ...others].map((path) => [pathKey(path), path])).values()];
};

/** A link that is a column of the entry itself goes with its row; one that is a column of another entry is emptied. */
const unlink = (path: LinkPath, ids: readonly number[]): readonly Operation[] => {
  if (path.from === 'id') return [];
  if (path.to === 'id')
    return [
      {
        kind: 'update',
        table: path.table,
        column: path.from,
        ids,
        cells: [{ column: path.from, kind: 'reference', value: null }],
      },
    ];
  return [{ kind: 'delete', table: path.table, column: path.from, ids, fixed: path.fixed }];
};

// ---- links

const planLinks = (link: LinkChange, ownerId: number, planning: Planning): void => {
  const { attribute } = link;
  const list = listKey(pathKey(attribute.path), ownerId);
  const stored = planning.snapshot.lists.get(list) ?? [];
  const wanted = wantedIds(link, distinctIds(stored));
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
  const links: WantedLinks = { link, ownerId, stored, wanted: wanted.value, isWanted, taken };
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
}

const distinctIds = (stored: readonly StoredLink[]): readonly number[] => [...new Set(stored.map((it) => it.to))];

/** The ids of the relation after the change, in order. */
const wantedIds = ({ attribute, change, path }: LinkChange, current: readonly number[]): Result<readonly number[]> => {
  if (change.kind === 'set') {
    // media and `morphOne` show the first of several, as in v4; to-one relations the last (R7)
    if (attribute.shape === 'one')
      return ok(attribute.source === 'relation' ? change.ids.slice(-1) : change.ids.slice(0, 1));
    return ok(change.ids);
  }
  if (attribute.shape === 'many') return applyMoves(current, change, path);
  // to-one: positions have no effect, the last one wins (R7)
  const last = change.connect.at(-1);
  if (last) return ok([last.id]);
  return ok(current.slice(0, 1).filter((id) => !change.disconnect.includes(id)));
};

const planTableLinks = (links: WantedLinks, planning: Planning): void => {
  const { link, ownerId, stored, wanted, isWanted, taken } = links;
  const { operations, snapshot } = planning;
  const { path, inverseRank } = link.attribute;
  const byTarget = new Map<number, StoredLink>();
  const surplus: number[] = [];
  // an entry that is disconnected and connected at once gets a new link, last on the other side (R13)
  const isRemoved = new Set(link.change.kind === 'moves' ? link.change.disconnect : []);
  for (const row of stored) {
    // a duplicate pair keeps its first row (ST10)
    if (isWanted.has(row.to) && !isRemoved.has(row.to) && !byTarget.has(row.to)) byTarget.set(row.to, row);
    else surplus.push(row.row);
  }
  const ranks = path.rank === null ? null : ranksFor(link, ownerId, wanted, byTarget, planning);
  for (const ids of [surplus, taken.map((row) => row.row)])
    if (ids.length > 0) operations.push({ kind: 'delete', table: path.table, column: 'id', ids, fixed: [] });
  const moved: (readonly [number, number])[] = [];
  const lastRanks = snapshot.lastRanks.get(pathKey(path));
  wanted.forEach((to, place) => {
    const rank = ranks?.[place] ?? null;
    const row = byTarget.get(to);
    if (row) {
      if (rank !== null && row.rank !== rank) moved.push([row.row, rank]);
      return;
    }
    // in the list of the other side a new link goes last
    const inverse: readonly Cell[] =
      inverseRank === null
        ? []
        : [{ column: inverseRank, kind: 'rank', value: Math.floor(lastRanks?.get(to) ?? 0) + 1 }];
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
  { snapshot, crowded }: Planning,
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
const planColumnLink = (links: WantedLinks, { operations }: Planning): void => {
  const { link, ownerId, stored, wanted, isWanted, taken } = links;
  const { path } = link.attribute;
  const isOwn = path.from === 'id';
  const column = isOwn ? path.to : path.from;
  const set = (ids: readonly number[], value: number | null): void => {
    if (ids.length > 0)
      operations.push({
        kind: 'update',
        table: path.table,
        column: 'id',
        ids,
        cells: [
          { column, kind: 'reference', value },
          ...path.fixed.map(
            (it): Cell => ({ column: it.column, kind: 'string', value: value === null ? null : it.value }),
          ),
        ],
      });
  };
  if (isOwn) {
    set(
      taken.map((row) => row.from),
      null,
    );
    set([ownerId], wanted[0] ?? null);
    return;
  }
  // the column is in the row of the target, so what was taken is overwritten
  set(
    stored.filter((row) => !isWanted.has(row.to)).map((row) => row.to),
    null,
  );
  set(wanted, ownerId);
};

// ---- polymorphic relations

/** The cells of a `morphToOne`, which are in the row of the entry itself. */
const morphCells = ({ attribute, change }: MorphChange): readonly Cell[] => {
  const { shape, path } = attribute;
  if (shape === 'many' || change.kind !== 'set') return [];
  const [target] = change.targets;
  return [
    { column: path.to, kind: 'reference', value: target?.id ?? null },
    { column: path.typeColumn, kind: 'string', value: target?.uid ?? null },
  ];
};

/** The rows of a `morphToMany`. */
const planMorph = (
  { attribute, path, isNeeded, change }: MorphChange,
  ownerId: number,
  { snapshot, operations, issues }: Planning,
): void => {
  const { table, from, to, typeColumn, rank: rankColumn } = attribute.path;
  if (attribute.shape === 'one' || rankColumn === null) return;
  const stored = snapshot.morphs.get(listKey(pathKey(attribute.path), ownerId)) ?? [];
  const wanted = wantedTargets(change, stored);
  if (isNeeded && wanted.length === 0) issues.push(issue('body.required', path));
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

const wantedTargets = (change: MorphChange['change'], stored: readonly StoredMorph[]): readonly MorphTarget[] => {
  if (change.kind === 'set') return change.targets;
  const named = new Set([...change.connect, ...change.disconnect].map(targetKey));
  const kept = new Map(stored.filter((it) => !named.has(targetKey(it))).map((it) => [targetKey(it), it]));
  return [...[...kept.values()].map(({ uid, id }) => ({ uid, id })), ...change.connect];
};

/** Tables whose links other writers could change at the same time, from either side; the lock that each write takes. */
export const lockNames = (changes: readonly { readonly change: Change }[]): readonly string[] =>
  changes.flatMap(({ change }) => [
    ...change.links.filter((it) => it.attribute.inverse !== null).map((it) => it.attribute.path.table),
    ...(change.values.some((it) => isUnique(it.attribute)) ? [`unique ${change.type.table}`] : []),
  ]);

export const isUnique = (attribute: Attribute): boolean =>
  attribute.kind === 'scalar' && (attribute.rules.unique || attribute.type === 'uid');
