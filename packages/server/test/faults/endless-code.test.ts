/** Code of a v4 project that does not return holds up its whole process, so another thread logs where it is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { afterAll, afterEach, expect, it } from 'vitest';
import { newFolder } from '../world/folders.js';
import { freePort, secretsGiven } from '../world/process.js';
import { writeFiles } from '../world/schemas.js';

const script = path.join(import.meta.dirname, 'endless.mjs');
const dir = newFolder();
writeFiles(dir, {
  'package.json': '{}',
  'dovetail.config.json': JSON.stringify({ studio: false }),
  'src/api/loop/routes/loop.js': `module.exports = { routes: [{ method: 'GET', path: '/loop', handler: 'loop.turn', config: { auth: false } }] };`,
  'src/api/loop/controllers/loop.js': `
function turn(ctx) {
  for (const end = ctx.query.ms ? Date.now() + Number(ctx.query.ms) : Infinity; Date.now() < end; );
  strapi.log.warn('returned');
  return 'done';
}
module.exports = { turn };`,
});
afterAll(() => fs.rmSync(dir, { recursive: true }));
const children: { kill(signal: 'SIGKILL'): boolean }[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Line {
  readonly msg: string;
  readonly stack?: string;
}

/** Resolves with the first line of the log that matches. */
const run = async (command: 'start' | 'dev', nodeOptions: readonly string[] = []) => {
  const port = await freePort();
  const child = spawn(process.execPath, [...nodeOptions, script, command, dir], {
    env: {
      ...process.env,
      ...secretsGiven,
      HOST: '127.0.0.1',
      PORT: String(port),
      LOG_LEVEL: 'info',
      DATABASE_CLIENT: '',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  const lines: Line[] = [];
  const output = readline.createInterface(child.stdout);
  output.on('line', (line) => lines.push(JSON.parse(line) as Line));
  const logged = async (wanted: RegExp, inStack = /^/): Promise<Line> => {
    for (;;) {
      const found = lines.find((it) => wanted.test(it.msg) && inStack.test(it.stack ?? ''));
      if (found) return found;
      await once(output, 'line');
    }
  };
  await logged(/^serving /);
  /** Not awaited: of an endless one there is no response. */
  const ask = (search = ''): void => void fetch(`http://127.0.0.1:${port}/api/loop${search}`).catch(() => undefined);
  return { lines, logged, ask };
};

it.each(['start', 'dev'] as const)('is named with its stack, in %s', async (command) => {
  const { ask, logged } = await run(command);
  ask();
  // on a busy machine a start that takes long may be named before
  const named = await logged(/does not return/, /at turn /);
  expect(named.stack).toMatch(/at turn \(.*src\/api\/loop\/controllers\/loop\.js:3\)/);
});

it('is left to a debugger where there is one: its breakpoints are not resumed', async () => {
  const { ask, logged, lines } = await run('start', ['--inspect=0']);
  ask('?ms=2000');
  await logged(/^returned$/);
  expect(lines.filter((it) => /does not return/.test(it.msg))).toEqual([]);
});

it('is said of a bootstrap that never ends, which nothing keeps alive, and the process stays', async () => {
  const own = newFolder();
  writeFiles(own, {
    'package.json': '{}',
    'dovetail.config.json': JSON.stringify({ studio: false }),
    'src/index.js': 'module.exports = { bootstrap: () => new Promise(() => undefined) };',
  });
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'late.mjs'), own], {
    env: { ...process.env, ...secretsGiven, PORT: String(await freePort()), LOG_LEVEL: 'warn', DATABASE_CLIENT: '' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  const exited = once(child, 'exit');
  const said = 'bootstrap of src/index.js has not ended; nothing is served until it does';
  for await (const line of readline.createInterface(child.stdout)) {
    if ((JSON.parse(line) as Line).msg === said) break;
  }
  child.kill('SIGKILL');
  expect(await exited).toEqual([null, 'SIGKILL']);
  fs.rmSync(own, { recursive: true });
});
