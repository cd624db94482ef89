/**
 * Entries that a page has shown are kept with all that they show, so that other pages, filters and sorts read only ids, and the
 * orders of lists, so that other pages of one read no ids. Responses are those of a reader that keeps nothing, byte by byte, and
 * never stale (RQ19).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, newGate, serverGate } from '../../src/access/access.js';
import { busy, issue, Refusal } from '../../src/errors.js';
import { textQuery } from '../../src/query/brackets.js';
import { objectQuery } from '../../src/query/objects.js';
import type { ResolveContext } from '../../src/query/resolve.js';
import { newReader, type Reader } from '../../src/read/find.js';
import type { Db, PlannedRead, ReadProgram } from '../../src/sql/dialect.js';
import { dialectsAndThreads, queryOf, threadOptions } from '../world/databases.js';
import { useLimits } from '../world/limits.js';
import { newSmallWorld, relation, type SmallProject, type SmallWorld } from '../world/small.js';

// a small read that is given up runs its statements once more in a thread, and these tests count them
const limits = useLimits({ smallReadMsMax: 60_000 });

const project: SmallProject = {
  types: {
    note: {
      options: { draftAndPublish: true },
      attributes: {
        title: { type: 'string' },
        size: { type: 'integer' },
        secret: { type: 'string', private: true },
        author: relation('manyToOne', 'author', { inversedBy: 'notes' }),
        tags: relation('manyToMany', 'tag'),
        cards: { type: 'component', component: 'parts.card', repeatable: true },
      },
    },
    author: { attributes: { name: { type: 'string' }, notes: relation('oneToMany', 'note', { mappedBy: 'author' }) } },
    tag: { attributes: { name: { type: 'string' } } },
    other: { attributes: { name: { type: 'string' } } },
  },
  components: { 'parts.card': { label: { type: 'string' } } },
};

const ROWS = 120;
const isDraft = (id: number): boolean => id % 10 === 0;

describe.each(dialectsAndThreads)('kept entries on %s, threads: %i', (dialect, threads) => {
  let world: SmallWorld;
  let context: ResolveContext;
  /** Keeps entries, and no responses. */
  let keeping: Reader;
  let fresh: Reader;
  /** Texts of the statements that the reader runs. */
  const log: string[] = [];
  /** Runs once, before the read with that number since it was set. */
  let interruption: { reads: number; readonly run: () => Promise<unknown> } | null = null;

  /** Runs once, when the next ids have been read, before anything is made of them. */
  let beforeNext: (() => Promise<unknown>) | null = null;

  function* logged<T>(program: ReadProgram<T>): ReadProgram<T> {
    let step = program.next();
    while (!step.done) {
      log.push(...step.value.map((it) => it.sql));
      step = program.next(yield step.value);
    }
    return step.value;
  }
  const interrupt = async (): Promise<void> => {
    if (!interruption || interruption.reads-- > 0) return;
    const { run } = interruption;
    interruption = null;
    await run();
  };
  const watchPlanned = <Plan extends object, Values, T>(
    read: PlannedRead<Plan, Values, T>,
  ): PlannedRead<Plan, Values, T> => ({ ...read, begin: (...given) => logged(read.begin(...given)) });
  const watched = (db: Db): Db => ({
    ...db,
    readPlanned: async (read) => {
      await interrupt();
      return db.readPlanned(watchPlanned(read));
    },
    readThenCatchUp: async (read) => {
      await interrupt();
      const result = await db.readThenCatchUp(watchPlanned(read));
      const afterwards = beforeNext;
      beforeNext = null;
      await afterwards?.();
      return result;
    },
  });

  beforeEach(async () => {
    world = await newSmallWorld(dialect, project);
    const { db, model } = world;
    await world.insert(
      'authors',
      ['Äda', 'Bob'].map((name) => ({ name })),
    );
    await world.insert(
      'tags',
      ['red', 'green', 'blau'].map((name) => ({ name })),
    );
    const ids = Array.from({ length: ROWS }, (_it, i) => i + 1);
    await world.insert(
      'notes',
      ids.map((id) => ({
        title: `nöte ${id} 💡`,
        size: (id * 7) % 50,
        secret: 'not to be shown',
        published_at: isDraft(id) ? null : 1,
      })),
    );
    await world.insert(
      'notes_author_links',
      ids.map((id) => ({ note_id: id, author_id: (id % 2) + 1 })),
    );
    await world.insert(
      'notes_tags_links',
      ids.map((id) => ({ note_id: id, tag_id: (id % 3) + 1, tag_order: 1 })),
    );
    await world.insert(
      'components_parts_cards',
      ids.map((id) => ({ label: `card ${id}` })),
    );
    await world.insert(
      'notes_components',
      ids.map((id) => ({ entity_id: id, component_id: id, component_type: 'parts.card', field: 'cards', order: 1 })),
    );
    context = {
      model,
      gate: serverGate,
      strict: true,
      defaultLocale: null,
      rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
    };
    const readers = { responseCacheBytesMax: 0 };
    if (threads > 0)
      await (db as Db & { startThreads(options: unknown): Promise<void> }).startThreads(threadOptions(threads));
    keeping = newReader(watched(db), readers);
    fresh = newReader(db, { ...readers, entriesBytesMax: 0 });
    // the first look and the first write change everything: they read what the tables declare
    await db.changes.catchUp();
    await write('POST', '/others', { name: 'first' });
    await db.changes.catchUp();
    log.length = 0;
  });
  afterEach(() => world.close());

  const read = async (reader: Reader, search: string, type = 'note', given = context): Promise<string> => {
    const entryType = world.model.types.get(`api::${type}.${type}`)!;
    const found = await reader.read({ action: 'find', type: entryType, id: null, query: textQuery(search) }, given);
    if (!found.ok) throw new Error(JSON.stringify(found.issues));
    return `${found.value.etag} ${found.value.body}`;
  };
  /** The response and its tag, which must be those of the reader that keeps nothing; and how many entries were found. */
  const readKept = async (search: string, type?: string): Promise<number> => {
    const before = keeping.entryCounts.found;
    const got = await read(keeping, search, type);
    expect(got, search).toBe(await read(fresh, search, type));
    return keeping.entryCounts.found - before;
  };
  /** Until all entries of the page are kept. */
  const warm = async (search: string): Promise<void> => {
    for (let i = 0; i < 3; i++) await readKept(search);
  };
  const write = async (method: string, url: string, data: object): Promise<void> => {
    const answer = await world.send(method, `/api${url}`, { data });
    expect(answer.status, answer.text).toBe(200);
  };

  const all = 'populate=*&pagination[pageSize]=100';

  it('RQ19: a page of entries that another sort, filter or page has shown reads only their ids', async () => {
    await warm(`${all}&sort=id`);
    for (const search of [
      `${all}&sort=size:desc`,
      `${all}&sort=author.name,title:desc`,
      `${all}&filters[size][$lt]=20`,
      `${all}&filters[tags][name]=green&sort=title`,
      'populate=*&pagination[page]=3&pagination[pageSize]=7',
      'populate=*&pagination[start]=5&pagination[limit]=30&pagination[withCount]=false',
    ]) {
      await read(keeping, search);
      await read(keeping, search);
      log.length = 0;
      const entries = (JSON.parse((await read(fresh, search)).replace(/^\S* /, '')) as { data: unknown[] }).data.length;
      expect(await readKept(search), search).toBe(entries);
      // of a sorted list, whose order is kept by now, not even these
      expect(log, search).toHaveLength(search.includes('sort=') ? 0 : 1);
      expect(log.join(), search).not.toContain('cards');
    }
  });

  it('of a page that is partly kept, only the other entries are read', async () => {
    await warm('populate=*&pagination[pageSize]=50');
    const before = keeping.entryCounts.missed;
    const search = 'populate=*&pagination[start]=20&pagination[limit]=50';
    await readKept(search);
    expect(await readKept(search)).toBe(30);
    expect(keeping.entryCounts.missed - before).toBe(20);
    expect(await readKept(search)).toBe(50);
  });

  it('other fields, relations, conditions on relations, states and forms are other entries', async () => {
    await warm(all);
    const half = '&pagination[pageSize]=100';
    for (const search of [
      `fields=title${half}`,
      `populate=author${half}`,
      `populate=author,tags,cards&fields=title${half}`,
      `populate[author][filters][name]=Bob${half}`,
      `populate[author][filters][name]=Äda${half}`,
      `populate[author][populate][notes][sort]=size:desc&populate[author][populate][notes][fields]=size${half}`,
      `populate[author][populate][notes][publicationState]=preview${half}`,
      `publicationState=preview&${all}`,
    ]) {
      expect(await readKept(search), search).toBe(0);
      await warm(search);
      expect(await readKept(search), search).toBeGreaterThan(0);
    }
    // one reader, plain objects
    const type = world.model.types.get('api::note.note')!;
    const request = { action: 'find', type, id: null, form: 'plain', query: objectQuery({ populate: '*' }) } as const;
    for (let i = 0; i < 4; i++) {
      const [got, wanted] = [await keeping.read(request, context), await fresh.read(request, context)];
      expect(got.ok && got.value.body.toString()).toBe(wanted.ok && wanted.value.body.toString());
    }
  });

  it('AC5: callers who may see different things of an entry share none', async () => {
    const caller = (version: string, types: readonly string[]): Caller => ({
      version,
      may: (action) => types.some((it) => action === `api::${it}.${it}.find`),
    });
    const every = { ...context, gate: newGate(caller('every', ['note', 'author', 'tag']), world.model) };
    const alike = { ...context, gate: newGate(caller('alike', ['note', 'author', 'tag', 'other']), world.model) };
    const few = { ...context, gate: newGate(caller('few', ['note', 'tag']), world.model) };
    for (let i = 0; i < 4; i++) await read(keeping, all, 'note', every);
    const before = keeping.entryCounts.found;
    const shown = await read(keeping, all, 'note', few);
    expect(keeping.entryCounts.found).toBe(before);
    expect(shown).toBe(await read(fresh, all, 'note', few));
    expect(shown).not.toContain('author');
    // the same selection by another right
    await read(keeping, all, 'note', alike);
    expect(keeping.entryCounts.found - before).toBe(ROWS - ROWS / 10 < 100 ? ROWS - ROWS / 10 : 100);
  });

  it('RQ19: a write to any table that they show drops them, and one to another table none', async () => {
    await warm(all);
    await write('POST', '/others', { name: 'beside' });
    expect(await readKept(all)).toBeGreaterThan(0);
    const changes: readonly (readonly [method: string, url: string, data: object])[] = [
      ['PUT', '/notes/1', { title: 'changed' }],
      ['PUT', '/authors/1', { name: 'changed too' }],
      ['PUT', '/notes/2', { tags: [1, 2, 3] }],
      ['PUT', '/notes/3', { cards: [{ label: 'new' }] }],
      ['POST', '/notes', { title: 'another', author: 1 }],
    ];
    for (const change of changes) {
      await write(...change);
      expect(await readKept(all), JSON.stringify(change)).toBe(0);
      await warm(all);
      await warm(all);
      expect(await readKept(all)).toBeGreaterThan(0);
    }
  });

  it('RQ19: commits between the ids of a page and its missing entries do not mix two states', async () => {
    const filter = '&filters[title][$notContains]=zzz';
    const filtered = `populate=*&pagination[pageSize]=50${filter}`;
    for (const reads of [1, 0]) {
      await warm(`populate=*&pagination[pageSize]=30${filter}`);
      await warm(`populate=*&pagination[pageSize]=30${filter}`);
      interruption = {
        reads,
        run: async () => {
          await write('PUT', '/notes/11', { title: `zzz ${reads}` });
          await write('PUT', '/authors/2', { name: `new ${reads}` });
        },
      };
      const got = await read(keeping, filtered);
      expect(got).toBe(await read(fresh, filtered));
      expect(interruption).toBeNull();
    }
  });

  it('RQ19: an entry that others read and kept while the ids were on their way is not taken for one of their state', async () => {
    const filtered = `${all}&pagination[withCount]=false&filters[title][$notContains]=zzz&sort=id`;
    await warm(all);
    await warm(filtered);
    beforeNext = async () => {
      await write('PUT', '/notes/1', { title: 'zzz' });
      for (let i = 0; i < 3; i++) await read(keeping, all);
    };
    expect(await read(keeping, filtered)).toBe(await read(fresh, filtered));
    expect(beforeNext).toBeNull();
  });

  it('entries that were shown once do not displace others when memory is short', async () => {
    const bytes = Buffer.byteLength(await read(fresh, 'populate=*&pagination[pageSize]=10'));
    // room for some 80 of 108
    const small = newReader(watched(world.db), { responseCacheBytesMax: 0, entriesBytesMax: 8 * bytes + 80 * 256 });
    const front = 'populate=*&pagination[pageSize]=10';
    for (let i = 0; i < 4; i++) await read(small, front);
    for (let page = 2; page <= 10; page++)
      expect(await read(small, `${front}&pagination[page]=${page}`)).toBe(
        await read(fresh, `${front}&pagination[page]=${page}`),
      );
    await read(small, front);
    const before = small.entryCounts.found;
    await read(small, front);
    await read(small, front);
    expect(small.entryCounts.found).toBeGreaterThan(before);
  });

  it('entries of a selection that was given up leave their room to others, also if they were on their way', async () => {
    const page = Buffer.byteLength(await read(fresh, all)) + 100 * 320;
    limits.set({ entryGroupsMax: 1 });
    // room for a page and a bit
    const small = newReader(watched(world.db), {
      responseCacheBytesMax: 0,
      entriesBytesMax: Math.ceil(1.3 * page),
    });
    limits.reset();
    /** A selection is kept from its second read on, in place of the one before. */
    const keep = async (search: string): Promise<void> => {
      for (let i = 0; i < 2; i++) await read(small, search);
    };
    const one = 'fields=title&pagination[pageSize]=1';
    const expectRoomFor = async (search: string): Promise<void> => {
      await keep(search);
      const before = small.entryCounts.found;
      expect(await read(small, search)).toBe(await read(fresh, search));
      expect(small.entryCounts.found - before).toBe(100);
    };
    await keep(all);
    await keep(one);
    await expectRoomFor(`publicationState=preview&${all}`);
    interruption = { reads: 0, run: () => keep(one) };
    await read(small, all);
    expect(interruption).toBeNull();
    await expectRoomFor(`sort=title&publicationState=preview&${all}`);
  });

  /** Pages of a sorted list, which differ in nothing else. */
  const sorted =
    'populate=*&filters[size][$lt]=45&sort=author.name:desc,title&pagination[pageSize]=9&pagination[page]=';
  const sorting = (): readonly string[] => log.filter((it) => it.includes('key0'));
  const writesEverywhere: readonly (readonly [method: string, url: string, data: object])[] = [
    ['PUT', '/authors/1', { name: 'Zoë' }],
    ['PUT', '/notes/3', { title: 'aaa' }],
    ['PUT', '/notes/4', { size: 49 }],
    ['PUT', '/notes/5', { author: { disconnect: [2] } }],
    ['PUT', '/notes/6', { publishedAt: null }],
    ['POST', '/notes', { title: 'between', size: 1, author: 2 }],
    ['DELETE', '/notes/7', {}],
  ];

  it('RQ19: a sorted list that is read page by page is sorted once, for other fields and relations too', async () => {
    await readKept(`${sorted}1`);
    await readKept(`${sorted}2`);
    log.length = 0;
    await readKept(`${sorted}3`);
    expect(sorting()).toHaveLength(1);
    log.length = 0;
    for (let page = 1; page <= 12; page++) await readKept(`${sorted}${page}`);
    // beyond the end
    expect(await readKept(`${sorted}99`)).toBe(0);
    expect(sorting()).toEqual([]);
    const other = sorted.replace('populate=*', 'fields=size');
    // statements are made for what is asked for again
    await readKept(`${other}4`);
    log.length = 0;
    for (let page = 2; page <= 12; page++) await readKept(`${other}${page}`);
    expect(sorting()).toEqual([]);
    log.length = 0;
    expect(await readKept(`${sorted}5`)).toBe(9);
    expect(log).toEqual([]);
  });

  it('RQ19: an order is dropped by a write to any table that decides it, and by no other', async () => {
    await warm(`${sorted}2`);
    await write('POST', '/others', { name: 'beside' });
    await write('PUT', '/tags/1', { name: 'shown only' });
    log.length = 0;
    await readKept(`${sorted}3`);
    expect(sorting()).toEqual([]);
    for (const change of writesEverywhere) {
      await warm(`${sorted}2`);
      await write(...change);
      log.length = 0;
      for (const page of [1, 2, 3, 9]) await readKept(`${sorted}${page}`);
      expect(sorting(), JSON.stringify(change)).not.toEqual([]);
    }
  });

  it('RQ19: commits of other programs drop it too', async () => {
    await warm(`${sorted}2`);
    await queryOf(world, `update notes set title = 'first of all' where id = 9`);
    for (const page of [1, 2, 3]) await readKept(`${sorted}${page}`);
  });

  it('RQ19: commits while the order or its entries are read do not mix two states', async () => {
    for (const [i, change] of writesEverywhere.entries()) {
      await warm(`${sorted}1`);
      // the first for the order that is read once more, then for entries that are missing from a kept one
      interruption = { reads: i % 2, run: () => write(...change) };
      if (i % 3 === 0) await write('PUT', '/notes/11', { size: i });
      for (const page of [2, 3, 4]) await readKept(`${sorted}${page}`);
      interruption = null;
    }
  });

  it('RQ19: an entry that others read and kept while a reader caught up is not taken for one of an order that is kept', async () => {
    const { db } = world;
    let held: Promise<void> | null = null;
    /** What the first call while `held` is set has seen, it tells late. */
    const catchUp = () => {
      const [looked, waiting] = [db.changes.catchUp(), held];
      held = null;
      return waiting ? Promise.all([looked, waiting]).then(() => undefined) : looked;
    };
    const reader = newReader(watched({ ...db, changes: { ...db.changes, catchUp } }));
    const entriesOf = async (n: number) =>
      (JSON.parse((await read(fresh, `${sorted}${n}`)).replace(/^\S* /, '')) as { data: { id: number }[] }).data;
    /** The same entries in another list. */
    const unsorted = async (n: number): Promise<string> =>
      `populate=*&pagination[withCount]=false&${(await entriesOf(n)).map(({ id }, i) => `filters[id][$in][${i}]=${id}`).join('&')}`;
    for (const n of [1, 2, 3, 4, 5]) await read(reader, `${sorted}${n}`);
    // most entries of such lists are not kept, so that they are read whole
    for (const n of [8, 9, 10]) await read(reader, await unsorted(n));
    const others = await unsorted(7);
    const before = await read(fresh, `${sorted}7`);
    const moved = (await entriesOf(7))[4]!.id;

    let release = (): void => undefined;
    held = new Promise((resolve) => {
      release = resolve;
    });
    const late = read(reader, `${sorted}7`);
    interruption = {
      reads: 0,
      run: () => queryOf(world, `update notes set title = 'moved' where id = ${moved}`),
    };
    await read(reader, others);
    expect(interruption).toBeNull();
    release();
    expect([before, await read(fresh, `${sorted}7`)]).toContain(await late);
  });

  it('RQ19: requests that come at once share the reading of an order', async () => {
    await warm(`${sorted}1`);
    await warm(`${sorted}2`);
    await write('PUT', '/notes/11', { size: 2 });
    log.length = 0;
    const pages = [1, 2, 3, 4, 5, 6];
    const got = await Promise.all(pages.map((page) => read(keeping, `${sorted}${page}`)));
    expect(sorting()).toHaveLength(1);
    for (const [i, page] of pages.entries()) expect(got[i]).toBe(await read(fresh, `${sorted}${page}`));
  });

  it('RQ19: an order that takes too long is not read again before its list changes, and pages are read as before', async () => {
    await readKept(`${sorted}1`);
    interruption = {
      reads: 0,
      run: async () => {
        throw new Refusal(issue('read.too-slow', [], { max: 1 }));
      },
    };
    log.length = 0;
    for (const page of [1, 2, 3]) await readKept(`${sorted}${page}`);
    expect(interruption).toBeNull();
    expect(sorting()).toHaveLength(3);
    await write('PUT', '/notes/11', { size: 2 });
    log.length = 0;
    for (const page of [1, 2, 3]) await readKept(`${sorted}${page}`);
    expect(sorting()).toHaveLength(1);
  });

  it('RQ19: a list whose order there is no memory for is read page by page', async () => {
    const small = newReader(watched(world.db), { responseCacheBytesMax: 0, entriesBytesMax: 8_000 });
    for (let i = 0; i < 2; i++) await read(small, `${sorted}2`);
    log.length = 0;
    for (const page of [3, 4, 5])
      expect(await read(small, `${sorted}${page}`)).toBe(await read(fresh, `${sorted}${page}`));
    expect(sorting()).toHaveLength(3);
    expect(log).toHaveLength(3);
  });

  it('RQ19: an order that fails because the database is busy is tried again, and nothing else in its place', async () => {
    await readKept(`${sorted}1`);
    const fault = busy(new Error('locked'));
    interruption = { reads: 0, run: () => Promise.reject(fault) };
    log.length = 0;
    await expect(read(keeping, `${sorted}1`)).rejects.toThrow('http.busy');
    expect(log).toEqual([]);
    for (const page of [1, 2, 3]) await readKept(`${sorted}${page}`);
    // the second page is another statement, which is not made in two parts at first
    expect(sorting()).toHaveLength(2);
  });
});
