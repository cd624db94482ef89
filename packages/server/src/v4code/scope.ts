/**
 * Which transaction a call of project code belongs to. What a hook awaits joins the transaction of the write that it runs in;
 * work that it started without awaiting finds that write over, and has transactions of its own.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Session } from '../write/session.js';
import type { Operation } from './lifecycles.js';

interface Scope {
  readonly session: Session;
  /** Calls of one scope run one after the other: they share a connection, and each sees what those before it wrote. */
  last: Promise<unknown>;
  isOver: boolean;
  /** The operation whose write is being made; null for writes without hooks of their own (`createMany`). */
  readonly operation: Operation | null;
  readonly isSilent: boolean;
}

const scopes = new AsyncLocalStorage<Scope>();
const requests = new AsyncLocalStorage<object>();

/** Koa's context of the request that the running code handles; undefined outside of requests. */
export const requestContext = (): object | undefined => requests.getStore();

export const inRequest = <T>(ctx: object, work: () => T): T => requests.run(ctx, work);

const current = (): Scope | null => {
  const scope = scopes.getStore();
  return scope && !scope.isOver ? scope : null;
};

/** The open transaction that the running code belongs to. */
export const currentSession = (): Session | null => current()?.session ?? null;

/** The operation that the write line is running; null if it was not asked for by project code. */
export const currentOperation = (): Operation | null => current()?.operation ?? null;

/** Whether writes run no hooks of single entries. */
export const isSilent = (): boolean => current()?.isSilent === true;

/** Runs code inside a transaction; calls that it makes join it until it ends. */
export const inScope = async <T>(
  session: Session,
  work: () => Promise<T> | T,
  { operation = null, isSilent: silent = false }: Partial<Pick<Scope, 'operation' | 'isSilent'>> = {},
): Promise<T> => {
  const scope: Scope = { session, last: Promise.resolve(), isOver: false, operation, isSilent: silent };
  try {
    return await scopes.run(scope, async () => work());
  } finally {
    // what was started and not awaited ends before the transaction does
    for (let last: Promise<unknown> | null = null; last !== scope.last; ) {
      last = scope.last;
      await last.catch(() => undefined);
    }
    scope.isOver = true;
  }
};

/** Runs one call in the order of its scope; without a scope at once. */
export const inTurn = <T>(call: (session: Session | null) => Promise<T>): Promise<T> => {
  const scope = current();
  if (!scope) return call(null);
  const turn = scope.last.then(() => (scope.isOver ? call(null) : call(scope.session)));
  scope.last = turn.catch(() => undefined);
  return turn;
};
