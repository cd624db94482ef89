/**
 * Receives `multipart/form-data`: text fields into memory, files to a folder on the disk as they arrive. The request is
 * read only as fast as the disk takes it.
 */
import { createWriteStream } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { type Issue, issue, Refusal } from '../errors.js';
import { limits } from '../limits.js';

/** A form that has not been read yet: the body of such a request, so that permissions are checked before it arrives. */
export class IncomingForm {
  readonly contentType: string;
  readonly stream: Readable;
  /** What the client announced; null if it did not. */
  readonly bytes: number | null;
  /** Called with what keeps its files from being stored; null where no request is known. */
  readonly onFault: ((fault: unknown) => void) | null;
  /** Set by whoever has read it already, and removes its files. */
  received: Form | null = null;
  constructor(contentType: string, stream: Readable, bytes: number | null, onFault: ((fault: unknown) => void) | null) {
    this.contentType = contentType;
    this.stream = stream;
    this.bytes = bytes;
    this.onFault = onFault;
  }
}

export interface Form {
  /** Text fields in the order of the request. A name may repeat. */
  readonly fields: readonly FormField[];
  /** Files in the order of the request. */
  readonly files: readonly Received[];
  /** The folder that holds the files; what else is put there is removed with them. */
  readonly dir: string;
}

export interface FormField {
  readonly name: string;
  readonly value: string;
}

/** A received file. It exists until the work that `withForm` runs has ended. */
export interface Received {
  /** The name of the form field: `files`, `files.cover`. */
  readonly field: string;
  /** As the client gave it: not checked. */
  readonly fileName: string;
  /** The media type that the client gave, in lower case and without parameters; `text/plain` if it gave none (RFC 7578). */
  readonly type: string;
  readonly path: string;
  readonly bytes: number;
}

export interface FormBounds {
  /** Bytes of all files of a form together. Above: 413. */
  readonly fileBytesMax: number;
  /** Milliseconds until the whole form must have arrived. Above: 408. */
  readonly msMax: number;
  /** Milliseconds without any byte. Above: 408. */
  readonly stalledMsMax: number;
}

/** Runs work with local files. Its failures are logged, and thrown as a `Refusal` (`stagingFault`). */
export type OnDisk = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Runs the work with a received form and removes the files, whatever happens. Throws `Refusal` for a form that is
 * malformed, too large or too slow.
 * @param dir a folder that does not exist yet.
 */
export const withForm = async <T>(
  incoming: IncomingForm,
  dir: string,
  bounds: FormBounds,
  onDisk: OnDisk,
  work: (form: Form) => Promise<T>,
): Promise<T> => {
  if (incoming.received) return work(incoming.received);
  try {
    return await work(await onDisk(() => receive(incoming, dir, bounds)));
  } finally {
    await fs.rm(dir, { recursive: true, force: true });
  }
};

/**
 * Runs the work with copies of the files, which are removed afterwards: storing a file takes it away.
 * @param dir a folder that does not exist yet.
 */
export const withCopies = async <T>(
  files: readonly Received[],
  dir: string,
  onDisk: OnDisk,
  work: (copies: readonly Received[]) => Promise<T>,
): Promise<T> => {
  try {
    return await work(await onDisk(() => copiesIn(dir, files)));
  } finally {
    await fs.rm(dir, { recursive: true, force: true });
  }
};

const copiesIn = async (dir: string, files: readonly Received[]): Promise<readonly Received[]> => {
  await fs.mkdir(dir, { recursive: true });
  const copies: Received[] = [];
  for (const [i, file] of files.entries()) {
    const copy = path.join(dir, String(i));
    await fs.copyFile(file.path, copy, fs.constants.COPYFILE_FICLONE);
    copies.push({ ...file, path: copy });
  }
  return copies;
};

