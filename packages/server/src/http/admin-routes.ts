/**
 * Routes of administrators (AD1 to AD7). The refresh token is in a cookie that no script and no other site can use: HttpOnly,
 * SameSite=Strict, only for `/admin`. What works with it needs a header besides, which pages of other origins cannot send.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { bearerOf, type Callers, type KnownCaller } from '../access/caller.js';
import type { AdminAnswer } from '../administration/administration.js';
import { type AdminActions, type AdminEndpoint, adminEndpoints } from '../administration/endpoints.js';
import { emailOf } from '../administration/rows.js';
import { issue, ok, type Result, refused } from '../errors.js';
import { isObject } from '../write/ids.js';
import { type Attempts, attemptingBy } from './attempts.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';
import { type Method, parseId } from './routes.js';

export interface AdminRouteDeps {
  readonly actions: AdminActions;
  readonly callers: Callers;
  readonly attempts: Attempts;
  /** URL at which clients see the server, without a slash at its end; null if not known. */
  readonly publicUrl: string | null;
}

export const addAdminPaths = (app: FastifyInstance, deps: AdminRouteDeps): void => {
  const paths = new Map<string, Partial<Record<Method, RouteHandlerMethod>>>();
  for (const it of adminEndpoints) paths.set(it.path, { ...paths.get(it.path), [it.method]: handlerOf(it, deps) });
  for (const [path, handlers] of paths) addPath(app, path, handlers);
};

const handlerOf =
  (endpoint: AdminEndpoint, deps: AdminRouteDeps): RouteHandlerMethod =>
  async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { needs, permission, counted } = endpoint;
    if (needs !== 'admin' && endpoint.method !== 'GET' && isForeign(request, deps))
      return sendIssues(reply, [issue('admin.foreign', [])]);
    if (needs === 'cookie' && !isFromStudio(request)) return sendIssues(reply, [issue('admin.header', [])]);
    const caller = needs === 'admin' ? await administrator(request, permission, deps) : ok(null);
    if (!caller.ok) return sendIssues(reply, caller.issues);
    const account = counted ? accountOf(counted, request.body, caller.value) : null;
    if (account !== null && !(await deps.attempts(attemptingBy(request, reply, account))))
      return sendIssues(reply, [issue('http.too-many-requests', [])]);
    const given = (request.params as { readonly id?: string }).id;
    const answer = await endpoint.actionOf(deps.actions)({
      caller: caller.value,
      body: request.body,
      id: given === undefined ? null : parseId(given),
      refreshToken: needs === 'cookie' ? refreshTokenIn(request) : null,
      accessToken: needs === 'admin' ? bearerOf(request.headers.authorization ?? '') : null,
    });
    if (answer.ok) return send(request, reply, answer.value, deps);
    // a cookie that is worth nothing should not be sent again
    if (answer.issues[0]?.code === 'admin.no-session') setCookie(request, reply, 'ended', deps);
    return sendIssues(reply, answer.issues);
  };

const administrator = async (
  request: FastifyRequest,
  permission: string | undefined,
  { callers }: AdminRouteDeps,
): Promise<Result<KnownCaller>> => {
  const caller = await callers.identify(request.headers.authorization);
  if (!caller.ok) return caller;
  const { rights } = caller.value;
  // to the endpoints of administrators nobody else is known
  if (!rights) return refused(issue('http.bad-credentials', []));
  if (permission !== undefined && rights.rulesOfAction(permission).length === 0)
    return refused(issue('http.forbidden', []));
  return caller;
};

/** The account that an attempt targets, apart from those of users; '' for none, null if the request is no attempt. */
const accountOf = (
  counted: NonNullable<AdminEndpoint['counted']>,
  body: unknown,
  caller: KnownCaller | null,
): string | null => {
  const given = isObject(body) ? body : {};
  switch (counted) {
    case 'address':
      return '';
    case 'self':
      return given['currentPassword'] === undefined ? null : `administrator ${caller?.rights?.adminId}`;
    case 'email': {
      const { email } = given;
      return typeof email === 'string' && email !== '' ? `administrator ${emailOf(email)}` : '';
    }
  }
};

const send = (
  request: FastifyRequest,
  reply: FastifyReply,
  { data, isNew = false, session }: AdminAnswer,
  deps: AdminRouteDeps,
): FastifyReply => {
  // other clients keep their access token, and have no use for a cookie
  if (session && isFromStudio(request)) setCookie(request, reply, session, deps);
  return reply
    .code(isNew ? 201 : 200)
    .header('content-type', JSON_TYPE)
    .send(JSON.stringify({ data }));
};

// ---- the cookie, and who may use it

const COOKIE = 'dovetail_session';

const refreshTokenIn = ({ headers: { cookie = '' } }: FastifyRequest): string | null =>
  /(?:^|;\s*)dovetail_session=([\w.-]+)\s*(?:;|$)/.exec(cookie)?.[1] ?? null;

const setCookie = (
  request: FastifyRequest,
  reply: FastifyReply,
  session: NonNullable<AdminAnswer['session']>,
  { publicUrl }: AdminRouteDeps,
): void => {
  const isSecure = publicUrl?.startsWith('https:') === true || request.protocol === 'https';
  const [value, seconds] = session === 'ended' ? ['', 0] : [session.refreshToken, Math.floor(session.msLeft / 1000)];
  const path = `${publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')}/admin`;
  reply.header(
    'set-cookie',
    `${COOKIE}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`,
  );
};

/** CORS allows other origins no such header, so their pages cannot send it. */
const isFromStudio = ({ headers }: FastifyRequest): boolean => headers['dovetail-studio'] === '1';

/** Whether a browser sends the request for a page of another origin. Browsers say so themselves, over plain HTTP by `Origin` only. */
const isForeign = ({ headers }: FastifyRequest, { publicUrl }: AdminRouteDeps): boolean => {
  const { 'sec-fetch-site': site, origin, host } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (origin === undefined) return false;
  const from = urlOf(origin);
  // the port that a scheme implies may be written or not
  const own = from && host !== undefined ? urlOf(`${from.protocol}//${host}`) : null;
  return (
    from === null || (from.host !== own?.host && (publicUrl === null || from.origin !== new URL(publicUrl).origin))
  );
};

const urlOf = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);
