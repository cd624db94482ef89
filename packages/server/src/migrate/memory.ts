/**
 * What a database remembers of the models that it was served with. Types and attributes that schema files no longer have are
 * remembered too, as their tables and columns are kept: a table does not tell which type it was, nor a column which attribute.
 */
import { sql } from 'kysely';
import { never } from '../errors.js';
import { isScalarTypeName, isSecretType, isUniqueInDatabase, scalarTypes } from '../model/attributes.js';
import type { Attribute, EntryType, Model, ScalarAttribute, Uid } from '../model/model.js';
import { isJsonObject, type JsonObject } from '../model/schema.js';
import { type Dialect, type ReadProgram, readRows, type Statement, type Tx } from '../sql/dialect.js';

export type Memory = Readonly<Record<Uid, RememberedType>>;
export interface RememberedType {
  readonly kind: EntryType['kind'];
  readonly table: string;
  readonly singular: string;
  /** What each attribute was: `string`, `media one`, `relation manyToOne api::author.author`. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Those that have been passwords since they were last converted: their columns may hold hashes. */
  readonly secrets?: readonly string[];
}

/** A uid ends in the singular name. */
export const singularOf = (uid: Uid): string => /[^.]*$/.exec(uid)![0];

/** The row of the settings table with Dovetail's memory. */
const MODEL_KEY = 'dovetail_model';
/** That of v4, which holds content types as their schema files declare them, but no components. */
const V4_KEY = 'strapi_content_types_schema';

/** Empty if nothing is remembered. The settings table must exist. */
export function* readMemory(dialect: Dialect): ReadProgram<Memory> {
  const rows = yield* readRows(selectMemory(dialect));
  return memoryIn(rows as readonly (readonly [string, string | null])[]);
}

const selectMemory = (dialect: Dialect): Statement =>
  dialect.compile(
    sql`select ${sql.ref('key')}, value from strapi_core_store_settings where ${sql.ref('key')} in (${MODEL_KEY}, ${V4_KEY}) order by id desc`,
  );

const memoryIn = (rows: readonly (readonly [string, string | null])[]): Memory => {
  const values = new Map(rows.map(([key, value]) => [key, parseObject(value)]));
  const ours = values.get(MODEL_KEY) as Memory | undefined;
  return { ...memoryOfV4(values.get(V4_KEY) ?? {}), ...ours };
};

const parseObject = (text: string | null): JsonObject => {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
};

/** The memory with the model added to it: what the model has replaces what was remembered, the rest stays. */
export const withModel = (memory: Memory, { types }: Model): Memory => {
  const added = [...types.values()]
    .filter((it) => !it.uid.startsWith('admin::'))
    .map((type): [Uid, RememberedType] => {
      const { uid, kind, table, singular } = type;
      const before = memory[uid]?.attributes ?? {};
      const declared = Object.entries(attributesOf(type)).map(([name, is]) => [
        name,
        isUntold(before[name], is) ? before[name] : is,
      ]);
      const attributes = { ...before, ...Object.fromEntries(declared) };
      const now = [...type.attributes.values()].flatMap((it) =>
        it.kind === 'scalar' && isSecretType(it.type) ? [it.name] : [],
      );
      const secrets = [...new Set([...(memory[uid]?.secrets ?? []), ...now])];
      return [uid, { kind, table, singular, attributes, ...(secrets.length > 0 ? { secrets } : {}) }];
    });
  return { ...memory, ...Object.fromEntries(added) };
};

/** What the values of an attribute are: what it was when they were written. Undefined if that is not remembered. */
export const valuesWere = (memory: Memory, uid: Uid, { name, type }: ScalarAttribute): string | undefined =>
  memory[uid]?.secrets?.includes(name) && !isSecretType(type) ? 'password' : memory[uid]?.attributes[name];

/**
 * Types that are stored in columns of one kind, and whose values differ all the same: a column does not tell them apart, so the
 * former is remembered until its values were converted.
 */
