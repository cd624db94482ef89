/**
 * What an administrator may do, as v4 stores it: permissions of their roles, each for one action on one type, bounded by fields,
 * locales and conditions (AD8 to AD13). Pure.
 */
import { FILE_UID, type Model, type Uid, USER_UID } from '../model/model.js';
import type { Action } from './permissions.js';

/** What is done to entries of a type. `publish` is changing whether they are published. */
export type EntryAction = 'create' | 'read' | 'update' | 'delete' | 'publish';

/** One permission. Those of the same action and type add up. */
export interface Rule {
  /** Names of attributes, and dotted names of those in components; null for all. */
  readonly fields: ReadonlySet<string> | null;
  /** Null for all. */
  readonly locales: ReadonlySet<string> | null;
  /** Whether it concerns only entries that the administrator created. */
  readonly isOwn: boolean;
}

/** A permission as it is stored, with its JSON parsed. */
export interface StoredPermission {
  readonly action: string;
  readonly subject: string | null;
  readonly fields: readonly string[] | null;
  /** Undefined if it says nothing of locales. */
  readonly locales: readonly string[] | null | undefined;
  readonly conditions: readonly string[];
}

export interface AdminRole {
  readonly id: number;
  readonly name: string;
  readonly code: string;
  readonly permissions: readonly StoredPermission[];
}

export const SUPER_ADMIN = 'strapi-super-admin';
/** The only condition of v4 that can be met here; another one grants nothing. */
const IS_CREATOR = 'admin::is-creator';

export interface Rights {
  readonly adminId: number;
  readonly isSuperAdmin: boolean;
  /** The permissions for an action on entries of a type; none: it is forbidden. Those of a super admin are unbounded. */
  rulesOf(action: EntryAction, uid: Uid): readonly Rule[];
  /** Those for an action that concerns no type, such as `admin::api-tokens.read`. */
  rulesOfAction(action: string): readonly Rule[];
  /** Whether rights depend on who the administrator is, not only on the roles. */
  readonly isPersonal: boolean;
}

const everything: readonly Rule[] = [{ fields: null, locales: null, isOwn: false }];
const nothing: readonly Rule[] = [];

const explorer = 'plugin::content-manager.explorer.';

export const rightsOf = (adminId: number, roles: readonly AdminRole[], model: Model): Rights => {
  if (roles.some((it) => it.code === SUPER_ADMIN))
    return {
      adminId,
      isSuperAdmin: true,
      isPersonal: false,
      rulesOf: () => everything,
      rulesOfAction: () => everything,
    };
  const rules = new Map<string, Rule[]>();
  for (const it of roles.flatMap((role) => role.permissions)) {
    const rule = ruleOf(it, model);
    if (!rule) continue;
    const key = keyOf(it.action, it.subject);
    const known = rules.get(key);
    if (known) known.push(rule);
    else rules.set(key, [rule]);
  }
  return {
    adminId,
    isSuperAdmin: false,
    isPersonal: [...rules.values()].some((own) => own.some((it) => it.isOwn)),
    rulesOf: (action, uid) => rules.get(keyOf(explorer + action, uid)) ?? nothing,
    rulesOfAction: (action) => rules.get(keyOf(action, null)) ?? nothing,
  };
};

const keyOf = (action: string, subject: string | null): string => `${action} ${subject ?? ''}`;

/** Null if it grants nothing: a condition cannot be met, or a localized type without a word of locales, as in v4. */
const ruleOf = ({ subject, fields, locales, conditions }: StoredPermission, model: Model): Rule | null => {
  if (conditions.some((it) => it !== IS_CREATOR)) return null;
  const isLocalized = subject !== null && model.types.get(subject)?.localized === true;
  if (isLocalized && locales === undefined) return null;
  return {
    fields: fields && new Set(fields),
    locales: isLocalized && locales ? new Set(locales) : null,
    isOwn: conditions.length > 0,
  };
};

