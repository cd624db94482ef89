/**
 * Lists in their whole order, as the ids of their entries: any page of one is a part of it, even if the database has to read
 * all entries to sort them. An order is read once a further page of its list is asked for, and kept as long as no commit has
 * touched a table that decides it.
 */
import { limits } from '../limits.js';
import { type Ready, whenReady } from '../ready.js';
import type { Changes } from '../sql/changes.js';
import type { DbValue } from '../sql/dialect.js';
import { tablesIn } from '../sql/texts.js';
import { newKept } from './kept.js';
import { keyOf } from './lists.js';
import type { ReadShape } from './plan.js';
import type { PageIds } from './run.js';
import { anchorOrder, type CompiledIds } from './statements.js';

/** A page of a list. */
export interface OrderedPage {
  readonly shape: ReadShape;
  readonly ids: CompiledIds;
  /** Those of the plan. */
  readonly values: readonly DbValue[];
  /** The most entries with which the list is worth sorting whole now; null for not at all. */
  readonly rowsMax: number | null;
}

export interface Orders {
  /**
   * The page, if the order of its list is kept, or is worth reading. To be called once `changes` knows of every commit that
   * the page has to show. Null if the page is to be read in another way.
   * @param read reads ids with the given values for the slots; null if that takes too long, which is not tried again.
   */
  page(page: OrderedPage, read: (values: readonly DbValue[]) => Ready<readonly number[] | null>): Ready<PageIds | null>;
}

/** The ids; null if they take too long to read. */
interface Order {
  readonly ids: Float64Array | null;
}

/** @param bytesMax memory for the orders. */
export const newOrders = (changes: Changes, bytesMax: number): Orders => {
  const kept = newKept<Order>(changes, { bytesMax, bytesOf: ({ ids }, key) => bytesOf(ids?.length ?? 0, key) });
  const tables = new WeakMap<CompiledIds, readonly string[] | null>();
  const tablesOf = (ids: CompiledIds): readonly string[] | null => {
    const known = tables.get(ids);
    if (known !== undefined) return known;
    const found = tablesIn([ids.statement.sql]);
    tables.set(ids, found);
    return found;
  };
  return {
    page: ({ shape, ids, values, rowsMax }, read) => {
      const { slice, withCount } = shape;
      if (!slice || !isWorthKeeping(shape, Number(values[slice.offset]))) return null;
      const pageOf = (order: Order | null): PageIds | null => {
        if (!order?.ids) return null;
        const [limit, offset] = [Number(values[slice.limit]), Number(values[slice.offset])];
        return { ids: [...order.ids.subarray(offset, offset + limit)], total: withCount ? order.ids.length : null };
      };
      const key = keyOf(ids.statement, values, slice);
      const known = kept.find(key);
      if (known) return pageOf(known);
      if (rowsMax === null || rowsMax > limits.orderedRowsMax || bytesOf(rowsMax, key) > bytesMax) return null;
      const whole = values.slice();
      // one more tells that the list is longer
      whole[slice.limit] = rowsMax + 1;
      whole[slice.offset] = 0;
      // not counted
      whole[slice.total] = rowsMax;
      const orderOf = (found: readonly number[] | null): Order | null => {
        if (!found) return { ids: null };
        return found.length > rowsMax ? null : { ids: Float64Array.from(found) };
      };
      const reading = kept.compute(key, tablesOf(ids), () => whenReady(read(whole), orderOf));
      return whenReady(reading, pageOf);
    },
  };
};

/** Near its beginning, an index gives a page as fast. */
const isWorthKeeping = (shape: ReadShape, offset: number): boolean =>
  shape.sort.length > 0 && (offset >= limits.skippedRowsMax || anchorOrder(shape) === null);

const bytesOf = (entries: number, key: string): number =>
  entries * Float64Array.BYTES_PER_ELEMENT + key.length + ORDER_BYTES;

/** Approximate overhead of an order, in bytes. */
const ORDER_BYTES = 256;
