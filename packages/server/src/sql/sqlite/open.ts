/** SQLite as a `Db`: one writer, a pool of readers, and how errors reach requests. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { bug, busy, issue, never, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import type { Db, ReadProgram, Rows, Statement, Tx } from '../dialect.js';
import { type Connection, connect, deadlineIn, earlier, tooSlow } from './connection.js';
import { sqliteDialect } from './dialect.js';
import { constraintFault, FullDisk, kindOf } from './faults.js';
import { LostFile, type OpenedFile, rememberFile, sizeOf } from './file.js';
import { newPool } from './pool.js';

export interface SqliteOptions {
  /** Creates and changes nothing. */
  readonly readOnly?: boolean;
  /** Called with the cause of each 503 response; for a full disk once a minute. */
  readonly onUnavailable?: (fault: Error) => void;
}

/**
 * Opens a file, and creates it if it is missing. Sets the journal mode to WAL, so that readers and the writer do not
 * wait for each other. Throws if the file is not a database, and `Refusal` if another program keeps it locked.
 */
export const openSqlite = async (
  file: string,
  { readOnly = false, onUnavailable = () => undefined }: SqliteOptions = {},
): Promise<Db> => {
  let isClosed = false;
  /** Null until the first connection is open, and for a database in memory. */
  let opened: OpenedFile | null = null;

  const connectAgain = (setup: readonly string[] = []): Connection => {
    opened?.requireIntact();
    return connect(file, { mustExist: opened !== null, setup });
  };

  let fullDiskLoggedAt = Number.NEGATIVE_INFINITY;
  /** Every write fails for the same reason until someone frees space. */
  const reportFullDisk = (cause: Error): void => {
    const now = performance.now();
    if (now - fullDiskLoggedAt < limits.fullDiskLogMs) return;
    fullDiskLoggedAt = now;
    onUnavailable(new FullDisk(file, cause));
  };

  /** The error that a request gets: a `Refusal` if the database is unavailable. */
  const toRequestError = (fault: unknown): unknown => {
    if (fault instanceof LostFile) return busy(fault);
    const kind = kindOf(fault);
    switch (kind) {
      case 'locked':
      case 'failing':
        onUnavailable(fault as Error);
        return busy(fault);
      case 'full':
        reportFullDisk(fault as Error);
        return Object.assign(new Refusal(issue('database.full', [])), { cause: fault });
      case 'damaged':
      case 'statement':
      case null:
        return fault;
      default:
        return never(kind);
    }
  };

  const withRequestErrors = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (fault) {
      throw toRequestError(fault);
    }
  };
  const requireOpen = (): void => {
    if (isClosed) throw new Error('the database is closed');
  };

  // ---- reading

  const pool = newPool(connectAgain, limits.sqliteReadersMax);

  const readOnce = <T>(program: ReadProgram<T>): Promise<T> =>
    pool.use(async (connection) => {
      const total = deadlineIn(limits.readMsMax);
      const inTimeSlices = newTimeSlices();
      try {
        connection.exec('begin');
        let step = program.next();
        while (!step.done) {
          const results = await inTimeSlices(step.value, (statement, now) => {
            if (now > total.at) throw tooSlow(total);
            return connection.run(statement, earlier(deadlineIn(limits.sqliteStatementMsMax, now), total));
          });
          step = program.next(results);
        }
        return step.value;
      } finally {
        // a read has nothing to commit
        connection.rollback();
      }
    });

  // `data_version` counts the commits of other connections, so this one never writes and is never in a transaction
  let versionConnection: Connection | null = null;
  /** Makes versions unique: counts of different connections cannot be compared. */
  let versionConnections = 0;
  let fileCheckedAt = Number.NEGATIVE_INFINITY;
  const readVersion = (): string => {
    requireOpen();
    if (performance.now() - fileCheckedAt > limits.sqliteFileCheckMs) {
      fileCheckedAt = performance.now();
      opened?.isIntact();
    }
    if (versionConnection === null) {
      versionConnection = connectAgain();
      versionConnections += 1;
    }
    try {
      const [[count] = []] = versionConnection.run(versionStatement, deadlineIn(limits.sqliteStatementMsMax));
      return `${versionConnections}.${count}`;
    } finally {
      versionConnection = unlessBroken(versionConnection);
    }
  };

  // ---- writing

  // not opened read-only: such a connection to a file in WAL mode would leave its `-shm` file behind
  const writerSetup = [readOnly ? 'pragma query_only = on' : 'pragma journal_mode = wal', readSchema];
  let writer: Connection | null = null;

  const begin = (): Connection => {
    opened?.requireIntact();
    writer = unlessBroken(writer);
    writer ??= connectAgain(writerSetup);
    writer.exec('begin immediate');
    return writer;
  };

  const writeOnce = async <T>(work: (tx: Tx) => Promise<T>, until: number): Promise<T> => {
    try {
      const connection = await tryUntil(until, begin, limits.sqliteWriterPauseMs);
      const { tx, end, abandon } = newTx(connection);
      try {
        const result = await work(tx);
        // throws if the work has swallowed an error that ended the transaction
        end();
        await tryUntil(lockedUntil(), () => connection.exec('commit'), limits.sqliteWriterPauseMs);
        return result;
      } catch (fault) {
        abandon();
        throw fault;
      }
    } finally {
      writer = unlessBroken(writer);
    }
  };

  const journal = `${file}-wal`;
  let journalMax: number = limits.sqliteJournalBytesMax;
  /** As long as readers overlap, the journal only grows: it can be truncated only while there are none. */
  const truncateJournal = async (): Promise<void> => {
    if (isClosed || sizeOf(journal) <= journalMax) return;
    await pool.whenIdle(() => writer?.exec('pragma wal_checkpoint(truncate)'));
    // readers of other programs may have prevented it
    journalMax = sizeOf(journal) + limits.sqliteJournalBytesMax;
  };

  // one writer at a time: the file has one write lock anyway, and unlike busy-waiting a queue is fair
  let last: Promise<unknown> = Promise.resolve();

  const write: Db['write'] = async (work) => {
    requireOpen();
    const until = lockedUntil();
    const turn = last.then(() => withRequestErrors(writeOnce(work, until)));
    last = turn.then(truncateJournal).catch(() => undefined);
    return turn;
  };

  try {
    await tryUntil(lockedUntil(), () => {
      writer = connectAgain(writerSetup);
    });
  } catch (fault) {
    // a file that cannot be opened is not a matter of trying again
    throw kindOf(fault) === 'locked' ? toRequestError(fault) : fault;
  }
  if (file !== MEMORY) opened = rememberFile(file, onUnavailable);
  return {
    dialect: sqliteDialect,
    place: file,
    version: () => withRequestErrors(tryUntil(lockedUntil(), readVersion)),
    read: (program) => withRequestErrors(tryUntil(lockedUntil(), () => readOnce(program()))),
    write,
    // there is only one writer anyway
    writeAlone: write,
    runAlone: async (statement) => {
      await write((tx) => tx.run(statement));
    },
    isHealthy: async () => {
      try {
        await tryUntil(performance.now() + limits.sqliteStatementMsMax, () => connectAgain([readSchema]).close());
        return true;
      } catch (fault) {
        toRequestError(fault);
        return false;
      }
    },
    close: async () => {
      isClosed = true;
      await Promise.all([last, pool.close()]);
      versionConnection?.close();
      writer?.close();
    },
  };
};

