/**
 * Names of types and attributes outside of their tables: links to entries of any type, permissions, and what v4's
 * administration has stored of them. Tables that a database does not have are passed over.
 */
import { sql } from 'kysely';
import type { Uid } from '../model/model.js';
import { isJsonObject, type JsonObject } from '../model/schema.js';
import type { Dialect, Sql } from '../sql/dialect.js';
import type { Change, Step } from './changes.js';
import { type Memory, type RememberedType, singularOf } from './memory.js';
import { countRows, type Survey } from './survey.js';

interface Work {
  readonly survey: Survey;
  readonly dialect: Dialect;
  run(...statements: readonly (Sql | string)[]): Promise<void>;
}
type StepOf<K extends Step['do']> = Extract<Step, { do: K }>;

/** Tables of permissions, whose actions begin with the uid of a type. */
const actionTables = ['up_permissions', 'strapi_api_token_permissions'] as const;
const SETTINGS = 'strapi_core_store_settings';
const V4_TYPES = 'strapi_content_types_schema';
/** Keys of the settings that v4's content manager keeps for each type and component. */
const managerKey = (uid: Uid, kind: 'content_types' | 'components'): string =>
  `plugin_content_manager_configuration_${kind}::${uid}`;
const managerKeys = (uid: Uid): readonly string[] => [managerKey(uid, 'content_types'), managerKey(uid, 'components')];

export const renameUid = async ({ from, to }: StepOf<'rename uid'>, work: Work): Promise<void> => {
  const { survey, run } = work;
  for (const { table, column } of typeColumns(survey)) {
    const name = sql.ref(column);
    await run(sql`update ${sql.table(table)} set ${name} = ${to} where ${name} = ${from}`);
  }
  for (const table of actionTables) {
    if (!survey.hasTable(table)) continue;
    const start = sql.lit(`${from}.`.length);
    await run(
      sql`update ${sql.table(table)} set action = ${`${to}.`} || substr(action, ${start} + 1) where substr(action, 1, ${start}) = ${`${from}.`}`,
    );
  }
  for (const [i, key] of managerKeys(from).entries()) {
    const other = managerKeys(to)[i]!;
    if ((await countRows(survey, SETTINGS, sql`${sql.ref('key')} = ${key}`)) === 0) continue;
    await run(sql`delete from ${sql.table(SETTINGS)} where ${sql.ref('key')} = ${other}`);
    await changeSetting(key, work, (json) => ({ ...json, uid: to }));
    await run(sql`update ${sql.table(SETTINGS)} set ${sql.ref('key')} = ${other} where ${sql.ref('key')} = ${key}`);
  }
  await changeSetting(V4_TYPES, work, (json) => (Object.hasOwn(json, from) ? withKey(json, from, to) : json));
};

/** Columns that hold the uid of a type: `related_type`, `component_type`, `target_type`, `sources_type`. */
const typeColumns = ({ catalog, dialect }: Survey): readonly { readonly table: string; readonly column: string }[] =>
  [...catalog.tables].flatMap(([table, columns]) =>
    [...columns]
      .filter(([column]) => column.endsWith('_type') || (table === 'admin_permissions' && column === 'subject'))
      .filter(([, declared]) => {
        const kind = dialect.schema.kindOf(declared)?.kind;
        return kind === 'string' || kind === 'text';
      })
      .map(([column]) => ({ table, column })),
  );

export const renameInSettings = async (step: StepOf<'rename in settings'>, work: Work): Promise<void> => {
  const { type, from, to } = step;
  const { survey, dialect, run } = work;
  if (survey.hasTable('admin_permissions') && survey.declared('admin_permissions', 'properties') !== undefined) {
    const rows = await survey.ask(
      dialect.compile(
        sql`select id, cast(properties as text) from admin_permissions where subject = ${type} and properties is not null`,
      ),
    );
    for (const [id, text] of rows as readonly (readonly [number, string])[]) {
      const properties = parse(text);
      const fields = properties?.['fields'];
      if (!properties || !Array.isArray(fields)) continue;
      const renamed = fields.map((it: unknown) => (typeof it === 'string' ? renamedPath(it, from, to) : it));
      const json = dialect.bind('json', JSON.stringify({ ...properties, fields: renamed }));
      await run(sql`update admin_permissions set properties = ${json} where id = ${dialect.bind('id', id)}`);
    }
  }
  // paths lead into components, which have settings of their own
  if (from.includes('.')) return;
  for (const key of managerKeys(type)) await changeSetting(key, work, (json) => renamedIn(json, from, to));
  await changeSetting(V4_TYPES, work, (json) => {
    const schema = json[type];
    const attributes = isJsonObject(schema) ? schema['attributes'] : undefined;
    if (!isJsonObject(schema) || !isJsonObject(attributes) || !Object.hasOwn(attributes, from)) return json;
    return { ...json, [type]: { ...schema, attributes: withKey(attributes, from, to) } };
  });
};

const renamedPath = (path: string, from: string, to: string): string =>
  path === from || path.startsWith(`${from}.`) ? to + path.slice(from.length) : path;

/** What the content manager shows of an attribute, and where. */
const renamedIn = (json: JsonObject, from: string, to: string): JsonObject => {
  const renamed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((it) => (it === from ? to : renamed(it)));
    if (isJsonObject(value)) return value['name'] === from ? { ...value, name: to } : value;
    return value;
  };
  const { settings, metadatas, layouts } = json;
  return {
    ...json,
    ...(isJsonObject(settings) ? { settings: mapped(settings, (it) => (it === from ? to : it)) } : {}),
    ...(isJsonObject(metadatas) ? { metadatas: withKey(metadatas, from, to) } : {}),
    ...(isJsonObject(layouts) ? { layouts: mapped(layouts, renamed) } : {}),
  };
};

