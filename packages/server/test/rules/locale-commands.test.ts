/** The commands `locale` (LO10). */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  addLocaleCommand,
  defaultLocaleCommand,
  listLocalesCommand,
  removeLocaleCommand,
} from '../../src/cli/commands/locale.js';
import { prepareLocales } from '../../src/cli/locales.js';
import { type Changing, newChanging } from '../world/changed.js';
import { printed } from '../world/printed.js';
import { contentType, type Files, typeFile } from '../world/schemas.js';
import { dialects } from '../world/world.js';

const localized = { pluginOptions: { i18n: { localized: true } } };
const files: Files = {
  [typeFile('note')]: contentType(
    'note',
    { title: { type: 'string' }, card: { type: 'component', component: 'parts.card' } },
    { ...localized, options: { draftAndPublish: true } },
  ),
  [typeFile('board')]: contentType('board', { title: { type: 'string' } }, { ...localized, kind: 'singleType' }),
  [typeFile('trail')]: contentType('trail', {
    title: { type: 'string' },
    notes: { type: 'relation', relation: 'manyToMany', target: 'api::note.note' },
  }),
  'src/components/parts/card.json': {
    collectionName: 'components_parts_cards',
    info: { displayName: 'card' },
    attributes: { text: { type: 'string' } },
  },
};

describe.each(dialects)('locale commands on %s', (dialect) => {
  let changing: Changing;
  beforeEach(async () => {
    changing = await newChanging(dialect, files);
    await prepareLocales(changing.database.db);
    for (const [name, value] of Object.entries(changing.database.env)) vi.stubEnv(name, value);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await changing.close();
  });

  const project = () => ({ project: changing.dir });
  const add = (code: string, name?: string) => printed(() => addLocaleCommand(code, { ...project(), name }));
  const remove = (code: string, deleteEntries = false) =>
    printed(() => removeLocaleCommand(code, { ...project(), deleteEntries }));
  const makeDefault = (code: string) => printed(() => defaultLocaleCommand(code, project()));
  const list = async (json = false) => (await printed(() => listLocalesCommand({ ...project(), json }))).out;
  const post = async (url: string, data: object) =>
    ((await changing.server.send('POST', url, { body: { data } })).body as { data: { id: number } }).data.id;
  const count = async (table: string) => Number((await changing.rows(`select count(*) from ${table}`))[0]![0]);

  it('LO10: locale add names the locale as v4 does, or as it is told', async () => {
    expect((await add('de')).said).toBe('locale de added: German (de)\n');
    await add('pt-BR');
    await add('zh-Hans-CN', 'Chinese');
    expect(await list()).toBe(
      'en  default  English (en)\nde  -  German (de)\npt-BR  -  Portuguese (Brazil) (pt-BR)\nzh-Hans-CN  -  Chinese\n',
    );
    expect(JSON.parse(await list(true))).toMatchObject([
      { id: 1, code: 'en', name: 'English (en)', isDefault: true },
      { id: 2, code: 'de', name: 'German (de)', isDefault: false, createdAt: expect.stringMatching(/Z$/) },
      { code: 'pt-BR' },
      { code: 'zh-Hans-CN' },
    ]);
    await post('/api/notes', { title: 'Brot', locale: 'de' });
  });

  it.each([
    ['en', /^There already is a locale en\.$/],
    ['xx', /^"xx" is not a locale code; expected one such as de/],
    ['all', /^"all" is not a locale code/],
    ['en_US', /^"en_US" is not a locale code/],
    ['', /is not a locale code/],
    ['pt-br', /^pt-br is written pt-BR\.$/],
    ['DE', /^DE is written de\.$/],
  ])('LO10: locale add %s is refused', async (code, message) => {
    await expect(add(code)).rejects.toThrow(message);
    expect(await list()).toBe('en  default  English (en)\n');
  });

  it('LO10: locale default changes the locale that lists show', async () => {
    await add('de');
    await post('/api/notes', { title: 'bread' });
    await post('/api/notes', { title: 'Brot', locale: 'de' });
    const titles = async () => {
      const { body } = await changing.server.get('/api/notes?fields=title');
      return (body as { data: { attributes: { title: string } }[] }).data.map((it) => it.attributes.title);
    };
    expect(await titles()).toEqual(['bread']);
    expect((await makeDefault('de')).said).toBe('default locale: German (de)\n');
    expect(await list()).toBe('en  -  English (en)\nde  default  German (de)\n');
    await changing.start({});
    expect(await titles()).toEqual(['Brot']);
    await expect(makeDefault('df')).rejects.toThrow('There is no locale df. Locales: en, de');
    await expect(makeDefault('fr')).rejects.toThrow('There is no locale fr. Locales: en, de');
    const settings = await changing.rows(
      `select value, type from strapi_core_store_settings where "key" = 'plugin_i18n_default_locale'`,
    );
    expect(settings).toEqual([['"de"', 'string']]);
  });

  it('LO10: locale remove removes a locale without entries, but not the default', async () => {
    await add('de');
    expect((await remove('de')).said).toBe('locale de removed\n');
    expect(await list()).toBe('en  default  English (en)\n');
    await expect(remove('en', true)).rejects.toThrow('en is the default locale');
    await expect(remove('de')).rejects.toThrow('There is no locale de');
  });

  it('LO10: locale remove counts the entries, and deletes them when it is told to', async () => {
    await add('de');
    const english = await post('/api/notes', { title: 'bread', card: { text: 'x' } });
    const german = await post('/api/notes', { title: 'Brot', locale: 'de', card: { text: 'y' } });
    await post('/api/notes', { title: 'Entwurf', locale: 'de', publishedAt: null });
    await changing.server.send('PUT', '/api/board?locale=de', { body: { data: { title: 'Willkommen' } } });
    await post('/api/trails', { title: 'both', notes: [english, german] });

    await expect(remove('de')).rejects.toThrow(
      'The locale de has 3 entries: api::board.board 1, api::note.note 2.\nNothing was removed. Give --delete-entries to delete them with the locale.',
    );
    expect([await count('notes'), await count('i18n_locale')]).toEqual([3, 2]);

    expect((await remove('de', true)).said).toBe(
      'locale de removed with 3 entries: api::board.board 1, api::note.note 2\n',
    );
    expect(await list()).toBe('en  default  English (en)\n');
    expect(await changing.rows('select title from notes')).toEqual([['bread']]);
    const tables = ['boards', 'trails_notes_links', 'notes_components', 'components_parts_cards'];
    expect(await Promise.all(tables.map(count))).toEqual([0, 1, 1, 1]);
  });

  it('LO10: locale remove deletes more entries than one transaction takes', async () => {
    await add('de');
    const values = Array.from({ length: 250 }, (_it, i) => `(${i + 1}, 'de')`).join(', ');
    await changing.run(`insert into notes (id, locale) values ${values}`);
    expect((await remove('de', true)).said).toContain('with 250 entries');
    expect(await count('notes')).toBe(0);
  });

  it('LO10: hooks run for the entries that are deleted, and may refuse', async () => {
    await add('de');
    await post('/api/notes', { title: 'Brot', locale: 'de' });
    await changing.start({
      'src/api/note/handlers.mjs':
        'export default { beforeDelete: async ({ id, refuse }) => refuse("note " + id + " is needed") };\n',
    });
    await expect(remove('de', true)).rejects.toThrow('note 1 is needed');
    expect([await count('notes'), await count('i18n_locale')]).toEqual([1, 2]);
  });
});
