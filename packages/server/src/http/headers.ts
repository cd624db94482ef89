/** Security headers of every response, and CORS (RQ7). */
import type http from 'node:http';
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { FORMAT_HEADER } from './forms.js';
import { REQUEST_ID } from './request-log.js';

/** Directives of the usual policy. */
export const contentSecurityPolicy = {
  'connect-src': "'self' https:",
  'img-src': "'self' data: blob:",
  'media-src': "'self' data: blob:",
  'default-src': "'self'",
  'base-uri': "'self'",
  'font-src': "'self' https: data:",
  'form-action': "'self'",
  'frame-ancestors': "'self'",
  'object-src': "'none'",
  'script-src': "'self'",
  'script-src-attr': "'none'",
  'style-src': "'self' https: 'unsafe-inline'",
};

const withoutOrigin = `accept-encoding, ${FORMAT_HEADER}`;
/** The `Vary` of every response. */
export const VARYING = `${withoutOrigin}, Origin`;

/** Constant; a plugin would compute them for each request. */
export const securityHeaders = {
  'content-security-policy': Object.entries(contentSecurityPolicy)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join(';'),
  'referrer-policy': 'no-referrer',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
} as const;

/** Request headers allowed beyond the CORS-safelisted ones: bodies, credentials, conditions, formats. */
const allowedHeaders = [
  'Content-Type',
  'Authorization',
  'Origin',
  'Accept',
  'Accept-Language',
  'If-Match',
  'If-None-Match',
  'If-Unmodified-Since',
  // many libraries send it with every request
  'X-Requested-With',
  FORMAT_HEADER,
  'X-Request-Id',
];

/** Response headers exposed beyond the CORS-safelisted ones. */
const exposedHeaders = [
  'ETag',
  'Retry-After',
  'Dovetail-Ignored',
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];

/** Origins whose pages may read responses; `true` allows any. */
export type Origins = true | readonly string[];

/** Says it of one request that has an `Origin`. */
export type OriginsOf = (request: http.IncomingMessage, response: http.ServerResponse) => Promise<Origins>;

export interface HeaderSettings {
  /** A function answers where the framework does; the lane knows no origins then. */
  readonly corsOrigin: Origins | OriginsOf;
  readonly cors?: CorsSettings | undefined;
  /** By name in lower case; null leaves one out. */
  readonly securityHeaders?: Readonly<Record<string, string | null>> | undefined;
}

export interface CorsSettings {
  /** Beside the usual ones. */
  readonly headers: readonly string[];
  readonly exposedHeaders: readonly string[];
  readonly credentials: boolean;
  readonly methods: readonly string[];
  /** Time that preflights are kept. */
  readonly maxAgeSeconds: number;
}

export const corsMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;
export const corsSeconds = 31_536_000;
const usualCors: CorsSettings = {
  headers: [],
  exposedHeaders: [],
  credentials: true,
  methods: corsMethods,
  maxAgeSeconds: corsSeconds,
};

const securityHeadersOf = ({ securityHeaders: own = {} }: HeaderSettings): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ ...securityHeaders, ...own }).filter((it): it is [string, string] => it[1] !== null),
  );

/** What `addHeaders` gives to responses other than those of OPTIONS: names and values in turn, for requests with this Origin. */
export const newCommonHeaders = (settings: HeaderSettings): ((origin: string | undefined) => readonly string[]) => {
  const { corsOrigin, cors: own = usualCors } = settings;
  const first = [...Object.entries(securityHeadersOf(settings)).flat(), 'vary', VARYING];
  const exposed = [...exposedHeaders, ...own.exposedHeaders].join(', ');
  const last = [
    ...(own.credentials ? ['access-control-allow-credentials', 'true'] : []),
    ...['access-control-expose-headers', exposed],
  ];
  const ofNone = [...first, ...last];
  return (origin) => {
    const allowed = allowedOrigin(corsOrigin, origin);
    return allowed ? [...first, 'access-control-allow-origin', allowed, ...last] : ofNone;
  };
};

const allowedOrigin = (corsOrigin: HeaderSettings['corsOrigin'], origin: string | undefined): string | undefined => {
  if (corsOrigin === true) return origin;
  if (typeof corsOrigin === 'function') return undefined;
  if (corsOrigin.includes('*')) return '*';
  return corsOrigin.find((it) => it === origin);
};

export const addHeaders = async (app: FastifyInstance, settings: HeaderSettings): Promise<void> => {
  const { corsOrigin, cors: own = usualCors } = settings;
  const security = securityHeadersOf(settings);
  app.addHook('onRequest', ({ id }, reply, done) => {
    // also on short responses, 304 and errors, since the same URL may be compressed for another client; CORS adds Origin
    reply.header(REQUEST_ID, id).headers(security).header('vary', withoutOrigin);
    done();
  });
  /** What a function has said, by the request. */
  const asked = new WeakMap<FastifyRequest, true | string[]>();
  if (typeof corsOrigin === 'function')
    app.addHook('onRequest', async (request, reply) => {
      if (request.headers.origin === undefined) return;
      const origins = await corsOrigin(request.raw, reply.raw);
      asked.set(request, origins === true || [...origins]);
    });
  const fixed = typeof corsOrigin === 'function' ? [] : corsOrigin === true || [...corsOrigin];
  const corsOptions = {
    credentials: own.credentials,
    methods: [...own.methods],
    allowedHeaders: [...allowedHeaders, ...own.headers],
    exposedHeaders: [...exposedHeaders, ...own.exposedHeaders],
    maxAge: own.maxAgeSeconds,
  };
  await app.register(cors, {
    // other OPTIONS requests ask which methods a path allows; its route answers
    delegator: (request, done) => {
      const { headers } = request;
      const preflight = headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
      done(null, { ...corsOptions, origin: asked.get(request) ?? fixed, preflight });
    },
  });
};
