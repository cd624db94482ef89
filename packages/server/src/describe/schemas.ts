/**
 * JSON schemas of what a caller can see, ask for and write, in the dialect of OpenAPI 3.1. A schema is made when something
 * refers to it, so a document holds only what is reachable.
 */
import { never } from '../errors.js';
import { limits } from '../limits.js';
import { type Family, type ScalarTypeName, scalarTypes } from '../model/attributes.js';
import {
  type Attribute,
  DOCUMENT_ID,
  type EntryType,
  hasDocumentId,
  type LinkAttribute,
  type Model,
  type NestedAttribute,
  type ScalarAttribute,
  targetsOf,
  typeOf,
  type Uid,
} from '../model/model.js';
import { type OperatorName, operators } from '../query/operators.js';
import type { EntryFormat, Gate, Use } from '../query/selection.js';
import { isNeeded, isOfServer } from './inputs.js';
import { namesOf } from './names.js';

export type JsonSchema = { readonly [keyword: string]: unknown };

/**
 * `entry`: `{ id, attributes }`. `bare`: the attributes beside the id, at every depth, as users, files and elements of
 * polymorphic relations are shown. `component`: the same, but what is populated inside is in `{ data }`.
 * `selection`, `populate` and `filters`: what can be asked of its entries. `new` and `change`: bodies.
 */
export type SchemaKind = 'entry' | 'bare' | 'component' | 'selection' | 'populate' | 'filters' | 'new' | 'change';

export interface Schemas {
  ref(kind: SchemaKind, type: EntryType): JsonSchema;
  /** The names that lists can be sorted by, without directions. */
  sortable(type: EntryType): readonly string[];
  selectable(type: EntryType): readonly string[];
  readonly format: EntryFormat;
  /** Names of the id. */
  idNames(type: EntryType): readonly string[];
  /** All that were referred to so far, and what they refer to. */
  all(): Readonly<Record<string, JsonSchema>>;
}

const suffixes: Readonly<Record<SchemaKind, string>> = {
  entry: '',
  bare: 'Bare',
  component: '',
  selection: 'Selection',
  populate: 'Populate',
  filters: 'Filters',
  new: 'New',
  change: 'Change',
};

