/** A part of a transaction that can be rolled back on its own. */
import { fixedStatement } from './compile.js';
import type { Tx } from './dialect.js';

// nested savepoints share the name: it refers to the innermost one
const begin = fixedStatement('savepoint part');
const undo = fixedStatement('rollback to savepoint part');
const end = fixedStatement('release savepoint part');

/**
 * Runs the work; if it throws, its changes are rolled back and the transaction continues. Savepoints may be nested or
 * sequential, but must not overlap.
 */
export const savepoint = async <T>(tx: Tx, work: () => Promise<T>): Promise<T> => {
  await tx.run(begin);
  let result: T;
  try {
    result = await work();
  } catch (fault) {
    try {
      await tx.runAll([undo, end]);
    } catch {
      // the whole transaction has failed, and the first error says why
    }
    throw fault;
  }
  await tx.run(end);
  return result;
};
