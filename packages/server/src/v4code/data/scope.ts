/**
 * Which transaction a call of project code belongs to. What a hook awaits joins the transaction of the write that it runs in.
 * Work that it started without awaiting joins the code around the hook, if that holds the transaction open (`db.transaction`);
 * otherwise it waits until the transaction has ended, and has transactions of its own.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { busy } from '../../errors.js';
import { limits } from '../../limits.js';
import type { Session } from '../../write/session.js';
import { requestOfGuard, unguarded } from '../strapi-utils/guards.js';
import type { Operation } from './lifecycles.js';

/** Made only when it is said. */
export type Title = () => string;

/** Koa's context of a request. */
interface RequestContext {
  readonly res: { readonly writableEnded: boolean; readonly destroyed: boolean };
}

interface Scope {
  readonly session: Session;
  /** Calls of one scope run one after the other: they share a connection, and each sees what those before it wrote. */
  last: Promise<unknown>;
  isOver: boolean;
  /** Why its calls fail: it took too long, so its transaction was undone, and its code still runs. */
  fault: Error | null;
  /** The one that it began in, if that was not over. */
  readonly outer: Scope | null;
  /** Names the code of the project that runs in it, one call after the other; null if it is the server itself that does. */
  readonly title: Title | null;
  /** Hooks that run in it, the innermost last. */
  readonly hooks: Title[];
  /** The request that its code handles. */
  readonly request: RequestContext | undefined;
  readonly since: number;
  /** The operation whose write is being made; null for writes without hooks of their own (`createMany`). */
  readonly operation: Operation | null;
  readonly isSilent: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();
/** Those whose code runs. */
const open = new Set<Scope>();
const requests = new AsyncLocalStorage<RequestContext>();

/** Koa's context of the request that the running code handles; undefined outside of requests. */
export const requestContext = (): RequestContext | undefined =>
  requests.getStore() ?? (requestOfGuard() as RequestContext | undefined);

export const inRequest = <T>(ctx: RequestContext, work: () => T): T => requests.run(ctx, work);

const current = (): Scope | null => {
  const scope = scopes.getStore();
  if (scope) refuseLate(scope);
  return scope && !scope.isOver ? scope : null;
};

/** What code does after it took too long must not remain without the rest of its transaction. */
const refuseLate = (scope: Scope): void => {
  for (let it: Scope | null = scope; it; it = it.outer) if (it.fault) throw it.fault;
};

/** The open transaction that the running code belongs to. */
export const currentSession = (): Session | null => current()?.session ?? null;

/**
 * To be called where the server itself answers, in a transaction of its own: that would wait for the one of the running code, or stay
 * committed when this is undone. @param what `POST /api/notes`, for the error.
 */
export const refuseInTransaction = (what: string): void => {
  if (currentSession())
    throw new Error(
      `${what} is answered by the server, in a transaction of its own, which cannot be a part of strapi.db.transaction or of a hook: call it before or after that`,
    );
};

/** The operation that the write line is running; null if it was not asked for by project code. */
export const currentOperation = (): Operation | null => current()?.operation ?? null;

/** Whether writes run no hooks of single entries. */
export const isSilent = (): boolean => current()?.isSilent === true;

/** Runs what belongs to no transaction and is no guard's own work, whatever began it: listeners, tasks, what waits for a commit. */
export const outside = <T>(work: () => Promise<T>): Promise<T> => {
  const request = requestContext();
  return scopes.exit(() => unguarded(() => (request ? inRequest(request, work) : work())));
};

interface ScopeOptions extends Partial<Pick<Scope, 'operation' | 'isSilent'>> {
  /** Code that holds the transaction for longer than `limits.codeHoldsMsMax` fails under this name. Without it nothing is bound. */
  readonly title?: Title;
}

/** Runs code inside a transaction; calls that it makes join it until it ends. */
export const inScope = async <T>(
  session: Session,
  work: () => Promise<T> | T,
  { operation = null, isSilent: silent = false, title }: ScopeOptions = {},
): Promise<T> => {
  const since = performance.now();
  session.isHeldByCode = true;
  const state = { last: Promise.resolve(), isOver: false, fault: null, outer: current() };
  const kind = { operation, isSilent: silent, title: title ?? null, hooks: [], request: requestContext() };
  const scope: Scope = { session, since, ...state, ...kind };
  open.add(scope);
  const running = scopes.run(scope, async () => {
    try {
      return await work();
    } finally {
      // what was started and not awaited ends before the transaction does
      for (let last: Promise<unknown> | null = null; last !== scope.last; ) {
        last = scope.last;
        await last.catch(() => undefined);
      }
      // in the same turn: a call between the two would join a transaction that nobody waits for
      scope.isOver = true;
      scope.fault = null;
    }
  });
  try {
    return await (title === undefined ? running : within(limits.codeHoldsMsMax, running, title, scope));
  } finally {
    scope.isOver = true;
    open.delete(scope);
  }
};

/** Says which hook runs from now on. No wrapper: what it starts without awaiting would have more turns in its scope. @returns ends it. */
export const noteHook = (name: Title): (() => void) => {
  // one outside of transactions holds up nobody
  const hooks = current()?.hooks ?? [];
  hooks.push(name);
  return () => void hooks.splice(hooks.lastIndexOf(name), 1);
};

/** The code that runs in a transaction: if hooks have set off others, the innermost, and of a call that a hook makes the hook too. */
const runningIn = (session: Session): string => {
  const own = [...open].filter((it) => it.session === session).reverse();
  const [name] = own.flatMap(({ hooks, title }) => hooks.at(-1) ?? title ?? []);
  const [hook = name] = own.flatMap(({ hooks }) => hooks.at(-1) ?? []);
  if (!name || !hook) return 'code of the project';
  return hook === name ? name() : `${name()} in ${hook()}`;
};

const within = async <T>(msMax: number, running: Promise<T>, title: Title, scope: Scope): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const [name, inner] = [title(), runningIn(scope.session)];
      const [who, still] = inner.startsWith(name) ? [inner, ''] : [name, `: ${inner} still runs`];
      scope.fault = new Error(`${who} did not end within ${msMax} ms, in which it held its transaction${still}`);
      reject(scope.fault);
    }, msMax);
  });
  try {
    return await Promise.race([running, tooLong]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Runs a transaction that belongs to no other. SQLite has one at a time: if code holds one and waits for this (a queue of the
 * project, an event that is handled elsewhere), neither would ever end, so it fails after some time. What another request asks for
 * is not waited for by that code, but waits for it as long as it may take.
 * @param run calls `begun` once the transaction has begun.
 */
export const alone = <T>(run: (begun: () => void) => Promise<T>): Promise<T> => {
  const request = requestContext();
  // what a request has left behind when it was answered may be a queue that others use
  const isAsked = (): boolean => request !== undefined && !request.res.writableEnded && !request.res.destroyed;
  return unlessHeld((it) => (isAsked() && it.request !== request ? 'by others' : 'by its own'), run);
};

/** Who holds what a call waits for: code that may wait for the call itself, or code that does not. */
type Holding = 'by its own' | 'by others';

/**
 * Runs what waits for a transaction; fails if it waits for long while code runs in one.
 * @param holding whether, and how, a scope is in one of those that are waited for.
 * @param run calls `begun` once it no longer waits.
 */
const unlessHeld = <T>(holding: (scope: Scope) => Holding | null, run: (begun: () => void) => Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const askedAt = performance.now();
    let state: 'waiting' | 'begun' | 'given up' = 'waiting';
    const giveUp = (fault: unknown): void => {
      state = 'given up';
      clearInterval(timer);
      reject(fault);
    };
    const look = (): void => {
      if (state !== 'waiting') return;
      const now = performance.now();
      for (const it of open) {
        const how = holding(it);
        if (how === 'by its own' && now - Math.max(it.since, askedAt) >= limits.codeWaitMsMax) {
          giveUp(waitedForItself(runningIn(it.session)));
          return;
        }
        // the code that it waited for has been ended by then, and now it is other code
        if (how === 'by others' && now - askedAt >= limits.codeHoldsMsMax + limits.codeWaitMsMax) {
          giveUp(busy(new Error(`${runningIn(it.session)} holds the transaction`)));
          return;
        }
      }
    };
    const timer = setInterval(look, limits.codeWaitMsMax / 4).unref();
    const begun = (): void => {
      // nobody waits for it any more
      if (state === 'given up') throw new Error('the call was given up before it began');
      state = 'begun';
      clearInterval(timer);
    };
    run(begun)
      .then(resolve, reject)
      .finally(() => clearInterval(timer));
  });

const waitedForItself = (holder: string): Error =>
  new Error(
    `a call waited ${limits.codeWaitMsMax} ms for a transaction that ${holder} holds, which still runs. If that code awaits this call, neither can end: begin it in the hook or transaction itself, so that it joins, or do not await it there`,
  );

/** Where a call of a scope runs: in the scope itself, or once that is over, in the code around it; null if that is over too. */
const placeOf = (scope: Scope): Scope | null => {
  if (!scope.isOver) return scope;
  for (let it = scope.outer; it; it = it.outer)
    // between statements of the server itself a part of the transaction could be undone with theirs
    if (!it.isOver && it.title !== null && it.session === scope.session) return it;
  return null;
};

/** Calls of work that has outlived what started it. */
const left = new Set<Promise<unknown>>();

/** Runs one call in the order of its scope; without a scope at once, and after a scope once its transaction has ended. */
export const inTurn = async <T>(call: (session: Session | null) => Promise<T>): Promise<T> => {
  const scope = scopes.getStore();
  if (!scope) return call(null);
  refuseLate(scope);
  const place = placeOf(scope);
  if (!place) return afterwards(scope, call);
  const inLine = (begun: () => void): Promise<T> => {
    const turn = place.last.then(() => {
      begun();
      refuseLate(scope);
      return place.isOver ? inTurn(call) : scopes.run(place, () => call(place.session));
    });
    place.last = turn.catch(() => undefined);
    return turn;
  };
  if (place === scope) return inLine(() => undefined);
  // the call that is before it may run a hook that awaits this one
  return unlessHeld(heldIn(scope.session), inLine);
};

/** Calls that code of the session has begun: what else runs there may wait for them. */
const heldIn =
  (session: Session) =>
  (it: Scope): Holding | null =>
    it.session === session ? 'by its own' : null;

const afterwards = <T>(scope: Scope, call: (session: null) => Promise<T>): Promise<T> => {
  const { session } = scope;
  const ended = async (begun: () => void): Promise<void> => {
    await session.ended;
    begun();
  };
  const run = async (): Promise<T> => {
    if (!session.hasEnded()) await unlessHeld(heldIn(session), ended);
    refuseLate(scope);
    return call(null);
  };
  const running = run();
  const known = running.catch(() => undefined).finally(() => left.delete(known));
  left.add(known);
  return running;
};

/** Resolves once work that nobody awaits makes no more calls, or a part of the time has passed that closing may take. */
export const leftWorkEnds = async (): Promise<void> => {
  const since = performance.now();
  const hasTime = (): boolean => performance.now() - since < limits.closeMsMax / 4;
  while (left.size > 0 && hasTime()) {
    await Promise.race([Promise.all(left), pause(limits.closeMsMax / 4, undefined, { ref: false })]);
    // its next call, if it makes one, is made by now
    await setImmediate();
  }
};
