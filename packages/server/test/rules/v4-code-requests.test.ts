/** What the code of a v4 project sees of requests: forms with files, bodies of every type, and paths that it changes. */
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import zlib from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const media = { type: 'media', multiple: false };

const files = {
  ...typeFile('shot', {
    title: { type: 'string', required: true },
    cover: media,
    pictures: { type: 'media', multiple: true },
    card: { type: 'component', component: 'parts.card' },
  }),
  'src/components/parts/card.json': JSON.stringify({
    collectionName: 'components_parts_cards',
    info: { displayName: 'card' },
    attributes: { heading: { type: 'string' }, picture: media },
  }),
  ...coreFile('Service', 'shot'),
  ...coreFile(
    'Controller',
    'shot',
    `({ strapi }) => ({
      async create(ctx) {
        if (ctx.get('x-deny')) return ctx.forbidden('not you');
        if (ctx.get('x-throw')) throw new Error('on purpose');
        const { data, meta } = await super.create(ctx);
        meta.kinds = Object.keys(ctx.request.files ?? {});
        return { data, meta };
      },
      async seen(ctx) {
        const fs = require('node:fs');
        const one = (file) => ({ name: file.name, type: file.type, size: file.size, text: fs.readFileSync(file.path, 'utf8') });
        const files = Object.entries(ctx.request.files ?? {}).map(([name, it]) => [name, [it].flat().map(one)]);
        return { body: ctx.request.body, files: Object.fromEntries(files), isForm: Boolean(ctx.is('multipart')) };
      },
      async store(ctx) {
        const { files, body } = ctx.request;
        const entry = await strapi.entityService.create('api::shot.shot', { data: { title: body.title }, files: { cover: files.photo }, populate: ['cover'] });
        return { title: entry.title, cover: entry.cover.name };
      },
      async whole(ctx) {
        await strapi.entityService.create('api::shot.shot', ctx.request.body);
        return strapi.service('api::shot.shot').create({ ...ctx.request.body, files: { cover: { ...ctx.request.body.files?.cover } } });
      },
      async spread(ctx) {
        return strapi.entityService.create('api::shot.shot', { ...(await this.sanitizeQuery(ctx)), data: ctx.request.body.data });
      },
      async text(ctx) {
        const { files, ...data } = JSON.parse(ctx.request.body.text);
        return strapi.entityService.create('api::shot.shot', { data, files });
      },
      async attach(ctx) {
        const { files } = ctx.request;
        const [stored] = await strapi.plugin('upload').service('upload').upload({
          data: { ref: 'api::shot.shot', refId: ctx.params.id, field: 'pictures', fileInfo: { caption: 'from code' } },
          files: files.photo,
        });
        const entry = await strapi.entityService.findOne('api::shot.shot', ctx.params.id, { populate: ['pictures'] });
        return { caption: stored.caption, pictures: entry.pictures.map((it) => it.name) };
      },
      async raw(ctx) {
        const chunks = [];
        for await (const chunk of ctx.req) chunks.push(chunk);
        return { body: ctx.request.body, raw: Buffer.concat(chunks).toString() };
      },
      async unparsed(ctx) {
        const { body } = ctx.request;
        return { body, text: body[Symbol.for('unparsedBody')] ?? null, same: require('koa-body/unparsed.js') === Symbol.for('unparsedBody') };
      },
    })`,
  ),
  'src/api/shot/routes/a.js': `module.exports = { routes: [
    ...['GET', 'POST', 'PUT', 'DELETE'].map((method) => ({ method, path: '/seen', handler: 'shot.seen' })),
    { method: 'POST', path: '/open', handler: 'shot.seen', config: { auth: false } },
    { method: 'POST', path: '/closed', handler: 'shot.seen', config: { auth: { scope: ['nobody.may'] } } },
    { method: 'POST', path: '/refused', handler: 'shot.seen', config: { auth: false, policies: [() => false] } },
    { method: 'POST', path: '/store', handler: 'shot.store' },
    { method: 'POST', path: '/attach/:id', handler: 'shot.attach' },
    { method: 'POST', path: '/whole', handler: 'shot.whole', config: { auth: false } },
    { method: 'POST', path: '/spread', handler: 'shot.spread', config: { auth: false } },
    { method: 'POST', path: '/text', handler: 'shot.text', config: { auth: false } },
    { method: 'POST', path: '/raw', handler: 'shot.raw' },
    { method: 'POST', path: '/unparsed', handler: 'shot.unparsed' },
  ] };`,
  ...coreFile(
    'Router',
    'shot',
    `{ config: { update: { policies: [(ctx) => ctx.request.body.data.includes('title')] } } }`,
  ),
  // hooks take the writes of the server the long way
  ...typeFile('slow', {
    title: { type: 'string' },
    card: { type: 'component', component: 'parts.card' },
    cover: media,
    pictures: { type: 'media', multiple: true },
  }),
  ...coreFile('Router', 'slow'),
  ...coreFile('Controller', 'slow'),
  ...coreFile('Service', 'slow'),
  'src/api/slow/content-types/slow/lifecycles.js': `module.exports = {
    beforeCreate({ params }) { params.data.title += '!'; },
    beforeUpdate({ params }) { params.data.title += '?'; },
    afterCreate({ result }) { if (result.title.startsWith('fails')) throw new Error('after'); },
  };`,
  'config/middlewares.js': `module.exports = ['strapi::errors', { name: 'strapi::body', config: { includeUnparsed: Boolean(process.env.UNPARSED) } },
    ...(process.env.MOVING ? ['global::moving'] : [])];`,
  'src/middlewares/moving.js': `module.exports = () => async (ctx, next) => {
    const header = (name) => ctx.get(name) || undefined;
    if (header('x-path')) ctx.path = header('x-path');
    if (header('x-url')) ctx.url = header('x-url');
    if (header('x-method')) ctx.method = header('x-method');
    if (header('x-querystring')) ctx.querystring = header('x-querystring');
    if (header('x-empty')) ctx.request.body[header('x-empty')] = undefined;
    if (header('x-drop')) delete ctx.request.files[header('x-drop')];
    if (header('x-as')) ctx.request.header.authorization = header('x-as');
    if (header('x-no-svg') && Object.values(ctx.request.files ?? {}).flat().some((it) => it.type === 'image/svg+xml'))
      return ctx.badRequest('no drawings');
    const seen = ctx.query.seen;
    await next();
    if (seen) ctx.set('x-seen', String(seen));
    if (header('x-page') && ctx.status === 404 && !ctx.body) {
      ctx.type = 'html';
      ctx.body = header('x-page') === 'stream' ? require('node:stream').Readable.from(['<h1>', 'page']) : '<h1>page';
    }
    if (header('x-count')) ctx.set('x-counted', String(ctx.body.length));
  };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const all = (type) => ['find', 'findOne', 'create', 'update', 'delete'].map((it) => 'api::' + type + '.' + type + '.' + it);
    await allow('public', [...all('shot'), ...all('slow'), ...['seen', 'store', 'attach', 'raw', 'unparsed'].map((it) => 'api::shot.shot.' + it),
      'plugin::upload.content-api.upload', 'plugin::upload.content-api.find']);
  } };`,
};

