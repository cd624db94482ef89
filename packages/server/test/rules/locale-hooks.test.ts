/** Locales in a project's own code: what `content` writes, and which hooks a write of siblings runs (LO7, LO8). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Content, Event, Handlers } from '../../src/handlers/handlers.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const i18n = { pluginOptions: { i18n: { localized: true } } };
const localized = { ...i18n, attributes: { text: { type: 'string', ...i18n }, size: { type: 'integer' } } };
const project: SmallProject = {
  types: {
    note: localized,
    board: { kind: 'singleType', ...localized },
    trail: { attributes: { text: { type: 'string' } } },
  },
};
const [NOTE, BOARD, TRAIL] = ['api::note.note', 'api::board.board', 'api::trail.trail'];

describe.each(dialects)('locales in hooks on %s', (dialect) => {
  let world: SmallWorld;
  /** Runs inside the transaction of a POST to trails. */
  let work: (content: Content) => Promise<unknown> = async () => null;
  let hooks: string[] = [];

  const noting =
    (name: string) =>
    ({ id, data, refuse }: Event): void => {
      hooks.push(`${name} ${id} ${data?.['locale']}`);
      if (name === 'beforeCreate' && data?.['text'] === 'forbidden') refuse('Not that word', 403);
    };
  const noteHooks: Handlers = Object.fromEntries(
    ['beforeCreate', 'afterCreate', 'beforeUpdate', 'afterUpdate', 'beforeDelete', 'afterDelete'].map((name) => [
      name,
      noting(name),
    ]),
  );

  beforeEach(async () => {
    const trailHooks: Handlers = { afterCreate: async ({ content }) => void (await work(content)) };
    world = await newSmallWorld(dialect, project, {
      handlers: new Map([
        [NOTE!, noteHooks],
        [TRAIL!, trailHooks],
      ]),
    });
    await world.insert(
      'i18n_locale',
      ['en', 'de', 'fr'].map((code, i) => ({ id: i + 1, code })),
    );
    hooks = [];
  });
  afterEach(() => world.close());

  const within = async (doing: (content: Content) => Promise<unknown>): Promise<number> => {
    work = doing;
    return (await world.send('POST', '/api/trails', { data: {} })).status;
  };
  const rows = async (table: string) =>
    (await world.rows(table)).map((it) => `${it['locale']} ${it['text']} ${it['size']}`);

  it('LO7: a new sibling runs the hooks of a creation, which may refuse it', async () => {
    await world.send('POST', '/api/notes', { data: { text: 'one', size: 1 } });
    hooks = [];
    expect((await world.send('POST', '/api/notes/1/localizations', { locale: 'de', text: 'zwei' })).status).toBe(200);
    expect(hooks).toEqual(['beforeCreate null de', 'afterCreate 2 de']);
    const refused = await world.send('POST', '/api/notes/1/localizations', { locale: 'fr', text: 'forbidden' });
    expect(refused.status).toBe(403);
    expect(await rows('notes')).toEqual(['en one 1', 'de zwei 1']);
  });

  it('LO7: another entry is the source of a new one of a single type if the first was deleted meanwhile', async () => {
    const beforeCreate: Handlers['beforeCreate'] = async ({ data, content }) => {
      if (data?.['text'] === 'un') await content.delete(BOARD!, null);
    };
    const hooked = await newSmallWorld(dialect, project, { handlers: new Map([[BOARD!, { beforeCreate }]]) });
    await hooked.insert(
      'i18n_locale',
      ['en', 'de', 'fr'].map((code, i) => ({ id: i + 1, code })),
    );
    await hooked.send('PUT', '/api/board', { data: { text: 'one', size: 3 } });
    await hooked.send('POST', '/api/board/localizations', { locale: 'de', text: 'eins' });
    const { status, body } = await hooked.send('POST', '/api/board/localizations', { locale: 'fr', text: 'un' });
    expect([status, body]).toMatchObject([200, { size: 3, localizations: [{ locale: 'de', text: 'eins' }] }]);
    expect((await hooked.rows('boards')).map((it) => it['locale'])).toEqual(['de', 'fr']);
    await hooked.close();
  });

  it('LO8: a shared value runs the hooks of the entry that is written, not those of its siblings', async () => {
    await world.send('POST', '/api/notes', { data: { text: 'one', size: 1 } });
    await world.send('POST', '/api/notes/1/localizations', { locale: 'de', text: 'zwei' });
    hooks = [];
    await world.send('PUT', '/api/notes/2', { data: { size: 5 } });
    expect(hooks).toEqual(['beforeUpdate 2 undefined', 'afterUpdate 2 undefined']);
    expect(await rows('notes')).toEqual(['en one 5', 'de zwei 5']);
  });

  it('LO4, LO7: content creates entries in a locale, and siblings', async () => {
    const status = await within(async (content) => {
      const { data } = await content.create(NOTE!, { text: 'eins', locale: 'de', size: 3 });
      const { id } = data as { id: number };
      const sibling = await content.createLocalization(NOTE!, id, { locale: 'fr', text: 'deux' });
      expect(sibling.data).toMatchObject({ attributes: { locale: 'fr', text: 'deux', size: 3 } });
      await content.update(NOTE!, id, { size: 4 });
    });
    expect([status, await rows('notes')]).toEqual([200, ['de eins 4', 'fr deux 4']]);
    const faults = async (doing: (content: Content) => Promise<unknown>): Promise<unknown> => {
      work = doing;
      const { body } = await world.send('POST', '/api/trails', { data: {} });
      return (body as { error?: { message: string } }).error?.message;
    };
    expect(await faults((content) => content.create(NOTE!, { locale: 'xx' }))).toBe("This locale doesn't exist");
    expect(await faults((content) => content.createLocalization(NOTE!, 1, {}))).toBe('locale is missing');
    expect(await faults((content) => content.createLocalization(NOTE!, 99, { locale: 'en' }))).toBe('Entity not found');
    // what only the code can mend is not told to clients
    expect(await faults((content) => content.createLocalization(TRAIL!, 1, { locale: 'en' }))).toBe(
      'Internal Server Error',
    );
    expect(world.logged.at(-1)).toContain('api::trail.trail has no locales');
  });

  it('LO6: content writes a single type in a locale, or the entry with an id', async () => {
    const status = await within(async (content) => {
      await content.update(BOARD!, null, { text: 'english', size: 1 });
      const { data } = await content.createLocalization(BOARD!, null, { locale: 'de', text: 'deutsch' });
      await content.createLocalization(BOARD!, null, { locale: 'fr', text: 'français' });
      await content.update(BOARD!, null, { text: 'anders' }, { locale: 'de' });
      await content.update(BOARD!, (data as { id: number }).id, { size: 2 });
      await content.delete(BOARD!, null, { locale: 'fr' });
    });
    expect([status, await rows('boards')]).toEqual([200, ['en english 2', 'de anders 2']]);
    expect(await within((content) => content.update(BOARD!, 99, { text: 'x' }))).toBe(404);
    expect(await within((content) => content.delete(BOARD!, 99))).toBe(404);
    expect(await rows('boards')).toEqual(['en english 2', 'de anders 2']);
  });
});
