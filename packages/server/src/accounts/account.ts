/** Shared by all account endpoints: dependencies, response types and form parsing. Independent of HTTP. */
import { type Caller, newGate, serverGate } from '../access/access.js';
import type { Callers, KnownCaller } from '../access/caller.js';
import type { Jwts } from '../access/jwt.js';
import { fitsBcrypt } from '../access/passwords.js';
import type { Action, IsServed, PermissionStore } from '../access/permissions.js';
import { type SettingName, settingsOf, settingsStatement, type UserSettings } from '../access/settings.js';
import { catchRefusal, type Issue, issue, ok, type Result, refuse, unwrap } from '../errors.js';
import { limits } from '../limits.js';
import { type EntryType, type Model, ROLE_UID, typeOf, USER_UID } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import type { QuerySource } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Search } from '../query/searches.js';
import type { Answer } from '../read/answer.js';
import type { Precondition } from '../read/etag.js';
import type { Reader } from '../read/find.js';
import { type Db, readRows, type Statement, type Tx } from '../sql/dialect.js';
import type { Writer } from '../write/apply.js';
import { isObject } from '../write/ids.js';
import { hashPasswords, type PasswordHashes } from '../write/passwords.js';
import type { Session } from '../write/session.js';
import type { RawCodes } from './codes.js';
import type { MailSender } from './mail.js';
import type { UserKey } from './rows.js';

/** A look inside of a transaction. */
interface Inside {
  readonly session: Session;
  readonly lock: () => Promise<unknown>;
}

/**
 * Reads of users in which code of a project takes part, as v4's lifecycles do (`beforeFindMany`): it may narrow and refuse them,
 * and change what is shown. Undefined where no code does.
 */
export interface UserReads {
  /** @param inside the transaction to read in, and what locks the user in it before. */
  lookUp(key: UserKey, inside: Inside | null): Promise<SeenUser | null> | undefined;
  /** One user or a list, as JSON; null if there is no such user. @param session the transaction to read in. */
  read(asked: UserQuery, session?: Session): Promise<string | null> | undefined;
  count(asked: Omit<UserQuery, 'id'>): Promise<number> | undefined;
}

/** A user as code has left it. */
export interface SeenUser {
  readonly id: number;
  /** JSON of what the caller may see. */
  readonly show: (caller: Caller) => string;
}

export interface UserQuery {
  /** Null for a list. */
  readonly id: number | null;
  readonly query: QuerySource;
  readonly caller: Caller;
  /** With the caller's rights. */
  readonly context: ResolveContext;
}

export interface AccountDeps {
  readonly db: Db;
  readonly model: Model;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly callers: Callers;
  readonly permissions: PermissionStore;
  readonly jwts: Jwts;
  readonly mail: MailSender;
  readonly settings: Omit<ResolveContext, 'model' | 'gate' | 'defaultLocale'>;
  /** Public URL of the content API, without a trailing slash: `https://cms.example/api`. */
  readonly apiUrl: string;
  /** Attributes that a registration may give, beside those that it needs; null: all that are not private. */
  readonly registerFields: readonly string[] | null;
  /** Which actions are offered to roles; all of them without it. */
  readonly isServed?: IsServed | undefined;
  /** Those that routes of the project's code name; it may add routes later. */
  readonly ownActions?: (() => readonly Action[]) | undefined;
  readonly userReads?: UserReads | undefined;
  /** Without code of a project, nobody but the server makes codes. */
  readonly rawCodes?: RawCodes | undefined;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Called with background errors. */
  readonly onFault: (fault: unknown) => void;
}

export interface AccountRequest {
  readonly caller: KnownCaller;
  /** The parsed JSON body; undefined if there is none. */
  readonly body: unknown;
  readonly search: Search;
  /** The id in the path; null if absent or invalid. */
  readonly id: number | null;
  readonly match: Precondition | null;
}

export type AccountAnswer =
  /** A bare object or list with its entity tag. */
  | { readonly kind: 'entries'; readonly answer: Answer; readonly isNew?: boolean }
  /** JSON text; `private` must not be cached. */
  | {
      readonly kind: 'json';
      readonly text: string;
      readonly privacy: 'shared' | 'private';
      readonly isNew?: boolean;
      readonly leftOut?: readonly LeftOut[];
    }
  | { readonly kind: 'redirect'; readonly to: string };

export type AccountAction = (request: AccountRequest) => Promise<Result<AccountAnswer>>;

/** @param leftOut parts of the request that had no effect. */
export const jsonAnswer = (value: unknown, leftOut: readonly LeftOut[] = []): Result<AccountAnswer> =>
  ok({ kind: 'json', text: JSON.stringify(value), privacy: 'shared', leftOut });

/** Wraps an action so that a `Refusal` thrown by it, outside any transaction, becomes its result. */
export const asAction =
  (action: (request: AccountRequest) => Promise<Result<AccountAnswer>>): AccountAction =>
  async (request) => {
    const result = await catchRefusal(() => action(request));
    return result.ok ? result.value : result;
  };

