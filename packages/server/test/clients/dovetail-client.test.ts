/** `dovetail-client` against the magazine on a port: what it sends, what it makes of responses, and the types of both. */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createClient, DovetailError, encodeQuery } from 'dovetail-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Schema } from '../../../client/test/magazine/schema.js';
import { openProject } from '../../src/cli/project.js';
import { typescriptOf } from '../../src/describe/typescript.js';
import { type Magazine, newMagazine, token } from '../world/magazine.js';
import { openForTests } from '../world/opening.js';
import { dialects } from '../world/world.js';

const root = path.join(import.meta.dirname, '../../../..');
const picture = fs.readFileSync(path.join(root, 'examples/magazine/public/uploads/workbench_640461831c.png'));

const faultOf = async (work: Promise<unknown>): Promise<DovetailError> => {
  const fault = await work.then(
    () => null,
    (it: unknown) => it,
  );
  if (fault instanceof DovetailError) return fault;
  throw new Error('expected a DovetailError', { cause: fault });
};

const listed = async <T>(all: AsyncIterable<T>): Promise<T[]> => {
  const list: T[] = [];
  for await (const it of all) list.push(it);
  return list;
};

it('the types of its tests are those of the magazine', async () => {
  const { model } = await openProject(path.join(root, 'examples/magazine'));
  expect(fs.readFileSync(path.join(root, 'packages/client/test/magazine/schema.ts'), 'utf8')).toBe(typescriptOf(model));
});

