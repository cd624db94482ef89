/** The connections of a file in this thread: nothing else is served while a statement runs. */
import { setImmediate } from 'node:timers/promises';
import { bug } from '../../errors.js';
import { limits } from '../../limits.js';
import type { ReadProgram, Rows, Statement, Tx } from '../dialect.js';
import { sqliteBinding } from './binding.js';
import { deadlineIn } from './connection.js';
import { beginSnapshot, newWriter } from './connections.js';
import type { Engine, EngineOptions } from './engine.js';
import { newPool } from './pool.js';

export const newInlineEngine = (options: EngineOptions): Engine => {
  const pool = newPool(() => options.connect(), limits.sqliteReadersMax);
  const writer = newWriter(options);

  const read = <T>(program: ReadProgram<T>): Promise<T> =>
    pool.use(async (connection) => {
      const inTimeSlices = newTimeSlices();
      const snapshot = beginSnapshot(connection, {
        statementMs: limits.sqliteStatementMsMax,
        totalMs: limits.readMsMax,
      });
      try {
        let step = program.next();
        while (!step.done) step = program.next(await inTimeSlices(step.value, snapshot.run));
        return step.value;
      } finally {
        snapshot.end();
      }
    });

  return {
    open: async () => writer.open(),
    read,
    readPlanned: ({ plan, values, begin }) => read(begin(plan, values, sqliteBinding)),
    begin: async () => {
      const dataVersion = writer.begin();
      const inTimeSlices = newTimeSlices();
      const { tx, end } = newTx((statements) =>
        inTimeSlices(statements, (statement, now) =>
          writer.run(statement, deadlineIn(limits.sqliteStatementMsMax, now)),
        ),
      );
      return {
        tx,
        dataVersion,
        commit: async () => {
          end();
          return writer.commit();
        },
        abandon: async () => {
          end();
          writer.abandon();
        },
      };
    },
    dataVersion: writer.dataVersion,
    truncateJournal: () => pool.whenIdle(async () => writer.truncateJournal()),
    closeWriter: async () => writer.close(),
    closeReaders: pool.close,
  };
};

/** Calls sequentially, passing the current time; yields to other requests whenever a time slice is over. */
const newTimeSlices = () => {
  let end = performance.now() + limits.readSliceMsMax;
  return async <In, Out>(items: readonly In[], call: (item: In, now: number) => Out): Promise<readonly Out[]> => {
    const results: Out[] = [];
    let now = performance.now();
    for (const item of items) {
      results.push(call(item, now));
      now = performance.now();
      if (now < end) continue;
      await setImmediate();
      now = performance.now();
      end = now + limits.readSliceMsMax;
    }
    return results;
  };
};

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
