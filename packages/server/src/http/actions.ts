/** Handles one action of a content type: identify the caller, check permissions, run the project's handler if any, read or write, respond. */
import type http from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import { newGate } from '../access/access.js';
import type { KnownCaller } from '../access/caller.js';
import { issue, ok, Refusal, type Result, refused, unwrap } from '../errors.js';
import { newContent } from '../handlers/content.js';
import type { NextOptions, Step } from '../handlers/handlers.js';
import { handlerFor, refuse as refuseInWords, runHandler, stepAnswer } from '../handlers/run.js';
import { readEntryForm } from '../media/entries.js';
import { uploaderOf } from '../media/files.js';
import type { Received } from '../media/receive.js';
import type { EntryType } from '../model/model.js';
import type { LeftOut } from '../query/lenient.js';
import { objectQuery, type QueryObject, toObject } from '../query/objects.js';
import { parameterName } from '../query/parameters.js';
import type { QuerySource } from '../query/raw.js';
import type { ResolveContext } from '../query/resolve.js';
import { type Search, searchQuery, textOfSearch } from '../query/searches.js';
import type { EntryFormat } from '../query/selection.js';
import { type Answer, answerOf } from '../read/answer.js';
import { readPrecondition } from '../read/etag.js';
import type { ReadRequest } from '../read/plans.js';
import { type Ready, whenReady } from '../ready.js';
import type { Site } from '../site/site.js';
import {
  type Answered,
  applyAndAnswer,
  type Show,
  shownTo,
  withHashedPasswords,
  writeAndAnswer,
} from '../write/answer.js';
import type { Data, WriteRequest } from '../write/request.js';
import type { WriteAction } from '../write/session.js';
import { asOf, identifyCaller, isReading } from './credentials.js';
import { asksForV5, readFormat, readWrite } from './forms.js';
import { mayBeEntry } from './past-code.js';
import { addPath, type PathHandlers } from './paths.js';
import { sendAnswer, sendIssues } from './respond.js';
import { type Action, type Method, methods, parseId, permissionFor, type Route, type Routes } from './routes.js';
import { searchOfRequest } from './searches.js';

export const addActionPaths = (app: FastifyInstance, { served, all }: Routes, site: Site): void => {
  const handlersOf = (route: Route): PathHandlers =>
    Object.fromEntries(
      methods.flatMap((method): readonly [Method, RouteHandlerMethod][] => {
        const action = route.actions[method];
        return action === undefined
          ? []
          : [[method, (request, reply) => answerAction(request, reply, route, action, site)]];
      }),
    );
  for (const [i, route] of all.entries())
    addPath(app, route.path, handlersOf(served[i]!), { ofAdministrators: handlersOf(route), pastCode: mayBeEntry });
};

const answerAction = async (
  request: FastifyRequest,
  reply: FastifyReply,
  route: Route,
  action: Action,
  site: Site,
): Promise<FastifyReply> => {
  const { type } = route;
  // global middlewares of the project
  if (request.codeRun && asksForV5(request.headers)) return sendIssues(reply, [issue('http.format-of-code', [])]);
  const admitted = await admit(type, permissionFor(type, action), request, site);
  if (!admitted.ok) return sendIssues(reply, admitted.issues);
  const given = (request.params as { readonly id?: string }).id;
  const id = given === undefined ? null : parseId(given);
  if (given !== undefined && id === null)
    return sendIssues(reply, [issue(action === 'createLocalization' ? 'locale.no-entry' : 'http.not-found', [])]);
  const search = searchOfRequest(request);
  const run = (body: unknown, files: readonly Received[]): Promise<Answer> =>
    runAction({ request, headers: request.headers, body, files, ...admitted.value, type, action, id, search }, site);
  const { form } = request;
  if (!form || action === 'delete') return sendAnswer(reply, await run(request.body, []));
  const answer = await site.media.withForm(form, (received) => {
    const { data, files } = readEntryForm(received);
    return run(action === 'createLocalization' ? data : { data }, files);
  });
  return sendAnswer(reply, answer);
};

/** Who may do the action, and how names resolve for it. */
interface Admitted {
  readonly format: EntryFormat;
  readonly caller: KnownCaller;
  /** Null for types without locales. */
  readonly defaultLocale: string | null;
}

interface AskedBy {
  readonly method: string;
  readonly headers: http.IncomingHttpHeaders;
}

/** Identifies the caller and checks the permission. */
export const admit = (
  type: EntryType,
  permission: string,
  { method, headers }: AskedBy,
  site: Site,
): Ready<Result<Admitted>> =>
  whenReady(identifyCaller(headers, isReading(method), site.callers), (identified) => {
    if (!identified.ok) return identified;
    const caller = identified.value;
    if (!caller.may(permission)) {
      if (asOf(headers) === undefined) site.onForbidden?.(caller.who, permission);
      return refused(issue('http.forbidden', []));
    }
    return whenReady(type.localized ? site.locales.defaultCode() : null, (defaultLocale) =>
      ok({ caller, defaultLocale, format: unwrap(readFormat(headers)) }),
    );
  });

