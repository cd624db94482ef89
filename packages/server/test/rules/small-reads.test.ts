/**
 * Reads whose plan bounds what they look at are answered in the server's thread on SQLite, and those that are known to take little
 * time; what the plan cannot bound the clock does, and the threads take over, with the same response.
 */
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { serverGate } from '../../src/access/access.js';
import { textQuery } from '../../src/query/brackets.js';
import type { ResolveContext } from '../../src/query/resolve.js';
import { newReader, type Reader } from '../../src/read/find.js';
import { isSmallRead } from '../../src/read/small.js';
import { type Statement, withIds } from '../../src/sql/dialect.js';
import { statementsHere } from '../../src/sql/sqlite/connection.js';
import { openSqlite, type SqliteDb } from '../../src/sql/sqlite/open.js';
import { threadOptions } from '../world/databases.js';
import { useLimits } from '../world/limits.js';
import { newSmallWorld, relation, type SmallProject, type SmallWorld } from '../world/small.js';

const limits = useLimits({
  smallReadMsMax: 60_000,
  ownTimeMsMax: 60_000,
  knownSmallReadMsMax: 0,
  knownSmallReadsMin: 4,
});

const project: SmallProject = {
  types: {
    note: {
      options: { draftAndPublish: true },
      attributes: {
        title: { type: 'string' },
        size: { type: 'integer' },
        author: relation('manyToOne', 'author', { inversedBy: 'notes' }),
        tags: relation('manyToMany', 'tag'),
        cards: { type: 'component', component: 'parts.card', repeatable: true },
      },
    },
    author: { attributes: { name: { type: 'string' }, notes: relation('oneToMany', 'note', { mappedBy: 'author' }) } },
    tag: { attributes: { name: { type: 'string' } } },
  },
  components: { 'parts.card': { label: { type: 'string' } } },
  indexes: { 'api::note.note': ['size'] },
};
const ROWS = 300;
const AUTHORS = 30;

let world: SmallWorld;
/** The same file as a server has it, with threads that have not started. */
let db: SqliteDb;
let reader: Reader;
let context: ResolveContext;

beforeAll(async () => {
  world = await newSmallWorld('sqlite', project);
  const ids = Array.from({ length: ROWS }, (_it, i) => i + 1);
  await world.insert(
    'authors',
    ids.slice(0, AUTHORS).map((id) => ({ name: `Äda ${id}` })),
  );
  await world.insert('tags', [{ name: 'red' }, { name: 'green' }]);
  await world.insert(
    'notes',
    ids.map((id) => ({ title: `nöte ${id}`, size: (id * 7) % 50, published_at: id % 10 === 0 ? null : 1 })),
  );
  await world.insert(
    'notes_author_links',
    ids.map((id) => ({ note_id: id, author_id: (id % AUTHORS) + 1 })),
  );
  await world.insert(
    'notes_tags_links',
    ids.map((id) => ({ note_id: id, tag_id: (id % 2) + 1, tag_order: 1 })),
  );
  context = {
    model: world.model,
    gate: serverGate,
    strict: true,
    defaultLocale: null,
    rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
  };
});
afterAll(() => world.close());
beforeEach(async () => {
  limits.reset();
  db = await openSqlite(world.db.place);
  await db.startThreads(threadOptions(1));
  reader = newReader(db, { responseCacheBytesMax: 0, entriesBytesMax: 0 });
});
afterEach(() => db.close());

const requestOf = (url: string) => {
  const { pathname, search } = new URL(url, 'http://localhost');
  const [, plural, id] = /^\/(\w+?)(?:\/(\d+))?$/.exec(pathname)!;
  const type = [...world.model.types.values()].find((it) => it.plural === plural)!;
  const query = textQuery(search.slice(1));
  return id === undefined
    ? ({ type, query, action: 'find', id: null } as const)
    : ({ type, query, action: 'findOne', id: Number(id) } as const);
};
const read = async (url: string): Promise<string> => {
  const answer = await reader.read(requestOf(url), context);
  if (!answer.ok) throw new Error(JSON.stringify(answer.issues));
  return answer.value.body.toString();
};
/** Every thread starts with the first read that needs it. */
const threadsStarted = (): number => db.load().open;

const small = [
  '/notes/7',
  '/notes/7?populate=*',
  '/notes/7?populate[author][populate][notes]=true',
  '/notes/7?populate[tags][filters][name]=red&populate[tags][sort]=name',
  '/notes?pagination[withCount]=false',
  '/notes?pagination[withCount]=false&pagination[page]=3&populate=author,tags',
  '/notes?pagination[withCount]=false&sort=size:desc',
  '/authors?pagination[withCount]=false&pagination[limit]=100',
];
const large = [
  '/notes?pagination[withCount]=false&sort=title',
  '/notes?pagination[withCount]=false&sort=author.name',
  '/notes?pagination[withCount]=false&sort=size,title',
  '/notes?pagination[withCount]=false&filters[title]=x',
  '/notes?pagination[withCount]=false&filters[author][name]=Bob',
  '/notes?pagination[withCount]=false&pagination[start]=401',
  '/notes?pagination[withCount]=false&pagination[limit]=100&populate[tags]=true&populate[author][populate]=notes',
  '/notes/7?populate[tags][filters][name]=red&populate[author][populate][notes][filters][tags][name]=red',
  '/notes/7?populate[author][populate][notes][populate][author][populate][notes][populate][author][populate]=notes',
];

