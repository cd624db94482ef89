/**
 * The model as one JSON document, for programs that show it: types, attributes, and what the caller may do with each. Others
 * than `knowing` callers see no more of it than the OpenAPI document tells them (SU1).
 */
import type { AttributeDocument, ModelDocument, RelationDocument, TypeDocument, TypeRights } from 'dovetail-client';
import type { Caller } from '../access/access.js';
import { findAction } from '../access/actions.js';
import { never } from '../errors.js';
import { type ScalarRules, scalarTypes } from '../model/attributes.js';
import {
  type Attribute,
  type EntryType,
  FILE_UID,
  idAttribute,
  type LinkAttribute,
  type Model,
  ROLE_UID,
  type ScalarAttribute,
  targetsOf,
  type Uid,
  USER_UID,
} from '../model/model.js';
import { type OperatorName, operators } from '../query/operators.js';
import type { Gate } from '../query/selection.js';
import type { ColumnKind } from '../sql/dialect.js';
import { isOfServer } from './inputs.js';

export interface DocumentedModel extends Pick<ModelDocument, 'prefix' | 'rest' | 'strict' | 'locales'> {
  readonly version: string;
  readonly model: Model;
  readonly caller: Caller;
  readonly gate: Gate;
  /** Whether the caller sees all types and attributes, also those that are closed to them. */
  readonly knowing: boolean;
  /** The path of each type that has one. */
  readonly paths: ReadonlyMap<Uid, string>;
  /** The attributes that the database has stored as names of entries, see `main-fields.ts`. */
  readonly mainFields: ReadonlyMap<Uid, string>;
}

export const modelDocument = (given: DocumentedModel): ModelDocument => {
  const { version, prefix, rest, strict, locales, knowing, model } = given;
  const listed = listedTypes(given);
  return {
    version: knowing ? version : null,
    prefix,
    rest: { defaultLimit: rest.defaultLimit, maxLimit: rest.maxLimit, withCount: rest.withCount },
    strict,
    locales,
    types: [...model.types.values()]
      .filter((it) => listed.types.has(it))
      .map((it) => typeDocument(it, listed.written, given)),
  };
};

// ---- which types

/** The permissions of a type's actions; null for a type without any. */
const rightsOf = (type: EntryType, { caller }: Pick<DocumentedModel, 'caller'>): TypeRights => {
  const may = (action: string): boolean => caller.may(action);
  if (type.kind === 'component') return noRights;
  if (type.origin === 'project') {
    const own = (action: string): boolean => may(`${type.uid}.${action}`);
    const isSingle = type.kind === 'single';
    const update = own('update');
    return {
      find: own('find'),
      findOne: own(isSingle ? 'find' : 'findOne'),
      create: own(isSingle && !caller.rights ? 'update' : 'create'),
      update,
      delete: own('delete'),
      publish: type.draftAndPublish && (caller.rights ? caller.rights.rulesOf('publish', type.uid).length > 0 : update),
      createLocalization: type.localized && own('createLocalization'),
    };
  }
  const names = builtinActions[type.uid];
  if (!names) return noRights;
  const [find, findOne, create, update, remove] = names.map(may);
  return { ...noRights, find: !!find, findOne: !!findOne, create: !!create, update: !!update, delete: !!remove };
};

const noRights: TypeRights = {
  find: false,
  findOne: false,
  create: false,
  update: false,
  delete: false,
  publish: false,
  createLocalization: false,
};

