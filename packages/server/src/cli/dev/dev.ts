/**
 * `dev`: serves a project and follows its files. Each change makes another generation, which takes over between two requests;
 * if that fails, the old one serves on.
 */
import fs from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { FastifyBaseLogger } from 'fastify';
import { followModules } from '../../handlers/modules.js';
import { loggable } from '../../http/faults.js';
import { type Listener, newListener } from '../../http/listener.js';
import { nameIn } from '../../v4code/loading/load.js';
import { type Notices, newLogger } from '../log.js';
import { tellFirstAdministrator } from '../notices.js';
import { listenFault, stopOnSignals, watchUncaught } from '../process.js';
import { type Project, typesInWords } from '../project.js';
import { studioAddressesOf } from '../site.js';
import { settle, watchCode } from '../start.js';
import { StartFault } from '../start-fault.js';
import { differencesOf } from './differences.js';
import { faultsOf, formatFault } from './faults.js';
import { closeGeneration, type Generation, nextGeneration } from './generation.js';
import { type Batch, watchProject } from './watch.js';

/** @returns whether the project is served; otherwise it will be once its files are mended. */
export const dev = async (given: string): Promise<boolean> => {
  if (!fs.statSync(given, { throwIfNoEntry: false })?.isDirectory())
    throw new StartFault(`There is no folder ${path.resolve(given)}. Set the project folder with --project.`);
  // modules are known by their real paths
  const dir = fs.realpathSync(given);
  const logger = await newLogger({ LOG_LEVEL: 'info' });
  const listener = newListener(logger);
  const notices = newNotices(logger);
  const modules = followModules();
  let live: Generation | null = null;
  let isFaulty = false;
  let unwatch: (() => void) | null = null;
  /** Since the live generation was made. */
  const saved = new Set<string>();

  const follow = async ({ files, since }: Batch, superseded: AbortSignal): Promise<void> => {
    const before = live;
    const code = modules.files();
    const isCodeChanged = files.some((it) => code.includes(it) || !isData(nameIn(dir, it)));
    for (const file of files) saved.add(nameIn(dir, file));
    notices.begin();
    let next: Generation;
    try {
      next = await nextGeneration({ dir, listener, modules, logger, notices, live, isCodeChanged, superseded });
    } catch (fault) {
      isFaulty = true;
      notices.goOn();
      reportFault(fault, { dir, logger, isServing: live !== null });
      return;
    } finally {
      watching.add(modules.files());
    }
    const ended = listener.answerWith(next.answer);
    live = next;
    before?.code?.stopTasks();
    next.code?.runTasks();
    if (next.code) unwatch ??= await watchCode();
    if (before) {
      report(before, next, { since, saved, isMended: isFaulty, logger });
      ended
        .then(() => closeGeneration(before, next))
        .catch((fault: unknown) => logger.error({ err: loggable(fault) }, 'background error'));
    } else {
      await listen(next, listener, logger);
      reportSeeds(next, logger);
    }
    isFaulty = false;
    saved.clear();
  };

  const fail = (fault: unknown): void => {
    if (fault instanceof StartFault) logger.fatal(fault.message);
    else logger.fatal({ err: loggable(fault) }, 'unexpected error; stopping');
    stop({ delayMs: 0, exitCode: 1 });
  };
  const add = newQueue(follow);
  const watching = await watchProject(dir, {
    onBatch: (batch) => void add(batch).catch(fail),
    onFault: (fault) => logger.error({ err: loggable(fault) }, `files cannot be watched: ${fault.message}`),
  });
  const stop = stopOnSignals({
    server: {
      drain: (how) => listener.drain({ ...how, idleMs: 0 }),
      close: async () => {
        await watching.close();
        await live?.app.close();
      },
    },
    logger,
    delayMs: 0,
    settle: async () => {
      unwatch?.();
      if (live) await settle(live.site, live.code);
    },
    close: async () => live?.db.close(),
  });
  watchUncaught(dir, logger, () => stop({ delayMs: 0, exitCode: 1 }));
  await add({ files: [], since: performance.now() }).catch(fail);
  return live !== null;
};

/** Schema files and seeds: no module is made of them. */
const isData = (file: string): boolean =>
  /^src\/(api\/[^/]+\/content-types|extensions|components)\/.*(\.json|\/[^/.]+)$|^database\/|^\.env$/.test(file);

// ---- what is said

/** Says what it has not said for the generation before. */
const newNotices = (logger: FastifyBaseLogger): Notices & { begin(): void; goOn(): void } => {
  let said = new Set<string>();
  let before = said;
  const once =
    (level: 'info' | 'warn') =>
    (...given: unknown[]): void => {
      const key = JSON.stringify(given);
      said.add(key);
      if (!before.has(key)) logger[level](...(given as [string]));
    };
  return {
    begin: () => {
      before = said;
      said = new Set();
    },
    /** The generation has failed, and the one before stays. */
    goOn: () => {
      said = new Set([...before, ...said]);
    },
    info: once('info'),
    warn: once('warn'),
  };
};

