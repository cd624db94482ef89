/** The model: every content type and component of a project, loaded and frozen. Types and lookups only. */
import { bug, never } from '../errors.js';
import type { ScalarRules, ScalarTypeName } from './attributes.js';

/** `api::article.article`, `plugin::upload.file`, `shared.seo`. */
export type Uid = string;

export const FILE_UID = 'plugin::upload.file';
export const FOLDER_UID = 'plugin::upload.folder';
export const USER_UID = 'plugin::users-permissions.user';
export const ROLE_UID = 'plugin::users-permissions.role';
export const ADMIN_UID = 'admin::user';
export const LOCALE_UID = 'plugin::i18n.locale';

/** A condition that selects an attribute's rows in a shared table, such as `field = 'cover'`. */
export interface FixedValue {
  readonly column: string;
  readonly value: string;
}

/**
 * How to get from entries to the entries of a link or part attribute, the same for every form of storage: rows of
 * `table` whose `from` is the entry's id and that have the fixed values, in the order of `rank`, hold the other id in `to`.
 */
export interface LinkPath {
  readonly table: string;
  readonly from: string;
  readonly to: string;
  readonly rank: string | null;
  readonly fixed: readonly FixedValue[];
  /** The column that names the type of `to`; null if all targets are of one type. */
  readonly typeColumn: string | null;
  /** Whether a pair of ids may be there twice, because nothing is known that refuses it (ST10). */
  readonly mayRepeat: boolean;
  /** Whether an index has `from`, the fixed columns, `rank` and `to`, so that a list is read from it alone, in its order (ST7). */
  readonly hasListIndex: boolean;
}

export interface ScalarAttribute {
  readonly kind: 'scalar';
  readonly name: string;
  readonly type: ScalarTypeName;
  readonly column: string;
  /** Private and password attributes: never selected, filtered or sorted by, at any depth. */
  readonly hidden: boolean;
  readonly searchable: boolean;
  /** The custom field that it is declared as, such as `plugin::color-picker.color`; null for none. */
  readonly customField: string | null;
  readonly rules: ScalarRules;
}

export type RelationKind = 'oneToOne' | 'oneToMany' | 'manyToOne' | 'manyToMany';

export interface LinkAttribute {
  readonly kind: 'link';
  readonly name: string;
  /** `morph`: `morphOne` and `morphMany`, the links of a polymorphic relation that point to the entry. */
  readonly source: 'relation' | 'media' | 'morph' | 'creator';
  readonly relation: RelationKind;
  readonly shape: 'one' | 'many';
  readonly target: Uid;
  readonly hidden: boolean;
  readonly required: boolean;
  readonly writable: boolean;
  readonly path: LinkPath;
  /** The owner side names `inversedBy` or stands alone; the inverse side names `mappedBy`. */
  readonly side: 'owner' | 'inverse';
  /** The attribute of the target that shows the same links from the other side. */
  readonly inverse: string | null;
  /** The rank column of the other side in the same link table. */
  readonly inverseRank: string | null;
  /** `images`, `files`, `videos`, `audios`; empty: any. Media only. */
  readonly allowedTypes: readonly string[];
}

export interface PartAttribute {
  readonly kind: 'part';
  readonly name: string;
  readonly shape: 'one' | 'many' | 'zone';
  readonly components: readonly Uid[];
  readonly hidden: boolean;
  readonly required: boolean;
  readonly writable: boolean;
  readonly min: number | null;
  readonly max: number | null;
  readonly path: LinkPath;
}

/** Links to entries of any content type: `morphToOne` and `morphToMany`. */
export interface MorphAttribute {
  readonly kind: 'morph';
  readonly name: string;
  readonly shape: 'one' | 'many';
  readonly hidden: boolean;
  readonly required: boolean;
  readonly writable: boolean;
  readonly path: LinkPath & { readonly typeColumn: string };
}

/** What `populate` shows. */
export type NestedAttribute = LinkAttribute | PartAttribute | MorphAttribute;
export type Attribute = ScalarAttribute | NestedAttribute;

/** An attribute of an index, and its direction; the opposite directions have an index of their own. */
export interface IndexKey {
  readonly attribute: ScalarAttribute;
  readonly direction: 'asc' | 'desc';
}

