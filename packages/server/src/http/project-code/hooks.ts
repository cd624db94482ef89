/** Lets code answer requests of the framework, which goes on with those that the server itself is to answer. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type Koa from 'koa';
import { issue, Refusal } from '../../errors.js';
import type { BoundCode } from '../../v4code/code.js';
import { formAsLeft } from '../../v4code/data/files.js';
import { inRequest, refuseInTransaction } from '../../v4code/data/scope.js';
import type { Native } from '../../v4code/native.js';
import type { FoundRoute } from '../../v4code/requests/routes.js';
import { ApplicationError, UnauthorizedError } from '../../v4code/strapi-utils/errors.js';
import { isReading } from '../credentials.js';
import { asksForV5 } from '../forms.js';
import { isAnsweredPastCode, isByAdministrator, isOfContent } from '../past-code.js';
import { sendIssues } from '../respond.js';
import { anyRouteOf, codeMethodsOf, codeRouteOf, firstRouteOf, pathOf, rewind } from './bodies.js';
import type { Contexts } from './context.js';
import { type Asked, type CodeRun, fail, finish, handOver, responseOfFault, send, sendFault } from './responses.js';
import { allowOf, isOfApi, noNext, type Running, refuseMethod } from './running.js';
import type { WaitingForms } from './waiting-forms.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set while the project's code waits for the server's own answer. */
    codeRun: CodeRun | null;
  }
}

export interface CodeHooksDeps {
  readonly code: BoundCode;
  readonly contexts: Contexts;
  readonly native: Native;
  readonly running: Running;
  readonly forms: WaitingForms;
  /** The framework's requests, by context. */
  readonly exchanges: WeakMap<object, FastifyRequest>;
}

