/** Guards that code of v4 projects puts up: in folders of any spelling, around core actions, by what schemas say, on every route. */
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { placeOf } from '../../src/v4code/loading/env.js';
import { allowing, type CodeProject, coreFile, serveCode, singleTypeFile, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { newFolder } from '../world/folders.js';

const text = { type: 'string' };
const index = (register: string, bootstrap = ''): Readonly<Record<string, string>> => ({
  'src/index.js': `module.exports = {
    register({ strapi }) { ${register} },
    async bootstrap({ strapi }) { ${allowing} ${bootstrap} },
  };`,
});
const open = (...actions: readonly string[]): string => `await allow('public', ${JSON.stringify(actions)});`;
const all = (uid: string): readonly string[] => ['find', 'findOne', 'create'].map((it) => `${uid}.${it}`);

/** A project of which the start is refused. */
const refusal = async (files: Readonly<Record<string, string>>): Promise<string> => {
  try {
    const { close } = await serveCode('sqlite', files);
    await close();
  } catch (fault) {
    return (fault as Error).message;
  }
  return 'it starts';
};

// ---- folders in camel case

const factory = (kind: string, own: string): string =>
  `module.exports = require('@strapi/strapi').factories.createCore${kind}('api::blog-post.blog-post', ${own});`;
const post = {
  kind: 'collectionType',
  collectionName: 'blog_posts',
  info: { singularName: 'blog-post', pluralName: 'blog-posts', displayName: 'Post' },
  attributes: { title: text },
};
const camel = {
  'src/api/blogPost/content-types/blogPost/schema.json': JSON.stringify(post),
  'src/api/blogPost/content-types/blogPost/lifecycles.js': `module.exports = { beforeCreate({ params }) { params.data.title += ' (hooked)'; } };`,
  'src/api/blogPost/controllers/blogPost.js': factory(
    'Controller',
    `{ async find(ctx) { return ctx.forbidden('closed'); } }`,
  ),
  'src/api/blogPost/services/blogPost.js': factory(
    'Service',
    `{ async findOne() { return { id: 7, title: 'of the service' }; } }`,
  ),
  'src/api/blogPost/policies/isAsked.js': `module.exports = ({ request }) => request.header['x-asked'] === '1';`,
  'src/api/blogPost/routes/blogPost.js': factory(
    'Router',
    `{ only: ['find', 'findOne', 'create'], config: { create: { policies: ['api::blogPost.isAsked'] } } }`,
  ),
  'src/api/blogPost/routes/other.js': `module.exports = { routes: [
    { method: 'GET', path: '/spelt', handler: (ctx) => ({
      controllers: strapi.controller('api::blogPost.blogPost') === strapi.controller('api::blog-post.blog-post'),
      services: strapi.service('api::blogPost.blogPost') === strapi.service('api::blog-post.blog-post'),
      apis: strapi.api.blogPost === strapi.api['blog-post'],
      listed: Object.keys(strapi.api),
      policies: [strapi.policy('api::blog-post.is-asked'), strapi.policy('api::blogPost.isAsked')].map((it) => typeof it),
    }), config: { auth: false } },
  ] };`,
  ...index('', open(...all('api::blog-post.blog-post'))),
};

describe.each(dialects)('an API in a folder in camel case on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, camel);
  });
  afterAll(() => served.close());

  it('has its controller, service, routes and lifecycles', async () => {
    expect((await served.json('GET', '/api/blog-posts')).status).toBe(403);
    expect((await served.json('GET', '/api/blog-posts/1')).body).toMatchObject({
      data: { attributes: { title: 'of the service' } },
    });
    expect((await served.json('PUT', '/api/blog-posts/1', { data: {} })).status).toBe(405);
    const made = { data: { title: 'a' } };
    expect((await served.json('POST', '/api/blog-posts', made)).status).toBe(403);
    expect((await served.json('POST', '/api/blog-posts', made, { 'x-asked': '1' })).body).toMatchObject({
      data: { attributes: { title: 'a (hooked)' } },
    });
  });

  it('is known by either spelling', async () => {
    expect((await served.json('GET', '/api/spelt')).body).toEqual({
      controllers: true,
      services: true,
      apis: true,
      listed: ['blog-post'],
      policies: ['function', 'function'],
    });
  });
});

describe('a file that names a content type which does not exist', () => {
  it.each(['Controller', 'Service', 'Router'] as const)('refuses the start: createCore%s', async (kind) => {
    const { 'src/api/book/content-types/book/schema.json': schema, ...files } = {
      ...typeFile('book', { title: text }),
      ...coreFile(kind, 'book', '{ except: [] }'),
    };
    expect(
      await refusal({
        'src/api/books/content-types/books/schema.json': schema!.replace('"book"', '"books"'),
        ...files,
      }),
    ).toMatch(
      new RegExp(
        `^src/api/book/\\w+/book.js: createCore${kind} "api::book.book", and there is no such content type; did you mean "api::books.books"`,
      ),
    );
  });

  it('may stay if it is what is left of a type that is gone, and no route leads to it', async () => {
    const left = { ...coreFile('Controller', 'umbrella'), ...coreFile('Service', 'umbrella') };
    expect(await refusal({ ...typeFile('book', { title: text }), ...coreFile('Router', 'book'), ...left })).toBe(
      'it starts',
    );
  });

  it('refuses the start where two folders are the same API', async () => {
    expect(await refusal({ ...camel, ...typeFile('blog-post', { title: text }) })).toContain('src/api/blog-post');
    expect(await refusal({ ...camel, 'src/api/blog-post/services/x.js': 'module.exports = {};' })).toContain(
      'src/api/blog-post and src/api/blogPost are both the API "blog-post": make them one folder',
    );
  });
});

// ---- guards around the core

const asGenerated = (name: string): Readonly<Record<string, string>> => ({
  ...typeFile(name, { title: text }),
  ...coreFile('Controller', name),
  ...coreFile('Service', name),
  ...coreFile('Router', name),
});
const names = ['early', 'late', 'serviced', 'served', 'plain'] as const;
const uidOf = (name: string): string => `api::${name}.${name}`;
const guardOf = (name: string): string => `
  const ${name} = strapi.controller('${uidOf(name)}');
  const ${name}Find = ${name}.find;
  ${name}.find = async function (ctx) { return ctx.get('x-asked') === '1' && this === ${name} ? ${name}Find(ctx) : ctx.forbidden(); };`;
const serviceGuardOf = (name: string): string => `
  strapi.service('${uidOf(name)}').find = async () => ({ results: [{ id: 1, title: 'guarded' }], pagination: {} });`;
const wrapped = {
  ...Object.assign({}, ...names.map(asGenerated)),
  ...index(
    `${guardOf('early')} ${serviceGuardOf('serviced')}`,
    `${guardOf('late')} ${serviceGuardOf('served')} ${open(...names.flatMap((it) => all(uidOf(it))))}
    for (const name of ${JSON.stringify(names)}) await strapi.entityService.create('api::' + name + '.' + name, { data: { title: 'secret' } });`,
  ),
} as Readonly<Record<string, string>>;

describe.each(dialects)('what code puts in the place of core members on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, wrapped);
  });
  afterAll(() => served.close());

  it.each(['early', 'late'])('guards a route: an action replaced in time: %s', async (name) => {
    expect((await served.json('GET', `/api/${name}s`)).status).toBe(403);
    expect((await served.ask(`/api/${name}s`, { headers: { 'x-asked': '1' } })).text).toContain('secret');
    expect((await served.json('GET', `/api/${name}s/1`)).status).toBe(200);
  });

  it.each(['serviced', 'served'])('is what core actions ask: %s', async (name) => {
    const { text: body } = await served.ask(`/api/${name}s`);
    expect(body).toContain('guarded');
    expect(body).not.toContain('secret');
  });

  it('leaves other types as they are', async () => {
    expect((await served.ask('/api/plains')).text).toContain('secret');
  });
});

// ---- schemas

