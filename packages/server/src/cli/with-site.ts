/** Opens the site of a project for one command. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { Refusal } from '../errors.js';
import type { HandlersByType } from '../handlers/load.js';
import type { Site } from '../site/site.js';
import { requireStarted } from './layout.js';
import { openDatabase, openProject, type Project, refuseOtherClient } from './project.js';
import { refusalMessage } from './refusal.js';
import { requireSecret } from './secrets.js';
import { siteOf } from './site.js';
import { StartFault } from './start-fault.js';

/** The server's own, read when they are needed. */
export interface LateSecrets {
  apiTokenSalt(): string;
  adminJwtSecret(): string;
}

export interface WithSiteOptions {
  /** Loads the project's code, whose hooks the command's writes then run; none by default. */
  readonly load?: (project: Project) => Promise<HandlersByType>;
}

/** A `Refusal` becomes a `StartFault` with its message. */
export const withSite = async (
  dir: string,
  work: (site: Site, secrets: LateSecrets, project: Project) => Promise<void>,
  { load = async () => new Map() }: WithSiteOptions = {},
): Promise<void> => {
  const opened = await openProject(dir);
  refuseOtherClient(opened);
  // opening would create the file
  const { env } = opened;
  const file = path.resolve(opened.dir, env.DATABASE_FILENAME);
  if (env.DATABASE_CLIENT === 'sqlite' && !fs.existsSync(file))
    throw new StartFault(`There is no file ${file} yet. Run start or sync first.`);
  const db = await openDatabase(opened);
  try {
    const project = await requireStarted(opened, db);
    // stderr, because stdout is for the result of the command
    const logger = pino({ level: 'info' }, pino.destination(2));
    // commands never sign with these
    const unused = crypto.randomBytes(32).toString('hex');
    const secrets = { jwtSecret: unused, apiTokenSalt: unused, adminJwtSecret: unused };
    const handlers = await load(project);
    const site = await siteOf({
      project,
      db,
      secrets,
      handlers,
      logger,
      responseCacheBytesMax: 0,
      entriesBytesMax: 0,
    });
    // what the command writes is recorded, and a running server sends it
    await site.notifier.load();
    const late: LateSecrets = {
      apiTokenSalt: () => requireSecret('API_TOKEN_SALT', project.dir, project.env),
      adminJwtSecret: () => requireSecret('ADMIN_JWT_SECRET', project.dir, project.env),
    };
    await work(site, late, project);
  } catch (fault) {
    throw fault instanceof Refusal ? new StartFault(refusalMessage(fault)) : fault;
  } finally {
    await db.close();
  }
};
