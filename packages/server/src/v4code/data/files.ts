/** Files of forms as project code sees them (formidable's names), and what it gives back as files to store. */
import { createReadStream, createWriteStream } from 'node:fs';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import isEqual from 'lodash/isEqual.js';
import type { Form, Received } from '../../media/receive.js';
import { isCallable, isMembers, type Members } from '../loading/parts.js';
import { ValidationError } from '../strapi-utils/errors.js';
import { requestContext } from './scope.js';

/** A file of a form: `ctx.request.files.NAME`. It exists until the request has been answered. */
export interface CodeFile {
  size: number;
  path: string;
  name: string;
  type: string;
  lastModifiedDate: Date;
  hash: null;
  /** Newer names of the same. */
  filepath: string;
  originalFilename: string;
  mimetype: string;
}

const codeFile = ({ path: place, fileName, type, bytes }: Received): CodeFile => ({
  size: bytes,
  path: place,
  name: fileName,
  type,
  lastModifiedDate: new Date(),
  hash: null,
  filepath: place,
  originalFilename: fileName,
  mimetype: type,
});

/** A form as v4 gives it to code: what occurs several times is a list. */
export const shownForm = ({ fields, files }: Form): { readonly body: Members; readonly files: Members } => ({
  body: collected(fields.map(({ name, value }) => [name, value])),
  files: collected(files.map((it) => [it.field, codeFile(it)])),
});

const collected = (entries: readonly (readonly [string, unknown])[]): Members => {
  const found = new Map<string, unknown>();
  for (const [name, value] of entries) {
    const known = found.get(name);
    if (known === undefined) found.set(name, value);
    else found.set(name, Array.isArray(known) ? [...(known as readonly unknown[]), value] : [known, value]);
  }
  return Object.fromEntries(found);
};

/** Files under the names of their fields. Each may be one of a request, or any `{ path, name, type }` that code has made. */
export const receivedFiles = async (files: unknown, prefix = ''): Promise<readonly Received[]> => {
  if (!isMembers(files)) return [];
  const received: Received[] = [];
  for (const [name, given] of Object.entries(files))
    for (const file of [given].flat()) if (file != null) received.push(await receivedFile(file, prefix + name));
  return received;
};

export const receivedFile = async (file: unknown, field: string): Promise<Received> => {
  if (!isMembers(file) || isOfQuery(file)) throw notOfForm();
  const { path: own, filepath, name, originalFilename, type, mimetype } = file;
  const place = own ?? filepath;
  const fileName = name ?? originalFilename;
  if (typeof place !== 'string' || typeof fileName !== 'string')
    throw new TypeError(`the file of "${field}" has no path or no name: ${WITHOUT_CONTENT}`);
  refuseClientsPath(place);
  const { size: bytes } = await fs.stat(place);
  return { field, fileName, type: String(type ?? mimetype ?? ''), path: place, bytes };
};

/**
 * Runs work with files that have a path: what code has in memory (`buffer`, `stream`, `getStream`) is written to the disk first, and
 * removed afterwards.
 */
export const withStaged = async <T>(given: unknown, work: (staged: unknown) => Promise<T>): Promise<T> => {
  const files = [given].flat();
  if (!files.some(isInMemory)) return work(given);
  const dir = await fs.mkdtemp(path.join(os.tmpdir(), 'dovetail-files-'));
  try {
    const staged: unknown[] = [];
    for (const [i, file] of files.entries())
      staged.push(isInMemory(file) ? await stagedFile(file, path.join(dir, String(i))) : file);
    return await work(Array.isArray(given) ? staged : staged[0]);
  } finally {
    await fs.rm(dir, { recursive: true, force: true });
  }
};

/** What clients write is JSON: they cannot give any of these. */
const isInMemory = (file: unknown): file is Members =>
  isMembers(file) &&
  (file['buffer'] instanceof Uint8Array || isStream(file['stream']) || isCallable(file['getStream']));

/** Also one of the package `readable-stream`. */
const isStream = (value: unknown): value is Readable =>
  value !== null && typeof value === 'object' && 'pipe' in value && isCallable(value.pipe);

