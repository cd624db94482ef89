/** Claims on files and folders that a process holds until it exits: operating system locks, by way of SQLite. */
import fs from 'node:fs';
import Database from 'better-sqlite3';

export interface Claim {
  release(): void;
}

/**
 * Claims the file, or what a link leads to, until this process exits. The claim is an operating system lock on an empty file
 * next to it, so it is released even after a crash. Null if another process holds it.
 */
export const claimFile = (file: string): Claim | null =>
  claim(claimOf(fs.existsSync(file) ? fs.realpathSync(file) : file), 0);

const claim = (name: string, waitMsMax: number): Claim | null => {
  try {
    const lock = new Database(name, { timeout: waitMsMax });
    lock.pragma('journal_mode = memory');
    lock.exec('begin exclusive');
    held.add(lock);
    return {
      release: () => {
        held.delete(lock);
        lock.close();
      },
    };
  } catch (fault) {
    // if the file cannot be created, other processes cannot be detected
    return (fault as { readonly code?: unknown }).code === 'SQLITE_BUSY' ? null : { release: () => undefined };
  }
};

const TURN_MS_MAX = 10_000;

/** Does the work when no other process does any for this file; after some seconds all the same, because one may hang. */
export const takeTurn = <T>(file: string, work: () => T): T => {
  const name = `${file}-writing`;
  const turn = claim(name, TURN_MS_MAX);
  try {
    return work();
  } finally {
    turn?.release();
    // others may wait for this one, and yet others make it anew: both find the work done
    if (turn) fs.rmSync(name, { force: true });
  }
};

/** The empty file that carries the lock. */
export const claimOf = (file: string): string => `${file}-serving`;

/** Referenced here so that the garbage collector does not close them. */
const held = new Set<Database.Database>();
