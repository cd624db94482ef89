/** PostgreSQL as a `Db`: its parts put together, the turns of writes, and statements outside of transactions. */
import { setTimeout } from 'node:timers/promises';
import { atMost } from '../../concurrency.js';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import { type Db, type ReadProgram, type Rows, readRows, type Statement, type Tx } from '../dialect.js';
import { readAddress, type Tls } from './address.js';
import { idSequencesStatement } from './catalog.js';
import { newCommits } from './commits.js';
import { type Connection, statementsSent } from './connection.js';
import { postgresDialect } from './dialect.js';
import { type FaultKind, PostgresFault } from './faults.js';
import { newLook } from './look.js';
import { newPeers } from './peers.js';
import { openConnections, type Prepared } from './pool.js';
import { newRetries } from './retries.js';
import { patientTimeouts, sessionTimeouts } from './settings.js';
import { lookStatement } from './states.js';
import { newTransactions, type WriteKind } from './transactions.js';

export interface PostgresOptions {
  /** Default: `auto`. */
  readonly prepared?: Prepared;
  /** Null for what the URL says. */
  readonly tls?: Tls | null;
  /** Connections of this process; `limits.connectionsMax` by default. */
  readonly connectionsMax?: number;
  /** Whether code of the project runs in transactions, for which others wait then. */
  readonly runsHooks?: boolean;
  /** Called with the cause of 503 responses, at most once a second. */
  readonly onUnavailable?: (fault: Error) => void;
}

