/** The commands `token`, `user` and `role`. A running server picks up changes within a second. */
import crypto from 'node:crypto';
import type { Action } from '../../access/permissions.js';
import type { TokenType } from '../../access/tokens.js';
import { type AccountDeps, changeAccounts, hashUserPasswords, knownOnly, userType } from '../../accounts/account.js';
import { grantableActions, type RoleRow, readActions, readRoles, setActions } from '../../accounts/roles.js';
import { findUsersInside, listUsers, setBlockedStatement } from '../../accounts/rows.js';
import { createToken, readTokens, revokeToken, tokenLifetimes } from '../../accounts/tokens.js';
import { createUser } from '../../accounts/users.js';
import { nearest } from '../../errors.js';
import { countOf, type Project } from '../project.js';
import { StartFault, UsageFault } from '../start-fault.js';
import { actionsOfCode } from '../v4project/running-code.js';
import { type LateSecrets, withSite } from '../with-site.js';

export interface TokenOptions {
  readonly project: string;
  readonly type: string;
  readonly expires: string;
  readonly name: string;
  readonly description: string;
  /** The actions of a custom token. */
  readonly allow: readonly string[];
}

const tokenTypes: readonly TokenType[] = ['read-only', 'full-access', 'custom'];
const dayMs = 24 * 60 * 60 * 1000;

/** Creates a token and prints its key, which is shown only once. */
export const createTokenCommand = async (options: TokenOptions): Promise<void> => {
  const type = tokenTypes.find((it) => it === options.type);
  if (!type) throw new UsageFault(`--type: expected ${tokenTypes.join(', ')}, not "${options.type}"`);
  const lifetimes = ['never', ...tokenLifetimes.map((days) => `${days}d`)];
  if (!lifetimes.includes(options.expires)) throw new UsageFault(`--expires: expected ${lifetimes.join(', ')}`);
  if (options.name.trim() === '') throw new UsageFault('--name: a token needs a name, by which it is found again');
  if (type === 'custom' && options.allow.length === 0)
    throw new UsageFault('--type custom needs --allow, such as --allow api::article.article.find');
  if (type !== 'custom' && options.allow.length > 0)
    throw new UsageFault(`--allow can be used with --type custom only; a ${type} token has fixed permissions`);
  await withAccounts(options.project, async (deps, { apiTokenSalt }, opened) => {
    const actions = await knownActions(options.allow, deps, opened);
    const lifetimeMs = options.expires === 'never' ? null : Number.parseInt(options.expires, 10) * dayMs;
    const { name, description } = options;
    const { key } = await changeAccounts(deps, (session) =>
      createToken({ name, description, type, lifetimeMs, actions }, apiTokenSalt(), deps, session),
    );
    process.stdout.write(`${key}\n`);
    process.stderr.write('The token is shown only this once. Send it as "Authorization: Bearer <token>".\n');
  });
};

/** Prints one line per token. */
export const listTokensCommand = (project: string): Promise<void> =>
  withAccounts(project, async (deps) => {
    const tokens = await readTokens(deps);
    if (tokens.length === 0) process.stderr.write('There are no tokens. Create one with token create.\n');
    for (const { id, type, expiresAt, lastUsedAt, name } of tokens)
      process.stdout.write(
        `${id}  ${type}  ${expiresAt === null ? 'never expires' : `expires ${expiresAt}`}  ${lastUsedAt === null ? 'never used' : `last used ${lastUsedAt}`}  ${name}\n`,
      );
  });

/** Deletes the token with that id or name. An ambiguous name is refused. */
export const revokeTokenCommand = (project: string, name: string): Promise<void> =>
  withAccounts(project, async (deps) => {
    const tokens = await readTokens(deps);
    const byId = tokens.filter((it) => String(it.id) === name);
    const found = byId.length > 0 ? byId : tokens.filter((it) => it.name === name);
    const [token, ...others] = found;
    if (!token) throw new StartFault(`There is no token "${name}". See token list.`);
    if (others.length > 0)
      throw new StartFault(`Several tokens are named "${name}": give the id, ${ids(found).join(' or ')}.`);
    await changeAccounts(deps, ({ tx }) => revokeToken(token.id, deps, tx));
    process.stderr.write(`token ${token.id} (${token.name}) revoked\n`);
  });

/** Prints one line per user. */
export const listUsersCommand = (project: string): Promise<void> =>
  withAccounts(project, async (deps) => {
    const users = await listUsers(deps.db);
    if (users.length === 0) process.stderr.write('There are no users. Create one with user create.\n');
    for (const { id, role, blocked, confirmed, email, username } of users)
      process.stdout.write(
        `${id}  ${role ?? '(no role)'}  ${blocked ? 'blocked' : confirmed ? 'confirmed' : 'not confirmed'}  ${email}  ${username}\n`,
      );
  });

