/** F1 to F4, and the JSON form of every scalar type (F8, F5). */
import { describe, expect, it } from 'vitest';
import type { Uid } from '../../src/model/model.js';
import { dialects, type Entry, meta, times, transcript, useWorld } from '../world/world.js';

const { createdAt, updatedAt } = times;

describe.each(dialects)('fields on %s', (dialect) => {
  const world = useWorld(dialect);

  it('F1: only the named fields are in attributes', async () => {
    const { body } = await world.get('/api/films?fields[0]=title&fields[1]=year');
    expect(body).toEqual({
      data: [
        { id: 1, attributes: { title: 'Éclair', year: 1911 } },
        { id: 2, attributes: { title: 'éclair de lune', year: 1920 } },
        { id: 3, attributes: { title: '100% Wool', year: -44 } },
        { id: 4, attributes: { title: 'under_score', year: 1920 } },
        { id: 5, attributes: { title: 'underXscore', year: 1931 } },
        { id: 7, attributes: { title: 'The Cat 😺', year: null } },
        { id: 8, attributes: { title: null, year: 1950 } },
      ],
      meta: meta(7),
    });
  });

  it.each([
    'fields[0]=title&fields[1]=year',
    'fields[]=title&fields[]=year',
    'fields=title&fields=year',
    'fields[5]=title&fields[2]=year',
    'fields%5B0%5D=title&fields%5B1%5D=year',
    'fields[0]=title&fields[1]=year&fields[2]=title',
    'fields[0]=id&fields[1]=title&fields[2]=year',
  ])('F1: %s is a list of names', async (query) => {
    const { data } = await world.read<unknown>(`/api/films/1?${query}`);
    expect(data).toEqual({ id: 1, attributes: { title: 'Éclair', year: 1911 } });
  });

  it('F1: fields=id leaves no attributes', async () => {
    expect((await world.get('/api/films/1?fields=id')).body).toEqual({ data: { id: 1, attributes: {} }, meta: {} });
    expect((await world.read('/api/films?fields[0]=id&pagination[pageSize]=1')).data).toEqual([
      { id: 1, attributes: {} },
    ]);
  });

  it('F1: the filter and sort columns do not appear in attributes (F6)', async () => {
    const { data } = await world.read(
      '/api/films?fields=id&sort=year:desc&filters[genres][name]=Drama&filters[year][$gt]=0',
    );
    expect(data).toEqual([
      { id: 2, attributes: {} },
      { id: 1, attributes: {} },
    ]);
  });

  it('F2: every scalar by default, in the JSON form of its type', async () => {
    expect((await world.get('/api/reels/1')).body).toEqual({
      data: {
        id: 1,
        attributes: {
          label: 'Reel one',
          remark: 'two\nlines',
          report: '# Report',
          condition: 'mint',
          contact: 'a@example.org',
          barcode: 'reel-1',
          recordedOn: '1911-02-28',
          startsAt: '10:20:30.123',
          receivedAt: '2023-11-14T22:13:20.123Z',
          scannedAt: '1709251200000',
          frames: 24,
          bytes: '9007199254740993',
          length: 1.5,
          price: 12.5,
          nitrate: true,
          metadata: { b: [1, 'é'], a: null },
          keywords: ['x', 'y'],
          transcript,
          createdAt,
          updatedAt,
        },
      },
      meta: {},
    });
  });

  it('F2: fields without a value are null, an empty string stays empty', async () => {
    expect((await world.read<unknown>('/api/reels/2')).data).toEqual({
      id: 2,
      attributes: {
        label: '',
        remark: null,
        report: null,
        condition: null,
        contact: null,
        barcode: null,
        recordedOn: null,
        startsAt: null,
        receivedAt: null,
        scannedAt: null,
        frames: null,
        bytes: null,
        length: null,
        price: null,
        nitrate: null,
        metadata: null,
        keywords: null,
        transcript: null,
        createdAt,
        updatedAt,
      },
    });
  });

  it('F2: the limits of each range are exact (F8)', async () => {
    const names = [
      'condition',
      'recordedOn',
      'startsAt',
      'receivedAt',
      'scannedAt',
      'frames',
      'bytes',
      'length',
      'price',
    ];
    const { data } = await world.read(`/api/reels?filters[id][$gt]=2&${names.map((it) => `fields=${it}`).join('&')}`);
    const values = data.map((it) => names.map((name) => it.attributes[name]));
    expect(values).toEqual([
      [
        'worn',
        '0999-12-31',
        '01:30:00.000',
        '1969-12-31T23:59:59.999Z',
        '-1',
        -7,
        '-9223372036854775808',
        -0.25,
        -99_999.99,
      ],
      [
        'a value the schema file does not know',
        '2024-02-29',
        '23:59:59.999',
        '9999-12-31T23:59:59.999Z',
        '0',
        2_147_483_647,
        '9223372036854775807',
        0.1,
        0.1,
      ],
      [null, null, null, '1970-01-01T00:00:00.000Z', null, 0, '0', 0, 0],
    ]);
  });

  it('F2: a json field holds any JSON value', async () => {
    const { data } = await world.read('/api/reels?fields=metadata&fields=keywords');
    expect(data.map((it) => it.attributes)).toEqual([
      { metadata: { b: [1, 'é'], a: null }, keywords: ['x', 'y'] },
      { metadata: null, keywords: null },
      { metadata: 'text', keywords: [] },
      { metadata: 5, keywords: null },
      { metadata: false, keywords: null },
    ]);
  });

  it('F2: floats keep every digit', async () => {
    const lengths = [0.1 + 0.2, 1 / 3, 123_456_789.123_456_78, 1.797_693_134_862_315_7e308, 5e-324, 1e21];
    await world.insert(
      'reels',
      lengths.map((length, i) => ({ id: 100 + i, label: 'float', length })),
    );
    const { data } = await world.read('/api/reels?filters[label]=float&fields=length');
    expect(data.map((it) => it.attributes['length'])).toEqual(lengths);
  });

  it('F2: any text is returned unchanged', async () => {
    const texts = ['\u0001\t"\\/\u2028\u007f', '</script>', 'e\u0301', '🇪🇺', '\ud83d\ude3a\u200d', ' blank ', '\r\n'];
    await world.insert(
      'reels',
      texts.map((remark, i) => ({ id: 110 + i, label: 'text', remark })),
    );
    const { data } = await world.read('/api/reels?filters[label]=text&fields=remark');
    expect(data.map((it) => it.attributes['remark'])).toEqual(texts);
  });

  it.each([
    ['0000-01-01T00:00:00.000Z', 120],
    ['0001-01-01T00:00:00.000Z', 121],
    ['1582-10-04T00:00:00.000Z', 122],
    ['+010000-01-01T00:00:00.000Z', 123],
    ['+012345-01-01T00:00:00.001Z', 124],
    ['+123456-01-01T00:00:00.000Z', 125],
    ['-000043-03-15T12:00:00.000Z', 126],
  ])('F8: the year of %s', async (text, id) => {
    const epoch = Date.parse(text);
    await world.insert('reels', [{ id, label: 'year', received_at: epoch, scanned_at: epoch }]);
    expect((await world.read<unknown>(`/api/reels/${id}?fields=receivedAt&fields=scannedAt`)).data).toEqual({
      id,
      attributes: { receivedAt: text, scannedAt: String(epoch) },
    });
    expect(await world.ids(`/api/reels?filters[receivedAt]=${encodeURIComponent(text)}`)).toEqual([id]);
  });

  it.runIf(dialect === 'sqlite')('ST2: SQLite may hold times written by hand, and text that is not JSON', async () => {
    await world.insert('reels', [
      { id: 140, label: 'by hand', received_at: '2024-02-01 10:00:00', scanned_at: '2024-02-01T10:00:00.5Z' },
      { id: 141, label: 'by hand', starts_at: '01:02:03', metadata: 'no JSON' },
      { id: 142, label: 'by hand', received_at: 'no time', metadata: '{' },
    ]);
    const names = ['receivedAt', 'scannedAt', 'startsAt', 'metadata'];
    const { data } = await world.read(
      `/api/reels?filters[label]=by hand&${names.map((it) => `fields=${it}`).join('&')}`,
    );
    expect(data.map((it) => names.map((name) => it.attributes[name]))).toEqual([
      ['2024-02-01T10:00:00.000Z', '1706781600500', null, null],
      [null, null, '01:02:03.000', 'no JSON'],
      [null, null, null, '{'],
    ]);
    // the shown value is also the one compared and sorted by
    const found = (query: string): Promise<readonly number[]> =>
      world.ids(`/api/reels?filters[label]=by hand&${query}`);
    expect(await found('filters[receivedAt]=2024-02-01T10:00:00.000Z')).toEqual([140]);
    expect(await found('filters[receivedAt][$lt]=2030-01-01')).toEqual([140]);
    expect(await found('filters[receivedAt][$gt]=2030-01-01')).toEqual([]);
    expect(await found('filters[scannedAt]=1706781600500')).toEqual([140]);
    expect(await found('filters[startsAt]=01:02:03')).toEqual([141]);
    expect(await found('filters[startsAt][$lt]=01:02:03')).toEqual([]);
    await world.update('reels', 142, 'received_at', 1_000);
    expect(await found('filters[receivedAt][$notNull]=true&sort=receivedAt')).toEqual([142, 140]);
  });

  it.runIf(dialect === 'sqlite')('ST2: SQLite may hold blobs in any column: they are shown as text', async () => {
    await world.insert('reels', [{ id: 146, label: 'to be blobs' }]);
    const { attributes } = world.model.types.get('api::reel.reel' as Uid)!;
    const columns = [...attributes.values()].flatMap((it) => (it.kind === 'scalar' ? [[it.name, it.column]] : []));
    const blobs = columns.map(([, column]) => `"${column}" = x'c2ab22c2bb'`).join(', ');
    await world.db.write(async (tx) => {
      await tx.run({ sql: `update reels set ${blobs} where id = 146`, params: [], ids: [] });
      await tx.run({ sql: `insert into reels_film_links (reel_id, film_id) values (146, 2)`, params: [], ids: [] });
    });
    const [{ attributes: shown }] = (await world.read('/api/reels?filters[id]=146&populate=*')).data as [Entry];
    expect(shown).toMatchObject({ label: '«"»', report: '«"»', frames: '«"»', bytes: '«"»', recordedOn: '«"»' });
    expect(shown).toMatchObject({ startsAt: '«"»', metadata: '«"»', nitrate: null, receivedAt: null, scannedAt: null });
    expect((await world.read<Entry>('/api/reels/146?populate=*')).data.attributes).toEqual(shown);
    const film = await world.read<Entry>('/api/films/2?populate[reels][filters][id]=146');
    const inside = (film.data.attributes['reels'] as { data: readonly Entry[] }).data;
    expect(inside.map((it) => it.attributes['label'])).toEqual(['«"»']);
    for (const [name] of columns.filter(([it]) => it! in shown)) {
      expect(await world.ids(`/api/reels?sort=${name}&filters[id]=146`), name).toEqual([146]);
      expect((await world.get(`/api/reels?filters[${name}][$contains]=x&sort=${name}:desc`)).status, name).toBeLessThan(
        500,
      );
      expect((await world.get(`/api/reels?filters[${name}][$gte]=1&pagination[start]=1`)).status, name).toBeLessThan(
        500,
      );
    }
  });

  it.runIf(dialect === 'postgres')(
    'PostgreSQL may hold infinite timestamps, which JSON cannot represent: null',
    async () => {
      await world.db.write(async (tx) => {
        await tx.run({
          sql: `insert into reels (id, label, received_at, scanned_at) values (143, 'endless', 'infinity', '-infinity')`,
          params: [],
          ids: [],
        });
      });
      const { data } = await world.read('/api/reels?filters[label]=endless&fields=receivedAt&fields=scannedAt');
      expect(data.map((it) => it.attributes)).toEqual([{ receivedAt: null, scannedAt: null }]);
    },
  );

  it.each(['fields=*', 'fields[0]=*', 'fields[0]=title&fields[1]=*', 'fields', ''])(
    'F2: "%s" selects the default fields',
    async (query) => {
      const { data } = await world.read<unknown>(`/api/films/1?${query}`);
      expect(data).toEqual({
        id: 1,
        attributes: { title: 'Éclair', tagline: 'A pastry, a storm', year: 1911, score: 7.5, ...times },
      });
    },
  );

  it('F2: publishedAt only on types with drafts, locale only on localized types', async () => {
    expect((await world.read<unknown>('/api/genres/1')).data).toEqual({
      id: 1,
      attributes: { name: 'Drama', order: 2, ...times },
    });
    expect((await world.read<unknown>('/api/notices/1')).data).toEqual({
      id: 1,
      attributes: { text: 'Hello', locale: 'en', createdAt, updatedAt },
    });
  });

  it('F2: passwords, private attributes and options.privateAttributes are never shown', async () => {
    expect((await world.read<unknown>('/api/people/1?fields=*')).data).toEqual({
      id: 1,
      attributes: { name: 'Zoë Ångström', nickname: 'Z', born: '1890-05-01', createdAt },
    });
  });

  it('F2: a password with "private": false is not shown either', async () => {
    const { at, status } = await world.refusal('/api/reels/1?fields=sealNumber');
    expect({ at, status }).toEqual({ at: 'fields', status: 400 });
  });

  it.each(['director', 'poster', 'stills', 'credit', 'facts', 'body', 'genres'])(
    'F3: %s is not a field; the message suggests populate',
    async (name) => {
      expect(await world.refusal(`/api/films?fields[0]=title&fields[1]=${name}`)).toEqual({
        status: 400,
        name: 'ValidationError',
        message: `Invalid parameter fields[1]: "${name}" of film cannot be selected; use populate`,
        at: 'fields[1]',
        all: ['fields[1]'],
      });
    },
  );

  it('F4: fields inside a populated relation, media, component and zone', async () => {
    const { data } = await world.read<unknown>(
      '/api/films/1?fields=title&populate[director][fields][0]=name&populate[poster][fields]=url&populate[credit][fields]=role&populate[body][fields]=id&populate[genres][fields]=order',
    );
    expect(data).toEqual({
      id: 1,
      attributes: {
        title: 'Éclair',
        director: { data: { id: 1, attributes: { name: 'Zoë Ångström' } } },
        poster: { data: { id: 1, attributes: { url: '/uploads/poster_1.png' } } },
        credit: { id: 1, role: 'Auteur' },
        body: [
          { __component: 'blocks.quote', id: 1 },
          { __component: 'blocks.related', id: 1 },
          { __component: 'blocks.gallery', id: 1 },
          { __component: 'blocks.quote', id: 2 },
        ],
        genres: {
          data: [
            { id: 5, attributes: { order: 2 } },
            { id: 1, attributes: { order: 2 } },
            { id: 2, attributes: { order: 1 } },
          ],
        },
      },
    });
  });

  it('F4: the populated sort column does not appear in attributes (F6)', async () => {
    const { data } = await world.read<unknown>(
      '/api/films/1?fields=id&populate[genres][fields]=name&populate[genres][sort]=order',
    );
    expect(data).toEqual({
      id: 1,
      attributes: {
        genres: {
          data: [
            { id: 2, attributes: { name: 'Comedy' } },
            { id: 5, attributes: { name: 'Short' } },
            { id: 1, attributes: { name: 'Drama' } },
          ],
        },
      },
    });
  });

  it.each([
    ['fields=titel', 'fields', 'Did you mean "title"?'],
    ['fields[0]=Title', 'fields[0]', 'Did you mean "title"?'],
    ['fields=title,year', 'fields', 'has no attribute "title,year"'],
    ['fields[0]=title&fields[1]=year,score', 'fields[1]', 'has no attribute "year,score"'],
    ['fields=created_at', 'fields', 'Did you mean "createdAt"?'],
    ['fields=director.name', 'fields', 'has no attribute "director.name"'],
    ['fields=', 'fields', 'has no attribute ""'],
    ['fields[0]=', 'fields[0]', 'has no attribute ""'],
    ['fields[a]=title', 'fields', 'expected a name or a list of names'],
    ['fields[0][0]=title', 'fields[0]', 'expected a name or a list of names'],
    ['fields[0]=title&fields[0]=year', 'fields[0]', 'expected a name or a list of names'],
    ['fields[0]=title&fields[a]=year', 'fields', 'expected a name or a list of names'],
    ['fields=title&fields[0]=year', 'fields', 'given both as a value and as an object'],
    ['fields[0]=constructor', 'fields[0]', 'has no attribute "constructor"'],
    ['fields[0]=__proto__', 'fields[0]', 'has no attribute "__proto__"'],
    ['fields[0]=toString', 'fields[0]', 'has no attribute "toString"'],
    [
      'populate[genres][fields][0]=nam',
      'populate[genres][fields][0]',
      'genre has no attribute "nam". Did you mean "name"?',
    ],
    ['populate[genres][fields][0]=films', 'populate[genres][fields][0]', '"films" of genre cannot be selected'],
    [
      'populate[credit][fields]=rol',
      'populate[credit][fields]',
      'people.credit has no attribute "rol". Did you mean "role"?',
    ],
  ])('F1, F5: %s is refused', async (query, at, words) => {
    const refusal = await world.refusal(`/api/films?${query}`);
    expect(refusal).toMatchObject({ status: 400, name: 'ValidationError', at });
    expect(refusal.message).toContain(`Invalid parameter ${at}: `);
    expect(refusal.message).toContain(words);
  });

  it.each([
    ['people', 'pin'],
    ['people', 'diary'],
    ['people', 'updatedAt'],
    ['people', 'createdBy'],
    ['reels', 'vaultCode'],
    ['reels', 'appraisal'],
  ])('F5: the hidden %s.%s cannot be selected', async (types, name) => {
    expect(await world.refusal(`/api/${types}?fields=${name}`)).toMatchObject({
      status: 400,
      name: 'ValidationError',
      at: 'fields',
      message: expect.stringContaining(`"${name}" of `),
    });
  });

  it('F5: an element without a value is ignored', async () => {
    expect((await world.read<Entry>('/api/films/1?fields[0]')).data.attributes).toEqual({});
    expect((await world.read<Entry>('/api/films/1?fields[0]&fields[1]=title')).data.attributes).toEqual({
      title: 'Éclair',
    });
  });

  it.each([
    ['populate=directr,genrs', ['populate', 'populate'], ['"director"', '"genres"']],
    ['populate=directr,directr', ['populate'], ['"director"']],
    ['sort=foo,titel,foo', ['sort', 'sort'], ['"foo"', '"titel"']],
  ])('ER2: every fault of %s is reported once', async (query, places, words) => {
    const { text } = await world.get(`/api/films?${query}`);
    const { errors } = (JSON.parse(text) as { error: { details: { errors: { path: string[]; message: string }[] } } })
      .error.details;
    expect(errors.map((it) => it.path.join('.'))).toEqual(places);
    words.forEach((word, i) => {
      expect(errors[i]?.message).toContain(word);
    });
  });

  it('ER2: all faults of a request are reported at once, in the order of their paths', async () => {
    const { body } = await world.get('/api/films?fields[0]=nope&sort=titel&filters[yaer]=1');
    expect(body).toEqual({
      data: null,
      error: {
        status: 400,
        name: 'ValidationError',
        message: '3 errors occurred',
        details: {
          errors: [
            {
              path: ['fields', '0'],
              name: 'ValidationError',
              message: expect.stringContaining('fields[0]'),
              code: 'query.unknown-name',
            },
            {
              path: ['filters', 'yaer'],
              name: 'ValidationError',
              message: expect.stringContaining('"year"'),
              code: 'query.unknown-name',
            },
            {
              path: ['sort'],
              name: 'ValidationError',
              message: expect.stringContaining('"title"'),
              code: 'query.unknown-name',
            },
          ],
        },
      },
    });
  });
});
