/** `explain`: what a URL means for a caller, and what the caller does not get. */
import fs from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ExplainOptions, explain } from '../../src/cli/commands/explain.js';
import { bringUp } from '../../src/cli/layout.js';
import { openProject } from '../../src/cli/project.js';
import { tablesOf } from '../../src/model/storage.js';
import type { TableRead } from '../../src/sql/dialect.js';
import { insertRows, newDatabase, queryOf, type TestDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { newPeopleWorld, type PeopleWorld } from '../world/people.js';
import { printed } from '../world/printed.js';
import { writeFiles } from '../world/schemas.js';
import { writeSmall } from '../world/small.js';
import { dialects, projectDir } from '../world/world.js';

describe.each(dialects)('explain on %s', (dialect) => {
  let people: PeopleWorld;
  beforeAll(async () => {
    people = await newPeopleWorld(dialect, { grants: { editor: ['api::film.film.find', 'api::donor.donor.find'] } });
  });
  afterAll(() => people.close());
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });

  const explained = async (url: string, options: Partial<ExplainOptions> = {}) => {
    for (const [name, value] of Object.entries(people.world.env)) vi.stubEnv(name, value);
    const text = { out: '', said: '' };
    vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
      text.out += String(chunk);
      return true;
    });
    vi.spyOn(process.stderr, 'write').mockImplementation((chunk) => {
      text.said += String(chunk);
      return true;
    });
    await explain(projectDir, url, { json: false, ...options });
    return text;
  };

  it('reports what the caller may not see, and why', async () => {
    const { out } = await explained('/api/films?fields=id&populate=lender,confidant,director');
    expect(out).toContain('\n  left out: film.lender (role:public may not api::donor.donor.find)\n');
    expect(out).toContain('\n  left out: film.confidant (hidden from everyone)\n');
    expect(out).not.toContain('left out: film.director');
    const { leftOut } = JSON.parse((await explained('/api/films?populate=*', { json: true })).out) as {
      leftOut: { name: string }[];
    };
    expect(leftOut.map((it) => it.name)).toEqual(expect.arrayContaining(['film.lender', 'film.confidant']));
    expect(leftOut.map((it) => it.name)).not.toContain('film.createdBy');
  });

  it.each([
    ['role:public', ['film.lender']],
    ['role:editor', ['film.director']],
    ['token:custom-token', ['film.lender', 'film.director']],
    ['token:full-token', []],
  ])('--as %s leaves out %j', async (as, names) => {
    const { out } = await explained('/api/films?fields=id&populate=lender,director', { as });
    expect([...out.matchAll(/left out: (\S+)/g)].map((it) => it[1])).toEqual(names);
  });

  it('reports that the caller may not read at all', async () => {
    expect((await explained('/api/genres', { as: 'role:editor' })).said).toBe(
      '(role:editor may not api::genre.genre.find; explained anyway)\n',
    );
  });

  it.each([
    ['role:editr', /There is no role of type "editr"; did you mean "editor"\?/],
    ['token:nobody', /There is no API token named "nobody"/],
    ['editor', /--as takes role:TYPE or token:NAME, not "editor"/],
  ])('--as %s gives a clear message', async (as, words) => {
    await expect(explained('/api/films', { as })).rejects.toThrow(words);
  });

  it.each(['/api/films', 'api/films', 'http://localhost:1337/api/films', 'https://cms.example/api/films/#top'])(
    'accepts %s',
    async (url) => {
      expect((await explained(url)).out).toContain('type: api::film.film');
    },
  );

  it('lists the readable paths only', async () => {
    const fault = await explained('/api/lobby/1').catch((it: unknown) => String(it));
    expect(fault).toMatch(
      /\/api\/lobby\/1 is not a route that reads content\. Routes: .*\/api\/films\/:id.*\/api\/lobby(,|$)/,
    );
    expect(fault).not.toContain('/api/lobby/:id');
  });
});

const ROWS = 3_000;

