/** Roles and what they may do, as v4 stores them: a permission that exists is granted (ST11). */
import { sql } from 'kysely';
import type { Db, Rows } from '../sql/dialect.js';
import { newRoleStore, type RoleStore, type Versioned } from './role-store.js';

/** `api::article.article.find`. */
export type Action = string;

/** Whether a route leads to an action. */
export type IsServed = (action: Action) => boolean;

export interface Role {
  readonly id: number;
  /** `public`, `authenticated`, or the type of a custom role. */
  readonly type: string;
  /** As in v4 without those that no route serves. */
  readonly actions: ReadonlySet<Action>;
  /** Whether it has no permission at all, not even one without effect. */
  readonly isEmpty: boolean;
}

export type Permissions = Versioned<readonly Role[]>;
export type PermissionStore = RoleStore<readonly Role[]>;

/** @param now milliseconds, monotonic. @param isServed which permissions have an effect; all of them without it. */
export const newPermissionStore = (db: Db, now: () => number, isServed?: IsServed): PermissionStore => {
  const statement = db.dialect.compile(sql`
    select r.id, r.type, p.action from up_roles r
    left join up_permissions_role_links l on l.role_id = r.id
    left join up_permissions p on p.id = l.permission_id
    order by r.id, p.action`);
  return newRoleStore(db, statement, (rows) => rolesOf(rows, isServed), now);
};

const rolesOf = (rows: Rows, isServed: IsServed | undefined): readonly Role[] => {
  const roles = new Map<number, { id: number; type: string; actions: Set<Action>; isEmpty: boolean }>();
  for (const [id, type, action] of rows as readonly (readonly [number, string | null, string | null])[]) {
    const role = roles.get(id) ?? { id, type: type ?? '', actions: new Set<Action>(), isEmpty: action === null };
    if (action !== null && isServed?.(action) !== false) role.actions.add(action);
    roles.set(id, role);
  }
  return [...roles.values()];
};
