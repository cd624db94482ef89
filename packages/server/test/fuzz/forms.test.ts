/** Forms that are damaged in random places: never a 5xx, and nothing is left of what was refused. */
import { describe, expect, it } from 'vitest';
import { newRandom, type Random, seedOfRun } from '../oracle/random.js';
import { dialects, queryOf } from '../world/databases.js';
import { newMediaWorld, type StoredFile } from '../world/media.js';

const seed = seedOfRun();
/** 5,000 in a full run. */
const forms = Number(process.env['DOVETAIL_FORMS'] ?? 120);

const part = (head: string, content: string): string =>
  `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`;

const whole = (random: Random): string => {
  const files = Array.from({ length: random.between(1, 3) }, (_, i) =>
    part(`name="files"; filename="${i}.txt"\r\nContent-Type: text/plain`, 'content '.repeat(random.between(1, 50))),
  );
  const fields = random.sample(
    [
      part('name="fileInfo"', '{"caption":"one","name":"a b.txt"}'),
      part('name="ref"', 'api::album.album'),
      part('name="refId"', '1'),
      part('name="field"', 'any'),
      part('name="data"', '{"title":"x"}'),
    ],
    5,
  );
  return `${random.shuffle([...files, ...fields]).join('')}--b--\r\n`;
};

const tokens = [
  ...['\r\n', '\r', '\n', '--b', '--b--', '"', ';', ':', '\0', '\\', 'é', '{', '}', '=', ' ', '../', '%22', '\uFEFF'],
  ...['Content-Disposition: ', 'Content-Type: image/png', "filename*=utf-8''a%00b", 'name="files"', 'filename="x.png"'],
];

const damaged = (text: string, random: Random): string => {
  let result = text;
  for (let times = random.between(1, 4); times > 0; times--) {
    const at = random.below(result.length);
    const length = random.between(0, random.pick([1, 3, 40]));
    const put = random.pick([
      '',
      random.pick(tokens),
      random.pick(tokens),
      result.slice(random.below(result.length)).slice(0, 60),
    ]);
    result = result.slice(0, at) + put + result.slice(at + length);
    if (random.chance(0.1)) result = result.slice(0, random.below(result.length) + 1);
  }
  return result;
};

describe(`damaged forms, seed ${seed}`, () => {
  it.each(dialects)('on %s', { timeout: 600_000 }, async (dialect) => {
    const world = await newMediaWorld(dialect);
    await world.send('POST', '/api/albums', { data: { title: 'first' } });
    const random = newRandom(`${seed}/forms`);
    const statuses = new Map<number, number>();
    for (let i = 0; i < forms; i++) {
      const body = damaged(whole(random), random);
      const [method, url] = random.pick([
        ['POST', '/api/upload'],
        ['POST', '/api/upload'],
        ['POST', '/api/upload?id=1'],
        ['POST', '/api/albums'],
        ['PUT', '/api/albums/1'],
      ] as const);
      const before = [await world.rows(), world.files()];
      const answer = await fetch(world.base + url, {
        method,
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        body,
      });
      const text = await answer.text();
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status >= 500) expect.fail(`form ${i}: ${answer.status} ${text}\n${JSON.stringify(body)}`);
      if (answer.status !== 200) expect([i, await world.rows(), world.files()]).toEqual([i, ...before]);
      expect([i, world.leftovers()]).toEqual([i, []]);
    }
    // enough of them are still forms
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400]));
    const rows = (await queryOf(world.database, 'select hash, ext from files')) as unknown as StoredFile[];
    expect(world.files()).toEqual(rows.map(({ hash, ext }) => `${hash}${ext}`).sort());
    expect(world.faults).toEqual([]);
    await world.close();
  });
});
