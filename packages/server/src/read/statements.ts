/** `ReadShape` to statements, once per shape. Their number depends on the shape only, never on the data. */
import { sql } from 'kysely';
import { bug } from '../errors.js';
import { limits } from '../limits.js';
import { slotParameter } from '../sql/compile.js';
import type { Dialect, Sql, Statement } from '../sql/dialect.js';
import { tablesIn } from '../sql/texts.js';
import {
  all,
  column,
  condition,
  fixedConditions,
  guardExpensive,
  guardSome,
  listColumn,
  sortExpression,
  sortValue,
  visible,
  way,
} from './conditions.js';
import { entryText, isWhole, memberTexts, objectText } from './inline.js';
import type { EntryColumns } from './joined.js';
import {
  type PlanFilter,
  type PlanLinks,
  type PlanNode,
  type PlanSlice,
  type PlanSort,
  type ReadShape,
  rootOf,
} from './plan.js';
import { type BatchQueries, type InIds, type UnitedRead, uniteRead } from './united.js';

export interface CompiledRead {
  readonly shape: ReadShape;
  /**
   * The whole page in one row: its entries and their ids, joined by commas, the entries in bytes, in an answer of one entry
   * its version, and the sizes of the entries in bytes. Takes ids where they are given. Null where the page consists of rows.
   */
  readonly whole: Statement | null;
  /** Whether that row ends with the number of entries on all pages. */
  readonly wholeCounts: boolean;
  /** Entries of the page: id, JSON texts and, in an answer of one entry, its version; null where ids are given. */
  readonly page: Statement | null;
  readonly count: Statement | null;
  /** Null for nodes that only statements of others render. */
  readonly nodes: readonly (CompiledNode | null)[];
  /** What the statements may read, as `tablesIn` returns it. */
  readonly tables: readonly string[] | null;
  /** All of them as one statement, where that is faster. */
  readonly united: UnitedRead | null;
  /** The entries of the page and of nodes in one row, where that is faster: of no more ids than `limits.shortRowsMax`. */
  readonly joined: JoinedRead | null;
}

export interface JoinedRead {
  readonly page: JoinedEntries | null;
  readonly nodes: readonly (JoinedEntries | null)[];
}

/** See `rowsIn`. */
export interface JoinedEntries extends EntryColumns {
  readonly statement: Statement;
}

export interface CompiledNode {
  /** `[id, json…]`, and with a sort a last column: the entry's place, equal for ties. Takes ids. */
  readonly entries: Statement;
  /** `[from, to, index among the links' targets]` in stored order, for each of the node's links. Takes ids. */
  readonly links: readonly Statement[];
}

/**
 * Whether a list is in the order of the ids, or of columns that have an index, so that a later page can start from an entry
 * before it; and a name of that order.
 */
export const anchorOrder = ({ sort }: ReadShape): string | null => {
  if (sort.length === 0) return 'id';
  const isInOrder = (key: PlanSort): boolean =>
    key.isIndexed &&
    // rows edited by hand may be elsewhere in the index (`isOdd`), which only orders of one column allow for
    (sort.length === 1 || (key.columnKind !== 'datetime' && key.columnKind !== 'time'));
  return sort.every(isInOrder) ? sort.map(({ column: name, direction }) => `${name} ${direction}`).join() : null;
};

export const compileRead = (shape: ReadShape, dialect: Dialect): CompiledRead => {
  const isLong = shape.slice !== null && shape.slice.rowsMax > limits.shortRowsMax;
  const isOneRow = shape.nests && isWhole(rootOf(shape)) && !isLong;
  const compiled = isOneRow ? compileWhole(shape, dialect) : compileBatches(shape, isLong, dialect);
  const { whole, page, count, nodes } = compiled;
  const statements = [whole, page, count, ...nodes.flatMap((it) => (it ? [it.entries, ...it.links] : []))];
  return { ...compiled, tables: tablesIn(statements.flatMap((it) => it?.sql ?? [])) };
};

/** The ids of a page alone, and the number of entries on all pages; for pages whose entries are mostly known. */
export interface CompiledIds {
  /** One row: the ids, joined by commas, and the number, or null if the shape does not count. */
  readonly statement: Statement;
}

