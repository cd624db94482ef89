/**
 * A PostgreSQL that belongs to somebody else: one connection, one transaction that is read only, in one snapshot. It takes no
 * lock that another program waits for, except one that alters the tables it has read.
 */
import { Client } from 'pg';
import type { ReadProgram, Rows, Statement } from '../dialect.js';
import type { FrozenDb } from '../inspection.js';
import { readAddress, type Tls } from './address.js';
import { postgresDialect } from './dialect.js';
import { postgresInspection } from './inspection.js';

/**
 * Throws an error for the user if the server cannot be reached.
 * @param tls how the server's certificate is checked, as for `openPostgres`.
 */
export const openFrozenPostgres = async (url: string, tls: Tls | null = null): Promise<FrozenDb> => {
  const { candidates, searchPath, place } = readAddress(url, tls);
  let last: Error | null = null;
  for (const candidate of candidates) {
    const client = new Client({ ...candidate, connectionTimeoutMillis: CONNECT_MS });
    // a lost connection fails the statement that is running
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.query('begin isolation level repeatable read read only');
      await client.query(
        `select set_config('statement_timeout', '0', true), set_config('lock_timeout', '${LOCK_MS}', true)`,
      );
      if (searchPath !== null) await client.query(`select set_config('search_path', $1, true)`, [searchPath]);
      return frozen(client, place);
    } catch (fault) {
      last = fault as Error;
      await client.end().catch(() => undefined);
    }
  }
  throw new Error(`cannot connect to ${place}: ${last?.message}`, { cause: last });
};

const CONNECT_MS = 10_000;
const LOCK_MS = 5000;

const frozen = (client: Client, place: string): FrozenDb => ({
  dialect: postgresDialect(null, new Map()),
  place,
  journalMode: null,
  inspection: postgresInspection,
  read: async (begin) => {
    // a statement that fails would end the transaction
    await client.query('savepoint one');
    try {
      const result = await runProgram(begin(), async ({ sql, params }) => {
        const { rows } = await client.query({ text: sql, values: [...params], rowMode: 'array' });
        return rows as Rows;
      });
      await client.query('release savepoint one');
      return result;
    } catch (fault) {
      await client.query('rollback to savepoint one');
      throw fault;
    }
  },
  close: async () => {
    await client.query('rollback').catch(() => undefined);
    await client.end();
  },
});

const runProgram = async <T>(program: ReadProgram<T>, run: (statement: Statement) => Promise<Rows>): Promise<T> => {
  let step = program.next();
  while (!step.done) {
    const results: Rows[] = [];
    for (const statement of step.value) results.push(await run(statement));
    step = program.next(results);
  }
  return step.value;
};
