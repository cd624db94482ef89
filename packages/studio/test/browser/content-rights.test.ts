/** What administrators see of content of which they may do little: nothing that the server would refuse. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { queryOf } from '../../../server/test/world/databases.js';
import { addExhibits } from './exhibits.js';
import { accessible, oneDialect, type Person, settled, useStudio } from './studio.js';

interface Permission {
  readonly action: 'read' | 'create' | 'update' | 'delete' | 'publish';
  readonly own?: true;
  readonly locales?: readonly string[];
  readonly fields?: readonly string[];
  /** Of the type; articles by default. */
  readonly subject?: string;
}

const exhibit = { subject: 'api::exhibit.exhibit', fields: ['name', 'about', 'things', 'author', 'shelves'] };

const roles = {
  writer: [
    { action: 'read' },
    { action: 'create' },
    { action: 'update', own: true },
    { action: 'delete', own: true },
    { action: 'publish', own: true },
  ],
  translator: [{ action: 'read' }, { action: 'create', locales: ['de'] }, { action: 'update', locales: ['de'] }],
  starter: [{ action: 'read' }, { action: 'create' }],
  titler: [{ action: 'read' }, { action: 'create' }, { action: 'update', fields: ['title'] }],
  publisher: [{ action: 'read' }, { action: 'publish' }],
  cleaner: [{ action: 'read' }, { action: 'publish' }, { action: 'delete' }],
  setter: [
    { action: 'read', ...exhibit },
    { action: 'create', ...exhibit, fields: ['name', 'shelves.label'] },
    { action: 'update', ...exhibit, fields: ['name', 'shelves.articles'] },
    { action: 'read' },
  ],
  namer: [{ action: 'read', ...exhibit }, { action: 'update', ...exhibit, fields: ['name'] }, { action: 'read' }],
  keeper: [
    { action: 'read', ...exhibit },
    { action: 'update', ...exhibit },
    { action: 'read', subject: 'api::category.category', fields: ['name'] },
    { action: 'read', subject: 'api::author.author', fields: ['name'], own: true },
  ],
} as const satisfies Readonly<Record<string, readonly Permission[]>>;
type Name = keyof typeof roles;
const names = Object.keys(roles) as readonly Name[];
const personOf = (name: Name): Person => ({ email: `${name}@example.org`, password: 'A-long-secret-1' });

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const refusal = 'You have permission to view this entry, but not to edit it.';

