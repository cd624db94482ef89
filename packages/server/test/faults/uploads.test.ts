/**
 * Uploads that break off: by the client, the store, the database, or the death of the process. Afterwards every row has
 * its objects, every object its row, and nothing else is on the disk.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { Client } from 'pg';
import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { busy } from '../../src/errors.js';
import type { Store } from '../../src/media/store.js';
import type { Db } from '../../src/sql/dialect.js';
import { dialects, newDatabase, queryOf, type TestDatabase } from '../world/databases.js';
import { type SmallDisk, withSmallDisk } from '../world/disk.js';
import { newFolder } from '../world/folders.js';
import { albumProject, form, type MediaWorld, newMediaWorld, type StoredFile } from '../world/media.js';
import { type Served, serveInProcess } from '../world/process.js';
import { writeSmall } from '../world/small.js';

const patient = path.join(import.meta.dirname, 'patient.mjs');
const kills = Number(process.env['DOVETAIL_KILLS'] ?? 3);

const diskFull = { status: 503, body: { error: { details: { errors: [{ code: 'media.disk-full' }] } } } };

/** Whether there is room for an empty file. */
const isMade = (file: string): boolean => {
  try {
    fs.writeFileSync(file, '');
    return true;
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'ENOSPC') throw fault;
    return false;
  }
};

const expectNothing = async (world: MediaWorld): Promise<void> => {
  expect([await world.rows(), world.files(), world.leftovers()]).toEqual([[], [], []]);
};

/** Looks again at each turn of the event loop. */
const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await setImmediate();
};

