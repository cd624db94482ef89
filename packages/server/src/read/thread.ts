/** The entry of the threads that read: they run compiled reads to the bytes of the response. Writers use it too. */
import { type Begin, serveThread } from '../sql/sqlite/thread.js';
import { etagsReady } from './etag.js';
import { execute } from './execute.js';

await etagsReady;
serveThread(execute as Begin);
