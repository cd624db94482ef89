/** The media library in a browser: folders, uploads by picker and drop, a file's page, selection by keyboard, many files. */
import fs from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { accessible, hold, oneDialect, settled, useStudio } from './studio.js';

const picture = fs.readFileSync(
  path.join(import.meta.dirname, '../../../../examples/magazine/public/uploads/workbench_640461831c.png'),
);
const png = (name: string) => ({ name, mimeType: 'image/png', buffer: picture });
const text = (name: string, content = 'open from nine') => ({
  name,
  mimeType: 'text/plain',
  buffer: Buffer.from(content),
});

describe.each(oneDialect)('media on %s', (dialect) => {
  const studio = useStudio(dialect);
  const tile = (page: Page, name: string) => page.getByRole('list', { name: 'Files' }).getByRole('link', { name });
  const upload = (page: Page, files: Parameters<ReturnType<Page['locator']>['setInputFiles']>[0]) =>
    page.locator('input[type=file]').first().setInputFiles(files);
  const fileNamed = async (name: string) => {
    const query = `filters[name]=${encodeURIComponent(name)}&populate=folder`;
    const [file] = (await studio.send('GET', `/api/upload/files?${query}`)).body as Record<string, unknown>[];
    return file;
  };

  it('says without an account what signing in would show', async () => {
    const nobody = await studio.visitor({ as: null });
    const page = await nobody.open('/media');
    await page.getByText('Sign in to see the media library').waitFor();
    await accessible(page);
  });

  it('shows what there is, finds by text in all folders, and by kind', async () => {
    const page = await studio.open('/media');
    await tile(page, 'workbench.png').waitFor();
    await page.getByText('1–17 of 17').waitFor();
    await studio.keep(page, 'media');
    await accessible(page);
    await page.getByRole('searchbox', { name: 'Search files' }).fill('PORTRAIT');
    await page.getByText('1–5 of 5').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toContain('PORTRAIT');
    await page.getByRole('searchbox', { name: 'Search files' }).fill('nothing like it');
    await page.getByText('No files match').waitFor();
    await page.getByRole('main').getByRole('button', { name: 'Clear search' }).last().click();
    await page.getByRole('combobox', { name: 'Type' }).selectOption('Videos');
    await page.getByText('No files of the type “Videos” here').waitFor();
    await page.getByRole('button', { name: 'Show all types' }).click();
    await page.locator('label', { hasText: 'List' }).click();
    await page.getByRole('columnheader', { name: 'Dimensions' }).waitFor();
    await accessible(page);
    // the address holds the view
    await page.reload();
    await settled(page);
    await page.getByRole('columnheader', { name: 'Dimensions' }).waitFor();
  });

  it('has folders: created inside of each other, renamed, moved, and deleted when empty', async () => {
    const page = await studio.open('/media');
    const dialog = page.getByRole('dialog');
    const create = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: 'New folder' }).click();
      await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
      await dialog.getByRole('button', { name: 'New folder' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    const tree = page.getByRole('navigation', { name: 'Folders' });
    await create('Harbours');
    await tree.getByRole('link', { name: 'Harbours' }).click();
    await page.getByText('This folder is empty').waitFor();
    await create('Winter');
    await tree.getByRole('link', { name: 'Winter' }).click();
    await page.getByRole('navigation', { name: 'Folder', exact: true }).getByText('Winter').waitFor();
    const act = async (name: string, what: string): Promise<void> => {
      await page.getByRole('button', { name: `Actions for the folder ${name}` }).click();
      await page.getByRole('menuitem', { name: what }).click();
      await dialog.waitFor();
    };
    await act('Winter', 'Rename');
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Winter 2026');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await tree.getByRole('link', { name: 'Winter 2026' }).waitFor();
    await expect
      .poll(() => tree.locator('[aria-current=page]').allInnerTexts())
      .toEqual([expect.stringContaining('Winter 2026')]);
    await upload(page, [text('hours.txt')]);
    await tile(page, 'hours.txt').waitFor();
    expect(await fileNamed('hours.txt')).toMatchObject({ folder: { name: 'Winter 2026' } });
    // not empty: nothing to confirm
    await act('Winter 2026', 'Delete folder');
    await dialog.getByText('It contains 1 file.').waitFor();
    expect(await dialog.getByRole('button', { name: 'Delete folder' }).count()).toBe(0);
    await accessible(page);
    await page.keyboard.press('Escape');
    await act('Winter 2026', 'Move');
    await dialog
      .getByRole('textbox', { name: 'To' })
      .or(dialog.getByRole('combobox', { name: 'To' }))
      .click();
    await page.getByRole('option', { name: 'All media' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const folders = (
      (await studio.send('GET', '/_dovetail/folders')).body as { data: { name: string; parent: number | null }[] }
    ).data;
    expect(folders.find((it) => it.name === 'Winter 2026')).toMatchObject({ parent: null, files: 1 });
    await studio.keep(page, 'media-folder');
    await tree.getByRole('link', { name: 'Harbours' }).click();
    await act('Harbours', 'Delete folder');
    await dialog.getByRole('button', { name: 'Delete folder' }).click();
    await tree.getByRole('link', { name: 'Harbours' }).waitFor({ state: 'detached' });
    await tile(page, 'workbench.png').waitFor();
  });

  it('what is being done to folders is not cancelled: its dialog stays until the answer comes', async () => {
    const { body } = await studio.send('POST', '/_dovetail/folders', { name: 'Held' });
    const page = await studio.open(`/media?folder=${(body as { data: { id: number } }).data.id}`);
    const dialog = page.getByRole('dialog');
    const act = async (what: string, action: string, method: string): Promise<void> => {
      const request = await hold(page, method, '**/_dovetail/folders/*');
      await page.getByRole('button', { name: /^Actions for the folder/ }).click();
      await page.getByRole('menuitem', { name: what }).click();
      if (what === 'Rename') await dialog.getByRole('textbox', { name: 'Name' }).fill('Kept');
      await dialog.getByRole('button', { name: action }).click();
      await expect.poll(() => request.count()).toBe(1);
      await page.keyboard.press('Escape');
      expect(await dialog.getByRole('button', { name: 'Cancel' }).isDisabled()).toBe(true);
      expect(await dialog.getByRole('button', { name: 'Close' }).isDisabled()).toBe(true);
      request.release();
      await dialog.waitFor({ state: 'detached' });
    };
    await act('Rename', 'Save', 'PUT');
    await page.getByRole('navigation', { name: 'Folder', exact: true }).getByText('Kept').waitFor();
    await act('Delete folder', 'Delete folder', 'DELETE');
    await tile(page, 'workbench.png').waitFor();
  });

  it('a search that is cleared while it is typed is not made', async () => {
    const page = await studio.open('/media');
    const search = page.getByRole('searchbox', { name: 'Search files' });
    const clear = page.getByRole('main').getByRole('button', { name: 'Clear search' });
    await page.clock.install();
    // beside the field, and where nothing was found
    for (const which of [clear.first(), clear.last()]) {
      await search.fill('nothing like it');
      await page.getByText('No files match').waitFor();
      await page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000));
      await search.fill('nothing like it, too');
      await which.click();
      await page.clock.fastForward(1000);
      await page.clock.resume();
      await settled(page);
      expect(await search.inputValue()).toBe('');
      await tile(page, 'workbench.png').waitFor();
    }
  });

  it('stores what is chosen and what is dropped, with the progress of each; one can be cancelled and sent again', async () => {
    const page = await studio.open('/media');
    await tile(page, 'workbench.png').waitFor();
    const panel = page.getByRole('region', { name: 'Uploads' });
    // the first request waits, so that there is something to cancel
    const first = await hold(page, 'POST', '**/api/upload');
    await upload(page, [png('one.png'), png('two.png'), png('three.png')]);
    await panel.getByText('0 of 3 files uploaded').waitFor();
    await panel.getByRole('button', { name: 'Cancel one.png' }).click();
    await panel.getByText('Cancelled', { exact: true }).waitFor();
    await studio.keep(page, 'media-uploads');
    await accessible(page);
    first.release();
    await panel.getByText('2 of 3 files uploaded, 1 cancelled').waitFor();
    await page.unroute('**/api/upload');
    await panel.getByRole('button', { name: 'Retry one.png' }).click();
    await panel.getByText('3 of 3 files uploaded').waitFor();
    await tile(page, 'one.png').waitFor();
    await panel.getByRole('button', { name: 'Close' }).click();
    expect(await fileNamed('two.png')).toMatchObject({ width: 1000, folder: null });
    // dropped
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['dropped'], 'dropped.txt', { type: 'text/plain' }));
      return transfer;
    });
    const target = page.getByRole('list', { name: 'Files' });
    await target.dispatchEvent('dragenter', { dataTransfer: data });
    await page.getByText('Drop to upload to All media').waitFor();
    await target.dispatchEvent('drop', { dataTransfer: data });
    await tile(page, 'dropped.txt').waitFor();
    // onto the tile of a folder
    await studio.send('POST', '/_dovetail/folders', { name: 'Inbox' });
    await page.reload();
    await settled(page);
    const inbox = page.getByRole('list', { name: 'Folders' }).getByRole('button', { name: 'Inbox' });
    await inbox.waitFor();
    const file = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['filed'], 'filed.txt', { type: 'text/plain' }));
      return transfer;
    });
    await inbox.dispatchEvent('dragenter', { dataTransfer: file });
    await page.getByText('Drop to upload to Inbox').waitFor();
    await inbox.dispatchEvent('drop', { dataTransfer: file });
    await panel.getByText('1 of 1 file uploaded').waitFor();
    expect(await fileNamed('filed.txt')).toMatchObject({ folder: { name: 'Inbox' } });
    // what the server refuses is said beside the file
    await upload(page, [{ name: 'half.png', mimeType: 'image/png', buffer: picture.subarray(0, 3000) }]);
    await panel.getByText('0 of 1 file uploaded, 1 failed').waitFor();
    await panel.getByText('File is not a valid image').waitFor();
    await studio.keep(page, 'media-upload-refused');
  });

  it('has a page for each file: texts in place, formats, uses with their titles, the URL', async () => {
    const page = await studio.open('/media');
    await tile(page, 'harbour-at-slack-water.jpg').click();
    await page.getByRole('heading', { level: 1, name: 'harbour-at-slack-water.jpg' }).waitFor();
    await page.getByRole('link', { name: 'Slack Water' }).first().waitFor();
    await page.getByRole('row', { name: /thumbnail 244 × 156/ }).waitFor();
    await page.getByRole('textbox', { name: 'Caption' }).fill('Seen from the customs house');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await fileNamed('harbour-at-slack-water.jpg')).toMatchObject({ caption: 'Seen from the customs house' });
    await studio.keep(page, 'media-file');
    await accessible(page);
    // what would be lost, or changed, is named before
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByRole('link', { name: 'Slack Water' }).first().waitFor();
    await studio.keep(page, 'media-delete-used');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    // texts that are not saved are asked about
    await page.getByRole('textbox', { name: 'Caption' }).fill('Seen by nobody');
    await page.getByRole('link', { name: 'Slack Water' }).first().click();
    await dialog.getByText('Leave without saving?').waitFor();
    await accessible(page);
    await dialog.getByRole('button', { name: 'Stay' }).last().click();
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.getByRole('textbox', { name: 'Caption' }).inputValue()).toBe('Seen by nobody');
    await page.getByRole('link', { name: 'Slack Water' }).first().click();
    await dialog.getByRole('button', { name: 'Save and leave' }).click();
    await page.waitForURL('**/content/articles/1*');
    expect(await fileNamed('harbour-at-slack-water.jpg')).toMatchObject({ caption: 'Seen by nobody' });
  });

  it('moves files and folders by dragging, several at once, and back; by keyboard, too', async () => {
    for (const name of ['Drawer', 'Shelf']) await studio.send('POST', '/_dovetail/folders', { name });
    const page = await studio.open('/media');
    await upload(page, [text('first.txt'), text('second.txt'), text('third.txt')]);
    await page.getByText('3 of 3 files uploaded').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    const tree = page.getByRole('navigation', { name: 'Folders' });
    const folderTile = (name: string) => page.getByRole('list', { name: 'Folders' }).getByRole('button', { name });
    const folderOf = async (name: string) =>
      ((await fileNamed(name))!['folder'] as { name: string } | null)?.name ?? null;
    const moved = page.getByRole('status').filter({ hasText: 'moved' });

    await tile(page, 'first.txt').dragTo(folderTile('Drawer'));
    await moved.getByText('1 file moved to “Drawer”.').waitFor();
    await tile(page, 'first.txt').waitFor({ state: 'detached' });
    expect(await folderOf('first.txt')).toBe('Drawer');

    // those that are chosen go together
    await page.getByRole('checkbox', { name: 'Select second.txt' }).check();
    await page.getByRole('checkbox', { name: 'Select third.txt' }).check();
    await tile(page, 'third.txt').dragTo(tree.getByRole('link', { name: 'Drawer' }));
    await moved.getByText('2 files moved to “Drawer”.').waitFor();
    expect([await folderOf('second.txt'), await folderOf('third.txt')]).toEqual(['Drawer', 'Drawer']);
    await studio.keep(page, 'media-moved');
    await accessible(page);
    await moved.getByRole('button', { name: 'Undo' }).click();
    await moved.getByText('2 files moved back.').waitFor();
    expect([await folderOf('second.txt'), await folderOf('first.txt')]).toEqual([null, 'Drawer']);

    await folderTile('Drawer').dragTo(tree.getByRole('link', { name: 'Shelf' }));
    await moved.getByText('The folder “Drawer” moved to “Shelf”.').waitFor();
    await folderTile('Drawer').waitFor({ state: 'detached' });

    // with the keyboard: M asks where to
    await tile(page, 'second.txt').focus();
    await page.keyboard.press('m');
    await page.getByRole('dialog').getByText('Move 1 file').first().waitFor();
    await page.getByRole('dialog').getByRole('combobox', { name: 'To' }).fill('drawer');
    await page.getByRole('option', { name: 'Shelf / Drawer' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Move here' }).click();
    await moved.getByText('1 file moved to “Drawer”.').waitFor();
    expect(await folderOf('second.txt')).toBe('Drawer');

    // a search says where each is, and finds folders, too
    await page.getByRole('searchbox', { name: 'Search files' }).fill('second');
    await tile(page, 'second.txt').getByText('Shelf / Drawer').waitFor();
    await page.getByRole('searchbox', { name: 'Search files' }).fill('draw');
    await folderTile('Drawer').waitFor();
  });

  it('does not overwrite what somebody else has said of a file meanwhile', async () => {
    const { id } = (await fileNamed('kedge-mark.png')) as { id: number };
    const page = await studio.open(`/media/${id}`);
    const caption = page.getByRole('textbox', { name: 'Caption' });
    await caption.fill('mine');
    expect((await studio.send('POST', `/api/upload?id=${id}`, { fileInfo: { caption: 'theirs' } })).status).toBe(200);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Someone else has changed this file').waitFor();
    await page.getByText('Changed by someone else to “theirs”.').waitFor();
    expect([await caption.inputValue(), (await fileNamed('kedge-mark.png'))!['caption']]).toEqual(['mine', 'theirs']);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await fileNamed('kedge-mark.png')).toMatchObject({ caption: 'mine' });
  });

  it('replaces the content of a file, whose URL stays, and deletes it', async () => {
    const page = await studio.open('/media');
    await upload(page, [text('old.txt')]);
    await tile(page, 'old.txt').click();
    await page.getByRole('heading', { level: 1, name: 'old.txt' }).waitFor();
    const before = (await fileNamed('old.txt'))!;
    await upload(page, png('new.png'));
    await page.getByRole('dialog').getByText('the URL still ends in “.txt”').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('heading', { level: 1, name: 'new.png' }).waitFor();
    expect(await fileNamed('new.png')).toMatchObject({ id: before['id'], url: before['url'], mime: 'image/png' });
    await page.getByRole('img', { name: 'new.png' }).waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByText('No entry that you can read uses it.').waitFor();
    await accessible(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Media library' }).waitFor();
    expect(await fileNamed('new.png')).toBeUndefined();
  });

  it('shows a file that was uploaded before the library had been read', async () => {
    const { context } = await studio.visitor();
    const page = await context.newPage();
    let release = (): void => undefined;
    const first = new Promise<void>((done) => {
      release = done;
    });
    let isFirst = true;
    await page.route('**/api/upload/files?*', async (route) => {
      const response = await route.fetch();
      if (isFirst) {
        isFirst = false;
        await first;
      }
      await route.fulfill({ response });
    });
    await page.goto('/studio/media');
    await page.getByRole('heading', { level: 1, name: 'Media library' }).waitFor();
    await upload(page, [text('early.txt')]);
    await page.getByText('1 of 1 file uploaded').waitFor();
    release();
    await tile(page, 'early.txt').waitFor();
  });

  it('offers no change of folders to those who may change only their own files', async () => {
    const { body } = await studio.send('POST', '/_dovetail/folders', { name: 'Cupboard' });
    const { id } = (body as { data: { id: number } }).data;
    const author = { email: 'al@example.org', password: 'Als-long-secret-1' };
    const names = ['--firstname', 'Al', '--lastname', 'Writer'];
    studio.command(
      'admin',
      'create',
      '--email',
      author.email,
      '--password',
      author.password,
      '--role',
      'author',
      ...names,
    );
    const { open } = await studio.visitor({ as: author });
    const page = await open(`/media?folder=${id}`);
    await page.getByRole('button', { name: 'New folder' }).waitFor();
    expect(await page.getByRole('button', { name: 'Actions for the folder Cupboard' }).count()).toBe(0);
    const own = await studio.open(`/media?folder=${id}`);
    await own.getByRole('button', { name: 'Actions for the folder Cupboard' }).waitFor();
  });

  it('never shows HTML or SVG as a document', async () => {
    const script = '<script>document.title = "taken"</script>';
    const page = await studio.open('/media');
    await upload(page, [
      { name: 'page.html', mimeType: 'text/html', buffer: Buffer.from(`<h1>hello</h1>${script}`) },
      {
        name: 'drawing.svg',
        mimeType: 'image/svg+xml',
        buffer: Buffer.from(
          `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${script}<rect width="9" height="9"/></svg>`,
        ),
      },
    ]);
    await tile(page, 'page.html').click();
    await page.getByText('No preview is available for this type of file.').waitFor();
    expect(await page.locator('iframe, object, embed, main svg script').count()).toBe(0);
    await page.getByRole('link', { name: 'Back to the library' }).click();
    await tile(page, 'drawing.svg').click();
    await page.getByRole('img', { name: 'drawing.svg' }).waitFor();
    expect(await page.locator('iframe, object, embed').count()).toBe(0);
    await expect.poll(() => page.title()).toBe('drawing.svg · Media · Dovetail');
  });

  it('is walked and selected with the keyboard; several files are moved and deleted together', async () => {
    const page = await studio.open('/media');
    await upload(
      page,
      ['a', 'b', 'c'].map((it) => text(`${it}.txt`)),
    );
    await page.getByText('3 of 3 files uploaded').waitFor();
    await page.getByRole('searchbox', { name: 'Search files' }).fill('.txt');
    await page.getByRole('combobox', { name: 'Sort' }).selectOption('Name, A to Z');
    await tile(page, 'a.txt').waitFor();
    await tile(page, 'workbench.png').waitFor({ state: 'detached' });
    await tile(page, 'a.txt').focus();
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await page.getByRole('status').filter({ hasText: '3 files selected' }).waitFor();
    await page.keyboard.press('Space');
    const bar = page.getByRole('region', { name: '2 files selected' });
    await bar.waitFor();
    await accessible(page);
    await page.keyboard.press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 files' }).click();
    await tile(page, 'a.txt').waitFor({ state: 'detached' });
    expect([await fileNamed('a.txt'), await fileNamed('b.txt')]).toEqual([undefined, undefined]);
    expect(await fileNamed('c.txt')).toBeDefined();
    // Enter opens
    await tile(page, 'c.txt').focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'c.txt' }).waitFor();
  });

  it('a deletion that is stopped does not close the dialog that is open when it ends', async () => {
    const page = await studio.open('/media');
    await upload(page, [text('stopped-1.txt'), text('stopped-2.txt')]);
    await page.getByText('2 of 2 files uploaded').waitFor();
    for (const name of ['stopped-1.txt', 'stopped-2.txt'])
      await page.getByRole('checkbox', { name: `Select ${name}` }).check();
    const deletion = await hold(page, 'DELETE', '**/api/upload/files/*');
    const bar = page.getByRole('region', { name: '2 files selected' });
    await bar.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete 2 files' }).click();
    await expect.poll(() => deletion.count()).toBe(1);
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await bar.getByRole('button', { name: 'Move' }).click();
    await page.getByRole('dialog', { name: 'Move 2 files' }).waitFor();
    deletion.release();
    await page.getByRole('dialog', { name: 'Move 1 file' }).waitFor();
    expect(deletion.count()).toBe(1);
  });

  it('is used on a narrow screen', async () => {
    const narrow = await studio.visitor({ viewport: { width: 360, height: 740 } });
    const page = await narrow.open('/media');
    await tile(page, 'workbench.png').waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await studio.keep(page, 'media-narrow');
    await accessible(page);
    await tile(page, 'workbench.png').click();
    await page.getByRole('heading', { level: 1, name: 'workbench.png' }).waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await studio.keep(page, 'media-file-narrow');
    await accessible(page);
  });
});
