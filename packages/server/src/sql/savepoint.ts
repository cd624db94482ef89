/** A part of a transaction that can be undone by itself. */
import { fixedStatement } from './compile.js';
import type { Tx } from './dialect.js';

// the innermost one of the name is meant
const begin = fixedStatement('savepoint part');
const undo = fixedStatement('rollback to savepoint part');
const end = fixedStatement('release savepoint part');

/**
 * Runs the work; what it throws undoes what it did in the transaction, which goes on. Two of them lie in each other or
 * follow each other, and never overlap.
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
      // the whole transaction has ended, and the first fault says why
    }
    throw fault;
  }
  await tx.run(end);
  return result;
};
