/** What hooks see of the populate of a client, in v4's forms, and what becomes of words that only the project knows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

/** Each leaves a query in its own way, and shows what comes of it without `sanitizeOutput`. */
const controller = (name: string): string => `({ strapi }) => {
  const uid = 'api::${name}.${name}';
  const found = async (query) => ({ ...query, rows: await strapi.entityService.findMany(uid, query) });
  const changed = (ctx, own) => { ctx.query = { ...ctx.query, populate: { ...ctx.query.populate, ...own } }; return ctx; };
  return {
    async asked(ctx) { return found(await this.sanitizeQuery(ctx)); },
    async utility(ctx) {
      const { sanitize } = require('@strapi/utils');
      return found(await sanitize.contentAPI.query(ctx.query, strapi.getModel(uid), { auth: ctx.state.auth }));
    },
    async rebuilt(ctx) { return found(await this.sanitizeQuery(changed(ctx, { posts: true }))); },
    async listed(ctx) { ctx.query.populate = [ctx.query.populate, 'posts'].flat(); return found(await this.sanitizeQuery(ctx)); },
    async adding(ctx) { return found(await this.sanitizeQuery(changed(ctx, { createdBy: true, owner: true }))); },
  };
}`;
const actions = ['asked', 'utility', 'rebuilt', 'listed', 'adding'] as const;
const routes = (name: string): string => {
  const open = [...actions.map((it) => [it, it, {}]), ['unsigned', 'asked', { auth: false }]] as const;
  return `module.exports = ${JSON.stringify({
    routes: open.map(([at, action, config]) => ({
      method: 'GET',
      path: `/${name}/${at}`,
      handler: `${name}.${action}`,
      config,
    })),
  })};`;
};
const owner = { type: 'relation', relation: 'manyToOne', target: 'plugin::users-permissions.user' };

