/** Initial data: on first start the default locale, v4's roles and the project's seeds. Also reads stored settings. */
import { sql } from 'kysely';
import type { Action } from '../access/permissions.js';
import type { Uid } from '../model/model.js';
import type { ResolveContext } from '../query/resolve.js';
import type { Gate } from '../query/selection.js';
import { readDefaultCode } from '../read/locales.js';
import { type Db, type Dialect, type ReadProgram, readInside, readRows, type Sql, type Tx } from '../sql/dialect.js';
import { newWriter } from '../write/apply.js';
import { isObject } from '../write/ids.js';
import { newSession } from '../write/session.js';
import { createLocales, prepareLocales } from './locales.js';
import type { Notices } from './log.js';
import type { Project } from './project.js';
import {
  describeChangedSeeds,
  digestOf,
  digestSeeds,
  PERMISSIONS,
  readSeedFiles,
  type Seed,
  type SeedDigests,
  type SeedFiles,
  type WrittenSeed,
  writeSeeds,
} from './seed.js';
import { StartFault } from './start-fault.js';

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
const roleTypes = roles.map((it) => it.type);

interface PrepareOptions {
  readonly withEntries?: boolean;
  readonly ownActions?: () => readonly Action[] | Promise<readonly Action[]>;
}

/**
 * A database without roles is new: exactly one process creates them and writes the project's seeds, in one transaction.
 * It also stores digests of the seed files, so that a later start can report changed ones, and which entries they became.
 * @param withEntries false for a database that gets its entries from elsewhere.
 * @param ownActions those that routes of the project's code name; asked for only if seeds grant any.
 * @returns whether this process has prepared a new database.
 */
export const prepareData = async (
  project: Project,
  db: Db,
  logger: Notices,
  { withEntries = true, ownActions = () => [] }: PrepareOptions = {},
): Promise<boolean> => {
  const { dialect } = db;
  const digests = digestSeeds(project.dir);
  if (!(await db.read(() => isNew(dialect)))) {
    await prepareLocales(db);
    return false;
  }
  const own = PERMISSIONS in digests ? await ownActions() : [];
  const files = readSeedFiles(project.dir, project.model, roleTypes, own);
  const { granted } = files;
  const seeds = await db.writeAlone(async (tx) => {
    // another process may have been first
    if (!(await readInside(isNew(dialect), tx))) return null;
    await createLocales(files.locales, dialect, tx);
    for (const role of roles)
      await createRole({ ...role, actions: new Set([...role.actions, ...(granted[role.type] ?? [])]) }, dialect, tx);
    await insertSetting(SEED_KEY, digests, dialect, tx);
    if (!withEntries) return 0;
    const context = await seedContext(project, dialect, tx);
    const written = await writeSeeds(files, project.model, newWriter(db, Date.now), context, newSession(tx));
    await insertSetting(SEED_MEMORY_KEY, { seeds: written, granted } satisfies SeedMemory, dialect, tx);
    return written.length;
  });
  if (seeds === null) return false;
  const mayFind = (granted['public'] ?? []).length;
  logger.info(
    { entries: seeds, publicActions: mayFind },
    `database: new; created the roles public and authenticated${seeds > 0 ? ' and the seeds of database/seed' : ''}`,
  );
  return true;
};

/** Says of a new database that the public can read nothing. To be called after the project's code has had its say, which may grant it. */
export const warnOfClosedContent = async ({ dialect, read }: Db, logger: Notices): Promise<void> => {
  const readable = dialect.compile(
    sql`select count(*) from up_permissions p join up_permissions_role_links l on l.permission_id = p.id join up_roles r on r.id = l.role_id where r.type = 'public' and p.action like '%.find%'`,
  );
  const [[count] = []] = await read(() => readRows(readable));
  if (Number(count) === 0)
    logger.warn(
      'the role public cannot read any content yet: grant it actions, for example with "dovetail role allow public api::NAME.NAME.find"',
    );
};

/** Seeds are written once; says so if their files have changed since. */
export const warnOfChangedSeeds = async ({ dir }: Project, db: Db, logger: Notices): Promise<void> => {
  const changed = describeChangedSeeds(digestSeeds(dir), await readSeedDigests(db));
  if (changed !== null) logger.warn(changed);
};

export interface SeedsAdded {
  /** What was written, in words: `articles.json: "third"`. */
  readonly added: readonly string[];
  /** What was not: faults, and what was changed or removed in the files since it was written. */
  readonly left: readonly string[];
}

/**
 * Writes what was added to the seed files of a database that they were written to: entries and permissions. Entries that are
 * there are left alone, because they may have been changed since.
 */
export const addSeeds = async (project: Project, db: Db, ownActions: readonly Action[]): Promise<SeedsAdded> => {
  const memory = await readSeedMemory(db);
  if (!memory) return { added: [], left: [] };
  const files = readSeedFiles(project.dir, project.model, roleTypes, ownActions);
  if (files.faults.length > 0) return { added: [], left: files.faults };
  const { seeds, granted, left } = compareSeeds(files, memory);
  if (seeds.length + granted.length === 0) return { added: [], left };
  try {
    await db.writeAlone(async (tx) => {
      const { dialect } = db;
      const context = await seedContext(project, dialect, tx);
      const writer = newWriter(db, Date.now);
      const written = await writeSeeds(
        { ...files, seeds },
        project.model,
        writer,
        context,
        newSession(tx),
        memory.seeds,
      );
      for (const { role, actions } of granted) await grantMore(role, actions, dialect, tx);
      const grown: SeedMemory = {
        seeds: [...memory.seeds, ...written],
        granted: { ...memory.granted, ...files.granted },
      };
      await changeSetting(SEED_MEMORY_KEY, grown, dialect, tx);
      if (left.length === 0) await changeSetting(SEED_KEY, digestSeeds(project.dir), dialect, tx);
    });
  } catch (fault) {
    if (!(fault instanceof StartFault)) throw fault;
    return { added: [], left: [fault.message, ...left] };
  }
  const added = [
    ...seeds.map((it) => it.place),
    ...granted.flatMap(({ role, actions }) => actions.map((it) => `permissions.json: ${role} ${it}`)),
  ];
  return { added, left };
};