/** @param format of entries in responses and queries; v5's has no `attributes` and no `{ data }` inside of entries. */
export const newSchemas = (model: Model, gate: Gate, format: EntryFormat = 'v4'): Schemas => {
  const isFlat = format === 'v5';
  const idNames = (type: EntryType): readonly string[] =>
    isFlat && hasDocumentId(type) ? ['id', DOCUMENT_ID] : ['id'];
  const state = isFlat ? { publicationState, status } : { publicationState };
  const names = namesOf(model.types.values(), ['Error', ...families.map(conditionsName)]);
  const made = new Map<string, JsonSchema>();
  const pending: { readonly name: string; readonly kind: SchemaKind; readonly type: EntryType }[] = [];
  const seen = new Set<string>();

  const nameOf = (kind: SchemaKind, { uid }: EntryType): string => `${names.get(uid) ?? uid}${suffixes[kind]}`;
  const ref = (kind: SchemaKind, type: EntryType): JsonSchema => {
    const name = nameOf(kind, type);
    if (!seen.has(name)) {
      seen.add(name);
      pending.push({ name, kind, type });
    }
    return { $ref: `#/components/schemas/${name}` };
  };
  const typeAt = (uid: Uid): EntryType => typeOf(model, uid);

  const allowed = (type: EntryType, use: Use): readonly Attribute[] =>
    [...type.attributes.values()].filter((it) => gate.allows(type, it, use));
  const scalarsFor = (type: EntryType, use: Use): readonly ScalarAttribute[] =>
    allowed(type, use).filter((it): it is ScalarAttribute => it.kind === 'scalar');
  const nestedFor = (type: EntryType, use: Use): readonly NestedAttribute[] =>
    allowed(type, use).filter((it): it is NestedAttribute => it.kind !== 'scalar');
  const reachable = (attribute: NestedAttribute): readonly EntryType[] =>
    targetsOf(model, attribute)
      .map(typeAt)
      .filter((it) => attribute.kind !== 'morph' || gate.reaches(it, attribute));

  // ---- responses

  const shownNested = (attribute: NestedAttribute, isBare: boolean): JsonSchema => {
    const element = isBare ? 'bare' : attribute.kind === 'part' ? 'component' : 'entry';
    const [target] = reachable(attribute);
    switch (attribute.kind) {
      case 'link': {
        const value = target ? ref(element, target) : {};
        const data = attribute.shape === 'one' ? nullable(value) : nullable(listOf(value));
        return isBare || isFlat ? data : object({ data }, ['data']);
      }
      case 'part':
        if (attribute.shape === 'one') return target ? nullable(ref(element, target)) : {};
        if (attribute.shape === 'many') return target ? nullable(listOf(ref(element, target))) : {};
        return nullable(listOf(mixed(reachable(attribute), element, '__component')));
      case 'morph': {
        const value = mixed(reachable(attribute), isFlat ? element : 'bare', '__type');
        return attribute.shape === 'one' ? nullable(value) : nullable(listOf(value));
      }
      default:
        return never(attribute);
    }
  };
  const mixed = (types: readonly EntryType[], kind: SchemaKind, key: string): JsonSchema =>
    types.length === 0
      ? {}
      : {
          oneOf: types.map((it) => ({ ...ref(kind, it), properties: { [key]: { const: it.uid } }, required: [key] })),
        };

  const shown = (type: EntryType, isBare: boolean): Record<string, JsonSchema> => ({
    ...Object.fromEntries(scalarsFor(type, 'select').map((it) => [it.name, shownScalar(it)])),
    ...Object.fromEntries(nestedFor(type, 'populate').map((it) => [it.name, shownNested(it, isBare)])),
  });

  // ---- queries

  const selectable = (type: EntryType): readonly string[] => scalarsFor(type, 'select').map((it) => it.name);
  const sortable = (type: EntryType): readonly string[] => [
    ...idNames(type),
    ...scalarsFor(type, 'sort').map((it) => it.name),
  ];

  const populate = (type: EntryType): JsonSchema => {
    const nested = nestedFor(type, 'populate');
    const named = nested.map((it) => it.name);
    if (named.length === 0) return { const: '*' };
    const name = { type: 'string', anyOf: [{ enum: ['*', ...named] }, { pattern: pathPattern(named) }] };
    return {
      description: 'Names, or options by name.',
      anyOf: [
        name,
        { type: 'array', items: name },
        object(Object.fromEntries(nested.map((it) => [it.name, { anyOf: [{ type: 'boolean' }, options(it)] }]))),
      ],
    };
  };
  const options = (attribute: NestedAttribute): JsonSchema => {
    const targets = reachable(attribute);
    const [target] = targets;
    if (attribute.kind !== 'morph' && attribute.shape !== 'zone') return target ? ref('selection', target) : {};
    const on = targets.map((it) => [it.uid, { anyOf: [{ type: 'boolean' }, ref('selection', it)] }] as const);
    return {
      type: 'object',
      properties: { on: object(Object.fromEntries(on)), fields: {}, populate: {}, ...state },
    };
  };
  const selection = (type: EntryType): JsonSchema =>
    object({
      fields: namesOrList(['*', ...idNames(type), ...selectable(type)]),
      populate: ref('populate', type),
      filters: ref('filters', type),
      sort: sortSchema(sortable(type)),
      ...state,
    });

  const filters = (type: EntryType): JsonSchema => {
    const own = ref('filters', type);
    const byName = [
      ...idNames(type).map((it) => [it, conditions('integer')] as const),
      ...scalarsFor(type, 'filter').map((it) => [it.name, conditions(it.type)] as const),
      ...nestedFor(type, 'filter')
        .filter((it) => it.kind === 'link' || (it.kind === 'part' && it.shape !== 'zone'))
        .map(
          (it) =>
            [it.name, { anyOf: [...reachable(it).map((to) => ref('filters', to)), conditions('integer')] }] as const,
        ),
    ];
    return object({
      ...Object.fromEntries(byName),
      $and: listOf(own),
      $or: listOf(own),
      $not: own,
    });
  };

  // ---- bodies

  const writtenNested = (attribute: NestedAttribute): JsonSchema => {
    switch (attribute.kind) {
      case 'link':
        return writtenLink(attribute, format);
      case 'part': {
        const targets = reachable(attribute);
        const [target] = targets;
        if (attribute.shape !== 'zone') {
          const one = target ? { anyOf: [ref('new', target), ref('change', target)] } : {};
          return nullable(attribute.shape === 'one' ? one : listOf(one));
        }
        return nullable(
          listOf({
            anyOf: targets.map((it) => ({
              ...ref('change', it),
              properties: { __component: { const: it.uid } },
              required: ['__component'],
            })),
          }),
        );
      }
      case 'morph': {
        const known = { __type: { enum: reachable(attribute).map((it) => it.uid) } };
        const byKey = idKeys(format).map((it) => object({ [it]: reference, ...known }, [it, '__type']));
        const one = oneOf(byKey);
        if (attribute.shape === 'one') return nullable(one);
        return { anyOf: [listOf(one), { type: 'null' }, changes(one, one)] };
      }
      default:
        return never(attribute);
    }
  };

  const written = (type: EntryType): Record<string, JsonSchema> => {
    const attributes = allowed(type, 'write').filter((it) => !isOfServer(type, it));
    const byName = attributes.map(
      (it) => [it.name, it.kind === 'scalar' ? writtenScalar(it) : writtenNested(it)] as const,
    );
    return {
      ...(type.kind === 'component' ? { id: reference, __component: { const: type.uid } } : {}),
      ...Object.fromEntries(byName),
      ...(type.draftAndPublish ? { publishedAt } : {}),
      ...(type.localized ? { locale: { type: 'string' } } : {}),
    };
  };
  const required = (type: EntryType): readonly string[] =>
    allowed(type, 'write')
      .filter(isNeeded)
      .map((it) => it.name);

  const make = (kind: SchemaKind, type: EntryType): JsonSchema => {
    const id = { type: 'integer' };
    switch (kind) {
      case 'entry':
        if (!isFlat) return object({ id, attributes: object(shown(type, false)) }, ['id', 'attributes']);
        return object(
          {
            id,
            ...(hasDocumentId(type) ? { [DOCUMENT_ID]: digits } : {}),
            __type: { const: type.uid },
            ...shown(type, false),
          },
          idNames(type),
        );
      case 'component':
        return object({ id, __component: { const: type.uid }, ...shown(type, false) }, ['id']);
      case 'bare': {
        const key = type.kind === 'component' ? '__component' : '__type';
        return object({ id, [key]: { const: type.uid }, ...shown(type, true) }, ['id']);
      }
      case 'selection':
        return selection(type);
      case 'populate':
        return populate(type);
      case 'filters':
        return filters(type);
      case 'new': {
        const whole = object(written(type), required(type));
        if (!type.draftAndPublish || required(type).length === 0) return whole;
        const draft = object({ ...written(type), publishedAt: { type: 'null' } }, ['publishedAt']);
        return { description: 'A draft may be incomplete.', anyOf: [whole, draft] };
      }
      case 'change':
        return object(written(type));
      default:
        return never(kind);
    }
  };

  return {
    ref,
    format,
    idNames,
    sortable,
    selectable,
    all: () => {
      for (let next = pending.shift(); next; next = pending.shift()) made.set(next.name, make(next.kind, next.type));
      for (const family of families) made.set(conditionsName(family), conditionsOf(family));
      return Object.fromEntries([...made].sort(([a], [b]) => (a < b ? -1 : 1)));
    },
  };
};

