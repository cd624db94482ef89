/** Lets code answer a read outside the framework. */
import type http from 'node:http';
import type Koa from 'koa';
import { unwrap } from '../../errors.js';
import { textQuery } from '../../query/brackets.js';
import type { QuerySource } from '../../query/raw.js';
import { type Search, searchQuery } from '../../query/searches.js';
import type { Answer } from '../../read/answer.js';
import { type Ready, whenReady } from '../../ready.js';
import type { Site } from '../../site/site.js';
import type { BoundCode } from '../../v4code/code.js';
import { inRequest } from '../../v4code/data/scope.js';
import type { CodeContext, Native } from '../../v4code/native.js';
import type { GuardedAction } from '../../v4code/requests/chains.js';
import type { RoutesAt } from '../../v4code/requests/routes.js';
import { absentOrThrown } from '../../v4code/strapi-utils/errors.js';
import { answerRead, type ReadTarget } from '../actions.js';
import { claimsAdministrator, isReading } from '../credentials.js';
import { asksForV5 } from '../forms.js';
import { searchOf, targetOf } from '../target.js';
import { bodyOf } from './answers.js';
import { pathOf } from './bodies.js';
import { type Contexts, hasCommonHeaders } from './context.js';
import { type Asked, answerOfContext, type CodeAnswer } from './responses.js';
import { isOfApi, noNext, type Running } from './running.js';

/** What a URL asks of code, whoever asks: it may be kept. */
export interface CodePlace {
  readonly url: string;
  readonly pathname: string;
  readonly routes: RoutesAt;
  readonly query: QuerySource;
}

export interface CodeLane {
  /** Null for a URL that only the framework reads. */
  placeOf(url: string): CodePlace | null;
  /**
   * `none`: no code takes part in the request; `framework`: only there. Whatever fails, also at once, is a rejection.
   * @param place of its URL. @param given what the request is for, if it is a read of the content API, null otherwise; and the headers
   * of every response, which code is given once it looks at the response: from then on they are not the caller's to send.
   */
  begin(
    request: http.IncomingMessage,
    response: http.ServerResponse,
    asked: Asked,
    place: CodePlace,
    given: {
      readonly target: ReadTarget | null;
      readonly commonHeaders: () => readonly string[];
    },
  ): Ready<CodeAnswer> | 'none' | 'framework';
}

export interface CodeLaneDeps {
  readonly code: BoundCode;
  readonly site: Site;
  readonly contexts: Contexts;
  readonly native: Native;
  readonly running: Running;
}

export const newCodeLane = ({ code, site, contexts, native, running }: CodeLaneDeps): CodeLane => {
  /**
   * The server's own answer once the guards let it pass: nothing of it has to be an object for that. Policies know themselves which
   * request they are asked about, and nothing else is code.
   */
  const answerGuarded = (
    ctx: Koa.Context,
    { uid, action, pass, act }: GuardedAction,
    asked: Asked,
  ): Ready<CodeAnswer> => {
    const type = site.model.types.get(uid)!;
    let answer: Answer | null = null;
    const answered = (made: Answer): void => {
      answer = made;
    };
    const proceed = (): unknown =>
      hasSaid(ctx) || contexts.limitsPopulate(ctx)
        ? inRequest(ctx, () => act(ctx as Koa.ParameterizedContext, noNext))
        : whenReady(native.answer(ctx as unknown as CodeContext, type, action), answered);
    const work = (): unknown => {
      const passed = pass(ctx);
      return passed ? passed.then(proceed) : proceed();
    };
    return running.alone(ctx, work, asked, () =>
      answer ? { kind: 'answer', answer, wasShown: false } : answerOfContext(ctx),
    );
  };

  /** Null for an entry that does not exist; what else is refused is thrown as v4's error. */
  const readForCode = async (target: ReadTarget, headers: http.IncomingHttpHeaders): Promise<Answer | null> => {
    try {
      return unwrap(await answerRead(target, headers, site));
    } catch (fault) {
      return absentOrThrown(fault);
    }
  };

  const begin: CodeLane['begin'] = (
    request,
    response,
    asked,
    { url, pathname, routes, query },
    { target, commonHeaders },
  ) => {
    const { method = 'GET' } = request;
    const found = routes.find(method);
    if (!found && code.globals.length === 0) return 'none';
    if (claimsAdministrator(request.headers)) return 'framework';
    if (
      found ? !isReading(method) || found.route.namespace.startsWith('plugin::') : target === null || !isReading(method)
    )
      return 'framework';
    if ((target || isOfApi(found)) && asksForV5(request.headers)) return 'framework';
    const ctx = running.newContext(request, response, found, { body: undefined, source: query, commonHeaders });
    const guarded = found?.route.guarded;
    if (guarded && !running.hasGlobals && guarded.isPlain()) return answerGuarded(ctx, guarded, asked);
    const last = running.routed({ method, pathname }, found, async () => {
      await running.introduce(ctx, routes.findAny(method));
      const search = contexts.changedQuery(ctx) ?? (request.url === url ? null : searchOf(request.url!));
      const asTold = search === null ? target! : withSearch(target!, search);
      const answer = await readForCode(asTold, request.headers);
      if (answer) ctx.body = bodyOf(answer);
    });
    return running.inside(ctx, last, asked, () => answerOfContext(ctx));
  };

  return {
    placeOf: (url) => {
      // the framework refuses what cannot be decoded
      if (targetOf(url) !== url) return null;
      const pathname = pathOf(url);
      return { url, pathname, routes: code.table.at(pathname), query: textQuery(searchOf(url)) };
    },
    begin: (request, response, asked, place, given) => {
      try {
        return begin(request, response, asked, place, given);
      } catch (fault) {
        return Promise.reject(fault);
      }
    },
  };
};

const withSearch = (target: ReadTarget, search: Search): ReadTarget => ({
  ...target,
  request: { ...target.request, query: searchQuery(search) },
});

/** Whether a policy has said anything of the response, which then counts beside what the action says. */
const hasSaid = (ctx: Koa.Context): boolean => {
  const { _explicitStatus: status, _body: body } = ctx.response as {
    readonly _explicitStatus?: boolean;
    readonly _body?: unknown;
  };
  return status === true || body !== undefined || hasCommonHeaders(ctx);
};
