/** SQL functions of ours. They are called for every row that a statement visits, so they watch the time as well. */
import type Database from 'better-sqlite3';

/** @param watch throws when the statement has passed its bound. */
export const addFunctions = (raw: Database.Database, watch: () => void): void => {
  const pure = { deterministic: true, directOnly: true } as const;
  raw.function('dovetail_fold', pure, (text) => {
    watch();
    return typeof text === 'string' ? folded(text) : text;
  });
  raw.function('dovetail_number', pure, (stored) => (stored === null ? null : String(stored)));
  raw.function('dovetail_instant', pure, instantText);
  raw.function('dovetail_epoch', pure, (stored) => {
    const epoch = epochOf(stored);
    return epoch === null ? null : String(epoch);
  });
  // the argument makes SQLite call it for each row that the column comes from
  raw.function('dovetail_still_running', { directOnly: true }, (_row) => {
    watch();
    return 1;
  });
};

/** A sigma at the end of a word is the same letter. */
const folded = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');

/** ISO text of stored milliseconds or of a date text written by hand; null when it is neither. */
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
