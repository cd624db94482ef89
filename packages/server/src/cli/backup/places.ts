/** Where a project has its database and its uploads, and whether anything is there. */
import fs from 'node:fs';
import path from 'node:path';
import type { Environment } from '../config.js';
import { uploadsDirOf } from '../site.js';
import { StartFault } from '../start-fault.js';

export const databaseOf = (dir: string, { DATABASE_FILENAME: name }: Environment): string => path.resolve(dir, name);

/** The folder itself where it is linked, as deployments do: a link is neither copied nor replaced. */
export const uploadsOf = (dir: string): string => whereLinked(uploadsDirOf(dir));

/** What a link leads to, which need not be there yet. Throws `StartFault` if it leads to itself. */
export const whereLinked = (place: string, links: readonly string[] = []): string => {
  if (fs.existsSync(place)) return fs.realpathSync(place);
  if (links.includes(place)) throw new StartFault(`${place} is a link to itself.`);
  const isLink = fs.lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return isLink ? whereLinked(path.resolve(path.dirname(place), fs.readlinkSync(place)), [...links, place]) : place;
};

export const hasContent = (it: string): boolean => {
  const stat = fs.statSync(it, { throwIfNoEntry: false });
  if (!stat) return false;
  // git keeps empty folders by such a file
  return stat.isDirectory() ? fs.readdirSync(it).some((name) => name !== '.gitkeep') : stat.size > 0;
};
