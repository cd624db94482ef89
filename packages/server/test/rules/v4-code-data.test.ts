/** What code of v4 projects writes, in whose transaction, and what it is told of faults. */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { busy, issue, Refusal } from '../../src/errors.js';
import { allowing, type CodeProject, coreFile, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { type MailServer, newMailServer } from '../world/mail-server.js';
import { codeRunner } from '../world/running.js';

/** Routes that run any text as code: of `run` what it throws is in the answer, of `raw` it is thrown. */
const running = {
  'src/api/run/routes/run.js': `module.exports = { routes: ['run', 'raw'].map((it) => ({ method: 'POST', path: '/' + it, handler: 'run.' + it, config: { auth: false } })) };`,
  'src/api/run/controllers/run.js': `const AsyncFunction = (async () => undefined).constructor;
    const raw = async (ctx) => ({ result: (await new AsyncFunction('strapi', 'ctx', 'require', ctx.request.body.code)(strapi, ctx, require)) ?? null });
    module.exports = { raw, async run(ctx) {
      try { return await raw(ctx); } catch (error) { return { thrown: error.name + ': ' + error.message }; }
    } };`,
};

const note = 'api::note.note';

const product = 'api::product.product';
const page = 'api::page.page';
const good = 'api::good.good';
const thing = 'api::thing.thing';
const variant = 'shared.variant';
const file = 'plugin::upload.file';

const component = (name: string, attributes: object) => ({
  [`src/components/shared/${name}.json`]: JSON.stringify({
    collectionName: `components_shared_${name}s`,
    info: { displayName: name },
    attributes,
  }),
});

const files = {
  ...running,
  ...typeFile('product', {
    title: { type: 'string' },
    variants: { type: 'component', component: variant, repeatable: true },
    main: { type: 'component', component: variant },
  }),
  ...typeFile('good', { text: { type: 'string' } }),
  'src/api/good/routes/good.js': `module.exports = { routes: [{ method: 'POST', path: '/goods/undone', handler: 'good.undone', config: { auth: false } }] };`,
  ...coreFile(
    'Controller',
    'good',
    `({ strapi }) => ({ async undone(ctx) {
      let seen;
      await strapi.db.transaction(async ({ rollback }) => {
        const { data } = await super.create(ctx);
        seen = [typeof data.id === 'number', await strapi.entityService.count('${good}', { filters: { id: data.id } })];
        await rollback();
      });
      return seen;
    } })`,
  ),
  ...typeFile('thing', {
    name: { type: 'string' },
    count: { type: 'integer' },
    price: { type: 'decimal' },
    at: { type: 'datetime' },
    big: { type: 'biginteger' },
    facts: { type: 'json' },
    main: { type: 'component', component: variant },
    all: { type: 'component', component: variant, repeatable: true },
    note: { type: 'relation', relation: 'manyToOne', target: note },
    notes: { type: 'relation', relation: 'manyToMany', target: note },
  }),
  ...component('variant', {
    size: { type: 'string' },
    stock: { type: 'integer', min: 0 },
    big: { type: 'biginteger' },
    parts: { type: 'component', component: 'shared.part', repeatable: true },
  }),
  ...component('part', { name: { type: 'string' } }),
  'src/api/home/content-types/home/schema.json': JSON.stringify({
    kind: 'singleType',
    collectionName: 'homes',
    info: { singularName: 'home', pluralName: 'homes', displayName: 'Home' },
    options: {},
    attributes: { title: { type: 'string' } },
  }),
  ...coreFile('Router', 'home'),
  ...coreFile('Controller', 'home'),
  ...coreFile('Service', 'home', `() => ({ own() {} })`),
  'src/api/page/content-types/page/schema.json': JSON.stringify({
    kind: 'collectionType',
    collectionName: 'pages',
    info: { singularName: 'page', pluralName: 'pages', displayName: 'page' },
    options: { draftAndPublish: true },
    pluginOptions: { i18n: { localized: true } },
    attributes: {
      title: { type: 'string', pluginOptions: { i18n: { localized: true } } },
      colour: { type: 'string', pluginOptions: { i18n: { localized: false } } },
    },
  }),
  ...typeFile('note', { text: { type: 'string' }, slug: { type: 'string', unique: true } }),
  ...component('label', { text: { type: 'string', required: true } }),
  ...typeFile(
    'essay',
    {
      title: { type: 'string', required: true, minLength: 2 },
      labels: { type: 'component', component: 'shared.label', repeatable: true },
    },
    { draftAndPublish: true },
  ),
  'dovetail.config.json': JSON.stringify({ mail: { from: 'usual@site.example' }, users: { attemptsMax: 0 } }),
  'src/index.js': `module.exports = { async bootstrap({ strapi }) {
    ${allowing}
    await allow('public', ['${note}.create', 'plugin::users-permissions.auth.register']);
    await allow('authenticated', []);
    strapi.hooks = {};
    strapi.events = [];
    strapi.eventHub.on('entry.update', ({ uid }) => { strapi.events.push(uid); });
    for (const code of ['en', 'fr', 'de']) await strapi.plugin('i18n').service('locales').create({ code, name: code });
    const admins = strapi.db.query('admin::user');
    strapi.ann = (await admins.create({ data: { firstname: 'Ann', email: 'ann@site.example' } })).id;
    strapi.ben = (await admins.create({ data: { firstname: 'Ben', email: 'ben@site.example' } })).id;
    strapi.db.lifecycles.subscribe({ models: ['${note}'], afterCreate: (event) => strapi.hooks[event.result.text]?.(event) });
  } };`,
};

describe.each(dialects)('data of code on %s', (dialect) => {
  let smtp: MailServer;
  let served: CodeProject;
  beforeAll(async () => {
    smtp = await newMailServer();
    const env = { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(smtp.port), DATABASE_POOL_MAX: '4' };
    served = await serveCode(dialect, files, env);
  });
  afterAll(async () => {
    await served.close();
    smtp.server.close();
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });
  const { run, thrown } = codeRunner(() => served);
  const raw = (code: string) => served.json('POST', '/api/raw', { code });
  const errorIn = ({ body }: { readonly body: unknown }) => (body as { error: Record<string, unknown> }).error;

  it('hooks may ask their own server for what it reads, however many do so at once', async () => {
    const made = await run(`
      const url = 'http://127.0.0.1:' + strapi.server.httpServer.address().port + '/api/run';
      const code = \`return strapi.db.query('${note}').count()\`;
      const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) };
      strapi.hooks['asks'] = async () => {
        const { ok, status } = await fetch(url, asked);
        if (!ok) throw new Error(String(status));
      };
      const create = () => strapi.entityService.create('${note}', { data: { text: 'asks' } });
      const all = await Promise.allSettled(Array.from({ length: 12 }, create));
      await strapi.db.query('${note}').deleteMany({ where: { text: 'asks' } });
      return all.map((it) => it.reason ? it.reason.message : it.status)`);
    expect(made).toEqual(Array.from({ length: 12 }, () => 'fulfilled'));
  });

  describe('the rules of published entries', () => {
    const essay = 'api::essay.essay';
    const create = (data: string) =>
      `return (await strapi.entityService.create('${essay}', { data: ${data} })).publishedAt`;

    it.each([
      ['{}', 'title must be defined.'],
      [`{ title: 'x' }`, 'title must be at least 2 characters'],
      [`{ title: 'x', publishedAt: undefined }`, 'title must be at least 2 characters'],
      [`{ title: 'one', labels: [{}] }`, 'labels[0].text must be defined.'],
      [`{ publishedAt: new Date() }`, 'title must be defined.'],
    ])('hold for what the entity service creates: %s', async (data, message) => {
      expect(await thrown(create(data))).toBe(`ValidationError: ${message}`);
      expect(await run(`return strapi.db.query('${essay}').count()`)).toBe(0);
    });

    it('make no entry published: it is a draft without a word of it', async () => {
      expect(await run(create(`{ title: 'one', labels: [{ text: 'a' }] }`))).toBe(null);
      expect(await run(create(`{ title: 'two', publishedAt: '2024-01-01' }`))).toBe('2024-01-01T00:00:00.000Z');
    });

    it.each([`{ publishedAt: null }`, `{ title: 'x', labels: [{}], publishedAt: null }`])(
      'do not hold for a draft that is one by its data: %s',
      async (data) => {
        expect(await run(create(data))).toBe(null);
      },
    );

    it('do not hold for db.query', async () => {
      expect(await run(`return (await strapi.db.query('${essay}').create({ data: {} })).publishedAt`)).toBe(null);
    });

    it('hold for an update of what was published, even if that makes a draft of it', async () => {
      const update = (publishedAt: string, data: string) =>
        `const { id } = await strapi.entityService.create('${essay}', { data: { title: 'old', publishedAt: ${publishedAt} } });
         return (await strapi.entityService.update('${essay}', id, { data: ${data} })).title`;
      const tooShort = 'ValidationError: title must be at least 2 characters';
      expect(await thrown(update('new Date()', `{ title: 'x' }`))).toBe(tooShort);
      expect(await thrown(update('new Date()', `{ title: 'x', publishedAt: null }`))).toBe(tooShort);
      expect(await run(update('new Date()', `{ publishedAt: null }`))).toBe('old');
      expect(await run(update('null', `{ title: 'x', publishedAt: null }`))).toBe('x');
      expect(await run(update('null', `{ title: 'x' }`))).toBe('x');
    });
  });

  describe('faults', () => {
    it('a busy server is one for code and for clients, who hear when to come again', async () => {
      vi.spyOn(served.site.reader, 'read').mockImplementation(() => Promise.reject(busy(new Error('no connection'))));
      const answer = await raw(`return strapi.entityService.findMany('${note}')`);
      expect(answer.status).toBe(503);
      expect(answer.headers['retry-after']).toBeDefined();
      expect(errorIn(answer)['name']).toBe('ServiceUnavailableError');
      expect((await raw(`return strapi.db.query('${note}').findMany()`)).status).toBe(503);
      expect(await thrown(`return strapi.entityService.findMany('${note}')`)).toMatch(
        /^ServiceUnavailableError: .*busy/,
      );
      const code = `try { await strapi.entityService.findMany('${note}'); } catch (e) { const { HttpError, ApplicationError } = require('@strapi/utils').errors; return [e instanceof HttpError, e instanceof ApplicationError, e.status]; }`;
      expect(await run(code)).toEqual([true, false, 503]);
    });

    it('other refusals keep their statuses', async () => {
      const changed = new Refusal(issue('http.changed-meanwhile', []));
      vi.spyOn(served.site.reader, 'read').mockImplementation(() => Promise.reject(changed));
      const answer = await raw(`return strapi.entityService.findMany('${note}')`);
      expect([answer.status, errorIn(answer)['name']]).toEqual([412, 'PreconditionFailedError']);
      vi.restoreAllMocks();
      const invalid = await raw(`return strapi.entityService.create('${note}', { data: { text: 5 } })`);
      expect([invalid.status, errorIn(invalid)['name']]).toEqual([400, 'ValidationError']);
      const created = `strapi.entityService.create('${note}', { data: { slug: 'same' } })`;
      expect((await raw(`await ${created}; return ${created}`)).status).toBe(400);
    });

    it.each([
      [
        'another library with the names of Strapi',
        `class ValidationError extends Error { constructor(text, details) { super(text); this.name = 'ValidationError'; this.details = details; } }
         throw new ValidationError('no', [{ message: 'no', context: { value: 'a secret' } }])`,
      ],
      [
        'another library with an object as details',
        `throw Object.assign(new Error('no'), { name: 'ForbiddenError', details: { key: 'a secret' } })`,
      ],
      [
        'another library with a class of that name, and a list as details',
        `class ApplicationError extends Error {}
         throw Object.assign(new ApplicationError('no'), { name: 'ApplicationError', details: ['a secret'] })`,
      ],
    ])('what %s throws is a fault of the server, and stays there', async (_whose, code) => {
      const answer = await raw(code);
      expect(answer.status).toBe(500);
      expect(JSON.stringify(answer.body)).not.toContain('secret');
    });

    it('what another copy of @strapi/utils throws is for the client', async () => {
      const copy = `class ApplicationError extends Error { constructor(text, details = {}) { super(text); this.name = 'ApplicationError'; this.details = details; } }
        class ValidationError extends ApplicationError { constructor(text, details) { super(text, details); this.name = 'ValidationError'; } }
        class NotFoundError extends ApplicationError { constructor(text, details) { super(text, details); this.name = 'NotFoundError'; } }`;
      const answer = await raw(`${copy} throw new ValidationError('too short', { min: 3 })`);
      expect([answer.status, errorIn(answer)]).toEqual([
        400,
        { status: 400, name: 'ValidationError', message: 'too short', details: { min: 3 } },
      ]);
      expect((await raw(`${copy} throw new NotFoundError('not here')`)).status).toBe(404);
    });
  });

  describe('values that nothing can hold', () => {
    const values: readonly [data: string, fault: string][] = [
      ['{ count: NaN }', 'count cannot be stored: it is NaN'],
      ['{ price: -Infinity }', 'price cannot be stored: it is -Infinity'],
      [`{ at: new Date('x') }`, 'at cannot be stored: it is an invalid date'],
      ['{ at: { toJSON: () => null } }', 'at cannot be stored: it is an invalid date'],
      ['{ name: () => 1 }', 'name cannot be stored: it is a function'],
      ['{ main: { stock: NaN } }', 'main.stock cannot be stored: it is NaN'],
      ['{ main: NaN }', 'main cannot be stored: it is NaN'],
      [
        '{ all: [{ stock: 1 }, { parts: [{ name: Symbol() }] }] }',
        'all[1].parts[0].name cannot be stored: it is a symbol',
      ],
      ['{ count: 5n }', 'count cannot be stored: it is a BigInt'],
      ['{ main: { size: 5n } }', 'main.size cannot be stored: it is a BigInt'],
      ['{ facts: { all: [5n] } }', 'facts cannot be stored: it is JSON with a BigInt'],
      ['{ note: 5n }', 'note cannot be stored: it is a BigInt'],
      ['{ note: NaN }', 'note cannot be stored: it is NaN'],
      ['{ notes: { connect: [{ id: NaN }] } }', 'notes.connect[0].id cannot be stored: it is NaN'],
    ];
    it.each(values)('are refused with their place: %s', async (data, fault) => {
      const rows = `strapi.db.query('${thing}')`;
      const service = 'strapi.entityService';
      const made = `const { id } = await ${service}.create('${thing}', { data: { name: 'kept', count: 5 } });`;
      for (const call of [
        `${service}.create('${thing}', { data: ${data} })`,
        `${service}.update('${thing}', id, { data: ${data} })`,
      ])
        expect(await thrown(`${made} await ${call}`)).toBe(`ValidationError: ${fault}`);
      for (const call of [
        `create({ data: ${data} })`,
        `createMany({ data: [{ name: 'first' }, ${data}] })`,
        `update({ where: { id }, data: ${data} })`,
        `updateMany({ where: { id }, data: ${data} })`,
      ])
        expect(await thrown(`${made} await ${rows}.${call}`)).toBe(`Error: ${fault}`);
      const left = `const rows = await ${rows}.findMany(); return rows.filter((it) => it.name !== 'kept' || it.count !== 5)`;
      expect(await run(left)).toEqual([]);
    });

    it('are none where a BigInt is given for a biginteger', async () => {
      const big = '9007199254740993';
      expect(
        await run(`const rows = strapi.db.query('${thing}'), entities = strapi.entityService, data = { big: ${big}n };
          const found = [await entities.create('${thing}', { data }), await rows.create({ data })];
          const [{ id }] = found;
          found.push(await entities.update('${thing}', id, { data: { big: -5n } }), await rows.update({ where: { id }, data }));
          await rows.updateMany({ where: { id }, data: { big: 6n } });
          found.push(await rows.findOne({ where: { id } }));
          const { ids } = await rows.createMany({ data: [{ big: 7n, main: { big: 8n } }] });
          found.push(await rows.findOne({ where: { id: ids[0] } }));
          return [...found.map((it) => it.big), await rows.count({ where: { main: { big: 8n } } })]`),
      ).toEqual([big, big, '-5', big, '6', '7', 1]);
    });

    it('are null inside of JSON, as JSON has it, and no concern where they are no attribute', async () => {
      expect(
        await run(`const data = { facts: { ratio: NaN, at: new Date('x'), make() {} }, helper: () => 1, other: NaN };
          return [(await strapi.entityService.create('${thing}', { data })).facts, (await strapi.db.query('${thing}').create({ data })).facts]`),
      ).toEqual([
        { ratio: null, at: null },
        { ratio: null, at: null },
      ]);
    });
  });

  it('createMany stores relations and components', async () => {
    expect(
      await run(`const { id } = await strapi.entityService.create('${note}', { data: { text: 'of many' } });
        const rows = strapi.db.query('${thing}');
        const { ids } = await rows.createMany({ data: [{ note: id, notes: [id], all: [{ size: 'S' }] }] });
        const { note, notes, all } = await rows.findOne({ where: { id: ids[0] }, populate: true });
        return [note.id === id, notes.length, all.map((it) => it.size)]`),
    ).toEqual([true, 1, ['S']]);
  });

  it.each([
    ['', 'CreateMany expects data to be an array'],
    ['{ data: { text: 5 } }', 'CreateMany expects data to be an array'],
    ['{ data: [] }', 'Nothing to insert'],
  ])('createMany(%s) is refused in the words of v4', async (given, fault) => {
    expect(await thrown(`await strapi.db.query('${note}').createMany(${given})`)).toBe(`Error: ${fault}`);
  });

  describe('services in hooks', () => {
    const calls = {
      'locales of i18n': `strapi.plugin('i18n').service('locales').find()`,
      'the default locale': `strapi.plugin('i18n').service('locales').getDefaultLocale()`,
      'mails of users': `strapi.plugin('users-permissions').service('user').sendConfirmationEmail({ id: strapi.someone })`,
      'roles of users': `strapi.plugin('users-permissions').service('role').find()`,
      uploads: `strapi.plugin('upload').service('upload').upload({ data: {}, files: { path: strapi.somefile, name: 'a.txt', type: 'text/plain' } })`,
      'proposals of a uid': `strapi.service('plugin::content-manager.uid').findUniqueUID({ contentTypeUID: '${note}', field: 'slug', value: 'x' })`,
    };
    it.each(Object.entries(calls))('need no second connection: %s', async (_what, call) => {
      await run(`
        strapi.someone ??= (await strapi.plugin('users-permissions').service('user').add({ username: 'someone', email: 'someone@site.example', password: 'secret1' })).id;
        strapi.somefile ??= require('node:path').join(strapi.dirs.app.root, 'package.json');
        strapi.hooks.all = async () => { await new Promise((resolve) => setTimeout(resolve, 20)); await ${call}; };`);
      const posts = Array.from({ length: 24 }, () => served.json('POST', '/api/notes', { data: { text: 'all' } }));
      const statuses = (await Promise.all(posts)).map((it) => it.status);
      expect(new Set(statuses)).toEqual(new Set([200]));
    });

    it('a new locale is found where it was made, before anybody else sees it', async () => {
      expect(
        await run(`const codes = [];
          const locales = strapi.plugin('i18n').service('locales');
          const look = async () => codes.push((await locales.find()).map((it) => it.code).join());
          await strapi.db.transaction(async ({ rollback }) => {
            await locales.create({ code: 'eo', name: 'Esperanto' });
            await look();
            await rollback();
          });
          await look();
          return codes`),
      ).toEqual(['en,fr,de,eo', 'en,fr,de']);
    });

    const sent = () => smtp.heard.filter((it) => it.startsWith('RCPT')).length;
    const mail = `strapi.plugin('users-permissions').service('user').sendConfirmationEmail({ id })`;
    const someone = (name: string) =>
      `const { id } = await strapi.plugin('users-permissions').service('user').add({ username: '${name}', email: '${name}@site.example', password: 'secret1' });`;

    it('a mail to confirm an address leaves once its token is committed', async () => {
      const before = sent();
      expect(
        await run(`${someone('kept')} let wasSent; const { on } = strapi;
          await strapi.db.transaction(async () => { await ${mail}; await new Promise((resolve) => setTimeout(resolve, 100)); });
          return id`),
      ).toBeGreaterThan(0);
      await vi.waitFor(() => expect(sent()).toBe(before + 1), 20_000);
      await run(`${someone('alone')} await ${mail}`);
      expect(sent()).toBe(before + 2);
    });

    it('and not while the transaction is open, nor after it was undone', async () => {
      const before = sent();
      const asking = run(`${someone('undone')}
        strapi.go = null;
        await strapi.db.transaction(async ({ rollback }) => {
          await ${mail};
          await new Promise((resolve) => { strapi.go = resolve; });
          await rollback();
        })`);
      const { strapi } = globalThis as unknown as { strapi: { go: (() => void) | null } };
      await vi.waitFor(() => expect(strapi.go).toBeTypeOf('function'), 20_000);
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(sent()).toBe(before);
      strapi.go!();
      await asking;
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(sent()).toBe(before);
    });
  });

  describe('actions of the core', () => {
    it('that code calls in a transaction are a part of it', async () => {
      const data = { text: 'in a transaction' };
      const posts = Array.from({ length: 12 }, () => served.json('POST', '/api/goods/undone', { data }));
      expect((await Promise.all(posts)).map((it) => [it.status, it.body])).toEqual(posts.map(() => [200, [true, 1]]));
      expect(await run(`return strapi.db.query('${good}').count()`)).toBe(0);
    });
  });

  describe('what waits for the end of a transaction', () => {
    const outcome = (body: string) =>
      run(`const told = [];
        const tell = (name) => () => told.push(name);
        strapi.hooks.ending = async () => { await strapi.db.transaction(({ onCommit, onRollback }) => { onCommit(tell('committed')); onRollback(tell('undone')); }); };
        strapi.hooks.failing = async () => { await strapi.hooks.ending(); throw new Error('no'); };
        ${body}
        await new Promise((resolve) => setTimeout(resolve, 20));
        return told`);
    const create = (text: string, way = `strapi.entityService.create('${note}', `) =>
      `${way}{ data: { text: '${text}' } })`;

    it.each([`strapi.entityService.create('${note}', `, `strapi.db.query('${note}').create(`])(
      'hears that a part was undone which code goes on after: %s',
      async (way) => {
        expect(
          await outcome(`await strapi.db.transaction(async () => {
            await ${create('failing', way)}.catch(() => told.push('caught'));
            await ${create('ending', way)};
          });`),
        ).toEqual(['undone', 'caught', 'committed']);
      },
    );

    it('and in the order in which it asked', async () => {
      expect(
        await outcome(`await strapi.db.transaction(async ({ onCommit }) => {
          onCommit(tell('first'));
          await ${create('ending')};
          onCommit(tell('last'));
        });`),
      ).toEqual(['first', 'committed', 'last']);
    });
  });

  describe('creators', () => {
    const populate = `populate: ['createdBy', 'updatedBy']`;
    const shown = `const shown = async (id) => {
      const { createdBy, updatedBy } = await strapi.entityService.findOne('${note}', id, { ${populate} });
      return [createdBy, updatedBy].map((it) => it && it.firstname);
    };`;
    it.each([
      'strapi.ann',
      '{ id: strapi.ann }',
      '[strapi.ann]',
      '{ connect: [{ id: strapi.ann }] }',
      '{ set: strapi.ann }',
    ])('of the data are stored: %s', async (ann) => {
      expect(
        await run(`${shown}
            const data = { text: 'made', createdBy: ${ann}, updatedBy: strapi.ben };
            const made = await strapi.entityService.create('${note}', { data });
            const bare = await strapi.db.query('${note}').create({ data });
            await strapi.db.query('${note}').createMany({ data: [{ ...data, text: 'many' }] });
            const many = await strapi.db.query('${note}').findOne({ where: { text: 'many' } });
            const all = await Promise.all([made, bare, many].map((it) => shown(it.id)));
            await strapi.db.query('${note}').deleteMany({ where: { text: 'many' } });
            return all`),
      ).toEqual(Array.from({ length: 3 }, () => ['Ann', 'Ben']));
    });

    it('change with an update, by setCreatorFields too', async () => {
      expect(
        await run(`${shown}
          const { setCreatorFields } = require('@strapi/utils');
          const [ann, ben] = [strapi.ann, strapi.ben].map((id) => ({ id }));
          const seen = [];
          const { id } = await strapi.entityService.create('${note}', { data: setCreatorFields({ user: ann })({ text: 'one' }) });
          seen.push(await shown(id));
          await strapi.entityService.update('${note}', id, { data: setCreatorFields({ user: ben, isEdition: true })({ text: 'two' }) });
          seen.push(await shown(id));
          await strapi.db.query('${note}').update({ where: { id }, data: { createdBy: strapi.ben, updatedBy: null } });
          seen.push(await shown(id));
          await strapi.entityService.update('${note}', id, { data: { text: 'three' } });
          seen.push(await shown(id));
          return seen`),
      ).toEqual([
        ['Ann', 'Ann'],
        ['Ann', 'Ben'],
        ['Ben', null],
        ['Ben', null],
      ]);
    });

    it('are what hooks set, also for the request of a client, whose own have no effect', async () => {
      expect(
        await run(`strapi.setting = strapi.db.lifecycles.subscribe({ models: ['${note}'],
            beforeCreate({ params: { data } }) { if (data.text === 'by a hook') data.createdBy = strapi.ann; },
            beforeUpdate({ params: { data } }) { data.updatedBy = { id: strapi.ben }; } });
          return null`),
      ).toBe(null);
      const data = { text: 'by a hook', createdBy: 99, updatedBy: 99 };
      const { status, body } = await served.json('POST', '/api/notes', { data });
      expect(status).toBe(200);
      const { id } = (body as { data: { id: number } }).data;
      expect(
        await run(`${shown}
          const before = await shown(${id});
          await strapi.db.query('${note}').update({ where: { id: ${id} }, data: { text: 'x', updatedBy: strapi.ann } });
          strapi.setting();
          return [before, await shown(${id})]`),
      ).toEqual([
        ['Ann', null],
        ['Ann', 'Ben'],
      ]);
    });

    it('are administrators', async () => {
      const data = `{ data: { createdBy: 99999 } }`;
      expect(await thrown(`await strapi.entityService.create('${note}', ${data})`)).toMatch(
        /^ValidationError: .*admin::user.*createdBy 99999/,
      );
      expect(await thrown(`await strapi.db.query('${note}').create(${data})`)).toMatch(/^Error: .*createdBy 99999/);
      expect(await thrown(`await strapi.entityService.create('${note}', { data: { createdBy: 'x' } })`)).toMatch(
        /createdBy/,
      );
    });

    it('of a request are not those of its body', async () => {
      const data = { text: 'by a client', createdBy: 1, updatedBy: 1, createdAt: '2001-01-01T00:00:00.000Z' };
      expect((await served.json('POST', '/api/notes', { data })).status).toBe(200);
      expect(
        await run(`const it = await strapi.db.query('${note}').findOne({ where: { text: 'by a client' }, ${populate} });
          return [it.createdBy, it.updatedBy, it.createdAt < '2002']`),
      ).toEqual([null, null, false]);
    });
  });

  describe('rows', () => {
    const named = (name: string) => `const rows = strapi.db.query('${note}');
      await rows.createMany({ data: [1, 2, 3].map((it) => ({ text: '${name}' + it })) });
      const where = { text: { $startsWith: '${name}' } };`;

    it('are all of them where the limit is 0, and where many are changed or deleted', async () => {
      expect(
        await run(`${named('many')}
          const found = await rows.findMany({ where, limit: 0 });
          const shown = await strapi.entityService.findMany('${note}', { filters: where, limit: 0 });
          const changed = await rows.updateMany({ where, limit: 1, data: { text: 'many0' } });
          const gone = await rows.deleteMany({ where, limit: 1, offset: 1 });
          return [found.length, shown.length, changed.count, gone.count]`),
      ).toEqual([3, 3, 3, 3]);
    });

    it('are not grouped, which is said', async () => {
      expect(await thrown(`await strapi.db.query('${note}').findMany({ groupBy: 'text' })`)).toMatch(
        /^Error: groupBy of/,
      );
    });
  });

  it('a single type that code creates again keeps the entry that is served: what editors wrote stays', async () => {
    const uid = 'api::home.home';
    expect(
      await run(`
        const seed = async (title) => (await strapi.entityService.create('${uid}', { data: { title } })).title;
        const shown = async () => (await strapi.entityService.findMany('${uid}')).title;
        const first = [await seed('seeded'), await shown()];
        const entry = await strapi.entityService.findMany('${uid}');
        await strapi.entityService.update('${uid}', entry.id, { data: { title: 'of an editor' } });
        const again = [await seed('seeded'), await shown()];
        await strapi.service('${uid}').createOrUpdate({ data: { title: 'of the service' } });
        const count = await strapi.db.query('${uid}').count();
        await strapi.db.query('${uid}').deleteMany({});
        return [first, again, await shown().catch(() => null), count]`),
    ).toEqual([['seeded', 'seeded'], ['seeded', 'of an editor'], null, 2]);
  });

  describe('times', () => {
    const old = '2001-02-03T04:05:06.000Z';
    it('of an update: code sets when it was created, and the server when it was changed', async () => {
      const updates = [
        `strapi.db.query('${note}').update({ where: { id }, data })`,
        `strapi.entityService.update('${note}', id, { data })`,
        `(async () => { strapi.hooks.x = null; const off = strapi.db.lifecycles.subscribe({ models: ['${note}'], beforeUpdate({ params }) { params.data.text = 'heard'; } }); try { await strapi.entityService.update('${note}', id, { data }); } finally { off(); } })()`,
      ];
      for (const update of updates)
        expect(
          await run(`const { id } = await strapi.entityService.create('${note}', { data: { text: 'x' } });
            const data = { createdAt: '${old}', updatedAt: '${old}' };
            await ${update};
            const { createdAt, updatedAt } = await strapi.entityService.findOne('${note}', id);
            return [createdAt, updatedAt > '2020']`),
        ).toEqual([old, true]);
    });

    it('of many stay as they are', async () => {
      expect(
        await run(`const rows = strapi.db.query('${note}');
          const { id } = await rows.create({ data: { text: 'x', updatedAt: '${old}' } });
          await rows.updateMany({ where: { id }, data: { text: 'y' } });
          const { text, updatedAt } = await rows.findOne({ where: { id } });
          return [text, updatedAt]`),
      ).toEqual(['y', old]);
    });

    it('of many: code sets both', async () => {
      expect(
        await run(`const { id } = await strapi.entityService.create('${note}', { data: { text: 'x' } });
          await strapi.db.query('${note}').updateMany({ where: { id }, data: { createdAt: new Date('${old}'), updatedAt: '${old}' } });
          const { createdAt, updatedAt } = await strapi.entityService.findOne('${note}', id);
          return [createdAt, updatedAt]`),
      ).toEqual([old, old]);
    });
  });

  describe('ids', () => {
    it('that db.query gives are those of new entries, and the next ones follow', async () => {
      expect(
        await run(`const rows = strapi.db.query('${product}');
          const given = await rows.create({ data: { id: 5000, title: 'given', variants: [{ size: 'S' }] } });
          const next = await rows.create({ data: { title: 'next' } });
          await rows.createMany({ data: [{ id: 6000 }, { title: 'after' }] });
          const after = await rows.findOne({ where: { title: 'after' } });
          const shown = await strapi.entityService.findOne('${product}', 5000, { populate: ['variants'] });
          return [given.id, next.id > 5000, next.id < 6000, after.id > 6000, shown.variants.length]`),
      ).toEqual([5000, true, true, true, 1]);
    });

    it('that the entity service is given are those of new entries', async () => {
      const { strapi } = globalThis as unknown as {
        strapi: { entityService: { create(uid: string, params: object): Promise<{ readonly id: number }> } };
      };
      expect(await strapi.entityService.create(note, { data: { id: 8000, text: 'seed' } })).toMatchObject({ id: 8000 });
      expect(
        await run(`const made = await strapi.entityService.create('${note}', { data: { id: '8100', text: 'import' } });
          return [made.id, (await strapi.entityService.create('${note}', { data: { text: 'next' } })).id > 8100]`),
      ).toEqual([8100, true]);
      expect(await thrown(`await strapi.entityService.create('${note}', { data: { id: 8100 } })`)).toMatch(/unique/);
      expect(await thrown(`await strapi.entityService.create('${note}', { data: { id: 'x' } })`)).toMatch(
        /data\.id of api::note\.note is no id/,
      );
    });

    it.each(['{ data: ctx.request.body }', 'ctx.request.body', '{ data: { ...ctx.request.body.data } }'])(
      'that a client has put into a body have no effect, whoever passes it on: %s',
      async (params) => {
        const code = `return (await strapi.entityService.create('${note}', ${params})).id`;
        const { body } = await served.json('POST', '/api/run', { code, id: 2147483647, data: { id: 2147483647 } });
        expect((body as { readonly result: number }).result).toBeLessThan(9000);
      },
    );

    it('that are taken, or are none, are faults', async () => {
      await run(`await strapi.db.query('${note}').create({ data: { id: 7000 } })`);
      expect(await thrown(`await strapi.db.query('${note}').create({ data: { id: 7000 } })`)).toMatch(/unique/);
      expect(await thrown(`await strapi.db.query('${note}').create({ data: { id: 'x' } })`)).toMatch(
        /data\.id of api::note\.note is no id/,
      );
    });
  });

  describe('files', () => {
    it('attach to nothing by "related": code hears what to write instead', async () => {
      const data = `{ name: 'a', hash: 'a', mime: 'text/plain', size: 1, url: '/a', provider: 'local', related: [{ id: 1, __type: '${note}', __pivot: { field: 'cover' } }] }`;
      expect(await thrown(`await strapi.entityService.create('${file}', { data: ${data} })`)).toMatch(
        /"related" of plugin::upload\.file attaches files to nothing here: write the id of the file/,
      );
      await run(`strapi.afile = (await strapi.db.query('${file}').create({ data: { ...${data}, related: null } })).id`);
      expect(
        await thrown(`await strapi.db.query('${file}').update({ where: { id: strapi.afile }, data: { related: [] } })`),
      ).toMatch(/"related"/);
    });
  });

  describe('components by uid', () => {
    const made = `const made = await strapi.entityService.create('${product}', {
        data: { title: 'shirt', variants: [{ size: 'S', stock: 3, parts: [{ name: 'button' }] }, { size: 'M', stock: 5 }], main: { size: 'L', stock: 7 } },
        populate: ['variants', 'main'],
      });
      const [small, medium] = made.variants;
      const stocks = async () => {
        const { variants, main } = await strapi.entityService.findOne('${product}', made.id, { populate: ['variants', 'main'] });
        return [...variants.map((it) => it.stock), main && main.stock];
      };`;
    it('are updated', async () => {
      expect(
        await run(`${made}
          const changed = await strapi.db.query('${variant}').update({ where: { id: small.id }, data: { stock: small.stock - 1 } });
          await strapi.entityService.update('${variant}', medium.id, { data: { stock: 4, parts: [{ name: 'zip' }] } });
          const { count } = await strapi.db.query('${variant}').updateMany({ where: { id: made.main.id }, data: { stock: 1 } });
          const found = await strapi.db.query('${variant}').findOne({ where: { id: medium.id }, populate: ['parts'] });
          return [changed.stock, await stocks(), count, found.parts.map((it) => it.name)]`),
      ).toEqual([2, [2, 4, 1], 1, ['zip']]);
      expect(
        await thrown(`${made} await strapi.entityService.update('${variant}', small.id, { data: { stock: -1 } })`),
      ).toMatch(/^ValidationError: stock/);
      expect(await run(`return strapi.events.filter((it) => it === '${variant}').length`)).toBe(0);
    });

    it('are updated though a subscriber of every type sees times in their data', async () => {
      expect(
        await run(`${made}
          const seen = [];
          const off = strapi.db.lifecycles.subscribe(({ action, params, model }) => {
            if (model.uid !== '${variant}') return;
            seen.push(action);
            if (params.data) params.data.updatedAt = new Date(0);
          });
          try {
            await strapi.entityService.update('${variant}', small.id, { data: { stock: 1 } });
            await strapi.db.query('${variant}').update({ where: { id: medium.id }, data: { stock: 2 } });
            await strapi.db.query('${variant}').delete({ where: { id: made.main.id } });
          } finally { off(); }
          return [await stocks(), seen.filter((it) => /Update|Delete/.test(it))]`),
      ).toEqual([
        [1, 2, null],
        ['beforeUpdate', 'afterUpdate', 'beforeUpdate', 'afterUpdate', 'beforeDelete', 'afterDelete'],
      ]);
    });

    it('are deleted, with what they contain', async () => {
      expect(
        await run(`${made}
          const [part] = await strapi.db.query('shared.part').findMany({ orderBy: { id: 'desc' }, limit: 1 });
          const gone = await strapi.db.query('${variant}').delete({ where: { id: small.id } });
          const left = await stocks();
          await strapi.db.query('${variant}').deleteMany({ where: { id: made.main.id } });
          const parts = await strapi.db.query('shared.part').count({ where: { id: part.id } });
          return [gone.size, left, await stocks(), parts]`),
      ).toEqual(['S', [5, 7], [5, null], 0]);
    });

    it('are created alone, and become a part of what names them by their ids', async () => {
      expect(
        await run(`
          const [one, two] = [
            await strapi.entityService.create('${variant}', { data: { size: 'S', parts: [{ name: 'zip' }] } }),
            await strapi.db.query('${variant}').create({ data: { size: 'M', stock: 5 } }),
          ];
          const { ids: [three] } = await strapi.db.query('${variant}').createMany({ data: [{ size: 'L' }] });
          const populate = { variants: { populate: ['parts'] }, main: true };
          const made = await strapi.db.query('${product}').create({ data: { title: 'shirt', variants: [two.id, { id: one.id }], main: three }, populate });
          const again = await strapi.db.query('${product}').update({
            where: { id: made.id }, data: { variants: [{ id: one.id, __pivot: { field: 'variants' } }], main: null }, populate,
          });
          return [made, again].map((it) => [it.variants.map((part) => [part.size, ...part.parts.map(({ name }) => name)]), it.main && it.main.size])`),
      ).toEqual([
        [[['M'], ['S', 'zip']], 'L'],
        [[['S', 'zip']], null],
      ]);
    });

    it('are none where code or a hook says null', async () => {
      expect(
        await run(`
          const populate = { variants: true };
          const made = await strapi.db.query('${product}').create({ data: { title: 'shirt', variants: null }, populate });
          const one = await strapi.db.query('${variant}').create({ data: { size: 'S' } });
          const where = { id: made.id };
          const filled = await strapi.db.query('${product}').update({ where, data: { variants: [one.id] }, populate });
          const emptied = await strapi.db.query('${product}').update({ where, data: { variants: null }, populate });
          const off = strapi.db.lifecycles.subscribe({ models: ['${product}'], beforeUpdate({ params }) { params.data.variants = null; } });
          const data = { variants: [{ size: 'M' }] };
          const hooked = await strapi.entityService.update('${product}', made.id, { data, populate }).finally(() => off());
          return [made, filled, emptied, hooked].map((it) => it.variants.length)`),
      ).toEqual([0, 1, 0, 0]);
    });

    it('have one place: named twice they are refused', async () => {
      expect(
        await thrown(`const { id } = await strapi.db.query('${variant}').create({ data: { size: 'S' } });
          await strapi.db.query('${product}').create({ data: { title: 'shirt', variants: [id, id], main: id } })`),
      ).toMatch(/not related to the entity/);
    });

    it('that are those of another entry, or do not exist, are refused', async () => {
      for (const id of ['small.id', '99999'])
        for (const call of [
          `create({ data: { title: 'trousers', variants: [ID] } })`,
          `create({ data: { title: 'trousers', main: { id: ID } } })`,
          `update({ where: { id: other.id }, data: { variants: [{ id: ID }] } })`,
        ])
          expect(
            await thrown(`${made}
              const other = await strapi.db.query('${product}').create({ data: { title: 'hat' } });
              await strapi.db.query('${product}').${call.replace('ID', id)}`),
          ).toMatch(/not related to the entity|component/);
    });

    it('have no effect in updateMany, as relations', async () => {
      expect(
        await run(`${made}
          const { count } = await strapi.db.query('${product}').updateMany({ where: { id: made.id }, data: { title: 'T', variants: [], main: null } });
          return [count, await stocks()]`),
      ).toEqual([1, [3, 5, 7]]);
    });
  });

  describe('locales of an entry', () => {
    const linked = `const linked = async (id) => {
      const it = await strapi.entityService.findOne('${page}', id, { populate: ['localizations'] });
      return it.locale + ': ' + it.localizations.map(({ locale }) => locale).sort().join() + ' ' + it.colour;
    };`;
    it.each([
      (data: string) => `strapi.entityService.create('${page}', { data: ${data} })`,
      (data: string) => `strapi.db.query('${page}').create({ data: ${data} })`,
      (data: string) => `strapi.service('${page}').create({ data: ${data} })`,
    ])('are linked as the data of code says: %s', async (create) => {
      expect(
        await run(`${linked}
          const en = await ${create(`{ title: 'one', colour: 'red' }`)};
          const fr = await ${create(`{ title: 'un', locale: 'fr', localizations: [en.id] }`)};
          const de = await ${create(`{ title: 'eins', locale: 'de', colour: 'blue', localizations: [{ id: en.id }, { id: fr.id }] }`)};
          await strapi.db.query('${page}').update({ where: { id: en.id }, data: { localizations: [fr.id, de.id] } });
          return Promise.all([en, fr, de].map((it) => linked(it.id)))`),
      ).toEqual(['en: de,fr blue', 'fr: de,en blue', 'de: en,fr blue']);
    });

    it('are found by their ids, whichever is the default', async () => {
      expect(
        await run(`const { id } = await strapi.entityService.create('${page}', { data: { title: 'un', locale: 'fr' } });
          const found = await strapi.entityService.findOne('${page}', id);
          const changed = await strapi.entityService.update('${page}', id, { data: { title: 'deux' } });
          const loaded = await strapi.entityService.load('${page}', { id }, 'localizations');
          const gone = await strapi.entityService.delete('${page}', id);
          return [found.title, changed.title, loaded, gone.title, await strapi.entityService.findOne('${page}', id)]`),
      ).toEqual(['un', 'deux', [], 'deux', null]);
    });

    it('begin with another than the default', async () => {
      expect(
        await run(`${linked}
          const fr = await strapi.entityService.create('${page}', { data: { title: 'un', locale: 'fr' } });
          const en = await strapi.entityService.create('${page}', { data: { title: 'one', localizations: [fr.id], publishedAt: new Date() } });
          return [await linked(fr.id), await linked(en.id), en.publishedAt !== null]`),
      ).toEqual(['fr: en null', 'en: fr null', true]);
    });

    it('are not linked by an update, nor if they belong to others', async () => {
      const both = `const en = await strapi.entityService.create('${page}', { data: { title: 'one' } });
        const fr = await strapi.entityService.create('${page}', { data: { title: 'un', locale: 'fr' } });`;
      expect(
        await thrown(
          `${both} await strapi.entityService.update('${page}', en.id, { data: { localizations: [fr.id] } })`,
        ),
      ).toMatch(/cannot be changed by an update: create the other locale with the id of this entry, data: \{ locale/);
      const create = (data: string) => `${both} await strapi.entityService.create('${page}', { data: ${data} })`;
      expect(await thrown(create(`{ locale: 'de', localizations: [en.id, fr.id] }`))).toMatch(
        /are not the same entry in other locales: create each with the id of another/,
      );
      expect(await thrown(create(`{ locale: 'en', localizations: [en.id] }`))).toMatch(/locale is already used/);
      expect(await thrown(create(`{ locale: 'de', localizations: [99999] }`))).toMatch(/localizations 99999/);
    });

    it('are not those of a body of a client', async () => {
      expect(
        await run(`const en = await strapi.entityService.create('${page}', { data: { title: 'one' } });
          const { sanitize } = require('@strapi/utils');
          const data = { title: 'un', locale: 'fr', localizations: [en.id] };
          return sanitize.contentAPI.input(data, strapi.getModel('${page}'))`),
      ).toEqual({ title: 'un', locale: 'fr' });
    });
  });
});

// ---- what requests cannot write

const ticket = 'api::ticket.ticket';
const tickets = {
  ...running,
  ...typeFile('ticket', {
    title: { type: 'string' },
    state: { type: 'enumeration', enum: ['open', 'closed'], default: 'open', required: true, writable: false },
    paymentId: { type: 'string', writable: false },
    parts: { type: 'component', component: 'shared.fee', repeatable: true },
  }),
  ...component('fee', { sum: { type: 'integer' }, code: { type: 'string', default: 'none', writable: false } }),
  ...typeFile('plain', { title: { type: 'string' }, clicks: { type: 'integer', default: 0, writable: false } }),
  ...coreFile('Router', 'ticket', '{ config: { create: { auth: false }, update: { auth: false } } }'),
  ...coreFile('Router', 'plain', '{ config: { create: { auth: false } } }'),
  ...coreFile('Controller', 'plain'),
  ...coreFile(
    'Controller',
    'ticket',
    `({ strapi }) => ({ async update(ctx) {
      const data = await this.sanitizeInput({ ...ctx.request.body.data, id: 77 }, ctx);
      return { data: await strapi.db.query('${ticket}').update({ where: { id: ctx.params.id }, data }), given: Object.keys(data) };
    } })`,
  ),
  'src/api/ticket/content-types/ticket/lifecycles.js': `module.exports = {
    beforeCreate({ params: { data } }) {
      data.seen = { ...data };
      if (data.title === 'hooked') Object.assign(data, { paymentId: 'of the hook', parts: [{ sum: 1, code: 'hook' }] });
    },
  };`,
};

describe.each(dialects)('attributes that requests cannot write, on %s', (dialect) => {
  let served: CodeProject;
  beforeAll(async () => {
    served = await serveCode(dialect, tickets);
  });
  afterAll(() => served.close());
  const { run } = codeRunner(() => served);
  const stored = (id: number): Promise<unknown> =>
    run(`return strapi.entityService.findOne('${ticket}', ${id}, { populate: { parts: true } })`);
  const ofClient = { state: 'closed', paymentId: 'of the client', id: 50, parts: [{ sum: 2, code: 'client' }] };

  it('have their defaults, whatever a client says', async () => {
    expect((await served.json('POST', '/api/plains', { data: { title: 'a', clicks: 5 } })).body).toMatchObject({
      data: { attributes: { clicks: 0 } },
    });
    expect((await served.json('POST', '/api/tickets', { data: { title: 'a', ...ofClient } })).status).toBe(200);
    expect(await stored(1)).toMatchObject({ state: 'open', paymentId: null, parts: [{ sum: 2, code: 'none' }] });
  });

  it('are written by hooks', async () => {
    expect((await served.json('POST', '/api/tickets', { data: { ...ofClient, title: 'hooked' } })).status).toBe(200);
    expect(await stored(2)).toMatchObject({
      state: 'open',
      paymentId: 'of the hook',
      parts: [{ sum: 1, code: 'hook' }],
    });
  });

  it.each([
    `strapi.entityService.update('${ticket}', 1, { data })`,
    `strapi.db.query('${ticket}').update({ where: { id: 1 }, data })`,
  ])('are written by code: %s', async (update) => {
    const state = update.includes('entityService') ? 'closed' : 'open';
    await run(
      `const data = { state: '${state}', paymentId: '${state}', parts: [{ sum: 3, code: '${state}' }] }; await ${update}`,
    );
    expect(await stored(1)).toMatchObject({ state, paymentId: state, parts: [{ sum: 3, code: state }] });
  });

  it('are taken out by sanitizeInput, and so is the id', async () => {
    const { body } = await served.json('PUT', '/api/tickets/1', { data: { title: 'b', ...ofClient } });
    expect(body).toMatchObject({ data: { id: 1, title: 'b', paymentId: 'open' }, given: ['title', 'parts'] });
  });
});
