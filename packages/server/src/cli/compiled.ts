/**
 * Runs the bundle (build.mjs) with what V8 compiled of it in an earlier start. Node's own compile cache keeps a module as it was
 * before it ran, so every start would compile again the two thousand functions that it calls; a script can be kept when they have
 * been called.
 */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import v8 from 'node:v8';
import vm from 'node:vm';
import { crc32 } from 'node:zlib';

/** For the command line, which is part of the bundle. */
export interface Compiled {
  /** From now on, until `save`, scripts are taken from this folder. */
  keepIn(folder: string): void;
  /** Writes what the folder does not have, with all functions called so far. V8's flags must be those of the start of the process. */
  save(): void;
}

type Wrapper = (exports: object, require: (name: string) => unknown, module: object, file: string, dir: string) => void;

const bundle = fileURLToPath(new URL('../bundle', import.meta.url));
const requirePackage = createRequire(import.meta.url);
const modules = new Map<string, { readonly exports: object }>();
/** What the folder does not have, by the names of the files there. */
const missing = new Map<string, { readonly script: vm.Script; readonly sum: number }>();
let folder: string | null = null;

/** @param file below `dist/bundle`. @returns what the module exports. */
export const load = (file: string): unknown => {
  const known = modules.get(file);
  if (known) return known.exports;
  const module = { exports: {} };
  modules.set(file, module);
  const require = (name: string): unknown =>
    name.startsWith('.') ? load(path.join(path.dirname(file), name)) : requirePackage(name);
  const place = path.join(bundle, file);
  try {
    wrapperOf(file, place)(module.exports, require, module, place, path.dirname(place));
  } catch (fault) {
    // whoever loads it next gets the same error, and not half a module
    modules.delete(file);
    throw fault;
  }
  return module.exports;
};

const wrapperOf = (file: string, place: string): Wrapper => {
  // joined as bytes: text would be copied again
  const source = Buffer.concat([OPENING, fs.readFileSync(place), CLOSING]);
  const sum = crc32(source);
  const name = nameOf(file);
  const cachedData = keptOf(name, sum);
  const script = new vm.Script(String(source), {
    filename: pathToFileURL(place).href,
    columnOffset: -OPENING.length,
    ...(cachedData ? { cachedData } : {}),
  });
  if (folder !== null && (!cachedData || script.cachedDataRejected)) missing.set(name, { script, sum });
  return script.runInThisContext() as Wrapper;
};

/** Without an extension: no tool that looks for code in the project's folder may take it for code. */
const nameOf = (file: string): string => file.replaceAll(/[\\/]/g, '-').replace(/\.cjs$/, '');

/** What Node puts around a CommonJS module. */
const OPENING = Buffer.from('(function (exports, require, module, __filename, __dirname) {');
const CLOSING = Buffer.from('\n})');

/** Before what V8 has compiled: checksums of the source and of that, because V8 compares the source's length only. */
const HEADER_BYTES = 8;

const keptOf = (name: string, sum: number): Buffer | null => {
  if (folder === null) return null;
  try {
    const bytes = fs.readFileSync(path.join(folder, name));
    const kept = bytes.subarray(HEADER_BYTES);
    return bytes.readUInt32LE(0) === sum && bytes.readUInt32LE(4) === crc32(kept) ? kept : null;
  } catch {
    // the first start of this version, or nothing can be kept there
    return null;
  }
};

export const compiled: Compiled = {
  keepIn: (given) => {
    // V8 rejects what another version of it has compiled, or other flags
    folder = path.join(given, `${process.version}-${v8.cachedDataVersionTag().toString(16)}-bundle`);
  },
  save: () => {
    if (folder === null) return;
    try {
      if (missing.size > 0) fs.mkdirSync(folder, { recursive: true });
      for (const [name, { script, sum }] of missing) {
        const kept = script.createCachedData();
        const header = Buffer.alloc(HEADER_BYTES);
        header.writeUInt32LE(sum, 0);
        header.writeUInt32LE(crc32(kept), 4);
        // never half a file, and workers may start at the same time
        const file = path.join(folder, name);
        fs.writeFileSync(`${file}.${process.pid}`, Buffer.concat([header, kept]), { mode: 0o600 });
        fs.renameSync(`${file}.${process.pid}`, file);
      }
    } catch {
      // the next start compiles again
    }
    missing.clear();
    folder = null;
  },
};