export interface ReadTarget {
  readonly kind: 'read';
  readonly request: ReadRequest;
  /** The one that it needs. */
  readonly permission: string;
}

/** A read in which no handler of the project takes part. */
export const answerRead = (target: ReadTarget, headers: http.IncomingHttpHeaders, site: Site): Ready<Result<Answer>> =>
  whenReady(admit(target.request.type, target.permission, { method: 'GET', headers }, site), (admitted) => {
    if (!admitted.ok) return admitted;
    const { request } = target;
    return site.reader.read(request, contextFor(request.type, admitted.value, {}, site));
  });

/** A write of a JSON body in which no handler of the project takes part. */
export interface WriteTarget {
  readonly kind: 'write';
  readonly type: EntryType;
  readonly action: 'create' | 'update';
  /** The entry of `update`; null for a single type. */
  readonly id: number | null;
  /** The query string, without `?`. */
  readonly search: string;
  readonly permission: string;
}

/** @param body the parsed body. Throws `Refusal`. */
export const answerWrite = async (
  target: WriteTarget,
  body: unknown,
  headers: http.IncomingHttpHeaders,
  site: Site,
): Promise<Result<Answer>> => {
  const admitted = await admit(target.type, target.permission, { method: 'POST', headers }, site);
  if (!admitted.ok) return admitted;
  return ok(await perform({ ...target, ...admitted.value, headers, body, files: [] }, {}, site));
};

interface ActionInput extends Admitted {
  readonly headers: http.IncomingHttpHeaders;
  /** The parsed body; a form becomes the body that JSON would be. */
  readonly body: unknown;
  /** The files of a form. */
  readonly files: readonly Received[];
  readonly type: EntryType;
  readonly action: Action;
  readonly id: number | null;
  readonly search: Search;
}

interface ActionRequest extends ActionInput {
  readonly request: FastifyRequest;
}

const runAction = async (actionRequest: ActionRequest, site: Site): Promise<Answer> => {
  const { request, body, caller, type, action, id, search } = actionRequest;
  const { method, url, headers } = request;
  if (action === 'createLocalization') return createLocalization(actionRequest, site);
  const handler = handlerFor(site.handlers.get(type.uid), action);
  if (!handler) return perform({ ...actionRequest, action }, {}, site);
  const { model, locales, reader, writer, settings } = site;
  const leftOut: LeftOut[] = [];
  const step: Step = {
    request: new RequestOfHandler({ method, url, headers, asked: search, format: actionRequest.format, body, id }),
    caller,
    selection: () => {
      const prepared = reader.prepare(
        { action: isWrite(action) ? 'findOne' : action, type, id, query: searchQuery(search) },
        contextFor(type, actionRequest, {}, site),
      );
      return unwrap(prepared).query.selection;
    },
    next: async (options = {}) => {
      const answer = await perform({ ...actionRequest, action }, options, site);
      leftOut.push(...answer.leftOut);
      return stepAnswer(answer);
    },
    content: newContent({ model, locales, reader, writer: () => writer, context: settings }, null),
    refuse: refuseInWords,
  };
  const msMax = site.handlerMsMax;
  return runHandler(handler, step, { type, action, msMax }, (json) => answerOf(JSON.stringify(json), null, leftOut));
};

/**
 * A request whose query is parsed when it is read. A class: V8 gives every object literal with a getter a hidden class of its own,
 * which keeps what the getter closes over until the whole heap is collected.
 */