describe.each(dialects)('uploads that fail on %s', (dialect) => {
  it('UP13: a client that goes away leaves nothing', async () => {
    const world = await newMediaWorld(dialect);
    const head =
      'POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=abc\r\nContent-Length: 1000000\r\n\r\n';
    const part = '--abc\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n';
    for (const sent of [head, head + part, `${head}${part}${'x'.repeat(500_000)}`]) {
      const socket = net.connect(world.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => socket.write(sent, () => resolve()));
      // the file is there before the client goes, or never
      if (sent.includes('xxx')) await until(() => world.leftovers().length > 0);
      socket.resetAndDestroy();
      await until(() => world.leftovers().length === 0);
    }
    // what the server has read of the first two may come to the disk, and go, later
    await expect
      .poll(async () => [await world.rows(), world.files(), world.leftovers()], { timeout: 60_000 })
      .toEqual([[], [], []]);
    await world.close();
  });

  it('UP13, RQ22: a store that fails at any object leaves nothing; the answer is a 503, and its id is in the log', async () => {
    for (const failing of [1, 2, 3, 4]) {
      let puts = 0;
      const world = await newMediaWorld(dialect, {
        store: (local) => ({
          ...local,
          put: async (key, object) => {
            puts += 1;
            if (puts === failing) throw new Error('the store is away');
            await local.put(key, object);
          },
        }),
      });
      const answer = await world.send('POST', '/api/upload', form(four));
      expect(answer).toMatchObject({
        status: 503,
        body: { error: { name: 'ServiceUnavailableError', message: /storage of uploads is not available/ } },
      });
      await expectNothing(world);
      expect(world.logged).toMatchObject([{ reqId: expect.any(String), err: { message: 'the store is away' } }]);
      expect(world.faults).toEqual([]);
      expect((await world.send('POST', '/api/upload', form(four))).status).toBe(200);
      await world.close();
    }
  });

  it('UP13: a full disk is a 503 that says so', async () => {
    const world = await newMediaWorld(dialect, {
      store: (local) => ({
        ...local,
        put: () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })),
      }),
    });
    const answer = await world.upload('x', 'a.txt');
    expect(answer).toMatchObject({ status: 503, body: { error: { message: /disk that holds the uploads is full/ } } });
    await expectNothing(world);
    await world.close();
  });

  it('UP13: a disk without room for the files on their way, or for their records, is a 503 too, and the log says so', async () => {
    const png = await sharp({ create: { width: 300, height: 300, channels: 3, background: '#a06030' } })
      .png()
      .toBuffer();
    const picture = () => form([['files', new Blob([new Uint8Array(png)], { type: 'image/png' }), 'a.png']]);
    const work = async (disk: SmallDisk): Promise<void> => {
      const world = await newMediaWorld(dialect, { media: { workDir: path.join(disk.dir, 'uploads') } });
      disk.fill();
      expect(await world.upload('x'.repeat(5_000), 'a.txt')).toMatchObject(diskFull);
      expect(world.logged).toMatchObject([{ reqId: expect.any(String), err: { message: /ENOSPC/ } }]);
      disk.makeRoom();
      const before = fs.readdirSync(disk.dir, { recursive: true });
      const taken: string[] = [];
      for (;;) {
        const file = path.join(disk.dir, `taken-${taken.length}`);
        if (!isMade(file)) break;
        taken.push(file);
      }
      let refused = 0;
      for (const file of taken) {
        const answer = await world.send('POST', '/api/upload', picture());
        if (answer.status === 200) break;
        expect(answer).toMatchObject(diskFull);
        refused += 1;
        expect(world.logged.length).toBe(refused + 1);
        fs.rmSync(file);
      }
      // one more each time: the folder, the file, the picture made of it, its format, the record
      expect(refused).toBe(5);
      for (const file of taken) fs.rmSync(file, { force: true });
      expect([fs.readdirSync(disk.dir, { recursive: true }), await world.rows(), world.faults]).toEqual([
        before,
        ['a.png'],
        [],
      ]);
      await world.close();
    };
    await withSmallDisk(4, work, 60);
  });

  it('UP13: a folder for files on their way that cannot be made is a 503, until it can be', async () => {
    const world = await newMediaWorld(dialect);
    const blocking = path.join(world.dir, '.tmp');
    fs.writeFileSync(blocking, '');
    expect(await world.upload('x', 'a.txt')).toMatchObject({
      status: 503,
      body: { error: { details: { errors: [{ code: 'media.store-failed' }] } } },
    });
    expect(world.logged).toMatchObject([{ reqId: expect.any(String), err: { message: /mkdir/ } }]);
    fs.rmSync(blocking);
    expect((await world.upload('x', 'a.txt')).status).toBe(200);
    await world.close();
  });

  it('UP13: a database that fails leaves nothing', async () => {
    const world = await newMediaWorld(dialect, { watch: (db) => ({ ...db, write: failingOnce(db) }) });
    const answer = await world.send('POST', '/api/upload', form(four));
    expect(answer.status).toBe(503);
    await expectNothing(world);
    expect((await world.send('POST', '/api/upload', form(four))).status).toBe(200);
    await world.close();
  });

  it('UP13: if the answer to a commit is lost, the row keeps its objects', async () => {
    let commits = 0;
    const world = await newMediaWorld(dialect, {
      watch: (db) => ({
        ...db,
        write: async (work) => {
          const result = await db.write(work);
          commits += 1;
          if (commits === 1) throw busy(new Error('the connection was lost'));
          return result;
        },
      }),
    });
    expect((await world.upload('kept', 'a.txt')).status).toBe(503);
    expect([await world.rows(), world.files().length, world.leftovers()]).toEqual([['a.txt'], 1, []]);
    await world.close();
  });

  it('UP8: content that cannot be replaced as a whole is put back', async () => {
    let failing = 0;
    const world = await newMediaWorld(dialect, {
      store: (local) => ({
        ...local,
        put: async (key, object) => {
          failing -= 1;
          if (failing === 0) throw new Error('the store is away');
          await local.put(key, object);
        },
      }),
    });
    const file = await world.stored(await png(600), 'old.png');
    const before = await contentsOf(world);
    for (failing of [1, 2, 3]) {
      const answer = await world.send(
        'POST',
        `/api/upload?id=${file.id}`,
        form([['files', await png(700), 'new.png']]),
      );
      expect(answer.status).toBe(503);
      expect(await contentsOf(world)).toEqual(before);
      expect([await world.rows(), world.leftovers()]).toEqual([['old.png'], []]);
    }
    await world.close();
  });

  it('UP8: a replacement that failed, and cannot be undone yet, is told from later changes of the row', async () => {
    let isFailing = false;
    const world = await newMediaWorld(dialect, {
      store: (local) => ({
        ...local,
        put: async (key, object) => {
          if (isFailing) throw new Error('the store is away');
          await local.put(key, object);
        },
      }),
    });
    const replace = async (id: number, data: Blob | string, name: string) =>
      (await world.send('POST', `/api/upload?id=${id}`, form([['files', data, name]]))).status;
    const captioned = await world.stored(await png(600), 'captioned.png');
    const replaced = await world.stored(await png(600), 'replaced.png');
    const before = await contentsOf(world);
    isFailing = true;
    for (const { id } of [captioned, replaced]) expect(await replace(id, 'a text', 'a.txt')).toBe(503);
    expect(world.leftovers().filter((it) => it.endsWith('.json'))).toHaveLength(2);
    isFailing = false;
    const info = form([], { fileInfo: JSON.stringify({ caption: 'new' }) });
    expect((await world.send('POST', `/api/upload?id=${captioned.id}`, info)).status).toBe(200);
    expect(await contentsOf(world)).toEqual(before);
    const kept = await png(700);
    expect(await replace(replaced.id, kept, 'b.png')).toBe(200);
    const after = await contentsOf(world);
    // as a process leaves it that has died
    const uploads = path.join(world.dir, '.tmp/uploads');
    const [own = ''] = fs.readdirSync(uploads).filter((it) => fs.statSync(path.join(uploads, it)).isDirectory());
    fs.cpSync(path.join(uploads, own), path.join(uploads, 'dead'), { recursive: true });
    await world.site.media.recover();
    expect(fs.existsSync(path.join(uploads, 'dead'))).toBe(false);
    expect(await contentsOf(world)).toEqual(after);
    await world.close();
  });

  it('UP9: what cannot be removed stays on record until the next start', async () => {
    let isFailing = true;
    const flaky = (local: Store): Store => ({
      ...local,
      remove: async (key) => {
        if (isFailing) throw new Error('the store is away');
        await local.remove(key);
      },
    });
    const world = await newMediaWorld(dialect, { store: flaky });
    const file = await world.stored('x', 'a.txt');
    expect((await world.send('DELETE', `/api/upload/files/${file.id}`)).status).toBe(200);
    expect([await world.rows(), world.files().length, world.leftovers().length]).toEqual([[], 1, 1]);
    isFailing = false;
    // the process is alive, so its records are left alone
    await world.site.media.recover();
    expect(world.files().length).toBe(1);
    await world.close();
  });

  it('UP13: 100 uploads at once are stored', async () => {
    const world = await newMediaWorld(dialect);
    const upload = async (i: number): Promise<Awaited<ReturnType<MediaWorld['upload']>>> => {
      const answer = await world.upload(`content ${i}`.repeat(1000), `${i}.txt`);
      // a machine that is busy enough refuses some, of which nothing may be left
      return answer.status === 503 ? upload(i) : answer;
    };
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => upload(i)));
    expect(new Set(answers.map((it) => it.status))).toEqual(new Set([200]));
    const files = answers.flatMap((it) => it.body as StoredFile[]);
    expect(new Set(files.map((it) => it.id)).size).toBe(100);
    expect([world.files().length, world.leftovers()]).toEqual([100, []]);
    for (const [i, { url }] of files.entries())
      expect(await (await fetch(world.base + url)).text()).toBe(`content ${i}`.repeat(1000));
    await world.close();
  });
});

