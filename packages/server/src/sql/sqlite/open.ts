/** SQLite as a `Db`: one writer, a pool of readers, and what requests hear of faults. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import { bug, busy, issue, never, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import type { Db, ReadProgram, Rows, Statement, Tx } from '../dialect.js';
import { boundOf, type Connection, connect, sooner, tooSlow } from './connection.js';
import { sqliteDialect } from './dialect.js';
import { constraintFault, kindOf } from './faults.js';
import { LostFile, type OpenedFile, rememberFile, sizeOf } from './file.js';
import { newPool } from './pool.js';

export interface SqliteOptions {
  /** Nothing is created or changed. */
  readonly readOnly?: boolean;
  /** Hears of each fault that a request is answered 503 for. */
  readonly onUnavailable?: (fault: Error) => void;
}

/**
 * Opens a file; the file is created if it is missing. Journal mode becomes WAL, so that readers and the writer do not
 * wait for each other. Throws when the file is no database, and `Refusal` when another program keeps it locked.
 */
export const openSqlite = async (
  file: string,
  { readOnly = false, onUnavailable = () => undefined }: SqliteOptions = {},
): Promise<Db> => {
  let isClosed = false;
  /** Null until the first connection is there, and for a database in memory. */
  let opened: OpenedFile | null = null;

  const connectAgain = (setup: readonly string[] = []): Connection => {
    opened?.require();
    return connect(file, { mustExist: opened !== null, setup });
  };

  /** What a request hears of a fault. */
  const told = (fault: unknown): unknown => {
    if (fault instanceof LostFile) return busy(fault);
    const kind = kindOf(fault);
    switch (kind) {
      case 'locked':
      case 'failing':
        onUnavailable(fault as Error);
        return busy(fault);
      case 'full':
        onUnavailable(fault as Error);
        return Object.assign(new Refusal(issue('database.full', [])), { cause: fault });
      case 'damaged':
      case 'statement':
      case null:
        return fault;
      default:
        return never(kind);
    }
  };

  const telling = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (fault) {
      throw told(fault);
    }
  };
  const requireOpen = (): void => {
    if (isClosed) throw new Error('the database is closed');
  };

  // ---- reading

  const pool = newPool(connectAgain, limits.sqliteReadersMax);

  const readOnce = <T>(program: ReadProgram<T>): Promise<T> =>
    pool.lend(async (connection) => {
      const total = boundOf(limits.readMsMax);
      const inSlices = newSlices();
      try {
        connection.exec('begin');
        let step = program.next();
        while (!step.done) {
          const results = await inSlices(step.value, (statement, now) => {
            if (now > total.at) throw tooSlow(total);
            return connection.run(statement, sooner(boundOf(limits.sqliteStatementMsMax, now), total));
          });
          step = program.next(results);
        }
        return step.value;
      } finally {
        // nothing was changed
        connection.rollback();
      }
    });

  // counts what other connections have committed; so it never writes, and never stands in a transaction
  let watch: Connection | null = null;
  /** Counts of different connections cannot be compared. */
  let watches = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const look = (): string => {
    requireOpen();
    if (performance.now() - lookedAt > limits.sqliteFileCheckMs) {
      lookedAt = performance.now();
      opened?.isThere();
    }
    if (watch === null) {
      watch = connectAgain();
      watches += 1;
    }
    try {
      const [[count] = []] = watch.run(versionStatement, boundOf(limits.sqliteStatementMsMax));
      return `${watches}.${count}`;
    } finally {
      watch = ifFit(watch);
    }
  };

  // ---- writing

  // not opened as read-only: such a connection to a file in WAL mode would leave its `-shm` file behind
  const writerSetup = [readOnly ? 'pragma query_only = on' : 'pragma journal_mode = wal', readSchema];
  let writer: Connection | null = null;

  const begin = (): Connection => {
    opened?.require();
    writer = ifFit(writer);
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
        // throws if the work has caught a fault that ended the transaction
        end();
        await tryUntil(lockedUntil(), () => connection.exec('commit'), limits.sqliteWriterPauseMs);
        return result;
      } catch (fault) {
        abandon();
        throw fault;
      }
    } finally {
      writer = ifFit(writer);
    }
  };

  const journal = `${file}-wal`;
  let journalMax: number = limits.sqliteJournalBytesMax;
  /** Readers that overlap without end would let the journal grow without end: it needs a moment without any. */
  const boundJournal = async (): Promise<void> => {
    if (isClosed || sizeOf(journal) <= journalMax) return;
    await pool.whenIdle(() => writer?.exec('pragma wal_checkpoint(truncate)'));
    // readers of other programs may have been in the way
    journalMax = sizeOf(journal) + limits.sqliteJournalBytesMax;
  };

  // one writer at a time: the file has one write lock anyway, and a queue is fair where busy-waiting is not
  let last: Promise<unknown> = Promise.resolve();

  const write: Db['write'] = async (work) => {
    requireOpen();
    const until = lockedUntil();
    const turn = last.then(() => telling(writeOnce(work, until)));
    last = turn.then(boundJournal).catch(() => undefined);
    return turn;
  };

  await telling(
    tryUntil(lockedUntil(), () => {
      writer = connectAgain(writerSetup);
    }),
  );
  if (file !== MEMORY) opened = rememberFile(file, onUnavailable);
  return {
    dialect: sqliteDialect,
    place: file,
    version: () => telling(tryUntil(lockedUntil(), look)),
    read: (program) => telling(tryUntil(lockedUntil(), () => readOnce(program()))),
    write,
    // the file has one writer anyway
    writeAlone: write,
    isHealthy: async () => {
      try {
        await tryUntil(performance.now() + limits.sqliteStatementMsMax, () => connectAgain([readSchema]).close());
        return true;
      } catch (fault) {
        told(fault);
        return false;
      }
    },
    close: async () => {
      isClosed = true;
      await Promise.all([last, pool.close()]);
      watch?.close();
      writer?.close();
    },
  };
};

