/** `dovetail dev`: a change of the project's files is live without a dropped request. */
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { claimFile } from '../../src/sql/sqlite/claim.js';
import { dialects, newDatabase, type TestDatabase } from '../world/databases.js';
import { type Dev, saveByRename, startDev } from '../world/dev.js';
import { newFolder } from '../world/folders.js';
import { contentType, type Json, typeFile, writeFiles } from '../world/schemas.js';

const string = { type: 'string' };
const drafts = { options: { draftAndPublish: true } };

describe.each(dialects)('dev on %s', (dialect) => {
  let dir = '';
  /** Beside the project; there to the end, because dev says when a file goes that code has imported. */
  let shared = '';
  let database: TestDatabase;
  let dev: Dev;
  beforeAll(async () => {
    dir = newFolder();
    shared = newFolder();
    database = await newDatabase(dialect);
    writeFiles(dir, {
      'package.json': { type: 'module' },
      'dovetail.config.json': { permissions: { enabled: false } },
      [typeFile('article')]: contentType('article', { title: string }),
      'database/seed/articles.json': { first: { title: 'First' }, second: { title: 'Second' } },
    });
    dev = await startDev(dir, database.env);
  });
  afterAll(async () => {
    expect(await dev.stop()).toBe(0);
    await database.drop();
    for (const it of [dir, shared]) fs.rmSync(it, { recursive: true });
  });

  const write = (file: string, content: Json | string): void => writeFiles(dir, { [file]: content });
  const attributesOf = async (url: string): Promise<readonly unknown[]> => {
    const { body } = await dev.get(url);
    return (body as { readonly data: readonly { readonly attributes: object }[] }).data.map((it) =>
      Object.keys(it.attributes).filter((name) => !/At$/.test(name)),
    );
  };

  it('says what it serves, and where', () => {
    expect(dev.lines.find((it) => it.msg.startsWith('serving '))).toMatchObject({ url: dev.url });
  });

  it('adds a column for a new attribute, which kept responses and entries show too', async () => {
    // kept, once as a response and once as entries on another page
    for (let i = 0; i < 4; i++) expect(await attributesOf('/api/articles')).toEqual([['title'], ['title']]);
    for (let i = 0; i < 4; i++) await attributesOf('/api/articles?sort=title:desc');
    write(
      typeFile('article'),
      contentType('article', { title: string, subtitle: { type: 'string', default: 'none' } }),
    );
    expect(await dev.said('live in')).toMatchObject({ changes: ['article: + subtitle (string)'] });
    expect(await attributesOf('/api/articles')).toEqual([
      ['title', 'subtitle'],
      ['title', 'subtitle'],
    ]);
    expect(await attributesOf('/api/articles?sort=title:desc')).toEqual([
      ['title', 'subtitle'],
      ['title', 'subtitle'],
    ]);
    const made = await dev.send('POST', '/api/articles', { data: { title: 'Third', subtitle: 'And last' } });
    expect(made).toMatchObject({ status: 200, body: { data: { attributes: { subtitle: 'And last' } } } });
  });

  it('writes by the new model: statements of the old one are not used again', async () => {
    const create = async (data: Json): Promise<number> => {
      const { status, body } = await dev.send('POST', '/api/articles', { data });
      expect(status).toBe(200);
      return (body as { readonly data: { readonly id: number } }).data.id;
    };
    // both read the entry, of which drafts are told by a column
    expect(await dev.send('PUT', '/api/articles/3', { data: { title: 'Third' } })).toMatchObject({ status: 200 });
    await dev.send('DELETE', `/api/articles/${await create({ title: 'Gone' })}`, undefined);
    const schema = contentType('article', { title: { ...string, required: true } });
    write(typeFile('article'), { ...schema, ...drafts });
    expect((await dev.said('live in')).changes).toEqual(['article: - subtitle, ~ title (required), draftAndPublish']);
    const draft = await create({ publishedAt: null });
    const update = (data: Json) => dev.send('PUT', `/api/articles/${draft}`, { data });
    expect(await update({ title: null })).toMatchObject({ status: 200 });
    expect(await update({ publishedAt: '2026-01-01T00:00:00.000Z' })).toMatchObject({ status: 400 });
    expect(await dev.get(`/api/articles/${draft}`)).toMatchObject({ status: 404 });
    expect(await dev.send('DELETE', `/api/articles/${draft}`, undefined)).toMatchObject({ status: 200 });
    write(typeFile('article'), contentType('article', { title: string }));
    await dev.said('live in');
  });

  it('does not drop what is declared no longer, and names the command that would', async () => {
    write(typeFile('article'), contentType('article', { title: string, extra: string }));
    await dev.said('live in');
    await dev.send('PUT', '/api/articles/2', { data: { extra: 'kept' } });
    write(typeFile('article'), contentType('article', { title: string, addition: string }));
    expect((await dev.said('live in')).changes).toEqual(['article: + addition (string), - extra']);
    expect((await dev.said('declared no longer')).msg).toBe(
      'declared no longer, and still in the database with what it holds: article.extra. dovetail migrate plan says what it was, and drops it if asked',
    );
    expect(dev.lines.map((it) => it.msg)).toContainEqual(
      expect.stringContaining('dovetail migrate plan --rename article.subtitle=extra'),
    );
    write(typeFile('article'), contentType('article', { title: string, extra: string }));
    await dev.said('live in');
    expect(await dev.get('/api/articles/2')).toMatchObject({ body: { data: { attributes: { extra: 'kept' } } } });
  });

  it('serves a column of another type as it is stored, and says so', async () => {
    write(typeFile('article'), contentType('article', { title: string, extra: { type: 'integer' } }));
    expect((await dev.said('live in')).changes).toEqual(['article: ~ extra (string → integer)']);
    expect(
      dev.lines.some((it) =>
        /column articles\.extra is .*, but its schema file declares .*dovetail migrate plan/.test(it.msg),
      ),
    ).toBe(true);
    expect(await dev.get('/api/articles/2')).toMatchObject({ body: { data: { attributes: { extra: 'kept' } } } });
    write(typeFile('article'), contentType('article', { title: string }));
    await dev.said('live in');
  });

  it('serves a new type with relations to an old one, and no type that was removed', async () => {
    const target = { type: 'relation', relation: 'manyToOne', target: 'api::article.article' };
    write(typeFile('note'), contentType('note', { text: string, article: target }));
    expect((await dev.said('live in')).changes).toEqual(['note: new type, /api/notes']);
    const data = { text: 'Hello', article: 1 };
    expect(await dev.send('POST', '/api/notes?populate=article', { data })).toMatchObject({
      status: 200,
      body: { data: { attributes: { text: 'Hello', article: { data: { id: 1 } } } } },
    });
    fs.rmSync(path.join(dir, 'src/api/note'), { recursive: true });
    expect((await dev.said('live in')).changes).toEqual(['note: type removed']);
    expect(await dev.get('/api/notes')).toMatchObject({ status: 404 });
    write(typeFile('note'), contentType('note', { text: string, article: target }));
    await dev.said('live in');
    // the folder was deleted and made again
    write(typeFile('note'), contentType('note', { text: string, article: target, more: string }));
    expect((await dev.said('live in')).changes).toEqual(['note: + more (string)']);
    expect(await attributesOf('/api/notes')).toEqual([['text', 'more']]);
  });

  it('follows editors that replace files, and takes files that are saved together as one change', async () => {
    const file = path.join(dir, typeFile('article'));
    for (const name of ['one', 'two', 'three']) {
      saveByRename(file, JSON.stringify(contentType('article', { title: string, [name]: string })));
      expect((await dev.said('live in')).changes?.[0]).toContain(`+ ${name} (string)`);
    }
    const names = Array.from({ length: 20 }, (_, i) => `leaf-${String.fromCharCode(97 + i)}`);
    const before = dev.lines.length;
    for (const name of names) write(typeFile(name), contentType(name, { text: string }));
    saveByRename(file, JSON.stringify(contentType('article', { title: string })));
    const { changes, msg } = await dev.said('live in');
    expect(changes).toHaveLength(21);
    expect(msg).toMatch(/; 15 more {2}live in \d+ ms$/);
    for (const name of names) fs.rmSync(path.join(dir, 'src/api', name), { recursive: true });
    await dev.said('live in');
    expect(dev.lines.slice(before).filter((it) => it.changes)).toHaveLength(2);
  });

  it('says nothing of files that are saved as they were', async () => {
    const before = dev.lines.length;
    const schema = contentType('article', { title: string });
    write(typeFile('article'), schema);
    write('src/api/article/README.md', 'About articles');
    write(typeFile('article'), contentType('article', { title: { type: 'string', required: true } }));
    expect((await dev.said('live in')).changes).toEqual(['article: ~ title (required)']);
    expect(dev.lines.slice(before).filter((it) => it.changes)).toHaveLength(1);
    write(typeFile('article'), schema);
    expect((await dev.said('live in')).changes).toEqual(['article: ~ title (not required)']);
  });

  it('reloads handlers and what they import, also from other folders', async () => {
    fs.writeFileSync(path.join(shared, 'word.ts'), `export const word: string = 'first';`);
    write('src/lib/words.ts', `export { word } from '${shared}/word.ts';`);
    write(
      'src/api/article/handlers.ts',
      `import { word } from '../../lib/words.js';\nexport default { find: async () => ({ data: word }) };`,
    );
    const files = ['+ src/api/article/handlers.ts', '+ src/lib/words.ts'];
    expect((await dev.said('live in')).changes).toEqual([expect.stringContaining('word.ts'), ...files]);
    expect(await dev.get('/api/articles')).toMatchObject({ body: { data: 'first' } });
    fs.writeFileSync(path.join(shared, 'word.ts'), `export const word: string = 'second';`);
    await dev.said('live in');
    expect(await dev.get('/api/articles')).toMatchObject({ body: { data: 'second' } });
    saveByRename(path.join(shared, 'word.ts'), `export const word: string = 'third';`);
    await dev.said('live in');
    expect(await dev.get('/api/articles')).toMatchObject({ body: { data: 'third' } });
    write('src/lib/words.ts', `export const word = 'own';`);
    expect((await dev.said('live in')).changes).toContain('src/lib/words.ts');
    expect(await dev.get('/api/articles')).toMatchObject({ body: { data: 'own' } });
    fs.rmSync(path.join(dir, 'src/api/article/handlers.ts'));
    await dev.said('live in');
    expect(await attributesOf('/api/articles')).toContainEqual(['title']);
  });

  it('requests in flight end with the old code, new ones get the new code, on the same connections', async () => {
    const gate = path.join(dir, 'gate');
    const handler = (word: string) => `
import fs from 'node:fs';
export default {
  find: async ({ request: { search } }) => {
    if (search === 'wait') {
      fs.writeFileSync(${JSON.stringify(`${gate}-reached`)}, '');
      while (!fs.existsSync(${JSON.stringify(gate)})) await new Promise((resolve) => setImmediate(resolve));
    }
    return { data: '${word}' };
  },
};`;
    write('src/api/article/handlers.js', handler('old'));
    await dev.said('live in');
    const agent = new http.Agent({ keepAlive: true });
    const ask = async (search: string) => {
      const request = http.get(`${dev.url}/api/articles${search}`, { agent });
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      let text = '';
      for await (const chunk of response) text += String(chunk);
      return {
        status: response.statusCode,
        data: (JSON.parse(text) as { readonly data: string }).data,
        reused: request.reusedSocket,
      };
    };
    expect(await ask('')).toMatchObject({ status: 200, data: 'old' });
    const waiting = ask('?wait');
    while (!fs.existsSync(`${gate}-reached`)) await new Promise(setImmediate);
    await ask('');
    write('src/api/article/handlers.js', handler('new'));
    await dev.said('live in');
    expect(await ask('')).toEqual({ status: 200, data: 'new', reused: true });
    fs.writeFileSync(gate, '');
    expect(await waiting).toEqual({ status: 200, data: 'old', reused: true });
    agent.destroy();
    fs.rmSync(path.join(dir, 'src/api/article/handlers.js'));
    await dev.said('live in');
  });

  it('drops no request while the model changes', async () => {
    let isDone = false;
    const statuses = new Map<number, number>();
    const readers = Array.from({ length: 4 }, async (_, i) => {
      while (!isDone) {
        const { status } =
          i === 0
            ? await dev.send('PUT', '/api/articles/1', { data: { title: `Title ${i}` } })
            : await dev.get(`/api/articles?populate=*&page=${i}`.replace('page=', 'pagination[page]='));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    for (let i = 0; i < 6; i++) {
      write(typeFile('article'), contentType('article', { title: string, [`more${i % 2}`]: string }));
      await dev.said('live in');
    }
    isDone = true;
    await Promise.all(readers);
    expect([...statuses.keys()]).toEqual([200]);
    write(typeFile('article'), contentType('article', { title: string }));
    await dev.said('live in');
  });

  it('follows the configuration and the environment, and says what a new start needs', async () => {
    write('dovetail.config.json', { permissions: { enabled: false }, api: { rest: { prefix: '/v1' } } });
    expect((await dev.said('live in')).changes).toEqual(['configuration: api.rest.prefix "/api" → "/v1"']);
    expect(await dev.get('/v1/articles')).toMatchObject({ status: 200 });
    expect(await dev.get('/api/articles')).toMatchObject({ status: 404 });
    write('dovetail.config.json', { permissions: { enabled: false } });
    await dev.said('live in');
    write('.env', 'LOG_LEVEL=debug\nSMTP_PASSWORD=very secret\n');
    expect((await dev.said('live in')).changes).toEqual(['.env: LOG_LEVEL info → debug', '.env: SMTP_PASSWORD']);
    await dev.get('/api/articles');
    await dev.said(/^request$/);
    fs.rmSync(path.join(dir, '.env'));
    await dev.said('live in');
  });
});

describe.each(dialects)('seeds in dev on %s', (dialect) => {
  it('writes what is added to them, and says what it leaves', async () => {
    const dir = newFolder();
    const database = await newDatabase(dialect);
    const author = { type: 'relation', relation: 'manyToOne', target: 'api::author.author' };
    const may = (...actions: readonly string[]) => ({ public: actions.map((it) => `api::article.article.${it}`) });
    writeFiles(dir, {
      [typeFile('author')]: contentType('author', { name: string }),
      [typeFile('article')]: contentType('article', { title: string, author }),
      'database/seed/authors.json': { jane: { name: 'Jane' } },
      'database/seed/articles.json': { first: { title: 'First', author: 'jane' } },
    });
    const dev = await startDev(dir, database.env);
    expect(await dev.get('/api/articles')).toMatchObject({ status: 403 });
    writeFiles(dir, { 'database/seed/permissions.json': may('find') });
    expect((await dev.said('live in')).changes).toEqual([
      '+ database/seed/permissions.json: public api::article.article.find',
    ]);
    expect(await dev.get('/api/articles')).toMatchObject({ status: 200, body: { data: [{ id: 1 }] } });
    const more = { second: { title: 'Second', author: 'jane' }, third: { title: 'Third', author: 'joan' } };
    const first = { title: 'First', author: 'jane' };
    writeFiles(dir, { 'database/seed/articles.json': { first, ...more } });
    // the author is in a file that is saved later
    expect((await dev.said('not applied')).msg).toMatch(/articles\.json: "third": author names "joan"/);
    writeFiles(dir, { 'database/seed/authors.json': { jane: { name: 'Jane' }, joan: { name: 'Joan' } } });
    expect((await dev.said('live in')).changes).toEqual([
      '+ database/seed/articles.json: "second"',
      '+ database/seed/articles.json: "third"',
      '+ database/seed/authors.json: "joan"',
    ]);
    expect(await dev.get('/api/articles?fields=title&sort=id')).toMatchObject({
      body: { data: ['First', 'Second', 'Third'].map((title) => ({ attributes: { title } })) },
    });
    writeFiles(dir, {
      'database/seed/articles.json': { first: { title: 'Changed' }, second: more.second },
      'database/seed/permissions.json': may('findOne'),
    });
    expect((await dev.said('live in')).changes).toEqual([
      '+ database/seed/permissions.json: public api::article.article.findOne',
    ]);
    expect((await dev.said('not applied')).msg).toBe(
      'database/seed: not applied, because seeds are written once: articles.json: "first" was changed; "third" of api::article.article was removed; permissions.json: to revoke it, run: dovetail role deny public api::article.article.find. Make the change through the API, or start with an empty database',
    );
    expect(await dev.get('/api/articles/1')).toMatchObject({ body: { data: { attributes: { title: 'First' } } } });
    expect(await dev.stop()).toBe(0);
    await database.drop();
    fs.rmSync(dir, { recursive: true });
  });
});

describe('dev', () => {
  it('moves to another database, and says that another port needs a new start', async () => {
    const dir = newFolder();
    writeFiles(dir, {
      'dovetail.config.json': { permissions: { enabled: false } },
      [typeFile('article')]: contentType('article', { title: string }),
      'database/seed/articles.json': { first: { title: 'First' } },
    });
    const dev = await startDev(dir, {});
    await dev.send('POST', '/api/articles', { data: { title: 'Second' } });
    writeFiles(dir, { '.env': 'DATABASE_FILENAME=.tmp/other.db\n' });
    expect((await dev.said('live in')).changes).toEqual(['.env: DATABASE_FILENAME .tmp/data.db → .tmp/other.db']);
    expect(await dev.get('/api/articles')).toMatchObject({ body: { meta: { pagination: { total: 1 } } } });
    // the first database is free for other programs, and may be served again
    await vi.waitFor(() => {
      const claim = claimFile(path.join(dir, '.tmp/data.db'));
      claim?.release();
      expect(claim).not.toBeNull();
    }, 5000);
    writeFiles(dir, { '.env': 'DATABASE_FILENAME=.tmp/data.db\n' });
    await dev.said('live in');
    expect(await dev.get('/api/articles')).toMatchObject({ body: { meta: { pagination: { total: 2 } } } });
    expect(dev.lines.filter((it) => it.msg.includes('also served'))).toEqual([]);
    expect(await dev.stop()).toBe(0);
    const again = await startDev(dir, { PORT: '0', DATABASE_FILENAME: '.tmp/data.db' });
    expect(again.lines.some((it) => /^serving/.test(it.msg))).toBe(true);
    expect(await again.stop()).toBe(0);
    fs.rmSync(dir, { recursive: true });
  });
});
