/** The uploads of a backup, copied before they take their place. */
import fs from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../folders.js';
import { StartFault } from '../start-fault.js';
import { giveAllTo, ownerOf } from './owners.js';
import { hasContent } from './places.js';

export interface StagedUploads {
  /** Where the uploads will be that were there; null if there were none. */
  readonly former: string | null;
  putInPlace(): void;
  /** Puts everything back as it was. */
  undo(): void;
}

/**
 * Copies uploads to their folder, or beside it if there are uploads already: the folder may be a mount point or belong to another
 * user, and is not replaced unless it must be.
 */
export const stageUploads = (from: string, uploads: string, suffix: string): StagedUploads => {
  const present = fs.statSync(uploads, { throwIfNoEntry: false });
  if (present && !present.isDirectory())
    throw new StartFault(`${uploads} is not a folder. Move it away, and restore again.`);
  if (!fs.statSync(from).isDirectory()) throw new StartFault(`${from} is not a folder, and cannot be restored.`);
  // of a restore that was killed
  fs.rmSync(partOf(uploads), { recursive: true, force: true });
  return present && hasContent(uploads)
    ? stageBeside(from, uploads, `${uploads}.${suffix}`, present.mode)
    : stageInPlace(from, uploads);
};

const partOf = (uploads: string): string => `${uploads}.part`;

const stageInPlace = (from: string, uploads: string): StagedUploads => {
  const before = fs.existsSync(uploads) ? fs.readdirSync(uploads) : [];
  const made = firstAbsent(uploads);
  const undo = (): void => {
    if (made !== null) fs.rmSync(made, { recursive: true, force: true });
    else
      for (const it of fs.readdirSync(from))
        if (!before.includes(it)) fs.rmSync(path.join(uploads, it), { recursive: true, force: true });
  };
  orUndo(undo, () => copyTo(uploads, from, ownerOf(uploads)));
  return { former: null, putInPlace: () => undefined, undo };
};

/** The highest folder of a path that is not there; null if all are. */
const firstAbsent = (folder: string): string | null =>
  fs.existsSync(folder) ? null : (firstAbsent(path.dirname(folder)) ?? folder);

const stageBeside = (from: string, uploads: string, former: string, mode: number): StagedUploads => {
  // the copy may be large, and would lie on another disk
  if (isMountPoint(uploads)) throw mountPointFault(uploads);
  const part = partOf(uploads);
  let isAside = false;
  const undo = (): void => {
    fs.rmSync(part, { recursive: true, force: true });
    if (!isAside) return;
    fs.rmSync(uploads, { recursive: true, force: true });
    fs.renameSync(former, uploads);
  };
  orUndo(undo, () => {
    copyTo(part, from, ownerOf(uploads));
    fs.chmodSync(part, mode);
  });
  const putInPlace = (): void => {
    putFolderAside(uploads, former);
    isAside = true;
    fs.renameSync(part, uploads);
  };
  return { former, putInPlace, undo };
};

const orUndo = (undo: () => void, work: () => void): void => {
  try {
    work();
  } catch (thrown) {
    undo();
    throw thrown;
  }
};

const copyTo = (folder: string, from: string, owner: fs.Stats | null): void => {
  makeFolder(folder);
  for (const it of fs.readdirSync(from, { withFileTypes: true })) {
    const [place, copy] = [path.join(from, it.name), path.join(folder, it.name)];
    // `cpSync` refuses one that leads nowhere
    if (it.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(place), copy);
    else fs.cpSync(place, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  }
  giveAllTo(owner, folder);
};

const putFolderAside = (folder: string, aside: string): void => {
  try {
    fs.renameSync(folder, aside);
  } catch (fault) {
    // where the system has no list of mount points
    throw (fault as NodeJS.ErrnoException).code === 'EBUSY' ? mountPointFault(folder) : fault;
  }
};

const mountPointFault = (folder: string): StartFault =>
  new StartFault(
    `${folder} is a mount point, which cannot be renamed. Move what is in it to another folder, and restore again.`,
  );

/** Always false where the system has no list of them. */
const isMountPoint = (folder: string): boolean => {
  const list = '/proc/self/mountinfo';
  if (!fs.existsSync(list)) return false;
  const unescaped = (text: string): string =>
    text.replace(/\\(\d{3})/g, (_match, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
  return fs
    .readFileSync(list, 'utf8')
    .split('\n')
    .some((line) => unescaped(line.split(' ')[4] ?? '') === folder);
};
