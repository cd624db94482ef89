/** RQ1, RQ17, BO1, BO14, BO3, BO17, RQ4: write requests, their bodies and responses; If-Match. */
import { describe, expect, it } from 'vitest';
import { form, newMediaWorld } from '../world/media.js';
import { dialects, type Entry, idsOf, said, useRelationsWorld } from '../world/relations/world.js';
import { newSmallWorld, relation } from '../world/small.js';

const json = { 'content-type': 'application/json' };

describe.each(dialects)('writing on %s', (dialect) => {
  const world = useRelationsWorld(dialect);

  describe('bodies', () => {
    it.each<readonly [title: string, body: string | undefined, headers: Record<string, string>]>([
      ['none', undefined, {}],
      ['empty', '', json],
      ['an empty object', '{}', json],
      ['null', 'null', json],
      ['a number', '5', json],
      ['a text', '"x"', json],
      ['a list', '[]', json],
      ['data null', '{"data":null}', json],
      ['data a text', '{"data":"x"}', json],
      ['data a number', '{"data":5}', json],
      ['data true', '{"data":true}', json],
      ['another key', '{"date":{}}', json],
      ['plain text', '{"data":{}}', { 'content-type': 'text/plain' }],
      ['a type that begins like JSON', '{"data":{}}', { 'content-type': 'application/jsonfoo' }],
      ['a type that begins like a form', 'data[name]=x', { 'content-type': 'application/x-www-form-urlencoded2' }],
      ['a type that begins like a form with files', '{"data":{}}', { 'content-type': 'multipart/form-database' }],
      ['xml', '<data/>', { 'content-type': 'application/xml' }],
    ])('BO17: %s is not a body with data', async (_title, body, headers) => {
      const id = await world.create('shelves', { name: 'x' });
      for (const [method, url] of [
        ['POST', '/api/shelves'],
        ['PUT', `/api/shelves/${id}`],
      ] as const) {
        const { status, name, message } = await world.refused(method, url, body, headers);
        expect([status, name, message]).toEqual([400, 'ValidationError', 'Missing "data" payload in the request body']);
      }
    });

    it('ER1: data that is a list', async () => {
      const { status, name, message } = await world.refused('POST', '/api/shelves', { data: [] });
      expect([status, name]).toEqual([400, 'ValidationError']);
      expect(message).toContain('must be a `object` type');
    });

    it.each(['{', '{"data":{}', '{"data":{},}', "{'data':{}}", 'undefined', '{"data":{"name":"\u0000"}}', '\u00ff'])(
      'RQ14: broken JSON %j',
      async (body) => {
        const { status, name } = await world.refused('POST', '/api/shelves', body, json);
        expect([status, name]).toEqual([400, 'ValidationError']);
      },
    );

    it.each([
      'application/json',
      'application/json; charset=utf-8',
      'APPLICATION/JSON',
      'application/json ;charset=utf-8',
      'application/vnd.api+json',
      'application/vnd.api+json; charset=utf-8',
    ])('BO17: %s is JSON', async (type) => {
      const { status } = await world.send('POST', '/api/shelves', { data: { name: 'x' } }, { 'content-type': type });
      expect(status).toBe(200);
    });

    it('BO1: of a repeated key the last value is used', async () => {
      const { body } = await world.send('POST', '/api/shelves', '{"data":{"name":"a","name":"b"}}', json);
      expect((body as { data: Entry }).data.attributes['name']).toBe('b');
    });

    it('BO1: more than 1 MiB is refused with 413', async () => {
      const { status, name } = await world.refused(
        'POST',
        '/api/books',
        `{"data":{"title":"${'x'.repeat(1024 * 1024)}"}}`,
        json,
      );
      expect([status, name]).toEqual([413, 'PayloadTooLargeError']);
    });

    it.each(['nme', 'Name', 'NAME', 'created_at', 'one_one', 'hasOwnProperty', 'attributes', 'data', ''])(
      'the unknown key %j is refused in strict mode',
      async (key) => {
        const id = await world.create('shelves');
        for (const [method, url] of [
          ['POST', '/api/shelves'],
          ['PUT', `/api/shelves/${id}`],
        ] as const) {
          const { status, name, paths, message } = await world.refused(method, url, { data: { name: 'x', [key]: 1 } });
          expect([status, name, paths]).toEqual([400, 'ValidationError', [key]]);
          if (key === 'nme') expect(message).toContain('Did you mean "name"?');
        }
      },
    );

    it('BO3: __proto__ and constructor in data are ignored', async () => {
      const { status, body } = await world.send(
        'POST',
        '/api/holders',
        '{"data":{"__proto__":{"name":"p","polluted":1},"constructor":{"prototype":{"polluted":1}},"card":{"label":"x","__proto__":{"note":"p"},"constructor":1}}}',
        json,
      );
      expect(status).toBe(200);
      const { data } = body as { data: Entry };
      expect(data.attributes['name']).toBeNull();
      expect((await world.read(`/api/holders/${data.id}?populate=card`)).attributes['card']).toMatchObject({
        label: 'x',
        note: 'blank',
      });
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    });

    it('BO4: id, timestamps and creators cannot be set by the client', async () => {
      const past = '2001-01-01T00:00:00.000Z';
      const forged = {
        id: 77_777,
        createdAt: past,
        updatedAt: past,
        createdBy: 1,
        updatedBy: { id: 1 },
        publishedAt: past,
      };
      const before = Date.now();
      const id = await world.create('shelves', { name: 'a', ...forged });
      expect(id).not.toBe(77_777);
      const other = await world.create('shelves', { name: 'b' });
      await world.update('shelves', id, { ...forged, id: other, name: 'c' });
      for (const row of (await world.rows('shelves')).filter((it) => it['id'] === id || it['id'] === other)) {
        expect(row['name']).toBe(row['id'] === id ? 'c' : 'b');
        expect([row['created_by_id'], row['updated_by_id']]).toEqual([null, null]);
      }
      const { attributes } = await world.read(`/api/shelves/${id}`);
      expect(Date.parse(String(attributes['createdAt']))).toBeGreaterThanOrEqual(before);
      expect(Date.parse(String(attributes['updatedAt']))).toBeGreaterThanOrEqual(before);
      expect(attributes).not.toHaveProperty('publishedAt');
    });

    it('BO2: PUT changes the given attributes and updatedAt, even if it gives none', async () => {
      const id = await world.create('sheets', { label: 'a', remark: 'b', count: 1 });
      const created = (await world.read(`/api/sheets/${id}`)).attributes;
      const changed = (await world.update('sheets', id, { remark: 'c' })).attributes;
      expect(changed).toEqual({ ...created, remark: 'c', updatedAt: changed['updatedAt'] });
      expect(Date.parse(String(changed['updatedAt']))).toBeGreaterThan(Date.parse(String(created['updatedAt'])));
      const again = (await world.update('sheets', id, {})).attributes;
      expect(Date.parse(String(again['updatedAt']))).toBeGreaterThan(Date.parse(String(changed['updatedAt'])));
    });

    it('ST2: the updatedAt of entries on the other side of a link does not change', async () => {
      const book = await world.create('books', { title: 'x' });
      const before = await world.read(`/api/books/${book}`);
      await world.create('shelves', { manyMany: [book], oneOne: book, oneMany: [book], columnOne: book });
      expect((await world.read(`/api/books/${book}`)).attributes).toEqual(before.attributes);
    });
  });

  describe('responses', () => {
    it('RQ17: POST, PUT and DELETE respond 200 with the entry and empty meta', async () => {
      const created = await world.send('POST', '/api/shelves', { data: { name: 'a' } });
      const { data } = created.body as { data: Entry };
      const { createdAt, updatedAt } = data.attributes;
      expect([created.status, created.body]).toEqual([
        200,
        { data: { id: data.id, attributes: { name: 'a', createdAt, updatedAt } }, meta: {} },
      ]);
      expect(createdAt).toBe(updatedAt);
      expect(created.headers['content-type']).toBe('application/json; charset=utf-8');
      const updated = await world.send('PUT', `/api/shelves/${data.id}`, { data: { name: 'b' } });
      expect([updated.status, updated.body]).toEqual([
        200,
        {
          data: { id: data.id, attributes: { name: 'b', createdAt, updatedAt: expect.stringMatching(/Z$/) } },
          meta: {},
        },
      ]);
      const deleted = await world.send('DELETE', `/api/shelves/${data.id}`);
      expect([deleted.status, deleted.body]).toEqual([200, updated.body]);
      expect((await world.server.get(`/api/shelves/${data.id}`)).status).toBe(404);
    });

    it('F7: fields and populate apply to the response', async () => {
      const [a, b] = (await world.createMany('books', 2)) as [number, number];
      const query = '?fields=name&populate[manyMany][fields]=id&populate[oneOne]=true';
      const created = await world.send('POST', `/api/shelves${query}`, {
        data: { name: 'x', manyMany: [b, a], oneOne: a },
      });
      const { data } = created.body as { data: Entry };
      expect(Object.keys(data.attributes).sort()).toEqual(['manyMany', 'name', 'oneOne']);
      expect(idsOf(data, 'manyMany')).toEqual([b, a]);
      const updated = await world.update('shelves', data.id, { manyMany: [a] }, query);
      expect(updated.attributes).toEqual({ ...data.attributes, manyMany: { data: [{ id: a, attributes: {} }] } });
      const deleted = await world.send('DELETE', `/api/shelves/${data.id}${query}`);
      expect((deleted.body as { data: Entry }).data).toEqual(updated);
    });

    it('BO13: DELETE ignores a body, and is 404 the second time', async () => {
      const id = await world.create('shelves', { name: 'x' });
      expect((await world.send('DELETE', `/api/shelves/${id}`, { data: 5 })).status).toBe(200);
      expect((await world.refused('DELETE', `/api/shelves/${id}`)).status).toBe(404);
    });

    it('BO14: an invalid query refuses the write', async () => {
      const id = await world.create('shelves', { name: 'x' });
      for (const query of [
        'fields=nope',
        'populate=nope',
        'populate[manyMany][fields]=nope',
        'fields[a]=b',
        'filters[nope]=1',
        'sort=nope',
        'populates=manyMany',
      ]) {
        for (const [method, url, body] of [
          ['POST', `/api/shelves?${query}`, { data: { name: 'y' } }],
          ['PUT', `/api/shelves/${id}?${query}`, { data: { name: 'y' } }],
          ['DELETE', `/api/shelves/${id}?${query}`, undefined],
          ['PUT', `/api/setting?${query}`, { data: { title: 'yy' } }],
        ] as const) {
          const { status, name } = await world.refused(method, url, body);
          expect([status, name], `${method} ${url}`).toEqual([400, 'ValidationError']);
        }
      }
    });

    it.each(['abc', '0', '-1', '1.5', '1e0', '01', '+1', '2147483648', '1;', '99999999999999999999'])(
      'RQ3: PUT and DELETE of entry %s are 404',
      async (id) => {
        for (const [method, body] of [
          ['PUT', { data: { name: 'x' } }],
          ['DELETE', undefined],
        ] as const) {
          const { status, name } = await world.refused(method, `/api/shelves/${id}`, body);
          expect([status, name]).toEqual([404, 'NotFoundError']);
        }
      },
    );

    it('BO12: a missing entry is 404 before its fields are checked, but after the form of the body', async () => {
      expect((await world.refused('PUT', '/api/forms/2000000', { data: { title: 5, nope: 1 } })).status).toBe(404);
      expect((await world.refused('PUT', '/api/forms/2000000', {})).status).toBe(400);
      expect((await world.refused('DELETE', '/api/forms/2000000')).status).toBe(404);
    });

    it('AC4: writing without permission is 403, whatever the body', async () => {
      for (const [method, url, body] of [
        ['POST', '/api/closed-rooms', { data: { name: 'x' } }],
        ['POST', '/api/closed-rooms', { nope: 1 }],
        ['PUT', '/api/closed-rooms/1', { data: { name: 'x' } }],
        ['DELETE', '/api/closed-rooms/1', undefined],
      ] as const) {
        const { status, name } = await world.refused(method, url, body);
        expect([status, name]).toEqual([403, 'ForbiddenError']);
      }
    });

    it('RQ4: wrong methods are 405 with Allow, unknown paths 404', async () => {
      for (const [method, url, allow] of [
        ['PUT', '/api/shelves', 'HEAD, GET, POST'],
        ['DELETE', '/api/shelves', 'HEAD, GET, POST'],
        ['POST', '/api/shelves/1', 'HEAD, GET, PUT, DELETE'],
        ['PATCH', '/api/shelves/1', 'HEAD, GET, PUT, DELETE'],
        ['POST', '/api/setting', 'HEAD, GET, PUT, DELETE'],
      ] as const) {
        const answer = await world.send(method, url, { data: {} });
        expect([answer.status, answer.headers['allow']], `${method} ${url}`).toEqual([405, allow]);
        expect(said(answer).name).toBe('MethodNotAllowedError');
      }
      expect((await world.refused('POST', '/api/shelf', { data: {} })).status).toBe(404);
      expect((await world.refused('PUT', '/api/nope/1', { data: {} })).status).toBe(404);
    });
  });

  describe('single types', () => {
    it('RQ1: PUT creates the entry if it is missing, and updates it after that; DELETE removes it; then GET and DELETE are 404', async () => {
      const [a, b] = (await world.createMany('books', 2)) as [number, number];
      expect((await world.server.get('/api/setting')).status).toBe(404);
      expect((await world.refused('DELETE', '/api/setting')).status).toBe(404);
      expect((await world.refused('PUT', '/api/setting', { data: { books: [a] } })).paths).toEqual(['title']);
      const created = await world.send('PUT', '/api/setting?populate=*', {
        data: { title: 'first', books: [b, a], notes: [{ text: 'n' }] },
      });
      expect(created.status).toBe(200);
      const { data } = created.body as { data: Entry };
      expect(idsOf(data, 'books')).toEqual([b, a]);
      const updated = await world.send('PUT', '/api/setting?populate=*', {
        data: { title: 'second', books: { connect: [{ id: a, position: { start: true } }] } },
      });
      expect(updated.body).toMatchObject({
        data: { id: data.id, attributes: { title: 'second', notes: [{ text: 'n' }] } },
        meta: {},
      });
      expect(idsOf((updated.body as { data: Entry }).data, 'books')).toEqual([a, b]);
      const refusedPut = await world.refused('PUT', '/api/setting', { data: { title: 'x' } });
      expect(refusedPut.paths).toEqual(['title']);
      const deleted = await world.send('DELETE', '/api/setting?populate=*');
      expect([deleted.status, deleted.body]).toEqual([200, updated.body]);
      expect((await world.server.get('/api/setting')).status).toBe(404);
      await world.expectNoOrphans();
    });

    it('RQ1: many concurrent PUTs create one entry', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_it, i) => world.send('PUT', '/api/setting', { data: { title: `t${i}` } })),
      );
      expect(answers.map((it) => it.status)).toEqual(answers.map(() => 200));
      expect(new Set(answers.map((it) => (it.body as { data: Entry }).data.id)).size).toBe(1);
      expect(await world.rows('settings')).toHaveLength(1);
    });

    it('RQ1: a single type with drafts', async () => {
      expect((await world.send('PUT', '/api/motto', { data: { publishedAt: null } })).status).toBe(200);
      expect((await world.server.get('/api/motto')).status).toBe(404);
      expect((await world.server.get('/api/motto?publicationState=preview')).status).toBe(200);
      expect((await world.refused('PUT', '/api/motto', { data: { publishedAt: 0 } })).paths).toEqual(['words']);
      expect((await world.send('PUT', '/api/motto', { data: { publishedAt: 0, words: 'x' } })).status).toBe(200);
      expect((await world.server.get('/api/motto')).body).toMatchObject({
        data: { attributes: { words: 'x', publishedAt: '1970-01-01T00:00:00.000Z' } },
      });
    });

    it('BO14: filters of a PUT reveal no private values', async () => {
      await world.send('PUT', '/api/setting', { data: { title: 'shown' } });
      const hit = await world.send('PUT', '/api/setting?filters[title][$eq]=shown', { data: {} });
      const miss = await world.send('PUT', '/api/setting?filters[title][$eq]=other', { data: {} });
      expect([hit.status, miss.status]).toEqual([200, 200]);
    });
  });

  describe('If-Match', () => {
    const tagOf = async (url: string): Promise<string> => String((await world.server.get(url)).headers['etag']);

    it('BO11: the entity tag of a read allows one write, also as a weak tag, in a list, and as *', async () => {
      const id = await world.create('shelves', { name: 'a' });
      const url = `/api/shelves/${id}`;
      const put = (ifMatch: string): ReturnType<typeof world.send> =>
        world.send('PUT', url, { data: { name: 'b' } }, { 'if-match': ifMatch });
      const first = await tagOf(url);
      expect((await put(first)).status).toBe(200);
      expect((await put(first)).status).toBe(412);
      expect((await put((await tagOf(url)).replace(/^W\//, ''))).status).toBe(200);
      expect((await put(`"other", ${await tagOf(url)}`)).status).toBe(200);
      expect((await put('*')).status).toBe(200);
      const answered = await put('*');
      expect((await put(String(answered.headers['etag']))).status).toBe(200);
    });

    it('the tag is valid whatever fields were read', async () => {
      const id = await world.create('shelves', { name: 'a' });
      const tag = await tagOf(`/api/shelves/${id}?fields=name&populate=*`);
      expect((await world.send('PUT', `/api/shelves/${id}`, { data: { name: 'b' } }, { 'if-match': tag })).status).toBe(
        200,
      );
    });

    it('BO11: a stale tag is 412 for PUT and DELETE and changes nothing', async () => {
      const id = await world.create('shelves', { name: 'a' });
      const url = `/api/shelves/${id}`;
      const stale = await tagOf(url);
      await world.update('shelves', id, { name: 'b' });
      for (const ifMatch of [stale, '"nope"', '', 'nope', 'W/"0"', ',']) {
        for (const [method, body] of [
          ['PUT', { data: { name: 'c' } }],
          ['DELETE', undefined],
        ] as const) {
          const { status, name } = await world.refused(method, url, body, { 'if-match': ifMatch });
          expect.soft([status, name], `${method} ${ifMatch}`).toEqual([412, 'PreconditionFailedError']);
        }
      }
      expect((await world.send('DELETE', url, undefined, { 'if-match': await tagOf(url) })).status).toBe(200);
    });

    it('a change of components, media or links alone also invalidates the tag', async () => {
      const id = await world.create('holders', { cards: [{ label: 'a' }] });
      const url = `/api/holders/${id}`;
      for (const data of [{ cards: [] }, { gallery: [1] }, { card: { label: 'x', many: [] } }]) {
        const tag = await tagOf(url);
        await world.update('holders', id, data);
        expect(
          (await world.refused('PUT', url, { data: { name: 'z' } }, { 'if-match': tag })).status,
          JSON.stringify(data),
        ).toBe(412);
      }
    });

    it('BO11: of many writers with the same tag one succeeds', async () => {
      const id = await world.create('shelves', { name: 'a' });
      const url = `/api/shelves/${id}`;
      const tag = await tagOf(url);
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_it, i) =>
          world.send('PUT', url, { data: { name: `w${i}` } }, { 'if-match': tag }),
        ),
      );
      expect(answers.map((it) => it.status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
    });
  });
});

describe.each(dialects)('lenient mode on %s', (dialect) => {
  const world = useRelationsWorld(dialect, { strict: false });

  it('BO3: api.strict false ignores unknown keys, at the root and in components', async () => {
    const holder = await world.create('holders', {
      name: 'a',
      nope: 1,
      created_at: 5,
      card: { label: 'x', nope: { deep: [] } },
      zone: [{ __component: 'parts.note', text: 'n', nope: 1 }],
    });
    expect((await world.read(`/api/holders/${holder}?populate=*`)).attributes).toMatchObject({
      name: 'a',
      card: { label: 'x' },
      zone: [{ text: 'n' }],
    });
    expect((await world.update('holders', holder, { nope: 1, name: 'b' })).attributes['name']).toBe('b');
  });

  it('Q16: ignored keys of the body and the query are named', async () => {
    const body = { data: { nope: 1, card: { label: 'x', nope: 1 }, zone: [{ __component: 'parts.note', nope: 1 }] } };
    const made = await world.send('POST', '/api/holders?populate=nowhere', body);
    expect([made.status, made.headers['dovetail-ignored']]).toEqual([
      200,
      'populate.nowhere, data.nope, data.card.nope, data.zone.0.nope',
    ]);
    const { id } = (made.body as { data: { id: number } }).data;
    const changed = await world.send('PUT', `/api/holders/${id}`, { data: { name: 'b', nme: 1 } });
    expect([changed.status, changed.headers['dovetail-ignored']]).toEqual([200, 'data.nme']);
    const deleted = await world.send('DELETE', `/api/holders/${id}?populate=nowhere`);
    expect([deleted.status, deleted.headers['dovetail-ignored']]).toEqual([200, 'populate.nowhere']);
  });

  it('Q16: many unknown keys are as cheap as a few', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_none, i) => [`nope${i}`, i]));
    const made = await world.send('POST', '/api/holders', { data: many });
    expect([made.status, String(made.headers['dovetail-ignored']).split(', ').length]).toEqual([200, 21]);
  });

  it('R11: unknown keys of a relation are refused in lenient mode too', async () => {
    const shelf = await world.create('shelves');
    expect((await world.refused('PUT', `/api/shelves/${shelf}`, { data: { manyMany: { foo: [1] } } })).status).toBe(
      400,
    );
  });
});

