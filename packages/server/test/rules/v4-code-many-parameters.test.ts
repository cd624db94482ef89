/** Queries with more parameters than the server reads, and names of refusals, in the context that code of a v4 project finds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { type CodeProject, serveCode } from '../world/code-project.js';

const route = (path: string, handler: string, policies = ''): string =>
  `{ method: 'GET', path: '${path}', handler: ${handler}, config: { auth: false, policies: [${policies}] } },`;

describe('the context of code', () => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode('sqlite', {
      'src/policies/looks.js': `module.exports = (ctx) => { try { return ctx.request.query.hidden !== 'yes'; } catch { return true; } };`,
      'src/api/look/routes/look.js': `module.exports = { routes: [
        ${route('/look', '(ctx) => ({ last: ctx.query.last ?? null })')}
        ${route('/guarded', '() => ({ passed: true })', `'global::looks'`)}
        ${route('/blind', '() => ({ passed: true })')}
        ${route('/refuse/:name', '(ctx) => ctx[ctx.params.name]()')}
      ] };`,
    });
  });
  afterAll(() => served.close());
  const many = (count: number): string => `${'a&'.repeat(count - 1)}last=1`;

  it('RQ10: a query with too many parameters is a 400 for code that looks at it, and is never cut', async () => {
    const { parametersMax: max } = limits;
    expect((await served.json('GET', `/api/look?${many(max)}`)).body).toEqual({ last: '1' });
    expect(await served.json('GET', `/api/look?${many(max + 1)}`)).toMatchObject({
      status: 400,
      body: { error: { name: 'ValidationError', message: expect.stringContaining(`more than ${max} parameters`) } },
    });
    expect((await served.json('GET', `/api/blind?${many(max + 1)}`)).status).toBe(200);
  });

  it('RQ10: a policy that catches that error lets nobody pass, and others later', async () => {
    const { parametersMax: max } = limits;
    expect((await served.json('GET', `/api/guarded?${many(max)}`)).status).toBe(200);
    expect((await served.json('GET', `/api/guarded?${many(max + 1)}&hidden=yes`)).status).toBe(400);
    expect((await served.json('GET', '/api/guarded')).status).toBe(200);
  });

  it.each([
    ['uriTooLong', 414],
    ['httpVersionNotSupported', 505],
    ['imATeapot', 418],
    ['internalServerError', 500],
  ])('names refusals as v4 does: ctx.%s()', async (name, status) => {
    expect((await served.json('GET', `/api/refuse/${name}`)).status).toBe(status);
  });
});
