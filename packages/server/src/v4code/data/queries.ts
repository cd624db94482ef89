/** Parameters of `entityService` and `db.query` as query objects of the read line. Project code is read leniently, as v4 reads it. */
import isEmpty from 'lodash/isEmpty.js';
import mapValues from 'lodash/mapValues.js';
import { limits } from '../../limits.js';
import { parseFlag } from '../../model/attributes.js';
import {
  type Attribute,
  type EntryType,
  type Model,
  type NestedAttribute,
  targetsOf,
  typeKeyOf,
  typeLabel,
} from '../../model/model.js';
import { lenientFlag } from '../../query/lenient.js';
import {
  type FilterObject,
  namedMemberOf,
  type PopulateObject,
  type QueryObject,
  type SortObject,
} from '../../query/objects.js';
import { isOperatorName } from '../../query/operators.js';
import { scalarOfColumn } from '../../query/resolving.js';
import { isMembers, type Members, UNPARSED } from '../loading/parts.js';
import { conditionDates } from '../strapi-utils/dates.js';
import { ValidationError } from '../strapi-utils/errors.js';
import { refused } from '../strapi-utils/guards.js';

/**
 * Set by core actions for the response to a request for one entry: it populates published entries alone (DR4). A symbol, which
 * neither a client nor code writes, and services of the project pass on with the other parameters.
 */
export const POPULATES_PUBLISHED = Symbol('populates published entries alone');

/** Set by core actions for the write of a single type, which makes its entry only if there is none. */
export const ONLY_ENTRY = Symbol('the only entry of a single type');

/** What code may ask for; anything else in the parameters has no effect. */
export interface FindParams {
  readonly [POPULATES_PUBLISHED]?: boolean;
  readonly [ONLY_ENTRY]?: boolean;
  readonly where?: unknown;
  readonly filters?: unknown;
  readonly _q?: unknown;
  readonly select?: unknown;
  readonly fields?: unknown;
  readonly populate?: unknown;
  readonly sort?: unknown;
  readonly orderBy?: unknown;
  readonly limit?: unknown;
  readonly start?: unknown;
  readonly offset?: unknown;
  readonly publicationState?: unknown;
  readonly locale?: unknown;
  /** Not here, and not without a word. */
  readonly groupBy?: unknown;
}

/**
 * What becomes of names that a type does not have. v4's entity service ignores them; its queries take them for columns, so that
 * a name may also be that of an attribute's column; any other is kept, and refused.
 */
export type UnknownNames = 'ignore' | 'keep';

interface Naming {
  readonly model: Model;
  readonly unknownNames: UnknownNames;
  /** The attribute that the condition is on, for messages. */
  readonly at?: string;
}

// ---- conditions

/**
 * Conditions of `where` and `filters`: null is "has no value". A condition that is undefined, or of which nothing would be left
 * in a query, throws: without it a deletion would go further than it was meant to.
 */
export const filtersOf = (given: unknown, type: EntryType, model: Model, unknownNames: UnknownNames): FilterObject =>
  (given === undefined || given === null
    ? {}
    : joinedList(
        entryConditions(withPlainLists(given, `a condition of ${type.uid}`), type, { model, unknownNames }),
      )) as FilterObject;

/** A list at the root is of conditions that all hold. */
const joinedList = (conditions: unknown): unknown =>
  Array.isArray(conditions) ? { $and: conditions as unknown } : conditions;

/** Conditions on entries, those at the root or related ones. */
const entryConditions = (given: unknown, type: EntryType, naming: Naming): unknown => {
  const value = definite(given, type.uid, naming.at);
  if (Array.isArray(value)) return value.map((it) => entryConditions(it, type, naming));
  if (!isMembers(value) || value instanceof Date) return value === null ? { $null: true } : value;
  return joined(
    Object.entries(value).flatMap(([name, inner]): readonly Named[] => {
      if (isNoAlternative(name, inner)) return [];
      if (isGroup(name))
        return [[name, entryConditions(telling(name, inner, type.uid, faultIn(naming)), type, naming)]];
      if (isOperatorName(name)) return [operatorCondition(name, inner, type, naming)];
      if (name.startsWith('$')) throw unknownOperator(name, type, naming);
      return attributeCondition(name, inner, type, naming);
    }),
  );
};

