/** What is known of a list, its length and positions in it, is used by later pages, and is never stale (PA6). */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import type { Db, ReadProgram, Statement } from '../../src/sql/dialect.js';
import { queryOf } from '../world/databases.js';
import { newSmallWorld, type SmallWorld } from '../world/small.js';
import { dialects } from '../world/world.js';

const ROWS = 3_000;
const isDraft = (id: number): boolean => id % 10 === 0;
const published = Array.from({ length: ROWS }, (_it, i) => i + 1).filter((id) => !isDraft(id));

describe.each(dialects)('known lists on %s', (dialect) => {
  let world: SmallWorld;
  const log: Statement[] = [];
  let beforeRead: (() => Promise<unknown>) | null = null;

  /** Records what runs, and lets other programs write before a read. */
  const watch = (db: Db): Db => {
    function* logged<T>(program: ReadProgram<T>): ReadProgram<T> {
      let step = program.next();
      while (!step.done) {
        log.push(...step.value);
        step = program.next(yield step.value);
      }
      return step.value;
    }
    return {
      ...db,
      readPlanned: async ({ plan, values, begin }) => {
        const write = beforeRead;
        beforeRead = null;
        await write?.();
        return db.read(() => logged(begin(plan, values, db.dialect)));
      },
    };
  };

  beforeEach(async () => {
    await world?.close();
    world = await newSmallWorld(
      dialect,
      {
        types: {
          note: {
            options: { draftAndPublish: true },
            attributes: {
              title: { type: 'string' },
              kind: { type: 'string' },
              size: { type: 'integer' },
              at: { type: 'datetime' },
            },
          },
          tag: { attributes: { name: { type: 'string' } } },
        },
        indexes: { 'api::note.note': ['size', 'at', 'size:desc,title', 'kind,size,title:desc'] },
      },
      { watch, entriesBytesMax: 0 },
    );
    await world.insert(
      'notes',
      Array.from({ length: ROWS }, (_it, i) => ({
        title: `note ${i + 1}`,
        kind: `kind ${i % 3}`,
        size: i % 50,
        at: 1_600_000_000_000 + i,
        published_at: isDraft(i + 1) ? null : 1,
      })),
    );
    log.length = 0;
  });
  afterAll(async () => {
    await world.close();
  });

  interface List {
    readonly ids: readonly number[];
    readonly total: number | undefined;
  }
  const list = async (query: string): Promise<List> => {
    const { status, body, text } = await world.send('GET', `/api/notes?fields=title&${query}`);
    expect(status, text).toBe(200);
    const { data, meta } = body as {
      data: readonly { id: number }[];
      meta: { pagination: { total?: number } };
    };
    return { ids: data.map((it) => it.id), total: meta.pagination.total };
  };
  const page = (start: number, more = ''): Promise<List> =>
    list(`pagination[start]=${start}&pagination[limit]=25${more}`);
  /** A whole read in one statement says where the number is, and counts only if it is null. */
  const counts = ({ sql, params }: Statement): boolean => {
    const [, known] = /coalesce\(\$(\d+), \(select count\(\*\)/.exec(sql) ?? [];
    return sql.includes('count(*)') && (known === undefined || params[Number(known) - 1] === null);
  };
  const counted = (): number => log.filter(counts).length;
  const foreign = (statement: string): Promise<unknown> => queryOf(world, statement);

  it('PA6: all pages of a list count it once', async () => {
    for (const start of [0, 25, 2_000, 1_000, 50])
      expect(await page(start)).toEqual({ ids: published.slice(start, start + 25), total: published.length });
    expect(counted()).toBe(1);
    expect((await list('sort=size&pagination[pageSize]=10')).total).toBe(published.length);
    expect((await list('populate=*&pagination[page]=3')).total).toBe(published.length);
    expect(counted()).toBe(1);
    expect((await list('filters[kind]=kind%201&pagination[page]=3')).total).toBe(900);
    expect(counted()).toBe(2);
    expect((await list('filters[kind]=kind%201&pagination[page]=4')).total).toBe(900);
    expect((await list('filters[kind]=kind%202&pagination[page]=4')).total).toBe(900);
    expect(counted()).toBe(3);
  });

  it('PA6: short lists are counted each time, which costs nothing', async () => {
    await world.insert('tags', [{ name: 'a' }, { name: 'b' }]);
    await world.send('GET', '/api/tags?fields=name&pagination[pageSize]=1');
    await world.send('GET', '/api/tags?fields=id&pagination[pageSize]=1');
    expect(counted()).toBe(2);
  });

  it.runIf(dialect === 'sqlite')('PA6: a page that is not full tells how long its list is', async () => {
    expect((await list('filters[size]=7&pagination[pageSize]=100')).total).toBe(60);
    expect((await list('filters[size]=7&pagination[pageSize]=25&pagination[page]=3')).total).toBe(60);
    expect((await list('filters[size]=8&pagination[start]=59&pagination[limit]=25')).total).toBe(60);
    expect((await list('filters[title]=none')).total).toBe(0);
    expect(counted()).toBe(0);
    // nothing is on these pages, and this one is full
    expect((await list('filters[size]=5&pagination[page]=9')).total).toBe(60);
    expect((await list('filters[size]=6&pagination[pageSize]=60')).total).toBe(60);
    expect(counted()).toBe(2);
  });

  it.each([
    ['', published],
    ['&pagination[withCount]=false', published],
    ['&publicationState=preview', Array.from({ length: ROWS }, (_it, i) => i + 1)],
    ['&filters[kind]=kind%201', published.filter((id) => (id - 1) % 3 === 1)],
  ])('PA6: pages in any order, crossing each other, are slices of the list: %s', async (query, all) => {
    const starts = Array.from({ length: 90 }, (_it, i) => Math.imul(i, 0x9e3779b1) >>> 21);
    for (const start of [...starts, 2_600, 2_625, 2_650, 2_675, 2_700, 3_000, 5_000])
      expect((await page(start, query)).ids, `start ${start}`).toEqual(all.slice(start, start + 25));
  });

  it.each(['', '&sort=size', '&sort=at:desc', '&sort=size,title:desc'])(
    'PA6: the next page of a long list skips nothing: %s',
    async (sort) => {
      await page(2_000, sort);
      await page(2_000, sort);
      const bound = (): readonly string[] => log.flatMap((it) => it.params.map(String));
      expect(bound()).toContain('2000');
      log.length = 0;
      expect((await page(2_025, sort)).ids).toHaveLength(25);
      expect(bound()).not.toContain('2025');
    },
  );

  it.each(['size:desc,title', 'size,title:desc', 'kind,size', 'kind:desc,size:desc,title'])(
    'PA6: the same in the order of several columns of which some have no value: %s',
    async (sort) => {
      await foreign('update notes set size = null where id % 11 = 0');
      await foreign('update notes set title = null where id % 7 = 0');
      await foreign('update notes set kind = null where id % 5 = 0');
      const order = sort.replaceAll(':', ' ');
      const rows = await foreign(`select id from notes where published_at is not null order by ${order}, id`);
      const all = (rows as readonly { id: number }[]).map((it) => Number(it.id));
      const starts = Array.from({ length: 40 }, (_it, i) => Math.imul(i, 0x9e3779b1) >>> 21);
      for (const start of [...starts, 1_200, 1_225, 1_250, 2_450, 2_475, 2_500, 2_625, 2_650, 2_675, 2_690, 3_000])
        expect((await page(start, `&sort=${sort}`)).ids, `start ${start}`).toEqual(all.slice(start, start + 25));
    },
  );

  it('PA6: an own write is seen by the next page: in its count and in its positions', async () => {
    await page(2_000);
    await page(2_025);
    const { body } = await world.send('POST', '/api/notes', { data: { title: 'new' } });
    const { id } = (body as { data: { id: number } }).data;
    await world.send('DELETE', `/api/notes/${published[3]}`);
    await world.send('DELETE', `/api/notes/${published[4]}`);
    const left = [...published.slice(0, 3), ...published.slice(5), id];
    expect(await page(2_025)).toEqual({ ids: left.slice(2_025, 2_050), total: left.length });
    expect(await page(2_050)).toEqual({ ids: left.slice(2_050, 2_075), total: left.length });
  });

  it('PA6: so is a write of another program, also one that commits while the page is read', async () => {
    await page(2_000);
    await page(2_025);
    await foreign('delete from notes where id = 4');
    let left = published.filter((id) => id !== 4);
    expect(await page(2_050)).toEqual({ ids: left.slice(2_050, 2_075), total: left.length });
    await page(2_075);
    beforeRead = () => foreign('delete from notes where id in (1, 2)');
    left = left.filter((id) => id > 2);
    expect(await page(2_100)).toEqual({ ids: left.slice(2_100, 2_125), total: left.length });
    beforeRead = () => world.send('DELETE', '/api/notes/3');
    left = left.filter((id) => id > 3);
    expect(await page(2_125)).toEqual({ ids: left.slice(2_125, 2_150), total: left.length });
  });

  it('PA6: a write to other tables leaves what is known', async () => {
    await world.send('POST', '/api/tags', { data: { name: 'first' } });
    await page(0);
    const before = counted();
    for (let i = 0; i < 5; i++) {
      await world.send('POST', '/api/tags', { data: { name: `tag ${i}` } });
      await page(25 * (i + 1));
    }
    expect(counted()).toBe(before);
  });

  it('PA6: filters through attributes that share a table are of different lists', async () => {
    const side = { type: 'component', component: 'parts.side' };
    const other = await newSmallWorld(dialect, {
      types: { card: { attributes: { front: side, back: side } } },
      components: { 'parts.side': { colour: { type: 'string' } } },
    });
    try {
      await other.send('POST', '/api/cards', { data: { front: { colour: 'red' }, back: { colour: 'red' } } });
      await other.send('POST', '/api/cards', { data: { front: { colour: 'red' }, back: { colour: 'blue' } } });
      const totals: unknown[] = [];
      for (const name of ['front', 'back', 'front']) {
        const { body } = await other.send('GET', `/api/cards?filters[${name}][colour]=red`);
        totals.push((body as { meta: { pagination: { total: number } } }).meta.pagination.total);
      }
      expect(totals).toEqual([2, 1, 2]);
    } finally {
      await other.close();
    }
  });

  it('PA6: many positions of many pages stay few, and right', async () => {
    expect(limits.anchorsMax).toBeLessThan(ROWS);
    for (let start = 0; start < published.length; start += 25)
      expect((await page(start)).ids).toEqual(published.slice(start, start + 25));
    expect(counted()).toBe(1);
  });
});
