/** `dovetail dev` in a process of its own, over a project of the test's; `npm test` builds it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { afterAll } from 'vitest';
import { freePort, secretsGiven } from './process.js';

const main = path.join(import.meta.dirname, '../../dist/cli/main.js');

const started = new Set<ChildProcess>();
// a test that fails leaves its process behind, and the run would wait for it
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
});

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly changes?: readonly string[];
  readonly faults?: readonly {
    readonly file: string | null;
    readonly line: number | null;
    readonly column: number | null;
    readonly message: string;
  }[];
  readonly url?: string;
}

export interface Dev {
  /** `http://127.0.0.1:1234` */
  readonly url: string;
  /** All lines so far. */
  readonly lines: readonly LogLine[];
  /** The first line after those of the last call that has the text, or matches. */
  said(what: string | RegExp): Promise<LogLine>;
  get(path: string): Promise<{ readonly status: number; readonly body: unknown }>;
  send(method: string, path: string, body: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Ends with SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Resolves once it serves, or once the text is said. */
export const startDev = async (
  dir: string,
  env: Readonly<Record<string, string>>,
  until: string | RegExp = /^serving /,
): Promise<Dev> => {
  const port = await freePort();
  const child = spawn(process.execPath, [main, 'dev', '--project', dir], {
    env: { ...process.env, TZ: 'UTC', HOST: '127.0.0.1', PORT: String(port), ...secretsGiven, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.add(child);
  const lines: LogLine[] = [];
  let read = 0;
  let arrived = (): void => undefined;
  readline.createInterface(child.stdout).on('line', (line) => {
    lines.push(JSON.parse(line) as LogLine);
    arrived();
  });
  let exitCode: number | null | undefined;
  const exited = once(child, 'exit').then(([code]) => {
    exitCode = code as number | null;
    started.delete(child);
    arrived();
    return exitCode;
  });
  const url = `http://127.0.0.1:${port}`;
  const said: Dev['said'] = async (what) => {
    for (;;) {
      const found = lines.findIndex(
        (it, i) => i >= read && (typeof what === 'string' ? it.msg.includes(what) : what.test(it.msg)),
      );
      if (found !== -1) {
        read = found + 1;
        return lines[found]!;
      }
      if (exitCode !== undefined) throw new Error(`dev has ended: ${JSON.stringify(lines.slice(read))}`);
      await new Promise<void>((resolve) => {
        arrived = resolve;
      });
    }
  };
  const send = async (method: string, at: string, body?: unknown) => {
    const answer = await fetch(url + at, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: answer.status, body: (await answer.json()) as unknown };
  };
  await said(until);
  return {
    url,
    lines,
    said,
    get: (at) => send('GET', at),
    send,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
};

/** As an editor saves: a new file that replaces the old one. */
export const saveByRename = (file: string, text: string): void => {
  fs.writeFileSync(`${file}~`, text);
  fs.renameSync(`${file}~`, file);
};
