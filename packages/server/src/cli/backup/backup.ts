/** `backup`: a copy of a SQLite file and of the uploads, made while the server runs. */
import fs from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../folders.js';
import { newProgress } from '../progress.js';
import { refuseOtherClient } from '../project.js';
import { StartFault } from '../start-fault.js';
import { readSetup } from '../v4project/config.js';
import { newBackupName, uploadsBeside } from './names.js';
import { databaseOf, uploadsOf } from './places.js';
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
  const file = path.resolve(out ?? path.join(dir, newBackupName(env.DATABASE_CLIENT === 'sqlite' ? 'db' : 'dump')));
  if (env.DATABASE_CLIENT !== 'sqlite') throw new StartFault(dumpCommand(env, file));
  const database = databaseOf(dir, env);
  if (!fs.existsSync(database))
    throw new StartFault(
      `There is no file ${database}. Set the project folder with --project, or the database with DATABASE_FILENAME.`,
    );
  for (const it of uploads ? [file, uploadsBeside(file)] : [file])
    if (fs.existsSync(it)) throw new StartFault(`${it} exists already. Give another name, or move it away.`);
  const { copyDatabase, faultOfDatabase, localUploads } = await import('../../sql/sqlite/backup.js');
  const [part, uploadsPart] = [`${file}.part`, `${uploadsBeside(file)}.part`];
  const removeParts = (): void => {
    for (const it of [part, uploadsPart]) fs.rmSync(it, { recursive: true, force: true });
  };
  // of a backup that was killed
  removeParts();
  makeFolder(path.dirname(file));
  const progress = newProgress('copying the database');
  try {
    // it holds password hashes and tokens
    fs.closeSync(fs.openSync(part, 'wx', 0o600));
    await copyDatabase(database, part, progress.share);
    progress.end();
    const fault = faultOfDatabase(part);
    if (fault !== null) throw new StartFault(`${database} is damaged, and so is its copy: ${fault}`);
    const missing = uploads ? copyUploads(uploadsOf(dir), uploadsPart, localUploads(part)) : 0;
    if (uploads) fs.renameSync(uploadsPart, uploadsBeside(file));
    fs.renameSync(part, file);
    process.stderr.write(`${file}: ${megabytes(fs.statSync(file).size)}, checked\n`);
    if (uploads) process.stderr.write(`${uploadsBeside(file)}: the uploads\n`);
    if (missing > 0)
      process.stderr.write(
        `${missing} uploads of the database have no file in ${uploadsOf(dir)}: they were lost before, or deleted meanwhile\n`,
      );
  } catch (fault) {
    removeParts();
    if (uploads) fs.rmSync(uploadsBeside(file), { recursive: true, force: true });
    throw fault;
  } finally {
    // SQLite may leave them beside a copy that was read
    for (const suffix of ['-wal', '-shm', '-journal']) fs.rmSync(part + suffix, { force: true });
  }
};

/** How many of the URLs have no file. Links stay links: what they lead to outside of the folder is not served, but a copy of it would be. */
const copyUploads = (from: string, to: string, urls: readonly string[]): number => {
  makeFolder(to);
  if (fs.existsSync(from))
    fs.cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true, filter: isKept });
  return urls.filter((url) => !fs.existsSync(path.join(to, path.basename(url)))).length;
};

/** Not pipes and sockets, nor what was deleted meanwhile. */
const isKept = (place: string): boolean => {
  const stat = fs.lstatSync(place, { throwIfNoEntry: false });
  return stat !== undefined && (stat.isFile() || stat.isDirectory() || stat.isSymbolicLink());
};

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;
