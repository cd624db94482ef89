/**
 * A site: one model over one database, with everything between the two and HTTP. `start` creates one, and so does each
 * command that reads or writes content.
 */
import { newAdminTokens } from '../access/admin-tokens.js';
import { newAdminRoleStore } from '../access/administrators.js';
import { accessTypes, type Callers, type KnownCaller, newCallers } from '../access/caller.js';
import { newJwts } from '../access/jwt.js';
import { type IsServed, newPermissionStore } from '../access/permissions.js';
import type { AccountDeps, UserReads } from '../accounts/account.js';
import { type Accounts, newAccounts } from '../accounts/accounts.js';
import type { RawCodes } from '../accounts/codes.js';
import type { MailSender } from '../accounts/mail.js';
import { type AdminActions, newAdminActions } from '../administration/endpoints.js';
import { newSessions } from '../administration/sessions.js';
import type { EventListeners } from '../events/events.js';
import { type Notifier, type NotifierOptions, newNotifier } from '../events/notifier.js';
import { hooksFrom } from '../handlers/hooks.js';
import type { HandlersByType } from '../handlers/load.js';
import { handlerFor } from '../handlers/run.js';
import { type Media, type MediaOptions, newMedia } from '../media/media.js';
import type { Model, Uid } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import { newReader, type Reader } from '../read/find.js';
import { type LocaleStore, newLocaleStore } from '../read/locales.js';
import { newWindowReader, type WindowReader } from '../read/window.js';
import type { Db } from '../sql/dialect.js';
import { newWriter, type Writer } from '../write/apply.js';
import type { HooksOf, Recorder, RunHook } from '../write/request.js';

export interface SiteOptions {
  readonly db: Db;
  readonly model: Model;
  readonly handlers: HandlersByType;
  /** Hooks besides those of the handlers; they run after them. */
  readonly hooks?: HooksOf | undefined;
  /** Are told of writes, as webhooks are. */
  readonly listeners?: EventListeners | undefined;
  readonly userReads?: UserReads | undefined;
  readonly rawCodes?: RawCodes | undefined;
  /** To which actions the routes of a project lead: as in v4 the permission for any other has no effect. All of them without it. */
  readonly isServed?: IsServed | undefined;
  readonly ownActions?: AccountDeps['ownActions'];
  readonly settings: SiteSettings;
  readonly secrets: Secrets;
  readonly jwtLifetimeMs: number;
  /** Attributes that a registration may give, beside those that it needs; null, the default: all that are not private. */
  readonly registerFields?: readonly string[] | null;
  /** `open` lets anyone read and change all content. */
  readonly mode: 'roles' | 'open';
  readonly mail: MailSender;
  readonly media: MediaOptions;
  /** Public URL of the content API, without a trailing slash: `https://cms.example/api`. */
  readonly apiUrl: string;
  /** Bytes of cached responses; 0 disables the cache, `limits.responseCacheBytesMax` by default. */
  readonly responseCacheBytesMax?: number | undefined;
  /** Bytes of kept entries; 0 keeps none, `limits.entriesBytesMax` by default. */
  readonly entriesBytesMax?: number | undefined;
  /** Milliseconds that a hook may take; `limits.hookMsMax` by default. */
  readonly hookMsMax?: number | undefined;
  /** Milliseconds that a handler's own code may take; `limits.handlerMsMax` by default. */
  readonly handlerMsMax?: number | undefined;
  /** Without it webhooks are sent as v4 sends them, and nobody hears of what comes of it. */
  readonly webhooks?: NotifierOptions;
  /** In development the first administrator may register by a link; `production` by default. */
  readonly environment?: 'development' | 'production';
  /** Milliseconds since 1970 UTC. */
  readonly now?: () => number;
  /** Called with background errors: a mail could not be sent, the last use of a token could not be stored, an upload not be removed. */
  readonly onFault: (fault: unknown) => void;
}

/** How queries are parsed, for every caller. */
export type SiteSettings = Pick<ResolveContext, 'rest' | 'strict'>;

export interface Secrets {
  /** Signs the JWTs of users. */
  readonly jwtSecret: string;
  /** The HMAC key for API tokens. */
  readonly apiTokenSalt: string;
  /** The secret of the tokens of administrators; null if they do not sign in here. */
  readonly adminJwtSecret: string | null;
}

