/** PostgreSQL as a `Db`: transactions, what is tried again, and what requests hear of faults. */
import { setImmediate } from 'node:timers/promises';
import { escapeLiteral } from 'pg';
import { bug, busy, issue, never, Refusal } from '../../errors.js';
import { shareNext } from '../../flights.js';
import { limits } from '../../limits.js';
import { fixedStatement } from '../compile.js';
import { ConstraintFault, type Db, type ReadProgram, type Rows, type Statement, type Tx } from '../dialect.js';
import { readAddress } from './address.js';
import type { Connection, Patience } from './connection.js';
import { postgresDialect } from './dialect.js';
import { type FaultKind, PostgresFault } from './faults.js';
import { openConnections, type Prepared } from './pool.js';

export interface PostgresOptions {
  /** `auto` when it is not given. */
  readonly prepared?: Prepared;
  /** Hears why requests are answered 503, once a second at most. */
  readonly onTrouble?: (fault: Error) => void;
}

/** Opens a server by URL. Throws, in words for a person, when the URL cannot be read or the server cannot be reached. */
export const openPostgres = async (
  url: string,
  { prepared = 'auto', onTrouble = () => undefined }: PostgresOptions = {},
): Promise<Db> => {
  const address = readAddress(url);
  const connections = openConnections(address, prepared);
  let toldAt = Number.NEGATIVE_INFINITY;

  // ---- transactions

  const begin = (kind: TransactionKind, connection: Connection): Promise<string> =>
    connection.command(beginning(kind, connection.isNamed, address.searchPath));

  /** Undoes what a fault has ended; gives the fault that came first. */
  const abandon = async (connection: Connection, fault: unknown): Promise<unknown> => {
    const isOfDatabase = fault instanceof PostgresFault || fault instanceof ConstraintFault;
    const cause = isOfDatabase ? (connection.fault() ?? fault) : fault;
    await connection.command('rollback').catch(ignore);
    connection.give();
    return cause;
  };

  const readOnce = async <T>(program: ReadProgram<T>): Promise<T> => {
    const connection = await connections.take(transactions.read.patience);
    try {
      // travels with the first statements, and is answered before them
      const began = begin('read', connection);
      began.catch(ignore);
      const result = await runProgram(program, connection);
      await began;
      // what was read is known: nobody needs to wait for the end
      connection.command('commit').catch(ignore).then(connection.give);
      return result;
    } catch (fault) {
      throw await abandon(connection, fault);
    }
  };

  const writeOnce = async <T>(kind: 'write' | 'alone', work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await connections.take(transactions[kind].patience);
    try {
      // statements that came with it would run without a transaction if it fails
      await begin(kind, connection);
      const result = await work(connection);
      const ending = await connection.command('commit');
      // a fault that the work has caught undoes everything all the same
      if (ending !== 'COMMIT') throw connection.fault() ?? bug('postgres.not-committed', { ending });
      connection.give();
      return result;
    } catch (fault) {
      throw await abandon(connection, fault);
    }
  };

  // ---- what is tried again

  const repeated = async <T>(attempt: () => Promise<T>, mayRepeat: (kind: FaultKind) => boolean): Promise<T> => {
    for (let attempts = 1; ; attempts++) {
      try {
        return await attempt();
      } catch (fault) {
        if (!(fault instanceof PostgresFault)) throw fault;
        if (fault.kind === 'unprepared') connections.stopNaming();
        if (fault.kind === 'standby') connections.turnAway();
        if (attempts >= attemptsMax[fault.kind] || !mayRepeat(fault.kind)) throw refusalOf(fault);
        // connections that broke together are noticed first
        await setImmediate();
      }
    }
  };

  const refusalOf = (fault: PostgresFault): Error => {
    switch (fault.kind) {
      case 'slow':
        return tooSlow();
      case 'conflict':
      case 'stale':
      case 'unprepared':
      case 'lost':
      case 'standby':
      case 'busy':
        if (performance.now() - toldAt > 1000) {
          toldAt = performance.now();
          onTrouble(fault);
        }
        return busy(fault);
      case 'aborted':
      case 'statement':
        return fault;
      default:
        return never(fault.kind);
    }
  };

  const written = async <T>(kind: 'write' | 'alone', work: (tx: Tx) => Promise<T>): Promise<T> => {
    let hasBegun = false;
    const attempt = (): Promise<T> => {
      hasBegun = false;
      return writeOnce(kind, (connection) => {
        hasBegun = true;
        return work({
          run: connection.send,
          runAll: (statements) => Promise.all(statements.map(connection.send)),
        });
      });
    };
    // after that nobody knows how far it got
    return repeated(attempt, (fault) => fault !== 'lost' || !hasBegun);
  };

  const alone = async (statement: Statement): Promise<Rows> => {
    const connection = await connections.take('total');
    try {
      return await connection.send(statement);
    } finally {
      connection.give();
    }
  };

  try {
    const [[collation] = []] = await alone(collationStatement);
    return {
      dialect: postgresDialect(collation === undefined ? null : String(collation)),
      place: address.place,
      version: shareNext(async () => {
        const [[text] = []] = await repeated(() => alone(snapshotStatement), always);
        return String(text);
      }),
      read: (program) => repeated(() => readOnce(program()), always),
      write: (work) => written('write', work),
      writeAlone: (work) => written('alone', work),
      isHealthy: () => repeated(() => alone(snapshotStatement), always).then(always, () => false),
      close: connections.close,
    };
  } catch (fault) {
    await connections.close();
    throw new Error(`Cannot connect to PostgreSQL at ${address.place}: ${(fault as Error).message}`, { cause: fault });
  }
};