const four = [
  ['files', 'one', '1.txt'],
  ['files', 'two', '2.txt'],
  ['files', 'three', '3.txt'],
  ['files', 'four', '4.txt'],
] as const;

const png = async (width: number): Promise<Blob> => {
  const drawn = sharp({ create: { width, height: 300, channels: 3, background: 'teal' } });
  return new Blob([new Uint8Array(await drawn.png().toBuffer())], { type: 'image/png' });
};

const contentsOf = async (world: MediaWorld): Promise<readonly string[]> =>
  Promise.all(
    world.files().map(async (name) => {
      const bytes = Buffer.from(await (await fetch(`${world.base}/uploads/${name}`)).arrayBuffer());
      return `${name} ${bytes.length} ${bytes.toString('base64')}`;
    }),
  );

/** Refuses to commit the first transaction. */
const failingOnce = (db: Db): Db['write'] => {
  let runs = 0;
  return (work) =>
    db.write(async (tx) => {
      const result = await work(tx);
      runs += 1;
      if (runs === 1) throw busy(new Error('no commit'));
      return result;
    });
};

// ---- processes

interface Process {
  readonly dir: string;
  readonly database: TestDatabase;
  /** @param script see `serveInProcess`. */
  start(script?: string): Promise<Served>;
  /** Rows and stored files, which must belong together, and what else is on the disk. */
  state(): Promise<{
    readonly rows: readonly string[];
    readonly files: readonly string[];
    readonly rest: readonly string[];
  }>;
  close(): Promise<void>;
}

