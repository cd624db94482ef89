/** Fresh databases for tests, real ones, on both engines. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import postgres from 'postgres';
import { inject } from 'vitest';
import type { Model } from '../../src/model/model.js';
import { tablesOf } from '../../src/model/storage.js';
import type { Db, DialectName } from '../../src/sql/dialect.js';
import { openPostgres } from '../../src/sql/postgres.js';
import { applyAdditions, diffTables, planAdditions, readCatalog, type Table } from '../../src/sql/schema.js';
import { openSqlite } from '../../src/sql/sqlite.js';

export const dialects: readonly DialectName[] = ['sqlite', 'postgres'];

export interface TestDatabase {
  readonly db: Db;
  /** Environment variables under which a server opens the same database. */
  readonly env: Readonly<Record<string, string>>;
  /** Closes and removes it. */
  drop(): Promise<void>;
}

let serial = 0;

/** An empty database. */
export const newDatabase = async (dialect: DialectName): Promise<TestDatabase> => {
  serial += 1;
  const name = `test_${process.pid}_${serial}_${Math.random().toString(36).slice(2, 8)}`;
  if (dialect === 'sqlite') {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-'));
    const file = path.join(dir, `${name}.db`);
    const db = openSqlite(file);
    return {
      db,
      env: { DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file },
      drop: async () => {
        await db.close();
        fs.rmSync(dir, { recursive: true, force: true });
      },
    };
  }
  const adminUrl = inject('postgresUrl');
  const asAdmin = async (text: string): Promise<void> => {
    const admin = postgres(adminUrl, { max: 1 });
    await admin.unsafe(text);
    await admin.end();
  };
  await asAdmin(`create database ${name} template template0 locale 'C' encoding 'UTF8'`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  const db = await openPostgres(url.href);
  return {
    db,
    env: { DATABASE_CLIENT: 'postgres', DATABASE_URL: url.href },
    drop: async () => {
      await db.close();
      await asAdmin(`drop database ${name} with (force)`);
    },
  };
};

/** Creates every table of a model. */
export const createTables = async (db: Db, model: Model): Promise<readonly Table[]> => {
  const tables = tablesOf(model);
  await applyAdditions(planAdditions(diffTables(tables, await readCatalog(db), db), db), db);
  return tables;
};

/**
 * Inserts rows; values in the neutral form of `DbValue` (instants as milliseconds, JSON as text, bigints as digits).
 * Explicit ids are welcome; afterwards the sequence goes on behind the greatest.
 */
export const insertRows = async (
  db: Db,
  table: Table,
  rows: readonly Readonly<Record<string, string | number | boolean | null>>[],
): Promise<void> => {
  if (rows.length === 0) return;
  const kinds = new Map(table.columns.map((it) => [it.name, it.kind]));
  await db.write(async (tx) => {
    for (const row of rows) {
      const names = Object.keys(row);
      const values = names.map((name) => db.dialect.bind(kinds.get(name)!, row[name]!));
      const columns = sql.join(names.map((name) => sql.id(name)));
      await tx.run(
        db.dialect.compile(sql`insert into ${sql.table(table.name)} (${columns}) values (${sql.join(values)})`),
      );
    }
    if (db.dialect.name === 'postgres') {
      await tx.run(
        db.dialect.compile(
          sql`select setval(pg_get_serial_sequence(${`"${table.name}"`}, 'id'), (select max(id) from ${sql.table(table.name)}))`,
        ),
      );
    }
  });
};
