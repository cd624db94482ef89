/** Attributes that have one value in all locales of an entry (LO8). */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { everything, expectNoOrphans, newLocalizedWorld, sharedFields } from '../world/localized.js';
import type { SmallWorld } from '../world/small.js';
import { withAndWithoutHooks } from '../world/v4-hooks.js';

type Fields = Readonly<Record<string, unknown>>;

describe.each(withAndWithoutHooks)('shared attributes on $dialect $title', ({ dialect, people }) => {
  let world: SmallWorld;
  beforeEach(async () => {
    world = await newLocalizedWorld(dialect, people);
  });
  afterEach(async () => {
    await expectNoOrphans(world);
    await world.close();
  });

  const send = async (method: string, url: string, body?: unknown, headers?: Record<string, string>) => {
    const answer = await world.send(method, url, body, headers);
    const { error } = (answer.body ?? {}) as { error?: { details?: { errors?: readonly Fields[] } } };
    const faults = error?.details?.errors?.map((it) => `${String(it['code'])} ${(it['path'] as string[]).join('.')}`);
    return { status: answer.status, faults, body: answer.body as Fields, etag: String(answer.headers['etag']) };
  };
  const ok = async (...args: Parameters<typeof send>) => {
    const answer = await send(...args);
    expect([args[1], answer.status, answer.faults]).toEqual([args[1], 200, undefined]);
    return answer;
  };
  /** Three siblings, 1 to 3; the first is published, the others are drafts. */
  const newGroup = async (data: Fields): Promise<void> => {
    await ok('POST', '/api/notes', { data: { code: 'A', title: 'en', ...data } });
    await ok('POST', '/api/notes/1/localizations', { locale: 'de', title: 'de' });
    await ok('POST', '/api/notes/2/localizations', { locale: 'fr', title: 'fr' });
  };
  const shared = async (id: number): Promise<unknown> => {
    const { body } = await ok('GET', `/api/notes/${id}?publicationState=preview&${everything}`);
    return sharedFields((body['data'] as { attributes: Fields }).attributes);
  };
  const own = async (id: number): Promise<Fields> => {
    const { body } = await ok('GET', `/api/notes/${id}?publicationState=preview&${everything}`);
    const { title, slug, own: media, line, plain } = (body['data'] as { attributes: Fields }).attributes;
    return { title, slug, media, line, plain };
  };
  const row = async (id: number): Promise<Fields> => (await world.rows('notes')).find((it) => it['id'] === id)!;

  const plainEntry = (id: number): Fields => ({ __type: 'api::plain.plain', id });
  const full: Fields = {
    ...{ code: 'B', weight: 5, price: 1.25, big: '9007199254740993', on: '2024-02-29', at: '2024-02-29T10:20:30.123Z' },
    ...{ extra: { a: [1, null, 'ü'] }, secret: 'Passw0rd!', cover: 1, gallery: [3, 1] },
    card: {
      heading: 'card',
      picture: 2,
      scans: [2, 1],
      lines: [{ text: 'a' }, { text: 'b' }],
      plain: 1,
      plains: [2, 1],
      subject: plainEntry(2),
      things: [plainEntry(2), plainEntry(1)],
    },
    cards: [{ heading: 'x' }, { heading: 'y', picture: 3, lines: [{ text: 'c' }] }],
    zone: [
      { __component: 'parts.line', text: 'z' },
      { __component: 'parts.card', heading: 'in zone', scans: [1] },
    ],
  };

  it('LO8: a new sibling has every value of its source, with components of its own', async () => {
    await newGroup(full);
    const wanted = await shared(1);
    expect([await shared(2), await shared(3)]).toEqual([wanted, wanted]);
    expect(wanted).toMatchObject({ weight: 5, card: { heading: 'card', lines: [{ text: 'a' }, { text: 'b' }] } });
    expect(wanted).toMatchObject({ card: { subject: plainEntry(2), things: [plainEntry(2), plainEntry(1)] } });
    const secrets = (await world.rows('notes')).map((it) => it['secret']);
    expect(new Set(secrets).size).toBe(1);
    expect(String(secrets[0])).toMatch(/^\$2/);
    expect((await world.rows('components_parts_cards')).length).toBe(3 * 4);
    expect((await world.rows('components_parts_lines')).length).toBe(3 * 4);
    const owners = (await world.rows('components_parts_cards_components')).map((it) => it['component_id']);
    expect(new Set(owners).size).toBe(owners.length);
  });

  it('LO8: a write of an attribute goes to all siblings, from whichever it is written', async () => {
    await newGroup({});
    await ok('PUT', '/api/notes/3', { data: full });
    const wanted = await shared(3);
    expect(wanted).toMatchObject({ code: 'B', cards: [{ heading: 'x' }, { heading: 'y', lines: [{ text: 'c' }] }] });
    expect([await shared(1), await shared(2)]).toEqual([wanted, wanted]);
    expect(new Set((await world.rows('notes')).map((it) => it['secret'])).size).toBe(1);
    const empty = {
      weight: null,
      extra: null,
      cover: null,
      gallery: [],
      card: null,
      cards: [],
      zone: [],
      secret: null,
    };
    await ok('PUT', '/api/notes/2', { data: empty });
    const cleared = await shared(2);
    expect(cleared).toMatchObject({ weight: null, card: null, cards: [], zone: [], gallery: { data: null } });
    expect([await shared(1), await shared(3)]).toEqual([cleared, cleared]);
    for (const table of [
      'components_parts_cards',
      'components_parts_lines',
      'notes_components',
      'files_related_morphs',
    ])
      expect([table, await world.rows(table)]).toEqual([table, []]);
    expect(await world.rows('components_parts_cards_components')).toEqual([]);
    expect(await world.rows('components_parts_cards_plains_links')).toEqual([]);
  });

  it('LO8: a change of one value inside a component brings the whole component', async () => {
    await newGroup(full);
    const { body } = await ok('GET', '/api/notes/1?populate[card][populate]=lines&populate[cards]=true');
    const { card, cards } = (body['data'] as { attributes: Record<string, never> }).attributes as unknown as {
      card: { id: number; lines: { id: number }[] };
      cards: { id: number }[];
    };
    await ok('PUT', '/api/notes/1', {
      data: {
        card: { id: card.id, heading: 'changed', lines: [{ id: card.lines[1]!.id, text: 'only' }] },
        cards: [{ id: cards[1]!.id }, { heading: 'new' }],
      },
    });
    const wanted = await shared(1);
    expect(wanted).toMatchObject({
      card: { heading: 'changed', lines: [{ text: 'only' }], plains: { data: [{}, {}] } },
      cards: [
        { heading: 'y', lines: [{ text: 'c' }] },
        { heading: 'new', lines: [] },
      ],
    });
    expect([await shared(2), await shared(3)]).toEqual([wanted, wanted]);
    expect((await world.rows('components_parts_cards')).length).toBe(3 * 4);
  });

  it('LO8: localized attributes, relations and uids stay its own, and such a write leaves siblings untouched', async () => {
    await newGroup({});
    const others = [await row(1), await row(3), await own(1), await own(3)];
    await ok('PUT', '/api/notes/2', {
      data: { title: 'neu', slug: 'neu', own: 1, line: { text: 'eigen' }, plain: 2, locale: 'de' },
    });
    expect([await row(1), await row(3), await own(1), await own(3)]).toEqual(others);
    expect(await own(2)).toMatchObject({ title: 'neu', line: { text: 'eigen' }, plain: { data: { id: 2 } } });
    await ok('PUT', '/api/notes/1', { data: { weight: 1, card: { heading: 'c' }, cover: 2 } });
    expect(await own(2)).toMatchObject({ title: 'neu', line: { text: 'eigen' }, media: { data: { id: 1 } } });
  });

  it('LO8: a new sibling changes the values of the others only where its body has some', async () => {
    await ok('POST', '/api/notes', { data: { code: 'A', weight: 1, card: { heading: 'first' }, cover: 1 } });
    const before = await row(1);
    await ok('POST', '/api/notes/1/localizations', { locale: 'de' });
    expect(await row(1)).toEqual(before);
    await ok('POST', '/api/notes/1/localizations', {
      locale: 'fr',
      weight: 2,
      card: { heading: 'second' },
      cover: null,
    });
    const wanted = await shared(3);
    expect(wanted).toMatchObject({ code: 'A', weight: 2, card: { heading: 'second' }, cover: { data: null } });
    expect([await shared(1), await shared(2)]).toEqual([wanted, wanted]);
  });

  it('LO8: siblings get a new version, so If-Match of the old one fails', async () => {
    await newGroup({});
    const tag = async (id: number): Promise<string> =>
      (await ok('GET', `/api/notes/${id}?publicationState=preview`)).etag;
    const [, second, third] = [await tag(1), await tag(2), await tag(3)];
    await ok('PUT', '/api/notes/2', { data: { title: 'own' } }, { 'if-match': second! });
    await ok('PUT', '/api/notes/3', { data: { title: 'own' } }, { 'if-match': third! });
    const current = await tag(3);
    await ok('PUT', '/api/notes/1', { data: { weight: 9 } });
    expect((await send('PUT', '/api/notes/3', { data: { title: 'x' } }, { 'if-match': current })).status).toBe(412);
    const versions = (await world.rows('notes')).map((it) => it['updated_at']);
    expect(new Set(versions.map(String)).size).toBe(1);
  });

  it('LO8: a refused write changes no sibling', async () => {
    await newGroup({ weight: 1 });
    const before = await world.rows('notes');
    expect((await send('PUT', '/api/notes/1', { data: { weight: 2, code: 5 } })).status).toBe(400);
    expect((await send('PUT', '/api/notes/1', { data: { weight: 2, plain: 99 } })).status).toBe(400);
    const stale = { 'if-match': '"0.x"' };
    expect((await send('PUT', '/api/notes/1', { data: { weight: 2 } }, stale)).status).toBe(412);
    expect(await world.rows('notes')).toEqual(before);
  });

  it('LO8: a draft cannot take a required value from its published sibling', async () => {
    await newGroup({});
    expect((await send('PUT', '/api/notes/2', { data: { code: null } })).faults).toEqual(['body.type code']);
    expect((await send('PUT', '/api/notes/2', { data: { cards: [{}] } })).faults).toEqual([
      'body.required cards.0.heading',
    ]);
    expect((await send('POST', '/api/notes/1/localizations', { locale: 'it', code: null })).faults).toEqual([
      'locale.invalid locale',
    ]);
    await ok('PUT', '/api/notes/1', { data: { publishedAt: null } });
    await ok('PUT', '/api/notes/2', { data: { code: null } });
    expect((await row(1))['code']).toBeNull();
    // and so a new sibling of incomplete drafts cannot be published
    await ok('DELETE', '/api/notes/3');
    const publishedAt = '2024-03-01T00:00:00.000Z';
    const refused = await send('POST', '/api/notes/1/localizations', { locale: 'fr', publishedAt });
    expect(refused.faults).toEqual(['body.required code']);
    await ok('POST', '/api/notes/1/localizations', { locale: 'fr', publishedAt, code: 'C' });
  });

  it('LO8: a unique value cannot be shared, in a component neither', async () => {
    await newGroup({});
    expect((await send('PUT', '/api/notes/1', { data: { serial: 's' } })).faults).toEqual(['body.unique serial']);
    const zone = [{ __component: 'parts.line', key: 'k' }];
    expect((await send('PUT', '/api/notes/1', { data: { zone } })).faults).toEqual(['body.unique zone.0.key']);
    await ok('PUT', '/api/notes/1', { data: { serial: null, line: { key: 'own' } } });
    const { body } = await ok('POST', '/api/notes', { data: { code: 'B', serial: 't', zone } });
    const { id } = body['data'] as { id: number };
    const refused = await send('POST', `/api/notes/${id}/localizations`, { locale: 'de' });
    expect(refused.faults).toEqual(['body.unique serial', 'body.unique key']);
    await ok('POST', `/api/notes/${id}/localizations`, { locale: 'de', serial: null, zone: [] });
    expect((await row(id))['serial']).toBeNull();
  });
});
