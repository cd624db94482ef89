/** What `Db.readThenCatchUp` promises: afterwards the log of changes knows every commit that the result may show. */
import { setImmediate } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Moment } from '../../src/sql/changes.js';
import { fixedStatement } from '../../src/sql/compile.js';
import { type Db, type DialectName, type PlannedRead, type Rows, readRows } from '../../src/sql/dialect.js';
import { savepoint } from '../../src/sql/savepoint.js';
import { newRandom, seedOfRun } from '../oracle/random.js';
import { dialects, newDatabase, type TestDatabase } from '../world/databases.js';

interface Texts {
  readonly texts: readonly string[];
}

/** A read of one statement, or of several, each in a batch of its own. */
const planned = (...texts: readonly string[]): PlannedRead<Texts, null, Rows> => ({
  plan: { texts },
  values: null,
  *begin({ texts: all }) {
    let last: Rows = [];
    for (const text of all) [last = []] = yield [{ ...fixedStatement(text), isWhole: all.length === 1 }];
    return last;
  },
});

const countOf = (rows: Rows): number => Number(rows[0]?.[0]);

/** Another program, with a connection of its own. */
const newStranger = async (dialect: DialectName, env: TestDatabase['env']) => {
  if (dialect === 'sqlite') {
    const connection = new Sqlite(env['DATABASE_FILENAME']!);
    return { run: async (text: string) => void connection.exec(text), close: async () => void connection.close() };
  }
  const client = new Client(env['DATABASE_URL']!);
  await client.connect();
  return { run: async (text: string) => void (await client.query(text)), close: () => client.end() };
};

const write = (db: Db, text: string): Promise<Rows> =>
  db.write((tx) => tx.run(db.dialect.compile(sql`${sql.raw(text)}`)));

describe.each(dialects)('a read that catches up, on %s', (dialect) => {
  let database: TestDatabase;
  let db: Db;
  let stranger: Awaited<ReturnType<typeof newStranger>>;
  beforeAll(async () => {
    database = await newDatabase(dialect);
    ({ db } = database);
    await write(db, 'create table seen (n integer)');
    await write(db, 'create table other (n integer)');
    stranger = await newStranger(dialect, database.env);
  });
  afterAll(async () => {
    await stranger.close();
    await database.drop();
  });

  it.each(['one statement', 'several statements'])(
    'of %s: what is unchanged since an earlier read fits it',
    async (of) => {
      const random = newRandom(`${seedOfRun()}/catching up ${of}`);
      const count = 'select count(*) from seen';
      const read = async () =>
        countOf(await db.readThenCatchUp(of === 'one statement' ? planned(count) : planned('select 1', count)));
      let isOver = false;
      const differences: string[] = [];
      let changes = 0;
      const reader = async (): Promise<void> => {
        let known: { readonly count: number; readonly since: Moment } | null = null;
        while (!isOver) {
          const since = db.changes.moment();
          const now: number = await read();
          if (known && known.count !== now) {
            changes += 1;
            if (db.changes.isUnchanged(['seen'], known.since)) differences.push(`${known.count} ${now}`);
          }
          known = { count: now, since };
        }
      };
      const insert = 'insert into seen values (1)';
      const kinds = [
        () => write(db, insert),
        () => write(db, 'insert into other values (1)'),
        () => db.write(async (tx) => savepoint(tx, () => tx.run(fixedStatement(insert)))),
        () => stranger.run(insert),
        () => stranger.run(`begin; ${insert}; savepoint s; ${insert}; rollback to s; commit`),
        () => stranger.run(`begin; ${insert}; rollback`),
      ];
      const writer = async (): Promise<void> => {
        while (changes < 20) {
          await random.pick(kinds)();
          // readers share looks in the next turn
          await setImmediate();
        }
        isOver = true;
      };
      await Promise.all([reader(), reader(), reader(), reader(), writer()]);
      expect(differences).toEqual([]);
    },
  );

  it('knows a commit of another program that was finished before it', async () => {
    for (let i = 0; i < 20; i++) {
      await db.readThenCatchUp(planned('select 1'));
      const since = db.changes.moment();
      await stranger.run('insert into seen values (1)');
      await db.readThenCatchUp(planned('select 1'));
      expect(db.changes.isUnchanged(['seen'], since)).toBe(false);
    }
  });
});

describe.runIf(dialects.includes('sqlite'))('calls in one turn of the event loop, on SQLite', () => {
  it.each([0, 1, 2, 5])('notice a commit of another program behind %i of them', async (before) => {
    const { db, env, drop } = await newDatabase('sqlite');
    const stranger = new Sqlite(env['DATABASE_FILENAME']!);
    try {
      await write(db, 'create table seen (n integer)');
      for (let behind = 1; behind <= 3; behind++) {
        await setImmediate();
        await db.changes.catchUp();
        await setImmediate();
        const since = db.changes.moment();
        const looks = Array.from({ length: before }, () => db.changes.catchUp());
        stranger.exec('insert into seen values (1)');
        for (let i = 0; i < behind; i++) {
          await db.changes.catchUp();
          expect(db.changes.isUnchanged(['seen'], since)).toBe(false);
        }
        await Promise.all(looks);
      }
    } finally {
      stranger.close();
      await drop();
    }
  });

  it('share a look, and its failure', async () => {
    const { db, drop } = await newDatabase('sqlite');
    await write(db, 'create table seen (n integer)');
    await setImmediate();
    expect(db.changes.catchUp()).toBeNull();
    const shared = db.changes.catchUp();
    expect(shared).toBeInstanceOf(Promise);
    expect(db.changes.catchUp()).toBe(shared);
    await shared;
    await setImmediate();
    expect(db.changes.catchUp()).toBeNull();
    const late = db.changes.catchUp();
    await Promise.all([drop(), expect(late).rejects.toThrow('the database is closed')]);
  });
});

describe.runIf(dialects.includes('postgres'))('a read that catches up late, on PostgreSQL', () => {
  it('brings nothing up again that has been noticed since', async () => {
    const { db, env, drop } = await newDatabase('postgres');
    const stranger = await newStranger('postgres', env);
    try {
      await write(db, 'create table seen (n integer)');
      await write(db, 'insert into seen values (1)');
      await db.readThenCatchUp(planned('select 1'));
      await stranger.run('select pg_advisory_lock(7)');
      const late = db.readThenCatchUp(
        planned(
          'select 1',
          'select count(*) from seen',
          'select pg_advisory_lock_shared(7)',
          'select pg_advisory_unlock_shared(7)',
        ),
      );
      const waiting = fixedStatement('select count(*) from pg_locks where not granted');
      while (countOf(await db.read(() => readRows(waiting))) === 0);
      await write(db, 'insert into seen values (1)');
      await db.changes.catchUp();
      const since = db.changes.moment();
      await stranger.run('select pg_advisory_unlock(7)');
      await late;
      expect(db.changes.isUnchanged(['seen'], since)).toBe(true);
      await db.changes.catchUp();
      expect(db.changes.isUnchanged(['seen'], since)).toBe(true);
    } finally {
      await stranger.close();
      await drop();
    }
  });
});
