/** The syntax of the query string: what is read, what is ignored, what is refused (RQ13, RQ12, RQ11). */
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { dialects, useWorld } from '../world/world.js';

describe.each(dialects)('query syntax on %s', (dialect) => {
  const world = useWorld(dialect);

  it.each([
    ['filters[title]=Éclair', 'plain brackets'],
    ['filters%5Btitle%5D=Éclair', 'encoded brackets'],
    ['filters%5btitle%5d=%C3%89clair', 'lower-case escapes'],
    ['%66ilters[title]=Éclair', 'an encoded letter in the name'],
    ['&&filters[title]=Éclair&', 'empty pairs'],
    ['filters[title]=Éclair&', 'a trailing ampersand'],
  ])('RQ10: %s is read (%s)', async (query) => {
    expect(await world.ids(`/api/films?${query}`)).toEqual([1]);
  });

  it('RQ10: a plus is a space, and an escaped plus is a plus', async () => {
    expect(await world.ids('/api/films?filters[title]=The+Cat+😺')).toEqual([7]);
    expect(await world.ids('/api/films?filters[title]=The%2BCat')).toEqual([]);
  });

  it('RQ10: an equals sign in a value is part of it', async () => {
    expect(await world.ids('/api/films?filters[title]=a=b')).toEqual([]);
    await world.update('films', 8, 'title', 'a=b');
    expect(await world.ids('/api/films?filters[title]=a=b')).toEqual([8]);
    await world.update('films', 8, 'title', null);
  });

  it.each(['%', '%E0%A4%A', '%zz'])('RQ10: the broken escape %s is kept as text', async (text) => {
    const { status } = await world.get(`/api/films?filters[title][$contains]=${text}`);
    expect(status).toBe(200);
  });

  it('RQ10: a broken escape is literal text', async () => {
    expect(await world.ids('/api/films?filters[title][$contains]=0%')).toEqual([3]);
  });

  it.each([
    'foo=bar',
    'utm_source=x',
    'fbclid=x',
    '_=1700000000',
    'search=x',
    'title=x',
    'fieldsets=x',
    'sorting=x',
    'resort=x',
    '_p=x',
    '=x',
    '[]=y',
    'a[b=c',
  ])('RQ13: the unknown parameter %s is ignored', async (query) => {
    expect(await world.ids(`/api/films?${query}`)).toHaveLength(7);
  });

  const nearMisses = [
    ['filter[title]=x', 'filters'],
    ['filters_[title]=x', 'filters'],
    ['fitlers[title]=x', 'filters'],
    ['Filters[title]=x', 'filters'],
    ['where[title]=x', 'filters'],
    ['_where[0][title]=x', 'filters'],
    ['populates=director', 'populate'],
    ['popluate=director', 'populate'],
    ['populated=director', 'populate'],
    ['include=director', 'populate'],
    ['expand=director', 'populate'],
    ['field=title', 'fields'],
    ['feilds[0]=title', 'fields'],
    ['select=title', 'fields'],
    ['sorts=title', 'sort'],
    ['_sort=title', 'sort'],
    ['orderBy=title', 'sort'],
    ['order_by=title', 'sort'],
    ['order=title', 'sort'],
    ['pagintion[page]=2', 'pagination'],
    ['_limit=1', 'pagination[limit]'],
    ['_start=1', 'pagination[start]'],
    ['paginate[page]=2', 'pagination'],
    ['paging[page]=2', 'pagination'],
    ['offset=3', 'pagination[start]'],
    ['skip=3', 'pagination[start]'],
    ['take=3', 'pagination[limit]'],
    ['per_page=3', 'pagination[pageSize]'],
    ['status=draft', 'publicationState'],
    ['publication_state=preview', 'publicationState'],
    ['publicationstate=preview', 'publicationState'],
    ['_locale=de', 'locale'],
    ['locales=de', 'locale'],
    ['lang=de', 'locale'],
    ['language=de', 'locale'],
    ['q=x', '_q'],
  ] as const;

  it.each(nearMisses)('RQ13: %s is refused, and %s suggested', async (query, meant) => {
    const name = query.slice(0, query.search(/[=[]/));
    for (const path of ['films', 'films/1'])
      expect(await world.refusal(`/api/${path}?${query}`)).toMatchObject({
        status: 400,
        name: 'ValidationError',
        at: name,
        message: `Invalid parameter ${name}: there is no parameter "${name}". Did you mean "${meant}"?`,
      });
  });

  it.each([
    'filters[title[$eq]]=x',
    'filters[title][$eq=x',
    'filters[title=x',
    'filters]title[=x',
    'filters[title]x=y',
    'filters[title]]=y',
    'filters.title=x',
    'filters.title[$eq]=x',
    'populate[director=true',
    'populate.director=true',
    'fields[0=title',
    'sort[0=title',
    'pagination[page=1',
    'pagination.page=2',
    'publicationState.x=preview',
  ])('RQ11: %s is malformed and refused', async (query) => {
    const key = query.slice(0, query.lastIndexOf('='));
    expect(await world.refusal(`/api/films?${query}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      at: key,
      message: expect.stringContaining(`"${key}"`),
    });
  });

  it('RQ12: more parameters than allowed are refused, so that none is lost', async () => {
    const query = (count: number): string =>
      [...Array.from({ length: count - 1 }, (_none, i) => `x${i}=1`), 'filters[id]=1'].join('&');
    expect(await world.ids(`/api/films?${query(1000)}`)).toEqual([1]);
    expect(await world.refusal(`/api/films?${query(1001)}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      message: expect.stringMatching(/^The query string has more than 1000 parameters$/),
    });
  });

  it.each(['constructor', 'hasOwnProperty', 'toString', '__proto__', 'valueOf'])(
    'RQ11: the name %s is treated like any other',
    async (name) => {
      for (const [query, at] of [
        [`filters[${name}]=x`, `filters[${name}]`],
        [`filters[${name}][x]=1`, `filters[${name}]`],
        [`populate[${name}]=true`, `populate[${name}]`],
        [`populate=${name}.x`, 'populate'],
        [`fields=${name}`, 'fields'],
        [`sort=${name}`, 'sort'],
        [`filters[title][${name}]=x`, `filters[title][${name}]`],
        [`populate[body][on][${name}]=true`, `populate[body][on][${name}]`],
        [`populate[director][${name}]=true`, `populate[director][${name}]`],
        [`pagination[${name}]=1`, `pagination[${name}]`],
      ] as const)
        expect(await world.refusal(`/api/films?${query}`)).toMatchObject({ status: 400, at });
    },
  );

  it('RQ12: a repeated key is a list, not its last value', async () => {
    expect(await world.ids('/api/films?filters[id]=1&filters[id]=2&filters[id]=3')).toEqual([1, 2, 3]);
  });

  it('RQ10: brackets are read as deep as filters may be nested', async () => {
    const nested = (levels: number): string => `filters${'[$and][0]'.repeat(levels)}[id]=1`;
    expect(await world.ids(`/api/films?${nested(20)}`)).toEqual([1]);
    expect(await world.refusal(`/api/films?${nested(60)}`)).toMatchObject({
      status: 400,
      message: expect.stringContaining(`nested more than ${limits.filterDepthMax} levels deep`),
    });
    const notted = (levels: number): string => `filters[id]${'[$not]'.repeat(levels)}=1`;
    expect(await world.ids(`/api/films?${notted(20)}`)).toEqual([1]);
    expect(await world.refusal(`/api/films?${notted(200)}`)).toMatchObject({ status: 400 });
    // the name of the operator is no level
    const similar = (levels: number, rest: string): string => `filters${'[similar]'.repeat(levels)}${rest}`;
    for (const rest of ['=1', '[$eq]=1', '[$in][0]=1', '[id]=1', '[id][$eq]=1', '[title]=x', '[title][$eq]=x']) {
      expect(await world.ids(`/api/films?${similar(limits.filterDepthMax, rest)}`)).toEqual([]);
      expect(await world.refusal(`/api/films?${similar(limits.filterDepthMax + 1, rest)}`)).toMatchObject({
        status: 400,
        message: expect.stringContaining('levels deep'),
      });
    }
    const through = `filters${'[director][directed]'.repeat(40)}[id]=1`;
    expect(await world.refusal(`/api/films?${through}`)).toMatchObject({ status: 400 });
  });
});
