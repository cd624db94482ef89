/** What code finds of v4's plugins and services that are not here: calls have no effect, or an error names what is missing. */
import once from 'lodash/once.js';
import type { CodeConfig } from '../loading/config.js';
import { isMembers, type Members } from '../loading/parts.js';
import { missed } from '../strapi-utils/guards.js';
import { anyOf } from '../strapi-utils/missing.js';

/** A service or controller of v4 that can be wrapped and replaced. Its own members throw when they are called. */
export const standIn = (name: string): Members =>
  anyOf({}, (key) => () => {
    throw missed(new Error(`${name}.${key} is not available: this server does without it`));
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

/** Controllers of v4's plugins that the admin panel alone calls. */
export const absentControllers: Readonly<Record<string, readonly string[]>> = {
  'users-permissions': ['contentmanageruser', 'settings'],
  upload: ['admin-file', 'admin-folder', 'admin-folder-file', 'admin-settings', 'admin-upload'],
  i18n: ['content-types', 'iso-locales'],
};

/** Plugins that every v4 has, besides those that the server stands for. */
const ofCore = ['content-type-builder'];

export interface AbsentDeps {
  readonly config: CodeConfig;
  /** Names of plugins that dependencies of the project bring. */
  readonly installed: ReadonlySet<string>;
  /** Those that the server stands for. */
  readonly served: readonly string[];
  readonly warn: (text: string) => void;
}

/** What `strapi.plugin(name)` gives for plugins that v4 would have and this server has not, by name. Others stay undefined. */
export const absentPlugins = ({ config, installed, served, warn }: AbsentDeps): ReadonlyMap<string, Members> => {
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
  const names = [...installed, ...Object.keys(configured).filter(isLocal), ...ofCore];
  const standing = (name: string): Members => {
    if (name === 'graphql') return graphql(config, warn);
    if (ofCore.includes(name)) return refusing(name, 'this plugin of v4 is not here');
    return refusing(name, `plugins ${isLocal(name) ? 'of the project' : 'from npm'} do not run here`);
  };
  return new Map(
    names.filter((it) => !served.includes(it) && !isOff(it)).map((name) => [name, standing(name)] as const),
  );
};

const refusing = (name: string, why: string): Members =>
  anyOf({}, (key) => {
    throw missed(new Error(`strapi.plugin('${name}').${key}: ${why}`));
  });

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
