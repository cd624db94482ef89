/**
 * `explain`: prints the selection, plan and statements of a URL, what each statement reads, and which index would end
 * reading a whole table. The statements run only with `--analyze`.
 */
import { sql } from 'kysely';
import { type Caller, newGate, publicCaller } from '../access/access.js';
import { allowAll, roleCaller, tokenCaller } from '../access/caller.js';
import { newPermissionStore } from '../access/permissions.js';
import { firstToken, tokenNameStatement } from '../access/tokens.js';
import { formatIssue, never, orNearest } from '../errors.js';
import { permissionFor, type Route, routesOf } from '../http/routes.js';
import { scalarTypes } from '../model/attributes.js';
import { typeLabel } from '../model/model.js';
import { textQuery } from '../query/brackets.js';
import type { Filter, Populate, Query, ReadAction, Selection, SortKey } from '../query/selection.js';
import { newReader, type PreparedRead } from '../read/find.js';
import { readDefaultCode } from '../read/locales.js';
import { runRead } from '../read/run.js';
import { type Db, type ReadProgram, type Rows, readRows, type Statement, type TableRead } from '../sql/dialect.js';
import { type Advice, adviceFor, type OrdersAsStored } from './advice.js';
import { StartFault, UsageFault } from './config.js';
import { requireStarted } from './layout.js';
import { countOf, openDatabase, openProject } from './project.js';
import { unservedOf } from './site.js';

export interface ExplainOptions {
  /** The caller: `role:TYPE` or `token:NAME`. */
  readonly as?: string;
  readonly json: boolean;
  /** Runs the statements and prints their rows and times. */
  readonly analyze?: boolean;
}

export const explain = async (
  dir: string,
  url: string,
  { as = 'role:public', json, analyze = false }: ExplainOptions,
): Promise<void> => {
  const project = await openProject(dir);
  const db = await openDatabase(project, { readOnly: true });
  try {
    const { config, model } = await requireStarted(project, db);
    const { pathname, search } = targetOf(url);
    const { route, action } = readRoute(pathname, routesOf(model, config.api.rest.prefix, unservedOf(project)));
    const named = await callerNamed(as, db);
    const caller = config.permissions.enabled ? named : allowAll(named);
    const permission = permissionFor(route.type, action);
    if (!caller.may(permission)) process.stderr.write(`(${as} may not ${permission}; explained anyway)\n`);
    const context = {
      model,
      gate: newGate(caller, model),
      rest: config.api.rest,
      strict: config.api.strict,
      defaultLocale: await db.read(() => readDefaultCode(db.dialect)),
    };
    const id = action === 'findOne' ? Number(/(\d+)\/?$/.exec(pathname)?.[1]) : null;
    const prepared = newReader(db).prepare({ action, type: route.type, id, query: textQuery(search) }, context);
    if (!prepared.ok) throw new StartFault(prepared.issues.map(formatIssue).join('\n'));
    const leftOut = leftOutOf(prepared.value.query, as, caller);
    const runs = analyze ? await runStatements(prepared.value, id, db) : null;
    const statements = await explainStatements(prepared.value, runs, db);
    process.stdout.write(
      json
        ? `${JSON.stringify(explanation(prepared.value, leftOut, statements), null, 2)}\n`
        : print(prepared.value, leftOut, statements),
    );
  } finally {
    await db.close();
  }
};

