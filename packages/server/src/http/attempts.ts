/** Slows down who guesses: attempts are counted by address and by account (AC14). */
import crypto from 'node:crypto';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../limits.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** What an attempt is counted by beside the address; '' where the endpoint names no account. */
    attemptedAccount: string;
  }
}

/**
 * Counts one attempt at the account, as the endpoint names it; '' is no account. False when there were too many. Writes
 * the headers either way.
 */
export type Attempts = (request: FastifyRequest, reply: FastifyReply, account: string) => Promise<boolean>;

/** @param max attempts of one address for one account at one endpoint in `limits.attemptsMs`; 0 counts nothing. */
export const newAttempts = async (app: FastifyInstance, max: number): Promise<Attempts> => {
  if (max === 0) return async () => true;
  await app.register(rateLimit, { global: false });
  // counters take their keys from requests
  app.decorateRequest('attemptedAccount', '');
  const counter = (attemptsMax: number, keyGenerator: (request: FastifyRequest) => string) => {
    const options = { max: attemptsMax, timeWindow: limits.attemptsMs, cache: limits.attemptCountersMax, keyGenerator };
    return app.createRateLimit(options);
  };
  const ofAddress = counter(Math.max(limits.attemptsOfAddressMax, max), addressOf);
  const ofBoth = counter(max, (request) =>
    [addressOf(request), request.routeOptions.url, request.attemptedAccount].join(' '),
  );
  const forAccount = counter(Math.max(limits.attemptsForAccountMax, max), (request) => request.attemptedAccount);
  return async (request, reply, account) => {
    request.attemptedAccount = account === '' ? '' : digestOf(account);
    // in this order: what one address is refused does not count against the account, which others may own
    for (const count of [ofAddress, ofBoth, ...(account === '' ? [] : [forAccount])]) {
      const counted = await count(request);
      if (counted.isAllowed) continue;
      if (counted.isExceeded || count === ofBoth)
        reply.headers({
          'x-ratelimit-limit': counted.max,
          'x-ratelimit-remaining': counted.remaining,
          'x-ratelimit-reset': Math.ceil((Date.now() + counted.ttl) / 1000),
        });
      if (!counted.isExceeded) continue;
      reply.header('retry-after', counted.ttlInSeconds);
      return false;
    }
    return true;
  };
};

const addressOf = (request: FastifyRequest): string => normalizeIP(request.ip);

/** Of one length, however long the name is. */
const digestOf = (account: string): string => crypto.hash('sha256', account, 'base64url');
