/** `file` of `@strapi/utils`: sizes and streams. A kilobyte is 1000 bytes. */
import { type Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

const units = ['Bytes', 'KB', 'MB', 'GB', 'TB'];

const bytesToHumanReadable = (bytes: number): string => {
  const count = Number(bytes);
  if (count === 0) return '0 Bytes';
  const unit = Math.floor(Math.log(count) / Math.log(1000));
  return `${Math.round(count / 1000 ** unit)} ${units[unit]}`;
};

const getStreamSize = async (stream: Readable): Promise<number> => {
  let size = 0;
  for await (const chunk of stream) size += Buffer.byteLength(chunk as Buffer | string);
  return size;
};

export const file = {
  bytesToHumanReadable,
  bytesToKbytes: (bytes: number) => Math.round((Number(bytes) / 1000) * 100) / 100,
  kbytesToBytes: (kilobytes: number) => Number(kilobytes) * 1000,
  getStreamSize,
  streamToBuffer: (stream: Readable) => buffer(stream),
  /** Takes whatever is written, and keeps nothing. */
  writableDiscardStream: (options: object = {}) =>
    new Writable({ ...options, write: (_chunk, _encoding, done) => done() }),
};
