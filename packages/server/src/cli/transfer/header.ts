/** The first and the last line of an export. */
import { fingerprintOf, type Layout, type Scope, scopes } from './tables.js';

export const VERSION = 1;

export interface Header {
  readonly scope: Scope;
  /** Of entries that name no locale, and so of requests without one. */
  readonly defaultLocale: string;
  readonly tables: Layout;
}

export const headerLine = ({ scope, defaultLocale, tables }: Header): string =>
  JSON.stringify({
    format: 'dovetail-export',
    version: VERSION,
    scope,
    defaultLocale,
    model: fingerprintOf(tables),
    tables,
  });

/** Null for a line that is none; the version of one that a later Dovetail has written. */
export const readHeader = (line: string): Header | { readonly laterVersion: number } | null => {
  let given: Record<string, unknown>;
  try {
    given = JSON.parse(line);
  } catch {
    return null;
  }
  if (given === null || typeof given !== 'object' || given['format'] !== 'dovetail-export') return null;
  const { version, scope, defaultLocale, tables } = given;
  if (version !== VERSION) return typeof version === 'number' ? { laterVersion: version } : null;
  const isKnown = scopes.some((it) => it === scope);
  if (!isKnown || typeof defaultLocale !== 'string' || tables === null || typeof tables !== 'object') return null;
  return { scope: scope as Scope, defaultLocale, tables: tables as Layout };
};

/** Tells a whole file from one that was cut off. */
export const endLine = (rows: number): string => JSON.stringify({ end: true, rows });

/** What differs between the tables of a file and those of the model, in words. */
export const differences = (file: Layout, model: Layout): readonly string[] => {
  const found: string[] = [];
  for (const [table, columns] of Object.entries(file)) {
    const own = model[table];
    if (!own) {
      found.push(`the table ${table} is in the file only`);
      continue;
    }
    for (const [column, kind] of Object.entries(columns)) {
      if (own[column] === undefined) found.push(`${table}.${column} is in the file only`);
      else if (own[column] !== kind)
        found.push(`${table}.${column} is ${kind} in the file and ${own[column]} in the model`);
    }
    for (const column of Object.keys(own))
      if (columns[column] === undefined) found.push(`${table}.${column} is in the model only`);
  }
  for (const table of Object.keys(model)) if (!file[table]) found.push(`the table ${table} is in the model only`);
  return found;
};
