/** The database state needed to plan a write, read inside its transaction after taking locks. */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import {
  type EntryType,
  FILE_UID,
  type LinkAttribute,
  type LinkPath,
  type Model,
  type MorphAttribute,
  type Uid,
} from '../model/model.js';
import { type Dialect, type Rows, type Sql, type Statement, type Tx, withIds } from '../sql/dialect.js';
import type { Change, LinkChange } from './change.js';
import type { StoredMorph } from './morphs.js';
import { isSoundRank, isSpread, spread } from './order.js';

export interface Snapshot {
  /** Stored components of an entry or component, with all nested ones, in stored order. */
  readonly parts: ReadonlyMap<OwnerKey, readonly StoredPart[]>;
  /** Rows of each changed relation of an owner, in stored order. */
  readonly lists: ReadonlyMap<ListKey, readonly StoredLink[]>;
  /** Rows of each changed polymorphic relation of an owner, in stored order. */
  readonly morphs: ReadonlyMap<ListKey, readonly StoredMorph[]>;
  /** The lists of which only the rows near the change were read; their ranks are sound. */
  readonly excerpts: ReadonlySet<ListKey>;
  /**
   * The current links of the targets that a change names, whoever their owner is; only for relations in which a target
   * has at most one owner.
   */
  readonly partners: ReadonlyMap<string, readonly StoredLink[]>;
  /** Greatest rank in the named targets' own lists, by link path and target. */
  readonly lastRanks: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Lists with unsound ranks, which must be renumbered before the change is planned. */
  readonly unsound: readonly OrderedList[];
  /** Ids that the new entry and new components will have, by uid, in the order in which the change names them. */
  readonly newIds: ReadonlyMap<Uid, readonly number[]>;
}

export interface StoredPart {
  /** Id of the link row. */
  readonly row: number;
  readonly uid: Uid;
  readonly id: number;
  readonly attribute: string;
  readonly rank: number | null;
}

export interface StoredLink {
  /** Id of the link row; the id of the entry itself where the link is one of its columns. */
  readonly row: number;
  readonly from: number;
  readonly to: number;
  readonly rank: number | null;
}

/** One list of a relation: the rows of an owner in the order of their ranks. */
export interface OrderedList {
  readonly path: LinkPath & { readonly rank: string };
  readonly owner: number;
}

export type OwnerKey = string;
export type ListKey = string;
export const ownerKey = (uid: Uid, id: number): OwnerKey => `${uid} ${id}`;
/** Identifies a link path; media in one table differ in their fixed values. */
export const pathKey = (path: LinkPath): string => JSON.stringify([path.table, path.from, path.to, path.fixed]);
export const listKey = (pathName: string, owner: number): ListKey => `${pathName} ${owner}`;

/** Whether a target has at most one owner: connecting it removes it from the former one (R13). */
export const isExclusive = ({ attribute }: LinkChange): boolean =>
  attribute.source === 'relation' &&
  attribute.inverse !== null &&
  (attribute.relation === 'oneToOne' || attribute.relation === 'oneToMany');

/** Every change of a body, the entry's own first, with the id of its owner; null for new ones. */
export const changesOf = (
  change: Change,
  id: number | null,
): readonly { readonly change: Change; readonly id: number | null }[] => {
  const found: { change: Change; id: number | null }[] = [{ change, id }];
  for (let i = 0; i < found.length; i++) {
    for (const part of found[i]!.change.parts)
      found.push(...part.items.map((item) => ({ change: item.change, id: item.id })));
  }
  return found;
};

export const askedIds = ({ change }: LinkChange): readonly number[] =>
  change.kind === 'set' ? change.ids : change.connect.map((it) => it.id);

/** These and the ids to disconnect. */
const namedIds = (link: LinkChange): readonly number[] =>
  link.change.kind === 'moves' ? [...askedIds(link), ...link.change.disconnect] : askedIds(link);

