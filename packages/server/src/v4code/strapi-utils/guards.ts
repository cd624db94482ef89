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

/** What may keep what it finds: a guard, what makes one, a service or a controller. */
interface Keeper {
  /** What v4 has and was not there. Guards pass nobody from then on. */
  missed: Error | null;
  /** Whoever was given it may keep what it says. */
  readonly askers: Set<Keeper>;
  /** Of a guard. */
  file: string | null;
}

/** What a keeper does for one request, or while it is made and by what it begins then. */
interface Run {
  readonly keeper: Keeper;
  readonly isMaking: boolean;
  /** What was refused in this request alone, perhaps because of what the client has sent. */
  refused: Error | null;
  /** It is made, has answered, or has let the request go on: what others do for it now, it does not keep, and what it writes decides nothing. */
  isPast: boolean;
  /** Koa's context of the request that a policy is asked about: in a store of its own it would cost every request. */
  readonly request: object | undefined;
}

const runs = new AsyncLocalStorage<Run>();

/** By what the project gives: whatever that keeps, it keeps for all that name it. */
const keepers = new WeakMap<object, Keeper>();

const keeperOf = (given: object): Keeper => {
  const keeper = keepers.get(given) ?? { missed: null, askers: new Set(), file: null };
  keepers.set(given, keeper);
  return keeper;
};

const runOf = (
  given: object,
  { isMaking = false, request }: { readonly isMaking?: boolean; readonly request?: object } = {},
): Run => ({ keeper: keeperOf(given), isMaking, refused: null, isPast: false, request });

/** The request that the running policy is asked about. */
export const requestOfGuard = (): object | undefined => runs.getStore()?.request;

/** How stacks name the function below: what is below it there has no part in what is above. */
const BOUNDARY = 'dovetail:unguarded';

/** Runs what is no guard's own work, whatever began it. */
export const { [BOUNDARY]: unguarded } = {
  // awaits, so that it stays on the stack of what comes after an `await`
  [BOUNDARY]: async <T>(work: () => Promise<T>): Promise<T> => await runs.exit(work),
};

const end = (keeper: Keeper, fault: Error): void => {
  if (keeper.missed) return;
  keeper.missed = fault;
  if (keeper.file !== null) heard?.ended(keeper.file, fault);
  for (const it of keeper.askers) end(it, fault);
};

/** By the names that stacks have for the file. */
const inFiles = new Map<string, { readonly keeper: Keeper; readonly isGuard: boolean }>();

/** Says which file of the project gives it. @param isGuard whether that is a policy, or makes a middleware. */
export const placeKeeper = (given: unknown, file: string, isGuard: boolean): void => {
  if (!isObject(given)) return;
  if (isGuard) keeperOf(given).file = file;
  const real = fs.realpathSync(file);
  for (const name of [file, real, pathToFileURL(real).href]) inFiles.set(name, { keeper: keeperOf(given), isGuard });
};

const isObject = (given: unknown): given is object =>
  typeof given === 'function' || (typeof given === 'object' && given !== null);

const FRAMES_MAX = 100;

/** The stack, also beyond the frames that an error shows, and whatever the project's code has made of `stack`; none where it cannot be had. */
const framesOnStack = (): readonly NodeJS.CallSite[] => {
  const { prepareStackTrace, stackTraceLimit } = Error;
  // does not throw where the project has frozen it
  const set = (name: 'prepareStackTrace' | 'stackTraceLimit', to: unknown): boolean => Reflect.set(Error, name, to);
  set('stackTraceLimit', FRAMES_MAX);
  set('prepareStackTrace', (_fault: unknown, frames: unknown) => frames);
  try {
    const { stack }: { stack?: unknown } = new Error();
    return Array.isArray(stack) ? (stack as readonly NodeJS.CallSite[]) : [];
  } catch {
    return [];
  } finally {
    set('prepareStackTrace', prepareStackTrace);
    set('stackTraceLimit', stackTraceLimit);
  }
};

/** Whose file is running by the stack, and has a part in what runs. */
const placedOnStack = () => {
  const frames = framesOnStack();
  const end = frames.findIndex((it) => it.getFunctionName() === BOUNDARY);
  return frames.slice(0, end === -1 ? undefined : end).flatMap((it) => inFiles.get(it.getFileName() ?? '') ?? []);
};

