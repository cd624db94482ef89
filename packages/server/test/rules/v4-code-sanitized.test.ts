/** What `sanitizeQuery` takes out of a query is the client's alone, and what it cannot take out is a 400, never a 500. */
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects, turnOf } from '../world/databases.js';

const lodash = createRequire(import.meta.url).resolve('lodash');
const text = { type: 'string' };

const files = {
  ...typeFile('memo', {
    title: text,
    tenant: text,
    num: { type: 'integer' },
    secret: { type: 'string', private: true },
    owner: { type: 'relation', relation: 'manyToOne', target: 'api::person.person' },
    notes: { type: 'relation', relation: 'oneToMany', target: 'api::note.note', mappedBy: 'memo' },
  }),
  ...typeFile('person', { name: text }),
  ...typeFile('note', {
    text,
    approved: { type: 'boolean' },
    memo: { type: 'relation', relation: 'manyToOne', target: 'api::memo.memo', inversedBy: 'notes' },
  }),
  ...coreFile(
    'Controller',
    'memo',
    `({ strapi }) => ({
      async run(ctx) {
        // the text of the request is the code that runs
        const run = new (Object.getPrototypeOf(async () => {}).constructor)('strapi', 'ctx', '_', 'sanitize', ctx.request.body.code);
        const { sanitize } = require('@strapi/utils');
        try { return { result: (await run(strapi, ctx, require(${JSON.stringify(lodash)}), sanitize)) ?? null }; }
        catch (fault) { return { fault: fault.name + ': ' + fault.message }; }
      },
      entities: (ctx) => strapi.entityService.findMany('api::memo.memo', ctx.query),
      service: (ctx) => strapi.service('api::memo.memo').find(ctx.query),
      body: (ctx) => strapi.entityService.findMany('api::memo.memo', { filters: ctx.request.body.filters }),
    })`,
  ),
  'src/api/memo/routes/memo.js': `module.exports = { routes: [
    { method: 'POST', path: '/run', handler: 'memo.run' },
    { method: 'GET', path: '/entities', handler: 'memo.entities' },
    { method: 'GET', path: '/service', handler: 'memo.service' },
    { method: 'POST', path: '/body', handler: 'memo.body' },
  ] };`,
  'src/index.js': `${allowing} module.exports = { async bootstrap({ strapi }) {
    // as cron tasks and listeners work
    strapi.outside = require('node:async_hooks').AsyncResource.bind((work) => work());
    const own = ['run', 'entities', 'service', 'body', 'find'].map((it) => 'api::memo.memo.' + it);
    await allow('public', [...own, 'api::note.note.find']);
    const create = (uid, data) => strapi.query(uid).create({ data });
    const person = await create('api::person.person', { name: 'ann' });
    for (const [num, tenant] of ['a', 'b'].entries()) {
      const memo = await create('api::memo.memo', { title: 'of ' + tenant, tenant, num, secret: tenant, owner: person.id });
      for (const approved of [true, false]) await create('api::note.note', { text: String(approved), approved, memo: memo.id });
    }
  } };`,
};

const nested = (levels: number): string => '[$or][0]'.repeat(levels);
const many = (at: string): string =>
  Array.from({ length: limits.conditionsMax + 10 }, (_it, i) => `${at}[$or][${i}][id]=${i + 1}`).join('&');
/** More than a query may have, by the parameter that is refused for it. */
const bounds = [
  ['filters', many('filters')],
  ['filters', `filters${nested(30)}[id]=1`],
  ['filters', `filters[$and][0]${nested(30)}[id]=1`],
  ['filters', `filters[notes]${nested(30)}[id]=1`],
  ['populate', many('populate[notes][filters]')],
  ['populate', `populate[notes][filters]${nested(30)}[id]=1`],
  ['sort', `sort=${'notes.memo.'.repeat(6)}title`],
] as const;

/** Other faults. */
const faults = [
  'filters[num]=x',
  'filters[num][$between][0]=0&filters[num][$between][1]=0&filters[num][$between][2]=0',
  'filters[$or]=x',
  'filters[$or][title]=x',
  'filters[title][$eq][x]=y',
  'filters[createdAt]=x',
  'filters[notes][$and]=x',
  'filters[nope]=x',
  'filters[secret]=x',
  'filters[title][$nope]=x',
];

