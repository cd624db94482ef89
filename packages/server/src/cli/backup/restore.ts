/** `restore`: puts a backup where the project has its database and its uploads. */
import fs from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../folders.js';
import { faultOfFile } from '../given-file.js';
import { StartFault } from '../start-fault.js';
import { readSetup } from '../v4project/config.js';
import { freeSuffix, uploadsBeside } from './names.js';
import { giveTo, ownerOf } from './owners.js';
import { databaseOf, hasContent, uploadsOf, whereLinked } from './places.js';
import { restoreCommand } from './postgres.js';
import { stageUploads } from './uploads.js';

export interface RestoreOptions {
  /** Puts what is there aside, instead of refusing. */
  readonly force: boolean;
}

/** Needs no model: the schema files may be what went wrong. */
export const restore = async (project: string, given: string, { force }: RestoreOptions): Promise<void> => {
  const dir = path.resolve(project);
  const { env } = await readSetup(dir);
  const file = path.resolve(given);
  if (env.DATABASE_CLIENT !== 'sqlite') throw new StartFault(restoreCommand(env, file));
  const { copyBeside, DatabaseInUse, faultOfDatabase, journalOf, replaceDatabase } = await import(
    '../../sql/sqlite/backup.js'
  );
  const absent = faultOfFile(file);
  if (absent !== null) throw new StartFault(absent);
  const source = whereLinked(file);
  const journal = journalOf(source);
  if (journal !== null)
    throw new StartFault(
      `${file} is not whole without ${journal}, and cannot be restored. Make copies with dovetail backup.`,
    );
  const fault = faultOfDatabase(file);
  if (fault !== null) throw new StartFault(`${file} cannot be restored: ${fault}`);
  const database = whereLinked(databaseOf(dir, env));
  if (database === source) throw new StartFault(`${file} is the database of the project already.`);
  const uploads = uploadsOf(dir);
  const hasUploads = fs.existsSync(uploadsBeside(file));
  const replaced = [database, ...(hasUploads ? [uploads] : [])].filter(hasContent);
  if (replaced.length > 0 && !force)
    throw new StartFault(
      `${replaced.join(' and ')} would be replaced. With --force what is there is kept under another name.`,
    );
  makeFolder(path.dirname(database));
  const { claimFile } = await import('../../sql/sqlite/claim.js');
  const claim = claimFile(database);
  if (!claim) throw new StartFault(`${database} is being served. Stop the server first.`);
  const suffix = freeSuffix([database, uploads]);
  const owner = ownerOf(database);
  try {
    // all that takes space is written before anything is put aside: the disk may be full
    const staged = hasUploads ? stageUploads(uploadsBeside(file), uploads, suffix) : null;
    try {
      const copy = copyBeside(file, database);
      try {
        giveTo(owner, copy);
        staged?.putInPlace();
        for (const it of replaceDatabase(database, copy, `${database}.${suffix}`))
          process.stderr.write(`${it}: what was there\n`);
      } finally {
        fs.rmSync(copy, { force: true });
      }
    } catch (thrown) {
      staged?.undo();
      throw thrown;
    }
    process.stderr.write(`${database}: restored\n`);
    if (!staged) return;
    if (staged.former !== null) process.stderr.write(`${staged.former}: the uploads that were there\n`);
    process.stderr.write(`${uploads}: restored\n`);
  } catch (thrown) {
    if (thrown instanceof DatabaseInUse) throw new StartFault(`${database} is open in another program. Stop it first.`);
    throw thrown;
  } finally {
    claim.release();
  }
};
