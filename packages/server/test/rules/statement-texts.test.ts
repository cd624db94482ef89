/**
 * Texts of statements do not depend on pages and values, so a database plans each only once; the number of statements
 * that a PostgreSQL connection keeps prepared is bounded nevertheless.
 */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { type Db, type ReadProgram, readRows, type Statement } from '../../src/sql/dialect.js';
import { newRelationsWorld } from '../world/relations/world.js';
import { dialects, useWorld } from '../world/world.js';

const prepared: Statement = { sql: 'select count(*)::int4 from pg_prepared_statements', params: [], ids: [] };

/** Prepared statements of the connections that serve a burst of reads. */
const preparedOn = async (db: Db): Promise<readonly number[]> =>
  (await Promise.all(Array.from({ length: 20 }, () => db.read(() => readRows(prepared))))).map(([row]) =>
    Number(row?.[0]),
  );

describe.each(dialects)('texts of statements on %s', (dialect) => {
  const world = useWorld(dialect, { responseCacheBytesMax: 0 });

  /** Distinct texts that the given requests run. */
  const textsOf = async (urlOf: (i: number) => string, count: number): Promise<number> => {
    const texts = new Set<string>();
    for (let i = 0; i < count; i++) for (const text of await world.statements(urlOf(i))) texts.add(text);
    return texts.size;
  };

  /** PostgreSQL counts in the statement of the page. */
  const counts = dialect === 'postgres' ? 0 : 1;

  it('300 pages of 100 sizes run three texts: the first page, any other page, and the count', async () => {
    const pages = (i: number) => `/api/films?pagination[page]=${1 + (i % 50)}&pagination[pageSize]=${1 + (i % 100)}`;
    expect(await textsOf(pages, 300)).toBe(2 + counts);
  });

  it('300 values run two texts, lists of 1 to 300 values twenty', async () => {
    // an empty page, after which the list is counted
    const url = '/api/films?pagination[page]=2';
    const values = (i: number) => `${url}&filters[title][$contains]=${i}&filters[year][$gt]=${i}&_q=word${i}`;
    expect(await textsOf(values, 300)).toBe(1 + counts);
    const list = (i: number) => Array.from({ length: 1 + i }, (_it, at) => `filters[year][$in][${at}]=${at}`).join('&');
    expect(await textsOf((i) => `${url}&${list(i)}`, 300)).toBe(10 * (1 + counts));
  });

  it('a padded list finds exactly what its values find', async () => {
    const ids = (query: string) => world.ids(`/api/films?fields=id&${query}`);
    const three = [1911, 1920, 1931].map((year, i) => `filters[year][$in][${i}]=${year}`).join('&');
    expect(await ids(three)).toEqual([1, 2, 4, 5]);
    const others = await ids(three.replaceAll('$in', '$notIn'));
    expect(others).not.toEqual([]);
    expect(others.filter((id) => [1, 2, 4, 5].includes(id))).toEqual([]);
    expect(await ids('filters[year][$in][0]=1911')).toEqual([1]);
  });

  it('pages join up to the full list, with and without a sort', async () => {
    for (const sort of ['', '&sort=title:desc']) {
      const whole = await world.ids(`/api/films?fields=id${sort}`);
      const joined: number[] = [];
      for (let page = 1; page <= whole.length; page++)
        joined.push(
          ...(await world.ids(`/api/films?fields=id${sort}&pagination[page]=${page}&pagination[pageSize]=2`)),
        );
      expect(joined).toEqual(whole);
    }
  });
});

describe('prepared statements of PostgreSQL', () => {
  const world = useWorld('postgres', { responseCacheBytesMax: 0 });

  it('thousands of pages and values leave few prepared statements', async () => {
    for (let i = 0; i < 2000; i += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_it, j) =>
          world.get(`/api/films?pagination[start]=${i + j}&pagination[limit]=${1 + j}&filters[year][$ne]=${i + j}`),
        ),
      );
    for (const count of await preparedOn(world.db)) expect(count).toBeLessThan(20);
  });

  it('writes of any values leave few', async () => {
    const shelves = await newRelationsWorld('postgres');
    try {
      const books = await shelves.createMany('books', 12);
      const id = await shelves.create('shelves', { manyMany: books });
      for (let i = 0; i < 60; i++) {
        const turned = books.map((_it, at) => books[(at + i) % books.length]!).slice(0, 1 + (i % books.length));
        await shelves.update('shelves', id, { name: i % 3 === 0 ? null : `name ${i}`, manyMany: turned });
      }
      for (const count of await preparedOn(shelves.db)) expect(count).toBeLessThan(60);
    } finally {
      await shelves.close();
    }
  });

  it('the least recently used one is evicted', async () => {
    const { db } = world;
    const texts = Array.from({ length: limits.statementsMax + 200 }, (_it, i) =>
      db.dialect.compile(sql`select ${sql.lit(i)}::int4`),
    );
    function* all(): ReadProgram<readonly unknown[]> {
      const rows = yield texts;
      return rows.map(([row]) => row?.[0]);
    }
    for (let round = 0; round < 3; round++) expect(await db.read(all)).toEqual(texts.map((_it, i) => i));
    // the connection is in use until its commit is answered
    await expect.poll(async () => Math.max(...(await preparedOn(db)))).toBe(limits.statementsMax);
  });
});
