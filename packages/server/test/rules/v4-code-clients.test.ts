/** What clients may do does not depend on whether code takes part: with hooks on reads of users, in locales of single types, with ids and bodies. */
import pick from 'lodash/pick.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRows } from '../../src/sql/dialect.js';
import {
  allowing,
  type CodeProject,
  coreFile,
  serveCode,
  singleTypeFile,
  typeFile,
  userSchema,
  userSchemaFile,
} from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const text = { type: 'string' };
const tags = { type: 'relation', relation: 'oneToMany', target: 'api::tag.tag' };
const localized = { i18n: { localized: true } };
/** The first is the server's own. */
const names = ['plain', 'hooked', 'helped'] as const;

const single = (name: string): Readonly<Record<string, string>> => ({
  ...singleTypeFile(`${name}-home`, { title: { ...text, pluginOptions: localized } }, {}, localized),
  ...singleTypeFile(`${name}-desk`, { title: text }, { draftAndPublish: true }),
});

const vault = { id: 1, __type: 'api::vault.vault' };
const facts = { type: 'json' };
const hooks = `
const turn = ({ params: { data } }) => {
  if (data.parts) data.parts = data.parts.map((it) => ({ ...it })).reverse();
};
module.exports = { beforeCreate: turn, beforeUpdate: turn, beforeDelete() {}, afterFindOne() {}, afterFindMany() {} };`;
const files = {
  ...typeFile('tag', { name: text }, { draftAndPublish: true, populateCreatorFields: true }),
  ...typeFile('vault', { title: text }),
  ...Object.assign(
    {},
    ...names.flatMap((name) => [
      typeFile(
        name,
        {
          title: text,
          facts,
          about: { type: 'relation', relation: 'morphToMany' },
          cover: { type: 'media' },
          part: { type: 'component', component: 'shared.part' },
          parts: { type: 'component', component: 'shared.part', repeatable: true },
        },
        { draftAndPublish: true },
      ),
      single(name),
      ...[name, `${name}-home`, `${name}-desk`].flatMap((it) => [coreFile('Router', it), coreFile('Controller', it)]),
    ]),
  ),
  ...Object.fromEntries(
    ['hooked', 'hooked-home', 'hooked-desk'].map((it) => [`src/api/${it}/content-types/${it}/lifecycles.js`, hooks]),
  ),
  ...coreFile('Service', 'helped', `() => ({ async helper() {} })`),
  ...coreFile('Service', 'helped-home', `() => ({ async helper() {} })`),
  ...coreFile('Service', 'helped-desk', `() => ({ find(params) { return super.find(params); } })`),
  'src/components/shared/part.json': JSON.stringify({
    collectionName: 'components_parts',
    info: { displayName: 'part' },
    attributes: { label: text, facts },
  }),
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => {
    const { find, count } = plugin.controllers.user;
    plugin.controllers.user.count = (ctx) => {
      if (ctx.get('x-narrow')) ctx.query.filters = { ...ctx.query.filters, username: 'nobody' };
      if (ctx.get('x-known')) ctx.query.filters = { ...ctx.query.filters, id: { $gt: 0 } };
      return count(ctx);
    };
    plugin.controllers.user.find = (ctx) => {
      ctx.query = { ...ctx.query, filters: { ...ctx.query.filters, blocked: { $ne: true } } };
      return find(ctx);
    };
    return plugin;
  };`,
  [userSchemaFile]: JSON.stringify(userSchema({ tags })),
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const uids = [${names.map((it) => `'${it}', '${it}-home', '${it}-desk'`).join(', ')}].map((it) => 'api::' + it + '.' + it);
    const actions = uids.flatMap((uid) => ['find', 'findOne', 'create', 'update', 'delete', 'createLocalization'].map((it) => uid + '.' + it));
    await allow('public', [...actions, 'api::tag.tag.find', ...['find', 'findOne', 'count'].map((it) => 'plugin::users-permissions.user.' + it)]);
    await allow('authenticated', []);
    for (const code of ['en', 'fr']) await strapi.plugin('i18n').service('locales').create({ code, name: code });
    await strapi.service('admin::user').create({ firstname: 'Ada', lastname: 'Quill', email: 'ada@example.org', isActive: true });
    for (const [name, publishedAt] of [['shown', new Date()], ['draft', null]])
      await strapi.entityService.create('api::tag.tag', { data: { name, publishedAt, createdBy: 1 } });
    await strapi.entityService.create('api::vault.vault', { data: { title: 'nobody may find it' } });
    const file = { name: 'a.txt', hash: 'a', ext: '.txt', mime: 'text/plain', size: 1, url: '/uploads/a.txt', provider: 'local' };
    const { id: cover } = await strapi.entityService.create('plugin::upload.file', { data: file });
    for (const uid of uids.filter((it) => !/-(home|desk)$/.test(it)))
      for (const publishedAt of [new Date(), null]) await strapi.entityService.create(uid, { data: { title: 'a', cover, publishedAt } });
    await strapi.entityService.create('plugin::users-permissions.user', { data: { username: 'bob', email: 'bob@example.org', tags: [1, 2] } });
    strapi.db.lifecycles.subscribe({ models: ['plugin::users-permissions.user'], beforeFindMany() {}, beforeFindOne() {}, beforeCount() {} });
  } };`,
};

