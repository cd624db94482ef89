/** What administrators read and write through the content API: v4's permissions of their roles (AD8 to AD14). */
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { newAdminGate } from '../../src/access/admin-gate.js';
import { rightsOf } from '../../src/access/rights.js';
import { typeOf } from '../../src/model/model.js';
import { type AdminName, type AdminPermission, type AdminWorld, admins, useAdmins } from '../world/administrators.js';
import { errorOf, refusal, type TestAnswer } from '../world/server.js';
import { loadSmall } from '../world/small.js';
import { dialects, type Entry } from '../world/world.js';

const film = 'api::film.film';
const reel = 'api::reel.reel';
const notice = 'api::notice.notice';
const own = ['admin::is-creator'];

const editor: readonly AdminPermission[] = [
  {
    action: 'read',
    subject: film,
    fields: ['title', 'director', 'lender', 'genres', 'reels', 'credit.role', 'credit.awards.title', 'body'],
  },
  { action: 'read', subject: 'api::person.person', fields: ['name', 'diary', 'pin'] },
  { action: 'read', subject: 'api::genre.genre', fields: ['name', 'films'] },
  { action: 'create', subject: film, fields: ['title', 'credit.role'] },
  { action: 'update', subject: film, fields: ['title', 'credit.role', 'body'] },
  { action: 'read', subject: 'api::house-rules.house-rules', fields: ['text'] },
  { action: 'update', subject: 'api::house-rules.house-rules', fields: ['text'] },
  { action: 'read', subject: notice, fields: ['text'], locales: ['en', 'fr'] },
  { action: 'create', subject: notice, fields: ['text'], locales: ['fr'] },
  { action: 'update', subject: notice, fields: ['text'], locales: ['fr'] },
  // a word of no locales is none, as in v4
  { action: 'delete', subject: notice },
];
const author: readonly AdminPermission[] = [
  { action: 'read', subject: film, fields: ['title', 'reels'] },
  { action: 'read', subject: reel, fields: ['label', 'remark', 'film'], conditions: own },
  { action: 'create', subject: reel, fields: ['label', 'remark', 'film'], conditions: own },
  { action: 'update', subject: reel, fields: ['label', 'remark'], conditions: own },
  { action: 'delete', subject: reel, conditions: own },
  { action: 'create', subject: film, fields: ['title'] },
  { action: 'update', subject: film, fields: ['title'] },
  { action: 'publish', subject: film, conditions: own },
  // what nothing here can meet grants nothing
  { action: 'read', subject: 'api::donor.donor', fields: ['name'], conditions: ['api::donor.is-friend'] },
];

const idOf = (answer: TestAnswer): number => {
  if (answer.status !== 200) throw new Error(answer.text);
  return (answer.body as { data: Entry }).data.id;
};
const idsOf = ({ body, status, text }: TestAnswer): readonly number[] => {
  if (status !== 200) throw new Error(text);
  return (body as { data: readonly Entry[] }).data.map((it) => it.id);
};
const attributesOf = ({ body, status, text }: TestAnswer): Readonly<Record<string, unknown>> => {
  if (status !== 200) throw new Error(text);
  return (body as { data: Entry }).data.attributes;
};
const forbidden = refusal(403, 'ForbiddenError', 'Forbidden');

