/**
 * Content types and components as v4's code sees them, in events and by `strapi.contentType`: all that their schema files say,
 * with what the server adds. Code cannot change them: the model would not notice.
 */
import camelCase from 'lodash/camelCase.js';
import isEqual from 'lodash/isEqual.js';
import upperFirst from 'lodash/upperFirst.js';
import { builtinSchemas } from '../model/builtin.js';
import type { Attribute, EntryType, Model, Uid } from '../model/model.js';
import { systemAttributes } from '../model/system.js';
import { CodeFault } from './loading/load.js';
import { isMembers, type Members, type SchemaFile } from './loading/parts.js';
import { ineffective } from './strapi-utils/guards.js';

export interface Descriptions {
  /** Undefined if there is no such type. What code changes of it throws. */
  of(uid: Uid): Members | undefined;
  /** Those of the wanted types, by uid. */
  all(wanted: (type: EntryType) => boolean): Members;
  /** Those of a plugin by their names, each with itself as `schema`. */
  ofPlugin(plugin: string): Members;
  /** One that may be changed. */
  copyOf(uid: Uid): Members | undefined;
  /** Takes what an extension says of a type that no model reads. */
  say(uid: Uid, said: Members): void;
}

/** @param model as it is in force: with what it hides. */
export const newDescriptions = (model: Model, files: ReadonlyMap<Uid, SchemaFile>): Descriptions => {
  const known = new Map<Uid, Members>();
  const saidOf = new Map<Uid, Members>();
  const refuse = (what: string, uid: Uid, cure = cureFor(uid, files)): never => {
    throw ineffective(
      new CodeFault(`${what} is changed by code, and content types are not changed by code here: ${cure}`),
    );
  };
  const copyOf = (uid: Uid): Members | undefined => {
    const type = model.types.get(uid);
    return type && describeType(type, files.get(uid)?.schema ?? builtinSchemas.get(uid) ?? {});
  };
  const of = (uid: Uid): Members | undefined => {
    const made = known.get(uid) ?? copyOf(uid);
    if (!made || known.has(uid)) return made;
    const said = structuredClone(saidOf.get(uid));
    const described = readOnly(Object.assign(made, said), (place) =>
      refuse(`${place} of ${uid}`, uid, place === 'lifecycles' ? subscribing(uid) : undefined),
    );
    known.set(uid, described);
    return described;
  };
  const all = (wanted: (type: EntryType) => boolean): Members => {
    const found = [...model.types.values()].filter(wanted).map(({ uid }) => [uid, of(uid)] as const);
    return unchanged(Object.fromEntries(found), (uid) => refuse(uid, uid));
  };
  const ofPlugin = (plugin: string): Members => {
    const prefix = `plugin::${plugin}.`;
    const found = Object.entries(all(({ uid }) => uid.startsWith(prefix))).map(([uid, it]) => {
      const both = { ...(it as Members), schema: it };
      return [uid.slice(prefix.length), unchanged(both, (place) => refuse(`${place} of ${uid}`, uid))] as const;
    });
    return unchanged(Object.fromEntries(found), (name) => refuse(prefix + name, prefix + name));
  };
  const say = (uid: Uid, said: Members): void => {
    saidOf.set(uid, said);
    known.delete(uid);
  };
  return { of, all, ofPlugin, copyOf, say };
};

const subscribing = (uid: Uid): string =>
  `give its hooks to strapi.db.lifecycles.subscribe({ models: ['${uid}'], … }) instead`;

const cureFor = (uid: Uid, files: ReadonlyMap<Uid, SchemaFile>): string => {
  const own = files.get(uid)?.file;
  if (own !== undefined) return `do that in ${own}`;
  const [, plugin, name] = /^plugin::([^.]+)\.(.+)$/.exec(uid) ?? [];
  return plugin === undefined
    ? 'schema files say what types there are'
    : `write the whole schema, with that, into src/extensions/${plugin}/content-types/${name}/schema.json`;
};

// ---- reading only

type Refuse = (place: string) => never;

/** Throws for changes of anything in it, in sloppy mode too, where a frozen object would swallow them. */
const readOnly = <T extends object>(value: T, refuse: Refuse, place = ''): T => {
  const at = (key: string): string => (place === '' ? key : `${place}.${key}`);
  const members = value as Record<string, unknown>;
  for (const [key, it] of Object.entries(members))
    if (it !== null && typeof it === 'object') members[key] = readOnly(it, refuse, at(key));
  return unchanged(value, (key) => refuse(at(key)));
};

const unchanged = <T extends object>(value: T, refuse: Refuse): T =>
  new Proxy(value, {
    // saying what is so already changes nothing
    set: (target, key, given) => isEqual(Reflect.get(target, key), given) || refuse(String(key)),
    defineProperty: (_target, key) => refuse(String(key)),
    deleteProperty: (target, key) => !(key in target) || refuse(String(key)),
  });

// ---- describing

