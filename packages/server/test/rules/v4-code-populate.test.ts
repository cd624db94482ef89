/** What hooks see of the populate of a client, in v4's forms, and what becomes of words that only the project knows. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const files = {
  ...typeFile('post', { title: { type: 'string' } }),
  ...typeFile('hooked', {
    title: { type: 'string' },
    posts: { type: 'relation', relation: 'oneToMany', target: 'api::post.post' },
    owner: { type: 'relation', relation: 'manyToOne', target: 'plugin::users-permissions.user' },
    zone: { type: 'dynamiczone', components: ['part.card'] },
    about: { type: 'relation', relation: 'morphToMany' },
    secret: { type: 'relation', relation: 'manyToMany', target: 'api::post.post', private: true },
  }),
  'src/components/part/card.json': JSON.stringify({
    collectionName: 'components_part_cards',
    info: { displayName: 'card' },
    attributes: {
      text: { type: 'string' },
      post: { type: 'relation', relation: 'oneToOne', target: 'api::post.post' },
    },
  }),
  ...coreFile('Router', 'hooked'),
  'src/api/hooked/content-types/hooked/lifecycles.js': `module.exports = {
    beforeFindMany({ params }) {
      globalThis.hookedSaw = params.populate;
      if (params.populate?.[0] === 'deep') params.populate = { posts: true, zone: { populate: '*' } };
    },
  };`,
  ...coreFile(
    'Controller',
    'hooked',
    `() => ({ async asked(ctx) { const { populate } = await this.sanitizeQuery(ctx); return { populate }; } })`,
  ),
  'src/api/hooked/routes/asked.js': `module.exports = { routes: [{ method: 'GET', path: '/asked', handler: 'hooked.asked' }, { method: 'GET', path: '/unsigned', handler: 'hooked.asked', config: { auth: false } }] };`,
  'dovetail.config.json': JSON.stringify({ api: { strict: false } }),
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['api::hooked.hooked.find', 'api::hooked.hooked.create', 'api::hooked.hooked.asked', 'api::post.post.find']);
    await strapi.entityService.create('api::post.post', { data: { title: 'first' } });
    await strapi.entityService.create('api::hooked.hooked', { data: { title: 'x', secret: [1] } });
  } };`,
};

describe.each(dialects)('populate in hooks on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  it.each<readonly [string, unknown]>([
    ['populate=*', { posts: true, zone: {}, about: {} }],
    ['populate[zone][populate]=*', { zone: { on: { 'part.card': { populate: { post: true } } } } }],
    ['populate[posts][fields]=title', { posts: { select: ['id', 'title'] } }],
    ['populate=posts,zone', ['posts', 'zone']],
    // words of the project's own
    ['populate=deep', ['deep']],
    ['populate=deep,3', ['deep', '3']],
    ['populate[0]=deep', ['deep']],
    ['populate[0]=deep&populate[1]=3', ['deep', '3']],
    ['populate[0]=posts&populate[1]=deep', ['posts', 'deep']],
  ])('tell hooks what a client populates: %s', async (query, populate) => {
    expect((await served.json('GET', `/api/hookeds?${query}`)).status).toBe(200);
    expect((globalThis as unknown as { hookedSaw: unknown }).hookedSaw).toEqual(populate);
  });

  it.each(['populate=secret', 'populate[0]=posts&populate[1]=owner', 'populate=*'])(
    'show nothing that the client may not find: %s',
    async (query) => {
      const { status, text } = await served.ask(`/api/hookeds?${query}`);
      expect([status, text]).toEqual([200, expect.not.stringMatching(/secret|owner/)]);
    },
  );

  it.each<readonly [string, unknown]>([
    ['populate=*', { posts: true, zone: {}, about: {} }],
    ['populate[0]=*', ['posts', 'zone', 'about']],
    ['populate=*,posts', ['posts', 'zone', 'about', 'posts']],
    ['populate=owner', []],
    ['populate=secret,posts', ['posts']],
    ['populate=zone.post,posts.secret', 'zone.post,posts.secret'],
    ['populate[owner]=true&populate[posts]=true', { posts: 'true' }],
    ['populate[owner][fields]=username', {}],
    [
      'populate[about][on][api::post.post]=true&populate[about][on][plugin::users-permissions.user]=true',
      { about: { on: { 'api::post.post': 'true' } } },
    ],
    ['populate=deep', 'deep'],
  ])('sanitizeQuery leaves what the client may find: %s', async (query, populate) => {
    expect((await served.json('GET', `/api/asked?${query}`)).body).toEqual({ populate });
  });

  it('sanitizeQuery asks for no rights where nobody signs the request, as in v4', async () => {
    const { body } = await served.json('GET', '/api/unsigned?populate=owner,posts');
    expect(body).toEqual({ populate: 'owner,posts' });
  });

  it('populate what a hook makes of a word of its own', async () => {
    const data = { posts: [1], zone: [{ __component: 'part.card', text: 'c', post: 1 }] };
    const made = await served.json('POST', '/api/hookeds', { data });
    const { id } = (made.body as { data: { id: number } }).data;
    const { body } = await served.json('GET', `/api/hookeds?populate=deep&filters[id]=${id}`);
    expect(body).toMatchObject({
      data: [{ attributes: { posts: { data: [{ id: 1 }] }, zone: [{ text: 'c', post: { data: { id: 1 } } }] } }],
    });
  });
});
