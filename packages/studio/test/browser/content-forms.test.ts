/** Forms: every attribute type is edited, and read back over REST. */
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { addSpecimen } from './specimen.js';
import { accessible, colorSchemes, oneDialect, type Studio, useStudio } from './studio.js';

const populate = [
  'populate[picture][fields]=name',
  'populate[pictures][fields]=name',
  'populate[group][populate]=tags',
  'populate[tags]=true',
  'populate[bands][populate]=*',
  'publicationState=preview',
].join('&');

type Attributes = Readonly<Record<string, unknown>>;

const stored = async (studio: Studio, id: number): Promise<Attributes> => {
  const { status, body } = await studio.send('GET', `/api/specimens/${id}?${populate}`);
  expect(status).toBe(200);
  return (body as { data: { attributes: Attributes } }).data.attributes;
};

const make = async (studio: Studio, data: object): Promise<number> => {
  const { status, body } = await studio.send('POST', '/api/specimens', { data: { publishedAt: null, ...data } });
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as { data: { id: number } }).data.id;
};

/** Named by whether the entry is new. */
const saveButton = (page: Page): Locator => page.getByRole('button', { name: /^(Save|Save as draft)$/ });

/** Presses Save, and waits for the answer. */
const save = async (page: Page): Promise<void> => {
  const answer = page.waitForResponse((it) => it.request().method() !== 'GET' && it.url().includes('/api/specimens'));
  await saveButton(page).click();
  const response = await answer;
  expect(response.status(), await response.text()).toBe(200);
};

const open = async (studio: Studio, id: number | 'new'): Promise<Page> => {
  const page = await studio.open(`/content/specimens/${id}`);
  await page.getByRole('textbox', { name: 'name', exact: true }).waitFor();
  return page;
};

/** The id of the element that has the focus. */
const focused = (page: Page): Promise<string | undefined> => page.evaluate(() => document.activeElement?.id);

const box = (page: Page, name: string): Locator => page.getByRole('textbox', { name, exact: true });

const picture = path.join(import.meta.dirname, '../../../../examples/magazine/public/uploads/workbench_640461831c.png');