export const compileIds = (shape: ReadShape, dialect: Dialect): CompiledIds => {
  const { slice } = shape;
  if (!slice) throw bug('statements.ids-without-slice', {});
  const root = rootOf(shape);
  const isFound = shape.withCount && readsAllToSort(shape);
  const ids = dialect.joinedIds(
    isFound ? rowsOfFound(shape, slice, sql`id`, dialect) : pageRows(shape, slice, [column('e', 'id')], dialect),
  );
  const counted = isFound ? sql`select count(*) from found` : countQuery(shape, root, dialect);
  const total = shape.withCount
    ? sql`cast(coalesce(${slotParameter('integer', slice.total)}, (${counted})) as integer)`
    : sql`null`;
  const found = isFound ? sql`with found as materialized (${foundQuery(shape, root, dialect)}) ` : sql``;
  const statement = dialect.compile(sql`${found}select ${ids}, ${total}`);
  return { statement: { ...statement, isWhole: true } };
};

/** The shape that reads the same entries by ids. */
export const entriesShape = (shape: ReadShape): ReadShape => ({
  ...shape,
  action: 'find',
  slice: null,
  withCount: false,
  withVersion: false,
  filter: null,
  locale: null,
  sort: [],
});

const givenIds = ({ action }: ReadShape, dialect: Dialect): InIds =>
  action === 'findOne' ? dialect.isId : dialect.inIds;

const compileWhole = (shape: ReadShape, dialect: Dialect): Omit<CompiledRead, 'tables'> => ({
  shape,
  whole: dialect.compile(wholeQuery(shape, dialect)),
  wholeCounts: wholeCounts(shape),
  page: null,
  count: shape.withCount ? dialect.compile(countQuery(shape, rootOf(shape), dialect)) : null,
  nodes: shape.nodes.map(() => null),
  united: null,
  joined: null,
});

const compileBatches = (shape: ReadShape, isLong: boolean, dialect: Dialect): Omit<CompiledRead, 'tables'> => {
  const root = rootOf(shape);
  const compile = (query: Sql): Statement => dialect.compile(query);
  const version = versionColumn(shape, dialect);
  const textsOf = (node: PlanNode): readonly Sql[] => textColumns(shape, node, dialect);
  const pageOfShape = shape.slice && pageQuery(shape, shape.slice, textsOf(root), dialect);
  const countOfShape = shape.withCount ? countQuery(shape, root, dialect) : null;
  const found = countOfShape && readsAllToSort(shape) ? foundQuery(shape, root, dialect) : null;
  const rootEntries = [...textsOf(root), ...version];
  const queries: BatchQueries = {
    found,
    root:
      found && shape.slice
        ? pageOfFound(shape, shape.slice, textsOf(root), dialect)
        : (pageOfShape ?? entriesQuery(root, rootEntries, givenIds(shape, dialect), dialect)),
    count: found ? sql`select count(*) from found` : countOfShape,
    entries: (node, inIds) => entriesQuery(node, textsOf(node), inIds, dialect),
    links: (links, inIds) => linksQuery(links, inIds, dialect),
  };
  const fetched = fetchedNodes(shape);
  return {
    shape,
    whole: null,
    wholeCounts: false,
    page: pageOfShape && { ...compile(pageOfShape), isLong },
    count: countOfShape && compile(countOfShape),
    nodes: shape.nodes.map((node, index) => {
      if (!fetched.has(index)) return null;
      const entries =
        node === root
          ? entriesQuery(root, rootEntries, givenIds(shape, dialect), dialect)
          : entriesQuery(node, textsOf(node), dialect.inIds, dialect);
      return {
        entries: compile(entries),
        links: node.links.map((links) => compile(linksQuery(links, dialect.inIds, dialect))),
      };
    }),
    united: uniteRead(shape, queries, dialect),
    joined: shape.nests ? joinedRead(shape, queries, isLong ? null : pageOfShape, fetched, dialect) : null,
  };
};

