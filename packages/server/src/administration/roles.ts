/**
 * v4's three roles of administrators, made in a database that has none (AD7): v4 itself makes none where one exists. Super admins
 * may everything, so their permissions are left to v4, which writes them anew at each start.
 */
import { sql } from 'kysely';
import { SUPER_ADMIN } from '../access/rights.js';
import type { EntryType, Model } from '../model/model.js';
import { isSystemAttribute } from '../model/system.js';
import type { Dialect, Sql, Tx } from '../sql/dialect.js';
import { type AdminRoleRow, readAdminRolesInside } from './rows.js';

interface NewRole {
  readonly name: string;
  readonly code: string;
  readonly description: string;
}

const superAdmin: NewRole = {
  name: 'Super Admin',
  code: SUPER_ADMIN,
  description: 'Super Admins can access and manage all features and settings.',
};
const editor: NewRole = {
  name: 'Editor',
  code: 'strapi-editor',
  description: 'Editors can manage and publish contents including those of other users.',
};
const author: NewRole = {
  name: 'Author',
  code: 'strapi-author',
  description: 'Authors can manage the content they have created.',
};

interface NewPermission {
  readonly action: string;
  readonly subject: string | null;
  readonly properties: object;
  readonly isOwn: boolean;
}

/** The roles that there are; creates v4's if there is none. */
export const ensureAdminRoles = async (model: Model, tx: Tx, dialect: Dialect): Promise<readonly AdminRoleRow[]> => {
  const known = await readAdminRolesInside(tx, dialect);
  if (known.length > 0) return known;
  await createRole(superAdmin, [], tx, dialect);
  await createRole(editor, [...contentPermissions(model, false), ...uploadPermissions(false)], tx, dialect);
  await createRole(author, [...contentPermissions(model, true), ...uploadPermissions(true)], tx, dialect);
  return readAdminRolesInside(tx, dialect);
};

const contentPermissions = (model: Model, isOwn: boolean): readonly NewPermission[] => {
  const types = [...model.types.values()].filter((it) => it.origin === 'project' && it.kind !== 'component');
  const actions = ['create', 'read', 'update', 'delete', ...(isOwn ? [] : ['publish'])] as const;
  return actions.flatMap((action) =>
    types
      .filter((it) => action !== 'publish' || it.draftAndPublish)
      .map((type): NewPermission => {
        const isBounded = action === 'create' || action === 'read' || action === 'update';
        // v4 reads a missing `locales` as none, and null as all
        const locales = type.localized ? { locales: null } : {};
        return {
          action: `plugin::content-manager.explorer.${action}`,
          subject: type.uid,
          properties: isBounded ? { fields: fieldNames(type, model), ...locales } : locales,
          isOwn,
        };
      }),
  );
};

const uploadPermissions = (isOwn: boolean): readonly NewPermission[] => {
  const of = (action: string, own: boolean): NewPermission => ({
    action: `plugin::upload.${action}`,
    subject: null,
    properties: {},
    isOwn: own,
  });
  return [
    of('read', isOwn),
    of('configure-view', false),
    of('assets.create', false),
    of('assets.update', isOwn),
    of('assets.download', false),
    of('assets.copy-link', false),
  ];
};

/** As v4 lists them: components by their attributes, zones as a whole. */
const fieldNames = (type: EntryType, { types }: Model, inside: ReadonlySet<string> = new Set()): readonly string[] =>
  [...type.attributes.values()]
    .filter(({ name }) => type.kind === 'component' || !isSystemAttribute(type, name))
    .flatMap((attribute) => {
      const [uid] = attribute.kind === 'part' && attribute.shape !== 'zone' ? attribute.components : [];
      const component = uid === undefined ? undefined : types.get(uid);
      if (!component || inside.has(component.uid)) return [attribute.name];
      const names = fieldNames(component, { types }, new Set([...inside, component.uid]));
      return names.length === 0 ? [attribute.name] : names.map((it) => `${attribute.name}.${it}`);
    });

const createRole = async (
  { name, code, description }: NewRole,
  permissions: readonly NewPermission[],
  tx: Tx,
  dialect: Dialect,
): Promise<void> => {
  const now = dialect.bind('datetime', Date.now());
  /** Returns the new ids, in ascending order. */
  const insert = async (query: Sql): Promise<readonly number[]> =>
    (await tx.run(dialect.compile(query))).map(([id]) => id as number).sort((a, b) => a - b);
  const [roleId = 0] = await insert(
    sql`insert into admin_roles (name, code, description, created_at, updated_at) values (${name}, ${code}, ${description}, ${now}, ${now}) returning id`,
  );
  const json = (value: unknown): Sql => dialect.bind('json', JSON.stringify(value));
  for (let first = 0; first < permissions.length; first += ROWS_PER_STATEMENT) {
    const rows = permissions
      .slice(first, first + ROWS_PER_STATEMENT)
      .map(
        ({ action, subject, properties, isOwn }) =>
          sql`(${action}, ${json({})}, ${dialect.bind('string', subject)}, ${json(properties)}, ${json(isOwn ? ['admin::is-creator'] : [])}, ${now}, ${now})`,
      );
    const ids = await insert(
      sql`insert into admin_permissions (action, action_parameters, subject, properties, conditions, created_at, updated_at) values ${sql.join(rows)} returning id`,
    );
    const links = ids.map(
      (id, i) => sql`(${dialect.bind('id', id)}, ${dialect.bind('id', roleId)}, ${sql.lit(first + i + 1)})`,
    );
    await tx.run(
      dialect.compile(
        sql`insert into admin_permissions_role_links (permission_id, role_id, permission_order) values ${sql.join(links)}`,
      ),
    );
  }
};

/** SQLite takes 32,766 values, and a permission has seven. */
const ROWS_PER_STATEMENT = 1000;
