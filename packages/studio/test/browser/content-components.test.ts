/** Components and zones in forms: added, moved, copied, removed, and changed in place. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { addSpecimen } from './specimen.js';
import { accessible, drag, oneDialect, type Studio, says, settled, tall, useStudio } from './studio.js';

interface Tag {
  readonly id: number;
  readonly label: string;
}
interface Stored {
  readonly group: { readonly id: number; readonly title: string; readonly tags: readonly Tag[] } | null;
  readonly tags: readonly Tag[];
  readonly bands: readonly { readonly id: number; readonly __component: string; readonly text?: string }[];
}

const stored = async (studio: Studio, id: number): Promise<Stored> => {
  const query =
    'populate[group][populate]=tags&populate[tags]=true&populate[bands][populate]=*&publicationState=preview';
  const { body } = await studio.send('GET', `/api/specimens/${id}?${query}`);
  return (body as { data: { attributes: Stored } }).data.attributes;
};

const make = async (studio: Studio, data: object): Promise<number> => {
  const { status, body } = await studio.send('POST', '/api/specimens', { data: { publishedAt: null, ...data } });
  expect(status, JSON.stringify(body)).toBe(200);
  return (body as { data: { id: number } }).data.id;
};

const open = async (studio: Pick<Studio, 'open'>, id: number): Promise<Page> => {
  const page = await studio.open(`/content/specimens/${id}`);
  await page.getByRole('textbox', { name: 'name', exact: true }).waitFor();
  return page;
};

const save = async (page: Page): Promise<unknown> => {
  const answer = page.waitForResponse((it) => it.request().method() === 'PUT');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const response = await answer;
  expect(response.status(), await response.text()).toBe(200);
  return response.request().postDataJSON();
};

const labels = (tags: readonly Tag[]): readonly string[] => tags.map(({ label }) => label);

describe.each(oneDialect)('components on %s', (dialect) => {
  const studio = useStudio(dialect, { prepare: addSpecimen });

  it('opens a component in place, adds to a list inside it, and changes stored ones in place', async () => {
    const id = await make(studio, { name: 'One', group: { title: 'g', tags: [{ label: 'a' }] } });
    const before = await stored(studio, id);
    const page = await open(studio, id);
    const group = page.getByRole('list', { name: 'group' });
    await group.getByRole('textbox', { name: 'title' }).fill('group');
    await group.getByRole('button', { name: 'Add to tags' }).click();
    await group.getByRole('textbox', { name: 'label' }).nth(1).fill('b');
    expect(await save(page)).toEqual({
      data: {
        group: { id: before.group?.id, title: 'group', tags: [{ id: before.group?.tags[0]?.id }, { label: 'b' }] },
      },
    });
    const after = await stored(studio, id);
    expect(after.group).toMatchObject({ id: before.group?.id, title: 'group' });
    expect(labels(after.group?.tags ?? [])).toEqual(['a', 'b']);
  });

  it('moves by keys and by the menu, duplicates and removes, and says where a component is now', async () => {
    const id = await make(studio, { name: 'Two', tags: ['a', 'b', 'c', 'd'].map((label) => ({ label })) });
    const before = await stored(studio, id);
    const page = await open(studio, id);
    const list = page.getByRole('list', { name: 'tags' });
    const handle = list.getByRole('button', { name: /^Move Tag: d/ });
    await handle.focus();
    await page.keyboard.press('Alt+ArrowUp');
    await page.getByText('Now at position 3 of 4').waitFor();
    await page.keyboard.press('Alt+ArrowUp');
    await page.getByText('Now at position 2 of 4').waitFor();
    await list.getByRole('button', { name: 'Actions for Tag: a' }).click();
    await page.getByRole('menuitem', { name: 'Duplicate' }).click();
    await list.getByRole('textbox', { name: 'label' }).fill('a2');
    await list.getByRole('button', { name: 'Actions for Tag: c' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await list.getByRole('button', { name: 'Tag c' }).waitFor({ state: 'detached' });
    await accessible(page);
    await studio.keep(page, 'content-components');
    await save(page);
    const after = await stored(studio, id);
    expect(labels(after.tags)).toEqual(['a', 'a2', 'd', 'b']);
    // those that stayed are the same components
    const idOf = (label: string) => before.tags.find((it) => it.label === label)?.id;
    expect(after.tags.filter((it) => it.label !== 'a2').map((it) => it.id)).toEqual(['a', 'd', 'b'].map(idOf));
  });

  it('moves by dragging, with the mouse and with the space bar', async () => {
    const id = await make(studio, { name: 'Three', tags: ['a', 'b', 'c', 'd'].map((label) => ({ label })) });
    const page = await open(await studio.visitor(tall), id);
    const list = page.getByRole('list', { name: 'tags' });
    const handle = (label: string) => list.getByRole('button', { name: new RegExp(`^Move Tag: ${label}`) });
    const titles = async () =>
      (await list.getByRole('button', { name: /^Tag / }).allInnerTexts()).map((it) => it.trim().at(-1));
    await drag(handle('a'), handle('c'), '3 of 4');
    await expect.poll(titles).toEqual(['b', 'c', 'a', 'd']);
    await handle('d').focus();
    await page.keyboard.press('Space');
    await says(page, '^Picked up Tag: d, at position 4 of 4$');
    // dnd-kit listens to other keys a little later
    await settled(page);
    await page.keyboard.press('ArrowUp');
    await says(page, '^Over position 3 of 4$');
    await page.keyboard.press('Space');
    await says(page, '^Dropped Tag: d at position 3 of 4$');
    await expect.poll(titles).toEqual(['b', 'c', 'd', 'a']);
    await handle('b').focus();
    await page.keyboard.press('Space');
    await says(page, '^Picked up Tag: b, at position 1 of 4$');
    await settled(page);
    await page.keyboard.press('ArrowDown');
    await says(page, '^Over position 2 of 4$');
    await page.keyboard.press('Escape');
    await says(page, '^Move cancelled: Tag: b is at position 1 of 4$');
    await save(page);
    expect(labels((await stored(studio, id)).tags)).toEqual(['b', 'c', 'd', 'a']);
  });

  it('adds to a zone by category, moves and removes there', async () => {
    const id = await make(studio, { name: 'Four', bands: [{ __component: 'bands.remark', text: 'first' }] });
    const page = await open(studio, id);
    const zone = page.getByRole('list', { name: 'bands' });
    await page.getByRole('button', { name: 'Add to bands' }).click();
    await page.getByText('parts', { exact: true }).waitFor();
    await accessible(page);
    await page.getByRole('menuitem', { name: 'Group' }).click();
    // its first field has the focus
    const title = zone.getByRole('textbox', { name: 'title' });
    await expect.poll(() => title.evaluate((it) => it === document.activeElement)).toBe(true);
    await title.fill('second');
    await page.getByRole('button', { name: 'Add to bands' }).click();
    await page.getByRole('menuitem', { name: 'Remark' }).click();
    await zone.getByRole('textbox', { name: 'text' }).nth(1).fill('third');
    await zone.getByRole('button', { name: 'Actions for Remark: third' }).click();
    await page.getByRole('menuitem', { name: 'Move up' }).click();
    await save(page);
    const { bands } = await stored(studio, id);
    expect(bands.map((it) => it.__component)).toEqual(['bands.remark', 'bands.remark', 'parts.group']);
    expect(bands.map((it) => it.text ?? null)).toEqual(['first', 'third', null]);
    await page.getByRole('button', { name: 'Actions for Remark: first' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await save(page);
    expect((await stored(studio, id)).bands.map((it) => it.text ?? null)).toEqual(['third', null]);
  });

  it('takes a component away, and puts one back', async () => {
    const id = await make(studio, { name: 'Five', group: { title: 'old' } });
    const page = await open(studio, id);
    await page.getByRole('button', { name: 'Remove Group: old' }).click();
    expect(await save(page)).toEqual({ data: { group: null } });
    expect((await stored(studio, id)).group).toBeNull();
    await page.getByRole('button', { name: 'Add to group' }).click();
    await page.getByRole('list', { name: 'group' }).getByRole('textbox', { name: 'title' }).fill('new');
    await save(page);
    expect((await stored(studio, id)).group).toMatchObject({ title: 'new' });
  });

  it('stays quick with 200 components: a letter draws only what it changes', async () => {
    const tags = Array.from({ length: 200 }, (_, i) => ({ label: `t${i}`, weight: i }));
    const id = await make(studio, { name: 'Many', tags });
    const page = await open(studio, id);
    await page.getByText('200 components').waitFor();
    const list = page.getByRole('list', { name: 'tags' });
    const label = list.getByRole('textbox', { name: 'label' });
    // the page still scrolls when the first click falls
    await expect
      .poll(async () => {
        if (!(await label.isVisible())) await list.getByRole('button', { name: 'Tag t150', exact: true }).click();
        return label.isVisible();
      })
      .toBe(true);
    // the nodes of other components that a letter changes
    await page.evaluate(() => {
      const watched = globalThis as unknown as { changed: number };
      watched.changed = 0;
      const items = [...document.querySelectorAll('li')].filter((it) => !it.textContent?.includes('t150'));
      const observer = new MutationObserver((records) => {
        watched.changed += records.length;
      });
      for (const item of items)
        observer.observe(item, { subtree: true, childList: true, attributes: true, characterData: true });
    });
    await label.fill('changed');
    await list.getByRole('button', { name: 'Tag changed', exact: true }).waitFor();
    expect(await page.evaluate(() => (globalThis as unknown as { changed: number }).changed)).toBe(0);
    await save(page);
    expect(labels((await stored(studio, id)).tags)[150]).toBe('changed');
  });
});