const joinedRead = (
  shape: ReadShape,
  { root, entries }: BatchQueries,
  page: Sql | null,
  fetched: ReadonlySet<number>,
  dialect: Dialect,
): JoinedRead => {
  const joinedEntries = (node: PlanNode, hasPlaces: boolean, query: Sql): JoinedEntries | null => {
    const texts = isWhole(node) ? 1 : memberTexts(shape, node, 'e', dialect).length;
    if (texts === 0) return null;
    return { texts, hasPlaces, statement: dialect.compile(joinedRow(query, texts, hasPlaces, dialect)) };
  };
  return {
    page: page && joinedEntries(rootOf(shape), false, page),
    nodes: shape.nodes.map((node, index) => {
      if (!fetched.has(index)) return null;
      if (node === rootOf(shape) && (shape.slice || shape.withVersion)) return null;
      const isSorted = node !== rootOf(shape) && node.sort.length > 0;
      const query = node === rootOf(shape) ? root : entries(node, dialect.inIds);
      // as in `wholeQuery`
      return joinedEntries(node, isSorted, sql`${query} limit -1`);
    }),
  };
};

/**
 * One row for all of a query, as `rowsIn` has it, in the order of the query; not rendered if an entry is large.
 * @param rows has the columns `id`, those of `textName`, and perhaps `place`.
 */
const joinedRow = (rows: Sql, texts: number, hasPlaces: boolean, { jsonTexts }: Dialect): Sql => {
  if (!jsonTexts) throw bug('inline.without-texts', {});
  const { bytes, joined, concat, size, nul } = jsonTexts;
  const columns = Array.from({ length: texts }, (_, i) => sql.id(textName(i)));
  const sizes = columns.flatMap((it, i) => (i === 0 ? [size(it)] : [',', size(it)]));
  const places = hasPlaces ? joined(sql`place`) : sql`null`;
  const length = sql.join(columns.map(size), sql` + `);
  const bounded = sql`iif(${length} > ${sql.lit(limits.inlineEntryBytesMax)}, ${nul}, ${concat(columns)})`;
  return sql`select ${bytes(joined(bounded))}, ${joined(sql`id`)}, ${joined(concat(sizes))}, ${places} from (${rows})`;
};

const textName = (index: number): string => `text${index}`;

/** The root, and the nodes of edges that are not inline. */
const fetchedNodes = ({ nodes }: ReadShape): ReadonlySet<number> => {
  const fetched = new Set([nodes.length - 1]);
  // children come before their parents
  for (let i = nodes.length - 1; i >= 0; i--) {
    if (!fetched.has(i)) continue;
    for (const { inline, targets } of nodes[i]!.edges)
      if (inline === null) for (const { node } of targets) fetched.add(node);
  }
  return fetched;
};

const wholeQuery = (shape: ReadShape, dialect: Dialect): Sql => {
  const { jsonTexts } = dialect;
  if (!jsonTexts) throw bug('inline.without-texts', {});
  const { bytes, joined, size, nul } = jsonTexts;
  const root = rootOf(shape);
  const text = sql`${objectText(shape, root, 'e', dialect)} as text`;
  const bounded = sql`iif(${size(sql`text`)} > ${sql.lit(limits.inlineEntryBytesMax)}, ${nul}, text)`;
  const page = sql`select ${bytes(joined(bounded))}, ${joined(sql`id`)}, null, ${joined(size(sql`text`))}`;
  if (shape.slice && wholeCounts(shape)) {
    const rows = pageOfFound(shape, shape.slice, [text], dialect);
    return sql`with found as materialized (${foundQuery(shape, root, dialect)}) ${page}, (select count(*) from found) from (${rows})`;
  }
  const rows = shape.slice
    ? pageQuery(shape, shape.slice, [text], dialect)
    : // the limit keeps SQLite from merging this query into one that aggregates, which would render the text at each use
      sql`${entriesQuery(root, [text, ...versionColumn(shape, dialect)], givenIds(shape, dialect), dialect)} limit -1`;
  const version = shape.withVersion ? sql`version` : sql`null`;
  // the text is named once: SQLite merges the two queries, and would render it at each use
  if (shape.action !== 'find') return sql`select ${bytes(sql`text`)}, id, ${version}, null from (${rows})`;
  return sql`${page} from (${rows})`;
};

const wholeCounts = (shape: ReadShape): boolean => shape.withCount && readsAllToSort(shape);

