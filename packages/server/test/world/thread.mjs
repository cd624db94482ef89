/** `src/read/thread.ts` as the entry of a thread. */
import { flushCompileCache } from 'node:module';
import './sources.mjs';

await import('../../src/read/thread.ts');
// for the threads after it: by itself the process keeps what it has compiled when it ends
flushCompileCache();
