/**
 * Statements per write, counted exactly, and the turns in which they are sent: a turn is a round trip on PostgreSQL, and a
 * message to the writer on SQLite. Neither grows with the number of links.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Db, Statement, Tx } from '../../src/sql/dialect.js';
import { dialects } from '../world/databases.js';
import { files, newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';
import { txThrough } from '../world/watched.js';

/** What the last write has sent. */
interface Sent {
  readonly texts: string[];
  turns: number;
}

describe.each(dialects)('statements of writes on %s', (dialect) => {
  let world: RelationsWorld;
  let sent: Sent = { texts: [], turns: 0 };

  const watched = (tx: Tx, db: Db): Tx => {
    let pending = 0;
    const runAll = async (statements: readonly Statement[]) => {
      if (pending === 0) sent.turns += 1;
      pending += 1;
      sent.texts.push(...statements.map((it) => it.sql));
      try {
        return await tx.runAll(statements);
      } finally {
        pending -= 1;
      }
    };
    return txThrough(tx, runAll, db.dialect);
  };
  const watch = (db: Db): Db => ({ ...db, write: (work) => db.write((tx) => work(watched(tx, db))) });

  beforeEach(async () => {
    world = await newRelationsWorld(dialect, {}, watch);
  });
  afterEach(() => world.close());

  /** Statements and turns of a write, without `begin` and `commit`. */
  const costOf = async (method: string, url: string, data?: unknown): Promise<readonly [number, number]> => {
    sent = { texts: [], turns: 0 };
    const { status, text } = await world.send(method, url, data && { data });
    expect([status, text]).toEqual([200, text]);
    return [sent.texts.length, sent.turns];
  };
  const onDialect = <T>(counts: { readonly sqlite: T; readonly postgres: T }): T => counts[dialect];

  it('an update reads its entry once, and writes and answers in a second turn', async () => {
    const id = await world.create('shelves');
    // the entry; the update, the answer
    expect(await costOf('PUT', `/api/shelves/${id}`, { name: 'a' })).toEqual([3, 2]);
  });

  it('a creation with links asks once, and writes and answers in a second turn, however many links there are', async () => {
    for (const count of [2, 5, 8]) {
      const books = await world.createMany('books', count);
      // targets, their lists, an id; the entry, its links, the answer. PostgreSQL: all questions; the locks, whether
      // the answers still hold, all rows, the answer
      expect(await costOf('POST', '/api/shelves', { manyMany: books })).toEqual(
        onDialect({ sqlite: [6, 2], postgres: [5, 2] }),
      );
    }
  });

  it('components cost statements by their types', async () => {
    const leaf = (count: number) => ({
      title: 'a',
      code: `code ${count}`,
      cover: files.picture,
      card: { label: 'a' },
      zone: Array.from({ length: count }, (_it, i) => ({ __component: 'parts.note', text: `${i}` })),
    });
    const expected = onDialect({ sqlite: [10, 2] as const, postgres: [3, 2] as const });
    expect(await costOf('POST', '/api/leaves', leaf(2))).toEqual(expected);
    expect(await costOf('POST', '/api/leaves', leaf(7))).toEqual(expected);
    // components are read level by level, and the answer before they are gone
    const [statements, turns] = await costOf('DELETE', '/api/leaves/1');
    expect(turns).toBe(4);
    expect(await costOf('DELETE', '/api/leaves/2')).toEqual([statements, turns]);
  });

  it('a change of a long list costs as much as that of a short one', async () => {
    const books = await world.createMany('books', 400);
    const short = await world.create('shelves', { manyMany: books.slice(0, 3) });
    const long = await world.create('shelves', { manyMany: books.slice(0, 300) });
    const connect = (shelf: number, book: number, position: unknown) =>
      costOf('PUT', `/api/shelves/${shelf}`, { manyMany: { connect: [{ id: books[book], position }] } });
    // the first change of a long list spreads its ranks
    await connect(long, 310, { before: books[1] });
    // the entry, the target, the list, the list of the target; the update, the link, the answer.
    // PostgreSQL: the lock, the entry, all questions; the update, the link, the answer
    const expected = onDialect({ sqlite: [7, 2], postgres: [6, 2] });
    let book = 311;
    for (const position of [{ before: books[1] }, { after: books[1] }, { start: true }, { end: true }, undefined]) {
      expect(await connect(long, book, position)).toEqual(expected);
      book += 1;
    }
    expect(await connect(short, book, { end: true })).toEqual(expected);
  });

  it('writes of other values run the same texts', async () => {
    const books = await world.createMany('books', 20);
    const textsOf = async (...writes: readonly (readonly [string, string, unknown])[]) => {
      const texts: string[] = [];
      for (const [method, url, data] of writes) {
        await costOf(method, url, data);
        texts.push(...sent.texts);
      }
      return texts;
    };
    const round = (n: number) =>
      textsOf(
        ['POST', '/api/shelves', { name: `name ${n}`, manyMany: books.slice(n, n + 3), oneWay: books[n] }],
        ['PUT', `/api/shelves/${n}`, { name: null, manyMany: { connect: [books[n + 5]], disconnect: [books[n]] } }],
        ['PUT', `/api/shelves/${n}`, { manyMany: [books[n + 2], books[n + 5], books[n + 1]] }],
        ['DELETE', `/api/shelves/${n}`, undefined],
      );
    const first = await round(1);
    expect(await round(2)).toEqual(first);
    expect(await round(3)).toEqual(first);
  });
});
