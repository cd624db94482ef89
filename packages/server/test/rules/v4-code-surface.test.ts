/** What project code finds on `strapi` beside entries: names, log, configuration, services, transactions, `@strapi/utils`. */
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { newCodeLog } from '../../src/v4code/log.js';
import { allowing, type CodeProject, serveCode, typeFile } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { type MailServer, newMailServer } from '../world/mail-server.js';
import { codeRunner, runningController } from '../world/running.js';

/** A route that runs any text as code: `return strapi.io`. What it throws is in the answer. */
const running = {
  'src/api/run/routes/run.js': `module.exports = { routes: [{ method: 'POST', path: '/run', handler: 'run.run', config: { auth: false } }] };`,
  'src/api/run/controllers/run.js': runningController,
};

const files = {
  ...running,
  ...typeFile('book', { title: { type: 'string' }, slug: { type: 'uid', targetField: 'title' } }),
  'package.json': JSON.stringify({ name: 'shop', version: '2.1.0', dependencies: { '@strapi/strapi': '^4.25.3' } }),
  'dovetail.config.json': JSON.stringify({
    mail: { from: 'usual@site.example' },
    server: { url: 'https://site.example/cms/' },
    users: { jwtDays: 7 },
  }),
  'config/admin.js': `module.exports = { url: '/panel' };`,
  'config/plugins.js': `module.exports = { upload: { config: { sizeLimit: 1234, breakpoints: { small: 100 } } } };`,
  'src/index.js': `module.exports = {
    register({ strapi }) {
      strapi.customFields.register({ name: 'stars', type: 'integer' });
      strapi.started = ['register'];
    },
    async bootstrap({ strapi }) {
      strapi.started.push('bootstrap');
      strapi.db.lifecycles.subscribe({ models: ['api::book.book'], async afterCreate({ result }) {
        if (!/^(?:kept|refused)$/.test(result.title)) return;
        await strapi.db.transaction(async ({ onCommit, onRollback }) => {
          onCommit(() => strapi.ended.push('committed'));
          onRollback(() => strapi.ended.push('undone'));
        });
        strapi.ended = ['worked'];
        if (result.title === 'refused') throw new Error('refused');
      } });
      ${allowing}
      await allow('public', ['register', 'emailConfirmation'].map((it) => 'plugin::users-permissions.auth.' + it));
      const { conditionProvider, actionProvider } = strapi.admin.services.permission;
      await conditionProvider.register({ name: 'is-own' });
      await conditionProvider.registerMany([{ name: 'is-new' }]);
      await actionProvider.registerMany([]);
    },
  };`,
};

