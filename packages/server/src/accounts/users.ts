/** `/users`: the read and the write line with bare objects (contract 8.4), and the rules that only users have. */
import { sql } from 'kysely';
import { fitsBcrypt } from '../access/passwords.js';
import { type Issue, issue, ok, Refusal, type Result, refused } from '../errors.js';
import type { EntryType } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { ReadAction } from '../query/selection.js';
import type { Answer } from '../read/find.js';
import type { Dialect, Tx } from '../sql/dialect.js';
import type { WriteAction } from '../write/apply.js';
import type { PasswordHashes } from '../write/passwords.js';
import {
  type AccountAction,
  type AccountDeps,
  type AccountRequest,
  answering,
  changing,
  contextOf,
  granted,
  hashUserPasswords,
  idOf,
  isObject,
  jsonAnswer,
  ownContext,
  passwordTooLong,
  readSettings,
  refuse,
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
  const { reader, writer, model, db } = deps;
  const type = userType(model);

  const read = async (
    action: ReadAction,
    id: number | null,
    search: string,
    request: AccountRequest,
  ): Promise<Result<{ readonly kind: 'entries'; readonly answer: Answer }>> => {
    const answer = await reader.read({ action, type, id, search, form: 'plain' }, contextOf(deps, request.caller));
    return answer.ok ? ok({ kind: 'entries', answer: answer.value }) : absentUser(answer.issues);
  };

  const write = async (
    action: WriteAction,
    data: unknown,
    request: AccountRequest,
    hashes: PasswordHashes,
    tx: Tx,
    search = request.search,
  ): Promise<Answer> => {
    const id = action === 'create' ? null : request.id;
    const asked = {
      action,
      type,
      id,
      body: { data },
      search,
      ifMatch: request.ifMatch,
      form: 'plain',
      hashes,
    } as const;
    return writer.writeInside(asked, contextOf(deps, request.caller), tx);
  };

  return {
    find: answering((request) => read('find', null, paginationOf(request.search), request)),

    count: answering(async ({ caller, search }) => {
      const answer = await reader.read(
        { action: 'find', type, id: null, search: conditionsOf(search, type) },
        contextOf(deps, caller),
      );
      if (!answer.ok) return answer;
      const { meta } = JSON.parse(answer.value.body.toString()) as { meta: { pagination: { total: number } } };
      return jsonAnswer(meta.pagination.total, answer.value.leftOut);
    }),

    me: answering(async (request) =>
      request.caller.who.kind === 'user'
        ? read('findOne', request.caller.who.id, request.search, request)
        : refused(issue('http.no-user', [])),
    ),

    findOne: answering(async (request) =>
      request.id === null ? noUser() : read('findOne', request.id, request.search, request),
    ),

    create: answering(async (request) => {
      const data = granted(readUser(request.body));
      const missing = ['username', 'email', 'password', 'role'].filter((name) => data[name] == null);
      if (missing.length > 0) return refused(...missing.map((name) => issue('account.required', [name])));
      const settings = await readSettings(deps, ['advanced']);
      const search = withRole(request.search);
      const hashes = await hashUserPasswords(deps, data);
      const answer = await changing(deps, async (tx) => {
        const named = { ...data, ...(await namesOf(data, null, settings.uniqueEmail, tx, db.dialect)) };
        const made = await write('create', { ...named, provider: 'local' }, request, hashes, tx, search);
        // a list of none, or one that only takes away, is a role in form alone
        if (!(await hasRole(idOf(made), tx, db.dialect))) return refuse(issue('account.required', ['role']));
        return made;
      });
      return ok({ kind: 'entries', answer, isNew: true });
    }),

    update: answering(async (request) => {
      const { id } = request;
      if (id === null) return noUser();
      const given = readUser(request.body);
      if (!given.ok) {
        // an absent user is 404 whatever the body
        const user = await read('findOne', id, 'fields=id', request);
        return user.ok ? given : user;
      }
      const data = given.value;
      const settings = await readSettings(deps, ['advanced']);
      const hashes = await hashUserPasswords(deps, data);
      return changed(async (tx) => {
        const names = await namesOf(data, id, settings.uniqueEmail, tx, db.dialect);
        return write(
          'update',
          { ...withoutCodes(data, type), ...names },
          request,
          hashes,
          tx,
          withRole(request.search),
        );
      });
    }),

    destroy: answering(async (request) =>
      request.id === null ? noUser() : changed((tx) => write('delete', undefined, request, new Map(), tx)),
    ),
  };

  async function changed(work: (tx: Tx) => Promise<Answer>): Promise<Result<{ kind: 'entries'; answer: Answer }>> {
    try {
      return ok({ kind: 'entries', answer: await changing(deps, work) });
    } catch (fault) {
      if (fault instanceof Refusal) return absentUser(fault.issues);
      throw fault;
    }
  }
};