const attributeCondition = (name: string, inner: unknown, type: EntryType, given: Naming): readonly Named[] => {
  const { model, unknownNames } = given;
  const naming = { ...given, at: name };
  const value = definite(inner, type.uid, name);
  if (name === 'id') return [[name, valueCondition(ofIds(value), type, naming)]];
  const attribute = attributeNamed(name, type, unknownNames);
  if (attribute?.kind === 'scalar')
    return [[attribute.name, valueCondition(conditionDates(value, attribute.type), type, naming)]];
  const next = attribute && soleTarget(attribute, model);
  if (attribute && next) {
    const ids = ofIds(value);
    return [[attribute.name, Array.isArray(ids) ? operandOf(ids, type, naming) : entryConditions(ids, next, naming)]];
  }
  if (unknownNames === 'ignore') return [];
  // the read line refuses other names itself, and leaves these out as v4 does in requests
  if (name in Object.prototype) throw new Error(`${typeLabel(type)} has no attribute "${name}"`);
  return [[name, value]];
};

/** A text that is no number is no id, and means no entry: code looks entries up by id or slug, whichever it was given. */
const ofIds = (given: unknown): unknown => {
  if (typeof given === 'string') return isDigits(given) ? given : NO_ID;
  if (Array.isArray(given)) return given.map(ofIds);
  if (!isMembers(given) || given instanceof Date) return given;
  return mapValues(given, (it, name) => (name === '$eq' || name === '$in' || isGroup(name) ? ofIds(it) : it));
};

/** No entry has it. */
const NO_ID = 0;

const isDigits = (text: string): boolean => /^\d+$/.test(text);

/** The condition on a scalar: a value, a list of values, or operators. */
const valueCondition = (given: unknown, type: EntryType, naming: Naming): unknown => {
  const value = definite(given, type.uid, naming.at);
  if (value === null) return { $null: true };
  if (!isMembers(value) || value instanceof Date) return operandOf(value, type, naming);
  if (saysNothing(value)) throw emptyCondition(type.uid, faultIn(naming));
  return joined(
    Object.entries(value).flatMap(([name, inner]): readonly Named[] => {
      const nested = (it: unknown): unknown => valueCondition(it, type, naming);
      if (isNoAlternative(name, inner)) return [];
      if (isGroup(name)) return [[name, Array.isArray(inner) ? inner.map(nested) : nested(inner)]];
      if (isOperatorName(name)) return [operatorCondition(name, inner, type, naming)];
      throw unknownOperator(name, type, naming);
    }),
  );
};

type Named = readonly [name: string, condition: unknown];

/** Two names may be of one attribute: neither replaces the other. */
const joined = (conditions: readonly Named[]): Members => {
  const all = Object.fromEntries(conditions);
  return Object.keys(all).length === conditions.length
    ? all
    : { $and: conditions.map(([name, it]) => ({ [name]: it })) };
};

const unknownOperator = (name: string, { uid }: EntryType, naming: Naming): Error =>
  new (faultIn(naming))(`a condition of ${uid} has no operator "${name}"`);

type FaultClass = new (message: string) => Error;

/** In the entity service a fault may be the client's, whose query core actions pass on. */
const faultIn = ({ unknownNames }: Naming): FaultClass => (unknownNames === 'ignore' ? ValidationError : Error);

const emptyCondition = (of: string, Fault: FaultClass = Error): Error =>
  refused(new Fault(`a condition of ${of} is empty`));

/** The inside of a group: `$not` and every alternative of `$or` need a condition, or else they would be lost. */
const telling = (group: string, inner: unknown, of: string, Fault: FaultClass): unknown => {
  const members = group === '$or' && Array.isArray(inner) ? inner : group === '$not' ? [inner] : [];
  if (members.some(saysNothing)) throw emptyCondition(of, Fault);
  return inner;
};

/** `{}`, also where it is all that lists and relations have inside. */
export const saysNothing = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.every(saysNothing);
  if (!isMembers(value) || !isPlain(value) || typeof value['toJSON'] === 'function') return false;
  return Object.entries(value).every(
    ([name, inner]) =>
      isNoAlternative(name, inner) ||
      ((name === '$and' || (isMembers(inner) && !name.startsWith('$'))) && saysNothing(inner)),
  );
};

/** Code that adds alternatives one by one may have none. */
const isNoAlternative = (name: string, inner: unknown): boolean =>
  name === '$or' && Array.isArray(inner) && inner.length === 0;

export const isGroup = (name: string): boolean => name === '$and' || name === '$or' || name === '$not';