// ---- reading and writing entries

export const userType = (model: Model): EntryType => typeOf(model, USER_UID);
export const roleType = (model: Model): EntryType => typeOf(model, ROLE_UID);

/** With the server's own rights. */
export const ownContext = ({ model, settings }: AccountDeps): ResolveContext => ({
  ...settings,
  model,
  gate: serverGate,
  defaultLocale: null,
});

/** The caller's rights. Anyone who may change users may also set their role, as in v4. */
export const contextOf = ({ model, settings }: AccountDeps, caller: Caller): ResolveContext => {
  const gate = newGate(caller, model);
  return {
    ...settings,
    model,
    defaultLocale: null,
    gate: {
      ...gate,
      allows: (type, attribute, use) =>
        (use === 'write' && type.uid === USER_UID && attribute.name === 'role') || gate.allows(type, attribute, use),
    },
  };
};

/** For the values that a registration may give: as in v4 they take no permission of what they relate to. Creators are never given. */
export const registrationContext = (deps: AccountDeps): ResolveContext => ({
  ...ownContext(deps),
  gate: {
    ...serverGate,
    version: 'registration',
    allows: (type, attribute, use) =>
      !(attribute.kind === 'link' && attribute.source === 'creator') && serverGate.allows(type, attribute, use),
  },
});

export const passwordTooLong = (): Issue =>
  issue('account.password-too-long', ['password'], { bytesMax: limits.passwordBytesMax });

/** Hashes the passwords of a user; call it before the transaction that stores them. */
export const hashUserPasswords = async (
  { model }: AccountDeps,
  data: Readonly<Record<string, unknown>>,
): Promise<PasswordHashes> => {
  const { password } = data;
  if (typeof password === 'string' && !fitsBcrypt(password)) return refuse(passwordTooLong());
  return unwrap(await hashPasswords(data, userType(model), model));
};

/** The lock on users and roles. */
export const ACCOUNTS_LOCK = 'dovetail accounts';

/** One transaction that holds the lock on users and roles; afterwards cached callers are discarded. */
export const changeAccounts = <T>(deps: AccountDeps, work: (session: Session) => Promise<T>): Promise<T> =>
  changeBehind(deps, deps.db.dialect.lock([ACCOUNTS_LOCK]), work);

/**
 * The same for a change of one user, which others are made beside: code of the project may take long after it.
 * @param names that the user is to have, usernames and e-mails; no other is given one of them meanwhile, in any case.
 */
export const changeUser = <T>(
  deps: AccountDeps,
  names: readonly unknown[],
  work: (session: Session) => Promise<T>,
): Promise<T> => {
  const texts = names.filter((it) => typeof it === 'string' && isStorable(it)) as readonly string[];
  const locks = texts.map((it) => `account ${it.toLowerCase()}`);
  return changeBehind(deps, deps.db.dialect.lock(locks, [ACCOUNTS_LOCK]), work);
};

/** Whether a database can store the text. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

const changeBehind = async <T>(
  { callers, writer }: AccountDeps,
  lock: Statement | null,
  work: (session: Session) => Promise<T>,
): Promise<T> => {
  const result = await writer.transaction(async (session) => {
    if (lock) await session.tx.run(lock);
    return work(session);
  });
  callers.forget();
  return result;
};

/** Only the values whose attribute exists: a project may override the user type with its own schema file. */
export const knownOnly = (values: Readonly<Record<string, unknown>>, type: EntryType): Record<string, unknown> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => type.attributes.has(name)));

/** @param tx a transaction that is to read them. */
export const readSettings = async (
  { db }: AccountDeps,
  names: readonly SettingName[],
  tx?: Tx,
): Promise<UserSettings> => {
  const statement = settingsStatement(names, db.dialect);
  return settingsOf(tx ? await tx.run(statement) : await db.read(() => readRows(statement)));
};

// ---- forms

type Form<Name extends string> = Readonly<Record<Name, string>>;

/** Required strings of a body; all faults are reported together, without values, since people type passwords into the wrong fields. */
export const readForm = <Name extends string>(body: unknown, names: readonly Name[]): Result<Form<Name>> => {
  const given = isObject(body) ? body : {};
  const issues: Issue[] = [];
  const values = names.map((name): [Name, string] => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined || value === null || value === '') issues.push(issue('account.required', [name]));
    else if (typeof value !== 'string')
      issues.push(issue('body.type', [name], { expected: 'string', value: undefined }));
    else if (value.includes('\0') || !value.isWellFormed()) issues.push(issue('body.text', [name]));
    return [name, typeof value === 'string' ? value : ''];
  });
  return issues.length > 0 ? { ok: false, issues } : ok(Object.fromEntries(values) as Form<Name>);
};
