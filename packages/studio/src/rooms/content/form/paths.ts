/** Reads and replaces fields at their paths; unchanged ones stay the same objects. */
import type { Field, FieldPath, Fields, Json, Part, PartsField, RelationField } from './fields.js';

export const pathTo = (path: FieldPath, name: string): FieldPath => (path === '' ? name : `${path}/${name}`);

/** The field at a path; undefined if there is none. */
export const fieldAt = (fields: Fields, path: FieldPath): Field | undefined => {
  const [name = '', ...rest] = path.split('/');
  let field = fields[name];
  for (let i = 0; i < rest.length; i += 2) {
    const part: Part | undefined = field?.kind === 'parts' ? field.parts.find(({ key }) => key === rest[i]) : undefined;
    field = part?.fields[rest[i + 1] ?? ''];
  }
  return field;
};

/** A path as people read it: `sections 2 › text`, with the place of a component that is not the only one. */
export const pathInWords = (fields: Fields, path: FieldPath): string => {
  const [name = '', key, ...rest] = path.split('/');
  const field = fields[name];
  if (key === undefined || field?.kind !== 'parts') return name;
  const place = field.parts.findIndex((it) => it.key === key);
  const inside = pathInWords(field.parts[place]?.fields ?? {}, rest.join('/'));
  return `${name}${field.parts.length > 1 ? ` ${place + 1}` : ''} › ${inside}`;
};

/**
 * The fields with another one at a path. What becomes equal to what is stored becomes the stored object itself, so that
 * comparing objects shows what has changed.
 */
export const withField = (fields: Fields, stored: Fields | undefined, path: FieldPath, field: Field): Fields => {
  const [name = '', key, ...rest] = path.split('/');
  const former = fields[name];
  const storedField = stored?.[name];
  if (former === undefined) return fields;
  let next = field;
  if (key !== undefined) {
    if (former.kind !== 'parts') return fields;
    const storedParts = storedField?.kind === 'parts' ? storedField.parts : [];
    next = {
      kind: 'parts',
      parts: former.parts.map((part) => {
        if (part.key !== key) return part;
        const storedPart = storedParts.find((it) => it.key === key);
        const inner = withField(part.fields, storedPart?.fields, rest.join('/'), field);
        return storedPart && inner === storedPart.fields ? storedPart : { ...part, fields: inner };
      }),
    };
  }
  const settled = settle(next, storedField);
  if (settled === former) return fields;
  const result: Fields = { ...fields, [name]: settled };
  return stored && Object.keys(stored).every((it) => result[it] === stored[it]) ? stored : result;
};

/** The stored field if this one is equal to it. */
const settle = (field: Field, stored: Field | undefined): Field =>
  stored !== undefined && isSameField(field, stored) ? stored : field;

export const isSameField = (a: Field, b: Field): boolean => {
  if (a === b) return true;
  switch (a.kind) {
    case 'scalar':
      return b.kind === 'scalar' && a.unread === b.unread && isSameJson(a.value, b.value);
    case 'media':
      return (
        b.kind === 'media' && a.files.length === b.files.length && a.files.every((it, i) => it.id === b.files[i]?.id)
      );
    case 'parts':
      return b.kind === 'parts' && isSameParts(a, b);
    case 'relation':
      return b.kind === 'relation' && a.edit === b.edit && storedIds(a) === storedIds(b);
  }
};

/** Null if the list is read in windows. */
const storedIds = ({ stored }: RelationField): string | null =>
  stored?.map(({ type, id }) => `${type}:${id}`).join() ?? null;

const isSameParts = (a: PartsField, b: PartsField): boolean =>
  a.parts.length === b.parts.length &&
  a.parts.every((part, i) => {
    const other = b.parts[i];
    return (
      other !== undefined && part.key === other.key && part.id === other.id && isSameFields(part.fields, other.fields)
    );
  });

const isSameFields = (a: Fields, b: Fields): boolean => {
  if (a === b) return true;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => {
      const [one, other] = [a[name], b[name]];
      return one !== undefined && other !== undefined && isSameField(one, other);
    })
  );
};

/** Whether two values are the same JSON, whatever the order of their keys. */
export const isSameJson = (a: Json, b: Json): boolean => {
  if (Object.is(a, b)) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return a === b;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((it, i) => isSameJson(it, b[i] as Json))
    );
  const [one, other] = [a as { readonly [name: string]: Json }, b as { readonly [name: string]: Json }];
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSameJson(one[name] as Json, other[name] as Json))
  );
};
