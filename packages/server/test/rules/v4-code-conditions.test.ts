/** What project code sets as conditions is never lost on the way, and what bodies have as `__proto__` never reaches it. */
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const lodash = createRequire(import.meta.url).resolve('lodash');

/** Code of the test, as a function of strapi and the context. */
const running = (code: string): string => encodeURIComponent(code);

const files = {
  ...typeFile('memo', { title: { type: 'string' }, tenant: { type: 'integer' } }),
  ...coreFile('Router', 'memo', '{ config: { find: { auth: false } } }'),
  ...coreFile('Controller', 'memo'),
  ...typeFile('plain', { title: { type: 'string' } }),
  ...typeFile(
    'post',
    {
      title: { type: 'string' },
      owner: { type: 'integer' },
      card: { type: 'component', component: 'part.card' },
    },
    { draftAndPublish: true },
  ),
  'src/components/part/card.json': JSON.stringify({
    collectionName: 'components_part_cards',
    info: { displayName: 'card' },
    attributes: { label: { type: 'string' } },
  }),
  'src/api/post/content-types/post/lifecycles.js': `module.exports = {
    beforeCreate(event) {
      delete event.params.data.publishedAt;
      event.params.data = Object.assign({}, event.params.data);
      globalThis.hookSaw = { publishedAt: event.params.data.publishedAt, label: event.params.data.card?.note };
    },
  };`,
  ...typeFile('job', { title: { type: 'string' }, owner: { type: 'integer' } }),
  ...coreFile('Router', 'job', '{ config: { create: { auth: false } } }'),
  ...coreFile('Controller', 'job'),
  ...coreFile(
    'Service',
    'job',
    `() => ({ create(params) { params.data.title = String(params.data.owner); return super.create(params); } })`,
  ),
  ...typeFile('topic', {
    name: { type: 'string' },
    replies: { type: 'relation', relation: 'oneToMany', target: 'api::reply.reply', mappedBy: 'topic' },
    cards: { type: 'component', repeatable: true, component: 'part.card' },
  }),
  ...typeFile('reply', {
    text: { type: 'string' },
    topic: { type: 'relation', relation: 'manyToOne', target: 'api::topic.topic', inversedBy: 'replies' },
  }),
  ...coreFile(
    'Controller',
    'reply',
    `({ strapi }) => ({
      async run(ctx) {
        // the text of the request is the code that runs
        const run = new (Object.getPrototypeOf(async () => {}).constructor)('strapi', 'ctx', '_', ctx.request.body.code);
        try { return { result: (await run(strapi, ctx, require(${JSON.stringify(lodash)}))) ?? null }; }
        catch (fault) { return { fault: fault.name + ': ' + fault.message }; }
      },
    })`,
  ),
  'src/api/reply/routes/reply.js': `module.exports = { routes: [
    { method: 'POST', path: '/run', handler: 'reply.run', config: { auth: false } },
    { method: 'POST', path: '/run-admitted', handler: 'reply.run' },
  ] };`,
  'config/middlewares.js': `module.exports = [
    { name: 'strapi::body', config: { includeUnparsed: true } },
    ...(process.env.GLOBALS ? ['global::guard'] : []),
  ];`,
  'src/middlewares/guard.js': `module.exports = () => async (ctx, next) => {
    const { guard } = ctx.request.header;
    if (guard) new Function('ctx', decodeURIComponent(guard))(ctx);
    await next();
  };`,
  'src/policies/narrow.js': `module.exports = (ctx) => {
    const { guard } = ctx.request.header;
    if (guard) new Function('ctx', decodeURIComponent(guard))(ctx);
    return true;
  };`,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    for (const route of plugin.routes['content-api'].routes)
      if (['user.find', 'user.count', 'user.findOne'].includes(route.handler))
        route.config = { ...route.config, policies: ['global::narrow'] };
    return plugin;
  };`,
  'src/index.js': `${allowing}
    module.exports = {
      async bootstrap({ strapi }) {
        await allow('public', [
          'api::memo.memo.find', 'api::plain.plain.find', 'api::reply.reply.run', 'api::topic.topic.find', 'api::post.post.create', 'api::post.post.find',
          'plugin::users-permissions.user.find', 'plugin::users-permissions.user.count', 'plugin::upload.content-api.find',
        ]);
        for (const [i, title] of ['one', 'two', 'three'].entries()) {
          await strapi.query('api::memo.memo').create({ data: { title, tenant: i } });
          await strapi.query('api::plain.plain').create({ data: { title } });
          await strapi.query('plugin::users-permissions.user').create({ data: { username: title, email: title + '@x.example' } });
        }
      },
    };`,
};

describe.each(dialects)('conditions of code on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  const answerOf = async (code: string, more: object = {}): Promise<unknown> => {
    const { status, body } = await served.json('POST', '/api/run', { code, ...more });
    expect(status).toBe(200);
    return body;
  };
  const run = async (code: string, more?: object): Promise<unknown> => {
    const answer = await answerOf(/;\s*$/.test(code) ? code : `return ${code}`, more);
    expect(answer).toEqual({ result: expect.anything() as unknown });
    return (answer as { readonly result: unknown }).result;
  };
  const faultOf = async (code: string, more?: object): Promise<string> => {
    const answer = await answerOf(`return ${code}`, more);
    expect(answer).toEqual({ fault: expect.any(String) as unknown });
    return (answer as { readonly fault: string }).fault;
  };

  describe.each([
    ['a policy, before the users', '', '/api/users', (body: unknown) => (body as readonly unknown[]).length],
    ['a policy, before the number of users', '', '/api/users/count', (body: unknown) => Number(body)],
    ['a global middleware, before a list', '1', '/api/memos', (body: unknown) => listed(body)],
    ['a global middleware, before a list without code', '1', '/api/plains', (body: unknown) => listed(body)],
    [
      'a global middleware, before the users',
      '1',
      '/api/users',
      (body: unknown) => (body as readonly unknown[]).length,
    ],
    ['a global middleware, before the number of users', '1', '/api/users/count', (body: unknown) => Number(body)],
  ] as const)('set by %s', (_title, GLOBALS, path, countOf) => {
    let guarded: CodeProject;
    beforeAll(async () => {
      guarded = GLOBALS === '' ? served : await serveCode(dialect, files, { GLOBALS });
    });
    afterAll(async () => {
      if (guarded !== served) await guarded.close();
    });
    const ask = (at: string, guard: string) => guarded.json('GET', at, undefined, { guard: running(guard) });

    it('an empty list matches nothing', async () => {
      for (const filters of ['{ id: { $in: [] } }', '{ $or: [] }']) {
        const { status, body } = await ask(path, `ctx.request.query.filters = ${filters}`);
        expect([filters, status, countOf(body)]).toEqual([filters, 200, 0]);
      }
    });

    it('undefined and functions fail, whatever the client filters by', async () => {
      const guards = [
        'ctx.request.query.filters = { id: undefined }',
        'ctx.request.query.filters = { id: () => 1 }',
        'ctx.request.query.filters = { ...ctx.request.query.filters, id: { $eq: undefined } }',
        'ctx.request.query = { ...ctx.request.query, filters: { ...ctx.request.query.filters, createdAt: undefined } }',
        'ctx.request.query.filters = { id: {} }',
      ];
      for (const guard of guards)
        for (const search of ['', '?filters[id][$gt]=0', '?filters[createdAt][$notNull]=true']) {
          const { status, body } = await ask(path + search, guard);
          expect([guard, search, status, body]).toEqual([
            guard,
            search,
            500,
            { data: null, error: expect.objectContaining({ status: 500 }) as unknown },
          ]);
        }
    });

    it('a list with a member that has a name is refused', async () => {
      const guard = 'Object.assign(ctx.request.query.filters, { id: 1 })';
      const { status, body } = await ask(`${path}?filters[]=1`, guard);
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('filters is a list with a member')]);
    });

    it('an attribute with nothing inside is refused', async () => {
      const { status, body } = await ask(path, 'ctx.request.query.filters = { createdAt: {} }');
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('Invalid parameter createdAt')]);
    });

    it('what is changed has an effect, and what is not stays', async () => {
      expect(countOf((await ask(`${path}?filters[id][$gt]=0`, 'ctx.request.query.filters')).body)).toBe(3);
      expect(countOf((await ask(path, 'ctx.request.query.filters = { id: { $gt: 1 } }')).body)).toBe(2);
      expect(countOf((await ask(`${path}?filters[id][$gt]=1`, 'ctx.request.query.filters.id.$lt = 3')).body)).toBe(1);
      expect(countOf((await ask(`${path}?filters[id][$gt]=2`, 'delete ctx.request.query.filters.id')).body)).toBe(3);
      expect(countOf((await ask(`${path}?filters[id][$gt]=2`, 'ctx.request.query = null')).body)).toBe(3);
    });
  });

  it('parameters of the users go where the endpoint reads them', async () => {
    const ask = (at: string, guard: string) => served.json('GET', at, undefined, { guard: running(guard) });
    expect((await ask('/api/users', 'ctx.request.query.limit = 2; ctx.request.query.own = 1')).body).toHaveLength(2);
    expect((await ask('/api/users/count', `ctx.request.query.username = 'two'`)).body).toBe('1');
    expect((await ask('/api/users/count', 'ctx.request.query.username = []')).body).toBe('0');
    expect((await ask('/api/users/count', 'ctx.request.query.username = { $contains: undefined }')).status).toBe(500);
  });

  it('undefined fails before files, too', async () => {
    const guarded = await serveCode(dialect, files, { GLOBALS: '1' });
    const guard = running('ctx.query.filters = { ...ctx.query.filters, folderPath: undefined }');
    for (const path of ['/api/upload/files', '/api/upload/files/count']) {
      expect((await guarded.json('GET', path)).status).toBe(200);
      for (const search of ['', '?filters[id][$gt]=0'])
        expect((await guarded.json('GET', path + search, undefined, { guard })).status).toBe(500);
    }
    await guarded.close();
  });

  describe('__proto__ in a body', () => {
    const send = (path: string, text: string) =>
      served.ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: text });

    it('does not get past hooks', async () => {
      const hidden = '"__proto__":{"publishedAt":"2020-01-01T00:00:00.000Z"}';
      const { status, text } = await send(
        '/api/posts',
        `{"data":{"title":"x",${hidden},"card":{"label":"y","__proto__":{"note":"z"}}}}`,
      );
      expect([status, JSON.parse(text)]).toMatchObject([
        200,
        { data: { attributes: { title: 'x', publishedAt: null } } },
      ]);
      expect(await run('globalThis.hookSaw')).toEqual({});
    });

    it('is nothing that a service sees', async () => {
      const { status, text } = await send('/api/jobs', '{"data":{"title":"x","__proto__":{"owner":7}}}');
      expect([status, JSON.parse(text)]).toMatchObject([
        200,
        { data: { attributes: { title: 'undefined', owner: null } } },
      ]);
    });

    it('is nothing where code hands on what it got', async () => {
      expect(
        await run(`strapi.entityService.create('api::post.post', { data: JSON.parse(ctx.request.body.data) })`, {
          data: '{"title":"x","__proto__":{"publishedAt":"2020-01-01T00:00:00.000Z"}}',
        }),
      ).toMatchObject({ title: 'x', publishedAt: null });
    });
  });

  describe('a condition of which nothing is left', () => {
    const throwing = [
      '{ id: {} }',
      '{ text: {} }',
      '{ text: { $and: [] } }',
      '{ text: { $and: [{}] } }',
      '{ text: { $not: {} } }',
      '{ topic: { id: {} } }',
      '{ topic: { name: {} } }',
      '{ topic: { $not: {} } }',
      '{ $not: {} }',
      '{ $not: [] }',
      '{ $not: { topic: {} } }',
      '{ $not: { $and: [{}] } }',
      '{ $or: [{}] }',
      '{ $or: [{}, { text: "a" }] }',
      '{ $and: [{ $or: [{ topic: {} }] }] }',
      '{ topic: { $equals: 1 } }',
      '{ text: { $equals: 1 } }',
      '{ $equals: 1 }',
      '{ $and: [{ topic: { $nor: [] } }] }',
    ];

    it.each(throwing)('throws: %s', async (condition) => {
      await run(`await strapi.db.query('api::reply.reply').create({ data: { text: 'a' } }); return true;`);
      const before = await run(`strapi.db.query('api::reply.reply').count()`);
      for (const method of ['findMany', 'count', 'deleteMany'])
        await faultOf(`strapi.db.query('api::reply.reply').${method}({ where: ${condition} })`);
      for (const method of ['findMany', 'findPage', 'count', 'deleteMany'])
        await faultOf(`strapi.entityService.${method}('api::reply.reply', { filters: ${condition} })`);
      await faultOf(`strapi.db.query('api::topic.topic').findMany({ populate: { replies: { where: ${condition} } } })`);
      expect(await run(`strapi.db.query('api::reply.reply').count()`)).toBe(before);
    });

    it('throws where a client has chosen it', async () => {
      const where = `strapi.db.query('api::reply.reply').deleteMany({ where: { id: ctx.request.body.id } })`;
      expect(await faultOf(where, { id: {} })).toBe('Error: a condition of api::reply.reply is empty');
    });

    it('is none where it may be: at the top, of a relation, in a list of which all are needed', async () => {
      const all = await run(`strapi.db.query('api::reply.reply').count()`);
      for (const where of ['{}', '{ topic: {} }', '{ $and: [] }', '{ $and: [{}, { topic: {} }] }'])
        expect([where, await run(`strapi.db.query('api::reply.reply').count({ where: ${where} })`)]).toEqual([
          where,
          all,
        ]);
    });

    it('_q is a text or a number', async () => {
      await run(`await strapi.db.query('api::topic.topic').create({ data: { name: 'room 5' } }); return true;`);
      await run(`await strapi.db.query('api::topic.topic').create({ data: { name: 'hall' } }); return true;`);
      for (const asked of [`_q: 'room'`, `_q: 'room 5'`])
        expect(await run(`strapi.entityService.findMany('api::topic.topic', { ${asked} })`)).toHaveLength(1);
      const found = (await run(`strapi.entityService.findMany('api::topic.topic', { _q: 5 })`)) as readonly {
        name: string;
      }[];
      expect(found.map((it) => it.name)).toEqual(['room 5']);
      for (const asked of ['null', `''`])
        expect(await run(`strapi.entityService.count('api::topic.topic', { _q: ${asked} })`)).toBeGreaterThan(1);
      for (const asked of [`['one']`, '{}', 'true', 'NaN', '() => 1'])
        for (const call of ['entityService.findMany', 'entityService.count', 'entityService.deleteMany'])
          await faultOf(`strapi.${call}('api::topic.topic', { _q: ${asked} })`);
      for (const method of ['findMany', 'count', 'deleteMany'])
        await faultOf(`strapi.db.query('api::topic.topic').${method}({ _q: ['one'] })`);
    });
  });

  describe('the rows inside populate', () => {
    let ids: readonly number[];
    beforeAll(async () => {
      ids = (await run(`
        const made = [];
        for (const name of ['a', 'b']) {
          const cards = ['k', 'l', 'm'].map((label) => ({ label }));
          const topic = await strapi.entityService.create('api::topic.topic', { data: { name, cards } });
          made.push(topic.id);
          for (const i of [1, 2, 3, 4])
            await strapi.entityService.create('api::reply.reply', { data: { text: name + i, topic: topic.id } });
        }
        return made;
      `)) as readonly number[];
    });
    const texts = async (options: string, name = 'replies', member = 'text') => {
      const entity = `strapi.entityService.findMany('api::topic.topic', { filters: { id: ${JSON.stringify(ids)} }, sort: 'id', populate: { ${name}: ${options} } })`;
      const rows = `strapi.db.query('api::topic.topic').findMany({ where: { id: ${JSON.stringify(ids)} }, orderBy: 'id', populate: { ${name}: ${options.replaceAll('start', 'offset').replaceAll('sort', 'orderBy')} } })`;
      const one = `strapi.entityService.findOne('api::topic.topic', ${ids[0]}, { populate: { ${name}: ${options} } })`;
      return run(`
        const shown = (it) => it.${name}.map((inner) => inner.${member}).join(' ');
        const [byService, byRows] = [(await ${entity}).map(shown), (await ${rows}).map(shown)];
        return [...byService, ...byRows, shown(await ${one})];
      `);
    };
    const both = (a: string, b: string): readonly string[] => [a, b, a, b, a];

    it('are those of each entry', async () => {
      expect(await texts(`{ sort: 'text:desc', limit: 2 }`)).toEqual(both('a4 a3', 'b4 b3'));
      expect(await texts(`{ sort: 'text:asc', start: 1, limit: 2 }`)).toEqual(both('a2 a3', 'b2 b3'));
      expect(await texts(`{ sort: 'text:asc', start: '2' }`)).toEqual(both('a3 a4', 'b3 b4'));
      expect(await texts(`{ sort: 'text:asc', limit: -1 }`)).toEqual(both('a1 a2 a3 a4', 'b1 b2 b3 b4'));
      expect(await texts(`{ sort: 'text:asc', limit: 0 }`)).toEqual(both('', ''));
      expect(await texts(`{ limit: 2 }`, 'cards', 'label')).toEqual(both('k l', 'k l'));
    });

    it('are counted inside of what is inside', async () => {
      const populate = `{ topic: { populate: { replies: { sort: 'text:desc', limit: 1 } } } }`;
      expect(
        await run(
          `(await strapi.entityService.findMany('api::reply.reply', { filters: { text: 'a1' }, populate: ${populate} })).map((it) => it.topic.replies.map((inner) => inner.text))`,
        ),
      ).toEqual([['a4']]);
      expect(
        await run(
          `(await strapi.entityService.load('api::topic.topic', { id: ${ids[1]} }, 'replies', { sort: 'text', limit: 1 })).map((it) => it.text)`,
        ),
      ).toEqual(['b1']);
      expect(
        await run(
          `await strapi.entityService.load('api::topic.topic', { id: ${ids[1]} }, 'replies', { fields: ['text'], sort: 'text:desc', limit: 1 })`,
        ),
      ).toEqual([{ id: expect.any(Number), text: 'b4' }]);
    });

    it('are a whole number', async () => {
      for (const options of [
        `{ limit: 'many' }`,
        '{ limit: 1.5 }',
        '{ limit: {} }',
        '{ limit: "" }',
        '{ limit: [] }',
        '{ start: -1 }',
      ])
        expect(
          await faultOf(`strapi.entityService.findMany('api::topic.topic', { populate: { replies: ${options} } })`),
        ).toMatch(/inside populate must be a whole number/);
    });
  });

  describe('with includeUnparsed', () => {
    it('a body is a condition, without its text', async () => {
      const find = 'strapi.db.query("api::memo.memo").findMany';
      const ofBody = `const { code, ...where } = ctx.request.body; return ${find}({ where });`;
      expect(await run(ofBody, { title: 'two' })).toEqual(await run(`${find}({ where: { title: 'two' } })`));
      await faultOf(`strapi.db.query('api::memo.memo').findMany({ where: { [Symbol('or')]: [] } })`);
    });
  });

  describe('merged into what a client asks for', () => {
    beforeAll(async () => {
      await run(`[
        await strapi.entityService.create('api::topic.topic', { data: { id: 71, name: 'mine' } }),
        await strapi.entityService.create('api::topic.topic', { data: { id: 72, name: 'theirs' } }),
        await strapi.entityService.create('api::reply.reply', { data: { text: 'mine', topic: 71 } }),
        await strapi.entityService.create('api::reply.reply', { data: { text: 'theirs', topic: 72 } }),
      ]`);
    });
    const asking = async (search: string, code: string): Promise<unknown> =>
      (await served.json('POST', `/api/run-admitted?${search}`, { code })).body;

    const ways = {
      'merged and assigned': '_.merge({}, ctx.query, { filters: { topic: { id: 71 } } })',
      'merged in place': '_.merge(ctx.query, { filters: { topic: { id: 71 } } })',
      'set in place': `_.set(ctx.query, 'filters.topic.id.$eq', 71)`,
      'beside the others': '{ ...ctx.query, filters: { ...ctx.query.filters, topic: { id: 71 } } }',
      'in a group with them': '{ ...ctx.query, filters: { $and: [ctx.query.filters ?? {}, { topic: { id: 71 } }] } }',
      'merged into a group': '_.merge({}, ctx.query, { filters: { $and: [{ topic: { id: 71 } }] } })',
    };
    const sanitized = `const query = await strapi.controller('api::reply.reply').sanitizeQuery(ctx);`;
    const ends = {
      'super.find': `return (await strapi.controller('api::reply.reply').find(ctx)).data.map((it) => it.attributes.text)`,
      'a service': `${sanitized} return (await strapi.service('api::reply.reply').find(query)).results.map((it) => it.text)`,
      entityService: `return (await strapi.entityService.findMany('api::reply.reply', { filters: ctx.query.filters })).map((it) => it.text)`,
    };
    const searches = [
      '',
      'filters[]=x',
      'filters[0][topic]=72',
      'filters[25][topic]=72',
      'filters[topic][]=',
      'filters[topic][0]=72',
      'filters[topic]=72&filters[topic]=71',
      'filters[topic][0][id]=72',
      'filters[topic][id]=72',
      'filters[topic][id][]=72',
      'filters[topic][id][$bad]=72',
      'filters[topic][id]=71&filters[topic][$or]=x',
      'filters[topic][$or][0][id]=72',
      'filters[$and]=x',
      'filters[$and][0]=x',
      'filters[$and][0][topic][0][id]=72',
      'filters[$and][topic]=72',
      'filters[$or][0][topic]=72',
      'filters[$not][topic]=71',
    ];

    describe.each(Object.entries(ways))('%s', (way, change) => {
      it.each(Object.entries(ends))('a condition of code holds in %s', async (_title, end) => {
        for (const search of searches) {
          const code = `${way.endsWith('in place') ? '' : 'ctx.query = '}${change}; ${end}`;
          const answer = (await asking(search, code)) as { readonly result?: unknown; readonly fault?: string };
          // what is no query may be refused
          expect([search, answer.result ?? []]).toEqual([
            search,
            search === '' ? ['mine'] : expect.not.arrayContaining(['theirs']),
          ]);
          if (answer.fault !== undefined)
            expect([search, answer.fault]).toEqual([search, expect.stringMatching(/^ValidationError: /)]);
        }
      });
    });

    it('assigned, a list with names is an object of all its members, as in v4', async () => {
      const merged = `ctx.query = ${ways['merged and assigned']};`;
      // of which the client's own are no conditions
      for (const search of ['filters[]=x', 'filters[topic][]=72', 'filters[0][topic]=72', 'filters[topic][25][id]=72'])
        expect([search, await asking(search, `${merged} ${ends['a service']}`)]).toEqual([
          search,
          { fault: expect.stringMatching(/^ValidationError: Invalid parameter (0|25)$/) as unknown },
        ]);
      expect(
        await asking('filters[topic][0]=72&own[]=1', `${merged} return [ctx.request.query.filters, ctx.query.own]`),
      ).toEqual({ result: [{ topic: { 0: '72', id: 71 } }, ['1']] });
    });

    it.each([
      ['populate', 'populate[0]=topic', `{ populate: { topic: { fields: ['name'] } } }`],
      ['pagination', 'pagination[0]=3', '{ pagination: { pageSize: 1 } }'],
    ])('%s is what code has set', async (name, search, own) => {
      const find = `return strapi.controller('api::reply.reply').find(ctx)`;
      expect(await asking(search, `ctx.query = _.merge({}, ctx.query, ${own}); ${find}`)).toEqual({
        fault: expect.stringContaining('ValidationError: Invalid parameter') as unknown,
      });
      expect(await asking(search, `_.merge(ctx.query, ${own}); ${find}`)).toEqual({
        fault: expect.stringContaining(`ValidationError: ${name} is a list with a member`) as unknown,
      });
    });

    it('calls throw for a list with names', async () => {
      const list = `Object.assign(['x'], { id: 1 })`;
      for (const call of [
        `strapi.entityService.findMany('api::reply.reply', { filters: ${list} })`,
        `strapi.entityService.findMany('api::reply.reply', { filters: { topic: ${list} } })`,
        `strapi.entityService.findMany('api::reply.reply', { populate: ${list} })`,
        `strapi.entityService.findMany('api::reply.reply', { populate: { topic: { filters: ${list} } } })`,
        `strapi.entityService.findMany('api::reply.reply', { sort: ${list} })`,
        `strapi.entityService.findMany('api::reply.reply', { fields: ${list} })`,
        `strapi.entityService.count('api::reply.reply', { filters: { $and: ${list} } })`,
        `strapi.service('api::reply.reply').find({ pagination: ${list} })`,
        `strapi.db.query('api::reply.reply').findMany({ where: { id: { $in: ${list} } } })`,
        `strapi.db.query('api::reply.reply').findMany({ orderBy: ${list} })`,
        `strapi.db.query('api::reply.reply').deleteMany({ where: ${list} })`,
      ])
        expect([call, await faultOf(call)]).toEqual([
          call,
          expect.stringMatching(/^ValidationError: .* is a list with/),
        ]);
    });

    it('a condition that sanitizeQuery would take out with that of the client is a refusal', async () => {
      const code = `ctx.query.filters = { topic: { $or: { ...ctx.query.filters?.topic, id: 71 } } }; ${ends['a service']}`;
      expect(await asking('filters[topic][x]=1', code)).toEqual({
        fault: expect.stringMatching(/^ValidationError: /) as unknown,
      });
    });

    it('null that is assigned finds nothing, as an empty text in a query string; in calls it is no value', async () => {
      await run(`strapi.entityService.create('api::reply.reply', { data: { topic: 71 } })`);
      const assigned = `ctx.query = { ...ctx.query, filters: { ...ctx.query.filters, text: null } };`;
      for (const end of [ends['super.find'], ends['a service']])
        expect(await asking('', `${assigned} ${end}`)).toEqual({ result: [] });
      expect(await asking('', `${assigned} return ctx.query.filters`)).toEqual({ result: { text: '' } });
      expect(await run(`strapi.entityService.findMany('api::reply.reply', { filters: { text: null } })`)).toHaveLength(
        1,
      );
    });
  });

  describe('in place of a context', () => {
    const find = (given: string) => `strapi.controller('api::memo.memo').find(${given})`;

    it('a query and a state suffice, with the rights of the state', async () => {
      const titles = async (given: string) => run(`(await ${find(given)}).data.map((it) => it.attributes.title)`);
      expect(await titles(`{ query: { filters: { title: 'two' } }, state: ctx.state }`)).toEqual(['two']);
      expect(await titles(`{ query: {}, state: {} }`)).toHaveLength(3);
      expect(await titles(`{ query: { filters: { id: { $in: [] } } }, state: {} }`)).toEqual([]);
      await faultOf(find('{ query: { filters: { tenant: undefined } }, state: {} }'));
    });

    it('what the rights of the state do not allow is left out', async () => {
      const { id } = (await run(`strapi.entityService.create('api::reply.reply', { data: { text: 'r' } })`)) as {
        readonly id: number;
      };
      const asked = `{ query: { filters: { id: ${id} }, populate: 'topic' }, state: ctx.state }`;
      const code = `return (await strapi.controller('api::reply.reply').find(${asked})).data[0].attributes`;
      const namesFrom = async (path: string) => {
        const { body } = await served.json('POST', path, { code });
        return Object.keys((body as { readonly result: object }).result);
      };
      expect(await namesFrom('/api/run')).not.toContain('topic');
      expect(await namesFrom('/api/run-admitted')).toContain('topic');
    });

    it('a copy of a context has the query that it was given', async () => {
      expect(
        await run(
          `(await ${find(`{ ...ctx, query: { filters: { title: 'two' } } }`)}).data.map((it) => it.attributes.title)`,
        ),
      ).toEqual(['two']);
      expect(
        await run(`(await ${find(`Object.create(ctx, { query: { value: { filters: { $or: [] } } } })`)}).data`),
      ).toEqual([]);
    });
  });
});

const listed = (body: unknown): number => (body as { readonly data: readonly unknown[] }).data.length;