const operatorCondition = (name: string, given: unknown, type: EntryType, naming: Naming): Named => {
  const value = operandOf(given, type, naming);
  if (value === null && (name === '$eq' || name === '$eqi')) return ['$null', true];
  if (value === null && (name === '$ne' || name === '$nei')) return ['$notNull', true];
  return [name, value];
};

/** A value or a list of values. */
const operandOf = (given: unknown, type: EntryType, naming: Naming): unknown => {
  const one = (it: unknown): unknown => {
    const value = definite(it, type.uid, naming.at);
    if (Array.isArray(value) || (isMembers(value) && !(value instanceof Date)))
      throw new (faultIn(naming))(`a condition of ${type.uid} compares with an object`);
    return value;
  };
  return Array.isArray(given) ? given.map(one) : one(given);
};

/** A value that says something, and still does once it is a text of JSON. */
const definite = (given: unknown, of: string, at?: string): unknown => {
  const indefinite = (what: string): Error =>
    refused(new Error(`a condition of ${of}${at === undefined ? '' : ` on "${at}"`} is ${what}`));
  // dates of libraries are their texts
  const value = isMembers(given) && !(given instanceof Date) ? textOf(given) : given;
  if (value === undefined) throw indefinite('undefined');
  if (typeof value === 'function' || typeof value === 'symbol') throw indefinite(`a ${typeof value}`);
  if (Number.isNaN(value instanceof Date ? value.getTime() : value)) throw indefinite('not a number');
  if (isMembers(value) && !(value instanceof Date)) {
    if (!isPlain(value)) throw indefinite('an object of a class');
    // a body that is used as a condition may have its text beside it
    if (Object.getOwnPropertySymbols(value).some((it) => it !== UNPARSED)) throw indefinite('named by a symbol');
  }
  return value;
};

const textOf = (value: Members): unknown =>
  typeof value['toJSON'] === 'function' ? (value['toJSON'] as () => unknown).call(value) : value;

const isPlain = (value: Members): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/**
 * Throws where a list has members with names, at any depth: lodash puts what is merged into a list there, and whoever reads its items would
 * lose it; and where it is nested too deep, as a body may be. @param what it is, for the message.
 */
export const withPlainLists = <Value>(value: Value, what: string, depth = 0): Value => {
  if (depth > limits.codeQueryDepthMax)
    throw refused(new ValidationError(`${what} is nested more than ${limits.codeQueryDepthMax} levels deep`));
  const named = Array.isArray(value) ? namedMemberOf(value) : null;
  if (named !== null)
    throw refused(new ValidationError(`${what} is a list with a member "${named}", which has no place in a list`));
  if (Array.isArray(value) || (isMembers(value) && isPlain(value)))
    for (const inner of Object.values(value)) withPlainLists(inner, what, depth + 1);
  return value;
};

/** The same for each parameter of a query. */
export const withPlainParameters = (query: Members): Members => {
  for (const [name, value] of Object.entries(query)) withPlainLists(value, name);
  return query;
};

/** A query that code has changed: throws where a condition would be lost on the way to the read line. */
export const withDefiniteConditions = (query: Members): Members => {
  const look = (value: unknown, isCondition: boolean): void => {
    if (isCondition) definite(value, 'the query');
    if (Array.isArray(value)) for (const it of value) look(it, isCondition);
    else if (isMembers(value)) {
      for (const [name, it] of Object.entries(value)) {
        if (isCondition && needsMore(name, it)) throw emptyCondition('the query');
        if (isCondition || it !== undefined) look(it, isCondition || name === 'filters');
      }
    }
  };
  look(query, false);
  return query;
};

/** Whether an empty object is no condition here, whatever the type is. */
const needsMore = (name: string, given: unknown): boolean => {
  if (name === '$or') return Array.isArray(given) && given.some(saysNothing);
  const isNone = Array.isArray(given) && given.length === 0;
  return (name === 'id' || (name.startsWith('$') && name !== '$and')) && !isNone && saysNothing(given);
};

// ---- names

const attributeNamed = (name: string, type: EntryType, unknownNames: UnknownNames): Attribute | undefined =>
  type.attributes.get(name) ?? (unknownNames === 'keep' ? attributeOfColumn(name, type) : undefined);

/** `created_at` is `createdAt`, `created_by_id` is `createdBy`. */
const attributeOfColumn = (name: string, type: EntryType): Attribute | undefined =>
  scalarOfColumn(type, name) ??
  [...type.attributes.values()].find((it) => it.kind === 'link' && it.path.table === type.table && it.path.to === name);

