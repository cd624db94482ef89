/** Forms as they arrive: what is malformed, too large or too slow is refused, and leaves nothing. */
import { once } from 'node:events';
import net from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { dialects } from '../world/databases.js';
import { form, type MediaWorld, newMediaWorld } from '../world/media.js';

const boundary = 'abc';
const typeOfForm = `multipart/form-data; boundary=${boundary}`;
const filePart = (name: string, content: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="files"; filename="${name}"\r\nContent-Type: text/plain\r\n\r\n${content}\r\n`;
const fieldPart = (name: string, value: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const end = `--${boundary}--\r\n`;

describe.each(dialects)('forms on %s', (dialect) => {
  let world: MediaWorld;
  beforeAll(async () => {
    world = await newMediaWorld(dialect, {
      media: { bounds: { fileBytesMax: 100_000, msMax: 60_000, stalledMsMax: 60_000 } },
    });
  });
  afterAll(() => world.close());

  const post = async (body: string | Buffer, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${world.base}/api/upload`, {
      method: 'POST',
      headers: { 'content-type': typeOfForm, ...headers },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });
    return { status: answer.status, body: (await answer.json()) as { error?: { message: string } } };
  };

  const expectNothing = async (): Promise<void> => {
    expect([await world.rows(), world.files(), world.leftovers(), world.faults]).toEqual([[], [], [], []]);
  };

  it.each([
    ['no boundary', 'x', { 'content-type': 'multipart/form-data' }],
    ['an empty boundary', 'x', { 'content-type': 'multipart/form-data; boundary=' }],
    ['no body', '', {}],
    ['other text', 'garbage', {}],
    ['another boundary', filePart('a.txt', 'x') + end, { 'content-type': 'multipart/form-data; boundary=other' }],
    ['an end within the headers', '--abc\r\nContent-Disposition: form-data; na', {}],
    ['an end within a file', filePart('a.txt', 'half').slice(0, -4), {}],
    ['an end after a file', filePart('a.txt', 'whole'), {}],
    ['an end within the last boundary', `${filePart('a.txt', 'whole')}--ab`, {}],
  ])('UP1: a form with %s is a 400', async (_what, body, headers) => {
    const answer = await post(body, headers);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { name: 'ValidationError', message: 'The body is not valid multipart/form-data' } },
    });
    await expectNothing();
  });

  it('UP1: text before the first boundary and after the last is no part of the form', async () => {
    expect((await post(`before\r\n${filePart('odd.txt', 'x')}${end}after`)).status).toBe(200);
    const [file] = (await world.send('GET', '/api/upload/files')).body as { id: number }[];
    await world.send('DELETE', `/api/upload/files/${file!.id}`);
    await expectNothing();
  });

  it('UP2: files of one request that are too large together are a 413', async () => {
    for (const sizes of [[100_001], [50_000, 50_001], [1_000_000]]) {
      const body = sizes.map((size, i) => filePart(`${i}.txt`, 'x'.repeat(size))).join('') + end;
      const answer = await post(body);
      expect([answer.status, answer.body.error?.message]).toEqual([413, 'FileTooBig']);
      await expectNothing();
    }
    expect((await post(filePart('a.txt', 'x'.repeat(100_000)) + end)).status).toBe(200);
    const [file] = (await world.send('GET', '/api/upload/files')).body as { id: number }[];
    await world.send('DELETE', `/api/upload/files/${file!.id}`);
  });

  it('UP2: a form that announces too much is refused at once', async () => {
    const socket = net.connect(world.port, '127.0.0.1');
    socket.write(
      `POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: ${typeOfForm}\r\nContent-Length: 1000000000\r\n\r\n`,
    );
    socket.on('error', () => undefined);
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    expect(String(bytes)).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
    await expectNothing();
  });

  it('UP2: too many parts, too many files and too much text are a 413', async () => {
    const parts = Array.from({ length: 10_000 }, (_, i) => fieldPart(`f${i}`, 'x')).join('');
    const files = Array.from({ length: limits.formFilesMax + 1 }, (_, i) => filePart(`${i}.txt`, 'x')).join('');
    const text = fieldPart('fileInfo', 'x'.repeat(limits.bodyBytesMax + 1));
    const texts = Array.from({ length: 3 }, () => fieldPart('fileInfo', 'x'.repeat(limits.bodyBytesMax / 2))).join('');
    for (const [body, message] of [
      [filePart('a.txt', 'x') + parts, `The form has more than ${limits.formPartsMax} parts`],
      [files, `The form has more than ${limits.formFilesMax} files`],
      [filePart('a.txt', 'x') + text, 'request entity too large'],
      [filePart('a.txt', 'x') + texts, 'request entity too large'],
    ] as const) {
      const answer = await post(body + end);
      expect([answer.status, answer.body.error?.message]).toEqual([413, message]);
      await expectNothing();
    }
  });

  it('UP2: a compressed form is a 415', async () => {
    for (const encoding of ['gzip', 'br', 'deflate']) {
      const answer = await post(gzipSync(filePart('a.txt', 'x') + end), { 'content-encoding': encoding });
      expect([answer.status, answer.body.error?.message]).toEqual([415, 'Forms must not be compressed']);
    }
    await expectNothing();
  });

  it('UP1: names that are members of every object are ordinary fields', async () => {
    for (const name of ['__proto__', 'constructor', 'toString', '']) {
      const answer = await post(fieldPart(name, '{"x":1}') + end);
      expect([name, answer.status, answer.body.error?.message]).toEqual([name, 400, 'Files are empty']);
    }
    await expectNothing();
  });

  it('UP1: a file input in which nothing was chosen is no file', async () => {
    const nothing = `--abc\r\nContent-Disposition: form-data; name="files"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n`;
    expect((await post(nothing + end)).body.error?.message).toBe('Files are empty');
    await expectNothing();
  });

  it('UP3: files in another field are refused beside those of "files"', async () => {
    const other = form([
      ['files', 'x', 'a.txt'],
      ['photos', 'x', 'b.txt'],
    ]);
    const answer = await world.send('POST', '/api/upload', other);
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { message: 'Files belong in the field "files", not "photos"' } },
    });
    const alone = await world.send('POST', '/api/upload', form([['photos', 'x', 'b.txt']]));
    expect(alone).toMatchObject({ status: 400, body: { error: { message: 'Files are empty' } } });
    await expectNothing();
  });
});