const MEMORY = ':memory:';

/** Fails if the file is not a database. */
const readSchema = 'pragma schema_version';
const versionStatement = fixedStatement('pragma data_version');

/** How long to wait for locks of other programs from now on, in milliseconds of `performance.now()`. */
const lockedUntil = (): number => performance.now() + limits.sqliteLockMsMax;

/**
 * Retries until the attempt meets no lock of another program, or until the given time. Other requests are served in the
 * meantime.
 */
const tryUntil = async <T>(
  until: number,
  attempt: () => T | Promise<T>,
  pauseMsMax: number = limits.sqliteLockPauseMsMax,
): Promise<T> => {
  for (let pauseMs = 1; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
    try {
      return await attempt();
    } catch (fault) {
      if (kindOf(fault) !== 'locked' || performance.now() >= until) throw fault;
      await setTimeout(pauseMs);
    }
  }
};

/** The connection, or null after closing a broken one, so that the next use opens a new one. */
const unlessBroken = (connection: Connection | null): Connection | null => {
  if (!connection?.isBroken()) return connection;
  connection.close();
  return null;
};

/** Calls sequentially, passing the current time; yields to other requests whenever a time slice is over. */
const newTimeSlices = () => {
  let end = performance.now() + limits.readSliceMsMax;
  return async <In, Out>(items: readonly In[], call: (item: In, now: number) => Out): Promise<readonly Out[]> => {
    const results: Out[] = [];
    let now = performance.now();
    for (const item of items) {
      results.push(call(item, now));
      now = performance.now();
      if (now < end) continue;
      await setImmediate();
      now = performance.now();
      end = now + limits.readSliceMsMax;
    }
    return results;
  };
};

interface OpenTx {
  readonly tx: Tx;
  /** Rejects further statements. Throws the error that made SQLite end the transaction, if there was one. */
  end(): void;
  /** Rejects further statements and rolls the transaction back. */
  abandon(): void;
}

/** Wraps the transaction that the connection has begun. */
const newTx = (connection: Connection): OpenTx => {
  const inTimeSlices = newTimeSlices();
  let isOver = false;
  let first: unknown = null;
  /**
   * After SQLite has rolled back by itself, as it does on a full disk, any further statement would be committed at
   * once, on its own.
   */
  const requireTransaction = (): void => {
    if (!connection.inTransaction()) throw first;
  };
  const run = (statement: Statement, now: number): Rows => {
    if (isOver) throw bug('sqlite.statement-after-transaction', { sql: statement.sql });
    requireTransaction();
    try {
      return connection.run(statement, deadlineIn(limits.sqliteStatementMsMax, now));
    } catch (fault) {
      first ??= fault;
      throw constraintFault(fault) ?? fault;
    }
  };
  // a batch yields between time slices, and the next one must not overtake it
  let last: Promise<unknown> = Promise.resolve();
  const runAll: Tx['runAll'] = (statements) => {
    const turn = last.then(() => inTimeSlices(statements, run));
    last = turn.catch(() => undefined);
    return turn;
  };
  return {
    tx: {
      run: async (statement) => {
        const [rows = []] = await runAll([statement]);
        return rows;
      },
      runAll,
    },
    end: () => {
      isOver = true;
      requireTransaction();
    },
    abandon: () => {
      isOver = true;
      connection.rollback();
    },
  };
};
