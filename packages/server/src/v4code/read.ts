/** Finds and loads the code of a v4 project: where v4 looks for it, and nothing else. */
import path from 'node:path';
import { CodeFault, foldersIn, type LoadModule, moduleAt, modulesIn } from './load.js';
import { type Api, isMembers, type Members, type ProjectCode } from './parts.js';

export const readProjectCode = async (dir: string, load: LoadModule): Promise<ProjectCode> => {
  const loadFolder = async (folder: string): Promise<ReadonlyMap<string, unknown>> => {
    const found = new Map<string, unknown>();
    for (const { name, file } of modulesIn(folder)) found.set(name, await load(file));
    return found;
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
      routers: [...(await loadFolder(path.join(at, 'routes'))).values()],
    });
    for (const type of foldersIn(path.join(at, 'content-types'))) {
      const file = moduleAt(path.join(at, 'content-types', type), 'lifecycles');
      if (file !== null) lifecycles.set(`api::${name}.${type}`, await loadMembers(file));
    }
  }
  const extensions = new Map<string, unknown>();
  for (const plugin of foldersIn(path.join(dir, 'src/extensions'))) {
    const file = moduleAt(path.join(dir, 'src/extensions', plugin), 'strapi-server');
    if (file !== null) extensions.set(plugin, await load(file));
  }
  const index = moduleAt(path.join(dir, 'src'), 'index');
  return {
    apis,
    policies: await loadFolder(path.join(dir, 'src/policies')),
    middlewares: await loadFolder(path.join(dir, 'src/middlewares')),
    lifecycles,
    extensions,
    index: index === null ? {} : await loadMembers(index),
  };
};
