/** The HTTP layers in order: limits, headers, CORS, bodies, routes, errors (RQ16, RQ7). */
import http from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { issue } from '../errors.js';
import { limits } from '../limits.js';
import type { Site } from '../site/site.js';
import { addAccountPaths } from './account-routes.js';
import { addActionPaths } from './actions.js';
import { newAttempts } from './attempts.js';
import { addBodies } from './bodies.js';
import { trackConnections } from './connections.js';
import { addDrain } from './drain.js';
import { answerForNode, refuseConnection, sendFrameworkFault } from './faults.js';
import { addHeaders } from './headers.js';
import { addLeftOut } from './left-out.js';
import { boundReaders, type WaitingBounds } from './readers.js';
import { sendIssues } from './respond.js';
import { methods, routesOf } from './routes.js';
import { MALFORMED_PATH, targetOf, withoutSecrets } from './target.js';
import { addUploads } from './uploads.js';

export interface ServerDeps {
  readonly site: Site;
  readonly settings: ServerSettings;
  readonly logger: FastifyBaseLogger;
  /** Whether the database can be read now. */
  readonly isHealthy: () => Promise<boolean>;
}

export interface ServerSettings {
  /** Path prefix of the content API, with a leading slash. */
  readonly prefix: string;
  /** Allowed origins; `true` allows any. */
  readonly corsOrigin: true | readonly string[];
  /** Folder that is served below `/uploads`; null serves none. */
  readonly uploadsDir: string | null;
  /** Whether the one proxy in front is trusted to say where a request came from (`X-Forwarded-For`). */
  readonly trustProxy: boolean;
  /** Attempts to log in of one address for one account in `limits.attemptsMs`; 0 for no bound. */
  readonly attemptsMax: number;
  /** Bounds for clients that do not read; those of `limits` when they are not given. */
  readonly waiting?: WaitingBounds;
}

/** A server that is ready to listen or to be injected into. */
export const newServer = async (deps: ServerDeps): Promise<FastifyInstance> => {
  const { site, settings } = deps;
  const { accounts, callers } = site;
  const app = newApp(deps);
  const connections = trackConnections(app.server);
  answerForNode(app.server);
  app.server.on('clientError', (fault, socket) =>
    refuseConnection(fault, socket, connections.get(socket as Socket)?.underWay ?? []),
  );
  addDrain(app, connections);
  boundReaders(app, connections, settings.waiting ?? waitingBounds);
  app.addHook('onResponse', (request, reply, done) => {
    const { method, url } = request;
    request.log.debug(
      { method, url: withoutSecrets(url), status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    );
    done();
  });
  await addHeaders(app, settings.corsOrigin);
  app.addHook('onRequest', (request, reply, done) => {
    const { raw, headers, method } = request;
    if (headers.host === undefined && raw.httpVersion === '1.1')
      sendIssues(reply, [issue('http.malformed-request', [])]);
    else if (raw.url!.length > limits.urlBytesMax)
      sendIssues(reply, [issue('http.url-too-long', [], { max: limits.urlBytesMax })]);
    else if (request.is404 && !implemented.has(method)) reply.code(501).type('text/plain').send('Not Implemented');
    else done();
  });
  await addBodies(app);
  addLeftOut(app);

  app.all(MALFORMED_PATH, (_request, reply) => sendIssues(reply, [issue('http.malformed-path', [])]));
  app.all('/_health', { logLevel: 'silent' }, async (_request, reply) =>
    !app.isDraining() && (await deps.isHealthy())
      ? // what v4 says there, and its clients may look for
        reply.code(204).header('strapi', 'You are so French!').send()
      : sendIssues(reply, [issue('http.busy', [])]),
  );
  addUploads(app, settings.uploadsDir);
  const routes = routesOf(site.model, settings.prefix);
  addActionPaths(app, routes, site);
  const attempts = await newAttempts(app, settings.attemptsMax);
  const taken = new Set(routes.map((it) => it.path));
  addAccountPaths(app, taken, { accounts, callers, attempts, prefix: settings.prefix });
  app.addHook('onClose', () => accounts.idle());
  return app;
};

const connectionOptions: http.ServerOptions = {
  maxHeaderSize: limits.headerBytesMax,
  requestTimeout: limits.requestMsMax,
  keepAliveTimeout: limits.keepAliveMs,
  // a request without Host is refused in the envelope
  requireHostHeader: false,
};

const waitingBounds: WaitingBounds = {
  bytesMax: limits.waitingBytesMax,
  keptMs: limits.waitingKeptMs,
  stalledMs: limits.stalledMsMax,
};

/** The framework with the limits of a connection, its router, and an answer of ours for all that it would answer itself. */
const newApp = ({ settings, logger }: ServerDeps): FastifyInstance => {
  const app = fastify({
    loggerInstance: logger,
    // one line for each request, at debug level
    logController: new LogController({ disableRequestLogging: true }),
    // the one proxy in front says where a request came from; what stands before that in X-Forwarded-For anybody may claim
    trustProxy: settings.trustProxy ? (_address, hop) => hop === 0 : false,
    bodyLimit: limits.bodyBytesMax,
    forceCloseConnections: 'idle',
    // what was sent before the server stopped is answered
    return503OnClosing: false,
    // HEAD is a method of its own paths, so that its headers are those of GET
    exposeHeadRoutes: false,
    serverFactory: (handler) => http.createServer(connectionOptions, handler),
    routerOptions: {
      caseSensitive: false,
      ignoreTrailingSlash: true,
      // ids of any length are looked at, and are not there; the length of URLs is bounded after the headers are set
      maxParamLength: limits.headerBytesMax,
      // the query language reads the query string itself
      querystringParser: () => ({}),
    },
    rewriteUrl: ({ url = '/' }) => targetOf(url),
    // the listener below knows more of the connection
    clientErrorHandler: () => undefined,
    frameworkErrors: (_fault, _request, reply) => sendIssues(reply, [issue('http.malformed-path', [])]),
  });
  app.setErrorHandler(sendFrameworkFault);
  app.setNotFoundHandler((request, reply) => {
    if (request.method === 'OPTIONS') return reply.code(200).header('allow', 'HEAD, GET').send();
    return sendIssues(reply, [issue('http.not-found', [])]);
  });
  return app;
};

/** Others are not implemented (RQ16). */
const implemented: ReadonlySet<string> = new Set([...methods, 'HEAD', 'OPTIONS']);
