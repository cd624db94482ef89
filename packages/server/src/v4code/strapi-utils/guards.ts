/**
 * Guards (policies and middlewares) decide whether a request goes on. One that catches the error of what is not available here would let
 * everybody pass. So the error is noted beside the guard as it is made, and ends the request, wherever the code that ran into it stands.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type Koa from 'koa';
import { isThenable, type Ready } from '../../ready.js';

interface Guard {
  /** The first such error. */
  missed: Error | null;
}

const guards = new AsyncLocalStorage<Guard>();

/** An error to be thrown, which ends the request of the guard that is running even if the guard catches it. */
export const missed = (fault: Error): Error => {
  const guard = guards.getStore();
  if (guard) guard.missed ??= fault;
  return fault;
};

const refuseMissed = ({ missed: fault }: Guard): void => {
  if (fault) throw fault;
};

/** Runs a policy, which passes unless `check` throws. One that passes after a noted error throws, or rejects with, that error. */
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
 * A middleware that cannot go on after a noted error, and whose own response does not count then. Errors of what runs behind it are
 * not noted for it.
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

/** Makes a guard. A noted error is thrown even if the code that makes the guard has caught it. */
export const makeGuard = <T>(make: () => T): T => {
  const guard: Guard = { missed: null };
  const made = guards.run(guard, make);
  refuseMissed(guard);
  return made;
};
