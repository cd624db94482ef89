/** Where packages of a project are installed. */
import fs from 'node:fs';
import path from 'node:path';

/** The folder of a package as Node finds it from the project: of a workspace it may be above. Null if it is not installed. */
export const packageFolder = (dir: string, name: string): string | null => {
  for (const at of [...new Set([...foldersAbove(path.resolve(dir)), ...foldersAbove(realPath(dir))])]) {
    const folder = path.join(at, 'node_modules', name);
    if (fs.existsSync(path.join(folder, 'package.json'))) return folder;
  }
  return null;
};

/** The name that v4 gives a plugin which its package does not tell: `strapi-plugin-sitemap` is `sitemap`. Null for no plugin's name. */
export const nameByPackage = (packageName: string): string | null =>
  /^(?:@strapi\/plugin-|(?:@[^/]+\/)?strapi-plugin-)(.+)$/.exec(packageName)?.[1] ?? null;

const foldersAbove = (dir: string): readonly string[] => {
  const parent = path.dirname(dir);
  return parent === dir ? [dir] : [dir, ...foldersAbove(parent)];
};

/** Node looks from where a file really is. */
const realPath = (dir: string): string => {
  try {
    return fs.realpathSync(dir);
  } catch {
    return path.resolve(dir);
  }
};
