/** Takes the steps of a plan, all in one transaction: what a step cannot do leaves everything as it was. */
import { sql } from 'kysely';
import { never } from '../errors.js';
import { scalarTypes } from '../model/attributes.js';
import type { FixedValue } from '../model/model.js';
import { mediaPath, partPath } from '../model/storage.js';
import { fixedStatement } from '../sql/compile.js';
import { type Db, type Dialect, readInside, type Sql, type Statement, type Tx } from '../sql/dialect.js';
import { type Catalog, catalogProgram } from '../sql/schema.js';
import { isApplied, noteApplied } from './applied.js';
import type { RowsOf, Step } from './changes.js';
import { MigrationFault } from './faults.js';
import type { Plan } from './file.js';
import { changeMemory } from './memory.js';
import { forgetType, renameInMemory, renameInSettings, renameUid } from './settings.js';
import { unmetNeeds } from './state.js';
import { convertFrom, countRows, isLeading, matches, newSurvey, readKeys, readValues, type Survey } from './survey.js';

export interface Progress {
  onStep(step: Step): void;
  /** Rows of the table that are done. */
  onRows(table: string, done: number): void;
}

export type Applied = 'applied' | 'applied before';

/**
 * Applies a plan if that has not been done before. Throws `MigrationFault` if the database is not in the state that the plan was
 * made for, or if more would be lost than the plan says; nothing is changed then.
 */
export const applyPlan = (plan: Plan, db: Db, progress: Progress): Promise<Applied> =>
  db.writeAlone(async (tx) => {
    const { dialect } = db;
    let survey = await surveyIn(tx, dialect);
    if (!survey.hasTable('strapi_core_store_settings'))
      throw new MigrationFault(`${db.place} is not a database of a project: it has no strapi_core_store_settings.`);
    if (await isApplied(plan, dialect, tx)) return 'applied before';
    const unmet = unmetNeeds(plan.needs, survey);
    if (unmet.length > 0)
      throw new MigrationFault(
        `The plan was made for another state of the database: ${unmet.join(', ')}. Make a new plan; nothing was changed.`,
      );
    for (const step of plan.steps) {
      progress.onStep(step);
      try {
        const next = layoutAfter(step, survey);
        await take(step, survey, tx, progress);
        survey = next ?? (await surveyIn(tx, dialect));
      } catch (fault) {
        if (fault instanceof MigrationFault || !(fault instanceof Error)) throw fault;
        throw new MigrationFault(`${describeStep(step)} failed: ${messageOf(fault)}. Nothing was changed.`, {
          cause: fault,
        });
      }
    }
    await changeMemory((memory) => renameInMemory(memory, plan.changes), dialect, tx);
    await noteApplied(plan, dialect, tx);
    return 'applied';
  });

const messageOf = (fault: Error): string => (fault.cause instanceof Error ? fault.cause : fault).message;

/** `rename column articles.titel to title`. */
export const describeStep = (step: Step): string => {
  switch (step.do) {
    case 'rename table':
    case 'rename uid':
      return `${step.do} ${step.from} to ${step.to}`;
    case 'rename column':
      return `${step.do} ${step.table}.${step.from} to ${step.to}`;
    case 'rename index':
    case 'rename foreign key':
      return `${step.do} ${step.from} of ${step.table} to ${step.to}`;
    case 'rename field':
      return `${step.do} ${step.from} to ${step.to} in ${step.table}`;
    case 'rename in settings':
      return `${step.do} ${step.type}.${step.from} to ${step.to}`;
    case 'convert column':
      return `${step.do} ${step.table}.${step.column} to ${step.to}`;
    case 'keep the first':
      return `${step.do} of each ${step.by} in ${step.table}`;
    case 'add unique index':
    case 'drop unique index':
      return `${step.do} ${step.name}`;
    case 'delete rows':
      return `${step.do} of ${step.table}${step.where.map((it) => ` with ${it.column} ${it.value}`).join('')}`;
    case 'drop column':
      return `${step.do} ${step.table}.${step.column}`;
    case 'drop table':
      return `${step.do} ${step.table}`;
    case 'forget type':
      return `${step.do} ${step.type}`;
    default:
      return never(step);
  }
};

/** The present layout. */
const surveyIn = async (tx: Tx, dialect: Dialect): Promise<Survey> => {
  const ask = (statement: Statement) => tx.run(statement);
  return newSurvey(dialect, await readInside(catalogProgram(dialect), tx), await readKeys(dialect, ask), ask);
};

