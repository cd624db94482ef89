/** Lists: the address holds what they show. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessible, hold, oneDialect, settled, useStudio } from './studio.js';

const titles = (page: Page): Promise<string[]> => page.locator('tbody tr td:nth-child(3)').allInnerTexts();

describe.each(oneDialect)('lists on %s', (dialect) => {
  const studio = useStudio(dialect);
  const draft = async (title: string): Promise<number> => {
    const { status, body } = await studio.send('POST', '/api/articles', {
      data: { title, slug: `slug-${title}`, publishedAt: null },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    return (body as { data: { id: number } }).data.id;
  };
  const published = async (id: number): Promise<unknown> => {
    const { body } = await studio.send('GET', `/api/articles/${id}?publicationState=preview`);
    return (body as { data: { attributes: { publishedAt: unknown } } }).data.attributes.publishedAt;
  };

  it('shows the entries of a type with drafts, sorted by the heads of columns', async () => {
    const page = await studio.open('/content/articles');
    await page.getByRole('row').nth(13).waitFor();
    await expect.poll(() => titles(page)).toContain('Small Lamps for Large Water');
    await page.getByRole('button', { name: 'title', exact: true }).click();
    await page.waitForURL(/sort=title/);
    await expect.poll(async () => (await titles(page))[0]).toBe('A Bridge That Minds Its Manners');
    await expect
      .poll(() => page.getByRole('columnheader', { name: 'title' }).getAttribute('aria-sort'))
      .toBe('ascending');
    await page.getByRole('button', { name: 'title', exact: true }).click();
    await expect.poll(async () => (await titles(page))[0]).toBe('What the Rope Remembers');
    await accessible(page);
    await studio.keep(page, 'content-list');
  });

  it('filters by an operator and a value, searches, and an address shows the same again', async () => {
    const page = await studio.open('/content/articles');
    await page.getByRole('row').nth(1).waitFor();
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Attribute of filter 1' }).selectOption('author.name');
    await page.getByRole('combobox', { name: 'Operator of filter 1' }).selectOption('$containsi');
    await page.getByRole('textbox', { name: 'Value of filter 1' }).fill('LÉONIE');
    await expect.poll(async () => (await titles(page)).includes('The Bench That Stayed Behind')).toBe(false);
    const byAuthor = await titles(page);
    expect(byAuthor).toContain('Slack Water');
    await accessible(page);
    await studio.keep(page, 'content-filters');
    await page.getByRole('searchbox', { name: 'Search' }).fill('slack');
    await page.waitForURL(/q=slack/);
    const shown = ['Slack Water'];
    await expect.poll(() => titles(page)).toEqual(shown);

    const again = await studio.open(new URL(page.url()).pathname.replace('/studio', '') + new URL(page.url()).search);
    await again.getByRole('row').nth(1).waitFor();
    await expect.poll(() => titles(again)).toEqual(shown);
    await expect.poll(() => again.getByRole('textbox', { name: 'Value of filter 1' }).inputValue()).toBe('LÉONIE');
  });

  it('keeps the chosen columns, and shows pages', async () => {
    const page = await studio.open('/content/articles?size=10');
    await page.getByRole('row').nth(10).waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('menuitemcheckbox', { name: 'author' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('cell', { name: 'Léonie Carrick' }).first().waitFor();
    await page.getByRole('button', { name: 'Page 2' }).click();
    await page.waitForURL(/page=2/);
    await page.getByText(/^11–1\d of 1\d$/).waitFor();
    await expect.poll(async () => (await titles(page)).length).toBeLessThan(10);
    await page.reload();
    await settled(page);
    await page.getByRole('columnheader', { name: 'author' }).waitFor();
    await page.getByRole('combobox', { name: 'Status' }).selectOption('draft');
    await expect.poll(() => titles(page)).toEqual(['Small Lamps for Large Water']);
    await page.getByText('Draft', { exact: true }).waitFor();
  });

  it('says what to do where nothing matches', async () => {
    const page = await studio.open('/content/articles?q=nothinglikethis');
    await page.getByText('No matching entries').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByRole('row').nth(5).waitFor();
  });

  it('publishes, unpublishes and deletes what is chosen, with its progress', async () => {
    const ids = [await draft('bulkone'), await draft('bulktwo')];
    const page = await studio.open('/content/articles?q=bulk');
    await page.getByRole('row').nth(2).waitFor();
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect.poll(async () => Promise.all(ids.map(published))).not.toContain(null);
    await page.getByRole('row', { name: 'bulkone' }).getByText('Published').waitFor();
    await page.getByRole('checkbox', { name: 'Select bulkone' }).check();
    await page.getByRole('button', { name: 'Unpublish' }).click();
    await page.getByRole('row', { name: 'bulkone' }).getByText('Draft').waitFor();
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Delete 2 entries?').waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No matching entries').waitFor();
    expect((await studio.send('GET', `/api/articles/${ids[0]}?publicationState=preview`)).status).toBe(404);
  });

  it('stops with the list: the rest of what was chosen stays as it is, and so does what is chosen next', async () => {
    const ids: number[] = [];
    for (const title of ['halfway1', 'halfway2', 'halfway3', 'halfway4', 'halfway5']) ids.push(await draft(title));
    const page = await studio.open('/content/articles?q=halfway');
    await page.getByText('1–5 of 5').waitFor();
    const writes = await hold(page, 'PUT', '**/api/articles/*');
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect.poll(() => writes.count()).toBe(3);
    await page.getByRole('button', { name: 'title', exact: true }).click();
    await page.waitForURL(/sort=title/);
    const bar = page.getByRole('region', { name: 'Actions for the selected entries' });
    await bar.waitFor({ state: 'detached' });
    await page.getByRole('checkbox', { name: 'Select halfway5' }).check();
    writes.release();
    await settled(page);
    expect((await Promise.all(ids.map(published))).filter((it) => it !== null)).toHaveLength(3);
    await bar.getByText('1 selected').waitFor();
    // all are done, but are being read again
    const reads = await hold(page, 'GET', '**/api/articles?*');
    await bar.getByRole('button', { name: 'Publish', exact: true }).click();
    await expect.poll(() => published(ids[4]!)).not.toBe(null);
    await expect.poll(() => reads.count()).toBe(1);
    await page.getByRole('button', { name: 'id', exact: true }).click();
    await bar.waitFor({ state: 'detached' });
    await page.getByRole('checkbox', { name: 'Select halfway4' }).check();
    reads.release();
    await settled(page);
    await bar.getByText('1 selected').waitFor();
  });

  it('says what to do where the server does not answer, and what is chosen stays', async () => {
    const id = await draft('unanswered');
    const page = await studio.open('/content/articles?q=unanswered');
    await page.getByRole('checkbox', { name: 'Select unanswered' }).check();
    await page.route(`**/api/articles/${id}*`, (route) => route.abort());
    const bar = page.getByRole('region', { name: 'Actions for the selected entries' });
    await bar.getByRole('button', { name: 'Publish', exact: true }).click();
    await bar.getByText('the server is not responding. Check that it is running, then try again.').waitFor();
    await page.unroute(`**/api/articles/${id}*`);
    await bar.getByRole('button', { name: 'Publish', exact: true }).click();
    await bar.waitFor({ state: 'detached' });
    expect(await published(id)).not.toBe(null);
  });

  it('is used by keyboard, from a type to an entry', async () => {
    const page = await studio.open('/content');
    const link = page.getByRole('link', { name: 'Categories' });
    await link.focus();
    await page.keyboard.press('Enter');
    const row = page.getByRole('link', { name: 'Making', exact: true });
    await row.focus();
    await page.keyboard.press('Enter');
    const name = page.getByRole('textbox', { name: 'name', exact: true });
    await name.waitFor();
    await expect.poll(() => name.inputValue()).toBe('Making');
  });

  it('opens a single type', async () => {
    const page = await studio.open('/content');
    await page.getByRole('link', { name: 'Homepage' }).click();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await expect.poll(() => page.getByRole('textbox', { name: 'headline' }).inputValue()).toMatch(/^Kedge/);
    await accessible(page);
  });

  it('shows an entry to those who may not change it, and says so', async () => {
    const visitor = await studio.visitor({ as: null });
    const page = await visitor.open('/content/articles/1');
    await page.getByText('You have permission to view this entry, but not to edit it.').waitFor();
    const title = page.getByRole('textbox', { name: 'title', exact: true }).first();
    await expect.poll(() => title.inputValue()).toBe('Slack Water');
    await expect.poll(() => title.getAttribute('readonly')).not.toBeNull();
    expect(await page.getByRole('button', { name: /^(Save|Add to|Upload to|Choose for)/ }).count()).toBe(0);
    await accessible(page);
  });

  it('works at 360 pixels', async () => {
    const visitor = await studio.visitor({ viewport: { width: 360, height: 740 } });
    const page = await visitor.open('/content/articles');
    await page.getByRole('row').nth(1).waitFor();
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
    await accessible(page);
    await studio.keep(page, 'content-list-narrow');
    await page.getByRole('combobox', { name: 'Content types' }).selectOption('Homepage');
    await page.getByRole('textbox', { name: 'headline' }).waitFor();
  });
});
