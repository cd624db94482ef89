/** A PostgreSQL connection during one transaction. */
import type { PoolClient } from 'pg';
import { bug } from '../../errors.js';
import { limits } from '../../limits.js';
import type { ConstraintFault, Rows, Statement } from '../dialect.js';
import { endsConnection, faultOf, PostgresFault } from './faults.js';
import { newFlight, type Outcome, type PreparedStatements, type Sent } from './flight.js';
import { mayWait } from './waits.js';

/** Its functions throw `PostgresFault` or `ConstraintFault`. */
export interface Connection {
  /** Rows of a statement. Statements sent in one turn of the event loop go out as one packet and run in order. */
  send(statement: Statement): Promise<Rows>;
  /**
   * Begins a transaction. Statements sent in the same turn go out with it and do not run if it fails; later ones wait until
   * it has succeeded, because outside of a transaction they would take effect.
   * @param onBegun gets the rows of the last statement before any statement that was sent with it is answered.
   */
  begin(statements: readonly Statement[], onBegun: (rows: Rows) => void): Promise<void>;
  /** Sends statements as `send` does; returns the command tag of the last one. */
  end(statements: readonly Statement[]): Promise<string>;
  /** Rolls back; statements that have not been sent never are. */
  rollback(): Promise<void>;
  /** Runs a fixed text of one or more statements. */
  command(text: string): Promise<void>;
  /** The first error since the last successful statement: the one that made the transaction fail. */
  fault(): Error | null;
  /** The first error that others have caused, by locks or load, also if a savepoint has undone what failed. */
  interference(): Error | null;
  /** Whether statements are prepared by name. */
  readonly isNamed: boolean;
  /** Whether it ends at the server itself, not at a pooler: the settings hold for the session. */
  readonly isDirect: boolean;
  /** Returns the connection to the pool. One that is broken, or still in a transaction, is closed instead. */
  release(): void;
}

/**
 * When to close a connection whose server does not respond: `limits.silenceMsMax` after it was acquired (`total`) or after
 * the last response (`silence`), later where a statement may wait for locks that code of the project keeps (`hooks`). `never`
 * relies on TCP keepalive.
 */
export type Patience = 'total' | 'silence' | 'hooks' | 'never';

/** What is known of a connection once it has been checked. */
export interface Checked {
  /** Null if it prepares no statements by name. */
  readonly prepared: PreparedStatements | null;
  readonly isDirect: boolean;
}

interface Waiting extends Sent {
  readonly refuse: (fault: Error) => void;
}

const isSilence = (patience: Patience): boolean => patience === 'silence' || patience === 'hooks';

let sent = 0;
/** Statements sent by connections of this process. */
export const statementsSent = (): number => sent;

