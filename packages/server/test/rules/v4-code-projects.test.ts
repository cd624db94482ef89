/** Small projects as people write them, moved as they are. */
import crypto from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';

const bootstrap = (body: string) => ({
  'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing}\n${body} } };`,
});
const user = (name: string) => `await (async () => {
  const role = (await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } }));
  return strapi.plugins['users-permissions'].services.user.add({ username: '${name}', email: '${name}@example.org', password: 'Passw0rd!', provider: 'local', confirmed: true, role: role.id });
})();`;
const signedIn = async (served: CodeProject, name: string): Promise<Record<string, string>> => {
  const { body } = await served.json('POST', '/api/auth/local', { identifier: name, password: 'Passw0rd!' });
  return { authorization: `Bearer ${(body as { jwt: string }).jwt}` };
};
const using = async (
  files: Readonly<Record<string, string>>,
  work: (served: CodeProject) => Promise<void>,
  env = {},
) => {
  const served = await serveCode('sqlite', files, env);
  try {
    await work(served);
  } finally {
    await served.close();
  }
};
const relation = (kind: string, target: string, inverse: object = {}) => ({
  type: 'relation',
  relation: kind,
  target,
  ...inverse,
});

describe('a project as people write them', () => {
  it('a blog: slugs by a lifecycle, a mail for each comment, counts in a custom find', async () => {
    await using(
      {
        ...typeFile(
          'post',
          {
            title: { type: 'string', required: true },
            slug: { type: 'uid', targetField: 'title' },
            body: { type: 'richtext' },
            comments: relation('oneToMany', 'api::comment.comment', { mappedBy: 'post' }),
          },
          { draftAndPublish: true },
        ),
        ...typeFile('comment', {
          text: { type: 'text' },
          post: relation('manyToOne', 'api::post.post', { inversedBy: 'comments' }),
        }),
        ...coreFile('Router', 'post'),
        ...coreFile(
          'Service',
          'post',
          `({ strapi }) => ({
          async findBySlug(slug) { return strapi.db.query('api::post.post').findOne({ where: { slug, publishedAt: { $notNull: true } }, populate: { comments: { orderBy: { id: 'desc' } } } }); },
        })`,
        ),
        ...coreFile(
          'Controller',
          'post',
          `({ strapi }) => ({
          async find(ctx) {
            ctx.query = { ...ctx.query, sort: ctx.query.sort ?? 'title:asc' };
            const { data, meta } = await super.find(ctx);
            const counts = await Promise.all(data.map((it) => strapi.entityService.count('api::comment.comment', { filters: { post: it.id } })));
            data.forEach((it, i) => { it.attributes.commentCount = counts[i]; delete it.attributes.body; });
            return { data, meta };
          },
          async findOne(ctx) {
            const post = await strapi.service('api::post.post').findBySlug(ctx.params.id);
            if (!post) return ctx.notFound('No such post');
            const sanitized = await this.sanitizeOutput(post, ctx);
            return this.transformResponse(sanitized);
          },
        })`,
        ),
        ...coreFile('Router', 'comment'),
        ...coreFile('Service', 'comment'),
        ...coreFile('Controller', 'comment'),
        'src/api/post/content-types/post/lifecycles.js': `const slugify = (s) => s.toLowerCase().replace(/[^a-z0-9]+/g, '-');
          module.exports = { beforeCreate(event) { const { data } = event.params; if (data.title) data.slug = slugify(data.title); },
            async beforeUpdate(event) { const { data } = event.params; if (data.title) data.slug = slugify(data.title); } };`,
        'src/api/comment/content-types/comment/lifecycles.js': `module.exports = { async afterCreate({ result, params }) {
          const comment = await strapi.entityService.findOne('api::comment.comment', result.id, { populate: { post: { fields: ['title'] } } });
          await strapi.plugins.email.services.email.send({ to: 'me@example.org', subject: 'On ' + comment.post.title, text: result.text });
          strapi.log.warn('mailed ' + comment.post.title);
        } };`,
        ...bootstrap(
          `await allow('public', ['post.find', 'post.findOne', 'post.create', 'post.update', 'comment.create', 'comment.find'].map((it) => 'api::' + it.split('.')[0] + '.' + it));`,
        ),
      },
      async (served) => {
        for (const title of ['On Trees', 'A Day'])
          expect((await served.json('POST', '/api/posts', { data: { title, body: 'x' } })).status).toBe(200);
        expect((await served.json('POST', '/api/comments', { data: { text: 'Nice', post: 1 } })).status).toBe(200);
        expect(served.logged.join('')).toContain('mailed On Trees');
        const { body } = await served.json('GET', '/api/posts');
        expect(body).toMatchObject({
          data: [
            { attributes: { title: 'A Day', slug: 'a-day', commentCount: 0 } },
            { attributes: { commentCount: 1 } },
          ],
        });
        expect(JSON.stringify(body)).not.toContain('"body"');
        expect((await served.json('GET', '/api/posts/on-trees')).body).toMatchObject({
          data: { attributes: { comments: { data: [{ attributes: { text: 'Nice' } }] } } },
        });
        expect((await served.json('GET', '/api/posts/none')).body).toMatchObject({
          error: { status: 404, message: 'No such post' },
        });
      },
    );
  });

  it('a shop: a checkout of its own, and a signed webhook of a payment service', async () => {
    const secret = 'whsec_test';
    await using(
      {
        ...typeFile('product', { name: { type: 'string' }, price: { type: 'decimal' }, stock: { type: 'integer' } }),
        ...typeFile('order', {
          state: { type: 'enumeration', enum: ['open', 'paid'], default: 'open' },
          total: { type: 'decimal' },
          reference: { type: 'string' },
          products: relation('manyToMany', 'api::product.product'),
          buyer: relation('manyToOne', 'plugin::users-permissions.user'),
        }),
        ...coreFile('Router', 'product', `{ only: ['find', 'findOne'] }`),
        ...coreFile('Service', 'product'),
        ...coreFile('Controller', 'product'),
        ...coreFile('Router', 'order'),
        ...coreFile('Service', 'order'),
        ...coreFile(
          'Controller',
          'order',
          `({ strapi }) => ({
          async create(ctx) {
            const { products } = ctx.request.body;
            const items = await Promise.all(products.map((id) => strapi.entityService.findOne('api::product.product', id)));
            if (items.some((it) => !it || it.stock < 1)) { ctx.response.status = 422; return { error: 'sold out' }; }
            const total = items.reduce((sum, it) => sum + it.price, 0);
            const reference = 'cs_' + items.length;
            const order = await strapi.entityService.create('api::order.order', { data: { products, total, reference, buyer: ctx.state.user.id } });
            return { stripeSession: { id: reference }, order: order.id };
          },
          async webhook(ctx) {
            const raw = ctx.request.body[Symbol.for('unparsedBody')];
            const expected = require('node:crypto').createHmac('sha256', process.env.STRIPE_SECRET ?? 'whsec_test').update(raw).digest('hex');
            if (ctx.request.headers['stripe-signature'] !== expected) return ctx.badRequest('Webhook Error');
            const event = JSON.parse(raw);
            await strapi.db.transaction(async () => {
              const order = await strapi.db.query('api::order.order').findOne({ where: { reference: event.data.object.id }, populate: ['products'] });
              await strapi.db.query('api::order.order').update({ where: { id: order.id }, data: { state: 'paid' } });
              for (const it of order.products) await strapi.db.query('api::product.product').update({ where: { id: it.id }, data: { stock: it.stock - 1 } });
            });
            ctx.send({ received: true });
          },
        })`,
        ),
        'src/api/order/routes/01-webhook.js': `module.exports = { routes: [{ method: 'POST', path: '/orders/webhook', handler: 'order.webhook', config: { auth: false } }] };`,
        'config/middlewares.js': `module.exports = ['strapi::errors', 'strapi::cors', { name: 'strapi::body', config: { includeUnparsed: true } }];`,
        ...bootstrap(`await allow('public', ['api::product.product.find', 'api::product.product.findOne', 'plugin::users-permissions.auth.callback']);
          await allow('authenticated', ['api::order.order.create']);
          ${user('mia')}
          for (const [name, stock] of [['Chair', 1], ['Table', 0]]) await strapi.entityService.create('api::product.product', { data: { name, stock, price: 9.5 } });`),
      },
      async (served) => {
        const headers = await signedIn(served, 'mia');
        expect((await served.json('POST', '/api/orders', { products: [1] })).status).toBe(403);
        expect((await served.json('POST', '/api/orders', { products: [2] }, headers)).status).toBe(422);
        expect((await served.json('POST', '/api/orders', { products: [1] }, headers)).body).toEqual({
          stripeSession: { id: 'cs_1' },
          order: 1,
        });
        const event = '{ "type":"checkout.session.completed",\n "data": {"object": {"id":"cs_1"}} }';
        const send = (signature: string) =>
          served.ask('/api/orders/webhook', {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'stripe-signature': signature },
            body: event,
          });
        expect((await send('wrong')).status).toBe(400);
        expect((await send(crypto.createHmac('sha256', secret).update(event).digest('hex'))).status).toBe(200);
        expect((await served.json('GET', '/api/products/1')).body).toMatchObject({
          data: { attributes: { stock: 0 } },
        });
        expect((await served.json('POST', '/api/products', { data: { name: 'x' } })).status).toBeOneOf([404, 405]);
      },
    );
  });

  it('notifications: each user sees its own, by filters on ctx.query and an is-owner policy', async () => {
    await using(
      {
        ...typeFile('notification', {
          text: { type: 'string' },
          seen: { type: 'boolean', default: false },
          owner: relation('manyToOne', 'plugin::users-permissions.user'),
        }),
        ...coreFile(
          'Router',
          'notification',
          `{ config: { update: { policies: ['is-owner'] }, delete: { policies: [{ name: 'is-owner', config: { kind: 'notification' } }] } } }`,
        ),
        ...coreFile('Service', 'notification'),
        ...coreFile(
          'Controller',
          'notification',
          `({ strapi }) => ({
          async find(ctx) {
            ctx.query.filters = { ...(ctx.query.filters || {}), owner: { id: { $eq: ctx.state.user.id } } };
            return super.find(ctx);
          },
          async create(ctx) {
            const { data } = ctx.request.body;
            const entity = await strapi.service('api::notification.notification').create({ data: { ...data, owner: ctx.state.user.id } });
            return this.transformResponse(await this.sanitizeOutput(entity, ctx));
          },
        })`,
        ),
        'src/api/notification/policies/is-owner.js': `module.exports = async (policyContext, config, { strapi }) => {
          const { id } = policyContext.params;
          const entry = await strapi.entityService.findOne('api::notification.notification', id, { populate: ['owner'] });
          return entry?.owner?.id === policyContext.state.user.id;
        };`,
        ...bootstrap(`await allow('authenticated', [...['find', 'create', 'update', 'delete'].map((it) => 'api::notification.notification.' + it), 'plugin::users-permissions.user.find']);
          await allow('public', ['plugin::users-permissions.auth.callback']);
          ${user('mia')} ${user('tom')}`),
      },
      async (served) => {
        const [mia, tom] = [await signedIn(served, 'mia'), await signedIn(served, 'tom')];
        for (const [who, text] of [
          [mia, 'for mia'],
          [tom, 'for tom'],
        ] as const)
          expect((await served.json('POST', '/api/notifications', { data: { text } }, who)).status).toBe(200);
        const seenBy = async (who: Record<string, string>, search = '') =>
          (
            (await served.json('GET', `/api/notifications${search}`, undefined, who)).body as {
              data: { attributes: { text: string } }[];
            }
          ).data.map((it) => it.attributes.text);
        expect([await seenBy(mia), await seenBy(tom)]).toEqual([['for mia'], ['for tom']]);
        for (const attack of ['?filters[owner][id][$ne]=0', '?filters[$or][0][id]=2', '?filters[owner]=2'])
          expect(await seenBy(mia, attack)).not.toContain('for tom');
        expect((await served.json('PUT', '/api/notifications/2', { data: { seen: true } }, mia)).status).toBe(403);
        expect((await served.json('PUT', '/api/notifications/1', { data: { seen: true } }, mia)).status).toBe(200);
        expect((await served.json('DELETE', '/api/notifications/1', undefined, tom)).status).toBe(403);
      },
    );
  });

  it('tenants: a middleware takes them from a header, and reads and writes are bound to them', async () => {
    await using(
      {
        ...typeFile('page', { title: { type: 'string' }, tenant: { type: 'string', private: true } }),
        ...coreFile('Router', 'page'),
        ...coreFile('Service', 'page'),
        ...coreFile(
          'Controller',
          'page',
          `({ strapi }) => ({
          async find(ctx) { const { results, pagination } = await strapi.service('api::page.page').find({ ...ctx.query, filters: { $and: [ctx.query.filters ?? {}, { tenant: ctx.state.tenant }] } });
            return this.transformResponse(await this.sanitizeOutput(results, ctx), { pagination }); },
        })`,
        ),
        'src/middlewares/tenant.js': `module.exports = (config, { strapi }) => async (ctx, next) => {
          if (!ctx.request.url.startsWith('/api')) return next();
          const [, tenant, rest] = /^\\/api\\/t\\/(\\w+)(\\/.*)$/.exec(ctx.request.url) ?? [];
          ctx.state.tenant = tenant ?? ctx.request.get('x-tenant');
          if (!config.tenants.includes(ctx.state.tenant)) return ctx.unauthorized('Which tenant?');
          if (tenant) ctx.request.url = '/api' + rest;
          await next();
          ctx.set('X-Tenant', ctx.state.tenant);
        };`,
        'config/middlewares.js': `module.exports = ['strapi::errors', { name: 'global::tenant', config: { tenants: ['north', 'south'] } }, 'strapi::body'];`,
        'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing}
          await allow('public', ['find', 'create'].map((it) => 'api::page.page.' + it));
          strapi.db.lifecycles.subscribe({ models: ['api::page.page'], beforeCreate(event) {
            const ctx = strapi.requestContext.get();
            if (ctx) event.params.data.tenant = ctx.state.tenant;
          } });
        } };`,
      },
      async (served) => {
        expect((await served.json('GET', '/api/pages')).status).toBe(401);
        expect(
          (await served.json('POST', '/api/pages', { data: { title: 'N', tenant: 'south' } }, { 'x-tenant': 'north' }))
            .status,
        ).toBe(200);
        expect((await served.json('POST', '/api/t/south/pages', { data: { title: 'S' } })).status).toBe(200);
        const titles = async (at: string, headers = {}) => {
          const { body, headers: sent } = await served.json('GET', at, undefined, headers);
          return [
            (body as { data: { attributes: { title: string } }[] }).data.map((it) => it.attributes.title),
            sent['x-tenant'],
          ];
        };
        expect(await titles('/api/pages', { 'x-tenant': 'north' })).toEqual([['N'], 'north']);
        expect(await titles('/api/t/south/pages?sort=title')).toEqual([['S'], 'south']);
        expect(await titles('/api/pages?filters[tenant]=south', { 'x-tenant': 'north' })).toEqual([[], 'north']);
      },
    );
  });
});
