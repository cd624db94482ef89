/** Initial data: on first start the default locale, v4's roles and the project's seeds. Also reads stored settings. */
import { sql } from 'kysely';
import { isObject } from '../accounts/account.js';
import type { Gate } from '../query/selection.js';
import { readDefaultCode } from '../read/locales.js';
import { type Db, type Dialect, type ReadProgram, readInside, readRows, type Sql, type Tx } from '../sql/dialect.js';
import { newWriter } from '../write/apply.js';
import { newSession } from '../write/session.js';
import { createLocales, prepareLocales } from './locales.js';
import type { Notices } from './log.js';
import type { Project } from './project.js';
import { describeChangedSeeds, digestSeeds, readSeedFiles, type SeedDigests, writeSeeds } from './seed.js';

/** v4's roles and their permissions on first start (AC1). */
const roles = [
  {
    type: 'authenticated',
    name: 'Authenticated',
    description: 'Default role given to authenticated user.',
    actions: ['plugin::users-permissions.user.me', 'plugin::users-permissions.auth.changePassword'],
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
    ].map((it) => `plugin::users-permissions.auth.${it}`),
  },
] as const;

/**
 * A database without roles is new: exactly one process creates them and writes the project's seeds, in one transaction.
 * It also stores digests of the seed files, so that a later start can report changed ones.
 * @param withEntries false for a database that gets its entries from elsewhere.
 */
export const prepareData = async (
  project: Project,
  db: Db,
  logger: Notices,
  { withEntries = true }: { readonly withEntries?: boolean } = {},
): Promise<void> => {
  const { dialect } = db;
  const digests = digestSeeds(project.dir);
  if (!(await db.read(() => isNew(dialect)))) {
    await prepareLocales(db);
    const changed = describeChangedSeeds(digests, await readSeedDigests(db));
    if (changed !== null) logger.warn(changed);
    return;
  }
  const files = readSeedFiles(
    project.dir,
    project.model,
    roles.map((it) => it.type),
  );
  const { granted } = files;
  const seeds = await db.writeAlone(async (tx) => {
    // another process may have been first
    if (!(await readInside(isNew(dialect), tx))) return null;
    await createLocales(files.locales, dialect, tx);
    for (const role of roles)
      await createRole({ ...role, actions: new Set([...role.actions, ...(granted[role.type] ?? [])]) }, dialect, tx);
    const context = {
      model: project.model,
      gate: openGate,
      rest: project.config.api.rest,
      strict: true,
      defaultLocale: await readInside(readDefaultCode(dialect), tx),
    };
    const count = withEntries
      ? await writeSeeds(files, project.model, newWriter(db, Date.now), context, newSession(tx))
      : 0;
    await tx.run(
      dialect.compile(
        sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${SEED_KEY}, ${JSON.stringify(digests)}, 'object')`,
      ),
    );
    return count;
  });
  if (seeds === null) return;
  const mayFind = (granted['public'] ?? []).length;
  logger.info(
    { entries: seeds, publicActions: mayFind },
    `database: new; created the roles public and authenticated${seeds > 0 ? ' and the seeds of database/seed' : ''}`,
  );
  if (mayFind === 0)
    logger.warn(
      'the role public has no permissions to read content yet: grant some with role allow, or list them in database/seed/permissions.json',
    );
};

function* isNew(dialect: Dialect): ReadProgram<boolean> {
  const [[count] = []] = yield* readRows(dialect.compile(sql`select count(*) from up_roles`));
  return Number(count) === 0;
}

/** Seeds are written with full rights. */
const openGate: Gate = { version: 'seed', allows: () => true, reaches: () => true };

const createRole = async (
  role: {
    readonly type: string;
    readonly name: string;
    readonly description: string;
    readonly actions: ReadonlySet<string>;
  },
  dialect: Dialect,
  tx: Tx,
): Promise<void> => {
  const now = dialect.bind('datetime', Date.now());
  const insert = async (query: Sql): Promise<number> => {
    const [[id] = []] = await tx.run(dialect.compile(query));
    return id as number;
  };
  const roleId = await insert(
    sql`insert into up_roles (name, description, type, created_at, updated_at) values (${role.name}, ${role.description}, ${role.type}, ${now}, ${now}) returning id`,
  );
  for (const [i, action] of [...role.actions].entries()) {
    const permissionId = await insert(
      sql`insert into up_permissions (action, created_at, updated_at) values (${action}, ${now}, ${now}) returning id`,
    );
    await tx.run(
      dialect.compile(
        sql`insert into up_permissions_role_links (permission_id, role_id, permission_order) values (${sql.lit(permissionId)}, ${sql.lit(roleId)}, ${sql.lit(i + 1)})`,
      ),
    );
  }
};

const SEED_KEY = 'dovetail_seed';

/** A database of v4 was made without seeds. */
const readSeedDigests = async (db: Db): Promise<SeedDigests> => {
  const digests = await readSetting(SEED_KEY, db);
  return isObject(digests) ? (digests as SeedDigests) : {};
};

/** Undefined if there is none, or if it cannot be parsed. */
const readSetting = async (key: string, db: Db): Promise<unknown> => {
  const statement = db.dialect.compile(
    sql`select value from strapi_core_store_settings where ${sql.ref('key')} = ${db.dialect.bind('string', key)} order by id limit 1`,
  );
  const [[value] = []] = await db.read(() => readRows(statement));
  try {
    return JSON.parse(String(value));
  } catch {
    return undefined;
  }
};
