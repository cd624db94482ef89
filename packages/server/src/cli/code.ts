/**
 * The code of a v4 project, which is not run here: controllers, routes, policies, lifecycles and the like are found and
 * named, so that nobody takes an answer for one that they had a part in. Files are read as text, never run.
 */
import fs from 'node:fs';
import path from 'node:path';
import { orNearest } from '../errors.js';
import { StartFault } from './config.js';

export interface CodeFile {
  /** Relative to the project folder, with slashes. */
  readonly file: string;
  /**
   * `default`: what v4 generates and nothing else, so nothing is missed. `guard`: a route that says who may, or what else
   * happens, by policies, middlewares or auth. `code`: everything else.
   */
  readonly kind: 'default' | 'guard' | 'code';
  /** Named in the configuration's `project.ignoreCode`. */
  readonly ignored: boolean;
}

/** Every file that v4 would run, in the order of their names. Throws a `StartFault` for a name in `ignoreCode` that fits none. */
export const findCode = (projectDir: string, ignoreCode: readonly string[]): readonly CodeFile[] => {
  const names = places.flatMap((place) => filesAt(projectDir, place.split('/'))).sort();
  const covers = (name: string, file: string): boolean => file === name || file.startsWith(`${name}/`);
  const ignoring = ignoreCode.map((it) => path.posix.normalize(it.replaceAll('\\', '/')).replace(/^\.?\/|\/$/g, ''));
  for (const name of ignoring) {
    if (!names.some((file) => covers(name, file)))
      throw new StartFault(`project.ignoreCode: there is no code "${name}"${orNearest(name, names)}`);
  }
  return names.map((file) => ({
    file,
    kind: kindOf(file, fs.readFileSync(path.join(projectDir, file), 'utf8')),
    ignored: ignoring.some((name) => covers(name, file)),
  }));
};

/** A guard that the configuration does not name: the start is refused. */
export const isUnwatched = ({ kind, ignored }: CodeFile): boolean => kind === 'guard' && !ignored;

/** Without what guards its routes a project would answer what it keeps from people: the start is refused. */
export const refuseGuards = (code: readonly CodeFile[]): void => {
  const guards = code.filter(isUnwatched);
  if (guards.length === 0) return;
  throw new StartFault(
    `Routes declare policies, middlewares or auth, and the code of v4 projects is not run here:\n${guards.map((it) => `  ${it.file}`).join('\n')}\nWithout it they would answer what it keeps from people. See to it by permissions, or by handlers (README), and name the files in dovetail.config: project: { ignoreCode: [${guards.map((it) => `'${it.file}'`).join(', ')}] }`,
  );
};

/** What is missed; code that the configuration names is known to be. */
export const missedCode = (code: readonly CodeFile[]): readonly string[] =>
  code.filter((it) => it.kind !== 'default' && !it.ignored).map((it) => it.file);

// ---- finding

/** Where v4 looks for code. `*`: any folder; `#`: any file of code; `##`: any such file, at any depth; else a name without its end. */
const places: readonly string[] = [
  ...['controllers', 'routes', 'services', 'policies', 'middlewares', 'config'].map((it) => `src/api/*/${it}/#`),
  'src/api/*/index',
  'src/api/*/content-types/*/#',
  'src/extensions/*/strapi-server',
  'src/extensions/*/content-types/*/#',
  'src/index',
  'src/middlewares/#',
  'src/policies/#',
  'src/plugins/*/##',
  'src/functions/##',
  'src/cron-tasks/##',
  'config/#',
  'config/env/*/#',
  'database/migrations/#',
];

const isCode = (name: string): boolean => /\.[cm]?[jt]s$/.test(name) && !/\.d\.[cm]?ts$/.test(name);
const listed = (dir: string): readonly fs.Dirent[] =>
  fs.existsSync(dir) && fs.statSync(dir).isDirectory() ? fs.readdirSync(dir, { withFileTypes: true }) : [];
const skipped = (name: string): boolean => name.startsWith('.') || name === 'node_modules' || name === 'admin';

