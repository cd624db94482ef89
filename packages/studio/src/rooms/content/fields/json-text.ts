/** JSON as it is typed. */
import { inexactNumber } from '../form/digits.js';
import type { Json, ScalarField } from '../form/fields.js';

export const textOfJson = (value: Json): string => (value === null ? '' : JSON.stringify(value, null, 2));

/** Names that an object of a JSON text has more than once: what is read of it has the last value of each only. */
export const repeatedNames = (json: string): readonly string[] => {
  const repeated = new Set<string>();
  const open: Set<string>[] = [];
  for (const [token, text, colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (text !== undefined && colon !== undefined) {
      const name = JSON.parse(text) as string;
      const names = open.at(-1);
      if (names?.has(name)) repeated.add(name);
      names?.add(name);
    }
  }
  return [...repeated];
};

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
