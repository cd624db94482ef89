/** What stands around the rooms: the first page, the bar, the palette, what is shown when nothing answers. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessible, oneDialect, settled, useStudio } from './studio.js';

describe.each(oneDialect)('the shell on %s', (dialect) => {
  const studio = useStudio(dialect, { hasAdministrator: false });
  const open = async (address: string, options: { readonly width?: number } = {}): Promise<Page> =>
    (await studio.visitor({ as: null, viewport: { width: options.width ?? 1280, height: 800 } })).open(address);

  it('/ sends browsers to a page that says what there is and what to do', async () => {
    const visitor = await studio.visitor({ as: null });
    const page = await visitor.context.newPage();
    await page.goto('/');
    await page.getByRole('heading', { level: 1, name: 'Your content, as an API' }).waitFor();
    // a request that is really sent
    await page.getByRole('region', { name: 'Response', exact: true }).getByText('"title": "Slack Water"').waitFor();
    await page.getByRole('row', { name: /Article.*13/ }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/studio');
    await expect
      .poll(() => page.getByRole('link', { name: 'Open the list' }).getAttribute('href'))
      .toMatch(/^\/studio\/content\/\w+\/\d+\/\w+$/);
    await page.getByRole('link', { name: 'Open Map' }).click();
    await page.waitForURL('**/studio/map');
    await page.goBack();
    await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
    await accessible(page);
    await studio.keep(page, 'start');
    await page.getByRole('link', { name: 'Edit in Ask' }).click();
    await page.waitForURL('**/studio/ask?type=articles&q=*');
  });

  it('every room can be opened by its address, and says where one is', async () => {
    const page = await open('/');
    for (const room of ['Map', 'Ask', 'Content', 'Media', 'Access', 'Health']) {
      await page.getByRole('navigation').getByRole('link', { name: room, exact: true }).click();
      await page.waitForURL(`**/studio/${room.toLowerCase()}**`);
      // Ask and Access soon show the first of their pages, whose name comes before theirs
      await expect.poll(() => page.title()).toMatch(new RegExp(`(^|· )${room} · Dovetail$`));
      // the next Tab is in the room
      await expect.poll(() => page.evaluate(() => document.activeElement?.closest('main')?.id)).toBe('room');
      const current = page.getByRole('navigation', { name: 'Rooms' }).locator('[aria-current=page]');
      await expect.poll(() => current.innerText()).toBe(room);
    }
  });

  it('the palette finds pages, types and entries, by keyboard alone', async () => {
    const page = await open('/');
    await page.keyboard.press('Control+k');
    const find = page.getByRole('textbox', { name: /^Find a content type/ });
    await find.fill('slack wat');
    const option = page.getByRole('option', { name: /^Slack Water/ });
    await option.waitFor();
    await accessible(page);
    await studio.keep(page, 'palette');
    await find.fill('health');
    await page.getByRole('option', { name: 'Health' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/studio/health');
    await expect.poll(() => page.evaluate(() => document.activeElement?.closest('main')?.id)).toBe('room');
  });

  it('colours follow the system, or what is chosen', async () => {
    const page = await open('/');
    const scheme = () => page.evaluate(() => document.documentElement.dataset['mantineColorScheme']);
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(scheme).toBe('dark');
    await page.getByRole('button', { name: 'Colour scheme' }).click();
    await page.getByRole('menuitem', { name: 'Light' }).click();
    await expect.poll(scheme).toBe('light');
    await page.reload();
    await settled(page);
    await expect.poll(scheme).toBe('light');
  });

  it('says so where there is no such page, and when the server does not answer', async () => {
    const page = await open('/nothing');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await accessible(page);
    const other = await open('/');
    await other.route('**/_dovetail/model', (route) => route.abort());
    await other.reload();
    await settled(other);
    await other.getByRole('alert').getByText('The server is not responding.').waitFor();
    await accessible(other);
    await studio.keep(other, 'unreachable');
    await other.unroute('**/_dovetail/model');
    await other.getByRole('button', { name: 'Try again' }).click();
    await other.getByRole('heading', { level: 1 }).waitFor();
  });

  it('tells when the connection is lost', async () => {
    const { context, open } = await studio.visitor({ as: null });
    const page = await open('/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await context.setOffline(true);
    await page.getByRole('status').getByText('You are offline.').waitFor();
    await context.setOffline(false);
    await page.getByText('You are offline.').waitFor({ state: 'detached' });
  });

  it('fits a narrow screen', async () => {
    const page = await open('/', { width: 360 });
    await page.getByRole('heading', { level: 1 }).waitFor();
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    expect(widths[0]).toBeLessThanOrEqual(widths[1]!);
    await accessible(page);
    await studio.keep(page, 'start-narrow');
  });
});