const compareSeeds = (files: SeedFiles, memory: SeedMemory) => {
  const keyOf = (uid: Uid, key: string): string => `${uid} ${key}`;
  const known = new Map(memory.seeds.map((it) => [keyOf(it.uid, it.key), it]));
  const knownOf = ({ type, key }: Seed): WrittenSeed | undefined => known.get(keyOf(type.uid, key));
  const found = new Set(files.seeds.map(({ type, key }) => keyOf(type.uid, key)));
  const granted = Object.entries(files.granted).flatMap(([role, actions]) => {
    const more = actions.filter((it) => memory.granted[role]?.includes(it) !== true);
    return more.length === 0 ? [] : [{ role, actions: more }];
  });
  const changed = files.seeds.filter((it) => (knownOf(it)?.digest ?? digestOf(it)) !== digestOf(it));
  const removed = memory.seeds.filter((it) => !found.has(keyOf(it.uid, it.key)));
  const revoked = Object.entries(memory.granted).flatMap(([role, actions]) =>
    actions.filter((it) => files.granted[role]?.includes(it) !== true).map((it) => `${role} ${it}`),
  );
  return {
    seeds: files.seeds.filter((it) => !knownOf(it)),
    granted,
    left: [
      ...changed.map((it) => `${it.place} was changed`),
      ...removed.map((it) => `${JSON.stringify(it.key)} of ${it.uid} was removed`),
      ...revoked.map((it) => `permissions.json: to revoke it, run: dovetail role deny ${it}`),
    ],
  };
};

const seedContext = async ({ model, config }: Project, dialect: Dialect, tx: Tx): Promise<ResolveContext> => ({
  model,
  gate: openGate,
  rest: config.api.rest,
  strict: true,
  defaultLocale: await readInside(readDefaultCode(dialect), tx),
});

function* isNew(dialect: Dialect): ReadProgram<boolean> {
  const [[count] = []] = yield* readRows(dialect.compile(sql`select count(*) from up_roles`));
  return Number(count) === 0;
}

/** Seeds are written with full rights. */
const openGate: Gate = { version: 'seed', allows: () => true, reaches: () => true, writesAll: true };

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
  await grant(roleId, [...role.actions], 1, dialect, tx);
};

/** @param first the place of the first action among those of the role. */
const grant = async (
  roleId: number,
  actions: readonly Action[],
  first: number,
  dialect: Dialect,
  tx: Tx,
): Promise<void> => {
  const now = dialect.bind('datetime', Date.now());
  for (const [i, action] of actions.entries()) {
    const [[permissionId] = []] = await tx.run(
      dialect.compile(
        sql`insert into up_permissions (action, created_at, updated_at) values (${action}, ${now}, ${now}) returning id`,
      ),
    );
    await tx.run(
      dialect.compile(
        sql`insert into up_permissions_role_links (permission_id, role_id, permission_order) values (${sql.lit(permissionId as number)}, ${sql.lit(roleId)}, ${sql.lit(first + i)})`,
      ),
    );
  }
};

/** Grants what the role does not have yet; nothing if there is no such role any more. */
const grantMore = async (type: string, actions: readonly Action[], dialect: Dialect, tx: Tx): Promise<void> => {
  const [[roleId] = []] = await tx.run(
    dialect.compile(sql`select id from up_roles where type = ${dialect.bind('string', type)} order by id limit 1`),
  );
  if (roleId === undefined) return;
  const owned = await tx.run(
    dialect.compile(
      sql`select p.action from up_permissions p join up_permissions_role_links l on l.permission_id = p.id where l.role_id = ${sql.lit(roleId as number)}`,
    ),
  );
  const missing = actions.filter((it) => !owned.some(([action]) => action === it));
  await grant(roleId as number, missing, owned.length + 1, dialect, tx);
};

const SEED_KEY = 'dovetail_seed';

/** A database of v4 was made without seeds. */
const readSeedDigests = async (db: Db): Promise<SeedDigests> => {
  const digests = await readSetting(SEED_KEY, db);
  return isObject(digests) ? (digests as SeedDigests) : {};
};

interface SeedMemory {
  readonly seeds: readonly WrittenSeed[];
  /** Actions by the role's type. */
  readonly granted: Readonly<Record<string, readonly Action[]>>;
}

const SEED_MEMORY_KEY = 'dovetail_seed_entries';

/** Null for a database that was not made with seeds, or by an earlier version. */
const readSeedMemory = async (db: Db): Promise<SeedMemory | null> => {
  const memory = await readSetting(SEED_MEMORY_KEY, db);
  return isObject(memory) ? (memory as unknown as SeedMemory) : null;
};

const insertSetting = async (key: string, value: object, dialect: Dialect, tx: Tx): Promise<void> => {
  const insert = sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${key}, ${JSON.stringify(value)}, 'object')`;
  await tx.run(dialect.compile(insert));
};

const changeSetting = async (key: string, value: object, dialect: Dialect, tx: Tx): Promise<void> => {
  const change = sql`update strapi_core_store_settings set value = ${JSON.stringify(value)} where ${sql.ref('key')} = ${dialect.bind('string', key)}`;
  await tx.run(dialect.compile(change));
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