describe.each(dialects)('clients of types with code on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  it.each([
    '/api/users?populate=tags',
    '/api/users?populate=*',
    '/api/users/1?populate=tags',
    '/api/users/1?populate[tags][populate]=createdBy',
    '/api/users?populate[tags][populate]=*',
  ])('DR4: users whose reads have hooks show published entries alone, and no creators: %s', async (at) => {
    const { status, body } = await served.json('GET', at);
    expect(status).toBe(200);
    const [user] = [body].flat() as { readonly tags: readonly { readonly name: string }[] }[];
    expect(user?.tags.map((it) => it.name)).toEqual(['shown']);
    expect(JSON.stringify(body)).not.toContain('Quill');
  });

  it('AC15: parameters of lists have no effect on one user', async () => {
    expect((await served.json('GET', '/api/users/1?limit=1&start=3')).status).toBe(200);
  });

  it.each(names)('DR3: the draft of a single type is not deleted unless it is previewed: %s', async (name) => {
    const send = async (method: string, query = '', data?: object): Promise<readonly unknown[]> => {
      const { status, body } = await served.json(method, `/api/${name}-desk${query}`, data && { data });
      return [status, (body as { data: { attributes: { title: string } } | null }).data?.attributes.title];
    };
    const preview = '?publicationState=preview';
    const none = [404, undefined];
    expect(await send('PUT', '', { title: 'a', publishedAt: null })).toEqual([200, 'a']);
    expect([await send('GET'), await send('DELETE'), await send('DELETE', '?publicationState=live')]).toEqual([
      none,
      none,
      none,
    ]);
    expect(await send('PUT', '', { title: 'b' })).toEqual([200, 'b']);
    expect([await send('GET', preview), await send('DELETE', preview), await send('GET', preview)]).toEqual([
      [200, 'b'],
      [200, 'b'],
      none,
    ]);
    expect(await send('PUT', '', { title: 'c' })).toEqual([200, 'c']);
    expect(await send('DELETE')).toEqual([200, 'c']);
  });

  it.each(names)(
    'AC5: * below media names what files are linked to, without a permission for files: %s',
    async (name) => {
      const { body } = await served.json('GET', `/api/${name}s/1?fields=title&populate[cover][populate]=*`);
      const { cover } = (body as { data: { attributes: { cover: { data: { attributes: object } } } } }).data.attributes;
      expect(Object.keys(cover.data.attributes)).toContain('related');
    },
  );

  it.each(names)('DR3: no spelling of its id shows a draft: %s', async (name) => {
    for (const id of ['2', '02', '0000000000000002', '00000000000000000000002', '99999999999999999999'])
      expect([id, (await served.json('GET', `/api/${name}s/${id}`)).status]).toEqual([id, 404]);
    expect((await served.json('GET', `/api/${name}s/1`)).status).toBe(200);
  });

  it.each(names)('AC5: links to entries that nobody may find are not made, nor shown: %s', async (name) => {
    const at = `/api/${name}s`;
    const listed = [vault, { id: 1, __type: 'api::tag.tag' }];
    for (const about of [[vault], listed, { connect: listed }, { set: [vault] }, { connect: vault }])
      for (const [method, path] of [
        ['POST', at],
        ['PUT', `${at}/1`],
      ] as const) {
        const { body } = await served.json(method, `${path}?populate=about`, { data: { about } });
        expect(JSON.stringify(body)).not.toContain('nobody');
      }
    const columns = `select about_id from ${name}s_about_morphs where about_type = 'api::vault.vault'`;
    const stored = await served.db.read(() => readRows({ sql: columns, params: [], ids: [] }));
    expect(stored).toEqual([]);
  });

  it.each(names)('BO5: a text that is stored as JSON stays a text: %s', async (name) => {
    for (const facts of ['1.5', '{"a":1}', 'true', 'null', '"q"', 'a']) {
      const parts = [{ facts }];
      const { body } = await served.json('POST', `/api/${name}s?populate=parts`, { data: { facts, parts } });
      expect(body).toMatchObject({ data: { attributes: { facts, parts } } });
    }
  });

  it('BO5: so does one beside what a hook changes', async () => {
    const part = (label: string, facts: unknown) => ({ label, facts });
    const data = { part: part(' a', '1.5'), parts: [part('b ', '{"a":1}'), part(' c', 'true'), part('d', 2)] };
    const { body } = await served.json('POST', '/api/hookeds?populate=*', { data });
    expect(body).toMatchObject({
      data: {
        attributes: { part: part(' a', '1.5'), parts: [part('d', 2), part(' c', 'true'), part('b ', '{"a":1}')] },
      },
    });
  });

  it.each([
    'filters[tags][name]=draft',
    'filters[tags][name][$startsWith]=dr',
    'filters[tags][name]=draft&publicationState=preview',
  ])('DR4: users are not counted by drafts: %s', async (query) => {
    expect((await served.json('GET', `/api/users/count?${query}`)).body).toBe('0');
    expect((await served.json('GET', '/api/users/count?filters[tags][name]=shown')).body).toBe('1');
  });

  it.each(['/api/users', '/api/users/1'])('Q16: what is ignored in a query of users is named: %s', async (at) => {
    const { status, headers } = await served.json('GET', `${at}?locale=all`);
    expect([status, headers['dovetail-ignored']]).toEqual([200, 'locale']);
  });

  it('PA1: what a client says twice is its own fault, also where an extension has changed the query', async () => {
    for (const query of ['start=1&pagination[start]=0', 'limit=1&pagination[limit]=2', 'start=1&pagination=x'])
      expect([query, (await served.json('GET', `/api/users?${query}`)).status]).toEqual([query, 400]);
    expect((await served.json('GET', '/api/users?start=1')).body).toEqual([]);
    const twice = 'username=bob&filters[username]=eve';
    for (const headers of [{}, { 'x-known': '1' }])
      expect((await served.json('GET', `/api/users/count?${twice}`, undefined, headers)).status).toBe(400);
  });

  it('FL2: a condition of code on users holds beside one of the client of the same name', async () => {
    for (const query of ['username=bob', 'username=bob&filters[blocked][$ne]=true', 'filters[username]=bob'])
      for (const [narrow, expected] of [
        ['', '1'],
        ['1', '0'],
      ] as const) {
        const headers = { 'x-narrow': narrow };
        const { body } = await served.json('GET', `/api/users/count?${query}`, undefined, headers);
        expect([query, narrow, body]).toEqual([query, narrow, expected]);
      }
  });

  it.each(names)('AC5: a polymorphic list is not emptied by whoever may not find what it names: %s', async (name) => {
    const tag = { id: 1, __type: 'api::tag.tag' };
    const created = await served.json('POST', `/api/${name}s`, { data: { about: [tag] } });
    const { id } = (created.body as { data: { id: number } }).data;
    for (const about of [[vault], { set: [vault] }, { connect: [vault] }])
      await served.json('PUT', `/api/${name}s/${id}`, { data: { about } });
    const { body } = await served.json('GET', `/api/${name}s/${id}?populate=about`);
    expect(body).toMatchObject({ data: { attributes: { about: [tag] } } });
  });

  it.each(names)(
    'LO6: a single type is read, written and deleted in the locale that is asked for: %s',
    async (name) => {
      const at = `/api/${name}-home`;
      const send = async (method: string, query = '', data?: object): Promise<readonly unknown[]> => {
        const { status, body } = await served.json(method, `${at}${query}`, data && { data });
        const found = (body as { data: unknown }).data;
        const shown = [found].flat().map((it) => (it as { attributes: object } | null)?.attributes);
        return [status, ...shown.map((it) => it && pick(it, ['title', 'locale']))];
      };
      const french = { title: 'a', locale: 'fr' };
      const english = { title: 'b', locale: 'en' };
      expect(await send('PUT', '?locale=all', { title: 'x' })).toEqual([400, undefined]);
      expect(await send('PUT', '?locale=fr', { title: 'a' })).toEqual([200, french]);
      // other locales are made of this one
      expect(await send('PUT', '', { title: 'b' })).toEqual([400, undefined]);
      expect(await served.json('POST', `${at}/localizations`, english)).toMatchObject({ status: 200 });
      for (const locale of ['xx', 'all']) {
        expect(await send('PUT', `?locale=${locale}`, { title: 'x' })).toEqual([400, undefined]);
        expect(await send('DELETE', `?locale=${locale}`)).toEqual([404, undefined]);
      }
      expect(await send('GET', '?locale=all')).toEqual([200, french, english]);
      expect(await send('PUT', '?locale=fr', { title: 'c' })).toEqual([200, { ...french, title: 'c' }]);
      expect(await send('DELETE', '?locale=fr')).toEqual([200, { ...french, title: 'c' }]);
      expect(await send('GET', '?locale=all')).toEqual([200, english]);
      for (const query of ['', '?_q=zz', '?start=1', '?limit=0'])
        expect(await send('GET', query)).toEqual([200, english]);
      expect(await send('DELETE')).toEqual([200, english]);
      expect(await send('GET')).toEqual([404, undefined]);
    },
  );
});
