/**
 * The same requests over 1,000, 10,000 and 100,000 articles: what a request costs with the greatest data compared with the
 * least, with the indexes that the project's configuration would name.
 */
import fs from 'node:fs';
import path from 'node:path';
import { isDraft } from './data.mjs';
import { measure } from './measure.mjs';
import { newTable, say } from './print.mjs';
import { makeProject, nothingKept, startDovetail, stopAll } from './processes.mjs';

/** Stands for all of its requests. */
export const growthName = 'growth';

export const growthSizes = [1_000, 10_000, 100_000];

const indexes = {
  'api::article.article': ['views', 'publishedOn', 'createdAt', 'kind,views', 'publishedOn:desc,title'],
};

/**
 * Pages are random ones of the last fifth.
 * @typedef {{ name: string, about: string, url: (turn: number, articles: number) => string }} GrowthRequest
 * @type {GrowthRequest[]}
 */
export const growthRequests = [
  { name: 'grown-list', about: 'default list', url: () => '/api/articles' },
  {
    name: 'grown-page',
    about: 'deep pages',
    url: (turn, articles) => `/api/articles?pagination[page]=${deepPage(turn, articles)}`,
  },
  { name: 'grown-sort', about: 'sort=views:desc', url: () => '/api/articles?sort=views:desc' },
  { name: 'grown-day', about: 'sort=publishedOn', url: () => '/api/articles?sort=publishedOn' },
  { name: 'grown-time', about: 'sort=createdAt:desc', url: () => '/api/articles?sort=createdAt:desc' },
  {
    name: 'grown-sorted-page',
    about: 'sort=views, deep pages',
    url: (turn, articles) => `/api/articles?sort=views&pagination[page]=${deepPage(turn, articles)}`,
  },
  {
    name: 'grown-timed-page',
    about: 'sort=createdAt:desc, deep pages',
    url: (turn, articles) => `/api/articles?sort=createdAt:desc&pagination[page]=${deepPage(turn, articles)}`,
  },
  {
    name: 'grown-two-page',
    about: 'sort=publishedOn:desc,title, deep pages',
    url: (turn, articles) => `/api/articles?sort=publishedOn:desc,title&pagination[page]=${deepPage(turn, articles)}`,
  },
  { name: 'grown-author', about: 'sort=author.name', url: () => '/api/articles?sort=author.name' },
  {
    name: 'grown-author-page',
    about: 'sort=author.name, any page',
    url: (turn, articles) => `/api/articles?sort=author.name&pagination[page]=${deepPage(turn, articles)}`,
  },
  {
    name: 'grown-unindexed',
    about: 'sort=title, which has no index',
    url: () => '/api/articles?sort=title',
  },
  {
    name: 'grown-filter',
    about: 'a filter of a quarter, sort=views',
    url: () => '/api/articles?filters[kind]=essay&sort=views',
  },
].map((it) => ({
  ...it,
  url: (turn, articles) => it.url(turn, articles).replaceAll('[', '%5B').replaceAll(']', '%5D'),
}));

const pageSize = 25;

/** Pages of the last fifth, in an order of no pattern; full ones, so that all show as much. */
const deepPage = (turn, articles) => {
  const pages = Math.floor(publishedOf(articles) / pageSize);
  const last = Math.floor(pages / 5);
  return pages - ((Math.imul(turn, 0x9e3779b1) >>> 8) % last);
};

const published = new Map();
const publishedOf = (articles) => {
  if (!published.has(articles))
    published.set(articles, Array.from({ length: articles }, (_, i) => i + 1).filter((id) => !isDraft(id)).length);
  return published.get(articles);
};

/**
 * @param store of the database: `prepare`, `copy` and `drop`. @param wanted the greatest ratio.
 * @returns figures of one database, by request: CPU time in µs by size, and the ratio of the greatest to the least
 */
export const measureGrowth = async ({ store, dir, wanted, options, sizes = growthSizes }) => {
  const { dist, rounds = 5, seconds, connections } = options;
  const project = makeProject(path.join(dir, 'project-growth'), nothingKept);
  fs.writeFileSync(
    path.join(project, 'dovetail.config.json'),
    `${JSON.stringify({ memory: { answersMb: 0, entriesMb: 64 }, indexes })}\n`,
  );
  const copies = [];
  try {
    const sides = {};
    for (const size of sizes) {
      const copy = await store.copy(await store.prepare(size), 'growth', []);
      copies.push(copy);
      // the first start creates the indexes
      sides[size] = await startDovetail(dist, project, copy);
    }
    const figures = {};
    table.head();
    for (const { name, about, url } of growthRequests.filter((it) => options.requests.includes(it.name))) {
      const measured = await measure(sides, {
        urlFor: (turn, size) => url(turn, Number(size)),
        rounds,
        seconds,
        connections,
      });
      const cpuUs = sizes.map((size) => measured[size].cpuUs);
      const ratio = cpuUs.includes(null) ? null : cpuUs.at(-1) / cpuUs[0];
      figures[name] = { cpuUs: Object.fromEntries(sizes.map((size, i) => [size, cpuUs[i]])), ratio };
      table.row([`${name}: ${about}`, ...cpuUs.map((it) => it?.toFixed(0) ?? '?'), ratio?.toFixed(2) ?? '?']);
      if (ratio > wanted) say(`  above ${wanted}`);
    }
    return figures;
  } finally {
    await stopAll();
    for (const copy of copies) await store.drop(copy);
  }
};

const table = newTable([
  ['growth: µs of CPU a request', 46],
  ...growthSizes.map((size) => [String(size), 9]),
  ['ratio', 8],
]);
