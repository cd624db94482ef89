/**
 * The values of an entry in a form. They are plain JSON, so that unsaved work can be kept, and edits share structure
 * with what is stored: an unchanged field is the same object.
 */
import { entryName } from '../../../model/entry-name.js';
import { type Attribute, type Model, ownAttributes, type Type, typeOf } from '../../../model/model.js';
import type { MediaFile } from '../../../parts/media/files.js';
import type { RelatedRow, RelationEdit } from '../relations/relation-edit.js';
import { exactText, isMarked, unmarked } from './digits.js';

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/**
 * Where a field is: names of attributes and keys of components, joined by `/`, as `sections/sections.quote:3/text`.
 * Keys stay when components move.
 */
export type FieldPath = string;

/** By the attribute's name. Attributes that the caller may not read are missing. */
export interface Fields {
  readonly [attribute: string]: Field;
}

export type Field = ScalarField | MediaField | PartsField | RelationField;

export interface ScalarField {
  readonly kind: 'scalar';
  readonly value: Json;
  /** The text, while it cannot be sent: it is not JSON yet, or has numbers of more digits than JSON is read with (digits.ts). */
  readonly unread?: string;
}
export interface MediaField {
  readonly kind: 'media';
  /** In their order; none or one of an attribute for a single file. */
  readonly files: readonly MediaFile[];
}
/** Components and zones. */
export interface PartsField {
  readonly kind: 'parts';
  /** None or one of a component that is not repeatable. */
  readonly parts: readonly Part[];
}
/** Relations to entries of one type or of any. */
export interface RelationField {
  readonly kind: 'relation';
  /** What was read with the entry; null for a list that is stored, which is read in windows. */
  readonly stored: readonly RelatedRow[] | null;
  readonly edit: RelationEdit | null;
}

export interface Part {
  /** Unique among the parts of its field. */
  readonly key: string;
  /** Null until it is stored. */
  readonly id: number | null;
  /** The component's uid. */
  readonly component: string;
  readonly fields: Fields;
}

/** Attributes whose values are never shown. */
export const isWriteOnly = ({ type }: Attribute): boolean => type === 'password';

/** The fields of an entry or component of a response; both forms of responses, with and without `attributes`, are read. */
export const fieldsOf = (model: Model, type: Type, row: unknown): Fields => {
  const given = attributesOf(row);
  const fields: Record<string, Field> = {};
  for (const attribute of ownAttributes(type)) {
    const value = given[attribute.name];
    if (isWriteOnly(attribute)) {
      if (attribute.mayWrite) fields[attribute.name] = { kind: 'scalar', value: null };
    } else if (attribute.mayRead) {
      const field = fieldOf(model, attribute, value);
      if (field !== null) fields[attribute.name] = field;
    }
  }
  return fields;
};

const fieldOf = (model: Model, attribute: Attribute, value: unknown): Field | null => {
  switch (attribute.kind) {
    case 'scalar':
      return value === undefined ? null : scalarOf(value as Json);
    case 'media':
      return value === undefined ? null : { kind: 'media', files: rowsOf(value).map(fileOf) };
    case 'component':
    case 'zone':
      return value === undefined
        ? null
        : { kind: 'parts', parts: rowsOf(value).flatMap((row) => partOf(model, attribute, row)) };
    case 'relation':
    case 'morph': {
      if (value !== undefined) return { kind: 'relation', stored: relatedRows(model, attribute, value), edit: null };
      // a list is not read with its entry; an empty polymorphic one is left out of responses
      if (attribute.kind === 'morph') return { kind: 'relation', stored: [], edit: null };
      return attribute.relation?.list ? { kind: 'relation', stored: null, edit: null } : null;
    }
  }
};

const scalarOf = (value: Json): ScalarField => {
  // digits of a number that is not JSON's go on as text
  if (isMarked(value)) return { kind: 'scalar', value: unmarked(value) };
  if (value === null || typeof value !== 'object') return { kind: 'scalar', value };
  const text = exactText(value);
  return text === null ? { kind: 'scalar', value } : { kind: 'scalar', value: JSON.parse(text) as Json, unread: text };
};

const partOf = (model: Model, attribute: Attribute, row: unknown): readonly Part[] => {
  const id = idOf(row);
  const uid = attribute.component?.uid ?? attributesOf(row)['__component'];
  const component = typeof uid === 'string' ? typeOf(model, uid) : null;
  // a component of the zone that the caller cannot know cannot be sent back either; its id keeps it
  if (id === null || typeof uid !== 'string') return [];
  return [
    { key: `${uid}:${id}`, id, component: uid, fields: component === null ? {} : fieldsOf(model, component, row) },
  ];
};

/** The rows of a relation as a response shows them. */
export const relatedRows = (model: Model, attribute: Attribute, value: unknown): readonly RelatedRow[] =>
  rowsOf(value).flatMap((row) => {
    const id = idOf(row);
    const values = attributesOf(row);
    const given = values['__type'];
    const uid = typeof given === 'string' ? given : attribute.relation?.target;
    return id === null || !uid ? [] : [relatedRow(model, uid, id, values)];
  });

const relatedRow = (model: Model, uid: string, id: number, values: Readonly<Record<string, unknown>>): RelatedRow => {
  const target = typeOf(model, uid);
  return {
    id,
    type: uid,
    title: entryName(target, id, target?.mainField ? values[target.mainField] : null),
    publishedAt: textOf(values['publishedAt']),
    locale: textOf(values['locale']),
  };
};

const fileOf = (row: unknown): MediaFile => ({ ...attributesOf(row), id: idOf(row) ?? 0 }) as unknown as MediaFile;

/** A new entry or component as the server would make it: defaults, and otherwise nothing. */
export const newFields = (type: Type): Fields =>
  Object.fromEntries(
    ownAttributes(type)
      .filter((it) => it.mayWrite)
      .map((attribute): [string, Field] => [attribute.name, emptyField(attribute)]),
  );

const emptyField = (attribute: Attribute): Field => {
  switch (attribute.kind) {
    case 'scalar':
      return { kind: 'scalar', value: (attribute.default ?? null) as Json };
    case 'media':
      return { kind: 'media', files: [] };
    case 'component':
    case 'zone':
      return { kind: 'parts', parts: [] };
    case 'relation':
    case 'morph':
      return { kind: 'relation', stored: [], edit: null };
  }
};

// ---- responses

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The values of `{ id, attributes }` or of an entry that is written without. */
export const attributesOf = (row: unknown): Readonly<Record<string, unknown>> => {
  if (!isObject(row)) return {};
  const { attributes } = row;
  return isObject(attributes) && Object.keys(row).every((it) => it === 'id' || it === 'attributes') ? attributes : row;
};

/** What a response shows in `{ data }`, or bare, as a list. */
export const rowsOf = (value: unknown): readonly unknown[] => {
  const bare = isObject(value) && 'data' in value && !('id' in value) ? value['data'] : value;
  if (bare === null || bare === undefined) return [];
  return Array.isArray(bare) ? bare : [bare];
};

export const idOf = (row: unknown): number | null => {
  const id = isObject(row) ? Number(row['id']) : Number.NaN;
  return Number.isSafeInteger(id) ? id : null;
};

const textOf = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;
