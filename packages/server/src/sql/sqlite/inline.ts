/** The connections of a file in this thread: nothing else is served while a statement runs. */
import { setImmediate } from 'node:timers/promises';
import { limits } from '../../limits.js';
import { type ReadProgram, type Rows, readInside, type Statement } from '../dialect.js';
import { sqliteBinding } from './binding.js';
import { deadlineIn, statementsHere } from './connection.js';
import { beginSnapshot, newWriter, type Writer } from './connections.js';
import type { BeginOptions, DataVersion, Engine, EngineOptions, Transaction } from './engine.js';
import { newPool } from './pool.js';
import { newTx } from './tx.js';

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
    costOf: () => null,
    begin: (options) => {
      const inTimeSlices = newTimeSlices();
      const run = (statement: Statement, now: number): Rows =>
        writer.run(statement, deadlineIn(limits.sqliteStatementMsMax, now));
      return newOwnTransaction(writer, (statements) => inTimeSlices(statements, run), options);
    },
    // at once, before the next transaction
    checkpoint: options.checkpointsApart ? async () => writer.checkpoint() : null,
    dataVersion: writer.dataVersion,
    restartJournal: async (isUrgent) =>
      (isUrgent || pool.load().inUse === 0) && pool.whenIdle(async () => writer.restartJournal()),
    load: () => ({ ...pool.load(), statements: statementsHere() }),
    closeWriter: async () => writer.close(),
    closeReaders: pool.close,
  };
};

/** A transaction on a connection of this thread. @param runAll runs the statements of a batch on it. */
export const newOwnTransaction = (
  writer: Pick<Writer, 'begin' | 'commit' | 'abandon'>,
  runAll: (statements: readonly Statement[]) => Promise<readonly Rows[]>,
  { retry, requireIntact, onBegun }: BeginOptions,
): Transaction => {
  let hasBegun = false;
  const begin = async (): Promise<DataVersion> => {
    requireIntact();
    return writer.begin();
  };
  const { tx, idle, end } = newTx(async ({ statements }) => {
    if (!hasBegun) {
      onBegun(await retry(begin));
      hasBegun = true;
    }
    return { rows: await runAll(statements), result: null };
  });
  return {
    tx: {
      ...tx,
      readPlanned: ({ plan, values, begin: beginRead }) => readInside(beginRead(plan, values, sqliteBinding), tx),
    },
    idle,
    finish: () => null,
    commit: async () => {
      end();
      return hasBegun ? writer.commit() : null;
    },
    abandon: async () => {
      end();
      // the first batch may be about to begin the transaction
      await idle();
      if (hasBegun) writer.abandon();
    },
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
