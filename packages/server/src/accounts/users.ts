/** `/users`: reads and writes with bare objects (AC15), and the rules that apply only to users. */
import { sql } from 'kysely';
import type { Caller } from '../access/access.js';
import { fitsBcrypt } from '../access/passwords.js';
import { catchRefusal, type Issue, issue, ok, type Result, refuse, refused, unwrap } from '../errors.js';
import type { EntryType } from '../model/model.js';
import type { Grammar } from '../query/brackets.js';
import { objectQuery } from '../query/objects.js';
import { parameterName } from '../query/parameters.js';
import { type QuerySource, withDefaults } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import { searchQuery } from '../query/searches.js';
import type { ReadAction } from '../query/selection.js';
import { answerOf } from '../read/answer.js';
import type { Dialect, Tx } from '../sql/dialect.js';
import { applyAndAnswer, leftByHooks, shownTo } from '../write/answer.js';
import { isObject } from '../write/ids.js';
import type { PasswordHashes } from '../write/passwords.js';
import type { WriteRequest, Written } from '../write/request.js';
import type { Session } from '../write/session.js';
import {
  type AccountAction,
  type AccountAnswer,
  type AccountDeps,
  type AccountRequest,
  asAction,
  changeUser,
  contextOf,
  hashUserPasswords,
  isStorable,
  jsonAnswer,
  ownContext,
  passwordTooLong,
  readSettings,
  userType,
} from './account.js';
import { findUsersInside } from './rows.js';

export interface UserActions {
  readonly find: AccountAction;
  readonly count: AccountAction;
  readonly me: AccountAction;
  readonly findOne: AccountAction;
  readonly create: AccountAction;
  readonly update: AccountAction;
  readonly destroy: AccountAction;
}