// ---- actions of the content API

/** The rule of v4's administration that opens an action of the content API. */
type Opening =
  | { readonly kind: 'entries'; readonly action: EntryAction; readonly uid: Uid }
  | { readonly kind: 'action'; readonly action: string }
  | { readonly kind: 'everybody' }
  | { readonly kind: 'super admins' };

const entryActions: Readonly<Record<string, EntryAction>> = {
  find: 'read',
  findOne: 'read',
  create: 'create',
  createLocalization: 'create',
  update: 'update',
  delete: 'delete',
};

const users = (action: EntryAction): Opening => ({ kind: 'entries', action, uid: USER_UID });
const plugin = (action: string): Opening => ({ kind: 'action', action: `plugin::${action}` });

const openings: Readonly<Record<Action, Opening>> = {
  'plugin::users-permissions.user.find': users('read'),
  'plugin::users-permissions.user.findOne': users('read'),
  'plugin::users-permissions.user.count': users('read'),
  'plugin::users-permissions.user.create': users('create'),
  'plugin::users-permissions.user.update': users('update'),
  'plugin::users-permissions.user.destroy': users('delete'),
  'plugin::users-permissions.role.find': plugin('users-permissions.roles.read'),
  'plugin::users-permissions.role.findOne': plugin('users-permissions.roles.read'),
  'plugin::users-permissions.role.createRole': plugin('users-permissions.roles.create'),
  'plugin::users-permissions.role.updateRole': plugin('users-permissions.roles.update'),
  'plugin::users-permissions.role.deleteRole': plugin('users-permissions.roles.delete'),
  'plugin::users-permissions.permissions.getPermissions': plugin('users-permissions.roles.read'),
  'plugin::upload.content-api.find': plugin('upload.read'),
  'plugin::upload.content-api.findOne': plugin('upload.read'),
  'plugin::upload.content-api.upload': plugin('upload.assets.create'),
  'plugin::upload.content-api.destroy': plugin('upload.assets.update'),
  'plugin::upload.folder.find': plugin('upload.read'),
  'plugin::i18n.locales.listLocales': { kind: 'everybody' },
};

const openingOf = (action: Action, model: Model): Opening => {
  const known = Object.hasOwn(openings, action) ? openings[action] : undefined;
  if (known) return known;
  const dot = action.lastIndexOf('.');
  const [uid, name] = [action.slice(0, dot), action.slice(dot + 1)];
  const entry = Object.hasOwn(entryActions, name) ? entryActions[name] : undefined;
  // relations to users and their roles ask for `find` of the type itself
  return entry && model.types.has(uid)
    ? { kind: 'entries', action: entry, uid }
    : // what code of the project adds is known to no permission of v4's administration
      { kind: 'super admins' };
};

/** Whether the rights open an action of the content API. Logging in is for users. */
export const mayDo = (rights: Rights, action: Action, model: Model): boolean => {
  if (action.startsWith('plugin::users-permissions.auth.') || action === 'plugin::users-permissions.user.me')
    return false;
  const opening = openingOf(action, model);
  switch (opening.kind) {
    case 'entries':
      return rights.rulesOf(opening.action, opening.uid).length > 0;
    case 'action':
      return rights.rulesOfAction(opening.action).length > 0;
    case 'everybody':
      return true;
    case 'super admins':
      return rights.isSuperAdmin;
  }
};

/** The rules for entries of a type, where files have rules of their own. */
export const rulesFor = (rights: Rights, action: EntryAction, uid: Uid): readonly Rule[] => {
  if (uid !== FILE_UID) return rights.rulesOf(action, uid);
  switch (action) {
    case 'read':
      return rights.rulesOfAction('plugin::upload.read');
    case 'create':
      return rights.rulesOfAction('plugin::upload.assets.create');
    case 'update':
    case 'delete':
      return rights.rulesOfAction('plugin::upload.assets.update');
    case 'publish':
      return nothing;
  }
};
