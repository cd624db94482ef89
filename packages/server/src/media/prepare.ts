/** From a received file to what is stored of it: objects for the store and values for its row. */
import { issue, refuse } from '../errors.js';
import type { Data } from '../write/apply.js';
import { extensionOf, isFileName, mediaTypeOf, newHash } from './naming.js';
import type { Received } from './receive.js';
import type { StagedObject, Store } from './store.js';

/** What a client may say about a file. Undefined leaves a value as it is. */
export interface FileInfo {
  readonly name?: string | undefined;
  readonly alternativeText?: string | undefined;
  readonly caption?: string | undefined;
}

export interface NewFile {
  readonly received: Received;
  readonly info: FileInfo;
}

/** A file that is ready to be stored. */
export interface PreparedFile {
  readonly hash: string;
  readonly mime: string;
  /** The row, without its folder. */
  readonly values: Data;
  readonly objects: ReadonlyMap<string, StagedObject>;
}

/** The stored name of a file that is replaced: it keeps its URL. */
export interface KeptName {
  readonly hash: string;
  readonly ext: string;
}

/** @param kept null for a new file. Throws `Refusal`. */
export const prepareFile = async (
  { received, info }: NewFile,
  kept: KeptName | null,
  store: Store,
): Promise<PreparedFile> => {
  const { fileName, path, bytes } = received;
  if (bytes === 0) refuse(issue('media.no-files', []));
  const name = info.name ?? fileName;
  if (!isFileName(fileName) || !isFileName(name)) refuse(issue('media.file-name', []));
  const mime = mediaTypeOf(received.type, fileName);
  const { hash, ext } = kept ?? { hash: newHash(name), ext: extensionOf(fileName, mime) };
  const key = `${hash}${ext}`;
  return {
    hash,
    mime,
    objects: new Map([[key, { path, bytes, mime }]]),
    values: {
      name,
      alternativeText: info.alternativeText,
      caption: info.caption,
      width: null,
      height: null,
      formats: kept ? {} : null,
      hash,
      ext,
      mime,
      size: kilobytes(bytes),
      url: store.urlOf(key),
      provider: store.provider,
    },
  };
};

/** As v4 stores sizes: 1,000 bytes each, two decimal places. */
const kilobytes = (bytes: number): number => Math.round(bytes / 10) / 100;
