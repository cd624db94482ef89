/**
 * Brings the tables in line with the model: adds what is missing, and reports attributes whose schema changed after their
 * table was created, which are served as stored.
 */
import { sql } from 'kysely';
import { noteApplied } from '../migrate/applied.js';
import { plansIn } from '../migrate/file.js';
import { changeMemory, isSameMemory, readMemory, valuesWere, withModel } from '../migrate/memory.js';
import type { EntryType, Model, Uid } from '../model/model.js';
import { asStored, type Stored } from '../model/stored.js';
import type { Db, ReadableDb, ReadProgram, Rows, Statement, Tx } from '../sql/dialect.js';
import { type OtherType, planAdditions, planIndexes, type TableDiff } from '../sql/schema.js';
import type { Notices } from './log.js';
import { compareDatabase, type Project } from './project.js';
import { warnOfRenames } from './renamed.js';
import { StartFault } from './start-fault.js';

/** Adds what is missing and logs it. Returns the project with its model adjusted to what the database stores. */
export const bringUp = async (project: Project, db: Db, logger: Notices): Promise<Project> => {
  const found = await compareDatabase(project, db);
  if (!isNewDatabase(found)) await warnOfRenames(project, db, (text) => logger.warn(text));
  const isUpToDate = planChanges(project.model, found, db).statements.length === 0;
  const diff = isUpToDate ? found : (await applyChanges(project, db)).diff;
  if (isUpToDate) await remember(project, db);
  logAdditions(diff, logger);
  await changeIndexes(diff, db, {
    onBegin: (what) => logger.info(`database: ${what}`),
    onEnd: (ms) => logger.info(`database: done after ${ms} ms`),
    // requests are served without it, only slower
    onFault: (what, fault) => logger.warn({ err: fault }, `database: ${what} failed; the next start tries again`),
  });
  const stored = await readStored(project.model, diff, db);
  const model = asStored(project.model, stored);
  for (const note of [
    ...describeStoredColumns(storedColumns(diff.otherTypes, model, db)),
    ...describeDrafts(stored),
    ...describeHashed(stored),
    ...describeUnlocalized(await readUnlocalized(project.model, db)),
  ])
    logger.warn(note);
  return { ...project, model, declared: project.model };
};

/** The same for commands, which add nothing and need the tables of the first start. */
export const requireStarted = async (project: Project, db: Db): Promise<Project> =>
  startedProject(project, await compareDatabase(project, db), db);

/** The same for commands that read content: nothing may be missing. */
export const requireComplete = async (project: Project, db: Db): Promise<Project> => {
  const diff = await compareDatabase(project, db);
  const started = await startedProject(project, diff, db);
  const missing = [
    ...diff.missingTables.map((it) => `table ${it.name}`),
    ...diff.missingColumns.map((it) => `column ${it.table}.${it.column.name}`),
  ];
  if (missing.length === 0) return started;
  const [first, ...others] = missing;
  const more = others.length > 0 ? ` (and lacks ${others.length} more)` : '';
  throw new StartFault(
    `${db.place} has no ${first} yet${more}. Run start or sync first; if something was renamed, migrate plan.`,
  );
};

const startedProject = async (project: Project, diff: TableDiff, db: Db): Promise<Project> => {
  if (diff.missingTables.some((it) => /^(up|strapi)_/.test(it.name)))
    throw new StartFault(`${db.place} has no roles and permissions yet. Run start or sync first.`);
  return withStored(project, await readStored(project.model, diff, db));
};

/** The project with its model adjusted to what the database stores, whether it has all tables yet or not. */
export const storedProject = async (project: Project, db: Db): Promise<Project> => {
  const diff = await compareDatabase(project, db);
  return withStored(project, await readStored(project.model, diff, db));
};

const withStored = (project: Project, stored: Stored): Project => ({
  ...project,
  model: asStored(project.model, stored),
  declared: project.model,
});

const logAdditions = (diff: TableDiff, logger: Notices): void => {
  const { missingTables, missingColumns, missingIndexes, surplusTables, surplusColumns } = diff;
  const indexes = missingIndexes.filter((it) => !it.index.own).map((it) => it.index.name);
  if (missingTables.length + missingColumns.length + indexes.length > 0) {
    const columns = missingColumns.map((it) => `${it.table}.${it.column.name}`);
    logger.info({ tables: missingTables.length, columns, indexes }, 'database: added what was missing');
  }
  if (surplusTables.length + surplusColumns.length > 0)
    logger.info(
      { tables: surplusTables, columns: surplusColumns.map((it) => `${it.table}.${it.column}`) },
      'database: ignored tables and columns that are in no schema file (see dovetail migrate plan)',
    );
};

