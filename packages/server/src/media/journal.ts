/**
 * The store of uploads and the database cannot change in one transaction, so every change of the store is recorded first.
 * If the process is killed, the next start reads the records of dead processes and completes or undoes what they began:
 * the database decides which, because a change counts once its rows are committed.
 */
import crypto from 'node:crypto';
import fs from 'node:fs/promises';
import path from 'node:path';
import { never } from '../errors.js';
import { claimFile, claimOf } from '../sql/sqlite/claim.js';
import type { OnDisk } from './receive.js';
import type { StagedObject, Store } from './store.js';

/** A change of the store that belongs to a change of rows. */
export interface StoreChange {
  readonly row: RowChange;
  /** Keys that are put before the commit; removed if there is none. */
  readonly written: readonly string[];
  /** Keys that are removed after the commit. */
  readonly obsolete: readonly string[];
  /** Copies of objects that are replaced before the commit; put back if there is none. */
  readonly saved: readonly SavedObject[];
}

/** What tells whether the rows were committed. */
export type RowChange =
  | { readonly kind: 'created'; readonly hash: string }
  /** The version is `updatedAt` in epoch milliseconds, the others are what the row says of its content. */
  | {
      readonly kind: 'replaced';
      readonly id: number;
      readonly version: number;
      readonly before: string;
      readonly after: string;
    }
  | { readonly kind: 'deleted'; readonly id: number };

/**
 * What has become of a change of rows: whether it was committed, was not, or the file has had other content since then.
 * `named` are the keys that the row of a replaced file names now.
 */
export interface Fate {
  readonly kind: 'committed' | 'undone' | 'superseded';
  readonly named: readonly string[];
}

export interface SavedObject extends StagedObject {
  readonly key: string;
}

/** The store that a record is about. */
interface Provided {
  readonly provider: string;
}

export interface Journal {
  /** A new path for a local file or folder; what is there is removed at the next start if this process dies. */
  newPath(): Promise<string>;
  /**
   * Runs work that records its change before it touches the store, and ends with the commit of the rows.
   * @param isPart the work may be a part of a transaction that goes on: what has become of the rows is seen when that has ended.
   */
  during<T>(work: (record: Recorder) => Promise<T>, options?: { readonly isPart?: boolean }): Promise<T>;
  /** Settles what processes that no longer run have left. */
  recover(): Promise<void>;
}

/** Records a change, in place of one that the same work recorded before. */
export type Recorder = (change: StoreChange) => Promise<void>;

export interface JournalDeps {
  /** A folder on the local disk, shared by all processes of a project. */
  readonly root: string;
  readonly store: Store;
  readonly fateOf: (row: RowChange) => Promise<Fate>;
  /** Runs what is done on the disk before rows are changed. */
  readonly onDisk: OnDisk;
  /** Called with background errors. */
  readonly onFault: (fault: unknown) => void;
}

