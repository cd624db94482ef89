/**
 * Finds the code and configuration of a v4 project, and tells what each file is, by parsing it. `code.ts` says what becomes of it, and
 * `src/v4code` loads what runs.
 */
import path from 'node:path';
import memoize from 'lodash/memoize.js';
import once from 'lodash/once.js';
import { orNearest } from '../../errors.js';
import type { Config } from '../config.js';
import { StartFault } from '../start-fault.js';
import { absentUses, makesSessions } from './absent-uses.js';
import { reachIn, type SyntaxAt } from './calls.js';
import { catchingLines } from './caught-errors.js';
import { type CodeFile, routePlace } from './code.js';
import {
  absentPlugins,
  type LocalPlugins,
  localPlugins,
  namesOfMiddlewares,
  resolvedMiddlewares,
} from './configured.js';
import { type CoreRouter, coreRoutersIn, type DeclaredRoute, openActionsIn, routesIn } from './core-code.js';
import { mayBeCaught } from './described-uses.js';
import {
  extensionPlace,
  guardPlace,
  importsGuard,
  isOfType,
  kindBesides,
  kindOf,
  kindWhereCodeRuns,
  runPlace,
} from './kinds.js';
import { otherFiles, patches, places, settingsOfPlugins } from './places.js';
import { findPackages, isPluginFolder } from './plugins.js';
import { filesAt, isCode, textOf } from './project-files.js';
import { type Syntax, syntaxOf } from './syntax.js';

/** Routes that the files declare besides those of v4's factories, as far as their syntax shows them. */
export const declaredRoutes = (
  projectDir: string,
  code: readonly CodeFile[],
): readonly (DeclaredRoute & { readonly file: string })[] =>
  code
    .filter(({ file }) => routePlace.test(file))
    .flatMap(({ file }) => readIn(projectDir, file, routesIn).map((it) => ({ ...it, file })));

/** Actions of the content API that code which runs opens to everybody, as far as its syntax shows them. */
export const openActions = (projectDir: string, code: readonly CodeFile[]): readonly string[] =>
  code
    .filter(({ file, kind }) => kind === 'run' && routePlace.test(file))
    .flatMap(({ file }) => readIn(projectDir, file, openActionsIn));

/** Those that have an effect: the ones that are obeyed, and the ones that run, as far as their syntax shows what they say. */
export const writtenRouters = (projectDir: string, code: readonly CodeFile[]): readonly CoreRouter[] =>
  code.flatMap(({ file, kind, router, ignored }) => {
    if (router) return ignored ? [] : [router];
    return kind === 'run' && routePlace.test(file) ? readIn(projectDir, file, coreRoutersIn) : [];
  });

const readIn = <T>(projectDir: string, file: string, read: (syntax: Syntax) => readonly T[]): readonly T[] => {
  const syntax = syntaxIn(projectDir, file);
  return syntax === null ? [] : read(syntax);
};

export interface FindOptions extends Pick<Config['project'], 'ignoreCode' | 'acceptCode'> {
  /** Whether the server runs what it can. */
  readonly runCode: boolean;
  /** `NODE_ENV`, which selects `config/env/NAME`. */
  readonly environment?: string | undefined;
}

/**
 * Every file that v4 would run, and those of plugins that it loads from the project, sorted by name. Throws a `StartFault`
 * for a name in `ignoreCode` or `acceptCode` that matches none.
 */
