/** Tells a project by its folder. Nothing heavy is imported here: the command line asks before it loads anything. */
import fs from 'node:fs';
import path from 'node:path';

/** Of which a project has one at most. */
export const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs', 'json'].map((it) => `dovetail.config.${it}`);

const signs = ['src/api', 'src/extensions', ...configNames];
/** These are in programs of all kinds, whose package.json tells that they are none of ours. */
const weakSigns = ['src', 'config'];

/**
 * Whether it may be one, also without content types. Other folders must not get a database and secrets, nor must their code run.
 * A package.json alone may be where Dovetail is installed, with projects in folders below.
 */
export const isProjectFolder = (dir: string): boolean => {
  const has = (name: string): boolean => fs.existsSync(path.join(dir, name));
  return signs.some(has) || dependsOnStrapi(dir) || (!has('package.json') && weakSigns.some(has));
};

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
