/** Judges the request lines of an access log: what v4 answered, and the strict or the lenient parser would refuse. */
import fs from 'node:fs';
import readline from 'node:readline';
import { match } from 'path-to-regexp';
import { serverGate } from '../../access/access.js';
import { formatIssue, type Issue } from '../../errors.js';
import { methods, parseId, type Route } from '../../http/routes.js';
import { limits } from '../../limits.js';
import type { Model } from '../../model/model.js';
import { textQuery } from '../../query/brackets.js';
import { resolveQuery } from '../../query/resolve.js';
import type { ReadAction } from '../../query/selection.js';
import type { Config } from '../config.js';
import type { CoreRouter } from '../v4project/core-code.js';
import { routesAsWritten } from '../v4project/written-routes.js';
import { withoutTokens } from './secrets.js';

export interface JudgedRequests {
  readonly lines: number;
  /** Lines with a request in them. */
  readonly requests: number;
  /** Distinct methods and URLs among them. */
  readonly distinct: number;
  /** Requests to content whose query is understood whole. */
  readonly understood: number;
  /** Those that the strict parser refuses, or the lenient one, by reason, the most frequent first. */
  readonly refused: readonly RefusedGroup[];
  /** Requests to paths that are not content, by what they are. */
  readonly elsewhere: readonly { readonly what: string; readonly count: number; readonly example: string }[];
}

export interface RefusedGroup {
  /** `query.unknown-name`. */
  readonly code: string;
  readonly message: string;
  /** The path of the type. */
  readonly path: string;
  readonly count: number;
  /** Distinct URLs. */
  readonly urls: number;
  readonly example: string;
  /** With `api.strict: false`: `ignored` and named in `Dovetail-Ignored`, `as v4`, or `refused` too. */
  readonly lenient: 'ignored' | 'as v4' | 'refused';
  /** Statuses that the log says v4 has answered with; empty if it says none. */
  readonly statuses: readonly number[];
}

interface LoggedRequest {
  readonly method: string;
  /** Without the host. */
  readonly url: string;
  readonly status: number | null;
}

export interface JudgeOptions {
  readonly model: Model;
  readonly config: Config;
  /** Without a file the lines of stdin are read. */
  readonly file: string;
  /** Paths of routes of the project's own, without the prefix, with their methods: `GET /books/mine`. */
  readonly ownRoutes: readonly { readonly method: string; readonly path: string; readonly runs: boolean }[];
  /** Whether code of the project runs, which may answer what the server does not. */
  readonly hasCode: boolean;
  /** Those that have an effect. */
  readonly routers: readonly CoreRouter[];
  readonly defaultLocale: string;
}

export const judgeRequests = async (options: JudgeOptions): Promise<JudgedRequests> => {
  const seen = new Map<string, { readonly request: LoggedRequest; count: number; readonly statuses: Set<number> }>();
  let lines = 0;
  let requests = 0;
  const input = options.file === '-' ? process.stdin : fs.createReadStream(options.file);
  for await (const line of readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    lines += 1;
    const request = requestIn(line);
    if (!request) continue;
    requests += 1;
    const key = `${request.method} ${request.url}`;
    const known = seen.get(key) ?? { request, count: 0, statuses: new Set<number>() };
    known.count += 1;
    if (request.status !== null) known.statuses.add(request.status);
    seen.set(key, known);
  }
  const judge = newJudge(options);
  let understood = 0;
  const refused = new Map<
    string,
    { group: Omit<RefusedGroup, 'count' | 'urls' | 'statuses'>; count: number; urls: number; statuses: Set<number> }
  >();
  const elsewhere = new Map<string, { what: string; count: number; example: string }>();
  for (const { request, count, statuses } of seen.values()) {
    const verdict = judge(request);
    if (verdict.kind === 'elsewhere') {
      const known = elsewhere.get(verdict.what) ?? {
        what: verdict.what,
        count: 0,
        example: request.url.replace(/\?.*/s, ''),
      };
      known.count += count;
      elsewhere.set(verdict.what, known);
      continue;
    }
    if (verdict.faults.length === 0) understood += count;
    for (const fault of verdict.faults) {
      const key = `${fault.path} ${fault.code} ${fault.message}`;
      const known = refused.get(key) ?? {
        group: { ...fault, example: `${request.method} ${withoutTokens(request.url)}` },
        count: 0,
        urls: 0,
        statuses: new Set<number>(),
      };
      known.count += count;
      known.urls += 1;
      for (const it of statuses) known.statuses.add(it);
      refused.set(key, known);
    }
  }
  return {
    lines,
    requests,
    distinct: seen.size,
    understood,
    refused: [...refused.values()]
      .sort((a, b) => b.count - a.count)
      .map(({ group, count, urls, statuses }) => ({ ...group, count, urls, statuses: [...statuses].sort() })),
    elsewhere: [...elsewhere.values()].sort((a, b) => b.count - a.count),
  };
};