/** The layout after a step; null if it has to be read, which takes long where there are many tables and steps. */
const layoutAfter = (step: Step, survey: Survey): Survey | null => {
  const { catalog, keys, dialect, ask } = survey;
  const { storedName } = dialect.schema;
  const followed = (tables: Catalog['tables'], changed: Survey['keys'], indexes = catalog.indexes): Survey =>
    newSurvey(dialect, { ...catalog, tables, indexes }, changed, ask);
  switch (step.do) {
    case 'rename table': {
      const [from, to] = [storedName(step.from), storedName(step.to)];
      if (!survey.hasTable(from) || from === to) return survey;
      if (survey.hasTable(to)) return null;
      const renamed = (it: string): string => (it === from ? to : it);
      return followed(
        new Map([...catalog.tables].map(([name, columns]) => [renamed(name), columns])),
        keys.map((it) => ({ ...it, table: renamed(it.table), target: renamed(it.target) })),
      );
    }
    case 'rename column': {
      const [table, from, to] = [step.table, step.from, step.to].map(storedName) as [string, string, string];
      if (survey.declared(table, from) === undefined || from === to) return survey;
      if (survey.declared(table, to) !== undefined) return null;
      const renamed = (it: string): string => (it === from ? to : it);
      const columns = [...catalog.tables.get(table)!].map(([name, type]) => [renamed(name), type] as const);
      return followed(
        new Map(catalog.tables).set(table, new Map(columns)),
        keys.map((it) => (it.table === table ? { ...it, column: renamed(it.column) } : it)),
      );
    }
    case 'rename index': {
      if (step.columns.some((it) => survey.declared(step.table, it) === undefined)) return null;
      const [from, to] = [storedName(step.from), storedName(step.to)];
      if (from === to || !catalog.indexes.has(from)) return survey;
      const others = [...catalog.indexes].filter((it) => it !== from);
      return followed(catalog.tables, keys, new Set([...others, to]));
    }
    case 'convert column':
    case 'add unique index':
    case 'drop unique index':
    case 'drop column':
    case 'drop table':
      return null;
    case 'rename foreign key': {
      const [table, from, to] = [step.table, step.from, step.to].map(storedName) as [string, string, string];
      return followed(
        catalog.tables,
        keys.map((it) => (it.table === table && it.name === from ? { ...it, name: to } : it)),
      );
    }
    case 'rename uid':
    case 'rename field':
    case 'rename in settings':
    case 'keep the first':
    case 'delete rows':
    case 'forget type':
      return survey;
    default:
      return never(step);
  }
};

const take = async (step: Step, survey: Survey, tx: Tx, progress: Progress): Promise<void> => {
  const { dialect } = survey;
  const run = async (...statements: readonly (Sql | string)[]): Promise<void> => {
    for (const it of statements) await tx.run(typeof it === 'string' ? fixedStatement(it) : dialect.compile(it));
  };
  const work: Work = { survey, dialect, run, progress };
  switch (step.do) {
    case 'rename table':
      return renameTable(step, work);
    case 'rename column':
      return renameColumn(step, work);
    case 'rename index':
      return renameIndex(step, work);
    case 'rename foreign key':
      if (
        named(step.from, dialect) !== named(step.to, dialect) &&
        survey.keys.some((it) => it.table === named(step.table, dialect) && it.name === named(step.from, dialect))
      )
        await run(...dialect.schema.renameForeignKey(step.table, step.from, step.to));
      return;
    case 'rename uid':
      return renameUid(step, work);
    case 'rename field':
      return renameField(step, work);
    case 'rename in settings':
      return renameInSettings(step, work);
    case 'convert column':
      return convertColumn(step, work);
    case 'keep the first':
      return keepFirst(step, work);
    case 'add unique index':
      return addUniqueIndex(step, work);
    case 'drop unique index':
      return run(
        ...(dialect.schema.uniqueAs === 'constraint'
          ? [sql`alter table ${sql.table(step.table)} drop constraint if exists ${sql.id(step.name)}`]
          : []),
        sql`drop index if exists ${sql.id(step.name)}`,
      );
    case 'delete rows':
      return deleteRows(step, sql`true`, work);
    case 'drop column':
      return dropColumn(step.table, step.column, work);
    case 'drop table':
      return dropTable(step.table, work);
    case 'forget type':
      return forgetType(step.type, work);
    default:
      return never(step);
  }
};