const column = (alias: string, name: string): Sql => sql`${sql.ref(`${alias}.${name}`)}`;
const fixedOf = (path: LinkPath, dialect: Dialect): Sql =>
  sql.join(
    path.fixed.map((it) => sql` and ${dialect.unindexed(column('l', it.column))} = ${it.value}`),
    sql``,
  );

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

const partsStatement = (path: LinkPath, dialect: Dialect): Statement => {
  const columns = ['id', path.from, path.to, path.typeColumn!, 'field', path.rank!].map((name) => column('l', name));
  return dialect.compile(
    sql`select ${sql.join(columns)} from ${sql.table(path.table)} l where ${dialect.inIds(column('l', path.from))} order by ${column('l', path.rank!)}, l.id`,
  );
};

/**
 * Reads everything that the change depends on, in one round trip; two more if a few entries of a long list move,
 * because such a list is read partially.
 */
export const readSnapshot = async (
  changes: readonly { readonly change: Change; readonly id: number | null }[],
  tx: Tx,
  dialect: Dialect,
): Promise<Omit<Snapshot, 'parts'>> => {
  const statements: Statement[] = [];
  const readers: ((rows: Rows) => void)[] = [];
  const ask = (statement: Statement, read: (rows: Rows) => void): void => {
    statements.push(statement);
    readers.push(read);
  };
  const lists = new Map<ListKey, readonly StoredLink[]>();
  const partners = new Map<string, readonly StoredLink[]>();
  const lastRanks = new Map<string, Map<number, number>>();
  const ids = new Map<Uid, number[]>();
  const unsound: OrderedList[] = [];
  const long: LongList[] = [];
  const morphs = new Map<ListKey, readonly StoredMorph[]>();

  const links = changes.flatMap(({ change, id }) => change.links.map((link) => ({ link, id })));
  for (const group of groupBy(links, ({ link }) => pathKey(link.attribute.path))) {
    const { attribute } = group[0]!.link;
    const name = pathKey(attribute.path);
    const { byOwner, byTarget, inverse } = statementsFor(attribute, dialect);
    const owners = group.flatMap(({ id }) => (id === null ? [] : [id]));
    const asked = [...new Set(group.flatMap(({ link }) => askedIds(link)))];
    if (owners.length > 0) {
      const list = group.length === 1 ? excerptOf(group[0]!.link, owners[0]!) : null;
      const statement = list
        ? rowsOfList(list, null, 'asc', limits.wholeListMax + 1, dialect)
        : withIds(byOwner, owners, dialect);
      ask(statement, (rows) => {
        const links = storedLinks(rows);
        if (list && links.length > limits.wholeListMax) long.push({ ...list, isSpread: isSpread(links[0]?.rank) });
        for (const group of groupBy(links, (it) => String(it.from))) lists.set(listKey(name, group[0]!.from), group);
      });
    }
    if (asked.length > 0 && group.some(({ link }) => isExclusive(link))) {
      ask(withIds(byTarget, asked, dialect), (rows) => {
        partners.set(name, storedLinks(rows));
      });
    }
    const named = [...new Set(group.flatMap(({ link }) => namedIds(link)))];
    if (named.length > 0 && inverse) {
      ask(withIds(inverse.lastRanks, named, dialect), (rows) => {
        lastRanks.set(name, new Map(rows.map(([to, rank]) => [to as number, Number(rank ?? 0)])));
        for (const [to, , isUnsound] of rows) if (isUnsound) unsound.push({ path: inverse.path, owner: to as number });
      });
    }
  }
  const morphLists = changes.flatMap(({ change, id }) =>
    id === null
      ? []
      : change.morphs.flatMap((it) => (it.attribute.shape === 'many' ? [{ id, path: it.attribute.path }] : [])),
  );
  for (const group of groupBy(morphLists, (it) => pathKey(it.path))) {
    const { path } = group[0]!;
    const owners = group.map((it) => it.id);
    ask(withIds(morphsStatement(path, dialect), owners, dialect), (rows) => {
      for (const links of groupBy(storedMorphs(rows), (it) => String(it.from)))
        morphs.set(listKey(pathKey(path), links[0]!.from), links);
    });
  }
  const fresh = groupBy(
    changes.flatMap(({ change, id }) => (id === null ? [change.type] : [])),
    (type) => type.uid,
  );
  if (fresh.length > 0) {
    const wanted = fresh.map((types) => ({ table: types[0]!.table, count: types.length }));
    ask(dialect.reserveIds(wanted), (rows) => {
      for (const [place, id] of rows as readonly (readonly [number, number])[]) push(ids, fresh[place]![0]!.uid, id);
    });
  }
  const results = await tx.runAll(statements);
  results.forEach((rows, i) => {
    readers[i]!(rows);
  });
  const excerpts = new Set<ListKey>();
  for (const list of long) {
    const key = listKey(pathKey(list.path), list.owner);
    const rows = await readExcerpt(list, tx, dialect);
    if (!rows) unsound.push(list);
    else {
      excerpts.add(key);
      lists.set(key, rows);
    }
  }
  return { lists, morphs, excerpts, partners, lastRanks, unsound, newIds: ids };
};

