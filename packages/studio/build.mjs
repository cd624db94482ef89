/**
 * Builds the Studio into `dist`, unless nothing that it is made of has changed since. The package `dovetail` copies what is
 * built here (packages/server/build.mjs); browsers get scripts and styles as they are compressed here.
 */
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { build } from 'vite';
import { licencesOf } from '../server/licences.mjs';

const here = import.meta.dirname;
process.chdir(here);

const filesIn = (folder) =>
  fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((it) => it.isFile())
    .map((it) => path.join(it.parentPath, it.name));

const inputs = [
  ...['src', 'public', '../client/dist'].flatMap(filesIn).filter((it) => !it.endsWith('.tsbuildinfo')),
  ...['index.html', 'vite.config.ts', 'build.mjs', 'package.json', '../server/licences.mjs', '../../package-lock.json'],
].sort();
const hash = createHash('sha256');
for (const file of inputs) hash.update(file).update('\0').update(fs.readFileSync(file)).update('\0');
const digest = hash.digest('hex');

/** Of the inputs that `dist` was built from. */
const mark = 'dist/.inputs';
if (!fs.existsSync(mark) || fs.readFileSync(mark, 'utf8') !== digest) {
  const { output } = await build({ root: here, logLevel: 'warn' });
  fs.writeFileSync('dist/LICENCES.txt', licencesOf(output.flatMap((it) => Object.keys(it.modules ?? {}))));
  for (const file of filesIn('dist/assets').filter((it) => /\.(js|css)$/.test(it)))
    fs.writeFileSync(`${file}.br`, zlib.brotliCompressSync(fs.readFileSync(file)));
  fs.writeFileSync(mark, digest);
}
