/** Statements kept by what determines their texts, for each site by itself: compiling one takes longer than running it. */
import { LRUCache } from 'lru-cache';
import { limits } from '../limits.js';
import type { Dialect, Sql, Statement } from './dialect.js';

const kept = new WeakMap<Dialect, LRUCache<string, Statement>>();

/**
 * The statement of a query, compiled once for each key. Values that the key does not determine must be slots or ids.
 * @param key distinct for distinct queries, wherever they are made: its first word says where.
 */
export const keptStatement = (dialect: Dialect, key: string, query: () => Sql): Statement => {
  let ofDialect = kept.get(dialect);
  if (!ofDialect) {
    ofDialect = new LRUCache<string, Statement>({ max: limits.statementsMax });
    kept.set(dialect, ofDialect);
  }
  const known = ofDialect.get(key);
  if (known) return known;
  const made = dialect.compile(query());
  ofDialect.set(key, made);
  return made;
};
