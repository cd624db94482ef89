#!/usr/bin/env node
/** The command line entry point. Checks the Node.js version before loading anything else. */
import { boundHeap, isSupported, supportedNode } from './runtime.js';

if (isSupported(process.versions.node)) {
  if (process.argv[2] === 'start') boundHeap();
  // program.ts, bundled by build.mjs
  await import(new URL('../bundle/cli/program.js', import.meta.url).href);
} else {
  process.stderr.write(`Dovetail needs Node.js ${supportedNode}; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
}
