/** Ids and objects of bodies. */
import { limits } from '../limits.js';
import { DOCUMENT_ID } from '../model/model.js';
import type { EntryFormat } from '../query/selection.js';

export const isObjectOrList = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object';

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObjectOrList(value) && !Array.isArray(value);

/** An id as a number or as digits; null for anything else. */
export const idOf = (value: unknown): number | null => {
  const id = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof id === 'number' && Number.isInteger(id) && id > 0 && id <= limits.integerMax ? id : null;
};

/** Whether an object of a relation names an entry: by its id, in v5's format also by `documentId` (VF3). */
export const namesEntry = (value: Readonly<Record<string, unknown>>, format: EntryFormat): boolean =>
  Object.hasOwn(value, 'id') || (format === 'v5' && Object.hasOwn(value, DOCUMENT_ID));

/** The id of the entry that an object names; null if it is none, or if its two names are of different entries. */
export const entryIdOf = (value: Readonly<Record<string, unknown>>, format: EntryFormat): number | null => {
  const id = idOf(value['id']);
  if (format !== 'v5' || !Object.hasOwn(value, DOCUMENT_ID)) return id;
  const named = idOf(value[DOCUMENT_ID]);
  return value['id'] === undefined || id === named ? named : null;
};