/** Opens what a file has, be it in memory or on the disk. */
export const opening = (file: Members): (() => Readable) => {
  const { buffer, stream, getStream, path: own, filepath } = file;
  return () => {
    const place = own ?? filepath;
    if (buffer instanceof Uint8Array) return Readable.from([buffer]);
    if (isStream(stream)) return stream;
    if (!isCallable(getStream) && typeof place === 'string') {
      refuseClientsPath(place);
      return createReadStream(place);
    }
    const opened = isCallable(getStream) ? getStream() : undefined;
    if (!isStream(opened)) throw new TypeError(WITHOUT_CONTENT);
    return opened;
  };
};

const WITHOUT_CONTENT = 'a file has one of path, buffer, stream, and getStream, which returns a stream';

const stagedFile = async (file: Members, place: string): Promise<Members> => {
  const { buffer: _buffer, stream: _stream, getStream: _getStream, filepath: _filepath, ...rest } = file;
  await pipeline(opening(file)(), createWriteStream(place));
  return { ...rest, path: place };
};

const notOfForm = (): ValidationError => new ValidationError('Files are sent as multipart/form-data');

/** A client's `?files[cover][path]=…`, which code spreads with the rest of a query. */
const isOfQuery = (file: Members): boolean => {
  const { request } = (requestContext() ?? {}) as { readonly request?: { readonly query?: Members } };
  return Object.values({ ...(request?.query?.['files'] as object | undefined) }).some((it) => isEqual(it, file));
};

/** Code may hand on a whole body (`entityService.create(uid, ctx.request.body)`): what clients write is no file of this machine. */
const refuseClientsPath = (place: string): void => {
  const { request, params } = (requestContext() ?? {}) as {
    readonly request?: { readonly body?: unknown; readonly query?: unknown };
    readonly params?: unknown;
  };
  if (request && [request.body, request.query, params].some((it) => mentions(it, path.resolve(place))))
    throw notOfForm();
};

/** Also inside of JSON that is a text (the field `data` of a form), and in other spellings of the path. */
const mentions = (given: unknown, place: string): boolean => {
  const values = [given];
  for (const value of values) {
    if (typeof value === 'string') {
      if (value.includes(place) || path.resolve(value) === place) return true;
      const inside = objectIn(value);
      if (inside !== null) values.push(inside);
    } else if (value !== null && typeof value === 'object') for (const it of Object.values(value)) values.push(it);
  }
  return false;
};

/** What a text of JSON holds, also one inside of a text; null for other texts. */
const objectIn = (text: string): unknown => {
  if (!/^\s*[[{"]/.test(text)) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** The form as code has left it: what it took out of `files` is not stored. */
export const formAsLeft = async (body: unknown, files: unknown, { dir }: Form): Promise<Form> => ({
  fields: Object.entries(isMembers(body) ? body : {}).flatMap(([name, given]) =>
    [given].flat().flatMap((it) => {
      // code may have emptied a field: JSON has no text for undefined
      const value = typeof it === 'string' ? it : (JSON.stringify(it) as string | undefined);
      return value === undefined ? [] : [{ name, value }];
    }),
  ),
  files: await receivedFiles(files),
  dir,
});

/** What an entry is written with: of a form the text of its field `data`, and the files `files.NAME`, by `NAME`. */
export interface EntryBody {
  readonly data: unknown;
  readonly files: Members;
}

interface BodyRequest {
  readonly body?: unknown;
  readonly files?: unknown;
}

/** `parseMultipartData` of `@strapi/utils`, for forms and for other bodies. */
export const entryBodyOf = ({ body, files }: BodyRequest): EntryBody => {
  const given = isMembers(body) ? body['data'] : undefined;
  if (!isMembers(files)) return { data: given, files: {} };
  if (given === undefined || given === '')
    throw new ValidationError(`When using multipart/form-data you need to provide your data in a JSON 'data' field.`);
  return { data: typeof given === 'string' ? parsedData(given) : given, files: placedFiles(files) };
};

const parsedData = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new ValidationError(`Invalid 'data' field. 'data' should be a valid JSON.`);
  }
};

const placedFiles = (files: Members): Members =>
  Object.fromEntries(
    Object.entries(files).map(([name, file]) => {
      if (!/^files[.[]./.test(name))
        throw new ValidationError(
          `When using multipart/form-data you need to provide your files by prefixing them with the 'files'. For example, when a media file is named "avatar", make sure the form key name is "files.avatar"`,
        );
      return [name.replace(/^files\.?/, ''), file];
    }),
  );
