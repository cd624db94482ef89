/**
 * Small writes in the server's thread, for the reasons of small reads. What a write does is not known before, so each kind is tried, and
 * one that takes too long is undone: then the writing thread does it.
 */
import { Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { type Connection, deadlineIn } from './connection.js';
import { newWriter } from './connections.js';
import type { Engine } from './engine.js';
import { newOwnTransaction } from './inline.js';
import { newPauses, type Turn } from './own-time.js';

export interface SmallWrites {
  readonly engine: Engine;
  isPaused(kind: object): boolean;
  /**
   * Runs a write, all of whose transaction is this engine's; to be called in its turn. Null if it took too long and is undone.
   * @param write makes the transaction.
   */
  attempt<T>(kind: object, write: () => Promise<T>): Promise<{ readonly result: T } | null>;
}

/** @param connect opens another connection. @param elsewhere what else the engine does. */
export const newSmallWrites = (
  connect: (setup?: readonly string[]) => Connection,
  elsewhere: Engine,
  turn: Turn,
): SmallWrites => {
  const writer = newWriter({ connect, readOnly: false, checkpointsApart: true });
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
      turn.spend(ms);
    }
  };
  /** A transaction that is undone does no more, whatever it catches. */
  const inTime = <T>(work: () => T): T => {
    if (isTooLong || spent > limits.smallWriteMsMax) {
      isTooLong = true;
      throw new TooLong();
    }
    try {
      return timed(work);
    } catch (fault) {
      if (fault instanceof Refusal) isTooLong = true;
      throw fault;
    }
  };
  const strictDeadline = () => ({ ...deadlineIn(limits.smallWriteMsMax - spent), isStrict: true });
  return {
    engine: {
      ...elsewhere,
      open: async () => writer.open(),
      begin: (options) =>
        newOwnTransaction(
          {
            begin: () => inTime(writer.begin),
            commit: () => inTime(writer.commit),
            abandon: () => timed(writer.abandon),
          },
          async (statements) => statements.map((it) => inTime(() => writer.run(it, strictDeadline()))),
          options,
        ),
      dataVersion: writer.dataVersion,
      closeWriter: async () => writer.close(),
    },
    isPaused: pauses.isPaused,
    attempt: async (kind, write) => {
      await turn.yield();
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
