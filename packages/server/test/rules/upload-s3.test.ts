/** Uploads in a bucket (UP15), on a real S3 server: what is stored where, and what remains when the server fails. */
import fs from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openProject } from '../../src/cli/project.js';
import { siteOf } from '../../src/cli/site.js';
import { newS3Store, type S3Options } from '../../src/media/s3-store.js';
import type { KeptFile } from '../../src/media/storing.js';
import type { Db } from '../../src/sql/dialect.js';
import { dialects } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { form, type MediaWorld, newMediaWorld, type StoredFile } from '../world/media.js';
import { newS3World, type S3World } from '../world/s3.js';
import { secrets } from '../world/server.js';

let s3: S3World;
beforeAll(async () => {
  s3 = await newS3World();
});
afterAll(() => s3.close());
afterEach(() => s3.fail(null));

const image = async (width: number, height = width): Promise<Blob> => {
  const create = { width, height, channels: 3, background: 'plum' } as const;
  return new Blob([new Uint8Array(await sharp({ create }).png().toBuffer())], { type: 'image/png' });
};
const keyOf = ({ url }: { readonly url: string }): string => url.slice('/uploads/'.length);
const isRefused = { status: 503, body: { error: { name: 'ServiceUnavailableError' } } };

describe('a store in a bucket', () => {
  const dir = newFolder();
  afterAll(() => fs.rmSync(dir, { recursive: true }));
  const staged = (text: string, mime = 'text/plain') => {
    const file = path.join(dir, 'staged');
    fs.writeFileSync(file, text);
    return { path: file, bytes: text.length, mime };
  };

  it('UP15: puts, replaces, copies and removes objects, below its prefix', async () => {
    const store = await newS3Store({ ...s3.options, prefix: 'a/b/' });
    await store.put('x_0123456789.txt', staged('one'));
    await store.put('x_0123456789.txt', staged('two'));
    expect(await s3.keys()).toEqual(['a/b/x_0123456789.txt']);
    const copy = path.join(dir, 'copy');
    expect(await store.get('x_0123456789.txt', copy)).toBe(true);
    expect(fs.readFileSync(copy, 'utf8')).toBe('two');
    for (let round = 0; round < 2; round++) await store.remove('x_0123456789.txt');
    expect([await s3.keys(), await store.get('x_0123456789.txt', copy)]).toEqual([[], false]);
  });

  it('UP15: objects have their media type; those that could run code are downloads', async () => {
    const store = await newS3Store(s3.options);
    const types = ['image/png', 'text/plain', 'application/pdf', 'text/html', 'image/svg+xml', 'application/x-any'];
    const shown = [];
    for (const mime of types) {
      await store.put('x_0123456789.x', staged('text', mime));
      shown.push(await s3.object('x_0123456789.x'));
    }
    await store.remove('x_0123456789.x');
    expect(shown.map((it) => it.type)).toEqual(types);
    expect(shown.map((it) => it.disposition)).toEqual([null, null, null, 'attachment', 'attachment', 'attachment']);
  });

  it('UP15: an object of several parts is stored whole, or its parts are removed', async () => {
    const store = await newS3Store(s3.options);
    const content = 'x'.repeat(11 * 1024 * 1024);
    await store.put('large_0123456789.txt', staged(content));
    expect((await s3.object('large_0123456789.txt')).text.length).toBe(content.length);
    await store.remove('large_0123456789.txt');
    s3.fail((method, url) => (method === 'PUT' && url.includes('partNumber=2') ? 'error' : null));
    await expect(store.put('large_0123456789.txt', staged(content))).rejects.toThrow();
    expect(await s3.keys()).toEqual([]);
  });
});

it('UP15: half a key refuses the start', async () => {
  const dir = newFolder();
  fs.writeFileSync(path.join(dir, 'dovetail.config.json'), JSON.stringify({ upload: { s3: { bucket: 'museum' } } }));
  fs.writeFileSync(path.join(dir, '.env'), 'AWS_ACCESS_KEY_ID=key');
  const rest = { handlers: new Map(), logger: pino({ level: 'silent' }), responseCacheBytesMax: 0, entriesBytesMax: 0 };
  // the database is not looked at before
  const site = siteOf({ project: await openProject(dir), db: {} as Db, secrets, ...rest });
  await expect(site).rejects.toThrow('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together, and one is missing');
  fs.rmSync(dir, { recursive: true });
});

