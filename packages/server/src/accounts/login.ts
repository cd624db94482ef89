/** Login, registration, e-mail confirmation and password changes (AC9). */
import { sql } from 'kysely';
import cloneDeep from 'lodash/cloneDeep.js';
import type { Caller } from '../access/access.js';
import { fitsBcrypt, isPassword } from '../access/passwords.js';
import type { MailName, UserSettings } from '../access/settings.js';
import { isSame } from '../access/tokens.js';
import { issue, ok, type Result, refuse, refused, unwrap } from '../errors.js';
import type { EntryType } from '../model/model.js';
import { noQuery } from '../query/objects.js';
import { textOfSearch } from '../query/searches.js';
import type { Tx } from '../sql/dialect.js';
import { leftByHooks } from '../write/answer.js';
import { isObject } from '../write/ids.js';
import type { PasswordHashes } from '../write/passwords.js';
import { dropUnwritable } from '../write/places.js';
import type { Session } from '../write/session.js';
import {
  type AccountAction,
  type AccountAnswer,
  type AccountDeps,
  asAction,
  changeUser,
  contextOf,
  hashUserPasswords,
  jsonAnswer,
  knownOnly,
  ownContext,
  passwordTooLong,
  readForm,
  readSettings,
  registrationContext,
  type SeenUser,
  userType,
} from './account.js';
import { newCodes } from './codes.js';
import { mailOf } from './mail.js';
import { findUsers, findUsersInside, setTokenStatement, type UserKey, type UserRow } from './rows.js';
import { createUser } from './users.js';

export interface LoginActions {
  readonly login: AccountAction;
  readonly register: AccountAction;
  readonly confirmEmail: AccountAction;
  readonly sendConfirmation: AccountAction;
  readonly forgotPassword: AccountAction;
  readonly resetPassword: AccountAction;
  readonly changePassword: AccountAction;
  /** External providers are not served (README, Limits). */
  readonly provider: AccountAction;
  /**
   * Stores a new token for the confirmation of a user, whatever its state. Returns what sends it by mail: if the transaction goes on,
   * that is only begun once it is committed, and nobody waits for it.
   */
  mailConfirmation(user: Addressee, session: Session): Promise<() => Promise<void>>;
  /** Waits for mails being sent. */
  idle(): Promise<void>;
}

/** What of a user its mails say. */
export type Addressee = Pick<UserRow, 'id' | 'username' | 'email'>;

/** A user, with how it is shown if code of the project has read it, too. */
interface FoundUser extends UserRow, Partial<Pick<SeenUser, 'show'>> {}

