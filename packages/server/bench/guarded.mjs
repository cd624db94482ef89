/**
 * What code of a v4 project costs: the same list, served without code, through a controller of the project's own that only
 * calls `super.find(ctx)`, and behind a policy. Shares are those of CPU time, which other load on the machine does not change.
 */
import fs from 'node:fs';
import path from 'node:path';
import { cpuRatio, measure } from './measure.mjs';
import { newTable, say } from './print.mjs';
import { makeProject, nothingKept, responsesKept, startDovetail, stopAll } from './processes.mjs';

export const guardedName = 'guarded';

/** A few microseconds are compared, and slices differ by more: of many short ones the cheapest are alike. */
const SLICE_SECONDS = 0.15;

const router = (options) =>
  `const { createCoreRouter } = require('@strapi/strapi').factories;
module.exports = createCoreRouter('api::article.article'${options});
`;
const controller = (own) =>
  `const { createCoreController } = require('@strapi/strapi').factories;
module.exports = createCoreController('api::article.article'${own});
`;

/** Files below `src/api/article`, and how much of the rate without code is wanted. `generated` is as v4 generates it. */
const sides = {
  generated: {
    wanted: 0.97,
    files: { 'controllers/article.js': controller(''), 'routes/article.js': router('') },
  },
  controller: {
    wanted: 0.8,
    files: {
      'controllers/article.js': controller(`, () => ({
  async find(ctx) {
    return super.find(ctx);
  },
})`),
      'routes/article.js': router(''),
    },
  },
  policy: {
    wanted: 0.9,
    files: {
      'controllers/article.js': controller(''),
      'policies/allowed.js': 'module.exports = (policyContext) => policyContext.state.auth !== null;\n',
      'routes/article.js': router(`, { config: { find: { policies: ['allowed'] } } }`),
    },
  },
};

const requests = [
  { name: 'kept', memory: responsesKept, path: '/api/articles' },
  { name: 'made anew', memory: nothingKept, path: '/api/articles' },
  {
    name: 'made anew, small',
    memory: nothingKept,
    path: '/api/articles?fields[0]=title&fields[1]=slug&fields[2]=views&pagination[pageSize]=5',
  },
];

/** @returns figures by request and side */
export const compareGuarded = async ({ world, dir, options }) => {
  const { dist, rounds = 60, connections } = options;
  const figures = {};
  const starts = Object.fromEntries(['plain', ...Object.keys(sides)].map((side) => [side, []]));
  table.head();
  for (const { name, memory, path: url } of requests) {
    try {
      const servers = { plain: await start(dist, makeProject(path.join(dir, 'project-guarded-plain'), memory), world) };
      starts.plain.push(servers.plain.startCpuMs);
      for (const [side, { files }] of Object.entries(sides)) {
        const project = makeProject(path.join(dir, `project-guarded-${side}`), memory);
        for (const [file, text] of Object.entries(files)) write(path.join(project, 'src/api/article', file), text);
        servers[side] = await start(dist, project, world);
        starts[side].push(servers[side].startCpuMs);
      }
      const measured = await measure(servers, {
        urlFor: () => url.replaceAll('[', '%5B').replaceAll(']', '%5D'),
        rounds,
        seconds: SLICE_SECONDS,
        connections,
      });
      figures[name] = {};
      for (const [side, { wanted }] of Object.entries(sides)) {
        const share = cpuRatio(measured[side], measured.plain);
        figures[name][side] = { ...measured[side], share };
        const cpu = measured[side].cpuUs?.toFixed(1) ?? '-';
        table.row([`${name}: ${side}`, cpu, measured.plain.cpuUs?.toFixed(1) ?? '-', share?.toFixed(2) ?? '-']);
        if (share !== null && share < wanted) say(`  below ${wanted}`);
      }
    } finally {
      await stopAll();
    }
  }
  for (const [side, ms] of Object.entries(starts))
    say(`start, ${side}: ${ms.some((it) => it === null) ? '-' : Math.min(...ms).toFixed(0)} ms of CPU`);
  return figures;
};

const start = (dist, project, world) => startDovetail(dist, project, world);

const write = (file, text) => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
};

const table = newTable([
  ['code of the project', 34],
  ['µs', 8],
  ['without, µs', 13],
  ['share', 8],
]);
