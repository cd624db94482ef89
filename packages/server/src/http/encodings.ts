/** Compression of response bodies: which encoding a client gets, and the compressed forms of kept answers. */
import crypto from 'node:crypto';
import type http from 'node:http';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import { LRUCache } from 'lru-cache';
import { limits } from '../limits.js';
import type { Ready } from '../ready.js';
import { newSingleFlight } from '../single-flight.js';

/** The best first. */
export const encodings = ['br', 'gzip'] as const;
type Compression = (typeof encodings)[number];
export type Encoding = Compression | 'identity';

/** Bytes below which compression saves less than it costs. */
export const compressedBytesMin = 1024;

/** At its default quality brotli takes longer than the request itself; 4 is about as fast as gzip. */
export const brotliOptions: zlib.BrotliOptions = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };

const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);

const compress = (body: Buffer, encoding: Compression): Promise<Buffer> =>
  encoding === 'br' ? brotli(body, brotliOptions) : gzip(body);

export interface Compressed {
  /** The encoding of a body of so many bytes for this client. */
  encodingFor(headers: http.IncomingHttpHeaders, bytes: number): Encoding;
  /** @param isKept whether the same bytes will be asked for again; the body must stay as it is then. */
  encode(body: Buffer, encoding: Encoding, isKept: boolean): Ready<Buffer>;
}

/** @param bytesMax memory for compressed bodies; 0 keeps none. */
export const newCompressed = (bytesMax: number): Compressed => {
  const kept =
    bytesMax > 0
      ? new LRUCache<string, Buffer>({
          maxSize: bytesMax,
          sizeCalculation: (bytes, key) => bytes.length + key.length + ENTRY_BYTES,
        })
      : null;
  const singleFlight = newSingleFlight<Buffer>();
  const names = new WeakMap<Buffer, string>();
  /** No other bytes can be made to have the same name, as they can to an entity tag: responses of all callers are kept here. */
  const nameOf = (body: Buffer): string => {
    const name = names.get(body) ?? crypto.hash('sha256', body, 'base64');
    names.set(body, name);
    return name;
  };
  const chosen = new LRUCache<string, Encoding>({ max: limits.acceptedEncodingsMax });
  const choose = (accepted: string): Encoding => {
    const known = chosen.get(accepted);
    if (known) return known;
    const made = negotiate(acceptedNames(accepted), [...encodings]) ?? 'identity';
    chosen.set(accepted, made);
    return made;
  };
  return {
    encodingFor: (headers, bytes) => {
      const accepted = headers['accept-encoding'];
      return accepted === undefined || bytes < compressedBytesMin || headers['x-no-compression'] !== undefined
        ? 'identity'
        : choose(String(accepted));
    },
    encode: (body, encoding, isKept) => {
      if (encoding === 'identity') return body;
      if (!isKept) return compress(body, encoding);
      const key = `${encoding} ${nameOf(body)}`;
      const known = kept?.get(key);
      if (known) return known;
      return singleFlight.join(key, async () => {
        const bytes = await compress(body, encoding);
        kept?.set(key, bytes);
        return bytes;
      });
    },
  };
};

/** `Accept-Encoding` with `*` for what every client knows: gzip, unless it says something else of that. */
export const acceptedNames = (accepted: string): string => {
  const names = codingNames(accepted);
  return names.replaceAll('*', names.includes('gzip') ? 'identity' : 'gzip');
};

/** The names of content codings as RFC 9110 compares them. */
export const codingNames = (text: string): string => text.toLowerCase().replaceAll('x-gzip', 'gzip');

/** Approximate overhead of an entry, in bytes. */
const ENTRY_BYTES = 256;