/** @param onRelease called with whether the connection may be reused. */
export const connectionOf = (
  client: PoolClient,
  { prepared, isDirect }: Checked,
  patience: Patience,
  onRelease: (isReusable: boolean) => void,
): Connection => {
  let isOpen = true;
  /** Statements of this turn, or those that wait for `begin`. */
  let waiting: Waiting[] = [];
  let isScheduled = false;
  let beginning: 'none' | 'to be sent' | 'sent' | 'failed' = 'none';
  let pending = 0;
  let answers = 0;
  let progressAt = performance.now();
  let firstFault: Error | null = null;
  let interference: Error | null = null;
  let broken: PostgresFault | null = null;
  /** Until when the server may be silent. */
  let silentUntil = progressAt + limits.silenceMsMax;
  const lockMs = patience === 'hooks' ? limits.hookLockMsMax : limits.lockMsMax;

  const watch = (): void => {
    const now = performance.now();
    if (isSilence(patience) && pending === 0) silentUntil = now + limits.silenceMsMax;
    if (now < silentUntil) {
      timer = setTimeout(watch, silentUntil - now + 1);
      return;
    }
    // a server that has responded before is alive, so the statement is slow
    const kind = patience === 'total' && answers > 0 ? 'slow' : 'busy';
    broken ??= new PostgresFault(kind, new Error(`no answer within ${limits.silenceMsMax} ms`));
    stream.destroy();
  };
  let timer = patience === 'never' ? undefined : setTimeout(watch, limits.silenceMsMax);

  const { stream } = client.connection;
  let received = 0;
  /** The driver keeps all rows of a statement until it ends. */
  const checkSize = (chunk: Buffer): void => {
    received += chunk.length;
    if (received <= limits.receivedBytesMax) return;
    broken ??= new PostgresFault('large', new Error(`more than ${limits.receivedBytesMax} bytes`));
    stream.destroy();
  };
  if (patience === 'total') stream.on('data', checkSize);

  /** @param text of the statement that has failed. */
  const recordFault = (fault: PostgresFault | ConstraintFault, text: string): PostgresFault | ConstraintFault => {
    // cancelled before the statement timeout can have fired: by someone else
    const isCanceled = performance.now() - progressAt < limits.readMsMax * 0.9;
    // what waits for locks is not slow by itself
    const isOthers = fault.kind === 'slow' && (isCanceled || mayWait(text));
    const actual = isOthers ? new PostgresFault('busy', fault) : fault;
    if (endsConnection(actual)) broken ??= actual;
    const cause = broken ?? actual;
    firstFault ??= cause;
    if (cause.kind === 'conflict' || cause.kind === 'busy') interference ??= cause;
    return cause;
  };

  /** To be called when something is sent. @param statements how many. */
  const progress = (statements: number): void => {
    progressAt = performance.now();
    // several answer together, and one of them may have waited for a lock
    if (isSilence(patience))
      silentUntil = progressAt + limits.silenceMsMax + (statements > 1 || patience === 'hooks' ? lockMs : 0);
  };

  // ---- flights

  const fly = (statements: readonly Waiting[]): void => {
    const begins = beginning === 'to be sent';
    if (begins) beginning = 'sent';
    if (pending === 0) progress(statements.length);
    pending += 1;
    const end = (): void => {
      pending -= 1;
      progress(0);
    };
    const landed = (): void => {
      end();
      answers += 1;
      // a failed transaction also answers to `commit`
      if (client.getTransactionStatus() === 'T') firstFault = null;
    };
    const failed = (fault: unknown, at: number): void => {
      if (at > 0) firstFault = null;
      const faults = statements
        .slice(at)
        .map(({ statement }, i) => recordFault(i === 0 ? faultOf(fault) : notRun(), statement.sql));
      end();
      faults.forEach((it, i) => {
        statements[at + i]!.refuse(it);
      });
    };
    sent += statements.length;
    client.query(newFlight({ statements, prepared, landed, failed }));
  };

  const flush = (): void => {
    isScheduled = false;
    if (waiting.length === 0 || beginning === 'sent') return;
    const statements = waiting;
    waiting = [];
    if (beginning !== 'failed') fly(statements);
    else for (const it of statements) it.refuse(recordFault(notRun(), it.statement.sql));
  };

  /** One promise for each statement, and no function that waits in between: a write sends many. */
  const submit = <T>(statement: Statement, resultOf: (outcome: Outcome) => T): Promise<T> =>
    new Promise((resolve, refuse) => {
      if (!isOpen) throw bug('postgres.statement-after-transaction', {});
      if (!isScheduled) {
        isScheduled = true;
        process.nextTick(flush);
      }
      waiting.push({ statement, done: (outcome) => resolve(resultOf(outcome)), refuse });
    });

  /** @param resultOf of the last one. */
  const submitAll = async <T>(statements: readonly Statement[], resultOf: (outcome: Outcome) => T): Promise<T> => {
    const before = statements.slice(0, -1).map((it) => submit(it, rowsOf));
    const last = submit(statements.at(-1)!, resultOf);
    await Promise.all([...before, last]);
    return last;
  };

  const command = async (text: string): Promise<void> => {
    if (!isOpen) throw bug('postgres.statement-after-transaction', {});
    if (pending === 0) progress(1);
    pending += 1;
    try {
      await client.query(text);
      answers += 1;
    } catch (fault) {
      throw recordFault(faultOf(fault), text);
    } finally {
      pending -= 1;
      progress(0);
    }
  };

  return {
    isNamed: prepared !== null,
    isDirect,
    send: (statement) => submit(statement, rowsOf),
    begin: async (statements, onBegun) => {
      beginning = 'to be sent';
      try {
        await submitAll(statements, ({ rows }) => onBegun(rows));
        beginning = 'none';
      } catch (fault) {
        beginning = 'failed';
        throw fault;
      } finally {
        flush();
      }
    },
    end: (statements) => submitAll(statements, tagOf),
    rollback: () => {
      beginning = 'failed';
      flush();
      return command('rollback');
    },
    command,
    fault: () => firstFault,
    interference: () => interference,
    release: () => {
      clearTimeout(timer);
      stream.off('data', checkSize);
      isOpen = false;
      onRelease(broken === null && pending === 0 && client.getTransactionStatus() === 'I');
    },
  };
};

const rowsOf = ({ rows }: Outcome): Rows => rows;
const tagOf = ({ tag }: Outcome): string => tag;

/** Of a statement behind one that has failed. */
const notRun = (): PostgresFault => new PostgresFault('aborted', new Error('an earlier statement has failed'));
