/**
 * Which read gets a thread, and when. Reads that take long must not make others wait: those known for it from earlier runs
 * wait for each other, and while one that was not known runs on, a spare thread takes the next.
 */
import { busy } from '../../errors.js';
import { limits } from '../../limits.js';
import type { DbLoad } from '../dialect.js';
import type { Cost } from './engine.js';
import type { Thread } from './watched-thread.js';

export const newCost = (): Cost => ({ ms: null, runs: 0 });

/** Costs that rise are believed at once, those that fall one run after the other. */
export const noteCost = (cost: Cost, ms: number): void => {
  cost.runs += 1;
  cost.ms = cost.ms === null || ms > cost.ms ? ms : 0.8 * cost.ms + 0.2 * ms;
};

export interface Schedule {
  /** Runs the work with a thread of its own. Throws `Refusal` if there is none in time. */
  use<T>(cost: Cost, work: (thread: Thread) => Promise<T>): Promise<T>;
  /**
   * Runs the work once no thread is in use. If it is urgent, and a read takes long, only reads known to be short may start until that
   * has ended. If it is not, or no such moment comes in time, the work is left undone, and the result is null.
   */
  whenIdle<T>(work: () => Promise<T>, isUrgent: boolean): Promise<T | null>;
  load(): Omit<DbLoad, 'statements'>;
  /** Rejects new work; lets running and waiting work finish, and ends the threads. */
  close(): Promise<void>;
}

interface Waiting {
  readonly since: number;
  readonly start: (running: Running) => void;
  readonly refuse: (fault: unknown) => void;
}

interface Running {
  readonly thread: Thread;
  readonly since: number;
  isLong: boolean;
}

const tooMany = () => busy(new Error('too many reads wait for a thread'));

/**
 * @param count threads that read at a time, if no read takes long.
 * @param start starts another thread, or throws; calls the given function when it has ended.
 */
export const newSchedule = (count: number, start: (onEnded: () => void) => Thread): Schedule => {
  const threadsMax = count + limits.sqliteSpareThreads;
  const longMax = Math.max(1, count - 1);
  /** Threads that have not ended. */
  const threads = new Set<Thread>();
  const idle: { readonly thread: Thread; readonly since: number }[] = [];
  const running = new Set<Running>();
  const queues: Readonly<Record<'short' | 'unknown' | 'long', Waiting[]>> = { short: [], unknown: [], long: [] };
  let held: 'nothing' | 'long' | 'all' = 'nothing';
  let isClosed = false;
  /** Called once no read is running. */
  const onIdle: (() => void)[] = [];
  /** Who wants no further ones until then; null if nobody does. `end` is told whether none is running. */
  let awaited: {
    readonly isUrgent: boolean;
    readonly since: number;
    readonly end: (isEmpty: boolean) => void;
  } | null = null;

  const waiting = (): number => queues.short.length + queues.unknown.length + queues.long.length;

  const newThread = (): Thread => {
    const thread = start(() => {
      threads.delete(thread);
      const place = idle.findIndex((it) => it.thread === thread);
      if (place !== -1) idle.splice(place, 1);
      admit();
    });
    threads.add(thread);
    return thread;
  };
  const freeThread = (): Thread | null => {
    for (let it = idle.pop(); it; it = idle.pop()) if (!it.thread.isGone()) return it.thread;
    return threads.size < threadsMax + limits.threadsEndingMax ? newThread() : null;
  };

  const longRunning = (): number => {
    let long = 0;
    for (const it of running) if (it.isLong) long += 1;
    return long;
  };
  /** The next read that may start now. */
  const next = (): Waiting[] | null => {
    if (held === 'all' || running.size >= threadsMax) return null;
    const long = longRunning();
    if (running.size - long < Math.max(1, count - long)) {
      const [short] = queues.short;
      // the last thread is for reads that are known to be short
      const [unknown] = running.size < threadsMax - 1 && held === 'nothing' ? queues.unknown : [];
      if (short && (!unknown || short.since <= unknown.since)) return queues.short;
      if (unknown) return queues.unknown;
    }
    return long < longMax && queues.long.length > 0 && held === 'nothing' ? queues.long : null;
  };
  const endWait = (isEmpty: boolean): void => {
    if (!isEmpty) held = 'nothing';
    awaited?.end(isEmpty);
    awaited = null;
  };
  const admit = (): void => {
    if (awaited) {
      const isLong = longRunning() > 0;
      if (isLong && !awaited.isUrgent) endWait(false);
      // one that turns out to take long must not hold up those that are short
      else held = isLong ? 'long' : 'all';
    }
    for (let queue = next(); queue; queue = next()) {
      let thread: Thread | null;
      try {
        thread = freeThread();
      } catch (fault) {
        // the system has no more threads; the next read tries again
        queue.shift()!.refuse(fault);
        continue;
      }
      if (!thread) return;
      const { start: run } = queue.shift()!;
      const it: Running = { thread, since: performance.now(), isLong: queue === queues.long };
      running.add(it);
      run(it);
    }
    if (running.size > 0) return;
    if (awaited) endWait(true);
    for (const resolve of onIdle.splice(0)) resolve();
  };

  const look = (): void => {
    const now = performance.now();
    for (const it of running) it.isLong ||= now - it.since > limits.longReadMs;
    if (awaited && now - awaited.since > limits.readMsMax) endWait(false);
    for (const queue of Object.values(queues))
      while (queue[0] && now - queue[0].since > limits.threadWaitMsMax) queue.shift()!.refuse(tooMany());
    admit();
    // those that were used last are at the end
    let surplus = idle.length + running.size - count;
    while (surplus > 0 && idle[0] && now - idle[0].since > limits.threadIdleMs) {
      surplus -= 1;
      idle.shift()!.thread.close();
    }
    if (running.size > 0 || waiting() > 0 || threads.size > count) return;
    clearInterval(timer ?? undefined);
    timer = null;
  };
  let timer: NodeJS.Timeout | null = null;
  const keepLooking = (): void => {
    timer ??= setInterval(look, limits.threadLookMs).unref();
  };

  const acquire = (cost: Cost): Promise<Running> =>
    new Promise((resolve, reject) => {
      if (isClosed) throw new Error('the database is closed');
      if (waiting() >= limits.readsWaitingMax) throw tooMany();
      const kind = cost.ms === null ? 'unknown' : cost.ms > limits.longReadMs ? 'long' : 'short';
      queues[kind].push({ since: performance.now(), start: resolve, refuse: reject });
      keepLooking();
      admit();
    });
  const release = (it: Running): void => {
    running.delete(it);
    if (!it.thread.isGone()) idle.push({ thread: it.thread, since: performance.now() });
    admit();
  };

  return {
    use: async (cost, work) => {
      const it = await acquire(cost);
      try {
        return await work(it.thread);
      } finally {
        release(it);
      }
    },
    whenIdle: async (work, isUrgent) => {
      const isEmpty = await new Promise<boolean>((resolve) => {
        awaited = { isUrgent, since: performance.now(), end: resolve };
        keepLooking();
        admit();
      });
      if (!isEmpty) return null;
      try {
        return await work();
      } finally {
        held = 'nothing';
        admit();
      }
    },
    load: () => ({ open: threads.size, inUse: running.size, waiting: waiting() }),
    close: async () => {
      isClosed = true;
      while (running.size > 0 || waiting() > 0) await new Promise<void>((resolve) => onIdle.push(resolve));
      clearInterval(timer ?? undefined);
      await Promise.all([...threads].map((it) => it.close()));
    },
  };
};
