/**
 * As long as other locales cannot be written: a write with an unsupported locale is refused, and single types keep
 * their own entry.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
  beforeAll(async () => {
    world = await newSmallWorld(dialect, project);
    await world.insert('boards', [
      { id: 1, text: 'deutsch', locale: 'de' },
      { id: 2, text: 'english', locale: 'en' },
    ]);
    await world.insert('notes', [{ id: 1, text: 'deutsch', locale: 'de' }]);
  });
  afterAll(() => world.close());

  it('LO4: a locale in a body that is not the entry’s is a 400 that names it', async () => {
    const status = async (method: string, url: string, data: unknown): Promise<number> =>
      (await world.send(method, url, { data })).status;
    const refused = await world.send('POST', '/api/notes', { data: { text: 'x', locale: 'fr' } });
    expect([refused.status, refused.body]).toMatchObject([
      400,
      { error: { details: { errors: [{ path: ['locale'], code: 'body.locale' }] } } },
    ]);
    expect(await status('POST', '/api/notes', { locale: 5 })).toBe(400);
    expect(await status('POST', '/api/notes', { locale: 'en' })).toBe(200);
    expect(await status('PUT', '/api/notes/1', { locale: 'en' })).toBe(400);
    expect(await status('PUT', '/api/notes/1', { locale: 'de' })).toBe(200);
    expect((await world.rows('notes')).map((row) => row['locale'])).toEqual(['de', 'en']);
  });

  it('LO4: so is one in the query of a write', async () => {
    for (const [method, url] of [
      ['POST', '/api/notes'],
      ['PUT', '/api/notes/1'],
      ['DELETE', '/api/notes/1'],
      ['PUT', '/api/board'],
      ['DELETE', '/api/board'],
    ] as const) {
      const { status, text } = await world.send(
        method,
        `${url}?locale=de`,
        method === 'DELETE' ? undefined : { data: {} },
      );
      expect([method, url, status]).toEqual([method, url, 400]);
      expect(text).toContain('query.locale-of-write');
    }
    expect((await world.send('PUT', '/api/notes/1?locale=en', { data: {} })).status).toBe(200);
  });

  it('LO4: PUT and DELETE of a single type change its entry in the default locale', async () => {
    expect((await world.send('PUT', '/api/board', { data: { text: 'changed' } })).body).toMatchObject({
      data: { id: 2 },
    });
    expect((await world.rows('boards')).map((row) => row['text'])).toEqual(['deutsch', 'changed']);
    expect((await world.send('DELETE', '/api/board')).body).toMatchObject({ data: { id: 2 } });
    expect((await world.rows('boards')).map((row) => row['text'])).toEqual(['deutsch']);
    expect((await world.send('PUT', '/api/board', { data: { text: 'new' } })).status).toBe(200);
    expect((await world.rows('boards')).map((row) => row['locale'])).toEqual(['de', 'en']);
  });
});