export const addCodeHooks = (
  app: FastifyInstance,
  { code, contexts, native, running, forms, exchanges }: CodeHooksDeps,
): void => {
  app.decorateRequest('codeRun', null);
  app.decorateRequest('responseOfFault', null);
  app.decorateRequest('codeRoute', undefined);
  app.decorateRequest('bytesForCode', null);
  app.decorateRequest('changedQuery', null);
  app.addHook('preHandler', (request, reply, done) => {
    const pathname = pathOf(request.raw.url!);
    const found = codeRouteOf(request, code.table);
    const isCode = found !== null || code.globals.length > 0 || isOtherMethod(request, pathname, code);
    if (pathname.startsWith('/_health')) done();
    else if (!isCode && isReading(request.method)) done();
    else if (!isCode && isOfContent(request)) letPass(request, reply, done);
    else if (!isCode) {
      explainFaults(request, askedBy(request));
      done();
    } else if (isOfApi(found) && asksForV5(request.headers)) sendIssues(reply, [issue('http.format-of-code', [])]);
    else {
      const { raw, bytesForCode } = request;
      request.bytesForCode = null;
      const handleNow = (whenRead: (() => Promise<void>) | null): void =>
        handle(request, reply, { pathname, found, whenRead, goOn: done });
      if (bytesForCode === null) handleNow(null);
      // the stream closes behind its end, which this may be part of
      else setImmediate(() => handleNow(rewind(raw, reply.raw, bytesForCode)));
    }
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const allowed = reply.getHeader('allow');
    // what is on the response itself, code has said
    if (allowed !== undefined && !reply.raw.hasHeader('allow') && !isByAdministrator(request))
      reply.header('allow', allowOf([...String(allowed).split(', '), ...codeMethodsOf(request, code.table)]));
    const run = request.codeRun;
    if (!run) return payload;
    request.codeRun = null;
    return finish(run, reply, payload);
  });

  /** No code stands in the way of the answer, but hooks may be set off by it. */
  const letPass = (request: FastifyRequest, reply: FastifyReply, goOn: () => void): void => {
    handOver(reply);
    const given = { body: request.body, source: null, commonHeaders: null };
    const ctx = running.newContext(request.raw, reply.raw, null, given);
    // Koa's own is a 404
    reply.raw.statusCode = 200;
    const asked = askedBy(request);
    explainFaults(request, asked);
    introduceCaller(ctx, request).then(
      () => inRequest(ctx, goOn),
      (fault: unknown) => sendFault(fault, asked, reply),
    );
  };

  /** Tells code of a request that the server answers past the routes of the project; hooks may ask who it is. */
  const introduceCaller = async (ctx: Koa.Context, { params, routeOptions }: FastifyRequest): Promise<void> => {
    contexts.route(ctx, params as Record<string, string>, routeOptions.url!);
    try {
      const { rights } = await native.authenticate(ctx, null);
      if (rights) ctx.state['user'] = await code.findAdministrator(rights.adminId);
    } catch (fault) {
      // bad credentials: the answer will say so
      if (!(fault instanceof ApplicationError)) throw fault;
    }
  };

  /** Lets code answer, or go on. */
  const handle = (
    request: FastifyRequest,
    reply: FastifyReply,
    {
      pathname,
      found,
      whenRead,
      goOn,
    }: {
      readonly pathname: string;
      readonly found: FoundRoute | null;
      /** Waits for those that read the body beside the server. */
      readonly whenRead: (() => Promise<void>) | null;
      readonly goOn: () => void;
    },
  ): void => {
    const { method, form } = request;
    const { raw } = reply;
    handOver(reply);
    const given = { body: request.body, source: null, commonHeaders: null };
    const ctx = running.newContext(request.raw, raw, found, given);
    const holder = ctx.request as { readonly body?: unknown; readonly files?: unknown };
    const givenBody = request.body;
    let hasAnswered = false;
    let isOver = false;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    /** Lets the framework answer; resolves with its answer in the context, or rejects with what v4 would throw. */
    const answerNatively = async (): Promise<void> => {
      if (hasAnswered || isOver) throw new Error('next() was called twice, or after the middleware had ended');
      if (!isReading(method) && method !== 'OPTIONS' && !request.is404) refuseInTransaction(`${method} ${pathname}`);
      hasAnswered = true;
      const isPastCode = isAnsweredPastCode(request);
      const route = isPastCode ? null : anyRouteOf(request, code.table);
      try {
        const isUnrouted = isPastCode || (!route && isOfContent(request));
        await (isUnrouted ? introduceCaller(ctx, request) : running.introduce(ctx, route));
      } catch (fault) {
        hasAnswered = false;
        throw fault;
      }
      // a middleware that did not wait for next() may have changed whose request it is
      if (isPastCode && !isByAdministrator(request)) throw new UnauthorizedError();
      raw.statusCode = 200;
      if (form?.received) form.received = await formAsLeft(holder.body, holder.files, form.received);
      else if (givenBody !== undefined || hasContent(holder.body)) request.body = holder.body;
      const changed = contexts.changedQuery(ctx);
      if (changed) {
        request.changedQuery = changed;
        // for what is no part of a query; conditions may be lost in it
        request.raw.url = `${pathname}?${changed.text}`;
      }
      await new Promise<void>((answered, refused) => {
        const keepsCodes = isByAdministrator(request);
        if (keepsCodes || !route) explainFaults(request, asked);
        request.codeRun = { ctx, answered, refused: route && refused, keepsCodes, ended };
        goOn();
      });
    };
    const wasPastCode = isAnsweredPastCode(request);
    const act = running.routed({ method, pathname }, found, async () => {
      // a global middleware has changed whose request it is: their code is in force
      const theirs = wasPastCode && !isByAdministrator(request) ? firstRouteOf(request, code.table) : null;
      if (theirs && isOfApi(theirs) && asksForV5(request.headers))
        fail(new Refusal(issue('http.format-of-code', [])), ctx, asked);
      else if (theirs) {
        contexts.route(ctx, theirs.params, theirs.route.path);
        await theirs.route.chain(ctx as Koa.ParameterizedContext, noNext);
      } else if (isOtherMethod(request, pathname, code)) refuseMethod(ctx, code.table.at(pathname));
      else await answerNatively();
    });
    const last: Koa.Middleware = whenRead ? (it, next) => whenRead().then(() => act(it, next)) : act;
    exchanges.set(ctx, request);
    const asked = askedBy(request);
    const run = async (): Promise<void> =>
      running.inside(ctx, last, asked, () => {
        isOver = true;
        end();
      });
    const isForm = form !== null && method !== 'DELETE';
    if (isForm) forms.add(ctx, form);
    // global middlewares may look at any body; without them whoever sends one is asked for a permission first
    const answering = isForm && running.hasGlobals ? receiveFirst(ctx, asked, run) : run();
    answering
      .then(() => (hasAnswered ? undefined : send(ctx, reply)))
      .catch((fault: unknown) => {
        end();
        sendFault(fault, asked, reply);
      });
  };

  /** A form that cannot be received is the response. */
  const receiveFirst = async (ctx: Koa.Context, asked: Asked, run: () => Promise<void>): Promise<void> => {
    let hasRun = false;
    try {
      await forms.receive(ctx, () => {
        hasRun = true;
        return run();
      });
    } catch (fault) {
      if (hasRun) throw fault;
      fail(fault, ctx, asked);
    }
  };
};

const askedBy = ({ method, raw: { url }, id, log }: FastifyRequest): Asked => ({ method, url, id, log });

/** What hooks throw may be meant for the client, whoever answers. */
const explainFaults = (request: FastifyRequest, asked: Asked): void => {
  request.responseOfFault = (fault) => responseOfFault(fault, request.body, asked);
};

/** Code finds an empty object where there is no body. */
const hasContent = (body: unknown): boolean =>
  body !== null && (typeof body !== 'object' || Reflect.ownKeys(body).length > 0);

/** A path of the project's routes with a method that none of them has, and that the server does not know either. */
const isOtherMethod = (request: FastifyRequest, pathname: string, code: BoundCode): boolean =>
  request.is404 && request.method !== 'OPTIONS' && code.table.at(pathname).methods().length > 0;