export const newLoginActions = (deps: AccountDeps): LoginActions => {
  const { db, jwts, model, reader, now } = deps;
  const codes = newCodes({ jwts, now, raw: deps.rawCodes ?? null });
  const { dialect } = db;
  const type = userType(model);
  const running = new Set<Promise<void>>();

  /** Background work, independent of the response: its time and outcome would reveal who has an account. */
  const beside = (work: () => Promise<void>): void => {
    const begun = work()
      .catch(deps.onFault)
      .finally(() => running.delete(begun));
    running.add(begun);
  };

  /** The user of a key; undefined if there is none, or code of the project does not show it. */
  const find = async (key: UserKey, session: Session | null = null): Promise<FoundUser | undefined> => {
    // a code that another request uses up meanwhile is gone once its row is locked
    const inside = session && { session, lock: () => findUsersInside(session.tx, key, dialect) };
    const seen = await deps.userReads?.lookUp(key, inside);
    if (seen === null) return undefined;
    const own: UserKey = seen ? { by: 'id', id: seen.id } : key;
    const [row] = session ? await findUsersInside(session.tx, own, dialect) : await findUsers(db, own);
    return row && { ...row, ...(seen ? { show: seen.show } : {}) };
  };

  /** `{ jwt, user }`, with the user as its role may see it. */
  const signedIn = async (user: FoundUser, caller: Caller): Promise<Result<AccountAnswer>> => {
    const shown = await shownOf(user, caller);
    const jwt = await jwts.sign(user.id, user.password);
    return ok({ kind: 'json', text: `{"jwt":${JSON.stringify(jwt)},"user":${shown}}`, privacy: 'private' });
  };

  const shownOf = async ({ id, show }: FoundUser, caller: Caller): Promise<string> => {
    if (show) return show(caller);
    const request = { action: 'findOne', type, id, query: noQuery, form: 'plain' } as const;
    return unwrap(await reader.read(request, contextOf(deps, caller))).body.toString();
  };

  const send = async (name: MailName, user: Addressee, code: string, settings: UserSettings): Promise<void> => {
    const url = name === 'reset_password' ? settings.resetPage : `${deps.apiUrl}/auth/email-confirmation`;
    const facts = { to: user.email, username: user.username, url, code };
    await deps.mail.send(mailOf(name, settings.mails[name], facts));
  };

  /** Mails a new token; the database stores only its digest, so that read access to it is not enough to confirm. */
  const sendConfirmationTo = async (user: Addressee, settings: UserSettings): Promise<void> => {
    const token = await db.write((tx) => storeConfirmation(user, tx));
    await send('email_confirmation', user, token, settings);
  };

  /** Returns the new token. */
  const storeConfirmation = async (user: Addressee, tx: Tx): Promise<string> => {
    const { code, stored } = codes.make('confirmation');
    await tx.run(setTokenStatement(user.id, 'confirmation_token', stored, dialect));
    return code;
  };

  /** Stores a new password and returns the updated user. */
  const setPassword = async (
    user: FoundUser,
    password: string,
    hashes: PasswordHashes,
    session: Session,
  ): Promise<FoundUser> => {
    const data = knownOnly({ password, resetPasswordToken: null }, type);
    await deps.writer.apply({ action: 'update', type, id: user.id, data, hashes }, ownContext(deps), session);
    const [changed] = await findUsersInside(session.tx, { by: 'id', id: user.id }, dialect);
    return changed ? { ...user, ...changed } : refuse(issue('account.user-absent', []));
  };

  return {
    login: asAction(async ({ body, caller }) => {
      const { identifier, password } = unwrap(readForm(body, ['identifier', 'password']));
      const settings = await readSettings(deps, ['advanced', 'grant']);
      if (!settings.localLogin) return refused(issue('account.provider-disabled', []));
      const user = await find({ by: 'identifier', text: identifier });
      const isRight = await isPassword(password, user?.password ?? null);
      if (!user || !isRight) return refused(issue('account.login', []));
      if (settings.emailConfirmation && !user.confirmed) return refused(issue('account.not-confirmed', []));
      if (user.blocked) return refused(issue('account.blocked', []));
      return signedIn(user, caller);
    }),

    register: asAction(async ({ body, caller }) => {
      const settings = await readSettings(deps, ['advanced', 'email']);
      if (!settings.allowRegister) return refused(issue('account.registration-disabled', []));
      const form = unwrap(readForm(body, ['username', 'email', 'password']));
      const email = form.email.toLowerCase();
      const own = cloneDeep(offered(body, type, deps.registerFields));
      // the server writes all of it
      dropUnwritable(own, type, model);
      const data = {
        ...knownOnly({ blocked: false }, type),
        ...own,
        ...knownOnly({ provider: 'local', confirmed: !settings.emailConfirmation }, type),
        ...form,
        email,
      };
      const hashes = await hashUserPasswords(deps, data);
      const user = await changeUser(deps, [form.username, email], async (session) => {
        const { tx } = session;
        const namesakes = await findUsersInside(tx, { by: 'names', username: form.username, email }, dialect);
        if (namesakes.some((it) => settings.uniqueEmail || it.provider === 'local'))
          return refuse(issue('account.taken', []));
        const [[role] = []] = await tx.run(
          dialect.compile(
            sql`select id from up_roles where type = ${dialect.bind('string', settings.defaultRole)} order by id limit 1`,
          ),
        );
        if (role === undefined) return refuse(issue('account.default-role-missing', []));
        const made = await createUser(deps, { ...data, role }, hashes, session, registrationContext(deps));
        const found = (await find({ by: 'id', id: made.id }, session)) ?? refuse(issue('account.user-absent', []));
        const seen = leftByHooks(caller, made);
        return seen ? { ...found, show: (to: Caller) => seen.show(to, null) } : found;
      });
      if (!settings.emailConfirmation) return signedIn(user, caller);
      beside(() => sendConfirmationTo(user, settings));
      return ok({ kind: 'json', text: `{"user":${await shownOf(user, caller)}}`, privacy: 'private' });
    }),

    confirmEmail: asAction(async ({ search }) => {
      const token = new URLSearchParams(textOfSearch(search)).get('confirmation') ?? '';
      if (token === '') return refused(issue('account.required', ['confirmation']));
      const texts = codes.storedFor('confirmation', token);
      if (texts.length === 0) return refused(issue('account.confirmation', []));
      const settings = await readSettings(deps, ['advanced']);
      await changeUser(deps, [], async (session) => {
        const user = await find({ by: 'confirmationToken', texts }, session);
        if (!user) return refuse(issue('account.confirmation', []));
        const data = knownOnly({ confirmed: true, confirmationToken: null }, type);
        return deps.writer.apply({ action: 'update', type, id: user.id, data }, ownContext(deps), session);
      });
      return ok({ kind: 'redirect', to: settings.confirmedPage ?? '/' });
    }),

    sendConfirmation: asAction(async ({ body }) => {
      const { email } = unwrap(readForm(body, ['email']));
      beside(async () => {
        const user = await find({ by: 'email', text: email });
        if (!user || user.confirmed || user.blocked) return;
        await sendConfirmationTo(user, await readSettings(deps, ['email']));
      });
      return jsonAnswer({ email: email.toLowerCase(), sent: true });
    }),

    forgotPassword: asAction(async ({ body }) => {
      const { email } = unwrap(readForm(body, ['email']));
      beside(async () => {
        const user = await find({ by: 'email', text: email });
        if (!user || user.blocked) return;
        const { code, stored } = codes.make('reset');
        await db.write((tx) => tx.run(setTokenStatement(user.id, 'reset_password_token', stored, dialect)));
        await send('reset_password', user, code, await readSettings(deps, ['advanced', 'email']));
      });
      return jsonAnswer({ ok: true });
    }),

    resetPassword: asAction(async ({ body, caller }) => {
      const { code, password } = unwrap(readNewPassword(body, 'code'));
      const wrong = (): never => refuse(issue('account.reset-code', []));
      const texts = codes.storedFor('reset', code);
      if (texts.length === 0) return wrong();
      const hashes = await hashUserPasswords(deps, { password });
      const user = await changeUser(deps, [], async (session) => {
        const found = await find({ by: 'resetPasswordToken', texts }, session);
        return found && !found.blocked ? setPassword(found, password, hashes, session) : wrong();
      });
      return signedIn(user, caller);
    }),

    changePassword: asAction(async ({ body, caller }) => {
      if (caller.who.kind !== 'user') return refused(issue('http.no-user', []));
      const { id } = caller.who;
      const { currentPassword, password } = unwrap(readNewPassword(body, 'currentPassword'));
      const wrong = (): never => refuse(issue('account.current-password', []));
      const known = await find({ by: 'id', id });
      if (!known || !(await isPassword(currentPassword, known.password))) return wrong();
      if (currentPassword === password) return refused(issue('account.same-password', []));
      const hashes = await hashUserPasswords(deps, { password });
      const user = await changeUser(deps, [], async (session) => {
        const [found] = await findUsersInside(session.tx, { by: 'id', id }, dialect);
        // another request may have changed it since it was compared
        return found && isSame(found.password ?? '', known.password ?? '')
          ? setPassword({ ...known, ...found }, password, hashes, session)
          : wrong();
      });
      return signedIn(user, caller);
    }),

    mailConfirmation: async (user, session) => {
      const settings = await readSettings(deps, ['email'], session.tx);
      const token = await storeConfirmation(user, session.tx);
      const mail = () => send('email_confirmation', user, token, settings);
      return async () => {
        if (session.hasEnded()) await mail();
        else session.endings.push({ when: 'committed', run: () => beside(mail) });
      };
    },

    provider: async () => refused(issue('account.provider-disabled', [])),

    idle: async () => {
      while (running.size > 0) await Promise.all(running);
    },
  };
};

