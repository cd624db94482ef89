/** What is made of images (UP10), and what is refused before it costs anything. */
import { createHash } from 'node:crypto';
import zlib from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { dialects, queryOf } from '../world/databases.js';
import { type MediaWorld, newMediaWorld, type StoredFile } from '../world/media.js';

const [dialect = 'sqlite'] = dialects;

const blob = (bytes: Uint8Array | string, type: string): Blob =>
  new Blob([typeof bytes === 'string' ? bytes : new Uint8Array(bytes)], { type });
const drawn = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: 90, g: 140, b: 200 } } });
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A PNG of one colour that says it has so many pixels; a few kilobytes for each million. */
const flatPng = (width: number, height: number): Buffer => {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const size = Buffer.alloc(4);
    size.writeUInt32BE(data.length);
    const sum = Buffer.alloc(4);
    sum.writeUInt32BE(zlib.crc32(body));
    return Buffer.concat([size, body, sum]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // one bit per pixel, grey
  header[8] = 1;
  const rows = zlib.deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height), { level: 9 });
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
};

describe('images', () => {
  let world: MediaWorld;
  beforeAll(async () => {
    world = await newMediaWorld(dialect);
  });
  beforeEach(async () => {
    for (const file of (await world.send('GET', '/api/upload/files')).body as StoredFile[])
      await world.send('DELETE', `/api/upload/files/${file.id}`);
  });
  afterAll(() => world.close());

  const bytesOf = async (url: string): Promise<Uint8Array> =>
    new Uint8Array(await (await fetch(world.base + url)).arrayBuffer());
  const set = (settings: object): Promise<unknown> =>
    queryOf(
      world.database,
      `insert into strapi_core_store_settings (key, value, type) values ('plugin_upload_settings', '${JSON.stringify(settings)}', 'object')`,
    );
  const unset = () =>
    queryOf(world.database, "delete from strapi_core_store_settings where key = 'plugin_upload_settings'");

  it.each(['jpeg', 'png', 'webp', 'tiff'] as const)(
    'UP10: formats of %s are images of the same format',
    async (type) => {
      const bytes = await drawn(1200, 800).toFormat(type).toBuffer();
      const file = await world.stored(blob(bytes, `image/${type}`), `a.${type}`);
      expect([file.width, file.height]).toEqual([1200, 800]);
      const sizes = Object.entries(file.formats!).map(async ([name, { url }]) => {
        const { format, width, height } = await sharp(await bytesOf(url)).metadata();
        return [name, format, width, height];
      });
      expect((await Promise.all(sizes)).sort()).toEqual([
        ['large', type, 1000, 667],
        ['medium', type, 750, 500],
        ['small', type, 500, 333],
        ['thumbnail', type, 234, 156],
      ]);
    },
  );

  it('UP10: a GIF, an SVG and an animated WebP are stored byte for byte', async () => {
    const frames = await sharp(Buffer.alloc(300 * 400 * 3, 120), {
      raw: { width: 300, height: 400, channels: 3, pageHeight: 200 } as never,
    })
      .webp({ loop: 0, delay: [100, 100] })
      .toBuffer();
    const gif = await drawn(300, 200).gif().toBuffer();
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20"/>';
    for (const [bytes, type, width] of [
      [frames, 'image/webp', 300],
      [gif, 'image/gif', 300],
      [Buffer.from(svg), 'image/svg+xml', 30],
    ] as const) {
      const file = await world.stored(blob(bytes, type), `a.${type.slice(6, 9)}`);
      expect([type, file.width, digest(await bytesOf(file.url))]).toEqual([type, width, digest(bytes)]);
    }
  });

  it('UP10: the switches of v4 decide what is made', async () => {
    const bytes = await drawn(600, 400).jpeg({ quality: 100 }).withMetadata({ orientation: 6 }).toBuffer();
    await set({ sizeOptimization: false, responsiveDimensions: false, autoOrientation: false });
    const kept = await world.stored(blob(bytes, 'image/jpeg'), 'a.jpg');
    expect([digest(await bytesOf(kept.url)), Object.keys(kept.formats!)]).toEqual([digest(bytes), ['thumbnail']]);
    await unset();
    await set({ sizeOptimization: true, responsiveDimensions: true, autoOrientation: true });
    const turned = await world.stored(blob(bytes, 'image/jpeg'), 'a.jpg');
    expect([turned.width, turned.height, Object.keys(turned.formats!).sort()]).toEqual([
      400,
      600,
      ['small', 'thumbnail'],
    ]);
    await unset();
    const plain = await world.stored(blob(bytes, 'image/jpeg'), 'a.jpg');
    expect([plain.width, plain.height]).toEqual([600, 400]);
  });

  it('UP10: metadata such as the place where a photo was taken is removed', async () => {
    const bytes = await drawn(100, 80)
      .jpeg()
      .withExif({ IFD0: { Copyright: 'somebody' }, IFD3: { GPSLatitude: '51/1 30/1 0/1' } })
      .toBuffer();
    expect((await sharp(bytes).metadata()).exif).toBeDefined();
    const file = await world.stored(blob(bytes, 'image/jpeg'), 'a.jpg');
    expect((await sharp(await bytesOf(file.url)).metadata()).exif).toBeUndefined();
  });

  it('UP10: a small file with too many pixels is refused before it is decoded', async () => {
    for (const [width, height] of [
      [30_000, 30_000],
      [limits.imagePixelsMax / 1000 + 1, 1000],
    ] as const) {
      const bytes = flatPng(width, height);
      expect(bytes.length).toBeLessThan(200_000);
      const answer = await world.upload(blob(bytes, 'image/png'), 'bomb.png');
      expect(answer).toMatchObject({
        status: 400,
        body: { error: { message: `The image has more than ${limits.imagePixelsMax} pixels` } },
      });
    }
    expect([world.files(), await world.rows(), world.leftovers()]).toEqual([[], [], []]);
  });

  it('UP10: a damaged image is refused, and leaves nothing', async () => {
    const sound = await sharp(Buffer.from(Array.from({ length: 600 * 500 * 3 }, (_, i) => (i * 7919) % 251)), {
      raw: { width: 600, height: 500, channels: 3 },
    });
    for (const type of ['jpeg', 'png', 'webp', 'gif', 'tiff'] as const) {
      const bytes = await sound.clone().toFormat(type).toBuffer();
      const answer = await world.upload(blob(bytes.subarray(0, bytes.length >> 1), `image/${type}`), `half.${type}`);
      // half a WebP or TIFF has no readable head, so it is like any other file; half a GIF is a picture with a grey half
      const expected = type === 'jpeg' || type === 'png' ? 400 : 200;
      expect([type, answer.status]).toEqual([type, expected]);
      if (answer.status === 400)
        expect(answer.body).toMatchObject({
          error: { name: 'ApplicationError', message: 'File is not a valid image' },
        });
    }
    for (const file of (await world.send('GET', '/api/upload/files')).body as StoredFile[])
      await world.send('DELETE', `/api/upload/files/${file.id}`);
    expect([world.files(), world.leftovers()]).toEqual([[], []]);
  });

  it('UP10: neither huge nor compressed SVG is parsed', async () => {
    const svg = (more: string) => `<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20">${more}</svg>`;
    const deep = svg('<g>'.repeat(100_000));
    const nested = `<!DOCTYPE svg [<!ENTITY a "${'x'.repeat(1000)}">${['b', 'c', 'd', 'e', 'f', 'g']
      .map((it, i) => `<!ENTITY ${it} "${`&${'abcdef'[i]};`.repeat(20)}">`)
      .join('')}]>${svg('<text>&g;</text>')}`;
    const outside = svg('<image href="file:///etc/passwd" width="9" height="9"/>');
    const huge = svg(`<!--${'x'.repeat(limits.svgBytesMax)}-->`);
    for (const [text, width] of [
      [deep, null],
      [nested, null],
      [huge, null],
      [outside, 30],
    ] as const)
      expect((await world.stored(blob(text, 'image/svg+xml'), 'a.svg')).width).toBe(width);
    const zipped = zlib.gzipSync(svg(''));
    expect((await world.stored(blob(zipped, 'image/svg+xml'), 'a.svgz')).width).toBe(null);
  });

  it('UP10: other requests are answered while images are processed and stored', async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const waiting = await newMediaWorld(dialect, {
      store: (local) => ({
        ...local,
        put: async (key, object) => {
          if (key.endsWith('.jpg')) await gate;
          return local.put(key, object);
        },
      }),
    });
    const bytes = await drawn(2000, 1500).jpeg().toBuffer();
    const uploads = Array.from({ length: 6 }, () => waiting.upload(blob(bytes, 'image/jpeg'), 'a.jpg'));
    for (let i = 0; i < 10; i++) {
      expect((await waiting.send('POST', '/api/albums', { data: { title: `${i}` } })).status).toBe(200);
      expect((await waiting.stored(`${i}`, 'plain.txt')).mime).toBe('text/plain');
    }
    open();
    expect(new Set((await Promise.all(uploads)).map((it) => it.status))).toEqual(new Set([200]));
    await waiting.close();
  });
});
