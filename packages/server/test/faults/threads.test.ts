/**
 * SQLite in threads: whatever happens to one of them, the request gets an answer, others go on, and no write is lost or
 * half done.
 */
import fs from 'node:fs';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits as server } from '../../src/limits.js';
import { ConstraintFault, readRows, type Sql, type Tx } from '../../src/sql/dialect.js';
import { openSqlite, type SqliteDb } from '../../src/sql/sqlite/open.js';
import { newCost, newSchedule } from '../../src/sql/sqlite/schedule.js';
import { LostThread, type Thread } from '../../src/sql/sqlite/watched-thread.js';
import { newFolder } from '../world/folders.js';
import { useLimits } from '../world/limits.js';
import { type Failing, failing } from './failing.js';

const limits = useLimits({
  sqliteStatementMsMax: 60 * server.sqliteStatementMsMax,
  readMsMax: 60 * server.readMsMax,
  sqliteLockMsMax: 60_000,
  threadWaitMsMax: 60_000,
  threadHeapMb: 24,
});

/** Runs the work with bounds that no statement of a second keeps. */
const shortly = async <T>(work: () => Promise<T>): Promise<T> => {
  limits.set({ sqliteStatementMsMax: 100, readMsMax: 200 });
  try {
    return await work();
  } finally {
    limits.reset();
  }
};

/** Of a page in the journal, with its header. */
const PAGE_BYTES = 4096 + 24;

const said: Error[] = [];
let db: SqliteDb;
let file: string;
const open = async (count: number): Promise<SqliteDb> => {
  const opened = await openSqlite(file, { onUnavailable: (fault) => said.push(fault) });
  await opened.startThreads({ count, module: new URL('./failing-thread.mjs', import.meta.url), begin: failing });
  return opened;
};
beforeAll(async () => {
  file = `${newFolder()}/data.db`;
  db = await open(2);
  await db.write(async (tx) => {
    await run(tx, sql`create table things (id integer primary key, name text unique)`);
    await run(tx, sql`insert into things values (1, 'one')`);
  });
});
afterAll(() => db.close());

const compiled = (query: Sql) => db.dialect.compile(query);
const run = (tx: Tx, query: Sql) => tx.run(compiled(query));
const names = () => db.read(() => readRows(compiled(sql`select name from things order by id`)));
/** @param plan the same object again is a read that is known. */
const plannedRead = (plan: Failing): Promise<unknown> => db.readPlanned({ plan, values: null, begin: failing });
/** Counts to the number without calling any function of ours. */
const counting = (to: number): Failing => ({
  kind: 'statement',
  sql: `with recursive c(x) as (select 1 union all select x + 1 from c where x < ${to}) select max(x) from c`,
});
/** A statement that takes longer than the bounds on any machine. */
const endless = () => counting(20_000_000);
const slow = 'reading took more than';

