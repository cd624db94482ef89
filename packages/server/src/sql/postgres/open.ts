/** PostgreSQL as a `Db`: transactions, retries, and how errors reach requests. */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { DatabaseError } from 'pg';
import { atMost } from '../../concurrency.js';
import { bug, busy, issue, never, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import {
  ConstraintFault,
  type Db,
  type ReadProgram,
  type Rows,
  readInside,
  type Statement,
  type Tx,
} from '../dialect.js';
import { readAddress, type Tls } from './address.js';
import { newCommits, type OwnTransaction, savepointIdsStatement } from './commits.js';
import { type Connection, type Patience, statementsSent } from './connection.js';
import { postgresBinding, postgresDialect } from './dialect.js';
import { type FaultKind, PostgresFault } from './faults.js';
import { GUARD_CODE, guarded } from './guard.js';
import { newLook } from './look.js';
import { newPeers } from './peers.js';
import { openConnections, type Prepared } from './pool.js';
import { beginning, patientTimeouts, sessionTimeouts, type TransactionKind } from './settings.js';
import { lookStatement } from './states.js';

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
  const commits = newCommits(
    async () => (await look.now()) ?? stateIn(await repeated(() => alone(lookStatement), always)),
    (statement) => repeated(() => alone(statement), always),
    peers,
  );
  let reportedAt = Number.NEGATIVE_INFINITY;

  // ---- transactions

  const begin = (
    kind: TransactionKind,
    connection: Connection,
    onBegun: (rows: Rows) => void = ignore,
  ): Promise<void> => connection.begin(beginning(kind, connection, address.searchPath), onBegun);

  /** Rolls back a failed transaction; returns its first error. */
  const abandon = async (connection: Connection, fault: unknown): Promise<unknown> => {
    const isOfDatabase = fault instanceof PostgresFault || fault instanceof ConstraintFault;
    // code of the project may have caught it, and thrown another
    const cause = connection.interference() ?? (isOfDatabase ? (connection.fault() ?? fault) : fault);
    await connection.rollback().catch(ignore);
    connection.release();
    return cause;
  };

  /** @param behind a statement to be sent with the first ones; it sees what they see, or a later state. */
  const readOnce = async <T>(
    program: ReadProgram<T>,
    behind: Statement | null = null,
  ): Promise<{ readonly result: T; readonly rowsBehind: Rows }> => {
    const connection = await connections.acquire('total');
    try {
      const step = program.next();
      // one statement has one snapshot, and the session has the settings
      const isWhole = connection.isDirect && !step.done && step.value.some((it) => it.isWhole);
      // sent with the first statements
      const began = isWhole ? null : begin('read', connection);
      began?.catch(ignore);
      const running = runProgram(program, step, connection);
      const sent = behind && connection.send(behind);
      sent?.catch(ignore);
      const result = await running;
      await began;
      const rowsBehind = (await sent) ?? [];
      if (isWhole) connection.release();
      // the result is complete: no need to wait for the commit
      else connection.end([commit]).catch(ignore).then(connection.release);
      return { result, rowsBehind };
    } catch (fault) {
      throw await abandon(connection, fault);
    }
  };

  const read = async <T>(program: ReadProgram<T>): Promise<T> => (await readOnce(program)).result;

  const readThenCatchUp = async <T>(program: ReadProgram<T>): Promise<T> => {
    const { result, rowsBehind } = await readOnce(program, lookStatement);
    await commits.notice(stateIn(rowsBehind));
    return result;
  };

  /** @param mayRely whether statements may be sent that rely on guards before them. */
  const writeOnce = async <T>(
    kind: WriteKind,
    work: (tx: Tx) => Promise<T>,
    mayRely: boolean,
    onBegun: () => void,
  ): Promise<T> => {
    const connection = await connections.acquire(patienceOf[kind]);
    const own = commits.begin();
    let isFinishing = false;
    let ending: Promise<string> | null = null;
    /** Whether a guard has not been answered, or has failed. */
    let isGuarded = false;
    const end = (): Promise<string> => {
      const announcement = peers.announcement(own.ids, own.writes);
      return connection.end(announcement === null ? [commit] : [announcement, commit]);
    };
    try {
      const began = begin(kind, connection, ([row = []]) => {
        own.begun(String(row[0]));
        onBegun();
      });
      began.catch(ignore);
      const sendOne = sendingFor(own, connection);
      const send: Tx['run'] = (statement) => {
        if (ending) return Promise.reject(bug('postgres.statement-after-commit', {}));
        return statement.isGuard ? sendGuard(statement) : sendOne(statement);
      };
      const sendGuard: Tx['run'] = async (statement) => {
        isGuarded = true;
        const rows = await sendOne(statement);
        // a later division by zero is somebody else's
        isGuarded = false;
        return rows;
      };
      const runAll: Tx['runAll'] = (statements) => Promise.all(statements.map(send));
      /** Sends a read with the commit behind it, if it can fail in the server only. */
      const readLast = async (statements: readonly Statement[]): Promise<readonly Rows[]> => {
        const last = statements.length === 1 && isFinishing && own.ids.length > 0 ? guarded(statements[0]!) : null;
        if (!last) return runAll(statements);
        const read = send(last);
        ending = end();
        const [rows] = await Promise.all([read, ending]);
        return [rows];
      };
      const result = await work({
        run: send,
        runAll,
        readPlanned: (read) => readInside(read.begin(read.plan, read.values, postgresBinding), { runAll: readLast }),
        finish: () => {
          // what others have kept it from writing is looked at before the commit
          isFinishing = mayRely && connection.interference() === null;
        },
        mayLockLate: mayRely,
      });
      await began;
      // nothing is committed without what others have kept it from writing, if code has gone on behind a savepoint
      const interference = ending ? null : connection.interference();
      if (interference) throw interference;
      const tag = await (ending ?? end());
      // the transaction fails even if the work caught the error
      if (tag !== 'COMMIT') throw connection.fault() ?? bug('postgres.not-committed', { tag });
      connection.release();
      return result;
    } catch (fault) {
      const cause = await abandon(connection, fault);
      throw (ending || isGuarded) && isGuardFault(cause) ? new PostgresFault('unsure', cause) : cause;
    } finally {
      own.ended();
    }
  };

  /** Sends statements, and records what they write. */
  const sendingFor =
    (own: OwnTransaction, connection: Connection): Connection['send'] =>
    (statement) => {
      own.sending(statement.sql);
      return endsSavepoint(statement) ? endSavepoint(statement, own, connection) : connection.send(statement);
    };

  const endSavepoint = async (statement: Statement, own: OwnTransaction, connection: Connection): Promise<Rows> => {
    const [ids, rows] = await Promise.all([connection.send(savepointIdsStatement), connection.send(statement)]);
    own.foundIds(ids);
    return rows;
  };

  // ---- retries

  const repeated = async <T>(attempt: () => Promise<T>, mayRepeat: (kind: FaultKind) => boolean): Promise<T> => {
    const failed: Partial<Record<FaultKind, number>> = {};
    for (;;) {
      try {
        return await attempt();
      } catch (fault) {
        if (!(fault instanceof PostgresFault)) throw fault;
        if (fault.kind === 'unprepared') connections.stopPreparing();
        if (fault.kind === 'standby') connections.useNextHost();
        const attempts = (failed[fault.kind] ?? 0) + 1;
        failed[fault.kind] = attempts;
        if (attempts >= attemptsMax[fault.kind] || !mayRepeat(fault.kind)) throw refusalOf(fault);
        // let the pool notice other connections that broke at the same time
        await setImmediate();
      }
    }
  };

  const refusalOf = (fault: PostgresFault): Error => {
    switch (fault.kind) {
      case 'slow':
        return tooSlow();
      case 'large':
        return new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }));
      case 'conflict':
      case 'stale':
      case 'unprepared':
      case 'lost':
      case 'standby':
      case 'busy':
      case 'full':
        if (performance.now() - reportedAt > 1000) {
          reportedAt = performance.now();
          onUnavailable(fault);
        }
        return fault.kind === 'full'
          ? Object.assign(new Refusal(issue('database.full', [])), { cause: fault })
          : busy(fault);
      case 'unsure':
      case 'aborted':
      case 'statement':
        return fault;
      default:
        return never(fault.kind);
    }
  };

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
      return writeOnce(kind, work, mayRely, () => {
        hasBegun = true;
      });
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

  const alone = async (statement: Statement): Promise<Rows> => {
    const connection = await connections.acquire('total');
    try {
      return await connection.send(statement);
    } finally {
      connection.release();
    }
  };

  try {
    const [[collation] = []] = await alone(collationStatement);
    const dialect = postgresDialect(collation === undefined ? null : String(collation));
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

const tooSlow = (): Refusal => new Refusal(issue('read.too-slow', [], { max: limits.readMsMax }));

/** Attempts per transaction that may end in a failure, by its kind. */
const attemptsMax: Readonly<Record<FaultKind, number>> = {
  conflict: 3,
  stale: 3,
  unprepared: 2,
  unsure: 2,
  lost: 2,
  standby: 1,
  busy: 1,
  full: 1,
  slow: 1,
  large: 1,
  aborted: 1,
  statement: 1,
};

type WriteKind = Exclude<TransactionKind, 'read'>;
const patienceOf: Readonly<Record<WriteKind, Patience>> = { write: 'silence', patient: 'hooks', alone: 'never' };

const isGuardFault = (fault: unknown): fault is PostgresFault =>
  fault instanceof PostgresFault && (fault.cause as Partial<DatabaseError>).code === GUARD_CODE;

const endsSavepoint = ({ sql }: Statement): boolean => sql.startsWith('release savepoint');

/** ICU knows neither SQL_ASCII (0) nor MULE_INTERNAL (7). */
const collationStatement = fixedStatement(
  `select collname from pg_collation, (select encoding from pg_database where datname = current_database()) d
    where collname in ('und-x-icu', 'C.utf8', 'C.UTF-8') and collencoding in (-1, encoding)
      and (collprovider <> 'i' or encoding not in (0, 7))
    order by collname = 'und-x-icu' desc limit 1`,
);
const commit = fixedStatement('commit');
const healthStatement = fixedStatement('select 1');

/** @param step the first one. */
const runProgram = async <T>(
  program: ReadProgram<T>,
  step: IteratorResult<readonly Statement[], T>,
  connection: Connection,
): Promise<T> => {
  const deadline = performance.now() + limits.readMsMax;
  while (!step.done) {
    const rows = await Promise.all(step.value.map(connection.send));
    if (performance.now() > deadline) throw tooSlow();
    step = program.next(rows);
  }
  return step.value;
};
