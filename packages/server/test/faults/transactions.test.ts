/** Guarantees of transactions that the code above them relies on, on both databases. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { pipeline } from '../../src/sql/pipeline.js';
import { dialects, newDatabase } from '../world/databases.js';

describe.each(dialects)('a transaction on %s', (dialect) => {
  it('runs the batches of pipelined steps in order, however long each takes', async () => {
    const { db, drop } = await newDatabase(dialect);
    const statement = (text: string) => db.dialect.compile(sql`${sql.raw(text)}`);
    // long enough for a batch on SQLite to yield to other requests
    const long = statement(
      'with recursive c(n) as (select 1 union all select n + 1 from c where n < 200000) select count(*) from c',
    );
    try {
      await db.write((tx) => tx.run(statement('create table seen (n integer)')));
      const counts = await db.write(async (tx) => {
        const [, counted] = await pipeline(
          () =>
            tx.runAll([long, statement('insert into seen values (1)'), long, statement('insert into seen values (2)')]),
          () => tx.run(statement('select count(*) from seen')),
        );
        return counted;
      });
      expect(counts.map(([count]) => Number(count))).toEqual([2]);
    } finally {
      await drop();
    }
  });
});