/** The texts of an entry: those of `inline.ts`, or its scalar part, in several objects if one cannot take all fields. */
const textColumns = (shape: ReadShape, node: PlanNode, dialect: Dialect): readonly Sql[] => {
  if (shape.nests) {
    const texts = isWhole(node) ? [entryText(shape, node, 'e', dialect)] : memberTexts(shape, node, 'e', dialect);
    return texts.map((it, i) => sql`${it} as ${sql.id(textName(i))}`);
  }
  const objects: Sql[] = [];
  for (let i = 0; i < node.fields.length; i += dialect.jsonPairsMax) {
    const fields = node.fields.slice(i, i + dialect.jsonPairsMax);
    objects.push(dialect.jsonObject(fields.map((it) => ({ ...it, column: column('e', it.column) }))));
  }
  return objects;
};

const pageQuery = (shape: ReadShape, slice: PlanSlice, texts: readonly Sql[], dialect: Dialect): Sql => {
  const root = rootOf(shape);
  const selected = [column('e', 'id'), ...texts, ...versionColumn(shape, dialect)];
  if (isFirstById(shape, slice)) return pageRows(shape, slice, selected, dialect);
  // sort and skip bare ids first: entries that the page does not show are not rendered
  const ids = pageRows(shape, slice, [column('e', 'id')], dialect);
  const page = sql`select p.id, row_number() over () as place from (${ids}) p${dialect.rowsBelow(slice.rowsMax)}`;
  return sql`select ${sql.join(selected)} from (${page}) q join ${sql.table(root.table)} e on e.id = q.id order by q.place`;
};

/** The first page in the order of ids. */
const isFirstById = ({ sort }: ReadShape, { fromStart }: PlanSlice): boolean => sort.length === 0 && fromStart;

/** The entries of the page in order. @param selected the id alone, or more in the first page by ids. */
const pageRows = (shape: ReadShape, slice: PlanSlice, selected: readonly Sql[], dialect: Dialect): Sql => {
  const root = rootOf(shape);
  const conditions = [
    ...rootGuard(shape, dialect),
    ...(shape.sort.length === 0 && !slice.fromStart
      ? [dialect.likely(sql`${column('e', 'id')} > ${slotParameter('integer', slice.after)}`)]
      : []),
    ...visible(root, 'e', dialect),
    ...rootConditions(shape, dialect),
  ];
  const odd = idsAroundOdd(shape, slice, conditions, root, dialect);
  if (odd) return odd;
  const [key, ...others] = shape.sort;
  const where = all([
    ...conditions,
    ...(key && slice.isAnchored ? afterAnchor([key, ...others], column('e', key.column), slice, root, dialect) : []),
  ]);
  const order = [...shape.sort.map((it) => sortExpression(it, 'e', dialect)), column('e', 'id')];
  return sql`select ${sql.join(selected)} from ${sql.table(root.table)} e${where} order by ${sql.join(order)} ${rowsOf(slice, dialect)}`;
};

/**
 * Entries behind the anchor in the order of indexed columns and the id: a range of the index, and few to leave out.
 * @param value of the first column, as the order compares it.
 */
const afterAnchor = (
  [key, ...others]: readonly [PlanSort, ...PlanSort[]],
  value: Sql,
  { after }: PlanSlice,
  root: PlanNode,
  dialect: Dialect,
): readonly Sql[] => {
  const id = slotParameter('integer', after);
  const than = ({ direction }: PlanSort): Sql => sql.raw(direction === 'asc' ? '>' : '<');
  const anchorOf = ({ columnKind, column: name }: PlanSort): Sql => {
    const stored = dialect.comparable(columnKind, column('a', name));
    return sql`(select ${stored} from ${sql.table(root.table)} a where ${column('a', 'id')} = ${id})`;
  };
  // unlike the first column, whose entries without a value no range has, the others tell nulls from values
  const amongEqual = others.reduceRight(
    (behind, other) => {
      const [own, anchor] = [column('e', other.column), anchorOf(other)];
      const [empty, full] = (other.direction === 'asc') === dialect.nullsAreLow ? [anchor, own] : [own, anchor];
      return sql`(${own} ${than(other)} ${anchor} or (${empty} is null and ${full} is not null) or (${own} is not distinct from ${anchor} and ${behind}))`;
    },
    sql`${column('e', 'id')} > ${id}`,
  );
  const anchor = anchorOf(key);
  return [sql`${value} ${than(key)}= ${anchor}`, sql`(${value} ${than(key)} ${anchor} or ${amongEqual})`];
};