const files = {
  ...typeFile(
    'signed',
    { posts: { type: 'relation', relation: 'oneToMany', target: 'api::post.post' }, owner },
    { populateCreatorFields: true },
  ),
  ...coreFile('Controller', 'signed', controller('signed')),
  'src/api/signed/routes/asked.js': routes('signed'),
  ...typeFile('post', { title: { type: 'string' }, note: { type: 'string', private: true } }),
  ...typeFile('hooked', {
    title: { type: 'string' },
    posts: { type: 'relation', relation: 'oneToMany', target: 'api::post.post' },
    owner,
    zone: { type: 'dynamiczone', components: ['part.card'] },
    about: { type: 'relation', relation: 'morphToMany' },
    secret: { type: 'relation', relation: 'manyToMany', target: 'api::post.post', private: true },
  }),
  'src/components/part/card.json': JSON.stringify({
    collectionName: 'components_part_cards',
    info: { displayName: 'card' },
    attributes: {
      text: { type: 'string' },
      post: { type: 'relation', relation: 'oneToOne', target: 'api::post.post' },
    },
  }),
  ...coreFile('Router', 'hooked'),
  'src/api/hooked/content-types/hooked/lifecycles.js': `module.exports = {
    beforeFindMany({ params }) {
      globalThis.hookedSaw = params.populate;
      if (params.populate?.[0] === 'deep') params.populate = { posts: true, zone: { populate: '*' } };
    },
  };`,
  ...coreFile('Controller', 'hooked', controller('hooked')),
  'src/api/hooked/routes/asked.js': routes('hooked'),
  'dovetail.config.json': JSON.stringify({ api: { strict: false } }),
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const own = (name) => ${JSON.stringify(actions)}.map((it) => 'api::' + name + '.' + name + '.' + it);
    await allow('public', [...own('hooked'), ...own('signed'), 'api::hooked.hooked.find', 'api::hooked.hooked.create', 'api::post.post.find']);
    await strapi.service('admin::user').create({ firstname: 'Ada', lastname: 'Quill', email: 'ada@example.org', isActive: true });
    const create = (uid, data) => strapi.entityService.create(uid, { data: { ...data, createdBy: 1 } });
    await create('plugin::users-permissions.user', { username: 'bob', email: 'bob@example.org', password: 'a long password' });
    await create('api::post.post', { title: 'first' });
    await create('api::hooked.hooked', { title: 'x', posts: [1], secret: [1], owner: 1 });
    await create('api::signed.signed', { posts: [1], owner: 1 });
  } };`,
};

describe.each(dialects)('populate in hooks on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  it.each<readonly [string, unknown]>([
    ['populate=*', { posts: true, zone: {}, about: true }],
    ['populate[zone][populate]=*', { zone: { on: { 'part.card': { populate: { post: true } } } } }],
    ['populate[posts][fields]=title', { posts: { select: ['id', 'title'] } }],
    ['populate=posts,zone', ['posts', 'zone']],
    // words of the project's own
    ['populate=deep', ['deep']],
    ['populate=deep,3', ['deep', '3']],
    ['populate[0]=deep', ['deep']],
    ['populate[0]=deep&populate[1]=3', ['deep', '3']],
    ['populate[0]=posts&populate[1]=deep', ['posts', 'deep']],
  ])('tell hooks what a client populates: %s', async (query, populate) => {
    expect((await served.json('GET', `/api/hookeds?${query}`)).status).toBe(200);
    expect((globalThis as unknown as { hookedSaw: unknown }).hookedSaw).toEqual(populate);
  });

  it.each(['populate=secret', 'populate[0]=posts&populate[1]=owner', 'populate=*'])(
    'show nothing that the client may not find: %s',
    async (query) => {
      const { status, text } = await served.ask(`/api/hookeds?${query}`);
      expect([status, text]).toEqual([200, expect.not.stringMatching(/secret|owner/)]);
    },
  );

  const left: readonly (readonly [string, unknown])[] = [
    ['populate=*', { posts: true, zone: true, about: true }],
    ['populate[0]=*', ['posts', 'zone', 'about']],
    ['populate=*,posts', ['posts', 'zone', 'about', 'posts']],
    ['populate=owner', []],
    ['populate=secret,posts', ['posts']],
    ['populate=zone.post,posts.secret', 'zone.post,posts.secret'],
    ['populate[owner]=true&populate[posts]=true', { posts: 'true' }],
    ['populate[owner][fields]=username', {}],
    [
      'populate[about][on][api::post.post]=true&populate[about][on][plugin::users-permissions.user]=true',
      { about: { on: { 'api::post.post': 'true' } } },
    ],
    ['populate=deep', 'deep'],
    ['populate[createdBy]=true&populate[posts]=true', { posts: 'true' }],
    ['populate[0]=createdBy&populate[1]=posts.updatedBy', ['posts']],
    ['populate[posts][populate][createdBy]=true', { posts: { populate: {} } }],
    // below a relation to any type, what there is in the types that the client may find, files among them
    ['populate[about][populate]=*', { about: { populate: { related: true, posts: true, zone: true, about: true } } }],
    [
      'populate[about][populate][role]=true&populate[about][populate][posts]=true',
      { about: { populate: { posts: 'true' } } },
    ],
  ];
  const open = async (path: string): Promise<Record<string, unknown>> => {
    const { status, body } = await served.json('GET', path);
    expect(status).toBe(200);
    return body as Record<string, unknown>;
  };

  it.each(left)(
    'sanitizeQuery and sanitize.contentAPI.query leave what the client may find: %s',
    async (query, populate) => {
      for (const action of ['asked', 'utility']) {
        const found = await open(`/api/hooked/${action}?${query}`);
        expect([action, found['populate']]).toEqual([action, populate]);
        expect(JSON.stringify(found)).not.toMatch(/owner|bob@|Quill/);
      }
    },
  );

  it.each<readonly [string, object]>([
    ['populate[posts][sort]=note', { populate: { posts: {} } }],
    [
      'populate[posts][fields][0]=note&populate[posts][fields][1]=title',
      { populate: { posts: { fields: ['title'] } } },
    ],
    ['populate[posts][sort][0]=note&populate[posts][sort][1]=title', { populate: { posts: { sort: ['title'] } } }],
    ['populate[zone][populate][post][sort]=note', { populate: { zone: { populate: { post: {} } } } }],
    ['sort[0]=posts.note', { sort: [] }],
    ['populate[posts][fields][0]=note', { populate: { posts: { fields: [] } } }],
  ])('they drop what is private, and leave the rest of what it stands in: %s', async (query, left) => {
    for (const action of ['asked', 'utility']) {
      const { rows: _rows, ...found } = await open(`/api/hooked/${action}?${query}`);
      expect([action, found]).toEqual([action, left]);
    }
  });

  it.each<readonly [string, object]>([
    ['filters[posts][note]=x', { filters: {} }],
    ['populate[posts][filters][note]=x', { populate: { posts: { filters: {} } } }],
    [
      'populate[posts][filters][$or][0][note]=x&populate[posts][filters][$or][1][title]=first',
      { populate: { posts: { filters: { $or: [{ title: 'first' }] } } } },
    ],
    [
      'populate[zone][on][part.card][populate][post][filters][note]=x',
      { populate: { zone: { on: { 'part.card': { populate: { post: { filters: {} } } } } } } },
    ],
  ])('they drop a condition on what is private that the client has sent: %s', async (query, left) => {
    for (const action of ['asked', 'utility']) {
      const { rows: _rows, ...found } = await open(`/api/hooked/${action}?${query}`);
      expect([action, found]).toEqual([action, left]);
    }
  });

  it('they leave fields of nothing as the id alone', async () => {
    const { rows } = await open('/api/hooked/asked?fields[0]=nope&populate[posts][fields][0]=note');
    expect(rows).toEqual([{ id: 1, posts: [{ id: 1 }] }]);
  });

  it.each(['populate=*', 'populate=createdBy', 'populate[createdBy]=true', 'populate[posts][populate]=createdBy'])(
    'Q9: they leave no creators that a client asks for, though the type may show them: %s',
    async (query) => {
      for (const action of ['asked', 'utility', 'unsigned'])
        expect(JSON.stringify(await open(`/api/signed/${action}?${query}`))).not.toMatch(/createdBy|Quill/);
    },
  );

  it.each<readonly [name: string, path: string, populate: unknown]>([
    ['hooked', 'rebuilt?populate[createdBy]=true', { posts: true }],
    ['signed', 'rebuilt?populate[createdBy]=true', { posts: true }],
    ['hooked', 'listed?populate=createdBy', ['posts']],
    ['signed', 'listed?populate=createdBy', ['posts']],
    // those that code adds are shown if the type says so
    ['hooked', 'adding', {}],
    ['hooked', 'adding?populate[createdBy]=true', {}],
    ['signed', 'adding', { createdBy: true }],
    ['signed', 'adding?populate[createdBy]=true', { createdBy: true }],
  ])('Q9: sanitizeQuery tells creators that code adds from those of a client: %s/%s', async (name, path, populate) => {
    expect((await open(`/api/${name}/${path}`))['populate']).toEqual(populate);
  });

  it.each([
    ['populate=owner,posts,secret,zone', ['zone']],
    ['populate[0]=posts&populate[1]=zone', ['zone']],
    ['populate=*', { zone: true, about: true }],
  ])(
    'sanitizeQuery leaves no relation where nobody is asked who it is (auth: false), as in v4: %s',
    async (query, left) => {
      expect((await open(`/api/hooked/unsigned?${query}`))['populate']).toEqual(left);
    },
  );

  it('populate what a hook makes of a word of its own', async () => {
    const data = { posts: [1], zone: [{ __component: 'part.card', text: 'c', post: 1 }] };
    const made = await served.json('POST', '/api/hookeds', { data });
    const { id } = (made.body as { data: { id: number } }).data;
    const { body } = await served.json('GET', `/api/hookeds?populate=deep&filters[id]=${id}`);
    expect(body).toMatchObject({
      data: [{ attributes: { posts: { data: [{ id: 1 }] }, zone: [{ text: 'c', post: { data: { id: 1 } } }] } }],
    });
  });
});

const knots = {
  ...typeFile('knot', {
    left: { type: 'relation', relation: 'oneToOne', target: 'api::knot.knot' },
    right: { type: 'relation', relation: 'oneToOne', target: 'api::knot.knot' },
  }),
  ...coreFile('Router', 'knot'),
  'src/api/knot/content-types/knot/lifecycles.js': `
    const populate = (levels) => levels === 1 || { populate: { left: populate(levels - 1), right: populate(levels - 1) } };
    module.exports = { beforeFindMany({ params }) { Object.assign(params, populate(Number(params.populate[0]))); } };`,
  'dovetail.config.json': JSON.stringify({ api: { strict: false } }),
  'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing} await allow('public', ['api::knot.knot.find']); } };`,
};

describe('populate that code builds', () => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode('sqlite', knots);
  });
  afterAll(() => served.close());

  it('is refused in words of its own where code makes it too large', async () => {
    const message = `The query has more than ${limits.queryValuesMax} names and values, with what code has added to it`;
    expect(await served.json('GET', '/api/knots?populate=6')).toMatchObject({ status: 200 });
    expect(await served.json('GET', '/api/knots?populate=13')).toMatchObject({
      status: 400,
      body: { error: { message } },
    });
  });
});
