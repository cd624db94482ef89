/**
 * What is known of the lists that were read: how many entries they have, and which entries end at which positions, so that
 * other pages neither count all entries nor skip them again. It is valid as long as no commit can have changed it.
 */
import { LRUCache } from 'lru-cache';
import { bug } from '../errors.js';
import { limits } from '../limits.js';
import type { Changes, Moment } from '../sql/changes.js';
import type { DbValue, Statement } from '../sql/dialect.js';
import { tablesIn } from '../sql/texts.js';
import type { Executed } from './execute.js';
import type { PlanSlice } from './plan.js';
import type { CompiledRead } from './statements.js';

/** The first `position` entries of a list in the order of ids are those up to this one. */
interface Anchor {
  readonly position: number;
  readonly id: number;
}

interface KnownList {
  readonly tables: readonly string[] | null;
  /** Moved on while its tables have not changed. */
  since: Moment;
  total: number | null;
  /** By position. */
  anchors: Anchor[];
  /** Positions between two anchors, at least; doubled when there are too many. */
  gap: number;
  /** Where the last page ended, for the next one. */
  last: Anchor | null;
}

export interface Lists {
  /**
   * Reads a page, with what is known of its list.
   * @param values those of its plan.
   * @param read reads it from one snapshot, with the given values instead; called again if the list changed meanwhile.
   */
  page(
    compiled: CompiledRead,
    values: readonly DbValue[],
    read: (values: readonly DbValue[]) => Promise<Executed | null>,
  ): Promise<Executed | null>;
}

export const newLists = (changes: Changes): Lists => {
  const lists = new LRUCache<string, KnownList>({ max: limits.knownListsMax });

  const isCurrent = (list: KnownList): boolean => changes.isUnchanged(list.tables, list.since);

  return {
    page: async (compiled, values, read) => {
      const { shape } = compiled;
      const { slice } = shape;
      if (!slice) return read(values);
      const offset = Number(values[slice.offset]);
      const key = keyOf(compiled, values);
      const list = lists.get(key);
      const isInOrder = shape.sort.length === 0;
      if (list && isCurrent(list)) {
        const anchor = isInOrder ? anchorBefore(list, offset) : null;
        const total = shape.withCount ? list.total : null;
        if (anchor || total !== null) {
          const page = await read(valuesFrom(values, slice, anchor, total));
          // what was known and what was read are of one state of the database only if nothing was committed in between
          const catchingUp = changes.catchUp();
          if (catchingUp) await catchingUp;
          if (isCurrent(list)) {
            list.since = changes.moment();
            if (page && isInOrder) remember(list, offset, page);
            return page;
          }
        }
      }
      const since = changes.moment();
      const page = await read(values);
      if (!page) return page;
      const { total } = page;
      const isDeep = isInOrder && page.rows > 0 && offset >= limits.skippedRowsMax;
      if (isDeep || (total !== null && (shape.filter !== null || total >= limits.countedRowsMax))) {
        const made = {
          tables: tablesIn([countedBy(compiled).sql]),
          since,
          total,
          anchors: [],
          gap: limits.skippedRowsMax / 4,
          last: null,
        };
        lists.set(key, made);
        if (isInOrder) remember(made, offset, page);
      }
      return page;
    },
  };
};

/** Lists with the same conditions have the same entries, whatever is shown of them. */
const keyOf = (compiled: CompiledRead, values: readonly DbValue[]): string => {
  const { slice } = compiled.shape;
  const statement = countedBy(compiled);
  const ofSlice = new Set(slice && [slice.limit, slice.offset, slice.after, slice.total]);
  const given = (statement.slots ?? []).flatMap(({ slot }) => (ofSlice.has(slot) ? [] : [values[slot] ?? null]));
  return `${statement.sql} ${JSON.stringify(given)}`;
};

/** The statement that tells a list from others. */
const countedBy = ({ page, count }: CompiledRead): Statement => {
  const statement = count ?? page;
  if (!statement) throw bug('lists.without-statement', {});
  return statement;
};

const valuesFrom = (
  values: readonly DbValue[],
  slice: PlanSlice,
  anchor: Anchor | null,
  total: number | null,
): readonly DbValue[] => {
  const from = values.slice();
  from[slice.total] = total;
  if (!anchor) return from;
  from[slice.offset] = Number(values[slice.offset]) - anchor.position;
  from[slice.after] = anchor.id;
  return from;
};

/** The last anchor up to the position; null if it saves little. */
const anchorBefore = ({ anchors, last }: KnownList, position: number): Anchor | null => {
  const found = anchors[countUpTo(anchors, position) - 1] ?? null;
  const best = last && last.position <= position && last.position > (found?.position ?? 0) ? last : found;
  return best && best.position >= limits.skippedRowsMax / 4 ? best : null;
};

const remember = (list: KnownList, offset: number, { rows, lastId }: Executed): void => {
  if (lastId === null) return;
  const anchor = { position: offset + rows, id: lastId };
  list.last = anchor;
  const { anchors } = list;
  const at = countUpTo(anchors, anchor.position);
  const before = anchors[at - 1]?.position ?? 0;
  const after = anchors[at]?.position ?? Number.POSITIVE_INFINITY;
  if (anchor.position - before < list.gap || after - anchor.position < list.gap) return;
  anchors.splice(at, 0, anchor);
  if (anchors.length <= limits.anchorsMax) return;
  list.anchors = anchors.filter((_it, i) => i % 2 === 1);
  list.gap *= 2;
};

/** How many anchors have this position or one before it. */
const countUpTo = (anchors: readonly Anchor[], position: number): number => {
  let low = 0;
  let high = anchors.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (anchors[middle]!.position <= position) low = middle + 1;
    else high = middle;
  }
  return low;
};
