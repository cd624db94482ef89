/** Stored components of entries. */
import { sql } from 'kysely';
import type { EntryType, LinkPath, Model, Uid } from '../model/model.js';
import { type Dialect, type Statement, type Tx, withIds } from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';
import { groupBy, type OwnerKey, ownerKey, push } from './keys.js';
import { column } from './lists.js';

export interface StoredPart {
  /** Id of the link row. */
  readonly row: number;
  readonly uid: Uid;
  readonly id: number;
  readonly attribute: string;
  readonly rank: number | null;
}

/** A component of an entry or component, in its place. */
export type PlacedPart = Omit<StoredPart, 'row'>;

/** Of what has none. */
export const noParts: ReadonlyMap<OwnerKey, readonly StoredPart[]> = new Map();

/**
 * The stored components of entries, level by level. Each is read only once, so that the loop ends even if damaged rows
 * make a component contain itself; such rows are in the result.
 */
export const readParts = async (
  type: EntryType,
  entries: readonly number[],
  model: Model,
  tx: Tx,
  dialect: Dialect,
): Promise<ReadonlyMap<OwnerKey, readonly StoredPart[]>> => {
  const parts = new Map<OwnerKey, StoredPart[]>();
  const seen = new Set<OwnerKey>(entries.map((id) => ownerKey(type.uid, id)));
  let level: { type: EntryType; ids: readonly number[] }[] = [{ type, ids: entries }];
  while (level.length > 0) {
    const owners = level.flatMap((it) => {
      const part = [...it.type.attributes.values()].find((attribute) => attribute.kind === 'part');
      return part ? [{ ...it, path: part.path }] : [];
    });
    if (owners.length === 0) break;
    const results = await tx.runAll(
      owners.map(({ ids, path }) => withIds(partsStatement(path, dialect), ids, dialect)),
    );
    const next = new Map<Uid, { type: EntryType; ids: number[] }>();
    owners.forEach((owner, i) => {
      for (const [row, from, to, uid, attribute, rank] of results[i] as readonly [
        number,
        number,
        number,
        Uid,
        string,
        number | null,
      ][]) {
        const key = ownerKey(owner.type.uid, from);
        push(parts, key, { row, uid, id: to, attribute, rank });
        const component = model.types.get(uid);
        const partKey = ownerKey(uid, to);
        if (!component || seen.has(partKey)) continue;
        seen.add(partKey);
        const group = next.get(uid) ?? { type: component, ids: [] };
        group.ids.push(to);
        next.set(uid, group);
      }
    });
    level = [...next.values()];
  }
  return parts;
};

/** The same of components of several types. */
export const readContained = async (
  components: readonly { readonly type: EntryType; readonly id: number }[],
  model: Model,
  tx: Tx,
  dialect: Dialect,
): Promise<ReadonlyMap<OwnerKey, readonly StoredPart[]>> => {
  const found = new Map<OwnerKey, readonly StoredPart[]>();
  for (const them of groupBy(components, (it) => it.type.uid)) {
    const ids = them.map((it) => it.id);
    for (const [key, parts] of await readParts(them[0]!.type, ids, model, tx, dialect)) found.set(key, parts);
  }
  return found;
};

const partsStatement = (path: LinkPath, dialect: Dialect): Statement =>
  keptStatement(dialect, `parts ${path.table}`, () => {
    const columns = ['id', path.from, path.to, path.typeColumn!, 'field', path.rank!].map((name) => column('l', name));
    return sql`select ${sql.join(columns)} from ${sql.table(path.table)} l where ${dialect.inIds(column('l', path.from))} order by ${column('l', path.rank!)}, l.id`;
  });

/** Where components of a type have their places: the tables of all entries and components that may contain them. */
export const owningPaths = ({ uid }: EntryType, model: Model): readonly LinkPath[] => {
  const owning = [...model.types.values()].flatMap((type) =>
    [...type.attributes.values()].flatMap((it) => (it.kind === 'part' && it.components.includes(uid) ? [it.path] : [])),
  );
  return [...new Map(owning.map((it) => [it.table, it])).values()];
};
