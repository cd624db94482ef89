/** Reads that fail in the server if their result must not be sent, so that a commit may be sent behind them. */
import { LRUCache } from 'lru-cache';
import { limits } from '../../limits.js';
import type { Statement } from '../dialect.js';

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