describe('a read in a thread', () => {
  it('returns rows, and errors with their kind', async () => {
    expect(await plannedRead({ kind: 'statement', sql: `select 1, 'a', null, x'00ff'` })).toBeDefined();
    expect(await names()).toEqual([['one']]);
    await expect(names().then(() => plannedRead({ kind: 'statement', sql: 'select nonsense' }))).rejects.toThrow(
      expect.objectContaining({ name: 'SqliteError', code: 'SQLITE_ERROR' }),
    );
    await expect(plannedRead({ kind: 'throw' })).rejects.toThrow('thrown in the thread');
  });

  it('is ended from outside past its bound, whatever it does, and later reads work', async () => {
    await expect(shortly(() => plannedRead(endless()))).rejects.toThrow(slow);
    expect(await names()).toEqual([['one']]);
    await expect(shortly(() => plannedRead({ kind: 'spin' }))).rejects.toThrow(slow);
    expect(await names()).toEqual([['one']]);
    await expect(shortly(() => db.read(() => readRows(compiled(sql.raw(sqlOf(endless()))))))).rejects.toThrow(slow);
    expect(await names()).toEqual([['one']]);
  });

  it('is 503 if its thread ends, and the reason is reported', async () => {
    said.length = 0;
    await expect(plannedRead({ kind: 'exit' })).rejects.toThrow('The server is busy');
    expect(said).toMatchObject([{ name: 'LostThread', message: expect.stringContaining('exit code 7') }]);
    expect(await names()).toEqual([['one']]);
  });

  it('is refused if it uses up the heap of its thread', async () => {
    await expect(plannedRead({ kind: 'heap' })).rejects.toThrow('the response is larger than');
    expect(await names()).toEqual([['one']]);
  });

  it('is 503 if the system has no more threads; later reads work', async () => {
    let isExhausted = true;
    const thread = { isGone: () => false, close: async () => undefined } as unknown as Thread;
    const schedule = newSchedule(1, () => {
      if (isExhausted) throw new LostThread(new Error('EAGAIN'));
      return thread;
    });
    const read = (): Promise<string> => schedule.use(newCost(), async () => 'read');
    await expect(Promise.all([read(), read()])).rejects.toThrow(LostThread);
    isExhausted = false;
    expect(await Promise.all([read(), read()])).toEqual(['read', 'read']);
    await schedule.close();
  });

  it('does not wait for a moment without reads, such as the journal needs, while one that takes long goes on', async () => {
    const thread = { isGone: () => false, close: async () => undefined } as unknown as Thread;
    const schedule = newSchedule(1, () => thread);
    let end = (): void => undefined;
    const long = schedule.use(newCost(), () => new Promise<void>((resolve) => (end = resolve)));
    const did: string[] = [];
    const work = schedule.whenIdle(async () => void did.push('work'), true);
    await schedule.use({ ms: 1, runs: 1 }, async () => void did.push('read'));
    expect(did).toEqual(['read']);
    end();
    await Promise.all([long, work]);
    expect(did).toEqual(['read', 'work']);
    await schedule.close();
  });

  it('holds up no write that needs such a moment unless it is urgent', async () => {
    const thread = { isGone: () => false, close: async () => undefined } as unknown as Thread;
    const schedule = newSchedule(1, () => thread);
    const held: (() => void)[] = [];
    const hold = () => new Promise<void>((resolve) => held.push(resolve));
    const unknown = schedule.use(newCost(), hold);
    // it waits until the read is known to take long
    expect(await schedule.whenIdle(async () => 'work', false)).toBe(null);
    const later = schedule.use({ ms: 1, runs: 1 }, async () => 'read');
    expect(await later).toBe('read');
    for (const end of held) end();
    await unknown;
    expect(await schedule.whenIdle(async () => 'work', false)).toBe('work');
    await schedule.close();
  });

  it('holds up an urgent one no longer than a read may take', async () => {
    const thread = { isGone: () => false, close: async () => undefined } as unknown as Thread;
    const schedule = newSchedule(1, () => thread);
    let end = (): void => undefined;
    const endlessRead = schedule.use(newCost(), () => new Promise<void>((resolve) => (end = resolve)));
    expect(await shortly(() => schedule.whenIdle(async () => 'work', true))).toBe(null);
    expect(await schedule.use(newCost(), async () => 'read')).toBe('read');
    end();
    await endlessRead;
    await schedule.close();
  });

  it('does not wait for reads that take long, known or not', async () => {
    let settled = 0;
    const long = counting(400_000);
    const known = plannedRead(long);
    await known;
    const all = Array.from({ length: 6 }, (_none, i) => plannedRead(i % 2 === 0 ? long : counting(400_000 + i)));
    for (const it of all) it.finally(() => settled++);
    for (let i = 0; i < 20; i++) expect(await names()).toEqual([['one']]);
    expect(settled).toBeLessThan(all.length);
    await Promise.all(all);
  });
});

const sqlOf = (plan: Failing): string => (plan.kind === 'statement' ? plan.sql : '');

