/**
 * A v4 project with code of its own: its recorded cases, played against servers in this process that run the code. On PostgreSQL
 * the same data, copied from the SQLite file.
 */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { bringUp } from '../../src/cli/layout.js';
import { openDatabase, openProject } from '../../src/cli/project.js';
import { exportContent } from '../../src/cli/transfer/export.js';
import { importContent } from '../../src/cli/transfer/import.js';
import { serveProject } from '../world/code-server.js';
import { copiedDatabase, dialects, type TestDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { type Case, isRead, play, readCases, secrets, type Target } from './cases.js';
import { send } from './send.js';

const kit = path.join(import.meta.dirname, 'toolshed');
const variables = ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL'] as const;

const using = (env: Readonly<Record<string, string>>): void => {
  // the configuration was recorded there
  vi.stubEnv('NODE_ENV', 'production');
  for (const name of variables) vi.stubEnv(name, env[name]);
};

/** A copy of the project, with the secrets of the recorded data. @param overlay files laid over it. */
const newProject = (overlay: string | null): string => {
  const dir = newFolder();
  fs.cpSync(path.join(kit, 'project'), dir, { recursive: true });
  if (overlay !== null) fs.cpSync(path.join(kit, overlay), dir, { recursive: true });
  const config = { users: { attemptsMax: 0 } };
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify(config));
  const { jwtSecret, apiTokenSalt } = secrets;
  fs.writeFileSync(path.join(dir, '.env'), `JWT_SECRET=${jwtSecret}\nAPI_TOKEN_SALT=${apiTokenSalt}\n`);
  return dir;
};

const silent = pino({ level: 'silent' });

interface Served extends Target {
  close(): Promise<void>;
}

const serve = async (dir: string, database: TestDatabase, logins: Map<string, string>): Promise<Served> => {
  using(database.env);
  const { base, close } = await serveProject(dir);
  const agent = new http.Agent({ keepAlive: true });
  return {
    logins,
    send: (request) => send({ base, files: kit, agent }, request),
    close: async () => {
      agent.destroy();
      await close();
      await database.drop();
    },
  };
};

/** What v4 itself answers otherwise on PostgreSQL, or what depends on the order of an unsorted list. */
const onSqliteOnly: ReadonlySet<string> = new Set([]);

const suites = [
  { name: 'JavaScript', file: 'cases.jsonl', overlay: null },
  { name: 'TypeScript', file: 'cases-ts.jsonl', overlay: 'project-ts' },
] as const;

afterEach(() => vi.unstubAllEnvs());

describe.each(dialects)('the code of a v4 project on %s', (dialect) => {
  describe.each(suites)('$name', ({ file, overlay }) => {
    const cases = readCases(path.join(kit, file)).filter((it) => dialect === 'sqlite' || !onSqliteOnly.has(it.id));
    const logins = new Map<string, string>();
    let dir: string;
    let server: Served | null = null;
    /** The recorded rows, as an export that either database reads. */
    let rows: string | null = null;
    beforeAll(async () => {
      dir = newProject(overlay);
      if (dialect === 'sqlite') return;
      const sqlite = path.join(newFolder(), 'data.sqlite');
      fs.copyFileSync(path.join(kit, 'data.sqlite'), sqlite);
      using({ DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: sqlite });
      // tables of types that only the overlay has
      const opened = await openProject(dir);
      const db = await openDatabase(opened);
      await bringUp(opened, db, silent);
      await db.close();
      rows = path.join(newFolder(), 'rows.ndjson');
      await printed(() => exportContent(dir, rows!, { scope: 'all' }));
    }, 60_000);
    afterAll(async () => {
      await server?.close();
      fs.rmSync(dir, { recursive: true, force: true });
    });

    const copied = (): Promise<TestDatabase> =>
      dialect === 'sqlite'
        ? copiedDatabase(dialect, `toolshed_${overlay ?? 'js'}`, async () => undefined, {
            given: { sqlite: path.join(kit, 'data.sqlite'), postgres: '' },
          })
        : copiedDatabase(dialect, `toolshed_${overlay === null ? 'js' : 'ts'}`, async (_db, env) => {
            using(env);
            await printed(() => importContent(dir, rows!, { replace: true }));
          });

    // reads first: their results must not depend on the writes before them
    for (const it of [...cases.filter(isRead), ...cases.filter((one) => !isRead(one))])
      test(titleOf(it), async () => {
        server ??= await serve(dir, await copied(), logins);
        const { fault, changed } = await play(it, server);
        if (changed) {
          await server.close();
          server = null;
        }
        if (fault) expect.fail(`${it.id}: ${fault.where}: ${fault.text}`);
      });
  });
});

const titleOf = (it: Case): string => `${it.rule} ${it.id}: ${it.note ?? it.request?.path ?? ''}`.slice(0, 160);
