/** A database of which the k-th statement of a write fails. */
import type { Db, Rows, Statement } from '../../src/sql/dialect.js';
import { txThrough } from './watched.js';

class Injected extends Error {}

/** Which statement of the next write fails; none if it is never reached. */
export interface Fuse {
  failAt: number;
  ran: number;
}

/** The last k is a failure after all statements and before the commit. */
export const faulty = (db: Db, fuse: Fuse): Db => ({
  ...db,
  write: (work) =>
    db.write(async (tx) => {
      fuse.ran = 0;
      const run = async (statement: Statement): Promise<Rows> => {
        fuse.ran += 1;
        if (fuse.ran === fuse.failAt) throw new Injected(statement.sql);
        return tx.run(statement);
      };
      // what is sent later runs later, as in a pipeline
      let last: Promise<unknown> = Promise.resolve();
      const runAll = (statements: readonly Statement[]): Promise<readonly Rows[]> => {
        const results = last.then(async () => {
          const rows: Rows[] = [];
          for (const statement of statements) rows.push(await run(statement));
          return rows;
        });
        last = results.catch(() => undefined);
        return results;
      };
      const result = await work(txThrough(tx, runAll, db.dialect));
      if (fuse.ran + 1 === fuse.failAt) throw new Injected('before the commit');
      return result;
    }),
});