describe.each(dialects)('rights of administrators on %s', (dialect) => {
  const it_ = useAdmins(dialect, { permissions: { editor, author } });
  const as = (name: AdminName, method: string, url: string, data?: object) =>
    it_().askAs(name, method, url, data === undefined ? {} : { body: { data } });
  const get = (name: AdminName, url: string) => as(name, 'GET', url);
  const signers = async ({ world: { db } }: AdminWorld, table: string, id: number): Promise<unknown> => {
    const query = sql`select created_by_id, updated_by_id from ${sql.table(table)} where id = ${sql.lit(id)}`;
    return (await db.write((tx) => tx.run(db.dialect.compile(query))))[0];
  };

  it('AD8: a super admin may everything, one without a role nothing', async () => {
    for (const url of [
      '/api/donors',
      '/api/films/1',
      '/api/users',
      '/api/users-permissions/roles',
      '/api/i18n/locales',
    ])
      expect((await get('ada', url)).status, url).toBe(200);
    for (const url of ['/api/donors', '/api/films/1', '/api/users', '/api/users-permissions/roles'])
      expect((await get('flo', url)).body, url).toEqual(forbidden);
    expect((await get('flo', '/api/i18n/locales')).status).toBe(200);
  });

  it('AD8: read opens find and findOne, and the other actions what they are named after', async () => {
    expect((await get('bea', '/api/films')).status).toBe(200);
    expect((await get('bea', '/api/films/1')).status).toBe(200);
    expect((await as('bea', 'DELETE', '/api/films/1')).body).toEqual(forbidden);
    expect((await get('bea', '/api/reels')).body).toEqual(forbidden);
    expect((await as('bea', 'POST', '/api/genres', { name: 'x' })).body).toEqual(forbidden);
    expect((await get('bea', '/api/house-rules')).status).toBe(200);
    for (const url of [
      '/api/users',
      '/api/users/1',
      '/api/users/count',
      '/api/users-permissions/roles',
      '/api/upload/files',
    ])
      expect((await get('bea', url)).body, url).toEqual(forbidden);
  });

  it('AD8: a condition that nothing here can meet grants nothing', async () => {
    expect((await get('cyd', '/api/donors')).body).toEqual(forbidden);
  });

  it('AD9: private attributes and creators are shown, passwords and reset codes never', async () => {
    const person = attributesOf(await get('ada', '/api/people/1?populate=createdBy'));
    expect(person).toMatchObject({
      diary: 'a secret wish',
      createdBy: { id: 1, firstname: 'Ada', lastname: 'Quill', username: 'ada' },
    });
    expect(Object.keys(person)).not.toContain('pin');
    expect(JSON.stringify(person)).not.toMatch(/\$2|@example|password|email/i);
    const found = attributesOf(await get('ada', '/api/films/1?fields=title&populate=confidant,credit'));
    expect(found['credit']).toMatchObject({ note: 'a private note' });
    expect(Object.keys(found)).toContain('confidant');
    const user = await get('ada', '/api/users/1');
    expect(Object.keys(user.body as object)).not.toEqual(expect.arrayContaining(['password']));
    expect(user.text).not.toMatch(/password|resetPasswordToken|confirmationToken|\$2/);
    // nobody else sees more for it
    expect((await it_().server.get('/api/people/1?populate=*')).text).not.toContain('a secret wish');
  });

  it.each([
    '/api/people?fields=pin',
    '/api/people?filters[pin][$startsWith]=$2',
    '/api/people?sort=pin',
    '/api/films?filters[director][pin][$notNull]=true',
    '/api/users?filters[resetPasswordToken][$notNull]=true',
    '/api/users?filters[password][$notNull]=true',
    '/api/users?sort=confirmationToken',
    '/api/films?filters[createdBy][email][$contains]=a',
    '/api/films?filters[createdBy][password][$notNull]=true',
    '/api/films?sort=createdBy.email',
    '/api/films?filters[createdBy][roles][code]=x',
    '/api/films?populate[createdBy][fields]=password',
  ])('AD9: %s is refused, to super admins too', async (url) => {
    const { status, text } = await get('ada', url);
    expect([status, text]).toEqual([400, expect.stringContaining('is not available')]);
  });

  it('AD9: the populated creator has no secrets and no roles', async () => {
    const { text } = await get('ada', '/api/films/1?populate[createdBy][populate]=*');
    expect(text).toContain('Quill');
    expect(text).not.toMatch(/"roles"|email|password/);
  });

  it('AD10: only the fields of the permission are shown, and those that every entry has', async () => {
    const shown = attributesOf(await get('bea', '/api/films/1?populate=*'));
    expect(Object.keys(shown).sort()).toEqual(
      [
        'body',
        'createdAt',
        'createdBy',
        'credit',
        'director',
        'genres',
        'publishedAt',
        'title',
        'updatedAt',
        'updatedBy',
      ].sort(),
    );
    // a password among the fields is none
    expect(shown['director']).not.toMatchObject({ data: { attributes: { pin: expect.anything() } } });
  });

  it('AD10: of components the named fields, of zones everything', async () => {
    const shown = attributesOf(
      await get('bea', '/api/films/1?fields=id&populate[credit][populate]=*&populate[body][populate]=*'),
    );
    expect(shown['credit']).toEqual({
      id: 1,
      role: 'Auteur',
      awards: [
        { id: 2, title: 'Gold' },
        { id: 1, title: 'Silver' },
      ],
    });
    expect(shown['body']).toEqual(expect.arrayContaining([expect.objectContaining({ text: 'Light!' })]));
  });

  it.each([
    ['fields=tagline'],
    ['filters[tagline][$contains]=secret'],
    ['filters[$not][tagline]=x'],
    ['filters[$or][0][title]=x&filters[$or][1][year]=1911'],
    ['sort=year'],
    ['sort=director.born'],
    ['filters[director][nickname]=Z'],
    ['filters[credit][note]=x'],
    ['filters[credit][billing]=1'],
    ['filters[credit][awards][year]=1912'],
    ['sort=credit.billing'],
    ['filters[genres][order]=1'],
    ['filters[reels][label]=x'],
    ['filters[lender][name][$contains]=Secret'],
    ['populate[director][fields]=nickname'],
    ['populate[director][filters][born][$notNull]=true'],
    ['populate[genres][sort]=order'],
  ])('AD10: %s of what may not be read is refused', async (query) => {
    const { status, text } = await get('bea', `/api/films?${query}`);
    expect([status, text]).toEqual([400, expect.stringContaining('is not available')]);
  });

  it('AD10: a search looks at no other fields', async () => {
    expect(idsOf(await get('ada', '/api/films?_q=pastry'))).toEqual([1]);
    expect(idsOf(await get('bea', '/api/films?_q=pastry'))).toEqual([]);
    expect(idsOf(await get('bea', '/api/films?_q=wool'))).toEqual([3]);
  });

  it('AD10: relations to types that the roles may not read are left out, at every depth', async () => {
    const { text } = await get(
      'bea',
      '/api/films?fields=title&publicationState=preview&populate[lender]=true&populate[reels]=true&populate[genres][populate][films][populate]=*&populate[body][populate]=*',
    );
    expect(text).not.toMatch(/Donor|"reels"|"lender"|"donor"|Reel one/);
  });

  it('AD11: an entry that somebody else created is no entry, for reading', async () => {
    const mine = idOf(await as('cyd', 'POST', '/api/reels', { label: 'mine', film: 1 }));
    expect(idsOf(await get('cyd', '/api/reels'))).toEqual([mine]);
    expect((await get('cyd', `/api/reels/${mine}`)).status).toBe(200);
    expect((await get('cyd', '/api/reels/1')).status).toBe(404);
    expect((await get('cyd', '/api/reels?filters[label]=Reel one')).body).toMatchObject({
      data: [],
      meta: { pagination: { total: 0 } },
    });
    expect((await get('cyd', '/api/reels?filters[$or][0][id]=1&filters[$or][1][id]=2')).body).toMatchObject({
      data: [],
    });
    expect((await get('cyd', '/api/reels?_q=Reel')).body).toMatchObject({ data: [] });
    expect(idsOf(await get('ada', '/api/reels')).length).toBeGreaterThan(1);
    await as('ada', 'DELETE', `/api/reels/${mine}`);
  });

  it('AD11: nor through relations: shown, filtered or sorted by, negated or not', async () => {
    await it_().world.update('reels_film_links', 1, 'film_id', 1);
    const mine = idOf(await as('cyd', 'POST', '/api/reels', { label: 'mine', film: 2 }));
    const { text } = await get('cyd', '/api/films?fields=title&populate=reels&sort=id');
    expect(text).toContain('"mine"');
    expect(text).not.toContain('Reel one');
    const films = async (query: string) => idsOf(await get('cyd', `/api/films?sort=id&${query}`));
    expect(await films('filters[reels][label]=Reel one')).toEqual([]);
    expect(await films('filters[reels][label][$ne]=mine')).toEqual([]);
    expect(await films('filters[reels][label]=mine')).toEqual([2]);
    expect(await films('filters[$not][reels][label]=mine')).toEqual([]);
    expect(await films('filters[$not][reels][label]=nothing')).toEqual([2]);
    expect(await films('filters[reels][id][$notNull]=true')).toEqual([2]);
    // those without a reel that may be seen count as without any
    expect(await films('filters[reels][id][$null]=true')).toContain(1);
    expect(await films('filters[reels][id][$null]=true')).not.toContain(2);
    expect(errorOf(await get('cyd', '/api/films?sort=reels.label')).message).toContain('is not available');
    await as('ada', 'DELETE', `/api/reels/${mine}`);
  });

  it('AD11: nor for changing and deleting; kept answers of one author are not those of another', async () => {
    const mine = idOf(await as('cyd', 'POST', '/api/reels', { label: 'mine' }));
    expect((await as('cyd', 'PUT', `/api/reels/${mine}`, { remark: 'better' })).status).toBe(200);
    expect((await as('cyd', 'PUT', '/api/reels/1', { remark: 'worse' })).status).toBe(404);
    expect((await as('cyd', 'DELETE', '/api/reels/1')).status).toBe(404);
    expect((await as('cyd', 'PUT', '/api/reels/999', { remark: 'x' })).status).toBe(404);
    for (let i = 0; i < 3; i++) {
      expect(idsOf(await get('cyd', '/api/reels?fields=label'))).toEqual([mine]);
      expect(idsOf(await get('ada', '/api/reels?fields=label')).length).toBeGreaterThan(3);
      expect((await get('bea', '/api/reels?fields=label')).status).toBe(403);
    }
    expect((await as('cyd', 'DELETE', `/api/reels/${mine}`)).status).toBe(200);
  });

  it('AD12: localized entries are read and written in the locales of the permission', async () => {
    await it_().world.insert('i18n_locale', [
      { id: 101, code: 'fr', name: 'French' },
      { id: 102, code: 'de', name: 'German' },
    ]);
    const texts = async (query: string) =>
      ((await get('bea', `/api/notices?${query}`)).body as { data: readonly Entry[] }).data.map(
        (it) => it.attributes['text'],
      );
    expect(await texts('locale=all&sort=id')).toEqual(['Hello', 'Bonjour', 'Hello again']);
    expect(await texts('locale=de')).toEqual([]);
    expect((await get('bea', '/api/notices/3')).status).toBe(404);
    expect((await as('bea', 'PUT', '/api/notices/2', { text: 'Salut' })).status).toBe(200);
    // one that may be read is forbidden, one that may not is absent
    expect((await as('bea', 'PUT', '/api/notices/1', { text: 'Hi' })).body).toEqual(forbidden);
    expect((await as('bea', 'PUT', '/api/notices/3', { text: 'Hi' })).status).toBe(404);
    expect((await as('bea', 'DELETE', '/api/notices/2')).body).toEqual(forbidden);
    expect((await as('bea', 'POST', '/api/notices', { text: 'a' })).body).toEqual(forbidden);
    expect((await as('bea', 'POST', '/api/notices', { text: 'a', locale: 'de' })).body).toEqual(forbidden);
    const made = idOf(await as('bea', 'POST', '/api/notices', { text: 'a', locale: 'fr' }));
    const sibling = (id: number, locale: string) =>
      it_().askAs('bea', 'POST', `/api/notices/${id}/localizations`, { body: { text: 'b', locale } });
    expect((await sibling(made, 'de')).body).toEqual(forbidden);
    // of an entry that may not be changed nothing is copied
    expect((await sibling(3, 'fr')).status).toBe(404);
    expect((await sibling(1, 'fr')).body).toEqual(forbidden);
    await as('ada', 'DELETE', `/api/notices/${made}`);
  });

  it('AD13: only the fields of the permission are written; others are refused by name, and nothing is written', async () => {
    const before = attributesOf(await get('ada', '/api/films/1?populate=credit'));
    for (const [data, at] of [
      [{ title: 'x', tagline: 'y' }, 'tagline'],
      [{ credit: { id: 1, role: 'x', note: 'y' } }, 'credit.note'],
      [{ credit: { id: 1, awards: [{ title: 'x' }] } }, 'credit.awards'],
      [{ director: 1 }, 'director'],
      [{ genres: { connect: [1] } }, 'genres'],
      [{ stills: [1] }, 'stills'],
      [{ facts: [{ text: 'x' }] }, 'facts'],
    ] as const) {
      const answer = await as('bea', 'PUT', '/api/films/1', data);
      expect(answer.body).toEqual(
        refusal(
          403,
          'ForbiddenError',
          expect.stringContaining('your roles do not allow you to write this attribute') as unknown as string,
          {
            path: expect.anything() as unknown as string[],
          },
        ),
      );
      expect(errorOf(answer).errors.map((it) => it.path.join('.'))).toEqual([at]);
    }
    expect(attributesOf(await get('ada', '/api/films/1?populate=credit'))).toEqual(before);
    const changed = await as('bea', 'PUT', '/api/films/1', { title: 'Éclair', credit: { id: 1, role: 'Auteur' } });
    expect(changed.status).toBe(200);
    // and the answer shows no more than a read
    expect(changed.text).not.toContain('A pastry');
    expect(await signers(it_(), 'films', 1)).toEqual([1, admins.bea]);
    expect((await as('bea', 'POST', '/api/films', { title: 'x', body: [] })).status).toBe(403);
  });

  it('AD13: creators are those who write, and nobody writes them', async () => {
    const id = idOf(await as('bea', 'POST', '/api/films', { title: 'new', createdBy: 1, updatedBy: 1 }));
    expect(await signers(it_(), 'films', id)).toEqual([admins.bea, admins.bea]);
    await as('ada', 'PUT', `/api/films/${id}`, { title: 'newer' });
    expect(await signers(it_(), 'films', id)).toEqual([admins.bea, admins.ada]);
    await as('ada', 'DELETE', `/api/films/${id}`);
  });

  it('AD13: publishing needs its own permission: without it new entries are drafts, and no state changes', async () => {
    const publishedAt = (answer: TestAnswer): unknown => attributesOf(answer)['publishedAt'];
    const draft = await as('bea', 'POST', '/api/films', { title: 'draft' });
    expect(publishedAt(draft)).toBeNull();
    const id = idOf(draft);
    for (const value of [new Date().toISOString(), null])
      expect(errorOf(await as('bea', 'PUT', `/api/films/${id}`, { publishedAt: value })).status).toBe(403);
    expect((await as('bea', 'POST', '/api/films', { title: 'x', publishedAt: new Date().toISOString() })).status).toBe(
      403,
    );
    // authors publish their own
    const mine = idOf(await as('cyd', 'POST', '/api/films', { title: 'mine', publishedAt: null }));
    expect((await as('cyd', 'PUT', `/api/films/${id}`, { publishedAt: new Date().toISOString() })).status).toBe(403);
    expect(
      publishedAt(await as('cyd', 'PUT', `/api/films/${mine}`, { publishedAt: new Date().toISOString() })),
    ).not.toBeNull();
    expect(
      publishedAt(await as('ada', 'PUT', `/api/films/${id}`, { publishedAt: new Date().toISOString() })),
    ).not.toBeNull();
    for (const it of [id, mine]) await as('ada', 'DELETE', `/api/films/${it}`);
  });

  it('AD13: a single type is changed by update, and made by create only', async () => {
    expect((await as('bea', 'PUT', '/api/house-rules', { text: 'No drinks.' })).status).toBe(200);
    expect((await as('ada', 'DELETE', '/api/house-rules')).status).toBe(200);
    expect((await as('bea', 'PUT', '/api/house-rules', { text: 'New.' })).body).toEqual(forbidden);
    expect((await as('ada', 'PUT', '/api/house-rules', { text: 'No food.' })).status).toBe(200);
  });
});

