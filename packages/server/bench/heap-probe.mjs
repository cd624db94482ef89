/** Loaded into a server by memory.mjs: on SIGUSR2 writes the bytes of the main thread's heap after a full collection to a file. */
import fs from 'node:fs';
import { isMainThread } from 'node:worker_threads';

if (isMainThread)
  process.on('SIGUSR2', () => {
    globalThis.gc();
    globalThis.gc();
    const file = process.env.BENCH_HEAP_FILE;
    fs.writeFileSync(`${file}.new`, String(process.memoryUsage().heapUsed));
    fs.renameSync(`${file}.new`, file);
  });
