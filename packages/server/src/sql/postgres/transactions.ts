/** Transactions on connections of the pool, each attempted once: `open.ts` repeats what fails. */
import type { DatabaseError } from 'pg';
import { bug } from '../../errors.js';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import { ConstraintFault, type ReadProgram, type Rows, readInside, type Statement, type Tx } from '../dialect.js';
import { type Commits, type OwnTransaction, savepointIdsStatement } from './commits.js';
import type { Connection, Patience } from './connection.js';
import { postgresBinding } from './dialect.js';
import { PostgresFault, tooSlow } from './faults.js';
import { GUARD_CODE, guarded } from './guard.js';
import type { Peers } from './peers.js';
import type { Connections } from './pool.js';
import { beginning, type TransactionKind } from './settings.js';

/** Errors are those of the database (`PostgresFault`, `ConstraintFault`), and of the work. */
export interface Transactions {
  /**
   * Runs a program in one snapshot.
   * @param behind a statement to be sent with the first ones; it sees what they see, or a later state. Null for none.
   */
  read<T>(program: ReadProgram<T>, behind: Statement | null): Promise<Snapshot<T>>;
  write<T>(work: (tx: Tx) => Promise<T>, options: WriteOptions): Promise<T>;
}

export interface Snapshot<T> {
  readonly result: T;
  readonly rowsBehind: Rows;
}

export type WriteKind = Exclude<TransactionKind, 'read'>;

export interface WriteOptions {
  readonly kind: WriteKind;
  /** Whether statements may be sent that rely on guards before them. */
  readonly mayRely: boolean;
  /** Called once the transaction has begun. */
  readonly onBegun: () => void;
}

export interface TransactionsOptions {
  readonly connections: Pick<Connections, 'acquire'>;
  /** That of the address. */
  readonly searchPath: string | null;
  readonly commits: Pick<Commits, 'begin'>;
  readonly peers: Pick<Peers, 'announcement'>;
}

export const newTransactions = ({ connections, searchPath, commits, peers }: TransactionsOptions): Transactions => {
  const begin = (
    kind: TransactionKind,
    connection: Connection,
    onBegun: (rows: Rows) => void = ignore,
  ): Promise<void> => connection.begin(beginning(kind, connection, searchPath), onBegun);

  /** Rolls back a failed transaction; returns its first error. */
  const abandon = async (connection: Connection, fault: unknown): Promise<unknown> => {
    const isOfDatabase = fault instanceof PostgresFault || fault instanceof ConstraintFault;
    // code of the project may have caught it, and thrown another
    const cause = connection.interference() ?? (isOfDatabase ? (connection.fault() ?? fault) : fault);
    await connection.rollback().catch(ignore);
    connection.release();
    return cause;
  };

  const read: Transactions['read'] = async (program, behind) => {
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

  const write: Transactions['write'] = async (work, { kind, mayRely, onBegun }) => {
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

  return { read, write };
};

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

const patienceOf: Readonly<Record<WriteKind, Patience>> = { write: 'silence', patient: 'hooks', alone: 'never' };

const isGuardFault = (fault: unknown): fault is PostgresFault =>
  fault instanceof PostgresFault && (fault.cause as Partial<DatabaseError>).code === GUARD_CODE;

const endsSavepoint = ({ sql }: Statement): boolean => sql.startsWith('release savepoint');

const commit = fixedStatement('commit');

const ignore = (): void => undefined;