const MEMORY = ':memory:';

/** Fails when the file is no database. */
const readSchema = 'pragma schema_version';
const versionStatement = fixedStatement('pragma data_version');

/** Milliseconds of `performance.now()` until which locks of other programs are waited for from now on. */
const lockedUntil = (): number => performance.now() + limits.sqliteLockMsMax;

/** Tries until no other program's lock is in the way, or until the time. Other requests go on meanwhile. */
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

/** A connection that is broken is closed: the next that is asked for is a new one. */
const ifFit = (connection: Connection | null): Connection | null => {
  if (!connection?.isBroken()) return connection;
  connection.close();
  return null;
};

/** Calls in order, with the time; other requests get their turn in between when a slice of it is over. */
const newSlices = () => {
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
  /** Lets no further statement begin. Throws the fault by which SQLite has ended the transaction, if there was one. */
  end(): void;
  /** Lets no further statement begin, and undoes the transaction. */
  abandon(): void;
}

/** The transaction that the connection has begun. */
const newTx = (connection: Connection): OpenTx => {
  const inSlices = newSlices();
  let isOver = false;
  let first: unknown = null;
  /** When SQLite has rolled back by itself, as it does on a full disk, a statement would be committed at once, alone. */
  const requireTransaction = (): void => {
    if (!connection.inTransaction()) throw first;
  };
  const run = (statement: Statement, now: number): Rows => {
    if (isOver) throw bug('sqlite.statement-after-transaction', { sql: statement.sql });
    requireTransaction();
    try {
      return connection.run(statement, boundOf(limits.sqliteStatementMsMax, now));
    } catch (fault) {
      first ??= fault;
      throw constraintFault(fault) ?? fault;
    }
  };
  // a batch pauses between slices, and the next one must not overtake it
  let last: Promise<unknown> = Promise.resolve();
  const runAll: Tx['runAll'] = (statements) => {
    const turn = last.then(() => inSlices(statements, run));
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
