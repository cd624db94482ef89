/** `backup` and `restore`: copies of a SQLite file and of the uploads; PostgreSQL has tools of its own, whose commands are told. */
import fs from 'node:fs';
import path from 'node:path';
import { makeFolder } from '../../folders.js';
import { type Environment, postgresUrl } from '../config.js';
import { newProgress } from '../progress.js';
import { refuseOtherClient } from '../project.js';
import { uploadsDirOf } from '../site.js';
import { StartFault } from '../start-fault.js';
import { readSetup } from '../v4project/config.js';

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
    const missing = uploads ? copyUploads(dir, file, localUploads(part)) : 0;
    fs.renameSync(part, file);
    tell(`${file}: ${megabytes(fs.statSync(file).size)}, checked`);
    if (uploads) tell(`${uploadsBeside(file)}: the uploads`);
    if (missing > 0)
      tell(
        `${missing} uploads of the database have no file in ${uploadsOf(dir)}: they were lost before, or deleted meanwhile`,
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

/** How many of the URLs have no file. */
const copyUploads = (dir: string, file: string, urls: readonly string[]): number => {
  const from = uploadsOf(dir);
  const to = uploadsBeside(file);
  makeFolder(to);
  if (fs.existsSync(from)) fs.cpSync(from, to, { recursive: true, preserveTimestamps: true });
  return urls.filter((url) => !fs.existsSync(path.join(to, path.basename(url)))).length;
};

export interface RestoreOptions {
  /** Puts what is there aside, instead of refusing. */
  readonly force: boolean;
}

/** Needs no model: the schema files may be what went wrong. */
export const restore = async (project: string, given: string, { force }: RestoreOptions): Promise<void> => {
  const dir = path.resolve(project);
  const { env } = await readSetup(dir);
  const file = path.resolve(given);
  if (!isSqlite(env)) throw new StartFault(restoreCommand(env, file));
  const { copyBeside, DatabaseInUse, faultOfDatabase, journalOf, putAside } = await import(
    '../../sql/sqlite/backup.js'
  );
  if (!fs.existsSync(file)) throw new StartFault(`There is no file ${file}.`);
  const journal = journalOf(file);
  if (journal !== null)
    throw new StartFault(
      `${file} is not whole without ${journal}, and cannot be restored. Make copies with dovetail backup.`,
    );
  const fault = faultOfDatabase(file);
  if (fault !== null) throw new StartFault(`${file} cannot be restored: ${fault}`);
  const database = databaseOf(dir, env);
  if (database === file) throw new StartFault(`${file} is the database of the project already.`);
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
        for (const it of putAside(database, `${database}.${suffix}`)) tell(`${it}: what was there`);
        fs.renameSync(copy, database);
      } finally {
        fs.rmSync(copy, { force: true });
      }
    } catch (thrown) {
      staged?.undo();
      throw thrown;
    }
    tell(`${database}: restored`);
    if (!staged) return;
    if (staged.former !== null) tell(`${staged.former}: the uploads that were there`);
    tell(`${uploads}: restored`);
  } catch (thrown) {
    if (thrown instanceof DatabaseInUse) throw new StartFault(`${database} is open in another program. Stop it first.`);
    throw thrown;
  } finally {
    claim.release();
  }
};