export const newUserActions = (deps: AccountDeps): UserActions => {
  const { reader, model, db } = deps;
  const type = userType(model);
  /** Hooks of reads, of which those of administrators hear nothing: what they see is bounded by conditions (AD14). */
  const heardReads = ({ rights }: Caller) => (rights ? undefined : deps.userReads);

  /** What of a query has no effect. */
  const leftOutOf = (query: QuerySource, action: ReadAction, context: ResolveContext) =>
    unwrap(reader.check({ action, type, id: null, query, form: 'plain' }, context));

  const read = async (
    action: ReadAction,
    id: number | null,
    query: QuerySource,
    { caller }: AccountRequest,
  ): Promise<Result<Shown>> => {
    const context = contextOf(deps, caller);
    const seen = await heardReads(caller)?.read({ id, query, caller, context });
    if (seen === null) return noUser();
    if (seen !== undefined)
      return ok({ kind: 'json', text: seen, privacy: 'private', leftOut: leftOutOf(query, action, context) });
    const answer = await reader.read({ action, type, id, query, form: 'plain' }, context);
    return answer.ok ? ok({ kind: 'entries', answer: answer.value }) : absentUser(answer.issues);
  };

  /** The response to a write includes the user's role if the caller may see roles (AC16). */
  const write = async (
    request: WriteRequest,
    { caller, search }: AccountRequest,
    session: Session,
  ): Promise<Changed> => {
    const isDeletion = request.action === 'delete';
    const given = searchQuery(search);
    const query = isDeletion ? given : withDefaults(given, withRole);
    const context = contextOf(deps, caller);
    const see = async (id: number | null) =>
      id === null ? undefined : heardReads(caller)?.read({ id, query, caller, context }, session);
    const before = isDeletion ? await see(request.id) : undefined;
    const { written, answer } = await applyAndAnswer(request, { query, form: 'plain' }, context, session, deps);
    const isSelected = selects(given);
    // what hooks of writes have left has passed those of reads
    const isPassed = !isSelected && leftByHooks(caller, written) !== null;
    const found = isDeletion ? before : isPassed ? undefined : await see(written.id);
    const asked = found === undefined ? answer : answerOf(found ?? 'null', null, answer.leftOut);
    const left = shownTo(caller, { written, answer: asked }, { isSelected });
    const shown: Shown =
      left === answer
        ? { kind: 'entries', answer }
        : { kind: 'json', text: left.body.toString(), privacy: 'private', leftOut: left.leftOut };
    return { id: written.id, shown };
  };

  /** @param data names that it sets. */
  const change = async (
    id: number,
    caller: Caller,
    data: Readonly<Record<string, unknown>>,
    work: (session: Session) => Promise<Changed>,
  ): Promise<Result<Shown>> => {
    // v4 reads a user before it changes it
    if ((await heardReads(caller)?.lookUp({ by: 'id', id }, null)) === null) return noUser();
    const result = await catchRefusal(() => changeUser(deps, [data['username'], data['email']], work));
    return result.ok ? ok(result.value.shown) : absentUser(result.issues);
  };

  return {
    find: asAction((request) => read('find', null, searchQuery(request.search, listGrammar), request)),

    count: asAction(async ({ caller, search }) => {
      const query = searchQuery(search, countGrammar(type));
      const context = contextOf(deps, caller);
      const seen = await heardReads(caller)?.count({ query, caller, context });
      if (seen !== undefined) return jsonAnswer(seen, leftOutOf(query, 'find', context));
      const { total, leftOut } = unwrap(await reader.count({ type, query }, context));
      return jsonAnswer(total, leftOut);
    }),

    me: asAction(async (request) =>
      request.caller.who.kind === 'user'
        ? read('findOne', request.caller.who.id, searchQuery(request.search), request)
        : refused(issue('http.no-user', [])),
    ),

    findOne: asAction(async (request) =>
      request.id === null ? noUser() : read('findOne', request.id, searchQuery(request.search), request),
    ),

    create: asAction(async (request) => {
      const data = unwrap(readUser(request.body));
      const missing = ['username', 'email', 'password', 'role'].filter((name) => data[name] == null);
      if (missing.length > 0) return refused(...missing.map((name) => issue('account.required', [name])));
      const { match } = request;
      const settings = await readSettings(deps, ['advanced']);
      const hashes = await hashUserPasswords(deps, data);
      const { shown } = await changeUser(deps, [data['username'], data['email']], async (session) => {
        const names = await namesOf(data, null, settings.uniqueEmail, session.tx, db.dialect);
        const user = { ...data, ...names, provider: 'local' };
        const made = await write(
          { action: 'create', type, data: user, ownNames: addedTo(data, user), match, hashes },
          request,
          session,
        );
        // an empty list, or one that only disconnects, sets no role
        if (!(await hasRole(made.id, session.tx, db.dialect))) return refuse(issue('account.required', ['role']));
        return made;
      });
      return ok({ ...shown, isNew: true });
    }),

    update: asAction(async (request) => {
      const { id, match } = request;
      if (id === null) return noUser();
      const given = readUser(request.body);
      if (!given.ok) {
        // a missing user is a 404 whatever the body
        const user = await read('findOne', id, idOnly, request);
        return user.ok ? given : user;
      }
      const data = given.value;
      const settings = await readSettings(deps, ['advanced']);
      const hashes = await hashUserPasswords(deps, data);
      return change(id, request.caller, data, async (session) => {
        const names = await namesOf(data, id, settings.uniqueEmail, session.tx, db.dialect);
        const user = { ...withoutCodes(data, type), ...names };
        return write(
          { action: 'update', type, id, data: user, ownNames: addedTo(data, user), match, hashes },
          request,
          session,
        );
      });
    }),

    destroy: asAction(async (request) => {
      const { id, match } = request;
      if (id === null) return noUser();
      return change(id, request.caller, {}, (session) =>
        write({ action: 'delete', type, id, match }, request, session),
      );
    }),
  };
};

type Shown = Exclude<AccountAnswer, { readonly kind: 'redirect' }>;

interface Changed {
  readonly id: number;
  readonly shown: Shown;
}

const noUser = (): Result<never> => refused(issue('account.user-absent', []));

/** Words a missing entry as a missing user (AC15). */
const absentUser = (issues: readonly Issue[]): Result<never> =>
  issues[0]?.code === 'http.not-found' ? noUser() : { ok: false, issues };

// ---- bodies