/**
 * A line of the common or combined log format, of v4's own log, of a JSON log, or just a URL. Null if no request is in it.
 */
export const requestIn = (line: string): LoggedRequest | null => {
  const found = line.startsWith('{') ? inJson(line) : inText(line);
  if (!found) return null;
  const url = found.url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/#.*$/s, '');
  return { ...found, method: found.method.toUpperCase(), url: url.startsWith('/') ? url : `/${url}` };
};

const verbs = [...methods, 'HEAD', 'OPTIONS'].join('|');
const asked = new RegExp(String.raw`(?:^|[\s"'(])(${verbs})\s+(\S+?)(?:\s+HTTP\/[\d.]+)?["']?(?=[\s"')]|$)`);

const inText = (line: string): LoggedRequest | null => {
  const [whole, method, url] = asked.exec(line) ?? [];
  if (whole !== undefined && method !== undefined && url !== undefined && /^(\/|https?:\/\/)/.test(url)) {
    const after = line.slice(line.indexOf(whole) + whole.length);
    const [, status] = /^["']?\s(?:.*?\s)??(?:\(\d+ ms\)\s)?([1-5]\d\d)(?=\s|$)/.exec(after) ?? [];
    return { method, url, status: status === undefined ? null : Number(status) };
  }
  const [, bare] = /^\s*((?:https?:\/\/|\/)\S*)\s*$/.exec(line) ?? [];
  return bare === undefined ? null : { method: 'GET', url: bare, status: null };
};

const inJson = (line: string): LoggedRequest | null => {
  try {
    const log = JSON.parse(line) as Record<string, unknown>;
    const nested = (typeof log['req'] === 'object' ? log['req'] : log['request']) ?? log;
    if (typeof nested === 'string') return inText(nested);
    const { method, url, uri, path: place } = nested as Record<string, unknown>;
    const target = [url, uri, place].find((it) => typeof it === 'string');
    const status = [
      log['status'],
      log['statusCode'],
      (log['res'] as { statusCode?: unknown } | undefined)?.statusCode,
    ].find((it) => typeof it === 'number');
    if (typeof target !== 'string') return null;
    return {
      method: typeof method === 'string' ? method : 'GET',
      url: target,
      status: status === undefined ? null : Number(status),
    };
  } catch {
    return null;
  }
};

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly path: string;
  readonly lenient: RefusedGroup['lenient'];
}

type Verdict =
  | { readonly kind: 'content'; readonly faults: readonly Fault[] }
  | { readonly kind: 'elsewhere'; readonly what: string };

