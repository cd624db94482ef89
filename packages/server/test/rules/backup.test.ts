/** The commands `backup` and `restore`. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backup } from '../../src/cli/backup/backup.js';
import { restore } from '../../src/cli/backup/restore.js';
import { replaceDatabase } from '../../src/sql/sqlite/backup.js';
import { withSmallDisk } from '../world/disk.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { type Served, serveInProcess } from '../world/process.js';
import { writeSmall } from '../world/small.js';

const main = path.join(import.meta.dirname, '../../dist/cli/main.js');

let dir: string;
let served: Served | null;
const file = (name: string): string => path.join(dir, name);

beforeEach(() => {
  dir = newFolder();
  served = null;
  writeSmall(dir, { types: { note: { attributes: { text: { type: 'text' }, picture: { type: 'media' } } } } });
  fs.writeFileSync(file('dovetail.config.json'), JSON.stringify({ permissions: { enabled: false } }));
  fs.mkdirSync(file('public/uploads'), { recursive: true });
  for (const name of ['DATABASE_URL', 'DATABASE_CLIENT', 'DATABASE_FILENAME']) vi.stubEnv(name, undefined);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await stop();
});

const start = async (): Promise<void> => {
  served = await serveInProcess(dir, { DATABASE_CLIENT: 'sqlite' });
};
const stop = async (): Promise<void> => {
  const { child } = served ?? {};
  served = null;
  if (!child) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
};
const post = async (text: string): Promise<void> => {
  const answer = await fetch(`${served!.url}/notes`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ data: { text } }),
  });
  expect(answer.status, await answer.text()).toBe(200);
};
/** Leaves a database with one entry that nobody serves. */
const makeNote = async (): Promise<void> => {
  await start();
  await post('one');
  await stop();
};
const total = async (): Promise<number> => {
  const answer = await fetch(`${served!.url}/notes`);
  return ((await answer.json()) as { meta: { pagination: { total: number } } }).meta.pagination.total;
};
const countIn = (name: string): number => {
  const db = new Sqlite(file(name), { readonly: true });
  try {
    return db.prepare('select count(*) from notes').pluck().get() as number;
  } finally {
    db.close();
  }
};
const modeOf = (name: string): number => fs.statSync(file(name)).mode & 0o777;
const listed = (): readonly string[] => fs.readdirSync(dir).sort();