/** To find, to find one, to create, to change and to delete. */
const builtinActions: Readonly<Record<Uid, readonly [string, string, string, string, string]>> = {
  [FILE_UID]: [
    'plugin::upload.content-api.find',
    'plugin::upload.content-api.findOne',
    'plugin::upload.content-api.upload',
    'plugin::upload.content-api.upload',
    'plugin::upload.content-api.destroy',
  ],
  [USER_UID]: [
    'plugin::users-permissions.user.find',
    'plugin::users-permissions.user.findOne',
    'plugin::users-permissions.user.create',
    'plugin::users-permissions.user.update',
    'plugin::users-permissions.user.destroy',
  ],
  [ROLE_UID]: [
    'plugin::users-permissions.role.find',
    'plugin::users-permissions.role.findOne',
    'plugin::users-permissions.role.createRole',
    'plugin::users-permissions.role.updateRole',
    'plugin::users-permissions.role.deleteRole',
  ],
};

const writeActions = ['create', 'update'] as const;
type WriteAction = (typeof writeActions)[number];

/** The types whose entries, or whose components inside of entries, an action writes. */
type Written = Readonly<Record<WriteAction, ReadonlySet<EntryType>>>;

interface Listed {
  readonly types: ReadonlySet<EntryType>;
  /** Those that the caller may write, and the components inside of them. */
  readonly written: Written;
}

/** What the caller may use, with everything that its attributes lead to; for knowing callers all that has content. */
const listedTypes = (given: DocumentedModel): Listed => {
  const { model, knowing } = given;
  const all = [...model.types.values()];
  const hasContent = ({ origin, uid }: EntryType): boolean =>
    origin === 'project' || Object.hasOwn(builtinActions, uid);
  const usable = all.filter(
    // endpoints of roles have forms of their own
    (it) => (knowing || it.uid !== ROLE_UID) && Object.values(rightsOf(it, given)).includes(true),
  );
  const writtenBy = (action: WriteAction): ReadonlySet<EntryType> =>
    reached(
      usable.filter((it) => rightsOf(it, given)[action]),
      model,
      (type, attribute) =>
        attribute.kind === 'part' && mayWriteBy(action, type, attribute, given) ? targetsOf(model, attribute) : [],
    );
  const written: Written = { create: writtenBy('create'), update: writtenBy('update') };
  const roots = [...(knowing ? all.filter(hasContent) : usable), ...written.create, ...written.update];
  const types = reached(roots, model, (type, attribute) => {
    if (attribute.kind === 'scalar') return [];
    const isOpen = mayRead(type, attribute, given) || mayWrite(type, attribute, written, given);
    // all else that it leads to is listed already, and the administration is for those who may see it
    if (!isOpen && !(knowing && attribute.kind === 'link' && !attribute.target.startsWith('admin::'))) return [];
    const targets = targetsOf(model, attribute);
    return attribute.kind === 'morph'
      ? targets.filter((it) => given.gate.reaches(model.types.get(it)!, attribute))
      : targets;
  });
  return { types, written };
};

const reached = (
  roots: readonly EntryType[],
  { types }: Model,
  targets: (type: EntryType, attribute: Attribute) => readonly Uid[],
): ReadonlySet<EntryType> => {
  const found = new Set(roots);
  // a set iterates over what is added meanwhile
  for (const type of found) {
    if (type.uid.startsWith('admin::')) continue;
    for (const attribute of type.attributes.values())
      for (const uid of targets(type, attribute)) {
        const target = types.get(uid);
        if (target) found.add(target);
      }
  }
  return found;
};

const mayRead = (type: EntryType, attribute: Attribute, { gate }: Pick<DocumentedModel, 'gate'>): boolean =>
  gate.allows(type, attribute, attribute.kind === 'scalar' ? 'select' : 'populate');

const mayWrite = (type: EntryType, attribute: Attribute, written: Written, given: DocumentedModel): boolean =>
  writeActions.some((it) => written[it].has(type) && mayWriteBy(it, type, attribute, given));

const mayWriteBy = (
  action: WriteAction,
  type: EntryType,
  attribute: Attribute,
  { gate }: Pick<DocumentedModel, 'gate'>,
): boolean =>
  !isOfServer(type, attribute) &&
  (writtenAttributes[type.uid]?.includes(attribute.name) ?? true) &&
  gate.allows(type, attribute, 'write') &&
  (gate.changes?.hasField(action, type, attribute) ?? true);

