/**
 * When SQLite's journal (`-wal`) is copied into the file, and when it begins anew. SQLite would do both within a commit, and the second
 * only once all of it is in the file and nobody reads it, which never happens under load.
 */
import { limits } from '../../limits.js';

/** Its pages, and how many of them are in the file, too. Both are -1 if the file has no such journal. */
export interface Journal {
  readonly pages: number;
  readonly copied: number;
}

/** @param look at the journal as it is. */
export const newJournalKeeper = (look: () => Journal) => {
  let journal: Journal = { pages: 0, copied: 0 };
  /** Pages that it had when the last checkpoint began. */
  let pagesSeen = 0;
  /** Pages above which it is to begin anew. */
  let pagesMax: number = limits.sqliteJournalPages;
  let isCopying = false;

  const isUrgent = (): boolean => journal.pages > limits.sqliteJournalPagesMax;
  const hasBegunAnew = (): void => {
    journal = { pages: 0, copied: 0 };
    pagesSeen = 0;
    pagesMax = limits.sqliteJournalPages;
  };
  /** To when the journal is somewhat longer. */
  const postponeRestart = (): void => {
    pagesMax = journal.pages + (isUrgent() ? limits.sqliteJournalPages : limits.sqliteCheckpointPages);
  };
  return {
    /** @param checkpoint copies what it can, without holding up writes; null if that is not wanted. */
    onCommit: async (checkpoint: (() => Promise<void>) | null): Promise<void> => {
      if (!checkpoint) return;
      const found = look();
      if (found.pages < journal.pages) hasBegunAnew();
      journal = found;
      if (isCopying || journal.pages - pagesSeen < limits.sqliteCheckpointPages) return;
      pagesSeen = journal.pages;
      isCopying = true;
      try {
        await checkpoint();
      } finally {
        isCopying = false;
      }
    },
    /** Soon after a checkpoint, when little is left to copy: writes and reads wait for it. */
    isRestartDue: (): boolean =>
      journal.pages > pagesMax &&
      (isUrgent() || (!isCopying && journal.pages - journal.copied < limits.sqliteCheckpointPages / 2)),
    isUrgent,
    /** @param isDone false if readers were in the way, or it failed. */
    onRestart: (isDone: boolean): void => (isDone ? hasBegunAnew() : postponeRestart()),
  };
};
