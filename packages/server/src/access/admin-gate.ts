/** The `Gate` of an administrator: fields, locales and conditions of their permissions (AD9 to AD13). */
import { isSecretType } from '../model/attributes.js';
import {
  ADMIN_UID,
  type Attribute,
  type EntryType,
  FILE_UID,
  FOLDER_UID,
  type Model,
  type MorphAttribute,
  ROLE_UID,
  systemScalar,
  typeOf,
  type Uid,
  USER_UID,
} from '../model/model.js';
import { columnName, joinColumn } from '../model/storage.js';
import { isSystemAttribute } from '../model/system.js';
import type { ChangeGate, Filter, Gate, Use } from '../query/selection.js';
import { type EntryAction, mayDo, type Rights, type Rule, rulesFor } from './rights.js';

export const newAdminGate = (rights: Rights, version: string, model: Model): Gate => {
  const bounds = boundsByRights.get(rights) ?? newBounds(rights, model);
  boundsByRights.set(rights, bounds);
  const reaches = (uid: Uid): boolean => {
    if (uid === FILE_UID) return true;
    // the secrets of the administration are nowhere in content
    if (uid.startsWith('admin::'))
      return uid === ADMIN_UID && (rights.isSuperAdmin || rights.rulesOfAction('admin::users.read').length > 0);
    return model.types.has(uid) && mayDo(rights, `${uid}.find`, model);
  };
  const allows = (type: EntryType, attribute: Attribute, use: Use): boolean => {
    if (isNeverShown(type, attribute) && use !== 'write') return false;
    if (attribute.kind === 'link' && attribute.source === 'creator') return use !== 'write';
    // responses never list the users of a role, for any caller (AC16)
    if (type.uid === ROLE_UID && attribute.kind === 'link' && attribute.target === USER_UID && use === 'populate')
      return false;
    // other than media, files of a folder come with no entry: they are those of the library (AD11)
    if (type.uid === FOLDER_UID && attribute.kind === 'link' && attribute.target === FILE_UID)
      return bounds.entries(typeOf(model, FILE_UID), 'root') === null;
    if (use !== 'write' && !bounds.hasField('read', type, attribute)) return false;
    return attribute.kind !== 'link' || reaches(attribute.target);
  };
  return {
    version,
    allows,
    reaches: (type, by) => reaches(type.uid) && (by === undefined || bounds.showsBy(by, type)),
    ...(rights.isSuperAdmin ? {} : { entries: bounds.entries, changes: bounds.changes }),
  };
};

const boundsByRights = new WeakMap<Rights, ReturnType<typeof newBounds>>();

/** Of administrators, wherever they are shown: who they are, and nothing that lets them sign in. */
const adminNames: ReadonlySet<string> = new Set(['firstname', 'lastname', 'username']);
/** Private attributes of users that would let somebody sign in as them. */
const userSecrets: ReadonlySet<string> = new Set(['resetPasswordToken', 'confirmationToken']);

const isNeverShown = (type: EntryType, attribute: Attribute): boolean => {
  if (attribute.kind === 'scalar' && isSecretType(attribute.type)) return true;
  if (type.uid === USER_UID) return userSecrets.has(attribute.name);
  return type.uid.startsWith('admin::') && !(type.uid === ADMIN_UID && adminNames.has(attribute.name));
};

/** Which entries and fields the permissions for one action on one type cover together. */
interface Bounds {
  /** Null for all. */
  readonly fields: ReadonlySet<string> | null;
  /** An entry is covered if one of them covers it; null: all are. */
  readonly rules: readonly Rule[] | null;
}

const isUnbounded = ({ locales, isOwn }: Rule): boolean => locales === null && !isOwn;

/**
 * Permissions for all entries count alone, if there is one. Of others, which cover different entries, only the fields that all of
 * them have are certain (AD11).
 */
const boundsOf = (rules: readonly Rule[]): Bounds => {
  const unbounded = rules.filter(isUnbounded);
  if (unbounded.length > 0) return { fields: union(unbounded), rules: null };
  const alike = new Map<string, Rule[]>();
  for (const it of rules) {
    const key = JSON.stringify([it.isOwn, it.locales && [...it.locales].sort()]);
    alike.set(key, [...(alike.get(key) ?? []), it]);
  }
  return { fields: intersection([...alike.values()].map(union)), rules };
};

type Fields = ReadonlySet<string> | null;

const union = (rules: readonly Rule[]): Fields => {
  const names = new Set<string>();
  for (const { fields } of rules) {
    if (fields === null) return null;
    for (const name of fields) names.add(name);
  }
  return names;
};

const intersection = (all: readonly Fields[]): Fields => {
  const bounded = all.filter((it) => it !== null);
  if (all.length > 0 && bounded.length === 0) return null;
  const names = new Set(bounded.flatMap((it) => [...it]));
  return new Set([...names].filter((name) => bounded.every((it) => hasName(it, name))));
};

/** Whether a name, dotted if it is one in components, is among the fields: `seo` has `seo.metaTitle`, not the other way round. */
export const hasName = (fields: ReadonlySet<string>, name: string): boolean => {
  const steps = name.split('.');
  return steps.some((_step, i) => fields.has(steps.slice(0, i + 1).join('.')));
};

/** Whether a name, or one of the names in it, is among the fields. */
const touches = (fields: ReadonlySet<string>, name: string): boolean =>
  hasName(fields, name) || [...fields].some((it) => it.startsWith(`${name}.`));

