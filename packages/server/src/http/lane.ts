/**
 * A short lane for content. GET and HEAD of a content type's own paths, and POST and PUT of JSON to them, written as clients write
 * them, are answered here, without the framework. The framework answers everything else (other methods, spellings and bodies,
 * handlers of the project, and all requests while the server stops), and would give these requests the same answers
 * (`test/rules/lane.test.ts`, `test/rules/write-lane.test.ts`).
 */
import type http from 'node:http';
import { pipeline } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type Issue, issue, type Result } from '../errors.js';
import { handlerFor } from '../handlers/run.js';
import { limits } from '../limits.js';
import { freeBytes } from '../memory.js';
import type { EntryType } from '../model/model.js';
import { textQuery } from '../query/brackets.js';
import type { Answer } from '../read/answer.js';
import { type Ready, whenReady } from '../ready.js';
import type { Site } from '../site/site.js';
import { answerRead, answerWrite, type ReadTarget, type WriteTarget } from './actions.js';
import { isTooLate, parseJson } from './bodies.js';
import type { Compressed, Encoding } from './encodings.js';
import { faultResponse, loggable } from './faults.js';
import { readFormat } from './forms.js';
import { LEFT_OUT_HEADER, type LogLeftOut, leftOutHeader } from './left-out.js';
import type { CodePlace } from './project-code/lane.js';
import { type Asked, type CodeAnswer, dropBodyHeaders, opened } from './project-code/responses.js';
import type { CodeServer } from './project-code/server.js';
import type { Pending } from './readers.js';
import { logRequest, type ObserveRequest, REQUEST_ID, type RequestIdOf } from './request-log.js';
import { isKnown, isNull, issuesResponse, JSON_TYPE, type JsonResponse, weakTag } from './respond.js';
import { type Action, parseId, permissionFor, type Route } from './routes.js';
import { countHosts } from './target.js';

/** Answers the request if it belongs here; otherwise returns false, and nothing has happened. */
export type Lane = (request: http.IncomingMessage, response: http.ServerResponse) => boolean;

export interface LaneDeps {
  readonly site: Site;
  /** The code of a v4 project, if it has any. */
  readonly code: CodeServer | undefined;
  readonly routes: readonly Route[];
  /** The headers of every response, names and values in turn, by the `Origin` of the request. */
  readonly commonHeaders: (origin: string | undefined) => readonly string[];
  readonly compressed: Compressed;
  readonly pending: Pending;
  readonly logLeftOut: LogLeftOut;
  readonly bodyBytesMax: number;
  readonly log: FastifyBaseLogger;
  /** Ends a request whose body does not arrive in time. */
  readonly boundBody: (request: http.IncomingMessage) => void;
  readonly requestIdOf: RequestIdOf;
  readonly observe: ObserveRequest | undefined;
  /** Whether responses end their connections: the framework says so. */
  readonly isClosing: () => boolean;
}

