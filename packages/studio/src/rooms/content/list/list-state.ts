/** What a list shows; the address holds all of it. */
import { type Attribute, attributeOf, filterValue, type Model, type Type, typeOf } from '../../../model/model.js';

export interface Condition {
  /** The attribute, or the attribute of the related entry: `author.name`. */
  readonly on: string;
  readonly operator: string;
  /** As typed; lists are separated by commas, and a value that has one stands in quotes. */
  readonly value: string;
}

interface ListState {
  readonly page: number;
  readonly size: number;
  /** `title:asc`; null: by the server's own order. */
  readonly sort: string | null;
  readonly q: string;
  readonly state: 'all' | 'draft' | 'published';
  readonly where: readonly Condition[];
  /** Whether one of the conditions is enough. */
  readonly any: boolean;
  /** Null: the one chosen in the bar. */
  readonly locale: string | null;
}

/** What is as always is left out of the address. */
export type ListSearch = {
  readonly page?: number;
  readonly size?: number;
  readonly sort?: string;
  readonly q?: string;
  readonly state?: 'draft' | 'published';
  readonly where?: readonly Condition[];
  readonly any?: true;
  readonly locale?: string;
};

export const sizes: readonly number[] = [10, 25, 50, 100];
const SIZE = 25;

export const searchOf = (given: Readonly<Record<string, unknown>>): ListSearch => {
  const { page, size, sort, q, state, where, any, locale } = given;
  const conditions = Array.isArray(where) ? where.flatMap(conditionOf) : [];
  return {
    ...(Number.isSafeInteger(page) && Number(page) > 1 ? { page: Number(page) } : {}),
    ...(sizes.includes(Number(size)) && Number(size) !== SIZE ? { size: Number(size) } : {}),
    ...(typeof sort === 'string' && sort !== '' ? { sort } : {}),
    // the router reads digits as a number, and some words as other values
    ...(q === undefined || q === '' || (typeof q === 'object' && q !== null) ? {} : { q: String(q) }),
    ...(state === 'draft' || state === 'published' ? { state } : {}),
    ...(conditions.length > 0 ? { where: conditions } : {}),
    ...(any === true && conditions.length > 1 ? { any } : {}),
    ...(typeof locale === 'string' && locale !== '' ? { locale } : {}),
  };
};

const conditionOf = (given: unknown): readonly Condition[] => {
  if (given === null || typeof given !== 'object') return [];
  const { on, operator, value } = given as Readonly<Record<string, unknown>>;
  return typeof on === 'string' && typeof operator === 'string' ? [{ on, operator, value: String(value ?? '') }] : [];
};

export const stateOf = ({ page, size, sort, q, state, where, any, locale }: ListSearch): ListState => ({
  page: page ?? 1,
  size: size ?? SIZE,
  sort: sort ?? null,
  q: q ?? '',
  state: state ?? 'all',
  where: where ?? [],
  any: any ?? false,
  locale: locale ?? null,
});

// ---- columns

/** Attributes that a list can show. Lists of relations and components have no place in a cell. */
export const columnsOf = (type: Type): readonly Attribute[] =>
  type.attributes.filter(
    ({ name, kind, type: scalar, mayRead, relation }) =>
      mayRead &&
      name !== 'localizations' &&
      (kind === 'media' ||
        (kind === 'relation' && relation !== null && !relation.list) ||
        (kind === 'scalar' && !['password', 'json', 'array', 'blocks'].includes(scalar))),
  );

const DEFAULT_COLUMNS = 5;
const late: ReadonlySet<string> = new Set(['createdAt', 'publishedAt', 'createdBy', 'updatedBy', 'locale']);

export const defaultColumns = (type: Type): readonly string[] => {
  const able = columnsOf(type).filter((it) => !late.has(it.name) && it.type !== 'richtext' && it.type !== 'text');
  const names = able.map(({ name }) => name).filter((it) => it !== 'updatedAt' && it !== type.mainField);
  const main = type.mainField === null ? [] : [type.mainField];
  const updated = able.some(({ name }) => name === 'updatedAt') ? ['updatedAt'] : [];
  return [...main, ...names.slice(0, DEFAULT_COLUMNS - main.length - updated.length), ...updated];
};

// ---- the request

interface ListQuery {
  readonly [name: string]: unknown;
}

