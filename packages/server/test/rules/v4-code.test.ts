/** The code of a v4 project: guards hold for every spelling of a request, and no fault of the code harms the server. */
import fs from 'node:fs';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Db } from '../../src/sql/dialect.js';
import { type Answered, type CodeServer, serveProject } from '../world/code-server.js';
import { dialects, newDatabase } from '../world/databases.js';
import { newFolder } from '../world/folders.js';
import { writeFiles } from '../world/schemas.js';

const core = (kind: string, own = '', uid = 'api::book.book'): string =>
  `module.exports = require('@strapi/strapi').factories.createCore${kind}('${uid}'${own});`;

const files = {
  'package.json': '{}',
  // never what the project gets
  'node_modules/@strapi/utils/index.js': 'module.exports = { errors: {} };',
  'src/api/book/content-types/book/schema.json': JSON.stringify({
    kind: 'collectionType',
    collectionName: 'books',
    info: { singularName: 'book', pluralName: 'books', displayName: 'Book' },
    options: { draftAndPublish: false },
    attributes: {
      title: { type: 'string' },
      secret: { type: 'string', private: true },
      status: { type: 'string' },
    },
  }),
  'src/api/book/routes/01-guarded.js': `module.exports = { routes: [
    { method: 'GET', path: '/books/:id', handler: 'book.findOne', config: { policies: [({ req }) => 'x-open' in req.headers] } },
    { method: 'GET', path: '/shelf/own', handler: () => ({ own: true }) },
    { method: 'GET', path: '/shelf/raw', handler: 'book.raw', config: { auth: false } },
    { method: 'GET', path: '/shelf/util', handler: 'book.util', config: { auth: false } },
    { method: 'GET', path: '/shelf/more', handler: 'book.more' },
    { method: 'GET', path: '/shelf/more/:id', handler: 'book.more' },
    { method: 'GET', path: '/shelf/parts/:how', handler: 'book.parts' },
    { method: 'GET', path: '/shelf/:what', handler: 'book.shelf', config: { auth: false } },
    { method: 'POST', path: '/shelf/:what', handler: 'book.shelf', config: { auth: false } },
  ] };`,
  'src/api/book/routes/book.js': core('Router'),
  'src/api/book/services/book.js': core('Service'),
  'src/api/book/controllers/book.js': core(
    'Controller',
    `, ({ strapi }) => ({
      async raw(ctx) {
        const query = await this.sanitizeQuery(ctx);
        const { results } = await strapi.service('api::book.book').find(query);
        return { titles: results.map((it) => it.title) };
      },
      async util(ctx) {
        const { sanitize } = require('@strapi/utils');
        const query = await sanitize.contentAPI.query(ctx.query, strapi.getModel('api::book.book'));
        const results = await strapi.entityService.findMany('api::book.book', query);
        return { titles: results.map((it) => it.title) };
      },
      async more(ctx) {
        const found = await super.find(ctx);
        found.extra = 'kept';
        return found;
      },
      async parts(ctx) {
        const { data, meta } = await super.find(ctx);
        switch (ctx.params.how) {
          case 'again': return { data, meta };
          case 'printed': return { text: require('node:util').inspect(data[0].id) + require('node:util').inspect(meta) + Array.isArray(data) };
          case 'mapped': return { data: data.map((it) => ({ ...it, shown: true })), meta };
          case 'changed': data[0].attributes.title = 'Changed'; meta.more = 1; return { data, meta };
          case 'cut': data.length = 1; return { data, meta: { ...meta } };
          case 'frozen': Object.freeze(data); return { data, meta: Object.seal(meta) };
          case 'swapped': return { data: meta, meta: data };
          case 'alone': return data;
          case 'unread': return { list: data, meta };
        }
      },
      async shelf(ctx) {
        const fs = require('node:fs');
        switch (ctx.params.what) {
          case 'missing-file': ctx.body = fs.createReadStream('/nowhere/at/all'); return;
          case 'thrown': ctx.throw(500, 'nothing works');
          case 'busy': ctx.throw(503, 'come back later', { details: { after: 5 } });
          case 'inner': ctx.throw(500, new Error('secret of the database'));
          case 'bare': ctx.throw(new Error('secret of the database'));
          case 'exposed': throw Object.assign(new Error('secret of the database'), { status: 500, expose: true });
          case 'declined': throw Object.assign(new Error('card declined'), { statusCode: 402 });
          case 'away': throw Object.assign(new Error('secret of the shop'), { statusCode: 503 });
          case 'missing-download': ctx.attachment('gone.pdf'); ctx.body = fs.createReadStream('/nowhere/at/all'); return;
          case 'broken-file': ctx.body = fs.createReadStream('/'); return;
          case 'symbol': ctx.body = Symbol('s'); return;
          case 'function': ctx.body = () => 1; return;
          case 'big': return { n: 1n };
          case 'null': throw null;
          case 'text': throw 'only a text';
          case 'circular': { const it = {}; it.it = it; return it; }
          case 'late-next': return new Promise((resolve) => setTimeout(resolve, 5)).then(() => ({ late: true }));
          case 'taken': ctx.respond = false; ctx.res.statusCode = 201; ctx.res.end('own words'); return;
          default: return { what: ctx.params.what };
        }
      },
    })`,
  ),
  'src/api/note/content-types/note/schema.json': JSON.stringify({
    kind: 'collectionType',
    collectionName: 'notes',
    info: { singularName: 'note', pluralName: 'notes', displayName: 'Note' },
    options: { draftAndPublish: false },
    attributes: { text: { type: 'string' } },
  }),
  'src/api/note/routes/note.js': core('Router', '', 'api::note.note'),
  'src/api/note/services/note.js': core('Service', '', 'api::note.note'),
  'src/api/note/controllers/note.js': core('Controller', '', 'api::note.note'),
  'src/api/note/content-types/note/lifecycles.js': `
    const write = (title) => strapi.entityService.create('api::book.book', { data: { title } });
    module.exports = { async afterCreate({ result }) {
      const { text } = result;
      const each = ['a', 'b', 'c'].map((it) => text + ' ' + it);
      if (text.startsWith('all')) await Promise.all(each.map(write));
      if (text.startsWith('inner')) await strapi.db.transaction(() => Promise.all(each.map(write)));
      if (text.startsWith('tried'))
        await Promise.all([
          ...each.map(write),
          strapi.db.transaction(async () => { await write(text + ' lost'); throw new Error('inside'); }).catch(() => undefined),
        ]);
      if (text.startsWith('late')) { write(text + ' now'); setImmediate(async () => { for (const it of each) await write(it).catch(() => undefined); }); }
      if (text.endsWith('fails')) throw new (require('@strapi/utils').errors.ApplicationError)('refused');
    } };`,
  'src/middlewares/tenant.js': `module.exports = () => async (ctx, next) => {
    if (ctx.path.startsWith('/api/notes')) { ctx.status = 410; return; }
    if (ctx.get('x-only')) ctx.query.filters = { title: ctx.get('x-only') };
    if (ctx.get('x-body')) ctx.request.body = { data: { title: ctx.get('x-body') } };
    await next();
    if (ctx.get('x-throw')) throw new Error('after the response');
  };`,
  'config/middlewares.js': `module.exports = process.env.WITH_TENANT ? ['global::tenant'] : [];`,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    const api = plugin.routes['content-api'];
    api.routes = api.routes.filter((it) => it.path !== '/auth/local/register');
    return plugin;
  };`,
  'src/index.js': `
    const said = (name) => async (ctx, next) => {
      ctx.state.said = [...(ctx.state.said ?? []), name];
      await next();
      ctx.set('x-said', ctx.state.said.join(' '));
    };
    const closed = (ctx, next) => (ctx.path === '/api/closed' || ctx.get('x-closed') ? ctx.throw(410, 'closed') : next());
    module.exports = {
      register({ strapi }) { if (process.env.WITH_USED) { strapi.server.use(said('register')); strapi.server.use(closed); } },
      async bootstrap({ strapi }) {
    if (process.env.WITH_USED) strapi.server.app.use(said('bootstrap'));
    const roles = strapi.query('plugin::users-permissions.role');
    const role = (await roles.findOne({ where: { type: 'public' } })) ?? (await roles.create({ data: { name: 'Public', type: 'public' } }));
    for (const action of ['api::book.book.find', 'api::book.book.findOne', 'api::book.book.create', 'api::book.book.more', 'api::book.book.parts',
      'api::note.note.find', 'api::note.note.findOne', 'api::note.note.create', 'api::note.note.update', 'api::note.note.delete',
      'plugin::users-permissions.auth.register'])
      await strapi.query('plugin::users-permissions.permission').create({ data: { action, role: role.id } });
    for (const title of ['Emma', 'Persuasion'])
      await strapi.entityService.create('api::book.book', { data: { title, secret: 'of ' + title } });
  } };`,
};

/** Errors that were logged. */
const logged: string[] = [];
const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) });

interface Served extends Pick<CodeServer, 'ask'> {
  readonly db: Db;
  close(): Promise<void>;
}

const serve = async (
  dialect: (typeof dialects)[number],
  env: Readonly<Record<string, string>> = {},
): Promise<Served> => {
  const database = await newDatabase(dialect);
  const dir = newFolder();
  writeFiles(dir, {
    ...files,
    'dovetail.config.json': JSON.stringify({ users: { attemptsMax: 0 } }),
    '.env': 'JWT_SECRET=a-secret-that-is-long-enough-for-tests\nAPI_TOKEN_SALT=salt\nADMIN_JWT_SECRET=another\n',
  });
  for (const name of ['DATABASE_CLIENT', 'DATABASE_FILENAME', 'DATABASE_URL']) vi.stubEnv(name, database.env[name]);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  try {
    const { ask, close } = await serveProject(dir, { logger });
    return {
      ask,
      db: database.db,
      close: async () => {
        await close();
        await database.drop();
        fs.rmSync(dir, { recursive: true, force: true });
      },
    };
  } finally {
    vi.unstubAllEnvs();
  }
};

const titles = ({ text }: Answered): readonly string[] =>
  (JSON.parse(text) as { data: { attributes: { title: string } }[] }).data.map((it) => it.attributes.title);

describe.each(dialects)('on %s', (dialect) => {
  describe.each([
    ['without middlewares', {}],
    ['with a middleware', { WITH_TENANT: '1' }],
  ] as const)('the code of a project %s', (_name, env) => {
    let served: Served;
    beforeAll(async () => {
      served = await serve(dialect, env);
    });
    afterAll(() => served.close());

    it.each([
      '/api/books/1',
      '/api/books/1/',
      '/api/%62ooks/1',
      '/%61pi/books/1',
      '/api/books/%31',
      '/API/Books/1',
      '/api/boo%E2%84%AAs/1',
      '/api/books/1?x=1',
      'http://elsewhere/api/books/1',
      'http://elsewhere/api/%62ooks/1',
    ])('its policies guard %s', async (spelled) => {
      for (const method of ['GET', 'HEAD']) expect((await served.ask(spelled, { method })).status).toBe(403);
    });

    it('its policies see Node’s request', async () => {
      expect((await served.ask('/api/books/1', { headers: { 'x-open': '1' } })).status).toBe(200);
    });

    it.each(['/api/books/%E0', '/api/shelf/%E0%A4%A', '/api/shelf/%00'])('%s is a 400', async (malformed) => {
      expect((await served.ask(malformed)).status).toBe(400);
      expect((await served.ask('/api/shelf/any')).status).toBe(200);
    });

    it('a handler that is a function is not open to the public without auth: false', async () => {
      expect((await served.ask('/api/shelf/own')).status).toBe(401);
    });

    it.each(['raw', 'util'])('what sanitizes queries refuses conditions on private attributes (%s)', async (how) => {
      for (const asked of [
        'filters[secret]=of Emma',
        'filters[$or][0][secret][$startsWith]=of E',
        'filters[$not][secret]=of Emma',
        'filters[title]=Emma&filters[secret]=of Persuasion',
      ]) {
        const { status, text } = await served.ask(encodeURI(`/api/shelf/${how}?sort=title&${asked}`));
        expect([asked, status, text]).toEqual([asked, 400, expect.stringContaining('Invalid parameter secret')]);
      }
      expect((await served.ask(`/api/shelf/${how}?sort=secret:desc`)).status).toBe(200);
    });

    it('what an action adds to the answer of super.find is sent', async () => {
      const { text } = await served.ask('/api/shelf/more?pagination[pageSize]=1');
      expect(JSON.parse(text)).toMatchObject({ extra: 'kept' });
      // a list has no id, whatever the path has in its place
      for (const id of ['first', '1', '99'])
        expect([id, (await served.ask(`/api/shelf/more/${id}?pagination[pageSize]=1`)).text]).toEqual([id, text]);
    });

    it('what an action takes apart and puts together again is the same answer', async () => {
      const whole = await served.ask('/api/books?sort=title');
      const again = await served.ask('/api/shelf/parts/again?sort=title');
      expect([again.text, again.headers['content-type']]).toEqual([whole.text, whole.headers['content-type']]);
      expect(again.headers.etag).toBe(whole.headers.etag);
    });

    it('what an action looks into or changes is what it says', async () => {
      type Body = { data: { id: number; attributes: { title: string } }[]; meta: { pagination: { total: number } } };
      const parts = async (how: string): Promise<unknown> =>
        JSON.parse((await served.ask(`/api/shelf/parts/${how}?sort=title`)).text);
      const { data, meta } = JSON.parse((await served.ask('/api/books?sort=title')).text) as Body;
      const [first, ...rest] = data;
      expect(await parts('mapped')).toEqual({ data: data.map((it) => ({ ...it, shown: true })), meta });
      expect(await parts('changed')).toEqual({
        data: [{ ...first, attributes: { ...first!.attributes, title: 'Changed' } }, ...rest],
        meta: { ...meta, more: 1 },
      });
      expect(await parts('cut')).toEqual({ data: [first], meta });
      expect(await parts('frozen')).toEqual({ data, meta });
      expect(await parts('swapped')).toEqual({ data: meta, meta: data });
      expect(await parts('alone')).toEqual(data);
      expect(await parts('unread')).toEqual({ list: data, meta });
      const { text } = (await parts('printed')) as { text: string };
      expect(text).toContain(`${first!.id}{ pagination: { page: 1,`);
    });

    it('routes that an extension has removed are gone', async () => {
      const body = JSON.stringify({ username: 'eve', email: 'eve@example.com', password: 'Passw0rd!' });
      expect((await served.ask('/api/auth/local/register', { method: 'POST', body })).status).toBeOneOf([404, 405]);
      expect((await served.ask('/api/auth/local', { method: 'POST', body: '{}' })).status).toBe(403);
    });

    it.each(['GET', 'POST'])('a stream that fails and a body that is no JSON are 500s (%s)', async (method) => {
      for (const what of ['broken-file', 'circular'])
        expect((await served.ask(`/api/shelf/${what}`, { method })).status).toBe(500);
      expect((await served.ask('/api/shelf/any')).status).toBe(200);
    });

    it.each(['GET', 'POST'])('a stream of a file that is gone is a 404, and no attachment (%s)', async (method) => {
      logged.length = 0;
      for (const what of ['missing-file', 'missing-download']) {
        const { status, headers, text } = await served.ask(`/api/shelf/${what}`, { method });
        expect([status, headers['content-disposition'], JSON.parse(text)]).toMatchObject([
          404,
          undefined,
          { data: null, error: { status: 404, name: 'NotFoundError' } },
        ]);
      }
      expect(logged).toEqual([]);
    });

    it.each(
      (
        [
          ['circular', /handler book\.shelf, of the API book\) has set cannot be sent as JSON: .*circular/],
          ['big', /cannot be sent as JSON: .*BigInt/],
          ['symbol', /cannot be sent as JSON: it is a symbol/],
          ['function', /cannot be sent as JSON: it is a function/],
          ['null', /handler book\.shelf, of the API book\) threw what is no error: null/],
          ['text', /threw what is no error: 'only a text'/],
        ] as const
      ).flatMap(([what, words]) => [['GET', what, words] as const, ['POST', what, words] as const]),
    )('what has no place of its own is logged with the route (%s %s)', async (method, what, words) => {
      logged.length = 0;
      expect((await served.ask(`/api/shelf/${what}`, { method })).status).toBe(500);
      expect(logged.join('')).toContain(`the route ${method} /shelf/:what (handler book.shelf`);
      expect(logged.join('')).toMatch(words);
    });

    it.each(['GET', 'POST'])(
      'what ctx.throw says with a 500 is shown, and logged with its place (%s)',
      async (method) => {
        logged.length = 0;
        const { status, text } = await served.ask('/api/shelf/thrown', { method });
        expect([status, JSON.parse(text)]).toMatchObject([500, { error: { message: 'nothing works' } }]);
        expect(logged.join('')).toMatch(/nothing works.*src\/api\/book\/controllers\/book\.js/s);
      },
    );

    it('ctx.throw of every status from 500 on keeps what it says, 503 included', async () => {
      const { status, text } = await served.ask('/api/shelf/busy');
      const error = { status: 503, name: 'ServiceUnavailableError', message: 'come back later', details: { after: 5 } };
      expect([status, JSON.parse(text)]).toEqual([503, { data: null, error }]);
    });

    it.each(['GET', 'POST'])(
      'an error of something else is not shown, whatever ctx.throw makes of it (%s)',
      async (method) => {
        for (const what of ['inner', 'bare', 'exposed']) {
          const { status, text } = await served.ask(`/api/shelf/${what}`, { method });
          expect([what, status, text]).toEqual([what, 500, expect.not.stringContaining('secret')]);
        }
      },
    );

    it.each(['GET', 'POST'])('a statusCode is a status, as errors of other services have it (%s)', async (method) => {
      const declined = await served.ask('/api/shelf/declined', { method });
      expect([declined.status, JSON.parse(declined.text)]).toMatchObject([
        402,
        { error: { message: 'card declined' } },
      ]);
      const away = await served.ask('/api/shelf/away', { method });
      expect([away.status, JSON.parse(away.text)]).toMatchObject([
        503,
        { error: { status: 503, name: 'ServiceUnavailableError', message: 'Service Unavailable' } },
      ]);
    });

    it.each(['GET', 'POST'])('code may answer by itself (%s)', async (method) => {
      expect(await served.ask('/api/shelf/taken', { method })).toMatchObject({ status: 201, text: 'own words' });
    });
  });

  describe('writes of a hook', () => {
    let served: Served;
    beforeAll(async () => {
      served = await serve(dialect);
    });
    afterAll(() => served.close());
    const post = (text: string): Promise<Answered> =>
      served.ask('/api/notes', { method: 'POST', body: JSON.stringify({ data: { text } }) });
    const written = async (start: string): Promise<readonly string[]> =>
      titles(await served.ask(encodeURI(`/api/books?sort=title&filters[title][$startsWith]=${start}`)));

    it.each(['all', 'inner'])('may run side by side (%s), and belong to the write', async (how) => {
      const texts = [1, 2, 3, 4, 5].map((it) => `${how} ${it}`);
      const answers = await Promise.all([...texts.map(post), post(`${how} fails`)]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 400]);
      expect(await written(how)).toEqual(texts.flatMap((it) => ['a', 'b', 'c'].map((letter) => `${it} ${letter}`)));
    });

    it('may fail in a transaction of their own', async () => {
      expect((await post('tried')).status).toBe(200);
      expect(await written('tried')).toEqual(['tried a', 'tried b', 'tried c']);
    });

    it('that nobody awaits belong to the write only while it runs', async () => {
      expect((await post('late 1')).status).toBe(200);
      expect(await post('late 2 fails')).toMatchObject({ status: 400 });
      await vi.waitFor(async () =>
        expect(await written('late 1')).toEqual(['late 1 a', 'late 1 b', 'late 1 c', 'late 1 now']),
      );
      expect(await written('late 2 fails now')).toEqual([]);
    });

    it.each(['99999999999999', '99999999999999999999', '2147483648', '0', '-1', 'x', '%00', '1e3'])(
      'the id %s is not found, in every method',
      async (id) => {
        for (const method of ['GET', 'PUT', 'DELETE']) {
          const body = method === 'PUT' ? '{"data":{"text":"x"}}' : undefined;
          const { status } = await served.ask(`/api/notes/${id}`, { method, ...(body ? { body } : {}) });
          expect([method, status]).toEqual([method, id === '%00' ? 400 : 404]);
        }
      },
    );

    it.each(['null', '[]', '"text"', '{"data":null}', '{"data":[]}', '{"data":{"text":{}}}'])(
      'the body %s is a 400',
      async (body) => {
        expect((await served.ask('/api/notes', { method: 'POST', body })).status).toBe(400);
      },
    );
  });

  describe('a global middleware', () => {
    let served: Served;
    beforeAll(async () => {
      served = await serve(dialect, { WITH_TENANT: '1' });
    });
    afterAll(() => served.close());

    it.each(['/api/books', '/api/books?sort=title', '/api/%62ooks'])('may change the query of %s', async (asked) => {
      expect(titles(await served.ask(asked, { headers: { 'x-only': 'Emma' } }))).toEqual(['Emma']);
    });

    it.each(['/api/notes', '/api/%6Eotes', '/%61pi/n%6ftes?sort=id', '/api/n%6Ftes/1'])(
      'that closes a path closes %s',
      async (asked) => {
        expect((await served.ask(asked)).status).toBe(410);
      },
    );

    it('may replace the body of a write that the server makes', async () => {
      const headers = { 'x-body': 'Sanditon' };
      const { text } = await served.ask('/api/books', { method: 'POST', headers, body: '{"data":{"title":"Other"}}' });
      expect(JSON.parse(text)).toMatchObject({ data: { attributes: { title: 'Sanditon' } } });
    });

    it('may throw after the response was made', async () => {
      for (const asked of ['/api/books', '/api/users/me'])
        expect((await served.ask(asked, { headers: { 'x-throw': '1' } })).status).toBe(500);
    });
  });

  describe('a middleware that register or bootstrap adds by strapi.server.use', () => {
    let served: Served;
    beforeAll(async () => {
      served = await serve(dialect, { WITH_USED: '1' });
    });
    afterAll(() => served.close());

    it('sees every request, in order', async () => {
      for (const asked of ['/api/books', '/api/shelf/any', '/api/notes'])
        expect((await served.ask(asked)).headers['x-said']).toBe('register bootstrap');
    });

    it('may refuse it', async () => {
      expect((await served.ask('/api/closed')).status).toBe(410);
      for (const asked of ['/api/books', '/api/shelf/any'])
        expect((await served.ask(asked, { headers: { 'x-closed': '1' } })).status).toBe(410);
      const write = { method: 'POST', headers: { 'x-closed': '1' }, body: '{"data":{"text":"x"}}' };
      expect((await served.ask('/api/notes', write)).status).toBe(410);
    });
  });
});
