/** `start`: brings the database in line with the model, then serves until stopped. */
import type { AddressInfo } from 'node:net';
import type { FastifyBaseLogger } from 'fastify';
import { newServer } from '../http/server.js';
import { formatNote } from '../model/load.js';
import type { Secrets } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import { prepareData } from './bootstrap.js';
import { findCode, missedCode, refuseGuards } from './code.js';
import { dependsOnStrapi, misspeltVariables, StartFault } from './config.js';
import { bringUp } from './layout.js';
import { newLogger } from './log.js';
import { type Stop, stopOnSignals, watchUncaught } from './process.js';
import { countOf, openDatabase, openProject, type Project, typesInWords } from './project.js';
import { readSecrets } from './secrets.js';
import { loadProjectHandlers, serverSettingsOf, siteOf, warnOfOpenSite } from './site.js';

export const start = async (dir: string): Promise<void> => {
  const project = await openProject(dir);
  const logger = await newLogger(project.env);
  for (const warning of misspeltVariables(project.dir)) logger.warn(warning);
  const code = findCode(project.dir, project.config.project.ignoreCode);
  refuseGuards(code);
  const missed = missedCode(code);
  if (missed.length > 0)
    logger.warn(
      { files: missed },
      `${countOf(missed.length, 'code file')} of the project ${missed.length === 1 ? 'is' : 'are'} not run`,
    );
  for (const warning of project.warnings) logger.warn(`schema file ${formatNote(warning)}`);
  const secrets = readSecrets(project.dir, project.env, (text) => logger.info(text));
  const db = await openDatabase(project, {
    onUnavailable: (fault) => logger.warn(`database: requests are answered 503: ${fault.message}`),
  });
  await warnOfOtherProcess(project, db, logger);
  try {
    await serve(await bringUp(project, db, logger), secrets, db, logger);
  } catch (fault) {
    // open connections would keep the process alive
    await db.close();
    throw fault;
  }
};

/** Two servers on one SQLite file work, but they wait for each other's writes, and every write invalidates both caches. */
const warnOfOtherProcess = async ({ env }: Project, db: Db, logger: FastifyBaseLogger): Promise<void> => {
  if (env.DATABASE_CLIENT !== 'sqlite') return;
  const { claimFile } = await import('../sql/sqlite/claim.js');
  if (!claimFile(db.place))
    logger.warn(`${db.place} is also served by another process: run one process per SQLite file, or use PostgreSQL`);
};

const serve = async (project: Project, secrets: Secrets, db: Db, logger: FastifyBaseLogger): Promise<void> => {
  const { env, config, model } = project;
  await prepareData(project, db, logger);
  let stop: Stop = () => process.exit(1);
  watchUncaught(project.dir, logger, () => stop(0, 1));
  const handlers = await loadProjectHandlers(project);
  const responseCacheBytesMax = Math.round(config.memory.answersMb * 1024 * 1024);
  const site = await siteOf({ project, db, secrets, handlers, logger, responseCacheBytesMax });
  await site.media.recover();
  warnOfOpenSite(project, logger);
  logLeniency(project, logger);
  const app = await newServer({ site, settings: serverSettingsOf(project), logger, isHealthy: db.isHealthy });
  try {
    await app.listen({ host: env.HOST, port: env.PORT });
  } catch (fault) {
    throw new StartFault(
      `Cannot listen on ${env.HOST}:${env.PORT}: ${(fault as Error).message}\nSet HOST and PORT to a free address.`,
    );
  }
  logger.info(
    { database: db.place },
    `serving ${project.dir} (${typesInWords(model)}) after ${Math.round(performance.now())} ms`,
  );
  printExampleUrl(project, (app.server.address() as AddressInfo).port);

  stop = stopOnSignals({
    app,
    logger,
    delayMs: config.server.stopDelaySeconds * 1000,
    close: () => db.close(),
  });
};

const logLeniency = ({ dir, config }: Project, logger: FastifyBaseLogger): void => {
  if (config.api.strict) return;
  const reason = dependsOnStrapi(dir) ? ', the default of projects that depend on @strapi/strapi' : '';
  logger.warn(
    `api.strict is false${reason}: what v4 ignores in a request is ignored here too, and named in the header Dovetail-Ignored and, once, in this log`,
  );
};

/** On a terminal, prints a URL to try. */
const printExampleUrl = ({ env, config, model }: Project, port: number): void => {
  if (!process.stdout.isTTY) return;
  const first = [...model.types.values()].find((it) => it.origin === 'project' && it.kind === 'collection');
  if (first)
    process.stdout.write(`\n  Try  http://${env.HOST}:${port}${config.api.rest.prefix}/${first.plural}?populate=*\n\n`);
};
