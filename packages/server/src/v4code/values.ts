/** Data of code in the form of bodies: values and relations that v4's code writes in shorter ways. */
import { isDeepStrictEqual } from 'node:util';
import { type ScalarTypeName, scalarTypes } from '../model/attributes.js';
import type { EntryType, Model } from '../model/model.js';
import { lenientFlag } from '../query/lenient.js';
import { isMembers, type Members } from './parts.js';
import { mapNested } from './sanitize.js';

/**
 * Relations may be `{ connect: 2 }` without a list.
 * @param rules `bare`: values become those of their attributes' types, as v4's database layer makes them; they are not checked.
 * @param before what code was given, for components all that were there: a value that it has left stays as it is, such as a text
 * that is stored as JSON.
 */
export const asBody = (
  data: Members,
  type: EntryType,
  model: Model,
  rules: 'checked' | 'bare',
  before: readonly unknown[] = [],
): Members => {
  const written = (name: string, value: unknown): unknown => {
    const given = before.flatMap((it) => (isMembers(it) ? [it[name]] : []));
    if (given.some((it) => isDeepStrictEqual(value, it))) return value;
    const attribute = type.attributes.get(name);
    switch (attribute?.kind) {
      case undefined:
        return value;
      case 'scalar':
        return rules === 'bare' ? scalarOf(value, attribute.type) : value;
      case 'part':
        return mapNested(model, attribute, value, (it, target) =>
          asBody(it as Members, target, model, rules, given.flat()),
        );
      default:
        return withLists(value);
    }
  };
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, written(name, value)]));
};

const scalarOf = (value: unknown, type: ScalarTypeName): unknown => {
  const { family, form } = scalarTypes[type];
  if (family === 'json') return typeof value === 'string' ? jsonOf(value) : value;
  if (value === null || typeof value === 'object') return value;
  if (family === 'text') return String(value);
  if (family === 'boolean') return lenientFlag(String(value));
  // true is 1, and an empty text 0
  return form === 'number' && (typeof value === 'boolean' || value === '') ? Number(value) : value;
};

/** A text of JSON is what it says, any other is itself. */
const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};

const withLists = (value: unknown): unknown => {
  if (!isMembers(value)) return value;
  const single = ['connect', 'disconnect', 'set'].filter((it) => value[it] != null && !Array.isArray(value[it]));
  return single.length === 0 ? value : { ...value, ...Object.fromEntries(single.map((it) => [it, [value[it]]])) };
};
