/** What lifecycles see of localized entries, and what becomes of values that all locales share. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const page = 'api::page.page';
const localized = { i18n: { localized: true } };

/** What it sees is in `strapi.seen`; what it does is decided by `strapi.change`. */
const watching = `
  const see = async (event) => {
    strapi.seen.push({ ...event.params.data });
    strapi.change && (await strapi.change(event.params.data));
  };
  module.exports = { beforeCreate: see, beforeUpdate: see, afterCreate: (event) => void strapi.after.push(event) };`;

const attributes = {
  title: { type: 'string', pluginOptions: localized },
  code: { type: 'string' },
  order: { type: 'integer' },
  flag: { type: 'boolean', default: true },
  at: { type: 'datetime' },
  big: { type: 'biginteger' },
  facts: { type: 'json' },
  price: { type: 'decimal' },
  day: { type: 'date' },
  box: { type: 'component', component: 'parts.box' },
  boxes: { type: 'component', component: 'parts.box', repeatable: true },
  zone: { type: 'dynamiczone', components: ['parts.box', 'parts.slip'] },
  own: { type: 'component', component: 'parts.box', pluginOptions: localized },
  cover: { type: 'media', multiple: false },
  pictures: { type: 'media', multiple: true },
};

const files = {
  ...typeFile('page', attributes, {}, localized),
  ...typeFile('draft', attributes, { draftAndPublish: true }, localized),
  ...coreFile('Router', 'page'),
  ...coreFile('Router', 'draft'),
  'src/components/parts/box.json': JSON.stringify({
    collectionName: 'components_parts_boxes',
    info: { displayName: 'box' },
    attributes: { size: { type: 'integer' }, slips: { type: 'component', component: 'parts.slip', repeatable: true } },
  }),
  'src/components/parts/slip.json': JSON.stringify({
    collectionName: 'components_parts_slips',
    info: { displayName: 'slip' },
    attributes: { text: { type: 'string' }, at: { type: 'datetime' } },
  }),
  'src/api/page/content-types/page/lifecycles.js': watching,
  'src/api/draft/content-types/draft/lifecycles.js': watching,
  'dovetail.config.json': JSON.stringify({ api: { strict: false } }),
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const actions = ['find', 'findOne', 'create', 'update', 'createLocalization'];
    await allow('public', actions.flatMap((it) => ['${page}.' + it, 'api::draft.draft.' + it]));
    await allow('public', ['plugin::users-permissions.auth.register']);
    await allow('authenticated', ['${page}.createLocalization']);
    for (const code of ['en', 'de', 'fr']) await strapi.plugin('i18n').service('locales').create({ code, name: code });
    strapi.seen = [];
    strapi.after = [];
    strapi.changed = [];
    strapi.eventHub.on('entry.update', ({ entry }) => void strapi.changed.push(entry.id));
  } };`,
};

type Members = Record<string, unknown>;

interface Row extends Members {
  readonly id: number;
}

interface Code {
  seen: Members[];
  after: { readonly params: Members; readonly result: Row }[];
  /** Ids of updated entries, as events tell them. */
  changed: number[];
  change: ((data: Members) => unknown) | undefined;
  readonly requestContext: {
    get(): {
      readonly state: { readonly user?: Row };
      readonly request: { readonly url: string };
      readonly params: object;
    };
  };
  readonly entityService: {
    create(uid: string, params: { readonly data: object }): Promise<Row>;
    findOne(uid: string, id: number, params?: object): Promise<Row>;
    update(uid: string, id: number, params: { readonly data: object }): Promise<Row>;
  };
  readonly db: {
    query(uid: string): {
      create(params: { readonly data: object }): Promise<Row>;
      createMany(params: { readonly data: readonly object[] }): Promise<unknown>;
      findOne(params: object): Promise<Row | null>;
      findMany(params: object): Promise<Row[]>;
      count(): Promise<number>;
    };
    readonly lifecycles: { subscribe(hooks: object): () => void };
  };
}

describe.each(dialects)('hooks of localized types on %s', (dialect) => {
  let served: CodeProject;
  let strapi: Code;
  let pictures: readonly number[];
  beforeAll(async () => {
    served = await serveCode(dialect, files);
    strapi = (globalThis as unknown as { strapi: Code }).strapi;
    const rows = ['a', 'b', 'c'].map((name) => ({
      name,
      hash: name,
      mime: 'image/png',
      size: 1,
      url: `/${name}`,
      provider: 'local',
    }));
    const stored: number[] = [];
    for (const data of rows) stored.push((await strapi.db.query('plugin::upload.file').create({ data })).id);
    pictures = stored;
  });
  afterAll(() => served.close());
  beforeEach(() => {
    strapi.change = undefined;
    strapi.seen = [];
    strapi.after = [];
  });

  const shared = {
    code: 'A-1',
    order: 7,
    flag: false,
    at: '2024-03-04T05:06:07.000Z',
    big: '9007199254740993',
    facts: { a: [1], b: { c: 1, d: 2 } },
    price: 12.5,
    day: '2024-02-29',
  };
  const parts = {
    box: { size: 1 },
    boxes: [
      { size: 2, slips: [{ text: 'deep' }] },
      { size: 3, slips: [] },
    ],
    zone: [{ __component: 'parts.slip', text: 'in zone' }],
  };

  /** An entry in the default locale, which hooks have left as it is. */
  const newEntry = async (): Promise<number> => {
    const media = { cover: pictures[0], pictures: pictures.slice(0, 2) };
    const { body } = await served.json('POST', '/api/pages', { data: { title: 'one', ...shared, ...parts, ...media } });
    strapi.seen = [];
    strapi.after = [];
    strapi.changed = [];
    return (body as { readonly data: Row }).data.id;
  };
  const translate = (id: number, data: object) => served.json('POST', `/api/pages/${id}/localizations`, data);
  const bySending = async (id: number): Promise<number> =>
    ((await translate(id, { title: 'eins', locale: 'de' })).body as Row).id;
  const data = (id: number) => ({ title: 'eins', locale: 'de', localizations: [id] });
  const byEntityService = async (id: number) => (await strapi.entityService.create(page, { data: data(id) })).id;
  const byQuery = async (id: number) => (await strapi.db.query(page).create({ data: data(id) })).id;
  const ways: readonly (readonly [string, (id: number) => Promise<number>])[] = [
    ['POST …/localizations', bySending],
    ['entityService.create', byEntityService],
    ['db.query.create', byQuery],
  ];
  const stored = (id: number) =>
    strapi.entityService.findOne(page, id, {
      populate: ['box', 'boxes.slips', 'zone', 'cover', 'pictures', 'localizations'],
    });
  /** How hooks see the stored components of an attribute. */
  const part = (field: string, { id }: Row) => ({ id, __pivot: { field, component_type: 'parts.box' } });

  it.each(ways)('see what a new locale has of the others: %s', async (_way, create) => {
    const id = await newEntry();
    const { box, boxes, zone } = (await stored(id)) as unknown as { box: Row; boxes: Row[]; zone: Row[] };
    await create(id);
    const times = { createdAt: expect.any(Date), updatedAt: expect.any(Date) };
    const contents = {
      box: part('box', box),
      boxes: boxes.map((it) => part('boxes', it)),
      zone: zone.map((it) => ({ id: it.id, __component: 'parts.slip', __pivot: { field: 'zone' } })),
      cover: pictures[0],
      pictures: pictures.slice(0, 2),
    };
    expect(strapi.seen).toEqual([
      { title: 'eins', locale: 'de', localizations: [id], ...shared, ...contents, ...times },
    ]);
    await translate(id, { title: 'un', locale: 'fr', order: 8 });
    expect(strapi.seen[1]).toMatchObject({ ...shared, order: 8, localizations: [id, expect.any(Number)] });
  });

  it.each(ways)('fill nothing that the other locales have: %s', async (_way, create) => {
    const id = await newEntry();
    const before = await stored(id);
    strapi.change = (it) => {
      for (const [name, value] of Object.entries({ ...shared, code: 'GEN', order: 99, at: '2030-01-01T00:00:00.000Z' }))
        if (it[name] === undefined) it[name] = value;
      it['box'] ??= { size: 50 };
      it['cover'] ??= pictures[2];
      for (const name of ['boxes', 'zone', 'pictures'])
        if (((it[name] as readonly object[] | undefined) ?? []).length === 0) it[name] = [{ size: 60 }];
    };
    const german = await create(id);
    expect(await stored(german)).toMatchObject({ ...shared, ...parts, title: 'eins' });
    expect(await stored(id)).toEqual({ ...before, localizations: [expect.objectContaining({ id: german })] });
  });

  it('take nothing away that the other locales have', async () => {
    const id = await newEntry();
    strapi.change = (it) => {
      delete it['order'];
      delete it['flag'];
      it['localizations'] = [];
    };
    const german = await bySending(id);
    for (const it of [id, german]) expect(await stored(it)).toMatchObject({ ...shared, ...parts, localizations: [{}] });
  });

  it('change a shared value in all locales', async () => {
    const id = await newEntry();
    strapi.change = (it) => {
      it['order'] = Number(it['order']) + 1;
      it['code'] = null;
      (it['facts'] as { a: number[] }).a.push(2);
    };
    const german = await bySending(id);
    const changed = { ...shared, ...parts, order: 8, code: null, facts: { a: [1, 2], b: { c: 1, d: 2 } } };
    for (const it of [id, german]) expect(await stored(it)).toMatchObject(changed);
    expect(strapi.changed).toEqual([id]);
  });

  it.each(ways)(
    'change shared components and files in all locales, and can keep some of them: %s',
    async (_way, create) => {
      const id = await newEntry();
      const rows = () => Promise.all(['parts.box', 'parts.slip'].map((it) => strapi.db.query(it).count()));
      const [boxesBefore = 0, slipsBefore = 0] = await rows();
      strapi.change = (it) => {
        const [first, second] = it['boxes'] as readonly Row[];
        it['box'] = { size: 9 };
        it['boxes'] = [second, { size: 8 }, first];
        it['zone'] = [...(it['zone'] as readonly Row[]), { __component: 'parts.box', size: 7 }];
        it['cover'] = pictures[2];
        it['pictures'] = [...(it['pictures'] as readonly number[]), pictures[2]];
      };
      const german = await create(id);
      const [deep, plain] = parts.boxes;
      const changed = {
        ...shared,
        box: { size: 9 },
        boxes: [plain, { size: 8 }, deep],
        zone: [...parts.zone, { __component: 'parts.box', size: 7 }],
        cover: { id: pictures[2] },
        pictures: pictures.map((it) => ({ id: it })),
      };
      for (const it of [id, german]) expect(await stored(it)).toMatchObject(changed);
      // both have components of their own, and nothing is left over
      expect(await rows()).toEqual([boxesBefore + 7, slipsBefore + 2]);
      strapi.change = undefined;
      await strapi.entityService.update(page, german, { data: { box: null, boxes: [], zone: [] } });
      expect(await rows()).toEqual([boxesBefore - 3, slipsBefore - 2]);
    },
  );

  it('see the dates that db.query is given, beside components of the other locales', async () => {
    const id = await newEntry();
    const own = { size: 1, slips: [{ text: 'dated', at: new Date(shared.at) }] };
    await strapi.db.query(page).create({ data: { ...data(id), own } });
    expect(strapi.seen).toMatchObject([{ own, box: {} }]);
  });

  it('take shared components and files from all locales by null', async () => {
    const id = await newEntry();
    strapi.change = (it) => {
      it['box'] = null;
      it['boxes'] = [];
      it['cover'] = null;
    };
    const german = await bySending(id);
    const changed = { ...shared, box: null, boxes: [], cover: null, zone: parts.zone };
    for (const it of [id, german]) expect(await stored(it)).toMatchObject(changed);
  });

  it('put a shared component in one place', async () => {
    const id = await newEntry();
    strapi.change = (it) => {
      it['box'] = (it['boxes'] as readonly Row[])[0];
      it['boxes'] = [it['box'], { size: 8 }];
    };
    expect(await translate(id, { title: 'eins', locale: 'de' })).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining('boxes') } },
    });
  });

  const forms: readonly (readonly [string, (data: Members) => Members])[] = [
    ['dates', (it) => ({ at: new Date(String(it['at'])) })],
    ['instants in another zone', () => ({ at: '2024-03-04T06:06:07+01:00' })],
    ['days with a time', (it) => ({ day: `${String(it['day'])}T00:00:00.000Z` })],
    [
      'texts of numbers',
      (it) => ({ price: String(it['price']), order: `${String(it['order'])}.0`, big: ` +${String(it['big'])}` }),
    ],
    ['flags', () => ({ flag: 0 })],
    ['members in another order', () => ({ facts: { b: { d: 2, c: 1 }, a: [1] } })],
    ['texts of JSON', (it) => ({ facts: JSON.stringify(it['facts']) })],
    [
      'ids of components',
      (it) => ({ box: (it['box'] as Row).id, boxes: (it['boxes'] as Row[]).map((row) => ({ id: String(row.id) })) }),
    ],
    ['ids of files', (it) => ({ cover: { id: it['cover'] }, pictures: { set: it['pictures'] } })],
    ['copies', (it) => structuredClone(it)],
  ];
  it.each(forms)(
    'leave the other locales alone where they give the same in another form: %s',
    async (_form, change) => {
      const id = await newEntry();
      const before = await stored(id);
      strapi.change = (it) => void Object.assign(it, change(it));
      const german = await bySending(id);
      expect(await stored(german)).toMatchObject({ ...shared, ...parts });
      expect(await stored(id)).toEqual({ ...before, localizations: [expect.objectContaining({ id: german })] });
      expect(strapi.changed).toEqual([]);
    },
  );

  it('cannot make other entries the locales of a new one', async () => {
    const [id, other] = [await newEntry(), await newEntry()];
    strapi.change = (it) => {
      it['localizations'] = [other];
    };
    expect(await translate(id, { title: 'eins', locale: 'de' })).toMatchObject({
      status: 400,
      body: { error: { message: 'localizations: add localizations by POST to …/localizations' } },
    });
  });

  it('know the request that makes a new locale, and who sends it', async () => {
    const { jwt, user } = (
      await served.json('POST', '/api/auth/local/register', {
        username: 'ada',
        email: 'ada@example.org',
        password: 'secret12',
      })
    ).body as { readonly jwt: string; readonly user: Row };
    const id = await newEntry();
    const asked: unknown[] = [];
    strapi.change = () => {
      const { state, request, params } = strapi.requestContext.get();
      asked.push([state.user?.id, request.url, params]);
    };
    const url = `/api/pages/${id}/localizations`;
    const { status } = await served.json(
      'POST',
      url,
      { title: 'eins', locale: 'de' },
      { authorization: `Bearer ${jwt}` },
    );
    expect([status, asked]).toEqual([200, [[user.id, url, { id: String(id) }]]]);
  });

  it('hear after a new locale which others there are', async () => {
    const id = await newEntry();
    await bySending(id);
    expect(strapi.after).toMatchObject([
      { params: { populate: ['localizations'] }, result: { localizations: [{ id }] } },
    ]);
  });

  it('are not noticed by the client: what they see of other locales is not its own', async () => {
    const id = await newEntry();
    const { headers } = await translate(id, { title: 'eins', locale: 'de' });
    expect(headers['dovetail-ignored']).toBeUndefined();
    const said = await translate(id, { title: 'un', locale: 'fr', localizations: [] });
    expect([said.status, said.headers['dovetail-ignored']]).toEqual([200, 'localizations']);
  });

  const creations: readonly (readonly [string, (data: object) => Promise<unknown>])[] = [
    ['POST', (it) => served.json('POST', '/api/pages', { data: it })],
    ['POST of a type with drafts', (it) => served.json('POST', '/api/drafts', { data: it })],
    ['entityService.create', (it) => strapi.entityService.create(page, { data: it })],
  ];
  it.each(creations)('know the locale of a new entry, also where it is the default: %s', async (title, create) => {
    const found: unknown[] = [];
    strapi.change = async ({ locale }) => {
      found.push([locale, await strapi.db.query(page).findOne({ where: { title: `none of ${title}`, locale } })]);
    };
    for (const said of [{}, { locale: null }, { locale: 'de' }]) await create({ title, ...said });
    expect(found).toEqual([
      ['en', null],
      ['en', null],
      ['de', null],
    ]);
  });

  it('of subscribers know it where the own hooks of the type decide it, and of rows that db.query makes', async () => {
    const rows: unknown[] = [];
    const see = ({ params }: { readonly params: { readonly data: Members | readonly Members[] } }) =>
      void rows.push(...[params.data].flat().map(({ locale, createdAt }) => [locale, createdAt instanceof Date]));
    const end = strapi.db.lifecycles.subscribe({ models: [page], beforeCreate: see, beforeCreateMany: see });
    strapi.change = (it) => {
      if (it['title'] === 'own') it['locale'] ??= 'fr';
    };
    const { id } = await strapi.db.query(page).create({ data: { title: 'own' } });
    await strapi.db.query(page).create({ data: { title: 'other' } });
    await strapi.db.query(page).createMany({ data: [{ title: 'a' }, { title: 'b', locale: 'de' }] });
    end();
    expect(rows).toEqual(['fr', 'en', 'en', 'de'].map((locale) => [locale, true]));
    expect(strapi.after.map(({ params }) => (params['data'] as Members)['locale'])).toEqual(['fr', 'en']);
    expect(await stored(id)).toMatchObject({ locale: 'fr' });
  });

  it('see no locale that does not exist', async () => {
    const id = await newEntry();
    for (const locale of ['xx', { $ne: 'en' }, ['en']])
      for (const answer of [
        served.json('POST', '/api/pages', { data: { title: 'x', locale } }),
        translate(id, { title: 'x', locale }),
      ])
        expect(await answer).toMatchObject({
          status: 400,
          body: { error: { message: expect.stringMatching(/locale/) } },
        });
    expect(strapi.seen).toEqual([]);
  });

  it('see rows that db.query makes in a locale that does not exist, as in v4', async () => {
    const id = await newEntry();
    const { create, createMany, findMany } = strapi.db.query(page);
    await createMany({ data: [{ title: 'x1', locale: 'xx' }, { title: 'x2' }] });
    await create({ data: { title: 'x3', locale: 'xy' } });
    await create({ data: { title: 'x4', locale: 'xz', localizations: [id] } });
    const rows = await findMany({ where: { title: { $startsWith: 'x' } }, orderBy: 'title' });
    expect(rows.map(({ locale }) => locale)).toEqual(['xx', 'en', 'xy', 'xz']);
    expect((await stored(id))['localizations']).toMatchObject([{ title: 'x4' }]);
  });

  it('decide the locale of a new entry', async () => {
    strapi.change = (it) => {
      it['locale'] = 'fr';
    };
    const { id } = await strapi.entityService.create(page, { data: { title: 'x' } });
    expect(await stored(id)).toMatchObject({ locale: 'fr' });
  });

  it('see no locale in updates, which keep it', async () => {
    const id = await newEntry();
    const given = { title: 'two', locale: 'de', localizations: [] };
    await served.json('PUT', `/api/pages/${id}`, { data: given });
    await strapi.entityService.update(page, id, { data: { title: 'three', locale: 'de' } });
    expect(strapi.seen).toEqual(['two', 'three'].map((title) => ({ title, updatedAt: expect.any(Date) })));
    expect(await stored(id)).toMatchObject({ title: 'three', locale: 'en' });
  });
});