// ---- additions

export interface IndexProgress {
  onBegin(what: string): void;
  onEnd(ms: number): void;
  onFault(what: string, fault: unknown): void;
}

/** Creates our own indexes on existing tables and drops those no longer wanted, after everything else was added. */
export const changeIndexes = async (
  diff: TableDiff,
  db: Db,
  { onBegin, onEnd, onFault }: IndexProgress,
): Promise<void> => {
  for (const { what, statement } of planIndexes(diff, db)) {
    onBegin(what);
    const began = performance.now();
    try {
      await db.runAlone(statement);
      onEnd(Math.round(performance.now() - began));
    } catch (fault) {
      onFault(what, fault);
    }
  }
};

export interface Changes {
  readonly statements: readonly Statement[];
  /** Types for which drafts were switched on; their existing entries are published, as in v4 (DR10). */
  readonly newDrafts: readonly EntryType[];
}

export const planChanges = (model: Model, diff: TableDiff, db: ReadableDb): Changes => {
  const lacks = ({ table }: EntryType, column: string): boolean =>
    diff.missingColumns.some((it) => it.table === table && it.column.name === column);
  const types = [...model.types.values()];
  const newDrafts = types.filter((type) => type.draftAndPublish && lacks(type, PUBLISHED_AT));
  const newLocalized = types.filter((type) => type.localized && lacks(type, LOCALE));
  const statements = [
    ...planAdditions(withoutOwnIndexes(diff), db),
    ...newDrafts.map((type) => publishAll(type, db)),
    // as in v4, or no list would show the entries that are there
    ...newLocalized.map((type) => localizeAll(type, db)),
  ];
  return { statements, newDrafts };
};

const withoutOwnIndexes = (diff: TableDiff): TableDiff => ({
  ...diff,
  missingIndexes: diff.missingIndexes.filter((it) => !it.index.own),
});

const PUBLISHED_AT = 'published_at';
const LOCALE = 'locale';

const publishAll = ({ table }: EntryType, { dialect }: ReadableDb): Statement =>
  dialect.compile(sql`update ${sql.table(table)} set published_at = created_at where published_at is null`);

/** Puts entries without a locale into the default locale: v4's setting, or `en`. */
const localizeAll = ({ table }: EntryType, { dialect }: ReadableDb): Statement => {
  const setting = sql`select trim(value, '"') from strapi_core_store_settings where ${sql.ref('key')} = 'plugin_i18n_default_locale' order by id limit 1`;
  return dialect.compile(
    sql`update ${sql.table(table)} set ${sql.ref(LOCALE)} = coalesce((${setting}), 'en') where ${sql.ref(LOCALE)} is null`,
  );
};

/**
 * Compares, adds what is missing and runs further statements in one transaction. Concurrent processes take turns; all but
 * the first find nothing missing. Throws `StartFault` for a statement that the database rejects.
 */
export const applyChanges = async (
  project: Project,
  db: Db,
  further: readonly Statement[] = [],
): Promise<{ readonly diff: TableDiff; readonly statements: readonly Statement[] }> => {
  let running: string | null = null;
  try {
    return await db.writeAlone(async (tx) => {
      const diff = await compareDatabase(project, db, tx);
      const changes = planChanges(project.model, diff, db);
      const statements = [...changes.statements, ...further];
      for (const statement of statements) {
        running = statement.sql;
        await tx.run(statement);
      }
      running = null;
      await noteDrafts(changes.newDrafts, tx, db);
      await changeMemory((memory) => withModel(memory, project.model), db.dialect, tx);
      // a new database has never had other names
      if (isNewDatabase(diff)) for (const { plan } of plansIn(project.dir)) await noteApplied(plan, db.dialect, tx);
      return { diff, statements };
    });
  } catch (fault) {
    if (running === null || !(fault instanceof Error)) throw fault;
    const { message } = fault.cause instanceof Error ? fault.cause : fault;
    throw new StartFault(`${db.place} rejected "${shortened(running)}": ${message}\nNothing was changed.`);
  }
};

