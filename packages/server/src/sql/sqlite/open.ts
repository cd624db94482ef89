/** SQLite as a `Db`: retries, the queue of writes, what happens to the file, and how errors reach requests. */
import { setTimeout } from 'node:timers/promises';
import { bug, busy, issue, never, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { whenReady } from '../../ready.js';
import { shareInTurn } from '../../single-flight.js';
import type { Changes } from '../changes.js';
import { fixedStatement } from '../compile.js';
import { type Db, type PlannedRead, readRows, type Tx } from '../dialect.js';
import { newCommits } from './commits.js';
import { type Connection, connect } from './connection.js';
import { readSchema } from './connections.js';
import { sqliteDialect } from './dialect.js';
import type { BeginOptions, Engine } from './engine.js';
import { FullDisk, kindOf } from './faults.js';
import { LostFile, type OpenedFile, rememberFile } from './file.js';
import { newInlineEngine } from './inline.js';
import { newJournalKeeper } from './journal.js';
import { newOwnTime } from './own-time.js';
import { isKnownSmall, newSmallReads } from './small-reads.js';
import { newSmallWrites, type SmallWrites } from './small-writes.js';
import { newThreadEngine, type ThreadOptions } from './threads.js';
import { LostThread } from './watched-thread.js';

export interface SqliteOptions {
  /** Creates and changes nothing. */
  readonly readOnly?: boolean;
  /** KiB of pages that are kept for small reads. */
  readonly pagesKib?: number | undefined;
  /** Called with the cause of each 503 response; for a full disk once a minute. */
  readonly onUnavailable?: (fault: Error) => void;
}

export interface SqliteDb extends Db {
  /**
   * Moves reads and writes to threads: from the next one on, and each thread starts with the first that needs it. Not for a
   * database in memory, which has one connection. What is small stays in the caller's thread.
   */
  startThreads(options: ThreadOptions): Promise<void>;
}

/**
 * Opens a file, and creates it if it is missing. Sets the journal mode to WAL, so that readers and the writer do not
 * wait for each other. Throws if the file is not a database, and `Refusal` if another program keeps it locked.
 */
export const openSqlite = async (
  file: string,
  { readOnly = false, pagesKib = limits.sqlitePagesKib, onUnavailable = () => undefined }: SqliteOptions = {},
): Promise<SqliteDb> => {
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
    if (fault instanceof LostThread) {
      onUnavailable(fault);
      return busy(fault);
    }
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

  const inline = newInlineEngine({ connect: connectAgain, readOnly, checkpointsApart: file !== MEMORY && !readOnly });
  /** What clients read, and what writes. */
  let reading: Engine = inline;
  let writing: Engine = inline;
  /** What the next transaction writes with. */
  let nextWriting: Engine = inline;
  /** Null without threads. */
  let smallWrites: SmallWrites | null = null;
  let threadCount = 0;
  const ownTime = newOwnTime();

  // ---- reading

  // `data_version` counts the commits of other connections, so this one never writes and is never in a transaction
  let lookingConnection: Connection | null = null;
  /** Makes versions unique: counts of different connections cannot be compared. */
  let lookingConnections = 0;
  const looking = <T>(look: (connection: Connection) => T): T => {
    if (lookingConnection === null) {
      lookingConnection = connectAgain();
      lookingConnections += 1;
    }
    try {
      return look(lookingConnection);
    } finally {
      lookingConnection = unlessBroken(lookingConnection);
    }
  };
  let fileCheckedAt = Number.NEGATIVE_INFINITY;
  const readVersion = (): string => {
    requireOpen();
    if (performance.now() - fileCheckedAt > limits.sqliteFileCheckMs) {
      fileCheckedAt = performance.now();
      opened?.isIntact();
    }
    return looking((connection) => `${lookingConnections}.${connection.dataVersion()}`);
  };

  const commits = newCommits({ read: readVersion, readOfWriter: () => writing.dataVersion() });
  // a look costs a fifth of a response that is kept
  const catchUp: Changes['catchUp'] = shareInTurn(() => {
    let first: Promise<void> | null;
    try {
      first = commits.catchUp();
      if (!first) return null;
    } catch (fault) {
      first = Promise.reject(fault);
    }
    const attempt = async (): Promise<void> => {
      const noticing = first ?? commits.catchUp();
      first = null;
      await noticing;
    };
    return withRequestErrors(tryUntil(lockedUntil(), attempt));
  });

  const small = newSmallReads(
    () => connectAgain([`pragma cache_size = -${pagesKib}`]),
    () => threadCount,
    ownTime,
  );
  /** A small read in this thread, null if it is to be done elsewhere. A database in memory has one connection. */
  const readHere = <Plan extends object, Values, T>(planned: PlannedRead<Plan, Values, T>) => {
    if (!opened || isClosed) return null;
    const cost = reading.costOf(planned.plan);
    return planned.isSmall || isKnownSmall(cost) ? small.read(planned, cost) : null;
  };

  const readElsewhere: Db['readPlanned'] = (planned) =>
    withRequestErrors(tryUntil(lockedUntil(), () => reading.readPlanned(planned)));

  // ---- writing

  /** Another engine writes from now on. Others that commit meanwhile are noticed with the next transaction. */
  const moveWriting = async (to: Engine): Promise<void> => {
    const former = writing;
    const before = await former.dataVersion();
    const after = await to.dataVersion();
    if ((await former.dataVersion()) === before) commits.replaced(before, after);
    writing = to;
    if (former === inline) await former.closeWriter();
  };

  /** @param onFinishing called once the next transaction may be made, if that is before the end of this one. */
  const writeOnce = async <T>(
    work: (tx: Tx) => Promise<T>,
    isBounded: boolean,
    until: number,
    onFinishing: () => void,
  ): Promise<T> => {
    const options: Omit<BeginOptions, 'onBegun'> = {
      isBounded,
      retry: (attempt) => tryUntil(until, attempt, limits.sqliteWriterPauseMs),
      requireIntact: () => opened?.requireIntact(),
    };
    const { tx, finish, commit, abandon } = commits.recorded((onBegun) => writing.begin({ ...options, onBegun }));
    try {
      const result = await work({
        ...tx,
        finish: () => {
          if (finish()) onFinishing();
        },
      });
      // throws if the work has swallowed an error that ended the transaction
      await tryUntil(lockedUntil(), commit, limits.sqliteWriterPauseMs);
      return result;
    } catch (fault) {
      await abandon();
      throw fault;
    }
  };

  const journal = newJournalKeeper(() => looking((connection) => connection.journal()));
  const boundJournal = async (): Promise<void> => {
    if (isClosed || !journal.isRestartDue()) return;
    journal.onRestart(await writing.restartJournal(journal.isUrgent()).catch(() => false));
  };

  // one writer at a time: the file has one write lock anyway, and unlike busy-waiting a queue is fair
  let last: Promise<unknown> = Promise.resolve();
  /** Resolves once all writes so far have ended. */
  let ended: Promise<unknown> = last;

  const writeInTurn = <T>(work: (tx: Tx) => Promise<T>, isBounded: boolean, kind?: object): Promise<T> => {
    requireOpen();
    const until = lockedUntil();
    let isFollowed = false;
    let follow = (): void => undefined;
    const followed = new Promise<void>((resolve) => {
      follow = resolve;
    });
    const onFinishing = (): void => {
      if (journal.isRestartDue()) return;
      isFollowed = true;
      follow();
    };
    const writeWith = async (engine: Engine): Promise<T> => {
      if (writing !== engine) await tryUntil(until, () => moveWriting(engine), limits.sqliteWriterPauseMs);
      return writeOnce(work, isBounded, until, onFinishing);
    };
    const write = async (): Promise<T> => {
      if (kind && smallWrites && !smallWrites.isPaused(kind)) {
        const { engine } = smallWrites;
        const done = await smallWrites.attempt(kind, () => writeWith(engine));
        if (done) return done.result;
      }
      return writeWith(nextWriting);
    };
    const turn = last.then(() => withRequestErrors(write()));
    turn.then(() => journal.onCommit(writing.checkpoint)).catch(() => undefined);
    const end = turn.then(() => (isFollowed ? undefined : boundJournal())).catch(() => undefined);
    last = Promise.race([followed, end]);
    const before = ended;
    // not `Promise.all`, whose result would hold those of all writes before
    ended = end.then(() => before);
    return turn;
  };
  // there is only one writer anyway
  const writeAlone: Db['write'] = (work) => writeInTurn(work, false);

  // ---- threads

  const startThreads: SqliteDb['startThreads'] = async (options) => {
    requireOpen();
    if (!opened) throw bug('sqlite.threads-in-memory', {});
    // while a connection of this thread is open, the journal stays: an end of all threads would look like a lost file
    await inline.read(readRows(fixedStatement(readSchema)));
    const threads = newThreadEngine({ file, identity: opened.identity(), readOnly }, options);
    reading = threads;
    nextWriting = threads;
    if (!readOnly) smallWrites = newSmallWrites(connectAgain, threads, ownTime);
    threadCount = options.count;
  };

  try {
    await tryUntil(lockedUntil(), inline.open);
  } catch (fault) {
    // a file that cannot be opened is not a matter of trying again
    throw kindOf(fault) === 'locked' ? toRequestError(fault) : fault;
  }
  if (file !== MEMORY) opened = rememberFile(file, onUnavailable);
  return {
    dialect: sqliteDialect,
    place: file,
    changes: { ...commits, catchUp },
    read: (program) => withRequestErrors(tryUntil(lockedUntil(), () => reading.read(program()))),
    readPlanned: async (planned) => {
      const here = readHere(planned);
      return here ? here.result : readElsewhere(planned);
    },
    readThenCatchUp: (planned) => {
      const here = readHere(planned);
      return whenReady(here ? here.result : readElsewhere(planned), (result) => whenReady(catchUp(), () => result));
    },
    readSmall: (program) => withRequestErrors(tryUntil(lockedUntil(), () => inline.read(program()))),
    write: (work, kind) => writeInTurn(work, true, kind),
    writeAlone,
    runAlone: async (statement) => {
      await writeAlone((tx) => tx.run(statement));
    },
    startThreads,
    load: () => reading.load(),
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
      await ended;
      await reading.closeReaders();
      await writing.closeWriter();
      for (const it of [inline, smallWrites?.engine, nextWriting]) if (it !== writing) await it?.closeWriter();
      if (reading !== inline) await inline.closeReaders();
      small.close();
      // the last connection to close moves the journal into the file
      lookingConnection?.close();
    },
  };
};

const MEMORY = ':memory:';

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
