/**
 * Ordered lists as they are stored: statements that read a list in whole or in part, find ranks that are unsound, and
 * number a list anew.
 */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import type { LinkPath } from '../model/model.js';
import { fixedConditions } from '../read/conditions.js';
import { type Dialect, type Sql, type Statement, type Tx, withIds, withValues } from '../sql/dialect.js';
import { keptStatement } from '../sql/kept.js';
import { isSoundRank, spread } from './order.js';
import { columnsOf, type Questions, type Row } from './questions.js';

export interface StoredLink {
  /** Id of the link row; the id of the entry itself where the link is one of its columns. */
  readonly row: number;
  readonly from: number;
  readonly to: number;
  readonly rank: number | null;
}

/** A path with an order. */
export type RankedPath = LinkPath & { readonly rank: string };

/** One list of a relation: the rows of an owner in the order of their ranks. */
export interface OrderedList {
  readonly path: RankedPath;
  readonly owner: number;
}

const keys = new WeakMap<LinkPath, string>();

/** Identifies a link path; media in one table differ in their fixed values. */
export const pathKey = (path: LinkPath): string => {
  const known = keys.get(path);
  if (known !== undefined) return known;
  const key = JSON.stringify([path.table, path.from, path.to, path.fixed]);
  keys.set(path, key);
  return key;
};

export const column = (alias: string, name: string): Sql => sql`${sql.ref(`${alias}.${name}`)}`;

const fixedOf = (path: LinkPath, dialect: Dialect): Sql =>
  sql.join(
    fixedConditions(path, 'l', dialect).map((it) => sql` and ${it}`),
    sql``,
  );

/** A further condition on rows that change: see `StillRunning.changedRows`. */
export const whileFew = (id: Sql, { stillRunning }: Dialect): Sql =>
  stillRunning ? sql` and ${stillRunning.changedRows(id)}` : sql``;

/** The rows of one list, as `l`, including those without a target. */
const rowsOf = (path: LinkPath, owner: Sql, dialect: Dialect): Sql =>
  sql`${sql.table(path.table)} l where ${column('l', path.from)} = ${owner}${fixedOf(path, dialect)}`;

const linkColumns = (path: LinkPath, text?: Sql): Sql =>
  columnsOf({
    id: column('l', 'id'),
    from: column('l', path.from),
    to: column('l', path.to),
    ...(path.rank === null ? {} : { rank: column('l', path.rank) }),
    ...(text ? { text } : {}),
  });

export const storedLinks = (rows: readonly Row[]): readonly StoredLink[] =>
  rows.map(([row, from, to, rank]) => ({ row: row!, from: from!, to: to!, rank }));

// ---- whole lists

/** The links whose column `by` holds one of the ids, in stored order. */
export const linksStatement = (
  path: LinkPath,
  by: 'from' | 'to',
  ids: readonly number[],
  dialect: Dialect,
): Statement => {
  const statement = keptStatement(dialect, `links ${by} ${pathKey(path)} ${path.rank}`, () => {
    const order = [...(path.rank === null ? [] : [path.rank]), path.to].map((name) =>
      dialect.unindexed(column('l', name)),
    );
    return sql`select ${linkColumns(path)} from ${sql.table(path.table)} l where ${dialect.inIds(column('l', path[by]))} and ${column('l', path.to)} is not null and ${column('l', path.from)} is not null${fixedOf(path, dialect)}${whileFew(column('l', 'id'), dialect)} order by ${sql.join(order)}`;
  });
  return withIds(statement, ids, dialect);
};

// ---- long lists

/** A list that may be too long to be read in full for a change of a few entries, and what the change concerns. */
export interface Excerpt extends OrderedList {
  /** Ids that are connected or disconnected. */
  readonly moved: readonly number[];
  readonly anchors: readonly number[];
  /** The ends at which something is placed. */
  readonly ends: { readonly start: boolean; readonly end: boolean };
}

/** What was read of a list. */
export type ReadList =
  | { readonly kind: 'whole' | 'excerpt'; readonly links: readonly StoredLink[] }
  | { readonly kind: 'unsound' }
  /** The neighbours are yet to be read (`readNeighbours`). */
  | { readonly kind: 'own'; readonly links: readonly StoredLink[]; readonly others: readonly StoredLink[] };

/**
 * Reads a list, or of a long one the rows that a change of a few entries can depend on: their own, and around each anchor
 * and at the ends one more row than there are moved ones, so that each has neighbours that keep their places.
 */