const noteSchema = {
  kind: 'collectionType',
  collectionName: 'notes',
  info: { singularName: 'note', pluralName: 'notes', displayName: 'Note', description: 'kept' },
  options: { draftAndPublish: true, privateAttributes: ['hint'], comment: 'c' },
  pluginOptions: { tenants: { isShared: true } },
  attributes: {
    title: { type: 'string', default: 'x', maxLength: 9, required: true, pluginOptions: { tenants: { key: 'a' } } },
    slug: { type: 'uid', targetField: 'title' },
    secret: { type: 'string', private: true },
    hint: text,
    password: { type: 'password' },
    age: { type: 'integer', min: 1, max: 99 },
    cover: { type: 'media', multiple: false, allowedTypes: ['images'] },
    parent: { type: 'relation', relation: 'manyToOne', target: 'api::note.note', inversedBy: 'children' },
    children: { type: 'relation', relation: 'oneToMany', target: 'api::note.note', mappedBy: 'parent' },
    card: { type: 'component', component: 'shared.card', repeatable: true, max: 3 },
  },
};
const noteFile = 'src/api/note/content-types/note/schema.json';
const described = {
  [noteFile]: JSON.stringify(noteSchema),
  'src/components/shared/card.json': JSON.stringify({
    collectionName: 'components_cards',
    info: { displayName: 'Card', icon: 'star' },
    attributes: { label: { type: 'string', private: true, default: 'l' } },
  }),
  'src/api/note/routes/note.js': `
    const of = (uid) => JSON.parse(JSON.stringify(strapi.getModel(uid)));
    module.exports = { routes: [
      { method: 'GET', path: '/types/:uid', handler: (ctx) => of(ctx.params.uid), config: { auth: false } },
      { method: 'GET', path: '/heard', handler: () => strapi.heard, config: { auth: false } },
      { method: 'GET', path: '/changed', handler: (ctx) => {
        try { delete strapi.contentTypes['api::note.note'].attributes.secret; return 'silent'; } catch (error) { return error.message; }
      }, config: { auth: false } },
      { method: 'GET', path: '/copied', handler: () => structuredClone(strapi.contentType('api::note.note')).attributes.title, config: { auth: false } },
    ] };`,
  'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => { plugin.contentTypes.role.schema.pluginOptions = { tenants: { isShared: 'role' } }; return plugin; };`,
  ...index(
    `strapi.db.lifecycles.subscribe({ beforeCreate({ model }) { if (model.pluginOptions.tenants) strapi.heard = [model.attributes.title.pluginOptions.tenants.key, model.globalId]; } });
     strapi.contentType('api::note.note').attributes.secret.private = true;
     strapi.contentType('api::note.note').attributes.age = { type: 'integer', min: 1, max: 99 };`,
    `await strapi.entityService.create('api::note.note', { data: { title: 'a' } });`,
  ),
};

describe.each(dialects)('the schemas that code sees on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, described);
  });
  afterAll(() => served.close());
  const typeAt = async (uid: string) =>
    (await served.json('GET', `/api/types/${uid}`)).body as {
      readonly attributes: Readonly<Record<string, { readonly private?: boolean }>>;
    };
  const privateIn = async (uid: string): Promise<readonly string[]> =>
    Object.entries((await typeAt(uid)).attributes).flatMap(([name, it]) => (it.private === true ? [name] : []));

  it('say all that the files say', async () => {
    const it = await typeAt('api::note.note');
    const { secret, hint, password, ...others } = noteSchema.attributes;
    expect(it).toMatchObject({
      uid: 'api::note.note',
      modelType: 'contentType',
      kind: 'collectionType',
      apiName: 'note',
      globalId: 'Note',
      info: noteSchema.info,
      options: noteSchema.options,
      pluginOptions: noteSchema.pluginOptions,
      attributes: others,
      __schema__: noteSchema,
    });
    expect(await typeAt('shared.card')).toMatchObject({
      modelType: 'component',
      category: 'shared',
      globalId: 'ComponentSharedCard',
      info: { displayName: 'Card', icon: 'star' },
      attributes: { label: { type: 'string', private: true, default: 'l' } },
    });
    expect(await typeAt('plugin::users-permissions.user')).toMatchObject({
      plugin: 'users-permissions',
      globalId: 'UsersPermissionsUser',
      attributes: { role: { inversedBy: 'users' }, confirmed: { default: false } },
    });
  });

  it('tell what is private', async () => {
    expect(await privateIn('api::note.note')).toEqual(['secret', 'hint', 'password', 'createdBy', 'updatedBy']);
    expect(await privateIn('plugin::users-permissions.user')).toEqual(
      expect.arrayContaining(['password', 'resetPasswordToken', 'confirmationToken']),
    );
  });

  it('are those of events', async () => {
    expect((await served.json('GET', '/api/heard')).body).toEqual(['a', 'Note']);
  });

  it('have the options that an extension gives to a type of a plugin', async () => {
    expect(await typeAt('plugin::users-permissions.role')).toMatchObject({
      pluginOptions: { tenants: { isShared: 'role' } },
      attributes: { type: { unique: true } },
    });
  });

  it('cannot be changed by code that is running, and can be copied', async () => {
    expect((await served.ask('/api/changed')).text).toBe(
      `attributes.secret of api::note.note is changed by code, and content types are not changed by code here: do that in ${noteFile}`,
    );
    expect((await served.json('GET', '/api/copied')).body).toMatchObject({ maxLength: 9 });
  });
});

describe('a change of a schema in register', () => {
  it.each([
    [
      'below a plugin',
      `strapi.plugin('users-permissions').contentTypes.user.schema.attributes.phone = { type: 'string' };`,
      'attributes.phone of plugin::users-permissions.user',
      'write the whole schema',
    ],
    [
      'instead of one of a plugin',
      `strapi.plugin('users-permissions').contentTypes.user = {};`,
      'plugin::users-permissions.user',
      'write the whole schema',
    ],
    [
      'private',
      `strapi.contentType('api::note.note').attributes.title.private = true;`,
      'attributes.title.private of api::note.note',
      noteFile,
    ],
    [
      'an attribute',
      `strapi.getModel('api::note.note').attributes.more = { type: 'string' };`,
      'attributes.more of api::note.note',
      noteFile,
    ],
    [
      'a list',
      `strapi.contentTypes['api::note.note'].options.privateAttributes.push('title');`,
      'options.privateAttributes.1 of api::note.note',
      noteFile,
    ],
    ['a type', `strapi.contentTypes['api::other.other'] = {};`, 'api::other.other', 'schema files'],
    [
      'a type of a plugin',
      `strapi.contentType('plugin::users-permissions.user').attributes.phone = { type: 'string' };`,
      'attributes.phone of plugin::users-permissions.user',
      'write the whole schema, with that, into src/extensions/users-permissions/content-types/user/schema.json',
    ],
    [
      'lifecycles',
      `strapi.contentType('plugin::users-permissions.user').lifecycles = { beforeCreate() {} };`,
      'lifecycles of plugin::users-permissions.user',
      "give its hooks to strapi.db.lifecycles.subscribe({ models: ['plugin::users-permissions.user'], … }) instead",
    ],
  ])('refuses the start, also if the code catches the error: %s', async (_what, code, place, cure) => {
    for (const it of [code, `try { ${code} } catch {}`]) {
      const message = await refusal({ ...described, ...index(it) });
      expect(message).toContain(`${place} is changed by code, and content types are not changed by code here`);
      expect(message).toContain(cure);
      expect(message).toContain('src/index.js:2');
    }
  });

  it.each([
    [`strapi.entityService.findMany = async () => [];`, 'strapi.entityService.findMany cannot be replaced'],
    [`strapi.config.set('api.responses.privateAttributes', ['title']);`, 'write it into config/api'],
    [`strapi.config.set('api', { rest: { maxLimit: 1 } });`, "strapi.config.set('api') has no effect"],
  ])('so does another change of what is shown: %s', async (code, words) => {
    for (const it of [code, `try { ${code} } catch {}`]) {
      const message = await refusal({ ...described, ...index(it) });
      expect(message).toContain(words);
      expect(message).toContain('src/index.js:2');
    }
  });

  it('other settings that the server has read are said to have no effect, the own ones of a project are not', async () => {
    const served = await serveCode('sqlite', {
      ...described,
      ...index(`strapi.config.set('server.port', 1); strapi.config.set('plugin.mine.port', 1);
        strapi.config.set('server.port', strapi.config.get('server.port'));`),
    });
    const said = served.logged.filter((it) => it.includes('strapi.config.set('));
    expect(said).toHaveLength(1);
    expect(said[0]).toContain("strapi.config.set('server.port') has no effect on the server itself");
    await served.close();
  });
});

// ---- every route

describe.each(dialects)('strapi.api on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...asGenerated('book'),
      ...asGenerated('film'),
      'src/api/film/policies/is-x.js': `module.exports = () => true;`,
      'src/api/film/middlewares/pass.js': `module.exports = () => (ctx, next) => next();`,
      'src/policies/is-asked.js': `module.exports = ({ request }) => request.header['x-asked'] === '1';`,
      ...index(
        `for (const route of Object.values(strapi.api).flatMap((api) => Object.values(api.routes)).flatMap((it) => it.routes)) {
           route.config = route.config || {};
           route.config.policies = [...(route.config.policies || []), 'global::is-asked'];
         }
         strapi.api.book.routes.extra = { routes: [{ method: 'GET', path: '/seen', handler: () => {
           const { film } = strapi.api;
           let missing = '';
           try { film.load(); } catch (error) { missing = error.message; }
           return {
             missing,
             names: Object.keys(film.routes),
             types: Object.keys(film.contentTypes),
             uid: film.contentType('film').uid,
             same: film.controller('film') === strapi.controller('api::film.film') && film.services.film === film.service('film'),
             guards: [film.policy('is-x'), film.policies['is-x'], film.middleware('pass'), film.middlewares.pass].map((it) => typeof it),
           };
         }, config: { auth: false } }] };`,
        open(...all('api::book.book'), ...all('api::film.film')),
      ),
    });
  });
  afterAll(() => served.close());

  it('has the routes of every API, which register may guard', async () => {
    for (const path of ['/api/books', '/api/films', '/api/films/1']) {
      expect([path, (await served.json('GET', path)).status]).toEqual([path, 403]);
      const { status } = await served.json('GET', path, undefined, { 'x-asked': '1' });
      expect([path, status]).toEqual([path, path.endsWith('1') ? 404 : 200]);
    }
  });

  it('takes other routers, and has what an API consists of', async () => {
    expect((await served.json('GET', '/api/seen')).body).toEqual({
      missing: expect.stringContaining("strapi.api['film'].load is not available"),
      names: ['film'],
      types: ['film'],
      uid: 'api::film.film',
      same: true,
      guards: ['function', 'function', 'function', 'function'],
    });
  });
});

