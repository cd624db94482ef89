/**
 * What is known of the lists that were read: how many entries they have, and which entries end at which positions, so that
 * other pages neither count all entries nor skip them again. It is valid as long as no commit can have changed it.
 */
import crypto from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { bug } from '../errors.js';
import { limits } from '../limits.js';
import type { Changes, Moment } from '../sql/changes.js';
import type { DbValue, Statement } from '../sql/dialect.js';
import { tablesIn } from '../sql/texts.js';
import type { PlanSlice } from './plan.js';
import type { PageIds } from './run.js';
import { anchorOrder, type CompiledRead } from './statements.js';

/** The first `position` entries of a list, in one order, are those up to this one. */
interface Anchor {
  readonly position: number;
  readonly id: number;
}

/** The anchors of one order. */
interface Anchors {
  /** By position. */
  all: Anchor[];
  /** Positions between two of them, at least; doubled when there are too many. */
  gap: number;
  /** Where the last page ended, for the next one. */
  last: Anchor | null;
  /** False once a page was not found by them: a range of values misses entries without one. */
  isUsable: boolean;
}

interface KnownList {
  readonly tables: readonly string[] | null;
  /** Moved on while its tables have not changed. */
  since: Moment;
  readonly total: number | null;
  /** By order. */
  readonly anchors: Map<string, Anchors>;
}

export interface Lists {
  /**
   * Reads a page, with what is known of its list.
   * @param values those of its plan.
   * @param read reads it from one snapshot, with the given values instead; called again if the list changed meanwhile.
   */
  page<Page extends PageIds>(
    compiled: CompiledRead,
    values: readonly DbValue[],
    read: (values: readonly DbValue[], isAnchored: boolean) => Promise<Page | null>,
  ): Promise<Page | null>;
  /** Entries of the list of a page, if it is known and was counted; else null. */
  total(compiled: CompiledRead, values: readonly DbValue[]): number | null;
  /** What is known of a page's list; null for a read without a slice. */
  start(compiled: CompiledRead, values: readonly DbValue[]): PageStart | null;
  /**
   * Takes note of a page that was read from its start. To be called once `changes` knows of every commit that the page may
   * show. False if the page is not right, because the list has changed meanwhile: it must be read by `page`.
   */
  finish(start: PageStart, page: PageIds): boolean;
}

/** How to read a page with what is known of its list. */
export interface PageStart {
  readonly values: readonly DbValue[];
  readonly isAnchored: boolean;
  readonly compiled: CompiledRead;
  readonly key: string;
  readonly order: string | null;
  readonly limit: number;
  readonly offset: number;
  /** What was used; null for nothing. */
  readonly list: KnownList | null;
  readonly anchors: Anchors | null;
  readonly since: Moment;
}

/** Approximate size of an anchor in memory. */
const ANCHOR_BYTES = 48;

export const newLists = (changes: Changes): Lists => {
  const lists = new LRUCache<string, KnownList>({
    maxSize: limits.knownListsBytesMax,
    // each with all the anchors that it may get
    sizeCalculation: (_list, key) => key.length + limits.anchorsMax * ANCHOR_BYTES,
  });

  /** Searched once for each statement, of which many lists have the same. */
  const tables = new WeakMap<Statement, readonly string[] | null>();
  const tablesOf = (statement: Statement): readonly string[] | null => {
    let known = tables.get(statement);
    if (known === undefined) {
      known = tablesIn([statement.sql]);
      tables.set(statement, known);
    }
    return known;
  };

  const isCurrent = (list: KnownList): boolean => changes.isUnchanged(list.tables, list.since);

  const start: Lists['start'] = (compiled, values) => {
    const { shape } = compiled;
    const { slice } = shape;
    if (!slice) return null;
    const [limit, offset] = [Number(values[slice.limit]), Number(values[slice.offset])];
    const key = keyOf(countedBy(compiled), values, slice);
    const order = anchorOrder(shape);
    const unknown = { compiled, key, order, limit, offset, since: changes.moment() };
    const list = lists.get(key);
    if (list && isCurrent(list)) {
      const anchors = order === null ? undefined : list.anchors.get(order);
      const anchor = anchors?.isUsable ? anchorBefore(anchors, offset) : null;
      const total = shape.withCount ? list.total : null;
      if (anchor || total !== null) {
        const isAnchored = anchor !== null && shape.sort.length > 0;
        const from = valuesFrom(values, slice, anchor, total);
        return { ...unknown, values: from, isAnchored, list, anchors: (anchor && anchors) ?? null };
      }
    }
    return { ...unknown, values, isAnchored: false, list: null, anchors: null };
  };

  /** Whether a range of values may have missed entries without one. */
  const isDoubtful = ({ isAnchored, limit, offset }: PageStart, { ids, total }: PageIds): boolean =>
    isAnchored && ids.length < limit && offset + ids.length !== total;

  const finish: Lists['finish'] = (it, page) => {
    const { list, order, offset } = it;
    if (!list) {
      add(it, page);
      return true;
    }
    if (isDoubtful(it, page) || !isCurrent(list)) return false;
    list.since = changes.moment();
    if (order !== null) remember(list, order, offset, page);
    return true;
  };

  /** Takes note of a page that was read without what is known. */
  const add = (start: PageStart, page: PageIds): void => {
    const { compiled, key, order, offset, since } = start;
    const { total } = page;
    const isDeep = order !== null && page.ids.length > 0 && offset >= limits.skippedRowsMax;
    if (!isDeep && (total === null || isCheaplyCounted(start, page.ids.length, total))) return;
    const known = lists.get(key);
    // a commit that was noticed meanwhile may be in what is known and not in the page
    if (known && isCurrent(known) && changes.isUnchanged(known.tables, since)) {
      if (order !== null) remember(known, order, offset, page);
      return;
    }
    const made = { tables: tablesOf(countedBy(compiled)), since, total, anchors: new Map() };
    lists.set(key, made);
    if (order !== null) remember(made, order, offset, page);
  };

  return {
    start,
    finish,
    total: (compiled, values) => {
      const { slice } = compiled.shape;
      const list = slice && lists.get(keyOf(countedBy(compiled), values, slice));
      return list && isCurrent(list) ? list.total : null;
    },
    page: async (compiled, values, read) => {
      const first = start(compiled, values);
      if (!first) return read(values, false);
      let doubted: number | null = null;
      if (first.list) {
        const page = await read(first.values, first.isAnchored);
        // what was known and what was read are of one state of the database only if nothing was committed in between
        const catchingUp = changes.catchUp();
        if (catchingUp) await catchingUp;
        if (page) {
          if (finish(first, page)) return page;
          if (isDoubtful(first, page)) doubted = page.ids.length;
        } else if (isCurrent(first.list)) return page;
      }
      const since = changes.moment();
      const page = await read(values, false);
      if (!page) return page;
      if (doubted !== null && first.anchors && doubted !== page.ids.length) first.anchors.isUsable = false;
      add({ ...first, since }, page);
      return page;
    },
  };
};

