/** JSON as it is typed. */
import { inexactNumber } from '../form/digits.js';
import type { Json, ScalarField } from '../form/fields.js';

export const textOfJson = (value: Json): string => (value === null ? '' : JSON.stringify(value, null, 2));

/** An empty text is null. What cannot be sent as it is written keeps the last value beside it. */
export const fieldOfText = (text: string, former: Json): ScalarField => {
  if (text.trim() === '') return { kind: 'scalar', value: null };
  try {
    const value = JSON.parse(text) as Json;
    return inexactNumber(text) === null ? { kind: 'scalar', value } : { kind: 'scalar', value: former, unread: text };
  } catch {
    return { kind: 'scalar', value: former, unread: text };
  }
};
