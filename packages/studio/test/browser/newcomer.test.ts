/** From `npm start` to a changed order of articles, as somebody does it who has read nothing. */
import { describe, expect, it } from 'vitest';
import { oneDialect, useStudio } from './studio.js';

describe.each(oneDialect)('a newcomer on %s', (dialect) => {
  const studio = useStudio(dialect, { hasAdministrator: false, env: { LOG_LEVEL: 'info' } });

  it('makes an account by the printed link, opens the list that the first page names, moves an entry and saves', async () => {
    const [link] = await studio.said(/http:\S+\/studio\/welcome#[\w-]+/);
    const { open } = await studio.visitor({ as: null });
    const page = await open(link.replace(/^.*\/studio/, ''));
    await page.getByLabel('First name').fill('New');
    await page.getByLabel('Last name').fill('Comer');
    await page.getByLabel('Email').fill('new@example.org');
    await page.getByLabel(/^Password/).fill('Long enough 1');
    await page.keyboard.press('Enter');

    await page.getByRole('link', { name: 'Open the list' }).click();
    await page.getByRole('button', { name: 'Slack Water, position 1 of 4' }).focus();
    await page.keyboard.press('Alt+ArrowDown');
    await page.getByRole('button', { name: 'Slack Water, position 2 of 4' }).waitFor();
    await studio.keep(page, 'newcomer');
    await page.getByRole('button', { name: 'Save', exact: true }).click();

    // what a front end gets
    const titles = async (): Promise<readonly string[]> => {
      const answer = await fetch(`${studio.url}/api/editions/1?populate[articles][fields][0]=title`);
      const { data } = (await answer.json()) as {
        data: { attributes: { articles: { data: { attributes: { title: string } }[] } } };
      };
      return data.attributes.articles.data.map((it) => it.attributes.title);
    };
    await expect
      .poll(titles)
      .toEqual([
        'The Bench That Stayed Behind',
        'Slack Water',
        'Eleven Turns Every Friday',
        'Notes on Sharpening, Mostly Wrong',
      ]);
  });
});
