/**
 * Code that decides whether a request goes on, and catches errors, would let everybody pass where it has met something of v4 that is not
 * here, or is refused here. What it has met is noted beside it, so that the request ends instead, wherever the code that used it stands.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type Koa from 'koa';
import { isThenable, type Ready } from '../../ready.js';

interface Guard {
  /** What it has met first. */
  missed: Error | null;
}

const guards = new AsyncLocalStorage<Guard>();

/** To be thrown: it ends the request of the guard that runs, even if that catches it. */
export const missed = (fault: Error): Error => {
  const guard = guards.getStore();
  if (guard) guard.missed ??= fault;
  return fault;
};

const refuseMissed = ({ missed: fault }: Guard): void => {
  if (fault) throw fault;
};

/** Runs a guard that passes unless `check` throws. Throws, or rejects with, what it has met if it passes all the same. */
export const runGuard = (run: () => unknown, check: (result: unknown) => void): Ready<void> => {
  const guard: Guard = { missed: null };
  const passed = (result: unknown): void => {
    check(result);
    refuseMissed(guard);
  };
  const result = guards.run(guard, run);
  return isThenable(result) ? Promise.resolve(result).then(passed) : passed(result);
};

/**
 * A middleware that cannot go on once it has met something that is not here, and whose response does not count then. What comes behind it
 * is none of its matter.
 */
export const guarding =
  (middleware: Koa.Middleware): Koa.Middleware =>
  (ctx, next) => {
    const guard: Guard = { missed: null };
    const goOn = async (): Promise<unknown> => {
      refuseMissed(guard);
      return guards.exit(next);
    };
    const ended = (result: unknown): unknown => {
      refuseMissed(guard);
      return result;
    };
    const result: unknown = guards.run(guard, () => middleware(ctx, goOn as Koa.Next));
    return isThenable(result) ? Promise.resolve(result).then(ended) : ended(result);
  };

/** What makes a guard, which must have all that it asks for. Throws what it has met that is not here, even if it has caught that. */
export const makeGuard = <T>(make: () => T): T => {
  const guard: Guard = { missed: null };
  const made = guards.run(guard, make);
  refuseMissed(guard);
  return made;
};
