/** Indexes that the configuration names: what may be named, and how they come and go (ST16). */
import fs from 'node:fs';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { check, sync } from '../../src/cli/commands/check.js';
import { bringUp } from '../../src/cli/layout.js';
import { openProject } from '../../src/cli/project.js';
import { readCatalog } from '../../src/sql/schema.js';
import { newDatabase, queryOf, type TestDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { printed } from '../world/printed.js';
import { contentType, type Files, typeFile, writeFiles } from '../world/schemas.js';
import { newSmallWorld, type SmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

let dir = '';
beforeEach(() => {
  dir = newFolder();
});
afterEach(() => {
  vi.unstubAllEnvs();
  process.exitCode = undefined;
  fs.rmSync(dir, { recursive: true });
});

const book = {
  title: { type: 'string' },
  pages: { type: 'integer' },
  kind: { type: 'enumeration', enum: ['novel', 'essay'] },
  printedOn: { type: 'date' },
  blurb: { type: 'text' },
  secret: { type: 'password' },
  opens: { type: 'time' },
  author: { type: 'relation', relation: 'manyToOne', target: 'api::author.author', inversedBy: 'books' },
  seo: { type: 'component', component: 'shared.seo' },
  zone: { type: 'dynamiczone', components: ['shared.seo'] },
  parts: { type: 'dynamiczone', components: ['shared.seo', 'shared.card'] },
};

const files = (indexes: unknown): Files => ({
  [typeFile('book')]: contentType('book', book, { options: { draftAndPublish: true } }),
  [typeFile('author')]: contentType('author', {
    name: { type: 'string' },
    books: { type: 'relation', relation: 'oneToMany', target: 'api::book.book', mappedBy: 'author' },
  }),
  [typeFile('page')]: contentType(
    'page',
    { title: { type: 'string' }, rank: { type: 'integer' } },
    { options: { draftAndPublish: true }, pluginOptions: { i18n: { localized: true } } },
  ),
  'src/components/shared/seo.json': {
    collectionName: 'components_shared_seos',
    info: {},
    attributes: { words: { type: 'string' } },
  },
  'src/components/shared/card.json': {
    collectionName: 'components_shared_cards',
    info: {},
    attributes: { words: { type: 'string' } },
  },
  'dovetail.config.json': { indexes },
});

const faultOf = async (indexes: unknown): Promise<string> => {
  writeFiles(dir, files(indexes));
  const fault = await openProject(dir).catch((it: unknown) => it);
  return fault instanceof Error ? fault.message : 'no fault';
};

describe('ST16: what the configuration may name', () => {
  it.each<[unknown, string]>([
    [{ 'api::bok.book': ['pages'] }, 'indexes: there is no type "api::bok.book"; did you mean "api::book.book"?'],
    [
      { 'api::book.book': ['pgaes'] },
      'indexes.api::book.book.0: api::book.book has no attribute "pgaes"; did you mean "pages"?',
    ],
    [
      { 'api::book.book': ['pages', 'author.nme'] },
      'indexes.api::book.book.1: api::author.author has no attribute "nme"; did you mean "name"?',
    ],
    [{ 'api::book.book': ['pages:down'] }, 'indexes.api::book.book.0: "pages:down" ends with neither :asc nor :desc'],
    [
      { 'api::book.book': ['author'] },
      'indexes.api::book.book.0: "author" of api::book.book is not a value; name an attribute behind it, such as author.name',
    ],
    [{ 'api::book.book': ['pages,pages:desc'] }, 'indexes.api::book.book.0: "pages,pages:desc" names "pages" twice'],
    [
      { 'api::book.book': ['pages,author.name'] },
      'indexes.api::book.book.0: "pages,author.name" names attributes of api::book.book and of api::author.author; an index has those of one',
    ],
    [
      { 'api::book.book': ['parts.words'] },
      'indexes.api::book.book.0: "parts" of api::book.book leads to several types; name the index at the type that has the attribute',
    ],
    [
      { 'api::book.book': ['title.name'] },
      'indexes.api::book.book.0: "title" of api::book.book leads to no other type',
    ],
    [{ 'api::book.book': ['id'] }, 'indexes.api::book.book.0: "id" always has an index'],
    ...['blurb', 'secret', 'opens'].map((name): [unknown, string] => [
      { 'api::book.book': [name] },
      `indexes.api::book.book.0: "${name}" of api::book.book is a ${book[name as keyof typeof book].type}, which cannot have an index`,
    ]),
  ])('%j', async (indexes, message) => {
    expect(await faultOf(indexes)).toBe(`configuration: ${message}`);
  });

  it('all faults are named at once', async () => {
    const message = await faultOf({ 'api::bok.book': [], 'api::book.book': ['x', 'pages', 'y'] });
    expect(message.split('\n')).toHaveLength(3);
  });

  it('a value of another form is refused', async () => {
    expect(await faultOf({ 'api::book.book': 'pages' })).toMatch(
      /^dovetail\.config\.json: indexes\.api::book\.book: must be a list of strings, not "pages"/,
    );
  });
});

describe.each(dialects)('configured indexes on %s', (dialect) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await newDatabase(dialect);
    for (const [name, value] of Object.entries(database.env)) vi.stubEnv(name, value);
  });
  afterEach(() => database.drop());

  const log: string[] = [];
  const logger = pino({}, { write: (line: string) => void log.push((JSON.parse(line) as { msg: string }).msg) });

  const start = async (indexes: unknown): Promise<void> => {
    writeFiles(dir, files(indexes));
    log.length = 0;
    await bringUp(await openProject(dir), database.db, logger);
  };

  /** Columns by name without its hash. */
  const configured = async (): Promise<Readonly<Record<string, string>>> => {
    const rows = await queryOf(
      database,
      dialect === 'sqlite'
        ? `select name, sql as text from sqlite_master where type = 'index' and name like 'dovetail%'`
        : `select indexname as name, indexdef as text from pg_indexes where indexname like 'dovetail%'`,
    );
    const columns = (text: unknown): string =>
      /\(([^)]*)\)/.exec(String(text))![1]!.replaceAll('"', '').replaceAll(' DESC', ' desc');
    return Object.fromEntries(rows.map(({ name, text }) => [String(name).replace(/_[0-9a-f]{8}$/, ''), columns(text)]));
  };

  it('ST16: they serve both directions, end with id and published_at, begin with the locale, and follow relations', async () => {
    const indexes = {
      'api::book.book': ['pages', 'kind,printedOn:desc', 'author.name', 'seo.words', 'publishedAt'],
      'api::page.page': ['rank'],
    };
    await start(indexes);
    expect(await configured()).toEqual({
      dovetail_books_pages: 'pages, id, published_at',
      dovetail_books_pages_desc: 'pages desc, id, published_at',
      dovetail_books_kind_printed_on_desc: 'kind, printed_on desc, id, published_at',
      dovetail_books_kind_desc_printed_on: 'kind desc, printed_on, id, published_at',
      dovetail_books_published_at: 'published_at, id',
      dovetail_books_published_at_desc: 'published_at desc, id',
      dovetail_authors_name: 'name, id',
      dovetail_authors_name_desc: 'name desc, id',
      dovetail_components_shared_seos_words: 'words, id',
      dovetail_components_shared_seos_words_desc: 'words desc, id',
      dovetail_pages_rank: 'locale, rank, id, published_at',
      dovetail_pages_rank_desc: 'locale, rank desc, id, published_at',
    });
  });

  it('ST16: existing tables get them one by one, and the log says so; those no longer named go, and no others', async () => {
    await start({});
    const before = await readCatalog(database.db);
    await start({ 'api::book.book': ['pages', 'pages:desc'] });
    expect(Object.keys(await configured()).sort()).toEqual(['dovetail_books_pages', 'dovetail_books_pages_desc']);
    expect(log.filter((it) => it.startsWith('database: creates'))).toEqual([
      expect.stringMatching(/^database: creates dovetail_books_pages_\w{8} on books \(pages, id, published_at\)$/),
      expect.stringMatching(
        /^database: creates dovetail_books_pages_desc_\w{8} on books \(pages desc, id, published_at\)$/,
      ),
    ]);
    await start({ 'api::book.book': ['pages', 'pages:desc'] });
    expect(log).toEqual([]);
    await start({});
    expect(log.filter((it) => it.startsWith('database: drops'))).toHaveLength(2);
    expect((await readCatalog(database.db)).indexes).toEqual(before.indexes);
  });

  it('ST16: check and sync name them before and after', async () => {
    await start({});
    writeFiles(dir, files({ 'api::author.author': ['name'] }));
    const { out } = await printed(() => check(dir, { json: false }));
    expect(out).toMatch(/Missing, .*\n {2}index {2}dovetail_authors_name_\w{8} on authors \(name, id\)\n/);
    expect((await printed(() => sync(dir, { dryRun: true, publishDrafts: [] }))).out).toMatch(
      /^create index (concurrently )?(if not exists )?"dovetail_authors_name_\w{8}" on "authors" \("name", "id"\);\n/,
    );
    const synced = (await printed(() => sync(dir, { dryRun: false, publishDrafts: [] }))).out;
    expect(synced).toMatch(
      /^creates dovetail_authors_name_\w{8} on authors \(name, id\) … \d+ ms\n.*\n2 statements run on /,
    );
    writeFiles(dir, files({}));
    process.exitCode = undefined;
    const surplus = (await printed(() => check(dir, { json: false }))).out;
    expect(surplus).toMatch(
      /no longer configured, dropped by sync or the next start:\n {2}index {2}dovetail_authors_name_/,
    );
    expect(process.exitCode).toBeUndefined();
  });

  it('ST16: a column that is stored as another type gets none until it is changed', async () => {
    await start({});
    await database.db.write(async (tx) => {
      const drop =
        dialect === 'sqlite'
          ? ['alter table books drop column pages', 'alter table books add column pages text']
          : ['alter table books alter column pages type text'];
      for (const sql of drop) await tx.run({ sql, params: [], ids: [] });
    });
    await start({ 'api::book.book': ['pages'] });
    expect(await configured()).toEqual({});
  });

  it('ST16: two processes that start at once create each index once', async () => {
    await start({});
    writeFiles(dir, files({ 'api::book.book': ['pages', 'title'] }));
    const project = await openProject(dir);
    log.length = 0;
    await Promise.all([bringUp(project, database.db, logger), bringUp(project, database.db, logger)]);
    expect(Object.keys(await configured())).toHaveLength(4);
    expect(log.filter((it) => it.includes('failed'))).toEqual([]);
  });
});