describe.each(dialects)('attributes named like what the server adds, on %s', (dialect) => {
  it('BO2: a type without drafts and locales may have its own publishedAt and localizations', async () => {
    const attributes = {
      publishedAt: { type: 'datetime' },
      locale: { type: 'string' },
      localizations: relation('manyToMany', 'note'),
    };
    const world = await newSmallWorld(dialect, { types: { note: { attributes } } });
    const send = async (method: string, url: string, data: Readonly<Record<string, unknown>>): Promise<unknown> => {
      const answer = await world.send(method, `${url}?fields[]=publishedAt&fields[]=locale&populate=localizations`, {
        data,
      });
      const { data: entry } = answer.body as { data: Entry };
      const { localizations: _links, ...own } = entry.attributes;
      return [entry.id, own, idsOf(entry, 'localizations')];
    };
    try {
      const first = { publishedAt: '2024-02-01T10:00:00.000Z', locale: 'nb' };
      expect(await send('POST', '/api/notes', first)).toEqual([1, first, []]);
      const second = { publishedAt: null, locale: 'nn' };
      expect(await send('POST', '/api/notes', { ...second, localizations: [1] })).toEqual([2, second, [1]]);
      expect(await send('PUT', '/api/notes/2', { ...first, localizations: { connect: [2] } })).toEqual([
        2,
        first,
        [1, 2],
      ]);
    } finally {
      await world.close();
    }
  });
});

