/**
 * Copies stored values of an entry to others of its type, from row to row, so that none is read or changed on the way:
 * scalars, files, and components with everything inside, which get ids of their own.
 */
import type {
  Attribute,
  EntryType,
  LinkAttribute,
  MorphAttribute,
  PartAttribute,
  ScalarAttribute,
  Uid,
} from '../model/model.js';
import { runTogether } from '../sql/dialect.js';
import type { CheckContext } from './checks.js';
import { groupBy, type OwnerKey, ownerKey } from './keys.js';
import type { IdPair, Operation } from './operations.js';
import type { PlacedPart } from './parts.js';
import { newIdsStatement } from './snapshot.js';

/** Components of an entry and of its components. */
export type Parts = ReadonlyMap<OwnerKey, readonly PlacedPart[]>;

export interface Copying {
  readonly type: EntryType;
  readonly from: number;
  readonly to: readonly number[];
  readonly attributes: readonly Attribute[];
  /** Components of `from`. */
  readonly parts: Parts;
  /** Ids of rows that are yet to be inserted, to which the copies' are added: SQLite reserves no ids. */
  readonly taken: Map<Uid, readonly number[]>;
}

/** The copies. Values that the entries have in the attributes must be gone, but for scalars. */
export const copy = async (copying: Copying, context: CheckContext): Promise<readonly Operation[]> => {
  const { type, from, to, attributes } = copying;
  const pairs = to.map((id): IdPair => [from, id]);
  const columns = attributes.filter((it): it is ScalarAttribute => it.kind === 'scalar').map((it) => it.column);
  const links = attributes.filter((it): it is LinkAttribute => it.kind === 'link');
  return [
    ...(columns.length > 0 ? [{ kind: 'assign', table: type.table, columns, pairs } as const] : []),
    ...links.flatMap((it) => copyLinks(it, pairs)),
    ...(await copyParts(copying, context)),
  ];
};

/** Links of the first id of each pair, for the second. Links that only one entry can have stay where they are. */
const copyLinks = (
  { path, relation, inverse, inverseRank, source }: LinkAttribute,
  pairs: readonly IdPair[],
): readonly Operation[] => {
  const isExclusive = source === 'relation' && inverse !== null && /^oneTo/.test(relation);
  if (isExclusive || path.from === 'id' || path.to === 'id') return [];
  const ranks = [path.rank, inverseRank].filter((it) => it !== null);
  const columns = [path.to, ...ranks, ...path.fixed.map((it) => it.column)];
  return [{ kind: 'clone', table: path.table, column: path.from, pairs, columns, fixed: path.fixed }];
};

/** Rows of a `morphToMany`, as those who see the links from the other side have them too. */
const copyMorph = ({ path }: MorphAttribute, pairs: readonly IdPair[]): readonly Operation[] => {
  const { table, from, to, typeColumn, rank } = path;
  if (rank === null) return [];
  return [{ kind: 'clone', table, column: from, pairs, columns: [to, typeColumn, 'field', rank], fixed: [] }];
};

/** A component to copy, and where it is. */
export interface Found {
  readonly type: EntryType;
  readonly id: number;
  /** Its owner's place among those found; null for the entry itself. */
  readonly owner: number | null;
  readonly path: PartAttribute['path'];
  readonly attribute: string;
  readonly rank: number | null;
}

/** The components of the attributes, each behind its owner. Of damaged rows that repeat one, the first counts. */
export const findParts = (
  { type, from, attributes, parts }: Pick<Copying, 'type' | 'from' | 'attributes' | 'parts'>,
  { model }: CheckContext,
): readonly Found[] => {
  const names = new Set(attributes.map((it) => it.name));
  const found: Found[] = [];
  const seen = new Set<OwnerKey>();
  const add = (ownerType: EntryType, id: number, owner: number | null): void => {
    for (const part of parts.get(ownerKey(ownerType.uid, id)) ?? []) {
      const attribute = ownerType.attributes.get(part.attribute);
      const component = model.types.get(part.uid);
      const key = ownerKey(part.uid, part.id);
      const isMeant = owner !== null || names.has(part.attribute);
      if (!isMeant || attribute?.kind !== 'part' || !component || seen.has(key)) continue;
      seen.add(key);
      found.push({
        type: component,
        id: part.id,
        owner,
        path: attribute.path,
        attribute: part.attribute,
        rank: part.rank,
      });
    }
  };
  add(type, from, null);
  for (let i = 0; i < found.length; i++) add(found[i]!.type, found[i]!.id, i);
  return found;
};

