/** Several processes on one database, as far as it can tell: each has connections and caches of its own. */
import { newServer } from '../../src/http/server.js';
import type { Site } from '../../src/site/site.js';
import type { Db } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { threadOptions } from './databases.js';
import type { RelationsWorld } from './relations/world.js';
import { newTestDeps, type TestPeople, type TestServer, testServerOf } from './server.js';

export interface Process {
  readonly db: Db;
  readonly server: TestServer;
  readonly site: Site;
  close(): Promise<void>;
}

export interface ProcessOptions extends TestPeople {
  readonly responseCacheBytesMax?: number;
  readonly uploadsDir?: string;
  /** Threads that read, on SQLite. */
  readonly threads?: number;
}

const openDatabase = async (
  { dialect, env }: Pick<RelationsWorld, 'dialect' | 'env'>,
  threads: number,
): Promise<Db> => {
  if (dialect === 'postgres') return openPostgres(env['DATABASE_URL']!);
  const db = await openSqlite(env['DATABASE_FILENAME']!);
  if (threads > 0) await db.startThreads(threadOptions(threads));
  return db;
};

export const newProcess = async (
  world: Pick<RelationsWorld, 'dialect' | 'env' | 'model'>,
  { responseCacheBytesMax, uploadsDir, threads = 0, ...people }: ProcessOptions = {},
): Promise<Process> => {
  const db = await openDatabase(world, threads);
  const settings = uploadsDir === undefined ? {} : { uploadsDir };
  const deps = newTestDeps(db, world.model, settings, responseCacheBytesMax, people);
  const server = await testServerOf(await newServer(deps), deps.site);
  return {
    db,
    server,
    site: deps.site,
    close: async () => {
      await deps.site.notifier.stop();
      await server.close();
      await db.close();
    },
  };
};
