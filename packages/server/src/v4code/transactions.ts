/** `strapi.db.transaction`, with what code wants to be run once it is committed or undone. */
import type { Session } from '../write/session.js';
import type { Entities } from './entities.js';
import { missing } from './missing.js';
import { type Callable, isCallable } from './parts.js';
import { currentSession, outside } from './scope.js';

export interface Transactions {
  /**
   * Runs work in a transaction, or as a part of the one that the running code belongs to: then callbacks wait for the end of
   * that one.
   */
  run(work?: unknown): Promise<unknown>;
  /** To be called after the commit of each session. */
  committed(session: Session): void;
}

export interface TransactionsDeps {
  readonly entities: () => Pick<Entities, 'transaction'>;
  /** Called with what a callback throws. */
  readonly onFault: (fault: unknown, name: 'onCommit' | 'onRollback') => void;
}

interface Ending {
  readonly when: 'onCommit' | 'onRollback';
  readonly call: Callable;
}

/** Thrown to undo what code wants undone. */
class Undone extends Error {
  readonly result: unknown;
  constructor(result: unknown) {
    super('undone by the code that began it');
    this.result = result;
  }
}

export const newTransactions = ({ entities, onFault }: TransactionsDeps): Transactions => {
  /** Callbacks of open sessions, in order. */
  const endings = new WeakMap<Session, Ending[]>();
  const tell = (all: readonly Ending[], what: Ending['when']): void => {
    for (const { when, call } of all)
      if (when === what)
        void outside(async () => call()).catch((fault: unknown) => {
          onFault(fault, when);
        });
  };

  const endingsOf = (session: Session, isJoined: boolean): Ending[] => {
    const known = endings.get(session);
    if (known) return known;
    const all: Ending[] = [];
    endings.set(session, all);
    // nobody here sees how a transaction ends that was begun elsewhere; whatever is left then was not committed
    if (isJoined) void session.ended.then(() => tell(endings.get(session) ?? [], 'onRollback'));
    return all;
  };

  const run = async (work: Callable): Promise<unknown> => {
    const isJoined = currentSession() !== null;
    let all: Ending[] = [];
    let before = 0;
    /** Callbacks that were given in what is now undone. */
    let undone: readonly Ending[] | null = null;
    const inPart = async (): Promise<unknown> => {
      const session = currentSession()!;
      all = endingsOf(session, isJoined);
      before = all.length;
      undone = null;
      let isUndone = false;
      const add = (when: Ending['when']) => (call: unknown) => {
        if (isCallable(call)) all.push({ when, call });
      };
      try {
        const result = await work({
          trx: null,
          onCommit: add('onCommit'),
          onRollback: add('onRollback'),
          commit: () => undefined,
          rollback: () => {
            isUndone = true;
          },
        });
        if (isUndone) throw new Undone(result);
        return result;
      } catch (fault) {
        // at once: the next part of the same transaction may begin before this one has returned
        undone = all.splice(before);
        throw fault;
      }
    };
    try {
      return await entities().transaction(inPart);
    } catch (fault) {
      tell(undone ?? all.splice(before), 'onRollback');
      if (fault instanceof Undone) return fault.result;
      throw fault;
    }
  };

  return {
    run: async (work) => {
      if (!isCallable(work)) throw missing('strapi.db.transaction without a function');
      return run(work);
    },
    committed: (session) => {
      tell(endings.get(session) ?? [], 'onCommit');
      endings.delete(session);
    },
  };
};
