/** Pictures with damaged bytes under hostile names: never a 5xx, and a refused one leaves nothing behind. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { kitFiles } from '../conformance/cases.js';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects, queryOf } from '../world/databases.js';
import { form, newMediaWorld } from '../world/media.js';

const seed = seedOfRun();
/** 5,000 in a full run, for each database. */
const pictures = Number(process.env['DOVETAIL_PICTURES'] ?? 100);

const folder = path.join(kitFiles('museum').dir, 'files/send');
const originals = fs
  .readdirSync(folder)
  .filter((name) => /\.(png|jpg|gif|webp|tiff|avif|svg)$/.test(name))
  .map((name) => ({ name, bytes: fs.readFileSync(path.join(folder, name)) }));

/** Lengths and dimensions stand at the beginning of most formats. */
const damaged = (bytes: Buffer, random: Random): Buffer => {
  let result = Buffer.from(bytes);
  for (let times = random.between(0, 6); times > 0 && result.length > 0; times--) {
    const at = random.below(random.chance(0.5) ? Math.min(64, result.length) : result.length);
    const cut = random.pick([
      () =>
        result.fill(
          random.pick([0, 0xff, random.below(256)]),
          at,
          Math.min(result.length, at + random.pick([1, 4, 64])),
        ),
      () => result.writeUInt32BE(random.pick([0, 1, 0x7fffffff, 0xffffffff, 60_000]), Math.min(at, result.length - 4)),
      () => {
        result = result.subarray(0, at);
      },
      () => {
        result = Buffer.concat([result.subarray(0, at), result.subarray(at + random.below(200))]);
      },
      () => {
        const other = random.pick(originals).bytes;
        result = Buffer.concat([result.subarray(0, at), other.subarray(random.below(other.length))]);
      },
    ]);
    if (result.length >= 4) cut();
  }
  return result;
};

const names = [
  ...['../up.png', '..\\up.png', '/etc/passwd', 'C:\\a.png', '....//a.png', '%2e%2e%2fa.png', '.', '..', '...', '~'],
  ...['a\0.png', 'a\r\nb.png', '"a".png', "a'; drop table files; --.png", '<script>.png', 'a.png/', '\u202egnp.a.png'],
  ...[
    '.htaccess',
    'con.png',
    'a.php.png',
    'a.png.html',
    'a.',
    ' .png',
    '日本語.png',
    '\u{1f600}.png',
    '\ud800.png',
    '',
  ],
  ...['a', 'ß', '日', '.', ' ', '../'].flatMap((it) => [100, 255, 256, 5000].map((times) => `${it.repeat(times)}.png`)),
  `a.${'png'.repeat(100)}`,
];
const mediaTypes = ['image/png', 'image/jpeg', 'image/svg+xml', 'text/html', 'application/x-sh', 'a/b', 'x', 'é', ''];

describe(`damaged pictures, seed ${seed}`, () => {
  it.each(dialects)('on %s', { timeout: 3_600_000 }, async (dialect) => {
    const world = await newMediaWorld(dialect);
    await world.send('POST', '/api/albums', { data: { title: 'first' } });
    const random = newRandom(`${seed}/pictures`);
    const statuses = new Map<number, number>();
    for (let i = 0; i < pictures; i++) {
      const original = random.pick(originals);
      const name = random.chance(0.6) ? original.name : random.pick(names);
      const type = random.pick(mediaTypes);
      const content = new Blob([new Uint8Array(damaged(original.bytes, random))], { type });
      const [method, url, body] = random.pick([
        ['POST', '/api/upload', form([['files', content, name]])],
        [
          'POST',
          '/api/upload',
          form([['files', content, name]], {
            ref: 'api::album.album',
            refId: '1',
            field: random.pick(['any', 'cover']),
          }),
        ],
        ['POST', '/api/upload', form([['files', content, 'a.png']], { fileInfo: JSON.stringify({ name }) })],
        ['POST', '/api/upload?id=1', form([['files', content, name]])],
        ['POST', '/api/albums', form([['files.any', content, name]], { data: '{}' })],
      ] as const);
      const before = [await world.rows(), world.files()];
      const { status, body: answer } = await world.send(method, url, body);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status >= 500)
        expect.fail(
          `picture ${i}: ${status} ${url} ${original.name} ${JSON.stringify(name)} ${JSON.stringify(answer)}`,
        );
      if (status !== 200) expect([i, await world.rows(), world.files()]).toEqual([i, ...before]);
      expect([i, world.leftovers()]).toEqual([i, []]);
    }
    // enough of them are still pictures
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400]));
    const rows = await queryOf(world.database, 'select hash, ext, formats from files');
    const stored = rows.flatMap(({ hash, ext, formats }) => [
      `${hash}${ext}`,
      ...Object.keys((JSON.parse(String(formats)) as object | null) ?? {}).map((it) => `${it}_${hash}${ext}`),
    ]);
    expect(world.files()).toEqual(stored.sort());
    for (const name of stored)
      expect([name, (await fetch(`${world.base}/uploads/${encodeURIComponent(name)}`)).status]).toEqual([name, 200]);
    expect(world.faults).toEqual([]);
    await world.close();
  });
});
