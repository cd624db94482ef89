/** Webhooks: v4's table, events and payloads. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addWebhook } from '../../src/events/webhooks.js';
import type { Handlers } from '../../src/handlers/handlers.js';
import { dialects } from '../world/databases.js';
import { newReceiver, type Receiver } from '../world/receiver.js';
import { newSmallWorld, type SmallProject, type SmallWorld } from '../world/small.js';

const i18n = { pluginOptions: { i18n: { localized: true } } };
const project: SmallProject = {
  types: {
    article: {
      options: { draftAndPublish: true },
      attributes: {
        title: { type: 'string', required: true },
        notes: { type: 'string', private: true },
        code: { type: 'password' },
        cover: { type: 'media' },
        author: { type: 'relation', relation: 'manyToOne', target: 'api::author.author', inversedBy: 'articles' },
        card: { type: 'component', component: 'parts.card' },
        zone: { type: 'dynamiczone', components: ['parts.card'] },
      },
    },
    author: {
      attributes: {
        name: { type: 'string' },
        secret: { type: 'string', private: true },
        articles: { type: 'relation', relation: 'oneToMany', target: 'api::article.article', mappedBy: 'author' },
      },
    },
    page: { ...i18n, attributes: { title: { type: 'string', ...i18n }, size: { type: 'integer' } } },
    board: { kind: 'singleType', attributes: { text: { type: 'string' } } },
  },
  components: {
    'parts.card': {
      label: { type: 'string' },
      author: { type: 'relation', relation: 'oneToOne', target: 'api::author.author' },
    },
  },
};
const all = [
  ...['create', 'update', 'delete', 'publish', 'unpublish'].map((it) => `entry.${it}`),
  ...['create', 'update', 'delete'].map((it) => `media.${it}`),
];

describe.each(dialects)('webhooks on %s', (dialect) => {
  let world: SmallWorld;
  let receiver: Receiver;
  let handlers: Handlers = {};
  const afterCreate: Handlers['afterCreate'] = (event) => handlers.afterCreate?.(event);

  beforeEach(async () => {
    handlers = {};
    receiver = await newReceiver();
    world = await newSmallWorld(dialect, project, { handlers: new Map([['api::author.author', { afterCreate }]]) });
    await world.insert(
      'i18n_locale',
      ['en', 'de'].map((code, i) => ({ id: i + 1, code })),
    );
    await world.insert('files', [{ id: 7, name: 'a.png', mime: 'image/png', ext: '.png', hash: 'a', url: '/a.png' }]);
  });
  afterEach(async () => {
    await world.close();
    await receiver.close();
  });

  const listen = async (events: readonly string[] = all): Promise<void> => {
    await addWebhook({ name: 'test', url: receiver.url, headers: {}, events }, world.db);
    await world.site.notifier.start();
  };
  const write = async (method: string, url: string, data?: unknown): Promise<number> => {
    const { status, body, text } = await world.send(method, url, data === undefined ? undefined : { data });
    expect([status, text]).toEqual([200, text]);
    return (body as { data: { id: number } }).data.id;
  };
  /** Events so far, in the order of the writes. */
  const events = async (count: number) => (await receiver.received(count)).map((it) => it.body.event);

  it('a row that v4 has written is a webhook, and is sent v4 payloads', async () => {
    await world.insert('strapi_webhooks', [
      {
        id: 3,
        name: 'of v4',
        url: receiver.url,
        headers: JSON.stringify({ 'X-Own': 'own' }),
        events: JSON.stringify(['entry.create']),
        enabled: true,
      },
    ]);
    await world.site.notifier.start();
    const author = await write('POST', '/api/authors', { name: 'Maren', secret: 's' });
    await receiver.received(1);
    await write('POST', '/api/articles', {
      title: 'a',
      notes: 'hidden',
      code: 'secret',
      cover: 7,
      author,
      card: { label: 'c', author },
      zone: [{ __component: 'parts.card', label: 'z' }],
    });
    const [, { headers, body }] = (await receiver.received(2)) as [unknown, Receiver['hooks'][number]];
    expect(headers).toMatchObject({
      'x-strapi-event': 'entry.create',
      'content-type': 'application/json',
      'x-own': 'own',
    });
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const times = { createdAt: time, updatedAt: time };
    expect(Object.keys(body)).toEqual(['event', 'createdAt', 'model', 'uid', 'entry']);
    expect(body).toEqual({
      event: 'entry.create',
      createdAt: time,
      model: 'article',
      uid: 'api::article.article',
      entry: {
        id: 1,
        title: 'a',
        ...times,
        publishedAt: time,
        cover: expect.objectContaining({ id: 7, name: 'a.png', url: '/a.png' }),
        author: { id: author, name: 'Maren', ...times },
        card: { id: expect.any(Number), label: 'c' },
        zone: [{ __component: 'parts.card', id: expect.any(Number), label: 'z' }],
      },
    });
  });

  it('a creation, an update and a deletion of an entry, in their order', async () => {
    await listen();
    const id = await write('POST', '/api/authors', { name: 'a' });
    await write('PUT', `/api/authors/${id}`, { name: 'b' });
    await write('DELETE', `/api/authors/${id}`);
    expect(await events(3)).toEqual(['entry.create', 'entry.update', 'entry.delete']);
    expect(receiver.hooks.map((it) => (it.body['entry'] as { name: string }).name)).toEqual(['a', 'b', 'b']);
  });

  it('publishing and unpublishing are updates and events of their own', async () => {
    await listen();
    const id = await write('POST', '/api/articles', { title: 'a', publishedAt: null });
    await write('PUT', `/api/articles/${id}`, { publishedAt: '2024-01-01T00:00:00.000Z' });
    await write('PUT', `/api/articles/${id}`, { publishedAt: '2025-01-01T00:00:00.000Z' });
    await write('PUT', `/api/articles/${id}`, { publishedAt: null });
    await write('PUT', `/api/articles/${id}`, { title: 'b' });
    expect(await events(7)).toEqual([
      'entry.create',
      'entry.update',
      'entry.publish',
      'entry.update',
      'entry.update',
      'entry.unpublish',
      'entry.update',
    ]);
  });

  it('a value that all locales share is an update of each sibling', async () => {
    await listen(['entry.create', 'entry.update']);
    const id = await write('POST', '/api/pages', { title: 'a', size: 1 });
    await receiver.received(1);
    const { body } = await world.send('POST', `/api/pages/${id}/localizations`, { locale: 'de', title: 'b' });
    const sibling = (body as { id: number }).id;
    const before = (await receiver.received(2)).length;
    await write('PUT', `/api/pages/${id}`, { size: 2 });
    const hooks = (await receiver.received(before + 2)).slice(-2);
    expect(hooks.map((it) => it.body.event)).toEqual(['entry.update', 'entry.update']);
    expect(new Set(hooks.map((it) => (it.body['entry'] as { id: number }).id))).toEqual(new Set([id, sibling]));
    for (const hook of hooks) expect(hook.body['entry']).toMatchObject({ size: 2 });
  });

  it('the first update of a single type is a creation', async () => {
    await listen();
    await write('PUT', '/api/board', { text: 'a' });
    await write('PUT', '/api/board', { text: 'b' });
    expect(await events(2)).toEqual(['entry.create', 'entry.update']);
  });

  it('what hooks write is told too, and nothing of what is refused', async () => {
    handlers = {
      afterCreate: async ({ content, data, refuse }) => {
        await content.update('api::board.board', null, { text: `of ${data?.['name']}` });
        if (data?.['name'] === 'bad') refuse('not this one');
      },
    };
    await listen();
    expect((await world.send('POST', '/api/authors', { data: { name: 'bad' } })).status).toBe(400);
    await write('POST', '/api/authors', { name: 'good' });
    const hooks = await receiver.received(2);
    expect(hooks.map((it) => [it.body.event, it.body['model']])).toEqual(
      expect.arrayContaining([
        ['entry.create', 'author'],
        ['entry.create', 'board'],
      ]),
    );
    expect(hooks).toHaveLength(2);
  });

  it('files have events of their own, and updates of them are entry.update too, as in v4', async () => {
    await listen();
    const put = await world.send('POST', '/api/upload?id=7', { fileInfo: { caption: 'c' } });
    expect([put.status, put.text]).toEqual([200, put.text]);
    await receiver.received(2);
    expect((await world.send('DELETE', '/api/upload/files/7')).status).toBe(200);
    const hooks = await receiver.received(3);
    expect(hooks.map((it) => it.body.event)).toEqual(['entry.update', 'media.update', 'media.delete']);
    expect(hooks[0]!.body).toMatchObject({ model: 'file', uid: 'plugin::upload.file', entry: { id: 7, caption: 'c' } });
    expect(Object.keys(hooks[1]!.body)).toEqual(['event', 'createdAt', 'media']);
    expect(hooks[2]!.body['media']).toMatchObject({ id: 7, caption: 'c', url: '/a.png' });
  });

  it('a disabled webhook, and an event that is not chosen, are not sent', async () => {
    await world.insert('strapi_webhooks', [
      { id: 1, name: 'off', url: `${receiver.url}/off`, events: JSON.stringify(all), enabled: false },
      { id: 2, name: 'on', url: `${receiver.url}/on`, events: JSON.stringify(['entry.delete']), enabled: true },
    ]);
    await world.site.notifier.start();
    const id = await write('POST', '/api/authors', { name: 'a' });
    await write('DELETE', `/api/authors/${id}`);
    const hooks = await receiver.received(1);
    expect(hooks.map((it) => [it.url, it.body.event])).toEqual([['/hook/on', 'entry.delete']]);
  });

  it('an entry whose relations are too large is sent without them', async () => {
    const author = await write('POST', '/api/authors', { name: 'a' });
    const long = 'x'.repeat(250);
    await world.insert(
      'articles',
      Array.from({ length: 4_000 }, (_it, i) => ({ id: i + 1, title: long, published_at: Date.now() })),
    );
    await world.insert(
      'articles_author_links',
      Array.from({ length: 4_000 }, (_it, i) => ({ id: i + 1, article_id: i + 1, author_id: author })),
    );
    await listen();
    await write('PUT', `/api/authors/${author}`, { name: 'b' });
    const [{ body }] = (await receiver.received(1)) as [Receiver['hooks'][number]];
    expect(Object.keys(body['entry'] as object)).toEqual(['id', 'name', 'createdAt', 'updatedAt']);
  });
});
