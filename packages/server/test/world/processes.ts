/** Several processes on one database, as far as it can tell: each has connections and caches of its own. */
import type { Db } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { threadOptions } from './databases.js';
import type { RelationsWorld } from './relations/world.js';
import { newTestServer, type TestPeople, type TestServer } from './server.js';

export interface Process {
  readonly db: Db;
  readonly server: TestServer;
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
  const server = await newTestServer(
    db,
    world.model,
    uploadsDir === undefined ? {} : { uploadsDir },
    responseCacheBytesMax,
    people,
  );
  return {
    db,
    server,
    close: async () => {
      await server.close();
      await db.close();
    },
  };
};
