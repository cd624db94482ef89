/** What lifecycles see of a write and what they leave of it, and work that they start and do not await. */
import bcrypt from '@node-rs/bcrypt';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { addWebhook } from '../../src/events/webhooks.js';
import { limits } from '../../src/limits.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { newReceiver, type Receiver } from '../world/receiver.js';

const note = 'api::note.note';
const plan = 'api::plan.plan';
const user = 'plugin::users-permissions.user';

/** What `note` starts without awaiting it, by the text of the entry. */
const background = `
  const uid = '${note}';
  const views = (id, given) => strapi.entityService.update(uid, id, { data: { views: given } });
  const turns = async () => { for (let i = 0; i < 10; i++) await null; };
  const works = {
    'at once': (id) => views(id, 100),
    'after a read': async (id) => { const found = await strapi.entityService.findOne(uid, id); await views(id, found.views + 100); },
    'after turns': async (id) => { await turns(); await views(id, 100); },
    'after a pause': async (id) => { await new Promise(setImmediate); await views(id, 100); },
    'after all of it': async (id) => {
      await turns();
      await strapi.db.query(uid).findOne({ where: { id } });
      await new Promise(setImmediate);
      await strapi.db.transaction(async () => { await turns(); await strapi.db.query(uid).update({ where: { id }, data: { views: 100 } }); });
    },
    'by a service': async (id) => { await turns(); await strapi.service(uid).update(id, { data: { views: 100 } }); },
    'undone': async (id) => { await turns(); strapi.seen.push(await strapi.entityService.findOne(uid, id)); await note('after undone'); },
    'read': async (id) => { await turns(); strapi.seen.push((await strapi.entityService.findMany(uid, { filters: { id } })).length); strapi.seen.push(await strapi.db.query(uid).count({ where: { id } })); },
    'setting': async () => { await turns(); const store = strapi.store({ type: 'plugin', name: 'note' }); await store.set({ key: 'a', value: 'b' }); strapi.seen.push(await store.get({ key: 'a' })); },
    'fails': async (id) => { await turns(); await strapi.entityService.update(uid, id, { data: { views: 'x' } }).catch(({ message }) => strapi.seen.push(message)); await views(id, 100); },
  };
  const note = (text) => strapi.entityService.create(uid, { data: { text } });
  module.exports = {
    beforeCreate({ params, state }) {
      if (params.data.text === 'begun before') { (async () => { await turns(); strapi.seen.push((await strapi.entityService.findMany(uid, { filters: { text: 'begun before' } })).length); })(); }
      if (params.data.text === 'awaited after') state.found = strapi.entityService.count(uid);
      if (params.data.text === 'never joins') state.found = (async () => { await turns(); return strapi.entityService.count(uid); })();
    },
    async afterCreate({ result, state }) {
      const { id, text } = result;
      if (text === 'awaited') { await turns(); await views(id, 100); }
      if (text === 'nested') await note('at once');
      if (state.found) strapi.seen.push(await state.found.then(() => 'found', ({ message }) => message));
      const work = works[text.replace(/^refused /, '')]?.(id);
      work?.catch((fault) => strapi.seen.push(fault.message));
      if (text.startsWith('refused') || text === 'undone') throw new (require('@strapi/utils').errors.ApplicationError)('no');
    },
    afterCreateMany({ result }) { void (async () => { await turns(); for (const id of result.ids) await views(id, 100); })(); },
    afterDelete({ result }) { void (async () => { await turns(); await note('instead of ' + result.text); })(); },
  };`;

/** What it sees is in `strapi.seen`; what it does is decided by `strapi.change`. */
const watching = `
  const see = async (event) => {
    const { data } = event.params;
    strapi.seen.push({ ...data });
    strapi.change && (await strapi.change(data, event));
  };
  const after = ({ params }) => strapi.after.push({ ...params.data });
  module.exports = { beforeCreate: see, beforeUpdate: see, afterCreate: after, afterUpdate: after };`;

const files = {
  ...typeFile('note', { text: { type: 'string' }, views: { type: 'integer', default: 0 } }),
  ...typeFile(
    'plan',
    {
      title: { type: 'string', maxLength: 10 },
      slug: { type: 'string', required: true },
      code: { type: 'string', unique: true },
      state: { type: 'enumeration', enum: ['open', 'done'], default: 'open' },
      stock: { type: 'integer', default: 3, min: 0 },
      price: { type: 'decimal' },
      isNew: { type: 'boolean', default: true },
      facts: { type: 'json', default: { a: [1] } },
      big: { type: 'biginteger' },
      day: { type: 'date' },
      pin: { type: 'password', minLength: 4, maxLength: 8 },
      words: { type: 'text' },
      box: { type: 'component', component: 'parts.box' },
      boxes: { type: 'component', component: 'parts.box', repeatable: true },
      crates: { type: 'component', component: 'parts.box', repeatable: true, min: 1 },
      notes: { type: 'relation', relation: 'oneToMany', target: 'api::note.note' },
      about: { type: 'relation', relation: 'morphToMany' },
    },
    { draftAndPublish: true },
  ),
  'src/components/parts/box.json': JSON.stringify({
    collectionName: 'components_parts_boxes',
    info: { displayName: 'box' },
    attributes: {
      size: { type: 'integer' },
      colour: { type: 'string', default: 'red' },
      note: { type: 'relation', relation: 'oneToOne', target: 'api::note.note' },
      lock: { type: 'password', minLength: 4 },
    },
  }),
  ...coreFile('Router', 'note'),
  ...coreFile('Router', 'plan'),
  ...coreFile('Controller', 'plan'),
  ...coreFile('Service', 'plan'),
  ...coreFile('Service', 'note'),
  'src/api/note/content-types/note/lifecycles.js': background,
  'src/api/plan/content-types/plan/lifecycles.js': watching,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => plugin;`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const actions = ['find', 'findOne', 'create', 'update', 'delete'];
    await allow('public', [
      ...actions.flatMap((it) => ['${note}.' + it, '${plan}.' + it]),
      'plugin::users-permissions.auth.register', 'plugin::users-permissions.auth.callback', 'plugin::users-permissions.user.update',
      'plugin::users-permissions.user.destroy',
    ]);
    await allow('authenticated', []);
    strapi.seen = [];
    strapi.after = [];
    const see = async ({ params: { data } }) => {
      strapi.seen.push({ ...data });
      strapi.change && (await strapi.change(data));
    };
    strapi.db.lifecycles.subscribe({ models: ['${user}'], beforeCreate: see, beforeUpdate: see, afterCreate: ({ result }) => void strapi.after.push(result) });
    strapi.db.lifecycles.subscribe({ models: ['${plan}'], beforeCreate: ({ params }) => { if (params.data.title === 'replaced') params.data = { title: 'other', slug: 's' }; } });
  } };`,
};

