/** Cached responses and plans are never stale: a reader sees what is in the database. */
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type ReadProgram, readRows, type Statement } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { dialects, type Entry, useWorld, type World } from '../world/world.js';

/** Writes as another process would: over a connection of its own. */
const writeElsewhere = async (world: World, text: string): Promise<void> => {
  const { DATABASE_FILENAME, DATABASE_URL } = world.env;
  const db = world.dialect === 'sqlite' ? await openSqlite(DATABASE_FILENAME!) : await openPostgres(DATABASE_URL!);
  await db.write(async (tx) => {
    await tx.run(db.dialect.compile(sql`${sql.raw(text)}`));
  });
  await db.close();
};

/** A promise that is resolved from outside. */
const signal = (): { readonly told: Promise<void>; readonly tell: () => void } => {
  let tell: () => void = () => undefined;
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  return { told, tell };
};

describe.each(dialects)('freshness on %s', (dialect) => {
  const world = useWorld(dialect);
  const list = '/api/films?fields=title&filters[year]=1931&populate[director][fields]=name';
  const film = (title: string, name: string) => [
    { id: 5, attributes: { title, director: { data: { id: 2, attributes: { name } } } } },
  ];

  it('RQ19: a changed row shows in the next response, wherever it occurs in it', async () => {
    expect((await world.read(list)).data).toEqual(film('underXscore', 'Bo'));
    await world.update('films', 5, 'title', 'Renamed');
    expect((await world.read(list)).data).toEqual(film('Renamed', 'Bo'));
    await world.update('people', 2, 'name', 'Boris');
    expect((await world.read(list)).data).toEqual(film('Renamed', 'Boris'));
  });

  it('a row written by another process shows in the next response', async () => {
    const one = '/api/films/1?fields=tagline';
    expect((await world.read<Entry>(one)).data.attributes).toEqual({ tagline: 'A pastry, a storm' });
    await writeElsewhere(world, "update films set tagline = 'Elsewhere' where id = 1");
    expect((await world.read<Entry>(one)).data.attributes).toEqual({ tagline: 'Elsewhere' });
    expect((await world.read<Entry>(one)).data.attributes).toEqual({ tagline: 'Elsewhere' });
  });

  it('links, new rows and removed rows show, and total follows', async () => {
    const genres = '/api/films/7?fields=id&populate[genres][fields]=name';
    expect((await world.read<Entry>(genres)).data.attributes['genres']).toEqual({ data: [] });
    await world.insert('films_genres_links', [{ id: 500, film_id: 7, genre_id: 5, genre_order: 1, film_order: 2 }]);
    expect((await world.read<Entry>(genres)).data.attributes['genres']).toEqual({
      data: [{ id: 5, attributes: { name: 'Short' } }],
    });
    await world.remove('films_genres_links', 500);
    expect((await world.read<Entry>(genres)).data.attributes['genres']).toEqual({ data: [] });

    const people = '/api/people?fields=id';
    expect((await world.read(people)).meta.pagination).toMatchObject({ total: 5 });
    await world.insert('people', [{ id: 50, name: 'New' }]);
    expect((await world.read(people)).meta.pagination).toMatchObject({ total: 6 });
    await world.remove('people', 50);
    expect((await world.read(people)).meta.pagination).toMatchObject({ total: 5 });
  });

  it('a 404 ends when the entry is created, and a deleted entry becomes a 404', async () => {
    expect((await world.get('/api/people/60')).status).toBe(404);
    await world.insert('people', [{ id: 60, name: 'Late' }]);
    expect((await world.get('/api/people/60')).status).toBe(200);
    await world.remove('people', 60);
    expect((await world.get('/api/people/60')).status).toBe(404);
  });

  it('publishing and unpublishing take effect at once', async () => {
    const url = '/api/films?fields=id&filters[id]=9';
    expect(await world.ids(url)).toEqual([]);
    await world.update('films', 9, 'published_at', 1_700_000_000_000);
    expect(await world.ids(url)).toEqual([9]);
    await world.update('films', 9, 'published_at', null);
    expect(await world.ids(url)).toEqual([]);
  });

  it('the entity tag changes with the response', async () => {
    const url = '/api/genres/1?fields=name';
    const { headers } = await world.get(url);
    const before = String(headers['etag']);
    expect((await world.get(url, { 'if-none-match': before })).status).toBe(304);
    await world.update('genres', 1, 'name', 'Tragedy');
    const after = await world.get(url, { 'if-none-match': before });
    expect(after.status).toBe(200);
    expect(after.headers['etag']).not.toBe(before);
    await world.update('genres', 1, 'name', 'Drama');
    expect((await world.get(url)).headers['etag']).toBe(before);
  });

  it('with many readers and a writer, nobody sees an old value after the write', async () => {
    const url = '/api/reels/5?fields=frames';
    for (let frames = 1; frames <= 10; frames++) {
      const during = Promise.all(Array.from({ length: 5 }, () => world.read<Entry>(url)));
      await world.update('reels', 5, 'frames', frames);
      const after = await world.read<Entry>(url);
      expect(after.data.attributes).toEqual({ frames });
      for (const { data } of await during) expect([frames - 1, frames]).toContain(data.attributes['frames']);
    }
  });
});

