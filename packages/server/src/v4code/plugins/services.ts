/** The services of v4's plugins, with what projects call of them. */
import crypto from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import { hashPassword, isPassword } from '../../access/passwords.js';
import type { LoginActions } from '../../accounts/login.js';
import type { MailSender } from '../../accounts/mail.js';
import type { Media } from '../../media/media.js';
import { LOCALE_UID, type Uid, USER_UID } from '../../model/model.js';
import type { Locale } from '../../read/locales.js';
import type { Ready } from '../../ready.js';
import type { Db } from '../../sql/dialect.js';
import type { QueryEngine } from '../data/db.js';
import type { Entities, Entity } from '../data/entities.js';
import type { EntityParams, EntityService } from '../data/entity-service.js';
import { saysNothing } from '../data/queries.js';
import { currentSession } from '../data/scope.js';
import { newStore } from '../data/store.js';
import type { CodeConfig } from '../loading/config.js';
import { daysOf } from '../loading/durations.js';
import { isMembers, type Members } from '../loading/parts.js';
import type { CodeContext } from '../native.js';
import { NotFoundError } from '../strapi-utils/errors.js';
import { refused } from '../strapi-utils/guards.js';
import { absent, missing } from '../strapi-utils/missing.js';
import { absentMethods } from './absent.js';

export interface ServiceDeps {
  readonly entities: Entities;
  readonly entityService: EntityService;
  readonly query: (uid: Uid) => QueryEngine;
  readonly findUser: (id: number) => Promise<Entity | null>;
  readonly jwtSecret: string;
  readonly jwtSeconds: number;
  readonly mail: MailSender;
  readonly locales: () => Promise<readonly Locale[]>;
  readonly defaultLocale: () => Ready<string>;
  readonly media: () => Media;
  readonly db: Db;
  readonly login: () => LoginActions;
  readonly config: CodeConfig;
  readonly warn: (text: string) => void;
}

/** `strapi.plugin('i18n').service('locales')`. */
export const localesService = ({
  locales,
  defaultLocale,
  db,
  entityService,
}: ServiceDeps): Record<string, unknown> => ({
  ...absent("strapi.plugin('i18n').service('locales')", absentMethods['i18n.locales']),
  find: async ({ code }: { readonly code?: unknown } = {}) =>
    (await locales()).filter((it) => code === undefined || [code].flat().includes(it.code)),
  findById: async (id: unknown) => (await locales()).find((it) => it.id === Number(id)) ?? null,
  findByCode: async (code: unknown) => (await locales()).find((it) => it.code === code) ?? null,
  count: async () => (await locales()).length,
  getDefaultLocale: async () => defaultLocale(),
  create: (locale: Members) => entityService.create(LOCALE_UID, { data: locale }),
  setDefaultLocale: ({ code }: Members) =>
    newStore(db, { type: 'plugin', name: 'i18n' }).set({ key: 'default_locale', value: code }),
});

const USERS = "strapi.plugin('users-permissions').service('user')";

/** Throws for conditions, and for an id that is not there, which would find nobody. */
const idOfUser = (given: unknown, method: string): unknown => {
  if (given === undefined || Number.isNaN(given) || (typeof given === 'object' && given !== null))
    throw refused(new TypeError(`${USERS}.${method} takes the id of a user`));
  return given;
};

/** `strapi.plugin('users-permissions').service('user')`. */
export const userService = ({
  entities,
  entityService,
  query,
  findUser,
  login,
}: ServiceDeps): Record<string, unknown> => ({
  count: (where?: unknown) => query(USER_UID).count({ where }),
  add: (values: Members) => entityService.create(USER_UID, { data: values, populate: ['role'] }),
  edit: async (id: unknown, values: Members = {}) =>
    entityService.update(USER_UID, idOfUser(id, 'edit'), { data: values, populate: ['role'] }),
  fetch: async (id: unknown, params?: EntityParams) => entityService.findOne(USER_UID, idOfUser(id, 'fetch'), params),
  fetchAll: (params?: EntityParams) => entityService.findMany(USER_UID, params),
  fetchAuthenticatedUser: findUser,
  /** The first user that the conditions describe. */
  remove: async (where: unknown) => {
    if (!isMembers(where) || saysNothing(where))
      throw new TypeError(`${USERS}.remove takes conditions, such as { id }, and got none: it would remove any user`);
    return query(USER_UID).delete({ where });
  },
  validatePassword: (password: string, hash: string) => isPassword(password, hash),
  hashPassword: (password: string) => hashPassword(password, 10),
  sendConfirmationEmail: async ({ id }: { readonly id: number }) => {
    const user = await findUser(id);
    if (!user) throw new NotFoundError('User not found');
    const [username, email] = [String(user['username'] ?? ''), String(user['email'] ?? '')];
    const send = await entities.transaction(() => login().mailConfirmation({ id, username, email }, currentSession()!));
    await send();
  },
});

/** `strapi.plugin('users-permissions').service('users-permissions')`. */
export const templateService = (): Record<string, unknown> => ({
  ...absent(
    "strapi.plugin('users-permissions').service('users-permissions')",
    absentMethods['users-permissions.users-permissions'],
  ),
  template: (text: string, data: Members) => filled(text, data),
});

/** Throws rather than let a token live longer than it was meant to. */
const secondsOf = (expiresIn: number | string): number => {
  if (typeof expiresIn === 'number') return expiresIn;
  const days = daysOf(expiresIn);
  if (days === undefined) throw new Error(`jwt.issue cannot read expiresIn: ${JSON.stringify(expiresIn)}`);
  return Math.round(days * 86_400);
};

