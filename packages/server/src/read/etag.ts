/**
 * Entity tags (RFC 9110, 8.8.3 and 13.1). The tag of an answer is a hash of its body, that of a list a hash of its entries'
 * hashes; the tag of one entry begins with the entry's version and a dot, so that If-Match holds whatever fields a request
 * selects.
 */
import newXxHash, { type XXHashAPI } from 'xxhash-wasm';
import type { EntryType } from '../model/model.js';

/** `"hash"` or `"version.hash"`, in quotes. @param version digits of epoch milliseconds; null if it must not be disclosed. */
export const newEtag = (body: Uint8Array, version: string | null): string => {
  const prefix = version === null ? '' : `${Number(version).toString(36)}.`;
  return `"${prefix}${digestOf(body)}"`;
};

/** A tag that names all answers with one entry of this version, for `If-Match`. */
export const versionEtag = (version: string): string => `"${Number(version).toString(36)}."`;

/** The tag of a list. @param digests those of its entries, joined. @param around what stands before and after them. */
export const newListEtag = (digests: string, around: readonly [start: string, end: string]): string =>
  `"${digestOf(Buffer.from(around.join(digests)))}"`;

/**
 * Of the bytes of an entry; of `DIGEST_LENGTH` characters. Not cryptographic, because SHA-1 takes six times as long, a tenth of a list: a
 * tag tells versions of one response apart, and whoever may write both can make them alike. It must not tell responses apart.
 */
export const digestOf = (bytes: Uint8Array): string => {
  if (bytes.length <= PIECE_BYTES) return textOf(xxHash.h64Raw(bytes));
  const hash = xxHash.create64();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) hash.update(bytes.subarray(at, at + PIECE_BYTES));
  return textOf(hash.digest());
};
export const DIGEST_LENGTH = 13;

let xxHash: XXHashAPI;
/** To be awaited before tags are made: WebAssembly is compiled in the background. */
export const etagsReady: Promise<void> = newXxHash().then((it) => {
  xxHash = it;
});

/** What is hashed is copied to memory of WebAssembly, which only grows. */
const PIECE_BYTES = 64 * 1024;

const textOf = (hash: bigint): string => hash.toString(32).padStart(DIGEST_LENGTH, '0');

const entityTag = /(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/;
const oneTag = new RegExp(`^${entityTag.source}$`);
const eachTag = new RegExp(entityTag.source, 'g');

/** One tag of a header. */
export interface EntityTag {
  /** Without `W/` and quotes. */
  readonly opaque: string;
  /** Epoch milliseconds; null in tags without a version. */
  readonly version: number | null;
}

/** The conditions of a write (RFC 9110, 13.1). A list without a valid tag names no entry. */
export interface Precondition {
  /** `If-Match`: the entry must exist and be one of these. */
  readonly match: '*' | readonly EntityTag[] | null;
  /** `If-None-Match`: the entry must not exist or be none of these. */
  readonly noneMatch: '*' | readonly EntityTag[] | null;
  /** `If-Unmodified-Since`: epoch milliseconds of a whole second after which the entry must not have changed. */
  readonly unmodifiedSince: number | null;
}

/** A list as `If-Match` and `If-None-Match` have it. */
const readList = (header: string): '*' | readonly string[] =>
  header.trim() === '*' ? '*' : [...header.matchAll(eachTag)].map(([, opaque = '']) => opaque);

const opaqueOf = (etag: string): string => oneTag.exec(etag)?.[1] ?? '';

/** The headers of a request; null without any condition. An invalid date is ignored, and so is a date beside `If-Match`. */
export const readPrecondition = (headers: {
  readonly 'if-match'?: string | undefined;
  readonly 'if-none-match'?: string | undefined;
  readonly 'if-unmodified-since'?: string | undefined;
}): Precondition | null => {
  const tagsOf = (header: string | undefined) => (header === undefined ? null : readTags(header));
  const match = tagsOf(headers['if-match']);
  const noneMatch = tagsOf(headers['if-none-match']);
  const since = match === null ? Date.parse(headers['if-unmodified-since'] ?? '') : Number.NaN;
  const unmodifiedSince = Number.isNaN(since) ? null : since;
  return match === null && noneMatch === null && unmodifiedSince === null
    ? null
    : { match, noneMatch, unmodifiedSince };
};

const readTags = (header: string): '*' | readonly EntityTag[] => {
  const list = readList(header);
  if (list === '*') return list;
  return list.map((opaque) => {
    const [, version] = /^([0-9a-z]+)\./.exec(opaque) ?? [];
    return { opaque, version: version === undefined ? null : Number.parseInt(version, 36) };
  });
};

/**
 * Whether `If-None-Match` names the tag. Weak comparison: a compressing proxy turns strong tags into weak ones.
 */
export const namesEtag = (header: string, etag: string): boolean => {
  const list = readList(header);
  return list === '*' || list.includes(opaqueOf(etag));
};

/** Tags that have to be compared with the response, because the entry has no version. */
export interface UndecidedTags {
  readonly match: readonly EntityTag[] | null;
  readonly noneMatch: readonly EntityTag[] | null;
}

export const namesVersion = (tags: readonly EntityTag[], version: number): boolean =>
  tags.some((it) => it.version === version);

/** Whether one of the tags is that of the answer. */
export const namesAnswer = (tags: readonly EntityTag[], etag: string): boolean =>
  tags.some((it) => it.opaque === opaqueOf(etag));

/** Whether the tags of a type's entries contain the version: not if the time of the last change is private. */
export const tellsVersion = (type: EntryType): boolean => type.attributes.get('updatedAt')?.hidden === false;