export interface Work {
  readonly survey: Survey;
  readonly dialect: Dialect;
  /** SQL, or the text of a fixed statement. */
  run(...statements: readonly (Sql | string)[]): Promise<void>;
  readonly progress: Progress;
}
type StepOf<K extends Step['do']> = Extract<Step, { do: K }>;

const named = (name: string, { schema }: Dialect): string => schema.storedName(name);

// ---- renames

/** A table that a start has created under the new name gives way, with its rows. */
const renameTable = async ({ from, to, mergeBy }: StepOf<'rename table'>, work: Work): Promise<void> => {
  const { survey, dialect, run } = work;
  if (!survey.hasTable(from)) return;
  const { renameTable: renamed, storedName } = dialect.schema;
  // the engine shortens long names
  if (storedName(from) === storedName(to)) return;
  if (!survey.hasTable(to)) return run(...renamed(from, to));
  if (mergeBy !== null && survey.declared(from, mergeBy) !== undefined) await mergeRows(from, to, mergeBy, work);
  else if ((await countRows(survey, to)) > 0)
    throw new MigrationFault(
      `${from} cannot become ${to}: there are rows in both. Those of ${to} were written since the start with the new schema files. Move or delete them first; nothing was changed.`,
    );
  // what refers to the new name goes on to do so
  const found = await readKeys(dialect, survey.ask);
  const keys = found.filter((it) => it.target === storedName(to) && it.table !== storedName(to));
  const restored = keys.filter((it) => it.statement !== null);
  for (const it of restored) await run(sql`alter table ${sql.table(it.table)} drop constraint ${sql.id(it.name)}`);
  await run(sql`drop table ${sql.table(to)}`, ...renamed(from, to));
  await run(...restored.map((it) => it.statement!));
};

/** Adds the rows of `to` to `from`, unless both have some of the same entry. */
const mergeRows = async (from: string, to: string, by: string, work: Work): Promise<void> => {
  const { survey, run } = work;
  // the columns of links may have other names by now
  const columns = [...(survey.catalog.tables.get(named(from, work.dialect))?.keys() ?? [])].filter(
    (it) => it !== 'id' && survey.declared(to, it) !== undefined,
  );
  if ((await countRows(survey, to)) === 0) return;
  if (!columns.includes(by))
    throw new MigrationFault(`${from} cannot become ${to}: there are rows in both. Nothing was changed.`);
  const [f, t] = [sql.table(from), sql.table(to)];
  const key = sql.ref(by);
  const both = await countRows(survey, to, sql`${key} in (select ${key} from ${f})`);
  if (both > 0)
    throw new MigrationFault(
      `${from} cannot become ${to}: ${both} rows of ${to} belong to entries that have some in ${from} too. Delete one or the other first; nothing was changed.`,
    );
  const list = sql.join(columns.map((it) => sql.ref(it)));
  await run(sql`insert into ${f} (${list}) select ${list} from ${t}`);
};

/** A column that a start has added under the new name gives way, with its values. */
const renameColumn = async ({ table, from, to }: StepOf<'rename column'>, work: Work): Promise<void> => {
  const { survey, dialect, run } = work;
  if (survey.declared(table, from) === undefined || named(from, dialect) === named(to, dialect)) return;
  const [f, t] = [sql.ref(from), sql.ref(to)];
  if (survey.declared(table, to) !== undefined) {
    const both = await countRows(survey, table, sql`${f} is not null and ${t} is not null`);
    if (both > 0)
      throw new MigrationFault(
        `${table}.${from} cannot become ${to}: ${both} ${both === 1 ? 'row has a value' : 'rows have values'} under both names. Empty one or the other first; nothing was changed.`,
      );
    if ((await countRows(survey, table, sql`${t} is not null`)) > 0)
      await run(sql`update ${sql.table(table)} set ${f} = ${t} where ${t} is not null`);
    await dropColumn(table, to, work);
  }
  await run(dialect.schema.builder.alterTable(table).renameColumn(from, to).compile().sql);
};