describe.each(dialects)('one snapshot on %s', (dialect) => {
  const world = useWorld(dialect);
  const titleOf = (id: number): Statement =>
    world.db.dialect.compile(sql`select title from films where id = ${sql.lit(id)}`);

  it('RQ19: a read sees the database as of its first statement, whatever is written before its last', async () => {
    const change = "update films set title = 'Changed' where id = 1";
    // SQLite: another connection writes between two statements. PostgreSQL: the read waits for a lock in between.
    let between: () => readonly Statement[];
    let after: () => Promise<void> = async () => undefined;
    const begun = signal();
    if (dialect === 'sqlite') {
      between = () => {
        const other = new Database(world.env['DATABASE_FILENAME']!);
        other.exec(change);
        other.close();
        return [];
      };
    } else {
      const lock = world.db.dialect.compile(sql`select pg_advisory_xact_lock(42)`);
      const [held, written] = [signal(), signal()];
      const holder = await openPostgres(world.env['DATABASE_URL']!);
      const holding = holder.write(async (tx) => {
        await tx.run(lock);
        held.tell();
        await written.told;
      });
      await held.told;
      between = () => [lock];
      after = async () => {
        await begun.told;
        await writeElsewhere(world, change);
        written.tell();
        await holding;
        await holder.close();
      };
    }
    function* program(): ReadProgram<readonly unknown[]> {
      const [first] = yield [titleOf(1)];
      begun.tell();
      yield between();
      const [last] = yield [titleOf(1)];
      return [first?.[0]?.[0], last?.[0]?.[0]];
    }
    const [seen] = await Promise.all([world.db.read(program), after()]);
    expect(seen).toEqual(['Éclair', 'Éclair']);
    expect((await world.read<Entry>('/api/films/1?fields=title')).data.attributes).toEqual({ title: 'Changed' });
  });

  it('a read does not wait for a running write, and sees the state before it', async () => {
    const { db } = world;
    const nothing = db.dialect.compile(sql`select 1`);
    // the reader's connection is already open
    await Promise.all([db.read(() => readRows(titleOf(2))), db.read(() => readRows(titleOf(2)))]);
    let seen: unknown = null;
    let reading: Promise<void> = Promise.resolve();
    let during: unknown = null;
    await db.write(async (tx) => {
      await tx.run(db.dialect.compile(sql`update films set title = 'Unseen' where id = 2`));
      reading = db
        .read(() => readRows(titleOf(2)))
        .then((rows) => {
          seen = rows[0]?.[0];
        });
      // bounded by a number of statements, not by time
      for (let i = 0; i < 500 && seen === null; i++) await tx.run(nothing);
      during = seen;
    });
    await reading;
    expect(during).toBe('éclair de lune');
    expect((await world.read<Entry>('/api/films/2?fields=title')).data.attributes).toEqual({ title: 'Unseen' });
  });
});

describe.each(dialects)('without cached responses on %s', (dialect) => {
  const world = useWorld(dialect, { responseCacheBytesMax: 0 });

  it('the same request gets the same response twice, and a new one after a change', async () => {
    const url = '/api/films/2?fields=title';
    const first = await world.get(url);
    const second = await world.get(url);
    expect(second.text).toBe(first.text);
    expect(second.headers['etag']).toBe(first.headers['etag']);
    await world.update('films', 2, 'title', 'Changed');
    expect((await world.read<Entry>(url)).data.attributes).toEqual({ title: 'Changed' });
  });
});
