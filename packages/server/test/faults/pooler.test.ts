/**
 * PostgreSQL behind PgBouncer with five server connections, in session and in transaction mode: responses and stored
 * data are the same as without it, and nothing stays in a transaction.
 */
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Db, readRows, type Statement } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { ownPostgres } from '../world/databases.js';
import { type Pooler, type PoolMode, startPgBouncer } from '../world/pgbouncer.js';
import { type Entry, idsOf, newRelationsWorld, type RelationsWorld } from '../world/relations/world.js';
import { newTestServer, type TestAnswer, type TestServer } from '../world/server.js';
import { newWorld, type World } from '../world/world.js';
import { shownState, stateOf, stateQuery } from './states.js';

const modes: readonly PoolMode[] = ['session', 'transaction'];

const reads: readonly string[] = [
  '/api/films',
  '/api/films?populate=*',
  '/api/films?pagination[page]=2&pagination[pageSize]=2',
  '/api/films?pagination[start]=1&pagination[limit]=3&pagination[withCount]=false',
  '/api/films?sort=director.name:desc,title&populate[director][fields]=name',
  '/api/films?filters[title][$containsi]=clair&fields=title',
  '/api/films?filters[genres][name][$in][0]=Short&filters[genres][name][$in][1]=Drama',
  '/api/films?filters[$or][0][year][$lt]=1915&filters[$or][1][director][name][$startsWith]=Bo',
  '/api/films?filters[$not][score][$null]=true&publicationState=preview',
  '/api/films?_q=pastry',
  '/api/films/1?populate[genres][populate]=films&populate[reels][fields]=id',
  '/api/films/999',
  '/api/films?populate=nope',
  '/api/programmes?populate=*&sort=name',
  '/api/reels?populate=*',
  '/api/people?populate=*',
  '/api/genres?populate[films][sort]=title&populate[films][filters][year][$notNull]=true',
  '/api/notices?locale=all&populate=localizations',
  '/api/lobby?publicationState=preview&populate=*',
  '/api/house-rules',
  '/api/donors',
];

/** The text of a statement and its values. */
const compiled = (db: Db, text: string): Statement => db.dialect.compile(sql`${sql.raw(text)}`);

/** States of the connections to a database, as the server sees them, except the one that asks. */
const statesOf = async (url: string): Promise<readonly string[]> => {
  const admin = new Client(ownPostgres());
  await admin.connect();
  const { rows } = await admin.query<{ state: string }>('select state from pg_stat_activity where datname = $1', [
    new URL(url).pathname.slice(1),
  ]);
  await admin.end();
  return rows.map((it) => it.state);
};

/** A backend says that its transaction has ended a moment after its client knows. */
const untilNoneIsInTransaction = async (url: string): Promise<void> => {
  await expect
    .poll(async () => (await statesOf(url)).filter((it) => it?.startsWith('idle in transaction')), { timeout: 60_000 })
    .toEqual([]);
};

/** More failing statements inside transactions than there are connections. */
const failOften = async (db: Db): Promise<void> => {
  const fault = compiled(db, 'select 1 / 0');
  const fine = compiled(db, 'select 1');
  function* reading() {
    yield [fine];
    yield [fine, fault, fine];
    return null;
  }
  const outcomes = await Promise.allSettled([
    ...Array.from({ length: 30 }, () => db.read(reading)),
    ...Array.from({ length: 30 }, () => db.write((tx) => tx.runAll([fine, fault, fine]))),
    ...Array.from({ length: 30 }, () =>
      db.write(async (tx) => {
        // an error that the work catches fails its transaction all the same
        await tx.run(fault).catch(() => undefined);
      }),
    ),
  ]);
  for (const outcome of outcomes)
    expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'division by zero' } });
  expect(await db.read(() => readRows(fine))).toEqual([[1]]);
  expect(await db.write((tx) => tx.run(fine))).toEqual([[1]]);
};

describe('an error inside a transaction', () => {
  it('ends it and releases its connection', async () => {
    const world = await newRelationsWorld('postgres');
    try {
      await failOften(world.db);
      await untilNoneIsInTransaction(world.env['DATABASE_URL']!);
    } finally {
      await world.close();
    }
  });
});

