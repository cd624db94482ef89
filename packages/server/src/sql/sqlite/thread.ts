/**
 * The inside of a thread that runs statements: one connection, for reads or for writes. What it loads costs memory in
 * every thread, so neither this file nor what it imports may need the model, the query language or the SQL builder.
 */
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { bug, never } from '../../errors.js';
import type { PlannedRead, Rows, Statement } from '../dialect.js';
import { sqliteBinding } from './binding.js';
import { type Connection, connect, deadlineIn, earlier, tooSlow } from './connection.js';
import { beginSnapshot, checkpoint, newWriter, runProgram, type Snapshot } from './connections.js';
import type { DataVersion } from './engine.js';
import { rememberFile } from './file.js';
import {
  type Call,
  type NumberedRead,
  type PlannedCall,
  progress,
  type Ready,
  type Replies,
  type Reply,
  type Sent,
  sendableFault,
  type ThreadData,
  type WriteCall,
  type WriteReply,
} from './messages.js';

export type Begin = PlannedRead<object, unknown, unknown>['begin'];

/** @param begin makes the programs of planned reads; buffers in the result are moved, not copied. */
export const serveThread = (begin: Begin): void => {
  if (isMainThread || !parentPort) throw bug('thread.outside-thread', {});
  const port = parentPort;
  const { role, file, identity, readOnly, progress: shared } = workerData as ThreadData;
  const state = new Int32Array(shared);
  const opened = rememberFile(file, () => undefined, identity);
  const connectAgain = (setup: readonly string[] = []): Connection => {
    opened.requireIntact();
    return connect(file, { mustExist: true, setup });
  };

  /** Lets the server's thread see whether a statement is running, and whether it is still the same one. */
  const watched = <T>(run: () => T): T => {
    Atomics.add(state, progress.statements, 1);
    Atomics.store(state, progress.isRunning, 1);
    try {
      return run();
    } finally {
      Atomics.store(state, progress.isRunning, 0);
    }
  };

  const { answer, mustWait, close } =
    role === 'reader'
      ? newReaderCalls(connectAgain, begin, watched)
      : newWriterCalls(connectAgain, readOnly, begin, watched);

  const serve = ({ id, call }: Sent): void => {
    let reply: Reply;
    let moved: readonly ArrayBuffer[] = [];
    try {
      if (call.kind === 'close') {
        close();
        port.close();
        return;
      }
      const value = answer(call);
      if (call.kind === 'endRead') return;
      moved = buffersIn(value);
      reply = { id, isOk: true, value };
    } catch (fault) {
      reply = { id, isOk: false, fault: sendableFault(fault) };
    }
    port.postMessage(reply, moved);
  };
  const waiting: Sent[] = [];
  port.on('message', (sent: Sent) => {
    if (mustWait(sent.call)) waiting.push(sent);
    else serve(sent);
    while (waiting[0] && !mustWait(waiting[0].call)) serve(waiting.shift()!);
  });
  const ready: Ready = 'ready';
  port.postMessage(ready);
};

interface Calls {
  answer(call: Call): Replies[keyof Replies];
  /** Whether the call has to wait for others that come later. */
  mustWait(call: Call): boolean;
  close(): void;
}

type Watched = <T>(run: () => T) => T;

const newReaderCalls = (connectAgain: () => Connection, begin: Begin, watched: Watched): Calls => {
  let connection: Connection | null = null;
  let snapshot: Snapshot | null = null;
  const plans = newPlans();

  const current = (): Connection => {
    if (connection?.isBroken()) {
      connection.close();
      connection = null;
    }
    connection ??= connectAgain();
    return connection;
  };
  const runIn =
    (it: Snapshot) =>
    (statement: Statement): Rows =>
      watched(() => it.run(statement));
  const endRead = (): null => {
    snapshot?.end();
    snapshot = null;
    return null;
  };
  const runPlanned = (call: PlannedCall): Replies['planned'] => {
    const before = cpuMs();
    const program = begin(plans.of(call), call.values, sqliteBinding);
    const it = beginSnapshot(current(), call.bounds);
    try {
      const result = ownBuffers(runProgram(program, runIn(it)));
      return { result, ms: cpuMs() - before };
    } finally {
      it.end();
    }
  };
  return {
    answer: (call) => {
      switch (call.kind) {
        case 'read': {
          const before = cpuMs();
          if (call.bounds) snapshot = beginSnapshot(current(), call.bounds);
          if (!snapshot) throw bug('thread.no-snapshot', {});
          const rows = call.statements.map(runIn(snapshot));
          return { rows, ms: cpuMs() - before };
        }
        case 'endRead':
          return endRead();
        case 'planned':
          return runPlanned(call);
        case 'checkpoint':
          watched(() => checkpoint(current()));
          return null;
        default:
          throw bug('thread.unknown-call', { kind: call.kind });
      }
    },
    mustWait: () => false,
    close: () => connection?.close(),
  };
};