// ---- schemas that need no model

/** An object with these members and no others. */
export const object = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[] = [],
): JsonSchema => ({
  type: 'object',
  properties,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
});
export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
export const nullable = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });

export const publicationState: JsonSchema = { enum: ['live', 'preview'] };
export const status: JsonSchema = { enum: ['published', 'draft'] };
const publishedAt: JsonSchema = {
  description: 'Null: a draft. Absent: published now.',
  type: ['string', 'null'],
  format: 'date-time',
};

export const namesOrList = (all: readonly string[]): JsonSchema => ({
  anyOf: [{ enum: all }, { type: 'array', items: { enum: all } }],
});

/** Names with a direction, paths through relations, or a list of both. */
export const sortSchema = (all: readonly string[]): JsonSchema => {
  const key = { type: 'string', pattern: `${pathPattern(all).slice(0, -1)}(?::(?:asc|desc|ASC|DESC))?$` };
  return { anyOf: [key, { type: 'array', items: key }, { type: 'object' }] };
};

/** A name, or a path that continues behind a dot. */
const pathPattern = (all: readonly string[]): string => `^(?:${all.join('|')}|[\\w-]+(?:\\.[\\w*-]+)+)$`;

const dateTime: JsonSchema = { type: 'string', format: 'date-time' };
const digits: JsonSchema = { type: 'string', pattern: '^-?\\d+$' };
const anyArray: JsonSchema = { type: 'array' };

/** Values as they are shown (F8). */
const shapes: Readonly<Record<ScalarTypeName, JsonSchema>> = {
  string: { type: 'string' },
  text: { type: 'string' },
  richtext: { type: 'string' },
  enumeration: { type: 'string' },
  email: { type: 'string', format: 'email' },
  password: { type: 'string', format: 'password' },
  uid: { type: 'string' },
  date: { type: 'string', format: 'date' },
  time: { type: 'string', pattern: '^\\d\\d:\\d\\d:\\d\\d\\.\\d{3}$' },
  datetime: dateTime,
  timestamp: digits,
  integer: { type: 'integer' },
  biginteger: digits,
  float: { type: 'number' },
  decimal: { type: 'number' },
  boolean: { type: 'boolean' },
  array: anyArray,
  json: {},
  blocks: anyArray,
};

