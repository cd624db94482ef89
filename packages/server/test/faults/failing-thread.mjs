/** A thread of the database that fails on request: `threads.test.ts` says how. */
import { parentPort } from 'node:worker_threads';
import '../world/sources.mjs';

const { serveThread } = await import('../../src/sql/sqlite/thread.ts');
const { failing } = await import('./failing.ts');

parentPort.on('message', ({ call }) => {
  if (call.statements?.some((it) => it.params.includes('end this thread'))) process.exit(7);
});
serveThread(failing);
