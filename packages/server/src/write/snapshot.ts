/** The database state needed to plan a write, read inside its transaction after taking locks, or before (`isEarly`). */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import { type EntryType, FILE_UID, type LinkAttribute, type MorphAttribute, type Uid } from '../model/model.js';
import { type Dialect, type Statement, type Tx, withIds } from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';
import type { Change, LinkChange } from './change.js';
import { groupBy, type ListKey, listKey, type OwnerKey, push } from './keys.js';
import {
  askExcerpt,
  column,
  type Excerpt,
  lastRanksStatement,
  linksStatement,
  type OrderedList,
  pathKey,
  type RankedPath,
  type ReadList,
  readNeighbours,
  type StoredLink,
  storedLinks,
  whileFew,
} from './lists.js';
import { isOfStored, type StoredMorph } from './morphs.js';
import type { PlacedPart, StoredPart } from './parts.js';
import { type Columns, columnsOf, newQuestions, type Questions } from './questions.js';

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
  /** Entries that the caller may not see, by type: a position beside one is refused, and links to them stay (AD11). */
  readonly unseen?: ReadonlyMap<Uid, ReadonlySet<number>>;
  /** Lists with unsound ranks, which must be renumbered before the change is planned. */
  readonly unsound: readonly OrderedList[];
  /** What components that were written ahead contain. */
  readonly ahead?: ReadonlyMap<OwnerKey, readonly PlacedPart[]>;
  /** Whether others may have added to the lists of `lastRanks` since: it was read before locks were taken, or without some of them. */
  readonly isEarly?: boolean;
  /** Ids that the new entry and new components will have, by uid, in the order in which the change names them. */
  readonly newIds: ReadonlyMap<Uid, readonly number[]>;
}

/** A change with the id of its owner; null for a new one. */
export interface OwnedChange {
  readonly change: Change;
  readonly id: number | null;
}

/** Whether a target has at most one owner: connecting it removes it from the former one (R13). */
export const isExclusive = ({ attribute }: LinkChange): boolean =>
  attribute.source === 'relation' &&
  attribute.inverse !== null &&
  (attribute.relation === 'oneToOne' || attribute.relation === 'oneToMany');

/**
 * Every change of a body, the entry's own first.
 * @param withAhead also those of components whose rows have been written ahead.
 */
export const changesOf = (change: Change, id: number | null, { withAhead = false } = {}): readonly OwnedChange[] => {
  const found: OwnedChange[] = [{ change, id }];
  for (let i = 0; i < found.length; i++) {
    for (const part of found[i]!.change.parts)
      for (const item of part.items)
        if (withAhead || item.ahead === null) found.push({ change: item.change, id: item.id });
  }
  return found;
};

export const askedIds = ({ change }: LinkChange): readonly number[] =>
  change.kind === 'set' ? change.ids : change.connect.map((it) => it.id);

/** The ids that positions name. */
export const anchorIds = ({ change }: LinkChange): readonly number[] =>
  change.kind === 'set'
    ? []
    : change.connect.flatMap(({ position }) => ('anchor' in position ? [position.anchor] : []));

/** Those of `askedIds` and the ids to disconnect. */
export const namedIds = (link: LinkChange): readonly number[] =>
  link.change.kind === 'moves' ? [...askedIds(link), ...link.change.disconnect] : askedIds(link);

/** Reads everything that the change depends on, in one round trip; another if many entries of a long list move. */
export const readSnapshot = async (
  changes: readonly OwnedChange[],
  reading: ReadingSnapshot,
): Promise<Omit<Snapshot, 'parts'>> => {
  const questions = newQuestions();
  const complete = askSnapshot(changes, questions, reading);
  await questions.answer(reading.tx, reading.dialect);
  return complete(reading.tx);
};

export interface ReadingSnapshot {
  readonly dialect: Dialect;
  readonly tx: Tx;
  /** Whether ranks in lists of entries that are named are decided as the rows are inserted, as in an early snapshot. */
  readonly appendsLate: boolean;
}

