// The bundle, as `dovetail start` runs it, in a process of its own: `node serve.mjs <project folder>`. Says when it listens; `npm test` builds it.
process.argv.splice(2, 1, 'start', '--project', process.argv[2]);
await import('../../dist/bundle/cli/program.js');
process.send('ready');