interface StagedUploads {
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
const stageUploads = (from: string, uploads: string, suffix: string): StagedUploads => {
  const present = fs.statSync(uploads, { throwIfNoEntry: false });
  if (present && !present.isDirectory())
    throw new StartFault(`${uploads} is not a folder. Move it away, and restore again.`);
  const names = fs.readdirSync(from);
  const owner = ownerOf(uploads);
  const kept = present ? fs.readdirSync(uploads) : [];
  const former = hasContent(uploads) ? `${uploads}.${suffix}` : null;
  // the copy may be large, and would lie on another disk
  if (former !== null && isMountPoint(uploads)) throw mountPointFault(uploads);
  const place = former === null ? uploads : `${uploads}.part`;
  let isAside = false;
  const undo = (): void => {
    if (former !== null && isAside) {
      fs.rmSync(uploads, { recursive: true, force: true });
      fs.renameSync(former, uploads);
    }
    if (former !== null) fs.rmSync(place, { recursive: true, force: true });
    else
      for (const it of names) if (!kept.includes(it)) fs.rmSync(path.join(place, it), { recursive: true, force: true });
  };
  // of a restore that was killed
  fs.rmSync(`${uploads}.part`, { recursive: true, force: true });
  try {
    makeFolder(place);
    for (const it of names)
      fs.cpSync(path.join(from, it), path.join(place, it), { recursive: true, preserveTimestamps: true });
    if (present && former !== null) fs.chmodSync(place, present.mode);
    giveAllTo(owner, place);
  } catch (thrown) {
    undo();
    throw thrown;
  }
  return {
    former,
    putInPlace: () => {
      if (former === null) return;
      putFolderAside(uploads, former);
      isAside = true;
      fs.renameSync(place, uploads);
    },
    undo,
  };
};

/** Of what is there, or of the folder that it will be in; null if that is not there either. */
const ownerOf = (place: string): fs.Stats | null =>
  [place, path.dirname(place)].map((it) => fs.statSync(it, { throwIfNoEntry: false })).find((it) => it !== undefined) ??
  null;

/** Root restores what the server, another user, has to write. */
const giveTo = (owner: fs.Stats | null, place: string): void => {
  if (owner !== null && process.getuid?.() === 0) fs.lchownSync(place, owner.uid, owner.gid);
};

/** A folder and all that is in it. What links lead to is not; Node's recursive `readdir` follows them. */
const giveAllTo = (owner: fs.Stats | null, folder: string): void => {
  giveTo(owner, folder);
  for (const it of fs.readdirSync(folder, { withFileTypes: true })) {
    const place = path.join(folder, it.name);
    if (it.isDirectory()) giveAllTo(owner, place);
    else giveTo(owner, place);
  }
};

const isSqlite = ({ DATABASE_CLIENT: client }: Environment): boolean => client === 'sqlite';

const databaseOf = (dir: string, { DATABASE_FILENAME: name }: Environment): string => path.resolve(dir, name);

/** The folder itself where it is linked, as deployments do: a link is neither copied nor replaced. */
const uploadsOf = (dir: string): string => whereLinked(uploadsDirOf(dir));

/** What a link leads to, which need not be there yet. */
const whereLinked = (place: string, links: readonly string[] = []): string => {
  if (fs.existsSync(place)) return fs.realpathSync(place);
  if (links.includes(place)) throw new StartFault(`${place} is a link to itself.`);
  const isLink = fs.lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  return isLink ? whereLinked(path.resolve(path.dirname(place), fs.readlinkSync(place)), [...links, place]) : place;
};

const putFolderAside = (folder: string, aside: string): void => {
  try {
    fs.renameSync(folder, aside);
  } catch (fault) {
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

const uploadsBeside = (file: string): string => `${file}.uploads`;

const hasContent = (it: string): boolean => {
  const stat = fs.statSync(it, { throwIfNoEntry: false });
  if (!stat) return false;
  // git keeps empty folders by such a file
  return stat.isDirectory() ? fs.readdirSync(it).some((name) => name !== '.gitkeep') : stat.size > 0;
};

/** `2026-11-22-093600`, in UTC. */
const stamp = (): string => new Date().toISOString().slice(0, 19).replace('T', '-').replaceAll(':', '');

/** For what is put aside: no other restore of the same second has put anything there. */
const freeSuffix = (places: readonly string[]): string => {
  const first = `before-restore-${stamp()}`;
  const isFree = (suffix: string): boolean => !places.some((it) => fs.existsSync(`${it}.${suffix}`));
  let suffix = first;
  for (let i = 2; !isFree(suffix); i++) suffix = `${first}-${i}`;
  return suffix;
};

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

const tell = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

// ---- PostgreSQL

const dumpCommand = (env: Environment, file: string): string => {
  const { url, schema } = libpqUrl(env);
  return `PostgreSQL is backed up by its own tool; it asks for the password, or takes it from PGPASSWORD:

  pg_dump --format=custom --no-owner --schema=${quoted(schema)} --file=${quoted(file)} ${quoted(url)}`;
};

const restoreCommand = (env: Environment, file: string): string => {
  const { url } = libpqUrl(env);
  return `PostgreSQL is restored by its own tool, while no server runs; it asks for the password, or takes it from PGPASSWORD:

  pg_restore --clean --if-exists --no-owner --single-transaction --dbname=${quoted(url)} ${quoted(file)}`;
};

/** As PostgreSQL's own tools take it: without the password, which they would show to other users of the machine, and `search_path`. */
const libpqUrl = (env: Environment): { readonly url: string; readonly schema: string } => {
  const [address = '', search = ''] = postgresUrl(env).split(/\?(.*)/s);
  const parameters = new URLSearchParams(search);
  const schema = parameters.get('search_path') ?? 'public';
  parameters.delete('search_path');
  const open = address.replace(/^(\w+:\/\/[^:@/]*):[^@]*@/, '$1@');
  return { url: parameters.size === 0 ? open : `${open}?${parameters}`, schema };
};

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
