/**
 * Dovetail's SQL functions. Some are called for every row that a statement visits, so they also enforce its deadline.
 */
import type Database from 'better-sqlite3';

/**
 * @param checkDeadline throws once the statement is past its deadline.
 * @param countChange called for each row that a statement is about to change; throws if it may not change so many.
 */
export const addFunctions = (
  raw: Database.Database,
  checkDeadline: () => void,
  countChange: () => void = () => undefined,
): void => {
  const pure = { deterministic: true, directOnly: true } as const;
  raw.function('dovetail_fold', pure, (text) => {
    checkDeadline();
    return typeof text === 'string' ? foldCase(text) : text;
  });
  raw.function('dovetail_number', pure, (stored) => (stored === null ? null : String(stored)));
  raw.function('dovetail_instant', pure, instantText);
  raw.function('dovetail_epoch', pure, (stored) => {
    const epoch = epochOf(stored);
    return epoch === null ? null : String(epoch);
  });
  // the column passed as its argument makes SQLite call it once per row
  raw.function('dovetail_still_running', { directOnly: true }, (_row) => {
    checkDeadline();
    return 1;
  });
  raw.function('dovetail_may_change', { directOnly: true }, (_row) => {
    countChange();
    return 1;
  });
};

/** Final sigma is the same letter. */
const foldCase = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');

/** Stored milliseconds, or a date written as text by hand, as ISO text; null for anything else. */
const instantText = (stored: unknown): string | null => {
  const epoch = epochOf(stored);
  return epoch === null ? null : new Date(epoch).toISOString();
};

const epochOf = (stored: unknown): number | null => {
  const epoch =
    typeof stored === 'number'
      ? stored
      : typeof stored === 'string'
        ? Date.parse(/[zZ]|[+-]\d\d:?\d\d$/.test(stored) ? stored : `${stored}Z`)
        : Number.NaN;
  return Number.isFinite(new Date(epoch).getTime()) ? epoch : null;
};
