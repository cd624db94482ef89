/** What `open.ts` and `writes.ts` need of the connections to a file, wherever they are. Errors are those of SQLite. */
import type { DbLoad, PlannedRead, ReadProgram, Tx } from '../dialect.js';
import type { Connection } from './connection.js';

export interface Engine {
  /** Opens the writing connection, as `begin` does if there is none. */
  open(): Promise<void>;
  /** Runs the program in one snapshot. */
  read<T>(program: ReadProgram<T>): Promise<T>;
  /** The same for a program made of plain data. */
  readPlanned<Plan extends object, Values, T>(read: PlannedRead<Plan, Values, T>): Promise<T>;
  /** What planned reads of this plan have cost of late; null if it does not matter. */
  costOf(plan: object): Cost | null;
  /** A transaction that takes the write lock with its first statements. One at a time: the file has one write lock. */
  begin(options: BeginOptions): Transaction;
  /** The writing connection's `data_version`, after all that was asked of it before. */
  dataVersion(): DataVersion | Promise<DataVersion>;
  /**
   * Copies what it can of the journal into the file, without holding up writes. Null for a database in memory, and for one that is
   * only read.
   */
  readonly checkpoint: (() => Promise<void>) | null;
  /**
   * Makes the journal begin anew, which takes a moment without readers: later ones wait. Returns whether it does: readers of other
   * programs may prevent it, and unless it is urgent, so may reads that take long.
   */
  restartJournal(isUrgent: boolean): Promise<boolean>;
  load(): DbLoad;
  /** No transaction may be open. */
  closeWriter(): Promise<void>;
  /** Rejects new reads, and lets those that run or wait finish. */
  closeReaders(): Promise<void>;
}

/** What reads of a kind have cost. */
export interface Cost {
  /** Milliseconds of CPU time in the last runs; null before the first. */
  ms: number | null;
  /** How many of them there were. */
  runs: number;
}

export interface BeginOptions {
  /** Whether statements of the transaction have a bound. */
  readonly isBounded: boolean;
  /** Repeats the attempt as long as the file is locked. */
  readonly retry: <T>(attempt: () => Promise<T>) => Promise<T>;
  /** Throws if the file is not the one that was opened; asked before anything is written. */
  readonly requireIntact: () => void;
  /** Called with the writing connection's `data_version` in the transaction, see `DataVersion`, before any rows are returned. */
  readonly onBegun: (version: DataVersion) => void;
}

export interface Transaction {
  readonly tx: Omit<Tx, 'finish'>;
  /**
   * Commits together with what is sent in this turn, as `Tx.finish` says. Resolves to the connection's `data_version` after it, or
   * to null if the transaction goes on. The next one may begin: its statements wait for the end of this one. Returns null if nothing
   * comes of it, because a commit apart costs nothing, or has to be.
   */
  finish(): Promise<DataVersion | null> | null;
  /** Resolves once what was sent so far has ended: only then is it known whether the transaction has begun. */
  idle(): Promise<unknown>;
  /**
   * Ends the transaction, and returns the connection's `data_version` after it; null if there were no statements. Throws the
   * error that made SQLite end it, if there was one. If the file is locked, the transaction stays open and this can be repeated.
   */
  commit(): Promise<DataVersion | null>;
  /** Rejects further statements and rolls the transaction back. */
  abandon(): Promise<void>;
}

/**
 * `connection.count`: equal texts mean that no other connection has committed in between; commits of the connection itself
 * do not change it.
 */
export type DataVersion = string;

export interface EngineOptions {
  /** Opens another connection. Throws `LostFile` if the path leads to another file than before. */
  readonly connect: (setup?: readonly string[]) => Connection;
  /** The writing connection refuses to write. */
  readonly readOnly: boolean;
  /** The writing connection leaves the journal to others (`Engine.checkpoint`). */
  readonly checkpointsApart: boolean;
}
