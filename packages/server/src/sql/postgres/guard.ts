/** Statements that fail in the server if what is sent behind them must not happen, such as a commit. */
import { LRUCache } from 'lru-cache';
import { limits } from '../../limits.js';
import type { Counted, Statement } from '../dialect.js';
import { newJoinedTexts, numberOf, renumbered } from './parameters.js';

/** The SQLSTATE with which they fail: division_by_zero. */
export const GUARD_CODE = '22012';

/** Characters of a response around the texts of its rows. */
const envelopeMax = 1000;

/** The statement, which fails if it finds no text, or more than a response may contain; null if that would not be enough. */
export const guarded = ({ onlyTexts, ...statement }: Statement): Statement | null => {
  if (onlyTexts === undefined) return null;
  const key = `${onlyTexts.column} ${onlyTexts.columns} ${statement.sql}`;
  const text = texts.get(key) ?? guardedText(statement.sql, onlyTexts);
  texts.set(key, text);
  return { ...statement, sql: text };
};

const texts = new LRUCache<string, string>({ max: limits.statementsMax });

const guardedText = (text: string, { column, columns }: NonNullable<Statement['onlyTexts']>): string => {
  const names = Array.from({ length: columns }, (_none, i) => `c${i + 1}`);
  const bytes = `(select coalesce(sum(octet_length(c${column})), 0) from found)`;
  const max = limits.responseCharactersMax - envelopeMax;
  return `with found(${names.join(', ')}) as materialized (${text}) select * from found where 1 / (${bytes} between 1 and ${max})::int4 = 1`;
};

// ---- what was asked before

const unchangedTexts = newJoinedTexts();

/** Fails unless each query finds as many rows as before. */
export const unchanged = (counted: readonly Counted[]): Statement => {
  const key = counted.map(({ query }) => numberOf(query.sql)).join();
  const text = unchangedTexts.get(key) ?? unchangedText(counted);
  unchangedTexts.set(key, text);
  const params = counted.flatMap(({ query, rows }) => [...query.params, rows]);
  return { sql: text, params, ids: [], isGuard: true };
};

const unchangedText = (counted: readonly Counted[]): string => {
  let before = 0;
  const conditions = counted.map(({ query: { sql, params } }) => {
    const query = renumbered(sql, before);
    before += params.length + 1;
    return `(select count(*) from (${query}) q) = $${before}::int4`;
  });
  return `select 1 / (${conditions.join(' and ')})::int4`;
};
