/** Finds and loads the code of a v4 project: where v4 looks for it, and nothing else. */
import fs from 'node:fs';
import path from 'node:path';
import { foldersIn, kebabName } from '../model/files.js';
import { CodeFault, type LoadModule, moduleAt, modulesIn, nameIn, newFaults } from './loading/load.js';
import {
  type Api,
  type IndexModule,
  isMembers,
  type Members,
  type NamedType,
  type ProjectCode,
} from './loading/parts.js';
import { jsonAt, readExtensions } from './loading/read-extensions.js';
import { readSchemaFiles, uidOfType } from './loading/schema-files.js';
import { CoreDefinition } from './requests/core.js';
import { CoreRouterDefinition } from './requests/routes.js';
import { placeKeeper } from './strapi-utils/guards.js';

export interface ReadOptions {
  readonly dir: string;
  readonly load: LoadModule;
  /** Files that are left out, relative to the folder, with forward slashes. */
  readonly ignored: ReadonlySet<string>;
}

/** Throws a `CodeFault` with all that cannot be loaded. */
export const readProjectCode = async ({ dir, load: loadOne, ignored }: ReadOptions): Promise<ProjectCode> => {
  const faults = newFaults();
  /** Undefined for what cannot be loaded. */
  const load: LoadModule = (file) => faults.keepAsync(() => loadOne(file));
  const isIgnored = (file: string): boolean => ignored.has(nameIn(dir, file));
  const namedTypes: NamedType[] = [];
  const noteType = (loaded: unknown, place: string): void => {
    const what = factoryOf(loaded);
    if (what !== null) namedTypes.push({ ...what, file: nameIn(dir, place) });
  };
  const loadFolder = async (folder: string, isOfGuards = false): Promise<ReadonlyMap<string, unknown>> => {
    const found = new Map<string, unknown>();
    for (const { name, file } of modulesIn(folder)) {
      if (isIgnored(file)) continue;
      const loaded = await load(file);
      noteType(loaded, file);
      placeKeeper(loaded, file, isOfGuards);
      // where v4 itself takes the name as it stands, both do
      for (const it of new Set([kebabName(name), name])) found.set(it, loaded);
    }
    return found;
  };
  /** By the names of the files in kebab case, unless two would share one. */
  const loadRouters = async (folder: string): Promise<Pick<Api, 'routes' | 'routeFiles'>> => {
    const routes: Record<string, unknown> = {};
    const routeFiles = new Map<string, string>();
    for (const { name, file } of modulesIn(folder, { withJson: true })) {
      if (isIgnored(file)) continue;
      const router = await load(file);
      noteType(router, file);
      const key = Object.hasOwn(routes, kebabName(name)) ? name : kebabName(name);
      routes[key] = router;
      routeFiles.set(key, nameIn(dir, file));
    }
    return { routes, routeFiles };
  };
  const fileAt = (folder: string, name: string): string | null => {
    const file = moduleAt(folder, name);
    return file === null || isIgnored(file) ? null : file;
  };
  const loadMembers = async (file: string): Promise<Members> => {
    const loaded = await faults.keepAsync(async () => {
      const given = await loadOne(file);
      if (!isMembers(given)) throw new CodeFault(`${nameIn(dir, file)}: export an object`);
      return given;
    });
    return loaded ?? {};
  };

  const indexes: IndexModule[] = [];
  const addIndex = async (folder: string): Promise<void> => {
    const file = fileAt(folder, 'index');
    if (file !== null) indexes.push({ file: nameIn(dir, file), members: await loadMembers(file) });
  };
  const apis = new Map<string, Api>();
  const lifecycles = new Map<string, { readonly hooks: Members; readonly file: string }>();
  const root = path.join(dir, 'src/api');
  for (const folder of foldersIn(root).filter((it) => hasFiles(path.join(root, it)))) {
    const name = kebabName(folder);
    const at = path.join(root, folder);
    const same = apis.get(name);
    // v4 would take the last of them without a word
    if (same)
      faults.add(
        new CodeFault(`src/api/${same.folder} and src/api/${folder} are both the API "${name}": make them one folder`),
      );
    apis.set(name, {
      name,
      folder,
      controllers: await loadFolder(path.join(at, 'controllers')),
      services: await loadFolder(path.join(at, 'services')),
      policies: await loadFolder(path.join(at, 'policies'), true),
      middlewares: await loadFolder(path.join(at, 'middlewares'), true),
      ...(await loadRouters(path.join(at, 'routes'))),
    });
    await addIndex(at);
    for (const type of foldersIn(path.join(at, 'content-types'))) {
      const ofType = path.join(at, 'content-types', type);
      const file = fileAt(ofType, 'lifecycles');
      if (file === null) continue;
      const uid = uidOfType('api', folder, type, jsonAt(path.join(ofType, 'schema.json')));
      namedTypes.push({ uid, file: nameIn(dir, file), what: 'lifecycles' });
      lifecycles.set(uid, { hooks: await loadMembers(file), file: nameIn(dir, file) });
    }
  }
  const found: ProjectCode = {
    apis,
    policies: await loadFolder(path.join(dir, 'src/policies'), true),
    middlewares: await loadFolder(path.join(dir, 'src/middlewares'), true),
    lifecycles,
    extensions: await readExtensions({ dir, load, isIgnored }),
    indexes,
    namedTypes,
    schemas: readSchemaFiles(dir),
  };
  await addIndex(path.join(dir, 'src'));
  faults.throwAll();
  return found;
};

/** Folders without any are what is left of another name. */
const hasFiles = (folder: string): boolean =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .some((it) => !it.isDirectory() && !it.name.startsWith('.'));

/** The content type that a factory of v4 is given. */
const factoryOf = (loaded: unknown): Pick<NamedType, 'uid' | 'what'> | null => {
  if (loaded instanceof CoreRouterDefinition) return { uid: loaded.uid, what: 'createCoreRouter' };
  if (!(loaded instanceof CoreDefinition)) return null;
  return { uid: loaded.uid, what: loaded.kind === 'controller' ? 'createCoreController' : 'createCoreService' };
};