const renameIndex = async (step: StepOf<'rename index'>, { survey, dialect, run }: Work): Promise<void> => {
  const { schema } = dialect;
  const { indexes, unfinishedIndexes } = survey.catalog;
  const [from, to] = [named(step.from, dialect), named(step.to, dialect)];
  if (from === to || !indexes.has(from)) return;
  // of a table that gave way, or added by a start to a column that did
  if (indexes.has(to) || unfinishedIndexes.has(to)) return run(sql`drop index ${sql.id(from)}`);
  if (schema.renamesIndexes) return run(sql`alter index ${sql.id(from)} rename to ${sql.id(to)}`);
  await run(sql`drop index ${sql.id(from)}`);
  if (step.columns.some((it) => survey.declared(step.table, it) === undefined)) return;
  const columns = step.columns.map((it) => (step.descending.includes(it) ? sql`${sql.ref(it)} desc` : sql.ref(it)));
  await run(
    sql`create ${step.unique ? sql`unique index` : sql`index`} ${sql.id(to)} on ${sql.table(step.table)} (${sql.join(columns)})`,
  );
};

const renameField = async (step: StepOf<'rename field'>, { survey, run }: Work): Promise<void> => {
  const { table, entry, type, typeColumn, from, to } = step;
  if (!survey.hasTable(table)) return;
  const named = (field: string): readonly FixedValue[] => [
    { column: 'field', value: field },
    ...(typeColumn === null || type === null ? [] : [{ column: typeColumn, value: type }]),
  ];
  const key = sql.ref(entry);
  const rows = sql.table(table);
  const both = await countRows(
    survey,
    table,
    sql`${matches(named(to))} and ${key} in (select ${key} from ${rows} where ${matches(named(from))})`,
  );
  if (both > 0)
    throw new MigrationFault(
      `${from} cannot become ${to}: ${both} rows of ${table} are of entries that have some under both names. Delete one or the other first; nothing was changed.`,
    );
  await run(sql`update ${rows} set field = ${to} where ${matches(named(from))}`);
};

// ---- values

const convertColumn = async (step: StepOf<'convert column'>, work: Work): Promise<void> => {
  const { survey, dialect, run, progress } = work;
  const { table, column, to } = step;
  const { schema, columnTypes } = dialect;
  const kind = scalarTypes[to].column;
  const isInPlace = schema.holds(survey.declared(table, column) ?? '', kind);
  const target = isInPlace ? column : 'dovetail_converted';
  const indexes = isInPlace ? [] : await indexesOn(table, column, work);
  if (!isInPlace)
    await run(
      schema.builder
        .alterTable(table)
        .addColumn(target, sql.raw(columnTypes[kind]) as never)
        .compile().sql,
    );
  let losses = 0;
  let done = 0;
  for await (const batch of readValues(survey, step, isInPlace ? 'odd' : 'all')) {
    const values = batch.map(({ id, value }) => {
      const converted = value === null ? null : convertFrom(value, step);
      if (!converted?.exact) losses += 1;
      return { id, value: converted?.value ?? null, isSame: isInPlace && (converted?.exact ?? false) };
    });
    const changed = values.filter((it) => !it.isSame);
    if (changed.length > 0) {
      const rows = changed.map((it) => sql`(${dialect.bind('id', it.id)}, ${dialect.bind(kind, it.value)})`);
      const name = sql.table(table);
      await run(
        sql`update ${name} set ${sql.ref(target)} = column2 from (values ${sql.join(rows)}) as converted where column1 = ${name}.id`,
      );
    }
    done += batch.length;
    progress.onRows(table, done);
  }
  if (losses > step.losesAtMost)
    throw new MigrationFault(
      `Converting ${table}.${column} to ${to} would lose something of ${losses} values, and the plan says ${step.losesAtMost}. Make a new plan; nothing was changed.`,
    );
  if (isInPlace) return;
  await dropColumn(table, column, work);
  await run(
    schema.builder.alterTable(table).renameColumn(target, column).compile().sql,
    ...indexes.map((it) => it.statement),
  );
};

/** The indexes on a column, each with the statement that creates it again. */
const indexesOn = async (table: string, column: string, { survey, dialect }: Work) => {
  const rows = (await survey.ask(dialect.schema.indexedColumns)) as readonly [string, string, string, string][];
  const found = rows.filter(([on, it]) => on === named(table, dialect) && it === named(column, dialect));
  return [...new Map(found.map(([, , name, statement]) => [name, { name, statement }])).values()];
};

