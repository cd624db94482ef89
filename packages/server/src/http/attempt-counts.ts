/** Counts of login attempts in memory, for this process or all workers of a supervisor. */
import { LRUCache } from 'lru-cache';
import { limits } from '../limits.js';

/** Counts one attempt under a key, and returns how many there were in the window that the first of them opened. */
export type CountAttempt = (key: string, windowMs: number) => Promise<AttemptCount>;

export interface AttemptCount {
  /** This attempt included. */
  readonly count: number;
  /** Milliseconds until the window ends. */
  readonly msLeft: number;
}

export const newAttemptCounts = (): CountAttempt => {
  const counts = new LRUCache<string, { count: number; readonly endsAt: number }>({ max: limits.attemptCountersMax });
  return async (key, windowMs) => {
    const now = performance.now();
    const known = counts.get(key);
    const it = known && known.endsAt > now ? known : { count: 0, endsAt: now + windowMs };
    it.count += 1;
    counts.set(key, it);
    return { count: it.count, msLeft: it.endsAt - now };
  };
};
