/** New entries in another locale of an existing one, and deletion of one locale (LO7, LO9). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actionsOf } from '../../src/access/actions.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const i18n = { pluginOptions: { i18n: { localized: true } } };
const project: SmallProject = {
  types: {
    note: {
      ...i18n,
      options: { draftAndPublish: true },
      attributes: {
        title: { type: 'string', required: true, ...i18n },
        slug: { type: 'uid', targetField: 'title' },
        weight: { type: 'integer', default: 7 },
        others: { type: 'relation', relation: 'manyToMany', target: 'api::note.note' },
      },
    },
    board: {
      kind: 'singleType',
      ...i18n,
      attributes: { text: { type: 'string', ...i18n }, size: { type: 'integer' } },
    },
    plain: { attributes: { text: { type: 'string' } } },
  },
};

interface Bare {
  readonly id: number;
  readonly locale: string;
  readonly localizations: readonly { readonly id: number; readonly locale: string }[];
  readonly [name: string]: unknown;
}

describe.each(dialects)('localizations on %s', (dialect) => {
  let world: SmallWorld;
  beforeEach(async () => {
    world = await newSmallWorld(dialect, project);
    await world.insert(
      'i18n_locale',
      ['en', 'de', 'fr', 'it'].map((code, i) => ({ id: i + 1, code })),
    );
  });
  afterEach(() => world.close());

  const send = async (method: string, url: string, body?: unknown) => {
    const answer = await world.send(method, url, body);
    const { error } = (answer.body ?? {}) as { error?: { name: string; message: string } };
    const ignored = answer.headers['dovetail-ignored'];
    return { status: answer.status, ignored, error: error && `${error.name}: ${error.message}`, body: answer.body };
  };
  const made = async (url: string, body: unknown): Promise<Bare> => {
    const answer = await send('POST', url, body);
    expect([answer.status, answer.error]).toEqual([200, undefined]);
    return answer.body as Bare;
  };
  const newNote = async (data: unknown): Promise<number> =>
    ((await send('POST', '/api/notes', { data })).body as { data: { id: number } }).data.id;
  /** Ids of the siblings of each entry, as its list shows them. */
  const lists = async (table = 'notes', singular = 'note'): Promise<Readonly<Record<number, readonly unknown[]>>> => {
    const links = await world.rows(`${table}_localizations_links`);
    const sorted = [...links].sort((a, b) => Number(a[`${singular}_order`]) - Number(b[`${singular}_order`]));
    const entries = await world.rows(table);
    return Object.fromEntries(
      entries.map(({ id }) => [
        id,
        sorted.filter((it) => it[`${singular}_id`] === id).map((it) => it[`inv_${singular}_id`]),
      ]),
    );
  };

  it('LO7: all siblings know each other, in the order of v4', async () => {
    const first = await newNote({ title: 'one', locale: 'de' });
    expect(first).toBe(1);
    expect((await made('/api/notes/1/localizations', { locale: 'en', title: 'two' })).localizations).toMatchObject([
      { id: 1, locale: 'de' },
    ]);
    expect(await lists()).toEqual({ 1: [2], 2: [1] });
    await made('/api/notes/2/localizations', { locale: 'fr', title: 'three' });
    expect(await lists()).toEqual({ 1: [3, 2], 2: [3, 1], 3: [2, 1] });
    const fourth = await made('/api/notes/1/localizations', { locale: 'it', title: 'four' });
    expect(fourth.localizations.map((it) => it.id)).toEqual([1, 3, 2]);
    expect(await lists()).toEqual({ 1: [4, 3, 2], 2: [4, 1, 3], 3: [4, 1, 2], 4: [1, 3, 2] });
  });

  it('LO7: links that a program left incomplete are completed', async () => {
    await world.insert('notes', [
      { id: 1, title: 'one', locale: 'en' },
      { id: 2, title: 'two', locale: 'de' },
      { id: 3, title: 'three', locale: 'fr' },
    ]);
    const link = (id: number, from: number, to: number) => ({ id, note_id: from, inv_note_id: to, note_order: 1 });
    await world.insert('notes_localizations_links', [link(1, 1, 2), link(2, 1, 3), link(3, 2, 3)]);
    expect((await made('/api/notes/1/localizations', { locale: 'it', title: 'four' })).id).toBe(4);
    expect(await lists()).toEqual({ 1: [4, 2, 3], 2: [4, 1, 3], 3: [4, 1, 2], 4: [1, 2, 3] });
  });

  it('LO7: it is a draft unless the body has `publishedAt`; localized values and relations are its own', async () => {
    const target = await newNote({ title: 'target' });
    const source = await newNote({ title: 'source', slug: 'source', weight: 3, others: [target] });
    const draft = await made(`/api/notes/${source}/localizations`, { locale: 'de', title: 'Entwurf' });
    expect(draft).toMatchObject({ publishedAt: null, title: 'Entwurf', slug: null, weight: 3 });
    const at = '2024-03-01T00:00:00.000Z';
    const body = { locale: 'fr', title: 'Publié', publishedAt: at, others: { connect: [target] } };
    const published = await made(`/api/notes/${source}/localizations`, body);
    expect(published).toMatchObject({ publishedAt: at, weight: 3 });
    const links = await world.rows('notes_others_links');
    expect(links.map((it) => [it['note_id'], it['inv_note_id']])).toEqual([
      [source, target],
      [published.id, target],
    ]);
    // a draft may be incomplete, a published entry may not
    expect((await send('POST', `/api/notes/${source}/localizations`, { locale: 'it', publishedAt: at })).error).toBe(
      'ValidationError: title must be defined.',
    );
    expect((await made(`/api/notes/${source}/localizations`, { locale: 'it' }))['title']).toBeNull();
  });

  it('LO7: the locale must be given, exist and be free; nothing of a refused request stays', async () => {
    await newNote({ title: 'one' });
    await made('/api/notes/1/localizations', { locale: 'de', title: 'zwei' });
    const before = [await world.rows('notes'), await lists()];
    const url = '/api/notes/1/localizations';
    for (const body of [{}, { locale: null }, { data: { locale: 'fr' } }, [], [{ locale: 'fr' }], undefined])
      expect([body, (await send('POST', url, body)).error]).toEqual([body, 'ApplicationError: locale is missing']);
    expect((await send('POST', `${url}?locale=fr`, { title: 'x' })).error).toBe('ApplicationError: locale is missing');
    for (const locale of ['xx', 'FR', '', 'all', 5, ['fr'], { code: 'fr' }])
      expect([locale, (await send('POST', url, { locale, title: 'x' })).error]).toEqual([
        locale,
        'ApplicationError: locale is invalid',
      ]);
    for (const [id, locale] of [
      [1, 'en'],
      [1, 'de'],
      [2, 'en'],
      [2, 'de'],
    ] as const)
      expect((await send('POST', `/api/notes/${id}/localizations`, { locale, title: 'x' })).error).toBe(
        'ApplicationError: locale is already used',
      );
    for (const id of ['99', 'abc', '0'])
      expect((await send('POST', `/api/notes/${id}/localizations`, { locale: 'fr', title: 'x' })).error).toBe(
        'NotFoundError: Entity not found',
      );
    for (const body of [
      { locale: 'fr', titel: 'x' },
      { locale: 'fr', title: 5, weight: 'x' },
      { locale: 'fr', others: [99] },
    ])
      expect((await send('POST', url, body)).status).toBe(400);
    expect([await world.rows('notes'), await lists()]).toEqual(before);
  });

  it('LO7: what the server sets is ignored in the body, and parameters of the query have no effect and are named', async () => {
    await newNote({ title: 'one' });
    const answer = await send('POST', '/api/notes/1/localizations?fields=title&populate=*&locale=fr&x=1', {
      ...{ locale: 'de', title: 'zwei', id: 77, localizations: [5], createdAt: '2001-01-01T00:00:00.000Z' },
    });
    expect(answer).toMatchObject({
      status: 200,
      ignored: 'fields, populate, locale, localizations',
      body: { id: 2, localizations: [{ id: 1 }] },
    });
    expect(answer.body).not.toHaveProperty('others');
    expect((await send('POST', '/api/notes/1/localizations?fields=%00', { locale: 'fr', title: 'x' })).status).toBe(
      400,
    );
    expect(await lists()).toEqual({ 1: [2], 2: [1] });
  });

  it('LO7: other methods, and types without locales, have no such path', async () => {
    await newNote({ title: 'one' });
    await send('POST', '/api/plains', { data: { text: 'x' } });
    expect((await send('POST', '/api/plains/1/localizations', { locale: 'de' })).status).toBe(404);
    expect((await send('GET', '/api/notes/1/localizations')).status).toBe(404);
    expect((await send('PUT', '/api/notes/1/localizations', {})).status).toBe(405);
    expect((await send('POST', '/api/board/1/localizations', {})).status).toBe(404);
  });

  it('LO7: a single type has one entry in a locale, linked or not', async () => {
    expect((await send('POST', '/api/board/localizations', { locale: 'de' })).error).toBe(
      'NotFoundError: Entity not found',
    );
    await world.insert('boards', [
      { id: 1, text: 'deutsch', locale: 'de', size: 1 },
      { id: 2, text: 'english', locale: 'en', size: 2 },
    ]);
    expect((await send('POST', '/api/board/localizations', { locale: 'de' })).error).toBe(
      'ApplicationError: locale is already used',
    );
    // from the entry in the default locale
    const french = await made('/api/board/localizations', { locale: 'fr', text: 'français' });
    expect(french).toMatchObject({ size: 2, localizations: [{ id: 2 }] });
    expect((await send('DELETE', '/api/board')).status).toBe(200);
    expect(await made('/api/board/localizations', { locale: 'it' })).toMatchObject({ size: 1 });
  });

  it('LO7: the permission can be granted for localized types, single ones too', () => {
    const actions = actionsOf(world.model).filter((it) => it.endsWith('.createLocalization'));
    expect(actions).toEqual(['api::board.board.createLocalization', 'api::note.note.createLocalization']);
  });

  it('LO9: the other siblings stay linked with each other', async () => {
    await newNote({ title: 'one' });
    for (const locale of ['de', 'fr', 'it']) await made('/api/notes/1/localizations', { locale, title: locale });
    expect(await lists()).toEqual({ 1: [4, 3, 2], 2: [4, 1, 3], 3: [4, 1, 2], 4: [1, 3, 2] });
    expect((await send('DELETE', '/api/notes/1')).status).toBe(200);
    expect(await lists()).toEqual({ 2: [4, 3], 3: [4, 2], 4: [3, 2] });
    await made('/api/notes/3/localizations', { locale: 'en', title: 'again' });
    expect(await lists()).toEqual({ 2: [5, 3, 4], 3: [5, 4, 2], 4: [5, 3, 2], 5: [3, 4, 2] });
  });

  it('LO7: of requests for the same locale at once, one makes the entry', async () => {
    await newNote({ title: 'one' });
    const answers = await Promise.all(
      [1, 2, 3, 4].map((i) => send('POST', '/api/notes/1/localizations', { locale: 'de', title: `${i}` })),
    );
    expect(answers.map((it) => it.error ?? it.status).sort()).toEqual([
      200,
      ...Array.from({ length: 3 }, () => 'ApplicationError: locale is already used'),
    ]);
    const others = await Promise.all(
      ['fr', 'it'].map((locale) => send('POST', '/api/notes/1/localizations', { locale, title: locale })),
    );
    expect(others.map((it) => it.status)).toEqual([200, 200]);
    const ids = (await world.rows('notes')).map((it) => it['id']);
    for (const [id, list] of Object.entries(await lists()))
      expect([...list].sort()).toEqual(ids.filter((it) => it !== Number(id)));
  });
});

