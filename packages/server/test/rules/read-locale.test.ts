/** Which locales reads show (LO1, LO2, LO3, LO10), beside what `search-locale.test.ts` asserts of lists. */
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../src/limits.js';
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

describe.each(dialects)('the default locale on %s', (dialect) => {
  let world: SmallWorld;
  beforeEach(async () => {
    world = await newSmallWorld(dialect, project);
    await world.insert('notes', [
      { id: 1, text: 'bread', locale: 'en' },
      { id: 2, text: 'Brot', locale: 'de' },
    ]);
    await world.insert('boards', [{ id: 1, text: 'Willkommen', locale: 'de', published_at: 0 }]);
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await world.close();
  });

  const setDefault = (value: string) =>
    world.db.write(async (tx) => {
      const { dialect: sqlDialect } = world.db;
      const key = 'plugin_i18n_default_locale';
      await tx.run(sqlDialect.compile(sql`delete from strapi_core_store_settings where ${sql.ref('key')} = ${key}`));
      await tx.run(
        sqlDialect.compile(
          sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${key}, ${value}, 'string')`,
        ),
      );
    });
  const texts = async (query = '') => {
    const { body } = await world.send('GET', `/api/notes?${query}`);
    return (body as { data: readonly { attributes: { text: string } }[] }).data.map((it) => it.attributes.text);
  };
  const laterBy = (ms: number) => {
    const now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now + ms);
  };

  it.each([
    ['"de"', ['Brot']],
    ['"fr"', []],
    ['5', ['bread']],
    ['not JSON', ['bread']],
  ])('LO2: is the setting %s, or en', async (value, expected) => {
    await setDefault(value);
    expect(await texts()).toEqual(expected);
  });

  it('LO2: is en without a setting', async () => {
    expect(await texts()).toEqual(['bread']);
    expect((await world.send('GET', '/api/board')).status).toBe(404);
  });

  it('LO2: a change reaches a running server within a second, also for responses and plans that are cached', async () => {
    for (let i = 0; i < 3; i++) expect(await texts()).toEqual(['bread']);
    await setDefault('"de"');
    laterBy(limits.permissionsMsMax + 1);
    for (let i = 0; i < 3; i++) expect(await texts()).toEqual(['Brot']);
    expect((await world.send('GET', '/api/board')).status).toBe(200);
    const created = await world.send('POST', '/api/notes?fields=locale', { data: { text: 'Butter' } });
    expect(created.body).toMatchObject({ data: { attributes: { locale: 'de' } } });
    await setDefault('"en"');
    laterBy(limits.permissionsMsMax + 1);
    expect(await texts()).toEqual(['bread']);
  });

  it('LO10: the list of locales names the default, and shows a new one at once', async () => {
    await world.insert('i18n_locale', [
      { id: 1, name: 'English (en)', code: 'en', created_at: 0, updated_at: 0 },
      { id: 2, name: 'German (de)', code: 'de', created_at: 0, updated_at: 0 },
    ]);
    const list = async () => {
      const { status, body } = await world.send('GET', '/api/i18n/locales?filters[code]=de');
      return [status, (body as { code: string; isDefault: boolean }[]).map((it) => `${it.code} ${it.isDefault}`)];
    };
    expect(await list()).toEqual([200, ['en true', 'de false']]);
    await setDefault('"de"');
    expect(await list()).toEqual([200, ['en false', 'de true']]);
    await world.insert('i18n_locale', [{ id: 3, name: 'French (fr)', code: 'fr', created_at: 0, updated_at: 0 }]);
    expect(await list()).toEqual([200, ['en false', 'de true', 'fr false']]);
    const { body } = await world.send('GET', '/api/i18n/locales');
    const time = '1970-01-01T00:00:00.000Z';
    expect((body as readonly unknown[])[1]).toEqual({
      id: 2,
      name: 'German (de)',
      code: 'de',
      createdAt: time,
      updatedAt: time,
      isDefault: true,
    });
    for (const [method, url, status] of [
      ['GET', '/api/i18n/locales/1', 404],
      ['POST', '/api/i18n/locales', 405],
    ] as const)
      expect((await world.send(method, url)).status).toBe(status);
  });
});
