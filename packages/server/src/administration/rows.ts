/** Looks up administrators, with the few columns that signing in needs. */
import { sql } from 'kysely';
import { maySignIn } from '../access/administrators.js';
import { isTrue } from '../access/caller.js';
import { type Db, type Dialect, type Rows, readRows, type Sql, type Statement, type Tx } from '../sql/dialect.js';

export interface AdminRow {
  readonly id: number;
  readonly firstname: string | null;
  readonly lastname: string | null;
  readonly email: string;
  /** A bcrypt hash; null for one who has not chosen a password yet. */
  readonly password: string | null;
  /** False for one who has not registered yet, or whom v4's panel has made inactive. */
  readonly isActive: boolean;
  readonly isBlocked: boolean;
  /** Whether they may sign in, given a password. */
  readonly maySignIn: boolean;
}

export interface AdminRoleRow {
  readonly id: number;
  readonly name: string;
  readonly code: string;
}

export type AdminKey =
  | { readonly by: 'id'; readonly id: number }
  | { readonly by: 'email'; readonly text: string }
  /** The digest of a one-time link (`invitations.ts`). */
  | { readonly by: 'registration'; readonly digest: string }
  | { readonly by: 'everybody' };

const conditionOf = (key: AdminKey, dialect: Dialect): Sql => {
  switch (key.by) {
    case 'id':
      return sql`id = ${dialect.bind('id', key.id)}`;
    case 'email':
      return sql`email = ${dialect.bind('string', emailOf(key.text))}`;
    case 'registration':
      return sql`registration_token = ${dialect.bind('string', key.digest)}`;
    case 'everybody':
      return sql`1 = 1`;
  }
};

/** v4 stores e-mail addresses in lower case. */
export const emailOf = (text: string): string => text.trim().toLowerCase();

const adminStatement = (key: AdminKey, dialect: Dialect, lock: 'plain' | 'locked'): Statement =>
  dialect.compile(
    sql`select id, firstname, lastname, email, password, is_active, blocked from admin_users where ${conditionOf(key, dialect)} order by id${lock === 'locked' ? dialect.forUpdate : sql``}`,
  );

const adminsOf = (rows: Rows): readonly AdminRow[] =>
  rows.map(([id, firstname, lastname, email, password, isActive, blocked]) => ({
    id: id as number,
    firstname: firstname as string | null,
    lastname: lastname as string | null,
    email: (email as string | null) ?? '',
    password: password as string | null,
    isActive: isTrue(isActive),
    isBlocked: isTrue(blocked),
    maySignIn: maySignIn(isActive, blocked),
  }));

export const findAdmins = async (db: Db, key: AdminKey): Promise<readonly AdminRow[]> =>
  adminsOf(await db.read(() => readRows(adminStatement(key, db.dialect, 'plain'))));

export const findAdminsInside = async (tx: Tx, key: AdminKey, dialect: Dialect): Promise<readonly AdminRow[]> =>
  adminsOf(await tx.run(adminStatement(key, dialect, 'locked')));

const hasAdminStatement = (dialect: Dialect): Statement => dialect.compile(sql`select 1 from admin_users limit 1`);

/** Whether there is any administrator, whatever they may do. */
export const hasAdmin = async (db: Db): Promise<boolean> =>
  (await db.readSmall(() => readRows(hasAdminStatement(db.dialect)))).length > 0;
export const hasAdminInside = async (tx: Tx, dialect: Dialect): Promise<boolean> =>
  (await tx.run(hasAdminStatement(dialect))).length > 0;

/** The roles of administrators, in their order. @param ids null: of all. */
const rolesOfStatement = (ids: readonly number[] | null, dialect: Dialect): Statement => {
  const where = ids === null ? sql`` : sql` where l.user_id in (${sql.join(ids.map((id) => dialect.bind('id', id)))})`;
  return dialect.compile(
    sql`select l.user_id, r.id, r.name, r.code from admin_users_roles_links l join admin_roles r on r.id = l.role_id${where} order by l.user_id, l.role_order, r.id`,
  );
};

const rolesByAdmin = (rows: Rows): ReadonlyMap<number, readonly AdminRoleRow[]> => {
  const roles = new Map<number, AdminRoleRow[]>();
  for (const [admin, id, name, code] of rows as readonly (readonly [number, number, string | null, string | null])[])
    roles.set(admin, [...(roles.get(admin) ?? []), { id, name: name ?? '', code: code ?? '' }]);
  return roles;
};

export const readRolesOf = async (id: number, db: Db): Promise<readonly AdminRoleRow[]> =>
  rolesByAdmin(await db.readSmall(() => readRows(rolesOfStatement([id], db.dialect)))).get(id) ?? [];

export const readRolesOfAll = async (db: Db): Promise<ReadonlyMap<number, readonly AdminRoleRow[]>> =>
  rolesByAdmin(await db.read(() => readRows(rolesOfStatement(null, db.dialect))));

const allRolesStatement = (dialect: Dialect): Statement =>
  dialect.compile(sql`select id, name, code from admin_roles order by id`);

const roleRows = (rows: Rows): readonly AdminRoleRow[] =>
  (rows as readonly (readonly [number, string | null, string | null])[]).map(([id, name, code]) => ({
    id,
    name: name ?? '',
    code: code ?? '',
  }));

export const readAdminRoles = async (db: Db): Promise<readonly AdminRoleRow[]> =>
  roleRows(await db.read(() => readRows(allRolesStatement(db.dialect))));
export const readAdminRolesInside = async (tx: Tx, dialect: Dialect): Promise<readonly AdminRoleRow[]> =>
  roleRows(await tx.run(allRolesStatement(dialect)));