/**
 * Statements about the links of an attribute, without the ids. Cached, because compiling them takes longer than running
 * them.
 */
interface LinkStatements {
  readonly byOwner: Statement;
  readonly byTarget: Statement;
  /** The other side's lists of the same links; null if it has no order. */
  readonly inverse: { readonly path: OrderedList['path']; readonly lastRanks: Statement } | null;
}

const linkStatements = new WeakMap<Dialect, WeakMap<LinkAttribute, LinkStatements>>();

const statementsFor = (attribute: LinkAttribute, dialect: Dialect): LinkStatements => {
  const ofDialect = linkStatements.get(dialect) ?? new WeakMap<LinkAttribute, LinkStatements>();
  linkStatements.set(dialect, ofDialect);
  const known = ofDialect.get(attribute);
  if (known) return known;
  const { path, inverseRank } = attribute;
  const inverse = inverseRank === null ? null : { ...path, from: path.to, to: path.from, rank: inverseRank };
  const made: LinkStatements = {
    byOwner: linksStatement(path, path.from, dialect),
    byTarget: linksStatement(path, path.to, dialect),
    inverse: inverse && { path: inverse, lastRanks: lastRanksStatement(inverse, dialect) },
  };
  ofDialect.set(attribute, made);
  return made;
};

/** A list that may be too long to be read in full for a change of a few entries. */
interface LongList extends OrderedList {
  /** Ids that are moved or removed, and anchors. */
  readonly ids: readonly number[];
  /** Spread ranks are known to be sound. */
  readonly isSpread: boolean;
}

const excerptOf = ({ attribute, change }: LinkChange, owner: number): Omit<LongList, 'isSpread'> | null => {
  const { path, shape } = attribute;
  const { rank } = path;
  if (change.kind !== 'moves' || shape !== 'many' || rank === null) return null;
  const anchors = change.connect.flatMap(({ position }) => ('anchor' in position ? [position.anchor] : []));
  const ids = [...new Set([...change.connect.map((it) => it.id), ...change.disconnect, ...anchors])];
  return ids.length <= limits.excerptIdsMax ? { path: { ...path, rank }, owner, ids } : null;
};

/**
 * The rows that a change of a few entries can depend on: their own, and around each of them and at both ends one more
 * row than there are ids, so that each has a neighbour wherever it moves. Null if ranks of the list are unsound.
 */