const newProcess = async (dialect: (typeof dialects)[number]): Promise<Process> => {
  const dir = newFolder();
  writeSmall(dir, albumProject);
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), '{"permissions":{"enabled":false}}');
  const database = await newDatabase(dialect);
  const listed = (folder: string): readonly string[] =>
    fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort() : [];
  return {
    dir,
    database,
    start: (script) => serveInProcess(dir, database.env, [], script),
    state: async () => {
      const rows = await queryOf(database, 'select hash, ext, formats from files');
      const keys = rows.flatMap(({ hash, ext, formats }) => [
        `${hash}${ext}`,
        ...Object.keys((JSON.parse(String(formats)) as object | null) ?? {}).map((it) => `${it}_${hash}${ext}`),
      ]);
      return {
        rows: keys.sort(),
        files: listed(path.join(dir, 'public/uploads')),
        rest: listed(path.join(dir, '.tmp/uploads')),
      };
    },
    close: async () => {
      await database.drop();
      fs.rmSync(dir, { recursive: true, force: true });
    },
  };
};

const kill = async ({ child }: Served): Promise<void> => {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

/** Keeps everybody else from committing rows of files, until it is called again. */
const holdFiles = async ({ db, env }: TestDatabase): Promise<() => Promise<void>> => {
  if (db.dialect.name === 'sqlite') {
    const holder = new Sqlite(env['DATABASE_FILENAME']!);
    holder.exec('begin immediate');
    return async () => void holder.close();
  }
  const holder = new Client(env['DATABASE_URL']!);
  await holder.connect();
  await holder.query('begin; lock table files in exclusive mode');
  return () => holder.end();
};

describe.each(dialects)('a process on %s', (dialect) => {
  it('UP13: that is killed between storing a file and its row leaves nothing after the next start', async () => {
    const project = await newProcess(dialect);
    const first = await project.start();
    const release = await holdFiles(project.database);
    const upload = fetch(`${first.url}/upload`, { method: 'POST', body: form(four) }).catch(() => null);
    const uploads = path.join(project.dir, 'public/uploads');
    await until(() => fs.existsSync(uploads) && fs.readdirSync(uploads).length === 4);
    await kill(first);
    await upload;
    await release();
    const second = await project.start();
    expect(await project.state()).toEqual({ rows: [], files: [], rest: [] });
    await kill(second);
    await project.close();
  });

  it('UP13: that died before its folder existed leaves nothing behind', async () => {
    const project = await newProcess(dialect);
    const uploads = path.join(project.dir, '.tmp/uploads');
    fs.mkdirSync(uploads, { recursive: true });
    fs.writeFileSync(path.join(uploads, '00000000-0000-4000-8000-000000000000-serving'), '');
    const served = await project.start();
    expect((await project.state()).rest).toEqual([]);
    await kill(served);
    await project.close();
  });

  it('UP13: leaves alone what another live process has begun', async () => {
    const project = await newProcess(dialect);
    const first = await project.start(patient);
    const release = await holdFiles(project.database);
    const upload = fetch(`${first.url}/upload`, { method: 'POST', body: form(four) });
    const uploads = path.join(project.dir, 'public/uploads');
    await until(() => fs.existsSync(uploads) && fs.readdirSync(uploads).length === 4);
    const second = await project.start();
    await release();
    expect((await upload).status).toBe(200);
    const { rows, files } = await project.state();
    expect([files.length, files]).toEqual([4, rows]);
    await Promise.all([kill(first), kill(second)]);
    await project.close();
  });

  it('UP13: that is killed at any moment leaves rows and files that belong together', {
    timeout: 300_000,
  }, async () => {
    const project = await newProcess(dialect);
    const pictures = await Promise.all([300, 700].map(png));
    for (let round = 0; round < kills; round++) {
      const served = await project.start();
      let isKilled = false;
      const client = async (): Promise<void> => {
        const send = (url: string, method: string, body?: FormData) =>
          fetch(served.url + url, { method, ...(body ? { body } : {}) })
            .then((answer) => answer.json() as Promise<StoredFile[] | StoredFile>)
            .catch(() => null);
        while (!isKilled) {
          const made = await send('/upload', 'POST', form([['files', pictures[0]!, 'a.png']]));
          const id = Array.isArray(made) ? made[0]?.id : undefined;
          await send(`/upload?id=${id}`, 'POST', form([['files', pictures[1]!, 'b.png']]));
          if (round % 2 === 0) await send(`/upload/files/${id}`, 'DELETE');
        }
      };
      const clients = Array.from({ length: 4 }, client);
      for (let turns = (round + 1) * 400; turns > 0; turns--) await setImmediate();
      await kill(served);
      isKilled = true;
      await Promise.all(clients);
      const next = await project.start();
      const { rows, files, rest } = await project.state();
      expect(files).toEqual(rows);
      expect(rest).toEqual([]);
      await kill(next);
    }
    await project.close();
  });
});

it('UP2: a process needs no memory for the size of a file', { timeout: 300_000 }, async () => {
  const project = await newProcess(dialects[0]!);
  fs.writeFileSync(
    path.join(project.dir, 'dovetail.config.json'),
    '{"permissions":{"enabled":false},"upload":{"sizeLimit":1000000000}}',
  );
  const served = await serveInProcess(project.dir, project.database.env, ['--max-old-space-size=64']);
  /** Mebibytes that the process holds. */
  const memory = (): number => Number(execFileSync('ps', ['-o', 'rss=', '-p', String(served.child.pid)])) / 1024;
  const mebibyte = Buffer.alloc(1024 * 1024, 'x');
  let most = 0;
  async function* parts(count: number): AsyncGenerator<Buffer> {
    yield Buffer.from('--abc\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n');
    for (let i = 0; i < count; i++) {
      if (i % 25 === 0) most = Math.max(most, memory());
      yield mebibyte;
    }
    yield Buffer.from('\r\n--abc--\r\n');
  }
  const upload = async (count: number): Promise<number> => {
    const answer = await fetch(`${served.url}/upload`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=abc' },
      body: ReadableStream.from(parts(count)),
      duplex: 'half',
    } as RequestInit);
    return ((await answer.json()) as [StoredFile])[0].size;
  };
  await upload(8);
  const before = memory();
  expect(await upload(500)).toBeCloseTo((500 * 1024 * 1024) / 1000, 1);
  // buffers of streams, and whatever the collector leaves for later
  expect(most - before).toBeLessThan(100);
  await kill(served);
  await project.close();
});
