/**
 * The example magazine as `npm start` serves it, in a folder and a database of its own. The folder lies where it does in the
 * repository, in `examples/magazine` below `root`.
 */
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pino } from 'pino';
import { hashToken } from '../../src/access/tokens.js';
import { prepareData } from '../../src/cli/bootstrap.js';
import { bringUp } from '../../src/cli/layout.js';
import { openProject } from '../../src/cli/project.js';
import { serverSettingsOf, siteOf } from '../../src/cli/site.js';
import { loadHandlers } from '../../src/handlers/load.js';
import { newServer } from '../../src/http/server.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { copiedDatabase, insertRows, type NamedRow, queryOf } from './databases.js';
import { newFolder } from './folders.js';
import { secrets, type TestServer, testServerOf } from './server.js';

const magazineDir = path.join(import.meta.dirname, '../../../../examples/magazine');
export const token = 'full-access-token';

export interface Magazine {
  readonly root: string;
  readonly dir: string;
  /** Environment variables with which a command opens the same database with the same secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly send: TestServer['send'];
  /** Serves it on a port; the URL of the server. */
  listen(): Promise<string>;
  /** Creates `token`, if it is not there yet; it may do everything. */
  authorize(): Promise<void>;
  /** Starts the server again. */
  restart(): Promise<void>;
  /** Merges JSON into a file of the project, or replaces a file of another kind, and starts the server again. */
  write(file: string, text: string): Promise<void>;
  /** Rows of a statement as another program sees them, with values as the database prints them. */
  query(statement: string): Promise<readonly NamedRow[]>;
  /** Runs a shell command on the same machine. */
  command(text: string): Promise<void>;
  close(): Promise<void>;
}

const logger = pino({ level: 'silent' });

/** @param isAuthorized whether `token` exists from the start, or only once `authorize` was called. */
export const newMagazine = async (
  dialect: DialectName,
  { isAuthorized = true }: { readonly isAuthorized?: boolean } = {},
): Promise<Magazine> => {
  const root = newFolder();
  const dir = path.join(root, 'examples/magazine');
  fs.cpSync(magazineDir, dir, { recursive: true, filter: (it) => !/\/(\.env|\.tmp)$/.test(it) });
  const fill = async (db: Db): Promise<void> => {
    const project = await bringUp(await openProject(magazineDir), db, logger);
    await prepareData(project, db, logger);
  };
  const database = await copiedDatabase(dialect, 'magazine', fill, { file: path.join(dir, '.tmp/data.db') });
  const start = async () => {
    const project = await bringUp(await openProject(dir), database.db, logger);
    const { db } = database;
    const handlers = await loadHandlers(dir, project.model);
    const responseCacheBytesMax = Math.round(project.config.memory.answersMb * 1024 * 1024);
    const entriesBytesMax = Math.round(project.config.memory.entriesMb * 1024 * 1024);
    const site = await siteOf({ project, db, secrets, handlers, logger, responseCacheBytesMax, entriesBytesMax });
    const app = await newServer({ site, settings: serverSettingsOf(project), logger, isHealthy: db.isHealthy });
    const { stopDelaySeconds } = project.config.server;
    return { app, server: await testServerOf(app, site), stopDelaySeconds };
  };
  let running = await start();
  const restart = async (): Promise<void> => {
    await running.server.close();
    running = await start();
  };
  let hasToken = false;
  const authorize = async (): Promise<void> => {
    if (hasToken) return;
    hasToken = true;
    const tokens = { name: 'strapi_api_tokens', columns: tokenColumns };
    const access_key = hashToken(token, secrets.apiTokenSalt);
    await insertRows(database.db, tokens, [{ name: token, type: 'full-access', access_key }]);
  };
  if (isAuthorized) await authorize();
  return {
    root,
    dir,
    env: {
      ...(dialect === 'sqlite' ? {} : database.env),
      JWT_SECRET: secrets.jwtSecret,
      API_TOKEN_SALT: secrets.apiTokenSalt,
    },
    authorize,
    restart,
    send: (...request) => running.server.send(...request),
    listen: () => running.app.listen({ host: '127.0.0.1', port: 0 }),
    write: async (file, text) => {
      writeInto(path.join(dir, file), text);
      await restart();
    },
    query: (statement) => queryOf(database, statement),
    command: async (text) => {
      if (!text.startsWith('kill -TERM')) throw new Error(`no example runs ${text}`);
      // what the process would do on SIGTERM, which would end the tests
      void running.app.drain({ delay: setTimeout(running.stopDelaySeconds * 1000, null, { ref: false }) });
    },
    close: async () => {
      await running.server.close();
      await database.drop();
      fs.rmSync(root, { recursive: true });
    },
  };
};

const tokenColumns = ['name', 'type', 'access_key'].map((name) => ({ name, kind: 'string' as const }));

const writeInto = (file: string, text: string): void => {
  const isMerged = file.endsWith('.json') && fs.existsSync(file);
  const whole = isMerged
    ? JSON.stringify(merged(JSON.parse(fs.readFileSync(file, 'utf8')), JSON.parse(text)), null, 2)
    : text;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, whole);
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keys of `change` replace those of `value`; objects are merged. */
const merged = (value: unknown, change: unknown): unknown =>
  isObject(value) && isObject(change)
    ? Object.fromEntries([
        ...Object.entries(value),
        ...Object.entries(change).map(([key, it]) => [key, merged(value[key], it)] as const),
      ])
    : change;
