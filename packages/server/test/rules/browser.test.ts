/**
 * A real browser on a page of another origin: what the headers of RQ7 allow it to send and read, and that files below
 * `/uploads` run no code in the API's origin (RQ15).
 */
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newServer } from '../../src/http/server.js';
import { launchBrowser } from '../world/browser.js';
import { newPeopleWorld, type PeopleWorld, password } from '../world/people.js';
import { newTestDeps } from '../world/server.js';

/** A PNG of one color. */
const picture = (width: number, height: number): Buffer => {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(zlib.crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits of gray
  header[8] = 8;
  const rows = zlib.deflateSync(Buffer.alloc((width + 1) * height));
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
};

/** A tenth of a second of silence. */
const sound = (): Buffer => {
  const samples = 800;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + samples, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 128)]);
};

const script = "fetch('/api/genres?ran');document.title='ran'";
const files: Readonly<Record<string, string | Buffer>> = {
  'picture.png': picture(3, 2),
  'sound.wav': sound(),
  'text.txt': `<script>${script}</script>`,
  'page.html': `<title>page</title><script>${script}</script>`,
  'page.xht': `<html xmlns="http://www.w3.org/1999/xhtml"><head><title>page</title><script>${script}</script></head></html>`,
  'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg" width="5" height="4"><title>page</title><script>${script}</script></svg>`,
  'feed.xml': `<x xmlns:h="http://www.w3.org/1999/xhtml"><h:script>${script}</h:script></x>`,
};

/** Options of the browser's `fetch`. */
type Init = RequestInit & { readonly cache?: 'no-store' | 'no-cache' };

