/** Attempts of administrators to read or write what their roles do not let them (AD9 to AD15), and of others to be one (AD3). */
import bcrypt from '@node-rs/bcrypt';
import { sql } from 'kysely';
import get from 'lodash/get.js';
import { describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/handlers/handlers.js';
import { newServer } from '../../src/http/server.js';
import type { Explanation } from '../../src/read/explain.js';
import { readRows } from '../../src/sql/dialect.js';
import {
  type AdminName,
  type AdminPermission,
  adminPassword,
  admins,
  insertPermissions,
  newAdminWorld,
  studio,
  useAdmins,
} from '../world/administrators.js';
import { openForTests } from '../world/opening.js';
import { bearer } from '../world/people.js';
import { newTestDeps, type TestAnswer, testServerOf } from '../world/server.js';
import { newSmallWorld, relation, type SmallWorld } from '../world/small.js';
import { idleHooks } from '../world/v4-hooks.js';
import { dialects, type Entry } from '../world/world.js';

const film = 'api::film.film';
const reel = 'api::reel.reel';
const own = ['admin::is-creator'];

const editor: readonly AdminPermission[] = [
  { action: 'read', subject: film, fields: ['title', 'poster', 'reels', 'body', 'credit.role', 'similar'] },
  { action: 'update', subject: film, fields: ['title', 'poster', 'body', 'credit.role'] },
  { action: 'read', subject: reel, fields: ['label', 'film'], conditions: own },
  { action: 'create', subject: reel, fields: ['label', 'film'], conditions: own },
  { action: 'read', subject: 'api::notice.notice', fields: ['text', 'film'], locales: ['en'] },
];
/** Writes without reading. */
const author: readonly AdminPermission[] = [{ action: 'create', subject: 'api::genre.genre', fields: ['name'] }];

/** A hook of the project that writes what the editor may not. */
const beforeUpdate: NonNullable<Handlers['beforeUpdate']> = ({ data }) => {
  if (data?.['title'] === 'with a tagline') data['tagline'] = 'of the project';
};

/** The status, and the codes of the issues. */
const codesOf = ({ status, body }: TestAnswer): unknown => {
  const { error } = body as { error?: { details?: { errors?: readonly { code: string }[] } } };
  return [status, error?.details?.errors?.map((it) => it.code)];
};

describe.each(dialects)('attacks by administrators on %s', (dialect) => {
  const it_ = useAdmins(dialect, {
    permissions: { editor, author },
    people: { handlers: new Map([[film, { beforeUpdate }]]) },
  });
  const get = (name: AdminName, url: string, headers: Record<string, string> = {}) =>
    it_().askAs(name, 'GET', url, { headers });
  const ids = async (url: string): Promise<readonly number[]> => {
    const { status, body, text } = await get('bea', url);
    if (status !== 200) throw new Error(text);
    return (body as { data: readonly Entry[] }).data.map((it) => it.id);
  };

  it('AD10: media show what they are, though the library is closed', async () => {
    const { body } = await get('bea', '/api/films/1?fields=id&populate=poster');
    const { data } = body as { data: Entry };
    expect(data.attributes['poster']).toMatchObject({
      data: { attributes: { name: expect.any(String), url: expect.any(String) } },
    });
    expect((await get('bea', '/api/upload/files')).status).toBe(403);
  });

  it.each([
    'populate[poster][populate][related][populate]=*',
    'populate[poster][populate]=*',
    'populate[similar][populate][reels][populate][film][populate]=*&publicationState=preview',
    'populate[body][populate][films][populate]=*',
    'populate[body][on][blocks.related][populate][donor]=true',
    'populate=*',
  ])('AD10, AD11: %s shows nothing beyond', async (query) => {
    await it_().world.update('reels_film_links', 1, 'film_id', 1);
    const { status, text } = await get('bea', `/api/films?${query}`);
    expect(status).toBe(200);
    expect(text).not.toMatch(/Reel one|Donor|tagline|"year"|diary|"note"|nickname|pastry/);
  });

  it.each([
    'filters[localizations][text]=Hallo',
    'filters[localizations][locale]=de',
    'filters[$not][localizations][text]=Bonjour',
  ])('AD12: %s meets no entry in another locale', async (query) => {
    await it_().world.insert('notices_localizations_links', [{ notice_id: 1, inv_notice_id: 3 }]);
    expect(await ids(`/api/notices?locale=all&${query}`)).toEqual([]);
    const { text } = await get('bea', '/api/notices?locale=all&populate=localizations');
    expect(text).not.toMatch(/Hallo|Bonjour/);
    await it_().world.db.write((tx) =>
      tx.run(it_().world.db.dialect.compile(sql`delete from notices_localizations_links`)),
    );
  });

  it('AD12: nor by its locale, its id or in another spelling', async () => {
    for (const query of [
      'locale=all&filters[locale]=de',
      'locale[0]=de&locale[1]=fr',
      'locale=all&filters[id]=3',
      'locale=all&filters[$or][0][id]=3',
    ])
      expect(await ids(`/api/notices?${query}`), query).toEqual([]);
    expect((await get('bea', '/api/notices/3')).status).toBe(404);
    expect((await get('bea', '/API/Notices/3/')).status).toBe(404);
  });

  it('AD11: an entry of another is not found in a single-entry read, whatever populates or filters it', async () => {
    for (const query of [
      '',
      '?populate=*',
      '?filters[id]=1',
      '?publicationState=preview',
      '?fields=label',
      '?filters[createdBy][id][$null]=true',
    ])
      expect((await get('bea', `/api/reels/1${query}`)).status, query).toBe(404);
    for (const headers of [{ 'strapi-response-format': 'v5' }, { 'if-none-match': '*' }])
      expect((await get('bea', '/api/reels/1', headers)).status).toBe(404);
  });

  it('AD11: windows of relation lists show no more than lists', async () => {
    await it_().world.update('reels_film_links', 1, 'film_id', 1);
    const window = await get('bea', '/api/films/1/relations/reels');
    expect([window.status, window.text]).toEqual([200, expect.not.stringContaining('Reel one')]);
    expect((window.body as { data: unknown }).data).toEqual([]);
  });

  it.each([
    ['bea', '/api/reels', false],
    ['bea', '/api/reels/1', false],
    ['bea', '/api/films?populate=reels', false],
    ['bea', '/api/films?filters[reels][label]=Reel one', false],
    ['bea', '/api/films/1/relations/reels', false],
    ['bea', '/api/films?filters[title]=a', true],
    ['ada', '/api/films?populate=reels', true],
  ] as const)('AD11, SU3: %s is told figures of %s: %s', async (name, url, isTold) => {
    const { status, body } = await it_().askAs(name, 'POST', '/_dovetail/explain', { body: { url, analyze: true } });
    const { counts, statements } = (body as { data: Explanation }).data;
    expect([status, counts.rows !== null, counts.ms !== null]).toEqual([200, isTold, isTold]);
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.map((it) => it.ran !== undefined)).toEqual(statements.map(() => isTold));
    if (!isTold)
      expect(statements.flatMap((it) => it.reads.map((read) => read.rows ?? 'untold'))).not.toContainEqual(
        expect.any(Number),
      );
  });

  it('AD13: the body of another format writes no more', async () => {
    const headers = { 'strapi-response-format': 'v5' };
    for (const data of [{ tagline: 'x' }, { credit: { id: 1, note: 'x' } }, { publishedAt: null }])
      expect((await it_().askAs('bea', 'PUT', '/api/films/1', { body: { data }, headers })).status).toBe(403);
    expect(
      (
        await it_().askAs('bea', 'PUT', '/api/films/1', {
          body: 'data[tagline]=x',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
        })
      ).status,
    ).toBe(403);
  });

  it('AD13: zones are written as a whole, and relations in them only where they lead to what may be found', async () => {
    const body = [{ __component: 'blocks.related', heading: 'x', donor: 1 }];
    const made = await it_().askAs('bea', 'PUT', '/api/films/3?populate[body][populate]=*', {
      body: { data: { body } },
    });
    expect(made.status).toBe(200);
    expect(made.headers['dovetail-ignored']).toContain('data.body.0.donor');
    expect((await get('ada', '/api/films/3?populate[body][populate]=*')).text).not.toContain('Donor');
  });

  it('AD13: whoever may write and not read is shown the id and what every entry has', async () => {
    const made = await it_().askAs('cyd', 'POST', '/api/genres?populate=*', {
      body: { data: { name: 'secret name' } },
    });
    expect(made.status).toBe(200);
    expect(made.text).not.toContain('secret name');
    const { id } = (made.body as { data: Entry }).data;
    expect((await get('cyd', `/api/genres/${id}`)).status).toBe(403);
  });

  it('AD13: status asks for a published entry no less than publishedAt does', async () => {
    const headers = { 'strapi-response-format': 'v5' };
    const create = (status: string) =>
      it_().askAs('cyd', 'POST', `/api/genres?status=${status}`, { body: { data: { name: 'x' } }, headers });
    expect((await create('published')).status).toBe(403);
    expect((await create('draft')).status).toBe(200);
  });

  it('AD13: hooks of the project write what they like', async () => {
    const data = { title: 'with a tagline' };
    const before = (await get('ada', '/api/films/4')).body as { data: Entry };
    expect((await it_().askAs('bea', 'PUT', '/api/films/4', { body: { data } })).status).toBe(200);
    const after = (await get('ada', '/api/films/4')).body as { data: Entry };
    expect([before.data.attributes['tagline'], after.data.attributes['tagline']]).toEqual([
      'back\\slash',
      'of the project',
    ]);
  });

  it('AD13: an id of an entry cannot be taken over by a create', async () => {
    const made = await it_().askAs('bea', 'POST', '/api/reels', { body: { data: { id: 1, label: 'mine' } } });
    expect((made.body as { data: Entry }).data.id).not.toBe(1);
  });

  it('AD11: answers that are kept for one are not given to another', async () => {
    const url = '/api/reels?fields=label&sort=id';
    await it_().askAs('bea', 'POST', '/api/reels', { body: { data: { label: 'of bea' } } });
    for (let i = 0; i < 4; i++) {
      expect((await get('ada', url)).text).toContain('Reel one');
      expect((await get('bea', url)).text).not.toContain('Reel one');
      expect((await it_().server.get(url)).text).toContain('Reel one');
      expect((await get('flo', url)).status).toBe(403);
    }
    // an entity tag of what one sees is worth nothing to another
    const { headers } = await get('ada', url);
    expect((await get('bea', url, { 'if-none-match': String(headers['etag']) })).status).toBe(200);
  });

  it('AD15: a role borrowed by a super admin leaves no trace in what others get', async () => {
    const url = '/api/people/1?populate=*';
    for (let i = 0; i < 3; i++) {
      expect((await get('ada', url, { 'dovetail-as': 'role:public' })).text).not.toContain('a secret wish');
      expect((await get('ada', url)).text).toContain('a secret wish');
      expect((await it_().server.get(url)).text).not.toContain('a secret wish');
    }
  });

  it('AD3: a role that changes, and one that is taken away, count within a second', async () => {
    const { world } = it_();
    expect((await get('bea', '/api/films/1?fields=title')).status).toBe(200);
    await world.db.write((tx) =>
      tx.run(world.db.dialect.compile(sql`delete from admin_users_roles_links where user_id = ${sql.lit(admins.bea)}`)),
    );
    await expect.poll(async () => (await get('bea', '/api/films/1?fields=title')).status, { timeout: 5000 }).toBe(403);
    await world.insert('admin_users_roles_links', [{ id: 99, user_id: admins.bea, role_id: 2, role_order: 1 }]);
    await expect.poll(async () => (await get('bea', '/api/films/1?fields=title')).status, { timeout: 5000 }).toBe(200);
  });

  it('the lane and the framework answer administrators alike', async () => {
    const { world, tokenOf } = it_();
    const deps = newTestDeps(world.db, world.model);
    const plain = await testServerOf(await newServer(deps, { withLane: false }), deps.site);
    try {
      for (const name of ['ada', 'bea', 'flo'] as const)
        for (const url of [
          '/api/films',
          '/api/films/1?populate=*',
          '/api/reels',
          '/api/donors',
          '/api/films?fields=tagline',
        ])
          for (const as of [undefined, 'role:public', 'role:editor', 'x']) {
            const headers = { ...bearer(await tokenOf(name)), ...(as === undefined ? {} : { 'dovetail-as': as }) };
            const [one, other] = [await it_().server.get(url, headers), await plain.get(url, headers)];
            expect([name, url, as, one.status, one.text]).toEqual([name, url, as, other.status, other.text]);
          }
    } finally {
      await plain.close();
    }
  });
});

