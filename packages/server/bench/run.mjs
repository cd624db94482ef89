/**
 * `npm run bench -- --articles 10000`: Dovetail beside a minimal program that answers the same requests from the same
 * database. See `usage` for the options.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runSlice } from './client.mjs';
import {
  copyPostgres,
  copySqlite,
  dropPostgresWorld,
  dropSqlite,
  postgresServer,
  postgresWorld,
  sqliteWorld,
} from './databases.mjs';
import { compareLocales, localeRequests } from './locales.mjs';
import { measure, median, ratio } from './measure.mjs';
import { bothMs, newTable, printProfile, progress, say } from './print.mjs';
import { makeProject, startBaseline, startDovetail, stopAll } from './processes.mjs';
import { profileRequest } from './profile.mjs';
import { filteredPage, requestsFor, writesFor } from './requests.mjs';
import { countStatements, timeStatements } from './statements.mjs';
import { compareUploads, uploadName } from './uploading.mjs';
import { compareWrites, writtenArticles } from './writing.mjs';

const usage = `npm run bench -- [options]
  --articles N         size of the data set: 30 (default), 10000, 100000; writes have ${writtenArticles} at least
  --database NAME      sqlite or postgres; both without it
  --postgres URL       a PostgreSQL server on which databases may be made; one of its own without it
  --keep DIR           keeps the data there for the next run
  --requests a,b       some of list, star, tree, one, page; localized, localized-page, localized-other, localized-all;
                       create, connect, append, which write; upload, a photograph
  --rounds N           slices for each side and request (7; 10 of writes)
  --seconds S          length of a slice (0.8); those of writes have a number of requests instead
  --connections N      reads at a time (8)
  --soak               100,000 more requests before memory is read
  --profile            where the time goes, for requests that are slower than wanted
  --json FILE          writes the figures
  --dist DIR           the server's build (dist)
  --force              measures although the machine is busy`;

/** Ratios below these deserve a look at the profile. */
const wanted = { sqlite: 0.85, postgres: 0.8 };
const wantedOfWrites = 0.7;
const wantedOfLocales = 0.9;
const busyLoad = 1.5;
const smallArticles = 30;
const soakRequests = 100_000;

const readNames = requestsFor({ articles: smallArticles, lastPage: 1 }).map((it) => it.name);
const writeNames = writesFor({ articles: writtenArticles }).map((it) => it.name);
const localeNames = localeRequests.map((it) => it.name);
const requestNames = [...readNames, ...localeNames, ...writeNames, uploadName];

const readOptions = () => {
  const text = (fallback) => ({ type: 'string', ...(fallback === undefined ? {} : { default: fallback }) });
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    options: {
      articles: text('30'),
      database: text(),
      postgres: text(),
      keep: text(),
      requests: text(requestNames.join(',')),
      rounds: text(),
      seconds: text('0.8'),
      connections: text('8'),
      json: text(),
      dist: text(path.join(import.meta.dirname, '../dist')),
      soak: flag,
      profile: flag,
      force: flag,
      help: flag,
    },
  });
  const number = (name) => {
    const value = Number(values[name]);
    if (!(value > 0)) throw new Error(`--${name} wants a number greater than 0\n\n${usage}`);
    return value;
  };
  if (values.database !== undefined && !(values.database in wanted))
    throw new Error(`--database wants sqlite or postgres\n\n${usage}`);
  const requests = values.requests.split(',');
  for (const name of requests)
    if (!requestNames.includes(name)) throw new Error(`--requests knows ${requestNames.join(', ')}\n\n${usage}`);
  return {
    ...values,
    dist: path.resolve(values.dist),
    articles: number('articles'),
    rounds: values.rounds === undefined ? undefined : number('rounds'),
    seconds: number('seconds'),
    connections: number('connections'),
    databases: values.database === undefined ? Object.keys(wanted) : [values.database],
    requests,
  };
};

