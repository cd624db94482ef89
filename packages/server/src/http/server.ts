/** The HTTP layers in order: limits, headers, CORS, bodies, routes, errors (RQ16, RQ7). */
import type http from 'node:http';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { bug, issue } from '../errors.js';
import { limits } from '../limits.js';
import type { Uid } from '../model/model.js';
import { etagsReady } from '../read/etag.js';
import type { Site } from '../site/site.js';
import type { BoundCode } from '../v4code/code.js';
import { addAccountPaths } from './account-routes.js';
import { addActionPaths } from './actions.js';
import { addAdminPaths } from './admin-routes.js';
import type { CountAttempt } from './attempt-counts.js';
import { type Attempts, newAttempts } from './attempts.js';
import { addBodies, boundBody, type SendingBounds } from './bodies.js';
import { addDescriptionPaths } from './description-routes.js';
import { addDrain } from './drain.js';
import { newCompressed } from './encodings.js';
import { addExplainPath } from './explain-routes.js';
import { sendFrameworkFault } from './faults.js';
import { addFilePaths } from './file-routes.js';
import { readFormat } from './forms.js';
import { addHeaders, type HeaderSettings, newCommonHeaders, type Origins, type OriginsOf } from './headers.js';
import { addHealthPath, type ProjectHealth } from './health-routes.js';
import { newLane } from './lane.js';
import { addLeftOut } from './left-out.js';
import { addLibraryPaths } from './library-routes.js';
import { type AnswerRequest, type Listener, newListener } from './listener.js';
import { addLocalePaths } from './locale-routes.js';
import { addModelPath } from './model-routes.js';
import { addAdministrators } from './past-code.js';
import { newCodeBodies } from './project-code/bodies.js';
import { addProjectCode } from './project-code/server.js';
import { addPending, type WaitingBounds } from './readers.js';
import { logRequest, newRequestIds, type ObserveRequest, type RequestIdOf } from './request-log.js';
import { sendIssues } from './respond.js';
import { methods, type Routes, routesOf } from './routes.js';
import { addStudio, type StudioSettings } from './studio-files.js';
import { countHosts, MALFORMED_PATH, targetOf } from './target.js';
import { addUnseenPath } from './unseen-routes.js';
import { addUploads } from './uploads.js';
import { addWindowPaths } from './window-routes.js';

export interface ServerDeps {
  readonly site: Site;
  /** The code of a v4 project, if it has any. */
  readonly code?: BoundCode | undefined;
  readonly settings: ServerSettings;
  readonly logger: FastifyBaseLogger;
  /** Whether the database can currently be read. */
  readonly isHealthy: () => Promise<boolean>;
  /** For metrics; nobody by default. */
  readonly observe?: ObserveRequest | undefined;
  /** Counts login attempts if several processes serve the same port; they are counted in this process by default. */
  readonly countAttempt?: CountAttempt | undefined;
}

export interface ServerSettings {
  /** Path prefix of the content API, with a leading slash. */
  readonly prefix: string;
  /** Allowed origins; `true` allows any. `asked`: the code of the project says it of each request. */
  readonly corsOrigin: Origins | 'asked';
  /** What else of CORS is configured. */
  readonly cors?: HeaderSettings['cors'];
  /** Take the place of the usual ones; null leaves one out. */
  readonly securityHeaders?: HeaderSettings['securityHeaders'];
  /** Bytes of a body without files; `limits.bodyBytesMax` by default. */
  readonly bodyBytesMax?: number;
  /** Folder served under `/uploads`; null for none. */
  readonly uploadsDir: string | null;
  /** URL at which clients see the server, without a slash at its end; null if not known. */
  readonly publicUrl?: string | null;
  /** The Studio; null or absent: it is not served. */
  readonly studio?: StudioSettings | null;
  /** Whether anybody may know all of the model: in development, while the Studio is on. */
  readonly isModelOpen?: boolean;
  /** What is known of the project for those who look after it; nobody is told without it. */
  readonly health?: ProjectHealth;
  /** Of the server itself. */
  readonly version?: string;
  /** Whether the one proxy in front is trusted to give the client address (`X-Forwarded-For`). */
  readonly trustProxy: boolean;
  /** Login attempts per address and account in `attemptsMs`; 0 for no bound. */
  readonly attemptsMax: number;
  /** `limits.attemptsMs` by default. */
  readonly attemptsMs?: number;
  /** Actions without a route, by the uid of their type; none by default. */
  readonly unserved?: ReadonlyMap<Uid, readonly string[]>;
  /** Sign the cookies of a project's own code. */
  readonly cookieKeys?: readonly string[];
  /** Bytes of compressed bodies that are kept; 0 keeps none. */
  readonly compressedBytesMax?: number;
  /** Bounds for clients that do not read; those of `limits` by default. */
  readonly waiting?: WaitingBounds;
  /** Bounds for clients that send slowly; those of `limits` by default. */
  readonly sending?: SendingBounds;
}