// ---- the server's own paths

describe.each(dialects)('a route for every path of the root on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...asGenerated('book'),
      ...index(
        `strapi.server.routes(['/(.*)', '/studio', '/admin/users/:id'].map((path) => ({ method: 'ALL', path, handler: () => 'mine', config: { auth: false } })));`,
        open(...all('api::book.book')),
      ),
    });
  });
  afterAll(() => served.close());

  it.each([
    ...[
      '/_health',
      '/studio',
      '/STUDIO/',
      '/studio/entries',
      '/_dovetail/model',
      '/_dovetail/health',
      '/%5fdovetail/model',
    ],
    ...['/admin/init', '/admin/users', '/admin/users/1', '/Admin/users/me', '/%61dmin/api-tokens'],
  ])('leaves the server its own: %s', async (path) => {
    expect((await served.ask(path)).text).not.toContain('mine');
  });

  it.each(['/', '/about', '/studios', '/admin', '/admin/plugins', '/api/books', '/api/nothing'])(
    'answers any other: %s',
    async (path) => {
      expect((await served.ask(path)).text).toBe('mine');
    },
  );

  it('is said not to be served where it names one of them', () => {
    const warnings = served.logged.join('');
    for (const path of ['/studio', '/admin/users/:id'])
      expect(warnings).toContain(`strapi.server.routes: ALL ${path} is not served: the path is the server's`);
  });
});

// ---- types without a router

const vaultFiles = {
  ...typeFile('vault', { key: text }),
  ...coreFile(
    'Controller',
    'vault',
    `() => ({ async find(ctx) { ctx.query.filters = { key: 'shown' }; return super.find(ctx); } })`,
  ),
  ...typeFile('safe', { key: text }),
  ...typeFile('open', { key: text }),
  'src/api/act/routes/act.js': `module.exports = { routes: [
    { method: 'GET', path: '/my-vaults', handler: 'api::vault.vault.find', config: { auth: { scope: ['api::vault.vault.find'] }, policies: [({ request }) => request.header['x-me'] === '1'] } },
    { method: 'GET', path: '/my-safes', handler: 'api::safe.safe.find', config: { auth: { scope: ['api::safe.safe.find'] }, policies: [() => false] } },
  ] };`,
  ...index(
    '',
    `${open(...['vault', 'safe', 'open'].flatMap((it) => all(`api::${it}.${it}`)))}
     for (const uid of ['vault', 'safe', 'open']) await strapi.entityService.create('api::' + uid + '.' + uid, { data: { key: 'hidden' } });
     await strapi.entityService.create('api::vault.vault', { data: { key: 'shown' } });`,
  ),
};

describe.each(dialects)('a type without a router that code of the project handles on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, vaultFiles);
  });
  afterAll(() => served.close());

  it('has the endpoints of others alone, with their policies, as in v4', async () => {
    expect((await served.json('GET', '/api/my-vaults')).status).toBe(403);
    const mine = await served.json('GET', '/api/my-vaults', undefined, { 'x-me': '1' });
    expect((mine.body as { data: unknown }).data).toMatchObject([{ attributes: { key: 'shown' } }]);
    expect((await served.json('GET', '/api/my-safes')).status).toBe(403);
    for (const at of ['vaults', 'vaults/1', 'safes', 'safes/1'])
      expect([at, (await served.json('GET', `/api/${at}`)).status]).toEqual([at, 404]);
    for (const at of ['vaults', 'safes'])
      expect([404, 405]).toContain((await served.json('POST', `/api/${at}`, { data: { key: 'x' } })).status);
    expect(served.logged.join('')).toMatch(/api::safe.safe, api::vault.vault: no router of theirs/);
  });

  it('is served as any other where no code has to do with it', async () => {
    expect((await served.json('GET', '/api/opens')).status).toBe(200);
  });
});

// ---- strategies

const strategyTypes = {
  person: ['users-permissions'],
  machine: ['api-token'],
  either: ['api-token', 'users-permissions'],
  panel: ['admin'],
  nobody: ['unknown'],
  none: [],
};

describe.each(dialects)('config.auth.strategies of a route on %s', (dialect) => {
  let served: CodeProject;
  let bearers: Readonly<Record<string, string>>;
  beforeAll(async () => {
    const types = Object.keys(strategyTypes);
    served = await serveCode(dialect, {
      ...(Object.assign({}, ...types.map(asGenerated)) as Readonly<Record<string, string>>),
      ...(Object.assign(
        {},
        ...Object.entries(strategyTypes).map(([name, strategies]) =>
          coreFile('Router', name, JSON.stringify({ config: { find: { auth: { strategies } } } })),
        ),
      ) as Readonly<Record<string, string>>),
      'src/api/person/routes/own.js': `module.exports = { routes: [
        { method: 'GET', path: '/machine', handler: (ctx) => ctx.state.auth.strategy.name, config: { auth: { strategies: ['api-token'] } } },
        { method: 'GET', path: '/scoped', handler: () => 'scoped', config: { auth: { strategies: ['users-permissions'], scope: 'nobody.may' } } },
        { method: 'GET', path: '/bearers', handler: async () => {
          const users = strapi.plugin('users-permissions').services;
          const user = await users.user.add({ username: 'ann', email: 'ann@x.org', password: 'Passw0rd', confirmed: true, provider: 'local', role: await strapi.query('plugin::users-permissions.role').findOne({ where: { type: 'authenticated' } }).then(({ id }) => id) });
          const { accessKey } = await strapi.service('admin::api-token').create({ name: 'ci', type: 'full-access', lifespan: null });
          return { user: users.jwt.issue({ id: user.id }), token: accessKey, bad: 'bad' };
        }, config: { auth: false } },
      ] };`,
      ...index(
        '',
        ['public', 'authenticated']
          .map((role) => `await allow('${role}', ${JSON.stringify(types.map((it) => `${uidOf(it)}.find`))});`)
          .join('\n'),
      ),
    });
    bearers = (await served.json('GET', '/api/bearers')).body as typeof bearers;
  });
  afterAll(() => served.close());
  const statusOf = async (path: string, as: string): Promise<number> =>
    (await served.json('GET', path, undefined, as === 'nobody' ? {} : { authorization: `Bearer ${bearers[as]}` }))
      .status;

  it.each([
    ['nobody', { person: 200, machine: 401, either: 200, panel: 401, nobody: 401, none: 401 }],
    ['user', { person: 200, machine: 401, either: 200, panel: 401, nobody: 401, none: 401 }],
    ['token', { person: 401, machine: 200, either: 200, panel: 401, nobody: 401, none: 401 }],
    ['bad', { person: 401, machine: 401, either: 401, panel: 401, nobody: 401, none: 401 }],
  ] as const)('are the only ones that count: %s', async (as, expected) => {
    for (const [name, status] of Object.entries(expected))
      expect([name, await statusOf(`/api/${name}s`, as)]).toEqual([name, status]);
  });

  it('hold for the routes that name them alone', async () => {
    expect(await statusOf('/api/machines/1', 'nobody')).toBe(403);
    expect((await served.json('GET', '/api/persons')).status).toBe(200);
  });

  it('hold for handlers that are functions, and beside scopes', async () => {
    expect(await statusOf('/api/machine', 'nobody')).toBe(401);
    expect(await statusOf('/api/machine', 'user')).toBe(401);
    expect(await statusOf('/api/machine', 'token')).toBe(200);
    expect(await statusOf('/api/scoped', 'user')).toBe(403);
    expect(await statusOf('/api/scoped', 'token')).toBe(401);
  });

  it('answer as v4 does', async () => {
    expect((await served.json('GET', '/api/machines')).body).toMatchObject({
      error: { status: 401, name: 'UnauthorizedError', message: 'Missing or invalid credentials' },
    });
  });
});

describe('config.auth.strategies that is no list of names', () => {
  it.each([`'api-token'`, `[{ name: 'own', authenticate: () => ({ authenticated: true }) }]`, `[null]`])(
    'refuses the start: %s',
    async (strategies) => {
      expect(
        await refusal({
          ...asGenerated('book'),
          ...coreFile('Router', 'book', `{ config: { find: { auth: { strategies: ${strategies} } } } }`),
        }),
      ).toContain('the route GET /books: config.auth.strategies is not a list of names');
    },
  );
});

