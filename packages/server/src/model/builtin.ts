/**
 * The types that every v4 project has besides its own (ST6), written as schema files. A project changes
 * one by a file of its own in `src/extensions/<plugin>/content-types/<name>/schema.json`.
 */

import type { Uid } from './model.js';
import type { JsonObject } from './schema.js';

const text = { type: 'string' } as const;
const hiddenText = { type: 'string', private: true } as const;
const yesNo = { type: 'boolean' } as const;
const toOne = (target: Uid, inversedBy?: string) =>
  ({ type: 'relation', relation: 'manyToOne', target, ...(inversedBy ? { inversedBy } : {}) }) as const;
const children = (target: Uid, mappedBy: string) =>
  ({ type: 'relation', relation: 'oneToMany', target, mappedBy }) as const;

const schema = (table: string, singularName: string, pluralName: string, attributes: JsonObject): JsonObject => ({
  kind: 'collectionType',
  collectionName: table,
  info: { singularName, pluralName, displayName: singularName },
  options: {},
  attributes,
});

const tokenAttributes = {
  name: text,
  description: text,
  accessKey: { type: 'string', private: true },
  lastUsedAt: { type: 'datetime' },
  expiresAt: { type: 'datetime' },
  lifespan: { type: 'biginteger' },
} as const;

export const builtinSchemas: ReadonlyMap<Uid, JsonObject> = new Map<Uid, JsonObject>([
  [
    'admin::permission',
    schema('admin_permissions', 'permission', 'permissions', {
      action: text,
      actionParameters: { type: 'json' },
      subject: text,
      properties: { type: 'json' },
      conditions: { type: 'json' },
      role: toOne('admin::role', 'permissions'),
    }),
  ],
  [
    'admin::user',
    schema('admin_users', 'user', 'users', {
      firstname: text,
      lastname: text,
      username: hiddenText,
      email: { type: 'email', private: true },
      password: { type: 'password', private: true },
      resetPasswordToken: hiddenText,
      registrationToken: hiddenText,
      isActive: { type: 'boolean', private: true },
      roles: { type: 'relation', relation: 'manyToMany', target: 'admin::role', inversedBy: 'users', private: true },
      blocked: { type: 'boolean', private: true },
      preferedLanguage: hiddenText,
    }),
  ],
  [
    'admin::role',
    schema('admin_roles', 'role', 'roles', {
      name: text,
      code: text,
      description: text,
      users: { type: 'relation', relation: 'manyToMany', target: 'admin::user', mappedBy: 'roles', private: true },
      permissions: children('admin::permission', 'role'),
    }),
  ],
  [
    'admin::api-token',
    schema('strapi_api_tokens', 'api-token', 'api-tokens', {
      ...tokenAttributes,
      type: text,
      permissions: children('admin::api-token-permission', 'token'),
    }),
  ],
  [
    'admin::api-token-permission',
    schema('strapi_api_token_permissions', 'api-token-permission', 'api-token-permissions', {
      action: text,
      token: toOne('admin::api-token', 'permissions'),
    }),
  ],
  [
    'admin::transfer-token',
    schema('strapi_transfer_tokens', 'transfer-token', 'transfer-tokens', {
      ...tokenAttributes,
      permissions: children('admin::transfer-token-permission', 'token'),
    }),
  ],
  [
    'admin::transfer-token-permission',
    schema('strapi_transfer_token_permissions', 'transfer-token-permission', 'transfer-token-permissions', {
      action: text,
      token: toOne('admin::transfer-token', 'permissions'),
    }),
  ],
  [
    'plugin::upload.file',
    schema('files', 'file', 'files', {
      name: text,
      alternativeText: text,
      caption: text,
      width: { type: 'integer' },
      height: { type: 'integer' },
      formats: { type: 'json' },
      hash: text,
      ext: text,
      mime: text,
      size: { type: 'decimal' },
      url: text,
      previewUrl: text,
      provider: text,
      provider_metadata: { type: 'json' },
      related: { type: 'relation', relation: 'morphToMany' },
      folder: { ...toOne('plugin::upload.folder', 'files'), private: true },
      folderPath: hiddenText,
    }),
  ],
  [
    'plugin::upload.folder',
    schema('upload_folders', 'folder', 'folders', {
      name: text,
      pathId: { type: 'integer' },
      parent: toOne('plugin::upload.folder', 'children'),
      children: children('plugin::upload.folder', 'parent'),
      files: children('plugin::upload.file', 'folder'),
      path: text,
    }),
  ],
  [
    'plugin::users-permissions.permission',
    schema('up_permissions', 'permission', 'permissions', {
      action: text,
      role: toOne('plugin::users-permissions.role', 'permissions'),
    }),
  ],
  [
    'plugin::users-permissions.role',
    schema('up_roles', 'role', 'roles', {
      name: { type: 'string', required: true, minLength: 3 },
      description: text,
      type: { type: 'string', unique: true },
      permissions: children('plugin::users-permissions.permission', 'role'),
      users: children('plugin::users-permissions.user', 'role'),
    }),
  ],
  [
    'plugin::users-permissions.user',
    schema('up_users', 'user', 'users', {
      username: { type: 'string', required: true, unique: true, minLength: 3 },
      email: { type: 'email', required: true, minLength: 6 },
      provider: text,
      password: { type: 'password', private: true, minLength: 6 },
      resetPasswordToken: hiddenText,
      confirmationToken: hiddenText,
      confirmed: { ...yesNo, default: false },
      blocked: { ...yesNo, default: false },
      role: toOne('plugin::users-permissions.role', 'users'),
    }),
  ],
  [
    'plugin::i18n.locale',
    schema('i18n_locale', 'locale', 'locales', { name: text, code: { type: 'string', unique: true } }),
  ],
  [
    'plugin::content-releases.release',
    schema('strapi_releases', 'release', 'releases', {
      name: text,
      releasedAt: { type: 'datetime' },
      scheduledAt: { type: 'datetime' },
      timezone: text,
      status: text,
      actions: children('plugin::content-releases.release-action', 'release'),
    }),
  ],
  [
    'plugin::content-releases.release-action',
    schema('strapi_release_actions', 'release-action', 'release-actions', {
      type: text,
      entry: { type: 'relation', relation: 'morphToOne' },
      contentType: text,
      locale: text,
      release: toOne('plugin::content-releases.release', 'actions'),
      isEntryValid: yesNo,
    }),
  ],
]);
