/** Adds, moves, copies and removes components in a list. */
import { randomId } from '@mantine/hooks';
import {
  type Attribute,
  attributeOf,
  type Model,
  mayWrite,
  type Type,
  typeOf,
  type Writing,
} from '../../../model/model.js';
import { editOfRows, rowsAfter } from '../relations/relation-edit.js';
import { type Field, type Fields, newFields, type Part, type RelationField } from './fields.js';

/** A key for a component that is not stored yet. */
const newKey = (): string => randomId('new:');

/** An empty component, with what it needs at once: its defaults. */
export const newPart = (component: Type, key = newKey()): Part => ({
  key,
  id: null,
  component: component.uid,
  fields: newFields(component),
});

export const withPart = (parts: readonly Part[], place: number, part: Part): readonly Part[] => [
  ...parts.slice(0, place),
  part,
  ...parts.slice(place),
];

export const withoutPart = (parts: readonly Part[], key: string): readonly Part[] =>
  parts.filter((it) => it.key !== key);

/** @param to its place in the list afterwards; beyond an end it stays at that end. */
export const movedPart = (parts: readonly Part[], key: string, to: number): readonly Part[] => {
  const from = parts.findIndex((it) => it.key === key);
  const part = parts[from];
  const place = Math.min(Math.max(to, 0), parts.length - 1);
  if (part === undefined || place === from) return parts;
  return withPart(withoutPart(parts, key), place, part);
};

/** A copy that the server makes new: no ids of components. Passwords are not known and therefore not copied. */
export const copyOfPart = (model: Model, part: Part, writing: Writing, keyOf: () => string = newKey): Part => ({
  key: keyOf(),
  id: null,
  component: part.component,
  fields: copyOfFields(model, typeOf(model, part.component), part.fields, writing, keyOf),
});

/** A relation of a copy begins with the entries that the form knows; a list that is read in windows begins empty. */
const copyOfRelation = (attribute: Attribute, { stored, edit }: RelationField): RelationField => {
  const rows = rowsAfter(stored, edit);
  return { kind: 'relation', stored: [], edit: rows.length === 0 ? null : editOfRows(attribute, rows) };
};

/** The values of a new entry or component that is like another one, as far as they may be written. */
export const copyOfFields = (
  model: Model,
  type: Type | null,
  fields: Fields,
  writing: Writing,
  keyOf: () => string = newKey,
): Fields => {
  if (type === null) return {};
  const empty = newFields(type);
  const copy = (attribute: Attribute, field: Field): Field => {
    switch (field.kind) {
      case 'scalar':
      case 'media':
        return field;
      case 'parts':
        return { kind: 'parts', parts: field.parts.map((it) => copyOfPart(model, it, writing, keyOf)) };
      case 'relation':
        return copyOfRelation(attribute, field);
    }
  };
  return Object.fromEntries(
    Object.entries(empty).map(([name, none]) => {
      const [attribute, field] = [attributeOf(type, name), fields[name]];
      return [name, attribute && field && mayWrite(attribute, writing) ? copy(attribute, field) : none];
    }),
  );
};
