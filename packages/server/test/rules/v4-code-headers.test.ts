/** Headers of responses: what code says of them counts, as in v4, also where the server has something to say itself. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

/** Changes the headers that a request names: `x-set-HEADER: value`, `x-drop: HEADER`. */
const changes = `const change = (ctx, where) => {
  if (ctx.get('x-where') !== where) return;
  const raw = ctx.get('x-raw') !== '';
  for (const [name, value] of Object.entries(ctx.request.headers))
    if (name.startsWith('x-set-')) raw ? ctx.res.setHeader(name.slice(6), value) : ctx.set(name.slice(6), value);
  if (ctx.get('x-drop')) raw ? ctx.res.removeHeader(ctx.get('x-drop')) : ctx.remove(ctx.get('x-drop'));
  if (ctx.get('x-vary')) ctx.vary(ctx.get('x-vary'));
  if (ctx.get('x-look')) ctx.set('x-looked', String(ctx.response.get(ctx.get('x-look'))));
};`;

const around = (name: string): string => `${changes}
  module.exports = () => async (ctx, next) => {
    change(ctx, '${name} before');
    await next();
    change(ctx, '${name} after');
  };`;

const files: Readonly<Record<string, string>> = {
  ...typeFile('book', { title: { type: 'string' } }),
  ...typeFile('plain', { title: { type: 'string' } }),
  'src/api/book/policies/marked.js': `${changes} module.exports = (ctx) => {
    const { request, response, res } = ctx;
    change({ get: (name) => request.get(name), request, response, res, set: (...given) => response.set(...given),
      remove: (name) => response.remove(name), vary: (name) => response.vary(name) }, 'policy');
    return request.get('x-refuse') === '';
  };`,
  'src/api/book/middlewares/around.js': around('middleware'),
  ...coreFile(
    'Router',
    'book',
    `{ config: ${JSON.stringify(
      Object.fromEntries(
        ['find', 'findOne', 'create'].map((it) => [it, { policies: ['marked'], middlewares: ['api::book.around'] }]),
      ),
    )} }`,
  ),
  ...coreFile(
    'Controller',
    'book',
    `() => {
      ${changes}
      return {
        async find(ctx) {
          change(ctx, 'controller before');
          const answer = await super.find(ctx);
          change(ctx, 'controller after');
          return answer;
        },
        async create(ctx) {
          change(ctx, 'controller before');
          const answer = await super.create(ctx);
          change(ctx, 'controller after');
          return answer;
        },
      };
    }`,
  ),
  'src/api/book/routes/own.js': `module.exports = { routes: ['text', 'throws', 'silent', 'raw', 'stream', 'endless', 'zipped', 'whole', 'failing', 'late'].map((it) => (
    { method: 'GET', path: '/own/' + it, handler: 'own.' + it, config: { auth: false } })) };`,
  'src/api/book/controllers/own.js': `${changes}
    module.exports = {
      text(ctx) { change(ctx, 'controller before'); ctx.body = 'own'; },
      throws(ctx) { change(ctx, 'controller before'); return ctx.badRequest('no'); },
      silent(ctx) { change(ctx, 'controller before'); },
      raw(ctx) { change(ctx, 'controller before'); ctx.respond = false; ctx.res.end('raw'); },
      stream(ctx) { change(ctx, 'controller before'); ctx.body = require('node:stream').Readable.from(['streamed']); },
      endless(ctx) {
        ctx.body = new (require('node:stream').Readable)({ read() {}, destroy(fault, done) { strapi.log.warn('a stream was destroyed'); done(fault); } });
      },
      zipped(ctx) {
        ctx.set('content-encoding', 'gzip');
        ctx.body = require('node:zlib').gzipSync(require('node:crypto').randomBytes(20_000).toString('hex'));
        ctx.type = 'text/plain';
      },
      whole(ctx) { ctx.set('cache-control', 'no-transform'); ctx.body = 'a'.repeat(20_000); },
      failing(ctx) { ctx.body = { get broken() { throw new Error('broken'); } }; },
      late(ctx) {
        setImmediate(() => setImmediate(() => setImmediate(() => {
          strapi.log.warn('late: ' + [ctx.status, ctx.response.status, ctx.headerSent, ctx.writable, ctx.response.get('etag'), ctx.response.type].join());
        })));
        ctx.body = 'soon';
      },
    };`,
  'src/index.js': `module.exports = { async bootstrap() {
    ${allowing}
    await allow('public', ['api::book.book.find', 'api::book.book.findOne', 'api::book.book.create', 'api::plain.plain.find']);
    await strapi.entityService.create('api::book.book', { data: { title: 'One' } });
  } };`,
};