const keepFirst = async (step: StepOf<'keep the first'>, work: Work): Promise<void> => {
  const { table, by, order, losesAtMost } = step;
  const keys = order.flatMap((it) => [sql`${sql.ref(it)} is null`, sql.ref(it)]);
  const numbered = sql`select id, row_number() over (partition by ${sql.ref(by)} order by ${sql.join([...keys, sql`id`])}) as place from ${sql.table(table)} where ${isLeading(step)}`;
  const surplus = sql`id in (select id from (${numbered}) as numbered where place > 1)`;
  const count = await countRows(work.survey, table, surplus);
  if (count > losesAtMost)
    throw new MigrationFault(
      `${table} has ${count} rows beyond the first of each ${by}, and the plan says ${losesAtMost}. Make a new plan; nothing was changed.`,
    );
  await deleteRows(step, surplus, work);
};

const addUniqueIndex = ({ table, name, column }: StepOf<'add unique index'>, { survey, dialect, run }: Work) => {
  if (survey.catalog.indexes.has(named(name, dialect))) return;
  return run(
    dialect.schema.uniqueAs === 'constraint'
      ? sql`alter table ${sql.table(table)} add constraint ${sql.id(name)} unique (${sql.ref(column)})`
      : sql`create unique index ${sql.id(name)} on ${sql.table(table)} (${sql.ref(column)})`,
  );
};

// ---- removal

/** Components that the rows link are deleted too, with all that they hold. */
const deleteRows = async ({ table, where, components }: RowsOf, condition: Sql, work: Work): Promise<void> => {
  const all = sql`${matches(where)} and ${condition}`;
  if (components) await deleteParts(table, all, components, work);
  else if (work.survey.hasTable(table)) await work.run(sql`delete from ${sql.table(table)} where ${all}`);
};

/** Rows of a `_components` table, from the innermost components out: keys would delete the rows that name them. */
const deleteParts = async (
  table: string,
  condition: Sql,
  components: NonNullable<RowsOf['components']>,
  work: Work,
): Promise<void> => {
  const { survey, dialect, run } = work;
  if (!survey.hasTable(table)) return;
  const rows = (await survey.ask(
    dialect.compile(
      sql`select component_type, component_id, id from ${sql.table(table)} where ${condition} order by id`,
    ),
  )) as readonly (readonly [string, number, number])[];
  for (let i = 0; i < rows.length; i += LIST_MAX) {
    const some = rows.slice(i, i + LIST_MAX);
    for (const uid of new Set(some.map((it) => it[0]))) {
      const own = components[uid];
      if (own === undefined || !survey.hasTable(own)) continue;
      const ids = idList(
        some.filter((it) => it[0] === uid).map((it) => it[1]),
        dialect,
      );
      await deleteParts(partPath(own, '').table, sql`entity_id in (${ids})`, components, work);
      await run(
        sql`delete from ${sql.table(MEDIA_TABLE)} where related_type = ${uid} and related_id in (${ids})`,
        sql`delete from ${sql.table(own)} where id in (${ids})`,
      );
    }
    const links = idList(
      some.map((it) => it[2]),
      dialect,
    );
    await run(sql`delete from ${sql.table(table)} where id in (${links})`);
  }
};
const LIST_MAX = 1000;
const MEDIA_TABLE = mediaPath('', '').table;

const idList = (ids: readonly number[], dialect: Dialect): Sql => sql.join(ids.map((it) => dialect.bind('id', it)));

const dropColumn = async (table: string, column: string, work: Work): Promise<void> => {
  const { survey, dialect, run } = work;
  if (survey.declared(table, column) === undefined) return;
  const { builder, dropsWithColumn } = dialect.schema;
  if (!dropsWithColumn) {
    if (survey.keys.some((it) => it.table === named(table, dialect) && it.column === named(column, dialect)))
      return run(sql`update ${sql.table(table)} set ${sql.ref(column)} = null where ${sql.ref(column)} is not null`);
    for (const { name } of await indexesOn(table, column, work)) await run(sql`drop index ${sql.id(name)}`);
  }
  await run(builder.alterTable(table).dropColumn(column).compile().sql);
};

const dropTable = async (table: string, { survey, dialect, run }: Work): Promise<void> => {
  if (!survey.hasTable(table)) return;
  const name = named(table, dialect);
  const others = survey.keys.filter((it) => it.target === name && it.table !== name).map((it) => it.table);
  if (others.length > 0)
    throw new MigrationFault(
      `${table} cannot be dropped: ${[...new Set(others)].join(', ')} refer to it. Drop them too; nothing was changed.`,
    );
  await run(sql`drop table ${sql.table(table)}`);
};
