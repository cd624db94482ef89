/**
 * What a read does: its selection, its plan, what each of its statements reads, and which index would end reading a whole table.
 * The statements run only if that is asked for (SU3).
 */
import { sql } from 'kysely';
import type { Caller } from '../access/access.js';
import { findAction } from '../access/actions.js';
import { formatIssue } from '../errors.js';
import { scalarTypes } from '../model/attributes.js';
import { type Model, typeLabel } from '../model/model.js';
import type { Filter, Gate, Populate, Query, Selection, SortKey } from '../query/selection.js';
import {
  type ReadableDb,
  type ReadProgram,
  type Rows,
  type Statement,
  type TableRead,
  withValues,
} from '../sql/dialect.js';
import { tablesIn } from '../sql/texts.js';
import { type Advice, adviceFor, type OrdersAsStored } from './advice.js';
import { execute } from './execute.js';
import type { ReadPlan } from './plan.js';
import type { PreparedRead } from './plans.js';
import { bindRead, runRead } from './run.js';
import type { CompiledRead } from './statements.js';
import type { PreparedWindow } from './window.js';

export interface Explanation {
  readonly selection: ReturnType<typeof sketchQuery>;
  readonly leftOut: readonly Absence[];
  readonly plan: Pick<ReadPlan, 'shape' | 'values'>;
  readonly statements: readonly ExplainedStatement[];
  readonly counts: ExplainedCounts;
}

export interface ExplainedCounts {
  /** Distinct selections. */
  readonly nodes: number;
  /** At most; one per distinct selection and link table, whatever the number of entries. */
  readonly statements: number;
  /** Whether they are sent together, as one. */
  readonly isUnited: boolean;
  /** Of all statements, if they ran and may be told. */
  readonly rows: number | null;
  readonly ms: number | null;
}

/** For whom a read is explained. */
export interface Reading {
  readonly caller: Caller;
  readonly gate: Gate;
  readonly model: Model;
  /** How the caller is named: `role:public`. */
  readonly name: string;
  /** The entry of `findOne`. */
  readonly id: number | null;
  /** Runs the statements, for their rows and times. */
  readonly isRun: boolean;
}

export const explainRead = (
  { query, plan, compiled }: PreparedRead,
  reading: Reading,
  db: ReadableDb,
): Promise<Explanation> =>
  explained(
    {
      query,
      plan,
      statements: namedStatements(compiled),
      isUnited: compiled.united !== null,
      // each statement alone
      begin: () =>
        runRead(
          { ...compiled, united: null, joined: null },
          plan.values,
          reading.id === null ? [] : [reading.id],
          db.dialect,
        ),
    },
    reading,
    db,
  );

/** The same of a window of a relation list, whose first statement finds the ids of the list. */
export const explainWindow = (
  { query, plan, compiled }: PreparedWindow,
  reading: Reading,
  db: ReadableDb,
): Promise<Explanation> => {
  const { values } = plan;
  const entries = bindRead(compiled.entries, values, db.dialect);
  return explained(
    {
      query: query.entries,
      plan,
      statements: [
        { ...withValues(compiled.list, values, db.dialect), fetches: 'list' },
        ...namedStatements(entries).map((it) => (it.fetches === 'page' ? { ...it, fetches: 'entries' } : it)),
      ],
      isUnited: false,
      begin: () =>
        execute(
          { ...compiled, entries: { ...compiled.entries, united: null, joined: null } },
          { values, page: query.entries.page, ids: [] },
          db.dialect,
        ),
    },
    reading,
    db,
  );
};

/** A read of any kind, prepared. */
interface Prepared {
  readonly query: Query;
  readonly plan: Pick<ReadPlan, 'shape' | 'values'>;
  readonly statements: readonly NamedStatement[];
  readonly isUnited: boolean;
  readonly begin: () => ReadProgram<unknown>;
}

