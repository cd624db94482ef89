/** Where v4 looks for the code of a project, and where else code may be. */
import path from 'node:path';
import { distOf } from '../../v4code/loading/tsconfig.js';
import { filesAt, foldersAt, isCode, listed, skipped } from './project-files.js';

/** Where v4 looks for code. `*`: any folder; `#`: any code file; `##`: any code file at any depth; otherwise a name without extension. */
export const places: readonly string[] = [
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

/** Whether anything is there that v4 would run, but for what only its configuration names. */
export const holdsCode = (projectDir: string): boolean =>
  places.some((place) => filesAt(projectDir, place.split('/')).length > 0) ||
  patches(projectDir).length > 0 ||
  settingsOfPlugins(projectDir).length > 0;

/** The code of the admin panel, which is one line of a list. */
const PANEL = 'src/admin';

/**
 * What v4 does not load by itself: files that others import or somebody runs, those of the admin panel, and what is left of v3. Folders of
 * which nobody needs to know each file are one line.
 */
export const otherFiles = (projectDir: string): readonly string[] => {
  const all = ['src', 'config', 'database', 'scripts'].flatMap((it) => filesAt(projectDir, [it, '##']));
  const ofPanel = (file: string): boolean => file.startsWith(`${PANEL}/`);
  const folders = ['src/api/*', 'src/extensions/*'].flatMap((it) => foldersAt(projectDir, `${it}/documentation`));
  const isOwn = (file: string): boolean =>
    /^src\/api\/[^/]+\/handlers\.[^/]+$|^config\/sync\//.test(file) || folders.some((it) => file.startsWith(`${it}/`));
  const built = path.relative(projectDir, distOf(projectDir)).split(path.sep)[0];
  const known = ['src', 'config', 'database', 'scripts', 'public', 'build', 'dist', built];
  const atRoot = listed(projectDir).filter(({ name }) => !skipped(name));
  return [
    ...all.filter((it) => !ofPanel(it) && !isOwn(it)),
    ...(all.some(ofPanel) ? [PANEL] : []),
    ...folders,
    ...atRoot.flatMap((it) => {
      if (it.isFile()) return isCode(it.name) && !it.name.startsWith('dovetail.config.') ? [it.name] : [];
      const isForeign = it.isDirectory() && !known.includes(it.name);
      return isForeign && isOfCode(path.join(projectDir, it.name)) ? [it.name] : [];
    }),
    ...listed(projectDir)
      .filter((it) => it.isFile() && /^\.env\.(?!example$|sample$|template$|dist$)/.test(it.name))
      .map((it) => it.name),
  ];
};

const isOfCode = (dir: string): boolean => {
  const entries = listed(dir).filter((it) => !skipped(it.name));
  return (
    entries.some((it) => it.isFile() && isCode(it.name)) ||
    entries.some((it) => it.isDirectory() && isOfCode(path.join(dir, it.name)))
  );
};

/** Patches of packages, as patch-package, pnpm and yarn keep them. */
export const patches = (projectDir: string): readonly string[] =>
  ['patches', '.yarn/patches'].flatMap((folder) =>
    listed(path.join(projectDir, folder))
      .filter((it) => it.isFile() && it.name.endsWith('.patch'))
      .map((it) => `${folder}/${it.name}`),
  );

/** What plugins of others read by themselves. */
export const settingsOfPlugins = (projectDir: string): readonly string[] => [
  ...foldersAt(projectDir, 'config/sync'),
  ...foldersAt(projectDir, 'src/extensions/*/config').flatMap((folder) =>
    listed(path.join(projectDir, folder))
      .filter((it) => it.isFile() && it.name.endsWith('.json'))
      .map((it) => `${folder}/${it.name}`),
  ),
];
