/**
 * Small reads in the server's thread. There they cost half of what they do in another one: nothing is sent, nobody is woken,
 * and the file is mapped into memory. They have little time, each and together.
 */
import { Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { PlannedRead } from '../dialect.js';
import { sqliteBinding } from './binding.js';
import type { Connection } from './connection.js';
import { beginSnapshot, runProgram } from './connections.js';
import type { Cost } from './engine.js';
import { newPauses, type OwnTime } from './own-time.js';

/** Whether a plan has shown in threads that its reads are small. */
export const isKnownSmall = (cost: Cost | null): boolean =>
  cost !== null && cost.ms !== null && cost.ms < limits.knownSmallReadMsMax && cost.runs >= limits.knownSmallReadsMin;

export interface SmallReads {
  /**
   * Null if it is to be done elsewhere: there is no time left, it takes longer than expected, or it fails. Whatever the error, the read
   * is repeated there, and fails again if it must.
   * @param cost of its plan in threads, where it must prove itself again if it takes too long here.
   */
  read<Plan extends object, Values, T>(
    read: PlannedRead<Plan, Values, T>,
    cost: Cost | null,
  ): { readonly result: T } | null;
  close(): void;
}

/** @param connect opens another connection. @param threads that could do it instead. */
export const newSmallReads = (connect: () => Connection, threads: () => number, ownTime: OwnTime): SmallReads => {
  let connection: Connection | null = null;
  const pauses = newPauses();

  const run = <Plan extends object, Values, T>({ plan, values, begin }: PlannedRead<Plan, Values, T>): T => {
    connection ??= connect();
    const snapshot = beginSnapshot(connection, { statementMs: limits.smallReadMsMax, totalMs: limits.smallReadMsMax });
    try {
      return runProgram(begin(plan, values, sqliteBinding), (it) => snapshot.run(it));
    } finally {
      snapshot.end();
    }
  };
  const close = (): void => {
    connection?.close();
    connection = null;
  };

  return {
    read: (planned, cost) => {
      const { plan } = planned;
      const now = performance.now();
      const pause = (): void => {
        pauses.pause(plan);
        if (cost) cost.runs = 0;
      };
      // the more threads there are, the sooner they take over
      if (ownTime.spent() > limits.ownTimeMsMax / Math.max(1, threads() - 1) || pauses.isPaused(plan)) return null;
      try {
        const result = run(planned);
        // long texts are rendered between two looks at the time
        if (performance.now() - now > limits.ownTimeMsMax) pause();
        else pauses.ease(plan);
        return { result };
      } catch (fault) {
        // on a busy machine any read may take long now and then
        if (fault instanceof Refusal) pause();
        if (connection?.isBroken()) close();
        return null;
      } finally {
        ownTime.spend(performance.now() - now);
      }
    },
    close,
  };
};