describe.each(dialects)('several permissions on %s', (dialect) => {
  const it_ = useAdmins(dialect, {
    permissions: {
      editor: [
        // all entries with some fields, and more fields of their own: the first counts for everybody
        { action: 'read', subject: film, fields: ['title'] },
        { action: 'read', subject: film, fields: ['tagline'] },
        { action: 'read', subject: film, fields: ['year', 'title'], conditions: own },
        // different entries: the fields that both have
        { action: 'read', subject: notice, fields: ['text'], locales: ['en'] },
        { action: 'read', subject: notice, fields: ['text', 'film'], locales: null, conditions: own },
      ],
    },
  });

  it('AD11: permissions for all entries add up, and those for some add no fields to others', async () => {
    const { body } = await it_().askAs('bea', 'GET', '/api/films/1');
    const { attributes } = (body as { data: Entry }).data;
    expect(attributes).toMatchObject({ title: 'Éclair', tagline: 'A pastry, a storm' });
    expect(Object.keys(attributes)).not.toContain('year');
  });

  it('AD11: of permissions for different entries the fields count that all of them have', async () => {
    const { body } = await it_().askAs('bea', 'GET', '/api/notices?locale=all&populate=film');
    const { data } = body as { data: readonly Entry[] };
    expect(data.map((it) => it.attributes['text'])).toEqual(['Hello', 'Hello again']);
    expect(JSON.stringify(data)).not.toContain('"film"');
  });
});

it('AD10: attributes of the schema file are fields of permissions also where they are named like what the server adds', () => {
  const uid = 'api::note.note';
  const localizations = { type: 'relation', relation: 'manyToMany', target: uid };
  const names = ['publishedAt', 'locale', 'localizations'];
  const attributes = {
    text: { type: 'string' },
    publishedAt: { type: 'datetime' },
    locale: { type: 'string' },
    localizations,
  };
  const model = loadSmall({ types: { note: { attributes } } });
  const note = typeOf(model, uid);
  const writable = (fields: readonly string[]): readonly string[] => {
    const action = 'plugin::content-manager.explorer.update';
    const permissions = [{ action, subject: uid, fields, locales: undefined, conditions: [] }];
    const { changes } = newAdminGate(
      rightsOf(1, [{ id: 2, name: 'Editor', code: 'editor', permissions }], model),
      'editor',
      model,
    );
    return names.filter((name) => changes?.hasField('update', note, note.attributes.get(name)!));
  };
  expect(writable(['text'])).toEqual([]);
  expect(writable(['text', 'publishedAt'])).toEqual(['publishedAt']);
});
