// `dovetail start` with the bundle, in a process of its own: `node serve.mjs <project folder>`. Says when it listens; `npm test` builds it.
process.argv.splice(2, 1, 'start', '--project', process.argv[2]);
await import('../../dist/cli/main.js');
process.send('ready');
