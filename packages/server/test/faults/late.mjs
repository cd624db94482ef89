// `node late.mjs <project folder>`: the built server, which soon says that it waits for `bootstrap`; `npm test` builds it.
import { limits } from '../../dist/limits.js';

Object.assign(limits, { startHookMs: 50 });
await (await import('../../dist/cli/start.js')).start(process.argv[2]);