/** Formats and patterns say how the server writes values; stored ones may be older than the schema file. */
const shownScalar = ({ type }: ScalarAttribute): JsonSchema => (type === 'json' ? {} : nullable(shapes[type]));

const writtenScalar = ({ type, rules }: ScalarAttribute): JsonSchema => {
  if (type === 'json') return {};
  const text = scalarTypes[type].family === 'text';
  const bounds = {
    ...(type === 'enumeration' ? { enum: rules.values } : {}),
    ...(text && rules.minLength !== null ? { minLength: rules.minLength } : {}),
    ...(text && rules.maxLength !== null ? { maxLength: rules.maxLength } : {}),
    ...(typeof rules.min === 'number' ? { minimum: rules.min } : {}),
    ...(typeof rules.max === 'number' ? { maximum: rules.max } : {}),
    ...(rules.regex === null ? {} : { pattern: rules.regex }),
    ...(rules.defaultValue === undefined ? {} : { default: rules.defaultValue }),
  };
  const loose = ['timestamp', 'biginteger', 'date', 'time', 'datetime'].includes(type);
  // numbers may come as digits and the other way round (BO5)
  const value = loose ? { type: ['string', 'number'] } : { ...shapes[type], ...bounds };
  return rules.required ? value : nullable(value);
};

const reference: JsonSchema = { type: ['integer', 'string'], pattern: '^\\d+$' };
const position: JsonSchema = {
  description: 'Where a connected entry goes; to the end without it.',
  oneOf: [
    object({ before: reference }, ['before']),
    object({ after: reference }, ['after']),
    object({ start: { const: true } }, ['start']),
    object({ end: { const: true } }, ['end']),
  ],
};

/** Where an object names an entry; v5's `documentId` may stand beside the id. */
const idKeys = (format: EntryFormat): readonly string[] => (format === 'v5' ? ['id', DOCUMENT_ID] : ['id']);
const oneOf = (schemas: readonly JsonSchema[]): JsonSchema => (schemas.length === 1 ? schemas[0]! : { anyOf: schemas });

const named = (format: EntryFormat, rest: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  anyOf: [
    reference,
    ...idKeys(format).map((it) => ({ type: 'object', properties: { [it]: reference, ...rest }, required: [it] })),
  ],
});

const changes = (connected: JsonSchema, listed: JsonSchema): JsonSchema => ({
  oneOf: [
    object({ set: nullable(listOf(listed)) }, ['set']),
    {
      ...object({ connect: listOf(connected), disconnect: listOf(listed) }),
      minProperties: 1,
    },
  ],
});

const writtenLink = ({ shape, source }: LinkAttribute, format: EntryFormat): JsonSchema => {
  const entry = named(format, {});
  const all = [entry, listOf(entry), { type: 'null' }];
  if (source === 'media') return { anyOf: [...all, object({ set: nullable(listOf(entry)) }, ['set'])] };
  return { anyOf: [...all, changes(shape === 'many' ? named(format, { position }) : entry, entry)] };
};

/** What a scalar may be compared with: the operators that apply to its type. */
const conditions = (type: ScalarTypeName): JsonSchema => ({
  $ref: `#/components/schemas/${conditionsName(scalarTypes[type].family)}`,
});

const families: readonly Family[] = ['text', 'ordered', 'boolean', 'json'];
const conditionsName = (family: Family): string => `${family[0]!.toUpperCase()}${family.slice(1)}Conditions`;

const conditionsOf = (family: Family): JsonSchema => {
  const value = { type: ['string', 'number', 'boolean'] };
  const applying = (Object.keys(operators) as OperatorName[]).filter((it) => operators[it].families.includes(family));
  const byOperator = Object.fromEntries(applying.map((it) => [it, operandOf(operators[it].takes, value)]));
  const own = { $ref: `#/components/schemas/${conditionsName(family)}` };
  return { anyOf: [value, listOf(value), object({ ...byOperator, $not: own })] };
};

const operandOf = (takes: 'one' | 'two' | 'list' | 'flag', value: JsonSchema): JsonSchema => {
  switch (takes) {
    case 'flag':
      return { type: ['boolean', 'string'] };
    case 'one':
      return { anyOf: [value, listOf(value)] };
    case 'list':
      return { anyOf: [value, { ...listOf(value), maxItems: limits.inListMax }] };
    case 'two':
      return { ...listOf(value), minItems: 2, maxItems: 2 };
    default:
      return never(takes);
  }
};