/** Opens a server by URL. Throws an error for the user if the URL is invalid or the server cannot be reached. */
export const openPostgres = async (
  url: string,
  {
    prepared = 'auto',
    tls = null,
    connectionsMax = limits.connectionsMax,
    runsHooks = false,
    onUnavailable = () => undefined,
  }: PostgresOptions = {},
): Promise<Db> => {
  const address = readAddress(url, tls);
  const connections = openConnections(address, prepared, connectionsMax);
  const peers = newPeers(connections);
  const look = newLook(connections);
  const { repeated, refusalOf } = newRetries(connections, onUnavailable);
  const commits = newCommits(
    async () => (await look.now()) ?? stateIn(await repeated(() => alone(lookStatement), always)),
    (statement) => repeated(() => alone(statement), always),
    peers,
  );
  const transactions = newTransactions({ connections, searchPath: address.searchPath, commits, peers });

  // ---- reads

  const read = async <T>(program: ReadProgram<T>): Promise<T> => (await transactions.read(program, null)).result;

  const readThenCatchUp = async <T>(program: ReadProgram<T>): Promise<T> => {
    const { result, rowsBehind } = await transactions.read(program, lookStatement);
    await commits.notice(stateIn(rowsBehind));
    return result;
  };

  // ---- writes

  /** The other connections are those of reads: writes whose hooks wait would leave none. */
  const inTurnOfWrites = atMost(Math.max(1, connectionsMax - limits.connectionsOfReads), {
    msMax: limits.writeTurnMsMax,
    late: () => refusalOf(new PostgresFault('busy', new Error('connections: all that writes may have are in use'))),
  });

  let repetition: Promise<unknown> = Promise.resolve();
  /**
   * Writes that were in conflict, such as those that have waited for each other in a circle, are repeated one after the other: at once,
   * they would do so again. None waits for its turn longer than for a lock: the one before may be waiting for it.
   */
  const inTurn = <T>(attempt: () => Promise<T>): Promise<T> => {
    const waiting = new AbortController();
    const longest = setTimeout(limits.lockMsMax, undefined, { ref: false, signal: waiting.signal }).catch(ignore);
    const turn = Promise.race([repetition.finally(() => waiting.abort()), longest]).then(attempt);
    repetition = turn.then(ignore, ignore);
    return turn;
  };

  const written = async <T>(kind: WriteKind, work: (tx: Tx) => Promise<T>): Promise<T> => {
    let hasBegun = false;
    let mayRely = true;
    let wasInConflict = false;
    const attemptOnce = (): Promise<T> => {
      hasBegun = false;
      const onBegun = (): void => {
        hasBegun = true;
      };
      return transactions.write(work, { kind, mayRely, onBegun });
    };
    const attempt = (): Promise<T> => (wasInConflict ? inTurn(attemptOnce) : attemptOnce());
    const mayRepeat = (fault: FaultKind): boolean => {
      wasInConflict ||= fault === 'conflict';
      // the next attempt locks first, and commits once the response is there, or is refused as that decides
      if (fault === 'unsure') mayRely = false;
      // once it has begun, it is unknown whether the commit went through
      return fault !== 'lost' || !hasBegun;
    };
    const attempts = (): Promise<T> => repeated(attempt, mayRepeat);
    return kind === 'alone' ? attempts() : inTurnOfWrites(attempts);
  };

  // ---- outside of transactions

  const alone = async (statement: Statement): Promise<Rows> => {
    const connection = await connections.acquire('total');
    try {
      return await connection.send(statement);
    } finally {
      connection.release();
    }
  };

  /**
   * Settings and lock belong to the session, which a pooler would spread over several servers: behind one the statement runs
   * in a transaction and locks writers out.
   */
  const runAlone = async (statement: Statement): Promise<void> => {
    const connection = await connections.acquire('never');
    if (!connection.isDirect) {
      connection.release();
      const locking = { ...statement, sql: statement.sql.replace(' concurrently', '') };
      await written('alone', (tx) => tx.run(locking));
      return;
    }
    try {
      await connection.command(patientTimeouts);
      // asked for again and again: an index that is being created waits for every transaction, also one that waits for a lock
      const until = performance.now() + limits.startLockMsMax;
      while (!(await hasLock(connection))) {
        if (performance.now() > until) throw new Error('another process is changing indexes');
        await setTimeout(limits.indexLockPauseMs);
      }
      await connection.send(statement);
    } finally {
      await connection.command(`select pg_advisory_unlock_all(); ${sessionTimeouts()}`).catch(ignore);
      connection.release();
    }
  };

  try {
    const [[collation] = []] = await alone(collationStatement);
    const sequences = (await read(readRows(idSequencesStatement))) as [string, string][];
    const dialect = postgresDialect(collation === undefined ? null : String(collation), new Map(sequences));
    return {
      dialect,
      place: address.place,
      changes: commits,
      read: (program) => repeated(() => read(program()), always),
      readSmall: (program) => repeated(() => read(program()), always),
      readPlanned: ({ plan, values, begin: program }) => repeated(() => read(program(plan, values, dialect)), always),
      readThenCatchUp: ({ plan, values, begin: program }) =>
        repeated(() => readThenCatchUp(program(plan, values, dialect)), always),
      write: (work) => written(runsHooks ? 'patient' : 'write', work),
      writeAlone: (work) => written('alone', work),
      runAlone,
      load: () => ({ ...connections.load(), statements: statementsSent() }),
      isHealthy: () => repeated(() => alone(healthStatement), always).then(always, () => false),
      close: async () => {
        await Promise.all([peers.close(), look.close()]);
        await connections.close();
      },
    };
  } catch (fault) {
    await connections.close();
    throw new Error(`Cannot connect to PostgreSQL at ${address.place}: ${(fault as Error).message}`, { cause: fault });
  }
};

const stateIn = ([row]: Rows): string => String(row?.[0]);

const hasLock = async (connection: Connection): Promise<boolean> => {
  const [[isHeld] = []] = await connection.send(
    fixedStatement(`select pg_try_advisory_lock(hashtext('dovetail indexes'))`),
  );
  return isHeld === true;
};

const ignore = (): void => undefined;
const always = (): boolean => true;

/** ICU knows neither SQL_ASCII (0) nor MULE_INTERNAL (7). */
const collationStatement = fixedStatement(
  `select collname from pg_collation, (select encoding from pg_database where datname = current_database()) d
    where collname in ('und-x-icu', 'C.utf8', 'C.UTF-8') and collencoding in (-1, encoding)
      and (collprovider <> 'i' or encoding not in (0, 7))
    order by collname = 'und-x-icu' desc limit 1`,
);
const healthStatement = fixedStatement('select 1');
