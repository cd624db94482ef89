/** A transaction whose work fails, or ends, while statements of it are on their way: they are a part of it, and the next one is made. */
import { setImmediate } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SqliteDb } from '../../src/sql/sqlite/open.js';
import { dialectsAndThreads, newDatabase, threadOptions } from '../world/databases.js';

describe.each(dialectsAndThreads)('a transaction whose work does not wait on %s, threads: %i', (dialect, threads) => {
  const opened = async () => {
    const { db, drop } = await newDatabase(dialect);
    onTestFinished(drop);
    if (threads > 0) await (db as SqliteDb).startThreads(threadOptions(threads));
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    await db.write((tx) => tx.run(statement('create table seen (n integer)')));
    const rows = async () =>
      (await db.write((tx) => tx.run(statement('select n from seen order by n')))).map(([n]) => n);
    return { db, statement, rows };
  };

  it.each([undefined, {}])(
    'is undone, statements that are on their way included, and the next one is made: kind %j',
    async (kind) => {
      const { db, statement, rows } = await opened();
      // as many turns as it takes a statement to be sent and answered
      for (let turns = 0; turns < 16; turns++) {
        const failing = db.write(async (tx) => {
          tx.run(statement(`insert into seen values (${turns})`)).catch(() => undefined);
          for (let i = 0; i < turns; i++) await null;
          throw new Error('too early');
        }, kind);
        await expect(failing).rejects.toThrow('too early');
        expect(await rows(), String(turns)).toEqual([]);
      }
    },
  );

  it.each([undefined, {}])(
    'is committed with what is on its way where the work ends too early: kind %j',
    async (kind) => {
      const { db, statement, rows } = await opened();
      for (let turns = 0; turns < 16; turns++) {
        await db.write(async (tx) => {
          tx.run(statement(`insert into seen values (${turns})`)).catch(() => undefined);
          for (let i = 0; i < turns; i++) await null;
        }, kind);
        expect(await rows()).toHaveLength(turns + 1);
      }
    },
  );

  it('is undone while a batch takes long', async () => {
    const { db, statement, rows } = await opened();
    const slow = statement(
      'insert into seen select max(n) from (with recursive c(n) as (select 1 union all select n + 1 from c where n < 300000) select n from c) m',
    );
    const failing = db.write(async (tx) => {
      await tx.run(statement('select 1'));
      tx.runAll([slow, slow, slow, slow, slow, slow]).catch(() => undefined);
      await setImmediate();
      await setImmediate();
      throw new Error('too early');
    });
    await expect(failing).rejects.toThrow('too early');
    // in which the rest of the batch would run
    for (let turns = 0; turns < 20; turns++) await setImmediate();
    expect(await rows()).toEqual([]);
  });
});
