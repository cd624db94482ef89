/**
 * What a server takes on SQLite with nothing kept, over the project and data of the recorded cases, by its number of threads:
 * CPU time of the start, resident memory at the start and under load, and whether the heap grows. Beside it the floor (floor.mjs),
 * which has no threads: what Node.js itself takes to answer these requests.
 */
import fs from 'node:fs';
import path from 'node:path';
import { runSlice } from './client.mjs';
import { newTable, progress, say } from './print.mjs';
import { makeProject, nothingKept, startDovetail, startScript } from './processes.mjs';
import { recordedProject, recordedRequests } from './together.mjs';

export const memoryName = 'memory';

const starts = 5;
const probe = ['--expose-gc', '--import', path.join(import.meta.dirname, 'heap-probe.mjs')];
const requestsUsual = 10_000;
const requestsSoak = 100_000;
const looks = 10;
/** Values of `threads`; null is the default, one for each core and at most four. */
const settings = [0, 1, 2, null];

/** @returns figures by the number of threads */
export const measureMemory = async ({ dir, options }) => {
  const { dist, connections, soak } = options;
  const requests = soak ? requestsSoak : requestsUsual;
  const paths = recordedRequests.map((it) => it.path);
  const file = path.join(dir, 'recorded-memory.db');
  fs.copyFileSync(path.join(recordedProject, '../data.sqlite'), file);
  const heapFile = path.join(dir, 'heap.txt');
  const world = {
    name: 'sqlite',
    postmaster: null,
    env: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file, BENCH_HEAP_FILE: heapFile },
  };
  say(
    `\nmemory in MB on SQLite, data of the recorded cases, nothing kept (${JSON.stringify(nothingKept)}), ${requests} requests (${recordedRequests.map((it) => it.name).join(', ')}), ${connections} connections`,
  );
  table.head();
  const figures = {};
  for (const threads of settings) {
    const name = threads === null ? 'default' : String(threads);
    const project = makeProject(path.join(dir, `recorded-threads-${name}`), nothingKept, {
      source: recordedProject,
      threads,
    });
    // the first start adds what Dovetail needs
    await (await startDovetail(dist, project, world)).stop();
    const startCpuMs = [];
    for (let i = 0; i < starts; i++) {
      const side = await startDovetail(dist, project, world);
      startCpuMs.push(side.startCpuMs);
      await side.stop();
    }
    const side = await startDovetail(dist, project, world, probe);
    figures[name] = {
      startCpuMs: Math.min(...startCpuMs),
      ...(await load(side, name, paths, { requests, connections, heapFile })),
    };
    printRow(name, figures[name]);
  }
  const floor = await startScript('floor.mjs', [recordedProject, file], world);
  const floorPaths = recordedRequests.map((it) => it.floor);
  figures.floor = await load(floor, 'floor', floorPaths, { requests, connections });
  printRow('the floor', figures.floor);
  const cost = figures[2].rssMb.at(-1) - figures[1].rssMb.at(-1);
  say(
    `one more thread that reads: ${cost} MB; spare ones, which long reads start on a busy machine too, are in these figures`,
  );
  return figures;
};

/** Sends the requests, and stops the side. @param heapFile where its probe writes; without it the heap is not looked at. */
const load = async (side, name, paths, { requests, connections, heapFile }) => {
  try {
    const rssMb = [side.rssMb()];
    const heapMb = [];
    for (let look = 0; look < looks; look++) {
      progress(`${name}: ${(look * requests) / looks} requests`);
      await runSlice({
        port: side.port,
        requestFor: (turn) => paths[turn % paths.length],
        seconds: 0,
        requests: requests / looks,
        connections,
      });
      rssMb.push(side.rssMb());
      if (heapFile && (look === 0 || look === looks - 1)) heapMb.push(await heapOf(side, heapFile));
    }
    progress(null);
    return { requests, rssMb, peakMb: side.peakRssMb(), heapMb };
  } finally {
    await side.stop();
  }
};

/** Megabytes of the main thread's heap that are alive. */
const heapOf = async (side, file) => {
  fs.rmSync(file, { force: true });
  side.signal('SIGUSR2');
  while (!fs.existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
  return Number(fs.readFileSync(file, 'utf8')) / 2 ** 20;
};

const table = newTable([
  ['threads', 10],
  ['start, CPU ms', 15],
  ['at start', 10],
  ['after 10 %', 12],
  ['at the end', 12],
  ['peak', 8],
  ['heap alive, 10 % and end', 26],
]);

const printRow = (name, { startCpuMs, rssMb, peakMb, heapMb }) =>
  table.row([
    name,
    startCpuMs?.toFixed(0) ?? '',
    String(rssMb[0]),
    String(rssMb[1]),
    String(rssMb.at(-1)),
    String(peakMb),
    heapMb.map((it) => it.toFixed(1)).join(' '),
  ]);
