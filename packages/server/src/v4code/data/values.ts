/** Data of code in the form of bodies: values and relations that v4's code writes in shorter ways. */
import { isDeepStrictEqual } from 'node:util';
import mapValues from 'lodash/mapValues.js';
import { type ScalarTypeName, scalarTypes } from '../../model/attributes.js';
import type { Attribute, EntryType, Model, ScalarAttribute } from '../../model/model.js';
import { lenientFlag } from '../../query/lenient.js';
import { isMembers, type Members } from '../loading/parts.js';
import { mapNested } from '../strapi-utils/sanitize.js';

/**
 * Relations may be `{ connect: 2 }` without a list.
 * @param rules `bare`: values become those of their attributes' types, as v4's database layer makes them; they are not checked.
 * @param before what code was given: a member that it has left stays as it is, and so does a text of JSON inside of components.
 */
export const asBody = (
  data: Members,
  type: EntryType,
  model: Model,
  rules: 'checked' | 'bare',
  before: Members = {},
): Members => {
  const texts = jsonTextsIn(before, type, model);
  const written = (of: EntryType, name: string, value: unknown): unknown => {
    const attribute = of.attributes.get(name);
    switch (attribute?.kind) {
      case undefined:
        return value;
      case 'scalar':
        return rules === 'checked' || texts.get(attribute)?.has(value) ? value : scalarOf(value, attribute.type);
      case 'part':
        // to v4's database layer they are links, of which null is none
        if (rules === 'bare' && value === null && attribute.shape !== 'one') return [];
        return mapNested(model, attribute, value, (it, target) =>
          mapValues(it as Members, (inner, its) => written(target, its, inner)),
        );
      default:
        return withLists(value);
    }
  };
  return mapValues(data, (value, name) =>
    Object.hasOwn(before, name) && isDeepStrictEqual(value, before[name]) ? value : written(type, name, value),
  );
};

/** The texts that JSON attributes of components hold: v4's database layer takes what code writes there for JSON. */
const jsonTextsIn = (data: Members, type: EntryType, model: Model): ReadonlyMap<Attribute, ReadonlySet<unknown>> => {
  const texts = new Map<Attribute, Set<unknown>>();
  const look = (members: Members, of: EntryType): void => {
    for (const [name, value] of Object.entries(members)) {
      const attribute = of.attributes.get(name);
      if (attribute?.kind === 'part') mapNested(model, attribute, value, (it, target) => look(it as Members, target));
      else if (attribute?.kind === 'scalar' && of !== type && typeof value === 'string' && isJson(attribute)) {
        const known = texts.get(attribute) ?? new Set();
        texts.set(attribute, known.add(value));
      }
    }
  };
  look(data, type);
  return texts;
};

const isJson = ({ type }: ScalarAttribute): boolean => scalarTypes[type].family === 'json';

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