const withGlobal: Readonly<Record<string, string>> = {
  'src/middlewares/everywhere.js': around('global'),
  'config/middlewares.js': `module.exports = ['strapi::errors', 'strapi::security', 'strapi::cors', 'strapi::body', 'global::everywhere'];`,
};

const origin = 'https://front.example';
const usual = {
  'x-frame-options': 'SAMEORIGIN',
  'access-control-allow-origin': origin,
  'access-control-allow-credentials': 'true',
};
const own = {
  'x-frame-options': 'DENY',
  'access-control-allow-origin': 'https://only.example',
  'access-control-allow-credentials': 'false',
  'content-security-policy': "default-src 'none'",
  'x-request-id': 'mine',
};

/** Whose code runs for which requests. */
const places = (hasGlobal: boolean): readonly (readonly [where: string, method: string, at: string])[] => [
  ...['policy', 'middleware before', 'middleware after', 'controller before', 'controller after'].flatMap(
    (where) =>
      [
        [where, 'GET', '/api/books'],
        [where, 'POST', '/api/books'],
      ] as const,
  ),
  ...['policy', 'middleware after'].map((where) => [where, 'GET', '/api/books/1'] as const),
  ...['text', 'silent', 'raw', 'stream', 'throws'].map((it) => ['controller before', 'GET', `/api/own/${it}`] as const),
  ...(hasGlobal
    ? [
        // a refusal is thrown through the middleware
        ['global before', 'GET', '/api/plains?sort=nonsense'] as const,
        ...['global before', 'global after'].flatMap(
          (where) =>
            [
              [where, 'GET', '/api/books'],
              [where, 'POST', '/api/books'],
              [where, 'GET', '/api/plains'],
              [where, 'GET', '/api/books/7'],
              [where, 'GET', '/api/nowhere'],
              [where, 'GET', '/api/own/text'],
              [where, 'DELETE', '/api/books/1'],
            ] as const,
        ),
      ]
    : []),
];

