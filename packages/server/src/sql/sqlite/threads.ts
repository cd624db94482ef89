/** The connections of a file in threads of their own: some that read, and one that writes. */
import { LRUCache } from 'lru-cache';
import { Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import type { ReadProgram, Rows } from '../dialect.js';
import { sqliteBinding } from './binding.js';
import type { ReadBounds } from './connections.js';
import type { DataVersion, Engine, Transaction } from './engine.js';
import type { FileIdentity } from './file.js';
import { type Cost, newSchedule, noteCost } from './schedule.js';
import type { Begin } from './thread.js';
import { newTx } from './tx.js';
import { startThread, type Thread } from './watched-thread.js';

export interface ThreadOptions {
  /** Threads that read at a time, unless reads take long; at least 1. */
  readonly count: number;
  /** What each of them runs: it must call `serveThread` with `begin`. */
  readonly module: URL;
  readonly begin: Begin;
}

export interface ThreadedFile {
  readonly file: string;
  readonly identity: FileIdentity;
  readonly readOnly: boolean;
}

export const newThreadEngine = (of: ThreadedFile, { count, module, begin: ownBegin }: ThreadOptions): Engine => {
  const schedule = newSchedule(count, (onEnded) => startThread(module, { ...of, role: 'reader' }, onEnded));

  // ---- reading

  /** What programs that are not planned cost, by the text of their first statement: a client may have decided it. */
  const costs = new LRUCache<string, Cost>({ max: limits.statementsMax });
  const costOf = (text: string): Cost => {
    const cost = costs.get(text) ?? { ms: null };
    costs.set(text, cost);
    return cost;
  };

  const read = async <T>(program: ReadProgram<T>): Promise<T> => {
    let step = program.next();
    if (step.done) return step.value;
    const cost = costOf(step.value[0]?.sql ?? '');
    return schedule.use(cost, async (thread) => {
      const callBounds = readBounds();
      let bounds: ReadBounds | null = callBounds;
      let total = 0;
      const startedAt = performance.now();
      try {
        while (!step.done) {
          const { rows, ms } = await thread.call({ kind: 'read', statements: step.value, bounds }, callBounds);
          bounds = null;
          total += ms;
          step = program.next(withBuffers(rows));
        }
        noteCost(cost, total);
        return step.value;
      } catch (fault) {
        if (fault instanceof Refusal) noteCost(cost, performance.now() - startedAt);
        throw fault;
      } finally {
        thread.post({ kind: 'endRead' });
      }
    });
  };

  const planned = newPlanNumbers();

  let writer: Thread | null = null;
  let writers = 0;
  /** Unlike those of earlier writing connections, here or in other threads. */
  const distinct = (writerNumber: number, version: DataVersion): DataVersion => `thread ${writerNumber} ${version}`;
  const writerThread = (): Thread => {
    if (writer && !writer.isGone()) return writer;
    writers += 1;
    writer = startThread(module, { ...of, role: 'writer' }, () => undefined);
    return writer;
  };

  return {
    open: async () => {
      await writerThread().call({ kind: 'open' });
    },
    read,
    readPlanned: async ({ plan, values, begin }) => {
      if ((begin as Begin) !== ownBegin) return read(begin(plan, values, sqliteBinding));
      const { number, cost } = planned.of(plan);
      return schedule.use(cost, async (thread) => {
        const bounds = readBounds();
        const startedAt = performance.now();
        try {
          const sent = planned.sent(thread, number, plan);
          const { result, ms } = await thread.call({ kind: 'planned', number, ...sent, values, bounds }, bounds);
          noteCost(cost, ms);
          return result as never;
        } catch (fault) {
          if (fault instanceof Refusal) noteCost(cost, performance.now() - startedAt);
          throw fault;
        }
      });
    },
    begin: async ({ isBounded }) => {
      const thread = writerThread();
      const number = writers;
      const dataVersion = distinct(number, await thread.call({ kind: 'begin' }));
      const { commit, ...transaction } = newTransaction(thread, dataVersion, isBounded);
      return { ...transaction, commit: async () => distinct(number, await commit()) };
    },
    dataVersion: async () => {
      const thread = writerThread();
      return distinct(writers, await thread.call({ kind: 'dataVersion' }));
    },
    truncateJournal: () =>
      schedule.whenIdle(async () => {
        await writerThread().call({ kind: 'truncateJournal' });
      }),
    closeWriter: async () => {
      await writer?.close();
    },
    closeReaders: schedule.close,
  };
};

const readBounds = (): ReadBounds => ({ statementMs: limits.sqliteStatementMsMax, totalMs: limits.readMsMax });

// ---- writing

const newTransaction = (thread: Thread, dataVersion: string, isBounded: boolean): Transaction => {
  // from outside only, and as patient as PostgreSQL: a write may have much to do in one statement
  const bounds = () => (isBounded ? { statementMs: limits.readMsMax, totalMs: Number.POSITIVE_INFINITY } : undefined);
  const { tx, end } = newTx(async (statements) =>
    withBuffers(await thread.call({ kind: 'write', statements, statementMs: limits.sqliteStatementMsMax }, bounds())),
  );
  return {
    tx,
    dataVersion,
    commit: () => {
      end();
      return thread.call({ kind: 'commit' });
    },
    abandon: async () => {
      end();
      // SQLite rolls back by itself when the thread has ended
      if (!thread.isGone()) await thread.call({ kind: 'abandon' });
    },
  };
};

// ---- what crosses

/** Plans are sent to each thread once, and named by numbers from then on. */
const newPlanNumbers = () => {
  interface Known {
    readonly number: number;
    readonly cost: Cost;
  }
  const known = new WeakMap<object, Known>();
  let last = 0;
  interface Sent {
    readonly plans: LRUCache<number, number>;
    /** Evicted since the last call. */
    forgotten: number[];
  }
  const sentTo = new WeakMap<Thread, Sent>();
  const newSent = (): Sent => {
    const sent: Sent = {
      plans: new LRUCache({
        maxSize: limits.threadPlanCharactersMax,
        sizeCalculation: (characters) => characters,
        dispose: (_characters, number, reason) => {
          if (reason !== 'set') sent.forgotten.push(number);
        },
      }),
      forgotten: [],
    };
    return sent;
  };
  return {
    of: (plan: object): Known => {
      const found = known.get(plan) ?? { number: ++last, cost: { ms: null } };
      known.set(plan, found);
      return found;
    },
    /** What a call has to say about the plan: its text, unless the thread has it. */
    sent: (thread: Thread, number: number, plan: object) => {
      const sent = sentTo.get(thread) ?? newSent();
      sentTo.set(thread, sent);
      let text: string | null = null;
      if (sent.plans.get(number) === undefined) {
        text = JSON.stringify(plan);
        sent.plans.set(number, text.length);
      }
      const { forgotten } = sent;
      // one that is too large to be kept is for this call only
      if (forgotten.length > 0 || !sent.plans.has(number)) sent.forgotten = sent.plans.has(number) ? [] : [number];
      return { plan: text, forgotten };
    },
  };
};

/** Blobs arrive as plain bytes; drivers return buffers. */
const withBuffers = (results: readonly Rows[]): readonly Rows[] => {
  for (const rows of results)
    for (const row of rows as readonly unknown[][])
      for (let i = 0; i < row.length; i++) {
        const value = row[i];
        if (value instanceof Uint8Array) row[i] = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      }
  return results;
};
