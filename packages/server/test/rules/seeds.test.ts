/** Initial data of a project, `database/seed`: written once; all errors in it are reported in one message. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { prepareData, warnOfChangedSeeds } from '../../src/cli/bootstrap.js';
import { bringUp } from '../../src/cli/layout.js';
import { openProject } from '../../src/cli/project.js';
import { StartFault } from '../../src/cli/start-fault.js';
import { readRows } from '../../src/sql/dialect.js';
import { newDatabase, type TestDatabase } from '../world/databases.js';
import { component, contentType, type Files, typeFile, withThing, writeFiles } from '../world/schemas.js';
import { dialects } from '../world/world.js';

const books = { type: 'relation', relation: 'oneToMany', target: 'api::book.book' };
const project: Files = {
  ...withThing({
    code: { type: 'string', unique: true },
    size: { type: 'integer', max: 9 },
    books,
    lists: { type: 'component', component: 'shared.list', repeatable: true },
    uses: { type: 'relation', relation: 'morphToMany' },
  }),
  'src/components/shared/list.json': component('components_shared_lists', { books }),
  [typeFile('cover')]: contentType('cover', { headline: { type: 'string' } }, { kind: 'singleType' }),
};
const seed = (name: string): string => `database/seed/${name}.json`;

describe.each(dialects)('seeds on %s', (dialect) => {
  let dir = '';
  let database: TestDatabase;
  beforeEach(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-seeds-'));
    writeFiles(dir, project);
    database = await newDatabase(dialect);
  });
  afterEach(async () => {
    await database.drop();
    fs.rmSync(dir, { recursive: true });
  });

  /** Starts with these additional files; returns the warnings. */
  const start = async (files: Files): Promise<readonly string[]> => {
    writeFiles(dir, files);
    const warnings: string[] = [];
    const logger = pino({ level: 'silent' });
    vi.spyOn(logger, 'warn').mockImplementation((it: unknown) => {
      warnings.push(String(it));
    });
    const project = await bringUp(await openProject(dir), database.db, logger);
    await prepareData(project, database.db, logger);
    await warnOfChangedSeeds(project, database.db, logger);
    return warnings.filter((it) => it.startsWith('database/seed'));
  };
  const faultOf = async (files: Files): Promise<readonly string[]> => {
    const fault = await start(files).catch((it: unknown) => it);
    expect(fault).toBeInstanceOf(StartFault);
    return (fault as Error).message.split('\n').map((it) => it.trim());
  };
  const rows = (text: string) => database.db.read(() => readRows(database.db.dialect.compile(sql`${sql.raw(text)}`)));

  it('are written with their links, in either order', async () => {
    await start({
      [seed('books')]: { emma: { title: 'Emma', author: 'jane' } },
      [seed('authors')]: { jane: { name: 'Jane' } },
      [seed('cover')]: { headline: 'Hello' },
    });
    const linked = 'select b.title, a.name from books b join books_author_links l on l.book_id = b.id';
    expect(await rows(`${linked} join authors a on a.id = l.author_id`)).toEqual([['Emma', 'Jane']]);
    expect(await rows('select headline from covers')).toEqual([['Hello']]);
  });

  it('elements of polymorphic relations name the type and the key of a seed', async () => {
    await start({
      [seed('things')]: {
        one: {
          uses: [
            { __type: 'api::thing.thing', id: 'two' },
            { __type: 'api::book.book', id: 'emma' },
          ],
        },
        two: {},
      },
      [seed('books')]: { emma: { title: 'Emma' } },
    });
    expect(await rows('select thing_id, uses_type, uses_id from things_uses_morphs order by id')).toEqual([
      [1, 'api::thing.thing', 2],
      [1, 'api::book.book', 1],
    ]);
  });

  it('BO4: may have what requests cannot write', async () => {
    const closed = { writable: false };
    await start({
      ...withThing({
        code: { type: 'string', ...closed },
        books: { ...books, ...closed },
        lists: { type: 'component', component: 'shared.list', repeatable: true, ...closed },
      }),
      [seed('things')]: { one: { code: 'x', books: ['emma'], lists: [{ books: ['emma'] }] } },
      [seed('books')]: { emma: { title: 'Emma' } },
    });
    expect(await rows('select code from things')).toEqual([['x']]);
    expect(await rows('select thing_id, book_id from things_books_links')).toEqual([[1, 1]]);
    expect(await rows('select book_id from components_shared_lists_books_links')).toEqual([[1]]);
  });

  it('an element of a polymorphic relation that is no seed is an error', async () => {
    expect(
      await faultOf({ [seed('things')]: { one: { uses: [{ __type: 'api::book.book', id: 'enma' }] } } }),
    ).toContainEqual(expect.stringContaining('uses names "enma", but api::book.book has no such seed'));
  });

  it('all errors of all files are reported in one message, and nothing is written', async () => {
    expect(
      await faultOf({
        [seed('book')]: {},
        [seed('qwertzuiop')]: {},
        [seed('authors')]: { jane: null, joan: ['x'], jo: { nam: 'Jo' } },
        [seed('books')]: {
          emma: { title: 'Emma', author: 'jo', seo: 'x' },
          north: { title: 'North', author: 'jna' },
          south: { author: 5 },
        },
        [seed('things')]: {
          one: { code: 'a', size: 10, books: ['emm'], lists: [{ books: ['nobody'] }] },
          two: { code: 'b' },
          three: { code: 'b' },
        },
        [seed('cover')]: null,
        [seed('permissions')]: { publik: [], public: ['api::book.book.fnd'] },
      }),
    ).toEqual([
      'The seeds have 14 errors, and nothing was written:',
      'database/seed/book.json: there is no such type; did you mean "books.json"?',
      'database/seed/qwertzuiop.json: there is no such type; a seed file is named after a route: files.json, authors.json, books.json, cover.json, things.json, locales.json, permissions.json',
      'database/seed/authors.json: "jane": expected an object of attributes',
      'database/seed/authors.json: "joan": expected an object of attributes',
      'database/seed/cover.json: expected an object of attributes',
      'database/seed/permissions.json: there is no role "publik" on first start; did you mean "public"?',
      'database/seed/permissions.json: public[0]: there is no action "api::book.book.fnd"; did you mean "api::book.book.find"?',
      'database/seed/authors.json: "jo": nam: author has no attribute "nam". Did you mean "name"?',
      'database/seed/books.json: "emma": seo must be a `object` type, but the final value was: `"x"`.',
      'database/seed/books.json: "south": author: expected the key of a seed, or a list of keys',
      'database/seed/things.json: "one": books names "emm", but api::book.book has no such seed; did you mean "emma"?',
      'database/seed/things.json: "one": lists[0].books names "nobody", but api::book.book has no such seed',
      'database/seed/things.json: "one": size must be less than or equal to 9',
      'database/seed/things.json: "three": code: This attribute must be unique',
    ]);
    expect(await rows('select count(*) from up_roles')).toEqual([[expect.toSatisfy((it) => Number(it) === 0)]]);
    expect(await rows('select count(*) from things')).toEqual([[expect.toSatisfy((it) => Number(it) === 0)]]);
  });

  it.each(['null', '[]', '5', '{'])('a file that contains %s gives a clear message', async (text) => {
    const [head, line] = await faultOf({ [seed('things')]: text });
    expect(head).toBe('The seeds have an error, and nothing was written:');
    expect(line).toMatch(
      text === '{'
        ? /^database\/seed\/things\.json: not valid JSON: /
        : /^database\/seed\/things\.json: expected an object: \{ "key": \{ attributes \} \}$/,
    );
  });

  it('files changed after the first start are reported at every start, until they are restored', async () => {
    const things = { one: { code: 'a' } };
    expect(await start({ [seed('things')]: things, [seed('authors')]: {} })).toEqual([]);
    expect(await start({})).toEqual([]);
    fs.rmSync(path.join(dir, seed('authors')));
    const changed = { [seed('things')]: { one: { code: 'b' } }, [seed('books')]: {} };
    for (const files of [changed, {}])
      expect(await start(files)).toEqual([
        'database/seed: seeds are written once, when the database is created, and these files have changed since: authors.json (removed), books.json (new), things.json (changed). Make the same changes in the database through the API and the command "role", or start with an empty database',
      ]);
    expect(await rows('select code from things')).toEqual([['a']]);
    fs.rmSync(path.join(dir, seed('books')));
    expect(await start({ [seed('things')]: things, [seed('authors')]: {} })).toEqual([]);
  });

  it('seeds added to a database that was created without any are reported', async () => {
    expect(await start({})).toEqual([]);
    expect(await start({ [seed('things')]: {} })).toEqual([expect.stringContaining('things.json (new)')]);
  });

  describe('of localized types', () => {
    const localized = { pluginOptions: { i18n: { localized: true } } };
    const poem = contentType(
      'poem',
      {
        title: { type: 'string', required: true, ...localized },
        year: { type: 'integer' },
        answers: { type: 'relation', relation: 'oneToMany', target: 'api::poem.poem' },
      },
      { ...localized, options: { draftAndPublish: true } },
    );
    const motto = contentType(
      'motto',
      { text: { type: 'string', ...localized } },
      { kind: 'singleType', ...localized },
    );
    const types = { [typeFile('poem')]: poem, [typeFile('motto')]: motto };
    const locales = { [seed('locales')]: ['en', 'de', 'pt-BR'] };

    it('hold their siblings, which share values, are published alike and are named by locale', async () => {
      await start({
        ...types,
        ...locales,
        [seed('poems')]: {
          tyger: {
            title: 'The Tyger',
            year: 1794,
            answers: ['lamb/de', 'lamb'],
            localizations: { de: { title: 'Der Tiger' }, 'pt-BR': { title: 'O tigre', publishedAt: null } },
          },
          lamb: {
            title: 'The Lamb',
            publishedAt: null,
            localizations: { de: { title: 'Das Lamm', answers: ['tyger/de'] } },
          },
        },
        [seed('motto')]: { text: 'Onwards', localizations: { de: { text: 'Weiter' } } },
      });
      expect(await rows('select code, name from i18n_locale order by id')).toEqual([
        ['en', 'English (en)'],
        ['de', 'German (de)'],
        ['pt-BR', 'Portuguese (Brazil) (pt-BR)'],
      ]);
      expect(await rows('select title, locale, year from poems order by id')).toEqual([
        ['The Tyger', 'en', 1794],
        ['The Lamb', 'en', null],
        ['Der Tiger', 'de', 1794],
        ['O tigre', 'pt-BR', 1794],
        ['Das Lamm', 'de', null],
      ]);
      expect(await rows('select title from poems where published_at is null order by id')).toEqual([
        ['The Lamb'],
        ['O tigre'],
        ['Das Lamm'],
      ]);
      const answers = 'poems a join poems_answers_links l on l.poem_id = a.id join poems b on b.id = l.inv_poem_id';
      expect(await rows(`select a.title, b.title from ${answers} order by a.id, l.poem_order`)).toEqual([
        ['The Tyger', 'Das Lamm'],
        ['The Tyger', 'The Lamb'],
        ['Das Lamm', 'Der Tiger'],
      ]);
      const siblings =
        'poems_localizations_links l join poems a on a.id = l.poem_id join poems b on b.id = l.inv_poem_id';
      expect(await rows(`select a.title, b.title from ${siblings} order by a.id, l.poem_order`)).toEqual([
        ['The Tyger', 'O tigre'],
        ['The Tyger', 'Der Tiger'],
        ['The Lamb', 'Das Lamm'],
        ['Der Tiger', 'O tigre'],
        ['Der Tiger', 'The Tyger'],
        ['O tigre', 'The Tyger'],
        ['O tigre', 'Der Tiger'],
        ['Das Lamm', 'The Lamb'],
      ]);
      expect(await rows('select text, locale from mottos order by id')).toEqual([
        ['Onwards', 'en'],
        ['Weiter', 'de'],
      ]);
    });

    it('the first locale is the default', async () => {
      await start({ ...types, [seed('locales')]: ['de', 'en'], [seed('poems')]: { tiger: { title: 'Der Tiger' } } });
      expect(await rows('select code from i18n_locale order by id')).toEqual([['de'], ['en']]);
      expect(await rows('select locale from poems')).toEqual([['de']]);
    });

    it('faults of locales and siblings are reported with the rest', async () => {
      expect(
        await faultOf({
          ...types,
          ...locales,
          [seed('poems')]: {
            tyger: { title: 'The Tyger', localizations: { fr: { title: 'Le tigre' }, de: { titel: 'Der Tiger' } } },
            lamb: { localizations: { de: {} } },
            fly: { title: 'The Fly', localizations: ['de'] },
            rose: { title: 'The Rose', localizations: { de: 'Die Rose' } },
          },
          [seed('things')]: { one: { code: 'a', localizations: { de: {} } } },
        }),
      ).toEqual([
        'The seeds have 7 errors, and nothing was written:',
        'database/seed/poems.json: "fly": localizations: expected an object: { "locale": { attributes } }',
        'database/seed/poems.json: "rose": localizations.de: expected an object of attributes',
        'database/seed/things.json: "one": localizations: api::thing.thing is not localized',
        'database/seed/poems.json: "lamb": title must be defined.',
        'database/seed/poems.json: "tyger": localizations.fr: locale is invalid',
        'database/seed/poems.json: "tyger": localizations.de: titel: poem has no attribute "titel". Did you mean "title"?',
        'database/seed/poems.json: "tyger": localizations.de: title must be defined.',
      ]);
      expect(await rows('select code from i18n_locale')).toEqual([]);
    });

    it.each([
      [{}, 'expected a list of locales, the default first: ["en", "de"]'],
      [[], 'expected a list of locales, the default first: ["en", "de"]'],
      [['en', 5], 'expected a list of locales, the default first: ["en", "de"]'],
      [['en', 'xx'], '"xx" is not a locale code; expected one such as de, pt-BR or zh-Hans'],
      [['en', 'pt-br'], 'pt-br is written pt-BR.'],
    ])('locales.json that contains %j gives a clear message', async (codes, message) => {
      expect(await faultOf({ [seed('locales')]: codes })).toEqual([
        'The seeds have an error, and nothing was written:',
        `database/seed/locales.json: ${message}`,
      ]);
    });
  });
});
