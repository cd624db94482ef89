/**
 * The content of one event, inside the transaction of a write. Calls run sequentially, because each sees the results of
 * the previous one. Calls after the event are rejected: by then the transaction has ended, or the connection is in use
 * by another one.
 */
import { Refusal } from '../errors.js';
import type { Content } from './handlers.js';

export interface EventContent {
  readonly content: Content;
  /** Call after the hook: waits for calls that the hook did not await, then rejects further ones. Throws the first unhandled error. */
  finish(): Promise<void>;
  /** Rejects further calls and waits for the current one. */
  abort(): Promise<void>;
}

/** A failed call. Whether the hook handled the failure is known only once the hook has ended. */
interface Failure {
  readonly fault: unknown;
  readonly isSeen: () => boolean;
}

/**
 * @param title names the hook in messages.
 * @param deadline in milliseconds of `performance.now()`.
 */
export const newEventContent = (content: Content, title: string, deadline: number): EventContent => {
  let last: Promise<unknown> = Promise.resolve();
  let isOver = false;
  let hasHookEnded = false;
  const failures: Failure[] = [];

  const inTurn =
    <Args extends unknown[], T>(call: (...args: Args) => Promise<T>) =>
    (...args: Args): Promise<T> => {
      const turn = last.then(async () => {
        // SQLite calls never yield to the event loop, so the timer alone would not fire
        if (performance.now() > deadline) await new Promise(setImmediate);
        if (isOver)
          throw new Error(`${title}: content was used after the event ended; await every call inside the hook`);
        return call(...args);
      });
      let isSeen = false;
      last = turn.catch((fault: unknown) => {
        // a failed call is rolled back, so a hook may ignore a refusal that it awaited; any other error must reach the log
        const mayLive = fault instanceof Refusal && !hasHookEnded;
        failures.push({ fault, isSeen: () => mayLive && isSeen });
      });
      return watch(turn, () => {
        isSeen = true;
      });
    };

  return {
    content: {
      find: inTurn(content.find),
      findOne: inTurn(content.findOne),
      create: inTurn(content.create),
      createLocalization: inTurn(content.createLocalization),
      update: inTurn(content.update),
      delete: inTurn(content.delete),
    },
    finish: async () => {
      hasHookEnded = true;
      let waitedFor: unknown;
      while (waitedFor !== last) {
        waitedFor = last;
        await last;
        // code that continues after a call may make another one
        await new Promise(setImmediate);
      }
      isOver = true;
      const unseen = failures.find((it) => !it.isSeen());
      if (unseen) throw unseen.fault;
    },
    abort: async () => {
      isOver = true;
      await last;
    },
  };
};

/** The same promise, but reports when it is awaited. */
const watch = <T>(promise: Promise<T>, onLook: () => void): Promise<T> => ({
  // biome-ignore lint/suspicious/noThenProperty: `await` calls `then`, which shows that the promise is awaited
  then: (onValue, onFault) => {
    onLook();
    return promise.then(onValue, onFault);
  },
  catch: (onFault) => {
    onLook();
    return promise.catch(onFault);
  },
  finally: (onEnd) => {
    onLook();
    return promise.finally(onEnd);
  },
  [Symbol.toStringTag]: 'Promise',
});
