/** The built server in a process of its own, over a world's database; `npm test` builds it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const serve = path.join(path.dirname(fileURLToPath(import.meta.url)), '../faults/serve.mjs');

/** The secrets of a server in a process of its own: those that are not given are written to the project. */
export const secretsGiven = {
  JWT_SECRET: 'a secret of the tests',
  API_TOKEN_SALT: 'a salt of the tests',
  ADMIN_JWT_SECRET: 'another secret of the tests, for administrators',
};

export interface Served {
  /** `http://127.0.0.1:1234/api` */
  readonly url: string;
  readonly child: ChildProcess;
  /** Its log; silent unless LOG_LEVEL is given. */
  log(): string;
}

/**
 * @param env environment variables beside those of this process.
 * @param nodeOptions such as `--max-old-space-size=512`.
 * @param script starts the server for the project in its argument, and sends a message once it listens.
 */
export const serveInProcess = async (
  projectDir: string,
  env: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
  script = serve,
): Promise<Served> => {
  const port = await freePort();
  const own = { LOG_LEVEL: 'silent', TZ: 'UTC', ...secretsGiven, ...env, PORT: String(port), HOST: '127.0.0.1' };
  const child = fork(script, [projectDir], {
    env: { ...process.env, ...own },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [...nodeOptions],
  });
  let log = '';
  child.stdout!.on('data', (text: Buffer) => {
    log += String(text);
  });
  let errors = '';
  child.stderr!.on('data', (text: Buffer) => {
    errors += String(text);
  });
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the server ended with ${code}: ${errors}`);
    }),
  ]);
  return { url: `http://127.0.0.1:${port}/api`, child, log: () => log };
};

/**
 * A port that nothing listens on. It lies below those that the system gives to connections (32768 and up on Linux, 49152
 * on macOS), one of which could take it before it is listened on; and workers that run at the same time have ranges of
 * their own.
 */
export const freePort = async (): Promise<number> => {
  const worker = Number(process.env['VITEST_POOL_ID'] ?? 0) % workersMax;
  for (let tried = 0; tried < portsPerWorker; tried++) {
    const port = portsFrom + worker * portsPerWorker + (nextPort++ % portsPerWorker);
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free');
};

const portsFrom = 12_000;
const portsPerWorker = 2_500;
const workersMax = 8;
/** Each file has a process of its own: the one after it begins elsewhere. */
let nextPort = process.pid * 17;

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