/** The same in two steps. Returns what to call once the questions are answered. */
export const askSnapshot = (
  changes: readonly OwnedChange[],
  { ask }: Questions,
  { dialect, appendsLate }: Pick<ReadingSnapshot, 'dialect' | 'appendsLate'>,
): ((tx: Tx) => Promise<Omit<Snapshot, 'parts'>>) => {
  const lists = new Map<ListKey, readonly StoredLink[]>();
  const partners = new Map<string, readonly StoredLink[]>();
  const lastRanks = new Map<string, Map<number, number>>();
  const ids = new Map<Uid, number[]>();
  const unsound: OrderedList[] = [];
  const excerpts = new Set<ListKey>();
  const morphs = new Map<ListKey, readonly StoredMorph[]>();
  /** Excerpts that take another round trip. */
  const further: [Excerpt, Extract<ReadList, { readonly kind: 'own' }>][] = [];

  const keepList = (excerpt: Excerpt, list: Exclude<ReadList, { readonly kind: 'own' }>): void => {
    if (list.kind === 'unsound') {
      unsound.push(excerpt);
      return;
    }
    const key = listKey(pathKey(excerpt.path), excerpt.owner);
    lists.set(key, list.links);
    if (list.kind === 'excerpt') excerpts.add(key);
  };

  const links = changes.flatMap(({ change, id }) => change.links.map((link) => ({ link, id })));
  for (const group of groupBy(links, ({ link }) => pathKey(link.attribute.path))) {
    const { attribute } = group[0]!.link;
    const { path } = attribute;
    const name = pathKey(path);
    const owners = group.flatMap(({ id }) => (id === null ? [] : [id]));
    const asked = [...new Set(group.flatMap(({ link }) => askedIds(link)))];
    const excerpt = group.length === 1 && owners.length === 1 ? excerptOf(group[0]!.link, owners[0]!) : null;
    if (excerpt) {
      askExcerpt(
        excerpt,
        ask,
        (list) => {
          if (list.kind === 'own') further.push([excerpt, list]);
          else keepList(excerpt, list);
        },
        dialect,
      );
    } else if (owners.length > 0) {
      ask(linksStatement(path, 'from', owners, dialect), (rows) => {
        for (const list of groupBy(storedLinks(rows), (it) => String(it.from)))
          lists.set(listKey(name, list[0]!.from), list);
      });
    }
    if (asked.length > 0 && group.some(({ link }) => isExclusive(link))) {
      ask(linksStatement(path, 'to', asked, dialect), (rows) => {
        partners.set(name, storedLinks(rows));
      });
    }
    const named = [...new Set(group.flatMap(({ link }) => namedIds(link)))];
    const inverse = inverseOf(attribute);
    if (named.length > 0 && inverse && !appendsLate) {
      ask(lastRanksStatement(inverse, named, dialect), (rows) => {
        lastRanks.set(name, new Map(rows.map(([, , to, rank]) => [to!, Number(rank ?? 0)])));
        for (const [, , to, rank] of rows) if (rank === null) unsound.push({ path: inverse, owner: to! });
      });
    }
  }
  const morphLists = changes.flatMap(({ change, id }) =>
    id === null ? [] : change.morphs.flatMap((it) => (isOfStored(it) ? [{ id, path: it.attribute.path }] : [])),
  );
  for (const group of groupBy(morphLists, (it) => pathKey(it.path))) {
    const { path } = group[0]!;
    const owners = group.map((it) => it.id);
    ask(withIds(morphsStatement(path, dialect), owners, dialect), (rows) => {
      const stored = rows.map(([row, from, to, rank, text]) => ({
        row: row!,
        from: from!,
        uid: text as Uid,
        id: to!,
        rank,
      }));
      for (const list of groupBy(stored, (it) => String(it.from)))
        morphs.set(listKey(pathKey(path), list[0]!.from), list);
    });
  }
  const fresh = groupBy(
    changes.flatMap(({ change, id }) => (id === null ? [change.type] : [])),
    (type) => type.uid,
  );
  for (const types of fresh)
    ask(newIdsStatement(types[0]!.table, types.length, dialect), (rows) => {
      for (const [id] of rows) push(ids, types[0]!.uid, id!);
    });

  return async (tx) => {
    for (const [excerpt, list] of further) {
      const complete = await readNeighbours(excerpt, list, tx, dialect);
      if (complete.kind !== 'own') keepList(excerpt, complete);
    }
    return { lists, morphs, excerpts, partners, lastRanks, unsound, newIds: ids, isEarly: appendsLate };
  };
};

