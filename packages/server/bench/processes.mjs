/** The two sides of a comparison, each a separate process that serves HTTP on its own port. */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { cpuUsOf, familyCpuUs } from './cpu.mjs';
import { freePort, projectDir } from './databases.mjs';

/**
 * @typedef {{
 *   port: number, startMs: number, startCpuMs: number | null,
 *   cpuUs(): number | null, rssMb(): number, peakRssMb(): number, signal(name: string): void, stop(): Promise<void>,
 * }} Side
 *   `startMs`, `startCpuMs`: from the start of the process until it answers. `cpuUs`: of the process and of its PostgreSQL server.
 */

const running = new Set();

/** @param {Record<string, Side>} sides @returns {Record<string, number>} */
export const portsOf = (sides) => Object.fromEntries(Object.entries(sides).map(([side, { port }]) => [side, port]));

/** Ends the remaining processes if this program ends early. */
export const stopAll = () => Promise.all([...running].map((it) => it.stop()));

/** What a server keeps, in MB: see `memory` of its configuration. */
export const nothingKept = { answersMb: 0, entriesMb: 0 };
export const entriesKept = { answersMb: 0 };
export const responsesKept = { answersMb: 16 };

/** A copy of a project for the server, by default of the benchmark's. @param more of its configuration. */
export const makeProject = (dir, memory, { source = projectDir, ...more } = {}) => {
  fs.mkdirSync(dir, { recursive: true });
  fs.cpSync(path.join(source, 'src'), path.join(dir, 'src'), { recursive: true });
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), `${JSON.stringify({ memory, ...more })}\n`);
  return dir;
};

/** @param nodeOptions for Node itself, such as `--cpu-prof`. @returns {Promise<Side>} */
export const startDovetail = (dist, project, world, nodeOptions = []) =>
  startSide(world, [...nodeOptions, path.join(dist, 'cli/main.js'), 'start', '--project', project], (port) => ({
    ...world.env,
    HOST: '127.0.0.1',
    PORT: String(port),
    LOG_LEVEL: 'error',
  }));

/** @param env environment variables of its process. @returns {Promise<Side>} */
export const startBaseline = (world, env = {}) => startScript(`baseline-${world.name}.mjs`, [world.place], world, env);

/** A program of this folder that takes its port as the last argument. @returns {Promise<Side>} */
export const startScript = (file, args, world, env = {}) =>
  startSide(
    world,
    (port) => [path.join(import.meta.dirname, file), ...args, String(port)],
    () => env,
  );

const startSide = async ({ postmaster = null }, args, envFor) => {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, typeof args === 'function' ? args(port) : args, {
    // the data is stored in UTC
    env: { ...process.env, NODE_ENV: undefined, NODE_NO_WARNINGS: '1', TZ: 'UTC', ...envFor(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const side = {
    port,
    startMs: 0,
    startCpuMs: null,
    cpuUs: () => {
      const own = familyCpuUs(child.pid);
      const backends = postmaster === null ? 0 : familyCpuUs(postmaster);
      return own === null || backends === null ? null : own + backends;
    },
    rssMb: () => residentMb(child.pid, 'VmRSS'),
    peakRssMb: () => residentMb(child.pid, 'VmHWM'),
    signal: (name) => child.kill(name),
    stop: async () => {
      running.delete(side);
      child.kill('SIGTERM');
      await ended;
    },
  };
  running.add(side);
  while (!(await isHealthy(port))) {
    if (child.exitCode !== null) throw new Error(`a server ended with code ${child.exitCode} before it answered`);
    if (performance.now() - started > 30_000) throw new Error('a server did not answer within 30 seconds');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  side.startMs = performance.now() - started;
  const us = cpuUsOf(child.pid);
  side.startCpuMs = us === null ? null : us / 1000;
  return side;
};

const isHealthy = async (port) => {
  try {
    // a peer has no such path
    return [204, 404].includes((await fetch(`http://127.0.0.1:${port}/_health`)).status);
  } catch {
    return false;
  }
};

/** Resident memory of a process, now (`VmRSS`) or at most so far (`VmHWM`), if the system reports it (Linux). */
const residentMb = (pid, name) => {
  try {
    const [, kib] = new RegExp(`${name}:\\s+(\\d+) kB`).exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Math.round(Number(kib) / 1024);
  } catch {
    return Number.NaN;
  }
};