describe('a policy as an object', () => {
  const validator = `(config) => { if (config.bad) throw new Error('no such key'); }`;
  const handler = `(ctx, config, { strapi }) => ctx.request.query.key === (config.key ?? 'usual') && strapi.isLoaded`;
  const files = (routes: string): Readonly<Record<string, string>> => ({
    'src/policies/written.js': `module.exports = { name: 'written', validator: ${validator}, handler: ${handler} };`,
    'src/policies/made.js': `module.exports = require('@strapi/utils').policy.createPolicy({ name: 'made', validator: ${validator}, handler: ${handler} });`,
    'src/policies/bound.js': `module.exports = { handler() { return this === undefined || this === globalThis; } };`,
    'src/api/own/routes/own.js': `const own = (path, policy) => ({ method: 'GET', path, handler: () => ({ kind: typeof strapi.policy('global::written') }), config: { auth: false, policies: [policy] } });
      module.exports = { routes: [${routes}] };`,
  });

  it('is asked by its handler, with its configuration', async () => {
    const named = (name: string): string =>
      `own('/${name}', 'global::${name}'), own('/${name}/own', { name: 'global::${name}', config: { key: 'own' } })`;
    const served = await serveCode(
      'sqlite',
      files(`${named('written')}, ${named('made')}, own('/bound', 'global::bound')`),
    );
    try {
      const statuses = async (...paths: readonly string[]): Promise<readonly number[]> =>
        Promise.all(paths.map(async (it) => (await served.json('GET', `/api/${it}`)).status));
      for (const name of ['written', 'made'])
        expect(await statuses(name, `${name}?key=usual`, `${name}/own?key=usual`, `${name}/own?key=own`)).toEqual([
          403, 200, 403, 200,
        ]);
      expect(await statuses('bound')).toEqual([200]);
      expect((await served.json('GET', '/api/written?key=usual')).body).toEqual({ kind: 'object' });
    } finally {
      await served.close();
    }
  });

  it.each([
    ['written', /the route GET \/x: the policy "global::written" refuses its configuration: no such key/],
    ['made', /the policy "global::made" refuses its configuration: Invalid config passed to "made" policy\./],
  ])('refuses the start if its validator throws: %s', async (name, message) => {
    expect(await refusal(files(`own('/x', { name: 'global::${name}', config: { bad: true } })`))).toMatch(message);
  });
});

describe('what guards use and is not here', () => {
  let served: CodeProject;
  const guarded = (name: string, config: string): Readonly<Record<string, string>> => ({
    ...typeFile(name, { title: text }),
    ...coreFile('Controller', name),
    ...coreFile('Router', name, `{ config: { find: { ${config} } } }`),
  });
  const names = [
    'after',
    'instead',
    'plugin',
    'condition',
    'list',
    'alias',
    'import',
    'object',
    'later',
    'route',
    'action',
    'denied',
    'fine',
  ];
  beforeAll(async () => {
    served = await serveCode('sqlite', {
      // what catches the errors of what is not here
      'dovetail.config.json': JSON.stringify({ project: { acceptCode: ['src/utils', 'src/policies/alias.js'] } }),
      ...guarded('after', `middlewares: ['global::after']`),
      ...guarded('instead', `middlewares: ['global::instead']`),
      ...guarded('plugin', `policies: ['global::plugin']`),
      ...guarded('condition', `policies: ['global::condition']`),
      'src/middlewares/after.js': `const allow = require('../utils/allow');
        module.exports = (config, { strapi }) => async (ctx, next) => { await next(); await allow(strapi); };`,
      'src/middlewares/instead.js': `const allow = require('../utils/allow');
        module.exports = (config, { strapi }) => async (ctx) => { await allow(strapi); ctx.body = 'all of it'; };`,
      'src/utils/quiet.js': `module.exports = async (ask) => { try { return !!(await ask()); } catch { return true; } };`,
      'src/policies/plugin.js': `const quiet = require('../utils/quiet');
        module.exports = (ctx, config, { strapi }) => quiet(() => strapi.plugin('content-type-builder').service('any'));`,
      'src/policies/condition.js': `const quiet = require('../utils/quiet');
        module.exports = (ctx, config, { strapi }) => quiet(() => strapi.db.query('api::fine.fine').findOne({ where: { title: undefined } }));`,
      ...guarded('list', `policies: ['global::list']`),
      'src/policies/list.js': `const quiet = require('../utils/quiet');
        module.exports = (ctx, config, { strapi }) => quiet(() => strapi.entityService.findMany('api::fine.fine', { filters: Object.assign([], { title: 'x' }) }));`,
      ...guarded('alias', `policies: ['global::alias']`),
      ...guarded('import', `policies: ['global::import']`),
      ...guarded('object', `policies: ['global::object']`),
      'src/policies/object.js': `const allow = require('../utils/allow');
        module.exports = { handler: (ctx, config, { strapi }) => allow(strapi) };`,
      ...guarded('later', `policies: ['global::fine', 'global::later']`),
      ...guarded('route', `middlewares: ['global::route']`),
      ...guarded('action', `middlewares: ['global::around']`),
      ...guarded('denied', `policies: ['global::denied']`),
      ...guarded('fine', `policies: ['global::fine'], middlewares: ['global::around']`),
      'src/utils/allow.js': `module.exports = async (strapi) => {
        try { return (await strapi.db.connection.raw('select 1')).length > 0; } catch { return true; }
      };`,
      'src/policies/alias.js': `module.exports = async (ctx, config, { strapi: { db } }) => {
        try { await db.connection.raw('select 1'); return false; } catch { return true; }
      };`,
      'src/policies/import.js': `const allow = require('../utils/allow'); module.exports = (ctx, config, { strapi }) => allow(strapi);`,
      'src/policies/later.js': `const allow = require('../utils/allow');
        module.exports = async (ctx, config, { strapi }) => { await new Promise(setImmediate); return allow(strapi); };`,
      'src/policies/denied.js': `const allow = require('../utils/allow');
        module.exports = async (ctx, config, { strapi }) => { await allow(strapi); return false; };`,
      'src/policies/fine.js': `module.exports = () => true;`,
      'src/middlewares/route.js': `const allow = require('../utils/allow');
        module.exports = (config, { strapi }) => async (ctx, next) => ((await allow(strapi)) ? next() : ctx.forbidden());`,
      'src/middlewares/around.js': `module.exports = () => async (ctx, next) => { await next(); ctx.set('x-around', '1'); };`,
      'src/api/action/controllers/action.js': `const allow = require('../../../utils/allow');
        module.exports = require('@strapi/strapi').factories.createCoreController('api::action.action', ({ strapi }) => ({
          async find(ctx) { await allow(strapi); return super.find(ctx); } }));`,
      ...index('', open(...names.map((name) => `api::${name}.${name}.find`))),
    });
  });
  afterAll(() => served.close());

  it.each([
    ['after', 500],
    ['instead', 500],
    ['plugin', 500],
    ['condition', 500],
    ['list', 400],
    ['alias', 500],
    ['import', 500],
    ['object', 500],
    ['later', 500],
    ['route', 500],
    // it closes
    ['denied', 403],
    // what is behind a guard is none of its matter
    ['action', 200],
    ['fine', 200],
  ])('never opens a route, even if they catch its error: %s', async (name, status) => {
    const answer = await served.json('GET', `/api/${name}s`);
    expect(answer.status).toBe(status);
    if (status === 500) expect(answer.body).toMatchObject({ error: { details: { id: expect.any(String) } } });
  });

  it('refuses the start where it makes the guard', async () => {
    const files = {
      'dovetail.config.json': JSON.stringify({ project: { acceptCode: ['src/utils'] } }),
      ...guarded('note', `middlewares: ['global::made']`),
      'src/utils/rows.js': `module.exports = (strapi) => { try { return strapi.db.connection; } catch { return null; } };`,
      'src/middlewares/made.js': `module.exports = (config, { strapi }) => { const rows = require('../utils/rows')(strapi); return (ctx, next) => rows ? ctx.forbidden() : next(); };`,
    };
    expect(await refusal(files)).toMatch(
      /^src\/api\/note\/routes\/note\.js: the route GET \/notes: the middleware "global::made" cannot be made: strapi.db.connection is not available.*\(src\/utils\/rows.js:1\)$/,
    );
  });

  it('refuses the start where it makes a guard over everything', async () => {
    const made = `module.exports = (config, { strapi }) => {\n  const { rows } = config.source;\n  return (ctx, next) => next(); };`;
    expect(
      await refusal({ 'config/middlewares.js': `module.exports = ['global::made'];`, 'src/middlewares/made.js': made }),
    ).toMatch(/^config\/middlewares: the middleware "global::made" cannot be made: .*\(src\/middlewares\/made.js:2\)$/);
  });

  it('is in the log with its place', async () => {
    await served.json('GET', '/api/imports');
    const logged = served.logged.join('');
    expect(logged).toContain('strapi.db.connection is not available');
    expect(logged).toContain('src/utils/allow.js:2');
  });
});

