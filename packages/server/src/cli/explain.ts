/** `explain`: what a URL means and how it is fetched, without running it: selection, plan, statements. */
import { newGate, publicCaller } from '../access/access.js';
import { newPermissionStore } from '../access/permissions.js';
import { never, sayIssue } from '../errors.js';
import { permissionFor, routesOf } from '../http/routes.js';
import type { Filter, Populate, Query, Selection, SortKey } from '../query/selection.js';
import { newReader, type PreparedRead } from '../read/find.js';
import type { Statement } from '../sql/dialect.js';
import { readDefaultLocale } from './bootstrap.js';
import { StartFault } from './config.js';
import { requireStarted } from './layout.js';
import { openDatabase, openProject } from './project.js';

export const explain = async (dir: string, url: string, { json }: { readonly json: boolean }): Promise<void> => {
  const project = await openProject(dir);
  const db = await openDatabase(project, { readOnly: true });
  try {
    const { config, model } = await requireStarted(project, db);
    const [pathname = '', search = ''] = url.replace(/^https?:\/\/[^/]+/, '').split(/\?(.*)/s);
    const route = routesOf(model, config.api.rest.prefix).find((it) =>
      new RegExp(`^${it.path.replace(':id', '(\\d+)')}/?$`, 'i').test(pathname),
    );
    const action = route?.actions.GET;
    if (!route || (action !== 'find' && action !== 'findOne' && action !== 'single'))
      throw new StartFault(
        `Nothing is read at ${pathname}. Routes: ${routesOf(model, config.api.rest.prefix)
          .map((it) => it.path)
          .join(', ')}`,
      );
    const caller = publicCaller(await newPermissionStore(db, () => performance.now()).current());
    if (!caller.may(permissionFor(route.type, action)))
      process.stderr.write(`(the role public may not ${permissionFor(route.type, action)}; explained all the same)\n`);
    const context = {
      model,
      gate: newGate(caller, model),
      rest: config.api.rest,
      strict: config.api.strict,
      defaultLocale: await readDefaultLocale(db),
    };
    const id = action === 'findOne' ? Number(/(\d+)\/?$/.exec(pathname)?.[1]) : null;
    const prepared = newReader(db).prepare({ action, type: route.type, id, search }, context);
    if (!prepared.ok) throw new StartFault(prepared.issues.map(sayIssue).join('\n'));
    process.stdout.write(json ? `${JSON.stringify(explanation(prepared.value), null, 2)}\n` : print(prepared.value));
  } finally {
    await db.close();
  }
};

const explanation = ({ query, compiled }: PreparedRead) => ({
  selection: sketchQuery(query),
  plan: compiled.plan,
  statements: namedStatements(compiled),
});

/** Statements in the order of rounds, each with what it fetches. */
const namedStatements = (compiled: PreparedRead['compiled']): readonly (Statement & { readonly fetches: string })[] => {
  const { plan, page, count, nodes } = compiled;
  const named: (Statement & { readonly fetches: string })[] = [];
  if (page) named.push({ ...page, fetches: 'page' });
  if (count) named.push({ ...count, fetches: 'count' });
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = plan.nodes[i]!;
    const isRoot = i === nodes.length - 1;
    if (!isRoot || plan.action === 'findOne')
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

const print = (prepared: PreparedRead): string => {
  const { compiled } = prepared;
  const { plan } = compiled;
  const nodes = plan.nodes.map((node, i) => {
    const edges = node.edges.map((edge) => `${edge.name} -> ${edge.targets.map((it) => `node ${it.node}`).join(', ')}`);
    return `  node ${i}: ${node.uid}, ${node.fields.length} fields${node.publishedOnly ? ', published only' : ''}${edges.length > 0 ? `; ${edges.join('; ')}` : ''}`;
  });
  const statements = namedStatements(compiled).map(
    (it) =>
      `  -- ${it.fetches}\n  ${it.sql};\n  -- values: ${JSON.stringify(it.params)}${it.ids.length > 0 ? ' (null: the ids found before)' : ''}`,
  );
  return `Selection\n${indent(sketchText(sketchQuery(prepared.query)))}\n\nPlan\n${nodes.reverse().join('\n')}\n\nStatements (${statements.length}, at most; one per distinct selection and link table, whatever the number of entries)\n${statements.join('\n')}\n`;
};

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');

// ---- the selection without the model in it

interface Sketch {
  readonly type: string;
  readonly state: string;
  readonly fields: readonly string[];
  readonly filter?: unknown;
  readonly sort?: readonly string[];
  readonly populate?: Readonly<Record<string, unknown>>;
}

const sketchQuery = ({ action, selection, page, withCount }: Query) => ({
  action,
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

const sketchPopulate = (populate: Populate): unknown => {
  switch (populate.kind) {
    case 'link':
      return sketch(populate.target);
    case 'part':
      return Object.fromEntries([...populate.fragments].map(([uid, fragment]) => [uid, sketch(fragment)]));
    default:
      return never(populate);
  }
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
