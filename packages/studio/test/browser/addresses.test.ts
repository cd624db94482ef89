/** Every address that the router knows, taken from its own tree, so that a new page cannot be forgotten. */
import { describe, expect, it } from 'vitest';
import { accessible, colorSchemes, useStudio } from './studio.js';

/** Values of parameters in addresses, of the example magazine. */
const examples: Readonly<Record<string, string>> = { $type: 'articles', $id: '1', $field: 'categories', $: '' };

const exampleOf = (path: string): string =>
  path
    .split('/')
    .map((it) => {
      if (!it.startsWith('$')) return it;
      const example = examples[it];
      if (example === undefined) throw new Error(`${path} has a parameter ${it} without an example in this file`);
      return example;
    })
    .join('/');

describe('every address of the Studio', () => {
  const studio = useStudio('sqlite');

  // the harness fails the test on violations of the policy, console errors and statuses of 500 and more
  it('has a name for its tab, one heading of the first level and is accessible, without console errors or violations of the policy', {
    timeout: 600_000,
  }, async () => {
    const { open } = await studio.visitor();
    const first = await open('/');
    const paths = await first.evaluate(() => {
      const { __TSR_ROUTER__: router } = globalThis as unknown as {
        readonly __TSR_ROUTER__: { readonly routesByPath: Readonly<Record<string, unknown>> };
      };
      return Object.keys(router.routesByPath);
    });
    await first.close();
    expect(paths).toEqual(expect.arrayContaining(['/', '/map', '/ask', '/content/$type/$id/$field/$', '/sign-in']));
    const titles: Record<string, string> = {};
    for (const address of [...new Set(paths.map((it) => exampleOf(it).replace(/(.)\/$/, '$1'))), '/nothing/here']) {
      const page = await open(address);
      try {
        await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
        await expect.poll(() => page.locator('h1').count()).toBe(1);
        await accessible(page, colorSchemes);
        titles[address] = await page.title();
      } catch (fault) {
        throw new Error(`at ${address}`, { cause: fault });
      }
      await page.close();
    }
    // whoever does not come by the menu to sign out is led to the first page
    expect(Object.keys(titles).filter((it) => titles[it] === 'Dovetail')).toEqual(['/sign-out', '/']);
    expect(titles).toMatchObject({
      '/access/tokens': 'API tokens · Access · Dovetail',
      '/account': 'Your account · Dovetail',
      '/ask': 'Articles · Ask · Dovetail',
      '/content/articles/1/categories': 'categories of Slack Water · Article · Dovetail',
      '/nothing/here': 'Page not found · Dovetail',
    });
  });
});
