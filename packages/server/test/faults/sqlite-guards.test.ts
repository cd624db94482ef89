/**
 * On SQLite a statement blocks all other requests, so every statement that may run long checks its deadline while it
 * runs, whatever it does: scan, filter, sort, count, follow relations. With a deadline of zero each of them is refused.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { limits as server } from '../../src/limits.js';
import { useLimits } from '../world/limits.js';
import { useRelationsWorld } from '../world/relations/world.js';
import { useWorld } from '../world/world.js';

const limits = useLimits({ smallReadMsMax: server.sqliteStatementMsMax });
const noTime = { sqliteStatementMsMax: -1, smallReadMsMax: -1 };

/** Enough rows for a check of some rows to happen. */
const CROWD = 200;
const ids = Array.from({ length: CROWD }, (_none, i) => 1000 + i);
const director = 5;

describe('statements on sqlite with a deadline of zero', () => {
  const world = useWorld('sqlite');
  beforeAll(async () => {
    await world.insert(
      'films',
      ids.map((id) => ({ id, title: `Film ${id}`, published_at: 0 })),
    );
    await world.insert(
      'people',
      ids.map((id) => ({ id, name: `Person ${id}` })),
    );
    await world.insert(
      'genres',
      ids.map((id) => ({ id, name: `Genre ${id}` })),
    );
    await world.insert(
      'films_director_links',
      ids.map((id) => ({ id, film_id: id, person_id: director, film_order: id })),
    );
  });

  const populated = `/api/people/${director}?fields=id&populate[directed]`;
  it.each([
    ['a list of a type with many drafts', '/api/genres?pagination[withCount]=false'],
    ['a deep page', `/api/films?pagination[start]=${CROWD}`],
    ['a sorted list', '/api/films?sort=title'],
    ['a sorted list, deep', `/api/films?sort=title&pagination[start]=${CROWD}`],
    ['a filter', '/api/films?filters[title][$contains]=zz'],
    ['a filter through a relation', '/api/films?filters[director][name]=zz'],
    ['a filter that entries without a relation meet', '/api/films?filters[director][name][$null]=true'],
    ['a search', '/api/films?_q=zz'],
    ['a sort through a to-one relation', '/api/films?sort=director.name'],
    ['a sort through a to-many relation', '/api/people?sort=directed.title'],
    ['a sort whose ways all end before the last table', '/api/people?sort=directed.genres.name'],
    ['links of one entry', `${populated}[fields]=id`],
    ['populated entries that are sorted', `${populated}[sort]=title`],
    ['populated entries that are sorted through a relation', `${populated}[sort]=director.name`],
    ['populated entries that are filtered', `${populated}[filters][title]=zz`],
  ])('are refused: %s', async (_what, url) => {
    expect((await world.get(url)).status).toBe(200);
    limits.set(noTime);
    const { status, text } = await world.get(`${url}&again=1`).finally(limits.reset);
    expect({ status, text }).toEqual({ status: 400, text: expect.stringContaining('read.too-slow') });
  });
});

describe('a write on sqlite with a deadline of zero', () => {
  const world = useRelationsWorld('sqlite');

  it('is refused when it checks a unique value in a table without an index on it', async () => {
    await world.createMany('forms', CROWD);
    limits.set(noTime);
    const said = await world
      .refused('POST', '/api/forms', { data: { tag: 'mine', publishedAt: null } })
      .finally(limits.reset);
    expect(said).toMatchObject({ status: 400, message: expect.stringContaining('reading took more than') });
  });
});
