/** Permissions of roles, as rows. */
import type { insertRows } from './databases.js';

export interface Grant {
  /** Id of the role. */
  readonly role: number;
  readonly action: string;
}

/** Id of the public role in every world with v4's two roles. */
export const PUBLIC_ROLE = 2;

export const insertGrants = async (
  grants: readonly Grant[],
  insert: (table: string, rows: Parameters<typeof insertRows>[2]) => Promise<void>,
  firstId = 1,
): Promise<void> => {
  await insert(
    'up_permissions',
    grants.map(({ action }, i) => ({ id: firstId + i, action })),
  );
  await insert(
    'up_permissions_role_links',
    grants.map(({ role }, i) => {
      const id = firstId + i;
      return { id, permission_id: id, role_id: role, permission_order: id };
    }),
  );
};
