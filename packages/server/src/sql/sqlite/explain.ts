/** SQLite: how a statement reads its tables, from `explain query plan`. */
import { sql } from 'kysely';
import { compileWith, sqliteBuilder } from '../compile.js';
import type { ReadProgram, Statement, TableRead } from '../dialect.js';

/** A line of the plan; `parent` is the line that it belongs to. */
interface Line {
  readonly id: number;
  readonly parent: number;
  readonly detail: string;
}

export function* explainOnSqlite(statement: Statement): ReadProgram<readonly TableRead[]> {
  const [rows = []] = yield [{ ...statement, sql: `explain query plan ${statement.sql}` }];
  const lines = rows.map(
    ([id, parent, , detail]): Line => ({ id: Number(id), parent: Number(parent), detail: String(detail) }),
  );
  const tables = aliasesIn(statement.sql);
  const isSlice = /\blimit\b/.test(statement.sql);
  const reads = lines.flatMap(({ parent, detail }): readonly TableRead[] => {
    const [, verb, alias = '', rest = ''] = /^(SCAN|SEARCH) (\S+)(.*)$/.exec(detail) ?? [];
    const table = tables.get(alias);
    if (verb === undefined || table === undefined) return [];
    const [, index = null] = / USING (?:COVERING )?INDEX (\S+)/.exec(rest) ?? [];
    // an index that SQLite makes for this one statement, out of the whole table
    const isTemporary = rest.includes('AUTOMATIC');
    const isSorted = lines.some((it) => it.parent === parent && it.detail.startsWith('USE TEMP B-TREE'));
    const inOrder = isSlice && !isSorted && !isTemporary && !isInside(parent, 'SUBQUERY', lines);
    const extent =
      verb === 'SCAN' || isTemporary
        ? inOrder
          ? 'ordered'
          : 'all'
        : /[^<>]=\?/.test(rest)
          ? 'some'
          : /[<>]/.test(rest)
            ? 'range'
            : 'some';
    return [{ table, index: isTemporary ? null : index, extent, rows: null }];
  });
  const whole = [...new Set(reads.filter((it) => it.extent === 'all').map((it) => it.table))];
  if (whole.length === 0) return reads;
  // without statistics, the greatest id is an estimate that costs nothing
  const sizes = yield whole.map((table) => compileWith(sqliteBuilder, sql`select max(rowid) from ${sql.table(table)}`));
  const size = new Map(whole.map((table, i) => [table, Number(sizes[i]?.[0]?.[0] ?? 0)]));
  return reads.map((it) => (it.extent === 'all' ? { ...it, rows: size.get(it.table) ?? null } : it));
}

/** Whether a line belongs to one of this kind, at any depth. */
const isInside = (parent: number, kind: string, lines: readonly Line[]): boolean => {
  const line = lines.find((it) => it.id === parent);
  return line !== undefined && (line.detail.includes(kind) || isInside(line.parent, kind, lines));
};

/** The tables of a statement by their aliases, which plans name alone. */
const aliasesIn = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(/(?:\bfrom|\bjoin|,) "((?:[^"]|"")+)"(?!\.)(?: as)?(?: "?(\w+)"?)?/g)].map(
      ([, table = '', alias]) => [alias ?? table, table.replaceAll('""', '"')],
    ),
  );