describe('backup and restore', () => {
  it('a backup is one state of the database, while a server writes on', { timeout: 60_000 }, async () => {
    await start();
    for (let i = 0; i < 20; i++) await post('x'.repeat(200_000));
    const before = await total();
    expect(before).toBe(20);
    let isWriting = true;
    const writing = (async () => {
      for (let i = 0; isWriting; i++) await post(`while ${i}`);
    })();
    const { said } = await printed(() => backup(dir, { out: file('a.db'), uploads: false }));
    isWriting = false;
    await writing;
    expect(said).toMatch(/a\.db: \d+\.\d MB, checked\n$/);
    expect(countIn('a.db')).toBeGreaterThanOrEqual(before);
    expect(countIn('a.db')).toBeLessThanOrEqual(await total());
    expect(listed().filter((it) => it.startsWith('a.db'))).toEqual(['a.db']);
    expect(modeOf('a.db'), 'it holds password hashes').toBe(0o600);
    await expect(backup(dir, { out: file('a.db'), uploads: false })).rejects.toThrow(/a\.db exists already/);
  });

  it('restore refuses while a server runs, and without --force; it keeps what was there', {
    timeout: 60_000,
  }, async () => {
    await start();
    await post('in the backup');
    fs.writeFileSync(file('public/uploads/one.txt'), 'one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    await post('later');
    fs.writeFileSync(file('public/uploads/two.txt'), 'two');
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow(/data\.db is being served/);
    expect(await total()).toBe(2);
    await stop();
    // as a server that runs as another user of the group needs it
    fs.chmodSync(file('.tmp/data.db'), 0o660);
    await expect(restore(dir, file('a.db'), { force: false })).rejects.toThrow(
      /data\.db and .*uploads would be replaced/,
    );
    const { said } = await printed(() => restore(dir, file('a.db'), { force: true }));
    expect(said.split('\n').filter((it) => /before-restore/.test(it))).toHaveLength(2);
    // without --out it has a name of its own
    await printed(() => backup(dir, { out: null, uploads: true }));
    fs.copyFileSync(path.join(import.meta.dirname, '../../templates/base/gitignore'), file('.gitignore'));
    spawnSync('git', ['init', '-q'], { cwd: dir });
    const { stdout } = spawnSync('git', ['status', '--porcelain', '-uall'], { cwd: dir, encoding: 'utf8' });
    expect(stdout).toContain('?? dovetail.config.json');
    expect(stdout).not.toMatch(/backup-|before-restore/);
    expect(modeOf('.tmp/data.db')).toBe(0o660);
    await start();
    expect(await total()).toBe(1);
    expect(fs.readdirSync(file('public/uploads')).sort()).toEqual(['one.txt']);
    const kept = fs.readdirSync(file('.tmp')).find((it) => it.includes('before-restore'))!;
    expect(countIn(`.tmp/${kept}`)).toBe(2);
  });

  it('folders that are links are copied from and put back where they lead', { timeout: 60_000 }, async () => {
    fs.rmdirSync(file('public/uploads'));
    for (const [link, name] of [
      ['.tmp', 'shared/tmp'],
      ['public/uploads', 'shared/uploads'],
    ] as const) {
      fs.mkdirSync(file(name), { recursive: true });
      fs.symlinkSync(file(name), file(link));
    }
    await start();
    await post('in the backup');
    await stop();
    fs.writeFileSync(file('shared/uploads/one.txt'), 'one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    expect(fs.lstatSync(file('a.db.uploads')).isDirectory()).toBe(true);
    fs.writeFileSync(file('shared/uploads/two.txt'), 'two');
    await printed(() => restore(dir, file('a.db'), { force: true }));
    for (const it of ['.tmp', 'public/uploads']) expect(fs.lstatSync(file(it)).isSymbolicLink(), it).toBe(true);
    expect(fs.readdirSync(file('shared/uploads'))).toEqual(['one.txt']);
    const [kept] = fs.readdirSync(file('shared')).filter((it) => it.startsWith('uploads.before-restore'));
    expect(fs.readdirSync(file(`shared/${kept}`)).sort()).toEqual(['one.txt', 'two.txt']);
    await start();
    expect(await total()).toBe(1);
  });

  it('a database that is a link is put back where it leads', { timeout: 60_000 }, async () => {
    fs.mkdirSync(file('shared'));
    fs.mkdirSync(file('.tmp'));
    fs.symlinkSync('../shared/own.db', file('.tmp/data.db'));
    await start();
    await post('in the backup');
    await printed(() => backup(dir, { out: file('a.db'), uploads: false }));
    await post('later');
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow('is being served');
    await stop();
    await expect(restore(dir, file('shared/own.db'), { force: true })).rejects.toThrow(
      'is the database of the project',
    );
    const { said } = await printed(() => restore(dir, file('a.db'), { force: true }));
    expect(said).toContain(`${file('shared/own.db')}: restored`);
    expect(fs.readlinkSync(file('.tmp/data.db'))).toBe('../shared/own.db');
    expect(countIn('shared/own.db')).toBe(1);
    const [kept] = fs.readdirSync(file('shared')).filter((it) => it.startsWith('own.db.before-restore'));
    expect(countIn(`shared/${kept}`)).toBe(2);
    // as on a new machine
    fs.rmSync(file('shared'), { recursive: true });
    await printed(() => restore(dir, file('a.db'), { force: false }));
    expect(countIn('shared/own.db')).toBe(1);
    expect(fs.lstatSync(file('.tmp/data.db')).isSymbolicLink()).toBe(true);
  });

  it('a backup that is a link to a file with a journal is refused', { timeout: 60_000 }, async () => {
    await start();
    await post('one');
    fs.symlinkSync(file('.tmp/data.db'), file('latest.db'));
    vi.stubEnv('DATABASE_FILENAME', 'second.db');
    await expect(restore(dir, file('latest.db'), { force: true })).rejects.toThrow(/data\.db-wal/);
  });

  it('a backup that was killed is not in the way of the next', { timeout: 60_000 }, async () => {
    await makeNote();
    fs.writeFileSync(file('public/uploads/large'), '');
    fs.truncateSync(file('public/uploads/large'), 2 ** 28);
    const killed = spawn(process.execPath, [main, 'backup', '--uploads', '--out', file('a.db'), '--project', dir]);
    const ended = once(killed, 'exit');
    while (killed.exitCode === null && !listed().some((it) => it.startsWith('a.db.uploads'))) await setTimeout(1);
    killed.kill('SIGKILL');
    await ended;
    expect(killed.signalCode).toBe('SIGKILL');
    fs.truncateSync(file('public/uploads/large'), 1);
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    expect(listed().filter((it) => it.startsWith('a.db'))).toEqual(['a.db', 'a.db.uploads']);
    expect(fs.statSync(file('a.db.uploads/large')).size).toBe(1);
    await expect(backup(dir, { out: file('a.db'), uploads: false })).rejects.toThrow('Give another name');
  });

  it('links among the uploads stay as they are, wherever they lead', { timeout: 60_000 }, async () => {
    await makeNote();
    const uploads = file('public/uploads');
    for (const it of ['elsewhere', 'public/uploads/own', 'public/uploads/other']) fs.mkdirSync(file(it));
    for (const it of ['elsewhere/secret.txt', 'public/uploads/own/one.txt']) fs.writeFileSync(file(it), 'text');
    const links = {
      'one.txt': 'own/one.txt',
      'secret.txt': file('elsewhere/secret.txt'),
      elsewhere: '../../elsewhere',
      'nothing.txt': 'absent.txt',
      itself: 'itself',
      around: '.',
      root: '/',
      'own/nothing.txt': 'absent.txt',
      // each leads to the other, without end
      'own/other': '../other',
      'other/own': '../own',
    };
    for (const [link, to] of Object.entries(links)) fs.symlinkSync(to, path.join(uploads, link));
    expect(spawnSync('mkfifo', [path.join(uploads, 'pipe')]).status).toBe(0);
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    fs.rmSync(uploads, { recursive: true });
    await printed(() => restore(dir, file('a.db'), { force: true }));
    await start();
    for (const [link, to] of Object.entries(links)) expect(fs.readlinkSync(path.join(uploads, link)), link).toBe(to);
    expect(fs.existsSync(path.join(uploads, 'pipe'))).toBe(false);
    const statusOf = async (name: string): Promise<number> =>
      (await fetch(new URL(`/uploads/${name}`, served!.url))).status;
    expect(await statusOf('one.txt')).toBe(200);
    expect(await statusOf('secret.txt')).toBe(404);
    expect(await statusOf('elsewhere/secret.txt')).toBe(404);
  });

  it('root restores for the user whose files were there', { timeout: 60_000 }, async () => {
    await makeNote();
    const places = ['.tmp/data.db', 'public/uploads', 'public/uploads/one.txt'];
    fs.writeFileSync(file('public/uploads/one.txt'), 'one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    for (const it of places) fs.chownSync(file(it), 4242, 4343);
    await printed(() => restore(dir, file('a.db'), { force: true }));
    const owned = places.map((it) => fs.statSync(file(it))).map(({ uid, gid }) => [uid, gid]);
    expect(owned).toEqual(places.map(() => [4242, 4343]));
  });

  it('what several restores put aside within one second is all kept', { timeout: 60_000 }, async () => {
    await start();
    await post('one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    await post('two');
    await stop();
    fs.writeFileSync(file('public/uploads/own.txt'), 'x');
    fs.writeFileSync(file('a.db.uploads/one.txt'), 'x');
    // as a restore leaves it that is killed at the wrong moment
    fs.mkdirSync(file('public/uploads.part'));
    for (let i = 0; i < 4; i++) await printed(() => restore(dir, file('a.db'), { force: true }));
    const kept = fs.readdirSync(file('.tmp')).filter((it) => it.includes('before-restore'));
    expect(kept.map((it) => countIn(`.tmp/${it}`)).sort()).toEqual([1, 1, 1, 2]);
    expect(fs.readdirSync(file('public')).filter((it) => it.includes('before-restore'))).toHaveLength(4);
    expect(fs.existsSync(file('public/uploads.part'))).toBe(false);
  });

  it('root does not change the owner of what links among the uploads lead to', { timeout: 60_000 }, async () => {
    await makeNote();
    fs.mkdirSync(file('elsewhere'));
    fs.writeFileSync(file('elsewhere/own.txt'), 'x');
    fs.symlinkSync(file('elsewhere'), file('public/uploads/link'));
    fs.symlinkSync('.', file('public/uploads/loop'));
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    fs.lchownSync(file('public/uploads'), 4242, 4343);
    await printed(() => restore(dir, file('a.db'), { force: true }));
    expect(fs.lstatSync(file('public/uploads/link')).uid).toBe(4242);
    expect(fs.statSync(file('elsewhere/own.txt')).uid).toBe(process.getuid!());
  });

  it('uploads on a mount point are refused before anything is copied', { timeout: 60_000 }, () =>
    withSmallDisk(1, async (disk) => {
      fs.rmdirSync(file('public/uploads'));
      fs.symlinkSync(disk.dir, file('public/uploads'));
      await makeNote();
      await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
      // this one cannot be copied
      spawnSync('mkfifo', [file('a.db.uploads/pipe')]);
      fs.writeFileSync(path.join(disk.dir, 'own.txt'), 'x');
      await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow('is a mount point');
      expect(fs.readdirSync(disk.dir)).toEqual(['own.txt']);
      expect(fs.existsSync(`${disk.dir}.part`)).toBe(false);
    }),
  );

  it('an empty folder of uploads may belong to another user, if whoever restores may write to it', {
    timeout: 60_000,
  }, async () => {
    await makeNote();
    fs.writeFileSync(file('public/uploads/one.txt'), 'one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    fs.rmSync(file('public/uploads/one.txt'));
    for (const it of ['', ...fs.readdirSync(dir, { recursive: true, encoding: 'utf8' })])
      fs.chownSync(file(it), 4242, 4343);
    fs.chownSync(file('public/uploads'), 0, 4343);
    fs.chmodSync(file('public/uploads'), 0o775);
    const { status, stderr } = spawnSync(
      process.execPath,
      [main, 'restore', file('a.db'), '--force', '--project', dir],
      {
        encoding: 'utf8',
        uid: 4242,
        gid: 4343,
      },
    );
    expect(status, stderr).toBe(0);
    expect(fs.readdirSync(file('public/uploads'))).toEqual(['one.txt']);
    expect(fs.statSync(file('public/uploads')).uid).toBe(0);
  });

  it('on a new machine a link may lead to a folder that is not there yet', { timeout: 60_000 }, async () => {
    await makeNote();
    fs.writeFileSync(file('public/uploads/one.txt'), 'one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    fs.rmSync(file('public/uploads'), { recursive: true });
    fs.symlinkSync('../shared/uploads', file('public/uploads'));
    await printed(() => restore(dir, file('a.db'), { force: true }));
    expect(fs.lstatSync(file('public/uploads')).isSymbolicLink()).toBe(true);
    expect(fs.readdirSync(file('shared/uploads'))).toEqual(['one.txt']);

    fs.rmSync(file('public/uploads'));
    fs.symlinkSync('uploads', file('public/uploads'));
    const before = fs.readdirSync(file('.tmp')).sort();
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow('is a link to itself');
    expect(fs.readdirSync(file('.tmp')).sort()).toEqual(before);
  });

  it('root restores for the user whose folders these are', { timeout: 60_000 }, async () => {
    await makeNote();
    fs.writeFileSync(file('public/uploads/one.txt'), 'one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    const places = ['.tmp/data.db', 'public/uploads', 'public/uploads/one.txt'];
    for (const it of ['.tmp', 'public']) {
      fs.rmSync(file(it), { recursive: true });
      fs.mkdirSync(file(it));
      fs.chownSync(file(it), 4242, 4343);
    }
    await printed(() => restore(dir, file('a.db'), { force: false }));
    const owned = places.map((it) => fs.statSync(file(it))).map(({ uid, gid }) => [uid, gid]);
    expect(owned).toEqual(places.map(() => [4242, 4343]));
  });

  it('into a project without a database; one that another program has open stays', { timeout: 60_000 }, async () => {
    await start();
    await post('one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: false }));
    await stop();
    fs.rmSync(file('.tmp'), { recursive: true });
    await printed(() => restore(dir, file('a.db'), { force: false }));
    const other = new Sqlite(file('.tmp/data.db'));
    other.pragma('journal_mode = wal');
    other.prepare('select count(*) from notes').get();
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow(/open in another program/);
    expect(other.prepare('select count(*) from notes').pluck().get()).toBe(1);
    other.close();
  });

  it('a journal whose database is gone is put aside too, and not played into the one that takes its place', {
    timeout: 60_000,
  }, async () => {
    await start();
    await post('one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: false }));
    await post('two');
    // as a lost file leaves it, or a killed server whose file was deleted
    const journals = ['-wal', '-shm'].map((it) => [it, fs.readFileSync(file(`.tmp/data.db${it}`))] as const);
    await stop();
    fs.rmSync(file('.tmp/data.db'));
    for (const [suffix, bytes] of journals) fs.writeFileSync(file(`.tmp/data.db${suffix}`), bytes);
    await printed(() => restore(dir, file('a.db'), { force: true }));
    expect(countIn('.tmp/data.db')).toBe(1);
    const kept = fs.readdirSync(file('.tmp')).filter((it) => it.includes('before-restore'));
    expect(kept.map((it) => it.slice(it.lastIndexOf('-'))).sort()).toEqual(['-shm', '-wal']);
  });

  it('a backup that cannot be copied leaves the database in its place', { timeout: 60_000 }, async () => {
    await start();
    await post('one');
    await printed(() => backup(dir, { out: file('a.db'), uploads: false }));
    await stop();
    // as a full disk does
    fs.mkdirSync(file('.tmp/data.db.part'));
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow();
    expect(countIn('.tmp/data.db')).toBe(1);
  });

  it.each([
    ['with uploads there', ['own.txt']],
    ['with an empty folder of uploads', []],
  ])(
    'uploads that find no room leave the database and the uploads as they are, %s',
    { timeout: 60_000 },
    (_state, own) =>
      withSmallDisk(1, async (disk) => {
        const uploads = path.join(disk.dir, 'uploads');
        fs.mkdirSync(uploads);
        fs.rmdirSync(file('public/uploads'));
        fs.symlinkSync(uploads, file('public/uploads'));
        await start();
        await post('one');
        for (const it of ['a', 'b', 'c']) fs.writeFileSync(path.join(uploads, it), Buffer.alloc(200_000));
        await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
        await post('two');
        await stop();
        for (const it of ['a', 'b', 'c']) fs.rmSync(path.join(uploads, it));
        for (const it of own) fs.writeFileSync(path.join(uploads, it), 'x');
        fs.writeFileSync(path.join(disk.dir, 'large'), Buffer.alloc(500_000));
        await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow('ENOSPC');
        expect(countIn('.tmp/data.db')).toBe(2);
        expect(fs.readdirSync(uploads)).toEqual(own);
        expect(fs.readdirSync(disk.dir).sort()).toEqual(['large', 'uploads']);
        fs.rmSync(path.join(disk.dir, 'large'));
        await printed(() => restore(dir, file('a.db'), { force: true }));
        expect(countIn('.tmp/data.db')).toBe(1);
        expect(fs.readdirSync(uploads)).toEqual(['a', 'b', 'c']);
      }),
  );

  it('a database that cannot be replaced keeps its uploads', { timeout: 60_000 }, async () => {
    await makeNote();
    fs.writeFileSync(file('public/uploads/own.txt'), 'x');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    fs.writeFileSync(file('a.db.uploads/other.txt'), 'x');
    const other = new Sqlite(file('.tmp/data.db'));
    other.exec('begin immediate');
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow('is open in another program');
    other.close();
    expect(fs.readdirSync(file('public'))).toEqual(['uploads']);
    expect(fs.readdirSync(file('public/uploads'))).toEqual(['own.txt']);
  });

  it('a restore that fails leaves no folder of uploads where there was none', { timeout: 60_000 }, async () => {
    await makeNote();
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    fs.writeFileSync(file('a.db.uploads/own.txt'), 'x');
    // as a full disk does
    fs.mkdirSync(file('.tmp/data.db.part'));
    for (const it of ['public/uploads', 'public']) {
      fs.rmdirSync(file(it));
      await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow();
      expect(fs.existsSync(file(it)), it).toBe(false);
    }
  });

  it('a database whose copy cannot take its place is put back', { timeout: 60_000 }, async () => {
    await makeNote();
    expect(() => replaceDatabase(file('.tmp/data.db'), file('absent.db'), file('.tmp/aside.db'))).toThrow('ENOENT');
    expect(countIn('.tmp/data.db')).toBe(1);
    expect(fs.existsSync(file('.tmp/aside.db'))).toBe(false);
  });

  it('a restore that is killed leaves a database in its place, the former one or the copy', () => {
    const script = path.join(import.meta.dirname, 'killed-restore.mjs');
    const killedBefore = (rename: number): boolean => {
      const folder = newFolder();
      const [database, copy, aside] = ['data.db', 'copy.db', 'aside.db'].map((name) => path.join(folder, name));
      for (const [i, place] of [database!, copy!].entries()) {
        const db = new Sqlite(place);
        db.pragma(`user_version = ${i + 1}`);
        db.close();
      }
      const { signal } = spawnSync(process.execPath, [script, database!, copy!, aside!, String(rename)]);
      const found = new Sqlite(database!, { readonly: true, fileMustExist: true });
      expect(found.pragma('user_version', { simple: true })).toBe(signal === null ? 2 : 1);
      found.close();
      return signal === 'SIGKILL';
    };
    let kills = 0;
    while (killedBefore(kills + 1)) kills += 1;
    expect(kills).toBeGreaterThan(0);
  });

  it('the folder of uploads keeps its permissions; a file in its place is refused', { timeout: 60_000 }, async () => {
    await makeNote();
    fs.writeFileSync(file('public/uploads/own.txt'), 'x');
    await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    fs.chmodSync(file('public/uploads'), 0o770);
    await printed(() => restore(dir, file('a.db'), { force: true }));
    expect(modeOf('public/uploads')).toBe(0o770);
    fs.renameSync(file('a.db.uploads'), file('kept'));
    fs.writeFileSync(file('a.db.uploads'), '');
    fs.rmSync(file('public'), { recursive: true });
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow('a.db.uploads is not a folder');
    expect(fs.existsSync(file('public'))).toBe(false);
    fs.rmSync(file('a.db.uploads'));
    fs.renameSync(file('kept'), file('a.db.uploads'));
    fs.mkdirSync(file('public/uploads'), { recursive: true });
    fs.rmSync(file('public/uploads'), { recursive: true });
    fs.writeFileSync(file('public/uploads'), '');
    await expect(restore(dir, file('a.db'), { force: true })).rejects.toThrow('uploads is not a folder');
    expect(fs.readdirSync(file('.tmp')).filter((it) => it.endsWith('.part'))).toEqual([]);
  });

  it('a file whose journal is beside it is no whole backup, and is refused', { timeout: 60_000 }, async () => {
    await start();
    await post('one');
    const db = new Sqlite(file('.tmp/data.db'));
    for (const suffix of ['', '-wal']) fs.copyFileSync(file(`.tmp/data.db${suffix}`), file(`copied.db${suffix}`));
    db.close();
    await stop();
    await expect(restore(dir, file('copied.db'), { force: true })).rejects.toThrow(/copied\.db-wal/);
    expect(countIn('.tmp/data.db')).toBe(1);
  });

  it('a damaged backup is refused, a damaged database is put aside', { timeout: 60_000 }, async () => {
    await start();
    for (let i = 0; i < 20; i++) await post('x'.repeat(10_000));
    await printed(() => backup(dir, { out: file('a.db'), uploads: false }));
    await stop();
    const damaged = fs.readFileSync(file('a.db')).fill(7, 4096, 40_000);
    fs.writeFileSync(file('b.db'), damaged);
    fs.writeFileSync(file('c.db'), 'not a database, but a text that is long enough to be looked at');
    fs.writeFileSync(file('.tmp/data.db'), damaged);
    await expect(restore(dir, file('b.db'), { force: true })).rejects.toThrow(/b\.db cannot be restored/);
    await expect(restore(dir, file('c.db'), { force: true })).rejects.toThrow(/c\.db cannot be restored/);
    await expect(backup(dir, { out: file('d.db'), uploads: false })).rejects.toThrow(
      /damaged|malformed|not a database/,
    );
    expect(listed()).not.toContain('d.db');
    await printed(() => restore(dir, file('a.db'), { force: true }));
    expect(countIn('.tmp/data.db')).toBe(20);
  });

  it('of uploads that the database names and the folder lacks it says how many', { timeout: 60_000 }, async () => {
    await start();
    const db = new Sqlite(file('.tmp/data.db'));
    db.exec(
      "insert into files (name, url, provider) values ('x', '/uploads/x.png', 'local'), ('y', 'https://cdn/y', 'aws-s3')",
    );
    db.close();
    const { said } = await printed(() => backup(dir, { out: file('a.db'), uploads: true }));
    expect(said).toContain('1 uploads of the database have no file');
  });

  it('for PostgreSQL both say the command, without the password', async () => {
    vi.stubEnv('DATABASE_URL', "postgres://ann:it's secret@db.example:5433/site?sslmode=require&search_path=cms");
    const said = await backup(dir, { out: file('a.dump'), uploads: false }).catch((fault: Error) => fault.message);
    expect(said).toContain(
      `pg_dump --format=custom --no-owner --schema='cms' --file='${file('a.dump')}' 'postgres://ann@db.example:5433/site?sslmode=require'`,
    );
    const back = await restore(dir, file('a.dump'), { force: false }).catch((fault: Error) => fault.message);
    expect(back).toContain(`--dbname='postgres://ann@db.example:5433/site?sslmode=require' '${file('a.dump')}'`);
    expect(`${said}${back}`).not.toContain('secret');
  });
});
