/** Files that a command is given to read. */
import fs from 'node:fs';

/** @returns why it cannot be read, for the user; null if it is there and is no folder. */
export const faultOfFile = (file: string): string | null => {
  const found = fs.statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return `There is no file ${file}.`;
  return found.isDirectory() ? `${file} is a folder. Name a file.` : null;
};