describe.each(dialects)('a database in which nobody has signed in yet on %s', (dialect) => {
  it('AD4: gets no table of sessions by a request without a password', async () => {
    const world = await newAdminWorld(dialect);
    try {
      const cookie = `dovetail_session=${'a'.repeat(22)}.${'b'.repeat(43)}`;
      for (const path of ['refresh', 'logout'])
        await world.server.send('POST', `/admin/${path}`, { headers: { ...studio, cookie } });
      await world.server.get('/admin/me', bearer('a.b.c'));
      const { db } = world.world;
      const tables = await db.read(() => readRows(db.dialect.schema.columns));
      expect(tables.some(([table]) => table === 'dovetail_sessions')).toBe(false);
      expect((await world.signIn('ada')).status).toBe(200);
    } finally {
      await world.close();
    }
  });
});

describe.each(dialects)('what an administrator does not see, and names on %s', (dialect) => {
  const it_ = useAdmins(dialect, {
    permissions: {
      editor: [
        { action: 'read', subject: film, fields: ['title', 'reels', 'poster', 'stills'] },
        { action: 'update', subject: film, fields: ['title', 'reels', 'poster', 'stills'] },
        { action: 'read', subject: reel, fields: ['label', 'film'], conditions: own },
        { action: 'create', subject: reel, fields: ['label'], conditions: own },
        { action: 'plugin::upload.read', conditions: own },
      ],
    },
  });
  const as = (name: AdminName, method: string, url: string, data: object) =>
    it_().askAs(name, method, url, { body: { data } });

  it.each(['reels', 'poster', 'stills'])('AD11, R19: is as good as absent as a target: %s', async (name) => {
    const { world } = it_();
    const table = name === 'reels' ? 'reels' : 'files';
    const [mine, other] = [1, 2];
    await world.update(table, mine, 'created_by_id', admins.bea);
    await world.update(table, other, 'created_by_id', admins.ada);
    await as('ada', 'PUT', '/api/films/1', { [name]: name === 'poster' ? mine : [mine] });
    for (const id of [other, 99999])
      for (const value of name === 'poster' ? [id] : [[id], [mine, id], { set: [id] }])
        expect([name, value, codesOf(await as('bea', 'PUT', '/api/films/1', { [name]: value }))]).toEqual([
          name,
          value,
          [400, ['relation.absent']],
        ]);
    if (name === 'reels')
      expect(codesOf(await as('bea', 'PUT', '/api/films/1', { reels: { connect: [other] } }))).toEqual([
        400,
        ['relation.absent'],
      ]);
    expect((await as('bea', 'PUT', '/api/films/1', { [name]: name === 'poster' ? mine : [mine] })).status).toBe(200);
    expect((await as('ada', 'PUT', '/api/films/1', { [name]: name === 'poster' ? other : [other] })).status).toBe(200);
    // files that the entry holds, which it shows, may stay; of others nobody learns whether it holds them
    for (const value of name === 'poster' ? [other] : [[other], [mine, other]])
      expect([value, codesOf(await as('bea', 'PUT', '/api/films/1', { [name]: value }))]).toEqual([
        value,
        name === 'reels' ? [400, ['relation.absent']] : [200, undefined],
      ]);
  });

  it('AD11, R14: stays where it is linked, whatever is set or disconnected', async () => {
    const idsOf = async (name: string) => {
      const { body } = await it_().askAs('ada', 'GET', `/api/films/3?fields=id&populate=${name}`);
      return [(body as { data: Entry }).data.attributes[name] as { data: Entry | Entry[] | null }]
        .flatMap((it) => it.data ?? [])
        .map((it) => it.id);
    };
    const [hidden, mine] = [3, 1];
    await it_().world.update('reels', hidden, 'created_by_id', admins.ada);
    await it_().world.update('reels', mine, 'created_by_id', admins.bea);
    const written = async (reels: unknown) => {
      expect(codesOf(await as('bea', 'PUT', '/api/films/3', { reels: reels as object }))).toEqual([200, undefined]);
      return idsOf('reels');
    };
    await as('ada', 'PUT', '/api/films/3', { reels: [hidden] });
    expect(await written([mine])).toEqual([hidden, mine]);
    expect(await written({ disconnect: [hidden] })).toEqual([hidden, mine]);
    expect(await written({ connect: [{ id: mine, position: { start: true } }], disconnect: [hidden] })).toEqual([
      mine,
      hidden,
    ]);
    for (const value of [null, [], { set: [] }]) expect(await written(value)).toEqual([hidden]);
    // whoever sees it takes it out
    await as('ada', 'PUT', '/api/films/3', { reels: [] });
    expect(await idsOf('reels')).toEqual([]);
  });

  it('AD11, R3: is no place in a list, whether the list holds it or not', async () => {
    const made = await as('bea', 'POST', '/api/reels', { label: 'mine' });
    const mine = (made.body as { data: Entry }).data.id;
    const idsNow = async () => {
      const { body } = await it_().askAs('ada', 'GET', '/api/films/2?fields=id&populate=reels');
      const { reels } = (body as { data: Entry }).data.attributes as { reels: { data: readonly Entry[] } };
      return reels.data.map((it) => it.id);
    };
    await it_().world.update('reels', 3, 'created_by_id', admins.ada);
    const [held, other, absent] = [3, 4, 99999];
    const write = (reels: object) => as('bea', 'PUT', '/api/films/2', { reels });
    await as('ada', 'PUT', '/api/films/2', { reels: [held] });
    for (const anchor of [held, other, absent])
      for (const kind of ['before', 'after']) {
        const answer = await write({ connect: [{ id: mine, position: { [kind]: anchor } }] });
        expect([anchor, codesOf(answer)]).toEqual([anchor, [400, ['relation.anchor-missing']]]);
      }
    // nor can it be moved to be one
    for (const anchor of [held, other, absent])
      expect([anchor, codesOf(await write({ connect: [{ id: anchor }] }))]).toEqual([
        anchor,
        [400, ['relation.absent']],
      ]);
    expect(await idsNow()).toEqual([held]);
    expect((await write({ connect: [{ id: mine, position: { start: true } }] })).status).toBe(200);
    expect((await write({ connect: [{ id: mine, position: { end: true } }] })).status).toBe(200);
    expect(await idsNow()).toEqual([held, mine]);
    // whoever sees all of them names any
    const first = { connect: [{ id: mine, position: { before: held } }] };
    expect((await as('ada', 'PUT', '/api/films/2', { reels: first })).status).toBe(200);
    expect(await idsNow()).toEqual([mine, held]);
  });
});