/**
 * The ids of a page in the order of an indexed column of which the index orders odd rows elsewhere: all others in the order
 * of the index, and these, mostly none, merged into them. Null for other orders.
 * @param conditions of the list.
 */
const idsAroundOdd = (
  { sort: [key, ...others] }: ReadShape,
  slice: PlanSlice,
  conditions: readonly Sql[],
  root: PlanNode,
  dialect: Dialect,
): Sql | null => {
  if (!key?.isIndexed || others.length > 0) return null;
  const stored = column('e', key.column);
  const isOdd = dialect.isOdd(key.columnKind, stored);
  if (!isOdd) return null;
  const part = (value: Sql, condition: Sql): Sql => {
    const behind = slice.isAnchored ? afterAnchor([key], value, slice, root, dialect) : [];
    return sql`select ${value} as value, ${column('e', 'id')} from ${sql.table(root.table)} e${all([...conditions, condition, ...behind])}`;
  };
  const usual = part(stored, sql`(${isOdd}) is not true`);
  const odd = part(dialect.comparable(key.columnKind, stored), isOdd);
  return sql`select id from (${usual} union all ${odd} order by 1 ${way(key.direction)}, 2 ${rowsOf(slice, dialect)})`;
};

/**
 * Whether no index can spare the page the entries that the count reads: it sorts by, or filters through, relations, and does not
 * start from an entry.
 */
const readsAllToSort = ({ filter, sort, slice }: ReadShape): boolean =>
  !slice?.isAnchored &&
  filter !== null &&
  sort.length > 0 &&
  (isThroughRelation(filter) || sort.some((it) => it.steps.length > 0));

export const isThroughRelation = (filter: PlanFilter): boolean => {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.members.some(isThroughRelation);
    case 'not':
      return isThroughRelation(filter.member);
    case 'compare':
      return false;
    case 'related':
      return true;
  }
};

/** All entries that meet the filter, with their sort keys: page and count read them where one statement does both. */
const foundQuery = (shape: ReadShape, root: PlanNode, dialect: Dialect): Sql => {
  const where = all([...rootGuard(shape, dialect), ...visible(root, 'e', dialect), ...rootConditions(shape, dialect)]);
  const keys = shape.sort.map((key, i) => sql`${sortValue(key, 'e', dialect)} as ${sql.id(`key${i}`)}`);
  return sql`select ${sql.join([column('e', 'id'), ...keys])} from ${sql.table(root.table)} e${where}`;
};

/** The same as `pageQuery`: the few entries of the page are put in order again by their keys. */
const pageOfFound = (shape: ReadShape, slice: PlanSlice, texts: readonly Sql[], dialect: Dialect): Sql => {
  const root = rootOf(shape);
  const selected = sql.join([column('e', 'id'), ...texts, ...versionColumn(shape, dialect)]);
  const page = sql`select p.* from (${rowsOfFound(shape, slice, sql`*`, dialect)}) p${dialect.rowsBelow(slice.rowsMax)}`;
  return sql`select ${selected} from (${page}) q join ${sql.table(root.table)} e on e.id = q.id order by ${orderOfFound(shape, 'q')}`;
};

/** Those of the page, in order. */
const rowsOfFound = (shape: ReadShape, slice: PlanSlice, selected: Sql, dialect: Dialect): Sql =>
  sql`select ${selected} from found order by ${orderOfFound(shape, 'found')} ${rowsOf(slice, dialect)}`;

const orderOfFound = ({ sort }: ReadShape, alias: string): Sql =>
  sql.join([
    ...sort.map(({ direction }, i) => sql`${column(alias, `key${i}`)} ${way(direction)}`),
    column(alias, 'id'),
  ]);

const rowsOf = (slice: PlanSlice, dialect: Dialect): Sql => {
  const [limit, offset] = [slice.limit, slice.offset].map((it) => dialect.unindexed(slotParameter('integer', it)));
  return sql`limit ${limit} offset ${offset}`;
};

const versionColumn = (shape: ReadShape, dialect: Dialect): readonly Sql[] =>
  shape.withVersion ? [sql`${dialect.jsonValue('epoch', column('e', 'updated_at'))} as version`] : [];