interface Heard {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

describe('a browser on a page of another origin', () => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-browser-'));
  let people: PeopleWorld;
  let api: Awaited<ReturnType<typeof newServer>>;
  let site: http.Server;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let base = '';
  /** Statuses and URLs of the requests that reached the API. */
  const answered: string[] = [];

  beforeAll(async () => {
    for (const [name, content] of Object.entries(files)) fs.writeFileSync(path.join(dir, name), content);
    const film = ['find', 'findOne', 'update'].map((it) => `api::film.film.${it}`);
    people = await newPeopleWorld('sqlite', { grants: { editor: film } });
    const { db, model } = people.world;
    api = await newServer(newTestDeps(db, model, { uploadsDir: dir, attemptsMax: 3 }));
    api.server.on('request', (request, response) =>
      response.once('finish', () => answered.push(`${response.statusCode} ${request.url}`)),
    );
    base = await api.listen({ host: '127.0.0.1', port: 0 });
    site = http.createServer((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<title>site</title>'),
    );
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    browser = await launchBrowser();
    context = await browser.newContext();
    page = await context.newPage();
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
  });
  afterAll(async () => {
    await browser?.close();
    site?.close();
    await api?.close();
    await people?.close();
    fs.rmSync(dir, { recursive: true });
  });

  /** What a script of the page receives; a text if the browser blocks the response. */
  const hear = (url: string, init: Init = {}): Promise<Heard | string> =>
    page.evaluate(
      async ([target, options]) => {
        try {
          const answer = await fetch(target, options);
          const text = await answer.text();
          return {
            status: answer.status,
            headers: Object.fromEntries(answer.headers),
            body: text === '' ? null : (JSON.parse(text) as unknown),
          };
        } catch (fault) {
          return String(fault);
        }
      },
      [base + url, init] as const,
    );
  const json = (body: unknown, headers: Record<string, string> = {}): Init => ({
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const login = async (): Promise<string> => {
    const heard = await hear('/api/auth/local', { method: 'POST', ...json({ identifier: 'editor', password }) });
    expect(heard).toMatchObject({ status: 200, body: { jwt: expect.any(String) } });
    return (heard as { body: { jwt: string } }).body.jwt;
  };

  it('RQ7: reads a list and its entity tag', async () => {
    const heard = await hear('/api/films?fields=title');
    expect(heard).toMatchObject({ status: 200, headers: { etag: expect.stringMatching(/^W\/"/) } });
  });

  it('RQ7: logs in, updates an entry with If-Match, and gets a 412 after it has changed', async () => {
    const authorization = `Bearer ${await login()}`;
    const url = '/api/films/1';
    const { etag } = ((await hear(url, { headers: { authorization } })) as Heard).headers;
    const put = (title: string) =>
      hear(url, { method: 'PUT', ...json({ data: { title } }, { authorization, 'if-match': etag! }) });
    expect(await put('changed by a browser')).toMatchObject({
      status: 200,
      body: { data: { attributes: { title: 'changed by a browser' } } },
    });
    expect(await put('changed once more')).toMatchObject({
      status: 412,
      body: { data: null, error: { name: 'PreconditionFailedError' } },
    });
  });

  it('RQ7: revalidates a response: 304', async () => {
    const url = '/api/films/2';
    const { etag } = ((await hear(url)) as Heard).headers;
    const again = await hear(url, { cache: 'no-store', headers: { 'if-none-match': etag! } });
    expect(again).toMatchObject({ status: 304, body: null });
    // the browser's own cache revalidates, and the page sees a 200
    answered.length = 0;
    expect(await hear(url, { cache: 'no-cache' })).toMatchObject({ status: 200, headers: { etag } });
    expect(answered).toEqual([`304 ${url}`]);
  });

  it('RQ7: reads Retry-After', async () => {
    const guess = () => hear('/api/auth/local', { method: 'POST', ...json({ identifier: 'nobody', password: 'x' }) });
    const heard = [await guess(), await guess(), await guess(), await guess()].at(-1);
    expect(heard).toMatchObject({
      status: 429,
      headers: { 'retry-after': expect.any(String), 'x-ratelimit-limit': '3', 'x-ratelimit-remaining': '0' },
    });
  });

  it('RQ7: sends the headers that common libraries add', async () => {
    const headers = { 'x-requested-with': 'XMLHttpRequest', 'strapi-response-format': 'v4', 'accept-language': 'de' };
    expect(await hear('/api/films?fields=id', { headers })).toMatchObject({ status: 200 });
    expect(await hear('/api/films?fields=id', { headers: { 'x-anything': '1' } })).toMatch(/Failed to fetch/);
  });

  it('RQ7: a page of an unlisted origin can read nothing', async () => {
    const { db, model } = people.world;
    const closed = await newServer(newTestDeps(db, model, { corsOrigin: ['https://one.example'] }));
    const address = await closed.listen({ host: '127.0.0.1', port: 0 });
    const said = await page.evaluate((url) => fetch(url).then(String, String), `${address}/api/films`);
    expect(said).toMatch(/Failed to fetch/);
    await closed.close();
  });

  it('RQ15: shows pictures, including SVG, and reads their bytes', async () => {
    const sizeOf = (name: string) =>
      page.evaluate(
        `(async (image) => {
          image.src = '${base}/uploads/${name}';
          await image.decode();
          return [image.naturalWidth, image.naturalHeight];
        })(new Image())`,
      );
    expect(await sizeOf('picture.png')).toEqual([3, 2]);
    expect(await sizeOf('drawing.svg')).toEqual([5, 4]);
    const bytes = await page.evaluate(
      async (url) => (await (await fetch(url)).blob()).size,
      `${base}/uploads/picture.png`,
    );
    expect(bytes).toBe(files['picture.png']?.length);
  });

  describe('opens a file below /uploads directly', () => {
    /** The page that embeds a file. */
    const open = async (name: string, policy?: 'without its header'): Promise<Page> => {
      const opened = await context.newPage();
      if (policy)
        await opened.route('**/uploads/**', async (route) => {
          const response = await route.fetch();
          const { 'content-disposition': _attachment, ...headers } = response.headers();
          await route.fulfill({ response, headers });
        });
      await opened.goto(`${base}/uploads/${name}`);
      return opened;
    };

    it.each(['page.html', 'page.xht', 'drawing.svg', 'feed.xml'])(
      'RQ15: %s is downloaded, not displayed',
      async (name) => {
        await expect(open(name)).rejects.toThrow('Download is starting');
      },
    );

    it.each(['page.html', 'page.xht', 'drawing.svg', 'feed.xml'])(
      'RQ15: %s runs no code even if it were displayed',
      async (name) => {
        answered.length = 0;
        const opened = await open(name, 'without its header');
        await opened.waitForLoadState('networkidle');
        expect(await opened.title()).not.toBe('ran');
        expect(answered.filter((it) => it.includes('ran'))).toEqual([]);
        await opened.close();
      },
    );

    it('RQ15: text is displayed as text', async () => {
      const opened = await open('text.txt');
      expect(await opened.innerText('body')).toBe(files['text.txt']);
      await opened.close();
    });

    it('RQ15: pictures and sound are displayed', async () => {
      const shown = await open('picture.png');
      expect(await shown.evaluate('document.images[0].naturalWidth')).toBe(3);
      const played = await open('sound.wav');
      await played.waitForFunction('document.querySelector("video").readyState >= 2');
      await Promise.all([shown.close(), played.close()]);
    });
  });
});
