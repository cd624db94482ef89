/**
 * Three requests over the project and data of the recorded cases, as a front end sends them: 16 at a time, in rates. Responses are made
 * anew with nothing kept (`anew`), made anew of kept entries after reading their ids (`entries`), and kept (`kept`). The floor
 * (floor.mjs) runs beside and stands for v4, and bare node:http (bare.mjs), which sends the same bytes from memory, shows what one
 * process can send here.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import postgres from 'postgres';
import { startBare } from './bare.mjs';
import { measure } from './measure.mjs';
import { newTable, say } from './print.mjs';
import {
  entriesKept,
  makeProject,
  nothingKept,
  portsOf,
  responsesKept,
  startDovetail,
  startScript,
  stopAll,
} from './processes.mjs';

export const togetherName = 'together';

const kit = path.join(import.meta.dirname, '../test/conformance/core');
export const recordedProject = path.join(kit, 'project');
const connections = 16;
/** What the floor does as a multiple of v4's rate. */
const floorToV4 = 29;

/**
 * v4.26.2, requests a second on the same machine as the first floor, measured once: v4 is not installed here.
 * The goals are multiples of v4's rate.
 */
export const recordedRequests = [
  {
    name: 'list',
    floor: '/list',
    path: '/api/articles',
    v4: 132,
    anew: { sqlite: 60, postgres: 30 },
    kept: 150,
  },
  {
    name: 'populate=*',
    floor: '/star',
    path: '/api/articles?populate=*',
    v4: 15,
    anew: { sqlite: 100, postgres: 60 },
    kept: 1000,
  },
  {
    name: 'deep',
    floor: '/deep',
    path: '/api/articles?populate[zone][populate]=*&populate[author][populate]=*&populate[seo][populate]=*&populate[categories]=true',
    v4: 13,
    anew: { sqlite: 100, postgres: 60 },
    kept: 1000,
  },
];

/** @param server the PostgreSQL server, where it is asked for. @returns figures by database */
export const compareTogether = async ({ server, dir, options }) => {
  const { dist, databases, rounds = 7, seconds } = options;
  const file = path.join(dir, 'recorded.db');
  const projects = {
    anew: makeProject(path.join(dir, 'recorded-anew'), nothingKept, { source: recordedProject }),
    entries: makeProject(path.join(dir, 'recorded-entries'), entriesKept, { source: recordedProject }),
    cached: makeProject(path.join(dir, 'recorded-cached'), responsesKept, { source: recordedProject }),
  };
  const figures = {};
  for (const name of databases) {
    fs.copyFileSync(path.join(kit, 'data.sqlite'), file);
    const world = name === 'sqlite' ? sqliteOf(file) : await postgresOf(server);
    // the first start adds what Dovetail needs
    await (await startDovetail(dist, projects.anew, world)).stop();
    const floorFile = `${file}.floor`;
    fs.copyFileSync(path.join(kit, 'data.sqlite'), floorFile);
    try {
      const sides = {
        anew: await startDovetail(dist, projects.anew, world),
        entries: await startDovetail(dist, projects.entries, world),
        kept: await startDovetail(dist, projects.cached, world),
        floor: await startScript('floor.mjs', [recordedProject, floorFile], world),
      };
      const paths = recordedRequests.map((it) => it.path);
      const { bare } = await startBare(sides.kept, paths, dir);
      const measuredSides = { ...sides, bare };
      say(
        `\n${name}, data of the recorded cases, ${connections} connections; multiples of v4: ${floorToV4} is the floor`,
      );
      table.head();
      figures[name] = {};
      for (const request of recordedRequests) {
        await checkEqual(portsOf(sides), request);
        const urlFor = (_turn, side) => (side === 'floor' ? request.floor : request.path);
        const measured = await measure(measuredSides, { urlFor, rounds, seconds, connections });
        const times = (side) => (floorToV4 * measured[side].perSecond) / measured.floor.perSecond;
        figures[name][request.name] = {
          ...measured,
          anewToV4: times('anew'),
          entriesToV4: times('entries'),
          keptToV4: times('kept'),
          bareToV4: times('bare'),
        };
        table.row([
          request.name,
          ...['anew', 'entries', 'kept', 'bare', 'floor'].map((side) => measured[side].perSecond.toFixed(0)),
          times('anew').toFixed(0),
          times('entries').toFixed(0),
          `(${request.anew[name]})`,
          times('kept').toFixed(0),
          `(${request.kept})`,
          times('bare').toFixed(0),
          String(request.v4),
        ]);
      }
    } finally {
      await stopAll();
      await world.drop();
    }
  }
  return figures;
};

const table = newTable([
  ['request', 12],
  ['anew/s', 9],
  ['entries/s', 10],
  ['kept/s', 9],
  ['bare/s', 9],
  ['floor/s', 9],
  ['anew', 8],
  ['entries', 8],
  ['goal', 7],
  ['kept', 8],
  ['goal', 8],
  ['bare', 8],
  ['v4 then/s', 11],
]);

const sqliteOf = (file) => ({
  name: 'sqlite',
  postmaster: null,
  env: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file },
  drop: async () => undefined,
});

const postgresOf = async ({ url: adminUrl, pid }) => {
  const name = 'dovetail_bench_recorded';
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const admin = (text) => run(adminUrl, text);
  await admin(`drop database if exists ${name} with (force)`);
  await admin(`create database ${name} template template0 locale 'C' encoding 'UTF8'`);
  await run(url.href, fs.readFileSync(path.join(kit, 'data.postgres.sql'), 'utf8'));
  await run(url.href, 'vacuum analyze');
  return {
    name: 'postgres',
    postmaster: pid,
    env: { DATABASE_CLIENT: 'postgres', DATABASE_URL: url.href },
    drop: () => admin(`drop database if exists ${name} with (force)`),
  };
};

const run = async (url, text) => {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(text);
  } finally {
    await sql.end();
  }
};

/** The floor answers the same; the order of keys does not count. */
const checkEqual = async (ports, { name, path: url, floor }) => {
  const [anew, kept, entries, other] = await Promise.all(
    [`${ports.anew}${url}`, `${ports.kept}${url}`, `${ports.entries}${url}`, `${ports.floor}${floor}`].map(
      async (it) => {
        const answer = await fetch(`http://127.0.0.1:${it}`);
        assert.equal(answer.status, 200, `${name}: ${it}`);
        return answer.json();
      },
    ),
  );
  assert.deepEqual(anew, kept, `${name}: kept answers differ`);
  assert.deepEqual(anew, entries, `${name}: kept entries differ`);
  assert.deepEqual(anew, other, `${name}: Dovetail and the floor answer differently`);
};