const inverses = new WeakMap<LinkAttribute, RankedPath>();

/** The other side's lists of the same links; null if it has no order. */
const inverseOf = (attribute: LinkAttribute): RankedPath | null => {
  const { path, inverseRank } = attribute;
  if (inverseRank === null) return null;
  const known = inverses.get(attribute);
  const inverse = known ?? { ...path, from: path.to, to: path.from, rank: inverseRank };
  inverses.set(attribute, inverse);
  return inverse;
};

const excerptOf = (link: LinkChange, owner: number): Excerpt | null => {
  const { attribute, change } = link;
  const { path, shape } = attribute;
  if (change.kind !== 'moves' || shape !== 'many' || !isRanked(path)) return null;
  const anchors = [...new Set(anchorIds(link))];
  const moved = [...new Set([...change.connect.map((it) => it.id), ...change.disconnect])];
  const has = (kind: 'start' | 'end'): boolean => change.connect.some(({ position }) => position.kind === kind);
  return moved.length + anchors.length <= limits.excerptIdsMax
    ? { path, owner, moved, anchors, ends: { start: has('start'), end: has('end') } }
    : null;
};

const isRanked = (path: LinkAttribute['path']): path is RankedPath => path.rank !== null;

const morphsStatement = (path: MorphAttribute['path'], dialect: Dialect): Statement =>
  keptStatement(dialect, `morphs ${pathKey(path)}`, () => {
    const rank = path.rank === null ? {} : { rank: column('l', path.rank) };
    const selected = columnsOf({
      id: column('l', 'id'),
      from: column('l', path.from),
      to: column('l', path.to),
      text: column('l', path.typeColumn),
      ...rank,
    });
    const order = path.rank === null ? sql`` : sql`${dialect.unindexed(column('l', path.rank))}, `;
    return sql`select ${selected} from ${sql.table(path.table)} l where ${dialect.inIds(column('l', path.from))} and ${column('l', path.to)} is not null${whileFew(column('l', 'id'), dialect)} order by ${order}${column('l', 'id')}`;
  });

/** Reserves ids of a table. */
export const newIdsStatement = (table: string, count: number, dialect: Dialect): Statement => {
  const statement = keptStatement(
    dialect,
    `new ids ${table}`,
    () => sql`select ${columnsOf({ id: sql`n.id` })} from ${dialect.newIds(table)} n`,
  );
  return withIds(
    statement,
    Array.from({ length: count }, (_none, i) => i + 1),
    dialect,
  );
};

/** How the entries are read that a change names; `referenced` are those that it leads to where no foreign key does. */
export type TargetLock = 'plain' | 'referenced';

/** Selects the ids that exist; of files with their media types. */
export const existingStatement = (
  type: EntryType,
  ids: readonly number[],
  dialect: Dialect,
  lock: TargetLock = 'plain',
): Statement => targetsStatement('existing', type, ids, dialect, lock, {});

/** The same with what permissions look at: the creator, and the locale. */
export const governedStatement = (
  type: EntryType,
  ids: readonly number[],
  dialect: Dialect,
  lock: TargetLock,
): Statement =>
  targetsStatement('governed', type, ids, dialect, lock, {
    from: sql`t.created_by_id`,
    ...(type.localized ? { text: sql`t.locale` } : {}),
  });

const targetsStatement = (
  what: string,
  { uid, table }: EntryType,
  ids: readonly number[],
  dialect: Dialect,
  lock: TargetLock,
  columns: Columns,
): Statement => {
  const statement = keptStatement(dialect, `${what} ${table} ${lock}`, () => {
    const selected = columnsOf({ id: sql`t.id`, ...(uid === FILE_UID ? { text: sql`t.mime` } : {}), ...columns });
    const suffix = lock === 'plain' ? sql`` : sql` order by t.id${dialect.forReference('t')}`;
    // a join: thousands of ids against a table without statistics would be compared one by one
    return sql`select ${selected} from ${dialect.idsTable} i join ${sql.table(table)} t on t.id = i.id${suffix}`;
  });
  return withIds(statement, ids, dialect);
};
