/**
 * `migrate`: every place where the name of a type or an attribute is stored gets the new one, and what is dropped is gone from
 * every place. test/properties/renames.test.ts compares layout and content after random renames.
 */
import fs from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyPlan } from '../../src/migrate/apply.js';
import { type Changing, newChanging } from '../world/changed.js';
import { dialects } from '../world/databases.js';
import { migrateIn, planFrom, planIn, silent } from '../world/migrating.js';
import { component, contentType, type Files, type Json, typeFile } from '../world/schemas.js';

const localized = { pluginOptions: { i18n: { localized: true } } };
const relation = (kind: string, target: string, more: Json = {}): Json => ({
  type: 'relation',
  relation: kind,
  target,
  ...more,
});
const part = (uid: string, more: Json = {}): Json => ({ type: 'component', component: uid, ...more });

const before: Files = {
  [typeFile('tag')]: contentType('tag', {
    name: { type: 'string' },
    posts: relation('manyToMany', 'api::post.post', { mappedBy: 'tags' }),
  }),
  [typeFile('label')]: contentType('label', {
    things: { type: 'relation', relation: 'morphToMany' },
    subject: { type: 'relation', relation: 'morphToOne' },
  }),
  'src/components/shared/seo.json': component('components_shared_seos', {
    metaTitel: { type: 'string' },
    image: { type: 'media', multiple: false },
    inner: part('shared.line', { repeatable: true }),
  }),
  'src/components/shared/line.json': component('components_shared_lines', { text: { type: 'string' } }),
  [typeFile('post')]: contentType(
    'post',
    {
      titel: { type: 'string', ...localized },
      slug: { type: 'uid' },
      tags: relation('manyToMany', 'api::tag.tag', { inversedBy: 'posts' }),
      seo: part('shared.seo'),
      zone: { type: 'dynamiczone', components: ['shared.seo', 'shared.line'] },
      cover: { type: 'media', multiple: true },
    },
    localized,
  ),
};
/** What is new or changed. */
const after: Files = {
  [typeFile('tag')]: contentType('tag', {
    name: { type: 'string' },
    articles: relation('manyToMany', 'api::article.article', { mappedBy: 'labels' }),
  }),
  'src/components/other/meta.json': component('components_other_metas', {
    metaTitle: { type: 'string' },
    image: { type: 'media', multiple: false },
    inner: part('shared.line', { repeatable: true }),
  }),
  [typeFile('article')]: contentType(
    'article',
    {
      title: { type: 'string', ...localized },
      path: { type: 'uid' },
      labels: relation('manyToMany', 'api::tag.tag', { inversedBy: 'articles' }),
      meta: part('other.meta'),
      parts: { type: 'dynamiczone', components: ['other.meta', 'shared.line'] },
      pictures: { type: 'media', multiple: true },
    },
    localized,
  ),
};
const asked = {
  renameType: ['api::post.post=api::article.article', 'shared.seo=other.meta'],
  rename: [
    'article.titel=title',
    'article.slug=path',
    'article.tags=labels',
    'article.seo=meta',
    'article.zone=parts',
    'article.cover=pictures',
    'tag.posts=articles',
    'other.meta.metaTitel=metaTitle',
  ],
};

const manager = {
  uid: 'api::post.post',
  settings: { mainField: 'titel', defaultSortBy: 'titel', pageSize: 10 },
  metadatas: { id: {}, titel: { edit: { label: 'titel' }, list: {} }, slug: {} },
  layouts: {
    list: ['id', 'titel'],
    edit: [
      [
        { name: 'titel', size: 6 },
        { name: 'slug', size: 6 },
      ],
    ],
  },
};