/** A content type or a component: something that has entries with attributes in one table. */
export interface EntryType {
  readonly uid: Uid;
  readonly kind: 'collection' | 'single' | 'component';
  /** Where it comes from; only project types have routes of their own. */
  readonly origin: 'project' | 'builtin';
  readonly table: string;
  readonly singular: string;
  readonly plural: string;
  /** Its name for people. */
  readonly displayName: string;
  readonly description: string | null;
  readonly attributes: ReadonlyMap<string, Attribute>;
  readonly draftAndPublish: boolean;
  /**
   * The table has a column `published_at` that the type does not expose. New rows still get a value: when drafts are
   * switched off, v4 deletes rows without one as drafts (DR10).
   */
  readonly keepsPublishedAt: boolean;
  readonly populateCreatorFields: boolean;
  readonly localized: boolean;
  /** Attributes that have one value in all locales of an entry; none on types without locales (LO8). */
  readonly shared: ReadonlySet<string>;
  /** The indexes that the configuration names. */
  readonly indexes: readonly (readonly IndexKey[])[];
}

export interface Model {
  readonly types: ReadonlyMap<Uid, EntryType>;
}

/** A type that the caller knows to exist. */
export const typeOf = ({ types }: Model, uid: Uid): EntryType => {
  const type = types.get(uid);
  if (!type) throw bug('model.type-missing', { uid });
  return type;
};

/** The types whose entries an attribute can hold. Polymorphic relations lead to any but those of the administration. */
export const targetsOf = (model: Model, attribute: NestedAttribute): readonly Uid[] => {
  switch (attribute.kind) {
    case 'link':
      return [attribute.target];
    case 'part':
      return attribute.components;
    case 'morph':
      return [...model.types.values()]
        .filter((it) => it.kind !== 'component' && !it.uid.startsWith('admin::'))
        .map((it) => it.uid);
    default:
      return never(attribute);
  }
};

/**
 * The key that names the type of each element where elements of several types are mixed: in zones and polymorphic
 * relations (CO4, Q19); null elsewhere.
 */
export const typeKeyOf = (attribute: NestedAttribute): '__component' | '__type' | null =>
  attribute.kind === 'morph' ? '__type' : attribute.shape === 'zone' ? '__component' : null;

/** Whether requests can write it, and not only code (BO4). */
export const isWritable = (attribute: Attribute): boolean =>
  attribute.kind === 'scalar' ? attribute.rules.writable : attribute.writable;

/** The scalar attributes that a plain read shows (F2), in schema order. */
export const defaultFields = (type: EntryType): readonly ScalarAttribute[] =>
  [...type.attributes.values()].filter((it): it is ScalarAttribute => it.kind === 'scalar' && !it.hidden);

/** The name of a type in messages: `article`, `shared.seo`, `user`. */
export const typeLabel = (type: EntryType): string => (type.kind === 'component' ? type.uid : type.singular);

const noRules: ScalarRules = {
  required: false,
  unique: false,
  writable: false,
  frozen: true,
  min: null,
  max: null,
  minLength: null,
  maxLength: null,
  regex: null,
  values: [],
  defaultValue: undefined,
  targetField: null,
  hashRounds: 10,
};
export const rulesOf = (given: Partial<ScalarRules>): ScalarRules => ({
  ...noRules,
  writable: true,
  frozen: false,
  ...given,
});

/** `id` is not declared in schema files, but filters and sorts use it like an attribute. */
/** v5's name of the id of an entry; components have none, and an attribute of the same name takes its place. */
export const DOCUMENT_ID = 'documentId';

/** Whether the entries of the type have a `documentId` in v5's format. */
export const hasDocumentId = ({ kind, attributes }: EntryType): boolean =>
  kind !== 'component' && !attributes.has(DOCUMENT_ID);

export const idAttribute: ScalarAttribute = Object.freeze({
  kind: 'scalar',
  name: 'id',
  type: 'integer',
  column: 'id',
  hidden: false,
  searchable: false,
  customField: null,
  rules: noRules,
});

/** The attributes that the server itself adds to a content type. */
export const systemScalar = (name: string, type: ScalarTypeName, column: string): ScalarAttribute => ({
  kind: 'scalar',
  name,
  type,
  column,
  hidden: false,
  searchable: false,
  customField: null,
  rules: noRules,
});
