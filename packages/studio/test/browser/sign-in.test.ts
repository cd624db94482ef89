/** Signing in and out, sessions that end, and the first administrator of a new project. */
import type { BrowserContext, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessible, ann, oneDialect, settled, useStudio } from './studio.js';

/** The server takes the cookie no longer, nor the token of the next request that matches. */
const endSession = async (context: BrowserContext, page: Page, url: string): Promise<void> => {
  await context.clearCookies();
  const error = { status: 401, name: 'UnauthorizedError', message: 'Missing or invalid credentials', details: {} };
  await page.route(url, (route) =>
    route.request().method() === 'GET' ? route.continue() : route.fulfill({ status: 401, json: { data: null, error } }),
  );
  // whoever signs in again is answered by the server
  page.on('response', (response) => {
    if (response.url().endsWith('/admin/login') && response.ok()) void page.unroute(url);
  });
};

describe.each(oneDialect)('signing in on %s', (dialect) => {
  const studio = useStudio(dialect);

  it('by e-mail and password leads back to where one was, survives a reload, and ends with signing out', async () => {
    const { open, context } = await studio.visitor({ as: null });
    const page = await open('/map?view=list');
    await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await accessible(page);
    await studio.keep(page, 'sign-in');
    await page.getByLabel('Email').fill(ann.email);
    await page.getByLabel(/^Password/).fill('not hers');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Invalid credentials').waitFor();
    await page.getByLabel(/^Password/).fill(ann.password);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/studio/map?view=list');
    await page.getByRole('button', { name: /Ann Editor/ }).waitFor();
    await page.reload();
    await settled(page);
    await page.getByRole('button', { name: /Ann Editor/ }).waitFor();

    // what survives is a cookie that scripts cannot read; nothing that opens anything is in storage
    const stored = await page.evaluate(() =>
      JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }]),
    );
    expect(stored).not.toMatch(/ey[\w-]+\.|dovetail_session/);
    const [cookie] = await context.cookies(`${studio.url}/admin`);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/admin' });

    await page.getByRole('button', { name: /Ann Editor/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).waitFor();
    await page.reload();
    await settled(page);
    await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await context.cookies(`${studio.url}/admin`)).toEqual([]);
  });

  it('lasts when the access token is no longer taken: it is replaced, and the request is sent again', async () => {
    const { open } = await studio.visitor();
    const page = await open('/map?view=list');
    await page.getByRole('button', { name: 'Edition' }).waitFor();
    let refused = 0;
    await page.route('**/admin/api-tokens', async (route) => {
      refused += 1;
      if (refused > 1) return route.continue();
      const error = { status: 401, name: 'UnauthorizedError', message: 'Missing or invalid credentials', details: {} };
      return route.fulfill({ status: 401, json: { data: null, error } });
    });
    await page.getByRole('button', { name: /View as/ }).click();
    await page.getByRole('menuitem', { name: 'public' }).waitFor();
    await expect.poll(() => refused).toBe(2);
    await page.getByRole('button', { name: /Ann Editor/ }).waitFor();
  });

  it('that ends while an entry is edited loses nothing: whoever signs in again goes on with all edits', async () => {
    const { open, context } = await studio.visitor();
    const page = await open('/content/authors/1');
    const box = (name: string) => page.getByRole('textbox', { name: new RegExp(`^${name}`) });
    await box('name').fill('Before the end');
    await endSession(context, page, '**/api/authors/1*');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    await accessible(page);
    await studio.keep(page, 'session-ended');
    await dialog.getByLabel(/^Password/).fill('not hers');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').getByText('Invalid credentials').waitFor();
    await page.keyboard.press('Escape');
    await dialog.getByLabel(/^Password/).fill(ann.password);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await box('bio').fill('After the end');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.').waitFor();
    const { body } = await studio.send('GET', '/api/authors/1?fields[0]=name&fields[1]=bio');
    expect(body).toMatchObject({ data: { attributes: { name: 'Before the end', bio: 'After the end' } } });
  });

  it('that ends keeps the edits of an entry for whoever leaves and signs in later', async () => {
    const { open, context } = await studio.visitor();
    const page = await open('/content/authors/2');
    const name = page.getByRole('textbox', { name: /^name/ });
    await name.fill('Before the end');
    await endSession(context, page, '**/api/authors/2*');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Leave without signing in' }).click();
    await page.getByRole('alert').getByText('You are no longer signed in. Sign in, then try again.').waitFor();
    await page.getByRole('banner').getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Leave and keep changes' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.getByLabel('Email').fill(ann.email);
    await page.getByLabel(/^Password/).fill(ann.password);
    await page.keyboard.press('Enter');
    await page.getByText('Your unsaved changes have been restored').waitFor();
    await expect.poll(() => name.inputValue()).toBe('Before the end');
  });

  it('that ends while a dialog or the texts of a file are filled in loses neither', async () => {
    const { open, context } = await studio.visitor();
    const signInAgain = async (page: Page): Promise<void> => {
      const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
      // it closes neither itself nor the dialog below it
      await page.keyboard.press('Escape');
      await dialog.getByLabel(/^Password/).fill(ann.password);
      await page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'detached' });
    };
    const users = await open('/access/users');
    await users.getByRole('button', { name: 'New user' }).click();
    const user = users.getByRole('dialog', { name: 'New user' });
    await user.getByLabel('Username').fill('wilma');
    await user.getByRole('textbox', { name: 'Email' }).fill('wilma@example.org');
    await user.getByLabel(/^Password/).fill('A-long-secret-1');
    await endSession(context, users, '**/api/users');
    await user.getByRole('button', { name: 'Create' }).click();
    await users.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await signInAgain(users);
    await user.getByRole('button', { name: 'Create' }).click();
    await users.getByRole('cell', { name: 'wilma@example.org' }).waitFor();

    const file = await open('/media/1');
    await file.getByLabel('Caption').fill('At low water');
    await endSession(context, file, '**/api/upload?id=1');
    await file.getByRole('button', { name: 'Save', exact: true }).click();
    await file.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await signInAgain(file);
    expect(await file.getByLabel('Caption').inputValue()).toBe('At low water');
    await file.getByRole('button', { name: 'Save', exact: true }).click();
    await file.getByRole('status').getByText('Saved').waitFor();
  });

  it('that ends by signing out in another tab shows nothing any more', async () => {
    const { open } = await studio.visitor();
    const page = await open('/access/users');
    const other = await open('/');
    await other.getByRole('button', { name: /Ann Editor/ }).click();
    await other.getByRole('menuitem', { name: 'Sign out' }).click();
    await other.getByRole('banner').getByRole('link', { name: 'Sign in' }).waitFor();
    await page.getByRole('link', { name: 'Administrators' }).click();
    await page.getByText('Sign in to manage roles').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('two tabs share it, also when both are reloaded at once', async () => {
    const { open } = await studio.visitor();
    const tabs = [await open('/'), await open('/map?view=list')];
    await Promise.all(tabs.map((it) => it.reload()));
    for (const it of tabs) await it.getByRole('button', { name: /Ann Editor/ }).waitFor();
  });

  it('lets one look as a role: what the map shows is what the role may', async () => {
    const page = await studio.open('/map?type=api::edition.edition');
    const panel = page.getByRole('region', { name: 'Edition' });
    await panel.getByRole('heading', { name: 'Your permissions' }).waitFor();
    await panel.getByText('delete', { exact: true }).waitFor();
    await page.getByRole('button', { name: /View as/ }).click();
    await page.getByRole('menuitem', { name: 'public' }).click();
    await panel.getByRole('heading', { name: 'Permissions of public' }).waitFor();
    await panel.getByText('delete', { exact: true }).waitFor({ state: 'detached' });
    await accessible(page);
    await studio.keep(page, 'map-as-public');
  });
});

