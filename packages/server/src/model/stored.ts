/**
 * A model as a database can serve it. The server never changes existing columns (ST9), so if a schema file was changed
 * after its table was created, the table takes precedence.
 */
import type { ColumnKind, StoredKind } from '../sql/dialect.js';
import { isSecretType, type ScalarTypeName, scalarTypes } from './attributes.js';
import type { Attribute, EntryType, LinkPath, Model, ScalarAttribute, Uid } from './model.js';
import { systemAttributes } from './system.js';

export interface StoredColumn {
  readonly table: string;
  readonly column: string;
  /** Null: no attribute type is stored like this. */
  readonly stored: StoredKind | null;
}

export interface Stored {
  /** Columns whose type differs from that of their attribute. */
  readonly columns: readonly StoredColumn[];
  /** Types without drafts whose table has a column `published_at`, and how many drafts it holds. */
  readonly drafts: ReadonlyMap<Uid, number>;
  /** By type, attributes that were passwords, and whose columns still hold hashes. */
  readonly hashed: ReadonlyMap<Uid, readonly string[]>;
  /** Tables whose unique indexes are all there. */
  readonly uniqueTables: ReadonlySet<string>;
}

/**
 * Attributes get the type of their column, so that no request asks the database for what it cannot do. A type whose
 * table still holds drafts keeps `draftAndPublish`: switching it off publishes nobody's drafts. Links whose table refuses a pair
 * twice need not be looked through for it.
 */
export const asStored = (model: Model, stored: Stored): Model => ({
  types: new Map([...model.types].map(([uid, type]) => [uid, typeAsStored(linksAsStored(type, stored), stored)])),
});

const linksAsStored = (type: EntryType, { uniqueTables }: Stored): EntryType => {
  const attributes = [...type.attributes].map(([name, it]): [string, Attribute] => [
    name,
    it.kind !== 'scalar' && uniqueTables.has(it.path.table) ? withoutRepeats(it) : it,
  ]);
  return Object.freeze({ ...type, attributes: new Map(attributes) });
};

const withoutRepeats = <A extends { readonly path: LinkPath }>(attribute: A): A =>
  Object.freeze({ ...attribute, path: Object.freeze({ ...attribute.path, mayRepeat: false }) });

const typeAsStored = (type: EntryType, { columns, drafts, hashed }: Stored): EntryType => {
  const own = columns.filter((it) => it.table === type.table);
  const count = drafts.get(type.uid);
  const hashes = hashed.get(type.uid) ?? [];
  if (own.length === 0 && count === undefined && hashes.length === 0) return type;
  const attributes = new Map<string, Attribute>();
  for (const [name, attribute] of type.attributes) {
    const column = attribute.kind === 'scalar' ? own.find((it) => it.column === attribute.column) : undefined;
    const served = attribute.kind === 'scalar' && column ? attributeAsStored(attribute, column) : attribute;
    attributes.set(name, served.kind === 'scalar' && hashes.includes(name) ? asHash(served) : served);
  }
  const draftAndPublish = type.draftAndPublish || (count ?? 0) > 0;
  for (const it of systemAttributes({ ...type, draftAndPublish }))
    if (!attributes.has(it.name)) attributes.set(it.name, it);
  return Object.freeze({
    ...type,
    attributes,
    draftAndPublish,
    keepsPublishedAt: count !== undefined && !draftAndPublish,
  });
};

/** The attribute type that a column serves; null for columns of no attribute. Most kinds are named like their type. */
export const typeOfKind = (kind: ColumnKind): ScalarTypeName | null => {
  switch (kind) {
    case 'id':
    case 'reference':
    case 'rank':
      return null;
    case 'bigint':
      return 'biginteger';
    case 'jsonText':
      return 'json';
    default:
      return kind;
  }
};

/** Rules of an attribute that nothing writes. */
const closed = { required: false, writable: false, frozen: true } as const;

/** The attribute with the type of its column; unchanged if the column can store every value of the attribute. */
const attributeAsStored = (attribute: ScalarAttribute, { stored }: StoredColumn): ScalarAttribute => {
  const { rules } = attribute;
  const wanted = scalarTypes[attribute.type].column;
  const type = stored && typeOfKind(stored.kind);
  if (!stored || !type) return attribute;
  const bounded = stored.lengthMax === null ? rules : { ...rules, maxLength: least(rules.maxLength, stored.lengthMax) };
  // a text column can hold any string
  if (wanted === stored.kind || (wanted === 'string' && stored.kind === 'text'))
    return Object.freeze({ ...attribute, rules: bounded });
  // a column of another kind cannot hold a hash, and must not hold anything else
  if (isSecretType(attribute.type))
    return Object.freeze({ ...attribute, type, hidden: true, rules: { ...bounded, ...closed } });
  const { defaultValue } = rules;
  const hasDefault =
    defaultValue != null && scalarTypes[type].parseJson(defaultValue, { rules: bounded, path: [], draft: true }).ok;
  return Object.freeze({
    ...attribute,
    type,
    rules: { ...bounded, defaultValue: hasDefault ? defaultValue : undefined },
  });
};

/** A former password: its hashes are shown to nobody, and nothing is written beside them (F2). */
const asHash = (attribute: ScalarAttribute): ScalarAttribute =>
  Object.freeze({
    ...attribute,
    type: 'password',
    hidden: true,
    rules: { ...attribute.rules, ...closed },
  });

const least = (a: number | null, b: number): number => (a === null ? b : Math.min(a, b));
