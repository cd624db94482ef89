/** PostgreSQL that takes encrypted connections only, by the settings of v4's `config/database` and by DATABASE_*. */
import fs from 'node:fs';
import path from 'node:path';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { openDatabase, openProject } from '../../src/cli/project.js';
import { newFolder } from '../world/folders.js';
import { type PostgresServer, startPostgres } from '../world/postgres.js';
import { writeFiles } from '../world/schemas.js';

/** Signed by itself, for 127.0.0.1. */
const certificates = path.join(import.meta.dirname, '../world/tls');
const ca = fs.readFileSync(path.join(certificates, 'server.crt'), 'utf8');

let server: PostgresServer;
let address: URL;
beforeAll(async () => {
  server = await startPostgres();
  address = new URL(server.url);
  const client = new Client({ connectionString: server.url });
  await client.connect();
  const { rows } = await client.query<{ data_directory: string }>('show data_directory');
  const data = rows[0]!.data_directory;
  const { uid, gid } = fs.statSync(data);
  for (const name of ['server.crt', 'server.key']) {
    fs.copyFileSync(path.join(certificates, name), path.join(data, name));
    fs.chownSync(path.join(data, name), uid, gid);
    fs.chmodSync(path.join(data, name), 0o600);
  }
  fs.writeFileSync(path.join(data, 'pg_hba.conf'), 'hostssl all all all password\n');
  await client.query('alter system set ssl = on');
  await client.query('select pg_reload_conf()');
  await client.end();
});
afterAll(async () => {
  await server.stop();
});
beforeAll(() => {
  for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL']) vi.stubEnv(name, '');
});

/** Whether the connection of the project with this `ssl` is encrypted. Rejects if there is none. */
const connect = async (ssl: unknown): Promise<boolean> => {
  const { hostname: host, port, username: user, password } = address;
  const connection = { host, port: Number(port), database: 'postgres', user, password, ssl };
  const dir = newFolder();
  writeFiles(dir, {
    'package.json': { dependencies: { '@strapi/strapi': '4.26.2' } },
    'config/database.js': `module.exports = () => (${JSON.stringify({ connection: { client: 'postgres', connection } })});`,
  });
  try {
    const db = await openDatabase(await openProject(dir));
    const isEncrypted = db.dialect.compile(sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`);
    const [row] = await db.write((tx) => tx.run(isEncrypted)).finally(() => db.close());
    return row![0] as boolean;
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
};

describe('PostgreSQL with TLS', () => {
  it.each([
    ['a certificate that is not looked at', { rejectUnauthorized: false }],
    ['the certificate that signed it', { ca }],
    ['that certificate, and rejectUnauthorized', { ca, rejectUnauthorized: true }],
  ])('is connected to with %s', async (_name, ssl) => {
    expect(await connect(ssl)).toBe(true);
  });

  it.each([
    [
      'a certificate that nobody has signed',
      { rejectUnauthorized: true },
      /self-signed certificate[\s\S]*DATABASE_SSL_CA/,
    ],
    ['no encryption', false, /no encryption[\s\S]*DATABASE_SSL=true/],
  ])('is refused with %s', async (_name, ssl, message) => {
    await expect(connect(ssl)).rejects.toThrow(message);
  });
});
