/** Loads modules of a project, in TypeScript or JavaScript, without a build step; `dev` loads them again when they change. */
import nodeModule, { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The default export. Throws what the module throws. */
export const importModule = async (file: string): Promise<unknown> => {
  const { createJiti } = await import('jiti');
  const given = await createJiti(import.meta.url).import(file, { default: true });
  // of a CommonJS module that a compiler has made of an ES module, jiti returns all exports
  const all = (given ?? {}) as { readonly __esModule?: unknown; readonly default?: unknown };
  return all.__esModule === true && 'default' in all ? all.default : given;
};

export interface FollowedModules {
  /** The files of all modules that were loaded, or failed to load, except those of packages. */
  files(): readonly string[];
  /** The next import evaluates the modules anew. Packages stay. */
  forget(): void;
}

/**
 * Follows what is loaded from now on. jiti keeps what it has translated where `require` does, which can be deleted. What Node
 * imports itself, JavaScript modules, it keeps for ever by URL: each time they are forgotten they get another one.
 */
export const followModules = (): FollowedModules => {
  const require = createRequire(import.meta.url);
  const ownDir = path.dirname(require.resolve('dovetail/package.json')) + path.sep;
  const isOfProject = (file: string): boolean =>
    !file.split(path.sep).includes('node_modules') && !file.startsWith(ownDir);
  const imported = new Set<string>();
  let times = 0;
  nodeModule.registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context);
      // Node 22 gives a Set where a module is required
      if (![...context.conditions].includes('import') || !found.url.startsWith('file:')) return found;
      const file = fileURLToPath(found.url);
      if (!isOfProject(file)) return found;
      imported.add(file);
      return times === 0 ? found : { ...found, url: `${found.url}?${times}` };
    },
  });
  return {
    files: () => [...new Set([...Object.keys(require.cache).filter(isOfProject), ...imported])],
    forget: () => {
      for (const file of Object.keys(require.cache).filter(isOfProject)) delete require.cache[file];
      imported.clear();
      times += 1;
    },
  };
};
