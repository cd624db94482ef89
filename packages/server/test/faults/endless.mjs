// `node endless.mjs start|dev <project folder>`: the built server, which looks soon whether its thread still runs; `npm test` builds it.
import { limits } from '../../dist/limits.js';

Object.assign(limits, { loopBeatMs: 50, loopBlockedMs: 500 });
const [, , command, dir] = process.argv;
if (command === 'start') await (await import('../../dist/cli/start.js')).start(dir);
else await (await import('../../dist/cli/dev/dev.js')).dev(dir);
