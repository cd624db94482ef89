/** New values cost no compilation: reads that differ only in pages, filter values and ids share their statements. */
import { afterEach, describe, expect, it } from 'vitest';
import { textQuery } from '../../src/query/brackets.js';
import type { ResolveContext } from '../../src/query/resolve.js';
import type { ReadAction } from '../../src/query/selection.js';
import { newReader } from '../../src/read/find.js';
import type { Db } from '../../src/sql/dialect.js';
import { useLimits } from '../world/limits.js';
import { dialects, type Entry, type Envelope, useWorld } from '../world/world.js';

const inner = (title: string) =>
  `populate[reels][filters][film][title][$eq]=${title}&populate[reels][populate][film][filters][title][$ne]=${title}`;

/** Queries of one shape, by a number that decides their values. */
const shapes: readonly (readonly [name: string, query: (i: number) => string])[] = [
  ['page numbers', (i) => `pagination[page]=${2 + i}`],
  ['page sizes up to 100', (i) => `pagination[pageSize]=${1 + (i % 100)}&sort=title`],
  ['offsets', (i) => `pagination[start]=${1 + i}&pagination[limit]=${1 + i}`],
  [
    'filter values',
    (i) => `filters[title][$containsi]=${i}&filters[year][$between][0]=${i}&filters[year][$between][1]=9`,
  ],
  ['filters through relations', (i) => `filters[director][name][$startsWith]=${i}&filters[id][$ne]=${i}`],
  [
    'lists of as many values',
    (i) => `filters[year][$in][0]=${i}&filters[year][$in][1]=1911&filters[year][$in][2]=${i}`,
  ],
  ['searches for words', (i) => `_q=word${i}`],
  ['searches for numbers', (i) => `_q=${i}`],
  ['filters inside populate', (i) => inner(`film ${i}`)],
  ['flags of the same sense', (i) => `filters[title][$null]=${i % 2 === 0}&filters[year][$notNull]=${i % 2 === 0}`],
];

describe.each(dialects)('shapes of plans on %s', (dialect) => {
  const own = useLimits();
  afterEach(own.reset);
  const world = useWorld(dialect);

  /** A reader that counts what it compiles. */
  const newCountedReader = () => {
    const counted = { compilations: 0 };
    const compile: Db['dialect']['compile'] = (query) => {
      counted.compilations += 1;
      return world.db.dialect.compile(query);
    };
    const db: Db = { ...world.db, dialect: { ...world.db.dialect, compile } };
    const reader = newReader(db, { responseCacheBytesMax: 0, entriesBytesMax: 0 });
    const context: ResolveContext = {
      model: world.model,
      gate: { version: 'all', allows: () => true, reaches: () => true },
      rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
      strict: true,
      defaultLocale: 'en',
    };
    const type = world.model.types.get('api::film.film')!;
    const request = (search: string, action: ReadAction, id: number | null) =>
      ({ action, type, id, query: textQuery(search) }) as const;
    return {
      counted,
      check: (search: string) => expect(reader.check(request(search, 'find', null), context).ok).toBe(true),
      read: async (search: string, action: ReadAction = 'find', id: number | null = null) => {
        const answer = await reader.read(request(search, action, id), context);
        if (!answer.ok) throw new Error(JSON.stringify(answer.issues));
        return answer.value.body.toString();
      },
      count: async (search: string) => {
        const counted = await reader.count({ type, query: textQuery(search) }, context);
        return counted.ok ? counted.value.total : counted.issues;
      },
    };
  };

  it.each(shapes)('%s share their statements', async (name, query) => {
    const { counted, read, count } = newCountedReader();
    const senses = name.startsWith('flags') ? 2 : 1;
    for (let i = 0; i < senses; i++) await read(query(i));
    const { compilations } = counted;
    expect(compilations).toBeGreaterThan(0);
    for (let i = senses; i < 20; i++) {
      expect(await read(query(i))).toBe(await newCountedReader().read(query(i)));
      await count(query(i));
    }
    expect(counted.compilations).toBe(compilations);
  });

  it('ids share their statements', async () => {
    const { counted, read } = newCountedReader();
    await read('populate=*', 'findOne', 1);
    const { compilations } = counted;
    for (const id of [2, 3, 4])
      expect(JSON.parse(await read('populate=*', 'findOne', id))).toMatchObject({ data: { id } });
    expect(counted.compilations).toBe(compilations);
  });

  it('conditions of two places are bound each on its own, equal or not', async () => {
    const { read } = newCountedReader();
    const populate = (name: string, title: string) =>
      `populate[${name}][fields]=title&populate[${name}][filters][title][$ne]=${title}`;
    const shown = async (...parts: readonly string[]) => {
      const { data } = JSON.parse(await read(['fields=id', ...parts].join('&'))) as Envelope<readonly Entry[]>;
      return data.map((it) => it.attributes);
    };
    const all = (await shown('populate[influences][fields]=title', 'populate[influenced][fields]=title')).flatMap(
      (it) =>
        (Object.values(it) as readonly Envelope<readonly Entry[]>[]).flatMap(({ data }) =>
          data.map(({ attributes }) => attributes['title']),
        ),
    );
    const titles = [...new Set(all)] as readonly string[];
    expect(titles.length).toBeGreaterThan(1);
    for (const one of titles)
      for (const other of titles) {
        const [first, second] = [populate('influences', one), populate('influenced', other)];
        const apart = [await shown(first), await shown(second)];
        expect(await shown(first, second)).toEqual(apart[0]!.map((it, i) => ({ ...it, ...apart[1]![i] })));
      }
  });

  it('a plan whose shape has been evicted is made again', async () => {
    own.set({ shapeBytesMax: 200_000 });
    const { counted, check, read } = newCountedReader();
    const first = await read('fields=title');
    const names = [...world.model.types.get('api::film.film')!.attributes.values()]
      .filter((it) => it.kind === 'link')
      .map((it) => it.name)
      .slice(0, 6);
    for (let i = 1; i < 2 ** names.length; i++)
      check(`populate=${names.filter((_name, at) => (i >> at) & 1).join(',')}`);
    const { compilations } = counted;
    expect(await read('fields=title')).toBe(first);
    expect(counted.compilations).toBeGreaterThan(compilations);
  });
});