/** @param locale null: the type has none. */
export const listQuery = (
  model: Model,
  type: Type,
  state: ListState,
  columns: readonly string[],
  locale: string | null,
  hasCreators = false,
): ListQuery => {
  const shown = columns.flatMap((name) => attributeOf(type, name) ?? []);
  const scalars = shown.filter(({ kind }) => kind === 'scalar').map(({ name }) => name);
  const subjects = new Map(filterable(model, type).map(({ on, attribute }) => [on, attribute]));
  const given = state.where.flatMap((it) => conditionQuery(it, subjects.get(it.on)));
  const conditions = [
    ...(state.any && given.length > 1 ? [{ $or: given }] : given),
    ...(state.state === 'all' ? [] : [{ publishedAt: { [state.state === 'draft' ? '$null' : '$notNull']: true } }]),
  ];
  return {
    fields: [
      ...new Set([
        'id',
        ...(type.mainField === null ? [] : [type.mainField]),
        ...scalars,
        ...(type.draftAndPublish ? ['publishedAt'] : []),
        ...(type.localized ? ['locale'] : []),
        ...(attributeOf(type, 'updatedAt')?.mayRead ? ['updatedAt'] : []),
      ]),
    ],
    populate: Object.fromEntries([
      ...(hasCreators && attributeOf(type, 'createdBy')?.mayRead ? [['createdBy', { fields: ['id'] }]] : []),
      ...shown.flatMap((attribute): readonly (readonly [string, object])[] => {
        if (attribute.kind === 'media')
          return [[attribute.name, { fields: ['name', 'url', 'mime', 'ext', 'width', 'height', 'size', 'formats'] }]];
        if (attribute.kind !== 'relation') return [];
        const target = typeOf(model, attribute.relation?.target ?? '');
        const names = target === null ? [] : namesOf(target);
        return [[attribute.name, { fields: names.length === 0 ? ['id'] : names }]];
      }),
    ]),
    ...(conditions.length > 0 ? { filters: { $and: conditions } } : {}),
    ...(state.sort === null ? {} : { sort: state.sort }),
    ...(state.q === '' ? {} : { _q: state.q }),
    pagination: { page: state.page, pageSize: state.size },
    ...(type.draftAndPublish ? { publicationState: 'preview' } : {}),
    ...(locale === null ? {} : { locale }),
  };
};

/** How many values an operator takes. */
export const takes = (operator: string): 'none' | 'one' | 'two' | 'list' => {
  switch (operator) {
    case '$null':
    case '$notNull':
      return 'none';
    case '$between':
      return 'two';
    case '$in':
    case '$notIn':
      return 'list';
    default:
      return 'one';
  }
};

/** None while the value is missing: a half-written filter filters nothing. */
const conditionQuery = ({ on, operator, value }: Condition, attribute: Attribute | undefined): readonly object[] => {
  const operand = operandOf(operator, value, (it) => (attribute ? filterValue(attribute, it) : it));
  if (operand === null) return [];
  return [on.split('.').reduceRight<object>((inner, name) => ({ [name]: inner }), { [operator]: operand })];
};

/** The values of a text such as `Oslo, "Bergen, Norway"`; a quote in quotes is doubled. */
const valuesOf = (text: string): readonly string[] =>
  [...text.matchAll(/\s*"((?:[^"]|"")*)"\s*(?=,|$)|[^,]+/g)]
    .map(([all, quoted]) => quoted?.replaceAll('""', '"') ?? all.trim())
    .filter((it) => it !== '');

const operandOf = (
  operator: string,
  value: string,
  read: (text: string) => string,
): true | string | readonly string[] | null => {
  const values = valuesOf(value).map(read);
  switch (takes(operator)) {
    case 'none':
      return true;
    case 'two':
      return values.length === 2 ? values : null;
    case 'list':
      return values.length > 0 ? values : null;
    case 'one':
      return value === '' ? null : read(value);
  }
};

/** What a filter can be about: own attributes, and the names of related entries. */
export const filterable = (
  model: Model,
  type: Type,
): readonly { readonly on: string; readonly attribute: Attribute }[] =>
  type.attributes.flatMap((attribute): readonly { readonly on: string; readonly attribute: Attribute }[] => {
    if (attribute.kind === 'scalar') return attribute.operators.length > 0 ? [{ on: attribute.name, attribute }] : [];
    if (attribute.kind !== 'relation' || !attribute.mayRead || attribute.name === 'localizations') return [];
    const target = typeOf(model, attribute.relation?.target ?? '');
    return (target === null ? [] : namesOf(target)).flatMap((name) => {
      const inner = target && attributeOf(target, name);
      return inner && inner.operators.length > 0 ? [{ on: `${attribute.name}.${name}`, attribute: inner }] : [];
    });
  });

/** What an entry is called by: administrators by both of their names, because few have a user name. */
const namesOf = ({ uid, mainField }: Type): readonly string[] => {
  if (uid.startsWith('admin::')) return ['firstname', 'lastname'];
  return mainField === null ? [] : [mainField];
};

/** The next order when the head of a column is pressed: up, down, none. */
export const nextSort = (sort: string | null, name: string): string | null => {
  if (sort === `${name}:asc`) return `${name}:desc`;
  return sort === `${name}:desc` ? null : `${name}:asc`;
};
