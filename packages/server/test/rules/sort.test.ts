/** Sort: own and related columns, NULL, ties (SO1, RQ18, SO6, F6, SO3, SO4). */
import { describe, expect, it } from 'vitest';
import { dialects, type Entry, useWorld } from '../world/world.js';

describe.each(dialects)('sort on %s', (dialect) => {
  const world = useWorld(dialect);
  /** Where entries without a value are placed: NULL is smallest on SQLite, largest on PostgreSQL (SO5). */
  const ascending = (nulls: readonly number[], others: readonly number[]) =>
    dialect === 'sqlite' ? [...nulls, ...others] : [...others, ...nulls];
  const descending = (others: readonly number[], nulls: readonly number[]) =>
    dialect === 'sqlite' ? [...others, ...nulls] : [...nulls, ...others];
  const films = (query: string): Promise<readonly number[]> => world.ids(`/api/films?fields=id&${query}`);

  it('SO4: without a sort entries are ordered by id, also after an update', async () => {
    expect(await films('')).toEqual([1, 2, 3, 4, 5, 7, 8]);
    await world.update('films', 2, 'tagline', '');
    expect(await films('')).toEqual([1, 2, 3, 4, 5, 7, 8]);
  });

  it.each([
    'sort=title',
    'sort=title:asc',
    'sort=title:ASC',
    'sort[0]=title',
    'sort[]=title:asc',
    'sort[title]=asc',
    'sort[0][title]=asc',
  ])('%s: text in byte order', async (query) => {
    expect(await films(query)).toEqual(ascending([8], [3, 7, 5, 4, 1, 2]));
  });

  it.each(['sort=title:desc', 'sort=title:DESC', 'sort[0]=title:Desc', 'sort[title]=desc', 'sort[0][title]=DESC'])(
    '%s: in reverse order',
    async (query) => {
      expect(await films(query)).toEqual(descending([2, 1, 4, 5, 7, 3], [8]));
    },
  );

  it('SO4: ties are ordered by id, in both directions', async () => {
    expect(await films('sort=year')).toEqual(ascending([7], [3, 1, 2, 4, 5, 8]));
    expect(await films('sort=year:desc')).toEqual(descending([8, 5, 2, 4, 1, 3], [7]));
    expect(await films('sort=id:desc')).toEqual([8, 7, 5, 4, 3, 2, 1]);
  });

  it.each([
    'sort[0]=year:desc&sort[1]=title',
    'sort=year:desc,title',
    'sort=year:desc, title',
    'sort[0]=year:desc,title',
    'sort=year:desc&sort=title:asc',
    'sort[year]=desc&sort[title]=asc',
    'sort[0][year]=desc&sort[1][title]=asc',
  ])('SO1: %s: columns in the given order', async (query) => {
    // 4 comes before 2 by title
    expect(await films(query)).toEqual(descending([8, 5, 4, 2, 1, 3], [7]));
  });

  it.each([
    ['reels', 'frames', [2], [3, 5, 1, 4]],
    ['reels', 'bytes', [2], [3, 5, 1, 4]],
    ['reels', 'length', [2], [3, 5, 4, 1]],
    ['reels', 'price', [2], [3, 5, 4, 1]],
    ['reels', 'nitrate', [2], [3, 5, 1, 4]],
    ['reels', 'recordedOn', [2, 5], [3, 1, 4]],
    ['reels', 'startsAt', [2, 5], [3, 1, 4]],
    ['reels', 'receivedAt', [2], [3, 5, 1, 4]],
    ['reels', 'scannedAt', [2, 5], [3, 4, 1]],
    ['reels', 'label', [], [2, 5, 4, 3, 1]],
    ['genres', 'order', [3], [2, 1, 5]],
  ])('%s by %s', async (types, name, nulls, others) => {
    expect(await world.ids(`/api/${types}?sort=${name}`)).toEqual(ascending(nulls, others));
  });

  it.each(['metadata', 'keywords', 'transcript'])('SO7: the json attribute %s can be sorted by', async (name) => {
    expect([...(await world.ids(`/api/reels?sort=${name}:desc`))].sort()).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([
    ['director.name', [7, 8], [3, 5, 1, 2, 4]],
    ['credit.role', [2, 3, 5, 7, 8], [1, 4]],
    ['credit.billing', [3, 5, 7, 8], [1, 2, 4]],
    ['director.mentor.name', [1, 2, 4, 7, 8], [3, 5]],
    ['remakeOf.title', [1, 4, 5, 7, 8], [2, 3]],
    ['answerTo.id', [1, 3, 4, 5, 7, 8], [2]],
    ['galaOf.name', [1, 2, 4, 5, 7, 8], [3]],
    // of two rows the lowest id is used, as in populate
    ['poster.name', [3, 4, 5, 7, 8], [2, 1]],
  ])('SO2: through to-one: %s', async (name, nulls, others) => {
    expect(await films(`sort=${name}`)).toEqual(ascending(nulls, others));
  });

  it.each(['sort[director][name]=desc', 'sort[0][director][name]=desc', 'sort=director.name:desc'])(
    'through to-one: the form %s',
    async (query) => {
      expect(await films(query)).toEqual(descending([1, 2, 4, 3, 5], [7, 8]));
    },
  );

  it('SO3: through to-many an entry appears once, by its least value ascending, by its greatest descending', async () => {
    const none = [4, 5, 7, 8];
    // 1: Comedy, Drama, Short; 2: Drama; 3: Comedy, Drama
    expect(await films('sort=genres.name')).toEqual(ascending(none, [1, 3, 2]));
    expect(await films('sort=genres.name:desc')).toEqual(descending([1, 2, 3], none));
    expect(await films('sort=facts.text')).toEqual(ascending([3, 4, 5, 7, 8], [1, 2]));
    expect(await films('sort=stills.name:desc')).toEqual(descending([1], [2, 3, 4, 5, 7, 8]));
    const { meta } = await world.read('/api/films?sort=genres.name&pagination[pageSize]=3');
    expect(meta.pagination).toEqual({ page: 1, pageSize: 3, pageCount: 3, total: 7 });
  });

  it('SO3: NULLs of a to-many list are ignored', async () => {
    // genre 1 has the children Noir (no order) and Comedy (order 1)
    expect(await world.ids('/api/genres?sort=children.order')).toEqual(ascending([2, 3, 5], [1]));
    expect(await world.ids('/api/genres?sort=children.order:desc')).toEqual(descending([1], [2, 3, 5]));
  });

  it('DR5: a draft does not affect the order', async () => {
    // 3 leads to a draft only
    expect(await films('sort=source.title')).toEqual(ascending([1, 2, 3, 7, 8], [4, 5]));
    expect(await films('sort=source.title&publicationState=preview')).toEqual(ascending([1, 2, 6, 7, 8, 9], [3, 4, 5]));
  });

  it('F6: the sort column is not in the response', async () => {
    expect((await world.read('/api/films?fields=id&sort=director.name,title&pagination[pageSize]=2')).data).toEqual([
      { id: expect.any(Number), attributes: {} },
      { id: expect.any(Number), attributes: {} },
    ]);
    const { data } = await world.read(
      '/api/films?fields=title&sort=remakeOf.title:desc&filters[remakeOf][$notNull]=true',
    );
    expect(data).toEqual([
      { id: 2, attributes: { title: 'éclair de lune' } },
      { id: 3, attributes: { title: '100% Wool' } },
    ]);
  });

  it.each(['year', 'year:desc', 'director.name', 'genres.name:desc', 'credit.role', 'title:desc,year'])(
    'pages of sort=%s join up to the full list',
    async (sort) => {
      const whole = await films(`sort=${sort}&publicationState=preview`);
      const pages: number[] = [];
      for (let page = 1; page <= 5; page++)
        pages.push(
          ...(await films(`sort=${sort}&publicationState=preview&pagination[page]=${page}&pagination[pageSize]=2`)),
        );
      expect(pages).toEqual(whole);
      expect([...whole].sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    },
  );

  it.each([
    'sort=',
    'sort',
    'sort[]=',
    'sort[0]=',
    'sort=,',
    'sort=id,',
    'sort=id:asc:desc',
    'sort=id,id:desc',
    'sort=id&sort=id:desc',
  ])('SO1: "%s" is accepted', async (query) => {
    expect(await films(query)).toEqual([1, 2, 3, 4, 5, 7, 8]);
  });

  it('RQ18: a key repeated a hundred times counts as one', async () => {
    const query = Array.from({ length: 100 }, () => 'sort=director.name').join('&');
    expect(await films(query)).toEqual(await films('sort=director.name'));
  });

  it('SO8: sort is checked but has no effect on one entry', async () => {
    expect((await world.read<Entry>('/api/films/1?sort=title')).data.id).toBe(1);
    expect(await world.refusal('/api/films/1?sort=titel')).toMatchObject({ status: 400, at: 'sort' });
    expect(await world.refusal('/api/house-rules?sort=txt')).toMatchObject({ status: 400, at: 'sort' });
  });

  it.each([
    ['sort=titel', 'sort', 'film has no attribute "titel". Did you mean "title"?'],
    ['sort=Title', 'sort', 'Did you mean "title"?'],
    ['sort=created_at', 'sort', 'Did you mean "createdAt"?'],
    ['sort[0]=title&sort[1]=yeer', 'sort[1]', 'Did you mean "year"?'],
    ['sort=title,yeer', 'sort', 'Did you mean "year"?'],
    ['sort=director.nme', 'sort', 'person has no attribute "nme". Did you mean "name"?'],
    ['sort=toString', 'sort', 'film has no attribute "toString"'],
    ['sort=__proto__', 'sort', 'film has no attribute "__proto__"'],
    ['sort=-year', 'sort', 'Did you mean "year"?'],
    ['sort=year desc', 'sort', 'film has no attribute "year desc"'],
    ['sort=year:up', 'sort', '"up" is not a direction; expected asc or desc'],
    ['sort=year:', 'sort', '"" is not a direction'],
    ['sort=:desc', 'sort', 'film has no attribute ""'],
    ['sort[year]=sideways', 'sort[year]', '"sideways" is not a direction'],
    ['sort[year]', 'sort[year]', 'is not a direction'],
    ['sort[0][year]=1', 'sort[0][year]', '"1" is not a direction'],
    ['sort[director][name]=x', 'sort[director][name]', '"x" is not a direction'],
    ['sort[0][0]=x', 'sort[0]', 'expected a single value'],
    ['sort[0]=title&sort[0]=year', 'sort[0]', 'expected a single value'],
    ['sort[year][0]=asc', 'sort[year]', 'expected a single value'],
    ['sort[year]=asc&sort[year]=desc', 'sort[year]', 'expected a single value'],
    ['sort[director]=asc&sort[director][name]=asc', 'sort[director]', 'both as a value and as an object'],
    ['sort[year][x]=asc', 'sort[year][x]', 'cannot sort by "year.x" of film'],
    ['sort=title.foo', 'sort', 'cannot sort by "title.foo" of film'],
    ['sort[0]=title&sort[1][year]=asc', 'sort', 'use one: sort=name:desc, sort[0]=name:desc or sort[name]=desc'],
    ['sort[0]=title&sort[year]=asc', 'sort', 'is given in several forms'],
    ['sort[]=title&sort[year]=asc', 'sort', 'is given in several forms'],
    ['sort=title&sort[year]=asc', 'sort', 'is given in several forms'],
    [
      'populate[genres][sort][0]=name&populate[genres][sort][order]=asc',
      'populate[genres][sort]',
      'populate[genres][sort][0]=name:desc',
    ],
    ['sort=director', 'sort', '"director" of film is a relation; name one of its attributes, as in director.id'],
    ['sort=director:desc', 'sort', 'name one of its attributes'],
    ['sort=credit', 'sort', 'name one of its attributes'],
    ['sort=body.text', 'sort', 'cannot sort by "body" of film'],
    ['sort=body', 'sort', 'cannot sort by "body" of film'],
    ['sort=confidant.name', 'sort', '"confidant" of film is not available'],
    ['sort=lender.name', 'sort', '"lender" of film is not available'],
    ['sort=director.pin', 'sort', '"pin" of person is not available'],
    ['sort=director.diary', 'sort', '"diary" of person is not available'],
    ['sort=credit.note', 'sort', '"note" of people.credit is not available'],
  ])('SO6: %s is refused', async (query, at, words) => {
    const refusal = await world.refusal(`/api/films?${query}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
    expect(refusal.message).toContain(`Invalid parameter ${at}: `);
    expect(refusal.message).toContain(words);
  });

  it('RQ18: a path of eighty steps is refused before a statement is run', async () => {
    const steps = Array.from({ length: 80 }, () => 'mentor').join('.');
    expect(await world.refusal(`/api/people?sort=${steps}.name`)).toMatchObject({
      status: 400,
      at: 'sort',
      message: expect.stringContaining('more than'),
    });
  });

  it('RQ18: a path of nine steps is served', async () => {
    const steps = Array.from({ length: 9 }, () => 'mentor').join('.');
    expect(await world.ids(`/api/people?sort=${steps}.name`)).toEqual([1, 2, 3, 4, 5]);
  });

  it('RQ18: too many different keys are refused', async () => {
    const path = (steps: number): string => `${'mentor.'.repeat(steps)}`;
    const keys = Array.from({ length: 3 }, (_none, i) => i).flatMap((steps) =>
      ['id', 'name', 'nickname', 'born', 'createdAt'].map((name) => `sort=${path(steps)}${name}`),
    );
    expect(await world.ids(`/api/people?${keys.join('&')}`)).toHaveLength(5);
    const more = ['id', 'name', 'nickname', 'born', 'createdAt', 'portrait.id'].map((name) => `sort=${path(4)}${name}`);
    expect(await world.refusal(`/api/people?${[...keys, ...more].join('&')}`)).toMatchObject({
      status: 400,
      at: 'sort',
      message: expect.stringContaining('more than 20'),
    });
  });
});
