/**
 * A SQLite file locked by another program: other requests are served meanwhile, and those that need the lock wait for a
 * limited time.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { fixedStatement } from '../../src/sql/compile.js';
import { readRows } from '../../src/sql/dialect.js';
import { newCommits } from '../../src/sql/sqlite/commits.js';
import { type Connection, connect } from '../../src/sql/sqlite/connection.js';
import { newInlineEngine } from '../../src/sql/sqlite/inline.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { secretsGiven } from '../world/process.js';
import { relationsProjectDir, useRelationsWorld } from '../world/relations/world.js';

const busy = { data: null, error: { status: 503, details: { errors: [{ code: 'http.busy' }] } } };

describe('a write lock of another program', () => {
  const world = useRelationsWorld('sqlite');
  const lock = () => {
    const other = new Database(world.env['DATABASE_FILENAME']!);
    other.exec('begin immediate');
    return other;
  };

  it('a write waits for it, and reads go on meanwhile', async () => {
    const shelf = await world.create('shelves', { name: 'shelf' });
    const other = lock();
    let isAnswered = false;
    const write = world.send('PUT', `/api/shelves/${shelf}`, { data: { name: 'changed' } }).finally(() => {
      isAnswered = true;
    });
    for (let i = 0; i < 20; i++)
      expect((await world.read(`/api/shelves/${shelf}?i=${i}`)).attributes['name']).toBe('shelf');
    expect((await world.send('GET', '/_health')).status).toBe(204);
    expect(isAnswered).toBe(false);
    other.close();
    expect((await write).status).toBe(200);
  });

  it('a write that waits too long is 503 with Retry-After, and so are those queued behind it; the next one works', async () => {
    const shelf = await world.create('shelves', { name: 'shelf' });
    const other = lock();
    const writes = ['one', 'two', 'three'].map((name) =>
      world.send('PUT', `/api/shelves/${shelf}`, { data: { name } }),
    );
    for (const { status, headers, body } of await Promise.all(writes)) {
      expect(status).toBe(503);
      expect(headers['retry-after']).toBe(String(limits.retryAfterS));
      expect(body).toMatchObject(busy);
    }
    other.close();
    expect((await world.update('shelves', shelf, { name: 'four' })).attributes['name']).toBe('four');
  });
});

describe('another program that writes continuously', () => {
  const world = useRelationsWorld('sqlite');
  /** A process that holds the write lock for 40 ms of each 45 ms and takes it back at once when it has lost it. */
  const holdAgainAndAgain = async (file: string): Promise<() => Promise<void>> => {
    const holder = `
      import Database from 'better-sqlite3';
      const db = new Database(process.argv[1], { timeout: 0 });
      const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
      for (;;) {
        try {
          db.exec('begin immediate');
        } catch {
          continue;
        }
        process.stdout.write('.');
        sleep(40);
        db.exec('rollback');
        sleep(5);
      }`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', holder, file], {
      cwd: path.dirname(fileURLToPath(import.meta.url)),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.stdout.resume();
    return async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
  };

  it('does not starve writes: each gets its turn between two of the other program', async () => {
    const shelf = await world.create('shelves', { name: 'shelf' });
    const release = await holdAgainAndAgain(world.env['DATABASE_FILENAME']!);
    try {
      // the other program lets go of the lock about 110 times before a write is given up
      const writes = Array.from({ length: 90 }, (_none, i) =>
        world.send('PUT', `/api/shelves/${shelf}`, { data: { name: `name ${i}` } }),
      );
      const statuses = (await Promise.all(writes)).map((it) => it.status);
      expect(statuses).toEqual(statuses.map(() => 200));
    } finally {
      await release();
    }
    expect((await world.read(`/api/shelves/${shelf}`)).attributes['name']).toBe('name 89');
  });
});

