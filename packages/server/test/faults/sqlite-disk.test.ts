/**
 * SQLite on a disk that is really full: requests are refused with the reason, nothing is lost, and no restart is
 * needed.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { readRows, type Sql, type Tx } from '../../src/sql/dialect.js';
import { openSqlite } from '../../src/sql/sqlite/open.js';
import { withSmallDisk } from '../world/disk.js';
import { secretsGiven, serveInProcess } from '../world/process.js';
import { useRelationsWorld } from '../world/relations/world.js';
import { newTestServer, type TestAnswer } from '../world/server.js';
import { projectDir, useWorld } from '../world/world.js';

const main = path.join(import.meta.dirname, '../../dist/cli/main.js');
const full = { data: null, error: { status: 503, details: { errors: [{ code: 'database.full' }] } } };

describe('a full disk for temporary files', () => {
  const world = useWorld('sqlite');

  it('sorts that need more space are 503 each time, other reads continue, and with free space they work', async () => {
    const [rows, start] = [4_000, 3_900];
    // more than a connection keeps in memory
    const remark = 'x'.repeat((2 * limits.sqliteCacheKibMax * 1024) / rows);
    await world.insert(
      'reels',
      Array.from({ length: rows }, (_none, i) => ({ id: 1000 + i, label: 'wide', remark: `${rows - i} ${remark}` })),
    );
    await withSmallDisk(64, async (disk) => {
      const { url, child, log } = await serveInProcess(projectDir, {
        ...world.env,
        SQLITE_TMPDIR: disk.dir,
        LOG_LEVEL: 'warn',
      });
      const health = url.replace(/api$/, '_health');
      const address = `${url}/reels?fields=id&filters[label]=wide&sort=remark&pagination[start]=${start}`;
      // on a busy machine a statement may reach its deadline before it fills the disk
      const sort = async (): Promise<Response> => {
        const answer = await fetch(address);
        return answer.status === 400 && (await answer.clone().text()).includes('read.too-slow') ? sort() : answer;
      };
      try {
        disk.fill();
        for (let i = 0; i < 3 * limits.sqliteReadersMax; i++) {
          const answer = await sort();
          expect(answer.headers.get('retry-after')).toBe(String(limits.retryAfterS));
          expect(await answer.json()).toMatchObject(full);
        }
        expect((await fetch(`${url}/reels?fields=id`)).status).toBe(200);
        expect((await fetch(health)).status).toBe(204);
        // once, not for each request
        expect(log().match(/database or disk is full/g)).toHaveLength(1);
        disk.makeRoom();
        const answer = await sort();
        expect(answer.status).toBe(200);
        expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(25);
      } finally {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    });
  });
});

describe('a full disk for the database', () => {
  const world = useRelationsWorld('sqlite');

  it('writes are 503 and leave nothing half done, reads and health go on, the log says so once, and with room the next write works', () =>
    withSmallDisk(16, async (disk) => {
      const file = path.join(disk.dir, 'data.db');
      const original = new Database(world.env['DATABASE_FILENAME']!);
      original.prepare('vacuum into ?').run(file);
      original.close();
      const said: string[] = [];
      const db = await openSqlite(file, { onUnavailable: ({ message }) => said.push(message) });
      const server = await newTestServer(db, world.model);
      const card = { label: 'card', note: 'x'.repeat(20_000), inner: { word: 'word' } };
      const body = { data: { name: 'holder', card, cards: [card, card], notes: [{ text: 'text' }] } };
      const idOf = (answer: TestAnswer): number => (answer.body as { data: { id: number } }).data.id;
      const stored: number[] = [];
      const create = async (): Promise<TestAnswer> => {
        const answer = await server.send('POST', '/api/holders?fields=name', { body });
        if (answer.status === 200) stored.push(idOf(answer));
        return answer;
      };
      const rowsOf = async (table: string): Promise<number> => {
        const [[count] = []] = await db.read(() =>
          readRows(db.dialect.compile(sql`select count(*) from ${sql.table(table)}`)),
        );
        return Number(count);
      };
      expect((await create()).status).toBe(200);
      const tables = [
        'holders',
        'holders_components',
        'components_parts_cards',
        'components_parts_cards_components',
        'components_parts_inners',
        'components_parts_notes',
      ];
      const rowsOfOne = await Promise.all(tables.map(rowsOf));
      disk.fill();
      const refused: unknown[] = [];
      // what fits into the journal's existing pages succeeds
      while (refused.length < 3 * limits.sqliteReadersMax) {
        const answer = await create();
        if (answer.status !== 200) refused.push(answer.body);
      }
      expect(refused).toMatchObject(refused.map(() => full));
      const url = `/api/holders/${stored[0]}`;
      expect(
        (await server.send('PUT', url, { body: { data: { name: 'changed', cards: [card] } } })).body,
      ).toMatchObject(full);
      expect((await server.get(url)).text).toContain('"name":"holder"');
      // it still serves reads: an orchestrator that stopped it would make things worse
      expect((await server.get('/_health')).status).toBe(204);
      expect(said).toEqual([expect.stringContaining(`No space is left for ${file}`)]);
      disk.makeRoom();
      expect((await create()).status).toBe(200);
      const list = (await server.get('/api/holders?fields=id&pagination[pageSize]=100')).body as {
        data: { id: number }[];
      };
      expect(list.data.map((it) => it.id)).toEqual(stored);
      expect(await Promise.all(tables.map(rowsOf))).toEqual(rowsOfOne.map((it) => it * stored.length));
      await server.close();
      await db.close();
    }));

  it('work that no request waits for is a warning: here the time when a token was last used', () =>
    withSmallDisk(16, async (disk) => {
      const env = { ...world.env, DATABASE_FILENAME: path.join(disk.dir, 'data.db') };
      const { url, child, log } = await serveInProcess(projectDir, { ...env, LOG_LEVEL: 'warn' });
      try {
        const { stdout } = spawnSync(
          process.execPath,
          [main, 'token', 'create', '--project', projectDir, '--type', 'full-access'],
          { env: { ...process.env, ...secretsGiven, ...env }, encoding: 'utf8' },
        );
        disk.fill();
        const headers = { authorization: `Bearer ${stdout.trim()}` };
        expect((await fetch(`${url}/reels?fields=id`, { headers })).status).toBe(200);
        while (!log().includes('background work failed: database or disk is full')) await once(child.stdout!, 'data');
        expect(log()).not.toContain('"level":50');
      } finally {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    }));

  it('work that continues after SQLite has rolled back by itself stores nothing', () =>
    withSmallDisk(16, async (disk) => {
      const faults: unknown[] = [];
      const db = await openSqlite(path.join(disk.dir, 'data.db'), { onUnavailable: (fault) => faults.push(fault) });
      const run = (tx: Tx, query: Sql) => tx.run(db.dialect.compile(query));
      await db.write((tx) => run(tx, sql`create table things (id integer primary key, text text)`));
      const ids = () => db.read(() => readRows(db.dialect.compile(sql`select id from things`)));
      // another connection, as every server has one: with the last one, SQLite removes the journal
      expect(await ids()).toEqual([]);
      disk.fill();
      const write = db.write(async (tx) => {
        await run(tx, sql`insert into things values (1, 'before')`);
        // more than a connection keeps in memory
        await run(
          tx,
          sql`insert into things values (2, printf('%.*c', ${2 * limits.sqliteCacheKibMax * 1024}, 'x'))`,
        ).catch(() => undefined);
        await run(tx, sql`insert into things values (3, 'after')`).catch(() => undefined);
      });
      await expect(write).rejects.toThrow('The disk that holds the database is full');
      expect(faults).toEqual([expect.objectContaining({ name: 'FullDisk' })]);
      disk.makeRoom();
      expect(await ids()).toEqual([]);
      await db.write((tx) => run(tx, sql`insert into things values (4, 'later')`));
      expect(await ids()).toEqual([[4]]);
      await db.close();
    }));
});

describe('a full disk for what a command writes', () => {
  const world = useWorld('sqlite');

  it('backup and export say so in a line, and leave nothing behind', async () => {
    await withSmallDisk(1, async (disk) => {
      disk.fill();
      for (const args of [
        ['backup', '--out', path.join(disk.dir, 'copy.db')],
        ['export', path.join(disk.dir, 'content.jsonl')],
      ]) {
        const { status, stderr } = spawnSync(process.execPath, [main, ...args, '--project', projectDir], {
          env: { ...process.env, ...world.env },
          encoding: 'utf8',
        });
        expect(status).toBe(1);
        expect(stderr).toContain('The disk is full: ');
        expect(stderr).not.toMatch(/\n\s+at /);
      }
      expect(fs.readdirSync(disk.dir)).toEqual(['ballast']);
    });
  });
});
