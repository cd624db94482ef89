/** `ReadShape` to statements, once per shape. Their number depends on the shape only, never on the data. */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import { operators } from '../query/operators.js';
import { slotParameter } from '../sql/compile.js';
import type { Dialect, Sql, Statement } from '../sql/dialect.js';
import { tablesIn } from '../sql/texts.js';
import type {
  PlanFilter,
  PlanLinks,
  PlanNode,
  PlanOperands,
  PlanSlice,
  PlanSort,
  PlanStep,
  ReadShape,
} from './plan.js';
import { rootOf } from './plan.js';
import { type BatchQueries, type InIds, type UnitedRead, uniteRead } from './united.js';

export interface CompiledRead {
  readonly shape: ReadShape;
  /** Entries of the page: id, JSON texts and, in an answer of one entry, its version; null when the id is given (`findOne`). */
  readonly page: Statement | null;
  readonly count: Statement | null;
  readonly nodes: readonly CompiledNode[];
  /** What the statements may read, as `tablesIn` returns it. */
  readonly tables: readonly string[] | null;
  /** All of them as one statement, where that is faster. */
  readonly united: UnitedRead | null;
}

export interface CompiledNode {
  /** `[id, json…]`, and with a sort a last column: the entry's place, equal for ties. Takes ids. */
  readonly entries: Statement;
  /** `[from, to, index among the links' targets]` in stored order, for each of the node's links. Takes ids. */
  readonly links: readonly Statement[];
}

/**
 * Whether a list is in the order of the ids, or of a column of which an index has every value in its place, so that a later
 * page can start from an entry before it; and a name of that order.
 */
export const anchorOrder = ({ sort: [key, ...others] }: ReadShape, dialect: Dialect): string | null => {
  if (!key) return 'id';
  if (!key.isIndexed || others.length > 0) return null;
  return dialect.isOdd(key.columnKind, column('e', key.column)) ? null : `${key.column} ${key.direction}`;
};

export const compileRead = (shape: ReadShape, dialect: Dialect): CompiledRead => {
  const root = rootOf(shape);
  const compile = (query: Sql): Statement => dialect.compile(query);
  const version = versionColumn(shape, dialect);
  const pageOfShape = shape.slice && pageQuery(shape, shape.slice, root, dialect);
  const countOfShape = shape.withCount ? countQuery(shape, root, dialect) : null;
  const found = countOfShape && readsAllToSort(shape) ? foundQuery(shape, root, dialect) : null;
  const queries: BatchQueries = {
    found,
    root:
      found && shape.slice
        ? pageOfFound(shape, shape.slice, root, dialect)
        : (pageOfShape ?? entriesQuery(root, version, dialect.inIds, dialect)),
    count: found ? sql`select count(*) from found` : countOfShape,
    entries: (node, inIds) => entriesQuery(node, [], inIds, dialect),
    links: (links, inIds) => linksQuery(links, inIds, dialect),
  };
  const compiled = {
    shape,
    page: shape.slice && pageOfShape && { ...compile(pageOfShape), isLong: shape.slice.rowsMax > limits.shortRowsMax },
    count: countOfShape && compile(countOfShape),
    nodes: shape.nodes.map((node) => ({
      entries: compile(entriesQuery(node, node === root ? version : [], dialect.inIds, dialect)),
      links: node.links.map((links) => compile(linksQuery(links, dialect.inIds, dialect))),
    })),
    united: uniteRead(shape, queries, dialect),
  };
  const { page, count, nodes } = compiled;
  const statements = [page, count, ...nodes.flatMap(({ entries, links }) => [entries, ...links])];
  return { ...compiled, tables: tablesIn(statements.flatMap((it) => it?.sql ?? [])) };
};

const column = (alias: string, name: string): Sql => sql`${sql.ref(`${alias}.${name}`)}`;
const all = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql`` : sql` where ${sql.join(conditions, sql` and `)}`;

/** The scalar part of entries as JSON texts; several if one object call cannot take all pairs. */
const jsonColumns = (node: PlanNode, alias: string, dialect: Dialect): readonly Sql[] => {
  const chunks: Sql[] = [];
  for (let i = 0; i < node.fields.length; i += dialect.jsonPairsMax) {
    const pairs = node.fields.slice(i, i + dialect.jsonPairsMax);
    chunks.push(
      dialect.jsonObject(pairs.map((it) => [it.name, dialect.jsonValue(it.form, column(alias, it.column))] as const)),
    );
  }
  return chunks;
};

