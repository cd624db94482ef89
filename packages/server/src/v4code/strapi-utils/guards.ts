/**
 * Guards (policies and middlewares) decide whether a request goes on. One that catches the error of what is not available here would let
 * everybody pass. So the error is noted beside the guard as it is made, and ends the request, wherever the code that ran into it stands.
 * What v4 has and this server lacks ends all later requests of that guard too, because a guard may keep what it found instead.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type Koa from 'koa';
import { isThenable, type Ready } from '../../ready.js';

interface Guard {
  /** What v4 has and was not there. It may have kept what it found instead, so it passes nobody from then on. */
  missed: Error | null;
}

/** What a guard does for one request, or while it is made. */
interface Run {
  readonly guard: Guard;
  /** What was refused here alone, perhaps because of what the client has sent. */
  refused: Error | null;
}

const runs = new AsyncLocalStorage<Run>();

/** By the function that the project gives: whatever it keeps, it keeps for all routes that name it. */
const guards = new WeakMap<object, Guard>();

const runOf = (given: object): Run => {
  const guard = guards.get(given) ?? { missed: null };
  guards.set(given, guard);
  return { guard, refused: null };
};

/** Hears of what code outside of guards has missed. */
type Unguarded = (fault: Error) => void;
let unguarded: Unguarded | null = null;

/** Takes the place of whoever listened before. */
export const onUnguarded = (listener: Unguarded): void => {
  unguarded = listener;
};

/**
 * An error of what v4 has and is not here, to be thrown. It ends this and all later requests of the guard that is running, even if the guard
 * catches it.
 */
export const missed = (fault: Error): Error => {
  const run = runs.getStore();
  if (run) run.guard.missed ??= fault;
  else unguarded?.(fault);
  return fault;
};

/** An error of what v4 might have done, to be thrown. It ends the request of the guard that is running, even if the guard catches it. */
export const refused = <T>(fault: T): T => {
  const run = runs.getStore();
  if (run && fault instanceof Error) run.refused ??= fault;
  return fault;
};

/** Runs work of which every error is one of `refused`. */
export const refusing = <T>(work: () => T): T => {
  try {
    return work();
  } catch (fault) {
    throw refused(fault);
  }
};

const throwNoted = ({ guard, refused: fault }: Run): void => {
  const noted = guard.missed ?? fault;
  if (noted) throw noted;
};

/** Runs a policy, which passes unless `check` throws. One that passes after a noted error throws, or rejects with, that error. */
export const runGuard = (policy: object, ask: () => unknown, check: (result: unknown) => void): Ready<void> => {
  const run = runOf(policy);
  throwNoted(run);
  const passed = (result: unknown): void => {
    check(result);
    throwNoted(run);
  };
  const result = runs.run(run, ask);
  return isThenable(result) ? Promise.resolve(result).then(passed) : passed(result);
};

/**
 * A middleware that cannot go on after a noted error, and whose own response does not count then. Errors of what runs behind it are
 * not noted for it.
 * @param given the function that the project gives: what has made the middleware, if it is another.
 */
export const guarding =
  (middleware: Koa.Middleware, given: object = middleware): Koa.Middleware =>
  (ctx, next) => {
    const run = runOf(given);
    throwNoted(run);
    const goOn = async (): Promise<unknown> => {
      throwNoted(run);
      return runs.exit(next);
    };
    const ended = (result: unknown): unknown => {
      throwNoted(run);
      return result;
    };
    const result: unknown = runs.run(run, () => middleware(ctx, goOn as Koa.Next));
    return isThenable(result) ? Promise.resolve(result).then(ended) : ended(result);
  };

/** A middleware of the function that makes it. A noted error is thrown even if that function has caught it. */
export const makeGuard = (maker: object, make: () => Koa.Middleware): Koa.Middleware => {
  const run = runOf(maker);
  const made = runs.run(run, make);
  throwNoted(run);
  return guarding(made, maker);
};
