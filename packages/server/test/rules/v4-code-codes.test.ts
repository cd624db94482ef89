/** Codes of mails where an extension has replaced one of the two actions that make and take them. */
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newJwts } from '../../src/access/jwt.js';
import { newCodes } from '../../src/accounts/codes.js';
import { readRows } from '../../src/sql/dialect.js';
import { allowing, type CodeProject, serveCode } from '../world/code-project.js';
import { dialects } from '../world/databases.js';
import { type MailServer, newMailServer } from '../world/mail-server.js';

const mia = { username: 'mia', email: 'mia@example.org', password: 'Passw0rd!' };
const next = { password: 'An0ther!', passwordConfirmation: 'An0ther!' };

/** As v4's own action: the code is stored as it is mailed. */
const forgot = (code: string): string => `
  plugin.controllers.auth.forgotPassword = async (ctx) => {
    const user = await strapi.query('plugin::users-permissions.user').findOne({ where: { email: ctx.request.body.email } });
    const code = ${code};
    await strapi.plugin('users-permissions').service('user').edit(user.id, { resetPasswordToken: code });
    ctx.send({ ok: true, code });
  };`;

const reset = `
  plugin.controllers.auth.resetPassword = async (ctx) => {
    const { code, password } = ctx.request.body;
    const user = await strapi.query('plugin::users-permissions.user').findOne({ where: { resetPasswordToken: code } });
    if (!user) throw new (require('@strapi/utils').errors.ValidationError)('Incorrect code provided');
    await strapi.plugin('users-permissions').service('user').edit(user.id, { resetPasswordToken: null, password });
    ctx.send({ own: true });
  };`;

const confirmation = `
  plugin.controllers.auth.emailConfirmation = async (ctx) => {
    const service = strapi.plugin('users-permissions').service('user');
    const [user] = await service.fetchAll({ filters: { confirmationToken: ctx.query.confirmation } });
    if (!user) throw new (require('@strapi/utils').errors.ValidationError)('Invalid token');
    await service.edit(user.id, { confirmed: true, confirmationToken: null });
    ctx.send({ own: true });
  };`;