/** Notes the model in the database, for `migrate`: a later one may lack what it has. */
const remember = async ({ model }: Project, db: Db): Promise<void> => {
  const memory = await db.read(() => readMemory(db.dialect));
  if (!isSameMemory(memory, withModel(memory, model)))
    await db.writeAlone((tx) => changeMemory((it) => withModel(it, model), db.dialect, tx));
};

/** Whether nobody has served the database before. */
export const isNewDatabase = ({ missingTables }: TableDiff): boolean =>
  missingTables.some((it) => it.name === 'strapi_core_store_settings');

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** Updates v4's stored schema of the types; otherwise v4 would see drafts switched on at its next start and publish all drafts. */
const noteDrafts = async (types: readonly EntryType[], tx: Tx, { dialect }: Db): Promise<void> => {
  if (types.length === 0) return;
  const key = sql`${sql.ref('key')} = 'strapi_content_types_schema'`;
  const rows = await tx.run(dialect.compile(sql`select id, value from strapi_core_store_settings where ${key}`));
  for (const [id, value] of rows as readonly (readonly [number, string])[]) {
    const map = parseMap(value);
    for (const { uid } of types) if (map?.[uid]) map[uid].options = { ...map[uid].options, draftAndPublish: true };
    if (map)
      await tx.run(
        dialect.compile(
          sql`update strapi_core_store_settings set value = ${JSON.stringify(map)} where id = ${dialect.bind('id', id)}`,
        ),
      );
  }
};

const parseMap = (value: string): Record<Uid, { options?: object }> | null => {
  try {
    return JSON.parse(value) as Record<Uid, { options?: object }>;
  } catch {
    return null;
  }
};

// ---- differences

/** Differences between what the tables store and what the model says. */
export const readStored = async (model: Model, diff: TableDiff, db: ReadableDb): Promise<Stored> => {
  const { schema } = db.dialect;
  const columns = diff.otherTypes.map(({ table, column, found }) => ({ table, column, stored: schema.kindOf(found) }));
  const withColumn = [...model.types.values()].filter(
    (type) =>
      !type.draftAndPublish &&
      type.kind !== 'component' &&
      diff.surplusColumns.some((it) => it.table === type.table && it.column === PUBLISHED_AT),
  );
  const counts = withColumn.map(({ table }) =>
    db.dialect.compile(sql`select count(*) from ${sql.table(table)} where published_at is null`),
  );
  const rows = counts.length === 0 ? [] : await db.read(() => readAll(counts));
  return {
    columns,
    drafts: new Map(withColumn.map((type, i) => [type.uid, Number(rows[i]?.[0]?.[0])])),
    hashed: await readHashed(model, diff, db),
    uniqueTables: new Set(diff.uniqueTables),
  };
};

/** Attributes that were passwords, as far as their columns hold hashes: those that hold none need no care. */
const readHashed = async (model: Model, diff: TableDiff, db: ReadableDb): Promise<Stored['hashed']> => {
  const hashed = new Map<Uid, readonly string[]>();
  if (isNewDatabase(diff)) return hashed;
  const memory = await db.read(() => readMemory(db.dialect));
  const retyped = [...model.types.values()].flatMap(({ uid, table, attributes }) =>
    [...attributes.values()].flatMap((it) => {
      if (it.kind !== 'scalar' || it.type === 'password' || isMissing(diff, table, it.column)) return [];
      return valuesWere(memory, uid, it) === 'password' ? [{ uid, table, ...it }] : [];
    }),
  );
  if (retyped.length === 0) return hashed;
  const lookups = retyped.map(({ table, column }) =>
    db.dialect.compile(
      sql`select id from ${sql.table(table)} where cast(${sql.ref(column)} as text) like '$2_$%' limit 1`,
    ),
  );
  const found = await db.read(() => readAll(lookups));
  for (const [i, { uid, name }] of retyped.entries())
    if (found[i]?.length) hashed.set(uid, [...(hashed.get(uid) ?? []), name]);
  return hashed;
};

const isMissing = ({ missingTables, missingColumns }: TableDiff, table: string, column: string): boolean =>
  missingTables.some((it) => it.name === table) ||
  missingColumns.some((it) => it.table === table && it.column.name === column);

