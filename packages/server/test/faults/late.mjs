// `node late.mjs start|dev <project folder>`: the built server, which soon says that it waits for `bootstrap`; `npm test` builds it.
import { limits } from '../../dist/limits.js';

Object.assign(limits, { startHookMs: 50 });
const commands = { start: '../../dist/cli/start.js', dev: '../../dist/cli/dev/dev.js' };
const [, , command, dir] = process.argv;
await (await import(commands[command]))[command](dir);