describe.each(dialects)('codes of mails on %s', (dialect) => {
  let smtp: MailServer;
  let served: CodeProject;
  beforeEach(async () => {
    smtp = await newMailServer();
  });
  afterEach(async () => {
    await served.close();
    smtp.server.close();
  });

  const start = async (source: string): Promise<void> => {
    served = await serveCode(
      dialect,
      {
        'src/extensions/users-permissions/strapi-server.js': `module.exports = (plugin) => { ${source} return plugin; };`,
        'src/index.js': `module.exports = { async bootstrap({ strapi }) { ${allowing}
          const actions = ['callback', 'register', 'forgotPassword', 'resetPassword', 'emailConfirmation', 'sendEmailConfirmation'];
          await allow('public', actions.map((it) => 'plugin::users-permissions.auth.' + it));
          await allow('authenticated', []);
          const store = strapi.store({ type: 'plugin', name: 'users-permissions' });
          const advanced = await store.get({ key: 'advanced' });
          await store.set({ key: 'advanced', value: { ...advanced, email_confirmation: true, default_role: 'authenticated', allow_register: true } });
        } };`,
      },
      { SMTP_HOST: '127.0.0.1', SMTP_PORT: String(smtp.port) },
    );
  };
  const post = async (path: string, body: unknown) => {
    const { status, body: answer } = await served.json('POST', `/api/auth/${path}`, body);
    await served.site.accounts.idle();
    return { status, answer: answer as Record<string, unknown> };
  };
  const confirm = (token: string) =>
    served.json('GET', `/api/auth/email-confirmation?confirmation=${encodeURIComponent(token)}`);
  const mailed = (form: RegExp): string => {
    const text = smtp.heard.join('\n').replaceAll(/=\n/g, '').replaceAll('=3D', '=');
    const [, code = ''] = form.exec(text) ?? [];
    expect(code).not.toBe('');
    return code;
  };
  const resetCode = (): string => mailed(/within an hour: (\S+)/);
  const confirmationCode = (): string => mailed(/confirmation=([0-9a-f]+)/);
  const storedIn = async (column: string): Promise<unknown> => {
    const statement = served.db.dialect.compile(sql`select ${sql.ref(column)} from up_users`);
    return (await served.db.read(() => readRows(statement)))[0]?.[0];
  };
  const confirmedUser = async (): Promise<void> => {
    await post('local/register', mia);
    expect((await confirm(confirmationCode())).status).toBeLessThan(400);
    smtp.heard.length = 0;
  };
  const warned = (): string => served.logged.filter((it) => it.includes('stored as they are mailed')).join();

  it.each([
    ['as v4 makes them', `require('node:crypto').randomBytes(64).toString('hex')`],
    ['of six digits', `'482913'`],
    ['of words', `'Grün-Haus 7'`],
  ])('that an extension stores %s set a new password once', async (_what, code) => {
    await start(forgot(code));
    await confirmedUser();
    const { answer } = await post('forgot-password', { email: mia.email });
    const given = answer['code'] as string;
    expect((await post('reset-password', { code: `${given}x`, ...next })).status).toBe(400);
    expect((await post('reset-password', { code: given, ...next })).status).toBe(200);
    expect((await post('reset-password', { code: given, ...next })).status).toBe(400);
    expect((await post('local', { identifier: 'mia', password: next.password })).status).toBe(200);
    expect(warned()).toBe('');
  });

  it('of the server set a new password where an extension looks for them, and the log says how they are stored', async () => {
    await start(reset);
    await confirmedUser();
    await post('forgot-password', { email: mia.email });
    expect(await storedIn('reset_password_token')).toBe(resetCode());
    expect(await post('reset-password', { code: resetCode(), ...next })).toEqual({
      status: 200,
      answer: { own: true },
    });
    expect(warned()).toContain('it replaces auth.resetPassword, so the codes');
  });

  it('of the server set a new password where an extension wraps the action', async () => {
    await start(`const own = plugin.controllers.auth.resetPassword;
      plugin.controllers.auth.resetPassword = async (ctx) => { await own(ctx); ctx.body = { wrapped: true }; };`);
    await confirmedUser();
    await post('forgot-password', { email: mia.email });
    const { status, answer } = await post('reset-password', { code: resetCode(), ...next });
    expect([status, answer]).toEqual([200, { wrapped: true }]);
  });

  it('are known to another action at the path of the server’s', async () => {
    await start(`${reset}
      plugin.controllers.auth.ours = plugin.controllers.auth.resetPassword;
      plugin.routes['content-api'].routes.find((it) => it.path === '/auth/reset-password').handler = 'auth.ours';
      plugin.routes['content-api'].routes.find((it) => it.path === '/auth/reset-password').config.auth = false;`);
    await confirmedUser();
    await post('forgot-password', { email: mia.email });
    expect((await post('reset-password', { code: resetCode(), ...next })).answer).toEqual({ own: true });
  });

  it('of the server confirm an address where an extension looks for them', async () => {
    await start(confirmation);
    await post('local/register', mia);
    expect(await storedIn('confirmation_token')).toBe(confirmationCode());
    const { status, body } = await confirm(confirmationCode());
    expect([status, body]).toEqual([200, { own: true }]);
    expect((await post('local', { identifier: 'mia', password: mia.password })).status).toBe(200);
    expect(warned()).toContain('it replaces auth.emailConfirmation, so the codes');
  });

  it.each(['A7-XYZ', 'ab'.repeat(64)])(
    'that an extension stores to confirm an address are taken: %s',
    async (token) => {
      await start(`const own = plugin.controllers.auth.register;
      plugin.controllers.auth.register = async (ctx) => {
        await own(ctx);
        await strapi.plugin('users-permissions').service('user').edit(ctx.body.user.id, { confirmationToken: '${token}' });
      };
      plugin.controllers.auth.sendEmailConfirmation = async (ctx) => {
        await strapi.plugin('users-permissions').service('user').edit(1, { confirmationToken: '${token}' });
        ctx.send({ sent: true });
      };`);
      await post('local/register', mia);
      await post('send-email-confirmation', { email: mia.email });
      expect((await confirm(`${token}0`)).status).toBe(400);
      expect((await confirm('\0')).status).toBe(400);
      expect((await confirm(token)).status).toBeLessThan(400);
      expect((await post('local', { identifier: 'mia', password: mia.password })).status).toBe(200);
    },
  );

  it('are no codes as the server stores them', async () => {
    await start('');
    await post('local/register', mia);
    expect((await confirm(String(await storedIn('confirmation_token')))).status).toBe(400);
    expect((await confirm(confirmationCode())).status).toBeLessThan(400);
    await post('forgot-password', { email: mia.email });
    const code = String(await storedIn('reset_password_token'));
    expect(code).not.toBe('null');
    expect((await post('reset-password', { code, ...next })).status).toBe(400);
    expect(warned()).toBe('');
  });
});

describe('a code for a new password', () => {
  const codesAt = (now: () => number, isRaw: boolean) =>
    newCodes({
      jwts: newJwts({ secret: 'a secret', lifetimeMs: 1000, now }),
      now,
      raw: { reset: isRaw, confirmation: isRaw },
    });

  it.each([true, false])('expires after an hour, also where it is stored as it is mailed: %s', (isRaw) => {
    let now = 1_800_000_000_000;
    const codes = codesAt(() => now, isRaw);
    const { code, stored } = codes.make('reset');
    expect(stored === code).toBe(isRaw);
    expect(codes.storedFor('reset', code)).toContain(stored);
    now += 60 * 60 * 1000;
    expect(codes.storedFor('reset', code)).toEqual([]);
  });

  it('has the usual form where no code of a project makes others', () => {
    const codes = newCodes({
      jwts: newJwts({ secret: 'a secret', lifetimeMs: 1000, now: Date.now }),
      now: Date.now,
      raw: null,
    });
    expect(codes.storedFor('reset', 'ab'.repeat(64))).toEqual([]);
    expect(codes.storedFor('reset', codes.make('reset').code)).toHaveLength(2);
    expect(codes.storedFor('confirmation', '482913')).toEqual([]);
    expect(codes.storedFor('confirmation', 'a1'.repeat(20))).toContain('a1'.repeat(20));
  });

  it('is no digest, no text with a null character, and none that is longer than the column', () => {
    const codes = codesAt(() => 0, false);
    const { stored } = codes.make('confirmation');
    for (const given of ['', stored, 'digest:x', 'a\0b', 'a\nb', 'x'.repeat(256)])
      for (const kind of ['reset', 'confirmation'] as const) expect(codes.storedFor(kind, given)).toEqual([]);
  });
});
