/** DR7, BO8, DR8, BO6: the constraints of schema files, on create and update, for drafts and published entries. */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { openedForTests } from '../world/opening.js';
import { type Data, dialects, files, said, useRelationsWorld } from '../world/relations/world.js';
import { newSmallWorld } from '../world/small.js';

const note = { __component: 'parts.note', text: 'x' };
const tiny = { __component: 'parts.tiny', sign: 'x' };

describe.each(dialects)('constraints on %s', (dialect) => {
  const world = useRelationsWorld(dialect);
  /** A form that satisfies every constraint. */
  const complete = async (more: Data = {}): Promise<Data> => {
    const [book] = await world.createMany('books', 1);
    return {
      title: 'Title',
      mark: 'abc',
      card: { label: 'c' },
      cards: [{ label: 'd' }],
      zone: [note],
      book,
      books: [book],
      cover: files.picture,
      ...more,
    };
  };
  const form = async (more: Data = {}): Promise<number> => world.create('forms', await complete(more));

  it('BO6: a complete form is accepted', async () => {
    const id = await form({
      code: 'ABC',
      amount: 1,
      steps: 3,
      ratio: 1.5,
      price: 100,
      big: '-5',
      choice: 'b',
      mail: 'a@example.org',
    });
    expect((await world.read(`/api/forms/${id}`)).attributes).toMatchObject({
      title: 'Title',
      amount: 1,
      steps: 3,
      ratio: 1.5,
      price: 100,
      big: '-5',
      choice: 'b',
    });
  });

  it('BO6: a column of others that must not be null is named', async () => {
    const small = await newSmallWorld(dialect, { types: { note: { attributes: { text: { type: 'string' } } } } });
    try {
      // SQLite adds no such column without a default
      const statements =
        dialect === 'sqlite'
          ? [
              'drop table notes',
              'create table notes (id integer primary key autoincrement not null, text varchar(255), created_at datetime, updated_at datetime, created_by_id integer, updated_by_id integer, tenant integer not null)',
            ]
          : ['alter table notes add column tenant integer not null'];
      await small.db.write(async (tx) => {
        for (const it of statements) await tx.run(small.db.dialect.compile(sql.raw(it)));
      });
      const { status, body } = await small.send('POST', '/api/notes', { data: { text: 'x' } });
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: { message: 'notes.tenant must be defined.' } });
    } finally {
      await small.close();
    }
  });

  it('BO6: a text that takes for ever to compare with its pattern is refused', async () => {
    const comparing = 'handle takes too long to compare with the following: "/^(?:[a-z]+-?)+$/"';
    const { status, messages } = await world.refused('POST', '/api/forms', {
      data: await complete({ code: 'abc', handle: `${'a'.repeat(100)}!` }),
    });
    expect([status, messages]).toEqual([400, ['code must match the following: "/^[A-Z]{3}$/"', comparing]]);
    await form({ handle: 'a'.repeat(100) });
  });

  it('BO6: required attributes must be present on POST; all missing ones are named in one response', async () => {
    const required = ['title', 'mark', 'card', 'cards', 'zone', 'book', 'books', 'cover'];
    const { status, message, paths, messages } = await world.refused('POST', '/api/forms', { data: {} });
    expect([status, message]).toEqual([400, `${required.length} errors occurred`]);
    expect([...paths].sort()).toEqual([...required].sort());
    expect(messages).toEqual(paths.map((path) => `${path} must be defined.`));
  });

  it.each(['title', 'mark', 'card', 'cards', 'zone', 'book', 'books', 'cover'])(
    'BO6: %s must not be null, on POST or PUT',
    async (name) => {
      const created = await world.refused('POST', '/api/forms', { data: await complete({ [name]: null }) });
      expect([created.status, created.paths]).toEqual([400, [name]]);
      const id = await form();
      const updated = await world.refused('PUT', `/api/forms/${id}`, { data: { [name]: null } });
      expect([updated.status, updated.name, updated.paths]).toEqual([400, 'ValidationError', [name]]);
      expect(updated.message).toContain(name);
    },
  );

  it.each<readonly [name: string, value: unknown, path: string, message: string]>([
    ['title', 'ab', 'title', 'title must be at least 3 characters'],
    ['title', '', 'title', 'title must be at least 3 characters'],
    ['title', 'x'.repeat(11), 'title', 'title must be at most 10 characters'],
    ['code', 'abc', 'code', 'code must match the following: "/^[A-Z]{3}$/"'],
    ['code', 'ABCD', 'code', 'code must match the following: "/^[A-Z]{3}$/"'],
    ['mark', '', 'mark', 'mark must match the following: "/^[a-z]+$/"'],
    ['mark', 'A', 'mark', 'mark must match the following: "/^[a-z]+$/"'],
    ['amount', 0, 'amount', 'amount must be greater than or equal to 1'],
    ['amount', 11, 'amount', 'amount must be less than or equal to 10'],
    ['amount', '11', 'amount', 'amount must be less than or equal to 10'],
    ['steps', 0, 'steps', 'steps must be greater than or equal to 1'],
    ['steps', 4, 'steps', 'steps must be less than or equal to 3'],
    ['ratio', 0.49, 'ratio', 'ratio must be greater than or equal to 0.5'],
    ['ratio', 1.51, 'ratio', 'ratio must be less than or equal to 1.5'],
    ['price', -0.01, 'price', 'price must be greater than or equal to 0'],
    ['price', 100.01, 'price', 'price must be less than or equal to 100'],
    ['big', '-6', 'big', 'big must be greater than or equal to -5'],
    ['big', '9007199254740994', 'big', 'big must be less than or equal to 9007199254740993'],
    ['choice', 'c', 'choice', 'choice must be one of the following values: a, b, '],
    ['mail', 'x', 'mail', 'mail must be a valid email'],
    ['mail', '', 'mail', 'mail cannot be empty'],
    ['slug', 'a b', 'slug', 'slug must match the following: "/^[A-Za-z0-9-_.~]*$/"'],
    ['cards', [], 'cards', 'cards field must have at least 1 items'],
    [
      'cards',
      [{ label: 'a' }, { label: 'b' }, { label: 'c' }],
      'cards',
      'cards field must have less than or equal to 2 items',
    ],
    [
      'cards',
      [{ label: 'a' }, { label: null }],
      'cards.1.label',
      'cards[1].label must be a `string` type, but the final value was: `null`.',
    ],
    ['cards', [{}], 'cards.0.label', 'cards[0].label must be defined.'],
    ['card', { label: 'a', count: 0 }, 'card.count', 'card.count must be greater than or equal to 1'],
    ['card', { label: 5 }, 'card.label', 'card.label must be a `string` type, but the final value was: `5`.'],
    ['spare', [{ sign: 'a' }], 'spare', 'spare field must have at least 2 items'],
    ['spare', [{}, {}, {}, {}], 'spare', 'spare field must have less than or equal to 3 items'],
    ['zone', [], 'zone', 'zone field must have at least 1 items'],
    ['zone', [note, tiny, note], 'zone', 'zone field must have less than or equal to 2 items'],
    ['spareZone', [note], 'spareZone', 'spareZone field must have at least 2 items'],
    ['books', [], 'books', ''],
    ['books', { set: [] }, 'books', ''],
    ['book', { set: [] }, 'book', ''],
    ['book', [], 'book', ''],
    ['cover', [], 'cover', ''],
    ['cover', { set: [] }, 'cover', ''],
  ])('BO6: %s %j is refused', async (name, value, path, message) => {
    const created = await world.refused('POST', '/api/forms', { data: await complete({ [name]: value }) });
    expect([created.status, created.name, created.paths]).toEqual([400, 'ValidationError', [path]]);
    expect(created.message).toContain(message);
    const id = await form();
    const updated = await world.refused('PUT', `/api/forms/${id}`, { data: { [name]: value } });
    expect([updated.status, updated.name, updated.paths]).toEqual([400, 'ValidationError', [path]]);
    expect(updated.message).toContain(message);
  });

  it.each<readonly [name: string, value: unknown]>([
    ['title', 'abc'],
    ['title', 'x'.repeat(10)],
    ['code', ''],
    ['code', null],
    ['amount', 10],
    ['steps', 1],
    ['big', '9007199254740993'],
    ['choice', null],
    ['spare', []],
    ['spare', [{}, {}]],
    ['spareZone', []],
    ['zone', [note, tiny]],
  ])('BO6: %s %j is accepted', async (name, value) => {
    const id = await form({ [name]: value });
    await world.update('forms', id, { [name]: value });
  });

  it('BO6: disconnect cannot empty a required relation, and an empty connect does not fill it', async () => {
    const data = await complete();
    const id = await world.create('forms', data);
    for (const change of [{ books: { disconnect: [data['book']] } }, { book: { disconnect: [data['book']] } }]) {
      const { status, paths } = await world.refused('PUT', `/api/forms/${id}`, { data: change });
      expect([status, paths], JSON.stringify(change)).toEqual([400, Object.keys(change)]);
    }
    for (const change of [{ books: { connect: [] } }, { book: { connect: [] } }, { books: { disconnect: [1] } }]) {
      const { status, paths } = await world.refused('POST', '/api/forms', { data: await complete(change) });
      expect([status, paths], JSON.stringify(change)).toEqual([400, Object.keys(change)]);
    }
  });

  describe('unique', () => {
    const samples: readonly (readonly [string, unknown, unknown])[] = [
      ['tag', 'one', 'One'],
      ['tag', '', ' '],
      ['words', 'a long text', 'another'],
      ['seat', 5, 6],
      ['born', '2024-01-02', '2024-01-03'],
      ['weight', '9007199254740993', '9007199254740992'],
      ['slug', 'here', 'Here'],
    ];
    it.each(samples)(
      'DR7: %s %j can be stored once, in drafts too; the own row and null are exempt',
      async (name, value, other) => {
        const draft = { publishedAt: null, cards: [{ label: 'a' }], zone: [note] };
        const first = await world.create('forms', { ...draft, [name]: value });
        for (const publishedAt of [null, undefined]) {
          const data = await complete({ [name]: value, ...(publishedAt === null ? { publishedAt } : {}) });
          const { status, message, paths } = await world.refused('POST', '/api/forms', { data });
          expect([status, message, paths]).toEqual([400, 'This attribute must be unique', [name]]);
        }
        const second = await world.create('forms', { ...draft, [name]: other });
        expect((await world.refused('PUT', `/api/forms/${second}`, { data: { [name]: value } })).paths).toEqual([name]);
        await world.update('forms', first, { [name]: value });
        await world.update('forms', second, { [name]: null });
        await world.update('forms', first, { [name]: null });
      },
    );

    it('BO8: unique in a component is checked against the component table, except for the component itself', async () => {
      const holder = await world.create('holders', { notes: [{ serial: 'n1' }] });
      const [stored] = (await world.read(`/api/holders/${holder}?populate=notes`)).attributes['notes'] as unknown as {
        id: number;
      }[];
      for (const data of [{ notes: [{ serial: 'n1' }] }, { zone: [{ ...note, serial: 'n1' }] }]) {
        const { status, paths } = await world.refused('POST', '/api/holders', { data });
        expect([status, paths]).toEqual([400, [`${Object.keys(data)[0]}.0.serial`]]);
      }
      await world.update('holders', holder, { notes: [{ id: stored!.id, serial: 'n1' }] });
    });

    it('BO8: a component that the write removes gives its unique values to the others', async () => {
      const partsOf = async (id: number, name: string): Promise<readonly { id: number; serial: string }[]> =>
        (await world.read(`/api/holders/${id}?populate[0]=notes&populate[1]=zone`)).attributes[name] as never;
      const holder = await world.create('holders', { notes: [{ serial: 'h1' }, { serial: 'h2' }] });
      const put = (data: Data) => world.update('holders', holder, data);
      await put({ notes: [{ serial: 'h2' }, { serial: 'h1' }] });
      const [first] = await partsOf(holder, 'notes');
      await put({ notes: [{ id: first!.id, serial: 'h1' }] });
      // also to those of another attribute, whichever is stored first
      await put({ notes: [], zone: [{ ...note, serial: 'h1' }] });
      await put({ notes: [{ serial: 'h1' }], zone: [{ ...note, serial: 'h2' }] });
      await put({ notes: [{ serial: 'h2' }], zone: [{ ...note, serial: 'h1' }] });
      expect((await partsOf(holder, 'notes')).map((it) => it.serial)).toEqual(['h2']);
      expect((await partsOf(holder, 'zone')).map((it) => it.serial)).toEqual(['h1']);
      const [kept] = await partsOf(holder, 'notes');
      const other = await world.create('holders', {});
      for (const [id, notes] of [
        [holder, [{ id: kept!.id }, { serial: 'h2' }]],
        [holder, [{ serial: 'h2' }, { serial: 'h2' }]],
        [holder, [{ serial: 'h1' }]],
        [other, [{ serial: 'h2' }]],
      ] as const)
        expect((await world.refused('PUT', `/api/holders/${id}`, { data: { notes } })).message).toBe(
          'This attribute must be unique',
        );
    });

    it('BO8: equal unique values in one request are refused', async () => {
      const { status, paths } = await world.refused('POST', '/api/holders', {
        data: {
          notes: [{ serial: 'twin' }, { serial: 'other' }, { serial: 'twin' }],
          zone: [{ ...note, serial: 'twin' }],
        },
      });
      expect(status).toBe(400);
      // one of the three equal values may remain
      expect(paths).toHaveLength(2);
      for (const path of paths) expect(['notes.0.serial', 'notes.2.serial', 'zone.0.serial']).toContain(path);
    });

    it.each<readonly [string, unknown]>([
      ['born', 'zz'],
      ['born', ''],
      ['born', 5],
      ['weight', { foo: 1 }],
      ['weight', { $gt: 1 }],
      ['weight', 'abc'],
      ['weight', ''],
      ['weight', true],
      ['tag', 'a\0b'],
      ['words', 'a\0b'],
      ['seat', 2147483648],
    ])('BO8: a unique %s of %j is refused', async (name, value) => {
      const {
        status,
        name: error,
        paths,
      } = await world.refused('POST', '/api/forms', { data: await complete({ [name]: value }) });
      expect([status, error, paths]).toEqual([400, 'ValidationError', [name]]);
    });

    it('BO8, R17: of many concurrent writes one succeeds, the others are refused', async () => {
      for (const [name, value] of [
        ['tag', 'raced'],
        ['slug', 'raced'],
      ] as const) {
        const answers = await Promise.all(
          Array.from({ length: 12 }, () =>
            world.send('POST', '/api/forms', {
              data: { publishedAt: null, cards: [{ label: 'a' }], zone: [note], [name]: value },
            }),
          ),
        );
        const statuses = answers.map((it) => it.status).sort();
        expect(statuses, name).toEqual([200, ...Array.from({ length: 11 }, () => 400)]);
        for (const answer of answers.filter((it) => it.status === 400)) expect(said(answer).paths).toEqual([name]);
        expect((await world.rows('forms')).filter((row) => row[name] === value)).toHaveLength(1);
      }
    });
  });

  describe('drafts', () => {
    it('DR7: required and minLength are not enforced for scalars, single components, relations and media', async () => {
      const id = await world.create('forms', { publishedAt: null, title: 'x', cards: [{ label: 'a' }], zone: [note] });
      await world.update('forms', id, { title: null, card: { label: null }, book: null, books: [], cover: null });
      await world.update('forms', id, { title: '', card: null });
      await world.create('forms', {
        publishedAt: null,
        title: null,
        mark: null,
        card: null,
        book: null,
        cards: [{ label: 'a' }],
        zone: [note],
      });
    });

    it.each<readonly [Data, string]>([
      [{ title: 'x'.repeat(11) }, 'title'],
      [{ code: 'x' }, 'code'],
      [{ amount: 11 }, 'amount'],
      [{ choice: 'z' }, 'choice'],
      [{ mail: 'z' }, 'mail'],
      [{ cards: [] }, 'cards'],
      [{ cards: [{}, {}, {}] }, 'cards'],
      [{ zone: [] }, 'zone'],
      [{ zone: [note, note, note] }, 'zone'],
      [{ spare: [{}] }, 'spare'],
    ])('DR7: %j is refused in a draft as well', async (change, path) => {
      const base = { publishedAt: null, cards: [{ label: 'a' }], zone: [note] };
      const created = await world.refused('POST', '/api/forms', { data: { ...base, ...change } });
      expect([created.status, created.paths]).toEqual([400, [path]]);
      const id = await world.create('forms', base);
      const updated = await world.refused('PUT', `/api/forms/${id}`, { data: change });
      expect([updated.status, updated.paths]).toEqual([400, [path]]);
    });

    it('BO6: required repeatable components and zones must be present', async () => {
      const { status, paths } = await world.refused('POST', '/api/forms', { data: { publishedAt: null } });
      expect([status, [...paths].sort()]).toEqual([400, ['cards', 'zone']]);
    });

    it('DR8: publishing an incomplete draft is refused with every fault; a complete one is published', async () => {
      const id = await world.create('forms', { publishedAt: null, title: 'x', cards: [{ label: 'a' }], zone: [note] });
      const now = new Date().toISOString();
      const { status, paths } = await world.refused('PUT', `/api/forms/${id}`, { data: { publishedAt: now } });
      expect([status, [...paths].sort()]).toEqual([400, ['book', 'books', 'card', 'cover', 'mark', 'title']]);
      const rest = await complete();
      const some = await world.refused('PUT', `/api/forms/${id}`, {
        data: { publishedAt: now, title: rest['title'], card: rest['card'], book: rest['book'] },
      });
      expect([some.status, [...some.paths].sort()]).toEqual([400, ['books', 'cover', 'mark']]);
      const entry = await world.update('forms', id, { ...rest, publishedAt: now });
      expect(entry.attributes['publishedAt']).toBe(now);
    });

    it('DR8: publishing checks stored components too', async () => {
      const data = await complete({ publishedAt: null, card: { label: null }, cards: [{ label: null }] });
      const created = await world.send('POST', '/api/forms', { data });
      expect(created.status, created.text).toBe(200);
      const { id } = (created.body as { data: { id: number } }).data;
      const { status, paths } = await world.refused('PUT', `/api/forms/${id}`, {
        data: { publishedAt: new Date().toISOString() },
      });
      expect([status, [...paths].sort()]).toEqual([400, ['card.label', 'cards.0.label']]);
    });

    it('DR8: publishing checks what the body does not say of components that it names by id', async () => {
      const data = await complete({ publishedAt: null, card: { label: null }, cards: [{ label: null }] });
      const created = await world.send('POST', '/api/forms?populate[card]=true&populate[cards]=true', { data });
      const { id, attributes } = (
        created.body as { data: { id: number; attributes: { card: { id: number }; cards: { id: number }[] } } }
      ).data;
      const [card, cards] = [{ id: attributes.card.id }, attributes.cards.map((it) => ({ id: it.id }))];
      const publishedAt = new Date().toISOString();
      const { status, paths } = await world.refused('PUT', `/api/forms/${id}`, { data: { publishedAt, card, cards } });
      expect([status, [...paths].sort()]).toEqual([400, ['card.label', 'cards.0.label']]);
      const labelled = {
        publishedAt,
        card: { ...card, label: 'a' },
        cards: cards.map((it) => ({ ...it, label: 'b' })),
      };
      expect((await world.update('forms', id, labelled)).attributes['publishedAt']).toBe(publishedAt);
    });

    it('DR7: an update that unpublishes and sets null is checked as a draft', async () => {
      const id = await form();
      expect((await world.update('forms', id, { publishedAt: null, title: null })).attributes).toMatchObject({
        publishedAt: null,
        title: null,
      });
    });

    it('DR6: POST publishes immediately unless the body says otherwise', async () => {
      const before = Date.now();
      const id = await form();
      const published = Date.parse(String((await world.read(`/api/forms/${id}`)).attributes['publishedAt']));
      expect(published).toBeGreaterThanOrEqual(before);
      expect(published).toBeLessThanOrEqual(Date.now());
      const draft = await world.send('POST', '/api/forms', { data: await complete({ publishedAt: null }) });
      const shown = (draft.body as { data: { id: number; attributes: Record<string, unknown> } }).data;
      expect(shown.attributes['publishedAt']).toBeNull();
      expect((await world.server.get(`/api/forms/${shown.id}`)).status).toBe(404);
      for (const publishedAt of ['x', true, {}, []]) {
        const { status, paths } = await world.refused('POST', '/api/forms', { data: await complete({ publishedAt }) });
        expect([status, paths], JSON.stringify(publishedAt)).toEqual([400, ['publishedAt']]);
      }
    });
  });

  it('DR8: a new component inside PUT needs its required attributes', async () => {
    const id = await form();
    for (const [data, path] of [
      [{ card: {} }, 'card.label'],
      [{ cards: [{}] }, 'cards.0.label'],
    ] as const) {
      const { status, paths } = await world.refused('PUT', `/api/forms/${id}`, { data });
      expect([status, paths]).toEqual([400, [path]]);
    }
  });

  it('CO4: a component that the zone does not list is refused', async () => {
    for (const __component of [
      'parts.stray',
      'parts.card',
      'parts.nope',
      '__proto__',
      'constructor',
      'toString',
      5,
      null,
      '',
      ['parts.note'],
      undefined,
    ]) {
      const { status, paths } = await world.refused('POST', '/api/forms', {
        data: await complete({ zone: [{ __component, text: 'x' }] }),
      });
      expect([status, paths], String(__component)).toEqual([400, ['zone.0.__component']]);
    }
  });

  it('BO6: the faults of all levels are reported in one response', async () => {
    const data = await complete({
      title: 'x',
      mark: 'A',
      amount: 99,
      card: { label: 5, count: 0 },
      cards: [{ label: 'a' }, {}],
      zone: [{ __component: 'parts.nope' }],
      books: true,
    });
    const { status, message, paths } = await world.refused('POST', '/api/forms', { data });
    expect(status).toBe(400);
    expect([...paths].sort()).toEqual([
      'amount',
      'books',
      'card.count',
      'card.label',
      'cards.1.label',
      'mark',
      'title',
      'zone.0.__component',
    ]);
    expect(message).toBe('8 errors occurred');
  });
});