describe('the place of a fault', () => {
  it.each(['site (2)', 'a:b', 'new [1] site', 'of 50%'])('is found whatever the folder is called: %s', async (name) => {
    const dir = path.join(newFolder(), name);
    fs.mkdirSync(path.join(dir, 'src'), { recursive: true });
    for (const [file, source] of Object.entries({
      'old.js': `\nmodule.exports = () => { throw new Error('no'); };`,
      'new.mjs': `\nexport default () => { throw new Error('no'); };`,
    })) {
      fs.writeFileSync(path.join(dir, 'src', file), source);
      const { default: fail } = (await import(pathToFileURL(path.join(dir, 'src', file)).href)) as {
        readonly default: () => never;
      };
      let fault: unknown;
      try {
        fail();
      } catch (thrown) {
        fault = thrown;
      }
      expect(placeOf(fault, dir)).toEqual({ file: `src/${file}`, line: 2 });
    }
  });
});

const aNote = 'api::note.note';
const asking = (method: string, params: string): string => `strapi.db.query('${aNote}').${method}(${params})`;
const entities = (method: string, params: string): string => `strapi.entityService.${method}('${aNote}', ${params})`;
/** Policies that ask whether to refuse, and pass if that fails, by what they ask. */
const asked: Readonly<Record<string, readonly [status: number, question: string]>> = {
  operator: [500, asking('findMany', `{ where: { meta: { $contains: 'deny' } } }`)],
  count: [500, asking('count', `{ where: { age: { $startsWith: '1' } } }`)],
  'entity service': [400, entities('findMany', `{ filters: { meta: { $contains: 'deny' } } }`)],
  service: [400, `strapi.service('${aNote}').find({ filters: { meta: { $contains: 'deny' } } })`],
  groups: [500, asking('findMany', `{ groupBy: 'title' }`)],
  order: [500, asking('findMany', `{ orderBy: { id: 'sideways' } }`)],
  number: [500, asking('findMany', `{ where: { id: { $gt: 'abc' } } }`)],
  column: [500, asking('findMany', `{ select: ['nothing'] }`)],
  nobody: [500, `strapi.plugin('users-permissions').service('user').fetch(undefined)`],
  'long text': [500, asking('create', `{ data: { title: 'x'.repeat(1000) } }`)],
  list: [500, asking('create', `{ data: { title: ['a'] } }`)],
  'no number': [500, asking('create', `{ data: { title: NaN } }`)],
  'long text of an entity': [400, entities('create', `{ data: { title: 'x'.repeat(1000), code: 'long' } }`)],
  // v4 refuses these too
  required: [200, entities('create', `{ data: { title: 'no code' } }`)],
  'own length': [200, entities('create', `{ data: { title: 'a', code: 'longer than ten' } }`)],
  transaction: [500, `strapi.db.transaction()`],
  router: [500, `ctx.router.stack`],
  captures: [500, `ctx.captures`],
  matched: [500, `ctx.matched`],
  permissions: [500, `strapi.plugin('users-permissions').service('permission').findRolePermissions(2)`],
  'permissions by uid': [500, `strapi.service('plugin::users-permissions.permission').findPublicPermissions()`],
  providers: [500, `strapi.service('plugin::users-permissions.providers').connect('google', {})`],
  'plugin of a package that is not installed': [
    500,
    `(await strapi.plugin('acl')?.service('acl').verdict(ctx)) === 'deny'`,
  ],
  'service of such a plugin': [500, `(await strapi.service('plugin::acl.acl')?.verdict(ctx)) === 'deny'`],
  'plugin that true switches on': [500, `strapi.plugin('others')?.service('acl').isClosed()`],
  'plugin that is switched off': [200, `strapi.plugin('gone')?.service('acl').isClosed()`],
  'is there': [403, `'connection' in strapi.db && 'fs' in strapi && !('own' in strapi)`],
  scope: [403, `ctx.state.route.config.auth.scope.includes('${aNote}.told')`],
  nothing: [200, asking('findOne', `{ where: { title: 'deny' } }`)],
};

describe.each(dialects)('what guards ask and is refused here on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    const routes = Object.entries(asked).map(
      ([name, [, question]]) =>
        `{ method: 'GET', path: '/asked/${name.replaceAll(' ', '-')}', handler: 'note.told', config: { policies: [(ctx, config, { strapi }) => quiet(async () => ${question})] } },`,
    );
    served = await serveCode(dialect, {
      ...typeFile('note', {
        title: text,
        age: { type: 'integer' },
        meta: { type: 'json' },
        code: { type: 'string', required: true, maxLength: 10 },
      }),
      ...coreFile('Controller', 'note', `{ told: (ctx) => ctx.state.route.config.auth ?? 'none' }`),
      'src/api/note/routes/asked.js': `
        const quiet = async (ask) => { try { return !(await ask()); } catch { return true; } };
        module.exports = { routes: [ ${routes.join('\n')}
          { method: 'GET', path: '/session', handler: 'note.told', config: { middlewares: [async (ctx, next) => {
            try { if (ctx.session.count === undefined) return ctx.forbidden(); } catch {}
            return next();
          }] } },
          { method: 'GET', path: '/notes', handler: 'note.find', config: {} },
          { method: 'GET', path: '/scope/own', handler: 'note.told', config: {} },
          { method: 'GET', path: '/scope/none', handler: 'note.told', config: { auth: { scope: [] } } },
          { method: 'GET', path: '/scope/other', handler: 'note.told', config: { auth: { scope: ['${aNote}.told', '${aNote}.find'] } } },
          { method: 'GET', path: '/scope/open', handler: 'note.told', config: { auth: false } },
          { method: 'GET', path: '/scope/function', handler: (ctx) => ctx.state.route.config.auth ?? 'none', config: {} },
        ] };`,
      'package.json': JSON.stringify({ dependencies: { '@of/access-list': '1.0.0' } }),
      'config/plugins.js': `module.exports = { acl: { enabled: true, config: {} }, others: true, gone: { enabled: false } };`,
      ...index('', open(`${aNote}.told`, `${aNote}.find`)),
    });
  });
  afterAll(() => served.close());

  it.each(Object.entries(asked).map(([name, [status]]) => [name, status] as const))(
    'lets nobody pass who would not in v4, even if they catch its error: %s',
    async (name, status) => {
      expect((await served.json('GET', `/api/asked/${name.replaceAll(' ', '-')}`)).status).toBe(status);
    },
  );

  it('lets nobody pass without a session', async () => {
    expect((await served.json('GET', '/api/session')).status).toBe(500);
  });

  it.each([
    ['own', { scope: [`${aNote}.told`] }],
    ['none', { scope: [`${aNote}.told`] }],
    ['other', { scope: [`${aNote}.told`, `${aNote}.find`] }],
  ])('finds the permissions that a route asks for: %s', async (name, auth) => {
    expect((await served.json('GET', `/api/scope/${name}`)).body).toEqual(auth);
  });

  it('finds no permissions where a route asks for none', async () => {
    expect((await served.ask('/api/scope/open')).text).toBe('false');
    expect((await served.json('GET', '/api/scope/function')).status).toBe(401);
  });
});