/** Whether counting again costs nothing: the entries are few, or the page is not full and tells their number (`totalOf`). @param rows of the page. */
const isCheaplyCounted = (
  { compiled: { shape, united }, limit, offset }: PageStart,
  rows: number,
  total: number,
): boolean => {
  if (shape.filter === null) return total < limits.countedRowsMax;
  // where one statement does all, it counts whatever the page holds
  return united === null && rows < limit && offset + rows === total;
};

/**
 * Lists with the same conditions have the same entries, whatever is shown of them. Names of attributes that share a table are
 * parameters of the statement, as values are.
 */
export const keyOf = (statement: Statement, values: readonly DbValue[], slice: PlanSlice): string => {
  const ofSlice = new Set([slice.limit, slice.offset, slice.after, slice.total]);
  const given = (statement.slots ?? []).flatMap(({ slot }) => (ofSlice.has(slot) ? [] : [values[slot] ?? null]));
  return `${nameOf(statement)} ${JSON.stringify(given)}`;
};

const names = new WeakMap<Statement, string>();

/** The same for statements with the same text and parameters: these are long, and every request would join and hash them. */
const nameOf = (statement: Statement): string => {
  const known = names.get(statement);
  if (known !== undefined) return known;
  const name = crypto.hash('sha256', `${statement.sql} ${JSON.stringify(statement.params)}`, 'base64');
  names.set(statement, name);
  return name;
};

/** The statement that tells a list from others. */
const countedBy = ({ whole, page, count }: CompiledRead): Statement => {
  const statement = count ?? page ?? whole;
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
const anchorBefore = ({ all, last }: Anchors, position: number): Anchor | null => {
  const found = all[countUpTo(all, position) - 1] ?? null;
  const best = last && last.position <= position && last.position > (found?.position ?? 0) ? last : found;
  return best && best.position >= limits.skippedRowsMax / 4 ? best : null;
};

const remember = (list: KnownList, order: string, offset: number, { ids }: PageIds): void => {
  const lastId = ids.at(-1);
  if (lastId === undefined) return;
  const anchors = list.anchors.get(order) ?? { all: [], gap: limits.skippedRowsMax / 4, last: null, isUsable: true };
  // few lists are read in many orders, and the last one matters
  if (!list.anchors.has(order)) list.anchors.clear();
  list.anchors.set(order, anchors);
  const anchor = { position: offset + ids.length, id: lastId };
  anchors.last = anchor;
  const { all, gap } = anchors;
  const at = countUpTo(all, anchor.position);
  const before = all[at - 1]?.position ?? 0;
  const after = all[at]?.position ?? Number.POSITIVE_INFINITY;
  if (anchor.position - before < gap || after - anchor.position < gap) return;
  all.splice(at, 0, anchor);
  if (all.length <= limits.anchorsMax) return;
  anchors.all = all.filter((_it, i) => i % 2 === 1);
  anchors.gap *= 2;
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