export const newLane = (deps: LaneDeps): Lane => {
  const { site, commonHeaders, compressed, pending } = deps;
  const targetOf = newTargets(deps.routes, site);
  /** What URLs ask for whose responses were sent more than once: it does not depend on who asks. */
  const repeated = new LRUCache<string, Place>({
    maxSize: limits.targetBytesMax,
    sizeCalculation: ({ byCode }, url) => (byCode ? 3 : 2) * url.length + PLACE_BYTES,
  });
  const heads = newHeads(commonHeaders(undefined));
  const logsRequests = deps.log.level === 'debug' || deps.log.level === 'trace';

  return (request, response) => {
    if (!isPlain(request, deps.bodyBytesMax) || deps.isClosing() || !readFormat(request.headers).ok) return false;
    // as it was received: code of the project may set another one
    const { headers, method } = request;
    const isRead = method === 'GET' || method === 'HEAD';
    const url = request.url!;
    const known = isRead ? repeated.get(url) : undefined;
    // the framework removes fragments
    const target = known ? known.target : url.includes('#') ? null : targetOf(method!, url);
    const place = known ? known.byCode : (deps.code?.placeOf(url) ?? null);
    if (deps.code ? !place : !target) return false;
    const id = deps.requestIdOf(headers);
    const asked = new AskedOfLane(request.method, url, id, deps.log);
    const log = (): FastifyBaseLogger => asked.log;
    const read = target?.kind === 'read' ? target : null;
    /** Whether the headers of every response are on the response: code has looked at it, and has the last word. */
    let areSet = false;
    const commonForCode = (): readonly string[] => {
      areSet = true;
      return [REQUEST_ID, id, ...commonHeaders(headers.origin)];
    };
    const byCode = place
      ? deps.code!.begin(request, response, asked, place, { target: read, commonHeaders: commonForCode })
      : 'none';
    if (byCode === 'framework' || (byCode === 'none' && !target)) return false;
    if (logsRequests) logWhenSent(request, response, log());
    if (deps.observe) observeWhenClosed(request, response, target?.route ?? CODE_ROUTE, deps.observe);

    const withCommon = (own: readonly string[]): readonly string[] =>
      areSet ? own : [...commonHeaders(headers.origin), ...own];
    /** Code may have encoded the body itself, or forbidden any encoding. */
    const encodingFor = (bytes: number): Encoding =>
      areSet && isEncodedByCode(response) ? 'identity' : compressed.encodingFor(headers, bytes);
    const withId = (head: readonly string[]): string[] => (areSet ? [...head] : [REQUEST_ID, id, ...head]);

    const send = (status: number, head: readonly string[], body: Buffer | null): Ready<void> => {
      const length = body?.length ?? 0;
      if (!pending.hasRoom(request, length)) return sendIssues([issue('http.busy', [])]);
      response.writeHead(status, withId(head));
      if (body === null || method === 'HEAD') response.end();
      // Node joins a text with the head: one piece costs a fifth less than two, unless it is long
      else if (length < TEXT_BYTES_MAX) response.end(body.toString('latin1'), 'latin1');
      else response.end(body);
      // most are with the operating system by now, which `writableFinished` tells only in the next tick
      if (response.writableLength > 0) pending.hold(request, response, length);
      return undefined;
    };

    const sendJson = ({ status, headers: own, body }: JsonResponse): Ready<void> => {
      const plain = Buffer.from(body);
      const encoding = compressed.encodingFor(headers, plain.length);
      return whenReady(compressed.encode(plain, encoding, false), (bytes) =>
        send(status, withCommon([...Object.entries(own).flat(), ...bodyHeaders(encoding, bytes)]), bytes),
      );
    };

    const sendIssues = (issues: readonly Issue[]): Ready<void> => sendJson(issuesResponse(issues));

    /** Headers of an answer, without those that code has set. */
    const unsaid = (own: readonly string[]): readonly string[] =>
      areSet ? own.filter((_it, i) => !response.hasHeader(own[i & ~1]!)) : own;

    /** @param wasShown whether code of the project may still look at it. */
    const sendAnswer = (answer: Answer, wasShown: boolean): Ready<void> => {
      const { body, leftOut } = answer;
      if (leftOut.length > 0) deps.logLeftOut(leftOut, url, log());
      if (isKnown(request, answer)) return send(304, withCommon(unsaid(tagHeaders(answer))), null);
      if (isNull(answer)) return send(204, withCommon(unsaid(tagHeaders(answer))), null);
      const encoding = encodingFor(body.length);
      return whenReady(compressed.encode(body, encoding, isRead), (bytes) => {
        const { isNew, head } = heads.of(answer, encoding, bytes);
        if (isRead && !known && !isNew) repeated.set(url, { target: read, byCode: place });
        const sent = send(
          200,
          headers.origin === undefined && !areSet ? head.whole : withCommon(unsaid(head.own)),
          bytes,
        );
        if (answer.isSingleUse && bytes === body && !wasShown) freeWhenSent(response, body);
        return sent;
      });
    };

    const fail = (fault: unknown): void => {
      const answer = faultResponse(fault, { method: request.method, url, id }, log());
      if (response.headersSent) {
        response.destroy();
        return;
      }
      dropBodyHeaders(response);
      attempt(() => sendJson(answer), giveUp);
    };

    /** The headers themselves cannot be sent. */
    const giveUp = (fault: unknown): void => {
      log().error({ err: loggable(fault) }, 'a response could not be sent');
      response.destroy();
    };

    const sendOther = ({ status, type, body }: CodeAnswer & { readonly kind: 'other' }): Ready<void> => {
      const own = type === null ? [] : ['content-type', type];
      if (body === null) return send(status, withCommon(own), null);
      if (typeof body === 'string' || Buffer.isBuffer(body)) {
        const plain = Buffer.from(body);
        const encoding = encodingFor(plain.length);
        return whenReady(compressed.encode(plain, encoding, false), (bytes) =>
          send(status, withCommon([...own, ...bodyHeaders(encoding, bytes)]), bytes),
        );
      }
      if (method === 'HEAD') {
        body.destroy();
        return send(status, withCommon(own), null);
      }
      return opened(body).then(() => {
        response.writeHead(status, withId(withCommon(own)));
        pipeline(body, response, (fault) => {
          // the client has left, or code has ended the stream early
          if (!fault || fault.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
          log().error({ err: loggable(fault) }, 'a stream of project code failed: the response is cut off');
        });
      });
    };

    const sendCoded = (answer: CodeAnswer): Ready<void> => {
      if (answer.kind === 'taken') return undefined;
      return answer.kind === 'answer' ? sendAnswer(answer.answer, answer.wasShown) : sendOther(answer);
    };

    /** Sends now, if nothing has to be waited for. */
    const attempt = (work: () => Ready<void>, onFault = fail): void => {
      try {
        const sent = work();
        if (sent instanceof Promise) sent.catch(onFault);
      } catch (fault) {
        onFault(fault);
      }
    };

    const sendFound = (found: Result<Answer>): Ready<void> =>
      found.ok ? sendAnswer(found.value, false) : sendIssues(found.issues);

    if (byCode !== 'none') {
      if (byCode instanceof Promise) byCode.then((answer) => attempt(() => sendCoded(answer)), fail);
      else attempt(() => sendCoded(byCode));
      return true;
    }
    if (!target) return false;
    if (target.kind === 'write') {
      deps.boundBody(request);
      whenReceived(request, (bytes) =>
        attempt(() => {
          if (isTooLate(request)) return undefined;
          const body = parseJson(bytes);
          return body.ok ? answerWrite(target, body.value, headers, site).then(sendFound) : sendIssues(body.issues);
        }),
      );
      return true;
    }
    attempt(() => whenReady(answerRead(target, headers, site), sendFound));
    return true;
  };
};

/**
 * A request whose log is made when it is written to. A class: V8 gives every object literal with a getter a hidden class of its
 * own, which keeps all that the getter closes over (the request, the response) until the whole heap is collected.
 */
class AskedOfLane implements Asked {
  readonly method: string | undefined;
  readonly url: string;
  readonly id: string;
  readonly #parent: FastifyBaseLogger;
  #log: FastifyBaseLogger | null = null;
  constructor(method: string | undefined, url: string, id: string, parent: FastifyBaseLogger) {
    this.method = method;
    this.url = url;
    this.id = id;
    this.#parent = parent;
  }
  get log(): FastifyBaseLogger {
    this.#log ??= this.#parent.child({ reqId: this.id });
    return this.#log;
  }
}

const TEXT_BYTES_MAX = 4096;

/** The route of requests that the project's own routes answer, in metrics. */
const CODE_ROUTE = '(code of the project)';

/** Whether the bytes of a body are to be sent as code has made them. */
const isEncodedByCode = (response: http.ServerResponse): boolean =>
  response.hasHeader('content-encoding') || /\bno-transform\b/i.test(String(response.getHeader('cache-control') ?? ''));

const freeWhenSent = (response: http.ServerResponse, body: Buffer): void => {
  if (response.writableLength === 0) freeBytes(body);
  else response.once('close', () => freeBytes(body));
};

/** What a URL asks for. */
interface Place {
  /** Null if only code of the project answers. */
  readonly target: (Target & ReadTarget) | null;
  /** Null without code. */
  readonly byCode: CodePlace | null;
}

/** Approximate size of a place in memory, without its URL. */
const PLACE_BYTES = 1024;

// ---- headers, names and values in turn

interface Head {
  /** Those of the answer itself. */
  readonly own: readonly string[];
  /** With those of every response to a request without `Origin`. */
  readonly whole: readonly string[];
}

interface Heads {
  /** `isNew`: whether the answer is sent for the first time. */
  of(answer: Answer, encoding: Encoding, bytes: Buffer): { readonly head: Head; readonly isNew: boolean };
}

/** The headers of an answer in each of its encodings, made once. */
const newHeads = (common: readonly string[]): Heads => {
  const heads = new WeakMap<Answer, Partial<Record<Encoding, Head>>>();
  return {
    of: (answer, encoding, bytes) => {
      const known = heads.get(answer);
      const found = known?.[encoding];
      if (found) return { head: found, isNew: false };
      const own = [...tagHeaders(answer), 'content-type', JSON_TYPE, ...bodyHeaders(encoding, bytes)];
      const head = { own, whole: [...common, ...own] };
      if (known) known[encoding] = head;
      else heads.set(answer, { [encoding]: head });
      return { head, isNew: !known };
    },
  };
};

const tagHeaders = (answer: Answer): readonly string[] => [
  ...(answer.leftOut.length > 0 ? [LEFT_OUT_HEADER, leftOutHeader(answer.leftOut)] : []),
  'etag',
  weakTag(answer),
];

const bodyHeaders = (encoding: Encoding, { length }: Buffer): readonly string[] => [
  ...(encoding === 'identity' ? [] : ['content-encoding', encoding]),
  'content-length',
  String(length),
];

// ---- requests

/** A read without a body or a write of plain JSON, for one host, whose URL is not too long. */
const isPlain = (request: http.IncomingMessage, bodyBytesMax: number): boolean => {
  const { method, headers } = request;
  const isRead = method === 'GET' || method === 'HEAD';
  return (
    (isRead
      ? headers['content-length'] === undefined
      : (method === 'POST' || method === 'PUT') && hasPlainJson(headers, bodyBytesMax)) &&
    headers['transfer-encoding'] === undefined &&
    request.url!.length <= limits.urlBytesMax &&
    countHosts(request) === 1
  );
};

const hasPlainJson = (
  { 'content-type': type, 'content-length': length, 'content-encoding': encoding }: http.IncomingHttpHeaders,
  bodyBytesMax: number,
): boolean =>
  type !== undefined &&
  jsonTypes.has(type) &&
  encoding === undefined &&
  length !== undefined &&
  Number(length) > 0 &&
  Number(length) <= bodyBytesMax;

/** As clients write it. */
const jsonTypes: ReadonlySet<string> = new Set([
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
  'application/json; charset=UTF-8',
  'application/json;charset=UTF-8',
]);

/** Calls back with the whole body; never if the connection ends before. */
const whenReceived = (request: http.IncomingMessage, use: (body: Buffer) => void): void => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => use(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
};

/** With its route, as it is written. */
type Target = (ReadTarget | WriteTarget) & { readonly route: string };

/** Finds what a request asks for. Null for a path that is unknown, spelled in another way, or has a handler of the project. */
const newTargets = (routes: readonly Route[], { handlers }: Site): ((method: string, url: string) => Target | null) => {
  const byMethod = new Map<string, Paths>(
    ['GET', 'POST', 'PUT'].map((it) => [it, { whole: new Map(), entries: new Map() }]),
  );
  byMethod.set('HEAD', byMethod.get('GET')!);
  for (const { path, type, actions } of routes)
    for (const method of ['GET', 'POST', 'PUT'] as const) {
      const action = actions[method];
      if (!isOfLane(action) || handlerFor(handlers.get(type.uid), action)) continue;
      const { whole, entries } = byMethod.get(method)!;
      const found = { type, action, route: path, permission: permissionFor(type, action) };
      if (path.endsWith('/:id')) entries.set(path.replace(/:id$/, ''), found);
      else whole.set(path, found);
    }
  return (method, url) => {
    const { whole, entries } = byMethod.get(method)!;
    const mark = url.indexOf('?');
    const path = mark === -1 ? url : url.slice(0, mark);
    const search = mark === -1 ? '' : url.slice(mark + 1);
    const found = whole.get(path);
    if (found) return targetFor(found, null, search);
    const idAt = path.lastIndexOf('/') + 1;
    const entry = entries.get(path.slice(0, idAt));
    const id = entry ? parseId(path.slice(idAt)) : null;
    return entry && id !== null ? targetFor(entry, id, search) : null;
  };
};

const targetFor = ({ type, action, route, permission }: Served, id: number | null, search: string): Target =>
  action === 'create' || action === 'update'
    ? { kind: 'write', type, action, id, search, permission, route }
    : { kind: 'read', request: { type, action, id, query: textQuery(search) }, permission, route };

interface Served {
  readonly type: EntryType;
  readonly action: LaneAction;
  readonly route: string;
  readonly permission: string;
}

interface Paths {
  /** By path. */
  readonly whole: Map<string, Served>;
  /** By path up to the id. */
  readonly entries: Map<string, Served>;
}

type LaneAction = ReadTarget['request']['action'] | WriteTarget['action'];

const isOfLane = (action: Action | undefined): action is LaneAction => action !== undefined && laneActions.has(action);

const laneActions: ReadonlySet<Action> = new Set(['find', 'single', 'findOne', 'create', 'update']);

const observeWhenClosed = (
  { method = '' }: http.IncomingMessage,
  response: http.ServerResponse,
  route: string,
  observe: ObserveRequest,
): void => {
  const startedAt = performance.now();
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : null;
    observe({ route, method, status, ms: performance.now() - startedAt });
  });
};

const logWhenSent = (
  { method, url }: http.IncomingMessage,
  response: http.ServerResponse,
  log: FastifyBaseLogger,
): void => {
  const startedAt = performance.now();
  response.once('finish', () =>
    logRequest(log, { method, url, status: response.statusCode, ms: performance.now() - startedAt }),
  );
};
