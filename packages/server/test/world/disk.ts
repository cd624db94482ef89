/**
 * A small in-memory file system that a test can fill. Requires Linux, and root to mount it; the test fails without
 * them.
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

export interface SmallDisk {
  readonly dir: string;
  /** Uses up all free space. */
  fill(): void;
  /** Frees what `fill` used. */
  makeRoom(): void;
}

/** @param files how many files and folders it can hold. */
export const withSmallDisk = async (
  megabytes: number,
  work: (disk: SmallDisk) => Promise<void>,
  files = 1_000,
): Promise<void> => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'dovetail-disk-'));
  const ballast = path.join(dir, 'ballast');
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,nr_inodes=${files}`, 'tmpfs', dir]);
  try {
    await work({ dir, fill: () => fill(ballast), makeRoom: () => fs.rmSync(ballast) });
  } finally {
    // lazily, because a server that a failed test left running may still use it
    execFileSync('umount', ['--lazy', dir]);
    fs.rmdirSync(dir);
  }
};

const fill = (ballast: string): void => {
  const file = fs.openSync(ballast, 'a');
  try {
    for (;;) fs.writeSync(file, Buffer.alloc(4096));
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code !== 'ENOSPC') throw fault;
  } finally {
    fs.closeSync(file);
  }
};