describe.each(dialects)('private localizations on %s', (dialect) => {
  it('LO1, F2: siblings that options.privateAttributes names are not shown, and cannot be filtered by', async () => {
    const options = { privateAttributes: ['localizations', 'locale'] };
    const world = await newSmallWorld(dialect, {
      types: { note: { ...i18n, options, attributes: { text: { type: 'string', ...i18n } } } },
    });
    const shown = async (method: string, url: string, body?: unknown): Promise<unknown> =>
      (await world.send(method, url, body)).body;
    try {
      await world.insert(
        'i18n_locale',
        ['en', 'de'].map((code, i) => ({ id: i + 1, code })),
      );
      await world.send('POST', '/api/notes', { data: { text: 'one' } });
      const made = await shown('POST', '/api/notes/1/localizations', { locale: 'de', text: 'eins' });
      expect(made).toEqual({ id: 2, text: 'eins', createdAt: expect.anything(), updatedAt: expect.anything() });
      expect(await world.rows('notes_localizations_links')).toHaveLength(2);
      const entry = { data: { id: 1, attributes: { text: 'one' } }, meta: {} };
      for (const populate of ['*', 'localizations', 'localizations.localizations'])
        expect(await shown('GET', `/api/notes/1?fields=text&populate=${populate}`)).toEqual(entry);
      expect((await world.send('GET', '/api/notes?filters[localizations][text]=eins')).status).toBe(400);
    } finally {
      await world.close();
    }
  });
});
