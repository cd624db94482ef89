/** What is stored of an upload: names, rows, the folder, and how files are replaced and deleted. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dialects, queryOf } from '../world/databases.js';
import { form, type MediaWorld, newMediaWorld, type StoredFile } from '../world/media.js';

describe.each(dialects)('files on %s', (dialect) => {
  let world: MediaWorld;
  beforeAll(async () => {
    world = await newMediaWorld(dialect);
  });
  afterAll(() => world.close());
  const remove = (id: number) => world.send('DELETE', `/api/upload/files/${id}`);

  it.each([
    ...['../up.txt', '..', '.', '/etc/passwd', 'a/b.txt', 'C:\\x.txt', 'a:b', 'a*', 'a?', '<a>', 'a|b', 'a"b'],
    ...['a\u0000b.txt', 'a\u001f.txt', 'line\nbreak', 'con', 'NUL', 'com1', 'LPT9', 'x'.repeat(256)],
  ])('UP5: the name %j is refused', async (name) => {
    const before = world.files().length;
    const byInfo = await world.upload('x', 'a.txt', { fileInfo: JSON.stringify({ name }) });
    expect(byInfo).toMatchObject({
      status: 400,
      body: { error: { name: 'ApplicationError', message: 'File name contains invalid characters' } },
    });
    // what the parser takes for the end of a name is no part of it
    const byFile = await world.upload('x', name);
    if (byFile.status === 200) {
      const [file] = byFile.body as [StoredFile];
      expect(file.name).not.toMatch(/[\\/\0]/);
      await remove(file.id);
    }
    expect([world.files().length, await world.rows()]).toEqual([before, []]);
  });

  it.each([
    ['Ü b.TXT', /^UE?e?_b_[0-9a-f]{10}\.TXT$/],
    ['музей.txt', /^muzej_[0-9a-f]{10}\.txt$/],
    ['博物館.txt', /^_[0-9a-f]{10}\.txt$/],
    ['a.tar.gz', /^a_tar_[0-9a-f]{10}\.gz$/],
    ['.hidden', /^hidden_[0-9a-f]{10}\.txt$/],
    ['dot.', /^dot_[0-9a-f]{10}\.txt$/],
    ['odd.t%2Ft#x', /^odd_[0-9a-f]{10}\.txt$/],
    [`long.${'e'.repeat(100)}`, /^long_[0-9a-f]{10}\.txt$/],
    [`${'n'.repeat(250)}.txt`, /^n{149}_[0-9a-f]{10}\.txt$/],
    ['ß'.repeat(200), /^s{149}_[0-9a-f]{10}\.txt$/],
    ['\u202Egpj.txt', /^gpj_[0-9a-f]{10}\.txt$/],
  ])('UP5: %j is stored under an ASCII name, and found at its URL', async (name, stored) => {
    const file = await world.stored('content', name);
    expect([file.name, `${file.hash}${file.ext}`]).toEqual([name, expect.stringMatching(stored)]);
    expect(file.url).toBe(`/uploads/${file.hash}${file.ext}`);
    expect(world.files()).toEqual([`${file.hash}${file.ext}`]);
    expect(await (await fetch(world.base + file.url)).text()).toBe('content');
    expect((await remove(file.id)).status).toBe(200);
    expect(world.files()).toEqual([]);
  });

  it.each([
    ['a.png', '', 'image/png'],
    ['a.unknown', '', 'text/plain'],
    ['noext', 'application/octet-stream', 'application/octet-stream'],
    ['a.html', 'text/plain', 'text/plain'],
    ['a.svg', 'image/png', 'image/png'],
    ['a.txt', 'text/html', 'text/html'],
    ['a.txt', 'TEXT/HTML; charset=x', 'text/html'],
    ['a.pdf', '<script>', 'application/pdf'],
    ['a.pdf', `a/${'x'.repeat(500)}`, 'application/pdf'],
  ])('UP5: %s sent as %j is of type %s', async (name, type, mime) => {
    const lines = type === '' ? [] : [`Content-Type: ${type}`];
    const head = ['--abc', `Content-Disposition: form-data; name="files"; filename="${name}"`, ...lines];
    const answer = await fetch(`${world.base}/api/upload`, {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=abc' },
      body: `${head.join('\r\n')}\r\n\r\nx\r\n--abc--\r\n`,
    });
    const [file] = (await answer.json()) as [StoredFile];
    expect(file.mime).toBe(mime);
    await remove(file.id);
  });

  it('UP6: 30 first uploads at once make one folder, and every file is in it', async () => {
    const fresh = await newMediaWorld(dialect);
    try {
      const answers = await Promise.all(Array.from({ length: 30 }, (_, i) => fresh.upload(`${i}`, `${i}.txt`)));
      expect(new Set(answers.map((it) => it.status))).toEqual(new Set([200]));
      expect(await queryOf(fresh.database, 'select name, path, path_id from upload_folders')).toEqual([
        { name: 'API Uploads', path: '/1', path_id: expect.anything() },
      ]);
      const linked = await queryOf(
        fresh.database,
        "select count(*) as n from files f join files_folder_links l on l.file_id = f.id where f.folder_path = '/1'",
      );
      expect(Number(linked[0]!['n'])).toBe(30);
      expect(fresh.files().length).toBe(30);
    } finally {
      await fresh.close();
    }
  });

  it('UP7: fileInfo is an object for one file and a list for several, and says what is wrong with it', async () => {
    const two = [
      ['files', 'x', 'a.txt'],
      ['files', 'y', 'b.txt'],
    ] as const;
    const infos = new FormData();
    for (const info of ['{"caption":"first"}', '{"caption":"second"}']) infos.append('fileInfo', info);
    for (const [field, text, name] of two) infos.append(field, new Blob([text]), name);
    const answer = await world.send('POST', '/api/upload', infos);
    expect(answer.body).toMatchObject([
      { name: 'a.txt', caption: 'first' },
      { name: 'b.txt', caption: 'second' },
    ]);
    const asArray = form(two, { fileInfo: '[{"caption":"1"},{"caption":"2"}]' });
    expect((await world.send('POST', '/api/upload', asArray)).body).toMatchObject([{ caption: '1' }, { caption: '2' }]);
    for (const file of (await world.send('GET', '/api/upload/files')).body as StoredFile[]) await remove(file.id);
    for (const [fileInfo, message] of [
      ['[{},{},{}]', 'fileInfo: more than 2 values in one request'],
      ['{}', /^fileInfo must be a `array` type/],
      ['[1,2]', /^fileInfo must be a `array` type/],
      ['[{"caption":{}},{}]', /^fileInfo\[0\]\.caption must be a `string` type/],
      [`[{},{"caption":"${'x'.repeat(256)}"}]`, 'fileInfo[1].caption must be at most 255 characters'],
      [`[{"caption":"${'x'.repeat(256)}"},{}]`, /caption must be at most 255 characters/],
      ['[{"caption":"\\u0000"},{}]', /caption must be well-formed text/],
    ] as const) {
      const refused = await world.send('POST', '/api/upload', form(two, { fileInfo }));
      expect([fileInfo, refused]).toMatchObject([
        fileInfo,
        {
          status: 400,
          body: { error: { message: typeof message === 'string' ? message : expect.stringMatching(message) } },
        },
      ]);
    }
    expect([await world.rows(), world.files(), world.leftovers()]).toEqual([[], [], []]);
  });

  it('UP8: an id that is repeated or in brackets is a 400, not an upload of another file', async () => {
    for (const search of ['id=1&id=2', 'id[]=1', 'id[0]=1', 'id%5B%24eq%5D=1', 'id[]=1&id=1']) {
      const answer = await world.send('POST', `/api/upload?${search}`, form([['files', 'text', 'new.txt']]));
      expect([search, answer]).toMatchObject([search, { status: 400, body: { error: { name: 'ValidationError' } } }]);
    }
    expect([await world.rows(), world.files(), world.leftovers()]).toEqual([[], [], []]);
  });

  it('UP8: content that is replaced keeps id, hash and URL; objects that are not needed any more go', async () => {
    const png = await picture(600, 400);
    const old = await world.stored(new Blob([png], { type: 'image/png' }), 'old.png', {
      fileInfo: '{"caption":"stays"}',
    });
    expect(Object.keys(old.formats!).sort()).toEqual(['small', 'thumbnail']);
    const answer = await world.send('POST', `/api/upload?id=${old.id}`, form([['files', 'text', 'new.txt']]));
    expect(answer.body).toMatchObject({
      ...{ id: old.id, hash: old.hash, ext: '.png', url: old.url, caption: 'stays' },
      ...{ name: 'new.txt', mime: 'text/plain', formats: {}, width: null, size: 0 },
    });
    expect(world.files()).toEqual([`${old.hash}.png`]);
    const back = form([['files', new Blob([png], { type: 'image/png' }) as unknown as string, 'back.png']]);
    expect((await world.send('POST', `/api/upload?id=${old.id}`, back)).body).toMatchObject({ width: 600 });
    expect(world.files().length).toBe(3);
    await remove(old.id);
    expect([world.files(), world.leftovers()]).toEqual([[], []]);
  });

  it('UP8: replacing the same file at once leaves one of the contents, whole', async () => {
    const file = await world.stored('0', 'a.txt');
    const texts = Array.from({ length: 10 }, (_, i) => `${i}`.repeat(1000 + i));
    const answers = await Promise.all(
      texts.map((text, i) => world.send('POST', `/api/upload?id=${file.id}`, form([['files', text, `${i}.txt`]]))),
    );
    expect(new Set(answers.map((it) => it.status))).toEqual(new Set([200]));
    const { body } = await world.send('GET', `/api/upload/files/${file.id}`);
    const { name } = body as StoredFile;
    expect(await (await fetch(world.base + file.url)).text()).toBe(texts[Number.parseInt(name, 10)]);
    await remove(file.id);
    expect([world.files(), world.leftovers()]).toEqual([[], []]);
  });

  it('UP8: If-Match is checked', async () => {
    const file = await world.stored('0', 'a.txt');
    const url = `${world.base}/api/upload/files/${file.id}`;
    const tag = (await fetch(url)).headers.get('etag')!;
    const change = (match: string) =>
      fetch(`${world.base}/api/upload?id=${file.id}`, {
        method: 'POST',
        headers: { 'if-match': match },
        body: form([['files', 'new', 'b.txt']]),
      });
    expect((await change(tag)).status).toBe(200);
    expect((await change(tag)).status).toBe(412);
    expect((await fetch(url, { method: 'DELETE', headers: { 'if-match': tag } })).status).toBe(412);
    expect(await (await fetch(world.base + file.url)).text()).toBe('new');
    await remove(file.id);
  });

  it('UP9: a deleted file is gone with its formats; an entry that used it shows null', async () => {
    const png = new Blob([await picture(600, 400)], { type: 'image/png' });
    const file = await world.stored(png, 'a.png');
    const album = await world.send('POST', '/api/albums', { data: { title: 'x', cover: file.id } });
    const { id } = (album.body as { data: { id: number } }).data;
    const deleted = await remove(file.id);
    expect(deleted).toMatchObject({ status: 200, body: { id: file.id, url: file.url } });
    expect(world.files()).toEqual([]);
    const shown = await world.send('GET', `/api/albums/${id}?populate=cover`);
    expect(shown.body).toMatchObject({ data: { attributes: { cover: { data: null } } } });
    expect((await remove(file.id)).status).toBe(404);
  });

  it('UP9: the file of another provider loses its row only', async () => {
    const file = await world.stored('x', 'a.txt');
    await queryOf(world.database, `update files set provider = 'aws-s3' where id = ${file.id}`);
    expect((await remove(file.id)).status).toBe(200);
    expect([await world.rows(), world.files()]).toEqual([[], [`${file.hash}${file.ext}`]]);
  });
});

const picture = async (width: number, height: number): Promise<Uint8Array<ArrayBuffer>> => {
  const { default: sharp } = await import('sharp');
  return new Uint8Array(
    await sharp({ create: { width, height, channels: 3, background: 'teal' } })
      .png()
      .toBuffer(),
  );
};
