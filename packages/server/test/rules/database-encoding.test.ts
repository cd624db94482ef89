/** FL9 on a PostgreSQL whose encoding ICU does not know, such as that of a cluster made with `initdb --locale=C`. */
import { sql } from 'kysely';
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres/open.js';
import { newDatabase } from '../world/databases.js';

it('FL9: SQL_ASCII compares texts without regard to case all the same', async () => {
  const database = await newDatabase('postgres');
  const url = new URL(database.env['DATABASE_URL']!);
  const name = `${url.pathname.slice(1)}_ascii`;
  const admin = new Client(url.href);
  await admin.connect();
  await admin.query(`create database ${name} template template0 locale 'C' encoding 'SQL_ASCII'`);
  url.pathname = `/${name}`;
  const db = await openPostgres(url.href);
  try {
    const isEqual = sql`select ${db.dialect.fold(sql`'OPEN'`)} = 'open'`;
    expect(await db.read(() => readRows(db.dialect.compile(isEqual)))).toEqual([[true]]);
  } finally {
    await db.close();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
    await database.drop();
  }
});
