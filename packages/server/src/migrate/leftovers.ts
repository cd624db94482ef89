/** What the database holds that is in no schema file: attributes and types that are gone, and tables of others. */
import { sql } from 'kysely';
import { never } from '../errors.js';
import { isScalarTypeName } from '../model/attributes.js';
import type { EntryType, FixedValue, Model, Uid } from '../model/model.js';
import { FILE_UID } from '../model/model.js';
import {
  columnName,
  foreignTables,
  isOwn,
  joinColumn,
  linkTableName,
  mediaPath,
  morphManyPath,
  partPath,
} from '../model/storage.js';
import type { ColumnKind } from '../sql/dialect.js';
import type { TableDiff } from '../sql/schema.js';
import type { RowsOf, Step } from './changes.js';
import type { Memory } from './memory.js';
import { countRows, countValues, type Survey } from './survey.js';

/** How a left-over attribute is stored. */
export type Remains =
  | { readonly form: 'column'; readonly kind: ColumnKind | null }
  | { readonly form: 'links'; readonly columns: readonly string[] }
  | { readonly form: 'components'; readonly uids: readonly Uid[] }
  | { readonly form: 'media' };

export interface LeftAttribute {
  readonly kind: 'attribute';
  readonly type: Uid;
  readonly attribute: string;
  /** What memory says of it; null if nothing. */
  readonly was: string | null;
  readonly remains: Remains;
  /** Where it is: `articles.titel`, `table articles_author_links`. */
  readonly place: string;
  readonly values: number;
  readonly drop: readonly Step[];
}
export type LeftOver =
  | LeftAttribute
  | {
      readonly kind: 'type';
      readonly uid: Uid;
      readonly table: string;
      readonly entries: number;
      readonly columns: readonly string[];
      readonly drop: readonly Step[];
    }
  | { readonly kind: 'table'; readonly table: string; readonly rows: number; readonly drop: readonly Step[] }
  /** Of a table without a type, such as the order of links. */
  | { readonly kind: 'column'; readonly table: string; readonly column: string };

interface Search {
  readonly survey: Survey;
  readonly model: Model;
  readonly memory: Memory;
  readonly components: Readonly<Record<Uid, string>>;
}

/** @param diff between the model and the database. */
export const findLeftOvers = async (
  survey: Survey,
  model: Model,
  memory: Memory,
  diff: TableDiff,
): Promise<readonly LeftOver[]> => {
  const components = componentTables(model, memory, survey);
  const search: Search = { survey, model, memory, components };
  const types = [...model.types.values()].filter((it) => !it.uid.startsWith('admin::'));
  const tables = new Set(diff.surplusTables.filter((it) => !isKept(it)));
  const found: LeftOver[] = [];
  for (const type of types) {
    found.push(...(await leftColumns(type, diff, search)));
    found.push(...(await leftLinks(type, tables, search)));
    found.push(...(await leftComponents(type, search)));
  }
  found.push(...(await leftMedia(search)));
  for (const [uid, { table }] of Object.entries(memory))
    if (!model.types.has(uid) && tables.has(table)) found.push(await leftType(uid, table, tables, search));
  for (const table of tables)
    found.push({
      kind: 'table',
      table,
      rows: await countRows(survey, table),
      drop: [{ do: 'drop table', table }],
    });
  const typeTables = new Set(types.map((it) => it.table));
  for (const { table, column } of diff.surplusColumns)
    if (!typeTables.has(table) && !isKept(table)) found.push({ kind: 'column', table, column });
  return found;
};

/** Tables of Dovetail, and of v4 itself, that no type is declared for. */
const isKept = (table: string): boolean =>
  isOwn(table) || foreignTables.includes(table) || /^(strapi|admin|up|i18n)_/.test(table);

/** Tables of components by uid, also of those that are gone. */
export const componentTables = (model: Model, memory: Memory, survey: Survey): Readonly<Record<Uid, string>> =>
  Object.fromEntries(
    [...Object.entries(memory).map(([uid, it]) => ({ uid, ...it })), ...[...model.types.values()]]
      .filter((it) => it.kind === 'component' && survey.hasTable(it.table))
      .map((it) => [it.uid, it.table]),
  );

const remembered = ({ memory }: Search, uid: Uid, isIt: (name: string, was: string) => boolean) => {
  const [name, was] = Object.entries(memory[uid]?.attributes ?? {}).find(([it, is]) => isIt(it, is)) ?? [];
  return name === undefined ? null : { name, was: was ?? null };
};

const leftColumns = async (type: EntryType, diff: TableDiff, search: Search): Promise<readonly LeftOver[]> => {
  const { survey } = search;
  const found: LeftOver[] = [];
  for (const { table, column } of diff.surplusColumns) {
    // a column of drafts decides what is shown of the type (DR10)
    if (table !== type.table || column === 'published_at') continue;
    const isNamed = (name: string, was: string): boolean =>
      (isScalarTypeName(was) ? columnName(name) : joinColumn(name)) === column;
    const known = remembered(search, type.uid, (name, was) => !type.attributes.has(name) && isNamed(name, was));
    const declared = survey.declared(table, column) ?? '';
    found.push({
      kind: 'attribute',
      type: type.uid,
      attribute: known?.name ?? column,
      was: known?.was ?? null,
      remains: { form: 'column', kind: survey.dialect.schema.kindOf(declared)?.kind ?? null },
      place: `${table}.${column}`,
      values: await countValues(survey, table, column),
      drop: [{ do: 'drop column', table, column }],
    });
  }
  return found;
};