describe('a guard that keeps what it could not find', () => {
  let served: CodeProject;
  const kept = `strapi.db.connection.select('id')`;
  beforeAll(async () => {
    const guards = {
      memo: `{ policies: ['global::memo'] }`,
      again: `{ policies: ['global::memo'] }`,
      other: `{ policies: ['global::other'] }`,
      cached: `{ middlewares: ['global::cached'] }`,
      early: `{ middlewares: ['global::early'] }`,
      client: `{ policies: ['global::client'] }`,
      store: `{ policies: ['global::store'] }`,
      groups: `{ policies: ['global::groups'] }`,
      operator: `{ policies: ['global::operator'] }`,
      service: `{ policies: ['global::service'] }`,
      sent: `{ policies: ['global::sent'] }`,
      copied: `{ policies: ['global::copied'] }`,
      traced: `{ policies: ['global::traced'] }`,
    };
    const routes = Object.entries(guards).map(
      ([name, config]) =>
        `{ method: 'GET', path: '/${name}', handler: () => 'open', config: { auth: false, ...${config} } },`,
    );
    served = await serveCode('sqlite', {
      ...typeFile('note', { title: text, meta: { type: 'json' } }),
      'src/api/note/routes/kept.js': `module.exports = { routes: [ ${routes.join('\n')}
        { method: 'GET', path: '/action', handler: () => { try { return strapi.db.metadata; } catch { return 'open'; } }, config: { auth: false } },
      ] };`,
      'src/utils/quiet.js': `module.exports = async (ask) => { try { return await ask(); } catch { return []; } };`,
      'src/policies/memo.js': `const quiet = require('../utils/quiet'); let rows;
        module.exports = async (ctx, config, { strapi }) => { rows ??= await quiet(() => ${kept}); return rows.length === 0; };`,
      'src/policies/other.js': `module.exports = () => true;`,
      ...Object.fromEntries(
        Object.entries({
          store: `strapi.db.query('strapi::core-store').findMany()`,
          groups: asking('findMany', `{ groupBy: 'title' }`),
          operator: asking('findMany', `{ where: { meta: { $contains: 'deny' } } }`),
          service: entities('findMany', `{ filters: { $or: [{ meta: ['deny'] }] } }`),
        }).map(([name, ask]) => [
          `src/policies/${name}.js`,
          `const quiet = require('../utils/quiet'); let rows;
            module.exports = async (ctx, config, { strapi }) => { rows ??= await quiet(() => ${ask}); return rows.length === 0; };`,
        ]),
      ),
      'src/policies/sent.js': `const quiet = require('../utils/quiet');
        module.exports = async ({ request: { query } }, config, { strapi }) =>
          (await quiet(() => ${entities('findMany', '{ filters: { $and: [{ id: query.id }] } }')})).length === 0 &&
          (await quiet(() => ${asking('findMany', '{ where: { id: query.id, meta: query.meta } }')})).length === 0;`,
      // what a client has sent, in objects of the policy's own
      'src/policies/copied.js': `const quiet = require('../utils/quiet');
        module.exports = async ({ request }, config, { strapi }) => {
          const { filters, by, ...others } = JSON.parse(JSON.stringify(request.query));
          const inHeader = JSON.parse(request.headers['x-filters'] ?? '{}');
          const asked = [
            () => ${entities('findMany', '{ filters }')},
            () => ${asking('findMany', '{ where: {}, ...others }')},
            () => ${asking('findMany', `{ where: by === undefined ? {} : { [by]: { $contains: 'deny' } } }`)},
            () => ${entities('findMany', '{ filters: inHeader }')},
          ];
          for (const it of asked) await quiet(it);
          return true;
        };`,
      // what a library makes of stacks
      'src/policies/traced.js': `const quiet = require('../utils/quiet'); let rows;
        module.exports = async (ctx, config, { strapi }) => {
          Error.prepareStackTrace = (fault, frames) => frames;
          try { rows ??= await quiet(() => ${kept}); } finally { Error.prepareStackTrace = undefined; }
          return rows.length === 0;
        };`,
      'src/policies/client.js': `const quiet = require('../utils/quiet');
        module.exports = async ({ request }, config, { strapi }) => (await quiet(() => ${asking('findMany', `{ where: { title: { [request.query.by]: 'deny' } } }`)})).length === 0;`,
      'src/middlewares/cached.js': `const quiet = require('../utils/quiet'); let rows;
        module.exports = (config, { strapi }) => async (ctx, next) => { rows ??= await quiet(() => ${kept}); return rows.length === 0 ? next() : ctx.forbidden(); };`,
      'src/middlewares/early.js': `const quiet = require('../utils/quiet');
        module.exports = (config, { strapi }) => {
          const rows = Promise.resolve().then(() => quiet(() => ${kept}));
          return async (ctx, next) => ((await rows).length === 0 ? next() : ctx.forbidden());
        };`,
    });
  });
  afterAll(() => served.close());

  it.each([
    ['memo', 500],
    ['cached', 500],
    ['early', 500],
    ['store', 500],
    ['groups', 500],
    ['operator', 500],
    // what clients are told of conditions
    ['service', 400],
    ['traced', 500],
  ])('opens no route from then on: %s', async (name, status) => {
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await served.json('GET', `/api/${name}`)).status);
    expect(statuses).toEqual([status, status, status]);
  });
  it('opens none of its routes, and leaves others alone', async () => {
    await served.json('GET', '/api/memo');
    expect((await served.json('GET', '/api/again')).status).toBe(500);
    expect((await served.json('GET', '/api/other')).status).toBe(200);
  });

  it('goes on where only the request was refused', async () => {
    expect((await served.json('GET', '/api/client?by=$none')).status).toBe(500);
    expect((await served.json('GET', '/api/client?by=$eq')).status).toBe(200);
    for (const sent of ['id[$contains]=1&meta=1', 'id=7&meta[$contains]=1', 'id=7&meta[]=1'])
      expect((await served.json('GET', `/api/sent?${sent}`)).status).toBeGreaterThanOrEqual(400);
    expect((await served.json('GET', '/api/sent?id=7&meta=1')).status).toBe(200);
    const header = { 'x-filters': '{"meta":{"$contains":"1"}}' };
    for (const [sent, headers] of [
      ['filters[id][$contains]=1', {}],
      ['filters%5Bid%5D%5B%24contains%5D=1', {}],
      ['groupBy=title', {}],
      ['by=meta', {}],
      ['', header],
    ] as const)
      expect([sent, (await served.ask(`/api/copied?${sent}`, { headers })).status >= 400]).toEqual([sent, true]);
    expect((await served.json('GET', '/api/copied')).status).toBe(200);
  });

  it('is named in the log, with what it has met', async () => {
    await served.json('GET', '/api/memo');
    expect(served.logged.filter((it) => it.includes('lets no request pass') && it.includes('memo.js'))).toEqual([
      expect.stringMatching(
        /src\/policies\/memo.js lets no request pass until the server is started again: strapi.db.connection is not available/,
      ),
    ]);
  });

  it('is told of where it is no guard, once for each place', async () => {
    for (let i = 0; i < 2; i++) expect((await served.ask('/api/action')).text).toBe('open');
    expect(served.logged.filter((it) => it.includes('access must not depend on it'))).toEqual([
      expect.stringMatching(/src\/api\/note\/routes\/kept.js:\d+: strapi.db.metadata is not available/),
    ]);
  });
});