interface Listener {
  /** Hears of what is missed where no file of a guard is on the stack. */
  unguarded(fault: Error): void;
  /** Hears of a change that has no effect. */
  changed(fault: Error): void;
  /** Hears that a guard passes nobody from now on. */
  ended(file: string, fault: Error): void;
}
let heard: Listener | null = null;

/** Takes the place of whoever listened before. */
export const onMissed = (listener: Listener): void => {
  heard = listener;
};

/** Whether it may keep what others do for it: what is made may have begun it to keep it. */
const isKeeping = (run: Run): boolean => run.isMaking || !run.isPast;

/**
 * An error of what v4 has and is not here, to be thrown. It ends this and all later requests of the guard that is running or is in a file on
 * the stack, even if the guard catches it, and those of all guards that ask for a service which it has called on the way. In what others do
 * once the guard is past, it ends the request at most.
 */
export const missed = (fault: Error): Error => {
  const run = runs.getStore();
  const running = run && isKeeping(run) ? run.keeper : null;
  if (running) end(running, fault);
  else if (run) run.refused ??= fault;
  const placed = placedOnStack();
  const isOfGuard = placed.some((it) => it.isGuard);
  // a service that an action has called misses it for that action alone, or one request could end the guards of others
  if (running || isOfGuard) for (const { keeper } of placed) end(keeper, fault);
  if (!isOfGuard) heard?.unguarded(fault);
  return fault;
};

/** The same of a change of the server that has no effect here: it stops the start, also if code catches it. */
export const ineffective = (fault: Error): Error => {
  heard?.changed(fault);
  return missed(fault);
};

/**
 * An error of what v4 might have done, to be thrown. It ends the request of the guard that is running, even if the guard catches it; what is
 * made by then has kept it for good.
 * @param isWrite counts only while the request has not gone on.
 */
export const refused = <T>(fault: T, { isWrite = false } = {}): T => {
  const run = runs.getStore();
  if (!run || !(fault instanceof Error) || (run.isPast && (isWrite || run.isMaking))) return fault;
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

/** Runs what a guard does for a request. @param ended called with what it returns. */
const within = <T>(run: Run, work: () => unknown, ended: (result: unknown) => T): Ready<T> => {
  const returned = (result: unknown): T => {
    run.isPast = true;
    return ended(result);
  };
  const thrown = (fault: unknown): never => {
    run.isPast = true;
    throw fault;
  };
  let result: unknown;
  try {
    result = runs.run(run, work);
  } catch (fault) {
    return thrown(fault);
  }
  return isThenable(result) ? Promise.resolve(result).then(returned, thrown) : returned(result);
};

/**
 * Runs a policy, which passes unless `check` throws. One that passes after a noted error throws, or rejects with, that error.
 * @param request koa's context.
 */
export const runGuard = (
  policy: object,
  request: object,
  ask: () => unknown,
  check: (result: unknown) => void,
): Ready<void> => {
  const run = runOf(policy, { request });
  throwNoted(run);
  return within(run, ask, (result) => {
    check(result);
    throwNoted(run);
  });
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
      if (noted === null) return unguarded(next);
      const refusal = Promise.reject(noted);
      // a middleware that does not wait for it is told by its end
      refusal.catch(() => undefined);
      return refusal;
    };
    return within(
      run,
      () => middleware(ctx, goOn as Koa.Next),
      (result) => {
        throwNoted(run);
        return result;
      },
    );
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
  const run = runOf(given, { isMaking: true });
  try {
    return runs.run(run, make);
  } finally {
    run.isPast = true;
  }
};

/** To be called where code is given what the project makes: what that has missed, or will, counts for the guard that is running. */
export const noteAsked = (given: unknown): void => {
  const run = runs.getStore();
  if (!run || !isObject(given)) return;
  if (!isKeeping(run) && !placedOnStack().some((it) => it.keeper === run.keeper)) return;
  const keeper = keeperOf(given);
  keeper.askers.add(run.keeper);
  if (keeper.missed) end(run.keeper, keeper.missed);
};