/** Of types whose endpoints take nothing else. */
const writtenAttributes: Readonly<Record<Uid, readonly string[]>> = {
  [FILE_UID]: ['name', 'alternativeText', 'caption', 'folder'],
  [ROLE_UID]: ['name', 'description'],
};

// ---- one type

const typeDocument = (type: EntryType, written: Written, given: DocumentedModel): TypeDocument => {
  const { knowing, paths } = given;
  const attributes = [...type.attributes.values()].flatMap((it): readonly AttributeDocument[] => {
    const mayBy = (action: WriteAction): boolean => written[action].has(type) && mayWriteBy(action, type, it, given);
    const [mayCreate, mayUpdate] = [mayBy('create'), mayBy('update')];
    const rights = { mayRead: mayRead(type, it, given), mayWrite: mayCreate || mayUpdate, mayCreate, mayUpdate };
    // openapi.json does not say what bodies of built-in types may hold
    const isTold = rights.mayRead || (rights.mayWrite && type.origin === 'project');
    return knowing || isTold ? [attributeDocument(type, it, rights, given)] : [];
  });
  return {
    uid: type.uid,
    kind: type.kind,
    origin: type.origin,
    displayName: knowing ? type.displayName : type.singular,
    description: knowing ? type.description : null,
    category: type.kind === 'component' ? (type.uid.split('.')[0] ?? null) : null,
    singular: type.singular,
    plural: type.plural,
    path: paths.get(type.uid) ?? null,
    draftAndPublish: type.draftAndPublish,
    localized: type.localized,
    mainField: mainFieldOf(type, attributes, given),
    may: rightsOf(type, given),
    attributes,
  };
};

/** Names that tell an entry from others, the best first. */
const tellingNames = ['title', 'name', 'label', 'headline', 'heading', 'username', 'subject', 'email', 'slug'];

const mainFieldOf = (
  { uid }: EntryType,
  attributes: readonly AttributeDocument[],
  { knowing, mainFields }: DocumentedModel,
): string | null => {
  const readable = attributes.filter((it) => it.kind === 'scalar' && it.mayRead);
  const stored = knowing ? mainFields.get(uid) : undefined;
  if (stored !== undefined && readable.some((it) => it.name === stored)) return stored;
  const texts = readable.filter((it) => it.family === 'text' && it.type !== 'richtext');
  const telling = tellingNames.find((name) => texts.some((it) => it.name === name));
  return telling ?? texts.find((it) => it.type === 'string' && it.name !== 'locale')?.name ?? null;
};

// ---- one attribute

