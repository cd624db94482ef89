/** Copies of a whole SQLite file, made while others use it, and their way back. */
import fs from 'node:fs';
import Database from 'better-sqlite3';

/** Pages copied before other work of the process has its turn. */
const PAGES_PER_STEP = 1000;

/**
 * Copies a database to a new file, as it is at this moment: what is written meanwhile is not in the copy. Readers and writers
 * do not wait for it.
 */
export const copyDatabase = async (from: string, to: string, onProgress: (share: number) => void): Promise<void> => {
  const source = new Database(from, { readonly: true, fileMustExist: true });
  try {
    // an open snapshot: without one the copy would begin anew whenever another process commits
    source.exec('begin');
    source.prepare('select count(*) from sqlite_schema').get();
    await source.backup(to, {
      progress: ({ totalPages, remainingPages }) => {
        onProgress(totalPages === 0 ? 0 : 1 - remainingPages / totalPages);
        return PAGES_PER_STEP;
      },
    });
  } finally {
    source.close();
  }
  // one file, whole by itself
  const copy = new Database(to);
  copy.pragma('journal_mode = delete');
  copy.close();
};

/** What SQLite finds wrong with a file; null if nothing is. */
export const faultOfDatabase = (file: string): string | null => {
  try {
    const db = new Database(file, { readonly: true, fileMustExist: true });
    try {
      const [first] = db.pragma('integrity_check(1)') as readonly { readonly integrity_check: string }[];
      return first?.integrity_check === 'ok' ? null : (first?.integrity_check ?? 'no answer');
    } finally {
      db.close();
    }
  } catch (fault) {
    return (fault as Error).message;
  }
};

/** The URLs of uploads that are kept in the project's folder. */
export const localUploads = (file: string): readonly string[] => {
  const db = new Database(file, { readonly: true, fileMustExist: true });
  try {
    if (!db.prepare("select 1 from sqlite_schema where type = 'table' and name = 'files'").get()) return [];
    return db.prepare("select url from files where provider = 'local'").pluck().all() as string[];
  } finally {
    db.close();
  }
};

/** Another program has the database open. */
export class DatabaseInUse extends Error {}

/** What SQLite keeps beside a database. Beside another database they would be played into it, and damage it. */
const journals = ['-wal', '-shm', '-journal'];

/** The journal beside a file, without which it is not whole; null if there is none. */
export const journalOf = (file: string): string | null =>
  ['-wal', '-journal']
    .map((suffix) => file + suffix)
    .find((it) => (fs.statSync(it, { throwIfNoEntry: false })?.size ?? 0) > 0) ?? null;

/**
 * Puts a copy in the place of a database, which becomes whole without its journal and gets another name; a damaged or missing one
 * leaves its journal, which gets that name too. If the copy cannot take its place, all is as before. Returns the files that were there,
 * as they are named now. Throws `DatabaseInUse`.
 */
export const replaceDatabase = (file: string, copy: string, aside: string): readonly string[] => {
  if (fs.existsSync(file)) endJournal(file);
  const found = journals.filter((suffix) => fs.existsSync(file + suffix));
  const moved: string[] = [];
  const isThere = fs.existsSync(file);
  try {
    for (const suffix of found) {
      fs.renameSync(file + suffix, aside + suffix);
      moved.push(suffix);
    }
    if (isThere) nameAside(file, aside);
    fs.renameSync(copy, file);
  } catch (fault) {
    if (fs.existsSync(file)) fs.rmSync(aside, { force: true });
    else if (isThere) fs.renameSync(aside, file);
    for (const suffix of moved) fs.renameSync(aside + suffix, file + suffix);
    throw fault;
  }
  return [...(isThere ? [''] : []), ...found].map((suffix) => aside + suffix);
};

/** It has both names until the copy takes its place: if this process is killed before, the next start must not find none, and make one. */
const nameAside = (file: string, aside: string): void => {
  try {
    fs.linkSync(file, aside);
  } catch {
    // a file system without links
    fs.renameSync(file, aside);
  }
};

const endJournal = (file: string): void => {
  try {
    const db = new Database(file, { timeout: 0 });
    try {
      db.pragma('wal_checkpoint(truncate)');
      // only with no other connection
      if (db.pragma('journal_mode = delete', { simple: true }) !== 'delete') throw new DatabaseInUse();
    } finally {
      db.close();
    }
  } catch (fault) {
    const { code } = fault as { readonly code?: unknown };
    if (fault instanceof DatabaseInUse || String(code).startsWith('SQLITE_BUSY')) throw new DatabaseInUse();
  }
};

/** Copies a database beside the place where it belongs, with the permissions of the file there. Returns the name of the copy. */
export const copyBeside = (from: string, file: string): string => {
  const part = `${file}.part`;
  fs.copyFileSync(from, part, fs.constants.COPYFILE_FICLONE);
  // a backup is private, while a server may run as another user
  fs.chmodSync(part, fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0o666 & ~process.umask());
  const descriptor = fs.openSync(part, 'r+');
  try {
    fs.fsyncSync(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
  return part;
};
