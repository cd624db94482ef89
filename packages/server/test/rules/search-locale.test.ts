/** `_q` and `locale` (LO1, FL14). */
import { describe, expect, it } from 'vitest';
import { openedForTests } from '../world/opening.js';
import { newSmallWorld } from '../world/small.js';
import { dialects, type Entry, useWorld } from '../world/world.js';

describe.each(dialects)('search and locale on %s', (dialect) => {
  const world = useWorld(dialect);

  it.each([
    ['films', 'clair', [1, 2]],
    ['films', 'ÉCLAIR', [1, 2]],
    ['films', 'storm', [1]],
    // titles and taglines
    ['films', 'title', [8]],
    ['films', '😺', [7]],
    // no wildcards
    ['films', '%25', [3, 5]],
    ['films', '_', [4]],
    ['films', '*', []],
    ['films', '%5C', [4]],
    ['films', 'nothing at all', []],
    // a number is searched in the digits of numbers, as responses show them
    ['films', '1920', [2, 4]],
    ['films', '92', [2, 4]],
    ['films', '4', [3, 4]],
    ['films', '-44', [3]],
    ['films', '-1.5', [5]],
    ['films', '8.25', [2]],
    ['films', '.25', [2]],
    ['films', '7.5', [1, 8]],
    ['films', '7.50', []],
    ['films', '19-', []],
    ['films', '0x7', []],
    ['reels', '-99999.9', [3]],
    ['reels', '.99', [3]],
    ['reels', '2.5', [1]],
    ['reels', '483647', [4]],
    ['reels', '740993', [1]],
    // drafts are not found
    ['films', 'draft', []],
    ['films', 'secret', []],
    ['reels', '9007199254740993', [1]],
    ['reels', 'MINT', [1]],
    ['reels', 'example.org', [1]],
    ['reels', '%23 rep', [1]],
    ['reels', 'reel-4', [4]],
    // related entries are not searched
    ['films', 'Zoë', []],
    ['people', 'zoë', [1]],
  ])('FL14: %s?_q=%s finds %j', async (types, text, expected) => {
    const { data, meta } = await world.read(`/api/${types}?fields=id&_q=${text}`);
    expect(data.map((it) => it.id)).toEqual(expected);
    expect(meta.pagination).toMatchObject({ total: expected.length });
  });

  it.each([
    ['people', 'secret wish', 'a private attribute'],
    ['people', '$2a$10', 'a password'],
    ['reels', 'worth little', 'a private attribute'],
    ['people', 'Em', 'an attribute with searchable: false'],
  ])('FL14: %s?_q=%s does not search %s', async (types, text, _what) => {
    const found = await world.read(`/api/${types}?fields=id&_q=${encodeURIComponent(text)}`);
    // `Em` is the nickname of 3 and part of the names of 3 (émile) and 4 (Emile)
    expect(found.data.map((it) => it.id)).toEqual(text === 'Em' ? [4] : []);
  });

  it('FL14: digits are searched in ids', async () => {
    const ids = [731, 1731, 732];
    await world.insert(
      'genres',
      ids.map((id) => ({ id, name: 'added', published_at: 0 })),
    );
    try {
      expect(await world.ids('/api/genres?_q=731')).toEqual([731, 1731]);
      expect(await world.ids('/api/genres?_q=7')).toEqual([731, 732, 1731]);
      expect(await world.ids('/api/genres?_q=-731')).toEqual([]);
    } finally {
      for (const id of ids) await world.remove('genres', id);
    }
  });

  it.each(['_q', '_q='])('FL14: %s finds everything', async (query) => {
    expect(await world.ids(`/api/films?${query}`)).toHaveLength(7);
  });

  it('FL14: _q is joined to filters by AND, and works with sort and pagination', async () => {
    expect(await world.ids('/api/films?_q=clair&filters[year]=1920')).toEqual([2]);
    expect(await world.ids('/api/films?_q=clair&sort=year:desc')).toEqual([2, 1]);
    expect(await world.ids('/api/films?_q=clair&pagination[start]=1')).toEqual([2]);
    expect(await world.ids('/api/films?_q=draft&publicationState=preview')).toEqual([6, 9]);
  });

  it('SO8: _q has no effect on one entry', async () => {
    expect((await world.read<Entry>('/api/films/1?_q=nothing')).data.id).toBe(1);
  });

  it.each(['_q[0]=a', '_q[a]=b', '_q=a&_q=b', '_q[]=a'])('FL14: %s is refused', async (query) => {
    expect(await world.refusal(`/api/films?${query}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      at: '_q',
      message: 'Invalid parameter _q: expected a single value',
    });
  });

  it('FL9: NUL in _q is refused', async () => {
    expect(await world.refusal('/api/films?_q=a%00b')).toMatchObject({ status: 400, at: '_q' });
  });

  it.each([
    ['', [1, 5]],
    ['locale=en', [1, 5]],
    ['locale=fr', [2]],
    ['locale=all', [1, 2, 3, 4, 5]],
    ['locale=xx', []],
    ['locale=', []],
    ['locale', []],
    ['locale=EN', []],
    ['locale=ALL', []],
    ['locale=en,fr', []],
    ['locale[0]=fr&locale[1]=de', [2, 3]],
    ['locale[]=en', [1, 5]],
    ['locale=fr&locale=en&locale=fr', [1, 2, 5]],
    ['locale[0]=fr&locale[1]=xx&locale[2]=', [2]],
  ])('LO1: notices?%s are %j', async (query, expected) => {
    const { data, meta } = await world.read(`/api/notices?fields=id&${query}`);
    expect(data.map((it) => it.id)).toEqual(expected);
    expect(meta.pagination).toMatchObject({ total: expected.length });
  });

  it('LO1: locale is combined with filters', async () => {
    expect(await world.ids('/api/notices?locale=all&filters[text][$contains]=ll')).toEqual([1, 3, 5]);
    expect(await world.ids('/api/notices?filters[text][$contains]=ll')).toEqual([1, 5]);
    expect(await world.ids('/api/notices?filters[text][$contains]=again')).toEqual([5]);
    expect(await world.ids('/api/notices?locale=all&filters[locale][$null]=true')).toEqual([4]);
    expect(await world.ids('/api/notices?locale=all&sort=locale:desc&filters[locale][$notNull]=true')).toEqual([
      2, 1, 5, 3,
    ]);
  });

  it('LO3: locale is ignored on one entry and on types that are not localized', async () => {
    expect((await world.read<Entry>('/api/notices/2')).data.attributes['text']).toBe('Bonjour');
    expect((await world.read<Entry>('/api/notices/2?locale=de')).data.attributes['text']).toBe('Bonjour');
    expect(await world.ids('/api/films?locale=fr')).toHaveLength(7);
  });

  it('LO1: entries include the entries of other locales as localizations', async () => {
    const { data } = await world.read('/api/notices?locale=all&fields=locale&populate[localizations][fields]=locale');
    expect(data.slice(0, 3)).toEqual([
      { id: 1, attributes: { locale: 'en', localizations: { data: [{ id: 2, attributes: { locale: 'fr' } }] } } },
      { id: 2, attributes: { locale: 'fr', localizations: { data: [{ id: 1, attributes: { locale: 'en' } }] } } },
      { id: 3, attributes: { locale: 'de', localizations: { data: [] } } },
    ]);
  });

  it.each([
    'locale[a]=en',
    'locale[$ne]=en',
    'locale[0]=all',
    'locale[0]=en&locale[1]=all',
    'locale=en&locale=all',
    'locale=en&locale[a]=fr',
    'locale[0][0]=en',
    'locale[0]',
  ])('LO1: %s is refused', async (query) => {
    expect(await world.refusal(`/api/notices?${query}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      at: 'locale',
    });
  });
});

describe.each(dialects)('floats in searches on %s', (dialect) => {
  const world = openedForTests(async () => {
    const opened = await newSmallWorld(dialect, { types: { grain: { attributes: { mass: { type: 'float' } } } } });
    for (const mass of [1e21, 1.5e-7, 1e20, 1e-6, -2.5e300, 12.5])
      await opened.send('POST', '/api/grains', { data: { mass } });
    return opened;
  });

  it.each([
    ['1e%2B21', [1]],
    ['1.5e-7', [2]],
    ['000000000', [3]],
    ['0.000001', [4]],
    ['-2.5e%2B300', [5]],
    ['2.5', [5, 6]],
  ])('FL14: the digits are those of JavaScript: %s finds %j', async (text, expected) => {
    const { body } = await world.send('GET', `/api/grains?_q=${text}`);
    expect((body as { data: { id: number }[] }).data.map((it) => it.id)).toEqual(expected);
  });
});
