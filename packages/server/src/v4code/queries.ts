/** Parameters of `entityService` and `db.query` as query objects of the read line. Project code is read leniently, as v4 reads it. */

import { type EntryType, type Model, targetsOf, typeKeyOf } from '../model/model.js';
import type { FilterObject, PopulateObject, QueryObject, SortObject } from '../query/objects.js';
import { isOperatorName } from '../query/operators.js';
import { isMembers, type Members } from './parts.js';

/** What code may ask for; anything else in the parameters has no effect. */
export interface FindParams {
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
}

/** Conditions of `where` and `filters`: null is "has no value", names that the type does not have have no effect on request. */
export const filtersOf = (
  given: unknown,
  type: EntryType,
  model: Model,
  unknownNames: 'ignore' | 'keep',
): FilterObject => {
  const condition = (value: unknown): unknown => {
    if (value === undefined) throw new Error(`a condition of ${type.uid} is undefined`);
    if (value === null) return { $null: true };
    if (!isMembers(value) || value instanceof Date) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]): [string, unknown] => {
        if (inner === null && (name === '$eq' || name === '$eqi')) return ['$null', true];
        if (inner === null && (name === '$ne' || name === '$nei')) return ['$notNull', true];
        if (inner === undefined) throw new Error(`a condition of ${type.uid} is undefined`);
        return [name, name === '$not' ? condition(inner) : inner];
      }),
    );
  };
  const group = (value: unknown, at: EntryType): unknown => {
    if (Array.isArray(value)) return value.map((it) => group(it, at));
    if (!isMembers(value)) return value === null ? { $null: true } : value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]): readonly (readonly [string, unknown])[] => {
        if (name === '$and' || name === '$or' || name === '$not') return [[name, group(inner, at)]];
        if (isOperatorName(name)) return [[name, inner]];
        const attribute = at.attributes.get(name);
        if (!attribute && name !== 'id' && unknownNames === 'ignore') return [];
        if (!attribute || attribute.kind === 'scalar') return [[name, condition(inner)]];
        const [target] = typeKeyOf(attribute) === null ? targetsOf(model, attribute) : [];
        const next = target === undefined ? undefined : model.types.get(target);
        return next ? [[name, group(inner, next)]] : [];
      }),
    );
  };
  return group(given ?? {}, type) as FilterObject;
};

/** `populate` in any of v4's forms, at any depth; `true` is everything. */
export const populateOf = (given: unknown, type: EntryType, model: Model): PopulateObject | undefined => {
  if (given === undefined || given === null || given === false) return undefined;
  if (given === true || given === '*') return '*';
  if (typeof given === 'string') return given;
  if (Array.isArray(given)) return given.filter((it) => typeof it === 'string');
  if (!isMembers(given)) return undefined;
  const tree: Record<string, unknown> = {};
  for (const [name, options] of Object.entries(given)) {
    const attribute = type.attributes.get(name);
    if (!attribute || attribute.kind === 'scalar' || options === undefined || options === false) continue;
    if (!isMembers(options)) {
      tree[name] = true;
      continue;
    }
    const [target] = typeKeyOf(attribute) === null ? targetsOf(model, attribute) : [];
    const next = target === undefined ? undefined : model.types.get(target);
    tree[name] = next ? nestedOf(options, next, model) : mixedOf(options, model);
  }
  return tree as PopulateObject;
};

const nestedOf = (options: FindParams & Members, type: EntryType, model: Model): unknown => {
  const nested = queryOf(options, type, model, 'ignore');
  const { fields, populate, filters, sort, publicationState } = nested;
  return withoutUndefined({ fields, populate, filters, sort, publicationState });
};

const mixedOf = (options: Members, model: Model): unknown => {
  const on = options['on'];
  if (!isMembers(on)) return options['populate'] === undefined ? true : { populate: '*' };
  return {
    on: Object.fromEntries(
      Object.entries(on).flatMap(([uid, inner]) => {
        const type = model.types.get(uid);
        return type ? [[uid, isMembers(inner) ? nestedOf(inner, type, model) : true]] : [];
      }),
    ),
  };
};

/** A whole query. `where`, `select` and `orderBy` are other names of `filters`, `fields` and `sort`. */
export const queryOf = (
  { where, filters, _q, select, fields, populate, sort, orderBy, publicationState, locale }: FindParams,
  type: EntryType,
  model: Model,
  unknownNames: 'ignore' | 'keep',
): QueryObject =>
  withoutUndefined({
    filters: filtersOf(where ?? filters, type, model, unknownNames),
    fields: fieldsOf(select ?? fields, type),
    populate: populateOf(populate, type, model),
    sort: (orderBy ?? sort) as SortObject | undefined,
    publicationState: publicationState === 'live' || publicationState === 'preview' ? publicationState : undefined,
    locale: typeof locale === 'string' ? locale : undefined,
    _q: typeof _q === 'string' && _q !== '' ? _q : undefined,
  });

/** Names of scalar attributes only: v4 selects the columns that there are. */
const fieldsOf = (given: unknown, type: EntryType): readonly string[] | undefined => {
  if (given === undefined || given === null) return undefined;
  const names = (Array.isArray(given) ? given : String(given).split(',')).map((it) => String(it).trim());
  if (names.includes('*')) return undefined;
  return ['id', ...names.filter((it) => type.attributes.get(it)?.kind === 'scalar')];
};

const withoutUndefined = (members: Members): QueryObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