const noUser = (): Result<never> => refused(issue('account.user-absent', []));

/** What the lines call an entry that is not there is a user here (contract 5). */
const absentUser = (issues: readonly Issue[]): Result<never> =>
  issues[0]?.code === 'http.not-found' ? noUser() : { ok: false, issues };

// ---- bodies

/** The body itself is the user: it is not wrapped in `data`. */
const readUser = (body: unknown): Result<Readonly<Record<string, unknown>>> => {
  if (!isObject(body)) return refused(issue('body.data-type', [], { value: null }));
  const { password } = body;
  return typeof password === 'string' && !fitsBcrypt(password) ? refused(passwordTooLong()) : ok(body);
};

/** A new password makes codes for another one void. */
const withoutCodes = (data: Readonly<Record<string, unknown>>, type: EntryType): Readonly<Record<string, unknown>> =>
  data['password'] !== undefined && type.attributes.has('resetPasswordToken')
    ? { resetPasswordToken: null, ...data }
    : data;

/**
 * The e-mail in lower case, after the look for users who have one of the names already: names of one user and e-mails of
 * another may not be equal either, because either identifies. The write line looks for equal names of new users.
 */
const namesOf = async (
  { username, email }: Readonly<Record<string, unknown>>,
  id: number | null,
  uniqueEmail: boolean,
  tx: Tx,
  dialect: Dialect,
): Promise<{ readonly email?: string }> => {
  // what no database stores is nobody's name; it is refused with the user
  const textOf = (it: unknown): string | null =>
    typeof it === 'string' && it.isWellFormed() && !it.includes('\0') ? it : null;
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

/** A user by the server's own hand: registered, or made on the command line. Gives its id. */
export const createUser = async (
  deps: AccountDeps,
  data: Readonly<Record<string, unknown>>,
  hashes: PasswordHashes,
  tx: Tx,
  context: ResolveContext = ownContext(deps),
): Promise<number> => {
  const asked = { action: 'create', type: userType(deps.model), id: null, body: { data }, ifMatch: null } as const;
  return idOf(await deps.writer.writeInside({ ...asked, search: 'fields=id', hashes }, context, tx));
};

// ---- query strings

/** Users that were written are shown with their role, to those who may see roles (contract 8.4). */
const withRole = (search: string): string =>
  /(^|&)populate/.test(search) ? search : [search, 'populate=role'].filter((it) => it !== '').join('&');

const pairsOf = (search: string): readonly { readonly text: string; readonly key: string }[] =>
  search
    .split('&')
    .filter((it) => it !== '')
    .map((text) => {
      const key = text.split('=', 1)[0]!.replaceAll('+', ' ');
      try {
        return { text, key: decodeURIComponent(key) };
      } catch {
        return { text, key };
      }
    });

/** `start` and `limit` of users stand at the top level in v4; here they are bounded like any pagination (contract 12, row 83). */
const paginationOf = (search: string): string =>
  search.replaceAll(/(^|&)(start|limit)=/g, (_whole, before: string, name: string) => `${before}pagination[${name}]=`);

/** What shapes a list and not its number. */
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

/** `filters` and `_q`, and v4's plain `attribute=value`: any other key is a condition, and the read line refuses unknown ones. */
const conditionsOf = (search: string, type: EntryType): string => {
  const conditions = pairsOf(search).flatMap(({ text, key }) => {
    if (key.startsWith('filters') || key === '_q' || key.startsWith('_q[')) return [text];
    const [name = ''] = key.split('[', 1);
    if (listParameters.has(name) && !type.attributes.has(name)) return [];
    const value = text.includes('=') ? text.slice(text.indexOf('=')) : '';
    return [`${encodeURIComponent(`filters[${name}]${key.slice(name.length)}`)}${value}`];
  });
  return [...conditions, 'fields=id', 'pagination[pageSize]=1', 'pagination[withCount]=true'].join('&');
};