describe('a write in a thread', () => {
  it('commits, rolls back when its work throws, and names violated constraints', async () => {
    await expect(
      db.write(async (tx) => {
        await run(tx, sql`insert into things values (2, 'two')`);
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await expect(db.write((tx) => run(tx, sql`insert into things values (2, 'one')`))).rejects.toThrow(
      new ConstraintFault('unique', 'things.name'),
    );
    await db.write((tx) => run(tx, sql`insert into things values (2, 'two')`));
    expect(await names()).toEqual([['one'], ['two']]);
    await db.write((tx) => run(tx, sql`delete from things where id = 2`));
  });

  it('runs the statements of a transaction in the order in which they are sent', async () => {
    const rows = await db.write((tx) =>
      Promise.all([
        run(tx, sql`insert into things values (3, 'three')`),
        run(tx, sql`select name from things where id = 3`),
        run(tx, sql`delete from things where id = 3`),
        run(tx, sql`select name from things where id = 3`),
      ]),
    );
    expect(rows).toEqual([[], [['three']], [], []]);
  });

  it('is 503 and rolled back if its thread ends; the next write works, and so do those that waited', async () => {
    const lost = db.write(async (tx) => {
      await run(tx, sql`insert into things values (4, 'four')`);
      await run(tx, sql`select ${'end this thread'}`);
    });
    const next = db.write((tx) => run(tx, sql`insert into things values (5, 'five')`));
    await expect(lost).rejects.toThrow('The server is busy');
    await next;
    expect(await names()).toEqual([['one'], ['five']]);
    await db.write((tx) => run(tx, sql`delete from things where id = 5`));
  });

  it('is ended past its bound, stores nothing, and the next one gets the lock', async () => {
    const lost = db.write(async (tx) => {
      await run(tx, sql`insert into things values (6, 'six')`);
      await shortly(() => run(tx, sql.raw(sqlOf(endless()))));
    });
    await expect(lost).rejects.toThrow(slow);
    await db.write((tx) => run(tx, sql`insert into things values (7, 'seven')`));
    expect(await names()).toEqual([['one'], ['seven']]);
    await db.write((tx) => run(tx, sql`delete from things where id = 7`));
  });

  it('leaves a journal that stays small, however long writes follow one another', async () => {
    const size = 1024 * 1024;
    const writeOne = (query: Sql) => db.write((tx) => run(tx, query));
    const fill = (times: number) =>
      Promise.all(
        Array.from({ length: (times * server.sqliteJournalPages * PAGE_BYTES) / size }, () =>
          writeOne(sql`update things set name = ${'x'.repeat(size)} where id = 8`),
        ),
      );
    const other = new Database(file);
    const pages = () => (other.pragma('wal_checkpoint(noop)') as readonly { readonly log: number }[])[0]!.log;
    await writeOne(sql`insert into things values (8, 'eight')`);
    await fill(4);
    expect(pages()).toBeLessThan(2 * server.sqliteJournalPages);
    // as long as another program reads what was there, nothing can be done
    other.exec('begin');
    other.prepare('select 1 from things').get();
    await fill(3);
    expect(fs.statSync(`${file}-wal`).size).toBeGreaterThan(2 * server.sqliteJournalPages * PAGE_BYTES);
    other.exec('commit');
    await fill(4);
    expect(pages()).toBeLessThan(2 * server.sqliteJournalPages);
    await writeOne(sql`delete from things where id = 8`);
    other.close();
  });

  it('has no bound in a schema change', async () => {
    const rows = await db.writeAlone((tx) => shortly(() => run(tx, sql.raw(sqlOf(counting(1_500_000))))));
    expect(rows).toEqual([[1_500_000]]);
  });
});

describe('closing a database with threads', () => {
  it('lets running reads and writes finish, and leaves no journal behind', async () => {
    const other = await open(1);
    const work = [
      other.readPlanned({ plan: counting(100_000), values: null, begin: failing }),
      other.write((tx) => run(tx, sql`insert into things values (8, 'eight')`)),
      other.read(() => readRows(compiled(sql`select 1`))),
    ];
    await db.close();
    await other.close();
    expect(await Promise.all(work)).toEqual([[[100_000]], [], [[1]]]);
    expect([`${file}-wal`, `${file}-shm`].filter((it) => fs.existsSync(it))).toEqual([]);
    await expect(other.read(() => readRows(compiled(sql`select 1`)))).rejects.toThrow('the database is closed');
    db = await open(1);
    expect(await names()).toEqual([['one'], ['eight']]);
  });
});
