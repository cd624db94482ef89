/**
 * A worker of `start --workers`, as it sees its supervisor: what it is told when it is started, and the messages between
 * the two.
 */
import { type AttemptCount, type CountAttempt, newAttemptCounts } from '../http/attempt-counts.js';

/**
 * What a worker does before it serves. `prepare`: everything that a single process does. `recover`: settles the uploads that a killed
 * worker has left. `join`: nothing, because another one has just prepared the database.
 */
export type Duty = 'prepare' | 'recover' | 'join';

/** The environment variable that makes a process a worker: its number, its duty and how many there are, such as `2 join 4`. */
export const WORKER_VARIABLE = 'DOVETAIL_WORKER';

export type ToSupervisor =
  /** The worker serves. Told to stop, it takes at most `stopMsMax`; replaced, at most `replaceMsMax`. */
  | { readonly kind: 'serving'; readonly stopMsMax: number; readonly replaceMsMax: number }
  | { readonly kind: 'attempt'; readonly id: number; readonly key: string; readonly windowMs: number }
  | { readonly kind: 'measured'; readonly id: number; readonly metrics: readonly unknown[] };

export type ToWorker =
  /** Finish what you have: a successor serves. */
  | { readonly kind: 'replaced' }
  /** Run what one process alone runs: no other does any more. */
  | { readonly kind: 'tasks' }
  | { readonly kind: 'measure'; readonly id: number }
  | ({ readonly kind: 'counted'; readonly id: number } & AttemptCount);

export interface Worker {
  /** From 1; a successor has the number of its predecessor. */
  readonly number: number;
  readonly duty: Duty;
  /** Counts over all workers. */
  readonly countAttempt: CountAttempt;
  /** Reports that this worker serves, with the bounds of stopping it in milliseconds. */
  serving(bounds: { readonly stopMsMax: number; readonly replaceMsMax: number }): void;
  /** Calls back once a successor serves. */
  onReplaced(listener: () => void): void;
  /** Calls back once this process is the one that runs the project's tasks. */
  onTasks(listener: () => void): void;
  /** Answers the supervisor when it asks for the metrics of this process. */
  onMeasure(measure: () => Promise<readonly unknown[]>): void;
  /** Calls back if the supervisor is gone. Without a listener the process exits. */
  onAbandoned(listener: () => void): void;
}

/** Which of how many workers this process is; null if it is the only one. */
export const workerPlace = (env: NodeJS.ProcessEnv): { readonly number: number; readonly of: number } | null => {
  const [number, , of] = env[WORKER_VARIABLE]?.split(' ') ?? [];
  return number === undefined ? null : { number: Number(number), of: Number(of) };
};

/** Null in a process that is no worker. */
export const workerOf = async (env: NodeJS.ProcessEnv): Promise<Worker | null> => {
  const [number, duty] = env[WORKER_VARIABLE]?.split(' ') ?? [];
  if (number === undefined) return null;
  const { worker: own } = (await import('node:cluster')).default;
  if (own === undefined) return null;
  // a terminal that closes tells the whole group of processes
  process.on('SIGHUP', () => undefined);
  const tell = (message: ToSupervisor): void => {
    // a failure means that the supervisor is gone, which 'disconnect' reports
    process.send?.(message, undefined, undefined, () => undefined);
  };
  const hear = (listener: (message: ToWorker) => void): void => {
    process.on('message', (message) => listener(message as ToWorker));
  };
  return {
    number: Number(number),
    duty: duty as Duty,
    countAttempt: remoteCounts(tell, hear),
    serving: (bounds) => tell({ kind: 'serving', ...bounds }),
    onMeasure: (measure) =>
      hear((message) => {
        if (message.kind !== 'measure') return;
        measure().then(
          (metrics) => tell({ kind: 'measured', id: message.id, metrics }),
          () => tell({ kind: 'measured', id: message.id, metrics: [] }),
        );
      }),
    onTasks: (listener) => hear(({ kind }) => kind === 'tasks' && listener()),
    onReplaced: (listener) => hear(({ kind }) => kind === 'replaced' && listener()),
    onAbandoned: (listener) => {
      own.once('disconnect', () => {
        // otherwise node:cluster would exit now, with requests in flight
        own.exitedAfterDisconnect = true;
        listener();
      });
    },
  };
};

const remoteCounts = (
  tell: (message: ToSupervisor) => void,
  hear: (listener: (message: ToWorker) => void) => void,
): CountAttempt => {
  const waiting = new Map<number, (counted: AttemptCount) => void>();
  const unsupervised = newAttemptCounts();
  let serial = 0;
  hear((message) => {
    if (message.kind !== 'counted') return;
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  return async (key, windowMs) => {
    // the last requests of a worker whose supervisor is gone
    if (!process.connected) return unsupervised(key, windowMs);
    serial += 1;
    const id = serial;
    return new Promise((resolve) => {
      waiting.set(id, resolve);
      tell({ kind: 'attempt', id, key, windowMs });
    });
  };
};