/** The statement of a read if it is small, else null. @param counted entries on all pages, as they were last counted. */
const smallStatement = (url: string, counted: number | null = null): Statement | null => {
  const request = requestOf(url);
  const prepared = reader.prepare(request, context);
  if (!prepared.ok) throw new Error(JSON.stringify(prepared.issues));
  const { plan, compiled } = prepared.value;
  const ids = request.id === null ? [] : [request.id];
  return isSmallRead(compiled, plan.values, ids, counted) ? withIds(compiled.whole!, ids, db.dialect) : null;
};

describe('small reads on sqlite', () => {
  it('look at rows by ids, by links, or in the order of an index, and never at a whole table', async () => {
    for (const url of small) {
      const statement = smallStatement(url);
      if (!statement) throw new Error(`${url} is not small`);
      const tables = await db.read(() => db.dialect.explain(statement));
      expect(tables, url).not.toEqual([]);
      expect(
        tables.filter((it) => it.extent === 'all'),
        url,
      ).toEqual([]);
    }
  });

  it('are no others: those that sort by no index, filter, skip or show many entries', () => {
    expect(large.filter((url) => smallStatement(url) !== null)).toEqual([]);
  });

  it('need no thread, others do', async () => {
    for (const url of small) await read(url);
    expect(threadsStarted()).toBe(0);
    await read(large[0]!);
    expect(threadsStarted()).toBe(1);
  });

  it('that take too long are left to a thread, and give the same', async () => {
    const bodies: string[] = [];
    for (const url of small) bodies.push(await read(url));
    expect(threadsStarted()).toBe(0);
    limits.set({ smallReadMsMax: -1 });
    for (const [i, url] of small.entries()) expect(await read(url)).toBe(bodies[i]);
    expect(threadsStarted()).toBe(1);
  });

  it('of one turn of the event loop share their time: the next ones are left to threads, and give the same', async () => {
    limits.set({ ownTimeMsMax: 0 });
    const [first, second] = await Promise.all([read('/notes/7?populate=*'), read('/notes/7?populate=*')]);
    expect(threadsStarted()).toBe(1);
    expect(second).toBe(first);
  });

  it('are also those of a plan that has taken little time in a thread, until one of them takes too long', async () => {
    const url = '/notes?pagination[withCount]=false&filters[author][name]=';
    const names = ['Äda 3', 'Äda 4', 'Äda 5', 'Bob'];
    const isReadHere = async (name: string): Promise<boolean> => {
      const before = statementsHere();
      const body = await read(`${url}${name}`);
      expect((JSON.parse(body) as { readonly data: readonly unknown[] }).data.length > 0).toBe(name !== 'Bob');
      return statementsHere() > before;
    };
    const places: boolean[] = [];
    for (const name of names) places.push(await isReadHere(name));
    expect(places).toEqual([false, false, false, false]);
    limits.set({ knownSmallReadMsMax: 60_000 });
    for (const [i, name] of names.entries()) places[i] = await isReadHere(name);
    expect(places).toEqual([true, true, true, true]);
    // it ends before its statement begins, and the plan has to prove itself again
    limits.set({ smallReadMsMax: -1 });
    expect(await isReadHere('Äda 6')).toBe(false);
    limits.set({ smallReadMsMax: 60_000 });
    expect(await isReadHere('Äda 7')).toBe(false);
  });

  it('are no longer those of a plan of which one took long, even if its statement ended in time', async () => {
    limits.set({ knownSmallReadMsMax: 60_000, knownSmallReadsMin: 1 });
    const url = '/notes?pagination[withCount]=false&filters[author][name]=Bob';
    await read(url);
    const before = statementsHere();
    limits.set({ ownTimeMsMax: 0 });
    await read(url);
    const then = statementsHere();
    expect(then).toBeGreaterThan(before);
    limits.set({ ownTimeMsMax: 60_000 });
    await read(url);
    expect(statementsHere()).toBe(then);
  });

  it('count a list only if it was short when it was last counted', () => {
    const smallIf = [null, AUTHORS, 100_000].map((counted) => smallStatement('/authors', counted) !== null);
    expect(smallIf).toEqual([false, true, false]);
  });

  it('see what was committed before they began, by whomever', async () => {
    await read('/notes/8');
    const { db: other } = world;
    await other.write((tx) => tx.run(other.dialect.compile(sql`update notes set title = 'changed' where id = 8`)));
    expect(await read('/notes/8')).toContain('"title":"changed"');
    await db.write((tx) => tx.run(db.dialect.compile(sql`update notes set title = 'again' where id = 8`)));
    expect(await read('/notes/8')).toContain('"title":"again"');
  });
});
