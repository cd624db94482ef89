/**
 * Runs modules of a v4 project: CommonJS, ES modules and TypeScript from source. What they import from Strapi's packages is
 * ours, whether those are installed or not; everything else comes from the project's own node_modules.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TransformOptions } from 'jiti';
import { PLACE, placedSource, placeOf, sourceAt } from './env.js';
import { aliasesOf, distOf, placeInDist, unfollowedPattern } from './tsconfig.js';

/** A file of project code that cannot be used; the message is for its author. */
export class CodeFault extends Error {}

/** `config/server.ts:12: cannot be loaded: …`; where the error is in another file, that is named too. */
export const describeFault = (
  fault: unknown,
  dir: string,
  { file, what }: { readonly file: string; readonly what: string },
): string => {
  const message = fault instanceof Error ? fault.message : String(fault);
  // babel and Node say the place again, and the modules that led there
  const [short = ''] = message.split('\nRequire stack:');
  const said = short.replace(/\s*\n\s*\S+:\d+:\d+\s*$/, '').replace(/^ParseError: /, '');
  const [, missing] = /^Cannot find (?:module|package) '([^./'][^']*)'/.exec(said) ?? [];
  const words = missing === undefined ? said : `${said}: ${adviceOn(missing, dir)}`;
  const place = placeOf(fault, dir);
  if (place === null) return `${file}: ${what}: ${words}`;
  return place.file === file
    ? `${file}:${place.line}: ${what}: ${words}`
    : `${file}: ${what}: ${words} (${place.file}:${place.line})`;
};

const adviceOn = (name: string, dir: string): string => {
  if (name.startsWith('@strapi/strapi/'))
    return "it is a file of Strapi's own package, which this server does without: write what it is for in the project";
  const installing = 'install the packages of the project (npm install)';
  const pattern = unfollowedPattern(name, dir);
  if (pattern === undefined) return installing;
  const words = `"${pattern}" in compilerOptions.paths of tsconfig.json is not followed here; exact names and folders are, such as "@lib/*"`;
  // which matches packages too
  return pattern === '*' ? `${words}. Or ${installing}` : words;
};

/** Faults that are thrown together, so that nobody mends one to be told of the next. */
export interface Faults {
  /** What the work makes; undefined if it throws a fault, which is kept. */
  keep<T>(work: () => T): T | undefined;
  /** The same for work that takes time. */
  keepAsync<T>(work: () => Promise<T>): Promise<T | undefined>;
  add(fault: unknown): void;
  throwAll(): void;
}

/** @param onOther is given what is no `CodeFault`. */
export const newFaults = (
  onOther: (fault: unknown) => void = (fault) => {
    throw fault;
  },
): Faults => {
  const kept: CodeFault[] = [];
  const add = (fault: unknown): void => {
    if (fault instanceof CodeFault) kept.push(fault);
    else onOther(fault);
  };
  return {
    add,
    keep: (work) => {
      try {
        return work();
      } catch (fault) {
        add(fault);
        return undefined;
      }
    },
    keepAsync: async (work) => {
      try {
        return await work();
      } catch (fault) {
        add(fault);
        return undefined;
      }
    },
    throwAll: () => {
      const [first, ...others] = kept;
      if (first && others.length === 0) throw first;
      if (first) throw new CodeFault([...new Set(kept.map((it) => it.message))].join('\n'), { cause: first.cause });
    },
  };
};

/** Loads the default export of a file, or what CommonJS exports. @param place where it takes itself to be. */
export type LoadModule = (file: string, place?: string) => Promise<unknown>;

/** @param packages what `@strapi/strapi`, `@strapi/utils` and the like export, by name. */
export const newLoader = async (
  projectDir: string,
  packages: Readonly<Record<string, unknown>>,
): Promise<LoadModule> => {
  const { createJiti } = await import('jiti');
  if (!('metadata' in Reflect)) Object.assign(Reflect, { metadata: noMetadata });
  overruleInstalled(projectDir, packages);
  const compiler = createJiti(path.join(projectDir, 'package.json'), { fsCache: false });
  const compiled = inDist(projectDir, (given) => compiler.transform(given));
  const options = {
    virtualModules: { ...packages },
    moduleCache: true,
    ...compiled,
    alias: { ...aliasesOf(projectDir), ...compiled.alias },
  };
  const jiti = createJiti(path.join(projectDir, 'package.json'), options);
  /** A module that takes itself to be at another place. */
  const evaluate = async (file: string, place: string): Promise<unknown> => {
    const own = createJiti(file, { ...options, interopDefault: true });
    const loaded: unknown = await own.evalModule(sourceAt(file, place), {
      filename: file,
      id: file,
      ext: path.extname(file),
      async: true,
      // Node would import the file as it is
      forceTranspile: true,
    });
    return defaultOf(loaded);
  };
  return async (file, place = file) => {
    if (file.endsWith('.json')) return readJson(file);
    const restore = showDeepStacks();
    try {
      if (place !== file) return await evaluate(file, place);
      const loaded = await jiti.import<unknown>(file, { default: true });
      return isCompiledModule(loaded) ? defaultOf(loaded) : loaded;
    } catch (fault) {
      const name = nameIn(projectDir, file);
      throw new CodeFault(describeFault(fault, projectDir, { file: name, what: 'cannot be loaded' }), { cause: fault });
    } finally {
      restore();
    }
  };
};

/**
 * Between a file that requires a missing package and the error are more frames of Node, jiti and hooks of modules than a stack shows.
 * Returns what undoes it.
 */