const newJudge = ({
  model,
  config,
  ownRoutes,
  hasCode,
  routers,
  defaultLocale,
}: JudgeOptions): ((request: LoggedRequest) => Verdict) => {
  const { prefix } = config.api.rest;
  const routes = routesAsWritten(model, prefix, routers).map((route) => ({ route, form: formOf(route.path) }));
  const own = ownRoutes.map((it) => ({ ...it, matches: matcherOf(`${prefix}${it.path}`) }));
  const context = { model, gate: serverGate, rest: config.api.rest, defaultLocale };
  const resolve = (
    route: Route,
    action: ReadAction,
    search: string,
    strict: boolean,
  ): { readonly issues: readonly Issue[]; readonly ignored: readonly string[] } => {
    const raw = textQuery(search).read();
    if (!raw.ok) return { issues: raw.issues, ignored: [] };
    const resolved = resolveQuery(raw.value, route.type, action, { ...context, strict });
    return resolved.ok
      ? { issues: [], ignored: resolved.value.leftOut.map((it) => formatIssue(it.issue)) }
      : { issues: resolved.issues, ignored: [] };
  };
  return ({ method, url }) => {
    const [pathname = '', search = ''] = url.split(/\?(.*)/s);
    // the first match wins in v4, so routes of the project hide those of content
    const ofProject = own.find(
      (it) => (it.method === method || (method === 'HEAD' && it.method === 'GET')) && it.matches(pathname),
    );
    if (ofProject)
      return {
        kind: 'elsewhere',
        what: `${ofProject.method} ${prefix}${ofProject.path}, a route of the project: ${ofProject.runs ? 'runs' : 'not run'}`,
      };
    const found = routes.find(({ form }) => form.test(pathname));
    const reading = method === 'HEAD' ? 'GET' : method;
    if (!found) return { kind: 'elsewhere', what: placeOf(pathname, prefix, hasCode) };
    const { route } = found;
    const action = route.actions[reading as keyof Route['actions']];
    if (method === 'OPTIONS') return { kind: 'elsewhere', what: 'OPTIONS, answered for CORS' };
    if (action === undefined) return { kind: 'elsewhere', what: `${method} ${route.path}: not served` };
    if (Buffer.byteLength(url) > limits.urlBytesMax)
      return {
        kind: 'content',
        faults: [
          {
            code: 'http.url-too-long',
            message: `The URL has more than ${limits.urlBytesMax} bytes`,
            path: route.path,
            lenient: 'refused',
          },
        ],
      };
    const id = /\/([^/]+?)\/?$/.exec(pathname)?.[1] ?? '';
    if (route.path.endsWith(':id') && parseId(id) === null)
      return {
        kind: 'elsewhere',
        what: `${method} ${route.path} with an id that is no number: 404, as in v4${hasCode ? ', but where a controller of the project finds it' : ''}`,
      };
    const read: ReadAction = action === 'find' || action === 'single' ? action : 'findOne';
    const strict = resolve(route, read, search, true);
    const lenient = resolve(route, read, search, false);
    const faults = strict.issues.map(
      (it): Fault => ({
        code: it.code,
        message: formatIssue(it),
        path: route.path,
        lenient:
          lenient.issues.length > 0 ? 'refused' : lenient.ignored.includes(formatIssue(it)) ? 'ignored' : 'as v4',
      }),
    );
    return { kind: 'content', faults };
  };
};

/** As the server matches routes of the project; one that cannot be read stops the start, and matches nothing here. */
const matcherOf = (path: string): ((pathname: string) => boolean) => {
  try {
    const matches = match(path);
    return (pathname) => matches(pathname) !== false;
  } catch {
    return () => false;
  }
};

const formOf = (route: string): RegExp =>
  new RegExp(
    `^${route
      .split('/')
      .map((it) => (it.startsWith(':') ? '[^/]+' : it === '(.*)' ? '.*' : it.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
      .join('/')}/?$`,
    'i',
  );

/** What v4 serves besides content. */
const placeOf = (pathname: string, prefix: string, hasCode: boolean): string => {
  const places: readonly (readonly [RegExp, string])[] = [
    [/^\/uploads\//, 'files below /uploads: served'],
    [/^\/_health\/?$/, '/_health: served'],
    [
      /^\/(admin|content-manager|upload|content-type-builder|i18n|users-permissions|email|content-releases|review-workflows)(\/|$)/,
      "v4's admin panel: not served, the Studio at /studio stands in its place",
    ],
    [/^\/graphql(\/|$)/, 'GraphQL: not served'],
    [/^\/documentation(\/|$)/, 'the documentation plugin: not served, see /api/reference'],
  ];
  const found = places.find(([form]) => form.test(pathname));
  if (found) return found[1];
  if (!pathname.startsWith(`${prefix}/`)) return 'other paths: 404';
  const rest = pathname.slice(prefix.length);
  if (/^\/(auth|users|users-permissions|upload|i18n)(\/|$)/.test(rest)) return 'accounts, files and locales: served';
  if (/^\/(connect|email|content-type-builder)(\/|$)/.test(rest))
    return `${prefix}${/^\/[^/]+/.exec(rest)?.[0]}: not served`;
  return `paths below ${prefix} that no type has: 404${hasCode ? ', but where code of the project adds a route' : ''}`;
};