describe.each(dialects)('dovetail-client on %s', (dialect) => {
  const opened = openForTests(async () => {
    const magazine = await newMagazine(dialect);
    return { url: await magazine.listen(), close: () => magazine.close() } satisfies Partial<Magazine> & {
      url: string;
    };
  });
  const client = () => createClient<Schema>({ url: opened().url, token });
  const articles = () => client().collection('articles');

  describe('reads', () => {
    it('a list: filters, sort, fields, a page and populate', async () => {
      const { data, meta, ignored } = await articles().find({
        fields: ['title'],
        filters: { author: { name: { $contains: 'a' } }, publishedOn: { $gte: new Date('2020-01-01') } },
        sort: ['publishedOn:desc', 'author.name'],
        populate: { author: { fields: ['name'] }, categories: { fields: ['name'], sort: 'name' } },
        pagination: { pageSize: 1 },
      });
      expect(data).toEqual([
        {
          id: 12,
          attributes: {
            title: 'Closing Time at the Hardware Shop',
            author: { data: { id: 1, attributes: { name: 'Maren Ødegård' } } },
            categories: {
              data: [
                { id: 2, attributes: { name: 'Cities' } },
                { id: 5, attributes: { name: 'Mending' } },
              ],
            },
          },
        },
      ]);
      expect(meta.pagination).toEqual({ page: 1, pageSize: 1, pageCount: 12, total: 12 });
      expect(ignored).toEqual([]);
    });

    it('the flat form: entries, components, polymorphic keys, writes and localized entries', async () => {
      const flat = createClient<Schema>({ url: opened().url, token, format: 'flat' });
      const { data } = await flat.collection('articles').findOne(12, {
        fields: 'title',
        populate: { author: { fields: 'name' }, categories: { fields: 'name' }, seo: true },
      });
      expect(data).toMatchObject({
        id: 12,
        documentId: '12',
        title: 'Closing Time at the Hardware Shop',
        author: { id: 1, documentId: '1', name: 'Maren Ødegård' },
        categories: [{ documentId: '5' }, { documentId: '2', name: 'Cities' }],
      });
      const { data: made } = await flat.collection('categories').create({ name: 'Flat' });
      expect((await flat.collection('categories').findOne(made.documentId)).data).toEqual(made);
      const { data: page } = await flat.single('homepage').find();
      expect(page.documentId).toBe(String(page.id));
      await flat.collection('categories').delete(made.documentId);
    });

    it('an entry with one component of a zone', async () => {
      const { data } = await articles().findOne(1, {
        fields: 'title',
        populate: {
          sections: { on: { 'sections.quote': { fields: ['text'], populate: { speaker: { fields: 'name' } } } } },
        },
      });
      const [quote] = data.attributes.sections;
      expect(quote?.speaker.data?.attributes.name).toBe('Maren Ødegård');
    });

    it('operators, conditions joined by or and not, and texts with any character', async () => {
      const { data } = await articles().find({
        fields: ['title'],
        filters: {
          $or: [{ title: 'Slack Water' }, { $not: { id: { $gt: 1 } } }, { title: { $in: ['a&b=c', '[%]'] } }],
        },
      });
      expect(data.map(({ id }) => id)).toEqual([1]);
    });

    it.each([
      ['pages', { pagination: { pageSize: 5 } }],
      ['offsets', { pagination: { start: 0, limit: 5 } }],
      ['pages without a count', { pagination: { pageSize: 4, withCount: false } }],
    ])('all entries, by %s', async (_by, query) => {
      const all = await listed(articles().all({ ...query, fields: ['title'], sort: 'id' }));
      expect(all.map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    });

    it('every page of a list, from a given one on; an empty list is one page', async () => {
      const pages = await listed(articles().pages({ fields: ['title'], pagination: { page: 2, pageSize: 5 } }));
      expect(pages.map(({ data }) => data.length)).toEqual([5, 2]);
      for (const pagination of [{}, { page: 99 }, { start: 99 }])
        expect(await listed(articles().pages({ filters: { id: -1 }, pagination }))).toMatchObject([{ data: [] }]);
    });

    it('a single type, and the locales', async () => {
      const { data } = await client()
        .single('homepage')
        .find({ fields: ['headline'] });
      expect(data.attributes.headline).toBe('Kedge: tools, towns and tides, four times a year');
      expect((await client().locales()).map(({ code }) => code)).toEqual(['en', 'de']);
    });

    it('null for what has not changed', async () => {
      const { etag } = await articles().findOne(2);
      expect(await articles().findOne(2, {}, { ifNoneMatch: etag! })).toBeNull();
      expect(await articles().findOne(2, {}, { ifNoneMatch: '"other"' })).toMatchObject({ data: { id: 2 } });
    });
  });

  describe('writes', () => {
    it('creates, updates with positions, and deletes', async () => {
      const editions = client().collection('editions');
      const { data: created } = await editions.create(
        { number: 77, season: 'winter', articles: [1, 2] },
        { fields: 'number' },
      );
      expect(created.attributes).toEqual({ number: 77 });
      const { data } = await editions.update(
        created.id,
        {
          articles: {
            connect: [
              { id: 3, position: { start: true } },
              { id: 4, position: { before: 2 } },
            ],
            disconnect: [1],
          },
        },
        { fields: 'number', populate: { articles: { fields: 'title' } } },
      );
      expect(data.attributes.articles.data.map(({ id }) => id)).toEqual([3, 4, 2]);
      await editions.delete(created.id);
      expect((await faultOf(editions.findOne(created.id))).status).toBe(404);
    });

    it('a translation', async () => {
      const { title, locale } = await articles().localize(8, {
        locale: 'de',
        title: 'Der Kartograf',
        publishedAt: null,
      });
      expect([title, locale]).toEqual(['Der Kartograf', 'de']);
    });

    it('only an entry that has not changed', async () => {
      const { etag } = await articles().findOne(3);
      const { etag: newer } = await articles().update(3, { standfirst: 'new' }, {}, { ifMatch: etag! });
      const fault = await faultOf(articles().update(3, { standfirst: 'newer' }, {}, { ifMatch: etag! }));
      expect([fault.status, fault.errorName]).toEqual([412, 'PreconditionFailedError']);
      await articles().update(3, { standfirst: 'newer' }, {}, { ifMatch: newer! });
    });

    it('files: uploaded to an entry, described, replaced, found, deleted', async () => {
      const { files } = client();
      const [file] = await files.upload([{ content: new Blob([picture], { type: 'image/png' }), name: 'bench.png' }], {
        info: [{ alternativeText: 'A bench' }],
        target: { ref: 'api::article.article', refId: 7, field: 'cover' },
      });
      const { data } = await articles().findOne(7, {
        fields: 'title',
        populate: { cover: { fields: 'alternativeText' } },
      });
      expect(data.attributes.cover.data).toEqual({ id: file!.id, attributes: { alternativeText: 'A bench' } });
      expect(await files.describe(file!.id, { caption: 'of oak' })).toMatchObject({ caption: 'of oak' });
      const other = new File([picture], 'other.png', { type: 'image/png' });
      expect(await files.replace(file!.id, other)).toMatchObject({ id: file!.id, url: file!.url });
      expect(await files.findOne(file!.id)).toMatchObject({ mime: 'image/png' });
      expect((await files.find()).some(({ id }) => id === file!.id)).toBe(true);
      expect(await files.count({ filters: { id: file!.id } })).toBe(1);
      await files.delete(file!.id);
      expect((await faultOf(files.findOne(file!.id))).status).toBe(404);
    });

    it('users: created, logged in, shown to themselves', async () => {
      const account = {
        username: `ada-${dialect}`,
        email: `ada-${dialect}@example.org`,
        password: 'a long enough one',
      };
      const { id } = await client().users.create({ ...account, role: 1, confirmed: true });
      const anonymous = createClient<Schema>({ url: opened().url });
      const { jwt, user } = await anonymous.users.login(account.username, account.password);
      expect(user.id).toBe(id);
      const own = createClient<Schema>({ url: opened().url, token: async () => jwt });
      const changed = await faultOf(own.users.changePassword('wrong', 'another long one'));
      expect(changed.status).toBeGreaterThanOrEqual(400);
      expect(await client().users.count()).toBe((await client().users.find()).length);
      await client().users.delete(id);
    });
  });

  describe('errors', () => {
    it('have the faults of the response with their codes and paths', async () => {
      const fault = await faultOf(articles().find({ fields: ['titel' as 'title'] }));
      expect([fault.status, fault.errorName, fault.has('query.unknown-name')]).toEqual([400, 'ValidationError', true]);
      expect(fault.faults).toMatchObject([{ path: ['fields', '0'], code: 'query.unknown-name' }]);
      expect(fault.message).toContain('Did you mean "title"?');
    });

    it('an unknown token', async () => {
      const fault = await faultOf(
        createClient<Schema>({ url: opened().url, token: 'x' }).collection('articles').find(),
      );
      expect([fault.status, fault.errorName, fault.faults.length]).toEqual([401, 'UnauthorizedError', 1]);
    });

    it('an aborted request', async () => {
      const reason = new Error('enough');
      await expect(articles().find({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    });
  });
});

describe('dovetail-client', () => {
  /** The statuses that the next requests get; 200 when there are none left. */
  let statuses: (number | 'cut')[] = [];
  let seen: string[] = [];
  const server = http.createServer((request, response) => {
    seen.push(request.method!);
    const status = statuses.shift() ?? 200;
    if (status === 'cut') request.socket.destroy();
    else {
      response.writeHead(status, { 'retry-after': '0' });
      response.end(status === 200 ? '{"data":[],"meta":{"pagination":{}}}' : '<h1>Bad Gateway</h1>');
    }
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const client = (retries?: number) => {
    seen = [];
    const { port } = server.address() as { readonly port: number };
    return createClient<Schema>({ url: `http://127.0.0.1:${port}/`, ...(retries === undefined ? {} : { retries }) });
  };

  it('repeats reads that met a busy or a lost server', async () => {
    statuses = [503, 'cut'];
    expect(await client().collection('articles').find()).toMatchObject({ data: [] });
    expect(seen).toEqual(['GET', 'GET', 'GET']);
  });

  it('gives up after as many retries as were asked for', async () => {
    statuses = [503, 503];
    expect((await faultOf(client(1).collection('articles').find())).status).toBe(503);
    expect(seen.length).toBe(2);
  });

  it('never repeats a write', async () => {
    statuses = [503];
    expect((await faultOf(client().collection('articles').update(1, {}))).status).toBe(503);
    expect(seen).toEqual(['PUT']);
  });

  it('the error of a proxy has its status', async () => {
    statuses = [502];
    const fault = await faultOf(client().collection('articles').find());
    expect([fault.status, fault.errorName, fault.faults]).toEqual([502, 'UnknownError', []]);
  });

  it.each([
    [{ fields: ['a', 'b'] }, 'fields[0]=a&fields[1]=b'],
    [{ filters: { $or: [{ 'a b': { $eq: 'x&y' } }] } }, 'filters[$or][0][a%20b][$eq]=x%26y'.replaceAll('$', '%24')],
    [{ sort: [], populate: {}, locale: undefined }, ''],
    [
      { populate: { a: {}, b: { filters: {}, populate: { c: {} } } } },
      'populate[a]=true&populate[b][populate][c]=true',
    ],
    [
      { populate: { a: { on: { 'x.y': {}, 'x.z': { fields: ['t'] } } } } },
      'populate[a][on][x.y]=true&populate[a][on][x.z][fields][0]=t',
    ],
    [{ populate: { a: { filters: { populate: {} } } }, filters: { on: {} } }, 'populate[a]=true'],
    [{ at: new Date(0), page: 2, yes: true }, 'at=1970-01-01T00%3A00%3A00.000Z&page=2&yes=true'],
  ])('writes %j as %s', (query, text) => {
    expect(encodeQuery(query)).toBe(text);
  });

  it('refuses null in a query', () => {
    expect(() => encodeQuery({ filters: { title: null } })).toThrow('filters[title] is null; compare with $null');
  });
});
