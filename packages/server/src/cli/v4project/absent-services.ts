/** Services of v4's plugins and panel that this server has not, or has without the member, however code leads to them. */
import { absentMethods, absentServices } from '../../v4code/plugins/absent.js';
import { absentMembers } from '../../v4code/strapi-utils/missing.js';
import type { Path } from './paths.js';

/** `strapi.plugin('upload').service('upload').replace`; null for what is no service, or is here. */
export const absentServiceAt = (path: Path): string | null => {
  const called = byCalls(path);
  const groups = spellings.map((it) => it.exec(called)?.groups).find((it) => it !== undefined);
  if (!groups) return null;
  const { plugin, name = '', method } = groups;
  const described = nameOf(plugin, name);
  if (method === undefined) {
    const isAbsent =
      plugin === undefined
        ? absentMembers['strapi.admin.services'].has(name)
        : Object.hasOwn(absentServices, plugin) && absentServices[plugin]!.includes(name);
    return isAbsent ? described : null;
  }
  const methods: Readonly<Record<string, readonly string[]>> = absentMethods;
  return methods[`${plugin ?? 'admin'}.${name}`]?.includes(method) ? `${described}.${method}` : null;
};

/** @param plugin undefined for the panel. */
const nameOf = (plugin: string | undefined, name: string): string => {
  if (plugin !== undefined) return `strapi.plugin('${plugin}').service('${name}')`;
  return `strapi.admin.services${/^\w+$/.test(name) ? `.${name}` : `['${name}']`}`;
};

/** `strapi.plugins.upload.services.upload` says as much as the calls of `plugin` and `service`. */
const byCalls = (path: Path): Path =>
  path.replaceAll(/\.(plugin|service)s\.((?:plugin::[\w-]+\.|admin::)?[\w-]+)/g, ".$1('$2')");

const spellings: readonly RegExp[] = [
  /^strapi\.plugin\('(?<plugin>[\w-]+)'\)\.service\('(?<name>[\w-]+)'\)(?:\.(?<method>[\w$]+))?$/,
  /^strapi\.service\('(?:plugin::(?<plugin>[\w-]+)\.|admin::)(?<name>[\w-]+)'\)(?:\.(?<method>[\w$]+))?$/,
  /^strapi\.admin\.service\('(?<name>[\w-]+)'\)(?:\.(?<method>[\w$]+))?$/,
];
