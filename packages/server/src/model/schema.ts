/**
 * Parses the attributes of schema files. What v4 rejects is a fault; what v4 tolerates is read as v4 reads it, with a
 * warning. Parsing continues after both, so that all messages about a file are reported at once.
 */
import { never, orNearest } from '../errors.js';
import { isEnumerated, isScalarTypeName, type ScalarRules, type ScalarTypeName, scalarTypes } from './attributes.js';
import { type CustomFields, knownCustomFields } from './custom-fields.js';
import type { RelationKind, Uid } from './model.js';
import type { FileNotes } from './notes.js';

// ---- what an attribute may be declared as

interface Declaration {
  /** What nobody can write is not required. */
  readonly required: boolean;
  readonly writable: boolean;
  /** What the file says; null: nothing. */
  readonly private: boolean | null;
  /** Whether entries have a value of their own in each locale. */
  readonly localized: boolean;
}
export interface DeclaredScalar extends Declaration {
  readonly kind: 'scalar';
  readonly type: ScalarTypeName;
  readonly searchable: boolean;
  readonly customField: string | null;
  readonly rules: ScalarRules;
}
export interface DeclaredRelation extends Declaration {
  readonly kind: 'relation';
  readonly relation: RelationKind;
  readonly target: Uid;
  readonly inversedBy: string | null;
  readonly mappedBy: string | null;
  readonly useJoinTable: boolean;
}
/** `morphToOne`, `morphToMany`: links to entries of any type. */
export interface DeclaredMorph extends Declaration {
  readonly kind: 'morph';
  readonly shape: 'one' | 'many';
}
/** `morphOne`, `morphMany`: the links that such an attribute of the target has to entries of this type. */
export interface DeclaredMorphInverse extends Declaration {
  readonly kind: 'morphInverse';
  readonly shape: 'one' | 'many';
  readonly target: Uid;
  readonly morphBy: string;
}
export interface DeclaredMedia extends Declaration {
  readonly kind: 'media';
  readonly multiple: boolean;
  readonly allowedTypes: readonly string[];
}
export interface DeclaredComponent extends Declaration {
  readonly kind: 'component';
  readonly component: Uid;
  readonly repeatable: boolean;
  readonly min: number | null;
  readonly max: number | null;
}
export interface DeclaredZone extends Declaration {
  readonly kind: 'zone';
  readonly components: readonly Uid[];
  readonly min: number | null;
  readonly max: number | null;
}
/** An attribute as its schema file declares it. */
export type DeclaredAttribute =
  | DeclaredScalar
  | DeclaredRelation
  | DeclaredMorph
  | DeclaredMorphInverse
  | DeclaredMedia
  | DeclaredComponent
  | DeclaredZone;

const relations = ['oneToOne', 'oneToMany', 'manyToOne', 'manyToMany'] as const satisfies RelationKind[];
const morphs = ['morphToOne', 'morphToMany', 'morphOne', 'morphMany'] as const;
const mediaTypes: readonly string[] = ['images', 'videos', 'files', 'audios'];
/** Attribute keys that v4 or its plugins read, or that the content-type builder writes. */
const attributeKeys: readonly string[] = [
  ...['type', 'required', 'private', 'unique', 'default', 'configurable', 'writable', 'visible', 'editable'],
  ...['searchable', 'sortable', 'pluginOptions', 'options', 'config', 'description', 'customField', 'conditions'],
  ...['min', 'max', 'minLength', 'maxLength', 'regex', 'enum', 'enumName', 'targetField', 'encryption'],
  ...['column', 'columnName', 'columnType', 'relation', 'target', 'inversedBy', 'mappedBy', 'morphBy', 'morphColumn'],
  ...['useJoinTable', 'joinTable', 'joinColumn', 'owner', 'autoPopulate', 'multiple', 'allowedTypes'],
  ...['component', 'components', 'repeatable'],
];
const attributeTypes = [...Object.keys(scalarTypes), 'relation', 'media', 'component', 'dynamiczone', 'customField'];

