/** The server's own endpoints of accounts and files, called by project code: the actions of v4's plugins. */
import type { FastifyRequest } from 'fastify';
import type Koa from 'koa';
import type { KnownCaller } from '../../access/caller.js';
import type { AccountAnswer } from '../../accounts/account.js';
import { never, Refusal } from '../../errors.js';
import { typeOf, USER_UID } from '../../model/model.js';
import type { LeftOut } from '../../query/lenient.js';
import type { Search } from '../../query/searches.js';
import { readPrecondition } from '../../read/etag.js';
import type { Site } from '../../site/site.js';
import { asSent } from '../../v4code/data/entities.js';
import { formAsLeft } from '../../v4code/data/files.js';
import { refuseInTransaction } from '../../v4code/data/scope.js';
import { isMembers } from '../../v4code/loading/parts.js';
import type { CodeContext, NativeEndpoints } from '../../v4code/native.js';
import { forCode, RateLimitError, v4Refusal } from '../../v4code/strapi-utils/errors.js';
import { accountOf } from '../account-routes.js';
import type { Attempts } from '../attempts.js';
import { answerFiles } from '../file-routes.js';
import { parseId } from '../routes.js';
import { searchOf } from '../target.js';
import type { Contexts } from './context.js';

export interface EndpointDeps {
  readonly site: Site;
  readonly contexts: Contexts;
  readonly attempts: Attempts;
  /** Path prefix of the content API. */
  readonly prefix: string;
  /** What the framework knows of the request of a context; nothing of reads outside of it. */
  readonly exchanges: WeakMap<object, FastifyRequest>;
  /** Whose rights a request has. */
  readonly callerOf: (ctx: object) => KnownCaller;
  /** Says in the response and in the log what of the request has no effect. */
  readonly reportLeftOut: (ctx: CodeContext, leftOut: readonly LeftOut[]) => void;
}

export const newEndpoints = (deps: EndpointDeps): NativeEndpoints => {
  const { site, contexts, attempts, prefix, exchanges, callerOf, reportLeftOut } = deps;

  /** The query, with what code has changed. */
  const searchFor = (koa: Koa.Context): Search => contexts.changedQuery(koa) ?? searchOf(koa.req.url!);
  /** By context, the accounts whose attempts are counted: clients choose under which name a middleware counts. */
  const counted = new WeakMap<object, Set<string>>();
  const attempt = async (koa: Koa.Context, endpoint: string, account: string): Promise<boolean> => {
    const accounts = counted.get(koa) ?? new Set();
    if (accounts.has(account)) return true;
    counted.set(koa, accounts.add(account));
    const setHeader = (name: string, value: number): void => koa.set(name, String(value));
    return attempts({ ip: koa.ip, endpoint, account, setHeader });
  };

  return {
    countAttempt: async (ctx) => {
      const koa = ctx as Koa.Context;
      const { body } = (ctx as unknown as CodeContext).request;
      const account = isMembers(body) ? (body['email'] ?? body['identifier']) : undefined;
      const name = typeof account === 'string' ? account.trim().toLowerCase() : '';
      // a path has many spellings, its route has one
      const endpoint = String(koa['_matchedRoute'] ?? koa.path).toLowerCase();
      if (!(await attempt(koa, endpoint, name))) throw new RateLimitError();
    },
    answerAccount: async (ctx, { method, counted: by, path, permission, actionOf }) => {
      const koa = koaOf(ctx);
      // by what the endpoint does: a route of the project with any method may call it
      if (method !== 'GET' || permission === 'auth.emailConfirmation') refuseInTransaction(permission);
      const given = ctx.request.body;
      const body = isMembers(given) ? asSent(given, typeOf(site.model, USER_UID), site.model) : given;
      const caller = callerOf(ctx);
      if (by && !(await attempt(koa, prefix + path, accountOf(by, body, caller)))) throw new RateLimitError();
      // link checkers send HEAD, which must not consume the code
      if (koa.method === 'HEAD' && permission === 'auth.emailConfirmation') {
        koa.status = 200;
        return;
      }
      const { id } = ctx.params;
      const act = actionOf(site.accounts);
      const answer = await act({
        caller,
        body,
        search: searchFor(koa),
        id: id === undefined ? null : parseId(String(id)),
        match: readPrecondition(koa.req.headers),
      }).catch(throwForCode);
      if (!answer.ok) return showRefusal(koa, new Refusal(...answer.issues));
      reportLeftOut(ctx, leftOutIn(answer.value));
      showAccount(koa, answer.value);
    },
    answerFiles: async (ctx, action) => {
      const koa = koaOf(ctx);
      if (action === 'upload' || action === 'update' || action === 'destroy')
        refuseInTransaction(`content-api.${action}`);
      const { body, files } = ctx.request;
      const form = exchanges.get(koa)?.form ?? null;
      if (form?.received) form.received = await formAsLeft(body, files, form.received);
      const { id = null } = ctx.params;
      const given = { caller: callerOf(ctx), form, body, search: searchFor(koa), id, headers: koa.req.headers };
      const answer = await answerFiles(action, given, site.media).catch(throwForCode);
      if (!answer.ok) return showRefusal(koa, new Refusal(...answer.issues));
      reportLeftOut(ctx, answer.value.leftOut);
      koa.body = JSON.parse(answer.value.body.toString());
    },
  };
};

const throwForCode = (fault: unknown): never => {
  throw forCode(fault);
};

const koaOf = (ctx: CodeContext): Koa.Context => ctx as unknown as Koa.Context;

const leftOutIn = (answer: AccountAnswer): readonly LeftOut[] => {
  switch (answer.kind) {
    case 'entries':
      return answer.answer.leftOut;
    case 'json':
      return answer.leftOut ?? [];
    case 'redirect':
      return [];
    default:
      return never(answer);
  }
};

const showAccount = (koa: Koa.Context, answer: AccountAnswer): void => {
  switch (answer.kind) {
    case 'entries':
      koa.status = answer.isNew === true ? 201 : 200;
      koa.body = JSON.parse(answer.answer.body.toString());
      return;
    case 'json':
      if (answer.privacy === 'private') koa.set('cache-control', 'no-store');
      koa.status = answer.isNew === true ? 201 : 200;
      koa.body = JSON.parse(answer.text);
      return;
    case 'redirect':
      koa.redirect(answer.to.replaceAll(/[^\x21-\x7e]+/g, encodeURIComponent));
      return;
    default:
      never(answer);
  }
};

/** What v4's controllers say by the context is said so; what they throw is thrown, so that code around them can catch it. */
const showRefusal = (koa: Koa.Context, refusal: Refusal): void => {
  const { status, body } = v4Refusal(refusal);
  if (status === 401 || status === 403) {
    koa.status = status;
    koa.body = body;
    return;
  }
  throw forCode(refusal);
};
