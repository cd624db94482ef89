/** One state of a PostgreSQL database, read for as long as it takes. Writers do not wait for it. */
import { Client } from 'pg';
import type { Snapshot } from '../dialect.js';
import { readAddress } from './address.js';

/** Throws what the driver throws if no host of the URL can be reached. */
export const openPostgresSnapshot = async (url: string): Promise<Snapshot> => {
  const { candidates, searchPath } = readAddress(url);
  const client = await connectToFirst(candidates);
  await client.query('begin isolation level repeatable read read only');
  // behind a pooler they hold for this transaction
  await client.query('set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0');
  if (searchPath !== null) await client.query("select set_config('search_path', $1, true)", [searchPath]);
  return {
    rows: async ({ sql, params }) => {
      const { rows } = await client.query({ text: sql, values: [...params], rowMode: 'array' });
      return rows as (readonly unknown[])[];
    },
    close: () => client.end(),
  };
};

const connectToFirst = async (candidates: ReturnType<typeof readAddress>['candidates']): Promise<Client> => {
  for (const [i, candidate] of candidates.entries()) {
    const client = new Client(candidate);
    // a lost connection fails its query too
    client.on('error', () => undefined);
    try {
      await client.connect();
      return client;
    } catch (fault) {
      await client.end().catch(() => undefined);
      if (i === candidates.length - 1) throw fault;
    }
  }
  throw new Error('no host');
};
