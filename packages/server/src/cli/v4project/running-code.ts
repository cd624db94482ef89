/** The code of a v4 project, bound to the database and the settings that they run with. */
import type { FastifyBaseLogger } from 'fastify';
import type { Secrets } from '../../site/site.js';
import type { Db } from '../../sql/dialect.js';
import type { BoundCode, LoadedCode, OpenedCode } from '../../v4code/code.js';
import type { SettingsInForce } from '../../v4code/loading/defaults.js';
import type { Project } from '../project.js';
import { mailFor } from '../site.js';
import type { Worker } from '../worker.js';
import { needsCode } from './code.js';
import { withStartFaults } from './config.js';

interface CodeGiven {
  readonly secrets: Secrets;
  readonly db: Db;
  readonly logger: FastifyBaseLogger;
  /** Of several processes that serve one port, one runs cron tasks; a process that is alone does. */
  readonly worker?: Pick<Worker, 'number'> | null;
}

/** A project, and its code if it has any that runs. */
export interface BoundProject {
  readonly project: Project;
  readonly code: BoundCode | undefined;
}

/** Loads the modules of the code; null if there is none, or the configuration does not run it. Nothing is written. */
export const loadProjectCode = async ({ v4, code }: Project): Promise<LoadedCode | null> => {
  const { opened } = v4;
  return opened && (needsCode(code) || hasTasks(opened) || v4.asksOrigin) ? withStartFaults(() => opened.load()) : null;
};

const settingsOf = ({ config, env }: Project): SettingsInForce => ({
  host: env.HOST,
  port: env.PORT,
  url: config.server.url,
  uploads: {
    provider: config.upload.s3.bucket === null ? 'local' : 'aws-s3',
    sizeLimit: config.upload.sizeLimit,
  },
  mailFrom: config.mail.from,
  mailReplyTo: config.mail.replyTo,
});

/** Tasks of `config/server` run also where all else is as v4 generates it. */
const hasTasks = ({ config }: OpenedCode): boolean => {
  const { enabled, tasks } = (config.get('server.cron') ?? {}) as {
    readonly enabled?: unknown;
    readonly tasks?: object;
  };
  return enabled !== false && Object.keys(tasks ?? {}).length > 0;
};

/** Makes routes and hooks of it, and runs `register`. What a route needs and is not there refuses the start. */
export const bindCode = async (
  project: Project,
  loaded: LoadedCode | null,
  { secrets, db, logger, worker = null }: CodeGiven,
): Promise<BoundProject> => {
  if (!loaded) return { project, code: undefined };
  const { config, model } = project;
  const code = await withStartFaults(() =>
    loaded.bind({
      db,
      model,
      mail: mailFor(project, logger),
      log: logger,
      rest: config.api.rest,
      prefix: config.api.rest.prefix,
      jwtSecret: secrets.jwtSecret,
      apiTokenSalt: secrets.apiTokenSalt,
      runsCron: worker === null || worker.number === 1,
      jwtSeconds: Math.round(config.users.jwtDays * 24 * 60 * 60),
      settings: settingsOf(project),
    }),
  );
  return { project, code };
};
