import fs from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { newGate } from '../../../server/src/access/access.js';
import { loadModel } from '../../../server/src/model/load.js';
import type { ResolveContext } from '../../../server/src/query/resolve.js';
import { defaultSettings } from '../../../server/test/world/server.js';
import type { Model } from '../../src/model/model.js';
import { idOf } from '../../src/rooms/ask/query/items.js';
import { isMembers, type Members, memberOf } from '../../src/rooms/ask/query/node.js';
import { readFields, readPopulate, readSort } from '../../src/rooms/ask/query/options.js';
import { fragmentStep, type Place } from '../../src/rooms/ask/query/place.js';
import { actionOf, type Request, readUrl, typeOfRequest } from '../../src/rooms/ask/query/request.js';
import { words } from '../../src/words/index.js';
import { meaningOf } from '../ask/stage.js';
import { accessible, colorSchemes, oneDialect, type Studio, settled, useStudio } from './studio.js';

const texts = words.ask;

/** The reads that README.md and docs/tour.md show, but for those with a mistake on purpose. */
const documented = (): readonly string[] => {
  const root = path.join(import.meta.dirname, '../../../..');
  const readme = fs.readFileSync(path.join(root, 'README.md'), 'utf8');
  const tour = fs.readFileSync(path.join(root, 'docs/tour.md'), 'utf8');
  const inReadme = [...readme.matchAll(/(\/api\/(?:articles|editions)(?:\/\d+)?\?[^'\s]+)'/g)].map(([, url]) => url);
  const inTour = [...tour.matchAll(/^GET (\/api\/\S+(?:\n {4}[?&].*)*)/gm)].map(([, url]) => url?.replace(/\s/g, ''));
  return [...new Set([...inReadme, ...inTour])].filter((it): it is string => it !== undefined && !it.includes('autor'));
};

const modelOf = async (studio: Studio): Promise<Model> =>
  ((await (await fetch(`${studio.url}/_dovetail/model`)).json()) as { data: Model }).data;

/** What the server makes of a URL, by its own plan. */
const meaningIn = (studio: Studio, model: Model, url: string): string => {
  const loaded = loadModel(studio.dir);
  if (!loaded.ok) throw new Error('the magazine has faults');
  const gate = newGate({ version: 'test', may: () => true }, loaded.model);
  const context: ResolveContext = {
    model: loaded.model,
    gate,
    rest: defaultSettings.rest,
    strict: true,
    defaultLocale: 'en',
  };
  const read = readUrl(url, model, null);
  if (!read.ok) return `not read: ${url}`;
  const type = typeOfRequest(model, read.value);
  if (!type) return `no type: ${url}`;
  const { selection } = meaningOf(
    url.includes('?') ? url.slice(url.indexOf('?') + 1) : '',
    type.uid,
    actionOf(type, read.value),
    context,
  );
  return `${read.value.type} ${read.value.id} ${selection}`;
};

const editor = (page: Page, form: keyof typeof texts.request.forms = 'url'): Locator =>
  page.getByRole('textbox', { name: texts.request.editor(texts.request.forms[form]) });
const urlIn = async (page: Page): Promise<string> => (await editor(page).innerText()).trim();

const row = (page: Page, id: string): Locator => page.locator(`[id="ask${id}"]`);
const label = (page: Page, id: string): Locator => row(page, id).locator('.ask-label');

/** Pastes over everything that is written in the editor. */
const paste = async (page: Page, text: string, form: keyof typeof texts.request.forms = 'url'): Promise<void> => {
  await editor(page, form).click();
  await page.keyboard.press('ControlOrMeta+a');
  await editor(page, form).evaluate((element, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', pasted);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
};

// ---- a person who builds a query by clicking

const build = async (page: Page, model: Model, request: Request): Promise<void> => {
  if (request.id !== null) {
    await page.getByLabel(texts.id.label).fill(request.id);
    await page.keyboard.press('Enter');
  }
  await buildPlace(page, model, [], request.query);
};

const buildPlace = async (page: Page, model: Model, place: Place, options: Members): Promise<void> => {
  const id = idOf(place);
  const fields = readFields(memberOf(options, 'fields'));
  for (const name of fields?.kind === 'chosen' ? fields.names : []) await label(page, `${id}#${name}`).click();
  for (const member of readPopulate(memberOf(options, 'populate'), { strict: true })?.members ?? []) {
    const inner = [...place, member.name];
    await label(page, idOf(inner)).click();
    const on = memberOf(member.options, 'on');
    if (isMembers(on)) await buildFragments(page, model, inner, on);
    else await buildPlace(page, model, inner, member.options);
  }
  const others = ['filters', 'sort', 'pagination', 'publicationState', 'locale'].filter((it) => it in options);
  if (others.length > 0) await buildOptions(page, model, place, options);
};

/** Each component by itself: those that are not wanted are unticked. */
const buildFragments = async (page: Page, model: Model, place: Place, on: Members): Promise<void> => {
  await label(page, `${idOf(place)}#strategy`).click();
  const fragments = await page.locator(`[role=treeitem][id^="ask${idOf(place)}/on:"]`).all();
  const ids = await Promise.all(fragments.map((it) => it.getAttribute('id')));
  for (const id of ids) {
    const uid = id?.split('/on:').at(-1) ?? '';
    const inner = [...place, fragmentStep(uid)];
    const options = memberOf(on, uid);
    if (options === undefined) await label(page, idOf(inner)).click();
    else if (isMembers(options)) {
      if ((await row(page, idOf(inner)).getAttribute('aria-expanded')) === 'false')
        await row(page, idOf(inner))
          .getByRole('button', { name: texts.tree.open(uid), exact: true })
          .click();
      await buildPlace(page, model, inner, options);
    }
  }
};

const buildOptions = async (page: Page, model: Model, place: Place, options: Members): Promise<void> => {
  await row(page, idOf(place))
    .getByRole('button', { name: /^Filters and sorting/ })
    .click();
  const panel = page.getByRole('region', { name: /^Filters and sorting/ });
  for (const [names, operator, value] of comparisonsIn(memberOf(options, 'filters'))) {
    await panel.getByRole('button', { name: texts.options.add, exact: true }).click();
    const form = panel.getByRole('form', { name: texts.options.add });
    await form.getByLabel(texts.options.attribute).fill(names.join(' › '));
    await page.getByRole('option', { name: names.join(' › '), exact: true }).click();
    await form.getByLabel(texts.options.operator).click();
    await page.getByRole('option', { name: words.operators[operator] ?? operator, exact: true }).click();
    await form.getByLabel(texts.options.value).fill(value);
    await form.getByRole('button', { name: texts.options.apply }).click();
  }
  for (const { path: names, direction } of readSort(memberOf(options, 'sort')) ?? []) {
    await panel.getByLabel(texts.options.addOrder).fill(names.join(' › '));
    await page.getByRole('option', { name: names.join(' › '), exact: true }).click();
    if (direction === 'desc') await panel.getByRole('button', { name: /ascending$/ }).click();
  }
  const paging = memberOf(options, 'pagination');
  for (const [name, value] of isMembers(paging) ? Object.entries(paging) : []) {
    const control = panel.getByLabel(texts.options.paging[name as 'page']);
    await control.fill(String(value));
    await control.press('Enter');
  }
  const state = memberOf(options, 'publicationState');
  if (typeof state === 'string') await panel.getByLabel(texts.options.state).selectOption(state);
  const locale = memberOf(options, 'locale');
  if (typeof locale === 'string') {
    await panel.getByLabel(texts.options.locale).click();
    const named = model.locales.find((it) => it.code === locale);
    await page.getByRole('option', { name: named?.name ?? locale, exact: true }).click();
  }
  await panel.press('Escape');
};

/** `filters[a][b][$gt]=5` as a path, an operator and a value; without an operator it is `$eq`. */
const comparisonsIn = (
  node: unknown,
  names: readonly string[] = [],
): readonly [readonly string[], string, string][] => {
  if (typeof node === 'string') {
    const operator = names.at(-1) ?? '';
    return operator.startsWith('$') ? [[names.slice(0, -1), operator, node]] : [[names, '$eq', node]];
  }
  return Object.entries((node ?? {}) as Members).flatMap(([name, it]) => comparisonsIn(it, [...names, name]));
};

describe.each(oneDialect)('Ask on %s', (dialect) => {
  const studio = useStudio(dialect);

  it('every read of README.md and of the tour is built by clicking', { timeout: 300_000 }, async () => {
    const model = await modelOf(studio);
    const page = await (await studio.visitor({ as: null })).open('/ask?type=articles');
    await editor(page).waitFor();
    expect(documented().length).toBeGreaterThanOrEqual(10);
    for (const url of documented()) {
      const read = readUrl(url, model, null);
      if (!read.ok) throw new Error(`${url} is not read`);
      const type = typeOfRequest(model, read.value);
      const isAnother = (await page.locator('.ask-head input').first().inputValue()) !== type?.plural;
      if (isAnother) {
        await page.locator('.ask-head input').first().click();
        await page.getByRole('option', { name: type?.plural ?? '', exact: true }).click();
      } else if (await page.getByRole('button', { name: texts.clear }).isEnabled())
        await page.getByRole('button', { name: texts.clear }).click();
      await expect.poll(() => urlIn(page)).toBe(`/api/${type?.plural}`);
      await build(page, model, read.value);
      await expect
        .poll(async () => meaningIn(studio, model, await urlIn(page)), { message: url })
        .toBe(meaningIn(studio, model, url));
    }
    // the address is the query
    const last = await urlIn(page);
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe(last.slice(last.indexOf('?') + 1));
    await page.reload();
    await settled(page);
    await editor(page).waitFor();
    await expect.poll(() => urlIn(page)).toBe(last);
  });
});

describe('Ask', () => {
  const studio = useStudio('sqlite');
  const open = async (address: string): Promise<Page> => {
    const page = await (await studio.visitor({ as: null })).open(address);
    await row(page, '/').waitFor();
    await editor(page).waitFor();
    return page;
  };
  const checked = (page: Page, id: string): Promise<string | null> => row(page, id).getAttribute('aria-checked');

  it('a pasted URL becomes the tree, a command and a query object too, and the address follows', async () => {
    const page = await open('/ask?type=categories');
    await paste(page, 'https://example.org/api/articles?populate=author.mentor,cover&fields=title&sort=title:desc');
    await label(page, '/author').waitFor();
    await expect.poll(() => checked(page, '/author')).toBe('true');
    await expect.poll(() => checked(page, '/cover')).toBe('true');
    await expect.poll(() => checked(page, '/categories')).toBe('false');
    await expect.poll(() => checked(page, '/#title')).toBe('true');
    // what is chosen inside is open
    await expect.poll(() => checked(page, '/author/mentor')).toBe('true');
    await expect.poll(() => row(page, '/').innerText()).toContain('by title ↓');
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toContain('author.mentor');
    await paste(
      page,
      `curl -g 'http://127.0.0.1:1337/api/editions?fields[0]=number&populate[articles]=true' -H 'x: y'`,
    );
    await label(page, '/articles').waitFor();
    await expect.poll(() => checked(page, '/articles')).toBe('true');
    await paste(
      page,
      `const { data } = await api.collection('authors').find({ fields: ['name'], populate: { portrait: true } });`,
    );
    await label(page, '/portrait').waitFor();
    await expect.poll(() => checked(page, '/portrait')).toBe('true');
    await expect.poll(() => urlIn(page)).toBe('/api/authors?fields[0]=name&populate[portrait]=true');
  });

  it('follows links and the history to addresses that it has had before', async () => {
    const page = await open('/ask');
    const start = await urlIn(page);
    const other = '/api/editions?fields[0]=number';
    await paste(page, other);
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('fields[0]=number');
    await page.getByRole('link', { name: words.shell.rooms.ask, exact: true }).click();
    await expect.poll(() => urlIn(page)).toBe(start);
    await page.goBack();
    await expect.poll(() => urlIn(page)).toBe(other);
    await page.goForward();
    await expect.poll(() => urlIn(page)).toBe(start);
    // the room's own addresses, which come back to it, are no changes of the request
    await page.keyboard.press('ControlOrMeta+z');
    await expect.poll(() => urlIn(page)).toBe(other);
    await settled(page);
    await page.keyboard.press('ControlOrMeta+Shift+z');
    await expect.poll(() => urlIn(page)).toBe(start);
  });

  it('every form is in step with the tree, and editable', async () => {
    const page = await open('/ask?type=articles&q=fields[0]=title');
    for (const form of ['qs', 'client', 'curl'] as const) {
      await page.getByText(texts.request.forms[form], { exact: true }).click();
      await expect.poll(() => editor(page, form).innerText()).toContain('title');
      await label(page, '/#slug').click();
      await expect.poll(() => editor(page, form).innerText()).toContain('slug');
      await label(page, '/#slug').click();
    }
    await page.getByText('qs', { exact: true }).click();
    await paste(page, `{ populate: { cover: { fields: ['url'] } } }`, 'qs');
    await expect.poll(() => checked(page, '/cover')).toBe('true');
    await expect.poll(() => editor(page, 'qs').innerText()).toContain(`{ fields: ['url'] }`);
  });

  it('a fault of the server stands at its row and at its place in the text', async () => {
    const page = await open('/ask?type=articles&q=populate[autor]=true%26fields[0]=title%26fields[1]=titel');
    const message = /article has no attribute "titel"\. Did you mean "title"/;
    await page.getByRole('treeitem', { name: message }).waitFor();
    await page.getByRole('treeitem', { name: /no attribute "autor"/ }).waitFor();
    await expect
      .poll(() => page.locator('.cm-lintRange').allInnerTexts())
      .toEqual(['populate[autor]=true', 'fields[1]=titel']);
    await studio.keep(page, 'ask-faults');
    await accessible(page, colorSchemes);
    // what the tree cannot show is kept as text, and removed there
    await page.getByRole('button', { name: texts.tree.remove('populate[autor]=true') }).click();
    await page.getByRole('button', { name: texts.tree.remove('fields=titel') }).click();
    await expect.poll(() => urlIn(page)).toBe('/api/articles?fields[0]=title');
    await expect.poll(() => page.locator('.cm-lintRange').count()).toBe(0);
  });

  it('a text that cannot be read marks its place and leaves the tree as it was', async () => {
    const page = await open('/ask?type=articles&q=fields[0]=title');
    await paste(page, '/api/articles?fields[0]=title&populate[author');
    await page.getByText(texts.faults['malformed-key']('populate[author')).first().waitFor();
    await expect.poll(() => page.locator('.cm-lintRange').innerText()).toBe('populate[author');
    await expect.poll(() => checked(page, '/#title')).toBe('true');
    await page.keyboard.press('End');
    await page.keyboard.insertText(']=true');
    await expect.poll(() => checked(page, '/author')).toBe('true');
  });

  it('the tree is operated by keyboard alone', async () => {
    const page = await open('/ask?type=articles');
    await row(page, '/').focus();
    const focused = (): Promise<string | null> => page.evaluate('document.activeElement.id') as Promise<string | null>;
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => focused()).toBe('ask/#fields');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Space');
    await expect.poll(() => checked(page, '/#title')).toBe('true');
    // to a row by its first letter
    await page.keyboard.press('a');
    await expect.poll(() => focused()).toBe('ask/author');
    await page.keyboard.press('Space');
    await expect.poll(() => checked(page, '/author')).toBe('true');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => focused()).toBe('ask/author#fields');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => row(page, '/author').getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: texts.tree.options('author') }).waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => focused()).toBe('ask/author');
    await page.keyboard.press('ControlOrMeta+z');
    await expect.poll(() => checked(page, '/author')).toBe('false');
    await expect.poll(() => urlIn(page)).toBe('/api/articles?fields[0]=title');
    await page.keyboard.press('ControlOrMeta+Shift+z');
    await expect.poll(() => checked(page, '/author')).toBe('true');
  });

  it('what the role may not see is locked, and says which permission would open it', async () => {
    studio.command('role', 'deny', 'public', 'api::author.author.find');
    try {
      const page = await open('/ask?type=articles&q=populate[author]=true');
      await page
        .getByRole('treeitem', { name: /^author.*not available to public: requires api::author\.author\.find/ })
        .waitFor();
      await page.getByText(/^Not visible to public: article\.author/).waitFor();
      await studio.keep(page, 'ask-locked');
      // an administrator looks as that role
      const own = await studio.open('/ask?type=articles&q=populate[author]=true');
      await own.getByRole('treeitem', { name: /^author/ }).waitFor();
      await own.getByRole('button', { name: /^View as/ }).click();
      await own.getByRole('menuitem', { name: 'public', exact: true }).click();
      await own.getByRole('treeitem', { name: /^author.*not available to public/ }).waitFor();
      await own.getByText(/^Not visible to public: article\.author/).waitFor();
    } finally {
      studio.command('role', 'allow', 'public', 'api::author.author.find');
    }
  });

  it('the answer is shown as JSON, as a tree and as a table, with its size and time', async () => {
    const page = await open('/ask?type=articles&q=fields[0]=title%26populate[author][fields][0]=name');
    await page.getByRole('textbox', { name: texts.answer.json }).getByText('"Slack Water"').waitFor();
    await page.getByText(/12 of 12 entries · .* ms · .* kB/).waitFor();
    await studio.keep(page, 'ask-json');
    await page.getByText(texts.answer.views.tree, { exact: true }).click();
    await page.getByRole('treeitem', { name: /#1 Slack Water/ }).waitFor();
    await page
      .getByRole('treeitem', { name: /author/ })
      .nth(1)
      .waitFor();
    await accessible(page);
    await studio.keep(page, 'ask-tree');
    await page.getByText(texts.answer.views.table, { exact: true }).click();
    await page.getByRole('columnheader', { name: 'author' }).waitFor();
    await page.getByRole('row', { name: /Slack Water Léonie Carrick/ }).waitFor();
    await accessible(page);
    await studio.keep(page, 'ask-table');
  });

  it('the plan names the statements, and the index that would end reading a whole table', async () => {
    const page = await open(
      '/ask?type=editions&q=fields[0]=number%26sort=season%26populate[articles][fields][0]=title',
    );
    await page.getByText(/2 statements · .* ms/).waitFor();
    await page.getByText(texts.answer.views.plan, { exact: true }).click();
    const plan = page.getByRole('region', { name: texts.plan.label });
    await plan.getByText(texts.plan.scan.table, { exact: true }).waitFor();
    await plan.getByText(texts.plan.reads.all('editions', null)).waitFor();
    await plan
      .getByRole('alert')
      .getByText('add to dovetail.config: "indexes": {"api::edition.edition":["season"]}')
      .waitFor();
    await plan
      .getByText(/ran once, .* ms/)
      .first()
      .waitFor();
    await plan.getByText(/node 0: api::article\.article, 1 field/).waitFor();
    await accessible(page);
    await studio.keep(page, 'ask-plan');
  });

  it('queries are saved by name and opened again', async () => {
    const page = await open('/ask?type=articles&q=fields[0]=title');
    await page.getByRole('button', { name: texts.saved.label }).click();
    await page.getByLabel(texts.saved.name).fill('Titles');
    await page.getByRole('button', { name: texts.saved.save }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: texts.clear }).click();
    await expect.poll(() => urlIn(page)).toBe('/api/articles');
    await page.getByRole('button', { name: texts.saved.label }).click();
    await page.getByRole('button', { name: 'Titles', exact: true }).click();
    await expect.poll(() => urlIn(page)).toBe('/api/articles?fields[0]=title');
  });

  it('is used on a screen of 360 px', async () => {
    const { open: openNarrow } = await studio.visitor({ as: null, viewport: { width: 360, height: 740 } });
    const page = await openNarrow('/ask?type=articles&q=fields[0]=title');
    await editor(page).waitFor();
    await label(page, '/author').click();
    await expect.poll(() => urlIn(page)).toBe('/api/articles?fields[0]=title&populate[author]=true');
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);
    await accessible(page);
    await studio.keep(page, 'ask-narrow');
  });
});