describe.each(oneDialect)('forms on %s', (dialect) => {
  const studio = useStudio(dialect, { prepare: addSpecimen });

  it('edits every attribute type, and REST shows what was written', async () => {
    const page = await open(studio, 'new');
    await box(page, 'name').fill('Ödland No. 7');
    await expect.poll(() => box(page, 'slug').inputValue()).toBe('oedland-no-7');
    await page.getByText('Available').waitFor();
    await page.getByLabel('summary').fill('Two\nlines');
    await page.getByRole('textbox', { name: 'story' }).fill('A word');
    await page.getByRole('textbox', { name: 'story' }).press('ControlOrMeta+a');
    await page.getByRole('button', { name: 'Bold (Ctrl+B)' }).click();
    const blocks = page.getByRole('textbox', { name: 'layout' });
    await blocks.click();
    await page.keyboard.type('First');
    await page.keyboard.press('Enter');
    await page.getByRole('combobox', { name: 'Block type' }).selectOption('Heading 2');
    await page.keyboard.type('Head');
    const json = page.getByRole('textbox', { name: 'facts' });
    await json.click();
    await page.keyboard.insertText('{"a": [1, null, "ü"]}');
    await page.getByRole('combobox', { name: 'kind', exact: true }).selectOption('odd');
    await box(page, 'contact').fill('mail@example.org');
    await page.getByLabel('key', { exact: true }).fill('a-long-secret');
    await page.getByLabel('day', { exact: true }).fill('2026-02-28');
    await page.getByLabel('hour', { exact: true }).fill('23:59:58.5');
    await page.getByRole('combobox', { name: 'Time zone of moment' }).selectOption('text');
    await page.getByLabel('moment', { exact: true }).fill('2026-03-29T00:30:15.250Z');
    await page.getByText('Exactly 2026-03-29T00:30:15.250Z').waitFor();
    await page.getByRole('combobox', { name: 'Time zone of stamp' }).selectOption('utc');
    // one key after the other; the date and the time read the same in every language
    await page.getByLabel('stamp', { exact: true }).focus();
    await page.keyboard.type('03032026');
    await page.keyboard.press('Tab');
    await page.keyboard.type('1030AM');
    await page.getByText('Exactly 2026-03-03T10:30:00.000Z').waitFor();
    await box(page, 'count').fill('42');
    await box(page, 'huge').fill('9223372036854775807');
    await box(page, 'ratio').fill('0.1');
    await box(page, 'price').fill('12345678.91');
    await page.getByRole('radiogroup', { name: 'ready' }).getByText('not set').click();
    await box(page, 'colour').fill('#2f6f73');
    await accessible(page, colorSchemes);
    await studio.keep(page, 'content-form');
    await save(page);
    await page.waitForURL(/\/specimens\/\d+$/);
    const id = Number(page.url().split('/').at(-1));

    expect(await stored(studio, id)).toMatchObject({
      name: 'Ödland No. 7',
      slug: 'oedland-no-7',
      summary: 'Two\nlines',
      story: '**A word**',
      layout: [
        { type: 'paragraph', children: [{ type: 'text', text: 'First' }] },
        { type: 'heading', level: 2, children: [{ type: 'text', text: 'Head' }] },
      ],
      facts: { a: [1, null, 'ü'] },
      kind: 'odd',
      contact: 'mail@example.org',
      day: '2026-02-28',
      hour: '23:59:58.500',
      moment: '2026-03-29T00:30:15.250Z',
      stamp: String(Date.parse('2026-03-03T10:30:00Z')),
      count: 42,
      huge: '9223372036854775807',
      ratio: 0.1,
      price: 12345678.91,
      ready: null,
      colour: '#2f6f73',
      publishedAt: null,
    });
    // the password is stored, and shown nowhere
    await expect.poll(() => page.getByLabel('key', { exact: true }).inputValue()).toBe('');
  });

  it('sends only what has changed, and tells null from an empty text', async () => {
    const id = await make(studio, { name: 'Ivy', summary: 'green', huge: '9007199254740993', price: 0.1 });
    const page = await open(studio, id);
    await page.getByRole('button', { name: 'Clear summary' }).click();
    const [request] = await Promise.all([page.waitForRequest((it) => it.method() === 'PUT'), save(page)]);
    expect(request.postDataJSON()).toEqual({ data: { summary: null } });
    expect(request.headers()['if-match']).toBeDefined();
    expect(await stored(studio, id)).toMatchObject({ summary: null, huge: '9007199254740993', price: 0.1 });
  });

  it('a text that is emptied is null, so that the server refuses it where one is required', async () => {
    const id = await make(studio, { name: 'Moss', summary: 'green', story: 'long' });
    const page = await open(studio, id);
    for (const name of ['summary', 'story']) await box(page, name).fill('');
    await save(page);
    expect(await stored(studio, id)).toMatchObject({ name: 'Moss', summary: null, story: null });
    // of a draft nothing is required
    await box(page, 'name').fill('');
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect.poll(() => box(page, 'name').getAttribute('aria-invalid')).toBe('true');
    expect(await stored(studio, id)).toMatchObject({ name: 'Moss' });
  });

  it('shows what the server refuses at its path, also inside components that are closed', async () => {
    const tags = ['a', 'b', 'c', 'd'].map((label) => ({ label }));
    const id = await make(studio, { name: 'Fern', tags });
    const page = await open(studio, id);
    await page.getByRole('button', { name: 'Tag c' }).click();
    const label = page.getByRole('textbox', { name: 'label' });
    await label.fill('much too long for it');
    await page.getByRole('button', { name: 'Tag much' }).click();
    await label.waitFor({ state: 'detached' });
    await box(page, 'count').fill('zero');
    await box(page, 'contact').fill('nobody');
    await saveButton(page).click();
    await expect.poll(() => box(page, 'count').getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => label.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => box(page, 'contact').getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => page.getByText('1 error', { exact: true }).count()).toBe(1);
    // the first of them can be mended at once
    await expect.poll(() => focused(page)).toBe('field-contact');
    await accessible(page);
    await studio.keep(page, 'content-faults');
    await label.fill('short');
    await box(page, 'count').fill('1');
    await box(page, 'contact').fill('a@example.org');
    await save(page);
    expect(await stored(studio, id)).toMatchObject({
      count: 1,
      contact: 'a@example.org',
      tags: [{ label: 'a' }, { label: 'b' }, { label: 'short' }, { label: 'd' }],
    });
  });

  it('does not save while a date or time is filled in by half', async () => {
    const id = await make(studio, { name: 'Sedge', day: '2026-02-28' });
    const page = await open(studio, id);
    const message = page.getByText('Incomplete: not saved unless every part is filled in.');
    // once it is left, that is said
    await page.locator('#field-hour').focus();
    await page.keyboard.type('01');
    await box(page, 'count').focus();
    await message.waitFor();
    // it is no change, but whoever saves means it
    await page.keyboard.press('ControlOrMeta+s');
    await page.getByText('hour is incomplete: fill in every part of it, or clear it.').waitFor();
    await expect.poll(() => focused(page)).toBe('field-hour');
    await accessible(page);
    await page.locator('#field-hour').fill('01:30');
    await message.waitFor({ state: 'detached' });
    // what is taken out of a stored date does not clear it
    await page.locator('#field-day').focus();
    await page.keyboard.press('Delete');
    await page.keyboard.press('ControlOrMeta+s');
    await page.getByText('day is incomplete: fill in every part of it, or clear it.').waitFor();
    await message.waitFor();
    await box(page, 'count').focus();
    await saveButton(page).click();
    await expect.poll(() => focused(page)).toBe('field-day');
    expect(await stored(studio, id)).toMatchObject({ day: '2026-02-28', hour: null });
    await page.locator('#field-day').fill('2026-03-01');
    await save(page);
    expect(await stored(studio, id)).toMatchObject({ day: '2026-03-01', hour: '01:30:00.000' });
  });

  it('a date or time that is filled in by half can be cleared, and is discarded with the other changes', async () => {
    const id = await make(studio, { name: 'Sedge' });
    const page = await open(studio, id);
    const message = page.getByText('Incomplete: not saved unless every part is filled in.');
    const type = async (name: string) => {
      await page.locator('#field-hour').focus();
      await page.keyboard.type('01');
      await box(page, 'name').fill(name);
      await message.waitFor();
    };
    await type('Sedges');
    await page.getByRole('button', { name: 'Clear hour' }).click();
    await message.waitFor({ state: 'detached' });
    await save(page);
    expect(await stored(studio, id)).toMatchObject({ name: 'Sedges', hour: null });
    await type('Rush');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await message.waitFor({ state: 'detached' });
    await box(page, 'name').fill('Reed');
    await save(page);
    expect(await stored(studio, id)).toMatchObject({ name: 'Reed', hour: null });
  });

  it('leads to a fault that is in a collapsed component only', async () => {
    const id = await make(studio, { name: 'Sedge', bands: [{ __component: 'parts.group', tags: [{ label: 'c' }] }] });
    const page = await open(studio, id);
    const label = page.getByRole('textbox', { name: 'label' });
    await label.fill('much too long for it');
    await page.getByRole('button', { name: 'Group much' }).click();
    await label.waitFor({ state: 'detached' });
    await saveButton(page).click();
    await expect.poll(() => label.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => focused(page)).toMatch(/^open-bands_/);
  });

  it('does not send text that is not JSON yet', async () => {
    const id = await make(studio, { name: 'Moss', facts: { a: 1 } });
    const page = await open(studio, id);
    const json = page.getByRole('textbox', { name: 'facts' });
    await json.click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.insertText(',');
    await page.getByText('This is not valid JSON.').waitFor();
    await saveButton(page).click();
    await page.getByText('facts is not valid JSON.').waitFor();
    await expect.poll(() => focused(page)).toBe('field-facts');
    expect(await stored(studio, id)).toMatchObject({ facts: { a: 1 } });
    await json.click();
    await page.keyboard.press('ControlOrMeta+End');
    await page.keyboard.press('Backspace');
    await page.getByText('This is not valid JSON.').waitFor({ state: 'detached' });
  });

  it('shows what cannot be changed, and says why', async () => {
    const id = await make(studio, { name: 'Reed' });
    const page = await open(studio, id);
    await expect.poll(() => box(page, 'sealed').getAttribute('readonly')).not.toBeNull();
    await page.getByText('Read-only: you do not have permission').first().waitFor();
  });

  it('never runs HTML of markdown, and shows it in the preview as text', async () => {
    const id = await make(studio, {
      name: 'Vine',
      story:
        '# Title\n\n<img src=x onerror="document.title=1">\n\n[link](javascript:alert(1))\n\n| a | b |\n|---|---|\n| 1 | 2 |',
    });
    const page = await open(studio, id);
    await page.getByText('Preview', { exact: true }).click();
    const preview = page.getByRole('region', { name: 'Preview' });
    await preview.getByText('Title', { exact: true }).waitFor();
    expect(await preview.locator('img').count()).toBe(0);
    await expect.poll(() => preview.getByText('link').getAttribute('href')).not.toMatch(/^javascript/);
    await expect.poll(() => preview.getByRole('cell', { name: '2' }).count()).toBe(1);
    await accessible(page);
  });

  it('keeps blocks with nodes that the editor does not know, as JSON', async () => {
    const layout = [{ type: 'paragraph', children: [{ type: 'text', text: 'a' }] }];
    const id = await make(studio, { name: 'Yew', layout });
    const page = await open(studio, id);
    const editor = page.getByRole('textbox', { name: 'layout' });
    await editor.click();
    await page.keyboard.press('End');
    await page.keyboard.type('bc');
    // the editor puts the caret behind what was typed, whatever is selected meanwhile
    await page.getByText('1 unsaved change').waitFor();
    await page.keyboard.press('ControlOrMeta+a');
    await page.getByRole('button', { name: 'Italic', exact: true }).click();
    await editor.locator('em').waitFor();
    await save(page);
    expect(await stored(studio, id)).toMatchObject({
      layout: [{ type: 'paragraph', children: [{ type: 'text', text: 'abc', italic: true }] }],
    });
  });

  it('uploads by choosing files, shows their formats, and puts them in order by keys', async () => {
    const id = await make(studio, { name: 'Oak' });
    const page = await open(studio, id);
    const chooser = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Upload to pictures' }).click();
    await (await chooser).setFiles([
      { name: 'one.png', mimeType: 'image/png', buffer: await pictureBytes() },
      { name: 'two.png', mimeType: 'image/png', buffer: await pictureBytes() },
    ]);
    const files = page.getByRole('group', { name: 'pictures' });
    await files.getByRole('link', { name: 'two.png' }).waitFor();
    await files.getByRole('link', { name: 'thumbnail' }).first().waitFor();
    const focused = (): Promise<string | null> =>
      page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent ?? null);
    // in place of the button that is disabled at an end, or gone
    await files.getByRole('button', { name: 'Move two.png forward' }).click();
    await expect.poll(focused).toBe('Move two.png back');
    await save(page);
    const { pictures } = (await stored(studio, id)) as { pictures: { data: { attributes: { name: string } }[] } };
    expect(pictures.data.map((it) => it.attributes.name)).toEqual(['two.png', 'one.png']);
    await studio.keep(page, 'content-media');
    await files.getByRole('button', { name: 'Remove two.png' }).click();
    await expect.poll(focused).toBe('Remove one.png');
    await files.getByRole('button', { name: 'Remove one.png' }).click();
    await expect.poll(focused).toBe('Choose for pictures');
  });

  it('picks a file of the library by search, and takes it away again', async () => {
    const id = await make(studio, { name: 'Birch' });
    const page = await open(studio, id);
    await page.getByRole('button', { name: 'Choose for picture', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('searchbox').fill('workbench');
    await dialog
      .getByRole('button', { name: /^workbench/ })
      .first()
      .click();
    await dialog.getByRole('button', { name: /^Choose/ }).click();
    const files = page.getByRole('group', { name: 'picture', exact: true });
    await files.getByRole('link', { name: /^workbench/ }).waitFor();
    await save(page);
    expect(await stored(studio, id)).toMatchObject({
      picture: { data: { attributes: { name: expect.stringMatching(/^workbench/) } } },
    });
    await files.getByRole('button', { name: /^Remove workbench/ }).click();
    await save(page);
    expect(await stored(studio, id)).toMatchObject({ picture: { data: null } });
  });

  it('uploads what is dropped on an attribute, and refuses what it does not take', async () => {
    const id = await make(studio, { name: 'Elm' });
    const page = await open(studio, id);
    const drop = async (name: string, type: string): Promise<void> => {
      const data = await page.evaluateHandle(
        ({ bytes, name: file, type: mime }) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(bytes)], file, { type: mime }));
          return transfer;
        },
        { bytes: [...(await pictureBytes())], name, type },
      );
      const target = page.getByRole('group', { name: 'picture', exact: true });
      for (const event of ['dragenter', 'dragover', 'drop']) await target.dispatchEvent(event, { dataTransfer: data });
    };
    await drop('notes.txt', 'text/plain');
    await page.getByText('Not allowed here: notes.txt').waitFor();
    // one that fails is added once it is sent again
    await page.route('**/api/upload', (route) => route.abort(), { times: 1 });
    await drop('dropped.png', 'image/png');
    await page.getByRole('button', { name: 'Retry dropped.png' }).click();
    await page.getByRole('link', { name: 'dropped.png' }).waitFor();
    await save(page);
    expect(await stored(studio, id)).toMatchObject({ picture: { data: { attributes: { name: 'dropped.png' } } } });
  });

  it('shows and edits each text in the direction in which it is written', async () => {
    const id = await make(studio, { name: 'גשר קטן (2)', summary: 'רחוב א׳', story: 'ספר' });
    const page = await open(studio, id);
    const direction = (of: Locator): Promise<string> => of.evaluate((it) => getComputedStyle(it).direction);
    const heading = page.getByRole('heading', { level: 1 });
    for (const it of [heading, box(page, 'name'), box(page, 'summary'), box(page, 'story')])
      expect(await direction(it)).toBe('rtl');
    // what is written does not begin below the button that clears it
    const [before, behind] = await box(page, 'name').evaluate((it) => {
      const { paddingLeft, paddingRight } = getComputedStyle(it);
      return [Number.parseFloat(paddingLeft), Number.parseFloat(paddingRight)];
    });
    expect(behind).toBeGreaterThan(before!);
    await studio.keep(page, 'content-form-rtl');
    await box(page, 'name').fill('Small bridge');
    await expect.poll(() => direction(heading)).toBe('ltr');
    expect(await direction(box(page, 'name'))).toBe('ltr');
    await page.goto('/studio/content/specimens');
    expect(await direction(page.getByText('גשר קטן (2)'))).toBe('rtl');
    await studio.keep(page, 'content-list-rtl');
  });

  it('shows each text of JSON in its direction, at its place in the structure', async () => {
    const id = await make(studio, { name: 'Fern', facts: { כותרת: 'שלום (2)', tags: ['ספר', 'book'] } });
    const page = await open(studio, id);
    const json = page.getByRole('textbox', { name: 'facts' });
    const text = (of: string): Locator => json.getByText(`"${of}"`, { exact: true });
    for (const [of, direction] of [
      ['כותרת', 'rtl'],
      ['שלום (2)', 'rtl'],
      ['ספר', 'rtl'],
      ['book', 'ltr'],
    ] as const)
      expect([of, await text(of).evaluate((it) => getComputedStyle(it).direction)]).toEqual([of, direction]);
    const left = async (of: string): Promise<number> => (await text(of).boundingBox())!.x;
    expect(await left('כותרת')).toBeLessThan(await left('שלום (2)'));
    expect(await left('ספר')).toBe(await left('book'));
    await json.scrollIntoViewIfNeeded();
    await studio.keep(page, 'content-form-json-rtl');
  });

  it('works at 360 pixels', async () => {
    const id = await make(studio, {
      name: 'Ash',
      tags: [{ label: 'a' }],
      bands: [{ __component: 'bands.remark', text: 'x' }],
    });
    const visitor = await studio.visitor({ viewport: { width: 360, height: 740 } });
    const page = await visitor.open(`/content/specimens/${id}`);
    await box(page, 'name').fill('Ash tree');
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
    await accessible(page);
    await studio.keep(page, 'content-form-narrow');
    await save(page);
    expect(await stored(studio, id)).toMatchObject({ name: 'Ash tree' });
  });
});

const pictureBytes = async (): Promise<Buffer> => (await import('node:fs/promises')).readFile(picture);
