/** The HTTP layers in order: limits, security headers, CORS, routes, errors (contract 0 and 11). */
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import type net from 'node:net';
import path from 'node:path';
import type { Transform } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import zlib from 'node:zlib';
import compress from '@fastify/compress';
import cors from '@fastify/cors';
import helmet from '@fastify/helmet';
import staticFiles from '@fastify/static';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RouteHandlerMethod,
} from 'fastify';
import type { Accounts } from '../accounts/accounts.js';
import { Bug, errorEnvelope, issue } from '../errors.js';
import { limits } from '../limits.js';
import type { ResolveContext } from '../query/resolve.js';
import { addAccountPaths } from './accounts.js';
import { type ActionDeps, answerAction, BrokenJson } from './actions.js';
import { newAttempts } from './attempts.js';
import { addPath } from './paths.js';
import { JSON_TYPE, sendIssues } from './respond.js';
import { type Method, methods, type Route, routesOf } from './routes.js';

export interface ServerDeps extends ActionDeps {
  readonly settings: ServerSettings;
  readonly accounts: Accounts;
  readonly logger: FastifyBaseLogger;
}

export interface ServerSettings {
  /** Path prefix of the content API, with a leading slash. */
  readonly prefix: string;
  readonly rest: ResolveContext['rest'];
  readonly strict: boolean;
  readonly defaultLocale: string | null;
  /** Allowed origins; `true` allows any. */
  readonly corsOrigin: true | readonly string[];
  /** Folder that is served below `/uploads`; null serves none. */
  readonly uploadsDir: string | null;
  /** Whether the one proxy in front is believed about where a request came from (`X-Forwarded-For`). */
  readonly trustProxy: boolean;
  /** Attempts to log in of one address for one account in `limits.attemptsMs`; 0 for no bound. */
  readonly attemptsMax: number;
}

