/** The room Health in a browser: it is looked at again by itself, names what is wrong first, and shows webhooks. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { accessible, dialects, useStudio } from './studio.js';

describe.each(dialects)('health on %s', (dialect) => {
  const studio = useStudio(dialect, {
    prepare: (dir) => {
      // an option that nothing here obeys
      const file = path.join(dir, 'src/api/category/content-types/category/schema.json');
      const schema = JSON.parse(fs.readFileSync(file, 'utf8')) as { attributes: { name: Record<string, unknown> } };
      schema.attributes.name['glitter'] = true;
      fs.writeFileSync(file, JSON.stringify(schema, null, 2));
    },
  });

  it('shows version, database, checks and what is ignored of the project', async () => {
    const page = await studio.open('/health');
    const { data } = (await studio.send('GET', '/_dovetail/health')).body as {
      data: {
        version: string;
        node: string;
        database: { client: string; version: string };
        checks: { message: string }[];
      };
    };
    await page.getByRole('region', { name: 'Server' }).getByText(data.node).waitFor();
    const database = await page.getByRole('region', { name: 'Database' }).innerText();
    expect(database).toContain(`${dialect === 'sqlite' ? 'SQLite' : 'PostgreSQL'} ${data.database.version}`);
    expect(database.includes('Journal (WAL)')).toBe(dialect === 'sqlite');
    const checks = await page.getByRole('region', { name: 'Checks' }).innerText();
    for (const { message } of data.checks) expect(checks).toContain(message);
    await page.getByRole('region', { name: 'Ignored settings' }).getByText('glitter').first().waitFor();
    await studio.keep(page, 'health');
    await accessible(page);
  });

  it('is looked at again by itself: a webhook that is added appears, with what waits and what failed', async () => {
    const page = await studio.open('/health');
    await page.getByText('No webhooks.').waitFor();
    studio.command('webhook', 'add', 'http://127.0.0.1:65101/hook', '--name', 'site', '--events', 'entry.create');
    const row = page.getByRole('row', { name: /site http:\/\/127.0.0.1:65101\/hook/ });
    await row.getByText('none since the server started').waitFor();
    await studio.send('POST', '/api/categories', { data: { name: 'Told to nobody', slug: 'told-to-nobody' } });
    // nobody listens there
    await row.getByText(/^entry\.create, /).waitFor();
    await studio.keep(page, 'health-webhooks');
    await accessible(page);
  });

  it('names a fault first, and keeps what it knew when the server does not answer', async () => {
    const page = await studio.open('/health');
    await page.getByText('All checks passed').or(page.getByText('Running with warnings')).waitFor();
    await page.route('**/_dovetail/health', async (route) => {
      const { data } = (await (await route.fetch()).json()) as { data: { checks: object[] } };
      const checks = [...data.checks, { name: 'disk', status: 'fault', message: 'The disk is full: make room' }];
      await route.fulfill({ json: { data: { ...data, checks } } });
    });
    await page.getByRole('button', { name: 'Update now' }).click();
    await page.getByText('Some checks failed').waitFor();
    await expect
      .poll(() => page.getByRole('region', { name: 'Checks' }).getByRole('listitem').first().innerText())
      .toContain('make room');
    await accessible(page);
    await page.unroute('**/_dovetail/health');
    await page.route('**/_dovetail/health', (route) => route.abort());
    await page.getByRole('button', { name: 'Update now' }).click();
    await page.getByText('The server is not responding.').waitFor();
    await page.getByText('The disk is full: make room').waitFor();
  });

  it('is read on a narrow screen', async () => {
    const narrow = await studio.visitor({ viewport: { width: 360, height: 740 } });
    const page = await narrow.open('/health');
    await page.getByRole('region', { name: 'Checks' }).waitFor();
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    await studio.keep(page, 'health-narrow');
    await accessible(page);
  });
});
