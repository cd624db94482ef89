/** The connections of a file in threads of their own: some that read, and one that writes. */
import { LRUCache } from 'lru-cache';
import { Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { type ReadProgram, type Rows, readInside } from '../dialect.js';
import { sqliteBinding } from './binding.js';
import { statementsHere } from './connection.js';
import type { ReadBounds } from './connections.js';
import type { BeginOptions, Cost, DataVersion, Engine, Transaction } from './engine.js';
import type { FileIdentity } from './file.js';
import { type NumberedRead, receivedFault, type WriteReply } from './messages.js';
import { newCost, newSchedule, noteCost } from './schedule.js';
import type { Begin } from './thread.js';
import { type AnyRead, type Batch, newTx } from './tx.js';
import { LostThread, startThread, type Thread } from './watched-thread.js';

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
  const live = new Set<Thread>();
  let statementsOfEnded = 0;
  const start = (role: 'reader' | 'writer', onEnded: () => void): Thread => {
    const thread = startThread(module, { ...of, role }, () => {
      live.delete(thread);
      statementsOfEnded += thread.statements();
      onEnded();
    });
    live.add(thread);
    return thread;
  };
  const schedule = newSchedule(count, (onEnded) => start('reader', onEnded));

  // ---- reading

  /** What programs that are not planned cost, by the text of their first statement: a client may have decided it. */
  const costs = new LRUCache<string, Cost>({ max: limits.statementsMax });
  const costOf = (text: string): Cost => {
    const cost = costs.get(text) ?? newCost();
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
    writer = start('writer', () => undefined);
    return writer;
  };

  return {
    open: async () => {
      await writerThread().call({ kind: 'open' });
    },
    read,
    readPlanned: async ({ plan, values, begin }) => {
      if ((begin as Begin) !== ownBegin) return read(begin(plan, values, sqliteBinding));
      const cost = planned.costOf(plan);
      return schedule.use(cost, async (thread) => {
        const startedAt = performance.now();
        try {
          const numbered = planned.numbered(thread, { plan, values });
          const { result, ms } = await thread.call({ kind: 'planned', ...numbered }, numbered.bounds);
          noteCost(cost, ms);
          return result as never;
        } catch (fault) {
          if (fault instanceof Refusal) noteCost(cost, performance.now() - startedAt);
          throw fault;
        }
      });
    },
    costOf: planned.costOf,
    begin: (options) => {
      const numbered = (): WritingThread => {
        const thread = writerThread();
        const number = writers;
        return { thread, distinct: (version) => distinct(number, version) };
      };
      return newTransaction(numbered, planned, ownBegin, options);
    },
    dataVersion: async () => {
      const thread = writerThread();
      return distinct(writers, await thread.call({ kind: 'dataVersion' }));
    },
    // it waits for the disk
    checkpoint: of.readOnly
      ? null
      : () =>
          schedule.use({ ms: Number.POSITIVE_INFINITY, runs: 0 }, async (thread) => {
            await thread.call({ kind: 'checkpoint' });
          }),
    restartJournal: async (isUrgent) =>
      (await schedule.whenIdle(() => writerThread().call({ kind: 'restartJournal' }), isUrgent)) ?? false,
    load: () => {
      let statements = statementsOfEnded + statementsHere();
      for (const it of live) statements += it.statements();
      return { ...schedule.load(), statements };
    },
    closeWriter: async () => {
      await writer?.close();
    },
    closeReaders: schedule.close,
  };
};

const readBounds = (): ReadBounds => ({ statementMs: limits.sqliteStatementMsMax, totalMs: limits.readMsMax });

// ---- writing

interface WritingThread {
  readonly thread: Thread;
  readonly distinct: (version: DataVersion) => DataVersion;
}

const newTransaction = (
  writerThread: () => WritingThread,
  planned: PlanNumbers,
  ownBegin: Begin,
  { isBounded, retry, requireIntact, onBegun }: BeginOptions,
): Transaction => {
  // from outside only, and as patient as PostgreSQL: a write may have much to do in one statement
  const bounds = () => (isBounded ? { statementMs: limits.readMsMax, totalMs: Number.POSITIVE_INFINITY } : undefined);
  /** Null before it has begun. */
  let begun: WritingThread | null = null;
  /** Null as long as it is open. */
  let committed: DataVersion | null = null;

  const call = ({ thread }: WritingThread, { statements, read, commits }: Batch): Promise<WriteReply> =>
    thread.call(
      {
        kind: 'write',
        begins: begun === null,
        statements,
        statementMs: limits.sqliteStatementMsMax,
        read: read && planned.numbered(thread, read),
        commits,
      },
      bounds(),
    );
  const begin = async (batch: Batch): Promise<WriteReply> => {
    let writing = writerThread();
    const attempt = async (): Promise<WriteReply> => {
      try {
        return await call(writing, batch);
      } catch (fault) {
        if (!(fault instanceof LostThread) || fault.mayHaveBegun) throw fault;
        // it has waited behind what has ended the thread
        writing = writerThread();
        return call(writing, batch);
      }
    };
    if (batch.commits) requireIntact();
    const replying = retry(attempt);
    replying.catch(() => undefined);
    // while the thread asks the questions of the write
    const lost = batch.commits ? null : faultOf(requireIntact);
    const reply = await replying;
    begun = writing;
    if (reply.begun !== null) onBegun(writing.distinct(reply.begun));
    if (lost) throw lost.fault;
    return reply;
  };
  const { tx, idle, finish, end } = newTx(async (batch) => {
    const { rows, result, fault, ...reply } = await (begun ? call(begun, batch) : begin(batch));
    if (fault) throw receivedFault(fault);
    if (reply.committed !== null && begun) {
      committed = begun.distinct(reply.committed);
      end();
    }
    return { rows: withBuffers(rows), result };
  });
  return {
    tx: {
      ...tx,
      readPlanned: (read) =>
        (read.begin as unknown as Begin) === ownBegin
          ? tx.readPlanned(read)
          : readInside(read.begin(read.plan, read.values, sqliteBinding), tx),
    },
    idle,
    finish: async () => {
      try {
        await finish();
      } catch (fault) {
        // who sent the statements gets the error; without the thread, nobody knows whether they were committed
        if (begun?.thread.isGone()) throw fault;
      }
      return committed;
    },
    commit: async () => {
      end();
      if (committed !== null || !begun) return committed;
      committed = begun.distinct(await begun.thread.call({ kind: 'commit' }));
      return committed;
    },
    abandon: async () => {
      end();
      // the first batch may be about to begin the transaction
      await idle();
      // SQLite rolls back by itself when the thread has ended
      if (begun && committed === null && !begun.thread.isGone()) await begun.thread.call({ kind: 'abandon' });
    },
  };
};

const faultOf = (check: () => void): { readonly fault: unknown } | null => {
  try {
    check();
    return null;
  } catch (fault) {
    return { fault };
  }
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
  const numberOf = (plan: object): Known => {
    const found = known.get(plan) ?? { number: ++last, cost: newCost() };
    known.set(plan, found);
    return found;
  };
  return {
    costOf: (plan: object): Cost => numberOf(plan).cost,
    /** What a call says of a read: its plan's text only if the thread does not have it. */
    numbered: (thread: Thread, { plan, values }: Pick<AnyRead, 'plan' | 'values'>): NumberedRead => {
      const { number } = numberOf(plan);
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
      return { number, plan: text, forgotten, values, bounds: readBounds() };
    },
  };
};

type PlanNumbers = ReturnType<typeof newPlanNumbers>;

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
