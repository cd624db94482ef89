/**
 * The model as `GET /_dovetail/model` describes it: what a program that shows content of any type needs to know. The server makes it in
 * this form, and `client.send({ method: 'GET', path: '/_dovetail/model' })` gets it, as `data`, where `prefix` is ''.
 */

export interface ModelDocument {
  /** Of the server; null for callers who may not know it. */
  readonly version: string | null;
  /** Of the content API: `/api`. */
  readonly prefix: string;
  readonly rest: { readonly defaultLimit: number; readonly maxLimit: number | null; readonly withCount: boolean };
  readonly strict: boolean;
  /** None for callers who may not list them. */
  readonly locales: readonly { readonly code: string; readonly name: string | null; readonly isDefault: boolean }[];
  readonly types: readonly TypeDocument[];
}

export interface TypeDocument {
  readonly uid: string;
  readonly kind: 'collection' | 'single' | 'component';
  /** `builtin` are those that every project has: files, users, roles. */
  readonly origin: 'project' | 'builtin';
  readonly displayName: string;
  readonly description: string | null;
  /** Of components. */
  readonly category: string | null;
  readonly singular: string;
  readonly plural: string;
  /** `/api/articles`; null for a type without routes. */
  readonly path: string | null;
  readonly draftAndPublish: boolean;
  readonly localized: boolean;
  /** The attribute that names an entry to people; null for none. */
  readonly mainField: string | null;
  readonly may: TypeRights;
  readonly attributes: readonly AttributeDocument[];
}

/** What the caller may do with entries of a type; all false for components. */
export interface TypeRights {
  readonly find: boolean;
  readonly findOne: boolean;
  readonly create: boolean;
  readonly update: boolean;
  readonly delete: boolean;
  readonly publish: boolean;
  readonly createLocalization: boolean;
}

type Bound = number | string | null;

export interface AttributeDocument {
  readonly name: string;
  readonly kind: 'scalar' | 'relation' | 'media' | 'component' | 'zone' | 'morph';
  /** As schema files name it: string, richtext, uid, relation, dynamiczone, … */
  readonly type: string;
  /** What the values of a scalar are; null for other kinds. */
  readonly family: 'text' | 'number' | 'boolean' | 'date' | 'time' | 'instant' | 'json' | null;
  readonly customField: string | null;
  readonly required: boolean;
  readonly unique: boolean;
  readonly private: boolean;
  /** Whether each locale has a value of its own. */
  readonly localized: boolean;
  readonly default: unknown;
  readonly min: Bound;
  readonly max: Bound;
  readonly minLength: Bound;
  readonly maxLength: Bound;
  readonly regex: string | null;
  readonly enum: readonly string[] | null;
  readonly targetField: string | null;
  readonly relation: RelationDocument | null;
  readonly media: { readonly multiple: boolean; readonly allowedTypes: readonly string[] | null } | null;
  readonly component: {
    readonly uid: string;
    readonly repeatable: boolean;
    readonly min: number | null;
    readonly max: number | null;
  } | null;
  readonly zone: {
    readonly components: readonly string[];
    readonly min: number | null;
    readonly max: number | null;
  } | null;
  /** Those that a filter may have; of a link or component, for the id of the entry behind it. */
  readonly operators: readonly string[];
  readonly sortable: boolean;
  readonly mayRead: boolean;
  /** In a new entry, or in one that is stored. */
  readonly mayWrite: boolean;
  readonly mayCreate: boolean;
  readonly mayUpdate: boolean;
  /** The permission that would open it; null if it is open, or closed to everybody. */
  readonly lockedBy: string | null;
}

export interface RelationDocument {
  /** `manyToOne`, `morphMany`; null for callers who may not know it. */
  readonly kind: string | null;
  /** Null for any type. */
  readonly target: string | null;
  /** The attribute of the target that shows the same links. */
  readonly inverse: string | null;
  readonly list: boolean;
  /** Whether the list keeps an order that writes can change. */
  readonly ordered: boolean;
}
