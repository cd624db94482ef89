#!/usr/bin/env node
/** The command line entry point. Checks the Node.js version before loading anything else. */
import { boundHeap, isSupported, supportedNode } from './runtime.js';

if (isSupported(process.versions.node)) {
  if (process.argv[2] === 'start') boundHeap();
  // not before: the process may have been replaced
  const { compiled, load } = await import('./compiled.js');
  // bundled by build.mjs
  const { run } = load('cli/program.cjs') as typeof import('./program.js');
  await run(compiled);
} else {
  process.stderr.write(`Dovetail needs Node.js ${supportedNode}; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
}
