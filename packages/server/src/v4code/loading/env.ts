/**
 * What files of v4's `config/` are called with, and where they are evaluated. It imports nothing of Dovetail's, because `adopt`
 * evaluates them in a process of its own, outside of the bundle.
 */
import fs from 'node:fs';
import path from 'node:path';
import querystring from 'node:querystring';
import { pathToFileURL } from 'node:url';

/** Reads variables of the environment, with casts: `env('HOST', '0.0.0.0')`, `env.int('PORT', 1337)`. */
export interface Env {
  (name: string, otherwise?: unknown): unknown;
  int(name: string, otherwise?: unknown): unknown;
  float(name: string, otherwise?: unknown): unknown;
  bool(name: string, otherwise?: unknown): unknown;
  json(name: string, otherwise?: unknown): unknown;
  array(name: string, otherwise?: unknown): unknown;
  date(name: string, otherwise?: unknown): unknown;
  oneOf(name: string, expected: readonly string[], otherwise?: unknown): unknown;
}

/** @param variable undefined for one that is not set. */
export const newEnv = (variable: (name: string) => string | undefined): Env => {
  const read =
    (cast: (text: string, name: string) => unknown) =>
    (name: string, otherwise?: unknown): unknown => {
      const text = variable(name);
      return text === undefined ? otherwise : cast(text, name);
    };
  return Object.assign(
    read((text) => text),
    {
      int: read((text) => Number.parseInt(text, 10)),
      float: read((text) => Number.parseFloat(text)),
      bool: read((text) => text === 'true'),
      json: read((text, name) => {
        try {
          return JSON.parse(text) as unknown;
        } catch {
          // the message would quote the text, which may hold secrets
          throw new Error(`the variable ${name} is not JSON`);
        }
      }),
      array: read((text) => {
        const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
        return inner.split(',').map((it) => it.trim().replace(/^"(.*)"$/, '$1'));
      }),
      date: read((text) => new Date(text)),
      oneOf: (name: string, expected: readonly string[], otherwise?: unknown): unknown => {
        const text = variable(name);
        return text !== undefined && expected.includes(text) ? text : otherwise;
      },
    },
  );
};

/**
 * The source of a file that takes itself to be at another place: of TypeScript v4 runs what tsc has written to `dist`, and files look
 * around themselves by `__dirname`. What it imports is beside the file itself. Lines stay where they are.
 */
export const sourceAt = (file: string, place: string): string => {
  const source = fs.readFileSync(file, 'utf8');
  return place === file ? source : placedSource(source, place);
};

/** How a source begins that says where it is. */
export const PLACE = 'var __filename = ';

export const placedSource = (source: string, place: string): string =>
  `${PLACE}${JSON.stringify(place)}, __dirname = ${JSON.stringify(path.dirname(place))}; ${source}`;

/**
 * Where v4 would run a file: below `dist` if the project has a tsconfig.json, under the name that tsc gives it; else where it is.
 */
export const placeInDist = (dir: string, file: string): string => {
  const root = distOf(dir);
  return root === dir ? file : path.join(root, path.relative(dir, file)).replace(/\.([cm]?)tsx?$/, '.$1js');
};

/** The folder that v4 runs a project from: what tsc writes to, or the project's own. */
export const distOf = (dir: string): string => {
  if (!fs.existsSync(path.join(dir, 'tsconfig.json'))) return dir;
  return compilerOptionsOf(path.join(dir, 'tsconfig.json')).outDir ?? path.join(dir, 'dist');
};

/** With whole paths: each option is seen from the folder of the file that says it. */
interface CompilerOptions {
  readonly baseUrl?: string;
  readonly paths?: Readonly<Record<string, unknown>>;
  /** The folder of the file that says `paths`, from which they are seen without a `baseUrl`. */
  readonly pathsDir?: string;
  readonly outDir?: string;
}

interface TsConfig {
  readonly extends?: unknown;
  readonly compilerOptions?: Readonly<Record<string, unknown>> | null;
}

