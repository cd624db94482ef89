/** Pagination: the table of PA1, and PA4. */
import { describe, expect, it } from 'vitest';
import { dialects, useWorld } from '../world/world.js';

/** Seven films are published. */
const all = [1, 2, 3, 4, 5, 7, 8];

describe.each(dialects)('pagination on %s', (dialect) => {
  const world = useWorld(dialect);
  const list = async (query: string) => {
    const { data, meta } = await world.read(`/api/films?fields=id&${query}`);
    return { ids: data.map((it) => it.id), ...meta.pagination };
  };
  const byPage = (page: number, pageSize: number, ids: readonly number[]) => ({
    ids,
    page,
    pageSize,
    pageCount: Math.ceil(all.length / pageSize),
    total: all.length,
  });
  const byOffset = (start: number, limit: number, ids: readonly number[]) => ({ ids, start, limit, total: all.length });

  it.each([
    ['', byPage(1, 25, all)],
    ['pagination', byPage(1, 25, all)],
    ['pagination[page]=2', byPage(2, 25, [])],
    ['pagination[pageSize]=3', byPage(1, 3, [1, 2, 3])],
    ['pagination[page]=2&pagination[pageSize]=3', byPage(2, 3, [4, 5, 7])],
    ['pagination[page]=3&pagination[pageSize]=3', byPage(3, 3, [8])],
    // a page past the end is echoed
    ['pagination[page]=4&pagination[pageSize]=3', byPage(4, 3, [])],
    ['pagination[page]=2147483647&pagination[pageSize]=100', byPage(2_147_483_647, 100, [])],
    ['pagination[page]=0', byPage(1, 25, all)],
    ['pagination[page]=-1', byPage(1, 25, all)],
    ['pagination[page]=', byPage(1, 25, all)],
    ['pagination[page]', byPage(1, 25, all)],
    ['pagination[pageSize]=0', byPage(1, 1, [1])],
    ['pagination[pageSize]=-1', byPage(1, 1, [1])],
    ['pagination[pageSize]=', byPage(1, 1, [1])],
    ['pagination[pageSize]', byPage(1, 1, [1])],
    ['pagination[pageSize]=100', byPage(1, 100, all)],
    ['pagination[pageSize]=101', byPage(1, 100, all)],
    ['pagination[pageSize]=Infinity', byPage(1, 100, all)],
    ['pagination[pageSize]=1e3', byPage(1, 100, all)],
    ['pagination[pageSize]=9007199254740991', byPage(1, 100, all)],
    ['pagination[pageSize]=1e400', byPage(1, 100, all)],
    ['pagination[pageSize]=-99999999999', byPage(1, 1, [1])],
    ['pagination[page]=2147483648', byPage(2_147_483_648, 25, [])],
    ['pagination[page]=90071992547409&pagination[pageSize]=100', byPage(90_071_992_547_409, 100, [])],
    ['pagination[pageSize]=0x2', byPage(1, 2, [1, 2])],
    ['pagination[pageSize]=%202%20', byPage(1, 2, [1, 2])],
    ['pagination[pageSize][]=2', byPage(1, 2, [1, 2])],
    ['pagination[pageSize][0]=2', byPage(1, 2, [1, 2])],
  ])('PA3: "%s" paginates by page', async (query, expected) => {
    expect(await list(query)).toEqual(expected);
  });

  it.each([
    ['pagination[start]=2', byOffset(2, 25, [3, 4, 5, 7, 8])],
    ['pagination[limit]=2', byOffset(0, 2, [1, 2])],
    ['pagination[start]=3&pagination[limit]=2', byOffset(3, 2, [4, 5])],
    ['pagination[start]=100&pagination[limit]=2', byOffset(100, 2, [])],
    ['pagination[start]=-5&pagination[limit]=2', byOffset(0, 2, [1, 2])],
    ['pagination[start]=&pagination[limit]=2', byOffset(0, 2, [1, 2])],
    ['pagination[limit]=0', byOffset(0, 1, [1])],
    ['pagination[limit]=-2', byOffset(0, 1, [1])],
    ['pagination[limit]=-1', byOffset(0, 100, all)],
    ['pagination[limit]=101', byOffset(0, 100, all)],
    ['pagination[limit]=Infinity', byOffset(0, 100, all)],
    ['pagination[limit]=1e1', byOffset(0, 10, all)],
    ['pagination[limit]=1e10', byOffset(0, 100, all)],
    ['pagination[limit]=9007199254740991', byOffset(0, 100, all)],
    ['pagination[start]=2147483648', byOffset(2_147_483_648, 25, [])],
    ['pagination[start]=1e3', byOffset(1000, 25, [])],
    // beyond exact integers there are no entries at any offset
    ['pagination[start]=9223372036854775807', byOffset(Number.MAX_SAFE_INTEGER, 25, [])],
  ])('PA2: "%s" paginates by offset', async (query, expected) => {
    expect(await list(query)).toEqual(expected);
  });

  it.each(['true', 't', '1'])('PA5: withCount=%s counts', async (flag) => {
    expect(await list(`pagination[withCount]=${flag}&pagination[pageSize]=2`)).toEqual(byPage(1, 2, [1, 2]));
  });

  it.each(['false', 'f', '0'])('PA5: withCount=%s does not count', async (flag) => {
    expect(await list(`pagination[withCount]=${flag}&pagination[pageSize]=2`)).toEqual({
      ids: [1, 2],
      page: 1,
      pageSize: 2,
    });
    expect(await list(`pagination[withCount]=${flag}&pagination[limit]=2`)).toEqual({
      ids: [1, 2],
      start: 0,
      limit: 2,
    });
  });

  it('PA1: pageCount of an empty list is 0', async () => {
    expect(await list('filters[title]=nothing')).toEqual({ ids: [], page: 1, pageSize: 25, pageCount: 0, total: 0 });
  });

  it.each(['TRUE', 'yes', '', 'T', '2'])('PA5: withCount=%s is refused', async (flag) => {
    expect(await world.refusal(`/api/films?pagination[withCount]=${flag}`)).toEqual({
      status: 400,
      name: 'ValidationError',
      message: 'Invalid withCount parameter. Expected "t","1","true","false","0","f"',
      at: 'pagination[withCount]',
      all: ['pagination[withCount]'],
    });
  });

  it.each([
    ['page', 'limit'],
    ['page', 'start'],
    ['pageSize', 'limit'],
    ['pageSize', 'start'],
  ])('PA7: %s with %s is refused', async (one, other) => {
    expect(await world.refusal(`/api/films?pagination[${one}]=1&pagination[${other}]=1`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      message: 'Invalid pagination parameters. Expected either start/limit or page/pageSize',
    });
  });

  it.each([
    ['[page]=abc', '[page]', '"abc" is not an integer'],
    ['[page]=1.5', '[page]', '"1.5" is not an integer'],
    ['[page]=Infinity', '[page]', '"Infinity" is not an integer'],
    ['[page]=99999999999999999999', '[page]', 'is larger than 360287970189639'],
    ['[page]=1&pagination[page]=2', '[page]', 'expected a single value'],
    ['[page][a]=1', '[page]', 'expected a single value'],
    ['[pageSize]=abc', '[pageSize]', '"abc" is not an integer'],
    ['[pageSize]=2.5', '[pageSize]', '"2.5" is not an integer'],
    ['[pageSize]=2&pagination[pageSize]=3', '[pageSize]', 'expected a single value'],
    ['[start]=abc', '[start]', '"abc" is not an integer'],
    ['[start]=0.5', '[start]', '"0.5" is not an integer'],
    ['[start]=99999999999999999999', '[start]', 'is larger than 9223372036854775807'],
    ['[start]=9223372036854775808', '[start]', 'is larger than 9223372036854775807'],
    ['[start]=1e19', '[start]', 'is larger than 9223372036854775807'],
    ['[limit]=abc', '[limit]', '"abc" is not an integer'],
    ['[limit]=1.5', '[limit]', '"1.5" is not an integer'],
    ['[foo]=1', '[foo]', '"foo" is not a pagination parameter'],
    ['[pagesize]=1', '[pagesize]', 'Did you mean "pageSize"?'],
    ['=5', '', 'expected an object, as in pagination[…]=…'],
    ['[0]=5', '', 'expected an object'],
  ])('PA4: pagination%s is refused', async (rest, place, words) => {
    const at = `pagination${place}`;
    const refusal = await world.refusal(`/api/films?pagination${rest}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
    expect(refusal.message).toContain(`Invalid parameter ${at}: `);
    expect(refusal.message).toContain(words);
  });

  it.each(['page', 'pageSize', 'start', 'limit'])('PA7: top-level %s on a list is a PaginationError', async (name) => {
    expect(await world.refusal(`/api/films?${name}=1`)).toMatchObject({
      status: 400,
      name: 'PaginationError',
      at: name,
      message: expect.stringContaining('Invalid pagination attributes'),
    });
  });

  it.each(['films/1', 'house-rules'])('SO8: on %s pagination has no effect and is not checked', async (entry) => {
    const plain = (await world.get(`/api/${entry}`)).body;
    for (const query of ['pagination[page]=abc', 'pagination[foo]=1', 'pagination=5', 'page=1&limit=x'])
      expect((await world.get(`/api/${entry}?${query}`)).body).toEqual(plain);
  });
});

describe.each(dialects)('pagination settings on %s', (dialect) => {
  const world = useWorld(dialect, { settings: { rest: { defaultLimit: 2, maxLimit: 3, withCount: false } } });
  const unbounded = useWorld(dialect, { settings: { rest: { defaultLimit: 2, maxLimit: null, withCount: true } } });

  it('PA5: defaultLimit, maxLimit and withCount of the configuration', async () => {
    expect(await world.read('/api/films?fields=id')).toEqual({
      data: [
        { id: 1, attributes: {} },
        { id: 2, attributes: {} },
      ],
      meta: { pagination: { page: 1, pageSize: 2 } },
    });
    expect((await world.read('/api/films?pagination[pageSize]=50&pagination[withCount]=true')).meta.pagination).toEqual(
      {
        page: 1,
        pageSize: 3,
        pageCount: 3,
        total: 7,
      },
    );
    expect((await world.read('/api/films?pagination[limit]=-1')).meta.pagination).toEqual({ start: 0, limit: 3 });
  });

  it('PA1: without maxLimit there is no maximum, and -1 returns everything', async () => {
    const { data, meta } = await unbounded.read('/api/films?fields=id&pagination[pageSize]=5000');
    expect(data).toHaveLength(7);
    expect(meta.pagination).toEqual({ page: 1, pageSize: 5000, pageCount: 1, total: 7 });
    expect((await unbounded.read('/api/films?fields=id&pagination[limit]=-1')).data).toHaveLength(7);
    expect((await unbounded.read('/api/films?fields=id')).data).toHaveLength(2);
    expect((await unbounded.read('/api/films?fields=id&pagination[pageSize]=1e300&pagination[page]=2')).data).toEqual(
      [],
    );
  });
});
