/** Roles and what they may do, as v4 stores them: a permission that exists is granted (ST11). */
import { sql } from 'kysely';
import { limits } from '../limits.js';
import type { Ready } from '../ready.js';
import { newRecent } from '../single-flight.js';
import { type Db, readRows } from '../sql/dialect.js';

/** `api::article.article.find`. */
export type Action = string;

export interface Role {
  readonly id: number;
  /** `public`, `authenticated`, or the type of a custom role. */
  readonly type: string;
  readonly actions: ReadonlySet<Action>;
}

export interface Permissions {
  /** Counts the changes that this process has seen. */
  readonly version: number;
  readonly roles: readonly Role[];
}

export interface PermissionStore {
  /** Permissions that were in the database at most `limits.permissionsMsMax` ago. */
  current(): Ready<Permissions>;
  /** Invalidates the cache, after a change. */
  forget(): void;
}

/** @param now milliseconds, monotonic. */
export const newPermissionStore = (db: Db, now: () => number): PermissionStore => {
  const statement = db.dialect.compile(sql`
    select r.id, r.type, p.action from up_roles r
    left join up_permissions_role_links l on l.role_id = r.id
    left join up_permissions p on p.id = l.permission_id
    order by r.id, p.action`);
  let known: Permissions = { version: 0, roles: [] };
  let content = '';

  const read = async (): Promise<Permissions> => {
    const rows = (await db.readSmall(() => readRows(statement))) as readonly [number, string | null, string | null][];
    const text = JSON.stringify(rows);
    if (text !== content) {
      content = text;
      known = { version: known.version + 1, roles: rolesOf(rows) };
    }
    return known;
  };
  return newRecent(read, limits.permissionsMsMax, now);
};

const rolesOf = (rows: readonly (readonly [number, string | null, string | null])[]): readonly Role[] => {
  const roles = new Map<number, { id: number; type: string; actions: Set<Action> }>();
  for (const [id, type, action] of rows) {
    const role = roles.get(id) ?? { id, type: type ?? '', actions: new Set<Action>() };
    if (action !== null) role.actions.add(action);
    roles.set(id, role);
  }
  return [...roles.values()];
};
