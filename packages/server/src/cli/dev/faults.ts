/** Where a fault is: file, line and column, with the lines around it. */
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNodeAtLocation, type Node, type ParseError, parseTree } from 'jsonc-parser';
import { Refusal } from '../../errors.js';
import type { SchemaNote } from '../../model/notes.js';
import { refusalMessage } from '../refusal.js';
import { StartFault } from '../start-fault.js';

/** Something that has to be mended before the project can be served. */
export interface PlacedFault {
  /** Relative to the project folder; null if it is in no file of the project. */
  readonly file: string | null;
  /** From 1; null if unknown. */
  readonly line: number | null;
  readonly column: number | null;
  readonly message: string;
}

/** Null for an error that is not the project's, but our own. */
export const faultsOf = (fault: unknown, dir: string): readonly PlacedFault[] | null => {
  if (fault instanceof Refusal) return [{ ...nowhere, message: refusalMessage(fault) }];
  if (!(fault instanceof StartFault)) return null;
  if (fault.notes.length === 0) return [{ ...nowhere, message: fault.message }];
  return fault.notes.map((note) => {
    const found = placeInCode(fault.cause, dir) ?? placeInFile(note, dir);
    return { file: note.file, line: null, column: null, ...found, message: firstLines(note.message) };
  });
};

/** Without what is said apart: the modules that import it, and the place. */
const firstLines = (message: string): string =>
  (message.split('\nRequire stack:')[0] ?? '').replace(/\s*\n\s*\S+:\d+:\d+\s*$/, '');

const nowhere = { file: null, line: null, column: null } as const;

/** `src/api/…/schema.json:14:7`, what is wrong, and the lines around it. */
export const formatFault = ({ file, line, column, message }: PlacedFault, dir: string): string => {
  if (file === null) return message;
  const place = [file, line, column].filter((it) => it !== null).join(':');
  const excerpt = line === null ? '' : `\n${excerptOf(textOf(path.resolve(dir, file)), line, column)}`;
  return `${place}\n${message}${excerpt}`;
};

// ---- in the text of a file

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number | null;
}

const placeInFile = ({ file, place }: SchemaNote, dir: string): Place | null => {
  const text = textOf(path.resolve(dir, file));
  const offset = file.endsWith('.json') ? offsetInJson(text, place) : offsetOfName(text, place);
  return offset === null ? null : { file, ...positionAt(text, offset) };
};

/** Of the first syntax error, or of the value that the path names; of its deepest part that exists. */
const offsetInJson = (text: string, place: string): number | null => {
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: false, disallowComments: true });
  if (errors[0]) return errors[0].offset;
  if (!root) return null;
  const found = deepest(root, place === '' ? [] : place.split('.'));
  return found === root && place !== '' ? null : (found.parent?.type === 'property' ? found.parent : found).offset;
};

/** Names may contain dots, so the longest that exists is taken first. */
const deepest = (node: Node, names: readonly string[]): Node => {
  for (let count = names.length; count > 0; count--) {
    const name = names.slice(0, count).join('.');
    const inner = findNodeAtLocation(node, [node.type === 'array' ? Number(name) : name]);
    if (inner) return deepest(inner, names.slice(count));
  }
  return node;
};

/** Of the last name of the path, as code and `.env` write it before its value. */
const offsetOfName = (text: string, place: string): number | null => {
  const name = place.split('.').at(-1) ?? '';
  if (name === '') return null;
  const escaped = name.replace(/[^\w]/g, '\\$&');
  const match = new RegExp(`(?<![\\w$])(['"]?)${escaped}\\1\\s*(?:[:=(]|,|\\})`).exec(text);
  return match?.index ?? null;
};

const positionAt = (text: string, offset: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
};

// ---- in code, by the error that it threw

/** The first place in a file of the project that the error or its stack names. */
const placeInCode = (fault: unknown, dir: string): Place | null => {
  if (!(fault instanceof Error)) return null;
  const { message, stack = '' } = fault;
  return placeOfMissing(fault, dir) ?? placeNamed(`${message}\n${stack}`, dir) ?? placeInJsonFile(message, dir);
};

const placeNamed = (text: string, dir: string): Place | null => {
  for (const [, url, line, column] of text.matchAll(
    /((?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])[^\s():*?"<>|]+):(\d+):(\d+)/g,
  )) {
    const file = url!.startsWith('file:') ? fileURLToPath(url!) : url!;
    if (!isOfProject(file, dir)) continue;
    // the column may be one of the translated text
    const length = textOf(file).split('\n')[Number(line) - 1]?.length ?? 0;
    return {
      file: path.relative(dir, file),
      line: Number(line),
      column: Number(column) <= length + 1 ? Number(column) : null,
    };
  }
  return null;
};

/** A module that does not exist: where it is imported. */
const placeOfMissing = (fault: Error & { readonly requireStack?: readonly string[] }, dir: string): Place | null => {
  const [file] = fault.requireStack ?? [];
  const [, name] = /^Cannot find (?:module|package) '([^']+)'/.exec(fault.message) ?? [];
  if (file === undefined || name === undefined || !isOfProject(file, dir)) return null;
  const text = textOf(file);
  const offset = Math.max(text.indexOf(`'${name}'`), text.indexOf(`"${name}"`));
  return offset === -1 ? null : { file: path.relative(dir, file), ...positionAt(text, offset) };
};

/** JSON that code imports: the error begins with the name of the file. */
const placeInJsonFile = (message: string, dir: string): Place | null => {
  const [, file] = /^(.+\.json): /.exec(message) ?? [];
  return file === undefined || !isOfProject(file, dir)
    ? null
    : placeInFile({ file: path.relative(dir, file), place: '', message }, dir);
};

/** Also next to its folder: code may import what it shares with other projects. */
const isOfProject = (file: string, dir: string): boolean =>
  path.isAbsolute(file) &&
  !file.split(/[\\/]/).includes('node_modules') &&
  !file.startsWith(ownDir) &&
  path.parse(file).root === path.parse(dir).root &&
  fs.existsSync(file);

/** Of the compiled modules, or of the bundle. */
const ownDir = fileURLToPath(new URL('../..', import.meta.url));

// ---- lines

const excerptOf = (text: string, line: number, column: number | null): string => {
  const lines = text.split(/\r?\n/);
  const first = Math.max(1, line - LINES_AROUND);
  const last = Math.min(lines.length, line + LINES_AROUND);
  const width = String(last).length;
  return lines
    .slice(first - 1, last)
    .flatMap((it, i) => {
      const number = first + i;
      const shown = `${number === line ? '>' : ' '} ${String(number).padStart(width)} | ${it.slice(0, WIDTH_MAX)}`;
      if (number !== line || column === null || column > WIDTH_MAX) return [shown];
      const indent = it.slice(0, column - 1).replace(/[^\t]/g, ' ');
      return [shown, `  ${' '.repeat(width)} | ${indent}^`];
    })
    .join('\n');
};

const LINES_AROUND = 2;
const WIDTH_MAX = 160;

const textOf = (file: string): string => {
  try {
    return fs.readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch {
    return '';
  }
};
