/** Several processes on one database, as far as it can tell: each has connections and caches of its own. */
import type { Db } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
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
}

export const newProcess = async (
  { dialect, env, model }: Pick<RelationsWorld, 'dialect' | 'env' | 'model'>,
  { responseCacheBytesMax, uploadsDir, ...people }: ProcessOptions = {},
): Promise<Process> => {
  const db =
    dialect === 'sqlite' ? await openSqlite(env['DATABASE_FILENAME']!) : await openPostgres(env['DATABASE_URL']!);
  const server = await newTestServer(
    db,
    model,
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
