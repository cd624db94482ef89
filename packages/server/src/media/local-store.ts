/** Uploads in a folder of the project, which the server itself serves under `/uploads`: v4's provider `local`. */
import fs from 'node:fs/promises';
import path from 'node:path';
import { bug } from '../errors.js';
import type { Store } from './store.js';

/** @param dir the folder, created with the first upload. */
export const newLocalStore = (dir: string): Store => {
  const fileOf = (key: string): string => {
    if (!isPlainName(key)) throw bug('local-store.key', { key });
    return path.join(dir, key);
  };
  return {
    provider: 'local',
    put: async (key, { path: staged }) => {
      const file = fileOf(key);
      await fs.mkdir(dir, { recursive: true });
      await flush(staged);
      try {
        await fs.rename(staged, file);
      } catch (fault) {
        if (codeOf(fault) !== 'EXDEV') throw fault;
        // another file system: copied under a name that is not served, so that no half file ever is
        await fs.copyFile(staged, partOf(file));
        await flush(partOf(file));
        await fs.rename(partOf(file), file);
      }
    },
    get: async (key, target) => {
      try {
        await fs.copyFile(fileOf(key), target, fs.constants.COPYFILE_FICLONE);
        return true;
      } catch (fault) {
        if (codeOf(fault) === 'ENOENT') return false;
        throw fault;
      }
    },
    remove: async (key) => {
      const file = fileOf(key);
      await fs.rm(file, { force: true });
      await fs.rm(partOf(file), { force: true });
    },
    urlOf: (key) => `/uploads/${key}`,
  };
};

const isPlainName = (key: string): boolean => key !== '' && !key.startsWith('.') && !/[/\\\0]/.test(key);

/** Names that begin with a dot are not served. */
const partOf = (file: string): string => path.join(path.dirname(file), `.${path.basename(file)}.part`);

/** The row is on the disk once it is committed; so must be the file. */
const flush = async (file: string): Promise<void> => {
  const handle = await fs.open(file, 'r+');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
};

const codeOf = (fault: unknown): unknown => (fault as NodeJS.ErrnoException).code;