describe.each(dialects)('what explain says of reading on %s', (dialect) => {
  let dir = '';
  let database: TestDatabase;
  beforeAll(async () => {
    dir = newFolder();
    database = await newDatabase(dialect);
    for (const [name, value] of Object.entries(database.env)) vi.stubEnv(name, value);
    writeSmall(dir, {
      types: {
        note: {
          options: { draftAndPublish: true },
          attributes: {
            title: { type: 'string' },
            body: { type: 'text' },
            kind: { type: 'string' },
            size: { type: 'integer' },
            weight: { type: 'integer' },
            owner: { type: 'relation', relation: 'manyToOne', target: 'api::owner.owner' },
            cover: { type: 'media' },
            pictures: { type: 'media', multiple: true },
          },
        },
        owner: { attributes: { name: { type: 'string' } } },
        leaf: {
          pluginOptions: { i18n: { localized: true } },
          attributes: { title: { type: 'string' }, size: { type: 'integer' }, body: { type: 'text' } },
        },
      },
    });
    fs.writeFileSync(
      path.join(dir, 'dovetail.config.json'),
      '{ "permissions": { "enabled": false }, "indexes": { "api::note.note": ["size", "kind,size", "publishedAt"], "api::leaf.leaf": ["size"] } }',
    );
    const project = await bringUp(await openProject(dir), database.db, pino({ level: 'silent' }));
    const tables = new Map(tablesOf(project.model).map((it) => [it.name, it]));
    const notes = Array.from({ length: ROWS }, (_it, i) => ({
      title: `note ${i}`,
      // without it PostgreSQL finds the table too small for an index
      body: 'x'.repeat(1_000),
      kind: `kind ${i % 7}`,
      size: (i * 7) % ROWS,
      weight: (i * 11) % ROWS,
      published_at: i % 10 === 0 ? null : i,
    }));
    await insertRows(database.db, tables.get('notes')!, notes);
    const leaves = Array.from({ length: ROWS }, (_it, i) => ({
      title: `leaf ${i}`,
      size: i,
      body: 'x'.repeat(1_000),
      locale: i % 20 === 0 ? 'de' : 'en',
    }));
    await insertRows(database.db, tables.get('leafs')!, leaves);
    await insertRows(database.db, tables.get('owners')!, [{ name: 'Ada' }]);
    await insertRows(database.db, tables.get('up_roles')!, [{ name: 'Public', type: 'public' }]);
    if (dialect === 'postgres') await showToIndexes();
  });
  /** PostgreSQL reads an index alone once a vacuum knows that everyone sees the rows, which other work may delay. */
  const showToIndexes = async (): Promise<void> => {
    for (let tries = 0; tries < 200; tries++) {
      await queryOf(database, 'checkpoint');
      await queryOf(database, 'vacuum analyze notes');
      await queryOf(database, 'vacuum analyze leafs');
      const [seen] = await queryOf(database, `select relallvisible, relpages from pg_class where relname = 'notes'`);
      if (Number(seen?.['relallvisible']) === Number(seen?.['relpages'])) return;
    }
    throw new Error('a transaction does not end before which vacuum cannot know that everyone sees the rows');
  };
  afterAll(async () => {
    vi.unstubAllEnvs();
    await database.drop();
    fs.rmSync(dir, { recursive: true });
  });

  interface Explained {
    readonly fetches: string;
    readonly reads: readonly TableRead[];
    readonly advice: { readonly index: unknown; readonly text: string } | null;
    readonly ran?: { readonly times: number; readonly rows: number; readonly ms: number };
  }
  const explained = async (
    query: string,
    analyze = false,
    path = '/api/notes',
  ): Promise<Readonly<Record<string, Explained>>> => {
    const { out } = await printed(() => explain(dir, `${path}?${query}`, { json: true, analyze }));
    const { statements } = JSON.parse(out) as { readonly statements: readonly Explained[] };
    return Object.fromEntries(statements.map((it) => [it.fetches, it]));
  };
  /** How the page's statement finds its entries, before it reads those of the page. */
  const firstRead = ({ reads }: Explained) => {
    const [read] = reads.filter((it) => it.table === 'notes');
    return { index: read?.index?.replace(/_[0-9a-f]{8}$/, '') ?? null, extent: read?.extent };
  };

  it.each([
    ['sort=size', 'dovetail_notes_size', 'ordered'],
    ['sort=size:desc', 'dovetail_notes_size_desc', 'ordered'],
    ['sort=size:desc&publicationState=preview', 'dovetail_notes_size_desc', 'ordered'],
    ['sort=kind,size', 'dovetail_notes_kind_size', 'ordered'],
    ['sort=kind:desc,size:desc', 'dovetail_notes_kind_desc_size_desc', 'ordered'],
    ['sort=publishedAt:desc', 'dovetail_notes_published_at_desc', 'ordered'],
    ['sort=publishedAt&pagination[page]=4', /notes_published_at/, 'ordered'],
    ['pagination[page]=100', 'notes_pages_index', 'range'],
    ['filters[size]=5&pagination[page]=2', /^dovetail_notes_size/, 'some'],
  ])('ST16: %s reads %s', async (query, index, extent) => {
    const { page } = await explained(query);
    expect(firstRead(page!)).toEqual({ index: expect.stringMatching(index), extent });
    expect(page!.advice).toBe(null);
  });

  it('ST16: a count of published entries reads an index', async () => {
    const { count } = await explained('');
    expect(count!.reads.map((it) => it.index)).toEqual(['notes_published_at_index']);
    expect(count!.advice).toBe(null);
  });

  // PostgreSQL chooses by how many rows there are
  if (dialect === 'sqlite') {
    it.each(['cover', 'pictures', 'cover,pictures'])(
      'ST7: populate=%s finds media by the index of lists',
      async (names) => {
        const { page } = await explained(`populate=${names}`);
        const media = page!.reads.filter((it) => it.table === 'files_related_morphs');
        expect(new Set(media.map((it) => it.index))).toEqual(new Set(['files_related_morphs_list_index']));
      },
    );

    it('ST7: a filter through media begins at the few files that match, not at the lists of all entries', async () => {
      const { page } = await explained('filters[cover][size][$gt]=690');
      const media = page!.reads.filter((it) => it.table === 'files' || it.table === 'files_related_morphs');
      expect(media.map((it) => [it.index, it.extent])).toEqual([
        ['upload_files_size_index', 'range'],
        ['files_related_morphs_fk', 'some'],
      ]);
    });
  }

  it.each([
    ['sort=weight:desc', 'page', 'weight'],
    ['filters[title]=x&sort=weight:desc', 'page', 'title,weight:desc'],
    ['filters[weight]=12', 'count', 'weight'],
    ['filters[weight][$lt]=3&filters[title]=x', 'count', 'title'],
  ])('ST16: %s reads the whole table in its %s, which an index on %s would end', async (query, what, keys) => {
    const { [what]: found } = await explained(query);
    expect(firstRead(found!)).toEqual({ index: null, extent: 'all' });
    expect(found!.reads[0]?.rows).toBe(ROWS);
    expect(found!.advice).toEqual({
      index: { type: 'api::note.note', keys },
      text: `to end this, add to dovetail.config: "indexes": {"api::note.note":["${keys}"]}`,
    });
  });

  it.each([
    ['filters[title][$containsi]=9', 'count', 'title $containsi is checked for every entry'],
    ['_q=9', 'count', 'id $containsi, title $containsi, body $containsi and others are checked for every entry'],
    [
      'sort=owner.name',
      'page',
      'the order by owner.name is one of entries of another type, which are looked up for every entry',
    ],
  ])('ST16: %s reads all entries, and no index ends it', async (query, what, why) => {
    const { [what]: found } = await explained(query);
    expect(found!.reads.some((it) => it.table === 'notes' && it.extent === 'all')).toBe(true);
    expect(found!.advice).toEqual({ index: null, text: `no index ends this: ${why}` });
  });

  it.each([
    ['sort=title', 'page', 'title'],
    ['filters[title]=leaf 3', 'count', 'title'],
    ['locale=de&filters[title]=leaf 3&sort=size', 'page', 'title,size'],
  ])(
    'ST16: of a localized type, %s reads all entries of the locale in its %s, which an index on %s would end',
    async (query, what, keys) => {
      const { [what]: found } = await explained(query, false, '/api/leafs');
      expect(found!.advice).toEqual({
        index: { type: 'api::leaf.leaf', keys },
        text: `to end this, add to dovetail.config: "indexes": {"api::leaf.leaf":["${keys}"]}`,
      });
    },
  );

  it.each(['', 'locale=de', 'sort=size', 'sort=size:desc&locale=de', 'filters[size]=5'])(
    'ST16: of a localized type, there is nothing to advise on %j',
    async (query) => {
      const { page, count } = await explained(query, false, '/api/leafs');
      expect([page!.advice, count?.advice ?? null]).toEqual([null, null]);
    },
  );

  it('--analyze runs the statements and shows rows and times, in words too', async () => {
    const { page, count } = await explained('sort=size&pagination[pageSize]=7', true);
    // SQLite renders the page as one row
    expect(page!.ran).toEqual({ times: 1, rows: dialect === 'sqlite' ? 1 : 7, ms: expect.any(Number) });
    expect(count!.ran).toEqual({ times: 1, rows: 1, ms: expect.any(Number) });
    expect((await explained('sort=size'))['page']).not.toHaveProperty('ran');
    const { out } = await printed(() => explain(dir, '/api/notes?sort=weight', { json: false, analyze: true }));
    expect(out).toMatch(
      /\n {2}-- READS ALL OF notes, about 3,000 rows\n(.*\n)? {2}-- to end this, add to dovetail\.config: "indexes": \{"api::note\.note":\["weight"\]\}\n {2}-- ran once: (1 row|25 rows) in [\d.]+ ms\n/,
    );
  });
});

