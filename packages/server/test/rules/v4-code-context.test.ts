/** What the code of a v4 project finds in the context of a request, and what it catches of the server's own refusals. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const relation = (target: string) => ({ type: 'relation', relation: 'manyToOne', target: `api::${target}.${target}` });

const core = (name: string, controller = '') => ({
  ...coreFile('Router', name),
  ...coreFile('Controller', name, controller),
  ...coreFile('Service', name),
});

const files = {
  ...typeFile('author', { name: { type: 'string' } }),
  ...core('author'),
  'src/api/page/content-types/page/schema.json': JSON.stringify({
    kind: 'collectionType',
    collectionName: 'pages',
    info: { singularName: 'page', pluralName: 'pages', displayName: 'page' },
    options: { draftAndPublish: false },
    pluginOptions: { i18n: { localized: true } },
    attributes: { title: { type: 'string' } },
  }),
  ...core('page'),
  // no code touches it
  ...typeFile('article', { title: { type: 'string', required: true }, slug: { type: 'string' } }),
  ...core('article'),
  ...typeFile('note', {
    title: { type: 'string', required: true, minLength: 2 },
    secret: { type: 'string', private: true },
    author: relation('author'),
  }),
  ...core(
    'note',
    `({ strapi }) => {
      const { errors } = require('@strapi/utils');
      const catching = async (ctx, act) => {
        try {
          return await act();
        } catch (e) {
          if (ctx.get('x-catch') === '') throw e;
          if (ctx.get('x-catch') === 'reworded') throw Object.assign(e, { message: 'in other words' });
          const kinds = Object.keys(errors).filter((it) => e instanceof errors[it]);
          return ctx.send({ name: e.name, message: e.message, details: e.details, status: e.status, kinds }, 418);
        }
      };
      return {
        find(ctx) { return catching(ctx, () => super.find(ctx)); },
        create(ctx) { return catching(ctx, () => super.create(ctx)); },
        async findOne(ctx) {
          const found = await super.findOne(ctx);
          if (!found && ctx.get('x-own')) return ctx.notFound('own text');
          return found;
        },
        async update(ctx) { return (await super.update(ctx)) ?? (ctx.get('x-own') ? ctx.notFound('no update') : null); },
        async delete(ctx) { return (await super.delete(ctx)) ?? (ctx.get('x-own') ? ctx.notFound('no delete') : null); },
        async validated(ctx) { return catching(ctx, async () => { await this.validateQuery(ctx); return { fine: true }; }); },
        async bare(ctx) {
          const [entity] = await strapi.entityService.findMany('api::note.note', { populate: ['author'] });
          const { title, secret, author } = await this.sanitizeOutput(entity);
          const input = await this.sanitizeInput({ title: 'in', author: 1 });
          const query = await this.sanitizeQuery({ query: ctx.query });
          return { title, secret, author, input, query };
        },
        params(ctx) { return { params: ctx.request.params, same: ctx.request.params === ctx.params }; },
        says(ctx) {
          const messages = { nothing: null, object: { message: 'x' }, error: new Error('of an error'), text: 'text', empty: '', number: 7 };
          return ctx.badRequest(messages[ctx.params.what], [{ messages: [{ id: 'an.id' }] }]);
        },
        cookies(ctx) {
          ctx.cookies.set('seen', 'yes', {});
          return { had: ctx.cookies.get('had', {}) ?? null };
        },
        session(ctx) {
          if (ctx.query.own) ctx.session = { user: 1 };
          return ctx.session;
        },
      };
    }`,
  ),
  'src/api/note/routes/own.js': `module.exports = { routes: [
    ...['validated', 'bare', 'cookies', 'session'].map((it) => ({ method: 'GET', path: '/own/' + it, handler: 'note.' + it, config: { auth: false } })),
    { method: 'GET', path: '/own/params/:id/:what', handler: 'note.params', config: { auth: false } },
    { method: 'GET', path: '/own/says/:what', handler: 'note.says', config: { auth: false } },
    { method: 'GET', path: '/own/policy', handler: 'note.cookies', config: { auth: false, policies: [() => false] } },
    { method: 'GET', path: '/own/throws', handler: () => { throw new (require('@strapi/utils').errors.NotFoundError)('thrown'); }, config: { auth: false } },
  ] };`,
  'config/server.js': `module.exports = () => (process.env.WITH_KEYS ? { app: { keys: ['a-key'] } } : {});`,
  'config/middlewares.js': `module.exports = ['strapi::errors', ...(process.env.GLOBALS ? ['global::outer', 'global::hiding'] : [])];`,
  'src/middlewares/outer.js': `module.exports = (config, { strapi }) => async (ctx, next) => {
    const { errors } = require('@strapi/utils');
    try {
      await next();
    } catch (e) {
      if (ctx.get('x-catch') !== 'outside') throw e;
      ctx.status = e.status || 500;
      ctx.body = { error: e.name, message: e.message, details: e.details, isOfUtils: e instanceof errors.ApplicationError };
    }
    ctx.set('x-after', String(ctx.status));
    const { route, user, auth, isAuthenticated } = ctx.state;
    if (ctx.get('x-look'))
      ctx.body = {
        apiName: route?.info.apiName, pluginName: route?.info.pluginName, handler: route?.handler, config: typeof route?.config,
        matched: ctx._matchedRoute, params: ctx.params, same: ctx.request.params === ctx.params,
        user: user?.username, role: user?.role?.type, strategy: auth?.strategy.name, isAuthenticated,
      };
  };`,
  'src/middlewares/hiding.js': `module.exports = () => async (ctx, next) => {
    await next();
    if (ctx.state.route?.info?.apiName !== 'article' || !ctx.body?.data) return;
    for (const it of [ctx.body.data].flat()) delete it.attributes.slug;
  };`,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    const make = plugin.services.user;
    plugin.services.user = (given) => {
      const service = make(given);
      return { ...service, async fetchAuthenticatedUser(id) {
        const { request } = strapi.requestContext.get();
        if (request.get('x-fail')) throw new Error('no users today');
        if (request.get('x-hide')) return null;
        return service.fetchAuthenticatedUser(id);
      } };
    };
    return plugin;
  };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const all = (type) => ['find', 'findOne', 'create', 'update', 'delete'].map((it) => 'api::' + type + '.' + type + '.' + it);
    await allow('public', [...all('article'), ...all('note'), 'plugin::users-permissions.auth.callback', 'plugin::users-permissions.auth.register']);
    await allow('authenticated', [...all('article'), ...all('note'), 'plugin::users-permissions.user.me']);
    const author = await strapi.entityService.create('api::author.author', { data: { name: 'A' } });
    await strapi.entityService.create('api::note.note', { data: { title: 'first', secret: 's', author: author.id } });
    await strapi.entityService.create('api::article.article', { data: { title: 'T', slug: 'hidden' } });
    const role = await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } });
    await strapi.entityService.create('plugin::users-permissions.user', {
      data: { username: 'ann', email: 'ann@example.com', password: 'password', provider: 'local', confirmed: true, role: role.id },
    });
  } };`,
};

const refusal = (status: number, name: string, message: string, details: object = {}) => ({
  data: null,
  error: { status, name, message, details },
});

const missing = refusal(404, 'NotFoundError', 'Not Found');

describe.each(dialects)('on %s', (dialect) => {
  it('without them, a replaced fetchAuthenticatedUser decides on every route which users there are', async () => {
    const served = await serveCode(dialect, files);
    const { body } = await served.json('POST', '/api/auth/local', { identifier: 'ann', password: 'password' });
    const ann = { authorization: `Bearer ${(body as { jwt: string }).jwt}` };
    for (const [method, at, data] of [
      ['GET', '/api/articles'],
      ['POST', '/api/articles', { data: { title: 'x' } }],
      ['GET', '/api/users/me'],
    ] as const) {
      expect([at, (await served.json(method, at, data, ann)).status]).toEqual([at, 200]);
      expect([at, (await served.json(method, at, data, { ...ann, 'x-hide': '1' })).status]).toEqual([at, 401]);
    }
    await served.close();
  });

  describe('global middlewares', () => {
    let served: CodeProject;
    let ann: { readonly authorization: string };
    beforeAll(async () => {
      served = await serveCode(dialect, files, { GLOBALS: '1' });
      const { body } = await served.json('POST', '/api/auth/local', { identifier: 'ann', password: 'password' });
      ann = { authorization: `Bearer ${(body as { jwt: string }).jwt}` };
    });
    afterAll(() => served.close());
    const look = async (method: string, at: string, body?: unknown, headers = {}) =>
      (await served.json(method, at, body, { 'x-look': '1', ...headers })).body;

    it.each(['/api/articles', '/api/articles/1', '/api/articles?fields=slug', '/api/articles/', '/API/articles'])(
      'take out of %s what they hide by its route',
      async (at) => {
        const { status, text } = await served.ask(at);
        expect([status, text]).toEqual([200, expect.not.stringContaining('hidden')]);
        expect(text).toContain('"attributes":{');
      },
    );

    it('take it out of what is written, too', async () => {
      const created = await served.json('POST', '/api/articles', { data: { title: 'N', slug: 'hidden' } });
      expect([created.status, JSON.stringify(created.body)]).toEqual([200, expect.not.stringContaining('hidden')]);
      const { id } = (created.body as { data: { id: number } }).data;
      const updated = await served.ask(`/api/articles/${id}`, { method: 'PUT', body: '{"data":{"title":"M"}}' });
      expect([updated.status, updated.text]).toEqual([200, expect.not.stringContaining('hidden')]);
      expect((await served.ask(`/api/articles/${id}`, { method: 'DELETE' })).text).not.toContain('hidden');
    });

    it('find the route and nobody in the context of a request that the server answers', async () => {
      const common = { config: 'object', same: true, strategy: 'users-permissions', isAuthenticated: true };
      const article = { ...common, apiName: 'article' };
      expect(await look('GET', '/api/articles')).toEqual({
        ...article,
        handler: 'api::article.article.find',
        matched: '/api/articles',
        params: {},
      });
      const one = { ...article, matched: '/api/articles/:id' };
      const findOne = { ...one, handler: 'api::article.article.findOne' };
      expect(await look('GET', '/api/articles/1')).toEqual({ ...findOne, params: { id: '1' } });
      expect(await look('GET', '/api/articles/999')).toEqual({ ...findOne, params: { id: '999' } });
      expect(await look('PUT', '/api/articles/999', { data: {} })).toEqual({
        ...one,
        handler: 'api::article.article.update',
        params: { id: '999' },
      });
      expect(await look('GET', '/api/articles/1/relations/title')).toMatchObject({ apiName: 'article' });
      expect(await look('POST', '/api/pages/1/localizations', {})).toMatchObject({ apiName: 'page' });
      expect(await look('GET', '/api/users/me')).toEqual({
        ...common,
        pluginName: 'users-permissions',
        handler: 'user.me',
        matched: '/api/users/me',
        params: {},
      });
      expect(await look('GET', '/api/upload/files/7')).toMatchObject({ pluginName: 'upload', params: { id: '7' } });
    });

    it('find nothing where there is no route', async () => {
      expect(await look('GET', '/api/nowhere')).toEqual({ config: 'undefined', params: {}, same: true });
    });

    it.each(['/api/articles', '/api/articles/', '/api/users/me', '/api/notes'])('know who asks for %s', async (at) => {
      expect(await look('GET', at, undefined, ann)).toMatchObject({
        user: 'ann',
        role: 'authenticated',
        strategy: 'users-permissions',
        isAuthenticated: true,
      });
      expect(await look('GET', at, undefined, { authorization: 'Bearer nonsense' })).toEqual(
        expect.not.objectContaining({ user: 'ann', isAuthenticated: true }),
      );
    });

    it.each(['/api/articles', '/api/articles/', '/api/users/me'])(
      'get a fault of what finds the user of %s',
      async (at) => {
        const { status } = await served.json('GET', at, undefined, { ...ann, 'x-fail': '1' });
        expect([status, served.logged.join()]).toEqual([500, expect.stringContaining('no users today')]);
      },
    );

    it.each([
      ['a missing entry', 'GET', '/api/articles/999', missing],
      ['a missing entry behind super.findOne', 'GET', '/api/notes/999', missing],
      ['a missing entry that is changed', 'PUT', '/api/articles/999', missing],
      ['a missing entry that is deleted', 'DELETE', '/api/articles/999', missing],
      ['an id that is none', 'GET', '/api/articles/none', missing],
      ['a missing permission', 'GET', '/api/authors', refusal(403, 'ForbiddenError', 'Forbidden')],
      ['a policy', 'GET', '/api/own/policy', refusal(403, 'ForbiddenError', 'Forbidden')],
    ] as const)('go on after %s', async (_what, method, at, body) => {
      const answer = await served.json(method, at, method === 'PUT' ? { data: { title: 'x' } } : undefined, {
        'x-catch': 'outside',
      });
      const { status } = body.error;
      expect([answer.status, answer.headers['x-after'], answer.body]).toEqual([status, String(status), body]);
    });

    it.each(['/api/articles', '/api/articles/', '/api/notes', '/api/users/me'])(
      'go on after a token that is none, of a request for %s',
      async (at) => {
        const headers = { authorization: 'Bearer nonsense', 'x-catch': 'outside' };
        const { status, headers: sent, body } = await served.json('GET', at, undefined, headers);
        expect([status, sent['x-after'], body]).toMatchObject([401, '401', { error: { name: 'UnauthorizedError' } }]);
      },
    );

    it.each([
      ['of a query', 'GET', '/api/articles?filters[nothing]=1', undefined, 'Invalid parameter nothing', {}],
      ['of a query of the framework', 'GET', '/api/articles/?sort=nothing', undefined, expect.any(String), undefined],
      [
        'of a body',
        'POST',
        '/api/articles',
        { data: {} },
        'title must be defined.',
        { errors: [{ path: ['title'], message: 'title must be defined.', name: 'ValidationError' }] },
      ],
      ['of a body without data', 'POST', '/api/articles', {}, 'Missing "data" payload in the request body', {}],
      ['of a sign-in', 'POST', '/api/auth/local', { identifier: 'ann', password: 'wrong' }, expect.any(String), {}],
    ])('catch a refusal %s', async (_what, method, at, given, message, details) => {
      const caught = await served.json(method, at, given, { 'x-catch': 'outside' });
      expect([caught.status, caught.headers['x-after'], caught.body]).toEqual([
        400,
        '400',
        { error: 'ValidationError', message, details: details ?? expect.any(Object), isOfUtils: true },
      ]);
      const { status, headers, body } = await served.json(method, at, given);
      expect([status, headers['x-after']]).toEqual([400, undefined]);
      expect(body).toEqual(
        refusal(400, 'ValidationError', message, (caught.body as { readonly details: object }).details),
      );
    });

    it('catch what code throws, as v4 does', async () => {
      const caught = await served.json('GET', '/api/own/throws', undefined, { 'x-catch': 'outside' });
      expect([caught.status, caught.body]).toMatchObject([500, { error: 'NotFoundError', message: 'thrown' }]);
      const { status, headers } = await served.json('GET', '/api/own/throws');
      expect([status, headers['x-after']]).toEqual([404, undefined]);
    });
  });

  describe('actions', () => {
    let served: CodeProject;
    beforeAll(async () => {
      served = await serveCode(dialect, files);
    });
    afterAll(() => served.close());
    const validation = ['ApplicationError', 'ValidationError'];

    it.each([
      [
        'a body',
        'POST',
        '/api/notes',
        { data: { title: 'a' } },
        'title must be at least 2 characters',
        { errors: [{ path: ['title'], message: 'title must be at least 2 characters', name: 'ValidationError' }] },
      ],
      ['a body without data', 'POST', '/api/notes', {}, 'Missing "data" payload in the request body', {}],
      ['a query', 'GET', '/api/notes?filters[secret]=s', undefined, 'Invalid parameter secret', {}],
      ['validateQuery', 'GET', '/api/own/validated?sort=secret', undefined, 'Invalid parameter secret', {}],
    ])('catch what is refused of %s as the error of v4', async (_what, method, at, given, message, details) => {
      const ask = (catching: string) => served.json(method, at, given, { 'x-catch': catching });
      const caught = await ask('inside');
      expect([caught.status, caught.body]).toEqual([
        418,
        { name: 'ValidationError', message, details, status: 400, kinds: expect.toSatisfy(isSame(validation)) },
      ]);
      const { status, body } = await ask('');
      expect([status, body]).toEqual([400, refusal(400, 'ValidationError', message, details)]);
      const reworded = await ask('reworded');
      expect([reworded.status, reworded.body]).toEqual([
        400,
        refusal(400, 'ValidationError', 'in other words', details),
      ]);
    });

    it('find null in place of an entry that does not exist', async () => {
      for (const [method, own] of [
        ['GET', 'own text'],
        ['PUT', 'no update'],
        ['DELETE', 'no delete'],
      ] as const) {
        const given = method === 'PUT' ? { data: { title: 'xx' } } : undefined;
        const said = await served.json(method, '/api/notes/999', given, { 'x-own': '1' });
        expect([said.status, said.body]).toEqual([404, refusal(404, 'NotFoundError', own)]);
        const unsaid = await served.json(method, '/api/notes/999', given);
        expect([unsaid.status, unsaid.body]).toEqual([404, missing]);
      }
    });

    it('sanitize without a context as for nobody', async () => {
      expect((await served.json('GET', '/api/own/bare?filters[title]=a&sort[0]=secret&sort[1]=title')).body).toEqual({
        title: 'first',
        input: { title: 'in' },
        query: { filters: { title: 'a' }, sort: ['title'] },
      });
    });

    it('find the parameters in the request', async () => {
      expect((await served.json('GET', '/api/own/params/1/a%20b')).body).toEqual({
        params: { id: '1', what: 'a b' },
        same: true,
      });
    });

    it.each([
      ['nothing', 'Bad Request'],
      ['object', 'Bad Request'],
      ['number', 'Bad Request'],
      ['empty', 'Bad Request'],
      ['error', 'of an error'],
      ['text', 'text'],
    ])('say by ctx.badRequest with %s as the message: %s', async (what, message) => {
      expect((await served.json('GET', `/api/own/says/${what}`)).body).toEqual(
        refusal(400, 'BadRequestError', message, [{ messages: [{ id: 'an.id' }] }]),
      );
    });

    it('set cookies without keys, and sign them with keys', async () => {
      const cookie = { cookie: 'had=one' };
      const { headers, body } = await served.json('GET', '/api/own/cookies', undefined, cookie);
      expect([headers['set-cookie'], body]).toEqual([['seen=yes; path=/; httponly'], { had: 'one' }]);
      const signing = await serveCode(dialect, files, { WITH_KEYS: '1' });
      const signed = await signing.json('GET', '/api/own/cookies', undefined, cookie);
      expect([signed.headers['set-cookie'], signed.body]).toEqual([
        ['seen=yes; path=/; httponly', expect.stringMatching(/^seen\.sig=/)],
        { had: null },
      ]);
      await signing.close();
    });

    it('are told that there is no session, unless they make one', async () => {
      expect((await served.json('GET', '/api/own/session')).status).toBe(500);
      expect(served.logged.join()).toContain('ctx.session is not available');
      expect((await served.json('GET', '/api/own/session?own=1')).body).toEqual({ user: 1 });
    });
  });
});

const isSame =
  (wanted: readonly string[]) =>
  (given: unknown): boolean =>
    JSON.stringify([...(given as string[])].sort()) === JSON.stringify([...wanted].sort());