describe.each(dialects)('the answer to a write of an administrator on %s', (dialect) => {
  const notice = 'api::notice.notice';
  const it_ = useAdmins(dialect, {
    permissions: {
      editor: [
        { action: 'read', subject: film, fields: ['title', 'tagline', 'similar', 'reels'], conditions: own },
        { action: 'create', subject: film, fields: ['title', 'similar'] },
        { action: 'update', subject: film, fields: ['title'] },
        { action: 'delete', subject: film },
        { action: 'read', subject: reel, fields: ['label'], conditions: own },
        { action: 'read', subject: notice, fields: ['text'], locales: ['en'] },
        { action: 'update', subject: notice, fields: ['text'], locales: null },
      ],
    },
  });
  const send = (method: string, url: string, data?: object, headers: Record<string, string> = {}) =>
    it_().askAs('bea', method, url, { ...(data ? { body: { data } } : {}), headers });
  const attributesOf = ({ body }: TestAnswer) => (body as { data: Entry }).data.attributes;

  it('AD13: of an entry that they may not read shows what every entry has, whatever the query selects', async () => {
    const shown = ['createdAt', 'publishedAt', 'updatedAt'];
    for (const query of ['', '?populate=*', '?fields[0]=title&fields[1]=tagline', '?populate[similar][populate]=*']) {
      const changed = await send('PUT', `/api/films/1${query}`, { title: 'Éclair' });
      expect([query, changed.status, Object.keys(attributesOf(changed)).sort()]).toEqual([query, 200, shown]);
    }
    const flat = await send('PUT', '/api/films/1', { title: 'Éclair' }, { 'strapi-response-format': 'v5' });
    expect([flat.status, flat.text]).toEqual([200, expect.not.stringMatching(/Éclair|pastry/)]);
    const deleted = await send('DELETE', '/api/films/4?populate=*');
    expect([deleted.status, Object.keys(attributesOf(deleted)).sort()]).toEqual([200, shown]);
    const notice = await send('PUT', '/api/notices/2', { text: 'Salut' });
    expect([notice.status, Object.keys(attributesOf(notice)).sort()]).toEqual([
      200,
      ['createdAt', 'locale', 'updatedAt'],
    ]);
    // the writes are made
    const stored = await it_().askAs('ada', 'GET', '/api/notices/2');
    expect(attributesOf(stored)['text']).toBe('Salut');
    expect((await it_().askAs('ada', 'GET', '/api/films/4')).status).toBe(404);
  });

  it('AD13: of one that they may read shows it, and of others in it what a read does', async () => {
    const { world } = it_();
    const made = await send('POST', '/api/films?populate=*', { title: 'mine' });
    expect(attributesOf(made)).toMatchObject({ title: 'mine', tagline: null, similar: { data: [] } });
    const { id } = (made.body as { data: Entry }).data;
    await world.update('reels_film_links', 1, 'film_id', id);
    await world.insert('films_similar_links', [{ film_id: id, inv_film_id: 1, film_order: 1 }]);
    const query = '?populate[reels]=true&populate[similar][populate]=*';
    const changed = await send('PUT', `/api/films/${id}${query}`, { title: 'still mine' });
    expect(attributesOf(changed)).toMatchObject({
      title: 'still mine',
      reels: { data: [] },
      similar: { data: [] },
    });
    expect(changed.body).toEqual((await send('GET', `/api/films/${id}${query}&publicationState=preview`)).body);
  });
});