const describeType = (type: EntryType, schema: Members): Members => {
  const { uid, kind, singular, plural, table, draftAndPublish } = type;
  const file = structuredClone(schema);
  const isComponent = kind === 'component';
  const info = { singularName: singular, pluralName: plural, displayName: type.displayName };
  const described = {
    ...file,
    uid,
    modelName: singular,
    modelType: isComponent ? 'component' : 'contentType',
    singularName: singular,
    pluralName: plural,
    tableName: table,
    collectionName: table,
    connection: 'default',
    globalId: typeof file['globalId'] === 'string' ? file['globalId'] : globalIdOf(type),
    ...ownerOf(type),
    ...(isComponent ? {} : { kind: kind === 'single' ? 'singleType' : 'collectionType' }),
    info: isComponent
      ? { displayName: type.displayName, ...partOf(file, 'info') }
      : { ...info, ...partOf(file, 'info') },
    options: { ...partOf(file, 'options'), ...(isComponent ? {} : { draftAndPublish }) },
    pluginOptions: partOf(file, 'pluginOptions'),
    attributes: describeAttributes(type, partOf(file, 'attributes')),
    __schema__: structuredClone(schema),
  };
  const hidden = [...type.attributes.values()].filter((it) => it.hidden).map(({ name }) => name);
  return Object.defineProperty(described, 'privateAttributes', { value: hidden });
};

const partOf = (file: Members, name: string): Members => {
  const part = file[name];
  return isMembers(part) ? part : {};
};

/** Whose it is: an API, a plugin, or a category of components. */
const ownerOf = ({ uid, kind }: EntryType): Members => {
  if (kind === 'component') return { category: uid.slice(0, uid.indexOf('.')) };
  const [, namespace, owner] = /^(api|plugin|admin)::(?:([^.]+)\.)?/.exec(uid) ?? [];
  return namespace === 'api' ? { apiName: owner } : { plugin: owner ?? namespace };
};

const globalIdOf = ({ uid, kind, singular }: EntryType): string => {
  const [, owner] = /^(?:plugin::([^.]+)\.|(?=admin::))/.exec(uid) ?? [null];
  const prefix = kind === 'component' ? 'component' : uid.startsWith('admin::') ? 'admin' : owner;
  const name = kind === 'component' ? uid : singular;
  return upperFirst(camelCase(prefix === undefined || prefix === null ? name : `${prefix}-${name}`));
};

const describeAttributes = (type: EntryType, declared: Members): Members => {
  const added = new Set(systemAttributes(type).map(({ name }) => name));
  return Object.fromEntries(
    [...type.attributes.values()].map((attribute) => {
      const { name } = attribute;
      const file = declared[name];
      const described = added.has(name)
        ? describeAdded(attribute, type)
        : { ...describeAttribute(attribute), ...(isMembers(file) ? file : {}), ...storedAs(attribute) };
      return [name, { ...described, ...(isPrivate(attribute, type) ? { private: true } : {}) }];
    }),
  );
};

/** Links to who has written an entry are private unless the type shows them. */
const isPrivate = (attribute: Attribute, { populateCreatorFields }: EntryType): boolean =>
  attribute.kind === 'link' && attribute.source === 'creator' ? !populateCreatorFields : attribute.hidden;

/** The type behind a custom field. */
const storedAs = (attribute: Attribute): Members =>
  attribute.kind === 'scalar' && attribute.customField !== null ? { type: attribute.type } : {};

const unseen = { configurable: false, visible: false };

/** What v4 adds to a content type, in its words. */
const describeAdded = (attribute: Attribute, { uid }: EntryType): Members => {
  switch (attribute.name) {
    case 'createdBy':
    case 'updatedBy':
      return {
        type: 'relation',
        relation: 'oneToOne',
        target: 'admin::user',
        ...unseen,
        writable: false,
        useJoinTable: false,
      };
    case 'localizations':
      return { type: 'relation', relation: 'oneToMany', target: uid, ...unseen, writable: true, private: false };
    case 'locale':
      return { type: 'string', ...unseen, writable: true, private: false };
    case 'publishedAt':
      return { type: 'datetime', ...unseen, writable: true };
    default:
      return describeAttribute(attribute);
  }
};

const describeAttribute = (attribute: Attribute): Members => {
  switch (attribute.kind) {
    case 'scalar':
      return {
        type: attribute.type,
        ...(attribute.rules.values.length > 0 ? { enum: attribute.rules.values } : {}),
        ...(attribute.rules.required ? { required: true } : {}),
        ...(attribute.rules.unique ? { unique: true } : {}),
      };
    case 'link':
      return attribute.source === 'media'
        ? { type: 'media', multiple: attribute.shape === 'many' }
        : { type: 'relation', relation: attribute.relation, target: attribute.target };
    case 'part':
      return attribute.shape === 'zone'
        ? { type: 'dynamiczone', components: attribute.components }
        : { type: 'component', repeatable: attribute.shape === 'many', component: attribute.components[0] };
    case 'morph':
      return { type: 'relation', relation: attribute.shape === 'one' ? 'morphToOne' : 'morphToMany' };
  }
};
