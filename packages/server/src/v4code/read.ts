/** Finds and loads the code of a v4 project: where v4 looks for it, and nothing else. */
import path from 'node:path';
import { foldersIn, kebabName } from '../model/files.js';
import { CodeFault, type LoadModule, moduleAt, modulesIn, nameIn } from './load.js';
import { type Api, isMembers, type Members, type ProjectCode } from './parts.js';
import { readExtensions } from './read-extensions.js';

export interface ReadOptions {
  readonly dir: string;
  readonly load: LoadModule;
  /** Files that are left out, relative to the folder, with forward slashes. */
  readonly ignored: ReadonlySet<string>;
}

export const readProjectCode = async ({ dir, load, ignored }: ReadOptions): Promise<ProjectCode> => {
  const isIgnored = (file: string): boolean => ignored.has(nameIn(dir, file));
  const loadFolder = async (folder: string): Promise<ReadonlyMap<string, unknown>> => {
    const found = new Map<string, unknown>();
    for (const { name, file } of modulesIn(folder)) {
      if (isIgnored(file)) continue;
      const loaded = await load(file);
      // where v4 itself takes the name as it stands, both do
      for (const it of new Set([kebabName(name), name])) found.set(it, loaded);
    }
    return found;
  };
  const loadAt = async (folder: string, name: string): Promise<Members | null> => {
    const file = moduleAt(folder, name);
    return file === null || isIgnored(file) ? null : loadMembers(file);
  };
  const loadMembers = async (file: string): Promise<Members> => {
    const loaded = await load(file);
    if (!isMembers(loaded)) throw new CodeFault(`${path.relative(dir, file)}: export an object`);
    return loaded;
  };

  const apis = new Map<string, Api>();
  const lifecycles = new Map<string, Members>();
  const root = path.join(dir, 'src/api');
  for (const name of foldersIn(root)) {
    const at = path.join(root, name);
    apis.set(name, {
      name,
      controllers: await loadFolder(path.join(at, 'controllers')),
      services: await loadFolder(path.join(at, 'services')),
      policies: await loadFolder(path.join(at, 'policies')),
      middlewares: await loadFolder(path.join(at, 'middlewares')),
      routers: [...new Set((await loadFolder(path.join(at, 'routes'))).values())],
    });
    for (const type of foldersIn(path.join(at, 'content-types'))) {
      const hooks = await loadAt(path.join(at, 'content-types', type), 'lifecycles');
      if (hooks !== null) lifecycles.set(`api::${name}.${type}`, hooks);
    }
  }
  return {
    apis,
    policies: await loadFolder(path.join(dir, 'src/policies')),
    middlewares: await loadFolder(path.join(dir, 'src/middlewares')),
    lifecycles,
    extensions: await readExtensions({ dir, load, isIgnored }),
    index: (await loadAt(path.join(dir, 'src'), 'index')) ?? {},
  };
};
