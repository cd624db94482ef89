/** What a database needs beyond tables: v4's roles on first start (contract 8.1) and settings that the server reads. */

import type { FastifyBaseLogger } from 'fastify';
import { sql } from 'kysely';
import { type Db, readRows } from '../sql/dialect.js';
import type { Project } from './project.js';

const roles = [
  {
    type: 'authenticated',
    name: 'Authenticated',
    description: 'Default role given to authenticated user.',
    actions: ['user.me', 'auth.changePassword'],
  },
  {
    type: 'public',
    name: 'Public',
    description: 'Default role given to unauthenticated user.',
    actions: [
      'callback',
      'connect',
      'forgotPassword',
      'resetPassword',
      'register',
      'emailConfirmation',
      'sendEmailConfirmation',
    ].map((it) => `auth.${it}`),
  },
] as const;

/** Creates the two roles if there are none. */
export const prepareData = async (_project: Project, db: Db, logger: FastifyBaseLogger): Promise<void> => {
  const { dialect } = db;
  const [[count] = []] = await db.read(readRows(dialect.compile(sql`select count(*) from up_roles`)));
  if (Number(count) > 0) return;
  await db.write(async (tx) => {
    const now = dialect.bind('datetime', Date.now());
    const insert = async (query: Parameters<typeof dialect.compile>[0]): Promise<number> => {
      const [[id] = []] = await tx.run(dialect.compile(query));
      return id as number;
    };
    for (const role of roles) {
      const roleId = await insert(
        sql`insert into up_roles (name, description, type, created_at, updated_at) values (${role.name}, ${role.description}, ${role.type}, ${now}, ${now}) returning id`,
      );
      for (const [i, action] of role.actions.entries()) {
        const permissionId = await insert(
          sql`insert into up_permissions (action, created_at, updated_at) values (${`plugin::users-permissions.${action}`}, ${now}, ${now}) returning id`,
        );
        await insert(
          sql`insert into up_permissions_role_links (permission_id, role_id, permission_order) values (${sql.lit(permissionId)}, ${sql.lit(roleId)}, ${sql.lit(i + 1)}) returning id`,
        );
      }
    }
  });
  logger.info('database: created the roles public and authenticated; public may find nothing yet');
};

/** The locale of entries when a request names none; v4's setting, `en` without one. */
export const readDefaultLocale = async (db: Db): Promise<string> => {
  const statement = db.dialect.compile(
    sql`select value from strapi_core_store_settings where ${sql.ref('key')} = 'plugin_i18n_default_locale' order by id limit 1`,
  );
  const [[value] = []] = await db.read(readRows(statement));
  try {
    const locale: unknown = JSON.parse(String(value));
    return typeof locale === 'string' ? locale : 'en';
  } catch {
    return 'en';
  }
};