class RequestOfHandler {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly search: string;
  readonly format: EntryFormat;
  readonly body: unknown;
  readonly id: number | null;
  readonly #asked: Search;
  constructor({
    asked,
    method,
    url,
    headers,
    format,
    body,
    id,
  }: Omit<RequestOfHandler, 'query' | 'search'> & { readonly asked: Search }) {
    this.#asked = asked;
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.search = textOfSearch(asked);
    this.format = format;
    this.body = body;
    this.id = id;
  }
  get query(): QueryObject {
    return unwrap(toObject(unwrap(searchQuery(this.#asked).read())));
  }
}

type BuiltIn = ActionInput & { readonly action: Exclude<Action, 'createLocalization'> };

/** An action that a project's code runs: whoever may is the code's decision. */
export interface ActionByCode {
  readonly type: EntryType;
  readonly action: Exclude<Action, 'createLocalization'>;
  readonly id: number | null;
  readonly query: QuerySource;
  readonly body: unknown;
  /** Those of a form. */
  readonly files: readonly Received[];
  readonly caller: KnownCaller;
  readonly headers: http.IncomingHttpHeaders;
  /** Whether the code wants creator fields to be shown (Q9). */
  readonly creatorFields: boolean;
}

/** Throws `Refusal`, or rejects with it. */
export const performAction = (given: ActionByCode, site: Site): Ready<Answer> => {
  const { type, action, id, query } = given;
  return whenReady(type.localized ? site.locales.defaultCode() : null, (defaultLocale) => {
    const format = unwrap(readFormat(given.headers));
    const { caller, creatorFields } = given;
    if (isWrite(action))
      return perform({ ...given, search: '', defaultLocale, format }, { creatorFields }, site, query);
    const context = contextFor(type, { caller, defaultLocale, format }, { creatorFields }, site);
    return whenReady(site.reader.read({ action, type, id, query }, context), unwrap);
  });
};

/** The built-in action, without handlers. Throws `Refusal`. */
const perform = async (
  input: BuiltIn,
  options: NextOptions,
  site: Site,
  query = options.query ? objectQuery(options.query) : searchQuery(input.search),
): Promise<Answer> => {
  const { headers, caller, type, action, id } = input;
  const context = contextFor(type, input, options, site);
  if (!isWrite(action)) return unwrap(await site.reader.read({ action, type, id, query }, context));
  const body = Object.hasOwn(options, 'body') ? options.body : input.body;
  const form = { action, type, id, body, match: readPrecondition(headers), adminId: adminOf(caller) };
  return (await write(unwrap(readWrite(form)), { query }, input, context, site)).answer;
};

/** Writes an entry, with the files of the request if it is a form. Throws `Refusal`. */
const write = async (
  request: WriteRequest,
  show: Show,
  { files, caller }: ActionInput,
  context: ResolveContext,
  site: Site,
): Promise<Answered> => {
  if (request.action === 'delete' || files.length === 0)
    return unwrap(await writeAndAnswer(request, show, context, site));
  // files of administrators need the permission that they need by themselves
  if (caller.rights && !caller.may('plugin::upload.content-api.upload')) throw new Refusal(issue('http.forbidden', []));
  // an invalid query is refused before the files are processed
  unwrap(site.reader.check({ action: 'findOne', type: request.type, id: null, ...show }, context));
  const hashed = await withHashedPasswords(request, context);
  const { type, data: given } = request;
  return site.media.attach(
    files,
    { type, data: given, adminId: uploaderOf(caller), model: site.model },
    (data, session) => applyAndAnswer({ ...hashed, data }, show, context, session, site),
  );
};

/** The body and the response are the entry itself; no parameter of the query has an effect (LO7). Throws `Refusal`. */
const createLocalization = async (input: ActionInput, site: Site): Promise<Answer> => {
  const { headers, body, caller, type, id, search } = input;
  const create: WriteRequest = {
    action: 'create',
    type,
    source: { id },
    data: body !== null && typeof body === 'object' && !Array.isArray(body) ? (body as Data) : {},
    match: readPrecondition(headers),
    adminId: adminOf(caller),
  };
  const ignored = [...unwrap(searchQuery(search).read()).keys()].filter(
    (name) => parameterName(name, input.format).kind === 'known',
  );
  const leftOut = ignored.map((name): LeftOut => ({ name, issue: issue('query.no-effect', [name]) }));
  const answered = await write(create, showSiblings, input, contextFor(type, input, {}, site), site);
  const answer = shownTo(caller, answered, { isSelected: input.format === 'v5' });
  // what the body names is not in `data`
  const unnamed = answer.leftOut.map((it): LeftOut => ({ ...it, name: it.name.replace(/^data\./, '') }));
  return { ...answer, leftOut: [...leftOut, ...unnamed] };
};

const showSiblings: Show = {
  query: objectQuery({ publicationState: 'preview', populate: { localizations: true } }),
  form: 'plain',
};

/** The creator of what the caller writes: an administrator, or whoever made the token (AD16). */
const adminOf = ({ who }: KnownCaller): number | null => {
  if (who.kind === 'admin') return who.id;
  return who.kind === 'token' ? who.adminId : null;
};

export const contextFor = (
  type: EntryType,
  { caller, defaultLocale, format }: Admitted,
  { creatorFields = false }: NextOptions,
  { model, settings }: Site,
): ResolveContext => {
  return {
    ...settings,
    model,
    gate: newGate(caller, model, { creatorFieldsOf: creatorFields ? type.uid : null }),
    defaultLocale,
    format,
  };
};

const isWrite = (action: Action): action is WriteAction =>
  action === 'create' || action === 'update' || action === 'delete';
