/** What code of v4 projects finds beside its entries: folders, files from memory, utilities of types, administrators, middlewares by place. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { allowing, type CodeProject, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { codeRunner, runningController } from '../world/running.js';

/** A route that runs any text as code: `return strapi.io`. What it throws is in the answer. */
const running = {
  'src/api/run/routes/run.js': `module.exports = { routes: [
    { method: 'POST', path: '/run', handler: 'run.run', config: { auth: false } },
    { method: 'GET', path: '/marked', handler: 'run.run', config: { auth: false, middlewares: [{ resolve: './src/lib/mark', config: { as: 'seen' } }] } },
  ] };`,
  'src/lib/mark.js': `module.exports = ({ as }, { strapi }) => async (ctx) => { ctx.body = [as, typeof strapi.query]; };`,
  'src/api/run/controllers/run.js': runningController,
};

/** As projects seed the first administrator. */
const seeding = (where: string): string => `if (!(await strapi.db.query('admin::user').count())) {
    ${where}
    await strapi.service('admin::user').create({
      email: 'Mia@Example.org', firstname: 'Mia', lastname: 'Moss', password: 'Passw0rd!', isActive: true, roles: [role.id],
    });
  }`;

const files = {
  ...running,
  ...typeFile(
    'book',
    {
      title: { type: 'string' },
      code: { type: 'string', private: true },
      pages: { type: 'integer' },
      cover: { type: 'media' },
      author: { type: 'relation', relation: 'oneToOne', target: 'api::author.author' },
    },
    { draftAndPublish: true },
  ),
  ...typeFile('author', { name: { type: 'string' } }),
  ...typeFile('album', {
    cover: { type: 'media', writable: false },
    card: { type: 'component', component: 'parts.card' },
    closed: { type: 'component', component: 'parts.card', writable: false },
  }),
  'src/components/parts/card.json': JSON.stringify({
    collectionName: 'components_parts_cards',
    info: { displayName: 'Card' },
    attributes: { picture: { type: 'media', writable: false }, photo: { type: 'media' } },
  }),
  'config/server.js': `module.exports = { app: { keys: ['a key of cookies'] } };`,
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    strapi.server.app.proxy = true;
    strapi.server.app.proxy = true;
    ${seeding(`const role = await strapi.query('admin::role').findOne({ where: { code: 'strapi-super-admin' } });`)}
  } };`,
};

describe.each(dialects)('what code finds beside its entries on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, files);
  });
  afterAll(() => served.close());
  const { run, thrown } = codeRunner(() => served);

  describe('errors of @strapi/utils', () => {
    const { stringify } = JSON;
    it('are in JSON, and in copies, what they say', async () => {
      const code = `const { ApplicationError } = require('@strapi/utils').errors;
        class Own extends ApplicationError { constructor(message) { super(message, { own: true }); this.name = 'Own'; } }
        const all = [new ApplicationError('said', { d: 1 }), new Own('said, too')];
        return [...all, ...all.map((it) => ({ ...it })), ...all.map((it) => String(it))]`;
      const [one, own] = [
        { name: 'ApplicationError', details: { d: 1 }, message: 'said' },
        { name: 'Own', details: { own: true }, message: 'said, too' },
      ];
      expect(await run(code)).toEqual([one, own, one, own, 'ApplicationError: said', 'Own: said, too']);
    });

    it('of the server show clients nothing else where code answers with them', async () => {
      const create = `strapi.entityService.create('api::book.book', { data: { title: { a: 1 } } })`;
      const found = await run(`try { await ${create} } catch (e) { return [e, e.status, e.stack.split('\\n')[0]] }`);
      expect(found).toEqual([
        { name: 'ValidationError', message: expect.any(String), details: { errors: [expect.any(Object)] } },
        400,
        expect.stringContaining('title'),
      ]);
      expect(stringify(found)).not.toContain('cause');
    });
  });

  describe('@strapi/utils', () => {
    const utils = `const { contentTypes, yup, pagination, validate, sanitize, ...utils } = require('@strapi/utils');
      const book = strapi.getModel('api::book.book');`;

    it('tells what attributes of a type are', async () => {
      expect(
        await run(`${utils} return [
          contentTypes.getScalarAttributes(book).filter((it) => ['title', 'code', 'pages', 'cover', 'author'].includes(it)),
          contentTypes.isScalarAttribute(book.attributes.title), contentTypes.isMediaAttribute(book.attributes.cover),
          contentTypes.isRelationalAttribute(book.attributes.author), contentTypes.isComponentAttribute({ type: 'dynamiczone' }),
          contentTypes.isDynamicZoneAttribute({ type: 'component' }), contentTypes.isTypedAttribute(book.attributes.pages, 'integer'),
          contentTypes.isRelationalAttribute(undefined),
        ]`),
      ).toEqual([['title', 'code', 'pages'], true, true, true, true, false, true, false]);
    });

    it('tells which of them are private, visible and writable', async () => {
      const own = `(names) => names.filter((it) => !['createdBy', 'updatedBy', 'locale', 'localizations'].includes(it)).sort()`;
      expect(
        await run(`${utils} const own = ${own}; return [
          own(contentTypes.getPrivateAttributes(book)), contentTypes.isPrivateAttribute(book, 'code'),
          contentTypes.isPrivateAttribute(book, 'title'),
          own(contentTypes.getVisibleAttributes(book)), own(contentTypes.getNonVisibleAttributes(book)),
          contentTypes.isVisibleAttribute(book, 'code'), contentTypes.isVisibleAttribute(book, 'createdAt'),
          own(contentTypes.getWritableAttributes(book)), own(contentTypes.getNonWritableAttributes(book)),
        ]`),
      ).toEqual([
        ...[['code'], true, false, ['author', 'code', 'cover', 'pages', 'title']],
        ...[['createdAt', 'id', 'publishedAt', 'updatedAt'], true, false],
        ...[
          ['author', 'code', 'cover', 'pages', 'publishedAt', 'title'],
          ['createdAt', 'id', 'updatedAt'],
        ],
      ]);
      expect(
        await run(`${utils} return [contentTypes.hasDraftAndPublish(book), contentTypes.isCollectionType(book),
          contentTypes.isSingleType(book), contentTypes.isDraft({ publishedAt: null }, book), contentTypes.constants.CREATED_BY_ATTRIBUTE]`),
      ).toEqual([true, true, false, true, 'createdBy']);
    });

    it.each([
      [`utils.convertQueryParams.transformParamsToQuery('x', {})`, 'convertQueryParams.transformParamsToQuery'],
      [`utils.policy.get('global::x')`, 'policy.get'],
      [`sanitize.sanitizers.defaultSanitizeOutput({})`, 'sanitize.sanitizers'],
      [`sanitize.contentAPI.other({})`, 'sanitize.contentAPI.other'],
      [`validate.validators.x()`, 'validate.validators'],
      [`validate.contentAPI.input({})`, 'validate.contentAPI.input'],
      [`pagination.other()`, 'pagination.other'],
    ])('names what is not here: %s', async (code, name) => {
      expect(await thrown(`${utils} return ${code}`)).toContain(`require('@strapi/utils').${name} is not available`);
    });

    it('lets code ask first for what v4 has not either', async () => {
      expect(
        await run(`${utils} return [typeof contentTypes.other, typeof utils.other, typeof utils.policy.other]`),
      ).toEqual(Array(3).fill('undefined'));
    });

    it('tells what a type says of itself', async () => {
      expect(
        await run(`${utils} const { getOptions, getCreatorFields, isKind, getContentTypeRoutePrefix, isMorphToRelationalAttribute: isMorph } = contentTypes; return [
          getOptions(book).draftAndPublish, getOptions({}), getCreatorFields({ attributes: { createdBy: {}, x: {} } }), isKind('singleType')(book),
          getContentTypeRoutePrefix({ kind: 'singleType', info: { singularName: 'a b', pluralName: 'as' } }),
          getContentTypeRoutePrefix({ kind: 'collectionType', info: { singularName: 'a', pluralName: 'FooBars' } }),
          ['morphToOne', 'morphToMany', 'morphOne', 'oneToOne'].map((relation) => isMorph({ type: 'relation', relation })),
        ]`),
      ).toEqual([
        true,
        { draftAndPublish: false },
        ['createdBy'],
        false,
        'a-b',
        'foo-bars',
        [true, true, false, false],
      ]);
    });

    // each value was recorded from v4
    it.each<readonly [string, unknown]>([
      [
        `[['a', '/b'], ['a//', '//b/', '/c/'], ['', 'b'], ['/', '/'], ['/a/', '/']].map((it) => utils.joinBy('/', ...it))`,
        ['a/b', 'a/b/c/', '/b', '/', '/a/'],
      ],
      [`['fooBar', 'Émile 12x', 'v2Api'].map(utils.toKebabCase)`, ['foo-bar', 'emile-12-x', 'v-2-api']],
      [`['fooBar', 'Émile 12x', 'v2Api'].map(utils.nameToCollectionName)`, ['foo_bar', 'emile_12x', 'v2_api']],
      [`['fooBar BAZ', 'Émile 12x', 'x.y'].map(utils.toRegressedEnumValue)`, ['fooBar_BAZ', 'Emile_12x', 'x_y']],
      [`['1a', '-1a', 9, ''].map(utils.startsWithANumber)`, [true, false, true, false]],
      [
        `[utils.getCommonBeginning('abc', 'abd'), utils.getCommonBeginning(), utils.getCommonBeginning('x', 'y')]`,
        ['ab', '', ''],
      ],
      [
        `[utils.escapeQuery('a%b_c', '%_'), utils.escapeQuery('a.b', '.', '!'), utils.escapeQuery('x', '')]`,
        ['a\\%b\\_c', 'a!.b', 'x'],
      ],
      [
        `['$eq', '$and', '$jsonSupersetOf', '$nope', 'eq', '$EQ'].map((it) => utils.isOperator(it))`,
        [true, true, true, false, false, false],
      ],
      [
        `['$eq', '$contains', '$not', '$or'].map((it) => ['where', 'group', 'cast'].filter((of) => utils.isOperatorOfType(of, it)).join())`,
        ['where,cast', 'where', 'where,cast', 'group'],
      ],
      [`[utils.isOperatorOfType('where', '$EQ', true), utils.isOperatorOfType('x', '$eq')]`, [true, false]],
      [
        `['oneToOne', 'oneToMany', 'manyToOne', 'manyToMany', 'morphOne'].map((relation) => ['isOneToAny', 'isManyToAny', 'isAnyToOne', 'isAnyToMany'].map((it) => Number(utils.relations[it]({ type: 'relation', relation }))).join(''))`,
        ['1010', '1001', '0110', '0101', '0000'],
      ],
      [
        `utils.relations.getRelationalFields(book).includes('author') && !utils.relations.getRelationalFields(book).includes('cover')`,
        true,
      ],
      [
        `[0, 999, 1023, 1536, 123456789, 1e12].map(utils.file.bytesToHumanReadable)`,
        ['0 Bytes', '999 Bytes', '1 KB', '2 KB', '123 MB', '1 TB'],
      ],
      [`[utils.file.bytesToKbytes(1536), utils.file.bytesToKbytes(1), utils.file.kbytesToBytes(2)]`, [1.54, 0, 2000]],
      [
        `await (async () => { const { Readable } = require('node:stream'); const of = () => Readable.from([Buffer.from('abc'), Buffer.from('de')]);
        return [await utils.file.getStreamSize(of()), String(await utils.file.streamToBuffer(of()))]; })()`,
        [5, 'abcde'],
      ],
      [
        `await Promise.all(['Series', 'Parallel', 'Bail', 'SeriesWaterfall'].map((kind) => {
        const hook = utils.hooks['createAsync' + kind + 'Hook'](); const one = (it) => it + 1;
        hook.register(async () => undefined).register(one).register(async (it) => it * 10).delete(() => 0);
        if (kind === 'SeriesWaterfall') hook.delete(hook.getHandlers()[0]);
        return hook.call(1); }).map((it) => it.then((got) => got ?? 'none')))`,
        ['none', [null, 2, 10], 2, 20],
      ],
      [`utils.webhook.webhookEvents.ENTRY_UNPUBLISH`, 'entry.unpublish'],
      [
        `(() => { const made = utils.policy.createPolicyContext('koa', { a: 1 }); return [made.is('koa'), made.is('admin'), made.type, made.a]; })()`,
        [true, false, 'koa', 1],
      ],
      [
        `await yup.object({ a: yup.string().required() }).validate({}).catch((fault) => { try { utils.handleYupError(fault, 'no'); } catch (it) { return [it.name, it.message, it.details.errors[0].path]; } })`,
        ['ValidationError', 'no', ['a']],
      ],
    ])('helps with %s', async (code, value) => {
      expect(await run(`${utils} return ${code}`)).toEqual(value);
    });

    it('goes through an entry and what is populated in it', async () => {
      expect(
        await run(`${utils} const seen = [];
          const data = { id: 1, title: 'a', unknown: 2, cover: { name: 'f' }, author: { id: 2, name: 'b', more: 1 } };
          const changed = await utils.traverseEntity(({ key, value, schema, attribute, path }, { set, remove }) => {
            seen.push(schema.uid + ' ' + path.attribute + ' ' + attribute.type);
            if (key === 'title') remove(key);
            if (key === 'name') set(key, value.toUpperCase());
          }, { schema: book }, data);
          const later = utils.traverseEntity(({ key }, { remove }) => remove(key), { schema: book });
          return { seen, changed, data, later: await later({ title: 'x', unknown: 1 }), none: await utils.traverseEntity(() => 0, { schema: book }, null) }`),
      ).toEqual({
        seen: [
          'api::book.book title string',
          ...['api::book.book cover media', 'plugin::upload.file cover.name string'],
          ...['api::book.book author relation', 'api::author.author author.name string'],
        ],
        changed: { id: 1, unknown: 2, cover: { name: 'F' }, author: { id: 2, name: 'B', more: 1 } },
        data: { id: 1, title: 'a', unknown: 2, cover: { name: 'f' }, author: { id: 2, name: 'b', more: 1 } },
        later: { unknown: 1 },
        none: null,
      });
    });

    it('checks ids', async () => {
      const check = `const check = (id) => yup.object({ id: yup.strapiID().required() }).isValid({ id }, { strict: true });`;
      expect(
        await run(`${utils} ${check} return Promise.all([3, 'three', 1.5, {}, undefined, null, -1].map(check))`),
      ).toEqual([true, true, false, false, false, false, false]);
    });

    it('works on lists, one after the other or so many at a time', async () => {
      expect(
        await run(`${utils} const seen = []; let now = 0; let most = 0;
          const work = async (it) => { most = Math.max(most, ++now); await new Promise((done) => setTimeout(done, 5)); now--; seen.push(it); };
          await utils.forEachAsync([1, 2, 3, 4], work, { concurrency: 2 });
          return [
            await utils.reduceAsync([1, Promise.resolve(2), 3])(async (sum, it, i) => sum + it * i, 10), seen.length, most,
            utils.removeUndefined({ a: 1, b: undefined, c: null }),
          ]`),
      ).toEqual([18, 4, 2, { a: 1, c: null }]);
    });

    it('reads pages', async () => {
      expect(
        await run(`${utils} const of = pagination.withDefaultPagination; return [
          of({ sort: 'x' }), of({ page: '3', pageSize: '20' }), of({ start: 5, limit: 500 }, { maxLimit: 100 }),
          of({ limit: -1 }), of({ limit: -1 }, { maxLimit: 50 }), of({ page: 0, pageSize: 0 }),
          of({}, { defaults: { offset: { limit: 7 } } }),
        ]`),
      ).toEqual([
        { sort: 'x', start: 0, limit: 10 },
        { start: 40, limit: 20 },
        { start: 5, limit: 100 },
        { start: 0, limit: -1 },
        { start: 0, limit: 50 },
        { start: 0, limit: 1 },
        { start: 0, limit: 7 },
      ]);
      expect(await thrown(`${utils} pagination.withDefaultPagination({ page: 1, start: 1 })`)).toMatch(
        /^PaginationError/,
      );
    });

    it('checks queries, where it would sanitize them', async () => {
      expect(
        await run(
          `${utils} return (await validate.contentAPI.query({ filters: { title: 'x' }, own: 1 }, book)) ?? null`,
        ),
      ).toBeNull();
      expect(await thrown(`${utils} await validate.contentAPI.query({ filters: { code: 'x' } }, book)`)).toMatch(
        /^ValidationError/,
      );
    });
  });

  it('the folders of the project, as v4 names them', async () => {
    const below = (at: string): string => path.join(fs.realpathSync(served.dir), at);
    expect(
      await run(`const { app, dist, static: { public: own } } = strapi.dirs;
        return [app.root, dist.root, app.components, dist.api, app.extensions, dist.policies, app.middlewares, dist.config, dist.src, own]
          .map((it) => require('fs').realpathSync(strapi.dirs.app.root) + it.slice(strapi.dirs.app.root.length))`),
    ).toEqual([
      ...[
        below(''),
        below(''),
        below('src/components'),
        below('src/api'),
        below('src/extensions'),
        below('src/policies'),
      ].map((it) => it.replace(/\/$/, '')),
      ...[below('src/middlewares'), below('config'), below('src'), below('public')],
    ]);
    expect(await thrown(`return strapi.dirs.app.other`)).toContain('strapi.dirs.app.other is not available');
  });

  describe('files that code has in memory', () => {
    const upload = `const service = strapi.plugin('upload').service('upload'); const { Readable } = require('stream');`;
    const contentOf = `const contentOf = ({ url }) => require('fs').readFileSync(strapi.dirs.static.public + url, 'utf8');`;
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-staged-'));
    const staged = (): readonly string[] => fs.readdirSync(root).filter((it) => it.startsWith('dovetail-files-'));
    // other servers stage files in the folder of the system
    beforeAll(() => {
      vi.stubEnv('TMPDIR', root);
    });
    afterAll(() => {
      vi.unstubAllEnvs();
      fs.rmSync(root, { recursive: true, force: true });
    });

    it.each([
      [`buffer: Buffer.from('hello')`],
      [`stream: Readable.from([Buffer.from('hel'), Buffer.from('lo')])`],
      [`getStream: () => Readable.from([Buffer.from('hello')])`],
    ])('are stored: %s', async (content) => {
      expect(
        await run(`${upload} ${contentOf}
          const [file] = await service.upload({ data: { fileInfo: { caption: 'c' } }, files: { name: 'a.txt', type: 'text/plain', size: 5, ${content} } });
          return [file.name, file.caption, file.mime, file.folderPath, contentOf(file)]`),
      ).toEqual(['a.txt', 'c', 'text/plain', '/', 'hello']);
      expect(staged()).toEqual([]);
      await vi.waitFor(() => expect(served.leftovers()).toEqual([]), 20_000);
    });

    it('leave nothing behind when they fail', async () => {
      expect(
        await thrown(`${upload} const stream = new Readable({ read() { this.destroy(new Error('broken')); } });
          await service.upload({ data: {}, files: [{ name: 'a.txt', buffer: Buffer.from('x') }, { name: 'b.txt', stream }] })`),
      ).toBe('Error: broken');
      expect(await thrown(`${upload} await service.upload({ files: { name: 'a.txt', size: 5 } })`)).toContain(
        'path, buffer, stream',
      );
      expect(
        await run(`return strapi.query('plugin::upload.file').count({ where: { name: 'a.txt', caption: null } })`),
      ).toBe(0);
      expect(staged()).toEqual([]);
    });

    it('need no fileInfo, each or some of them', async () => {
      expect(
        await run(`${upload}
          const files = ['a', 'b'].map((it) => ({ name: it + '.txt', buffer: Buffer.from(it) }));
          const captions = [];
          for (const fileInfo of [undefined, {}, 'text', [{ caption: 'c' }], [null, { caption: 'c' }], [{}, {}, { caption: 'c' }]])
            captions.push((await service.upload({ data: { fileInfo }, files })).map((it) => it.caption));
          return captions`),
      ).toEqual([
        [null, null],
        [null, null],
        [null, null],
        ['c', null],
        [null, 'c'],
        [null, null],
      ]);
    });

    describe('are in the folder that fileInfo says', () => {
      const folders = `${upload}
        const one = () => ({ name: 'a.txt', type: 'text/plain', buffer: Buffer.from('x') });
        const placeOf = async ({ id }) => {
          const { folder, folderPath } = await strapi.query('plugin::upload.file').findOne({ where: { id }, populate: ['folder'] });
          return [folder?.name ?? null, folderPath];
        };
        const [found] = await strapi.entityService.findMany('plugin::upload.folder', { filters: { name: 'Reports' } });
        const reports = found ?? (await strapi.entityService.create('plugin::upload.folder', { data: { name: 'Reports', pathId: 70, path: '/70' } }));`;
      const reports = ['Reports', '/70'];
      const top = [null, '/'];

      it('and at the top without one; those of entries are in that of API uploads', async () => {
        expect(
          await run(`${folders}
            const book = await strapi.entityService.create('api::book.book', { data: { title: 'x' } });
            const infos = [undefined, { folder: null }, { folder: reports.id }, { folder: String(reports.id) }];
            const places = [];
            for (const fileInfo of infos) places.push(await placeOf((await service.upload({ data: { fileInfo }, files: one() }))[0]));
            const mixed = await service.upload({ data: { fileInfo: [{}, { folder: reports.id }] }, files: [one(), one()] });
            for (const it of mixed) places.push(await placeOf(it));
            const [ofEntry] = await service.uploadToEntity({ id: book.id, model: 'api::book.book', field: 'cover' }, one());
            return [...places, await placeOf(ofEntry)]`),
        ).toEqual([top, top, reports, reports, top, reports, ['API Uploads', expect.stringMatching(/^\/\d+$/)]]);
      });

      it('in the steps of v4, and where it is changed', async () => {
        expect(
          await run(`${folders}
            const described = async (folder) => (({ folder, folderPath }) => [folder, folderPath])(await service.formatFileInfo({ filename: 'a.txt' }, { folder }));
            const entity = await service.enhanceAndValidateFile({ ...one(), size: 1 }, { folder: reports.id });
            const stored = await service.uploadFileAndPersist(entity);
            const places = [await placeOf(stored)];
            for (const folder of [undefined, null, reports.id]) {
              await service.updateFileInfo(stored.id, { caption: 'c', folder });
              places.push(await placeOf(stored));
            }
            return [...places, (await described(reports.id))[1], await described(undefined)]`),
        ).toEqual([reports, reports, top, reports, '/70', top]);
      });

      it('and refused if there is none', async () => {
        expect(
          await thrown(`${folders} await service.upload({ data: { fileInfo: { folder: 999 } }, files: one() })`),
        ).toContain('there is no folder 999');
        expect(await thrown(`${folders} await service.formatFileInfo({ filename: 'a.txt' }, { folder: 999 })`)).toBe(
          'NotFoundError: there is no folder 999',
        );
        expect(
          await thrown(`${folders} await service.upload({ data: { fileInfo: { folder: {} } }, files: one() })`),
        ).toContain('fileInfo.folder');
      });
    });

    it('in the steps of v4: described, completed, stored', async () => {
      expect(
        await run(`${upload} ${contentOf}
          const book = await strapi.entityService.create('api::book.book', { data: { title: 'x' } });
          const entity = await service.enhanceAndValidateFile(
            { name: 'b.txt', type: 'text/plain', size: 2500, buffer: Buffer.from('hello') }, { caption: 'c' },
            { ref: 'api::book.book', refId: book.id, field: 'cover' },
          );
          const plain = await service.formatFileInfo({ filename: 'Über.png', type: 'image/png', size: 1000 });
          const stored = await service.uploadFileAndPersist({ ...entity, alternativeText: 'alt' });
          const { cover } = await strapi.entityService.findOne('api::book.book', book.id, { populate: ['cover'] });
          return [
            entity.size, entity.ext, /^b_[0-9a-f]{10}$/.test(entity.hash), [plain.name, plain.ext, plain.mime, plain.size],
            [stored.name, stored.caption, stored.alternativeText, contentOf(stored)], cover.id === stored.id,
          ]`),
      ).toEqual([2.5, '.txt', true, ['Über.png', '.png', 'image/png', 1], ['b.txt', 'c', 'alt', 'hello'], true]);
    });

    it('BO4: are attached to what requests cannot write', async () => {
      const [names, closed] = (await run(`${upload}
        const file = (name) => ({ name, type: 'text/plain', size: 5, buffer: Buffer.from('hello') });
        const lent = strapi.dirs.app.root + '/lent.txt';
        require('fs').writeFileSync(lent, 'hello');
        const uid = 'api::album.album';
        const populate = { cover: true, card: { populate: '*' }, closed: { populate: '*' } };
        const files = { 'card.picture': { name: 'a.txt', type: 'text/plain', size: 5, path: lent } };
        const { id, card, closed } = await strapi.entityService.create(uid, { data: { card: {}, closed: {} }, files, populate });
        const places = [[uid, id, 'cover'], ['parts.card', closed.id, 'picture'], ['parts.card', closed.id, 'photo']];
        for (const [ref, refId, field] of places) await service.upload({ data: { ref, refId, field }, files: file(field) });
        const album = await strapi.entityService.findOne(uid, id, { populate });
        const { cover, closed: { picture, photo } } = album;
        return [[card.picture, cover, picture, photo].map((it) => it?.name), closed.id]`)) as [unknown, number];
      expect(names).toEqual(['a.txt', 'cover', 'picture', 'photo']);
      const place = { ref: 'parts.card', refId: String(closed), field: 'photo' };
      await run(`${allowing} await allow('public', ['plugin::upload.content-api.upload', 'api::album.album.update']);`);
      const count = (): Promise<unknown> => run(`return strapi.query('plugin::upload.file').count()`);
      const before = await count();
      expect(await served.form('POST', '/api/upload', { ...place, files: ['b.txt', 'text/plain', 'b'] })).toMatchObject(
        {
          status: 400,
          body: { error: { message: 'refId: is in a component that cannot be written' } },
        },
      );
      expect(await count()).toBe(before);
    });

    it('by the provider, without a row', async () => {
      expect(
        await run(`${upload} ${contentOf} const { provider } = strapi.plugin('upload');
          const file = { hash: 'report_1', ext: '.txt', mime: 'text/plain', buffer: Buffer.from('hello') };
          await provider.upload(file);
          const seen = [file.url, contentOf(file)];
          await provider.delete(file);
          return [...seen, require('fs').existsSync(strapi.dirs.static.public + file.url)]`),
      ).toEqual(['/uploads/report_1.txt', 'hello', false]);
      expect(
        await thrown(
          `await strapi.plugin('upload').provider.upload({ hash: '../x', ext: '.txt', buffer: Buffer.from('') })`,
        ),
      ).toContain('takes a file with hash and ext');
      expect(await thrown(`strapi.plugin('upload').provider.other()`)).toContain('provider.other is not available');
    });

    it('are returned when they are removed', async () => {
      expect(
        await run(`${upload} const [file] = await service.upload({ files: { name: 'gone.txt', buffer: Buffer.from('x') } });
          return [(await service.remove(file)).name, await strapi.query('plugin::upload.file').count({ where: { id: file.id } })]`),
      ).toEqual(['gone.txt', 0]);
    });
  });

  describe('administrators', () => {
    it('that bootstrap makes on a new database, who can sign in', async () => {
      const { status } = await served.json('POST', '/admin/login', { email: 'mia@example.org', password: 'Passw0rd!' });
      expect(status).toBe(200);
      expect(
        await run(`const [user] = await strapi.query('admin::user').findMany({ populate: ['roles'] });
          return [user.email, user.firstname, user.isActive, user.roles.map((it) => it.code)]`),
      ).toEqual(['mia@example.org', 'Mia', true, ['strapi-super-admin']]);
    });

    it('by the services of v4', async () => {
      expect(
        await run(`const { user, role, auth } = strapi.admin.services;
          const { id, code } = await role.getSuperAdmin();
          const editor = await strapi.service('admin::role').findOne({ code: 'strapi-editor' });
          const made = await user.create({ email: 'ed@example.org', password: 'Passw0rd!', isActive: true, roles: [editor] });
          const hash = await auth.hashPassword('Passw0rd!');
          return [
            code, id > 0, made.email, made.roles.map((it) => it.code), await user.exists({ email: 'ed@example.org' }), await user.exists({ email: 'x' }),
            (await user.findOne(made.id)).roles.length, await auth.validatePassword('Passw0rd!', hash), await auth.validatePassword('Passw0rd!', made.password),
          ]`),
      ).toEqual(['strapi-super-admin', true, 'ed@example.org', ['strapi-editor'], true, false, 1, true, true]);
    });

    it('whose address is taken, or whose password is too short, are refused', async () => {
      const create = (given: string): string => `await strapi.admin.services.user.create(${given})`;
      expect(await thrown(create(`{ email: 'MIA@example.org', password: 'Passw0rd!' }`))).toContain('mail');
      expect(await thrown(create(`{ email: 'nobody', password: 'Passw0rd!' }`))).toMatch(/^ValidationError/);
      expect(await thrown(create(`{ email: 'short@example.org', password: 'x' }`))).toMatch(/^ValidationError/);
      expect(await thrown(`await strapi.admin.services.auth.hashPassword('x')`)).toMatch(/^ValidationError/);
      expect(await run(`return strapi.admin.services.user.exists({ email: 'short@example.org' })`)).toBe(false);
    });
  });

  it('middlewares of routes that are named by a place', async () => {
    expect((await served.json('GET', '/api/marked')).body).toEqual(['seen', 'function']);
    const fault = serveCode(dialect, {
      ...running,
      'src/lib/mark.js': '',
      'src/api/run/routes/run.js': `module.exports = { routes: [{ method: 'GET', path: '/x', handler: 'run.run', config: { middlewares: [{ resolve: './src/none' }] } }] };`,
    });
    await expect(fault).rejects.toThrow('the route GET /x: there is no middleware "./src/none"');
  });

  it('transactions that say what they have not', async () => {
    expect(await run(`return strapi.db.transaction(async ({ trx }) => (trx ? 'truthy' : 'falsy'))`)).toBe('truthy');
    expect(await thrown(`await strapi.db.transaction(async ({ trx }) => trx('books').insert({}))`)).toContain(
      'trx of strapi.db.transaction is not available',
    );
    expect(await thrown(`await strapi.db.transaction(async ({ trx }) => trx.raw('select 1'))`)).toContain(
      'trx of strapi.db.transaction.raw is not available',
    );
    expect(await thrown(`await strapi.db.transaction()`)).toContain('give it a function');
  });

  it("Koa's application, as far as it is here: listeners, keys, and what is missing by its name", async () => {
    expect(await run(`const { app } = strapi.server; return [app.on('error', () => {}) === app, app.keys]`)).toEqual([
      true,
      ['a key of cookies'],
    ]);
    expect(await thrown(`strapi.server.app.context.isOwn = true`)).toContain(
      'strapi.server.app.context is not available',
    );
  });

  it('one warning where a proxy is trusted in code', () => {
    expect(served.logged.filter((it) => it.includes('strapi.server.app.proxy')).length).toBe(1);
  });
});

describe('a bootstrap that seeds an administrator', () => {
  it.each([
    [`const role = await strapi.service('admin::role').getSuperAdmin();`],
    [`const role = await strapi.admin.services.role.findOne({ code: 'strapi-super-admin' });`],
    [`const role = await strapi.db.query('admin::role').findOne({ where: { code: 'strapi-super-admin' } });`],
  ])('finds the role: %s', async (where) => {
    const served = await serveCode('sqlite', {
      ...running,
      'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${seeding(where)} } };`,
    });
    const { run } = codeRunner(() => served);
    expect(
      await run(`return [await strapi.query('admin::user').count(), await strapi.query('admin::role').count()]`),
    ).toEqual([1, 3]);
    await served.close();
  });
});

