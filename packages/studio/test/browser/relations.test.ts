/** Relation lists are put in order by hand, and what REST answers afterwards is what was shown. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { queryOf } from '../../../server/test/world/databases.js';
import { accessible, oneDialect, type Studio, useStudio } from './studio.js';

interface Listed {
  readonly data: { readonly id: number; readonly attributes: { readonly title: string } }[];
  readonly meta: { readonly pagination: { readonly total: number } };
}

/** The ids of a list as REST answers. */
const idsOf = async (studio: Studio, path: string, start = 0, limit = 100): Promise<readonly number[]> => {
  const query = `fields=title&publicationState=preview&pagination[start]=${start}&pagination[limit]=${limit}`;
  const { status, body } = await studio.send('GET', `/api/${path}?${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as Listed).data.map(({ id }) => id);
};

const setTo = async (studio: Studio, edition: number, ids: readonly number[]): Promise<void> => {
  const { status, body } = await studio.send('PUT', `/api/editions/${edition}`, { data: { articles: ids } });
  expect(status, JSON.stringify(body)).toBe(200);
};

/** The ids of the rows that are in the page, from the top. */
const shownIds = (page: Page): Promise<readonly number[]> =>
  page.locator('.related-scroller li.related-row').evaluateAll((rows) =>
    rows
      .map(
        (row) => [Number((row as HTMLElement).dataset['index']), Number((row as HTMLElement).dataset['id'])] as const,
      )
      .sort(([a], [b]) => a - b)
      .map(([, id]) => id),
  );

const row = (page: Page, id: number) => page.locator(`.related-scroller li[data-id="${id}"]`);
const handle = (page: Page, id: number) => row(page, id).locator('.related-handle');

/** Waits until the page shows that what is dragged would be dropped before this row. */
const gapAt = async (page: Page, index: number): Promise<void> => {
  await expect.poll(() => page.locator('.related-gap').getAttribute('style')).toBe(`top: ${index * 44 - 1}px;`);
};

const openList = async (page: Page): Promise<void> => {
  await page.locator('.related-scroller li[data-id]').first().waitFor();
};

const bodyShown = async (page: Page): Promise<unknown> => {
  const text = await page.getByRole('region', { name: 'Request body' }).locator('pre').innerText();
  return JSON.parse(text.slice(text.indexOf('{')));
};

const save = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The stored order matches the order shown here').waitFor();
};

describe.each(oneDialect)('relation lists on %s', (dialect) => {
  const studio = useStudio(dialect);

  it('an entry is moved by keyboard, the body says so, and the saved list is as it was shown', async () => {
    await setTo(studio, 1, [1, 2, 3, 4]);
    const page = await studio.open('/content/editions/1/articles');
    await openList(page);
    await expect.poll(() => shownIds(page)).toEqual([1, 2, 3, 4]);
    await handle(page, 1).focus();
    await page.keyboard.press('Alt+ArrowDown');
    await page.keyboard.press('Alt+ArrowDown');
    await expect.poll(() => shownIds(page)).toEqual([2, 3, 1, 4]);
    await expect.poll(() => page.evaluate(() => document.activeElement?.closest('li')?.dataset['id'])).toBe('1');
    await expect
      .poll(() => page.getByRole('status').allInnerTexts())
      .toContainEqual(expect.stringContaining('position 3 of 4'));
    await expect
      .poll(() => bodyShown(page))
      .toEqual({
        data: { articles: { connect: [{ id: 1, position: { after: 3 } }] } },
      });
    await studio.keep(page, 'relation-moved');
    await accessible(page);
    await save(page);
    expect(await idsOf(studio, 'editions/1/relations/articles')).toEqual([2, 3, 1, 4]);
  });

  it('an entry is dragged', async () => {
    await setTo(studio, 1, [1, 2, 3, 4]);
    const page = await studio.open('/content/editions/1/articles');
    await openList(page);
    const [from, to] = [await handle(page, 4).boundingBox(), await handle(page, 2).boundingBox()];
    await page.mouse.move(from!.x + 20, from!.y + 10);
    await page.mouse.down();
    await page.mouse.move(from!.x + 20, from!.y - 20, { steps: 4 });
    await page.mouse.move(to!.x + 20, to!.y - 6, { steps: 8 });
    await gapAt(page, 1);
    await studio.keep(page, 'relation-dragged');
    await page.mouse.up();
    await expect.poll(() => shownIds(page)).toEqual([1, 4, 2, 3]);
    await save(page);
    expect(await idsOf(studio, 'editions/1/relations/articles')).toEqual([1, 4, 2, 3]);
  });

  it('entries are added at a chosen place, removed, brought back and found; undo takes the last step back', async () => {
    await setTo(studio, 1, [1, 2, 3, 4]);
    const page = await studio.open('/content/editions/1/articles');
    await openList(page);
    await page.getByLabel('At position').fill('2');
    const picker = page.getByRole('combobox', { name: 'Add Article' });
    await picker.fill('Ferry Is Also');
    await page.getByRole('option', { name: /The Last Ferry Is Also the First/ }).click();
    await row(page, 5).waitFor();
    await expect.poll(() => shownIds(page)).toEqual([1, 5, 2, 3, 4]);
    await page.getByRole('button', { name: 'Remove Eleven Turns Every Friday' }).click();
    await expect.poll(() => shownIds(page)).toEqual([1, 5, 2, 4]);
    await expect
      .poll(() => bodyShown(page))
      .toEqual({
        data: { articles: { connect: [{ id: 5, position: { after: 1 } }], disconnect: [{ id: 3 }] } },
      });
    await page.getByRole('button', { name: 'Restore Eleven Turns Every Friday' }).click();
    await expect.poll(() => shownIds(page)).toEqual([1, 5, 2, 3, 4]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => shownIds(page)).toEqual([1, 5, 2, 4]);
    // an entry that is there already is shown, and not added twice
    await picker.fill('Slack Water');
    await page
      .getByRole('option', { name: /Slack Water/ })
      .first()
      .click();
    await page.getByText('Slack Water is already in the list, at position 1.').waitFor();
    await save(page);
    expect(await idsOf(studio, 'editions/1/relations/articles')).toEqual([1, 5, 2, 4]);
  });

  it('a list of the form of its entry is the same list, and the request is shown whole', async () => {
    await setTo(studio, 1, [1, 2, 3, 4]);
    const page = await studio.open('/content/editions/1');
    await openList(page);
    await handle(page, 3).focus();
    await page.keyboard.press('Alt+Home');
    await expect.poll(() => shownIds(page)).toEqual([3, 1, 2, 4]);
    await page.getByRole('button', { name: 'Show the request' }).click();
    await studio.keep(page, 'relation-in-form');
    await save(page);
    expect(await idsOf(studio, 'editions/1/relations/articles')).toEqual([3, 1, 2, 4]);
  });

  it("a list inside of a component is put in order in place, by the component's id", async () => {
    const query = 'populate[sections][populate]=*&publicationState=preview';
    interface Section {
      readonly id: number;
      readonly __component: string;
      readonly articles?: { readonly data: readonly { readonly id: number }[] };
    }
    const lists = async (): Promise<readonly Section[]> => {
      const { body } = await studio.send('GET', `/api/homepage?${query}`);
      const { sections } = (body as { data: { attributes: { sections: readonly Section[] } } }).data.attributes;
      return sections.filter((it) => it.__component === 'sections.article-list');
    };
    const idsIn = (it: Section | undefined): readonly number[] => it?.articles?.data.map(({ id }) => id) ?? [];
    const [before] = await lists();
    // the last entry is in no other list of the page
    const ids = idsIn(before);
    const last = ids.at(-1) ?? 0;
    const page = await studio.open('/content/homepage');
    const open = page.locator('button[aria-expanded]').filter({ hasText: 'Begin by the water' });
    await open.waitFor();
    if ((await open.getAttribute('aria-expanded')) === 'false') await open.click();
    await handle(page, last).focus();
    await page.keyboard.press('Alt+Home');
    await page.getByRole('region', { name: 'Request body' }).getByText('"start": true').waitFor();
    await studio.keep(page, 'relation-in-component');
    await save(page);
    const [after] = await lists();
    expect(after?.id).toBe(before?.id);
    expect(idsIn(after)).toEqual([last, ...ids.slice(0, -1)]);
  });

  it('whoever opens the first page is one click away from a list to put in order', async () => {
    await setTo(studio, 1, [1, 2, 3, 4]);
    const page = await studio.open('');
    await page.getByRole('link', { name: 'Open the list' }).click();
    await openList(page);
    const [from, to] = [
      await page.locator('.related-scroller li[data-index="1"] .related-handle').boundingBox(),
      await page.locator('.related-scroller li[data-index="0"] .related-handle').boundingBox(),
    ];
    const before = await shownIds(page);
    await page.mouse.move(from!.x + 20, from!.y + 10);
    await page.mouse.down();
    await page.mouse.move(to!.x + 20, to!.y - 4, { steps: 8 });
    await gapAt(page, 0);
    await page.mouse.up();
    await expect.poll(async () => (await shownIds(page)).slice(0, 2)).toEqual([before[1], before[0]]);
    await save(page);
    const name = /content\/(\w+\/\d+)\/(\w+)/.exec(page.url());
    expect((await idsOf(studio, `${name?.[1]}/relations/${name?.[2]}`)).slice(0, 2)).toEqual([before[1], before[0]]);
  });
});

describe.each(oneDialect)('a relation list of 10,000 on %s', (dialect) => {
  const studio = useStudio(dialect);
  const total = 10_000;
  let ids: readonly number[] = [];

  beforeAll(async () => {
    // ten thousand requests would take a minute
    const rows = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${total})
      select 'Article ' || i, 'article-' || i, 'en' from n`;
    await queryOf(
      { db: { dialect: { name: dialect } }, env: studio.env },
      `insert into articles (title, slug, locale) ${rows}`,
    );
    const found = await queryOf(
      { db: { dialect: { name: dialect } }, env: studio.env },
      `select id from articles where slug like 'article-%' order by id`,
    );
    ids = found.map(({ id }) => Number(id));
    await setTo(studio, 2, ids);
  });

  it('to position 6,000 is one operation, whose anchor is looked up; the list goes on without a border', async () => {
    const page = await studio.open('/content/editions/2/articles');
    await openList(page);
    await page.getByText('10,000 entries').waitFor();
    const requests: string[] = [];
    page.on('request', (it) => requests.push(`${it.method()} ${it.url()}`));
    await handle(page, ids[2]!).focus();
    await page.keyboard.press('m');
    await page.getByLabel('Position, from 1 to 10,000').fill('6000');
    await page.keyboard.press('Enter');
    await expect.poll(() => row(page, ids[2]!).getAttribute('data-index')).toBe('5999');
    await expect
      .poll(() => bodyShown(page))
      .toEqual({
        data: { articles: { connect: [{ id: ids[2], position: { after: ids[5999] } }] } },
      });
    // no more was read than what is shown there
    expect(requests.filter((it) => it.includes('/relations/')).length).toBeLessThanOrEqual(4);
    await studio.keep(page, 'relation-far');
    await page.keyboard.press('End');
    await row(page, ids[total - 1]!).waitFor();
    await page.keyboard.press('Alt+Home');
    await expect.poll(() => row(page, ids[total - 1]!).getAttribute('data-index')).toBe('0');
    await save(page);
    const wanted = [ids[total - 1]!, ...ids.slice(0, 2), ...ids.slice(3, 6000), ids[2]!, ...ids.slice(6000, -1)];
    expect(await idsOf(studio, 'editions/2/relations/articles', 0, 10)).toEqual(wanted.slice(0, 10));
    expect(await idsOf(studio, 'editions/2/relations/articles', 5990, 20)).toEqual(wanted.slice(5990, 6010));
    expect(await idsOf(studio, 'editions/2/relations/articles', 9990, 20)).toEqual(wanted.slice(9990));
  });

  it('what could not be read for a move is read again, and the move is made', async () => {
    await setTo(studio, 2, ids);
    const page = await studio.open('/content/editions/2/articles');
    await openList(page);
    const reads = '**/relations/articles?*';
    let refused = 0;
    await page.route(reads, (route) => {
      refused += 1;
      return route.abort();
    });
    await handle(page, ids[2]!).focus();
    await page.keyboard.press('m');
    await page.getByLabel('Position, from 1 to 10,000').fill('6000');
    await page.keyboard.press('Enter');
    const fault = page.getByRole('alert').filter({ hasText: 'The server is not responding.' });
    await fault.waitFor();
    // it is back where it was, out of sight
    await row(page, ids[2]!).waitFor({ state: 'detached' });
    const before = refused;
    await fault.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => refused).toBeGreaterThan(before);
    await row(page, ids[2]!).waitFor({ state: 'detached' });
    await fault.waitFor();
    await page.unroute(reads);
    await fault.getByRole('button', { name: 'Try again' }).click();
    await fault.waitFor({ state: 'detached' });
    await expect
      .poll(() => bodyShown(page))
      .toEqual({
        data: { articles: { connect: [{ id: ids[2], position: { after: ids[5999] } }] } },
      });
    await save(page);
    expect(await idsOf(studio, 'editions/2/relations/articles', 5998, 3)).toEqual([ids[5999], ids[2], ids[6000]]);
  });

  it('dragging scrolls as far as the pointer stays at the edge, across every window', async () => {
    await setTo(studio, 2, ids);
    const page = await studio.open('/content/editions/2/articles');
    await openList(page);
    const scroller = page.locator('.related-scroller');
    const [from, box] = [await handle(page, ids[1]!).boundingBox(), await scroller.boundingBox()];
    await page.mouse.move(from!.x + 20, from!.y + 10);
    await page.mouse.down();
    await page.mouse.move(from!.x + 20, from!.y + 40, { steps: 4 });
    await page.mouse.move(from!.x + 20, box!.y + box!.height - 6, { steps: 4 });
    await page.waitForFunction(() => document.querySelector('.related-scroller')!.scrollTop > 44 * 150);
    await page.mouse.move(from!.x + 20, box!.y + box!.height / 2, { steps: 4 });
    await page.mouse.up();
    const indexOf = async () => Number(await row(page, ids[1]!).getAttribute('data-index'));
    await expect.poll(indexOf).toBeGreaterThan(150);
    const at = await indexOf();
    const { data } = (await bodyShown(page)) as { data: { articles: { connect: unknown[] } } };
    expect(data.articles.connect).toHaveLength(1);
    await save(page);
    const around = await idsOf(studio, 'editions/2/relations/articles', at - 1, 3);
    expect(around).toEqual([ids[at], ids[1], ids[at + 1]]);
  });

  it('the list is filtered, and an entry is moved from among those that were found', async () => {
    await setTo(studio, 2, ids);
    const page = await studio.open('/content/editions/2/articles');
    await openList(page);
    await page.getByRole('textbox', { name: 'Filter this list' }).fill('Article 777');
    await page.getByText('11 matches in this list').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Move Article 777 to…' }).click();
    await page.getByRole('button', { name: 'To the start' }).click();
    const moved = ids[776]!;
    await row(page, moved).waitFor();
    await expect
      .poll(() => bodyShown(page))
      .toEqual({
        data: { articles: { connect: [{ id: moved, position: { start: true } }] } },
      });
    await save(page);
    expect(await idsOf(studio, 'editions/2/relations/articles', 0, 3)).toEqual([moved, ids[0], ids[1]]);
  });
});
