/** Folders for files that are about to be written. */
import fs from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder, and those above it, unless it exists. `mkdirSync` with `recursive` would try for ever where the system refuses
 * a folder with ENOENT, as below /proc.
 */
export const makeFolder = (dir: string): void => {
  const above = path.dirname(dir);
  if (above !== dir && !fs.existsSync(above)) makeFolder(above);
  try {
    fs.mkdirSync(dir);
  } catch (fault) {
    if (!fs.statSync(dir, { throwIfNoEntry: false })?.isDirectory()) throw fault;
  }
};