/** Conditions of code that only `of a` meets, and how a client says the same. */
const conditions = [
  [`tenant: 'a'`, 'filters[tenant]=a'],
  [`tenant: { $eq: 'a' }`, 'filters[tenant][$eq]=a'],
  [`tenant: { $in: ['a'] }`, 'filters[tenant][$in][]=b&filters[tenant][$in][]=a'],
  [`num: { $between: ['0', '0'] }`, 'filters[num][$between][]=0&filters[num][$between][]=0'],
  [`$and: [{ tenant: 'a' }]`, 'filters[$and][0][tenant]=a'],
  [`id: { $in: [] }`, 'filters[id][$in][]=1'],
] as const;

const ways: Readonly<Record<string, (own: string) => string>> = {
  'assigned beside the others': (own) => `ctx.query = { ...ctx.query, filters: { ...ctx.query.filters, ${own} } };`,
  'set in place': (own) => `ctx.query.filters = { ...ctx.query.filters, ${own} };`,
  merged: (own) => `ctx.query = _.merge({}, ctx.query, { filters: { ${own} } });`,
  'in a group with them': (own) => `ctx.query.filters = { $and: [ctx.query.filters ?? {}, { ${own} }] };`,
  'among them in a group': (own) => `ctx.query.filters = { $and: [{ ...ctx.query.filters, ${own} }] };`,
};

const ends: Readonly<Record<string, string>> = {
  'sanitizeQuery and a service': `
    const query = await strapi.controller('api::memo.memo').sanitizeQuery(ctx);
    const { results } = await strapi.service('api::memo.memo').find(query);`,
  'sanitize.contentAPI.query and entityService': `
    const query = await sanitize.contentAPI.query(ctx.query, strapi.contentType('api::memo.memo'), { auth: ctx.state.auth });
    const results = await strapi.entityService.findMany('api::memo.memo', query);`,
};
const titles = 'return results.map((it) => it.title);';

const modes = dialects.flatMap((dialect) =>
  turnOf(dialect, [
    { mode: 'strict', strict: true },
    { mode: 'lenient', strict: false },
  ]).map((it) => ({ dialect, ...it })),
);