interface Row extends Record<string, unknown> {
  readonly id: number;
}

interface Params {
  readonly data?: object;
  readonly where?: object | null;
  readonly filters?: object;
  readonly populate?: readonly string[];
}

interface Code {
  readonly seen: unknown[];
  readonly after: unknown[];
  change: ((data: Members) => unknown) | undefined;
  readonly entityService: {
    create(uid: string, params: Params): Promise<Row>;
    update(uid: string, id: number, params: Params): Promise<Row | null>;
    delete(uid: string, id: number): Promise<Row | null>;
    findOne(uid: string, id: number, params?: Params): Promise<Row>;
    findMany(uid: string, params?: Params): Promise<Row[]>;
  };
  readonly db: {
    query(uid: string): {
      create(params: Params): Promise<Row>;
      createMany(params: { readonly data: readonly object[] }): Promise<{ readonly ids: readonly number[] }>;
      findOne(params: Params): Promise<Row>;
      update(params: Params): Promise<Row | null>;
      delete(params?: Params): Promise<Row | null>;
      deleteMany(params: Params): Promise<{ readonly count: number }>;
    };
    readonly lifecycles: { subscribe(hooks: object): () => void };
    transaction<T>(work: () => Promise<T>): Promise<T>;
  };
  plugin(name: string): { service(name: string): { add(values: object): Promise<Row> } };
}

interface HookEvent {
  readonly action: string;
  readonly params: { where: Record<string, unknown>; data: Record<string, unknown> };
  readonly result: Row;
}

type Members = Record<string, unknown>;

type Hooks = Readonly<Record<string, (event: HookEvent) => unknown>>;

const bounds = limits as { -readonly [K in keyof typeof limits]: number };
const usual = { ...limits };