const memberOf = <T extends string>(known: readonly T[], value: unknown): T | undefined =>
  known.find((it) => it === value);

// ---- keys of a JSON object

export type JsonObject = Readonly<Record<string, unknown>>;
export const isJsonObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** A value for a message; a module may export what is not JSON. */
const describe = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'function') return 'a function';
  return isJsonObject(value) ? 'an object' : JSON.stringify(value);
};

/** One object of a schema file, read key by key; an invalid value is reported and replaced by a harmless one. */
export const newKeys = (given: JsonObject, place: string, notes: FileNotes) => {
  const at = (key: string): string => (place === '' ? key : `${place}.${key}`);

  /** A required string; null after a fault. */
  const string = (key: string): string | null => {
    const value = given[key];
    if (typeof value === 'string' && value !== '') return value;
    const fault = value === undefined ? 'is missing' : value === '' ? 'must not be empty' : mustBe('a string', value);
    notes.fault(at(key), fault);
    return null;
  };
  const optionalString = (key: string): string | null => (given[key] == null ? null : string(key));

  /** v4 tests most flags for truthiness, and some for exactly true. */
  const flag = (key: string, trueIs: 'truthy' | 'exactly true' = 'truthy'): boolean => {
    const value = given[key];
    const result = trueIs === 'truthy' ? Boolean(value) : value === true;
    if (value != null && typeof value !== 'boolean')
      notes.warn(at(key), `must be true or false, not ${describe(value)}; treated as ${result}, as in v4`);
    return result;
  };

  /** A non-negative integer, or null: v4 ignores everything else. */
  const count = (key: string): number | null => {
    const value = given[key];
    if (value == null) return null;
    if (Number.isInteger(value) && Number(value) >= 0) return Number(value);
    notes.warn(at(key), `must be a non-negative integer, not ${describe(value)}; it has no effect`);
    return null;
  };

  /** A list of strings; anything else in it is a fault. */
  const strings = (key: string): readonly string[] | null => {
    const value = given[key];
    if (!Array.isArray(value)) {
      notes.fault(at(key), value === undefined ? 'is missing' : mustBe('an array', value));
      return null;
    }
    return value.filter((it: unknown, i): it is string => {
      const isRight = typeof it === 'string';
      if (!isRight) notes.fault(`${at(key)}.${i}`, mustBe('a string', it));
      return isRight;
    });
  };
  const optionalStrings = (key: string): readonly string[] => (given[key] == null ? [] : (strings(key) ?? []));

  /** v4 ignores unknown keys. With `others: 'plugins'`, plugins may add keys, so only near misses are reported. */
  const noteUnknown = (known: readonly string[], others: 'nobody' | 'plugins' = 'nobody'): void => {
    for (const key of Object.keys(given)) {
      if (known.includes(key)) continue;
      const near = orNearest(key, known);
      if (near !== '' || others === 'nobody') notes.warn(at(key), `is not a known key and has no effect${near}`);
    }
  };

  return { given, at, string, optionalString, flag, count, strings, optionalStrings, noteUnknown, notes };
};
type Keys = ReturnType<typeof newKeys>;

export const mustBe = (what: string, value: unknown): string => `must be ${what}, not ${describe(value)}`;

// ---- attributes