const receive = async (incoming: IncomingForm, dir: string, bounds: FormBounds): Promise<Form> => {
  const { stream, bytes: announced } = incoming;
  if (announced !== null && announced > bounds.fileBytesMax + OVERHEAD_MAX) {
    stream.resume();
    throw new Refusal(issue('form.too-large', []));
  }
  const parser = newParser(incoming);
  const fields: FormField[] = [];
  const files: Promise<Received>[] = [];
  const contents: Readable[] = [];
  let fieldBytes = 0;
  let fileBytes = 0;

  const stage = async (field: string, content: Readable, fileName: string, type: string): Promise<Received> => {
    const file = path.join(dir, String(files.length));
    let bytes = 0;
    async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        bytes += chunk.length;
        fileBytes += chunk.length;
        if (fileBytes > bounds.fileBytesMax) throw new Refusal(issue('form.too-large', []));
        yield chunk;
      }
    }
    await pipeline(content, counted, createWriteStream(file, { flags: 'wx' }));
    return { field, fileName, type, path: file, bytes };
  };

  const timers: NodeJS.Timeout[] = [];
  try {
    await fs.mkdir(dir, { recursive: true });
    await new Promise<void>((resolve, reject) => {
      const refuse = (it: Issue): void => reject(new Refusal(it));
      const tooSlow = (): void => refuse(issue('http.too-slow', []));
      const stalled = setTimeout(tooSlow, bounds.stalledMsMax);
      timers.push(stalled, setTimeout(tooSlow, bounds.msMax));
      stream.on('data', () => stalled.refresh());
      stream.on('error', () => refuse(malformed()));
      // the connection was closed
      stream.on('close', () => stream.readableEnded || refuse(malformed()));
      parser.on('error', () => refuse(malformed()));
      parser.on('partsLimit', () => refuse(issue('form.too-many-parts', [], { max: limits.formPartsMax })));
      parser.on('filesLimit', () => refuse(issue('form.too-many-files', [], { max: limits.formFilesMax })));
      parser.on('field', (name: string | undefined, value: string, _nameTruncated: boolean, isTruncated: boolean) => {
        fieldBytes += value.length;
        if (isTruncated || fieldBytes > limits.bodyBytesMax) refuse(issue('http.body-too-large', []));
        else fields.push({ name: name ?? '', value });
      });
      parser.on(
        'file',
        (name: string | undefined, content: Readable, fileName: string, _encoding: string, type: string) => {
          const file = stage(name ?? '', content, unescaped(fileName), type);
          file.catch(reject);
          files.push(file);
          contents.push(content);
        },
      );
      parser.on('finish', resolve);
      stream.pipe(parser);
    });
    const received = await Promise.all(files);
    // a file input in which nothing was chosen
    return { fields, files: received.filter((it) => it.fileName !== '' || it.bytes > 0), dir };
  } catch (fault) {
    stream.unpipe(parser);
    // the rest of the request is discarded
    stream.resume();
    parser.destroy();
    for (const content of contents) content.destroy(new Refusal(malformed()));
    await Promise.allSettled(files);
    throw fault;
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
};

/** More than text fields and the headers of parts take. */
const OVERHEAD_MAX = limits.bodyBytesMax + limits.formPartsMax * 16 * 1024;

const malformed = (): Issue => issue('form.malformed', []);

/** Every part with a file name is a file. */
const newParser = ({ contentType }: IncomingForm): BusboyInstance => {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // a slash in a name is refused, not cut off
      preservePath: true,
      isPartAFile: (_field, _type, fileName) => fileName !== undefined,
      limits: {
        fieldSize: limits.bodyBytesMax,
        parts: limits.formPartsMax,
        files: limits.formFilesMax,
        headerPairs: 20,
      },
    });
  } catch {
    // no boundary
    throw new Refusal(malformed());
  }
};

/** The three characters that browsers escape in a name. */
const unescaped = (name: string): string => name.replaceAll(/%22|%0d|%0a/gi, (escaped) => decodeURIComponent(escaped));

/** An error of a local disk as a `Refusal`; any other stays. */
export const stagingFault = (fault: unknown): unknown => {
  if (!(fault instanceof Error) || !('syscall' in fault)) return fault;
  const { code } = fault as NodeJS.ErrnoException;
  return new Refusal(issue(code === 'ENOSPC' || code === 'EDQUOT' ? 'media.disk-full' : 'media.store-failed', []));
};
