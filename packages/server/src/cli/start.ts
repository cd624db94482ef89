/** `start`: brings the database in line with the model, then serves until stopped. */
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { loggable } from '../http/faults.js';
import { newServer } from '../http/server.js';
import { limits } from '../limits.js';
import type { Secrets, Site } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { BoundCode } from '../v4code/code.js';
import { prepareData, warnOfChangedSeeds, warnOfClosedContent } from './bootstrap.js';
import { type Environment, shareVariables } from './config.js';
import { bringUp, requireStarted, storedProject } from './layout.js';
import { newLogger } from './log.js';
import type { Metrics } from './metrics.js';
import {
  tellFirstAdministrator,
  warnOfOpenSite,
  warnOfOtherProcess,
  warnOfProject,
  warnOfVariables,
} from './notices.js';
import { listenFault, type Stop, stopOnSignals, watchExit, watchUncaught } from './process.js';
import {
  loadProjectHandlers,
  type OpenedDatabase,
  openDatabase,
  openProject,
  type Project,
  refuseOtherClient,
  typesInWords,
} from './project.js';
import { readSecrets } from './secrets.js';
import { hasStudio, serverSettingsOf, siteToServe, studioAddressesOf } from './site.js';
import { StartFault } from './start-fault.js';
import { startThreads } from './threads.js';
import { refuseGuards } from './v4project/code.js';
import { refuseSettings, withStartFaults } from './v4project/config.js';
import { type BoundProject, bindCode, loadProjectCode } from './v4project/running-code.js';
import { type Worker, workerOf } from './worker.js';

/** Resolves when the project is served. */
export const start = async (dir: string): Promise<void> => {
  const worker = await workerOf(process.env);
  const project = await openProject(dir);
  const logger = await newLogger(project.env, worker?.number);
  const isPreparing = worker === null || worker.duty === 'prepare';
  if (isPreparing) warnOfVariables(project, logger);
  refuseGuards(project.code, project.config.project);
  refuseOtherClient(project);
  refuseSettings(project.v4.guards);
  if (isPreparing) {
    warnOfProject(project, logger);
    warnOfOpenSite(project, logger);
  }
  // before anything is written: code that cannot be loaded leaves no trace
  if (project.v4.opened) shareVariables(project.dir);
  const loaded = await loadProjectCode(project);
  const secrets = await readSecrets(project.dir, project.env, (text) => logger.info(text), {
    withAdmins: hasStudio(project),
  });
  let isPrepared = false;
  const db = await openDatabase(project, {
    onUnavailable: (fault) => {
      // before, the start itself fails, and says why
      if (isPrepared) logger.warn(`database: requests are answered 503: ${fault.message}`);
    },
  });
  // what `bootstrap` waits for may keep no process alive, which would end without a word
  const alive = setInterval(() => undefined, 60_000);
  try {
    const stored = isPreparing ? await storedProject(project, db) : await requireStarted(project, db);
    const bound = await bindCode(stored, loaded, { secrets, db, logger, worker });
    const isNew = isPreparing && (await prepare(project, db, logger, bound.code));
    isPrepared = true;
    await serve(bound, { secrets, db, logger, worker, isNew });
  } catch (fault) {
    // open connections would keep the process alive
    await db.close();
    throw fault;
  } finally {
    clearInterval(alive);
  }
};

/**
 * Tables, and the data of a new database. What is added changes nothing of what the database stores already.
 * @returns whether it is new.
 */
const prepare = async (
  given: Project,
  db: Db,
  logger: FastifyBaseLogger,
  code: BoundCode | undefined,
): Promise<boolean> => {
  await warnOfOtherProcess(given, db, logger);
  const project = await bringUp(given, db, logger);
  const isNew = await prepareData(project, db, logger, { ownActions: () => code?.table.actions() ?? [] });
  await warnOfChangedSeeds(project, db, logger);
  return isNew;
};

interface Serving {
  readonly secrets: Secrets;
  readonly db: OpenedDatabase;
  readonly logger: FastifyBaseLogger;
  readonly worker: Worker | null;
  /** Whether the database was new. */
  readonly isNew: boolean;
}