describe.each(dialects)('uids of components on %s', (dialect) => {
  const badges = { type: 'component', component: 'parts.badge', repeatable: true };
  const world = openedForTests(() =>
    newSmallWorld(dialect, {
      types: { coat: { attributes: { front: badges, back: badges } } },
      components: { 'parts.badge': { code: { type: 'uid' } } },
    }),
  );

  it('BO8: the uid of a component that the write removes is free, whichever attribute comes first', async () => {
    const codes = async (method: string, url: string, data: unknown): Promise<unknown> => {
      const { body } = await world.send(method, `/api/${url}?populate=*`, { data });
      const { front, back } = (body as { data: { attributes: Record<string, { code: string }[]> } }).data.attributes;
      return [front!.map((it) => it.code), back!.map((it) => it.code)];
    };
    await codes('POST', 'coats', { front: [{ code: 'a' }, { code: 'b' }], back: [] });
    expect(await codes('PUT', 'coats/1', { front: [{ code: 'b' }], back: [{ code: 'a' }] })).toEqual([['b'], ['a']]);
    expect(await codes('PUT', 'coats/1', { front: [{ code: 'a' }], back: [{ code: 'b' }] })).toEqual([['a'], ['b']]);
  });
});

describe.each(dialects)('unique decimals on %s', (dialect) => {
  const price = { price: { type: 'decimal', unique: true } };
  const world = openedForTests(() =>
    newSmallWorld(dialect, {
      types: {
        offer: { attributes: { ...price, steps: { type: 'component', component: 'parts.step', repeatable: true } } },
      },
      components: { 'parts.step': price },
    }),
  );

  it('BO8: are compared as the database holds them; only PostgreSQL rounds', async () => {
    const statusOf = async (data: unknown): Promise<number> =>
      (await world.send('POST', '/api/offers', { data })).status;
    const again = dialect === 'postgres' ? 400 : 200;
    for (const [first, second] of [
      [1, 1.001],
      [2.005, 2.01],
      [-0.004, 0],
      [1234567.895, 1234567.9],
    ]) {
      expect(await statusOf({ price: first })).toBe(200);
      expect(await statusOf({ price: first })).toBe(400);
      expect(await statusOf({ price: second }), `${first} ${second}`).toBe(again);
      expect(await statusOf({ steps: [{ price: first }, { price: second }] })).toBe(again);
    }
    expect(await statusOf({ price: 2 })).toBe(200);
  });
});