export const findCode = (projectDir: string, options: FindOptions): readonly CodeFile[] => {
  const syntaxAt = memoize((file: string) => syntaxIn(projectDir, file));
  const found = filesOf(projectDir, options, syntaxAt);
  const { names, besides, others, plugins } = found;
  const { isIgnored, isAccepted } = namedFiles(projectDir, options, found, syntaxAt);
  const keepsSessions = [...names, ...others].some((file) => {
    const syntax = isCode(file) && textOf(projectDir, file).includes('session') ? syntaxAt(file) : null;
    return syntax !== null && makesSessions(syntax);
  });
  const about = { keepsSessions, plugins: absentPlugins(projectDir, syntaxAt) };
  /** What it uses that is not here, and where it may go on all the same. */
  const usesOf = (file: string, place: string, mayGuard: boolean): Pick<CodeFile, 'absent' | 'caught'> => {
    const syntax = syntaxAt(file);
    const absent = syntax === null ? [] : absentUses(place, syntax, about);
    const isAsked = mayGuard && absent.some(mayBeCaught) && !isAccepted(file);
    return { absent, caught: syntax !== null && isAsked ? catchingLines(syntax) : [] };
  };
  const judged = names.map((file): CodeFile => {
    const ignored = isIgnored(file);
    if (besides.includes(file)) return { file, kind: kindBesides(projectDir, file), ignored, absent: [] };
    if (file.startsWith('src/plugins/') && !plugins.isEnabled(file))
      return { file, kind: 'unused', ignored, absent: [] };
    const place = placeOf(file, found);
    const { kind: byItself, router, isUnread } = kindOf(projectDir, place, syntaxAt(file));
    const runsHere = options.runCode && !ignored;
    const isLost = runsHere && router !== undefined && !isOfType(projectDir, router.uid);
    const whereRun = runsHere
      ? kindWhereCodeRuns(place, isLost ? 'code' : byItself, options.environment ?? 'development')
      : byItself;
    const kind = whereRun === 'code' && importsGuard(projectDir, file, place, syntaxAt) ? 'guard' : whereRun;
    if (kind === 'router' && router) return { file, kind, ignored, absent: [], router };
    if (kind === 'default' && routePlace.test(place)) {
      const syntax = syntaxAt(file);
      const [whole] = syntax === null ? [] : coreRoutersIn(syntax);
      return { file, kind, ignored, absent: [], ...(whole ? { router: whole } : {}) };
    }
    if (kind === 'guard' && isUnread) return { file, kind, ignored, absent: [], isUnread };
    if (kind !== 'run' && kind !== 'unused') return { file, kind, ignored, absent: [] };
    const { absent, caught = [] } = usesOf(file, place, kind === 'run' && guardPlace.test(place));
    return caught.length === 0 ? { file, kind, ignored, absent } : { file, kind: 'guard', ignored, absent, caught };
  });
  const imported = others.map((file): CodeFile => {
    if (!isCode(file)) return { file, kind: 'unused', ignored: false, absent: [] };
    const { absent, caught = [] } = usesOf(file, file, extensionPlace.test(file));
    const it = { file, ignored: false, absent };
    return caught.length === 0 ? { ...it, kind: 'unused' } : { ...it, kind: 'guard', caught };
  });
  return guardsThroughOthers(projectDir, [...judged, ...imported], { isAccepted, syntaxAt }).sort((a, b) =>
    a.file < b.file ? -1 : 1,
  );
};

const syntaxIn = (projectDir: string, file: string): Syntax | null => syntaxOf(file, textOf(projectDir, file));

interface FoundFiles {
  /** What v4 runs, or would without something in its place. */
  readonly names: readonly string[];
  /** Of these: what is no code of the project's own. */
  readonly besides: readonly string[];
  /** Those that `config/middlewares` or a route name by their places. */
  readonly middlewares: ReadonlySet<string>;
  /** What v4 does not load by itself. */
  readonly others: readonly string[];
  readonly plugins: LocalPlugins;
}

const filesOf = (projectDir: string, { runCode }: FindOptions, syntaxAt: SyntaxAt): FoundFiles => {
  const plugins = localPlugins(projectDir, syntaxAt);
  const placed = [...places, ...plugins.places].flatMap((place) => filesAt(projectDir, place.split('/')));
  const middlewares = new Set(resolvedMiddlewares(projectDir, syntaxAt));
  const besides = [...patches(projectDir), ...settingsOfPlugins(projectDir)];
  const names = [...new Set([...placed, ...middlewares, ...besides])].filter((it) => !plugins.isOfPanel(it)).sort();
  const isOther = (file: string): boolean => !names.some((it) => covers(file, it)) && !plugins.isOfPanel(file);
  const others = runCode && names.length > 0 ? otherFiles(projectDir).filter(isOther) : [];
  return { names, besides, middlewares, others, plugins };
};

