/**
 * The same articles, localized and not: two servers over copies of one database, of which one has the articles in two
 * locales. What a list of one locale costs is the ratio of their rates.
 */
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import postgres from 'postgres';
import { measure, ratio } from './measure.mjs';
import { newTable, say } from './print.mjs';
import { makeProject, nothingKept, startDovetail, stopAll } from './processes.mjs';

/** Both sides show as many entries of as long a list: that of the other locale is a third of it. */
export const localeRequests = [
  { name: 'localized', about: 'default list', path: '/api/articles' },
  { name: 'localized-page', about: 'page 20', path: '/api/articles?pagination[page]=20' },
  { name: 'localized-other', about: 'the other locale', path: '/api/articles', query: '?locale=de' },
  { name: 'localized-all', about: 'all locales', path: '/api/articles', query: '?locale=all' },
];

/** @param store of the database: `copy` and `drop`. @returns figures of one database */
export const compareLocales = async ({ project, store, world, dir, wanted, options }) => {
  const { dist, rounds = 7, seconds, connections } = options;
  const localized = localizedProject(path.join(dir, 'project-localized'));
  const copy = await store.copy(world, 'localized', []);
  try {
    // the first start adds the columns and puts every article into the default locale
    await (await startDovetail(dist, localized, copy)).stop();
    await run(copy, "update articles set locale = 'de' where id % 4 = 3");
    await run(
      copy,
      copy.name === 'sqlite' ? 'vacuum; analyze; pragma wal_checkpoint(truncate)' : 'vacuum analyze articles',
    );
    const sides = {
      plain: await startDovetail(dist, project, world),
      localized: await startDovetail(dist, localized, copy),
    };
    const figures = {};
    table.head();
    for (const { name, about, path: url, query = '' } of localeRequests.filter((it) =>
      options.requests.includes(it.name),
    )) {
      const urlFor = (_turn, side) => (side === 'localized' ? url + query : url);
      const { plain, localized: it } = await measure(sides, { urlFor, rounds, seconds, connections });
      figures[name] = { plain, localized: it, ratio: ratio(it, plain) };
      table.row([
        `${name}: ${about}`,
        it.perSecond.toFixed(0),
        plain.perSecond.toFixed(0),
        figures[name].ratio.toFixed(2),
      ]);
      if (figures[name].ratio < wanted) say(`  below ${wanted}`);
    }
    return figures;
  } finally {
    await stopAll();
    await store.drop(copy);
  }
};

const table = newTable([
  ['locales', 34],
  ['localized/s', 13],
  ['plain/s', 10],
  ['ratio', 8],
]);

const localizedProject = (dir) => {
  makeProject(dir, nothingKept);
  const file = path.join(dir, 'src/api/article/content-types/article/schema.json');
  const schema = JSON.parse(fs.readFileSync(file, 'utf8'));
  fs.writeFileSync(file, JSON.stringify({ ...schema, pluginOptions: { i18n: { localized: true } } }));
  return dir;
};

const run = async ({ name, place }, statement) => {
  if (name === 'sqlite') {
    const db = new Database(place);
    db.exec(statement);
    db.close();
    return;
  }
  const sql = postgres(place, { max: 1, onnotice: () => undefined });
  await sql.unsafe(statement);
  await sql.end();
};