/** The index on `published_at` is for counting only: it supports no order and no other condition. */
const visible = (node: { readonly publishedOnly: boolean }, alias: string, dialect: Dialect): readonly Sql[] =>
  node.publishedOnly ? [sql`${dialect.unindexed(column(alias, 'published_at'))} is not null`] : [];

const pageQuery = (shape: ReadShape, slice: PlanSlice, root: PlanNode, dialect: Dialect): Sql => {
  const isFirst = shape.sort.length === 0 && slice.fromStart;
  const conditions = [
    ...rootGuard(shape, dialect),
    ...(shape.sort.length === 0 && !isFirst
      ? [dialect.likely(sql`${column('e', 'id')} > ${slotParameter('integer', slice.after)}`)]
      : []),
    ...(slice.isAnchored ? afterAnchor(shape, slice, root) : []),
    ...visible(root, 'e', dialect),
    ...rootConditions(shape, dialect),
  ];
  const where = all(conditions);
  const order = sql`order by ${sql.join([...shape.sort.map((key) => sortExpression(key, 'e', dialect)), column('e', 'id')])}`;
  const rows = rowsOf(slice, dialect);
  const from = sql`from ${sql.table(root.table)} e`;
  const selected = sql.join([column('e', 'id'), ...jsonColumns(root, 'e', dialect), ...versionColumn(shape, dialect)]);
  if (isFirst) return sql`select ${selected} ${from}${where} ${order} ${rows}`;
  // sort and skip bare ids first: entries that the page does not show are not rendered
  const ids =
    idsAroundOdd(shape, conditions, root, rows, dialect) ??
    sql`select ${column('e', 'id')} ${from}${where} ${order} ${rows}`;
  const page = sql`select p.id, row_number() over () as place from (${ids}) p${dialect.rowsBelow(slice.rowsMax)}`;
  return sql`select ${selected} from (${page}) q join ${sql.table(root.table)} e on e.id = q.id order by q.place`;
};

/** Entries behind the anchor in the order of an indexed column and the id: a range of the index, and few to leave out. */
const afterAnchor = ({ sort: [key] }: ReadShape, { after }: PlanSlice, root: PlanNode): readonly Sql[] => {
  if (!key) return [];
  const id = slotParameter('integer', after);
  const [value, than] = [column('e', key.column), sql.raw(key.direction === 'asc' ? '>' : '<')];
  const anchor = sql`(select ${column('a', key.column)} from ${sql.table(root.table)} a where ${column('a', 'id')} = ${id})`;
  return [sql`${value} ${than}= ${anchor}`, sql`(${value} ${than} ${anchor} or ${column('e', 'id')} > ${id})`];
};

/**
 * The ids of a page in the order of an indexed column of which the index orders odd rows elsewhere: all others in the order
 * of the index, and these, mostly none, merged into them. Null for other orders.
 */
const idsAroundOdd = (
  { sort: [key, ...others] }: ReadShape,
  conditions: readonly Sql[],
  root: PlanNode,
  rows: Sql,
  dialect: Dialect,
): Sql | null => {
  if (!key?.isIndexed || others.length > 0) return null;
  const stored = column('e', key.column);
  const isOdd = dialect.isOdd(key.columnKind, stored);
  if (!isOdd) return null;
  const part = (value: Sql, condition: Sql): Sql =>
    sql`select ${value} as value, ${column('e', 'id')} from ${sql.table(root.table)} e${all([...conditions, condition])}`;
  const usual = part(stored, sql`(${isOdd}) is not true`);
  const odd = part(dialect.comparable(key.columnKind, stored), isOdd);
  return sql`select id from (${usual} union all ${odd} order by 1 ${way(key.direction)}, 2 ${rows})`;
};

/** Whether no index can spare the page the entries that the count reads: it sorts by, and filters through, relations. */
const readsAllToSort = ({ filter, sort }: ReadShape): boolean =>
  filter !== null && sort.length > 0 && (isThroughRelation(filter) || sort.some((it) => it.steps.length > 0));

