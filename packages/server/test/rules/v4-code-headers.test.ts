/** Headers of responses: what code says of them counts, as in v4, also where the server has something to say itself. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
  'src/api/book/routes/own.js': `module.exports = { routes: ['text', 'throws', 'silent', 'raw', 'stream'].map((it) => (
    { method: 'GET', path: '/own/' + it, handler: 'own.' + it, config: { auth: false } })) };`,
  'src/api/book/controllers/own.js': `${changes}
    module.exports = {
      text(ctx) { change(ctx, 'controller before'); ctx.body = 'own'; },
      throws(ctx) { change(ctx, 'controller before'); return ctx.badRequest('no'); },
      silent(ctx) { change(ctx, 'controller before'); },
      raw(ctx) { change(ctx, 'controller before'); ctx.respond = false; ctx.res.end('raw'); },
      stream(ctx) { change(ctx, 'controller before'); ctx.body = require('node:stream').Readable.from(['streamed']); },
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