/** Null after a fault that makes the attribute unusable. @param customFields those of the project's configuration. */
export const readAttribute = (
  value: unknown,
  place: string,
  customFields: CustomFields,
  notes: FileNotes,
): DeclaredAttribute | null => {
  if (!isJsonObject(value)) {
    notes.fault(place, mustBe('an object', value));
    return null;
  }
  const keys = newKeys(value, place, notes);
  keys.noteUnknown(attributeKeys);
  const isWritable = value['writable'] !== false;
  const declaration = {
    required: keys.flag('required') && isWritable,
    writable: isWritable,
    private: value['private'] == null ? null : keys.flag('private'),
    localized: readLocalized(value, place, notes),
  };
  switch (value['type']) {
    case 'relation':
      return readRelation(keys, declaration);
    case 'media':
      return readMedia(keys, declaration);
    case 'component':
      return readComponent(keys, declaration);
    case 'dynamiczone': {
      const components = keys.strings('components');
      return components && { ...declaration, kind: 'zone', components, ...readCounts(keys) };
    }
    case 'customField': {
      const type = readCustomField(keys, customFields);
      return type && { ...readScalar(type, keys, declaration), customField: keys.optionalString('customField') };
    }
    default: {
      const { type } = value;
      if (typeof type === 'string' && isScalarTypeName(type)) return readScalar(type, keys, declaration);
      notes.fault(keys.at('type'), unknownTypeMessage(type));
      return null;
    }
  }
};

/** `pluginOptions.i18n.localized` of a type or an attribute. */
export const readLocalized = (json: JsonObject, place: string, notes: FileNotes): boolean => {
  const { pluginOptions } = json;
  const i18n = isJsonObject(pluginOptions) ? pluginOptions['i18n'] : undefined;
  const at = `${place === '' ? '' : `${place}.`}pluginOptions.i18n`;
  const keys = newKeys(isJsonObject(i18n) ? i18n : {}, at, notes);
  keys.noteUnknown(['localized'], 'plugins');
  return keys.flag('localized', 'exactly true');
};

const unknownTypeMessage = (type: unknown): string => {
  const known = `expected one of ${attributeTypes.join(', ')}`;
  if (type === undefined) return `is missing; ${known}`;
  return `${describe(type)} is not an attribute type${orNearest(String(type), attributeTypes)}; ${known}`;
};

/** The type that a custom field is stored and served as. */
const readCustomField = (keys: Keys, customFields: CustomFields): ScalarTypeName | null => {
  const name = keys.string('customField');
  if (name === null) return null;
  const all = { ...knownCustomFields, ...customFields };
  const type = Object.hasOwn(all, name) ? all[name] : undefined;
  if (type !== undefined) return type;
  keys.notes.fault(
    keys.at('customField'),
    `"${name}" is not a known custom field${orNearest(name, Object.keys(all))}; add the type that it is registered with (strapi.customFields.register, in its plugin or in src/index) to the configuration: for a text, customFields: { ${JSON.stringify(name)}: "string" }`,
  );
  return null;
};

const readRelation = (
  keys: Keys,
  declaration: Declaration,
): DeclaredRelation | DeclaredMorph | DeclaredMorphInverse | null => {
  const text = keys.string('relation');
  const morph = memberOf(morphs, text);
  if (morph) return readMorph(morph, keys, declaration);
  const relation = memberOf(relations, text);
  if (text !== null && !relation) {
    const known = [...relations, ...morphs];
    const message = `"${text}" is not a relation type${orNearest(text, known)}; expected one of ${known.join(', ')}`;
    keys.notes.fault(keys.at('relation'), message);
  }
  const target = keys.string('target');
  const inversedBy = keys.optionalString('inversedBy');
  const mappedBy = keys.optionalString('mappedBy');
  if (!relation || target === null) return null;
  const useJoinTable = keys.given['useJoinTable'] !== false;
  return { ...declaration, kind: 'relation', relation, target, inversedBy, mappedBy, useJoinTable };
};

const readMorph = (
  relation: (typeof morphs)[number],
  keys: Keys,
  declaration: Declaration,
): DeclaredMorph | DeclaredMorphInverse | null => {
  switch (relation) {
    case 'morphToOne':
      return { ...declaration, kind: 'morph', shape: 'one' };
    case 'morphToMany':
      return { ...declaration, kind: 'morph', shape: 'many' };
    case 'morphOne':
    case 'morphMany': {
      const target = keys.string('target');
      const morphBy = keys.string('morphBy');
      const shape = relation === 'morphOne' ? 'one' : 'many';
      return target === null || morphBy === null
        ? null
        : { ...declaration, kind: 'morphInverse', shape, target, morphBy };
    }
    default:
      return never(relation);
  }
};