/** Options of jsonwebtoken that are claims. */
const claims: ReadonlyMap<string, string> = new Map([
  ['subject', 'sub'],
  ['issuer', 'iss'],
  ['audience', 'aud'],
  ['jwtid', 'jti'],
]);

/** Throws for an option without which the token would mean something else. */
const claimsOf = (options: Members): Members =>
  Object.fromEntries(
    Object.entries(options).flatMap(([name, value]) => {
      const claim = claims.get(name);
      const isUsual = value === undefined || (name === 'algorithm' && value === 'HS256');
      if (claim === undefined && !isUsual) throw missing(`the option "${name}" of jwt.issue`);
      return claim === undefined || value === undefined ? [] : [[claim, value]];
    }),
  );

/** `strapi.plugin('users-permissions').service('jwt')`: the tokens of v4, HS256. */
export const jwtService = ({ jwtSecret, jwtSeconds }: ServiceDeps): Record<string, unknown> => {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const sign = (text: string): string => crypto.createHmac('sha256', jwtSecret).update(text).digest('base64url');
  const verify = async (token: string): Promise<Members> => {
    const { createSecretKey } = crypto;
    const { jwtVerify } = await import('jose/jwt/verify');
    try {
      const { payload } = await jwtVerify(token, createSecretKey(jwtSecret, 'utf8'), { algorithms: ['HS256'] });
      return payload;
    } catch (fault) {
      // code compares the text of v4
      throw new Error('Invalid token.', { cause: fault });
    }
  };
  return {
    issue: (payload: Members, { expiresIn, ...options }: Members & { readonly expiresIn?: number | string } = {}) => {
      const iat = Math.floor(Date.now() / 1000);
      const exp = iat + (expiresIn === undefined ? jwtSeconds : secondsOf(expiresIn));
      const text = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...payload, ...claimsOf(options), iat, exp })}`;
      return `${text}.${sign(text)}`;
    },
    verify,
    getToken: async (ctx: CodeContext) => {
      const header = ctx.request.header['authorization'];
      const [, token] = /^bearer +(\S+)$/i.exec(String(header ?? '')) ?? [];
      return token === undefined ? null : verify(token);
    },
  };
};

/** `strapi.plugin('email').service('email')`. */
export const emailService = ({ mail, config, warn }: ServiceDeps): EmailService => {
  const warned = new Set<string>();
  const send = async (given: Members): Promise<void> => {
    const own: SendMailOptions & Record<string, unknown> = {};
    for (const [name, value] of Object.entries(given)) {
      // what is empty is as good as absent, as in v4
      if (value === undefined || value === null || value === '') continue;
      if (mailOptions.includes(name)) own[name] = value;
      else if (!warned.has(name) && warned.size < WARNED_MAX) {
        warned.add(name);
        warn(`strapi.plugin('email'): mails go out over SMTP, which knows nothing of "${name}": it is left out`);
      }
    }
    const { to, subject = '', text = own['html'] ?? '', html = own['text'] ?? '' } = own;
    const shown = { to: addressesOf(to), subject: String(subject), text: String(text), html: String(html) };
    await mail.send({ ...shown, from: null, replyTo: null, own: { ...own, text, html } });
  };
  return {
    send,
    getProviderSettings: () => config.get('plugin.email'),
    sendTemplatedEmail: async (given, template, data = {}) => {
      const absentParts = templatedParts.filter((it) => !Object.hasOwn(template, it));
      if (absentParts.length > 0)
        throw new Error(`sendTemplatedEmail: the template has no ${absentParts.join(' and no ')}`);
      const parts = templatedParts.map((it) => [it, filled(String(template[it] ?? ''), data)]);
      await send({ ...given, ...Object.fromEntries(parts) });
    },
  };
};

export interface EmailService extends Record<string, unknown> {
  send(given: Members): Promise<void>;
  /** @param template with a subject, a text and HTML: `Welcome, <%= user.name %>`. */
  sendTemplatedEmail(given: Members, template: Members, data?: Members): Promise<void>;
}

const templatedParts = ['subject', 'text', 'html'] as const;

/** Replaces the names of values; what is anything else stays. Templates are never executed. */
const filled = (template: string, data: Members): string =>
  template.replaceAll(/<%=\s*([\w$]+(?:\.[\w$]+)*)\s*%>/g, (whole, name: string) => {
    let value: unknown = data;
    for (const it of name.split('.')) {
      if (value === null || typeof value !== 'object' || !Object.hasOwn(value, it)) return whole;
      value = (value as Members)[it];
    }
    if (value === undefined || value === null) return '';
    return typeof value === 'object' ? whole : String(value);
  });

/** Names that are told: a body of a request that is passed on as it came may have any. */
const WARNED_MAX = 20;

/** What a message may have. */
const mailOptions: readonly string[] = [
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'replyTo',
  'inReplyTo',
  'references',
  'subject',
  'text',
  'html',
  'watchHtml',
  'amp',
  'icalEvent',
  'attachments',
  'alternatives',
  'headers',
  'list',
  'envelope',
  'messageId',
  'date',
  'encoding',
  'textEncoding',
  'attachDataUrls',
  'raw',
  'priority',
  'xMailer',
  'dkim',
  'dsn',
] satisfies readonly (keyof SendMailOptions)[];

/** Addresses for the log: texts, `{ name, address }`, or a list of either. */
const addressesOf = (to: unknown): string =>
  [to]
    .flat()
    .map((it) => String((isMembers(it) ? it['address'] : it) ?? ''))
    .join(', ');
