/**
 * Which reads are small (`PlannedRead.isSmall`): their plan bounds what they look at, whatever the database holds. They read one
 * entry by its id, entries by given ids, or a page in the order of ids or of one index near its beginning or a known entry; and
 * all that these show is part of the same statement, which renders no more than `limits.inlineRowsMax` of a list.
 *
 * The plan does not bound the rows that are left out (drafts before the page, links of a list that is sorted) nor the length of texts. Every
 * loop of a statement looks at the time (`StillRunning`), so these end a small read, and it is left to the threads.
 */
import { limits } from '../limits.js';
import type { DbValue } from '../sql/dialect.js';
import type { PlanNode, ReadShape } from './plan.js';
import { anchorOrder, type CompiledRead, isThroughRelation } from './statements.js';

/** @param values those of the plan. @param ids that are given. @param counted the number of entries on all pages, if it was counted before. */
export const isSmallRead = (
  compiled: CompiledRead,
  values: readonly DbValue[],
  ids: readonly number[],
  counted: number | null,
): boolean => {
  const { shape, whole } = compiled;
  if (!whole || !isSmallPage(shape, values, counted)) return false;
  const entries = shape.slice ? Number(values[shape.slice.limit]) : ids.length;
  return entries * shownWithEach(shape) <= limits.smallReadEntriesMax;
};

/** Whether the ids of a page are found without reading many rows, and few are counted. */
export const isSmallPage = (shape: ReadShape, values: readonly DbValue[], counted: number | null): boolean => {
  const { slice, filter, withCount } = shape;
  if (!slice) return true;
  if (filter !== null || anchorOrder(shape) === null || Number(values[slice.offset]) > limits.skippedRowsMax)
    return false;
  return !withCount || values[slice.total] !== null || (counted !== null && counted < limits.countedRowsMax);
};

const knownShapes = new WeakMap<ReadShape, number>();

/** The most entries that one of the page can show, itself included. */
const shownWithEach = (shape: ReadShape): number => {
  const known = knownShapes.get(shape);
  if (known !== undefined) return known;
  const shown: number[] = [];
  // children come before their parents
  for (const node of shape.nodes) shown.push(looksBeyond(node) ? Number.POSITIVE_INFINITY : entriesOf(node, shown));
  const most = shown.at(-1) ?? Number.POSITIVE_INFINITY;
  knownShapes.set(shape, most);
  return most;
};

const entriesOf = ({ edges }: PlanNode, shown: readonly number[]): number =>
  edges.reduce((sum, { shape, targets }) => {
    const each = Math.max(1, ...targets.map(({ node }) => shown[node]!));
    return sum + (shape === 'one' ? each : limits.inlineRowsMax * each);
  }, 1);

/** Whether it is looked up, for all entries at once, which of them are related to others, or sorted by these. */
const looksBeyond = ({ filter, sort }: PlanNode): boolean =>
  (filter !== null && isThroughRelation(filter)) || sort.some(({ steps }) => steps.length > 0);
