/** Uploaded files. */
import type { Id } from './input.js';
import type { Checked, EntryQuery, NestedSelection, NoQuery } from './query.js';
import { getBody, type RequestOptions, type Send, type UploadOptions } from './request.js';
import type { BareEntry } from './result.js';
import type { EntryType } from './schema.js';
import { encodeQuery } from './url.js';

export interface FileInfo {
  readonly name?: string;
  readonly alternativeText?: string | null;
  readonly caption?: string | null;
  /** The id of a folder of the media library; administrators only. */
  readonly folder?: number | null;
}

/** The entry and the attribute that the files are added to. */
export interface UploadTarget {
  /** The type's uid, such as `api::article.article`. */
  readonly ref: string;
  readonly refId: Id;
  readonly field: string;
}

/** A `File` has a name of its own. */
export type UploadFile = File | { readonly content: Blob; readonly name: string };

export interface Files<T extends EntryType> {
  /** @param info in the order of the files. */
  upload(
    files: readonly UploadFile[],
    details?: { readonly info?: readonly FileInfo[]; readonly target?: UploadTarget },
    options?: UploadOptions,
  ): Promise<BareEntry<T>[]>;
  /** The same file with another content; its URL stays. */
  replace(id: Id, file: UploadFile, info?: FileInfo, options?: UploadOptions): Promise<BareEntry<T>>;
  describe(id: Id, info: FileInfo, options?: RequestOptions): Promise<BareEntry<T>>;
  find<const Q extends NestedSelection<T> = NoQuery>(
    query?: Checked<Q, NestedSelection<T>>,
    options?: RequestOptions,
  ): Promise<BareEntry<T, Q>[]>;
  findOne<const Q extends EntryQuery<T> = NoQuery>(
    id: Id,
    query?: Checked<Q, EntryQuery<T>>,
    options?: RequestOptions,
  ): Promise<BareEntry<T, Q>>;
  /** How many files the query finds. */
  count<const Q extends NestedSelection<T> = NoQuery>(
    query?: Checked<Q, NestedSelection<T>>,
    options?: RequestOptions,
  ): Promise<number>;
  delete(id: Id, options?: RequestOptions): Promise<BareEntry<T>>;
}

export const newFiles = (send: Send) => {
  const post = async (form: FormData, query: string, options?: UploadOptions): Promise<unknown> =>
    (await send({ ...options, method: 'POST', path: '/upload', query, body: form })).body;
  const pathOf = (id: Id): string => `/upload/files/${encodeURIComponent(String(id))}`;
  return {
    upload: (
      files: readonly UploadFile[],
      { info, target }: { readonly info?: readonly FileInfo[]; readonly target?: UploadTarget } = {},
      options?: UploadOptions,
    ) => {
      const form = new FormData();
      for (const [name, value] of Object.entries(target ?? {})) form.append(name, String(value));
      for (const it of info ?? []) form.append('fileInfo', JSON.stringify(it));
      for (const file of files) appendFile(form, file);
      return post(form, '', options);
    },
    replace: (id: Id, file: UploadFile, info?: FileInfo, options?: UploadOptions) => {
      const form = new FormData();
      if (info) form.append('fileInfo', JSON.stringify(info));
      appendFile(form, file);
      return post(form, encodeQuery({ id }), options);
    },
    describe: (id: Id, info: FileInfo, options?: RequestOptions) => {
      const form = new FormData();
      form.append('fileInfo', JSON.stringify(info));
      return post(form, encodeQuery({ id }), options);
    },
    find: (query?: object, options?: RequestOptions) => getBody(send, '/upload/files', query, options),
    findOne: (id: Id, query?: object, options?: RequestOptions) => getBody(send, pathOf(id), query, options),
    count: (query?: object, options?: RequestOptions) => getBody(send, '/upload/files/count', query, options),
    delete: async (id: Id, options?: RequestOptions) =>
      (await send({ ...options, method: 'DELETE', path: pathOf(id) })).body,
  };
};

const appendFile = (form: FormData, file: UploadFile): void => {
  if (file instanceof Blob) form.append('files', file);
  else form.append('files', file.content, file.name);
};
