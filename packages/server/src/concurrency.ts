/** Bounds how much runs at a time. */

/** Runs works, no more than so many at a time, first come, first served. */
export const atMost = (max: number): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let free = max;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
};