describe.each(oneDialect)('a new project on %s', (dialect) => {
  const studio = useStudio(dialect, { hasAdministrator: false, env: { LOG_LEVEL: 'info' } });

  it('gets its first administrator by the link that the server prints', async () => {
    const [, key] = await studio.said(/\/studio\/welcome#([\w-]+)/);
    const { open } = await studio.visitor({ as: null });
    const start = await open('/');
    await start.getByRole('heading', { name: 'Create an account to edit content' }).waitFor();
    await accessible(start);
    // with the comma that follows it in the log, as terminals open it
    const page = await open(`/welcome#${key},`);
    await page.getByLabel('First name').fill('Bo');
    await page.getByLabel('Last name').fill('First');
    await page.getByLabel('Email').fill('bo@example.org');
    await page.getByLabel(/^Password/).fill('short');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page
      .getByRole('alert')
      .getByText(/^password must/)
      .first()
      .waitFor();
    await accessible(page);
    await studio.keep(page, 'welcome');
    await page.getByLabel(/^Password/).fill('Long enough 1');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('button', { name: /Bo First/ }).waitFor();
    expect(page.url()).not.toContain(key);

    // the link works once
    const again = await (await studio.visitor({ as: null })).open(`/welcome#${key}`);
    await again.getByText('This server already has an administrator.').waitFor();
  });
});
