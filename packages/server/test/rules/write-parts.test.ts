/**
 * CO3, CO9: components, zones and media are replaced, kept by id, added, removed and ordered; nothing is left behind.
 */
import { describe, expect, it } from 'vitest';
import { type Data, type Entry, files, useRelationsWorld } from '../world/relations/world.js';
import { withAndWithoutHooks } from '../world/v4-hooks.js';

interface Part {
  readonly id: number;
  readonly __component?: string;
  readonly [field: string]: unknown;
}

describe.each(withAndWithoutHooks)('components, zones and media on $dialect $title', ({ dialect, people }) => {
  const world = useRelationsWorld(dialect, {}, people);
  const partsOf = async (
    holder: number,
    attribute: string,
    populate = `populate=${attribute}`,
  ): Promise<readonly Part[]> => {
    const value = (await world.read(`/api/holders/${holder}?${populate}`)).attributes[attribute] as unknown as
      | Part
      | Part[]
      | null;
    return value === null ? [] : Array.isArray(value) ? value : [value];
  };
  const labels = async (holder: number, attribute: string): Promise<readonly unknown[]> =>
    (await partsOf(holder, attribute)).map((it) => it['label'] ?? it['text']);
  const only = <T>(items: readonly T[]): T => {
    expect(items).toHaveLength(1);
    return items[0]!;
  };
  const books = async (count: number): Promise<readonly number[]> => world.createMany('books', count);
  /** Rows of all tables that components, zones and media write to. */
  const partRows = async (): Promise<Readonly<Record<string, number>>> => {
    const counts: Record<string, number> = {};
    for (const table of ['cards', 'inners', 'tinies', 'notes'].map((it) => `components_parts_${it}`))
      counts[table] = (await world.rows(table)).length;
    for (const table of [
      'holders_components',
      'components_parts_cards_components',
      'components_parts_inners_components',
      'files_related_morphs',
      'components_parts_cards_single_links',
      'components_parts_cards_list_links',
      'components_parts_cards_many_links',
      'components_parts_inners_books_links',
      'components_parts_notes_books_links',
    ])
      counts[table] = (await world.rows(table)).length;
    return counts;
  };
  /** A card with every attribute set. */
  const fullCard = async (label: string): Promise<Data> => {
    const [a, b] = await books(2);
    return {
      label,
      single: a,
      list: [b, a],
      many: [a, b],
      cover: files.picture,
      gallery: [files.photo, files.drawing],
      inner: { word: 'in', books: [a], picture: files.paper, tiny: { sign: 'deep' } },
      inners: [
        { word: 'one', books: [b, a], tiny: { sign: 'deeper' } },
        { word: 'two', picture: files.photo },
      ],
    };
  };
  const deep =
    'populate[card][populate][inner][populate]=*&populate[card][populate][inners][populate]=*&populate[card][populate][many]=true&populate[card][populate][gallery]=true';

  it('CO1: POST creates all components anew, whatever ids they carry', async () => {
    const first = await world.create('holders', {
      card: { label: 'a' },
      zone: [{ __component: 'parts.note', text: 'n' }],
    });
    const card = only(await partsOf(first, 'card'));
    const second = await world.create('holders', {
      card: { id: card.id, label: 'b' },
      cards: [{ id: 2_000_000, label: 'c' }],
      zone: [{ __component: 'parts.note', id: 1, text: 'm' }],
    });
    expect(only(await partsOf(second, 'card')).id).not.toBe(card.id);
    expect(await labels(second, 'card')).toEqual(['b']);
    expect(await labels(second, 'cards')).toEqual(['c']);
    expect(await labels(first, 'card')).toEqual(['a']);
    await world.expectNoOrphans();
  });

  it('CO2: a single component without id replaces the stored one, of which nothing is left', async () => {
    const holder = await world.create('holders', { name: 'x' });
    const before = await partRows();
    await world.update('holders', holder, { card: await fullCard('old') });
    const old = only(await partsOf(holder, 'card'));
    await world.update('holders', holder, { card: { label: 'new' } });
    const now = only(await partsOf(holder, 'card', deep));
    expect(now.id).not.toBe(old.id);
    expect(now).toMatchObject({ label: 'new', note: 'blank', inner: null, inners: [], many: { data: [] } });
    await world.expectNoOrphans();
    await world.update('holders', holder, { card: null });
    expect(await partRows()).toEqual(before);
  });

  it('CO7: a single component with its id is merged, and so are nested ones', async () => {
    const holder = await world.create('holders', { card: await fullCard('a') });
    const card = only(await partsOf(holder, 'card', deep)) as Part & {
      inner: Part;
      inners: Part[];
      many: { data: Entry[] };
    };
    await world.update('holders', holder, { card: { id: String(card.id), count: 3 } });
    expect(only(await partsOf(holder, 'card', deep))).toEqual({ ...card, count: 3 });
    await world.update('holders', holder, {
      card: {
        id: card.id,
        inner: { id: card.inner.id, word: 'changed' },
        inners: [{ word: 'new' }, { id: card.inners[0]!.id }],
      },
    });
    const after = only(await partsOf(holder, 'card', deep)) as Part & { inner: Part; inners: Part[] };
    expect(after.inner).toEqual({ ...card.inner, word: 'changed' });
    expect(after.inners.map((it) => [it['word'], it.id === card.inners[0]!.id])).toEqual([
      ['new', false],
      ['one', true],
    ]);
    expect(after.inners[1]).toEqual(card.inners[0]);
    await world.update('holders', holder, { card: { id: card.id, inner: { word: 'fresh' } } });
    const fresh = only(await partsOf(holder, 'card', deep)) as Part & { inner: Part };
    expect(fresh.inner.id).not.toBe(card.inner.id);
    expect(fresh.inner).toMatchObject({ word: 'fresh', tiny: null });
    await world.expectNoOrphans();
  });

  it('CO3: a repeatable component: the stored order is the given order; elements are kept, added and removed', async () => {
    const holder = await world.create('holders', { cards: [{ label: 'a' }, await fullCard('b'), { label: 'c' }] });
    const [a, b, c] = (await partsOf(holder, 'cards')) as [Part, Part, Part];
    await world.update('holders', holder, {
      cards: [{ id: c.id }, { label: 'd' }, { id: String(a.id), label: 'A' }, { id: c.id, label: 'again' }],
    });
    expect(await labels(holder, 'cards')).toEqual(['c', 'd', 'A']);
    const ids = (await partsOf(holder, 'cards')).map((it) => it.id);
    expect([ids[0], ids[2]]).toEqual([c.id, a.id]);
    expect(ids).not.toContain(b.id);
    expect((await world.rows('components_parts_cards')).some((it) => it['id'] === b.id)).toBe(false);
    await world.expectNoOrphans();
    await world.update('holders', holder, { cards: [] });
    expect(await partsOf(holder, 'cards')).toEqual([]);
    await world.expectNoOrphans();
  });

  it('CO4: a zone: elements are kept by component and id, the stored order is the given order', async () => {
    const holder = await world.create('holders', {
      zone: [
        { __component: 'parts.note', text: 'n' },
        { __component: 'parts.card', label: 'c', many: await books(2) },
        { __component: 'parts.note', text: 'm' },
      ],
    });
    const [n, c, m] = (await partsOf(holder, 'zone')) as [Part, Part, Part];
    expect([n, c, m].map((it) => it.__component)).toEqual(['parts.note', 'parts.card', 'parts.note']);
    await world.update('holders', holder, {
      zone: [
        { __component: 'parts.card', id: c.id, note: 'kept' },
        { __component: 'parts.note', text: 'new' },
        { __component: 'parts.note', id: String(n.id) },
      ],
    });
    const after = await partsOf(holder, 'zone', 'populate[zone][populate]=*');
    expect(after.map((it) => [it.__component, it['label'] ?? it['text']])).toEqual([
      ['parts.card', 'c'],
      ['parts.note', 'new'],
      ['parts.note', 'n'],
    ]);
    expect([after[0]!.id, after[2]!.id]).toEqual([c.id, n.id]);
    expect((after[0] as unknown as { many: { data: unknown[] } }).many.data).toHaveLength(2);
    expect((await world.rows('components_parts_notes')).some((it) => it['id'] === m.id)).toBe(false);
    await world.expectNoOrphans();
    await world.update('holders', holder, { zone: [] });
    expect(await partsOf(holder, 'zone')).toEqual([]);
    await world.expectNoOrphans();
  });

  it('CO2: components of absent attributes are unchanged', async () => {
    const holder = await world.create('holders', {
      card: await fullCard('a'),
      cards: [{ label: 'b' }],
      zone: [{ __component: 'parts.note', text: 'n' }],
    });
    const before = await partRows();
    const card = only(await partsOf(holder, 'card', deep));
    await world.update('holders', holder, { name: 'changed' });
    expect(only(await partsOf(holder, 'card', deep))).toEqual(card);
    expect(await partRows()).toEqual(before);
  });

  it.each<
    readonly [
      string,
      (
        own: { card: number; cards: number; zone: number },
        other: { card: number; cards: number; zone: number },
      ) => Data,
      string,
    ]
  >([
    ['of another entry', (_own, other) => ({ card: { id: other.card, label: 'x' } }), 'card'],
    [
      'of another entry, repeatable',
      (_own, other) => ({ cards: [{ label: 'x' }, { id: other.cards, label: 'x' }] }),
      'cards',
    ],
    [
      'of another entry, zone',
      (_own, other) => ({ zone: [{ __component: 'parts.card', id: other.zone, label: 'x' }] }),
      'zone',
    ],
    ['of another attribute', (own) => ({ card: { id: own.cards, label: 'x' } }), 'card'],
    ['of another attribute, repeatable', (own) => ({ cards: [{ id: own.card, label: 'x' }] }), 'cards'],
    ['of another component', (own) => ({ zone: [{ __component: 'parts.note', id: own.zone, text: 'x' }] }), 'zone'],
    ['that does not exist', () => ({ card: { id: 2_000_000, label: 'x' } }), 'card'],
    ['null', () => ({ card: { id: null, label: 'x' } }), 'card'],
    ['null, repeatable', () => ({ cards: [{ id: null, label: 'x' }] }), 'cards'],
    ['that is no id', () => ({ card: { id: 'abc', label: 'x' } }), 'card'],
    ['zero', () => ({ cards: [{ id: 0, label: 'x' }] }), 'cards'],
    ['a list', () => ({ cards: [{ id: [1], label: 'x' }] }), 'cards'],
  ])('CO6: an id %s is refused', async (_what, change, path) => {
    const make = async (): Promise<{ holder: number; ids: { card: number; cards: number; zone: number } }> => {
      // as many notes as cards, so that ids of different components are not equal by coincidence
      const holder = await world.create('holders', {
        card: { label: 'a' },
        cards: [{ label: 'b' }],
        zone: [{ __component: 'parts.card', label: 'c' }],
      });
      const first = async (attribute: string): Promise<number> => (await partsOf(holder, attribute))[0]!.id;
      return { holder, ids: { card: await first('card'), cards: await first('cards'), zone: await first('zone') } };
    };
    const [own, other] = [await make(), await make()];
    const { status, name, message } = await world.refused('PUT', `/api/holders/${own.holder}`, {
      data: change(own.ids, other.ids),
    });
    expect([status, name]).toEqual([400, 'ApplicationError']);
    expect(message).toContain('are not related to the entity');
    expect(message).toContain(path);
  });

  it.each<readonly [Data, string]>([
    [{ card: 5 }, 'card'],
    [{ card: 'x' }, 'card'],
    [{ card: true }, 'card'],
    [{ card: [] }, 'card'],
    [{ card: [{ label: 'x' }] }, 'card'],
    [{ cards: null }, 'cards'],
    [{ cards: {} }, 'cards'],
    [{ cards: { label: 'x' } }, 'cards'],
    [{ cards: 'x' }, 'cards'],
    [{ cards: [null] }, 'cards.0'],
    [{ cards: [5] }, 'cards.0'],
    [{ cards: [[]] }, 'cards.0'],
    [{ zone: null }, 'zone'],
    [{ zone: {} }, 'zone'],
    [{ zone: 'x' }, 'zone'],
    [{ zone: [null] }, 'zone.0'],
    [{ zone: ['parts.note'] }, 'zone.0'],
    [{ zone: [{}] }, 'zone.0.__component'],
    [{ zone: [{ text: 'x' }] }, 'zone.0.__component'],
    [{ zone: [{ __component: 'parts.stray' }] }, 'zone.0.__component'],
    [{ zone: [{ __component: 'parts.note' }, { __component: '__proto__' }] }, 'zone.1.__component'],
    [{ zone: [{ __component: 'constructor' }] }, 'zone.0.__component'],
    [{ zone: [{ __component: 'toString' }] }, 'zone.0.__component'],
    [{ card: { label: 'x', nope: 1 } }, 'card.nope'],
    [{ card: { label: 'x', inner: { nope: 1 } } }, 'card.inner.nope'],
    [{ cards: [{ label: 'x', inners: [{ wrod: 'x' }] }] }, 'cards.0.inners.0.wrod'],
    [{ zone: [{ __component: 'parts.note', nope: 1 }] }, 'zone.0.nope'],
    [{ card: { label: 'x', many: [2_000_000] } }, 'card.many'],
    [{ card: { label: 'x', inner: { books: { connect: [2_000_000] } } } }, 'card.inner.books'],
    [{ cards: [{ label: 'x', gallery: [2_000_000] }] }, 'cards.0.gallery'],
    [{ zone: [{ __component: 'parts.note', books: true }] }, 'zone.0.books'],
    [{ card: { label: 'x', count: 0 } }, 'card.count'],
  ])('CO4, CO5, BO10: %j is refused and nothing changes', async (change, path) => {
    const [a] = await books(1);
    const holder = await world.create('holders', {
      card: { label: 'kept', many: [a] },
      cards: [{ label: 'kept' }],
      zone: [{ __component: 'parts.note', text: 'kept' }],
      gallery: [1, 2],
    });
    for (const [method, url, data] of [
      ['POST', '/api/holders', change],
      ['PUT', `/api/holders/${holder}`, { name: 'changed', gallery: [3], card: { label: 'new' }, ...change }],
    ] as const) {
      const { status, name, paths } = await world.refused(method, url, { data });
      expect([status, name, paths], method).toEqual([400, 'ValidationError', [path]]);
    }
  });

  it('BO10: a valid and an invalid component in one PUT change nothing', async () => {
    const holder = await world.create('holders', {
      card: await fullCard('a'),
      cards: [{ label: 'b' }],
      zone: [{ __component: 'parts.note', text: 'n' }],
    });
    const { status } = await world.refused('PUT', `/api/holders/${holder}`, {
      data: {
        cards: [],
        zone: [],
        card: { label: 'x', many: { connect: [{ id: 1, position: { after: 2_000_000 } }] } },
      },
    });
    expect(status).toBe(400);
  });

  it('CO3: 2000 elements are written at once; more than the limit are refused', async () => {
    const cards = (count: number): Data => ({ notes: Array.from({ length: count }, (_it, i) => ({ text: `n${i}` })) });
    const holder = await world.create('holders', cards(2000));
    expect((await labels(holder, 'notes')).map(String)).toEqual(Array.from({ length: 2000 }, (_it, i) => `n${i}`));
    expect((await world.refused('POST', '/api/holders', { data: cards(5001) })).status).toBe(400);
    await world.update('holders', holder, { notes: [] });
    await world.expectNoOrphans();
  });

  it('CO2: deleting an entry deletes everything nested in it; related entries and files stay', async () => {
    const [a] = await books(1);
    const before = await partRows();
    const [booksBefore, filesBefore] = [(await world.rows('books')).length, (await world.rows('files')).length];
    const holder = await world.create('holders', {
      card: await fullCard('a'),
      cards: [await fullCard('b'), { label: 'c' }],
      zone: [
        { __component: 'parts.card', ...(await fullCard('d')) },
        { __component: 'parts.note', text: 'n', books: [a] },
      ],
      notes: [{ text: 'x' }],
      cover: files.picture,
      gallery: [files.photo, files.picture],
    });
    expect((await world.send('DELETE', `/api/holders/${holder}`)).status).toBe(200);
    expect(await partRows()).toEqual(before);
    expect((await world.rows('books')).length).toBe(booksBefore + 6);
    expect((await world.rows('files')).length).toBe(filesBefore);
    await world.expectNoOrphans();
  });

  it('ST4: link rows of components are stored as v4 stores them', async () => {
    const holder = await world.create('holders', {
      card: { label: 'a' },
      cards: [{ label: 'b' }, { label: 'c' }],
      zone: [
        { __component: 'parts.note', text: 'n' },
        { __component: 'parts.card', label: 'd' },
      ],
    });
    const rows = (await world.rows('holders_components')).filter((it) => it['entity_id'] === holder);
    const shown = rows.map((it) => [
      it['field'],
      it['component_type'],
      it['order'] === null ? null : Number(it['order']),
    ]);
    expect(shown).toEqual(
      expect.arrayContaining([
        ['card', 'parts.card', null],
        ['cards', 'parts.card', 1],
        ['cards', 'parts.card', 2],
        ['zone', 'parts.note', 1],
        ['zone', 'parts.card', 2],
      ]),
    );
    expect(shown).toHaveLength(5);
  });

  it('BO7: a component given with its id keeps absent attributes and gets no defaults', async () => {
    const holder = await world.create('holders', { card: { label: 'a', note: null } });
    const card = only(await partsOf(holder, 'card'));
    await world.update('holders', holder, { card: { id: card.id, label: 'b' } });
    expect(only(await partsOf(holder, 'card'))).toMatchObject({ label: 'b', note: null });
  });

  describe('media', () => {
    const { picture, photo, drawing } = files;
    const shownIds = (holder: number, name: string): Promise<readonly number[]> => world.ids('holders', holder, name);

    it.each<readonly [unknown, readonly number[]]>([
      [picture, [picture]],
      [String(photo), [photo]],
      [{ id: photo }, [photo]],
      [
        [drawing, picture],
        [drawing, picture],
      ],
      [
        [{ id: drawing }, { id: picture }],
        [drawing, picture],
      ],
      [
        ['2', '1'],
        [photo, picture],
      ],
      [
        [1, '2', { id: '3' }],
        [picture, photo, drawing],
      ],
      [
        [photo, photo, picture],
        [photo, picture],
      ],
      [{ set: [drawing, photo] }, [drawing, photo]],
      [{ set: [] }, []],
      [null, []],
      [[], []],
    ])('CO9: multiple media %j', async (value, ids) => {
      const created = await world.create('holders', { gallery: value });
      expect(await shownIds(created, 'gallery')).toEqual(ids);
      const holder = await world.create('holders', { gallery: [photo], cover: photo });
      await world.update('holders', holder, { gallery: value });
      expect(await shownIds(holder, 'gallery')).toEqual(ids);
      expect(await shownIds(holder, 'cover')).toEqual([photo]);
      const rows = (await world.rows('files_related_morphs')).filter(
        (it) => it['related_id'] === holder && it['related_type'] === 'api::holder.holder' && it['field'] === 'gallery',
      );
      expect(rows).toHaveLength(ids.length);
      expect(rows.map((it) => Number(it['order'])).sort()).toEqual(ids.map((_id, i) => i + 1));
    });

    it.each<readonly [unknown, readonly number[]]>([
      [picture, [picture]],
      ['2', [photo]],
      [{ id: photo }, [photo]],
      [[drawing], [drawing]],
      [{ set: [drawing] }, [drawing]],
      [null, []],
      [[], []],
      [{ set: [] }, []],
    ])('CO9: single media %j', async (value, ids) => {
      const holder = await world.create('holders', { cover: photo, gallery: [picture] });
      await world.update('holders', holder, { cover: value });
      expect(await shownIds(holder, 'cover')).toEqual(ids);
      expect(await shownIds(holder, 'gallery')).toEqual([picture]);
      expect(await shownIds(await world.create('holders', { cover: value }), 'cover')).toEqual(ids);
    });

    it('CO9: single media with several ids stores only one', async () => {
      const holder = await world.create('holders', { cover: [drawing, picture] });
      expect(await shownIds(holder, 'cover')).toEqual([drawing]);
      const { body } = await world.server.get(`/api/holders?filters[id]=${holder}&filters[cover]=${picture}`);
      expect((body as { data: unknown[] }).data).toEqual([]);
    });

    it('CO9, CO10: refused values change nothing, and the error names the path', async () => {
      const holder = await world.create('holders', {
        cover: picture,
        gallery: [picture, photo],
        card: { label: 'x', cover: picture },
      });
      const card = only(await partsOf(holder, 'card'));
      for (const name of ['cover', 'gallery']) {
        for (const value of [
          2_000_000,
          [picture, 2_000_000],
          { set: [2_000_000] },
          { id: 'x' },
          { id: null },
          {},
          { foo: [1] },
          true,
          '',
          0,
          -1,
          1.5,
          ['x'],
          [null],
          [[1]],
          { set: 1 },
          'abc',
        ]) {
          const {
            status,
            name: error,
            paths,
            message,
          } = await world.refused('PUT', `/api/holders/${holder}`, { data: { [name]: value } });
          expect.soft([status, error], `${name} ${JSON.stringify(value)}`).toEqual([400, 'ValidationError']);
          expect.soft(paths[0]?.split('.')[0], `${name} ${JSON.stringify(value)}`).toBe(name);
          if (JSON.stringify(value).includes('2000000')) expect.soft(message).toContain('of type plugin::upload.file');
        }
      }
      const inside = await world.refused('PUT', `/api/holders/${holder}`, {
        data: { card: { id: card.id, cover: 2_000_000 } },
      });
      expect([inside.status, inside.paths]).toEqual([400, ['card.cover']]);
    });

    it('CO8: media inside components and zones', async () => {
      const holder = await world.create('holders', {
        card: { label: 'x', cover: picture, gallery: [drawing, photo], inner: { picture: photo } },
        zone: [{ __component: 'parts.card', label: 'z', gallery: [photo, picture] }],
      });
      const shown = async (): Promise<unknown> => {
        const { attributes } = await world.read(
          `/api/holders/${holder}?populate[card][populate][cover][fields]=id&populate[card][populate][gallery][fields]=id&populate[card][populate][inner][populate][picture][fields]=id&populate[zone][populate]=gallery`,
        );
        const { card, zone } = attributes as unknown as {
          card: { cover: { data: Entry | null }; gallery: { data: Entry[] }; inner: { picture: { data: Entry } } };
          zone: { gallery: { data: Entry[] } }[];
        };
        return [
          card.cover.data?.id ?? null,
          card.gallery.data?.map((it) => it.id) ?? [],
          card.inner.picture.data.id,
          zone[0]!.gallery.data.map((it) => it.id),
        ];
      };
      expect(await shown()).toEqual([picture, [drawing, photo], photo, [photo, picture]]);
      const card = only(await partsOf(holder, 'card'));
      await world.update('holders', holder, { card: { id: card.id, cover: null, gallery: { set: [photo] } } });
      expect(await shown()).toEqual([null, [photo], photo, [photo, picture]]);
      await world.expectNoOrphans();
    });

    it('Q12: empty multiple media are {data:null}', async () => {
      const holder = await world.create('holders');
      expect((await world.read(`/api/holders/${holder}?populate=gallery,cover`)).attributes).toMatchObject({
        gallery: { data: null },
        cover: { data: null },
      });
    });
  });
});
