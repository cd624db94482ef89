/**
 * A SQLite file that belongs to somebody else, read without changing a byte of it or of the folder it is in.
 *
 * A file with a rollback journal is opened read-only, and each statement holds its lock for as long as it runs, so that
 * another program's writes wait for no more than that. Readers of a file in WAL mode write to the files beside it, so it is copied,
 * journal and all, to the temporary folder first; so is a file with the journal of a transaction that has not ended.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { ReadProgram, Rows, Statement } from '../dialect.js';
import type { FrozenDb } from '../inspection.js';
import { sqliteDialect } from './dialect.js';
import { sizeOf, whereOpened } from './file.js';
import { addFunctions } from './functions.js';
import { sqliteInspection } from './inspection.js';

/** Throws an error for the user if the file cannot be read. */
export const openFrozenSqlite = async (given: string): Promise<FrozenDb> => {
  const file = whereOpened(given);
  const journalMode = journalModeOf(file);
  const copy = journalMode === 'wal' || hasJournal(file) ? await copyOf(file) : null;
  const remove = (): void => {
    if (copy) fs.rmSync(path.dirname(copy), { recursive: true, force: true });
  };
  try {
    const raw = copy
      ? new Database(copy)
      : new Database(file, { readonly: true, fileMustExist: true, timeout: LOCK_MS });
    addFunctions(raw, () => undefined);
    const run = ({ sql, params }: Statement): Rows =>
      raw
        .prepare(sql)
        .raw()
        .all(...params) as Rows;
    return {
      dialect: sqliteDialect,
      place: given,
      journalMode,
      inspection: sqliteInspection,
      read: async (begin) => runProgram(begin(), run),
      close: async () => {
        raw.close();
        remove();
      },
    };
  } catch (fault) {
    remove();
    throw fault;
  }
};

const runProgram = <T>(program: ReadProgram<T>, run: (statement: Statement) => Rows): T => {
  let step = program.next();
  while (!step.done) step = program.next(step.value.map(run));
  return step.value;
};

/** How long to wait for the lock of another program's commit. */
const LOCK_MS = 5000;

/** By the file's header. Throws if it is not a SQLite file. */
const journalModeOf = (file: string): 'wal' | 'delete' => {
  const header = Buffer.alloc(20);
  const descriptor = fs.openSync(file, 'r');
  try {
    const bytes = fs.readSync(descriptor, header, 0, header.length, 0);
    // SQLite takes an empty file for an empty database
    if (bytes > 0 && !header.toString('latin1').startsWith('SQLite format 3\0'))
      throw new Error('it is not a SQLite database');
    return header[18] === 2 ? 'wal' : 'delete';
  } finally {
    fs.closeSync(descriptor);
  }
};

/**
 * The journal of a transaction that is running, or that a crashed program has not finished. It is looked at without SQLite,
 * which changes the owner of a journal that it opens as root.
 */
const hasJournal = (file: string): boolean => beginningOf(`${file}-journal`).startsWith('d9d505f920a163d7');

/** Copies a file and its journal as they were at one moment; tries again while another program moves the journal into the file. */
const copyOf = async (file: string): Promise<string> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-copy-'));
  const copy = path.join(dir, path.basename(file));
  try {
    const { bavail, bsize } = fs.statfsSync(dir);
    const bytes = sizeOf(file) + sizeOf(`${file}-wal`) + sizeOf(`${file}-journal`);
    if (bavail * bsize < bytes)
      throw new Error(
        `it must be copied, ${bytes} bytes, and ${os.tmpdir()} has no room: set TMPDIR to a folder that has`,
      );
    for (let tries = 1; tries <= COPIES_MAX; tries++) {
      const before = momentOf(file);
      for (const ending of ['', '-wal', '-journal'])
        if (fs.existsSync(file + ending)) fs.copyFileSync(file + ending, copy + ending, fs.constants.COPYFILE_FICLONE);
        else fs.rmSync(copy + ending, { force: true });
      // files keep their permissions, which may not include ours to write
      for (const ending of ['', '-wal', '-journal'])
        if (fs.existsSync(copy + ending)) fs.chmodSync(copy + ending, 0o600);
      if (momentOf(file) === before) return copy;
      await setTimeout(COPY_PAUSE_MS * tries);
    }
    throw new Error('another program keeps writing to it; try again while it is quiet, or adopt a backup');
  } catch (fault) {
    fs.rmSync(dir, { recursive: true, force: true });
    throw fault;
  }
};

const COPIES_MAX = 8;
const COPY_PAUSE_MS = 50;

/**
 * Changes whenever pages are written to the file, or the journal begins anew: its first bytes are new salts then. What is only
 * appended to the journal does not matter, because SQLite reads it up to the last whole transaction.
 */
const momentOf = (file: string): string => {
  const { mtimeNs, size, ino } = fs.statSync(file, { bigint: true });
  return [ino, mtimeNs, size, beginningOf(`${file}-wal`), sizeOf(`${file}-journal`)].join(' ');
};

const beginningOf = (file: string): string => {
  if (!fs.existsSync(file)) return '';
  const bytes = Buffer.alloc(32);
  const descriptor = fs.openSync(file, 'r');
  try {
    fs.readSync(descriptor, bytes, 0, bytes.length, 0);
    return bytes.toString('hex');
  } finally {
    fs.closeSync(descriptor);
  }
};
