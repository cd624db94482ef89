/** What extensions do to plugins: they are run, and what they have changed is looked at. */
import type { Uid } from '../../model/model.js';
import { CodeFault } from '../loading/load.js';
import { type DeclaredRoute, type Extension, isCallable, isMembers, type Members } from '../loading/parts.js';
import { schemaChange } from './schema-changes.js';

/** Routes of a plugin. */
export interface PluginRouter {
  type?: string;
  prefix?: string;
  routes: DeclaredRoute[];
}

/** A plugin as extensions get it, and change it. */
export interface PluginObject {
  controllers: Record<string, Record<string, unknown>>;
  /** Services, or functions of `{ strapi }` that make them. */
  services: Record<string, unknown>;
  routes: Record<string, PluginRouter>;
  policies: Record<string, unknown>;
  middlewares: Record<string, unknown>;
  contentTypes: Record<string, { schema: Members; lifecycles?: unknown }>;
  register: unknown;
  bootstrap: unknown;
  destroy: unknown;
  config: (path: string, otherwise?: unknown) => unknown;
  service: (name: string) => unknown;
  controller: (name: string) => unknown;
}

interface Extended {
  readonly name: string;
  readonly plugin: PluginObject;
  readonly extension: Extension;
}

/** Lets an extension change a plugin. @returns the hooks that it gives to content types, by uid. */
export const extendPlugin = async (extended: Extended): Promise<ReadonlyMap<Uid, Members>> => {
  const { plugin } = extended;
  const before = structuredClone(
    Object.fromEntries(Object.entries(plugin.contentTypes).map(([type, { schema }]) => [type, schema])),
  );
  const changed = await ran(extended);
  if (isMembers(changed) && changed !== (plugin as unknown)) Object.assign(plugin, changed);
  const given: Members = isMembers(plugin.contentTypes) ? plugin.contentTypes : {};
  const hooks = new Map<Uid, Members>();
  plugin.contentTypes = Object.fromEntries(Object.entries(before).map(([type, schema]) => [type, { schema }]));
  for (const [type, it] of Object.entries(given)) {
    const { schema, lifecycles } = isMembers(it) ? it : {};
    refuseChange(extended, { type, schema, described: before[type] });
    plugin.contentTypes[type] = { schema: { ...before[type], ...unreadOf(schema) }, lifecycles };
    if (isMembers(lifecycles)) hooks.set(`plugin::${extended.name}.${type}`, lifecycles);
  }
  return hooks;
};

const ran = async ({ name, plugin, extension }: Extended): Promise<unknown> => {
  const { given, failed } = extension;
  if (!isCallable(given)) return given;
  let missed: string | null = null;
  for (const group of ['services', 'controllers'] as const)
    (plugin[group] as Record<string, unknown>) = watched<unknown>(plugin[group], (key) => {
      missed = `${group}.${key}`;
    });
  try {
    return await given(plugin);
  } catch (fault) {
    const hint = fault instanceof TypeError && missed !== null ? `, which may be because ${name} has no ${missed}` : '';
    throw failed(fault, `the extension failed${hint}`);
  }
};

/** Tells of names that are asked for and are not there. */
const watched = <T>(members: Record<string, T>, miss: (key: string) => void): Record<string, T> =>
  new Proxy(members, {
    get: (target, key, receiver) => {
      if (typeof key === 'string' && !(key in target)) miss(key);
      return Reflect.get(target, key, receiver) as unknown;
    },
  });

const refuseChange = (
  { name, extension: { file, schemas } }: Extended,
  { type, schema, described }: { readonly type: string; readonly schema: unknown; readonly described: unknown },
): void => {
  const at = `src/extensions/${name}/content-types/${type}/schema.json`;
  if (!isMembers(described))
    throw new CodeFault(
      `${file}: plugin.contentTypes.${type} is a content type of its own, and code makes none here: put its schema into ${at}`,
    );
  const change = schemaChange(schema, { uid: `plugin::${name}.${type}`, described, file: schemas[type] });
  if (change === null) return;
  const cure = schemas[type] === undefined ? `write the whole schema, with that, into ${at}` : `do that in ${at}`;
  throw new CodeFault(
    `${file}: plugin.contentTypes.${type} ${change}, and content types are not changed by code here: ${cure}`,
  );
};

/** What code may say of a type that no model reads. */
export const unreadOf = (schema: unknown): Members => {
  const { pluginOptions, info, options } = isMembers(schema) ? schema : {};
  return Object.fromEntries(Object.entries({ pluginOptions, info, options }).filter(([, it]) => it !== undefined));
};

/** A service as it was before extensions. */
export interface OwnService {
  readonly definition: unknown;
  /** Null for one that the server does without. */
  readonly members: Members | null;
}

/** The members of a service that an extension has replaced: `services.user.add`. @param made what the definition makes now. */
export const replacedMembers = (
  service: string,
  { definition, members }: OwnService,
  { now, made }: { readonly now: unknown; readonly made: unknown },
): readonly string[] => {
  const current = isMembers(made) ? made : {};
  const names = members
    ? Object.keys(members).filter((it) => current[it] !== members[it])
    : [...Object.keys(current), ...(isCallable(now) ? Object.keys(now) : [])];
  if (names.length > 0) return [...new Set(names)].map((it) => `services.${service}.${it}`);
  return members === null && now !== definition ? [`services.${service}`] : [];
};
