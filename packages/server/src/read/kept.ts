/**
 * Values that were read from the database, kept as long as no commit can have changed them. A value may be newer than the
 * moment that it is kept under, which was read before it, but never older.
 */
import { LRUCache } from 'lru-cache';
import type { Ready } from '../ready.js';
import type { Changes, Moment } from '../sql/changes.js';

export interface Kept<T> {
  /** Whether there is a value, current or not. */
  has(key: string): boolean;
  /**
   * The value, if it is as of the last `changes.catchUp()` or later: call that first, for every request, so that nobody
   * gets a value older than a commit that was finished before.
   */
  find(key: string): T | undefined;
  /**
   * Joins a computation of the value that is running, if its result will be as good as a new one, or begins one. Null is
   * not kept. To be called right after `find`.
   * @param tables all tables that it reads; null for any.
   */
  compute(key: string, tables: readonly string[] | null, read: () => Ready<T | null>): Ready<T | null>;
  /** How often a value was found, a computation joined, and one begun. */
  readonly counts: Readonly<KeptCounts>;
}

export interface KeptCounts {
  found: number;
  joined: number;
  computed: number;
}

interface Entry<V> {
  readonly value: V;
  readonly tables: readonly string[] | null;
  /** Moved on while its tables have not changed. */
  since: Moment;
}

export interface KeptOptions<T> {
  readonly bytesMax: number;
  readonly bytesOf: (value: T, key: string) => number;
}

export const newKept = <T>(changes: Changes, { bytesMax, bytesOf }: KeptOptions<T>): Kept<T> => {
  const entries = new LRUCache<string, Entry<T>>({
    maxSize: bytesMax,
    sizeCalculation: ({ value }, key) => bytesOf(value, key),
  });
  const running = new Map<string, Entry<Promise<T | null>>>();
  const counts: KeptCounts = { found: 0, joined: 0, computed: 0 };

  const isCurrent = (entry: Entry<unknown>): boolean => {
    if (!changes.isUnchanged(entry.tables, entry.since)) return false;
    entry.since = changes.moment();
    return true;
  };

  return {
    has: (key) => entries.has(key),
    find: (key) => {
      const entry = entries.get(key);
      if (!entry || !isCurrent(entry)) return undefined;
      counts.found += 1;
      return entry.value;
    },
    compute: (key, tables, read) => {
      const other = running.get(key);
      if (other && changes.isUnchanged(other.tables, other.since)) {
        counts.joined += 1;
        return other.value;
      }
      counts.computed += 1;
      const since = changes.moment();
      const keep = (made: T | null): T | null => {
        // one that was begun later may have been kept already
        if (made !== null && (entries.peek(key)?.since ?? 0) <= since) entries.set(key, { value: made, tables, since });
        return made;
      };
      const reading = read();
      if (!(reading instanceof Promise)) return keep(reading);
      const value = reading.then(keep).finally(() => {
        if (running.get(key)?.value === value) running.delete(key);
      });
      running.set(key, { value, tables, since });
      return value;
    },
    counts,
  };
};
