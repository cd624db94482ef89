/** Where packages of a project are installed. */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The folder of a package as Node finds it from the project: of a workspace it may be above. Null if it is not installed. */
export const packageFolder = (dir: string, name: string): string | null => {
  // Node looks from where a file really is
  const places = [path.resolve(dir), realPath(dir)].flatMap(
    (it) => createRequire(path.join(it, 'package.json')).resolve.paths(name) ?? [],
  );
  const folders = [...new Set(places)].map((it) => path.join(it, name));
  return folders.find((it) => fs.existsSync(path.join(it, 'package.json'))) ?? null;
};

/** The name that v4 gives a plugin which its package does not tell: `strapi-plugin-sitemap` is `sitemap`. Null for no plugin's name. */
export const nameByPackage = (packageName: string): string | null =>
  /^(?:@strapi\/plugin-|(?:@[^/]+\/)?strapi-plugin-)(.+)$/.exec(packageName)?.[1] ?? null;

const realPath = (dir: string): string => {
  try {
    return fs.realpathSync(dir);
  } catch {
    return path.resolve(dir);
  }
};
