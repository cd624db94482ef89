/** Concurrent calls for the same value share one computation. */

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

/** Shares a computation only among calls made before it began, so that no caller gets a result older than its call. */
export const shareNext = <T>(compute: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  const start = (): Promise<T> => {
    const started = compute();
    running = started;
    const done = (): void => {
      if (running === started) running = null;
    };
    started.then(done, done);
    return started;
  };
  return () => {
    if (!running) return start();
    const startNext = (): Promise<T> => {
      next = null;
      return start();
    };
    next ??= running.then(startNext, startNext);
    return next;
  };
};
