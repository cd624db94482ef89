/** The code of a v4 project, bound to the database and the settings that they run with. */
import { Console } from 'node:console';
import crypto from 'node:crypto';
import type { FastifyBaseLogger } from 'fastify';
import { pino } from 'pino';
import type { Action } from '../../access/permissions.js';
import type { Secrets } from '../../site/site.js';
import type { Db } from '../../sql/dialect.js';
import type { Binding, BoundCode, LoadedCode, OpenedCode, TriedCode } from '../../v4code/code.js';
import type { SettingsInForce } from '../../v4code/loading/defaults.js';
import type { CodeRoute } from '../../v4code/requests/routes.js';
import { withVariables } from '../config.js';
import { mailFor } from '../mail.js';
import type { Project } from '../project.js';
import { StartFault } from '../start-fault.js';
import type { Worker } from '../worker.js';
import { needsCode } from './code.js';
import { withStartFaults } from './config.js';
import { nameOfMiddleware } from './values.js';

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
  const isNeeded =
    needsCode(code) || v4.asksOrigin || (opened !== null && (hasTasks(opened) || hasMiddlewares(opened)));
  return opened && isNeeded ? withStartFaults(() => opened.load()) : null;
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
  return Boolean(enabled) && Object.keys(tasks ?? {}).length > 0;
};

/** Those of packages, too, need no file in the project that runs; and whatever else is there is refused. */
const hasMiddlewares = ({ config }: OpenedCode): boolean => {
  const listed: unknown = config.tree['middlewares'] ?? [];
  return !Array.isArray(listed) || listed.some((it: unknown) => !nameOfMiddleware(it).startsWith('strapi::'));
};

/** Makes routes and hooks of it, and runs `register`. What a route needs and is not there refuses the start. */
export const bindCode = async (
  project: Project,
  loaded: LoadedCode | null,
  { secrets, db, logger, worker = null }: CodeGiven,
): Promise<BoundProject> => {
  if (!loaded) return { project, code: undefined };
  const binding = bindingOf(project, { secrets, db, logger, worker });
  return { project, code: await withStartFaults(() => loaded.bind(binding)) };
};

const bindingOf = (project: Project, { secrets, db, logger, worker = null }: CodeGiven): Binding => {
  const { config, model } = project;
  return {
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
  };
};

/** What the start would refuse of the code, a line each. */
export const refusedCode = async (project: Project, db: Db): Promise<readonly string[]> =>
  (await triedCode(project, db)).refused;

/** The actions that routes of the code name, but for routes that `register` adds. Throws a `StartFault` for code that the start would refuse. */
export const actionsOfCode = async (project: Project, db: Db): Promise<readonly Action[]> => {
  const { refused, actions } = await triedCode(project, db);
  if (refused.length > 0) throw new StartFault(refused.join('\n'));
  return actions;
};

/** The route on which code answers a GET, `register` aside; null where the server answers by itself, or code is refused. */
export const codeRouteAt = async (project: Project, db: Db, path: string): Promise<CodeRoute | null> =>
  (await triedCode(project, db)).routeAt(path);

const nothing = { actions: [], routeAt: () => null };

/** Modules are loaded and routes made, as the start does it, but neither `register` nor `bootstrap` runs, and nothing is written. */
const triedCode = (project: Project, db: Db): Promise<TriedCode> =>
  aside(project, async () => {
    try {
      const loaded = await loadProjectCode(project);
      if (!loaded) return { refused: [], ...nothing };
      // nothing is signed with them
      const unused = crypto.randomBytes(32).toString('hex');
      const secrets = { jwtSecret: unused, apiTokenSalt: unused, adminJwtSecret: unused };
      return await loaded.tryOut(bindingOf(project, { secrets, db, logger: pino({ level: 'silent' }) }));
    } catch (fault) {
      if (fault instanceof StartFault) return { refused: fault.message.split('\n'), ...nothing };
      throw fault;
    }
  });

/** Evaluates modules of the project with its variables; what they print goes to stderr, because stdout is for the result of the command. */
export const aside = <T>({ dir }: Project, work: () => Promise<T>): Promise<T> =>
  withVariables(dir, async () => {
    const { console: own } = globalThis;
    globalThis.console = new Console(process.stderr);
    try {
      return await work();
    } finally {
      globalThis.console = own;
    }
  });
