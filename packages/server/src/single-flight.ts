/** Concurrent calls for the same value share one computation, and calls within a time share its result. */
import { setImmediate } from 'node:timers';
import type { Ready } from './ready.js';

export interface SingleFlight<T> {
  /** The result of the computation in flight for this key, which may have begun before this call, or of a new one. */
  join(key: string, compute: () => Promise<T>): Promise<T>;
  /** Later calls do not join computations that have begun by now. */
  forget(): void;
}

export const newSingleFlight = <T>(): SingleFlight<T> => {
  const running = new Map<string, Promise<T>>();
  return {
    join: (key, compute) => {
      const existing = running.get(key);
      if (existing) return existing;
      const started = compute().finally(() => {
        if (running.get(key) === started) running.delete(key);
      });
      running.set(key, started);
      return started;
    },
    forget: () => running.clear(),
  };
};

/**
 * Shares a computation only among calls made before it began, so that no caller gets a result older than its call. It begins two
 * turns of the event loop from now: the first reads requests that have arrived already, the second those that clients send when they
 * get the answers of the first. So more of them share it.
 */
export const shareNext = <T>(compute: () => Promise<T>): (() => Promise<T>) => {
  let isRunning = false;
  let next: Promise<T> | null = null;
  let begin: () => void;
  const end = (): void => {
    isRunning = false;
    if (next) afterTwoTurns(begin);
  };
  return () => {
    if (next) return next;
    next = new Promise((resolve, reject) => {
      begin = () => {
        next = null;
        isRunning = true;
        compute().then(resolve, reject).finally(end);
      };
    });
    if (!isRunning) afterTwoTurns(begin);
    return next;
  };
};

const afterTwoTurns = (work: () => void): void => {
  setImmediate(() => setImmediate(work));
};

/**
 * The same for a short computation: the first call in a turn of the event loop computes at once, so that one alone waits for nobody, and
 * further calls of that turn share the next computation. Null: nothing has to be waited for.
 */
export const shareInTurn = (compute: () => Promise<void> | null): (() => Promise<void> | null) => {
  let isFirst = true;
  let next: Promise<void> | null = null;
  const computeNext = async (): Promise<void> => {
    await new Promise(setImmediate);
    next = null;
    await compute();
  };
  return () => {
    if (!isFirst) {
      next ??= computeNext();
      return next;
    }
    isFirst = false;
    setImmediate(() => {
      isFirst = true;
    });
    return compute();
  };
};

export interface Recent<T> {
  /** The value as it was at most `maxMs` ago. */
  current(): Ready<T>;
  /** Later calls get a value that is read after this one. */
  forget(): void;
}

/** @param now milliseconds, monotonic. */
export const newRecent = <T>(read: () => Promise<T>, maxMs: number, now: () => number): Recent<T> => {
  let known: { readonly value: T; readonly readAt: number } | null = null;
  const singleFlight = newSingleFlight<T>();
  let changes = 0;
  const renew = async (): Promise<T> => {
    const changesBefore = changes;
    const value = await read();
    // changed during the read, and a later read may have finished first
    if (changes !== changesBefore) return renew();
    known = { value, readAt: now() };
    return value;
  };
  return {
    current: () => (known && now() - known.readAt <= maxMs ? known.value : singleFlight.join('', renew)),
    forget: () => {
      changes += 1;
      known = null;
      singleFlight.forget();
    },
  };
};
