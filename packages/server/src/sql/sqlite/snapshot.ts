/** One state of a SQLite file, read for as long as it takes. Writers do not wait for it. */
import Database from 'better-sqlite3';
import type { Snapshot } from '../dialect.js';
import { addFunctions } from './functions.js';

export const openSqliteSnapshot = async (file: string): Promise<Snapshot> => {
  const raw = new Database(file, { readonly: true, fileMustExist: true });
  addFunctions(raw, () => undefined);
  raw.exec('begin');
  return {
    rows: async ({ sql, params }) =>
      raw
        .prepare(sql)
        .raw()
        .all(...params) as (readonly unknown[])[],
    close: async () => {
      raw.close();
    },
  };
};