describe.each(dialects)('an administrator of files of their own on %s', (dialect) => {
  const notice = 'api::notice.notice';
  const it_ = useAdmins(dialect, {
    permissions: {
      editor: [
        { action: 'read', subject: film, fields: ['title', 'credit.portrait'] },
        { action: 'read', subject: notice, fields: ['text'], locales: ['en'] },
        { action: 'create', subject: notice, fields: ['text'], locales: ['fr'] },
        { action: 'update', subject: notice, fields: ['text'], locales: ['en'] },
        { action: 'plugin::upload.read', conditions: own },
        { action: 'plugin::upload.assets.update', conditions: own },
      ],
    },
  });
  const [mine, other, absent] = [2, 1, 99999];
  const ask = (name: AdminName, method: string, url: string, body?: object) =>
    it_().askAs(name, method, url, body === undefined ? {} : { body });

  it('AD11: sees no others through folders, and counts none', async () => {
    await it_().world.update('files', mine, 'created_by_id', admins.bea);
    const made = await ask('ada', 'POST', '/_dovetail/folders', { name: 'Shared' });
    const folder = (made.body as { data: { id: number } }).data.id;
    for (const id of [mine, other]) await ask('ada', 'POST', `/api/upload?id=${id}`, { fileInfo: { folder } });
    const files = (name: AdminName) =>
      ask(name, 'GET', '/api/upload/files?fields=name&populate[folder][populate][files][fields]=name');
    expect((await files('ada')).text).toContain('"poster.png"');
    const seen = await files('bea');
    expect([seen.status, seen.body]).toMatchObject([200, [{ id: mine, folder: { id: folder } }]]);
    expect(seen.text).not.toContain('"files"');
    const counted = async (name: AdminName) => (await ask(name, 'GET', '/_dovetail/folders')).body;
    expect(await counted('ada')).toMatchObject({ data: [{ id: folder, files: 2 }] });
    expect(await counted('bea')).toMatchObject({ data: [{ id: folder, files: 1 }] });
    const filtered = await ask('bea', 'GET', '/api/upload/files?filters[folder][files][name][$contains]=poster');
    expect([filtered.status, filtered.text]).toEqual([400, expect.stringContaining('is not available')]);
  });

  it('AD11: is told of others as of files that do not exist', async () => {
    const answers = async (id: number) =>
      Promise.all([
        ask('bea', 'GET', `/api/upload/files/${id}`),
        ask('bea', 'POST', `/api/upload?id=${id}`, { fileInfo: { name: 'x' } }),
        ask('bea', 'DELETE', `/api/upload/files/${id}`),
      ]);
    const told = (all: readonly TestAnswer[]) => all.map(({ status, body }) => [status, body]);
    expect(told(await answers(other))).toEqual(told(await answers(absent)));
  });

  it('AD12: is told of entries in other locales as of entries that do not exist', async () => {
    const { world } = it_();
    await world.insert('i18n_locale', [{ id: 101, code: 'fr', name: 'French' }]);
    const inFrench = async (id: number) => {
      const { status, body } = await ask('bea', 'POST', `/api/notices/${id}/localizations`, {
        text: 'b',
        locale: 'fr',
      });
      return [status, body];
    };
    expect(await inFrench(3)).toEqual(await inFrench(absent));
  });

  it('AD10: is shown entries related to a file only where all of their media may be read', async () => {
    await it_().world.update('files', mine, 'created_by_id', admins.bea);
    await ask('ada', 'PUT', '/api/films/1', { data: { stills: [mine] } });
    const related = async (name: AdminName, url = `/api/upload/files/${mine}?populate=related`) =>
      (await ask(name, 'GET', url)).text;
    expect(await related('ada')).toContain('"__type":"api::film.film"');
    expect(await related('bea')).not.toContain('api::film.film');
    expect(await related('bea', `/api/upload/files?populate[related][on][${film}][fields]=title`)).not.toContain(film);
  });

  it('AD10, UP18: is told of uses in attributes that they may read', async () => {
    await it_().world.update('files', mine, 'created_by_id', admins.bea);
    const uses = async (name: AdminName) =>
      (await ask(name, 'GET', `/_dovetail/files/${mine}/uses`)).body as {
        data: readonly { attribute: string }[];
        meta: object;
      };
    const all = await uses('ada');
    expect(all.data.map((it) => it.attribute)).toEqual(expect.arrayContaining(['stills', 'credit.portrait']));
    const data = all.data.filter((it) => it.attribute === 'credit.portrait');
    expect(await uses('bea')).toEqual({ data, meta: { total: data.length } });
  });
});