describe('explain of routes that code of the project answers', () => {
  const dir = newFolder();
  afterAll(() => vi.unstubAllEnvs());

  it('says so instead of what the server would read, and where code takes part in a read of its own', async () => {
    const database = await newDatabase('sqlite');
    for (const [name, value] of Object.entries(database.env)) vi.stubEnv(name, value);
    const type = { attributes: { title: { type: 'string' } } };
    writeSmall(dir, { types: { book: type, page: type } });
    const factories = `const { factories } = require('@strapi/strapi');`;
    writeFiles(dir, {
      'src/api/book/routes/01-own.js': `module.exports = { routes: [
        { method: 'GET', path: '/books/best', handler: 'book.best' }, { method: 'GET', path: '/books/:id(7)', handler: 'book.best' },
      ] };`,
      'src/api/book/routes/book.js': `${factories} module.exports = factories.createCoreRouter('api::book.book');`,
      'src/api/book/controllers/book.js': `${factories} module.exports = factories.createCoreController('api::book.book', { best() {}, find() {} });`,
    });
    const project = await bringUp(await openProject(dir), database.db, pino({ level: 'silent' }));
    expect(project.model.types.has('api::book.book')).toBe(true);
    const explained = (url: string) => printed(() => explain(dir, url, { json: false }));
    for (const [url, route] of [
      ['/api/books/best?x=1', '/api/books/best'],
      ['/api/books/7', '/api/books/:id(7)'],
    ] as const)
      await expect(explained(url)).rejects.toThrow(
        `is answered by code of the project, on the route GET ${route} of src/api/book/routes/01-own.js: what it reads only the code says.`,
      );
    expect((await explained('/api/books')).said).toContain('(code of the project takes part: ');
    for (const url of ['/api/books/8', '/api/pages'])
      expect((await explained(url)).said).not.toContain('code of the project');
    const codeAt = async (url: string): Promise<unknown> =>
      (JSON.parse((await printed(() => explain(dir, url, { json: true }))).out) as { code: unknown }).code;
    expect(await codeAt('/api/books')).toEqual({ path: '/api/books', place: 'src/api/book/routes/book.js' });
    expect(await codeAt('/api/pages')).toBe(null);
  });
});