const attributeDocument = (
  type: EntryType,
  attribute: Attribute,
  rights: Pick<AttributeDocument, 'mayRead' | 'mayWrite' | 'mayCreate' | 'mayUpdate'>,
  given: DocumentedModel,
): AttributeDocument => {
  const { knowing, gate } = given;
  const isTold = knowing || rights.mayWrite;
  const isFiltered = gate.allows(type, attribute, 'filter');
  const common = {
    ...none,
    name: attribute.name,
    private: attribute.hidden,
    localized: isTold && type.localized && !type.shared.has(attribute.name),
    ...rights,
    lockedBy: knowing ? permissionToOpen(type, attribute, rights.mayRead, given) : null,
  };
  const idOperators = isFiltered ? operatorsFor(idAttribute) : [];
  switch (attribute.kind) {
    case 'scalar':
      return {
        ...common,
        kind: 'scalar',
        type: attribute.type,
        family: families[scalarTypes[attribute.type].column],
        customField: isTold ? attribute.customField : null,
        ...(isTold ? rulesShown(attribute.rules) : {}),
        operators: isFiltered ? operatorsFor(attribute) : [],
        sortable: gate.allows(type, attribute, 'sort'),
      };
    case 'link': {
      const { source, shape, allowedTypes, required } = attribute;
      const link = { ...common, required: isTold && required, operators: idOperators };
      if (source !== 'media')
        return { ...link, kind: 'relation', type: 'relation', relation: relationOf(attribute, isTold, given) };
      const types = isTold && allowedTypes.length > 0 ? allowedTypes : null;
      return { ...link, kind: 'media', type: 'media', media: { multiple: shape === 'many', allowedTypes: types } };
    }
    case 'part': {
      const { shape, components, required } = attribute;
      const [min, max] = isTold ? [attribute.min, attribute.max] : [null, null];
      const part = { ...common, required: isTold && required };
      if (shape === 'zone') return { ...part, kind: 'zone', type: 'dynamiczone', zone: { components, min, max } };
      const component = { uid: components[0] ?? '', repeatable: shape === 'many', min, max };
      return { ...part, kind: 'component', type: 'component', component, operators: idOperators };
    }
    case 'morph': {
      const { shape, required } = attribute;
      const kind = isTold ? (shape === 'one' ? 'morphToOne' : 'morphToMany') : null;
      const list = shape === 'many';
      return {
        ...common,
        kind: 'morph',
        type: 'relation',
        required: isTold && required,
        relation: { kind, target: null, inverse: null, list, ordered: list && isTold },
      };
    }
    default:
      return never(attribute);
  }
};

const none = {
  family: null,
  customField: null,
  required: false,
  unique: false,
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
} as const;

const rulesShown = (rules: ScalarRules) => ({
  required: rules.required,
  unique: rules.unique,
  default: rules.defaultValue ?? null,
  min: rules.min,
  max: rules.max,
  minLength: rules.minLength,
  maxLength: rules.maxLength,
  regex: rules.regex,
  enum: rules.values.length > 0 ? rules.values : null,
  targetField: rules.targetField,
});

const relationOf = (
  { relation, target, inverse, shape, source, path }: LinkAttribute,
  isTold: boolean,
  { model, gate, knowing }: DocumentedModel,
): RelationDocument => {
  const other = model.types.get(target);
  const opposite = inverse === null ? undefined : other?.attributes.get(inverse);
  const isKnown =
    knowing || (other !== undefined && opposite !== undefined && gate.allows(other, opposite, 'populate'));
  const list = shape === 'many';
  const kind = source === 'morph' ? (list ? 'morphMany' : 'morphOne') : relation;
  return {
    kind: isTold ? kind : null,
    target,
    inverse: isKnown ? inverse : null,
    list,
    ordered: isTold && list && path.rank !== null,
  };
};

/** Relations are closed while their target is. */
const permissionToOpen = (
  type: EntryType,
  attribute: Attribute,
  isOpen: boolean,
  { caller }: DocumentedModel,
): string | null => {
  if (
    isOpen ||
    attribute.hidden ||
    attribute.kind !== 'link' ||
    attribute.source === 'creator' ||
    attribute.source === 'media'
  )
    return null;
  // responses never list the users of a role (AC16)
  if (type.uid === ROLE_UID && attribute.target === USER_UID) return null;
  const action = findAction(attribute.target);
  return caller.may(action) ? null : action;
};

const operatorsFor = ({ type }: ScalarAttribute): readonly OperatorName[] => {
  const { family } = scalarTypes[type];
  return (Object.keys(operators) as OperatorName[]).filter((it) => operators[it].families.includes(family));
};

/** What values are to whoever shows or enters them. */
type ValueFamily = NonNullable<AttributeDocument['family']>;

const families: Readonly<Record<ColumnKind, ValueFamily>> = {
  id: 'number',
  reference: 'number',
  rank: 'number',
  string: 'text',
  text: 'text',
  integer: 'number',
  bigint: 'number',
  float: 'number',
  decimal: 'number',
  boolean: 'boolean',
  date: 'date',
  time: 'time',
  datetime: 'instant',
  json: 'json',
  jsonText: 'json',
};
