/** The Node.js runtime: supported versions, and the bounds of V8's heap. */
import process from 'node:process';
import v8 from 'node:v8';

/** For messages; must match `engines` in package.json. */
export const supportedNode = '22.18 or later, 24, 26 or later';

/** @param version as in `process.versions.node`. Odd releases never become LTS, so they are not supported. */
export const isSupported = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === 22) return minor >= 18;
  return major === 24 || major >= 26;
};

/**
 * Bounds the garbage that V8 keeps. The whole heap is collected when it has doubled: with V8's own rule it grows to four
 * times what is alive, which takes some 30 MB more and no less CPU. The young generation of a server with large responses
 * would grow to 100 MB and more; with 4 MB per semi-space it is as fast in two thirds of the memory, and uploads of any size
 * take some 35 MB. V8 takes that limit only at process start, so the process replaces itself (exec) and keeps its id.
 * A limit set by the user is kept. The process is not replaced on Windows or if it has an IPC channel to its parent.
 */
export const boundHeap = (): void => {
  // applies to threads too
  v8.setFlagsFromString('--heap-growing-percent=100');
  const flag = '--max-semi-space-size';
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (given.includes(flag) || process.platform === 'win32' || process.connected) return;
  const args = [process.execPath, `${flag}=4`, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, args, process.env);
};
