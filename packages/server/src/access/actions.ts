/** Every action that a permission can name: those of v4's controllers, so that v4 finds no unknown ones (ST11). */
import { type EntryType, FILE_UID, type Model, type Uid } from '../model/model.js';
import type { Action } from './permissions.js';

/** The actions of each plugin controller, by `<plugin>.<controller>`. */
const pluginActions: Readonly<Record<string, readonly string[]>> = {
  'plugin::users-permissions.auth': [
    'callback',
    'changePassword',
    'resetPassword',
    'connect',
    'forgotPassword',
    'register',
    'emailConfirmation',
    'sendEmailConfirmation',
  ],
  'plugin::users-permissions.user': ['create', 'update', 'find', 'findOne', 'count', 'destroy', 'me'],
  'plugin::users-permissions.role': ['createRole', 'findOne', 'find', 'updateRole', 'deleteRole'],
  'plugin::users-permissions.permissions': ['getPermissions'],
  'plugin::upload.content-api': ['find', 'findOne', 'destroy', 'upload'],
  'plugin::i18n.locales': ['listLocales'],
  'plugin::content-type-builder.components': ['getComponents', 'getComponent'],
  'plugin::content-type-builder.content-types': ['getContentTypes', 'getContentType'],
  'plugin::email.email': ['send'],
};

const contentActions = ({ kind, localized }: EntryType): readonly string[] => [
  ...(kind === 'single' ? ['find', 'update', 'delete'] : ['find', 'findOne', 'create', 'update', 'delete']),
  ...(localized ? ['createLocalization'] : []),
];

/**
 * All actions: those of the project, its content types first, then those of plugins.
 * @param own those that routes of its code name; some may be of the model.
 */
export const actionsOf = (model: Pick<Model, 'types'>, own: readonly Action[] = []): readonly Action[] => {
  const content = [...model.types.values()]
    .filter((type) => type.origin === 'project' && type.kind !== 'component')
    .flatMap((type) => contentActions(type).map((name) => `${type.uid}.${name}`));
  const plugins = Object.entries(pluginActions).flatMap(([controller, names]) =>
    names.map((name) => `${controller}.${name}`),
  );
  const ofPlugins = own.filter((it) => it.startsWith('plugin::'));
  return [...new Set([...content, ...own.filter((it) => !ofPlugins.includes(it)), ...plugins, ...ofPlugins])];
};

/** What shows entries of a type, also through relations (AC5). */
export const findAction = (uid: Uid): Action => (uid === FILE_UID ? 'plugin::upload.content-api.find' : `${uid}.find`);

/** Actions that change rights. They need their permission even if permissions are switched off. */
const guarded: ReadonlySet<Action> = new Set([
  'plugin::users-permissions.user.create',
  'plugin::users-permissions.user.update',
  'plugin::users-permissions.user.destroy',
  'plugin::users-permissions.role.createRole',
  'plugin::users-permissions.role.updateRole',
  'plugin::users-permissions.role.deleteRole',
]);
export const isGuarded = (action: Action): boolean => guarded.has(action);

/** Actions of a read-only token: `find` and `findOne`, not names that merely end with them (AC17). */
export const isReading = (action: Action): boolean => /\.(find|findOne)$/.test(action);
