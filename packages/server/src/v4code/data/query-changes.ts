/** Queries on their way between clients, code and the server: what they may populate, and dates as days and times. */
import mapValues from 'lodash/mapValues.js';
import pickBy from 'lodash/pickBy.js';
import { type Attribute, type EntryType, FILE_UID, type Model, targetsOf } from '../../model/model.js';
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

/** Who populates. */
export interface Populating {
  readonly model: Model;
  /** What may be populated. */
  readonly gate: Gate;
  /** Leaves the creators of the entries themselves; by default there are none (Q9). */
  readonly keepsCreators?: boolean;
}

/**
 * A query as v4 hands it on to services and hooks: it names no relation that the caller may not find, and has names in place of `*`. As
 * in v4 a relation to any type stays as it is: of the entries that code finds in it, `sanitizeOutput` leaves those of permitted types.
 */
export const withPermittedPopulate = (query: Members, type: EntryType, populating: Populating): Members => {
  const { populate } = query;
  if (populate === undefined) return query;
  return { ...query, populate: permitted(populate, { types: [type], areOwn: true }, populating) };
};

/** Where a name stands in `populate`. */
interface Level {
  readonly types: Types;
  /** They are of the entries themselves, not of what these populate. */
  readonly areOwn: boolean;
}

const permitted = (populate: unknown, level: Level, populating: Populating): unknown => {
  const { model, gate } = populating;
  const inTexts = (text: string): readonly string[] => text.split(',').flatMap((it) => pathIn(it, level, populating));
  const inside = (it: unknown, types: Types): unknown => permitted(it, { types, areOwn: false }, populating);
  if (isEverything(populate)) return Object.fromEntries(everyName(level, gate).map((name) => [name, true]));
  if (typeof populate === 'string') {
    const left = inTexts(populate);
    return left.join() === populate ? populate : left;
  }
  if (Array.isArray(populate))
    return populate.flatMap((it): readonly unknown[] =>
      typeof it === 'string' ? inTexts(it) : [inside(it, level.types)],
    );
  if (!isMembers(populate)) return populate;
  const named = pickBy(populate, (_options, name) => mayName(name, level, populating));
  return mapOptions(named, level.types, model, (options, types) => {
    const { on, populate: inner } = options;
    return {
      ...options,
      ...(isMembers(on) ? { on: pickBy(on, (_it, uid) => isReached(model.types.get(uid), gate)) } : {}),
      ...(inner === undefined ? {} : { populate: inside(inner, types) }),
    };
  });
};

/** As far as it may be named: `author.secret` is `author`. */
const pathIn = (dotted: string, level: Level, populating: Populating): readonly string[] => {
  const steps = dotted.trim().split('.');
  if (steps[0] === '*') return everyName(level, populating.gate);
  let at = level;
  const end = steps.findIndex((name) => {
    const isEnd = !mayName(name, at, populating);
    at = { types: targetTypes(attributesIn(at.types, name), populating.model), areOwn: false };
    return isEnd;
  });
  return end === 0 ? [] : [steps.slice(0, end === -1 ? undefined : end).join('.')];
};

const mayName = (name: string, { types, areOwn }: Level, { gate, keepsCreators = false }: Populating): boolean => {
  if (isCreatorName(name)) return areOwn && keepsCreators;
  const uses = types.flatMap((type) => {
    const attribute = type.attributes.get(name);
    return attribute ? [gate.allows(type, attribute, 'populate')] : [];
  });
  // none: it may be a word of the project's own
  return uses.length === 0 || uses.includes(true);
};

/** What `*` stands for: below a relation to any type, that of the types that the caller may find, and of files, to which media lead too. */
const everyName = ({ types, areOwn }: Level, gate: Gate): readonly string[] => {
  const names = types
    .filter((type) => areOwn || type.uid === FILE_UID || isReached(type, gate))
    .flatMap((type) =>
      [...type.attributes.values()].filter((it) => it.kind !== 'scalar' && gate.allows(type, it, 'populate')),
    )
    .map((it) => it.name);
  return [...new Set(names)].filter((name) => !isCreatorName(name));
};

const isReached = (type: EntryType | undefined, gate: Gate): boolean =>
  !type || type.kind === 'component' || gate.reaches(type);

export const isCreatorName = (name: string): boolean => name === 'createdBy' || name === 'updatedBy';

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
    const mapped = map(options, targets);
    const { on } = mapped;
    if (!isMembers(on)) return mapped;
    const ofType = (it: unknown, uid: string): unknown => {
      const type = model.types.get(uid);
      return type && isMembers(it) ? map(it, [type]) : it;
    };
    return { ...mapped, on: mapValues(on, ofType) };
  });
