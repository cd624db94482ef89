/** `explain`: prints the selection, plan and statements of a URL without running them. */
import { type Caller, newGate, publicCaller } from '../access/access.js';
import { allowAll, roleCaller, tokenCaller } from '../access/caller.js';
import { newPermissionStore } from '../access/permissions.js';
import { firstToken, tokenNameStatement } from '../access/tokens.js';
import { formatIssue, orNearest } from '../errors.js';
import { permissionFor, type Route, routesOf } from '../http/routes.js';
import { typeLabel } from '../model/model.js';
import { textQuery } from '../query/brackets.js';
import type { Filter, Populate, Query, ReadAction, Selection, SortKey } from '../query/selection.js';
import { newReader, type PreparedRead } from '../read/find.js';
import { readDefaultCode } from '../read/locales.js';
import { type Db, readRows, type Statement } from '../sql/dialect.js';
import { StartFault, UsageFault } from './config.js';
import { requireStarted } from './layout.js';
import { countOf, openDatabase, openProject } from './project.js';
import { unservedOf } from './site.js';

export interface ExplainOptions {
  /** The caller: `role:TYPE` or `token:NAME`. */
  readonly as?: string;
  readonly json: boolean;
}

export const explain = async (
  dir: string,
  url: string,
  { as = 'role:public', json }: ExplainOptions,
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
    process.stdout.write(
      json ? `${JSON.stringify(explanation(prepared.value, leftOut), null, 2)}\n` : print(prepared.value, leftOut),
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

const explanation = ({ query, plan, compiled }: PreparedRead, leftOut: readonly Absence[]) => ({
  selection: sketchQuery(query),
  leftOut,
  plan: { shape: plan.shape, values: plan.values },
  statements: namedStatements(compiled),
});

/** Statements in the order of round trips, each with what it fetches. */
const namedStatements = (compiled: PreparedRead['compiled']): readonly (Statement & { readonly fetches: string })[] => {
  const { shape, page, count, nodes } = compiled;
  const named: (Statement & { readonly fetches: string })[] = [];
  if (page) named.push({ ...page, fetches: 'page' });
  if (count) named.push({ ...count, fetches: 'count' });
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = shape.nodes[i]!;
    const isRoot = i === nodes.length - 1;
    if (!isRoot || shape.action === 'findOne')
      named.push({ ...nodes[i]!.entries, fetches: `node ${i}, entries of ${node.uid}` });
    nodes[i]!.links.forEach((it, k) => {
      named.push({
        ...it,
        fetches: `node ${i}, links of ${node.uid}: ${node.links[k]!.edges.map((edge) => node.edges[edge.edge]!.name).join(', ')}`,
      });
    });
  }
  return named;
};

const print = (prepared: PreparedRead, leftOut: readonly Absence[]): string => {
  const { compiled } = prepared;
  const nodes = compiled.shape.nodes.map((node, i) => {
    const edges = node.edges.map((edge) => `${edge.name} -> ${edge.targets.map((it) => `node ${it.node}`).join(', ')}`);
    return `  node ${i}: ${node.uid}, ${countOf(node.fields.length, 'field')}${node.publishedOnly ? ', published only' : ''}${edges.length > 0 ? `; ${edges.join('; ')}` : ''}`;
  });
  const statements = namedStatements(compiled).map(
    (it) =>
      `  -- ${it.fetches}\n  ${it.sql};\n  -- values: ${JSON.stringify(it.params)}${it.ids.length > 0 ? ' (null: the ids found before)' : ''}`,
  );
  const absent = leftOut.map((it) => `  left out: ${it.name} (${it.why})\n`).join('');
  return `Selection\n${indent(sketchText(sketchQuery(prepared.query)))}\n${absent}\nPlan\n${nodes.reverse().join('\n')}\n\nStatements (${statements.length}, at most; one per distinct selection and link table, whatever the number of entries)\n${statements.join('\n')}\n`;
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
