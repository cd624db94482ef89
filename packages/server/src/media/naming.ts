/** Names, extensions and media types of uploads, as v4 derives them. */
import crypto from 'node:crypto';
import path from 'node:path';
import slugify from '@sindresorhus/slugify';
import mimeTypes from 'mime-types';

/** Whether a name can be a file's: those that some file system refuses are refused, as by v4. */
export const isFileName = (name: string): boolean =>
  name !== '' &&
  name.length <= 255 &&
  name.isWellFormed() &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  !/[<>:"/\\|?*\u0000-\u001f]/.test(name) &&
  !/^\.{1,2}$/.test(name) &&
  !/^(?:con|prn|aux|nul|com\d|lpt\d)$/i.test(name);

/**
 * The media type of a file. A part without a type is `text/plain` (RFC 7578), so that one is believed only if the name
 * does not say that the file is something other than text.
 */
export const mediaTypeOf = (given: string, fileName: string): string => {
  const named = mimeTypes.lookup(fileName);
  const isGiven = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(given);
  if (isGiven && (given !== 'text/plain' || named === false || named.startsWith('text/'))) return given;
  return named === false ? 'application/octet-stream' : named;
};

/** With its dot: that of the name, its case kept, if it is fit for a URL; else that of the media type. */
export const extensionOf = (fileName: string, mediaType: string): string => {
  const ext = path.extname(fileName);
  return /^\.[\w-]{1,20}$/.test(ext) ? ext : `.${mimeTypes.extension(mediaType) || 'bin'}`;
};

/** Whether a name is that of an object that an upload has stored; `newHash` makes such names, and so does v4. */
export const isStoredName = (name: string): boolean => /^[\w-]*_[0-9a-f]{10}\.[\w-]{1,20}$/.test(name);

/**
 * Types that browsers display without running code; anything else is downloaded. Decided by the media type, because file
 * extensions mislead (`.shtml` is HTML, `.rdf` is XML, and XML may contain scripts).
 */
export const isShownInBrowsers = (mediaType: string): boolean =>
  /^(?:(?:image|video|audio|font)\/(?!.*xml)|application\/pdf$|text\/plain\b)/.test(mediaType);

/** The stored name without extension: ASCII words of the name and ten random hex digits, at most 160 characters. */
export const newHash = (name: string): string => {
  const words = slugify(path.basename(name, path.extname(name)), { separator: '_', lowercase: false });
  return `${words.slice(0, 149)}_${crypto.randomBytes(5).toString('hex')}`;
};
