/** What a plan expects of a database, as lines that people read: `table posts`, `articles.titel: string`. */
import type { ColumnKind } from '../sql/dialect.js';
import type { Survey } from './survey.js';

export const tableNeed = (table: string): string => `table ${table}`;

export const columnNeed = (survey: Survey, table: string, column: string): string =>
  `${table}.${column}: ${kindFound(survey, table, column) ?? 'missing'}`;

/** The kind of a column, the same on every database; undefined if there is none. */
const kindFound = (survey: Survey, table: string, column: string): string | undefined => {
  const declared = survey.declared(table, column);
  if (declared === undefined) return undefined;
  const stored = survey.dialect.schema.kindOf(declared);
  return stored ? (alike[stored.kind] ?? stored.kind) : declared;
};

/** Kinds that one of the databases does not tell apart. */
const alike: Partial<Readonly<Record<ColumnKind, ColumnKind>>> = { decimal: 'float', rank: 'float', jsonText: 'json' };

/** What is not as expected, one line for each. */
export const unmetNeeds = (needs: readonly string[], survey: Survey): readonly string[] =>
  needs.flatMap((need) => {
    const table = /^table (.*)$/.exec(need)?.[1];
    if (table !== undefined) return survey.hasTable(table) ? [] : [`there is no table ${table}`];
    const [, place = '', kind = ''] = /^(.*): (.*?)$/s.exec(need) ?? [];
    const dot = place.lastIndexOf('.');
    const found = kindFound(survey, place.slice(0, dot), place.slice(dot + 1));
    if (found === kind) return [];
    return [found === undefined ? `there is no column ${place}` : `${place} is ${found}, not ${kind}`];
  });
