/**
 * Entity tags (RFC 9110, 8.8.3 and 13.1). The tag of an answer is a hash of its body; the tag of one entry begins with
 * the entry's version and a dot, so that If-Match holds whatever fields a request selects.
 */
import crypto from 'node:crypto';

/** `"hash"` or `"version.hash"`, in quotes. @param version digits of epoch milliseconds; null where none may be told. */
export const newEtag = (body: Buffer, version: string | null): string => {
  const prefix = version === null ? '' : `${Number(version).toString(36)}.`;
  return `"${prefix}${crypto.hash('sha1', body, 'base64url')}"`;
};

const entityTag = /(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/;
const oneTag = new RegExp(`^${entityTag.source}$`);
const eachTag = new RegExp(entityTag.source, 'g');

/** Whether the text is one entity tag, and so may stand in a header. */
export const isEtag = (text: string): boolean => oneTag.test(text);

/** A list as `If-Match` and `If-None-Match` have it: the tags without `W/` and quotes, or `*` for any. */
const readList = (header: string): '*' | readonly string[] =>
  header.trim() === '*' ? '*' : [...header.matchAll(eachTag)].map(([, opaque = '']) => opaque);

const opaqueOf = (etag: string): string => oneTag.exec(etag)?.[1] ?? '';

/** Of `version.hash`; a tag without a version stands for itself. */
const versionOf = (opaque: string): string => opaque.split('.', 1)[0] ?? '';

/**
 * Whether `If-None-Match` names the tag. Weak and strong tags are equal: a proxy that compresses makes strong tags weak.
 */
export const namesEtag = (header: string, etag: string): boolean => {
  const list = readList(header);
  return list === '*' || list.includes(opaqueOf(etag));
};

/** Whether `If-Match` names the version that the tag of an entry has; a header that holds no tag names none. */
export const namesVersion = (header: string, etag: string): boolean => {
  const list = readList(header);
  return list === '*' || list.some((it) => versionOf(it) === versionOf(opaqueOf(etag)));
};
