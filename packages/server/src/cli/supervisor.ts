/**
 * `start --workers N`: N processes that serve one port. This one serves nothing itself: it starts them, replaces them one
 * by one on SIGHUP, restarts those that die, and stops them on SIGTERM.
 */
import cluster, { type Worker as ClusterWorker } from 'node:cluster';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import { newAttemptCounts } from '../http/attempt-counts.js';
import { limits } from '../limits.js';
import { newLogger } from './log.js';
import { UsageFault } from './start-fault.js';
import { readSetup } from './v4project/config.js';
import { type Duty, type ToSupervisor, type ToWorker, WORKER_VARIABLE } from './worker.js';

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface Running {
  readonly number: number;
  readonly worker: ClusterWorker;
  readonly startedAt: number;
  /** How long it may take to stop; null before it serves. */
  bounds: { readonly stopMsMax: number; readonly replaceMsMax: number } | null;
  /** True once it serves, false if it exits before. */
  readonly started: Promise<boolean>;
  readonly exited: Promise<Exit>;
}

/** The place of a worker, which is taken by one after the other. */
interface Place {
  readonly number: number;
  current: Running | null;
  /** Deaths in a row, each soon after its start. */
  deaths: number;
  /** The end of the starts and replacements of this place so far, which never overlap. */
  turn: Promise<void>;
}