/** An editor of a project of its own, signed in as 2; returns the headers of their requests. */
const editorOf = async (world: SmallWorld, permissions: readonly AdminPermission[]) => {
  const account = { email: 'bea@example.org', password: bcrypt.hashSync(adminPassword, { cost: 4 }) };
  await world.insert('admin_users', [{ id: 2, firstname: 'bea', ...account, is_active: true, blocked: false }]);
  await world.insert('admin_roles', [{ id: 2, name: 'Editor', code: 'strapi-editor' }]);
  await world.insert('admin_users_roles_links', [{ user_id: 2, role_id: 2, role_order: 1 }]);
  await insertPermissions(
    world,
    permissions.map((it) => ({ role: 2, it })),
  );
  const signedIn = await world.send('POST', '/admin/login', { ...account, password: adminPassword });
  return bearer((signedIn.body as { data: { token: string } }).data.token);
};

describe.each(dialects)('polymorphic relations to entries that conditions hide on %s', (dialect) => {
  const book = (id: number) => ({ __type: 'api::book.book', id });
  const note = (id: number) => ({ __type: 'api::note.note', id });
  const named = { attributes: { name: { type: 'string' } } } as const;
  const needed = {
    things: { type: 'relation', relation: 'morphToMany', required: true },
    first: { type: 'relation', relation: 'morphToOne', required: true },
  };
  type Target = ReturnType<typeof book>;
  const [hidden, mine] = [1, 2];
  const it_ = openForTests(async () => {
    const world = await newSmallWorld(dialect, {
      types: {
        book: named,
        note: named,
        shelf: {
          attributes: {
            name: { type: 'string' },
            things: { type: 'relation', relation: 'morphToMany' },
            first: { type: 'relation', relation: 'morphToOne' },
          },
        },
        crate: {
          attributes: {
            name: { type: 'string' },
            ...needed,
            box: { type: 'component', component: 'parts.box' },
            boxes: { type: 'component', component: 'parts.box', repeatable: true },
          },
        },
      },
      components: { 'parts.box': { name: { type: 'string' }, ...needed } },
    });
    await world.insert('notes', [{ id: 1, name: 'seen by all' }]);
    await world.insert('shelfs', [{ id: 1, name: 'a shelf' }]);
    const ofCrates = ['', 'box.', 'boxes.'].flatMap((it) => ['name', 'things', 'first'].map((name) => `${it}${name}`));
    const headers = await editorOf(world, [
      { action: 'read', subject: 'api::crate.crate', fields: ofCrates },
      { action: 'update', subject: 'api::crate.crate', fields: ofCrates },
      { action: 'read', subject: 'api::shelf.shelf', fields: ['name', 'things', 'first'] },
      { action: 'update', subject: 'api::shelf.shelf', fields: ['name', 'things', 'first'] },
      { action: 'read', subject: 'api::note.note', fields: ['name'] },
      { action: 'read', subject: 'api::book.book', fields: ['name'], conditions: own },
    ]);
    await world.insert('books', [
      { id: hidden, name: 'hidden' },
      { id: mine, name: 'mine', created_by_id: 2 },
    ]);
    await world.insert('crates', [{ id: 1, name: 'a crate' }]);
    const full = { things: [note(1)], first: note(1) };
    await world.send('PUT', '/api/crates/1', { data: { ...full, box: full, boxes: [full] } });
    return {
      close: () => world.close(),
      at: (url: string) => ({
        write: async (data: object) => codesOf(await world.send('PUT', url, { data }, headers)),
        unseen: async (as: Readonly<Record<string, string>> = headers) => {
          const [, , plural, id] = url.split('/');
          const uid = `api::${plural!.slice(0, -1)}.${plural!.slice(0, -1)}`;
          const { status, body } = await world.send('GET', `/_dovetail/entries/${uid}/${id}/unseen`, undefined, as);
          return status === 200 ? (body as { data: readonly string[] }).data : status;
        },
        writeAll: async (data: object) => {
          expect(codesOf(await world.send('PUT', url, { data }))).toEqual([200, undefined]);
        },
        held: async (name: string) => {
          const { body } = await world.send('GET', `${url}?fields=id&populate=${name.replace('[0]', '')}`);
          const held = get((body as { data: Entry }).data.attributes, name) as Target | readonly Target[] | null;
          return [held ?? []].flat().map(({ __type, id }) => ({ __type, id }));
        },
      }),
    };
  });

  it('AD11, R14, R19: they stay in a list, whatever is set, connected or disconnected', async () => {
    const { write, writeAll, held } = it_().at('/api/shelfs/1');
    await writeAll({ things: [note(1), book(hidden)] });
    for (const [things, left] of [
      [[book(mine)], [book(hidden), book(mine)]],
      [{ connect: [note(1)] }, [book(hidden), book(mine), note(1)]],
      [{ disconnect: [book(hidden), note(1)] }, [book(hidden), book(mine)]],
      [{ set: [] }, [book(hidden)]],
      [null, [book(hidden)]],
    ] as const) {
      expect([things, await write({ things })]).toEqual([things, [200, undefined]]);
      expect([things, await held('things')]).toEqual([things, left]);
    }
    // whoever sees it takes it out
    await writeAll({ things: [] });
    expect(await held('things')).toEqual([]);
  });

  it('AD11, R14, R19: one stays until another is set, and none can be set', async () => {
    const { write, writeAll, held } = it_().at('/api/shelfs/1');
    await writeAll({ first: book(hidden) });
    expect(await write({ first: null })).toEqual([200, undefined]);
    expect(await held('first')).toEqual([book(hidden)]);
    for (const first of [book(hidden), book(99999)]) expect(await write({ first })).toEqual([400, ['relation.absent']]);
    expect(await write({ things: { connect: [book(hidden)] } })).toEqual([400, ['relation.absent']]);
    expect(await write({ first: note(1) })).toEqual([200, undefined]);
    expect(await held('first')).toEqual([note(1)]);
    expect(await write({ first: null })).toEqual([200, undefined]);
    expect(await held('first')).toEqual([]);
  });

  it('SU7: relations that hold them are named, in components too, and what they are is not told', async () => {
    const { writeAll, unseen } = it_().at('/api/crates/1');
    const [all, open, closed] = [
      {},
      { things: [note(1)], first: note(1) },
      { things: [note(1), book(hidden)], first: book(hidden) },
    ];
    await writeAll({ ...open, box: { id: 1, ...open }, boxes: [{ id: 2, ...open }] });
    expect(await unseen()).toEqual([]);
    await writeAll({ ...closed, box: { id: 1, ...closed }, boxes: [{ id: 2, ...open, first: book(hidden) }] });
    expect(await unseen()).toEqual(['things', 'first', 'box/1/things', 'box/1/first', 'boxes/2/first']);
    await writeAll({ things: [book(mine)], first: book(mine) });
    expect(await unseen()).toEqual(['box/1/things', 'box/1/first', 'boxes/2/first']);
    // for administrators, of what they may read
    expect(await unseen(all)).toBe(403);
    expect(await it_().at('/api/books/1').unseen()).toBe(404);
    expect(await it_().at('/api/crates/99').unseen()).toBe(404);
  });

  it.each([
    ['', (data: object) => data],
    ['box.', (data: object) => ({ box: { id: 1, ...data } })],
    ['boxes[0].', (data: object) => ({ boxes: [{ id: 2, ...data }] })],
  ] as const)('AD11, R14, BO6: they stay where one is required, and are one: %sthings', async (place, within) => {
    const { write, writeAll, held } = it_().at('/api/crates/1');
    await writeAll(within({ things: [note(1), book(hidden)], first: book(hidden) }));
    for (const [data, left] of [
      [{ things: { disconnect: [note(1), book(hidden)] } }, [book(hidden)]],
      [{ things: [note(1)] }, [book(hidden), note(1)]],
      [{ things: [] }, [book(hidden)]],
      [{ things: null, first: null }, [book(hidden)]],
      [{ name: 'renamed' }, [book(hidden)]],
    ] as const) {
      expect([data, await write(within(data))]).toEqual([data, [200, undefined]]);
      expect([data, await held(`${place}things`)]).toEqual([data, left]);
      expect([data, await held(`${place}first`)]).toEqual([data, [book(hidden)]]);
    }
    await writeAll(within({ things: [note(1)], first: note(1) }));
    for (const data of [{ things: { disconnect: [note(1)] } }, { things: [] }, { things: null }, { first: null }])
      expect([data, await write(within(data))]).toEqual([data, [400, ['body.required']]]);
  });
});

