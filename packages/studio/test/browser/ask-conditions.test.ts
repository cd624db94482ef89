/** Ask: conditions, pages, states and locales by clicking; texts that cannot be read; what is copied; large answers. */
import { randomInt } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { words } from '../../src/words/index.js';
import { accessible, useStudio } from './studio.js';

const texts = words.ask;

const editor = (page: Page, form: keyof typeof texts.request.forms = 'url'): Locator =>
  page.getByRole('textbox', { name: texts.request.editor(texts.request.forms[form]) });
const search = async (page: Page): Promise<string> =>
  decodeURIComponent((await editor(page).innerText()).trim()).split('?')[1] ?? '';
const row = (page: Page, id: string): Locator => page.locator(`[id="ask${id}"]`);

describe('Ask', () => {
  const studio = useStudio('sqlite');
  const open = async (address: string, viewport = { width: 1280, height: 800 }): Promise<Page> => {
    const page = await (await studio.visitor({ as: null, viewport })).open(address);
    await row(page, '/').waitFor();
    await editor(page).waitFor();
    return page;
  };
  const options = async (page: Page, id = '/'): Promise<Locator> => {
    await row(page, id)
      .getByRole('button', { name: /^Filters and sorting/ })
      .click();
    return page.getByRole('region', { name: /^Filters and sorting/ });
  };
  /** Adds a condition by its button: to the place, a group or a relation, or as the first of a group. */
  const add = async (page: Page, button: string, names: string, operator: string, value: string): Promise<void> => {
    await page.getByRole('button', { name: button, exact: true }).click();
    const form = page.getByRole('form', { name: button, exact: true });
    await form.getByLabel(texts.options.attribute).fill(names);
    await page.getByRole('option', { name: names, exact: true }).click();
    await form.getByLabel(texts.options.operator).click();
    await page.getByRole('option', { name: words.operators[operator] ?? operator, exact: true }).click();
    await form.getByLabel(texts.options.value).fill(value);
    await form.getByRole('button', { name: texts.options.apply, exact: true }).click();
  };
  it('groups in groups and opposites are made by clicking, at the row that they belong to, and taken back', {
    timeout: 240_000,
  }, async () => {
    const page = await open('/ask?type=articles&q=populate[author]=true');
    const panel = await options(page);
    // below its row, above the next one
    const isBetween = async (): Promise<boolean> => {
      const [own, box, next] = await Promise.all(
        [row(page, '/'), panel, row(page, '/#fields')].map((it) => it.boundingBox()),
      );
      return own!.y < box!.y && box!.y + box!.height <= next!.y + 1;
    };
    await expect.poll(isBetween).toBe(true);
    await add(page, 'Add a group', 'title', '$startsWith', 'S');
    await expect.poll(() => search(page)).toBe('populate[author]=true&filters[$or][0][title][$startsWith]=S');
    await expect.poll(isBetween).toBe(true);
    await add(page, 'Add a group to any of these', 'author › name', '$contains', 'L');
    const inner = panel.getByRole('region', { name: 'any of these', exact: true }).nth(1);
    await inner.getByLabel(texts.options.join).click();
    await page.getByRole('option', { name: texts.options.all, exact: true }).click();
    await add(page, 'Add filter to all of these', 'readingMinutes', '$lt', '5');
    const group = 'filters[$or][0][title][$startsWith]=S&filters[$or][1]';
    const two = '[author][name][$contains]=L&filters[$or][1][$and][1][readingMinutes][$lt]=5';
    await expect.poll(() => search(page)).toBe(`populate[author]=true&${group}[$and][0]${two}`);
    const opposite = panel.getByRole('button', { name: 'not: all of these' });
    await opposite.click();
    const negated = two.replace('[$or][1][$and]', '[$or][1][$not][$and]');
    await expect.poll(() => search(page)).toBe(`populate[author]=true&${group}[$not][$and][0]${negated}`);
    await expect.poll(() => opposite.getAttribute('aria-pressed')).toBe('true');
    await panel.getByRole('button', { name: 'not: title starts with' }).click();
    await expect.poll(() => search(page)).toContain('filters[$or][0][title][$not][$startsWith]=S');
    // what the server makes of it
    const { body } = await studio.send('GET', `/api/articles?${await search(page)}`);
    const { total } = (body as { readonly meta: { readonly pagination: { readonly total: number } } }).meta.pagination;
    await page.getByText(texts.answer.entries(total, total)).first().waitFor();
    await accessible(page);
    await studio.keep(page, 'ask-groups');
    await opposite.click();
    await panel.getByRole('button', { name: 'not: title starts with' }).click();
    await expect.poll(() => search(page)).toBe(`populate[author]=true&${group}[$and][0]${two}`);
    await panel.getByRole('button', { name: texts.options.remove('all of these') }).click();
    await expect.poll(() => search(page)).toBe('populate[author]=true&filters[$or][0][title][$startsWith]=S');
    await panel.press('Escape');
    await panel.waitFor({ state: 'detached' });
  });

  it('values and answers are shown and edited in the direction in which each is written', async () => {
    const name = `נמל קטן (${randomInt(1e9)})`;
    const made = await studio.send('POST', '/api/authors', {
      data: { name, slug: `namal-${randomInt(1e9)}`, bio: 'Small harbour' },
    });
    expect(made.status).toBe(200);
    const direction = (of: Locator): Promise<string> => of.evaluate((it) => getComputedStyle(it).direction);
    const page = await open(
      `/ask?type=authors&q=${encodeURIComponent('fields[0]=name&fields[1]=bio&filters[name][$in][0]=Quay')}`,
    );
    const panel = await options(page);
    const values = panel.getByLabel(texts.options.values);
    await values.fill(name);
    expect(await direction(values)).toBe('rtl');
    await values.press('Enter');
    const tag = (text: string): Locator => panel.getByText(text, { exact: true });
    await tag(name).waitFor();
    expect([await tag(name).evaluate((it) => getComputedStyle(it).unicodeBidi), await direction(values)]).toEqual([
      'plaintext',
      'ltr',
    ]);
    const search = panel.getByLabel(texts.options.search);
    await search.fill('נמל');
    expect(await direction(search)).toBe('rtl');
    await search.press('Enter');
    await page.getByText(/^\d+ of \d+ entr/).waitFor();
    const response = page.getByRole('region', { name: texts.answer.label });
    const shown = response.getByText(new RegExp(`^"?${name.replace(/[()]/g, '\\$&')}"?$`)).first();
    expect(await direction(shown)).toBe('rtl');
    await studio.keep(page, 'ask-rtl');
    for (const view of ['tree', 'table'] as const) {
      await response.getByText(texts.answer.views[view], { exact: true }).click();
      await shown.waitFor();
      expect([view, await direction(shown)]).toEqual([view, 'rtl']);
    }
    await accessible(page);
  });

  it('pages by offset, search, state and locale are chosen by clicking, and the answer follows', async () => {
    const page = await open('/ask?type=articles&q=fields[0]=title');
    const panel = await options(page);
    await panel.getByRole('combobox', { name: texts.options.page }).selectOption('offset');
    await panel.getByLabel(texts.options.paging.start).fill('2');
    await panel.getByLabel(texts.options.paging.limit).fill('3');
    await panel.getByLabel(texts.options.paging.limit).press('Enter');
    await expect.poll(() => search(page)).toBe('fields[0]=title&pagination[start]=2&pagination[limit]=3');
    await page.getByText(/^3 of 12 entries/).waitFor();
    await panel.getByRole('combobox', { name: texts.options.page }).selectOption('page');
    await expect.poll(() => search(page)).toBe('fields[0]=title&pagination[page]=1&pagination[pageSize]=3');
    await panel.getByLabel(texts.options.search).fill('Slack');
    await panel.getByLabel(texts.options.search).press('Enter');
    await page.getByText(/^1 of 1 entry/).waitFor();
    await expect.poll(() => search(page)).toContain('&_q=Slack');
    await panel.getByLabel(texts.options.search).fill('');
    await panel.getByLabel(texts.options.search).press('Enter');
    await panel.getByLabel(texts.options.state).selectOption('preview');
    await page.getByText(/^3 of 13 entries/).waitFor();
    await expect.poll(() => search(page)).toContain('&publicationState=preview');
    await panel.getByLabel(texts.options.locale).click();
    await page.getByRole('option', { name: texts.options.allLocales, exact: true }).click();
    await expect.poll(() => search(page)).toContain('&locale=all');
    await page.getByText(/^3 of 1[4-9] entries/).waitFor();
  });

  it('while a text cannot be read, tree and answer say that they are older, and which part it is', async () => {
    const page = await open('/ask?type=articles&q=fields[0]=title');
    await editor(page).click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('/api/artcles?fields[0]=slug');
    const notice = page.getByRole('status').filter({ hasText: texts.tree.old });
    await notice.getByText(/\/api\/artcles/).waitFor();
    await page.getByText(texts.answer.old).waitFor();
    await accessible(page);
    await notice.getByRole('button', { name: texts.tree.discard }).click();
    await notice.waitFor({ state: 'detached' });
    await expect.poll(() => search(page)).toBe('fields[0]=title');
  });

  it('each form of the request is copied as it is shown, and the link is the query', async () => {
    const visitor = await studio.visitor({ as: null });
    await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await visitor.open('/ask?type=articles&q=fields[0]=title');
    await editor(page).waitFor();
    const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
    const wanted = {
      url: `${studio.url}/api/articles?fields[0]=title`,
      qs: /^import qs from 'qs';[\s\S]*\{ fields: \['title'\] \}/,
      client: `const { data, meta } = await api.collection('articles').find({ fields: ['title'] });`,
      curl: `curl -g '${studio.url}/api/articles?fields[0]=title'`,
    } as const;
    for (const [form, text] of Object.entries(wanted)) {
      await page.getByText(texts.request.forms[form as 'url'], { exact: true }).click();
      await page.getByRole('region', { name: texts.request.label }).getByRole('button', { name: /^Cop/ }).click();
      await expect.poll(copied).toEqual(typeof text === 'string' ? text : expect.stringMatching(text));
    }
    await page.getByRole('button', { name: texts.copyLink }).click();
    await expect.poll(copied).toContain('/studio/ask?');
    const link = await copied();
    await page.goto('about:blank');
    await page.goto(link);
    await editor(page).waitFor();
    await expect.poll(() => search(page)).toBe('fields[0]=title');
    await page.getByRole('textbox', { name: texts.answer.json }).waitFor();
    await page.getByRole('button', { name: texts.answer.copy }).click();
    await expect.poll(copied).toMatch(/^\{\n {2}"data": \[/);
  });

  it('an answer of several megabytes is shown in parts, and the page stays quick', { timeout: 240_000 }, async () => {
    const body = 'The tide turns. '.repeat(6_000);
    for (let i = 0; i < 40; i++) {
      const { status } = await studio.send('POST', '/api/articles', {
        data: { title: `Long ${i}`, slug: `long-${i}`, body, kind: 'notes', publishedAt: '2026-01-01T00:00:00.000Z' },
      });
      expect(status).toBe(200);
    }
    const page = await open('/ask?type=articles&q=pagination[limit]=100%26filters[slug][$startsWith]=long-');
    await page.getByText(/^40 of 40 entries · .* MB/).waitFor();
    // the editor has the beginning, and says so
    await page.getByText(/^Showing the first \d+ kB of \d\.\d+ MB/).waitFor();
    const json = page.getByRole('textbox', { name: texts.answer.json });
    await json.getByText('"Long 0"').waitFor();
    await expect.poll(() => json.getAttribute('aria-readonly')).toBe('true');
    await page.getByText(texts.answer.views.tree, { exact: true }).click();
    const tree = page.getByRole('tree', { name: texts.answer.tree });
    await tree
      .getByRole('treeitem', { name: /Long 0/ })
      .first()
      .waitFor();
    await expect.poll(() => tree.getByRole('treeitem').count()).toBeLessThan(100);
    // the last row is there by one key
    await tree.getByRole('treeitem').first().focus();
    await page.keyboard.press('End');
    await tree
      .getByRole('treeitem', { name: /localizations|locale|publishedAt/ })
      .last()
      .waitFor();
    await expect.poll(() => tree.getByRole('treeitem').count()).toBeLessThan(100);
    await page.getByText(texts.answer.views.table, { exact: true }).click();
    await page.getByRole('row', { name: /Long 0/ }).waitFor();
    await expect.poll(() => page.getByRole('row').count()).toBeLessThan(60);
  });
});
