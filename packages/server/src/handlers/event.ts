/**
 * The content of one event, inside the transaction of a write. Its calls run one after the other, because each looks at
 * what the one before has left. Past the event's end there are none: the transaction is over by then, or somebody
 * else's.
 */
import { Refusal } from '../errors.js';
import type { Content } from './handlers.js';

export interface EventContent {
  readonly content: Content;
  /** After the hook: waits for the calls that it did not wait for, then there are no more. Throws the fault that nobody may leave unseen. */
  finish(): Promise<void>;
  /** Lets no further call begin, and waits for the one that runs. */
  abort(): Promise<void>;
}

/** A call that failed. Whether the hook looked at how it ended is known when the hook has ended. */
interface Failure {
  readonly fault: unknown;
  readonly isSeen: () => boolean;
}

/**
 * @param title of the hook, for messages.
 * @param deadline milliseconds of `performance.now()`.
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
        // on SQLite calls alone would never let a timer have its turn
        if (performance.now() > deadline) await new Promise(setImmediate);
        if (isOver)
          throw new Error(`${title}: the event is over, and its content with it; await every call inside the hook`);
        return call(...args);
      });
      let isSeen = false;
      last = turn.catch((fault: unknown) => {
        // a failed call is undone, so a hook may live with a refusal that it waited for; any other fault must reach the log
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
      update: inTurn(content.update),
      delete: inTurn(content.delete),
    },
    finish: async () => {
      hasHookEnded = true;
      let waitedFor: unknown;
      while (waitedFor !== last) {
        waitedFor = last;
        await last;
        // what goes on behind a call may make another
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

/** The same promise, which tells when somebody waits for it. */
const watch = <T>(promise: Promise<T>, onLook: () => void): Promise<T> => ({
  // biome-ignore lint/suspicious/noThenProperty: `await` asks for it, and so says that somebody waits
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