/** A server that is ready to listen or to be injected into. */
export const newServer = async (deps: ServerDeps): Promise<FastifyInstance> => {
  const { settings } = deps;
  const app = fastify({
    loggerInstance: deps.logger,
    // one line for each request, at debug level, below
    logController: new LogController({ disableRequestLogging: true }),
    // the one proxy in front says where a request came from; what stands before that in X-Forwarded-For anybody may claim
    trustProxy: settings.trustProxy ? (_address, hop) => hop === 0 : false,
    bodyLimit: limits.bodyBytesMax,
    requestTimeout: limits.requestMsMax,
    forceCloseConnections: 'idle',
    // what was sent before the server stopped is answered
    return503OnClosing: false,
    // HEAD is a method of its own paths, so that its headers are those of GET
    exposeHeadRoutes: false,
    http: { maxHeaderSize: limits.headerBytesMax },
    routerOptions: {
      caseSensitive: false,
      ignoreTrailingSlash: true,
      // ids of any length are looked at, and are not there
      maxParamLength: limits.urlBytesMax,
      // the query language reads the query string itself
      querystringParser: () => ({}),
    },
    // the framework answers such paths before any layer; a route of ours answers them after all layers
    rewriteUrl: ({ url = '/' }) => (isDecodable(url) ? url : MALFORMED_PATH),
    clientErrorHandler: refuseConnection,
    frameworkErrors: (_fault, _request, reply) => sendIssues(reply, [issue('http.malformed-path', [])]),
  });
  app.setErrorHandler((fault, request, reply) => sendFault(fault, request, reply));
  app.setNotFoundHandler((request, reply) => {
    if (request.method === 'OPTIONS') return reply.code(200).header('allow', 'HEAD, GET').send();
    if (!usualMethods.has(request.method)) return reply.code(501).type('text/plain').send('Not Implemented');
    return sendIssues(reply, [issue('http.not-found', [])]);
  });
  answerWhatWasSent(app);
  app.addHook('onResponse', async (request, reply) => {
    request.log.debug(
      {
        method: request.method,
        url: withoutSecrets(request.url),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    );
  });
  await app.register(helmet, helmetOptions);
  // also on short answers, 304 and errors: another client's may be compressed; CORS adds Origin
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('vary', 'accept-encoding');
  });
  const corsOptions = {
    origin: settings.corsOrigin === true ? true : [...settings.corsOrigin],
    credentials: true,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
    allowedHeaders: ['Content-Type', 'Authorization', 'Origin', 'Accept'],
    exposedHeaders: ['ETag'],
    maxAge: 31_536_000,
  };
  await app.register(cors, {
    // any other OPTIONS asks what a path allows, and its route answers
    delegator: ({ headers }, done) => {
      const preflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
      done(null, { ...corsOptions, preflight });
    },
  });
  app.addHook('onRequest', async (request, reply) =>
    request.raw.url!.length > limits.urlBytesMax
      ? sendIssues(reply, [issue('http.url-too-long', [], { max: limits.urlBytesMax })])
      : undefined,
  );
  // brotli at its default quality takes longer than the answer; 4 is about as fast as gzip
  await app.register(compress, {
    encodings: ['br', 'gzip'],
    threshold: 1024,
    brotliOptions: { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } },
    requestEncodings: ['br', 'gzip', 'deflate', 'identity'],
    zlib: boundedZlib,
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/(vnd\.api\+)?json/i, { parseAs: 'string' }, (_request, body, done) =>
    done(null, parseJson(body as string)),
  );
  // any other body is none: the action says that its data is missing (contract 6.1)
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));

  app.addHook('preHandler', async (request, reply) =>
    request.body instanceof BrokenJson ? sendIssues(reply, [issue('http.malformed-body', [])]) : undefined,
  );

  app.all(MALFORMED_PATH, (_request, reply) => sendIssues(reply, [issue('http.malformed-path', [])]));
  app.all('/_health', { logLevel: 'silent' }, (_request, reply) =>
    // what v4 says there, and its clients may look for
    reply.code(204).header('strapi', 'You are so French!').send(),
  );
  if (settings.uploadsDir !== null && fs.existsSync(settings.uploadsDir))
    await app.register(staticFiles, uploadsOptions(settings.uploadsDir));
  const routes = routesOf(deps.model, settings.prefix);
  for (const route of routes) addRoute(app, route, deps);
  const { accounts, callers } = deps;
  const attempts = await newAttempts(app, settings.attemptsMax);
  const taken = new Set(routes.map((it) => it.path));
  addAccountPaths(app, taken, { accounts, callers, attempts, prefix: settings.prefix });
  app.addHook('onClose', () => accounts.idle());
  return app;
};

const MALFORMED_PATH = '/_malformed-path';

/**
 * A server that stops answers what had been sent to it: the kernel keeps connections and requests that the process has
 * not seen yet, and closing would reset them. One connection is taken at each turn of the event loop.
 */
const answerWhatWasSent = (app: FastifyInstance): void => {
  let isClosing = false;
  let heard = 0;
  const hear = (): void => {
    heard += 1;
  };
  app.server.on('connection', hear).on('request', hear);
  app.addHook('preClose', async () => {
    isClosing = true;
    let quiet = 0;
    for (let turn = 0; turn < TURNS_MAX && quiet < QUIET_TURNS; turn++) {
      const before = heard;
      await setImmediate();
      quiet = heard === before ? quiet + 1 : 0;
    }
  });
  app.addHook('onSend', async (_request, reply) => {
    if (isClosing) reply.header('connection', 'close');
  });
};

/** As many connections as wait at most to be taken (the `backlog` of Node). */
const TURNS_MAX = 511;
/** A connection that was taken is read at the next turn. */
const QUIET_TURNS = 3;

/** Others are not implemented (contract 0, point 1). */
const usualMethods: ReadonlySet<string> = new Set([...methods, 'HEAD', 'OPTIONS']);