/** The type of what an attribute holds; undefined where there are several. */
const soleTarget = (attribute: NestedAttribute, model: Model): EntryType | undefined => {
  const [target] = typeKeyOf(attribute) === null ? targetsOf(model, attribute) : [];
  return target === undefined ? undefined : model.types.get(target);
};

/** `'author.name:desc,title'` as v4 shows it to hooks: `[{ author: { name: 'desc' } }, { title: 'asc' }]`. Objects stay as they are. */
export const sortsOf = (given: unknown): unknown => {
  withPlainLists(given, 'a sort');
  if (Array.isArray(given)) return given.flatMap(sortsOf);
  if (typeof given !== 'string') return given;
  return given
    .split(',')
    .map((it) => it.trim())
    .filter((it) => it !== '')
    .map((it) => {
      const [path = '', direction = 'asc'] = it.split(':');
      return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), direction);
    });
};

/** Sorts with attributes instead of columns. */
const sortOf = (given: unknown, type: EntryType, model: Model): unknown => {
  const sorts = sortsOf(given);
  if (Array.isArray(sorts)) return sorts.map((it) => sortOf(it, type, model));
  if (!isMembers(sorts)) return sorts;
  return Object.fromEntries(
    Object.entries(sorts).map(([name, inner]) => {
      const attribute = attributeNamed(name, type, 'keep');
      // the read line refuses other names itself, and leaves these out
      if (!attribute && name in Object.prototype)
        throw new ValidationError(`${typeLabel(type)} has no attribute "${name}"`);
      const next = attribute && attribute.kind !== 'scalar' ? soleTarget(attribute, model) : undefined;
      return [attribute?.name ?? name, next && isMembers(inner) ? sortOf(inner, next, model) : inner];
    }),
  );
};

/** Names of scalar attributes, and the id; undefined for all of them. */
export const fieldsOf = (
  given: unknown,
  type: EntryType,
  unknownNames: UnknownNames,
): readonly string[] | undefined => {
  if (given === undefined || given === null) return undefined;
  withPlainLists(given, `fields of ${type.uid}`);
  const names = (Array.isArray(given) ? given : String(given).split(',')).map((it) => String(it).trim());
  if (names.includes('*')) return undefined;
  const scalars = names.flatMap((name) => {
    // clients may name columns, too
    const attribute = attributeNamed(name, type, 'keep');
    if (attribute?.kind === 'scalar') return [attribute.name];
    if (unknownNames === 'keep' && name !== 'id') throw new Error(`${typeLabel(type)} has no column "${name}"`);
    return [];
  });
  return ['id', ...scalars];
};

// ---- populate

/** `populate` in any of v4's forms, at any depth; `true` is everything. */
export const populateOf = (
  given: unknown,
  type: EntryType,
  model: Model,
  unknownNames: UnknownNames,
): PopulateObject | undefined => {
  if (given === undefined || given === null || given === false) return undefined;
  if (isEverything(given)) return '*';
  if (typeof given === 'string') return given;
  withPlainLists(given, `populate of ${type.uid}`);
  if (Array.isArray(given)) return given.filter((it) => typeof it === 'string');
  if (!isMembers(given)) return undefined;
  const tree: Record<string, unknown> = {};
  for (const [name, options] of Object.entries(given)) {
    const attribute = type.attributes.get(name);
    if (!attribute || attribute.kind === 'scalar' || options === undefined || isFalse(options)) continue;
    if (isMembers(options)) tree[name] = optionsOf(options, attribute, { model, unknownNames });
    // as hooks see it of v4's entity service
    else tree[name] = unknownNames === 'ignore' && typeKeyOf(attribute) === '__component' ? {} : true;
  }
  return tree as PopulateObject;
};

/** `true` may be a text of a query string. */
export const isEverything = (populate: unknown): boolean =>
  populate === true || populate === '*' || (typeof populate === 'string' && parseFlag(populate) === true);

/** The query of a client may be passed on, in which everything is a text. */
const isFalse = (value: unknown): boolean =>
  value === false || (typeof value === 'string' && (!lenientFlag(value) || parseFlag(value) === false));

