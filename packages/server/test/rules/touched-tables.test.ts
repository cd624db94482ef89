/** What the text of a statement says about tables, for cached responses: naming too many is safe, naming too few is not. */
import { describe, expect, it } from 'vitest';
import { tablesOf } from '../../src/model/storage.js';
import type { CompiledRead } from '../../src/read/statements.js';
import { joinWrites, newChangeLog, touchedBy } from '../../src/sql/changes.js';
import type { Db } from '../../src/sql/dialect.js';
import { nameOf, tablesIn, writesOf } from '../../src/sql/texts.js';
import { newTestServer } from '../world/server.js';
import { dialects, useWorld } from '../world/world.js';

const written = (text: string): Readonly<Record<string, string>> | null => {
  const writes = writesOf(text);
  return writes && Object.fromEntries(writes);
};

describe('the tables that a statement writes to', () => {
  it.each([
    ['insert into "books" ("title") values (?)', { books: 'update' }],
    ['INSERT INTO books DEFAULT VALUES', { books: 'update' }],
    ['insert into "s"."books" ("a") select "b" from "c" where "d" = \'delete from x\'', { books: 'update' }],
    ['insert into "a" ("b") values ($1) on conflict do update set "b" = 1', { a: 'update' }],
    ['update "books" set "update" = ? where "id" in (select "id" from "c" for no key update)', { books: 'update' }],
    ['update only books as b set title = null', { books: 'update' }],
    ['delete from "books" where "id" = 1', { books: 'delete' }],
    ['delete from only "s"."books"', { books: 'delete' }],
    [
      'with "i0" as (insert into "a" ("x") select 1 returning "id"), "i1" as (delete from "b") update "c" set "d" = 1',
      { a: 'update', b: 'delete', c: 'update' },
    ],
    ['with "q" as (select 1) select * from "q" for update', {}],
    ["select nextval('books_id_seq')", {}],
    ['savepoint part', {}],
    ['rollback to savepoint part', {}],
    ['release savepoint part', {}],
  ])('%s', (text, expected) => {
    expect(written(text)).toEqual(expected);
  });

  it.each([
    'create table "a" ("id" integer)',
    'alter table "a" add column "b" text',
    'truncate "a"',
    'merge into "a" using "b" on true when matched then delete',
    'insert or replace into "a" values (1)',
    'update or ignore "a" set "b" = 1',
    'replace into "a" values (1)',
    'insert into "a" values (1); delete from "b"',
    'delete from "a" -- where',
    'delete from "a" /* where */',
    "insert into \"a\" values (E'\\'')",
    'insert into "a" values ($$x$$)',
    'call "a"()',
    'do $$ begin end $$',
    'with "x" as (merge into "a" using "b" on true when matched then delete) select 1',
    'vacuum',
    '',
  ])('may be any: %s', (text) => {
    expect(written(text)).toBeNull();
  });
});

describe('the tables that statements may read', () => {
  it.each([
    ['select "e"."id" from "Books" as "e" where "e"."x" = \'from "y"\'', ['books'], ['y', 'id', 'x']],
    ['select 1 from books b join authors a on a.id = b.author', ['books', 'authors'], ['author']],
    ['select 1 from "s"."books", "authors"', ['books', 'authors'], []],
    ['select 1 from s.books join s."authors" on true', ['books', 'authors'], []],
    [
      'select (select count(*) from "links" l where l."a" = "e"."id") from (select * from "books") "e"',
      ['links', 'books'],
      ['id'],
    ],
    [`select 1 from "a""b" where 'it''s "no table"' = ''`, ['a"b'], ['no table']],
  ])('%s', (text, tables, others) => {
    const names = tablesIn([text]);
    expect(names).toEqual(expect.arrayContaining(tables));
    for (const other of others) expect(names).not.toContain(other);
  });

  it('may be any where a text is not understood', () => {
    expect(tablesIn(['select 1 from "a"', 'select 1 -- from "b"'])).toBeNull();
    expect(tablesIn([`select E'\\'' from "a"`])).toBeNull();
  });
});