const filesAt = (root: string, [step = '', ...rest]: readonly string[], at = ''): readonly string[] => {
  const entries = listed(path.join(root, at)).filter((it) => !skipped(it.name));
  const place = (name: string): string => (at === '' ? name : `${at}/${name}`);
  const isRead = (name: string): boolean => isCode(name) || (/^config(\/|$)/.test(at) && name.endsWith('.json'));
  const files = entries.filter((it) => it.isFile() && isRead(it.name)).map((it) => it.name);
  const folders = entries.filter((it) => it.isDirectory()).map((it) => it.name);
  if (step === '#') return files.map(place);
  if (step === '##') return [...files.map(place), ...folders.flatMap((it) => filesAt(root, ['##'], place(it)))];
  if (rest.length === 0) return files.filter((it) => it.replace(/\.[cm]?[jt]s$/, '') === step).map(place);
  return folders.filter((it) => step === '*' || it === step).flatMap((it) => filesAt(root, rest, place(it)));
};

// ---- judging by the text

const kindOf = (file: string, source: string): CodeFile['kind'] => {
  const text = bare(source);
  if (defaults.some(([where, form]) => where.test(file) && form.test(text))) return 'default';
  return /^src\/api\/[^/]+\/routes\//.test(file) && mayGuard(text) ? 'guard' : 'code';
};

/** Strings stay, since they may hold what comments begin with; comments go, and white space counts as one space. */
const bare = (source: string): string =>
  source
    .replace(
      /('(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g,
      (_all, text: string | undefined) => text ?? ' ',
    )
    .replace(/(['"])use strict\1;?/, ' ')
    .replace(/\s+/g, ' ')
    .trim();

/**
 * Errs on the side of a guard: empty lists are none, and every other mention is one, as is what comes from elsewhere,
 * where the words may stand out of sight.
 */
const mayGuard = (text: string): boolean => {
  const rest = text.replace(/\b(['"]?)(?:policies|middlewares)\1 ?: ?\[ ?\]/g, ' ');
  const own = rest
    .replace(/\b(?:const|let|var) \{[^}]*\} ?= ?require\( ?['"]@strapi\/strapi['"] ?\)(?: ?\. ?factories)?/g, ' ')
    .replace(/\bimport (?:type )?\{[^}]*\} from ['"]@strapi\/strapi['"]/g, ' ');
  const mentions = /policies|middlewares|\bauth\b|\\[ux]/.test(own);
  // spread, loaded, listed by name, or options by name
  const comesFromElsewhere =
    /\.\.\.|\brequire\b|\bimport\b|\[ ?(?!\{|\]|['"])[\w$]|createCoreRouter\([^,)]*, ?[^{)\s]/.test(own);
  return mentions || comesFromElsewhere;
};

const named = String.raw`(?:const|let|var) \{ ?(?:createCore(?:Controller|Router|Service)|factories) ?\} ?= ?require\( ?['"]@strapi\/strapi['"] ?\)(?: ?\. ?factories)? ?;? ?`;
const imported = String.raw`import (?:\{ ?factories ?\}|\* as strapi|strapi) from ['"]@strapi\/strapi['"] ?;? ?`;
const made = String.raw`(?:factories ?\. ?)?createCore(?:Controller|Router|Service)\( ?['"][\w:.-]+['"](?: as any)? ?,? ?\) ?;?`;
const bodyless = String.raw`(?:async )?(?:register|bootstrap) ?(?::? ?(?:async )?(?:function ?)?)\([^()]*\)(?: ?: ?\w+)?(?: ?=>)? ?\{ ?\} ?,? ?`;

/** What v4's generator writes, by place. */
const defaults: readonly (readonly [RegExp, RegExp])[] = [
  [
    /^src\/api\/[^/]+\/(?:controllers|routes|services)\//,
    new RegExp(`^(?:${named}|${imported})(?:module\\.exports ?=|export default) ?${made}$`),
  ],
  [/^src\/index\./, new RegExp(`^(?:module\\.exports ?=|export default) ?\\{ ?(?:${bodyless})*\\} ?;?$`)],
  // the administration's own
  [/^config\/(?:env\/[^/]+\/)?admin\./, /(?:)/],
  // the middlewares that v4 brings
  [
    /^config\/(?:env\/[^/]+\/)?middlewares\./,
    /^(?:module\.exports ?=|export default) ?\[ ?(?:['"]strapi::[\w-]+['"] ?,? ?)*\] ?;?$/,
  ],
  [
    /^config\/(?:env\/[^/]+\/)?plugins\./,
    /^(?:module\.exports ?=|export default) ?(?:\(\) ?=> ?\(\{ ?\}\)|\{ ?\}) ?;?$/,
  ],
];
