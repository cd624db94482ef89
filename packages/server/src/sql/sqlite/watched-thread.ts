/** A thread that runs statements, as the server's thread sees it: calls and replies, and what happens if it does not reply. */
import { Worker } from 'node:worker_threads';
import { issue, Refusal } from '../../errors.js';
import { limits } from '../../limits.js';
import { tooSlow } from './connection.js';
import {
  type Call,
  progress,
  type Ready,
  type Replies,
  type Reply,
  receivedFault,
  type Sent,
  type ThreadData,
} from './messages.js';

/** A thread ended before it had replied. */
export class LostThread extends Error {
  /** Whether it may have begun with the call: it was the first of those without a reply. */
  readonly mayHaveBegun: boolean;
  constructor(cause: unknown, mayHaveBegun = true) {
    super(`A thread that runs statements has ended: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.name = 'LostThread';
    this.mayHaveBegun = mayHaveBegun;
  }
}

/** Milliseconds that a call may take: each of its statements, and all of it. */
export interface CallBounds {
  readonly statementMs: number;
  readonly totalMs: number;
}

export interface Thread {
  /** Calls run in order. Rejects with the thread's error, past the bounds with `read.too-slow`, or with `LostThread`. */
  call<Kind extends Call['kind']>(call: Extract<Call, { kind: Kind }>, bounds?: CallBounds): Promise<Replies[Kind]>;
  /** Sends a call that has no reply. */
  post(call: Call): void;
  /** Whether it takes no further calls. */
  isGone(): boolean;
  /** How many it has begun. */
  statements(): number;
  /** Closes the connection and ends the thread. Resolves once it has ended. */
  close(): Promise<void>;
}

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (fault: unknown) => void;
  readonly bounds: CallBounds | undefined;
  /** When the thread could begin with it. */
  since: number;
}

/** Throws `LostThread` if the system has no more threads. @param onEnded called when the thread has ended. */
export const startThread = (module: URL, given: Omit<ThreadData, 'progress'>, onEnded: () => void): Thread => {
  const shared = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);
  const state = new Int32Array(shared);
  const data: ThreadData = { ...given, progress: shared };
  const worker = newWorker(module, data);
  /** By the ids of calls, in their order. */
  const pending = new Map<number, Pending>();
  let calls = 0;
  let isReady = false;
  /** Why it takes no further calls. */
  let gone: Error | null = null;
  let timer: NodeJS.Timeout | null = null;
  let lookedAt = 0;
  let statements = 0;
  let statementSince = 0;
  let uncaught: unknown = null;

  const giveUp = (fault: Error): void => {
    gone ??= fault;
    const [first, ...others] = pending.values();
    pending.clear();
    first?.reject(fault);
    for (const it of others) it.reject(new LostThread(fault, false));
  };
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', (code) => {
      clearInterval(timer ?? undefined);
      giveUp(faultOf(uncaught ?? `exit code ${code}`, given.role));
      onEnded();
      resolve();
    });
  });
  worker.on('error', (fault) => {
    uncaught = fault;
  });
  worker.on('message', (message: Reply | Ready) => {
    if (message === 'ready') isReady = true;
    else {
      const done = pending.get(message.id);
      pending.delete(message.id);
      if (message.isOk) done?.resolve(message.value as never);
      else done?.reject(receivedFault(message.fault));
    }
    const [next] = pending.values();
    if (next) next.since = performance.now();
  });
  const send = (call: Call): number => {
    calls += 1;
    const sent: Sent = { id: calls, call };
    worker.postMessage(sent);
    return calls;
  };
  const end = (): void => {
    gone ??= new LostThread('it was closed');
    send({ kind: 'close' });
  };

  /** Gives the thread up if it does not keep the bounds of its call. */
  const look = (): void => {
    const now = performance.now();
    // after a pause of this thread replies may be waiting
    const isLate = now - lookedAt > 2 * limits.threadGraceMs;
    lookedAt = now;
    const count = Atomics.load(state, progress.statements);
    if (count !== statements) {
      statements = count;
      statementSince = now;
    }
    const [current] = pending.values();
    if (!current) {
      clearInterval(timer ?? undefined);
      timer = null;
      return;
    }
    if (!current.bounds || isLate) return;
    const { statementMs, totalMs } = current.bounds;
    const isSlow = isRunning() && now - Math.max(statementSince, current.since) > statementMs + limits.threadGraceMs;
    const total = isReady ? totalMs : totalMs + limits.threadStartMsMax;
    if (!isSlow && now - current.since <= total + limits.threadGraceMs) return;
    giveUp(tooSlow({ at: now, ms: isSlow ? statementMs : totalMs }));
    end();
    clearInterval(timer ?? undefined);
    timer = setInterval(terminate, TERMINATE_MS).unref();
  };
  const isRunning = (): boolean => Atomics.load(state, progress.isRunning) === 1;
  /** Not inside of a statement: V8 cannot end one, and functions that it calls would fail without ending it. */
  const terminate = (): void => {
    if (!isRunning()) worker.terminate();
  };

  return {
    call: (call, bounds) =>
      new Promise((resolve, reject) => {
        if (gone) {
          reject(gone);
          return;
        }
        // throws for what cannot be sent
        const id = send(call);
        pending.set(id, { resolve, reject, bounds, since: performance.now() });
        if (timer) return;
        lookedAt = performance.now();
        timer = setInterval(look, limits.threadGraceMs).unref();
      }),
    post: (call) => {
      if (!gone) send(call);
    },
    isGone: () => gone !== null,
    statements: () => Atomics.load(state, progress.statements),
    close: () => {
      end();
      return ended;
    },
  };
};

const newWorker = (module: URL, data: ThreadData): Worker => {
  try {
    return new Worker(module, {
      name: `sqlite-${data.role}`,
      workerData: data,
      resourceLimits: { maxOldGenerationSizeMb: limits.threadHeapMb, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
  } catch (fault) {
    throw new LostThread(fault);
  }
};

const faultOf = (cause: unknown, role: ThreadData['role']): Error =>
  role === 'reader' && (cause as { readonly code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? new Refusal(issue('read.too-large', [], { max: limits.responseCharactersMax }))
    : new LostThread(cause);

/** Three semi-spaces of 1 MB; reads were no faster with 4 MB each. */
const YOUNG_GENERATION_MB = 3;
/** Milliseconds that a thread has to end by itself after it was given up. */
const TERMINATE_MS = 2_000;
