/** What guards of v4 projects find of the caller in `ctx.state.auth`: those that refuse in v4 refuse here. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const find = 'api::memo.memo.find';
const ways = {
  'has no credentials': `c.state.auth.credentials !== null`,
  'may not create': `!c.state.auth?.ability?.cannot?.('api::memo.memo.create')`,
  'may find': `c.state.auth.ability?.can('${find}') ?? false`,
  'has no such rule': `c.state.auth?.ability?.rules?.some((it) => it.action === 'zzz') ?? true`,
  'has the rule': `c.state.auth.ability.rules.some((it) => it.action === '${find}' && it.subject === 'all')`,
  'has no such permission': `((p) => !Array.isArray(p) || p.includes('zzz'))(c.state.auth?.credentials?.permissions)`,
  'has no end': `c.state.auth.credentials?.lifespan !== null`,
  'has no ability': `c.state.auth.ability !== null`,
  'asks for what is not here': `(() => { try { return c.state.auth.ability?.possibleRulesFor?.('${find}', 'all').length > 0 ?? true; } catch { return true; } })()`,
  'asks for a method of the strategy': `(() => { try { return c.state.auth.strategy.verify?.() ?? true; } catch { return true; } })()`,
  'copies it': `((a) => a.ability.can('${find}') && a.ability.rules.length > 0)({ ...c.state.auth })`,
} as const;
type Way = keyof typeof ways;
const nameOf = (way: string): string => way.replaceAll(' ', '-');

const tokenType = {
  readonly: `{ name: 'readonly', type: 'read-only', lifespan: null }`,
  full: `{ name: 'full', type: 'full-access', lifespan: null }`,
  custom: `{ name: 'custom', description: 'of a shop', type: 'custom', lifespan: 604800000, permissions: ['${find}', 'api::memo.memo.gone'] }`,
};

describe.each(dialects)('ctx.state.auth on %s', (dialect) => {
  let served: CodeProject;
  let bearers: Readonly<Record<string, string>>;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...typeFile('memo', { title: { type: 'string' } }),
      ...coreFile(
        'Controller',
        'memo',
        `{ find: (ctx) => ({ ...ctx.state.auth, ability: ctx.state.auth.ability === null ? null : ctx.state.auth.ability.rules }) }`,
      ),
      ...Object.fromEntries(
        Object.entries(ways).map(([way, text]) => [
          `src/policies/${nameOf(way)}.js`,
          `module.exports = (c) => ${text};`,
        ]),
      ),
      'src/api/memo/routes/memo.js': `module.exports = { routes: [
        { method: 'GET', path: '/memos', handler: 'memo.find' },
        ${Object.keys(ways)
          .map(nameOf)
          .map(
            (it) => `{ method: 'GET', path: '/${it}', handler: 'memo.find', config: { policies: ['global::${it}'] } },`,
          )
          .join('\n')}
      ] };`,
      'src/api/memo/routes/bearers.js': `module.exports = { routes: [{ method: 'GET', path: '/bearers', config: { auth: false }, handler: async () => {
        const { user, jwt } = strapi.plugin('users-permissions').services;
        const role = await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } });
        const { id } = await user.add({ username: 'ann', email: 'ann@x.org', password: 'Passw0rd', confirmed: true, provider: 'local', role: role.id });
        const bearers = { user: jwt.issue({ id }) };
        for (const it of [${Object.values(tokenType).join()}])
          bearers[it.name] = (await strapi.service('admin::api-token').create(it)).accessKey;
        return bearers;
      } }] };`,
      'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing}
        await allow('public', ['${find}']);
        await allow('authenticated', ['${find}']);
      } };`,
    });
    bearers = (await served.json('GET', '/api/bearers')).body as typeof bearers;
  });
  afterAll(() => served.close());
  const ask = (path: string, as: string) =>
    served.json('GET', `/api/${path}`, undefined, as === 'public' ? {} : { authorization: `Bearer ${bearers[as]}` });

  const refused: readonly (readonly [Way, readonly string[]])[] = [
    ['has no credentials', ['public']],
    ['may not create', ['public', 'user', 'custom']],
    ['may find', ['readonly', 'full']],
    ['has no such rule', ['public', 'user', 'custom']],
    ['has no such permission', ['readonly', 'full', 'custom']],
    ['has no end', ['readonly', 'full']],
    ['has no ability', ['readonly', 'full']],
  ];
  it.each(refused)('AC3: a policy that refuses who %s refuses as in v4: %j', async (way, whom) => {
    for (const as of ['public', 'user', ...Object.keys(tokenType)])
      expect([as, (await ask(nameOf(way), as)).status]).toEqual([as, whom.includes(as) ? 403 : 200]);
  });

  it('has the rules of the ability, also once it is copied', async () => {
    for (const as of ['public', 'user', 'custom'])
      for (const way of ['has the rule', 'copies it'])
        expect([as, way, (await ask(nameOf(way), as)).status]).toEqual([as, way, 200]);
  });

  it('has the credentials of a token', async () => {
    expect((await ask('memos', 'custom')).body).toEqual({
      strategy: { name: 'api-token' },
      credentials: {
        id: expect.any(Number),
        name: 'custom',
        description: 'of a shop',
        type: 'custom',
        lastUsedAt: expect.toSatisfy((it) => it === null || Number.isFinite(Date.parse(it as string))),
        lifespan: '604800000',
        expiresAt: expect.stringMatching(/^\d{4}-.*Z$/),
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
        updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
        permissions: ['api::memo.memo.find', 'api::memo.memo.gone'],
      },
      ability: [{ action: find, subject: 'all' }],
    });
    expect((await ask('memos', 'readonly')).body).toMatchObject({
      credentials: { type: 'read-only', lifespan: null, expiresAt: null, permissions: [] },
      ability: null,
    });
    expect((await ask('memos', 'public')).body).toEqual({
      strategy: { name: 'users-permissions' },
      credentials: null,
      ability: [{ action: find, subject: 'all' }],
    });
  });

  it.each(['asks for what is not here', 'asks for a method of the strategy'] as const)(
    'lets nobody pass who %s, even if the error is caught',
    async (way) => {
      expect((await ask(nameOf(way), 'public')).status).toBe(500);
      expect(served.logged.join('')).toMatch(
        /ctx\.state\.auth\.(?:ability\.possibleRulesFor|strategy\.verify) is not available/,
      );
    },
  );
});