/** A full URL, or a path with or without a leading slash. */
const targetOf = (url: string): { readonly pathname: string; readonly search: string } => {
  const target = url.replace(/^https?:\/\/[^/]+/i, '').replace(/#.*$/s, '');
  const [path = '', search = ''] = target.split(/\?(.*)/s);
  return { pathname: path.startsWith('/') ? path : `/${path}`, search };
};

const readRoute = (
  pathname: string,
  routes: readonly Route[],
): { readonly route: Route; readonly action: ReadAction } => {
  const readable = routes.flatMap((route) => {
    const action = route.actions.GET;
    return action === 'find' || action === 'findOne' || action === 'single' ? [{ route, action }] : [];
  });
  const found = readable.find(({ route }) =>
    new RegExp(`^${route.path.replace(':id', '(\\d+)')}/?$`, 'i').test(pathname),
  );
  if (found) return found;
  throw new StartFault(
    `${pathname} is not a route that reads content. Routes: ${readable.map((it) => it.route.path).join(', ')}`,
  );
};

const callerNamed = async (as: string, db: Db): Promise<Caller> => {
  const [kind, name = ''] = as.split(/:(.*)/s);
  if (kind === 'token') {
    const token = firstToken(await db.read(() => readRows(tokenNameStatement(name, db.dialect))));
    if (token) return tokenCaller(token);
    throw new StartFault(`There is no API token named "${name}". \`token list\` shows all.`);
  }
  const permissions = await newPermissionStore(db, () => performance.now()).current();
  // also works before the first start, when there are no roles yet
  if (as === 'role:public') return publicCaller(permissions);
  const { roles } = permissions;
  const role = kind === 'role' ? roles.find((it) => it.type === name) : undefined;
  if (role) return roleCaller(role);
  const types = roles.map((it) => it.type);
  if (kind === 'role')
    throw new StartFault(
      `There is no role of type "${name}"${orNearest(name, types)}. Expected one of ${types.join(', ')}`,
    );
  throw new UsageFault(`--as takes role:TYPE or token:NAME, not "${as}"`);
};

/** Something requested that is not in the response. */
interface Absence {
  readonly name: string;
  readonly why: string;
}

const leftOutOf = ({ hidden, leftOut }: Query, as: string, caller: Caller): readonly Absence[] => [
  ...hidden.map(({ type, attribute }) => {
    const action = attribute.kind === 'link' ? `${attribute.target}.find` : null;
    const why = action !== null && !caller.may(action) ? `${as} may not ${action}` : 'hidden from everyone';
    return { name: `${typeLabel(type)}.${attribute.name}`, why };
  }),
  ...leftOut.map(({ name, issue }) => ({ name, why: `no effect: ${formatIssue(issue)}` })),
];

const explanation = (
  { query, plan }: PreparedRead,
  leftOut: readonly Absence[],
  statements: readonly ExplainedStatement[],
) => ({
  selection: sketchQuery(query),
  leftOut,
  plan: { shape: plan.shape, values: plan.values },
  statements,
});

interface NamedStatement extends Statement {
  readonly fetches: string;
}

interface ExplainedStatement extends NamedStatement {
  readonly reads: readonly TableRead[];
  /** What would keep it from reading a whole table; null if it reads none. */
  readonly advice: Advice | null;
  /** Only after it ran. */
  readonly ran?: Run;
}

/** All runs of one statement text: it runs again for ids that were found later. */
interface Run {
  readonly times: number;
  readonly rows: number;
  readonly ms: number;
}

const explainStatements = async (
  { query, compiled }: PreparedRead,
  runs: ReadonlyMap<string, Run> | null,
  db: Db,
): Promise<readonly ExplainedStatement[]> => {
  const { dialect } = db;
  const column = sql.ref('value');
  const ordersAsStored: OrdersAsStored = ({ type }) => dialect.comparable(scalarTypes[type].column, column) === column;
  const explained: ExplainedStatement[] = [];
  for (const statement of namedStatements(compiled)) {
    const reads = await db.read(() => dialect.explain(statement));
    const { fetches } = statement;
    // in the order of ids, a filter that few entries meet is checked for all of them
    const isWhole = reads.some(
      (it) => it.extent === 'all' || (it.extent === 'ordered' && query.selection.filter !== null),
    );
    const advice =
      isWhole && (fetches === 'page' || fetches === 'count') ? adviceFor(fetches, query, ordersAsStored) : null;
    const ran = runs === null ? {} : { ran: runs.get(statement.sql) ?? { times: 0, rows: 0, ms: 0 } };
    explained.push({ ...statement, reads, advice, ...ran });
  }
  return explained;
};

/** Runs the read as the server would, but each statement alone, within the same bounds. */
const runStatements = async (
  { plan, compiled }: PreparedRead,
  id: number | null,
  db: Db,
): Promise<ReadonlyMap<string, Run>> => {
  const runs = new Map<string, Run>();
  await db.read(() => {
    runs.clear();
    return timed(runRead({ ...compiled, united: null }, plan.values, id === null ? [] : [id], db.dialect), runs);
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

const textOfRead = ({ table, index, extent, rows }: TableRead): string => {
  const expected = rows === null ? '' : `, about ${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`;
  const by = index === null ? '' : ` by ${index}`;
  switch (extent) {
    case 'some':
      return `looks up ${table}${index === null ? ' by id' : by}${expected}`;
    case 'range':
      return `reads a range of ${table}${index === null ? ' by id' : by}${expected}`;
    case 'ordered':
      return `reads ${table}${by} in order until the page is full`;
    case 'all':
      return index === null
        ? `READS ALL OF ${table}${expected}`
        : `reads all of the index ${index} of ${table}${expected}`;
    default:
      return never(extent);
  }
};

const textOfRun = ({ times, rows, ms }: Run): string =>
  times === 0
    ? 'not run: there was nothing to fetch'
    : `ran ${times === 1 ? 'once' : `${times} times`}: ${countOf(rows, 'row')} in ${ms.toFixed(2)} ms`;

/** What is known of a statement, as comments below it. */
const notesOf = ({ reads, advice, ran }: ExplainedStatement): string =>
  [
    ...new Set(reads.map(textOfRead)),
    ...(advice === null ? [] : [advice.text]),
    ...(ran === undefined ? [] : [textOfRun(ran)]),
  ]
    .map((it) => `\n  -- ${it}`)
    .join('');

/** Statements in the order of round trips, each with what it fetches. */
const namedStatements = (compiled: PreparedRead['compiled']): readonly NamedStatement[] => {
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
    if (!isRoot || shape.action === 'findOne')
      named.push({ ...compiledNode.entries, fetches: `node ${i}, entries of ${node.uid}` });
    compiledNode.links.forEach((it, k) => {
      named.push({
        ...it,
        fetches: `node ${i}, links of ${node.uid}: ${node.links[k]!.edges.map((edge) => node.edges[edge.edge]!.name).join(', ')}`,
      });
    });
  }
  return named;
};

const print = (
  prepared: PreparedRead,
  leftOut: readonly Absence[],
  explained: readonly ExplainedStatement[],
): string => {
  const { compiled } = prepared;
  const nodes = compiled.shape.nodes.map((node, i) => {
    const edges = node.edges.map((edge) => `${edge.name} -> ${edge.targets.map((it) => `node ${it.node}`).join(', ')}`);
    return `  node ${i}: ${node.uid}, ${countOf(node.fields.length, 'field')}${node.publishedOnly ? ', published only' : ''}${edges.length > 0 ? `; ${edges.join('; ')}` : ''}`;
  });
  const statements = explained.map(
    (it) =>
      `  -- ${it.fetches}\n  ${it.sql};\n  -- values: ${JSON.stringify(it.params)}${it.ids.length > 0 ? ' (null: the ids found before)' : ''}${notesOf(it)}`,
  );
  const absent = leftOut.map((it) => `  left out: ${it.name} (${it.why})\n`).join('');
  return `Selection\n${indent(sketchText(sketchQuery(prepared.query)))}\n${absent}\nPlan\n${nodes.reverse().join('\n')}\n\nStatements (${statements.length}, at most; one per distinct selection and link table, whatever the number of entries${compiled.united ? '; sent together, as one' : ''})\n${statements.join('\n')}\n`;
};

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');

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

const sketchText = (value: unknown): string => {
  if (value === null || typeof value !== 'object') return String(value);
  return Object.entries(value)
    .map(([key, member]) => {
      if (member === null || typeof member !== 'object') return `${key}: ${String(member)}`;
      if (Array.isArray(member) && member.every((it) => typeof it !== 'object')) return `${key}: ${member.join(', ')}`;
      return `${key}:\n${indent(sketchText(member))}`;
    })
    .join('\n');
};
