/**
 * What files of v4's `config/` are called with, and where they are evaluated. It imports nothing of Dovetail's, because `adopt`
 * evaluates them in a process of its own, outside of the bundle.
 */
import fs from 'node:fs';
import path from 'node:path';
import querystring from 'node:querystring';
import { pathToFileURL } from 'node:url';

/** Reads variables of the environment, with casts: `env('HOST', '0.0.0.0')`, `env.int('PORT', 1337)`. */
export interface Env {
  (name: string, otherwise?: unknown): unknown;
  int(name: string, otherwise?: unknown): unknown;
  float(name: string, otherwise?: unknown): unknown;
  bool(name: string, otherwise?: unknown): unknown;
  json(name: string, otherwise?: unknown): unknown;
  array(name: string, otherwise?: unknown): unknown;
  date(name: string, otherwise?: unknown): unknown;
  oneOf(name: string, expected: readonly string[], otherwise?: unknown): unknown;
}

/** @param variable undefined for one that is not set. */
export const newEnv = (variable: (name: string) => string | undefined): Env => {
  const read =
    (cast: (text: string, name: string) => unknown) =>
    (name: string, otherwise?: unknown): unknown => {
      const text = variable(name);
      return text === undefined ? otherwise : cast(text, name);
    };
  return Object.assign(
    read((text) => text),
    {
      int: read((text) => Number.parseInt(text, 10)),
      float: read((text) => Number.parseFloat(text)),
      bool: read((text) => text === 'true'),
      json: read((text, name) => {
        try {
          return JSON.parse(text) as unknown;
        } catch {
          // the message would quote the text, which may hold secrets
          throw new Error(`the variable ${name} is not JSON`);
        }
      }),
      array: read((text) => {
        const inner = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
        return inner.split(',').map((it) => it.trim().replace(/^"(.*)"$/, '$1'));
      }),
      date: read((text) => new Date(text)),
      oneOf: (name: string, expected: readonly string[], otherwise?: unknown): unknown => {
        const text = variable(name);
        return text !== undefined && expected.includes(text) ? text : otherwise;
      },
    },
  );
};

/**
 * The source of a file that takes itself to be at another place: of TypeScript v4 runs what tsc has written to `dist`, and files look
 * around themselves by `__dirname`. What it imports is beside the file itself. Lines stay where they are.
 */
export const sourceAt = (file: string, place: string): string => {
  const source = fs.readFileSync(file, 'utf8');
  return place === file ? source : placedSource(source, place);
};

/** How a source begins that says where it is. */
export const PLACE = 'var __filename = ';

export const placedSource = (source: string, place: string): string =>
  `${PLACE}${JSON.stringify(place)}, __dirname = ${JSON.stringify(path.dirname(place))}; ${source}`;

/** Runs work in which `process.exit` throws: a file of the project must not end a command that looks at it. */
export const withoutExit = async <T>(work: () => Promise<T>): Promise<T> => {
  const { exit } = process;
  process.exit = (code) => {
    throw new Error(`calls process.exit(${code ?? ''})`);
  };
  try {
    return await work();
  } finally {
    process.exit = exit;
  }
};

/** The first place in a file of the folder, packages aside, that an error names: `config/server.ts`, 12. Null if there is none. */
export const placeOf = (fault: unknown, dir: string): { readonly file: string; readonly line: number } | null => {
  if (!(fault instanceof Error)) return null;
  const text = `${fault.message}\n${fault.stack ?? ''}`;
  // the folder may be gone by the time that the code fails
  const roots = fs.existsSync(dir) ? [...new Set([dir, fs.realpathSync(dir)])] : [dir];
  const names = roots
    .flatMap((it) => [it, pathToFileURL(it).href])
    .map((it) => it.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  // whole paths; names of folders may have any character
  const places = new RegExp(`(?<=^|[\\s('"\`[]|file://)(?:${names.join('|')})/([^\\n]+?\\.[cm]?[jt]s):(\\d+)`, 'gm');
  for (const [said, name = '', line] of text.matchAll(places)) {
    const file = said.startsWith('file:') ? querystring.unescape(name) : name;
    if (!/(?:^|\/)node_modules\//.test(file)) return { file, line: Number(line) };
  }
  return null;
};