const optionsOf = (options: Members, attribute: NestedAttribute, naming: Naming): unknown => {
  const target = soleTarget(attribute, naming.model);
  if (!target && isEmpty(options)) return {};
  if (!target) return withoutUndefined({ on: fragmentsOf(options, attribute, naming), ...rowsOf(options, naming) });
  const nested = nestedOf(options, target, naming);
  if (!isCounted(attribute, options)) return nested;
  const { populate: _populate, ...counted } = nested;
  return { ...counted, [naming.unknownNames === 'ignore' ? 'select' : 'fields']: ['id'], count: true };
};

/** Whether the number of entries is asked for instead of the entries. */
export const isCounted = (attribute: NestedAttribute, options: Members): boolean =>
  attribute.kind === 'link' &&
  attribute.source === 'relation' &&
  attribute.shape === 'many' &&
  (options['count'] === true || options['count'] === 'true');

/** As `db.query` takes it, for which the entity service makes it; as the read line takes it, if `db.query` does. */
const nestedOf = (options: FindParams & Members, type: EntryType, naming: Naming): Members => {
  const { model, unknownNames } = naming;
  const { fields, populate, filters, sort, publicationState } = queryOf(options, type, model, unknownNames);
  if (unknownNames === 'keep') return withoutUndefined({ fields, populate, filters, sort, publicationState });
  const where = isEmpty(filters) ? undefined : filters;
  const rows = rowsOf(options, naming);
  return withoutUndefined({ select: fields, populate, where, orderBy: sort, publicationState, ...rows });
};

/** For `db.query`, which the entity service asks, and which takes them off the rows itself: the read line has no such options. */
const rowsOf = ({ limit, start }: FindParams, { unknownNames }: Naming): FindParams =>
  unknownNames === 'ignore' ? { limit, offset: start } : {};

/** Where entries of several types are mixed: the options for each type, which `on` names one by one. */
const fragmentsOf = (options: Members, attribute: NestedAttribute, naming: Naming): Members => {
  const { on } = options;
  const { model } = naming;
  const given: Members = isMembers(on)
    ? on
    : Object.fromEntries(targetsOf(model, attribute).map((uid) => [uid, options]));
  return Object.fromEntries(
    Object.entries(given).flatMap(([uid, inner]) => {
      const type = model.types.get(uid);
      return type ? [[uid, isMembers(inner) ? nestedOf(inner, type, naming) : true]] : [];
    }),
  );
};

// ---- queries

/**
 * A whole query. `db.query` knows `where`, `select` and `orderBy`, the entity service `fields` and `sort`, and both `filters`: what is of the
 * other one has no effect. To the entity service these are names that nobody has checked, if the query is a client's.
 */
export const queryOf = (
  { filters, _q, populate, publicationState, locale, ...named }: FindParams,
  type: EntryType,
  model: Model,
  unknownNames: UnknownNames,
): QueryObject => {
  const isOfRows = unknownNames === 'keep';
  const [where, select, sort] = isOfRows
    ? [named.where, named.select, named.orderBy]
    : [undefined, named.fields, named.sort];
  const conditions = [where, filters]
    .filter((it) => it !== undefined && it !== null)
    .map((it) => filtersOf(it, type, model, unknownNames));
  return withoutUndefined({
    filters: conditions.length > 1 ? { $and: conditions } : (conditions[0] ?? {}),
    fields: fieldsOf(select, type, unknownNames),
    populate: populateOf(populate, type, model, unknownNames),
    sort: sortOf(sort, type, model) as SortObject | undefined,
    publicationState: isOfRows && !isState(publicationState) ? undefined : stateOf(publicationState),
    locale: isLocale(locale) ? locale : undefined,
    _q: searchedText(_q, type),
  }) as QueryObject;
};

const isState = (given: unknown): given is 'live' | 'preview' => given === 'live' || given === 'preview';

/** To rows it means nothing; for entries any other value is refused, as in v4: it would show drafts. */
export const stateOf = (given: unknown): 'live' | 'preview' | undefined => {
  if (given === undefined || given === null) return undefined;
  if (isState(given)) return given;
  throw new ValidationError("publicationState must be 'live' or 'preview'");
};

/** One, or several (LO1). */
const isLocale = (given: unknown): given is string | readonly string[] =>
  typeof given === 'string' || (Array.isArray(given) && given.every((it) => typeof it === 'string'));

const searchedText = (given: unknown, { uid }: EntryType): string | undefined => {
  if (given === undefined || given === null || given === '') return undefined;
  if (typeof given === 'string' || typeof given === 'bigint' || Number.isFinite(given)) return String(given);
  throw new ValidationError(`_q of ${uid} must be a text`);
};

const withoutUndefined = (members: Members): Members =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