// ---- forms

/** Attributes that only the server sets on registration; ignored in the body, as in v4. */
const serverSays: ReadonlySet<string> = new Set([
  'id',
  'role',
  'confirmed',
  'provider',
  'resetPasswordToken',
  'confirmationToken',
]);

/**
 * Further attributes accepted on registration: none that grants rights.
 * @param fields those that the project names, private ones and `blocked` too, as in v4; null: all others.
 */
const offered = (body: unknown, type: EntryType, fields: readonly string[] | null): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(isObject(body) ? body : {}).filter(
      ([name]) =>
        !serverSays.has(name) &&
        (fields ? fields.includes(name) : name !== 'blocked' && type.attributes.get(name)?.hidden !== true),
    ),
  );

const readNewPassword = <Name extends string>(
  body: unknown,
  name: Name,
): Result<Readonly<Record<Name | 'password', string>>> => {
  const form = readForm(body, [name, 'password', 'passwordConfirmation']);
  if (!form.ok) return form;
  const { password, passwordConfirmation } = form.value as Readonly<Record<string, string>>;
  if (password !== passwordConfirmation) return refused(issue('account.passwords-differ', ['passwordConfirmation']));
  return fitsBcrypt(password ?? '') ? ok(form.value) : refused(passwordTooLong());
};
