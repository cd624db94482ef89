/** The operations that delete entries and components, with all rows that depend on them (ST7, ST10). */
import type {
  EntryType,
  FixedValue,
  LinkAttribute,
  LinkPath,
  Model,
  MorphAttribute,
  PartAttribute,
} from '../model/model.js';
import type { Change } from './change.js';
import { groupBy, type OwnerKey, ownerKey } from './keys.js';
import { pathKey } from './lists.js';
import type { Operation, WritePlan } from './operations.js';
import type { StoredPart } from './parts.js';
import { changesOf, type Snapshot } from './snapshot.js';

/** The stored components that a change of an entry removes, with all that they contain. @param parts those of the entry. */
export const removedBy = (change: Change, id: number, parts: Snapshot['parts']): ReadonlySet<OwnerKey> => {
  const changes = changesOf(change, id, { withAhead: true }).flatMap((it) =>
    it.id === null ? [] : [{ ...it, id: it.id }],
  );
  const kept = new Set(changes.map((it) => ownerKey(it.change.type.uid, it.id)));
  const removed = new Set<OwnerKey>();
  let level = changes.flatMap((it) =>
    (parts.get(ownerKey(it.change.type.uid, it.id)) ?? []).filter((part) =>
      it.change.parts.some(({ attribute }) => attribute.name === part.attribute),
    ),
  );
  while (level.length > 0) {
    const keys = level.map((it) => ownerKey(it.uid, it.id)).filter((key) => !kept.has(key) && !removed.has(key));
    for (const key of keys) removed.add(key);
    level = keys.flatMap((key) => parts.get(key) ?? []);
  }
  return removed;
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
 * Deletes entries or components with their nested components and all dependent rows: these in the order of their tables, whatever is
 * deleted, because two deletions that have rows in common must not lock them crosswise; then the components and entries, those
 * of a type together, and the given ones last.
 */
export const removalOf = (
  roots: readonly Owned[],
  parts: WritePlan['parts'],
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
  const groups = groupBy(found.reverse(), (it) => it.type.uid).map((them) => ({
    type: them[0]!.type,
    ids: them.map((it) => it.id),
  }));
  return [
    ...groups
      .flatMap(({ type, ids }) => dependentRemovals(type, ids, model))
      .sort((a, b) => (a.table < b.table ? -1 : Number(a.table > b.table))),
    ...groups.map(({ type, ids }): Operation => ({ kind: 'delete', table: type.table, column: 'id', ids, fixed: [] })),
  ];
};

const dependentRemovals = (type: EntryType, ids: readonly number[], model: Model): readonly Operation[] => [
  ...partPathsOf(type).map(({ table, from }): Operation => ({ kind: 'delete', table, column: from, ids, fixed: [] })),
  ...morphRemovals(type, ids, model),
  ...linkPathsOf(type, model).flatMap((path) => unlink(path, ids)),
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
