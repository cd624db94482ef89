/** The HTTP layers in order: limits, security headers, CORS, routes, errors (contract 0 and 11). */
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
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
} from 'fastify';
import { Bug, issue } from '../errors.js';
import { limits } from '../limits.js';
import type { ResolveContext } from '../query/resolve.js';
import { type ActionDeps, answerAction, BrokenJson } from './actions.js';
import { sendIssues } from './respond.js';
import { type Method, methods, type Route, routesOf } from './routes.js';

export interface ServerDeps extends ActionDeps {
  readonly settings: ServerSettings;
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
  /** Whether addresses in `X-Forwarded-*` headers are believed. */
  readonly trustProxy: boolean;
}

/** A server that is ready to listen or to be injected into. */
export const newServer = async (deps: ServerDeps): Promise<FastifyInstance> => {
  const { settings } = deps;
  const app = fastify({
    loggerInstance: deps.logger,
    // one line for each request, at debug level, below
    logController: new LogController({ disableRequestLogging: true }),
    trustProxy: settings.trustProxy,
    bodyLimit: limits.bodyBytesMax,
    forceCloseConnections: 'idle',
    http: { maxHeaderSize: limits.headerBytesMax },
    routerOptions: {
      caseSensitive: false,
      ignoreTrailingSlash: true,
      // the query language reads the query string itself
      querystringParser: () => ({}),
    },
    frameworkErrors: (_fault, _request, reply) => sendIssues(reply, [issue('http.malformed-path', [])]),
  });
  app.setErrorHandler((fault, request, reply) => sendFault(fault, request, reply));
  app.setNotFoundHandler((_request, reply) => sendIssues(reply, [issue('http.not-found', [])]));
  app.addHook('onRequest', async (request, reply) => {
    if (request.raw.url!.length > limits.urlBytesMax)
      return sendIssues(reply, [issue('http.url-too-long', [], { max: limits.urlBytesMax })]);
    // a preflight carries Access-Control-Request-Method and is answered by CORS; any other OPTIONS asks what is allowed
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] === undefined) {
      return reply
        .code(200)
        .header('allow', (request.routeOptions.config as { allow?: string }).allow ?? 'HEAD, GET')
        .send();
    }
    return undefined;
  });
  app.addHook('onResponse', async (request, reply) => {
    request.log.debug(
      { method: request.method, url: request.url, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request',
    );
  });
  await app.register(helmet, helmetOptions);
  await app.register(cors, {
    origin: settings.corsOrigin === true ? true : [...settings.corsOrigin],
    credentials: true,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
    allowedHeaders: ['Content-Type', 'Authorization', 'Origin', 'Accept'],
    exposedHeaders: ['ETag'],
    maxAge: 31_536_000,
  });
  // brotli at its default quality takes longer than the answer; 4 is about as fast as gzip
  await app.register(compress, {
    encodings: ['br', 'gzip'],
    threshold: 1024,
    brotliOptions: { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(/^application\/(vnd\.api\+)?json/i, { parseAs: 'string' }, (_request, body, done) =>
    done(null, parseJson(body as string)),
  );
  // any other body is none: the action says that its data is missing (contract 6.1)
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));

  app.all('/_health', { logLevel: 'silent' }, (_request, reply) => reply.code(204).send());
  if (settings.uploadsDir !== null && fs.existsSync(settings.uploadsDir))
    await app.register(staticFiles, uploadsOptions(settings.uploadsDir));
  for (const route of routesOf(deps.model, settings.prefix)) addRoute(app, route, deps);
  return app;
};

const addRoute = (app: FastifyInstance, route: Route, deps: ServerDeps): void => {
  const others: Method[] = [];
  for (const method of methods) {
    const action = route.actions[method];
    if (action === undefined && method === 'GET')
      app.get(route.path, (_request, reply) => sendIssues(reply, [issue('http.not-found', [])]));
    else if (action === undefined) others.push(method);
    else
      app.route({
        method,
        url: route.path,
        handler: (request, reply) => answerAction(request, reply, route, action, deps),
      });
  }
  const allow = methods
    .filter((it) => !others.includes(it))
    .flatMap((it) => (it === 'GET' ? ['HEAD', 'GET'] : [it]))
    .join(', ');
  app.route({
    method: 'OPTIONS',
    url: route.path,
    config: { allow } as object,
    handler: (_request, reply) => reply.send(),
  });
  app.route({
    method: others,
    url: route.path,
    handler: (request, reply) =>
      sendIssues(reply.header('allow', allow), [issue('http.method', [], { method: request.method })]),
  });
};

/** Stands for a body that is no JSON; the action refuses it before anything else (contract 0, point 3). */
const parseJson = (text: string): unknown => {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return new BrokenJson();
  }
};

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
  decorateReply: false,
  setHeaders: (reply: { setHeader(name: string, value: string): unknown }, file: string) => {
    if (/\.(html?|xhtml|svgz?|xml)$/i.test(file)) reply.setHeader('content-disposition', 'attachment');
  },
});