describe.each(dialects)('uploads in a bucket on %s', (dialect) => {
  let world: MediaWorld;
  const kept: KeptFile[] = [];
  const worldIn = async (given: Partial<S3Options> = {}): Promise<MediaWorld> => {
    const store = await newS3Store({ ...s3.options, ...given });
    return newMediaWorld(dialect, { store: () => store, media: { onKept: (file) => void kept.push(file) } });
  };
  beforeAll(async () => {
    world = await worldIn();
  });
  afterAll(() => world.close());

  const filesOf = async (): Promise<readonly StoredFile[]> =>
    (await world.send('GET', '/api/upload/files?sort=id')).body as StoredFile[];
  const clear = async (): Promise<void> => {
    for (const { id } of await filesOf()) await world.send('DELETE', `/api/upload/files/${id}`);
    expect([await s3.keys(), world.leftovers()]).toEqual([[], []]);
  };
  const insert = (provider: string): Promise<unknown> =>
    world.db.write((tx) =>
      tx.run({
        sql: `insert into files (name, hash, ext, mime, size, url, provider, formats) values ('far.png', 'far_0123456789', '.png', 'image/png', 1, 'https://far.example/v1/far.png', '${provider}', '{"thumbnail":{"hash":"thumbnail_far_0123456789","ext":".png","url":"https://far.example/v1/t.png"}}')`,
        params: [],
        ids: [],
      }),
    );

  it('UP15: a file and its formats are objects; their URLs lead to them', async () => {
    const file = await world.stored(await image(600), 'plum.png');
    const [thumbnail, small] = [file.formats!['thumbnail']!, file.formats!['small']!];
    expect(file).toMatchObject({ provider: 'aws-s3', provider_metadata: null, width: 600, height: 600 });
    expect(await s3.keys()).toEqual([file, thumbnail, small].map(keyOf).sort());
    for (const [it, width] of [
      [file, 600],
      [thumbnail, 156],
      [small, 500],
    ] as const) {
      const answer = await fetch(world.base + it.url);
      expect([answer.redirected, answer.status, answer.headers.get('content-type')]).toEqual([true, 200, 'image/png']);
      expect((await sharp(await answer.arrayBuffer()).metadata()).width).toBe(width);
    }
    expect(world.files()).toEqual([]);
    await clear();
  });

  it('UP15: a redirect can be kept, and its target does not change meanwhile; HEAD too', async () => {
    const { url } = await world.stored('text', 'a.txt');
    const targets = new Set<string | null>();
    for (const method of ['GET', 'HEAD', 'GET']) {
      const answer = await fetch(world.base + url, { method, redirect: 'manual' });
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([302, 'public, max-age=900']);
      targets.add(answer.headers.get('location'));
    }
    // unless a quarter of an hour has just ended
    expect(targets.size).toBeLessThanOrEqual(2);
    await clear();
  });

  it('UP15: only names of uploads are redirected, and files in the folder are served from there', async () => {
    for (const name of [
      'backup.sql',
      'a_0123456789',
      'x/a_0123456789.txt',
      'a_0123456789.txt/',
      '..%2Fa_0123456789.txt',
    ]) {
      const answer = await fetch(`${world.base}/uploads/${name}`, { redirect: 'manual' });
      expect([name, answer.status]).toEqual([name, 404]);
    }
  });

  it('UP15: with a public URL, files have that address and nothing is redirected', async () => {
    const open = await worldIn({ publicUrl: 'https://cdn.example/museum/', prefix: 'up/' });
    try {
      const file = await open.stored(await image(300), 'plum.png');
      const name = `${file.hash}.png`;
      expect([file.url, file.formats!['thumbnail']!.url]).toEqual([
        `https://cdn.example/museum/up/${name}`,
        `https://cdn.example/museum/up/thumbnail_${name}`,
      ]);
      expect(await s3.keys()).toEqual([`up/${name}`, `up/thumbnail_${name}`].sort());
      expect((await fetch(`${open.base}/uploads/${name}`, { redirect: 'manual' })).status).toBe(404);
      await open.send('DELETE', `/api/upload/files/${file.id}`);
      expect(await s3.keys()).toEqual([]);
    } finally {
      await open.close();
    }
  });

  it('UP15: a replaced file keeps its key; formats that it no longer has are removed', async () => {
    const file = await world.stored(await image(600), 'plum.png');
    const answer = await world.send(
      'POST',
      `/api/upload?id=${file.id}`,
      form([['files', await image(200), 'new.png']]),
    );
    expect(answer).toMatchObject({ status: 200, body: { url: file.url, name: 'new.png', width: 200 } });
    expect(await s3.keys()).toEqual([keyOf(file), `thumbnail_${keyOf(file)}`]);
    const stored = await (await fetch(world.base + file.url)).arrayBuffer();
    expect((await sharp(stored).metadata()).width).toBe(200);
    await clear();
  });

  it('UP15: an entry is written with files in the bucket, or without any', async () => {
    const post = (data: string) =>
      world.send('POST', '/api/albums?populate=any', form([['files.any', 'text', 'a.txt']], { data }));
    const answer = await post('{"title":"x"}');
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { attributes: { any: { data: { id: expect.any(Number) } } } } },
    });
    expect((await post('{"titel":"x"}')).status).toBe(400);
    expect((await s3.keys()).length).toBe(1);
    await clear();
  });

  it.each([
    ['the first object', () => true],
    ['a later object', (url: string) => url.includes('/small_')],
  ])('UP15: if %s cannot be stored, a 503 leaves neither rows nor objects', async (_what, isFailing) => {
    s3.fail((method, url) => (method === 'PUT' && isFailing(url) ? 'error' : null));
    expect(await world.upload(await image(600), 'plum.png')).toMatchObject(isRefused);
    expect([await world.rows(), await s3.keys(), world.leftovers()]).toEqual([[], [], []]);
    expect(world.logged.length).toBeGreaterThan(0);
  });

  it('UP15: a replacement that fails halfway leaves the old file as it was', async () => {
    const file = await world.stored(await image(600), 'plum.png');
    const before = await s3.keys();
    // once, so that the old thumbnail can be put back
    let isFirst = true;
    s3.fail((method, url) => {
      if (method !== 'PUT' || !url.includes('/thumbnail_') || !isFirst) return null;
      isFirst = false;
      return 'refuse';
    });
    const answer = await world.send(
      'POST',
      `/api/upload?id=${file.id}`,
      form([['files', await image(300), 'new.png']]),
    );
    s3.fail(null);
    expect(answer).toMatchObject(isRefused);
    expect(await s3.keys()).toEqual(before);
    const stored = await (await fetch(world.base + file.url)).arrayBuffer();
    expect((await sharp(stored).metadata()).width).toBe(600);
    expect(await filesOf()).toMatchObject([{ name: 'plum.png', width: 600 }]);
    await clear();
  });

  it('UP15: a file is deleted even if the bucket fails; its object is noted to be removed later', async () => {
    const failing = await worldIn();
    try {
      const file = await failing.stored('text', 'a.txt');
      s3.fail((method) => (method === 'DELETE' ? 'error' : null));
      expect((await failing.send('DELETE', `/api/upload/files/${file.id}`)).status).toBe(200);
      expect([await failing.rows(), await s3.keys(), failing.leftovers().length]).toEqual([[], [keyOf(file)], 1]);
      s3.fail(null);
      await (await newS3Store(s3.options)).remove(keyOf(file));
    } finally {
      await failing.close();
    }
  });

  it.each([
    ['does not answer', { bounds: { connectMsMax: 300, stalledMsMax: 300 } }],
    ['is away', { endpoint: 'http://127.0.0.1:1' }],
  ])('UP15: a server that %s is a 503', async (_what, given) => {
    const away = await worldIn(given);
    try {
      s3.fail(() => 'hang');
      expect(await away.upload('text', 'a.txt')).toMatchObject(isRefused);
      expect(await away.rows()).toEqual([]);
    } finally {
      await away.close();
    }
  });

  it('UP16: files of other providers are served as their rows say', async () => {
    await insert('cloudinary');
    const [file] = await filesOf();
    expect(file).toMatchObject({
      url: 'https://far.example/v1/far.png',
      provider: 'cloudinary',
      formats: { thumbnail: { url: 'https://far.example/v1/t.png' } },
    });
    const album = await world.send('POST', '/api/albums?populate=cover', { data: { cover: file!.id } });
    expect(album).toMatchObject({
      status: 200,
      body: { data: { attributes: { cover: { data: { attributes: { url: 'https://far.example/v1/far.png' } } } } } },
    });
    const { id } = (album.body as { data: { id: number } }).data;
    kept.length = 0;
    expect((await world.send('DELETE', `/api/upload/files/${file!.id}`)).status).toBe(200);
    expect(kept).toEqual([
      {
        id: file!.id,
        provider: 'cloudinary',
        keys: ['far_0123456789.png', 'thumbnail_far_0123456789.png'],
      },
    ]);
    expect(await world.send('GET', `/api/albums/${id}?populate=cover`)).toMatchObject({
      body: { data: { attributes: { cover: { data: null } } } },
    });
    expect(await world.rows()).toEqual([]);
  });

  it('UP16: a replaced file of another provider moves to the store of the project', async () => {
    await insert('cloudinary');
    const [file] = await filesOf();
    kept.length = 0;
    const answer = await world.send(
      'POST',
      `/api/upload?id=${file!.id}`,
      form([['files', await image(60), 'new.png']]),
    );
    expect(answer).toMatchObject({
      status: 200,
      body: { url: '/uploads/far_0123456789.png', provider: 'aws-s3', hash: 'far_0123456789' },
    });
    expect([kept.length, await s3.keys()]).toEqual([1, ['far_0123456789.png']]);
    await clear();
  });
});
