/** What code finds of v4's plugins and services that are not here: calls have no effect, or an error names what is missing. */
import once from 'lodash/once.js';
import type { CodeConfig } from '../loading/config.js';
import { isMembers, type Members } from '../loading/parts.js';
import { missed } from '../strapi-utils/guards.js';
import { anyOf, missing } from '../strapi-utils/missing.js';

/** A service or controller of v4 that can be wrapped and replaced. Its own members throw when they are called. */
export const standIn = (name: string): Members =>
  anyOf({}, (key) => () => {
    throw missing(`${name}.${key}`);
  });

/** Services of v4's plugins that the server does without. */
export const absentServices: Readonly<Record<string, readonly string[]>> = {
  'users-permissions': ['permission', 'providers', 'providers-registry'],
  upload: ['api-upload-folder', 'file', 'folder', 'image-manipulation', 'metrics', 'provider', 'weeklyMetrics'],
  i18n: [
    ...['content-types', 'core-api', 'entity-service-decorator', 'iso-locales', 'localizations', 'metrics'],
    'permissions',
  ],
};

/** What v4's services have besides, by plugin and service, where the server stands for a part of them; `admin` is the panel. */
export const absentMethods = {
  'users-permissions.role': ['deleteRole'],
  'users-permissions.users-permissions': ['getActions', 'getRoutes', 'initialize', 'syncPermissions', 'updateUserRole'],
  'upload.upload': [
    ...['add', 'replace', 'update', 'enhanceFile', 'uploadImage', 'emitEvent'],
    ...['getSettings', 'setSettings', 'getConfiguration', 'setConfiguration'],
  ],
  'i18n.locales': ['update', 'delete', 'setIsDefault', 'initDefaultLocale', 'deleteAllLocalizedEntriesFor'],
  'admin.api-token': [
    ...['checkSaltIsDefined', 'getBy', 'getById', 'getByName', 'hash', 'list', 'regenerate', 'revoke', 'update'],
  ],
  'admin.auth': ['checkCredentials', 'forgotPassword', 'resetPassword'],
  'admin.permission': [
    ...['cleanPermissionsInDatabase', 'createMany', 'createPermissionsManager', 'deleteByIds', 'deleteByRolesIds'],
    ...['findMany', 'findUserPermissions', 'sanitizePermission'],
  ],
  'admin.role': [
    ...[
      'addPermissions',
      'assignPermissions',
      'checkRolesIdForDeletion',
      'create',
      'createRolesIfNoneExist',
      'deleteByIds',
    ],
    ...[
      'displayWarningIfNoSuperAdmin',
      'findAllWithUsersCount',
      'findOneWithUsersCount',
      'getSuperAdminWithUsersCount',
    ],
    ...['getUsersCount', 'hasSuperAdminRole', 'resetSuperAdminPermissions', 'sanitizeRole', 'update'],
  ],
  'admin.user': [
    ...['assignARoleToAll', 'countUsersWithoutRole', 'deleteById', 'deleteByIds', 'displayWarningIfUsersDontHaveRole'],
    ...['findPage', 'findRegistrationInfo', 'getLanguagesInUse', 'register', 'resetPasswordByEmail', 'sanitizeUser'],
    'updateById',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Controllers of v4's plugins that the admin panel alone calls. */
export const absentControllers: Readonly<Record<string, readonly string[]>> = {
  'users-permissions': ['contentmanageruser', 'settings'],
  upload: ['admin-file', 'admin-folder', 'admin-folder-file', 'admin-settings', 'admin-upload'],
  i18n: ['content-types', 'iso-locales'],
  email: ['email'],
};

const uidsOf = (owner: 'admin::' | 'plugin::content-manager.', names: readonly string[]): readonly string[] =>
  names.map((it) => owner + it);

/** The uids of controllers and policies of v4's admin panel itself. */
export const ofPanel = {
  controllers: [
    ...uidsOf('admin::', [
      ...['admin', 'api-token', 'authenticated-user', 'authentication', 'content-api', 'permission', 'role'],
      ...['transfer', 'user', 'webhooks'],
    ]),
    ...uidsOf('plugin::content-manager.', [
      ...['collection-types', 'components', 'content-types', 'init', 'relations', 'single-types', 'uid'],
    ]),
  ],
  policies: [
    ...uidsOf('admin::', ['hasPermissions', 'isAuthenticatedAdmin', 'isTelemetryEnabled']),
    ...uidsOf('plugin::content-manager.', ['has-draft-and-publish', 'hasPermissions']),
  ],
} as const;

/** Plugins that every v4 has, besides those that the server stands for. */
export const ofCore: readonly string[] = ['content-type-builder'];

/** Plugins that are not here, and of which calls do no harm. */
export const harmless: readonly string[] = ['graphql', 'sentry'];

export interface AbsentDeps {
  readonly config: CodeConfig;
  /** Names of plugins that dependencies of the project bring. */
  readonly installed: ReadonlySet<string>;
  /** Those that the server stands for. */
  readonly served: readonly string[];
  readonly warn: (text: string) => void;
  /** What code sends to Sentry. */
  readonly onFault: (fault: unknown) => void;
}

/** A plugin that v4 would have and this server has not. */
export interface AbsentPlugin {
  /** What `strapi.plugin(name)` gives. */
  readonly shown: Members;
  /** Null if calls of it have no effect. */
  readonly why: string | null;
}

/** Those that v4 would have, or may, by name. Others stay undefined. */
export const absentPlugins = ({
  config,
  installed,
  served,
  warn,
  onFault,
}: AbsentDeps): ReadonlyMap<string, AbsentPlugin> => {
  const settings = config.get('plugins');
  const configured: Members = isMembers(settings) ? settings : {};
  const isOff = (name: string): boolean => {
    const given = configured[name];
    return given === false || (isMembers(given) && given['enabled'] === false);
  };
  const isLocal = (name: string): boolean => {
    const given = configured[name];
    return isMembers(given) && typeof given['resolve'] === 'string';
  };
  // those of config/plugins, too: a package that is not installed does not tell the name of its plugin
  const names = [...installed, ...Object.keys(configured), ...ofCore];
  const standing = (name: string): AbsentPlugin => {
    if (name === 'graphql') return { shown: graphql(config, warn), why: null };
    if (name === 'sentry') return { shown: sentry(config, onFault), why: null };
    const why = ofCore.includes(name)
      ? 'this plugin of v4 is not here: see docs/project-code.md#what-does-not-run'
      : noPlugins(isLocal(name) ? 'of the project' : 'from npm');
    return { shown: refusing(name, why), why };
  };
  return new Map(
    names.filter((it) => !served.includes(it) && !isOff(it)).map((name) => [name, standing(name)] as const),
  );
};

const noPlugins = (whose: 'of the project' | 'from npm'): string =>
  `plugins ${whose} do not run here; code that is needed of them may move to src/api or src/extensions`;

const refusing = (name: string, why: string): Members =>
  anyOf({}, (key) => {
    throw missed(new Error(`strapi.plugin('${name}').${key}: ${why}`));
  });

/** As without a DSN, but for the log. */
const sentry = (config: CodeConfig, onFault: AbsentDeps['onFault']): Members => {
  const service = { init: () => service, getInstance: () => null, sendError: (fault: unknown) => onFault(fault) };
  return anyOf(
    {
      config: (path: string, otherwise?: unknown): unknown => config.get(`plugin.sentry.${path}`, otherwise),
      services: { sentry: service },
      service: (name: string) => (name === 'sentry' ? service : undefined),
    },
    (key) => {
      throw missed(new Error(`strapi.plugin('sentry').${key}: ${noPlugins('from npm')}`));
    },
  );
};

/** Takes all that code says to GraphQL's extension service: `use`, `shadowCRUD(uid).disable()`. */
const graphql = (config: CodeConfig, warn: (text: string) => void): Members => {
  const warnOnce = once(() => warn('GraphQL is not served; extensions of it have no effect'));
  const noEffect = (): unknown => {
    warnOnce();
    return anything;
  };
  const anything: unknown = new Proxy(noEffect, {
    get: (_target, key) => (typeof key === 'symbol' || key === 'then' || key === 'toJSON' ? undefined : anything),
    apply: noEffect,
  });
  const settingAt = (path: string, otherwise?: unknown): unknown => config.get(`plugin.graphql.${path}`, otherwise);
  return anyOf({ config: settingAt }, () => anything);
};