const countQuery = (shape: ReadShape, root: PlanNode, dialect: Dialect): Sql => {
  const from = sql`select count(*) from ${sql.table(root.table)} e`;
  const conditions = rootConditions(shape, dialect);
  if (shape.filter)
    return sql`${from}${all([...rootGuard(shape, dialect), ...visible(root, 'e', dialect), ...conditions])}`;
  // in an index alone: that on the locale has both columns
  if (shape.locale) return sql`${from}${all([...conditions, ...visible(root, 'e', dialect)])}`;
  return root.publishedOnly ? sql`${from} where ${column('e', 'published_at')} is not null` : from;
};

const rootConditions = ({ locale, filter }: ReadShape, dialect: Dialect): readonly Sql[] =>
  [locale, filter].filter((it) => it !== null).map((it) => condition(it, 'e', dialect));

const rootGuard = ({ filter }: ReadShape, dialect: Dialect): readonly Sql[] => [
  ...guardSome('e', dialect),
  ...guardExpensive(filter, 'e', dialect),
];

/** @param texts and the version, where one is wanted. */
const entriesQuery = (node: PlanNode, texts: readonly Sql[], inIds: InIds, dialect: Dialect): Sql => {
  const filter = node.filter
    ? [...guardSome('e', dialect), ...guardExpensive(node.filter, 'e', dialect), condition(node.filter, 'e', dialect)]
    : node.sort.length > 0 || node.edges.some((it) => it.inline !== null)
      ? guardSome('e', dialect)
      : [];
  const where = all([inIds(column('e', 'id')), ...filter, ...visible(node, 'e', dialect)]);
  const table = sql.table(node.table);
  const selected = [column('e', 'id'), ...texts];
  if (node.sort.length === 0) return sql`select ${sql.join(selected)} from ${table} e${where}`;
  // sort bare ids first: the rows themselves are much wider
  const order = sql.join(node.sort.map((key) => sortExpression(key, 'e', dialect)));
  const places = sql`select ${column('e', 'id')}, dense_rank() over (order by ${order}) as place from ${table} e${where}`;
  const columns = sql.join([...selected, sql`p.place`]);
  return sql`select ${columns} from (${places}) p cross join ${table} e where e.id = p.id`;
};

const linksQuery = (links: PlanLinks, inIds: InIds, dialect: Dialect): Sql => {
  const { table, from, to, rank, typeColumn, nameColumn, edges, targets } = links;
  const names = edges.map((it) => it.name).filter((it) => it !== null);
  const is = (name: string | null, value: string | null): readonly Sql[] =>
    name === null ? [] : [sql`${dialect.unindexed(column('l', name))} = ${value}`];
  // a number for the target is cheaper than two texts
  const cases = targets.map(({ name, uid }, place) => {
    const conditions = [...is(nameColumn, name), ...is(typeColumn, uid)];
    return sql`when ${conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `)} then ${sql.lit(place)}`;
  });
  const target =
    targets.length === 1 && typeColumn === null
      ? sql`0`
      : targets.length === 0
        ? sql`null`
        : sql`case ${sql.join(cases, sql` `)} end`;
  const where = [
    ...guardSome('l', dialect),
    inIds(column('l', from)),
    sql`${column('l', to)} is not null`,
    ...fixedConditions(links, 'l', dialect),
    ...(nameColumn === null
      ? []
      : [sql`${listColumn(links, 'l', nameColumn, dialect)} in (${sql.join(names.map((name) => sql`${name}`))})`]),
  ];
  const mixed = edges.filter((it) => it.isMixed);
  const mixedNames = sql.join(mixed.map((it) => sql`${it.name}`));
  const tieByName = (): Sql =>
    sql`case when ${column('l', nameColumn ?? to)} in (${mixedNames}) then ${column('l', 'id')} else ${column('l', to)} end`;
  const tie =
    mixed.length === 0
      ? dialect.unindexed(column('l', to))
      : mixed.length === edges.length
        ? dialect.unindexed(column('l', 'id'))
        : tieByName();
  const order = sql.join([...(rank === null ? [] : [dialect.unindexed(column('l', rank))]), tie]);
  const selected = sql.join([column('l', from), column('l', to), target]);
  return sql`select ${selected} from ${sql.table(table)} l${all(where)} order by ${order} limit ${sql.lit(limits.rowsMax + 1)}`;
};
