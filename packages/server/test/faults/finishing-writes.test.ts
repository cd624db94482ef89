/**
 * Writes on SQLite that commit with their last statements (`Tx.finish`), and those that begin behind them: no order, and no
 * failure, loses a write or stores half of one.
 */
import fs from 'node:fs';
import { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConstraintFault, readRows, type Sql, type Tx } from '../../src/sql/dialect.js';
import type { Sent } from '../../src/sql/sqlite/messages.js';
import { openSqlite, type SqliteDb } from '../../src/sql/sqlite/open.js';
import { newFolder } from '../world/folders.js';
import { type Failing, failing } from './failing.js';

let db: SqliteDb;
const file = `${newFolder()}/data.db`;
beforeAll(async () => {
  db = await openSqlite(file);
  await db.startThreads({ count: 1, module: new URL('./failing-thread.mjs', import.meta.url), begin: failing });
  await db.write(async (tx) => {
    await run(tx, sql`create table things (id integer primary key, name text unique)`);
    await run(tx, sql`create table others (id integer primary key)`);
  });
});
afterAll(() => db.close());
beforeEach(() => db.write((tx) => run(tx, sql`delete from things`)));

const compiled = (query: Sql) => db.dialect.compile(query);
const run = (tx: Tx, query: Sql) => tx.run(compiled(query));
const names = async () => (await db.read(() => readRows(compiled(sql`select name from things order by id`)))).flat();
const insert = (name: string): Sql => sql`insert into things (name) values (${name})`;
const allNames: Failing = { kind: 'statement', sql: 'select group_concat(name order by id) from things' };

/** Asks, then writes and reads in a last turn. Returns what the read has found. */
const finishing = (query: Sql, plan: Failing = allNames): Promise<unknown> =>
  db.write(async (tx) => {
    await run(tx, sql`select count(*) from things`);
    tx.finish();
    const [, found] = await Promise.all([run(tx, query), tx.readPlanned({ plan, values: null, begin: failing })]);
    return found;
  });

/** Kinds of the calls that the work sends to threads. */
const callsOf = async (work: () => Promise<unknown>): Promise<readonly string[]> => {
  const spy = vi.spyOn(Worker.prototype, 'postMessage');
  try {
    await work();
    return spy.mock.calls.map(([sent]) => (sent as Sent).call.kind);
  } finally {
    spy.mockRestore();
  }
};

describe('a write that says which statements are its last', () => {
  it('takes two messages, and reads what it has written', async () => {
    const write = async () => {
      expect(await finishing(insert('one'))).toEqual([['one']]);
    };
    expect(await callsOf(write)).toEqual(['write', 'write']);
    expect(await names()).toEqual(['one']);
  });

  it('is in the log of changes, which knows its tables', async () => {
    await db.changes.catchUp();
    const before = db.changes.moment();
    await finishing(insert('one'));
    expect(db.changes.isUnchanged(['things'], before)).toBe(false);
    expect(db.changes.isUnchanged(['others'], before)).toBe(true);
    await db.changes.catchUp();
    expect(db.changes.isUnchanged(['others'], before)).toBe(true);
  });

  it('is rolled back if one of them fails; the write behind it is not', async () => {
    await finishing(insert('one'));
    const failed = finishing(insert('one'));
    const next = finishing(insert('two'));
    await expect(failed).rejects.toThrow(new ConstraintFault('unique', 'things.name'));
    await next;
    expect(await names()).toEqual(['one', 'two']);
  });

  it('is rolled back if reading fails; the write behind it is not', async () => {
    const failed = finishing(insert('one'), { kind: 'throw' });
    const next = finishing(insert('two'));
    await expect(failed).rejects.toThrow('thrown in the thread');
    await next;
    expect(await names()).toEqual(['two']);
  });

  it('goes on if nothing is found, and the write behind it waits for its end', async () => {
    const first = db.write(async (tx) => {
      await run(tx, insert('one'));
      tx.finish();
      const nothing: Failing = { kind: 'nothing' };
      const [, found] = await Promise.all([
        run(tx, insert('two')),
        tx.readPlanned({ plan: nothing, values: null, begin: failing }),
      ]);
      expect(found).toBeNull();
      // the next write has been sent by now
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      await run(tx, insert('three'));
    });
    const next = finishing(insert('four'));
    await first;
    expect(await next).toEqual([['one,two,three,four']]);
  });

  it('is 503 if the thread ends; the write behind it is not, and nothing of the first is stored', async () => {
    const lost = finishing(insert('one'), { kind: 'exit' });
    const next = finishing(insert('two'));
    await expect(lost).rejects.toThrow('The server is busy');
    await next;
    expect(await names()).toEqual(['two']);
  });

  it('sees all writes before it, however many are sent at once', async () => {
    const expected = Array.from({ length: 60 }, (_none, i) => `${i}`);
    const found = await Promise.all(
      expected.map((name, i) =>
        // some end as usual
        i % 7 === 3 ? db.write((tx) => run(tx, insert(name))) : finishing(insert(name)),
      ),
    );
    expect(await names()).toEqual(expected);
    found.forEach((it, i) => {
      if (i % 7 !== 3) expect(it).toEqual([[expected.slice(0, i + 1).join(',')]]);
    });
  });

  it('is committed apart if it defines tables', async () => {
    const before = db.changes.moment();
    await finishing(sql`create table more (id integer primary key)`);
    expect(db.changes.isUnchanged(['others'], before)).toBe(false);
    expect(await db.read(() => readRows(compiled(sql`select count(*) from more`)))).toEqual([[0]]);
  });
});

const oneRow: Failing = { kind: 'statement', sql: 'select 1' };

describe('the journal', () => {
  it('is copied into the file by another thread than that of the writes', async () => {
    const before = fs.statSync(file).size;
    const writes = () =>
      Promise.all(Array.from({ length: 120 }, (_none, i) => finishing(insert(`${i} ${'x'.repeat(50_000)}`), oneRow)));
    expect(await callsOf(writes)).toContain('checkpoint');
    await vi.waitFor(() => expect(fs.statSync(file).size).toBeGreaterThan(before + 1_000_000), { timeout: 20_000 });
    expect((await names()).length).toBe(120);
  });
});