/** Resolves when all workers serve; the process ends on SIGTERM, or if a worker of the first start exits. */
export const supervise = async (dir: string, count: number): Promise<void> => {
  const { env } = await readSetup(path.resolve(dir));
  if (env.DATABASE_CLIENT === 'sqlite')
    throw new UsageFault(
      `--workers ${count}: one process serves a SQLite file, because several would wait for each other's writes. Leave out --workers, or use PostgreSQL.`,
    );
  const logger = await newLogger(env);
  // Workers share the listening socket, so no connection passes through this process, and none is lost with a worker that
  // had not accepted it. With SCHED_RR the one that is being handed to a killed worker would hang.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const places: readonly Place[] = Array.from({ length: count }, (_none, i) => ({
    number: i + 1,
    current: null,
    deaths: 0,
    turn: Promise.resolve(),
  }));
  const alive = new Set<Running>();
  const countAttempt = newAttemptCounts();
  let isStopping = false;

  /** Who waits for the metrics of a worker, by the id of the question. */
  const measured = new Map<number, (metrics: readonly unknown[]) => void>();
  let questions = 0;
  /** Nothing of one that does not answer. */
  const measure = async ({ worker }: Running): Promise<readonly unknown[]> => {
    questions += 1;
    const id = questions;
    const answer = new Promise<readonly unknown[]>((resolve) => measured.set(id, resolve));
    tell(worker, { kind: 'measure', id });
    const metrics = await Promise.race([answer, setTimeout<readonly unknown[]>(limits.workerReactMsMax, [])]);
    measured.delete(id);
    return metrics;
  };
  const { METRICS_HOST, METRICS_PORT } = env;
  if (METRICS_PORT !== undefined) {
    const { serveMetrics, textOfAll } = await import('./metrics.js');
    const textOfWorkers = async (): Promise<string> => textOfAll(await Promise.all([...alive].map(measure)));
    await serveMetrics({ METRICS_HOST, METRICS_PORT }, textOfWorkers);
  }

  const launch = (number: number, duty: Duty): Running => {
    const worker = cluster.fork({ [WORKER_VARIABLE]: `${number} ${duty} ${count}` });
    const exited = once(worker, 'exit').then(([code, signal]): Exit => ({ code, signal }));
    const serving = new Promise<boolean>((resolve) => {
      worker.on('message', (message: ToSupervisor) => {
        if (message.kind === 'attempt') {
          const { id, key, windowMs } = message;
          countAttempt(key, windowMs).then((counted) => tell(worker, { kind: 'counted', id, ...counted }));
        } else if (message.kind === 'measured') measured.get(message.id)?.(message.metrics);
        else if (message.kind === 'serving') {
          running.bounds = message;
          resolve(true);
        }
      });
    });
    const started = Promise.race([serving, exited.then(() => false)]);
    const running: Running = { number, worker, startedAt: performance.now(), bounds: null, started, exited };
    alive.add(running);
    exited.then(() => alive.delete(running));
    // its exit says more
    worker.on('error', () => undefined);
    return running;
  };

  /** Puts a worker that serves into its place, and another one after it if it dies. */
  const install = (place: Place, running: Running): void => {
    place.current = running;
    running.exited.then((exit) => {
      if (place.current !== running || isStopping) return;
      place.current = null;
      const isSteady = performance.now() - running.startedAt >= limits.workerSteadyMs;
      place.deaths = isSteady ? 0 : place.deaths + 1;
      const worker = place.number;
      logger.error({ worker, workerPid: running.worker.process.pid, ...exit }, `worker ${worker} ended by itself`);
      revive(place);
    });
  };

  /** The first place runs the project's tasks, once the process that had it before is gone. */
  const entrust = ({ number, worker }: Running): void => {
    if (number === 1) tell(worker, { kind: 'tasks' });
  };

  const takeTurn = (place: Place, work: () => Promise<void>): Promise<void> => {
    place.turn = place.turn.then(work);
    return place.turn;
  };

  const revive = (place: Place): Promise<void> =>
    takeTurn(place, async () => {
      const { number } = place;
      while (place.current === null && !isStopping) {
        const waitMs = place.deaths <= 1 ? 0 : Math.min(limits.workerPauseMsMax, 100 * 2 ** (place.deaths - 2));
        if (waitMs > 0) logger.warn({ worker: number }, `starting worker ${number} again in ${waitMs} ms`);
        await setTimeout(waitMs);
        if (isStopping) return;
        const running = launch(number, 'recover');
        if (await running.started) {
          install(place, running);
          entrust(running);
        } else place.deaths += 1;
      }
    });

  /** Whether the place has a new worker. */
  const replace = async (place: Place): Promise<boolean> => {
    let isReplaced = false;
    await takeTurn(place, async () => {
      if (isStopping) return;
      const { number, current: old } = place;
      // whatever was deployed may need other tables
      const successor = launch(number, number === 1 ? 'prepare' : 'join');
      if (!(await successor.started)) {
        if (!isStopping)
          logger.error({ worker: number, ...(await successor.exited) }, `the new worker ${number} did not start`);
        return;
      }
      isReplaced = true;
      place.deaths = 0;
      install(place, successor);
      if (old !== null && old.bounds !== null) {
        tell(old.worker, { kind: 'replaced' });
        await exitWithin(old, old.bounds.replaceMsMax, logger);
      }
      entrust(successor);
    });
    return isReplaced;
  };

  const replaceAll = async (): Promise<void> => {
    if (isStopping) return;
    logger.info(`SIGHUP: replacing ${count} workers, one after the other`);
    for (const place of places) {
      if (await replace(place)) continue;
      if (!isStopping) logger.error('the restart has ended; the remaining workers serve on as they are');
      return;
    }
    logger.info(`replaced ${count} workers`);
  };

  /** Ends this process when all workers have exited, with 1 if one of them had to cut off requests. */
  const stop = async (signal: 'SIGTERM' | 'SIGINT', exitCode = 0): Promise<void> => {
    if (isStopping) return;
    isStopping = true;
    logger.info(`${signal}: stopping ${alive.size} workers`);
    const exits = await Promise.all(
      [...alive].map(async (running) => {
        running.worker.process.kill(signal);
        const { code } = await exitWithin(running, running.bounds?.stopMsMax ?? limits.closeMsMax, logger);
        // one that was still starting has nothing to cut off
        return running.bounds === null || code === 0;
      }),
    );
    process.exit(exits.every(Boolean) ? exitCode : 1);
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));

  /** The first worker prepares the database, so it starts alone. A worker that exits has said why; the process then exits with its code. */
  const begin = async (some: readonly Place[], duty: Duty): Promise<void> => {
    if (isStopping) return;
    const launched = some.map((place) => ({ place, running: launch(place.number, duty) }));
    for (const { place, running } of launched) {
      if (await running.started) {
        install(place, running);
        entrust(running);
      } else if (!isStopping) await stop('SIGTERM', (await running.exited).code ?? 1);
    }
  };
  let restarts = begin(places.slice(0, 1), 'prepare').then(() => begin(places.slice(1), 'join'));
  let isRestartDue = false;
  process.on('SIGHUP', () => {
    if (isRestartDue) return;
    isRestartDue = true;
    restarts = restarts.then(() => {
      isRestartDue = false;
      return replaceAll();
    });
  });
  await restarts;
  if (!isStopping) logger.info(`${count} workers serve; SIGHUP replaces them one by one`);
};

const tell = (worker: ClusterWorker, message: ToWorker): void => {
  if (worker.isConnected()) worker.send(message);
};

/** Waits for the exit of a worker that was told to stop, and kills one that does not react. */
const exitWithin = async (running: Running, ms: number, logger: FastifyBaseLogger): Promise<Exit> => {
  const kill = new AbortController();
  setTimeout(ms + limits.workerReactMsMax, null, { signal: kill.signal, ref: false }).then(
    () => {
      logger.error({ worker: running.number }, `killed worker ${running.number}, which did not stop`);
      running.worker.process.kill('SIGKILL');
    },
    () => undefined,
  );
  const exit = await running.exited;
  kill.abort();
  return exit;
};