describe.each(dialects)('patterns on %s', (dialect) => {
  it('BO6: texts that do not match are told apart, whatever blanks patterns and texts have', async () => {
    const pattern = (regex: string) => ({ type: 'string', regex });
    const attributes = { one: pattern('(x)?y|^q'), two: pattern('(x)?y|^q (z)*|k') };
    const world = await newSmallWorld(dialect, { types: { probe: { attributes } } });
    try {
      // one pattern and text, with a blank in between, read like the others
      const answer = await world.send('POST', '/api/probes', { data: { one: '(z)*|k k', two: 'k' } });
      expect(answer.status).toBe(400);
      expect(said(answer).paths).toEqual(['one']);
    } finally {
      await world.close();
    }
  });
});

describe('a sequence that is behind its table on postgres', () => {
  const world = openedForTests(() =>
    newSmallWorld('postgres', { types: { memo: { attributes: { text: { type: 'string' } } } } }),
  );

  it('BO8: is a fault of the database, which the log names with what repairs it, and stores nothing', async () => {
    const send = (text: string) => world.send('POST', '/api/memos', { data: { text } });
    expect([(await send('one')).status, (await send('two')).status]).toEqual([200, 200]);
    const back = world.db.dialect.compile(sql`select setval('memos_id_seq', 1)`);
    await world.db.write((tx) => tx.run(back));
    const answer = await send('three');
    expect([answer.status, answer.text]).toEqual([500, expect.not.stringContaining('unique')]);
    expect(world.logged.at(-1)).toMatch(/memos_pkey: the next id is taken\. .* dovetail adopt shows/);
    expect((await world.rows('memos')).map((it) => it['text'])).toEqual(['one', 'two']);
  });
});
