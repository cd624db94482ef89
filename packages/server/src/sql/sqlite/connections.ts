/** The connections of an engine, each with what it is for. They run statements at once, in whatever thread they are. */
import { limits } from '../../limits.js';
import type { ReadProgram, Rows, Statement } from '../dialect.js';
import { type Connection, type Deadline, deadlineIn, earlier, endless, tooSlow } from './connection.js';
import type { DataVersion, EngineOptions } from './engine.js';
import { constraintFault } from './faults.js';

/** Milliseconds that a read may take: one statement, and all of it. */
export interface ReadBounds {
  readonly statementMs: number;
  readonly totalMs: number;
}

/** The statements of one read, in one snapshot. */
export interface Snapshot {
  /** Throws `Refusal` past the bounds. @param now milliseconds of `performance.now()`. */
  run(statement: Statement, now?: number): Rows;
  end(): void;
}

export const beginSnapshot = (connection: Connection, { statementMs, totalMs }: ReadBounds): Snapshot => {
  const total = deadlineIn(totalMs);
  let hasBegun = false;
  return {
    run: (statement, now = performance.now()) => {
      if (now > total.at) throw tooSlow(total);
      if (!hasBegun && !statement.isWhole) {
        hasBegun = true;
        connection.exec('begin');
      }
      return connection.run(statement, earlier(deadlineIn(statementMs, now), total));
    },
    // a read has nothing to commit
    end: () => {
      if (hasBegun) connection.rollback();
    },
  };
};

/** Runs a whole program, without serving anything else meanwhile. */
export const runProgram = <T>(program: ReadProgram<T>, run: (statement: Statement) => Rows): T => {
  let step = program.next();
  while (!step.done) step = program.next(step.value.map((it) => run(it)));
  return step.value;
};

/** The one writing connection, with at most one transaction. */
export interface Writer {
  /** Opens the connection if there is none, or if an error broke it; as `begin` does. */
  open(): void;
  begin(): DataVersion;
  run(statement: Statement, deadline: Deadline): Rows;
  commit(): DataVersion;
  abandon(): void;
  dataVersion(): DataVersion;
  /** See `checkpoint`. */
  checkpoint(): void;
  /** Copies all of the journal into the file, so that it begins anew. Returns whether nobody was in the way. */
  restartJournal(): boolean;
  close(): void;
}

export const newWriter = ({ connect, readOnly, checkpointsApart }: EngineOptions): Writer => {
  let connection: Connection | null = null;
  let connections = 0;
  /** In the transaction. Its own commit does not change it, and nobody else commits before that. */
  let version: DataVersion = '';
  /** The first error of the transaction. */
  let first: unknown = null;

  const closeIfBroken = (): void => {
    if (!connection?.isBroken()) return;
    connection.close();
    connection = null;
  };
  const opened = (): Connection => {
    closeIfBroken();
    if (connection) return connection;
    // not opened read-only: such a connection to a file in WAL mode would leave its `-shm` file behind
    connection = connect([
      readOnly ? 'pragma query_only = on' : 'pragma journal_mode = wal',
      ...(checkpointsApart ? ['pragma wal_autocheckpoint = 0'] : []),
      `pragma journal_size_limit = ${limits.sqliteJournalBytesMax}`,
      readSchema,
    ]);
    connections += 1;
    return connection;
  };
  const dataVersionOf = (it: Connection): DataVersion => `${connections}.${it.dataVersion()}`;
  /**
   * After SQLite has rolled back by itself, as it does on a full disk, any further statement would be committed at
   * once, on its own. It does so only with an error.
   */
  const inTransaction = (): Connection => {
    if (!connection || (first !== null && !connection.inTransaction())) throw first;
    return connection;
  };
  return {
    open: () => {
      opened();
    },
    begin: () => {
      const it = opened();
      it.exec('begin immediate');
      first = null;
      try {
        version = dataVersionOf(it);
      } catch (fault) {
        it.rollback();
        throw fault;
      }
      return version;
    },
    run: (statement, deadline) => {
      const it = inTransaction();
      try {
        return it.run(statement, deadline);
      } catch (fault) {
        first ??= fault;
        throw constraintFault(fault) ?? fault;
      }
    },
    commit: () => {
      const it = inTransaction();
      try {
        it.exec('commit');
      } catch (fault) {
        first ??= fault;
        throw fault;
      }
      return version;
    },
    abandon: () => {
      connection?.rollback();
      closeIfBroken();
    },
    dataVersion: () => dataVersionOf(opened()),
    checkpoint: () => checkpoint(opened()),
    restartJournal: () => {
      const [[isBusy] = []] = opened().run(restartStatement, endless);
      return isBusy === 0;
    },
    close: () => connection?.close(),
  };
};

/** Fails if the file is not a database. */
export const readSchema = 'pragma schema_version';

/** Copies what it can of the journal into the file, without holding up writes. */
export const checkpoint = (connection: Connection): void => {
  connection.run(checkpointStatement, endless);
};

const checkpointStatement: Statement = { sql: 'pragma wal_checkpoint(passive)', params: [], ids: [] };
/** Returns whether it was held up, the pages in the journal, and how many of them are in the file. */
const restartStatement: Statement = { sql: 'pragma wal_checkpoint(restart)', params: [], ids: [] };
