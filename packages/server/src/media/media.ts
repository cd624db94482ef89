/** Uploads: what the endpoints of files do, and what other writes need to store files with their entries. */
import { type FileActions, newFileActions } from './files.js';
import { type MediaDeps, newStoring, type Storing } from './storing.js';

export type { MediaDeps, MediaOptions } from './storing.js';

export interface Media extends Pick<Storing, 'withForm' | 'store' | 'insert' | 'recover'> {
  readonly files: FileActions;
}

export const newMedia = (deps: MediaDeps): Media => {
  const storing = newStoring(deps);
  return { ...storing, files: newFileActions(storing) };
};