const isThroughRelation = (filter: PlanFilter): boolean => {
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

/** The same as `pageQuery`. */
const pageOfFound = (shape: ReadShape, slice: PlanSlice, root: PlanNode, dialect: Dialect): Sql => {
  const keys = shape.sort.map(({ direction }, i) => sql`${sql.id(`key${i}`)} ${way(direction)}`);
  const selected = sql.join([column('e', 'id'), ...jsonColumns(root, 'e', dialect), ...versionColumn(shape, dialect)]);
  const page = sql`select p.id, row_number() over () as place from (select id from found order by ${sql.join([...keys, sql`id`])} ${rowsOf(slice, dialect)}) p${dialect.rowsBelow(slice.rowsMax)}`;
  return sql`select ${selected} from (${page}) q join ${sql.table(root.table)} e on e.id = q.id order by q.place`;
};

const rowsOf = (slice: PlanSlice, dialect: Dialect): Sql => {
  const [limit, offset] = [slice.limit, slice.offset].map((it) => dialect.unindexed(slotParameter('integer', it)));
  return sql`limit ${limit} offset ${offset}`;
};

const way = (direction: 'asc' | 'desc'): Sql => (direction === 'asc' ? sql`asc` : sql`desc`);

const versionColumn = (shape: ReadShape, dialect: Dialect): readonly Sql[] =>
  shape.withVersion ? [dialect.jsonValue('epoch', column('e', 'updated_at'))] : [];

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

const rootGuard = ({ filter }: ReadShape, dialect: Dialect): readonly Sql[] =>
  filter ? guardEvery('e', dialect) : guardSome('e', dialect);

/** Checks the deadline for every row of the table, or only for some; see `StillRunning`. */
const guardEvery = (alias: string, { stillRunning }: Dialect): readonly Sql[] =>
  stillRunning ? [stillRunning.everyRow(column(alias, 'id'))] : [];
const guardSome = (alias: string, { stillRunning }: Dialect): readonly Sql[] =>
  stillRunning ? [stillRunning.someRows(column(alias, 'id'))] : [];

const entriesQuery = (node: PlanNode, version: readonly Sql[], inIds: InIds, dialect: Dialect): Sql => {
  const filter = node.filter
    ? [...guardEvery('e', dialect), condition(node.filter, 'e', dialect)]
    : node.sort.length > 0
      ? guardSome('e', dialect)
      : [];
  const where = all([inIds(column('e', 'id')), ...filter, ...visible(node, 'e', dialect)]);
  const table = sql.table(node.table);
  const selected = [column('e', 'id'), ...jsonColumns(node, 'e', dialect)];
  if (node.sort.length === 0) return sql`select ${sql.join([...selected, ...version])} from ${table} e${where}`;
  // sort bare ids first: the rows themselves are much wider
  const order = sql.join(node.sort.map((key) => sortExpression(key, 'e', dialect)));
  const places = sql`select ${column('e', 'id')}, dense_rank() over (order by ${order}) as place from ${table} e${where}`;
  const columns = sql.join([...selected, sql`p.place`, ...version]);
  return sql`select ${columns} from (${places}) p cross join ${table} e where e.id = p.id`;
};

const linksQuery = (links: PlanLinks, inIds: InIds, dialect: Dialect): Sql => {
  const { table, from, to, rank, typeColumn, nameColumn, fixed, edges, targets } = links;
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
    ...fixedConditions(fixed, 'l', dialect),
    ...(nameColumn === null
      ? []
      : [sql`${dialect.unindexed(column('l', nameColumn))} in (${sql.join(names.map((name) => sql`${name}`))})`]),
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

const fixedConditions = (
  fixed: readonly { readonly column: string; readonly value: string }[],
  alias: string,
  dialect: Dialect,
): readonly Sql[] => fixed.map((it) => sql`${dialect.unindexed(column(alias, it.column))} = ${it.value}`);

// ---- filters and sorts

const condition = (filter: PlanFilter, alias: string, dialect: Dialect): Sql => {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      if (filter.members.length === 0) return filter.kind === 'and' ? sql`1 = 1` : sql`1 = 0`;
      return sql`(${sql.join(membersOf(filter, alias, dialect), filter.kind === 'and' ? sql` and ` : sql` or `)})`;
    }
    case 'not':
      return sql`not (${condition(filter.member, alias, dialect)})`;
    case 'compare':
      return operators[filter.operator].condition(
        dialect.comparable(filter.columnKind, column(alias, filter.column)),
        filter.columnKind,
        operandsOf(filter.operands, dialect),
        dialect,
      );
    case 'related': {
      const [link, target] = [`${alias}l`, `${alias}t`];
      const { step } = filter;
      const source = joinTarget(step, link, target);
      const conditions = [...stepConditions(step, link, target, dialect)];
      const some = sql`${column(alias, 'id')} in (select ${column(link, step.path.from)} from ${source}${all([...guardSome(link, dialect), ...guardEvery(target, dialect), ...conditions, condition(filter.member, target, dialect)])})`;
      if (!filter.orNone) return some;
      const none = sql`not exists (select 1 from ${source}${all([...guardSome(link, dialect), sql`${column(link, step.path.from)} = ${column(alias, 'id')}`, ...conditions])})`;
      return sql`(${some} or ${none})`;
    }
  }
};