describe('TypeScript', () => {
  const typeScript = {
    'tsconfig.json': `{ "compilerOptions": { "outDir": "build/server" } }`,
    'data/seed.json': '{ "from": "seed" }',
    'src/api/place/routes/place.ts': `export default { routes: [{ method: 'GET', path: '/place', handler: 'place.show', config: { auth: false } }] };`,
    'src/api/place/services/helper.ts': `import fs from 'fs';
export const beside: string[] = fs.readdirSync(__dirname);`,
    'src/api/place/controllers/place.ts': `import fs from 'fs';
import path from 'path';
import { beside } from '../services/helper';
const seed = path.join(
  __dirname, '..', '..', '../../../..', 'data/seed.json',
);
export default { async show() {
  const { beside: again } = require(path.join(__dirname, '../services/helper'));
  return [JSON.parse(fs.readFileSync(seed, 'utf8')).from, __dirname, __filename, beside, again === beside, strapi.dirs.dist.src];
} };`,
  };

  it('takes itself to be below dist where it looks beside src, as v4 runs it; imports and folders are those of sources', async () => {
    const served = await serveCode('sqlite', typeScript);
    try {
      const { body } = await served.json('GET', '/api/place');
      expect(body).toEqual([
        'seed',
        expect.stringMatching(/\/build\/server\/src\/api\/place\/controllers$/),
        expect.stringMatching(/\/build\/server\/src\/api\/place\/controllers\/place\.js$/),
        ['helper.ts'],
        true,
        expect.stringMatching(/\/build\/server\/src$/),
      ]);
    } finally {
      await served.close();
    }
  });

  it('names the line of its source in faults', async () => {
    const fault = serveCode('sqlite', {
      ...typeScript,
      'src/api/place/services/helper.ts': `const at: string = __dirname + '/../../../../../..';\n\nthrow new Error('at ' + at);`,
    });
    await expect(fault).rejects.toThrow('src/api/place/services/helper.ts:3');
  });
});