/** Of a tsconfig.json and the files that it extends by relative paths, as far as they can be read; packages that it extends are left out. */
const compilerOptionsOf = (file: string, extending: readonly string[] = []): CompilerOptions => {
  if (extending.includes(file)) return {};
  const { extends: bases, compilerOptions } = readTsConfig(file);
  const own = compilerOptions ?? {};
  const dir = path.dirname(file);
  const inherited = [bases]
    .flat()
    .filter((it) => typeof it === 'string' && /^\.{1,2}\//.test(it))
    .map((it) => compilerOptionsOf(extendedFile(path.resolve(dir, String(it))), [...extending, file]));
  const placed = (name: 'baseUrl' | 'outDir'): CompilerOptions => {
    const given = own[name];
    return typeof given === 'string' ? { [name]: path.resolve(dir, given) } : {};
  };
  const { paths } = own;
  const mapped = typeof paths === 'object' && paths !== null ? { paths: { ...paths }, pathsDir: dir } : {};
  return Object.assign({}, ...inherited, placed('baseUrl'), placed('outDir'), mapped) as CompilerOptions;
};

/** `./base` is `base.json`, as for tsc. */
const extendedFile = (given: string): string => (given.endsWith('.json') ? given : `${given}.json`);

const readTsConfig = (file: string): TsConfig => {
  if (!fs.existsSync(file)) return {};
  const text = fs
    .readFileSync(file, 'utf8')
    .replace(/("(?:\\.|[^"\\])*")|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (_all, quoted: string | undefined) => quoted ?? ' ')
    .replace(/,(?=\s*[}\]])/g, '');
  try {
    return JSON.parse(text) as TsConfig;
  } catch {
    return {};
  }
};

interface MappedName {
  /** As `compilerOptions.paths` has it: `@lib/*`, `~utils`. */
  readonly pattern: string;
  /** The whole path of the first of its places that is there, with its `*`; null if none is: then the name is that of a package. */
  readonly target: string | null;
}

const mappedNames = (dir: string): readonly MappedName[] => {
  const { paths = {}, pathsDir = dir, baseUrl = pathsDir } = compilerOptionsOf(path.join(dir, 'tsconfig.json'));
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
const unfollowedPattern = (name: string, dir: string): string | undefined =>
  mappedNames(dir)
    .filter((it) => !isExact(it) && !(isFollowed(it) && isFolder(it)))
    .map(({ pattern }) => pattern)
    .find((pattern) => {
      const [start = '', end = ''] = pattern.split('*');
      return name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end);
    });

/** Runs work in which `process.exit` throws: a file of the project must not end a command that looks at it. */
export const withoutExit = async <T>(work: () => Promise<T>): Promise<T> => {
  const { exit } = process;
  process.exit = (code) => {
    throw new Error(`calls process.exit(${code ?? ''})`);
  };
  try {
    return await work();
  } finally {
    process.exit = exit;
  }
};

/** The first place in a file of the folder, packages aside, that an error names: `config/server.ts`, 12. Null if there is none. */
export const placeOf = (fault: unknown, dir: string): { readonly file: string; readonly line: number } | null => {
  if (!(fault instanceof Error)) return null;
  const text = `${fault.message}\n${fault.stack ?? ''}`;
  // the folder may be gone by the time that the code fails
  const roots = fs.existsSync(dir) ? [...new Set([dir, fs.realpathSync(dir)])] : [dir];
  const names = roots
    .flatMap((it) => [it, pathToFileURL(it).href])
    .map((it) => it.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  // whole paths; names of folders may have any character
  const places = new RegExp(`(?<=^|[\\s('"\`[]|file://)(?:${names.join('|')})/([^\\n]+?\\.[cm]?[jt]s):(\\d+)`, 'gm');
  for (const [said, name = '', line] of text.matchAll(places)) {
    const file = said.startsWith('file:') ? querystring.unescape(name) : name;
    if (!/(?:^|\/)node_modules\//.test(file)) return { file, line: Number(line) };
  }
  return null;
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