describe.each(dialects)('components that hold each other on %s', (dialect) => {
  it('SU7: relations that hold what the administrator may not see are named at any depth, and no place is read that the entry lacks', async () => {
    const uids = Array.from({ length: 7 }, (_it, i) => `parts.c${i}`);
    const held = Object.fromEntries(
      uids.map((uid, i) => [`c${i}`, { type: 'component', component: uid, repeatable: i % 2 === 0 }]),
    );
    const attributes = {
      ...held,
      zone: { type: 'dynamiczone', components: uids },
      first: relation('manyToOne', 'book'),
    };
    const world = await newSmallWorld(dialect, {
      types: { book: { attributes: { name: { type: 'string' } } }, crate: { attributes } },
      components: Object.fromEntries(uids.map((uid) => [uid, { ...held, first: relation('manyToOne', 'book') }])),
    });
    try {
      const headers = await editorOf(world, [
        { action: 'read', subject: 'api::crate.crate' },
        { action: 'read', subject: 'api::book.book', conditions: own },
      ]);
      await world.insert('books', [{ id: 1, name: 'hidden' }]);
      const deep = { c1: { c1: { c1: { c0: [{}, { first: 1 }] } } } };
      const { status } = await world.send('POST', '/api/crates', {
        data: {
          ...deep,
          first: 1,
          zone: [{ __component: 'parts.c3', c2: [{ c5: { first: 1 } }] }, { __component: 'parts.c4' }],
        },
      });
      expect(status).toBe(200);
      const { body } = await world.send('GET', '/_dovetail/entries/api::crate.crate/1/unseen', undefined, headers);
      const places = (body as { data: readonly string[] }).data.map((it) => it.replace(/\/\d+/g, ''));
      expect(places.sort()).toEqual(['c1/c1/c1/c0/first', 'first', 'zone/parts.c3/c2/c5/first']);
    } finally {
      await world.close();
    }
  });
});