export const askExcerpt = (
  excerpt: Excerpt,
  ask: Questions['ask'],
  read: (list: ReadList) => void,
  dialect: Dialect,
): void => {
  const { path, owner, moved, anchors, ends } = excerpt;
  const hasPlaces = anchors.length <= placesMax;
  const places = hasPlaces ? padded(anchors.length) : 0;
  const max = rowsAround(excerpt);
  const key = `excerpt ${places} ${max} ${ends.start} ${ends.end} ${pathKey(path)} ${path.rank}`;
  const statement = keptStatement(dialect, key, () => excerptQuery(path, places, max, ends, dialect));
  const values = [owner, ...Array.from({ length: places }, (_none, place) => anchors[place] ?? null)];
  ask(withIds(withValues(statement, values, dialect), [...moved, ...anchors], dialect), (rows) => {
    read(readList(hasPlaces, rows));
  });
};

/** Rounded, so that there are few texts. */
const padded = (count: number): number => (count === 0 ? 0 : 2 ** Math.ceil(Math.log2(count)));
const rowsAround = ({ moved }: Excerpt): number => padded(moved.length) + 1;

/** Anchors up to which their neighbours are read by the same statement. */
const placesMax = 4;

const readList = (hasNeighbours: boolean, rows: readonly Row[]): ReadList => {
  const found = (...notes: readonly string[]): readonly StoredLink[] =>
    storedLinks(rows.filter((it) => notes.includes(it[4]!)));
  const whole = found('whole');
  if (whole.length > 0 || rows.length === 0) return { kind: 'whole', links: whole };
  const own = found('own');
  if (rows.some((it) => it[4] === 'unsound') || !own.every((it) => isSoundRank(it.rank))) return { kind: 'unsound' };
  // duplicate pairs (ST10) have more neighbours than one row of each
  if (!hasNeighbours || own.length > new Set(own.map((it) => it.to)).size)
    return { kind: 'own', links: own, others: found('end') };
  return sorted(own, found('end', 'near'));
};

/** All rows in stored order; unsound if ranks are missing or tied. */
const sorted = (own: readonly StoredLink[], others: readonly StoredLink[]): ReadList => {
  const rows = new Map([...own, ...others].map((it) => [it.row, it]));
  const links = [...rows.values()].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  const isSound = links.every((it, i) => isSoundRank(it.rank) && it.rank !== links[i - 1]?.rank);
  return isSound ? { kind: 'excerpt', links } : { kind: 'unsound' };
};

/**
 * Slots: the owner, then an anchor in each place, null in those left over.
 * @param max rows to read at an end, and on each side of an anchor.
 */
const excerptQuery = (path: RankedPath, places: number, max: number, ends: Excerpt['ends'], dialect: Dialect): Sql => {
  const owner = dialect.bindSlot('id', 0);
  const rows = rowsOf(path, owner, dialect);
  const [rank, to] = [column('l', path.rank), column('l', path.to)];
  const select = (note: string, condition: Sql): Sql =>
    sql`select ${linkColumns(path, sql`cast(${sql.lit(note)} as text)`)} from ${rows} and ${to} is not null${condition}`;
  // tied ranks are unsound, in whatever order they are read
  const first = (query: Sql, way: 'asc' | 'desc', count: number): Sql =>
    sql`select * from (${query} order by ${rank} ${way === 'asc' ? sql`asc` : sql`desc`} limit ${sql.lit(count)}) part`;
  const near = Array.from({ length: places }, (_none, place) => {
    const anchor = sql`(select ${rank} from ${rows} and ${to} = ${dialect.bindSlot('id', 1 + place)} limit 1)`;
    return [
      // with the anchor itself
      first(select('near', sql` and ${rank} <= ${anchor}`), 'desc', max + 1),
      first(select('near', sql` and ${rank} > ${anchor}`), 'asc', max),
    ];
  });
  const kind = sql`(select length.kind from length)`;
  const isShort = sql`${kind} = 'short'`;
  // a condition would be tested for each row of a long list
  const wholeMax = sql`case when ${isShort} then ${sql.lit(limits.wholeListMax)} else 0 end`;
  const whole = sql`select * from (${select('whole', sql` and ${isShort}`)} order by ${rank}, ${to} limit ${wholeMax}) part`;
  const isSpread = sql`(select min(${rank}) from ${rows}) >= ${sql.lit(spread.min)}`;
  const isLong = sql`exists (select 1 from ${rows} limit 1 offset ${sql.lit(limits.wholeListMax)})`;
  // one that was spread need not be counted, and is sound
  const length = sql`select case when ${isSpread} then 'spread' when ${isLong} then 'long' else 'short' end as kind`;
  const isUnsound = sql`${lastRank(path, owner, limits.soundRanksMax, dialect)} is null`;
  const parts = [
    whole,
    select('own', sql` and ${dialect.inIds(to)}`),
    // the first row tells whether the list is spread
    ...(ends.start || ends.end ? [first(select('end', sql``), 'asc', ends.start ? max : 1)] : []),
    ...(ends.end ? [first(select('end', sql``), 'desc', max)] : []),
    ...near.flat(),
    // `case` keeps the order: this reads up to thousands of rows, and only a list that is long and not spread needs it
    sql`select ${columnsOf({ text: sql`cast('unsound' as text)` })} where case when ${kind} = 'long' then ${isUnsound} else false end`,
  ];
  return sql`select * from (with length as materialized (${length}) ${sql.join(parts, sql` union all `)}) list`;
};

