/**
 * Runs modules of a v4 project: CommonJS, ES modules and TypeScript from source. What they import from Strapi's packages is
 * ours, whether those are installed or not; everything else comes from the project's own node_modules.
 */
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** A file of project code that cannot be used; the message is for its author. */
export class CodeFault extends Error {}

/** Loads the default export of a file, or what CommonJS exports. */
export type LoadModule = (file: string) => Promise<unknown>;

/** @param packages what `@strapi/strapi`, `@strapi/utils` and the like export, by name. */
export const newLoader = async (
  projectDir: string,
  packages: Readonly<Record<string, unknown>>,
): Promise<LoadModule> => {
  const { createJiti } = await import('jiti');
  overruleInstalled(projectDir, packages);
  const jiti = createJiti(path.join(projectDir, 'package.json'), {
    virtualModules: { ...packages },
    moduleCache: true,
  });
  return async (file) => {
    if (file.endsWith('.json')) return readJson(file);
    try {
      return await jiti.import<unknown>(file, { default: true });
    } catch (fault) {
      throw new CodeFault(`${path.relative(projectDir, file)}: cannot be loaded: ${messageOf(fault)}`, {
        cause: fault,
      });
    }
  };
};

/**
 * CommonJS runs without jiti where it can: what such a module requires, then or in one of its functions, is ours too, and not
 * Strapi's own package, even if that is installed.
 */
const overruleInstalled = (projectDir: string, packages: Readonly<Record<string, unknown>>): void => {
  const { registerHooks } = process.getBuiltinModule('node:module');
  const root = `${pathToFileURL(fs.realpathSync(projectDir)).href}/`;
  const scheme = `dovetail:${encodeURIComponent(root)}:`;
  const key = Symbol.for(scheme);
  (globalThis as Record<symbol, unknown>)[key] = packages;
  registerHooks({
    resolve: (name, context, next) => {
      const { parentURL = '' } = context;
      const isProject = parentURL.startsWith(root) && !parentURL.includes('/node_modules/');
      return isProject && Object.hasOwn(packages, name)
        ? { url: scheme + name, format: 'commonjs', shortCircuit: true }
        : next(name, context);
    },
    load: (url, context, next) =>
      url.startsWith(scheme)
        ? {
            format: 'commonjs',
            shortCircuit: true,
            source: `module.exports = globalThis[Symbol.for(${JSON.stringify(scheme)})][${JSON.stringify(url.slice(scheme.length))}];`,
          }
        : next(url, context),
  });
};

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (fault) {
    throw new CodeFault(`${file}: is not JSON: ${messageOf(fault)}`);
  }
};

const messageOf = (fault: unknown): string => (fault instanceof Error ? fault.message : String(fault));

/** A code file in a folder: its name without extension is that of what it defines. */
export interface Module {
  readonly name: string;
  readonly file: string;
}

const extensions = ['.js', '.cjs', '.mjs', '.ts', '.cts', '.mts'];

/** The code files of a folder, sorted as v4 reads them; none if there is no such folder. `.d.ts` files are no code. */
export const modulesIn = (dir: string, { withJson = false } = {}): readonly Module[] => {
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir, { withFileTypes: true })
    .filter((it) => it.isFile() && !/\.d\.[cm]?ts$/.test(it.name))
    .map((it) => ({ extension: path.extname(it.name), file: path.join(dir, it.name) }))
    .filter(({ extension }) => extensions.includes(extension) || (withJson && extension === '.json'))
    .map(({ extension, file }) => ({ name: path.basename(file, extension), file }))
    .sort((a, b) => (a.file < b.file ? -1 : 1));
};

/** `dir/name.js`, `dir/name.ts` and the like; null if there is none. */
export const moduleAt = (dir: string, name: string): string | null =>
  modulesIn(dir).find((it) => it.name === name)?.file ?? null;

/** The folders in a folder, sorted. */
export const foldersIn = (dir: string): readonly string[] =>
  fs.existsSync(dir)
    ? fs
        .readdirSync(dir, { withFileTypes: true })
        .filter((it) => it.isDirectory() && !it.name.startsWith('.'))
        .map((it) => it.name)
        .sort()
    : [];