/** A server that is ready to listen. @param withLane false lets the framework answer everything; for tests. */
export const newServer = async (deps: ServerDeps, { withLane = true } = {}): Promise<FastifyInstance> => {
  const listener = newListener(deps.logger, deps.settings.waiting);
  const { app, answer } = await newApp(deps, listener, { withLane });
  // without a drain before it, the framework ends the connections
  app.addHook('preClose', async () => listener.endConnections());
  listener.answerWith(answer);
  return app;
};

export interface App {
  readonly app: FastifyInstance;
  /** For `Listener.answerWith`, once the app is ready. */
  readonly answer: AnswerRequest;
}

/** What answers requests with one site. Closing it closes the listener only if the app itself has been told to listen. */
export const newApp = async (deps: ServerDeps, listener: Listener, { withLane = true } = {}): Promise<App> => {
  await etagsReady;
  const { site, settings } = deps;
  const { accounts, callers } = site;
  const requestIdOf = newRequestIds();
  const { app, handler } = newFramework(deps, requestIdOf, listener.server);
  const { pending } = listener;
  addDrain(app, listener);
  addPending(app, pending);
  app.addHook('onResponse', ({ log, method, url }, { statusCode: status, elapsedTime: ms }, done) => {
    logRequest(log, { method, url, status, ms });
    done();
  });
  if (deps.observe) observeRequests(app, deps.observe);
  const originsOf: OriginsOf = (request, response) => codeServer!.originsFor(request, response);
  const { corsOrigin } = settings;
  const headers = { ...settings, corsOrigin: corsOrigin === 'asked' ? originsOf : corsOrigin };
  await addHeaders(app, headers);
  refuseEarly(app);
  addAdministrators(app, callers);
  const sending = settings.sending ?? sendingBounds;
  await addBodies(app, sending, settings.bodyBytesMax, deps.code ? await newCodeBodies(deps.code) : null);
  const attempts = await newAttempts(app, settings, deps.countAttempt);
  if (deps.code) listener.withoutGuests();
  const logLeftOut = addLeftOut(app);
  const codeServer =
    deps.code && (await addProjectCode(app, { code: deps.code, site, settings, attempts, logLeftOut }));

  const routes = {
    served: routesOf(site.model, settings.prefix, settings.unserved),
    all: routesOf(site.model, settings.prefix),
  };
  addPaths(app, routes, attempts, deps);
  app.addHook('onClose', () => accounts.idle());
  if (!withLane) return { app, answer: handler };
  const lane = newLane({
    site,
    code: codeServer,
    routes: routes.served,
    commonHeaders: newCommonHeaders(headers),
    compressed: newCompressed(settings.compressedBytesMax ?? limits.compressedBytesMax),
    pending,
    bodyBytesMax: settings.bodyBytesMax ?? limits.bodyBytesMax,
    logLeftOut,
    boundBody: (request) => boundBody(app.server, request, sending.bodyMsMax),
    log: app.log,
    requestIdOf,
    observe: deps.observe,
    isClosing: app.isClosing,
  });
  const answer: AnswerRequest = (request, response) => {
    if (!lane(request, response)) handler(request, response);
  };
  if (corsOrigin !== 'asked') return { app, answer };
  return {
    app,
    // the lane waits for nobody before it answers
    answer: (request, response) => (request.headers.origin === undefined ? answer : handler)(request, response),
  };
};

const sendingBounds: SendingBounds = { bodyMsMax: limits.requestMsMax, discardMsMax: limits.discardMsMax };

const observeRequests = (app: FastifyInstance, observe: ObserveRequest): void => {
  app.addHook('onResponse', (request, reply, done) => {
    const { url } = request.routeOptions;
    const route = request.is404 || url === undefined || url === MALFORMED_PATH ? 'none' : url;
    const status = reply.raw.writableFinished ? reply.statusCode : null;
    observe({ route, method: request.method, status, ms: reply.elapsedTime });
    done();
  });
};

/** Refuses what is wrong with a request whatever path it asks for (RQ16). */
const refuseEarly = (app: FastifyInstance): void => {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw, method } = request;
    const hosts = countHosts(raw);
    if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1'))
      sendIssues(reply, [issue('http.malformed-request', [])]);
    else if (raw.url!.length > limits.urlBytesMax)
      sendIssues(reply, [issue('http.url-too-long', [], { max: limits.urlBytesMax })]);
    else if ((request.is404 && !implemented.has(method)) || !isPlainlyTransferred(raw))
      reply.code(501).type('text/plain').send('Not Implemented');
    else {
      const format = readFormat(raw.headers);
      if (format.ok) done();
      else sendIssues(reply, format.issues);
    }
  });
};