const serve = async (
  { project, code }: BoundProject,
  { secrets, db, logger, worker, isNew }: Serving,
): Promise<void> => {
  const { env, config, model } = project;
  let stop: Stop = () => process.exit(1);
  watchExit(project.dir, logger);
  watchUncaught(project.dir, logger, () => stop({ delayMs: 0, exitCode: 1 }));
  const handlers = await loadProjectHandlers(project);
  const unwatch = code ? await watchCode() : () => undefined;
  const metrics = await metricsFor(env, worker);
  const watched = metrics?.watched(db) ?? db;
  const site = await siteToServe({ project, db: watched, secrets, handlers, code, logger });
  metrics?.watchReader(site.reader);
  if (worker?.duty !== 'join') await site.media.recover();
  const settings = serverSettingsOf(project, code);
  const countAttempt = worker?.countAttempt;
  const observe = metrics?.observe;
  const isHealthy = db.isHealthy;
  const app = await withStartFaults(() =>
    newServer({ site, code, settings, logger, isHealthy, countAttempt, observe }),
  );
  if (isNew) await warnOfClosedContent(db, logger);
  if (worker !== null && !(await db.isHealthy())) throw new StartFault(`${db.place} cannot be read.`);
  startThreads(db, config).catch((fault: unknown) => {
    logger.fatal({ err: loggable(fault) }, 'the threads of the database cannot start; stopping');
    stop({ delayMs: 0, exitCode: 1 });
  });
  try {
    await app.listen({ host: env.HOST, port: env.PORT });
  } catch (fault) {
    throw listenFault(env, fault as NodeJS.ErrnoException);
  }
  const { port } = app.server.address() as AddressInfo;
  const begin = async (): Promise<void> => {
    await site.notifier.start();
    if (worker === null) code?.runTasks();
    logger.info(
      { database: db.place },
      `serving ${project.dir} (${typesInWords(model)}) after ${Math.round(performance.now())} ms`,
    );
    if (worker === null) printExampleUrl(project, port);
    if (worker === null || worker.duty === 'prepare')
      await tellFirstAdministrator(site, studioAddressesOf(project, port), logger);
  };
  const begun = begin();
  const delayMs = config.server.stopDelaySeconds * 1000;
  stop = stopOnSignals({
    server: app,
    logger,
    delayMs,
    // whoever finds the port open may stop the server before all has begun
    settle: () => begun.then(() => settle(site, code)).finally(unwatch),
    close: () => db.close(),
  });
  await begun;
  if (worker === null) return;
  worker.onReplaced(() => stop({ delayMs: 0, exitCode: 0, isReplaced: true }));
  worker.onTasks(() => code?.runTasks());
  worker.onAbandoned(() => {
    logger.fatal('the supervisor is gone; stopping');
    stop({ delayMs: 0, exitCode: 1 });
  });
  const replaceMsMax = limits.drainMsMax + limits.closeMsMax;
  worker.serving({ stopMsMax: delayMs + replaceMsMax, replaceMsMax });
};

/** Logs code that does not return. */
export const watchCode = async (): Promise<() => void> => {
  const { watchLoop } = await import('../v4code/watchdog.js');
  return watchLoop();
};

/** Null without a port for them. A worker gives its own to the supervisor, which serves those of all. */
const metricsFor = async (env: Environment, worker: Worker | null): Promise<Metrics | null> => {
  const { METRICS_HOST, METRICS_PORT } = env;
  if (METRICS_PORT === undefined) return null;
  const { newMetrics, serveMetrics } = await import('./metrics.js');
  const metrics = newMetrics(worker?.number ?? null);
  if (worker) worker.onMeasure(metrics.values);
  else await serveMetrics({ METRICS_HOST, METRICS_PORT }, metrics.text);
  return metrics;
};

/** On a terminal, prints a URL to try. */
const printExampleUrl = ({ env, config, model }: Project, port: number): void => {
  if (!process.stdout.isTTY) return;
  const first = [...model.types.values()].find((it) => it.origin === 'project' && it.kind === 'collection');
  if (first)
    process.stdout.write(`\n  Try  http://${env.HOST}:${port}${config.api.rest.prefix}/${first.plural}?populate=*\n\n`);
};

/** Ends background work, and the code of the project. */
export const settle = async ({ notifier }: Site, code: BoundCode | undefined): Promise<void> => {
  await notifier.stop();
  await code?.stop();
};
