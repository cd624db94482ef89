/** Uploads: what the endpoints of files do, and what other writes need to store files with their entries. */
import { type EntryFiles, newEntryFiles } from './entries.js';
import { type FileActions, newFileActions } from './files.js';
import type { Store } from './store.js';
import { type MediaDeps, newStoring, type Storing } from './storing.js';

export type { MediaDeps, MediaOptions } from './storing.js';

export interface Media extends Pick<Storing, 'withForm' | 'recover'>, EntryFiles {
  readonly files: FileActions;
  readonly store: Store;
}

export const newMedia = (deps: MediaDeps): Media => {
  const storing = newStoring(deps);
  return { ...storing, ...newEntryFiles(storing), files: newFileActions(storing), store: deps.store };
};
