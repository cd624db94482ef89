/** Components in lifecycles: their rows are written before the hooks of the entry run, which find their ids, as in v4. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixedStatement } from '../../src/sql/compile.js';
import { readRows } from '../../src/sql/dialect.js';
import { errors } from '../../src/v4code/strapi-utils/errors.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const order = 'api::order.order';
const line = 'shop.line';

const component = (name: string, attributes: object) => ({
  [`src/components/shop/${name}.json`]: JSON.stringify({
    collectionName: `components_shop_${name}s`,
    info: { displayName: name },
    attributes,
  }),
});

const attributes = {
  title: { type: 'string' },
  total: { type: 'integer' },
  main: { type: 'component', component: line },
  lines: { type: 'component', component: line, repeatable: true },
  more: { type: 'component', component: line, repeatable: true },
  zone: { type: 'dynamiczone', components: [line, 'shop.note'] },
};

/** What it sees is in `strapi.seen`; what it does is decided by `strapi.change`. */
const watching = `
  const see = async (event) => {
    strapi.seen.push(structuredClone(event.params.data));
    strapi.change && (await strapi.change(event.params.data, event));
  };
  const after = ({ params }) => void strapi.after.push(structuredClone(params.data));
  module.exports = { beforeCreate: see, beforeUpdate: see, afterCreate: after, afterUpdate: after };`;

const shared = { i18n: { localized: false } };