describe.each(dialects)('hooks on %s', (dialect) => {
  let served: CodeProject;
  let strapi: Code;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
    ({ strapi } = globalThis as unknown as { strapi: Code });
  });
  afterAll(() => served.close());
  beforeEach(() => {
    strapi.seen.length = 0;
    strapi.after.length = 0;
    strapi.change = undefined;
  });
  afterEach(() => {
    bounds.codeWaitMsMax = usual.codeWaitMsMax;
  });
  const idOf = ({ body }: { readonly body: unknown }): number => (body as { data: Row }).data.id;
  /** Runs work while hooks listen. */
  const hooked = async <T>(hooks: Hooks, work: () => Promise<T>, uid = note): Promise<T> => {
    const end = strapi.db.lifecycles.subscribe({ models: [uid], ...hooks });
    try {
      return await work();
    } finally {
      end();
    }
  };
  const noteOf = (text: string, views = 0) => strapi.entityService.create(note, { data: { text, views } });
  const textOf = async (id: number): Promise<unknown> =>
    (await strapi.db.query(note).findOne({ where: { id } }))?.['text'];
  const seen = (place = -1) => strapi.seen.at(place) as Record<string, unknown>;

  describe('work that a hook starts and does not await', () => {
    const post = (text: string) => served.json('POST', '/api/notes', { data: { text } });
    const viewsOf = async (id: number): Promise<unknown> => (await strapi.entityService.findOne(note, id))['views'];
    const becomes = (id: number, views: number) =>
      vi.waitFor(async () => expect(await viewsOf(id)).toBe(views), { timeout: 5000 });

    const ways = ['at once', 'after a read', 'after turns', 'after a pause', 'after all of it', 'by a service'];
    it.each(ways)('finds the entry (%s)', async (text) => {
      await becomes(idOf(await post(text)), 100);
      await becomes((await strapi.entityService.create(note, { data: { text } })).id, 100);
      await becomes((await strapi.db.query(note).create({ data: { text } })).id, 100);
      const id = await strapi.db.transaction(async () => {
        const made = await strapi.entityService.create(note, { data: { text } });
        // longer than the work takes
        for (let i = 0; i < 5; i++) await new Promise(setImmediate);
        return made.id;
      });
      await becomes(id, 100);
    });

    it('reads what the hook has written, and settings', async () => {
      await post('read');
      await vi.waitFor(() => expect(strapi.seen).toEqual([1, 1]), 20_000);
      strapi.seen.length = 0;
      await post('setting');
      await vi.waitFor(() => expect(strapi.seen).toEqual(['b']), 20_000);
    });

    it('that was started before the entry was written finds it afterwards', async () => {
      await post('begun before');
      await vi.waitFor(() => expect(strapi.seen).toEqual([1]), 20_000);
    });

    it('of nested writes, of many and of deletions is done too', async () => {
      const { id } = await strapi.entityService.create(note, { data: { text: 'nested' } });
      await becomes(id + 1, 100);
      const { ids } = await strapi.db.query(note).createMany({ data: [{ text: 'one' }, { text: 'two' }] });
      for (const it of ids) await becomes(it, 100);
      await served.json('DELETE', `/api/notes/${ids[0]}`);
      await vi.waitFor(async () => {
        const found = await strapi.entityService.findMany(note, { filters: { text: 'instead of one' } });
        expect(found).toHaveLength(1);
      });
    });

    it('leaves objects of classes in what many rows are made of as they are', async () => {
      class Label {
        readonly #text = 'of a class';
        toJSON(): string {
          return this.#text;
        }
      }
      const { ids } = await strapi.db.query(note).createMany({ data: [{ text: new Label() }] });
      expect(await strapi.entityService.findOne(note, ids[0]!)).toMatchObject({ text: 'of a class' });
    });

    it('runs on its own after a transaction that was undone', async () => {
      expect((await post('undone')).status).toBe(400);
      await vi.waitFor(async () => {
        const found = await strapi.entityService.findMany(note, { filters: { text: { $contains: 'undone' } } });
        expect(found).toMatchObject([{ text: 'after undone' }]);
      });
      expect(strapi.seen).toEqual([null]);
    });

    it('joins the transaction of the code around the hook, as long as that is open', async () => {
      const made = await strapi.db.transaction(async () => {
        const { id } = await strapi.entityService.create(note, { data: { text: 'after turns' } });
        await new Promise((resolve) => setTimeout(resolve, 50));
        return strapi.entityService.findOne(note, id);
      });
      expect(made).toMatchObject({ views: 100 });
      const undone = strapi.db.transaction(async () => {
        await strapi.entityService.create(note, { data: { text: 'fails' } });
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error('undone by the code');
      });
      await expect(undone).rejects.toThrow('undone by the code');
      expect(await strapi.entityService.findMany(note, { filters: { text: 'fails' } })).toEqual([]);
    });

    it('may fail without undoing anything else', async () => {
      await becomes(idOf(await post('fails')), 100);
      expect(strapi.seen).toEqual([expect.stringContaining('views')]);
    });

    it('what is awaited is a part of the write, also if a later hook awaits it', async () => {
      const id = idOf(await post('awaited'));
      expect(await viewsOf(id)).toBe(100);
      await post('awaited after');
      expect(strapi.seen).toEqual(['found']);
    });

    it('never waits for ever: a hook that awaits what waits for its own end is told', async () => {
      bounds.codeWaitMsMax = 400;
      expect((await post('never joins')).status).toBe(200);
      expect(strapi.seen).toEqual([expect.stringContaining('waited 400 ms for a transaction')]);
    });

    it('is done for many writes at once', async () => {
      const made = await Promise.all(Array.from({ length: 12 }, (_, i) => post(ways[i % ways.length]!)));
      for (const it of made) await becomes(idOf(it), 100);
    });
  });

  describe('event.params.data', () => {
    const create = (data: object) => served.json('POST', '/api/plans', { data: { slug: 's', ...data } });
    const stored = (id: number) => strapi.db.query(plan).findOne({ where: { id } });
    const defaults = { state: 'open', stock: 3, isNew: true, facts: { a: [1] } };
    const times = { createdAt: expect.any(Date) as Date, updatedAt: expect.any(Date) as Date };

    it('has the defaults and the times of a new entry, as they are stored', async () => {
      const id = idOf(await create({ title: 'A' }));
      const lists = { boxes: [], crates: [] };
      expect(seen()).toEqual({
        title: 'A',
        slug: 's',
        ...defaults,
        ...lists,
        publishedAt: expect.anything(),
        ...times,
      });
      const row = await stored(id);
      expect(row['createdAt']).toBe((seen()['createdAt'] as Date).toISOString());
      expect(row['updatedAt']).toBe((seen()['updatedAt'] as Date).toISOString());
      expect(strapi.after).toEqual(strapi.seen);
      await strapi.entityService.create(plan, { data: { slug: 's' } });
      expect(seen()).toEqual({ slug: 's', ...defaults, ...lists, ...times });
      await strapi.entityService.create(plan, { data: { slug: 's', publishedAt: null } });
      expect(seen()).toEqual({ slug: 's', ...defaults, ...lists, publishedAt: null, ...times });
      await strapi.db.query(plan).create({ data: { slug: 's', stock: '5' } });
      expect(seen()).toEqual({ slug: 's', stock: '5', ...times });
    });

    it('has only the time of the change before an update', async () => {
      const id = idOf(await create({}));
      await served.json('PUT', `/api/plans/${id}`, { data: { title: 'B', createdAt: '2001-01-01', id: 7 } });
      expect(seen()).toEqual({ title: 'B', updatedAt: expect.any(Date) });
      expect((await stored(id))['updatedAt']).toBe((seen()['updatedAt'] as Date).toISOString());
      await strapi.entityService.update(plan, id, { data: { stock: '4' } });
      expect(seen()).toEqual({ stock: 4, updatedAt: expect.any(Date) });
    });

    it('has values of the types of the schema', async () => {
      await create({ stock: '5', price: '1.5', isNew: 'false', big: '12', day: '2020-01-02' });
      expect(seen()).toMatchObject({ stock: 5, price: 1.5, isNew: false, big: '12', day: '2020-01-02' });
    });

    it('has empty lists of components where a new entry has none, to which hooks may add', async () => {
      strapi.change = ({ boxes }) => {
        (boxes as object[]).push({ size: 4 });
      };
      const id = idOf(await create({}));
      const found = await strapi.db.query(plan).findOne({ where: { id }, populate: ['boxes', 'crates'] });
      expect(found).toMatchObject({ boxes: [{ size: 4 }], crates: [] });
    });

    it('is stored as hooks leave it', async () => {
      strapi.change = (data) => {
        data['stock'] = Number(data['stock']) + 1;
        data['state'] = 'done';
        data['createdAt'] = new Date('2001-02-03T04:05:06.000Z');
        data['updatedAt'] = '2002-02-03T04:05:06.000Z';
      };
      const id = idOf(await create({ stock: '5' }));
      const changed = { stock: 6, state: 'done', createdAt: '2001-02-03T04:05:06.000Z' };
      expect(await stored(id)).toMatchObject({ ...changed, updatedAt: '2002-02-03T04:05:06.000Z' });
      strapi.change = (data) => {
        delete data['title'];
        delete data['updatedAt'];
        data['createdAt'] = '2003-02-03T04:05:06.000Z';
      };
      const url = `/api/plans/${id}`;
      expect((await served.json('GET', url)).body).toMatchObject({ data: { attributes: { stock: 6 } } });
      const { status } = await served.json('PUT', url, { data: { title: 'gone', stock: 8 } });
      const kept = { title: null, stock: 8, createdAt: '2003-02-03T04:05:06.000Z' };
      expect([status, await stored(id)]).toMatchObject([200, { ...kept, updatedAt: '2002-02-03T04:05:06.000Z' }]);
      expect((await served.json('GET', url)).body).toMatchObject({ data: { attributes: { stock: 8 } } });
    });

    it('without what hooks remove has defaults again, and no times; another object replaces all of it', async () => {
      strapi.change = (data) => {
        for (const name of ['createdAt', 'updatedAt', 'stock', 'title']) delete data[name];
      };
      const removed = await stored(idOf(await create({ title: 'A', stock: 9 })));
      expect(removed).toMatchObject({ title: null, stock: 3, createdAt: null, updatedAt: null });
      strapi.change = undefined;
      const replaced = await stored(idOf(await create({ title: 'replaced', stock: 9, price: 2 })));
      expect(replaced).toMatchObject({ title: 'other', stock: 3, price: null, publishedAt: null });
    });

    it('of a time that is none is refused', async () => {
      strapi.change = (data) => {
        data['createdAt'] = 'yesterday';
      };
      expect(await create({})).toMatchObject({
        status: 400,
        body: { error: { details: { errors: [{ path: ['createdAt'] }] } } },
      });
    });

    it.each([
      ['stock', (data: Members) => Object.assign(data, { stock: Number.NaN }), 'stock cannot be stored: it is NaN'],
      [
        'day',
        (data: Members) => Object.assign(data, { day: new Date('x') }),
        'day cannot be stored: it is an invalid date',
      ],
      ['createdAt', (data: Members) => Object.assign(data, { createdAt: new Date('x') }), 'createdAt cannot be stored'],
      [
        'box.size',
        (data: Members) => Object.assign(data['box'] as object, { size: Infinity }),
        'box.size cannot be stored',
      ],
      ['stock', (data: Members) => Object.assign(data, { stock: 5n }), 'stock cannot be stored: it is a BigInt'],
    ])('with %s that nothing can hold is refused, not stored without it', async (_name, change, message) => {
      strapi.change = change;
      const answer = await create({ title: 'lost', box: { size: 1 } });
      expect(answer).toMatchObject({ status: 400, body: { error: { name: 'ValidationError' } } });
      expect(JSON.stringify(answer.body)).toContain(message);
      expect(await strapi.entityService.findMany(plan, { filters: { title: 'lost' } })).toEqual([]);
    });

    it('may get the id of the new entry, unless the body of the client has it', async () => {
      const setting = (id: unknown) => {
        strapi.change = (data) => {
          data['id'] = id;
        };
      };
      setting(7000);
      expect(idOf(await create({ title: 'own id' }))).toBe(7000);
      expect((await create({ title: 'taken' })).status).toBe(400);
      setting('7100');
      expect((await strapi.entityService.create(plan, { data: { slug: 's' } })).id).toBe(7100);
      setting(7200);
      expect((await strapi.db.query(plan).create({ data: { id: 7150, slug: 's' } })).id).toBe(7200);
      setting(undefined);
      expect(idOf(await create({ id: 2147483647 }))).toBe(7201);
      expect((await strapi.db.query(plan).create({ data: { id: 9000, slug: 's' } })).id).toBe(7202);
      // one that a client names could use up all others
      strapi.change = (data) => {
        data['id'] = 8000;
      };
      expect(idOf(await create({ id: 8000 }))).toBe(7203);
    });

    it('may get a BigInt where the attribute holds one', async () => {
      strapi.change = (data) => {
        data['big'] = 9007199254740993n;
      };
      expect((await stored(idOf(await create({}))))['big']).toBe('9007199254740993');
    });

    it('is not shown if it is invalid, and refused as without hooks', async () => {
      const messages = async (data: object): Promise<readonly string[]> => {
        const { body } = await create(data);
        const { details } = (body as { error: { details: { errors: readonly { readonly message: string }[] } } }).error;
        return details.errors.map((it) => it.message);
      };
      expect(await messages({ stock: 'many', title: 'far too long a title' })).toEqual([
        expect.stringContaining('title'),
        expect.stringContaining('stock'),
      ]);
      expect(await messages({ boxes: [{ size: 'x' }] })).toEqual([expect.stringContaining('size')]);
      // what is missing is asked of the client, not of hooks
      strapi.change = (data) => {
        data['slug'] ??= 'by the hook';
      };
      expect(await messages({ slug: null })).toEqual([expect.stringContaining('slug')]);
      expect(strapi.seen).toEqual([]);
      strapi.change = (data) => {
        data['stock'] = -1;
      };
      expect((await create({})).status).toBe(400);
      // the rules hold again for what hooks leave
      strapi.change = (data) => {
        data['slug'] = null;
      };
      expect(await messages({})).toEqual([expect.stringContaining('slug')]);
    });

    it('is not shown if it names entries that do not exist, or has a unique value of another one, which a hook would replace', async () => {
      const id = idOf(await create({ code: 'taken' }));
      const shown = strapi.seen.length;
      strapi.change = (data) => {
        data['code'] = 'free';
      };
      const refused = {
        status: 400,
        body: { error: { details: { errors: [{ path: ['code'], message: 'This attribute must be unique' }] } } },
      };
      expect(await create({ code: 'taken' })).toMatchObject(refused);
      expect(strapi.seen).toHaveLength(shown);
      const absent = { id: 99_999 };
      for (const given of [
        { notes: [99_999] },
        { notes: { connect: [absent] } },
        { box: { note: 99_999 } },
        { about: [{ ...absent, __type: note }] },
      ])
        for (const answer of [await create(given), await served.json('PUT', `/api/plans/${id}`, { data: given })]) {
          expect(answer).toMatchObject({ status: 400, body: { error: { name: 'ValidationError' } } });
          expect(strapi.seen).toHaveLength(shown);
        }
      // an entry may be sent its own value again
      expect(await served.json('PUT', `/api/plans/${id}`, { data: { code: 'taken' } })).toMatchObject({ status: 200 });
      expect(await stored(id)).toMatchObject({ code: 'free' });
    });
  });

  describe('event.params.where', () => {
    const data = { text: 'changed' };
    /** What comes of an entry; null if it is not found. */
    const ways: Readonly<Record<string, (id: number) => Promise<unknown>>> = {
      'db.query.update': (id) => strapi.db.query(note).update({ where: { id }, data }),
      'db.query.delete': (id) => strapi.db.query(note).delete({ where: { id } }),
      'entityService.update': (id) => strapi.entityService.update(note, id, { data }),
      'entityService.delete': (id) => strapi.entityService.delete(note, id),
      PUT: async (id) => request('PUT', id),
      DELETE: async (id) => request('DELETE', id),
    };
    const request = async (method: string, id: number, expected = 200): Promise<unknown> => {
      const { status, body } = await served.json(method, `/api/notes/${id}`, method === 'PUT' ? { data } : undefined);
      if (status !== 404) expect(status).toBe(expected);
      return status === 404 ? null : body;
    };
    const around = (hook: (event: HookEvent) => unknown): Hooks => ({ beforeUpdate: hook, beforeDelete: hook });
    const each = it.each(Object.keys(ways));

    each('keeps what it leaves out from being written, with all that hooks did (%s)', async (way) => {
      const hooks = around(async (event) => {
        await strapi.entityService.create(plan, { data: { slug: `trace of ${way}` } });
        event.params.where = { ...event.params.where, views: 1 };
      });
      const [mine, theirs] = [await noteOf('mine', 1), await noteOf('theirs', 2)];
      const traces = () => strapi.entityService.findMany(plan, { filters: { slug: `trace of ${way}` } });
      expect(await hooked(hooks, () => ways[way]!(theirs.id))).toBeNull();
      expect([await textOf(theirs.id), await traces()]).toEqual(['theirs', []]);
      expect(await hooked(hooks, () => ways[way]!(mine.id))).not.toBeNull();
      expect(await textOf(mine.id)).toBe(/update|PUT/.test(way) ? 'changed' : undefined);
      expect(await traces()).toHaveLength(1);
    });

    each('that names another row has that one written (%s)', async (way) => {
      const [asked, other] = [await noteOf('asked'), await noteOf('other')];
      // the object may be changed too, instead of replaced
      const hooks = around(({ params }) => Object.assign(params.where, { id: other.id }));
      const result = JSON.stringify(await hooked(hooks, () => ways[way]!(asked.id)));
      // v4's entity service returns what it has read before it deletes
      expect(result).toContain(`"id":${/^(entityService.delete|DELETE)$/.test(way) ? asked.id : other.id}`);
      expect(await textOf(asked.id)).toBe('asked');
      expect(await textOf(other.id)).toBe(/update|PUT/.test(way) ? 'changed' : undefined);
    });

    it('that says nothing is refused, before and after hooks', async () => {
      const { id } = await noteOf('kept');
      const count = async () => (await strapi.entityService.findMany(note)).length;
      const before = await count();
      const emptied = around((event) => {
        event.params.where = {};
      });
      await hooked(emptied, async () => {
        await expect(strapi.db.query(note).update({ where: { id }, data })).rejects.toThrow('Update requires a where');
        await expect(strapi.entityService.delete(note, id)).rejects.toThrow('Delete requires a where parameter');
        await request('PUT', id, 500);
        await request('DELETE', id, 500);
      });
      const rows = strapi.db.query(note);
      for (const where of [undefined, null, {}, { $and: [] }, { $and: [{}] }]) {
        const given = where === undefined ? {} : { where };
        await expect(rows.update({ ...given, data })).rejects.toThrow('Update requires a where parameter');
        await expect(rows.delete(given)).rejects.toThrow('Delete requires a where parameter');
      }
      await expect(rows.delete()).rejects.toThrow('Delete requires a where parameter');
      expect([await textOf(id), await count()]).toEqual(['kept', before]);
    });

    it('that is wrong is a fault of the hook, not of the client', async () => {
      const { id } = await noteOf('kept');
      const hook = around(({ params }) => Object.assign(params.where, { tenant: 1 }));
      for (const method of ['PUT', 'DELETE']) await hooked(hook, () => request(method, id, 500));
      expect(await textOf(id)).toBe('kept');
    });

    it('may be given by a hook, where there was none or no row', async () => {
      const [one, two, three] = [await noteOf('one'), await noteOf('two'), await noteOf('three')];
      const rows = strapi.db.query(note);
      const times: unknown[] = [];
      const naming = ({ id }: Row) =>
        around(({ params }) => {
          times.push(params.data?.['updatedAt']);
          params.where = { id };
        });
      expect(await hooked(naming(one), () => rows.update({ data }))).toMatchObject({ id: one.id, ...data });
      const absent = { where: { text: 'absent' } };
      expect(await hooked(naming(two), () => rows.update({ ...absent, data }))).toMatchObject({ id: two.id, ...data });
      expect(await hooked(naming(three), () => rows.delete(absent))).toMatchObject({ id: three.id });
      expect(times).toEqual([expect.any(Date), expect.any(Date), undefined]);
      expect(await rows.update({ ...absent, data })).toBeNull();
    });

    it('narrows the endpoints of users, and cannot turn them to another one', async () => {
      const add = (username: string) => {
        const added = { username, email: `${username}@example.org`, password: 'Passw0rd!', provider: 'local' };
        return strapi.plugin('users-permissions').service('user').add(added);
      };
      const [ann, ben] = [await add('where-ann'), await add('where-ben')];
      const put = (hook: (event: HookEvent) => unknown) =>
        hooked(around(hook), () => served.json('PUT', `/api/users/${ann.id}`, { username: 'where-else' }), user);
      const narrow = (username: string) =>
        put(({ params }) => {
          params.where = { ...params.where, username };
        });
      expect((await narrow('where-ben')).status).toBe(404);
      const turned = await put(({ params }) => {
        params.where = { id: ben.id };
      });
      expect(turned.status).toBe(500);
      expect(served.logged.join('')).toContain(`beforeUpdate of ${user} has set params.where to another entry`);
      const names = await strapi.entityService.findMany(user, { filters: { username: { $startsWith: 'where' } } });
      expect(names.map((it) => it['username'])).toEqual(['where-ann', 'where-ben']);
      expect((await narrow('where-ann')).status).toBe(200);
    });
  });

  describe('a hook that deletes the entry itself, with others', () => {
    const after: unknown[] = [];
    const deleting = (uid: string, condition: (where: Members) => object): Hooks => ({
      beforeDelete: ({ params }) => strapi.db.query(uid).deleteMany({ where: condition(params.where) }),
      afterDelete: ({ result }) => after.push(result),
    });
    beforeEach(() => {
      after.length = 0;
    });

    it.each<readonly [way: string, work: (id: number) => Promise<unknown>, answer: unknown]>([
      ['db.query.delete', (id) => strapi.db.query(note).delete({ where: { id } }), null],
      ['entityService.delete', (id) => strapi.entityService.delete(note, id), { text: 'tree' }],
      [
        'DELETE',
        (id) => served.json('DELETE', `/api/notes/${id}`),
        { status: 200, body: { data: { attributes: { text: 'tree' } } } },
      ],
    ])('has them deleted (%s)', async (_way, work, answer) => {
      const { id } = await noteOf('tree');
      await noteOf('tree/leaf');
      const tree = { text: { $startsWith: 'tree' } };
      const answered = await hooked(
        deleting(note, () => tree),
        () => work(id),
      );
      if (answer === null) expect(answered).toBeNull();
      else expect(answered).toMatchObject(answer as object);
      expect(await strapi.entityService.findMany(note, { filters: tree })).toEqual([]);
      // as in v4
      expect(after).toEqual([]);
    });

    it('has a user deleted too, of whom nothing is left to show', async () => {
      const given = { username: 'gone', email: 'gone@example.org', password: 'Passw0rd!', provider: 'local' };
      const { id } = await strapi.plugin('users-permissions').service('user').add(given);
      const removed = await hooked(
        deleting(user, (where) => where),
        () => served.json('DELETE', `/api/users/${id}`),
        user,
      );
      expect([removed.status, await strapi.entityService.findOne(user, id)]).toEqual([204, null]);
      expect(after).toEqual([]);
    });
  });

  describe('hooks of reads', () => {
    const told: string[] = [];
    const tell = ({ action }: HookEvent): void => void told.push(action);
    const hiding: Hooks = {
      beforeFindOne: tell,
      afterFindOne: (event) => {
        tell(event);
        if (event.result) event.result['stock'] = 'hidden';
      },
    };
    const results: unknown[] = [];
    const after = (event: HookEvent): void => {
      tell(event);
      results.push(event.result['stock']);
    };
    const writing: Hooks = {
      ...{ beforeCreate: tell, beforeUpdate: tell, beforeDelete: tell },
      ...{ afterCreate: after, afterUpdate: after, afterDelete: after },
    };
    beforeEach(() => {
      told.length = 0;
      results.length = 0;
    });
    const found = ['beforeFindOne', 'afterFindOne'];
    const data = { title: 'seen', slug: 's', stock: 3 };

    it('see what a write returns, before those after it', async () => {
      const { id } = await strapi.entityService.create(plan, { data });
      const rows = strapi.db.query(plan);
      const calls: readonly [work: () => Promise<unknown>, order: readonly string[]][] = [
        [() => strapi.entityService.create(plan, { data }), ['beforeCreate', ...found, 'afterCreate']],
        [() => rows.create({ data }), ['beforeCreate', ...found, 'afterCreate']],
        [() => strapi.entityService.update(plan, id, { data }), [...found, 'beforeUpdate', ...found, 'afterUpdate']],
        [() => rows.update({ where: { id }, data }), ['beforeUpdate', ...found, 'afterUpdate']],
        [() => rows.delete({ where: { id } }), ['beforeDelete', ...found, 'afterDelete']],
      ];
      for (const [work, order] of calls) {
        told.length = 0;
        expect(await hooked({ ...hiding, ...writing }, work, plan)).toMatchObject({ title: 'seen', stock: 'hidden' });
        expect(told).toEqual(order);
      }
      expect(results).toEqual(calls.map(() => 'hidden'));
    });

    it('see the responses of POST, PUT and DELETE, with hooks of writes and without', async () => {
      for (const hooks of [hiding, { ...hiding, ...writing }])
        await hooked(
          hooks,
          async () => {
            const made = await served.json('POST', '/api/plans', { data });
            const url = `/api/plans/${idOf(made)}`;
            const changed = await served.json('PUT', url, { data: { stock: 4 } });
            const gone = await served.json('DELETE', url);
            for (const { body } of [made, changed, gone])
              expect(body).toMatchObject({ data: { attributes: { title: 'seen', stock: 'hidden' } } });
          },
          plan,
        );
      expect(results).toEqual(['hidden', 'hidden', 'hidden']);
    });

    it('may hide what was written', async () => {
      const { id } = await strapi.entityService.create(plan, { data });
      const nothing: Hooks = {
        beforeFindOne: ({ params }) => {
          params.where = { ...params.where, stock: 5 };
        },
      };
      const rows = strapi.db.query(plan);
      expect(await hooked(nothing, () => rows.update({ where: { id }, data: { stock: 4 } }), plan)).toBeNull();
      expect(await stockOf(id)).toBe(4);
      expect(await hooked(nothing, () => rows.delete({ where: { id } }), plan)).toBeNull();
      expect(await stockOf(id)).toBe(4);
    });
    const stockOf = async (id: number) => (await strapi.db.query(plan).findOne({ where: { id } }))['stock'];
  });

  describe('passwords', () => {
    const isHashOf = async (password: string, hash: unknown) => {
      expect(hash).toMatch(/^\$2[ab]\$10\$/);
      expect(await bcrypt.verify(password, String(hash))).toBe(true);
    };
    const passwordOf = async (id: number) => (await strapi.db.query(user).findOne({ where: { id } }))['password'];
    let count = 0;
    const somebody = (password: string) => {
      const username = `user${++count}`;
      return { username, email: `${username}@example.org`, password };
    };
    const register = async (password: string) => {
      const { status, body } = await served.json('POST', '/api/auth/local/register', somebody(password));
      return { status, id: (body as { user?: Row }).user?.id ?? 0 };
    };
    const signsIn = async (id: number, password: string) => {
      const { username } = await strapi.db.query(user).findOne({ where: { id } });
      return (await served.json('POST', '/api/auth/local', { identifier: username, password })).status === 200;
    };

    it('are hashes before they are stored, by every way in', async () => {
      const { id } = await register('Passw0rd!');
      await isHashOf('Passw0rd!', seen()['password']);
      // as v4's accounts ask for it
      expect(strapi.after).toMatchObject([{ id, role: { type: 'authenticated' } }]);
      expect([await passwordOf(id), await signsIn(id, 'Passw0rd!')]).toEqual([seen()['password'], true]);
      await served.json('PUT', `/api/users/${id}`, { password: 'An0ther!!' });
      await isHashOf('An0ther!!', seen()['password']);
      expect(await signsIn(id, 'An0ther!!')).toBe(true);
      await strapi.entityService.update(user, id, { data: { password: 'Th1rd!!!' } });
      await isHashOf('Th1rd!!!', seen()['password']);
      expect(await signsIn(id, 'Th1rd!!!')).toBe(true);
      const added = { ...somebody('F0urth!!'), provider: 'local', confirmed: true };
      const { id: other } = await strapi.plugin('users-permissions').service('user').add(added);
      await isHashOf('F0urth!!', seen()['password']);
      expect(await signsIn(other, 'F0urth!!')).toBe(true);
      expect(JSON.stringify(strapi.seen)).not.toMatch(/Passw0rd!|An0ther!!|Th1rd!!!|F0urth!!/);
    });

    it('that a hook has hashed are stored as they are, and others are hashed', async () => {
      const hash = await bcrypt.hash('of the hook', { cost: 4 });
      strapi.change = (data) => {
        data['password'] = hash;
      };
      const { id } = await register('Passw0rd!');
      expect([await passwordOf(id), await signsIn(id, 'of the hook')]).toEqual([hash, true]);
      strapi.change = (data) => {
        data['password'] = 'plain text';
      };
      await strapi.entityService.update(user, id, { data: { password: 'Passw0rd!' } });
      await isHashOf('plain text', await passwordOf(id));
      strapi.change = (data) => {
        data['password'] = 'x'.repeat(100);
      };
      await expect(strapi.entityService.update(user, id, { data: {} })).rejects.toThrow('password');
    });

    it('that look like a hash are hashed if they come from a client, even if a hook hands them on', async () => {
      const hash = await bcrypt.hash('of the attacker', { cost: 4 });
      const { id } = await register(hash);
      expect([await signsIn(id, 'of the attacker'), await signsIn(id, hash)]).toEqual([false, true]);
      const { body } = await served.json('POST', '/api/plans', { data: { slug: 's', pin: hash } });
      expect(body).toMatchObject({ error: { details: { errors: [{ path: ['pin'] }] } } });
      strapi.change = (data) => {
        data['password'] = data['username'];
      };
      const sent = { ...somebody('Passw0rd!'), username: hash };
      const { body: made } = await served.json('POST', '/api/auth/local/register', sent);
      expect(await passwordOf((made as { user: Row }).user.id)).not.toBe(hash);
    });

    it('keep the rules of what was given, in components too', async () => {
      const create = (data: object) => served.json('POST', '/api/plans', { data: { slug: 's', ...data } });
      expect((await create({ pin: '123' })).status).toBe(400);
      expect((await create({ pin: '123456789' })).status).toBe(400);
      expect((await create({ box: { lock: '123' } })).status).toBe(400);
      expect(strapi.seen).toEqual([]);
      const id = idOf(await create({ pin: '12345', box: { lock: '54321' }, boxes: [{ lock: '1111' }] }));
      await isHashOf('12345', seen()['pin']);
      const row = await strapi.entityService.findOne(plan, id, { populate: ['box', 'boxes'] });
      expect(row).toMatchObject({ pin: seen()['pin'] });
      await isHashOf('54321', (row['box'] as Row)['lock']);
      await isHashOf('1111', (row['boxes'] as readonly Row[])[0]!['lock']);
    });
  });
});

