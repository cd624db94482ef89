/** Bodies as v4 reads them (koa-body) for requests that the project's code handles. */
import { isUtf8 } from 'node:buffer';
import type http from 'node:http';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyRequest } from 'fastify';
import { issue, ok, refused } from '../../errors.js';
import type { BoundCode } from '../../v4code/code.js';
import { UNPARSED } from '../../v4code/loading/parts.js';
import type { FoundRoute } from '../../v4code/requests/routes.js';
import { type CodeBodies, parseJson } from '../bodies.js';
import { isAnsweredPastCode } from '../past-code.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The route of the project that answers, once it was looked for; null if there is none. */
    codeRoute: FoundRoute | null | undefined;
    /** The body as it came, if code may read it again; null otherwise. */
    bytesForCode: Buffer | null;
  }
}

export const newCodeBodies = async ({
  table,
  globals,
  mayReadBodies,
  includesUnparsed,
}: BoundCode): Promise<CodeBodies> => {
  const { default: qs } = await import('qs');
  const withText = (body: object, text: string | undefined): object =>
    includesUnparsed ? Object.assign(body, { [UNPARSED]: text }) : body;
  return {
    // middlewares may answer, or send on, what the server itself has no route for
    takes: (request) => codeRouteOf(request, table) !== null || (globals.length > 0 && request.is404),
    keep: (request, bytes) => {
      if (mayReadBodies) request.bytesForCode = bytes;
    },
    json: (bytes) => {
      const text = bytes.toString();
      if (bytes.length === 0) return ok(withText({}, text));
      const parsed = parseJson(bytes);
      if (!parsed.ok) return parsed;
      const { value } = parsed;
      if (value === null || typeof value !== 'object') return refused(issue('http.malformed-body', []));
      return ok(withText(value, text));
    },
    fields: (bytes) => {
      if (!isUtf8(bytes)) return refused(issue('form.not-utf8', []));
      const text = bytes.toString();
      return ok(withText(qs.parse(text, { allowDots: true }), text));
    },
    text: (bytes) => bytes.toString(),
  };
};

/**
 * Lets code read a body that the server has read, unpacked. To be called once the stream has closed.
 * @returns resolves once nobody is reading it.
 */
export const rewind = (
  request: http.IncomingMessage,
  response: http.ServerResponse,
  bytes: Buffer,
): (() => Promise<void>) => {
  const { headers } = request;
  if (headers['content-encoding'] !== undefined) {
    delete headers['content-encoding'];
    headers['content-length'] = String(bytes.length);
  }
  // a stream begins anew with its state
  Reflect.apply(Readable, request, []);
  if (bytes.length > 0) request.push(bytes);
  request.push(null);
  // the connection keeps its last request until that has ended
  response.once('close', () => request.resume());
  return async () => {
    if (request.readableFlowing && !request.readableEnded) await finished(request).catch(() => undefined);
  };
};

/** The first route of the project for a request, in any spelling of its path. */
export const codeRouteOf = (request: FastifyRequest, table: BoundCode['table']): FoundRoute | null => {
  if (request.codeRoute === undefined)
    request.codeRoute = isAnsweredPastCode(request) ? null : firstRouteOf(request, table);
  return request.codeRoute;
};

/** The same, whoever asks. */
export const firstRouteOf = (request: FastifyRequest, { at }: BoundCode['table']): FoundRoute | null => {
  const { method } = request;
  return at(pathOf(request.raw.url!)).find(method) ?? at(usualPathOf(request)).find(method);
};

/** The same where the server answers by itself; for what it has below the path of an entry, the route of the entry. */
export const anyRouteOf = (request: FastifyRequest, { at }: BoundCode['table']): FoundRoute | null => {
  const { method } = request;
  const usual = usualPathOf(request);
  const entry = usual.replace(BELOW_ENTRY, '');
  return (
    at(pathOf(request.raw.url!)).findAny(method) ??
    at(usual).findAny(method) ??
    (entry === usual ? null : at(entry).findAny('GET'))
  );
};

/** The methods of all routes of the project for a path. */
export const codeMethodsOf = (request: FastifyRequest, { at }: BoundCode['table']): readonly string[] => [
  ...at(pathOf(request.raw.url!)).methods(),
  ...at(usualPathOf(request)).methods(),
];

const BELOW_ENTRY = /\/(?:localizations|relations\/.+)$/;

export const pathOf = (url: string): string => {
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
};

/** The path of the server's own route that a request is for: there are other spellings of it than project routes match. */
const usualPathOf = ({ routeOptions, params }: FastifyRequest): string =>
  (routeOptions.url ?? '').replace(/:(\w+)|\*/g, (given, name: string | undefined) =>
    encodeURIComponent((params as Readonly<Record<string, string>>)[name ?? given] ?? given),
  );
