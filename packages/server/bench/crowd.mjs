/**
 * How long others wait while some clients send the most expensive requests that are allowed: `node bench/crowd.mjs`, on
 * SQLite. The answers of `_health`, of a cached list and of ordinary uncached reads are timed, each sent at a fixed pace,
 * alone first and then beside the crowd.
 */
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { dropSqlite, sqliteWorld } from './databases.mjs';
import { progress, say } from './print.mjs';
import { makeProject, responsesKept, startDovetail, stopAll } from './processes.mjs';

const usage = `node bench/crowd.mjs [options]
  --articles N    size of the data set (100000)
  --clients N     that send expensive requests (4)
  --seconds S     for each of the two halves (20)
  --threads N     the setting of that name; by default that of the server
  --keep DIR      keeps the data there for the next run
  --dist DIR      the server's build (dist)`;

/** Milliseconds between two requests of a kind that is timed. */
const paceMs = 25;
/** What the slowest hundredth may take, in milliseconds. */
const wanted = { health: 50, cached: 50, ordinary: 200 };

const encode = (text) => text.replaceAll('[', '%5B').replaceAll(']', '%5D');
const list = (search) => (turn) => encode(`/api/articles?${search.replaceAll('#', String(turn))}`);

/** None is answered from the cache: each has a value of its own. */
const expensive = {
  'search in all texts': list('_q=absent-#'),
  'long texts, not sorted by an index': list('filters[body][$containsi]=absent-#&sort=summary'),
  'many conditions on long texts': list(
    Array.from({ length: 20 }, (_, i) => `filters[$or][${i}][body][$notContainsi]=harbour-${i}-#`).join('&'),
  ),
  'sort through a to-many relation': list('sort=comments.postedAt:desc&fields=title&filters[views][$gt]=-#'),
  'sort through two relations': list('sort=categories.articles.title&fields=title&filters[views][$gt]=-#'),
  'filter through a to-many relation': list('filters[comments][body][$containsi]=absent-#'),
  'deep page of a sorted list': list('sort=summary&pagination[start]=9#&pagination[limit]=100'),
  'deep populate': list(
    `populate[author][populate][articles][populate][comments]=true&populate[author][populate][articles][populate][categories]=true&populate[categories][populate][articles][fields]=title&pagination[pageSize]=100&filters[views][$gt]=-#`,
  ),
};

const timed = {
  health: () => '/_health',
  cached: () => '/api/articles',
  ordinary: (turn) =>
    turn % 2 === 0
      ? `/api/articles/${1 + ((turn * 7919) % 90_000)}?populate=*`
      : encode(`/api/articles?pagination[page]=${1 + ((turn * 31) % 40)}&fields[0]=title&populate[author]=true`),
};

const sender = (port) => {
  const agent = new http.Agent({ keepAlive: true });
  /** @returns {Promise<{ status: number, ms: number }>} */
  const send = (url) =>
    new Promise((resolve, reject) => {
      const began = performance.now();
      http
        .get({ agent, port, host: '127.0.0.1', path: url }, (response) => {
          response.resume();
          response.on('end', () => resolve({ status: response.statusCode, ms: performance.now() - began }));
        })
        .on('error', reject);
    });
  return { send, close: () => agent.destroy() };
};

/** Sends one request after the other at the pace, whether or not the last one has been answered. */
const time = async (send, url, seconds) => {
  const answers = [];
  for (let turn = 0; turn < (seconds * 1000) / paceMs; turn++) {
    answers.push(send(url(turn)));
    await new Promise((resolve) => setTimeout(resolve, paceMs));
  }
  return Promise.all(answers);
};

const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

const report = (name, answers) => {
  const sorted = answers.map((it) => it.ms).sort((a, b) => a - b);
  const bad = answers.filter((it) => it.status !== 200 && it.status !== 204 && it.status !== 404);
  const [p50, p99, max] = [percentile(sorted, 0.5), percentile(sorted, 0.99), sorted.at(-1)];
  say(
    `  ${name.padEnd(10)} p50 ${p50.toFixed(1).padStart(7)} ms, p99 ${p99.toFixed(1).padStart(7)} ms, max ${max.toFixed(1).padStart(7)} ms, ${answers.length} requests${bad.length === 0 ? '' : `, ${bad.length} refused`}`,
  );
  return p99;
};

const timeAll = async (send, seconds) =>
  Object.fromEntries(
    await Promise.all(Object.entries(timed).map(async ([name, url]) => [name, await time(send, url, seconds)])),
  );

const crowd = (send, clients) => {
  let isOver = false;
  let turn = 0;
  const seen = Object.fromEntries(Object.keys(expensive).map((name) => [name, []]));
  const names = Object.keys(expensive);
  const client = async () => {
    while (!isOver) {
      const name = names[turn % names.length];
      turn += 1;
      seen[name].push(await send(expensive[name](turn)));
    }
  };
  const running = Array.from({ length: clients }, client);
  return async () => {
    isOver = true;
    await Promise.all(running);
    return seen;
  };
};

const readOptions = () => {
  const text = (fallback) => ({ type: 'string', ...(fallback === undefined ? {} : { default: fallback }) });
  const { values } = parseArgs({
    options: {
      articles: text('100000'),
      clients: text('4'),
      seconds: text('20'),
      threads: text(),
      keep: text(),
      dist: text(path.join(import.meta.dirname, '../dist')),
      help: { type: 'boolean', default: false },
    },
  });
  return values;
};

const main = async () => {
  const options = readOptions();
  if (options.help) return say(usage);
  const dir = options.keep ?? fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-crowd-'));
  fs.mkdirSync(dir, { recursive: true });
  const files = ['model/load.js', 'model/storage.js', 'sql/schema.js', 'sql/sqlite/open.js'];
  const dovetail = Object.assign({}, ...(await Promise.all(files.map((it) => import(path.join(options.dist, it))))));
  const world = await sqliteWorld(dovetail, dir, Number(options.articles), progress);
  progress(null);
  const project = makeProject(path.join(dir, 'project-crowd'), responsesKept);
  if (options.threads !== undefined)
    fs.writeFileSync(path.join(project, 'dovetail.config.json'), JSON.stringify({ threads: Number(options.threads) }));
  const side = await startDovetail(options.dist, project, world);
  const { send, close } = sender(side.port);
  const seconds = Number(options.seconds);
  try {
    await timeAll(send, 2);
    say(`alone, ${options.articles} articles, ${side.rssMb()} MB, load ${os.loadavg()[0].toFixed(1)}:`);
    for (const [name, answers] of Object.entries(await timeAll(send, seconds))) report(name, answers);
    const stop = crowd(send, Number(options.clients));
    const beside = await timeAll(send, seconds);
    const seen = await stop();
    say(`beside ${options.clients} clients with expensive requests, ${side.rssMb()} MB:`);
    for (const [name, answers] of Object.entries(beside)) {
      const p99 = report(name, answers);
      if (p99 > wanted[name]) process.exitCode = 1;
    }
    say('their requests:');
    for (const [name, answers] of Object.entries(seen)) {
      const ms = answers.map((it) => it.ms).sort((a, b) => a - b);
      const statuses = [...new Set(answers.map((it) => it.status))].sort().join(', ');
      say(`  ${name.padEnd(36)} ${answers.length} requests, ${statuses}, p50 ${percentile(ms, 0.5)?.toFixed(0)} ms`);
    }
  } finally {
    close();
    await stopAll();
    if (options.keep === undefined) dropSqlite(world.place);
  }
  return undefined;
};

try {
  await main();
} catch (fault) {
  process.stderr.write(`${fault.stack}\n`);
  process.exitCode = 1;
}
