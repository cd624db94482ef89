/** Global middlewares before and behind `strapi::errors`: the first find responses, the others what is thrown. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const text = { type: 'string' };

describe.each(dialects)('global middlewares around strapi::errors on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...typeFile('place', { name: { ...text, required: true } }),
      ...coreFile('Router', 'place'),
      ...typeFile('shut', { name: text }),
      ...coreFile('Router', 'shut'),
      'config/middlewares.js': `module.exports = ['global::outer', 'strapi::errors', 'strapi::security', 'global::inner'];`,
      'src/middlewares/outer.js': `module.exports = () => async (ctx, next) => {
        try { await next(); } finally { ctx.set('x-outer', String(ctx.status)); }
        const { error } = ctx.body ?? {};
        if (error) ctx.body = { success: false, code: ctx.status, reason: error.message };
      };`,
      'src/middlewares/inner.js': `module.exports = () => async (ctx, next) => {
        try { await next(); ctx.set('x-inner', 'went on'); } catch (fault) { ctx.set('x-inner', fault.name); throw fault; }
      };`,
      'src/api/place/routes/own.js': `
        const { ApplicationError } = require('@strapi/utils').errors;
        const say = {
          thrown() { throw new ApplicationError('own words'); },
          broken() { return undefined.member; },
          teapot(ctx) { ctx.throw(418, 'short and stout'); },
          fine: () => ({ fine: true }),
          silent() {},
        };
        module.exports = { routes: Object.keys(say).map((name) => ({ method: 'GET', path: '/say/' + name, handler: say[name], config: { auth: false } })) };`,
      'src/index.js': `module.exports = {
        register({ strapi }) {
          strapi.server.use(async (ctx, next) => { await next(); ctx.set('x-first', String(ctx.status)); });
        },
        async bootstrap({ strapi }) { ${allowing}
          await allow('public', ['find', 'findOne', 'create'].map((it) => 'api::place.place.' + it)); },
      };`,
    });
  });
  afterAll(() => served.close());

  const refusals: readonly [string, string, number, RegExp, string | undefined, object?][] = [
    ['GET', '/api/places?sort=nope', 400, /nope/, 'ValidationError'],
    ['POST', '/api/places', 400, /name/, 'ValidationError', { data: {} }],
    ['GET', '/api/places/99', 404, /Not Found/, 'went on'],
    ['GET', '/api/shuts', 403, /Forbidden/, 'went on'],
    ['GET', '/api/nothing', 404, /Not Found/, 'went on'],
    ['GET', '/nothing', 404, /Not Found/, 'went on'],
    ['GET', '/api/say/thrown', 400, /own words/, 'ApplicationError'],
    ['GET', '/api/say/broken', 500, /Internal Server Error/, 'TypeError'],
    ['GET', '/api/say/teapot', 418, /short and stout/, 'ImATeapotError'],
    ['GET', '/api/say/silent', 404, /Not Found/, 'went on'],
  ];
  it.each(refusals)(
    'the first give refusals another form: %s %s',
    async (method, path, status, reason, inner, body) => {
      const answer = await served.json(method, path, body);
      expect(answer).toMatchObject({
        status,
        headers: { 'x-outer': String(status), 'x-first': String(status) },
        body: { success: false, code: status, reason: expect.stringMatching(reason) },
      });
      expect(answer.headers['x-inner']).toBe(inner);
    },
  );

  it('the log tells of what fails, once', async () => {
    const logged = () => served.logged.filter((it) => it.includes("reading 'member'")).length;
    const before = logged();
    await served.json('GET', '/api/say/broken');
    expect(logged()).toBe(before + 1);
  });

  it('what is answered stays as it is', async () => {
    expect(await served.json('GET', '/api/say/fine')).toMatchObject({ status: 200, body: { fine: true } });
    expect(await served.json('POST', '/api/places', { data: { name: 'a' } })).toMatchObject({
      status: 200,
      headers: { 'x-outer': '200', 'x-inner': 'went on' },
    });
    expect(await served.json('GET', '/api/places')).toMatchObject({
      status: 200,
      headers: { 'x-outer': '200', 'x-first': '200' },
      body: { data: [{ attributes: { name: 'a' } }] },
    });
  });
});