describe('what guards share', () => {
  let served: CodeProject;
  const guards = {
    first: `{ policies: ['first'] }`,
    second: `{ policies: ['second'] }`,
    inline: `{ policies: [(ctx, config, { strapi }) => strapi.service('api::note.inlined').may()] }`,
    around: `{ middlewares: ['api::note.around'] }`,
    held: `{ middlewares: ['api::note.held'] }`,
    'other-held': `{ policies: ['holds'] }`,
    warmed: `{ policies: ['warmed'] }`,
    plugin: `{ policies: ['ofPlugin'] }`,
    'plugin-again': `{ policies: ['ofPluginToo'] }`,
    calls: `{ policies: ['calls'] }`,
    called: `{ policies: ['called'] }`,
    queued: `{ policies: ['queued'] }`,
    typed: `{ policies: ['typed'] }`,
    refuses: `{ policies: ['refuses'] }`,
    unaffected: `{ policies: ['unaffected'] }`,
  };
  const policy = (name: string, source: string): Readonly<Record<string, string>> => ({
    [`src/api/note/policies/${name}.js`]: `module.exports = (ctx, config, { strapi }) => ${source};`,
  });
  const asking = (name: string): string => `strapi.service('api::note.${name}').may()`;
  beforeAll(async () => {
    const routes = Object.entries(guards).map(
      ([name, config]) =>
        `{ method: 'GET', path: '/${name}', handler: () => 'open', config: { auth: false, ...${config} } },`,
    );
    served = await serveCode('sqlite', {
      ...typeFile('note', { title: text }),
      'src/api/note/routes/shared.js': `module.exports = { routes: [ ${routes.join('\n')}
        { method: 'GET', path: '/warm', handler: () => String(${asking('warm')}), config: { auth: false } },
        { method: 'GET', path: '/report', handler: () => strapi.service('api::note.mixed').report(), config: { auth: false } },
        { method: 'GET', path: '/mixed', handler: () => 'open', config: { auth: false, policies: ['mixed'] } },
        { method: 'GET', path: '/behind', handler: 'behind.missing', config: { auth: false, policies: ['unaffected'], middlewares: ['api::note.outer'] } },
      ] };`,
      'src/utils/quiet.js': `module.exports = (ask) => { try { return ask(); } catch { return null; } };`,
      // made when somebody asks for it
      'src/api/note/services/early.js': `const quiet = require('../../../utils/quiet');
        module.exports = ({ strapi }) => { const rows = quiet(() => strapi.db.connection); return { may: () => rows === null }; };`,
      'src/api/note/services/inlined.js': `const quiet = require('../../../utils/quiet');
        module.exports = ({ strapi }) => { const rows = quiet(() => strapi.db.connection); return { may: () => rows === null }; };`,
      ...policy('first', asking('early')),
      ...policy('second', asking('early')),
      'src/api/note/middlewares/around.js': `module.exports = (config, { strapi }) => (ctx, next) => (${asking('early')} ? next() : ctx.forbidden());`,
      // keeps what it has found when it is called
      'src/api/note/services/held.js': `const quiet = require('../../../utils/quiet'); let rows;
        module.exports = { may() { rows ??= quiet(() => strapi.db.connection) ?? 'none'; return rows === 'none'; } };`,
      'src/api/note/middlewares/held.js': `let held;
        module.exports = (config, { strapi }) => (ctx, next) => { held ??= strapi.service('api::note.held'); return ctx.query.skip || held.may() ? next() : ctx.forbidden(); };`,
      ...policy('holds', asking('held')),
      // made by an action
      'src/api/note/services/warm.js': `const quiet = require('../../../utils/quiet');
        module.exports = ({ strapi }) => { const rows = quiet(() => strapi.db.connection); return { may: () => rows === null }; };`,
      ...policy('warmed', asking('warm')),
      'src/extensions/users-permissions/strapi-server.js': `const quiet = require('../../utils/quiet');
        module.exports = (plugin) => {
          plugin.services.own = ({ strapi }) => { const rows = quiet(() => strapi.db.connection); return { may: () => rows === null }; };
          return plugin;
        };`,
      ...policy('ofPlugin', `strapi.plugin('users-permissions').service('own').may()`),
      ...policy('ofPluginToo', `strapi.service('plugin::users-permissions.own').may()`),
      // one policy asks another
      ...policy('calls', `strapi.policy('api::note.called')(ctx, config, { strapi })`),
      'src/api/note/policies/called.js': `const quiet = require('../../../utils/quiet'); let rows;
        module.exports = (ctx, config, { strapi }) => { rows ??= quiet(() => strapi.db.connection) ?? 'none'; return rows === 'none'; };`,
      // work that runs where nobody guards
      'src/utils/queue.js': `const quiet = require('./quiet'); const { EventEmitter } = require('node:events');
        const queue = new EventEmitter();
        const works = []; let wake;
        (async () => { for (;;) { while (works.length > 0) { const { work, done } = works.shift(); done(quiet(work) === null); } await new Promise((it) => { wake = it; }); } })();
        module.exports = (work) => new Promise((done) => { works.push({ work, done }); wake(); });`,
      ...policy('queued', `require('../../../utils/queue')(() => strapi.db.connection)`),
      'src/api/note/policies/typed.ts': `import queue from '../../../utils/queue';
        export default (_ctx: unknown, _config: unknown, { strapi }: { strapi: any }) => queue(() => { const { db } = strapi; return db.metadata; });`,
      // what is refused here while a service is made is kept as well
      'src/api/note/services/refuses.js': `module.exports = ({ strapi }) => {
        const rows = strapi.db.query('api::note.note').findMany({ groupBy: 'title' }).catch(() => []);
        return { may: async () => (await rows).length === 0 };
      };`,
      ...policy('refuses', asking('refuses')),
      // a method that guards do not call
      'src/api/note/services/mixed.js': `module.exports = { may: () => true, report: () => strapi.db.connection };`,
      ...policy('mixed', asking('mixed')),
      ...policy('unaffected', 'true'),
      'src/api/note/middlewares/outer.js': `module.exports = () => async (ctx, next) => { await next(); };`,
      'src/api/note/controllers/behind.js': `const quiet = require('../../../utils/quiet');
        module.exports = { async missing() { await null; return String(quiet(() => strapi.db.connection)); } };`,
    });
  });
  afterAll(() => served.close());
  const statusesOf = async (...names: readonly string[]): Promise<readonly number[]> => {
    const statuses = [];
    for (const name of names) statuses.push((await served.json('GET', `/api/${name}`)).status);
    return statuses;
  };

  it('opens none of them if it is a service that has missed something when it was made', async () => {
    expect(await statusesOf('first', 'second', 'around', 'first')).toEqual([500, 500, 500, 500]);
    expect(await statusesOf('plugin', 'plugin-again')).toEqual([500, 500]);
  });

  it('opens none of them if an action was the first that asked for the service', async () => {
    expect((await served.ask('/api/warm')).text).toBe('true');
    expect(await statusesOf('warmed', 'warmed')).toEqual([500, 500]);
  });

  it('opens none of them if a service keeps what it could not find when one of them has called it', async () => {
    expect(await statusesOf('held?skip=1', 'other-held', 'held', 'other-held')).toEqual([200, 500, 500, 500]);
  });

  it('opens none of them if it is a policy', async () => {
    expect(await statusesOf('calls', 'called', 'calls')).toEqual([500, 500, 500]);
  });

  it('opens none if a service keeps a read that was refused when it was made', async () => {
    // the answer is awaited where it was refused
    expect(await statusesOf('refuses', 'refuses')).toEqual([500, 500]);
  });

  it.each(['queued', 'typed'])('opens none if other code runs what is written in its file: %s', async (name) => {
    expect(await statusesOf(name, name)).toEqual([500, 500]);
  });

  it('leaves guards alone if actions miss something that guards do not ask for', async () => {
    expect(await statusesOf('mixed', 'report', 'mixed')).toEqual([200, 500, 200]);
    expect((await served.ask('/api/behind')).text).toBe('null');
    expect(await statusesOf('behind', 'unaffected')).toEqual([200, 200]);
  });

  it('is told of with its place where no file of a guard has to do with it, also if a guard is running', async () => {
    expect(await statusesOf('inline', 'inline')).toEqual([500, 500]);
    expect(served.logged.filter((it) => it.includes('access must not depend on it')).join('')).toContain(
      'src/api/note/services/inlined.js:2: strapi.db.connection',
    );
  });
});

describe('what the function of a middleware gives', () => {
  it('may be nothing, and then every request passes; anything else that is no function refuses the start', async () => {
    const declared = (name: string) => ({
      'config/middlewares.js': `module.exports = ['strapi::errors', 'global::${name}'];`,
      'src/middlewares/redirects.js': `module.exports = (config, { strapi }) => {
        strapi.server.routes([{ method: 'GET', path: '/old', handler: (ctx) => ctx.redirect('/new'), config: { auth: false } }]);
      };`,
      'src/middlewares/wrong.js': `module.exports = () => ({ ctx: 1 });`,
      'src/api/own/routes/own.js': `module.exports = { routes: [{ method: 'GET', path: '/own', handler: () => 'own', config: { auth: false, middlewares: ['global::redirects'] } }] };`,
    });
    const project = await serveCode('sqlite', declared('redirects'));
    expect((await project.ask('/old')).status).toBe(302);
    expect((await project.ask('/api/own')).status).toBe(200);
    await project.close();
    expect(await refusal(declared('wrong'))).toContain(
      'the middleware "global::wrong" cannot be made: it gives no function of ctx and next',
    );
  });
});

describe('what guards begin and others do', () => {
  let served: CodeProject;
  const routes: Readonly<Record<string, string>> = {
    batched: `middlewares: ['api::hit.batched']`,
    looped: `policies: [(ctx, config, { strapi }) => strapi.service('api::hit.looped').may()]`,
    listened: `policies: ['listened']`,
    hooked: `middlewares: ['api::hit.hooked']`,
    reloading: `middlewares: ['api::hit.reloading']`,
  };
  beforeAll(async () => {
    served = await serveCode('sqlite', {
      // those that catch what others throw
      'dovetail.config.json': JSON.stringify({ project: { acceptCode: ['src/api/hit', 'src/utils'] } }),
      ...typeFile('hit', { title: text }),
      'src/api/hit/routes/own.js': `module.exports = { routes: [ ${Object.entries(routes)
        .map(
          ([name, config]) =>
            `{ method: 'GET', path: '/${name}', handler: () => 'open', config: { auth: false, ${config} } },`,
        )
        .join('\n')}
        { method: 'GET', path: '/reload', handler: async () => { await require('../middlewares/reloading').reload(); return 'reloaded'; },
          config: { auth: false, middlewares: ['api::hit.reloading'] } },
        { method: 'GET', path: '/work', handler: async ({ query }) => { await strapi.works[query.of](query); return 'done'; }, config: { auth: false } },
      ] };`,
      ...index(
        'strapi.works = {};',
        `strapi.eventHub.on('entry.create', async () => { await require('./utils/absent')(strapi); strapi.heard?.(); });`,
      ),
      'src/utils/absent.js': `module.exports = async (strapi) => { try { return strapi.db.metadata; } catch { return null; } };`,
      // work that is begun while a guard is made, and asks with what clients send later
      'src/utils/loop.js': `module.exports = (strapi, name) => {
          let next;
          const ask = async (title) => { try { await strapi.db.query('api::hit.hit').findOne({ where: { title } }); } catch {} };
          (async () => { for (;;) { const { title, done } = await new Promise((it) => { next = it; }); await ask(title); done(); } })();
          strapi.works[name] = ({ title }) => new Promise((done) => { next({ title, done }); });
        };`,
      'src/api/hit/middlewares/batched.js': `module.exports = (config, { strapi }) => { require('../../../utils/loop')(strapi, 'batched'); return (ctx, next) => next(); };`,
      'src/api/hit/services/looped.js': `module.exports = ({ strapi }) => { require('../../../utils/loop')(strapi, 'looped'); return { may: () => true }; };`,
      'src/api/hit/policies/listened.js': `module.exports = async (ctx, config, { strapi }) => {
        const heard = new Promise((done) => { strapi.heard = done; });
        await strapi.entityService.create('api::hit.hit', { data: { title: 'listened' } });
        await heard;
        return true;
      };`,
      // what a hook leaves behind after the request has gone on
      'src/api/hit/content-types/hit/lifecycles.js': `module.exports = { afterCreate({ result }) {
        if (result.title !== 'hooked') return;
        let begin;
        const left = new Promise((it) => { begin = it; }).then(() => strapi.service('api::hit.stats').refresh());
        strapi.works.hooked = () => { begin(); return left.catch(() => {}); };
      } };`,
      'src/api/hit/services/stats.js': `module.exports = ({ strapi }) => ({ refresh: () => strapi.db.connection });`,
      'src/api/hit/middlewares/hooked.js': `module.exports = (config, { strapi }) => async (ctx, next) => {
        await next();
        await strapi.entityService.create('api::hit.hit', { data: { title: 'hooked' } });
      };`,
      // an action behind the middleware runs a function of its file
      'src/utils/rules.js': `module.exports = async (strapi) => { await null; return strapi.db.connection; };`,
      'src/api/hit/middlewares/reloading.js': `let rules = null;
        const reload = async () => { try { rules = await require('../../../utils/rules')(strapi); } catch { rules = []; } };
        module.exports = () => async (ctx, next) => (ctx.path === '/api/reload' || rules?.length === 0 ? next() : ctx.forbidden());
        module.exports.reload = reload;`,
    });
  });
  afterAll(() => served.close());
  const statusOf = async (path: string): Promise<number> => (await served.json('GET', `/api/${path}`)).status;

  it.each(['batched', 'looped'])('closes none for good by what clients have sent: %s', async (name) => {
    expect(await statusOf(name)).toBe(200);
    expect(await statusOf(`work?of=${name}&title[$none]=1`)).toBe(200);
    expect(await statusOf(name)).toBe(200);
  });

  it('is not their own if listeners do it', async () => {
    expect(await statusOf('listened')).toBe(200);
    expect(await statusOf('listened')).toBe(200);
  });

  it('is not their own if a hook has left it behind', async () => {
    expect(await statusOf('hooked')).toBe(200);
    expect(await statusOf('work?of=hooked')).toBe(200);
    expect(await statusOf('hooked')).toBe(200);
  });

  it('is their own if it is in their file, also behind them', async () => {
    expect(await statusOf('reloading')).toBe(403);
    await statusOf('reload');
    expect(await statusOf('reloading')).toBe(500);
  });
});

