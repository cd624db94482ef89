/** `/users/count` takes conditions by themselves and inside of `filters`: neither widens what the other, or a policy, lets count. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, serveCode } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const files = {
  'src/policies/narrow.js': `module.exports = (ctx) => {
    new Function('ctx', decodeURIComponent(ctx.request.header.guard ?? ''))(ctx);
    return true;
  };`,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    const count = plugin.routes['content-api'].routes.find((it) => it.handler === 'user.count');
    count.config = { ...count.config, policies: ['global::narrow'] };
    return plugin;
  };`,
  'src/index.js': `${allowing} module.exports = { async bootstrap({ strapi }) {
    await allow('public', ['plugin::users-permissions.user.count']);
    for (const name of ['a', 'b'])
      await strapi.query('plugin::users-permissions.user').create({ data: { username: name, email: name + '@x.example', provider: name } });
  } };`,
  'dovetail.config.json': JSON.stringify({ users: { attemptsMax: 0 } }),
};

describe.each(dialects)('the number of users on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  const count = async (search: string, guard = '') =>
    served.json('GET', `/api/users/count?${search}`, undefined, { guard: encodeURIComponent(guard) });
  /** The same condition by itself and inside of `filters`. */
  const twice = [
    ['filters[provider]=a&provider=b', 'provider'],
    ['provider=a&filters[provider]=b', 'provider'],
    ['filters[provider]=a&provider[]=a&provider[]=b', 'provider'],
    ['filters[provider][$eq]=a&provider[$eq]=b', 'provider'],
    ['filters[provider]=a&provider[$ne]=z', 'provider'],
    ['filters[provider][$in][]=a&provider[$in][]=b', 'provider'],
    ['filters[$and][0][provider]=a&$and[0][provider]=b', '$and'],
    ['filters[$or][0][provider]=a&$or[0][provider]=b', '$or'],
    ['filters[$or][0][provider]=a&$or[1][provider]=b', '$or'],
    ['filters[$not][provider]=b&$not[provider]=c', '$not'],
  ] as const;

  it.each(twice)('AC15: a condition in both spellings is refused: %s', async (search, name) => {
    const { status, body } = await count(search);
    expect([status, body]).toMatchObject([400, { error: { message: `Invalid parameter ${name}` } }]);
  });

  it('AC15: each spelling counts by itself, and different conditions hold together', async () => {
    for (const [search, expected] of [
      ['', '2'],
      ['provider=a', '1'],
      ['provider=a&provider=b', '2'],
      ['provider[$in][0]=a&provider[$in][1]=b', '2'],
      ['filters[provider]=a', '1'],
      ['filters[provider]=a&username=a', '1'],
      ['filters[provider]=a&username=b', '0'],
      ['filters[provider]=a&$or[0][username]=b', '0'],
    ])
      expect([search, (await count(search!)).body]).toEqual([search, expected]);
  });

  it.each([
    `ctx.request.query.filters = { ...ctx.request.query.filters, provider: 'a' }`,
    `ctx.request.query.provider = 'a'`,
    `ctx.request.query = { ...ctx.request.query, provider: 'a' }`,
    `ctx.request.query.filters = { ...ctx.request.query.filters, $and: [{ provider: 'a' }] }`,
    `ctx.request.query.filters = { ...ctx.request.query.filters, $or: [{ provider: 'a' }] }`,
    `ctx.request.query.$or = [{ provider: 'a' }]`,
  ])('AC15: no spelling adds to what a policy lets count: %s', async (guard) => {
    expect((await count('', guard)).body).toBe('1');
    for (const search of [
      ...twice.map(([it]) => it),
      'provider=b',
      'filters[provider]=b',
      '$or[0][provider]=b',
      '$or[1][provider]=b',
    ]) {
      const { status, body } = await count(search, guard);
      expect([search, status, status === 200 ? Number(body) : 0]).toEqual([
        search,
        expect.toSatisfy((it) => it === 200 || it === 400),
        expect.toSatisfy((it) => Number(it) <= 1),
      ]);
    }
  });
});
