/** Counts of login attempts in memory, for all workers of a supervisor. */
import { LRUCache } from 'lru-cache';
import type { CountAttempt } from '../http/attempts.js';
import { limits } from '../limits.js';

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
