/** What a save sends: the attributes that have changed, and of components only what has changed in them. */
import { type Attribute, attributeOf, type Model, type Type, typeOf } from '../../../model/model.js';
import { editOfRows, relationBody } from '../relations/relation-edit.js';
import { inexactIn } from './digits.js';
import { type Field, type FieldPath, type Fields, newFields, type Part, type RelationField } from './fields.js';
import { isSameField, pathTo } from './paths.js';

export type Body = Readonly<Record<string, unknown>>;

/**
 * The `data` of a save. A value that is not sent stays as it is, or becomes its default in a new entry; null clears it.
 * @param stored what the server has, or for a new entry what it would make by itself
 */
export const bodyOf = (model: Model, type: Type, stored: Fields, values: Fields): Body => {
  const data: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(values)) {
    const attribute = attributeOf(type, name);
    const value = attribute ? sentValue(model, attribute, stored[name], field) : undefined;
    if (value !== undefined) data[name] = value;
  }
  return data;
};

/** Undefined if there is nothing to send. */
const sentValue = (model: Model, attribute: Attribute, stored: Field | undefined, field: Field): unknown => {
  if (stored !== undefined && isSameField(field, stored)) return undefined;
  switch (field.kind) {
    case 'scalar':
      return field.value;
    case 'media': {
      const ids = field.files.map(({ id }) => id);
      return attribute.media?.multiple ? ids : (ids[0] ?? null);
    }
    case 'parts': {
      const former = stored?.kind === 'parts' ? stored.parts : [];
      // a list in a body is the new list (CO3)
      const parts = field.parts.map((part) => partBody(model, attribute, former, part));
      return isSinglePart(attribute) ? (parts[0] ?? null) : parts;
    }
    case 'relation':
      return field.edit === null ? rowsBody(attribute, field) : relationBody(field.edit);
  }
};

/** Other entries than are stored, though nothing was picked: of a component that comes back, or of a state that is put back. */
const rowsBody = (attribute: Attribute, { stored }: RelationField): unknown => {
  const edit = editOfRows(attribute, stored ?? []);
  return edit === null ? undefined : relationBody(edit);
};

/** Whether the value is one component or null. */
export const isSinglePart = ({ component }: Attribute): boolean => component !== null && !component.repeatable;

/** A stored component goes by its id and is changed in place (CO2); all others are new. */
const partBody = (model: Model, attribute: Attribute, stored: readonly Part[], part: Part): Body => {
  const former = part.id === null ? undefined : stored.find(({ key }) => key === part.key);
  const component = typeOf(model, part.component);
  const base = former?.fields ?? (component ? newFields(component) : {});
  return {
    ...(former ? { id: former.id } : {}),
    ...(attribute.kind === 'zone' ? { __component: part.component } : {}),
    ...(component ? bodyOf(model, component, base, part.fields) : {}),
  };
};

/** What cannot be sent: a text that is not JSON yet, a number that would lose digits, or a date that is filled in by half. */
export type Unsendable =
  | { readonly kind: 'not-json' | 'incomplete'; readonly path: FieldPath }
  | { readonly kind: 'too-many-digits'; readonly path: FieldPath; readonly number: string };

/** Of what is to be saved; what is stored as it is stays. */
export const unsendable = (stored: Fields | undefined, fields: Fields, path: FieldPath = ''): readonly Unsendable[] =>
  Object.entries(fields).flatMap(([name, field]): readonly Unsendable[] => {
    const at = pathTo(path, name);
    const former = stored?.[name];
    if (former !== undefined && isSameField(field, former)) return [];
    if (field.kind === 'scalar') {
      if (field.unread === undefined) return [];
      const number = inexactIn(field.unread);
      return [number === null ? { kind: 'not-json', path: at } : { kind: 'too-many-digits', path: at, number }];
    }
    if (field.kind !== 'parts') return [];
    const parts = former?.kind === 'parts' ? former.parts : [];
    return field.parts.flatMap((part) =>
      unsendable(parts.find(({ key }) => key === part.key)?.fields, part.fields, `${at}/${part.key}`),
    );
  });
