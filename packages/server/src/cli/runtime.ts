/** The Node.js runtime: supported versions, and the bounds of V8's heap. */
import v8 from 'node:v8';

/** For messages; must match `engines` in package.json. */
export const supportedNode = '22 (22.18 or later), 24, or 26 and later';

/** @param version as in `process.versions.node`. Odd releases never become LTS, so they are not supported. */
export const isSupported = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major === 22) return minor >= 18;
  return major === 24 || major >= 26;
};

/**
 * Bounds V8's young generation: that of a server with large responses would grow to 100 MB and more, and with it the buffers that
 * garbage holds. On PostgreSQL a page with `populate=*` took the process 3.2 ms of CPU with semi-spaces of 16 MB, 5 with 4 and 7
 * with 1; on SQLite, where threads make the responses, they hardly matter, and with 8 or 16 MB take 40 to 60 MB more: those are
 * buffers of responses that wait to be collected. This limit and those of the allocator are read only at process start, so the
 * process replaces itself (exec) and keeps its id. Limits set by the user are kept. The process is not replaced on Windows or
 * if it has an IPC channel to its parent.
 */
export const boundHeap = (): void => {
  const flag = '--max-semi-space-size';
  // this heap has read its limit by now: in threads, which are given theirs, the flag would take precedence
  v8.setFlagsFromString(`${flag}=0`);
  const given = [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].join(' ');
  if (given.includes(flag) || process.platform === 'win32' || process.connected) return;
  const args = [process.execPath, `${flag}=4`, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, args, { ...allocator, ...process.env });
};

/**
 * Bounds the growth of V8's heap, also in threads: all of it is collected when it has doubled; by V8's own rule it grows to four times
 * what is alive. (At two fifths a server takes 30 to 40 MB less, and a quarter more CPU for large responses, whose buffers count as
 * growth.) To be called when everything is loaded: with another flag V8 rejects code that it has compiled before, even that of Node's own
 * modules.
 */
export const boundGrowth = (): void => v8.setFlagsFromString('--heap-growing-percent=100');

/**
 * Each thread has a heap of its own in glibc: with a single one they waited for each other forty times in a page with `populate=*`, which
 * took 2.8 ms of CPU instead of 2.4. Blocks of more than 2 MB are mapped and given back for each use, and so is an end of a heap
 * that is longer than that; the texts of large responses, of which each takes several such blocks, stay below: new pages for all of
 * them were up to a fifth of the CPU. With half a megabyte, and one heap, a server took 5 MB less.
 */
const allocator = { MALLOC_ARENA_MAX: '8', MALLOC_MMAP_THRESHOLD_: '2097152', MALLOC_TRIM_THRESHOLD_: '2097152' };
