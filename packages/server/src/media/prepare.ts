/** From a received file to what is stored of it: objects for the store and values for its row. */
import { issue, refuse } from '../errors.js';
import type { Data } from '../write/request.js';
import { type ImageSettings, processImage } from './image.js';
import { extensionOf, isFileName, mediaTypeOf, newHash } from './naming.js';
import type { Received } from './receive.js';
import type { StagedObject, Store } from './store.js';

/** What a client may say about a file. Undefined leaves a value as it is. */
export interface FileInfo {
  readonly name?: string | undefined;
  readonly alternativeText?: string | undefined;
  readonly caption?: string | undefined;
  /** The id of a folder of the library, null for its top; what administrators and code may say. */
  readonly folder?: number | null | undefined;
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
  /** Null for the top of the library, undefined for the folder of API uploads. */
  readonly folder: number | null | undefined;
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
  settings: ImageSettings,
  store: Store,
): Promise<PreparedFile> => {
  const { fileName } = received;
  if (received.bytes === 0) refuse(issue('media.no-files', []));
  const name = info.name ?? fileName;
  if (!isFileName(fileName) || !isFileName(name)) refuse(issue('media.file-name', []));
  const mime = mediaTypeOf(received.type, fileName);
  const { hash, ext } = kept ?? { hash: newHash(name), ext: extensionOf(fileName, mime) };
  const image = await processImage(received.path, received.bytes, settings);
  const { path, bytes } = image ?? received;
  const key = `${hash}${ext}`;
  const objects = new Map([[key, { path, bytes, mime }]]);
  const formats: Record<string, unknown> = {};
  for (const [format, made] of image?.formats ?? []) {
    const own = `${format}_${hash}`;
    objects.set(`${own}${ext}`, { path: made.path, bytes: made.bytes, mime });
    formats[format] = {
      name: `${format}_${name}`,
      hash: own,
      ext,
      mime,
      path: null,
      width: made.width,
      height: made.height,
      size: kilobytes(made.bytes),
      sizeInBytes: made.bytes,
      url: store.urlOf(`${own}${ext}`),
    };
  }
  return {
    hash,
    mime,
    objects,
    folder: info.folder,
    values: {
      name,
      alternativeText: info.alternativeText,
      caption: info.caption,
      width: image?.width ?? null,
      height: image?.height ?? null,
      // v4 leaves an empty object where a file was replaced
      formats: objects.size > 1 || kept ? formats : null,
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
export const kilobytes = (bytes: number): number => Math.round(bytes / 10) / 100;