describe.runIf(dialects.includes('postgres'))('an index whose creation was interrupted on postgres', () => {
  it('ST16: is created again by the next start', async () => {
    const database = await newDatabase('postgres');
    try {
      for (const [name, value] of Object.entries(database.env)) vi.stubEnv(name, value);
      writeFiles(dir, files({ 'api::book.book': ['pages'] }));
      const logger = pino({ level: 'silent' });
      await bringUp(await openProject(dir), database.db, logger);
      // as a killed `create index concurrently` leaves it
      await queryOf(
        database,
        `update pg_index set indisvalid = false from pg_class c where c.oid = indexrelid and c.relname like 'dovetail_books_pages_desc%'`,
      );
      expect((await readCatalog(database.db)).unfinishedIndexes.size).toBe(1);
      await bringUp(await openProject(dir), database.db, logger);
      const { indexes, unfinishedIndexes } = await readCatalog(database.db);
      expect(unfinishedIndexes.size).toBe(0);
      expect([...indexes].filter((it) => it.startsWith('dovetail_'))).toHaveLength(2);
    } finally {
      await database.drop();
    }
  });
});

describe.each(dialects)('lists in the order of configured indexes on %s', (dialect) => {
  const attributes = {
    title: { type: 'string' },
    size: { type: 'integer' },
    at: { type: 'datetime' },
    price: { type: 'decimal' },
  };
  const types = { note: { options: { draftAndPublish: true }, attributes } };
  const ROWS = 1_200;
  const rows = Array.from({ length: ROWS }, (_it, i) => ({
    title: i % 7 === 0 ? null : `t ${(i * 31) % 400}`,
    // many equal values, and many nulls
    size: i % 3 === 0 ? null : (i * 17) % 40,
    at: i % 11 === 0 ? null : 1_600_000_000_000 + ((i * 7919) % 500) * 86_400_000,
    price: ((i * 13) % 90) / 4,
    published_at: i % 9 === 0 ? null : 1,
  }));
  /** Dates that were written as text, which only SQLite can hold. */
  const odd = ['2020-10-01T00:00:00.000Z', '2021-01-05 12:30:00', 'not a date', '1999-01-01'];

  const worlds: SmallWorld[] = [];
  beforeAll(async () => {
    for (const indexes of [{}, { 'api::note.note': ['title', 'size', 'at', 'price', 'size,price:desc'] }]) {
      const world = await newSmallWorld(dialect, { types, indexes });
      await world.insert('notes', rows);
      if (dialect === 'sqlite')
        await world.db.write(async (tx) => {
          for (const [i, text] of odd.entries())
            await tx.run({ sql: 'update notes set at = ? where id % 97 = ?', params: [text, i + 1], ids: [] });
        });
      worlds.push(world);
    }
  });
  afterAll(() => Promise.all(worlds.map((it) => it.close())));

  it.each(
    ['title', 'size', 'at', 'price', 'size,price:desc'].flatMap((sort) => [
      sort,
      sort.includes(',') ? 'size:desc,price' : `${sort}:desc`,
    ]),
  )('ST16: sort=%s is the same list with an index and without, on all pages in any order', async (sort) => {
    const starts = [0, 25, 50, 700, 725, 450, 900, 475, 750, 1_000, 1_025, 1_050, 1_075, 100, 500, 525, 1_060, 2_000];
    for (const more of ['', '&publicationState=preview', '&filters[size][$gte]=10', '&pagination[withCount]=false'])
      for (const start of starts) {
        const url = `/api/notes?fields=title&sort=${sort}${more}&pagination[start]=${start}&pagination[limit]=25`;
        const [plain, indexed] = await Promise.all(worlds.map((it) => it.send('GET', url)));
        expect(indexed!.status, indexed!.text).toBe(200);
        expect(indexed!.body, url).toEqual(plain!.body);
      }
  });
});