const mapped = (json: JsonObject, change: (value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(json).map(([key, value]) => [key, change(value)]));

/** The same with another name for a key, in its place. */
const withKey = (json: JsonObject, from: string, to: string): JsonObject =>
  Object.fromEntries(
    Object.entries(json)
      .filter(([key]) => key !== to || !Object.hasOwn(json, from))
      .map(([key, value]) => [key === from ? to : key, value]),
  );

export const forgetType = async (type: Uid, work: Work): Promise<void> => {
  const { survey, run } = work;
  for (const { table, column } of typeColumns(survey)) {
    const isIt = sql`${sql.ref(column)} = ${type}`;
    if (/_(components|morphs)$/.test(table) || column === 'subject')
      await run(sql`delete from ${sql.table(table)} where ${isIt}`);
    // a polymorphic relation to one entry is in the row of the entry that has it
    else if (column === 'target_type' && survey.declared(table, 'target_id') !== undefined)
      await run(sql`update ${sql.table(table)} set target_id = null, target_type = null where ${isIt}`);
  }
  for (const table of actionTables) {
    if (!survey.hasTable(table)) continue;
    await run(
      sql`delete from ${sql.table(table)} where substr(action, 1, ${sql.lit(type.length + 1)}) = ${`${type}.`}`,
    );
  }
  for (const key of managerKeys(type))
    await run(sql`delete from ${sql.table(SETTINGS)} where ${sql.ref('key')} = ${key}`);
};

const changeSetting = async (
  key: string,
  { survey, dialect, run }: Work,
  change: (json: JsonObject) => JsonObject,
): Promise<void> => {
  const rows = await survey.ask(
    dialect.compile(sql`select id, value from ${sql.table(SETTINGS)} where ${sql.ref('key')} = ${key}`),
  );
  for (const [id, text] of rows as readonly (readonly [number, string])[]) {
    const json = parse(text);
    const changed = json && JSON.stringify(change(json));
    if (changed !== null && changed !== text)
      await run(sql`update ${sql.table(SETTINGS)} set value = ${changed} where id = ${dialect.bind('id', id)}`);
  }
};

const parse = (text: string | null): JsonObject | null => {
  try {
    const json: unknown = JSON.parse(text ?? '');
    return isJsonObject(json) ? json : null;
  } catch {
    return null;
  }
};

// ---- memory

/** What a database remembers after the changes. */
export const renameInMemory = (memory: Memory, changes: readonly Change[]): Memory => {
  const types = { ...memory };
  const uids = changes.filter((it) => it.change === 'rename type');
  const moved = uids.map((it) => [it.to, types[it.from]] as const);
  for (const { from } of uids) delete types[from];
  for (const [to, type] of moved) if (type) types[to] = { ...type, singular: singularOf(to) };
  for (const [uid, type] of Object.entries(types)) {
    const words = (what: string): string =>
      what
        .split(' ')
        .map((word) => uids.find((it) => it.from === word)?.to ?? word)
        .join(' ');
    const attributes = Object.entries(type.attributes).map(([name, what]) => [name, words(what)]);
    types[uid] = { ...type, attributes: Object.fromEntries(attributes) };
  }
  for (const change of changes)
    if (change.change === 'rename table') {
      const type = types[change.type];
      if (type) types[change.type] = { ...type, table: change.to };
    } else if (change.change === 'drop type') delete types[change.type];
  const renamed = changes.filter((it) => it.change === 'rename attribute');
  for (const uid of new Set(renamed.map((it) => it.type))) {
    const type = types[uid];
    if (!type) continue;
    const own = renamed.filter((it) => it.type === uid);
    const kept = Object.entries(type.attributes).filter(
      ([name]) => !own.some((it) => it.from === name || it.to === name),
    );
    const added = own.flatMap((it) => {
      const was = type.attributes[it.from];
      return was === undefined ? [] : [[it.to, was] as const];
    });
    const secrets = (type.secrets ?? []).map((name) => own.find((it) => it.from === name)?.to ?? name);
    types[uid] = { ...type, attributes: Object.fromEntries([...kept, ...added]), ...(type.secrets ? { secrets } : {}) };
  }
  for (const change of changes) {
    const isTyped =
      change.change === 'convert attribute' ||
      change.change === 'require unique values' ||
      change.change === 'allow repeated values';
    const type = isTyped ? types[change.type] : undefined;
    if (isTyped && type)
      types[change.type] = {
        ...(change.change === 'convert attribute' ? withoutSecret(type, change.attribute) : type),
        attributes: { ...type.attributes, [change.attribute]: change.to },
      };
  }
  for (const change of changes) {
    const type = change.change === 'drop attribute' ? types[change.type] : undefined;
    if (change.change !== 'drop attribute' || !type) continue;
    const attributes = Object.entries(type.attributes).filter(([name]) => name !== change.attribute);
    types[change.type] = { ...withoutSecret(type, change.attribute), attributes: Object.fromEntries(attributes) };
  }
  return types;
};

const withoutSecret = ({ secrets = [], ...type }: RememberedType, attribute: string): RememberedType => {
  const others = secrets.filter((it) => it !== attribute);
  return others.length > 0 ? { ...type, secrets: others } : type;
};