const text = (name: string, content = name) => [name, 'text/plain', content] as const;
const titled = (title: string): string => JSON.stringify({ title });

describe.each(dialects)('on %s', (dialect) => {
  describe.each([
    ['without middlewares', {}],
    ['with a middleware', { MOVING: '1' }],
  ] as const)('forms %s', (_name, env) => {
    let served: CodeProject;
    beforeAll(async () => {
      served = await serveCode(dialect, files, env);
    });
    afterAll(() => served.close());
    // what was a part of a transaction is settled once that has ended
    afterEach(() => vi.waitFor(() => expect(served.leftovers()).toEqual([]), 20_000));

    it('are fields and files to an action; what occurs several times is a list', async () => {
      const { status, body } = await served.form('POST', '/api/seen', {
        title: 'one',
        photo: text('a.txt', 'first'),
        'more#1': text('b.txt', 'second'),
        'more#2': text('c.txt', 'third'),
      });
      const file = (name: string, content: string) => ({
        name,
        type: 'text/plain',
        size: content.length,
        text: content,
      });
      expect([status, body]).toEqual([
        200,
        {
          body: { title: 'one' },
          files: { photo: [file('a.txt', 'first')], more: [file('b.txt', 'second'), file('c.txt', 'third')] },
          isForm: true,
        },
      ]);
    });

    it('write entries with their files by super.create, and by the hooks of a type', async () => {
      for (const [type, title] of [
        ['shots', 'Sea'],
        ['slows', 'Sea!'],
      ] as const) {
        const parts = {
          data: JSON.stringify({ title: 'Sea', ...(type === 'shots' ? { card: { heading: 'x' } } : {}) }),
          'files.cover': text('cover.txt'),
          'files.pictures#1': text('one.txt'),
          'files.pictures#2': text('two.txt'),
          ...(type === 'shots' ? { 'files.card.picture': text('card.txt') } : {}),
        };
        const { status, body } = await served.form('POST', `/api/${type}?populate=*`, parts);
        expect([status, body]).toMatchObject([200, { data: { attributes: { title } } }]);
        const named = JSON.stringify(body);
        for (const name of ['cover.txt', 'one.txt', 'two.txt']) expect(named).toContain(`"name":"${name}"`);
      }
    });

    it('add files to a list where hooks change the update', async () => {
      const { body } = await served.form('POST', '/api/slows', {
        data: titled('A'),
        'files.pictures': text('one.txt'),
      });
      const { id } = (body as { data: { id: number } }).data;
      const parts = { data: titled('B'), 'files.pictures': text('two.txt') };
      const updated = await served.form('PUT', `/api/slows/${id}?populate=*`, parts);
      expect(updated.body).toMatchObject({
        data: {
          attributes: {
            title: 'B?',
            pictures: { data: [{ attributes: { name: 'one.txt' } }, { attributes: { name: 'two.txt' } }] },
          },
        },
      });
    });

    it('reach policies', async () => {
      const { body } = await served.form('POST', '/api/shots', { data: titled('A') });
      const { id } = (body as { data: { id: number } }).data;
      expect((await served.form('PUT', `/api/shots/${id}`, { data: titled('B') })).status).toBe(200);
      expect((await served.form('PUT', `/api/shots/${id}`, { data: '{}' })).status).toBe(403);
    });

    it('give their files to entityService and to the upload service', async () => {
      const stored = await served.form('POST', '/api/store', { title: 'kept', photo: text('k.txt') });
      expect(stored.body).toEqual({ title: 'kept', cover: 'k.txt' });
      const { body } = await served.form('POST', '/api/shots', {
        data: titled('A'),
        'files.pictures': text('one.txt'),
      });
      const { id } = (body as { data: { id: number } }).data;
      const attached = await served.form('POST', `/api/attach/${id}`, { photo: text('two.txt') });
      expect(attached.body).toEqual({ caption: 'from code', pictures: ['one.txt', 'two.txt'] });
    });

    it.each([
      ['without data', {}, 400],
      ['with data that is no JSON', { data: 'x' }, 400],
      ['with a file that has no place', { data: titled('A'), photo: text('a.txt') }, 400],
      ['with a file for no media attribute', { data: titled('A'), 'files.title': text('a.txt') }, 400],
    ])('%s are refused', async (_what, parts, status) => {
      for (const type of ['shots', 'slows'])
        expect((await served.form('POST', `/api/${type}`, parts)).status).toBe(status);
    });

    it('alone have files: what a body says of paths is refused, where code hands it on', async () => {
      const cover = { path: path.join(served.dir, '.env'), name: 'a.txt', type: 'text/plain' };
      const around = `${path.join(served.dir, 'src')}/../.env`;
      for (const given of [cover, { filepath: cover.path, originalFilename: 'a.txt' }, { ...cover, path: around }]) {
        const { status } = await served.json('POST', '/api/whole', { data: { title: 'x' }, files: { cover: given } });
        expect(status).toBe(400);
      }
      const plain = JSON.stringify({ title: 'x', files: { cover } });
      for (const text of [
        plain.replaceAll('/', '\\/'),
        plain.replaceAll('/', '\\u002F'),
        plain.replaceAll('/.env', '/./.env'),
        JSON.stringify({ title: 'x', files: { cover: { ...cover, path: path.relative('.', cover.path) } } }),
        `\n ${plain.replaceAll('/.env', '//.env')}`,
      ])
        expect([text, (await served.json('POST', '/api/text', { text })).status]).toEqual([text, 400]);
    });

    it('that are none, but what a client has written, are a 400', async () => {
      const { status } = await served.json('POST', '/api/whole', { data: { title: 'x' }, files: { cover: 'x' } });
      expect(status).toBe(400);
      for (const query of ['files[cover]=x', 'files[cover][name]=x'])
        expect([query, (await served.json('POST', `/api/spread?${query}`, { data: { title: 'x' } })).status]).toEqual([
          query,
          400,
        ]);
    });

    it('BO15: nested too deep are a 400 wherever code has to go down into them', async () => {
      const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`;
      const headers = { 'content-type': 'application/json' };
      for (const at of ['/api/shots', '/api/slows', '/api/whole'])
        for (const name of ['card', 'cover']) {
          const body = `{"data":{"title":"x","${name}":${deep}}}`;
          const { status } = await served.ask(at, { method: 'POST', headers, body });
          expect([at, name, status]).toEqual([at, name, 400]);
        }
    });

    it.each([undefined, 'text', [1]])('without an object as data are a 400 of entityService: %s', async (data) => {
      const { status, body } = await served.json('POST', '/api/whole', { data });
      const message = `Invalid payload submitted for the creation of an entity of type shot. Expected an object, but got ${typeof data}`;
      expect([status, body]).toMatchObject([400, { error: { name: 'ValidationError', message } }]);
    });

    it('that code refuses or fails with leave nothing', async () => {
      const before = await served.json('GET', '/api/upload/files');
      const parts = { data: titled('fails'), 'files.cover': text('lost.txt') };
      expect((await served.form('POST', '/api/shots', parts, { 'x-deny': '1' })).status).toBe(403);
      expect((await served.form('POST', '/api/shots', parts, { 'x-throw': '1' })).status).toBe(500);
      expect((await served.form('POST', '/api/slows', parts)).status).toBe(500);
      expect((await served.form('POST', '/api/refused', parts)).status).toBe(403);
      expect((await served.form('POST', '/api/closed', parts)).status).toBe(403);
      expect((await served.json('GET', '/api/upload/files')).body).toEqual(before.body);
      const kept = (before.body as { hash: string; ext: string }[]).map((it) => it.hash + it.ext);
      const stored = () => fs.readdirSync(path.join(served.dir, 'public/uploads'));
      await vi.waitFor(() => expect(stored().sort()).toEqual(kept.sort()), 20_000);
    });

    it('that are malformed are a 400', async () => {
      const headers = { 'content-type': 'multipart/form-data; boundary=xyz' };
      for (const at of ['/api/seen', '/api/shots', '/api/open'])
        expect((await served.ask(at, { method: 'POST', headers, body: '--xyz\r\nhalf' })).status).toBe(400);
    });
  });

  describe('bodies', () => {
    let served: CodeProject;
    let unparsed: CodeProject;
    beforeAll(async () => {
      served = await serveCode(dialect, files);
      unparsed = await serveCode(dialect, files, { UNPARSED: '1' });
    });
    afterAll(async () => {
      await served.close();
      await unparsed.close();
    });
    const post = async (type: string, body: string, at = '/api/seen'): Promise<unknown> => {
      const answer = await served.ask(at, { method: 'POST', headers: { 'content-type': type }, body });
      return answer.status === 200 ? (JSON.parse(answer.text) as { body: unknown }).body : answer.status;
    };

    it.each([
      ['application/json', '{"a":{"b":[1]}}', { a: { b: [1] } }],
      ['application/json', '[1,2]', [1, 2]],
      ['application/json', '', {}],
      ['application/json', '"text"', 400],
      ['application/json', 'null', 400],
      ['application/json', '{', 400],
      ['application/csp-report', '{"a":1}', { a: 1 }],
      [
        'application/x-www-form-urlencoded',
        'From=%2B49&a[b][]=1&a[b][]=2&c.d=3',
        { From: '+49', a: { b: ['1', '2'] }, c: { d: '3' } },
      ],
      ['text/plain', 'some words', 'some words'],
      ['text/xml; charset=utf-8', '<a/>', '<a/>'],
      ['application/xml', '<a/>', {}],
      ['application/octet-stream', 'bytes', {}],
    ])('of type %s are to code what koa-body makes of them: %s', async (type, given, expected) => {
      expect(await post(type, given)).toEqual(expected);
    });

    it('of other types can be read from the request', async () => {
      const headers = { 'content-type': 'application/xml' };
      const { text: answered } = await served.ask('/api/raw', { method: 'POST', headers, body: '<order id="1"/>' });
      expect(JSON.parse(answered)).toEqual({ body: {}, raw: '<order id="1"/>' });
    });

    it('of the content API are read as before', async () => {
      expect(await post('text/plain', '{"data":{"title":"x"}}', '/api/slows')).toBe(400);
      expect(await post('application/xml', '{"data":{"title":"x"}}', '/api/slows')).toBe(400);
    });

    it('have their text beside them with includeUnparsed, for signatures', async () => {
      const given = '{ "b": 1,\n"a": "é" }';
      const headers = { 'content-type': 'application/json' };
      const { text: answered } = await unparsed.ask('/api/unparsed', { method: 'POST', headers, body: given });
      expect(JSON.parse(answered)).toEqual({ body: { a: 'é', b: 1 }, text: given, same: true });
      const fields = await unparsed.ask('/api/unparsed', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'a=%20b',
      });
      expect(JSON.parse(fields.text)).toMatchObject({ body: { a: ' b' }, text: 'a=%20b' });
      const created = await unparsed.json('POST', '/api/slows', { data: { title: 'x' } });
      expect(created.body).toMatchObject({ data: { attributes: { title: 'x!' } } });
    });

    it('that are compressed are unpacked, as by koa-body, and bounded by what they unpack to', async () => {
      const ask = async (encoding: string, type: string, body: Buffer): Promise<readonly [number, unknown]> => {
        const headers = { 'content-type': type, 'content-encoding': encoding };
        const { status, text: answered } = await served.ask('/api/seen', { method: 'POST', headers, body });
        return [status, status === 200 ? (JSON.parse(answered) as { body: unknown }).body : null];
      };
      const json = Buffer.from('{"a":{"b":[1]}}');
      for (const [encoding, pack] of [
        ['gzip', zlib.gzipSync],
        ['deflate', zlib.deflateSync],
        ['br', zlib.brotliCompressSync],
      ] as const) {
        expect(await ask(encoding, 'application/json', pack(json))).toEqual([200, { a: { b: [1] } }]);
        expect(await ask(encoding, 'text/plain', pack('some words'))).toEqual([200, 'some words']);
        expect(await ask(encoding, 'application/x-www-form-urlencoded', pack('a=1'))).toEqual([200, { a: '1' }]);
        expect(await ask(encoding, 'text/plain', pack('x'.repeat(2_000_000)))).toEqual([413, null]);
        expect(await ask(encoding, 'application/json', json)).toEqual([400, null]);
      }
      expect(await ask('compress', 'application/json', json)).toEqual([415, null]);
      expect(await ask('identity', 'application/json', json)).toEqual([200, { a: { b: [1] } }]);
    });

    it('that are too large are a 413, also where code would read them', async () => {
      const large = 'x'.repeat(2_000_000);
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) expect(await post(type, large)).toBe(413);
    });
  });

  describe('a global middleware', () => {
    let served: CodeProject;
    beforeAll(async () => {
      served = await serveCode(dialect, files, { MOVING: '1' });
    });
    afterAll(() => served.close());
    const as = (name: string, value: string) => ({ headers: { [`x-${name}`]: value } });

    it.each([
      ['a path that the server has', '/api/shots'],
      ['one that it does not have', '/elsewhere'],
      ['one that a route of the project has', '/api/seen'],
    ])('sends requests for %s to another route', async (_what, from) => {
      const moved = await served.ask(from, as('path', '/api/slows'));
      expect([moved.status, moved.text]).toEqual([200, (await served.ask('/api/slows')).text]);
      expect(await served.json('GET', from, undefined, { 'x-path': '/api/seen' })).toMatchObject({
        status: 200,
        body: { isForm: false },
      });
      expect((await served.ask(from, as('path', '/nowhere'))).status).toBe(404);
    });

    it.each(['text', 'stream'])(
      'answers paths that nobody serves, as a front end of one page does: %s',
      async (how) => {
        const headers = { 'x-page': how };
        for (const at of ['/some/page', '/api/nowhere?seen=1']) {
          const page = await served.ask(at, { headers });
          expect([at, page.status, page.text, page.headers['content-type']]).toEqual([
            at,
            200,
            '<h1>page',
            'text/html; charset=utf-8',
          ]);
        }
        expect((await served.ask('/api/nowhere?seen=1')).headers['x-seen']).toBe('1');
        expect((await served.json('GET', '/some/page')).body).toMatchObject({
          error: { status: 404, name: 'NotFoundError' },
        });
      },
    );

    it('cannot get past what guards the other route', async () => {
      const create = (headers: Record<string, string>) => served.json('PUT', '/api/slows/1', { data: 'none' }, headers);
      expect((await create({ 'x-path': '/api/shots/1' })).status).toBe(403);
      expect((await served.json('POST', '/api/open', {}, { 'x-path': '/api/closed' })).status).toBe(403);
      expect((await served.json('POST', '/api/open', {}, { 'x-path': '/api/%63losed' })).status).toBe(403);
      expect((await served.json('POST', '/api/open', {}, { 'x-url': '/API/closed/?a=1' })).status).toBe(403);
      expect((await served.json('GET', '/api/open', undefined, { 'x-path': '/api/users' })).status).toBe(403);
    });

    it('changes the method', async () => {
      const { body } = await served.json('POST', '/api/slows', { data: { title: 'M' } });
      const { id } = (body as { data: { id: number } }).data;
      const changed = await served.json('POST', `/api/slows/${id}`, { data: { title: 'N' } }, { 'x-method': 'PUT' });
      expect([changed.status, changed.body]).toMatchObject([200, { data: { attributes: { title: 'N?' } } }]);
      expect((await served.json('POST', `/api/slows/${id}`, {}, { 'x-method': 'DELETE' })).status).toBe(200);
      expect((await served.ask(`/api/slows/${id}`)).status).toBe(404);
      expect((await served.json('POST', '/api/shots/1', { data: 'none' }, { 'x-method': 'PUT' })).status).toBe(403);
    });

    it.each(['GET', 'POST'])('a %s that it makes a HEAD has a response with a body', async (method) => {
      const given = method === 'GET' ? undefined : { data: {} };
      const { status, body } = await served.json(method, '/api/slows', given, { 'x-method': 'HEAD' });
      expect([status, body]).toMatchObject([200, { data: expect.any(Array) }]);
    });

    it('changes the query by its text', async () => {
      for (const title of ['b', 'a', 'c']) await served.json('POST', '/api/slows', { data: { title: `q${title}` } });
      const search = 'filters[title][$startsWith]=q&sort=title&seen=1';
      for (const [name, value] of [
        ['x-querystring', search],
        ['x-url', `/api/slows?${search}`],
      ] as const) {
        const { body, headers } = await served.json('GET', '/api/slows', undefined, { [name]: value });
        const titles = (body as { data: { attributes: { title: string } }[] }).data.map((it) => it.attributes.title);
        expect([titles, headers['x-seen']]).toEqual([['qa!', 'qb!', 'qc!'], '1']);
      }
    });

    it('sees the files of uploads, and refuses them or takes them out', async () => {
      const drawing = ['a.svg', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"/>'] as const;
      const refused = await served.form('POST', '/api/upload', { files: drawing }, { 'x-no-svg': '1' });
      expect([refused.status, served.leftovers()]).toEqual([400, []]);
      expect((await served.form('POST', '/api/upload', { files: text('ok.txt') }, { 'x-no-svg': '1' })).status).toBe(
        200,
      );
      const emptied = await served.form('POST', '/api/upload', { files: text('no.txt') }, { 'x-empty': 'fileInfo' });
      expect(emptied.status).toBe(200);
      const parts = { data: titled('T'), 'files.cover': text('cover.txt'), 'files.pictures': text('p.txt') };
      const { body } = await served.form('POST', '/api/slows?populate=*', parts, { 'x-drop': 'files.cover' });
      expect(body).toMatchObject({
        data: { attributes: { cover: { data: null }, pictures: { data: [{ attributes: { name: 'p.txt' } }] } } },
      });
    });

    it('that looks at no body leaves the response of the server as it is, with its entity tag', async () => {
      const { headers, text } = await served.ask('/api/upload/files?sort=id');
      expect(headers['etag']).toBeDefined();
      const again = await served.ask('/api/upload/files?sort=id', { headers: { 'if-none-match': headers['etag']! } });
      expect([again.status, again.text]).toEqual([304, '']);
      const counted = await served.ask('/api/upload/files?sort=id', as('count', '1'));
      const listed = JSON.parse(text) as unknown[];
      expect(JSON.parse(counted.text)).toEqual(listed);
      expect([counted.headers['etag'], counted.headers['x-counted']]).toEqual([undefined, String(listed.length)]);
    });

    it('says who asks', async () => {
      const { status } = await served.json('GET', '/api/slows', undefined, { 'x-as': 'Bearer nonsense' });
      expect(status).toBe(401);
    });
  });

  it('a body that code does not read does not hold up the connection', async () => {
    const served = await serveCode(dialect, files);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const send = (body: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { 'content-type': 'application/xml' };
        const request = http.request(`${served.base}/api/seen`, { method: 'POST', agent, headers }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode!));
        });
        request.on('error', reject).end(body);
      });
    expect([await send('x'.repeat(100_000)), await send('y'), await send('z')]).toEqual([200, 200, 200]);
    agent.destroy();
    await served.close();
  });
});
