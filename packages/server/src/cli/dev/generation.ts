/** One state of a project that can be served: made from the files as they are, while the one before serves on. */
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { FollowedModules } from '../../handlers/modules.js';
import { loggable } from '../../http/faults.js';
import type { Listener } from '../../http/listener.js';
import { type App, newApp } from '../../http/server.js';
import { limits } from '../../limits.js';
import type { Site } from '../../site/site.js';
import type { Claim } from '../../sql/sqlite/claim.js';
import type { BoundCode } from '../../v4code/code.js';
import { nameIn } from '../../v4code/loading/load.js';
import { addSeeds, prepareData, type SeedsAdded, warnOfClosedContent } from '../bootstrap.js';
import { type Environment, outsideVariables, readEnvironment, shareVariables } from '../config.js';
import { bringUp } from '../layout.js';
import type { Notices } from '../log.js';
import { warnOfOpenSite, warnOfOtherProcess, warnOfProject, warnOfVariables } from '../notices.js';
import { loadProjectHandlers, type OpenedDatabase, openDatabase, openProject, type Project } from '../project.js';
import { readSecrets } from '../secrets.js';
import { hasStudio, serverSettingsOf, siteToServe } from '../site.js';
import { StartFault } from '../start-fault.js';
import { startThreads } from '../threads.js';
import { guardReason, isUnwatched } from '../v4project/code.js';
import { withStartFaults } from '../v4project/config.js';
import { bindCode, loadProjectCode } from '../v4project/running-code.js';
import { type ProjectState, readSchemas } from './differences.js';
import { newForbiddenNotes } from './forbidden.js';

export interface Generation extends App {
  readonly project: Project;
  readonly state: ProjectState;
  readonly site: Site;
  /** The code of a v4 project, if it is one. */
  readonly code: BoundCode | undefined;
  readonly db: OpenedDatabase;
  /** On the file of the database, by which other processes notice this one. */
  readonly claim: Claim | null;
  readonly seeds: SeedsAdded;
}

export interface NextOptions {
  readonly dir: string;
  readonly listener: Listener;
  readonly modules: FollowedModules;
  readonly logger: FastifyBaseLogger;
  /** For what concerns the whole project, said again only when it changes. */
  readonly notices: Notices;
  /** The one that serves; null at the start. */
  readonly live: Generation | null;
  /** Whether code may have changed: its modules are evaluated anew. */
  readonly isCodeChanged: boolean;
  /** Aborted once files have changed again. */
  readonly superseded: AbortSignal;
}

/**
 * Reads the project, brings the database in line, and makes what answers requests. Throws `StartFault` and `Refusal` for what
 * is to be mended; whatever fails, the live generation is as it was, and the database at most has additions.
 */
export const nextGeneration = async (options: NextOptions): Promise<Generation> => {
  const { dir, listener, modules, logger, notices, live, isCodeChanged, superseded } = options;
  if (isCodeChanged) modules.forget();
  const found = await openProject(dir);
  logger.level = found.env.LOG_LEVEL;
  warn(found, notices, live);
  const secrets = await readSecrets(dir, found.env, (text) => logger.info(text), { withAdmins: hasStudio(found) });
  // with secrets that were just generated
  const read: Project = { ...found, env: readEnvironment(dir, outsideVariables(), found.v4.settings) };
  const handlers = await loadProjectHandlers(read);
  if (read.v4.opened) shareVariables(read.dir);
  const loaded = await loadProjectCode(read);
  const db = live && usesSameDatabase(live.project, read) ? live.db : await openServed(read, logger);
  const isNewDatabase = db !== live?.db;
  let claim = isNewDatabase ? null : live.claim;
  let code: BoundCode | undefined;
  try {
    if (isNewDatabase) claim = await warnOfOtherProcess(read, db, notices);
    const prepared = await bringUp(read, db, {
      info: logger.debug.bind(logger),
      warn: notices.warn,
    });
    const bound = await inTime(bindCode(prepared, loaded, { secrets, db, logger }), superseded, (late) =>
      late.code?.stop(),
    );
    code = bound.code;
    const { project } = bound;
    const ownActions = code?.table.actions() ?? [];
    const seeds = await addSeeds(project, db, ownActions);
    const isNew = await prepareData(project, db, notices, { ownActions: () => ownActions });
    const served = await siteToServe({ project, db, secrets, handlers, code, logger });
    const site: Site = { ...served, onForbidden: newForbiddenNotes(logger) };
    if (isNewDatabase) await site.media.recover();
    const settings = serverSettingsOf(project, code);
    const making = withStartFaults(() => newApp({ site, code, settings, logger, isHealthy: db.isHealthy }, listener));
    const made = await inTime(making, superseded, (late) => late.app.close());
    await made.app.ready();
    if (isNew) await warnOfClosedContent(db, notices);
    await site.notifier.start();
    return { ...made, project, site, code, db, claim, seeds, state: stateOf(project, modules) };
  } catch (fault) {
    await code?.stop();
    if (isNewDatabase) {
      await db.close();
      claim?.release();
    }
    throw fault;
  }
};

