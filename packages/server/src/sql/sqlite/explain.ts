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
  const { text, tables } = withOwnAliases(statement.sql);
  const [rows = []] = yield [{ ...statement, sql: `explain query plan ${text}` }];
  const lines = rows.map(
    ([id, parent, , detail]): Line => ({ id: Number(id), parent: Number(parent), detail: String(detail) }),
  );
  // what the statement itself names is no table
  const named = new Set([...statement.sql.matchAll(/"(\w+)" as (?:not )?materialized/g)].map(([, name]) => name));
  const isSlice = /\blimit\b/.test(statement.sql);
  const reads = lines.flatMap(({ parent, detail }): readonly TableRead[] => {
    const [, verb, alias = '', rest = ''] = /^(SCAN|SEARCH) (\S+(?: \d+)?)(.*)$/.exec(detail) ?? [];
    const table = tables.get(alias);
    if (verb === undefined || table === undefined || named.has(table)) return [];
    const [, index = null] = / USING (?:COVERING )?INDEX (\S+)/.exec(rest) ?? [];
    // an index that SQLite makes for this one statement, out of the whole table
    const isTemporary = rest.includes('AUTOMATIC');
    const isSorted = lines.some((it) => it.parent === parent && it.detail.startsWith('USE TEMP B-TREE'));
    const inOrder = isSlice && !isSorted && !isTemporary && !isInside(parent, 'SUBQUERY', lines);
    const condition = verb === 'SCAN' || isTemporary ? null : rest;
    return [{ table, index: isTemporary ? null : index, extent: extentOf(condition, inOrder), rows: null }];
  });
  const whole = [...new Set(reads.filter((it) => it.extent === 'all').map((it) => it.table))];
  if (whole.length === 0) return reads;
  // without statistics, the greatest id is an estimate that costs nothing
  const sizes = yield whole.map((table) => compileWith(sqliteBuilder, sql`select max(rowid) from ${sql.table(table)}`));
  const size = new Map(whole.map((table, i) => [table, Number(sizes[i]?.[0]?.[0] ?? 0)]));
  return reads.map((it) => (it.extent === 'all' ? { ...it, rows: size.get(it.table) ?? null } : it));
}

/** @param condition the rest of the line, with what the rows are found by; null if all are read. */
const extentOf = (condition: string | null, inOrder: boolean): TableRead['extent'] => {
  if (condition === null) return inOrder ? 'ordered' : 'all';
  if (/ \(locale=\?\)/.test(condition)) return inOrder ? 'ordered' : 'locale';
  return !/[^<>]=\?/.test(condition) && /[<>]/.test(condition) ? 'range' : 'some';
};

/** Whether a line belongs to one of this kind, at any depth. */
const isInside = (parent: number, kind: string, lines: readonly Line[]): boolean => {
  const line = lines.find((it) => it.id === parent);
  return line !== undefined && (line.detail.includes(kind) || isInside(line.parent, kind, lines));
};

interface Scope {
  readonly outer: Scope | null;
  /** The unique name of each alias that the scope declares. */
  readonly names: Map<string, string>;
}

/**
 * The statement with an alias of its own for each table, because plans name nothing but aliases, which nested statements
 * use again for other tables; and the tables by these aliases. A scope is what stands between two parentheses,
 * or a part of a union there.
 */
const withOwnAliases = (text: string): { readonly text: string; readonly tables: ReadonlyMap<string, string> } => {
  const tables = new Map<string, string>();
  const tokens = [...text.matchAll(token)];
  let scope: Scope = { outer: null, names: new Map() };
  const scopes = tokens.map(({ 0: it, groups: { table, alias } = {} }) => {
    if (it === '(') scope = { outer: scope, names: new Map() };
    if (it === ')') scope = scope.outer ?? scope;
    if (it === 'union') scope = { outer: scope.outer, names: new Map() };
    const name = alias ?? table;
    if (table !== undefined && name !== undefined) {
      const own = tables.has(name) ? `${name} ${tables.size}` : name;
      tables.set(own, table.replaceAll('""', '"'));
      scope.names.set(name, own);
    }
    return scope;
  });
  let at = 0;
  const renamed = text.replace(token, (it: string, ...found: unknown[]) => {
    const { table, alias, used } = found.at(-1) as Readonly<Record<string, string | undefined>>;
    const own = nameIn(scopes[at++]!, used ?? alias ?? table ?? '');
    if (own === null || (used ?? alias ?? table) === own) return it;
    if (used !== undefined) return `"${own}".`;
    return alias === undefined ? `${it} as "${own}"` : it.replace(/(?: as)? "?\w+"?$/, ` as "${own}"`);
  });
  return { text: renamed, tables };
};

const nameIn = (scope: Scope, alias: string): string | null =>
  scope.names.get(alias) ?? (scope.outer === null ? null : nameIn(scope.outer, alias));

/** Texts, limits of scopes, tables with their aliases, aliases in use, and other names. */
const token =
  /'(?:[^']|'')*'|[()]|\bunion\b|(?:\bfrom|\bjoin|,) "(?<table>(?:[^"]|"")+)"(?!\.)(?:(?: as)? "?(?!(?:where|order|group|limit|left|cross|join|on|union)\b)(?<alias>\w+)"?)?|"?\b(?<used>\w+)"?\.|"(?:[^"]|"")+"/g;
