/** The built server in a process of its own, over a world's database; `npm test` builds it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const script = path.join(path.dirname(fileURLToPath(import.meta.url)), '../faults/serve.mjs');

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
 */
export const serveInProcess = async (
  projectDir: string,
  env: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
): Promise<Served> => {
  const port = await freePort();
  // secrets are given, because otherwise they would be written to the project
  const secrets = { JWT_SECRET: 'a secret of the tests', API_TOKEN_SALT: 'a salt of the tests' };
  const own = { LOG_LEVEL: 'silent', TZ: 'UTC', ...secrets, ...env, PORT: String(port), HOST: '127.0.0.1' };
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

/** A free port on this machine. */
export const freePort = async (): Promise<number> => {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
};
