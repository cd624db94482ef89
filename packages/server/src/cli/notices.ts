/** What a server says of its project before it serves: of code that does not run, and of what may surprise. */
import { formatNote } from '../model/load.js';
import { dependsOnStrapi } from '../model/project-folder.js';
import type { Site } from '../site/site.js';
import type { Db } from '../sql/dialect.js';
import type { Claim } from '../sql/sqlite/claim.js';
import { outsideVariables, uselessVariables } from './config.js';
import type { Notices } from './log.js';
import { countOf, type Project } from './project.js';
import { hasStudio, takesStudioPath } from './site.js';
import { missedCode } from './v4project/code.js';
import { describeUses } from './v4project/described-uses.js';
import { countSettings, describeSetting } from './v4project/settings.js';

/** Of what the environment says to no effect. */
export const warnOfVariables = ({ dir, env }: Project, logger: Notices): void => {
  for (const { file, message } of uselessVariables(dir, outsideVariables(), env)) logger.warn(`${file}: ${message}`);
};

/** What the project's files call for; one process says it for all. */
export const warnOfProject = (project: Project, logger: Notices): void => {
  const { code, env } = project;
  if (!environments.has(env.NODE_ENV))
    logger.warn(
      `NODE_ENV is "${env.NODE_ENV}", which counts as development: secrets are generated, and the Studio is on unless the configuration says otherwise; known are ${[...environments].join(', ')}`,
    );
  const missed = missedCode(code);
  if (missed.length > 0)
    logger.warn(
      { files: missed },
      `${countOf(missed.length, 'code file')} of the project ${missed.length === 1 ? 'is' : 'are'} not run`,
    );
  const running = code.filter((it) => it.kind === 'run').map((it) => it.file);
  if (running.length > 0)
    logger.info(
      { files: running },
      `${countOf(running.length, 'code file')} of the project ${running.length === 1 ? 'runs as it stands' : 'run as they stand'}`,
    );
  const failing = code.filter((it) => it.absent.length > 0);
  if (failing.length > 0)
    logger.warn(
      { files: failing.map(({ file, absent }) => ({ file, absent })) },
      `code of the project uses what is not here: ${failing.map((it) => `${it.file}: ${describeUses(it.absent)}`).join('; ')}`,
    );
  const unsupported = project.v4.settings.filter((it) => it.verdict === 'not supported');
  if (unsupported.length > 0)
    logger.warn(
      { settings: unsupported.map(describeSetting) },
      `${countSettings(unsupported)} ${unsupported.length === 1 ? 'is' : 'are'} not supported: ${unsupported.map(describeSetting).join('; ')}`,
    );
  for (const it of uselessOrigins(project)) logger.warn(`cors.origin: "${it}" allows nothing: ${cureOfOrigin(it)}`);
  for (const warning of project.warnings) logger.warn(formatNote(warning));
  logLeniency(project, logger);
  if (hasStudio(project) && takesStudioPath(project.config))
    logger.warn('the Studio is not served: the content API has its path, /studio');
};

/** Others select a folder of `config/env`, as in v4, and nothing else. */
const environments: ReadonlySet<string> = new Set(['development', 'production', 'test']);

/** Those that no browser sends: URLs with a path, if only a slash, hosts without a scheme, and patterns. */
const uselessOrigins = ({ config: { cors } }: Project): readonly string[] =>
  cors.origin === '*' ? [] : cors.origin.filter((it) => !isOrigin(it));

/** Pages of apps have schemes of their own: `capacitor://localhost`. */
const isOrigin = (text: string): boolean =>
  /^https?:/.test(text)
    ? URL.canParse(text) && new URL(text).origin === text && !text.includes('*')
    : /^(?:\*|null|[a-z][a-z\d+.-]*:\/\/[^/?#\s*]+)$/.test(text);

const cureOfOrigin = (text: string): string => {
  if (text.includes('*')) return 'there are no patterns; name each origin, or "*" for all';
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    return 'browsers send origins such as https://www.example.org, without a slash at the end';
  return `browsers send ${new URL(text).origin}`;
};

/**
 * Two servers on one SQLite file work, but they wait for each other's writes, and every write invalidates both caches.
 * Returns the claim on the file, to be released if this process opens another one instead; null if there is none.
 */
export const warnOfOtherProcess = async ({ env }: Project, db: Db, logger: Notices): Promise<Claim | null> => {
  if (env.DATABASE_CLIENT !== 'sqlite') return null;
  const { claimFile } = await import('../sql/sqlite/claim.js');
  const claim = claimFile(db.place);
  if (!claim)
    logger.warn(`${db.place} is also served by another process: run one process per SQLite file, or use PostgreSQL`);
  return claim;
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

/** The link by which the first administrator registers, while there is none; none in production. @param addresses of the Studio. */
export const tellFirstAdministrator = async (
  { administration }: Site,
  addresses: readonly string[],
  logger: Pick<Notices, 'info'>,
): Promise<void> => {
  const key = (await administration?.signIn.registerKey()) ?? null;
  if (key !== null)
    logger.info(
      `there is no administrator yet: create one at ${addresses.map((it) => `${it}/studio/welcome#${key}`).join(', from elsewhere at ')}, or with dovetail admin create`,
    );
};