const files = {
  ...typeFile('tag', {
    name: { type: 'string' },
    parcels: { type: 'relation', relation: 'manyToMany', target: 'api::parcel.parcel', mappedBy: 'tags' },
    bills: { type: 'relation', relation: 'manyToMany', target: 'api::bill.bill', mappedBy: 'tags' },
  }),
  ...typeFile(
    'bill',
    {
      title: { type: 'string', pluginOptions: { i18n: { localized: true } } },
      tags: { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag', inversedBy: 'bills' },
    },
    {},
    { i18n: { localized: true } },
  ),
  ...typeFile('parcel', {
    title: { type: 'string' },
    slug: { type: 'uid' },
    tags: { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag', inversedBy: 'parcels' },
    lines: { type: 'component', component: line, repeatable: true },
  }),
  ...typeFile(
    'page',
    {
      title: { type: 'string', pluginOptions: { i18n: { localized: true } } },
      lines: { type: 'component', component: line, repeatable: true, pluginOptions: shared },
    },
    {},
    { i18n: { localized: true } },
  ),
  ...typeFile('order', attributes, { draftAndPublish: true }),
  ...typeFile('box', attributes),
  ...component('line', {
    name: { type: 'string', required: true, maxLength: 10 },
    price: { type: 'integer', default: 1 },
    code: { type: 'string', unique: true },
    picture: { type: 'media' },
    tag: { type: 'relation', relation: 'oneToOne', target: 'api::tag.tag' },
    notes: { type: 'component', component: 'shop.note', repeatable: true },
  }),
  ...component('note', { text: { type: 'string' }, key: { type: 'string', unique: true } }),
  ...coreFile('Router', 'order'),
  ...coreFile('Controller', 'order'),
  ...coreFile('Router', 'box'),
  ...coreFile('Router', 'parcel'),
  ...coreFile('Router', 'page'),
  ...coreFile('Router', 'bill'),
  'src/api/order/content-types/order/lifecycles.js': watching,
  'src/api/parcel/content-types/parcel/lifecycles.js': watching,
  'src/api/page/content-types/page/lifecycles.js': watching,
  'src/api/bill/content-types/bill/lifecycles.js': `
    const count = (event) => strapi.counted(event);
    module.exports = { beforeDelete: count, afterCreate: count };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const actions = ['find', 'findOne', 'create', 'update', 'delete'];
    await allow('public', [...actions.flatMap((it) => ['${order}.' + it, 'api::box.box.' + it, 'api::parcel.parcel.' + it, 'api::bill.bill.' + it, 'api::page.page.' + it]), 'api::page.page.createLocalization', 'api::bill.bill.createLocalization', 'api::tag.tag.find', 'api::tag.tag.update', 'plugin::upload.content-api.upload']);
    strapi.seen = [];
    strapi.after = [];
    const heard = (event) => {
      if (!strapi.heard) return;
      const { action, model, params, result } = event;
      strapi.heard.push([model.uid + ' ' + action, structuredClone(params), result && { ...result }]);
      return strapi.hear?.(event);
    };
    if (process.env.COMPONENTS) strapi.db.lifecycles.subscribe({ models: ['${order}', '${line}', 'shop.note'], beforeCreate: heard, afterCreate: heard, beforeUpdate: heard, afterUpdate: heard, beforeDelete: heard });
    for (const code of ['en', 'de']) await strapi.plugin('i18n').service('locales').create({ code, name: code });
    await strapi.entityService.create('api::tag.tag', { data: { name: 'new' } });
  } };`,
};

type Open = Record<string, unknown>;
interface Line extends Open {
  readonly id: number;
  readonly name: string;
}
interface Shown extends Open {
  readonly id: number;
  readonly main: Line | null;
  readonly lines: readonly Line[];
  readonly zone: readonly Line[];
}

interface Code {
  seen: Open[];
  after: Open[];
  counted: (event: { readonly action: string }) => unknown;
  change: ((data: Open, event: { readonly params: Open }) => unknown) | undefined;
  heard: (readonly [name: string, params: unknown, result: unknown])[] | undefined;
  hear:
    | ((event: {
        readonly action: string;
        readonly model: { readonly uid: string };
        readonly params: unknown;
      }) => unknown)
    | undefined;
  readonly entityService: {
    create(uid: string, params: object): Promise<Shown>;
    update(uid: string, id: number, params: object): Promise<Shown>;
    delete(uid: string, id: number): Promise<unknown>;
    findOne(uid: string, id: number, params?: object): Promise<Open>;
  };
  readonly db: {
    query(uid: string): {
      findMany(params: object): Promise<Line[]>;
      create(params: object): Promise<Line>;
      update(params: object): Promise<unknown>;
      count(): Promise<number>;
    };
  };
}

describe.each(
  dialects.flatMap((dialect) => [
    { dialect, whose: 'entries', env: {} },
    { dialect, whose: 'entries and components', env: { COMPONENTS: '1' } },
  ]),
)('components in hooks of $whose on $dialect', ({ dialect, env, whose }) => {
  let served: CodeProject;
  let strapi: Code;
  beforeAll(async () => {
    served = await serveCode(dialect, files, env);
    strapi = (globalThis as unknown as { strapi: Code }).strapi;
  });
  beforeEach(() => {
    strapi.seen = [];
    strapi.after = [];
    strapi.change = undefined;
    strapi.counted = () => undefined;
    strapi.heard = [];
    strapi.hear = undefined;
  });
  afterAll(() => served.close());

  const everything = 'populate[main][populate]=*&populate[lines][populate]=*&populate[more]=*&populate[zone]=*';
  const send = async (method: string, path: string, data: object) => {
    const { status, body } = await served.json(method, `/api/orders${path}?${everything}`, { data });
    const { data: entry, error } = body as { data: { id: number; attributes: Open } | null; error?: Open };
    return { status, error, entry: { id: entry?.id, ...entry?.attributes } as Shown };
  };
  const create = async (data: object) => (await send('POST', '', data)).entry;
  const counts = () => Promise.all(['shop.line', 'shop.note', order].map((uid) => strapi.db.query(uid).count()));
  const reference = (id: number, field: string) => ({ id, __pivot: { field, component_type: line } });
  const names = (lines: readonly Line[]) => lines.map((it) => it.name);

  const lines = [{ name: 'a', price: 2, notes: [{ text: 'x' }, { text: 'y' }] }, { name: 'b' }];
  const zone = [
    { __component: line, name: 'z' },
    { __component: 'shop.note', text: 'n' },
  ];

  it('are ids, with the places that they are for', async () => {
    const made = await create({ main: { name: 'm' }, lines, zone });
    const [first, second] = made.lines;
    const seen = {
      main: reference(made.main!.id, 'main'),
      lines: [reference(first!.id, 'lines'), reference(second!.id, 'lines')],
      more: [],
      zone: made.zone.map(({ id, __component }) => ({ id, __component, __pivot: { field: 'zone' } })),
    };
    expect(strapi.seen[0]).toMatchObject(seen);
    expect(strapi.seen[0]!['main']).toEqual(seen.main);
    expect(strapi.after).toEqual(strapi.seen);
    expect(made).toMatchObject({ main: { name: 'm', price: 1 }, lines, zone });
  });

  it('are null and empty as the body has them; a new entry has no key for null', async () => {
    const made = await create({ main: null, lines: [], zone: [] });
    expect(strapi.seen[0]).toMatchObject({ lines: [], more: [], zone: [] });
    expect(strapi.seen[0]).not.toHaveProperty('main');
    await send('PUT', `/${made.id}`, { main: null, lines: [] });
    expect(strapi.seen[1]).toEqual({ main: null, lines: [], updatedAt: expect.any(Date) });
    await send('PUT', `/${made.id}`, { title: 'T' });
    expect(strapi.seen[2]).toEqual({ title: 'T', updatedAt: expect.any(Date) });
  });

  it('can be read, with all that they contain: totals are computed from them', async () => {
    const notes: unknown[] = [];
    strapi.change = async (data) => {
      const ids = (data['lines'] as readonly Line[]).map((it) => it.id);
      const rows = await strapi.db.query(line).findMany({ where: { id: { $in: ids } } });
      data['total'] = rows.reduce((sum, it) => sum + Number(it['price']), 0);
      notes.push(await strapi.entityService.findOne(line, ids[0]!, { populate: ['notes', 'tag'] }));
    };
    const made = await create({ lines: [{ ...lines[0], tag: 1 }, lines[1]] });
    expect(made['total']).toBe(3);
    expect(notes).toMatchObject([{ name: 'a', tag: { name: 'new' }, notes: [{ text: 'x' }, { text: 'y' }] }]);
    const [first] = made.lines;
    const changed = await send('PUT', `/${made.id}`, { lines: [{ id: first!.id, price: 7 }, { name: 'c' }] });
    expect(changed.entry).toMatchObject({ total: 8, lines: [{ id: first!.id, name: 'a' }, { name: 'c' }] });
    const service = await strapi.entityService.update(order, made.id, { data: { lines: [{ name: 'd', price: 5 }] } });
    expect(service['total']).toBe(5);
  });

  it('of an update keep their ids, and have their new values before the hook', async () => {
    const made = await create({ main: { name: 'm' }, lines });
    const rows: unknown[] = [];
    strapi.change = async (_data, { params }) => {
      // an id of a path is a text, as in v4
      expect(params['where']).toEqual({ id: String(made.id) });
      rows.push(...(await strapi.db.query(line).findMany({ where: { id: made.main!.id } })));
    };
    const [a, b] = made.lines;
    const data = { main: { id: made.main!.id, name: 'M' }, lines: [{ id: b!.id }, { name: 'c' }, { id: a!.id }] };
    const { entry } = await send('PUT', `/${made.id}`, data);
    expect(rows).toMatchObject([{ name: 'M' }]);
    expect(strapi.seen[1]).toEqual({
      main: reference(made.main!.id, 'main'),
      lines: [b!.id, entry.lines[1]!.id, a!.id].map((id) => reference(id, 'lines')),
      updatedAt: expect.any(Date),
    });
    expect(names(entry.lines)).toEqual(['b', 'c', 'a']);
    expect(entry.lines[2]).toMatchObject({ notes: [{ text: 'x' }, { text: 'y' }] });
  });

  it.each<readonly [string, (data: Open) => unknown, Open]>([
    ['leaves them', () => undefined, { main: 'm', lines: ['a', 'b'], more: [], zone: 2 }],
    ['turns them around', ({ lines: it }) => (it as unknown[]).reverse(), { lines: ['b', 'a'] }],
    ['takes one out', ({ lines: it }) => (it as unknown[]).shift(), { lines: ['b'] }],
    ['repeats one', ({ lines: it }) => (it as unknown[]).push((it as unknown[])[0]), { lines: ['a', 'b'] }],
    ['takes all out', (data) => (data['lines'] = []), { lines: [] }],
    ['sets null', (data) => (data['main'] = null), { main: undefined }],
    ['takes the key out', (data) => delete data['main'] && delete data['zone'], { main: undefined, zone: 0 }],
    ['writes beside the id, which has no effect', ({ main }) => ((main as Open)['name'] = 'no'), { main: 'm' }],
    [
      'makes copies',
      (data) => (data['lines'] = (data['lines'] as Open[]).map((it) => ({ ...it, name: 'no' }))),
      { lines: ['a', 'b'] },
    ],
    ['puts another one there', (data) => (data['main'] = { name: 'other' }), { main: 'other' }],
    ['adds one', ({ lines: it }) => (it as unknown[]).push({ name: 'added' }), { lines: ['a', 'b', 'added'] }],
    [
      'puts them elsewhere too',
      (data) => {
        data['more'] = [...(data['lines'] as Open[]), { ...(data['main'] as Open) }];
      },
      { main: 'm', lines: ['a', 'b'], more: ['a', 'b', 'm'] },
    ],
    [
      'moves one elsewhere',
      (data) => {
        data['more'] = [(data['lines'] as unknown[]).pop(), data['main']];
        delete data['main'];
      },
      { lines: ['a'], more: ['b', 'm'], main: undefined },
    ],
  ])('a hook that %s', async (_title, change, expected) => {
    const before = await counts();
    strapi.change = change;
    const made = await create({ main: { name: 'm' }, lines, zone });
    const shown = {
      main: made.main?.name,
      lines: names(made.lines),
      more: names(made['more'] as readonly Line[]),
      zone: made.zone.length,
    };
    expect(shown).toMatchObject(expected);
    const ids = [made.main, ...made.lines, ...(made['more'] as Line[])].flatMap((it) => it?.id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    strapi.change = undefined;
    // everything that was written has its place, or is gone
    await served.json('DELETE', `/api/orders/${made.id}`);
    expect(await counts()).toEqual(before);
  });

  it.each<readonly [string, (data: Open) => unknown, readonly string[] | 'same', string | null]>([
    ['leaves them', () => undefined, ['b', 'c'], 'M'],
    ['takes the new one out', ({ lines: it }) => (it as unknown[]).pop(), ['b'], 'M'],
    ['takes the stored one out', ({ lines: it }) => (it as unknown[]).shift(), ['c'], 'M'],
    ['takes the key out: what is stored keeps its place', (data) => delete data['lines'], ['a', 'b'], 'M'],
    ['sets null', (data) => (data['main'] = null), ['b', 'c'], null],
    [
      'moves a stored one',
      (data) => {
        data['more'] = [(data['lines'] as unknown[]).shift()];
      },
      ['c'],
      'M',
    ],
    [
      'moves what is stored, and takes the key out',
      (data) => {
        data['more'] = [data['main']];
        delete data['main'];
      },
      ['b', 'c'],
      null,
    ],
    ['names one by its id alone', (data) => (data['main'] = (data['main'] as Line).id), ['b', 'c'], 'M'],
  ])('a hook of an update that %s', async (_title, change, expected, main) => {
    const before = await counts();
    const made = await create({ main: { name: 'm' }, lines });
    strapi.change = change;
    const data = { main: { id: made.main!.id, name: 'M' }, lines: [{ id: made.lines[1]!.id }, { name: 'c' }] };
    const { entry } = await send('PUT', `/${made.id}`, data);
    expect([names(entry.lines), entry.main?.name ?? null]).toEqual([expected, main]);
    await served.json('DELETE', `/api/orders/${made.id}`);
    expect(await counts()).toEqual(before);
  });

  it.each([
    ['a value of the wrong type', { lines: [{ name: 'a', price: 'x' }] }, 'data.lines.0.price'],
    ['a missing value', { lines: [{ price: 1 }] }, 'data.lines.0.name'],
    ['too long a value inside a zone', { zone: [{ __component: line, name: 'far too long' }] }, 'zone.0.name'],
    ['a target that does not exist', { lines: [{ name: 'a', tag: 999 }] }, 'lines.0.tag'],
    ['an unknown component', { zone: [{ __component: 'shop.none' }] }, 'zone.0.__component'],
    [
      'two equal unique values',
      {
        lines: [
          { name: 'a', code: 'same' },
          { name: 'b', code: 'same' },
        ],
      },
      'lines.1.code',
    ],
  ])('%s is refused before any hook, and nothing is written', async (_title, data, at) => {
    const before = await counts();
    const { status, error } = await send('POST', '', data);
    const errors = (error!['details'] as { errors: readonly { path: readonly string[] }[] }).errors;
    expect([status, errors[0]!.path.join('.')]).toEqual([400, at.replace('data.', '')]);
    expect(strapi.seen).toEqual([]);
    expect(await counts()).toEqual(before);
  });

  it('of another entry are refused', async () => {
    const [one, other] = [await create({ lines }), await create({ lines, main: { name: 'm' } })];
    for (const data of [
      { lines: [{ id: other.lines[0]!.id, name: 'mine' }] },
      { main: { id: other.main!.id, name: 'mine' } },
      // of the entry itself, at another place
      { more: [{ id: one.lines[0]!.id, name: 'mine' }] },
    ])
      expect((await send('PUT', `/${one.id}`, data)).status).toBe(400);
    strapi.change = (data) => {
      data['lines'] = [{ id: other.lines[0]!.id }];
    };
    expect((await send('PUT', `/${one.id}`, { title: 'T' })).status).toBe(400);
    strapi.change = undefined;
    expect(await strapi.entityService.findOne(order, other.id, { populate: ['lines', 'main'] })).toMatchObject({
      lines: [{ name: 'a' }, { name: 'b' }],
      main: { name: 'm' },
    });
  });

  it('are not shared: a hook that names one of the entry twice, or turns the write to another entry, is refused', async () => {
    const [one, other] = [await create({ main: { name: 'm' }, lines }), await create({ title: 'other' })];
    const kept = { main: { id: one.main!.id, name: 'M' } };
    strapi.change = (data) => {
      data['more'] = [{ ...(data['main'] as Open) }];
    };
    expect((await send('PUT', `/${one.id}`, kept)).status).toBe(400);
    strapi.change = (data) => {
      data['lines'] = [];
      data['more'] = [{ id: one.lines[0]!.id }, { id: one.main!.id }];
    };
    expect((await send('PUT', `/${one.id}`, kept)).status).toBe(400);
    strapi.change = (_data, event) => {
      (event.params as Open)['where'] = { id: other.id };
    };
    expect((await send('PUT', `/${one.id}`, kept)).status).toBe(400);
    expect((await send('PUT', `/${one.id}`, { lines: [{ name: 'new' }] })).status).toBe(200);
    strapi.change = undefined;
    const found = async (id: number) =>
      strapi.entityService.findOne(order, id, { populate: ['lines', 'more', 'main'] });
    expect(await found(one.id)).toMatchObject({ main: { name: 'm' }, lines: [{ name: 'a' }, { name: 'b' }], more: [] });
    expect(await found(other.id)).toMatchObject({ main: null, lines: [{ name: 'new' }], more: [] });
  });

  it('that a hook changes and then takes out leave nothing of what they contain by then', async () => {
    const before = await counts();
    strapi.change = async (data) => {
      const { id } = (data['lines'] as Line[])[0]!;
      await strapi.entityService.update(line, id, { data: { notes: [{ text: 'other' }, { text: 'more' }] } });
      data['lines'] = [];
    };
    const made = await create({ lines });
    strapi.change = undefined;
    await served.json('DELETE', `/api/orders/${made.id}`);
    expect(await counts()).toEqual(before);
  });

  it('belong to the write that they are written for: another one inside of it does not get them', async () => {
    const box = await strapi.entityService.create('api::box.box', { data: { title: 'b' } });
    const faults: string[] = [];
    strapi.change = async (data) => {
      const main = { id: (data['main'] as Line).id };
      await strapi.db
        .query('api::box.box')
        .update({ where: { id: box.id }, data: { main } })
        .catch((fault: Error) => faults.push(fault.message));
    };
    expect((await create({ main: { name: 'm' } })).main).toMatchObject({ name: 'm' });
    expect(faults).toHaveLength(1);
  });

  it('are not lost where several requests change them at once', async () => {
    const before = await counts();
    const dangling = async () => {
      const query = sql`select c.id from orders_components c left join components_shop_lines l on l.id = c.component_id
        where c.component_type = ${line} and l.id is null`;
      return served.db.read(() => readRows(served.db.dialect.compile(query)));
    };
    for (let round = 0; round < 8; round++) {
      const made = await create({ main: { name: 'm' }, lines });
      const [a, b] = made.lines;
      const answers = await Promise.all(
        [
          { main: null },
          { main: { id: made.main!.id, name: 'M' } },
          { lines: [] },
          { lines: [{ id: b!.id }, { id: a!.id, name: 'A' }] },
          { lines: [{ name: 'new' }], main: { name: 'other' } },
        ].map((data) => send('PUT', `/${made.id}`, data)),
      );
      // one that is gone is a 400
      for (const { status } of answers) expect([200, 400]).toContain(status);
      expect(await dangling()).toEqual([]);
      await served.json('DELETE', `/api/orders/${made.id}`);
    }
    expect(await counts()).toEqual(before);
  });

  it('are gone if a hook throws', async () => {
    const made = await create({ main: { name: 'm' }, lines });
    const before = await counts();
    strapi.change = () => {
      throw new Error('no');
    };
    expect((await send('POST', '', { main: { name: 'x' }, lines, zone })).status).toBe(500);
    const data = { main: { id: made.main!.id, name: 'X' }, lines: [{ name: 'y' }], zone };
    expect((await send('PUT', `/${made.id}`, data)).status).toBe(500);
    expect(await counts()).toEqual(before);
    const found = await strapi.entityService.findOne(order, made.id, { populate: ['main', 'lines'] });
    expect(found).toMatchObject({ main: { name: 'm' }, lines: [{ name: 'a' }, { name: 'b' }] });
  });

  it('that a hook creates by itself become those of the entry', async () => {
    strapi.change = async (data) => {
      const { id } = await strapi.entityService.create(line, { data: { name: 'made', notes: [{ text: 'in it' }] } });
      (data['lines'] as unknown[]).push({ id, __pivot: { field: 'lines', component_type: line } });
      data['main'] = { id: (await strapi.entityService.create(line, { data: { name: 'alone' } })).id };
    };
    const made = await create({ lines });
    expect(made).toMatchObject({
      main: { name: 'alone' },
      lines: [{}, {}, { name: 'made', notes: [{ text: 'in it' }] }],
    });
    const { entry } = await send('PUT', `/${made.id}`, { lines: [{ id: made.lines[2]!.id }] });
    expect(names(entry.lines)).toEqual(['made', 'made']);
  });

  it('have the files of a form', async () => {
    const made = await served.form('POST', '/api/orders?populate[lines][populate]=picture', {
      data: JSON.stringify({ lines }),
      'files.lines[1].picture': ['p.txt', 'text/plain', 'x'],
    });
    expect(made.body).toMatchObject({
      data: {
        attributes: { lines: [{ name: 'a' }, { name: 'b', picture: { data: { attributes: { name: 'p.txt' } } } }] },
      },
    });
    expect(strapi.seen[0]!['lines']).toMatchObject([{ __pivot: {} }, { __pivot: {} }]);
  });

  if (whose === 'entries and components')
    describe('with hooks of their own', () => {
      const named = () => strapi.heard!.map(([name]) => name);
      const paramsOf = (name: string) => strapi.heard!.find(([it]) => it === name)![1] as { data: Open };

      it('are heard of before the entry, those inside of others first', async () => {
        const made = await create({ main: { name: 'm', notes: [{ text: 'n' }] } });
        expect(named()).toEqual([
          ...['shop.note beforeCreate', 'shop.note afterCreate', 'shop.line beforeCreate', 'shop.line afterCreate'],
          ...[`${order} beforeCreate`, `${order} afterCreate`],
        ]);
        const [inner] = (made.main as Open)['notes'] as Open[];
        expect(paramsOf('shop.line beforeCreate').data).toEqual({
          name: 'm',
          price: 1,
          notes: [{ id: inner!['id'], __pivot: { field: 'notes', component_type: 'shop.note' } }],
          createdAt: expect.any(Date),
          updatedAt: expect.any(Date),
        });
        expect(strapi.heard!.find(([it]) => it === 'shop.line afterCreate')![2]).toMatchObject({
          id: made.main!.id,
          name: 'm',
        });
      });

      it('are heard of as they change, and what their hooks leave is stored', async () => {
        const made = await create({ lines });
        strapi.heard = [];
        strapi.hear = ({ action, model, params }) => {
          const { data } = params as { data: Open };
          if (model.uid === line && action.startsWith('before')) data['name'] = `${String(data['name'] ?? 'kept')}!`;
        };
        const [a, b] = made.lines;
        const data = { lines: [{ id: b!.id }, { id: a!.id, name: 'A', notes: [{ text: 'z' }] }, { name: 'c' }] };
        const { entry } = await send('PUT', `/${made.id}`, data);
        expect(entry.lines).toMatchObject([
          { id: b!.id, name: 'kept!' },
          { id: a!.id, name: 'A!', notes: [{ text: 'z' }] },
          { name: 'c!' },
        ]);
        expect(named().filter((it) => it.startsWith('shop.line before'))).toEqual([
          ...['shop.line beforeUpdate', 'shop.line beforeUpdate', 'shop.line beforeCreate'],
        ]);
        expect(paramsOf('shop.line beforeUpdate')).toMatchObject({ where: { id: b!.id }, data: { id: b!.id } });
      });

      it('may be guarded by them: what they throw undoes all of it', async () => {
        const made = await create({ main: { name: 'm' }, lines });
        const before = await counts();
        strapi.hear = ({ model, params }) => {
          if (model.uid === 'shop.note' && (params as { data: Open }).data['text'] === 'no') throw new Error('guarded');
        };
        const bad = { name: 'x', notes: [{ text: 'no' }] };
        for (const data of [
          { main: bad },
          { lines: [lines[0], bad] },
          { zone: [{ __component: 'shop.note', text: 'no' }] },
        ]) {
          expect((await send('POST', '', data)).status).toBe(500);
          expect((await send('PUT', `/${made.id}`, data)).status).toBe(500);
        }
        expect(await counts()).toEqual(before);
      });

      it('of another entry, and invalid ones, are refused before any of them', async () => {
        const [one, other] = [await create({ lines }), await create({ lines })];
        strapi.heard = [];
        for (const data of [
          { lines: [{ id: other.lines[0]!.id, name: 'mine' }] },
          { lines: [{ name: 'a' }, { name: 'far too long' }] },
          { lines: [{ name: 'a', tag: 999 }] },
        ])
          expect((await send('PUT', `/${one.id}`, data)).status).toBe(400);
        expect(strapi.heard).toEqual([]);
      });

      it('of drafts may lack what is required', async () => {
        const { status, entry } = await send('POST', '', {
          publishedAt: null,
          lines: [{ price: 4 }],
        });
        expect([status, entry.lines]).toMatchObject([200, [{ name: null, price: 4 }]]);
      });

      it('go with their entries, of which their hooks are not told: the log says so', async () => {
        const made = await create({ lines });
        await served.json('DELETE', `/api/orders/${made.id}`);
        expect(named().filter((it) => it.endsWith('Delete'))).toEqual([`${order} beforeDelete`]);
        expect(served.logged.join('')).toContain(
          'beforeDelete of shop.line, shop.note: components go with their entries',
        );
      });
    });

  it.each<readonly [string, (made: Line, data: Open) => unknown]>([
    ['its id', ({ id }) => id],
    ['its id as a text', ({ id }) => String(id)],
    ['an object with its id', ({ id }) => ({ id })],
    ['what creating it has returned', (made) => made],
    ['what reading it has returned', (made) => ({ ...made, notes: [{ text: 'not this' }], tag: null })],
  ])('that code has made by itself are those of the entry, whole: %s', async (_how, given) => {
    const [rows] = await counts();
    let made: Line | undefined;
    strapi.change = async (data) => {
      const own = { name: 'own', code: `own ${_how}`, tag: 1, notes: [{ text: 'kept' }] };
      made = (await strapi.entityService.create(line, { data: own })) as unknown as Line;
      data['lines'] = [...((data['lines'] ?? []) as unknown[]), given(made, data)];
    };
    const { entry, status } = await send('POST', '', { lines: [{ name: 'a' }] });
    const whole = { id: made?.id, name: 'own', notes: [{ text: 'kept' }], tag: { data: { id: 1 } } };
    expect([status, entry.lines]).toMatchObject([200, [{ name: 'a' }, whole]]);
    strapi.change = undefined;
    await strapi.db.query(line).update({ where: { id: made!.id }, data: { code: null } });
    expect((await counts())[0]).toBe(rows! + 2);
  });

  it('are known by bare ids, and move into zones', async () => {
    strapi.change = (data) => {
      data['lines'] = (data['lines'] as Line[]).map((it) => it.id).reverse();
      data['main'] = (data['main'] as Line | undefined)?.id;
    };
    const made = await create({ main: { name: 'm' }, lines });
    expect([made.main, made.lines]).toMatchObject([{ name: 'm' }, [{ name: 'b' }, lines[0]]]);
    strapi.change = (data) => {
      data['zone'] = (data['lines'] as Open[]).map((it) => ({ ...it, __component: line }));
      data['lines'] = [];
    };
    const { entry } = await send('PUT', `/${made.id}`, { lines: [{ id: made.lines[1]!.id }, { name: 'c' }] });
    expect([entry.lines, entry.zone]).toMatchObject([[], [{ __component: line, name: 'a' }, { name: 'c' }]]);
  });

  it('of a write that was undone are nobody’s: their ids may be given again', async () => {
    strapi.change = async (data) => {
      if (data['title'] === 'fails') throw new Error('no');
      const failing = { title: 'fails', lines: [{ name: 'x' }] };
      await strapi.entityService.create(order, { data: failing }).catch(() => undefined);
      const made = await strapi.entityService.create(line, { data: { name: 'own' } });
      data['lines'] = [{ id: made.id }];
    };
    expect(await create({ title: 'holds' })).toMatchObject({ lines: [{ name: 'own' }] });
  });

  it('of all locales are copies of what hooks have left, with all that they contain by then', async () => {
    const page = async (method: string, path: string, data: Open) =>
      (await served.json(method, `/api/pages${path}`, data)).body as { id: number; data: { id: number } };
    const english = await page('POST', '', { data: { title: 'one', lines: [{ name: 'a' }] } });
    const german = await page('POST', `/${english.data.id}/localizations`, { title: 'eins', locale: 'de' });
    const nested = async () => {
      const found = [english.data.id, german.id].map((id) =>
        served.json('GET', `/api/pages/${id}?populate[lines][populate]=notes`),
      );
      return (await Promise.all(found)).map(
        ({ body }) => (body as { data: { attributes: { lines: Shown['lines'] } } }).data.attributes.lines,
      );
    };
    strapi.change = async (data) => {
      const [first] = data['lines'] as readonly Line[];
      await strapi.entityService.update(line, first!.id, { data: { notes: [{ text: 'H1' }, { text: 'H2' }] } });
    };
    const left = [{ name: 'b', notes: [{ text: 'H1' }, { text: 'H2' }] }];
    const given = { lines: [{ name: 'b', notes: [{ text: 'x' }, { text: 'y' }, { text: 'z' }] }] };
    await page('PUT', `/${english.data.id}`, { data: given });
    expect(await nested()).toMatchObject([left, left]);
  });

  it('hooks of another locale may refuse it in their own words', async () => {
    const { body } = await served.json('POST', '/api/pages', { data: { title: 'one' } });
    const at = `/api/pages/${(body as { data: { id: number } }).data.id}/localizations`;
    strapi.change = () => {
      throw new errors.ApplicationError('said by the hook');
    };
    expect(await served.json('POST', at, { title: 'eins', locale: 'de' })).toMatchObject({
      status: 400,
      body: { error: { name: 'ApplicationError', message: 'said by the hook' } },
    });
  });

  // on SQLite, one writes after the other
  if (dialect === 'postgres')
    describe('while hooks run', () => {
      /** Hooks that go on once so many of them have begun. */
      const meeting = (many: number) => {
        let begun = 0;
        let open = (): void => undefined;
        const all = new Promise<void>((resolve) => {
          open = resolve;
        });
        return async () => {
          begun += 1;
          if (begun >= many) open();
          await all;
          return begun;
        };
      };
      const parcel = async (method: string, path: string, data: Open) =>
        (await served.json(method, `/api/parcels${path}`, { data })).status;

      it('nobody waits: not for relations, not for unique values, neither of entries nor of components', async () => {
        const meet = meeting(4);
        strapi.change = meet;
        const created = [
          { slug: 'one', lines: [{ name: 'a', code: 'first' }] },
          { slug: 'two', lines: [{ name: 'b', code: 'second' }] },
          { tags: [1], lines: [{ name: 'c', notes: [{ key: 'first note' }] }] },
          { tags: [1], lines: [{ name: 'd', notes: [{ key: 'second note' }] }] },
        ];
        expect(await Promise.all(created.map((data) => parcel('POST', '', data)))).toEqual([200, 200, 200, 200]);
        expect(strapi.seen).toHaveLength(4);
      });

      it('others may write what the entry is related to, and other fields of it', async () => {
        const { body } = await served.json('POST', '/api/parcels', { data: { lines: [{ name: 'a' }] } });
        const { id } = (body as { data: { id: number } }).data;
        const others: unknown[] = [];
        strapi.change = async (data) => {
          if (data['title'] === 'other') return;
          others.push((await served.json('PUT', '/api/tags/1', { data: { parcels: [id] } })).status);
          others.push(await parcel('PUT', `/${id}`, { title: 'other' }));
          others.push(await parcel('POST', '', { title: 'other', lines: [{ name: 'b', code: 'other' }] }));
        };
        expect(await parcel('PUT', `/${id}`, { tags: [1], lines: [{ name: 'c', code: 'own' }] })).toBe(200);
        expect(others).toEqual([200, 200, 200]);
      });

      it('what they add is locked with all the rest: nobody waits in a circle', async () => {
        const meet = meeting(6);
        strapi.change = async (data) => {
          await meet();
          data['slug'] ??= `of-${String(data['title'])}`;
          data['tags'] ??= [1];
        };
        const titles = ['a', 'b', 'c', 'd', 'e', 'f'];
        const writing = titles.map((title, i) =>
          parcel('POST', '', { title, lines: [{ name: title }], ...(i % 2 === 0 ? { slug: title } : { tags: [1] }) }),
        );
        expect(await Promise.all(writing)).toEqual(titles.map(() => 200));
        // nothing was done again
        expect(strapi.seen).toHaveLength(6);
      });

      const waiting = fixedStatement('select count(*) from pg_locks where not granted');
      /** Resolves once so many statements wait for a lock. */
      const waiters = async (count: number) => {
        while (Number((await served.db.read(() => readRows(waiting)))[0]![0]) < count);
      };

      it('a deletion of the entry waits for them, and nobody for it', async () => {
        const [first, other] = await Promise.all(
          ['a', 'b'].map(async (name) => {
            const { body } = await served.json('POST', '/api/parcels?populate=lines', { data: { lines: [{ name }] } });
            return (body as { data: { id: number; attributes: Shown } }).data;
          }),
        );
        strapi.seen = [];
        let deletion: Promise<number> | undefined;
        const others: unknown[] = [];
        strapi.change = async () => {
          deletion = parcel('DELETE', `/${first!.id}`, {});
          await waiters(1);
          others.push((await served.json('PUT', '/api/tags/1', { data: { parcels: [other!.id] } })).status);
        };
        const changed = { tags: [1], lines: [{ id: first!.attributes.lines[0]!.id, name: 'c' }] };
        expect(await parcel('PUT', `/${first!.id}`, changed)).toBe(200);
        expect([await deletion, others, strapi.seen.length]).toEqual([200, [200], 1]);
      });

      const status = async (method: string, path: string, body: object = {}) =>
        (await served.json(method, `/api/${path}`, body)).status;
      const bill = async () => {
        const { body } = await served.json('POST', '/api/bills', { data: { tags: [1] } });
        return (body as { data: { id: number } }).data.id;
      };

      it('of a deletion, nobody waits for relations, siblings and what else it deletes', async () => {
        const [own, further, other, third] = [await bill(), await bill(), await bill(), await bill()];
        let others: Promise<number>[] | undefined;
        strapi.counted = async ({ action }) => {
          if (action !== 'beforeDelete' || others) return;
          others = [];
          await strapi.entityService.delete('api::bill.bill', further);
          others.push(
            status('POST', 'bills', { data: { tags: [1] } }),
            status('PUT', 'tags/1', { data: { bills: { connect: [other] } } }),
            status('PUT', `bills/${other}`, { data: { title: 'changed' } }),
            status('POST', `bills/${other}/localizations`, { title: 'anders', locale: 'de' }),
            status('DELETE', `bills/${third}`),
          );
          await Promise.all(others);
        };
        expect(await status('DELETE', `bills/${own}`)).toBe(200);
        expect(await Promise.all(others!)).toEqual([200, 200, 200, 200, 200]);
      });

      it.each([
        ['a creation', () => '', { data: { tags: [1] } }],
        ['one of another locale', (id: number) => `/${id}/localizations`, { title: 'anders', locale: 'de' }],
      ])(
        'a deletion does not wait for those that wait because their hooks write the same: %s',
        async (_what, path, data) => {
          const { id } = (await strapi.entityService.create('api::box.box', { data: { title: 'total' } })) as Shown;
          const [own, other] = [await bill(), await bill()];
          const counted: string[] = [];
          let creation: Promise<number> | undefined;
          strapi.counted = async ({ action }) => {
            counted.push(action);
            await strapi.entityService.update('api::box.box', id, { data: { title: 'counted' } });
            if (action !== 'beforeDelete') return;
            creation ??= status('POST', `bills${path(other)}`, data);
            await waiters(1);
          };
          expect([await status('DELETE', `bills/${own}`), await creation]).toEqual([200, 200]);
          // nothing was done again
          expect(counted).toEqual(['beforeDelete', 'afterCreate']);
        },
      );

      it('entries that are linked to each other can be deleted at once', async () => {
        const english = await bill();
        const { body } = await served.json('POST', `/api/bills/${english}/localizations`, { locale: 'de' });
        const german = (body as { id: number }).id;
        let begun = 0;
        strapi.counted = () => {
          begun += 1;
        };
        const deletions = await served.db.write(async (tx) => {
          await tx.run(fixedStatement(`select id from bills_localizations_links where bill_id = ${german} for update`));
          const deleting: Promise<number>[] = [];
          for (const id of [german, english]) {
            deleting.push(status('DELETE', `bills/${id}`));
            await waiters(deleting.length);
          }
          return deleting;
        });
        expect(await Promise.all(deletions)).toEqual([200, 200]);
        // nothing was done again
        expect(begun).toBe(2);
      });

      it('one of two with the same unique value is refused, wherever it is', async () => {
        for (const same of [{ code: 'same' }, { notes: [{ key: 'same' }] }]) {
          strapi.change = meeting(2);
          const twice = ['x', 'y'].map((name) => parcel('POST', '', { lines: [{ name, ...same }] }));
          expect((await Promise.all(twice)).sort()).toEqual([200, 400]);
        }
      });

      it('so is one of two whose hooks set the same', async () => {
        const meet = meeting(2);
        const isHeard = whose === 'entries and components';
        if (isHeard)
          strapi.hear = ({ action, model, params }) => {
            if (`${model.uid} ${action}` === `${line} beforeCreate`) (params as { data: Open }).data['code'] = 'heard';
          };
        strapi.change = async (data) => {
          await meet();
          if (!isHeard) data['lines'] = [await strapi.db.query(line).create({ data: { name: 'own', code: 'heard' } })];
        };
        const twice = ['x', 'y'].map((name) => parcel('POST', '', { lines: [{ name }] }));
        expect((await Promise.all(twice)).sort()).toEqual([200, 400]);
      });
    });

  it('unique values of what is stored may be sent again', async () => {
    const made = await create({ lines: [{ name: 'a', code: 'one' }] });
    const again = { id: made.lines[0]!.id, name: 'A', code: 'one' };
    expect((await send('PUT', `/${made.id}`, { lines: [again] })).entry.lines).toMatchObject([{ name: 'A' }]);
    expect((await send('PUT', `/${made.id}`, { lines: [{ ...again, id: undefined }] })).status).toBe(400);
    const deep = { name: 'd', notes: [{ key: 'k' }] };
    const { status, entry } = await send('POST', '', { lines: [deep] });
    expect([status, entry.lines]).toMatchObject([200, [deep]]);
    const kept = entry.lines[0] as Line & { readonly notes: readonly Line[] };
    for (const notes of [[{ id: kept.notes[0]!.id, key: 'k' }], [{ key: 'other' }, { key: 'third' }]])
      expect((await send('PUT', `/${entry.id}`, { lines: [{ id: kept.id, notes }] })).status).toBe(200);
    expect((await send('POST', '', { lines: [{ name: 'e', notes: [{ key: 'third' }] }] })).status).toBe(400);
  });

  it('unique values that hooks set are refused if another row has them', async () => {
    await create({ lines: [{ name: 'a', code: 'first' }] });
    const own = await create({ lines: [{ name: 'b' }] });
    const before = await counts();
    const rows = strapi.db.query(line);
    const changes: readonly ((data: Open) => Promise<unknown>)[] = [
      // of a component of the request
      (data) => rows.update({ where: { id: (data['lines'] as Line[])[0]!.id }, data: { code: 'first' } }),
      // of one that takes its place
      async (data) => {
        data['lines'] = [(await rows.create({ data: { name: 'own', code: 'first' } })).id];
      },
      // of one of its own, while the request has the same
      () => rows.create({ data: { name: 'own', code: 'second' } }),
    ];
    for (const change of changes) {
      strapi.change = change;
      const data = { lines: [{ name: 'c', code: change === changes[2] ? 'second' : null }] };
      expect(await send('POST', '', data)).toMatchObject({
        status: 400,
        error: { message: 'This attribute must be unique' },
      });
      expect((await send('PUT', `/${own.id}`, data)).status).toBe(400);
    }
    expect(await counts()).toEqual(before);
  });

  it('unique values that another row has too hinder only what sets them', async () => {
    const made = await create({ lines: [{ name: 'a', code: 'held', notes: [{ key: 'held' }] }] });
    await create({ lines: [{ name: 'b', code: 'late', notes: [{ key: 'late' }] }] });
    const { db } = served;
    // as v4 may store them, which asks without a lock
    for (const change of [
      `update components_shop_lines set code = 'held' where code = 'late'`,
      `update components_shop_notes set key = 'held' where key = 'late'`,
    ])
      await db.write((tx) => tx.run(db.dialect.compile(sql.raw(change))));
    const [{ id, notes }] = made.lines as readonly [Line & { readonly notes: readonly [Line] }];
    const sent: readonly (readonly [number, Open])[] = [
      [200, { id, price: 9 }],
      [200, { id, notes: [{ id: notes[0].id, text: 'x' }] }],
      [400, { id, code: 'held' }],
      [400, { id, notes: [{ id: notes[0].id, key: 'held' }] }],
      [400, { id, notes: [{ key: 'held' }] }],
    ];
    for (const [status, one] of sent)
      expect(await send('PUT', `/${made.id}`, { lines: [one] })).toMatchObject({ status });
  });
});

describe.each(dialects)('hooks of a component alone on %s', (dialect) => {
  it('run where the type of the entry has none, and inside of other components', async () => {
    const served = await serveCode(dialect, {
      ...typeFile('plain', { zone: { type: 'dynamiczone', components: ['shop.outer'] } }),
      ...component('outer', { note: { type: 'component', component: 'shop.note' } }),
      ...component('note', { text: { type: 'string' } }),
      'src/index.js': `module.exports = { async bootstrap({ strapi }) {
        ${allowing}
        await allow('public', ['create', 'update'].map((it) => 'api::plain.plain.' + it));
        strapi.db.lifecycles.subscribe({ models: ['shop.note'], beforeCreate({ params: { data } }) { data.text += ' heard'; } });
      } };`,
    });
    const zone = (text: string) => ({ data: { zone: [{ __component: 'shop.outer', note: { text } }] } });
    const shown = (text: string) => ({ body: { data: { attributes: { zone: [{ note: { text } }] } } } });
    const populate = 'populate[zone][populate]=*';
    expect(await served.json('POST', `/api/plains?${populate}`, zone('new'))).toMatchObject(shown('new heard'));
    expect(await served.json('PUT', `/api/plains/1?${populate}`, zone('other'))).toMatchObject(shown('other heard'));
    await served.close();
  });
});
