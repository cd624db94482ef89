/** Bounds how much runs at a time. */

export interface AtMostOptions {
  /** Milliseconds after which a work that has not begun is given up; it waits for ever by default. */
  readonly waitMsMax?: number;
  /** Makes the error that it ends with. */
  readonly onLate?: () => Error;
}

/** Runs works, no more than so many at a time, first come, first served. */
export const atMost = (
  max: number,
  { waitMsMax, onLate = () => new Error('waited too long') }: AtMostOptions = {},
): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let free = max;
  const waiting = new Set<() => void>();
  const turn = (): Promise<void> =>
    new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = (): void => {
        waiting.delete(begin);
        reject(onLate());
      };
      const timer = waitMsMax === undefined ? undefined : setTimeout(giveUp, waitMsMax);
      waiting.add(begin);
    });
  return async (work) => {
    if (free > 0) free -= 1;
    else await turn();
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next) {
        waiting.delete(next);
        next();
      } else free += 1;
    }
  };
};
