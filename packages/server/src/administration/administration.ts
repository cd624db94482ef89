/** Administrators: signing in, and what they look after. Every endpoint of `/admin` as a function from parsed input to a result. */

import type { AdminTokens } from '../access/admin-tokens.js';
import type { AdminRoleStore } from '../access/administrators.js';
import type { KnownCaller } from '../access/caller.js';
import { fitsBcrypt } from '../access/passwords.js';
import type { Rights } from '../access/rights.js';
import { type AccountDeps, passwordTooLong, readForm } from '../accounts/account.js';
import { catchRefusal, issue, ok, type Result, refuse, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { type EntryType, typeOf } from '../model/model.js';
import type { Dialect, Tx } from '../sql/dialect.js';
import { isObject } from '../write/ids.js';
import { hashPasswords, type PasswordHashes } from '../write/passwords.js';
import { emailOf, findAdminsInside } from './rows.js';
import type { Sessions, StartedSession } from './sessions.js';

export interface AdministrationDeps {
  readonly accounts: AccountDeps;
  readonly tokens: AdminTokens;
  readonly sessions: Sessions;
  readonly roles: AdminRoleStore;
  readonly apiTokenSalt: string;
  /** In development the first administrator may register by a link that the server prints. */
  readonly mode: 'development' | 'production';
}

export interface AdminRequest {
  /** Null where the endpoint asks for none. */
  readonly caller: KnownCaller | null;
  /** The parsed JSON body; undefined if there is none. */
  readonly body: unknown;
  /** The id in the path; null if absent or invalid. */
  readonly id: number | null;
  readonly refreshToken: string | null;
  /** With which the administrator asks; null where the endpoint needs none. */
  readonly accessToken: string | null;
}

export interface AdminAnswer {
  /** The `data` of the response. */
  readonly data: unknown;
  readonly isNew?: boolean;
  /** What becomes of the refresh token that the client has; unchanged without it. */
  readonly session?: Pick<StartedSession, 'refreshToken' | 'msLeft'> | 'ended';
}

export type AdminAction = (request: AdminRequest) => Promise<Result<AdminAnswer>>;

export const answer = (data: unknown, rest: Omit<AdminAnswer, 'data'> = {}): Result<AdminAnswer> =>
  ok({ data, ...rest });

/** Wraps an action so that a `Refusal` thrown by it, outside any transaction, becomes its result. */
export const asAction =
  (action: AdminAction): AdminAction =>
  async (request) => {
    const result = await catchRefusal(() => action(request));
    return result.ok ? result.value : result;
  };

/** Those of the administrator who asks; endpoints that need one have one. */
export const rightsOf = ({ caller }: AdminRequest): Rights => caller?.rights ?? refuse(issue('http.forbidden', []));

export const adminType = ({ accounts: { model } }: Pick<AdministrationDeps, 'accounts'>): EntryType =>
  typeOf(model, 'admin::user');

/** Hashes the password of an administrator; call it before the transaction that stores it. */
export const hashAdminPassword = async (
  deps: Pick<AdministrationDeps, 'accounts'>,
  password: string,
): Promise<PasswordHashes> => {
  const issues = [
    ...([...password].length < limits.adminPasswordCharactersMin
      ? [issue('body.min-length', ['password'], { min: limits.adminPasswordCharactersMin })]
      : []),
    ...(fitsBcrypt(password) ? [] : [passwordTooLong()]),
  ];
  if (issues.length > 0) return refuse(...issues);
  return unwrap(await hashPasswords({ password }, adminType(deps), deps.accounts.model));
};

const emailForm = /^[^\s@]+@[^\s@]+$/;

/** A new administrator, from a body. Throws `Refusal`. */
export const readNewAdmin = (body: unknown) => {
  const { email, password } = unwrap(readForm(body, ['email', 'password']));
  return { email: readEmail(email), password, ...readNames(body) };
};

/** Throws `Refusal` if somebody else has the e-mail address. @param id null for a new administrator. */
export const checkEmail = async (email: string, id: number | null, tx: Tx, dialect: Dialect): Promise<void> => {
  const found = await findAdminsInside(tx, { by: 'email', text: email }, dialect);
  if (found.some((it) => it.id !== id)) refuse(issue('account.email-taken', ['email']));
};

export const readEmail = (text: string): string =>
  emailForm.test(text.trim()) ? emailOf(text) : refuse(issue('body.email', ['email']));

/** First and last name, as far as they are given. */
export const readNames = (body: unknown): { readonly firstname?: string | null; readonly lastname?: string | null } => {
  const given = isObject(body) ? body : {};
  const names = (['firstname', 'lastname'] as const).filter((name) => Object.hasOwn(given, name));
  return Object.fromEntries(
    names.map((name) => {
      const value = given[name];
      if (value === null || value === '') return [name, null];
      if (typeof value !== 'string') return refuse(issue('body.type', [name], { expected: 'string', value }));
      return value.includes('\0') || !value.isWellFormed() ? refuse(issue('body.text', [name])) : [name, value];
    }),
  );
};