/** Takes the tables that it finds out of the set. */
const leftLinks = async (type: EntryType, tables: Set<string>, search: Search): Promise<readonly LeftOver[]> => {
  const { survey } = search;
  const found: LeftOver[] = [];
  for (const table of tables) {
    const name = /^(.+)_(links|morphs)$/.exec(table)?.[1];
    const start = `${linkTableName(type.table, '').replace(/_links$/, '')}_`;
    // another type's table may begin alike
    const isLonger = [...search.model.types.values()].some(
      (it) =>
        it.table.length > type.table.length &&
        table.startsWith(`${linkTableName(it.table, '').replace(/_links$/, '')}_`),
    );
    if (name === undefined || !table.startsWith(start) || isLonger) continue;
    const isIts = (attribute: string, was: string): boolean =>
      !isScalarTypeName(was) &&
      [linkTableName(type.table, attribute), morphManyPath(type, attribute).table].includes(table);
    const known = remembered(search, type.uid, isIts);
    tables.delete(table);
    found.push({
      kind: 'attribute',
      type: type.uid,
      attribute: known?.name ?? name.slice(start.length),
      was: known?.was ?? null,
      remains: { form: 'links', columns: [...(survey.catalog.tables.get(table)?.keys() ?? [])] },
      place: `table ${table}`,
      values: await countRows(survey, table),
      drop: [{ do: 'drop table', table }],
    });
  }
  return found;
};

/** Rows of fields that the type does not have, or of components that a field does not take. */
const leftComponents = async (type: EntryType, search: Search): Promise<readonly LeftOver[]> => {
  const { survey, components } = search;
  const { table } = partPath(type.table, '');
  if (!survey.hasTable(table)) return [];
  const rows = await survey.ask(
    survey.dialect.compile(
      sql`select field, component_type, count(*) from ${sql.table(table)} where field is not null and component_type is not null group by field, component_type order by field, component_type`,
    ),
  );
  const fields = new Map<string, { uids: Uid[]; values: number }>();
  for (const [field, uid, count] of rows as readonly (readonly [string, Uid, number])[]) {
    const attribute = type.attributes.get(field);
    if (attribute?.kind === 'part' && attribute.components.includes(uid)) continue;
    const known = fields.get(field) ?? { uids: [], values: 0 };
    fields.set(field, { uids: [...known.uids, uid], values: known.values + Number(count) });
  }
  return [...fields].map(([field, { uids, values }]): LeftOver => {
    const isGone = type.attributes.get(field)?.kind !== 'part';
    const where = (uid: Uid | null): readonly FixedValue[] => [
      { column: 'field', value: field },
      ...(uid === null ? [] : [{ column: 'component_type', value: uid }]),
    ];
    const each: readonly (Uid | null)[] = isGone ? [null] : uids;
    return {
      kind: 'attribute',
      type: type.uid,
      attribute: field,
      was: isGone ? (search.memory[type.uid]?.attributes[field] ?? `of ${uids.join(', ')}`) : `of ${uids.join(', ')}`,
      remains: { form: 'components', uids },
      place: `rows of ${table}`,
      values,
      drop: each.map((uid): Step => ({ do: 'delete rows', table, where: where(uid), components })),
    };
  });
};

const leftMedia = async (search: Search): Promise<readonly LeftOver[]> => {
  const { survey, model } = search;
  const { table } = mediaPath('', '');
  if (!survey.hasTable(table)) return [];
  const rows = await survey.ask(
    survey.dialect.compile(
      sql`select related_type, field, count(*) from ${sql.table(table)} where field is not null group by related_type, field order by related_type, field`,
    ),
  );
  return (rows as readonly (readonly [Uid, string, number])[]).flatMap(([uid, field, count]): LeftOver[] => {
    const type = model.types.get(uid);
    if (!type || uid === FILE_UID || type.attributes.get(field)?.kind === 'link') return [];
    const { fixed } = mediaPath(uid, field);
    return [
      {
        kind: 'attribute',
        type: uid,
        attribute: field,
        was: search.memory[uid]?.attributes[field] ?? null,
        remains: { form: 'media' },
        place: `rows of ${table}`,
        values: Number(count),
        drop: [{ do: 'delete rows', table, where: fixed, components: null }],
      },
    ];
  });
};

/** Takes the tables that it finds out of the set. */
const leftType = async (uid: Uid, table: string, tables: Set<string>, search: Search): Promise<LeftOver> => {
  const { survey, memory, components } = search;
  const own = [
    partPath(table, '').table,
    ...Object.keys(memory[uid]?.attributes ?? {}).flatMap((it) => [
      linkTableName(table, it),
      morphManyPath({ table, singular: '' }, it).table,
    ]),
  ].filter((it) => tables.has(it));
  const entries = await countRows(survey, table);
  const columns = [...(survey.catalog.tables.get(table)?.keys() ?? [])];
  for (const it of [table, ...own]) tables.delete(it);
  const parts = own.filter((it) => it === partPath(table, '').table);
  const everything = (it: string): RowsOf => ({ table: it, where: [], components });
  return {
    kind: 'type',
    uid,
    table,
    entries,
    columns,
    drop: [
      ...parts.map((it): Step => ({ do: 'delete rows', ...everything(it) })),
      ...own.map((it): Step => ({ do: 'drop table', table: it })),
      { do: 'drop table', table },
      { do: 'forget type', type: uid },
    ],
  };
};

export const labelOf = (it: LeftOver): string => {
  switch (it.kind) {
    case 'attribute':
      return `${it.type}.${it.attribute}`;
    case 'type':
      return it.uid;
    case 'table':
      return it.table;
    case 'column':
      return `${it.table}.${it.column}`;
    default:
      return never(it);
  }
};
