/** Tells a project by its folder. Nothing heavy is imported here: the command line asks before it loads anything. */
import fs from 'node:fs';
import path from 'node:path';

/** Of which a project has one at most. */
export const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs', 'json'].map((it) => `dovetail.config.${it}`);

const signs = ['src', 'config', ...configNames];

/** Whether it may be one, also without content types. Other folders must not get a database and secrets. */
export const isProjectFolder = (dir: string): boolean =>
  // any other package.json may be where Dovetail is installed, with projects in folders below
  signs.some((it) => fs.existsSync(path.join(dir, it))) || dependsOnStrapi(dir);

/** Whether it is one of v4. Front ends of these rely on its leniency (Q16). */
export const dependsOnStrapi = (dir: string): boolean => {
  try {
    const manifest = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8')) as { dependencies?: unknown };
    return Object.hasOwn(Object(manifest.dependencies), '@strapi/strapi');
  } catch {
    // not there, or not ours to report
    return false;
  }
};
