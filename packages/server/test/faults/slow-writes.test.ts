/**
 * The reads of a write have the limits of a GET: its response, reads of hooks, and all reads of one transaction
 * together.
 */
import { once } from 'node:events';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { Refusal } from '../../src/errors.js';
import { limits } from '../../src/limits.js';
import { type ReadProgram, readInside } from '../../src/sql/dialect.js';
import { serveInProcess } from '../world/process.js';
import { dialects, type RelationsWorld, relationsProjectDir, useRelationsWorld } from '../world/relations/world.js';
import { newTestServer } from '../world/server.js';

const CROWD = 60;
/** Sorts books through all shelves and books, repeatedly: 60 to the power of 9 paths. */
const endlessSort = `${'manyManyOf.manyMany.'.repeat(4)}manyManyOf.name`;

/** A shelf with every book on it. */
const crowd = async (world: RelationsWorld): Promise<number> => {
  const shelves = await world.createMany('shelves', CROWD);
  const books = await world.createMany('books', CROWD);
  const pairs = shelves.flatMap((shelf) => books.map((book) => sql`(${sql.lit(shelf)}, ${sql.lit(book)}, 1, 1)`));
  const links = sql`insert into shelves_many_many_links (shelf_id, book_id, book_order, shelf_order) values ${sql.join(pairs)}`;
  await world.db.write((tx) => tx.run(world.db.dialect.compile(links)));
  return shelves[0]!;
};

const tooSlow = (ms: number): string => `The request is too expensive: reading took more than ${ms} ms`;

describe.each(dialects)('slow reads inside writes on %s', (dialect) => {
  const world = useRelationsWorld(dialect);
  const statementMsMax = dialect === 'sqlite' ? limits.sqliteStatementMsMax : limits.readMsMax;

  it('a response that takes too long is refused and the entry unchanged; health and SIGTERM are answered', async () => {
    const shelf = await crowd(world);
    const { url, child } = await serveInProcess(relationsProjectDir, world.env);
    try {
      // the start itself writes down the model
      const before = await world.dump();
      const answer = await fetch(`${url}/shelves/${shelf}?fields=id&populate[manyMany][sort]=${endlessSort}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ data: { name: 'changed' } }),
      });
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({
        error: { message: expect.stringContaining(tooSlow(statementMsMax)) },
      });
      expect(await world.dump()).toBe(before);
      expect((await fetch(url.replace(/api$/, '_health'))).status).toBe(204);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('endless short statements are ended, and the message names the limit that was exceeded', async () => {
    const { db } = world;
    const statement = db.dialect.compile(sql`select count(*) from books`);
    function* endless(): ReadProgram<never> {
      for (;;) yield [statement, statement];
    }
    const outcomes = await Promise.allSettled([db.read(endless), db.write((tx) => readInside(endless(), tx))]);
    expect(
      outcomes.map((it) => (it.status === 'rejected' && it.reason instanceof Refusal ? it.reason.message : it)),
    ).toEqual([expect.stringContaining(tooSlow(limits.readMsMax)), expect.stringContaining(tooSlow(limits.readMsMax))]);
  });
});

// on PostgreSQL the time limit of a hook equals that of a statement
describe('slow reads of hooks on sqlite', () => {
  const world = useRelationsWorld('sqlite');

  it('reads of a hook in the transaction have the same limit', async () => {
    const shelf = await crowd(world);
    const server = await newTestServer(world.db, world.model, {}, undefined, {
      handlers: new Map([
        [
          'api::shelf.shelf',
          {
            beforeUpdate: async ({ content }) => {
              await content.find('api::book.book', { fields: 'id', sort: endlessSort });
            },
          },
        ],
      ]),
    });
    await world.unchanged(async () => {
      const { status, text } = await server.send('PUT', `/api/shelves/${shelf}`, {
        body: { data: { name: 'changed' } },
      });
      expect(status).toBe(400);
      expect(text).toContain(tooSlow(limits.sqliteStatementMsMax));
    });
    await server.close();
  });
});
