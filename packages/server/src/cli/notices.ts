/** What a server says of its project before it serves: of code that does not run, and of what may surprise. */
import { formatNote } from '../model/load.js';
import type { Db } from '../sql/dialect.js';
import { type CodeFile, missedCode } from './code.js';
import { dependsOnStrapi } from './config.js';
import type { Notices } from './log.js';
import { countOf, type Project } from './project.js';

/** What the project's files call for; one process says it for all. */
export const warnOfProject = (project: Project, code: readonly CodeFile[], logger: Notices): void => {
  const missed = missedCode(code);
  if (missed.length > 0)
    logger.warn(
      { files: missed },
      `${countOf(missed.length, 'code file')} of the project ${missed.length === 1 ? 'is' : 'are'} not run`,
    );
  for (const warning of project.warnings) logger.warn(`schema file ${formatNote(warning)}`);
  logLeniency(project, logger);
};

/** Two servers on one SQLite file work, but they wait for each other's writes, and every write invalidates both caches. */
export const warnOfOtherProcess = async ({ env }: Project, db: Db, logger: Notices): Promise<void> => {
  if (env.DATABASE_CLIENT !== 'sqlite') return;
  const { claimFile } = await import('../sql/sqlite/claim.js');
  if (!claimFile(db.place))
    logger.warn(`${db.place} is also served by another process: run one process per SQLite file, or use PostgreSQL`);
};

const logLeniency = ({ dir, config }: Project, logger: Notices): void => {
  if (config.api.strict) return;
  const reason = dependsOnStrapi(dir) ? ', the default of projects that depend on @strapi/strapi' : '';
  logger.warn(
    `api.strict is false${reason}: what v4 ignores in a request is ignored here too, and named in the header Dovetail-Ignored and, once, in this log`,
  );
};

/** Warns if permissions are switched off, whatever the log level. */
export const warnOfOpenSite = ({ config }: Project, logger: Notices): void => {
  if (config.permissions.enabled) return;
  const line = '!'.repeat(78);
  process.stderr.write(
    `\n${line}\n!! PERMISSIONS ARE SWITCHED OFF (permissions.enabled: false).\n!! Anyone who can reach this server may read, change and delete all content.\n${line}\n\n`,
  );
  logger.warn('permissions are switched off: anyone may read, change and delete all content');
};
