/** Bounds how much runs at a time. */

/** How long work waits for its turn, in milliseconds, and the error that it ends with after that. */
export interface Patience {
  readonly msMax: number;
  readonly late: () => Error;
}

/** Runs works, no more than so many at a time, first come, first served. @param patience null: they wait for as long as it takes. */
export const atMost = (max: number, patience: Patience | null = null): (<T>(work: () => Promise<T>) => Promise<T>) => {
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
        reject(patience?.late());
      };
      const timer = patience ? setTimeout(giveUp, patience.msMax) : undefined;
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
