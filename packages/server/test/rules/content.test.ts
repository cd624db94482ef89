/**
 * Content access of project code, with queries as objects, on both databases; and the request's own query as an object.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Content, Handlers, QueryObject, Step } from '../../src/handlers/handlers.js';
import { limits } from '../../src/limits.js';
import { dialects } from '../world/databases.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const NOTE = 'api::note.note';

const project: SmallProject = {
  types: {
    note: {
      attributes: {
        text: { type: 'string' },
        count: { type: 'integer' },
        done: { type: 'boolean' },
        at: { type: 'datetime' },
        big: { type: 'biginteger' },
        parent: { type: 'relation', relation: 'manyToOne', target: NOTE, inversedBy: 'children' },
        children: { type: 'relation', relation: 'oneToMany', target: NOTE, mappedBy: 'parent' },
      },
    },
    board: { kind: 'singleType', attributes: { text: { type: 'string' } } },
  },
};

describe.each(dialects)('content on %s', (dialect) => {
  let world: SmallWorld;
  /** What the handler of the next request does. */
  let work: (step: Step) => Promise<unknown>;

  beforeAll(async () => {
    const handlers: Handlers = { find: async (step) => ({ data: await work(step) }) };
    world = await newSmallWorld(dialect, project, { handlers: new Map([[NOTE, handlers]]) });
    await world.insert('notes', [
      { id: 1, text: 'one', count: 1, done: true, at: 1_700_000_000_000, big: '9007199254740993' },
      { id: 2, text: 'a&populate=*', count: 2, done: false },
      { id: 3, text: '[0]', count: null },
    ]);
    await world.insert('notes_parent_links', [{ id: 1, note_id: 2, inv_note_id: 1, note_order: 1 }]);
  });
  afterAll(() => world.close());

  /** The result of the work inside a handler. */
  const inHandler = async (given: (step: Step) => Promise<unknown>, search = '') => {
    work = given;
    const { status, body } = await world.send('GET', `/api/notes${search}`);
    return { status, body: body as { data: unknown; error?: { message: string; details: { errors: unknown } } } };
  };
  const withContent = (given: (content: Content) => Promise<unknown>) => inHandler(({ content }) => given(content));
  const found = async (query: QueryObject): Promise<unknown> => {
    const { status, body } = await withContent(async (content) => (await content.find(NOTE, query)).data);
    expect([status, body.error]).toEqual([200, undefined]);
    return (body.data as readonly { id: number }[]).map((it) => it.id);
  };

  it.each<[QueryObject, readonly number[]]>([
    [{ filters: { text: 'a&populate=*' } }, [2]],
    [{ filters: { text: { $in: ['[0]', 'one'] } } }, [1, 3]],
    [{ filters: { count: 2 } }, [2]],
    [{ filters: { count: { $gte: 1, $lt: 2 } } }, [1]],
    [{ filters: { done: true } }, [1]],
    [{ filters: { done: { $ne: true } } }, [2]],
    [{ filters: { count: null } }, [3]],
    [{ filters: { count: { $notNull: true } } }, [1, 2]],
    [{ filters: { at: new Date(1_700_000_000_000) } }, [1]],
    [{ filters: { parent: { text: 'one' } } }, [2]],
    [{ filters: { parent: 1 } }, [2]],
    [{ filters: { $or: [{ count: 1 }, { text: { $startsWith: '[' } }] } }, [1, 3]],
    [{ filters: { $not: { id: { $in: [1, 2] } } } }, [3]],
    [{ filters: { count: undefined } }, [1, 2, 3]],
    [{ filters: {} }, [1, 2, 3]],
    [{ filters: { id: { $in: [] } } }, []],
    [{ filters: { id: { $notIn: [] } } }, [1, 2, 3]],
    [{ filters: { $or: [] } }, []],
    [{ filters: { $or: [], id: 1 } }, []],
    [{ filters: { $not: { $or: [] } } }, [1, 2, 3]],
    [{ filters: { text: { $eq: [] } } }, []],
    [{ filters: { text: { $ne: [] } } }, [1, 2, 3]],
    [{ filters: { text: [] } }, []],
    [{ filters: { $and: [] } }, [1, 2, 3]],
    [{ filters: { parent: {} } }, [1, 2, 3]],
    [{ sort: 'id:desc' }, [3, 2, 1]],
    [{ sort: ['text:desc', 'id'] }, [1, 2, 3]],
    [{ sort: { id: 'desc' } }, [3, 2, 1]],
    [{ sort: [] }, [1, 2, 3]],
    [{ pagination: { page: 2, pageSize: 2 } }, [3]],
    [{ pagination: { start: 1, limit: 1, withCount: false } }, [2]],
    [{ _q: 'populate' }, [2]],
  ])('find: %j', async (query, ids) => {
    expect(await found(query)).toEqual(ids);
  });

  it('find: a bigint keeps all its digits', async () => {
    expect(await found({ filters: { big: 9007199254740993n } })).toEqual([1]);
    expect(await found({ filters: { big: 9007199254740992n } })).toEqual([]);
  });

  it('fields and populate in every form', async () => {
    const one = async (query: QueryObject): Promise<unknown> =>
      (await withContent(async (content) => (await content.findOne(NOTE, 2, query))?.data)).body.data;
    const parent = { data: { id: 1, attributes: { text: 'one' } } };
    expect(await one({ fields: ['text'] })).toEqual({ id: 2, attributes: { text: 'a&populate=*' } });
    expect(await one({ fields: [] })).toEqual({ id: 2, attributes: {} });
    expect(await one({ fields: 'text', populate: { parent: { fields: ['text'] } } })).toEqual({
      id: 2,
      attributes: { text: 'a&populate=*', parent },
    });
    for (const populate of ['*', 'parent', ['parent'], { parent: true }, { parent: {} }, { parent: '*' as const }])
      expect(await one({ fields: [], populate })).toMatchObject({ attributes: { parent: { data: { id: 1 } } } });
    for (const populate of [[], {}, { parent: false }])
      expect(await one({ fields: [], populate })).toEqual({ id: 2, attributes: {} });
    expect(
      await one({ fields: [], populate: { parent: { fields: [], populate: { children: { fields: [] } } } } }),
    ).toEqual({
      id: 2,
      attributes: { parent: { data: { id: 1, attributes: { children: { data: [{ id: 2, attributes: {} }] } } } } },
    });
  });

  it('an error in a query is refused with its path, as in a query string', async () => {
    const faults = async (query: unknown): Promise<unknown> => {
      const { status, body } = await withContent((content) => content.find(NOTE, query as QueryObject));
      return [status, body.error?.message];
    };
    expect(await faults({ filters: { txt: 'x' } })).toEqual([
      400,
      'Invalid parameter filters[txt]: note has no attribute "txt". Did you mean "text"?',
    ]);
    expect(await faults({ filtres: {} })).toEqual([
      400,
      'Invalid parameter filtres: there is no parameter "filtres". Did you mean "filters"?',
    ]);
    expect(await faults({ utm_source: 'x' })).toMatchObject([400, expect.stringContaining('utm_source')]);
    expect(await faults({ filters: { text: 'a\0b' } })).toEqual([
      400,
      'Invalid parameter filters[text]: NUL characters are not accepted',
    ]);
    expect(
      await faults({ filters: { id: { $in: Array.from({ length: limits.inListMax + 1 }, (_none, i) => i) } } }),
    ).toEqual([400, `Invalid parameter filters[id][$in]: more than ${limits.inListMax} values`]);
    const many = Array.from({ length: limits.queryValuesMax }, () => ({ count: 1 }));
    expect(await faults({ filters: { $or: many } })).toMatchObject([
      400,
      expect.stringContaining(`${limits.queryValuesMax} names and values`),
    ]);
    let deep: unknown = { text: 'x' };
    for (let i = 0; i < 100_000; i++) deep = { $not: deep };
    expect(await faults({ filters: deep })).toMatchObject([400, expect.stringContaining('levels deep')]);
  });

  it('a query that is not a plain data object is an error in the project: a 500 that the log explains', async () => {
    for (const query of [
      'filters[text]=one',
      ['text'],
      null,
      { filters: { text: () => 'x' } },
      { filters: { text: Symbol('x') } },
    ]) {
      expect((await withContent((content) => content.find(NOTE, query as QueryObject))).status).toBe(500);
      expect(world.logged.at(-1)).toMatch(/a query (is an object|holds data only)/);
    }
  });

  it('a missing single type is null, and creating it twice updates the one entry', async () => {
    const board = 'api::board.board';
    const { body } = await withContent(async (content) => [
      await content.find(board),
      await content.create(board, { text: 'a' }),
      await content.create(board, { text: 'b' }),
      await content.find(board, { fields: ['text'] }),
    ]);
    expect(body.data).toMatchObject([
      { data: null },
      { data: { id: 1, attributes: { text: 'a' } } },
      { data: { id: 1, attributes: { text: 'b' } } },
      { data: { id: 1, attributes: { text: 'b' } } },
    ]);
    expect(await world.rows('boards')).toHaveLength(1);
  });

  it('data that is not an object is refused', async () => {
    for (const data of [undefined, null, 5, 'text', []]) {
      const { status } = await withContent((content) => content.create(NOTE, data as never));
      expect([data, status]).toEqual([data, 400]);
    }
  });

  it('the request’s query is an object that the handler may change, and next() accepts another', async () => {
    const search =
      '?fields[0]=text&filters[count][$gte]=1&sort=id&filters[text]=one&filters[text]=%5B0%5D&pagination[pageSize]=5';
    const seen = await inHandler(async ({ request }) => request.query, search);
    expect(seen.body.data).toEqual({
      fields: ['text'],
      filters: { count: { $gte: '1' }, text: ['one', '[0]'] },
      sort: 'id',
      pagination: { pageSize: '5' },
    });
    const own = await inHandler(async ({ request, next }) => {
      const { filters = {}, ...query } = request.query;
      return (await next({ query: { ...query, filters: { $and: [filters, { id: { $gt: 1 } }] } } })).json().data;
    }, '?filters[count][$notNull]=true&fields=id');
    expect(own.body.data).toEqual([{ id: 2, attributes: {} }]);
    expect((await inHandler(async ({ request }) => request.query, '?filters[a]=1&filters[a][b]=2')).status).toBe(400);
    expect((await inHandler(async ({ request }) => request.query, '?filters[a]=%00')).status).toBe(400);
  });
});