it.each(dialects)('closing waits for work that a hook has left on %s', async (dialect) => {
  const served = await serveCode(dialect, files);
  const { strapi } = globalThis as unknown as { strapi: Code };
  await served.json('POST', '/api/notes', { data: { text: 'read' } });
  await served.close();
  expect(strapi.seen).toEqual([1, 1]);
});

const photo = 'api::photo.photo';
const uploading = {
  ...typeFile('photo', { title: { type: 'string' }, pictures: { type: 'media', multiple: true } }),
  ...coreFile('Router', 'photo'),
  'src/api/photo/content-types/photo/lifecycles.js': `module.exports = {
    beforeUpdate() { strapi.seen.push('before'); },
    async afterUpdate({ result: { id } }) {
      strapi.seen.push('after');
      await strapi.plugin('upload').service('upload').upload({
        data: { ref: '${photo}', refId: id, field: 'pictures' },
        files: { name: 'log.txt', type: 'text/plain', buffer: Buffer.from('x') },
      });
    },
  };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['${photo}.update', 'plugin::upload.content-api.upload']);
    strapi.seen = [];
    strapi.db.lifecycles.subscribe({ models: ['plugin::upload.file'], afterCreate: ({ result }) => void strapi.seen.push(result.name) });
    strapi.eventHub.subscribe((name) => void strapi.seen.push(name));
  } };`,
};