for (const hasGlobal of [false, true])
  describe.each(dialects)(
    `headers that code sets, ${hasGlobal ? 'with' : 'without'} a global middleware, on %s`,
    (dialect) => {
      let served: CodeProject;
      beforeAll(async () => {
        served = await serveCode(dialect, { ...files, ...(hasGlobal ? withGlobal : {}) });
      });
      afterAll(async () => served.close());
      const headersOf = async (
        [where, method, at]: readonly [string, string, string],
        told: Readonly<Record<string, string>>,
      ): Promise<Readonly<Record<string, unknown>>> => {
        const headers = {
          origin,
          'x-where': where,
          ...told,
          ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        };
        const body = method === 'POST' ? { body: JSON.stringify({ data: { title: 'New' } }) } : {};
        return (await served.ask(at, { method, headers, ...body })).headers;
      };
      const setting = Object.fromEntries(Object.entries(own).map(([name, value]) => [`x-set-${name}`, value]));

      it.each(places(hasGlobal))(
        '%s of %s %s: what it sets replaces what the server would send, once',
        async (...place) => {
          expect(await headersOf(place, {})).toMatchObject(usual);
          expect(await headersOf(place, setting)).toMatchObject(own);
          expect(await headersOf(place, { ...setting, 'x-raw': '1' })).toMatchObject(own);
        },
      );

      it.each(places(hasGlobal))('%s of %s %s: what it removes is not sent', async (...place) => {
        for (const name of ['x-frame-options', 'access-control-allow-origin', 'x-request-id'])
          for (const raw of ['', '1']) {
            const sent = await headersOf(place, { 'x-drop': name, 'x-raw': raw });
            expect([name, raw, sent[name]]).toEqual([name, raw, undefined]);
            expect(sent).toMatchObject({
              'referrer-policy': 'no-referrer',
              'access-control-allow-credentials': 'true',
            });
          }
      });

      it.each(places(hasGlobal).filter(([, , at]) => at !== '/api/own/raw'))(
        '%s of %s %s: Vary names what it says and what every response depends on',
        async (...place) => {
          for (const told of [{ 'x-vary': 'Accept-Language' }, { 'x-set-vary': 'Accept-Language' }]) {
            const { vary } = await headersOf(place, told);
            const names = String(vary).toLowerCase().split(/, */).sort();
            expect(names.filter((it) => it !== 'strapi-response-format')).toEqual([
              'accept-encoding',
              'accept-language',
              'origin',
            ]);
          }
        },
      );

      it.each(places(hasGlobal).filter(([, , at]) => !/own|nowhere|nonsense|[17]$/.test(at)))(
        '%s of %s %s: the type and the tag of an answer of the server are those that it sets',
        async (...place) => {
          const told = { 'x-set-content-type': 'application/vnd.api+json', 'x-set-etag': '"mine"' };
          for (const raw of [{}, { 'x-raw': '1' }])
            expect(await headersOf(place, { ...told, ...raw })).toMatchObject({
              'content-type': 'application/vnd.api+json',
              etag: '"mine"',
            });
        },
      );

      it('a body that code has encoded, or that nobody may, is sent as it is', async () => {
        const headers = { 'accept-encoding': 'br, gzip' };
        const zipped = await fetch(`${served.base}/api/own/zipped`, { headers });
        expect(zipped.headers.get('content-encoding')).toBe('gzip');
        expect(await zipped.text()).toMatch(/^[\da-f]{40000}$/);
        const whole = await fetch(`${served.base}/api/own/whole`, { headers });
        expect([whole.headers.get('content-encoding'), (await whole.text()).length]).toEqual([null, 20_000]);
      });

      it('HEAD of a stream is answered without it, and ends it', async () => {
        const before = served.logged.length;
        const { status, text } = await served.ask('/api/own/endless', { method: 'HEAD' });
        expect([status, text]).toEqual([200, '']);
        await vi.waitFor(() => expect(served.logged.slice(before).join()).toContain('a stream was destroyed'));
      });

      it('a body that cannot be sent has the status of the fault, in words too', async () => {
        const { status, statusText } = await fetch(`${served.base}/api/own/failing`);
        expect([status, statusText]).toEqual([500, 'Internal Server Error']);
      });

      it('what is looked at once it is sent is as it was sent', async () => {
        const before = served.logged.length;
        expect((await served.ask('/api/own/late')).text).toBe('soon');
        await vi.waitFor(() =>
          expect(served.logged.slice(before).join()).toContain('late: 200,200,true,false,,text/plain'),
        );
      });

      it.each(places(hasGlobal))('%s of %s %s: it sees what will be sent', async (...place) => {
        expect(await headersOf(place, { 'x-look': 'access-control-allow-origin' })).toMatchObject({
          'x-looked': origin,
        });
        expect(await headersOf(place, { 'x-look': 'x-frame-options' })).toMatchObject({ 'x-looked': 'SAMEORIGIN' });
      });
    },
  );

describe('stored files behind a global middleware', () => {
  it('keep their length and tag, in whole and in part', async () => {
    const served = await serveCode('sqlite', { ...files, ...withGlobal, 'public/uploads/a.txt': 'stored' });
    const ask = async (headers: Readonly<Record<string, string>>): Promise<readonly unknown[]> => {
      const {
        status,
        text,
        headers: sent,
      } = await served.ask('/uploads/a.txt', {
        headers: { 'x-where': 'global after', 'x-set-x-frame-options': 'DENY', ...headers },
      });
      return [status, text, sent['content-length'], sent['content-range'], sent['x-frame-options'], sent['etag']];
    };
    const tag = expect.stringContaining('"');
    const [, , , , , etag] = await ask({});
    expect(await ask({})).toEqual([200, 'stored', '6', undefined, 'DENY', tag]);
    expect(await ask({ range: 'bytes=1-2' })).toEqual([206, 'to', '2', 'bytes 1-2/6', 'DENY', tag]);
    expect((await ask({ 'if-none-match': String(etag) })).slice(0, 2)).toEqual([304, '']);
    await served.close();
  });
});
