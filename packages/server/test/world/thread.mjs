/** `src/read/thread.ts` as the entry of a thread. */
import './sources.mjs';

await import('../../src/read/thread.ts');