describe('an exclusive lock of another program', () => {
  /** A file that is not in WAL mode: a writer blocks its readers. */
  const lockedFile = () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-locks-'));
    const file = path.join(dir, 'data.db');
    const other = new Database(file);
    other.exec('create table things (id integer primary key); insert into things values (1)');
    return { dir, file, other };
  };

  it('reads wait until it is released', async () => {
    const { dir, file, other } = lockedFile();
    const db = await openSqlite(file, { readOnly: true });
    other.exec('begin exclusive');
    let isAnswered = false;
    const statement = db.dialect.compile(sql`select id from things`);
    const reads = [db.read(() => readRows(statement)), Promise.resolve(db.changes.catchUp())].map((it) =>
      it.finally(() => {
        isAnswered = true;
      }),
    );
    // lets others run
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    expect(isAnswered).toBe(false);
    other.close();
    expect(await reads[0]).toEqual([[1]]);
    await reads[1];
    await db.close();
    fs.rmSync(dir, { recursive: true });
  });

  it('commands wait for a limited time and report it in one line', async () => {
    const { dir, file, other } = lockedFile();
    other.exec('begin exclusive');
    const main = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../dist/cli/main.js');
    const run = async (...args: readonly string[]) => {
      const child = spawn(process.execPath, [main, ...args, '--project', relationsProjectDir], {
        env: { ...process.env, ...secretsGiven, DATABASE_CLIENT: 'sqlite', DATABASE_FILENAME: file },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      child.stderr.on('data', (chunk) => {
        said += String(chunk);
      });
      const [code] = (await once(child, 'close')) as [number];
      return { code, said };
    };
    const results = await Promise.all([run('start'), run('check'), run('sync'), run('role', 'list')]);
    const locked = {
      code: 1,
      said: 'The database is unavailable: database is locked. Nothing was changed; try again later.\n',
    };
    expect(results).toEqual([locked, locked, locked, locked]);
    other.close();
    fs.rmSync(dir, { recursive: true });
  });
});

describe('a file that cannot be in WAL mode, as on some network file systems', () => {
  /** An engine whose connections never change the mode, and what its commits have touched. */
  const withoutWal = (onConnect: (connection: Connection) => Connection = (it) => it) => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-locks-')), 'data.db');
    const other = new Database(file);
    other.exec('create table things (id integer primary key); insert into things values (1)');
    const open = (setup: readonly string[] = []) =>
      connect(file, { mustExist: true, setup: setup.filter((it) => !it.includes('journal_mode')) });
    const engine = newInlineEngine({
      connect: (setup) => onConnect(open(setup)),
      readOnly: false,
      checkpointsApart: true,
    });
    const reading = open();
    const commits = newCommits({
      read: () => String(reading.dataVersion()),
      readOfWriter: () => engine.dataVersion(),
    });
    const options = {
      isBounded: true,
      retry: <T>(attempt: () => Promise<T>) => attempt(),
      requireIntact: () => undefined,
    };
    const begin = () => commits.recorded((onBegun) => engine.begin({ ...options, onBegun }));
    return { file, other, engine, commits, begin };
  };
  const insert = fixedStatement('insert into things values (2)');

  it('a commit that a reader of another program holds up is repeated, and drops what was read before it', async () => {
    const { other, commits, begin } = withoutWal();
    const { tx, commit } = begin();
    await tx.run(insert);
    other.exec('begin; select * from things');
    await expect(commit()).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
    const before = commits.moment();
    other.exec('commit');
    await commit();
    await commits.catchUp();
    expect(commits.isUnchanged(['things'], before)).toBe(false);
    expect(other.prepare('select count(*) from things').pluck().get()).toBe(2);
  });

  it('a commit counts as done even if the file is locked right after it', async () => {
    let isLocked = false;
    const { other, commits, begin } = withoutWal((connection) => ({
      ...connection,
      exec: (text) => {
        connection.exec(text);
        if (text === 'commit') isLocked = true;
      },
      dataVersion: () => {
        if (!isLocked) return connection.dataVersion();
        isLocked = false;
        throw new Database.SqliteError('database is locked', 'SQLITE_BUSY');
      },
    }));
    const { tx, commit } = begin();
    await tx.run(insert);
    const before = commits.moment();
    await commit();
    await commits.catchUp();
    expect(commits.isUnchanged(['things'], before)).toBe(false);
    expect(other.prepare('select count(*) from things').pluck().get()).toBe(2);
  });
});
