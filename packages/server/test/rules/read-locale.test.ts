/** Which locales reads show (LO1, LO3), beside what `search-locale.test.ts` asserts of lists. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const localized = { pluginOptions: { i18n: { localized: true } }, attributes: { text: { type: 'string' } } };
const project: SmallProject = {
  types: {
    note: localized,
    board: { kind: 'singleType', options: { draftAndPublish: true }, ...localized },
    sign: { kind: 'singleType', ...localized },
    plain: { attributes: { text: { type: 'string' } } },
  },
};

describe.each(dialects)('locales of reads on %s', (dialect) => {
  let world: SmallWorld;
  beforeAll(async () => {
    world = await newSmallWorld(dialect, project);
    await world.insert('notes', [
      { id: 1, text: 'bread', locale: 'en' },
      { id: 2, text: 'Brot', locale: 'de' },
    ]);
    await world.insert('boards', [
      { id: 1, text: 'Welcome', locale: 'en', published_at: 0 },
      { id: 2, text: 'Willkommen', locale: 'de', published_at: 0 },
      { id: 3, text: 'Bienvenue', locale: 'fr', published_at: null },
    ]);
    await world.insert('plains', [{ id: 1, text: 'x' }]);
  });
  afterAll(() => world.close());

  const read = async (url: string) => {
    const answer = await world.send('GET', url);
    const ignored = answer.headers['dovetail-ignored'];
    return { status: answer.status, ignored, body: answer.body as { data: unknown; meta: unknown; error?: unknown } };
  };

  it.each([
    ['', 'Welcome'],
    ['locale=en', 'Welcome'],
    ['locale=de', 'Willkommen'],
  ])('LO1: a single type is read in one locale: %j', async (query, text) => {
    const { body } = await read(`/api/board?fields=text&${query}`);
    expect(body).toMatchObject({ data: { attributes: { text } }, meta: {} });
  });

  it.each(['fr', 'xx', 'DE', '', 'en,de', '%20de'])(
    'LO1: a single type without an entry in %j is a 404',
    async (code) => {
      expect((await read(`/api/board?locale=${code}`)).status).toBe(404);
    },
  );

  it('LO1: locale without a value selects nothing', async () => {
    expect((await read('/api/board?locale')).status).toBe(404);
    expect((await read('/api/notes?locale')).body.data).toEqual([]);
  });

  it('LO1: a single type with locale=all is a list of its entries, without pagination', async () => {
    const entry = (id: number, text: string) => ({ id, attributes: { text } });
    const published = [entry(1, 'Welcome'), entry(2, 'Willkommen')];
    expect((await read('/api/board?locale=all&fields=text')).body).toEqual({ data: published, meta: {} });
    expect((await read('/api/board?locale=all&fields=text&publicationState=preview')).body.data).toEqual([
      ...published,
      entry(3, 'Bienvenue'),
    ]);
    expect((await read('/api/board?locale=all&fields=text&sort=text:desc')).body.data).toEqual(published.toReversed());
    expect((await read('/api/board?locale=all&fields=text&filters[text]=Willkommen')).body.data).toEqual([
      published[1],
    ]);
    expect((await read('/api/sign?locale=all')).body).toEqual({ data: [], meta: {} });
  });

  it.each(['locale[0]=de', 'locale=de&locale=en', 'locale[$ne]=de', 'locale[a]=de'])(
    'LO1: a single type takes one locale, and %s is refused',
    async (query) => {
      expect(await read(`/api/board?${query}`)).toMatchObject({
        status: 400,
        body: { error: { message: 'Invalid parameter locale: expected one locale, or all' } },
      });
    },
  );

  it('LO1: a list of more locales than a list of values may hold is refused', async () => {
    const query = Array.from({ length: 1001 }, (_it, i) => `locale=l${i}`).join('&');
    expect((await read(`/api/notes?${query}`)).status).toBe(400);
  });

  it.each([
    '/api/notes/2?locale=en',
    '/api/notes/2?locale=xx',
    '/api/notes/2?locale=all',
    '/api/notes/2?locale[$ne]=de',
    '/api/notes/2?locale',
    '/api/plains?locale=de',
    '/api/plains/1?locale=de',
  ])('LO3: locale of %s has no effect and is named', async (url) => {
    const [path = ''] = url.split('?');
    const [plain, given] = [await read(path), await read(url)];
    expect(plain).toMatchObject({ status: 200, ignored: undefined });
    expect(given).toEqual({ ...plain, ignored: 'locale' });
  });

  it('LO1: locale that has an effect is not named', async () => {
    for (const url of [
      '/api/notes?locale=de',
      '/api/notes?locale=all',
      '/api/board?locale=de',
      '/api/board?locale=all',
    ])
      expect((await read(url)).ignored).toBeUndefined();
  });
});
