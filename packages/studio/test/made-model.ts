/** Models for tests, written as short as schema files. */
import type { Attribute, Model, Type } from '../src/model/model.js';

type Given = Partial<Attribute>;

const kindOf = (type: string | undefined): Attribute['kind'] => {
  switch (type) {
    case 'relation':
    case 'media':
    case 'component':
      return type;
    case 'dynamiczone':
      return 'zone';
    default:
      return 'scalar';
  }
};

/** A string, unless it is said what else. */
export const attribute = (name: string, given: Given = {}): Attribute => ({
  name,
  kind: kindOf(given.type),
  type: 'string',
  family: given.type === undefined || given.type === 'string' ? 'text' : null,
  customField: null,
  required: false,
  unique: false,
  private: false,
  localized: false,
  default: null,
  min: null,
  max: null,
  minLength: null,
  maxLength: null,
  regex: null,
  enum: null,
  targetField: null,
  relation: null,
  media: null,
  component: null,
  zone: null,
  operators: [],
  sortable: false,
  mayRead: true,
  mayWrite: true,
  mayCreate: true,
  mayUpdate: true,
  lockedBy: null,
  ...given,
});

export const component = (uid: string, repeatable = false): Given => ({
  type: 'component',
  component: { uid, repeatable, min: null, max: null },
});
export const zone = (...components: readonly string[]): Given => ({
  type: 'dynamiczone',
  zone: { components, min: null, max: null },
});
export const media = (multiple = false): Given => ({ type: 'media', media: { multiple, allowedTypes: null } });
export const relation = (target: string, list: boolean): Given => ({
  type: 'relation',
  relation: { kind: list ? 'manyToMany' : 'manyToOne', target, inverse: null, list, ordered: list },
});

export const type = (
  uid: string,
  attributes: Readonly<Record<string, Given>> | readonly Attribute[],
  given: Partial<Type> = {},
): Type => {
  const singular = uid.split('.').at(-1) ?? uid;
  const isComponent = !uid.startsWith('api::');
  const made = isList(attributes) ? attributes : Object.entries(attributes).map(([name, it]) => attribute(name, it));
  return {
    uid,
    kind: isComponent ? 'component' : 'collection',
    origin: 'project',
    displayName: singular,
    description: null,
    category: isComponent ? (uid.split('.')[0] ?? null) : null,
    singular,
    plural: `${singular}s`,
    path: isComponent ? null : `/api/${singular}s`,
    draftAndPublish: false,
    localized: false,
    mainField: made.find((it) => it.type === 'string')?.name ?? null,
    may: {
      find: true,
      findOne: true,
      create: true,
      update: true,
      delete: true,
      publish: true,
      createLocalization: true,
    },
    attributes: made,
    ...given,
  };
};

const isList = (given: object): given is readonly Attribute[] => Array.isArray(given);

/** One of the project, whose name begins with a capital for people. */
export const contentType = (singular: string, attributes: readonly Attribute[], given: Partial<Type> = {}): Type =>
  type(`api::${singular}.${singular}`, attributes, {
    displayName: `${singular.charAt(0).toUpperCase()}${singular.slice(1)}`,
    mainField: null,
    ...given,
  });

export const modelOf = (types: readonly Type[], given: Partial<Model> = {}): Model => ({
  ...model(...types),
  ...given,
});

export const model = (...types: readonly Type[]): Model => ({
  version: '0.0.0',
  prefix: '/api',
  rest: { defaultLimit: 25, maxLimit: 100, withCount: true },
  strict: true,
  locales: [{ code: 'en', name: 'English', isDefault: true }],
  types,
});