const readExcerpt = async (list: LongList, tx: Tx, dialect: Dialect): Promise<readonly StoredLink[] | null> => {
  const { path, ids } = list;
  const max = ids.length + 1;
  const own = rowsOfList(list, dialect.inIds(column('l', path.to)), 'asc', null, dialect);
  const ends = [rowsOfList(list, null, 'asc', max, dialect), rowsOfList(list, null, 'desc', max, dialect)];
  const looks = list.isSpread ? [] : [unsoundStatement(list, dialect)];
  const [ownRows = [], first = [], last = [], [[isUnsound] = []] = []] = await tx.runAll([
    withIds(own, ids, dialect),
    ...ends,
    ...looks,
  ]);
  const known = storedLinks(ownRows);
  if (isUnsound || !known.every((it) => isSoundRank(it.rank))) return null;
  const neighbours = await tx.runAll(
    known.flatMap((it) => {
      const beside = (comparison: Sql): Sql =>
        sql`${column('l', 'id')} <> ${dialect.bind('id', it.row)} and ${column('l', path.rank)} ${comparison} ${dialect.bind('rank', it.rank)}`;
      return [
        rowsOfList(list, beside(sql`<=`), 'desc', max, dialect),
        rowsOfList(list, beside(sql`>=`), 'asc', max, dialect),
      ];
    }),
  );
  const rows = new Map([...known, ...[first, last, ...neighbours].flatMap(storedLinks)].map((it) => [it.row, it]));
  const sorted = [...rows.values()].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  return sorted.every((it, i) => isSoundRank(it.rank) && it.rank !== sorted[i - 1]?.rank) ? sorted : null;
};

// ---- unsound ranks: missing, tied, or no whole numbers from 1 to `limits.rankMax` (ST13)

/** Whether one of the last ranks of a list is unsound. */
const hasUnsoundRank = (path: OrderedList['path'], owner: Sql, max: number, dialect: Dialect): Sql => {
  const rank = column('l', path.rank);
  const last = sql`select ${rank} as rank from ${rowsOf(path, owner, dialect)} order by ${rank} desc limit ${sql.lit(max)}`;
  const outside = sql`min(r.rank) < 1 or max(r.rank) > ${sql.lit(limits.rankMax)}`;
  const fractions = sql`sum(case when r.rank <> floor(r.rank) then 1 else 0 end)`;
  // `count(distinct …)` does not count missing ranks
  return sql`select count(*) <> count(distinct r.rank) or coalesce(${outside} or ${fractions} > 0, false) from (${last}) r`;
};

const unsoundStatement = ({ path, owner }: OrderedList, dialect: Dialect): Statement =>
  dialect.compile(hasUnsoundRank(path, dialect.bind('id', owner), limits.soundRanksMax, dialect));

/** For each of the ids, the greatest rank of its list, and whether one of the last is unsound. */
const lastRanksStatement = (path: OrderedList['path'], dialect: Dialect): Statement => {
  const owner = sql`i.id`;
  const last = sql`select max(${column('l', path.rank)}) from ${rowsOf(path, owner, dialect)}`;
  const unsound = hasUnsoundRank(path, owner, limits.soundInverseRanksMax, dialect);
  return dialect.compile(sql`select i.id, (${last}), (${unsound}) from ${dialect.idsTable} i`);
};

/** Renumbers a list without changing its order: 1 to N, or spread if it is long (see `order.ts`). */
export const renumberStatement = ({ path, owner }: OrderedList, dialect: Dialect): Statement => {
  const rank = column('l', path.rank);
  const rows = rowsOf(path, dialect.bind('id', owner), dialect);
  const placed = sql`select l.id, row_number() over (order by ${rank}, ${column('l', path.to)}) as place, count(*) over () as n from ${rows}`;
  const spreadRank = sql`${sql.lit(spread.from)} + p.place * (${sql.lit(spread.width)} / p.n)`;
  const ranked = sql`select p.id, case when p.n <= ${sql.lit(limits.wholeListMax)} then p.place else ${spreadRank} end as rank from (${placed}) p`;
  return dialect.compile(
    sql`update ${sql.table(path.table)} as l set ${sql.ref(path.rank)} = n.rank from (${ranked}) n where l.id = n.id and ${rank} is distinct from n.rank`,
  );
};