describe.each(modes)('PgBouncer in %s mode', (mode) => {
  let pooler: Pooler;
  let films: World;
  let shelves: RelationsWorld;
  let pooledFilms: { readonly db: Db; readonly server: TestServer };
  let pooledShelves: { readonly db: Db; readonly server: TestServer };
  const open = async (world: World | RelationsWorld) => {
    const db = await openPostgres(pooler.through(world.env['DATABASE_URL']!));
    return { db, server: await newTestServer(db, world.model) };
  };
  beforeAll(async () => {
    pooler = await startPgBouncer(ownPostgres(), mode);
    films = await newWorld('postgres');
    shelves = await newRelationsWorld('postgres');
    pooledFilms = await open(films);
    pooledShelves = await open(shelves);
  });
  afterAll(async () => {
    for (const { server, db } of [pooledFilms, pooledShelves]) {
      await server.close();
      await db.close();
    }
    await films.close();
    await shelves.close();
    await pooler.stop();
  });

  it.each(reads)('answers %s as without it', async (url) => {
    const direct = await films.get(url);
    const [first, again] = [await pooledFilms.server.get(url), await pooledFilms.server.get(url)];
    for (const pooled of [first, again]) {
      expect(pooled.status).toBe(direct.status);
      expect(pooled.text).toBe(direct.text);
    }
  });

  it('writes relations, positions, components and zones, and refuses invalid values', async () => {
    const send = async (method: string, url: string, data?: unknown): Promise<{ status: number; entry: Entry }> => {
      const { status, body } = await pooledShelves.server.send(
        method,
        url,
        data === undefined ? {} : { body: { data } },
      );
      return { status, entry: (body as { data: Entry }).data };
    };
    const [a, b, c] = (await shelves.createMany('books', 3)) as [number, number, number];
    const made = await send('POST', '/api/shelves', { name: 'x', manyMany: [a, b], oneMany: [a] });
    expect(made.status).toBe(200);
    const { id } = made.entry;
    const moved = { manyMany: { connect: [{ id: c, position: { before: b } }], disconnect: [a] }, oneOne: b };
    expect((await send('PUT', `/api/shelves/${id}`, moved)).status).toBe(200);
    expect(await shelves.ids('shelves', id, 'manyMany')).toEqual([c, b]);
    expect((await send('PUT', `/api/shelves/${id}`, { manyMany: [999_999] })).status).toBe(400);
    const holder = await send('POST', '/api/holders', stateOf(7, [a, b, c]));
    expect(shownState(await shelves.read(`/api/holders/${holder.entry.id}?${stateQuery}`))).toEqual(
      stateOf(7, [a, b, c]),
    );
    expect((await send('DELETE', `/api/shelves/${id}`)).status).toBe(200);
    expect((await shelves.server.get(`/api/shelves/${id}`)).status).toBe(404);
    await shelves.expectNoOrphans();
  });

  it('serves 24 concurrent readers and writers', async () => {
    const books = await shelves.createMany('books', 4);
    // whoever waits too long for a connection on a busy machine is told to try again, and nothing has changed
    const send = async (...request: Parameters<TestServer['send']>): Promise<TestAnswer> => {
      const answer = await pooledShelves.server.send(...request);
      return answer.status === 503 ? send(...request) : answer;
    };
    await Promise.all(
      Array.from({ length: 24 }, async (_it, client) => {
        const made = await send('POST', '/api/holders', { body: { data: stateOf(client, books) } });
        expect(made.status, made.text).toBe(200);
        const { id } = (made.body as { data: Entry }).data;
        for (let v = 0; v < 8; v++) {
          const changed = await send('PUT', `/api/holders/${id}?${stateQuery}`, {
            body: { data: stateOf(v, books) },
          });
          expect(changed.status, changed.text).toBe(200);
          expect(shownState((changed.body as { data: Entry }).data)).toEqual(stateOf(v, books));
          const read = await send('GET', `/api/holders/${id}?${stateQuery}`);
          expect(read.status, read.text).toBe(200);
          expect(shownState((read.body as { data: Entry }).data)).toEqual(stateOf(v, books));
        }
      }),
    );
    const entry = await shelves.read(
      `/api/shelves/${await shelves.create('shelves', { manyMany: books })}?populate=manyMany`,
    );
    expect(idsOf(entry, 'manyMany')).toEqual(books);
    await shelves.expectNoOrphans();
  });

  it('an error inside a transaction releases its connection', async () => {
    await failOften(pooledShelves.db);
    await untilNoneIsInTransaction(shelves.env['DATABASE_URL']!);
    expect((await pooledShelves.server.get('/api/shelves')).status).toBe(200);
  });

  it('statements are not prepared by name', async () => {
    const names = compiled(pooledFilms.db, 'select count(*)::int4 from pg_prepared_statements');
    for (let i = 0; i < 10; i++) expect(await pooledFilms.db.read(() => readRows(names))).toEqual([[0]]);
  });
});
