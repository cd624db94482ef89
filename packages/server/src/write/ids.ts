/** Ids and objects of bodies. */
import { limits } from '../limits.js';

export const isObjectOrList = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object';

/** An id as a number or as digits; null for anything else. */
export const idOf = (value: unknown): number | null => {
  const id = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value;
  return typeof id === 'number' && Number.isInteger(id) && id > 0 && id <= limits.integerMax ? id : null;
};