const ignore = (): void => undefined;
const always = (): boolean => true;

const tooSlow = (): Refusal => new Refusal(issue('read.too-slow', [], { max: limits.readMsMax }));

/** How often a transaction is tried that ends so. */
const attemptsMax: Readonly<Record<FaultKind, number>> = {
  conflict: 3,
  stale: 3,
  unprepared: 2,
  lost: 2,
  standby: 1,
  busy: 1,
  slow: 1,
  aborted: 1,
  statement: 1,
};

type TransactionKind = 'read' | 'write' | 'alone';

const transactions: Readonly<Record<TransactionKind, { readonly patience: Patience; readonly begin: string }>> = {
  read: {
    patience: 'total',
    begin: `begin isolation level repeatable read read only; ${timeouts(limits.readMsMax, limits.lockMsMax)}`,
  },
  write: { patience: 'silence', begin: `begin; ${timeouts(limits.readMsMax, limits.lockMsMax)}` },
  alone: {
    patience: 'never',
    begin: `begin; ${timeouts(0, limits.startLockMsMax)}; select pg_advisory_xact_lock(hashtext('dovetail start'))`,
  },
};

function timeouts(statementMs: number, lockMs: number): string {
  return `set local statement_timeout = ${statementMs}; set local lock_timeout = ${lockMs}`;
}

/**
 * Settings hold for one transaction: a pooler gives every transaction another server, and refuses most settings of a
 * connection. They travel with the beginning, so they cost no round trip.
 */
const beginning = (kind: TransactionKind, isNamed: boolean, searchPath: string | null): string => {
  const settings = [
    'set local jit = off',
    // statements are run often: planning one takes longer than running it
    ...(isNamed ? ['set local plan_cache_mode = force_generic_plan'] : []),
    ...(searchPath === null ? [] : [`select set_config('search_path', ${escapeLiteral(searchPath)}, true)`]),
  ];
  return [transactions[kind].begin, ...settings].join('; ');
};

const collationStatement = fixedStatement(
  `select collname from pg_collation where collname in ('und-x-icu', 'C.utf8', 'C.UTF-8') order by collname = 'und-x-icu' desc limit 1`,
);
const snapshotStatement = fixedStatement('select pg_current_snapshot()::text');

const runProgram = async <T>(program: ReadProgram<T>, connection: Connection): Promise<T> => {
  const deadline = performance.now() + limits.readMsMax;
  let step = program.next();
  while (!step.done) {
    const rows = await Promise.all(step.value.map(connection.send));
    if (performance.now() > deadline) throw tooSlow();
    step = program.next(rows);
  }
  return step.value;
};
