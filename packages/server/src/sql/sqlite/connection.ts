/** One connection to a SQLite file: its prepared statements, and whether it can still be used after an error. */
import Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { issue, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Rows, Statement } from '../dialect.js';
import { kindOf } from './faults.js';
import { addFunctions } from './functions.js';
import type { Journal } from './journal.js';

/**
 * The time at which work must stop, in milliseconds of `performance.now()`, and the milliseconds it was given, for the
 * message.
 */
export interface Deadline {
  readonly at: number;
  readonly ms: number;
  /** Rows up to which a statement may read to change them; it may take its time with more elsewhere. Default: all. */
  readonly changesMax?: number;
}

export const deadlineIn = (ms: number, now = performance.now()): Deadline => ({ at: now + ms, ms });
export const earlier = (one: Deadline, other: Deadline): Deadline => (one.at <= other.at ? one : other);
export const tooSlow = ({ ms }: Deadline): Refusal => new Refusal(issue('read.too-slow', [], { max: ms }));

let begun = 0;
/** Statements that connections of this thread have begun. */
export const statementsHere = (): number => begun;

export interface Connection {
  /** Rows of a statement; none for one that returns nothing. Throws `Refusal` past its deadline. */
  run(statement: Statement, deadline: Deadline): Rows;
  /** Runs a fixed statement without a deadline. */
  exec(text: string): void;
  /** `data_version`: another number after every commit of another connection. Every request asks, so nothing is looked up. */
  dataVersion(): number;
  /** The state of the journal; not to be asked in a transaction. */
  journal(): Journal;
  /** Also false if SQLite has rolled back by itself, as it does when the disk is full. */
  inTransaction(): boolean;
  /** Rolls back the transaction, if there still is one. */
  rollback(): void;
  /** Whether an error may have left it in an unknown state, so that it must not be used again. */
  isBroken(): boolean;
  close(): void;
}

export interface ConnectOptions {
  /** Otherwise a missing file is created. */
  readonly mustExist: boolean;
  /** Fixed statements to run first. */
  readonly setup?: readonly string[];
}

/** Throws if the file cannot be opened, is locked or is not a database. */
export const connect = (file: string, { mustExist, setup = [] }: ConnectOptions): Connection => {
  // no busy timeout: waiting for a lock inside SQLite would block the whole process
  const raw = new Database(file, { timeout: 0, fileMustExist: mustExist });
  try {
    const connection = connectionOf(raw);
    for (const text of [...settings, ...setup]) connection.exec(text);
    return connection;
  } catch (fault) {
    raw.close();
    throw fault;
  }
};

const settings = ['pragma foreign_keys = on', `pragma cache_size = -${limits.sqliteCacheKibMax}`] as const;

const connectionOf = (raw: Database.Database): Connection => {
  let deadline: Deadline = endless;
  let broken = false;
  const checkDeadline = (): void => {
    if (performance.now() > deadline.at) throw tooSlow(deadline);
  };
  /** By the current statement. */
  let changed = 0;
  addFunctions(raw, checkDeadline, () => {
    changed += 1;
    if (deadline.changesMax !== undefined && changed > deadline.changesMax) throw tooSlow(deadline);
  });
  const prepared = new LRUCache<string, Database.Statement>({
    max: limits.statementsMax,
    maxSize: limits.sqlitePreparedCharactersMax,
    sizeCalculation: (_statement, text) => text.length,
  });
  const prepare = (text: string): Database.Statement => {
    const known = prepared.get(text);
    if (known) return known;
    const made = raw.prepare(text);
    if (made.reader) made.raw();
    prepared.set(text, made);
    return made;
  };
  const run: Connection['run'] = ({ sql, params, isLong = false }, given) => {
    deadline = given;
    changed = 0;
    begun += 1;
    try {
      const statement = prepare(sql);
      if (!statement.reader) {
        statement.run(...params);
        return [];
      }
      return isLong
        ? collect(statement.iterate(...params) as Iterable<Rows[number]>, given)
        : (statement.all(...params) as Rows);
    } catch (fault) {
      throw noted(fault);
    }
  };
  const noted = (fault: unknown): unknown => {
    const kind = kindOf(fault);
    if (kind === 'full' || kind === 'failing' || kind === 'damaged') broken = true;
    return fault;
  };
  let version: Database.Statement | null = null;
  let journalState: Database.Statement | null = null;
  const exec = (sql: string): void => {
    run({ sql, params: [], ids: [] }, endless);
  };
  return {
    run,
    exec,
    dataVersion: () => {
      try {
        version ??= raw.prepare('pragma data_version').pluck();
        return version.get() as number;
      } catch (fault) {
        throw noted(fault);
      }
    },
    journal: () => {
      try {
        journalState ??= raw.prepare('pragma wal_checkpoint(noop)').raw();
        const [, pages, copied] = journalState.get() as readonly [number, number, number];
        return { pages, copied };
      } catch (fault) {
        throw noted(fault);
      }
    },
    inTransaction: () => raw.inTransaction,
    rollback: () => {
      if (!raw.inTransaction) return;
      try {
        exec('rollback');
      } catch {
        // the error that led to the rollback is the one to report
        broken = true;
      }
    },
    isBroken: () => broken,
    close: () => {
      raw.close();
    },
  };
};

/**
 * Reads rows one at a time, checking the deadline and the size: a statement that sorts returns its rows after the last
 * call of `dovetail_still_running`.
 */
const collect = (incoming: Iterable<Rows[number]>, deadline: Deadline): Rows => {
  const rows: Rows[number][] = [];
  let characters = 0;
  for (const row of incoming) {
    if (performance.now() > deadline.at) throw tooSlow(deadline);
    for (const value of row) if (typeof value === 'string') characters += value.length;
    if (characters > limits.readCharactersMax)
      throw new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
    rows.push(row);
  }
  return rows;
};

export const endless: Deadline = { at: Number.POSITIVE_INFINITY, ms: Number.POSITIVE_INFINITY };
