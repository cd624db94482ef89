/** PostgreSQL: how a statement reads its tables, from `explain (format json)`. */
import { sql } from 'kysely';
import { escapeLiteral } from 'pg';
import { compileWith, fixedStatement, postgresBuilder } from '../compile.js';
import type { ReadProgram, Sql, Statement, TableRead } from '../dialect.js';

/** The keys that are used here. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Plan Rows': number;
  readonly Plans?: readonly PlanNode[];
}

/** Prepared first, because the plan that runs is one that does not see the values. */
export function* explainOnPostgres({ sql: text, params }: Statement): ReadProgram<readonly TableRead[]> {
  yield [fixedStatement(`prepare dovetail_explained as ${text}`)];
  const values = params.map((it) => (it === null ? 'null' : escapeLiteral(String(it)))).join(', ');
  const call = `dovetail_explained${params.length === 0 ? '' : `(${values})`}`;
  const [rows = []] = yield [fixedStatement(`explain (format json) execute ${call}`)];
  yield [fixedStatement('deallocate dovetail_explained')];
  const [[explained] = []] = rows;
  const [{ Plan: plan }] = JSON.parse(String(explained)) as [{ Plan: PlanNode }];
  const reads = readsOf(plan, false);
  const whole = [...new Set(reads.filter((it) => it.extent === 'all').map((it) => it.table))];
  if (whole.length === 0) return reads;
  // what the plan expects to find may be the share of one of several workers
  const sizes = yield whole.map((table) => compileWith(postgresBuilder, sizeOf(table)));
  const size = new Map(whole.map((table, i) => [table, Number(sizes[i]?.[0]?.[0] ?? -1)]));
  return reads.map((it) => (it.extent === 'all' ? { ...it, rows: knownSize(size.get(it.table)) } : it));
}

const sizeOf = (table: string): Sql =>
  sql`select reltuples::float8 from pg_class where relname = ${table} and relnamespace = quote_ident(current_schema())::regnamespace`;

/** -1 for a table that was never analysed. */
const knownSize = (size = -1): number | null => (size < 0 ? null : size);

/** @param isSlice whether the rows are only read until there are enough of them. */
const readsOf = (node: PlanNode, isSlice: boolean): readonly TableRead[] => {
  const type = node['Node Type'];
  const inside = type === 'Limit' || (isSlice && !/^(Sort|Aggregate|Hash|Materialize|Gather Merge)$/.test(type));
  const below = (node.Plans ?? []).flatMap((it) => readsOf(it, inside));
  const table = node['Relation Name'];
  if (table === undefined) return below;
  const bitmap = type === 'Bitmap Heap Scan' ? firstIndex(node) : undefined;
  const index = node['Index Name'] ?? bitmap ?? null;
  const condition = conditionOf(node);
  const read = { table, index, extent: extentOf(condition, isSlice), rows: node['Plan Rows'] };
  return [read, ...below.filter((it) => it.table !== table)];
};

const extentOf = (condition: string | undefined, isSlice: boolean): TableRead['extent'] => {
  if (condition === undefined) return isSlice ? 'ordered' : 'all';
  if (isOfLocale(condition)) return isSlice ? 'ordered' : 'locale';
  return /[^<>]= /.test(condition) ? 'some' : 'range';
};

/** What the rows are found by; that a value is not null leaves the index to be read in order. */
const conditionOf = (node: PlanNode): string | undefined => {
  const own = node['Index Cond'];
  if (own === undefined) return (node.Plans ?? []).map(conditionOf).find((it) => it !== undefined);
  return /^\(\S+ IS NOT NULL\)$/.test(own) ? undefined : own;
};

/** Whether the rows are found by their locale alone: `((locale)::text = 'en'::text)`. */
const isOfLocale = (condition: string): boolean => /^\(\(?locale\)?(?:::text)? = [^()]*\)$/.test(condition);

const firstIndex = (node: PlanNode): string | undefined =>
  node['Index Name'] ?? node.Plans?.map(firstIndex).find((it) => it !== undefined);