describe('what writes reach', () => {
  const cascades = [
    { table: 'links', target: 'books', on: 'delete' as const },
    { table: 'marks', target: 'links', on: 'delete' as const },
    { table: 'books', target: 'marks', on: 'delete' as const },
    { table: 'prices', target: 'books', on: 'update' as const },
  ];
  const touched = (
    writes: Readonly<Record<string, 'update' | 'delete'>>,
    unpredictable: readonly string[] | null = [],
  ) => {
    const found = touchedBy(new Map(Object.entries(writes)), {
      cascades,
      unpredictable: unpredictable && new Set(unpredictable),
    });
    return found && [...found].sort();
  };

  it('deletions follow keys through several tables, in circles too', () => {
    expect(touched({ books: 'delete' })).toEqual(['books', 'links', 'marks', 'prices']);
    expect(touched({ marks: 'delete' })).toEqual(['books', 'links', 'marks', 'prices']);
    expect(touched({ books: 'update' })).toEqual(['books', 'prices']);
    expect(touched({ links: 'update', books: 'update' })).toEqual(['books', 'links', 'prices']);
  });

  it('a table with triggers on the way may change any', () => {
    expect(touched({ books: 'delete' }, ['marks'])).toBeNull();
    expect(touched({ books: 'update' }, ['marks'])).toEqual(['books', 'prices']);
    expect(touched({ books: 'update' }, null)).toBeNull();
    expect(touched({}, null)).toEqual([]);
  });

  it('several writes are joined: a deletion counts for more, and what is unknown for most', () => {
    const joined = joinWrites([
      new Map([['a', 'delete']]),
      new Map([
        ['a', 'update'],
        ['b', 'update'],
      ]),
    ]);
    expect([...joined!]).toEqual([
      ['a', 'delete'],
      ['b', 'update'],
    ]);
    expect(joinWrites([new Map(), null])).toBeNull();
  });
});

describe.each(dialects)('a cached response on %s', (dialect) => {
  const world = useWorld(dialect);

  it.each([
    '/api/films?populate=*',
    '/api/films?sort=director.name,title&filters[genres][films][title][$contains]=e&pagination[page]=2&pagination[pageSize]=2',
    '/api/films?_q=e&sort=year:desc&publicationState=preview&pagination[withCount]=false',
    '/api/films/1?populate[director][populate]=*&populate[body][populate]=*&populate[reels][sort]=frames',
    '/api/programmes?populate[cycleFilms][filters][genres][name]=Drama&populate[cycleFilms][populate]=credit.awards',
    '/api/notices?locale=all&populate=localizations',
    '/api/house-rules?populate=*',
  ])('knows all tables that its statements name: %s', async (url) => {
    const tables = new Set(tablesOf(world.model).map((it) => nameOf(it.name)));
    const read: string[] = [];
    const known: string[] = [];
    const db: Db = {
      ...world.db,
      readPlanned: ({ plan, values, begin }) => {
        known.push(...((plan as Partial<CompiledRead>).tables ?? []));
        function* watched() {
          const program = begin(plan, values, world.db.dialect);
          let step = program.next();
          while (!step.done) {
            read.push(...(tablesIn(step.value.map((it) => it.sql)) ?? ['unknown']));
            step = program.next(yield step.value);
          }
          return step.value;
        }
        return world.db.read(watched);
      },
    };
    const server = await newTestServer(db, world.model);
    expect((await server.get(url)).status).toBe(200);
    await server.close();
    const named = [...new Set(read)].filter((it) => tables.has(it) || it === 'unknown');
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((it) => !known.includes(it))).toEqual([]);
  });
});

describe('the log of changes', () => {
  it('tells what was touched since a moment', () => {
    const log = newChangeLog();
    const first = log.moment();
    log.touch(new Set(['a']));
    const second = log.moment();
    expect([log.isUnchanged(['b'], first), log.isUnchanged(['a', 'b'], first), log.isUnchanged(null, first)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([log.isUnchanged(['a'], second), log.isUnchanged(null, second)]).toEqual([true, true]);
    log.touch(new Set());
    expect(log.moment()).toBe(second);
    log.touch(null);
    expect([log.isUnchanged(['b'], second), log.isUnchanged([], second)]).toEqual([false, false]);
    expect(log.isUnchanged(['a'], log.moment())).toBe(true);
  });
});
