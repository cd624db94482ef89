/**
 * Guards (policies and middlewares) decide whether a request goes on. One that catches the error of what is not available here would let
 * everybody pass. So the error is noted beside the guard as it is made, and ends the request, wherever the code that ran into it stands.
 * What v4 has and this server lacks ends all later requests of that guard too, because a guard may keep what it found instead. So may what
 * it asks: services and controllers note what they have missed for all that ask for them.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';
import type Koa from 'koa';
import { isThenable, type Ready } from '../../ready.js';
import { placesIn } from '../loading/env.js';

/** What may keep what it finds: a guard, what makes one, a service or a controller. */
interface Keeper {
  /** What v4 has and was not there. Guards pass nobody from then on. */
  missed: Error | null;
  /** Whoever was given it may keep what it says. */
  readonly askers: Set<Keeper>;
}

/** What a keeper does for one request, or while it is made and by what it begins then. */
interface Run {
  readonly keeper: Keeper;
  readonly isMaking: boolean;
  /** What was refused in this request alone, perhaps because of what the client has sent. */
  refused: Error | null;
  /** It is made, or has let the request go on, and what it writes decides nothing any more: what is behind it may have been stored. */
  isPast: boolean;
  readonly behind: Rest['behind'];
}

/** What runs behind middlewares, which are on its stack and have no part in it. */
interface Rest {
  readonly keeper: null;
  readonly behind: readonly Keeper[];
}

const runs = new AsyncLocalStorage<Run | Rest>();

/** By what the project gives: whatever that keeps, it keeps for all that name it. */
const keepers = new WeakMap<object, Keeper>();

const keeperOf = (given: object): Keeper => {
  const keeper = keepers.get(given) ?? { missed: null, askers: new Set() };
  keepers.set(given, keeper);
  return keeper;
};

const runOf = (given: object, isMaking = false): Run => ({
  keeper: keeperOf(given),
  isMaking,
  refused: null,
  isPast: false,
  behind: runs.getStore()?.behind ?? [],
});

const end = (keeper: Keeper, fault: Error): void => {
  if (keeper.missed) return;
  keeper.missed = fault;
  for (const it of keeper.askers) end(it, fault);
};

/** By the names that stack traces have for the file. */
const inFiles = new Map<string, { readonly keeper: Keeper; readonly isGuard: boolean }>();

/** Says which file of the project gives it. @param isGuard whether that is a policy, or makes a middleware. */
export const placeKeeper = (given: unknown, file: string, isGuard: boolean): void => {
  if (!isObject(given)) return;
  const real = fs.realpathSync(file);
  for (const name of [file, real, pathToFileURL(real).pathname])
    inFiles.set(name, { keeper: keeperOf(given), isGuard });
};

const isObject = (given: unknown): given is object =>
  typeof given === 'function' || (typeof given === 'object' && given !== null);

const FRAMES_MAX = 100;

/** What is running by the stack, also beyond the frames that an error shows. */
const placedOnStack = () => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES_MAX;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = stackTraceLimit;
  return placesIn(stack).flatMap(({ file }) => inFiles.get(file) ?? []);
};

/** Hears of what is missed where no file of a guard is on the stack. */
type Unguarded = (fault: Error) => void;
let unguarded: Unguarded | null = null;

/** Takes the place of whoever listened before. */
export const onUnguarded = (listener: Unguarded): void => {
  unguarded = listener;
};

/**
 * An error of what v4 has and is not here, to be thrown. It ends this and all later requests of the guard that is running or is in a file on
 * the stack, even if the guard catches it, and those of all guards that ask for a service which it has called on the way.
 */
export const missed = (fault: Error): Error => {
  const { keeper: running = null, behind = [] } = runs.getStore() ?? {};
  const placed = placedOnStack().filter(({ keeper }) => !behind.includes(keeper));
  const isOfGuard = placed.some((it) => it.isGuard);
  if (running) end(running, fault);
  // a service that an action has called misses it for that action alone, or one request could end the guards of others
  if (running || isOfGuard) for (const { keeper } of placed) end(keeper, fault);
  if (!isOfGuard) unguarded?.(fault);
  return fault;
};

/**
 * An error of what v4 might have done, to be thrown. It ends the request of the guard that is running, even if the guard catches it.
 * @param isWrite counts only while the request has not gone on.
 */
export const refused = <T>(fault: T, { isWrite = false } = {}): T => {
  const run = runs.getStore();
  if (!run?.keeper || !(fault instanceof Error) || (isWrite && run.isPast)) return fault;
  if (run.isMaking) end(run.keeper, fault);
  else run.refused ??= fault;
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

const notedIn = ({ keeper, refused: fault }: Run): Error | null => keeper.missed ?? fault;

const throwNoted = (run: Run): void => {
  const noted = notedIn(run);
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
    const goOn = (): Promise<unknown> => {
      const noted = notedIn(run);
      run.isPast = true;
      if (noted === null) return runs.run({ keeper: null, behind: [...run.behind, run.keeper] }, next);
      const refusal = Promise.reject(noted);
      // a middleware that does not wait for it is told by its end
      refusal.catch(() => undefined);
      return refusal;
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
  const made = makeApart(maker, make);
  throwNoted(runOf(maker));
  return guarding(made, maker);
};

/** Makes what others will ask, whoever is the first: what is missed then is noted for all of them. */
export const makeApart = <T>(given: unknown, make: () => T): T => {
  if (!isObject(given)) return make();
  const run = runOf(given, true);
  try {
    return runs.run(run, make);
  } finally {
    run.isPast = true;
  }
};

/** To be called where code is given what the project makes: what that has missed, or will, counts for the guard that is running. */
export const noteAsked = (given: unknown): void => {
  const run = runs.getStore();
  if (!run?.keeper || !isObject(given)) return;
  const keeper = keeperOf(given);
  keeper.askers.add(run.keeper);
  if (keeper.missed) end(run.keeper, keeper.missed);
};