/** What is no HTTP request, or too long or too slow a one, never reaches the layers (contract 0, point 1). */
const refuseConnection = (fault: { readonly code?: string }, socket: net.Socket): void => {
  if (!socket.writable || fault.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const isTooLong = fault.code === 'HPE_HEADER_OVERFLOW';
  const refusal = fault.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'http.too-slow' : 'http.malformed-request';
  const { status, body } = isTooLong ? { status: 431, body: '' } : errorEnvelope([issue(refusal, [])]);
  const head = [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
};

const isDecodable = (url: string): boolean => {
  const [path = ''] = url.split('?', 1);
  if (!path.includes('%')) return true;
  try {
    return !decodeURIComponent(path).includes('\0');
  } catch {
    return false;
  }
};

const addRoute = (app: FastifyInstance, route: Route, deps: ServerDeps): void => {
  const handlers = methods.flatMap((method): readonly [Method, RouteHandlerMethod][] => {
    const action = route.actions[method];
    return action === undefined
      ? []
      : [[method, (request, reply) => answerAction(request, reply, route, action, deps)]];
  });
  addPath(app, route.path, Object.fromEntries(handlers));
};

/** Ends with the bound of bodies: a few bytes that hold gigabytes would be unpacked to their end after the refusal. */
const bounded =
  <Stream extends Transform>(create: () => Stream) =>
  (): Stream => {
    const stream = create();
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > limits.bodyBytesMax) stream.destroy();
    });
    return stream;
  };

const boundedZlib = {
  ...zlib,
  createBrotliDecompress: bounded(() => zlib.createBrotliDecompress()),
  createGunzip: bounded(() => zlib.createGunzip()),
  createInflate: bounded(() => zlib.createInflate()),
};

/** Stands for a body that is no JSON; it is refused before anything else (contract 0, point 3). */
const parseJson = (text: string): unknown => {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return new BrokenJson();
  }
};

/** Tokens of mails come in query strings. */
const withoutSecrets = (url: string): string =>
  url.replaceAll(/([?&](?:confirmation|code|token|password)=)[^&]*/gi, '$1…');

/** Faults that reached the framework: its own refusals are the client's, all else is ours and gets an id. */
const sendFault = (fault: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply => {
  const status = (fault as { statusCode?: number }).statusCode ?? 500;
  if (status === 413) return sendIssues(reply, [issue('http.body-too-large', [])]);
  if (status === 503) return sendIssues(reply, [issue('http.busy', [])]);
  if (status >= 400 && status < 500) return sendIssues(reply, [issue('http.malformed-body', [])]);
  const id = crypto.randomUUID();
  request.log.error(
    {
      err: fault,
      faultId: id,
      bug: fault instanceof Bug ? fault.id : undefined,
      method: request.method,
      path: request.url.split('?')[0],
    },
    'request failed',
  );
  return reply
    .code(500)
    .header('content-type', 'application/json; charset=utf-8')
    .send(
      JSON.stringify({
        data: null,
        error: { status: 500, name: 'InternalServerError', message: 'Internal Server Error', details: { id } },
      }),
    );
};

/** The headers of contract 11. */
const helmetOptions = {
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      'connect-src': ["'self'", 'https:'],
      'img-src': ["'self'", 'data:', 'blob:'],
      'media-src': ["'self'", 'data:', 'blob:'],
      'default-src': ["'self'"],
      'base-uri': ["'self'"],
      'font-src': ["'self'", 'https:', 'data:'],
      'form-action': ["'self'"],
      'frame-ancestors': ["'self'"],
      'object-src': ["'none'"],
      'script-src': ["'self'"],
      'script-src-attr': ["'none'"],
      'style-src': ["'self'", 'https:', "'unsafe-inline'"],
    },
  },
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  // pages of other origins show the pictures
  crossOriginResourcePolicy: false,
  originAgentCluster: false,
  referrerPolicy: { policy: 'no-referrer' },
  strictTransportSecurity: { maxAge: 31_536_000, includeSubDomains: true },
  xXssProtection: false,
} as const;

/** HTML and SVG could carry scripts in our origin: they are downloads (contract 12, row 57). */
const uploadsOptions = (dir: string) => ({
  root: path.resolve(dir),
  prefix: '/uploads/',
  index: false as const,
  // files that begin with a dot were never uploaded
  dotfiles: 'ignore' as const,
  decorateReply: false,
  setHeaders: (reply: FastifyReply, file: string) => {
    if (/\.(html?|xhtml|svgz?|xml)$/i.test(file)) reply.header('content-disposition', 'attachment');
  },
});
