/**
 * A site: one model over one database, with everything between the two and HTTP. `start` makes one, and so does each
 * command that reads or writes content; a model that has changed is another site over the same database.
 */
import { type Callers, newCallers } from '../access/caller.js';
import { newJwts } from '../access/jwt.js';
import { newPermissionStore } from '../access/permissions.js';
import type { AccountDeps } from '../accounts/account.js';
import { type Accounts, newAccounts } from '../accounts/accounts.js';
import type { MailSender } from '../accounts/mail.js';
import { hooksFrom } from '../handlers/hooks.js';
import type { HandlersByType } from '../handlers/load.js';
import type { Model } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import { newReader, type Reader } from '../read/find.js';
import type { Db } from '../sql/dialect.js';
import { newWriter, type Writer } from '../write/apply.js';

export interface SiteOptions {
  readonly db: Db;
  readonly model: Model;
  readonly handlers: HandlersByType;
  readonly settings: SiteSettings;
  readonly secrets: Secrets;
  readonly jwtLifetimeMs: number;
  /** `open` lets everybody read and change all content. */
  readonly mode: 'roles' | 'open';
  readonly mail: MailSender;
  /** Where clients reach the content API, without a slash at the end: `https://cms.example/api`. */
  readonly apiUrl: string;
  /** Bytes of answers kept until the database changes; 0 keeps none, `limits.answersBytesMax` when it is not given. */
  readonly answersBytesMax?: number | undefined;
  /** Milliseconds that a hook may take; `limits.hookMsMax` when it is not given. */
  readonly hookMsMax?: number | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now?: () => number;
  /** Hears of errors in the background: mails that could not be sent, uses of tokens that could not be noted. */
  readonly onFault: (fault: unknown) => void;
}

/** How queries are read, whoever asks. */
export type SiteSettings = Pick<ResolveContext, 'rest' | 'strict' | 'defaultLocale'>;

export interface Secrets {
  /** Signs JWTs of users. */
  readonly jwtSecret: string;
  /** The key under which API tokens are hashed. */
  readonly apiTokenSalt: string;
}

export interface Site {
  readonly model: Model;
  readonly handlers: HandlersByType;
  readonly settings: SiteSettings;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly callers: Callers;
  readonly accounts: Accounts;
  /** What functions on accounts need that belong to no endpoint. */
  readonly accountDeps: AccountDeps;
}

export const newSite = (options: SiteOptions): Site => {
  const { db, model, handlers, secrets, mail, apiUrl, onFault, now = Date.now } = options;
  const { answersBytesMax, hookMsMax } = options;
  const { rest, strict, defaultLocale } = options.settings;
  const settings: SiteSettings = { rest, strict, defaultLocale };
  const reader = newReader(db, answersBytesMax === undefined ? {} : { answersBytesMax });
  const hooksOf = hooksFrom(handlers, {
    model,
    reader,
    writer: () => writer,
    context: settings,
    ...(hookMsMax === undefined ? {} : { hookMsMax }),
  });
  const writer: Writer = newWriter(db, now, hooksOf);
  const permissions = newPermissionStore(db, () => performance.now());
  const jwts = newJwts({ secret: secrets.jwtSecret, lifetimeMs: options.jwtLifetimeMs, now });
  const { apiTokenSalt } = secrets;
  const callers = newCallers({ db, permissions, jwts, apiTokenSalt, now, mode: options.mode, onFault });
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
    now,
    onFault,
  };
  return { model, handlers, settings, reader, writer, callers, accounts: newAccounts(accountDeps), accountDeps };
};
