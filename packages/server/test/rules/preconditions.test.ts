/** BO11: preconditions of writes (RFC 9110, 13.1), and the first PUT of a single type, on both databases. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/handlers/handlers.js';
import { allowing, type CodeProject, coreFile, serveCode, singleTypeFile, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const text = { type: 'string' };
const project: SmallProject = {
  types: {
    note: { attributes: { text } },
    secret: { options: { privateAttributes: ['updatedAt'] }, attributes: { text } },
    board: {
      kind: 'singleType',
      collectionName: 'boards',
      info: { singularName: 'board', pluralName: 'boards', displayName: 'Board' },
      attributes: { text },
    },
  },
};

describe.each(dialects)('preconditions on %s', (dialect) => {
  let world: SmallWorld;
  let events: string[] = [];
  const now = Date.UTC(2024, 0, 31, 12, 0, 0, 700);

  beforeAll(async () => {
    const board: Handlers = {
      beforeCreate: async ({ content }) => {
        events.push('beforeCreate');
        await content.create('api::note.note', { text: 'board made' });
      },
      beforeUpdate: () => void events.push('beforeUpdate'),
    };
    world = await newSmallWorld(dialect, project, { handlers: new Map([['api::board.board', board]]), now: () => now });
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    events = [];
    await world.send('DELETE', '/api/board');
  });

  const made = async (type = 'notes'): Promise<string> => {
    const { body } = await world.send('POST', `/api/${type}`, { data: { text: 'a' } });
    return `/api/${type}/${(body as { data: { id: number } }).data.id}`;
  };
  const put = async (url: string, headers: Record<string, string>): Promise<number> =>
    (await world.send('PUT', url, { data: { text: 'b' } }, headers)).status;
  const failed = { error: { status: 412, name: 'PreconditionFailedError' } };

  it('BO11: If-None-Match: * refuses PUT and DELETE of an entry, and changes nothing', async () => {
    const url = await made();
    const headers = { 'if-none-match': '*' };
    for (const [method, body] of [
      ['PUT', { data: { text: 'b' } }],
      ['DELETE', undefined],
    ] as const)
      expect((await world.send(method, url, body, headers)).body).toMatchObject(failed);
    expect((await world.send('GET', url)).body).toMatchObject({ data: { attributes: { text: 'a' } } });
    expect((await world.send('PUT', '/api/notes/999999', { data: {} }, headers)).status).toBe(404);
    expect((await world.send('POST', '/api/notes', { data: {} }, headers)).status).toBe(200);
  });

  it('BO11: If-None-Match: * creates the entry of a single type once', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => put('/api/board', { 'if-none-match': '*' })));
    expect(answers.sort()).toEqual([200, 412, 412, 412]);
    expect(await world.rows('boards')).toHaveLength(1);
  });

  it.each(['notes', 'secrets'])(
    'BO11: If-None-Match with the tag of the entry refuses the write of %s',
    async (type) => {
      const url = await made(type);
      const tag = String((await world.send('GET', url)).headers['etag']);
      expect(await put(url, { 'if-none-match': `"x", ${tag}` })).toBe(412);
      expect(await put(url, { 'if-none-match': '"x"' })).toBe(200);
      expect(await put(url, { 'if-none-match': tag })).toBe(200);
    },
  );

  it('BO11: If-Unmodified-Since compares whole seconds', async () => {
    const url = await made();
    const since = (date: string): Record<string, string> => ({ 'if-unmodified-since': date });
    const before = since('Wed, 31 Jan 2024 11:59:59 GMT');
    expect(await put(url, before)).toBe(412);
    expect((await world.send('DELETE', url, undefined, before)).body).toMatchObject(failed);
    expect(await put(url, since('Wed, 31 Jan 2024 12:00:00 GMT'))).toBe(200);
    expect(await put(url, since('no date'))).toBe(200);
    expect((await world.send('POST', '/api/notes', { data: {} }, before)).status).toBe(200);
    // RFC 9110, 13.1.4: ignored beside If-Match
    expect(await put(url, { ...before, 'if-match': '*' })).toBe(200);
    // a private time is not told
    expect(await put(await made('secrets'), before)).toBe(200);
  });

  it('of many first PUTs of a single type one runs the hooks of a creation, the others those of an update', async () => {
    const notes = (await world.rows('notes')).length;
    const answers = await Promise.all(Array.from({ length: 6 }, () => put('/api/board', {})));
    expect(answers).toEqual(answers.map(() => 200));
    expect(events.toSorted()).toEqual(['beforeCreate', ...Array.from({ length: 5 }, () => 'beforeUpdate')]);
    expect((await world.rows('notes')).length).toBe(notes + 1);
  });
});

describe.each(dialects)('preconditions of types with code of a v4 project on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...typeFile('hooked', { text }),
      ...coreFile('Router', 'hooked'),
      ...typeFile('served', { text }),
      ...coreFile('Router', 'served'),
      ...coreFile(
        'Service',
        'served',
        `() => ({
          update(id, params) { return super.update(id, params); },
          delete(id, params) { return super.delete(id, { ...params }); },
        })`,
      ),
      ...typeFile('remade', { text }),
      ...coreFile('Router', 'remade'),
      ...coreFile(
        'Service',
        'remade',
        `({ strapi }) => ({
          async update(id, { data }) {
            if (data.text === 'counted') await strapi.db.query('api::remade.remade').updateMany({ where: { id }, data: { text: 'counted' } });
            await strapi.entityService.create('api::hooked.hooked', { data });
            await super.update(id, { data });
            return super.update(id, { data: {} });
          },
          delete(id) { return super.delete(id); },
          create({ data }) { return super.create({ data }); },
        })`,
      ),
      ...typeFile('slugged', { text }),
      ...coreFile('Router', 'slugged'),
      ...coreFile(
        'Service',
        'slugged',
        `({ strapi }) => ({
          async update(slug, { data }) {
            const [{ id }] = await strapi.entityService.findMany('api::slugged.slugged', { filters: { text: slug } });
            return super.update(id, { data });
          },
        })`,
      ),
      ...typeFile('other', { text }),
      ...coreFile('Router', 'other'),
      ...coreFile('Service', 'other', '() => ({ update(id, params) { return super.update(1, params); } })'),
      ...singleTypeFile('page', { text }),
      ...coreFile('Router', 'page'),
      ...coreFile('Service', 'page', '() => ({ createOrUpdate({ data }) { return super.createOrUpdate({ data }); } })'),
      'src/index.js': `module.exports = { async bootstrap({ strapi }) {
        ${allowing}
        const actions = ['create', 'update', 'find', 'findOne', 'delete'];
        await allow('public', ['hooked', 'served', 'remade', 'slugged', 'other', 'page'].flatMap((type) => actions.map((it) => 'api::' + type + '.' + type + '.' + it)));
        strapi.db.lifecycles.subscribe({ models: ['api::hooked.hooked'], beforeUpdate() {}, beforeDelete() {} });
      } };`,
    });
  });
  afterAll(() => served.close());

  it.each(['hookeds', 'serveds', 'remades'])('BO11: If-Match counts for %s', async (types) => {
    await served.json('POST', `/api/${types}`, { data: { text: 'a' } });
    const url = `/api/${types}/1`;
    const seen = async (): Promise<{ 'if-match': string }> => ({
      'if-match': String((await served.json('GET', url)).headers['etag']),
    });
    const stale = await seen();
    const put = async (given: string): Promise<number> =>
      (await served.json('PUT', url, { data: { text: given } }, stale)).status;
    expect([await put('first'), await put('second')]).toEqual([200, 412]);
    expect((await served.json('DELETE', url, undefined, stale)).status).toBe(412);
    expect((await served.json('GET', url)).body).toMatchObject({ data: { attributes: { text: 'first' } } });
    expect((await served.json('DELETE', url, undefined, await seen())).status).toBe(200);
  });

  it('BO11: If-Match is checked before whatever writes the entry first', async () => {
    const { id } = (
      (await served.json('POST', '/api/remades', { data: { text: 'a' } })).body as { data: { id: number } }
    ).data;
    const url = `/api/remades/${id}`;
    const stale = { 'if-match': '"stale.0"' };
    expect((await served.json('PUT', url, { data: { text: 'counted' } }, stale)).status).toBe(412);
    expect((await served.json('GET', url)).body).toMatchObject({ data: { attributes: { text: 'a' } } });
    expect((await served.json('PUT', url, { data: { text: 'counted' } })).status).toBe(200);
  });

  it('BO11: If-Match counts for the entry that a service finds for a slug', async () => {
    await served.json('POST', '/api/sluggeds', { data: { text: 'a' } });
    const { etag } = (await served.json('GET', '/api/sluggeds/1')).headers;
    const put = async (slug: string, text: string): Promise<number> =>
      (await served.json('PUT', `/api/sluggeds/${slug}`, { data: { text } }, { 'if-match': String(etag) })).status;
    expect([await put('a', 'b'), await put('b', 'c')]).toEqual([200, 412]);
  });

  it('BO11: If-Match of one entry says nothing about another that the service writes in its place', async () => {
    for (const text of ['a', 'b']) await served.json('POST', '/api/others', { data: { text } });
    const { etag } = (await served.json('GET', '/api/others/2')).headers;
    const changed = await served.json('PUT', '/api/others/2', { data: { text: 'c' } }, { 'if-match': String(etag) });
    expect(changed).toMatchObject({ status: 200, body: { data: { id: 1, attributes: { text: 'c' } } } });
  });

  it('BO11: If-Match creates nothing, neither an entry of a collection nor that of a single type', async () => {
    const any = { 'if-match': '*' };
    expect((await served.json('POST', '/api/remades', { data: { text: 'a' } }, any)).status).toBe(412);
    expect((await served.json('PUT', '/api/page', { data: { text: 'a' } }, any)).status).toBe(412);
    expect((await served.json('GET', '/api/page')).status).toBe(404);
    expect((await served.json('PUT', '/api/page', { data: { text: 'a' } })).status).toBe(200);
    const { headers } = await served.json('GET', '/api/page');
    const put = async (text: string): Promise<number> =>
      (await served.json('PUT', '/api/page', { data: { text } }, { 'if-match': String(headers['etag']) })).status;
    expect([await put('b'), await put('c')]).toEqual([200, 412]);
  });
});