const readMedia = (keys: Keys, declaration: Declaration): DeclaredMedia => {
  const allowedTypes = keys.optionalStrings('allowedTypes');
  for (const [i, type] of allowedTypes.entries()) {
    if (!mediaTypes.includes(type))
      keys.notes.warn(
        `${keys.at('allowedTypes')}.${i}`,
        `"${type}" is not a file type${orNearest(type, mediaTypes)}; expected one of ${mediaTypes.join(', ')}`,
      );
  }
  return { ...declaration, kind: 'media', multiple: keys.flag('multiple'), allowedTypes };
};

const readComponent = (keys: Keys, declaration: Declaration): DeclaredComponent | null => {
  const component = keys.string('component');
  const repeatable = keys.flag('repeatable', 'exactly true');
  return component === null ? null : { ...declaration, kind: 'component', component, repeatable, ...readCounts(keys) };
};

const readCounts = (keys: Keys) => ({ min: keys.count('min'), max: keys.count('max') });

const readScalar = (type: ScalarTypeName, keys: Keys, declaration: Declaration): DeclaredScalar => {
  const { required, writable } = declaration;
  return {
    ...declaration,
    kind: 'scalar',
    type,
    searchable: keys.given['searchable'] !== false,
    customField: null,
    rules: {
      required,
      unique: keys.flag('unique'),
      writable,
      frozen: false,
      min: readBound('min', type, keys),
      max: readBound('max', type, keys),
      minLength: keys.count('minLength'),
      maxLength: keys.count('maxLength'),
      regex: readRegex(keys),
      values: isEnumerated(type) ? (keys.strings('enum') ?? []) : [],
      defaultValue: keys.given['default'],
      targetField: keys.optionalString('targetField'),
      hashRounds: readHashRounds(keys),
    },
  };
};

/** Bounds apply to numbers only; v4 ignores them on other types, and texts except where a number would lose digits. */
const readBound = (key: 'min' | 'max', type: ScalarTypeName, keys: Keys): number | string | null => {
  const value = keys.given[key];
  if (value == null || !scalarTypes[type].numeric) return null;
  const isBound =
    (typeof value === 'number' || typeof value === 'string') && scalarTypes[type].parseText(String(value), []).ok;
  if (isBound && (typeof value === 'number' || scalarTypes[type].bodyType !== 'number')) return value;
  const cure = isBound ? `, as in v4: write the number ${Number(value)} without quotes` : '';
  keys.notes.warn(keys.at(key), `${describe(value)} is not a valid bound for type ${type}; it has no effect${cure}`);
  return null;
};

const readRegex = (keys: Keys): string | null => {
  const regex = keys.optionalString('regex');
  if (regex === null || isRegex(regex)) return regex;
  keys.notes.warn(keys.at('regex'), `${describe(regex)} is not a regular expression; it has no effect`);
  return null;
};

const isRegex = (text: string): boolean => {
  try {
    new RegExp(text);
    return true;
  } catch {
    return false;
  }
};

/** bcrypt's cost; v4's default is 10 (ST2). */
const readHashRounds = (keys: Keys): number => {
  const encryption = keys.given['encryption'];
  const rounds = isJsonObject(encryption) ? encryption['rounds'] : undefined;
  if (rounds === undefined) return 10;
  if (Number.isInteger(rounds) && Number(rounds) >= 4 && Number(rounds) <= 31) return Number(rounds);
  keys.notes.fault(`${keys.at('encryption')}.rounds`, `must be an integer from 4 to 31, not ${describe(rounds)}`);
  return 10;
};