const showDeepStacks = (): (() => void) => {
  const { stackTraceLimit } = Error;
  // does not throw where the project has frozen it
  const set = (to: number): boolean => Reflect.set(Error, 'stackTraceLimit', to);
  set(Number.POSITIVE_INFINITY);
  return () => {
    if (Error.stackTraceLimit === Number.POSITIVE_INFINITY) set(stackTraceLimit);
  };
};

/**
 * What jiti makes of a method with a decorator asks for `Reflect.metadata`, and without one puts the prototype in place of the method. So there
 * is one that does nothing, until the project loads the package that has it.
 */
const noMetadata = (): (() => void) => () => undefined;

interface InDist {
  readonly transform?: (options: TransformOptions) => { readonly code: string };
  readonly fsCache?: string;
  readonly alias?: Record<string, string>;
}

/**
 * Of a TypeScript project v4 runs what tsc has written to `dist`, so files that name what is beside `src` go up one folder more than
 * their sources would have to: these take themselves to be in `dist`. Others may list their own folder, which need not be built: they
 * are where they are. What is required from `dist` is a source too.
 */
const inDist = (dir: string, transform: (options: TransformOptions) => string): InDist => {
  const dist = distOf(dir);
  if (dist === dir) return {};
  const roots = [...new Set([dir, fs.realpathSync(dir)])];
  const placed = ({ source, filename = '' }: TransformOptions): string => {
    const root = roots.find((it) => filename.startsWith(it + path.sep));
    if (root === undefined || filename.includes(`${path.sep}node_modules${path.sep}`)) return source;
    // a file of `config/` says it already
    if (source.startsWith(PLACE) || !leaves(source, nameIn(root, path.dirname(filename)))) return source;
    return placedSource(source, placeInDist(root, filename));
  };
  return {
    transform: (options) => ({ code: transform({ ...options, source: placed(options) }) }),
    // what jiti keeps elsewhere may be of a time before the files took themselves to be there, or of another `outDir`
    fsCache: path.join(cacheOf(dir), 'dovetail', crypto.createHash('sha256').update(dist).digest('hex').slice(0, 16)),
    alias: Object.fromEntries(roots.map((root) => [path.join(root, path.relative(dir, dist)), root])),
  };
};

/** Whether a path from `__dirname` would lead out of the project: `path.join(__dirname, '../../../../../data')` in `src/api/x/services`. */
const leaves = (source: string, folder: string): boolean =>
  [...source.matchAll(/\b__(?:dir|file)name\b\)?[^)]{0,300}/g)].some(
    ([text]) => [...text.matchAll(/(?<![.\w])\.\.(?![.\w])/g)].length > folder.split('/').length,
  );

/** As jiti chooses it. */
const cacheOf = (dir: string): string => {
  const packages = path.join(dir, 'node_modules');
  return fs.existsSync(packages) ? path.join(packages, '.cache') : os.tmpdir();
};

/** The default export of a namespace; anything else as it is. */
const defaultOf = (loaded: unknown): unknown =>
  loaded !== null && typeof loaded === 'object' && 'default' in loaded ? loaded.default : loaded;

/** CommonJS that was compiled from an ES module. */
const isCompiledModule = (loaded: unknown): boolean =>
  loaded !== null && typeof loaded === 'object' && '__esModule' in loaded && loaded.__esModule === true;

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
    load: (url, context, next) => {
      // the package leaves alone what is there
      if (url.includes('/reflect-metadata/') && Reflect.get(Reflect, 'metadata') === noMetadata)
        Reflect.deleteProperty(Reflect, 'metadata');
      return url.startsWith(scheme)
        ? {
            format: 'commonjs',
            shortCircuit: true,
            source: `module.exports = globalThis[Symbol.for(${JSON.stringify(scheme)})][${JSON.stringify(url.slice(scheme.length))}];`,
          }
        : next(url, context);
    },
  });
};

const readJson = (file: string): unknown => {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    // the message would quote the text, which may hold secrets
    throw new CodeFault(`${file}: is not JSON`);
  }
};

/** A code file in a folder: its name without extension is that of what it defines. */
export interface Module {
  readonly name: string;
  readonly file: string;
}

const extensions = ['.js', '.cjs', '.mjs', '.ts', '.cts', '.mts'];

/**
 * The code files of a folder, sorted as v4 reads them; none if there is no such folder. `.d.ts` files are no code, and `.test.ts` files are left
 * out by the tsconfig.json that v4 generates.
 */
export const modulesIn = (dir: string, { withJson = false } = {}): readonly Module[] => {
  if (!fs.existsSync(dir)) return [];
  return fs
    .readdirSync(dir, { withFileTypes: true })
    .filter((it) => it.isFile() && !/\.(?:d|test)\.[cm]?ts$/.test(it.name))
    .map((it) => ({ extension: path.extname(it.name), file: path.join(dir, it.name) }))
    .filter(({ extension }) => extensions.includes(extension) || (withJson && extension === '.json'))
    .map(({ extension, file }) => ({ name: path.basename(file, extension), file }))
    .sort((a, b) => (a.file < b.file ? -1 : 1));
};

/** `dir/name.js`, `dir/name.ts` and the like; null if there is none. */
export const moduleAt = (dir: string, name: string): string | null =>
  modulesIn(dir).find((it) => it.name === name)?.file ?? null;

/** A file as messages name it: relative to the project folder, with forward slashes. */
export const nameIn = (dir: string, file: string): string => path.relative(dir, file).split(path.sep).join('/');