/** Plans by number: as many as the other side believes to be here. */
const newPlans = () => {
  const plans = new Map<number, object>();
  return {
    of: ({ number, plan, forgotten }: NumberedRead): object => {
      for (const it of forgotten) plans.delete(it);
      const known = plan === null ? plans.get(number) : (JSON.parse(plan) as object);
      if (!known) throw bug('thread.unknown-plan', { number });
      plans.set(number, known);
      return known;
    },
  };
};

const newWriterCalls = (
  connectAgain: (setup?: readonly string[]) => Connection,
  readOnly: boolean,
  begin: Begin,
  watched: Watched,
): Calls => {
  const writer = newWriter({ connect: connectAgain, readOnly, checkpointsApart: !readOnly });
  const plans = newPlans();
  /** Whether a transaction has begun that was neither committed nor abandoned. */
  let isOpen = false;

  const commit = (): DataVersion => {
    const version = writer.commit();
    isOpen = false;
    return version;
  };
  const runWrite = ({ begins, statements, statementMs, read, commits }: WriteCall): WriteReply => {
    // whatever fails, the other side believes that the plan is here
    const plan = read && plans.of(read);
    let begun: DataVersion | null = null;
    if (begins) {
      begun = writer.begin();
      isOpen = true;
    }
    const done = { begun, rows: [], result: null, committed: null, fault: null };
    try {
      const rows = statements.map((it) => watched(() => writer.run(it, deadlineIn(statementMs))));
      const result = read && plan ? ownBuffers(runRead(plan, read)) : null;
      const isFound = read === null || (result !== null && typeof result === 'object');
      return { ...done, rows, result, committed: commits && isFound ? commitIfPossible() : null };
    } catch (fault) {
      return { ...done, fault: sendableFault(fault) };
    }
  };
  const runRead = (plan: object, { values, bounds: { statementMs, totalMs } }: NumberedRead): unknown => {
    const total = deadlineIn(totalMs);
    return runProgram(begin(plan, values, sqliteBinding), (statement) => {
      if (performance.now() > total.at) throw tooSlow(total);
      return watched(() => writer.run(statement, earlier(deadlineIn(statementMs), total)));
    });
  };
  /** An error is not lost: a later commit meets it again. */
  const commitIfPossible = (): DataVersion | null => {
    try {
      return commit();
    } catch {
      return null;
    }
  };
  return {
    mustWait: (call) => isOpen && call.kind === 'write' && call.begins,
    answer: (call) => {
      switch (call.kind) {
        case 'open':
          writer.open();
          return null;
        case 'write':
          return runWrite(call);
        case 'commit':
          return commit();
        case 'abandon':
          isOpen = false;
          writer.abandon();
          return null;
        case 'dataVersion':
          return writer.dataVersion();
        case 'restartJournal':
          return writer.restartJournal();
        case 'read':
        case 'endRead':
        case 'planned':
        case 'checkpoint':
        case 'close':
          throw bug('thread.unknown-call', { kind: call.kind });
        default:
          return never(call);
      }
    },
    close: () => writer.close(),
  };
};

/**
 * Milliseconds of CPU time of this thread: on a busy machine, a short read takes long too. Node 22.18 cannot tell.
 */
const cpuMs = (): number => {
  const usage = process.threadCpuUsage?.();
  return usage ? (usage.user + usage.system) / 1000 : performance.now();
};

/** A result whose buffers can be moved: small ones share Node's pool, which must not be. */
const ownBuffers = (result: unknown): unknown =>
  result === null || typeof result !== 'object' || Array.isArray(result)
    ? result
    : Object.fromEntries(
        Object.entries(result).map(([key, it]: [string, unknown]) => [
          key,
          it instanceof Uint8Array && it.byteLength !== it.buffer.byteLength ? new Uint8Array(it) : it,
        ]),
      );

const buffersIn = (value: Replies[keyof Replies]): readonly ArrayBuffer[] => {
  if (value === null || typeof value !== 'object' || !('result' in value)) return [];
  const values: readonly unknown[] = Object.values(value.result ?? {});
  return values.flatMap((it) => (it instanceof Uint8Array ? [it.buffer as ArrayBuffer] : []));
};
