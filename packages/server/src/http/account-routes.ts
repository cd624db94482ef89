/** Routes of users, roles and authentication (RQ1, AC8). A route that is not listed here does not exist. */
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify';
import type { Callers, KnownCaller } from '../access/caller.js';
import type { AccountAnswer } from '../accounts/account.js';
import type { Accounts } from '../accounts/accounts.js';
import { type AccountEndpoint, accountEndpoints } from '../accounts/endpoints.js';
import { issue } from '../errors.js';
import { readPrecondition } from '../read/etag.js';
import { isObject } from '../write/ids.js';
import { type Attempts, attemptingBy } from './attempts.js';
import { identifyCaller, isReading } from './credentials.js';
import { mayBeEntry } from './past-code.js';
import { addPath, type PathHandlers } from './paths.js';
import { JSON_TYPE, sendAnswer, sendIssues } from './respond.js';
import { type Method, parseId } from './routes.js';
import { searchOfRequest } from './searches.js';

export interface AccountRouteDeps {
  readonly accounts: Accounts;
  readonly callers: Callers;
  readonly attempts: Attempts;
  readonly prefix: string;
}

/** @param taken paths of the project's content types, which take precedence. */
export const addAccountPaths = (app: FastifyInstance, taken: ReadonlySet<string>, deps: AccountRouteDeps): void => {
  const paths = new Map<string, Partial<Record<Method, RouteHandlerMethod>>>();
  for (const route of accountEndpoints) {
    const path = deps.prefix + route.path;
    if (taken.has(path)) continue;
    paths.set(path, { ...paths.get(path), [route.method]: handlerOf(route, deps) });
  }
  // nobody is an administrator where users sign in
  for (const [path, handlers] of paths)
    addPath(
      app,
      path,
      handlers satisfies PathHandlers,
      path.startsWith(`${deps.prefix}/auth/`) ? {} : { pastCode: mayBeEntry },
    );
};

const handlerOf =
  ({ actionOf, permission, counted }: AccountEndpoint, deps: AccountRouteDeps): RouteHandlerMethod =>
  async (request, reply) => {
    const identified = await identifyCaller(request.headers, isReading(request.method), deps.callers);
    if (!identified.ok) return sendIssues(reply, identified.issues);
    const caller = identified.value;
    const account = counted ? accountOf(counted, request.body, caller) : '';
    if (counted && !(await deps.attempts(attemptingBy(request, reply, account))))
      return sendIssues(reply, [issue('http.too-many-requests', [])]);
    if (!caller.may(`plugin::users-permissions.${permission}`)) return sendIssues(reply, [issue('http.forbidden', [])]);
    // link checkers send HEAD, which must not consume the code
    if (request.method === 'HEAD' && permission === 'auth.emailConfirmation') return reply.send();
    const given = (request.params as { readonly id?: string }).id;
    const answer = await actionOf(deps.accounts)({
      caller,
      body: request.body,
      search: searchOfRequest(request),
      id: given === undefined ? null : parseId(given),
      match: readPrecondition(request.headers),
    });
    return answer.ok ? send(reply, answer.value) : sendIssues(reply, answer.issues);
  };

/** The account that an attempt targets; '' if none is named. */
export const accountOf = (
  counted: NonNullable<AccountEndpoint['counted']>,
  body: unknown,
  { who }: KnownCaller,
): string => {
  if (counted === 'address') return '';
  if (counted === 'user') return who.kind === 'user' ? `user ${who.id}` : '';
  const name = isObject(body) && Object.hasOwn(body, counted) ? body[counted] : '';
  return typeof name === 'string' ? name.trim().toLowerCase() : '';
};

const send = (reply: FastifyReply, answer: AccountAnswer): FastifyReply => {
  switch (answer.kind) {
    case 'entries':
      return sendAnswer(reply.code(answer.isNew === true ? 201 : 200), answer.answer);
    case 'json':
      if (answer.text === 'null') return reply.code(204).send();
      if (answer.privacy === 'private') reply.header('cache-control', 'no-store');
      return reply
        .code(answer.isNew === true ? 201 : 200)
        .reportLeftOut(answer.leftOut ?? [])
        .header('content-type', JSON_TYPE)
        .send(answer.text);
    case 'redirect':
      // the URL comes from settings and may contain anything; headers are ASCII
      return reply.redirect(answer.to.replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent), 302);
  }
};
