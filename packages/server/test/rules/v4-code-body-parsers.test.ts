/** Code of a v4 project that reads bodies itself: middlewares before `strapi::body`, or in its place, and handlers behind these. */
import zlib from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const reading = `async (req) => {
  // as raw-body asks
  if (!req.readable) throw new Error('stream is not readable');
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}`;

const files = (middlewares: readonly string[]) => ({
  ...typeFile('item', { name: { type: 'string' } }),
  ...coreFile('Service', 'item'),
  ...coreFile(
    'Controller',
    'item',
    `() => ({
      seen: (ctx) => ({ body: ctx.request.body, raw: ctx.request.rawBody ?? null }),
      async raw(ctx) { return { raw: await (${reading})(ctx.req) }; },
      before(ctx) {
        const { readableEnded } = globalThis.requestBefore ?? {};
        globalThis.requestBefore = ctx.req;
        return { readableEnded };
      },
    })`,
  ),
  ...coreFile('Router', 'item'),
  'src/api/item/routes/a.js': `module.exports = { routes: ['seen', 'raw', 'before'].map((name) => (
    { method: 'POST', path: '/items/' + name, handler: 'item.' + name, config: { auth: false } })) };`,
  'src/middlewares/listener.js': `module.exports = () => async (ctx, next) => {
    const chunks = [];
    ctx.req.on('data', (chunk) => chunks.push(chunk));
    ctx.req.on('end', () => { ctx.request.rawBody = Buffer.concat(chunks).toString(); });
    await next();
  };`,
  'src/middlewares/parser.js': `module.exports = () => async (ctx, next) => {
    if (!/\\/(raw|before)$/.test(ctx.path)) ctx.request.body = { parsed: true, ...JSON.parse(await (${reading})(ctx.req)) };
    await next();
  };`,
  'config/middlewares.js': `module.exports = ${JSON.stringify(middlewares)};`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing} await allow('public', ['api::item.item.create']); } };`,
});

describe.each(dialects)('bodies that code reads on %s', (dialect) => {
  describe('in the place of strapi::body', () => {
    let served: CodeProject;
    beforeAll(async () => {
      served = await serveCode(dialect, files(['strapi::errors', 'global::parser']));
    });
    afterAll(() => served.close());

    it('are there to be parsed, and what was made of them is the body', async () => {
      const { body } = await served.json('POST', '/api/items/seen', { a: 'ä'.repeat(100_000) });
      expect(body).toEqual({ body: { parsed: true, a: 'ä'.repeat(100_000) }, raw: null });
    });

    it('are there for the handler if nobody has read them', async () => {
      const { status, body } = await served.json('POST', '/api/items/raw', { a: 1 });
      expect([status, body]).toEqual([200, { raw: '{"a":1}' }]);
    });

    it('are unpacked, with headers that say so', async () => {
      for (const coding of ['identity', 'gzip']) {
        const body = Buffer.from('{"a":1}');
        const { text } = await served.ask('/api/items/seen', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'content-encoding': coding },
          body: coding === 'gzip' ? zlib.gzipSync(body) : body,
        });
        expect(JSON.parse(text)).toEqual({ body: { parsed: true, a: 1 }, raw: null });
      }
    });

    it('are read to their end once the response was sent, so that no connection keeps them', async () => {
      const ended = async (): Promise<unknown> =>
        ((await served.json('POST', '/api/items/before', { a: 1 })).body as { readableEnded?: boolean }).readableEnded;
      await ended();
      await expect.poll(ended).toBe(true);
    });

    it('are those of the server too, request after request on one connection', async () => {
      for (let i = 0; i < 3; i++) {
        const { status, body } = await served.json('POST', '/api/items', { data: { name: `n${i}` } });
        expect(status, JSON.stringify([body, served.logged.at(-1)])).toBe(200);
      }
    });
  });

  it('before strapi::body are those that it parses', async () => {
    const served = await serveCode(dialect, files(['strapi::errors', 'global::listener', 'strapi::body']));
    try {
      const { body } = await served.json('POST', '/api/items/seen', { a: 1 });
      expect(body).toEqual({ body: { a: 1 }, raw: '{"a":1}' });
    } finally {
      await served.close();
    }
  });
});
