/** What code takes out of answers stays out: whatever format a request asks for, and however the code says it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const text = { type: 'string' };
const v5 = { 'strapi-response-format': 'v5' };
const routed = (name: string, controller = '', router = ''): Readonly<Record<string, string>> => ({
  ...coreFile('Controller', name, controller),
  ...coreFile('Router', name, router),
});
const uids = ['post', 'draft', 'page', 'proto', 'inner', 'plain', 'art', 'hooked', 'kept'].map(
  (it) => `api::${it}.${it}`,
);
const { 'src/api/art/content-types/art/schema.json': art } = typeFile('art', { title: text });

const files: Readonly<Record<string, string>> = {
  ...typeFile('post', { title: text, body: text }),
  ...routed(
    'post',
    `() => ({ async find(ctx) {
      const { data, meta } = await super.find(ctx);
      for (const it of data) delete it.attributes?.body;
      return { data, meta };
    } })`,
  ),
  ...typeFile(
    'draft',
    { title: text, next: { type: 'relation', relation: 'oneToOne', target: 'api::draft.draft' } },
    { draftAndPublish: true },
  ),
  'src/api/draft/policies/published.js': `module.exports = ({ request }) => request.query.publicationState !== 'preview';`,
  ...routed('draft', '', `{ config: { find: { policies: ['published'] } } }`),
  'src/api/draft/routes/list.js': `module.exports = { routes: ['service', 'entities', 'page', 'populated'].map((it) => (
    { method: 'GET', path: '/listed-by-' + it, handler: 'list.' + it, config: { auth: false, policies: ['published'] } })) };`,
  'src/api/draft/controllers/list.js': `const live = (query) => ({ publicationState: 'live', ...query });
    const shown = async (asked, ctx) => { try { return await asked; } catch (fault) { return ctx.badRequest(fault.message); } };
    module.exports = {
      service: (ctx) => shown(strapi.service('api::draft.draft').find(ctx.query), ctx),
      entities: (ctx) => shown(strapi.entityService.findMany('api::draft.draft', live(ctx.query)), ctx),
      page: (ctx) => shown(strapi.entityService.findPage('api::draft.draft', live(ctx.query)), ctx),
      populated: (ctx) => shown(strapi.entityService.findMany('api::draft.draft', { populate: { next: live(ctx.query) }, publicationState: 'live' }), ctx),
    };`,
  ...typeFile('page', { title: text, body: text }),
  ...routed(
    'page',
    `() => ({ async find(ctx) {
      class Page {
        constructor({ data, meta }) { this.data = data; this.meta = meta; }
        toJSON() { return { ids: this.data.map(({ id }) => id) }; }
      }
      return new Page(await super.find(ctx));
    } })`,
  ),
  ...typeFile('proto', { title: text, body: text }),
  ...routed(
    'proto',
    `() => ({ async find(ctx) { return Object.setPrototypeOf(await super.find(ctx), { toJSON() { return { own: true }; } }); } })`,
  ),
  ...typeFile('inner', { title: text }),
  'src/api/outer/routes/inner.js': coreFile('Router', 'inner', `{ only: ['find'] }`)['src/api/inner/routes/inner.js']!,
  ...typeFile('plain', { title: text }),
  ...typeFile('read', { title: text }),
  ...routed('read', '', `{ only: ['find', 'findOne'] }`),
  'src/api/read/routes/own.js': `module.exports = { routes: [['POST', ''], ['PATCH', '/:id'], ['DELETE', '/own/way'], ['GET', '/own/way']].map(([method, path]) => (
    { method, path: '/reads' + path, handler: (ctx) => { ctx.body = 'own'; }, config: { auth: false } })) };`,
  'src/api/art/content-types/art/schema.json': art!.replace('"options":{', '"options":{"populateCreatorFields":true,'),
  'src/api/art/middlewares/creators.js': `module.exports = () => (ctx, next) => {
    if (ctx.get('x-creators')) ctx.query.populate = ['createdBy'];
    if (ctx.query.n) ctx.query.filters = { id: { $gte: Number(ctx.query.n) } };
    return next();
  };`,
  ...routed(
    'art',
    `() => ({ async findOne(ctx) {
      const entity = await strapi.entityService.findOne('api::art.art', ctx.params.id, { populate: { createdBy: true } });
      return this.sanitizeOutput(entity, ctx);
    } })`,
    `{ config: { find: { middlewares: ['api::art.creators'] } } }`,
  ),
  ...typeFile('kept', { title: text }, { draftAndPublish: true }),
  ...routed('kept'),
  'src/api/kept/content-types/kept/lifecycles.js': `module.exports = {
    afterFindOne() {},
    beforeUpdate(event) { event.params = { data: { ...event.params.data, title: 'replaced' } }; },
  };`,
  ...typeFile('hooked', { title: text }),
  'src/api/hooked/content-types/hooked/lifecycles.js': `module.exports = {
    beforeFindMany({ params }) {
      globalThis.hookedSaw = { populate: params.populate, orderBy: params.orderBy };
      if (params.orderBy) params.orderBy = [...params.orderBy, 'id:desc'];
    },
  };`,
  ...routed('hooked'),
  'src/api/hooked/routes/saw.js': `module.exports = { routes: [
    { method: 'GET', path: '/saw', handler: () => globalThis.hookedSaw, config: { auth: false } },
    { method: 'HEAD', path: '/ping', handler: (ctx) => { ctx.status = 202; }, config: { auth: false } },
    { method: 'GET', path: '/listed', handler: async () => (await strapi.db.query('api::plain.plain').findMany({ where: [{ title: 'plain' }, { id: { $gt: 0 } }] })).length, config: { auth: false } },
  ] };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ${JSON.stringify(uids)}.flatMap((uid) => ['find', 'findOne', 'create', 'update', 'delete'].map((it) => uid + '.' + it)));
    for (const uid of ${JSON.stringify(uids)}) await strapi.entityService.create(uid, { data: { title: uid.split('.')[1], body: 'SECRET', publishedAt: null } });
    const admin = await strapi.db.query('admin::user').create({ data: { firstname: 'Ada', lastname: 'L', email: 'ada@example.com', isActive: true } });
    await strapi.db.query('api::art.art').update({ where: { id: 1 }, data: { createdBy: admin.id } });
  } };`,
};

describe.each(dialects)('answers of code on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  it("are in v4's format: a request for v5's is refused where code takes part", async () => {
    expect((await served.ask('/api/posts')).text).not.toContain('SECRET');
    for (const url of ['/api/posts', '/api/drafts?status=draft', '/api/drafts?publicationState=preview']) {
      const { status, body } = await served.json('GET', url, undefined, v5);
      expect([status, body], url).toMatchObject([
        400,
        { error: { details: { errors: [{ code: 'http.format-of-code' }] } } },
      ]);
    }
    expect((await served.json('GET', '/api/drafts?publicationState=preview')).status).toBe(403);
    expect((await served.json('GET', '/api/drafts?status=draft')).status).toBe(400);
  });

  it('DR2: show drafts to nobody who asks for what is no state, in whatever code asks', async () => {
    for (const by of ['service', 'entities', 'page', 'populated'])
      for (const state of ['x', 'Preview', '', 'live&publicationState[]=live']) {
        const { status, text: said } = await served.ask(`/api/listed-by-${by}?publicationState=${state}`);
        expect([by, state, status, said.includes('"draft"')]).toEqual([by, state, 400, false]);
      }
    expect((await served.ask('/api/listed-by-service?publicationState=live')).status).toBe(200);
  });

  it("are in v5's format where no code takes part", async () => {
    expect((await served.json('GET', '/api/plains', undefined, v5)).body).toMatchObject({
      data: [{ id: 1, documentId: '1', title: 'plain' }],
    });
  });

  it('are what toJSON says', async () => {
    expect((await served.json('GET', '/api/pages')).body).toEqual({ ids: [1] });
    expect((await served.json('GET', '/api/protos')).body).toEqual({ own: true });
  });

  it('name the methods of all routes of a path, those of the server and those of code', async () => {
    const allow = async (method: string, at: string): Promise<readonly unknown[]> => {
      const { status, headers } = await served.json(method, at, method === 'OPTIONS' ? undefined : {});
      return [status, headers['allow']];
    };
    expect(await allow('DELETE', '/api/reads')).toEqual([405, 'HEAD, GET, POST']);
    expect(await allow('OPTIONS', '/api/reads')).toEqual([200, 'HEAD, GET, POST']);
    expect(await allow('PUT', '/api/reads/1')).toEqual([405, 'HEAD, GET, PATCH']);
    expect(await allow('PUT', '/api/reads/own/way')).toEqual([405, 'HEAD, GET, DELETE']);
  });

  it('are of the actions that a router serves, in whatever folder it lies', async () => {
    // as in v4, the permission that it asks for begins with the folder, and no role can have that
    expect((await served.json('GET', '/api/inners')).status).toBe(403);
    const { status, headers } = await served.json('POST', '/api/inners', { data: {} });
    expect([status, headers['allow']]).toEqual([405, 'HEAD, GET']);
    expect((await served.json('GET', '/api/inners/1')).status).toBe(404);
    expect((await served.json('DELETE', '/api/inners/1')).status).toBe(405);
  });

  it('show creators that code adds to the query, with their names only (Q9)', async () => {
    const ada = { id: 1, firstname: 'Ada', lastname: 'L' };
    expect((await served.json('GET', '/api/arts', undefined, { 'x-creators': '1' })).body).toMatchObject({
      data: [{ attributes: { createdBy: ada } }],
    });
    expect((await served.json('GET', '/api/arts/1')).body).toMatchObject({ createdBy: ada });
    for (const search of ['populate=createdBy', 'populate=%63reatedBy&n=1', 'populate[%63reatedBy]=true&n=1'])
      expect((await served.ask(`/api/arts?${search}`)).text, search).not.toContain('Ada');
    expect((await served.ask('/api/arts?x=createdBy', { headers: { 'x-creators': '1' } })).text).toContain('Ada');
  });

  it('have no drafts because a hook hears of the read (DR3)', async () => {
    expect((await served.json('GET', '/api/kepts/1')).status).toBe(404);
    expect((await served.json('GET', '/api/kepts/1?publicationState=preview')).status).toBe(200);
  });

  it('come of the parameters that hooks were given: others that they put in their place have no effect', async () => {
    expect((await served.json('PUT', '/api/kepts/1', { data: { title: 'b' } })).body).toMatchObject({
      data: { id: 1, attributes: { title: 'b' } },
    });
  });

  it("tell hooks of populate and sort in v4's form", async () => {
    expect((await served.json('GET', '/api/hookeds?populate=*&sort=title:desc,id')).status).toBe(200);
    expect((await served.json('GET', '/api/saw')).body).toEqual({
      populate: {},
      orderBy: [{ title: 'desc' }, { id: 'asc' }],
    });
  });

  it('are those of routes for HEAD, and of lists of conditions', async () => {
    expect((await served.ask('/api/ping', { method: 'HEAD' })).status).toBe(202);
    expect((await served.json('GET', '/api/listed')).body).toBe('1');
  });
});

describe('what code puts in the place of what the server does not call', () => {
  const starting = async (bootstrap: string): Promise<readonly string[]> => {
    const { logged, close } = await serveCode('sqlite', {
      ...typeFile('plain', { title: text }),
      'src/index.js': `module.exports = { bootstrap({ strapi }) { ${bootstrap} } };`,
    });
    await close();
    return logged;
  };

  it.each([
    ['strapi.entityService.findMany', 'strapi.entityService.findMany = async () => [];'],
    ['strapi.db.query', 'strapi.db.query = () => ({});'],
    ['strapi.entityService', 'strapi.entityService = {};'],
  ])('refuses the start: %s', async (name, code) => {
    await expect(starting(code)).rejects.toThrow(`${name} cannot be replaced`);
  });

  it('may be put into an object of its own', async () => {
    const own = `for (const [it, name] of [[strapi.entityService, 'create'], [strapi.db, 'query'], [strapi, 'db']]) {
      const mine = Object.create(it);
      mine[name] = 'mine';
      if (mine[name] !== 'mine' || it[name] === 'mine') throw new Error(name);
    }
    strapi.entityService.create = strapi.entityService.create;`;
    expect(await starting(own)).toEqual([]);
  });

  it("is the server's own in v5's format beside global middlewares, but for entries", async () => {
    const { json, close } = await serveCode('sqlite', {
      ...typeFile('plain', { title: text }),
      'src/middlewares/any.js': 'module.exports = () => (ctx, next) => next();',
      'config/middlewares.js': `module.exports = ['strapi::errors', 'global::any'];`,
      'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing} await allow('public', ['api::plain.plain.find']); } };`,
    });
    const statusOf = async (at: string): Promise<number> => (await json('GET', at, undefined, v5)).status;
    expect(await statusOf('/api/plains')).toBe(400);
    expect(await statusOf('/uploads/none.txt')).toBe(404);
    expect(await statusOf('/api/users')).toBe(403);
    await close();
  });

  it('refuses the start where it decides who asks', async () => {
    await expect(
      starting(`strapi.plugins['users-permissions'].services.jwt.getToken = async () => ({ id: 1 });`),
    ).rejects.toThrow('services.jwt.getToken');
  });

  it('is named in the log, once', async () => {
    const logged = await starting(`strapi.plugin('upload').service('upload').upload = async () => [];`);
    expect(logged.filter((it) => it.includes('does not call services.upload.upload of upload'))).toHaveLength(1);
  });
});

describe.each(dialects)('answers of a type with a service of its own on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    const drafts = { draftAndPublish: true };
    served = await serveCode(dialect, {
      ...typeFile('beside', { title: text }, drafts),
      ...routed('beside'),
      ...coreFile(
        'Service',
        'beside',
        `() => ({ async create(params) { return super.create(params); }, latest() {} })`,
      ),
      ...typeFile('wider', { title: text }, drafts),
      ...routed('wider'),
      ...coreFile(
        'Service',
        'wider',
        `() => ({ getFetchParams(params) { return { ...params, publicationState: 'preview' }; } })`,
      ),
      ...typeFile('shorter', { title: text }),
      ...routed('shorter'),
      ...coreFile(
        'Service',
        'shorter',
        `() => ({ getFetchParams(params) { return { ...params, pagination: { page: 2, pageSize: 1 } }; } })`,
      ),
      'src/index.js': `module.exports = { async bootstrap({ strapi }) {
        ${allowing}
        const names = ['beside', 'wider', 'shorter'];
        await allow('public', names.flatMap((it) => ['find', 'findOne', 'create'].map((action) => 'api::' + it + '.' + it + '.' + action)));
        for (const it of names) await strapi.entityService.create('api::' + it + '.' + it, { data: { title: 'draft' } });
        await strapi.entityService.create('api::shorter.shorter', { data: { title: 'second' } });
      } };`,
    });
  });
  afterAll(() => served.close());

  it("are the server's own where the service adds or replaces something else", async () => {
    for (const path of ['/api/besides', '/api/besides/1']) {
      const { status, headers } = await served.json('GET', path, undefined, v5);
      expect([status, headers['etag']]).toEqual(path.endsWith('1') ? [404, undefined] : [200, expect.any(String)]);
    }
    const made = await served.json('POST', '/api/besides', { data: { title: 'new' } });
    expect([made.status, made.headers['etag']]).toEqual([200, undefined]);
  });

  it('are found with the parameters that its getFetchParams makes', async () => {
    const { body } = await served.json('GET', '/api/widers');
    expect(body).toMatchObject({ data: [{ attributes: { title: 'draft' } }], meta: { pagination: { total: 1 } } });
    expect((await served.json('GET', '/api/shorters')).body).toMatchObject({
      data: [{ attributes: { title: 'second' } }],
      meta: { pagination: { page: 2, pageSize: 1, total: 2 } },
    });
  });
});

// ---- what only services know

describe.each(dialects)('what the query says to services alone on %s', (dialect) => {
  const limited = `{ posts: { limit: 1, sort: 'id:desc', fields: ['title'] } }`;
  const names = ['handled', 'wrapped', 'asked', 'plain'];
  let served: CodeProject;
  beforeAll(async () => {
    const posts = { type: 'relation', relation: 'oneToMany', target: 'api::post.post' };
    const say = `(ctx, next) => { if (ctx.get('x-limit')) ctx.query = { ...ctx.query, populate: ${limited} }; return next ? next() : true; }`;
    served = await serveCode(dialect, {
      ...typeFile('post', { title: text }),
      ...Object.assign({}, ...names.map((it) => typeFile(it, { title: text, posts }))),
      ...coreFile('Router', 'handled'),
      ...coreFile(
        'Controller',
        'handled',
        `() => ({ find(ctx) { if (ctx.get('x-fields')) ctx.query = { fields: [] }; (${say})(ctx); return super.find(ctx); }, findOne(ctx) { (${say})(ctx); return super.findOne(ctx); } })`,
      ),
      ...coreFile(
        'Router',
        'wrapped',
        `{ config: { find: { middlewares: ['global::say'] }, findOne: { middlewares: ['global::say'] } } }`,
      ),
      'src/middlewares/say.js': `module.exports = () => ${say};`,
      ...coreFile(
        'Router',
        'asked',
        `{ config: { find: { policies: ['global::say'] }, findOne: { policies: ['global::say'] } } }`,
      ),
      'src/policies/say.js': `module.exports = ({ request }) => { if (request.header['x-limit']) request.query.populate = ${limited}; return true; };`,
      ...coreFile('Router', 'plain'),
      ...typeFile('paged', { title: text }),
      ...coreFile('Router', 'paged'),
      ...coreFile(
        'Service',
        'paged',
        `({ strapi }) => ({ find(params) { return strapi.entityService.findPage('api::paged.paged', params); } })`,
      ),
      ...typeFile('passed', { title: text }),
      ...coreFile('Router', 'passed'),
      ...coreFile('Service', 'passed', `() => ({ find(params) { return super.find(params); } })`),
      'src/index.js': `module.exports = { async bootstrap({ strapi }) {
        ${allowing}
        const names = ${JSON.stringify([...names, 'paged', 'passed', 'post'])};
        await allow('public', names.flatMap((it) => ['find', 'findOne'].map((action) => 'api::' + it + '.' + it + '.' + action)));
        for (const it of ${JSON.stringify(names)}) {
          const posts = [];
          for (const title of ['first', 'second']) posts.push((await strapi.entityService.create('api::post.post', { data: { title } })).id);
          await strapi.entityService.create('api::' + it + '.' + it, { data: { title: 'a', posts } });
        }
        for (const title of ['one', 'two', 'three'])
          for (const it of ['paged', 'passed']) await strapi.entityService.create('api::' + it + '.' + it, { data: { title } });
      } };`,
    });
  });
  afterAll(() => served.close());

  it.each(['handled', 'wrapped', 'asked'])('limits that code puts into populate count: %s', async (name) => {
    const titles = async (path: string): Promise<unknown> => {
      const { status, body } = await served.json('GET', `/api/${name}s${path}`, undefined, { 'x-limit': '1' });
      const [entry] = [(body as { data: unknown }).data].flat() as {
        attributes: { posts: { data: { attributes: { title: string } }[] } };
      }[];
      return [status, entry?.attributes.posts.data.map((it) => it.attributes.title)];
    };
    expect(await titles('')).toEqual([200, ['second']]);
    expect(await titles('/1?fields=title')).toEqual([200, ['second']]);
  });

  it.each([...names])('Q15: those of a client are refused: %s', async (name) => {
    const { status, body } = await served.json('GET', `/api/${name}s?populate[posts][limit]=1`);
    expect([status, (body as { error: { message: string } }).error.message]).toEqual([
      400,
      expect.stringContaining('limit'),
    ]);
  });

  it('a refusal names what the client has sent, and no limit of code', async () => {
    for (const [search, said] of [
      ['?sort=secret', 'Invalid parameter secret'],
      ['?page=2', 'pagination[page]'],
    ] as const) {
      const { status, body } = await served.json('GET', `/api/wrappeds${search}`, undefined, { 'x-limit': '1' });
      const { message } = (body as { error: { message: string } }).error;
      expect([status, message]).toEqual([400, expect.stringContaining(said)]);
      expect(message).not.toContain('limit');
    }
  });

  it('an empty list of fields that code assigns selects all of them', async () => {
    const { body } = await served.json('GET', '/api/handleds?fields=id', undefined, { 'x-fields': '1' });
    expect(body).toMatchObject({ data: [{ attributes: { title: 'a' } }] });
  });

  it('?page reaches a service that finds pages itself', async () => {
    expect(await served.json('GET', '/api/pageds?page=2&pageSize=2&sort=id')).toMatchObject({
      status: 200,
      body: { data: [{ attributes: { title: 'three' } }], meta: { pagination: { page: 2, pageSize: 2, total: 3 } } },
    });
    for (const path of ['/api/passeds?page=2', '/api/passeds?limit=1', '/api/passeds?start=1', '/api/posts?page=2'])
      expect(await served.json('GET', path)).toMatchObject({
        status: 400,
        body: { error: { name: 'PaginationError' } },
      });
  });
});
