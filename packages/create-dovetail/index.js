#!/usr/bin/env node
// `npm create dovetail NAME` is `dovetail init NAME`.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

process.argv.splice(2, 0, 'init');
const dovetail = pathToFileURL(createRequire(import.meta.url).resolve('dovetail/package.json'));
await import(new URL('bin/dovetail.js', dovetail).href);