describe.each(dialects)('on %s', (dialect) => {
  let changing: Changing;
  const rows = async (text: string): Promise<readonly unknown[]> => {
    const found = await changing.rows(text);
    return found.map((it) => (it.length === 1 ? it[0] : it));
  };
  beforeEach(async () => {
    changing = await newChanging(dialect, before);
    const { server } = changing;
    await changing.run(
      "insert into files (id, name, url, hash, mime) values (1, 'a.png', '/a.png', 'a', 'image/png'), (2, 'b.png', '/b.png', 'b', 'image/png')",
    );
    const make = async (route: string, data: Json): Promise<void> => {
      const { status, text } = await server.send('POST', `/api/${route}`, { body: { data } });
      expect(status, text).toBe(200);
    };
    for (const name of ['x', 'y']) await make('tags', { name });
    const seo = { metaTitel: 'm', image: 1, inner: [{ text: 'i' }] };
    await make('posts', {
      titel: 'first',
      slug: 'first',
      tags: [2, 1],
      seo,
      zone: [
        { __component: 'shared.seo', ...seo },
        { __component: 'shared.line', text: 'z' },
      ],
      cover: [2, 1],
    });
    await make('labels', {
      things: [{ id: 1, __type: 'api::post.post' }],
      subject: { id: 1, __type: 'api::post.post' },
    });
    const setting = (key: string, value: unknown): string =>
      `insert into strapi_core_store_settings ("key", value, type) values ('${key}', '${JSON.stringify(value)}', 'object')`;
    await changing.run(
      "insert into up_permissions (action) values ('api::post.post.find'), ('api::post.postal.find'), ('api::tag.tag.find')",
      "insert into strapi_api_token_permissions (action) values ('api::post.post.update')",
      setting('plugin_content_manager_configuration_content_types::api::post.post', manager),
      setting('plugin_content_manager_configuration_components::shared.seo', {
        uid: 'shared.seo',
        metadatas: { metaTitel: {} },
        layouts: { list: ['metaTitel'] },
      }),
      setting('strapi_content_types_schema', {
        'api::post.post': { kind: 'collectionType', attributes: { titel: { type: 'string' } } },
      }),
    );
    if ((await changing.rows(existing(dialect, 'admin_permissions'))).length === 0)
      await changing.run(
        `create table admin_permissions (id integer primary key, action varchar(255), subject varchar(255), properties ${dialect === 'sqlite' ? 'json' : 'jsonb'})`,
      );
    await changing.run(
      `insert into admin_permissions (id, action, subject, properties) values (901, 'plugin::content-manager.explorer.read', 'api::post.post', '{"fields":["titel","seo.metaTitel","seo.inner.text","tags"],"locales":["en"]}')`,
    );
  });
  afterEach(() => changing.close());

  const rename = (): void => {
    fs.rmSync(path.join(changing.dir, 'src/api/post'), { recursive: true });
    fs.rmSync(path.join(changing.dir, 'src/components/shared/seo.json'));
    changing.write(after);
  };

  it('rows that name a type or an attribute name it anew', async () => {
    rename();
    await migrateIn(changing.dir, changing.database.db, asked);
    expect(
      await rows('select distinct field, component_type from articles_components order by field, component_type'),
    ).toEqual([
      ['meta', 'other.meta'],
      ['parts', 'other.meta'],
      ['parts', 'shared.line'],
    ]);
    expect(await rows('select distinct related_type, field from files_related_morphs order by related_type')).toEqual([
      ['api::article.article', 'pictures'],
      ['other.meta', 'image'],
    ]);
    expect(await rows('select things_type from labels_things_morphs')).toEqual(['api::article.article']);
    expect(await rows('select target_type from labels')).toEqual(['api::article.article']);
    expect(await rows('select article_id, inv_article_id, article_order from articles_localizations_links')).toEqual(
      [],
    );
    expect(await rows('select article_id, tag_id, tag_order from articles_labels_links order by tag_order')).toEqual([
      [1, 2, 1],
      [1, 1, 2],
    ]);
  });

  it('a type is renamed again before it was served, and keeps its links and parts', async () => {
    const everything = '?populate[tags]=*&populate[seo][populate]=*&populate[zone][populate]=*&populate[cover]=*';
    const { body: shown } = await changing.server.get(`/api/posts${everything}`);
    rename();
    await migrateIn(changing.dir, changing.database.db, asked);
    for (const it of ['src/api/article', 'src/components/other'])
      fs.rmSync(path.join(changing.dir, it), { recursive: true });
    changing.write(before);
    const back = (it: string): string => it.split('=').reverse().join('=');
    const { added } = await migrateIn(changing.dir, changing.database.db, {
      renameType: asked.renameType.map(back),
      rename: [
        'post.title=titel',
        'post.path=slug',
        'post.labels=tags',
        'post.meta=seo',
        'post.parts=zone',
        'post.pictures=cover',
        'tag.articles=posts',
        'shared.seo.metaTitle=metaTitel',
      ],
    });
    expect(added).toEqual({ tables: [], columns: [] });
    await changing.start({});
    expect((await changing.server.get(`/api/posts${everything}`)).body).toEqual(shown);
  });

  it('permissions and settings of the administration name it anew', async () => {
    rename();
    await migrateIn(changing.dir, changing.database.db, asked);
    expect(await rows("select action from up_permissions where action like 'api::%' order by action")).toEqual([
      'api::article.article.find',
      'api::post.postal.find',
      'api::tag.tag.find',
    ]);
    expect(await rows('select action from strapi_api_token_permissions')).toEqual(['api::article.article.update']);
    const [[subject, properties]] = (await changing.rows(
      'select subject, cast(properties as text) from admin_permissions where id = 901',
    )) as [[string, string]];
    expect(subject).toBe('api::article.article');
    expect(JSON.parse(properties)).toEqual({
      fields: ['title', 'meta.metaTitle', 'meta.inner.text', 'labels'],
      locales: ['en'],
    });
    const settingOf = async (key: string): Promise<unknown> => {
      const [[value]] = (await changing.rows(
        `select value from strapi_core_store_settings where "key" = '${key}'`,
      )) as [[string]];
      return JSON.parse(value);
    };
    expect(await settingOf('plugin_content_manager_configuration_content_types::api::article.article')).toEqual({
      uid: 'api::article.article',
      settings: { mainField: 'title', defaultSortBy: 'title', pageSize: 10 },
      metadatas: { id: {}, title: { edit: { label: 'titel' }, list: {} }, path: {} },
      layouts: {
        list: ['id', 'title'],
        edit: [
          [
            { name: 'title', size: 6 },
            { name: 'path', size: 6 },
          ],
        ],
      },
    });
    expect(await settingOf('plugin_content_manager_configuration_components::other.meta')).toEqual({
      uid: 'other.meta',
      metadatas: { metaTitle: {} },
      layouts: { list: ['metaTitle'] },
    });
    expect(await settingOf('strapi_content_types_schema')).toEqual({
      'api::article.article': { kind: 'collectionType', attributes: { title: { type: 'string' } } },
    });
    expect(
      await rows(
        `select cast(count(*) as integer) from strapi_core_store_settings where value like '%shared.seo%' or value like '%api::post.post"%'`,
      ),
    ).toEqual([0]);
  });

  it('what is dropped is gone from every place, and nothing else is', async () => {
    changing.write({
      [typeFile('post')]: contentType(
        'post',
        { titel: { type: 'string', ...localized }, slug: { type: 'uid' } },
        localized,
      ),
      [typeFile('tag')]: contentType('tag', { name: { type: 'string' } }),
    });
    fs.rmSync(path.join(changing.dir, 'src/api/label'), { recursive: true });
    await changing.run('create table of_others (id integer)');
    const kept = await planIn(changing.dir, changing.database.db);
    expect(kept.changes).toEqual([]);
    const labels = kept.left.map((it) =>
      it.kind === 'attribute'
        ? `${it.attribute} ${it.values}`
        : it.kind === 'type'
          ? `${it.uid} ${it.entries}`
          : it.kind,
    );
    expect(labels.sort()).toEqual(['api::label.label 1', 'cover 2', 'seo 1', 'table', 'table', 'tags 2', 'zone 2']);

    await migrateIn(changing.dir, changing.database.db, {
      drop: ['post.cover', 'post.seo', 'post.tags', 'post.zone', 'api::label.label'],
      dropTable: ['of_others'],
    });
    const { left } = await planIn(changing.dir, changing.database.db);
    expect(left.map((it) => it.kind === 'table' && it.table)).toEqual(['posts_components']);
    for (const table of [
      'components_shared_seos',
      'components_shared_lines',
      'components_shared_seos_components',
      'posts_components',
      'files_related_morphs',
    ])
      expect([table, await rows(`select cast(count(*) as integer) from ${table}`)]).toEqual([table, [0]]);
    expect(await rows('select titel, slug from posts')).toEqual([['first', 'first']]);
    expect(await rows('select cast(count(*) as integer) from files')).toEqual([2]);
    expect((await changing.rows(existing(dialect, 'labels_things_morphs'))).length).toBe(0);
    await changing.start({});
    expect((await changing.server.get('/api/posts/1?populate=*')).status).toBe(200);
  });

  it('a plan that was made for one database is applied to another one', async () => {
    rename();
    const plan = planFrom(await planIn(changing.dir, changing.database.db, asked));
    const other = await newChanging(dialect === 'sqlite' ? 'postgres' : 'sqlite', before);
    try {
      await other.server.send('POST', '/api/posts', { body: { data: { titel: 'other' } } });
      fs.rmSync(path.join(other.dir, 'src/api/post'), { recursive: true });
      fs.rmSync(path.join(other.dir, 'src/components/shared/seo.json'));
      expect(await applyPlan(JSON.parse(JSON.stringify(plan)), other.database.db, silent)).toBe('applied');
      other.write(after);
      await other.start({});
      expect((await other.server.get('/api/articles?fields=title')).body).toMatchObject({
        data: [{ attributes: { title: 'other' } }],
      });
    } finally {
      await other.close();
    }
  });
});

