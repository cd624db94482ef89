/** Code of a v4 project that does not return holds up its whole process, so another thread logs where it is. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
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

describe('a bootstrap that never ends, which nothing keeps alive', () => {
  const said = 'bootstrap of src/index.js has not ended; the start waits for it';
  const bootstrap = (body: string) => ({ 'src/index.js': `module.exports = { bootstrap: () => ${body} };` });
  let own = '';
  beforeEach(() => {
    own = newFolder();
    writeFiles(own, {
      'package.json': '{}',
      'dovetail.config.json': JSON.stringify({ studio: false }),
      ...bootstrap('new Promise(() => undefined)'),
    });
  });
  afterEach(() => fs.rmSync(own, { recursive: true }));

  const runLate = async (command: 'start' | 'dev') => {
    const env = { ...process.env, ...secretsGiven, PORT: String(await freePort()), DATABASE_CLIENT: '' };
    const child = spawn(process.execPath, [path.join(import.meta.dirname, 'late.mjs'), command, own], {
      env: { ...env, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    children.push(child);
    const lines = readline.createInterface(child.stdout)[Symbol.asyncIterator]();
    const logged = async (wanted: RegExp): Promise<string> => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done === true) throw new Error('it has ended');
        const { msg } = JSON.parse(value) as Line;
        if (wanted.test(msg)) return msg;
      }
    };
    return { child, logged };
  };

  it('is said, and the process stays', async () => {
    const { child, logged } = await runLate('start');
    expect(await logged(/has not ended/)).toBe(said);
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    expect(await exited).toEqual([null, 'SIGKILL']);
  });

  it('is left by dev once files change, and what they are now is served', async () => {
    const { child, logged } = await runLate('dev');
    expect(await logged(/has not ended/)).toBe(said);
    writeFiles(own, bootstrap('undefined'));
    expect(await logged(/not waited for/)).toContain('It will be served once this is mended.');
    await logged(/^serving /);
    // and where something is served already
    writeFiles(own, bootstrap('new Promise(() => 1)'));
    expect(await logged(/has not ended/)).toBe(said);
    writeFiles(own, bootstrap('1'));
    expect(await logged(/not waited for/)).toContain('The project is served as it was before.');
    await logged(/^mended/);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });
});
