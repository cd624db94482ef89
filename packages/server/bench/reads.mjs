/** Reads, beside the baseline: rates, CPU time, latencies, statements; memory and start. */
import assert from 'node:assert/strict';
import { compareWithBare } from './bare.mjs';
import { runSlice } from './client.mjs';
import { cpuRatio, measure, median, ratio } from './measure.mjs';
import { bothMs, newTable, printProfile, progress, say } from './print.mjs';
import { portsOf, startBaseline, startDovetail, stopAll } from './processes.mjs';
import { profileRequest } from './profile.mjs';
import { filteredPage, newValueRequests, requestsFor } from './requests.mjs';
import { countStatements, timeStatements } from './statements.mjs';

/** Ratios of CPU time below these deserve a look at the profile. */
const wanted = {
  sqlite: { list: 0.75, star: 0.95, tree: 0.75, one: 0.7, page: 0.75 },
  postgres: { list: 0.75, star: 0.95, tree: 0.95, one: 0.55, page: 0.7 },
};
const soakRequests = 100_000;
/** Within this time V8 compiles the code that runs most. */
const warmingSeconds = 10;

/**
 * The requests of requests.mjs, answered anew and from the cache, beside the baseline; what new values cost; memory, start.
 * @returns figures of one database
 */
export const compareReads = async ({ dovetail, projects, world, small, dir, options }) => {
  const { dist, rounds = 7, seconds, connections } = options;
  const sides = {
    dovetail: await startDovetail(dist, projects.anew, world),
    baseline: await startBaseline(world),
    cached: await startDovetail(dist, projects.cached, world),
    // PostgreSQL reads in processes of its own
    ...(world.name === 'sqlite' && { single: await startDovetail(dist, projects.single, world) }),
  };
  const ports = portsOf(sides);
  const requests = (await requestsOf(ports, world)).filter((it) => options.requests.includes(it.name));
  await checkEqual(ports, requests);
  const statements = await countStatements(dovetail, projects.anew, world, requests);

  await warm(ports, requests, connections);
  const figures = { requests: {} };
  const slow = [];
  printHead();
  for (const request of requests) {
    const measured = await measure(sides, { urlFor: request.url, rounds, seconds, connections });
    const it = {
      url: request.url(0),
      ...measured,
      ratio: ratio(measured.dovetail, measured.baseline),
      cpuRatio: cpuRatio(measured.dovetail, measured.baseline),
      cachedRatio: ratio(measured.cached, measured.baseline),
      ...(measured.single && {
        singleCpuRatio: cpuRatio(measured.single, measured.baseline),
        scaling: ratio(measured.dovetail, measured.single),
      }),
      ...statements[request.name],
    };
    figures.requests[request.name] = it;
    printRow(request, it);
    const goal = wanted[world.name][request.name];
    if ((it.singleCpuRatio ?? it.cpuRatio ?? it.ratio) < goal) slow.push(request);
  }

  figures.kept = await keptFigures(sides.cached, requests, { dir, rounds, seconds });
  figures.newValues = await compareNewValues(sides.dovetail, { rounds, seconds, connections });

  if (options.soak) await soak(ports.dovetail, requests, connections);
  figures.rssMb = { dovetail: sides.dovetail.rssMb(), cached: sides.cached.rssMb(), baseline: sides.baseline.rssMb() };
  await stopAll();
  say(
    `memory: ${figures.rssMb.dovetail} MB, with cached responses ${figures.rssMb.cached} MB${options.soak ? ` after ${soakRequests} more requests` : ''}, baseline ${figures.rssMb.baseline} MB`,
  );

  Object.assign(figures, await startTimes(dist, projects.cached, world));
  say(
    `start: ${Math.round(figures.startMs)} ms until /_health answers, ${Math.round(figures.startCpuMs)} ms of CPU (median and minimum of 5)`,
  );
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

/** All requests in turn, to one side after another. */
const warm = async (ports, requests, connections) => {
  for (const [side, port] of Object.entries(ports)) {
    progress(`warming up: ${side}`);
    const requestFor = (turn) => requests[turn % requests.length].url(turn);
    await runSlice({ port, requestFor, seconds: warmingSeconds, connections });
  }
  progress(null);
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

const startTimes = async (dist, project, world) => {
  const times = [];
  for (let i = 0; i < 5; i++) {
    const side = await startDovetail(dist, project, world);
    times.push(side);
    await side.stop();
  }
  return {
    startMs: median(times.map((it) => it.startMs)),
    startCpuMs: Math.min(...times.map((it) => it.startCpuMs)),
  };
};

/**
 * The same request with one value, and with a new value each time: what a text costs that the server has not seen.
 * @returns {Promise<Record<string, { sameUs: number, newUs: number }>>} CPU time of a request
 */
const compareNewValues = async (side, load) => {
  const figures = {};
  for (const { name, urlFor } of newValueRequests) {
    const { same, fresh } = await measure(
      { same: side, fresh: side },
      {
        ...load,
        urlFor: (turn, which) => urlFor(which === 'same' ? 0 : turn),
      },
    );
    figures[name] = { sameUs: same.cpuUs, newUs: fresh.cpuUs };
    if (same.cpuUs !== null)
      say(
        `new values, ${name}: ${fresh.cpuUs.toFixed(0)} µs instead of ${same.cpuUs.toFixed(0)} (${percent(fresh.cpuUs / same.cpuUs - 1)})`,
      );
  }
  return figures;
};

/** Repeated requests beside bare node:http. @returns by request */
const keptFigures = async (side, requests, options) => {
  const names = new Map(requests.map(({ name, url }) => [url(0), name]));
  const figures = {};
  for (const { url, bytes, ...it } of await compareWithBare(side, [...names.keys()], options)) {
    const name = names.get(url);
    figures[name] = { bytes, ...it };
    say(
      `kept, ${name} of ${(bytes / 1000).toFixed(0)} KB: ${it.perCpuSecond.toFixed(0)} requests a second of CPU, bare node:http ${it.bare.toFixed(0)}: ${it.ratio.toFixed(2)}`,
    );
  }
  return figures;
};

const percent = (share) => `${share < 0 ? '' : '+'}${(100 * share).toFixed(0)} %`;

/** Milliseconds for an entry by id, by the number of articles; they should be equal. */
const timeById = async (dist, project, worlds) => {
  const sides = {};
  const urls = {};
  for (const world of worlds) {
    const { articles } = world;
    sides[articles] = await startDovetail(dist, project, world);
    urls[articles] = requestsFor({ articles, lastPage: 1 }).find((it) => it.name === 'one').url;
  }
  const urlFor = (turn, articles) => urls[articles](turn);
  const measured = await measure(sides, { urlFor, rounds: 7, seconds: 0.4, connections: 1 });
  await stopAll();
  return Object.fromEntries(Object.entries(measured).map(([articles, { p50Ms }]) => [articles, p50Ms]));
};

// ---- output

const table = newTable([
  ['request', 42],
  ['dovetail/s', 11],
  ['baseline/s', 11],
  ['ratio', 7],
  ['CPU µs', 15],
  ['ratio', 7],
  ['one thread', 18],
  ['p50 ms', 17],
  ['p99 ms', 17],
  ['cached/s', 9],
  ['ratio', 7],
  ['statements', 12],
]);
const printHead = () => {
  say(
    'CPU time of a request and latencies: Dovetail / baseline; one thread: ratio of CPU time if one thread reads, as in the baseline, and the rate of several as a multiple of its rate; cached: Dovetail with cached responses, and its ratio to the baseline',
  );
  table.head();
};
const printRow = ({ name, about }, { dovetail, baseline, cached, ...it }) =>
  table.row([
    `${name}: ${about}`,
    dovetail.perSecond.toFixed(0),
    baseline.perSecond.toFixed(0),
    it.ratio.toFixed(2),
    dovetail.cpuUs === null ? '' : `${dovetail.cpuUs.toFixed(0)} / ${baseline.cpuUs.toFixed(0)}`,
    it.cpuRatio?.toFixed(2) ?? '',
    it.scaling ? `${it.singleCpuRatio?.toFixed(2) ?? ''}, rate × ${it.scaling.toFixed(2)}` : '',
    bothMs({ dovetail, baseline }, 'p50Ms'),
    bothMs({ dovetail, baseline }, 'p99Ms'),
    cached.perSecond.toFixed(0),
    it.cachedRatio.toFixed(2),
    `${it.statements} in ${it.rounds}`,
  ]);
