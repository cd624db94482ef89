// The built server in a process of its own: `node serve.mjs <project folder>`. Says when it listens; `npm test` builds it.
import { start } from '../../dist/cli/start.js';

await start(process.argv[2]);
process.send('ready');
