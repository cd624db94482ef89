/** `backup`: a copy of a SQLite file and of the uploads, made while the server runs. */
import fs from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../folders.js';
import { newProgress } from '../progress.js';
import { refuseOtherClient } from '../project.js';
import { StartFault } from '../start-fault.js';
import { readSetup } from '../v4project/config.js';
import { databaseOf, isSqlite, stamp, tell, uploadsBeside, uploadsOf } from './places.js';
import { dumpCommand } from './postgres.js';

export interface BackupOptions {
  /** The file to write, which must not exist; null for one named by the time in the project's folder. */
  readonly out: string | null;
  /** Copies the folder of uploads too, to one beside the file. */
  readonly uploads: boolean;
}

export const backup = async (project: string, { out, uploads }: BackupOptions): Promise<void> => {
  const dir = path.resolve(project);
  const { env, v4 } = await readSetup(dir);
  refuseOtherClient({ dir, v4 });
  const file = path.resolve(out ?? path.join(dir, `backup-${stamp()}.${isSqlite(env) ? 'db' : 'dump'}`));
  if (!isSqlite(env)) throw new StartFault(dumpCommand(env, file));
  const database = databaseOf(dir, env);
  if (!fs.existsSync(database)) throw new StartFault(`There is no file ${database}.`);
  for (const it of uploads ? [file, uploadsBeside(file)] : [file])
    if (fs.existsSync(it)) throw new StartFault(`${it} exists already.`);
  const { copyDatabase, faultOfDatabase, localUploads } = await import('../../sql/sqlite/backup.js');
  const part = `${file}.part`;
  fs.rmSync(part, { force: true });
  makeFolder(path.dirname(file));
  const progress = newProgress('copying the database');
  try {
    // it holds password hashes and tokens
    fs.closeSync(fs.openSync(part, 'wx', 0o600));
    await copyDatabase(database, part, progress.share);
    progress.end();
    const fault = faultOfDatabase(part);
    if (fault !== null) throw new StartFault(`${database} is damaged, and so is its copy: ${fault}`);
    const { missing, links } = uploads ? copyUploads(dir, file, localUploads(part)) : { missing: 0, links: 0 };
    fs.renameSync(part, file);
    tell(`${file}: ${megabytes(fs.statSync(file).size)}, checked`);
    if (uploads) tell(`${uploadsBeside(file)}: the uploads`);
    if (missing > 0)
      tell(
        `${missing} uploads of the database have no file in ${uploadsOf(dir)}: they were lost before, or deleted meanwhile`,
      );
    if (links > 0)
      tell(
        `${links} links in ${uploadsOf(dir)} lead out of it, or nowhere: the backup has the links, and not what they lead to`,
      );
  } catch (fault) {
    fs.rmSync(part, { force: true });
    if (uploads) fs.rmSync(uploadsBeside(file), { recursive: true, force: true });
    throw fault;
  } finally {
    // SQLite may leave them beside a copy that was read
    for (const suffix of ['-wal', '-shm', '-journal']) fs.rmSync(part + suffix, { force: true });
  }
};

interface CopiedUploads {
  /** How many of the URLs have no file. */
  readonly missing: number;
  /** How many links are still links. */
  readonly links: number;
}

const copyUploads = (dir: string, file: string, urls: readonly string[]): CopiedUploads => {
  const from = uploadsOf(dir);
  const to = uploadsBeside(file);
  let links = 0;
  const filter = (place: string, copy: string): boolean => {
    const stat = fs.lstatSync(place, { throwIfNoEntry: false });
    if (!stat?.isSymbolicLink()) return stat !== undefined && (stat.isFile() || stat.isDirectory());
    if (leadsToUploads(place, from)) return true;
    fs.symlinkSync(fs.readlinkSync(place), copy);
    links++;
    return false;
  };
  makeFolder(to);
  if (fs.existsSync(from))
    fs.cpSync(from, to, { recursive: true, dereference: true, preserveTimestamps: true, filter });
  return { missing: urls.filter((url) => !fs.existsSync(path.join(to, path.basename(url)))).length, links };
};

/**
 * Whether what a link leads to is copied. Nothing outside of the uploads is: the server does not show it, but would show a copy.
 * Nor is a folder that the link is in, which would be copied without end.
 */
const leadsToUploads = (link: string, uploads: string): boolean => {
  const target = placeOf(link);
  if (target === null || !isWithin(target, uploads)) return false;
  const stat = fs.statSync(target);
  return stat.isFile() || (stat.isDirectory() && !foldersOf(link, uploads).some((it) => isWithin(it, target)));
};

/** Null if a link leads nowhere, or where this user may not look. */
const placeOf = (link: string): string | null => {
  try {
    return fs.realpathSync(link);
  } catch {
    return null;
  }
};

/** Those that a place is in, up to one of them, by their own names: it may have been reached by other links. */
const foldersOf = (place: string, top: string): readonly string[] => {
  const above = path.dirname(place);
  return [fs.realpathSync(above), ...(above === top ? [] : foldersOf(above, top))];
};

const isWithin = (place: string, folder: string): boolean => place === folder || place.startsWith(folder + path.sep);

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;
