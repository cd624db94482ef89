/** Lists that are read in windows, read whole: what is copied begins with all of their entries. */
import { attributeOf, type Type, typeOf } from '../../../model/model.js';
import type { Field, FieldPath, Fields, Part } from '../form/fields.js';
import { pathTo } from '../form/paths.js';
import type { RelatedRow } from './relation-edit.js';
import { type ListSource, type OwnerContext, serverSource, WINDOW_MAX } from './source.js';

/** Longer lists are not copied. */
const COPIED_MAX = 1000;

interface WholeFields {
  readonly fields: Fields;
  /** Paths of lists that are too long to be copied; they are empty. */
  readonly left: readonly FieldPath[];
}

/** @param at where the fields are in the entry. */
export const withWholeLists = async (
  context: OwnerContext,
  type: Type,
  fields: Fields,
  at: FieldPath = '',
): Promise<WholeFields> => {
  const { client, model, owner } = context;
  const whole: Record<string, Field> = { ...fields };
  const left: FieldPath[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const attribute = attributeOf(type, name);
    const path = pathTo(at, name);
    if (field.kind === 'parts') {
      const parts: Part[] = [];
      for (const part of field.parts) {
        const read = await withWholePart(context, part, `${path}/${part.key}`);
        parts.push(read.part);
        left.push(...read.left);
      }
      whole[name] = { kind: 'parts', parts };
    } else if (attribute && field.kind === 'relation' && field.stored === null) {
      const rows = await allRows(serverSource(client, model, owner, attribute, path));
      if (rows === null) left.push(path);
      whole[name] = { ...field, stored: rows ?? [] };
    }
  }
  return { fields: whole, left };
};

export const withWholePart = async (
  context: OwnerContext,
  part: Part,
  at: FieldPath,
): Promise<{ readonly part: Part; readonly left: readonly FieldPath[] }> => {
  const component = typeOf(context.model, part.component);
  if (component === null) return { part, left: [] };
  const { fields, left } = await withWholeLists(context, component, part.fields, at);
  return { part: { ...part, fields }, left };
};

/** Null: too many. */
const allRows = async (source: ListSource): Promise<readonly RelatedRow[] | null> => {
  const rows: RelatedRow[] = [];
  for (;;) {
    const { rows: found, total } = await source.read(rows.length, WINDOW_MAX);
    if (total > COPIED_MAX) return null;
    rows.push(...found);
    if (rows.length >= total || found.length === 0) return rows;
  }
};
