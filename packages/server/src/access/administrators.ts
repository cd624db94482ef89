/** Administrators as callers: their roles, their sessions, and what these are worth (AD1, AD3). */
import { sql } from 'kysely';
import type { Model } from '../model/model.js';
import { sessionsTable } from '../model/storage.js';
import type { Db, Dialect, Rows, Statement } from '../sql/dialect.js';
import type { AdminClaims, AdminTokens } from './admin-tokens.js';
import { type AdminRole, type Rights, rightsOf, type StoredPermission } from './rights.js';
import { newRoleStore, type RoleStore, type Versioned } from './role-store.js';

export type AdminRoles = Versioned<ReadonlyMap<number, AdminRole>>;
export type AdminRoleStore = RoleStore<ReadonlyMap<number, AdminRole>>;

/** @param now milliseconds, monotonic. */
export const newAdminRoleStore = (db: Db, now: () => number): AdminRoleStore => {
  const text = (name: string) => sql`cast(${sql.ref(`p.${name}`)} as text)`;
  const statement = db.dialect.compile(sql`
    select r.id, r.name, r.code, p.action, p.subject, ${text('properties')}, ${text('conditions')} from admin_roles r
    left join admin_permissions_role_links l on l.role_id = r.id
    left join admin_permissions p on p.id = l.permission_id
    order by r.id, p.id`);
  return newRoleStore(db, statement, rolesOf, now);
};

const rolesOf = (rows: Rows): ReadonlyMap<number, AdminRole> => {
  const roles = new Map<number, AdminRole & { readonly permissions: StoredPermission[] }>();
  for (const [id, name, code, action, subject, properties, conditions] of rows as readonly (readonly [
    number,
    ...(string | null)[],
  ])[]) {
    const role = roles.get(id) ?? { id, name: name ?? '', code: code ?? '', permissions: [] };
    roles.set(id, role);
    if (action) role.permissions.push(permissionOf(action, subject ?? null, properties ?? null, conditions ?? null));
  }
  return roles;
};

/** What cannot be read grants nothing: it becomes a condition that nothing meets. */
const permissionOf = (
  action: string,
  subject: string | null,
  properties: string | null,
  conditions: string | null,
): StoredPermission => {
  const given = parsed(properties) ?? {};
  const names = parsed(conditions) ?? [];
  const { fields, locales } = given as { readonly fields?: unknown; readonly locales?: unknown };
  const isReadable =
    typeof given === 'object' &&
    !Array.isArray(given) &&
    (fields == null || isTexts(fields)) &&
    (locales == null || isTexts(locales)) &&
    isTexts(names);
  if (!isReadable) return { action, subject, fields: [], locales: [], conditions: ['unreadable'] };
  return {
    action,
    subject,
    fields: (fields as readonly string[] | null | undefined) ?? null,
    locales: locales as readonly string[] | null | undefined,
    conditions: names,
  };
};

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((it) => typeof it === 'string');

const parsed = (text: string | null): unknown => {
  if (text === null) return null;
  try {
    return JSON.parse(text);
  } catch {
    return 'unreadable';
  }
};

// ---- sessions

/** A session with its administrator, one row for each role. */
export const sessionStatement = (session: string, dialect: Dialect): Statement =>
  dialect.compile(sql`
    select s.admin_id, s.stamp, s.expires_at, u.password, u.is_active, u.blocked, l.role_id
    from ${sql.table(sessionsTable.name)} s
    join admin_users u on u.id = s.admin_id
    left join admin_users_roles_links l on l.user_id = u.id
    where s.${sql.ref('key')} = ${dialect.bind('string', session)} order by l.role_id`);

export interface AdminCredential {
  readonly kind: 'admin';
  readonly id: number;
  readonly roleIds: readonly number[];
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Null if the session or the administrator's right to have one has ended. */
export const adminCredential = (
  { adminId, expiresAt }: AdminClaims,
  rows: Rows,
  tokens: AdminTokens,
  now: number,
): AdminCredential | null => {
  const [row] = rows as readonly (readonly [number, string, unknown, string | null, unknown, unknown, number | null])[];
  if (!row) return null;
  const [id, stamp, sessionEnd, password, isActive, blocked] = row;
  if (id !== adminId || Number(sessionEnd) <= now || password === null) return null;
  if (!maySignIn(isActive, blocked) || !tokens.isCurrent(stamp, id, password)) return null;
  const roleIds = rows.map((it) => it[6]).filter((it): it is number => typeof it === 'number');
  return { kind: 'admin', id, roleIds: [...new Set(roleIds)], expiresAt };
};

/** Whether an administrator may sign in. @param isActive, blocked as drivers return them. */
export const maySignIn = (isActive: unknown, blocked: unknown): boolean =>
  (isActive === true || isActive === 1) && blocked !== true && blocked !== 1;

export const rightsOfRoles = (
  adminId: number,
  roleIds: readonly number[],
  { roles }: AdminRoles,
  model: Model,
): Rights =>
  rightsOf(
    adminId,
    roleIds.map((id) => roles.get(id)).filter((it) => it !== undefined),
    model,
  );