describe.each(dialects)('a localized single type on %s', (dialect) => {
  it('AD12: gets no new locale made of one that the administrator may not see', async () => {
    const own = { pluginOptions: { i18n: { localized: true } } };
    const attributes = { text: { type: 'string', ...own }, code: { type: 'string' } };
    const world = await newSmallWorld(dialect, { types: { page: { kind: 'singleType', ...own, attributes } } });
    try {
      await world.insert(
        'i18n_locale',
        ['en', 'de', 'fr'].map((code, i) => ({ id: i + 1, code })),
      );
      // none in the default locale
      await world.insert('pages', [{ id: 1, text: 'Geheim', code: 'a secret', locale: 'de' }]);
      const subject = 'api::page.page';
      const given = { subject, fields: ['text', 'code'], locales: ['fr'] };
      const headers = await editorOf(
        world,
        ['read', 'create', 'update'].map((action) => ({ action, ...given })),
      );
      const data = { text: 'Texte', locale: 'fr' };
      const made = await world.send('POST', '/api/page/localizations', data, headers);
      expect([made.status, made.text]).toEqual([404, expect.not.stringContaining('a secret')]);
      expect(await world.rows('pages')).toHaveLength(1);
    } finally {
      await world.close();
    }
  });
});

describe.each(dialects)('an administrator where components have hooks of their own on %s', (dialect) => {
  const it_ = useAdmins(dialect, { permissions: { editor }, people: { hooks: idleHooks } });

  it('AD13: writes those of the fields that the role has, and no others', async () => {
    const put = (data: object) => it_().askAs('bea', 'PUT', '/api/films/1?populate=credit', { body: { data } });
    const { status, body } = await put({ credit: { role: 'lead' } });
    expect([status, body]).toMatchObject([200, { data: { attributes: { credit: { role: 'lead' } } } }]);
    expect((await put({ credit: { role: 'lead', person: 1 } })).status).toBe(403);
  });
});
