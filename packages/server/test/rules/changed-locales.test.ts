/** A type that is localized after entries were made (LO1, LO2): they get the default locale, and none disappears silently. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { check, sync } from '../../src/cli/commands/check.js';
import { type Changing, newChanging } from '../world/changed.js';
import { printed } from '../world/printed.js';
import { contentType, type Json, typeFile } from '../world/schemas.js';
import { dialects } from '../world/world.js';

const note = (localized: boolean) => ({
  [typeFile('note')]: contentType('note', { title: { type: 'string' } }, { pluginOptions: { i18n: { localized } } }),
});
const cure = `update "notes" set "locale" = coalesce((select trim(value, '"') from strapi_core_store_settings where "key" = 'plugin_i18n_default_locale' order by id limit 1), 'en') where "locale" is null`;

describe.each(dialects)('a type that is localized later on %s', (dialect) => {
  let changing: Changing;
  beforeAll(async () => {
    changing = await newChanging(dialect, note(false));
  });
  afterAll(() => changing.close());
  afterEach(() => {
    vi.unstubAllEnvs();
    process.exitCode = undefined;
  });
  const command = async (work: (dir: string) => Promise<void>): Promise<string> => {
    for (const [name, value] of Object.entries(changing.database.env)) vi.stubEnv(name, value);
    return (await printed(() => work(changing.dir))).out;
  };
  const titles = async (query = ''): Promise<readonly unknown[]> => {
    const { body } = await changing.server.get(`/api/notes?sort=id${query}`);
    return (body as { data: readonly { attributes: Json }[] }).data.map((it) => it.attributes['title']);
  };

  it('LO2: its entries get the default locale with the column, as in v4, so that lists show them', async () => {
    for (const title of ['one', 'two']) await changing.server.send('POST', '/api/notes', { body: { data: { title } } });
    changing.write(note(true));
    expect(await command((dir) => sync(dir, { dryRun: true, publishDrafts: [] }))).toContain(`${cure};\n`);
    expect(await command((dir) => check(dir, { json: true }))).toContain('"unlocalized": []');
    await changing.start({});
    expect(changing.warnings).toEqual([]);
    expect(await titles('&locale=en')).toEqual(['one', 'two']);
  });

  it('LO1: entries in no locale are counted at each start, with the statement that helps', async () => {
    await changing.run("update notes set locale = null where title = 'two'");
    await changing.start({});
    expect(await titles()).toEqual(['one']);
    expect(await titles('&locale=all')).toEqual(['one', 'two']);
    expect(changing.warnings).toEqual([
      `api::note.note: 1 entry has no locale (null), so that lists show it with locale=all only, as in v4. To put it into the default locale: ${cure};`,
    ]);
  });

  it('check says the same and fails', async () => {
    expect(await command((dir) => check(dir, { json: false }))).toContain(
      '\nStored differently than the schema files declare:\n  api::note.note: 1 entry has no locale',
    );
    expect(process.exitCode).toBe(1);
    expect(JSON.parse(await command((dir) => check(dir, { json: true })))).toMatchObject({
      ok: false,
      unlocalized: [{ uid: 'api::note.note', count: 1, statement: cure }],
    });
  });

  it('the statement puts them into the default locale that v4 has stored', async () => {
    await changing.run(
      `insert into strapi_core_store_settings ("key", value, type) values ('plugin_i18n_default_locale', '"de"', 'string')`,
      cure,
    );
    await changing.start({});
    expect(changing.warnings).toEqual([]);
    expect(await titles('&locale=de')).toEqual(['two']);
  });
});
