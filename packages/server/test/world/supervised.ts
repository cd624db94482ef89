/** `start --workers` in processes of their own, on a small project; `npm test` builds it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { freePort, secretsGiven } from './process.js';
import { contentType, typeFile, writeFiles } from './schemas.js';

const main = path.join(import.meta.dirname, '../../dist/cli/main.js');

/**
 * `words` are read from the database. `notes` answer with the process that answers: `?wait` once the file `go` exists. With the
 * file `broken` no worker starts.
 */
export const writeProject = (dir: string): void => {
  const handlers = `
import fs from 'node:fs';
const exists = (name) => fs.existsSync(${JSON.stringify(dir)} + '/' + name);
if (exists('broken')) process.exit(7);
export default {
  find: async ({ request: { search } }) => {
    if (search === 'wait') fs.writeFileSync(${JSON.stringify(dir)} + '/waiting', '');
    while (search === 'wait' && !exists('go')) await new Promise((resolve) => setImmediate(resolve));
    return { data: process.pid };
  },
};
`;
  writeFiles(dir, {
    'package.json': { type: 'module' },
    'dovetail.config.json': { permissions: { enabled: false } },
    [typeFile('word')]: contentType('word', { text: { type: 'string' } }),
    [typeFile('note')]: contentType('note', { text: { type: 'string' } }),
    'database/seed/words.json': Object.fromEntries(['one', 'two', 'three'].map((text) => [text, { text }])),
    'src/api/note/handlers.js': handlers,
  });
};

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };

export interface Supervised {
  readonly child: ChildProcess;
  /** `http://127.0.0.1:1234` */
  readonly origin: string;
  /** Code and signal; resolves once every process that has its output is gone. */
  readonly exited: Promise<readonly [number | null, string | null]>;
  /**
   * The first line of the log from `from` on that matches, of one worker if it is given. The lines of one process are in
   * order. Rejects if all processes have exited.
   */
  logged(wanted: RegExp, from?: number, worker?: number): Promise<LogLine>;
  lines(): readonly LogLine[];
  said(): string;
  /** Process id of the worker that last began to serve under this number. */
  pidOf(worker: number): number;
}

/** Starts it without waiting; `logged` tells when it serves. */
export const runSupervised = async (
  dir: string,
  env: Readonly<Record<string, string>>,
  workers = 2,
): Promise<Supervised> => {
  const port = Number(env['PORT'] ?? (await freePort()));
  const child = spawn(process.execPath, [main, 'start', '--project', dir, '--workers', String(workers)], {
    env: { ...process.env, ...secretsGiven, LOG_LEVEL: 'info', HOST: '127.0.0.1', PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let log = '';
  let said = '';
  child.stdout.on('data', (bytes: Buffer) => {
    log += String(bytes);
  });
  child.stderr.on('data', (bytes: Buffer) => {
    said += String(bytes);
  });
  let isOver = false;
  const exited = once(child, 'close').then(([code, signal]) => {
    isOver = true;
    return [code, signal] as const;
  });
  const lines = (): readonly LogLine[] =>
    log
      .split('\n')
      .slice(0, -1)
      .map((it) => JSON.parse(it) as LogLine);
  return {
    child,
    origin: `http://127.0.0.1:${port}`,
    exited,
    logged: async (wanted, from = 0, worker) => {
      for (;;) {
        const found = lines()
          .slice(from)
          .find((it) => wanted.test(it.msg) && (worker === undefined || it['worker'] === worker));
        if (found) return found;
        if (isOver) throw new Error(`ended without ${wanted}: ${log}${said}`);
        await Promise.race([once(child.stdout, 'data'), exited]);
      }
    },
    lines,
    said: () => said,
    pidOf: (worker) => {
      const found = lines().findLast((it) => it['worker'] === worker && it.msg.startsWith('serving '));
      if (!found) throw new Error(`worker ${worker} does not serve`);
      return Number(found['pid']);
    },
  };
};

/** Waits until a file exists. */
export const untilFile = async (file: string): Promise<void> => {
  while (!fs.existsSync(file)) await new Promise((resolve) => setImmediate(resolve));
};
