/** `strapi.db.transaction`, with what code wants to be run once it is committed or undone. */
import type { Ending } from '../../write/session.js';
import { type Callable, isCallable } from '../loading/parts.js';
import { missed } from '../strapi-utils/guards.js';
import { absentFunction } from '../strapi-utils/missing.js';
import type { Entities } from './entities.js';
import { currentSession, outside } from './scope.js';

export interface Transactions {
  /**
   * Runs work in a transaction, or as a part of the one that the running code belongs to: then callbacks wait for the end of
   * that one.
   */
  run(work?: unknown): Promise<unknown>;
}

export interface TransactionsDeps {
  readonly entities: () => Pick<Entities, 'transaction'>;
  /** Where the running code has made its call. */
  readonly callPlace: () => () => string | null;
  /** Called with what a callback throws. */
  readonly onFault: (fault: unknown, name: 'onCommit' | 'onRollback') => void;
}

/** Thrown to undo what code wants undone. */
class Undone extends Error {
  readonly result: unknown;
  constructor(result: unknown) {
    super('undone by the code that began it');
    this.result = result;
  }
}

export const newTransactions = ({ entities, callPlace, onFault }: TransactionsDeps): Transactions => {
  const run = (work: Callable): Promise<unknown> => {
    const place = callPlace();
    return entities().transaction(
      async () => {
        const { endings } = currentSession()!;
        let isUndone = false;
        const add = (when: Ending['when'], name: 'onCommit' | 'onRollback') => (call: unknown) => {
          if (!isCallable(call)) return;
          const tell = (): void =>
            void outside(async () => call()).catch((fault: unknown) => {
              onFault(fault, name);
            });
          endings.push({ when, run: tell });
        };
        const result = await work({
          trx: absentFunction('trx of strapi.db.transaction'),
          onCommit: add('committed', 'onCommit'),
          onRollback: add('undone', 'onRollback'),
          commit: () => undefined,
          rollback: () => {
            isUndone = true;
          },
        });
        if (isUndone) throw new Undone(result);
        return result;
      },
      () => `strapi.db.transaction of ${place() ?? 'the project'}`,
    );
  };

  return {
    run: async (work) => {
      if (!isCallable(work))
        throw missed(
          new TypeError('strapi.db.transaction: give it a function, which runs in it: transaction(async () => { … })'),
        );
      try {
        return await run(work);
      } catch (fault) {
        if (fault instanceof Undone) return fault.result;
        throw fault;
      }
    },
  };
};
