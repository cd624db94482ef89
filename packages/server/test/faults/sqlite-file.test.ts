/**
 * The SQLite file is replaced or removed under a running server: this is noticed and logged, and no write is lost in
 * it.
 */
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { catchRefusal, ok } from '../../src/errors.js';
import { limits } from '../../src/limits.js';
import { type ReadProgram, readRows } from '../../src/sql/dialect.js';
import { rememberFile } from '../../src/sql/sqlite/file.js';
import { openFrozenSqlite } from '../../src/sql/sqlite/frozen.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { newFolder } from '../world/folders.js';
import { serveInProcess } from '../world/process.js';
import { newRelationsWorld, type RelationsWorld, relationsProjectDir } from '../world/relations/world.js';

const withWorld = async (work: (world: RelationsWorld, file: string) => Promise<void>): Promise<void> => {
  const world = await newRelationsWorld('sqlite');
  try {
    await work(world, world.env['DATABASE_FILENAME']!);
  } finally {
    await world.close();
  }
};

const ways: readonly (readonly [string, (file: string) => void])[] = [
  ['moved away', () => undefined],
  ['replaced by a copy', (file) => fs.copyFileSync(`${file}.old`, file)],
];

describe('the database file under a running server', () => {
  it('its journal removed: writes and health are 503', () =>
    withWorld(async (world, file) => {
      const shelf = await world.create('shelves', { name: 'before' });
      const { url, child } = await serveInProcess(relationsProjectDir, world.env);
      const put = (name: string): Promise<Response> =>
        fetch(`${url}/shelves/${shelf}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ data: { name } }),
        });
      expect((await put('first')).status).toBe(200);
      fs.rmSync(`${file}-wal`);
      expect((await put('lost')).status).toBe(503);
      expect((await fetch(url.replace(/api$/, '_health'))).status).toBe(503);
      child.kill('SIGKILL');
      await once(child, 'exit');
    }));

  it('its journal is beside what a link leads to', async () => {
    const dir = newFolder();
    const [file, link] = [path.join(dir, 'own.db'), path.join(dir, 'link.db')];
    fs.symlinkSync(file, link);
    const db = new Database(link);
    db.pragma('journal_mode = wal');
    db.exec('create table notes (text text)');
    db.exec("insert into notes values ('only in the journal')");
    const frozen = await openFrozenSqlite(link);
    const statement = frozen.dialect.compile(sql`select text from notes`);
    expect(await frozen.read(() => readRows(statement))).toEqual([['only in the journal']]);
    await frozen.close();
    const opened = rememberFile(link, () => undefined);
    expect(opened.isIntact()).toBe(true);
    fs.rmSync(`${file}-wal`);
    expect(opened.isIntact()).toBe(false);
    db.close();
  });

  it.each(ways)(
    '%s: writes and health are 503, the log says so once, and everything works once it is back',
    (_way, replace) =>
      withWorld(async (world, file) => {
        const shelf = await world.create('shelves', { name: 'before' });
        const { url, child, log } = await serveInProcess(relationsProjectDir, { ...world.env, LOG_LEVEL: 'warn' });
        const put = (name: string): Promise<Response> =>
          fetch(`${url}/shelves/${shelf}`, {
            method: 'PUT',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ data: { name } }),
          });
        const health = async (): Promise<number> => (await fetch(url.replace(/api$/, '_health'))).status;
        try {
          expect((await put('first')).status).toBe(200);
          expect(await health()).toBe(204);
          fs.renameSync(file, `${file}.old`);
          replace(file);
          for (let i = 0; i < 3; i++) expect((await put('lost')).status).toBe(503);
          expect(await health()).toBe(503);
          fs.renameSync(`${file}.old`, file);
          expect(await health()).toBe(204);
          expect(await (await fetch(`${url}/shelves/${shelf}`)).json()).toMatchObject({
            data: { attributes: { name: 'first' } },
          });
          expect((await put('after')).status).toBe(200);
          const lines = log().split('\n');
          expect(lines.filter((it) => it.includes('was replaced or removed while it was open'))).toHaveLength(1);
        } finally {
          child.kill('SIGKILL');
          await once(child, 'exit');
        }
        expect((await world.read(`/api/shelves/${shelf}`)).attributes['name']).toBe('after');
      }),
  );

  it('made smaller by VACUUM of another program, with entries where it ended: they are read from their new places', () =>
    withWorld(async (world, file) => {
      const other = new Database(file);
      other.exec('create table padding (bytes blob); insert into padding values (zeroblob(4000000))');
      const shelves: number[] = [];
      for (let i = 0; i < 200; i++)
        shelves.push(await world.create('shelves', { name: `shelf ${i} ${'x'.repeat(200)}` }));
      const { url, child } = await serveInProcess(relationsProjectDir, world.env);
      const readNames = async (): Promise<string[]> => {
        const names: string[] = [];
        for (const id of shelves) {
          const { data } = (await (await fetch(`${url}/shelves/${id}`)).json()) as {
            data: { attributes: { name: string } };
          };
          names.push(data.attributes.name);
        }
        return names;
      };
      other.pragma('wal_checkpoint(truncate)');
      const before = await readNames();
      const size = fs.statSync(file).size;
      other.exec('drop table padding; vacuum');
      other.pragma('wal_checkpoint(truncate)');
      expect(fs.statSync(file).size).toBeLessThan(size / 2);
      expect(await readNames()).toEqual(before);
      expect(child.exitCode).toBeNull();
      other.close();
      child.kill('SIGKILL');
      await once(child, 'exit');
    }));

  it('connections that fail to open do not use up the pool', () =>
    withWorld(async ({ db }, file) => {
      const statement = db.dialect.compile(sql`select 1`);
      // each step lets others run, so that more read at a time than there are connections
      function* program(): ReadProgram<number> {
        for (let i = 0; i < 5; i++) yield [statement];
        return 1;
      }
      const readAtOnce = () =>
        Promise.allSettled(Array.from({ length: 4 * limits.sqliteReadersMax }, () => db.read(program)));
      fs.renameSync(file, `${file}.old`);
      expect(new Set((await readAtOnce()).map((it) => it.status))).toContain('rejected');
      fs.renameSync(`${file}.old`, file);
      expect(new Set((await readAtOnce()).map((it) => it.status))).toEqual(new Set(['fulfilled']));
    }));

  it('its journal stays bounded while reads overlap without end', () =>
    withWorld(async ({ db }, file) => {
      const slow = db.dialect.compile(
        sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000) select count(*), (select count(*) from sheets) from n`,
      );
      function* program(): ReadProgram<null> {
        for (let i = 0; i < 10; i++) yield [slow];
        return null;
      }
      let isOver = false;
      // on a busy machine some take too long
      const readers = Array.from({ length: limits.sqliteReadersMax }, async () => {
        while (!isOver) await catchRefusal(() => db.read(program).then(ok));
      });
      const report = 'x'.repeat(8 * 1024 * 1024);
      const write = db.dialect.compile(sql`insert or replace into sheets (id, report) values (1, ${report})`);
      for (let written = 0; written < 3 * limits.sqliteJournalBytesMax; written += report.length)
        await db.write((tx) => tx.run(write));
      isOver = true;
      await Promise.all(readers);
      expect(fs.statSync(`${file}-wal`).size).toBeLessThan(2 * limits.sqliteJournalBytesMax);
    }));

  it('close waits for running reads', () =>
    withWorld(async (_world, file) => {
      const db = await openSqlite(file);
      const statement = db.dialect.compile(
        sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000) select count(*) from n`,
      );
      function* program(): ReadProgram<string> {
        for (let i = 0; i < 3; i++) yield [statement];
        return 'read';
      }
      const reads = Array.from({ length: 2 * limits.sqliteReadersMax }, () => db.read(program));
      await db.close();
      expect(new Set(await Promise.all(reads))).toEqual(new Set(['read']));
      await expect(db.read(program)).rejects.toThrow('the database is closed');
    }));
});
