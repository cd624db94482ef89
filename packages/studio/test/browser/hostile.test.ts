/** Nothing that is written in content runs in the Studio: neither values, nor names of files, folders, types and components. */
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { addSpecimen } from './specimen.js';
import { ann, useStudio } from './studio.js';

/** Whatever runs says so. What the policy alone stops would fail the test, too: each violation is reported. */
const run = 'window.taken=(window.taken||0)+1';
const html = `"'><script>${run}</script><img src=x onerror="${run}"><svg onload="${run}">`;
const link = `javascript:${run}`;

const inFile = (file: string, change: (json: { readonly info: object }) => void): void => {
  const json = JSON.parse(fs.readFileSync(file, 'utf8')) as { readonly info: object };
  change(json);
  fs.writeFileSync(file, JSON.stringify(json));
};

// content is shown in one way, whatever database it comes from
describe('hostile content', () => {
  const studio = useStudio('sqlite', {
    prepare: (dir) => {
      addSpecimen(dir);
      const schemas: readonly string[] = [
        'src/api/specimen/content-types/specimen/schema.json',
        'src/components/parts/tag.json',
        'src/components/bands/remark.json',
      ];
      for (const it of schemas)
        inFile(path.join(dir, it), ({ info }) => {
          Object.assign(info, { displayName: `Type ${html}`, description: html });
        });
    },
  });
  const untouched = async (page: Page): Promise<void> => {
    // pictures with broken addresses have been tried by then, those out of sight too
    await page.waitForFunction(() =>
      [...document.images].every((it) => {
        it.loading = 'eager';
        return it.complete;
      }),
    );
    const found = await page.evaluate(() => ({
      taken: (globalThis as { taken?: number }).taken ?? 0,
      polluted: ({} as { polluted?: unknown }).polluted ?? null,
      elements: document.querySelectorAll(
        'main script, main iframe, main object, main embed, main [onerror], main [onload]',
      ).length,
      links: [...document.querySelectorAll('a[href]')].filter((it) => /^\s*javascript:/i.test(it.getAttribute('href')!))
        .length,
    }));
    expect(found).toEqual({ taken: 0, polluted: null, elements: 0, links: 0 });
  };

  it('is text in every room: lists, forms, previews, answers, the map, the palette, the library', async () => {
    const { id: picture } = (
      (await studio.send('GET', '/api/upload/files?sort=id&pagination[limit]=1')).body as { id: number }[]
    )[0]!;
    const named = await studio.send('POST', `/api/upload?id=${picture}`, {
      fileInfo: { alternativeText: html, caption: html },
    });
    expect(named.status).toBe(200);
    const folder = { name: html.replaceAll('/', '') + randomUUID() };
    expect((await studio.send('POST', '/_dovetail/folders', folder)).status).toBe(201);
    const data = {
      name: html.slice(0, 40),
      summary: html,
      story: [
        html,
        `[click](${link})`,
        `![x](${link})`,
        `<a href="${link}">raw</a>`,
        '<iframe src="/admin/me"></iframe>',
      ].join('\n\n'),
      layout: [
        { type: 'paragraph', children: [{ type: 'text', text: html }] },
        { type: 'paragraph', children: [{ type: 'link', url: link, children: [{ type: 'text', text: 'click' }] }] },
        {
          type: 'image',
          image: { name: html, alternativeText: html, url: link, ext: '.png', mime: 'image/png', provider: 'local' },
          children: [{ type: 'text', text: '' }],
        },
      ],
      facts: JSON.parse(
        `{"__proto__": {"polluted": "yes"}, "constructor": {"prototype": {"polluted": "yes"}}, "x": ${JSON.stringify(html)}}`,
      ),
      colour: html,
      picture,
    };
    const made = await studio.send('POST', '/api/specimens', { data });
    expect([made.status, made.body]).toEqual([200, expect.anything()]);
    const { id } = (made.body as { data: { id: number } }).data;

    const page = await studio.open('/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await untouched(page);
    const visit = async (address: string, ready: string | RegExp): Promise<void> => {
      await page.goto(`/studio${address}`);
      await page.getByText(ready).first().waitFor();
      await untouched(page);
    };
    const shown = /<script>window\.taken/;
    await visit('/content', 'Specimens');
    await visit('/content/specimens', shown);
    await visit('/map?view=list', shown);
    await visit('/media', shown);
    await visit(`/media/${picture}`, 'Where it is used');
    await visit(
      `/ask?type=specimens&q=${encodeURIComponent('fields[0]=name&fields[1]=summary&fields[2]=facts&fields[3]=story&populate[picture]=true')}`,
      shown,
    );

    await visit(`/content/specimens/${id}`, shown);
    await page.getByText('Preview', { exact: true }).first().click();
    await page.getByRole('region', { name: 'Preview' }).getByText('click', { exact: true }).waitFor();
    await untouched(page);
    await studio.keep(page, 'hostile-entry');

    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Find a content type, an entry or a page').fill('taken');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
    await untouched(page);
    // the library is found by it, too, whatever the order of the words
    await page.getByPlaceholder('Find a content type, an entry or a page').fill('slack harbour');
    await page.getByRole('dialog').getByRole('option', { name: 'harbour-at-slack-water.jpg' }).waitFor();
    await untouched(page);
  });

  it('a drawing with a script is shown as a picture and downloaded, never opened as a page', async () => {
    const drawing = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>${run}</script><rect width="9" height="9" onload="${run}"/></svg>`;
    const page = await studio.open('/media');
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles([{ name: 'drawing.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(drawing) }]);
    await page.getByText('1 of 1 file uploaded').waitFor();
    await page.getByRole('link', { name: 'drawing.svg' }).click();
    await page.getByRole('img', { name: 'drawing.svg' }).waitFor();
    await untouched(page);
    const url = (await page.getByRole('link', { name: 'Open original in a new tab' }).getAttribute('href'))!;
    const { headers } = await page.request.get(url).then((it) => ({ headers: it.headers() }));
    expect(headers).toMatchObject({
      'content-disposition': 'attachment',
      'content-security-policy': expect.stringMatching(/default-src 'none'.*;sandbox$/),
      'x-content-type-options': 'nosniff',
    });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.evaluate((to) => {
        location.href = to;
      }, url),
    ]);
    expect(download.url()).toBe(url);
    await untouched(page);
  });

  it('signing in leads nowhere else, and no other site can show the Studio in a frame', async () => {
    const { open, context } = await studio.visitor({ as: null });
    for (const to of ['//evil.example/', 'https://evil.example/', '/\\evil.example', `${link}//`]) {
      await context.clearCookies();
      const page = await open(`/sign-in?to=${encodeURIComponent(to)}`);
      await page.evaluate(() => localStorage.clear());
      await page.getByLabel('Email').fill(ann.email);
      await page.getByLabel(/^Password/).fill(ann.password);
      await page.keyboard.press('Enter');
      await page.waitForURL((it) => !it.pathname.endsWith('/sign-in'));
      expect([new URL(page.url()).origin, new URL(page.url()).pathname.startsWith('/studio')]).toEqual([
        studio.url,
        true,
      ]);
      await untouched(page);
      await page.close();
    }
  });
});