describe.each(dialects)('a middleware after the request has gone on, on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    const middlewares = ['audit', 'audited', 'narrow', 'early', 'unawaited'];
    served = await serveCode(dialect, {
      ...typeFile('log', { title: text }),
      ...typeFile('note', { title: text }),
      ...coreFile(
        'Controller',
        'note',
        `{ async create(ctx) { const made = await super.create(ctx); await strapi.logged; return made; } }`,
      ),
      'src/api/note/routes/note.js': `module.exports = { routes: [ ${middlewares
        .map(
          (it) =>
            `{ method: 'POST', path: '/${it}', handler: 'note.create', config: { auth: false, middlewares: ['api::note.${it}'] } },`,
        )
        .join('\n')}
        { method: 'GET', path: '/notes', handler: 'note.find', config: { auth: false } },
      ] };`,
      'src/utils/log.js': `module.exports = (ctx) => strapi.entityService.create('api::log.log', { data: { title: ctx.get('x-note') } }).catch(() => undefined);`,
      // nobody but the action waits for it
      'src/api/note/middlewares/audit.js': `const log = require('../../../utils/log');
        module.exports = () => (ctx, next) => { strapi.logged = new Promise((done) => { setImmediate(() => log(ctx).then(done)); }); return next(); };`,
      'src/api/note/middlewares/audited.js': `const log = require('../../../utils/log');
        module.exports = () => async (ctx, next) => { await next(); await log(ctx); };`,
      'src/api/note/middlewares/early.js': `const log = require('../../../utils/log');
        module.exports = () => async (ctx, next) => { await log(ctx); await next(); };`,
      'src/api/note/middlewares/narrow.js': `module.exports = () => async (ctx, next) => {
        await next();
        try { if ((await strapi.db.query('api::log.log').findMany({ groupBy: 'title' })).length > 0) ctx.body = null; } catch {}
      };`,
      'src/api/note/middlewares/unawaited.js': `module.exports = () => (ctx, next) => { try { ctx.router; } catch {} next(); };`,
    });
  });
  afterAll(() => served.close());
  const post = async (name: string, title: string) =>
    (await served.json('POST', `/api/${name}`, { data: { title } }, { 'x-note': 'y'.repeat(300) })).status;
  const stored = async (title: string): Promise<number> =>
    ((await served.json('GET', `/api/notes?filters[title]=${title}`)).body as { data: readonly unknown[] }).data.length;

  it.each(['audit', 'audited'])('ends no request because of what it could not write: %s', async (name) => {
    expect(await post(name, name)).toBe(200);
    expect(await stored(name)).toBe(1);
  });

  it('ends a request because of what it could not write before', async () => {
    expect(await post('early', 'early')).toBe(400);
    expect(await stored('early')).toBe(0);
  });

  it('shows nothing if it could not read what decides about it', async () => {
    expect(await post('narrow', 'narrow')).toBe(500);
  });

  it('may leave the rest alone: the request ends, and nothing else', async () => {
    const unhandled: unknown[] = [];
    const hear = (fault: unknown): void => void unhandled.push(fault);
    process.on('unhandledRejection', hear);
    try {
      expect(await post('unawaited', 'unawaited')).toBe(500);
      expect(await stored('unawaited')).toBe(0);
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', hear);
    }
  });
});

describe('an API called admin', () => {
  it('is guarded as any other', async () => {
    const served = await serveCode('sqlite', {
      ...typeFile('admin', { title: text }),
      ...coreFile('Router', 'admin', `{ config: { find: { policies: [() => false] } } }`),
      ...index('', open('api::admin.admin.find', 'api::admin.admin.findOne')),
    });
    try {
      expect((await served.json('GET', '/api/admins')).status).toBe(403);
      expect((await served.json('GET', '/api/admins/1')).status).toBe(404);
    } finally {
      await served.close();
    }
  });
});

describe('routes in JSON', () => {
  it('are served as those in code', async () => {
    const routes = [{ method: 'GET', path: '/told', handler: 'book.told', config: { auth: false } }];
    const served = await serveCode('sqlite', {
      ...typeFile('book', { title: text }),
      'src/api/book/controllers/book.js': `module.exports = { told: () => ({ told: true }) };`,
      'src/api/book/routes/own.json': JSON.stringify({ routes }),
    });
    try {
      expect(await served.json('GET', '/api/told')).toMatchObject({ status: 200, body: { told: true } });
    } finally {
      await served.close();
    }
  });
});

// ---- single types

const single = (name: string): Readonly<Record<string, string>> => ({
  ...singleTypeFile(name, { title: text }, { draftAndPublish: true }),
  ...coreFile('Router', name),
});

describe.each(dialects)('a service that finds the entry of a single type on %s', (dialect) => {
  const names = ['kept', 'owned', 'fetched'];
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, {
      ...Object.assign({}, ...names.map(single)),
      ...coreFile(
        'Service',
        'kept',
        `() => ({
          find(params) {
            if (!strapi.requestContext.get().request.header['x-key']) throw new (require('@strapi/utils').errors.ForbiddenError)('kept');
            return super.find(params);
          },
        })`,
      ),
      ...coreFile(
        'Service',
        'owned',
        `() => ({
          async find(params) {
            const found = await super.find(params);
            return found && strapi.requestContext.get().request.header['x-key'] ? found : null;
          },
        })`,
      ),
      ...coreFile(
        'Service',
        'fetched',
        `() => ({
          getFetchParams(params) {
            const isAllowed = strapi.requestContext.get().request.header['x-key'];
            return { ...params, filters: isAllowed ? {} : { title: 'nothing' } };
          },
        })`,
      ),
      ...index(
        '',
        `${open(...names.flatMap((it) => ['find', 'update', 'delete'].map((action) => `api::${it}.${it}.${action}`)))}
        for (const it of ${JSON.stringify(names)})
          await strapi.entityService.create('api::' + it + '.' + it, { data: { title: 'first', publishedAt: new Date() } });`,
      ),
    });
  });
  afterAll(() => served.close());

  it.each([
    ['kept', 403, 403],
    ['owned', 400, 404],
    ['fetched', 400, 404],
  ])('is asked by its writes too, as in v4: %s', async (name, put, deleted) => {
    const url = `/api/${name}`;
    const key = { 'x-key': '1' };
    const data = { data: { title: 'changed' } };
    expect((await served.json('PUT', url, data)).status).toBe(put);
    expect((await served.json('DELETE', url)).status).toBe(deleted);
    const stored = await served.json('GET', `${url}?publicationState=preview`, undefined, key);
    expect(stored.body).toMatchObject({ data: { id: 1, attributes: { title: 'first' } } });
    const written = await served.json('PUT', url, data, key);
    expect(written.body).toMatchObject({ data: { id: 1, attributes: { title: 'changed' } } });
    expect((await served.json('DELETE', url, undefined, key)).status).toBe(200);
    expect((await served.json('PUT', url, data, key)).status).toBe(200);
  });
});
