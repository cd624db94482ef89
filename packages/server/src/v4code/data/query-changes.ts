/** Queries on their way between clients, code and the server: what they populate without creators, and dates as days and times. */
import mapValues from 'lodash/mapValues.js';
import pickBy from 'lodash/pickBy.js';
import {
  type Attribute,
  type EntryType,
  type Model,
  type NestedAttribute,
  targetsOf,
  typeKeyOf,
} from '../../model/model.js';
import type { Gate } from '../../query/selection.js';
import { isMembers, type Members } from '../loading/parts.js';
import { conditionDates, isPlainCondition } from '../strapi-utils/dates.js';
import { isEverything, isGroup } from './queries.js';

/** The types that an entry may be of: several in zones and in relations to any type. */
type Types = readonly EntryType[];

/** A query of which the server itself reads the conditions: with days and times of day instead of dates. */
export const withLocalDates = (query: Members, type: EntryType, model: Model): Members => {
  const inEntry = (given: unknown, types: Types): unknown => {
    if (Array.isArray(given)) return given.map((it) => inEntry(it, types));
    if (!isPlainCondition(given)) return given;
    return mapValues(given, (inner, name) => {
      if (isGroup(name)) return inEntry(inner, types);
      const [attribute] = attributesIn(types, name);
      if (attribute?.kind === 'scalar') return conditionDates(inner, attribute.type);
      return attribute ? inEntry(inner, targetTypes([attribute], model)) : inner;
    });
  };
  const inOptions = (given: Members, types: Types): Members => {
    const { filters, populate } = given;
    return {
      ...given,
      ...(isMembers(filters) ? { filters: inEntry(filters, types) } : {}),
      ...(isPlainCondition(populate) ? { populate: mapOptions(populate, types, model, inOptions) } : {}),
    };
  };
  return inOptions(query, [type]);
};

/**
 * A client's `populate` without creators; `*` is all but them.
 * @param types of what it populates: several in zones. @param keepsOwn leaves those of the entries themselves.
 */
export const withoutCreators = (populate: unknown, types: Types, model: Model, keepsOwn = false): unknown => {
  const all = (it: unknown): readonly unknown[] => [withoutCreators(it, types, model, keepsOwn)].flat();
  if (isEverything(populate))
    return types.some((it) => it.populateCreatorFields) ? [...new Set(types.flatMap(nestedNames))] : '*';
  if (typeof populate === 'string') {
    if (!/createdBy|updatedBy|\*/.test(populate)) return populate;
    return populate.split(',').flatMap((it) => {
      const names = it.trim().split('.');
      if (names[0] === '*') return all('*');
      const end = names.findIndex((name, i) => isCreatorName(name) && !(keepsOwn && i === 0));
      return end === 0 ? [] : [names.slice(0, end === -1 ? undefined : end).join('.')];
    });
  }
  if (Array.isArray(populate)) return populate.flatMap(all);
  if (!isMembers(populate)) return populate;
  const inside = (options: Members, of: Types): Members =>
    options['populate'] === undefined
      ? options
      : { ...options, populate: withoutCreators(options['populate'], of, model) };
  const named = Object.entries(populate).filter(([name]) => keepsOwn || !isCreatorName(name));
  return mapOptions(Object.fromEntries(named), types, model, inside);
};

/**
 * A client's `populate` as v4 hands it on to services and hooks: without what the client may not find, and with names in place of `*`.
 * @param types of what it populates: several in zones.
 */
export const permittedPopulate = (populate: unknown, types: Types, model: Model, gate: Gate): unknown => {
  const mayName = (of: Types, name: string): boolean => {
    const attributes = of.flatMap((type) => {
      const it = type.attributes.get(name);
      return it ? [{ type, it }] : [];
    });
    // words of the project's own, and creators, of which is decided elsewhere
    if (attributes.length === 0 || isCreatorName(name)) return true;
    return attributes.some(({ type, it }) => gate.allows(type, it, 'populate'));
  };
  const named = (of: Types): readonly NestedAttribute[] =>
    of.flatMap((type) =>
      [...type.attributes.values()].filter(
        (it): it is NestedAttribute =>
          it.kind !== 'scalar' && !isCreatorName(it.name) && gate.allows(type, it, 'populate'),
      ),
    );
  /** As far as it may be named: `author.secret` is `author`. */
  const path = (dotted: string): readonly string[] => {
    const steps = dotted.trim().split('.');
    if (steps[0] === '*') return named(types).map((it) => it.name);
    let of = types;
    for (const [i, name] of steps.entries()) {
      if (!mayName(of, name)) return i === 0 ? [] : [steps.slice(0, i).join('.')];
      of = targetTypes(attributesIn(of, name), model);
    }
    return [dotted.trim()];
  };
  if (isEverything(populate))
    return Object.fromEntries(named(types).map((it) => [it.name, typeKeyOf(it) === null ? true : {}]));
  if (typeof populate === 'string') {
    const left = populate.split(',').flatMap(path);
    return left.join() === populate ? populate : left;
  }
  if (Array.isArray(populate))
    return populate.flatMap((it) => (typeof it === 'string' ? it.split(',').flatMap(path) : [it]));
  if (!isMembers(populate)) return populate;
  const inside = (options: Members, of: Types): Members =>
    options['populate'] === undefined
      ? options
      : { ...options, populate: permittedPopulate(options['populate'], of, model, gate) };
  const reached = (_options: unknown, uid: string): boolean => {
    const type = model.types.get(uid);
    return !type || type.kind === 'component' || gate.reaches(type);
  };
  const permitted = mapValues(
    pickBy(populate, (_options, name) => mayName(types, name)),
    (options) =>
      isMembers(options) && isMembers(options['on']) ? { ...options, on: pickBy(options['on'], reached) } : options,
  );
  return mapOptions(permitted, types, model, inside);
};

export const isCreatorName = (name: string): boolean => name === 'createdBy' || name === 'updatedBy';

const nestedNames = (type: EntryType): readonly string[] =>
  [...type.attributes.values()].filter((it) => it.kind !== 'scalar' && !isCreatorName(it.name)).map((it) => it.name);

const attributesIn = (types: Types, name: string): readonly Attribute[] =>
  types.flatMap(({ attributes }) => attributes.get(name) ?? []);

const targetTypes = (attributes: readonly Attribute[], model: Model): Types => {
  const uids = attributes.flatMap((it) => (it.kind === 'scalar' ? [] : targetsOf(model, it)));
  return [...new Set(uids)].flatMap((uid) => model.types.get(uid) ?? []);
};

/** Maps the options of what an object populates, also those that `on` gives for each type. */
const mapOptions = (
  populate: Members,
  types: Types,
  model: Model,
  map: (options: Members, types: Types) => Members,
): Members =>
  mapValues(populate, (options, name) => {
    const targets = targetTypes(attributesIn(types, name), model);
    if (!isMembers(options) || targets.length === 0) return options;
    const { on } = options;
    const mapped = map(options, targets);
    if (!isMembers(on)) return mapped;
    const ofType = (it: unknown, uid: string): unknown => {
      const type = model.types.get(uid);
      return type && isMembers(it) ? map(it, [type]) : it;
    };
    return { ...mapped, on: mapValues(on, ofType) };
  });