describe.each(modes)('sanitized queries in $mode mode on $dialect', ({ dialect, strict }) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...files,
      'dovetail.config.json': JSON.stringify({ api: { strict }, users: { attemptsMax: 0 } }),
    });
  });
  afterAll(() => served.close());

  const run = async (search: string, code: string): Promise<{ readonly result?: unknown; readonly fault?: string }> => {
    const { status, body } = await served.json('POST', `/api/run?${search}`, { code });
    expect([search, status]).toEqual([search, 200]);
    return body as { readonly result?: unknown; readonly fault?: string };
  };

  describe.each(Object.entries(ends))('%s', (_end, end) => {
    it.each(Object.entries(ways))(
      'FL2: a condition of code holds, whatever a client sends: %s',
      async (_way, change) => {
        for (const [own, guess] of conditions) {
          const code = `${change(own)} ${end} ${titles}`;
          for (const search of ['', guess])
            expect([own, search, (await run(search, code)).result]).toEqual([
              own,
              search,
              // lodash merges an empty list into another without an effect
              own.startsWith('id') ? expect.not.arrayContaining(['of b']) : ['of a'],
            ]);
          const attacks = [...faults, ...bounds.map(([, it]) => it)];
          for (const search of attacks.flatMap((it) => [it, `${guess}&${it}`, `${it}&${guess}`])) {
            const { result = [], fault = 'ValidationError: ' } = await run(search, code);
            expect([own, search, result]).toEqual([own, search, expect.not.arrayContaining(['of b'])]);
            expect([own, search, fault]).toEqual([own, search, expect.stringMatching(/^ValidationError: /)]);
          }
        }
      },
    );

    it('FL2: a condition of code on what is populated holds, too', async () => {
      const own = `ctx.query.populate = { notes: { ...ctx.query.populate?.notes, filters: { ...ctx.query.populate?.notes?.filters, approved: 'true' } } };`;
      const code = `${own} ${end} return results.flatMap((it) => it.notes.map((note) => note.text));`;
      expect((await run('', code)).result).toEqual(['true', 'true']);
      const guess = 'populate[notes][filters][approved]=true';
      for (const fault of [
        many('populate[notes][filters]'),
        `populate[notes][filters]${nested(30)}[id]=1`,
        'populate[notes][filters][$or]=x',
        'populate[notes][filters][nope]=x',
        'populate[notes][filters][id]=x',
        'populate[notes][fields][a]=x',
        'populate[notes][sort][text]=x',
        'populate[notes][publicationState]=x',
        'populate[notes][nope]=x',
        'populate[nope]=x',
      ])
        for (const search of [fault, `${guess}&${fault}`]) {
          const { result = [], fault: thrown = 'ValidationError: ' } = await run(search, code);
          expect([search, result]).toEqual([search, expect.not.arrayContaining(['false'])]);
          expect([search, thrown]).toEqual([search, expect.stringMatching(/^ValidationError: /)]);
        }
    });

    it.each(bounds.map(([name, search]) => [`${search.slice(0, 60)}…`, name, search] as const))(
      'RQ18: what is too much is refused by the name of its parameter: %s',
      async (_shortened, name, search) => {
        for (const own of ['', `ctx.query = { ...ctx.query, filters: { ...ctx.query.filters, tenant: 'a' } };`])
          expect([own, await run(search, `${own} ${end} ${titles}`)]).toEqual([
            own,
            { fault: `ValidationError: Invalid parameter ${name}` },
          ]);
      },
    );

    it('RQ18: a query that code takes from a body is bounded, too', async () => {
      for (const [filters, message] of [
        [`{ id: { $in: Array.from({ length: 1001 }, (_it, i) => i) } }`, 'Invalid parameter filters'],
        [`{ id: { $in: Array.from({ length: 20_000 }, (_it, i) => i) } }`, 'Invalid parameter filters'],
        [`_.times(5000).reduce((it) => ({ $and: [it] }), { id: 1 })`, 'Invalid parameter filters'],
      ])
        expect([filters, await run('', `ctx.query = { filters: ${filters} }; ${end} ${titles}`)]).toEqual([
          filters,
          { fault: `ValidationError: ${message}` },
        ]);
    });

    it.each([
      [`filters: { owner: { id: 1 } }`, 'owner'],
      [`filters: { owner: { name: 'ann' } }`, 'owner'],
      [`filters: { secret: 'a' }`, 'secret'],
      [`filters: { nope: 'a' }`, 'nope'],
      [`filters: { $or: [{ tenant: 'a' }, { secret: 'a' }] }`, 'secret'],
      [`filters: { notes: { nope: 'a' } }`, 'nope'],
      [`filters: { tenant: { $nope: 'a' } }`, '$nope'],
      [`populate: { notes: { filters: { nope: 'a' } } }`, 'nope'],
      [`populate: { notes: { where: { approved: true } } }`, 'where'],
      [`fields: 'secret'`, 'secret'],
      [`fields: { a: 'title' }`, 'fields'],
    ])('FL11: what code itself may not ask for is refused, where its loss would show more: %s', async (own, name) => {
      const change = `ctx.query = _.merge({}, ctx.query, { ${own} });`;
      for (const search of ['', 'filters[owner][name]=bob', 'filters[secret]=b', 'filters[nope]=b', 'fields[b]=id'])
        expect([search, await run(search, `${change} ${end} ${titles}`)]).toEqual([
          search,
          { fault: expect.stringMatching(/^ValidationError: Invalid parameter /) as unknown },
        ]);
      expect(await run('', `${change} ${end} ${titles}`)).toEqual({
        fault: `ValidationError: Invalid parameter ${name}`,
      });
    });

    it.each([
      ['fields[]=secret&fields[]=title', { fields: ['title'] }],
      ['sort[0]=secret&sort[1]=title', { sort: ['title'] }],
      ['populate[notes][nope]=x', { populate: { notes: {} } }],
    ])('FL11: names that only the client has are taken out, as in v4: %s', async (search, left) => {
      expect(await run(search, `${end} return query;`)).toEqual({ result: left });
      // beside what code has put in, too
      const own = `ctx.query = { ...ctx.query, filters: { $and: [ctx.query.filters ?? {}, { tenant: 'a' }] } };`;
      expect(await run(search, `${own} ${end} ${titles}`)).toEqual({ result: ['of a'] });
    });

    it.each([
      ['secret', `secret: 'a'`, ['filters[secret]=a', 'filters[$and][0][secret]=a', 'filters[secret][$eq]=a']],
      ['owner', `owner: '1'`, ['filters[owner]=1', 'filters[$or][0][owner]=1&filters[$or][1][title]=x']],
      ['owner', `owner: { id: '1' }`, ['filters[owner][id]=1', 'filters[$or][0][owner][id]=1']],
      ['nope', `nope: 'a'`, ['filters[nope]=a', 'filters[$and][0][nope]=a']],
      ['nope', `notes: { nope: 'a' }`, ['filters[notes][nope]=a']],
    ])(
      'FL11: a condition on %s, which is not to be had, is refused: no client takes away what code has put in: { %s }',
      async (name, own, guesses) => {
        const fault = `ValidationError: Invalid parameter ${name}`;
        for (const search of guesses) {
          // for what the client has sent v4's leniency holds
          const isDropped = !strict;
          expect([search, await run(search, `${end} ${titles}`)]).toEqual([
            search,
            isDropped ? { result: expect.any(Array) } : { fault },
          ]);
          for (const [way, change] of Object.entries(ways))
            expect([way, search, await run(search, `${change(own)} ${end} ${titles}`)]).toEqual([
              way,
              search,
              { fault },
            ]);
          const inside = search.replaceAll('filters', 'populate[memo][filters]');
          const code = `ctx.query.populate.memo.filters = { ...ctx.query.populate.memo.filters, ${own} };
            const query = await strapi.controller('api::note.note').sanitizeQuery(ctx); return query;`;
          expect([inside, await run(inside, code)]).toEqual([inside, { fault }]);
        }
      },
    );

    it('FL11: where there is no request, no condition is a client’s', async () => {
      const outside = `const query = await strapi.outside(() => sanitize.contentAPI.query({ filters: { nope: 'a' } }, strapi.contentType('api::memo.memo')));`;
      expect(await run('filters[nope]=a', `${outside} return query;`)).toEqual({
        fault: 'ValidationError: Invalid parameter nope',
      });
    });

    it('Q16: what they leave out of a query is named, as it is where the server answers', async () => {
      const ignoredIn = async (search: string): Promise<unknown> =>
        (await served.json('POST', `/api/run?${search}`, { code: `${end} return null;` })).headers['dovetail-ignored'];
      expect(await ignoredIn('populate=notes&sort=title')).toBeUndefined();
      expect(await ignoredIn('sort=nope&fields=secret')).toBe('fields, sort');
      if (strict) return;
      expect(await ignoredIn('populate=nope')).toBe('populate.nope');
      expect(await ignoredIn('filters[nope]=1&filters[secret]=a')).toBe('filters.nope, filters.secret');
    });

    it('FL11: options of populate that code has put in stay, or are refused, if a client guesses them', async () => {
      const notes = 'return query.populate.notes;';
      const set = (own: string): string => `ctx.query.populate = { ...ctx.query.populate, notes: ${own} };`;
      for (const search of ['', 'populate[notes][limit]=1', 'populate[notes]=x'])
        expect([search, await run(search, `${set(`{ limit: '1' }`)} ${end} ${notes}`)]).toEqual([
          search,
          { result: { limit: '1' } },
        ]);
      for (const search of ['', 'populate[notes][where][approved]=true', 'populate[notes][where]=x'])
        expect([search, await run(search, `${set(`{ where: { approved: 'true' } }`)} ${end} ${notes}`)]).toEqual([
          search,
          { fault: 'ValidationError: Invalid parameter where' },
        ]);
    });

    it('Q16: conditions that the server ignores are dropped if the client has sent them, and are refused of code', async () => {
      const search = 'filters[created_at]=2020';
      const fault = 'ValidationError: Invalid parameter created_at';
      const all = { result: ['of a', 'of b'] };
      expect(await run(search, `${end} ${titles}`)).toEqual(strict ? { fault } : all);
      for (const own of [
        `ctx.query = { populate: 'notes', ...ctx.query };`,
        `ctx.query.filters = { $and: [ctx.query.filters, { id: { $gt: 0 } }] };`,
      ])
        expect([own, await run(search, `${own} ${end} ${titles}`)]).toEqual([own, strict ? { fault } : all]);
      // also if the client has sent the same, as it may guess
      for (const own of [
        `ctx.query.filters = { created_at: '2020' };`,
        `ctx.query = { ...ctx.query, filters: { created_at: '2020' } };`,
        `ctx.query = { ...ctx.query, filters: { ...ctx.query.filters, created_at: '2020' } };`,
        `ctx.query.filters = { $and: ['', ctx.query.filters ?? '', { created_at: '2020' }] };`,
        `Object.assign(ctx.request.query, { filters: { $and: [{ created_at: '2021' }] } });`,
        `ctx.querystring += '&filters[created_at]=2020';`,
      ])
        for (const asked of [search, ''])
          expect([own, asked, await run(asked, `${own} ${end} ${titles}`)]).toEqual([own, asked, { fault }]);
    });

    it.each([
      ['filters=', {}],
      ['filters[]=', {}],
      ['sort=&filters=', { sort: '' }],
      ['populate[notes]=', { populate: {} }],
      ['populate[notes][filters]=', { populate: { notes: {} } }],
    ])('options without a value are none, as in v4: %s', async (search, left) => {
      expect(await run(search, `${end} return query;`)).toEqual({ result: left });
      expect((await run(search, `${end} ${titles}`)).result).toHaveLength(2);
      for (const [way, change] of Object.entries(ways))
        expect([way, await run(search, `${change(`tenant: 'a'`)} ${end} ${titles}`)]).toEqual([
          way,
          { result: ['of a'] },
        ]);
    });

    it('SO1: texts and objects are in one list of sorts, as in v4', async () => {
      for (const search of ['sort[0]=tenant&sort[1][num]=desc', 'sort[0][tenant]=asc&sort[1]=num:desc'])
        expect(await run(search, `${end} return query.sort;`)).toEqual({
          result: [expect.stringMatching(/^tenant/) as unknown, 'num:desc'],
        });
      const own = `ctx.query.sort = ['num:desc', ...[ctx.query.sort ?? []].flat()];`;
      expect(await run('sort[tenant]=asc', `${own} ${end} ${titles}`)).toEqual({ result: ['of b', 'of a'] });
      expect(await run('sort[owner][name]=asc', `${own} ${end} return query.sort;`)).toEqual({ result: ['num:desc'] });
      expect(await run('sort[tenant]=x', `${own} ${end} ${titles}`)).toEqual({
        fault: 'ValidationError: Invalid parameter sort',
      });
    });

    it.each(['populate[0]=owner', 'populate=owner'])(
      'Q9: what code makes of a list or a text by spreading it populates what code has named: %s',
      async (search) => {
        const own = `ctx.query.populate = { ...ctx.query.populate, notes: true };`;
        expect(await run(search, `${own} ${end} return [query.populate, results[0].notes.length];`)).toEqual({
          result: [{ notes: true }, 2],
        });
      },
    );

    it('a number of related entries that code has set stays, that of a client does not', async () => {
      const own = 'ctx.query.populate = { notes: { limit: 1 } };';
      const counted = 'return results.map((it) => it.notes.length);';
      expect(await run('', `${own} ${end} ${counted}`)).toEqual({ result: [1, 1] });
      expect(await run('populate[notes][limit]=1', `${end} ${counted}`)).toEqual({ result: [2, 2] });
    });
  });

  it.each([
    'filters[tenant][foo]=b',
    'filters[id][name]=a',
    'filters[tenant][$or][0][length]=a',
    'filters[notes][text][foo]=1',
    'populate[notes][filters][text][foo]=1',
    'populate[notes][filters][id][name]=1',
  ])('FL3: code that hands a query on as it is gives a 400: %s', async (search) => {
    for (const path of ['entities', 'service'])
      expect([path, (await served.json('GET', `/api/${path}?${search}`)).status]).toEqual([path, 400]);
  });

  it.each([
    ['{"id":{}}', 'a condition of api::memo.memo is empty'],
    ['{"$or":[{}]}', 'a condition of api::memo.memo is empty'],
    ['{"tenant":{"foo":{"bar":1}}}', 'a condition of api::memo.memo has no operator "foo"'],
    [`${'{"$and":['.repeat(5000)}{}${']}'.repeat(5000)}`, 'is nested more than 200 levels deep'],
  ])('FL3: conditions of a body that say nothing are a 400: %#', async (filters, message) => {
    const { status, body } = await served.json('POST', '/api/body', JSON.parse(`{"filters":${filters}}`));
    expect([status, JSON.stringify(body)]).toEqual([
      400,
      expect.stringContaining(JSON.stringify(message).slice(1, -1)),
    ]);
  });
});