export const newJournal = ({ root, store, fateOf, onDisk, onFault }: JournalDeps): Journal => {
  let own: Promise<string> | null = null;
  /** The folder of this process. It exists only while it is claimed, so nobody takes it for that of a dead one. */
  const open = (): Promise<string> => {
    own ??= openFolder(root).catch((fault) => {
      // the next upload tries again
      own = null;
      throw fault;
    });
    const opened = own;
    return onDisk(() => opened);
  };

  const complete = async (file: string, { obsolete, saved }: StoreChange): Promise<void> => {
    for (const key of obsolete) await store.remove(key);
    for (const it of saved) await fs.rm(it.path, { force: true });
    await fs.rm(file, { force: true });
  };

  const undo = async (file: string, { saved, written }: StoreChange): Promise<void> => {
    const kept = new Set(saved.map((it) => it.key));
    // a copy that is gone was put back before this process was killed
    for (const { key, ...object } of saved) if (await exists(object.path)) await store.put(key, object);
    for (const key of written) if (!kept.has(key)) await store.remove(key);
    for (const it of saved) await fs.rm(it.path, { force: true });
    await fs.rm(file, { force: true });
  };

  const settle = async (file: string, change: StoreChange): Promise<void> => {
    const { kind, named } = await fateOf(change.row);
    const isNamed = (key: string): boolean => named.includes(key);
    switch (kind) {
      case 'committed':
        return complete(file, { ...change, obsolete: change.obsolete.filter((key) => !isNamed(key)) });
      case 'undone':
        return undo(file, change);
      case 'superseded':
        // what the row names is the later content
        return complete(file, {
          ...change,
          obsolete: [...change.obsolete, ...change.written].filter((key) => !isNamed(key)),
        });
      default:
        return never(kind);
    }
  };

  /** Whether nothing is left to do; what fails is tried again at the next start. */
  const settleAll = async (folder: string): Promise<boolean> => {
    const files = (await fs.readdir(folder)).filter((it) => it.endsWith('.json')).map((it) => path.join(folder, it));
    const results = await Promise.allSettled(
      files.map(async (file) => {
        const { provider, ...change } = JSON.parse(await fs.readFile(file, 'utf8')) as StoreChange & Provided;
        if (provider !== store.provider)
          throw new Error(`${file} is about files in the store ${provider}, and ${store.provider} is configured`);
        await settle(file, change);
      }),
    );
    for (const result of results) if (result.status === 'rejected') onFault(result.reason);
    return results.every((it) => it.status === 'fulfilled');
  };

  return {
    newPath: async () => path.join(await open(), crypto.randomUUID()),
    during: async <T>(work: (record: Recorder) => Promise<T>, { isPart = false } = {}): Promise<T> => {
      const file = path.join(await open(), `${crypto.randomUUID()}.json`);
      let recorded: StoreChange | null = null;
      const record: Recorder = async (change) => {
        const text = JSON.stringify({ provider: store.provider, ...change });
        await onDisk(() => writeWhole(file, text));
        recorded = change;
      };
      /** If this fails, the record remains for the next start. */
      const end = async (how: (file: string, change: StoreChange) => Promise<void>): Promise<void> => {
        if (recorded) await how(file, recorded).catch(onFault);
      };
      if (isPart) return work(record).finally(() => void end(settle));
      let result: T;
      try {
        result = await work(record);
      } catch (fault) {
        // not known to have failed: the connection may have been lost during the commit
        await end(settle);
        throw fault;
      }
      await end(complete);
      return result;
    },
    recover: async () => {
      const folders = await foldersIn(root).catch((fault: unknown) => {
        onFault(fault);
        return [];
      });
      for (const folder of folders) {
        const claim = claimFile(folder);
        if (!claim) continue;
        try {
          // a process that died before it made its folder has left the claim alone
          if ((await exists(folder)) && !(await settleAll(folder))) continue;
          await fs.rm(folder, { recursive: true, force: true });
          await fs.rm(claimOf(folder), { force: true });
        } catch (fault) {
          onFault(fault);
        } finally {
          claim.release();
        }
      }
    },
  };
};

/** As a whole, since it may replace a record after which the store was changed. */
const writeWhole = async (file: string, text: string): Promise<void> => {
  const part = `${file}.part`;
  try {
    await fs.writeFile(part, text, { flush: true });
    await fs.rename(part, file);
  } catch (fault) {
    await fs.rm(part, { force: true });
    throw fault;
  }
};

const openFolder = async (root: string): Promise<string> => {
  await fs.mkdir(root, { recursive: true });
  const folder = path.join(root, crypto.randomUUID());
  claimFile(folder);
  await fs.mkdir(folder);
  return folder;
};

/** Those of all processes, also where only the claim exists. */
const foldersIn = async (root: string): Promise<readonly string[]> => {
  try {
    const suffix = claimOf('');
    const entries = await fs.readdir(root, { withFileTypes: true });
    const names = entries.flatMap((it) => {
      if (it.name.endsWith(suffix)) return [it.name.slice(0, -suffix.length)];
      return it.isDirectory() ? [it.name] : [];
    });
    return [...new Set(names)].map((it) => path.join(root, it));
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw fault;
  }
};

const exists = async (file: string): Promise<boolean> => {
  try {
    await fs.access(file);
    return true;
  } catch {
    return false;
  }
};
