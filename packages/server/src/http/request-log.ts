/** The log line of each request, at debug level. */
import type { FastifyBaseLogger } from 'fastify';

export interface Answered {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly status: number;
  readonly ms: number;
}

export const logRequest = (log: FastifyBaseLogger, { method, url = '', status, ms }: Answered): void =>
  log.debug({ method, url: withoutSecrets(url), status, ms: Math.round(ms) }, 'request');

/** Codes sent by mail come back in query strings. */
const withoutSecrets = (url: string): string =>
  url.replaceAll(/([?&](?:confirmation|code|token|password)=)[^&]*/gi, '$1…');

/** Ids for the log lines of requests. */
export const newRequestIds = (): (() => string) => {
  let count = 0;
  return () => `req-${(++count).toString(36)}`;
};
