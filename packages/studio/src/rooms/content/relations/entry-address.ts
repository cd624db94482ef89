/** Addresses of entries and lists in the room Content. */
import { nameOf, type Type } from '../../../model/model.js';

/** Where the entries of a content type are listed; a single type has no list. */
export const listAddress = (type: Type): string => (type.kind === 'single' ? '/content' : `/content/${nameOf(type)}`);

/** The address of an entry in the room Content, or of one of its relations; null if it has none. */
export const entryAddress = (type: Type, { id }: { readonly id: number | null }, field?: string): string | null => {
  if (!type.uid.startsWith('api::')) return null;
  const entry = type.kind === 'single' ? `/content/${nameOf(type)}` : `/content/${nameOf(type)}/${id ?? 'new'}`;
  return field === undefined ? entry : `${entry}/${field}`;
};
