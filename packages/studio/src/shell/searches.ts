/** The requests of the palette, and the order of what they find. */
import { ownAttributes, type Type } from '../model/model.js';

/** Of entries, of each type. */
const ENTRIES_MAX = 4;

/** Names, addresses and the like; texts of many words are searched in Content. */
const searchedTypes: ReadonlySet<string> = new Set(['string', 'uid', 'email', 'enumeration']);

const searchedFields = (type: Type): readonly string[] =>
  ownAttributes(type)
    .filter((it) => it.name === type.mainField || searchedTypes.has(it.type))
    .filter((it) => it.mayRead && it.operators.includes('$containsi'))
    .map((it) => it.name);

export const isSearchable = (type: Type): boolean => searchedFields(type).length > 0;

/** Every word stands in one of the fields, or the text is the id. Drafts and all locales are searched. */
export const entrySearch = (type: Type, wanted: string): object => {
  const fields = searchedFields(type);
  const inFields = wanted
    .split(/\s+/)
    .map((word) => ({ $or: fields.map((field) => ({ [field]: { $containsi: word } })) }));
  const byId = /^\d{1,9}$/.test(wanted) ? [{ id: { $eq: wanted } }] : [];
  return {
    fields: type.mainField === null ? ['id'] : [type.mainField],
    filters: { $or: [{ $and: inFields }, ...byId] },
    pagination: { pageSize: ENTRIES_MAX, withCount: false },
    ...(type.draftAndPublish ? { publicationState: 'preview' } : {}),
    ...(type.localized ? { locale: 'all' } : {}),
  };
};

export const fileSearch = (wanted: string): object => ({
  filters: { $and: wanted.split(/\s+/).map((word) => ({ name: { $containsi: word } })) },
  sort: ['name', 'id'],
  pagination: { pageSize: ENTRIES_MAX },
});

/** Those whose name begins with the text first, then those that contain it; others were found by another field. */
export const byNearness = <Named extends { readonly name: string }>(
  found: readonly Named[],
  wanted: string,
): readonly Named[] => {
  const text = wanted.toLowerCase();
  const rankOf = ({ name }: Named): number => {
    const at = name.toLowerCase().indexOf(text);
    return at === 0 ? 0 : at > 0 ? 1 : 2;
  };
  return [...found].sort((a, b) => rankOf(a) - rankOf(b));
};