/**
 * `register` and `bootstrap` that do not end would be waited for for ever, and no change be followed that could mend them.
 * @param discard what the work makes should it end after all.
 */
const inTime = async <T>(work: Promise<T>, superseded: AbortSignal, discard: (late: T) => unknown): Promise<T> => {
  let isLeft = false;
  work.then((late) => (isLeft ? discard(late) : undefined)).catch(() => undefined);
  const left = setTimeout(limits.startHookMs, null, { ref: false })
    .then(() => (superseded.aborted ? null : once(superseded, 'abort')))
    .then(() => {
      isLeft = true;
      throw new StartFault(
        'register or bootstrap of the project has not ended, and is not waited for any longer: files have changed.',
      );
    });
  return Promise.race([work, left]);
};

const warn = (project: Project, notices: Notices, live: Generation | null): void => {
  warnOfVariables(project, notices);
  warnOfProject(project, notices);
  // in development they protect nothing yet, and whoever moves a project wants to see it first
  for (const it of project.code.filter(isUnwatched))
    notices.warn(
      `start will refuse this project, because ${it.file} may restrict access and is not run: it ${guardReason(it)}`,
    );
  if (live?.project.config.permissions.enabled !== false) warnOfOpenSite(project, notices);
};

const openServed = async (project: Project, logger: FastifyBaseLogger): Promise<OpenedDatabase> => {
  const db = await openDatabase(project, {
    onUnavailable: (fault) => logger.warn(`database: requests are answered 503: ${fault.message}`),
  });
  startThreads(db, project.config).catch((fault: unknown) =>
    logger.error({ err: loggable(fault) }, 'the threads of the database cannot start'),
  );
  return db;
};

const usesSameDatabase = (a: Project, b: Project): boolean =>
  a.config.threads === b.config.threads && databaseVariables.every((name) => a.env[name] === b.env[name]);

const databaseVariables = [
  'DATABASE_CLIENT',
  'DATABASE_FILENAME',
  'DATABASE_URL',
  'DATABASE_HOST',
  'DATABASE_PORT',
  'DATABASE_NAME',
  'DATABASE_USERNAME',
  'DATABASE_PASSWORD',
  'DATABASE_SSL',
  'DATABASE_SCHEMA',
  'DATABASE_PREPARED',
] as const satisfies readonly (keyof Environment)[];

const stateOf = ({ dir, config, env }: Project, modules: FollowedModules): ProjectState => ({
  config,
  env,
  schemas: readSchemas(dir),
  code: new Set(modules.files().map((file) => nameIn(dir, file))),
});

/** Ends what only the old generation uses, once none of its requests is in flight. */
export const closeGeneration = async (old: Generation, next: Generation): Promise<void> => {
  await Promise.all([old.app.close(), old.site.notifier.stop()]);
  await old.code?.stop();
  if (old.db === next.db) return;
  await old.db.close();
  old.claim?.release();
};
