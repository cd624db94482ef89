/** The statements of a transaction, in batches. */
import { bug } from '../../errors.js';
import type { PlannedRead, Rows, Statement, Tx } from '../dialect.js';

/** A planned read, whatever it reads. */
export type AnyRead = PlannedRead<object, unknown, unknown>;

/** What is sent in one turn. */
export interface Batch {
  readonly statements: Statement[];
  /** What to read after the statements. */
  read: AnyRead | null;
  /** Whether to commit after it, as `Tx.finish` says. */
  commits: boolean;
}

export interface BatchResult {
  readonly rows: readonly Rows[];
  readonly result: unknown;
}

/**
 * A transaction whose batches run one after the other. Statements that are sent in one turn, such as the steps of a pipeline,
 * are one batch.
 */
export const newTx = <Result extends BatchResult>(
  runBatch: (batch: Batch) => Promise<Result>,
): {
  readonly tx: Omit<Tx, 'finish'>;
  /** Lets the batch of this turn commit. Returns what comes of it. */
  finish(): Promise<Result>;
  /** Resolves once what was sent so far has ended. */
  idle(): Promise<unknown>;
  /** Rejects further statements. */
  end(): void;
} => {
  interface Joined {
    readonly batch: Batch;
    readonly results: Promise<Result>;
  }
  let isOver = false;
  // a batch may yield to other requests, and the next one must not overtake it
  let last: Promise<unknown> = Promise.resolve();
  let joined: Joined | null = null;

  const newBatch = (): Joined => {
    const batch: Batch = { statements: [], read: null, commits: false };
    const results = last.then(() => {
      if (joined?.batch === batch) joined = null;
      if (isOver) throw bug('sqlite.statement-after-transaction', { sql: batch.statements[0]?.sql });
      return runBatch(batch);
    });
    last = results.catch(() => undefined);
    joined = { batch, results };
    return joined;
  };
  /** The batch of this turn, or another one if it ends with a read. */
  const current = (): Joined => {
    if (joined === null) return newBatch();
    const { batch } = joined;
    if (batch.read === null) return joined;
    batch.commits = false;
    return newBatch();
  };
  const runAll: Tx['runAll'] = async (statements) => {
    const { batch, results } = current();
    const from = batch.statements.length;
    batch.statements.push(...statements);
    const { rows } = await results;
    return rows.slice(from, from + statements.length);
  };
  return {
    tx: {
      mayLockLate: false,
      run: async (statement) => {
        const [rows = []] = await runAll([statement]);
        return rows;
      },
      runAll,
      readPlanned: async (read) => {
        const { batch, results } = current();
        batch.read = read as unknown as AnyRead;
        return (await results).result as never;
      },
    },
    finish: () => {
      const { batch, results } = joined ?? newBatch();
      batch.commits = true;
      return results;
    },
    idle: () => last,
    end: () => {
      isOver = true;
    },
  };
};
