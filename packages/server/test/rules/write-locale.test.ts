/** In which locale writes act (LO4, LO5, LO6). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const localized = { pluginOptions: { i18n: { localized: true } }, attributes: { text: { type: 'string' } } };
const project: SmallProject = {
  types: {
    note: localized,
    board: { kind: 'singleType', ...localized },
    plain: { attributes: { text: { type: 'string' } } },
  },
};

describe.each(dialects)('locales of writes on %s', (dialect) => {
  let world: SmallWorld;
  beforeEach(async () => {
    world = await newSmallWorld(dialect, project);
    await world.insert('i18n_locale', [
      { id: 1, code: 'en' },
      { id: 2, code: 'de' },
      { id: 3, code: 'pt-BR' },
    ]);
  });
  afterEach(() => world.close());

  const send = async (method: string, url: string, data?: Readonly<Record<string, unknown>>) => {
    const answer = await world.send(method, url, data && { data });
    const { error } = (answer.body ?? {}) as { error?: { name: string; message: string } };
    return {
      status: answer.status,
      ignored: answer.headers['dovetail-ignored'],
      error: error && `${error.name}: ${error.message}`,
      body: answer.body as { data: { id: number; attributes: Readonly<Record<string, unknown>> } },
    };
  };
  const locales = async (table = 'notes') => (await world.rows(table)).map((row) => row['locale']);

  it('LO4: a new entry is in the locale of its body, or in the default', async () => {
    for (const given of [{ locale: 'de' }, { locale: 'pt-BR' }, { locale: 'en' }, { locale: null }, {}])
      expect(await send('POST', '/api/notes', given)).toMatchObject({ status: 200, ignored: undefined });
    expect(await locales()).toEqual(['de', 'pt-BR', 'en', 'en', 'en']);
  });

  it('LO4: a locale that does not exist is a 400, and nothing is written', async () => {
    const unknown = "ApplicationError: This locale doesn't exist";
    for (const locale of ['fr', 'DE', '', 'all', 'de\0', 5, true, { code: 'de' }])
      expect([locale, await send('POST', '/api/notes', { locale })]).toMatchObject([
        locale,
        { status: 400, error: unknown },
      ]);
    expect((await send('POST', '/api/notes', { locale: ['de'] })).error).toMatch(
      /^ValidationError: locale must be a `string` type/,
    );
    expect(await locales()).toEqual([]);
  });

  it('LO4: `locale` in the query of a POST has no effect and is named', async () => {
    const { status, ignored, body } = await send('POST', '/api/notes?locale=de', { text: 'x' });
    expect([status, ignored, body.data.attributes['locale']]).toEqual([200, 'locale', 'en']);
    expect((await send('POST', '/api/notes?locale[0]=de', { locale: 'de' })).ignored).toBe('locale');
    expect((await send('POST', '/api/plains?locale=de', { text: 'x' })).ignored).toBe('locale');
    expect(await locales()).toEqual(['en', 'de']);
  });

  it('LO5: the locale of an entry cannot be changed; what says otherwise has no effect and is named', async () => {
    await world.insert('notes', [
      { id: 1, text: 'deutsch', locale: 'de' },
      { id: 2, text: 'before', locale: null },
    ]);
    const ignoredOf = async (method: string, url: string, data?: Readonly<Record<string, unknown>>) => {
      const { status, ignored } = await send(method, url, data);
      return [status, ignored];
    };
    expect(await ignoredOf('PUT', '/api/notes/1', { locale: 'en' })).toEqual([200, 'data.locale']);
    expect(await ignoredOf('PUT', '/api/notes/1', { locale: 'xx' })).toEqual([200, 'data.locale']);
    expect(await ignoredOf('PUT', '/api/notes/2', { locale: 'en' })).toEqual([200, 'data.locale']);
    expect(await ignoredOf('PUT', '/api/notes/1', { locale: 'de' })).toEqual([200, undefined]);
    expect(await ignoredOf('PUT', '/api/notes/1', { localizations: [2] })).toEqual([200, 'data.localizations']);
    expect(await ignoredOf('POST', '/api/notes', { localizations: [1] })).toEqual([200, 'data.localizations']);
    expect(await ignoredOf('PUT', '/api/notes/1?locale=en', { text: 'x' })).toEqual([200, 'locale']);
    expect(await locales()).toEqual(['de', null, 'en']);
    expect(await world.rows('notes_localizations_links')).toEqual([]);
    expect(await ignoredOf('DELETE', '/api/notes/1?locale=en')).toEqual([200, 'locale']);
    expect(await locales()).toEqual([null, 'en']);
  });

  it('LO6: a single type is written in the locale of the query', async () => {
    await world.insert('boards', [
      { id: 1, text: 'deutsch', locale: 'de' },
      { id: 2, text: 'english', locale: 'en' },
    ]);
    const texts = async () => (await world.rows('boards')).map((row) => row['text']);
    expect((await send('PUT', '/api/board', { text: 'one' })).body).toMatchObject({ data: { id: 2 } });
    expect((await send('PUT', '/api/board?locale=de', { text: 'zwei' })).body).toMatchObject({ data: { id: 1 } });
    expect((await send('PUT', '/api/board', { locale: 'de' })).ignored).toBe('data.locale');
    expect(await texts()).toEqual(['zwei', 'one']);
    const exists = 'ValidationError: singleType.alreadyExists';
    for (const locale of ['pt-BR', 'xx', 'all', ''])
      expect([locale, (await send('PUT', `/api/board?locale=${locale}`, { text: 'x' })).error]).toEqual([
        locale,
        exists,
      ]);
    expect((await send('PUT', '/api/board?locale[0]=de', { text: 'x' })).error).toMatch(
      /^ValidationError: .*single value/,
    );
    expect((await send('DELETE', '/api/board?locale=pt-BR')).status).toBe(404);
    expect((await send('DELETE', '/api/board?locale=all')).status).toBe(404);
    expect((await send('DELETE', '/api/board')).body).toMatchObject({ data: { id: 2 } });
    expect((await send('PUT', '/api/board', { text: 'x' })).error).toBe(exists);
    expect((await send('DELETE', '/api/board?locale=de')).body).toMatchObject({ data: { id: 1 } });
    expect(await texts()).toEqual([]);
  });

  it('LO6: its first entry is made in the locale of the query, else of the body, else in the default', async () => {
    expect((await send('PUT', '/api/board?locale=xx', { text: 'x' })).error).toMatch(/^ApplicationError/);
    expect(await locales('boards')).toEqual([]);
    for (const [url, given, made] of [
      ['/api/board?locale=de', {}, 'de'],
      ['/api/board', { locale: 'pt-BR' }, 'pt-BR'],
      ['/api/board', {}, 'en'],
    ] as const) {
      expect((await send('PUT', url, given)).status).toBe(200);
      expect(await locales('boards')).toEqual([made]);
      expect((await send('DELETE', `/api/board?locale=${made}`)).status).toBe(200);
    }
    const { ignored, body } = await send('PUT', '/api/board?locale=de', { locale: 'pt-BR' });
    expect([ignored, body.data.attributes['locale']]).toEqual(['data.locale', 'de']);
  });

  it('LO6: of two that make the first entry in two locales at once, one is refused', async () => {
    const answers = await Promise.all(
      ['de', 'pt-BR', 'en'].map((locale) => send('PUT', `/api/board?locale=${locale}`, { text: locale })),
    );
    expect(answers.map((it) => it.status).sort()).toEqual([200, 400, 400]);
    expect(await locales('boards')).toHaveLength(1);
  });
});
