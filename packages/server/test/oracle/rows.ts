/** A world as rows of a real database: v4's tables, columns and value forms. */
import { sql } from 'kysely';
import type { EntryType, LinkAttribute, Model, MorphAttribute } from '../../src/model/model.js';
import type { Db } from '../../src/sql/dialect.js';
import type { Table } from '../../src/sql/schema.js';
import { insertRows } from '../world/databases.js';
import { insertGrants } from '../world/grants.js';
import type { Random } from './random.js';
import { attributesOf, FILES, type LinkSpec, type MorphSpec, morphKey, type ProjectSpec } from './schema.js';
import { rowValueOf } from './values.js';
import type { World } from './world.js';

type Row = Readonly<Record<string, string | number | boolean | null>>;

/** Inserts a world and a public role with the permissions of the project. */
export const insertWorld = async (
  db: Db,
  { project, world, model, tables }: { project: ProjectSpec; world: World; model: Model; tables: readonly Table[] },
  random: Random,
): Promise<void> => {
  const tableOf = (name: string): Table => {
    const table = tables.find((it) => it.name === name);
    if (!table) throw new Error(`the model has no table "${name}"`);
    return table;
  };
  // PostgreSQL's heap keeps the order of insertion, which must not happen to be the order of ids
  const insert = (table: string, rows: readonly Row[]): Promise<void> =>
    insertRows(db, tableOf(table), random.shuffle(rows));
  for (const spec of project.types.values()) {
    const type = model.types.get(spec.uid)!;
    const rows = [...world.entries.get(spec.uid)!.values()].map((entry): Row => {
      const row: Record<string, string | number | boolean | null> = { id: entry.id };
      for (const [name, value] of entry.values) {
        const attribute = type.attributes.get(name);
        if (attribute?.kind !== 'scalar') throw new Error(`${spec.uid} was loaded without "${name}"`);
        row[attribute.column] = rowValueOf(value);
      }
      return row;
    });
    await insert(type.table, rows);
  }
  for (const spec of project.types.values()) {
    const type = model.types.get(spec.uid)!;
    for (const attribute of attributesOf(spec)) {
      if (attribute.kind === 'link' && attribute.side === 'owner' && world.links.has(attribute.links))
        await insertLinks(db, type, attribute, world, insert);
    }
    const parts = world.parts.get(spec.uid)!;
    if (parts.length > 0) {
      await insert(
        `${type.table}_components`,
        parts.map((it) => ({
          id: it.id,
          entity_id: it.entity,
          component_id: it.component,
          component_type: it.type,
          field: it.field,
          order: it.rank,
        })),
      );
    }
  }
  for (const spec of project.types.values()) {
    for (const attribute of attributesOf(spec))
      if (attribute.kind === 'morph') await insertMorphs(db, model.types.get(spec.uid)!, attribute, world, insert);
  }
  if (world.defaultLocale !== null)
    await insert('strapi_core_store_settings', [
      { id: 1, key: 'plugin_i18n_default_locale', value: JSON.stringify(world.defaultLocale), type: 'string' },
    ]);
  await insertPermissions(project, insert);
};

const insertLinks = async (
  db: Db,
  type: EntryType,
  spec: LinkSpec,
  world: World,
  insert: (table: string, rows: readonly Row[]) => Promise<void>,
): Promise<void> => {
  const { path, inverseRank } = type.attributes.get(spec.name) as LinkAttribute;
  const links = world.links.get(spec.links)!;
  if (spec.storage === 'column') {
    // after all entries exist: types may refer to each other in cycles
    await db.write(async (tx) => {
      for (const { owner, target } of links) {
        await tx.run(
          db.dialect.compile(
            sql`update ${sql.table(type.table)} set ${sql.id(path.to)} = ${sql.lit(target)} where id = ${sql.lit(owner)}`,
          ),
        );
      }
    });
    return;
  }
  const needsRank = spec.relation === 'oneToMany' || spec.relation === 'manyToMany';
  if (needsRank !== (path.rank !== null)) throw new Error(`${spec.links}: rank column ${path.rank}`);
  await insert(
    path.table,
    links.map((it) => ({
      id: it.id,
      [path.from]: it.owner,
      [path.to]: it.target,
      ...(path.rank === null ? {} : { [path.rank]: it.ownerRank }),
      ...(inverseRank === null ? {} : { [inverseRank]: it.targetRank }),
    })),
  );
};

const insertMorphs = async (
  db: Db,
  type: EntryType,
  { name, shape }: MorphSpec,
  world: World,
  insert: (table: string, rows: readonly Row[]) => Promise<void>,
): Promise<void> => {
  const { path } = type.attributes.get(name) as MorphAttribute;
  const rows = world.morphs.get(morphKey(type.uid, name))!;
  if (shape === 'many')
    await insert(
      path.table,
      rows.map((it) => ({
        id: it.id,
        [path.from]: it.owner,
        [path.to]: it.target,
        [path.typeColumn]: it.type,
        field: it.field,
        order: it.rank,
      })),
    );
  else
    await db.write(async (tx) => {
      for (const it of rows) {
        const set = sql`${sql.id(path.to)} = ${sql.lit(it.target)}, ${sql.id(path.typeColumn)} = ${it.type}`;
        await tx.run(
          db.dialect.compile(sql`update ${sql.table(type.table)} set ${set} where id = ${sql.lit(it.owner)}`),
        );
      }
    });
};

const insertPermissions = async (
  project: ProjectSpec,
  insert: (table: string, rows: readonly Row[]) => Promise<void>,
): Promise<void> => {
  const actions = [...project.types.values()]
    .filter((it) => it.kind !== 'component' && it.findable)
    .flatMap(({ uid }) =>
      (uid === FILES ? ['plugin::upload.content-api'] : [uid]).flatMap((it) => [`${it}.find`, `${it}.findOne`]),
    );
  await insert('up_roles', [{ id: 1, name: 'Public', type: 'public' }]);
  await insertGrants(
    actions.map((action) => ({ role: 1, action })),
    insert,
  );
};