const operandsOf = ({ kind, slot, count }: PlanOperands, dialect: Dialect): readonly Sql[] =>
  Array.from({ length: count }, (_, i) => dialect.bindSlot(kind, slot + i));

/** Members of a group; a large group checks the deadline in between, because conditions on long texts are expensive. */
const membersOf = (group: Group, alias: string, dialect: Dialect): readonly Sql[] => {
  let passed = 0;
  return group.members.flatMap((member) => {
    const sqlOfMember = condition(member, alias, dialect);
    passed += conditionsIn(member);
    if (passed < CONDITIONS_UNWATCHED) return [sqlOfMember];
    passed = 0;
    const guards = guardEvery(alias, dialect);
    return [sqlOfMember, ...(group.kind === 'and' ? guards : guards.map((it) => sql`not ${it}`))];
  });
};

type Group = Extract<PlanFilter, { kind: 'and' | 'or' }>;
const CONDITIONS_UNWATCHED = 10;

const conditionsIn = (filter: PlanFilter): number => {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.members.reduce((sum, it) => sum + conditionsIn(it), 0);
    case 'not':
      return conditionsIn(filter.member);
    case 'compare':
    case 'related':
      return 1;
  }
};

const tableAs = (table: string, alias: string): Sql => sql`${sql.table(table)} as ${sql.id(alias)}`;

const joinTarget = (step: PlanStep, link: string, target: string): Sql =>
  sql`${tableAs(step.path.table, link)} join ${tableAs(step.table, target)} on ${column(target, 'id')} = ${column(link, step.path.to)}`;

const stepConditions = (step: PlanStep, link: string, target: string, dialect: Dialect): readonly Sql[] => [
  ...fixedConditions(step.path.fixed, link, dialect),
  ...(step.path.typeColumn === null
    ? []
    : [sql`${dialect.unindexed(column(link, step.path.typeColumn))} = ${step.uid}`]),
  ...visible(step, target, dialect),
];

/**
 * A sort key as one value for each entry: a to-one step leads to the entry that populating it shows, a to-many step to
 * all of them, of which the least (asc) or greatest (desc) value counts, so that no entry repeats (SO3).
 */
const sortExpression = (key: PlanSort, alias: string, dialect: Dialect): Sql =>
  sql`${sortValue(key, alias, dialect)} ${way(key.direction)}`;

const sortValue = ({ steps, column: name, columnKind, direction }: PlanSort, alias: string, dialect: Dialect): Sql => {
  const last = steps.length === 0 ? alias : `t${steps.length - 1}`;
  const value = dialect.comparable(columnKind, column(last, name));
  if (steps.length === 0) return value;
  const sources: Sql[] = [];
  const conditions: Sql[] = [];
  steps.forEach((step, i) => {
    const [link, target] = [`l${i}`, `t${i}`];
    const owner = column(i === 0 ? alias : `t${i - 1}`, 'id');
    if (step.shape === 'one') {
      sources.push(tableAs(step.table, target));
      conditions.push(sql`${column(target, 'id')} = (${shownTarget(step, owner, dialect)})`);
    } else {
      sources.push(joinTarget(step, link, target));
      // ways multiply with every step
      conditions.push(
        ...guardEvery(link, dialect),
        sql`${column(link, step.path.from)} = ${owner}`,
        ...stepConditions(step, link, target, dialect),
      );
    }
  });
  const isOne = steps.every((step) => step.shape === 'one');
  if (!isOne) conditions.push(sql`${value} is not null`);
  const order = isOne ? sql`` : sql` order by ${value} ${way(direction)}`;
  return sql`(select ${value} from ${sql.join(sources, sql` cross join `)}${all(conditions)}${order} limit 1)`;
};

/** The id of the entry that a to-one step shows: the first visible one in stored order (ST10). */
const shownTarget = (step: PlanStep, owner: Sql, dialect: Dialect): Sql => {
  const [link, target] = ['l', 't'];
  const { from, rank } = step.path;
  const conditions = [
    ...guardEvery(link, dialect),
    sql`${column(link, from)} = ${owner}`,
    ...stepConditions(step, link, target, dialect),
  ];
  const order = sql.join([...(rank === null ? [] : [column(link, rank)]), column(target, 'id')]);
  return sql`select ${column(target, 'id')} from ${joinTarget(step, link, target)}${all(conditions)} order by ${order} limit 1`;
};