describe.each(dialects)('what requests cannot write, on %s', (dialect) => {
  it('BO4: relations, media, components and zones with writable false are ignored, and not required', async () => {
    const closed = { writable: false, required: true };
    const attributes = {
      title: { type: 'string' },
      owner: relation('manyToOne', 'note', { inversedBy: 'owned', ...closed }),
      owned: relation('oneToMany', 'note', { mappedBy: 'owner' }),
      about: { type: 'relation', relation: 'morphToOne', ...closed },
      cover: { type: 'media', ...closed },
      card: { type: 'component', component: 'parts.card', ...closed },
      cards: { type: 'component', component: 'parts.card', repeatable: true, ...closed },
      zone: { type: 'dynamiczone', components: ['parts.card'], ...closed },
    };
    const project = { types: { note: { attributes } }, components: { 'parts.card': { picture: { type: 'media' } } } };
    const world = await newMediaWorld(dialect, { project });
    try {
      const file = await world.stored('text', 'a.txt');
      const cover = { cover: file.id };
      const forged = {
        owner: 1,
        about: { id: 1, __type: 'api::note.note' },
        ...cover,
        card: {},
        cards: [{}],
        zone: [{ __component: 'parts.card' }],
      };
      const empty = { owner: { data: null }, about: null, cover: { data: null }, card: null, cards: [], zone: [] };
      for (const [method, url] of [
        ['POST', '/api/notes'],
        ['PUT', '/api/notes/1'],
      ] as const) {
        const answer = await world.send(method, `${url}?populate=*`, { data: { title: method, ...forged } });
        expect(answer).toMatchObject({
          status: 200,
          body: { data: { id: 1, attributes: { title: method, ...empty } } },
        });
      }
      // the other side of the relation can be written
      const answer = await world.send('PUT', '/api/notes/1?populate[owner][fields]=id', { data: { owned: [1] } });
      expect(answer).toMatchObject({ status: 200, body: { data: { attributes: { owner: { data: { id: 1 } } } } } });
      const asText = { data: JSON.stringify(forged) };
      for (const name of ['files.cover', 'files.card.picture'])
        expect(await world.send('PUT', '/api/notes/1', form([[name, 'text', 'b.txt']], asText))).toMatchObject({
          status: 400,
          body: { error: { message: expect.stringMatching(/cannot be stored: requests cannot write "c[a-z]+"$/) } },
        });
      const place = { ref: 'api::note.note', refId: '1', field: 'cover' };
      expect(await world.upload('text', 'c.txt', place)).toMatchObject({
        status: 400,
        body: { error: { message: 'field: cannot be written' } },
      });
      expect(await world.rows()).toEqual(['a.txt']);
    } finally {
      await world.close();
    }
  });
});
