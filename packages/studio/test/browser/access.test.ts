/** The room Access in a browser: roles and what a change of them opens and closes, users, API tokens, administrators. */
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessible, oneDialect, settled, useStudio } from './studio.js';

describe.each(oneDialect)('access on %s', (dialect) => {
  const studio = useStudio(dialect);
  const asPublic = async (target: string, init?: RequestInit): Promise<number> =>
    (await fetch(studio.url + target, init)).status;
  const box = (page: Page, name: string) => page.getByRole('checkbox', { name, exact: true });
  const pending = (page: Page) => page.getByRole('region', { name: 'Unsaved changes' });
  const grid = (page: Page) => page.getByRole('region', { name: 'Permissions of each role' });

  it('says without an account what signing in would show', async () => {
    const nobody = await studio.visitor({ as: null });
    const page = await nobody.open('/access');
    await page.getByText('Sign in to manage roles').waitFor();
    await accessible(page);
  });

  it('shows what a change closes before it is saved, and then it is closed', async () => {
    const page = await studio.open('/access/roles');
    await box(page, 'Public: find of Author').waitFor();
    expect(await asPublic('/api/authors')).toBe(200);
    await page.getByRole('searchbox', { name: 'Find a content type or an action' }).fill('author find');
    await box(page, 'Public: find of Article').waitFor({ state: 'detached' });
    await box(page, 'Public: find of Author').uncheck();
    const text = await pending(page).innerText();
    expect(text).toContain('Public: revokes 1 permission');
    expect(text).toContain('GET /api/authors');
    expect(text).toContain('author of Article (Author)');
    expect(await asPublic('/api/authors')).toBe(200);
    await studio.keep(page, 'access-change');
    await accessible(page);
    await pending(page).getByRole('button', { name: 'Save' }).click();
    await pending(page).waitFor({ state: 'detached' });
    await expect.poll(() => asPublic('/api/authors')).toBe(403);
    await expect.poll(() => box(page, 'Public: find of Author').isChecked()).toBe(false);
  });

  it('is changed with the keyboard alone; a write for the public is warned of', async () => {
    const page = await studio.open('/access/roles');
    await box(page, 'Public: all actions of Category').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'Space']) await page.keyboard.press(key);
    await expect.poll(() => box(page, 'Public: create of Category').isChecked()).toBe(true);
    await expect.poll(() => pending(page).innerText()).toContain('Anyone who can reach this server');
    // there and back is no change
    await page.keyboard.press('Space');
    await pending(page).waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowLeft');
    const focused = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    expect(focused).toBe('Authenticated: create of Category');
  });

  it('keeps what somebody else has granted meanwhile', async () => {
    const page = await studio.open('/access/roles');
    await box(page, 'Public: delete of Category').check();
    studio.command('role', 'allow', 'public', 'api::ledger.ledger.create');
    await pending(page).getByRole('button', { name: 'Save' }).click();
    await pending(page).waitFor({ state: 'detached' });
    const listed = studio.command('role', 'list', 'public');
    expect(listed).toContain('api::category.category.delete');
    expect(listed).toContain('api::ledger.ledger.create');
    studio.command('role', 'deny', 'public', 'api::category.category.delete', 'api::ledger.ledger.create');
  });

  it('asks before changes are left', async () => {
    const page = await studio.open('/access/roles');
    await box(page, 'Public: create of Category').check();
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => box(page, 'Public: create of Category').isChecked()).toBe(true);
    await page.getByRole('link', { name: 'Users', exact: true }).click();
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await page.waitForURL('**/access/users');
  });

  it('creates, renames and deletes a role', async () => {
    const page = await studio.open('/access/roles');
    await page.getByRole('button', { name: 'New role' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Printers');
    await page.getByRole('dialog').getByRole('button', { name: 'Create role' }).click();
    // the focus is where it was
    const create = page.getByRole('button', { name: 'New role' });
    await expect.poll(() => create.evaluate((it) => it === document.activeElement)).toBe(true);
    await box(page, 'Printers: all actions of Article').waitFor();
    await page.getByRole('button', { name: 'Actions for the role Printers' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Press');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await box(page, 'Press: all actions of Article').check();
    await pending(page).getByRole('button', { name: 'Save' }).click();
    await pending(page).waitFor({ state: 'detached' });
    expect(studio.command('role', 'list', 'printers')).toContain('api::article.article.delete');
    await page.getByRole('button', { name: 'Actions for the role Press' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText('No user has this role').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'Delete role' }).click();
    await box(page, 'Press: all actions of Article').waitFor({ state: 'detached' });
    // the role public stays
    await page.getByRole('button', { name: 'Actions for the role Public' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByText('The role Public cannot be deleted').waitFor();
  });

  it('creates, finds, blocks and deletes a user', async () => {
    const page = await studio.open('/access/users');
    await page.getByText('No users yet').waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'New user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Username').fill('ben');
    await dialog.getByRole('textbox', { name: 'Email' }).fill('not an address');
    await dialog.getByRole('textbox', { name: 'Email' }).fill('ben@example.org');
    await dialog.locator('input[type=password]').fill('a long secret');
    await accessible(page);
    await dialog.getByRole('button', { name: 'Create user' }).click();
    const row = page.getByRole('row', { name: /ben@example.org/ });
    await row.waitFor();
    await expect.poll(() => row.innerText()).toContain('Authenticated');
    const login = (): Promise<number> =>
      asPublic('/api/auth/local', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ identifier: 'ben', password: 'a long secret' }),
      });
    expect(await login()).toBe(200);
    await row.getByRole('button', { name: 'Block ben' }).click();
    await row.getByRole('button', { name: 'Unblock ben' }).waitFor();
    expect(await login()).toBe(400);
    await studio.keep(page, 'access-users');
    await accessible(page);
    await page.getByRole('searchbox').fill('nobody');
    await page.getByText('No matching users').waitFor();
    await page.getByRole('searchbox').fill('BEN@');
    await row.waitFor();
    await row.getByRole('button', { name: 'Delete ben' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No matching users').waitFor();
  });

  it('shows what the server says of a user that it refuses', async () => {
    const page = await studio.open('/access/users');
    await page.getByRole('button', { name: 'New user' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Username').fill('x');
    await dialog.getByRole('textbox', { name: 'Email' }).fill('x@example.org');
    await dialog.locator('input[type=password]').fill('12');
    await dialog.getByRole('button', { name: 'Create user' }).click();
    await dialog.getByRole('alert').waitFor();
    await expect.poll(() => dialog.getByRole('alert').innerText()).toContain('username');
  });

  it('makes an API token, shows its key once, renews and revokes it', async () => {
    const page = await studio.open('/access/tokens');
    await page.getByText('No API tokens yet').waitFor();
    await page.getByRole('button', { name: 'New token' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('website');
    await dialog.getByRole('radio', { name: 'Custom' }).check();
    await expect.poll(() => dialog.getByRole('button', { name: 'Create token' }).isDisabled()).toBe(true);
    await dialog.getByRole('searchbox').fill('category');
    await box(page, 'This token: create of Category').check();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Create token' }).click();
    await page.getByText('This key is shown only once.').waitFor();
    const key = await page.getByRole('textbox', { name: 'Key' }).inputValue();
    await studio.keep(page, 'access-token');
    const create = (token: string): Promise<number> =>
      asPublic('/api/categories', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ data: { name: 'Weather' } }),
      });
    expect(await create(key)).toBe(200);
    await page.getByRole('button', { name: 'Done' }).click();
    // the focus is where one goes on
    const another = page.getByRole('button', { name: 'New token' });
    await expect.poll(() => another.evaluate((it) => it === document.activeElement)).toBe(true);
    expect(await page.content()).not.toContain(key);
    await page.getByRole('row', { name: /website Custom 1 permission/ }).waitFor();
    await accessible(page);
    await page.getByRole('button', { name: 'New key for website' }).click();
    await dialog.getByRole('button', { name: 'Create new key' }).click();
    const renewed = await page.getByRole('textbox', { name: 'Key' }).inputValue();
    expect(renewed).not.toBe(key);
    await page.getByRole('button', { name: 'Done' }).click();
    await expect.poll(() => create(key)).toBe(401);
    await page.getByRole('button', { name: 'Revoke website' }).click();
    await dialog.getByRole('button', { name: 'Revoke token' }).click();
    await page.getByText('No API tokens yet').waitFor();
    await expect.poll(() => create(renewed)).toBe(401);
  });

  it('invites an administrator by a link, changes, blocks and deletes them', async () => {
    const page = await studio.open('/access/administrators');
    await page.getByRole('row', { name: /Ann Editor you ann@example.org Super Admin active/ }).waitFor();
    await page.getByRole('button', { name: 'New administrator' }).click();
    const dialog = page.getByRole('dialog');
    for (const [name, value] of Object.entries({
      'First name': 'Cleo',
      'Last name': 'Press',
      Email: 'cleo@example.org',
    }))
      await dialog.getByRole('textbox', { name }).fill(value);
    await dialog.getByRole('checkbox', { name: 'Editor' }).check();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Create administrator' }).click();
    const link = await page.getByRole('textbox', { name: 'Link' }).inputValue();
    await page.getByRole('dialog', { name: 'Sign-up link for Cleo Press' }).waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: /Cleo Press cleo@example.org Editor inactive/ }).waitFor();

    const cleo = await studio.visitor({ as: null });
    const own = await cleo.open(new URL(link).href.replace(`${studio.url}/studio`, ''));
    await own.locator('input[type=password]').fill('Cleos long secret');
    await accessible(own);
    await own.getByRole('button', { name: 'Save and sign in' }).click();
    await own.getByRole('button', { name: /Cleo Press/ }).click();
    await own.getByRole('menuitem', { name: 'Your account' }).click();
    await own.getByRole('textbox', { name: 'Last name' }).fill('Print');
    await own.getByRole('button', { name: 'Save name' }).click();
    await own.getByRole('button', { name: /Cleo Print/ }).waitFor();
    await own.getByRole('textbox', { name: 'Current password' }).fill('not hers');
    await own.getByRole('textbox', { name: 'New password' }).fill('Cleos other secret');
    await own.getByRole('button', { name: 'Change password' }).click();
    await own.getByRole('alert').getByText('The provided current password is invalid').first().waitFor();
    await own.getByRole('textbox', { name: 'Current password' }).fill('Cleos long secret');
    await own.getByRole('button', { name: 'Change password' }).click();
    await own.getByText('Password changed.').waitFor();
    await studio.keep(own, 'account');
    await accessible(own);
    const login = (): Promise<number> =>
      asPublic('/admin/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: 'cleo@example.org', password: 'Cleos other secret' }),
      });
    expect(await login()).toBe(200);

    await page.reload();

    await settled(page);
    const row = page.getByRole('row', { name: /Cleo Print/ });
    await row.getByRole('button', { name: 'Edit Cleo Print' }).click();
    await dialog.getByRole('checkbox', { name: 'Author' }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /Cleo Print .* Editor, Author active/ }).waitFor();
    await row.getByRole('button', { name: 'Block Cleo Print' }).click();
    await page.getByRole('row', { name: /Cleo Print .* blocked/ }).waitFor();
    expect(await login()).toBe(400);
    await studio.keep(page, 'access-administrators');
    await accessible(page);
    await row.getByRole('button', { name: 'Delete Cleo Print' }).click();
    await dialog.getByRole('button', { name: 'Delete administrator' }).click();
    await row.waitFor({ state: 'detached' });
    // the focus is where one goes on
    const create = page.getByRole('button', { name: 'New administrator' });
    await expect.poll(() => create.evaluate((it) => it === document.activeElement)).toBe(true);
  });

  it('is read on a narrow screen, with the names of actions in sight', async () => {
    const narrow = await studio.visitor({ viewport: { width: 360, height: 740 } });
    const page = await narrow.open('/access/roles');
    await box(page, 'Public: find of Author').waitFor();
    await grid(page).evaluate((it) => {
      it.scrollLeft = 400;
    });
    const head = page.getByRole('rowheader', { name: /^find GET \/api\/authors/ });
    await head.scrollIntoViewIfNeeded();
    const { x } = (await head.boundingBox())!;
    expect(x).toBeGreaterThanOrEqual(0);
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await studio.keep(page, 'access-narrow');
    await accessible(page);
  });

  it('says what an administrator may not do, and why', async () => {
    const password = 'Eds-long-secret-1';
    const email = 'ed@example.org';
    studio.command(
      'admin',
      'create',
      '--email',
      email,
      '--password',
      password,
      '--firstname',
      'Ed',
      '--lastname',
      'Writer',
      '--role',
      'editor',
    );
    const ed = await studio.visitor({ as: { email, password } });
    const page = await ed.open('/access/roles');
    await page.getByText('You do not have permission to view roles.').waitFor();
    await page.goto('/studio/access/tokens');
    await settled(page);
    await page.getByText('You do not have permission to view API tokens.').waitFor();
    await page.goto('/studio/access/administrators');
    await settled(page);
    await page.getByText('You do not have permission to view administrators.').waitFor();
    await accessible(page);
    // nothing is asked for that would be refused
    const refused: string[] = [];
    page.on('response', (it) => {
      if (it.status() === 403) refused.push(it.url());
    });
    await page.getByRole('button', { name: /View as/ }).click();
    await page.getByRole('menuitem', { name: 'yourself' }).waitFor();
    await settled(page);
    expect(refused).toEqual([]);
  });

  it('a page that is refused says so under a heading', async () => {
    studio.command('role', 'deny', 'public', 'api::author.author.findOne');
    try {
      const { open } = await studio.visitor({ as: null });
      const page = await open('/content/authors/1');
      await page.getByRole('heading', { level: 1, name: 'Something went wrong' }).waitFor();
      await page.getByRole('alert').getByText('You do not have permission to do this.').waitFor();
      expect(await page.title()).toBe('Something went wrong · Dovetail');
      await accessible(page);
    } finally {
      studio.command('role', 'allow', 'public', 'api::author.author.findOne');
    }
  });
});
