/** Starts a PgBouncer in front of a PostgreSQL, with a handful of server connections. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { newFolder } from './folders.js';
import { freePort } from './process.js';

export type PoolMode = 'session' | 'transaction';

export interface Pooler {
  /** The same database through the pooler. */
  through(url: string): string;
  stop(): Promise<void>;
}

export const serverConnections = 5;

/** @param server URL of a PostgreSQL, with user and password. */
export const startPgBouncer = async (server: string, mode: PoolMode): Promise<Pooler> => {
  const { hostname, port: serverPort, username, password } = new URL(server);
  const dir = newFolder();
  const port = await freePort();
  const users = path.join(dir, 'users.txt');
  const settings = path.join(dir, 'pgbouncer.ini');
  fs.writeFileSync(users, `"${username}" "${password}"\n`);
  fs.writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = md5
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = ${serverConnections}
`,
  );
  fs.chmodSync(dir, 0o755);
  const isRoot = process.getuid?.() === 0;
  const child = spawn('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), settings], {
    // Debian installs it where only administrators look
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/usr/local/sbin` },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.once('error', (fault) =>
      reject(new Error(`These tests need PgBouncer (apt-get install pgbouncer): ${fault.message}`)),
    );
    child.once('exit', (code) => reject(new Error(`PgBouncer ended with ${code}: ${said}`)));
    child.stderr.on('data', (text: Buffer) => {
      said += String(text);
      if (said.includes('process up')) resolve();
    });
  });
  return {
    through: (url) => {
      const it = new URL(url);
      it.port = String(port);
      return it.href;
    },
    stop: async () => {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await ended;
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
};