describe.each(dialects)('what code finds on %s', (dialect) => {
  let smtp: MailServer;
  let served: CodeProject;
  beforeAll(async () => {
    smtp = await newMailServer();
    served = await serveCode(dialect, files, { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(smtp.port) });
  });
  afterAll(async () => {
    await served.close();
    smtp.server.close();
  });
  const { answerOf, run, thrown } = codeRunner(() => served);

  describe('names on strapi', () => {
    it('that are not of v4 are undefined until code sets them', async () => {
      expect(await run(`return [strapi.io === undefined, strapi.redis?.client === undefined, 'io' in strapi]`)).toEqual(
        [true, true, false],
      );
      expect(await run(`strapi.cache ||= {}; strapi.cache.hits = 3; return strapi.cache`)).toEqual({ hits: 3 });
      expect(await run(`return [strapi.cache, strapi.started]`)).toEqual([{ hits: 3 }, ['register', 'bootstrap']]);
    });

    it.each([
      'container',
      'fs',
      'auth',
      'contentAPI',
      'entityValidator',
      'hooks',
      'webhookRunner',
      'stop',
      'sanitizers',
    ])('that are of v4 and not here say so: %s', async (name) => {
      expect(await thrown(`return strapi.${name}`)).toMatch(`strapi.${name} is not available`);
    });
  });

  it.each([
    ...['connection', 'createQueryBuilder', 'dialect', 'getConnection', 'getSchemaConnection', 'queryBuilder'].map(
      (name) =>
        [
          `return strapi.db.${name}`,
          `strapi.db.${name} is not available: use strapi.db.query or strapi.entityService, or a program of your own for raw SQL`,
        ] as const,
    ),
    ...['providers-registry', 'providers'].map(
      (name) =>
        [
          `return strapi.plugin('users-permissions').service('${name}').register('own', {})`,
          `strapi.plugin('users-permissions').service('${name}').register is not available: login providers are not supported. Users log in by e-mail and password, or send a JWT that is signed with JWT_SECRET`,
        ] as const,
    ),
    ...['strapi.container', 'strapi.db.metadata', `strapi.plugin('upload').service('folder').create`].map(
      (what) =>
        [
          `return ${what}${what.includes('plugin') ? '()' : ''}`,
          `${what} is not available: this server runs the code of Strapi 4 projects, but not all of Strapi: see docs/project-code.md#what-does-not-run`,
        ] as const,
    ),
  ])('what is not here says what to do instead: %s', async (code, said) => {
    expect(await thrown(code)).toContain(said);
  });

  it('methods of db.query that are not here say so', async () => {
    expect(await thrown(`return strapi.db.query('plugin::users-permissions.user').clone(1)`)).toMatch(
      "strapi.db.query('plugin::users-permissions.user').clone is not available",
    );
  });

  describe('strapi.log', () => {
    const logged = async (code: string): Promise<Record<string, unknown>> => {
      served.logged.length = 0;
      await run(code);
      expect(served.logged).toHaveLength(1);
      return JSON.parse(served.logged[0]!) as Record<string, unknown>;
    };

    it('has what follows the text: an error, objects, texts', async () => {
      expect(await logged(`strapi.log.error('Failed to send email:', new TypeError('no'))`)).toMatchObject({
        level: 50,
        msg: 'Failed to send email:',
        err: { type: 'TypeError', message: 'no', stack: expect.stringContaining('TypeError: no') },
      });
      expect(await logged(`strapi.log.warn('order', { id: 3 })`)).toMatchObject({ msg: 'order', data: { id: 3 } });
      expect(await logged(`strapi.log.warn('order', 3, 'of', { by: 'mia' }, [1])`)).toMatchObject({
        msg: 'order 3 of',
        data: [{ by: 'mia' }, [1]],
      });
      expect(await logged(`strapi.log.warn('%s of %j at 100%%', 'mia', { id: 3 }, 'now')`)).toMatchObject({
        msg: 'mia of {"id":3} at 100% now',
      });
    });

    it('takes errors and objects alone, as before', async () => {
      expect(await logged(`strapi.log.log('error', 'by %s', 'winston')`)).toMatchObject({ msg: 'by winston' });
      expect(await logged(`strapi.log.log({ level: 'error', message: 'as one', id: 3 })`)).toMatchObject({
        msg: 'as one',
        data: { id: 3 },
      });
      expect(await logged(`strapi.log.error(new Error('no'))`)).toMatchObject({ msg: 'no', err: { message: 'no' } });
      expect(await logged(`strapi.log.warn({ id: 3 }, 'order')`)).toMatchObject({ id: 3, msg: 'order' });
    });

    it('has the levels of winston', () => {
      const lines: string[] = [];
      const log = newCodeLog(pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }));
      log.http('a');
      log.verbose('b');
      log.silly('c');
      log.child({ part: 'x' }).info('d', { id: 1 });
      expect(lines.map((it) => JSON.parse(it))).toMatchObject([
        { level: 30, msg: 'a' },
        { level: 20, msg: 'b' },
        { level: 10, msg: 'c' },
        { level: 30, msg: 'd', part: 'x', data: { id: 1 } },
      ]);
    });
  });

  it('is told of settings that no file of config says: those in force', async () => {
    const names = [
      ...['plugin.users-permissions.jwtSecret', 'plugin.users-permissions.jwt', 'server.url', 'server.absoluteUrl'],
      ...['admin.url', 'admin.absoluteUrl', 'server.dirs.public', 'plugin.upload.provider', 'plugin.upload.sizeLimit'],
      ...['plugin.upload.breakpoints', 'plugin.email.provider', 'plugin.email.settings.defaultFrom', 'info.name'],
      ...['info.version', 'info.strapi', 'environment', 'server.admin', 'server.cron'],
    ];
    expect(await run(`return ${JSON.stringify(names)}.map((it) => strapi.config.get(it))`)).toEqual([
      ...['a-secret-that-is-long-enough-for-tests', { expiresIn: '7d' }],
      ...['https://site.example/cms', 'https://site.example/cms'],
      ...['https://site.example/cms/panel', 'https://site.example/cms/panel', './public', 'local', 1234],
      ...[{ small: 100 }, 'nodemailer', 'usual@site.example', 'shop', '2.1.0', '4.25.3', 'test'],
      ...[{ autoOpen: false }, { enabled: false }],
    ]);
    expect(await run(`return strapi.plugin('users-permissions').config('jwtSecret')`)).toBe(
      'a-secret-that-is-long-enough-for-tests',
    );
    expect(await run(`return strapi.plugin('email').service('email').getProviderSettings()`)).toMatchObject({
      provider: 'nodemailer',
      settings: { defaultFrom: 'usual@site.example' },
    });
  });

  describe('services', () => {
    it('of roles', async () => {
      const role = `strapi.plugin('users-permissions').service('role')`;
      const tree = (names: readonly string[]) => ({
        'api::book': { controllers: { book: Object.fromEntries(names.map((it) => [it, { enabled: true }])) } },
      });
      expect(await run(`return (await ${role}.find()).map((it) => [it.type, it.nb_users])`)).toEqual([['public', 0]]);
      const given = { name: 'Éditeur en chef', description: 'x', permissions: tree(['find', 'update']) };
      await run(`await ${role}.createRole(${JSON.stringify(given)})`);
      const enabled = `const role = await ${role}.findOne(2);
        return [role.type, Object.entries(role.permissions['api::book'].controllers.book).filter(([, it]) => it.enabled).map(([name]) => name)]`;
      expect(await run(enabled)).toEqual(['editeur_en_chef', ['find', 'update']]);
      await run(
        `await ${role}.updateRole(2, { name: 'Chief', permissions: ${JSON.stringify(tree(['find', 'delete']))} })`,
      );
      expect(await run(enabled)).toEqual(['editeur_en_chef', ['find', 'delete']]);
      expect(await run(`return (await ${role}.getRoles()).map((it) => it.name)`)).toContain('Chief');
      expect(await thrown(`return ${role}.getRole(99)`)).toBe('NotFoundError: Role not found');
    });

    it('of users: a mail with a link that confirms, also inside a transaction', async () => {
      smtp.heard.length = 0;
      await run(`const users = strapi.plugin('users-permissions').service('user');
        await strapi.db.transaction(async () => {
          const user = await users.add({ username: 'mia', email: 'mia@example.org', password: 'Passw0rd!', confirmed: false });
          await users.sendConfirmationEmail(user);
        })`);
      // it leaves once the transaction is over
      await vi.waitFor(() => expect(smtp.heard).toContain('.'), 20_000);
      const text = smtp.heard.join('\n').replaceAll(/=\n/g, '').replaceAll('=3D', '=');
      expect(text).toContain('RCPT TO:<mia@example.org>');
      const [, token = ''] = /confirmation=([0-9a-f]{40})/.exec(text) ?? [];
      const confirmed = await served.json('GET', `/api/auth/email-confirmation?confirmation=${token}`);
      expect(confirmed.status).toBe(302);
      expect(
        await thrown(`await strapi.plugin('users-permissions').service('user').sendConfirmationEmail({ id: 99 })`),
      ).toBe('NotFoundError: User not found');
    });

    it('of users: removed by conditions, never without any', async () => {
      const users = `const users = strapi.plugin('users-permissions').service('user');
        const names = async () => (await strapi.query('plugin::users-permissions.user').findMany({ orderBy: 'id' })).map((it) => it.username);`;
      const before = await run(
        `${users} for (const username of ['ann', 'ben', 'cid', 'dan']) await users.add({ username, email: username + '@example.org', provider: 'local' });
        return names()`,
      );
      for (const given of [
        '',
        '{}',
        'null',
        '5',
        '[]',
        '{ $and: [] }',
        '{ role: {} }',
        '{ id: undefined }',
        '{ id: NaN }',
      ])
        expect([given, await thrown(`${users} await users.remove(${given})`)]).toEqual([given, expect.any(String)]);
      expect(await thrown(`${users} await users.remove({ nope: 'x' })`)).toContain('nope');
      expect(await thrown(`${users} await users.remove()`)).toContain('takes conditions, such as { id }');
      expect(await run(`${users} return names()`)).toEqual(before);
      expect(
        await run(`${users}
          const removed = [await users.remove({ email: 'ben@example.org' }), await users.remove({ username: { $in: ['cid'] } })];
          removed.push(await users.remove({ id: String((await users.fetchAll({ filters: { username: 'dan' } }))[0].id) }));
          return [removed.map((it) => it.username), await users.remove({ email: 'ben@example.org' }), await names()]`),
      ).toEqual([['ben', 'cid', 'dan'], null, [...(before as readonly string[]).slice(0, -3)]]);
    });

    it('of users: counted by conditions, read and changed by ids', async () => {
      const users = `const users = strapi.plugin('users-permissions').service('user');`;
      expect(
        await run(`${users} const { id } = await users.add({ username: 'eva', email: 'eva@example.org', provider: 'local' });
          const changed = await users.edit(String(id), { email: 'eva@example.com' });
          return [changed.email, (await users.fetch(id)).username, await users.count({ email: 'eva@example.com' }), await users.fetch(null)]`),
      ).toEqual(['eva@example.com', 'eva', 1, null]);
      expect(await thrown(`${users} await users.count({ nope: 'x' })`)).toContain('nope');
      for (const given of ['{ id: 1 }', 'undefined', 'NaN', '[1]'])
        for (const method of ['edit', 'fetch'])
          expect(await thrown(`${users} await users.${method}(${given}, {})`)).toContain(
            `${method} takes the id of a user`,
          );
    });

    it('of tokens: one that is not valid is said in the words of v4', async () => {
      const jwt = `const jwt = strapi.plugin('users-permissions').service('jwt');`;
      expect(await run(`${jwt} return (await jwt.verify(jwt.issue({ id: 7 }))).id`)).toBe(7);
      for (const token of [`'x'`, 'undefined', `jwt.issue({ id: 7 }) + 'x'`, `jwt.issue({ id: 7 }, { expiresIn: -5 })`])
        expect(await thrown(`${jwt} await jwt.verify(${token})`)).toBe('Error: Invalid token.');
      const claims = `{ subject: 'reset', issuer: 'shop', audience: 'app', jwtid: 'j', algorithm: 'HS256' }`;
      expect(await run(`${jwt} return jwt.verify(jwt.issue({ id: 7 }, ${claims}))`)).toMatchObject({
        ...{ id: 7, sub: 'reset', iss: 'shop', aud: 'app', jti: 'j' },
      });
      expect(await thrown(`${jwt} jwt.issue({ id: 7 }, { notBefore: '1d' })`)).toContain(
        'the option "notBefore" of jwt.issue is not available',
      );
    });

    it('of roles: what is not here is named', async () => {
      const roles = `const roles = strapi.plugin('users-permissions').service('role');`;
      expect(await thrown(`${roles} await roles.deleteRole(1, 2)`)).toContain(
        "strapi.plugin('users-permissions').service('role').deleteRole is not available",
      );
    });

    it('by their uids on strapi.services and strapi.controllers', async () => {
      expect(
        await run(`const { services, controllers, middlewares } = strapi;
          const user = services['plugin::users-permissions.user'];
          return [
            user === strapi.plugin('users-permissions').service('user'),
            services['plugin::upload.upload'] === strapi.service('plugin::upload.upload'),
            services['admin::user'] === strapi.admin.services.user,
            controllers['plugin::users-permissions.auth'] === strapi.controller('plugin::users-permissions.auth'),
            controllers['api::run.run'] === strapi.controller('api::run.run'), typeof middlewares['plugin::users-permissions.rateLimit'],
            ['plugin::users-permissions.nope', 'plugin::nope.nope', 'admin::nope', 'api::run.nope', 'nope'].map((it) => services[it] === undefined && controllers[it] === undefined),
            Object.keys(services).filter((it) => it.endsWith('s.user') || it.startsWith('admin::')), 'plugin::i18n.locales' in services,
          ]`),
      ).toEqual([
        ...[true, true, true, true, true, 'function'],
        [true, true, true, true, true],
        ['plugin::users-permissions.user'],
        true,
      ]);
    });

    it.each([
      ['strapi::core-store', 'use strapi.store('],
      ['strapi::webhook', 'dovetail webhook'],
      ['webhook', 'dovetail webhook'],
      ['api::nope.nope', 'Model api::nope.nope not found'],
    ])('say what to use instead of the model %s', async (uid, said) => {
      expect(await thrown(`strapi.db.query('${uid}')`)).toContain(said);
      expect(await thrown(`await strapi.entityService.findMany('${uid}')`)).toContain(said);
    });

    it('of templates', async () => {
      expect(
        await run(
          `return strapi.plugin('users-permissions').service('users-permissions').template('<%= USER.name %> <%= URL %> <%= 1 %>', { USER: { name: 'Mia' }, URL: '/x' })`,
        ),
      ).toBe('Mia /x <%= 1 %>');
    });

    it('of uids', async () => {
      const uid = `strapi.plugin('content-manager').service('uid')`;
      const made = (data: object) =>
        run(
          `return ${uid}.generateUIDField({ contentTypeUID: 'api::book.book', field: 'slug', data: ${JSON.stringify(data)} })`,
        );
      expect(await made({ title: 'Über Bücher & so' })).toBe('ueber-buecher-and-so');
      expect(await made({})).toBe('book');
      const available = `return strapi.plugins['content-manager'].services.uid.checkUIDAvailability({ contentTypeUID: 'api::book.book', field: 'slug', value: 'dune' })`;
      expect(await run(available)).toBe(true);
      await run(
        `for (const slug of ['dune', 'dune-1']) await strapi.entityService.create('api::book.book', { data: { slug } })`,
      );
      expect(await run(available)).toBe(false);
      expect(await made({ title: 'Dune' })).toBe('dune-2');
      expect(await run(`return strapi.service('plugin::content-manager.uid') !== undefined`)).toBe(true);
      expect(await run(`return Object.keys(strapi.plugins)`)).toEqual(['users-permissions', 'email', 'upload', 'i18n']);
    });

    it('of locales', async () => {
      const locales = `strapi.plugin('i18n').service('locales')`;
      await run(
        `await ${locales}.create({ code: 'de', name: 'German (de)' }); await ${locales}.setDefaultLocale({ code: 'de' })`,
      );
      expect(await run(`return (await ${locales}.find()).map((it) => [it.code, it.isDefault])`)).toEqual([
        ['de', true],
      ]);
      expect(await run(`return strapi.store({ type: 'plugin', name: 'i18n' }).get({ key: 'default_locale' })`)).toBe(
        'de',
      );
    });

    it('of API tokens: one that is made is valid', async () => {
      const token = (await run(
        `const tokens = strapi.service('admin::api-token');
        return [await tokens.exists({ name: 'ci' }), await tokens.create({ name: 'ci', type: 'full-access', lifespan: null }), await tokens.exists({ name: 'ci' })]`,
      )) as readonly [boolean, { readonly accessKey: string; readonly name: string }, boolean];
      expect(token).toMatchObject([false, { name: 'ci', type: 'full-access', expiresAt: null }, true]);
      const { status } = await served.json('GET', '/api/books', undefined, {
        authorization: `Bearer ${token[1].accessKey}`,
      });
      expect(status).toBe(200);
    });

    it.each([
      [`strapi.plugin('upload').service('folder').create({})`, `strapi.plugin('upload').service('folder').create`],
      [`strapi.plugin('upload').service('upload').replace(1)`, `strapi.plugin('upload').service('upload').replace`],
      [
        `strapi.service('plugin::i18n.localizations').syncNonLocalizedAttributes()`,
        `strapi.plugin('i18n').service('localizations')`,
      ],
      [
        `strapi.plugin('content-manager').service('entity-manager').find()`,
        `strapi.plugin('content-manager').service('entity-manager').find`,
      ],
      [`strapi.plugin('upload').provider.checkFileSize({})`, `strapi.plugin('upload').provider.checkFileSize`],
      [`strapi.admin.services.user.register({})`, 'strapi.admin.services.user.register'],
      [`strapi.service('admin::role').assignPermissions()`, 'strapi.admin.services.role.assignPermissions'],
      [`strapi.admin.services.permission.engine.on()`, 'strapi.admin.services.permission.engine'],
    ])('that are not here name the call: %s', async (code, name) => {
      const said = await thrown(`await ${code}`);
      expect(said).toContain(`${name}`);
      expect(said).toContain('is not available');
    });

    it('of permissions of the admin panel take what they are given, and one warning says so', async () => {
      const { logged, close } = await serveCode(dialect, files);
      await close();
      expect(logged.filter((it) => it.includes('have no effect'))).toEqual([
        expect.stringContaining('strapi.admin: conditions and actions for the admin panel'),
      ]);
    });
  });

  describe('transactions', () => {
    const outcome = (body: string) =>
      run(`const told = [];
        const counts = () => strapi.db.query('api::book.book').count({ where: { title: 't' } });
        const before = await counts();
        const create = () => strapi.db.query('api::book.book').create({ data: { title: 't' } });
        const tell = (name) => () => told.push(name + (strapi.db.inTransaction() ? ' inside' : ''));
        let result;
        try { ${body} } catch (error) { result = error.message; }
        await new Promise((resolve) => setTimeout(resolve, 20));
        return { told, result, made: await counts() - before }`);

    it('call what waits for the commit', async () => {
      expect(
        await outcome(`result = await strapi.db.transaction(async ({ onCommit, onRollback }) => {
          onCommit(tell('committed')); onRollback(tell('undone'));
          await create();
          told.push('worked');
          return 5;
        })`),
      ).toEqual({ told: ['worked', 'committed'], result: 5, made: 1 });
    });

    it('call what waits for the end of one that is undone', async () => {
      expect(
        await outcome(`await strapi.db.transaction(async ({ onCommit, onRollback }) => {
          onCommit(tell('committed')); onRollback(tell('undone'));
          await create();
          throw new Error('no');
        })`),
      ).toEqual({ told: ['undone'], result: 'no', made: 0 });
      expect(
        await outcome(`result = await strapi.db.transaction(async ({ onCommit, onRollback, rollback }) => {
          onCommit(tell('committed')); onRollback(tell('undone'));
          await create();
          await rollback();
          return 'asked';
        })`),
      ).toEqual({ told: ['undone'], result: 'asked', made: 0 });
    });

    it('call those of a part once the whole is over', async () => {
      const part = `strapi.db.transaction(async (inner) => {
        inner.onCommit(tell('part committed')); inner.onRollback(tell('part undone'));
        await create();
      })`;
      expect(
        await outcome(`await strapi.db.transaction(async ({ onCommit }) => {
          await ${part};
          told.push('worked');
          onCommit(tell('committed'));
        })`),
      ).toEqual({ told: ['worked', 'part committed', 'committed'], made: 1 });
      expect(
        await outcome(`await strapi.db.transaction(async () => { await ${part}; throw new Error('no'); })`),
      ).toEqual({
        told: ['part undone'],
        result: 'no',
        made: 0,
      });
    });

    it.each([
      ['kept', ['worked', 'committed']],
      ['refused', ['worked', 'undone']],
    ])('call those of a hook once its write is over: %s', async (title, ended) => {
      await answerOf(`await strapi.entityService.create('api::book.book', { data: { title: '${title}' } })`);
      expect(await run(`return strapi.ended`)).toEqual(ended);
    });

    it('log what a callback throws', async () => {
      served.logged.length = 0;
      expect(
        await outcome(`await strapi.db.transaction(async ({ onCommit }) => {
          onCommit(async () => { throw new Error('not told'); }); onCommit(tell('committed'));
          await create();
        })`),
      ).toEqual({ told: ['committed'], made: 1 });
      expect(served.logged.join()).toContain('a callback of strapi.db.transaction (onCommit) failed');
    });
  });

  describe('strapi.store', () => {
    it('can be asked without a name', async () => {
      expect(
        await run(`const at = { type: 'plugin', name: 'shop', key: 'state' };
          await strapi.store.set({ ...at, value: { open: true } });
          const bound = strapi.store({ type: 'plugin', name: 'shop' });
          const read = [await strapi.store.get(at), await bound.get({ key: 'state' })];
          await strapi.store.delete(at);
          return [...read, await strapi.store.get(at)]`),
      ).toEqual([{ open: true }, { open: true }, null]);
    });

    it.each([`'a "text"'`, '3', 'true', 'null', '[1, { a: 2 }]', `'12'`])('gives back %s', async (value) => {
      const store = `const store = strapi.store({ type: 'plugin', name: 'shop' });`;
      expect(
        await run(
          `${store} await store.set({ key: 'v', value: ${value} }); return [await store.get({ key: 'v' }), ${value}]`,
        ),
      ).toSatisfy(([found, given]: readonly unknown[]) => JSON.stringify(found) === JSON.stringify(given));
    });

    it('has the settings of users that are in force, in the form of v4', async () => {
      const { close, json } = await serveCode(dialect, files);
      const code = `const store = strapi.store({ type: 'plugin', name: 'users-permissions' });
        const [advanced, grant, email] = await Promise.all(['advanced', 'grant', 'email'].map((key) => store.get({ key })));
        await store.set({ key: 'advanced', value: { ...advanced, allow_register: false } });
        return { advanced, grant, email, later: await store.get({ key: 'advanced' }) }`;
      const { body } = await json('POST', '/api/run', { code });
      const advanced = {
        unique_email: true,
        allow_register: true,
        email_confirmation: false,
        email_reset_password: null,
        email_confirmation_redirection: null,
        default_role: 'authenticated',
      };
      expect(body).toMatchObject({
        result: {
          advanced,
          grant: { email: { enabled: true } },
          email: {
            reset_password: { options: { object: 'Reset password', message: expect.stringContaining('<%= TOKEN %>') } },
            email_confirmation: {
              options: { from: { name: '', email: '' }, message: expect.stringContaining('<%= CODE %>') },
            },
          },
          later: { ...advanced, allow_register: false },
        },
      });
      const eve = { username: 'eve', email: 'eve@example.org', password: 'Passw0rd!' };
      expect((await json('POST', '/api/auth/local/register', eve)).status).toBe(400);
      await close();
    });
  });

  it('utilities of @strapi/utils', async () => {
    const given = `const utils = require('@strapi/utils');`;
    expect(
      await run(`${given}
        const { mapAsync, pipeAsync, setCreatorFields, keysDeep, template, nameToSlug, generateTimestampCode } = utils;
        return [
          await mapAsync([1, Promise.resolve(2)], async (it, i) => it * 10 + i), await mapAsync([1])((it) => -it),
          await pipeAsync(async (it) => it + 1, (it) => it * 2)(3),
          setCreatorFields({ user: { id: 7 } })({ a: 1 }), setCreatorFields({ user: { id: 7 }, isEdition: true })({ a: 1 }),
          keysDeep({ a: { b: 1, c: { d: 2 } }, e: null }),
          '<%= USER.name %> <%= x %>'.replace(template.createStrictInterpolationRegExp(['USER.name'], 'g'), '!'),
          nameToSlug('Über Éclair Co'), nameToSlug('A b', { separator: '_' }), generateTimestampCode(new Date(36 ** 8)),
        ]`),
    ).toEqual([
      ...[[10, 21], [-1], 8, { a: 1, createdBy: 7, updatedBy: 7 }, { a: 1, updatedBy: 7 }, ['a.b', 'a.c.d', 'e']],
      ...['! <%= x %>', 'ueber-eclair-co', 'a_b', '100000000'],
    ]);
    expect(
      await run(`${given}
        const { isKebabCase, isCamelCase, stringIncludes, stringEquals, parseType } = utils;
        return [
          ['a-b1', 'aB', '1-a'].map(isKebabCase), ['aB', 'a-b', 'Ab'].map(isCamelCase),
          stringIncludes([1, 'b'], '1'), stringEquals(3, '3'),
          parseType({ type: 'boolean', value: 't' }), parseType({ type: 'integer', value: '5' }),
          parseType({ type: 'time', value: '10:20:30' }), parseType({ type: 'date', value: '2024-02-03' }),
          parseType({ type: 'datetime', value: '2024-02-03T10:00:00.000Z' }), parseType({ type: 'string', value: 5 }),
        ]`),
    ).toEqual([
      ...[[true, false, false], [true, false, false], true, true, true, 5, '10:20:30.000', '2024-02-03'],
      ...['2024-02-03T10:00:00.000Z', 5],
    ]);
    expect(await thrown(`${given} utils.parseType({ type: 'date', value: null })`)).toContain('Invalid format');
    expect(
      await run(`${given}
        const local = { environment: 'development', server: { host: '0.0.0.0', port: 1337 } };
        const elsewhere = { server: { url: 'https://a.example/x/' }, admin: { url: 'https://b.example/panel' } };
        return [
          utils.getAbsoluteServerUrl(strapi.config), utils.getAbsoluteAdminUrl(strapi.config),
          utils.getAbsoluteServerUrl(local), utils.getAbsoluteAdminUrl(local), utils.getConfigUrls(elsewhere),
          utils.getConfigUrls({ server: { url: '/x' } }), utils.env('NONE', 'other'),
        ]`),
    ).toEqual([
      ...['https://site.example/cms', 'https://site.example/cms/panel', 'http://localhost:1337'],
      'http://localhost:1337/admin',
      { serverUrl: 'https://a.example/x', adminUrl: 'https://b.example/panel', adminPath: '/panel' },
      { serverUrl: '/x', adminUrl: '/x/admin', adminPath: '/x/admin' },
      'other',
    ]);
    const schema = `${given} const { yup, validateYupSchemaSync } = utils; const check = validateYupSchemaSync(yup.object({ name: yup.string().required() }));`;
    expect(await run(`${schema} return check({ name: 'x' })`)).toEqual({ name: 'x' });
    expect(await thrown(`${schema} check({ name: 3 })`)).toMatch(/^YupValidationError|^ValidationError/);
  });

  it('utilities that are not here can be imported, and say so where they are used', async () => {
    const given = `const { importDefault, convertQueryParams, nothing } = require('@strapi/utils');`;
    expect(await run(`${given} return [typeof importDefault, nothing === undefined]`)).toEqual(['function', true]);
    expect(await thrown(`${given} importDefault()`)).toContain(
      "require('@strapi/utils').importDefault is not available",
    );
    const taken = `${given} const { convertSortQueryParams: sort } = convertQueryParams;`;
    expect(await run(`${taken} return typeof sort`)).toBe('function');
    expect(await thrown(`${taken} sort()`)).toContain('.convertSortQueryParams is not available');
    expect(await thrown(`${given} convertQueryParams.convertSortQueryParams()`)).toContain(
      "require('@strapi/utils').convertQueryParams.convertSortQueryParams is not available",
    );
  });
});
