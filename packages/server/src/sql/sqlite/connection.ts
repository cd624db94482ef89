/** One connection to a SQLite file: compiled statements, and whether it can be used again after a fault. */
import Database from 'better-sqlite3';
import { LRUCache } from 'lru-cache';
import { issue, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Rows, Statement } from '../dialect.js';
import { kindOf } from './faults.js';
import { addFunctions } from './functions.js';

/** When work ends, in milliseconds of `performance.now()`, and how many milliseconds it was given, for the message. */
export interface Bound {
  readonly at: number;
  readonly ms: number;
}

export const boundOf = (ms: number, now = performance.now()): Bound => ({ at: now + ms, ms });
export const sooner = (one: Bound, other: Bound): Bound => (one.at <= other.at ? one : other);
export const tooSlow = ({ ms }: Bound): Refusal => new Refusal(issue('read.too-slow', [], { max: ms }));

export interface Connection {
  /** Rows of a statement; none for one that returns nothing. Throws `Refusal` past its bound. */
  run(statement: Statement, bound: Bound): Rows;
  /** Runs a fixed text that takes no time. */
  exec(text: string): void;
  /** False also where SQLite has rolled back by itself, as it does when the disk is full. */
  inTransaction(): boolean;
  /** Undoes the transaction if there still is one. */
  rollback(): void;
  /** Whether a fault may have left it in a state that nobody knows: it must not be used again. */
  isBroken(): boolean;
  close(): void;
}

export interface ConnectOptions {
  /** Else a missing file is created. */
  readonly mustExist: boolean;
  /** Fixed texts to run first. */
  readonly setup?: readonly string[];
}

/** Throws when the file cannot be opened, is locked or is not a database. */
export const connect = (file: string, { mustExist, setup = [] }: ConnectOptions): Connection => {
  // without SQLite's own waiting for locks: it would stop the whole process
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
  let bound: Bound = endless;
  let broken = false;
  addFunctions(raw, () => {
    if (performance.now() > bound.at) throw tooSlow(bound);
  });
  const prepared = new LRUCache<string, Database.Statement>({ max: limits.statementsMax });
  const prepare = (text: string): Database.Statement => {
    const known = prepared.get(text);
    if (known) return known;
    const made = raw.prepare(text);
    if (made.reader) made.raw();
    prepared.set(text, made);
    return made;
  };
  const run: Connection['run'] = ({ sql, params, isLong = false }, given) => {
    bound = given;
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
      const kind = kindOf(fault);
      if (kind === 'full' || kind === 'failing' || kind === 'damaged') broken = true;
      throw fault;
    }
  };
  const exec = (sql: string): void => {
    run({ sql, params: [], ids: [] }, endless);
  };
  return {
    run,
    exec,
    inTransaction: () => raw.inTransaction,
    rollback: () => {
      if (!raw.inTransaction) return;
      try {
        exec('rollback');
      } catch {
        // the fault that led here is the one to tell
        broken = true;
      }
    },
    isBroken: () => broken,
    close: () => {
      raw.close();
    },
  };
};

/** Rows as they come: a statement that sorts gives them when no function of ours is called any more. */
const collect = (coming: Iterable<Rows[number]>, bound: Bound): Rows => {
  const rows: Rows[number][] = [];
  let characters = 0;
  for (const row of coming) {
    if (performance.now() > bound.at) throw tooSlow(bound);
    for (const value of row) if (typeof value === 'string') characters += value.length;
    if (characters > limits.readCharactersMax)
      throw new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
    rows.push(row);
  }
  return rows;
};

const endless: Bound = { at: Number.POSITIVE_INFINITY, ms: Number.POSITIVE_INFINITY };
