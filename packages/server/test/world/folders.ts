/**
 * Folders for test databases: in memory where the machine has such a folder, so that a busy disk does not slow the
 * tests down.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The most that a whole run needs, with room to spare. */
const bytesNeeded = 2 * 1024 ** 3;

const inMemory = '/dev/shm';
const parent = ((): string => {
  try {
    fs.accessSync(inMemory, fs.constants.W_OK);
    const { bavail, bsize } = fs.statfsSync(inMemory);
    return bavail * bsize >= bytesNeeded ? inMemory : os.tmpdir();
  } catch {
    return os.tmpdir();
  }
})();

const prefix = 'dovetail-test-';

/** A new folder, named after the process that created it. */
export const newFolder = (): string => fs.mkdtempSync(path.join(parent, `${prefix}${process.pid}-`));

/** Removes the folders of processes that were killed before they could remove them. */
export const removeAbandonedFolders = (): void => {
  for (const name of fs.readdirSync(parent)) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    if (!isRunning(pid)) fs.rmSync(path.join(parent, name), { recursive: true, force: true });
  }
};

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return (fault as NodeJS.ErrnoException).code !== 'ESRCH';
  }
};