const explained = async (prepared: Prepared, reading: Reading, db: ReadableDb): Promise<Explanation> => {
  const { query, plan, isUnited } = prepared;
  const { caller, name, isRun } = reading;
  const isTold = !hidesEntries(prepared, reading);
  const runs = isRun && isTold ? await runStatements(prepared, db) : null;
  const found = await explainStatements(prepared, runs, db);
  const statements = isTold ? found : found.map(withoutRows);
  const ran = statements.flatMap((it) => it.ran ?? []);
  return {
    selection: sketchQuery(query),
    leftOut: leftOutOf(query, name, caller),
    plan: { shape: plan.shape, values: plan.values },
    statements,
    counts: {
      nodes: plan.shape.nodes.length,
      statements: statements.length,
      isUnited,
      rows: runs && ran.reduce((sum, it) => sum + it.rows, 0),
      ms: runs && ran.reduce((sum, it) => sum + it.ms, 0),
    },
  };
};

/** Whether the statements read entries that the caller may not see: their figures would tell of these (AD11). */
const hidesEntries = ({ query, statements }: Prepared, { gate: { entries }, model }: Reading): boolean => {
  if (!entries) return false;
  const tables = tablesIn(statements.map((it) => it.sql));
  return [...model.types.values()].some(
    (type) =>
      tables?.includes(type.table) !== false &&
      entries(type, type === query.selection.type ? 'root' : 'nested') !== null,
  );
};

const withoutRows = (statement: ExplainedStatement): ExplainedStatement => ({
  ...statement,
  reads: statement.reads.map((it) => ({ ...it, rows: null })),
});

/** Something requested that is not in the response. */
export interface Absence {
  readonly name: string;
  readonly why: string;
}

const leftOutOf = ({ hidden, leftOut }: Query, name: string, caller: Caller): readonly Absence[] => [
  ...hidden.map(({ type, attribute }) => {
    const action = attribute.kind === 'link' ? findAction(attribute.target) : null;
    const why = action !== null && !caller.may(action) ? `${name} may not ${action}` : 'hidden from everyone';
    return { name: `${typeLabel(type)}.${attribute.name}`, why };
  }),
  ...leftOut.map(({ name, issue }) => ({ name, why: `no effect: ${formatIssue(issue)}` })),
];

interface NamedStatement extends Statement {
  readonly fetches: string;
}

export interface ExplainedStatement extends NamedStatement {
  readonly reads: readonly TableRead[];
  /** What would keep it from reading a whole table; null if it reads none. */
  readonly advice: Advice | null;
  /** Only after it ran. */
  readonly ran?: Run;
}

/** All runs of one statement text: it runs again for ids that were found later. */
export interface Run {
  readonly times: number;
  readonly rows: number;
  readonly ms: number;
}

const explainStatements = async (
  { query, statements }: Prepared,
  runs: ReadonlyMap<string, Run> | null,
  db: ReadableDb,
): Promise<readonly ExplainedStatement[]> => {
  const { dialect } = db;
  const column = sql.ref('value');
  const ordersAsStored: OrdersAsStored = ({ type }) => dialect.comparable(scalarTypes[type].column, column) === column;
  const found: ExplainedStatement[] = [];
  for (const statement of statements) {
    const reads = await db.read(() => dialect.explain(statement));
    const { fetches } = statement;
    const isWhole = reads.some(
      ({ extent }) =>
        extent === 'all' ||
        extent === 'locale' ||
        // in the order of ids, a filter that few entries meet is checked for all of them
        (extent === 'ordered' && query.selection.filter !== null),
    );
    const advice =
      isWhole && (fetches === 'page' || fetches === 'count') ? adviceFor(fetches, query, ordersAsStored) : null;
    const ran = runs === null ? {} : { ran: runs.get(statement.sql) ?? { times: 0, rows: 0, ms: 0 } };
    found.push({ ...statement, reads, advice, ...ran });
  }
  return found;
};

