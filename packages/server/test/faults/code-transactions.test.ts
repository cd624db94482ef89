/** Transactions of project code that are run again, that enclose what the server answers by itself, and that do not end. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/limits.js';
import { allowing, type CodeProject, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { crossingCodes, meeting } from '../world/lock-circles.js';

const text = { type: 'string' };

const codes = { rows: crossingCodes('rows'), part: crossingCodes('part') };

const resetCode = 'c'.repeat(128);
const password = 'Passw0rd!';

const types = {
  ...typeFile('note', { name: text }),
  ...typeFile('parcel', { detail: { type: 'component', component: 'shop.detail' } }),
  ...typeFile('ticket', { code: { ...text, unique: true } }),
  ...typeFile('price', { name: text, cents: { type: 'integer' } }),
  ...typeFile('profile', { name: { ...text, required: true } }),
  'src/components/shop/detail.json': JSON.stringify({
    collectionName: 'components_shop_details',
    info: { displayName: 'detail' },
    attributes: { label: text },
  }),
  'src/index.js': `
    ${meeting}
    const codes = ${JSON.stringify(codes)};
    /** In a circle with the other one, of whose end it does not hear. */
    const store = async (kind, name) => {
      for (const code of codes[kind][name]) {
        try { await strapi.entityService.create('api::ticket.ticket', { data: { code } }); } catch {}
        await meet(kind, name);
      }
    };
    module.exports = { async bootstrap({ strapi }) {
      ${allowing}
      await allow('public', ['note', 'parcel'].map((type) => 'api::' + type + '.' + type + '.create'));
      await allow('public', ['plugin::users-permissions.auth.register', 'plugin::users-permissions.auth.resetPassword']);
      await allow('authenticated', []);
      const { lifecycles } = strapi.db;
      lifecycles.subscribe({ models: ['shop.detail'], beforeCreate: ({ params: { data } }) => store('part', data.label) });
      lifecycles.subscribe({
        models: ['api::price.price'],
        beforeCreateMany: ({ params }) => { for (const row of params.data) row.cents *= 100; },
        afterCreateMany: ({ params }) => store('rows', params.data[0].name),
      });
      lifecycles.subscribe({
        models: ['plugin::users-permissions.user'],
        afterFindOne: () => (globalThis.endless ? new Promise(() => undefined) : undefined),
      });
      await strapi.entityService.create('plugin::users-permissions.user', { data: {
        username: 'mia', email: 'mia@example.org', password: '${password}', provider: 'local', confirmed: true, resetPasswordToken: '${resetCode}' } });
    } };`,
  'src/api/price/routes/prices.js': `
    const all = (uid, attribute) => strapi.db.query(uid).findMany().then((rows) => rows.map((row) => row[attribute]));
    module.exports = { routes: [
      { method: 'POST', path: '/prices/:name', config: { auth: false }, handler: ({ params: { name } }) =>
        strapi.db.query('api::price.price').createMany({ data: [{ name, cents: 7 }] }) },
      { method: 'GET', path: '/stored/:uid/:attribute', config: { auth: false }, handler: ({ params }) => all(params.uid, params.attribute) },
    ] };`,
};

const storedIn = async (served: CodeProject, uid: string, attribute: string): Promise<readonly unknown[]> =>
  (await served.json('GET', `/api/stored/${uid}/${attribute}`)).body as unknown[];

const bounds = limits as { -readonly [K in keyof typeof limits]: number };
const usual = limits.codeHoldsMsMax;
const endless = (is: boolean): void => {
  Object.assign(globalThis, { endless: is });
};
afterEach(() => {
  bounds.codeHoldsMsMax = usual;
  endless(false);
});

describe.each(dialects)('transactions of code on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...types,
      'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
        const { register } = plugin.controllers.auth;
        plugin.controllers.auth.register = (ctx) => ctx.query.alone ? register(ctx) : strapi.db.transaction(async () => {
          await register(ctx);
          await strapi.entityService.create('api::profile.profile', { data: {} });
        });
        return plugin;
      };`,
      'src/api/user/routes/users.js': `
        const handler = (ctx) => strapi.db.transaction(() => strapi.controller('plugin::users-permissions.' + ctx.params.called)[ctx.params.action](ctx));
        module.exports = { routes: ['GET', 'POST'].map((method) => ({ method, path: '/joined/:called/:action', config: { auth: false }, handler })) };`,
    });
  });
  afterAll(() => served.close());

  const note = () => served.json('POST', '/api/notes', { data: { name: 'n' } });
  const register = (username: string, search = '') =>
    served.json('POST', `/api/auth/local/register${search}`, { username, email: `${username}@example.org`, password });

  it('a registration inside of one is refused at once, and nothing of it is stored', async () => {
    expect((await register('half')).status).toBe(500);
    expect(served.logged.join('')).toContain('cannot be a part of strapi.db.transaction');
    // whatever was begun is over before the next write is
    expect((await note()).status).toBe(200);
    expect(await storedIn(served, 'plugin::users-permissions.user', 'username')).toEqual(['mia']);
    expect((await register('whole', '?alone=1')).status).toBe(200);
  });

  it('what an endpoint does decides whether it can be a part of one, not the method of the route that calls it', async () => {
    expect(Number((await served.json('POST', '/api/joined/user/count')).body)).toBe(2);
    expect((await served.json('GET', '/api/joined/auth/emailConfirmation?confirmation=x')).status).toBe(500);
    expect((await served.json('GET', '/api/joined/auth/forgotPassword')).status).toBe(500);
  });

  it('a hook of reads of users that does not end is aborted, as a hook of writes is', async () => {
    bounds.codeHoldsMsMax = 1000;
    const reset = () =>
      served.json('POST', '/api/auth/reset-password', {
        code: resetCode,
        password: 'Passw0rd!1',
        passwordConfirmation: 'Passw0rd!1',
      });
    endless(true);
    expect((await reset()).status).toBe(500);
    endless(false);
    expect((await note()).status).toBe(200);
    expect((await reset()).status).toBe(200);
  });

  if (dialect !== 'postgres') return;

  it('hooks of many rows change them once, though the transaction is run again', async () => {
    const made = await Promise.all(['one', 'other'].map((name) => served.json('POST', `/api/prices/${name}`)));
    expect(made.map((it) => it.status)).toEqual([200, 200]);
    expect(await storedIn(served, 'api::price.price', 'cents')).toEqual([700, 700]);
  });

  it('what hooks of components store is not lost by a circle of which they do not hear', async () => {
    const made = ['one', 'other'].map((label) => served.json('POST', '/api/parcels', { data: { detail: { label } } }));
    expect((await Promise.all(made)).map((it) => it.status)).toEqual([200, 200]);
    const stored = await storedIn(served, 'api::ticket.ticket', 'code');
    expect(stored.filter((it) => String(it).startsWith('part')).sort()).toEqual(
      Object.values(codes.part).flat().sort(),
    );
  });
});

describe.each(dialects)('a global middleware with a transaction around the server on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...types,
      'config/middlewares.js': `module.exports = ['strapi::errors', 'global::transaction'];`,
      'src/middlewares/transaction.js': `module.exports = () => (ctx, next) =>
        ctx.query.alone ? next() : strapi.db.transaction(next);`,
    });
  });
  afterAll(() => served.close());

  it('is told that a write cannot join it, and nothing of that is stored', async () => {
    expect((await served.json('POST', '/api/notes', { data: { name: 'half' } })).status).toBe(500);
    expect(served.logged.join('')).toContain('POST /api/notes is answered by the server');
    expect((await served.json('POST', '/api/notes?alone=1', { data: { name: 'whole' } })).status).toBe(200);
    const { status, body } = await served.json('GET', '/api/stored/api::note.note/name');
    expect([status, body]).toEqual([200, ['whole']]);
    // what writes nothing is answered
    expect((await served.json('OPTIONS', '/api/notes')).status).toBe(200);
    expect((await served.json('POST', '/api/nothing')).status).toBe(
      (await served.json('POST', '/api/nothing?alone=1')).status,
    );
  });
});
