/** How a component is named in a list: by its main field, or else by the first thing in it that has a name. */
import type { Type } from '../../../model/model.js';
import type { Field, Part } from '../form/fields.js';
import { rowsAfter } from '../relations/relation-edit.js';
import { titleOf } from '../relations/source.js';

const LENGTH_MAX = 80;

/** Null: it has nothing to be named by. */
export const titleOfPart = (component: Type, { fields }: Part): string | null => {
  const names = [component.mainField, ...component.attributes.map(({ name }) => name)];
  const text = nameAmong(names.flatMap((name) => (name === null ? [] : (fields[name] ?? []))));
  return text !== null && text.length > LENGTH_MAX ? `${text.slice(0, LENGTH_MAX)}…` : text;
};

/** The first text, or else the name of the first thing that has one. */
const nameAmong = (fields: readonly Field[]): string | null => {
  for (const named of [textIn, nameIn])
    for (const field of fields) {
      const text = named(field)?.trim().replace(/\s+/g, ' ') ?? '';
      if (text !== '') return text;
    }
  return null;
};

const textIn = (field: Field): string | null =>
  field.kind === 'scalar' && typeof field.value === 'string' ? field.value : null;

/** Of numbers, files, related entries, and of components inside. */
const nameIn = (field: Field): string | null => {
  switch (field.kind) {
    case 'scalar':
      return typeof field.value === 'number' ? String(field.value) : null;
    case 'media':
      return field.files[0]?.name ?? null;
    case 'relation': {
      const [row] = rowsAfter(field.stored, field.edit);
      return row ? titleOf(row) : null;
    }
    case 'parts':
      return nameAmong(field.parts.flatMap((part) => Object.values(part.fields)));
  }
};