/** Runs the read as the server would, but each statement alone and with a row for each entry, within the same bounds. */
const runStatements = async ({ begin }: Prepared, db: ReadableDb): Promise<ReadonlyMap<string, Run>> => {
  const runs = new Map<string, Run>();
  await db.read(() => {
    runs.clear();
    return timed(begin(), runs);
  });
  return runs;
};

function* timed(program: ReadProgram<unknown>, runs: Map<string, Run>): ReadProgram<void> {
  let step = program.next();
  while (!step.done) {
    const results: Rows[] = [];
    for (const statement of step.value) {
      const began = performance.now();
      const [rows = []] = yield [statement];
      const known = runs.get(statement.sql) ?? { times: 0, rows: 0, ms: 0 };
      const ms = performance.now() - began;
      runs.set(statement.sql, { times: known.times + 1, rows: known.rows + rows.length, ms: known.ms + ms });
      results.push(rows);
    }
    step = program.next(results);
  }
}

/** Statements in the order of round trips, each with what it fetches. */
const namedStatements = (compiled: CompiledRead): readonly NamedStatement[] => {
  const { shape, whole, wholeCounts, page, count, nodes } = compiled;
  const named: NamedStatement[] = [];
  if (whole) named.push({ ...whole, fetches: 'page' });
  if (page) named.push({ ...page, fetches: 'page' });
  if (count && !wholeCounts) named.push({ ...count, fetches: 'count' });
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = shape.nodes[i]!;
    const compiledNode = nodes[i];
    if (!compiledNode) continue;
    const isRoot = i === nodes.length - 1;
    if (!isRoot || !shape.slice) named.push({ ...compiledNode.entries, fetches: `node ${i}, entries of ${node.uid}` });
    compiledNode.links.forEach((it, k) => {
      named.push({
        ...it,
        fetches: `node ${i}, links of ${node.uid}: ${node.links[k]!.edges.map((edge) => node.edges[edge.edge]!.name).join(', ')}`,
      });
    });
  }
  return named;
};

// ---- the selection without the model

interface Sketch {
  readonly type: string;
  readonly state: string;
  readonly fields: readonly string[];
  readonly filter?: unknown;
  readonly sort?: readonly string[];
  readonly populate?: Readonly<Record<string, unknown>>;
}

const sketchQuery = ({ action, selection, locale, page, withCount }: Query) => ({
  action,
  ...(locale ? { locale: sketchFilter(locale) } : {}),
  ...(page ? { page, withCount } : {}),
  ...sketch(selection),
});

const sketch = (selection: Selection): Sketch => ({
  type: selection.type.uid,
  state: selection.state,
  fields: selection.fields.map((it) => it.name),
  ...(selection.filter ? { filter: sketchFilter(selection.filter) } : {}),
  ...(selection.sort.length > 0 ? { sort: selection.sort.map(sketchSort) } : {}),
  ...(selection.populate.length > 0
    ? {
        populate: Object.fromEntries(selection.populate.map((it) => [it.attribute.name, sketchPopulate(it)])),
      }
    : {}),
});

const sketchPopulate = ({ attribute, targets }: Populate): unknown => {
  const sketches = [...targets].map(([uid, target]) => [uid, sketch(target)] as const);
  return attribute.kind === 'link' ? sketches[0]?.[1] : Object.fromEntries(sketches);
};

const sketchFilter = (filter: Filter): unknown => {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { [filter.kind]: filter.members.map(sketchFilter) };
    case 'not':
      return { not: sketchFilter(filter.member) };
    case 'compare':
      return { [filter.attribute.name]: { [filter.operator]: filter.values } };
    case 'related':
      return { [filter.step.attribute.name]: sketchFilter(filter.member) };
  }
};

const sketchSort = ({ steps, attribute, direction }: SortKey): string =>
  `${[...steps.map((it) => it.attribute.name), attribute.name].join('.')}:${direction}`;