/** Blocks or unblocks the user with that id, e-mail address or name. */
export const blockUserCommand = (project: string, name: string, blocked: boolean): Promise<void> =>
  withAccounts(project, async (deps) => {
    const users = await listUsers(deps.db);
    const user =
      users.find((it) => String(it.id) === name) ??
      users.find((it) => it.email === name.toLowerCase()) ??
      users.find((it) => it.username === name);
    if (!user) throw new StartFault(`There is no user "${name}". See user list.`);
    const statement = setBlockedStatement(user.id, blocked, deps.now(), deps.db.dialect);
    await changeAccounts(deps, ({ tx }) => tx.run(statement));
    process.stderr.write(`user ${user.id} (${user.email}) ${blocked ? 'blocked' : 'unblocked'}\n`);
  });

const ids = (rows: readonly { readonly id: number }[]): readonly number[] => rows.map((it) => it.id);

export interface UserOptions {
  readonly project: string;
  readonly username: string;
  readonly email: string;
  readonly role: string;
  readonly password?: string | undefined;
}

/** Creates a user. Prints the password if it was generated. */
export const createUserCommand = async ({ project, username, role, ...options }: UserOptions): Promise<void> => {
  await withAccounts(project, async (deps) => {
    const roleId = (await roleOf(role, deps)).id;
    const password = options.password ?? crypto.randomBytes(18).toString('base64url');
    const own = knownOnly({ provider: 'local', confirmed: true, blocked: false }, userType(deps.model));
    const email = options.email.toLowerCase();
    const data = { ...own, username, email, password, role: roleId };
    const hashes = await hashUserPasswords(deps, data);
    const id = await changeAccounts(deps, async (session) => {
      if ((await findUsersInside(session.tx, { by: 'names', username, email }, deps.db.dialect)).length > 0)
        throw new StartFault('A user with that name or e-mail address already exists.');
      return (await createUser(deps, data, hashes, session)).id;
    });
    process.stderr.write(`user ${id} created with the role ${role}\n`);
    if (options.password === undefined) process.stdout.write(`${password}\n`);
  });
};

/** Grants actions to a role, or takes them away. */
export const changeRoleCommand = (
  change: 'allow' | 'deny',
  project: string,
  roleName: string,
  actions: readonly string[],
): Promise<void> =>
  withAccounts(project, async (deps, _secrets, opened) => {
    const role = await roleOf(roleName, deps);
    const named = await knownActions(actions, deps, opened);
    await changeAccounts(deps, async ({ tx }) => {
      const wanted = new Set((await readActions(deps)).filter((it) => it.roleId === role.id).map((it) => it.action));
      for (const action of named) {
        if (change === 'allow') wanted.add(action);
        else wanted.delete(action);
      }
      await setActions(deps, role.id, wanted, tx);
    });
    process.stderr.write(`${role.type}: ${change === 'allow' ? 'may' : 'may not'} ${named.join(', ')}\n`);
  });

/** Prints the actions of all roles, or of one. */
export const listRolesCommand = (project: string, roleName: string | undefined): Promise<void> =>
  withAccounts(project, async (deps) => {
    const roles = roleName === undefined ? await readRoles(deps) : [await roleOf(roleName, deps)];
    const actions = await readActions(deps);
    if (roles.length === 0) process.stderr.write('There are no roles. Run start once: it creates them.\n');
    for (const role of roles) {
      const own = [...new Set(actions.filter((it) => it.roleId === role.id).map((it) => it.action))].sort();
      const title = `${role.type} (${role.name ?? ''}, id ${role.id}, ${countOf(role.nb_users, 'user')})`;
      process.stdout.write(`${[title, ...own.map((it) => `  ${it}`)].join('\n')}\n`);
    }
  });

// ----

/** Account commands run no hooks. */
const withAccounts = (
  dir: string,
  work: (accounts: AccountDeps, secrets: LateSecrets, project: Project) => Promise<void>,
): Promise<void> => withSite(dir, ({ accountDeps }, secrets, project) => work(accountDeps, secrets, project));

const roleOf = async (name: string, deps: AccountDeps): Promise<RoleRow> => {
  const roles = await readRoles(deps);
  const role = roles.find((it) => it.type === name) ?? roles.find((it) => it.name === name);
  if (role) return role;
  throw new StartFault(
    `There is no role "${name}". Roles: ${roles.map((it) => it.type).join(', ') || '(none: start the server once)'}`,
  );
};

const knownActions = async (
  names: readonly string[],
  deps: AccountDeps,
  project: Project,
): Promise<readonly Action[]> => {
  let known = await grantableActions(deps);
  // code of a v4 project is loaded only where it can tell more
  if (!names.every((it) => known.has(it))) known = new Set([...known, ...(await actionsOfCode(project, deps.db))]);
  for (const name of names) {
    if (known.has(name)) continue;
    const near = nearest(name, known);
    const hint = near === undefined ? '' : ` Did you mean ${near}?`;
    const late = project.code.some((it) => it.kind === 'run' && it.file.startsWith('src/index.'))
      ? ' Only the running server knows the actions of routes that src/index adds: grant them in the Studio.'
      : '';
    throw new StartFault(`There is no action "${name}".${hint}${late}`);
  }
  return names;
};
