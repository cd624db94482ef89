/** Where routes of v4 projects are, what their parameters hold, and what controllers list. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { codeRunner, runningController } from '../world/running.js';

const open = `config: { auth: false }`;

describe('routes and controllers of code', () => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode('sqlite', {
      ...typeFile('book', { title: { type: 'string' }, secret: { type: 'string', private: true } }),
      ...typeFile('film', { title: { type: 'string' } }),
      ...coreFile(
        'Controller',
        'book',
        `() => ({ async run() { return 'own'; }, async find() { return 'replaced'; } })`,
      ),
      ...coreFile('Controller', 'film'),
      'src/api/run/routes/run.js': `module.exports = { routes: [{ method: 'POST', path: '/run', handler: 'run.run', ${open} }] };`,
      'src/api/run/controllers/run.js': runningController,
      'src/api/own/routes/own.js': `module.exports = { prefix: '/file', routes: [
        { method: 'GET', path: '/rest/:path+', handler: (ctx) => ({ path: ctx.params.path }), ${open} },
        { method: 'GET', path: '/any/:path*', handler: (ctx) => ({ path: ctx.params.path ?? null }), ${open} },
        { method: 'GET', path: '/prefixed', handler: () => 'prefixed', config: { auth: false, prefix: '/own' } },
        { method: 'GET', path: '/bare', handler: () => 'bare', config: { auth: false, prefix: '' } },
      ] };`,
    });
  });
  afterAll(() => served.close());
  const { run, thrown } = codeRunner(() => served);

  it('a parameter of several segments is one text, as in v4', async () => {
    expect((await served.json('GET', '/api/file/rest/a/b%20c/d')).body).toEqual({ path: 'a/b c/d' });
    expect((await served.json('GET', '/api/file/rest/a')).body).toEqual({ path: 'a' });
    expect((await served.json('GET', '/api/file/any')).body).toEqual({ path: null });
  });

  it('a prefix of a route, whatever it says, leaves off that of its file, as in v4', async () => {
    for (const name of ['prefixed', 'bare']) {
      expect((await served.ask(`/api/${name}`)).text).toBe(name);
      expect((await served.ask(`/api/file/${name}`)).status).toBe(404);
    }
    expect((await served.ask('/api/own/prefixed')).status).toBe(404);
  });

  it('a controller lists its own actions and those of the core', async () => {
    const actions = ['create', 'delete', 'find', 'findOne', 'update'];
    for (const given of [`strapi.controllers['api::book.book']`, 'strapi.api.book.controllers.book'])
      expect(await run(`return Object.keys(${given}).sort()`)).toEqual([...actions, 'run'].sort());
    expect(await run(`return Object.keys(strapi.controller('api::film.film')).sort()`)).toEqual(actions);
    expect(await run(`return strapi.controller('api::book.book').find()`)).toBe('replaced');
  });

  it('validateInput refuses what sanitizeInput would take out', async () => {
    const validate = (data: string) =>
      `return (await strapi.controller('api::book.book').validateInput(${data})) ?? 'valid'`;
    expect(await run(validate(`{ title: 'a', secret: 'b' }`))).toBe('valid');
    expect(await thrown(validate(`{ id: 5, title: 'a' }`))).toBe('ValidationError: Invalid parameter id');
    expect(await thrown(validate(`{ createdBy: 1 }`))).toBe('ValidationError: Invalid parameter createdBy');
  });
});