const main = async () => {
  const options = readOptions();
  if (options.help) return say(usage);
  const [load] = os.loadavg();
  if (load > busyLoad && !options.force)
    throw new Error(
      `The machine is busy (load ${load.toFixed(2)}, at most ${busyLoad} is quiet); figures would not hold. --force measures all the same.`,
    );
  const dir = path.resolve(options.keep ?? fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-bench-')));
  fs.mkdirSync(dir, { recursive: true });
  const figures = {
    articles: options.articles,
    node: process.version,
    cores: os.availableParallelism(),
    databases: {},
  };
  say(`load ${load.toFixed(2)}, ${figures.cores} cores, Node ${figures.node}, ${options.connections} connections`);
  let server;
  try {
    const dovetail = await loadDist(options.dist);
    const projects = {
      anew: makeProject(path.join(dir, 'project-anew'), 0),
      cached: makeProject(path.join(dir, 'project-cached'), 16),
    };
    if (options.databases.includes('postgres'))
      server = await postgresServer(options.postgres, dir, options.keep !== undefined);
    const stores = storesFor(dovetail, dir, () => server.url);
    const has = (names) => options.requests.some((it) => names.includes(it));
    for (const name of options.databases) {
      const store = stores[name];
      const worlds = new Map();
      const prepare = async (articles) => {
        if (!worlds.has(articles)) worlds.set(articles, await store.prepare(articles));
        return worlds.get(articles);
      };
      const began = performance.now();
      const world = has([...readNames, ...localeNames]) ? await prepare(options.articles) : null;
      const small = world && options.articles > smallArticles ? await prepare(smallArticles) : null;
      const written = has(writeNames) ? await prepare(Math.max(options.articles, writtenArticles)) : null;
      progress(null);
      const copied = has([uploadName]) ? await prepare(options.articles) : null;
      const sizes = [...new Set([world, written, copied].flatMap((it) => (it ? [it.articles] : [])))].join(' and ');
      say(`\n${name}, ${sizes} articles (data ready in ${((performance.now() - began) / 1000).toFixed(1)} s)`);
      try {
        figures.databases[name] = {
          ...(has(readNames) && (await compare({ dovetail, projects, world, small, dir, options }))),
          ...(has(localeNames) && {
            locales: await compareLocales({
              project: projects.anew,
              store,
              world,
              dir,
              wanted: wantedOfLocales,
              options,
            }),
          }),
          ...(written && {
            writes: await compareWrites({
              dovetail,
              project: projects.anew,
              store,
              world: written,
              dir,
              wanted: wantedOfWrites,
              options,
            }),
          }),
          ...(has([uploadName]) && { upload: await compareUploads({ store, world: copied, dir, options }) }),
        };
      } finally {
        await stopAll();
        if (options.keep === undefined) for (const made of worlds.values()) await store.drop(made);
      }
    }
    figures.load = { before: load, after: os.loadavg()[0] };
    say(`\nload ${load.toFixed(2)} before, ${figures.load.after.toFixed(2)} after`);
    if (options.json !== undefined) fs.writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  } finally {
    await stopAll();
    await server?.stop();
    if (options.keep === undefined) fs.rmSync(dir, { recursive: true, force: true });
  }
  return undefined;
};

/** How the data of each database is created, copied and removed. */
const storesFor = (dovetail, dir, adminUrl) => ({
  sqlite: {
    prepare: (articles) => sqliteWorld(dovetail, dir, articles, progress),
    copy: (world, side, rows) => copySqlite(dovetail, world, side, rows),
    drop: async ({ place }) => dropSqlite(place),
  },
  postgres: {
    prepare: (articles) => postgresWorld(dovetail, adminUrl(), articles, progress),
    copy: (world, side, rows) => copyPostgres(dovetail, adminUrl(), world, side, rows),
    drop: (world) => dropPostgresWorld(adminUrl(), world),
  },
});

/** The server modules that the benchmark itself uses. */
const loadDist = async (dist) => {
  if (!fs.existsSync(path.join(dist, 'cli/main.js')))
    throw new Error(`${dist} holds no build; run npm run build first`);
  const files = [
    'model/load.js',
    'model/storage.js',
    'sql/schema.js',
    'sql/sqlite/open.js',
    'sql/postgres/open.js',
    'access/access.js',
    'access/permissions.js',
    'query/brackets.js',
    'read/find.js',
    'write/answer.js',
    'write/apply.js',
  ];
  const modules = await Promise.all(files.map((file) => import(path.join(dist, file))));
  return Object.assign({}, ...modules);
};

/** All figures of one database. */
const compare = async ({ dovetail, projects, world, small, dir, options }) => {
  const { dist, rounds = 7, seconds, connections } = options;
  const sides = {
    dovetail: await startDovetail(dist, projects.anew, world),
    baseline: await startBaseline(world),
    cached: await startDovetail(dist, projects.cached, world),
  };
  const ports = Object.fromEntries(Object.entries(sides).map(([side, { port }]) => [side, port]));
  const requests = (await requestsOf(ports, world)).filter((it) => options.requests.includes(it.name));
  await checkEqual(ports, requests);
  const statements = await countStatements(dovetail, projects.anew, world, requests);

  const figures = { requests: {} };
  const slow = [];
  printHead();
  for (const request of requests) {
    const measured = await measure(ports, { urlFor: request.url, rounds, seconds, connections });
    const it = {
      url: request.url(0),
      ...measured,
      ratio: ratio(measured.dovetail, measured.baseline),
      cachedRatio: ratio(measured.cached, measured.baseline),
      ...statements[request.name],
    };
    figures.requests[request.name] = it;
    printRow(request, it);
    if (it.ratio < wanted[world.name]) slow.push(request);
  }

  if (options.soak) await soak(ports.cached, requests, connections);
  figures.rssMb = { dovetail: sides.dovetail.rssMb(), cached: sides.cached.rssMb(), baseline: sides.baseline.rssMb() };
  await stopAll();
  say(
    `memory: ${figures.rssMb.dovetail} MB, with cached responses ${figures.rssMb.cached} MB${options.soak ? ` after ${soakRequests} more requests` : ''}, baseline ${figures.rssMb.baseline} MB`,
  );

  figures.startMs = await startTime(dist, projects.cached, world);
  say(`start: ${Math.round(figures.startMs)} ms until /_health answers (median of 5)`);
  if (small) {
    figures.byIdMs = await timeById(dist, projects.anew, [small, world]);
    const parts = Object.entries(figures.byIdMs).map(([articles, ms]) => `${ms.toFixed(2)} ms of ${articles} articles`);
    say(`entry by id, one at a time: ${parts.join(', ')}`);
  }
  if (options.profile)
    for (const { name, url } of slow) {
      const functions = await profileRequest(dist, projects.anew, world, url, { dir, connections });
      printProfile(`${name} on ${world.name}`, functions, await timeStatements(dovetail, projects.anew, world, url));
    }
  return figures;
};

/** The requests for this data: the last page of the filtered list is known once it has been requested. */
const requestsOf = async (ports, { articles }) => {
  const { meta } = await (await fetch(`http://127.0.0.1:${ports.baseline}${filteredPage(1)}`)).json();
  return requestsFor({ articles, lastPage: meta.pagination.pageCount });
};

/** Both sides must give the same responses; a difference ends the run. */
const checkEqual = async (ports, requests) => {
  for (const { name, url } of requests) {
    const turns = url(0) === url(1) ? 1 : 50;
    for (let turn = 0; turn < turns; turn++) {
      const [mine, other, cached] = await Promise.all(
        [ports.dovetail, ports.baseline, ports.cached].map(async (port) => {
          const answer = await fetch(`http://127.0.0.1:${port}${url(turn)}`);
          return { status: answer.status, body: await answer.json() };
        }),
      );
      assert.equal(mine.status, 200, `${name}: ${url(turn)}`);
      assert.deepEqual(mine, other, `${name}: Dovetail and the baseline answer differently to ${url(turn)}`);
      assert.deepEqual(mine, cached, `${name}: cached responses differ for ${url(turn)}`);
    }
  }
};

/** Many requests of all kinds except the slowest, most of them for different entries. */
const soak = async (port, requests, connections) => {
  const named = Object.fromEntries(requests.map((it) => [it.name, it]));
  const mix = ['star', 'tree', ...Array(8).fill('one')].flatMap((name) => named[name] ?? []);
  const requestFor = (turn) => mix[turn % mix.length].url(turn);
  progress('soak');
  await runSlice({ port, requestFor, seconds: 0, requests: soakRequests, connections });
  progress(null);
};

const startTime = async (dist, project, world) => {
  const times = [];
  for (let i = 0; i < 5; i++) {
    const side = await startDovetail(dist, project, world);
    times.push(side.startMs);
    await side.stop();
  }
  return median(times);
};

/** Milliseconds for an entry by id, by the number of articles; they should be equal. */
const timeById = async (dist, project, worlds) => {
  const ports = {};
  const urls = {};
  for (const world of worlds) {
    const { articles } = world;
    ports[articles] = (await startDovetail(dist, project, world)).port;
    urls[articles] = requestsFor({ articles, lastPage: 1 }).find((it) => it.name === 'one').url;
  }
  const urlFor = (turn, articles) => urls[articles](turn);
  const measured = await measure(ports, { urlFor, rounds: 7, seconds: 0.4, connections: 1 });
  await stopAll();
  return Object.fromEntries(Object.entries(measured).map(([articles, { p50Ms }]) => [articles, p50Ms]));
};

// ---- output

const table = newTable([
  ['request', 42],
  ['dovetail/s', 11],
  ['baseline/s', 11],
  ['ratio', 7],
  ['p50 ms', 17],
  ['p99 ms', 17],
  ['cached/s', 9],
  ['ratio', 7],
  ['statements', 12],
]);
const printHead = () => {
  say('latencies: Dovetail / baseline; cached: Dovetail with cached responses, and its ratio to the baseline');
  table.head();
};
const printRow = ({ name, about }, { dovetail, baseline, cached, ...it }) =>
  table.row([
    `${name}: ${about}`,
    dovetail.perSecond.toFixed(0),
    baseline.perSecond.toFixed(0),
    it.ratio.toFixed(2),
    bothMs({ dovetail, baseline }, 'p50Ms'),
    bothMs({ dovetail, baseline }, 'p99Ms'),
    cached.perSecond.toFixed(0),
    it.cachedRatio.toFixed(2),
    `${it.statements} in ${it.rounds}`,
  ]);

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    stopAll().then(() => process.exit(1));
  });
try {
  await main();
} catch (fault) {
  process.stderr.write(`${fault instanceof assert.AssertionError ? fault.stack : fault.message}\n`);
  process.exitCode = 1;
}