export interface Site {
  readonly db: Db;
  readonly model: Model;
  readonly handlers: HandlersByType;
  readonly handlerMsMax: number | undefined;
  readonly settings: SiteSettings;
  readonly locales: LocaleStore;
  readonly reader: Reader;
  readonly windows: WindowReader;
  readonly writer: Writer;
  readonly callers: Callers;
  /** Told of each request for content that lacks a permission. */
  readonly onForbidden?: (who: KnownCaller['who'], permission: string) => void;
  readonly accounts: Accounts;
  /** Null if administrators do not sign in here. */
  readonly administration: AdminActions | null;
  readonly media: Media;
  readonly notifier: Notifier;
  /** Dependencies of account functions that the commands call without an endpoint. */
  readonly accountDeps: AccountDeps;
}

export const newSite = (options: SiteOptions): Site => {
  const { model, handlers, secrets, mail, apiUrl, onFault, now = Date.now, webhooks = asInV4 } = options;
  // statements are kept with their dialect: another model of the same database has other ones under the same names
  const db: Db = { ...options.db, dialect: { ...options.db.dialect } };
  const { responseCacheBytesMax, entriesBytesMax, hookMsMax, isServed } = options;
  const { rest, strict } = options.settings;
  const settings: SiteSettings = { rest, strict };
  const locales = newLocaleStore(db, () => performance.now());
  const reader = newReader(db, { responseCacheBytesMax, entriesBytesMax });
  const hooksOf = hooksFrom(handlers, {
    model,
    reader,
    writer: () => writer,
    context: settings,
    locales,
    ...(hookMsMax === undefined ? {} : { hookMsMax }),
  });
  const { listeners } = options;
  const notifier = newNotifier({ ...webhooks, db, model, reader, settings, listeners, now, onFault });
  const allHooksOf = options.hooks ? both(hooksOf, options.hooks) : hooksOf;
  const recorder: Recorder = {
    ...notifier.recorder,
    committed: (session) => {
      // whoever wrote it: an endpoint, a hook, code of a project
      if (session.events.some(({ type }) => accessTypes.has(type.uid))) callers.forget();
      notifier.recorder.committed(session);
    },
  };
  const writer: Writer = newWriter(db, now, allHooksOf, recorder);
  const permissions = newPermissionStore(db, () => performance.now(), isServed);
  const jwts = newJwts({ secret: secrets.jwtSecret, lifetimeMs: options.jwtLifetimeMs, now });
  const { apiTokenSalt } = secrets;
  const admins = secrets.adminJwtSecret === null ? null : newAdmins(secrets.adminJwtSecret, db, now);
  const callers = newCallers({
    db,
    permissions,
    jwts,
    admins,
    model,
    apiTokenSalt,
    isServed,
    now,
    mode: options.mode,
    onFault,
  });
  const accountDeps: AccountDeps = {
    db,
    model,
    reader,
    writer,
    callers,
    permissions,
    jwts,
    mail,
    settings,
    apiUrl,
    registerFields: options.registerFields ?? null,
    isServed,
    ownActions: options.ownActions,
    userReads: options.userReads,
    rawCodes: options.rawCodes,
    now,
    onFault,
  };
  const hasUpdateHandler = (uid: Uid): boolean => handlerFor(handlers.get(uid), 'update') !== undefined;
  const media = newMedia({ ...options.media, db, model, reader, writer, settings, hasUpdateHandler, onFault });
  return {
    db,
    model,
    handlers,
    handlerMsMax: options.handlerMsMax,
    settings,
    locales,
    reader,
    windows: newWindowReader(db),
    writer,
    callers,
    accounts: newAccounts(accountDeps),
    administration:
      admins &&
      newAdminActions({
        accounts: accountDeps,
        ...admins,
        apiTokenSalt,
        mode: options.environment ?? 'production',
      }),
    media,
    notifier,
    accountDeps,
  };
};

const newAdmins = (secret: string, db: Db, now: () => number) => {
  const tokens = newAdminTokens({ secret, now });
  const sessions = newSessions({ db, tokens, now });
  const roles = newAdminRoleStore(db, () => performance.now());
  return { tokens, sessions, roles, ready: sessions.ready };
};

const asInV4: NotifierOptions = { defaultHeaders: {}, signingKey: null, onOutcome: () => undefined };

/** Two sources of hooks as one. */
const both =
  (first: HooksOf, second: HooksOf): HooksOf =>
  (request) => {
    const [one, other] = [first(request), second(request)];
    if (!one || !other) return one ?? other;
    const joined = (a: RunHook | undefined, b: RunHook | undefined): RunHook | undefined =>
      a && b
        ? async (event) => {
            await a(event);
            await b(event);
          }
        : (a ?? b);
    return {
      before: (action) => joined(one.before(action), other.before(action)),
      after: (action) => joined(one.after(action), other.after(action)),
      seen: () => one.seen?.() ?? other.seen?.() ?? null,
    };
  };
