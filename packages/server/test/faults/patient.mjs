// As serve.mjs, of modules whose limits can be set: it waits for locks until the test that holds them releases them, however slow the machine is.
import { start } from '../../dist/cli/start.js';
import { limits } from '../../dist/limits.js';

Object.assign(limits, { lockMsMax: 120_000, readMsMax: 150_000, silenceMsMax: 180_000, sqliteLockMsMax: 120_000 });
await start(process.argv[2]);
process.send('ready');
