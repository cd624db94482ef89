/** Cron tasks of a v4 project run once, however many processes and generations serve it. */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { newDatabase } from '../world/databases.js';
import { startDev } from '../world/dev.js';
import { newFolder } from '../world/folders.js';
import { writeFiles } from '../world/schemas.js';
import { runSupervised } from '../world/supervised.js';

const server = (text: string): string =>
  `module.exports = { cron: { enabled: true, tasks: { '* * * * * *': ({ strapi }) => strapi.log.info('${text}') } } };`;
let dir = '';
beforeEach(() => {
  dir = newFolder();
  writeFiles(dir, {
    'package.json': '{}',
    'dovetail.config.json': { studio: false },
    'config/server.js': server('tick one'),
    'src/api/held/routes/held.js': `module.exports = { routes: [{ method: 'GET', path: '/held', handler: 'held.hold', config: { auth: false } }] };`,
    'src/api/held/controllers/held.js': `module.exports = { hold: () => { strapi.log.info('held'); return new Promise(() => undefined); } };`,
  });
});
afterEach(() => fs.rmSync(dir, { recursive: true, force: true }));
const until = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 60_000, interval: 100 });

let ending: (() => Promise<unknown>) | null = null;
afterEach(async () => {
  await ending?.();
  ending = null;
});

it('the first of several workers runs them, and its successor once it is gone', async () => {
  const database = await newDatabase('postgres');
  const { child, exited, lines, logged, pidOf } = await runSupervised(dir, database.env);
  ending = async () => {
    child.kill('SIGKILL');
    await exited;
    await database.drop();
  };
  const ticks = () => lines().filter((it) => it.msg === 'tick one');
  const counted = (pid: number) => ticks().filter((it) => it['pid'] === pid).length;
  await logged(/^2 workers serve/);
  const first = pidOf(1);
  await until(() => expect(counted(first)).toBeGreaterThan(2));
  child.kill('SIGHUP');
  await logged(/^replaced 2 workers/);
  const second = pidOf(1);
  await until(() => expect(counted(second)).toBeGreaterThan(1));
  const pids = ticks().map((it) => it['pid']);
  expect(pids).toEqual([...pids.filter((it) => it === first), ...pids.filter((it) => it === second)]);
});

it('dev runs those of the files as they are, also while a request of an earlier state is not answered', async () => {
  const { lines, said, stop, url } = await startDev(dir, { DATABASE_CLIENT: 'sqlite' });
  await said('tick one');
  const aborted = new AbortController();
  fetch(`${url}/api/held`, { signal: aborted.signal }).catch(() => undefined);
  await said('held');
  fs.writeFileSync(path.join(dir, 'config/server.js'), server('tick two'));
  for (let round = 0; round < 3; round++) await said('tick two');
  const ticks = lines.map((it) => it.msg).filter((it) => it.startsWith('tick'));
  expect(ticks.slice(ticks.indexOf('tick two'))).not.toContain('tick one');
  aborted.abort();
  await stop();
});