// ---- rows

/** The rows of one list, as `l`, including those without a target. */
const rowsOf = (path: LinkPath, owner: Sql, dialect: Dialect): Sql =>
  sql`${sql.table(path.table)} l where ${column('l', path.from)} = ${owner}${fixedOf(path, dialect)}`;

/** Rows of one list in stored or reverse order. */
const rowsOfList = (
  { path, owner }: OrderedList,
  condition: Sql | null,
  way: 'asc' | 'desc',
  max: number | null,
  dialect: Dialect,
): Statement => {
  const where = sql`${column('l', path.to)} is not null${condition ? sql` and ${condition}` : sql``}`;
  const rows = sql`${rowsOf(path, dialect.bind('id', owner), dialect)} and ${where}`;
  const direction = way === 'asc' ? sql`asc` : sql`desc`;
  const order = sql`${column('l', path.rank)} ${direction}, ${column('l', path.to)} ${direction}`;
  const limit = max === null ? sql`` : sql` limit ${sql.lit(max)}`;
  return dialect.compile(sql`select ${linkColumns(path)} from ${rows} order by ${order}${limit}`);
};

const linkColumns = (path: LinkPath): Sql =>
  sql.join([
    column('l', 'id'),
    column('l', path.from),
    column('l', path.to),
    path.rank === null ? sql`null` : column('l', path.rank),
  ]);

const linksStatement = (path: LinkPath, by: string, dialect: Dialect): Statement => {
  const order = [...(path.rank === null ? [] : [path.rank]), path.to].map((name) =>
    dialect.unindexed(column('l', name)),
  );
  return dialect.compile(
    sql`select ${linkColumns(path)} from ${sql.table(path.table)} l where ${dialect.inIds(column('l', by))} and ${column('l', path.to)} is not null and ${column('l', path.from)} is not null${fixedOf(path, dialect)} order by ${sql.join(order)}`,
  );
};

const storedLinks = (rows: Rows): readonly StoredLink[] =>
  (rows as readonly [number, number, number, number | null][]).map(([row, from, to, rank]) => ({
    row,
    from,
    to,
    rank,
  }));

const morphsStatement = (path: MorphAttribute['path'], dialect: Dialect): Statement => {
  const rank = path.rank === null ? sql`null` : column('l', path.rank);
  const selected = sql.join([
    column('l', 'id'),
    column('l', path.from),
    column('l', path.typeColumn),
    column('l', path.to),
    rank,
  ]);
  return dialect.compile(
    sql`select ${selected} from ${sql.table(path.table)} l where ${dialect.inIds(column('l', path.from))} and ${column('l', path.to)} is not null order by ${dialect.unindexed(rank)}, ${column('l', 'id')}`,
  );
};

const storedMorphs = (rows: Rows): readonly StoredMorph[] =>
  (rows as readonly [number, number, Uid, number, number | null][]).map(([row, from, uid, id, rank]) => ({
    row,
    from,
    uid,
    id,
    rank,
  }));

/** Selects the ids that exist. */
export const existingStatement = (type: EntryType, ids: readonly number[], dialect: Dialect): Statement =>
  withIds(
    // a join: thousands of ids against a table without statistics would be compared one by one
    dialect.compile(
      sql`select t.id${type.uid === FILE_UID ? sql`, t.mime` : sql``} from ${dialect.idsTable} i join ${sql.table(type.table)} t on t.id = i.id`,
    ),
    ids,
    dialect,
  );

const push = <K, V>(lists: Map<K, V[]>, key: K, value: V): void => {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
};

export const groupBy = <T>(items: readonly T[], key: (item: T) => string): readonly T[][] => {
  const groups = new Map<string, T[]>();
  for (const item of items) push(groups, key(item), item);
  return [...groups.values()];
};