export const isUntold = (was: string | undefined, is: string): boolean => {
  if (was === undefined || was === is || !isScalarTypeName(was) || !isScalarTypeName(is)) return false;
  // a hash is no value of any other type, whatever column it is in
  if (isSecretType(was)) return true;
  if (scalarTypes[was].column !== scalarTypes[is].column) return false;
  return scalarTypes[was].family === 'json' || [was, is].some((it) => isSecretType(it) || isUniqueInDatabase(it));
};

export const attributesOf = ({ attributes }: EntryType): Readonly<Record<string, string>> =>
  Object.fromEntries([...attributes].map(([name, it]) => [name, describeAttribute(it)]));

/** What an attribute is, as memory and messages say it. */
export const describeAttribute = (attribute: Attribute): string => {
  switch (attribute.kind) {
    case 'scalar':
      return attribute.type;
    case 'link':
      return attribute.source === 'media'
        ? `media ${attribute.shape}`
        : `relation ${attribute.relation} ${attribute.target}`;
    case 'part':
      return attribute.shape === 'zone'
        ? `zone ${[...attribute.components].sort().join(' ')}`
        : `component ${attribute.shape} ${attribute.components.join(' ')}`;
    case 'morph':
      return `morph ${attribute.shape}`;
    default:
      return never(attribute);
  }
};

export const isSameMemory = (a: Memory, b: Memory): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Stores the memory that the change makes of the present one, if it differs. */
export const changeMemory = async (change: (memory: Memory) => Memory, dialect: Dialect, tx: Tx): Promise<void> => {
  const rows = (await tx.run(selectMemory(dialect))) as readonly (readonly [string, string | null])[];
  const before = memoryIn(rows);
  const isStored = rows.some(([key]) => key === MODEL_KEY);
  const after = change(before);
  if (isStored && isSameMemory(before, after)) return;
  const value = JSON.stringify(after);
  await tx.run(
    dialect.compile(
      isStored
        ? sql`update strapi_core_store_settings set value = ${value} where ${sql.ref('key')} = ${MODEL_KEY}`
        : sql`insert into strapi_core_store_settings (${sql.ref('key')}, value, type) values (${MODEL_KEY}, ${value}, 'object')`,
    ),
  );
};

// ---- v4

const memoryOfV4 = (schemas: JsonObject): Memory =>
  Object.fromEntries(
    Object.entries(schemas).flatMap(([uid, schema]) => {
      if (!isJsonObject(schema) || uid.startsWith('admin::')) return [];
      const info = isJsonObject(schema['info']) ? schema['info'] : {};
      const attributes = isJsonObject(schema['attributes']) ? schema['attributes'] : {};
      const singular = textIn(info, 'singularName') ?? singularOf(uid);
      const type: RememberedType = {
        kind: schema['kind'] === 'singleType' ? 'single' : 'collection',
        table: textIn(schema, 'collectionName') ?? singular,
        singular,
        attributes: Object.fromEntries(Object.entries(attributes).map(([name, it]) => [name, describeDeclared(it)])),
      };
      return [[uid, type]];
    }),
  );

const textIn = (json: JsonObject, key: string): string | null => {
  const value = json[key];
  return typeof value === 'string' && value !== '' ? value : null;
};

const describeDeclared = (declared: unknown): string => {
  if (!isJsonObject(declared)) return '';
  const [type, relation, target] = ['type', 'relation', 'target'].map((key) => textIn(declared, key) ?? '');
  const components = Array.isArray(declared['components']) ? (declared['components'] as unknown[]).map(String) : [];
  switch (type) {
    case 'relation':
      return relation === 'morphToOne' || relation === 'morphToMany'
        ? `morph ${relation === 'morphToOne' ? 'one' : 'many'}`
        : `relation ${relation} ${target}`;
    case 'media':
      return `media ${declared['multiple'] === true ? 'many' : 'one'}`;
    case 'component':
      return `component ${declared['repeatable'] === true ? 'many' : 'one'} ${textIn(declared, 'component') ?? ''}`;
    case 'dynamiczone':
      return `zone ${components.sort().join(' ')}`;
    default:
      return type ?? '';
  }
};
