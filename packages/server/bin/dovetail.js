#!/usr/bin/env node
// Committed, so that npm links the command before anything is built.
import fs from 'node:fs';

const main = new URL('../dist/cli/main.js', import.meta.url);
if (fs.existsSync(main)) {
  await import(main.href);
} else {
  process.stderr.write('Dovetail is not built yet. Run: npm run build\n');
  process.exitCode = 1;
}
