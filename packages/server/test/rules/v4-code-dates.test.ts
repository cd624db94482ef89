/** Dates of code: days and times of day are those of the server's time zone, as in v4, and hooks find dates as they were given. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  allowing,
  type CodeProject,
  coreFile,
  serveCode,
  typeFile,
  userSchema,
  userSchemaFile,
} from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { codeRunner, runningController } from '../world/running.js';

const times = {
  day: { type: 'date' },
  hour: { type: 'time' },
  startsAt: { type: 'datetime' },
  facts: { type: 'json' },
};
const meeting = 'api::meeting.meeting';
const files = {
  ...typeFile('meeting', { ...times, parts: { type: 'component', component: 'shared.part', repeatable: true } }),
  'src/components/shared/part.json': JSON.stringify({
    collectionName: 'components_shared_parts',
    info: { displayName: 'part' },
    attributes: times,
  }),
  ...typeFile(
    'plan',
    {
      day: { type: 'date' },
      startsAt: { type: 'datetime' },
      meetings: { type: 'relation', relation: 'oneToMany', target: meeting },
    },
    { draftAndPublish: true },
  ),
  ...coreFile('Router', 'plan', '{ config: { create: { auth: false }, update: { auth: false } } }'),
  ...coreFile(
    'Controller',
    'plan',
    `() => ({
      create(ctx) {
        Object.assign(ctx.request.body.data, { publishedAt: new Date(), day: new Date(2024, 4, 5) });
        return super.create(ctx);
      },
      update(ctx) {
        ctx.request.body.data.startsAt = { toJSON: () => '2024-05-05T00:00:00.000Z' };
        return super.update(ctx);
      },
      find(ctx) {
        const day = { $eq: new Date(2024, 4, Number(ctx.query.at)) };
        ctx.query.filters = { $and: [{ day }] };
        if (ctx.query.inside) Object.assign(ctx.query, { filters: {}, populate: { meetings: { filters: { day } } } });
        return super.find(ctx);
      },
    })`,
  ),
  ...typeFile('post', { title: { type: 'string' }, startsAt: { type: 'datetime' } }, { draftAndPublish: true }),
  ...coreFile('Router', 'post'),
  ...coreFile('Controller', 'post'),
  'src/api/post/content-types/post/lifecycles.js': `
    const kinds = (data) => ['publishedAt', 'startsAt'].map((it) => data[it] instanceof Date ? 'date' : typeof data[it]).join(' ');
    module.exports = {
      beforeCreate({ params: { data } }) { globalThis.datesSeen = kinds(data); if (data.startsAt instanceof Date) data.startsAt.setUTCHours(0); },
      beforeUpdate({ params: { data } }) { globalThis.datesSeen = kinds(data); },
    };`,
  ...coreFile('Router', 'meeting', '{ config: { create: { auth: false } } }'),
  ...coreFile('Controller', 'meeting', '() => ({ create(ctx) { return super.create(ctx); } })'),
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    const { register } = plugin.controllers.auth;
    plugin.controllers.auth.register = (ctx) => {
      Object.assign(ctx.request.body, { acceptedAt: new Date(Date.UTC(2024, 4, 5)), born: new Date(2024, 4, 5) });
      return register(ctx);
    };
    return plugin;
  };`,
  [userSchemaFile]: JSON.stringify(userSchema({ acceptedAt: { type: 'datetime' }, born: { type: 'date' } })),
  'config/plugins.js': `module.exports = { 'users-permissions': { config: { register: { allowedFields: ['acceptedAt', 'born'] } } } };`,
  'src/api/run/routes/run.js': `module.exports = { routes: [{ method: 'POST', path: '/run', handler: 'run.run', config: { auth: false } }] };`,
  'src/api/run/controllers/run.js': runningController,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing} await allow('public', ['api::post.post.create', 'api::plan.plan.find', '${meeting}.find', 'plugin::users-permissions.auth.register']); await allow('authenticated', []); } };`,
};

describe.each(dialects)('dates of code on %s', (dialect) => {
  const zone = process.env['TZ'];
  let served: CodeProject;
  beforeAll(async () => {
    // the day here is not that of UTC
    process.env['TZ'] = 'Pacific/Auckland';
    served = await serveCode(dialect, files);
  });
  afterAll(async () => {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
    await served.close();
  });
  const { run } = codeRunner(() => served);

  it.each(['strapi.entityService.create', 'strapi.db.query'])('are stored by their types: %s', async (by) => {
    const made = by === 'strapi.db.query' ? `strapi.db.query('${meeting}').create` : `${by}.bind(null, '${meeting}')`;
    const values = `{ day: new Date(2024, 4, 5), hour: new Date(2024, 4, 5, 6, 7, 8, 9), startsAt: new Date(Date.UTC(2024, 4, 5)), facts: { at: new Date(0) } }`;
    const stored = { day: '2024-05-05', hour: '06:07:08.009', startsAt: '2024-05-05T00:00:00.000Z' };
    expect(
      await run(`return ${made}({ data: { ...${values}, parts: [{}, ${values}] }, populate: { parts: true } })`),
    ).toMatchObject({ ...stored, facts: { at: '1970-01-01T00:00:00.000Z' }, parts: [{ day: null }, stored] });
  });

  it('are conditions by their types', async () => {
    for (const where of [
      '{ day: new Date(2024, 4, 5) }',
      '{ day: { $in: [new Date(2024, 4, 5)] } }',
      '{ day: { $between: [new Date(2024, 4, 5), new Date(2024, 4, 5, 23)] } }',
      '{ hour: new Date(2020, 1, 1, 6, 7, 8, 9) }',
      '{ startsAt: new Date(Date.UTC(2024, 4, 5)) }',
    ])
      expect(await run(`return strapi.db.query('${meeting}').count({ where: ${where} })`), where).toBe(2);
    expect(await run(`return strapi.db.query('${meeting}').count({ where: { day: new Date(2024, 4, 4) } })`)).toBe(0);
  });

  it('may stand in the body and query of a request', async () => {
    const { status, body } = await served.json('POST', '/api/plans', { data: {} });
    expect([status, body]).toMatchObject([200, { data: { attributes: { day: '2024-05-05' } } }]);
    expect((await served.json('PUT', '/api/plans/1', { data: { day: null } })).body).toMatchObject({
      data: { attributes: { startsAt: '2024-05-05T00:00:00.000Z', day: null } },
    });
    expect((await served.json('POST', '/api/plans', { data: {} })).status).toBe(200);
    for (const [day, count] of [
      ['5', 1],
      ['4', 0],
    ] as const)
      expect(((await served.json('GET', `/api/plans?at=${day}`)).body as { data: object[] }).data).toHaveLength(count);
    const met = await run(
      `return (await strapi.entityService.create('${meeting}', { data: { day: '2024-05-05' } })).id`,
    );
    await run(`await strapi.entityService.update('api::plan.plan', 1, { data: { meetings: [${met}] } })`);
    for (const [day, count] of [
      ['5', 1],
      ['4', 0],
    ] as const) {
      const { data } = (await served.json('GET', `/api/plans?at=${day}&inside=1`)).body as {
        data: readonly { attributes: { meetings: { data: object[] } } }[];
      };
      expect(data[0]?.attributes.meetings.data).toHaveLength(count);
    }
  });

  it('may stand in the body of an action of users that code wraps', async () => {
    const user = { username: 'ada', email: 'ada@example.org', password: 'a long password' };
    expect((await served.json('POST', '/api/auth/local/register', user)).status).toBe(200);
    expect(
      await run(`return strapi.query('plugin::users-permissions.user').findOne({ where: { username: 'ada' } })`),
    ).toMatchObject({ acceptedAt: '2024-05-05T00:00:00.000Z', born: '2024-05-05' });
  });

  it.each([500, 2000, 4000, 20_000])('data that is nested %i levels deep is refused, or stored', async (depth) => {
    const deep = `${'['.repeat(depth)}${']'.repeat(depth)}`;
    const { status } = await served.ask('/api/meetings', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"data":{"facts":${deep}}}`,
    });
    expect(status).toBe(depth > 500 ? 400 : 200);
  });

  it('are dates for hooks, also where the core sets them; texts of clients are texts', async () => {
    const seen = async (code: string): Promise<unknown> => run(`${code}; return globalThis.datesSeen`);
    expect((await served.json('POST', '/api/posts', { data: { startsAt: '2024-05-05T10:00:00.000Z' } })).status).toBe(
      200,
    );
    expect(await seen('')).toBe('date string');
    const create = (data: string): string =>
      `globalThis.made = await strapi.entityService.create('api::post.post', { data: ${data} })`;
    expect(await seen(create('{ startsAt: new Date(Date.UTC(2024, 4, 5, 10)), publishedAt: new Date() }'))).toBe(
      'date date',
    );
    expect(await run('return globalThis.made.startsAt')).toBe('2024-05-05T00:00:00.000Z');
    expect(
      await seen(
        `await strapi.db.query('api::post.post').update({ where: { id: 1 }, data: { publishedAt: new Date() } })`,
      ),
    ).toBe('date undefined');
  });
});
