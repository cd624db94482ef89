/** Filters, sorts and what else decides which rows a statement reads and in which order, as SQL. */
import { sql } from 'kysely';
import type { LinkPath } from '../model/model.js';
import { operators } from '../query/operators.js';
import type { Dialect, Sql } from '../sql/dialect.js';
import type { PlanFilter, PlanOperands, PlanSort, PlanStep } from './plan.js';

export const column = (alias: string, name: string): Sql => sql`${sql.ref(`${alias}.${name}`)}`;
export const all = (conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql`` : sql` where ${sql.join(conditions, sql` and `)}`;

/** The index on `published_at` is for counting only: it supports no order and no other condition. */
export const visible = (node: { readonly publishedOnly: boolean }, alias: string, dialect: Dialect): readonly Sql[] =>
  node.publishedOnly ? [sql`${dialect.unindexed(column(alias, 'published_at'))} is not null`] : [];

/** Checks the deadline for every row of the table, or only for some; see `StillRunning`. */
const guardEvery = (alias: string, { stillRunning }: Dialect): readonly Sql[] =>
  stillRunning ? [stillRunning.everyRow(column(alias, 'id'))] : [];
export const guardSome = (alias: string, { stillRunning }: Dialect): readonly Sql[] =>
  stillRunning ? [stillRunning.someRows(column(alias, 'id'))] : [];
/** For rows that a filter makes expensive; of others some are enough, because a check takes half a microsecond. */
export const guardExpensive = (filter: PlanFilter | null, alias: string, dialect: Dialect): readonly Sql[] =>
  filter && conditionsIn(filter) >= CONDITIONS_UNWATCHED ? guardEvery(alias, dialect) : [];

export const way = (direction: 'asc' | 'desc'): Sql => (direction === 'asc' ? sql`asc` : sql`desc`);

/**
 * A column of a link table that selects or orders the rows of a list. v4's indexes on types, names and ranks alone select too little,
 * so the planner may use an index for it only where there is one of whole lists.
 */
export const listColumn = (
  { hasListIndex }: Pick<LinkPath, 'hasListIndex'>,
  alias: string,
  name: string,
  dialect: Dialect,
): Sql => (hasListIndex ? column(alias, name) : dialect.unindexed(column(alias, name)));

export const fixedConditions = (
  path: Pick<LinkPath, 'fixed' | 'hasListIndex'>,
  alias: string,
  dialect: Dialect,
): readonly Sql[] => path.fixed.map((it) => sql`${listColumn(path, alias, it.column, dialect)} = ${it.value}`);

export const condition = (filter: PlanFilter, alias: string, dialect: Dialect): Sql => {
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
      const conditions = stepConditions(step, link, target, dialect);
      // this is asked of all owners at once, so the index of lists could only be scanned: better begin with the targets that match
      const ofAll = stepConditions({ ...step, path: { ...step.path, hasListIndex: false } }, link, target, dialect);
      const some = sql`${column(alias, 'id')} in (select ${column(link, step.path.from)} from ${source}${all([...guardSome(link, dialect), ...guardSome(target, dialect), ...guardExpensive(filter.member, target, dialect), ...ofAll, condition(filter.member, target, dialect)])})`;
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

export const tableAs = (table: string, alias: string): Sql => sql`${sql.table(table)} as ${sql.id(alias)}`;

const joinTarget = (step: PlanStep, link: string, target: string): Sql =>
  sql`${tableAs(step.path.table, link)} join ${tableAs(step.table, target)} on ${column(target, 'id')} = ${column(link, step.path.to)}`;

const stepConditions = (step: PlanStep, link: string, target: string, dialect: Dialect): readonly Sql[] => [
  ...fixedConditions(step.path, link, dialect),
  ...(step.path.typeColumn === null
    ? []
    : [sql`${dialect.unindexed(column(link, step.path.typeColumn))} = ${step.uid}`]),
  ...visible(step, target, dialect),
  ...(step.seen ? [condition(step.seen, target, dialect)] : []),
];

/**
 * A sort key as one value for each entry: a to-one step leads to the entry that populating it shows, a to-many step to
 * all of them, of which the least (asc) or greatest (desc) value counts, so that no entry repeats (SO3).
 */
export const sortExpression = (key: PlanSort, alias: string, dialect: Dialect): Sql =>
  sql`${sortValue(key, alias, dialect)} ${way(key.direction)}`;

export const sortValue = (
  { steps, column: name, columnKind, direction }: PlanSort,
  alias: string,
  dialect: Dialect,
): Sql => {
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
