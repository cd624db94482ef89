/** The Node.js that this program runs on: which versions are supported, and how much young memory a server gets. */
import process from 'node:process';

/** In words, for messages; `engines` in package.json says the same. */
export const supportedNode = '22.18 or later, 24, 26 or later';

/** @param version as in `process.versions.node`. Odd versions are supported by nobody for long. */
export const isSupported = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === 22) return minor >= 18;
  return major === 24 || major >= 26;
};

/**
 * V8's young generation grows to what the version's default allows, 100 MB and more for a server that makes large
 * answers; with 8 MB a space it answers as fast in two thirds of the memory. V8 takes the bound at the start of a process
 * only, so the process replaces itself, under the same id. A bound that the caller has set stays, and so does a process
 * that cannot be replaced: on Windows, and one with a channel to its parent.
 */
export const boundYoungGeneration = (): void => {
  const flag = '--max-semi-space-size';
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (given.includes(flag) || process.platform === 'win32' || process.connected) return;
  const args = [process.execPath, `${flag}=8`, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, args, process.env);
};
