/**
 * The query of a client means the same whether or not code takes part: behind hooks, services and controllers what is ignored stays
 * ignored, what is closed stays closed (FL14, Q9), and a refusal is the same.
 */
import omit from 'lodash/omit.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects, turnOf } from '../world/databases.js';

const text = { type: 'string' };
const closed = { type: 'string', private: true };
const creators = { populateCreatorFields: true };
const tags = { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag' };
const component = (attributes: object): string =>
  JSON.stringify({ collectionName: 'components_parts', info: { displayName: 'part' }, attributes });

/** The first is the server's own; each of the others is another way in which code takes part. */
const names = ['plain', 'hooked', 'helped', 'looking', 'sanitizing', 'policied', 'middled'] as const;
const localized = { i18n: { localized: true } };
/** Options of routers. */
const guards: Readonly<Record<string, string>> = {
  policied: `{ config: { find: { policies: ['global::own'] } } }`,
  middled: `{ config: { find: { middlewares: ['global::narrowing'] } } }`,
};
const files = {
  ...typeFile('tag', { name: text, secret: closed, tags }, creators),
  ...typeFile('vault', { title: text, inner: { type: 'relation', relation: 'oneToOne', target: 'api::vault.vault' } }),
  'src/components/shared/part.json': component({
    label: text,
    secret: closed,
    tag: { type: 'relation', relation: 'oneToOne', target: 'api::tag.tag' },
  }),
  ...Object.assign(
    {},
    ...names.flatMap((name) => [
      typeFile(
        name,
        {
          title: text,
          secret: closed,
          tags,
          owner: { type: 'relation', relation: 'manyToOne', target: 'plugin::users-permissions.user' },
          zone: { type: 'dynamiczone', components: ['shared.part'] },
          about: { type: 'relation', relation: 'morphToMany' },
        },
        creators,
        localized,
      ),
      coreFile('Router', name, guards[name]),
      coreFile('Controller', name),
    ]),
  ),
  'src/api/hooked/content-types/hooked/lifecycles.js': `module.exports = { afterFindOne() {}, afterFindMany() {} };`,
  ...coreFile('Service', 'helped', `() => ({ async helper() {} })`),
  ...coreFile(
    'Controller',
    'looking',
    `() => ({ async find(ctx) { const { data, meta } = await super.find(ctx); return { data, meta }; } })`,
  ),
  ...coreFile(
    'Controller',
    'sanitizing',
    `({ strapi }) => ({
      async find(ctx) {
        await this.validateQuery(ctx);
        const { results, pagination } = await strapi.service('api::sanitizing.sanitizing').find(await this.sanitizeQuery(ctx));
        return this.transformResponse(await this.sanitizeOutput(results, ctx), { pagination });
      },
    })`,
  ),
  // refuses alternatives that are not of the first user
  'src/policies/own.js': `module.exports = (ctx) => {
    const { $or } = ctx.request.query.filters ?? {};
    return ctx.request.header['x-own'] === undefined || $or === undefined || (Array.isArray($or) && $or.every((it) => it.owner === '1'));
  };`,
  'src/middlewares/narrowing.js': `module.exports = () => (ctx, next) => {
    ctx.query = { ...ctx.query, filters: { $and: [ctx.query.filters ?? {}, { id: { $notNull: true } }] } };
    return next();
  };`,
  'src/api/plain/routes/shown.js': `module.exports = { routes: [{ method: 'GET', path: '/shown', handler: 'shown.query', config: { auth: false } }] };`,
  'src/api/plain/controllers/shown.js': `module.exports = { query: (ctx) => ctx.query };`,
  'src/api/plain/routes/asking.js': `module.exports = { routes: [{ method: 'GET', path: '/asking', handler: 'asking.find' }] };`,
  'src/api/plain/controllers/asking.js': `module.exports = { async find(ctx) {
    const { populate } = await strapi.controller('api::plain.plain').sanitizeQuery(ctx);
    return strapi.db.query('api::plain.plain').findOne({ populate });
  } };`,
  ...typeFile('added', { title: text, tags }, creators),
  ...coreFile('Router', 'added'),
  ...coreFile(
    'Controller',
    'added',
    `() => ({
      async find(ctx) {
        const { populate } = ctx.query;
        ctx.query.populate = typeof populate === 'object' ? { ...populate, createdBy: true } : [populate ?? [], 'createdBy'].flat();
        return super.find(ctx);
      },
    })`,
  ),
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const uids = ['tag', 'added', ${names.map((it) => `'${it}'`).join(', ')}].map((it) => 'api::' + it + '.' + it);
    await allow('public', [...uids.map((it) => it + '.find'), 'api::plain.asking.find', 'plugin::users-permissions.user.find']);
    await strapi.service('admin::user').create({ firstname: 'Ada', lastname: 'Quill', email: 'ada@example.org', isActive: true });
    await allow('authenticated', []);
    const create = (uid, data) => strapi.entityService.create(uid, { data: { ...data, createdBy: 1 } });
    const user = await create('plugin::users-permissions.user', { username: 'bob', email: 'bob@example.org', password: 'a long password', resetPasswordToken: 'tok-en' });
    const first = await create('api::tag.tag', { name: 'first', secret: 'hush' });
    await create('api::tag.tag', { name: 'second', tags: [first.id] });
    await create('api::vault.vault', { title: 'nobody may find it' });
    const about = [{ __type: 'api::vault.vault', id: 1 }, { __type: 'api::tag.tag', id: 1 }];
    for (const uid of uids.slice(1))
      await create(uid, { title: 'one', secret: 'hush', tags: [1, 2], owner: user.id, about, zone: [{ __component: 'shared.part', label: 'a', secret: 'hush', tag: 1 }] });
    await strapi.plugin('i18n').service('locales').create({ code: 'fr', name: 'fr' });
    for (const uid of uids.slice(2)) await create(uid, { title: 'un', locale: 'fr' });
    strapi.db.lifecycles.subscribe({ models: ['plugin::users-permissions.user'], beforeFindMany() {} });
  } };`,
};

/** Options and conditions that only code knows, in the places of a client's. */
const ofCode = [
  'populate[tags][where][name]=none',
  'populate[tags][where][secret][$startsWith]=x',
  'populate[tags][where][createdBy][firstname]=x',
  'populate[owner][where][password][$startsWith]=x',
  'populate[owner][where][resetPasswordToken][$startsWith]=x',
  'populate[tags][populate][tags][where][secret]=x',
  'populate[zone][where][secret]=x',
  'populate[zone][on][shared.part][where][secret]=x',
  'populate[tags][select]=secret',
  'populate[tags][orderBy]=secret',
  'populate[tags][count]=true',
  'populate[tags][_q]=none',
  'populate[tags][on][api::tag.tag][populate]=createdBy',
];

const twenty = Array.from({ length: 20 }, (_it, i) => `populate[n${i}]=1`).join('&');

/** What v4 ignores. */
const unknown = [
  'filters[title][$nope]=x',
  'filters[title][$eq][x]=y',
  'filters[tags][name][$nope]=x',
  'filters[$or][0][title][$nope]=x&filters[$or][1][title]=none',
  'populate[tags][filters][name][$nope]=x',
  'populate=tags,nope',
  'populate[0]=tags&populate[1]=nope',
  'filters[$or][0][created_at][$gt]=2020&filters[$or][1][title]=one',
  'filters[$not][created_at][$gt]=2020',
  'populate[tags][filters][$or][0][created_at]=1',
  'populate[tags][fields]=name&populate=nope',
  'populate[zone][on]=x',
  // attributes of types that may not be found, below relations to any type
  'populate[about][populate][inner][filters][id]=zz',
  'populate[about][populate][inner][filters][title][$nope]=1',
  'populate[about][populate][nope][filters][id]=zz',
  // more than are reported, and one whose name is the path of another
  ...[twenty, 'populate[owner.where]=1'].flatMap((it) => [
    `${it}&populate[owner][where][password][$startsWith]=x`,
    `${it}&populate[tags][count]=true`,
    `${it}&filters[title][$nope]=x`,
    `${it}&filters[title][$eq][x]=y`,
  ]),
];

const known = [
  '_q=hush',
  '_q=one',
  'populate=true',
  'populate[tags][populate]=true',
  'populate[tags][populate]=1',
  'populate=*',
  'populate=tags.createdBy',
  'populate=zone.tag.createdBy',
  'populate[zone][populate]=*',
  'populate[zone][populate]=tag.createdBy',
  'populate[zone][populate][0]=tag.createdBy',
  'populate[zone][populate][tag][populate]=createdBy',
  'populate[zone][populate][tag][populate]=*',
  'populate[zone][populate][tag][populate][createdBy]=true',
  'populate[zone][on][shared.part][populate][tag][populate]=*',
  'populate[tags][populate]=createdBy,tags.createdBy',
  'populate[tags][filters][secret]=hush',
  'populate[tags][filters][name]=first',
  'filters[secret]=hush',
  'filters[nope]=x',
  'filters[owner][password][$null]=false',
  'sort=owner.password',
  'populate=about',
  'populate[about][on][api::vault.vault]=*',
  'populate[about][on][api::tag.tag][populate]=*',
  'populate[tags]=0&populate[owner]=f',
  'populate[tags]=',
  // two forms at once, which only lenient mode takes
  'populate[tags][fields]=name&populate=owner',
  'populate[tags]=true&populate[tags][filters][name]=first',
  'populate=tags,owner&populate[zone]=*',
  'pagination[limit]=-2',
  'pagination[limit]=-1',
  'pagination[limit]=0',
  'pagination[limit]=1000',
  'pagination[start]=-1',
  'pagination[pageSize]=-1',
  'pagination[pageSize]=1000',
  `filters[id][$in][]=1${'&filters[id][$in][]=7'.repeat(150)}`,
  Array.from({ length: 150 }, (_it, i) => `filters[id][$in][${i}]=${i}`).join('&'),
  'filters[id][$in][5000]=1',
  'populate[5000]=tags',
  // indexes with zeros in front, and lists without
  'filters[id][$in][01]=2',
  'filters[id][$notIn][007]=1',
  'filters[tags][id][$in][00]=1',
  'populate[tags][filters][id][$in][01]=1',
  'filters[id][$between][01]=1&filters[id][$between][02]=2',
  'filters[$or][01][id]=2',
  'fields[01]=title',
  'populate[01]=tags',
  'locale[01]=fr',
  'filters[$or][][id]=1&filters[$or][][title]=one',
  'filters[$not][$or][][id]=1&filters[$not][$or][][title]=one',
  'filters[$and][0][title]=one&filters[$and][][id]=1',
  'locale[]=en&locale[]=fr',
  'locale=en&locale=fr',
  'populate=zone&populate[owner][fields]=username&populate[owner][populate]=role',
  'populate=zone&populate[tags][fields]=name&populate[nope]=true',
  'populate[tags]=true&populate[tags][filters][name]=first&populate[tags][fields]=name',
  'populate[tags]=true&populate[tags][fields]=name&populate[tags][sort]=name:desc',
  'populate[tags][populate]=tags&populate[tags][populate][tags][fields]=name',
  'populate=tags&populate[tags][fields]=name',
  'sort[0]=id&sort=title:desc',
  'fields=created_at',
  'populate[filters][nope]=1',
];

/** Names that code does not get to see: a query that it has changed is not refused for them. */
const dropped = [
  'filters[constructor]=x',
  'populate[tags][toString]=x',
  'filters[$not][title][__proto__]=x',
  'filters[$or][0][constructor]=x',
  'filters[$or][0][$and][0][constructor]=1',
  'populate[tags][filters][$or][0][constructor]=1',
];

const shortened = (query: string): string => (query.length > 90 ? `${query.slice(0, 90)}…` : query);

const modes = dialects.flatMap((dialect) =>
  turnOf(dialect, [
    { mode: 'strict', strict: true },
    { mode: 'lenient', strict: false },
  ]).map((it) => ({ dialect, ...it })),
);

describe.each(modes)('the query of a client in $mode mode on $dialect', ({ dialect, strict }) => {
  let served: CodeProject;
  beforeAll(async () => {
    const api = { strict };
    served = await serveCode(dialect, {
      ...files,
      'dovetail.config.json': JSON.stringify({ api, users: { attemptsMax: 0 } }),
    });
  });
  afterAll(() => served.close());

  const get = async (path: string): Promise<{ readonly status: number; readonly body: unknown }> => {
    const { status, body } = await served.json('GET', path.replaceAll(' ', '%20'));
    return { status, body };
  };
  /** Times and the ids of components differ, and the words of what is refused have codes only where no code takes part. */
  const comparable = ({ status, body }: { readonly status: number; readonly body: unknown }): unknown => {
    if (status !== 200) return status;
    return JSON.parse(JSON.stringify(body), (_name, value: unknown) => {
      if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
      return omit(value, ['createdAt', 'updatedAt', ...('__component' in value ? ['id'] : [])]);
    });
  };

  it.each(
    [...ofCode, ...unknown, ...known, ...(strict ? [] : dropped)].map((query) => [shortened(query), query] as const),
  )('Q16: means what it means without code: %s', async (_shortened, query) => {
    const [expected, ...answers] = await Promise.all(
      names.map(async (it) => comparable(await get(`/api/${it}s?${query}`))),
    );
    expect(answers).toEqual(answers.map(() => expected));
    expect(JSON.stringify(expected)).not.toMatch(/Quill|hush"|nobody may/);
  });

  it('RQ10: a policy sees the alternatives that the server reads', async () => {
    const ask = async (query: string): Promise<number> =>
      (await served.json('GET', `/api/policieds?${query}`, undefined, { 'x-own': '1' })).status;
    expect(await ask('filters[$or][0][owner]=1')).toBe(200);
    for (const other of ['[1]', '[]', '[01]'])
      expect([other, await ask(`filters[$or][0][owner]=1&filters[$or]${other}[id][$notNull]=true`)]).toEqual([
        other,
        403,
      ]);
    const others = 'filters[$or][][owner]=1&filters[$or][][id][$notNull]=true';
    expect(await ask(others)).toBe(403);
    // what is wrong elsewhere does not change what it sees
    expect(await ask(`${others}&sort=%00`)).toBe(403);
    for (const depth of [201, 1600, 2100])
      expect(await ask(`${others}&populate[nope]${'[a]'.repeat(depth)}=1`)).toBe(400);
  });

  it.each([
    ['qty[1234]=2&qty[4567]=3', { qty: { 1234: '2', 4567: '3' } }],
    ['qty[150]=2', { qty: { 150: '2' } }],
    [Array.from({ length: 150 }, () => 'ids[]=1').join('&'), { ids: Array.from({ length: 150 }, () => '1') }],
    ['[populate]=tags&[x]=1', { x: '1' }],
    ['ids[]=1&ids[]=2&q=a+b&flag', { ids: ['1', '2'], q: 'a b', flag: null }],
    ['page=2&filters[id][$in][2024]=1', { page: '2', filters: { id: { $in: ['1'] } } }],
  ])("RQ13: the project's own parameters are as v4 has them: %s", async (query, expected) => {
    expect((await get(`/api/shown?${query}`)).body).toEqual(expected);
  });

  it.each((strict ? [] : [...ofCode, ...unknown]).map((query) => [shortened(query), query] as const))(
    'Q16: says what of it is ignored: %s',
    async (_shortened, query) => {
      const ignored = async (name: string): Promise<unknown> =>
        (await served.json('GET', `/api/${name}s?${query}`)).headers['dovetail-ignored'];
      // a query that code has changed has other places
      const [expected, ...answers] = await Promise.all(names.filter((it) => it !== 'middled').map(ignored));
      expect(expected).toMatch(/filters|populate/);
      expect(answers).toEqual(answers.map(() => expected));
    },
  );

  it.each(strict ? [] : ofCode)('Q16: has no condition of code: %s', async (query) => {
    const { status, body } = await get(`/api/hookeds?${query}`);
    expect(status).toBe(200);
    const [entry] = (body as { data: { attributes: Record<string, unknown> }[] }).data;
    const populated = /populate\[(\w+)\]/.exec(query)?.[1] ?? '';
    expect(entry?.attributes[populated]).toMatchObject(
      { tags: { data: [{ id: 1 }, { id: 2 }] }, owner: { data: { id: 1 } }, zone: [{ label: 'a' }] }[populated]!,
    );
  });

  it.each(['tok-en', '$2', 'a long'])('FL14: a search does not find what is hidden of users: %s', async (searched) => {
    expect(await get(`/api/users?_q=${searched}`)).toEqual({ status: 200, body: [] });
    expect((await get('/api/users?_q=bob')).body).toMatchObject([{ username: 'bob' }]);
  });

  it.each(strict ? [] : [twenty, 'populate[owner.where]=1'])(
    'Q16: db.query, too, is given nothing that was ignored: %s',
    async (others) => {
      const { status, body } = await get(`/api/asking?${others}&populate[owner][where][password][$startsWith]=x`);
      expect([status, body]).toMatchObject([200, { owner: { id: 1 } }]);
    },
  );

  it.each([
    '',
    'populate=createdBy',
    'populate[createdBy]=true',
    'populate=tags.createdBy',
    'populate[tags][populate]=createdBy',
  ])('Q9: creators that code adds are those of the entries, also if the client asks for some: %s', async (query) => {
    const { status, body } = await get(`/api/addeds?${query}`);
    expect(status).toBe(200);
    const [entry] = (body as { data: { attributes: { createdBy: unknown; tags?: unknown } }[] }).data;
    expect(entry?.attributes.createdBy).toEqual({ id: 1, firstname: 'Ada', lastname: 'Quill' });
    expect(entry?.attributes.tags !== undefined).toBe(query.includes('tags'));
    expect(JSON.stringify(entry?.attributes.tags ?? null)).not.toContain('Quill');
  });
});
