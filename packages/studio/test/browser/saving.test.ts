/** Two people at one entry, unsaved work, drafts and locales: nothing is overwritten, nothing is lost. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessible, hold, oneDialect, type Studio, settled, useStudio } from './studio.js';

type Attributes = Readonly<Record<string, unknown>>;

const attributesOf = async (studio: Studio, path: string): Promise<Attributes> => {
  const { status, body } = await studio.send('GET', `/api/${path}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as { data: { attributes: Attributes } }).data.attributes;
};

const put = async (studio: Studio, path: string, data: object): Promise<void> => {
  const { status, body } = await studio.send('PUT', `/api/${path}`, { data });
  expect(status, JSON.stringify(body)).toBe(200);
};

const idsOf = async (studio: Studio, path: string): Promise<readonly number[]> => {
  const { body } = await studio.send('GET', `/api/${path}?fields=id&publicationState=preview`);
  return (body as { data: { id: number }[] }).data.map(({ id }) => id);
};

const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click();
const textbox = (page: Page, name: string) => page.getByRole('textbox', { name: new RegExp(`^${name}`, 'i') });
const handle = (page: Page, id: number) => page.locator(`.related-scroller li[data-id="${id}"] .related-handle`);

describe.each(oneDialect)('saving on %s', (dialect) => {
  const studio = useStudio(dialect);

  it('an entry that somebody else has changed is not overwritten: the difference is shown and chosen from', async () => {
    await put(studio, 'authors/1', { name: 'Before', bio: 'Before' });
    const page = await studio.open('/content/authors/1');
    // the tab is called what it is about
    await expect.poll(() => page.title()).toBe('Before · Author · Dovetail');
    await textbox(page, 'name').fill('Mine');
    await expect.poll(() => page.title()).toBe('* Mine · Author · Dovetail');
    await put(studio, 'authors/1', { name: 'Theirs', bio: 'Theirs too' });
    await save(page);
    const dialog = page.getByRole('dialog', { name: 'Someone else has saved this entry in the meantime' });
    await dialog.waitFor();
    // not the button that closes it has the focus, but what is to be read first
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toMatch(/^Ann Editor has saved it\. Nothing has been overwritten\./);
    await expect
      .poll(() => dialog.getByRole('row', { name: /^name/ }).getByRole('cell').allInnerTexts())
      .toEqual(['Before', 'Theirs', 'Mine']);
    await expect.poll(() => dialog.getByRole('row', { name: /^bio changed by them/ }).count()).toBe(1);
    await studio.keep(page, 'conflict');
    await accessible(page);
    expect((await attributesOf(studio, 'authors/1'))['name']).toBe('Theirs');
    // the choice is in sight on a narrow screen
    await page.setViewportSize({ width: 360, height: 720 });
    const choice = await dialog.getByRole('radiogroup', { name: 'Version of name to keep' }).boundingBox();
    expect(choice!.x + choice!.width).toBeLessThanOrEqual(360);
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByText('Your choices are in the form, but not saved yet.').waitFor();
    expect((await attributesOf(studio, 'authors/1'))['name']).toBe('Theirs');
    await save(page);
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await attributesOf(studio, 'authors/1')).toMatchObject({ name: 'Mine', bio: 'Theirs too' });
    // what was said of the save is not said of what is written afterwards
    await textbox(page, 'name').fill('Mine again');
    await page.getByText('Saved.', { exact: true }).waitFor({ state: 'detached' });
  });

  it('what is written while the server refuses a save is part of the conflict', async () => {
    await put(studio, 'authors/2', { name: 'The second', bio: 'Before' });
    const page = await studio.open('/content/authors/2');
    const write = await hold(page, 'PUT', '**/api/authors/2*');
    await textbox(page, 'name').fill('Mine, the second');
    await put(studio, 'authors/2', { name: 'Theirs, the second' });
    await page.keyboard.press('Control+s');
    await textbox(page, 'bio').fill('Written meanwhile');
    write.release();
    await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
    await expect.poll(() => textbox(page, 'bio').inputValue()).toBe('Written meanwhile');
    await save(page);
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await attributesOf(studio, 'authors/2')).toMatchObject({
      name: 'Mine, the second',
      bio: 'Written meanwhile',
    });
  });

  it('unsaved work that meets a newer entry is in the form even if its conflict is put off', async () => {
    await put(studio, 'authors/2', { name: 'The second', bio: 'Before' });
    const page = await studio.open('/content/authors/2');
    await textbox(page, 'name').fill('Mine, put off');
    await page.getByText('1 unsaved change').waitFor();
    await put(studio, 'authors/2', { name: 'Theirs, the second', bio: 'Theirs' });
    await page.reload();
    await settled(page);
    const dialog = page.getByRole('dialog', { name: 'Someone else has saved this entry in the meantime' });
    await dialog.getByText('Not now', { exact: true }).click();
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('Mine, put off');
    await page.getByText('Someone else has changed this in the meantime.').waitFor();
    await textbox(page, 'bio').fill('Mine, too');
    await page.getByText('2 unsaved changes').waitFor();
    await page.reload();
    await settled(page);
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('Mine, put off');
    await expect.poll(() => textbox(page, 'bio').inputValue()).toBe('Mine, too');
    // it was put off, not chosen: a save asks again
    await save(page);
    await dialog.waitFor();
    await expect
      .poll(() => dialog.getByRole('row', { name: /^name/ }).getByRole('cell').allInnerTexts())
      .toEqual(['The second', 'Theirs, the second', 'Mine, put off']);
    expect(await attributesOf(studio, 'authors/2')).toMatchObject({ name: 'Theirs, the second', bio: 'Theirs' });
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await save(page);
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await attributesOf(studio, 'authors/2')).toMatchObject({ name: 'Mine, put off', bio: 'Mine, too' });

    // a second tab has a form of its own
    await textbox(page, 'name').fill('In the first tab');
    const second = await page.context().newPage();
    await second.goto('/studio/content/authors/2');
    await settled(second);
    await expect.poll(() => textbox(second, 'name').inputValue()).toBe('Mine, put off');
    await textbox(second, 'name').fill('In the second tab');
    await expect.poll(() => second.evaluate(() => Object.values(localStorage).join())).toContain('In the second tab');
    await page.reload();
    await settled(page);
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('In the first tab');
    await second.close();
    await expect.poll(() => page.evaluate(async () => (await navigator.locks.query()).held?.length)).toBe(1);
    // what it leaves behind is taken up by the next one, and offered where there is other work
    await page.reload();
    await settled(page);
    await page.getByText('There are more unsaved changes to this entry').waitFor();
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('In the first tab');
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('In the second tab');
    const third = await page.context().newPage();
    await third.goto('/studio/content/authors/2');
    await settled(third);
    await expect.poll(() => textbox(third, 'name').inputValue()).toBe('In the first tab');
  });

  it('a copy does not take the place of a new entry that is not saved, unless asked to', async () => {
    const page = await studio.open('/content/authors/new');
    await textbox(page, 'name').fill('A new one, not saved');
    await page
      .getByText(/unsaved changes?/)
      .first()
      .waitFor();
    await page.goto('/studio/content/authors/1');
    await settled(page);
    const duplicate = async (): Promise<void> => {
      await page.getByRole('button', { name: 'More actions' }).click();
      await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    };
    await duplicate();
    await page.getByRole('button', { name: 'Open the unsaved entry' }).click();
    await page.waitForURL(/\/authors\/new/);
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('A new one, not saved');
    await page.goto('/studio/content/authors/1');
    await settled(page);
    await duplicate();
    await page.getByRole('button', { name: 'Discard it and continue' }).click();
    await page.getByText('Unsaved copy').waitFor();
    await expect.poll(() => textbox(page, 'name').inputValue()).not.toBe('A new one, not saved');
  });

  it('edits of an entry that somebody else has deleted go on in a new one', async () => {
    const { body } = await studio.send('POST', '/api/authors', {
      data: { name: 'Soon gone', email: 'soon@example.org' },
    });
    const { id } = (body as { data: { id: number } }).data;
    const page = await studio.open(`/content/authors/${id}`);
    await textbox(page, 'bio').fill('Not to be lost');
    const second = await page.context().newPage();
    await second.goto(`/studio/content/authors/${id}`);
    await settled(second);
    await textbox(second, 'bio').fill('Written in another tab');
    await second.getByText('1 unsaved change').waitFor();
    expect((await studio.send('DELETE', `/api/authors/${id}`)).status).toBe(200);
    // also where it is found out only after a reload
    await second.reload();
    await second.getByRole('heading', { level: 1, name: 'Entry not found' }).waitFor();
    await second.getByText('Your unsaved changes to this entry are still here').waitFor();
    await accessible(second);
    await second.getByRole('button', { name: 'Continue as a new entry' }).click();
    await second.waitForURL(/\/authors\/new/);
    await expect.poll(() => textbox(second, 'bio').inputValue()).toBe('Written in another tab');
    await second.getByRole('button', { name: 'Discard them' }).click();
    await second.close();
    await save(page);
    await page.getByRole('alert').getByText('This entry no longer exists').waitFor();
    await page.getByRole('button', { name: 'Continue as a new entry' }).click();
    await page.waitForURL(/\/authors\/new/);
    await page.getByText('Your unsaved changes have been restored').waitFor();
    await expect.poll(() => textbox(page, 'bio').inputValue()).toBe('Not to be lost');
    // whose response is lost may be stored: it is not sent a second time without asking, not even after a reload
    let sent = 0;
    await page.route('**/api/authors*', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      sent += 1;
      return sent === 1 ? route.abort() : route.continue();
    });
    const unsure = page.getByRole('alert').filter({ hasText: 'This entry may have been saved already' });
    await save(page);
    await unsure.waitFor();
    await page.reload();
    await settled(page);
    await expect.poll(() => textbox(page, 'bio').inputValue()).toBe('Not to be lost');
    await save(page);
    await unsure.waitFor();
    expect(sent).toBe(1);
    expect(await unsure.getByRole('link', { name: 'Open the list in a new tab' }).getAttribute('href')).toBe(
      '/studio/content/authors?sort=id%3Adesc',
    );
    await unsure.getByRole('button', { name: 'Save again' }).click();
    await page.waitForURL(/\/authors\/\d+$/);
    const stored = await attributesOf(studio, `authors/${page.url().split('/').at(-1)}`);
    expect(stored).toMatchObject({ name: 'Soon gone', bio: 'Not to be lost' });
    // what is gone, or is no number, says so and leads on
    for (const address of [`${id}`, `${id}/articles`, 'abc']) {
      await page.goto(`/studio/content/authors/${address}`);
      await page.getByRole('heading', { level: 1, name: 'Entry not found' }).waitFor();
      await page.getByRole('link', { name: 'Go to Authors' }).waitFor();
    }
    await accessible(page);
  });

  it('a part of a page that cannot be loaded says so in its place, and what is written around it stays', async () => {
    const page = await studio.open('/access/users');
    await page.getByRole('button', { name: 'New user' }).click();
    const user = page.getByRole('dialog', { name: 'New user' });
    await user.getByLabel('Username').fill('edda');
    await page.route('**/assets/Finder-*', (route) => route.abort());
    await page.keyboard.press('Control+K');
    const fault = page.getByRole('dialog', { name: 'Something went wrong' });
    await fault.getByRole('alert').getByText('This part of the Studio could not be loaded.').waitFor();
    await accessible(page);
    await fault.getByRole('button', { name: 'Close' }).click();
    await fault.waitFor({ state: 'detached' });
    expect(await user.getByLabel('Username').inputValue()).toBe('edda');

    const form = await studio.open('/content/authors/1');
    await form.getByRole('textbox', { name: /^name/ }).fill('Not lost');
    await form.route('**/assets/MediaPicker-*', (route) => route.abort());
    await form.getByRole('button', { name: 'Replace portrait' }).click();
    const refused = form.getByRole('dialog', { name: 'Something went wrong' });
    await refused.getByRole('button', { name: 'Reload the page' }).waitFor();
    await form.unroute('**/assets/MediaPicker-*');
    form.on('dialog', (it) => void it.accept());
    await refused.getByRole('button', { name: 'Reload the page' }).click();
    await form.getByText('Your unsaved changes have been restored').waitFor();
    expect(await form.getByRole('textbox', { name: /^name/ }).inputValue()).toBe('Not lost');
    await form.getByRole('button', { name: 'Replace portrait' }).click();
    await form.getByRole('dialog', { name: 'Choose a file' }).waitFor();
  });

  it('whoever signs out is asked about unsaved work, and none of it is left to whoever comes next', async () => {
    const { open } = await studio.visitor();
    const page = await open('/content/authors/3');
    await textbox(page, 'name').fill('Not saved');
    const signOut = async (): Promise<void> => {
      await page.getByRole('button', { name: /Ann Editor/ }).click();
      await page.getByRole('menuitem', { name: 'Sign out' }).click();
    };
    await signOut();
    await page.getByRole('dialog').getByText('Stay', { exact: true }).click();
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('Not saved');
    await signOut();
    await page.getByRole('button', { name: 'Leave and keep changes' }).click();
    await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await page.getByText('Not saved', { exact: true }).count()).toBe(0);
    expect(await page.evaluate(() => Object.keys(localStorage).filter((it) => it.includes('nobody')))).toEqual([]);
  });

  it('what is written while the server saves stays, unsaved, in the form', async () => {
    await put(studio, 'authors/2', { name: 'Before', bio: 'Before' });
    const page = await studio.open('/content/authors/2');
    const write = await hold(page, 'PUT', '**/api/authors/2*');
    await textbox(page, 'name').fill('Sent');
    await page.keyboard.press('Control+s');
    await textbox(page, 'bio').fill('Written meanwhile');
    write.release();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await attributesOf(studio, 'authors/2')).toMatchObject({ name: 'Sent', bio: 'Before' });
    await expect.poll(() => textbox(page, 'bio').inputValue()).toBe('Written meanwhile');
    await save(page);
    await page.getByText('1 unsaved change').waitFor({ state: 'detached' });
    // the button is disabled: its bar has the focus
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
      .toBe('Status and actions');
    expect(await attributesOf(studio, 'authors/2')).toMatchObject({ name: 'Sent', bio: 'Written meanwhile' });
  });

  it('Ctrl+S saves from the editor of JSON, too', async () => {
    const page = await studio.open('/content/ledgers/1');
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('{"kept": true}');
    await page.getByText('1 unsaved change').waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect((await attributesOf(studio, 'ledgers/1'))['lines']).toEqual({ kept: true });
  });

  it('what somebody else has changed elsewhere in the entry is shown too, and either can stand', async () => {
    await put(studio, 'authors/3', { name: 'Third', bio: 'Before' });
    const page = await studio.open('/content/authors/3');
    await textbox(page, 'name').fill('Mine, the third');
    await put(studio, 'authors/3', { bio: 'Theirs' });
    await save(page);
    const dialog = page.getByRole('dialog', { name: 'Someone else has saved this entry in the meantime' });
    await dialog.getByText('You have changed different attributes, so both versions can be kept.').waitFor();
    await expect
      .poll(() => dialog.getByRole('row', { name: /^bio/ }).getByRole('cell').allInnerTexts())
      .toEqual(['Before', 'Theirs', 'as before']);
    expect(await attributesOf(studio, 'authors/3')).toMatchObject({ name: 'Third', bio: 'Theirs' });
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await put(studio, 'authors/3', { bio: 'Theirs again' });
    await save(page);
    await dialog.getByRole('radiogroup', { name: 'Version of bio to keep' }).getByText('Yours').click();
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await save(page);
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await attributesOf(studio, 'authors/3')).toMatchObject({ name: 'Mine, the third', bio: 'Theirs' });
  });

  it('two people put one list in order: both orders are shown, and the moves are made again on the new one', async () => {
    await put(studio, 'editions/1', { articles: [1, 2, 3, 4] });
    const page = await studio.open('/content/editions/1/articles');
    await expect.poll(() => page.title()).toMatch(/^articles of Edition \d+ · Dovetail$/);
    await handle(page, 4).focus();
    await page.keyboard.press('Alt+Home');
    await page.getByText('unsaved change').first().waitFor();
    // somebody else moves the first entry down and removes another
    await put(studio, 'editions/1', { articles: { connect: [{ id: 1, position: { after: 3 } }], disconnect: [2] } });
    await save(page);
    const notice = page.getByRole('alert').filter({ hasText: 'Someone else has changed this list' });
    await notice.waitFor();
    expect(await idsOf(studio, 'editions/1/relations/articles')).toEqual([3, 1, 4]);
    await studio.keep(page, 'both-orders');
    await accessible(page);
    await page.getByRole('button', { name: 'Keep my changes' }).click();
    await save(page);
    await expect.poll(() => idsOf(studio, 'editions/1/relations/articles')).toEqual([4, 3, 1]);
  });

  it('unsaved work survives a reload, for a field and for the order of a list, and can be dropped', async () => {
    await put(studio, 'editions/1', { articles: [1, 2, 3, 4] });
    const page = await studio.open('/content/editions/1/articles');
    await handle(page, 3).focus();
    await page.keyboard.press('Alt+Home');
    await page.getByText('unsaved change').first().waitFor();
    await page.reload();
    await settled(page);
    await page.getByText('Your unsaved changes have been restored').waitFor();
    await expect.poll(() => page.locator('.related-scroller li[data-index="0"]').getAttribute('data-id')).toBe('3');
    await save(page);
    await page.getByText('The stored order matches the order shown here').waitFor();
    expect(await idsOf(studio, 'editions/1/relations/articles')).toEqual([3, 1, 2, 4]);

    await page.goto('/studio/content/authors/2');

    await settled(page);
    const before = await textbox(page, 'name').inputValue();
    await textbox(page, 'name').fill('Not saved yet');
    // leaving asks
    await page.getByRole('link', { name: 'Media' }).click();
    const leaving = page.getByRole('dialog', { name: 'You have unsaved changes' });
    await leaving.waitFor();
    await accessible(page);
    await leaving.getByRole('button', { name: 'Leave and keep changes' }).click();
    await page.waitForURL(/\/media/);
    await page.goBack();
    await page.getByText('Your unsaved changes have been restored').waitFor();
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe('Not saved yet');
    await page.getByRole('button', { name: 'Discard them' }).click();
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe(before);
    await page.reload();
    await settled(page);
    await textbox(page, 'name').waitFor();
    await expect.poll(() => textbox(page, 'name').inputValue()).toBe(before);
  });

  it('an entry is a draft first, is published, taken back, copied and deleted', async () => {
    const page = await studio.open('/content/articles/new');
    await textbox(page, 'title').fill('A draft of the tests');
    await page.getByRole('button', { name: 'Save as draft' }).click();
    await page.waitForURL(/\/articles\/\d+/);
    const id = Number(/articles\/(\d+)/.exec(page.url())![1]);
    const stored = () => attributesOf(studio, `articles/${id}?publicationState=preview`);
    expect(await stored()).toMatchObject({ title: 'A draft of the tests', publishedAt: null });
    if ((await stored())['slug'] === null) await put(studio, `articles/${id}`, { slug: 'a-draft-of-the-tests' });
    await page.reload();
    await settled(page);
    await page.getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Published.', { exact: true }).waitFor();
    expect((await stored())['publishedAt']).not.toBe(null);
    // by keyboard: a menu begins at its first action
    await page.getByRole('button', { name: 'More actions' }).press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Unpublish');
    await page.keyboard.press('Enter');
    await page.getByText('Unpublished. The API no longer returns it to the public.').waitFor();
    expect((await stored())['publishedAt']).toBe(null);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    await page.waitForURL(/\/articles\/new/);
    await page.getByText('Unsaved copy').waitFor();
    await expect.poll(() => textbox(page, 'title').inputValue()).toBe('A draft of the tests');
    await page.getByRole('button', { name: 'Discard them' }).click();
    await page.goto(`/studio/content/articles/${id}`);
    await settled(page);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const asked = page.getByRole('dialog', { name: 'Delete this entry?' });
    await asked.waitFor();
    // whoever thinks better of it is not lost on the page
    await page.keyboard.press('Escape');
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-label')))
      .toBe('Status and actions');
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    // nothing asks again for what is gone
    const missing: string[] = [];
    page.on('response', (it) => {
      if (it.status() === 404) missing.push(it.url());
    });
    await asked.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(/\/content\/articles(\?|$)/);
    await expect.poll(() => page.title()).toBe('Articles · Dovetail');
    await settled(page);
    await expect.poll(() => page.getByText('A draft of the tests').count()).toBe(0);
    expect(missing).toEqual([]);
    expect((await studio.send('GET', `/api/articles/${id}?publicationState=preview`)).status).toBe(404);
  });

  it('an entry is added in another locale, and each locale has a page', async () => {
    const { body } = await studio.send('POST', '/api/articles', {
      data: { title: 'In English', slug: 'in-english', publishedAt: null },
    });
    const { id } = (body as { data: { id: number } }).data;
    const page = await studio.open(`/content/articles/${id}`);
    const locales = page.locator('.save-bar').getByRole('button', { name: /English|en/ });
    await locales.click();
    await page.getByRole('menuitem', { name: /German|Deutsch|de/ }).click();
    await page.getByRole('button', { name: 'Copy this entry’s values' }).click();
    await page.waitForURL((url) => /articles\/\d+/.test(url.pathname) && !url.pathname.endsWith(`/${id}`));
    const other = Number(/articles\/(\d+)/.exec(page.url())![1]);
    const german = await attributesOf(studio, `articles/${other}?publicationState=preview`);
    expect(german).toMatchObject({ title: 'In English', locale: 'de', publishedAt: null });
    await textbox(page, 'title').fill('Auf Deutsch');
    await save(page);
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await attributesOf(studio, `articles/${id}?publicationState=preview`)).toMatchObject({
      title: 'In English',
    });
    await page
      .locator('.save-bar')
      .getByRole('button', { name: /German|Deutsch|de/ })
      .click();
    await page.getByRole('menuitem', { name: /English|en/ }).click();
    await page.waitForURL(new RegExp(`/articles/${id}`));
    await expect.poll(() => textbox(page, 'title').inputValue()).toBe('In English');

    // another locale beside a new entry asks first, as leaving it for another page does
    await page.goto('/studio/content/articles/new');
    await settled(page);
    const choose = async (from: string, to: RegExp): Promise<void> => {
      await page
        .getByRole('banner')
        .getByRole('button', { name: `Locale ${from}` })
        .click();
      await page.getByRole('menuitem', { name: to }).click();
    };
    await textbox(page, 'title').fill('Begun in English');
    await choose('en', /German/);
    const leaving = page.getByRole('dialog', { name: 'You have unsaved changes' });
    await leaving.getByText('Stay', { exact: true }).click();
    await page.getByRole('banner').getByRole('button', { name: 'Locale en' }).waitFor();
    await expect.poll(() => textbox(page, 'title').inputValue()).toBe('Begun in English');
    await choose('en', /German/);
    await leaving.getByRole('button', { name: 'Leave and keep changes' }).click();
    await expect.poll(() => textbox(page, 'title').inputValue()).toBe('');
    await choose('de', /English/);
    await page.getByText('Your unsaved changes have been restored').waitFor();
    await expect.poll(() => textbox(page, 'title').inputValue()).toBe('Begun in English');
    await page.getByRole('button', { name: 'Discard them' }).click();
  });
});
