/** Looks up user rows, with the few columns that logging in needs. */
import { sql } from 'kysely';
import { isTrue } from '../access/caller.js';
import { type Db, type Dialect, type Rows, readRows, type Sql, type Statement, type Tx } from '../sql/dialect.js';

export interface UserRow {
  readonly id: number;
  readonly username: string;
  readonly email: string;
  readonly provider: string | null;
  /** A bcrypt hash; null for users of other providers. */
  readonly password: string | null;
  readonly confirmed: boolean;
  readonly blocked: boolean;
}

const statementOf = (condition: Sql, dialect: Dialect, lock: 'plain' | 'locked'): Statement =>
  dialect.compile(
    sql`select id, username, email, provider, password, confirmed, blocked from up_users where ${condition} order by id${lock === 'locked' ? dialect.forUpdate : sql``}`,
  );

const rowsOf = (rows: Rows): readonly UserRow[] =>
  rows.map(([id, username, email, provider, password, confirmed, blocked]) => ({
    id: id as number,
    username: (username as string | null) ?? '',
    email: (email as string | null) ?? '',
    provider: provider as string | null,
    password: password as string | null,
    confirmed: isTrue(confirmed),
    blocked: isTrue(blocked),
  }));

export type UserKey =
  | { readonly by: 'id'; readonly id: number }
  | { readonly by: 'email'; readonly text: string }
  /** Any of the texts. */
  | { readonly by: 'resetPasswordToken' | 'confirmationToken'; readonly texts: readonly string[] }
  /** A local user by e-mail, in any case, or name (AC8). */
  | { readonly by: 'identifier'; readonly text: string }
  /** The users that have either value as username or e-mail. */
  | { readonly by: 'names'; readonly username: string | null; readonly email: string | null };

const conditionOf = (key: UserKey, dialect: Dialect): Sql => {
  const text = (value: string): Sql => dialect.bind('string', value);
  switch (key.by) {
    case 'id':
      return sql`id = ${dialect.bind('id', key.id)}`;
    case 'email':
      return sql`email = ${text(key.text.toLowerCase())}`;
    case 'resetPasswordToken':
      return sql`reset_password_token in (${sql.join(key.texts.map(text))})`;
    case 'confirmationToken':
      return sql`confirmation_token in (${sql.join(key.texts.map(text))})`;
    case 'identifier':
      return sql`provider = 'local' and (email = ${text(key.text.toLowerCase())} or username = ${text(key.text)})`;
    case 'names': {
      const names = [...new Set([key.username, key.username?.toLowerCase(), key.email])].filter((it) => it != null);
      if (names.length === 0) return sql`1 = 0`;
      const list = sql.join(names.map(text));
      return sql`(email in (${list}) or username in (${list}))`;
    }
  }
};

export const findUsers = async (db: Db, key: UserKey): Promise<readonly UserRow[]> =>
  rowsOf(await db.read(() => readRows(statementOf(conditionOf(key, db.dialect), db.dialect, 'plain'))));

export const findUsersInside = async (tx: Tx, key: UserKey, dialect: Dialect): Promise<readonly UserRow[]> =>
  rowsOf(await tx.run(statementOf(conditionOf(key, dialect), dialect, 'locked')));

/** Stores what is kept of a code sent by mail, without changing `updated_at`. */
export const setTokenStatement = (
  id: number,
  column: 'reset_password_token' | 'confirmation_token',
  stored: string,
  dialect: Dialect,
): Statement =>
  dialect.compile(
    sql`update up_users set ${sql.ref(column)} = ${dialect.bind('string', stored)} where id = ${dialect.bind('id', id)}`,
  );

/** A user as `user list` shows it. */
export interface ListedUser {
  readonly id: number;
  readonly username: string;
  readonly email: string;
  readonly role: string | null;
  readonly blocked: boolean;
  readonly confirmed: boolean;
}

export const listUsers = async (db: Db): Promise<readonly ListedUser[]> => {
  const query = sql`
    select u.id, u.username, u.email, r.type, u.blocked, u.confirmed from up_users u
    left join up_users_role_links l on l.user_id = u.id left join up_roles r on r.id = l.role_id order by u.id`;
  const rows = await db.read(() => readRows(db.dialect.compile(query)));
  return rows.map(([id, username, email, role, blocked, confirmed]) => ({
    id: id as number,
    username: (username as string | null) ?? '',
    email: (email as string | null) ?? '',
    role: role as string | null,
    blocked: isTrue(blocked),
    confirmed: isTrue(confirmed),
  }));
};

export const setBlockedStatement = (id: number, blocked: boolean, now: number, dialect: Dialect): Statement =>
  dialect.compile(
    sql`update up_users set blocked = ${dialect.bind('boolean', blocked)}, updated_at = ${dialect.bind('datetime', now)} where id = ${dialect.bind('id', id)}`,
  );
