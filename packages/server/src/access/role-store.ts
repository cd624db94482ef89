/** Roles with what they allow, read from the database again and again. */
import { limits } from '../limits.js';
import { newRecent, type Recent } from '../single-flight.js';
import { type Db, type Rows, readRows, type Statement } from '../sql/dialect.js';

export interface Versioned<Roles> {
  /** Counts the changes that this process has seen. */
  readonly version: number;
  readonly roles: Roles;
}

/** `current`: the roles that were in the database at most `limits.permissionsMsMax` ago. `forget`: to be called after a change. */
export type RoleStore<Roles> = Recent<Versioned<Roles>>;

/** @param now milliseconds, monotonic. */
export const newRoleStore = <Roles>(
  db: Db,
  statement: Statement,
  rolesOf: (rows: Rows) => Roles,
  now: () => number,
): RoleStore<Roles> => {
  let known: Versioned<Roles> = { version: 0, roles: rolesOf([]) };
  let content = '';
  const read = async (): Promise<Versioned<Roles>> => {
    const rows = await db.readSmall(() => readRows(statement));
    const text = JSON.stringify(rows);
    if (text !== content) {
      content = text;
      known = { version: known.version + 1, roles: rolesOf(rows) };
    }
    return known;
  };
  return newRecent(read, limits.permissionsMsMax, now);
};
