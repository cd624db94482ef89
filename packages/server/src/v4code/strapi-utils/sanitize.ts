/** `sanitizeOutput`, `sanitizeInput` and `transformResponse` on plain entities, by the model. */
import isEmpty from 'lodash/isEmpty.js';
import mapValues from 'lodash/mapValues.js';
import omitBy from 'lodash/omitBy.js';
import pick from 'lodash/pick.js';
import type { Caller } from '../../access/access.js';
import { newGate } from '../../access/access.js';
import { type Attribute, type EntryType, type Model, type NestedAttribute, typeKeyOf } from '../../model/model.js';
import type { Gate } from '../../query/selection.js';
import { isLeftOut } from '../../write/places.js';
import { isMembers } from '../loading/parts.js';

/** What is assigned under this name becomes the prototype of an object: everything in it would seem to be given. */
const PROTOTYPE = '__proto__';

/** Removes what the caller may not see: private attributes always, relations to types that it may not find. @param caller null: relations stay. */
export const sanitizeOutput = (model: Model, data: unknown, type: EntryType, caller: Caller | null): unknown => {
  if (Array.isArray(data)) return data.map((it) => sanitizeOutput(model, it, type, caller));
  if (!isMembers(data)) return data;
  const gate = caller && newGate(caller, model);
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    if (name === PROTOTYPE) continue;
    const attribute = type.attributes.get(name);
    // what hooks and services have added stays
    if (!attribute) shown[name] = value;
    else if (isCreator(attribute)) {
      if (type.populateCreatorFields)
        shown[name] = isMembers(value) ? pick(value, ['id', 'firstname', 'lastname']) : value;
    } else if (attribute.hidden) continue;
    else if (attribute.kind === 'scalar') {
      if (!gate || gate.allows(type, attribute, 'select')) shown[name] = value;
    } else if (!gate || gate.allows(type, attribute, 'populate')) {
      const reached = gate && attribute.kind === 'morph' ? onlyReached(value, gate, model) : value;
      // a list of which nothing may be seen is absent
      if (Array.isArray(reached) && isEmpty(reached) && !isEmpty(value)) continue;
      shown[name] = mapNested(model, attribute, reached, (it, target) => sanitizeOutput(model, it, target, caller));
    }
  }
  return shown;
};

/** Removes relations that the caller may not write, and the id, times and attributes that only code may set. */
export const sanitizeInput = (model: Model, data: unknown, type: EntryType, caller: Caller | null): unknown => {
  if (Array.isArray(data)) return data.map((it) => sanitizeInput(model, it, type, caller));
  if (!isMembers(data)) return data;
  const gate = caller && newGate(caller, model);
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    if (name === PROTOTYPE) continue;
    const attribute = type.attributes.get(name);
    if (type.kind !== 'component' && (name === 'id' || name === 'createdAt' || name === 'updatedAt')) continue;
    if (attribute && isLeftOut(attribute)) continue;
    // a client links locales by POST to …/localizations
    if (type.localized && name === 'localizations') continue;
    if (
      attribute &&
      attribute.kind === 'link' &&
      (isCreator(attribute) || (gate && !gate.allows(type, attribute, 'write')))
    )
      continue;
    const reached = gate && attribute?.kind === 'morph' ? onlyReached(value, gate, model) : value;
    // that nothing is left of what the caller may name must not empty the relation
    if (isEmpty(reached) && !isEmpty(value)) continue;
    kept[name] =
      attribute?.kind === 'part'
        ? mapNested(model, attribute, value, (it, target) => sanitizeInput(model, it, target, caller))
        : reached;
  }
  return kept;
};

/** Entries of a polymorphic relation that are of types which the caller may find; null for the only one if it is not. */
const onlyReached = (value: unknown, gate: Gate, model: Model): unknown => {
  if (Array.isArray(value)) return value.filter((it) => it === null || onlyReached(it, gate, model) !== null);
  if (!isMembers(value)) return value;
  const { __type: uid } = value;
  // `connect` and the like hold lists, or one
  if (uid === undefined) {
    const lists = mapValues(value, (it) => (it === null ? it : (onlyReached(it, gate, model) ?? [])));
    return omitBy(lists, (it, name) => isEmpty(it) && !isEmpty(value[name]));
  }
  const type = typeof uid === 'string' ? model.types.get(uid) : undefined;
  return type && !gate.reaches(type) ? null : value;
};

const isCreator = (attribute: Attribute): boolean => attribute.kind === 'link' && attribute.source === 'creator';

/** Each element of a nested value, with its type. */
export const mapNested = (
  model: Model,
  attribute: NestedAttribute,
  value: unknown,
  map: (element: unknown, type: EntryType) => unknown,
): unknown => {
  if (Array.isArray(value)) return value.map((it) => mapNested(model, attribute, it, map));
  if (!isMembers(value)) return value;
  const key = typeKeyOf(attribute);
  const uid = key === null ? (attribute.kind === 'part' ? attribute.components[0] : targetOf(attribute)) : value[key];
  const type = typeof uid === 'string' ? model.types.get(uid) : undefined;
  return type ? map(value, type) : value;
};

const targetOf = (attribute: NestedAttribute): string | undefined =>
  attribute.kind === 'link' ? attribute.target : undefined;

/** `{ data, meta }` of plain entities: attributes below `attributes`, relations and media in `data`. */
export const transformResponse = (model: Model, data: unknown, meta: unknown, type: EntryType | undefined): unknown => {
  if (data === undefined || data === null) return data;
  return { data: transformEntry(model, data, type), meta: meta ?? {} };
};

const transformEntry = (model: Model, data: unknown, type: EntryType | undefined): unknown => {
  if (data === null || data === undefined) return data;
  if (Array.isArray(data)) return data.map((it) => transformEntry(model, it, type));
  if (!isMembers(data)) throw new TypeError('Entry must be an object');
  const { id, ...rest } = data;
  return { id, attributes: transformAttributes(model, rest, type) };
};

const isOfEntries = (value: unknown): boolean =>
  Array.isArray(value) ? value.every(isOfEntries) : value === undefined || value === null || isMembers(value);

const transformAttributes = (
  model: Model,
  data: Readonly<Record<string, unknown>>,
  type: EntryType | undefined,
): object => {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    if (name === PROTOTYPE) continue;
    const attribute = type?.attributes.get(name);
    if (!attribute || attribute.kind === 'scalar' || isCreator(attribute)) shown[name] = value;
    // code may have put a number of entries, or their names, in their place
    else if (attribute.kind === 'link' && !isOfEntries(value)) shown[name] = value;
    else if (attribute.kind === 'link')
      shown[name] = { data: transformEntry(model, value ?? null, model.types.get(attribute.target)) };
    else if (attribute.kind === 'morph') shown[name] = value;
    else
      shown[name] = mapNested(model, attribute, value, (it, target) => {
        const { id, ...rest } = it as Readonly<Record<string, unknown>>;
        return { ...(id === undefined ? {} : { id }), ...transformAttributes(model, rest, target) };
      });
  }
  return shown;
};
