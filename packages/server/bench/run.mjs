/**
 * `npm run bench -- --articles 10000`: Dovetail beside a minimal program that answers the same requests from the same
 * database. See `usage` for the options.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  copyPostgres,
  copySqlite,
  dropPostgresWorld,
  dropSqlite,
  postgresServer,
  postgresWorld,
  sqliteWorld,
} from './databases.mjs';
import { growthName, growthRequests, growthSizes, measureGrowth } from './growth.mjs';
import { compareGuarded, guardedName } from './guarded.mjs';
import { record } from './history.mjs';
import { compareLocales, localeRequests } from './locales.mjs';
import { measureMemory, memoryName } from './memory.mjs';
import { comparePeers, peersName } from './peers.mjs';
import { progress, say } from './print.mjs';
import { makeProject, nothingKept, responsesKept, stopAll } from './processes.mjs';
import { compareReads } from './reads.mjs';
import { requestsFor, writesFor } from './requests.mjs';
import { compareTogether, togetherName } from './together.mjs';
import { compareUploads, uploadName } from './uploading.mjs';
import { compareWrites, writtenArticles } from './writing.mjs';

const usage = `npm run bench -- [options]
  --articles N         size of the data set: 30 (default), 10000, 100000; writes have ${writtenArticles} at least
  --database NAME      sqlite or postgres; both without it
  --postgres URL       a PostgreSQL server on which databases may be made; one of its own without it
  --keep DIR           keeps the data there for the next run
  --requests a,b       some of list, star, tree, one, page; localized, localized-page, localized-other, localized-all;
                       create, connect, append, which write; upload, a photograph; peers, other servers on the same tables; together, beside what
                       stands for v4; only by name: guarded, code of a v4 project; growth, with up to ${growthSizes.at(-1)} articles; memory, by the number of threads
  --rounds N           slices for each side and request (7; 10 of writes, 60 of guarded)
  --seconds S          length of a slice (0.8); those of guarded are of 0.15, those of writes have a number of requests instead
  --connections N      reads at a time (8)
  --soak               100,000 more requests before memory is read
  --profile            where the time goes, for requests that are slower than wanted
  --json FILE          writes the figures
  --record             appends them to history.jsonl, from which README's Speed section is generated (npm run docs)
  --dist DIR           the server's build (dist)
  --force              measures although the machine is busy`;

const databaseNames = ['sqlite', 'postgres'];
const wantedOfWrites = 0.7;
const wantedOfLocales = 0.9;
const wantedOfGrowth = 3;
const busyLoad = 1.5;
const smallArticles = 30;

const readNames = requestsFor({ articles: smallArticles, lastPage: 1 }).map((it) => it.name);
const writeNames = writesFor({ articles: writtenArticles }).map((it) => it.name);
const localeNames = localeRequests.map((it) => it.name);
const growthNames = growthRequests.map((it) => it.name);
const usualNames = [...readNames, ...localeNames, ...writeNames, uploadName, peersName, togetherName];
const requestNames = [...usualNames, ...growthNames, growthName, guardedName, memoryName];

const readOptions = () => {
  const text = (fallback) => ({ type: 'string', ...(fallback === undefined ? {} : { default: fallback }) });
  const flag = { type: 'boolean', default: false };
  const { values } = parseArgs({
    options: {
      articles: text('30'),
      database: text(),
      postgres: text(),
      keep: text(),
      requests: text(usualNames.join(',')),
      rounds: text(),
      seconds: text('0.8'),
      connections: text('8'),
      json: text(),
      dist: text(path.join(import.meta.dirname, '../dist')),
      soak: flag,
      profile: flag,
      force: flag,
      record: flag,
      help: flag,
    },
  });
  const number = (name) => {
    const value = Number(values[name]);
    if (!(value > 0)) throw new Error(`--${name} wants a number greater than 0\n\n${usage}`);
    return value;
  };
  if (values.database !== undefined && !databaseNames.includes(values.database))
    throw new Error(`--database wants sqlite or postgres\n\n${usage}`);
  const requests = values.requests.split(',').flatMap((it) => (it === growthName ? growthNames : [it]));
  for (const name of requests)
    if (!requestNames.includes(name)) throw new Error(`--requests knows ${requestNames.join(', ')}\n\n${usage}`);
  return {
    ...values,
    dist: path.resolve(values.dist),
    articles: number('articles'),
    rounds: values.rounds === undefined ? undefined : number('rounds'),
    seconds: number('seconds'),
    connections: number('connections'),
    databases: values.database === undefined ? databaseNames : [values.database],
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
    connections: options.connections,
    databases: {},
  };
  say(
    `load ${load.toFixed(2)}, ${os.availableParallelism()} cores, Node ${process.version}, ${options.connections} connections`,
  );
  let server;
  try {
    const dovetail = await loadDist(options.dist);
    const projects = {
      anew: makeProject(path.join(dir, 'project-anew'), nothingKept),
      single: makeProject(path.join(dir, 'project-single'), nothingKept, { threads: 1 }),
      cached: makeProject(path.join(dir, 'project-cached'), responsesKept),
    };
    if (options.databases.includes('postgres'))
      server = await postgresServer(options.postgres, dir, options.keep !== undefined);
    const stores = storesFor(dovetail, dir, () => server);
    const has = (names) => options.requests.some((it) => names.includes(it));
    for (const name of options.databases) {
      const store = stores[name];
      const worlds = new Map();
      const prepare = async (articles) => {
        if (!worlds.has(articles)) worlds.set(articles, await store.prepare(articles));
        return worlds.get(articles);
      };
      const began = performance.now();
      const world = has([...readNames, ...localeNames, guardedName, peersName])
        ? await prepare(options.articles)
        : null;
      const small = world && options.articles > smallArticles ? await prepare(smallArticles) : null;
      const written = has(writeNames) ? await prepare(Math.max(options.articles, writtenArticles)) : null;
      progress(null);
      const copied = has([uploadName]) ? await prepare(options.articles) : null;
      const sizes = [...new Set([world, written, copied].flatMap((it) => (it ? [it.articles] : [])))].join(' and ');
      if (sizes !== '')
        say(`\n${name}, ${sizes} articles (data ready in ${((performance.now() - began) / 1000).toFixed(1)} s)`);
      try {
        figures.databases[name] = {
          ...(has(readNames) && (await compareReads({ dovetail, projects, world, small, dir, options }))),
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
          ...(has([guardedName]) && { guarded: await compareGuarded({ world, dir, options }) }),
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
          ...(has(growthNames) && { growth: await measureGrowth({ store, dir, wanted: wantedOfGrowth, options }) }),
          ...(has([peersName]) && name === 'postgres' && { peers: await comparePeers({ projects, world, options }) }),
          ...(has([uploadName]) && { upload: await compareUploads({ store, world: copied, dir, options }) }),
        };
      } finally {
        await stopAll();
        if (options.keep === undefined) for (const made of worlds.values()) await store.drop(made);
      }
    }
    if (has([memoryName])) figures.memory = await measureMemory({ dir, options });
    if (has([togetherName])) figures.together = await compareTogether({ server, dir, options });
    figures.load = { before: load, after: os.loadavg()[0] };
    say(`\nload ${load.toFixed(2)} before, ${figures.load.after.toFixed(2)} after`);
    if (options.record) record(figures);
    if (options.json !== undefined) fs.writeFileSync(options.json, `${JSON.stringify(figures, null, 2)}\n`);
  } finally {
    await stopAll();
    await server?.stop();
    if (options.keep === undefined) fs.rmSync(dir, { recursive: true, force: true });
  }
  return undefined;
};

/** How the data of each database is created, copied and removed. */
const storesFor = (dovetail, dir, server) => ({
  sqlite: {
    prepare: (articles) => sqliteWorld(dovetail, dir, articles, progress),
    copy: (world, side, rows) => copySqlite(dovetail, world, side, rows),
    drop: async ({ place }) => dropSqlite(place),
  },
  postgres: {
    prepare: (articles) => postgresWorld(dovetail, server(), articles, progress),
    copy: (world, side, rows) => copyPostgres(dovetail, server(), world, side, rows),
    drop: (world) => dropPostgresWorld(server(), world),
  },
});

/** The server modules that the benchmark itself uses. */
const loadDist = async (dist) => {
  if (!fs.existsSync(path.join(dist, 'cli/main.js')))
    throw new Error(`${dist} holds no build; run npm run build first`);
  const files = [
    'model/load.js',
    'model/storage.js',
    'sql/dialect.js',
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
