/** The statements of a transaction, in batches. */
import { bug } from '../../errors.js';
import type { Rows, Statement, Tx } from '../dialect.js';

/**
 * A transaction whose batches run one after the other. Those that are sent in one turn, such as the steps of a pipeline, run
 * as one.
 */
export const newTx = (
  runBatch: (statements: readonly Statement[]) => Promise<readonly Rows[]>,
): {
  readonly tx: Tx;
  /** Rejects further statements. */
  end(): void;
} => {
  let isOver = false;
  // a batch may yield to other requests, and the next one must not overtake it
  let last: Promise<unknown> = Promise.resolve();
  let joined: Statement[] | null = null;
  let results: Promise<readonly Rows[]> = Promise.resolve([]);
  const runAll: Tx['runAll'] = async (statements) => {
    if (joined === null) {
      const batch: Statement[] = [];
      joined = batch;
      results = last.then(() => {
        joined = null;
        if (isOver) throw bug('sqlite.statement-after-transaction', { sql: batch[0]?.sql });
        return runBatch(batch);
      });
      last = results.catch(() => undefined);
    }
    const from = joined.length;
    joined.push(...statements);
    const all = await results;
    return all.slice(from, from + statements.length);
  };
  return {
    tx: {
      run: async (statement) => {
        const [rows = []] = await runAll([statement]);
        return rows;
      },
      runAll,
    },
    end: () => {
      isOver = true;
    },
  };
};
