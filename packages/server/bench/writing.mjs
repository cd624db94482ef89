/**
 * Dovetail and the baseline write the same entries, each to its own database; the databases are identical before, and
 * are compared row by row before anything is measured. Both have the durability that the driver or the server gives
 * them: SQLite in WAL mode syncs at checkpoints, and our own PostgreSQL (databases.mjs) never does.
 */
import assert from 'node:assert/strict';
import { longList, longListRows } from './data.mjs';
import { cpuRatio, measureWrites, ratio } from './measure.mjs';
import { bothMs, newTable, printProfile, say } from './print.mjs';
import { portsOf, startBaseline, startDovetail, stopAll } from './processes.mjs';
import { profileRequest } from './profile.mjs';
import { writesFor } from './requests.mjs';
import { countRows, lastIds, rowsAfter } from './rows.mjs';
import { countWrites, timeStatements } from './statements.mjs';

/** The long list, and articles outside of it that can be added. */
export const writtenArticles = longList.articles + 2000;

/** Turns used by the checks; measuring begins after them, and a profile long after that. */
const turns = { sent: 0, counted: 1, measured: 2, timed: 500_000, profiled: 1_000_000 };

/**
 * @param store of the database: `copy` and `drop`. @param world with at least `writtenArticles`; nothing is written there.
 * @returns figures of one database
 */
export const compareWrites = async ({ dovetail, project, store, world, dir, wanted, options }) => {
  const { dist, rounds } = options;
  const writes = writesFor(world).filter((it) => options.requests.includes(it.name));
  const copies = {};
  try {
    for (const side of ['dovetail', 'baseline'])
      copies[side] = await store.copy(world, side, longListRows(world.articles));
    // the first start adds rows of its own
    for (const copy of Object.values(copies)) await (await startDovetail(dist, project, copy)).stop();
    const tables = tablesOf(dovetail, project);
    const known = await lastIds(world, tables);
    const sides = {
      dovetail: await startDovetail(dist, project, copies.dovetail),
      baseline: await startBaseline(copies.baseline),
    };
    const ports = portsOf(sides);

    await checkAnswers(ports, writes);
    const counts = await countWrites(dovetail, project, copies.dovetail, writes, turns.counted);
    for (const { request } of writes) await send(ports.baseline, request(turns.counted));
    await checkRows(copies, known);

    const figures = { articles: world.articles, requests: {} };
    const slow = [];
    say('writes: each side in its own copy; latencies: Dovetail / baseline; reads: of the readers beside the writers');
    table.head();
    for (const { name, about, request, ...load } of writes) {
      const measured = await measureWrites(sides, {
        ...load,
        requestFor: request,
        firstTurn: turns.measured,
        warming: warmingWrites,
        rounds: rounds ?? 10,
      });
      const it = {
        ...measured,
        ratio: ratio(measured.dovetail, measured.baseline),
        cpuRatio: cpuRatio(measured.dovetail, measured.baseline),
        ...counts[name],
      };
      figures.requests[name] = it;
      printRow({ name, about }, it);
      if (it.ratio < wanted) slow.push({ name, request, ...load });
    }
    figures.rssMb = { dovetail: sides.dovetail.rssMb(), baseline: sides.baseline.rssMb() };
    await stopAll();
    assert.deepEqual(
      await countRows(copies.dovetail, tables),
      await countRows(copies.baseline, tables),
      'the two databases have not grown alike',
    );
    if (options.profile)
      for (const { name, request, connections } of slow) {
        const from = (first) => (turn) => request(first + turn);
        const functions = await profileRequest(dist, project, copies.dovetail, from(turns.profiled), {
          dir,
          connections,
        });
        const times = await timeStatements(dovetail, project, copies.dovetail, from(turns.timed));
        printProfile(`${name} on ${world.name}`, functions, times);
      }
    return figures;
  } finally {
    await stopAll();
    for (const copy of Object.values(copies)) await store.drop(copy);
  }
};

/** Below that V8 still interprets much of either side's code, and more of the larger one. */
const warmingWrites = 2000;

const tablesOf = (dovetail, project) => dovetail.tablesOf(dovetail.loadModel(project).model).map((it) => it.name);

const send = async (port, { method, path, body }) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
};

/** Both sides must give the same response, except for times. */
const checkAnswers = async (ports, writes) => {
  for (const { name, request } of writes) {
    const [mine, other] = await Promise.all(
      [ports.dovetail, ports.baseline].map((port) => send(port, request(turns.sent))),
    );
    assert.equal(mine.status, 200, `${name}: ${JSON.stringify(mine.body)}`);
    assert.deepEqual(withoutTimes(mine), withoutTimes(other), `${name}: Dovetail and the baseline answer differently`);
  }
};

const withoutTimes = (answer) =>
  JSON.parse(JSON.stringify(answer), (key, value) =>
    ['createdAt', 'updatedAt', 'publishedAt'].includes(key) ? typeof value : value,
  );

/** Both sides must have written the same rows. */
const checkRows = async (copies, known) => {
  const [mine, other] = await Promise.all([copies.dovetail, copies.baseline].map((it) => rowsAfter(it, known)));
  for (const name of Object.keys(known))
    assert.deepEqual(mine[name], other[name], `Dovetail and the baseline have written different rows of ${name}`);
};

// ---- output

const table = newTable([
  ['request', 49],
  ['dovetail/s', 11],
  ['baseline/s', 11],
  ['ratio', 7],
  ['p50 ms', 17],
  ['p99 ms', 17],
  ['reads p99 ms', 17],
  ['statements', 12],
  ['rows', 6],
]);
const printRow = ({ name, about }, { dovetail, baseline, ...it }) => {
  const both = (key) => bothMs({ dovetail, baseline }, key);
  table.row([
    `${name}: ${about}`,
    dovetail.perSecond.toFixed(0),
    baseline.perSecond.toFixed(0),
    it.ratio.toFixed(2),
    both('p50Ms'),
    both('p99Ms'),
    dovetail.readP99Ms === null ? '' : both('readP99Ms'),
    `${it.statements} in ${it.rounds}`,
    String(it.rows),
  ]);
};