/** The same once the rows around those of the ids have been read by their ranks. */
export const readNeighbours = async (
  excerpt: Excerpt,
  { links, others }: Extract<ReadList, { readonly kind: 'own' }>,
  tx: Tx,
  dialect: Dialect,
): Promise<ReadList> => {
  const { path, owner } = excerpt;
  const beside = (way: 'asc' | 'desc') => {
    // a row is its own neighbour
    const max = rowsAround(excerpt) + 1;
    const statement = keptStatement(dialect, `beside ${way} ${max} ${pathKey(path)} ${path.rank}`, () => {
      const [rank, to] = [column('l', path.rank), column('l', path.to)];
      const [comparison, direction] = way === 'asc' ? [sql`>=`, sql`asc`] : [sql`<=`, sql`desc`];
      return sql`select ${linkColumns(path)} from ${rowsOf(path, dialect.bindSlot('id', 0), dialect)} and ${to} is not null and ${rank} ${comparison} ${dialect.bindSlot('rank', 1)} order by ${rank} ${direction} limit ${sql.lit(max)}`;
    });
    return ({ rank }: StoredLink): Statement => withValues(statement, [owner, rank], dialect);
  };
  const [before, after] = [beside('desc'), beside('asc')];
  const results = await tx.runAll(links.flatMap((it) => [before(it), after(it)]));
  return sorted(links, [...others, ...(results as unknown as readonly (readonly Row[])[]).flatMap(storedLinks)]);
};

// ---- unsound ranks: missing, tied, or no whole numbers from 1 to `limits.rankMax` (ST13)

/** The greatest rank of a list, 0 if it is empty; null if one of the last is unsound. */
const lastRank = (path: RankedPath, owner: Sql, max: number, dialect: Dialect): Sql => {
  const rank = column('l', path.rank);
  const last = sql`select ${rank} as value from ${rowsOf(path, owner, dialect)} order by ${rank} desc limit ${sql.lit(max)}`;
  return dialect.maxOfDistinct(
    last,
    (value) => sql`${value} < 1 or ${value} > ${sql.lit(limits.rankMax)} or ${value} <> floor(${value})`,
  );
};

/** For each of the ids, as `to`, the rank `lastRank` of its list. */
export const lastRanksStatement = (path: RankedPath, ids: readonly number[], dialect: Dialect): Statement => {
  const statement = keptStatement(dialect, `last ranks ${pathKey(path)} ${path.rank}`, () => {
    const rank = lastRank(path, sql`i.id`, limits.soundInverseRanksMax, dialect);
    return sql`select ${columnsOf({ to: sql`i.id`, rank })} from ${dialect.idsTable} i`;
  });
  return withIds(statement, ids, dialect);
};

/** Renumbers a list without changing its order: 1 to N, or spread if it is long (see `order.ts`). */
export const renumberStatement = ({ path, owner }: OrderedList, dialect: Dialect): Statement => {
  const statement = keptStatement(dialect, `renumber ${pathKey(path)} ${path.rank}`, () => {
    const rank = column('l', path.rank);
    const rows = rowsOf(path, dialect.bindSlot('id', 0), dialect);
    const placed = sql`select l.id, row_number() over (order by ${rank}, ${column('l', path.to)}) as place, count(*) over () as n from ${rows}${whileFew(column('l', 'id'), dialect)}`;
    const spreadRank = sql`${sql.lit(spread.from)} + p.place * (${sql.lit(spread.width)} / p.n)`;
    const ranked = sql`select p.id, case when p.n <= ${sql.lit(limits.wholeListMax)} then p.place else ${spreadRank} end as rank from (${placed}) p`;
    return sql`update ${sql.table(path.table)} as l set ${sql.ref(path.rank)} = n.rank from (${ranked}) n where l.id = n.id and ${rank} is distinct from n.rank`;
  });
  return withValues(statement, [owner], dialect);
};