/** Where a file is judged: a plugin is one wherever it is, and so is a middleware. */
const placeOf = (file: string, { middlewares, plugins }: FoundFiles): string => {
  if (middlewares.has(file) && !runPlace.test(file)) return `src/middlewares/${path.posix.basename(file)}`;
  return /^(?:src|config)\//.test(file) || !plugins.isEnabled(file) ? file : `src/plugins/${file}`;
};

const covers = (name: string, file: string): boolean => file === name || file.startsWith(`${name}/`);

interface NamedFiles {
  readonly isIgnored: (file: string) => boolean;
  readonly isAccepted: (file: string) => boolean;
}

/** By the names of the configuration, each of which has to match something. */
const namedFiles = (
  projectDir: string,
  { ignoreCode, acceptCode }: FindOptions,
  { names, others }: FoundFiles,
  syntaxAt: SyntaxAt,
): NamedFiles => {
  const [ignoring, accepting] = [ignoreCode.map(placeGiven), acceptCode.map(placeGiven)];
  const middlewareNames = once(() => namesOfMiddlewares(projectDir, syntaxAt));
  // reads the text of every installed plugin
  const packageNames = once(() => findPackages(projectDir).plugins.map((it) => it.packageName));
  for (const name of ignoring) {
    // config/plugins, which is not evaluated yet, may place a plugin anywhere
    if (names.some((file) => covers(name, file)) || isPluginFolder(projectDir, name)) continue;
    if (middlewareNames().includes(name) || packageNames().includes(name)) continue;
    const [what, near] = name.includes('::')
      ? ['middleware of config/middlewares', middlewareNames()]
      : ['code file', [...names, ...packageNames()]];
    throw new StartFault(`project.ignoreCode: no ${what} matches "${name}"${orNearest(name, near)}`);
  }
  for (const name of accepting)
    if (![...names, ...others].some((file) => covers(name, file)))
      throw new StartFault(`project.acceptCode: no code file matches "${name}"${orNearest(name, names)}`);
  const isNamed = (by: readonly string[]) => (file: string) => by.some((name) => covers(name, file));
  return { isIgnored: isNamed(ignoring), isAccepted: isNamed(accepting) };
};

/** From the folder of the project. */
const placeGiven = (given: string): string =>
  path.posix.normalize(given.replaceAll('\\', '/')).replace(/^\.?\/|\/$/g, '');

/**
 * Makes guards of files that go on after errors of what is not here, whether they use it themselves or call what does. It concerns files that
 * may be guards, and what these call.
 */
const guardsThroughOthers = (
  projectDir: string,
  files: readonly CodeFile[],
  { isAccepted, syntaxAt }: Pick<NamedFiles, 'isAccepted'> & { readonly syntaxAt: SyntaxAt },
): CodeFile[] => {
  const failing = files.filter(
    ({ file, kind, ignored, absent }) => !ignored && kind !== 'guard' && absent.some(mayBeCaught) && !isAccepted(file),
  );
  if (failing.length === 0) return [...files];
  const names = files.filter(({ file, ignored }) => !ignored && isCode(file)).map((it) => it.file);
  const reach = reachIn(projectDir, names, syntaxAt);
  const guards = files.filter(({ file, kind, ignored }) => kind === 'run' && !ignored && guardPlace.test(file));
  const mayGuard = reach(guards.map((it) => it.file));
  return files.map((it) => {
    const { file, kind, ignored } = it;
    const isAsked = (kind === 'run' || kind === 'unused') && !ignored && mayGuard.has(file) && !isAccepted(file);
    const syntax = isAsked ? syntaxAt(file) : null;
    const caught = syntax === null ? [] : catchingLines(syntax);
    if (caught.length === 0) return it;
    const reached = reach([file]);
    const absent = failing
      .filter((other) => reached.has(other.file))
      .flatMap((other) =>
        other.absent.filter(mayBeCaught).map((use) => (other.file === file ? use : { ...use, file: other.file })),
      );
    return absent.length === 0 ? it : { ...it, kind: 'guard', absent, caught };
  });
};