/** Every path of the server. Those of content types take precedence over other endpoints with the same prefix. */
const addPaths = (app: FastifyInstance, routes: Routes, attempts: Attempts, deps: ServerDeps): void => {
  const { site, settings, code, isHealthy } = deps;
  const { accounts, callers, media, administration, locales } = site;
  const { prefix, uploadsDir, version = '', publicUrl = null, studio = null, isModelOpen: isOpen = false } = settings;
  app.all(MALFORMED_PATH, (_request, reply) => sendIssues(reply, [issue('http.malformed-path', [])]));
  app.all('/_health', { logLevel: 'silent' }, async (_request, reply) =>
    !app.isGoingDown() && (await isHealthy())
      ? // sent by v4, so clients may check for it
        reply.code(204).header('strapi', 'You are so French!').send()
      : sendIssues(reply, [issue('http.busy', [])]),
  );
  addUploads(app, uploadsDir, media.store);
  addActionPaths(app, routes, site);
  addWindowPaths(app, { site, routes, prefix, code });
  const taken = new Set(routes.all.map((it) => it.path));
  addAccountPaths(app, taken, { accounts, callers, attempts, prefix });
  if (administration) addAdminPaths(app, { actions: administration, callers, attempts, publicUrl });
  addFilePaths(app, taken, { media, callers, prefix });
  addLocalePaths(app, taken, { locales, callers, prefix });
  addDescriptionPaths(app, taken, { site, routes, prefix, publicUrl: publicUrl ?? '/', code, isOpen });
  addLibraryPaths(app, { library: media.library, callers });
  addUnseenPath(app, { site });
  addModelPath(app, taken, { site, routes, prefix, version, isOpen });
  addExplainPath(app, { site, routes, isOpen, code });
  if (settings.health) addHealthPath(app, { site, project: settings.health, version, uploadsDir, isHealthy, isOpen });
  if (studio) addStudio(app, studio);
};

const noCompiler = (): never => {
  throw bug('server.route-with-schema', {});
};

/** Configures the framework: router, and our envelope for its own error responses. */
const newFramework = (
  { settings, logger }: ServerDeps,
  requestIdOf: RequestIdOf,
  server: http.Server,
): { readonly app: FastifyInstance; readonly handler: AnswerRequest } => {
  let handler: AnswerRequest = () => undefined;
  const listeners = server.listeners('clientError');
  const app = fastify({
    loggerInstance: logger,
    // an onResponse hook logs one line per request, at debug level
    logController: new LogController({ disableRequestLogging: true }),
    // trust only the last entry of X-Forwarded-For, added by the proxy in front; the rest can be forged
    trustProxy: settings.trustProxy ? (_address, hop) => hop === 0 : false,
    bodyLimit: settings.bodyBytesMax ?? limits.bodyBytesMax,
    forceCloseConnections: 'idle',
    // requests sent before the server stopped are answered
    return503OnClosing: false,
    // addPath registers HEAD, so that its headers are those of GET
    exposeHeadRoutes: false,
    serverFactory: (given) => {
      handler = given;
      return server;
    },
    genReqId: ({ headers }) => requestIdOf(headers),
    routerOptions: {
      caseSensitive: false,
      ignoreTrailingSlash: true,
      // an overlong id is an ordinary 404; the URL length is checked once the response headers are set
      maxParamLength: limits.headerBytesMax,
      // the query language parses the query string itself
      querystringParser: () => ({}),
    },
    rewriteUrl: ({ url = '/' }) => targetOf(url),
    frameworkErrors: (_fault, _request, reply) => sendIssues(reply, [issue('http.malformed-path', [])]),
    // no route has a schema; the framework's compilers would be loaded all the same, 60 ms and 5 MB
    schemaController: { compilersFactory: { buildValidator: () => noCompiler, buildSerializer: () => noCompiler } },
  });
  // handled in listener.ts, which knows the connection
  for (const it of server.listeners('clientError'))
    if (!listeners.includes(it)) server.off('clientError', it as () => void);
  app.setErrorHandler(sendFrameworkFault);
  app.setNotFoundHandler((request, reply) => {
    if (request.method === 'OPTIONS') return reply.code(200).header('allow', 'HEAD, GET').send();
    return sendIssues(reply, [issue('http.not-found', [])]);
  });
  return { app, handler };
};

/** Nobody undoes another coding than `chunked` (RQ16). Where that is not the last one, the body has no end, and the request is malformed. */
const isPlainlyTransferred = ({ headers: { 'transfer-encoding': coding = '' } }: http.IncomingMessage): boolean =>
  !/,\s*chunked\s*$/i.test(coding);

/** Other methods are a 501 (RQ16). */
const implemented: ReadonlySet<string> = new Set([...methods, 'HEAD', 'OPTIONS']);
