/** Loads `src/extensions/NAME/strapi-server`, and finds which plugins the project has by its packages. */
import fs from 'node:fs';
import path from 'node:path';
import { foldersIn } from '../../model/files.js';
import { nameByPackage, packageFolder } from './installed.js';
import { CodeFault, describeFault, type LoadModule, moduleAt, nameIn } from './load.js';
import { type Extension, type Extensions, isMembers, type Members, servedPlugins } from './parts.js';

interface ReadOptions {
  readonly dir: string;
  readonly load: LoadModule;
  readonly isIgnored: (file: string) => boolean;
}

/** Extensions of plugins that the server does not stand for are not loaded: they import what is not here. */
export const readExtensions = async ({ dir, load, isIgnored }: ReadOptions): Promise<Extensions> => {
  const byPlugin = new Map<string, Extension>();
  const skipped: string[] = [];
  for (const plugin of foldersIn(path.join(dir, 'src/extensions'))) {
    const folder = path.join(dir, 'src/extensions', plugin);
    const place = moduleAt(folder, 'strapi-server');
    if (place === null || isIgnored(place)) continue;
    const file = nameIn(dir, place);
    if (!servedPlugins.includes(plugin)) {
      skipped.push(file);
      continue;
    }
    byPlugin.set(plugin, {
      file,
      given: await load(place),
      schemas: schemasIn(path.join(folder, 'content-types')),
      failed: (fault, what = 'the extension failed') =>
        new CodeFault(describeFault(fault, dir, { file, what }), { cause: fault }),
    });
  }
  return { byPlugin, skipped, installed: installedPlugins(dir) };
};

/** What schema files say, by the folder of the type. The model has read them: they are JSON. */
const schemasIn = (folder: string): Members =>
  Object.fromEntries(
    foldersIn(folder).flatMap((name) => {
      const schema = jsonAt(path.join(folder, name, 'schema.json'));
      return schema === null ? [] : [[name, schema]];
    }),
  );

/** What a file of JSON says; null if it is missing or no object. */
export const jsonAt = (file: string): Members | null => {
  if (!fs.existsSync(file)) return null;
  try {
    const json: unknown = JSON.parse(fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, ''));
    return isMembers(json) ? json : null;
  } catch {
    return null;
  }
};

/** The names that plugins among the dependencies give themselves; of those that are not installed, the one that their package suggests. */
export const installedPlugins = (dir: string): ReadonlySet<string> => {
  const { dependencies } = jsonAt(path.join(dir, 'package.json')) ?? {};
  return new Set(Object.keys(isMembers(dependencies) ? dependencies : {}).flatMap((name) => pluginsOf(name, dir)));
};

const pluginsOf = (name: string, dir: string): readonly string[] => {
  const folder = packageFolder(dir, name);
  const manifest = folder === null ? null : jsonAt(path.join(folder, 'package.json'));
  if (manifest === null) {
    const short = nameByPackage(name);
    return short === null ? [] : [short, name];
  }
  const { strapi } = manifest;
  return isMembers(strapi) && strapi['kind'] === 'plugin' && typeof strapi['name'] === 'string' ? [strapi['name']] : [];
};
