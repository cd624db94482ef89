/** What project code asks of `db.query` and `entityService`: no condition is lost, and values are taken as v4 takes them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const component = (name: string, attributes: object): Readonly<Record<string, string>> => ({
  [`src/components/part/${name}.json`]: JSON.stringify({
    collectionName: `components_part_${name}s`,
    info: { displayName: name },
    attributes,
  }),
});

const files = {
  ...typeFile('writer', {
    name: { type: 'string' },
    notes: { type: 'relation', relation: 'oneToMany', target: 'api::note.note', mappedBy: 'writer' },
  }),
  ...typeFile('tag', { label: { type: 'string' } }),
  ...typeFile(
    'note',
    {
      title: { type: 'string' },
      slug: { type: 'uid' },
      mood: { type: 'enumeration', enum: ['good', 'bad'] },
      mail: { type: 'email' },
      stars: { type: 'integer' },
      share: { type: 'float' },
      isOpen: { type: 'boolean' },
      startsAt: { type: 'datetime' },
      facts: { type: 'json' },
      writer: { type: 'relation', relation: 'manyToOne', target: 'api::writer.writer', inversedBy: 'notes' },
      tags: { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag' },
      parts: { type: 'component', repeatable: true, component: 'part.quote' },
      blocks: { type: 'dynamiczone', components: ['part.links', 'part.quote', 'part.rule'] },
    },
    { draftAndPublish: true },
  ),
  ...component('button', {
    label: { type: 'string' },
    tag: { type: 'relation', relation: 'oneToOne', target: 'api::tag.tag' },
  }),
  ...component('links', {
    title: { type: 'string' },
    buttons: { type: 'component', repeatable: true, component: 'part.button' },
    tag: { type: 'relation', relation: 'oneToOne', target: 'api::tag.tag' },
  }),
  ...component('quote', {
    words: { type: 'string' },
    buttons: { type: 'component', repeatable: true, component: 'part.button' },
    tags: { type: 'relation', relation: 'oneToMany', target: 'api::tag.tag' },
  }),
  ...component('rule', { width: { type: 'integer' } }),
  ...coreFile('Service', 'note'),
  ...coreFile('Router', 'writer', '{ config: { find: { auth: false }, create: { auth: false } } }'),
  ...coreFile('Controller', 'writer'),
  ...coreFile('Service', 'writer', '() => ({ find: (asked) => ({ results: [], pagination: { asked } }) })'),
  ...coreFile(
    'Controller',
    'tag',
    `({ strapi }) => ({
      // the text of the request is the code that runs
      async run(ctx) {
        const own = (name) => async (query) => { ctx.query = query; return super[name](ctx); };
        const run = new (Object.getPrototypeOf(async () => {}).constructor)('strapi', 'controller', ctx.request.body.code);
        const controller = { find: own('find'), sanitizeQuery: (query) => { ctx.query = query; return this.sanitizeQuery(ctx); } };
        try { return { result: (await run(strapi, controller)) ?? null }; }
        catch (fault) { return { fault: fault.name + ': ' + fault.message }; }
      },
    })`,
  ),
  'src/api/tag/routes/tag.js': `module.exports = { routes: [
    { method: 'POST', path: '/run', handler: 'tag.run', config: { auth: false } },
  ] };`,
};

const named = `
  const { entityService } = strapi;
  const notes = strapi.db.query('api::note.note');
  const writers = strapi.db.query('api::writer.writer');
  const tags = strapi.db.query('api::tag.tag');
  const NOTE = 'api::note.note';
`;

describe.each(dialects)('queries of code on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  const answerOf = async (code: string): Promise<unknown> => {
    const { status, body } = await served.json('POST', '/api/run', { code: `${named}${code}` });
    expect(status).toBe(200);
    return body;
  };
  /** What an expression, or statements that return something, give. */
  const run = async (code: string): Promise<unknown> => {
    const answer = await answerOf(/;\s*$/.test(code) ? code : `return ${code}`);
    expect(answer).toEqual({ result: expect.anything() as unknown });
    return (answer as { readonly result: unknown }).result;
  };
  const faultOf = async (code: string): Promise<string> => {
    const answer = await answerOf(`return ${code}`);
    expect(answer).toEqual({ fault: expect.any(String) as unknown });
    return (answer as { readonly fault: string }).fault;
  };

  beforeEach(() =>
    run(`
      await notes.deleteMany(); await writers.deleteMany(); await tags.deleteMany();
      const mia = await writers.create({ data: { name: 'Mia' } });
      const tom = await writers.create({ data: { name: 'Tom' } });
      const [red, blue] = [await tags.create({ data: { label: 'red' } }), await tags.create({ data: { label: 'blue' } })];
      await notes.create({ data: { title: 'one', slug: 'one', stars: 1, writer: mia.id, tags: [red.id, blue.id], publishedAt: new Date() } });
      await notes.create({ data: { title: 'two', slug: 'two', stars: 2, writer: tom.id } });
      await notes.create({ data: { title: 'three', slug: 'three', stars: 3 } });
      return true;
    `),
  );
  const titles = async (params: string): Promise<unknown> =>
    run(`(await notes.findMany({ orderBy: 'stars', ...${params} })).map((it) => it.title)`);

  describe('a condition that says nothing', () => {
    const conditions = [
      '{ writer: undefined }',
      '{ writer: { id: undefined } }',
      '{ writer: { name: { $contains: undefined } } }',
      '{ writer: { $eq: undefined } }',
      '{ writer: { $in: undefined } }',
      '{ writer: { $in: [1, undefined] } }',
      '{ writer: { $not: undefined } }',
      '{ writer: { $or: [undefined] } }',
      '{ writer: [undefined] }',
      '{ writer: { notes: { writer: undefined } } }',
      '{ parts: undefined }',
      '{ parts: { words: undefined } }',
      '{ id: undefined }',
      '{ id: { $in: undefined } }',
      '{ title: undefined }',
      '{ title: { $eq: undefined } }',
      '{ title: { $in: [undefined] } }',
      '{ title: { $not: undefined } }',
      '{ title: { $not: { $eq: undefined } } }',
      '{ title: { $or: [{ $eq: undefined }] } }',
      '{ title: { $null: undefined } }',
      '{ title: { nonsense: undefined } }',
      '{ stars: { $between: [1, undefined] } }',
      '{ $and: [{ writer: undefined }] }',
      '{ $and: [undefined] }',
      '{ $or: [{ title: "one" }, { writer: undefined }] }',
      '{ $or: undefined }',
      '{ $not: { writer: undefined } }',
      '{ $not: undefined }',
      '{ nobody: undefined }',
      '{ writer: NaN }',
      '{ title: NaN }',
      '{ stars: { $gt: Number("x") } }',
      '{ startsAt: new Date("x") }',
      '{ startsAt: { $lt: new Date("x") } }',
      '{ writer: () => 1 }',
      '{ title: () => 1 }',
      '{ title: Symbol("x") }',
      '{ [Symbol("or")]: [{ title: "one" }] }',
      '{ writer: { [Symbol("eq")]: 1 } }',
      '{ title: { [Symbol("eq")]: "one" } }',
      '{ id: { $in: new Set([1]) } }',
      '{ id: new Map([["$eq", 1]]) }',
      '{ writer: new (class { id = 1 })() }',
      '{ id: { $in: {} } }',
      '{ id: { $eq: { nonsense: 1 } } }',
      '{ title: { $eq: {} } }',
      '{ title: { $eq: { nonsense: 1 } } }',
      '{ writer: { $in: [{ id: 1 }] } }',
      '{ $and: [false] }',
    ] as const;

    it.each(conditions)('throws: %s', async (condition) => {
      for (const method of ['findMany', 'findOne', 'count', 'delete', 'deleteMany', 'findPage', 'findWithCount'])
        await faultOf(`notes.${method}({ where: ${condition} })`);
      for (const method of ['update', 'updateMany'])
        await faultOf(`notes.${method}({ where: ${condition}, data: { title: 'lost' } })`);
      for (const method of ['findMany', 'findPage', 'count', 'deleteMany'])
        await faultOf(`entityService.${method}(NOTE, { filters: ${condition} })`);
      await faultOf(`writers.findMany({ populate: { notes: { where: ${condition} } } })`);
      await faultOf(`entityService.findMany('api::writer.writer', { populate: { notes: { filters: ${condition} } } })`);
      await faultOf(`strapi.service(NOTE).find({ filters: ${condition} })`);
      expect(await titles('{}')).toEqual(['one', 'two', 'three']);
    });

    it('names the type and the attribute', async () => {
      for (const condition of ['{ writer: undefined }', '{ writer: { id: { $in: undefined } } }'])
        expect(await faultOf(`notes.deleteMany({ where: ${condition} })`)).toMatch(
          /^Error: a condition of api::(note.note on "writer"|writer.writer on "id") is undefined$/,
        );
    });

    it('throws in parameters that are given under two names, of which none is lost', async () => {
      expect(await titles('{ where: { stars: { $gt: 1 } }, filters: { stars: { $lt: 3 } } }')).toEqual(['two']);
      await faultOf('notes.deleteMany({ where: { stars: 1 }, filters: { writer: undefined } })');
    });

    it('throws in a query that code has changed before the core action', async () => {
      await faultOf('controller.find({ filters: { label: undefined } })');
      await faultOf('controller.find({ filters: { $or: [{ label: "red" }, { label: undefined }] } })');
      expect(await run('controller.find({ filters: undefined, populate: { x: undefined } })')).toMatchObject({
        data: [{}, {}],
      });
    });
  });

  it('no parameter and no condition is everything, an empty list is nothing, null is without a value', async () => {
    const all = ['one', 'two', 'three'];
    for (const params of [
      '{}',
      '{ where: undefined }',
      '{ where: null }',
      '{ where: {} }',
      '{ where: { writer: {} } }',
    ])
      expect([params, await titles(params)]).toEqual([params, all]);
    for (const condition of ['writer: []', 'writer: { $in: [] }', 'id: []', 'id: { $in: [] }', 'title: { $in: [] }'])
      expect([condition, await titles(`{ where: { ${condition} } }`)]).toEqual([condition, []]);
    for (const condition of [
      'writer: null',
      'writer: { $eq: null }',
      'writer: { id: null }',
      'writer: { $null: true }',
    ])
      expect([condition, await titles(`{ where: { ${condition} } }`)]).toEqual([condition, ['three']]);
    expect(await titles('{ where: { writer: { $in: null } } }')).toEqual([]);
    expect(await titles('{ where: { writer: { $not: null } } }')).toEqual(['one', 'two']);
    expect(await titles('{ where: { id: { $notIn: [] } } }')).toEqual(all);
  });

  it('a row is found by all of its conditions, whatever the id looks like', async () => {
    for (const id of ['null', '""', '[]', 'false']) {
      const answer = await answerOf(`return notes.update({ where: { id: ${id} }, data: { title: 'lost' } })`);
      expect([id, 'fault' in (answer as object) || answer]).toEqual([
        id,
        'fault' in (answer as object) || { result: null },
      ]);
    }
    await faultOf(`notes.update({ where: { id: true }, data: { title: 'lost' } })`);
    await faultOf(`notes.load({}, 'writer')`);
    expect(await titles('{}')).toEqual(['one', 'two', 'three']);
  });

  it('a text that is no number is no id, so that code can look for an id or a slug, whichever it was given', async () => {
    const find = (conditions: string): Promise<unknown> =>
      run(`[await notes.findMany({ where: ${conditions}, orderBy: 'stars' }), await entityService.findMany(NOTE, { filters: ${conditions}, sort: 'stars' })]
        .map((rows) => rows.map((it) => it.title))`);
    for (const id of [
      `'one'`,
      `{ $eq: 'one' }`,
      `['one']`,
      `{ $in: ['one'] }`,
      `'12x'`,
      `''`,
      `'0x1'`,
      `'1e3'`,
      `' 1'`,
      `'1.0'`,
    ]) {
      expect([id, await find(`{ $or: [{ slug: 'one' }, { id: ${id} }] }`)]).toEqual([id, [['one'], ['one']]]);
      expect([id, await find(`{ $or: [{ slug: 'two' }, { writer: ${id} }] }`)]).toEqual([id, [['two'], ['two']]]);
      expect([id, await find(`{ writer: { id: ${id} } }`)]).toEqual([id, [[], []]]);
    }
    expect(await run(`notes.deleteMany({ where: { id: 'one' } })`)).toEqual({ count: 0 });
    expect(await find(`{ id: { $not: { $eq: 'one' } } }`)).toEqual([
      ['one', 'two', 'three'],
      ['one', 'two', 'three'],
    ]);
  });

  it('alternatives of which there are none have no effect', async () => {
    expect(await titles(`{ where: { stars: { $gt: 1 }, $or: [] } }`)).toEqual(['two', 'three']);
    expect(await titles(`{ where: { stars: { $gt: 1, $or: [] } } }`)).toEqual(['two', 'three']);
    expect(await run(`entityService.count(NOTE, { filters: { stars: { $gt: 1 }, $or: [] } })`)).toBe(2);
    for (const where of ['{ $or: [] }', '{ $and: [{ $or: [] }] }'])
      await faultOf(`notes.update({ where: ${where}, data: { title: 'lost' } })`);
    await faultOf(`notes.findMany({ where: { $not: { $or: [] } } })`);
  });

  it('db.query does not know the names of the entity service, nor the other way round', async () => {
    const [first] = (await run(
      `notes.findMany({ fields: ['title'], sort: 'stars:desc', start: 2, populate: { writer: { fields: ['id'] } } })`,
    )) as readonly unknown[];
    expect(first).toMatchObject({ title: 'one', slug: 'one', writer: { name: 'Mia' } });
    expect(
      await run(`entityService.findMany(NOTE, { select: ['slug'], orderBy: 'title', where: { stars: 1 }, sort: 'stars', fields: ['title'],
        populate: { writer: { select: ['id'], where: { name: 'Tom' }, fields: ['name'] } } })`),
    ).toEqual([
      { id: expect.any(Number), title: 'one', writer: { id: expect.any(Number), name: 'Mia' } },
      { id: expect.any(Number), title: 'two', writer: { id: expect.any(Number), name: 'Tom' } },
      { id: expect.any(Number), title: 'three', writer: null },
    ]);
  });

  it('dates are operands, those of libraries too', async () => {
    await run(`notes.updateMany({ where: { title: 'two' }, data: { startsAt: new Date(2_000_000) } })`);
    expect(await titles('{ where: { startsAt: new Date(2_000_000) } }')).toEqual(['two']);
    const library = 'new (class { toJSON() { return new Date(3_000_000).toISOString(); } })()';
    expect(await titles(`{ where: { startsAt: { $lt: ${library} } } }`)).toEqual(['two']);
  });

  describe('names of columns', () => {
    it('are those of their attributes in conditions', async () => {
      expect(await titles('{ where: { published_at: { $not: null } } }')).toEqual(['one']);
      expect(await titles('{ where: { published_at: null, stars: { $gt: 2 } } }')).toEqual(['three']);
      expect(await titles('{ where: { $or: [{ published_at: { $notNull: true } }, { title: "two" }] } }')).toEqual([
        'one',
        'two',
      ]);
      expect(await titles('{ where: { writer: { created_at: { $gt: "2000-01-01" }, name: "Mia" } } }')).toEqual([
        'one',
      ]);
      expect(await titles('{ where: { published_at: null, publishedAt: { $notNull: true } } }')).toEqual([]);
      expect(await titles('{ where: { created_by_id: 7 } }')).toEqual([]);
      expect(
        await run(`notes.update({ where: { published_at: { $notNull: true } }, data: { title: 'uno' } })`),
      ).toMatchObject({ title: 'uno' });
      await run(`notes.updateMany({ data: { startsAt: '2024-05-01T00:00:00Z' }, where: { is_open: null, stars: 3 } })`);
      expect(await titles(`{ where: { starts_at: { $gte: '2024-01-01' } } }`)).toEqual(['three']);
    });

    it('are selected and sorted by', async () => {
      expect(await run(`notes.findMany({ select: ['starts_at', 'stars'], where: { stars: 1 } })`)).toEqual([
        { startsAt: null, stars: 1 },
      ]);
      const sorted = (orderBy: string) => run(`(await notes.findMany({ orderBy: ${orderBy} })).map((it) => it.stars)`);
      await run(`
        for (const [i, it] of (await notes.findMany({ orderBy: 'stars' })).entries())
          await notes.update({ where: { id: it.id }, data: { startsAt: new Date(1e6 * [5, 4, 6][i]) } });
        return true;`);
      expect(await sorted(`'starts_at'`)).toEqual([2, 1, 3]);
      expect(await sorted(`['starts_at:desc']`)).toEqual([3, 1, 2]);
      expect(await sorted(`{ starts_at: 'desc' }`)).toEqual([3, 1, 2]);
      expect(await sorted(`[{ writer: { created_at: 'desc' } }, { is_open: 'asc' }]`)).toHaveLength(3);
      expect(await sorted(`'writer.created_at:desc,starts_at'`)).toHaveLength(3);
    });

    it('of no column throw in db.query', async () => {
      for (const name of ['nonsense', 'constructor', '__proto__', 'toString', 'creaded_at']) {
        await faultOf(`notes.findMany({ where: { ['${name}']: 1 } })`);
        await faultOf(`notes.deleteMany({ where: { writer: { ['${name}']: 1 } } })`);
        await faultOf(`notes.findMany({ where: { title: { ['${name}']: 1 } } })`);
        await faultOf(`notes.findMany({ select: ['title', '${name}'] })`);
        await faultOf(`notes.findMany({ orderBy: '${name}' })`);
        await faultOf(`writers.findMany({ populate: { notes: { where: { ['${name}']: 1 } } } })`);
      }
      await faultOf(`notes.findMany({ where: { blocks: { words: 'x' } } })`);
      await faultOf(`notes.findMany({ select: ['writer'] })`);
      expect(await titles('{}')).toHaveLength(3);
    });

    it('that are unknown have no effect in entityService', async () => {
      const asked = `{ filters: { nonsense: 1, published_at: null, title: 'one' }, fields: ['stars', 'nonsense'], populate: { nonsense: true, writer: { fields: ['name', 'nonsense'], filters: { nonsense: 1 } } } }`;
      expect(await run(`entityService.findMany(NOTE, ${asked})`)).toMatchObject([
        { stars: 1, writer: { name: 'Mia' } },
      ]);
    });
  });

  describe('the components of a zone', () => {
    const data = `{
      blocks: [
        { __component: 'part.links', title: 'L', tag: red.id, buttons: [{ label: 'go', tag: blue.id }] },
        { __component: 'part.quote', words: 'Q', tags: [red.id], buttons: [{ label: 'no' }] },
        { __component: 'part.rule', width: 3 },
      ],
    }`;
    const found = async (populate: string): Promise<readonly unknown[]> => {
      const asked = `${/where|select/.test(populate) ? '' : `entityService.findOne(NOTE, id, { populate: ${populate} }), strapi.service(NOTE).findOne(id, { populate: ${populate} }),`} notes.findOne({ where: { id }, populate: ${populate.replaceAll('fields', 'select').replaceAll('filters', 'where')} })`;
      return (await run(`
        const [red, blue] = await tags.findMany({ orderBy: 'id' });
        const { id } = await entityService.create(NOTE, { data: ${data} });
        return (await Promise.all([${asked}])).map((it) => it.blocks);
      `)) as readonly unknown[];
    };
    const id = expect.any(Number) as unknown;
    const blue = expect.objectContaining({ label: 'blue' }) as unknown;

    it('have what is asked for inside of them, and nothing else', async () => {
      const whole = [
        { id, __component: 'part.links', title: 'L', buttons: [{ id, label: 'go', tag: blue }] },
        { id, __component: 'part.quote', words: 'Q', buttons: [{ id, label: 'no', tag: null }] },
        { id, __component: 'part.rule', width: 3 },
      ];
      for (const inner of [
        '{ buttons: { populate: { tag: true } } }',
        `{ buttons: { populate: ['tag'] } }`,
        `['buttons', 'buttons.tag']`,
        `{ buttons: { populate: '*' } }`,
      ])
        for (const blocks of await found(`{ blocks: { populate: ${inner} } }`)) expect(blocks).toEqual(whole);
      for (const blocks of await found(`['blocks', 'blocks.buttons', 'blocks.buttons.tag']`))
        expect(blocks).toEqual(whole);
    });

    it('have nothing inside of them that is not asked for', async () => {
      const bare = [
        { id, __component: 'part.links', title: 'L' },
        { id, __component: 'part.quote', words: 'Q' },
        { id, __component: 'part.rule', width: 3 },
      ];
      for (const options of ['true', '{}', `['blocks']`, '{ populate: {} }', '{ populate: { nonsense: true } }'])
        for (const blocks of await found(`{ blocks: ${options} }`)) expect(blocks).toEqual(bare);
    });

    it('have everything of theirs on request', async () => {
      for (const all of [`'*'`, 'true'])
        for (const blocks of await found(`{ blocks: { populate: ${all} } }`))
          expect(blocks).toMatchObject([{ tag: {}, buttons: [{}] }, { tags: [{}], buttons: [{}] }, { width: 3 }]);
    });

    it('take options by their attributes', async () => {
      for (const blocks of await found(
        `{ blocks: { populate: { buttons: { fields: ['label'], populate: { tag: { fields: ['label'] } } }, tags: { filters: { label: 'blue' } } } } }`,
      ))
        expect(blocks).toEqual([
          {
            id,
            __component: 'part.links',
            title: 'L',
            buttons: [{ id, label: 'go', tag: expect.objectContaining({ label: 'blue' }) as unknown }],
          },
          { id, __component: 'part.quote', words: 'Q', tags: [], buttons: [{ id, label: 'no', tag: null }] },
          { id, __component: 'part.rule', width: 3 },
        ]);
    });

    it('are chosen by name', async () => {
      for (const blocks of await found(
        `{ blocks: { on: { 'part.links': { populate: { buttons: { populate: { tag: true } } } }, 'part.rule': true } } }`,
      ))
        expect(blocks).toEqual([
          { id, __component: 'part.links', title: 'L', buttons: [{ id, label: 'go', tag: blue }] },
          { id, __component: 'part.rule', width: 3 },
        ]);
    });
  });

  describe('what db.query writes', () => {
    const written = async (data: string): Promise<unknown> => run(`notes.create({ data: ${data} })`);

    it('becomes of the type of its attribute', async () => {
      expect(
        await written(`{ title: 12, slug: 34, mood: true, mail: 5, stars: '7', share: '1.5', isOpen: 1 }`),
      ).toMatchObject({
        title: '12',
        slug: '34',
        mood: 'true',
        mail: '5',
        stars: 7,
        share: 1.5,
        isOpen: true,
      });
      expect(await written(`{ stars: true, share: '', isOpen: 'f', facts: '{"a":[1]}' }`)).toMatchObject({
        stars: 1,
        share: 0,
        isOpen: false,
        facts: { a: [1] },
      });
      expect(await written(`{ facts: 'no JSON', isOpen: '' }`)).toMatchObject({ facts: 'no JSON', isOpen: false });
      expect(
        await run(
          `notes.create({ data: { parts: [{ words: 9 }], blocks: [{ __component: 'part.rule', width: '4' }] }, populate: true })`,
        ),
      ).toMatchObject({ parts: [{ words: '9' }], blocks: [{ width: 4 }] });
      await faultOf(`notes.create({ data: { stars: 'many' } })`);
    });

    it('is not compared with lists of values or forms of texts, which entityService does', async () => {
      const data = `{ mood: 'other', mail: 'nowhere', slug: 'a b' }`;
      expect(await written(data)).toMatchObject({ mood: 'other', mail: 'nowhere', slug: 'a b' });
      await faultOf(`entityService.create(NOTE, { data: ${data} })`);
      await faultOf(`entityService.create(NOTE, { data: { title: 12 } })`);
    });
  });

  it('relations are connected, disconnected and set one at a time without lists', async () => {
    const steps = [
      [`{ connect: blue }`, ['blue']],
      [`{ connect: { id: red } }`, ['blue', 'red']],
      [`{ disconnect: blue }`, ['red']],
      [`{ disconnect: { id: red }, connect: [blue] }`, ['blue']],
      [`{ set: red }`, ['red']],
      [`{ set: { id: blue } }`, ['blue']],
      [`{ set: [red, blue] }`, ['red', 'blue']],
      [`{ connect: null, disconnect: red }`, ['blue']],
      [`{ set: null }`, []],
    ] as const;
    for (const way of ['notes.update({ where: { id }, ', 'entityService.update(NOTE, id, { ']) {
      for (const [value, labels] of steps) {
        const code = `
          const [blue, red] = (await tags.findMany({ orderBy: 'label' })).map((it) => it.id);
          const { id } = await notes.findOne({ where: { title: 'three' } });
          const { tags: after } = await ${way} data: { tags: ${value} }, populate: ['tags'] });
          return after.map((it) => it.label);`;
        expect([way, value, await run(code)]).toEqual([way, value, labels]);
      }
      const toOne = `
        const [mia, tom] = (await writers.findMany({ orderBy: 'name' })).map((it) => it.id);
        const { id } = await notes.findOne({ where: { title: 'three' } });
        const names = [];
        for (const writer of [{ connect: mia }, { connect: { id: tom } }, { disconnect: tom }, { set: { id: mia } }, { set: null }])
          names.push((await ${way} data: { writer }, populate: { writer: true } })).writer?.name ?? null);
        return names;`;
      expect(await run(toOne)).toEqual(['Mia', 'Tom', null, 'Mia', null]);
    }
    expect(
      await run(`
        const [blue] = await tags.findMany({ orderBy: 'label' });
        const data = { title: 'x', tags: { connect: blue.id }, blocks: [{ __component: 'part.links', tag: { connect: { id: blue.id } } }] };
        return notes.create({ data, populate: { tags: true, blocks: { populate: { tag: true } } } });`),
    ).toMatchObject({ tags: [{ label: 'blue' }], blocks: [{ tag: { label: 'blue' } }] });
  });

  it('relations are counted', async () => {
    for (const find of ['writers.findMany(', `entityService.findMany('api::writer.writer', `]) {
      expect(await run(`${find}{ populate: { notes: { count: true } } })`)).toMatchObject([
        { name: 'Mia', notes: { count: 1 } },
        { name: 'Tom', notes: { count: 1 } },
      ]);
      expect(await run(`${find}{ populate: { notes: { populate: { tags: { count: true } } } } })`)).toMatchObject([
        { notes: [{ title: 'one', tags: { count: 2 } }] },
        { notes: [{ title: 'two', tags: { count: 0 } }] },
      ]);
    }
    expect(await run(`notes.findMany({ populate: { writer: { count: true } }, where: { stars: 1 } })`)).toMatchObject([
      { writer: { name: 'Mia' } },
    ]);
    expect(
      await run(`
        const { id } = await notes.create({ data: { blocks: [{ __component: 'part.quote', tags: await tags.findMany() }] } });
        return (await entityService.findOne(NOTE, id, { populate: { blocks: { populate: { tags: { count: true } } } } })).blocks;`),
    ).toMatchObject([{ tags: { count: 2 } }]);
    expect(
      await run(
        `entityService.update('api::writer.writer', (await writers.findOne()).id, { data: {}, populate: { notes: { count: true } } })`,
      ),
    ).toMatchObject({ notes: { count: 1 } });
  });

  it('queries keep the parameters that only the project knows', async () => {
    const query = `{ lat: '1', search: { a: ['b'] }, page: '2', start: '5', filters: { label: 'red' }, sort: ['nonsense'], populate: { nonsense: true }, pagination: { page: '1' } }`;
    expect(await run(`controller.sanitizeQuery(${query})`)).toEqual({
      lat: '1',
      search: { a: ['b'] },
      page: '2',
      start: '5',
      filters: { label: 'red' },
      sort: [],
      pagination: { page: '1' },
    });
    const asked = '/api/writers?lat=1&search=x&filters[name]=Mia';
    expect((await served.json('GET', asked)).body).toMatchObject({
      data: [],
      meta: { pagination: { asked: { lat: '1', search: 'x', filters: { name: 'Mia' } } } },
    });
  });

  it('transformResponse leaves what code has put in the place of relations', async () => {
    const transform = (data: string): Promise<unknown> =>
      run(`strapi.controller('api::writer.writer').transformResponse(${data})`);
    for (const notes of ['3', `'three'`, `['one','two']`, 'false'])
      expect(JSON.stringify(await transform(`{ id: 1, notes: ${notes} }`))).toBe(
        `{"data":{"id":1,"attributes":{"notes":${notes.replaceAll("'", '"')}}},"meta":{}}`,
      );
    for (const [notes, shown] of [
      ['[{ id: 2, title: "one" }]', [{ id: 2, attributes: { title: 'one' } }]],
      ['[]', []],
      ['null', null],
    ] as const)
      expect(await transform(`{ id: 1, notes: ${notes} }`)).toEqual({
        data: { id: 1, attributes: { notes: { data: shown } } },
        meta: {},
      });
  });

  it('entries are loaded, one attribute or several', async () => {
    const both = `[await rows.load(it, 'writer'), await rows.load(it, ['writer', 'tags'])]`;
    const loaded = [{ name: 'Mia' }, { writer: { name: 'Mia' }, tags: [{ label: 'red' }, { label: 'blue' }] }];
    expect(
      await run(`const rows = notes; const it = await rows.findOne({ where: { stars: 1 } }); return ${both};`),
    ).toMatchObject(loaded);
    const service = `{ load: (it, names) => entityService.load(NOTE, it, names) }`;
    expect(
      await run(`const rows = ${service}; const it = await notes.findOne({ where: { stars: 1 } }); return ${both};`),
    ).toMatchObject(loaded);
  });

  it('times that code gives to a new entry are kept, those of clients are not', async () => {
    const times = `{ createdAt: '2020-01-02T00:00:00.000Z', updatedAt: new Date('2021-01-02') }`;
    const kept = { createdAt: '2020-01-02T00:00:00.000Z', updatedAt: '2021-01-02T00:00:00.000Z' };
    for (const create of [`writers.create({`, `entityService.create('api::writer.writer', {`, `notes.create({`])
      expect([create, await run(`${create} data: ${times} })`)]).toMatchObject([create, kept]);
    expect(
      await run(`
        const { ids } = await writers.createMany({ data: [${times}] });
        return writers.findOne({ where: { id: ids[0] } });`),
    ).toMatchObject(kept);
    expect(await run(`writers.create({ data: { createdAt: '2020-01-02' } })`)).toMatchObject({
      createdAt: kept.createdAt,
      updatedAt: expect.not.stringContaining('2020') as unknown,
    });
    await faultOf(`writers.create({ data: { createdAt: 'once' } })`);
    const heard = `
      const seen = [];
      const beforeCreate = ({ params: { data } }) => void seen.push(new Date(data.createdAt).toISOString());
      const stop = strapi.db.lifecycles.subscribe({ models: ['api::writer.writer'], beforeCreate });
      try { return [seen, await writers.create({ data: ${times} })]; } finally { stop(); };`;
    expect(await run(heard)).toMatchObject([[kept.createdAt], kept]);
    const data = { name: 'Ann', ...kept };
    const file = 'files[picture][path]=/etc/hostname&files[picture][name]=x';
    const { status, body } = await served.json('POST', `/api/writers?${file}`, { data });
    expect([status, body]).toMatchObject([200, { data: { attributes: { name: 'Ann' } } }]);
    const { attributes } = (body as { data: { attributes: Record<string, string> } }).data;
    expect(Object.values(attributes).filter((it) => Object.values(kept).includes(it))).toEqual([]);
  });

  it('the entity manager has the same by uid', async () => {
    const manager = 'const { entityManager } = strapi.db;';
    expect(
      await run(`${manager}
        const { id } = await entityManager.create(NOTE, { data: { title: 'four', stars: 4 } });
        await entityManager.update(NOTE, { where: { id }, data: { title: 'vier' } });
        const [found] = await entityManager.findMany(NOTE, { where: { id } });
        const tagged = await entityManager.load(NOTE, found, ['tags']);
        await entityManager.deleteMany(NOTE, { where: { id } });
        return [found, tagged, await entityManager.findOne(NOTE, { where: { id } }), await entityManager.count(NOTE)];`),
    ).toMatchObject([{ title: 'vier' }, { tags: [] }, null, 3]);
    await faultOf(`strapi.db.entityManager.deleteMany(NOTE, { where: { writer: undefined } })`);
  });

  it('what hooks set is written the same way', async () => {
    const hooked = `
      const beforeCreate = ({ params: { data } }) => void Object.assign(data, { title: 12, tags: { connect: data.stars } });
      const stop = strapi.db.lifecycles.subscribe({ models: [NOTE], beforeCreate });
      const [{ id }] = await tags.findMany();
      try { return [await notes.create({ data: { stars: id }, populate: ['tags'] }), await entityService.create(NOTE, { data: { stars: id }, populate: ['tags'] })]; }
      finally { stop(); };`;
    const written = { title: '12', tags: [{ label: 'red' }] };
    expect(await run(hooked)).toMatchObject([written, written]);
  });
});
