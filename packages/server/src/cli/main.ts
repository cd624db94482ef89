#!/usr/bin/env node
/** The entry of the command line: an unsupported Node is told so before anything that needs a newer one is loaded. */
import { isSupported, supportedNode } from './runtime.js';

if (isSupported(process.versions.node)) await import('./program.js');
else {
  process.stderr.write(`Dovetail needs Node.js ${supportedNode}; this is ${process.versions.node}.\n`);
  process.exitCode = 1;
}