describe.each(dialects)('on %s', (dialect) => {
  it.each([false, true])(
    'links stay when the sides of a relation change places; after a start: %s',
    async (isStarted) => {
      const side = (target: string, more: Json): Json => relation('manyToMany', target, more);
      const files = (first: string, second: string): Files => ({
        [typeFile('tag')]: contentType('tag', { posts: side('api::post.post', { [second]: 'tags' }) }),
        [typeFile('post')]: contentType('post', {
          tags: side('api::tag.tag', { [first]: 'posts' }),
          likes: side('api::post.post', { [first]: 'likedBy' }),
          likedBy: side('api::post.post', { [second]: 'likes' }),
        }),
      });
      const changing = await newChanging(dialect, files('inversedBy', 'mappedBy'));
      try {
        const send = async (method: string, route: string, data: Json): Promise<void> => {
          expect((await changing.server.send(method, `/api/${route}`, { body: { data } })).status).toBe(200);
        };
        for (let i = 0; i < 3; i++) await send('POST', 'tags', {});
        for (let i = 0; i < 3; i++) await send('POST', 'posts', {});
        await send('PUT', 'posts/1', { tags: [3, 1, 2], likes: [3, 1, 2] });
        await send('PUT', 'posts/2', { tags: [2, 3], likes: [2, 3] });
        await send('PUT', 'tags/3', { posts: [2, 1] });
        const shown = async (): Promise<unknown[]> =>
          Promise.all(
            ['posts?populate=*&sort=id', 'tags?populate=*&sort=id'].map(
              async (it) => (await changing.server.get(`/api/${it}`)).body,
            ),
          );
        const before = await shown();
        changing.write(files('mappedBy', 'inversedBy'));
        if (isStarted) await changing.start({});
        const { changes, candidates } = await planIn(changing.dir, changing.database.db);
        expect(changes).toEqual([
          { change: 'move links', type: 'api::post.post', attribute: 'likedBy', from: 'posts_likes_links', links: 5 },
          { change: 'move links', type: 'api::tag.tag', attribute: 'posts', from: 'posts_tags_links', links: 5 },
        ]);
        expect(candidates).toEqual([]);
        await migrateIn(changing.dir, changing.database.db);
        expect(await planIn(changing.dir, changing.database.db)).toMatchObject({
          changes: [],
          left: [],
          added: { tables: [] },
        });
        await changing.start({});
        expect(await shown()).toEqual(before);
      } finally {
        await changing.close();
      }
    },
  );

  it.each([false, true])(
    'links stay when the sides of a relation change places and names at once, and those of its types; after a start: %s',
    async (isStarted) => {
      const changing = await newChanging(dialect, {
        [typeFile('tag')]: contentType('tag', {
          posts: relation('manyToMany', 'api::post.post', { mappedBy: 'tags' }),
        }),
        [typeFile('post')]: contentType('post', {
          tags: relation('manyToMany', 'api::tag.tag', { inversedBy: 'posts' }),
        }),
      });
      try {
        for (let i = 0; i < 3; i++) await changing.server.send('POST', '/api/tags', { body: { data: {} } });
        for (const tags of [
          [3, 1],
          [2, 3],
        ])
          await changing.server.send('POST', '/api/posts', { body: { data: { tags } } });
        fs.rmSync(path.join(changing.dir, 'src/api/post'), { recursive: true });
        changing.write({
          [typeFile('tag')]: contentType('tag', {
            articles: relation('manyToMany', 'api::article.article', { inversedBy: 'labels' }),
          }),
          [typeFile('article')]: contentType('article', {
            labels: relation('manyToMany', 'api::tag.tag', { mappedBy: 'articles' }),
          }),
        });
        if (isStarted) await changing.start({});
        const { added } = await migrateIn(changing.dir, changing.database.db, {
          renameType: ['api::post.post=api::article.article'],
          rename: ['tag.posts=articles', 'article.tags=labels'],
        });
        expect(added).toEqual({ tables: [], columns: [] });
        await changing.start({});
        expect((await changing.server.get('/api/articles?populate[labels][fields]=id&sort=id')).body).toMatchObject({
          data: [
            { attributes: { labels: { data: [{ id: 3 }, { id: 1 }] } } },
            { attributes: { labels: { data: [{ id: 2 }, { id: 3 }] } } },
          ],
        });
        expect((await changing.server.get('/api/tags/3?populate[articles][fields]=id')).body).toMatchObject({
          data: { attributes: { articles: { data: [{ id: 1 }, { id: 2 }] } } },
        });
        expect(await planIn(changing.dir, changing.database.db)).toMatchObject({
          changes: [],
          left: [],
          candidates: [],
          added: { tables: [], columns: [] },
        });
      } finally {
        await changing.close();
      }
    },
  );

  it('ST1: names that need quotes, and names that PostgreSQL shortens, are as good as others', async () => {
    const tags = (more: Json = {}): Json => relation('manyToMany', 'api::tag.tag', more);
    const long = (n: number): string => `an${'extremely'.repeat(n)}longattribute`;
    const tag = (mappedBy: string) =>
      contentType('tag', { posts: relation('manyToMany', 'api::post.post', { mappedBy }) });
    const string = { type: 'string' };
    // table names of 55 characters, the longest that v4's own indexes allow on PostgreSQL, and of 59 for one without an inverse
    const changing = await newChanging(dialect, {
      [typeFile('tag')]: tag('averyverylongrelationnameofta'),
      [typeFile('post')]: contentType(
        'post',
        {
          averyverylongrelationnameofta: tags({ inversedBy: 'posts' }),
          unidirectionalrelationwithalongna: tags(),
          [long(7)]: string,
          'na"me': string,
          'drop table x; --': string,
          éTat: string,
        },
        { collectionName: 'Mixed-Posts of 2024' },
      ),
    });
    try {
      await changing.server.send('POST', '/api/tags', { body: { data: {} } });
      const data = {
        averyverylongrelationnameofta: [1],
        unidirectionalrelationwithalongna: [1],
        [long(7)]: 'l',
        'na"me': '7',
        'drop table x; --': 'd',
        éTat: 'e',
      };
      const { status, text } = await changing.server.send('POST', '/api/posts', { body: { data } });
      expect(status, text).toBe(200);
      changing.write({
        [typeFile('tag')]: tag('anotherevenlongrelationnamesx'),
        [typeFile('post')]: contentType(
          'post',
          {
            anotherevenlongrelationnamesx: tags({ inversedBy: 'posts' }),
            unidirectionalrelationwithalongnb: tags(),
            [long(8)]: string,
            "o'name": { type: 'integer' },
            'select * from y': string,
            ü1: string,
          },
          { collectionName: 'Mixed-Posts of 2025' },
        ),
      });
      await migrateIn(changing.dir, changing.database.db, {
        rename: [
          'post.averyverylongrelationnameofta=anotherevenlongrelationnamesx',
          'post.unidirectionalrelationwithalongna=unidirectionalrelationwithalongnb',
          `post.${long(7)}=${long(8)}`,
          `post.na"me=o'name`,
          'post.drop table x; --=select * from y',
          'post.éTat=ü1',
        ],
      });
      expect(await planIn(changing.dir, changing.database.db)).toMatchObject({
        changes: [],
        left: [],
        candidates: [],
        added: { tables: [], columns: [] },
      });
      await changing.start({});
      const { body } = await changing.server.get('/api/posts?populate=*');
      expect(body).toMatchObject({
        data: [
          {
            attributes: {
              anotherevenlongrelationnamesx: { data: [{ id: 1 }] },
              unidirectionalrelationwithalongnb: { data: [{ id: 1 }] },
              [long(8)]: 'l',
              "o'name": 7,
              'select * from y': 'd',
              ü1: 'e',
            },
          },
        ],
      });
    } finally {
      await changing.close();
    }
  });

  it('ST1: names that PostgreSQL would shorten to the same prevent the start, which names both', async () => {
    const long = 'x'.repeat(63);
    const post = (...names: readonly string[]) =>
      contentType('post', Object.fromEntries(names.map((name) => [name, { type: 'string' }])));
    const collection = (name: string) => contentType(name, {}, { collectionName: `${long}${name}` });
    const changing = await newChanging(dialect, { [typeFile('post')]: post(`${long}a`) });
    try {
      for (const [files, said] of [
        [{ [typeFile('post')]: post(`${long}a`, `${long}b`) }, `column posts.${long}a and column posts.${long}b`],
        [{ [typeFile('a')]: collection('a'), [typeFile('b')]: collection('b') }, `table ${long}a and table ${long}b`],
      ] as const) {
        const start = changing.start({ [typeFile('post')]: post(`${long}a`), ...files });
        if (dialect === 'sqlite') await start;
        else await expect(start).rejects.toThrow(`could not tell apart:\n  ${said}\n`);
      }
    } finally {
      await changing.close();
    }
  });
});

describe.each(dialects)('what the server adds, on %s', (dialect) => {
  it('is no former name of an attribute', async () => {
    const files = (attributes: Json, localized: boolean): Files => ({
      [typeFile('post')]: contentType('post', attributes, { pluginOptions: { i18n: { localized } } }),
    });
    const changing = await newChanging(dialect, files({ title: { type: 'string' } }, true));
    try {
      expect((await changing.server.send('POST', '/api/posts', { body: { data: { title: 'a' } } })).status).toBe(200);
      changing.write(files({ title: { type: 'string' }, place: { type: 'string' } }, false));
      expect(await planIn(changing.dir, changing.database.db)).toMatchObject({ candidates: [] });
    } finally {
      await changing.close();
    }
  });
});

const existing = (dialect: string, table: string): string =>
  dialect === 'sqlite'
    ? `select name from sqlite_master where name = '${table}'`
    : `select tablename from pg_tables where tablename = '${table}'`;
