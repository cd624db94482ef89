/** The id of each request, and its log line at debug level. */
import crypto from 'node:crypto';
import type http from 'node:http';
import type { FastifyBaseLogger } from 'fastify';

export interface Answered {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly status: number;
  readonly ms: number;
}

export const logRequest = (log: FastifyBaseLogger, { method, url = '', status, ms }: Answered): void =>
  log.debug({ method, url: withoutSecrets(url), status, ms: Math.round(ms) }, 'request');

/** Told of every request that was answered, or whose client left. */
export type ObserveRequest = (answered: {
  /** As the route is written: `/api/articles/:id`; never a URL. */
  readonly route: string;
  readonly method: string;
  /** Null if the client left before. */
  readonly status: number | null;
  readonly ms: number;
}) => void;

/** Codes sent by mail come back in query strings, and so do tokens of login providers. */
const withoutSecrets = (url: string): string =>
  url.replaceAll(/([?&])([^=&]*)=[^&]*/g, (whole, before: string, name: string) =>
    secretName.test(name) ? `${before}${name}=…` : whole,
  );

const secretName = /^(?:confirmation|code|password)$|token|secret/i;

/** The id of a request, in its response and in all of its log lines (RQ22). */
export type RequestIdOf = (headers: http.IncomingHttpHeaders) => string;

/** In lower case, as Node gives it. */
export const REQUEST_ID = 'x-request-id';

/** What proxies and clients make: UUIDs, trace ids, base64. Anything else could be meant for whoever reads the log. */
const acceptable = /^[\w.:/+=@-]{1,128}$/;

/** Takes the id that a request carries; one without gets an id that no other process gives. */
export const newRequestIds = (): RequestIdOf => {
  const start = crypto.randomBytes(6).toString('base64url');
  let count = 0;
  return (headers) => {
    const given = headers[REQUEST_ID];
    if (typeof given === 'string' && acceptable.test(given)) return given;
    count += 1;
    return `${start}-${count.toString(36)}`;
  };
};
