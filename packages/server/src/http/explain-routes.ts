/** `POST /_dovetail/explain`: what a URL reads, for the rights of the caller, and whether code of the project takes part (SU3). */
import type { FastifyInstance } from 'fastify';
import { newGate } from '../access/access.js';
import type { KnownCaller } from '../access/caller.js';
import { hintAt, type Issue, issue, ok, type Result, refused, unwrap } from '../errors.js';
import { isJsonObject } from '../model/schema.js';
import { textQuery } from '../query/brackets.js';
import type { Site } from '../site/site.js';
import type { BoundCode } from '../v4code/code.js';
import type { CodeRoute } from '../v4code/requests/routes.js';
import { asOf } from './credentials.js';
import { readFormat } from './forms.js';
import { whoKnows } from './looking.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';
import { isReadBy, permissionFor, type Routes, readRouteOf, readRoutes, routesFor, targetOfUrl } from './routes.js';
import { isAnsweredByCode, listAt } from './window-routes.js';

export interface ExplainRouteDeps {
  readonly site: Site;
  readonly routes: Routes;
  /** Whether anybody may. */
  readonly isOpen: boolean;
  readonly code: BoundCode | undefined;
}

export const EXPLAIN_PATH = '/_dovetail/explain';

export const addExplainPath = (app: FastifyInstance, deps: ExplainRouteDeps): void => {
  const { site, routes, code } = deps;
  addPath(app, EXPLAIN_PATH, {
    POST: async (request, reply) => {
      const known = await whoKnows(request.headers, deps);
      if (!known.ok) return sendIssues(reply, known.issues);
      const caller = known.value;
      const asked = readBody(request.body, { caller, routes, code });
      if (!asked.ok) return sendIssues(reply, asked.issues);
      const { route, action, id, list, search, byCode, isRun } = asked.value;
      const { type } = route;
      const { model, settings, locales, reader, windows, db } = site;
      const gate = newGate(caller, model);
      const isClosed = list !== null && caller.who.kind !== 'admin' && isAnsweredByCode(route, site, code);
      if (isClosed) return sendIssues(reply, [issue('http.not-found', [])]);
      const listed = list === null ? null : listAt(list, type, { model, gate, may: (it) => caller.may(it) });
      if (listed && !listed.ok) return sendIssues(reply, listed.issues);
      const permission = permissionFor(type, action);
      const forbidden = caller.may(permission) ? null : permission;
      // what nobody may read for them is not run for them
      if (isRun && forbidden !== null) return sendIssues(reply, [issue('http.forbidden', [])]);
      const defaultLocale = type.localized ? await locales.defaultCode() : null;
      const format = unwrap(readFormat(request.headers));
      const context = { ...settings, model, gate, defaultLocale, format };
      const reading = { caller, gate, model, name: asOf(request.headers) ?? nameOf(caller), id, isRun };
      const query = textQuery(search);
      // few servers are asked for it
      const { explainRead, explainWindow } = await import('../read/explain.js');
      const explanation = await (listed
        ? whenOk(windows.prepare({ type, id, place: listed.value, query }, context), (it) =>
            explainWindow(it, reading, db),
          )
        : whenOk(reader.prepare({ action, type, id, query }, context), (it) => explainRead(it, reading, db)));
      if (!explanation.ok) return sendIssues(reply, explanation.issues);
      return reply
        .header('cache-control', 'no-store')
        .header('content-type', JSON_TYPE)
        .send(JSON.stringify({ data: { forbidden, code: byCode, ...explanation.value } }));
    },
  });
};

const whenOk = async <T, U>(prepared: Result<T>, explain: (value: T) => Promise<U>): Promise<Result<U>> =>
  prepared.ok ? ok(await explain(prepared.value)) : prepared;

const nameOf = ({ who }: KnownCaller): string => (who.kind === 'public' ? 'role:public' : `${who.kind} ${who.id}`);

const keys: readonly string[] = ['url', 'analyze'];

type Asked = NonNullable<ReturnType<typeof readRouteOf>> & {
  readonly isRun: boolean;
  /** The route of code that takes part in the read; null where the server reads by itself. */
  readonly byCode: Pick<CodeRoute, 'path' | 'place'> | null;
};

interface AskedOf {
  readonly caller: KnownCaller;
  readonly routes: Routes;
  readonly code: BoundCode | undefined;
}

const readBody = (body: unknown, { caller, routes, code }: AskedOf): Result<Asked> => {
  if (!isJsonObject(body)) return refused(issue('body.type', [], { expected: 'object', value: body }));
  const { url, analyze = false } = body;
  const issues: Issue[] = Object.keys(body)
    .filter((name) => !keys.includes(name))
    .map((name) => issue('body.unknown-key', [name], { type: 'explain', name, ...hintAt(name, keys) }));
  if (typeof url !== 'string') issues.push(issue('body.type', ['url'], { expected: 'string', value: url }));
  if (typeof analyze !== 'boolean')
    issues.push(issue('body.type', ['analyze'], { expected: 'boolean', value: analyze }));
  if (issues.length > 0) return { ok: false, issues };
  const target = String(url);
  const served = routesFor(caller, routes);
  const own = readRouteOf(target, served);
  // administrators pass the code by where the server can answer them itself (AD14)
  const isPastCode = own !== null && caller.who.kind === 'admin';
  const answering = isPastCode ? null : (code?.table.at(targetOfUrl(target).pathname).find('GET')?.route ?? null);
  const found = answering ? readRouteOf(target, routes.all) : own;
  const paths = readRoutes(served).map((it) => it.route.path);
  const byCode = answering && { path: answering.path, place: answering.place };
  if (byCode && !isReadBy(answering, found)) return refused(issue('explain.by-code', ['url'], { ...byCode, paths }));
  if (!found) return refused(issue('explain.no-content', ['url'], { paths }));
  return ok({ ...found, isRun: analyze === true, byCode });
};
