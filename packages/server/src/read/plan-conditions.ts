/** Filters and sorts in a plan: what they mean, as the statements need it. */
import { scalarTypes } from '../model/attributes.js';
import type { EntryType } from '../model/model.js';
import { type OperatorName, operandKind, operators } from '../query/operators.js';
import type { Filter, SortKey, Step } from '../query/selection.js';
import type { DbValue } from '../sql/dialect.js';
import type { BlankOperands, PlanFilter, PlanSort, PlanStep } from './plan.js';

/** The values of a plan that is being made, and where they are from. */
export interface Given {
  readonly values: DbValue[];
  readonly operands: BlankOperands[];
}

export const isPublishedOnly = (type: EntryType, state: 'live' | 'preview'): boolean =>
  type.draftAndPublish && state === 'live';

/**
 * Pushes negations down to the comparisons: "not (some related entry is X)" of v4's dialect means "some related entry is
 * not X" (FL5, to-many relations). Adds the values of the conditions.
 */
export const planFilter = (filter: Filter, given: Given, negated = false): PlanFilter => {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const members = filter.members.map((it) => planFilter(it, given, negated));
      return { kind: (filter.kind === 'and') === negated ? 'or' : 'and', members };
    }
    case 'not':
      return planFilter(filter.member, given, !negated);
    case 'compare': {
      const compare = planCompare(filter, given);
      return negated ? { kind: 'not', member: compare } : compare;
    }
    case 'related': {
      const member = planFilter(filter.member, given, negated);
      const { seen } = filter.step;
      const step = { ...planStep(filter.step), seen: seen && planFilter(seen, given) };
      return { kind: 'related', step, member, orNone: onNullRow(member) === true };
    }
  }
};

const planCompare = (
  { attribute, operator, values, blanks }: Extract<Filter, { kind: 'compare' }>,
  given: Given,
): PlanFilter => {
  const columnKind = scalarTypes[attribute.type].column;
  const compare = { kind: 'compare', column: attribute.column, columnKind } as const;
  const slot = given.values.length;
  if (operators[operator].takes === 'flag') {
    const isNull = (operator === '$null') === (values[0] === true);
    return { ...compare, operator: isNull ? '$null' : '$notNull', operands: { kind: columnKind, slot, count: 0 } };
  }
  given.values.push(...operandsOf(operator, values));
  const operands = { kind: operandKind(operator, columnKind, values), slot, count: given.values.length - slot };
  if (blanks.some((it) => it !== null)) given.operands.push({ attribute, operator, operands, blanks });
  return { ...compare, operator, operands };
};

/** The values of a condition as they are bound. */
export const operandsOf = (operator: OperatorName, values: readonly DbValue[]): readonly DbValue[] =>
  operators[operator].takes === 'list' ? padded(values) : values;

/** Padded with its last value to a power of two, so that few distinct SQL texts result. */
const padded = (values: readonly DbValue[]): readonly DbValue[] => {
  const last = values.at(-1);
  if (last === undefined) return values;
  const length = 2 ** Math.ceil(Math.log2(values.length));
  return [...values, ...Array.from({ length: length - values.length }, () => last)];
};

/** The value of a condition for a row of NULLs; null for SQL's unknown. */
const onNullRow = (filter: PlanFilter): boolean | null => {
  switch (filter.kind) {
    case 'compare':
      if (filter.operator === '$null') return true;
      return filter.operator === '$notNull' ? false : null;
    case 'not': {
      const member = onNullRow(filter.member);
      return member === null ? null : !member;
    }
    case 'and':
    case 'or': {
      const deciding = filter.kind === 'or';
      const members = filter.members.map(onNullRow);
      return members.includes(deciding) ? deciding : members.includes(null) ? null : !deciding;
    }
    case 'related':
      return filter.orNone ? true : null;
  }
};

const planStep = ({ attribute, target, state }: Step): PlanStep => ({
  path: attribute.path,
  uid: target.uid,
  table: target.table,
  publishedOnly: isPublishedOnly(target, state),
  shape: attribute.shape,
  seen: null,
});

export const planSort = ({ steps, attribute, direction }: SortKey, isIndexed = false): PlanSort => ({
  steps: steps.map(planStep),
  column: attribute.column,
  columnKind: scalarTypes[attribute.type].column,
  direction,
  isIndexed,
});

/** The order of a list. Populated entries are few: their orders need no index. */
export const planOrder = (sort: readonly SortKey[], { indexes }: EntryType): readonly PlanSort[] =>
  sort.map((key, place) =>
    planSort(
      key,
      indexes.some((it) => isOrderOf(it, sort.slice(0, place + 1))),
    ),
  );

/** Whether the index begins with what is sorted by, in the same directions or in all the opposite ones. */
const isOrderOf = (index: EntryType['indexes'][number], sort: readonly SortKey[]): boolean => {
  const isReversed = index[0]?.direction !== sort[0]?.direction;
  return sort.every(({ steps, attribute, direction }, place) => {
    const key = index[place];
    return steps.length === 0 && key?.attribute.name === attribute.name && (key.direction !== direction) === isReversed;
  });
};
