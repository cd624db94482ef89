/** Names of files in URLs, and which of them may be looked for on the disk. */

/** The names behind the first one of a path, such as `/uploads/a/b`; paths that cannot be decoded do not get here. */
export const namesBelow = (url: string): readonly string[] =>
  (url.split('?', 1)[0] ?? '').split('/').slice(2).map(decodeURIComponent);

/** Whether it is a plain name: encoded slashes are not separators, and no file that is served begins with a dot. */
export const isPlainName = (text: string): boolean => text !== '' && !text.startsWith('.') && !/[/\\]/.test(text);