const copyParts = async (copying: Copying, context: CheckContext): Promise<readonly Operation[]> => {
  const found = findParts(copying, context);
  return found.length === 0 ? [] : (await copyFound(found, copying, context)).operations;
};

/** Copies components, with all that they contain, to rows that no entry has a place for yet. @returns the copies by what they are of. */
export const copyUnplaced = async (
  copying: Omit<Copying, 'to' | 'taken'>,
  context: CheckContext,
): Promise<{
  readonly operations: readonly Operation[];
  readonly ids: ReadonlyMap<OwnerKey, { readonly uid: Uid; readonly id: number }>;
}> => {
  const found = findParts(copying, context);
  const { operations, copies } = await copyFound(found, { to: [null], taken: new Map() }, context);
  const ids = found.flatMap((it) =>
    it.owner === null ? [[ownerKey(it.type.uid, it.id), { uid: it.type.uid, id: copies.get(it)![0]! }] as const] : [],
  );
  return { operations, ids: new Map(ids) };
};

/** Null is nowhere: the outermost copies get no place. */
type Targets = Pick<Copying, 'taken'> & { readonly to: readonly (number | null)[] };

const copyFound = async (found: readonly Found[], targets: Targets, context: CheckContext) => {
  const { to } = targets;
  const groups = groupBy(found, (it) => it.type.uid);
  const free = await reserveIds(groups, targets, context);
  /** The copy for each target, in the order of `to`. */
  const copies = new Map(found.map((it) => [it, free.get(it.type.uid)!.splice(0, to.length)]));
  const clones = groups.flatMap((group): readonly Operation[] => {
    const { type } = group[0]!;
    const pairs = group.flatMap((it) => copies.get(it)!.map((id): IdPair => [it.id, id]));
    const attributes = [...type.attributes.values()];
    const links = attributes.filter((it) => it.kind === 'link');
    const morphs = attributes.filter((it) => it.kind === 'morph');
    const columns = [
      ...attributes.flatMap((it) => (it.kind === 'scalar' ? [it.column] : [])),
      ...links.flatMap(({ path }) => (path.from === 'id' ? [path.to] : [])),
      ...morphs.flatMap(({ path }) => (path.from === 'id' ? [path.to, path.typeColumn] : [])),
    ];
    return [
      { kind: 'clone', table: type.table, column: 'id', pairs, columns, fixed: [] },
      ...links.flatMap((it) => copyLinks(it, pairs)),
      ...morphs.flatMap((it) => copyMorph(it, pairs)),
    ];
  });
  const placed = found.flatMap((it) =>
    to.flatMap((target, place): readonly Operation[] => {
      const { owner, path, type, attribute, rank } = it;
      const ownerId = owner === null ? target : copies.get(found[owner]!)![place]!;
      if (ownerId === null) return [];
      const cells = [
        { column: path.from, kind: 'reference', value: ownerId },
        { column: path.to, kind: 'reference', value: copies.get(it)![place]! },
        { column: path.typeColumn!, kind: 'string', value: type.uid },
        { column: 'field', kind: 'string', value: attribute },
        { column: path.rank!, kind: 'rank', value: rank },
      ] as const;
      return [{ kind: 'insert', table: path.table, cells }];
    }),
  );
  return { operations: [...clones, ...placed], copies };
};

const reserveIds = async (
  groups: readonly (readonly Found[])[],
  { to, taken }: Targets,
  { dialect, tx }: CheckContext,
): Promise<ReadonlyMap<Uid, number[]>> => {
  const wanted = groups.map((it) => {
    const [{ type }] = it as readonly [Found];
    const before = new Set(taken.get(type.uid));
    return { uid: type.uid, table: type.table, before, count: it.length * to.length + before.size };
  });
  const reserved = await runTogether(
    wanted.map(({ table, count }) => newIdsStatement(table, count, dialect)),
    tx,
    dialect,
  );
  return new Map(
    wanted.map(({ uid, before }, place) => {
      const free = reserved[place]!.map(([id]) => id as number).filter((id) => !before.has(id));
      taken.set(uid, [...before, ...free]);
      return [uid, free];
    }),
  );
};