/** The body is the user itself, not wrapped in `data`. */
const readUser = (body: unknown): Result<Readonly<Record<string, unknown>>> => {
  if (!isObject(body)) return refused(issue('body.data-type', [], { value: null }));
  const { password } = body;
  return typeof password === 'string' && !fitsBcrypt(password) ? refused(passwordTooLong()) : ok(body);
};

/** The attributes that a body does not have. */
const addedTo = (body: object, data: object): ReadonlySet<string> =>
  new Set(Object.keys(data).filter((name) => !Object.hasOwn(body, name)));

/** A new password invalidates pending reset codes. */
const withoutCodes = (data: Readonly<Record<string, unknown>>, type: EntryType): Readonly<Record<string, unknown>> =>
  data['password'] !== undefined && type.attributes.has('resetPasswordToken')
    ? { resetPasswordToken: null, ...data }
    : data;

/**
 * Lowercases the e-mail and refuses names that are taken. A username must not equal another user's e-mail either, because
 * either one identifies a user. The uniqueness of new usernames is checked by the write.
 */
const namesOf = async (
  { username, email }: Readonly<Record<string, unknown>>,
  id: number | null,
  uniqueEmail: boolean,
  tx: Tx,
  dialect: Dialect,
): Promise<{ readonly email?: string }> => {
  // skip texts that no database can store; the write refuses them
  const textOf = (it: unknown): string | null => (typeof it === 'string' && isStorable(it) ? it : null);
  const lower = textOf(email)?.toLowerCase() ?? null;
  const name = textOf(username);
  const found = await findUsersInside(tx, { by: 'names', username: name, email: lower }, dialect);
  const others = found.filter((it) => it.id !== id);
  if (others.some((it) => lower !== null && ((uniqueEmail && it.email === lower) || it.username === lower)))
    return refuse(issue('account.email-taken', []));
  const isSame = others.some((it) => it.username === name);
  const isLike = others.some((it) => name !== null && it.email === name.toLowerCase());
  if (isLike || (isSame && id !== null)) return refuse(issue('account.username-taken', []));
  return lower === null ? {} : { email: lower };
};

const hasRole = async (id: number, tx: Tx, dialect: Dialect): Promise<boolean> => {
  const user = dialect.bind('id', id);
  const rows = await tx.run(dialect.compile(sql`select 1 from up_users_role_links where user_id = ${user} limit 1`));
  return rows.length > 0;
};

/** Creates a user, for registration and the command line. */
export const createUser = async (
  deps: AccountDeps,
  data: Readonly<Record<string, unknown>>,
  hashes: PasswordHashes,
  session: Session,
  context: ResolveContext = ownContext(deps),
): Promise<Written> =>
  deps.writer.apply({ action: 'create', type: userType(deps.model), data, hashes }, context, session);

// ---- queries

const withRole = objectQuery({ populate: 'role' });
const idOnly = objectQuery({ fields: ['id'] });

/** Whether a query says what of a user is shown. */
const selects = (query: QuerySource): boolean => {
  const given = unwrap(query.read());
  return given.has('fields') || given.has('populate');
};

/** v4 takes `start` and `limit` of users at the top level; here they are bounded like any pagination (AC15). */
const listGrammar: Grammar = {
  name: 'users',
  place: (segments) => {
    const [name] = segments;
    return segments.length === 1 && (name === 'start' || name === 'limit') ? ['pagination', name] : segments;
  },
};

/** Parameters that shape a list but not its count. */
const listParameters: ReadonlySet<string> = new Set([
  'fields',
  'populate',
  'sort',
  'pagination',
  'start',
  'limit',
  'publicationState',
  'locale',
]);

/** `filters`, `_q` and v4's plain `attribute=value`: any other key is a condition, and resolving refuses unknown ones. */
const countGrammar = (type: EntryType): Grammar => ({
  name: 'users/count',
  place: (segments) => {
    const [name = ''] = segments;
    if (name === 'filters' || name === '_q' || parameterName(name).kind === 'malformed') return segments;
    return listParameters.has(name) && !type.attributes.has(name) ? null : ['filters', ...segments];
  },
});
