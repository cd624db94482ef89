/** Which versions of Node.js are supported; `engines` in package.json says the same. */

/** In words, for messages. */
export const supportedNode = '22.18 or later, 24, 26 or later';

/** @param version as in `process.versions.node`. Odd versions are never supported for long. */
export const isSupported = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === 22) return minor >= 18;
  return major === 24 || major >= 26;
};