describe('slow senders', () => {
  const [dialect = 'sqlite'] = dialects;
  const slowBounds = { fileBytesMax: 1_000_000 };

  /** A request over a socket, and what is received until the server closes the connection. */
  const begin = (world: MediaWorld, head: string): { readonly socket: net.Socket; heard(): Promise<string> } => {
    const socket = net.connect(world.port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += String(bytes);
    });
    socket.on('error', () => undefined);
    socket.write(head);
    const closed = new Promise((resolve) => socket.on('close', resolve));
    return { socket, heard: () => closed.then(() => text) };
  };
  const formHead = `POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: ${typeOfForm}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const jsonHead =
    'POST /api/albums HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n';
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

  it('UP4: a form of which nothing arrives for too long is a 408', async () => {
    const bounds = { ...slowBounds, msMax: 60_000, stalledMsMax: 50 };
    const world = await newMediaWorld(dialect, {
      media: { bounds },
      settings: { sending: { bodyMsMax: 60_000, discardMsMax: 20 } },
    });
    const { heard } = begin(world, formHead + chunk(filePart('a.txt', 'begun')));
    expect(await heard()).toMatch(/^HTTP\/1\.1 408 .*RequestTimeoutError/s);
    expect([await world.rows(), world.files(), world.leftovers()]).toEqual([[], [], []]);
    await world.close();
  });

  it('UP4: a form that arrives for too long, byte by byte, is a 408', async () => {
    const bounds = { ...slowBounds, msMax: 100, stalledMsMax: 60_000 };
    const world = await newMediaWorld(dialect, {
      media: { bounds },
      settings: { sending: { bodyMsMax: 60_000, discardMsMax: 20 } },
    });
    const { socket, heard } = begin(world, formHead + chunk(filePart('a.txt', 'begun').slice(0, -2)));
    const drip = setInterval(() => socket.writable && socket.write(chunk('x')), 5);
    expect(await heard()).toMatch(/^HTTP\/1\.1 408 .*RequestTimeoutError/s);
    clearInterval(drip);
    expect([await world.rows(), world.files(), world.leftovers()]).toEqual([[], [], []]);
    await world.close();
  });

  it('UP4: the rest of a refused form is read only for a while', async () => {
    const world = await newMediaWorld(dialect, {
      mode: 'roles',
      settings: { sending: { bodyMsMax: 60_000, discardMsMax: 20 } },
    });
    const { socket, heard } = begin(world, formHead);
    const flood = setInterval(() => socket.writable && socket.write(chunk('x'.repeat(1000))), 5);
    expect(await heard()).toMatch(/^HTTP\/1\.1 401 .*UnauthorizedError/s);
    clearInterval(flood);
    expect([await world.rows(), world.files(), world.leftovers()]).toEqual([[], [], []]);
    await world.close();
  });

  it('RQ16: the rest of a body that cannot be decompressed is read only for a while', async () => {
    const world = await newMediaWorld(dialect, { settings: { sending: { bodyMsMax: 60_000, discardMsMax: 20 } } });
    const form = `${filePart('a.txt', 'x')}${end}`;
    const stored = `POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: ${typeOfForm}\r\nContent-Length: ${form.length}\r\n\r\n${form}`;
    const broken = (type: string): string =>
      `POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Encoding: gzip\r\nContent-Length: 100\r\n\r\nno gzip`;
    // its response waits for that of the upload; when it is sent, Node has destroyed the request
    expect(await begin(world, stored + broken('application/json')).heard()).toMatch(
      /^HTTP\/1\.1 200 .*HTTP\/1\.1 400 /s,
    );
    // takes longer than the first one was read
    expect(await begin(world, broken(typeOfForm)).heard()).toMatch(/^HTTP\/1\.1 415 /);
    await world.close();
  });

  it('RQ16: a connection stays open after a body that nobody reads, once it has arrived', async () => {
    const world = await newMediaWorld(dialect, { settings: { sending: { bodyMsMax: 50, discardMsMax: 50 } } });
    const socket = net.connect(world.port, '127.0.0.1');
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      text += String(bytes);
    });
    const answers = async (count: number): Promise<void> => {
      while (text.split('HTTP/1.1 ').length <= count) await once(socket, 'data');
    };
    const form = `${filePart('a.txt', 'x')}${end}`;
    const unread = [
      `GET /api/albums HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`,
      `POST /api/nothing HTTP/1.1\r\nHost: x\r\nContent-Type: ${typeOfForm}\r\nContent-Length: ${form.length}\r\n\r\n${form}`,
      `DELETE /api/albums/999 HTTP/1.1\r\nHost: x\r\nContent-Type: ${typeOfForm}\r\nContent-Length: ${form.length}\r\n\r\n${form}`,
    ];
    for (const [i, request] of unread.entries()) {
      socket.write(request);
      await answers(i + 1);
    }
    // by the time that two later requests are cut off, this connection would have been
    await begin(world, `${jsonHead}{"data":`).heard();
    await begin(world, `${jsonHead}{"data":`).heard();
    expect(socket.destroyed).toBe(false);
    socket.write('GET /api/albums HTTP/1.1\r\nHost: x\r\n\r\n');
    await answers(4);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 404', 'HTTP/1.1 200']);
    socket.destroy();
    await world.close();
  });

  it.each(['application/json', 'application/vnd.api+json'])(
    'RQ16: %s that arrives after its 408 writes nothing',
    async (type) => {
      const world = await newMediaWorld(dialect, { settings: { sending: { bodyMsMax: 50, discardMsMax: 20 } } });
      const body = '{"data":{"title":"too late"}}'.padEnd(50);
      const socket = net.connect({ port: world.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined);
      socket.write(jsonHead.replace('application/json', type) + body.slice(0, 10));
      expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 408 /);
      const closed = once(socket, 'close');
      socket.end(body.slice(10));
      socket.resume();
      await closed;
      const { body: albums } = await world.send('GET', '/api/albums');
      expect(albums).toMatchObject({ data: [] });
      await world.close();
    },
  );

  it('RQ16: a JSON body that does not arrive in time is a 408', async () => {
    const world = await newMediaWorld(dialect, { settings: { sending: { bodyMsMax: 50, discardMsMax: 20 } } });
    const { heard } = begin(world, `${jsonHead}{"data":`);
    expect(await heard()).toMatch(/^HTTP\/1\.1 408 .*RequestTimeoutError/s);
    // a request that is in time is not cut off later
    const ok = await world.send('POST', '/api/albums', { data: { title: 'in time' } });
    expect(ok.status).toBe(200);
    await world.close();
  });
});
