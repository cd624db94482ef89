/** SQLite as a `Db`: its parts put together, which of them reads, and what happens to the file. */
import { bug } from '../../errors.js';
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
import type { DataVersion, Engine } from './engine.js';
import { kindOf } from './faults.js';
import { type OpenedFile, rememberFile } from './file.js';
import { newInlineEngine } from './inline.js';
import { newLook } from './look.js';
import { newOwnTime } from './own-time.js';
import { lockedUntil, newRequestErrors, tryUntil } from './retries.js';
import { isKnownSmall, newSmallReads } from './small-reads.js';
import { newSmallWrites } from './small-writes.js';
import { newThreadEngine, type ThreadOptions } from './threads.js';
import { newWrites } from './writes.js';

export interface SqliteOptions {
  /** Creates and changes nothing. */
  readonly readOnly?: boolean;
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
  { readOnly = false, onUnavailable = () => undefined }: SqliteOptions = {},
): Promise<SqliteDb> => {
  let isClosed = false;
  /** Null until the first connection is open, and for a database in memory. */
  let opened: OpenedFile | null = null;

  const connectAgain = (setup: readonly string[] = []): Connection => {
    opened?.requireIntact();
    return connect(file, { mustExist: opened !== null, setup });
  };

  const requireOpen = (): void => {
    if (isClosed) throw new Error('the database is closed');
  };

  const inline = newInlineEngine({ connect: connectAgain, readOnly, checkpointsApart: file !== MEMORY && !readOnly });
  /** What clients read with. */
  let reading: Engine = inline;
  let threadCount = 0;
  const ownTime = newOwnTime();

  const { toRequestError, withRequestErrors } = newRequestErrors(file, onUnavailable);

  // ---- commits

  const look = newLook(connectAgain);
  let fileCheckedAt = Number.NEGATIVE_INFINITY;
  const readVersion = (): DataVersion => {
    requireOpen();
    if (performance.now() - fileCheckedAt > limits.sqliteFileCheckMs) {
      fileCheckedAt = performance.now();
      opened?.isIntact();
    }
    return look.version();
  };

  const commits = newCommits({ read: readVersion, readOfWriter: () => writes.dataVersion() });
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

  // ---- reading

  const small = newSmallReads(
    () => connectAgain([`pragma mmap_size = ${limits.sqliteMappedBytesMax}`]),
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

  const writes = newWrites({
    inline,
    commits,
    look: look.journal,
    requireIntact: () => opened?.requireIntact(),
    withRequestErrors,
  });
  const write = <T>(work: (tx: Tx) => Promise<T>, isBounded: boolean, kind?: object): Promise<T> => {
    requireOpen();
    return writes.write(work, isBounded, kind);
  };
  // there is only one writer anyway
  const writeAlone: Db['write'] = (work) => write(work, false);

  // ---- threads

  const startThreads: SqliteDb['startThreads'] = async (options) => {
    requireOpen();
    if (!opened) throw bug('sqlite.threads-in-memory', {});
    // while a connection of this thread is open, the journal stays: an end of all threads would look like a lost file
    await inline.read(readRows(fixedStatement(readSchema)));
    const threads = newThreadEngine({ file, identity: opened.identity(), readOnly }, options);
    reading = threads;
    writes.moveTo(threads, readOnly ? null : newSmallWrites(connectAgain, threads, ownTime));
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
    write: (work, kind) => write(work, true, kind),
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
      await writes.stop();
      await reading.closeReaders();
      await writes.close();
      if (reading !== inline) await inline.closeReaders();
      small.close();
      // the last connection to close moves the journal into the file
      look.close();
    },
  };
};

const MEMORY = ':memory:';
