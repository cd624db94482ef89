/**
 * Small writes in the server's thread, for the reasons of small reads. What a write does is not known before it runs, so each kind is
 * tried, and one that takes too long is undone: then the writing thread does it.
 */
import { Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Rows, Statement } from '../dialect.js';
import { type Connection, deadlineIn } from './connection.js';
import { newWriter } from './connections.js';
import type { DataVersion, Engine } from './engine.js';
import { newOwnTransaction } from './inline.js';
import { newPauses, type OwnTime } from './own-time.js';

export interface SmallWrites {
  readonly engine: Engine;
  isPaused(kind: object): boolean;
  /**
   * Runs a write whose transaction is this engine's, once all before it have ended. Null if it took too long and is undone.
   * @param write makes the transaction.
   */
  attempt<T>(kind: object, write: () => Promise<T>): Promise<{ readonly result: T } | null>;
}

/** @param connect opens another connection. @param elsewhere what else the engine does. */
export const newSmallWrites = (
  connect: (setup?: readonly string[]) => Connection,
  elsewhere: Engine,
  ownTime: OwnTime,
): SmallWrites => {
  const writer = newWriter({
    // what would undo a statement of so few rows fits into memory; by default, SQLite makes a file for each one
    connect: (setup = []) => connect([...setup, 'pragma temp_store = memory']),
    readOnly: false,
    checkpointsApart: true,
  });
  const pauses = newPauses();
  /** Of the current transaction. */
  let spent = 0;
  let isTooLong = false;
  const timed = <T>(work: () => T): T => {
    const from = performance.now();
    try {
      return work();
    } finally {
      const ms = performance.now() - from;
      spent += ms;
      ownTime.spend(ms);
    }
  };
  /** A transaction that is undone does no more, whatever its work catches. */
  const requireTime = (): void => {
    if (isTooLong || spent > limits.smallWriteMsMax) {
      isTooLong = true;
      throw new TooLong();
    }
  };
  const run = (statement: Statement): Rows => {
    requireTime();
    const deadline = { ...deadlineIn(limits.smallWriteMsMax - spent), changesMax: limits.smallWriteRowsMax };
    try {
      return timed(() => writer.run(statement, deadline));
    } catch (fault) {
      if (fault instanceof Refusal) isTooLong = true;
      throw fault;
    }
  };
  const commit = (): DataVersion => {
    // all is done, and an error would be taken for one of a commit that may have gone through
    if (isTooLong) throw new TooLong();
    return timed(writer.commit);
  };
  return {
    engine: {
      ...elsewhere,
      open: async () => writer.open(),
      begin: (options) =>
        newOwnTransaction(
          // to wait for the lock of another program is no work
          { begin: writer.begin, commit, abandon: () => timed(writer.abandon) },
          async (statements) => statements.map(run),
          options,
        ),
      dataVersion: writer.dataVersion,
      closeWriter: async () => writer.close(),
    },
    isPaused: pauses.isPaused,
    attempt: async (kind, write) => {
      await ownTime.yield();
      spent = 0;
      isTooLong = false;
      try {
        const result = await write();
        // the disk may be slow
        if (spent > limits.smallWriteMsMax) pauses.pause(kind);
        else pauses.ease(kind);
        return { result };
      } catch (fault) {
        if (!isTooLong) throw fault;
        pauses.pause(kind);
        return null;
      }
    },
  };
};

/** Nobody sees it: the write is repeated. */
class TooLong extends Error {}
