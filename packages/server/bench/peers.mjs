/**
 * Other servers over the same PostgreSQL tables, asked for the same content. They have their own format, so what is compared
 * is what both show. Peers are installed apart: `npm ci --prefix packages/server/bench/peers`.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { cpuRatio, measure, ratio } from './measure.mjs';
import { newTable, say } from './print.mjs';
import { startDovetail, startScript, stopAll } from './processes.mjs';

export const peersName = 'peers';

const peersDir = path.join(import.meta.dirname, 'peers');

const scalars =
  'title slug summary body kind contact views reads rating price featured publishedOn opensAt eventAt syncedAt details createdAt updatedAt publishedAt';
const pageOf = (inside) => `{ allArticles(first: 25, orderBy: ROW_ID_ASC) { totalCount nodes { rowId ${inside} } } }`;

/** Drafts included: PostGraphile's own filters know equality only. */
const requests = [
  {
    name: 'list',
    path: '/api/articles?publicationState=preview',
    graphql: pageOf(scalars),
  },
  {
    name: 'list with author, categories, comments',
    path: '/api/articles?publicationState=preview&populate[author][fields]=name&populate[categories][fields]=name&populate[comments][fields][0]=nickname&populate[comments][fields][1]=body',
    graphql: pageOf(`${scalars}
      articlesAuthorLinksByArticleId(first: 1) { nodes { authorByAuthorId { rowId name } } }
      articlesCategoriesLinksByArticleId(orderBy: CATEGORY_ORDER_ASC) { nodes { categoryByCategoryId { rowId name } } }
      commentsArticleLinksByArticleId(orderBy: COMMENT_ORDER_ASC) { nodes { commentByCommentId { rowId nickname body } } }`),
  },
];

/** @returns figures by peer and request; undefined if no peer is installed */
export const comparePeers = async ({ projects, world, options }) => {
  if (!fs.existsSync(path.join(peersDir, 'node_modules'))) {
    say(`\nno peers: npm ci --prefix ${path.relative(process.cwd(), peersDir)} installs them`);
    return undefined;
  }
  const { dist, rounds = 7, seconds, connections } = options;
  try {
    const sides = {
      dovetail: await startDovetail(dist, projects.anew, world),
      postgraphile: await startScript('peers/postgraphile.mjs', [world.place], world, { GRAPHILE_ENV: 'production' }),
    };
    say('\npeers on the same PostgreSQL tables, answers made anew; CPU time of a request: Dovetail / peer');
    table.head();
    const figures = {};
    for (const request of requests) {
      await checkEqual(sides, request);
      const { dovetail, postgraphile } = await measure(sides, {
        urlFor: (_turn, side) => (side === 'dovetail' ? request.path : graphqlRequest(request)),
        rounds,
        seconds,
        connections,
      });
      const it = {
        dovetail,
        postgraphile,
        ratio: ratio(dovetail, postgraphile),
        cpuRatio: cpuRatio(dovetail, postgraphile),
      };
      figures[request.name] = it;
      table.row([
        `PostGraphile: ${request.name}`,
        dovetail.perSecond.toFixed(0),
        postgraphile.perSecond.toFixed(0),
        it.ratio.toFixed(1),
        dovetail.cpuUs === null ? '' : `${dovetail.cpuUs.toFixed(0)} / ${postgraphile.cpuUs.toFixed(0)}`,
        it.cpuRatio?.toFixed(1) ?? '',
      ]);
    }
    return { postgraphile: figures };
  } finally {
    await stopAll();
  }
};

const table = newTable([
  ['peer', 54],
  ['dovetail/s', 11],
  ['peer/s', 9],
  ['ratio', 7],
  ['CPU µs', 16],
  ['ratio', 7],
]);

const graphqlRequest = ({ graphql }) => ({ method: 'POST', path: '/graphql', body: { query: graphql } });

/** Both show the same entries with the same texts, in the same order. */
const checkEqual = async (sides, request) => {
  const { method, path: target, body } = graphqlRequest(request);
  const [mine, other] = await Promise.all([
    fetch(`http://127.0.0.1:${sides.dovetail.port}${request.path}`),
    fetch(`http://127.0.0.1:${sides.postgraphile.port}${target}`, {
      method,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  ]);
  const [{ data, meta }, { data: answer, errors }] = [await mine.json(), await other.json()];
  assert.equal(errors, undefined, JSON.stringify(errors));
  assert.equal(meta.pagination.total, answer.allArticles.totalCount);
  assert.deepEqual(data.map(shownByDovetail), answer.allArticles.nodes.map(shownByPostGraphile));
};

const shownByDovetail = ({ id, attributes: { title, body, author, categories, comments } }) => ({
  id,
  title,
  body,
  author: author?.data?.attributes.name ?? null,
  categories: (categories?.data ?? []).map((it) => it.attributes.name),
  comments: (comments?.data ?? []).map((it) => `${it.attributes.nickname}: ${it.attributes.body}`),
});

const shownByPostGraphile = ({ rowId, title, body, ...links }) => ({
  id: rowId,
  title,
  body,
  author: links.articlesAuthorLinksByArticleId?.nodes[0]?.authorByAuthorId.name ?? null,
  categories: (links.articlesCategoriesLinksByArticleId?.nodes ?? []).map((it) => it.categoryByCategoryId.name),
  comments: (links.commentsArticleLinksByArticleId?.nodes ?? []).map(
    ({ commentByCommentId: it }) => `${it.nickname}: ${it.body}`,
  ),
});
