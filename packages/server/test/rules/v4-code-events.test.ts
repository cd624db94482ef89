/** `strapi.eventHub` tells code what happened to entries and files, once it is committed. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { addWebhook } from '../../src/events/webhooks.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { newReceiver, type Receiver } from '../world/receiver.js';

const files = {
  ...typeFile('author', { name: { type: 'string' } }),
  ...typeFile(
    'book',
    {
      title: { type: 'string', unique: true },
      secret: { type: 'string', private: true },
      pin: { type: 'password' },
      author: { type: 'relation', relation: 'oneToOne', target: 'api::author.author' },
    },
    { draftAndPublish: true },
  ),
  ...typeFile('heard', { what: { type: 'string' } }),
  ...coreFile('Router', 'book'),
  ...coreFile('Controller', 'book'),
  ...coreFile('Service', 'book'),
  'src/api/book/content-types/book/lifecycles.js': `module.exports = { async afterCreate({ result }) {
    const { title } = result;
    if (title === 'refused') throw new (require('@strapi/utils').errors.ApplicationError)('no');
    if (title === 'with a part') {
      await strapi.entityService.create('api::author.author', { data: { name: 'kept' } });
      await strapi.entityService.create('api::book.book', { data: { title } }).catch(() => undefined);
    }
  } };`,
  'src/api/do/routes/do.js': `module.exports = { routes: [{ method: 'POST', path: '/do', handler: 'do.it', config: { auth: false } }] };`,
  'src/api/do/controllers/do.js': `module.exports = { async it(ctx) {
    const [how, uid, ...given] = ctx.request.body;
    return { done: await (how === 'query' ? strapi.db.query(uid) : strapi.entityService)[given.shift()](...(how === 'query' ? given : [uid, ...given])) };
  } };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const actions = ['find', 'create', 'update', 'delete'].map((it) => 'api::book.book.' + it);
    await allow('authenticated', []);
    await allow('public', [...actions, 'plugin::users-permissions.auth.register', 'api::author.author.find', 'plugin::upload.content-api.upload']);
    strapi.heard = [];
    strapi.listen = (how) => how(strapi.eventHub);
  } };`,
};

const times = { createdAt: expect.any(String) as string, updatedAt: expect.any(String) as string };

interface Listening {
  readonly heard: unknown[];
  listen(how: (hub: Hub) => void): void;
  readonly db: { query(uid: string): { create(given: object): Promise<unknown>; findMany(): Promise<object[]> } };
  readonly entityService: { findOne(uid: string, id: unknown): Promise<unknown> };
}

interface Hub {
  on(name: string, listener: (facts: Facts) => unknown): void;
  subscribe(subscriber: (name: string, facts: Facts) => unknown): void;
  destroy(): void;
}

interface Facts {
  readonly uid?: string;
  readonly entry?: { readonly id: number; readonly title?: string };
}

describe.each(dialects)('strapi.eventHub on %s', (dialect) => {
  let served: CodeProject;
  let strapi: Listening;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
    ({ strapi } = globalThis as unknown as { strapi: Listening });
  });
  afterAll(() => served.close());
  beforeEach(() => {
    strapi.heard.length = 0;
    strapi.listen((hub) => hub.destroy());
  });
  const post = (data: object) => served.json('POST', '/api/books', { data });
  const idOf = ({ body }: { readonly body: unknown }): number => (body as { data: { id: number } }).data.id;
  const names = (): readonly unknown[] => strapi.heard.map((it) => (it as readonly unknown[])[0]);
  const hearAll = (): void =>
    strapi.listen((hub) => hub.subscribe((name, facts) => void strapi.heard.push([name, facts])));

  it('tells of each write as v4 does: the model, the uid and the entry, without what is private', async () => {
    hearAll();
    const author = await served.json('POST', '/api/do', [
      'service',
      'api::author.author',
      'create',
      { data: { name: 'Ann' } },
    ]);
    expect(author.status).toBe(200);
    const id = idOf(await post({ title: 'Tides', secret: 'x', pin: '1234', author: 1, publishedAt: null }));
    await served.json('PUT', `/api/books/${id}`, { data: { publishedAt: '2026-01-01T00:00:00.000Z' } });
    await served.json('PUT', `/api/books/${id}`, { data: { publishedAt: null } });
    await served.json('DELETE', `/api/books/${id}`);
    const ann = { id: 1, name: 'Ann', ...times };
    expect(names()).toEqual([
      ...['entry.create', 'entry.create', 'entry.update', 'entry.publish'],
      ...['entry.update', 'entry.unpublish', 'entry.delete'],
    ]);
    expect(strapi.heard.slice(0, 2)).toEqual([
      ['entry.create', { model: 'author', uid: 'api::author.author', entry: ann }],
      [
        'entry.create',
        {
          model: 'book',
          uid: 'api::book.book',
          entry: { id, title: 'Tides', publishedAt: null, author: ann, ...times },
        },
      ],
    ]);
    expect(strapi.heard.at(-1)).toMatchObject([
      'entry.delete',
      { uid: 'api::book.book', entry: { id, title: 'Tides' } },
    ]);
  });

  it('webhooks of what code writes hold neither what is private nor passwords', async () => {
    hearAll();
    const receiver = await newReceiver();
    const { notifier } = served.site;
    await addWebhook({ name: 'site', url: receiver.url, headers: {}, events: ['entry.create'] }, served.db);
    await notifier.start();
    const data = { title: 'By code', secret: 'x', pin: '1234' };
    await served.json('POST', '/api/do', ['service', 'api::book.book', 'create', { data }]);
    const [{ body }] = (await receiver.received(1)) as [Receiver['hooks'][number]];
    const entry = { id: expect.any(Number) as number, title: 'By code', publishedAt: null, author: null, ...times };
    expect(body).toMatchObject({ event: 'entry.create', model: 'book', uid: 'api::book.book' });
    expect(body['entry']).toEqual(entry);
    await vi.waitFor(() =>
      expect(strapi.heard).toEqual([['entry.create', { model: 'book', uid: 'api::book.book', entry }]]),
    );
    for (const [action, ...given] of [
      ['create', { data: { title: 'untold' } }],
      ['updateMany', { where: { title: 'untold' }, data: { secret: 'y' } }],
    ])
      await served.json('POST', '/api/do', ['query', 'api::book.book', action, ...given]);
    const user = { username: 'bob', email: 'bob@example.org', password: 'secret1' };
    await served.json('POST', '/api/auth/local/register', user);
    const [, told] = await receiver.received(2);
    expect(told!.body).toMatchObject({ event: 'entry.create', model: 'user', entry: { username: 'bob' } });
    expect(JSON.stringify(told!.body)).not.toMatch(/assword|secret|\$2[aby]\$|oken/);
    await notifier.stop();
    await receiver.close();
  });

  it('tells of files', async () => {
    hearAll();
    const { status } = await served.form('POST', '/api/upload', { files: ['a.txt', 'text/plain', 'abc'] });
    expect([status, strapi.heard]).toMatchObject([200, [['media.create', { media: { name: 'a.txt', ext: '.txt' } }]]]);
  });

  it('tells of users as of entries, with their role and without what is private', async () => {
    hearAll();
    const given = { username: 'ann', email: 'ann@example.org', password: 'secret1' };
    const registered = await served.json('POST', '/api/auth/local/register', given);
    const { id } = (registered.body as { user: { id: number } }).user;
    const user = 'plugin::users-permissions.user';
    const data = { username: 'anna', password: 'secret2', resetPasswordToken: 'secret3' };
    await served.json('POST', '/api/do', ['service', user, 'update', id, { data }]);
    await served.json('POST', '/api/do', ['service', user, 'delete', id]);
    const guests = { name: 'Guests', type: 'guests' };
    await served.json('POST', '/api/do', ['service', 'plugin::users-permissions.role', 'create', { data: guests }]);
    const told = (username: string) => ({
      model: 'user',
      uid: user,
      entry: { id, username, role: { type: 'authenticated' } },
    });
    expect(strapi.heard).toMatchObject([
      ['entry.create', told('ann')],
      ['entry.update', told('anna')],
      ['entry.delete', told('anna')],
    ]);
    expect(JSON.stringify(strapi.heard)).not.toMatch(/assword|secret|\$2[aby]\$|oken/);
  });

  it('tells nothing of what is refused or undone, nor of what db.query writes, as in v4', async () => {
    hearAll();
    expect((await post({ title: 'refused' })).status).toBe(400);
    expect((await post({ title: 'with a part' })).status).toBe(200);
    for (const [action, ...given] of [
      ['create', { data: { title: 'by db.query' } }],
      ['update', { where: { title: 'by db.query' }, data: { secret: 'y' } }],
      ['createMany', { data: [{ title: 'one' }, { title: 'two' }] }],
      ['deleteMany', {}],
    ]) {
      const { status } = await served.json('POST', '/api/do', ['query', 'api::book.book', action, ...given]);
      expect([action, status]).toEqual([action, 200]);
    }
    const told = strapi.heard.map((it) => {
      const [name, { uid }] = it as readonly [string, Facts];
      return [name, uid];
    });
    expect(told).toEqual([
      ['entry.create', 'api::book.book'],
      ['entry.create', 'api::author.author'],
    ]);
  });

  it('a listener finds what was committed, and what it writes itself stays', async () => {
    strapi.listen((hub) =>
      hub.on('entry.create', async ({ uid, entry }) => {
        if (uid !== 'api::book.book') return;
        strapi.heard.push(await strapi.entityService.findOne(uid, entry!.id));
        await strapi.db.query('api::heard.heard').create({ data: { what: entry!.title } });
        strapi.heard.push('written');
      }),
    );
    await post({ title: 'Seen' });
    await vi.waitFor(() => expect(strapi.heard).toMatchObject([{ title: 'Seen' }, 'written']), 20_000);
    expect(await strapi.db.query('api::heard.heard').findMany()).toMatchObject([{ what: 'Seen' }]);
  });

  it('a listener that throws, rejects or does not end is logged at most: the write and the others go on', async () => {
    strapi.listen((hub) => {
      hub.on('entry.create', () => {
        throw new Error('thrown by the listener');
      });
      hub.on('entry.create', async () => Promise.reject(new Error('rejected by the listener')));
      hub.on('entry.create', () => void strapi.heard.push('heard'));
      hub.on('entry.create', () => new Promise(() => undefined));
    });
    expect((await post({ title: 'Calm' })).status).toBe(200);
    await vi.waitFor(() => expect(strapi.heard).toEqual(['heard']), 20_000);
    for (const how of ['thrown', 'rejected'])
      expect(served.logged.filter((it) => it.includes(`${how} by the listener`))).toEqual([
        expect.stringContaining('a listener of strapi.eventHub for entry.create failed'),
      ]);
    expect((await post({ title: 'Calm again' })).status).toBe(200);
  });
});