describe.each(oneDialect)('few permissions on %s', (dialect) => {
  const studio = useStudio(dialect, { prepare: addExhibits });

  const run = (text: string) => queryOf({ db: { dialect: { name: dialect } }, env: studio.env }, text);
  const next = async (table: string): Promise<number> =>
    Number((await run(`select max(id) as id from ${table}`))[0]!['id']) + 1;
  const addRole = async (name: Name): Promise<void> => {
    const role = await next('admin_roles');
    await run(`insert into admin_roles (id, name, code) values (${role}, '${name}', '${name}')`);
    for (const {
      action,
      own,
      locales = null,
      fields = ['title', 'related'],
      subject = 'api::article.article',
    } of roles[name] as readonly Permission[]) {
      const id = await next('admin_permissions');
      const properties = JSON.stringify({ fields, locales });
      await run(`insert into admin_permissions (id, action, subject, properties, conditions) values
        (${id}, 'plugin::content-manager.explorer.${action}', '${subject}', '${properties}',
        '${own ? '["admin::is-creator"]' : '[]'}')`);
      await run(`insert into admin_permissions_role_links (permission_id, role_id, permission_order)
        values (${id}, ${role}, 1)`);
    }
  };
  /** An address in the browser of somebody with this role. */
  const open = async (name: Name, address: string): Promise<Page> =>
    (await studio.visitor({ as: personOf(name) })).open(address);

  // all at once: the server keeps what it has read of roles for a moment
  beforeAll(async () => {
    for (const name of names) await addRole(name);
    for (const name of names) {
      const { email, password } = personOf(name);
      const own = ['--email', email, '--password', password, '--firstname', name, '--lastname', 'Writer'];
      studio.command('admin', 'create', ...own, '--role', name);
    }
  });

  it('an entry that is not their own is only shown to those who may change their own', async () => {
    const page = await open('writer', '/content/articles/1');
    await page.getByText(refusal).waitFor();
    for (const name of ['Save', 'Publish', 'Discard']) expect(await button(page, name).count()).toBe(0);
    const title = page.getByRole('textbox', { name: 'title', exact: true });
    expect(await title.getAttribute('readonly')).not.toBeNull();
    await accessible(page);
    await button(page, 'More actions').click();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Duplicate']);

    await page.goto('/studio/content/articles/new');
    await title.fill('Their own');
    await button(page, 'Publish').click();
    await page.waitForURL(/articles\/\d+$/);
    await title.fill('Their own, changed');
    await button(page, 'Save').click();
    await page.getByText(/^Saved\./).waitFor();
    await button(page, 'More actions').click();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Unpublish', 'Duplicate', 'Delete']);
  });

  it('an entry in a locale that they may not change leads to the one in theirs', async () => {
    const data = { title: 'Nur auf Deutsch', locale: 'de' };
    const { status } = await studio.send('POST', '/api/articles/2/localizations', data);
    expect(status).toBe(200);
    const page = await open('translator', '/content/articles/2');
    await page.getByText(refusal).waitFor();
    // a copy would be in its locale
    for (const name of ['Save', 'More actions']) expect(await button(page, name).count()).toBe(0);
    await page.getByRole('button', { name: /^English/ }).click();
    await page.getByRole('menuitem', { name: /^German/ }).click();
    await button(page, 'Save').waitFor();
    await button(page, 'More actions').waitFor();
    // no entry of theirs can be added in English
    const given = { data: { title: 'Sonst nirgends', locale: 'de' } };
    const { data: german } = (await studio.send('POST', '/api/articles', given)).body as { data: { id: number } };
    await page.goto(`/studio/content/articles/${german.id}`);
    await page.getByRole('button', { name: /^German/ }).click();
    await page.getByRole('menuitem').first().waitFor();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['This entry is in no other locale']);
    await page.goto('/studio/content/articles?locale=en');
    await page.getByRole('link', { name: /^2: / }).waitFor();
    expect(await page.getByRole('link', { name: 'New Article' }).count()).toBe(0);
    await page.goto('/studio/content/articles?locale=de');
    await page.getByRole('link', { name: 'New Article' }).waitFor();
  });

  it('the page of a list is only shown to those who may create entries, but not change them', async () => {
    const page = await open('starter', '/content/articles/1/related');
    await page.getByText(refusal).waitFor();
    // a copy is theirs to create
    await button(page, 'More actions').waitFor();
    expect(await page.getByRole('combobox', { name: 'Add Article' }).count()).toBe(0);
    expect(await button(page, 'Save').count()).toBe(0);
  });

  it('what may be set in a new entry only is shown in others', async () => {
    const page = await open('titler', '/content/articles/new');
    const add = page.getByRole('combobox', { name: 'Add Article' });
    await add.waitFor();
    await page.goto('/studio/content/articles/1');
    await button(page, 'Save').waitFor();
    await settled(page);
    expect(await page.getByRole('textbox', { name: 'title', exact: true }).getAttribute('readonly')).toBeNull();
    expect(await add.count()).toBe(0);
    await page.goto('/studio/content/articles/1/related');
    await button(page, 'Save').waitFor();
    await settled(page);
    expect(await add.count()).toBe(0);
  });

  it('entries are chosen in a list only for what can be done with them', async () => {
    const page = await open('publisher', '/content/articles');
    await page.getByRole('link', { name: /^1: / }).waitFor();
    // publishing is a change
    expect(await page.getByRole('checkbox').count()).toBe(0);

    const other = await open('cleaner', '/content/articles');
    await other.getByRole('checkbox', { name: 'Select Slack Water' }).check();
    await settled(other);
    const bar = other.getByRole('region', { name: 'Actions for the selected entries' });
    expect(await bar.getByRole('button').allInnerTexts()).toEqual(['Delete', 'Clear selection']);
  });

  it('what may be done to their own entries only is offered for those', async () => {
    const page = await open('writer', '/content/articles/new');
    await page.getByRole('textbox', { name: 'title', exact: true }).fill('Of their own');
    await button(page, 'Publish').click();
    await page.waitForURL(/articles\/\d+$/);
    await page.goto('/studio/content/articles?sort=id:desc');
    const boxOf = (name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true });
    await boxOf('Of their own').waitFor();
    await boxOf('Slack Water').and(page.locator(':disabled')).waitFor();
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check();
    await settled(page);
    const bar = page.getByRole('region', { name: 'Actions for the selected entries' });
    const own = await page.getByRole('checkbox', { name: /own/ }).count();
    await bar.getByText(`${own} selected`).waitFor();
    await accessible(page);
    await bar.getByRole('button', { name: 'Unpublish' }).click();
    await bar.waitFor({ state: 'detached' });
    await page.getByRole('row').filter({ hasText: 'Of their own' }).getByText('Draft').waitFor();
  });

  it('inside of components what may be set depends on whether the entry is new, and a component that is locked is locked whole', async () => {
    const page = await open('setter', '/content/exhibits/new');
    await page.getByRole('textbox', { name: 'name', exact: true }).fill('Set');
    const label = page.getByRole('textbox', { name: 'label', exact: true });
    const add = page.getByRole('combobox', { name: 'Add Article' });
    const isOpen = async (): Promise<readonly [boolean, boolean]> => {
      await settled(page);
      return [(await label.getAttribute('readonly')) === null, (await add.count()) === 1];
    };
    await button(page, 'Add to shelves').click();
    expect(await isOpen()).toEqual([true, false]);
    await label.fill('High');
    await button(page, 'Save').click();
    await page.waitForURL(/exhibits\/\d+$/);
    await label.waitFor();
    await expect.poll(isOpen).toEqual([false, true]);
    await add.fill('Slack');
    await page.getByRole('option', { name: /Slack Water/ }).click();
    await button(page, 'Save').click();
    await page.getByText(/^Saved\./).waitFor();
    // the list has a page of its own
    const id = page.url().split('/').at(-1);
    const { body } = await studio.send('GET', `/api/exhibits/${id}?populate=shelves`);
    const [shelf] = (body as { data: { attributes: { shelves: { id: number }[] } } }).data.attributes.shelves;
    const listPage = `/content/exhibits/${id}/shelves/parts.shelf:${shelf!.id}/articles`;
    await page.goto(`/studio${listPage}`);
    await add.waitFor();

    const other = await open('namer', `/content/exhibits/${id}`);
    await button(other, 'Save').waitFor();
    await settled(other);
    expect(await other.getByRole('textbox', { name: 'name', exact: true }).getAttribute('readonly')).toBeNull();
    expect(await other.getByRole('textbox', { name: 'label', exact: true }).getAttribute('readonly')).not.toBeNull();
    expect(await other.getByRole('combobox', { name: 'Add Article' }).count()).toBe(0);
    await studio.keep(other, 'content-locked-component');
    await other.goto(`/studio${listPage}`);
    await other.getByText('1 entry').waitFor();
    expect(await other.getByRole('combobox', { name: 'Add Article' }).count()).toBe(0);
  });

  it('a relation that holds an entry which they may not see says so, and keeps it', async () => {
    const author = { id: 1, __type: 'api::author.author' };
    const category = { id: 1, __type: 'api::category.category' };
    const held = { about: author, things: [author, category] };
    const data = { name: 'Kept', author: 1, ...held, shelves: [{ label: 'Low', subject: author }] };
    const made = await studio.send('POST', '/api/exhibits', { data });
    const { id } = (made.body as { data: { id: number } }).data;
    const stored = async () => {
      const query = 'populate[about][fields]=id&populate[things][fields]=id&populate[author][fields]=id';
      const { body } = await studio.send(
        'GET',
        `/api/exhibits/${id}?${query}&populate[shelves][populate][subject][fields]=id`,
      );
      return (body as { data: { attributes: object } }).data.attributes;
    };

    const page = await open('keeper', `/content/exhibits/${id}`);
    const one = 'Holds an entry that you do not have permission to view. It is kept unless you choose another one.';
    // about, author, and subject of the shelf
    await expect.poll(() => page.getByText(one).count()).toBe(3);
    const about = page.getByRole('group', { name: 'about', exact: true });
    const things = page.getByRole('group', { name: 'things', exact: true });
    await things.getByText('Also holds entries that you do not have permission to view.').waitFor();
    expect(await page.getByText('None', { exact: true }).count()).toBe(0);
    await accessible(page);
    await studio.keep(page, 'content-unseen');
    await page.getByRole('textbox', { name: 'name', exact: true }).fill('Kept, renamed');
    await page.getByRole('textbox', { name: 'label', exact: true }).fill('Lower');
    await things.getByRole('button', { name: /^Remove/ }).click();
    await button(page, 'Save').click();
    await page.getByText(/^Saved\./).waitFor();
    expect(await stored()).toMatchObject({
      name: 'Kept, renamed',
      about: author,
      things: [author],
      author: { data: { id: 1 } },
      shelves: [{ label: 'Lower', subject: author }],
    });
    await things.getByText('Holds entries that you do not have permission to view. They are kept.').waitFor();

    // a relation of which nobody knows does not seem to be empty
    const asked = '**/_dovetail/entries/**/unseen';
    await page.route(asked, (route) => route.fulfill({ status: 400, json: { data: null, error: { status: 400 } } }));
    await page.reload();
    const unknown = 'It could not be checked whether it holds entries that you do not have permission to view.';
    await about.getByText(unknown).waitFor();
    await page.unroute(asked);
    await page.reload();

    // only another entry takes its place
    const replaced = 'Saving replaces an entry that you do not have permission to view.';
    const choose = async (): Promise<void> => {
      await about.getByRole('combobox', { name: 'Add an entry' }).fill('Mak');
      await page.getByRole('option', { name: 'Making' }).click();
    };
    await about.getByRole('combobox', { name: 'Content type' }).click();
    await page.getByRole('option', { name: 'Category', exact: true }).click();
    await choose();
    await about.getByText(replaced).waitFor();
    await about.getByRole('button', { name: 'Remove Making' }).click();
    await about.getByText(one).waitFor();
    expect(await page.getByText(replaced).count()).toBe(0);
    await choose();
    await button(page, 'Save').click();
    await page.getByText(/^Saved\./).waitFor();
    expect(await stored()).toMatchObject({ about: category, things: [author] });
    await expect.poll(() => page.getByText(one).count()).toBe(2);
    expect(await page.getByText(replaced).count()).toBe(0);
  });
});