describe.each(dialects)('uploads that refer to an entry on %s', (dialect) => {
  let served: CodeProject;
  let strapi: Code;
  let id: number;
  beforeAll(async () => {
    served = await serveCode(dialect, uploading);
    ({ strapi } = globalThis as unknown as { strapi: Code });
  });
  afterAll(() => served.close());
  beforeEach(async () => {
    ({ id } = await strapi.entityService.create(photo, { data: { title: 'a' } }));
    await vi.waitFor(() => expect(strapi.seen).toContain('entry.create'), 20_000);
    strapi.seen.length = 0;
  });
  const pictures = async (): Promise<readonly unknown[]> =>
    ((await strapi.entityService.findOne(photo, id, { populate: ['pictures'] }))['pictures'] as readonly Row[]).map(
      (it) => it['name'],
    );

  it('UP11: run hooks of the file and none of the entry, so that afterUpdate may upload', async () => {
    expect((await served.json('PUT', `/api/photos/${id}`, { data: { title: 'b' } })).status).toBe(200);
    await vi.waitFor(() => expect(strapi.seen).toHaveLength(5), 20_000);
    expect(strapi.seen).toEqual(['before', 'after', 'log.txt', 'entry.update', 'media.create']);
    expect(await pictures()).toEqual(['log.txt']);
  });

  it('UP11: by a form neither; webhooks are told of the entry, listeners of the file alone', async () => {
    const receiver = await newReceiver();
    const { notifier } = served.site;
    await addWebhook({ name: 'site', url: receiver.url, headers: {}, events: ['entry.update'] }, served.db);
    await notifier.start();
    const fields = { ref: photo, refId: String(id), field: 'pictures' };
    const { status } = await served.form('POST', '/api/upload', { ...fields, files: ['a.txt', 'text/plain', 'abc'] });
    const [{ body }] = (await receiver.received(1)) as [Receiver['hooks'][number]];
    expect([status, body]).toMatchObject([200, { event: 'entry.update', uid: photo, entry: { id } }]);
    await vi.waitFor(() => expect(strapi.seen).toEqual(['a.txt', 'media.create']), 20_000);
    expect(await pictures()).toEqual(['a.txt']);
    await notifier.stop();
    await receiver.close();
  });
});
