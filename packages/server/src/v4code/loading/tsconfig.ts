/** What the tsconfig.json of a project says of its files: where tsc writes them, and what names in their imports stand for. */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { parse } from 'jsonc-parser';
import { isMembers, type Members } from './parts.js';

/**
 * Where v4 would run a file: below `dist` if the project has a tsconfig.json, under the name that tsc gives it; else where it is.
 */
export const placeInDist = (dir: string, file: string): string => {
  const root = distOf(dir);
  return root === dir ? file : path.join(root, path.relative(dir, file)).replace(/\.([cm]?)tsx?$/, '.$1js');
};

/** The folder that v4 runs a project from: what tsc writes to, or the project's own. */
export const distOf = (dir: string): string => {
  const file = configOf(dir);
  return fs.existsSync(file) ? (compilerOptionsOf(file).outDir ?? path.join(dir, 'dist')) : dir;
};

/**
 * What names stand for by `compilerOptions.paths`, which tsc leaves as they are: `@lib/*`, `~utils`. For jiti, to which `@lib/` is all that
 * begins with it, and `~utils` that name and all that begins with `~utils/`.
 */
export const aliasesOf = (dir: string): Record<string, string> => {
  const names = mappedNames(dir).filter(isFollowed);
  const folders = names
    .filter(isFolder)
    .map(({ pattern, target }) => [pattern.slice(0, -1), target.slice(0, -1)] as const)
    .sort(([a], [b]) => b.length - a.length);
  const aliases = names
    .filter((it) => isExact(it) && !isOfTypes(it))
    .flatMap(({ pattern, target }) => {
      // tsc does not take `~utils/more` for a part of `~utils`
      const longer = `${pattern}/`;
      const [prefix, folder] = folders.find(([it]) => longer.startsWith(it)) ?? ['', ''];
      return [
        [longer, folder + longer.slice(prefix.length)],
        [pattern, target],
      ] as const;
    });
  return Object.fromEntries([...aliases, ...folders]);
};

/** The pattern of `compilerOptions.paths` that has a name and is not followed; undefined if there is none. */
export const unfollowedPattern = (name: string, dir: string): string | undefined =>
  mappedNames(dir)
    .filter((it) => !isExact(it) && !(isFollowed(it) && isFolder(it)))
    .map(({ pattern }) => pattern)
    .find((pattern) => {
      const [start = '', end = ''] = pattern.split('*');
      return name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end);
    });

interface MappedName {
  /** As `compilerOptions.paths` has it: `@lib/*`, `~utils`. */
  readonly pattern: string;
  /** The whole path of the first of its places that is there, with its `*`; null if none is: then the name is that of a package. */
  readonly target: string | null;
}

const mappedNames = (dir: string): readonly MappedName[] => {
  const { paths = {}, pathsDir = dir, baseUrl = pathsDir } = compilerOptionsOf(configOf(dir));
  return Object.entries(paths).flatMap(([pattern, targets]) => {
    const places = (Array.isArray(targets) ? targets : [])
      .filter((it: unknown) => typeof it === 'string')
      .map((it) => path.resolve(baseUrl, it));
    return [{ pattern, target: places.find(isThere) ?? null }];
  });
};

/** Whether there is such a module, also without its extension; of names with a `*`, whether there is a folder. */
const isThere = (target: string): boolean => {
  const [before = ''] = target.split('*');
  if (before !== target) return fs.existsSync(before);
  const found = fs.statSync(target, { throwIfNoEntry: false });
  if (found?.isFile()) return true;
  if (found && fs.existsSync(path.join(target, 'package.json'))) return true;
  const stem = found ? path.join(target, 'index') : target;
  return moduleExtensions.some((it) => fs.existsSync(stem + it));
};

const moduleExtensions = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.d.ts'];

interface FollowedName extends MappedName {
  readonly target: string;
}
const isFollowed = (it: MappedName): it is FollowedName => it.target !== null;

const isFolder = ({ pattern, target }: FollowedName): boolean =>
  /^[^*]+\/\*$/.test(pattern) && /^[^*]+\/\*$/.test(target);
const isExact = ({ pattern }: MappedName): boolean => !pattern.includes('*');

/** Whether it gives tsc the types of a package, which runs by its own name. */
const isOfTypes = ({ target }: FollowedName): boolean =>
  /\.d\.[cm]?ts$|[\\/]node_modules[\\/]@types[\\/]/.test(target) ||
  [`${target}.d.ts`, path.join(target, 'index.d.ts')].some((it) => fs.existsSync(it));

const configOf = (dir: string): string => path.resolve(dir, 'tsconfig.json');

/** With whole paths: each option is seen from the folder of the file that says it. */
interface CompilerOptions {
  readonly baseUrl?: string;
  readonly paths?: Members;
  /** The folder of the file that says `paths`, from which they are seen without a `baseUrl`. */
  readonly pathsDir?: string;
  readonly outDir?: string;
}

/**
 * Of a tsconfig.json and the files that it extends, as far as they are there: a project extends one of Strapi's packages, which need not be
 * installed to look at it, or to serve it. `get-tsconfig` refuses the whole if one file is missing.
 */
const compilerOptionsOf = (file: string, extending: readonly string[] = []): CompilerOptions => {
  if (extending.includes(file)) return {};
  const { extends: bases, compilerOptions } = readJson(file);
  const own = isMembers(compilerOptions) ? compilerOptions : {};
  const dir = path.dirname(file);
  const inherited = [bases]
    .flat()
    .flatMap((it) => (typeof it === 'string' ? (extendedFile(it, file) ?? []) : []))
    .map((it) => compilerOptionsOf(it, [...extending, file]));
  const placed = (name: 'baseUrl' | 'outDir'): CompilerOptions => {
    const given = own[name];
    return typeof given === 'string' ? { [name]: path.resolve(dir, given) } : {};
  };
  const { paths } = own;
  const mapped = isMembers(paths) ? { paths, pathsDir: dir } : {};
  return Object.assign({}, ...inherited, placed('baseUrl'), placed('outDir'), mapped) as CompilerOptions;
};

/** `./base` is `base.json`, and `@scope/package` its tsconfig.json. Undefined if there is no such file. */
const extendedFile = (name: string, extending: string): string | undefined => {
  if (/^\.{0,2}[\\/]/.test(name)) {
    const file = path.resolve(path.dirname(extending), name);
    return [file, `${file}.json`].find(isFile);
  }
  const { resolve } = createRequire(extending);
  const found = (it: string): string | undefined => {
    try {
      return resolve(it);
    } catch {
      return undefined;
    }
  };
  return [name, `${name}.json`, `${name}/tsconfig.json`].map(found).find((it) => it?.endsWith('.json'));
};

const isFile = (file: string): boolean => fs.statSync(file, { throwIfNoEntry: false })?.isFile() ?? false;

/** With comments and trailing commas; without what cannot be read. */
const readJson = (file: string): Members => {
  try {
    const value: unknown = parse(fs.readFileSync(file, 'utf8'), [], { allowTrailingComma: true });
    return isMembers(value) ? value : {};
  } catch {
    return {};
  }
};