function* readAll(statements: readonly Statement[]): ReadProgram<readonly Rows[]> {
  return yield statements;
}

/** A column stored differently than its schema file declares. Types are as the database declares them. */
export interface StoredColumn {
  readonly table: string;
  readonly column: string;
  readonly found: string;
  readonly wanted: string;
  /** The scalar type it is served as; null if it belongs to no attribute. */
  readonly servedAs: string | null;
  /** SQL that changes the column and keeps its values. */
  readonly statements: readonly string[];
}

/** @param model as the database can serve it. */
export const storedColumns = (
  otherTypes: readonly OtherType[],
  model: Model,
  db: ReadableDb,
): readonly StoredColumn[] =>
  otherTypes.map((it) => ({
    table: it.table,
    column: it.column,
    found: it.found,
    wanted: it.wanted,
    servedAs: servedAs(it, model),
    statements: db.dialect.schema.changeType(it),
  }));

/** One line per column, with the statements that would change it. */
export const describeStoredColumns = (columns: readonly StoredColumn[]): readonly string[] =>
  columns.map((it) => {
    const asWhat = it.servedAs === null ? '' : `; it is served as ${it.servedAs} until it is changed`;
    const changes = it.statements.map((statement) => `${statement};`);
    return `column ${it.table}.${it.column} is ${it.found}, but its schema file declares ${it.wanted}${asWhat}. dovetail migrate plan says what converting it would lose, and plans it. As SQL: ${changes.join(' ')}`;
  });

const servedAs = ({ table, column }: OtherType, model: Model): string | null => {
  for (const type of model.types.values()) {
    if (type.table !== table) continue;
    for (const it of type.attributes.values()) if (it.kind === 'scalar' && it.column === column) return it.type;
  }
  return null;
};

/** One line per type whose drafts were switched off while it had some. */
export const describeDrafts = ({ drafts }: Stored): readonly string[] =>
  [...drafts]
    .filter(([, count]) => count > 0)
    .map(
      ([uid, count]) =>
        `${uid}: draftAndPublish is off in its schema file, and its table holds ${count} ${count === 1 ? 'draft' : 'drafts'}. They are hidden: the type is served with drafts as before. To publish them: dovetail sync --publish-drafts ${uid}; or switch draftAndPublish on again, or delete them, as v4 would at its next start`,
    );

/** One line per attribute that was a password. */
const describeHashed = ({ hashed }: Stored): readonly string[] =>
  [...hashed].flatMap(([uid, names]) =>
    names.map(
      (name) =>
        `${uid}.${name} was a password, and its column still holds hashes: it stays hidden and takes no values. To empty it and use it as declared: dovetail migrate plan --convert ${uid}.${name} --out, then dovetail migrate apply; or give the attribute another name`,
    ),
  );

/** Entries of a localized type that are in no locale, so that only `locale=all` lists them. */
export interface Unlocalized {
  readonly uid: Uid;
  readonly count: number;
  /** SQL that puts them into the default locale. */
  readonly statement: string;
}

/** @param diff if nothing was added yet: columns that are still missing have no such entries. */
export const readUnlocalized = async (
  model: Model,
  db: ReadableDb,
  diff?: TableDiff,
): Promise<readonly Unlocalized[]> => {
  const types = [...model.types.values()].filter(
    (type) => type.localized && !(diff && isMissing(diff, type.table, LOCALE)),
  );
  if (types.length === 0) return [];
  const counts = types.map(({ table }) =>
    db.dialect.compile(sql`select count(*) from ${sql.table(table)} where ${sql.ref(LOCALE)} is null`),
  );
  const rows = await db.read(() => readAll(counts));
  return types
    .map((type, i) => ({
      uid: type.uid,
      count: Number(rows[i]?.[0]?.[0]),
      statement: localizeAll(type, db).sql,
    }))
    .filter(({ count }) => count > 0);
};

/** One line per type. */
export const describeUnlocalized = (found: readonly Unlocalized[]): readonly string[] =>
  found.map(
    ({ uid, count, statement }) =>
      `${uid}: ${count} ${count === 1 ? 'entry has' : 'entries have'} no locale (null), so that lists show ${count === 1 ? 'it' : 'them'} with locale=all only, as in v4. To put ${count === 1 ? 'it' : 'them'} into the default locale: ${statement};`,
  );