/** Where a content type holds a component of which its permissions name only some attributes. */
interface DividedPlace {
  /** Of the content type, as its permissions name them. */
  readonly fields: ReadonlySet<string>;
  /** The dotted name of the attribute that holds the component. */
  readonly path: string;
}

const newBounds = (rights: Rights, model: Model) => {
  const known = new Map<string, Bounds>();
  const boundsFor = (action: EntryAction, uid: Uid): Bounds => {
    const key = `${action} ${uid}`;
    const found = known.get(key) ?? boundsOf(rulesFor(rights, action, uid));
    known.set(key, found);
    return found;
  };

  const divided = new Map<EntryAction, ReadonlyMap<Uid, readonly DividedPlace[]>>();
  const dividedBy = (action: EntryAction): ReadonlyMap<Uid, readonly DividedPlace[]> => {
    const known = divided.get(action);
    if (known) return known;
    const found = new Map<Uid, DividedPlace[]>();
    for (const owner of model.types.values()) {
      const { fields } = boundsFor(action, owner.uid);
      if (owner.kind === 'component' || fields === null || rulesFor(rights, action, owner.uid).length === 0) continue;
      for (const [path, uid] of dividedPlaces(owner, fields, model))
        found.set(uid, [...(found.get(uid) ?? []), { fields, path }]);
    }
    divided.set(action, found);
    return found;
  };

  /** A type whose entries have permissions of their own. */
  const isGoverned = ({ uid, origin, kind }: EntryType): boolean =>
    kind !== 'component' && (origin === 'project' || uid === USER_UID || uid === FILE_UID);

  /** A component may be in thousands of places, and a query ask for it in each. */
  const knownFields = new Map<string, boolean>();
  const hasField = (action: 'read' | 'create' | 'update', type: EntryType, attribute: Attribute): boolean => {
    if (rights.isSuperAdmin) return true;
    const key = `${action} ${type.uid} ${attribute.name}`;
    const found = knownFields.get(key) ?? findField(action, type, attribute);
    knownFields.set(key, found);
    return found;
  };

  const findField = (action: 'read' | 'create' | 'update', type: EntryType, { name }: Attribute): boolean => {
    if (type.kind === 'component')
      // one component type has one set of fields: those that it has in all of its places (AD10)
      return (dividedBy(action).get(type.uid) ?? []).every(({ fields, path }) => touches(fields, `${path}.${name}`));
    // media show what they are wherever they are shown (AC5)
    if (!isGoverned(type) || type.uid === FILE_UID || isSystemAttribute(type, name)) return true;
    const { fields } = boundsFor(action, type.uid);
    return fields === null || touches(fields, name);
  };

  const entries = (type: EntryType, place: 'root' | 'nested'): Filter | null => {
    // media come with the entry that shows them (AC5)
    if (!isGoverned(type) || (type.uid === FILE_UID && place === 'nested')) return null;
    const { rules } = boundsFor('read', type.uid);
    return rules && { kind: 'or', members: rules.map((it) => filterOf(it, rights.adminId)) };
  };

  const changes: ChangeGate = {
    hasField,
    covers: (action, { uid }, { creatorId, locale }) => {
      const { rules } = boundsFor(action, uid);
      if (rules === null) return true;
      return rules.some(
        (it) =>
          (!it.isOwn || creatorId === rights.adminId) &&
          (it.locales === null || (locale !== null && it.locales.has(locale))),
      );
    },
  };
  /** Permissions name no fields of files: what they lead back to is bounded by the media that lead to them (AD10). */
  const showsBy = (attribute: MorphAttribute, target: EntryType): boolean =>
    typeOf(model, FILE_UID).attributes.get(attribute.name) !== attribute ||
    [...target.attributes.values()].every((it) => !isSourceOf(attribute, it) || hasField('read', target, it));
  return { hasField, entries, changes, showsBy };
};

/** Whether the attribute shows the same links from the other side. */
const isSourceOf = ({ path }: MorphAttribute, it: Attribute): boolean =>
  it.kind === 'link' && it.path.table === path.table;

const createdBy = systemScalar('createdBy', 'integer', joinColumn('createdBy'));
const locale = systemScalar('locale', 'string', columnName('locale'));

const filterOf = ({ isOwn, locales }: Rule, adminId: number): Filter => {
  const members: Filter[] = [];
  if (isOwn)
    members.push({ kind: 'compare', attribute: createdBy, operator: '$eq', values: [adminId], blanks: [null] });
  if (locales) {
    const codes = [...locales].sort();
    members.push({ kind: 'compare', attribute: locale, operator: '$in', values: codes, blanks: codes.map(() => null) });
  }
  return { kind: 'and', members };
};

/** By their paths. Below a zone, and inside of components of the same type, v4's permissions name no fields. */
const dividedPlaces = (owner: EntryType, fields: ReadonlySet<string>, model: Model): ReadonlyMap<string, Uid> => {
  const places = new Map<string, Uid>();
  for (const field of fields) {
    const steps = field.split('.');
    const inside = new Set<Uid>();
    let type = owner;
    for (let depth = 1; depth < steps.length; depth++) {
      const path = steps.slice(0, depth).join('.');
      const attribute = type.attributes.get(steps[depth - 1]!);
      if (fields.has(path) || attribute?.kind !== 'part' || attribute.shape === 'zone') break;
      const [uid] = attribute.components;
      if (uid === undefined || inside.has(uid)) break;
      inside.add(uid);
      places.set(path, uid);
      type = typeOf(model, uid);
    }
  }
  return places;
};
