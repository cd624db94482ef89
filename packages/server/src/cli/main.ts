#!/usr/bin/env node
/** The entry of the command line: what depends on the Node that runs it comes before anything else is loaded. */
import { boundYoungGeneration, isSupported, supportedNode } from './runtime.js';

if (isSupported(process.versions.node)) {
  if (process.argv[2] === 'start') boundYoungGeneration();
  await import('./program.js');
} else {
  process.stderr.write(`Dovetail needs Node.js ${supportedNode}; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
}
