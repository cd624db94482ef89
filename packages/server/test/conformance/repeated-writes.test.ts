/** Recorded scenarios of writes with threads on SQLite, where each takes too long in the server's thread and is repeated in another. */
import { useLimits } from '../world/limits.js';
import { testSuite } from './recorded.js';

useLimits({ smallWriteMsMax: -1, ownWorkPauseMsMax: 0 });

testSuite('core', 'writes', ['sqlite']);
