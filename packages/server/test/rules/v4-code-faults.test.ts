/** Whatever code leaves as a response or throws, a request that fails is a 500 with an id, and the server goes on (ER1). */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type CodeProject, serveCode } from '../world/code-project.js';

/** How an action ends: what it returns, sets or throws. */
const endings = `
  const boom = () => { throw new Error('secret words'); };
  const traps = { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom, getOwnPropertyDescriptor: boom };
  const revoked = () => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; };
  const endings = {
    'a circle': () => { const it = {}; it.it = it; return it; },
    'a circle that it sets': (ctx) => { const it = {}; it.it = it; ctx.body = it; },
    'a bigint': () => ({ n: 1n }),
    'a symbol': () => Symbol('s'),
    'a function': () => () => 1,
    'a class': () => class Book {},
    'what toJSON throws for': () => ({ toJSON: boom }),
    'what toJSON makes nothing of': () => ({ toJSON: () => undefined }),
    'what throws an error that nobody can read': () => ({ toJSON() { throw new Proxy({}, traps); } }),
    'what a getter throws for': () => Object.defineProperty({}, 'title', { get: boom, enumerable: true }),
    'what then throws for': () => Object.defineProperty({}, 'then', { get: boom, enumerable: true }),
    'a proxy whose traps throw': () => new Proxy({}, traps),
    'a revoked proxy': revoked,
    'what has a pipe, and is no stream': () => ({ pipe: () => undefined }),
    'a status that there is none': (ctx) => { ctx.body = 'text'; ctx.res.statusCode = 99999; },
    'an error': boom,
    'an error whose status throws': () => { throw Object.defineProperty(new Error('secret words'), 'status', { get: boom }); },
    'a proxy as an error': () => { throw new Proxy(new Error('secret words'), traps); },
    'a revoked proxy as an error': () => { throw revoked(); },
    'nothing as an error': () => { throw undefined; },
  };`;
const names = [...endings.matchAll(/^ {4}'([^']+)':/gm)].map(([, name]) => name!);

/** Ways to an action. */
const ways = {
  sync: `handler: 'end.sync', config: { auth: false }`,
  async: `handler: 'end.async', config: { auth: false }`,
  inline: `handler: (ctx) => end(ctx), config: { auth: false }`,
  policy: `handler: 'end.sync', config: { auth: false, policies: [() => true] }`,
  middleware: `handler: 'end.sync', config: { auth: false, middlewares: [(ctx, next) => next()] }`,
  'middleware-alone': `handler: 'end.fine', config: { auth: false, middlewares: [(ctx) => { const left = end(ctx); if (left !== undefined) ctx.body = left; }] }`,
  'failing-policy': `handler: 'end.fine', config: { auth: false, policies: [({ request }) => { JSON.stringify(end(request.ctx)); throw new Error('secret words'); }] }`,
};

const files = {
  'src/end.js': `${endings} module.exports = (ctx) => endings[decodeURIComponent(ctx.get('x-ending'))](ctx);`,
  'src/api/end/controllers/end.js': `const end = require('../../../end.js');
    const { Readable, PassThrough } = require('node:stream');
    const streams = {
      whole: () => Readable.from(['first,', 'second']),
      // the client has its first part before
      failing: () => Readable.from((async function* () { yield 'first,'; await new Promise(setImmediate); throw new Error('gone'); })()),
      destroyed: () => { const it = new PassThrough(); it.write('first,'); setImmediate(() => it.destroy()); return it; },
      long: (ctx) => { ctx.length = 12; return Readable.from(['first,', 'second']); },
    };
    module.exports = { stream: (ctx) => { ctx.type = 'text/csv'; ctx.body = streams[ctx.query.of](ctx); },
      sync: (ctx) => end(ctx), async: async (ctx) => end(ctx), fine: () => ({ fine: true }) };`,
  'src/api/end/routes/end.js': `const end = require('../../../end.js');
    module.exports = { routes: [
      ${Object.entries(ways)
        .flatMap(([way, rest]) => ['GET', 'POST'].map((method) => `{ method: '${method}', path: '/${way}', ${rest} },`))
        .join('\n')}
      { method: 'GET', path: '/stream', handler: 'end.stream', config: { auth: false } },
      { method: 'GET', path: '/fine', handler: 'end.fine', config: { auth: false } },
    ] };`,
};

const globals = {
  'src/middlewares/passing.js': `module.exports = () => async (ctx, next) => { await next(); };`,
  'config/middlewares.js': `module.exports = ['strapi::errors', 'strapi::body', 'global::passing'];`,
};

describe.each([
  ['of its own', files],
  ['behind a global middleware', { ...files, ...globals }],
])('an action %s', (_where, project) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode('sqlite', project);
  });
  afterAll(() => served.close());

  const isFault = async (method: string, path: string, ending: string): Promise<void> => {
    served.logged.length = 0;
    const headers = { 'x-ending': encodeURIComponent(ending) };
    const { status, body } = await served.json(method, path, method === 'POST' ? {} : undefined, headers);
    expect([status, body]).toMatchObject([500, { data: null, error: { status: 500, name: 'InternalServerError' } }]);
    const { id } = (body as { error: { details: { id: string } } }).error.details;
    expect(served.logged.map((it) => JSON.parse(it))).toMatchObject([{ faultId: id }]);
    expect(JSON.stringify(body)).not.toContain('secret');
    expect((await served.json('GET', '/api/fine')).body).toEqual({ fine: true });
  };

  it('cuts off the response of a stream that fails, and says so in the log', async () => {
    served.logged.length = 0;
    for (const of of ['failing', 'destroyed'])
      await expect(served.ask(`/api/stream?of=${of}`)).rejects.toThrow(/aborted|terminated|socket/);
    await vi.waitFor(() =>
      expect(served.logged.map((it) => JSON.parse(it))).toMatchObject([
        { err: { message: 'gone', stack: expect.stringContaining('controllers/end.js') } },
      ]),
    );
  });

  it('says how long a stream is if code knows it', async () => {
    const whole = await served.ask('/api/stream?of=whole');
    expect([whole.text, whole.headers['content-length']]).toEqual(['first,second', undefined]);
    const long = await served.ask('/api/stream?of=long');
    expect([long.text, long.headers['content-length']]).toEqual(['first,second', '12']);
  });

  describe.each(Object.keys(ways))('by the way of %s', (way) => {
    it.each(names)('ER1: that ends with %s is a 500 with an id', async (ending) => {
      for (const method of ['GET', 'POST']) await isFault(method, `/api/${way}`, ending);
    });
  });
});
