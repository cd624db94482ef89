/** Relations of every kind in one form, and values that must not be altered: picked, put in order and read back over REST. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { queryOf } from '../../../server/test/world/databases.js';
import { addExhibits } from './exhibits.js';
import { accessible, drag, oneDialect, type Studio, settled, tall, useStudio } from './studio.js';

type Values = Readonly<Record<string, unknown>>;
interface Row {
  readonly id: number;
  readonly attributes: Values;
}

const send = async (studio: Studio, method: string, target: string, data?: object): Promise<Row> => {
  const { status, body } = await studio.send(method, `/api/${target}`, data && { data });
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as { data: Row }).data;
};
const idsIn = (value: unknown): readonly number[] => ((value as { data: Row[] }).data ?? value).map((it) => it.id);

const exact = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true });
const pick = async (page: Page, from: ReturnType<Page['getByRole']>, text: string, option: RegExp): Promise<void> => {
  await from.fill(text);
  await page.getByRole('option', { name: option }).first().click();
};
const save = async (page: Page): Promise<void> => {
  await page.keyboard.press('Control+s');
  await page.getByText(/^Saved\./).waitFor();
};

describe.each(oneDialect)('relations of every kind on %s', (dialect) => {
  const studio = useStudio(dialect, { prepare: addExhibits });
  const total = 10_000;
  let articles: readonly number[] = [];

  const open = async (address: string): Promise<Page> => {
    const { open: openPage } = await studio.visitor({ timezoneId: 'America/New_York', ...tall });
    return openPage(address);
  };

  beforeAll(async () => {
    const db = { db: { dialect: { name: dialect } }, env: studio.env };
    const rows = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${total})
      select 'Article ' || i, 'article-' || i, 'en' from n`;
    await queryOf(db, `insert into articles (title, slug, locale) ${rows}`);
    const found = await queryOf(db, `select id from articles where slug like 'article-%' order by id`);
    articles = found.map(({ id }) => Number(id));
    await send(studio, 'POST', 'exhibits', { name: 'First', shelves: [{ articles }] });
    await send(studio, 'POST', 'exhibits', { name: 'Second' });
    await send(studio, 'POST', 'pieces', { name: 'Anchor', exhibit: 2 });
    await send(studio, 'POST', 'pieces', { name: 'Rope' });
  });

  it('an entry is picked, of any type too, and files and polymorphic lists are put in order', async () => {
    const { body } = await studio.send('GET', '/api/upload/files?fields=name');
    const files = (body as { id: number; name: string }[]).slice(0, 3);
    await send(studio, 'PUT', 'exhibits/1', { pictures: files.map(({ id }) => id) });
    const page = await open('/content/exhibits/1');
    await pick(page, page.getByRole('combobox', { name: 'author' }), 'Léonie', /Léonie/);

    const about = page.getByRole('group', { name: 'about', exact: true });
    const things = page.getByRole('group', { name: 'things', exact: true });
    const add = async (group: typeof about, type: string, text: string): Promise<void> => {
      await group.getByRole('combobox', { name: 'Content type' }).click();
      await page.getByRole('option', { name: type, exact: true }).click();
      await pick(page, group.getByRole('combobox', { name: 'Add an entry' }), text, new RegExp(text));
    };
    await add(about, 'Author', 'Júlio');
    // there is one place
    await about.getByRole('combobox', { name: 'Choose another entry' }).waitFor();
    await about.getByRole('status').getByText('will be the related entry.').waitFor({ state: 'attached' });
    await add(things, 'Article', 'Slack Water');
    await add(things, 'Author', 'Júlio');
    await things.getByRole('button', { name: /^Move Júlio.* up/ }).click();

    const pictures = page.getByRole('group', { name: 'pictures', exact: true });
    await pictures.getByRole('button', { name: `Move ${files[0]!.name} back` }).click();
    const handleOf = (i: number) => pictures.getByRole('button', { name: `Move ${files[i]!.name}`, exact: true });
    await drag(handleOf(2), handleOf(1), '1 of 3');
    await accessible(page);
    await studio.keep(page, 'content-relations');
    await save(page);

    const { attributes } = await send(
      studio,
      'GET',
      'exhibits/1?populate[author]=true&populate[about]=true&populate[things]=true&populate[pictures]=true',
    );
    expect((attributes['author'] as { data: Row }).data.attributes['name']).toBe('Léonie Carrick');
    expect(attributes['about']).toMatchObject({ __type: 'api::author.author' });
    expect((attributes['things'] as Values[]).map((it) => it['__type'])).toEqual([
      'api::author.author',
      'api::article.article',
    ]);
    expect(idsIn(attributes['pictures'])).toEqual([files[2]!.id, files[1]!.id, files[0]!.id]);
    await page.getByRole('button', { name: 'Clear selection' }).click();
    await about.getByRole('button', { name: /^Remove/ }).click();
    await save(page);
    const cleared = await send(studio, 'GET', 'exhibits/1?populate[author]=true&populate[about]=true');
    expect(cleared.attributes['author']).toEqual({ data: null });
    expect(cleared.attributes['about'] ?? null).toBeNull();
  });

  it('the focus stays in a polymorphic list when an entry comes to an end of it or goes, and each entry can be opened', async () => {
    const { id } = await send(studio, 'POST', 'exhibits', {
      name: 'Third',
      things: [1, 2, 3].map((it) => ({ id: it, __type: 'api::author.author' })),
    });
    const page = await open(`/content/exhibits/${id}`);
    const things = page.getByRole('group', { name: 'things', exact: true });
    const names = async (): Promise<readonly string[]> =>
      (await things.getByRole('listitem').allInnerTexts()).map((it) => it.split('\n')[0]!);
    const [first = '', second = '', third = ''] = await names();
    const focused = (): Promise<string | null> => page.evaluate(() => document.activeElement?.ariaLabel ?? null);
    const press = async (name: string): Promise<void> => {
      await things.getByRole('button', { name, exact: true }).focus();
      await page.keyboard.press('Enter');
    };
    // not that of dragging
    const status = things.locator('[role=status]').first();
    // by the keyboard as by the mouse
    await things.getByRole('button', { name: `Move ${third}`, exact: true }).focus();
    await page.keyboard.press('Space');
    await page.getByText(`Picked up ${third}, at position 3 of 3`).waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowUp');
    await page.getByText('Over position 2 of 3').waitFor({ state: 'attached' });
    await page.keyboard.press('Space');
    await expect.poll(names).toEqual([first, third, second]);
    const handleOf = (name: string) => things.getByRole('button', { name: `Move ${name}`, exact: true });
    await drag(handleOf(third), handleOf(second), '3 of 3');
    await expect.poll(names).toEqual([first, second, third]);
    await press(`Move ${second} up`);
    await expect.poll(focused).toBe(`Move ${second} down`);
    await expect.poll(() => status.innerText()).toBe(`${second} is now at position 1 of 3.`);
    await press(`Remove ${first}`);
    await expect.poll(focused).toBe(`Remove ${third}`);
    await press(`Remove ${third}`);
    await expect.poll(focused).toBe(`Remove ${second}`);
    expect(await things.getByRole('link', { name: `Open ${second}` }).getAttribute('href')).toMatch(/authors\/2$/);
    await things.getByRole('combobox', { name: 'Content type' }).click();
    await page.getByRole('option', { name: 'Author', exact: true }).click();
    await pick(page, things.getByRole('combobox', { name: 'Add an entry' }), second, new RegExp(second));
    await expect.poll(() => status.innerText()).toBe(`${second} is already in the list, at position 1.`);
    await press(`Remove ${second}`);
    const type = things.getByRole('combobox', { name: 'Content type' });
    await expect.poll(() => type.evaluate((it) => it === document.activeElement)).toBe(true);
    await accessible(page);
  });

  it('the entry of a single type is picked, and entries of every locale for an entry without one', async () => {
    const translated = await studio.send('POST', `/api/articles/${articles[0]}/localizations`, {
      title: 'Stauwasser',
      locale: 'de',
    });
    expect(translated.status).toBe(200);
    const { id } = await send(studio, 'POST', 'exhibits', { name: 'Fourth' });
    const page = await open(`/content/exhibits/${id}`);
    const things = page.getByRole('group', { name: 'things', exact: true });
    const add = async (type: string, text: string): Promise<void> => {
      await things.getByRole('combobox', { name: 'Content type' }).click();
      await page.getByRole('option', { name: type, exact: true }).click();
      await pick(page, things.getByRole('combobox', { name: 'Add an entry' }), text, new RegExp(text));
    };
    await add('Homepage', 'Kedge');
    await add('Article', 'Stauwasser');
    await save(page);
    const { attributes } = await send(studio, 'GET', `exhibits/${id}?populate[things]=true`);
    expect((attributes['things'] as Values[]).map((it) => it['__type'])).toEqual([
      'api::homepage.homepage',
      'api::article.article',
    ]);
  });

  it('which entry of a list, or which one entry, was deleted meanwhile is told by the number that the server names', async () => {
    const [gone, kept] = [
      await send(studio, 'POST', 'pieces', { name: 'Fender' }),
      await send(studio, 'POST', 'pieces', { name: 'Bollard' }),
    ];
    const author = await send(studio, 'POST', 'authors', { name: 'Nobody', slug: 'nobody' });
    const { id } = await send(studio, 'POST', 'exhibits', { name: 'Sixth' });
    const page = await open(`/content/exhibits/${id}`);
    const picker = page.getByRole('combobox', { name: 'Add Piece' });
    for (const name of ['Fender', 'Bollard']) await pick(page, picker, name, new RegExp(name));
    await pick(page, page.getByRole('combobox', { name: 'author', exact: true }), 'Nobody', /Nobody/);
    await studio.send('DELETE', `/api/pieces/${gone.id}`);
    await studio.send('DELETE', `/api/authors/${author.id}`);
    await page.keyboard.press('Control+s');
    const rowOf = (name: string) => page.locator('.related-row').filter({ hasText: name });
    await rowOf('Fender').getByText(`No. ${gone.id}`).waitFor();
    await rowOf('Bollard').getByText(`No. ${kept.id}`).waitFor();
    await page.getByText(`No. ${author.id}`, { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Clear selection' }).click();
    await page.getByRole('button', { name: 'Remove Fender' }).click();
    await save(page);
    expect(await page.locator('.related-row').getByText(/^No\./).count()).toBe(0);
  });

  it('which entry of a polymorphic list was deleted meanwhile is told by the number that the server names', async () => {
    const piece = await send(studio, 'POST', 'pieces', { name: 'Buoy' });
    const things = [piece, { id: 1 }].map(({ id }, i) => ({
      id,
      __type: i === 0 ? 'api::piece.piece' : 'api::author.author',
    }));
    const { id } = await send(studio, 'POST', 'exhibits', { name: 'Fifth', things });
    const page = await open(`/content/exhibits/${id}`);
    const list = page.getByRole('group', { name: 'things', exact: true });
    await list.getByRole('button', { name: 'Move Buoy down' }).click();
    await studio.send('DELETE', `/api/pieces/${piece.id}`);
    await page.keyboard.press('Control+s');
    await page.getByText(`do not exist: things ${piece.id}`).first().waitFor();
    await list.getByRole('listitem').filter({ hasText: 'Buoy' }).getByText(`No. ${piece.id}`).waitFor();
    await list.getByRole('button', { name: 'Remove Buoy' }).click();
    await save(page);
  });

  it('whose an entry is that is taken from another one is said before it is saved', async () => {
    const page = await open('/content/exhibits/1');
    const picker = page.getByRole('combobox', { name: 'Add Piece' });
    await picker.fill('Anchor');
    const option = page.getByRole('option', { name: /Anchor/ });
    await option.getByText('in Second').waitFor();
    await option.click();
    await page.getByText('Saving takes Anchor from Second.').waitFor();
    await page.locator('.related-row').getByText('currently in Second').waitFor();
    await accessible(page);
    await studio.keep(page, 'relation-taken');
    await pick(page, picker, 'Rope', /Rope/);
    await page.locator('.related-row').getByText('Rope', { exact: true }).waitFor();
    await expect.poll(() => page.getByText(/^Saving takes/).count()).toBe(1);
    await save(page);
    const pieces = async (id: number) =>
      idsIn((await send(studio, 'GET', `exhibits/${id}?populate=pieces`)).attributes['pieces']);
    expect([await pieces(1), await pieces(2)]).toEqual([[1, 2], []]);
  });

  it('a datetime is that of the zone that was chosen; no digit of a number or of JSON is lost without a word', async () => {
    const page = await open('/content/exhibits/2');
    const moment = page.locator('input[type=datetime-local]');
    const zone = page.getByRole('combobox', { name: 'Time zone of moment' });
    await moment.fill('2026-03-01T05:30');
    await page.getByText('Exactly 2026-03-01T10:30:00.000Z').waitFor();
    await zone.selectOption('utc');
    await expect.poll(() => moment.inputValue()).toBe('2026-03-01T10:30');
    await moment.fill('2026-07-01T05:30');
    await zone.selectOption('local');
    await expect.poll(() => moment.inputValue()).toBe('2026-07-01T01:30');
    await exact(page, 'huge').fill('9223372036854775807');
    await exact(page, 'price').fill('12345678.25');
    await exact(page, 'ratio').fill('0.12345678901234567890');
    const json = page.locator('.cm-content');
    await json.click();
    await page.keyboard.insertText('{"n": 9007199254740993}');
    await page.keyboard.press('Control+s');
    await page.getByRole('alert').getByText('9007199254740993 has more digits').first().waitFor();
    expect((await send(studio, 'GET', 'exhibits/2')).attributes['facts']).toBeNull();
    await json.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('{"n": "9007199254740993"}');
    await save(page);
    await page.getByText(/ratio: the database stores 0\.1234567890123456\d* instead of/).waitFor();
    const { attributes } = await send(studio, 'GET', 'exhibits/2');
    expect(attributes).toMatchObject({
      moment: '2026-07-01T05:30:00.000Z',
      huge: '9223372036854775807',
      price: 12345678.25,
      facts: { n: '9007199254740993' },
    });
    // what was written by another program keeps its digits: it is shown, and not sent
    const stored = '{"n":12345678901234567890.5}';
    await queryOf(
      { db: { dialect: { name: dialect } }, env: studio.env },
      `update exhibits set facts = '${stored}' where id = 2`,
    );
    await page.reload();
    await settled(page);
    await json.getByText('12345678901234567890.5').waitFor();
    await exact(page, 'name').fill('Second, with digits');
    await save(page);
    const [{ facts = '' } = {}] = await queryOf(
      { db: { dialect: { name: dialect } }, env: studio.env },
      'select cast(facts as text) as facts from exhibits where id = 2',
    );
    expect(String(facts).replaceAll(' ', '')).toBe(stored);
  });

  it('a list of 10,000 in a component is read in windows, which are kept, and put in order by one operation', async () => {
    const page = await open('/content/exhibits/1');
    const windows: string[] = [];
    page.on('request', (it) => {
      if (it.url().includes('/relations/shelves/')) windows.push(it.url());
    });
    const row = (place: number) =>
      page.locator(`.related-scroller li[data-id="${articles[place]}"]`).locator('.related-handle');
    await page.getByText('10,000 entries').waitFor();
    await row(0).focus();
    await page.keyboard.press('End');
    await row(total - 1).waitFor();
    await page.keyboard.press('Home');
    await row(0).waitFor();
    const read = windows.length;
    await page.keyboard.press('End');
    await row(total - 1).waitFor();
    expect(windows.length).toBe(read);
    await page.keyboard.press('Alt+Home');
    await page.getByRole('region', { name: 'Request body' }).getByText('"start": true').waitFor();
    await save(page);
    const { attributes } = await send(studio, 'GET', 'exhibits/1?populate=shelves');
    const [shelf] = attributes['shelves'] as Row[];
    const list = `/api/exhibits/1/relations/shelves/${shelf!.id}/articles?fields=id&publicationState=preview&pagination[limit]=3`;
    const { body } = await studio.send('GET', list);
    expect(idsIn((body as { data: Row[] }).data)).toEqual([articles[total - 1], articles[0], articles[1]]);
    // it has a page of its own
    await page
      .locator('.related')
      .filter({ has: row(0) })
      .getByRole('link', { name: 'Open on its own page' })
      .click();
    await page.getByRole('heading', { level: 1, name: 'shelves › articles of First' }).waitFor();
    await row(0).waitFor();
    await accessible(page);
  });

  it('the page of a list fits a narrow screen, though the name of its entry is one long word', async () => {
    const { id } = await send(studio, 'POST', 'exhibits', { name: 'x'.repeat(250) });
    const narrow = await studio.visitor({ viewport: { width: 360, height: 740 } });
    const page = await narrow.open(`/content/exhibits/${id}/pieces`);
    await page.getByRole('heading', { level: 1, name: /^pieces of x+$/ }).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  });

  it('users and files are picked in polymorphic relations, with the library for files', async () => {
    const user = { username: 'quill', email: 'quill@example.org', password: 'A-long-secret-1', role: 1 };
    expect((await studio.send('POST', '/api/users', user)).status).toBe(201);
    const { id } = await send(studio, 'POST', 'exhibits', { name: 'Seventh' });
    const page = await open(`/content/exhibits/${id}`);
    const about = page.getByRole('group', { name: 'about', exact: true });
    const things = page.getByRole('group', { name: 'things', exact: true });
    const choose = async (group: typeof about, type: string): Promise<void> => {
      await group.getByRole('combobox', { name: 'Content type' }).click();
      await page.getByRole('option', { name: type, exact: true }).click();
    };
    await choose(things, 'User');
    await pick(page, things.getByRole('combobox', { name: 'Add an entry' }), 'quill', /quill/);
    await choose(things, 'File');
    await things.getByRole('button', { name: 'Choose files' }).click();
    const dialog = page.getByRole('dialog');
    const boxes = dialog.getByRole('checkbox', { name: /^Select .*\.(jpg|png)$/ });
    for (const i of [0, 1]) await boxes.nth(i).check();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Choose 2 files' }).click();
    await expect.poll(() => things.getByRole('listitem').count()).toBe(3);
    await choose(about, 'File');
    await about.getByRole('button', { name: 'Choose a file' }).click();
    await boxes.first().check();
    await dialog.getByRole('button', { name: 'Choose 1 file' }).click();
    await about.getByRole('listitem').getByText('File').waitFor();
    await accessible(page);
    await studio.keep(page, 'relation-files');
    await save(page);
    const { attributes } = await send(studio, 'GET', `exhibits/${id}?populate[things]=true&populate[about]=true`);
    expect((attributes['things'] as Values[]).map((it) => it['__type'])).toEqual([
      'plugin::users-permissions.user',
      'plugin::upload.file',
      'plugin::upload.file',
    ]);
    expect(attributes['about']).toMatchObject({ __type: 'plugin::upload.file' });
    // what is stored has the same names, and files have a page
    await page.reload();
    await things.getByRole('listitem').filter({ hasText: 'quill' }).getByText('User').waitFor();
    await about.getByRole('link', { name: /^Open / }).click();
    await page.waitForURL(/\/media\/\d+$/);
  });
});
