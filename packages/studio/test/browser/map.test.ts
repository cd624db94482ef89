/** The room Map, as whoever is not signed in sees it in development. */
import fs from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessible, colorSchemes, oneDialect, type Studio, settled, useStudio } from './studio.js';

const opening =
  (studio: Studio) =>
  async (address: string, viewport = { width: 1280, height: 800 }): Promise<Page> =>
    (await studio.visitor({ as: null, viewport })).open(address);
const card = (page: Page, name: string) => page.getByRole('group', { name });

describe.each(oneDialect)('the map on %s', (dialect) => {
  const studio = useStudio(dialect, { hasAdministrator: false });
  const open = opening(studio);

  it('draws every content type with its attributes and how many entries there are', async () => {
    const page = await open('/map');
    await card(page, 'Article, collection').getByText('13 entries').waitFor();
    for (const name of ['Author', 'Category', 'Edition', 'Ledger'])
      await expect.poll(() => card(page, `${name}, collection`).count()).toBe(1);
    await expect.poll(() => card(page, 'Homepage, single').innerText()).toContain('picks');
    await expect.poll(() => card(page, 'Author, collection').innerText()).toMatch(/articles\s+→ many Article/);
    // the relation of articles and their author, from both sides
    await page
      .locator('title', { hasText: 'Article.author → Author; Author.articles → many Article' })
      .waitFor({ state: 'attached' });
    await page.getByRole('list', { name: 'Legend' }).getByText('many entries at this end').waitFor();
    await studio.keep(page, 'map');
  });
});

describe('the map', () => {
  const studio = useStudio('sqlite', { hasAdministrator: false });
  const open = opening(studio);

  it('draws components and zones when they are wanted, and types of plugins', async () => {
    const page = await open('/map');
    await card(page, 'Article, collection').waitFor();
    expect(await card(page, 'Quote, component').count()).toBe(0);
    await page.getByRole('switch', { name: 'Components' }).press('Space');
    await card(page, 'Quote, component').waitFor();
    await page.getByRole('switch', { name: 'Plugin content types' }).press('Space');
    await page.getByRole('group', { name: /^user, collection/i }).waitFor();
    expect(new URL(page.url()).searchParams.get('components')).toBe('true');
    await studio.keep(page, 'map-components');
  });

  it('finds by attribute, and Enter opens the first type in full: attributes, rules, relations, rights', async () => {
    const page = await open('/map');
    const find = page.getByRole('textbox', { name: 'Find a content type or an attribute' });
    await find.fill('readingMin');
    await page.getByRole('status').filter({ hasText: '1 found' }).waitFor();
    await find.press('Enter');
    const panel = page.getByRole('region', { name: 'Article' });
    await panel.getByText('/api/articles').waitFor();
    await panel.getByText('at most 120 characters').waitFor();
    await panel.getByText('Article.author → Author; Author.articles → many Article').waitFor();
    await panel.getByRole('heading', { name: 'Permissions of public' }).waitFor();
    await panel.getByText('read one', { exact: true }).waitFor();
    expect(await panel.getByText('create', { exact: true }).count()).toBe(0);
    await accessible(page, colorSchemes);
    await studio.keep(page, 'map-type');
    await panel.getByRole('button', { name: 'Close' }).click();
    await panel.waitFor({ state: 'detached' });
  });

  it('says the same as a list, for those who cannot see drawings', async () => {
    const page = await open('/map?view=list');
    const row = page.getByRole('row').filter({ has: page.getByRole('button', { name: 'Edition' }) });
    await row.getByText('Edition.articles → many Article').waitFor();
    await accessible(page);
    await studio.keep(page, 'map-list');
  });

  it('keeps the place of a card that was moved by keyboard, until it is arranged again', async () => {
    const page = await open('/map');
    const edition = card(page, 'Edition, collection');
    const placeOf = () => edition.evaluate((it) => it.style.transform);
    await edition.waitFor();
    const before = await placeOf();
    await edition.focus();
    await edition.press('Enter');
    for (let i = 0; i < 4; i++) await edition.press('ArrowDown');
    await page.waitForFunction(() => localStorage.getItem('dovetail.map') !== null);
    const after = await placeOf();
    expect(after).not.toBe(before);
    await page.reload();
    await settled(page);
    await edition.waitFor();
    await expect.poll(() => placeOf()).toBe(after);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Reset layout' }).click();
    await expect.poll(placeOf).toBe(before);
  });

  it('exports a drawing that stands alone', async () => {
    const page = await open('/map');
    await card(page, 'Article, collection').waitFor();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Export as SVG' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('model.svg');
    const svg = fs.readFileSync(await download.path(), 'utf8');
    expect(svg).toMatch(/^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" viewBox="/);
    for (const text of ['Article', '→ many Category', 'readingMinutes', 'many entries at this end'])
      expect(svg).toContain(`>${text}</text>`);
    expect(svg).not.toMatch(/class=|var\(/);
  });

  it('shows all attributes of a large type when they are wanted, by keyboard', async () => {
    const page = await open('/map');
    const article = card(page, 'Article, collection');
    await article.getByRole('button', { name: 'Show 2 more attributes of Article' }).press('Enter');
    await article.getByText('featured', { exact: true }).waitFor();
    await article.getByRole('button', { name: 'Show fewer attributes of Article' }).press('Space');
    await article.getByText('featured', { exact: true }).waitFor({ state: 'detached' });
    // the button is not the card
    expect(new URL(page.url()).searchParams.has('type')).toBe(false);
  });

  it('opens a type from the list by keyboard, and the focus goes with it', async () => {
    const page = await open('/map?view=list');
    await page.getByRole('button', { name: 'Edition' }).press('Enter');
    const panel = page.getByRole('region', { name: 'Edition' });
    await expect.poll(() => panel.evaluate((it) => it.parentElement === document.activeElement)).toBe(true);
    await page.getByRole('status').filter({ hasText: 'Details of Edition opened' }).waitFor({ state: 'attached' });
    await panel.getByRole('button', { name: 'Close' }).press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('Edition');
  });

  it('prints the whole drawing in light colours on one page, without controls', async () => {
    const page = await open('/map?components=true');
    await card(page, 'Quote, component').waitFor();
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    const sheet = page.locator('svg').filter({ hasText: 'Content model' });
    await sheet.waitFor();
    for (const it of await page.locator('header, button, input, .react-flow').all())
      await expect.poll(() => it.isVisible()).toBe(false);
    const texts = await sheet.locator('text').allTextContents();
    for (const name of ['Article', 'Homepage', 'Quote', 'Social']) expect(texts).toContain(name);
    const box = await sheet.boundingBox();
    const { width, height } = page.viewportSize()!;
    expect(box!.x + box!.width).toBeLessThanOrEqual(width);
    expect(box!.height).toBeLessThanOrEqual(height);
    await expect.poll(() => sheet.locator('rect').first().getAttribute('fill')).toBe('#ffffff');
    await studio.keep(page, 'map-print');
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    await sheet.waitFor({ state: 'detached' });
    await page.emulateMedia({ media: null, colorScheme: null });
    // the browser's own command
    const pdf = (await page.pdf()).toString('latin1');
    expect(pdf).toMatch(/\/Count 1\b/);
  });

  it('can be read on a narrow screen', async () => {
    const page = await open('/map?type=api::edition.edition', { width: 360, height: 740 });
    await page.getByRole('region', { name: 'Edition' }).waitFor();
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
    await accessible(page);
    await studio.keep(page, 'map-narrow');
  });
});
