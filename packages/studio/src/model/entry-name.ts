/** What people call entries, everywhere in the Studio. */
import type { Type } from './model.js';

/** What people call the entries of a type together: a collection by its plural, `Social links`; a single type by its name. */
export const collectiveName = (type: Type): string => {
  if (type.kind !== 'collection') return type.displayName;
  const words = type.plural.replaceAll('-', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/**
 * What its main field holds; an entry without is named by its type and id: `Edition 1`.
 * @param type null: not known to the caller
 * @param title the value of the main field, if it was read
 */
export const entryName = (type: Type | null, id: number, title: unknown): string => {
  const text = typeof title === 'string' || typeof title === 'number' ? String(title).trim() : '';
  if (text !== '') return text;
  if (type === null) return `#${id}`;
  return type.kind === 'single' ? type.displayName : `${type.displayName} ${id}`;
};

/** What people call a type among others: those of plugins have their names in lower case. */
export const typeName = ({ displayName }: Type): string => displayName.charAt(0).toUpperCase() + displayName.slice(1);