const reportFault = (
  fault: unknown,
  { dir, logger, isServing }: { readonly dir: string; readonly logger: FastifyBaseLogger; readonly isServing: boolean },
): void => {
  const then = isServing ? 'The project is served as it was before.' : 'It will be served once this is mended.';
  const faults = faultsOf(fault, dir);
  if (faults) logger.error({ faults }, `${faults.map((it) => formatFault(it, dir)).join('\n\n')}\n${then}`);
  else logger.error({ err: loggable(fault) }, `unexpected error. ${then}`);
};

interface Reporting {
  readonly since: number;
  readonly saved: ReadonlySet<string>;
  readonly isMended: boolean;
  readonly logger: FastifyBaseLogger;
}

/** A line for what has changed, and one for what is not done. */
const report = (before: Generation, next: Generation, { since, saved, isMended, logger }: Reporting): void => {
  const differences = differencesOf(before.state, next.state, saved);
  const changes = [...differences.map((it) => it.text), ...next.seeds.added.map((it) => `+ database/seed/${it}`)];
  const liveMs = Math.round(performance.now() - since);
  if (changes.length > 0)
    logger.info({ changes, liveMs }, `${isMended ? 'mended: ' : ''}${inOneLine(changes)}  live in ${liveMs} ms`);
  else if (isMended) logger.info({ changes, liveMs }, 'mended: the project is as it was before');
  const [fresh] = differences.flatMap((it) => it.isNew ?? []);
  if (
    fresh !== undefined &&
    next.project.config.permissions.enabled &&
    !next.seeds.added.some((it) => it.includes(fresh))
  )
    logger.info(`roles need permissions for what is new, such as: dovetail role allow public ${fresh}.find`);
  const kept = differences.flatMap((it) => it.kept ?? []);
  if (kept.length > 0)
    logger.warn(
      { kept },
      `declared no longer, and still in the database with what it holds: ${inOneLine(kept, ', ')}. dovetail migrate plan says what it was, and drops it if asked`,
    );
  if ([...saved].some((it) => it.startsWith('database/seed/'))) reportSeeds(next, logger);
  for (const name of ['HOST', 'PORT'] as const)
    if (before.project.env[name] !== next.project.env[name])
      logger.warn(`${name} takes effect when dev is started again`);
};

const reportSeeds = ({ seeds: { left } }: Generation, logger: FastifyBaseLogger): void => {
  if (left.length > 0)
    logger.warn(
      { left },
      `database/seed: not applied, because seeds are written once: ${inOneLine(left)}. Make the change through the API, or start with an empty database`,
    );
};

const inOneLine = (changes: readonly string[], separator = '; '): string => {
  const shown = changes.slice(0, SHOWN_MAX);
  const more = changes.length - shown.length;
  return [...shown, ...(more > 0 ? [`${more} more`] : [])].join(separator);
};

const SHOWN_MAX = 6;

// ---- the port

const listen = async (
  { project, db, site }: Generation,
  { server }: Listener,
  logger: FastifyBaseLogger,
): Promise<void> => {
  const { HOST: host, PORT: port } = project.env;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (fault) => reject(listenFault(project.env, fault)));
    server.listen({ host, port }, resolve);
  });
  const { port: bound } = server.address() as AddressInfo;
  const url = `http://${host}:${bound}`;
  logger.info(
    { database: db.place, url },
    `serving ${project.dir} (${typesInWords(project.model)}) after ${Math.round(performance.now())} ms`,
  );
  if (process.stdout.isTTY) process.stdout.write(whatToOpen(project, url));
  await tellFirstAdministrator(site, studioAddressesOf(project, bound), logger);
};

const whatToOpen = ({ config, model }: Project, url: string): string => {
  const { prefix } = config.api.rest;
  const first = [...model.types.values()].find((it) => it.origin === 'project' && it.kind === 'collection');
  const lines = [
    ...(first ? [['Content', `${url}${prefix}/${first.plural}?populate=*`]] : []),
    ['Reference', `${url}${prefix}/reference`],
    ['OpenAPI', `${url}${prefix}/openapi.json`],
  ];
  return `\n${lines.map(([name = '', it = '']) => `  ${name.padEnd(11)}${it}`).join('\n')}\n\n  Changes of the project are live when they are saved. Ctrl-C stops.\n\n`;
};

// ---- one batch at a time

/** Batches that come while one is followed are followed together; the signal of the one before says that they wait. */
const newQueue = (
  work: (batch: Batch, superseded: AbortSignal) => Promise<void>,
): ((batch: Batch) => Promise<void>) => {
  let waiting: Batch | null = null;
  let running: Promise<void> | null = null;
  let followed = new AbortController();
  const run = async (): Promise<void> => {
    try {
      for (let batch = waiting; batch; batch = waiting) {
        waiting = null;
        followed = new AbortController();
        await work(batch, followed.signal);
      }
    } finally {
      running = null;
    }
  };
  return (batch) => {
    waiting = waiting ? { files: [...waiting.files, ...batch.files], since: waiting.since } : batch;
    if (running) followed.abort();
    else running = run();
    return running;
  };
};