describe('the index of an API', () => {
  const index = (
    name: string,
  ): string => `module.exports = Object.fromEntries(['register', 'bootstrap', 'destroy'].map((hook) => [hook, async function ({ strapi }) {
    await null;
    if (typeof this[hook] !== 'function') throw new Error('it is called without its module');
    (globalThis.calledIndexes ??= []).push(hook + ' of ${name}');
  }]));`;
  const called = (): readonly string[] => (globalThis as { calledIndexes?: readonly string[] }).calledIndexes ?? [];
  const guarded: Readonly<Record<string, string>> = {
    ...running,
    'src/api/run/index.js': index('run'),
    'src/api/acl/index.js': index('acl'),
    'src/index.js': index('src'),
    'src/lib/guard.js': `module.exports = (strapi) => strapi.server.use((ctx, next) => (ctx.get('x-key') === '' ? ctx.forbidden() : next()));`,
    'src/api/guard/index.ts': `import guard = require('../../lib/guard'); export default { register: ({ strapi }: { strapi: object }) => guard(strapi) };`,
  };

  it('runs, after plugins and before src/index, and what it adds to the server guards every request', async () => {
    (globalThis as { calledIndexes?: readonly string[] }).calledIndexes = undefined as never;
    const served = await serveCode('sqlite', guarded);
    const marked = async (headers = {}): Promise<number> =>
      (await served.json('GET', '/api/marked', undefined, headers)).status;
    expect([await marked(), await marked({ 'x-key': 'one' })]).toEqual([403, 200]);
    await served.close();
    expect(called()).toEqual(
      ['register', 'bootstrap', 'destroy'].flatMap((hook) => ['acl', 'run', 'src'].map((name) => `${hook} of ${name}`)),
    );
  });

  it('stops the start where it fails, by its name', async () => {
    const fails = `module.exports = {
      bootstrap() { throw new Error('no rules'); } };`;
    await expect(serveCode('sqlite', { 'src/api/acl/index.js': fails })).rejects.toThrow(
      'src/api/acl/index.js:2: bootstrap failed: no rules',
    );
    await expect(serveCode('sqlite', { 'src/api/acl/index.js': 'module.exports = 7;' })).rejects.toThrow(
      'src/api/acl/index.js: export an object',
    );
  });

  it('is one of the files that ignoreCode leaves out', async () => {
    const served = await serveCode('sqlite', {
      ...guarded,
      'dovetail.config.json': JSON.stringify({ project: { ignoreCode: ['src/api/guard/index.ts'] } }),
    });
    expect((await served.json('GET', '/api/marked')).status).toBe(200);
    await served.close();
  });
});
