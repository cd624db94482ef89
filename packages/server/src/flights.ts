/** Questions that many ask at the same time and that are asked once. */

export interface Flights<T> {
  /** The answer that is under way for the key, or a new one: it may have begun before this call. */
  join(key: string, ask: () => Promise<T>): Promise<T>;
  /** Nobody joins what has begun by now. */
  forget(): void;
}

export const newFlights = <T>(): Flights<T> => {
  const running = new Map<string, Promise<T>>();
  return {
    join: (key, ask) => {
      const known = running.get(key);
      if (known) return known;
      const begun = ask().finally(() => {
        if (running.get(key) === begun) running.delete(key);
      });
      running.set(key, begun);
      return begun;
    },
    forget: () => running.clear(),
  };
};

/** Shares an answer only with calls that came before it was asked for: no answer is older than its asking. */
export const shareNext = <T>(ask: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  const start = (): Promise<T> => {
    const asked = ask();
    running = asked;
    const done = (): void => {
      if (running === asked) running = null;
    };
    asked.then(done, done);
    return asked;
  };
  return () => {
    if (!running) return start();
    const begin = (): Promise<T> => {
      next = null;
      return start();
    };
    next ??= running.then(begin, begin);
    return next;
  };
};
