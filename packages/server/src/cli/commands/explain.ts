/**
 * `explain`: prints the selection, plan and statements of a URL, what each statement reads, and which index would end
 * reading a whole table. The statements run only with `--analyze`.
 */
import { type Caller, newGate, publicCaller } from '../../access/access.js';
import { allowAll, roleCaller, tokenCaller } from '../../access/caller.js';
import { type IsServed, newPermissionStore } from '../../access/permissions.js';
import { firstToken, tokenNameStatement } from '../../access/tokens.js';
import { formatIssue, never, orNearest, type Result } from '../../errors.js';
import { isReadBy, permissionFor, readRouteOf, readRoutes, targetOfUrl } from '../../http/routes.js';
import { listAt } from '../../http/window-routes.js';
import { textQuery } from '../../query/brackets.js';
import { type ExplainedStatement, type Explanation, explainRead, explainWindow, type Run } from '../../read/explain.js';
import { newReader } from '../../read/find.js';
import { readDefaultCode } from '../../read/locales.js';
import { newWindowReader } from '../../read/window.js';
import { type Db, readRows, type TableRead } from '../../sql/dialect.js';
import { requireComplete } from '../layout.js';
import { countOf, openDatabase, openProject } from '../project.js';
import { isServedBy } from '../site.js';
import { StartFault, UsageFault } from '../start-fault.js';
import { writtenRouters } from '../v4project/find-code.js';
import { codeRouteAt } from '../v4project/running-code.js';
import { routesAsWritten } from '../v4project/written-routes.js';

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
    const { config, model } = await requireComplete(project, db);
    const routes = routesAsWritten(model, config.api.rest.prefix, writtenRouters(project.dir, project.code));
    const found = readRouteOf(url, routes);
    const { pathname } = targetOfUrl(url);
    const byCode = await codeRouteAt(project, db, pathname);
    const readable = readRoutes(routes).map((it) => it.route.path);
    if (byCode && !isReadBy(byCode, found))
      throw new StartFault(
        `${pathname} is answered by code of the project, on the route GET ${byCode.path} of ${byCode.place}: what it reads only the code says. explain knows what the server itself reads, for the routes ${readable.join(', ')}`,
      );
    if (!found)
      throw new StartFault(
        `${pathname} is not a route that reads content. ${readable.length === 0 ? 'The project has none.' : `Routes: ${readable.join(', ')}`}`,
      );
    if (byCode)
      process.stderr.write(
        `(code of the project takes part: a guard, controller, service or hook of GET ${byCode.path}; explained is what the server reads for the URL as it stands)\n`,
      );
    const { route, action, id, list, search } = found;
    const { type } = route;
    const named = await callerNamed(as, db, isServedBy(project));
    const caller = config.permissions.enabled ? named : allowAll(named);
    const permission = permissionFor(type, action);
    if (!caller.may(permission)) process.stderr.write(`(${as} may not ${permission}; explained anyway)\n`);
    const gate = newGate(caller, model);
    const context = {
      model,
      gate,
      rest: config.api.rest,
      strict: config.api.strict,
      defaultLocale: await db.read(() => readDefaultCode(db.dialect)),
    };
    const reading = { caller, gate, model, name: as, id, isRun: analyze };
    const query = textQuery(search);
    const explainList = (name: string): Promise<Explanation> => {
      const place = preparedOf(listAt(name, type, { model, gate, may: (it) => caller.may(it) }));
      const prepared = newWindowReader(db).prepare({ type, id, place, query }, context);
      return explainWindow(preparedOf(prepared), reading, db);
    };
    const explanation = await (list === null
      ? explainRead(preparedOf(newReader(db).prepare({ action, type, id, query }, context)), reading, db)
      : explainList(list));
    const code = byCode && { path: byCode.path, place: byCode.place };
    process.stdout.write(json ? `${JSON.stringify({ code, ...explanation }, null, 2)}\n` : print(explanation));
  } finally {
    await db.close();
  }
};

const preparedOf = <T>(prepared: Result<T>): T => {
  if (!prepared.ok) throw new StartFault(prepared.issues.map(formatIssue).join('\n'));
  return prepared.value;
};

const callerNamed = async (as: string, db: Db, isServed: IsServed | undefined): Promise<Caller> => {
  const [kind, name = ''] = as.split(/:(.*)/s);
  if (kind === 'token') {
    const token = firstToken(await db.read(() => readRows(tokenNameStatement(name, db.dialect))));
    if (token) return tokenCaller(token, isServed);
    throw new StartFault(`There is no API token named "${name}". \`token list\` shows all.`);
  }
  const permissions = await newPermissionStore(db, () => performance.now(), isServed).current();
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
    case 'locale':
      return `reads all of one locale of ${table}${by}${expected}`;
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

const print = ({ selection, leftOut, plan: { shape }, statements, counts }: Explanation): string => {
  const nodes = shape.nodes.map((node, i) => {
    const edges = node.edges.map((edge) => `${edge.name} -> ${edge.targets.map((it) => `node ${it.node}`).join(', ')}`);
    return `  node ${i}: ${node.uid}, ${countOf(node.fields.length, 'field')}${node.publishedOnly ? ', published only' : ''}${edges.length > 0 ? `; ${edges.join('; ')}` : ''}`;
  });
  const explained = statements.map(
    (it) =>
      `  -- ${it.fetches}\n  ${it.sql};\n  -- values: ${JSON.stringify(it.params)}${it.ids.length > 0 ? ' (null: the ids found before)' : ''}${notesOf(it)}`,
  );
  const absent = leftOut.map((it) => `  left out: ${it.name} (${it.why})\n`).join('');
  return `Selection\n${indent(sketchText(selection))}\n${absent}\nPlan\n${nodes.reverse().join('\n')}\n\nStatements (${counts.statements}, at most; one per distinct selection and link table, whatever the number of entries${counts.isUnited ? '; sent together, as one' : ''})\n${explained.join('\n')}\n`;
};

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');

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
