/** A project whose schema files change after its tables were created. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { vi } from 'vitest';
import { bringUp } from '../../src/cli/layout.js';
import { openProject } from '../../src/cli/project.js';
import { type DialectName, type Rows, readRows } from '../../src/sql/dialect.js';
import { newDatabase, type TestDatabase } from './databases.js';
import { type Files, writeFiles } from './schemas.js';
import { newTestServer, type TestServer } from './server.js';

export interface Changing {
  readonly dir: string;
  readonly database: TestDatabase;
  /** The warnings of the last start. */
  readonly warnings: readonly string[];
  readonly server: TestServer;
  /** Writes files over the existing ones. */
  write(files: Files): void;
  /** Writes the files and restarts. */
  start(files: Files): Promise<void>;
  /** Rows of a statement, read directly from the database. */
  rows(text: string): Promise<Rows>;
  run(...texts: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Environment variables that lead commands to the database must be stubbed by the test that runs them. */
export const newChanging = async (dialect: DialectName, files: Files): Promise<Changing> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-changing-'));
  const database = await newDatabase(dialect);
  const { db } = database;
  let server: TestServer | null = null;
  let warnings: string[] = [];
  const text = (it: string) => db.dialect.compile(sql`${sql.raw(it)}`);
  const start: Changing['start'] = async (changed) => {
    writeFiles(dir, changed);
    warnings = [];
    const logger = pino({ level: 'silent' });
    vi.spyOn(logger, 'warn').mockImplementation((it: unknown) => {
      warnings.push(String(it));
    });
    const { model } = await bringUp(await openProject(dir), db, logger);
    await server?.close();
    server = await newTestServer(db, model, {}, undefined, { mode: 'open' });
  };
  await start(files);
  return {
    dir,
    database,
    start,
    write: (changed) => writeFiles(dir, changed),
    rows: (it) => db.read(() => readRows(text(it))),
    run: (...texts) =>
      db.write(async (tx) => {
        for (const it of texts) await tx.run(text(it));
      }),
    close: async () => {
      await server?.close();
      await database.drop();
      fs.rmSync(dir, { recursive: true });
    },
    get warnings() {
      return warnings;
    },
    get server() {
      return server!;
    },
  };
};
