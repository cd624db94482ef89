/** Uploads: what the endpoints of files do, and what other writes need to store files with their entries. */
import { sql } from 'kysely';
import { readRows } from '../sql/dialect.js';
import { type EntryFiles, newEntryFiles } from './entries.js';
import { type FileActions, newFileActions } from './files.js';
import { type FolderActions, newFolderActions } from './folders.js';
import type { Store } from './store.js';
import { type MediaDeps, newStoring, type Storing } from './storing.js';
import { type FileUse, readUses } from './uses.js';

export type { MediaDeps, MediaOptions } from './storing.js';

export interface Media extends Pick<Storing, 'withForm' | 'withCopies' | 'recover'>, EntryFiles {
  readonly files: FileActions;
  readonly store: Store;
  readonly library: Library;
}

/** What administrators do with the library, beside its files. */
export interface Library {
  readonly folders: FolderActions;
  /** The administrator who uploaded a file, if one did; null if there is no such file. */
  creatorOf(id: number): Promise<{ readonly adminId: number | null } | null>;
  uses(fileId: number): Promise<readonly FileUse[]>;
}

export const newMedia = (deps: MediaDeps): Media => {
  const storing = newStoring(deps);
  const { db, model, store } = deps;
  const library: Library = {
    folders: newFolderActions({ ...deps, own: storing.own }),
    creatorOf: async (id) => {
      const { dialect } = db;
      const query = sql`select created_by_id from files where id = ${dialect.bind('id', id)}`;
      const [row] = await db.read(() => readRows(dialect.compile(query)));
      return row ? { adminId: row[0] as number | null } : null;
    },
    uses: (fileId) => db.read(() => readUses(fileId, model, db.dialect)),
  };
  return { ...storing, ...newEntryFiles(storing), files: newFileActions(storing), store, library };
};
