/**
 * What responses show does not depend on whether code hears of a read or has a service: published entries inside of one (DR3, DR4),
 * creators only where code adds them (Q9), and what requests cannot write as it is (BO4).
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';

const names = ['plain', 'hooked', 'helped', 'passed', 'remade'] as const;
const text = { type: 'string' };
const localized = (on: boolean): { readonly i18n: object } => ({ i18n: { localized: on } });
const published = { draftAndPublish: true, populateCreatorFields: true };

const files = {
  ...typeFile('tag', { name: text }, published),
  ...Object.assign(
    {},
    ...names.flatMap((name) => [
      typeFile(
        name,
        { title: text, tags: { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag' } },
        published,
      ),
      // views is shared by all locales, and set by the server alone
      typeFile(
        `${name}-page`,
        {
          title: { ...text, pluginOptions: localized(true) },
          views: { type: 'integer', default: 0, writable: false, pluginOptions: localized(false) },
          sealed: { ...text, required: true, writable: false, pluginOptions: localized(false) },
        },
        {},
        localized(true),
      ),
      coreFile('Router', name),
      coreFile('Controller', name),
      coreFile('Router', `${name}-page`),
    ]),
  ),
  ...coreFile('Service', 'helped', `() => ({ async helper() {} })`),
  ...coreFile(
    'Service',
    'passed',
    `() => ({
      async find(params) { return super.find(params); },
      async findOne(id, params) { return super.findOne(id, { ...params }); },
      async create(params) { return super.create(params); },
      async update(id, params) { return super.update(id, params); },
      async delete(id, params) { return super.delete(id, params); },
    })`,
  ),
  ...coreFile(
    'Service',
    'remade',
    `() => ({
      getFetchParams: ({ fields, populate, publicationState }) => ({ fields, populate, publicationState }),
      findOne(id, { populate }) { return super.findOne(id, { populate }); },
      create({ data, populate }) { return super.create({ data, populate }); },
      update(id, { data, populate }) { return super.update(id, { data, populate }); },
      delete(id, { populate }) { return super.delete(id, { populate }); },
    })`,
  ),
  ...typeFile(
    'reading',
    { title: text, tags: { type: 'relation', relation: 'manyToMany', target: 'api::tag.tag' } },
    { draftAndPublish: true },
  ),
  ...coreFile('Router', 'reading'),
  ...coreFile(
    'Service',
    'reading',
    `() => ({
      async findOne(id) { const found = await super.findOne(id, { populate: 'tags' }); return { ...found, title: found.title.toUpperCase() }; },
      async update(id, params) {
        if (!(await this.findOne(id))) throw new Error('it is there');
        await super.update(id, params);
        return super.findOne(id);
      },
      async delete(id, params) { return (await super.findOne(id, params)) && super.delete(id, params); },
    })`,
  ),
  'src/api/hooked/content-types/hooked/lifecycles.js': `module.exports = {
    afterFindOne() {}, afterFindMany() {}, beforeCreate() {}, afterUpdate() {}, beforeDelete() {},
  };`,
  'src/api/hooked-page/content-types/hooked-page/lifecycles.js': `module.exports = { beforeCreate() {} };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    const uids = ['tag', 'reading', ${names.map((it) => `'${it}', '${it}-page'`).join(', ')}].map((it) => 'api::' + it + '.' + it);
    await allow('public', uids.flatMap((uid) => ['find', 'findOne', 'create', 'update', 'delete', 'createLocalization'].map((it) => uid + '.' + it)));
    await strapi.service('admin::user').create({ firstname: 'Ada', lastname: 'Quill', email: 'ada@example.org', isActive: true });
    await strapi.plugin('i18n').service('locales').create({ code: 'fr', name: 'fr' });
    for (const [name, publishedAt] of [['shown', new Date()], ['draft', null]])
      await strapi.entityService.create('api::tag.tag', { data: { name, publishedAt, createdBy: 1 } });
  } };`,
};

describe.each(dialects)('what responses show on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());

  const titlesIn = (body: unknown): unknown => {
    const { data } = body as { data: { attributes: { tags: { data: { attributes: { name: string } }[] } } } };
    return data.attributes.tags.data.map((it) => it.attributes.name);
  };

  it.each(names)('DR4: published entries alone, in every response to a request for one: %s', async (name) => {
    const at = `/api/${name}s`;
    const send = (method: string, path: string, data?: object) =>
      served.json(method, `${at}${path}?populate=tags`, data && { data });
    const created = await send('POST', '', { title: 'a', tags: [1, 2] });
    const { id } = (created.body as { data: { id: number } }).data;
    const answers = [
      created,
      await send('GET', `/${id}`),
      await send('PUT', `/${id}`, { title: 'b' }),
      // the entry itself may be a draft in the response to its write
      await send('PUT', `/${id}`, { publishedAt: null }),
    ];
    for (const { status, body } of answers) expect([status, titlesIn(body)]).toEqual([200, ['shown']]);
    expect((await send('GET', `/${id}`)).status).toBe(404);
    const preview = await served.json('GET', `${at}/${id}?populate=tags&publicationState=preview`);
    expect(titlesIn(preview.body)).toEqual(['shown', 'draft']);
    const deleted = await send('DELETE', `/${id}`);
    expect([deleted.status, titlesIn(deleted.body)]).toEqual([200, ['shown']]);
  });

  it('DR3: a service that reads its entry while it writes finds the draft, and one that needs it for a response need not expect none', async () => {
    const data = { title: 'draft', publishedAt: null, tags: [1, 2] };
    const { id } = ((await served.json('POST', '/api/readings', { data })).body as { data: { id: number } }).data;
    const at = `/api/readings/${id}`;
    expect((await served.json('GET', at)).status).toBe(404);
    expect((await served.json('GET', `${at}?publicationState=preview`)).status).toBe(200);
    expect(await served.json('PUT', at, { data: { title: 'changed' } })).toMatchObject({
      status: 200,
      body: { data: { attributes: { title: 'changed' } } },
    });
    expect((await served.json('PUT', at, { data: { publishedAt: '2026-01-01' } })).status).toBe(200);
    const found = await served.json('GET', at);
    expect(found).toMatchObject({ status: 200, body: { data: { attributes: { title: 'CHANGED' } } } });
    expect(titlesIn(found.body)).toEqual(['shown']);
    expect((await served.json('PUT', at, { data: { publishedAt: null } })).status).toBe(200);
    expect((await served.json('DELETE', at)).status).toBe(200);
  });

  it.each(names)('Q9: no creators because a client asks for them: %s', async (name) => {
    const { body } = await served.json('POST', `/api/${name}s?populate[tags][populate]=createdBy`, {
      data: { title: 'a', tags: [1] },
    });
    expect(JSON.stringify(body)).toContain('shown');
    const { id } = (body as { data: { id: number } }).data;
    for (const asked of [`/${id}?populate=createdBy`, `/${id}?populate=*`, '?populate[tags][populate]=createdBy'])
      for (const method of asked.startsWith('?') ? ['GET'] : ['GET', 'PUT']) {
        const answer = await served.json(method, `/api/${name}s${asked}`, method === 'PUT' ? { data: {} } : undefined);
        expect([answer.status, JSON.stringify(answer.body)]).toEqual([200, expect.not.stringContaining('createdBy')]);
      }
  });

  it.each(['plain', 'hooked'])('BO4: what requests cannot write is not reset in other locales: %s', async (name) => {
    const created = await served.json('POST', `/api/${name}-pages`, { data: { title: 'en', views: 7, sealed: 'x' } });
    expect(created.status).toBe(200);
    const { id } = (created.body as { data: { id: number } }).data;
    await served.db.write((tx) =>
      tx.run({ sql: `update "${name}-pages" set views = 500 where id = ${id}`, params: [], ids: [] }),
    );
    const french = { locale: 'fr', title: 'fr', views: 1 };
    expect((await served.json('POST', `/api/${name}-pages/${id}/localizations`, french)).status).toBe(200);
    const list = await served.json('GET', `/api/${name}-pages?locale=all&fields=views`);
    expect((list.body as { data: unknown[] }).data).toMatchObject([
      { attributes: { views: 500 } },
      { attributes: { views: 500 } },
    ]);
  });
});
